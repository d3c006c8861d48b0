// SPDX-License-Identifier: GPL-2.0
/*
 * The atomic lane: operations of a borrower that cannot wait for a worker.
 *
 * Served in hard-IRQ context, called by the core. A raw spinlock protects the list of live
 * leases and all that these operations may see; what they decide is in atomic_check.c, and
 * here it is carried out by config accessors. A lease that is not in the list cannot touch its
 * device: lender_atomic_close() is the moment at which a lease ends, and it switches bus
 * mastering off in the same breath.
 *
 * The raw lock is the innermost lock of this module; the PCI core's config lock is taken inside it.
 */
#include <linux/list.h>
#include <linux/pci.h>
#include <linux/spinlock.h>

#include "atomic.h"
#include "doorbell.h"
#include "lent.h"
#include "trace.h"

/* Protects atomic_live, and the last five members of each struct lender_dev. */
static DEFINE_RAW_SPINLOCK(atomic_lock);
static LIST_HEAD(atomic_live);

/* A config write and, for what must have happened before the answer, a look at it. */
static bool atomic_apply(struct pci_dev *pdev, const struct lender_atomic_write *w)
{
	u16 word = 0;

	if (w->size == 4) {
		pci_write_config_dword(pdev, w->pos, w->set);
		return true;
	}
	if (w->clear != ~0u) {
		pci_read_config_word(pdev, w->pos, &word);
		if (PCI_POSSIBLE_ERROR(word))
			return false;
	}
	pci_write_config_word(pdev, w->pos, (word & ~w->clear) | w->set);
	if (w->clear == ~0u)
		return true;
	pci_read_config_word(pdev, w->pos, &word);
	return (word & w->clear) == w->set;
}

static struct lender_dev *atomic_find(struct devlend_link *link, u32 random)
{
	struct lender_dev *lent;

	list_for_each_entry(lent, &atomic_live, live)
		if (lent->random == random && lent->live_link == link)
			return lent;
	return NULL;
}

/**
 * lender_atomic_open() - a lease is granted: let its operations through
 * @lent: the device; its lock is held
 * @link: over which link
 * @random: random half of the lease's handle
 *
 * Context: process.
 * Return: false where @random is 0 or names another lease already.
 */
bool lender_atomic_open(struct lender_dev *lent, struct devlend_link *link, u32 random)
{
	struct pci_dev *pdev = lent->pdev;
	struct lender_dev *other;
	unsigned long flags;
	u16 msi_flags = 0;
	bool ok = random;

	if (pdev->msi_cap)
		pci_read_config_word(pdev, pdev->msi_cap + PCI_MSI_FLAGS, &msi_flags);
	raw_spin_lock_irqsave(&atomic_lock, flags);
	list_for_each_entry(other, &atomic_live, live)
		if (other->random == random)
			ok = false;
	if (ok) {
		lent->live_link = link;
		lent->random = random;
		lent->atomic = (struct lender_atomic) {
			.msi_pos = pdev->msi_cap,
			.msi_flags = msi_flags,
			.msix_pos = pdev->msix_cap,
			.can_flr = pdev->reset_methods[0],
		};
		list_add(&lent->live, &atomic_live);
	}
	raw_spin_unlock_irqrestore(&atomic_lock, flags);
	return ok;
}

/**
 * lender_atomic_close() - the lease ends: no operation gets through, bus mastering is off
 * @lent: the device; its lock is held
 *
 * Context: process.
 */
void lender_atomic_close(struct lender_dev *lent)
{
	const struct lender_atomic_write off = {
		.pos = PCI_COMMAND, .size = 2, .clear = PCI_COMMAND_MASTER,
	};
	unsigned long flags;

	raw_spin_lock_irqsave(&atomic_lock, flags);
	if (!list_empty(&lent->live)) {
		list_del_init(&lent->live);
		atomic_apply(lent->pdev, &off);
	}
	lent->live_link = NULL;
	lent->random = 0;
	raw_spin_unlock_irqrestore(&atomic_lock, flags);
}

/**
 * lender_atomic_attach() - the map list of a lease is there: allow what needs it
 * @lent: the device; its lock is held
 * @map: the list
 * @maps: its entries, at most %DEVLEND_MAP_ENTRIES_MAX; 0 = the list goes, and nothing that needs
 *	one is allowed any more
 *
 * Context: process. Return: 0; -EBUSY where the device, or this host for it, is at work by the
 * list before.
 */
int lender_atomic_attach(struct lender_dev *lent, const struct lender_map *map, unsigned int maps)
{
	struct lender_atomic *st = &lent->atomic;
	unsigned long flags;
	unsigned int i;
	u16 command;
	int err = 0;

	raw_spin_lock_irqsave(&atomic_lock, flags);
	pci_read_config_word(lent->pdev, PCI_COMMAND, &command);
	/* the words of events lie where the list before says */
	if (command & PCI_COMMAND_MASTER || lent->doorbell) {
		err = -EBUSY;
		goto unlock;
	}
	st->ranges = 0;
	for (i = 0; i < maps; i++) {
		if (map[i].kind != DEVLEND_MAP_MSI)
			continue;
		st->range[st->ranges].start = map[i].lender_bus;
		st->range[st->ranges++].length = map[i].length;
	}
	st->attached = maps;
unlock:
	raw_spin_unlock_irqrestore(&atomic_lock, flags);
	return err;
}

