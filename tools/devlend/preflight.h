/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_PREFLIGHT_H
#define DEVLEND_TOOL_PREFLIGHT_H

#include "findings.h"
#include "link.h"
#include "offer.h"
#include "windows.h"

/**
 * enum remapping - whether this host checks who sends an interrupt
 * @REMAPPING_UNKNOWN: cannot be seen
 * @REMAPPING_OFF: a write to 0xfee00000 is an interrupt, whoever writes
 * @REMAPPING_ON: it does
 */
enum remapping {
	REMAPPING_UNKNOWN,
	REMAPPING_OFF,
	REMAPPING_ON,
};

/**
 * struct preflight - what is known when devices are looked at
 * @findings: what was found so far
 * @roles: what this host can do, by its modules: %ROLE_LEND and following
 * @ram_end: first address beyond all RAM; 0 = unknown
 * @low_end: first address beyond RAM below 4 GiB
 * @remapping: of interrupts
 * @links: the links
 * @windows: those of each link
 */
struct preflight {
	struct findings findings;
	unsigned int roles;
	unsigned long long ram_end, low_end;
	enum remapping remapping;
	struct links links;
	struct windows *windows;
};

/* preflight_host.c, preflight_link.c */
void preflight_host(struct preflight *pf);
void preflight_links(struct preflight *pf);

/* preflight_test.c */
void preflight_test(struct preflight *pf);

/* preflight_device.c, preflight_path.c: a device that is lent, or may be */
void preflight_device(struct preflight *pf, const char *bdf);
void preflight_path(struct preflight *pf, const char *bdf);

/* preflight_offer.c: a device that may be borrowed */
void preflight_offer(struct preflight *pf, const struct offer *offer);

#endif
