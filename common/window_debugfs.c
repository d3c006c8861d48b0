// SPDX-License-Identifier: GPL-2.0
/*
 * A read-only dump of a link's windows, and the test of window_test.c: debugfs
 * devlend/<link>/windows and test. A write to the latter makes the test, a read has its outcome.
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

static const char *window_test_name(const struct devlend_window_tested *test)
{
	switch (test->done ? test->rc : 1) {
	case 1:
		return "untested";
	case 0:
		return "passed";
	case -EBUSY:
		return "in-use";
	case -ENOSPC:
		return "too-small";
	case -ETIMEDOUT:
		return "nothing-arrived";
	case -EILSEQ:
		return "corrupt";
	case -EOPNOTSUPP:
		return "not-possible";
	case -ENOMSG:
		return "peer-cannot";
	default:
		return "failed";
	}
}

static void window_test_line(struct seq_file *s, const struct devlend_window_tested *test)
{
	seq_printf(s, "%s %d 0x%x 0x%x 0x%x\n", window_test_name(test), test->done ? test->rc : 0,
		   test->offset, test->want, test->is);
}

static int window_test_show(struct seq_file *s, void *unused)
{
	struct devlend_windows *ws = s->private;
	unsigned int i;
	int rc;

	rc = mutex_lock_interruptible(&ws->lock);
	if (rc)
		return rc;
	seq_puts(s, "pattern: window result errno offset want is\n");
	for (i = 0; i < ws->count; i++) {
		seq_printf(s, "%u ", i);
		window_test_line(s, &ws->pattern[i]);
	}
	seq_puts(s, "message: result errno\n");
	window_test_line(s, &ws->message);
	mutex_unlock(&ws->lock);
	return 0;
}

static int window_test_open(struct inode *inode, struct file *file)
{
	return single_open(file, window_test_show, inode->i_private);
}

/* Whatever is written: it says so by the write, not by the value, that a test is wanted now. */
static ssize_t window_test_write(struct file *file, const char __user *buf, size_t count,
				 loff_t *pos)
{
	struct devlend_windows *ws = file_inode(file)->i_private;
	int rc = devlend_windows_test(ws);

	return rc ?: count;
}

static const struct file_operations window_test_fops = {
	.owner = THIS_MODULE,
	.open = window_test_open,
	.read = seq_read,
	.write = window_test_write,
	.llseek = seq_lseek,
	.release = single_release,
};

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
	debugfs_create_file("test", 0600, ws->dir, ws, &window_test_fops);
}
