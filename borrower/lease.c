// SPDX-License-Identifier: GPL-2.0
/*
 * Leases: the objects, their states, and the worker that moves them.
 *
 * A lease is a device on the devlend bus. It is made by a write to an offer's `borrow`, and
 * ends by a write to its `return`, by REVOKE, with the link, or because the borrow failed.
 * Whoever wants something sets a flag under the lease's lock and queues the work; the work
 * does the steps (borrow.c, removal.c). It is one work item per lease, so steps of one
 * lease never overlap, while leases do not wait for each other.
 *
 * References: the list holds one from start to gone; queued work holds one; the shadow
 * holds one until its bridge is released, which may be long after the lease is gone.
 *
 * Lock order: rescan lock, leases_lock, lease->lock, bars_lock. leases_lock is never held
 * across anything that takes long.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/pci.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include <devlend/compat.h>

#include "dma.h"
#include "lease.h"
#include "shadow.h"
#include "trace.h"

static LIST_HEAD(leases);
/* protects leases, leases_closed and leases_asleep */
static DEFINE_MUTEX(leases_lock);
/* the module is being unloaded: no new ones */
static bool leases_closed;
/* this host sleeps, or is about to: no new ones */
static bool leases_asleep;
static struct workqueue_struct *leases_wq;
/* parent of lease devices: a lease outlives the link that it came through */
static struct device *leases_root;

/**
 * borrower_lease_enter() - move a lease to another state: the only place that does
 * @lease: its lock is held
 * @state: the new state; a way that the table does not have is not taken
 *
 * Context: process, sleeps (uevent).
 */
void borrower_lease_enter(struct borrower_lease *lease, enum borrower_lease_state state)
{
	lockdep_assert_held(&lease->lock);
	if (!borrower_lease_may_enter(lease->state, state))
		return;
	trace_borrower_lease_state(dev_name(&lease->dev), lease->state, state);
	lease->state = state;
	devlend_state_changed(&lease->dev, borrower_lease_state_name(state));
}

static void lease_release(struct device *dev)
{
	struct borrower_lease *lease = to_borrower_lease(dev);

	pci_dev_put(lease->ntb);
	devlend_link_put(lease->link);
	kfree(lease);
	borrower_object_put();
}

static const struct device_type lease_type = {
	.name = "lease",
	.groups = borrower_lease_groups,
	.release = lease_release,
};

static void lease_kick(struct borrower_lease *lease)
{
	get_device(&lease->dev);	/* dropped by lease_work() */
	if (!queue_work(leases_wq, &lease->work))
		put_device(&lease->dev);
}

/* First run: borrow. On failure the end follows in the same run. */
static void lease_begin(struct borrower_lease *lease)
{
	int err = borrower_lease_borrow(lease);

	mutex_lock(&lease->lock);
	if (!err && lease->dead)
		err = -ENOLINK;
	lease->error = err;
	if (!err)
		borrower_lease_enter(lease, BORROWER_LEASE_ACTIVE);
	mutex_unlock(&lease->lock);
	if (err)
		return;
	/* by number: the shadow itself may be removed by now */
	dev_info(&lease->dev, "borrowed %s as %04x:00:00.0\n", lease->offer_name, lease->domain);
	complete_all(&lease->started);
}

static void lease_finish(struct borrower_lease *lease)
{
	borrower_lease_teardown(lease);
	mutex_lock(&lease->lock);
	borrower_lease_enter(lease, BORROWER_LEASE_GONE);
	mutex_unlock(&lease->lock);

	mutex_lock(&leases_lock);
	list_del_init(&lease->node);
	mutex_unlock(&leases_lock);
	device_del(&lease->dev);
	borrower_slot_put(lease->slot);
	if (!lease->error && lease->dead)
		dev_warn(&lease->dev, "%s is lost; borrow it again when it is offered\n",
			 lease->offer_name);
	else if (!lease->error)
		dev_info(&lease->dev, "%s is given back\n", lease->offer_name);
	complete_all(&lease->started);
	complete_all(&lease->ended);
	put_device(&lease->dev);	/* of the list */
}

