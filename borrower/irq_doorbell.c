// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts of the shadow, mode "doorbell": the lender's CPU takes them and tells them.
 *
 * For each the lender counts in a word of a page here, and rings the event bell. Whoever hears that
 * looks at the words of all leases of the link, and delivers what has changed. So a bell says
 * "look", not "what": bells may be lost, or come twice, or several at once; the beat looks too, so
 * that a lost one costs a beat's time.
 *
 * The device's messages are the lender's. It tells them, and the PCI core here writes them into
 * the device's table or the shadow's capability as it would write our own; to enable and to mask
 * is the PCI core's as ever. What arrives is an event; the interrupt has no place on a CPU of its
 * own: it is handled where the NTB's interrupt arrives, and its affinity cannot be set.
 *
 * Called by borrow.c and removal.c in the lease's worker; by the core in hard IRQ
 * (borrower_doorbells_look()); the chip's functions by the interrupt core, some under a raw lock.
 *
 * The list of doorbells is read under RCU, and changed under doorbells_lock. The words are the
 * peer's: nothing is believed of them but that they changed.
 */
#include <linux/completion.h>
#include <linux/io.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "dma.h"
#include "irq_doorbell.h"
#include "lease.h"
#include "memory.h"
#include "probe.h"

/* The words in the lease's private page: behind the nonce of the memory probe. */
#define DOORBELL_OFFSET		SZ_256
/* The proof takes an interrupt on both hosts; longest time, ms */
#define DOORBELL_PROOF_MS	1000
/* number of a message in the hardware number that the PCI core makes */
#define DOORBELL_HWIRQ_MASK	0x7ffu

/* serialises changes of the list */
static DEFINE_MUTEX(doorbells_lock);
static LIST_HEAD(doorbells);

static void doorbell_deliver(struct borrower_doorbell *db, unsigned int event)
{
	unsigned int virq = READ_ONCE(db->virq[event]);

	if (!virq)
		return;
	WRITE_ONCE(db->irq->seen, true);
	generic_handle_irq_safe(virq);
}

static void doorbell_look(struct borrower_doorbell *db, bool rung)
{
	unsigned int event;

	for (event = 0; event < DEVLEND_EVENT_MESSAGE + db->messages; event++) {
		u32 word = READ_ONCE(db->words[event]);

		if (word == READ_ONCE(db->seen[event]))
			continue;
		WRITE_ONCE(db->seen[event], word);
		/* what the device wrote is read afterwards; pairs with the lender's doorbell.c */
		dma_rmb();
		if (!event && rung && !READ_ONCE(db->virq[0]))
			complete(&db->heard);
		doorbell_deliver(db, event);
	}
}

/**
 * borrower_doorbells_look() - deliver what lenders have told over a link
 * @link: the link
 * @rung: the event bell was heard
 *
 * Context: hard IRQ, or interrupts off.
 */
void borrower_doorbells_look(struct devlend_link *link, bool rung)
{
	struct borrower_doorbell *db;

	rcu_read_lock();
	list_for_each_entry_rcu(db, &doorbells, node)
		if (db->link == link)
			doorbell_look(db, rung);
	rcu_read_unlock();
}

/* --- the chip of messages ------------------------------------------------------ */

static unsigned int doorbell_event(irq_hw_number_t hwirq)
{
	return DEVLEND_EVENT_MESSAGE + (hwirq & DOORBELL_HWIRQ_MASK);
}

/**
 * borrower_doorbell_attach() - a message has an interrupt of this host now
 * @db: the lease's
 * @virq: the interrupt
 * @hwirq: as the PCI core numbers messages
 *
 * Context: process.
 */
void borrower_doorbell_attach(struct borrower_doorbell *db, unsigned int virq,
			      irq_hw_number_t hwirq)
{
	unsigned int event = doorbell_event(hwirq);

	if (event >= BORROWER_EVENTS)
		return;
	/* who wants to move it is told that it cannot be */
	irq_set_status_flags(virq, IRQ_NO_BALANCING);
	WRITE_ONCE(db->virq[event], virq);
}

/**
 * borrower_doorbell_detach() - it has none any more
 * @db: the lease's
 * @hwirq: as the PCI core numbers messages
 *
 * On return nobody delivers it: its number may be another's. Context: process, sleeps.
 */
void borrower_doorbell_detach(struct borrower_doorbell *db, irq_hw_number_t hwirq)
{
	unsigned int event = doorbell_event(hwirq);

	if (event >= BORROWER_EVENTS)
		return;
	WRITE_ONCE(db->virq[event], 0);
	irq_work_sync(&db->resend);
	/* pairs with the read side in borrower_doorbells_look() */
	synchronize_rcu_expedited();
}

static void doorbell_compose(struct irq_data *data, struct msi_msg *msg)
{
	struct borrower_doorbell *db = irq_data_get_irq_chip_data(data);
	unsigned int event = doorbell_event(data->hwirq);

	*msg = event - DEVLEND_EVENT_MESSAGE < db->messages ?
	       db->message[event - DEVLEND_EVENT_MESSAGE] : (struct msi_msg) { };
}

