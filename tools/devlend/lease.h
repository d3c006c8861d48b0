/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_LEASE_H
#define DEVLEND_TOOL_LEASE_H

#include <json.h>

#include "nodes.h"
#include "pciaddr.h"
#include "pcidev.h"
#include "sysfs.h"

/**
 * struct lease - a device of another host, in use here
 * @name: on the devlend bus
 * @state: as the kernel tells it
 * @offer: the offer that was borrowed
 * @peer: UUID of the lender; its first eight digits where that is lost
 * @link: link that it was borrowed through
 * @pci: address of the shadow; "" while there is none
 * @driver: driver of the shadow; "" = none
 * @dma_mode: how its DMA addresses are made
 * @dma_flush_ms: how long what its driver unmapped stays in reach; a number, or "never"
 * @irq_mode: how its interrupts arrive
 * @irq_proof: what is known of the way of its interrupts
 * @bar_proof: whether the way to its registers is proven
 * @slot: its slot
 * @since: when it began, seconds since 1970; -1 = unknown
 * @ids: what it is
 * @disks: its block devices
 * @nets: its network interfaces
 */
struct lease {
	char name[32];
	char state[16];
	char offer[64];
	char peer[40];
	char link[32];
	char pci[PCIADDR_MAX];
	char driver[64];
	char dma_mode[16];
	char dma_flush_ms[16];
	char irq_mode[16];
	char irq_proof[16];
	char bar_proof[16];
	long long slot;
	long long since;
	struct pci_ids ids;
	struct names disks, nets;
};

/* a list of leases; free it */
struct leases {
	size_t count;
	struct lease *lease;
};

void leases_read(struct leases *leases);
void leases_free(struct leases *leases);
bool lease_read(struct lease *lease, const char *name);
void lease_free(struct lease *lease);
bool lease_is(const struct lease *lease, const char *text);
const char *lease_device(const struct lease *lease);
struct json_object *lease_json(const struct lease *lease);

#endif
