/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LENDER_IOVA_H
#define LENDER_IOVA_H

#include <linux/types.h>

/* most ranges that may be kept out of a device's I/O addresses */
#define LENDER_IOVA_RANGES	64

/**
 * struct lender_iova_range - I/O addresses of a device
 * @start: first
 * @last: last, inclusive
 */
struct lender_iova_range {
	u64 start;
	u64 last;
};

/**
 * struct lender_iova_space - what I/O addresses there are, and which of them are taken
 * @first: lowest that may be used
 * @last: highest, inclusive
 * @pgsizes: page sizes of the IOMMU, as a bit mask; not 0
 * @count: entries of @taken that are used
 * @taken: ranges that must not be used, in any order; they may overlap
 */
struct lender_iova_space {
	u64 first;
	u64 last;
	u64 pgsizes;
	unsigned int count;
	struct lender_iova_range taken[LENDER_IOVA_RANGES];
};

int lender_iova_take(struct lender_iova_space *space, u64 start, u64 last);
int lender_iova_place(struct lender_iova_space *space, u64 cpu_phys, u64 length, u64 *iova);

#endif /* LENDER_IOVA_H */
