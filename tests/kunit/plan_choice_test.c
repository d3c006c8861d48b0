// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the window planner (common/plan.c):
 * which windows are opened, and which region goes where, when there are several of either.
 */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "plan_fixture.h"

/* The usual borrower: all RAM below 4 GiB and the interrupt range through one window. */
static void plan_test_ram_and_msi(struct kunit *test)
{
	struct devlend_plan_window win[] = { INTEL(SZ_64M), INTEL(SIZE_4G) };
	struct devlend_plan_region region[] = {
		{ .bus_addr = 0, .size = SZ_512M },
		{ .bus_addr = MSI_ADDR, .size = MSI_SIZE },
	};
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, region[0].window, 1U);
	KUNIT_EXPECT_EQ(test, region[1].window, 1U);
	KUNIT_EXPECT_EQ(test, region[1].offset, MSI_ADDR);
	KUNIT_EXPECT_EQ(test, win[1].size, MSI_ADDR + MSI_SIZE);
	KUNIT_EXPECT_FALSE(test, win[0].open);
}

/* RAM window too small for both: the interrupt range gets the other one. */
static void plan_test_ram_and_msi_apart(struct kunit *test)
{
	struct devlend_plan_window win[] = { INTEL(SZ_1M), INTEL(SZ_1G) };
	struct devlend_plan_region region[] = {
		{ .bus_addr = 0, .size = SZ_1G },
		{ .bus_addr = MSI_ADDR, .size = MSI_SIZE },
	};
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, region[0].window, 1U);
	KUNIT_EXPECT_EQ(test, region[1].window, 0U);
	KUNIT_EXPECT_EQ(test, region[1].offset, 0ULL);
}

static void plan_test_smallest_first(struct kunit *test)
{
	struct devlend_plan_window win[] = { AMD(SZ_1G), AMD(SZ_64K), AMD(SZ_16M) };
	struct devlend_plan_region region[] = { { .bus_addr = SIZE_4G, .size = SZ_1M } };
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, region[0].window, 2U);
}

/* Two small windows would do, but one large one does alone: windows are what is scarce. */
static void plan_test_fewest_windows(struct kunit *test)
{
	struct devlend_plan_window win[] = { AMD(SZ_64K), AMD(SZ_64K), AMD(SZ_1G) };
	struct devlend_plan_region region[] = {
		{ .bus_addr = 0xf0000000, .size = SZ_4K },
		{ .bus_addr = 0xe0000000, .size = SZ_4K },
	};
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, plan_count_open(win, ARRAY_SIZE(win)), 1U);
	KUNIT_EXPECT_EQ(test, region[0].window, 2U);
	KUNIT_EXPECT_EQ(test, region[1].window, 2U);
}

/* Taking the smallest window for the first region would leave none for the second. */
static void plan_test_needs_search(struct kunit *test)
{
	struct devlend_plan_window win[] = {
		/* both hold the first; only window 0 holds the second */
		{ .addr_align = SZ_4K, .size_align = 1, .size_max = SZ_1M },
		{ .addr_align = SZ_16M, .size_align = 1, .size_max = SZ_2M },
	};
	struct devlend_plan_region region[] = {
		{ .bus_addr = 0x10000000, .size = SZ_4K },
		{ .bus_addr = 0x20000000 + SZ_8M, .size = SZ_1M },
	};
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, region[0].window, 1U);
	KUNIT_EXPECT_EQ(test, region[1].window, 0U);
}

/* Regions in no order, overlapping, one inside another, and one twice. */
static void plan_test_overlapping(struct kunit *test)
{
	struct devlend_plan_window win[] = { AMD(SZ_1M), AMD(SZ_1M) };
	struct devlend_plan_region region[] = {
		{ .bus_addr = 0x10080000, .size = SZ_4K },
		{ .bus_addr = 0x10000000, .size = SZ_512K },
		{ .bus_addr = 0x10010000, .size = SZ_4K },
		{ .bus_addr = 0x1007f000, .size = SZ_8K },
		{ .bus_addr = 0x10080000, .size = SZ_4K },
	};
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, plan_count_open(win, ARRAY_SIZE(win)), 1U);
}

