// SPDX-License-Identifier: GPL-2.0
/* devlend reclaim: take a lent device back, and give it to the driver that had it. */
#include <stdio.h>
#include <string.h>

#include "bulk.h"
#include "held.h"
#include "jsonout.h"
#include "kernel.h"
#include "lent.h"
#include "wait.h"

static void find(const struct filter *filter, struct names *targets)
{
	struct lents lents;
	size_t i;

	lents_read(&lents);
	for (i = 0; i < lents.count; i++) {
		const struct lent *lent = &lents.lent[i];
		struct subject subject = { lent->bdf, lent->driver, lent->peer, &lent->ids };

		if (filter_fits(filter, &subject))
			names_add(targets, lent->bdf);
	}
	lents_free(&lents);
}

/* A borrowed device is its borrower's to return. */
static int check(const char *target, const struct options *opt, struct why *why)
{
	char bdf[PCIADDR_MAX];
	struct lent lent;

	if (!pciaddr_parse(target, bdf))
		return why_not(why, TOOL_USAGE,
			       "not an address; want one as devlend list prints it, 0000:3b:00.0");
	if (!lent_read(&lent, bdf))
		return why_not(why, TOOL_NOT_FOUND,
			       "not lent; devlend list shows what is");
	if (!strcmp(lent.state, "borrowed") && !opt->force && !opt->revoke)
		return why_not(why, TOOL_BUSY,
			       "in use by host %.8s; return it there, or --revoke it",
			       lent.peer);
	return TOOL_OK;
}

static int one(const char *target, const struct options *opt, struct outcome *outcome,
	       struct why *why)
{
	char bdf[PCIADDR_MAX], value[PCIADDR_MAX + 8], state[PATH_MAX], driver[64];
	char held[PCIADDR_MAX + 8];
	struct request request = {
		.path = SYS_DRIVER "/reclaim", .value = value, .target = bdf,
		.doing = "reclaiming", .state = state,
	};
	int code;

	code = wait_until(check, target, opt, why);
	if (code)
		return code;
	pciaddr_parse(target, bdf);
	json_text(outcome->json, "device", bdf);
	snprintf(value, sizeof(value), "%s%s", bdf, opt->force ? " force" : "");
	snprintf(state, sizeof(state), SYS_BUS "/lent-%s/state", bdf);
	snprintf(held, sizeof(held), "lent-%s", bdf);
	if (!opt->dry_run) {
		held_set(held);
		code = kernel_do(&request, opt, why);
		if (code && code != TOOL_TIMEOUT)
			held_clear(held);
	}
	if (code)
		return code;
	pcidev_driver(driver, sizeof(driver), bdf);
	json_text(outcome->json, "driver", driver);
	snprintf(outcome->text, sizeof(outcome->text), "%s: %s%s", bdf,
		 opt->dry_run ? "would be reclaimed from " : "reclaimed, driver ",
		 driver[0] ? driver : "none");
	return TOOL_OK;
}

static int run(const struct verb *verb, struct options *opt)
{
	struct why why;

	if (lender_loaded(&why) || kernel_may(SYS_DRIVER "/reclaim", &why))
		return verb_failed(verb, opt, &why);
	return bulk_run(verb, opt, find, one);
}

const struct verb verb_reclaim = {
	.name = "reclaim",
	.args = "[DEVICE...]",
	.doc = "Take lent devices back.\v"
		"DEVICE is the address of a lent device. One that is borrowed is refused, since\n"
		"its borrower would lose it in use: return it there. --revoke has the borrower's\n"
		"kernel let go, which unbinds its driver, mounted or not; --force ends the lease\n"
		"at once.",
	.take = TAKE_DEVICES | TAKE_FILTER | TAKE_FORCE | TAKE_WAIT | TAKE_DRY_RUN | TAKE_REVOKE,
	.run = run,
};
