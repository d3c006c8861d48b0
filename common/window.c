// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows: opens and closes this host's inbound ones, tells where the outbound ones lie.
 *
 * Who calls it: the modules above (expose, unexpose, aperture) and link.c (init, gone, release). It owns
 * what each inbound window is set to and how many regions use it; nobody else programs windows.
 *
 * Never ntb_mw_clear_trans(): drivers without that operation get set_trans(0, 0), which on Intel hardware points the window at
 * address 0 while the old limit still stands. A window is closed with its base as it is and size 0. A base
 * is never changed while the window is open; only its size grows.
 *
 * Context: process; ntb_mw_set_trans() may sleep for long. Locks: windows->mutex, inside link->ntb_rwsem (read).
 */
#define pr_fmt(fmt) "devlend: " fmt

#include <linux/debugfs.h>
#include <linux/mutex.h>
#include <linux/ntb.h>
#include <linux/pci.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <devlend/plan.h>

#include "bus.h"
#include "link.h"
#include "trace.h"
#include "window.h"

/**
 * struct devlend_window - an inbound window
 * @plan: what it can do and what it is set to
 * @users: regions in it
 */
struct devlend_window {
	struct devlend_plan_window plan;
	unsigned int users;
};

/**
 * struct devlend_windows - windows of a link
 * @mutex: protects all below
 * @count: inbound windows
 * @win: the inbound windows
 * @debugfs: dump
 */
struct devlend_windows {
	struct mutex mutex;
	unsigned int count;
	struct devlend_window win[DEVLEND_PLAN_WINDOWS_MAX];
	struct dentry *debugfs;
};

