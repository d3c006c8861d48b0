/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the planner's tests share (plan_*test.c).
 *
 * Each case states windows and regions as a table; plan_run() then asserts, besides what
 * the case says, what must hold for any plan: aligned bases, sizes within limits, each
 * region inside its window, nothing moved that was open.
 */
#ifndef PLAN_FIXTURE_H
#define PLAN_FIXTURE_H

#include <kunit/test.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include <devlend/plan.h>

#define MSI_ADDR	0xfee00000ULL
#define MSI_SIZE	SZ_1M
#define SIZE_4G		(4ULL * SZ_1G)

/* Intel gen1 and gen3: the base is aligned to the whole BAR. */
#define INTEL(size)	{ .addr_align = (size), .size_align = 1, .size_max = (size) }
/* AMD: pages. */
#define AMD(size)	{ .addr_align = SZ_4K, .size_align = 1, .size_max = (size) }
/* Switchtec, as window.c presents it: whole windows only. */
#define SWITCHTEC(size)	{ .addr_align = (size), .size_align = (size), .size_max = (size) }

#define OPEN(align, max, b, s) { .addr_align = (align), .size_align = 1, \
	.size_max = (max), .open = true, .base = (b), .size = (s) }

static inline void plan_check(struct kunit *test, const struct devlend_plan_window *before,
			      const struct devlend_plan_window *win, unsigned int windows,
			      const struct devlend_plan_region *region, unsigned int regions)
{
	unsigned int i;

	for (i = 0; i < windows; i++) {
		if (before[i].open) {
			KUNIT_EXPECT_TRUE(test, win[i].open);
			KUNIT_EXPECT_EQ(test, win[i].base, before[i].base);
			KUNIT_EXPECT_GE(test, win[i].size, before[i].size);
		}
		if (!win[i].open)
			continue;
		KUNIT_EXPECT_GT(test, win[i].size, 0ULL);
		KUNIT_EXPECT_LE(test, win[i].size, win[i].size_max);
		KUNIT_EXPECT_EQ(test, win[i].base & (win[i].addr_align - 1), 0ULL);
		KUNIT_EXPECT_EQ(test, win[i].size & (win[i].size_align - 1), 0ULL);
	}
	for (i = 0; i < regions; i++) {
		const struct devlend_plan_window *w;

		KUNIT_ASSERT_LT(test, region[i].window, windows);
		w = &win[region[i].window];
		KUNIT_EXPECT_TRUE(test, w->open);
		KUNIT_EXPECT_EQ(test, w->base + region[i].offset, region[i].bus_addr);
		KUNIT_EXPECT_LE(test, region[i].offset, w->size);
		KUNIT_EXPECT_LE(test, region[i].size, w->size - region[i].offset);
	}
}

static inline int plan_run(struct kunit *test, struct devlend_plan_window *win,
			   unsigned int windows, struct devlend_plan_region *region,
			   unsigned int regions, struct devlend_plan_short *why)
{
	struct devlend_plan_window before[DEVLEND_PLAN_WINDOWS_MAX];
	int rc;

	memcpy(before, win, windows * sizeof(*win));
	rc = devlend_plan(win, windows, region, regions, why);
	if (!rc)
		plan_check(test, before, win, windows, region, regions);
	return rc;
}

static inline unsigned int plan_count_open(const struct devlend_plan_window *win,
					   unsigned int windows)
{
	unsigned int i, n = 0;

	for (i = 0; i < windows; i++)
		n += win[i].open;
	return n;
}

#define RUN(test, win, region, why) \
	plan_run(test, win, ARRAY_SIZE(win), region, ARRAY_SIZE(region), why)

/* Not on the stack: with KASAN that is too much. */
static inline struct devlend_plan_region *plan_regions(struct kunit *test)
{
	struct devlend_plan_region *region;

	region = kunit_kcalloc(test, DEVLEND_PLAN_REGIONS_MAX, sizeof(*region), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, region);
	return region;
}

#endif /* PLAN_FIXTURE_H */
