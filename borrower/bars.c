// SPDX-License-Identifier: GPL-2.0
/*
 * Host bridge windows inside the NTB's BARs, as resources.
 *
 * The PCI core claims a shadow's BAR under a window of its host bridge, and the driver then
 * requests it. Both must find their place in the iomem tree below the NTB's own BAR.
 * In-tree NTB drivers hold that BAR BUSY, which refuses whatever is below. So while at
 * least one lease uses a BAR of the NTB, IORESOURCE_BUSY is cleared on the NTB driver's
 * region; several leases share the region, hence the count.
 *
 * On removal BUSY is set again *before* the NTB driver gives its region back, or the kernel
 * complains of a "nonexistent resource" and the windows stay attached to freed memory. A
 * window may be detached while BARs of the shadow are still claimed below it:
 * release_resource() takes a resource out of the tree together with its children. They keep
 * pointing to the window, which lives as long as the bridge, so that a later removal of the
 * shadow touches nothing of the NTB.
 *
 * Called by borrow.c and removal.c with the lease's lock held, maybe under the rescan lock:
 * nothing here waits for that. Lock order: rescan lock, lease->lock, bars_lock.
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "bars.h"
#include "trace.h"

/**
 * struct bars_ntb - a region of the NTB that leases have windows in
 * @node: in bars_list
 * @res: the NTB driver's region, or the BAR itself where the driver has none
 * @busy: IORESOURCE_BUSY was set and is to be set again
 * @users: windows attached
 */
struct bars_ntb {
	struct list_head node;
	struct resource *res;
	bool busy;
	unsigned int users;
};

static LIST_HEAD(bars_list);
/* protects bars_list, its entries, and the BUSY bit of their resources */
static DEFINE_MUTEX(bars_lock);

/* The region below @bar that holds all of @res; else the BAR. */
static struct resource *bars_region(struct resource *bar, const struct resource *res)
{
	struct resource *child;

	for (child = bar->child; child; child = child->sibling)
		if (child->start <= res->start && child->end >= res->end)
			return child;
	return bar;
}

/*
 * The region that is to be the parent of @res. A window that is attached lies below the
 * region too, so regions that are in use are looked for first.
 */
static struct bars_ntb *bars_get(struct resource *bar, const struct resource *res)
{
	struct resource *region = bars_region(bar, res);
	struct bars_ntb *nb;

	lockdep_assert_held(&bars_lock);
	list_for_each_entry(nb, &bars_list, node) {
		if (nb->res == region) {
			nb->users++;
			return nb;
		}
	}
	nb = kzalloc(sizeof(*nb), GFP_KERNEL);
	if (!nb)
		return NULL;
	nb->res = region;
	nb->users = 1;
	/* never the BAR itself: it is BUSY only where a bridge window is, which it is not */
	nb->busy = region != bar && region->flags & IORESOURCE_BUSY;
	if (nb->busy)
		region->flags &= ~IORESOURCE_BUSY;
	list_add(&nb->node, &bars_list);
	return nb;
}

static void bars_put(struct bars_ntb *nb)
{
	lockdep_assert_held(&bars_lock);
	if (--nb->users)
		return;
	if (nb->busy)
		nb->res->flags |= IORESOURCE_BUSY;
	list_del(&nb->node);
	kfree(nb);
}

/**
 * borrower_windows_build() - one host bridge window for each BAR of a grant
 * @windows: filled in, detached
 * @grant: checked
 * @name: name of the resources, which must live as long
 *
 * The windows are as tight as the BARs: between two BARs of one device there may be those of
 * another, which is borrowed too. They are in descending order: the PCI core merges a
 * window with the next in the list where that continues it upwards with the same offset, and
 * frees what is not its own in doing so.
 *
 * Context: any.
 */
void borrower_windows_build(struct borrower_windows *windows, const struct borrower_grant *grant,
			    const char *name)
{
	unsigned int k;
	int i;

	memset(windows, 0, sizeof(*windows));
	for (i = 0; i < DEVLEND_BARS; i++) {
		const struct borrower_bar *bar = &grant->bar[i];

		if (!bar->size)
			continue;
		for (k = windows->count++; k; k--) {
			if (windows->win[k - 1].res.start > bar->cpu_phys)
				break;
			windows->win[k] = windows->win[k - 1];
		}
		windows->win[k] = (struct borrower_window) {
			.res = {
				.name = name,
				.flags = IORESOURCE_MEM,
				.start = bar->cpu_phys,
				.end = bar->cpu_phys + bar->size - 1,
			},
			.offset = bar->cpu_phys - bar->lender_bus,
		};
	}
}

static struct resource *bars_find_bar(struct pci_dev *ntb, const struct resource *res)
{
	int i;

	for (i = 0; i < PCI_STD_NUM_BARS; i++) {
		struct resource *bar = &ntb->resource[i];

		if (bar->flags & IORESOURCE_MEM && bar->start <= res->start &&
		    bar->end >= res->end)
			return bar;
	}
	return NULL;
}

static int bars_attach_one(struct borrower_window *win, struct pci_dev *ntb, struct device *log)
{
	struct resource *bar = bars_find_bar(ntb, &win->res);
	struct bars_ntb *nb;
	int err;

	if (!bar) {
		dev_err(log, "%pR is in no BAR of NTB %s; reload its driver\n", &win->res,
			pci_name(ntb));
		return -ENXIO;
	}
	mutex_lock(&bars_lock);
	nb = bars_get(bar, &win->res);
	err = nb ? request_resource(nb->res, &win->res) : -ENOMEM;
	if (!err)
		win->ntb_bar = nb;
	else if (nb)
		bars_put(nb);
	mutex_unlock(&bars_lock);
	if (!err)
		trace_borrower_window(win->res.name, win->res.start, resource_size(&win->res),
				      win->res.start - win->offset, true);
	if (err)
		dev_err(log, "%pR is taken inside NTB %s (%d); see /proc/iomem for the owner\n",
			&win->res, pci_name(ntb), err);
	return err;
}

/**
 * borrower_windows_attach() - put the windows into the iomem tree, below the NTB's BARs
 * @windows: built
 * @ntb: the NTB function, its driver bound
 * @log: device to log for
 *
 * Context: process; the lease's lock is held. Return: 0, or an errno with nothing attached.
 */
int borrower_windows_attach(struct borrower_windows *windows, struct pci_dev *ntb,
			    struct device *log)
{
	unsigned int i;
	int err;

	for (i = 0; i < windows->count; i++) {
		err = bars_attach_one(&windows->win[i], ntb, log);
		if (err) {
			borrower_windows_detach(windows);
			return err;
		}
	}
	return 0;
}

/**
 * borrower_windows_detach() - take windows out of the tree, with what is below
 * @windows: attached, in part, or not at all
 *
 * Afterwards the NTB's BARs are as its driver left them. Context: process; the lease's lock is
 * held; the rescan lock may be.
 */
void borrower_windows_detach(struct borrower_windows *windows)
{
	unsigned int i;

	mutex_lock(&bars_lock);
	for (i = 0; i < windows->count; i++) {
		struct borrower_window *win = &windows->win[i];

		if (!win->ntb_bar)
			continue;
		release_resource(&win->res);
		bars_put(win->ntb_bar);
		win->ntb_bar = NULL;
		trace_borrower_window(win->res.name, win->res.start, resource_size(&win->res),
				      win->res.start - win->offset, false);
	}
	mutex_unlock(&bars_lock);
}
