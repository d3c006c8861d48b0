// SPDX-License-Identifier: GPL-2.0
/*
 * How a lease ends, and what may be asked of it while it lasts.
 *
 * There is one way out, whatever the cause: lender_lease_void() makes the lease void at once,
 * from any process context; the worker does the rest in lender_lease_end().
 *
 *   at once     no atomic operation and no request gets through; bus mastering off
 *   worker  1   the borrower's way to the registers closes
 *           2   the borrower is told, where it does not know
 *           3   bus mastering off (verified), drained, interrupts off, reset, ready, restored;
 *               after an error, when the PCI core has done with it
 *           4   outbound mappings closed, where an IOMMU has them; map list and link dropped;
 *               offered again, or quarantined
 *
 * Without an IOMMU nothing opens the outbound way on this host for a lease (its windows are the
 * borrower's to close, after RETURN was answered), so it needs no closing here.
 *
 * Locks: lender_dev.lock protects the lease; it is dropped before the device's own lock is
 * taken (step 3) and before the peer is called (2). State returning keeps others away meanwhile.
 */
#include <linux/jiffies.h>
#include <linux/pci.h>

#include "atomic.h"
#include "bars.h"
#include "doorbell.h"
#include "iommu.h"
#include "lent.h"
#include "quiesce.h"
#include "trace.h"

/* Bound of a message to a borrower that may be dead already, ms */
#define LEASE_TELL_MS		3000
/* A device that fails so often while it is brought to rest fails because of that. */
#define LEASE_FAILURES_MAX	3

/**
 * lender_lease_void() - a lease ends, now
 * @lent: the device; its lock is held
 * @end: why
 *
 * When it returns, the device masters no bus. No effect where there is no lease, or where it
 * is void already.
 * Context: process.
 */
void lender_lease_void(struct lender_dev *lent, enum lender_end end)
{
	lockdep_assert_held(&lent->lock);
	if (lent->state != LENDER_BORROWED)
		return;
	lender_atomic_close(lent);
	lender_doorbell_shut(lent);
	lent->lease.end = end;
	/* under the lock, so that who sees the state sees the bit, or a worker that took it */
	lender_kick(lent, LENDER_DO_END);
	lender_enter(lent, LENDER_RETURNING);
}

/**
 * lender_upset() - the device failed, or somebody else resets it
 * @lent: the device; its lock is held
 *
 * A lease is void; without one, nobody gets the device until the worker has reset it.
 * Context: process.
 */
void lender_upset(struct lender_dev *lent)
{
	lender_lease_void(lent, LENDER_END_ERROR);
	lent->upset = true;
	if (lent->state != LENDER_OFFERED)
		return;
	lent->lease.end = LENDER_END_ERROR;
	lender_kick(lent, LENDER_DO_END);
	lender_enter(lent, LENDER_RETURNING);
}

/**
 * lender_failed() - a PCI error of the device
 * @lent: the device; its lock is held
 * @recovering: the PCI core recovers it, and tells the end of that: lender_recovered()
 *
 * Context: process.
 */
void lender_failed(struct lender_dev *lent, bool recovering)
{
	lockdep_assert_held(&lent->lock);
	lent->recovering = recovering;
	lent->failures++;
	lender_upset(lent);
}

/**
 * lender_recovered() - the PCI core has done with a device that failed
 * @lent: the device; its lock is held
 *
 * Context: process.
 */
void lender_recovered(struct lender_dev *lent)
{
	lockdep_assert_held(&lent->lock);
	lent->recovering = false;
	wake_up_all(&lent->wait);
}

/* Send REVOKE; a reference to the link is the caller's. */
static int lease_call_revoke(struct devlend_link *link, const struct devlend_handle *handle,
			     u32 reason, unsigned int grace_ms, unsigned int timeout_ms)
{
	struct devlend_wire_revoke revoke = {
		.reason = cpu_to_le32(reason),
		.grace_ms = cpu_to_le32(grace_ms),
	};
	struct devlend_call call = {
		.op = DEVLEND_OP_REVOKE,
		.handle = *handle,
		.data = &revoke,
		.len = sizeof(revoke),
		.timeout_ms = timeout_ms,
	};

	return devlend_call_insist(link, &call);
}

/* Does the borrower have to hear that its lease ended, and why? 0 = no. */
static u32 lease_end_reason(enum lender_end end)
{
	switch (end) {
	case LENDER_END_RECLAIM:
		/* it may believe that the grace lasts: with force, or where it heard of it late */
		return DEVLEND_REVOKE_RECLAIM;
	case LENDER_END_ERROR:
		return DEVLEND_REVOKE_ERROR;
	case LENDER_END_REMOVED:
		return DEVLEND_REVOKE_REMOVED;
	case LENDER_END_SHUTDOWN:
		return DEVLEND_REVOKE_SHUTDOWN;
	default:
		return 0;
	}
}

