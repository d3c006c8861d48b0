/* SPDX-License-Identifier: GPL-2.0 */
/* Config space of a shadow: an image, what may be written to it, and what a write causes. */
#ifndef BORROWER_CONFIG_H
#define BORROWER_CONFIG_H

#include <linux/pci_regs.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <devlend/wire.h>

struct borrower_grant;
struct devlend_link;
struct pci_ops;

#define BORROWER_CONFIG_SIZE	4096

/**
 * struct borrower_config_fwd - how a write reaches the lender
 * @post: queue an operation, in order; never waits; -ENOBUFS = try again later. Context: any,
 *	the config space's lock held
 * @flush: wait, spinning and bounded, until all that was posted is answered. Context: interrupts
 *	on, no lock of the config space held
 * @later: the queue was full: call borrower_config_catch_up() soon. Context: as @post
 */
struct borrower_config_fwd {
	int (*post)(void *ctx, u8 op, u32 arg);
	int (*flush)(void *ctx);
	void (*later)(void *ctx);
};

/**
 * struct borrower_config - config space of a shadow
 * @lock: protects all below but @retry; taken with interrupts off, as user-space accesses come so
 * @fwd: the way to the lender
 * @ctx: first argument of its functions
 * @handle_random: random half of the lease's handle
 * @dead: the lease is over: reads give ~0, writes are dropped
 * @resetting: a function reset is under way at the lender: the same
 * @msi_live: MSI is enabled and has a message: it is on at the lender
 * @intx: INTx is told by the lender
 * @intx_masked: this host's interrupt of it is masked
 * @pm: offset of the power management capability; 0 = none
 * @msi: of the MSI capability
 * @msix: of the MSI-X capability
 * @pcie: of the PCI Express capability
 * @owed: operations that the lender must be told of, as bits (1 << &enum devlend_atomic_op); their
 *	arguments are in the image
 * @dropped: operations that could not be sent, and waits that failed
 * @retry: work of pci_ops.c that catches up with what is owed
 * @image: what a read finds
 * @writable: which bits a write changes
 * @initial: the image as it was when borrowed, to which a reset goes back
 */
struct borrower_config {
	raw_spinlock_t lock;
	const struct borrower_config_fwd *fwd;
	void *ctx;
	u32 handle_random;
	bool dead;
	bool resetting;
	bool msi_live;
	bool intx;
	bool intx_masked;
	u8 pm;
	u8 msi;
	u8 msix;
	u8 pcie;
	u16 owed;
	unsigned int dropped;
	struct delayed_work retry;
	u8 image[BORROWER_CONFIG_SIZE];
	u8 writable[BORROWER_CONFIG_SIZE];
	u8 initial[BORROWER_CONFIG_SIZE];
};

/* config.c */
int borrower_config_setup(struct borrower_config *cfg, const struct borrower_grant *grant,
			  const void *runs, size_t len, const struct borrower_config_fwd *fwd,
			  void *ctx);
u32 borrower_config_read(struct borrower_config *cfg, unsigned int where, unsigned int size);
void borrower_config_write(struct borrower_config *cfg, unsigned int where, unsigned int size,
			   u32 value);
void borrower_config_catch_up(struct borrower_config *cfg);
void borrower_config_kill(struct borrower_config *cfg);
void borrower_config_reset_done(struct borrower_config *cfg, int err);
void borrower_config_intx(struct borrower_config *cfg, bool masked);

/* config_forward.c: all with the lock held */
struct borrower_config_before {
	u16 msi_flags;
	u16 msi_ctrl;
	u16 msix_flags;
	u8 power;
	bool master;
	bool intx_off;
};

struct borrower_config_before borrower_forward_before(const struct borrower_config *cfg);
bool borrower_forward_written(struct borrower_config *cfg,
			      const struct borrower_config_before *before,
			      unsigned int where, unsigned int size, u32 value);
void borrower_forward_pay(struct borrower_config *cfg);

/* config_image.c */
int borrower_config_decode(const void *runs, size_t len, u8 *raw);
void borrower_config_header(struct borrower_config *cfg, const struct borrower_grant *grant,
			    const u8 *raw);

/* config_policy.c */
struct borrower_policy;

const struct borrower_policy *borrower_policy_find(const struct borrower_grant *grant,
						   const u8 *cap);
const struct borrower_policy *borrower_policy_find_ext(const u8 *cap);
unsigned int borrower_policy_length(const struct borrower_policy *policy, const u8 *cap);
bool borrower_policy_once(const struct borrower_policy *policy);
void borrower_policy_apply(struct borrower_config *cfg, const struct borrower_policy *policy,
			   const u8 *raw, unsigned int pos);

/* config_caps.c */
void borrower_config_caps(struct borrower_config *cfg, const struct borrower_grant *grant,
			  const u8 *raw);
void borrower_config_extended(struct borrower_config *cfg, const u8 *raw);

/* pci_ops.c */
extern struct pci_ops borrower_pci_ops;
int borrower_config_init(struct borrower_config *cfg, struct devlend_link *link,
			 const struct borrower_grant *grant, const void *runs, size_t len);
void borrower_config_stop(struct borrower_config *cfg);

#endif /* BORROWER_CONFIG_H */
