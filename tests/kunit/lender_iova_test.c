// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of lender/iova.c: which I/O addresses a borrower's memory gets.
 *
 * The space is that of a PC: a hole for host bridges from 2 GiB to the interrupt range.
 */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "../../lender/iova.c"

#define PGSIZES		(SZ_4K | SZ_2M | SZ_1G)
/* where firmware put the NTB's BAR */
#define BAR		0x7000000000ULL
#define TOP		(BIT_ULL(39) - 1)

static struct lender_iova_space *iova_pc(struct kunit *test)
{
	struct lender_iova_space *space = kunit_kzalloc(test, sizeof(*space), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, space);
	space->first = SZ_1M;
	space->last = TOP;
	space->pgsizes = PGSIZES;
	KUNIT_ASSERT_EQ(test, lender_iova_take(space, 0xfee00000, 0xfeefffff), 0);
	KUNIT_ASSERT_EQ(test, lender_iova_take(space, 0x80000000, 0xfebfffff), 0);
	KUNIT_ASSERT_EQ(test, lender_iova_take(space, 0xa0000, 0xbffff), 0);
	return space;
}

static u64 iova_placed(struct kunit *test, struct lender_iova_space *space, u64 cpu_phys,
		       u64 length)
{
	unsigned int taken = space->count;
	u64 iova = 0;

	KUNIT_EXPECT_EQ(test, lender_iova_place(space, cpu_phys, length, &iova), 0);
	KUNIT_ASSERT_EQ(test, space->count, taken + 1);
	KUNIT_EXPECT_EQ(test, space->taken[taken].start, iova);
	KUNIT_EXPECT_EQ(test, space->taken[taken].last, iova + length - 1);
	return iova;
}

static void iova_low_and_congruent(struct kunit *test)
{
	struct lender_iova_space *space = iova_pc(test);

	/* large pages where they help, no address twice */
	KUNIT_EXPECT_EQ(test, iova_placed(test, space, BAR + 0xfee00000, SZ_1M), 0x100000);
	KUNIT_EXPECT_EQ(test, iova_placed(test, space, BAR, SZ_512M), SZ_2M);
	KUNIT_EXPECT_EQ(test, iova_placed(test, space, BAR + SZ_4K, SZ_4K), 0x20200000);
	KUNIT_EXPECT_EQ(test, iova_placed(test, space, BAR + SZ_4K, SZ_4M), 0x20201000);
	KUNIT_EXPECT_EQ(test, iova_placed(test, space, BAR, SZ_1G), SZ_1G);
}

static void iova_low_before_large_pages(struct kunit *test)
{
	struct lender_iova_space *space = iova_pc(test);

	/* 1.5 GiB below 2 GiB: not at 1 GiB, whose pages it would like */
	KUNIT_EXPECT_EQ(test, iova_placed(test, space, BAR, SZ_1G + SZ_512M), SZ_2M);
	/* and below 4 GiB by small pages rather than above by larger ones */
	space = iova_pc(test);
	KUNIT_EXPECT_EQ(test, lender_iova_take(space, SZ_1M + SZ_4M, 0x7fffffff), 0);
	KUNIT_EXPECT_EQ(test, lender_iova_take(space, 0xfec00000, 0xffffffff), 0);
	KUNIT_EXPECT_EQ(test, iova_placed(test, space, BAR, SZ_4M), SZ_1M);
}

static void iova_what_does_not_fit_below(struct kunit *test)
{
	struct lender_iova_space *space = iova_pc(test);

	KUNIT_EXPECT_EQ(test, iova_placed(test, space, BAR, SZ_2G), SZ_4G);
	KUNIT_EXPECT_EQ(test, iova_placed(test, space, BAR, SZ_16G), SZ_4G + SZ_2G);
}

static void iova_no_room(struct kunit *test)
{
	struct lender_iova_space *space = iova_pc(test);
	unsigned int taken = space->count;
	u64 iova;

	KUNIT_EXPECT_EQ(test, lender_iova_place(space, BAR, TOP + 1, &iova), -ENOSPC);
	KUNIT_EXPECT_EQ(test, lender_iova_take(space, SZ_1M, U64_MAX), 0);
	KUNIT_EXPECT_EQ(test, lender_iova_place(space, BAR, SZ_4K, &iova), -ENOSPC);
	KUNIT_EXPECT_EQ(test, space->count, taken + 1);
	/* where arithmetic would wrap */
	space = iova_pc(test);
	space->last = U64_MAX;
	KUNIT_EXPECT_EQ(test, lender_iova_take(space, 0, U64_MAX - SZ_1M), 0);
	KUNIT_EXPECT_EQ(test, lender_iova_place(space, BAR, SZ_2M, &iova), -ENOSPC);
	KUNIT_EXPECT_EQ(test, lender_iova_place(space, BAR, -(u64)SZ_4K, &iova), -ENOSPC);
}

static void iova_whole_pages(struct kunit *test)
{
	struct lender_iova_space *space = iova_pc(test);
	u64 iova;

	KUNIT_EXPECT_EQ(test, lender_iova_place(space, BAR, 0, &iova), -EINVAL);
	KUNIT_EXPECT_EQ(test, lender_iova_place(space, BAR, SZ_4K + 1, &iova), -EINVAL);
	KUNIT_EXPECT_EQ(test, lender_iova_place(space, BAR + 0x800, SZ_4K, &iova), -EINVAL);
	space->pgsizes = SZ_64K;
	KUNIT_EXPECT_EQ(test, lender_iova_place(space, BAR, SZ_4K, &iova), -EINVAL);
	space->pgsizes = 0;
	KUNIT_EXPECT_EQ(test, lender_iova_place(space, BAR, SZ_64K, &iova), -EINVAL);
}

static void iova_too_many_ranges(struct kunit *test)
{
	struct lender_iova_space *space = iova_pc(test);
	u64 iova;

	while (space->count < LENDER_IOVA_RANGES)
		KUNIT_ASSERT_EQ(test, lender_iova_take(space, 0xfee00000, 0xfee00fff), 0);
	KUNIT_EXPECT_EQ(test, lender_iova_take(space, 0xfee00000, 0xfee00fff), -ENOSPC);
	KUNIT_EXPECT_EQ(test, lender_iova_place(space, BAR, SZ_4K, &iova), -ENOSPC);
}

static struct kunit_case iova_cases[] = {
	KUNIT_CASE(iova_low_and_congruent),
	KUNIT_CASE(iova_low_before_large_pages),
	KUNIT_CASE(iova_what_does_not_fit_below),
	KUNIT_CASE(iova_no_room),
	KUNIT_CASE(iova_whole_pages),
	KUNIT_CASE(iova_too_many_ranges),
	{}
};

static struct kunit_suite iova_suite = {
	.name = "devlend-lender-iova",
	.test_cases = iova_cases,
};

kunit_test_suite(iova_suite);
