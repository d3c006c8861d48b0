/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BORROWER_DMA_PRIVATE_H
#define BORROWER_DMA_PRIVATE_H

#include <linux/dma-direction.h>
#include <linux/gfp.h>
#include <linux/iova.h>
#include <linux/types.h>

struct borrower_io_slice;
struct device;
struct page;
struct sg_table;
struct vm_area_struct;

/**
 * struct borrower_iovas - addresses of a shadow that are free for mappings
 * @iovad: which are given out; in pages, as the lent device addresses them
 * @slice: of the lease, which outlives the shadow
 * @device_base: address by which the lent device reaches the first byte of @slice
 */
struct borrower_iovas {
	struct iova_domain iovad;
	struct borrower_io_slice *slice;
	u64 device_base;
};

/* dma_private.c */
struct borrower_iovas *borrower_private_of(struct device *dev);
dma_addr_t borrower_private_reserve(struct device *dev, size_t size, u64 mask);
void borrower_private_free(struct device *dev, dma_addr_t addr, size_t size);
int borrower_private_map_at(struct device *dev, dma_addr_t addr, phys_addr_t cpu_phys, size_t size,
			    enum dma_data_direction dir, gfp_t gfp);
void borrower_private_unmap(struct device *dev, dma_addr_t addr, size_t size);

/* dma_private_alloc.c */
void *borrower_private_alloc(struct device *dev, size_t size, dma_addr_t *addr, gfp_t gfp,
			     unsigned long attrs);
void borrower_private_free_coherent(struct device *dev, size_t size, void *cpu, dma_addr_t addr,
				    unsigned long attrs);
struct page *borrower_private_alloc_pages(struct device *dev, size_t size, dma_addr_t *addr,
					  enum dma_data_direction dir, gfp_t gfp);
void borrower_private_free_pages(struct device *dev, size_t size, struct page *page,
				 dma_addr_t addr, enum dma_data_direction dir);
int borrower_private_mmap(struct device *dev, struct vm_area_struct *vma, void *cpu,
			  dma_addr_t addr, size_t size, unsigned long attrs);
int borrower_private_get_sgtable(struct device *dev, struct sg_table *sgt, void *cpu,
				 dma_addr_t addr, size_t size, unsigned long attrs);

#endif /* BORROWER_DMA_PRIVATE_H */
