// SPDX-License-Identifier: GPL-2.0
/*
 * Coherent memory for shadows, where their DMA operations are our own (dma_private.c).
 *
 * Whoever may sleep gets single pages from anywhere, one behind the other in the kernel's address
 * space and in the device's: tens of MiB need no free block of that size. Others get pages that lie
 * side by side. On x86 memory is coherent as it is, so nothing is remapped for that.
 *
 * Called by the DMA API. No state and no locks: the pages are known by their address.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "dma_private.h"

/* A page of coherent memory, from its address. */
static struct page *alloc_page_at(void *cpu)
{
	return is_vmalloc_addr(cpu) ? vmalloc_to_page(cpu) : virt_to_page(cpu);
}

/* Pages from anywhere, as one piece. NULL, or what vfree() frees with its pages. */
static void *alloc_scattered(size_t size, gfp_t gfp)
{
	unsigned int i, count = size >> PAGE_SHIFT;
	struct page **pages = kvcalloc(count, sizeof(*pages), GFP_KERNEL);
	void *cpu;

	if (!pages)
		return NULL;
	for (i = 0; i < count; i++) {
		pages[i] = alloc_page(gfp | __GFP_ZERO);
		if (!pages[i])
			goto free;
	}
	/* takes over the array, and each page */
	cpu = vmap(pages, count, VM_MAP | VM_MAP_PUT_PAGES, PAGE_KERNEL);
	if (cpu)
		return cpu;
free:
	while (i--)
		__free_page(pages[i]);
	kvfree(pages);
	return NULL;
}

/* All of RAM is within reach, so no zone is wanted; pages are freed one by one, so no compound. */
static gfp_t alloc_flags(gfp_t gfp)
{
	return gfp & ~(__GFP_DMA | __GFP_DMA32 | __GFP_HIGHMEM | __GFP_COMP);
}

static void alloc_undo(void *cpu, size_t size)
{
	if (is_vmalloc_addr(cpu))
		vfree(cpu);
	else
		free_pages_exact(cpu, size);
}

/* Addresses for whole pages, each to the next. Returns 0, or an errno with nothing taken. */
static int alloc_map(struct device *dev, void *cpu, size_t size, dma_addr_t *addr,
		     enum dma_data_direction dir, gfp_t gfp)
{
	size_t done;
	int err;

	*addr = borrower_private_reserve(dev, size, dev->coherent_dma_mask);
	if (!*addr)
		return -ENOMEM;
	gfp = gfpflags_allow_blocking(gfp) ? GFP_KERNEL : GFP_ATOMIC;
	for (done = 0; done < size; done += PAGE_SIZE) {
		err = borrower_private_map_at(dev, *addr + done,
					      page_to_phys(alloc_page_at(cpu + done)), PAGE_SIZE,
					      dir, gfp);
		if (err)
			goto undo;
	}
	return 0;
undo:
	if (done)
		borrower_private_unmap(dev, *addr, done);
	borrower_private_free(dev, *addr, size);
	return err;
}

/**
 * borrower_private_alloc() - coherent memory
 * @dev: the shadow
 * @size: bytes
 * @addr: becomes its address for the lent device
 * @gfp: whether it may sleep, and the like
 * @attrs: ignored: they allow less than is given
 *
 * Context: any, as @gfp allows. Return: its address, zeroed; NULL where there is no memory, or no
 * address that the device can use.
 */
void *borrower_private_alloc(struct device *dev, size_t size, dma_addr_t *addr, gfp_t gfp,
			     unsigned long attrs)
{
	size_t whole = PAGE_ALIGN(size);
	void *cpu;

	gfp = alloc_flags(gfp);
	if (gfpflags_allow_blocking(gfp) && whole > PAGE_SIZE)
		cpu = alloc_scattered(whole, gfp);
	else
		cpu = alloc_pages_exact(whole, gfp | __GFP_ZERO);
	if (!cpu)
		return NULL;
	if (!alloc_map(dev, cpu, whole, addr, DMA_BIDIRECTIONAL, gfp))
		return cpu;
	alloc_undo(cpu, whole);
	return NULL;
}

