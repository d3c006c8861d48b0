// SPDX-License-Identifier: GPL-2.0
/*
 * A test of the inbound windows without a lease: does what the peer writes arrive here?
 *
 * pattern  A window that nobody uses is opened onto scratch memory, the peer's CPU is asked
 *          to write a pattern there, which is compared, and the window is closed. One that is in
 *          use is left alone.
 * message  The same onto the page of the interrupt range that a vector of the NTB function
 *          has its message for: one to which a doorbell belongs that nobody rings. The peer
 *          writes the message; that its interrupt comes proves the way of an MSI, through
 *          interrupt remapping, too, as borrowed devices' messages carry the NTB's requester id.
 *          An NTB without a vector to spare cannot show it.
 *
 * Each host tests what leads to itself: a window is never opened because the peer asks for it.
 * For the other direction the test is made on the other host. The peer writes and reads nothing:
 * a read of a host that died meanwhile would be an error on the reader's bus.
 *
 * Who calls it: window_debugfs.c for an operator (devlend preflight --test), service.c for the
 * peer. As long as a window is tested, all of the link's are locked, so that nobody is refused
 * for a window that the test has: he waits, TEST_CALL_MS and TEST_ARRIVAL_MS at most, and
 * not at all once the link is lost. What lies between the aligned base of a window and the scratch
 * memory is in the peer's reach meanwhile, as it is while something is lent or borrowed; so
 * the memory is aligned to the base where that can be, and low where not.
 *
 * Outcomes, as errnos: 0; -EBUSY in use; -ENOSPC the window does not reach; -ETIMEDOUT nothing
 * came; -EILSEQ something else came; -EOPNOTSUPP not possible with this NTB; -ENOMSG the
 * peer's version does not know the test; -ECONNABORTED it did not do it in time; else what failed.
 *
 * Locks: the link's NTB lock (shared), then &devlend_windows.lock; inside it a call, which takes
 * &devlend_link.lock. The peer serves the test without locks of windows, so two hosts that test
 * at once do not wait for each other.
 */
#define pr_fmt(fmt) "devlend: " fmt

#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/msi.h>
#include <linux/ntb.h>
#include <linux/nospec.h>
#include <linux/pci.h>
#include <linux/random.h>
#include <linux/sizes.h>

#include "link.h"
#include "window.h"

/* The peer's CPU has only to write; longer than a guest or firmware stalls as a rule */
#define TEST_CALL_MS		5000
/* The write is posted and takes another way than the reply */
#define TEST_ARRIVAL_MS		1000
#define TEST_POLL_US		100

#define TEST_VECTOR		2

#define TEST_BYTES		SZ_4K
#define TEST_DWORDS		(TEST_BYTES / sizeof(u32))
/* Memory is aligned to a window's base up to so many pages */
#define TEST_ORDER_MAX		4
/* Where x86 takes interrupt messages */
#define TEST_MSI_BASE		0xfee00000u
#define TEST_MSI_SIZE		SZ_1M

/**
 * struct test_memory - scratch memory, as the NTB function addresses it
 * @page: first page
 * @order: number of pages
 * @dma: its address there
 */
struct test_memory {
	struct page *page;
	unsigned int order;
	dma_addr_t dma;
};

static size_t test_memory_size(const struct test_memory *mem)
{
	return PAGE_SIZE << mem->order;
}

static int test_memory_get(struct test_memory *mem, struct device *ntb, u64 align)
{
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN;

	mem->order = align > SZ_4K ? get_order(align) : 0;
	if (mem->order > TEST_ORDER_MAX) {
		mem->order = 0;
		gfp |= GFP_DMA;
	}
	mem->page = alloc_pages(gfp, mem->order);
	if (!mem->page && gfp & GFP_DMA)
		mem->page = alloc_pages(gfp & ~GFP_DMA, mem->order);
	if (!mem->page)
		return -ENOMEM;
	mem->dma = dma_map_page(ntb, mem->page, 0, test_memory_size(mem), DMA_FROM_DEVICE);
	if (!dma_mapping_error(ntb, mem->dma))
		return 0;
	__free_pages(mem->page, mem->order);
	return -ENOMEM;
}

static void test_memory_put(struct test_memory *mem, struct device *ntb)
{
	dma_unmap_page(ntb, mem->dma, test_memory_size(mem), DMA_FROM_DEVICE);
	__free_pages(mem->page, mem->order);
}

/* Open a window that nobody uses so that an address is in reach; its offset there. */
static int test_open(struct devlend_windows *ws, struct ntb_dev *ntb, unsigned int index,
		     u64 addr, u64 bytes, u64 *offset)
{
	const struct devlend_window *win = &ws->win[index];
	u64 base, size;

	if (win->open)
		return -EBUSY;
	if (!win->size_max)
		return -EOPNOTSUPP;
	base = win->addr_align > 1 ? round_down(addr, win->addr_align) : addr;
	*offset = addr - base;
	size = round_up(*offset + bytes, win->size_align);
	if (size > win->size_max)
		return -ENOSPC;
	return devlend_window_open(ws, ntb, index, base, size);
}

