// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the window planner (common/plan.c):
 * how a region is placed in a window: alignment, sizes, offsets.
 */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "../../common/plan.c"
#include "plan_fixture.h"

static void plan_test_nothing(struct kunit *test)
{
	struct devlend_plan_window win[] = { AMD(SZ_1M) };
	struct devlend_plan_short why;

	KUNIT_EXPECT_EQ(test, devlend_plan(win, 1, NULL, 0, &why), 0);
	KUNIT_EXPECT_FALSE(test, win[0].open);
	KUNIT_EXPECT_EQ(test, devlend_plan(NULL, 0, NULL, 0, &why), 0);
}

static void plan_test_one(struct kunit *test)
{
	struct devlend_plan_window win[] = { AMD(SZ_1M) };
	struct devlend_plan_region region[] = { { .bus_addr = 0xfe000000, .size = SZ_16K } };
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, win[0].base, 0xfe000000ULL);
	KUNIT_EXPECT_EQ(test, win[0].size, (u64)SZ_16K);
	KUNIT_EXPECT_EQ(test, region[0].offset, 0ULL);
}

/* An address inside a page: aligned down, the region lies at an offset. */
static void plan_test_unaligned(struct kunit *test)
{
	struct devlend_plan_window win[] = { AMD(SZ_1M) };
	struct devlend_plan_region region[] = { { .bus_addr = 0xfe000ff8, .size = 16 } };
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, win[0].base, 0xfe000000ULL);
	KUNIT_EXPECT_EQ(test, region[0].offset, 0xff8ULL);
	KUNIT_EXPECT_EQ(test, win[0].size, 0x1008ULL);
}

/* Intel: the base is aligned to the whole BAR, only as much as needed is opened. */
static void plan_test_intel_whole_bar(struct kunit *test)
{
	struct devlend_plan_window win[] = { INTEL(SZ_64M), INTEL(SIZE_4G) };
	struct devlend_plan_region region[] = { { .bus_addr = 0xfebf0000, .size = SZ_16K } };
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, region[0].window, 0U);
	KUNIT_EXPECT_EQ(test, win[0].base, 0xfc000000ULL);
	KUNIT_EXPECT_EQ(test, region[0].offset, 0x2bf0000ULL);
	KUNIT_EXPECT_EQ(test, win[0].size, 0x2bf4000ULL);
	KUNIT_EXPECT_FALSE(test, win[1].open);
}

/* A region that crosses a multiple of the BAR's size fits only in a larger window. */
static void plan_test_intel_crossing(struct kunit *test)
{
	struct devlend_plan_window win[] = { INTEL(SZ_64M), INTEL(SIZE_4G) };
	struct devlend_plan_region region[] = { { .bus_addr = 0xfc000000 - SZ_4K, .size = SZ_8K } };
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, region[0].window, 1U);
	KUNIT_EXPECT_EQ(test, win[1].base, 0ULL);
	KUNIT_EXPECT_FALSE(test, win[0].open);
}

static void plan_test_intel_crossing_short(struct kunit *test)
{
	struct devlend_plan_window win[] = { INTEL(SZ_64M) };
	struct devlend_plan_region region[] = { { .bus_addr = 0xfc000000 - SZ_4K, .size = SZ_8K } };
	struct devlend_plan_short why;

	KUNIT_EXPECT_EQ(test, RUN(test, win, region, &why), -ENOSPC);
	KUNIT_EXPECT_EQ(test, why.region, 0U);
	KUNIT_EXPECT_EQ(test, why.need, (u64)SZ_64M + SZ_4K);
	KUNIT_EXPECT_EQ(test, why.have, (u64)SZ_64M);
	KUNIT_EXPECT_FALSE(test, win[0].open);
}

/* Gen1 with the doorbell erratum's offset: less can be opened than the alignment. */
static void plan_test_intel_size_below_align(struct kunit *test)
{
	struct devlend_plan_window win[] = {
		{ .addr_align = SZ_1M, .size_align = 1, .size_max = SZ_1M - SZ_64K },
	};
	struct devlend_plan_region fits[] = { { .bus_addr = 0x100000, .size = SZ_1M - SZ_64K } };
	struct devlend_plan_region tail[] = { { .bus_addr = 0x2f0000, .size = SZ_4K } };
	struct devlend_plan_short why;

	KUNIT_EXPECT_EQ(test, RUN(test, win, tail, &why), -ENOSPC);
	KUNIT_EXPECT_EQ(test, why.need, 0xf1000ULL);
	KUNIT_EXPECT_EQ(test, why.have, (u64)SZ_1M - SZ_64K);
	KUNIT_EXPECT_EQ(test, RUN(test, win, fits, &why), 0);
}

