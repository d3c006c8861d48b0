// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt modes "direct" and "vectors": the lent device writes its message straight to this
 * host's interrupt range, through the NTB.
 *
 * The vector is this host's own. The message is composed by the parent domain, and its address is
 * then translated to that by which the lent device reaches 0xfee00000 here. The PCI core writes
 * the translated message into the device's MSI-X table through the BAR, or into the shadow's MSI
 * capability. The parent is the vector domain in mode direct, and interrupt remapping in mode
 * vectors.
 *
 * Remapping admits a message by the requester id that it arrives with, which is the NTB's. It
 * takes that id from the device of the MSI descriptor that an interrupt is allocated for, and
 * looks at nothing else of it, in allocation and never later: set_msi_sid() and get_devid()
 * of intel-iommu and amd_iommu. So interrupts are allocated with a descriptor of the NTB
 * function; the shadow's own goes with the interrupt everywhere else.
 *
 * What kind of domain the PCI core wants differs between kernels: irq_legacy.c makes one
 * PCI MSI domain per bridge, irq_parent.c a parent of per-device domains; Kbuild takes one
 * of them.
 *
 * Called by irq.c in the lease's worker; compose is called by the interrupt core under a raw lock
 * with interrupts off: no sleeping, no calls. Owns the domain and its fwnode; lives in the
 * lease.
 */
#include <linux/device.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/pci.h>
#include <linux/string.h>

#include <asm/irqdomain.h>

#include <devlend/compat.h>

#include "irq.h"
#include "lease.h"

/**
 * borrower_irq_ack() - irq_ack of the lease's domain
 * @data: interrupt data of our level
 *
 * Notes that the device's own way is open. Context: hard interrupt, raw lock held.
 */
void borrower_irq_ack(struct irq_data *data)
{
	struct borrower_irq *irq = irq_data_get_irq_chip_data(data);

	/* written once, so that CPUs do not take the line from each other */
	if (!READ_ONCE(irq->seen))
		WRITE_ONCE(irq->seen, true);
	irq_chip_ack_parent(data);
}

static struct irq_domain *irq_message_parent(const struct borrower_lease *lease)
{
	return devlend_msi_parent(dev_get_msi_domain(&lease->ntb->dev));
}

/**
 * borrower_irq_remapped() - does a parent domain check who sends a message?
 * @parent: of the NTB function
 *
 * Context: any. Return: whether it is interrupt remapping.
 */
bool borrower_irq_remapped(const struct irq_domain *parent)
{
	return parent != x86_vector_domain;
}

/*
 * What keeps messages from being used at all. With pci=nomsi there is a domain, and the proof would
 * arrive; but no driver is given a message.
 */
static const char *irq_message_unusable(const struct irq_domain *parent)
{
	if (!pci_msi_enabled())
		return "MSI is off on this host; boot without pci=nomsi";
	if (!parent)
		return "the NTB has no MSI domain here";
	return NULL;
}

static const char *irq_direct_unusable(const struct borrower_lease *lease)
{
	const struct irq_domain *parent = irq_message_parent(lease);
	const char *why = irq_message_unusable(parent);

	if (!why && borrower_irq_remapped(parent))
		why = "this host remaps interrupts; use mode vectors";
	return why;
}

static const char *irq_vectors_unusable(const struct borrower_lease *lease)
{
	const struct irq_domain *parent = irq_message_parent(lease);
	const char *why = irq_message_unusable(parent);

	if (!why && !borrower_irq_remapped(parent))
		why = "this host does not remap interrupts; use mode direct";
	return why;
}

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
	/* pairs with the WRITE_ONCE of irq_message_create(); a single word on 64-bit kernels */
	if (!borrower_irq_translate(READ_ONCE(irq->msi_device_addr), msg))
		pr_warn_ratelimited("interrupt %u has a message outside the interrupt range; use interrupt remapping or fewer CPUs\n",
				    data->irq);
}

static int irq_message_create(struct borrower_lease *lease)
{
	struct irq_domain *parent = irq_message_parent(lease);
	struct borrower_irq *irq = &lease->irq;

	WRITE_ONCE(irq->msi_device_addr, lease->memory.device_addr[BORROWER_MAP_MSI]);
	irq->requester = (struct msi_desc){ .dev = &lease->ntb->dev, .nvec_used = 1 };
	irq->fwnode = irq_domain_alloc_named_fwnode(dev_name(&lease->dev));
	if (!irq->fwnode)
		return -ENOMEM;
	irq->domain = borrower_irq_domain_create(irq, parent);
	if (!irq->domain) {
		borrower_irq_domain_drop(irq);
		dev_err(&lease->dev, "cannot make an interrupt domain below %s\n", parent->name);
		return -ENOMEM;
	}
	return 0;
}

static int irq_message_prove(struct borrower_lease *lease)
{
	return borrower_irq_prove_message(lease, irq_message_parent(lease));
}

static void irq_message_destroy(struct borrower_lease *lease)
{
	borrower_irq_domain_drop(&lease->irq);
}

const struct borrower_irq_ops borrower_irq_direct = {
	.name = "direct",
	.messages = true,
	.unusable = irq_direct_unusable,
	.create = irq_message_create,
	.prove = irq_message_prove,
	.destroy = irq_message_destroy,
};

const struct borrower_irq_ops borrower_irq_vectors = {
	.name = "vectors",
	.messages = true,
	.unusable = irq_vectors_unusable,
	.create = irq_message_create,
	.prove = irq_message_prove,
	.destroy = irq_message_destroy,
};
