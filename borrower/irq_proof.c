// SPDX-License-Identifier: GPL-2.0
/*
 * Proof of the way that the device's interrupt messages take, before a driver relies on it.
 *
 * A private interrupt is allocated from the parent that the device's come from, in the NTB
 * function's name, and its message is translated as theirs are. The lender's CPU writes it
 * where the device would. That it arrives proves window and interrupt remapping; not that the
 * NTB admits the device's own requester id, which irq_watch.c looks after.
 *
 * Called by irq_message.c in the lease's worker. The interrupt and its domain live for one
 * proof only. Sleeps, bounded by the call's time-out and IRQ_ARRIVAL_MS.
 */
#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/jiffies.h>
#include <linux/pci.h>

#include <asm/hw_irq.h>

#include "irq.h"
#include "lease.h"
#include "probe.h"

/* The message is posted and takes another way than the reply; longest time it may take, ms */
#define IRQ_ARRIVAL_MS	1000

/**
 * struct irq_proof - one proof
 * @irq: of the lease
 * @fwnode: names the domain
 * @domain: has one interrupt
 * @virq: its number
 * @came: it came
 */
struct irq_proof {
	struct borrower_irq *irq;
	struct fwnode_handle *fwnode;
	struct irq_domain *domain;
	int virq;
	struct completion came;
};

static struct irq_chip irq_proof_chip = {
	.name			= "devlend-proof",
	.irq_ack		= irq_chip_ack_parent,
	.irq_set_affinity	= irq_chip_set_affinity_parent,
	.irq_retrigger		= irq_chip_retrigger_hierarchy,
	.irq_compose_msi_msg	= borrower_irq_compose,
	.flags			= IRQCHIP_SKIP_SET_WAKE,
};

static int irq_proof_alloc(struct irq_domain *domain, unsigned int virq, unsigned int count,
			   void *arg)
{
	int err = irq_domain_alloc_irqs_parent(domain, virq, count, arg);

	if (!err)
		irq_domain_set_info(domain, virq, 0, &irq_proof_chip, domain->host_data,
				    handle_edge_irq, NULL, "edge");
	return err;
}

static const struct irq_domain_ops irq_proof_domain_ops = {
	.alloc	= irq_proof_alloc,
	.free	= irq_domain_free_irqs_common,
};

static irqreturn_t irq_proof_handle(int virq, void *data)
{
	struct irq_proof *proof = data;

	complete(&proof->came);
	return IRQ_HANDLED;
}

static void irq_proof_end(struct irq_proof *proof)
{
	if (proof->virq > 0)
		irq_dispose_mapping(proof->virq);
	if (proof->domain)
		irq_domain_remove(proof->domain);
	irq_domain_free_fwnode(proof->fwnode);
}

/* The interrupt, its handler not requested. */
static int irq_proof_begin(struct irq_proof *proof, struct irq_domain *parent, const char *name)
{
	msi_alloc_info_t info = {
		.type = X86_IRQ_ALLOC_TYPE_PCI_MSIX,
		.desc = &proof->irq->requester,
	};
	int err = -ENOMEM;

	proof->fwnode = irq_domain_alloc_named_fwnode(name);
	if (!proof->fwnode)
		return -ENOMEM;
	proof->domain = irq_domain_create_hierarchy(parent, 0, 1, proof->fwnode,
						    &irq_proof_domain_ops, proof->irq);
	if (proof->domain)
		err = irq_domain_alloc_irqs(proof->domain, 1, NUMA_NO_NODE, &info);
	proof->virq = err;
	if (err > 0)
		return 0;
	irq_proof_end(proof);
	return err ?: -ENOSPC;
}

/* Have the lender write the message, and wait for it. */
static int irq_proof_try(struct irq_proof *proof, struct borrower_lease *lease)
{
	struct msi_msg msg;
	u64 addr;
	int err;

	borrower_irq_compose(irq_domain_get_irq_data(proof->domain, proof->virq), &msg);
	addr = (u64)msg.address_hi << 32 | msg.address_lo;
	err = borrower_probe_message(lease, addr - proof->irq->msi_device_addr, msg.data);
	if (!err && !wait_for_completion_timeout(&proof->came, msecs_to_jiffies(IRQ_ARRIVAL_MS)))
		err = -EIO;
	if (err && err != -ENOTCONN)
		dev_err(&lease->dev, "the lender's interrupt message (%#llx, data %#x) did not arrive (%d); check window, interrupt remapping and bus mastering of the NTB\n",
			addr, msg.data, err);
	return err;
}

/**
 * borrower_irq_prove_message() - does a message that the lender writes interrupt this host?
 * @lease: its interrupt domain is made; &borrower_irq.proven is set
 * @parent: of that domain
 *
 * Context: the lease's worker; no locks held.
 * Return: 0; -EIO where none arrives; -ENOLINK; -ENOSPC or -ENOMEM where there is no vector; an
 * errno of devlend_call(). After one log line, but for a link that is lost, which is told already.
 */
int borrower_irq_prove_message(struct borrower_lease *lease, struct irq_domain *parent)
{
	struct irq_proof proof = { .irq = &lease->irq };
	int err = -ENOLINK;

	init_completion(&proof.came);
	mutex_lock(&lease->lock);
	if (!lease->dead)
		err = irq_proof_begin(&proof, parent, "devlend-proof");
	mutex_unlock(&lease->lock);
	if (err == -ENOLINK)
		return err;
	if (!err) {
		err = request_irq(proof.virq, irq_proof_handle, 0, "devlend-proof", &proof);
		if (err)
			irq_proof_end(&proof);
	}
	if (err) {
		dev_err(&lease->dev, "no interrupt to prove their way by (%d); use more CPUs, or fewer vectors elsewhere\n",
			err);
		return err;
	}
	err = irq_proof_try(&proof, lease);
	free_irq(proof.virq, &proof);
	irq_proof_end(&proof);
	WRITE_ONCE(lease->irq.proven, !err);
	return err;
}

/**
 * borrower_irq_proof_name() - what is known of the way of a lease's interrupts
 * @irq: of the lease
 *
 * Context: any. Return: value of the irq_proof attribute.
 */
const char *borrower_irq_proof_name(const struct borrower_irq *irq)
{
	if (READ_ONCE(irq->seen))
		return "seen";
	if (READ_ONCE(irq->silent))
		return "silent";
	return READ_ONCE(irq->proven) ? "proven" : "unproven";
}
