/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window planner: which regions of this host go through which inbound memory window.
 * Pure arithmetic, no kernel state; see common/plan.c.
 */
#ifndef DEVLEND_PLAN_H
#define DEVLEND_PLAN_H

#include <linux/types.h>

#define DEVLEND_PLAN_WINDOWS_MAX	8
#define DEVLEND_PLAN_REGIONS_MAX	32

/**
 * struct devlend_plan_window - what an inbound window can do, and what it does now
 * @addr_align: alignment of the translation address, bytes, a power of two (ntb_mw_get_align())
 * @size_align: alignment of the size, bytes
 * @size_max: longest size, bytes; 0 = unusable
 * @open: it is open now: @base stays, only @size may grow
 * @base: bus address of the first byte, valid where @open
 * @size: bytes that are open, valid where @open
 */
struct devlend_plan_window {
	u64 addr_align;
	u64 size_align;
	u64 size_max;
	bool open;
	u64 base;
	u64 size;
};

/**
 * struct devlend_plan_region - what must be reachable
 * @bus_addr: first byte, local bus address
 * @size: bytes, not 0
 * @window: result: window index
 * @offset: result: bytes from the window's base
 */
struct devlend_plan_region {
	u64 bus_addr;
	u64 size;
	unsigned int window;
	u64 offset;
};

/**
 * struct devlend_plan_short - what was missing when a plan failed
 * @region: index of the first region that found no place
 * @need: bytes from the best aligned base to the region's end
 * @have: longest size among windows that were not open
 */
struct devlend_plan_short {
	unsigned int region;
	u64 need;
	u64 have;
};

/*
 * Place all of @region in @win, in place (both arrays are scratch on failure).
 * Open windows keep their base. As few windows as possible are opened, the smallest that
 * will do first.
 * Return: 0; -ENOSPC with *@why filled in; -EINVAL for a region of size 0 or one that wraps.
 */
int devlend_plan(struct devlend_plan_window *win, unsigned int windows,
		 struct devlend_plan_region *region, unsigned int regions,
		 struct devlend_plan_short *why);

/* Does no window that holds a region of one set reach a byte of the other set, either way? */
bool devlend_plan_apart(const struct devlend_plan_window *win, unsigned int windows,
			const struct devlend_plan_region *a, unsigned int a_count,
			const struct devlend_plan_region *b, unsigned int b_count);

#endif /* DEVLEND_PLAN_H */