static const char *lease_end_name(enum lender_end end)
{
	switch (end) {
	case LENDER_END_RETURN:
		return "returned";
	case LENDER_END_LINK:
		return "taken back: the link to the borrower is lost";
	case LENDER_END_RECLAIM:
		return "taken back: the borrower did not return it in time";
	case LENDER_END_ERROR:
		return "taken back: the device failed, or was reset on this host";
	case LENDER_END_REMOVED:
		return "taken back: it was unbound or removed on this host";
	case LENDER_END_SHUTDOWN:
		return "taken back: this host shuts down";
	case LENDER_END_LOST_GRANT:
		return "taken back: the borrower never heard of its lease";
	}
	return "taken back";
}

/* What is left of a lease goes; lock held. */
static void lease_clear(struct lender_dev *lent, int err)
{
	struct devlend_link *link = lent->lease.link;

	lender_iommu_unmap(lent);
	memset(&lent->lease, 0, sizeof(lent->lease));
	if (link) {
		devlend_link_put(link);
		lent->leases++;
	}
	lent->end_error = err;
	/* not bound: the handler of that takes it from here */
	if (lent->bound)
		lender_enter(lent, err ? LENDER_QUARANTINED : LENDER_OFFERED);
	wake_up_all(&lent->wait);
}

static bool lease_recovery_over(const struct lender_dev *lent)
{
	return !READ_ONCE(lent->recovering) || !READ_ONCE(lent->bound);
}

/* Reset it while the PCI core recovers it, and that would undo the one or the other. */
static void lease_await_recovery(struct lender_dev *lent)
{
	if (wait_event_timeout(lent->wait, lease_recovery_over(lent),
			       msecs_to_jiffies(DEVLEND_RESET_TIMEOUT_MS)))
		return;
	/* where another device's driver gave up, nobody is told the end */
	dev_warn(&lent->dev, "the PCI core does not say that it has recovered; reset anyway\n");
	mutex_lock(&lent->lock);
	lender_recovered(lent);
	mutex_unlock(&lent->lock);
}

/* Bring it to rest, again where it was upset meanwhile; then the lease is gone. */
static int lease_settle(struct lender_dev *lent, bool *bound)
{
	unsigned int failures = READ_ONCE(lent->failures);
	bool again;
	int err;

	do {
		mutex_lock(&lent->lock);
		lent->upset = false;
		mutex_unlock(&lent->lock);
		lease_await_recovery(lent);
		err = lender_quiesce(lent);
		mutex_lock(&lent->lock);
		again = lent->upset && lent->bound;
		if (again && lent->failures - failures >= LEASE_FAILURES_MAX) {
			again = false;
			err = -EIO;
		}
		if (!again)
			lease_clear(lent, err);
		*bound = lent->bound;
		mutex_unlock(&lent->lock);
	} while (again);
	return err;
}

/**
 * lender_lease_end() - the worker's part of the end of a lease
 * @lent: the device
 *
 * Context: the device's worker; sleeps. No effect unless a lease was made void, or the device
 * was upset.
 */
void lender_lease_end(struct lender_dev *lent)
{
	struct devlend_link *link = NULL;
	struct devlend_handle handle;
	enum lender_end end;
	bool bound;
	int err;

	mutex_lock(&lent->lock);
	if (lent->state != LENDER_RETURNING || (!lent->lease.link && !lent->bound)) {
		mutex_unlock(&lent->lock);
		return;
	}
	lender_bars_close(lent);
	lender_doorbell_free(lent);
	end = lent->lease.end;
	handle = lent->lease.handle;
	if (lent->lease.link)
		link = devlend_link_get(lent->lease.link);
	mutex_unlock(&lent->lock);

	if (link && lease_end_reason(end) && devlend_link_is_up(link))
		lease_call_revoke(link, &handle, lease_end_reason(end), 0, LEASE_TELL_MS);
	err = lease_settle(lent, &bound);
	/* not before: the last put waits for who tells of the link's end, which takes our lock */
	if (link)
		devlend_link_put(link);
	if (err && bound)
		dev_err(&lent->dev, "%s, but could not be reset (%d): quarantined; reclaim it, and power-cycle it if its driver fails\n",
			lease_end_name(end), err);
	else
		dev_info_ratelimited(&lent->dev, "%s\n", lease_end_name(end));
}

static int lease_tell_reset(struct devlend_link *link, const struct devlend_handle *handle,
			    int err)
{
	struct devlend_wire_reset_done done = {
		.status = cpu_to_le32(devlend_errno_to_status(err)),
	};
	struct devlend_call call = {
		.op = DEVLEND_OP_RESET_DONE,
		.handle = *handle,
		.data = &done,
		.len = sizeof(done),
	};

	return devlend_call_insist(link, &call);
}

