// SPDX-License-Identifier: GPL-2.0
/*
 * The window planner: which regions of this host go through which inbound window.
 *
 * A window is a range of local bus addresses that starts at an aligned base and is at most
 * size_max bytes long. NTBs differ in the alignment: Intel wants the base aligned to the
 * whole BAR, so a base is aligned down and the region lies at an offset; and a region that
 * crosses a multiple of the alignment may fit in no window of its own size. A region never
 * straddles windows; one window may hold many regions.
 *
 * Called by window.c before anything is programmed, and by the unit tests. Pure arithmetic:
 * no kernel state, no locks, any context, about 4 KiB of work at most.
 *
 * How it decides:
 *
 *  - What lies in reach of an open window goes there; of several the one that grows least.
 *  - For the rest, the fewest closed windows are opened; among equals those whose sizes add
 *    up to least. All subsets of windows are looked at (there are at most 256).
 *
 * Whether a subset will do: sort the regions by their first byte. The first region without
 * a place needs some window, and that window reaches furthest when its base is as high as
 * this region and the alignment allow. All that then fits is a run of the sorted order, up
 * to the first region that does not: if a later one would fit as well, the window that
 * takes the skipped region starts no later and ends later, so it holds the later one too.
 * So "how many regions of the sorted order can the windows in this subset hold" is one
 * number, computed for each subset from the subsets with one window less.
 *
 * Ends are inclusive throughout, so a region may end with the last byte of the address
 * space.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include <devlend/plan.h>

#define PLAN_SUBSETS	BIT(DEVLEND_PLAN_WINDOWS_MAX)
#define PLAN_NONE	0xff

/**
 * struct plan_state - the work of one call
 * @win: the windows
 * @windows: number of them
 * @region: the regions
 * @order: indices of the regions that are to go into closed windows, by first byte
 * @count: number of them
 * @held: per subset of the windows, how many of @order it can hold
 * @last: per subset, the window that was added last to hold so many
 */
struct plan_state {
	struct devlend_plan_window *win;
	unsigned int windows;
	struct devlend_plan_region *region;
	u8 order[DEVLEND_PLAN_REGIONS_MAX];
	unsigned int count;
	u8 held[PLAN_SUBSETS];
	u8 last[PLAN_SUBSETS];
};

static u64 plan_last_byte(const struct devlend_plan_region *r)
{
	return r->bus_addr + (r->size - 1);
}

static u64 plan_addr_align(const struct devlend_plan_window *w)
{
	return w->addr_align ?: 1;
}

static u64 plan_size_align(const struct devlend_plan_window *w)
{
	return w->size_align ?: 1;
}

/* Longest size that can be set: what is left of size_max when it must be aligned. */
static u64 plan_reach(const struct devlend_plan_window *w)
{
	return round_down(w->size_max, plan_size_align(w));
}

/* Alignments are powers of two; a window that claims another one is not used. */
static bool plan_usable(const struct devlend_plan_window *w)
{
	return is_power_of_2(plan_addr_align(w)) && is_power_of_2(plan_size_align(w)) &&
	       plan_reach(w);
}

/* Size that a window based at @base needs for @r, 0 where it cannot hold it. */
static u64 plan_size_for(const struct devlend_plan_window *w, u64 base,
			 const struct devlend_plan_region *r)
{
	u64 span;

	if (r->bus_addr < base)
		return 0;
	span = plan_last_byte(r) - base;
	if (span >= plan_reach(w))
		return 0;
	return round_up(span + 1, plan_size_align(w));
}

static void plan_place(struct plan_state *p, unsigned int window, struct devlend_plan_region *r)
{
	struct devlend_plan_window *w = &p->win[window];

	w->size = max(w->size, plan_size_for(w, w->base, r));
	r->window = window;
	r->offset = r->bus_addr - w->base;
}