/**
 * borrower_private_free_coherent() - free what borrower_private_alloc() gave
 * @dev: the shadow
 * @size: as then
 * @cpu: its address
 * @addr: for the lent device
 * @attrs: ignored
 *
 * Context: any but with interrupts off, as dma_free_coherent() demands.
 */
void borrower_private_free_coherent(struct device *dev, size_t size, void *cpu, dma_addr_t addr,
				    unsigned long attrs)
{
	size_t whole = PAGE_ALIGN(size);

	borrower_private_unmap(dev, addr, whole);
	borrower_private_free(dev, addr, whole);
	alloc_undo(cpu, whole);
}

/**
 * borrower_private_alloc_pages() - memory whose pages lie side by side, for dma_alloc_pages()
 * @dev: the shadow
 * @size: bytes
 * @addr: becomes its address for the lent device
 * @dir: what the device may do
 * @gfp: as for borrower_private_alloc()
 *
 * Context: any, as @gfp allows. Return: the first page, zeroed, or NULL.
 */
struct page *borrower_private_alloc_pages(struct device *dev, size_t size, dma_addr_t *addr,
					  enum dma_data_direction dir, gfp_t gfp)
{
	size_t whole = PAGE_ALIGN(size);
	void *cpu = alloc_pages_exact(whole, alloc_flags(gfp) | __GFP_ZERO);

	if (!cpu)
		return NULL;
	if (!alloc_map(dev, cpu, whole, addr, dir, gfp))
		return virt_to_page(cpu);
	alloc_undo(cpu, whole);
	return NULL;
}

/**
 * borrower_private_free_pages() - free what borrower_private_alloc_pages() gave
 * @dev: the shadow
 * @size: as then
 * @page: the first
 * @addr: for the lent device
 * @dir: ignored
 *
 * Context: any.
 */
void borrower_private_free_pages(struct device *dev, size_t size, struct page *page,
				 dma_addr_t addr, enum dma_data_direction dir)
{
	borrower_private_free_coherent(dev, size, page_address(page), addr, 0);
}

/**
 * borrower_private_mmap() - let user space have coherent memory
 * @dev: the shadow
 * @vma: where; its offset is one into the memory
 * @cpu: address of the memory
 * @addr: ignored
 * @size: of the memory
 * @attrs: ignored
 *
 * The pages stay as long as they are mapped, whoever frees them meanwhile. Context: process, from a
 * driver's mmap. Return: 0; -ENXIO where there is not so much; -ENOMEM.
 */
int borrower_private_mmap(struct device *dev, struct vm_area_struct *vma, void *cpu,
			  dma_addr_t addr, size_t size, unsigned long attrs)
{
	unsigned long i, count = PFN_UP(size), wanted = vma_pages(vma);
	int err;

	if (vma->vm_pgoff >= count || wanted > count - vma->vm_pgoff)
		return -ENXIO;
	for (i = 0; i < wanted; i++) {
		struct page *page = alloc_page_at(cpu + ((vma->vm_pgoff + i) << PAGE_SHIFT));

		err = vm_insert_page(vma, vma->vm_start + (i << PAGE_SHIFT), page);
		if (err)
			return err;
	}
	return 0;
}

/**
 * borrower_private_get_sgtable() - coherent memory as a list of its pages
 * @dev: the shadow
 * @sgt: is filled in; the caller frees it
 * @cpu: address of the memory
 * @addr: ignored
 * @size: of the memory
 * @attrs: ignored
 *
 * Context: process. Return: 0 or -ENOMEM.
 */
int borrower_private_get_sgtable(struct device *dev, struct sg_table *sgt, void *cpu,
				 dma_addr_t addr, size_t size, unsigned long attrs)
{
	unsigned int i, count = PFN_UP(size);
	struct page **pages = kvcalloc(count, sizeof(*pages), GFP_KERNEL);
	int err;

	if (!pages)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		pages[i] = alloc_page_at(cpu + ((size_t)i << PAGE_SHIFT));
	err = sg_alloc_table_from_pages(sgt, pages, count, 0, size, GFP_KERNEL);
	kvfree(pages);
	return err;
}
