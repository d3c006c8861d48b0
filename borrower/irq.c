// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts of the shadow: by which way they arrive.
 *
 * One interface, struct borrower_irq_ops, with a mode for each kind of host:
 *
 * direct   The lent device writes its message straight to this host's interrupt range, through
 *          the NTB: irq_message.c.
 * vectors  The same where this host remaps interrupts, and checks who sent a message: what
 *          arrives carries the NTB function's requester id.
 * doorbell The lender's CPU takes the interrupt and tells it; INTx too: irq_doorbell.c.
 *
 * The mode is chosen for a lease when it begins: the one that the offer's irq_mode asks for, or
 * the first that can work. Before a driver is near, the way is tried; one that does not
 * deliver gives way to the next, unless it was forced.
 *
 * Called by borrow.c and removal.c in the lease's worker. Owns nothing; no locks.
 */
#include <linux/irqdomain.h>
#include <linux/pci.h>
#include <linux/string.h>

#include "irq.h"
#include "lease.h"

/* in the order in which they are tried */
static const struct borrower_irq_ops *const irq_modes[BORROWER_IRQ_MODES] = {
	[BORROWER_IRQ_DIRECT] = &borrower_irq_direct,
	[BORROWER_IRQ_VECTORS] = &borrower_irq_vectors,
	[BORROWER_IRQ_DOORBELL] = &borrower_irq_doorbell,
};

/**
 * borrower_irq_mode_name() - a mode as the attributes have it
 * @mode: the mode, or auto
 *
 * Context: any. Return: constant text.
 */
const char *borrower_irq_mode_name(enum borrower_irq_mode mode)
{
	return irq_modes[mode] ? irq_modes[mode]->name : "auto";
}

/**
 * borrower_irq_mode_parse() - the mode that a text names
 * @text: as written to an attribute
 *
 * Context: any. Return: an &enum borrower_irq_mode; -EINVAL.
 */
int borrower_irq_mode_parse(const char *text)
{
	int mode;

	for (mode = BORROWER_IRQ_AUTO; mode < BORROWER_IRQ_MODES; mode++)
		if (sysfs_streq(text, borrower_irq_mode_name(mode)))
			return mode;
	return -EINVAL;
}

/* The first mode from @mode on that can work, after one log line NULL. */
static const struct borrower_irq_ops *irq_first(struct borrower_lease *lease,
						enum borrower_irq_mode mode)
{
	const char *why = NULL;

	lockdep_assert_held(&lease->lock);
	for (; mode < BORROWER_IRQ_MODES; mode++) {
		const char *one = irq_modes[mode]->unusable(lease);

		if (!one)
			return irq_modes[mode];
		/* what keeps the first from working is what an operator can change */
		why = why ?: one;
		if (mode == lease->irq.want)
			break;
	}
	dev_err(&lease->dev, "interrupt mode %s cannot be had: %s\n",
		borrower_irq_mode_name(lease->irq.want), why);
	return NULL;
}

/* A device without messages has INTx, or no interrupts. */
static enum borrower_irq_mode irq_from(const struct borrower_lease *lease)
{
	if (lease->irq.want != BORROWER_IRQ_AUTO)
		return lease->irq.want;
	if (!lease->offer.msi_vectors && !lease->offer.msix_vectors &&
	    !borrower_irq_doorbell.unusable(lease))
		return BORROWER_IRQ_DOORBELL;
	return BORROWER_IRQ_AUTO + 1;
}

/**
 * borrower_irq_choose() - choose the mode of a lease
 * @lease: fresh; &borrower_irq.want is set
 *
 * Context: the lease's worker; no locks held.
 * Return: 0; after one log line -EOPNOTSUPP where the mode that is wanted, or with auto any, cannot
 * work here; -ENOLINK.
 */
int borrower_irq_choose(struct borrower_lease *lease)
{
	int err = -ENOLINK;

	mutex_lock(&lease->lock);
	if (!lease->dead) {
		WRITE_ONCE(lease->irq.ops, irq_first(lease, irq_from(lease)));
		err = lease->irq.ops ? 0 : -EOPNOTSUPP;
	}
	mutex_unlock(&lease->lock);
	return err;
}

/**
 * borrower_irq_create() - make the interrupt domain of a lease
 * @lease: attached; its windows are
 *
 * Context: process; the lease's lock is held. Return: 0, or an errno after one log line.
 */
int borrower_irq_create(struct borrower_lease *lease)
{
	int err;

	lockdep_assert_held(&lease->lock);
	err = lease->irq.ops->create(lease);
	lease->irq.created = !err;
	return err;
}

/**
 * borrower_irq_domain_drop() - for a mode: remove the interrupt domain, and what names it
 * @irq: with both, with the name alone, or with neither
 *
 * Context: process.
 */
void borrower_irq_domain_drop(struct borrower_irq *irq)
{
	if (irq->domain)
		irq_domain_remove(irq->domain);
	if (irq->fwnode)
		irq_domain_free_fwnode(irq->fwnode);
	irq->domain = NULL;
	irq->fwnode = NULL;
}

/**
 * borrower_irq_destroy() - remove the interrupt domain; no device uses it any more
 * @lease: may have none
 *
 * Context: process; the lease's lock is held.
 */
void borrower_irq_destroy(struct borrower_lease *lease)
{
	lockdep_assert_held(&lease->lock);
	if (lease->irq.created)
		lease->irq.ops->destroy(lease);
	lease->irq.created = false;
}

/* Give up the mode in force, because of @cause, for the next one that can work. */
static int irq_fall_back(struct borrower_lease *lease, int cause)
{
	const struct borrower_irq_ops *next;
	enum borrower_irq_mode mode;
	int err = -ENOLINK;

	mutex_lock(&lease->lock);
	borrower_irq_destroy(lease);
	if (lease->dead)
		goto unlock;
	for (mode = BORROWER_IRQ_AUTO + 1; irq_modes[mode] != lease->irq.ops; mode++)
		;
	err = cause;
	if (lease->irq.want != BORROWER_IRQ_AUTO || ++mode == BORROWER_IRQ_MODES)
		goto unlock;
	next = irq_first(lease, mode);
	if (!next)
		goto unlock;
	dev_warn(&lease->dev, "falls back to interrupt mode %s\n", next->name);
	WRITE_ONCE(lease->irq.ops, next);
	if (!next->messages)
		borrower_memory_close_msi(&lease->memory, lease->link);
	err = borrower_irq_create(lease);
unlock:
	mutex_unlock(&lease->lock);
	return err;
}

/**
 * borrower_irq_prove() - see that the chosen way is open, or take another
 * @lease: its interrupt domain is made, no bridge has it yet
 *
 * Context: the lease's worker; no locks held. Return: 0 with the mode in force proven; else an
 * errno after one log line; -ENOTCONN or -ENOLINK without one where the link is lost.
 */
int borrower_irq_prove(struct borrower_lease *lease)
{
	int err;

	for (;;) {
		const struct borrower_irq_ops *ops = lease->irq.ops;

		err = ops->prove ? ops->prove(lease) : 0;
		/* of a lender that is lost no way is open; the call may know first */
		if (!err || err == -ENOTCONN || READ_ONCE(lease->dead))
			return err;
		err = irq_fall_back(lease, err);
		if (err)
			return err;
	}
}
