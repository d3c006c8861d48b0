/* SPDX-License-Identifier: GPL-2.0 */
/* Config space of a shadow: an image, what may be written to it, and what a write causes. */
#ifndef BORROWER_CONFIG_H
#define BORROWER_CONFIG_H

#include <linux/pci_regs.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <devlend/wire.h>

struct borrower_grant;
struct devlend_link;
struct pci_ops;

#define BORROWER_CONFIG_SIZE	4096

/**
 * struct borrower_config_fwd - how a write reaches the lender
 * @post: queue an operation, in order; never waits. Context: any, interrupts off
 * @flush: wait, spinning and bounded, until all that was posted is answered. Context: interrupts on
 */
struct borrower_config_fwd {
	int (*post)(void *ctx, u8 op, u32 arg);
	int (*flush)(void *ctx);
};

/**
 * struct borrower_config - config space of a shadow
 * @lock: protects all below; taken with interrupts off, since user-space accesses come so
 * @fwd: the way to the lender
 * @ctx: first argument of its functions
 * @handle_random: random half of the lease's handle
 * @dead: the lease is over: reads give ~0, writes are dropped
 * @resetting: a function reset is under way at the lender: the same
 * @msi: offset of the MSI capability; 0 = none
 * @msix: of the MSI-X capability
 * @pcie: of the PCI Express capability
 * @dropped: operations that the lender, or the queue, refused
 * @image: what a read finds
 * @writable: which bits a write changes
 */
struct borrower_config {
	raw_spinlock_t lock;
	const struct borrower_config_fwd *fwd;
	void *ctx;
	u32 handle_random;
	bool dead;
	bool resetting;
	u8 msi;
	u8 msix;
	u8 pcie;
	unsigned int dropped;
	u8 image[BORROWER_CONFIG_SIZE];
	u8 writable[BORROWER_CONFIG_SIZE];
};

/* config.c */
int borrower_config_setup(struct borrower_config *cfg, const struct borrower_grant *grant,
			  const void *runs, size_t len, const struct borrower_config_fwd *fwd,
			  void *ctx);
u32 borrower_config_read(struct borrower_config *cfg, unsigned int where, unsigned int size);
void borrower_config_write(struct borrower_config *cfg, unsigned int where, unsigned int size,
			   u32 value);
void borrower_config_kill(struct borrower_config *cfg);
void borrower_config_reset_done(struct borrower_config *cfg, int err);

/* config_image.c */
int borrower_config_decode(const void *runs, size_t len, u8 *raw);
void borrower_config_header(struct borrower_config *cfg, const struct borrower_grant *grant,
			    const u8 *raw);

/* config_caps.c */
void borrower_config_caps(struct borrower_config *cfg, const u8 *raw);
void borrower_config_extended(struct borrower_config *cfg, const u8 *raw);

/* pci_ops.c */
extern struct pci_ops borrower_pci_ops;
int borrower_config_init(struct borrower_config *cfg, struct devlend_link *link,
			 const struct borrower_grant *grant, const void *runs, size_t len);

#endif /* BORROWER_CONFIG_H */
