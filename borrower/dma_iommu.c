// SPDX-License-Identifier: GPL-2.0
/*
 * DMA mode "iommu": this host's IOMMU translates for the NTB function.
 *
 * A lease gets a slice of the I/O addresses that the window covers (io_range.c), with nothing in
 * it; the window is opened onto that, and the lender tells by which addresses its device reaches
 * it. What the shadow's driver maps appears there, page by page, by the kernel's own IOMMU DMA
 * above a driver of ours (iommu_driver.c), or by DMA operations of ours (dma_private.c), and is
 * gone when it is unmapped. So the lender reaches those pages and the interrupt range, whatever its
 * device is told, and nothing else of this host. Any page of RAM will do: the window need not cover
 * RAM.
 *
 * Called by borrow.c, bridge.c, removal.c and dma.c. No state of its own.
 */
#include <linux/cc_platform.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/pci.h>

#include "dma.h"

static int dma_iommu_usable(struct borrower_memory *mem, struct device *log)
{
	if (!cc_platform_has(CC_ATTR_MEM_ENCRYPT))
		return 0;
	dev_err(log, "memory encryption is on: a lent device would read ciphertext; boot with mem_encrypt=off\n");
	return -EOPNOTSUPP;
}

static int dma_iommu_expose(struct borrower_memory *mem, struct devlend_link *link,
			    struct pci_dev *ntb, struct device *log)
{
	struct devlend_exposed *slice = &mem->exposed[BORROWER_MAP_RAM];
	int err = borrower_io_slice_get(&mem->io, link, ntb, log);

	if (err)
		return err;
	slice->bus_addr = mem->io.io_base;
	slice->size = mem->io.size;
	borrower_memory_set_msi(mem);
	return devlend_expose(link, mem->exposed, mem->maps, DEVLEND_APART_NO);
}

static void dma_iommu_release(struct borrower_memory *mem)
{
	borrower_io_slice_put(&mem->io);
}

static void dma_iommu_close_page(struct borrower_memory *mem)
{
	struct iommu_iotlb_gather gather;

	iommu_iotlb_gather_init(&gather);
	borrower_io_unmap(&mem->io, 0, 1, &gather);
}

/* The first of the slice, which the driver's mappings leave out. */
static int dma_iommu_open_page(struct borrower_memory *mem, struct page *page, u64 *offset)
{
	size_t mapped = 0;
	int err;

	*offset = 0;
	err = borrower_io_map(&mem->io, 0, page_to_phys(page), 1,
			      IOMMU_READ | IOMMU_WRITE | IOMMU_CACHE, GFP_KERNEL, &mapped);
	if (err)
		return err;
	err = borrower_io_sync_map(&mem->io, 0, PAGE_SIZE);
	if (err)
		dma_iommu_close_page(mem);
	return err;
}

static bool dma_iommu_right(const struct borrower_memory *mem, struct pci_dev *pdev,
			    struct device *log)
{
	if (borrower_iommu_is_ours(&mem->io, &pdev->dev))
		return true;
	dev_err(log, "the kernel does not translate DMA of the shadow as wanted; boot with iommu=pt, or choose another domain_base\n");
	return false;
}

const struct borrower_dma_ops borrower_dma_iommu = {
	.name = "iommu",
	.usable = dma_iommu_usable,
	.expose = dma_iommu_expose,
	.release = dma_iommu_release,
	.open_page = dma_iommu_open_page,
	.close_page = dma_iommu_close_page,
	.add = borrower_iommu_add,
	.remove = borrower_iommu_remove,
	.right = dma_iommu_right,
	.flush_ms = borrower_iommu_flush_ms,
};