/* A long region starts before a short one and ends after it, and does not fit with the first. */
static void plan_test_nested_behind_long(struct kunit *test)
{
	struct devlend_plan_window win[] = { AMD(SZ_64K), AMD(SZ_1M) };
	struct devlend_plan_region region[] = {
		{ .bus_addr = 0x10000000, .size = SZ_4K },
		{ .bus_addr = 0x10001000, .size = SZ_1M },
		{ .bus_addr = 0x10002000, .size = SZ_4K },
	};
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, region[0].window, 0U);
	KUNIT_EXPECT_EQ(test, region[1].window, 1U);
	KUNIT_EXPECT_EQ(test, region[2].window, 1U);
}

static void plan_test_32_regions(struct kunit *test)
{
	struct devlend_plan_region *region = plan_regions(test);
	struct devlend_plan_window win[DEVLEND_PLAN_WINDOWS_MAX];
	struct devlend_plan_short why;
	unsigned int i;

	/* four regions in each of eight places, in an order that is not theirs */
	for (i = 0; i < DEVLEND_PLAN_REGIONS_MAX; i++) {
		region[i].bus_addr = (u64)((i * 5) % 8) * SIZE_4G + (i / 8) * SZ_4K;
		region[i].size = SZ_4K;
	}
	for (i = 0; i < ARRAY_SIZE(win); i++)
		win[i] = (struct devlend_plan_window)INTEL(SZ_16K);
	KUNIT_ASSERT_EQ(test, plan_run(test, win, ARRAY_SIZE(win), region,
				       DEVLEND_PLAN_REGIONS_MAX, &why), 0);
	KUNIT_EXPECT_EQ(test, plan_count_open(win, ARRAY_SIZE(win)), 8U);
	for (i = 0; i < ARRAY_SIZE(win); i++)
		KUNIT_EXPECT_EQ(test, win[i].size, (u64)SZ_16K);
}

/* Random sets: what comes out is a plan, and one region alone is refused only if none fits. */
static void plan_test_random(struct kunit *test)
{
	struct devlend_plan_region *region = plan_regions(test), one;
	struct devlend_plan_window win[DEVLEND_PLAN_WINDOWS_MAX], alone[DEVLEND_PLAN_WINDOWS_MAX];
	struct devlend_plan_short why;
	u64 seed = 0x9e3779b97f4a7c15ULL;
	unsigned int round, i, windows, regions;

	for (round = 0; round < 300; round++) {
		windows = 1 + round % ARRAY_SIZE(win);
		regions = 1 + round % DEVLEND_PLAN_REGIONS_MAX;
		for (i = 0; i < windows; i++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			win[i] = (struct devlend_plan_window)INTEL(SZ_64K << ((seed >> 40) % 12));
			if (seed >> 63)
				win[i].addr_align = SZ_4K;
		}
		for (i = 0; i < regions; i++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			region[i].bus_addr = (seed >> 34) & ~0xfffULL;
			region[i].size = SZ_4K << ((seed >> 10) % 8);
		}
		memcpy(alone, win, sizeof(win));
		one = region[0];
		if (!plan_run(test, win, windows, region, regions, &why))
			KUNIT_EXPECT_EQ(test, plan_run(test, alone, windows, &one, 1, &why), 0);
		else
			KUNIT_EXPECT_GT(test, why.need, 0ULL);
	}
}

static struct kunit_case plan_choice_cases[] = {
	KUNIT_CASE(plan_test_ram_and_msi),
	KUNIT_CASE(plan_test_ram_and_msi_apart),
	KUNIT_CASE(plan_test_smallest_first),
	KUNIT_CASE(plan_test_fewest_windows),
	KUNIT_CASE(plan_test_needs_search),
	KUNIT_CASE(plan_test_overlapping),
	KUNIT_CASE(plan_test_nested_behind_long),
	KUNIT_CASE(plan_test_32_regions),
	KUNIT_CASE(plan_test_random),
	{}
};

static struct kunit_suite plan_choice_suite = {
	.name = "devlend_plan_choice",
	.test_cases = plan_choice_cases,
};

kunit_test_suite(plan_choice_suite);
