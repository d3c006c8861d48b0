// SPDX-License-Identifier: GPL-2.0
/* devlend preflight, an offer of another host: what would keep this one from borrowing it. */
#include <stdio.h>
#include <string.h>

#include "lease.h"
#include "pcipath.h"
#include "preflight.h"

static struct probe check(struct preflight *pf, const struct offer *offer, const char *name)
{
	return (struct probe){ &pf->findings, offer->name, name, ROLE_BORROW };
}

static bool is_borrowed_here(const struct offer *offer)
{
	struct leases leases;
	bool found = false;
	size_t i;

	leases_read(&leases);
	for (i = 0; i < leases.count && !found; i++)
		found = !strcmp(leases.lease[i].offer, offer->name);
	leases_free(&leases);
	return found;
}

static void look_at_state(struct preflight *pf, const struct offer *offer)
{
	const struct probe probe = check(pf, offer, "state");

	if (is_borrowed_here(offer))
		pass(&probe, "borrowed here");
	else if (!strcmp(offer->state, "available"))
		pass(&probe, "offered by %s", offer->link);
	else if (!strcmp(offer->state, "forbidden"))
		fail(&probe, TOOL_IMPOSSIBLE,
		     "write this host's UUID to allow of the lent device, on its lender",
		     "its lender does not let this host have it");
	else if (!strcmp(offer->state, "quarantined"))
		fail(&probe, TOOL_IMPOSSIBLE, "devlend reclaim it on its lender",
		     "it could not be reset");
	else
		warn(&probe, "wait, or return it on the host that has it",
		     "not to be had at the moment: %s", offer->state);
}

static void look_at_bars(struct preflight *pf, const struct offer *offer,
			 const struct windows *windows)
{
	const struct probe probe = check(pf, offer, "bars");
	char a[32], b[32];
	long long largest = 0;
	int i;

	for (i = 0; i < OFFER_BARS; i++)
		if (offer->bar[i] > largest)
			largest = offer->bar[i];
	if (!windows || !windows->outbound)
		return;
	bytes_text(largest, a, sizeof(a));
	bytes_text(apertures_largest(windows), b, sizeof(b));
	if ((unsigned long long)largest > apertures_largest(windows))
		fail(&probe, TOOL_IMPOSSIBLE,
		     "make the NTB's BARs larger in the firmware of this host",
		     "its largest BAR, %s, is larger than this host's largest window, %s", a, b);
	else
		pass(&probe, "largest BAR %s, largest window %s; its lender knows whether it fits",
		     a, b);
}

static void look_at_packets(struct preflight *pf, const struct offer *offer,
			    const struct link *link)
{
	const struct probe probe = check(pf, offer, "packets");
	struct config config;
	int ntb;

	if (!offer->mps)
		return;
	config_read(&config, link->ntb);
	ntb = config_mps(&config);
	if (ntb < 0)
		unknown(&probe, "run it as root", "which packets the NTB takes cannot be read");
	else if (offer->mps > ntb)
		fail(&probe, TOOL_IMPOSSIBLE, "boot both hosts with pci=pcie_bus_peer2peer",
		     "it sends packets of up to %lld bytes, and the NTB takes %d", offer->mps, ntb);
	else
		pass(&probe, "it sends packets of up to %lld bytes, and the NTB takes %d",
		     offer->mps, ntb);
}

static void look_at_vectors(struct preflight *pf, const struct offer *offer)
{
	const struct probe probe = check(pf, offer, "interrupts");

	if (offer->msix)
		pass(&probe, "MSI-X, %lld vectors", offer->msix);
	else if (offer->msi > 1 && pf->remapping != REMAPPING_ON)
		warn(&probe,
		     "nothing, if one will do; else interrupt remapping, in firmware and kernel",
		     "MSI, %lld vectors; without interrupt remapping on this host there will be one",
		     offer->msi);
	else if (offer->msi)
		pass(&probe, "MSI, vectors: %lld", offer->msi);
	else
		warn(&probe, "nothing, if that will do; else choose a device with MSI or MSI-X",
		     "no MSI: its INTx, if it has that, comes by way of its lender's CPU (mode doorbell)");
}

/* All that is to be known of one offer. */
void preflight_offer(struct preflight *pf, const struct offer *offer)
{
	const struct windows *windows = NULL;
	const struct link *link = NULL;
	size_t i;

	for (i = 0; i < pf->links.count; i++)
		if (!strcmp(pf->links.link[i].name, offer->link)) {
			link = &pf->links.link[i];
			windows = &pf->windows[i];
		}
	look_at_state(pf, offer);
	look_at_bars(pf, offer, windows);
	look_at_vectors(pf, offer);
	if (link)
		look_at_packets(pf, offer, link);
}
