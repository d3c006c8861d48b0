// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts by doorbell: where the device's own messages do not reach its borrower, this host's
 * CPU takes them, and INTx, and tells them: it counts in a word of the borrower's memory
 * and rings the event bell.
 *
 * EVENTS asks for it, once in a lease, after ATTACH. This host then allocates the device's MSI-X
 * or MSI, as any driver does; what the borrower writes into the device's table or capability are
 * the messages that this host composed, which the reply tells. So to enable, to mask and to
 * unmask is the borrower's, as ever, and the device is in the mode that the borrower's driver
 * believes; only the address is another. A borrower that writes others does no more than it could
 * without this: what its device can send to this host is bounded by interrupt remapping, or by
 * nothing.
 *
 * Order. What the device wrote before its interrupt must be there when the borrower's
 * driver hears of it. (1) A read of the device's config space: its answer pushes the device's
 * writes before it. (2) The count is written through the window, and (3) read back: the answer
 * pushes all that was written through the window before. (4) The bell. Where the device's
 * writes and its answers take different ways, (1) does not help, and so this is best effort: PCI
 * Express orders what one requester sends to one place (base specification 6.0, 2.4.1).
 *
 * Called by grant.c, probe.c, lease.c and driver.c with lender_dev.lock held; by atomic.c in hard
 * IRQ under its lock; the handlers are called in hard IRQ.
 *
 * Locks: lender_doorbell.lock is raw, inside that of atomic.c, with the PCI core's config lock
 * inside. lender_dev.lock and, for the pointer to it, the lock of atomic.c protect the life of a
 * struct lender_doorbell; handlers have one because free_irq() waits for them.
 */
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/log2.h>
#include <linux/msi.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/pci.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <devlend/compat.h>

#include "atomic.h"
#include "doorbell.h"
#include "lent.h"
#include "trace.h"

#define DOORBELL_EVENTS		(DEVLEND_EVENT_MESSAGE + DEVLEND_EVENT_MESSAGES_MAX)

/**
 * struct doorbell_source - an interrupt of the device
 * @db: what contains this
 * @event: number of its word
 * @irq: this host's; 0 = not taken
 * @count: what is in its word; under the lock
 */
struct doorbell_source {
	struct lender_doorbell *db;
	unsigned int event;
	unsigned int irq;
	u32 count;
};

/**
 * struct lender_doorbell - the interrupts of a lent device, told by doorbell
 * @lock: protects @open and the counts, and makes a telling one
 * @pdev: the device; the lent device's reference
 * @link: over which it is lent; the lease's reference
 * @open: the lease lives: what was taken is told
 * @words: the borrower's words, through the window
 * @messages: vectors allocated
 * @flags: %DEVLEND_EVENTS_INTX and following
 * @source: by event
 */
struct lender_doorbell {
	raw_spinlock_t lock;	/* protects open and the counts */
	struct pci_dev *pdev;
	struct devlend_link *link;
	bool open;
	void __iomem *words;
	unsigned int messages;
	u32 flags;
	struct doorbell_source source[DOORBELL_EVENTS];
};

static void doorbell_tell_locked(struct doorbell_source *source)
{
	struct lender_doorbell *db = source->db;
	void __iomem *word = db->words + source->event * sizeof(u32);
	u16 vendor;

	if (!db->open)
		return;
	/* (1) pushes what the device wrote */
	pci_read_config_word(db->pdev, PCI_VENDOR_ID, &vendor);
	/* (2) and (3); pairs with dma_rmb() in the borrower's irq_doorbell.c */
	writel(++source->count, word);
	readl(word);
	/* (4) */
	devlend_event_ring(db->link);
}

static void doorbell_tell(struct doorbell_source *source)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&source->db->lock, flags);
	doorbell_tell_locked(source);
	raw_spin_unlock_irqrestore(&source->db->lock, flags);
}

static irqreturn_t doorbell_message(int irq, void *data)
{
	doorbell_tell(data);
	return IRQ_HANDLED;
}

/* A level: it stays masked until the borrower has served it. The line may be shared. */
static irqreturn_t doorbell_line(int irq, void *data)
{
	struct doorbell_source *source = data;

	if (!pci_check_and_mask_intx(source->db->pdev))
		return IRQ_NONE;
	doorbell_tell(source);
	return IRQ_HANDLED;
}

/* Whether or not it asks for service. */
static void doorbell_mask_line(struct pci_dev *pdev)
{
	u16 command;

	pci_read_config_word(pdev, PCI_COMMAND, &command);
	if (!(command & PCI_COMMAND_INTX_DISABLE))
		pci_write_config_word(pdev, PCI_COMMAND, command | PCI_COMMAND_INTX_DISABLE);
}

