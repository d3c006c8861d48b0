// SPDX-License-Identifier: GPL-2.0
/*
 * devlend preflight, the links: state, the NTB's driver and function, and whether its windows
 * hold what a borrower has to expose: its RAM, or that below 4 GiB with the bounce buffers, and
 * the interrupt range.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcidev.h"
#include "pcipath.h"
#include "preflight.h"

#define GIB4		0x100000000ull
#define MSI_BASE	0xfee00000ull
#define MSI_SIZE	0x100000ull
/* least I/O addresses that a borrower with an IOMMU asks for */
#define MAPPED_MIN	0x1000000ull
#define COMMAND		4
#define COMMAND_MEMORY	2u
#define COMMAND_MASTER	4u

/* What is known of an NTB's driver. */
static const struct {
	const char *driver;
	unsigned int roles;
	bool never;
	const char *text, *remedy;
} drivers[] = {
	{ "switchtec", ROLE_LEND, true,
	  "the switch lets only requester ids pass that its driver put into a table, and a lent device's is not among them",
	  "lend on the other host, or use another NTB" },
	{ "ntb_hw_amd", ROLE_BOTH, false,
	  "it is not proven that this driver's windows close",
	  "lend and borrow only between hosts that trust each other; porting.rst has the details" },
	{ "ntb_hw_epf", ROLE_BOTH, false, "it is not proven that this driver's windows close",
	  "lend and borrow only between hosts that trust each other; porting.rst has the details" },
	{ "pci-vntb", ROLE_BOTH, false, "it is not proven that this driver's windows close",
	  "lend and borrow only between hosts that trust each other; porting.rst has the details" },
};

static void look_at_state(struct preflight *pf, const struct link *link)
{
	struct probe probe = { &pf->findings, link->name, "link", pf->roles };
	struct why why = { .code = TOOL_LINK };

	if (!strcmp(link->state, "up"))
		pass(&probe, "up, the peer is %s", link->peer);
	else if (!links_usable(&why))
		warn(&probe, "see devlend status", "%s, while another link is up", link->state);
	else
		fail_why(&probe, &why);
}

static void look_at_driver(struct preflight *pf, const struct link *link)
{
	struct probe probe = { &pf->findings, link->name, "ntb", pf->roles };
	size_t i, n = sizeof(drivers) / sizeof(*drivers);
	struct config config;
	char driver[64];
	unsigned int command;

	if (!link->ntb[0]) {
		fail(&probe, TOOL_LINK, "load the NTB's driver again", "the NTB is gone");
		return;
	}
	pcidev_driver(driver, sizeof(driver), link->ntb);
	config_read(&config, link->ntb);
	command = config_word(&config, COMMAND);
	if (!(command & COMMAND_MASTER) || !(command & COMMAND_MEMORY)) {
		fail(&probe, TOOL_FAILED, "load the NTB's driver again",
		     "%s, %s: bus mastering or memory decoding is off", link->ntb, driver);
		return;
	}
	for (i = 0; i < n && strcmp(driver, drivers[i].driver); i++)
		;
	if (i < n && drivers[i].roles & pf->roles) {
		probe.roles = drivers[i].roles & pf->roles;
		if (drivers[i].never)
			fail(&probe, TOOL_IMPOSSIBLE, drivers[i].remedy, "%s, %s: %s", link->ntb,
			     driver, drivers[i].text);
		else
			warn(&probe, drivers[i].remedy, "%s, %s: %s", link->ntb, driver,
			     drivers[i].text);
	} else {
		pass(&probe, "%s, %s, %lld scratchpad words each way", link->ntb, driver,
		     link->words);
	}
}

/* Does this host's IOMMU translate for the NTB? */
static bool link_translated(const struct link *link, char *type, size_t size)
{
	sys_read(type, size, SYS_PCI "/%s/iommu_group/type", link->ntb);
	return type[0] && strcmp(type, "identity");
}

static void look_at_iommu(struct preflight *pf, const struct link *link)
{
	struct probe probe = { &pf->findings, link->name, "iommu", ROLE_BORROW & pf->roles };
	bool translates;
	char type[32];

	if (!link->ntb[0])
		return;
	translates = link_translated(link, type, sizeof(type));
	if (translates && probe.roles)
		pass(&probe, "the peer reaches what is mapped for borrowed devices, no more");
	else if (probe.roles)
		pass(&probe, "no IOMMU translates for the NTB");
	probe.roles = ROLE_LEND & pf->roles;
	if (translates && probe.roles)
		pass(&probe, "the peer reaches what is lent, and nothing else, through the NTB");
	else if (probe.roles)
		warn(&probe, "intel_iommu=on, or lend to hosts that you trust",
		     "no IOMMU is behind the NTB: the peer reaches all that a window covers, beside what is lent");
}

/* Whether the bounce buffers, by which memory beyond a window is reached, lie below 4 GiB. */
static bool may_bounce(const struct preflight *pf, const struct windows *windows)
{
	return windows->bounce_end && windows->bounce_end <= pf->low_end;
}

