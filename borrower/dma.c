// SPDX-License-Identifier: GPL-2.0
/*
 * DMA of the shadow: the addresses that its driver gives to the lent device.
 *
 * There is one interface, struct borrower_dma_ops, and one implementation today:
 *
 * direct   The window covers the memory. dev->dma_range_map holds one entry per piece of
 *          RAM; the kernel's dma-direct adds the offset on its own inlined path. The map
 *          holds RAM only, never the whole window: an address in the hole below 4 GiB would
 *          otherwise be "translated" successfully. Where RAM exists beyond the window,
 *          bus_dma_limit makes the kernel bounce it, and take coherent memory from below; it
 *          stays 0 otherwise, as it costs dma_max_mapping_size.
 *
 * The driver core frees the map at each unbind, so a notifier on the PCI bus sets it again
 * at each bind: BUS_NOTIFY_BIND_DRIVER comes after dma_configure and before probe. The
 * notifier cannot fail a bind; where memory is short it sets bus_dma_limit to 1, and every
 * mapping fails.
 *
 * Called by borrow.c (usable), and by the driver core through the notifier with the device
 * lock held. Owns the maps until the driver core frees them. No locks of its own: the
 * lease's memory is constant from before the device is added until after it was removed.
 */
#include <linux/cc_platform.h>
#include <linux/dma-map-ops.h>
#include <linux/iommu.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "dma.h"
#include "lease.h"
#include "shadow.h"

/* no address is below this limit: fail closed */
#define DMA_LIMIT_NOTHING	1

static int dma_direct_usable(struct pci_dev *ntb, struct device *log)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&ntb->dev);

	if (cc_platform_has(CC_ATTR_MEM_ENCRYPT)) {
		dev_err(log, "memory encryption is on: a lent device would read ciphertext; boot with mem_encrypt=off\n");
		return -EOPNOTSUPP;
	}
	if (domain && domain->type != IOMMU_DOMAIN_IDENTITY) {
		dev_err(log, "this host's IOMMU translates NTB %s; boot with iommu=pt, or write identity to its iommu_group/type\n",
			pci_name(ntb));
		return -EOPNOTSUPP;
	}
	return 0;
}

static int dma_direct_bind(const struct borrower_memory *mem, struct pci_dev *pdev)
{
	struct bus_dma_region *map;

	/* ours of an earlier bind that never reached a driver; the driver core frees it else */
	kfree(pdev->dev.dma_range_map);
	pdev->dev.dma_range_map = NULL;
	pdev->dev.bus_dma_limit = DMA_LIMIT_NOTHING;

	map = kcalloc(BORROWER_DMA_ENTRIES, sizeof(*map), GFP_KERNEL);
	if (!map)
		return -ENOMEM;
	if (!borrower_dma_build(mem, map, BORROWER_DMA_ENTRIES)) {
		kfree(map);
		return -ENOSPC;
	}
	pdev->dev.dma_range_map = map;
	pdev->dev.bus_dma_limit = borrower_dma_limit(mem);
	return 0;
}

const struct borrower_dma_ops borrower_dma_direct = {
	.name = "direct",
	.usable = dma_direct_usable,
	.bind = dma_direct_bind,
};

/**
 * borrower_dma_shadow_untranslated() - did no IOMMU driver take the shadow for its own?
 * @pdev: the shadow, scanned, no driver bound
 *
 * An IOMMU group or DMA operations would make the kernel pass the range map by.
 * Context: process. Return: true where direct mode is safe.
 */
bool borrower_dma_shadow_untranslated(struct pci_dev *pdev)
{
	return !device_iommu_mapped(&pdev->dev) && !get_dma_ops(&pdev->dev);
}

static int dma_notify(struct notifier_block *nb, unsigned long action, void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);
	struct borrower_lease *lease;
	int err;

	if (action != BUS_NOTIFY_BIND_DRIVER || pdev->bus->ops != &borrower_pci_ops)
		return NOTIFY_DONE;
	lease = borrower_shadow_of_bus(pdev->bus)->lease;
	err = lease->dma->bind(&lease->memory, pdev);
	if (err)
		pci_err(pdev, "no DMA map (%d): the driver's mappings will fail; unbind it and bind it again\n",
			err);
	return NOTIFY_OK;
}

static struct notifier_block dma_nb = {
	.notifier_call = dma_notify,
};

/**
 * borrower_dma_init() - start to watch for drivers that bind to shadows
 *
 * Context: process. Return: 0 or an errno.
 */
int borrower_dma_init(void)
{
	return bus_register_notifier(&pci_bus_type, &dma_nb);
}

/**
 * borrower_dma_exit() - stop watching; no shadow is left
 *
 * Context: process.
 */
void borrower_dma_exit(void)
{
	bus_unregister_notifier(&pci_bus_type, &dma_nb);
}
