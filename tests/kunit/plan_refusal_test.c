// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the window planner (common/plan.c):
 * what is refused, and the figures that say why.
 */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "plan_fixture.h"

static void plan_test_huge(struct kunit *test)
{
	struct devlend_plan_window win[] = { AMD(SZ_1M) };
	struct devlend_plan_window whole[] = {
		{ .addr_align = SZ_4K, .size_align = 1, .size_max = U64_MAX },
	};
	struct devlend_plan_region all[] = { { .bus_addr = 0, .size = U64_MAX } };
	struct devlend_plan_region two[] = {
		{ .bus_addr = 0, .size = 1 },
		{ .bus_addr = U64_MAX, .size = 1 },
	};
	struct devlend_plan_short why;

	KUNIT_EXPECT_EQ(test, RUN(test, win, all, &why), -ENOSPC);
	KUNIT_EXPECT_EQ(test, why.need, U64_MAX);
	KUNIT_EXPECT_EQ(test, RUN(test, win, two, &why), -ENOSPC);
	KUNIT_EXPECT_EQ(test, RUN(test, whole, all, &why), 0);
	KUNIT_EXPECT_EQ(test, whole[0].size, U64_MAX);
}

static void plan_test_size_zero(struct kunit *test)
{
	struct devlend_plan_window win[] = { AMD(SZ_1M) };
	struct devlend_plan_region region[] = {
		{ .bus_addr = 0x1000, .size = SZ_4K },
		{ .bus_addr = 0x1000, .size = 0 },
	};
	struct devlend_plan_short why;

	KUNIT_EXPECT_EQ(test, RUN(test, win, region, &why), -EINVAL);
	KUNIT_EXPECT_FALSE(test, win[0].open);
}

static void plan_test_too_many(struct kunit *test)
{
	struct devlend_plan_window win[] = { AMD(SZ_1M) };
	struct devlend_plan_region region[] = { { .bus_addr = 0x1000, .size = SZ_4K } };
	struct devlend_plan_short why;

	/* refused before either array is looked at */
	KUNIT_EXPECT_EQ(test, -EINVAL,
			devlend_plan(win, DEVLEND_PLAN_WINDOWS_MAX + 1, region, 1, &why));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			devlend_plan(win, 1, region, DEVLEND_PLAN_REGIONS_MAX + 1, &why));
}

static void plan_test_no_windows(struct kunit *test)
{
	struct devlend_plan_region region[] = { { .bus_addr = 0x1000, .size = SZ_8K } };
	struct devlend_plan_short why;

	KUNIT_EXPECT_EQ(test, devlend_plan(NULL, 0, region, 1, &why), -ENOSPC);
	KUNIT_EXPECT_EQ(test, why.need, (u64)SZ_8K);
	KUNIT_EXPECT_EQ(test, why.have, 0ULL);
}

/* Windows without size, and ones that name alignments that are no powers of two, stay shut. */
static void plan_test_unusable(struct kunit *test)
{
	struct devlend_plan_window win[] = {
		{ .addr_align = SZ_4K, .size_align = 1, .size_max = 0 },
		{ .addr_align = SZ_4K, .size_align = SZ_64K, .size_max = SZ_4K },
		{ .addr_align = 3 * SZ_4K, .size_align = 1, .size_max = SZ_1M },
		{ .addr_align = SZ_4K, .size_align = 3, .size_max = SZ_1M },
		AMD(SZ_2M),
	};
	struct devlend_plan_region region[] = { { .bus_addr = 0x1000, .size = SZ_4K } };
	struct devlend_plan_short why;

	KUNIT_ASSERT_EQ(test, RUN(test, win, region, &why), 0);
	KUNIT_EXPECT_EQ(test, region[0].window, 4U);
	KUNIT_EXPECT_EQ(test, plan_count_open(win, ARRAY_SIZE(win)), 1U);
}

/* Each would fit alone; the figures name the first that finds no place. */
static void plan_test_windows_used_up(struct kunit *test)
{
	struct devlend_plan_window win[] = { INTEL(SZ_64K), INTEL(SZ_64K) };
	struct devlend_plan_region region[] = {
		{ .bus_addr = 0x30000000, .size = SZ_16K },
		{ .bus_addr = 0x10000000, .size = SZ_4K },
		{ .bus_addr = 0x20000000, .size = SZ_8K },
	};
	struct devlend_plan_short why;

	KUNIT_EXPECT_EQ(test, RUN(test, win, region, &why), -ENOSPC);
	KUNIT_EXPECT_EQ(test, why.region, 0U);
	KUNIT_EXPECT_EQ(test, why.need, (u64)SZ_16K);
	KUNIT_EXPECT_EQ(test, why.have, (u64)SZ_64K);
}

static void plan_test_32_regions_one_short(struct kunit *test)
{
	struct devlend_plan_region *region = plan_regions(test);
	struct devlend_plan_window win[DEVLEND_PLAN_WINDOWS_MAX - 1];
	struct devlend_plan_short why;
	unsigned int i;

	for (i = 0; i < DEVLEND_PLAN_REGIONS_MAX; i++) {
		region[i].bus_addr = (u64)(i % 8) * SIZE_4G + (i / 8) * SZ_4K;
		region[i].size = SZ_4K;
	}
	for (i = 0; i < ARRAY_SIZE(win); i++)
		win[i] = (struct devlend_plan_window)INTEL(SZ_16K);
	KUNIT_EXPECT_EQ(test, plan_run(test, win, ARRAY_SIZE(win), region,
				       DEVLEND_PLAN_REGIONS_MAX, &why), -ENOSPC);
	KUNIT_EXPECT_EQ(test, why.region, 7U);
	KUNIT_EXPECT_EQ(test, why.need, (u64)SZ_4K);
}

static struct kunit_case plan_refusal_cases[] = {
	KUNIT_CASE(plan_test_huge),
	KUNIT_CASE(plan_test_size_zero),
	KUNIT_CASE(plan_test_too_many),
	KUNIT_CASE(plan_test_no_windows),
	KUNIT_CASE(plan_test_unusable),
	KUNIT_CASE(plan_test_windows_used_up),
	KUNIT_CASE(plan_test_32_regions_one_short),
	{}
};

static struct kunit_suite plan_refusal_suite = {
	.name = "devlend_plan_refusal",
	.test_cases = plan_refusal_cases,
};

kunit_test_suite(plan_refusal_suite);
