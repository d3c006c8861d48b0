// SPDX-License-Identifier: GPL-2.0
/* The lending side: what this host lends, and to whom. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonout.h"
#include "lent.h"

/* Whether this host can lend at all. */
int lender_loaded(struct why *why)
{
	if (sys_exists(SYS_DRIVER))
		return TOOL_OK;
	return why_not(why, TOOL_MODULES, "cannot lend: modprobe devlend_lender first");
}

/* One lent device; false if it is not lent. */
bool lent_read(struct lent *lent, const char *bdf)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), SYS_BUS "/lent-%s", bdf);
	*lent = (struct lent){ 0 };
	snprintf(lent->bdf, sizeof(lent->bdf), "%s", bdf);
	if (sys_read(lent->state, sizeof(lent->state), "%s/state", dir))
		return false;
	sys_read(lent->peer, sizeof(lent->peer), "%s/peer", dir);
	sys_read(lent->link, sizeof(lent->link), "%s/link", dir);
	sys_read(lent->driver, sizeof(lent->driver), "%s/driver_name", dir);
	lent->generation = sys_number(-1, "%s/generation", dir);
	lent->leases = sys_number(-1, "%s/leases", dir);
	lent->resettable = sys_number(1, "%s/resettable", dir);
	lent->isolated = sys_number(-1, "%s/isolated", dir);
	lent->since = sys_number(-1, "%s/since", dir);
	pcidev_ids(&lent->ids, bdf);
	return true;
}

/* All devices that this host lends. */
void lents_read(struct lents *lents)
{
	struct names names;
	size_t i;

	sys_list(&names, "lent-", SYS_BUS);
	lents->count = 0;
	lents->lent = calloc(names.count + 1, sizeof(*lents->lent));
	if (!lents->lent)
		abort();
	for (i = 0; i < names.count; i++)
		if (lent_read(&lents->lent[lents->count], names.name[i] + strlen("lent-")))
			lents->count++;
	names_free(&names);
}

void lents_free(struct lents *lents)
{
	free(lents->lent);
}

/* Whether a lent device reaches its borrower only; null where that is not known. */
struct json_object *lent_isolated_json(const struct lent *lent)
{
	return lent->isolated < 0 ? NULL : json_object_new_boolean(lent->isolated);
}

struct json_object *lent_json(const struct lent *lent)
{
	struct json_object *o = json_object_new_object();

	json_text(o, "device", lent->bdf);
	json_text(o, "state", lent->state);
	json_text(o, "peer", lent->peer);
	json_text(o, "link", lent->link);
	json_text(o, "driver", lent->driver);
	json_number(o, "generation", lent->generation);
	json_number(o, "leases", lent->leases);
	json_object_object_add(o, "resettable", json_object_new_boolean(lent->resettable));
	json_object_object_add(o, "isolated", lent_isolated_json(lent));
	json_number(o, "since", lent->since);
	json_ids(o, &lent->ids);
	return o;
}
