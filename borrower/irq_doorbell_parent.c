// SPDX-License-Identifier: GPL-2.0
/*
 * The interrupt domain of mode "doorbell" on kernels where each PCI device has MSI domains of
 * its own below a parent (msi_create_parent_irq_domain()). It has no parent of its own: its
 * interrupts need no vector of any CPU.
 */
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/msi.h>

#include "irq_doorbell.h"

#define DOORBELL_REQUIRED	(MSI_FLAG_USE_DEF_DOM_OPS | MSI_FLAG_USE_DEF_CHIP_OPS)
#define DOORBELL_SUPPORTED	(MSI_GENERIC_FLAGS_MASK | MSI_FLAG_PCI_MSIX | \
				 MSI_FLAG_MULTI_PCI_MSI)

static int doorbell_parent_alloc(struct irq_domain *domain, unsigned int virq, unsigned int count,
				 void *arg)
{
	struct borrower_doorbell *db = domain->host_data;
	msi_alloc_info_t *info = arg;
	unsigned int i;

	for (i = 0; i < count; i++) {
		irq_domain_set_hwirq_and_chip(domain, virq + i, info->hwirq + i,
					      &borrower_doorbell_chip, db);
		borrower_doorbell_attach(db, virq + i, info->hwirq + i);
	}
	return 0;
}

static void doorbell_parent_free(struct irq_domain *domain, unsigned int virq, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct irq_data *data = irq_domain_get_irq_data(domain, virq + i);

		if (!data)
			continue;
		borrower_doorbell_detach(domain->host_data, data->hwirq);
		irq_domain_reset_irq_data(data);
	}
}

static const struct irq_domain_ops doorbell_parent_domain_ops = {
	.alloc	= doorbell_parent_alloc,
	.free	= doorbell_parent_free,
};

/* Complete the domain of a device: called by the MSI core when a driver enables MSI or MSI-X. */
static bool doorbell_parent_init_dev(struct device *dev, struct irq_domain *domain,
				     struct irq_domain *real_parent, struct msi_domain_info *info)
{
	if (info->bus_token != DOMAIN_BUS_PCI_DEVICE_MSI &&
	    info->bus_token != DOMAIN_BUS_PCI_DEVICE_MSIX)
		return false;
	info->flags &= DOORBELL_SUPPORTED;
	info->flags |= DOORBELL_REQUIRED;
	info->chip->irq_ack = irq_chip_ack_parent;
	info->chip->irq_retrigger = irq_chip_retrigger_hierarchy;
	info->chip->flags |= IRQCHIP_SKIP_SET_WAKE;
	info->handler = handle_edge_irq;
	info->handler_name = "edge";
	return true;
}

static const struct msi_parent_ops doorbell_parent_ops = {
	.required_flags		= DOORBELL_REQUIRED,
	.supported_flags	= DOORBELL_SUPPORTED,
	.bus_select_token	= DOMAIN_BUS_VMD_MSI,
	.bus_select_mask	= 0,
	.prefix			= "devlend-bell-",
	.init_dev_msi_info	= doorbell_parent_init_dev,
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
	struct irq_domain_info info = {
		.fwnode		= fwnode,
		.ops		= &doorbell_parent_domain_ops,
		.host_data	= db,
	};

	return msi_create_parent_irq_domain(&info, &doorbell_parent_ops);
}
