// SPDX-License-Identifier: GPL-2.0
/*
 * Which capabilities of a lent device its driver sees here, and which of their bits.
 *
 * The rule is "no": a capability that no table names is not shown, and of one that is named a
 * bit is 0 and read-only unless a row says otherwise. A row is one register with three masks:
 *
 *   shown      bits that read as the lender told them
 *   fixed      bits that read 1
 *   writable   bits that a write changes, in the image and nowhere else
 *
 * No read ever leaves this host, so all is virtual. The few registers whose change must
 * reach the device are known to config_forward.c. Documentation/config-space.rst gives the reason
 * for each row, and for what is not here.
 *
 * Called by config_caps.c, once per borrow, before anybody sees the config space. Pure: no
 * locks, no allocation, any context; tests/kunit/borrower_config_policy_test.c covers it.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include <devlend/compat.h>

#include "config.h"
#include "grant.h"

/* lengths of the PCI Express capability: an endpoint's up to link status; all of version 2 */
#define POLICY_EXP_V1_LEN	PCI_CAP_EXP_ENDPOINT_SIZEOF_V1
#define POLICY_EXP_V2_LEN	0x3c
/* id, next pointer and length byte of a vendor capability */
#define POLICY_VENDOR_MIN	3

/**
 * struct policy_field - one register of a capability
 * @where: offset in the capability, bytes
 * @size: 2 or 4
 * @shown: bits that the lender tells
 * @fixed: bits that are 1
 * @writable: bits that a write changes in the image
 */
struct policy_field {
	u8 where;
	u8 size;
	u32 shown;
	u32 fixed;
	u32 writable;
};

/**
 * struct borrower_policy - a capability that is shown
 * @id: capability id
 * @len: bytes that are shown; 0: its own length byte says
 * @mask: which bits of the word behind id and next pointer select this row among its like
 * @match: what they must be
 * @many: a device may have several
 * @fields: registers; NULL: all is shown as it is, and read-only
 * @count: number of @fields; less than their table has where the last are missing in a variant
 * @allowed: more conditions; NULL = none
 * @adapt: what no row can say; NULL = nothing
 */
struct borrower_policy {
	u16 id;
	u16 len;
	u16 mask;
	u16 match;
	bool many;
	const struct policy_field *fields;
	unsigned int count;
	bool (*allowed)(const struct borrower_grant *grant, const u8 *cap);
	void (*adapt)(struct borrower_config *cfg, unsigned int pos);
};

/* --- power management -------------------------------------------------------- */

/* The state is a number in the image: nothing is lost in D3hot, and there is no wake-up. */
static const struct policy_field policy_pm[] = {
	{ PCI_PM_PMC, 2, PCI_PM_CAP_VER_MASK, 0, 0 },
	{ PCI_PM_CTRL, 2, 0, PCI_PM_CTRL_NO_SOFT_RESET, PCI_PM_CTRL_STATE_MASK },
};

static void policy_pm_adapt(struct borrower_config *cfg, unsigned int pos)
{
	cfg->pm = pos;
}

/* --- MSI --------------------------------------------------------------------- */

#define POLICY_MSI_FLAGS \
	{ PCI_MSI_FLAGS, 2, PCI_MSI_FLAGS_QMASK | PCI_MSI_FLAGS_64BIT | PCI_MSI_FLAGS_MASKBIT, \
	  0, PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE }
#define POLICY_MSI_VARIANT	(PCI_MSI_FLAGS_64BIT | PCI_MSI_FLAGS_MASKBIT)

static const struct policy_field policy_msi32[] = {
	POLICY_MSI_FLAGS,
	{ PCI_MSI_ADDRESS_LO, 4, 0, 0, ~3u },
	{ PCI_MSI_DATA_32, 2, 0, 0, 0xffff },
	{ PCI_MSI_MASK_32, 4, 0, 0, ~0u },
};

static const struct policy_field policy_msi64[] = {
	POLICY_MSI_FLAGS,
	{ PCI_MSI_ADDRESS_LO, 4, 0, 0, ~3u },
	{ PCI_MSI_ADDRESS_HI, 4, 0, 0, ~0u },
	{ PCI_MSI_DATA_64, 2, 0, 0, 0xffff },
	{ PCI_MSI_MASK_64, 4, 0, 0, ~0u },
};

static bool policy_msi_allowed(const struct borrower_grant *grant, const u8 *cap)
{
	return !grant->hide_msi;
}

static void policy_msi_adapt(struct borrower_config *cfg, unsigned int pos)
{
	u16 flags = get_unaligned_le16(cfg->image + pos + PCI_MSI_FLAGS);
	unsigned int log = min_t(unsigned int, (flags & PCI_MSI_FLAGS_QMASK) >> 1, 5);
	unsigned int mask = pos + (flags & PCI_MSI_FLAGS_64BIT ? PCI_MSI_MASK_64 : PCI_MSI_MASK_32);

	cfg->msi = pos;
	/* a mask bit for each message that there can be */
	if (flags & PCI_MSI_FLAGS_MASKBIT)
		put_unaligned_le32(GENMASK((1u << log) - 1, 0), cfg->writable + mask);
}

