// SPDX-License-Identifier: GPL-2.0
/*
 * Capabilities of the shadow: a table says which are shown, how long each is, and what is
 * changed in it. All others are left out, and both chains are linked anew.
 *
 * Left out, since they cannot work or are the lender's: SR-IOV, ATS, PRI, PASID, ACS, AER, DPC, resizable BAR, LTR, L1 substates, PTM,
 * hot-plug, VPD, and whatever is unknown. Documentation/config-space.rst gives the reason for each.
 *
 * Called once per borrow. Pure. The lender's chains are walked with a bound and a memory of what was
 * visited, so a loop or a pointer out of range ends the walk.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <devlend/compat.h>

#include "config.h"

#define CAPS_EXPRESS_LEN	60	/* version 2, with the second set of registers */
#define CAPS_EXPRESS_V1_LEN	20	/* endpoint: up to link status */
#define CAPS_DSN_LEN		12

struct caps_rule {
	u8 id;
	/* bytes that are shown; 0 hides it, as does what reaches beyond 256 bytes */
	unsigned int (*length)(const u8 *cap);
	/* makes the copy in the image the shadow's own */
	void (*adapt)(struct borrower_config *cfg, unsigned int pos);
};

static void caps_put16(struct borrower_config *cfg, unsigned int where, u16 value, u16 writable)
{
	put_unaligned_le16(value, cfg->image + where);
	put_unaligned_le16(writable, cfg->writable + where);
}

static u16 caps_get16(struct borrower_config *cfg, unsigned int where)
{
	return get_unaligned_le16(cfg->image + where);
}

static unsigned int caps_pm_length(const u8 *cap)
{
	return PCI_PM_SIZEOF;
}

/* The power state is the shadow's alone: it can be written, and nothing is lost in D3hot. */
static void caps_pm_adapt(struct borrower_config *cfg, unsigned int pos)
{
	u16 pmc = caps_get16(cfg, pos + PCI_PM_PMC);

	pmc &= PCI_PM_CAP_VER_MASK;
	caps_put16(cfg, pos + PCI_PM_PMC, pmc, 0);
	caps_put16(cfg, pos + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET, PCI_PM_CTRL_STATE_MASK);
	caps_put16(cfg, pos + PCI_PM_CTRL + 2, 0, 0);
}

static unsigned int caps_msi_length(const u8 *cap)
{
	u16 flags = get_unaligned_le16(cap + PCI_MSI_FLAGS);
	unsigned int len = flags & PCI_MSI_FLAGS_64BIT ? 14 : 10;

	return flags & PCI_MSI_FLAGS_MASKBIT ? len + 10 : len;
}

static void caps_msi_adapt(struct borrower_config *cfg, unsigned int pos)
{
	u16 flags = caps_get16(cfg, pos + PCI_MSI_FLAGS);
	bool wide = flags & PCI_MSI_FLAGS_64BIT;
	unsigned int data = pos + (wide ? PCI_MSI_DATA_64 : PCI_MSI_DATA_32);
	unsigned int mask = pos + (wide ? PCI_MSI_MASK_64 : PCI_MSI_MASK_32);

	flags &= PCI_MSI_FLAGS_QMASK | PCI_MSI_FLAGS_64BIT | PCI_MSI_FLAGS_MASKBIT;
	caps_put16(cfg, pos + PCI_MSI_FLAGS, flags, PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE);
	put_unaligned_le32(0, cfg->image + pos + PCI_MSI_ADDRESS_LO);
	put_unaligned_le32(~3u, cfg->writable + pos + PCI_MSI_ADDRESS_LO);
	if (wide) {
		put_unaligned_le32(0, cfg->image + pos + PCI_MSI_ADDRESS_HI);
		put_unaligned_le32(~0u, cfg->writable + pos + PCI_MSI_ADDRESS_HI);
	}
	caps_put16(cfg, data, 0, 0xffff);
	if (flags & PCI_MSI_FLAGS_MASKBIT) {
		put_unaligned_le32(0, cfg->image + mask);
		put_unaligned_le32(~0u, cfg->writable + mask);
		/* pending bits are the device's own, and not asked for */
		put_unaligned_le32(0, cfg->image + mask + 4);
	}
	cfg->msi = pos;
}