/* nothing to be acknowledged: a bell is, by the NTB's driver */
static void doorbell_ack(struct irq_data *data)
{
}

static int doorbell_set_affinity(struct irq_data *data, const struct cpumask *mask, bool force)
{
	return -EINVAL;
}

/* An event that came while its interrupt was disabled is not lost. */
static int doorbell_retrigger(struct irq_data *data)
{
	struct borrower_doorbell *db = irq_data_get_irq_chip_data(data);
	unsigned int event = doorbell_event(data->hwirq);

	if (event >= BORROWER_EVENTS)
		return 0;
	set_bit(event, db->again);
	irq_work_queue(&db->resend);
	return 1;
}

static void doorbell_resend(struct irq_work *work)
{
	struct borrower_doorbell *db = container_of(work, struct borrower_doorbell, resend);
	unsigned int event;

	for_each_set_bit(event, db->again, BORROWER_EVENTS)
		if (test_and_clear_bit(event, db->again))
			doorbell_deliver(db, event);
}

struct irq_chip borrower_doorbell_chip = {
	.name			= "devlend-bell",
	.irq_ack		= doorbell_ack,
	.irq_set_affinity	= doorbell_set_affinity,
	.irq_retrigger		= doorbell_retrigger,
	.irq_compose_msi_msg	= doorbell_compose,
	.flags			= IRQCHIP_SKIP_SET_WAKE,
};

/* --- beginning and end ------------------------------------------------------------ */

/* Is what the lender says it took possible? Take it over. */
static int doorbell_parse(struct borrower_doorbell *db, const struct devlend_wire_taken *taken,
			  size_t len, u32 asked)
{
	const u32 messages = DEVLEND_EVENTS_MSI | DEVLEND_EVENTS_MSIX;
	unsigned int i;

	if (len < sizeof(*taken))
		return -EPROTO;
	db->flags = le32_to_cpu(taken->flags);
	db->messages = le32_to_cpu(taken->count);
	if (!db->flags || db->flags & ~(messages | DEVLEND_EVENTS_INTX) ||
	    (db->flags & messages) == messages ||
	    db->messages > asked ||
	    !db->messages != !(db->flags & messages) ||
	    len != struct_size(taken, message, db->messages)) {
		db->messages = 0;
		return -EPROTO;
	}
	for (i = 0; i < db->messages; i++) {
		u64 address = le64_to_cpu(taken->message[i].address);

		db->message[i].address_lo = lower_32_bits(address);
		db->message[i].address_hi = upper_32_bits(address);
		db->message[i].data = le32_to_cpu(taken->message[i].data);
	}
	return 0;
}

/* With pci=nomsi no driver here is given a message: the lender is to take INTx only. */
static u32 doorbell_wants(void)
{
	return pci_msi_enabled() ? DEVLEND_EVENT_MESSAGES_MAX : 0;
}

/* EVENTS: from the answer on the lender tells. */
static int doorbell_ask(struct borrower_lease *lease, struct borrower_doorbell *db)
{
	struct devlend_wire_events events = {
		.index = cpu_to_le32(BORROWER_MAP_RAM),
		.messages = cpu_to_le32(doorbell_wants()),
		.offset = cpu_to_le64(db->offset + DOORBELL_OFFSET),
	};
	struct devlend_call call = {
		.op = DEVLEND_OP_EVENTS,
		.handle = lease->grant.handle,
		.data = &events,
		.len = sizeof(events),
		.reply_max = sizeof(struct devlend_wire_taken) +
			     DEVLEND_EVENT_MESSAGES_MAX * sizeof(struct devlend_wire_message),
	};
	int err;

	call.reply = kzalloc(call.reply_max, GFP_KERNEL);
	if (!call.reply)
		return -ENOMEM;
	err = devlend_call(lease->link, &call);
	if (err && err != -ENOTCONN)
		dev_err(&lease->dev, "the lender cannot take the interrupts of %s (%d); its log says why\n",
			lease->offer_name, err);
	if (!err)
		err = doorbell_parse(db, call.reply, call.reply_len, doorbell_wants());
	if (err == -EPROTO)
		dev_err(&lease->dev, "impossible answer about the interrupts of %s\n",
			lease->offer_name);
	kfree(call.reply);
	return err;
}

/* Have an event told that did not happen, and hear it. */
static int doorbell_hear(struct borrower_lease *lease, struct borrower_doorbell *db)
{
	int err = borrower_probe_event(lease, DEVLEND_EVENT_INTX);

	if (err)
		return err;
	if (wait_for_completion_timeout(&db->heard, msecs_to_jiffies(DOORBELL_PROOF_MS)))
		return 0;
	dev_err(&lease->dev, "the lender's event bell was not heard; does the NTB's driver here get its interrupts?\n");
	return -EIO;
}

/* What the shadow may show of interrupts. */
static void doorbell_limit(struct borrower_grant *grant, const struct borrower_doorbell *db)
{
	grant->hide_msi = !(db->flags & DEVLEND_EVENTS_MSI);
	grant->hide_msix = !(db->flags & DEVLEND_EVENTS_MSIX);
	grant->messages_max = db->messages;
	grant->intx = db->flags & DEVLEND_EVENTS_INTX;
}

