// SPDX-License-Identifier: GPL-2.0
/* KUnit suite of borrower/config_caps.c: both lists end, whatever the lender says. */
#include "borrower_config_fixture.h"

#include <linux/prandom.h>

#include "../../borrower/config_caps.c"

/* Images of noise that are tried. */
#define CAPS_NOISE	3000
/* Ids of the extended list that are looked at. */
#define CAPS_EXT_IDS	2

/* Walk the shadow's list as the PCI core does; the ids, or -1 where it does not end well. */
static int caps_walk(const struct config_fixture *f, u8 *ids)
{
	DECLARE_BITMAP(seen, PCI_CFG_SPACE_SIZE) = {};
	unsigned int pos = f->cfg.image[PCI_CAPABILITY_LIST];
	int n = 0;

	if (!(get_unaligned_le16(f->cfg.image + PCI_STATUS) & PCI_STATUS_CAP_LIST))
		return pos ? -1 : 0;
	for (; pos; pos = f->cfg.image[pos + PCI_CAP_LIST_NEXT]) {
		if (pos < PCI_STD_HEADER_SIZEOF || pos & 3 || test_bit(pos, seen) ||
		    !f->cfg.image[pos])
			return -1;
		__set_bit(pos, seen);
		ids[n++] = f->cfg.image[pos];
	}
	return n ?: -1;
}

/* The same for the extended list; an anchor counts with its id 0. @ids: CAPS_EXT_IDS of them. */
static int caps_walk_ext(const struct config_fixture *f, u16 *ids)
{
	DECLARE_BITMAP(seen, BORROWER_CONFIG_SIZE / 4) = {};
	unsigned int pos = PCI_CFG_SPACE_SIZE;
	u32 header;
	int n = 0;

	for (; pos; pos = PCI_EXT_CAP_NEXT(header)) {
		header = get_unaligned_le32(f->cfg.image + pos);
		if (!header)
			return pos == PCI_CFG_SPACE_SIZE ? 0 : -1;
		if (pos < PCI_CFG_SPACE_SIZE || test_bit(pos / 4, seen))
			return -1;
		__set_bit(pos / 4, seen);
		if (n < CAPS_EXT_IDS)
			ids[n] = PCI_EXT_CAP_ID(header);
		n++;
	}
	return n;
}

static void caps_expect(struct kunit *test, struct config_fixture *f, const char *want)
{
	u8 ids[64] = {};
	int n;

	KUNIT_ASSERT_EQ(test, fix_setup(f), 0);
	n = caps_walk(f, ids);
	KUNIT_EXPECT_EQ(test, n, (int)strlen(want));
	KUNIT_EXPECT_STREQ(test, (const char *)ids, want);
}

static void the_rest_keeps_its_order(struct kunit *test)
{
	/* PM, MSI, vendor, PCI Express, MSI-X; what is unknown is gone */
	caps_expect(test, fix_new(test), "\x01\x05\x09\x10\x11");
}

static void hidden_first_middle_last(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	f->raw[FIX_PM] = PCI_CAP_ID_VPD;
	caps_expect(test, f, "\x05\x09\x10\x11");
	KUNIT_EXPECT_EQ(test, (unsigned int)f->cfg.image[PCI_CAPABILITY_LIST], FIX_MSI + 0u);
	f->raw[FIX_VENDOR] = PCI_CAP_ID_AF;
	caps_expect(test, f, "\x05\x10\x11");
	f->raw[FIX_MSIX] = PCI_CAP_ID_SHPC;
	caps_expect(test, f, "\x05\x10");
	f->raw[FIX_MSI] = PCI_CAP_ID_EA;
	caps_expect(test, f, "\x10");
	f->raw[FIX_EXP] = 0xff;
	caps_expect(test, f, "");
	KUNIT_EXPECT_EQ(test, (unsigned int)f->cfg.image[PCI_CAPABILITY_LIST], 0u);
}

static void no_list_no_capabilities(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);
	u16 ids[CAPS_EXT_IDS];

	fix_put(f, PCI_STATUS, 2, (u16)~PCI_STATUS_CAP_LIST);
	caps_expect(test, f, "");
	KUNIT_EXPECT_EQ(test, caps_walk_ext(f, ids), 0);
}

static void loops_end(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	f->raw[FIX_UNKNOWN + 1] = FIX_PM;
	caps_expect(test, f, "\x01\x05\x09\x10\x11");
	f->raw[FIX_MSI + 1] = FIX_MSI;
	caps_expect(test, f, "\x01\x05");
	f->raw[FIX_PM + 1] = FIX_PM | 3;
	caps_expect(test, f, "\x01");
}