static unsigned int caps_msix_length(const u8 *cap)
{
	return PCI_CAP_MSIX_SIZEOF;
}

static void caps_msix_adapt(struct borrower_config *cfg, unsigned int pos)
{
	u16 flags = caps_get16(cfg, pos + PCI_MSIX_FLAGS);

	caps_put16(cfg, pos + PCI_MSIX_FLAGS, flags & PCI_MSIX_FLAGS_QSIZE,
		   PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	cfg->msix = pos;
}

static unsigned int caps_express_length(const u8 *cap)
{
	u16 flags = get_unaligned_le16(cap + PCI_EXP_FLAGS);

	return (flags & PCI_EXP_FLAGS_VERS) >= 2 ? CAPS_EXPRESS_LEN : CAPS_EXPRESS_V1_LEN;
}

/*
 * Packet sizes, ordering, tags and link control are the lender's: what is written stays in the image.
 * The one bit that does something is the function reset. Link capabilities are shown without power management.
 */
static void caps_express_adapt(struct borrower_config *cfg, unsigned int pos)
{
	u32 lnkcap = get_unaligned_le32(cfg->image + pos + PCI_EXP_LNKCAP);
	u16 flags = caps_get16(cfg, pos + PCI_EXP_FLAGS);
	u32 devcap = get_unaligned_le32(cfg->image + pos + PCI_EXP_DEVCAP);
	u16 devctl = caps_get16(cfg, pos + PCI_EXP_DEVCTL);

	caps_put16(cfg, pos + PCI_EXP_FLAGS, flags & (PCI_EXP_FLAGS_VERS | PCI_EXP_FLAGS_TYPE), 0);
	devcap &= PCI_EXP_DEVCAP_PAYLOAD | PCI_EXP_DEVCAP_EXT_TAG | PCI_EXP_DEVCAP_RBER |
		  PCI_EXP_DEVCAP_FLR;
	put_unaligned_le32(devcap, cfg->image + pos + PCI_EXP_DEVCAP);
	caps_put16(cfg, pos + PCI_EXP_DEVCTL, devctl & ~PCI_EXP_DEVCTL_BCR_FLR, 0x7fff);
	caps_put16(cfg, pos + PCI_EXP_DEVSTA, 0, 0);
	lnkcap &= PCI_EXP_LNKCAP_SLS | PCI_EXP_LNKCAP_MLW | PCI_EXP_LNKCAP_PN;
	put_unaligned_le32(lnkcap, cfg->image + pos + PCI_EXP_LNKCAP);
	caps_put16(cfg, pos + PCI_EXP_LNKCTL, 0, 0);
	caps_put16(cfg, pos + PCI_EXP_LNKSTA,
		   caps_get16(cfg, pos + PCI_EXP_LNKSTA) & (PCI_EXP_LNKSTA_CLS | PCI_EXP_LNKSTA_NLW), 0);
	/* slot and root registers, and the second set but for the link's speeds */
	if (caps_express_length(cfg->image + pos) == CAPS_EXPRESS_LEN) {
		memset(cfg->image + pos + PCI_EXP_SLTCAP, 0, PCI_EXP_LNKCAP2 - PCI_EXP_SLTCAP);
		memset(cfg->image + pos + PCI_EXP_LNKCTL2, 0, CAPS_EXPRESS_LEN - PCI_EXP_LNKCTL2);
	}
	cfg->pcie = pos;
}

static unsigned int caps_vendor_length(const u8 *cap)
{
	return max_t(unsigned int, cap[2], 3);
}

/* Shown as it is, and not writable: it tells a driver where things lie in the BARs. */
static const struct caps_rule caps_rules[] = {
	{ PCI_CAP_ID_PM, caps_pm_length, caps_pm_adapt },
	{ PCI_CAP_ID_MSI, caps_msi_length, caps_msi_adapt },
	{ PCI_CAP_ID_MSIX, caps_msix_length, caps_msix_adapt },
	{ PCI_CAP_ID_EXP, caps_express_length, caps_express_adapt },
	{ PCI_CAP_ID_VNDR, caps_vendor_length, NULL },
};

static const struct caps_rule *caps_rule_of(u8 id)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(caps_rules); i++)
		if (caps_rules[i].id == id)
			return &caps_rules[i];
	return NULL;
}