/**
 * lender_doorbell_intx() - the borrower masks INTx, or has served it
 * @db: the device's
 * @masked: which of the two
 *
 * Context: hard IRQ, the lock of atomic.c held.
 */
void lender_doorbell_intx(struct lender_doorbell *db, bool masked)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&db->lock, flags);
	if (!(db->flags & DEVLEND_EVENTS_INTX) || !db->open)
		goto unlock;
	if (masked)
		doorbell_mask_line(db->pdev);
	else if (!pci_check_and_unmask_intx(db->pdev))
		doorbell_tell_locked(&db->source[DEVLEND_EVENT_INTX]);
unlock:
	raw_spin_unlock_irqrestore(&db->lock, flags);
}

/*
 * This host allocated messages, which switched them on. They are off until the borrower's driver
 * wants them, for with them on there is no INTx.
 */
static void doorbell_gate(struct lender_doorbell *db)
{
	struct pci_dev *pdev = db->pdev;
	bool msix = db->flags & DEVLEND_EVENTS_MSIX;
	int cap = msix ? pdev->msix_cap : pdev->msi_cap;
	u16 enable = msix ? PCI_MSIX_FLAGS_ENABLE : PCI_MSI_FLAGS_ENABLE;
	u16 flags;

	doorbell_mask_line(pdev);
	if (!db->messages)
		return;
	pci_read_config_word(pdev, cap + (msix ? PCI_MSIX_FLAGS : PCI_MSI_FLAGS), &flags);
	pci_write_config_word(pdev, cap + (msix ? PCI_MSIX_FLAGS : PCI_MSI_FLAGS), flags & ~enable);
}

/**
 * lender_doorbell_gate() - the device was reset, and its state restored: all is off again
 * @lent: the device; its lock is held
 *
 * Context: process.
 */
void lender_doorbell_gate(struct lender_dev *lent)
{
	if (lent->doorbell)
		doorbell_gate(lent->doorbell);
}

static void doorbell_put_irqs(struct lender_doorbell *db)
{
	unsigned int i;

	for (i = 0; i < DOORBELL_EVENTS; i++)
		if (db->source[i].irq)
			free_irq(db->source[i].irq, &db->source[i]);
	if (db->messages)
		pci_free_irq_vectors(db->pdev);
	/* the PCI core switches INTx on when it frees messages; nobody takes it here */
	doorbell_mask_line(db->pdev);
}

static int doorbell_take_irq(struct doorbell_source *source, unsigned int irq,
			     irq_handler_t handler, unsigned long flags)
{
	int err = request_irq(irq, handler, flags, KBUILD_MODNAME, source);

	if (!err)
		source->irq = irq;
	return err;
}

/*
 * Messages, as many as this host can spare; it finds a vector for one only when that is requested.
 * Nobody moves them to another CPU, for without interrupt remapping that would change what the
 * borrower was told to write.
 */
static int doorbell_take_messages(struct lender_doorbell *db, unsigned int max)
{
	struct pci_dev *pdev = db->pdev;
	int n = 0, i, err = 0;

	if (max)
		n = pci_alloc_irq_vectors(pdev, 1, max, PCI_IRQ_MSIX | PCI_IRQ_MSI);
	if (n <= 0)
		return 0;
	for (i = 0; i < n; i++) {
		err = doorbell_take_irq(&db->source[DEVLEND_EVENT_MESSAGE + i],
					pci_irq_vector(pdev, i), doorbell_message,
					IRQF_NOBALANCING);
		if (err)
			break;
	}
	if (!i) {
		pci_free_irq_vectors(pdev);
		return err;
	}
	db->flags |= pdev->msix_enabled ? DEVLEND_EVENTS_MSIX : DEVLEND_EVENTS_MSI;
	db->messages = pdev->msix_enabled ? i : rounddown_pow_of_two(i);
	if (err)
		pci_warn(pdev, "%u interrupts are taken for the borrower instead of %d (%d); this host's CPUs have no more vectors\n",
			 db->messages, n, err);
	return 0;
}

/* Where the device can say that it was it, and can be told to be quiet. */
static int doorbell_take_line(struct lender_doorbell *db, unsigned int irq)
{
	int err;

	if (!db->pdev->pin || !irq || db->pdev->broken_intx_masking)
		return 0;
	err = doorbell_take_irq(&db->source[DEVLEND_EVENT_INTX], irq, doorbell_line, IRQF_SHARED);
	if (!err)
		db->flags |= DEVLEND_EVENTS_INTX;
	return err;
}

