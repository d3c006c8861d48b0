// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the window planner (common/plan.c).
 *
 * Each case states windows and regions as a table; plan_check() then asserts, besides what
 * the case says, what must hold for any plan: aligned bases, sizes within limits, each
 * region inside its window, nothing moved that was open.
 */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "../../common/plan.c"

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

static void plan_check(struct kunit *test, const struct devlend_plan_window *before,
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

static int plan_run(struct kunit *test, struct devlend_plan_window *win, unsigned int windows,
		    struct devlend_plan_region *region, unsigned int regions,
		    struct devlend_plan_short *why)
{
	struct devlend_plan_window before[DEVLEND_PLAN_WINDOWS_MAX];
	int rc;

	memcpy(before, win, windows * sizeof(*win));
	rc = devlend_plan(win, windows, region, regions, why);
	if (!rc)
		plan_check(test, before, win, windows, region, regions);
	return rc;
}

static unsigned int plan_count_open(const struct devlend_plan_window *win, unsigned int windows)
{
	unsigned int i, n = 0;

	for (i = 0; i < windows; i++)
		n += win[i].open;
	return n;
}

#define RUN(test, win, region, why) \
	plan_run(test, win, ARRAY_SIZE(win), region, ARRAY_SIZE(region), why)

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

/* Not on the stack: with KASAN that is too much. */
static struct devlend_plan_region *plan_regions(struct kunit *test)
{
	struct devlend_plan_region *region;

	region = kunit_kcalloc(test, DEVLEND_PLAN_REGIONS_MAX, sizeof(*region), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, region);
	return region;
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
	KUNIT_CASE(plan_test_ram_and_msi),
	KUNIT_CASE(plan_test_ram_and_msi_apart),
	KUNIT_CASE(plan_test_smallest_first),
	KUNIT_CASE(plan_test_fewest_windows),
	KUNIT_CASE(plan_test_needs_search),
	KUNIT_CASE(plan_test_overlapping),
	KUNIT_CASE(plan_test_nested_behind_long),
	KUNIT_CASE(plan_test_share_open),
	KUNIT_CASE(plan_test_grow_open),
	KUNIT_CASE(plan_test_grow_least),
	KUNIT_CASE(plan_test_open_out_of_reach),
	KUNIT_CASE(plan_test_top_of_space),
	KUNIT_CASE(plan_test_huge),
	KUNIT_CASE(plan_test_size_zero),
	KUNIT_CASE(plan_test_too_many),
	KUNIT_CASE(plan_test_no_windows),
	KUNIT_CASE(plan_test_unusable),
	KUNIT_CASE(plan_test_windows_used_up),
	KUNIT_CASE(plan_test_32_regions),
	KUNIT_CASE(plan_test_32_regions_one_short),
	KUNIT_CASE(plan_test_repeat),
	KUNIT_CASE(plan_test_random),
	{}
};

static struct kunit_suite plan_suite = {
	.name = "devlend_plan",
	.test_cases = plan_cases,
};

kunit_test_suite(plan_suite);
