// SPDX-License-Identifier: GPL-2.0
/*
 * Bringing a device to rest: bus mastering off, drained, interrupts off, reset, ready, state
 * restored. What the next user finds is what the driver left when the device was taken.
 *
 * Called when a device is taken, when a lease ends, and for a reset that a borrower asked
 * for; by the device's worker without locks, or by callbacks of the PCI core that hold
 * the device's own lock. The caller has closed the borrower's way to the registers first, so
 * nothing can start the device again meanwhile.
 *
 * Sleeps: up to 0.7 s to drain, and as long as the PCI core waits for a device after a reset
 * (60 s). A device that does not come back is an error here, and quarantined by the caller.
 *
 * Locks: the upstream bridge's, then the device's own, as the PCI core's own resets take
 * them. They keep remove(), bind and sysfs resets away.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/pci.h>

#include "lent.h"
#include "quiesce.h"
#include "trace.h"

/* No DMA from here on, no message either: a message is a DMA write. */
static int quiesce_stop(struct pci_dev *pdev)
{
	u16 command;

	pci_read_config_word(pdev, PCI_COMMAND, &command);
	if (PCI_POSSIBLE_ERROR(command))
		return -ENODEV;
	pci_write_config_word(pdev, PCI_COMMAND, command & ~PCI_COMMAND_MASTER);
	pci_read_config_word(pdev, PCI_COMMAND, &command);
	return command & PCI_COMMAND_MASTER ? -EIO : 0;
}

static void quiesce_interrupts(struct pci_dev *pdev)
{
	u16 flags;

	if (pdev->msi_cap) {
		pci_read_config_word(pdev, pdev->msi_cap + PCI_MSI_FLAGS, &flags);
		pci_write_config_word(pdev, pdev->msi_cap + PCI_MSI_FLAGS,
				      flags & ~(PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE));
	}
	if (pdev->msix_cap) {
		pci_read_config_word(pdev, pdev->msix_cap + PCI_MSIX_FLAGS, &flags);
		pci_write_config_word(pdev, pdev->msix_cap + PCI_MSIX_FLAGS,
				      flags & ~(PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL));
	}
}

/* @any: any kind of reset; else only one that needs nothing of the bridge above */
static int quiesce_reset(struct lender_dev *lent, bool any)
{
	struct pci_dev *pdev = lent->pdev;
	int err;

	pci_set_power_state(pdev, PCI_D0);
	/* nothing may be decoded while the base registers are not what they were */
	pci_write_config_word(pdev, PCI_COMMAND, PCI_COMMAND_INTX_DISABLE);
	err = any ? __pci_reset_function_locked(pdev) : pcie_reset_flr(pdev, PCI_RESET_DO_RESET);
	if (err == -ENOTTY && lent->forced)
		return 0;
	return err;
}

/* Base registers as the PCI core knows them? Those of virtual functions are not there. */
static int quiesce_verify(struct pci_dev *pdev)
{
	int i;

	if (pdev->is_virtfn)
		return 0;
	for (i = 0; i < DEVLEND_BARS; i++) {
		const struct resource *res = &pdev->resource[i];
		u32 bar;

		if (!pci_resource_len(pdev, i) || !(res->flags & IORESOURCE_MEM))
			continue;
		pci_read_config_dword(pdev, PCI_BASE_ADDRESS_0 + 4 * i, &bar);
		bar &= (u32)PCI_BASE_ADDRESS_MEM_MASK;
		if (bar != lower_32_bits(pci_bus_address(pdev, i)))
			return -EIO;
	}
	return 0;
}

static int quiesce_restore(struct lender_dev *lent)
{
	struct pci_dev *pdev = lent->pdev;
	int err = pci_load_saved_state(pdev, lent->saved);

	if (err)
		return err;
	pci_restore_state(pdev);
	return quiesce_verify(pdev);
}

/* All steps; the device's own lock is held, and it is bound. */
static int quiesce_steps(struct lender_dev *lent, bool any_reset)
{
	struct pci_dev *pdev = lent->pdev;
	int err = quiesce_stop(pdev), restored;

	trace_lender_step(pdev, "stop", err);
	if (err)
		return err;
	if (!pci_wait_for_pending_transaction(pdev))
		dev_warn_ratelimited(&pdev->dev, "transactions still pending after bus mastering went off; the reset follows anyway\n");
	quiesce_interrupts(pdev);
	err = quiesce_reset(lent, any_reset);
	trace_lender_step(pdev, "reset", err);
	restored = quiesce_restore(lent);
	trace_lender_step(pdev, "restore", restored);
	return err ?: restored;
}

/**
 * lender_quiesce() - bring a device to rest
 * @lent: the device; registers closed to the borrower
 *
 * Context: process, no locks held; sleeps.
 * Return: 0; -ENODEV where it is not bound to this driver any more, or does not answer;
 * -ENOTTY, -EIO where it could not be reset or did not come back as it was.
 */
int lender_quiesce(struct lender_dev *lent)
{
	struct pci_dev *pdev = lent->pdev;
	struct pci_dev *bridge = lent->bridge;
	int err = -ENODEV;

	if (bridge)
		pci_dev_lock(bridge);
	pci_dev_lock(pdev);
	if (lent->bound)
		err = quiesce_steps(lent, true);
	pci_dev_unlock(pdev);
	if (bridge)
		pci_dev_unlock(bridge);
	return err;
}

/**
 * lender_quiesce_locked() - the same, from a callback of the PCI core
 * @lent: the device; its own lock is held by the caller
 *
 * The bridge's lock comes first in order, so it is only tried for: without it, only a
 * function level reset is made. Context: process; sleeps.
 * Return: as lender_quiesce().
 */
int lender_quiesce_locked(struct lender_dev *lent)
{
	struct pci_dev *pdev = lent->pdev;
	struct pci_dev *bridge = lent->bridge;
	bool locked = bridge && pci_dev_trylock(bridge);
	int err;

	device_lock_assert(&pdev->dev);
	pci_cfg_access_lock(pdev);
	err = quiesce_steps(lent, locked || !bridge);
	pci_cfg_access_unlock(pdev);
	if (locked)
		pci_dev_unlock(bridge);
	return err;
}
