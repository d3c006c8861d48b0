/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BORROWER_IRQ_H
#define BORROWER_IRQ_H

#include <linux/msi.h>

struct device;
struct irq_domain;

/**
 * struct borrower_irq - the interrupt domain of a lease
 * @msi_device_addr: address by which the device reaches the start of this host's interrupt
 *	range; constant today, read with READ_ONCE so that it may be moved
 * @fwnode: names the domain
 * @domain: what the host bridge hands to its devices; NULL where none was made
 * @info: for kernels whose PCI MSI domain is one per bridge
 */
struct borrower_irq {
	u64 msi_device_addr;
	struct fwnode_handle *fwnode;
	struct irq_domain *domain;
	struct msi_domain_info info;
};

/* translate.c */
bool borrower_irq_translate(u64 msi_device_addr, struct msi_msg *msg);

/* irq.c */
void borrower_irq_compose(struct irq_data *data, struct msi_msg *msg);
int borrower_irq_create(struct borrower_irq *irq, struct device *ntb, const char *name,
			u64 msi_device_addr, struct device *log);
void borrower_irq_destroy(struct borrower_irq *irq);

/* irq_legacy.c or irq_parent.c, as the kernel has it */
struct irq_domain *borrower_irq_domain_create(struct borrower_irq *irq,
					      struct irq_domain *parent);

#endif /* BORROWER_IRQ_H */