static void lease_work(struct work_struct *work)
{
	struct borrower_lease *lease = container_of(work, struct borrower_lease, work);
	bool end;

	if (!completion_done(&lease->started))
		lease_begin(lease);

	mutex_lock(&lease->lock);
	end = lease->state != BORROWER_LEASE_GONE &&
	      (lease->error || lease->want_end || lease->dead);
	if (end)
		borrower_lease_enter(lease, lease->dead ? BORROWER_LEASE_DYING :
					     BORROWER_LEASE_RETURNING);
	mutex_unlock(&lease->lock);
	if (end)
		lease_finish(lease);
	put_device(&lease->dev);	/* of lease_kick() */
}

static bool lease_is_of_offer(const struct borrower_lease *lease,
			      const struct devlend_wire_offer_id *id)
{
	return lease->offer.id.domain == id->domain && lease->offer.id.bdf == id->bdf &&
	       !memcmp(&lease->offer.id.host, &id->host, sizeof(id->host));
}

/* Caller holds leases_lock. */
static int lease_may_start(struct devlend_link *link, const struct devlend_wire_offer_id *id)
{
	struct borrower_lease *lease;

	lockdep_assert_held(&leases_lock);
	if (leases_closed)
		return -ESHUTDOWN;
	if (leases_asleep)
		return -EBUSY;
	if (!devlend_link_pdev(link))
		return -ENODEV;
	list_for_each_entry(lease, &leases, node)
		if (lease_is_of_offer(lease, id))
			return -EBUSY;
	return 0;
}

static struct borrower_lease *lease_alloc(struct devlend_link *link,
					  const struct devlend_wire_offer *offer,
					  const char *offer_name)
{
	struct borrower_lease *lease = kzalloc(sizeof(*lease), GFP_KERNEL);

	if (!lease)
		return NULL;
	borrower_object_get();
	device_initialize(&lease->dev);
	lease->dev.bus = DEVLEND_BUS;
	lease->dev.type = &lease_type;
	lease->dev.parent = leases_root;
	INIT_LIST_HEAD(&lease->node);
	INIT_WORK(&lease->work, lease_work);
	init_completion(&lease->started);
	init_completion(&lease->unbound);
	init_completion(&lease->ended);
	mutex_init(&lease->lock);
	borrower_irq_watch_init(lease);
	lease->link = devlend_link_get(link);
	lease->offer = *offer;
	strscpy(lease->offer_name, offer_name, sizeof(lease->offer_name));
	lease->since = ktime_get_real_seconds();
	return lease;
}

/**
 * borrower_lease_start() - make a lease of an offer and set its worker to borrow
 * @link: that the offer came through
 * @offer: copied
 * @offer_name: copied
 * @slot: slot wanted, or -1
 * @irq_mode: interrupt mode wanted, or auto
 *
 * Context: process, sleeps.
 * Return: the lease, referenced for the caller; -EBUSY where the offer is borrowed here
 * already, or this host is about to sleep; -ENODEV where the NTB is going; -ESHUTDOWN; or an
 * errno of borrower_slot_get().
 */
struct borrower_lease *borrower_lease_start(struct devlend_link *link,
					    const struct devlend_wire_offer *offer,
					    const char *offer_name, int slot,
					    enum borrower_irq_mode irq_mode)
{
	struct borrower_lease *lease = lease_alloc(link, offer, offer_name);
	int err;

