/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LENDER_ATOMIC_CHECK_H
#define LENDER_ATOMIC_CHECK_H

#include <linux/types.h>

#include <devlend/wire.h>

/* config writes that one operation may cause: control off, address, data, mask, control on */
#define LENDER_ATOMIC_WRITES_MAX	8

/**
 * struct lender_msi_range - addresses that a message may be sent to
 * @start: lender bus address of the first byte
 * @length: bytes
 */
struct lender_msi_range {
	u64 start;
	u64 length;
};

/**
 * struct lender_atomic - what the atomic lane may do to a device, and what it did
 * @msi_pos: config offset of the MSI capability; 0 = none
 * @msi_flags: its message control, as the device has it
 * @msix_pos: config offset of the MSI-X capability; 0 = none
 * @can_flr: the device can be reset
 * @attached: the borrower's memory is mapped; before that nothing may be switched on
 * @resetting: a reset runs, or its refusal is on the way; nothing may be switched on
 * @msi_on: MSI is enabled
 * @msix_on: MSI-X is enabled
 * @msi_addr_lo: staged, written when MSI is enabled, or with the data where it is already
 * @msi_addr_hi: see @msi_addr_lo
 * @msi_data: see @msi_addr_lo
 * @msi_mask: see @msi_addr_lo
 * @msi_data_must: @msi_data must be @msi_data_is
 * @msi_data_is: see @msi_data_must
 * @ranges: number of entries of @range
 * @range: granted interrupt ranges
 */
struct lender_atomic {
	u16 msi_pos;
	u16 msi_flags;
	u16 msix_pos;
	bool can_flr;
	bool attached;
	bool resetting;
	bool msi_on;
	bool msix_on;
	u32 msi_addr_lo;
	u32 msi_addr_hi;
	u32 msi_data;
	u32 msi_mask;
	bool msi_data_must;
	u32 msi_data_is;
	unsigned int ranges;
	struct lender_msi_range range[DEVLEND_MAP_ENTRIES_MAX];
};

/**
 * struct lender_atomic_write - one change of config space
 * @pos: offset
 * @size: 2 or 4 bytes
 * @clear: bits to be cleared; all of them makes it a plain write
 * @set: bits to be set
 */
struct lender_atomic_write {
	u16 pos;
	u8 size;
	u32 clear;
	u32 set;
};

/**
 * struct lender_atomic_action - what is to be done for an operation
 * @writes: number of entries of @write
 * @write: config changes, in this order
 * @flr: have the worker reset the device and say so, or say that it could not; whatever the status
 * @intx: mask INTx, or hear that it was served, as the argument says
 */
struct lender_atomic_action {
	unsigned int writes;
	struct lender_atomic_write write[LENDER_ATOMIC_WRITES_MAX];
	bool flr;
	bool intx;
};

enum devlend_status lender_atomic_check(struct lender_atomic *st, u8 op, u32 arg,
					struct lender_atomic_action *act);
void lender_atomic_forget(struct lender_atomic *st);
void lender_atomic_taken(struct lender_atomic *st, u32 flags, unsigned int messages, u64 addr,
			 u32 data);

#endif /* LENDER_ATOMIC_CHECK_H */
