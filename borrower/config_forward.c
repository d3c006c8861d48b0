// SPDX-License-Identifier: GPL-2.0
/*
 * What a config write causes at the lender, and in which order the lender hears of it.
 *
 * Few registers act on the device: bus mastering, function reset, MSI message and control,
 * MSI-X control. A write to one of them makes the shadow *owe* the lender an operation: a bit in
 * borrower_config.owed, whose argument is in the image. What is owed is paid at once, in an order
 * that is right for any set of operations:
 *
 *   reset; what switches off; the MSI message, its data last, since that makes the lender apply
 *   it; the MSI mask; what switches on, bus mastering last; INTx
 *
 * A full queue therefore costs time but loses nothing: the bit stays, later writes change the
 * argument, and fwd->later has somebody try again. All but the reset are states, so telling the
 * last value is enough; a reset voids whatever was owed before it.
 *
 * Called by config.c with the config space's raw lock held, which protects all state and makes
 * the lender hear operations in the order of the writes. Any context; never waits.
 * Transport-free; tests/kunit/borrower_config_forward_test.c covers it.
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/string.h>

#include <devlend/compat.h>

#include "config.h"

#define FORWARD_MSIX_WRITABLE	(PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL)
/* value of the power state field */
#define FORWARD_D3HOT		3

/* Operations after which a writer wants to know that the device has done it. */
#define FORWARD_WAIT	(BIT(DEVLEND_AOP_BUS_MASTER) | BIT(DEVLEND_AOP_FLR) | \
			 BIT(DEVLEND_AOP_MSI_DATA) | BIT(DEVLEND_AOP_MSI_MASK) | \
			 BIT(DEVLEND_AOP_MSI_CTRL) | BIT(DEVLEND_AOP_MSIX_CTRL))

static u16 forward_get16(const struct borrower_config *cfg, unsigned int where)
{
	return get_unaligned_le16(cfg->image + where);
}

static u32 forward_get32(const struct borrower_config *cfg, unsigned int where)
{
	return get_unaligned_le32(cfg->image + where);
}

static void forward_put16(struct borrower_config *cfg, unsigned int where, u16 value)
{
	put_unaligned_le16(value, cfg->image + where);
}

/* Does a write of @size bytes at @where touch the @n bytes of a register? */
static bool forward_hits(unsigned int where, unsigned int size, unsigned int reg, unsigned int n)
{
	return where < reg + n && reg < where + size;
}

static u16 forward_msi_flags(const struct borrower_config *cfg)
{
	return cfg->msi ? forward_get16(cfg, cfg->msi + PCI_MSI_FLAGS) : 0;
}

static u16 forward_msix_flags(const struct borrower_config *cfg)
{
	return cfg->msix ? forward_get16(cfg, cfg->msix + PCI_MSIX_FLAGS) : 0;
}

static unsigned int forward_msi_data(const struct borrower_config *cfg)
{
	return cfg->msi + (forward_msi_flags(cfg) & PCI_MSI_FLAGS_64BIT ? PCI_MSI_DATA_64 :
									   PCI_MSI_DATA_32);
}

static unsigned int forward_msi_mask(const struct borrower_config *cfg)
{
	return cfg->msi + (forward_msi_flags(cfg) & PCI_MSI_FLAGS_64BIT ? PCI_MSI_MASK_64 :
									   PCI_MSI_MASK_32);
}

static u8 forward_power(const struct borrower_config *cfg)
{
	return cfg->pm ? cfg->image[cfg->pm + PCI_PM_CTRL] & PCI_PM_CTRL_STATE_MASK : 0;
}

/* A function in D3hot writes to no memory, and so the real one must not, which stays in D0. */
static bool forward_master(const struct borrower_config *cfg)
{
	return forward_get16(cfg, PCI_COMMAND) & PCI_COMMAND_MASTER && !forward_power(cfg);
}

static bool forward_intx_off(const struct borrower_config *cfg)
{
	return forward_get16(cfg, PCI_COMMAND) & PCI_COMMAND_INTX_DISABLE;
}

/* Control of MSI as the lender has it: on only with a message. */
static u16 forward_msi_ctrl(const struct borrower_config *cfg)
{
	return (forward_msi_flags(cfg) & PCI_MSI_FLAGS_QSIZE) |
	       (cfg->msi_live ? PCI_MSI_FLAGS_ENABLE : 0);
}

static bool forward_msi_has_address(const struct borrower_config *cfg)
{
	return forward_get32(cfg, cfg->msi + PCI_MSI_ADDRESS_LO) ||
	       (forward_msi_flags(cfg) & PCI_MSI_FLAGS_64BIT &&
		forward_get32(cfg, cfg->msi + PCI_MSI_ADDRESS_HI));
}