static struct lender_doorbell *doorbell_create(struct lender_dev *lent,
					       const struct lender_map *map,
					       const struct devlend_wire_events *events)
{
	struct lender_doorbell *db = kzalloc(sizeof(*db), GFP_KERNEL);
	unsigned int i;

	if (!db)
		return NULL;
	raw_spin_lock_init(&db->lock);
	db->pdev = lent->pdev;
	db->link = lent->lease.link;
	for (i = 0; i < DOORBELL_EVENTS; i++) {
		db->source[i].db = db;
		db->source[i].event = i;
	}
	db->words = ioremap(map->cpu_phys + le64_to_cpu(events->offset),
			    (DEVLEND_EVENT_MESSAGE + le32_to_cpu(events->messages)) * sizeof(u32));
	if (db->words)
		return db;
	kfree(db);
	return NULL;
}

/* A device that has messages, of which none is taken: say why, and what helps. */
static void doorbell_say_no_messages(struct lender_dev *lent, const struct lender_doorbell *db,
				     unsigned int wanted)
{
	if (db->messages || (!db->pdev->msix_cap && !db->pdev->msi_cap))
		return;
	if (!wanted)
		dev_info_ratelimited(&lent->dev, "the borrower wants no messages, only INTx: MSI is off on its host\n");
	else if (!pci_msi_enabled())
		dev_warn_ratelimited(&lent->dev, "MSI is off on this host, so that only INTx can be taken for the borrower; boot without pci=nomsi\n");
}

static int doorbell_take(struct lender_dev *lent, const struct lender_map *map,
			 const struct devlend_wire_events *events)
{
	/* messages take its place in the struct, where they are plain MSI */
	unsigned int line = lent->pdev->irq;
	struct lender_doorbell *db = doorbell_create(lent, map, events);
	int err, no_line;

	if (!db)
		return -ENOMEM;
	err = doorbell_take_messages(db, le32_to_cpu(events->messages));
	doorbell_say_no_messages(lent, db, le32_to_cpu(events->messages));
	no_line = doorbell_take_line(db, line);
	if (!db->flags) {
		err = err ?: no_line ?: -EOPNOTSUPP;
		doorbell_put_irqs(db);
		iounmap(db->words);
		kfree(db);
		return err;
	}
	doorbell_gate(db);
	db->open = true;
	lender_atomic_take(lent, db);
	return 0;
}

/* The reply; lock held. */
static size_t doorbell_told(const struct lender_doorbell *db, struct devlend_wire_taken *taken)
{
	unsigned int i;

	taken->flags = cpu_to_le32(db->flags);
	taken->count = cpu_to_le32(db->messages);
	for (i = 0; i < db->messages; i++) {
		struct msi_msg msg;

		get_cached_msi_msg(db->source[DEVLEND_EVENT_MESSAGE + i].irq, &msg);
		taken->message[i] = (struct devlend_wire_message) {
			.address = cpu_to_le64((u64)msg.address_hi << 32 | msg.address_lo),
			.data = cpu_to_le32(msg.data),
		};
	}
	return struct_size(taken, message, db->messages);
}

/**
 * lender_doorbell_message() - the message that plain MSI is to have
 * @db: the device's
 * @addr: set to its address
 * @data: set to its data
 *
 * Context: any. Return: how many messages there are, if they are of plain MSI; else 0.
 */
unsigned int lender_doorbell_message(const struct lender_doorbell *db, u64 *addr, u32 *data)
{
	struct msi_msg msg;

	if (!(db->flags & DEVLEND_EVENTS_MSI))
		return 0;
	get_cached_msi_msg(db->source[DEVLEND_EVENT_MESSAGE].irq, &msg);
	*addr = (u64)msg.address_hi << 32 | msg.address_lo;
	*data = msg.data;
	return db->messages;
}

/**
 * lender_doorbell_flags() - what is taken
 * @db: the device's
 *
 * Context: any. Return: %DEVLEND_EVENTS_INTX and following.
 */
u32 lender_doorbell_flags(const struct lender_doorbell *db)
{
	return db->flags;
}

