// SPDX-License-Identifier: GPL-2.0
/* devlend lend: take a device from its driver, and offer it to other hosts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bulk.h"
#include "held.h"
#include "jsonout.h"
#include "kernel.h"
#include "lent.h"
#include "use.h"
#include "wait.h"

#define CLASS_BRIDGE	0x06

/* Whether a function is borrowed: its path leads through a lease. */
bool device_is_shadow(const char *bdf)
{
	char path[PATH_MAX], *real;
	bool shadow;

	sys_path(path, SYS_PCI "/%s", bdf);
	real = realpath(path, NULL);
	shadow = real && strstr(real, "/lease-");
	free(real);
	return shadow;
}

/* All functions of this host that fit, and are no bridges, lent or borrowed already. */
void devices_find(const struct filter *filter, struct names *targets)
{
	char driver[64];
	struct names names;
	struct pci_ids ids;
	struct subject subject = { .driver = driver, .host = "", .ids = &ids };
	size_t i;

	sys_list(&names, "", SYS_PCI);
	for (i = 0; i < names.count; i++) {
		subject.bdf = names.name[i];
		pcidev_ids(&ids, subject.bdf);
		pcidev_driver(driver, sizeof(driver), subject.bdf);
		if (filter_fits(filter, &subject) && ids.class >> 16 != CLASS_BRIDGE &&
		    !sys_exists(SYS_BUS "/lent-%s", subject.bdf) && !device_is_shadow(subject.bdf))
			names_add(targets, subject.bdf);
	}
	names_free(&names);
}

/* Address of what is named: of itself, or of the disk or interface. */
int device_resolve(const char *target, char *bdf, struct why *why)
{
	if (pciaddr_parse(target, bdf) || pciaddr_of_node(target, bdf))
		return TOOL_OK;
	if (strchr(target, ':'))
		return why_not(why, TOOL_USAGE,
			       "not an address; want one as lspci -D prints it, 0000:3b:00.0");
	return why_not(why, TOOL_NOT_FOUND,
		       "no PCI device; want its address (lspci -D), disk or interface");
}

/* Whether it can be lent as far as this tool can tell. */
static int check(const char *target, const struct options *opt, struct why *why)
{
	char bdf[PCIADDR_MAX];
	struct pci_ids ids;
	int code = device_resolve(target, bdf, why);

	if (code)
		return code;
	if (!sys_exists(SYS_PCI "/%s", bdf))
		return why_not(why, TOOL_NOT_FOUND,
			       "no such PCI device on this host; lspci -D lists them");
	if (sys_exists(SYS_BUS "/lent-%s", bdf))
		return why_not(why, TOOL_BUSY, "already lent; devlend list shows to whom");
	pcidev_ids(&ids, bdf);
	if (device_is_shadow(bdf))
		return why_not(why, TOOL_IMPOSSIBLE,
			       "it is borrowed from another host; lend it there");
	if (sys_exists("/sys/bus/ntb/devices/%s", bdf))
		return why_not(why, TOOL_IMPOSSIBLE, "it is the NTB, the way to the other host");
	if (ids.class >> 16 == CLASS_BRIDGE)
		return why_not(why, TOOL_IMPOSSIBLE, "it is a bridge; lend the functions below it");
	if (opt->force)
		return TOOL_OK;
	code = use_check(bdf, why);
	if (code)
		strncat(why->text, "; or --force", sizeof(why->text) - strlen(why->text) - 1);
	return code;
}

/* Lend one device: what its verb does, and "config apply". */
int lend_device(const char *target, const struct options *opt, struct outcome *outcome,
		struct why *why)
{
	char bdf[PCIADDR_MAX], value[PCIADDR_MAX + 16], name[256];
	struct request request = {
		.path = SYS_DRIVER "/lend", .value = value, .target = bdf, .doing = "lending",
	};
	struct pci_ids ids;
	struct lent lent;
	int code;

	code = wait_until(check, target, opt, why);
	if (code)
		return code;
	device_resolve(target, bdf, why);
	json_text(outcome->json, "device", bdf);
	snprintf(value, sizeof(value), "%s%s%s", bdf, opt->no_reset ? " force" : "",
		 opt->private ? " private" : "");
	if (!opt->dry_run)
		code = kernel_do(&request, opt, why);
	if (code)
		return code;
	if (!opt->dry_run) {
		snprintf(name, sizeof(name), "lent-%s", bdf);
		held_clear(name);
	}
	pcidev_ids(&ids, bdf);
	pci_device_name(name, sizeof(name), &ids);
	if (lent_read(&lent, bdf))
		json_object_object_add(outcome->json, "lent", lent_json(&lent));
	snprintf(outcome->text, sizeof(outcome->text), "%s: %s (%s)", bdf,
		 opt->dry_run ? "would be lent" : "lent", name);
	return TOOL_OK;
}

static int run(const struct verb *verb, struct options *opt)
{
	struct why why;

	if (lender_loaded(&why) || kernel_may(SYS_DRIVER "/lend", &why))
		return verb_failed(verb, opt, &why);
	return bulk_run(verb, opt, devices_find, lend_device);
}

const struct verb verb_lend = {
	.name = "lend",
	.args = "[DEVICE...]",
	.doc = "Offer devices of this host to other hosts.\v"
		"DEVICE is an address as lspci prints it, a disk (/dev/nvme0n1) or an\n"
		"interface (eth0). A device that is in use is refused: mounted, swap, part of\n"
		"a RAID or volume group, opened by a process, or up.",
	.take = TAKE_DEVICES | TAKE_FILTER | TAKE_FORCE | TAKE_WAIT | TAKE_DRY_RUN | TAKE_NO_RESET,
	.run = run,
};