static void pointers_out_of_range_end_it(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	f->raw[FIX_MSI + 1] = 0x3c;
	caps_expect(test, f, "\x01\x05");
	f->raw[PCI_CAPABILITY_LIST] = 0x10;
	caps_expect(test, f, "");
	/* MSI-X whose last dword is beyond the 256 bytes; what follows it is there */
	f = fix_new(test);
	f->raw[PCI_CAPABILITY_LIST] = 0xf8;
	fix_cap(f, 0xf8, PCI_CAP_ID_MSIX, FIX_PM, 7);
	fix_put(f, 0xf8 + PCI_MSIX_TABLE, 4, 0x2000);
	fix_put(f, 0xf8 + PCI_MSIX_PBA, 4, 0x3000);
	caps_expect(test, f, "\x01\x05\x09\x10\x11");
	KUNIT_EXPECT_EQ(test, (unsigned int)f->cfg.image[PCI_CAPABILITY_LIST], FIX_PM + 0u);
	/* the last place that there is */
	f->raw[FIX_UNKNOWN + 1] = 0xfc;
	fix_cap(f, 0xfc, PCI_CAP_ID_VNDR, 0, 4);
	caps_expect(test, f, "\x01\x05\x09\x10\x11\x09");
	fix_cap(f, 0xfc, PCI_CAP_ID_VNDR, 0, 5);
	caps_expect(test, f, "\x01\x05\x09\x10\x11");
}

static void overlaps_are_hidden(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	/* a vendor capability over PCI Express */
	fix_put(f, FIX_VENDOR + 2, 1, FIX_EXP - FIX_VENDOR + 1);
	caps_expect(test, f, "\x01\x05\x09\x11");
	/* one inside MSI's registers: it would move what forwards */
	f = fix_new(test);
	f->raw[FIX_MSI + 1] = FIX_MSI + 4;
	fix_cap(f, FIX_MSI + 4, PCI_CAP_ID_VNDR, FIX_VENDOR, 8);
	caps_expect(test, f, "\x01\x05\x09\x10\x11");
	KUNIT_EXPECT_EQ(test, fix_get32(f, FIX_MSI + 4), 0u);
}

static void one_of_a_kind(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	fix_cap(f, FIX_UNKNOWN, PCI_CAP_ID_PM, 0xe0, 3);
	fix_cap(f, 0xe0, PCI_CAP_ID_VNDR, 0, 8);
	caps_expect(test, f, "\x01\x05\x09\x10\x11\x09");
	KUNIT_EXPECT_EQ(test, (unsigned int)f->cfg.pm, FIX_PM + 0u);
}

static void caps_expect_ext(struct kunit *test, struct config_fixture *f, int want, u16 a, u16 b)
{
	u16 ids[CAPS_EXT_IDS];
	int n;

	KUNIT_ASSERT_EQ(test, fix_setup(f), 0);
	n = caps_walk_ext(f, ids);
	KUNIT_ASSERT_EQ(test, n, want);
	if (n > 0)
		KUNIT_EXPECT_EQ(test, ids[0], a);
	if (n > 1)
		KUNIT_EXPECT_EQ(test, ids[1], b);
}

static void extended_first_hidden(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	caps_expect_ext(test, f, 2, 0, PCI_EXT_CAP_ID_DSN);
	/* nobody knows what lies at 0x100 */
	fix_ext(f, FIX_AER, 0x7777, FIX_DSN);
	caps_expect_ext(test, f, 2, 0, PCI_EXT_CAP_ID_DSN);
	/* an anchor of the lender's */
	fix_put(f, FIX_AER, 4, FIX_DSN << 20);
	caps_expect_ext(test, f, 2, 0, PCI_EXT_CAP_ID_DSN);
}

static void extended_middle_and_last_hidden(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	fix_ext(f, 0x100, PCI_EXT_CAP_ID_DSN, FIX_SRIOV);
	fix_ext(f, FIX_SRIOV, PCI_EXT_CAP_ID_SRIOV, 0x200);
	fix_ext(f, 0x200, PCI_EXT_CAP_ID_DSN, 0x300);
	fix_ext(f, 0x300, PCI_EXT_CAP_ID_ATS, 0);
	caps_expect_ext(test, f, 2, PCI_EXT_CAP_ID_DSN, PCI_EXT_CAP_ID_DSN);
}

static void extended_all_hidden(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	fix_ext(f, FIX_DSN, PCI_EXT_CAP_ID_REBAR, FIX_SRIOV);
	caps_expect_ext(test, f, 0, 0, 0);
	fix_put(f, FIX_AER, 4, 0);
	fix_ext(f, FIX_DSN, PCI_EXT_CAP_ID_DSN, 0);
	caps_expect_ext(test, f, 0, 0, 0);
	fix_put(f, FIX_AER, 4, ~0u);
	caps_expect_ext(test, f, 0, 0, 0);
}

static void extended_loops_end(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	fix_ext(f, FIX_SRIOV, PCI_EXT_CAP_ID_SRIOV, FIX_AER);
	caps_expect_ext(test, f, 2, 0, PCI_EXT_CAP_ID_DSN);
	fix_ext(f, FIX_DSN, PCI_EXT_CAP_ID_DSN, FIX_DSN);
	caps_expect_ext(test, f, 2, 0, PCI_EXT_CAP_ID_DSN);
	fix_ext(f, FIX_AER, PCI_EXT_CAP_ID_ERR, FIX_AER);
	caps_expect_ext(test, f, 0, 0, 0);
}