/* --- MSI-X ------------------------------------------------------------------- */

static const struct policy_field policy_msix[] = {
	{ PCI_MSIX_FLAGS, 2, PCI_MSIX_FLAGS_QSIZE, 0,
	  PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL },
	{ PCI_MSIX_TABLE, 4, ~0u, 0, 0 },
	{ PCI_MSIX_PBA, 4, ~0u, 0, 0 },
};

static bool policy_in_bar(const struct borrower_grant *grant, u32 place, u64 need)
{
	unsigned int bar = place & PCI_MSIX_TABLE_BIR;
	u64 offset = place & PCI_MSIX_TABLE_OFFSET;

	return bar < DEVLEND_BARS && need <= grant->bar[bar].size &&
	       offset <= grant->bar[bar].size - need;
}

/* The PCI core maps and writes the table where the capability says, whatever the BAR's size. */
static bool policy_msix_allowed(const struct borrower_grant *grant, const u8 *cap)
{
	u32 n = (get_unaligned_le16(cap + PCI_MSIX_FLAGS) & PCI_MSIX_FLAGS_QSIZE) + 1;
	u32 table = get_unaligned_le32(cap + PCI_MSIX_TABLE);

	return !grant->hide_msix &&
	       policy_in_bar(grant, table, (u64)n * PCI_MSIX_ENTRY_SIZE) &&
	       policy_in_bar(grant, get_unaligned_le32(cap + PCI_MSIX_PBA),
			     (u64)DIV_ROUND_UP(n, 64) * 8) &&
	       (table & PCI_MSIX_TABLE_BIR) == grant->msix_bar &&
	       (table & PCI_MSIX_TABLE_OFFSET) == grant->msix_offset;
}

static void policy_msix_adapt(struct borrower_config *cfg, unsigned int pos)
{
	cfg->msix = pos;
}

/* --- PCI Express -------------------------------------------------------------- */

/*
 * Packet sizes, ordering, tags and the link are the lender's: what is written to device control
 * stays in the image. Function reset, its highest bit, reads 0 and is config_forward.c's.
 */
static const struct policy_field policy_exp[] = {
	{ PCI_EXP_FLAGS, 2, PCI_EXP_FLAGS_VERS | PCI_EXP_FLAGS_TYPE, 0, 0 },
	{ PCI_EXP_DEVCAP, 4, PCI_EXP_DEVCAP_PAYLOAD | PCI_EXP_DEVCAP_EXT_TAG |
	  PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR, 0, 0 },
	{ PCI_EXP_DEVCTL, 2, 0x7fff, 0, 0x7fff },
	{ PCI_EXP_LNKCAP, 4, PCI_EXP_LNKCAP_SLS | PCI_EXP_LNKCAP_MLW | PCI_EXP_LNKCAP_PN, 0, 0 },
	{ PCI_EXP_LNKSTA, 2, PCI_EXP_LNKSTA_CLS | PCI_EXP_LNKSTA_NLW, 0, 0 },
	/* version 2: no time-outs, atomics, LTR, OBFF, 10-bit tags; only the link's speeds */
	{ PCI_EXP_LNKCAP2, 4, 0xfe, 0, 0 },
};

/* Ports have slots, buses behind them and services of this host: endpoints only. */
static bool policy_exp_allowed(const struct borrower_grant *grant, const u8 *cap)
{
	switch ((get_unaligned_le16(cap + PCI_EXP_FLAGS) & PCI_EXP_FLAGS_TYPE) >> 4) {
	case PCI_EXP_TYPE_ENDPOINT:
	case PCI_EXP_TYPE_LEG_END:
	case PCI_EXP_TYPE_RC_END:
		return true;
	default:
		return false;
	}
}

static void policy_exp_adapt(struct borrower_config *cfg, unsigned int pos)
{
	cfg->pcie = pos;
}

/* --- the tables ---------------------------------------------------------------- */

