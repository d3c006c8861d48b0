// SPDX-License-Identifier: GPL-2.0
/* Leases: what this host has borrowed, and what its drivers made of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonout.h"
#include "lease.h"

static void lease_read_shadow(struct lease *lease)
{
	struct nodes nodes;
	size_t i;

	pcidev_ids(&lease->ids, lease->pci);
	pcidev_driver(lease->driver, sizeof(lease->driver), lease->pci);
	nodes_read(&nodes, lease->pci);
	for (i = 0; i < nodes.count; i++) {
		if (nodes.node[i].kind == NODE_DISK)
			names_add(&lease->disks, nodes.node[i].name);
		else if (nodes.node[i].kind == NODE_NET)
			names_add(&lease->nets, nodes.node[i].name);
	}
	nodes_free(&nodes);
}

/* The offer tells its host, but goes with the link; its name has the first digits. */
static void lease_read_peer(struct lease *lease)
{
	if (strncmp(lease->offer, "offer-", strlen("offer-")))
		return;
	if (sys_read(lease->peer, sizeof(lease->peer), SYS_BUS "/%s/host", lease->offer))
		snprintf(lease->peer, sizeof(lease->peer), "%.8s",
			 lease->offer + strlen("offer-"));
}

/* One lease, to be freed; false if it is gone. */
bool lease_read(struct lease *lease, const char *name)
{
	char dir[PATH_MAX];

	*lease = (struct lease){ 0 };
	snprintf(lease->name, sizeof(lease->name), "%s", name);
	snprintf(dir, sizeof(dir), SYS_BUS "/%s", lease->name);
	if (sys_read(lease->state, sizeof(lease->state), "%s/state", dir))
		return false;
	sys_read(lease->offer, sizeof(lease->offer), "%s/offer", dir);
	sys_read(lease->link, sizeof(lease->link), "%s/link", dir);
	sys_read(lease->dma_mode, sizeof(lease->dma_mode), "%s/dma_mode", dir);
	sys_read(lease->dma_flush_ms, sizeof(lease->dma_flush_ms), "%s/dma_flush_ms", dir);
	sys_read(lease->irq_mode, sizeof(lease->irq_mode), "%s/irq_mode", dir);
	lease_read_peer(lease);
	sys_read(lease->irq_proof, sizeof(lease->irq_proof), "%s/irq_proof", dir);
	sys_read(lease->bar_proof, sizeof(lease->bar_proof), "%s/bar_proof", dir);
	lease->slot = sys_number(-1, "%s/slot", dir);
	lease->since = sys_number(-1, "%s/since", dir);
	if (!sys_read(lease->pci, sizeof(lease->pci), "%s/pci", dir))
		lease_read_shadow(lease);
	return true;
}

void lease_free(struct lease *lease)
{
	names_free(&lease->disks);
	names_free(&lease->nets);
}

/* All leases of this host. */
void leases_read(struct leases *leases)
{
	struct names names;
	size_t i;

	sys_list(&names, "lease-", SYS_BUS);
	leases->count = 0;
	leases->lease = calloc(names.count + 1, sizeof(*leases->lease));
	if (!leases->lease)
		abort();
	for (i = 0; i < names.count; i++)
		if (lease_read(&leases->lease[leases->count], names.name[i]))
			leases->count++;
	names_free(&names);
}

void leases_free(struct leases *leases)
{
	while (leases->count)
		lease_free(&leases->lease[--leases->count]);
	free(leases->lease);
}

/* Address of the borrowed device at its lender: what follows the host in the offer's name. */
const char *lease_device(const struct lease *lease)
{
	const char *at = strchr(lease->offer, '-');

	at = at ? strchr(at + 1, '-') : NULL;
	return at ? at + 1 : "";
}

/* Whether a person's word means this lease: its name, its domain, its shadow, its offer, a disk. */
bool lease_is(const struct lease *lease, const char *text)
{
	char bdf[PCIADDR_MAX];

	if (!strcmp(text, lease->name) || !strcmp(text, lease->name + strlen("lease-")) ||
	    !strcmp(text, lease->offer))
		return true;
	if (!pciaddr_parse(text, bdf) && !pciaddr_of_node(text, bdf))
		return false;
	return !strcmp(bdf, lease->pci) || !strcmp(bdf, lease_device(lease));
}

struct json_object *lease_json(const struct lease *lease)
{
	struct json_object *o = json_object_new_object();

	json_text(o, "lease", lease->name);
	json_text(o, "state", lease->state);
	json_text(o, "offer", lease->offer);
	json_text(o, "device", lease_device(lease));
	json_text(o, "peer", lease->peer);
	json_text(o, "link", lease->link);
	json_text(o, "pci", lease->pci);
	json_text(o, "driver", lease->driver);
	json_text(o, "dma_mode", lease->dma_mode);
	json_text(o, "dma_flush_ms", lease->dma_flush_ms);
	json_text(o, "irq_mode", lease->irq_mode);
	json_text(o, "irq_proof", lease->irq_proof);
	json_text(o, "bar_proof", lease->bar_proof);
	json_number(o, "slot", lease->slot);
	json_number(o, "since", lease->since);
	json_names(o, "disks", &lease->disks);
	json_names(o, "interfaces", &lease->nets);
	json_ids(o, &lease->ids);
	return o;
}