static void extended_out_of_range(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	fix_ext(f, FIX_DSN, PCI_EXT_CAP_ID_DSN, 0x40);
	caps_expect_ext(test, f, 2, 0, PCI_EXT_CAP_ID_DSN);
	/* does not fit at the end */
	fix_ext(f, FIX_AER, PCI_EXT_CAP_ID_ERR, 0xff8);
	fix_ext(f, 0xff8, PCI_EXT_CAP_ID_DSN, 0);
	caps_expect_ext(test, f, 0, 0, 0);
	fix_ext(f, FIX_AER, PCI_EXT_CAP_ID_ERR, 0xff4);
	fix_ext(f, 0xff4, PCI_EXT_CAP_ID_DSN, 0);
	caps_expect_ext(test, f, 2, 0, PCI_EXT_CAP_ID_DSN);
}

static void no_express_no_extended(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	f->raw[FIX_EXP] = PCI_CAP_ID_PCIX;
	caps_expect_ext(test, f, 0, 0, 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(f->cfg.image + 256, 0, BORROWER_CONFIG_SIZE - 256));
}

/* Noise, in which every second capability has an id that is shown, and pointers are near. */
static void caps_noise(struct config_fixture *f, struct rnd_state *rnd)
{
	static const u8 ids[] = { PCI_CAP_ID_PM, PCI_CAP_ID_MSI, PCI_CAP_ID_MSIX, PCI_CAP_ID_EXP,
				  PCI_CAP_ID_VNDR, PCI_CAP_ID_VPD };
	unsigned int pos;

	prandom_bytes_state(rnd, f->raw, PCI_CFG_SPACE_SIZE + 64);
	f->raw[PCI_HEADER_TYPE] = 0;
	f->raw[PCI_STATUS] |= PCI_STATUS_CAP_LIST;
	for (pos = PCI_STD_HEADER_SIZEOF; pos < PCI_CFG_SPACE_SIZE; pos += 4) {
		f->raw[pos] = ids[f->raw[pos] % ARRAY_SIZE(ids)];
		if (f->raw[pos] == PCI_CAP_ID_VNDR)
			f->raw[pos + 2] &= 0x1f;
		else if (f->raw[pos] == PCI_CAP_ID_EXP)
			fix_put(f, pos + 2, 2, 2);
	}
	for (pos = PCI_CFG_SPACE_SIZE; pos < PCI_CFG_SPACE_SIZE + 64; pos += 4)
		fix_ext(f, pos, f->raw[pos] & 1 ? PCI_EXT_CAP_ID_DSN : PCI_EXT_CAP_ID_ERR,
			PCI_CFG_SPACE_SIZE + (f->raw[pos + 1] & 0x3c));
}

static void noise_has_an_end(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);
	u16 ext[CAPS_EXT_IDS];
	unsigned int i, most = 0, most_ext = 0;
	struct rnd_state rnd;
	u8 ids[64];
	int n;

	prandom_seed_state(&rnd, 20);
	for (i = 0; i < CAPS_NOISE; i++) {
		caps_noise(f, &rnd);
		memset(&f->cfg, 0, sizeof(f->cfg));
		borrower_config_header(&f->cfg, &f->grant, f->raw);
		borrower_config_caps(&f->cfg, &f->grant, f->raw);
		borrower_config_extended(&f->cfg, f->raw);
		n = caps_walk(f, ids);
		KUNIT_ASSERT_GE_MSG(test, n, 0, "round %u", i);
		most = max_t(unsigned int, most, n);
		n = caps_walk_ext(f, ext);
		KUNIT_ASSERT_GE_MSG(test, n, 0, "round %u", i);
		most_ext = max_t(unsigned int, most_ext, n);
	}
	/* the noise is of the kind that makes lists */
	KUNIT_EXPECT_GE(test, most, 4u);
	KUNIT_EXPECT_GE(test, most_ext, 3u);
}

static struct kunit_case caps_cases[] = {
	KUNIT_CASE(the_rest_keeps_its_order),
	KUNIT_CASE(hidden_first_middle_last),
	KUNIT_CASE(no_list_no_capabilities),
	KUNIT_CASE(loops_end),
	KUNIT_CASE(pointers_out_of_range_end_it),
	KUNIT_CASE(overlaps_are_hidden),
	KUNIT_CASE(one_of_a_kind),
	KUNIT_CASE(extended_first_hidden),
	KUNIT_CASE(extended_middle_and_last_hidden),
	KUNIT_CASE(extended_all_hidden),
	KUNIT_CASE(extended_loops_end),
	KUNIT_CASE(extended_out_of_range),
	KUNIT_CASE(no_express_no_extended),
	KUNIT_CASE(noise_has_an_end),
	{}
};

static struct kunit_suite caps_suite = {
	.name = "devlend-borrower-config-caps",
	.test_cases = caps_cases,
};

kunit_test_suite(caps_suite);
