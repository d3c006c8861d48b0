/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BORROWER_LEASE_H
#define BORROWER_LEASE_H

#include <linux/completion.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/time64.h>
#include <linux/workqueue.h>

#include <devlend/core.h>

#include "bars.h"
#include "grant.h"
#include "irq.h"
#include "lease_state.h"
#include "memory.h"

struct borrower_dma_ops;
struct borrower_doorbell;
struct borrower_shadow;
struct page;
struct seq_file;

/* offer-<8 hex>-<dddd:bb:dd.f>; the domain may have 8 digits */
#define BORROWER_NAME_MAX	40

/*
 * Longest time that a writer of `borrow` or `return` waits for the worker, ms: a reset at the
 * lender, and a driver's slow probe or removal. The work goes on afterwards.
 */
#define BORROWER_WAIT_MS	(DEVLEND_RESET_TIMEOUT_MS + 110000)

/*
 * Longest time that the removal of an NTB waits for the drivers of its shadows to let go,
 * ms. nvme needs 0.2 s; one that is just being probed as long as its first command may take, 60 s
 * for nvme. One that needs longer leaves the NTB without giving its regions back first.
 */
#define BORROWER_UNBIND_MS	75000

/**
 * struct borrower_lease - a device of another host, in use here
 * @dev: on the devlend bus, lease-<domain>. References: the list, the work while queued, the
 *	shadow until its bridge is released, writers of sysfs files
 * @node: in the list of leases, under that list's lock
 * @round: last walk through the list that visited it, under the list's lock
 * @link: referenced
 * @offer: what was offered when it was borrowed; constant
 * @offer_name: name of the offer's device; constant
 * @since: when it was made, seconds since 1970; constant
 * @slot: number in the slot table, held until the lease is gone
 * @domain: PCI domain of the shadow
 * @dma: how DMA addresses are made; constant
 * @ntb: the NTB function, referenced; its hardware may be gone when @dead
 * @work: the worker; one work item, so that its runs never overlap
 * @started: active, or failed
 * @unbound: no driver uses the shadow any more; nor will one
 * @ended: gone, and the device deleted
 * @grant: what the lender granted: written by the worker, constant from @granted on
 * @granted: the lender knows of a lease: RETURN is owed. Read by borrower_lease_granted()
 * @lock: protects what follows, and serialises use of the NTB by this lease against its
 *	disappearance. Taken under the rescan lock; never held while waiting for that
 * @state: only borrower_lease_enter() writes it
 * @error: why the borrow failed, an errno
 * @want_end: somebody asked for the end
 * @dead: the lender is not to be asked any more; the NTB's hardware is not to be touched
 * @bar_proven: the window to the registers was proven by a nonce
 * @memory: exposed memory; constant from ATTACH on but for the open flags
 * @probe_page: private page of the memory probe, kept until the windows are closed
 * @windows: host bridge windows
 * @irq: interrupt mode and domain
 * @doorbell: interrupts that the lender takes and tells; NULL = it does not. Worker only, but for
 *	borrower_doorbell_close()
 * @shadow: owned by its bridge; NULL before there is one and after it was given up
 */
struct borrower_lease {
	struct device dev;
	struct list_head node;
	unsigned int round;
	struct devlend_link *link;
	struct devlend_wire_offer offer;
	char offer_name[BORROWER_NAME_MAX];
	time64_t since;
	unsigned int slot;
	int domain;
	const struct borrower_dma_ops *dma;
	struct pci_dev *ntb;
	struct work_struct work;
	struct completion started;
	struct completion unbound;
	struct completion ended;
	struct borrower_grant grant;
	bool granted;

	struct mutex lock;	/* protects all that follows */
	enum borrower_lease_state state;
	int error;
	bool want_end;
	bool dead;
	bool bar_proven;
	struct borrower_memory memory;
	struct page *probe_page;
	struct borrower_windows windows;
	struct borrower_irq irq;
	struct borrower_doorbell *doorbell;
	struct borrower_shadow *shadow;
};

static inline struct borrower_lease *to_borrower_lease(struct device *dev)
{
	return container_of(dev, struct borrower_lease, dev);
}

/**
 * borrower_lease_granted() - did the lender grant this lease?
 * @lease: the lease
 *
 * Context: any. Return: whether &borrower_lease.grant can be read.
 */
static inline bool borrower_lease_granted(const struct borrower_lease *lease)
{
	/* pairs with smp_store_release() in borrow_grant() */
	return smp_load_acquire(&lease->granted);
}

/* lease.c */
int borrower_leases_init(void);
void borrower_leases_exit(void);
struct borrower_lease *borrower_lease_start(struct devlend_link *link,
					    const struct devlend_wire_offer *offer,
					    const char *offer_name, int slot,
					    enum borrower_irq_mode irq_mode);
int borrower_lease_wait_started(struct borrower_lease *lease);
int borrower_lease_end(struct borrower_lease *lease, bool wait);
void borrower_lease_lost(struct borrower_lease *lease);
void borrower_lease_enter(struct borrower_lease *lease, enum borrower_lease_state state);
void borrower_leases_end_all(void);
int borrower_leases_sleep(void);
void borrower_leases_wake(void);
void borrower_leases_link_lost(struct devlend_link *link, bool ntb_gone);
struct borrower_lease *borrower_lease_find(struct devlend_link *link,
					   const struct devlend_handle *handle);
void borrower_leases_each(struct devlend_link *link,
			  void (*fn)(struct borrower_lease *lease, void *data), void *data);

/* borrow.c */
int borrower_lease_borrow(struct borrower_lease *lease);

/* removal.c */
void borrower_lease_cut(struct borrower_lease *lease);
void borrower_lease_detach(struct borrower_lease *lease);
void borrower_lease_teardown(struct borrower_lease *lease);

/* lease_sysfs.c */
extern const struct attribute_group *borrower_lease_groups[];

/* pm.c */
int borrower_pm_init(void);
void borrower_pm_exit(void);

/* debugfs.c */
void borrower_debugfs_init(void);
void borrower_debugfs_exit(void);

/* slot.c */
int borrower_slot_get(const struct devlend_wire_offer_id *id, int want);
void borrower_slot_put(unsigned int slot);
int borrower_slot_domain(unsigned int slot);
bool borrower_slot_base_valid(void);

/* main.c: objects whose release function is in this module's text */
void borrower_object_get(void);
void borrower_object_put(void);

#endif /* BORROWER_LEASE_H */
