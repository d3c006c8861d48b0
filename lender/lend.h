/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LENDER_LEND_H
#define LENDER_LEND_H

#include <linux/types.h>

struct pci_dev;

/* check.c */
int lender_may_lend(struct pci_dev *pdev, bool force);

#endif /* LENDER_LEND_H */
