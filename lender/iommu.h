/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LENDER_IOMMU_H
#define LENDER_IOMMU_H

#include <linux/types.h>

struct lender_dev;
struct lender_map;
struct pci_dev;

bool lender_iommu_isolates_msi(struct pci_dev *pdev);
bool lender_iommu_isolates_group(struct pci_dev *pdev);
int lender_iommu_attach(struct lender_dev *lent);
void lender_iommu_detach(struct lender_dev *lent);
int lender_iommu_place(struct lender_dev *lent, struct lender_map *map, unsigned int maps);
int lender_iommu_map(struct lender_dev *lent, const struct lender_map *map, unsigned int maps);
void lender_iommu_unmap(struct lender_dev *lent);
unsigned int lender_iommu_bits(const struct lender_dev *lent);

#endif /* LENDER_IOMMU_H */
