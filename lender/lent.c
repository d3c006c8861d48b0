// SPDX-License-Identifier: GPL-2.0
/*
 * Lent devices: the objects, the list of them, their one transition function and their
 * worker.
 *
 * One struct lender_dev exists from the write to `lend` until the device was given back. All
 * that takes long or that changes hands happens in its worker, in this order: what the
 * outside did (unbound), the end of a lease, a reset, taking, a borrower that may not have it
 * any more, giving back. Everybody else (request
 * handlers, link events, driver callbacks, sysfs) changes the state where that is
 * enough, sets a bit and leaves.
 *
 * Locks, outermost first: the rescan lock and device locks (taken by the PCI core around
 * this driver's callbacks), &lender_dev.lock, lent_list_lock; the raw lock of atomic.c
 * inside all of them. Calls to the peer are made with none of them held.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include <linux/workqueue.h>

#include <devlend/compat.h>

#include "lent.h"
#include "offer.h"
#include "trace.h"

/* Protects lent_list, lent_last_id, lent_lives and lent_closed; innermost of the mutexes. */
static DEFINE_MUTEX(lent_list_lock);
/* in order of their ids: peers hear of the end of one life before the start of the next */
static LIST_HEAD(lent_list);
static u32 lent_last_id;
/* the module goes: nothing new is lent */
static bool lent_closed;

/* How often each function was lent: small, and kept until the module goes. */
struct lent_lives {
	struct list_head node;
	u32 domain;
	u16 bdf;
	u32 count;
};

static LIST_HEAD(lent_lives);

static struct workqueue_struct *lent_wq;

/* objects whose release function is in this module's text */
static atomic_t lent_objects = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(lent_objects_wait);

static void lent_release(struct device *dev)
{
	struct lender_dev *lent = to_lender_dev(dev);

	kfree(lent->saved);
	kfree(lent->override);
	pci_dev_put(lent->bridge);
	pci_dev_put(lent->pdev);
	mutex_destroy(&lent->lock);
	kfree(lent);
	if (atomic_dec_and_test(&lent_objects))
		wake_up_all(&lent_objects_wait);
}

/**
 * lender_enter() - change the state; the only place that does
 * @lent: the device; its lock is held
 * @state: the new state
 *
 * Tells sysfs, uevent listeners, waiters and peers. Context: process.
 */
void lender_enter(struct lender_dev *lent, enum lender_state state)
{
	enum lender_state from = lent->state;

	lockdep_assert_held(&lent->lock);
	if (!lender_state_allowed(from, state)) {
		dev_err(&lent->dev, "refused to go from %s to %s; please report this\n",
			lender_state_name(from), lender_state_name(state));
		return;
	}
	lent->state = state;
	lent->version++;
	trace_lender_state(lent->pdev, from, state);
	if (lent->registered)
		devlend_state_changed(&lent->dev, lender_state_name(state));
	wake_up_all(&lent->wait);
	lender_offers_push();
}

/**
 * lender_kick() - have the worker do something
 * @lent: the device; the caller holds a reference
 * @what: what
 *
 * Context: any, hard IRQ included.
 */
void lender_kick(struct lender_dev *lent, enum lender_todo what)
{
	/* the worker's reference; the caller's own keeps this put from being the last */
	lender_get(lent);
	set_bit(what, &lent->todo);
	if (!queue_work(lent_wq, &lent->work))
		lender_put(lent);
}

static void lent_work(struct work_struct *work)
{
	struct lender_dev *lent = container_of(work, struct lender_dev, work);

	if (test_and_clear_bit(LENDER_DO_TAKE, &lent->todo))
		lender_take(lent);
	if (test_and_clear_bit(LENDER_DO_END, &lent->todo))
		lender_lease_end(lent);
	if (test_and_clear_bit(LENDER_DO_FLR, &lent->todo))
		lender_lease_flr(lent);
	if (test_and_clear_bit(LENDER_DO_UNBOUND, &lent->todo))
		lender_unbound(lent);
	if (test_and_clear_bit(LENDER_DO_EVICT, &lent->todo))
		lender_access_evict(lent);
	if (test_and_clear_bit(LENDER_DO_RECLAIM, &lent->todo))
		lender_give_back(lent);
	lender_put(lent);
}

/* How often @pdev was lent, this time included; 0 = no memory. List lock held. */
static u32 lent_count(const struct pci_dev *pdev)
{
	u32 domain = pci_domain_nr(pdev->bus);
	u16 bdf = pci_dev_id((struct pci_dev *)pdev);
	struct lent_lives *l;

	list_for_each_entry(l, &lent_lives, node)
		if (l->domain == domain && l->bdf == bdf)
			return ++l->count;
	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return 0;
	l->domain = domain;
	l->bdf = bdf;
	l->count = 1;
	list_add(&l->node, &lent_lives);
	return 1;
}

static struct lender_dev *lent_find_pdev(const struct pci_dev *pdev)
{
	struct lender_dev *lent;

	list_for_each_entry(lent, &lent_list, node)
		if (lent->pdev == pdev && READ_ONCE(lent->state) != LENDER_GONE)
			return lent;
	return NULL;
}