/* The open window that holds @r and grows least for it; %PLAN_NONE if none does. */
static unsigned int plan_find_open(const struct plan_state *p, const struct devlend_plan_region *r)
{
	unsigned int i, best = PLAN_NONE;
	u64 best_growth = 0;

	for (i = 0; i < p->windows; i++) {
		const struct devlend_plan_window *w = &p->win[i];
		u64 size, growth;

		if (!w->open || !plan_usable(w))
			continue;
		size = plan_size_for(w, w->base, r);
		if (!size)
			continue;
		growth = size > w->size ? size - w->size : 0;
		if (best == PLAN_NONE || growth < best_growth) {
			best = i;
			best_growth = growth;
		}
	}
	return best;
}

/* Insertion sort: at most 32 entries, and stable. */
static void plan_insert(struct plan_state *p, unsigned int index)
{
	unsigned int i = p->count++;

	for (; i > 0; i--) {
		if (p->region[p->order[i - 1]].bus_addr <= p->region[index].bus_addr)
			break;
		p->order[i] = p->order[i - 1];
	}
	p->order[i] = index;
}

/* How many of the sorted regions are held when @w is added for those from @first on. */
static unsigned int plan_extend(const struct plan_state *p, const struct devlend_plan_window *w,
				unsigned int first)
{
	unsigned int i;
	u64 base;

	if (first == p->count)
		return first;
	base = round_down(p->region[p->order[first]].bus_addr, plan_addr_align(w));
	for (i = first; i < p->count; i++)
		if (!plan_size_for(w, base, &p->region[p->order[i]]))
			break;
	return i;
}

static bool plan_closed(const struct devlend_plan_window *w)
{
	return !w->open && plan_usable(w);
}

/* Fill in @held and @last for one subset, from those with one window less. */
static void plan_weigh(struct plan_state *p, unsigned int subset)
{
	unsigned int i;

	p->held[subset] = 0;
	p->last[subset] = PLAN_NONE;
	for (i = 0; i < p->windows; i++) {
		unsigned int held;

		if (!(subset & BIT(i)) || !plan_closed(&p->win[i]))
			continue;
		held = plan_extend(p, &p->win[i], p->held[subset & ~BIT(i)]);
		if (p->last[subset] == PLAN_NONE || held > p->held[subset]) {
			p->held[subset] = held;
			p->last[subset] = i;
		}
	}
}

static u64 plan_subset_size(const struct plan_state *p, unsigned int subset)
{
	unsigned int i;
	u64 sum = 0;

	for (i = 0; i < p->windows; i++)
		if (subset & BIT(i))
			sum += min(p->win[i].size_max, U64_MAX - sum);
	return sum;
}

/* The subset to open: fewest windows, then smallest sum of sizes; 0 if none holds all. */
static unsigned int plan_choose(struct plan_state *p)
{
	unsigned int subset, best = 0, best_weight = 0;
	u64 best_size = 0;

	p->held[0] = 0;
	for (subset = 1; subset < BIT(p->windows); subset++) {
		unsigned int weight = hweight8(subset);
		u64 size;

		plan_weigh(p, subset);
		if (p->held[subset] < p->count)
			continue;
		size = plan_subset_size(p, subset);
		if (best && (weight > best_weight ||
			     (weight == best_weight && size >= best_size)))
			continue;
		best = subset;
		best_weight = weight;
		best_size = size;
	}
	return best;
}

/* Open the windows of @subset, from the last one backwards, and place the regions. */
static void plan_open(struct plan_state *p, unsigned int subset)
{
	while (subset) {
		unsigned int window = p->last[subset];
		unsigned int end = p->held[subset], first, i;
		struct devlend_plan_window *w = &p->win[window];

		subset &= ~BIT(window);
		first = p->held[subset];
		if (first == end)
			continue;
		w->open = true;
		w->base = round_down(p->region[p->order[first]].bus_addr, plan_addr_align(w));
		w->size = 0;
		for (i = first; i < end; i++)
			plan_place(p, window, &p->region[p->order[i]]);
	}
}

