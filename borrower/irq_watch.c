// SPDX-License-Identifier: GPL-2.0
/*
 * Watchdog of the device's own interrupts.
 *
 * The private vector of irq_proof.c shows that what the lender's CPU writes arrives. What the
 * device itself writes carries another requester id, which some NTBs admit only where it is in a
 * table, and which ACS may keep from the NTB. That way is open when the first interrupt has
 * come: the domain's irq_ack notes it. Where none has come for a while after the driver switched
 * interrupts and bus mastering on, one line of the log says what that may mean. An idle device
 * is silent too, so nothing is done about it, and the first interrupt ends the watch.
 *
 * Work of a lease, from its scan to its end. Takes the lease's lock. Owns &borrower_irq.armed.
 */
#include <linux/jiffies.h>
#include <linux/pci.h>

#include "irq.h"
#include "lease.h"
#include "shadow.h"

/* For so long an enabled device may be silent before it is said, ms */
#define IRQ_SILENT_MS	10000
/* How often it is looked, ms */
#define IRQ_WATCH_MS	1000

/* Can the device send interrupts? The lease's lock is held. */
static bool irq_watch_enabled(struct borrower_lease *lease)
{
	struct borrower_shadow *shadow = lease->shadow;
	struct pci_dev *pdev = shadow ? shadow->pdev : NULL;

	/* by doorbell no requester id is in the way */
	return pdev && !lease->doorbell && (pdev->msi_enabled || pdev->msix_enabled) &&
	       borrower_config_read(&shadow->config, PCI_COMMAND, 2) & PCI_COMMAND_MASTER;
}

/* Return: whether to look again. */
static bool irq_watch_look(struct borrower_lease *lease)
{
	struct borrower_irq *irq = &lease->irq;

	lockdep_assert_held(&lease->lock);
	if (READ_ONCE(irq->seen) || lease->dead)
		return false;
	if (!irq_watch_enabled(lease)) {
		irq->armed = 0;
		return true;
	}
	if (!irq->armed)
		irq->armed = jiffies | 1;
	if (irq->silent || time_before(jiffies, irq->armed + msecs_to_jiffies(IRQ_SILENT_MS)))
		return true;
	WRITE_ONCE(irq->silent, true);
	dev_warn(&lease->dev, "no interrupt of %s has come for %u s since its driver enabled them: if it is not idle, the lender's NTB does not admit its requester id, or ACS stops it\n",
		 lease->offer_name, IRQ_SILENT_MS / 1000);
	return true;
}

static void irq_watch_work(struct work_struct *work)
{
	struct borrower_lease *lease = container_of(to_delayed_work(work), struct borrower_lease,
						    irq.watch);
	bool again;

	mutex_lock(&lease->lock);
	again = irq_watch_look(lease);
	mutex_unlock(&lease->lock);
	if (again)
		borrower_irq_watch_start(lease);
}

/**
 * borrower_irq_watch_init() - prepare the watchdog
 * @lease: fresh
 *
 * Context: any.
 */
void borrower_irq_watch_init(struct borrower_lease *lease)
{
	INIT_DELAYED_WORK(&lease->irq.watch, irq_watch_work);
}

/**
 * borrower_irq_watch_start() - start it
 * @lease: its shadow is there; borrower_irq_watch_stop() is due before its end
 *
 * Context: process.
 */
void borrower_irq_watch_start(struct borrower_lease *lease)
{
	schedule_delayed_work(&lease->irq.watch, msecs_to_jiffies(IRQ_WATCH_MS));
}

/**
 * borrower_irq_watch_stop() - end it
 * @lease: started, or not
 *
 * Context: the lease's worker; no locks held; waits for one look.
 */
void borrower_irq_watch_stop(struct borrower_lease *lease)
{
	cancel_delayed_work_sync(&lease->irq.watch);
}
