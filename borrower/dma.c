// SPDX-License-Identifier: GPL-2.0
/*
 * DMA of the shadow: the addresses that its driver gives to the lent device.
 *
 * One interface, struct borrower_dma_ops, with a mode for each kind of host:
 *
 * direct   This host translates nothing for the NTB function, and the window covers its memory:
 *          dma_direct.c.
 * iommu    An IOMMU translates for the NTB function. The kernel's own IOMMU DMA works for the
 *          shadow, above an IOMMU driver of ours that passes each mapping on to the NTB function's
 *          domain, at I/O addresses that the window covers: dma_iommu.c, io_range.c,
 *          iommu_driver.c. On kernels that know one IOMMU driver only the shadow has DMA
 *          operations of ours: dma_private.c and dma_private_alloc.c in place of the last.
 *
 * The mode is chosen once for a lease, when it begins. Shadows come to it by a notifier on the PCI
 * bus. That runs before IOMMU drivers have seen a new device, so it can say whose it is; and
 * at BUS_NOTIFY_BIND_DRIVER, after dma_configure and before probe.
 *
 * Called by lease.c and, through the notifier, by the driver core. Owns nothing; no locks.
 */
#include <linux/iommu.h>
#include <linux/pci.h>

#include "dma.h"
#include "lease.h"
#include "shadow.h"

/* IOMMU drivers watch the bus with priority 0: before those. */
#define DMA_BEFORE_IOMMU_DRIVERS	1

/**
 * borrower_dma_choose() - how to do DMA through an NTB function
 * @ntb: its driver is bound, so its domain stays
 *
 * Context: process. Return: the mode; whether it can work is for its usable() to say.
 */
const struct borrower_dma_ops *borrower_dma_choose(struct pci_dev *ntb)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&ntb->dev);

	if (domain && domain->type != IOMMU_DOMAIN_IDENTITY)
		return &borrower_dma_iommu;
	return &borrower_dma_direct;
}

static int dma_notify(struct notifier_block *nb, unsigned long action, void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);
	struct borrower_lease *lease;
	int err = 0;

	if (pdev->bus->ops != &borrower_pci_ops)
		return NOTIFY_DONE;
	lease = borrower_shadow_of_bus(pdev->bus)->lease;
	if (action == BUS_NOTIFY_ADD_DEVICE && lease->dma->add) {
		err = lease->dma->add(pdev);
		if (err)
			pci_err(pdev, "its DMA cannot be translated (%d)\n", err);
	} else if (action == BUS_NOTIFY_REMOVED_DEVICE && lease->dma->remove) {
		lease->dma->remove(pdev);
	} else if (action == BUS_NOTIFY_BIND_DRIVER && lease->dma->bind) {
		err = lease->dma->bind(&lease->memory, pdev);
		if (err)
			pci_err(pdev, "no DMA map (%d): the driver's mappings will fail; unbind it and bind it again\n",
				err);
	}
	return NOTIFY_OK;
}

static struct notifier_block dma_nb = {
	.notifier_call = dma_notify,
	.priority = DMA_BEFORE_IOMMU_DRIVERS,
};

/**
 * borrower_dma_init() - get ready for shadows
 *
 * Context: process. Return: 0 or an errno.
 */
int borrower_dma_init(void)
{
	int err = borrower_iommu_init();

	if (err)
		return err;
	err = bus_register_notifier(&pci_bus_type, &dma_nb);
	if (err)
		borrower_iommu_exit();
	return err;
}

/**
 * borrower_dma_exit() - undo borrower_dma_init(); no shadow is left
 *
 * Context: process.
 */
void borrower_dma_exit(void)
{
	bus_unregister_notifier(&pci_bus_type, &dma_nb);
	borrower_iommu_exit();
}
