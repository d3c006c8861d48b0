/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LENDER_LENT_H
#define LENDER_LENT_H

#include <linux/bits.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/time64.h>
#include <linux/uuid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <devlend/core.h>

#include "access.h"
#include "atomic_check.h"
#include "bdf.h"
#include "iova.h"
#include "lent_state.h"

#define LENDER_DRIVER_NAME	"devlend_lender"

/* Time that a borrower has, after REVOKE, to unbind its driver and return the device. */
#define LENDER_GRACE_MS		30000
/*
 * Longest time that a writer of `lend` or `reclaim` waits for the worker: grace, two
 * resets, and drivers that are slow to leave or to probe. The work goes on afterwards.
 */
#define LENDER_WAIT_MS		(LENDER_GRACE_MS + 2 * DEVLEND_RESET_TIMEOUT_MS + 120000)
/* A request that waits for the worker looks this often whether its link still stands. */
#define LENDER_POLL_MS		250

/* longest name of a driver that is remembered */
#define LENDER_DRIVER_MAX	64

/**
 * enum lender_todo - bits of &lender_dev.todo: what the worker is asked to do
 * @LENDER_DO_TAKE: take the device from its driver
 * @LENDER_DO_END: the lease is void, or the device upset: close, stop, reset, offer again
 * @LENDER_DO_FLR: reset on behalf of the borrower
 * @LENDER_DO_RECLAIM: give the device back to its driver
 * @LENDER_DO_UNBOUND: somebody unbound the device from this driver
 * @LENDER_DO_EVICT: the borrower may not have the device any more
 */
enum lender_todo {
	LENDER_DO_TAKE,
	LENDER_DO_END,
	LENDER_DO_FLR,
	LENDER_DO_RECLAIM,
	LENDER_DO_UNBOUND,
	LENDER_DO_EVICT,
};

/**
 * enum lender_end - why a lease ended
 * @LENDER_END_RETURN: the borrower returned it
 * @LENDER_END_LINK: the link went down, or the borrower forgot its leases
 * @LENDER_END_RECLAIM: the operator wants it back, and the borrower did not return it in time
 * @LENDER_END_ERROR: the device failed, or was reset on this host
 * @LENDER_END_REMOVED: the device was unbound or removed
 * @LENDER_END_SHUTDOWN: this host shuts down
 * @LENDER_END_LOST_GRANT: the borrower asks again: the grant's reply was lost
 */
enum lender_end {
	LENDER_END_RETURN,
	LENDER_END_LINK,
	LENDER_END_RECLAIM,
	LENDER_END_ERROR,
	LENDER_END_REMOVED,
	LENDER_END_SHUTDOWN,
	LENDER_END_LOST_GRANT,
};

/**
 * struct lender_map - one entry of the map list of a lease
 * @kind: &enum devlend_map_kind
 * @window: outbound memory window
 * @prot: %DEVLEND_PROT_READ, %DEVLEND_PROT_WRITE
 * @offset: of the first byte from the start of the window
 * @length: bytes
 * @cpu_phys: of the first byte, inside the window's aperture
 * @lender_bus: the same as the lent device addresses it: an I/O address, where an IOMMU translates
 */
struct lender_map {
	u16 kind;
	u16 window;
	u32 prot;
	u64 offset;
	u64 length;
	phys_addr_t cpu_phys;
	u64 lender_bus;
};

/**
 * struct lender_iommu - a lent device behind this host's IOMMU
 * @group: its group, the DMA of which is ours; referenced. NULL = no IOMMU translates for it
 * @domain: what is attached to @group; NULL where that is
 * @maps: entries of @mapped that are used
 * @mapped: what is in @domain
 */
struct lender_iommu {
	struct iommu_group *group;
	struct iommu_domain *domain;
	unsigned int maps;
	struct lender_iova_range mapped[DEVLEND_MAP_ENTRIES_MAX];
};

/**
 * struct lender_bars - BARs exposed to a borrower
 * @count: entries of @exposed and @index that are used
 * @index: BAR number of each
 * @exposed: the regions, for the core
 * @iova: of each region, where the NTB function's IOMMU translates
 * @ntb: the NTB function that @iova belongs to; NULL where nothing is translated
 * @permit_sharing: granted though another lease's registers might be in reach
 */
struct lender_bars {
	unsigned int count;
	u8 index[DEVLEND_BARS];
	struct devlend_exposed exposed[DEVLEND_BARS];
	dma_addr_t iova[DEVLEND_BARS];
	struct device *ntb;
	bool permit_sharing;
};

/**
 * struct lender_lease - the lease of a lent device
 * @link: referenced; the link that it was granted over; NULL = no lease
 * @handle: its name; valid where @link is
 * @borrower: the borrowing host
 * @since: when it was granted, seconds since 1970
 * @bars: BARs that are exposed
 * @maps: entries of @map
 * @map: what the device may address at the borrower
 * @end: why it ended; valid from state returning on
 */
struct lender_lease {
	struct devlend_link *link;
	struct devlend_handle handle;
	uuid_t borrower;
	time64_t since;
	struct lender_bars bars;
	unsigned int maps;
	struct lender_map map[DEVLEND_MAP_ENTRIES_MAX];
	enum lender_end end;
};

