// SPDX-License-Identifier: GPL-2.0
/*
 * DMA mode "iommu" on kernels that let no IOMMU driver of a module stand beside that of the host:
 * DMA operations of our own for shadows, in place of iommu_driver.c and the kernel's IOMMU DMA.
 *
 * A mapping is a piece of the lease's slice of I/O addresses (io_range.c). Which are free the
 * kernel's IOVA allocator knows, in the addresses by which the lent device reaches the slice. Each
 * element of a scatter list is a mapping; none are merged. Whole pages are mapped, so that the lent
 * device also reaches what else lies in the first and the last, as behind any IOMMU.
 *
 * Always strict: a page is in reach from its map to the return of its unmap, with its TLB entries.
 * There is no group, so nobody can make a shadow lazy. Operations that are left out: sync, as
 * memory is coherent on x86 and nothing is bounced; those of noncontiguous memory, which the DMA
 * API then makes of alloc_pages; get_merge_boundary, as nothing is merged; map_resource, which
 * fails then, as the window leads to memory and not to another device's registers.
 *
 * Called by the DMA API in any context, and by dma_iommu.c and dma.c in process context. The
 * allocator has locks of its own; mappings of one address are ordered by the driver that has it.
 */
#include <linux/dma-map-ops.h>
#include <linux/iommu.h>
#include <linux/iova.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "dma.h"
#include "dma_private.h"
#include "lease.h"
#include "shadow.h"

/* the allocator caches free addresses up to this size: IOVA_RANGE_CACHE_MAX_SIZE of its source */
#define PRIVATE_CACHED_SIZE	(PAGE_SIZE << 5)

/**
 * borrower_private_of() - the free addresses of a shadow in this mode
 * @dev: the shadow, added
 *
 * Context: any. Return: them; valid until the shadow is removed.
 */
struct borrower_iovas *borrower_private_of(struct device *dev)
{
	return borrower_shadow_of_bus(to_pci_dev(dev)->bus)->lease->memory.io.iovas;
}

/**
 * borrower_private_reserve() - take free addresses; nothing is mapped there
 * @dev: the shadow
 * @size: bytes, in whole pages
 * @mask: the highest address that will do
 *
 * Context: any. Return: the first, aligned to a page, and to @size where that is a power of two; 0
 * where there are none.
 */
dma_addr_t borrower_private_reserve(struct device *dev, size_t size, u64 mask)
{
	struct borrower_iovas *iovas = borrower_private_of(dev);
	u64 last = min(mask, iovas->device_base + iovas->slice->size - 1);

	return (dma_addr_t)alloc_iova_fast(&iovas->iovad, size >> PAGE_SHIFT, last >> PAGE_SHIFT,
					   true) << PAGE_SHIFT;
}

/**
 * borrower_private_free() - give them back; nothing is mapped there any more
 * @dev: the shadow
 * @addr: the first
 * @size: as when they were taken
 *
 * Context: any.
 */
void borrower_private_free(struct device *dev, dma_addr_t addr, size_t size)
{
	free_iova_fast(&borrower_private_of(dev)->iovad, addr >> PAGE_SHIFT, size >> PAGE_SHIFT);
}

/* What the lent device may do, as the IOMMU has it. */
static int private_prot(enum dma_data_direction dir)
{
	switch (dir) {
	case DMA_TO_DEVICE:
		return IOMMU_CACHE | IOMMU_READ;
	case DMA_FROM_DEVICE:
		return IOMMU_CACHE | IOMMU_WRITE;
	case DMA_BIDIRECTIONAL:
		return IOMMU_CACHE | IOMMU_READ | IOMMU_WRITE;
	default:
		return 0;
	}
}

/**
 * borrower_private_map_at() - let the lent device reach memory by addresses that were reserved
 * @dev: the shadow
 * @addr: the first of them, page aligned
 * @cpu_phys: of the memory, page aligned
 * @size: bytes, in whole pages
 * @dir: what the device may do
 * @gfp: for page tables
 *
 * Context: any, as @gfp allows. Return: 0, or an errno with nothing mapped.
 */
