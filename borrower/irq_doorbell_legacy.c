// SPDX-License-Identifier: GPL-2.0
/*
 * The interrupt domain of mode "doorbell" on kernels where a bridge has one PCI MSI domain for
 * all of its devices (pci_msi_create_irq_domain(), up to 6.x). It has no parent: its interrupts
 * need no vector of any CPU.
 */
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/msi.h>

#include "irq_doorbell.h"

static int doorbell_legacy_init(struct irq_domain *domain, struct msi_domain_info *info,
				unsigned int virq, irq_hw_number_t hwirq, msi_alloc_info_t *arg)
{
	struct borrower_doorbell *db = info->data;

	irq_domain_set_info(domain, virq, hwirq, info->chip, db, handle_edge_irq, NULL, "edge");
	borrower_doorbell_attach(db, virq, hwirq);
	return 0;
}

static void doorbell_legacy_free(struct irq_domain *domain, struct msi_domain_info *info,
				 unsigned int virq)
{
	struct irq_data *data = irq_domain_get_irq_data(domain, virq);

	if (data)
		borrower_doorbell_detach(info->data, data->hwirq);
}

static struct msi_domain_ops doorbell_legacy_ops = {
	.msi_init	= doorbell_legacy_init,
	.msi_free	= doorbell_legacy_free,
};

/**
 * borrower_doorbell_domain_create() - make the domain
 * @db: lives as long as the domain
 * @fwnode: names it
 *
 * Context: process. Return: the domain, or NULL.
 */
struct irq_domain *borrower_doorbell_domain_create(struct borrower_doorbell *db,
						   struct fwnode_handle *fwnode)
{
	db->info = (struct msi_domain_info) {
		.flags		= MSI_FLAG_USE_DEF_DOM_OPS | MSI_FLAG_USE_DEF_CHIP_OPS |
				  MSI_FLAG_PCI_MSIX | MSI_FLAG_MULTI_PCI_MSI,
		.ops		= &doorbell_legacy_ops,
		.chip		= &borrower_doorbell_chip,
		.data		= db,
	};
	return pci_msi_create_irq_domain(fwnode, &db->info, NULL);
}
