// SPDX-License-Identifier: GPL-2.0
/*
 * The virtual host bridge: a PCI domain with one root bus and, on it, the shadow.
 *
 * The windows carry an offset, CPU address minus lender bus address. So the PCI core itself
 * computes from a BAR register (which holds the lender's bus address) the resource inside
 * the NTB's aperture, and back. BARs are claimed where they are, never assigned. All
 * native_* flags are 0: no hot-plug, PME, AER, LTR or DPC service of this host has any
 * business on that bus.
 *
 * Order that is known to work: allocate, windows, bridge fields and MSI domain, then under
 * the rescan lock scan, claim, check, and add.
 *
 * Called by borrow.c and removal.c in the lease's worker, which holds no lock. Takes the
 * rescan lock, and under it the lease's lock; drivers are bound and unbound without either. Owns
 * the shadow: it is freed by the bridge's release function, when the last user of pci_dev, bus or
 * bridge has gone, however long after the lease.
 */
#include <linux/iommu.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <devlend/compat.h>

#include "bridge.h"
#include "dma.h"
#include "irq_doorbell.h"
#include "lease.h"
#include "shadow.h"

/* Override of a device that no driver is to take yet. */
#define BRIDGE_NO_DRIVER	"(none)"

/* The shadow is function 0 of device 0 on bus 0. */
#define BRIDGE_BUS	0
#define BRIDGE_DEVFN	PCI_DEVFN(0, 0)

static void bridge_release(struct pci_host_bridge *bridge)
{
	struct borrower_shadow *shadow = bridge->release_data;

	put_device(&shadow->lease->dev);
	kfree(shadow);
	borrower_object_put();
}

/**
 * borrower_bridge_domain_free() - may a shadow have this PCI domain?
 * @domain: number wanted
 *
 * No bus may have it, and no other domain the same low 16 bits: IOMMU drivers look devices
 * up by those, and would take the shadow for another device.
 *
 * Context: process. Return: 0, or -EEXIST.
 */
int borrower_bridge_domain_free(int domain)
{
	struct pci_bus *bus = NULL;

	while ((bus = pci_find_next_bus(bus)))
		if ((pci_domain_nr(bus) & 0xffff) == (domain & 0xffff))
			return -EEXIST;
	return 0;
}

/* False where memory was short: pci_add_resource() says so in the log alone. */
static bool bridge_set_windows(struct borrower_shadow *shadow)
{
	struct borrower_windows *windows = &shadow->lease->windows;
	struct pci_host_bridge *bridge = shadow->bridge;
	unsigned int i, missing = 1 + windows->count;
	struct resource_entry *entry;

	shadow->busn = (struct resource) {
		.name = dev_name(&shadow->lease->dev),
		.start = BRIDGE_BUS,
		.end = BRIDGE_BUS,
		.flags = IORESOURCE_BUS,
	};
	pci_add_resource(&bridge->windows, &shadow->busn);
	for (i = 0; i < windows->count; i++)
		pci_add_resource_offset(&bridge->windows, &windows->win[i].res,
					windows->win[i].offset);
	resource_list_for_each_entry(entry, &bridge->windows)
		missing--;
	return !missing;
}

/**
 * borrower_bridge_create() - make a host bridge that is not scanned yet
 * @lease: windows built, interrupt domain made
 *
 * Context: process; no locks needed.
 * Return: the shadow, with one reference to its bridge that borrower_bridge_put() drops;
 * NULL where memory is short.
 */
struct borrower_shadow *borrower_bridge_create(struct borrower_lease *lease)
{
	struct borrower_shadow *shadow;
	struct pci_host_bridge *bridge;

	shadow = kzalloc(sizeof(*shadow), GFP_KERNEL);
	if (!shadow)
		return NULL;
	bridge = pci_alloc_host_bridge(0);
	if (!bridge) {
		kfree(shadow);
		return NULL;
	}
	borrower_object_get();
	get_device(&lease->dev);	/* dropped by bridge_release() */
	shadow->lease = lease;
	shadow->bridge = bridge;
	shadow->sysdata.domain = lease->domain;
	shadow->sysdata.node = dev_to_node(&lease->ntb->dev);
	pci_set_host_bridge_release(bridge, bridge_release, shadow);

	if (!bridge_set_windows(shadow)) {
		borrower_bridge_put(shadow);
		return NULL;
	}
	bridge->dev.parent = &lease->dev;
	bridge->sysdata = &shadow->sysdata;
	bridge->busnr = BRIDGE_BUS;
	bridge->ops = &borrower_pci_ops;
	bridge->native_aer = 0;
	bridge->native_pcie_hotplug = 0;
	bridge->native_shpc_hotplug = 0;
	bridge->native_pme = 0;
	bridge->native_ltr = 0;
	bridge->native_dpc = 0;
	dev_set_msi_domain(&bridge->dev, lease->irq.domain);
	return shadow;
}

