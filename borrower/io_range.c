// SPDX-License-Identifier: GPL-2.0
/*
 * I/O addresses of an NTB function behind this host's IOMMU, for what shadows map.
 *
 * What the peer sends through a window arrives as DMA of the NTB function, at an address inside the
 * window, and this host's IOMMU looks it up in that function's domain. So a page that a shadow's
 * driver maps needs an I/O address that lies inside the window, in that domain, and is nobody
 * else's. The domain stays what it is: it is the kernel's, and NTB drivers map things of their own
 * there (Switchtec's a page that it shares with its peer). The kernel's allocator of the addresses
 * in it cannot be reached from here; but it hands one out for any mapping. So it is asked once to
 * map something as large as the window: the NTB function's own BAR, which is no memory, and as
 * large. The address is aligned to its size, as windows want it. Then the BAR is unmapped behind
 * the allocator's back. What remains is a range that nothing reaches and nobody will be given,
 * until it is unmapped, which the kernel does only to what is mapped: so the BAR is put back before
 * that. The window is closed both times, and the BAR readable only.
 *
 * The range is shared by all leases of an NTB, in slices: the window has one translation. It is
 * made for the first and given back with the last. What is mapped in a slice is mapped by
 * iommu_map(), page by page. It is unmapped, with its TLB entries, before the unmap returns, or,
 * where the host is lazy, when the kernel's flush queue is flushed.
 *
 * The NTB function may go, and its domain with it, before a slow driver lets go of its shadow:
 * slice_put() then closes what is still open, and what that driver unmaps later is not mapped.
 *
 * Called by dma_iommu.c with the lease's lock held, and by iommu_driver.c from any context in which
 * a driver maps. Owns the ranges. ranges_lock protects list and slices; taken inside the lease's
 * lock, nothing inside it but the core's. SRCU protects the domain against those who map.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include <devlend/compat.h>
#include <devlend/core.h>

#include "io_range.h"
#include "memory.h"

/* A window smaller than that is not worth the trouble: nvme alone wants several MiB. */
#define IO_RANGE_MIN	SZ_16M

/**
 * struct borrower_io_range - what an NTB function's window covers
 * @node: in ranges
 * @ntb: the NTB function
 * @domain: its domain
 * @base: first I/O address, aligned to @size
 * @size: bytes, a power of two
 * @placeholder: CPU physical address of a BAR of @ntb, as large
 * @slices: number of slices
 * @used: those that have an owner
 */
struct borrower_io_range {
	struct list_head node;
	struct device *ntb;
	struct iommu_domain *domain;
	dma_addr_t base;
	u64 size;
	phys_addr_t placeholder;
	unsigned int slices;
	unsigned long used;
};

static LIST_HEAD(ranges);
/* protects ranges and what is in them */
static DEFINE_MUTEX(ranges_lock);
DEFINE_STATIC_SRCU(ranges_srcu);

/* Is there room for a range of this size in a window, and for the interrupt range? */
static bool range_fits(struct devlend_link *link, u64 size)
{
	const struct devlend_exposed want[] = {
		{ .bus_addr = size, .size = size },
		{ .bus_addr = BORROWER_MSI_BASE, .size = BORROWER_MSI_SIZE },
	};

	return !devlend_exposable(link, want, ARRAY_SIZE(want));
}

/* The largest that a window has room for, and a BAR of this function to hold its place. */
static u64 range_size(struct devlend_link *link, phys_addr_t *placeholder)
{
	unsigned int i, count = devlend_aperture_count(link);
	struct devlend_aperture ap;
	u64 size = 0;

	for (i = 0; i < count; i++) {
		if (devlend_aperture_get(link, i, &ap) || ap.size <= size)
			continue;
		size = ap.size;
		*placeholder = ap.cpu_phys;
	}
	if (!size)
		return 0;
	for (size = rounddown_pow_of_two(size); size >= IO_RANGE_MIN; size >>= 1)
		if (range_fits(link, size))
			return size;
	return 0;
}

static int range_reserve(struct borrower_io_range *range)
{
	size_t gone;

	range->base = dma_map_resource(range->ntb, range->placeholder, range->size, DMA_TO_DEVICE,
				       0);
	if (dma_mapping_error(range->ntb, range->base))
		return -ENOSPC;
	gone = iommu_unmap(range->domain, range->base, range->size);
	return gone == range->size ? 0 : -EIO;
}

static void range_unreserve(struct borrower_io_range *range, struct device *log)
{
	int err = devlend_iommu_map(range->domain, range->base, range->placeholder, range->size,
				    IOMMU_READ | IOMMU_MMIO);

	if (err)
		dev_warn(log, "I/O addresses %pad, %#llx bytes, of the NTB stay reserved (%d) until it is removed\n",
			 &range->base, range->size, err);
	else
		dma_unmap_resource(range->ntb, range->base, range->size, DMA_TO_DEVICE, 0);
}