/**
 * lender_lease_flr() - reset the device on behalf of its borrower
 * @lent: the device
 *
 * Same order as the end of a lease: registers closed, stopped, drained, reset, restored,
 * then opened again at the same place. Bus mastering stays off until the borrower sets it.
 *
 * The borrower's config space is silent until it hears RESET_DONE. So there is always an answer,
 * and where it is not "done", or is not heard, the lease ends.
 * Context: the device's worker; sleeps. No effect unless a reset was asked for.
 */
void lender_lease_flr(struct lender_dev *lent)
{
	struct devlend_handle handle;
	struct devlend_link *link;
	struct lender_bars before;
	int err;

	mutex_lock(&lent->lock);
	if (lent->state != LENDER_BORROWED || !lender_atomic_resetting(lent)) {
		mutex_unlock(&lent->lock);
		return;
	}
	handle = lent->lease.handle;
	link = devlend_link_get(lent->lease.link);
	before = lent->lease.bars;
	lender_bars_close(lent);
	mutex_unlock(&lent->lock);

	/* it was told that there is no such reset, and asks for one all the same */
	err = lender_atomic_can_flr(lent) ? lender_quiesce(lent) : -EOPNOTSUPP;

	mutex_lock(&lent->lock);
	/* void meanwhile? Then the end of the lease, which is next, owns the device. */
	if (lent->state == LENDER_BORROWED) {
		lender_doorbell_gate(lent);
		if (!err)
			err = lender_bars_reopen(lent, &before);
		if (err)
			lender_lease_void(lent, LENDER_END_ERROR);
		else
			lender_atomic_reset_done(lent);
	} else if (!err) {
		err = -ENODEV;
	}
	mutex_unlock(&lent->lock);
	trace_lender_step(lent->pdev, "borrower reset", err);
	if (err)
		dev_err_ratelimited(&lent->dev, "reset asked for by the borrower failed (%d); the lease ends\n",
				    err);
	err = lease_tell_reset(link, &handle, err);
	devlend_link_put(link);
	if (!err)
		return;
	mutex_lock(&lent->lock);
	lender_lease_void(lent, LENDER_END_ERROR);
	mutex_unlock(&lent->lock);
}

static bool lease_revoke_over(struct lender_dev *lent)
{
	return READ_ONCE(lent->state) != LENDER_BORROWED || !READ_ONCE(lent->grace_ms) ||
	       test_bit(LENDER_DO_FLR, &lent->todo);
}

/**
 * lender_lease_revoke() - ask the borrower to return the device, and wait for it
 * @lent: the device; &lender_dev.revoke and &lender_dev.grace_ms say why and how long
 *
 * When it returns, the lease is void. Context: the device's worker; sleeps, at most the grace and
 * the time of a call.
 */
void lender_lease_revoke(struct lender_dev *lent)
{
	struct devlend_link *link = NULL;
	struct devlend_handle handle;
	unsigned long end;
	unsigned int grace;
	u32 reason;
	int err;

	mutex_lock(&lent->lock);
	if (lent->state == LENDER_BORROWED)
		link = devlend_link_get(lent->lease.link);
	handle = lent->lease.handle;
	reason = lent->revoke;
	grace = lent->grace_ms;
	mutex_unlock(&lent->lock);
	if (!link)
		return;
	err = lease_call_revoke(link, &handle, reason, grace, LEASE_TELL_MS);
	trace_lender_step(lent->pdev, "revoke", err);
	devlend_link_put(link);

	end = jiffies + msecs_to_jiffies(grace);
	while (!err && time_before(jiffies, end)) {
		/* a driver that leaves may reset its device first */
		if (test_and_clear_bit(LENDER_DO_FLR, &lent->todo))
			lender_lease_flr(lent);
		wait_event_timeout(lent->wait, lease_revoke_over(lent),
				   msecs_to_jiffies(LENDER_POLL_MS));
		if (READ_ONCE(lent->state) != LENDER_BORROWED || !READ_ONCE(lent->grace_ms))
			break;
	}
	mutex_lock(&lent->lock);
	lender_lease_void(lent, LENDER_END_RECLAIM);
	mutex_unlock(&lent->lock);
}

/**
 * lender_leases_link_lost() - all leases over a link are void
 * @link: down, or going
 * @ntb_gone: it is going: on return nothing of the NTB is in use
 *
 * Context: a callback of the core; process, the rescan lock may be held.
 */
void lender_leases_link_lost(struct devlend_link *link, bool ntb_gone)
{
	struct lender_dev *lent;
	u32 id;

	for (id = 0; (lent = lender_next(id)); id = lent->id, lender_put(lent)) {
		mutex_lock(&lent->lock);
		if (lent->lease.link == link) {
			lender_lease_void(lent, LENDER_END_LINK);
			if (ntb_gone) {
				lender_bars_close(lent);
				lender_doorbell_free(lent);
				lender_iommu_unmap(lent);
			}
		}
		mutex_unlock(&lent->lock);
	}
}
