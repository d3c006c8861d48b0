// SPDX-License-Identifier: GPL-2.0
/* devlend return: give a borrowed device back. */
#include <stdio.h>
#include <string.h>

#include "bulk.h"
#include "held.h"
#include "jsonout.h"
#include "kernel.h"
#include "lease.h"
#include "offer.h"
#include "use.h"
#include "wait.h"

static void find(const struct filter *filter, struct names *targets)
{
	struct leases leases;
	size_t i;

	leases_read(&leases);
	for (i = 0; i < leases.count; i++) {
		const struct lease *lease = &leases.lease[i];
		struct subject subject = { lease->pci, lease->driver, lease->peer, &lease->ids };

		if (filter_fits(filter, &subject))
			names_add(targets, lease->name);
	}
	leases_free(&leases);
}

/* The lease that a word means, to be freed. */
static int resolve(const char *target, struct lease *found, struct why *why)
{
	struct names names;
	bool is = false;
	size_t i;

	sys_list(&names, "lease-", SYS_BUS);
	for (i = 0; i < names.count && !is; i++) {
		is = lease_read(found, names.name[i]) && lease_is(found, target);
		if (!is)
			lease_free(found);
	}
	names_free(&names);
	if (is)
		return TOOL_OK;
	return why_not(why, TOOL_NOT_FOUND,
		       "nothing of that name is borrowed here; devlend list shows what is");
}

static int check(const char *target, const struct options *opt, struct why *why)
{
	struct lease lease;
	int code = resolve(target, &lease, why);

	if (code)
		return code;
	if (strcmp(lease.state, "active"))
		code = why_not(why, TOOL_BUSY, "%s at the moment; try again, or --wait",
			       lease.state);
	else if (!opt->force && lease.pci[0])
		code = use_check(lease.pci, why);
	if (code && !strcmp(lease.state, "active"))
		strncat(why->text, "; or --force", sizeof(why->text) - strlen(why->text) - 1);
	lease_free(&lease);
	return code;
}

static int one(const char *target, const struct options *opt, struct outcome *outcome,
	       struct why *why)
{
	char path[PATH_MAX], state[PATH_MAX];
	struct request request = {
		.path = path, .value = "1", .target = target, .doing = "returning",
		.state = state,
	};
	struct lease lease;
	char offer[64];
	int code;

	code = wait_until(check, target, opt, why);
	if (!code)
		code = resolve(target, &lease, why);
	if (code)
		return code;
	json_text(outcome->json, "lease", lease.name);
	snprintf(path, sizeof(path), SYS_BUS "/%s/return", lease.name);
	snprintf(state, sizeof(state), SYS_BUS "/%s/state", lease.name);
	snprintf(outcome->text, sizeof(outcome->text), "%s: %s (%s of %.8s)", lease.name,
		 opt->dry_run ? "would be returned" : "returned", lease_device(&lease),
		 lease.offer + strlen("offer-"));
	snprintf(offer, sizeof(offer), "%s", lease.offer);
	lease_free(&lease);
	code = kernel_may(path, why);
	if (code || opt->dry_run)
		return code;
	held_set(offer);
	code = kernel_do(&request, opt, why);
	if (code && code != TOOL_TIMEOUT)
		held_clear(offer);
	return code;
}

static int run(const struct verb *verb, struct options *opt)
{
	struct why why;

	if (borrower_loaded(&why))
		return verb_failed(verb, opt, &why);
	return bulk_run(verb, opt, find, one);
}

const struct verb verb_return = {
	.name = "return",
	.args = "[LEASE...]",
	.doc = "Give borrowed devices back.\v"
		"LEASE is a lease's name as devlend list prints it, the address of the borrowed\n"
		"device here or at its lender, its disk or its interface. A device that is in\n"
		"use is refused, as devlend lend does.",
	.take = TAKE_DEVICES | TAKE_FILTER | TAKE_FORCE | TAKE_WAIT | TAKE_DRY_RUN,
	.run = run,
};
