// SPDX-License-Identifier: GPL-2.0
/*
 * The PCI driver that lent devices are bound to: it holds them, so that nobody else does,
 * and hears what the PCI core does to them.
 *
 * It binds nothing by itself (no ids), and refuses what was bound to it by hand: only
 * lend.c makes a device welcome. While bound, the device is in D0, enabled, its memory decoding,
 * its bus mastering off unless a borrower switched it on, its INTx disabled.
 *
 * All callbacks run under the device's own lock, some under the rescan lock too. They take
 * lender_dev.lock inside, never call the peer and never wait for the worker, which may be
 * waiting for that same device lock. A lease that is in the way is cut at once: its
 * registers are closed and the device is stopped before the callback returns; the worker tells the
 * borrower afterwards.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/pci.h>

#include "bars.h"
#include "doorbell.h"
#include "iommu.h"
#include "lent.h"
#include "quiesce.h"
#include "trace.h"

static int driver_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct lender_dev *lent = lender_find_pdev(pdev);
	int err;

	if (!lent) {
		pci_err(pdev, "not bound: write its address to the lend attribute of this driver instead\n");
		return -ENODEV;
	}
	err = -EBUSY;
	if (READ_ONCE(lent->state) != LENDER_TAKING)
		goto put;
	/* what its driver left switched on must not go on in another domain */
	pci_clear_master(pdev);
	err = lender_iommu_attach(lent);
	if (err)
		goto put;
	err = pci_enable_device(pdev);
	if (err)
		goto detach;
	pci_clear_master(pdev);
	pci_intx(pdev, 0);
	err = pci_save_state(pdev);
	if (err)
		goto disable;
	lent->saved = pci_store_saved_state(pdev);
	err = -ENOMEM;
	if (!lent->saved)
		goto disable;
	if (!lent->bridge)
		lent->bridge = pci_dev_get(pci_upstream_bridge(pdev));
	mutex_lock(&lent->lock);
	lent->bound = true;
	mutex_unlock(&lent->lock);
	/* the reference goes with the binding: driver_remove() drops it */
	pci_set_drvdata(pdev, lent);
	return 0;
disable:
	pci_disable_device(pdev);
detach:
	lender_iommu_detach(lent);
put:
	lender_put(lent);
	return err;
}

/* End a lease from a callback: on return nothing reaches the device, and it masters no bus. */
static void driver_cut(struct lender_dev *lent, enum lender_end end)
{
	mutex_lock(&lent->lock);
	lender_lease_void(lent, end);
	lender_bars_close(lent);
	lender_doorbell_free(lent);
	mutex_unlock(&lent->lock);
}

static void driver_remove(struct pci_dev *pdev)
{
	struct lender_dev *lent = pci_get_drvdata(pdev);
	bool orderly;

	driver_cut(lent, LENDER_END_REMOVED);
	mutex_lock(&lent->lock);
	orderly = lent->state == LENDER_RECLAIMING;
	lent->bound = false;
	wake_up_all(&lent->wait);
	mutex_unlock(&lent->lock);
	if (!orderly)
		lender_quiesce_locked(lent);
	lender_iommu_detach(lent);
	pci_load_and_free_saved_state(pdev, &lent->saved);
	if (pdev->state_saved)
		pci_restore_state(pdev);
	pci_intx(pdev, 1);
	pci_disable_device(pdev);
	pci_set_drvdata(pdev, NULL);
	if (!orderly)
		lender_kick(lent, LENDER_DO_UNBOUND);
	lender_put(lent);
}

/*
 * This host reboots, halts, or boots another kernel by kexec. Links that are older than the device
 * still stand; those that are younger have said goodbye, and its lease is void by then.
 */
static void driver_shutdown(struct pci_dev *pdev)
{
	struct lender_dev *lent = pci_get_drvdata(pdev);

	mutex_lock(&lent->lock);
	/* the worker offers it again, and a link may still stand */
	lent->asleep = true;
	if (lent->state == LENDER_BORROWED)
		pci_warn(pdev, "this host shuts down while it is borrowed: the lease ends\n");
	lender_lease_void(lent, LENDER_END_SHUTDOWN);
	lender_bars_close(lent);
	lender_doorbell_free(lent);
	mutex_unlock(&lent->lock);
	lender_quiesce_locked(lent);
}

