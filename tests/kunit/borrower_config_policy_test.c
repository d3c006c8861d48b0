// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of borrower/config_policy.c: what is shown of each capability. The made-up device
 * says 1 wherever it can, so that what is not masked is seen.
 */
#include "borrower_config_fixture.h"

#include "../../borrower/config_policy.c"

/* Dwords of config space as they must read; all others are 0. */
struct policy_dword {
	unsigned int where;
	u32 value;
};

static const struct policy_dword policy_shown[] = {
	{ FIX_PM, 0x0007 << 16 | FIX_MSI << 8 | PCI_CAP_ID_PM },
	{ FIX_PM + 4, PCI_PM_CTRL_NO_SOFT_RESET },
	{ FIX_MSI, 0x0184u << 16 | FIX_VENDOR << 8 | PCI_CAP_ID_MSI },
	{ FIX_VENDOR, 0xab08u << 16 | FIX_EXP << 8 | PCI_CAP_ID_VNDR },
	{ FIX_VENDOR + 4, 0x12345678 },
	{ FIX_EXP, 0x0002 << 16 | FIX_MSIX << 8 | PCI_CAP_ID_EXP },
	{ FIX_EXP + PCI_EXP_DEVCAP, 0x10008027 },
	{ FIX_EXP + PCI_EXP_DEVCTL, 0x2810 },
	{ FIX_EXP + PCI_EXP_LNKCAP, 0xff0003ff },
	{ FIX_EXP + PCI_EXP_LNKCTL, 0x03ffu << 16 },
	{ FIX_EXP + PCI_EXP_LNKCAP2, 0xfe },
	{ FIX_MSIX, 0x0007 << 16 | PCI_CAP_ID_MSIX },
	{ FIX_MSIX + PCI_MSIX_TABLE, 0x2000 },
	{ FIX_MSIX + PCI_MSIX_PBA, 0x3000 },
	{ FIX_AER, FIX_DSN << 20 | 1 << 16 },
	{ FIX_DSN, 1 << 16 | PCI_EXT_CAP_ID_DSN },
	{ FIX_DSN + 4, 0xcafe0001 },
	{ FIX_DSN + 8, 0xcafe0002 },
};

static void all_else_reads_zero(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);
	unsigned int where, i = 0;

	for (where = PCI_STD_HEADER_SIZEOF; where < BORROWER_CONFIG_SIZE; where += 4) {
		u32 want = 0;

		if (i < ARRAY_SIZE(policy_shown) && policy_shown[i].where == where)
			want = policy_shown[i++].value;
		KUNIT_EXPECT_EQ_MSG(test, fix_get32(f, where), want, "at %#x", where);
	}
	KUNIT_EXPECT_EQ(test, i, (unsigned int)ARRAY_SIZE(policy_shown));
}

static bool policy_shows(struct config_fixture *f, unsigned int pos)
{
	return borrower_policy_find(&f->grant, f->raw + pos);
}

/* What the interrupt mode cannot deliver is not there. */
static void interrupts_are_limited(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	f->grant.messages_max = 3;
	KUNIT_ASSERT_EQ(test, fix_setup(f), 0);
	KUNIT_EXPECT_EQ(test, fix_get32(f, FIX_MSIX) >> 16, 2u);
	KUNIT_EXPECT_EQ(test, fix_get32(f, FIX_MSI) >> 16 & PCI_MSI_FLAGS_QMASK, 1u << 1);

	f = fix_new(test);
	f->grant.messages_max = 32;
	f->grant.hide_msi = true;
	KUNIT_ASSERT_EQ(test, fix_setup(f), 0);
	KUNIT_EXPECT_EQ(test, fix_get32(f, FIX_MSIX) >> 16, 7u);
	KUNIT_EXPECT_EQ(test, fix_get32(f, FIX_MSI), 0u);

	f = fix_new(test);
	f->grant.hide_msix = true;
	KUNIT_ASSERT_EQ(test, fix_setup(f), 0);
	KUNIT_EXPECT_EQ(test, fix_get32(f, FIX_MSIX), 0u);
	KUNIT_EXPECT_EQ(test, fix_get32(f, FIX_MSI) >> 16, 0x0184u);
}

static void unknown_ids_are_hidden(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);
	unsigned int id, shown = 0, ext = 0;

	for (id = 0; id < 0x100; id++) {
		fix_put(f, FIX_VENDOR, 1, id);
		shown += policy_shows(f, FIX_VENDOR) && id != PCI_CAP_ID_VNDR;
	}
	/* PM and an MSI; MSI-X and PCI Express have conditions that do not hold here */
	KUNIT_EXPECT_EQ(test, shown, 2u);
	for (id = 0; id < 0x10000; id++) {
		fix_ext(f, FIX_DSN, id, 0);
		if (borrower_policy_find_ext(f->raw + FIX_DSN)) {
			KUNIT_EXPECT_EQ(test, id, (unsigned int)PCI_EXT_CAP_ID_DSN);
			ext++;
		}
	}
	KUNIT_EXPECT_EQ(test, ext, 1u);
}

