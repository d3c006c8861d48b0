// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts of the shadow, mode "direct": the lent device writes its message straight to
 * this host's interrupt range, through the NTB.
 *
 * The vector is this host's own. The message is composed by the parent domain (the vector
 * domain, or interrupt remapping), and its address is then translated to that by which the
 * lent device reaches 0xfee00000 here. The PCI core writes the translated message into the
 * device's MSI-X table through the BAR, or into the shadow's MSI capability.
 *
 * What kind of domain the PCI core wants differs between kernels: irq_legacy.c makes one
 * PCI MSI domain per bridge, irq_parent.c a parent of per-device domains; Kbuild takes one
 * of them.
 *
 * Called by borrow.c and removal.c in the lease's worker; compose is called by the
 * interrupt core under a raw lock with interrupts off: no sleeping, no calls. Owns the
 * domain and its fwnode; lives in the lease.
 */
#include <linux/device.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/string.h>

#include <devlend/compat.h>

#include "irq.h"

/**
 * borrower_irq_compose() - irq_compose_msi_msg of the lease's domain
 * @data: interrupt data of our level; its chip data is the struct borrower_irq
 * @msg: filled in
 *
 * Context: raw irq descriptor lock held, interrupts off.
 */
void borrower_irq_compose(struct irq_data *data, struct msi_msg *msg)
{
	struct borrower_irq *irq = irq_data_get_irq_chip_data(data);
	struct irq_data *pos;

	memset(msg, 0, sizeof(*msg));
	for (pos = data->parent_data; pos; pos = pos->parent_data) {
		if (pos->chip && pos->chip->irq_compose_msi_msg) {
			pos->chip->irq_compose_msi_msg(pos, msg);
			break;
		}
	}
	/* pairs with the WRITE_ONCE of borrower_irq_create(); a single word on 64-bit kernels */
	if (!borrower_irq_translate(READ_ONCE(irq->msi_device_addr), msg))
		pr_warn_ratelimited("interrupt %u has a message outside the interrupt range; use interrupt remapping or fewer CPUs\n",
				    data->irq);
}

/**
 * borrower_irq_create() - make the interrupt domain of a lease
 * @irq: zeroed
 * @ntb: the NTB function, whose parent domain delivers the interrupts
 * @name: for /sys/kernel/debug/irq; copied
 * @msi_device_addr: device address of the start of this host's interrupt range
 * @log: device to log for
 *
 * Context: process; the lease's lock is held. Return: 0; -EOPNOTSUPP where the host has no
 * MSI; -ENOMEM.
 */
int borrower_irq_create(struct borrower_irq *irq, struct device *ntb, const char *name,
			u64 msi_device_addr, struct device *log)
{
	struct irq_domain *parent = devlend_msi_parent(dev_get_msi_domain(ntb));

	if (!parent) {
		dev_err(log, "the NTB has no MSI domain here; boot without pci=nomsi\n");
		return -EOPNOTSUPP;
	}
	WRITE_ONCE(irq->msi_device_addr, msi_device_addr);
	irq->fwnode = irq_domain_alloc_named_fwnode(name);
	if (!irq->fwnode)
		return -ENOMEM;
	irq->domain = borrower_irq_domain_create(irq, parent);
	if (!irq->domain) {
		irq_domain_free_fwnode(irq->fwnode);
		irq->fwnode = NULL;
		dev_err(log, "cannot make an interrupt domain below %s\n", parent->name);
		return -ENOMEM;
	}
	return 0;
}

/**
 * borrower_irq_destroy() - remove the interrupt domain; no device uses it any more
 * @irq: made, or not
 *
 * Context: process.
 */
void borrower_irq_destroy(struct borrower_irq *irq)
{
	if (!irq->domain)
		return;
	irq_domain_remove(irq->domain);
	irq_domain_free_fwnode(irq->fwnode);
	irq->domain = NULL;
	irq->fwnode = NULL;
}
