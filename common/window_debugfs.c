// SPDX-License-Identifier: GPL-2.0
/*
 * A read-only dump of a link's windows: debugfs devlend/<link>/windows.
 *
 * For people, not for programs: its form may change. The file is removed before the
 * windows' state is freed; debugfs waits for readers. Context: process.
 */
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/seq_file.h>

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

static int windows_show(struct seq_file *s, void *unused)
{
	struct devlend_windows *ws = s->private;
	int rc;

	/* held for long while a window is programmed */
	rc = mutex_lock_interruptible(&ws->lock);
	if (rc)
		return rc;
	window_show_inbound(s, ws);
	mutex_unlock(&ws->lock);
	window_show_outbound(s, ws->link);
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
