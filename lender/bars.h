/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LENDER_BARS_H
#define LENDER_BARS_H

#include <linux/types.h>

struct devlend_link;
struct lender_bars;
struct lender_dev;
struct pci_dev;

bool lender_unsafe(void);
u32 lender_bar_flags(const struct pci_dev *pdev, int bar);
int lender_bars_open(struct lender_dev *lent, struct devlend_link *link);
int lender_bars_reopen(struct lender_dev *lent, const struct lender_bars *before);
bool lender_bars_shared(struct lender_dev *lent, struct devlend_link *link);
void lender_bars_close(struct lender_dev *lent);

#endif /* LENDER_BARS_H */
