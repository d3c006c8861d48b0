// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows: what of this host the peer reaches, and by what the peer is reached.
 *
 * Inbound windows are planned (plan.c), programmed (window_hw.c), and owned here: for each,
 * where it is open and which regions use it. Outbound windows, apertures, are merely looked
 * up: the peer programs them. The modules above call devlend_expose() for what the peer is
 * to reach, tell it the window and offset, and devlend_unexpose() at the end. A window is
 * open as long as it has a user, and no larger than its users need.
 *
 * All or none: the plan is made before anything is touched, and what was opened is taken
 * back when a later window fails.
 *
 * Whether the translation is right can only be seen from the other side; the modules above
 * probe it before they use it.
 *
 * Lock order: link's NTB lock (shared), then &devlend_windows.lock. Neither is taken inside
 * the other way, and nothing is taken inside the latter. Context: process throughout; never
 * under the link's spinlocks. The NTB may be removed under the rescan lock, so none of this
 * waits for that lock.
 */
#define pr_fmt(fmt) "devlend: " fmt

#include <linux/debugfs.h>
#include <linux/ntb.h>
#include <linux/overflow.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "link.h"
#include "window.h"

/* Room for the sizes of all windows in one line. */
#define WINDOW_LIST_MAX	(DEVLEND_PLAN_WINDOWS_MAX * 48)

static u64 window_kib(u64 bytes)
{
	return (bytes >> 10) + !!(bytes & 1023);
}

/* --- apertures -------------------------------------------------------------- */

/**
 * devlend_aperture_count() - number of outbound windows
 * @link: the link
 *
 * Context: process.
 * Return: the number; 0 when the NTB is gone.
 */
unsigned int devlend_aperture_count(struct devlend_link *link)
{
	struct ntb_dev *ntb = devlend_link_ntb_get(link);
	int count;

	if (!ntb)
		return 0;
	count = ntb_peer_mw_count(ntb);
	devlend_link_ntb_put(link);
	return clamp(count, 0, DEVLEND_PLAN_WINDOWS_MAX);
}
EXPORT_SYMBOL_GPL(devlend_aperture_count);

static int aperture_find_bar(struct pci_dev *pdev, const struct devlend_aperture *ap)
{
	int bar;

	for (bar = 0; bar < PCI_STD_NUM_BARS; bar++) {
		const struct resource *res = &pdev->resource[bar];

		if (resource_type(res) == IORESOURCE_MEM && resource_size(res) &&
		    ap->cpu_phys >= res->start && ap->cpu_phys <= res->end &&
		    ap->size - 1 <= res->end - ap->cpu_phys)
			return bar;
	}
	return -ENXIO;
}

/**
 * devlend_aperture_get() - where an outbound window is
 * @link: the link
 * @window: index, below devlend_aperture_count()
 * @out: filled in
 *
 * Context: process.
 * Return: 0; -ENODEV when the NTB is gone; -EINVAL for an index that is
 * not; -ENXIO for a window in none of the function's BARs.
 */
int devlend_aperture_get(struct devlend_link *link, unsigned int window,
			 struct devlend_aperture *out)
{
	struct ntb_dev *ntb = devlend_link_ntb_get(link);
	int rc = -EINVAL;

	if (!ntb)
		return -ENODEV;
	if (window >= DEVLEND_PLAN_WINDOWS_MAX || (int)window >= ntb_peer_mw_count(ntb))
		goto put;
	rc = ntb_peer_mw_get_addr(ntb, window, &out->cpu_phys, &out->size);
	if (rc)
		goto put;
	rc = out->size ? aperture_find_bar(ntb->pdev, out) : -ENXIO;
	out->bar = rc;
	rc = min(rc, 0);
put:
	devlend_link_ntb_put(link);
	return rc;
}
EXPORT_SYMBOL_GPL(devlend_aperture_get);

/* --- exposing --------------------------------------------------------------- */