static void plan_explain(const struct plan_state *p, struct devlend_plan_short *why)
{
	const struct devlend_plan_region *r;
	unsigned int i, best = 0;

	/* all windows together hold the longest run: the region after it is the culprit */
	if (p->windows)
		best = p->held[BIT(p->windows) - 1];
	why->region = p->order[min(best, p->count - 1)];
	r = &p->region[why->region];
	why->need = 0;
	why->have = 0;
	for (i = 0; i < p->windows; i++) {
		const struct devlend_plan_window *w = &p->win[i];
		u64 need;

		if (!plan_closed(w))
			continue;
		need = plan_last_byte(r) - round_down(r->bus_addr, plan_addr_align(w));
		/* the whole address space is 2^64 bytes: does not fit in the figure */
		if (need != U64_MAX)
			need++;
		if (!why->need || need < why->need)
			why->need = need;
		why->have = max(why->have, plan_reach(w));
	}
	if (!why->need)
		why->need = r->size;
}

/**
 * devlend_plan() - decide which region goes through which window
 * @win: the windows; on success those that are to be open are, with @base and @size
 * @windows: number of windows, at most %DEVLEND_PLAN_WINDOWS_MAX
 * @region: the regions; on success with @window and @offset
 * @regions: number of regions, at most %DEVLEND_PLAN_REGIONS_MAX
 * @why: filled in when there is no place
 *
 * Both arrays are changed in place, and are scratch on failure. A window that was open
 * keeps its base, and never shrinks.
 *
 * Context: any.
 * Return: 0; -ENOSPC with *@why filled in; -EINVAL for a region of size 0, one that wraps
 * at the end of the address space, or too many of either.
 */
int devlend_plan(struct devlend_plan_window *win, unsigned int windows,
		 struct devlend_plan_region *region, unsigned int regions,
		 struct devlend_plan_short *why)
{
	struct plan_state p = { .win = win, .windows = windows, .region = region };
	unsigned int i, found;

	memset(why, 0, sizeof(*why));
	if (windows > DEVLEND_PLAN_WINDOWS_MAX || regions > DEVLEND_PLAN_REGIONS_MAX)
		return -EINVAL;
	for (i = 0; i < regions; i++)
		if (!region[i].size || plan_last_byte(&region[i]) < region[i].bus_addr)
			return -EINVAL;
	for (i = 0; i < regions; i++) {
		found = plan_find_open(&p, &region[i]);
		if (found == PLAN_NONE)
			plan_insert(&p, i);
		else
			plan_place(&p, found, &region[i]);
	}
	if (!p.count)
		return 0;
	found = plan_choose(&p);
	if (!found) {
		plan_explain(&p, why);
		return -ENOSPC;
	}
	plan_open(&p, found);
	return 0;
}

static bool plan_reaches(const struct devlend_plan_window *w, const struct devlend_plan_region *r)
{
	return w->open && w->size && r->bus_addr <= w->base + (w->size - 1) &&
	       plan_last_byte(r) >= w->base;
}

/* Does a window that holds one of @held reach one of @other? */
static bool plan_touches(const struct devlend_plan_window *win, unsigned int windows,
			 const struct devlend_plan_region *held, unsigned int held_count,
			 const struct devlend_plan_region *other, unsigned int other_count)
{
	unsigned int i, k;

	for (i = 0; i < held_count; i++)
		for (k = 0; k < other_count; k++)
			if (held[i].window < windows &&
			    plan_reaches(&win[held[i].window], &other[k]))
				return true;
	return false;
}

/**
 * devlend_plan_apart() - can one set of regions be closed without the other, and reached without?
 * @win: the windows as they are to be, or are
 * @windows: number of them
 * @a: regions that have their windows
 * @a_count: number of them
 * @b: other regions that have theirs
 * @b_count: number of them
 *
 * A window reaches all from its base to its end, whoever asked for it to be open: the base is
 * aligned down, and the end is that of its last region.
 *
 * Context: any.
 * Return: whether no window that holds a region of one set reaches a byte of the other.
 */
bool devlend_plan_apart(const struct devlend_plan_window *win, unsigned int windows,
			const struct devlend_plan_region *a, unsigned int a_count,
			const struct devlend_plan_region *b, unsigned int b_count)
{
	return !plan_touches(win, windows, a, a_count, b, b_count) &&
	       !plan_touches(win, windows, b, b_count, a, a_count);
}