static int test_ask(struct devlend_windows *ws, u32 kind, unsigned int index, u64 offset,
		    u32 dwords, u32 value)
{
	struct devlend_wire_test wire = {
		.kind = cpu_to_le32(kind),
		.window = cpu_to_le32(index),
		.offset = cpu_to_le64(offset),
		.dwords = cpu_to_le32(dwords),
		.value = cpu_to_le32(value),
	};
	struct devlend_call call = {
		.op = DEVLEND_OP_TEST,
		.data = &wire,
		.len = sizeof(wire),
		.timeout_ms = TEST_CALL_MS,
	};
	int rc = devlend_call(ws->link, &call);

	/* of the peer, not of this host's windows */
	switch (rc) {
	case -EOPNOTSUPP:
		return -ENOMSG;
	case -ETIMEDOUT:
	case -EBUSY:
	case -ENOSPC:
	case -EILSEQ:
		return -ECONNABORTED;
	default:
		return rc;
	}
}

/* Is the pattern there? Notes the first dword that is not. */
static bool test_compare(const u32 *word, u32 seed, struct devlend_window_tested *test)
{
	u32 n;

	for (n = 0; n < TEST_DWORDS; n++) {
		test->want = devlend_test_dword(seed, n);
		test->is = READ_ONCE(word[n]);
		test->offset = n * sizeof(u32);
		if (test->is != test->want)
			return false;
	}
	return true;
}

static int test_await_pattern(struct device *ntb, const struct test_memory *mem, u32 seed,
			      struct devlend_window_tested *test)
{
	unsigned long end = jiffies + msecs_to_jiffies(TEST_ARRIVAL_MS);
	const u32 *word = page_address(mem->page);
	u32 n;

	for (;;) {
		bool last = time_after(jiffies, end);

		dma_sync_single_for_cpu(ntb, mem->dma, TEST_BYTES, DMA_FROM_DEVICE);
		if (test_compare(word, seed, test))
			return 0;
		if (last)
			break;
		usleep_range(TEST_POLL_US, 2 * TEST_POLL_US);
	}
	for (n = 0; n < TEST_DWORDS; n++)
		if (READ_ONCE(word[n]))
			return -EILSEQ;
	return -ETIMEDOUT;
}

static int test_pattern(struct devlend_windows *ws, struct ntb_dev *ntb, unsigned int index,
			struct devlend_window_tested *test)
{
	struct device *dev = &ntb->pdev->dev;
	struct test_memory mem;
	u32 seed = get_random_u32();
	u64 offset;
	int rc;

	rc = test_memory_get(&mem, dev, ws->win[index].addr_align);
	if (rc)
		return rc;
	rc = test_open(ws, ntb, index, mem.dma, TEST_BYTES, &offset);
	if (rc)
		goto put;
	rc = test_ask(ws, DEVLEND_TEST_PATTERN, index, offset, TEST_DWORDS, seed);
	if (!rc)
		rc = test_await_pattern(dev, &mem, seed, test);
	/* if it is still in the peer's reach nobody else may have it: the log says so */
	if (devlend_window_close(ws, ntb, index))
		return rc ?: -EIO;
put:
	test_memory_put(&mem, dev);
	return rc;
}

/* The message of a doorbell vector that nobody rings: two have bells, the last the link */
static int test_message_of(struct ntb_dev *ntb, int *vector, struct msi_msg *msg)
{
	u64 addr;
	int irq;

	*vector = TEST_VECTOR;
	if (ntb_db_vector_count(ntb) < TEST_VECTOR + 2 || !ntb->pdev->msix_enabled)
		return -EOPNOTSUPP;
	irq = pci_irq_vector(ntb->pdev, *vector);
	if (irq < 0)
		return -EOPNOTSUPP;
	get_cached_msi_msg(irq, msg);
	addr = (u64)msg->address_hi << 32 | msg->address_lo;
	if (addr < TEST_MSI_BASE || addr >= TEST_MSI_BASE + TEST_MSI_SIZE || addr % sizeof(u32))
		return -EOPNOTSUPP;
	return 0;
}

static int test_message_by(struct devlend_windows *ws, struct ntb_dev *ntb, unsigned int index,
			   int vector, const struct msi_msg *msg)
{
	struct devlend_link *link = ws->link;
	u64 offset;
	int rc;

	rc = test_open(ws, ntb, index, msg->address_lo, sizeof(u32), &offset);
	if (rc)
		return rc;
	reinit_completion(&link->test_seen);
	WRITE_ONCE(link->test_vector, vector);
	rc = test_ask(ws, DEVLEND_TEST_MESSAGE, index, offset, 1, msg->data);
	if (!rc && !wait_for_completion_timeout(&link->test_seen,
						msecs_to_jiffies(TEST_ARRIVAL_MS)))
		rc = -ETIMEDOUT;
	WRITE_ONCE(link->test_vector, -1);
	devlend_window_close(ws, ntb, index);
	return rc;
}

