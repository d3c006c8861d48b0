// SPDX-License-Identifier: GPL-2.0
/*
 * Choosing I/O addresses: where in a lent device's address space its borrower's memory appears.
 *
 * Two wishes. Low: below 4 GiB a device with a 32-bit mask reaches it, wherever the NTB's BAR lies.
 * Congruent with the CPU's address modulo a large page, so that the IOMMU maps it by large
 * pages. Low comes first: any page size below 4 GiB is tried before anything above.
 *
 * Called by iommu.c. Pure: no state, no locks, any context; tests/kunit/lender_iova_test.c
 * covers it.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/overflow.h>

#include "iova.h"

/**
 * lender_iova_take() - keep a range out
 * @space: the I/O addresses
 * @start: first
 * @last: last, inclusive
 *
 * Context: any. Return: 0; -ENOSPC where there are too many ranges already.
 */
int lender_iova_take(struct lender_iova_space *space, u64 start, u64 last)
{
	if (space->count == LENDER_IOVA_RANGES)
		return -ENOSPC;
	space->taken[space->count++] = (struct lender_iova_range){ start, last };
	return 0;
}

/* The range that lies in the way of [start, last], or NULL. */
static const struct lender_iova_range *iova_in_the_way(const struct lender_iova_space *space,
						       u64 start, u64 last)
{
	unsigned int i;

	for (i = 0; i < space->count; i++)
		if (space->taken[i].start <= last && space->taken[i].last >= start)
			return &space->taken[i];
	return NULL;
}

/*
 * The lowest free address up to @limit that is congruent with @cpu_phys modulo @page. Each range
 * is passed once, since the search only ever moves up beyond it.
 */
static bool iova_find(const struct lender_iova_space *space, u64 cpu_phys, u64 length, u64 page,
		      u64 limit, u64 *iova)
{
	const struct lender_iova_range *hit;
	u64 start = space->first, last;

	for (;;) {
		if (check_add_overflow(start, (cpu_phys - start) & (page - 1), &start) ||
		    check_add_overflow(start, length - 1, &last) || last > limit)
			return false;
		hit = iova_in_the_way(space, start, last);
		if (!hit)
			break;
		if (hit->last == U64_MAX)
			return false;
		start = hit->last + 1;
	}
	*iova = start;
	return true;
}

static bool iova_find_below(const struct lender_iova_space *space, u64 cpu_phys, u64 length,
			    u64 limit, u64 *iova)
{
	int bit;

	for (bit = 63; bit >= 0; bit--) {
		u64 page = BIT_ULL(bit);

		/* a page that is larger than all of it maps nothing; the smallest always counts */
		if (!(space->pgsizes & page) ||
		    (page > length && space->pgsizes & (page - 1)))
			continue;
		if (iova_find(space, cpu_phys, length, page, limit, iova))
			return true;
	}
	return false;
}

/**
 * lender_iova_place() - choose the I/O addresses of a range, and take them
 * @space: the I/O addresses
 * @cpu_phys: where the range lies for the CPU; a multiple of the smallest page
 * @length: bytes, the same; not 0
 * @iova: set to the first I/O address
 *
 * Context: any.
 * Return: 0; -EINVAL where the range is not made of whole pages; -ENOSPC where there is no room.
 */
int lender_iova_place(struct lender_iova_space *space, u64 cpu_phys, u64 length, u64 *iova)
{
	u64 smallest = space->pgsizes & -space->pgsizes;

	if (!length || !smallest || (cpu_phys | length) & (smallest - 1))
		return -EINVAL;
	if (!iova_find_below(space, cpu_phys, length, min_t(u64, space->last, U32_MAX), iova) &&
	    !iova_find_below(space, cpu_phys, length, space->last, iova))
		return -ENOSPC;
	return lender_iova_take(space, *iova, *iova + length - 1);
}