/**
 * struct lender_dev - a device of this host that is lent
 * @dev: on the devlend bus, lent-<dddd:bb:dd.f>. References: the list, the work while queued,
 *	&lender_live while on it, writers of `lend` and `reclaim`, request handlers
 * @node: in the list of lent devices, under that list's lock
 * @id: number of this life, unique while the module is loaded; constant
 * @generation: how often this function was lent, this time included; constant
 * @pdev: the device, referenced; constant
 * @bridge: the one above, referenced; NULL = none. Constant from the first binding on, for of a
 *	virtual function that was removed it cannot be found any more
 * @forced: lent though it has no way to be reset; constant
 * @driver: name of the driver that it was taken from; empty = none. Worker only
 * @override: driver_override as it was; NULL = none. Worker only
 * @saved: config space as it was when taken; under the device's own lock
 * @work: the worker: one item, so that its runs never overlap
 * @todo: &enum lender_todo bits, atomic
 * @wait: woken when @state changes, and by what a worker that waits for its lease wants to see
 *
 * @bound: bound to this driver. Written under the device's own lock (and @lock), so stable
 *	under either
 *
 * @lock: protects what follows, and orders use of the NTB by the lease against its disappearance.
 *	Taken under the rescan lock and the device's own lock; never held while
 *	taking those, nor across calls to the peer
 * @state: written only by lender_enter()
 * @error: why it could not be lent, an errno
 * @registered: @dev is on the bus
 * @version: counts what peers are to be told
 * @lease: the lease
 * @iommu: what an IOMMU lets it reach; group and domain from its binding to its unbinding
 * @leases: leases that have ended
 * @end_error: of the last lease's end: 0, or why the device is quarantined
 * @revoke: &enum devlend_revoke_reason of the reclaim, or of the loss of access, that is under
 *	way, which shuts out new leases; 0 = none
 * @grace_ms: time that it gives the borrower
 * @upset: since the worker last began to bring the device to rest, it failed, or somebody else
 *	reset it
 * @recovering: the PCI core recovers it from an error, and will reset or restore it yet
 * @failures: PCI errors so far
 * @asleep: this host sleeps, or is about to, or goes down: no lease is granted
 * @allow: hosts that may borrow it
 * @visible: hosts that may see it besides
 * @refused: the host of which the log says already that it may not; nil = none
 *
 * @live: in the list of live leases; it and what follows are under the lock of that list
 * @live_link: link of the live lease
 * @random: random half of its handle
 * @atomic: what the atomic lane sees
 * @doorbell: its interrupts, where this host takes them; written under @lock too, so stable under
 *	either. NULL = it does not
 */
struct lender_dev {
	struct device dev;
	struct list_head node;
	u32 id;
	u32 generation;
	struct pci_dev *pdev;
	struct pci_dev *bridge;
	bool forced;
	char driver[LENDER_DRIVER_MAX];
	char *override;
	struct pci_saved_state *saved;
	struct work_struct work;
	unsigned long todo;
	wait_queue_head_t wait;

	bool bound;

	/* protects what follows, up to @live */
	struct mutex lock;
	enum lender_state state;
	int error;
	bool registered;
	u32 version;
	struct lender_lease lease;
	struct lender_iommu iommu;
	unsigned int leases;
	int end_error;
	u32 revoke;
	unsigned int grace_ms;
	bool upset;
	bool recovering;
	unsigned int failures;
	bool asleep;
	struct lender_access allow;
	struct lender_access visible;
	uuid_t refused;

	struct list_head live;
	struct devlend_link *live_link;
	u32 random;
	struct lender_atomic atomic;
	struct lender_doorbell *doorbell;
};

static inline struct lender_dev *to_lender_dev(struct device *dev)
{
	return container_of(dev, struct lender_dev, dev);
}

static inline struct lender_dev *lender_get(struct lender_dev *lent)
{
	get_device(&lent->dev);
	return lent;
}

static inline void lender_put(struct lender_dev *lent)
{
	put_device(&lent->dev);
}

/* lent.c */
struct lender_dev *lender_create(struct pci_dev *pdev, bool forced);
struct lender_dev *lender_find_pdev(const struct pci_dev *pdev);
struct lender_dev *lender_find_offer(u32 domain, u16 bdf);
struct lender_dev *lender_next(u32 after_id);
void lender_enter(struct lender_dev *lent, enum lender_state state);
void lender_forget(struct lender_dev *lent);
void lender_kick(struct lender_dev *lent, enum lender_todo what);
void lender_lents_flush(void);
int lender_lents_init(void);
void lender_lents_exit(void);

/* lend.c */
int lender_lend(const struct lender_bdf *bdf);
int lender_reclaim(const struct lender_bdf *bdf);
void lender_lends_stop(void);
void lender_reclaim_all(u32 reason);
void lender_take(struct lender_dev *lent);
void lender_give_back(struct lender_dev *lent);
void lender_unbound(struct lender_dev *lent);

/* driver.c */
extern struct pci_driver lender_pci_driver;

/* lease.c */
void lender_lease_void(struct lender_dev *lent, enum lender_end end);
void lender_lease_end(struct lender_dev *lent);
void lender_upset(struct lender_dev *lent);
void lender_failed(struct lender_dev *lent, bool recovering);
void lender_recovered(struct lender_dev *lent);
void lender_lease_flr(struct lender_dev *lent);
void lender_lease_revoke(struct lender_dev *lent);
void lender_leases_link_lost(struct devlend_link *link, bool ntb_gone);

/* sysfs.c */
extern const struct attribute_group *lender_lent_groups[];
extern const struct attribute_group *lender_driver_groups[];

/* debugfs.c */
void lender_debugfs_init(void);
void lender_debugfs_exit(void);

#endif /* LENDER_LENT_H */