/* Are these bytes free in the image? A lender's capabilities must not lie on each other. */
static bool caps_claim(unsigned long *used, unsigned int pos, unsigned int len, unsigned int end)
{
	if (pos + len > end || find_next_bit(used, pos + len, pos) < pos + len)
		return false;
	bitmap_set(used, pos, len);
	return true;
}

/**
 * borrower_config_caps() - the shadow's capabilities
 * @cfg: image with its header
 * @raw: what the lender told
 *
 * Context: any.
 */
void borrower_config_caps(struct borrower_config *cfg, const u8 *raw)
{
	DECLARE_BITMAP(used, PCI_CFG_SPACE_SIZE) = {};
	unsigned int link = PCI_CAPABILITY_LIST, pos = raw[PCI_CAPABILITY_LIST] & ~3u;

	if (!(get_unaligned_le16(raw + PCI_STATUS) & PCI_STATUS_CAP_LIST))
		return;
	/* what was seen is used, so a loop ends at its first return */
	while (pos >= PCI_STD_HEADER_SIZEOF) {
		const struct caps_rule *rule = caps_rule_of(raw[pos]);
		unsigned int len = rule ? rule->length(raw + pos) : 2;

		if (!caps_claim(used, pos, len, PCI_CFG_SPACE_SIZE))
			break;
		if (rule) {
			memcpy(cfg->image + pos, raw + pos, len);
			cfg->image[pos + PCI_CAP_LIST_NEXT] = 0;
			if (rule->adapt)
				rule->adapt(cfg, pos);
			cfg->image[link] = pos;
			link = pos + PCI_CAP_LIST_NEXT;
		}
		pos = raw[pos + PCI_CAP_LIST_NEXT] & ~3u;
	}
	if (cfg->image[PCI_CAPABILITY_LIST])
		put_unaligned_le16(PCI_STATUS_CAP_LIST, cfg->image + PCI_STATUS);
}

/**
 * borrower_config_extended() - the shadow's extended capabilities
 * @cfg: image
 * @raw: what the lender told
 *
 * Only the serial number is shown. The chain begins at 0x100 in any case: where that place is not shown, an
 * empty header points on. Context: any.
 */
void borrower_config_extended(struct borrower_config *cfg, const u8 *raw)
{
	unsigned int pos = PCI_CFG_SPACE_SIZE, budget = BORROWER_CONFIG_SIZE / 8;

	if (!cfg->pcie)
		return;
	while (pos >= PCI_CFG_SPACE_SIZE && pos + CAPS_DSN_LEN <= BORROWER_CONFIG_SIZE && budget--) {
		u32 header = get_unaligned_le32(raw + pos);

		if (!header)
			return;
		if (PCI_EXT_CAP_ID(header) == PCI_EXT_CAP_ID_DSN)
			break;
		pos = PCI_EXT_CAP_NEXT(header);
	}
	if (pos < PCI_CFG_SPACE_SIZE || pos + CAPS_DSN_LEN > BORROWER_CONFIG_SIZE || pos % 4 ||
	    PCI_EXT_CAP_ID(get_unaligned_le32(raw + pos)) != PCI_EXT_CAP_ID_DSN)
		return;
	memcpy(cfg->image + pos, raw + pos, CAPS_DSN_LEN);
	put_unaligned_le32(PCI_EXT_CAP_ID_DSN | 1 << 16, cfg->image + pos);
	/* an anchor: id 0, version 1, so that the header is not 0 */
	if (pos != PCI_CFG_SPACE_SIZE)
		put_unaligned_le32(1 << 16 | pos << 20, cfg->image + PCI_CFG_SPACE_SIZE);
}
