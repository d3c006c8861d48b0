/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BORROWER_IRQ_DOORBELL_H
#define BORROWER_IRQ_DOORBELL_H

#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/msi.h>

#include <devlend/core.h>

struct borrower_config;
struct borrower_irq;
struct borrower_lease;

#define BORROWER_EVENTS		(DEVLEND_EVENT_MESSAGE + DEVLEND_EVENT_MESSAGES_MAX)

/**
 * struct borrower_doorbell - interrupts of a lease that the lender's CPU takes and tells
 * @node: in the list of all, under RCU; empty before the lender tells
 * @link: the lease's
 * @irq: the lease's, for the note that an interrupt came
 * @config: way of the end of INTx to the lender; set before a driver can ask for it
 * @open: the lender reaches @words; under the lease's lock
 * @offset: of their page in the memory entry of the map list
 * @words: counts, written by the lender; event 0 first
 * @seen: what was last found there
 * @flags: %DEVLEND_EVENTS_INTX and following: what the lender took
 * @messages: that the device can send
 * @message: for the device, in lender bus addresses, told by the lender
 * @virq: this host's interrupt of each event; 0 = none now
 * @again: events to be delivered by @resend
 * @resend: delivers them in hard IRQ, by a call of its own
 * @heard: completed when event 0 was told and rung, while it has no interrupt yet
 * @info: for kernels whose PCI MSI domain is one per bridge
 */
struct borrower_doorbell {
	struct list_head node;
	struct devlend_link *link;
	struct borrower_irq *irq;
	struct borrower_config *config;
	bool open;
	u64 offset;
	u32 *words;
	u32 seen[BORROWER_EVENTS];
	u32 flags;
	unsigned int messages;
	struct msi_msg message[DEVLEND_EVENT_MESSAGES_MAX];
	unsigned int virq[BORROWER_EVENTS];
	DECLARE_BITMAP(again, BORROWER_EVENTS);
	struct irq_work resend;
	struct completion heard;
	struct msi_domain_info info;
};

/* irq_doorbell.c */
void borrower_doorbell_close(struct borrower_lease *lease);
void borrower_doorbells_look(struct devlend_link *link, bool rung);
void borrower_doorbell_attach(struct borrower_doorbell *db, unsigned int virq,
			      irq_hw_number_t hwirq);
void borrower_doorbell_detach(struct borrower_doorbell *db, irq_hw_number_t hwirq);
extern struct irq_chip borrower_doorbell_chip;

/* irq_doorbell_line.c */
int borrower_line_create(struct borrower_doorbell *db);
void borrower_line_destroy(struct borrower_doorbell *db);

/* irq_doorbell_legacy.c or irq_doorbell_parent.c, as the kernel has it */
struct irq_domain *borrower_doorbell_domain_create(struct borrower_doorbell *db,
						   struct fwnode_handle *fwnode);

#endif /* BORROWER_IRQ_DOORBELL_H */
