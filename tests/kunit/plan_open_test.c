// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the window planner (common/plan.c):
 * windows that are open already: shared, grown, never moved.
 */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "plan_fixture.h"

/* What lies in an open window goes there and changes nothing. */
static void plan_test_share_open(struct kunit *test)
{
	struct devlend_plan_window win[] = {
		AMD(SZ_64K), OPEN(SZ_64M, SZ_64M, 0xfc000000, 0x2bf4000),
	};
	struct devlend_plan_region region[] = { { .bus_addr = 0xfc100000, .size = SZ_4K } };
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, region[0].window, 1U);
	KUNIT_EXPECT_EQ(test, win[1].size, 0x2bf4000ULL);
	KUNIT_EXPECT_FALSE(test, win[0].open);
}

static void plan_test_grow_open(struct kunit *test)
{
	struct devlend_plan_window win[] = {
		AMD(SZ_64K), OPEN(SZ_64M, SZ_64M, 0xfc000000, SZ_1M),
	};
	struct devlend_plan_region region[] = { { .bus_addr = 0xfebf0000, .size = SZ_16K } };
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, region[0].window, 1U);
	KUNIT_EXPECT_EQ(test, win[1].size, 0x2bf4000ULL);
	KUNIT_EXPECT_FALSE(test, win[0].open);
}

static void plan_test_grow_least(struct kunit *test)
{
	struct devlend_plan_window win[] = {
		OPEN(SZ_1G, SZ_1G, 0xc0000000, SZ_1M),
		OPEN(SZ_64M, SZ_64M, 0xfc000000, SZ_32M),
	};
	struct devlend_plan_region region[] = { { .bus_addr = 0xfe000000, .size = SZ_4K } };
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, region[0].window, 1U);
	KUNIT_EXPECT_EQ(test, win[0].size, (u64)SZ_1M);
}

/* An open window is not moved, though its base is above the region or too far below. */
static void plan_test_open_out_of_reach(struct kunit *test)
{
	struct devlend_plan_window win[] = { OPEN(SZ_4K, SZ_1M, 0x10000000, SZ_4K) };
	struct devlend_plan_region below[] = { { .bus_addr = 0x0ffff000, .size = SZ_4K } };
	struct devlend_plan_region above[] = { { .bus_addr = 0x100ff000, .size = SZ_8K } };
	struct devlend_plan_region last[] = { { .bus_addr = 0x100ff000, .size = SZ_4K } };
	struct devlend_plan_short why;

	KUNIT_EXPECT_EQ(test, RUN(test, win, below, &why), -ENOSPC);
	KUNIT_EXPECT_EQ(test, why.need, (u64)SZ_4K);
	KUNIT_EXPECT_EQ(test, why.have, 0ULL);
	KUNIT_EXPECT_EQ(test, RUN(test, win, above, &why), -ENOSPC);
	KUNIT_EXPECT_EQ(test, RUN(test, win, last, &why), 0);
	KUNIT_EXPECT_EQ(test, win[0].size, (u64)SZ_1M);
}

/* The same inputs twice: the second time all is open already, and nothing changes. */
static void plan_test_repeat(struct kunit *test)
{
	struct devlend_plan_window win[] = { INTEL(SZ_64M), INTEL(SIZE_4G) }, again[2];
	struct devlend_plan_region region[] = {
		{ .bus_addr = 0, .size = SZ_512M },
		{ .bus_addr = MSI_ADDR, .size = MSI_SIZE },
	};
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	memcpy(again, win, sizeof(win));
	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, memcmp(again, win, sizeof(win)), 0);
}

static struct kunit_case plan_open_cases[] = {
	KUNIT_CASE(plan_test_share_open),
	KUNIT_CASE(plan_test_grow_open),
	KUNIT_CASE(plan_test_grow_least),
	KUNIT_CASE(plan_test_open_out_of_reach),
	KUNIT_CASE(plan_test_repeat),
	{}
};

static struct kunit_suite plan_open_suite = {
	.name = "devlend_plan_open",
	.test_cases = plan_open_cases,
};

kunit_test_suite(plan_open_suite);