static bool bridge_bar_right(struct pci_dev *pdev, int i, const struct borrower_bar *bar)
{
	struct resource *res = &pdev->resource[i];

	if (!bar->size)
		return !(res->flags & IORESOURCE_MEM) || !resource_size(res);
	return res->parent && res->flags & IORESOURCE_MEM &&
	       pci_resource_start(pdev, i) == bar->cpu_phys &&
	       pci_resource_len(pdev, i) == bar->size &&
	       pci_bus_address(pdev, i) == bar->lender_bus;
}

/* Is what the PCI core made of the config image what was granted? */
static int bridge_check(struct borrower_shadow *shadow, struct pci_dev *pdev)
{
	struct borrower_lease *lease = shadow->lease;
	int i;

	for (i = 0; i < DEVLEND_BARS; i++) {
		const struct borrower_bar *bar = &lease->grant.bar[i];

		if (bridge_bar_right(pdev, i, bar))
			continue;
		dev_err(&lease->dev, "BAR %d became %pR (bus %#llx), granted was %#llx bytes at %#llx (bus %#llx)\n",
			i, &pdev->resource[i], (u64)pci_bus_address(pdev, i), bar->size,
			bar->cpu_phys, bar->lender_bus);
		return -EPROTO;
	}
	return lease->dma->right(&lease->memory, pdev, &lease->dev) ? 0 : -EOPNOTSUPP;
}

/* INTx has an interrupt already: firmware's tables, which do not know the device, are not asked. */
static void bridge_set_line(const struct borrower_doorbell *db, struct pci_dev *pdev)
{
	unsigned int virq = db->virq[DEVLEND_EVENT_INTX];

	if (!virq)
		return;
	pdev->irq = virq;
	pdev->irq_managed = 1;
}

/*
 * The shadow appears: by our own scan, or by a rescan after somebody removed it. IOMMU drivers
 * have seen it, a driver has not. Its BARs are claimed at once, or the PCI core would move them
 * where a rescan finds them unclaimed. One that is not what was granted is cut off before a
 * driver can bind; our own scan then gives up, after a rescan the operator may return the lease.
 * From here on those who cut leases off know of it.
 */
static void bridge_device_added(struct borrower_shadow *shadow, struct pci_dev *pdev)
{
	struct borrower_lease *lease = shadow->lease;
	int i, err;

	for (i = 0; i < PCI_STD_NUM_BARS; i++)
		if (pdev->resource[i].flags && !pdev->resource[i].parent)
			pci_claim_resource(pdev, i);
	err = bridge_check(shadow, pdev);

	mutex_lock(&lease->lock);
	if (!shadow->pdev)
		shadow->pdev = pci_dev_get(pdev);
	shadow->error = err;
	if (err)
		borrower_config_kill(&shadow->config);
	if (err || lease->dead)
		xchg(&pdev->error_state, pci_channel_io_perm_failure);
	mutex_unlock(&lease->lock);
	if (lease->doorbell)
		bridge_set_line(lease->doorbell, pdev);
}

static void bridge_device_removed(struct borrower_shadow *shadow, struct pci_dev *pdev)
{
	struct borrower_lease *lease = shadow->lease;

	mutex_lock(&lease->lock);
	if (shadow->pdev == pdev) {
		shadow->pdev = NULL;
		pci_dev_put(pdev);
	}
	mutex_unlock(&lease->lock);
}

static int bridge_notify(struct notifier_block *nb, unsigned long action, void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);

	if (pdev->bus->ops != &borrower_pci_ops)
		return NOTIFY_DONE;
	if (action == BUS_NOTIFY_ADD_DEVICE)
		bridge_device_added(borrower_shadow_of_bus(pdev->bus), pdev);
	else if (action == BUS_NOTIFY_DEL_DEVICE)
		bridge_device_removed(borrower_shadow_of_bus(pdev->bus), pdev);
	return NOTIFY_OK;
}

static struct notifier_block bridge_nb = {
	.notifier_call = bridge_notify,
};

/**
 * borrower_bridge_init() - start to watch shadows come and go
 *
 * Context: process. Return: 0 or an errno.
 */
int borrower_bridge_init(void)
{
	return bus_register_notifier(&pci_bus_type, &bridge_nb);
}

