// SPDX-License-Identifier: GPL-2.0
/*
 * Programming inbound windows, by the kernel's NTB interface.
 *
 * Called by window.c alone, which decides what is to be open; here is how. What each NTB
 * driver makes of it, and what is proven by that, is a table in Documentation/porting.rst.
 *
 *  - A window is closed by ntb_mw_set_trans() with the base that it has and size 0. Never
 *    by ntb_mw_clear_trans(): most drivers lack the operation, and the fall-back programs
 *    base 0 while the old limit still stands, so traffic lands in low memory.
 *  - It moves by closing, flushing and opening. The flush is a read of the NTB function's
 *    config space: its completion pushes all that passed the window before.
 *  - A window of which this core does not know that it is closed (a client before it may
 *    have left it open) is closed at the base that it is to have, then opened.
 *  - A driver that reports an error has often written base 0 already. Whatever failed is
 *    followed by closing.
 *
 * Context: process. Some drivers sleep *interruptibly* for their hardware and give -EINTR
 * when the caller has a signal, having reset the hardware's request; so they are called
 * from a worker, which has none. All functions want &devlend_windows.lock held and a hold
 * on the NTB.
 */
#define pr_fmt(fmt) "devlend: " fmt

#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/ntb.h>
#include <linux/pci.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>

#include "link.h"
#include "trace.h"
#include "window.h"

/* The peer's index: links join two hosts. */
#define WINDOW_PEER	0

/* A window's end is a multiple of this, whatever the driver says. */
#define WINDOW_GRAIN	SZ_4K

/* Intel's Ice Lake Xeon: see window_quirks. */
#define WINDOW_DEVICE_ICX	0x347e

/*
 * Drivers of which more is known than they say; Documentation/porting.rst has the whole story.
 *
 * Switchtec, and Intel's Ice Lake, which needs an index register beside base and limit, replace
 * the address bits from log2(size) up: only a power of two, aligned to itself, translates as
 * meant. On Ice Lake the driver writes log2(0) into that register when it closes, reads
 * something else and says -EIO; by then it has set and verified the limit that closes.
 */
static const struct {
	const char *driver;
	u16 device;	/* PCI device id; 0 = all of this driver */
	unsigned int quirks;
} window_quirks[] = {
	{ "ntb_hw_intel", WINDOW_DEVICE_ICX,
	  DEVLEND_NTB_WHOLE_WINDOWS | DEVLEND_NTB_CLOSE_SAYS_EIO },
	{ "switchtec", 0, DEVLEND_NTB_WHOLE_WINDOWS },
	{ "ntb_hw_amd", 0, DEVLEND_NTB_CLOSE_UNPROVEN },
	{ "ntb_hw_epf", 0, DEVLEND_NTB_CLOSE_UNPROVEN },
	{ "pci-vntb", 0, DEVLEND_NTB_CLOSE_UNPROVEN },
};

/**
 * devlend_window_quirks() - what is known of the driver of an NTB
 * @ntb: the NTB
 *
 * Context: process.
 * Return: a mask of %DEVLEND_NTB_WHOLE_WINDOWS and following.
 */
unsigned int devlend_window_quirks(struct ntb_dev *ntb)
{
	const char *driver = dev_driver_string(&ntb->pdev->dev);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(window_quirks); i++)
		if (!strcmp(window_quirks[i].driver, driver) &&
		    (!window_quirks[i].device || window_quirks[i].device == ntb->pdev->device))
			return window_quirks[i].quirks;
	return 0;
}

/**
 * struct window_job - one call of ntb_mw_set_trans(), on the stack of who waits for it
 * @work: queued on &devlend_windows.wq
 * @ntb: held by who waits
 * @index: which window
 * @base: bus address
 * @size: bytes, 0 closes
 * @rc: result
 */
struct window_job {
	struct work_struct work;
	struct ntb_dev *ntb;
	unsigned int index;
	u64 base;
	u64 size;
	int rc;
};

static void window_job_run(struct work_struct *work)
{
	struct window_job *job = container_of(work, struct window_job, work);
	u32 id;

	job->rc = ntb_mw_set_trans(job->ntb, WINDOW_PEER, job->index, job->base, job->size);
	/* flush: see the top of the file; the value is of no interest */
	if (!job->size)
		pci_read_config_dword(job->ntb->pdev, PCI_VENDOR_ID, &id);
}

static int window_set(struct devlend_windows *ws, struct ntb_dev *ntb, unsigned int index,
		      u64 base, u64 size)
{
	struct window_job job = { .ntb = ntb, .index = index, .base = base, .size = size };

	lockdep_assert_held(&ws->lock);
	if ((dma_addr_t)base != base)
		return -ERANGE;
	INIT_WORK_ONSTACK(&job.work, window_job_run);
	queue_work(ws->wq, &job.work);
	flush_work(&job.work);
	destroy_work_on_stack(&job.work);
	trace_devlend_window(ws->link->id, index, base, size, job.rc);
	return job.rc;
}

static void window_apply_quirks(struct devlend_window *win, unsigned int quirks)
{
	/* Intel's limit registers count pages, while the driver names 1 byte, and fails */
	win->size_align = max_t(u64, win->size_align, WINDOW_GRAIN);
	if (!(quirks & DEVLEND_NTB_WHOLE_WINDOWS) || !win->size_max)
		return;
	win->size_max = rounddown_pow_of_two(win->size_max);
	win->size_align = win->size_max;
	win->addr_align = max(win->addr_align, win->size_max);
}

