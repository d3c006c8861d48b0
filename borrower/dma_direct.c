// SPDX-License-Identifier: GPL-2.0
/*
 * DMA mode "direct": no IOMMU translates for the NTB function, and the window covers the memory.
 *
 * dev->dma_range_map holds one entry per piece of RAM; the kernel's dma-direct adds the offset on
 * its own inlined path. The map holds RAM only, never the whole window: an address in the hole
 * below 4 GiB would otherwise be "translated" successfully. Where RAM exists beyond the window,
 * bus_dma_limit makes the kernel bounce it, and take coherent memory from below; it stays 0
 * otherwise, as it costs dma_max_mapping_size.
 *
 * The driver core frees the map at each unbind, so it is set again at each bind. A bind cannot be
 * failed from there; where memory is short bus_dma_limit becomes 1, and every mapping fails.
 *
 * Called by borrow.c, bridge.c and dma.c. Owns the maps until the driver core frees them. No locks
 * of its own: the lease's memory is constant from before the device is added until after it was
 * removed.
 */
#include <linux/cc_platform.h>
#include <linux/dma-map-ops.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "dma.h"

/* no address is below this limit: fail closed */
#define DMA_LIMIT_NOTHING	1

static int dma_direct_usable(struct borrower_memory *mem, struct device *log)
{
	int err;

	if (cc_platform_has(CC_ATTR_MEM_ENCRYPT)) {
		dev_err(log, "memory encryption is on: a lent device would read ciphertext; boot with mem_encrypt=off\n");
		return -EOPNOTSUPP;
	}
	err = borrower_memory_survey(mem);
	if (err)
		dev_err(log, "cannot list this host's RAM (%d)\n", err);
	return err;
}

static int dma_direct_expose(struct borrower_memory *mem, struct devlend_link *link,
			     struct pci_dev *ntb, struct device *log)
{
	return borrower_memory_expose_ram(mem, link, &ntb->dev, log);
}

static int dma_direct_open_page(struct borrower_memory *mem, struct page *page, u64 *offset)
{
	/* the entry starts at CPU physical address 0 */
	*offset = page_to_phys(page);
	return 0;
}

/* An IOMMU group or DMA operations would make the kernel pass the range map by. */
static bool dma_direct_right(const struct borrower_memory *mem, struct pci_dev *pdev,
			     struct device *log)
{
	if (!device_iommu_mapped(&pdev->dev) && !get_dma_ops(&pdev->dev))
		return true;
	dev_err(log, "an IOMMU driver of this host claimed the shadow; boot with iommu=pt, or choose another domain_base\n");
	return false;
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
	.expose = dma_direct_expose,
	.open_page = dma_direct_open_page,
	.right = dma_direct_right,
	.bind = dma_direct_bind,
};