/* Do the words lie in memory that the lease has? */
static const struct lender_map *doorbell_map(const struct lender_dev *lent,
					     const struct devlend_wire_events *events)
{
	u32 index = le32_to_cpu(events->index), messages = le32_to_cpu(events->messages);
	u64 need = (DEVLEND_EVENT_MESSAGE + (u64)messages) * sizeof(u32);
	u64 offset = le64_to_cpu(events->offset);
	const struct lender_map *map;

	if (index >= lent->lease.maps || messages > DEVLEND_EVENT_MESSAGES_MAX ||
	    offset % sizeof(u32))
		return NULL;
	map = &lent->lease.map[array_index_nospec(index, lent->lease.maps)];
	if (map->kind != DEVLEND_MAP_MEMORY ||
	    map->prot != (DEVLEND_PROT_READ | DEVLEND_PROT_WRITE) ||
	    need > map->length || offset > map->length - need)
		return NULL;
	return map;
}

/**
 * lender_serve_events() - answer EVENTS
 * @lent: the device; its lock is held, its lease is the request's
 * @rq: the request
 *
 * Context: process. Return: the status for the borrower.
 */
enum devlend_status lender_serve_events(struct lender_dev *lent, struct devlend_request *rq)
{
	const struct devlend_wire_events *events = rq->data;
	struct devlend_wire_taken *taken = rq->reply;
	const struct lender_map *map;
	int err;

	if (rq->len != sizeof(*events) || events->reserved[0] || events->reserved[1] ||
	    rq->reply_max < struct_size(taken, message, DEVLEND_EVENT_MESSAGES_MAX))
		return DEVLEND_E_INVAL;
	map = doorbell_map(lent, events);
	if (!map)
		return DEVLEND_E_RANGE;
	if (lent->doorbell || lender_atomic_busy(lent))
		return DEVLEND_E_BUSY;
	err = devlend_event_usable(lent->lease.link) ? doorbell_take(lent, map, events) : -ENXIO;
	trace_lender_step(lent->pdev, "doorbell", err);
	if (err) {
		dev_err_ratelimited(&lent->dev, "cannot take its interrupts for the borrower (%d): the NTB needs a second doorbell, the device MSI, MSI-X, or INTx that can be masked\n",
				    err);
		return err == -ENXIO ? DEVLEND_E_NOTSUPP : devlend_errno_to_status(err);
	}
	rq->reply_len = doorbell_told(lent->doorbell, taken);
	return DEVLEND_OK;
}

/**
 * lender_doorbell_prove() - tell an event that did not happen: is it heard?
 * @lent: the device; its lock is held
 * @event: number, as it arrived
 *
 * Context: process. Return: the status for the borrower.
 */
enum devlend_status lender_doorbell_prove(struct lender_dev *lent, u32 event)
{
	struct lender_doorbell *db = lent->doorbell;

	if (!db)
		return DEVLEND_E_PERM;
	if (event >= DEVLEND_EVENT_MESSAGE + db->messages)
		return DEVLEND_E_RANGE;
	doorbell_tell(&db->source[array_index_nospec(event, DOORBELL_EVENTS)]);
	return DEVLEND_OK;
}

/**
 * lender_doorbell_shut() - the lease is void: nothing more is told
 * @lent: the device; its lock is held
 *
 * On return nothing is written into the borrower's memory. Context: process.
 */
void lender_doorbell_shut(struct lender_dev *lent)
{
	struct lender_doorbell *db = lent->doorbell;
	unsigned long flags;

	if (!db)
		return;
	raw_spin_lock_irqsave(&db->lock, flags);
	db->open = false;
	raw_spin_unlock_irqrestore(&db->lock, flags);
}

/**
 * lender_doorbell_free() - give the device's interrupts back
 * @lent: the device; its lock is held, and its lease void
 *
 * Context: process; waits for handlers.
 */
void lender_doorbell_free(struct lender_dev *lent)
{
	struct lender_doorbell *db = lent->doorbell;

	if (!db)
		return;
	lender_atomic_take(lent, NULL);
	doorbell_put_irqs(db);
	iounmap(db->words);
	kfree(db);
}

/**
 * lender_doorbell_show() - what is taken, for debugfs
 * @m: where to
 * @lent: the device; its lock is held
 *
 * Context: process.
 */
void lender_doorbell_show(struct seq_file *m, const struct lender_dev *lent)
{
	const struct lender_doorbell *db = lent->doorbell;
	u64 told = 0;
	unsigned int i;

	if (!db)
		return;
	for (i = 0; i < DOORBELL_EVENTS; i++)
		told += READ_ONCE(db->source[i].count);
	seq_printf(m, "  doorbell: %u messages of %s%s, told %llu\n", db->messages,
		   db->flags & DEVLEND_EVENTS_MSIX ? "MSI-X" : "MSI",
		   db->flags & DEVLEND_EVENTS_INTX ? ", INTx" : "", told);
}
