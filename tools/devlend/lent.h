/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_LENT_H
#define DEVLEND_TOOL_LENT_H

#include <json.h>

#include "pciaddr.h"
#include "pcidev.h"
#include "sysfs.h"
#include "why.h"

/**
 * struct lent - a device that this host lends
 * @bdf: its address
 * @state: as the kernel tells it
 * @peer: UUID of the host that borrows it; "" = nobody
 * @link: link over which it is borrowed; "" = none
 * @driver: driver that had it
 * @generation: how often it was lent
 * @leases: leases that have ended
 * @resettable: false for one that was lent by force
 * @isolated: 1: it reaches its borrower only; 0: all of this host, too; -1 = unknown
 * @since: when the lease began, seconds since 1970; -1 = unknown, or no lease
 * @ids: what it is
 */
struct lent {
	char bdf[PCIADDR_MAX];
	char state[16];
	char peer[40];
	char link[32];
	char driver[64];
	long long generation;
	long long leases;
	bool resettable;
	int isolated;
	long long since;
	struct pci_ids ids;
};

/* a list of lent devices; free it */
struct lents {
	size_t count;
	struct lent *lent;
};

void lents_read(struct lents *lents);
void lents_free(struct lents *lents);
bool lent_read(struct lent *lent, const char *bdf);
struct json_object *lent_isolated_json(const struct lent *lent);
struct json_object *lent_json(const struct lent *lent);
int lender_loaded(struct why *why);

#endif