static int windows_show(struct seq_file *m, void *unused)
{
	struct devlend_windows *ws = m->private;
	unsigned int i;

	mutex_lock(&ws->mutex);
	for (i = 0; i < ws->count; i++) {
		const struct devlend_window *w = &ws->win[i];

		seq_printf(m, "window %u: max 0x%llx align 0x%llx %s base 0x%llx size 0x%llx users %u\n",
			   i, w->plan.size_max, w->plan.addr_align, w->plan.open ? "open" : "closed",
			   w->plan.base, w->plan.open ? w->plan.size : 0, w->users);
	}
	mutex_unlock(&ws->mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(windows);

/**
 * devlend_windows_init() - count a link's windows
 * @link: the link; its NTB is there
 *
 * Context: process. Return: 0; -ENOMEM.
 */
int devlend_windows_init(struct devlend_link *link)
{
	struct devlend_windows *ws = kzalloc(sizeof(*ws), GFP_KERNEL);
	int count = ntb_mw_count(link->ntb, NTB_DEF_PEER_IDX);

	if (!ws)
		return -ENOMEM;
	mutex_init(&ws->mutex);
	ws->count = clamp(count, 0, DEVLEND_PLAN_WINDOWS_MAX);
	ws->debugfs = debugfs_create_dir(dev_name(&link->dev), devlend_debugfs_root());
	debugfs_create_file("windows", 0400, ws->debugfs, ws, &windows_fops);
	link->windows = ws;
	return 0;
}

static int window_set(struct devlend_link *link, struct ntb_dev *ntb, unsigned int i, u64 base,
		      u64 size)
{
	int err = ntb_mw_set_trans(ntb, NTB_DEF_PEER_IDX, i, base, size);

	trace_devlend_window(link->id, i, base, size, err);
	return err;
}

static void window_close(struct devlend_link *link, struct ntb_dev *ntb, unsigned int i)
{
	struct devlend_window *w = &link->windows->win[i];
	int err = window_set(link, ntb, i, w->plan.base, 0);

	if (err)
		dev_err(&link->dev, "window %u does not close (%d): the peer still reaches 0x%llx, size 0x%llx; unload the NTB's driver\n",
			i, err, w->plan.base, w->plan.size);
	w->plan.open = false;
}

/**
 * devlend_windows_gone() - close what is open; the NTB goes away
 * @link: the link; services have let go already
 *
 * Context: process.
 */
void devlend_windows_gone(struct devlend_link *link)
{
	struct devlend_windows *ws = link->windows;
	unsigned int i;

	mutex_lock(&ws->mutex);
	for (i = 0; i < ws->count; i++)
		if (ws->win[i].plan.open)
			window_close(link, link->ntb, i);
	mutex_unlock(&ws->mutex);
	debugfs_remove_recursive(ws->debugfs);
	ws->debugfs = NULL;
}

/**
 * devlend_windows_release() - free what devlend_windows_init() made
 * @link: the link, on its way out
 */
void devlend_windows_release(struct devlend_link *link)
{
	if (link->windows)
		debugfs_remove_recursive(link->windows->debugfs);
	kfree(link->windows);
}

/* What each window can do is known only while the link is up, on some drivers. */
static int windows_limits(struct devlend_link *link, struct ntb_dev *ntb)
{
	struct devlend_windows *ws = link->windows;
	unsigned int i;

	for (i = 0; i < ws->count; i++) {
		resource_size_t addr_align = 0, size_align = 0, size_max = 0;
		int err = ntb_mw_get_align(ntb, NTB_DEF_PEER_IDX, i, &addr_align, &size_align, &size_max);

		if (err)
			return err;
		ws->win[i].plan.addr_align = addr_align;
		ws->win[i].plan.size_align = size_align;
		ws->win[i].plan.size_max = size_max;
	}
	return 0;
}

static void windows_say_short(struct devlend_link *link, const struct devlend_plan_short *why,
			      const struct devlend_exposed *region)
{
	struct devlend_windows *ws = link->windows;
	unsigned int i;

	dev_err(&link->dev, "no window for 0x%llx, size 0x%llx: need %llu bytes in one closed window, the largest has %llu\n",
		region[why->region].bus_addr, region[why->region].size, why->need, why->have);
	for (i = 0; i < ws->count; i++)
		dev_info(&link->dev, "window %u: %llu bytes, aligned to %llu, %s\n", i,
			 ws->win[i].plan.size_max, ws->win[i].plan.addr_align,
			 ws->win[i].plan.open ? "in use" : "free");
}

/* Program the windows that differ from @plan; on failure what was changed is put back. */
static int windows_apply(struct devlend_link *link, struct ntb_dev *ntb,
			 const struct devlend_plan_window *plan)
{
	struct devlend_windows *ws = link->windows;
	unsigned int i, done;
	int err = 0;

	for (i = 0; i < ws->count && !err; i++)
		if (plan[i].open && (!ws->win[i].plan.open || plan[i].size != ws->win[i].plan.size))
			err = window_set(link, ntb, i, plan[i].base, plan[i].size);
	if (!err) {
		for (i = 0; i < ws->count; i++)
			ws->win[i].plan = plan[i];
		return 0;
	}
	dev_err(&link->dev, "window %u does not open (%d)\n", i - 1, err);
	for (done = 0; done < i; done++) {
		const struct devlend_plan_window *old = &ws->win[done].plan;

		if (plan[done].open && (!old->open || plan[done].size != old->size))
			window_set(link, ntb, done, plan[done].base, old->open ? old->size : 0);
	}
	return err;
}

static int windows_expose(struct devlend_link *link, struct ntb_dev *ntb,
			  struct devlend_exposed *region, unsigned int n)
{
	struct devlend_plan_window plan[DEVLEND_PLAN_WINDOWS_MAX];
	struct devlend_plan_region want[DEVLEND_PLAN_REGIONS_MAX];
	struct devlend_windows *ws = link->windows;
	struct devlend_plan_short why = {};
	unsigned int i;
	int err;

	lockdep_assert_held(&ws->mutex);
	err = windows_limits(link, ntb);
	if (err)
		return err;
	for (i = 0; i < ws->count; i++)
		plan[i] = ws->win[i].plan;
	for (i = 0; i < n; i++)
		want[i] = (struct devlend_plan_region){
			.bus_addr = region[i].bus_addr,
			.size = region[i].size,
		};
	err = devlend_plan(plan, ws->count, want, n, &why);
	if (err == -ENOSPC)
		windows_say_short(link, &why, region);
	if (!err)
		err = windows_apply(link, ntb, plan);
	if (err)
		return err;
	for (i = 0; i < n; i++) {
		region[i].window = want[i].window;
		region[i].offset = want[i].offset;
		region[i].open = true;
		ws->win[want[i].window].users++;
	}
	return 0;
}

/**
 * devlend_expose() - let the peer reach regions of this host
 * @link: the link
 * @region: what; on success with window and offset
 * @n: number of them
 *
 * All or nothing. Windows are shared where a region lies in reach of an open one. Context: process; sleeps, for minutes on some
 * NTBs. Return: 0; -ENODEV after link_gone; -ENOSPC, with a log line; -EINVAL; what the NTB's driver says.
 */
int devlend_expose(struct devlend_link *link, struct devlend_exposed *region, unsigned int n)
{
	struct ntb_dev *ntb;
	int err;

	if (n > DEVLEND_PLAN_REGIONS_MAX)
		return -EINVAL;
	ntb = devlend_link_ntb_get(link);
	if (!ntb)
		return -ENODEV;
	mutex_lock(&link->windows->mutex);
	err = windows_expose(link, ntb, region, n);
	mutex_unlock(&link->windows->mutex);
	devlend_link_ntb_put(link);
	return err;
}
EXPORT_SYMBOL_GPL(devlend_expose);

/**
 * devlend_unexpose() - the reverse; a window without users is closed
 * @link: the link
 * @region: from devlend_expose(); those not open are passed over
 * @n: number of them
 *
 * On return the peer does not reach what no other region's window covers. Context: process; sleeps.
 */
void devlend_unexpose(struct devlend_link *link, struct devlend_exposed *region, unsigned int n)
{
	struct ntb_dev *ntb = devlend_link_ntb_get(link);
	unsigned int i;

	mutex_lock(&link->windows->mutex);
	for (i = 0; i < n; i++) {
		struct devlend_window *w = &link->windows->win[region[i].window];

		if (!region[i].open)
			continue;
		region[i].open = false;
		if (--w->users == 0 && ntb && w->plan.open)
			window_close(link, ntb, region[i].window);
	}
	mutex_unlock(&link->windows->mutex);
	if (ntb)
		devlend_link_ntb_put(link);
}
EXPORT_SYMBOL_GPL(devlend_unexpose);

/**
 * devlend_aperture_count() - number of outbound windows
 * @link: the link
 *
 * Context: process. Return: 0 after link_gone.
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

static int aperture_bar(struct pci_dev *pdev, phys_addr_t cpu_phys, resource_size_t size)
{
	int bar;

	for (bar = 0; bar < PCI_STD_NUM_BARS; bar++)
		if (pci_resource_len(pdev, bar) && cpu_phys >= pci_resource_start(pdev, bar) &&
		    cpu_phys + size - 1 <= pci_resource_end(pdev, bar))
			return bar;
	return -ENXIO;
}

/**
 * devlend_aperture_get() - where an outbound window lies
 * @link: the link
 * @window: its index
 * @out: filled in
 *
 * Context: process. Return: 0; -ENODEV after link_gone; -EINVAL; -ENXIO if it is in no BAR; what the NTB's driver says.
 */
int devlend_aperture_get(struct devlend_link *link, unsigned int window,
			 struct devlend_aperture *out)
{
	struct ntb_dev *ntb = devlend_link_ntb_get(link);
	int err = -EINVAL;

	if (!ntb)
		return -ENODEV;
	if (window < min(ntb_peer_mw_count(ntb), DEVLEND_PLAN_WINDOWS_MAX))
		err = ntb_peer_mw_get_addr(ntb, window, &out->cpu_phys, &out->size);
	if (!err) {
		out->bar = aperture_bar(ntb->pdev, out->cpu_phys, out->size);
		err = min(out->bar, 0);
	}
	devlend_link_ntb_put(link);
	return err;
}
EXPORT_SYMBOL_GPL(devlend_aperture_get);
