// SPDX-License-Identifier: GPL-2.0
/*
 * devlend_borrower: use other hosts' PCI Express devices as if they were here.
 *
 * This file is the module and its service at the core: it takes what peers say to offers
 * (offer.c) and leases (lease.c), and what happens to links to both. The core calls it in
 * process context, possibly under the rescan lock for lost links; nothing here waits for
 * that lock in a callback.
 *
 * Unloading returns all leases in order, then lets go of the core, then waits until the
 * last object whose release function is in this module's text has gone: an open file of a
 * borrowed device's driver holds its bridge. That wait has no bound, since the text cannot
 * go before; it says what it waits for.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/wait.h>

#include <devlend/core.h>

#include "bridge.h"
#include "dma.h"
#include "irq_doorbell.h"
#include "lease.h"
#include "offer.h"
#include "shadow.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* How often the unloading module says that it still waits, ms */
#define MAIN_REMIND_MS	10000

/* devices and bridges of this module that are not released yet */
static atomic_t main_objects = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(main_wait);

/**
 * borrower_object_get() - an object came to be whose release function is in this module
 *
 * Context: any.
 */
void borrower_object_get(void)
{
	atomic_inc(&main_objects);
}

/**
 * borrower_object_put() - last act of such a release function
 *
 * Context: any.
 */
void borrower_object_put(void)
{
	if (atomic_dec_and_test(&main_objects))
		wake_up_all(&main_wait);
}

static void main_link_up(struct devlend_link *link)
{
	struct devlend_call call = { .op = DEVLEND_OP_OFFERS };
	int err = devlend_call_insist(link, &call);

	/* a lost link is told of elsewhere; a lender that is loaded later sends offers itself */
	if (err && err != -ENOTCONN && err != devlend_status_to_errno(DEVLEND_E_NOSVC))
		dev_warn_ratelimited(devlend_link_dev(link), "cannot ask the peer for its offers (%d); reload its devlend_lender to see them\n",
				     err);
}

static void main_link_down(struct devlend_link *link, enum devlend_down_reason reason)
{
	borrower_leases_link_lost(link, false);
	borrower_offers_link_lost(link);
}

static void main_link_gone(struct devlend_link *link)
{
	borrower_leases_link_lost(link, true);
	borrower_offers_link_lost(link);
}

static enum devlend_status main_revoke(struct devlend_link *link, struct devlend_request *rq)
{
	const struct devlend_wire_revoke *revoke = rq->data;
	struct borrower_lease *lease;

	if (rq->len != sizeof(*revoke))
		return DEVLEND_E_INVAL;
	lease = borrower_lease_find(link, &rq->handle);
	if (!lease)
		return DEVLEND_E_STALE;
	dev_info_ratelimited(&lease->dev, "the lender wants %s back (reason %u, within %u ms)\n",
			     lease->offer_name, le32_to_cpu(revoke->reason),
			     le32_to_cpu(revoke->grace_ms));
	/*
	 * Without grace it is over already, and the registers are closed: a driver that spoke
	 * to the device in order would wait for each of its commands.
	 */
	if (revoke->grace_ms)
		borrower_lease_end(lease, false);
	else
		borrower_lease_lost(lease);
	put_device(&lease->dev);
	return DEVLEND_OK;
}

static enum devlend_status main_reset_done(struct devlend_link *link, struct devlend_request *rq)
{
	const struct devlend_wire_reset_done *done = rq->data;
	struct borrower_lease *lease;
	int err;

	if (rq->len != sizeof(*done) || le32_to_cpu(done->status) > DEVLEND_STATUS_MAX)
		return DEVLEND_E_INVAL;
	err = devlend_status_to_errno(le32_to_cpu(done->status));
	lease = borrower_lease_find(link, &rq->handle);
	if (!lease)
		return DEVLEND_E_STALE;
	mutex_lock(&lease->lock);
	if (lease->shadow)
		borrower_config_reset_done(&lease->shadow->config, err);
	mutex_unlock(&lease->lock);
	if (err) {
		/* whoever waits for the device, a minute else, sees that it is gone */
		dev_err(&lease->dev, "the lender could not reset %s (%d)\n", lease->offer_name,
			err);
		borrower_lease_lost(lease);
	}
	put_device(&lease->dev);
	return DEVLEND_OK;
}

static enum devlend_status main_request(struct devlend_link *link, struct devlend_request *rq)
{
	switch (rq->op) {
	case DEVLEND_OP_OFFER:
		if (rq->len != sizeof(struct devlend_wire_offer))
			return DEVLEND_E_INVAL;
		return borrower_offer_update(link, rq->data);
	case DEVLEND_OP_WITHDRAW:
		if (rq->len != sizeof(struct devlend_wire_withdraw))
			return DEVLEND_E_INVAL;
		return borrower_offer_withdraw(link, rq->data);
	case DEVLEND_OP_REVOKE:
		return main_revoke(link, rq);
	case DEVLEND_OP_RESET_DONE:
		return main_reset_done(link, rq);
	default:
		return DEVLEND_E_NOTSUPP;
	}
}

/* All atomic operations go from borrower to lender. */
static enum devlend_status main_atomic(struct devlend_link *link, u8 op, u32 handle_random,
				       u32 arg)
{
	return DEVLEND_E_NOTSUPP;
}

static const struct devlend_service main_service = {
	.id = DEVLEND_SVC_CONSUMER,
	.name = KBUILD_MODNAME,
	.link_up = main_link_up,
	.link_down = main_link_down,
	.link_gone = main_link_gone,
	.request = main_request,
	.atomic = main_atomic,
	.event = borrower_doorbells_look,
};

static int __init main_init(void)
{
	int err;

	if (!borrower_slot_base_valid()) {
		pr_err("domain_base leaves no room for all slots in its low 16 bits; try 0x8000\n");
		return -EINVAL;
	}
	err = borrower_leases_init();
	if (err)
		return err;
	err = borrower_dma_init();
	if (err)
		goto err_leases;
	err = borrower_bridge_init();
	if (err)
		goto err_dma;
	borrower_debugfs_init();
	err = borrower_pm_init();
	if (err)
		goto err_debugfs;
	err = devlend_service_register(&main_service);
	if (err)
		goto err_pm;
	return 0;

err_pm:
	borrower_pm_exit();
err_debugfs:
	borrower_debugfs_exit();
	borrower_bridge_exit();
err_dma:
	borrower_dma_exit();
err_leases:
	borrower_leases_exit();
	return err;
}

static void __exit main_exit(void)
{
	borrower_leases_end_all();
	devlend_service_unregister(&main_service);
	borrower_leases_exit();
	borrower_pm_exit();
	borrower_debugfs_exit();
	while (!wait_event_timeout(main_wait, !atomic_read(&main_objects),
				   msecs_to_jiffies(MAIN_REMIND_MS)))
		pr_warn("unloading waits for %d objects in use; close files of formerly borrowed devices\n",
			atomic_read(&main_objects));
	borrower_bridge_exit();
	borrower_dma_exit();
}

module_init(main_init);
module_exit(main_exit);
MODULE_DESCRIPTION("Use PCI Express devices of other hosts through a non-transparent bridge");
MODULE_LICENSE("GPL");
/* "modprobe devlend" loads both */
MODULE_ALIAS("devlend");
