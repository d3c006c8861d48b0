// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the window planner (common/plan.c): are regions apart, or does the window of one
 * reach the other?
 */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "plan_fixture.h"

#define REGION(addr, len, win)	{ .bus_addr = (addr), .size = (len), .window = (win) }

/* Both ways round: the answer must be the same. */
static bool apart(struct kunit *test, const struct devlend_plan_window *win, unsigned int windows,
		  const struct devlend_plan_region *a, const struct devlend_plan_region *b)
{
	bool answer = devlend_plan_apart(win, windows, a, 1, b, 1);

	KUNIT_EXPECT_EQ(test, devlend_plan_apart(win, windows, b, 1, a, 1), answer);
	return answer;
}

static void plan_test_same_window(struct kunit *test)
{
	struct devlend_plan_window win[] = { OPEN(SZ_1M, SZ_1M, 0xfe000000, SZ_64K) };
	struct devlend_plan_region a = REGION(0xfe000000, SZ_16K, 0);
	struct devlend_plan_region b = REGION(0xfe00c000, SZ_16K, 0);

	KUNIT_EXPECT_FALSE(test, apart(test, win, 1, &a, &b));
}

/* Bases aligned to pages: neighbours are apart, to the byte. */
static void plan_test_neighbours(struct kunit *test)
{
	struct devlend_plan_window win[] = {
		OPEN(SZ_4K, SZ_1M, 0xfe000000, SZ_16K),
		OPEN(SZ_4K, SZ_1M, 0xfe004000, SZ_16K),
	};
	struct devlend_plan_region a = REGION(0xfe000000, SZ_16K, 0);
	struct devlend_plan_region b = REGION(0xfe004000, SZ_16K, 1);

	KUNIT_EXPECT_TRUE(test, apart(test, win, ARRAY_SIZE(win), &a, &b));
	win[0].size += SZ_4K;
	KUNIT_EXPECT_FALSE(test, apart(test, win, ARRAY_SIZE(win), &a, &b));
}

/* Base aligned down to the whole window: what lies between is in reach. */
static void plan_test_aligned_down(struct kunit *test)
{
	struct devlend_plan_window win[] = {
		OPEN(SZ_64M, SZ_64M, 0xfc000000, 0x2a04000),
		OPEN(SIZE_4G, SIZE_4G, 0, 0xfea0c000),
	};
	struct devlend_plan_region a = REGION(0xfea00000, SZ_16K, 0);
	struct devlend_plan_region b = REGION(0xfea08000, SZ_16K, 1);

	KUNIT_EXPECT_FALSE(test, apart(test, win, ARRAY_SIZE(win), &a, &b));
	/* above 4 GiB, the same window reaches nothing of the other */
	win[1].base = SIZE_4G;
	b.bus_addr += SIZE_4G;
	KUNIT_EXPECT_TRUE(test, apart(test, win, ARRAY_SIZE(win), &a, &b));
}

/* A window of neither does not count, a closed one reaches nothing, and ends may be the last. */
static void plan_test_others(struct kunit *test)
{
	struct devlend_plan_window win[] = {
		OPEN(SZ_4K, SZ_1M, 0x1000, SZ_4K),
		OPEN(SZ_4K, SZ_1M, U64_MAX - SZ_4K + 1, SZ_4K),
		OPEN(SZ_4K, SIZE_4G, 0, SIZE_4G),
	};
	struct devlend_plan_region a = REGION(0x1000, SZ_4K, 0);
	struct devlend_plan_region b = REGION(U64_MAX - SZ_4K + 1, SZ_4K, 1);

	KUNIT_EXPECT_TRUE(test, apart(test, win, ARRAY_SIZE(win), &a, &b));
	b.window = 2;
	KUNIT_EXPECT_FALSE(test, apart(test, win, ARRAY_SIZE(win), &a, &b));
	win[2].open = false;
	KUNIT_EXPECT_TRUE(test, apart(test, win, ARRAY_SIZE(win), &a, &b));
	b.window = ARRAY_SIZE(win);
	KUNIT_EXPECT_TRUE(test, apart(test, win, ARRAY_SIZE(win), &a, &b));
}

/* One of many is enough. */
static void plan_test_sets(struct kunit *test)
{
	struct devlend_plan_window win[] = {
		OPEN(SZ_1M, SZ_1M, 0xfe000000, SZ_16K),
		OPEN(SZ_1M, SZ_1M, 0xfe100000, SZ_16K),
		OPEN(SZ_1M, SZ_1M, 0xfe200000, SZ_64K),
	};
	struct devlend_plan_region a[] = {
		REGION(0xfe000000, SZ_16K, 0),
		REGION(0xfe200000, SZ_16K, 2),
	};
	struct devlend_plan_region b[] = {
		REGION(0xfe100000, SZ_16K, 1),
		REGION(0xfe204000, SZ_16K, 2),
	};

	KUNIT_EXPECT_TRUE(test, devlend_plan_apart(win, ARRAY_SIZE(win), a, 2, b, 1));
	KUNIT_EXPECT_FALSE(test, devlend_plan_apart(win, ARRAY_SIZE(win), a, 2, b, 2));
	KUNIT_EXPECT_TRUE(test, devlend_plan_apart(win, ARRAY_SIZE(win), a, 2, NULL, 0));
}

static struct kunit_case plan_apart_cases[] = {
	KUNIT_CASE(plan_test_same_window),
	KUNIT_CASE(plan_test_neighbours),
	KUNIT_CASE(plan_test_aligned_down),
	KUNIT_CASE(plan_test_others),
	KUNIT_CASE(plan_test_sets),
	{}
};

static struct kunit_suite plan_apart_suite = {
	.name = "devlend_plan_apart",
	.test_cases = plan_apart_cases,
};

kunit_test_suite(plan_apart_suite);