/**
 * lender_atomic_busy() - does the borrower's driver use the device already?
 * @lent: the device; its lock is held
 *
 * Context: process. Return: whether MSI or MSI-X is on, or a reset under way.
 */
bool lender_atomic_busy(struct lender_dev *lent)
{
	unsigned long flags;
	bool busy;

	raw_spin_lock_irqsave(&atomic_lock, flags);
	busy = lent->atomic.msi_on || lent->atomic.msix_on || lent->atomic.resetting;
	raw_spin_unlock_irqrestore(&atomic_lock, flags);
	return busy;
}

/**
 * lender_atomic_take() - the device's interrupts are this host's from now on, or not any more
 * @lent: the device; its lock is held
 * @db: those that are; NULL = the lease is over
 *
 * Context: process.
 */
void lender_atomic_take(struct lender_dev *lent, struct lender_doorbell *db)
{
	unsigned int messages = 0;
	unsigned long flags;
	u64 addr = 0;
	u32 data = 0;

	if (db)
		messages = lender_doorbell_message(db, &addr, &data);
	raw_spin_lock_irqsave(&atomic_lock, flags);
	lent->doorbell = db;
	if (db)
		lender_atomic_taken(&lent->atomic, lender_doorbell_flags(db), messages, addr, data);
	raw_spin_unlock_irqrestore(&atomic_lock, flags);
}

/* Is a reset asked for by the borrower under way? Context: process. */
bool lender_atomic_resetting(struct lender_dev *lent)
{
	unsigned long flags;
	bool resetting;

	raw_spin_lock_irqsave(&atomic_lock, flags);
	resetting = !list_empty(&lent->live) && lent->atomic.resetting;
	raw_spin_unlock_irqrestore(&atomic_lock, flags);
	return resetting;
}

/* Has the borrower enabled MSI-X? Context: process. */
bool lender_atomic_msix_on(struct lender_dev *lent)
{
	unsigned long flags;
	bool on;

	raw_spin_lock_irqsave(&atomic_lock, flags);
	on = lent->atomic.msix_on;
	raw_spin_unlock_irqrestore(&atomic_lock, flags);
	return on;
}

/* May the borrower reset the device? The same for all of a lease. Context: process. */
bool lender_atomic_can_flr(struct lender_dev *lent)
{
	unsigned long flags;
	bool can;

	raw_spin_lock_irqsave(&atomic_lock, flags);
	can = lent->atomic.can_flr;
	raw_spin_unlock_irqrestore(&atomic_lock, flags);
	return can;
}

/* The reset that the borrower asked for is done. Context: process. */
void lender_atomic_reset_done(struct lender_dev *lent)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&atomic_lock, flags);
	lender_atomic_forget(&lent->atomic);
	lent->atomic.resetting = false;
	raw_spin_unlock_irqrestore(&atomic_lock, flags);
}

/**
 * lender_atomic_find() - the device of a live lease
 * @link: over which the peer spoke
 * @random: random half of the handle that it named
 *
 * Context: process. Return: the device with a reference for the caller, or NULL.
 */
struct lender_dev *lender_atomic_find(struct devlend_link *link, u32 random)
{
	struct lender_dev *lent;
	unsigned long flags;

	raw_spin_lock_irqsave(&atomic_lock, flags);
	lent = atomic_find(link, random);
	if (lent)
		lender_get(lent);
	raw_spin_unlock_irqrestore(&atomic_lock, flags);
	return lent;
}

/**
 * lender_atomic_serve() - serve one operation
 * @link: from whom
 * @op: &enum devlend_atomic_op, unchecked
 * @random: random half of the lease's handle, unchecked
 * @arg: argument, unchecked
 *
 * Context: hard IRQ, or interrupts off.
 * Return: the status for the borrower.
 */
enum devlend_status lender_atomic_serve(struct devlend_link *link, u8 op, u32 random, u32 arg)
{
	enum devlend_status status = DEVLEND_E_STALE;
	struct lender_atomic_action act;
	struct lender_dev *lent;
	unsigned long flags;
	unsigned int i;

	raw_spin_lock_irqsave(&atomic_lock, flags);
	lent = random ? atomic_find(link, random) : NULL;
	if (lent)
		status = lender_atomic_check(&lent->atomic, op, arg, &act);
	if (lent && status == DEVLEND_OK) {
		for (i = 0; i < act.writes; i++)
			if (!atomic_apply(lent->pdev, &act.write[i]))
				status = DEVLEND_E_IO;
	}
	if (lent && status == DEVLEND_OK && act.intx && lent->doorbell)
		lender_doorbell_intx(lent->doorbell, arg);
	/* the list's own reference outlives this: it goes after the lease left this list */
	if (lent && act.flr)
		lender_kick(lent, LENDER_DO_FLR);
	raw_spin_unlock_irqrestore(&atomic_lock, flags);
	trace_lender_atomic(op, random, arg, status);
	return status;
}