int borrower_private_map_at(struct device *dev, dma_addr_t addr, phys_addr_t cpu_phys, size_t size,
			    enum dma_data_direction dir, gfp_t gfp)
{
	struct borrower_iovas *iovas = borrower_private_of(dev);
	u64 offset = addr - iovas->device_base;
	size_t mapped = 0;
	int err;

	err = borrower_io_map(iovas->slice, offset, cpu_phys, size >> PAGE_SHIFT,
			      private_prot(dir), gfp, &mapped);
	if (!err)
		err = borrower_io_sync_map(iovas->slice, offset, size);
	if (err && mapped)
		borrower_private_unmap(dev, addr, mapped);
	return err;
}

/**
 * borrower_private_unmap() - end that: on return the device does not reach it any more
 * @dev: the shadow
 * @addr: page aligned
 * @size: bytes, in whole pages: one or more pieces that were mapped, side by side
 *
 * Context: any.
 */
void borrower_private_unmap(struct device *dev, dma_addr_t addr, size_t size)
{
	struct borrower_iovas *iovas = borrower_private_of(dev);
	struct iommu_iotlb_gather gather;

	iommu_iotlb_gather_init(&gather);
	WARN_ON(borrower_io_unmap(iovas->slice, addr - iovas->device_base, size >> PAGE_SHIFT,
				  &gather) != size);
}

/* Map any bytes by their whole pages. Returns 0 or an errno of dma_map_sgtable(). */
static int private_map(struct device *dev, phys_addr_t cpu_phys, size_t size,
		       enum dma_data_direction dir, dma_addr_t *addr)
{
	size_t offset = offset_in_page(cpu_phys), whole = PAGE_ALIGN(offset + size);
	int err;

	*addr = borrower_private_reserve(dev, whole, dma_get_mask(dev));
	if (!*addr)
		return -ENOMEM;
	err = borrower_private_map_at(dev, *addr, cpu_phys - offset, whole, dir, GFP_ATOMIC);
	if (err) {
		borrower_private_free(dev, *addr, whole);
		return err == -ENOMEM ? err : -EIO;
	}
	*addr += offset;
	return 0;
}

static void private_unmap_page(struct device *dev, dma_addr_t addr, size_t size,
			       enum dma_data_direction dir, unsigned long attrs)
{
	size_t offset = offset_in_page(addr), whole = PAGE_ALIGN(offset + size);

	borrower_private_unmap(dev, addr - offset, whole);
	borrower_private_free(dev, addr - offset, whole);
}

static dma_addr_t private_map_page(struct device *dev, struct page *page, unsigned long offset,
				   size_t size, enum dma_data_direction dir, unsigned long attrs)
{
	dma_addr_t addr;

	return private_map(dev, page_to_phys(page) + offset, size, dir, &addr) ?
	       DMA_MAPPING_ERROR : addr;
}

static void private_unmap_sg(struct device *dev, struct scatterlist *sgl, int nents,
			     enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i)
		private_unmap_page(dev, sg_dma_address(sg), sg_dma_len(sg), dir, attrs);
}

/* All of it, or nothing. */
static int private_map_sg(struct device *dev, struct scatterlist *sgl, int nents,
			  enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *sg;
	int i, err;

	for_each_sg(sgl, sg, nents, i) {
		err = private_map(dev, sg_phys(sg), sg->length, dir, &sg->dma_address);
		if (err)
			goto undo;
		sg_dma_len(sg) = sg->length;
	}
	return nents;
undo:
	private_unmap_sg(dev, sgl, i, dir, attrs);
	return err;
}

/* The probe's page is nobody else's, so a device must reach the next. */
static int private_supported(struct device *dev, u64 mask)
{
	return mask >= borrower_private_of(dev)->device_base + 2 * PAGE_SIZE - 1;
}

static u64 private_required_mask(struct device *dev)
{
	struct borrower_iovas *iovas = borrower_private_of(dev);

	return DMA_BIT_MASK(fls64(iovas->device_base + iovas->slice->size - 1));
}

