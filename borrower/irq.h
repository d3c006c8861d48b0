/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BORROWER_IRQ_H
#define BORROWER_IRQ_H

#include <linux/msi.h>
#include <linux/workqueue.h>

struct borrower_lease;
struct device;
struct irq_domain;

/* Ways by which interrupts of a lent device arrive; auto is what is asked for, not a way. */
enum borrower_irq_mode {
	BORROWER_IRQ_AUTO,
	BORROWER_IRQ_DIRECT,
	BORROWER_IRQ_VECTORS,
	BORROWER_IRQ_DOORBELL,
	BORROWER_IRQ_MODES,
};

/**
 * struct borrower_irq_ops - one way for interrupts of a lent device to arrive
 * @name: value of the irq_mode attributes
 * @messages: the lent device writes into this host's interrupt range, which is exposed for it
 * @unusable: why it cannot work for a lease, whose NTB function, link and offer are known; NULL
 *	where it can. Called before anything is asked of the lender, with the lease's lock held
 * @create: make &borrower_irq.domain for the bridge. Called with the windows attached, the lease's
 *	lock held. Return: 0, or an errno after one log line; then nothing is left of it
 * @prove: is the way open? Called after @create, before a driver can bind, with no lock held; may
 *	call the peer. Return: 0, or an errno after one log line: then @destroy, and, where the mode
 *	was not forced, another mode. May be NULL
 * @destroy: undo @create; no device uses the domain any more. The NTB function may be gone; the
 *	lease's lock is held. Called only after @create succeeded
 */
struct borrower_irq_ops {
	const char *name;
	bool messages;
	const char *(*unusable)(const struct borrower_lease *lease);
	int (*create)(struct borrower_lease *lease);
	int (*prove)(struct borrower_lease *lease);
	void (*destroy)(struct borrower_lease *lease);
};

/**
 * struct borrower_irq - interrupts of a lease
 * @want: what the borrow asked for; constant
 * @ops: the mode in force; NULL until one is chosen
 * @created: @ops->create() succeeded, @ops->destroy() is due
 * @msi_device_addr: address by which the device reaches the start of this host's interrupt
 *	range; constant today, read with READ_ONCE so that it may be moved
 * @fwnode: names the domain
 * @domain: what the host bridge hands to its devices; NULL where none was made
 * @info: for kernels whose PCI MSI domain is one per bridge
 * @requester: as whose interrupts those of the device are allocated: a descriptor of the NTB
 *	function, of which allocation reads the device only; constant while the domain is there
 * @proven: a private interrupt came by the way that the device's take
 * @seen: one of the device's own came
 * @silent: the watchdog has said that none came
 * @armed: jiffies since when, to the watchdog's knowledge, the device can send; 0 = it cannot
 * @watch: the watchdog
 */
struct borrower_irq {
	enum borrower_irq_mode want;
	const struct borrower_irq_ops *ops;
	bool created;
	u64 msi_device_addr;
	struct fwnode_handle *fwnode;
	struct irq_domain *domain;
	struct msi_domain_info info;
	struct msi_desc requester;
	bool proven;
	bool seen;
	bool silent;
	unsigned long armed;
	struct delayed_work watch;
};

/* translate.c */
bool borrower_irq_translate(u64 msi_device_addr, struct msi_msg *msg);

/* irq.c */
const char *borrower_irq_mode_name(enum borrower_irq_mode mode);
int borrower_irq_mode_parse(const char *text);
int borrower_irq_choose(struct borrower_lease *lease);
int borrower_irq_create(struct borrower_lease *lease);
int borrower_irq_prove(struct borrower_lease *lease);
void borrower_irq_destroy(struct borrower_lease *lease);
void borrower_irq_domain_drop(struct borrower_irq *irq);

/* irq_message.c */
extern const struct borrower_irq_ops borrower_irq_direct;
extern const struct borrower_irq_ops borrower_irq_vectors;
void borrower_irq_compose(struct irq_data *data, struct msi_msg *msg);
void borrower_irq_ack(struct irq_data *data);
bool borrower_irq_remapped(const struct irq_domain *parent);

/* irq_proof.c */
int borrower_irq_prove_message(struct borrower_lease *lease, struct irq_domain *parent);
const char *borrower_irq_proof_name(const struct borrower_irq *irq);

/* irq_watch.c */
void borrower_irq_watch_init(struct borrower_lease *lease);
void borrower_irq_watch_start(struct borrower_lease *lease);
void borrower_irq_watch_stop(struct borrower_lease *lease);

/* irq_doorbell.c */
extern const struct borrower_irq_ops borrower_irq_doorbell;

/* irq_legacy.c or irq_parent.c, as the kernel has it */
struct irq_domain *borrower_irq_domain_create(struct borrower_irq *irq,
					      struct irq_domain *parent);

#endif /* BORROWER_IRQ_H */