static void look_at_bounce(struct preflight *pf, const struct link *link,
			   const struct windows *windows)
{
	struct probe probe = { &pf->findings, link->name, "bounce", ROLE_BORROW & pf->roles };
	const char *remedy = "boot without swiotlb=noforce and swiotlb=any";

	if (!windows->bounce_told)
		unknown(&probe, "run it as root, with debugfs mounted",
			"where the bounce buffers lie is not told");
	else if (may_bounce(pf, windows))
		pass(&probe, "bounce buffers end at 0x%llx, below 4 GiB", windows->bounce_end);
	else if (pf->ram_end > GIB4)
		warn(&probe, remedy, "%s: RAM beyond the window could not be bounced",
		     windows->bounce_end ? "bounce buffers lie above 4 GiB" :
		     "there are no bounce buffers");
	else
		pass(&probe, "none are below 4 GiB, and all RAM is");
}

/* With an IOMMU a part of a window is enough, whatever RAM there is. */
static void look_at_mapped_reach(struct preflight *pf, const struct link *link,
				 const struct windows *windows)
{
	struct probe probe = { &pf->findings, link->name, "memory", ROLE_BORROW & pf->roles };
	const struct region region[2] = { { MAPPED_MIN, MAPPED_MIN }, { MSI_BASE, MSI_SIZE } };

	if (windows_fit(windows, region, 2, true))
		pass(&probe, "a window has room for what is mapped, one for interrupts");
	else
		fail(&probe, TOOL_IMPOSSIBLE,
		     "make the NTB's BARs larger in the other host's firmware; 1 GiB is a good size",
		     "no window has 16 MiB for what is mapped, beside the interrupt range at 0xfee00000");
}

static void look_at_reach(struct preflight *pf, const struct link *link,
			  const struct windows *windows)
{
	struct probe probe = { &pf->findings, link->name, "memory", ROLE_BORROW & pf->roles };
	const char *remedy =
		"make the NTB's BARs larger in the other host's firmware; 4 GiB is a good size";
	struct region region[2] = { { 0, pf->ram_end }, { MSI_BASE, MSI_SIZE } };
	char need[32], low[32], have[32], type[32];

	if (link_translated(link, type, sizeof(type))) {
		look_at_mapped_reach(pf, link, windows);
		return;
	}
	if (!pf->ram_end)
		return;
	bytes_text(pf->ram_end, need, sizeof(need));
	bytes_text(pf->low_end, low, sizeof(low));
	bytes_text(windows_largest(windows), have, sizeof(have));
	if (windows_fit(windows, region, 2, true)) {
		pass(&probe, "a window reaches all RAM, %s, and the interrupt range", need);
		return;
	}
	region[0].size = pf->low_end;
	if (pf->low_end < pf->ram_end && may_bounce(pf, windows) &&
	    windows_fit(windows, region, 2, true))
		warn(&probe, remedy,
		     "windows (largest %s) do not reach all RAM (%s): what lies beyond 4 GiB will be bounced, which is slow",
		     have, need);
	else
		fail(&probe, TOOL_IMPOSSIBLE, remedy,
		     "windows (largest %s) do not reach from 0 to the end of RAM (%s)%s%s, and the interrupt range at 0xfee00000",
		     have, need, pf->low_end < pf->ram_end ? ", nor to that below 4 GiB, " : "",
		     pf->low_end < pf->ram_end ? low : "");
}

static void look_at_windows(struct preflight *pf, const struct link *link,
			    const struct windows *windows)
{
	struct probe probe = { &pf->findings, link->name, "windows", pf->roles };
	char in[32], out[32], type[32];

	if (!windows->told) {
		unknown(&probe, "run it as root, with debugfs mounted",
			"the NTB's windows are not told");
		return;
	}
	if (strcmp(link->state, "up")) {
		unknown(&probe, "bring the link up first",
			"the NTB tells its windows when its link is up");
		return;
	}
	bytes_text(windows_largest(windows), in, sizeof(in));
	bytes_text(apertures_largest(windows), out, sizeof(out));
	if (!windows->inbound || !windows_largest(windows))
		fail(&probe, TOOL_IMPOSSIBLE, "use an NTB whose windows are set from this side",
		     "the NTB has no window that this host can open");
	else if (!windows->outbound)
		fail(&probe, TOOL_IMPOSSIBLE,
		     "lspci -vv of the NTB: a BAR without address wants a larger MMIO range in the firmware",
		     "the NTB has no BAR to reach the other host by");
	else
		pass(&probe, "%zu in, up to %s; %zu out, up to %s", windows->inbound, in,
		     windows->outbound, out);
	if (pf->roles & ROLE_BORROW) {
		if (!link_translated(link, type, sizeof(type)))
			look_at_bounce(pf, link, windows);
		look_at_reach(pf, link, windows);
	}
}

/* All links of this host. */
void preflight_links(struct preflight *pf)
{
	struct probe probe = { &pf->findings, "host", "link", pf->roles };
	struct why why = { 0 };
	size_t i;

	links_read(&pf->links);
	pf->windows = calloc(pf->links.count + 1, sizeof(*pf->windows));
	if (!pf->windows)
		abort();
	if (!pf->links.count && links_usable(&why))
		fail_why(&probe, &why);
	for (i = 0; i < pf->links.count; i++) {
		const struct link *link = &pf->links.link[i];

		windows_read(&pf->windows[i], link->name);
		look_at_state(pf, link);
		look_at_driver(pf, link);
		look_at_iommu(pf, link);
		look_at_windows(pf, link, &pf->windows[i]);
	}
}
