// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: the window planner, with windows and regions of any size and alignment.
 *
 * The input: number of windows and regions, then each window and each region; a size or an address
 * is a byte for a power of two and two for what is added, so that edges are likely.
 *
 * Must hold for a plan that is made: each region lies in its window, which is no longer than
 * it can be and aligned as it must be; open windows stay where they are, and do not shrink. Where
 * there is none, the explanation names a region.
 */
#include "fuzz.h"

#include "../../common/plan.c"

typedef unsigned __int128 u128;

static u64 input_size(struct input *in)
{
	u8 shift = input_u8(in);
	s64 more = (s16)input_u16(in);

	return (shift & 0x80 ? 0 : 1ull << (shift % 64)) + more;
}

static void check_plan(const struct devlend_plan_window *before,
		       const struct devlend_plan_window *win, unsigned int windows,
		       const struct devlend_plan_region *region, unsigned int regions)
{
	unsigned int i;

	for (i = 0; i < windows; i++) {
		const struct devlend_plan_window *w = &win[i];

		if (before[i].open)
			MUST(w->open && w->base == before[i].base && w->size >= before[i].size);
		if (!w->open || before[i].open)
			continue;
		MUST(w->size && w->size <= w->size_max);
		MUST(!(w->base & ((w->addr_align ?: 1) - 1)));
		MUST(!(w->size & ((w->size_align ?: 1) - 1)));
	}
	for (i = 0; i < regions; i++) {
		const struct devlend_plan_region *r = &region[i];
		const struct devlend_plan_window *w = &win[r->window];

		MUST(r->window < windows && w->open);
		MUST(w->base + r->offset == r->bus_addr && w->base <= r->bus_addr);
		MUST((u128)r->offset + r->size <= w->size);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct devlend_plan_window win[DEVLEND_PLAN_WINDOWS_MAX + 1] = { };
	struct devlend_plan_window before[DEVLEND_PLAN_WINDOWS_MAX + 1];
	struct devlend_plan_region region[DEVLEND_PLAN_REGIONS_MAX + 1] = { };
	struct input in = { data, size };
	struct devlend_plan_short why;
	unsigned int windows, regions, i;
	u8 counts = input_u8(&in);
	int err;

	windows = (counts & 15) % (DEVLEND_PLAN_WINDOWS_MAX + 2);
	regions = input_u8(&in) % (DEVLEND_PLAN_REGIONS_MAX + 2);
	for (i = 0; i < windows; i++) {
		win[i].addr_align = input_size(&in);
		win[i].size_align = input_size(&in);
		win[i].size_max = input_size(&in);
		win[i].open = input_u8(&in) & 1;
		if (win[i].open) {
			win[i].base = input_size(&in);
			win[i].size = min(input_size(&in), win[i].size_max);
		}
	}
	for (i = 0; i < regions; i++) {
		region[i].bus_addr = input_size(&in);
		region[i].size = input_size(&in);
	}
	memcpy(before, win, sizeof(win));
	err = devlend_plan(win, windows, region, regions, &why);
	MUST(err == 0 || err == -ENOSPC || err == -EINVAL);
	if (!err)
		check_plan(before, win, windows, region, regions);
	else if (err == -ENOSPC)
		MUST(why.region < regions);
	return 0;
}
