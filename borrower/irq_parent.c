// SPDX-License-Identifier: GPL-2.0
/*
 * The interrupt domain of a lease on kernels where each PCI device has MSI domains of its own
 * below a parent (msi_create_parent_irq_domain()). See irq_message.c for who calls this.
 *
 * Our domain is a layer between the device's domains above, whose chips the PCI core
 * provides, and the vector or interrupt remapping domain below. The message is composed
 * here. When an affinity change goes to the parent, the device's chip asks for the message
 * again and writes it.
 *
 * Its bus token is not that of an ordinary PCI MSI domain: interrupt remapping drivers replace
 * an ordinary one, and with it the translation.
 */
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/msi.h>

#include <asm/msi.h>

#include "irq.h"

#define IRQ_PARENT_REQUIRED	(MSI_FLAG_USE_DEF_DOM_OPS | MSI_FLAG_USE_DEF_CHIP_OPS)
#define IRQ_PARENT_SUPPORTED	(MSI_GENERIC_FLAGS_MASK | MSI_FLAG_PCI_MSIX |	\
				 MSI_FLAG_PCI_MSIX_ALLOC_DYN)
/* several messages of plain MSI are consecutive, which only remapping gives */
#define IRQ_PARENT_REMAPPED	(IRQ_PARENT_SUPPORTED | MSI_FLAG_MULTI_PCI_MSI)

static struct irq_chip irq_parent_chip = {
	.name			= "devlend-MSI",
	.irq_ack		= borrower_irq_ack,
	.irq_set_affinity	= irq_chip_set_affinity_parent,
	.irq_retrigger		= irq_chip_retrigger_hierarchy,
	.irq_compose_msi_msg	= borrower_irq_compose,
};

static int irq_parent_alloc(struct irq_domain *domain, unsigned int virq, unsigned int count,
			    void *arg)
{
	struct borrower_irq *irq = domain->host_data;
	msi_alloc_info_t as_ntb = *(msi_alloc_info_t *)arg;
	unsigned int i;
	int err;

	as_ntb.desc = &irq->requester;
	err = irq_domain_alloc_irqs_parent(domain, virq, count, &as_ntb);
	if (err)
		return err;
	for (i = 0; i < count; i++)
		irq_domain_set_hwirq_and_chip(domain, virq + i, virq + i, &irq_parent_chip,
					      irq);
	return 0;
}

static const struct irq_domain_ops irq_parent_domain_ops = {
	.alloc	= irq_parent_alloc,
	.free	= irq_domain_free_irqs_common,
};

/* Complete the domain of a device: called by the MSI core when a driver enables MSI or MSI-X. */
static bool irq_parent_init_dev(struct device *dev, struct irq_domain *domain,
				struct irq_domain *real_parent, struct msi_domain_info *info)
{
	if (info->bus_token != DOMAIN_BUS_PCI_DEVICE_MSI &&
	    info->bus_token != DOMAIN_BUS_PCI_DEVICE_MSIX)
		return false;
	info->flags &= domain->msi_parent_ops->supported_flags;
	info->flags |= IRQ_PARENT_REQUIRED;
	info->ops->msi_prepare = pci_msi_prepare;
	info->chip->irq_ack = irq_chip_ack_parent;
	info->chip->irq_retrigger = irq_chip_retrigger_hierarchy;
	info->chip->flags |= IRQCHIP_SKIP_SET_WAKE | IRQCHIP_AFFINITY_PRE_STARTUP;
	/* without remapping a vector moves only while its interrupt is handled */
	if (domain->parent->bus_token == DOMAIN_BUS_ANY)
		info->chip->flags |= IRQCHIP_MOVE_DEFERRED;
	info->handler = handle_edge_irq;
	info->handler_name = "edge";
	return true;
}

static const struct msi_parent_ops irq_parent_ops = {
	.required_flags		= IRQ_PARENT_REQUIRED,
	.supported_flags	= IRQ_PARENT_SUPPORTED,
	.bus_select_token	= DOMAIN_BUS_VMD_MSI,
	.bus_select_mask	= 0,
	.prefix			= "devlend-",
	.init_dev_msi_info	= irq_parent_init_dev,
};

static const struct msi_parent_ops irq_parent_remapped_ops = {
	.required_flags		= IRQ_PARENT_REQUIRED,
	.supported_flags	= IRQ_PARENT_REMAPPED,
	.bus_select_token	= DOMAIN_BUS_VMD_MSI,
	.bus_select_mask	= 0,
	.prefix			= "devlend-",
	.init_dev_msi_info	= irq_parent_init_dev,
};

/**
 * borrower_irq_domain_create() - make the domain proper
 * @irq: in the lease; lives as long as the domain
 * @parent: vector domain, or interrupt remapping
 *
 * Context: process. Return: the domain, or NULL.
 */
struct irq_domain *borrower_irq_domain_create(struct borrower_irq *irq, struct irq_domain *parent)
{
	struct irq_domain_info info = {
		.fwnode		= irq->fwnode,
		.ops		= &irq_parent_domain_ops,
		.host_data	= irq,
		.parent		= parent,
	};

	return msi_create_parent_irq_domain(&info, borrower_irq_remapped(parent) ?
					    &irq_parent_remapped_ops : &irq_parent_ops);
}
