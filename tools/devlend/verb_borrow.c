// SPDX-License-Identifier: GPL-2.0
/* devlend borrow: use a device of another host. */
#include <stdio.h>
#include <string.h>

#include "bulk.h"
#include "clock.h"
#include "held.h"
#include "jsonout.h"
#include "kernel.h"
#include "lease.h"
#include "link.h"
#include "offer.h"
#include "wait.h"

#define CLASS_STORAGE	0x01
#define CLASS_NETWORK	0x02

static void find(const struct filter *filter, struct names *targets)
{
	struct offers offers;
	size_t i;

	offers_read(&offers);
	for (i = 0; i < offers.count; i++) {
		const struct offer *offer = &offers.offer[i];
		struct subject subject = { offer->device, "", offer->host, &offer->ids };

		if (filter_fits(filter, &subject) && strcmp(offer->state, "lent"))
			names_add(targets, offer->name);
	}
	offers_free(&offers);
}

/* The one offer that a word means. */
static int resolve(const char *target, struct offer *found, struct why *why)
{
	struct offers offers;
	size_t i, fit = 0;

	offers_read(&offers);
	for (i = 0; i < offers.count; i++)
		if (offer_is(&offers.offer[i], target)) {
			*found = offers.offer[i];
			fit++;
		}
	offers_free(&offers);
	if (fit == 1)
		return TOOL_OK;
	if (fit)
		return why_not(why, TOOL_USAGE,
			       "%zu hosts lend a device of that address; name the offer, such as %s",
			       fit, found->name);
	if (links_usable(why))
		return why->code;
	return why_not(why, TOOL_NOT_FOUND,
		       "no such offer; see devlend list, and devlend lend on the other host");
}

/* The lease of an offer, to be freed; false = none. */
static bool find_lease(const char *offer, struct lease *lease)
{
	struct names names;
	bool found = false;
	size_t i;

	sys_list(&names, "lease-", SYS_BUS);
	for (i = 0; i < names.count && !found; i++) {
		found = lease_read(lease, names.name[i]) && !strcmp(lease->offer, offer);
		if (!found)
			lease_free(lease);
	}
	names_free(&names);
	return found;
}

static int check(const char *target, const struct options *opt, struct why *why)
{
	struct offer offer;
	struct lease lease;
	int code = resolve(target, &offer, why);

	(void)opt;
	if (code)
		return code;
	if (find_lease(offer.name, &lease)) {
		why_not(why, TOOL_BUSY, "borrowed here already, as %s%s%s", lease.name,
			lease.pci[0] ? ", " : "", lease.pci);
		lease_free(&lease);
		return why->code;
	}
	if (!strcmp(offer.state, "available"))
		return TOOL_OK;
	if (!strcmp(offer.state, "quarantined"))
		return why_not(why, TOOL_IMPOSSIBLE,
			       "quarantined: its host could not reset it; reclaim it there");
	if (!strcmp(offer.state, "forbidden"))
		return why_not(why, TOOL_IMPOSSIBLE,
			       "its host does not allow this one to have it; there, write its UUID (devlend status has it) or any to "
			       SYS_BUS "/lent-%s/allow", offer.device);
	if (!strcmp(offer.state, "lent"))
		return why_not(why, TOOL_BUSY,
			       "in use by another host; return it there, or --wait");
	return why_not(why, TOOL_BUSY, "being reset at the moment; try again, or --wait");
}

/* Whether the driver made of it what it should. Drivers go on probing after the borrow. */
static int check_usable(const char *offer, const struct options *opt, struct why *why)
{
	struct lease lease;
	unsigned int base;
	bool usable;

	(void)opt;
	if (!find_lease(offer, &lease))
		return why_not(why, TOOL_FAILED, "lost again; the kernel log (dmesg) says why");
	base = lease.ids.class >> 16;
	usable = (base != CLASS_STORAGE || lease.disks.count) &&
		 (base != CLASS_NETWORK || lease.nets.count);
	if (!usable)
		why_not(why, TOOL_BUSY, "borrowed as %s, but its driver (%s) shows no %s yet",
			lease.pci, lease.driver[0] ? lease.driver : "none",
			base == CLASS_STORAGE ? "disk" : "interface");
	lease_free(&lease);
	return usable ? TOOL_OK : why->code;
}

static void describe(const struct offer *offer, struct outcome *outcome)
{
	char what[256] = "";
	struct lease lease;
	size_t i, len = 0;

	if (!find_lease(offer->name, &lease)) {
		snprintf(outcome->text, sizeof(outcome->text), "%s: borrowed", offer->device);
		return;
	}
	for (i = 0; i < lease.disks.count && len < sizeof(what); i++)
		len += snprintf(what + len, sizeof(what) - len, ", /dev/%s", lease.disks.name[i]);
	for (i = 0; i < lease.nets.count && len < sizeof(what); i++)
		len += snprintf(what + len, sizeof(what) - len, ", %s", lease.nets.name[i]);
	snprintf(outcome->text, sizeof(outcome->text), "%s: borrowed as %s, driver %s%s",
		 offer->device, lease.pci, lease.driver[0] ? lease.driver : "none", what);
	json_object_object_add(outcome->json, "lease", lease_json(&lease));
	lease_free(&lease);
}

/* Borrow one offer: what its verb does, and "config apply". */
int borrow_offer(const char *target, const struct options *opt, struct outcome *outcome,
		 struct why *why)
{
	char path[PATH_MAX];
	struct request request = {
		.path = path, .value = opt->slot, .target = target, .doing = "borrowing",
	};
	struct offer offer;
	int code;

	code = wait_until(check, target, opt, why);
	if (!code)
		code = resolve(target, &offer, why);
	if (code)
		return code;
	json_text(outcome->json, "offer", offer.name);
	snprintf(path, sizeof(path), SYS_BUS "/%s/borrow", offer.name);
	code = kernel_may(path, why);
	if (!code && opt->dry_run) {
		snprintf(outcome->text, sizeof(outcome->text), "%s: would be borrowed",
			 offer.name);
		return TOOL_OK;
	}
	if (!code)
		code = kernel_do(&request, opt, why);
	if (code)
		return code;
	held_clear(offer.name);
	if (opt->wait >= 0)
		code = wait_until(check_usable, offer.name, opt, why);
	describe(&offer, outcome);
	return code;
}

static int run(const struct verb *verb, struct options *opt)
{
	struct why why;

	if (borrower_loaded(&why))
		return verb_failed(verb, opt, &why);
	return bulk_run(verb, opt, find, borrow_offer);
}

const struct verb verb_borrow = {
	.name = "borrow",
	.args = "[OFFER...]",
	.doc = "Use devices that other hosts lend.\v"
		"OFFER is an offer's name as devlend list prints it, or, where only one host\n"
		"lends such a device, its address there. --wait is also for the offer to come,\n"
		"and for the disk or interface to be there.",
	.take = TAKE_DEVICES | TAKE_FILTER | TAKE_WAIT | TAKE_DRY_RUN | TAKE_SLOT,
	.run = run,
};
