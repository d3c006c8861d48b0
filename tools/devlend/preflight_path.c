// SPDX-License-Identifier: GPL-2.0
/*
 * devlend preflight, the way between a device and the NTB: requests of both go to each other, not
 * to memory. They meet at the lowest bridge that is above both: a switch, which passes them unless
 * ACS sends them up; or the root complex, of which nobody but its maker knows whether it does. And
 * under which requester id they arrive: a bridge to conventional PCI puts its own.
 */
#include <stdio.h>
#include <string.h>

#include "pcipath.h"
#include "preflight.h"

/* The lender's module has it translated, whatever its group's default is. */
static bool is_translated(const char *bdf)
{
	return sys_exists(SYS_PCI "/%s/iommu_group", bdf);
}

/* A bridge that puts its own id in the place of the device's; "" = none. */
static void find_alias(const struct pcipath *path, char *bdf)
{
	struct config config;
	int i;

	bdf[0] = '\0';
	for (i = 0; i + 1 < path->count && !bdf[0]; i++) {
		config_read(&config, path->bdf[i]);
		/* conventional is what has no PCIe capability, though its list can be read */
		if (config_pcie_type(&config) == PCIE_TO_PCI || !config_cap(&config, CAP_PCIE))
			snprintf(bdf, PCIADDR_MAX, "%s", path->bdf[i]);
	}
}

static void look_at_alias(struct preflight *pf, const char *bdf, const struct pcipath *path)
{
	struct probe probe = { &pf->findings, bdf, "requester", ROLE_LEND };
	char alias[PCIADDR_MAX];

	find_alias(path, alias);
	if (alias[0])
		warn(&probe,
		     "put it into a PCI Express slot, or lend all that is below that bridge to one host",
		     "its requests carry the id of bridge %s, as do those of all that is below it",
		     alias);
	else
		pass(&probe, "its requests carry its own id, so far as bridges decide it");
}

/* Downstream ports of two ways, from where they part. */
static bool port_redirects(const struct pcipath *path, int common, unsigned int bits, char *port,
			   bool *known)
{
	struct config config;
	int i, acs;

	for (i = common; i + 1 < path->count; i++) {
		config_read(&config, path->bdf[i]);
		if (config.len <= 64) {
			*known = false;
			continue;
		}
		if (config_pcie_type(&config) != PCIE_DOWNSTREAM &&
		    config_pcie_type(&config) != PCIE_ROOT_PORT)
			continue;
		acs = config_acs(&config);
		if (acs < 0) {
			*known = false;
			continue;
		}
		if (acs & bits) {
			snprintf(port, PCIADDR_MAX, "%s", path->bdf[i]);
			return true;
		}
	}
	return false;
}

/* Below one switch: its ports pass requests to each other, unless ACS says otherwise. */
static void look_at_switch(struct preflight *pf, const char *bdf, const struct link *link,
			   const struct pcipath *path, const struct pcipath *ntb, int common)
{
	struct probe probe = { &pf->findings, bdf, "path", ROLE_LEND };
	const char *remedy =
		"switch ACS off at that port (firmware, or setpci), or the host's IOMMU on";
	const char *above = path->bdf[common - 1];
	char port[PCIADDR_MAX];
	bool known = true;

	if (port_redirects(path, common, ACS_EGRESS_CONTROL, port, &known) ||
	    port_redirects(ntb, common, ACS_EGRESS_CONTROL, port, &known))
		warn(&probe, remedy,
		     "to %s by switch port %s; P2P egress control (ACS) at %s may block it",
		     link->name, above, port);
	else if ((port_redirects(path, common, ACS_REQUEST_REDIRECT, port, &known) ||
		  port_redirects(ntb, common, ACS_REQUEST_REDIRECT, port, &known)) &&
		 !is_translated(bdf))
		warn(&probe, remedy,
		     "to %s by switch port %s, but ACS at %s sends requests up to the root complex, which may not send them back",
		     link->name, above, port);
	else if (!known)
		unknown(&probe, "run it as root",
			"to %s by switch port %s; whether ACS is in the way cannot be read",
			link->name, above);
	else
		pass(&probe, "to %s by switch port %s; ACS is not in the way", link->name, above);
}

static void look_at_way(struct preflight *pf, const char *bdf, const struct link *link,
			const struct pcipath *path)
{
	struct probe probe = { &pf->findings, bdf, "path", ROLE_LEND };
	const char *remedy = "nothing, if borrow succeeds; else put both below one switch";
	struct pcipath ntb;
	int common;

	if (!pcipath_read(&ntb, link->ntb))
		return;
	common = pcipath_common(path, &ntb);
	if (common < 0)
		warn(&probe, "move one of them to the other's root bus or CPU socket",
		     "to %s from another root bus (%s, %s): few machines pass requests between two",
		     link->name, path->root, ntb.root);
	else if (common == 0)
		warn(&probe, remedy,
		     "to %s through the root complex: not every one passes requests between its ports",
		     link->name);
	else
		look_at_switch(pf, bdf, link, path, &ntb, common);
}

static void look_at_packets(struct preflight *pf, const char *bdf, const struct link *link)
{
	struct probe probe = { &pf->findings, bdf, "packets", ROLE_LEND };
	struct config config;
	int own, ntb;

	config_read(&config, bdf);
	own = config_mps(&config);
	config_read(&config, link->ntb);
	ntb = config_mps(&config);
	if (own < 0 || ntb < 0)
		unknown(&probe, "run it as root, if it is a PCI Express device",
			"packet sizes cannot be read");
	else if (own > ntb)
		warn(&probe, "boot with pci=pcie_bus_peer2peer",
		     "it sends packets of up to %d bytes, and the NTB takes %d", own, ntb);
	else
		pass(&probe, "it sends packets of up to %d bytes, and the NTB takes %d", own, ntb);
}

/* The way from one device to each NTB. */
void preflight_path(struct preflight *pf, const char *bdf)
{
	struct pcipath path;
	size_t i;

	if (!pcipath_read(&path, bdf))
		return;
	look_at_alias(pf, bdf, &path);
	for (i = 0; i < pf->links.count; i++) {
		if (!pf->links.link[i].ntb[0])
			continue;
		look_at_way(pf, bdf, &pf->links.link[i], &path);
		look_at_packets(pf, bdf, &pf->links.link[i]);
	}
}
