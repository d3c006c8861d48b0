// SPDX-License-Identifier: GPL-2.0
/*
 * The interrupt domain of a lease on kernels where a bridge has one PCI MSI domain for all of
 * its devices (pci_msi_create_irq_domain(), up to 6.x). See irq_message.c for who calls this.
 *
 * Its bus token is not that of an ordinary PCI MSI domain: interrupt remapping drivers replace
 * an ordinary one, and with it the translation.
 */
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/msi.h>

#include <asm/msi.h>

#include "irq.h"
#include "lease.h"
#include "shadow.h"

static struct irq_chip irq_legacy_chip = {
	.name			= "devlend-MSI",
	.irq_ack		= borrower_irq_ack,
	.irq_retrigger		= irq_chip_retrigger_hierarchy,
	.irq_compose_msi_msg	= borrower_irq_compose,
	.flags			= IRQCHIP_SKIP_SET_WAKE | IRQCHIP_AFFINITY_PRE_STARTUP,
};

/* Allocate it as the NTB function's. The domain has one device, so the index is a number. */
static void irq_legacy_set_desc(msi_alloc_info_t *arg, struct msi_desc *desc)
{
	struct pci_bus *bus = msi_desc_to_pci_dev(desc)->bus;

	arg->desc = &borrower_shadow_of_bus(bus)->lease->irq.requester;
	arg->hwirq = desc->msi_index;
}

static struct msi_domain_ops irq_legacy_ops = {
	.msi_prepare	= pci_msi_prepare,
	.set_desc	= irq_legacy_set_desc,
};

/**
 * borrower_irq_domain_create() - make the domain proper
 * @irq: in the lease; its info must live as long as the domain
 * @parent: vector domain, or interrupt remapping
 *
 * Context: process. Return: the domain, or NULL.
 */
struct irq_domain *borrower_irq_domain_create(struct borrower_irq *irq, struct irq_domain *parent)
{
	struct irq_domain *domain;

	irq->info = (struct msi_domain_info) {
		.flags		= MSI_FLAG_USE_DEF_DOM_OPS | MSI_FLAG_USE_DEF_CHIP_OPS |
				  MSI_FLAG_PCI_MSIX,
		.ops		= &irq_legacy_ops,
		.chip		= &irq_legacy_chip,
		.chip_data	= irq,
		.handler	= handle_edge_irq,
		.handler_name	= "edge",
	};
	/* several messages of plain MSI are consecutive, which only remapping gives */
	if (borrower_irq_remapped(parent))
		irq->info.flags |= MSI_FLAG_MULTI_PCI_MSI;
	domain = pci_msi_create_irq_domain(irq->fwnode, &irq->info, parent);
	if (domain)
		irq_domain_update_bus_token(domain, DOMAIN_BUS_VMD_MSI);
	return domain;
}
