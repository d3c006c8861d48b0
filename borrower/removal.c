// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a lease: orderly return, failed borrow, death of the lender, removal of the
 * NTB. All end in borrower_lease_teardown(), in the lease's worker, which needs neither
 * peer nor NTB.
 *
 * Orderly:   unbind the driver, remove the shadow; RETURN, and wait until the lender says
 *            that bus mastering is off and the device reset; only then close the windows
 *            onto this host's memory.
 * Alone:     borrower_lease_cut() first, from the link's callback: (1) the shadow is marked
 *            permanently disconnected and its config space reads ~0, (2) this host closes
 *            its own inbound windows, because drivers of a disconnected device free DMA
 *            memory at once while the device may still write, (3) the worker stops and
 *            removes the shadow.
 * NTB gone:  as alone; besides, the windows are taken out of the NTB's BARs, with the
 *            shadow's BARs still below them, before the callback returns.
 *
 * cut may run under the rescan lock (hot-unplug and sysfs remove of the NTB): it takes the
 * lease's lock only, which nobody holds while waiting for the rescan lock.
 */
#include <linux/gfp.h>
#include <linux/pci.h>

#include "bridge.h"
#include "dma.h"
#include "irq_doorbell.h"
#include "lease.h"
#include "shadow.h"
#include "trace.h"

/* After this the PCI core drops config writes, and drivers give up instead of waiting. */
static void removal_disconnect(struct borrower_shadow *shadow)
{
	/* config first: a driver that sees the state finds ~0 in every register of config space */
	borrower_config_kill(&shadow->config);
	if (shadow->pdev)
		xchg(&shadow->pdev->error_state, pci_channel_io_perm_failure);
}

/**
 * borrower_lease_cut() - the lender, or the NTB, is lost: cut the lease off at once
 * @lease: referenced by the caller
 *
 * Idempotent. The caller queues the worker afterwards.
 * Context: process; may sleep as long as the NTB needs to close a window. The rescan lock may
 * be held.
 */
void borrower_lease_cut(struct borrower_lease *lease)
{
	mutex_lock(&lease->lock);
	if (lease->state == BORROWER_LEASE_GONE || lease->dead)
		goto unlock;
	lease->dead = true;
	if (lease->shadow)
		removal_disconnect(lease->shadow);
	borrower_lease_enter(lease, BORROWER_LEASE_DYING);
	borrower_memory_unexpose(&lease->memory, lease->link);
unlock:
	mutex_unlock(&lease->lock);
}

/* What the DMA mode needed the NTB for; the windows are closed. */
static void removal_release_memory(struct borrower_lease *lease)
{
	lockdep_assert_held(&lease->lock);
	borrower_doorbell_close(lease);
	if (lease->dma->release)
		lease->dma->release(&lease->memory);
}

/* Is there a device that a driver may have requested regions of? */
static bool removal_has_device(struct borrower_lease *lease)
{
	bool has;

	mutex_lock(&lease->lock);
	has = lease->shadow && lease->shadow->pdev && lease->windows.win[0].ntb_bar;
	mutex_unlock(&lease->lock);
	return has;
}

/**
 * borrower_lease_detach() - the NTB function is going away: use nothing of it any more
 * @lease: cut off, its worker queued; referenced by the caller
 *
 * The shadow's driver gets time to let go: it finds the regions that it requested by their
 * address in the iomem tree, and would not find them afterwards. The worker unbinds it without
 * the rescan lock, so this wait is safe under that lock.
 *
 * Context: process; at most %BORROWER_UNBIND_MS. The rescan lock may be held.
 */
void borrower_lease_detach(struct borrower_lease *lease)
{
	if (removal_has_device(lease) &&
	    !wait_for_completion_timeout(&lease->unbound, msecs_to_jiffies(BORROWER_UNBIND_MS)))
		dev_warn(&lease->dev, "the driver of the lost device does not let go; close what uses it\n");
	mutex_lock(&lease->lock);
	borrower_windows_detach(&lease->windows);
	removal_release_memory(lease);
	mutex_unlock(&lease->lock);
}

/* Tell the lender that nothing here uses the device any more; it answers when it is reset. */
static void removal_return(struct borrower_lease *lease)
{
	struct devlend_call call = {
		.op = DEVLEND_OP_RETURN,
		.handle = lease->grant.handle,
		.timeout_ms = DEVLEND_RESET_TIMEOUT_MS,
	};
	bool dead;
	int err;

	mutex_lock(&lease->lock);
	dead = lease->dead;
	mutex_unlock(&lease->lock);
	if (dead)
		return;
	err = devlend_call_insist(lease->link, &call);
	if (err)
		dev_warn(&lease->dev, "the lender did not acknowledge the return of %s (%d); it takes the device back by itself\n",
			 lease->offer_name, err);
}

/**
 * borrower_lease_teardown() - undo all that borrower_lease_borrow() did, whole or in part
 * @lease: in state returning or dying
 *
 * Context: the lease's worker; no locks held.
 */
void borrower_lease_teardown(struct borrower_lease *lease)
{
	struct borrower_shadow *shadow = lease->shadow;

	borrower_irq_watch_stop(lease);
	if (shadow)
		borrower_bridge_unbind(shadow);
	complete_all(&lease->unbound);
	if (shadow) {
		borrower_bridge_remove(shadow);
		borrower_config_stop(&shadow->config);
	}
	if (lease->granted)
		removal_return(lease);

	mutex_lock(&lease->lock);
	borrower_irq_destroy(lease);
	borrower_windows_detach(&lease->windows);
	borrower_memory_unexpose(&lease->memory, lease->link);
	removal_release_memory(lease);
	lease->shadow = NULL;
	mutex_unlock(&lease->lock);

	if (lease->probe_page)
		__free_page(lease->probe_page);
	lease->probe_page = NULL;
	if (shadow)
		borrower_bridge_put(shadow);
}
