// SPDX-License-Identifier: GPL-2.0
/*
 * Config space of a shadow: reads, writes, its beginning and its end.
 *
 * Reads come from the image alone; nothing is ever read through. A write changes the bits that the
 * image allows, and config_forward.c tells the lender what of it acts on the device. While a
 * function reset is under way, and after the lease has ended, reads give ~0 and writes are dropped.
 *
 * Who calls it: pci_ops.c (any context, interrupts possibly off, with them the PCI core's own raw
 * lock), the lease (kill, reset_done). It owns the image. One raw spinlock, with operations
 * posted under it: the lender hears them in the order of the writes. Inside it only the lock
 * of the core's atomic lane is taken. Where interrupts are on, the write then waits, outside
 * the lock, until the lender has answered; with interrupts off (each access by user space, each
 * MSI write under an interrupt's lock) it does not.
 *
 * Transport-free: the way to the lender is a table of functions, so that tests can drive it.
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <devlend/compat.h>

#include "config.h"
#include "grant.h"

/* How often a write waits for room in the queue before it leaves that to the retry. */
#define CONFIG_ROUNDS	4

static bool config_access_ok(unsigned int where, unsigned int size)
{
	return (size == 1 || size == 2 || size == 4) && where < BORROWER_CONFIG_SIZE &&
	       !(where % size);
}

/**
 * borrower_config_read() - a config read
 * @cfg: config space
 * @where: offset in bytes, aligned to @size
 * @size: 1, 2 or 4
 *
 * Context: any. Return: the value; all-ones where there is none (dead, resetting, bad access).
 */
u32 borrower_config_read(struct borrower_config *cfg, unsigned int where, unsigned int size)
{
	unsigned long flags;
	unsigned int i;
	u32 value = 0;

	if (!config_access_ok(where, size))
		return ~0u;
	raw_spin_lock_irqsave(&cfg->lock, flags);
	if (cfg->dead || cfg->resetting)
		value = ~0u;
	else
		for (i = 0; i < size; i++)
			value |= (u32)cfg->image[where + i] << (8 * i);
	raw_spin_unlock_irqrestore(&cfg->lock, flags);
	return value;
}

static bool config_write_locked(struct borrower_config *cfg, unsigned int where,
				unsigned int size, u32 value)
{
	struct borrower_config_before before = borrower_forward_before(cfg);
	unsigned int i;

	for (i = 0; i < size; i++) {
		u8 mask = cfg->writable[where + i];

		cfg->image[where + i] = (cfg->image[where + i] & ~mask) | (value >> (8 * i) & mask);
	}
	return borrower_forward_written(cfg, &before, where, size, value);
}

/* Wait until the lender has answered all that the caller's write caused. */
static void config_wait(struct borrower_config *cfg)
{
	unsigned int rounds = CONFIG_ROUNDS;
	unsigned long flags;
	bool owed;
	int err;

	do {
		err = cfg->fwd->flush(cfg->ctx);
		raw_spin_lock_irqsave(&cfg->lock, flags);
		if (err)
			cfg->dropped++;
		owed = cfg->owed;
		borrower_forward_pay(cfg);
		raw_spin_unlock_irqrestore(&cfg->lock, flags);
	} while (owed && !err && --rounds);
}

/**
 * borrower_config_write() - a config write
 * @cfg: config space
 * @where: offset in bytes, aligned to @size
 * @size: 1, 2 or 4
 * @value: what is written
 *
 * Context: any. With interrupts on it returns when what it caused was answered; else that is only
 * posted.
 */
void borrower_config_write(struct borrower_config *cfg, unsigned int where, unsigned int size,
			   u32 value)
{
	bool may_wait = !irqs_disabled(), wait = false;
	unsigned long flags;

	if (!config_access_ok(where, size))
		return;
	raw_spin_lock_irqsave(&cfg->lock, flags);
	if (!cfg->dead && !cfg->resetting)
		wait = config_write_locked(cfg, where, size, value);
	raw_spin_unlock_irqrestore(&cfg->lock, flags);
	if (wait && may_wait)
		config_wait(cfg);
}

/**
 * borrower_config_catch_up() - tell the lender what the queue had no room for
 * @cfg: config space
 *
 * Context: any; some time after fwd->later was called, which it may call again.
 */