static u32 forward_arg(const struct borrower_config *cfg, unsigned int op)
{
	switch (op) {
	case DEVLEND_AOP_BUS_MASTER:
		return forward_master(cfg);
	case DEVLEND_AOP_MSI_ADDR_LO:
		return forward_get32(cfg, cfg->msi + PCI_MSI_ADDRESS_LO);
	case DEVLEND_AOP_MSI_ADDR_HI:
		return forward_get32(cfg, cfg->msi + PCI_MSI_ADDRESS_HI);
	case DEVLEND_AOP_MSI_DATA:
		return forward_get16(cfg, forward_msi_data(cfg));
	case DEVLEND_AOP_MSI_MASK:
		return forward_get32(cfg, forward_msi_mask(cfg));
	case DEVLEND_AOP_MSI_CTRL:
		return forward_msi_ctrl(cfg);
	case DEVLEND_AOP_MSIX_CTRL:
		return forward_msix_flags(cfg) & FORWARD_MSIX_WRITABLE;
	case DEVLEND_AOP_INTX_DISABLE:
		return cfg->intx_masked || forward_intx_off(cfg);
	default:
		return 0;
	}
}

/* Pay @op if it is owed. false: the queue is full. */
static bool forward_pay_one(struct borrower_config *cfg, unsigned int op)
{
	int err;

	if (!(cfg->owed & BIT(op)))
		return true;
	err = cfg->fwd->post(cfg->ctx, op, forward_arg(cfg, op));
	if (err == -ENOBUFS)
		return false;
	/* any other error means that the lease is ending: there is nobody to be told */
	if (err)
		cfg->dropped++;
	cfg->owed &= ~BIT(op);
	return true;
}

static bool forward_pay_ordered(struct borrower_config *cfg)
{
	static const u8 switches[] = {
		DEVLEND_AOP_MSI_CTRL, DEVLEND_AOP_MSIX_CTRL, DEVLEND_AOP_BUS_MASTER,
	};
	static const u8 message[] = {
		DEVLEND_AOP_MSI_ADDR_LO, DEVLEND_AOP_MSI_ADDR_HI, DEVLEND_AOP_MSI_DATA,
		DEVLEND_AOP_MSI_MASK,
	};
	const bool on[] = {
		cfg->msi_live,
		forward_msix_flags(cfg) & PCI_MSIX_FLAGS_ENABLE,
		forward_master(cfg),
	};
	unsigned int i;

	if (!forward_pay_one(cfg, DEVLEND_AOP_FLR))
		return false;
	for (i = ARRAY_SIZE(switches); i--; )
		if (!on[i] && !forward_pay_one(cfg, switches[i]))
			return false;
	for (i = 0; i < ARRAY_SIZE(message); i++)
		if (!forward_pay_one(cfg, message[i]))
			return false;
	for (i = 0; i < ARRAY_SIZE(switches); i++)
		if (!forward_pay_one(cfg, switches[i]))
			return false;
	return forward_pay_one(cfg, DEVLEND_AOP_INTX_DISABLE);
}

/**
 * borrower_forward_pay() - tell the lender what is owed to it, as far as the queue has room
 * @cfg: config space, its lock held
 *
 * Context: any.
 */
void borrower_forward_pay(struct borrower_config *cfg)
{
	lockdep_assert_held(&cfg->lock);
	if (cfg->dead)
		cfg->owed = 0;
	if (cfg->owed && !forward_pay_ordered(cfg))
		cfg->fwd->later(cfg->ctx);
}

/**
 * borrower_forward_before() - what a write may change, before it does
 * @cfg: config space, its lock held
 *
 * Context: any. Return: for borrower_forward_written().
 */
struct borrower_config_before borrower_forward_before(const struct borrower_config *cfg)
{
	return (struct borrower_config_before) {
		.msi_flags = forward_msi_flags(cfg),
		.msi_ctrl = forward_msi_ctrl(cfg),
		.msix_flags = forward_msix_flags(cfg),
		.power = forward_power(cfg),
		.master = forward_master(cfg),
		.intx_off = forward_intx_off(cfg),
	};
}

/* D1 and D2 do not exist: a write of them changes nothing (PCI PM 1.2, 3.2.4). */
static void forward_fix_power(struct borrower_config *cfg, u8 before)
{
	u8 now = forward_power(cfg);

	if (now && now != FORWARD_D3HOT)
		cfg->image[cfg->pm + PCI_PM_CTRL] += before - now;
}

/* No more messages than the device can send. */
static void forward_fix_msi(struct borrower_config *cfg)
{
	u16 flags = forward_msi_flags(cfg);
	u16 can = (flags & PCI_MSI_FLAGS_QMASK) << 3;

	if ((flags & PCI_MSI_FLAGS_QSIZE) > can)
		forward_put16(cfg, cfg->msi + PCI_MSI_FLAGS, (flags & ~PCI_MSI_FLAGS_QSIZE) | can);
}

