/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BORROWER_DMA_H
#define BORROWER_DMA_H

#include <linux/dma-direct.h>

#include "memory.h"

struct pci_dev;

/* RAM pieces, the terminating zero entry, and spare zero entries for address spaces to come */
#define BORROWER_DMA_ENTRIES	(BORROWER_RAM_RANGES + 1 + 7)

/**
 * struct borrower_dma_ops - one way for the shadow's driver to get device addresses
 * @name: value of the dma_mode attribute
 * @usable: can it work with this NTB function? Called before anything is asked of the
 *	lender. Return: 0, or -EOPNOTSUPP after one log line
 * @bind: give the shadow its translation, before its driver's probe. Called at each bind
 *	with the device's lock held. On failure the device can reach nothing.
 */
struct borrower_dma_ops {
	const char *name;
	int (*usable)(struct pci_dev *ntb, struct device *log);
	int (*bind)(const struct borrower_memory *mem, struct pci_dev *pdev);
};

extern const struct borrower_dma_ops borrower_dma_direct;

/* translate.c */
unsigned int borrower_dma_build(const struct borrower_memory *mem, struct bus_dma_region *map,
				unsigned int entries);
u64 borrower_dma_limit(const struct borrower_memory *mem);

/* dma.c */
bool borrower_dma_shadow_untranslated(struct pci_dev *pdev);

int borrower_dma_init(void);
void borrower_dma_exit(void);

#endif /* BORROWER_DMA_H */