static void window_read_limits(struct devlend_windows *ws, struct ntb_dev *ntb, unsigned int index)
{
	resource_size_t addr_align = 0, size_align = 0, size_max = 0;
	struct devlend_window *win = &ws->win[index];

	/* an open window is what it was opened as, whatever a returning peer says */
	if (win->open)
		return;
	if (ntb_mw_get_align(ntb, WINDOW_PEER, index, &addr_align, &size_align, &size_max)) {
		win->size_max = 0;
		return;
	}
	win->addr_align = addr_align;
	win->size_align = size_align;
	win->size_max = size_max;
	window_apply_quirks(win, ws->quirks);
}

/**
 * devlend_window_limits() - ask the NTB for its inbound windows
 * @ws: the link's windows
 * @ntb: the NTB
 *
 * Only possible while the NTB's link is up: some drivers learn the windows from the peer.
 * So it is done each time, for the windows that are not open.
 *
 * Context: process.
 * Return: 0; -ENOTCONN while the link is down; -EOPNOTSUPP for an NTB
 * whose windows are programmed from the other side.
 */
int devlend_window_limits(struct devlend_windows *ws, struct ntb_dev *ntb)
{
	unsigned int i;
	int count;

	lockdep_assert_held(&ws->lock);
	if (!ntb->ops->mw_set_trans)
		return -EOPNOTSUPP;
	if (!(ntb_link_is_up(ntb, NULL, NULL) & BIT_ULL(WINDOW_PEER)))
		return -ENOTCONN;
	count = ntb_mw_count(ntb, WINDOW_PEER);
	if (count < 0)
		return count;
	ws->count = max(ws->count, min_t(unsigned int, count, DEVLEND_PLAN_WINDOWS_MAX));
	for (i = 0; i < ws->count; i++)
		window_read_limits(ws, ntb, i);
	return 0;
}

/**
 * devlend_window_close() - close a window
 * @ws: the link's windows
 * @ntb: the NTB
 * @index: which window; it is open
 *
 * Whatever the NTB says, the window counts as closed afterwards: its users are gone. That
 * the NTB refused is logged and remembered, and it is closed again before it is opened.
 *
 * Context: process, sleeps.
 * Return: 0, or what the NTB's driver said.
 */
int devlend_window_close(struct devlend_windows *ws, struct ntb_dev *ntb, unsigned int index)
{
	struct devlend_window *win = &ws->win[index];
	int rc;

	rc = window_set(ws, ntb, index, win->base, 0);
	if (rc == -EIO && (ws->quirks & DEVLEND_NTB_CLOSE_SAYS_EIO))
		rc = 0;
	if (rc)
		dev_err_ratelimited(&ws->link->dev,
				    "window %u: closing failed (%d): the peer may still reach 0x%llx, 0x%llx bytes; unload the NTB driver to be safe\n",
				    index, rc, win->base, win->size);
	win->closed = !rc;
	win->open = false;
	win->size = 0;
	return rc;
}

/**
 * devlend_window_open() - open a window
 * @ws: the link's windows
 * @ntb: the NTB
 * @index: which window; it is not open
 * @base: bus address of its first byte here, aligned
 * @size: bytes
 *
 * Context: process, sleeps.
 * Return: 0; else what the NTB's driver said, the window being
 * closed.
 */
int devlend_window_open(struct devlend_windows *ws, struct ntb_dev *ntb, unsigned int index,
			u64 base, u64 size)
{
	struct devlend_window *win = &ws->win[index];
	int rc;

	/* no reason to stop if this fails: opening verifies what can be verified */
	if (!win->closed)
		window_set(ws, ntb, index, base, 0);
	rc = window_set(ws, ntb, index, base, size);
	win->closed = false;
	win->base = base;
	if (rc) {
		dev_err_ratelimited(&ws->link->dev, "window %u: the NTB does not take base 0x%llx, size 0x%llx (%d)\n",
				    index, base, size, rc);
		devlend_window_close(ws, ntb, index);
		return rc;
	}
	win->open = true;
	win->size = size;
	return 0;
}

/**
 * devlend_window_resize() - let an open window grow or shrink; its base stays
 * @ws: the link's windows
 * @ntb: the NTB
 * @index: which window; it is open
 * @size: bytes, not 0
 *
 * Traffic may pass meanwhile: the base is written again as it was, the limit changes.
 *
 * Context: process, sleeps.
 * Return: 0; else what the NTB's driver said. The window is then
 * as it was; if even that fails, closed.
 */
int devlend_window_resize(struct devlend_windows *ws, struct ntb_dev *ntb, unsigned int index,
			  u64 size)
{
	struct devlend_window *win = &ws->win[index];
	int rc;

	rc = window_set(ws, ntb, index, win->base, size);
	if (!rc) {
		win->size = size;
		return 0;
	}
	dev_err_ratelimited(&ws->link->dev, "window %u: size 0x%llx not taken (%d), back to 0x%llx\n",
			    index, size, rc, win->size);
	if (window_set(ws, ntb, index, win->base, win->size)) {
		dev_err_ratelimited(&ws->link->dev, "window %u: closed under its users, as it cannot be restored\n",
				    index);
		devlend_window_close(ws, ntb, index);
	}
	return rc;
}
