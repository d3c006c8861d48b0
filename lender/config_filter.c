// SPDX-License-Identifier: GPL-2.0
/*
 * What of a device's config space is told to a borrower, and how it is packed.
 *
 * The borrower has a policy of its own for what its driver may read and write. This one does
 * not rely on it: it decides what leaves this host at all. The rule is "no" unless a table
 * says otherwise: a capability that no table names is unlinked and its bytes are zero,
 * and of one that is named only the bits of its mask are told. So SR-IOV, ATS, PRI, PASID, ACS,
 * AER, DPC, resizable BARs, hot-plug and whatever comes next stay here. The chains are
 * built anew from what is left: they are acyclic whatever the device says. The base
 * registers are left zero; config.c puts them in, since their truth is the PCI core's.
 *
 * Called by config.c. Pure: no state, no locks, no allocation, any context;
 * tests/kunit/lender_config_test.c covers it.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/pci_regs.h>
#include <linux/string.h>

#include "config_filter.h"

#define FILTER_STD_BYTES	256
#define FILTER_ALL_BYTES	(DEVLEND_CONFIG_DWORDS * 4)
/* a capability is at least a dword long, so more steps than this are a loop */
#define FILTER_STD_STEPS	((FILTER_STD_BYTES - PCI_STD_HEADER_SIZEOF) / 4)
#define FILTER_EXT_STEPS	((FILTER_ALL_BYTES - FILTER_STD_BYTES) / 4)
/* longest table of masks, in dwords */
#define FILTER_MASKS		16

/* header: device, class and subsystem; a status of nothing but "has capabilities" */
static const u32 filter_header[PCI_STD_HEADER_SIZEOF / 4] = {
	[PCI_VENDOR_ID / 4]		= 0xffffffff,
	[PCI_CLASS_REVISION / 4]	= 0xffffffff,
	[PCI_SUBSYSTEM_VENDOR_ID / 4]	= 0xffffffff,
};

/**
 * struct filter_cap - a capability that may be told
 * @id: capability id
 * @len: its length in bytes where it is constant, else 0: see filter_len()
 * @mask: bits told of each dword; those of the first are beside id and next pointer
 */
struct filter_cap {
	u16 id;
	u16 len;
	u32 mask[FILTER_MASKS];
};

/*
 * Power: no wake-up, no D1 and D2; always D0. MSI and MSI-X: what the device can do, not
 * what is set. PCI Express: limits and the state of the link; of the second set only
 * completion time-outs and link speeds. Vendor: as it is, for it is the device's own.
 */
static const struct filter_cap filter_std[] = {
	{ PCI_CAP_ID_PM, PCI_PM_SIZEOF, { 0x002f0000, PCI_PM_CTRL_NO_SOFT_RESET } },
	{ PCI_CAP_ID_MSI, 0,
	  { (PCI_MSI_FLAGS_QMASK | PCI_MSI_FLAGS_64BIT | PCI_MSI_FLAGS_MASKBIT) << 16 } },
	{ PCI_CAP_ID_MSIX, PCI_CAP_MSIX_SIZEOF,
	  { PCI_MSIX_FLAGS_QSIZE << 16, 0xffffffff, 0xffffffff } },
	{ PCI_CAP_ID_EXP, 0,
	  { (PCI_EXP_FLAGS_VERS | PCI_EXP_FLAGS_TYPE) << 16,
	    /* DEVCAP, DEVCTL, LNKCAP, LNKCTL and LNKSTA */
	    0xffffffff, 0x0000ffff, 0xffffffff, 0xffff0000,
	    /* slots and root ports: nothing */
	    0, 0, 0, 0,
	    /* DEVCAP2, DEVCTL2, LNKCAP2, LNKCTL2 */
	    0x0000001f, 0x0000001f, 0x000000fe, 0x0000000f } },
	{ PCI_CAP_ID_VNDR, 0,
	  { 0xffff0000, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u,
	    ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u } },
};

static const struct filter_cap filter_ext[] = {
	{ PCI_EXT_CAP_ID_DSN, PCI_EXT_CAP_DSN_SIZEOF, { 0x000f0000, 0xffffffff, 0xffffffff } },
};

static const struct filter_cap *filter_find(const struct filter_cap *table, unsigned int n, u16 id)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (table[i].id == id)
			return &table[i];
	return NULL;
}

/* Bytes of a capability that starts at @pos with the dword @head. */
static unsigned int filter_len(const struct filter_cap *cap, u32 head)
{
	u16 flags = head >> 16;

	switch (cap->len ? 0 : cap->id) {
	case PCI_CAP_ID_MSI:
		if (flags & PCI_MSI_FLAGS_64BIT)
			return flags & PCI_MSI_FLAGS_MASKBIT ? 24 : 16;
		return flags & PCI_MSI_FLAGS_MASKBIT ? 20 : 12;
	case PCI_CAP_ID_EXP:
		return (flags & PCI_EXP_FLAGS_VERS) > 1 ? 0x3c : 0x14;
	case PCI_CAP_ID_VNDR:
		return clamp_t(unsigned int, flags & 0xff, 4, FILTER_MASKS * 4);
	default:
		return cap->len;
	}
}

