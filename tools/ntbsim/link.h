/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A link between two ports. It is up when both ports have a client or are puppets, both guests' drivers enabled it, and the
 * operator permits it. A change shows in both config spaces and is told by a status bit.
 */
#ifndef NTBSIM_LINK_H
#define NTBSIM_LINK_H

#include <stdbool.h>

#include "flap.h"

struct port;

/**
 * struct link - a link
 * @end: both ports
 * @allowed: the operator permits it
 * @up: its state
 * @changed_us: when that changed last, in microseconds of the monotonic clock
 * @flap: makes it flap
 */
struct link {
	struct port *end[2];
	bool allowed;
	bool up;
	uint64_t changed_us;
	struct flap flap;
};

void link_init(struct link *link, struct port *a, struct port *b);

/* Look again whether it is up; @link may be NULL. */
void link_update(struct link *link);

#endif /* NTBSIM_LINK_H */
