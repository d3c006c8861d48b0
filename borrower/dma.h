/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BORROWER_DMA_H
#define BORROWER_DMA_H

#include <linux/dma-direct.h>

#include "memory.h"

struct page;
struct pci_dev;

/* RAM pieces, the terminating zero entry, and spare zero entries for address spaces to come */
#define BORROWER_DMA_ENTRIES	(BORROWER_RAM_RANGES + 1 + 7)

/**
 * struct borrower_dma_ops - one way for the shadow's driver to get device addresses
 * @name: value of the dma_mode attribute
 * @usable: can it work on this host? Called before anything is asked of the lender. Return: 0, or
 *	an errno after one log line
 * @expose: open inbound windows onto what the device is to reach. The lease's lock is held. Return:
 *	0, or an errno after one log line; what it had opened is closed, but @release is due
 * @release: undo @expose, the windows being closed. The NTB function may go afterwards, and the
 *	shadow may still be there: it reaches nothing. The lease's lock is held. May be NULL
 * @open_page: let the lender reach a page by offset *@offset from the first byte of the memory
 *	entry. Return: 0 or an errno
 * @close_page: end that. May be NULL
 * @add: the shadow appears; called before IOMMU drivers see it. Return: 0 or an errno. May be NULL
 * @remove: it is removed, and no driver has it any more; also where @add failed. May be NULL
 * @right: IOMMU drivers have seen it: may a driver bind? Else logs one line
 * @flush_ms: how long what the shadow's driver has unmapped may stay in reach, in milliseconds.
 *	NULL: as long as the lease
 * @bind: give the shadow its translation, before its driver's probe. Called at each bind with the
 *	device's lock held. On failure the device can reach nothing. May be NULL
 */
struct borrower_dma_ops {
	const char *name;
	int (*usable)(struct borrower_memory *mem, struct device *log);
	int (*expose)(struct borrower_memory *mem, struct devlend_link *link, struct pci_dev *ntb,
		      struct device *log);
	void (*release)(struct borrower_memory *mem);
	int (*open_page)(struct borrower_memory *mem, struct page *page, u64 *offset);
	void (*close_page)(struct borrower_memory *mem);
	int (*add)(struct pci_dev *pdev);
	void (*remove)(struct pci_dev *pdev);
	bool (*right)(const struct borrower_memory *mem, struct pci_dev *pdev, struct device *log);
	unsigned int (*flush_ms)(struct pci_dev *pdev);
	int (*bind)(const struct borrower_memory *mem, struct pci_dev *pdev);
};

extern const struct borrower_dma_ops borrower_dma_direct;
extern const struct borrower_dma_ops borrower_dma_iommu;

/* translate.c */
unsigned int borrower_dma_build(const struct borrower_memory *mem, struct bus_dma_region *map,
				unsigned int entries);
u64 borrower_dma_limit(const struct borrower_memory *mem);

/* dma.c */
const struct borrower_dma_ops *borrower_dma_choose(struct pci_dev *ntb);
int borrower_dma_init(void);
void borrower_dma_exit(void);

/* iommu_driver.c, or dma_private.c */
int borrower_iommu_init(void);
void borrower_iommu_exit(void);
int borrower_iommu_add(struct pci_dev *pdev);
void borrower_iommu_remove(struct pci_dev *pdev);
unsigned int borrower_iommu_flush_ms(struct pci_dev *pdev);
bool borrower_iommu_is_ours(const struct borrower_io_slice *slice, struct device *dev);

#endif /* BORROWER_DMA_H */