void borrower_config_catch_up(struct borrower_config *cfg)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&cfg->lock, flags);
	borrower_forward_pay(cfg);
	raw_spin_unlock_irqrestore(&cfg->lock, flags);
}

/**
 * borrower_config_kill() - the lease is over
 * @cfg: config space
 *
 * Context: any. On return nothing is posted any more.
 */
void borrower_config_kill(struct borrower_config *cfg)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&cfg->lock, flags);
	cfg->dead = true;
	cfg->owed = 0;
	raw_spin_unlock_irqrestore(&cfg->lock, flags);
}

/**
 * borrower_config_reset_done() - the lender has reset the function, or could not
 * @cfg: config space
 * @err: 0, or why not: then the config space stays silent, so that whoever waits for the device
 *	gives up
 *
 * Context: any.
 */
void borrower_config_reset_done(struct borrower_config *cfg, int err)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&cfg->lock, flags);
	/* a lender that speaks of a reset of which it was not told yet is not believed */
	if (!err && !cfg->owed) {
		cfg->resetting = false;
		/* the reset masked it at the lender */
		if (cfg->intx)
			cfg->owed |= BIT(DEVLEND_AOP_INTX_DISABLE);
		borrower_forward_pay(cfg);
	}
	raw_spin_unlock_irqrestore(&cfg->lock, flags);
}

/**
 * borrower_config_intx() - this host's interrupt of INTx is masked; or unmasked, or has been served
 * @cfg: config space
 * @masked: which of the two
 *
 * Context: any.
 */
void borrower_config_intx(struct borrower_config *cfg, bool masked)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&cfg->lock, flags);
	cfg->intx_masked = masked;
	/* told after a reset that is under way */
	if (cfg->intx && !cfg->resetting) {
		cfg->owed |= BIT(DEVLEND_AOP_INTX_DISABLE);
		borrower_forward_pay(cfg);
	}
	raw_spin_unlock_irqrestore(&cfg->lock, flags);
}

/* As many messages as can be delivered, a power of two in MSI. */
static void config_limit(struct borrower_config *cfg, unsigned int max)
{
	u16 flags;

	if (cfg->msix) {
		flags = get_unaligned_le16(cfg->image + cfg->msix + PCI_MSIX_FLAGS);
		put_unaligned_le16(min_t(u16, flags, max - 1),
				   cfg->image + cfg->msix + PCI_MSIX_FLAGS);
	}
	if (cfg->msi) {
		flags = get_unaligned_le16(cfg->image + cfg->msi + PCI_MSI_FLAGS);
		put_unaligned_le16((flags & ~PCI_MSI_FLAGS_QMASK) |
				   min_t(u16, flags & PCI_MSI_FLAGS_QMASK, ilog2(max) << 1),
				   cfg->image + cfg->msi + PCI_MSI_FLAGS);
	}
}

/**
 * borrower_config_setup() - make the config space of a lease
 * @cfg: zeroed
 * @grant: the lease's, valid
 * @runs: sparse image from the lender
 * @len: its length in bytes
 * @fwd: the way to the lender
 * @ctx: first argument of its functions
 *
 * Context: process. Return: 0; -EPROTO for an image that cannot be; -ENOMEM.
 */
int borrower_config_setup(struct borrower_config *cfg, const struct borrower_grant *grant,
			  const void *runs, size_t len, const struct borrower_config_fwd *fwd,
			  void *ctx)
{
	u8 *raw = kzalloc(BORROWER_CONFIG_SIZE, GFP_KERNEL);
	int err;

	if (!raw)
		return -ENOMEM;
	raw_spin_lock_init(&cfg->lock);
	cfg->fwd = fwd;
	cfg->ctx = ctx;
	cfg->handle_random = grant->handle.random;
	err = borrower_config_decode(runs, len, raw);
	if (!err && (raw[PCI_HEADER_TYPE] & PCI_HEADER_TYPE_MASK) != PCI_HEADER_TYPE_NORMAL)
		err = -EPROTO;
	if (!err) {
		borrower_config_header(cfg, grant, raw);
		borrower_config_caps(cfg, grant, raw);
		borrower_config_extended(cfg, raw);
		if (grant->messages_max)
			config_limit(cfg, grant->messages_max);
		memcpy(cfg->initial, cfg->image, BORROWER_CONFIG_SIZE);
	}
	kfree(raw);
	return err;
}
