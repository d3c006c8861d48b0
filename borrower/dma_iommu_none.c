// SPDX-License-Identifier: GPL-2.0
/*
 * DMA mode "iommu" on kernels whose own DMA knows no IOMMU: there is none. See dma_iommu.c for what
 * it would be.
 */
#include <linux/device.h>
#include <linux/errno.h>

#include "dma.h"

static int dma_iommu_usable(struct borrower_memory *mem, struct device *log)
{
	dev_err(log, "this host's IOMMU translates for the NTB, and the kernel is without CONFIG_IOMMU_DMA; boot with iommu=pt, or write identity to the NTB's iommu_group/type\n");
	return -EOPNOTSUPP;
}

const struct borrower_dma_ops borrower_dma_iommu = {
	.name = "iommu",
	.usable = dma_iommu_usable,
};

int borrower_iommu_init(void)
{
	return 0;
}

void borrower_iommu_exit(void)
{
}
