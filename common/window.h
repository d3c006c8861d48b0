/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory windows of one link; private to the core. See window.c for who does what.
 */
#ifndef DEVLEND_WINDOW_H
#define DEVLEND_WINDOW_H

#include <linux/bits.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include <devlend/plan.h>
#include <devlend/wire.h>

struct dentry;
struct devlend_link;
struct devlend_request;
struct ntb_dev;
struct workqueue_struct;

/* Regions that one window carries at most. */
#define DEVLEND_WINDOW_USERS_MAX	64

/* What is known of an NTB driver beyond its interface; see window_hw.c. */
#define DEVLEND_NTB_WHOLE_WINDOWS	BIT(0)	/* a window is opened whole, aligned to its size */
#define DEVLEND_NTB_CLOSE_UNPROVEN	BIT(1)	/* closing may not close */
#define DEVLEND_NTB_CLOSE_SAYS_EIO	BIT(2)	/* closing closes, and says -EIO */

/**
 * struct devlend_window_user - a region that a window carries
 * @bus_addr: first byte
 * @size: bytes
 * @apart: it minds what else is in reach: exposed other than by %DEVLEND_APART_NO
 */
struct devlend_window_user {
	u64 bus_addr;
	u64 size;
	bool apart;
};

/**
 * struct devlend_window_tested - outcome of a test
 * @done: it was made
 * @rc: 0, or what failed: an errno, see window_test.c
 * @offset: where the first dword is that is not as it should be, with -EILSEQ
 * @want: what it should be
 * @is: what it is
 */
struct devlend_window_tested {
	bool done;
	int rc;
	u32 offset;
	u32 want;
	u32 is;
};

/**
 * struct devlend_window - one inbound window
 * @addr_align: alignment of the base, bytes
 * @size_align: alignment of the size, bytes
 * @size_max: longest size, bytes; 0 = unusable, or not yet known
 * @open: it is open
 * @closed: this core closed it and the driver did not object; false at first, when
 *	an earlier client may have left it open
 * @base: bus address of its first byte here, valid where @open
 * @size: bytes that are open
 * @users: number of regions in @user
 * @user: the regions, in no order
 */
struct devlend_window {
	u64 addr_align;
	u64 size_align;
	u64 size_max;
	bool open;
	bool closed;
	u64 base;
	u64 size;
	unsigned int users;
	struct devlend_window_user user[DEVLEND_WINDOW_USERS_MAX];
};

/**
 * struct devlend_windows - the inbound windows of a link
 * @link: whose they are; holds no reference, the link owns this
 * @lock: protects all that follows. Taken inside the link's NTB lock, held while windows
 *	are programmed (up to minutes on some NTBs), takes nothing inside
 * @wq: programs windows, see window_hw.c
 * @dir: debugfs directory of the link
 * @quirks: %DEVLEND_NTB_WHOLE_WINDOWS and following
 * @gone: the NTB is gone, nothing is open any more
 * @count: number of windows, 0 until known
 * @win: the windows, by the index that both hosts use
 * @pattern: outcome of the last test of each window
 * @message: outcome of the last test of an interrupt message
 * @plan_win: work of the planner, too large for the stack
 * @plan_region: the same
 */
struct devlend_windows {
	struct devlend_link *link;
	struct mutex lock;	/* see above */
	struct workqueue_struct *wq;
	struct dentry *dir;
	unsigned int quirks;
	bool gone;
	unsigned int count;
	struct devlend_window win[DEVLEND_PLAN_WINDOWS_MAX];
	struct devlend_window_tested pattern[DEVLEND_PLAN_WINDOWS_MAX];
	struct devlend_window_tested message;
	struct devlend_plan_window plan_win[DEVLEND_PLAN_WINDOWS_MAX];
	struct devlend_plan_region plan_region[DEVLEND_PLAN_REGIONS_MAX];
};

/* window.c */
int devlend_windows_init(struct devlend_link *link);
void devlend_windows_gone(struct devlend_link *link);
void devlend_windows_release(struct devlend_link *link);

/* window_hw.c: @lock is held, the NTB is there */
unsigned int devlend_window_quirks(struct ntb_dev *ntb);
int devlend_window_limits(struct devlend_windows *ws, struct ntb_dev *ntb);
int devlend_window_open(struct devlend_windows *ws, struct ntb_dev *ntb, unsigned int index,
			u64 base, u64 size);
int devlend_window_resize(struct devlend_windows *ws, struct ntb_dev *ntb, unsigned int index,
			  u64 size);
int devlend_window_close(struct devlend_windows *ws, struct ntb_dev *ntb, unsigned int index);

/* window_test.c: no locks are held */
int devlend_windows_test(struct devlend_windows *ws);
enum devlend_status devlend_windows_serve_test(struct devlend_link *link,
					       struct devlend_request *rq);

/* window_debugfs.c */
void devlend_window_debugfs_add(struct devlend_windows *ws);

#endif /* DEVLEND_WINDOW_H */