static struct borrower_io_range *range_make(struct devlend_link *link, struct pci_dev *ntb,
					    struct device *log)
{
	struct borrower_io_range *range = kzalloc(sizeof(*range), GFP_KERNEL);
	int err;

	if (!range)
		return ERR_PTR(-ENOMEM);
	range->ntb = &ntb->dev;
	range->domain = iommu_get_domain_for_dev(&ntb->dev);
	range->size = range_size(link, &range->placeholder);
	err = -ENOSPC;
	if (!range->size) {
		dev_err(log, "no window for what is mapped here: needed are %u MiB at least, and room for the interrupt range; enlarge the NTB's windows\n",
			IO_RANGE_MIN >> 20);
		goto free;
	}
	err = range_reserve(range);
	if (!err && !IS_ALIGNED(range->base, range->size)) {
		range_unreserve(range, log);
		err = -ENOSPC;
	}
	if (err) {
		dev_err(log, "the IOMMU has no %#llx bytes of aligned I/O addresses for NTB %s (%d); use smaller NTB windows\n",
			range->size, pci_name(ntb), err);
		goto free;
	}
	range->slices = borrower_io_slices(range->size);
	list_add(&range->node, &ranges);
	return range;
free:
	kfree(range);
	return ERR_PTR(err);
}

static struct borrower_io_range *range_find(struct pci_dev *ntb)
{
	struct borrower_io_range *range;

	lockdep_assert_held(&ranges_lock);
	list_for_each_entry(range, &ranges, node)
		if (range->ntb == &ntb->dev)
			return range;
	return NULL;
}

/**
 * borrower_io_slice_get() - get I/O addresses of an NTB function for a lease
 * @slice: zeroed, or given back
 * @link: the link
 * @ntb: its NTB function, which an IOMMU translates for
 * @log: device to log for
 *
 * Nothing is mapped there. Context: process, sleeps; the lease's lock is held.
 * Return: 0; -ENOSPC where there is no room, or none left; -ENOMEM; -EIO. The reason is in the log.
 */
int borrower_io_slice_get(struct borrower_io_slice *slice, struct devlend_link *link,
			  struct pci_dev *ntb, struct device *log)
{
	struct borrower_io_range *range;
	int err = 0;

	mutex_lock(&ranges_lock);
	range = range_find(ntb) ?: range_make(link, ntb, log);
	if (IS_ERR(range)) {
		err = PTR_ERR(range);
		goto unlock;
	}
	slice->index = find_first_zero_bit(&range->used, range->slices);
	if (slice->index == range->slices) {
		dev_err(log, "all %u parts of the NTB's window are in use; return a lease of it, or enlarge the window\n",
			range->slices);
		err = -ENOSPC;
		goto unlock;
	}
	range->used |= BIT(slice->index);
	slice->range = range;
	slice->size = range->size / range->slices;
	slice->io_base = range->base + slice->index * slice->size;
	slice->lazy = range->domain->type == IOMMU_DOMAIN_DMA_FQ;
	atomic64_set(&slice->mapped, 0);
	rcu_assign_pointer(slice->domain, range->domain);
unlock:
	mutex_unlock(&ranges_lock);
	return err;
}

/* Close what was left open. Nobody maps there any more. */
static void slice_sweep(struct borrower_io_slice *slice)
{
	struct iommu_domain *domain = slice->range->domain;
	u64 offset = 0;

	while (offset < slice->size) {
		u64 step = PAGE_SIZE;

		if (iommu_iova_to_phys(domain, slice->io_base + offset))
			step = max_t(u64, step, iommu_unmap(domain, slice->io_base + offset,
							    PAGE_SIZE));
		offset += step;
	}
}

/**
 * borrower_io_slice_put() - give I/O addresses back; what is mapped there is closed
 * @slice: may have been given back already
 *
 * Context: process, sleeps; the lease's lock is held. The window that reaches the slice is closed,
 * or serves other leases.
 */
void borrower_io_slice_put(struct borrower_io_slice *slice)
{
	struct borrower_io_range *range = slice->range;

	if (!range)
		return;
	RCU_INIT_POINTER(slice->domain, NULL);
	synchronize_srcu(&ranges_srcu);
	if (atomic64_read(&slice->mapped)) {
		dev_warn(range->ntb, "%lld KiB that the driver of a borrowed device had mapped are closed; it has not let go of them\n",
			 atomic64_read(&slice->mapped) >> 10);
		slice_sweep(slice);
	}
	/* what a flush queue has not come to yet */
	iommu_flush_iotlb_all(range->domain);
	slice->range = NULL;
	mutex_lock(&ranges_lock);
	range->used &= ~BIT(slice->index);
	if (!range->used) {
		list_del(&range->node);
		range_unreserve(range, range->ntb);
		kfree(range);
	}
	mutex_unlock(&ranges_lock);
}