static const struct borrower_policy policy_std[] = {
	{
		.id = PCI_CAP_ID_PM, .len = PCI_PM_SIZEOF,
		.fields = policy_pm, .count = ARRAY_SIZE(policy_pm),
		.adapt = policy_pm_adapt,
	}, {
		.id = PCI_CAP_ID_MSI, .len = 10, .mask = POLICY_MSI_VARIANT,
		.fields = policy_msi32, .count = ARRAY_SIZE(policy_msi32) - 1,
		.allowed = policy_msi_allowed,
		.adapt = policy_msi_adapt,
	}, {
		.id = PCI_CAP_ID_MSI, .len = 14, .mask = POLICY_MSI_VARIANT,
		.match = PCI_MSI_FLAGS_64BIT,
		.fields = policy_msi64, .count = ARRAY_SIZE(policy_msi64) - 1,
		.allowed = policy_msi_allowed,
		.adapt = policy_msi_adapt,
	}, {
		.id = PCI_CAP_ID_MSI, .len = 20, .mask = POLICY_MSI_VARIANT,
		.match = PCI_MSI_FLAGS_MASKBIT,
		.fields = policy_msi32, .count = ARRAY_SIZE(policy_msi32),
		.allowed = policy_msi_allowed,
		.adapt = policy_msi_adapt,
	}, {
		.id = PCI_CAP_ID_MSI, .len = 24, .mask = POLICY_MSI_VARIANT,
		.match = PCI_MSI_FLAGS_64BIT | PCI_MSI_FLAGS_MASKBIT,
		.fields = policy_msi64, .count = ARRAY_SIZE(policy_msi64),
		.allowed = policy_msi_allowed,
		.adapt = policy_msi_adapt,
	}, {
		.id = PCI_CAP_ID_MSIX, .len = PCI_CAP_MSIX_SIZEOF,
		.fields = policy_msix, .count = ARRAY_SIZE(policy_msix),
		.allowed = policy_msix_allowed,
		.adapt = policy_msix_adapt,
	}, {
		.id = PCI_CAP_ID_EXP, .len = POLICY_EXP_V1_LEN,
		.mask = PCI_EXP_FLAGS_VERS, .match = 1,
		.fields = policy_exp, .count = ARRAY_SIZE(policy_exp) - 1,
		.allowed = policy_exp_allowed,
		.adapt = policy_exp_adapt,
	}, {
		.id = PCI_CAP_ID_EXP, .len = POLICY_EXP_V2_LEN,
		.mask = PCI_EXP_FLAGS_VERS, .match = 2,
		.fields = policy_exp, .count = ARRAY_SIZE(policy_exp),
		.allowed = policy_exp_allowed,
		.adapt = policy_exp_adapt,
	}, {
		/* tells drivers where things lie in the BARs */
		.id = PCI_CAP_ID_VNDR, .many = true,
	},
};

static const struct borrower_policy policy_ext[] = {
	{ .id = PCI_EXT_CAP_ID_DSN, .len = PCI_EXT_CAP_DSN_SIZEOF },
};

/**
 * borrower_policy_find() - what is to be done with a capability
 * @grant: where the BARs lie
 * @cap: the capability as the lender told it, somewhere in the first 256 of
 *	%BORROWER_CONFIG_SIZE bytes
 *
 * Context: any. Return: its policy; NULL: it is not shown.
 */
const struct borrower_policy *borrower_policy_find(const struct borrower_grant *grant,
						   const u8 *cap)
{
	u16 word = get_unaligned_le16(cap + 2);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(policy_std); i++) {
		const struct borrower_policy *p = &policy_std[i];

		if (p->id == cap[0] && (word & p->mask) == p->match)
			return !p->allowed || p->allowed(grant, cap) ? p : NULL;
	}
	return NULL;
}

/**
 * borrower_policy_find_ext() - what is to be done with an extended capability
 * @cap: the capability as the lender told it
 *
 * Context: any. Return: its policy; NULL: it is not shown.
 */
const struct borrower_policy *borrower_policy_find_ext(const u8 *cap)
{
	u16 id = PCI_EXT_CAP_ID(get_unaligned_le32(cap));
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(policy_ext); i++)
		if (policy_ext[i].id == id)
			return &policy_ext[i];
	return NULL;
}

/**
 * borrower_policy_length() - how long a capability is
 * @policy: its policy
 * @cap: the capability as the lender told it
 *
 * Context: any. Return: bytes.
 */
unsigned int borrower_policy_length(const struct borrower_policy *policy, const u8 *cap)
{
	return policy->len ?: max_t(unsigned int, cap[2], POLICY_VENDOR_MIN);
}

/**
 * borrower_policy_once() - is only the first of a kind shown?
 * @policy: a policy
 *
 * Context: any.
 */
bool borrower_policy_once(const struct borrower_policy *policy)
{
	return !policy->many;
}

static void policy_apply_field(struct borrower_config *cfg, const struct policy_field *f,
			       const u8 *raw, unsigned int pos)
{
	u8 *image = cfg->image + pos + f->where, *writable = cfg->writable + pos + f->where;

	if (f->size == 2) {
		put_unaligned_le16((get_unaligned_le16(raw + pos + f->where) & f->shown) | f->fixed,
				   image);
		put_unaligned_le16(f->writable, writable);
	} else {
		put_unaligned_le32((get_unaligned_le32(raw + pos + f->where) & f->shown) | f->fixed,
				   image);
		put_unaligned_le32(f->writable, writable);
	}
}

/**
 * borrower_policy_apply() - put a capability into the image
 * @cfg: the image; zero where the capability is to be
 * @policy: the capability's
 * @raw: what the lender told
 * @pos: where the capability is, in both
 *
 * Id and next pointer are the caller's: they are left as they are. Context: any.
 */
void borrower_policy_apply(struct borrower_config *cfg, const struct borrower_policy *policy,
			   const u8 *raw, unsigned int pos)
{
	unsigned int head = pos < PCI_CFG_SPACE_SIZE ? 2 : 4, i;

	if (!policy->fields)
		memcpy(cfg->image + pos + head, raw + pos + head,
		       borrower_policy_length(policy, raw + pos) - head);
	for (i = 0; i < policy->count; i++)
		policy_apply_field(cfg, &policy->fields[i], raw, pos);
	if (policy->adapt)
		policy->adapt(cfg, pos);
}