static const char *doorbell_unusable(const struct borrower_lease *lease)
{
	return devlend_event_usable(lease->link) ? NULL :
	       "the NTB has not two doorbells that can be rung in an interrupt";
}

static struct borrower_doorbell *doorbell_alloc(struct borrower_lease *lease)
{
	struct borrower_doorbell *db = kzalloc(sizeof(*db), GFP_KERNEL);

	if (!db)
		return NULL;
	INIT_LIST_HEAD(&db->node);
	db->link = lease->link;
	db->irq = &lease->irq;
	db->words = page_address(lease->probe_page) + DOORBELL_OFFSET;
	db->resend = IRQ_WORK_INIT_HARD(doorbell_resend);
	init_completion(&db->heard);
	return db;
}

/* The lender is not asked yet: the lease's lock is held. */
static int doorbell_create(struct borrower_lease *lease)
{
	struct borrower_doorbell *db = doorbell_alloc(lease);
	struct borrower_irq *irq = &lease->irq;
	int err = -ENOMEM;

	if (!db)
		return -ENOMEM;
	irq->fwnode = irq_domain_alloc_named_fwnode(dev_name(&lease->dev));
	if (irq->fwnode)
		irq->domain = borrower_doorbell_domain_create(db, irq->fwnode);
	if (irq->domain)
		err = lease->dma->open_page(&lease->memory, lease->probe_page, &db->offset);
	if (!err) {
		db->open = true;
		lease->doorbell = db;
		return 0;
	}
	borrower_irq_domain_drop(irq);
	kfree(db);
	dev_err(&lease->dev, "no memory for interrupts by doorbell (%d)\n", err);
	return err;
}

/* A device that has no messages, nor INTx that can be told, may still be of use. */
static bool doorbell_dispensable(const struct borrower_lease *lease)
{
	return lease->irq.want == BORROWER_IRQ_AUTO && !lease->offer.msi_vectors &&
	       !lease->offer.msix_vectors;
}

/* A device that has messages, and gets none: say why, and what helps. */
static void doorbell_say_no_messages(struct borrower_lease *lease, int err)
{
	struct borrower_doorbell *db = lease->doorbell;

	if ((err && err != -EOPNOTSUPP) || db->messages ||
	    (!lease->offer.msi_vectors && !lease->offer.msix_vectors))
		return;
	if (!pci_msi_enabled())
		dev_warn(&lease->dev, "MSI is off on this host, so that %s has INTx only%s; boot without pci=nomsi\n",
			 lease->offer_name, err ? ", which cannot be told" : "");
	else if (!err)
		dev_warn(&lease->dev, "the lender takes no messages of %s, only INTx; its log says why\n",
			 lease->offer_name);
}

/* Have the lender take the interrupts, and see that it can tell them. */
static int doorbell_prove(struct borrower_lease *lease)
{
	struct borrower_doorbell *db = lease->doorbell;
	int err = doorbell_ask(lease, db);

	doorbell_say_no_messages(lease, err);
	if (err == -EOPNOTSUPP && doorbell_dispensable(lease)) {
		dev_info(&lease->dev, "%s has no interrupts that could be told\n",
			 lease->offer_name);
		return 0;
	}
	if (err)
		return err;
	mutex_lock(&doorbells_lock);
	list_add_rcu(&db->node, &doorbells);
	mutex_unlock(&doorbells_lock);
	err = doorbell_hear(lease, db);
	lease->irq.proven = !err;
	if (!err && db->flags & DEVLEND_EVENTS_INTX)
		err = borrower_line_create(db);
	if (!err)
		doorbell_limit(&lease->grant, db);
	return err;
}

/**
 * borrower_doorbell_close() - the lender does not reach the words any more
 * @lease: with a doorbell, or without; its lock is held
 *
 * Idempotent. Context: process.
 */
void borrower_doorbell_close(struct borrower_lease *lease)
{
	lockdep_assert_held(&lease->lock);
	if (!lease->doorbell || !lease->doorbell->open)
		return;
	lease->doorbell->open = false;
	if (lease->dma->close_page)
		lease->dma->close_page(&lease->memory);
}

static void doorbell_destroy(struct borrower_lease *lease)
{
	struct borrower_doorbell *db = lease->doorbell;

	mutex_lock(&doorbells_lock);
	if (!list_empty(&db->node))
		list_del_rcu(&db->node);
	mutex_unlock(&doorbells_lock);
	/* pairs with the read side in borrower_doorbells_look() */
	synchronize_rcu();
	irq_work_sync(&db->resend);
	borrower_line_destroy(db);
	borrower_irq_domain_drop(&lease->irq);
	borrower_doorbell_close(lease);
	lease->doorbell = NULL;
	kfree(db);
}

const struct borrower_irq_ops borrower_irq_doorbell = {
	.name = "doorbell",
	.unusable = doorbell_unusable,
	.create = doorbell_create,
	.prove = doorbell_prove,
	.destroy = doorbell_destroy,
};