/* By the first window that nobody uses and that reaches there. */
static int test_message(struct devlend_windows *ws, struct ntb_dev *ntb)
{
	struct msi_msg msg;
	unsigned int i;
	int vector, rc;

	rc = test_message_of(ntb, &vector, &msg);
	if (rc)
		return rc;
	rc = -ENOSPC;
	for (i = 0; i < ws->count; i++) {
		int one = test_message_by(ws, ntb, i, vector, &msg);

		if (one != -EBUSY && one != -ENOSPC && one != -EOPNOTSUPP)
			return one;
		rc = one == -EBUSY ? one : rc;
	}
	return rc;
}

static void test_note(struct devlend_window_tested *test, int rc)
{
	test->rc = rc;
	test->done = true;
	if (rc == -EILSEQ)
		return;
	test->offset = 0;
	test->want = 0;
	test->is = 0;
}

/* One window, or, beyond the last, the message; the lock is dropped between two. */
static int test_step(struct devlend_windows *ws, struct ntb_dev *ntb, unsigned int index)
{
	struct devlend_window_tested test = { };
	int rc;

	rc = mutex_lock_killable(&ws->lock);
	if (rc)
		return rc;
	rc = ws->gone ? -ENODEV : devlend_window_limits(ws, ntb);
	if (rc)
		goto unlock;
	if (index < ws->count) {
		test_note(&test, test_pattern(ws, ntb, index, &test));
		ws->pattern[index] = test;
	} else {
		test_note(&test, test_message(ws, ntb));
		ws->message = test;
		rc = 1;
	}
unlock:
	mutex_unlock(&ws->lock);
	return rc;
}

/**
 * devlend_windows_test() - test all windows that nobody uses
 * @ws: a link's windows
 *
 * Outcomes are in &devlend_windows.pattern and .message.
 * Context: process, sleeps: for each window programming it, and TEST_CALL_MS and TEST_ARRIVAL_MS.
 * Return: 0; -ENOTCONN where the link is not up; -ENODEV where the NTB is gone; -EINTR.
 */
int devlend_windows_test(struct devlend_windows *ws)
{
	struct ntb_dev *ntb;
	unsigned int i;
	int rc = 0;

	if (!devlend_link_is_up(ws->link))
		return -ENOTCONN;
	ntb = devlend_link_ntb_get(ws->link);
	if (!ntb)
		return -ENODEV;
	for (i = 0; i <= DEVLEND_PLAN_WINDOWS_MAX && !rc; i++)
		rc = test_step(ws, ntb, i);
	devlend_link_ntb_put(ws->link);
	return min(rc, 0);
}

static enum devlend_status test_write(const struct devlend_aperture *ap, u32 kind, u64 offset,
				      u32 dwords, u32 value)
{
	u32 __iomem *reg;
	u32 n;

	reg = ioremap(ap->cpu_phys + offset, dwords * sizeof(u32));
	if (!reg)
		return DEVLEND_E_NOMEM;
	for (n = 0; n < dwords; n++)
		writel(kind == DEVLEND_TEST_PATTERN ? devlend_test_dword(value, n) : value,
		       reg + n);
	iounmap(reg);
	return DEVLEND_OK;
}

/**
 * devlend_windows_serve_test() - answer TEST: write what the peer wants to see arrive
 * @link: the link
 * @rq: the request
 *
 * It can reach what the peer has opened for this host, that is, its own. Nothing is read.
 * Context: process, sleeps. Return: the status for the peer.
 */
enum devlend_status devlend_windows_serve_test(struct devlend_link *link,
					       struct devlend_request *rq)
{
	const struct devlend_wire_test *wire = rq->data;
	enum devlend_status status = DEVLEND_E_GONE;
	u32 kind, window, dwords, value;
	struct devlend_aperture ap;
	u64 offset;

	if (rq->len != sizeof(*wire))
		return DEVLEND_E_INVAL;
	kind = le32_to_cpu(wire->kind);
	window = le32_to_cpu(wire->window);
	dwords = le32_to_cpu(wire->dwords);
	value = le32_to_cpu(wire->value);
	offset = le64_to_cpu(wire->offset);
	if (kind != DEVLEND_TEST_PATTERN && kind != DEVLEND_TEST_MESSAGE)
		return DEVLEND_E_NOTSUPP;
	if (!dwords || dwords > (kind == DEVLEND_TEST_MESSAGE ? 1 : DEVLEND_TEST_DWORDS_MAX) ||
	    offset % sizeof(u32) || window >= DEVLEND_PLAN_WINDOWS_MAX)
		return DEVLEND_E_INVAL;
	window = array_index_nospec(window, DEVLEND_PLAN_WINDOWS_MAX);
	if (devlend_aperture_get(link, window, &ap))
		return DEVLEND_E_INVAL;
	if (offset > ap.size || dwords * sizeof(u32) > ap.size - offset)
		return DEVLEND_E_RANGE;
	/* the NTB stays, and with it the window, until it is put */
	if (devlend_link_ntb_get(link)) {
		status = test_write(&ap, kind, offset, dwords, value);
		devlend_link_ntb_put(link);
	}
	return status;
}