/**
 * borrower_bridge_exit() - stop watching; no shadow is left
 *
 * Context: process.
 */
void borrower_bridge_exit(void)
{
	bus_unregister_notifier(&pci_bus_type, &bridge_nb);
}

/* Add the shadow with no driver bound. */
static void bridge_add(struct borrower_shadow *shadow, struct pci_dev *pdev)
{
	int err = devlend_driver_override_set(pdev, BRIDGE_NO_DRIVER);

	if (err)
		pci_warn(pdev, "no memory to keep drivers away for a moment: the first is probed under the rescan lock\n");
	pci_bus_add_devices(shadow->bus);
}

/*
 * Now a driver may bind. Not under the rescan lock: a probe whose lender dies lasts as long as the
 * driver is patient, 60 s for nvme, and nothing else on the host is to wait for it. An override
 * that somebody else wrote meanwhile stays.
 */
static void bridge_probe(struct pci_dev *pdev)
{
	char *override = devlend_driver_override_get(pdev);

	if (!IS_ERR_OR_NULL(override) && !strcmp(override, BRIDGE_NO_DRIVER))
		devlend_driver_override_set(pdev, NULL);
	if (!IS_ERR(override))
		kfree(override);
	if (device_attach(&pdev->dev) < 0)
		pci_warn(pdev, "a driver did not take it; write to bind of the one that should\n");
}

/**
 * borrower_bridge_scan() - find the shadow, claim its BARs, add it, and let its driver bind
 * @shadow: its config image is ready, its windows attached
 *
 * Context: the lease's worker, no locks held; takes the rescan lock for the scan, and probes
 * drivers without it.
 * Return: 0; -ENODEV where nothing answers; -EPROTO where what answers is not what was granted;
 * -ENOLINK where the lender was lost; on any error borrower_bridge_remove() is due all the
 * same.
 */
int borrower_bridge_scan(struct borrower_shadow *shadow)
{
	struct borrower_lease *lease = shadow->lease;
	struct pci_dev *pdev = NULL;
	int err;

	pci_lock_rescan_remove();
	err = pci_scan_root_bus_bridge(shadow->bridge);
	if (err)
		goto unlock;
	mutex_lock(&lease->lock);
	shadow->bus = shadow->bridge->bus;
	if (lease->dead)
		err = -ENOLINK;
	else if (!shadow->pdev)
		err = -ENODEV;
	else
		err = shadow->error;
	mutex_unlock(&lease->lock);
	if (err)
		goto unlock;
	/* it goes under the rescan lock only; afterwards it is ours by the reference */
	pdev = pci_dev_get(shadow->pdev);
	bridge_add(shadow, pdev);
unlock:
	pci_unlock_rescan_remove();
	if (pdev)
		bridge_probe(pdev);
	pci_dev_put(pdev);
	if (err == -ENODEV)
		dev_err(&lease->dev, "the shadow's config space shows no device; lend the device again\n");
	return err;
}

/**
 * borrower_bridge_unbind() - unbind the shadow's driver, without the rescan lock
 * @shadow: scanned, or not
 *
 * It may take long, and other devices of the host are not to wait for it.
 *
 * Context: the lease's worker, no locks held.
 */
void borrower_bridge_unbind(struct borrower_shadow *shadow)
{
	struct borrower_lease *lease = shadow->lease;
	struct pci_dev *pdev;

	mutex_lock(&lease->lock);
	pdev = pci_dev_get(shadow->pdev);
	mutex_unlock(&lease->lock);
	if (pdev)
		device_release_driver(&pdev->dev);
	pci_dev_put(pdev);
}

/**
 * borrower_bridge_remove() - remove the shadow and its bus
 * @shadow: scanned, or not; its driver unbound
 *
 * Context: the lease's worker, no locks held.
 */
void borrower_bridge_remove(struct borrower_shadow *shadow)
{
	struct borrower_lease *lease = shadow->lease;
	struct pci_bus *bus = shadow->bus;

	if (!bus)
		return;
	pci_lock_rescan_remove();
	pci_stop_root_bus(bus);
	pci_remove_root_bus(bus);
	pci_unlock_rescan_remove();

	mutex_lock(&lease->lock);
	shadow->bus = NULL;
	mutex_unlock(&lease->lock);
}

/**
 * borrower_bridge_put() - drop the lease's reference to the bridge; it goes with its last user
 * @shadow: not to be used by the caller any more
 *
 * Context: process.
 */
void borrower_bridge_put(struct borrower_shadow *shadow)
{
	pci_free_host_bridge(shadow->bridge);
}
