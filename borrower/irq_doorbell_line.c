// SPDX-License-Identifier: GPL-2.0
/*
 * INTx of the shadow, in mode "doorbell": a level that the lender's CPU watches.
 *
 * The lender masks INTx at the device when it takes the interrupt, and tells it. When the driver
 * here has handled it, the end of interrupt goes to the lender as a posted operation: it unmasks,
 * or, where the device still asks for service, tells again. Between the two the device is quiet,
 * so the bell rings once for each time that the driver is called.
 *
 * Called by irq_doorbell.c in the lease's worker; the chip's functions by the interrupt core, under
 * the interrupt's raw lock. Nothing here waits. State is in config.c, whose queue of what is owed
 * to the lender loses no end of interrupt.
 */
#include <linux/irq.h>

#include "config.h"
#include "irq_doorbell.h"

static void line_tell(struct irq_data *data, bool masked)
{
	struct borrower_doorbell *db = irq_data_get_irq_chip_data(data);

	if (db->config)
		borrower_config_intx(db->config, masked);
}

static void line_mask(struct irq_data *data)
{
	line_tell(data, true);
}

static void line_unmask(struct irq_data *data)
{
	line_tell(data, false);
}

/* A handler that runs in a thread has it masked until it has done; then comes the unmask. */
static void line_eoi(struct irq_data *data)
{
	if (!irqd_irq_masked(data))
		line_tell(data, false);
}

static struct irq_chip line_chip = {
	.name		= "devlend-INTx",
	.irq_mask	= line_mask,
	.irq_unmask	= line_unmask,
	.irq_eoi	= line_eoi,
	/* what comes while it is disabled is told again when it is enabled */
	.flags		= IRQCHIP_EOI_IF_HANDLED | IRQCHIP_SKIP_SET_WAKE,
};

/**
 * borrower_line_create() - make an interrupt for event 0
 * @db: the lease's
 *
 * Context: process. Return: 0, or an errno.
 */
int borrower_line_create(struct borrower_doorbell *db)
{
	int virq = irq_alloc_desc(NUMA_NO_NODE);

	if (virq < 0)
		return virq;
	irq_set_chip_data(virq, db);
	irq_set_chip_and_handler_name(virq, &line_chip, handle_fasteoi_irq, "fasteoi");
	irq_set_status_flags(virq, IRQ_LEVEL);
	WRITE_ONCE(db->virq[DEVLEND_EVENT_INTX], virq);
	return 0;
}

/**
 * borrower_line_destroy() - undo that
 * @db: the lease's; nobody delivers its events any more
 *
 * Context: process.
 */
void borrower_line_destroy(struct borrower_doorbell *db)
{
	unsigned int virq = db->virq[DEVLEND_EVENT_INTX];

	if (!virq)
		return;
	irq_set_chip_and_handler(virq, NULL, NULL);
	irq_free_desc(virq);
}