/* Mappings are aligned to their size, and the first page is not to be had. */
static size_t private_max_mapping_size(struct device *dev)
{
	return borrower_private_of(dev)->slice->size / 2;
}

static size_t private_opt_mapping_size(void)
{
	return PRIVATE_CACHED_SIZE;
}

static const struct dma_map_ops private_ops = {
	.alloc			= borrower_private_alloc,
	.free			= borrower_private_free_coherent,
	.alloc_pages		= borrower_private_alloc_pages,
	.free_pages		= borrower_private_free_pages,
	.mmap			= borrower_private_mmap,
	.get_sgtable		= borrower_private_get_sgtable,
	.map_page		= private_map_page,
	.unmap_page		= private_unmap_page,
	.map_sg			= private_map_sg,
	.unmap_sg		= private_unmap_sg,
	.dma_supported		= private_supported,
	.get_required_mask	= private_required_mask,
	.max_mapping_size	= private_max_mapping_size,
	.opt_mapping_size	= private_opt_mapping_size,
};

/**
 * borrower_iommu_add() - give a shadow its DMA operations
 * @pdev: the shadow, being added; its lease is attached
 *
 * Context: process. Return: 0 or an errno.
 */
int borrower_iommu_add(struct pci_dev *pdev)
{
	struct borrower_memory *mem = &borrower_shadow_of_bus(pdev->bus)->lease->memory;
	struct borrower_iovas *iovas = kzalloc(sizeof(*iovas), GFP_KERNEL);
	u64 base = mem->device_addr[BORROWER_MAP_RAM];
	int err;

	if (!iovas)
		return -ENOMEM;
	iovas->slice = &mem->io;
	iovas->device_base = base;
	/* the first page is the probe's: a write of it that comes late must not hit a driver's */
	init_iova_domain(&iovas->iovad, PAGE_SIZE, (base >> PAGE_SHIFT) + 1);
	err = iova_domain_init_rcaches(&iovas->iovad);
	if (err) {
		put_iova_domain(&iovas->iovad);
		kfree(iovas);
		return err;
	}
	mem->io.iovas = iovas;
	set_dma_ops(&pdev->dev, &private_ops);
	return 0;
}

/**
 * borrower_iommu_remove() - undo borrower_iommu_add(); no driver has the shadow any more
 * @pdev: the shadow, being removed
 *
 * Context: process.
 */
void borrower_iommu_remove(struct pci_dev *pdev)
{
	struct borrower_io_slice *slice = &borrower_shadow_of_bus(pdev->bus)->lease->memory.io;

	if (!slice->iovas)
		return;
	set_dma_ops(&pdev->dev, NULL);
	put_iova_domain(&slice->iovas->iovad);
	kfree(slice->iovas);
	slice->iovas = NULL;
}

/**
 * borrower_iommu_flush_ms() - how long what the driver of a shadow has unmapped may stay in reach
 * @pdev: the shadow
 *
 * Context: any. Return: 0 = not at all.
 */
unsigned int borrower_iommu_flush_ms(struct pci_dev *pdev)
{
	return 0;
}

/**
 * borrower_iommu_is_ours() - has a shadow these operations, and no IOMMU driver's?
 * @slice: the lease's
 * @dev: the shadow, added, no driver bound
 *
 * Context: process.
 */
bool borrower_iommu_is_ours(const struct borrower_io_slice *slice, struct device *dev)
{
	return slice->iovas && get_dma_ops(dev) == &private_ops && !device_iommu_mapped(dev);
}

/**
 * borrower_iommu_init() - get ready for shadows in this mode
 *
 * Context: process. Return: 0 or an errno.
 */
int borrower_iommu_init(void)
{
	return iova_cache_get();
}

/**
 * borrower_iommu_exit() - undo borrower_iommu_init(); no shadow is left
 *
 * Context: process.
 */
void borrower_iommu_exit(void)
{
	iova_cache_put();
}