/* What there is of each window, for a log line. */
static void windows_list(const struct devlend_windows *ws, char *list, size_t size)
{
	unsigned int i;
	int len = 0;

	list[0] = 0;
	for (i = 0; i < ws->count; i++) {
		const struct devlend_window *win = &ws->win[i];

		len += scnprintf(list + len, size - len, "; window %u: %s %llu KiB", i,
				 win->open ? "in use, up to" : "free,", win->size_max >> 10);
		if (win->open)
			len += scnprintf(list + len, size - len, " from 0x%llx", win->base);
	}
}

/* A peer that borrows may ask as often as it likes: what is said of it is rate-limited. */
static void windows_explain(struct devlend_windows *ws, const struct devlend_exposed *r,
			    const struct devlend_plan_short *why)
{
	char list[WINDOW_LIST_MAX];

	windows_list(ws, list, sizeof(list));
	dev_err_ratelimited(&ws->link->dev,
			    "no window for 0x%llx bytes at 0x%llx: needed %llu KiB from an aligned base, available %llu KiB%s\n",
			    r->size, r->bus_addr, window_kib(why->need), why->have >> 10, list);
}

static void windows_explain_company(struct devlend_windows *ws, const struct devlend_exposed *r)
{
	char list[WINDOW_LIST_MAX];

	windows_list(ws, list, sizeof(list));
	dev_err_ratelimited(&ws->link->dev, "no window of its own for 0x%llx bytes at 0x%llx%s\n",
			    r->size, r->bus_addr, list);
}

/* Has a window a region that minds company? */
static bool window_is_private(const struct devlend_window *win)
{
	unsigned int i;

	for (i = 0; i < win->users; i++)
		if (win->user[i].apart)
			return true;
	return false;
}

/* The windows as they are, for the planner. */
static void windows_describe(struct devlend_windows *ws)
{
	unsigned int i;

	for (i = 0; i < ws->count; i++) {
		const struct devlend_window *w = &ws->win[i];

		ws->plan_win[i] = (struct devlend_plan_window) {
			.addr_align = w->addr_align,
			.size_align = w->size_align,
			.size_max = w->size_max,
			.open = w->open,
			.base = w->base,
			.size = w->size,
		};
	}
}

/*
 * Are the regions in @ws->plan_region, with the windows in @ws->plan_win, apart from those that
 * others exposed, as far as these mind? A region that is there already is no other one.
 */
static bool windows_are_apart(const struct devlend_windows *ws, unsigned int n)
{
	const struct devlend_plan_region *own = ws->plan_region;
	unsigned int i, k, j;

	for (i = 0; i < ws->count; i++)
		for (k = 0; k < ws->win[i].users; k++) {
			const struct devlend_window_user *u = &ws->win[i].user[k];
			const struct devlend_plan_region other = {
				.bus_addr = u->bus_addr, .size = u->size, .window = i,
			};

			for (j = 0; j < n; j++)
				if (own[j].bus_addr == u->bus_addr && own[j].window == i)
					break;
			if (u->apart && j == n &&
			    !devlend_plan_apart(ws->plan_win, ws->count, own, n, &other, 1))
				return false;
		}
	return true;
}

static int windows_try(struct devlend_windows *ws, const struct devlend_exposed *region,
		       unsigned int n, bool apart, struct devlend_plan_short *why)
{
	unsigned int i;

	windows_describe(ws);
	for (i = 0; i < ws->count; i++)
		if (ws->win[i].users + n > DEVLEND_WINDOW_USERS_MAX ||
		    (apart && window_is_private(&ws->win[i])))
			ws->plan_win[i].size_max = 0;
	for (i = 0; i < n; i++)
		ws->plan_region[i] = (struct devlend_plan_region) {
			.bus_addr = region[i].bus_addr,
			.size = region[i].size,
		};
	return devlend_plan(ws->plan_win, ws->count, ws->plan_region, n, why);
}

