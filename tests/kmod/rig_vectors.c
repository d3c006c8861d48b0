// SPDX-License-Identifier: GPL-2.0
/*
 * rig_vectors: takes interrupt vectors of this host's CPUs until there are no more, and gives some
 * back, so that a test can have as few as it wants.
 *
 * Written to /sys/module/rig_vectors/parameters/leave: how many are to be free; -1 = take none. A
 * read tells how many are taken. Each is an interrupt of its own, of a domain below the CPUs'
 * vector domain, and requested, since that is when the kernel picks a vector. It knows nothing of
 * devlend.
 *
 * Context: process; one mutex serialises writers.
 */
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/module.h>
#include <linux/mutex.h>

#include <asm/hw_irq.h>
#include <asm/irqdomain.h>

#define VECTORS_MAX	4096

static DEFINE_MUTEX(vectors_lock);
static struct fwnode_handle *vectors_fwnode;
static struct irq_domain *vectors_domain;
static int vectors_virq[VECTORS_MAX];
static unsigned int vectors_taken;

static struct irq_chip vectors_chip = {
	.name			= "rig-vectors",
	.irq_ack		= irq_chip_ack_parent,
	.irq_set_affinity	= irq_chip_set_affinity_parent,
	.irq_retrigger		= irq_chip_retrigger_hierarchy,
};

static int vectors_alloc(struct irq_domain *domain, unsigned int virq, unsigned int count,
			 void *arg)
{
	int err = irq_domain_alloc_irqs_parent(domain, virq, count, arg);

	if (!err)
		irq_domain_set_info(domain, virq, virq, &vectors_chip, NULL, handle_edge_irq, NULL,
				    "edge");
	return err;
}

static const struct irq_domain_ops vectors_ops = {
	.alloc	= vectors_alloc,
	.free	= irq_domain_free_irqs_common,
};

/* nothing raises it */
static irqreturn_t vectors_handle(int virq, void *data)
{
	return IRQ_NONE;
}

static int vectors_take_one(void)
{
	struct irq_alloc_info info = { };
	int err, virq = irq_domain_alloc_irqs(vectors_domain, 1, NUMA_NO_NODE, &info);

	if (virq <= 0)
		return virq ?: -ENOSPC;
	err = request_irq(virq, vectors_handle, 0, KBUILD_MODNAME, &vectors_taken);
	if (err) {
		irq_dispose_mapping(virq);
		return err;
	}
	vectors_virq[vectors_taken++] = virq;
	return 0;
}

static void vectors_give_one(void)
{
	int virq = vectors_virq[--vectors_taken];

	free_irq(virq, &vectors_taken);
	irq_dispose_mapping(virq);
}

static int vectors_leave(const char *text, const struct kernel_param *kp)
{
	int leave, err = kstrtoint(text, 0, &leave);

	if (err || !vectors_domain)
		return err ?: -ENODEV;
	mutex_lock(&vectors_lock);
	while (leave >= 0 && vectors_taken < VECTORS_MAX && !vectors_take_one())
		;
	while (vectors_taken && (leave < 0 || leave--))
		vectors_give_one();
	mutex_unlock(&vectors_lock);
	return 0;
}

static int vectors_tell(char *text, const struct kernel_param *kp)
{
	return sysfs_emit(text, "%u\n", READ_ONCE(vectors_taken));
}

static const struct kernel_param_ops vectors_leave_ops = {
	.set = vectors_leave,
	.get = vectors_tell,
};
module_param_cb(leave, &vectors_leave_ops, NULL, 0600);
MODULE_PARM_DESC(leave, "vectors to leave free; -1 = all; reads as the number of those taken");

static int __init vectors_init(void)
{
	vectors_fwnode = irq_domain_alloc_named_fwnode(KBUILD_MODNAME);
	if (!vectors_fwnode)
		return -ENOMEM;
	vectors_domain = irq_domain_create_hierarchy(x86_vector_domain, 0, 0, vectors_fwnode,
						     &vectors_ops, NULL);
	if (vectors_domain)
		return 0;
	irq_domain_free_fwnode(vectors_fwnode);
	return -ENOMEM;
}
module_init(vectors_init);

static void __exit vectors_exit(void)
{
	while (vectors_taken)
		vectors_give_one();
	irq_domain_remove(vectors_domain);
	irq_domain_free_fwnode(vectors_fwnode);
}
module_exit(vectors_exit);

MODULE_DESCRIPTION("Takes interrupt vectors, for tests of devlend");
MODULE_LICENSE("GPL");
