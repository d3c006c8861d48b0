/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BORROWER_IO_RANGE_H
#define BORROWER_IO_RANGE_H

#include <linux/atomic.h>
#include <linux/types.h>

struct borrower_io_range;
struct borrower_iovas;
struct device;
struct devlend_link;
struct iommu_domain;
struct iommu_iotlb_gather;
struct pci_dev;

/* Leases that share the I/O range of an NTB function at most. */
#define BORROWER_IO_SLICES_MAX	16

/**
 * struct borrower_io_slice - I/O addresses of the NTB function that belong to one lease
 * @range: what it is part of; NULL = none. Under the lease's lock
 * @domain: the NTB function's domain; NULL when there is none any more. Read under io_range.c's
 *	SRCU, so that mappings of a shadow that outlives the NTB do no harm
 * @index: which part
 * @io_base: first I/O address, page aligned; constant while @range is set
 * @size: bytes; the same
 * @mapped: bytes that are mapped now
 * @lazy: the NTB function's domain was lazy when the lease began: what is unmapped may stay in TLBs
 *	until a flush queue is flushed
 * @attached: an IOMMU domain of the shadow stands for it; bit 0
 * @iovas: which addresses are free, where DMA operations of our own give them out; set while the
 *	shadow is there
 */
struct borrower_io_slice {
	struct borrower_io_range *range;
	struct iommu_domain __rcu *domain;
	unsigned int index;
	u64 io_base;
	u64 size;
	atomic64_t mapped;
	bool lazy;
	unsigned long attached;
	struct borrower_iovas *iovas;
};

/* io_range.c */
int borrower_io_slice_get(struct borrower_io_slice *slice, struct devlend_link *link,
			  struct pci_dev *ntb, struct device *log);
void borrower_io_slice_put(struct borrower_io_slice *slice);
int borrower_io_map(struct borrower_io_slice *slice, u64 offset, phys_addr_t cpu_phys, u64 pages,
		    int prot, gfp_t gfp, size_t *mapped);
int borrower_io_sync_map(struct borrower_io_slice *slice, u64 offset, u64 size);
u64 borrower_io_unmap(struct borrower_io_slice *slice, u64 offset, u64 pages,
		      struct iommu_iotlb_gather *gather);
void borrower_io_flush(struct borrower_io_slice *slice);
phys_addr_t borrower_io_to_phys(struct borrower_io_slice *slice, u64 offset);

/* translate.c */
unsigned int borrower_io_slices(u64 size);

#endif /* BORROWER_IO_RANGE_H */
