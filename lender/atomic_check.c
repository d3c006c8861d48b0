// SPDX-License-Identifier: GPL-2.0
/*
 * What a borrower may do on the atomic lane: each operation is checked here and turned
 * into a short list of config writes, before anything touches the device.
 *
 * Called by atomic.c in hard-IRQ context, under the lock of live leases, which protects
 * struct lender_atomic. Pure: no hardware, no allocation;
 * tests/kunit/lender_atomic_test.c covers it.
 *
 * Rules. Nothing that makes a device act (bus mastering, MSI, MSI-X) is switched on before
 * the borrower's memory is attached, or during a reset; switching off is always allowed.
 * A plain MSI message may only go to an interrupt range that was granted; its words are
 * staged, so that the device never sees half of a new address. The table of MSI-X lies
 * behind a BAR, so its addresses are bounded by what the device can reach, not here.
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/pci_regs.h>

#include "atomic_check.h"

/* bytes of a message */
#define ATOMIC_MSI_BYTES	4

static void atomic_write(struct lender_atomic_action *act, u16 pos, u8 size, u32 clear, u32 set)
{
	if (act->writes == LENDER_ATOMIC_WRITES_MAX)
		return;
	act->write[act->writes++] = (struct lender_atomic_write) {
		.pos = pos, .size = size, .clear = clear, .set = set,
	};
}

static bool atomic_msi_allowed(const struct lender_atomic *st)
{
	u64 addr = (u64)st->msi_addr_hi << 32 | st->msi_addr_lo;
	unsigned int i;

	if (addr & (ATOMIC_MSI_BYTES - 1))
		return false;
	if (st->msi_addr_hi && !(st->msi_flags & PCI_MSI_FLAGS_64BIT))
		return false;
	if (st->msi_data_must && st->msi_data != st->msi_data_is)
		return false;
	for (i = 0; i < st->ranges; i++) {
		const struct lender_msi_range *r = &st->range[i];

		if (r->length >= ATOMIC_MSI_BYTES && addr >= r->start &&
		    addr - r->start <= r->length - ATOMIC_MSI_BYTES)
			return true;
	}
	return false;
}

static u16 atomic_msi_mask_pos(const struct lender_atomic *st)
{
	return st->msi_pos + (st->msi_flags & PCI_MSI_FLAGS_64BIT ? PCI_MSI_MASK_64 :
								    PCI_MSI_MASK_32);
}

/* Address and data into the device: all vectors masked meanwhile, where it has masks. */
static void atomic_msi_message(const struct lender_atomic *st, struct lender_atomic_action *act)
{
	bool wide = st->msi_flags & PCI_MSI_FLAGS_64BIT;
	bool masks = st->msi_flags & PCI_MSI_FLAGS_MASKBIT;

	if (masks)
		atomic_write(act, atomic_msi_mask_pos(st), 4, ~0u, ~0u);
	atomic_write(act, st->msi_pos + PCI_MSI_ADDRESS_LO, 4, ~0u, st->msi_addr_lo);
	if (wide)
		atomic_write(act, st->msi_pos + PCI_MSI_ADDRESS_HI, 4, ~0u, st->msi_addr_hi);
	atomic_write(act, st->msi_pos + (wide ? PCI_MSI_DATA_64 : PCI_MSI_DATA_32), 2, ~0u,
		     st->msi_data);
	if (masks)
		atomic_write(act, atomic_msi_mask_pos(st), 4, ~0u, st->msi_mask);
}

static enum devlend_status atomic_bus_master(struct lender_atomic *st, u32 arg,
					     struct lender_atomic_action *act)
{
	if (arg > 1)
		return DEVLEND_E_INVAL;
	if (arg && st->resetting)
		return DEVLEND_E_BUSY;
	if (arg && !st->attached)
		return DEVLEND_E_PERM;
	atomic_write(act, PCI_COMMAND, 2, PCI_COMMAND_MASTER, arg ? PCI_COMMAND_MASTER : 0);
	return DEVLEND_OK;
}

static enum devlend_status atomic_flr(struct lender_atomic *st, u32 arg,
				      struct lender_atomic_action *act)
{
	if (arg)
		return DEVLEND_E_INVAL;
	if (st->resetting)
		return DEVLEND_E_BUSY;
	/* also where it cannot be: the borrower's config space is silent until it gets an answer */
	st->resetting = true;
	act->flr = true;
	if (!st->can_flr)
		return DEVLEND_E_NOTSUPP;
	atomic_write(act, PCI_COMMAND, 2, PCI_COMMAND_MASTER, 0);
	return DEVLEND_OK;
}

/* A word of the message; where MSI is on, the data word, which is written last, applies all. */
static enum devlend_status atomic_msi_word(struct lender_atomic *st, u8 op, u32 arg,
					   struct lender_atomic_action *act)
{
	if (!st->msi_pos)
		return DEVLEND_E_NOTSUPP;
	switch (op) {
	case DEVLEND_AOP_MSI_ADDR_LO:
		st->msi_addr_lo = arg;
		return DEVLEND_OK;
	case DEVLEND_AOP_MSI_ADDR_HI:
		st->msi_addr_hi = arg;
		return DEVLEND_OK;
	case DEVLEND_AOP_MSI_MASK:
		if (!(st->msi_flags & PCI_MSI_FLAGS_MASKBIT))
			return DEVLEND_E_NOTSUPP;
		st->msi_mask = arg;
		if (st->msi_on)
			atomic_write(act, atomic_msi_mask_pos(st), 4, ~0u, arg);
		return DEVLEND_OK;
	}
	if (arg > 0xffff)
		return DEVLEND_E_INVAL;
	st->msi_data = arg;
	if (!st->msi_on)
		return DEVLEND_OK;
	if (!atomic_msi_allowed(st))
		return DEVLEND_E_RANGE;
	atomic_msi_message(st, act);
	return DEVLEND_OK;
}

