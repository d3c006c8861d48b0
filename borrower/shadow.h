/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The shadow of a lent device: what hangs below one virtual host bridge.
 *
 * bus->sysdata of every bus in the shadow's domain points to a struct borrower_shadow. On
 * x86 the architecture reads sysdata as a struct pci_sysdata, so that comes first.
 *
 * Lifetime: allocated when a lease sets up its bridge, freed by the bridge's release
 * function and nowhere else: an open file of the driver above may hold the pci_dev, and with it
 * bus, bridge and sysdata, long after the lease has ended.
 */
#ifndef BORROWER_SHADOW_H
#define BORROWER_SHADOW_H

#include <linux/pci.h>

#include "config.h"

#ifndef CONFIG_X86
#error "devlend_borrower knows the interrupt range and the PCI sysdata of x86 only"
#endif

struct borrower_lease;

/**
 * struct borrower_shadow - sysdata of the virtual host bridge
 * @sysdata: what x86 wants to find at bus->sysdata: domain and node
 * @config: the config space image; killed at the latest when the lease dies
 * @lease: the lease; this pointer holds a reference until the bridge is released
 * @busn: bus number window of the bridge
 * @bridge: the host bridge; valid until the release function ran
 * @bus: the root bus; NULL unless scanned and not yet removed
 * @pdev: the shadow device, referenced; NULL unless there is one on the bus
 * @error: why it is not what was granted; then its config space is dead. 0 = it is
 *
 * @bus, @pdev and @error change under the lease's lock.
 */
struct borrower_shadow {
	struct pci_sysdata sysdata;
	struct borrower_config config;
	struct borrower_lease *lease;
	struct resource busn;
	struct pci_host_bridge *bridge;
	struct pci_bus *bus;
	struct pci_dev *pdev;
	int error;
};

/**
 * borrower_shadow_of_bus() - the shadow that a bus of its domain belongs to
 * @bus: a bus below a bridge of borrower/bridge.c, and of nobody else
 *
 * Context: any.
 * Return: the shadow; valid for as long as @bus is.
 */
static inline struct borrower_shadow *borrower_shadow_of_bus(struct pci_bus *bus)
{
	return container_of((struct pci_sysdata *)bus->sysdata, struct borrower_shadow, sysdata);
}

#endif /* BORROWER_SHADOW_H */
