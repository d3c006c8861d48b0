/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LENDER_ATOMIC_H
#define LENDER_ATOMIC_H

#include <linux/types.h>

#include <devlend/core.h>

struct lender_dev;
struct lender_doorbell;
struct lender_map;

bool lender_atomic_open(struct lender_dev *lent, struct devlend_link *link, u32 random);
void lender_atomic_close(struct lender_dev *lent);
int lender_atomic_attach(struct lender_dev *lent, const struct lender_map *map, unsigned int maps);
bool lender_atomic_resetting(struct lender_dev *lent);
bool lender_atomic_msix_on(struct lender_dev *lent);
bool lender_atomic_can_flr(struct lender_dev *lent);
bool lender_atomic_busy(struct lender_dev *lent);
void lender_atomic_take(struct lender_dev *lent, struct lender_doorbell *db);
void lender_atomic_reset_done(struct lender_dev *lent);
struct lender_dev *lender_atomic_find(struct devlend_link *link, u32 random);
enum devlend_status lender_atomic_serve(struct devlend_link *link, u8 op, u32 random, u32 arg);

#endif /* LENDER_ATOMIC_H */
