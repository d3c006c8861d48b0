// SPDX-License-Identifier: GPL-2.0
/*
 * Config space of a shadow: reads, writes, and what a write causes at the lender.
 *
 * Reads come from the image alone; nothing is ever read through. A write changes the bits that the
 * image allows and, for the few registers that act on the device, posts operations to the lender: bus
 * mastering, function reset, MSI message and control, MSI-X control. Everything else is the shadow's own.
 *
 * Who calls it: pci_ops.c (any context, interrupts possibly off), the lease (kill, reset_done). One raw
 * spinlock; operations are posted under it, so the lender sees them in the order of the writes. Where the
 * caller may wait, the write returns when the lender has answered.
 *
 * Transport-free: the way to the lender is a pair of functions, so that tests can drive it.
 */
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <devlend/compat.h>

#include "config.h"
#include "grant.h"

static u16 config_get16(const struct borrower_config *cfg, unsigned int where)
{
	return get_unaligned_le16(cfg->image + where);
}

static u32 config_get32(const struct borrower_config *cfg, unsigned int where)
{
	return get_unaligned_le32(cfg->image + where);
}

/* Does a write of @size bytes at @where touch the @n bytes of a register? */
static bool config_hits(unsigned int where, unsigned int size, unsigned int reg, unsigned int n)
{
	return where < reg + n && reg < where + size;
}

static void config_post(struct borrower_config *cfg, u8 op, u32 arg)
{
	if (cfg->fwd->post(cfg->ctx, op, arg))
		cfg->dropped++;
}

static void config_command_written(struct borrower_config *cfg, u16 old, bool *wait)
{
	u16 now = config_get16(cfg, PCI_COMMAND);

	if (!((old ^ now) & PCI_COMMAND_MASTER))
		return;
	config_post(cfg, DEVLEND_AOP_BUS_MASTER, !!(now & PCI_COMMAND_MASTER));
	*wait = true;
}

/*
 * The lender takes the parts of a message in this order and applies them with the data, which drivers'
 * core code writes last.
 */
static void config_msi_written(struct borrower_config *cfg, unsigned int where, unsigned int size,
			       bool *wait)
{
	u16 flags = config_get16(cfg, cfg->msi + PCI_MSI_FLAGS);
	bool wide = flags & PCI_MSI_FLAGS_64BIT;
	unsigned int data = cfg->msi + (wide ? PCI_MSI_DATA_64 : PCI_MSI_DATA_32);
	unsigned int mask = cfg->msi + (wide ? PCI_MSI_MASK_64 : PCI_MSI_MASK_32);

	if (config_hits(where, size, cfg->msi + PCI_MSI_ADDRESS_LO, 4))
		config_post(cfg, DEVLEND_AOP_MSI_ADDR_LO, config_get32(cfg, cfg->msi + PCI_MSI_ADDRESS_LO));
	if (wide && config_hits(where, size, cfg->msi + PCI_MSI_ADDRESS_HI, 4))
		config_post(cfg, DEVLEND_AOP_MSI_ADDR_HI, config_get32(cfg, cfg->msi + PCI_MSI_ADDRESS_HI));
	if (config_hits(where, size, data, 2)) {
		config_post(cfg, DEVLEND_AOP_MSI_DATA, config_get16(cfg, data));
		*wait = true;
	}
	if (flags & PCI_MSI_FLAGS_MASKBIT && config_hits(where, size, mask, 4)) {
		config_post(cfg, DEVLEND_AOP_MSI_MASK, config_get32(cfg, mask));
		*wait = true;
	}
	if (config_hits(where, size, cfg->msi + PCI_MSI_FLAGS, 2)) {
		config_post(cfg, DEVLEND_AOP_MSI_CTRL,
			    flags & (PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE));
		*wait = true;
	}
}

