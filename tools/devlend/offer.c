// SPDX-License-Identifier: GPL-2.0
/* Offers: what other hosts lend. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonout.h"
#include "offer.h"

/* Whether this host can borrow at all. */
int borrower_loaded(struct why *why)
{
	if (sys_exists("/sys/module/devlend_borrower"))
		return TOOL_OK;
	return why_not(why, TOOL_MODULES, "cannot borrow: modprobe devlend_borrower first");
}

/* The name of the folder that an offer lies in: the link. */
static void offer_link(struct offer *offer)
{
	char path[PATH_MAX], *real, *last;

	sys_path(path, SYS_BUS "/%s", offer->name);
	real = realpath(path, NULL);
	if (!real)
		return;
	last = strrchr(real, '/');
	*last = '\0';
	last = strrchr(real, '/');
	if (last && !strncmp(last + 1, "link", 4))
		snprintf(offer->link, sizeof(offer->link), "%.31s", last + 1);
	free(real);
}

/* One offer; false if it is gone. */
bool offer_read(struct offer *offer, const char *name)
{
	char dir[PATH_MAX];
	const char *at;
	int i;

	*offer = (struct offer){ 0 };
	snprintf(offer->name, sizeof(offer->name), "%s", name);
	snprintf(dir, sizeof(dir), SYS_BUS "/%s", offer->name);
	if (sys_read(offer->state, sizeof(offer->state), "%s/state", dir))
		return false;
	sys_read(offer->id, sizeof(offer->id), "%s/id", dir);
	sys_read(offer->host, sizeof(offer->host), "%s/host", dir);
	/* offer-<host>-<address> */
	at = strchr(name + strlen("offer-"), '-');
	if (at)
		snprintf(offer->device, sizeof(offer->device), "%s", at + 1);
	for (i = 0; i < OFFER_BARS; i++)
		offer->bar[i] = sys_number(0, "%s/bar%d_size", dir, i);
	offer->msi = sys_number(0, "%s/msi_vectors", dir);
	offer->msix = sys_number(0, "%s/msix_vectors", dir);
	offer->mps = sys_number(0, "%s/mps", dir);
	offer->lender_iommu = sys_number(0, "%s/lender_iommu", dir);
	sys_read(offer->irq_mode, sizeof(offer->irq_mode), "%s/irq_mode", dir);
	pci_ids_read(&offer->ids, dir, "subsystem");
	offer_link(offer);
	return true;
}

/* All offers of all other hosts. */
void offers_read(struct offers *offers)
{
	struct names names;
	size_t i;

	sys_list(&names, "offer-", SYS_BUS);
	offers->count = 0;
	offers->offer = calloc(names.count + 1, sizeof(*offers->offer));
	if (!offers->offer)
		abort();
	for (i = 0; i < names.count; i++)
		if (offer_read(&offers->offer[offers->count], names.name[i]))
			offers->count++;
	names_free(&names);
}

void offers_free(struct offers *offers)
{
	free(offers->offer);
}

/* Whether a person's word means this offer: its name, identity, or address at the lender. */
bool offer_is(const struct offer *offer, const char *text)
{
	char bdf[PCIADDR_MAX];

	if (!strcmp(text, offer->name) || !strcmp(text, offer->name + strlen("offer-")) ||
	    !strcmp(text, offer->id))
		return true;
	return pciaddr_parse(text, bdf) && !strcmp(bdf, offer->device);
}

struct json_object *offer_json(const struct offer *offer)
{
	struct json_object *o = json_object_new_object(), *bars = json_object_new_array();
	int i;

	json_text(o, "offer", offer->name);
	json_text(o, "id", offer->id);
	json_text(o, "host", offer->host);
	json_text(o, "device", offer->device);
	json_text(o, "link", offer->link);
	json_text(o, "state", offer->state);
	for (i = 0; i < OFFER_BARS; i++)
		json_object_array_add(bars, json_object_new_int64(offer->bar[i]));
	json_object_object_add(o, "bar_sizes", bars);
	json_number(o, "msi_vectors", offer->msi);
	json_number(o, "msix_vectors", offer->msix);
	json_number(o, "mps", offer->mps);
	json_number(o, "lender_iommu", offer->lender_iommu);
	json_text(o, "irq_mode", offer->irq_mode);
	json_ids(o, &offer->ids);
	return o;
}