	if (!lease)
		return ERR_PTR(-ENOMEM);
	mutex_lock(&leases_lock);
	err = lease_may_start(link, &offer->id);
	if (err)
		goto unlock;
	/* link_gone waits for leases_lock, so the function is still there */
	lease->ntb = pci_dev_get(devlend_link_pdev(link));
	lease->dma = borrower_dma_choose(lease->ntb);
	lease->irq.want = irq_mode;
	err = borrower_slot_get(&offer->id, slot);
	if (err < 0)
		goto unlock;
	lease->slot = err;
	lease->domain = borrower_slot_domain(lease->slot);
	err = dev_set_name(&lease->dev, "lease-%04x", lease->domain);
	if (!err)
		err = device_add(&lease->dev);
	if (err) {
		borrower_slot_put(lease->slot);
		goto unlock;
	}
	get_device(&lease->dev);	/* of the list */
	list_add_tail(&lease->node, &leases);
	lease_kick(lease);
unlock:
	mutex_unlock(&leases_lock);
	if (err) {
		put_device(&lease->dev);
		return ERR_PTR(err);
	}
	return lease;
}

static int lease_wait(struct completion *done)
{
	long left = wait_for_completion_killable_timeout(done, msecs_to_jiffies(BORROWER_WAIT_MS));

	if (left < 0)
		return -EINTR;
	return left ? 0 : -ETIMEDOUT;
}

/**
 * borrower_lease_wait_started() - wait until a borrow succeeded, or failed and is undone
 * @lease: referenced by the caller
 *
 * Context: process; killable; at most %BORROWER_WAIT_MS. The work goes on in any case.
 * Return: 0; the errno of the borrow; -EINTR; -ETIMEDOUT.
 */
int borrower_lease_wait_started(struct borrower_lease *lease)
{
	return lease_wait(&lease->started) ?: READ_ONCE(lease->error);
}

/**
 * borrower_lease_end() - have a lease returned
 * @lease: referenced by the caller
 * @wait: wait until it is gone; else only ask
 *
 * Context: process; killable; at most %BORROWER_WAIT_MS.
 * Return: 0; -EINTR; -ETIMEDOUT.
 */
int borrower_lease_end(struct borrower_lease *lease, bool wait)
{
	mutex_lock(&lease->lock);
	lease->want_end = true;
	mutex_unlock(&lease->lock);
	lease_kick(lease);
	return wait ? lease_wait(&lease->ended) : 0;
}

/* A lease of @link that was not visited in this round, referenced; NULL when all were. */
static struct borrower_lease *lease_next(struct devlend_link *link, unsigned int round)
{
	struct borrower_lease *lease, *found = NULL;

	mutex_lock(&leases_lock);
	list_for_each_entry(lease, &leases, node) {
		if ((link && lease->link != link) || lease->round == round)
			continue;
		lease->round = round;
		get_device(&lease->dev);	/* dropped by the caller */
		found = lease;
		break;
	}
	mutex_unlock(&leases_lock);
	return found;
}

/**
 * borrower_leases_each() - call a function for each lease, without a lock
 * @link: only those of this link; NULL = all
 * @fn: may sleep; the lease is referenced meanwhile
 * @data: for @fn
 *
 * Context: process.
 */
void borrower_leases_each(struct devlend_link *link,
			  void (*fn)(struct borrower_lease *lease, void *data), void *data)
{
	static atomic_t rounds = ATOMIC_INIT(0);
	unsigned int round = atomic_inc_return(&rounds);
	struct borrower_lease *lease;

	while ((lease = lease_next(link, round))) {
		fn(lease, data);
		put_device(&lease->dev);
	}
}

/**
 * borrower_lease_lost() - the lender is lost, or could not reset the device: the lease ends alone
 * @lease: referenced by the caller
 *
 * Context: process; as borrower_lease_cut().
 */
void borrower_lease_lost(struct borrower_lease *lease)
{
	borrower_lease_cut(lease);
	lease_kick(lease);
}

static void lease_lost(struct borrower_lease *lease, void *unused)
{
	borrower_lease_lost(lease);
}

static void lease_detach(struct borrower_lease *lease, void *unused)
{
	borrower_lease_detach(lease);
}

/**
 * borrower_leases_link_lost() - the peer of a link, or its NTB, is lost
 * @link: the link
 * @ntb_gone: also the NTB; on return no lease uses it any more
 *
 * Context: a callback of the core; process; the rescan lock may be held, and is not waited for.
 */