/* Tell what the masks of @cap let through; false where it would pass @end, or overlap another. */
static bool filter_copy(const struct filter_cap *cap, const u32 *real, u32 *told,
			unsigned int pos, unsigned int end, unsigned long *used)
{
	unsigned int len = filter_len(cap, real[pos / 4]), dwords = DIV_ROUND_UP(len, 4), i;

	if (pos + dwords * 4 > end)
		return false;
	for (i = 0; i < dwords; i++)
		if (test_bit(pos / 4 + i, used))
			return false;
	for (i = 0; i < dwords; i++) {
		__set_bit(pos / 4 + i, used);
		told[pos / 4 + i] = real[pos / 4 + i] & (i < FILTER_MASKS ? cap->mask[i] : 0);
	}
	return true;
}

static void filter_std_chain(const u32 *real, u32 *told, bool resettable, unsigned long *used)
{
	unsigned int pos, steps, last = 0;

	if (!(real[PCI_COMMAND / 4] >> 16 & PCI_STATUS_CAP_LIST))
		return;
	pos = real[PCI_CAPABILITY_LIST / 4] & 0xfc;
	for (steps = 0; steps < FILTER_STD_STEPS && pos >= PCI_STD_HEADER_SIZEOF; steps++) {
		u32 head = real[pos / 4];
		const struct filter_cap *cap =
			filter_find(filter_std, ARRAY_SIZE(filter_std), head & 0xff);

		if ((head & 0xff) == 0xff || test_bit(pos / 4, used))
			break;
		if (cap && filter_copy(cap, real, told, pos, FILTER_STD_BYTES, used)) {
			told[pos / 4] |= cap->id;
			if (cap->id == PCI_CAP_ID_EXP && !resettable)
				told[(pos + PCI_EXP_DEVCAP) / 4] &= ~PCI_EXP_DEVCAP_FLR;
			if (last)
				told[last / 4] |= pos << 8;
			else
				told[PCI_CAPABILITY_LIST / 4] = pos;
			last = pos;
		}
		pos = head >> 8 & 0xfc;
	}
	if (last)
		told[PCI_COMMAND / 4] |= PCI_STATUS_CAP_LIST << 16;
}

/*
 * The extended list starts at 0x100 whether or not what lies there is told: an anchor
 * of id 0 then carries the pointer to the next one.
 */
static void filter_ext_chain(const u32 *real, u32 *told, unsigned int size, unsigned long *used)
{
	unsigned int pos = FILTER_STD_BYTES, last = FILTER_STD_BYTES, steps;

	for (steps = 0; steps < FILTER_EXT_STEPS; steps++) {
		const struct filter_cap *cap;
		u32 head;

		if (pos < FILTER_STD_BYTES || pos >= size)
			break;
		head = real[pos / 4];
		cap = filter_find(filter_ext, ARRAY_SIZE(filter_ext), PCI_EXT_CAP_ID(head));
		if (!head || head == ~0u || test_bit(pos / 4, used))
			break;
		if (cap && filter_copy(cap, real, told, pos, size, used)) {
			told[pos / 4] |= cap->id;
			if (pos != last)
				told[last / 4] |= pos << 20;
			last = pos;
		}
		pos = PCI_EXT_CAP_NEXT(head);
	}
}

/**
 * lender_config_filter() - what may be told of a config space
 * @real: %DEVLEND_CONFIG_DWORDS dwords as read from the device, in CPU byte order
 * @size: bytes of it that the device has: 256 or 4096
 * @resettable: this host would reset the function for its borrower; else that it can be is not told
 * @told: the same number of dwords, filled in; base registers are left 0
 *
 * Context: any. Return: 0; -EINVAL for a header that is not an endpoint's; -EIO where the
 * device does not answer.
 */
int lender_config_filter(const u32 *real, unsigned int size, bool resettable, u32 *told)
{
	DECLARE_BITMAP(used, DEVLEND_CONFIG_DWORDS) = { };
	unsigned int i;

	if (real[0] == ~0u)
		return -EIO;
	if ((real[PCI_CACHE_LINE_SIZE / 4] >> 16 & PCI_HEADER_TYPE_MASK) != PCI_HEADER_TYPE_NORMAL)
		return -EINVAL;
	memset(told, 0, FILTER_ALL_BYTES);
	for (i = 0; i < ARRAY_SIZE(filter_header); i++)
		told[i] = real[i] & filter_header[i];
	filter_std_chain(real, told, resettable, used);
	if (size > FILTER_STD_BYTES)
		filter_ext_chain(real, told, min_t(unsigned int, size, FILTER_ALL_BYTES), used);
	return 0;
}

/**
 * lender_config_encode() - pack a config space as runs of dwords that are not zero
 * @image: %DEVLEND_CONFIG_DWORDS dwords, in CPU byte order
 * @out: where to
 * @max: dwords of room there
 *
 * A gap of one zero dword costs no more inside a run than a new run would.
 *
 * Context: any. Return: dwords written; -ENOSPC where there is no room.
 */
int lender_config_encode(const u32 *image, __le32 *out, unsigned int max)
{
	unsigned int first = 0, n = 0;

	while (first < DEVLEND_CONFIG_DWORDS) {
		unsigned int end = first, i;

		if (!image[first]) {
			first++;
			continue;
		}
		for (i = first; i < DEVLEND_CONFIG_DWORDS && i <= end + 1; i++)
			if (image[i])
				end = i;
		if (n + 1 + (end - first + 1) > max)
			return -ENOSPC;
		out[n++] = cpu_to_le32(DEVLEND_CONFIG_RUN(first, end - first + 1));
		for (i = first; i <= end; i++)
			out[n++] = cpu_to_le32(image[i]);
		first = end + 1;
	}
	return n;
}