static int windows_plan(struct devlend_windows *ws, const struct devlend_exposed *region,
			unsigned int n, enum devlend_apart apart)
{
	struct devlend_plan_short why;
	int rc;

	if (apart != DEVLEND_APART_NO) {
		rc = windows_try(ws, region, n, true, &why);
		if (!rc && windows_are_apart(ws, n))
			return 0;
	}
	rc = windows_try(ws, region, n, false, &why);
	if (rc == -ENOSPC)
		windows_explain(ws, &region[why.region], &why);
	if (rc || apart != DEVLEND_APART_MUST)
		return rc;
	windows_explain_company(ws, &region[0]);
	return -EPERM;
}

/* Drop what no region needs: windows without users are closed, others shrunk to their users. */
static void windows_trim(struct devlend_windows *ws, struct ntb_dev *ntb, unsigned int index)
{
	struct devlend_window *win = &ws->win[index];
	unsigned int i;
	u64 size = 0;

	if (!win->open)
		return;
	if (!win->users) {
		devlend_window_close(ws, ntb, index);
		return;
	}
	for (i = 0; i < win->users; i++)
		size = max(size, win->user[i].bus_addr - win->base + win->user[i].size);
	if (win->size_align > 1)
		size = round_up(size, win->size_align);
	if (size < win->size)
		devlend_window_resize(ws, ntb, index, size);
}

static int windows_program(struct devlend_windows *ws, struct ntb_dev *ntb)
{
	const struct devlend_plan_window *plan = ws->plan_win;
	unsigned int i;
	int rc = 0;

	for (i = 0; i < ws->count && !rc; i++) {
		const struct devlend_window *win = &ws->win[i];

		if (!plan[i].open || (win->open && win->size == plan[i].size))
			continue;
		if (win->open)
			rc = devlend_window_resize(ws, ntb, i, plan[i].size);
		else
			rc = devlend_window_open(ws, ntb, i, plan[i].base, plan[i].size);
	}
	if (!rc)
		return 0;
	/* back to what the users so far need */
	while (i--)
		windows_trim(ws, ntb, i);
	return rc;
}

static void windows_add_user(struct devlend_windows *ws, struct devlend_exposed *r,
			     const struct devlend_plan_region *plan, bool apart)
{
	struct devlend_window *win = &ws->win[plan->window];

	win->user[win->users++] = (struct devlend_window_user) {
		.bus_addr = r->bus_addr, .size = r->size, .apart = apart,
	};
	r->window = plan->window;
	r->offset = plan->offset;
	r->open = true;
}

static void windows_remove_user(struct devlend_windows *ws, const struct devlend_exposed *r)
{
	struct devlend_window *win = &ws->win[r->window];
	unsigned int i;

	for (i = 0; i < win->users; i++)
		if (win->user[i].bus_addr == r->bus_addr && win->user[i].size == r->size)
			break;
	if (i < win->users)
		win->user[i] = win->user[--win->users];
}

static int windows_expose(struct devlend_windows *ws, struct ntb_dev *ntb,
			  struct devlend_exposed *region, unsigned int n, enum devlend_apart apart)
{
	unsigned int i;
	int rc;

	rc = devlend_window_limits(ws, ntb);
	if (rc)
		return rc;
	rc = windows_plan(ws, region, n, apart);
	if (rc)
		return rc;
	rc = windows_program(ws, ntb);
	if (rc)
		return rc;
	for (i = 0; i < n; i++)
		windows_add_user(ws, &region[i], &ws->plan_region[i], apart != DEVLEND_APART_NO);
	return 0;
}

/**
 * devlend_expose() - let the peer reach regions of this host
 * @link: the link
 * @region: what is to be reached; window and offset are filled in
 * @n: number of regions, at most %DEVLEND_PLAN_REGIONS_MAX
 * @apart: what else may be in reach by the windows of these
 *
 * All or none. The caller owns @region, and closes it by devlend_unexpose(). The memory
 * must stay what it is until then, and be mapped for the NTB function where this host has
 * an IOMMU.
 *
 * Context: process, sleeps (up to minutes on some NTBs).
 * Return: 0; -ENODEV when the NTB is gone; -ENOTCONN while its link is down; -ENOSPC when
 * there is no place, what was needed and available being logged; -EPERM where they would not
 * be apart though they must; -EINVAL for a region of size 0 or that wraps; -EOPNOTSUPP for an
 * NTB that cannot; else what the NTB's driver said.
 */