/* Registers of a function after a reset (PCIe 6.0, 6.6.2): no interrupts, no bus mastering. */
static void config_reset_image(struct borrower_config *cfg)
{
	put_unaligned_le16(0, cfg->image + PCI_COMMAND);
	if (cfg->msi)
		put_unaligned_le16(config_get16(cfg, cfg->msi + PCI_MSI_FLAGS) &
				   ~(PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE),
				   cfg->image + cfg->msi + PCI_MSI_FLAGS);
	if (cfg->msix)
		put_unaligned_le16(config_get16(cfg, cfg->msix + PCI_MSIX_FLAGS) & PCI_MSIX_FLAGS_QSIZE,
				   cfg->image + cfg->msix + PCI_MSIX_FLAGS);
}

static void config_start_reset(struct borrower_config *cfg, bool *wait)
{
	cfg->resetting = true;
	config_reset_image(cfg);
	config_post(cfg, DEVLEND_AOP_FLR, 0);
	*wait = true;
}

static bool config_is_flr(const struct borrower_config *cfg, unsigned int where, unsigned int size,
			  u32 value)
{
	unsigned int reg = cfg->pcie + PCI_EXP_DEVCTL + 1;

	if (!cfg->pcie || !config_hits(where, size, reg, 1) ||
	    !(config_get32(cfg, cfg->pcie + PCI_EXP_DEVCAP) & PCI_EXP_DEVCAP_FLR))
		return false;
	return value >> (8 * (reg - where)) & (PCI_EXP_DEVCTL_BCR_FLR >> 8);
}

static void config_store(struct borrower_config *cfg, unsigned int where, unsigned int size,
			 u32 value)
{
	unsigned int i;

	for (i = 0; i < size; i++) {
		u8 mask = cfg->writable[where + i];

		cfg->image[where + i] = (cfg->image[where + i] & ~mask) | (value >> (8 * i) & mask);
	}
}

static void config_write_locked(struct borrower_config *cfg, unsigned int where, unsigned int size,
				u32 value, bool *wait)
{
	u16 command = config_get16(cfg, PCI_COMMAND);
	u16 msix = cfg->msix ? config_get16(cfg, cfg->msix + PCI_MSIX_FLAGS) : 0;

	config_store(cfg, where, size, value);
	if (config_hits(where, size, PCI_COMMAND, 2))
		config_command_written(cfg, command, wait);
	if (cfg->msi)
		config_msi_written(cfg, where, size, wait);
	if (cfg->msix && config_get16(cfg, cfg->msix + PCI_MSIX_FLAGS) != msix) {
		config_post(cfg, DEVLEND_AOP_MSIX_CTRL,
			    config_get16(cfg, cfg->msix + PCI_MSIX_FLAGS) &
			    (PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL));
		*wait = true;
	}
	if (config_is_flr(cfg, where, size, value))
		config_start_reset(cfg, wait);
}

static bool config_access_ok(unsigned int where, unsigned int size)
{
	return (size == 1 || size == 2 || size == 4) && where < BORROWER_CONFIG_SIZE && !(where % size);
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

/**
 * borrower_config_write() - a config write
 * @cfg: config space
 * @where: offset in bytes, aligned to @size
 * @size: 1, 2 or 4
 * @value: what is written
 *
 * Context: any. With interrupts on it returns when what it caused was answered; else that is only posted.
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
		config_write_locked(cfg, where, size, value, &wait);
	raw_spin_unlock_irqrestore(&cfg->lock, flags);
	if (!wait || !may_wait)
		return;
	if (cfg->fwd->flush(cfg->ctx)) {
		raw_spin_lock_irqsave(&cfg->lock, flags);
		cfg->dropped++;
		raw_spin_unlock_irqrestore(&cfg->lock, flags);
	}
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
	raw_spin_unlock_irqrestore(&cfg->lock, flags);
}

/**
 * borrower_config_reset_done() - the lender has reset the function, or could not
 * @cfg: config space
 * @err: 0, or why not: then the config space stays silent, so that whoever waits for the device gives up
 *
 * Context: any.
 */
void borrower_config_reset_done(struct borrower_config *cfg, int err)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&cfg->lock, flags);
	if (!err)
		cfg->resetting = false;
	raw_spin_unlock_irqrestore(&cfg->lock, flags);
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
		borrower_config_caps(cfg, raw);
		borrower_config_extended(cfg, raw);
	}
	kfree(raw);
	return err;
}
