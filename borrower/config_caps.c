// SPDX-License-Identifier: GPL-2.0
/*
 * The shadow's two lists of capabilities: walked in what the lender told, and linked anew.
 *
 * What config_policy.c does not allow is left out. What is shown stays where it is, since
 * drivers may have offsets built in, and points to the next that is shown. The extended list
 * begins at 0x100 in any case: where that place is not shown, an anchor of id 0 points on.
 *
 * The lender is not believed: a place is visited once, so that a loop ends the walk; what lies
 * on another capability, or beyond the end, is left out. So both lists end, whatever came.
 *
 * Called by config.c, once per borrow, before anybody sees the config space. Pure;
 * tests/kunit/borrower_config_caps_test.c covers it.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <devlend/compat.h>

#include "config.h"

#define CAPS_ANCHOR_VERSION	1u

static u32 caps_ext_header(u16 id, u32 version, unsigned int next)
{
	return id | version << 16 | next << 20;
}

/* Take bytes for a capability: they must end before @end, and be nobody's yet. */
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
 * @grant: where the BARs lie
 * @raw: what the lender told, %BORROWER_CONFIG_SIZE bytes
 *
 * Context: any.
 */
void borrower_config_caps(struct borrower_config *cfg, const struct borrower_grant *grant,
			  const u8 *raw)
{
	DECLARE_BITMAP(visited, PCI_CFG_SPACE_SIZE) = {};
	DECLARE_BITMAP(used, PCI_CFG_SPACE_SIZE) = {};
	DECLARE_BITMAP(shown, 256) = {};
	unsigned int link = PCI_CAPABILITY_LIST, pos = raw[PCI_CAPABILITY_LIST] & ~3u;

	if (!(get_unaligned_le16(raw + PCI_STATUS) & PCI_STATUS_CAP_LIST))
		return;
	for (; pos >= PCI_STD_HEADER_SIZEOF && !test_bit(pos, visited);
	     pos = raw[pos + PCI_CAP_LIST_NEXT] & ~3u) {
		const struct borrower_policy *policy = borrower_policy_find(grant, raw + pos);

		__set_bit(pos, visited);
		if (!policy || (borrower_policy_once(policy) && test_bit(raw[pos], shown)))
			continue;
		if (!caps_claim(used, pos, borrower_policy_length(policy, raw + pos),
				PCI_CFG_SPACE_SIZE))
			continue;
		__set_bit(raw[pos], shown);
		borrower_policy_apply(cfg, policy, raw, pos);
		cfg->image[pos + PCI_CAP_LIST_ID] = raw[pos];
		cfg->image[link] = pos;
		link = pos + PCI_CAP_LIST_NEXT;
	}
	if (cfg->image[PCI_CAPABILITY_LIST])
		put_unaligned_le16(PCI_STATUS_CAP_LIST, cfg->image + PCI_STATUS);
}

/* Make @prev, which is shown or the anchor, point to @pos. */
static void caps_ext_link(struct borrower_config *cfg, unsigned int prev, unsigned int pos)
{
	u32 header = get_unaligned_le32(cfg->image + prev);

	if (!header)
		header = caps_ext_header(0, CAPS_ANCHOR_VERSION, 0);
	put_unaligned_le32(header | caps_ext_header(0, 0, pos), cfg->image + prev);
}

/**
 * borrower_config_extended() - the shadow's extended capabilities
 * @cfg: image, with its capabilities
 * @raw: what the lender told, %BORROWER_CONFIG_SIZE bytes
 *
 * Context: any.
 */
void borrower_config_extended(struct borrower_config *cfg, const u8 *raw)
{
	DECLARE_BITMAP(visited, BORROWER_CONFIG_SIZE / 4) = {};
	DECLARE_BITMAP(used, BORROWER_CONFIG_SIZE / 4) = {};
	unsigned int prev = PCI_CFG_SPACE_SIZE, pos = PCI_CFG_SPACE_SIZE;
	u32 header;

	if (!cfg->pcie)
		return;
	for (; pos >= PCI_CFG_SPACE_SIZE && !test_bit(pos / 4, visited);
	     pos = PCI_EXT_CAP_NEXT(header)) {
		const struct borrower_policy *policy;
		unsigned int dwords;

		header = get_unaligned_le32(raw + pos);
		if (!header)
			return;
		__set_bit(pos / 4, visited);
		policy = borrower_policy_find_ext(raw + pos);
		if (!policy)
			continue;
		dwords = DIV_ROUND_UP(borrower_policy_length(policy, raw + pos), 4);
		if (!caps_claim(used, pos / 4, dwords, BORROWER_CONFIG_SIZE / 4))
			continue;
		borrower_policy_apply(cfg, policy, raw, pos);
		put_unaligned_le32(caps_ext_header(PCI_EXT_CAP_ID(header),
						   PCI_EXT_CAP_VER(header), 0), cfg->image + pos);
		if (pos != prev)
			caps_ext_link(cfg, prev, pos);
		prev = pos;
	}
}