/*
 * When an interrupt is freed the interrupt core takes its message away, by writing zeroes,
 * before the PCI core switches MSI off. A device that believed that would write to address 0, and
 * one that did not (the lender refuses it) to a vector that is another's by then. So MSI is off at
 * the lender without an address, and on again with the data, which come last.
 */
static void forward_msi_update(struct borrower_config *cfg, u16 flags_before, unsigned int where,
			       unsigned int size)
{
	u16 flags = forward_msi_flags(cfg);

	if (!(flags & PCI_MSI_FLAGS_ENABLE) || !forward_msi_has_address(cfg))
		cfg->msi_live = false;
	else if (!(flags_before & PCI_MSI_FLAGS_ENABLE) ||
		 forward_hits(where, size, forward_msi_data(cfg), 2))
		cfg->msi_live = true;
}

/* The message is owed whenever it is written: the lender may have refused the same before. */
static u16 forward_msi_owed(struct borrower_config *cfg,
			    const struct borrower_config_before *before, unsigned int where,
			    unsigned int size)
{
	u16 flags = forward_msi_flags(cfg), owed = 0;

	forward_msi_update(cfg, before->msi_flags, where, size);
	if (forward_hits(where, size, cfg->msi + PCI_MSI_ADDRESS_LO, 4))
		owed |= BIT(DEVLEND_AOP_MSI_ADDR_LO);
	if (flags & PCI_MSI_FLAGS_64BIT &&
	    forward_hits(where, size, cfg->msi + PCI_MSI_ADDRESS_HI, 4))
		owed |= BIT(DEVLEND_AOP_MSI_ADDR_HI);
	if (forward_hits(where, size, forward_msi_data(cfg), 2))
		owed |= BIT(DEVLEND_AOP_MSI_DATA);
	if (flags & PCI_MSI_FLAGS_MASKBIT &&
	    forward_hits(where, size, forward_msi_mask(cfg), 4))
		owed |= BIT(DEVLEND_AOP_MSI_MASK);
	if (forward_msi_ctrl(cfg) != before->msi_ctrl)
		owed |= BIT(DEVLEND_AOP_MSI_CTRL);
	return owed;
}

static bool forward_is_flr(const struct borrower_config *cfg, unsigned int where,
			   unsigned int size, u32 value)
{
	unsigned int reg = cfg->pcie + PCI_EXP_DEVCTL + 1;

	return cfg->pcie && forward_hits(where, size, reg, 1) &&
	       forward_get32(cfg, cfg->pcie + PCI_EXP_DEVCAP) & PCI_EXP_DEVCAP_FLR &&
	       value >> (8 * (reg - where)) & (PCI_EXP_DEVCTL_BCR_FLR >> 8);
}

/* All that can be written is as it was when borrowed: BARs in place, everything off. */
static void forward_reset(struct borrower_config *cfg)
{
	unsigned int i;

	for (i = 0; i < BORROWER_CONFIG_SIZE; i++)
		cfg->image[i] = (cfg->image[i] & ~cfg->writable[i]) |
				(cfg->initial[i] & cfg->writable[i]);
	cfg->msi_live = false;
	cfg->resetting = true;
	cfg->owed = BIT(DEVLEND_AOP_FLR);
}

/**
 * borrower_forward_written() - a write has changed the image: tell the lender what it must know
 * @cfg: config space, its lock held
 * @before: from before the write
 * @where: offset of the write, bytes
 * @size: of the write, bytes
 * @value: what was written
 *
 * Context: any. Return: whether the writer is to wait for the lender, if it can.
 */
bool borrower_forward_written(struct borrower_config *cfg,
			      const struct borrower_config_before *before,
			      unsigned int where, unsigned int size, u32 value)
{
	u16 owed = 0;

	lockdep_assert_held(&cfg->lock);
	forward_fix_power(cfg, before->power);
	if (cfg->msi)
		forward_fix_msi(cfg);
	if (forward_master(cfg) != before->master)
		owed |= BIT(DEVLEND_AOP_BUS_MASTER);
	if (cfg->msi)
		owed |= forward_msi_owed(cfg, before, where, size);
	if (forward_msix_flags(cfg) != before->msix_flags)
		owed |= BIT(DEVLEND_AOP_MSIX_CTRL);
	if (cfg->intx && forward_intx_off(cfg) != before->intx_off)
		owed |= BIT(DEVLEND_AOP_INTX_DISABLE);
	cfg->owed |= owed;
	if (forward_is_flr(cfg, where, size, value)) {
		forward_reset(cfg);
		owed = cfg->owed;
	}
	borrower_forward_pay(cfg);
	return owed & FORWARD_WAIT;
}
