/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LENDER_QUIESCE_H
#define LENDER_QUIESCE_H

struct lender_dev;

int lender_quiesce(struct lender_dev *lent);
int lender_quiesce_locked(struct lender_dev *lent);

#endif /* LENDER_QUIESCE_H */