static void msi_variants_have_their_lengths(struct kunit *test)
{
	static const struct { u16 flags; unsigned int len, data; } variants[] = {
		{ 0, 10, PCI_MSI_DATA_32 },
		{ PCI_MSI_FLAGS_64BIT, 14, PCI_MSI_DATA_64 },
		{ PCI_MSI_FLAGS_MASKBIT, 20, PCI_MSI_DATA_32 },
		{ PCI_MSI_FLAGS_64BIT | PCI_MSI_FLAGS_MASKBIT, 24, PCI_MSI_DATA_64 },
	};
	unsigned int i, k, bits;

	for (i = 0; i < ARRAY_SIZE(variants); i++) {
		struct config_fixture *f = fix_new(test);
		const struct borrower_policy *p;

		fix_cap(f, FIX_MSI, PCI_CAP_ID_MSI, 0, variants[i].flags | 5 << 1);
		p = borrower_policy_find(&f->grant, f->raw + FIX_MSI);
		KUNIT_ASSERT_NOT_NULL(test, p);
		KUNIT_EXPECT_EQ(test, borrower_policy_length(p, f->raw + FIX_MSI),
				variants[i].len);
		borrower_policy_apply(&f->cfg, p, f->raw, FIX_MSI);
		KUNIT_EXPECT_EQ(test, get_unaligned_le16(f->cfg.writable + FIX_MSI +
							 variants[i].data), 0xffff);
		for (k = 0, bits = 0; k < 32; k++)
			bits += hweight8(f->cfg.writable[FIX_MSI + k]);
		/* enable and 3 of count; 30 of address; 32 of the same; 16 of data; masks */
		KUNIT_EXPECT_EQ(test, bits, 4u + 30 + 16 +
				(variants[i].flags & PCI_MSI_FLAGS_64BIT ? 32 : 0) +
				(variants[i].flags & PCI_MSI_FLAGS_MASKBIT ? 32 : 0));
	}
}

static void msi_masks_fit_the_messages(struct kunit *test)
{
	unsigned int log;

	for (log = 0; log < 8; log++) {
		struct config_fixture *f = fix_new(test);

		fix_cap(f, FIX_MSI, PCI_CAP_ID_MSI, 0, PCI_MSI_FLAGS_64BIT |
			PCI_MSI_FLAGS_MASKBIT | log << 1);
		KUNIT_ASSERT_EQ(test, fix_setup(f), 0);
		KUNIT_EXPECT_EQ(test, get_unaligned_le32(f->cfg.writable + FIX_MSI +
							 PCI_MSI_MASK_64),
				(u32)((1ull << (1u << min(log, 5u))) - 1));
	}
}

/* The PCI core maps the table wherever the capability says. */
static void msix_must_lie_in_its_bar(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);
	static const struct { u32 table, pba; u16 last; bool shown; } places[] = {
		{ 0x2000, 0x3000, 7, true },
		{ 0x2000, 0x3ff8, 63, true },
		{ 0x2000, 0x3ff8, 64, false },
		{ 0x2000, 0x3000, 511, true },
		{ 0x2000, 0x3000, 512, false },
		{ 0x2000, 0x4000, 7, false },
		{ 0x2000, 0xfffffff8, 7, false },
		{ 0x2000, 0x0002, 7, true },	/* the array in BAR 2 */
		{ 0x2000, 0x0001, 7, false },	/* in none */
		{ 0x2000, 0x0006, 7, false },
		{ 0x2000, 0x0007, 7, false },
		{ 0x2008, 0x3000, 7, false },	/* not where the grant says */
		{ 0x2002, 0x3000, 7, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		fix_cap(f, FIX_MSIX, PCI_CAP_ID_MSIX, 0, places[i].last);
		fix_put(f, FIX_MSIX + PCI_MSIX_TABLE, 4, places[i].table);
		fix_put(f, FIX_MSIX + PCI_MSIX_PBA, 4, places[i].pba);
		KUNIT_EXPECT_EQ_MSG(test, policy_shows(f, FIX_MSIX), places[i].shown, "row %u", i);
	}
	fix_cap(f, FIX_MSIX, PCI_CAP_ID_MSIX, 0, 7);
	fix_put(f, FIX_MSIX + PCI_MSIX_TABLE, 4, 0x3ff8);
	f->grant.msix_offset = 0x3ff8;
	KUNIT_EXPECT_FALSE(test, policy_shows(f, FIX_MSIX));
	fix_put(f, FIX_MSIX + PCI_MSIX_TABLE, 4, 7);
	f->grant.msix_offset = 0;
	f->grant.msix_bar = BORROWER_NO_BAR;
	KUNIT_EXPECT_FALSE(test, policy_shows(f, FIX_MSIX));
}

static void only_endpoints_are_express(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);
	unsigned int type, version, shown = 0;

	for (type = 0; type < 16; type++)
		for (version = 0; version < 16; version++) {
			fix_put(f, FIX_EXP + PCI_EXP_FLAGS, 2, type << 4 | version);
			shown += policy_shows(f, FIX_EXP);
		}
	KUNIT_EXPECT_EQ(test, shown, 3u * 2);
}

static void express_v1_is_short(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	fix_put(f, FIX_EXP + PCI_EXP_FLAGS, 2, 1 | PCI_EXP_TYPE_LEG_END << 4);
	KUNIT_ASSERT_EQ(test, fix_setup(f), 0);
	KUNIT_EXPECT_EQ(test, fix_get32(f, FIX_EXP + PCI_EXP_DEVCTL), 0x2810u);
	KUNIT_EXPECT_NULL(test, memchr_inv(f->cfg.image + FIX_EXP + 20, 0, 0x3c - 20));
}

static struct kunit_case policy_cases[] = {
	KUNIT_CASE(all_else_reads_zero),
	KUNIT_CASE(interrupts_are_limited),
	KUNIT_CASE(unknown_ids_are_hidden),
	KUNIT_CASE(msi_variants_have_their_lengths),
	KUNIT_CASE(msi_masks_fit_the_messages),
	KUNIT_CASE(msix_must_lie_in_its_bar),
	KUNIT_CASE(only_endpoints_are_express),
	KUNIT_CASE(express_v1_is_short),
	{}
};

static struct kunit_suite policy_suite = {
	.name = "devlend-borrower-config-policy",
	.test_cases = policy_cases,
};

kunit_test_suite(policy_suite);