static bool driver_in_use(struct lender_dev *lent)
{
	bool in_use;

	mutex_lock(&lent->lock);
	in_use = lent->state == LENDER_BORROWED || lent->state == LENDER_RETURNING;
	mutex_unlock(&lent->lock);
	return in_use;
}

/* Before anything was suspended: refuse while another host, or the worker, has the device. */
static int driver_pm_prepare(struct device *dev)
{
	struct lender_dev *lent = dev_get_drvdata(dev);
	enum lender_state state;

	mutex_lock(&lent->lock);
	state = lent->state;
	/* and from here on, until this host is awake again, nobody gets it */
	lent->asleep = state == LENDER_OFFERED || state == LENDER_QUARANTINED;
	mutex_unlock(&lent->lock);
	if (lent->asleep)
		return 0;
	if (state == LENDER_BORROWED)
		dev_err(dev, "this host cannot sleep: the device is in use by another host; reclaim it first\n");
	else
		dev_err(dev, "this host cannot sleep yet: the device is being reset; try again\n");
	return -EBUSY;
}

static void driver_pm_complete(struct device *dev)
{
	struct lender_dev *lent = dev_get_drvdata(dev);

	mutex_lock(&lent->lock);
	lent->asleep = false;
	mutex_unlock(&lent->lock);
}

static const struct dev_pm_ops driver_pm_ops = {
	.prepare = driver_pm_prepare,
	.complete = driver_pm_complete,
};

/* A reset of this host's making (sysfs, or an error): not under a borrower's feet. */
static void driver_reset_prepare(struct pci_dev *pdev)
{
	struct lender_dev *lent = pci_get_drvdata(pdev);

	if (driver_in_use(lent))
		pci_warn(pdev, "reset on this host while borrowed: the lease ends\n");
	mutex_lock(&lent->lock);
	lender_upset(lent);
	lender_bars_close(lent);
	mutex_unlock(&lent->lock);
}

static void driver_reset_done(struct pci_dev *pdev)
{
	trace_lender_step(pdev, "foreign reset", 0);
}

/*
 * The worker resets the device, when the PCI core has done with it: driver_resume(). So from the
 * bus above nothing is wanted where registers can be reached; the device's neighbours are
 * spared.
 */
static pci_ers_result_t driver_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct lender_dev *lent = pci_get_drvdata(pdev);
	bool lost = state == pci_channel_io_perm_failure;

	pci_err(pdev, "PCI error (channel state %u): the lease, if there is one, ends\n", state);
	mutex_lock(&lent->lock);
	lender_failed(lent, !lost);
	lender_bars_close(lent);
	mutex_unlock(&lent->lock);
	if (lost)
		return PCI_ERS_RESULT_DISCONNECT;
	return state == pci_channel_io_frozen ? PCI_ERS_RESULT_NEED_RESET :
						PCI_ERS_RESULT_CAN_RECOVER;
}

static pci_ers_result_t driver_slot_reset(struct pci_dev *pdev)
{
	struct lender_dev *lent = pci_get_drvdata(pdev);

	if (pci_load_saved_state(pdev, lent->saved))
		return PCI_ERS_RESULT_DISCONNECT;
	pci_restore_state(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void driver_resume(struct pci_dev *pdev)
{
	struct lender_dev *lent = pci_get_drvdata(pdev);

	trace_lender_step(pdev, "recovered", 0);
	mutex_lock(&lent->lock);
	lender_recovered(lent);
	mutex_unlock(&lent->lock);
}

static const struct pci_error_handlers driver_error_handlers = {
	.error_detected = driver_error_detected,
	.slot_reset = driver_slot_reset,
	.resume = driver_resume,
	.reset_prepare = driver_reset_prepare,
	.reset_done = driver_reset_done,
};

struct pci_driver lender_pci_driver = {
	.name = LENDER_DRIVER_NAME,
	.probe = driver_probe,
	.remove = driver_remove,
	.shutdown = driver_shutdown,
	.err_handler = &driver_error_handlers,
	.groups = lender_driver_groups,
	.driver.pm = &driver_pm_ops,
	/* what the device may address is this module's to decide, not the DMA API's */
	.driver_managed_dma = true,
};
