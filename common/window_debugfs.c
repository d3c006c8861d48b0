// SPDX-License-Identifier: GPL-2.0
/*
 * A read-only dump of a link's windows: debugfs devlend/<link>/windows.
 *
 * For people, and for the tool of the same version: its form may change. The file is removed
 * before the windows' state is freed; debugfs waits for readers. Context: process.
 */
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/ntb.h>
#include <linux/pci.h>
#include <linux/seq_file.h>

#include <devlend/compat.h>

#include "link.h"
#include "window.h"

static void window_show_inbound(struct seq_file *s, const struct devlend_windows *ws)
{
	unsigned int i;

	seq_puts(s, "inbound: window state base size users size_max addr_align size_align\n");
	for (i = 0; i < ws->count; i++) {
		const struct devlend_window *win = &ws->win[i];
		const char *state = win->open ? "open" : win->closed ? "closed" : "unknown";

		seq_printf(s, "%u %s 0x%llx 0x%llx %u 0x%llx 0x%llx 0x%llx\n", i, state,
			   win->open ? win->base : 0, win->size, win->users, win->size_max,
			   win->addr_align, win->size_align);
	}
}

static void window_show_outbound(struct seq_file *s, struct devlend_link *link)
{
	unsigned int i, count = devlend_aperture_count(link);
	struct devlend_aperture ap;

	seq_puts(s, "outbound: window cpu_phys size bar\n");
	for (i = 0; i < count; i++)
		if (!devlend_aperture_get(link, i, &ap))
			seq_printf(s, "%u %pa %pa %d\n", i, &ap.cpu_phys, &ap.size, ap.bar);
}

/* Where the buffers lie by which memory beyond a window is reached. */
static void window_show_bounce(struct seq_file *s, struct devlend_link *link)
{
	struct ntb_dev *ntb = devlend_link_ntb_get(link);
	phys_addr_t start, end;

	if (!ntb)
		return;
	seq_puts(s, "bounce: start end\n");
	if (devlend_swiotlb_range(&ntb->pdev->dev, &start, &end))
		seq_printf(s, "%pa %pa\n", &start, &end);
	devlend_link_ntb_put(link);
}

static int windows_show(struct seq_file *s, void *unused)
{
	struct devlend_windows *ws = s->private;
	struct ntb_dev *ntb = devlend_link_ntb_get(ws->link);
	int rc = -ENODEV;

	if (!ntb)
		return rc;
	/* held for long while a window is programmed */
	rc = mutex_lock_interruptible(&ws->lock);
	if (rc)
		goto put;
	/* or what is told is from when one was opened last; fails while the link is down */
	devlend_window_limits(ws, ntb);
	window_show_inbound(s, ws);
	mutex_unlock(&ws->lock);
put:
	devlend_link_ntb_put(ws->link);
	if (rc)
		return rc;
	window_show_outbound(s, ws->link);
	window_show_bounce(s, ws->link);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(windows);

/**
 * devlend_window_debugfs_add() - add the dump
 * @ws: windows of a link that has a name
 *
 * Context: process. The directory is in &devlend_windows.dir, and removed by window.c.
 */
void devlend_window_debugfs_add(struct devlend_windows *ws)
{
	ws->dir = debugfs_create_dir(dev_name(&ws->link->dev), devlend_debugfs_root());
	debugfs_create_file("windows", 0400, ws->dir, ws, &windows_fops);
}