static bool slice_holds(const struct borrower_io_slice *slice, u64 offset, u64 pages)
{
	return offset < slice->size && pages <= (slice->size - offset) >> PAGE_SHIFT;
}

/**
 * borrower_io_map() - let the peer reach memory of this host, after borrower_io_sync_map()
 * @slice: the lease's
 * @offset: from its first address, page aligned
 * @cpu_phys: first byte, page aligned
 * @pages: how many; all of them inside the slice
 * @prot: IOMMU_READ and following
 * @gfp: for page tables
 * @mapped: zero; becomes how many bytes were mapped, which may be less, with an error too
 *
 * Context: any, as @gfp allows.
 * Return: 0; -ERANGE; -ENODEV where the NTB has gone; else an errno of the IOMMU driver.
 */
int borrower_io_map(struct borrower_io_slice *slice, u64 offset, phys_addr_t cpu_phys, u64 pages,
		    int prot, gfp_t gfp, size_t *mapped)
{
	struct iommu_domain *domain;
	int idx, err = -ENODEV;

	if (!slice_holds(slice, offset, pages))
		return -ERANGE;
	idx = srcu_read_lock(&ranges_srcu);
	domain = srcu_dereference(slice->domain, &ranges_srcu);
	if (domain) {
		err = devlend_iommu_map_pages(domain, slice->io_base + offset, cpu_phys, pages,
					      prot, gfp, mapped);
		atomic64_add(*mapped, &slice->mapped);
	}
	srcu_read_unlock(&ranges_srcu, idx);
	return err;
}

/**
 * borrower_io_sync_map() - let hardware that remembers absent pages look again
 * @slice: the lease's
 * @offset: of what was mapped
 * @size: bytes
 *
 * Context: any. Return: 0 or an errno of the IOMMU driver.
 */
int borrower_io_sync_map(struct borrower_io_slice *slice, u64 offset, u64 size)
{
	int idx = srcu_read_lock(&ranges_srcu), err = 0;
	struct iommu_domain *domain;

	domain = srcu_dereference(slice->domain, &ranges_srcu);
	if (domain)
		err = devlend_iommu_sync_map(domain, slice->io_base + offset, size);
	srcu_read_unlock(&ranges_srcu, idx);
	return err;
}

/**
 * borrower_io_unmap() - end that
 * @slice: the lease's
 * @offset: from its first address
 * @pages: how many, what was mapped by one or more whole calls
 * @gather: empty; not queued: on return it is empty, and the peer does not reach the pages any
 *	more. Queued: that is so after borrower_io_flush(), and what is gathered must be kept until
 *	then
 *
 * Context: any. Return: bytes that are not mapped any more; may be less than all.
 */
u64 borrower_io_unmap(struct borrower_io_slice *slice, u64 offset, u64 pages,
		      struct iommu_iotlb_gather *gather)
{
	u64 gone = pages << PAGE_SHIFT;
	struct iommu_domain *domain;
	int idx;

	if (!slice_holds(slice, offset, pages))
		return 0;
	idx = srcu_read_lock(&ranges_srcu);
	domain = srcu_dereference(slice->domain, &ranges_srcu);
	if (domain) {
		gone = devlend_iommu_unmap_pages(domain, slice->io_base + offset, pages, gather);
		if (!iommu_iotlb_gather_queued(gather))
			iommu_iotlb_sync(domain, gather);
		atomic64_sub(gone, &slice->mapped);
	}
	srcu_read_unlock(&ranges_srcu, idx);
	return gone;
}

/**
 * borrower_io_flush() - on return the peer reaches nothing that was unmapped before
 * @slice: the lease's
 *
 * Context: any.
 */
void borrower_io_flush(struct borrower_io_slice *slice)
{
	struct iommu_domain *domain;
	int idx = srcu_read_lock(&ranges_srcu);

	domain = srcu_dereference(slice->domain, &ranges_srcu);
	if (domain)
		iommu_flush_iotlb_all(domain);
	srcu_read_unlock(&ranges_srcu, idx);
}

/**
 * borrower_io_to_phys() - what is mapped at an address
 * @slice: the lease's
 * @offset: from its first address
 *
 * Context: any. Return: the CPU physical address; 0 where nothing is mapped.
 */
phys_addr_t borrower_io_to_phys(struct borrower_io_slice *slice, u64 offset)
{
	struct iommu_domain *domain;
	phys_addr_t cpu_phys = 0;
	int idx;

	if (offset >= slice->size)
		return 0;
	idx = srcu_read_lock(&ranges_srcu);
	domain = srcu_dereference(slice->domain, &ranges_srcu);
	if (domain)
		cpu_phys = iommu_iova_to_phys(domain, slice->io_base + offset);
	srcu_read_unlock(&ranges_srcu, idx);
	return cpu_phys;
}