/**
 * lender_create() - make the object for a device that is to be lent
 * @pdev: the device; a reference is taken
 * @forced: see &lender_dev.forced
 *
 * Context: process.
 * Return: the object with a reference for the caller; ERR_PTR(-EBUSY) where there is one
 * already; ERR_PTR(-ESHUTDOWN) where the module goes; ERR_PTR(-ENOMEM).
 */
struct lender_dev *lender_create(struct pci_dev *pdev, bool forced)
{
	struct lender_dev *lent = kzalloc(sizeof(*lent), GFP_KERNEL);
	int err;

	if (!lent)
		return ERR_PTR(-ENOMEM);
	atomic_inc(&lent_objects);
	device_initialize(&lent->dev);
	lent->dev.release = lent_release;
	lent->dev.groups = lender_lent_groups;
	lent->dev.bus = DEVLEND_BUS;
	lent->pdev = pci_dev_get(pdev);
	lent->forced = forced;
	lent->state = LENDER_TAKING;
	mutex_init(&lent->lock);
	init_waitqueue_head(&lent->wait);
	INIT_WORK(&lent->work, lent_work);
	INIT_LIST_HEAD(&lent->node);
	INIT_LIST_HEAD(&lent->live);

	err = dev_set_name(&lent->dev, "lent-%s", pci_name(pdev));
	if (err)
		goto put;
	mutex_lock(&lent_list_lock);
	err = -ESHUTDOWN;
	if (lent_closed)
		goto unlock;
	err = -EBUSY;
	if (lent_find_pdev(pdev))
		goto unlock;
	err = -ENOMEM;
	lent->generation = lent_count(pdev);
	if (!lent->generation)
		goto unlock;
	lent->id = ++lent_last_id;
	/* the list's reference, dropped by lender_forget() */
	list_add_tail(&lender_get(lent)->node, &lent_list);
	mutex_unlock(&lent_list_lock);
	return lent;
unlock:
	mutex_unlock(&lent_list_lock);
put:
	lender_put(lent);
	return ERR_PTR(err);
}

/**
 * lender_find_pdev() - the object of a lent device
 * @pdev: the device
 *
 * Context: process. Return: it, with a reference for the caller; NULL = not lent.
 */
struct lender_dev *lender_find_pdev(const struct pci_dev *pdev)
{
	struct lender_dev *lent;

	mutex_lock(&lent_list_lock);
	lent = lent_find_pdev(pdev);
	if (lent)
		lender_get(lent);
	mutex_unlock(&lent_list_lock);
	return lent;
}

/**
 * lender_find_offer() - the object of a lent device that a peer names
 * @domain: PCI domain
 * @bdf: bus, device and function
 *
 * Context: process. Return: it, with a reference for the caller; NULL = not lent.
 */
struct lender_dev *lender_find_offer(u32 domain, u16 bdf)
{
	struct lender_dev *lent;

	mutex_lock(&lent_list_lock);
	list_for_each_entry(lent, &lent_list, node) {
		if (READ_ONCE(lent->state) != LENDER_GONE && pci_dev_id(lent->pdev) == bdf &&
		    (u32)pci_domain_nr(lent->pdev->bus) == domain) {
			lender_get(lent);
			mutex_unlock(&lent_list_lock);
			return lent;
		}
	}
	mutex_unlock(&lent_list_lock);
	return NULL;
}

/**
 * lender_next() - walk all lent devices, those that are gone but still listed included
 * @after_id: id of the one before; 0 = start
 *
 * Context: process. Return: the next, with a reference for the caller; NULL = end.
 */
struct lender_dev *lender_next(u32 after_id)
{
	struct lender_dev *lent;

	mutex_lock(&lent_list_lock);
	list_for_each_entry(lent, &lent_list, node) {
		if (lent->id > after_id) {
			lender_get(lent);
			mutex_unlock(&lent_list_lock);
			return lent;
		}
	}
	mutex_unlock(&lent_list_lock);
	return NULL;
}

/**
 * lender_forget() - take a device that is gone from the list
 * @lent: in state gone, and no longer on the bus
 *
 * Context: process.
 */
void lender_forget(struct lender_dev *lent)
{
	mutex_lock(&lent_list_lock);
	list_del_init(&lent->node);
	mutex_unlock(&lent_list_lock);
	lender_put(lent);
}

/* The module goes: from here on nothing new is lent. */
void lender_lends_stop(void)
{
	mutex_lock(&lent_list_lock);
	lent_closed = true;
	mutex_unlock(&lent_list_lock);
}

/* Wait until the workers have nothing more to do. Context: process, no locks. */
void lender_lents_flush(void)
{
	flush_workqueue(lent_wq);
}

int lender_lents_init(void)
{
	lent_wq = alloc_workqueue("devlend_lender", WQ_UNBOUND, 0);
	return lent_wq ? 0 : -ENOMEM;
}

/* All devices have been given back; waits for what still refers to them. */
void lender_lents_exit(void)
{
	struct lent_lives *l, *next;

	destroy_workqueue(lent_wq);
	/* what is left are references of this module, on their way out */
	wait_event(lent_objects_wait, !atomic_read(&lent_objects));
	list_for_each_entry_safe(l, next, &lent_lives, node)
		kfree(l);
}