int devlend_expose(struct devlend_link *link, struct devlend_exposed *region, unsigned int n,
		   enum devlend_apart apart)
{
	struct devlend_windows *ws = link->windows;
	struct ntb_dev *ntb;
	unsigned int i;
	int rc = -ENODEV;

	if (n > DEVLEND_PLAN_REGIONS_MAX)
		return -EINVAL;
	for (i = 0; i < n; i++)
		region[i].open = false;
	ntb = devlend_link_ntb_get(link);
	if (!ntb)
		return rc;
	mutex_lock(&ws->lock);
	if (!ws->gone)
		rc = windows_expose(ws, ntb, region, n, apart);
	mutex_unlock(&ws->lock);
	devlend_link_ntb_put(link);
	return rc;
}
EXPORT_SYMBOL_GPL(devlend_expose);

/**
 * devlend_exposable() - would devlend_expose() find a place for regions now?
 * @link: the link
 * @region: what is to be reached; not changed
 * @n: number of regions, at most %DEVLEND_PLAN_REGIONS_MAX
 *
 * For a caller that has a choice. Nothing is programmed, nothing logged, and none but
 * %DEVLEND_APART_NO is asked for. What others expose meanwhile may make the answer wrong.
 *
 * Context: process, sleeps while a window is programmed (up to minutes on some NTBs).
 * Return: 0; else an errno as of devlend_expose().
 */
int devlend_exposable(struct devlend_link *link, const struct devlend_exposed *region,
		      unsigned int n)
{
	struct devlend_windows *ws = link->windows;
	struct devlend_plan_short why;
	struct ntb_dev *ntb;
	int rc = -ENODEV;

	if (n > DEVLEND_PLAN_REGIONS_MAX)
		return -EINVAL;
	ntb = devlend_link_ntb_get(link);
	if (!ntb)
		return rc;
	mutex_lock(&ws->lock);
	if (!ws->gone)
		rc = devlend_window_limits(ws, ntb);
	if (!rc)
		rc = windows_try(ws, region, n, false, &why);
	mutex_unlock(&ws->lock);
	devlend_link_ntb_put(link);
	return rc;
}
EXPORT_SYMBOL_GPL(devlend_exposable);

/**
 * devlend_unexpose() - end what devlend_expose() began
 * @link: the link
 * @region: as devlend_expose() left it; those that are not open are skipped
 * @n: number of regions
 *
 * On return the peer reaches of these regions only what others still expose; on NTBs
 * without an IOMMU or a limit that may be more, see Documentation/porting.rst. After the
 * NTB is gone only marks the regions.
 *
 * Context: process, sleeps (up to minutes on some NTBs).
 */
void devlend_unexpose(struct devlend_link *link, struct devlend_exposed *region, unsigned int n)
{
	struct devlend_windows *ws = link->windows;
	struct ntb_dev *ntb = devlend_link_ntb_get(link);
	unsigned long touched = 0;
	unsigned int i;

	mutex_lock(&ws->lock);
	for (i = 0; i < n; i++) {
		if (!region[i].open)
			continue;
		region[i].open = false;
		if (ws->gone)
			continue;
		windows_remove_user(ws, &region[i]);
		touched |= BIT(region[i].window);
	}
	if (ntb)
		for_each_set_bit(i, &touched, DEVLEND_PLAN_WINDOWS_MAX)
			windows_trim(ws, ntb, i);
	mutex_unlock(&ws->lock);
	if (ntb)
		devlend_link_ntb_put(link);
}
EXPORT_SYMBOL_GPL(devlend_unexpose);

