/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guest's memory as its client maps it: a sorted list of ranges, some backed by files that we map too.
 *
 * Addresses are those that the guest's NTB function would use on the bus: guest physical, or I/O addresses
 * where the guest has an IOMMU. Each backing file is mapped once and whole, however many ranges lie in it, since
 * a guest with an IOMMU maps page by page.
 *
 * A client may shrink a file under us. The page that faults is then replaced by an empty one, and the process
 * goes on; see dma_install_sigbus().
 */
#ifndef NTBSIM_DMA_H
#define NTBSIM_DMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DMA_PROT_READ	1
#define DMA_PROT_WRITE	2

struct dma_file;

/**
 * struct dma_range - one mapped range
 * @iova: first address
 * @size: bytes
 * @prot: DMA_PROT_*
 * @file: what backs it, NULL if it is only reachable by messages
 * @ptr: where @iova is in our address space, if @file is set
 */
struct dma_range {
	uint64_t iova;
	uint64_t size;
	unsigned int prot;
	struct dma_file *file;
	uint8_t *ptr;
};

/**
 * struct dma_space - all that a client has mapped
 * @ranges: sorted by address, not overlapping
 * @n: how many
 * @cap: room in @ranges
 * @last: where the latest look-up hit
 * @files: the files in use
 */
struct dma_space {
	struct dma_range *ranges;
	size_t n, cap;
	size_t last;
	struct dma_file *files;
};

/**
 * dma_map() - add a range
 * @ds: the space
 * @iova: first address
 * @size: bytes
 * @prot: DMA_PROT_*
 * @fd: backing file or -1; not kept
 * @offset: where in the file
 *
 * Return: 0; -EINVAL for a range or a file that cannot be, -EEXIST for an overlap, -ENOSPC for too many.
 */
int dma_map(struct dma_space *ds, uint64_t iova, uint64_t size,
	    unsigned int prot, int fd, uint64_t offset);

/**
 * dma_unmap() - remove what lies in a range; ranges that stick out are cut
 *
 * Return: 0, -ENOENT if there was nothing, -ENOMEM.
 */
int dma_unmap(struct dma_space *ds, uint64_t iova, uint64_t size);
void dma_unmap_all(struct dma_space *ds);

/**
 * dma_lookup() - find memory to access directly
 * @ds: the space
 * @addr: first address
 * @len: bytes
 * @prot: what the access needs
 *
 * Return: a pointer to @len bytes, or NULL if not all of it is in one range that is mapped and permits it.
 */
void *dma_lookup(struct dma_space *ds, uint64_t addr, uint64_t len,
		 unsigned int prot);

/*
 * Copy so that the guest sees an aligned access of 1, 2, 4 or 8 bytes as one, as it would on a bus.
 */
void dma_copy_to(void *guest, const void *src, size_t len);
void dma_copy_from(void *dst, const void *guest, size_t len);

/* Survive files that clients shrink. Once per process. */
void dma_install_sigbus(void);
/* Pages replaced so far. */
uint64_t dma_sigbus_count(void);

#endif /* NTBSIM_DMA_H */
