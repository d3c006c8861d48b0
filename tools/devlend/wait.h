/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_WAIT_H
#define DEVLEND_TOOL_WAIT_H

#include "options.h"

typedef int (*wait_check)(const char *target, const struct options *opt, struct why *why);

/**
 * struct events - where the kernel tells that something changed
 * @uevents: netlink socket; -1 = none
 * @mounts: table of mounts; -1 = none
 */
struct events {
	int uevents, mounts;
};

void events_open(struct events *events);
bool events_wait(struct events *events, int ms);
void events_close(struct events *events);

void progress(const struct options *opt, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void progress_end(void);

int wait_until(wait_check check, const char *target, const struct options *opt, struct why *why);

#endif