void borrower_leases_link_lost(struct devlend_link *link, bool ntb_gone)
{
	borrower_leases_each(link, lease_lost, NULL);
	if (ntb_gone)
		borrower_leases_each(link, lease_detach, NULL);
}

/**
 * borrower_lease_find() - the lease that a peer speaks of
 * @link: the peer's link
 * @handle: as the peer wrote it
 *
 * Context: process. Return: the lease, referenced for the caller; NULL where the peer has
 * no such.
 */
struct borrower_lease *borrower_lease_find(struct devlend_link *link,
					   const struct devlend_handle *handle)
{
	struct borrower_lease *lease, *found = NULL;

	mutex_lock(&leases_lock);
	list_for_each_entry(lease, &leases, node) {
		/* not under its lock: an NTB may take seconds to close a window under it */
		if (lease->link != link || !borrower_lease_granted(lease) ||
		    lease->grant.handle.random != handle->random ||
		    lease->grant.handle.epoch != handle->epoch)
			continue;
		get_device(&lease->dev);
		found = lease;
		break;
	}
	mutex_unlock(&leases_lock);
	return found;
}

/**
 * borrower_leases_sleep() - this host wants to sleep
 *
 * Context: process. Return: 0, and no lease starts until borrower_leases_wake(); -EBUSY, after one
 * log line, where there is a lease.
 */
int borrower_leases_sleep(void)
{
	struct borrower_lease *lease;

	mutex_lock(&leases_lock);
	lease = list_first_entry_or_null(&leases, struct borrower_lease, node);
	leases_asleep = !lease;
	if (lease)
		dev_err(&lease->dev, "this host cannot sleep: %s is borrowed as %04x:00:00.0; return it first\n",
			lease->offer_name, lease->domain);
	mutex_unlock(&leases_lock);
	return lease ? -EBUSY : 0;
}

/**
 * borrower_leases_wake() - this host is awake again, or did not sleep after all
 *
 * Context: process.
 */
void borrower_leases_wake(void)
{
	mutex_lock(&leases_lock);
	leases_asleep = false;
	mutex_unlock(&leases_lock);
}

/**
 * borrower_leases_end_all() - return all leases in order, and allow no new ones
 *
 * For module exit. What is not returned in time is cut off when the service is unregistered.
 * Context: process; at most %BORROWER_WAIT_MS for each lease.
 */
void borrower_leases_end_all(void)
{
	struct borrower_lease *lease;

	mutex_lock(&leases_lock);
	leases_closed = true;
	lease = list_first_entry_or_null(&leases, struct borrower_lease, node);
	if (lease)
		get_device(&lease->dev);
	mutex_unlock(&leases_lock);
	while (lease) {
		bool ended;

		borrower_lease_end(lease, false);
		ended = wait_for_completion_timeout(&lease->ended,
						    msecs_to_jiffies(BORROWER_WAIT_MS));
		if (!ended)
			dev_warn(&lease->dev, "is not returned in time, cut off; close what uses the device\n");
		put_device(&lease->dev);
		if (!ended)
			return;
		mutex_lock(&leases_lock);
		lease = list_first_entry_or_null(&leases, struct borrower_lease, node);
		if (lease)
			get_device(&lease->dev);
		mutex_unlock(&leases_lock);
	}
}

/**
 * borrower_leases_init() - get ready for leases
 *
 * Context: process. Return: 0 or an errno.
 */
int borrower_leases_init(void)
{
	leases_root = root_device_register("devlend-leases");
	if (IS_ERR(leases_root))
		return PTR_ERR(leases_root);
	leases_wq = alloc_workqueue("devlend-leases", WQ_UNBOUND, 0);
	if (leases_wq)
		return 0;
	root_device_unregister(leases_root);
	return -ENOMEM;
}

/**
 * borrower_leases_exit() - wait for the workers of cut-off leases; no new ones can come
 *
 * Context: process; waits as long as drivers need to let go of dead devices.
 */
void borrower_leases_exit(void)
{
	destroy_workqueue(leases_wq);
	root_device_unregister(leases_root);
}