/* Field report 1: a 2 MiB window and a buffer at 0x41df00000. */
static void plan_test_switchtec_2m(struct kunit *test)
{
	struct devlend_plan_window win[] = { SWITCHTEC(SZ_2M) };
	struct devlend_plan_region region[] = { { .bus_addr = 0x41df00000, .size = SZ_64K } };
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, win[0].base, 0x41de00000ULL);
	KUNIT_EXPECT_EQ(test, win[0].size, (u64)SZ_2M);
	KUNIT_EXPECT_EQ(test, region[0].offset, (u64)SZ_1M);
}

static void plan_test_switchtec_too_large(struct kunit *test)
{
	struct devlend_plan_window win[] = { SWITCHTEC(SZ_2M), SWITCHTEC(SZ_64K) };
	struct devlend_plan_region region[] = {
		{ .bus_addr = 0x41df00000, .size = SZ_4K },
		{ .bus_addr = 0x80000000, .size = SZ_4M },
	};
	struct devlend_plan_short why;

	KUNIT_EXPECT_EQ(test, RUN(test, win, region, &why), -ENOSPC);
	KUNIT_EXPECT_EQ(test, why.region, 1U);
	KUNIT_EXPECT_EQ(test, why.need, (u64)SZ_4M);
	KUNIT_EXPECT_EQ(test, why.have, (u64)SZ_2M);
}

/* Sizes are rounded up to what the window takes, and never above size_max. */
static void plan_test_size_align(struct kunit *test)
{
	struct devlend_plan_window win[] = {
		{ .addr_align = SZ_4K, .size_align = SZ_64K, .size_max = SZ_128K + SZ_4K },
	};
	struct devlend_plan_region region[] = { { .bus_addr = 0x10001000, .size = SZ_64K + 1 } };
	struct devlend_plan_region large[] = { { .bus_addr = 0x10001000, .size = SZ_128K + 1 } };
	struct devlend_plan_window again[ARRAY_SIZE(win)];
	struct devlend_plan_short why;

	memcpy(again, win, sizeof(win));
	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, win[0].size, (u64)SZ_128K);
	KUNIT_EXPECT_EQ(test, RUN(test, again, large, &why), -ENOSPC);
	KUNIT_EXPECT_EQ(test, why.have, (u64)SZ_128K);
}

/* The last byte of the address space is a place like any other; wrapping is not. */
static void plan_test_top_of_space(struct kunit *test)
{
	struct devlend_plan_window win[] = { AMD(SZ_1M) };
	struct devlend_plan_region top[] = { { .bus_addr = 0ULL - SZ_64K, .size = SZ_64K } };
	struct devlend_plan_region wraps[] = { { .bus_addr = 0ULL - SZ_64K, .size = SZ_64K + 1 } };
	struct devlend_plan_short why;

	KUNIT_EXPECT_EQ(test, RUN(test, win, wraps, &why), -EINVAL);
	KUNIT_ASSERT_EQ(test, RUN(test, win, top, &why), 0);
	KUNIT_EXPECT_EQ(test, win[0].base, 0ULL - SZ_64K);
	KUNIT_EXPECT_EQ(test, win[0].size, (u64)SZ_64K);
}

static struct kunit_case plan_cases[] = {
	KUNIT_CASE(plan_test_nothing),
	KUNIT_CASE(plan_test_one),
	KUNIT_CASE(plan_test_unaligned),
	KUNIT_CASE(plan_test_intel_whole_bar),
	KUNIT_CASE(plan_test_intel_crossing),
	KUNIT_CASE(plan_test_intel_crossing_short),
	KUNIT_CASE(plan_test_intel_size_below_align),
	KUNIT_CASE(plan_test_switchtec_2m),
	KUNIT_CASE(plan_test_switchtec_too_large),
	KUNIT_CASE(plan_test_size_align),
	KUNIT_CASE(plan_test_top_of_space),
	{}
};

static struct kunit_suite plan_suite = {
	.name = "devlend_plan",
	.test_cases = plan_cases,
};

kunit_test_suite(plan_suite);