static enum devlend_status atomic_msi_ctrl(struct lender_atomic *st, u32 arg,
					   struct lender_atomic_action *act)
{
	const u32 writable = PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE;
	u32 can = (st->msi_flags & PCI_MSI_FLAGS_QMASK) >> 1;
	u32 want = (arg & PCI_MSI_FLAGS_QSIZE) >> 4;
	bool on = arg & PCI_MSI_FLAGS_ENABLE;

	if (!st->msi_pos)
		return DEVLEND_E_NOTSUPP;
	if (arg & ~writable || want > can)
		return DEVLEND_E_INVAL;
	if (on) {
		if (st->resetting)
			return DEVLEND_E_BUSY;
		if (!st->attached)
			return DEVLEND_E_PERM;
		if (st->msix_on)
			return DEVLEND_E_INVAL;
		if (!atomic_msi_allowed(st))
			return DEVLEND_E_RANGE;
		if (!st->msi_on)
			atomic_msi_message(st, act);
	}
	atomic_write(act, st->msi_pos + PCI_MSI_FLAGS, 2, writable, arg);
	st->msi_on = on;
	return DEVLEND_OK;
}

static enum devlend_status atomic_msix_ctrl(struct lender_atomic *st, u32 arg,
					    struct lender_atomic_action *act)
{
	const u32 writable = PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL;
	bool on = arg & PCI_MSIX_FLAGS_ENABLE;

	if (!st->msix_pos)
		return DEVLEND_E_NOTSUPP;
	if (arg & ~writable)
		return DEVLEND_E_INVAL;
	if (on) {
		if (st->resetting)
			return DEVLEND_E_BUSY;
		if (!st->attached)
			return DEVLEND_E_PERM;
		if (st->msi_on)
			return DEVLEND_E_INVAL;
	}
	atomic_write(act, st->msix_pos + PCI_MSIX_FLAGS, 2, writable, arg);
	st->msix_on = on;
	return DEVLEND_OK;
}

/**
 * lender_atomic_check() - decide on an operation of the atomic lane
 * @st: the device's state; changed only where the answer is %DEVLEND_OK, but for staged words, and
 *	for a reset, which is answered by the worker in any case
 * @op: &enum devlend_atomic_op, as it arrived
 * @arg: argument, as it arrived
 * @act: what is to be done: the writes on %DEVLEND_OK, @flr always
 *
 * Context: any; the caller holds what protects @st.
 * Return: the status for the borrower.
 */
enum devlend_status lender_atomic_check(struct lender_atomic *st, u8 op, u32 arg,
					struct lender_atomic_action *act)
{
	act->writes = 0;
	act->flr = false;
	act->intx = false;
	switch (op) {
	case DEVLEND_AOP_BUS_MASTER:
		return atomic_bus_master(st, arg, act);
	case DEVLEND_AOP_FLR:
		return atomic_flr(st, arg, act);
	case DEVLEND_AOP_MSI_ADDR_LO:
	case DEVLEND_AOP_MSI_ADDR_HI:
	case DEVLEND_AOP_MSI_DATA:
	case DEVLEND_AOP_MSI_MASK:
		return atomic_msi_word(st, op, arg, act);
	case DEVLEND_AOP_MSI_CTRL:
		return atomic_msi_ctrl(st, arg, act);
	case DEVLEND_AOP_MSIX_CTRL:
		return atomic_msix_ctrl(st, arg, act);
	case DEVLEND_AOP_INTX_DISABLE:
		if (arg > 1)
			return DEVLEND_E_INVAL;
		/* where it is not told by doorbell it stays off, whatever the shadow's bit says */
		act->intx = !st->resetting;
		return DEVLEND_OK;
	default:
		return DEVLEND_E_NOTSUPP;
	}
}

/**
 * lender_atomic_forget() - the device was reset: nothing is on, nothing is staged
 * @st: the device's state
 *
 * Context: any; the caller holds what protects @st.
 */
void lender_atomic_forget(struct lender_atomic *st)
{
	st->msi_on = false;
	st->msix_on = false;
	st->msi_addr_lo = 0;
	st->msi_addr_hi = 0;
	st->msi_data = 0;
	st->msi_mask = 0;
}

/**
 * lender_atomic_taken() - this host takes the device's interrupts
 * @st: the device's state
 * @flags: %DEVLEND_EVENTS_INTX and following: which
 * @messages: of plain MSI
 * @addr: address of the only message that plain MSI may have then
 * @data: and its data
 *
 * What was not taken cannot be switched on. Context: any; the caller holds what protects @st.
 */
void lender_atomic_taken(struct lender_atomic *st, u32 flags, unsigned int messages, u64 addr,
			 u32 data)
{
	if (!(flags & DEVLEND_EVENTS_MSIX))
		st->msix_pos = 0;
	if (!(flags & DEVLEND_EVENTS_MSI)) {
		st->msi_pos = 0;
		return;
	}
	st->msi_flags &= ~PCI_MSI_FLAGS_QMASK;
	st->msi_flags |= ilog2(messages) << 1;
	st->msi_data_must = true;
	st->msi_data_is = data;
	st->ranges = 1;
	st->range[0] = (struct lender_msi_range) { .start = addr, .length = ATOMIC_MSI_BYTES };
}