/**
 * devlend_exposed_apart() - are regions apart from those that others exposed?
 * @link: the link
 * @region: as devlend_expose() left it
 * @n: number of regions, at most %DEVLEND_PLAN_REGIONS_MAX
 *
 * Those that were exposed by %DEVLEND_APART_NO do not count as others. The answer may change when
 * others expose and unexpose.
 *
 * Context: process, sleeps while a window is programmed (up to minutes on some NTBs).
 * Return: false where what is open of a window that carries one of @region reaches another region,
 * or the other way round.
 */
bool devlend_exposed_apart(struct devlend_link *link, const struct devlend_exposed *region,
			   unsigned int n)
{
	struct devlend_windows *ws = link->windows;
	unsigned int i, open = 0;
	bool apart;

	if (WARN_ON_ONCE(n > DEVLEND_PLAN_REGIONS_MAX))
		return false;
	mutex_lock(&ws->lock);
	windows_describe(ws);
	for (i = 0; i < n; i++)
		if (region[i].open)
			ws->plan_region[open++] = (struct devlend_plan_region) {
				.bus_addr = region[i].bus_addr,
				.size = region[i].size,
				.window = region[i].window,
				.offset = region[i].offset,
			};
	apart = ws->gone || windows_are_apart(ws, open);
	mutex_unlock(&ws->lock);
	return apart;
}
EXPORT_SYMBOL_GPL(devlend_exposed_apart);

/* --- a link's windows come and go --------------------------------------------- */

/**
 * devlend_windows_init() - begin to manage a link's windows
 * @link: being made; named, and its NTB is there
 *
 * Nothing is programmed. Context: process.
 * Return: 0 or -ENOMEM; &devlend_link.windows is
 * set, and freed by devlend_windows_release().
 */
int devlend_windows_init(struct devlend_link *link)
{
	struct devlend_windows *ws;

	ws = kzalloc(sizeof(*ws), GFP_KERNEL);
	if (!ws)
		return -ENOMEM;
	ws->wq = alloc_ordered_workqueue("devlend-win%d", 0, link->id);
	if (!ws->wq) {
		kfree(ws);
		return -ENOMEM;
	}
	ws->link = link;
	mutex_init(&ws->lock);
	ws->quirks = devlend_window_quirks(link->ntb);
	if (ws->quirks & DEVLEND_NTB_CLOSE_UNPROVEN)
		dev_warn(&link->dev, "the driver %s is not known to close windows: what was exposed once may stay in the peer's reach\n",
			 dev_driver_string(&link->ntb->pdev->dev));
	link->windows = ws;
	devlend_window_debugfs_add(ws);
	return 0;
}

/**
 * devlend_windows_gone() - the NTB goes away: close all windows
 * @link: the link
 *
 * Regions that are still exposed count as closed from here on. Context: process, sleeps;
 * the NTB still works, or fails each access; the rescan lock may be held by the caller.
 */
void devlend_windows_gone(struct devlend_link *link)
{
	struct devlend_windows *ws = link->windows;
	struct ntb_dev *ntb;
	unsigned int i;

	if (!ws)
		return;
	debugfs_remove(ws->dir);
	ws->dir = NULL;
	ntb = devlend_link_ntb_get(link);
	mutex_lock(&ws->lock);
	ws->gone = true;
	for (i = 0; i < ws->count; i++) {
		ws->win[i].users = 0;
		if (ntb)
			windows_trim(ws, ntb, i);
	}
	mutex_unlock(&ws->lock);
	if (ntb)
		devlend_link_ntb_put(link);
}

/**
 * devlend_windows_release() - free what devlend_windows_init() made
 * @link: the link; nobody uses it any more
 *
 * Context: process.
 */
void devlend_windows_release(struct devlend_link *link)
{
	struct devlend_windows *ws = link->windows;

	if (!ws)
		return;
	debugfs_remove(ws->dir);
	destroy_workqueue(ws->wq);
	link->windows = NULL;
	kfree(ws);
}
