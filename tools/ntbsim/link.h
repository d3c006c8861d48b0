/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A link between two ports. It is up when both ports have a client or are puppets, both guests' drivers enabled it, and the
 * operator permits it. A change shows in both config spaces and is told by a status bit.
 */
#ifndef NTBSIM_LINK_H
#define NTBSIM_LINK_H

#include <stdbool.h>

struct port;

/**
 * struct link - a link
 * @end: both ports
 * @allowed: the operator permits it
 * @up: its state
 */
struct link {
	struct port *end[2];
	bool allowed;
	bool up;
};

void link_init(struct link *link, struct port *a, struct port *b);

/* Look again whether it is up; @link may be NULL. */
void link_update(struct link *link);

#endif /* NTBSIM_LINK_H */
