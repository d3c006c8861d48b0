// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of lender/config_filter.c: what of a config space leaves this host, and how it
 * is packed. Each case builds the config space of a device field by field.
 */
#include <kunit/test.h>

#include "../../lender/config_filter.c"

struct config_fixture {
	u32 real[DEVLEND_CONFIG_DWORDS];
	u32 told[DEVLEND_CONFIG_DWORDS];
	__le32 wire[DEVLEND_CONFIG_DWORDS + 2];
	u32 back[DEVLEND_CONFIG_DWORDS];
};

/* An endpoint without capabilities, all of its other registers set. */
static struct config_fixture *config_fixture(struct kunit *test)
{
	struct config_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, f);
	for (i = 0; i < PCI_STD_HEADER_SIZEOF / 4; i++)
		f->real[i] = 0xffffffff;
	f->real[0] = 0x00101b36;
	f->real[PCI_COMMAND / 4] = 0x00000007;
	f->real[PCI_CLASS_REVISION / 4] = 0x01080202;
	f->real[PCI_CACHE_LINE_SIZE / 4] = 0xff80ffff & ~(PCI_HEADER_TYPE_MASK << 16);
	f->real[PCI_SUBSYSTEM_VENDOR_ID / 4] = 0x11001af4;
	return f;
}

static void config_std(struct config_fixture *f, unsigned int pos, u8 id, u8 next, u16 flags)
{
	f->real[PCI_COMMAND / 4] |= PCI_STATUS_CAP_LIST << 16;
	f->real[pos / 4] = (u32)flags << 16 | next << 8 | id;
}

static void config_ext(struct config_fixture *f, unsigned int pos, u16 id, u16 next)
{
	f->real[pos / 4] = (u32)next << 20 | 1 << 16 | id;
}

static int config_filter(struct config_fixture *f)
{
	return lender_config_filter(f->real, FILTER_ALL_BYTES, true, f->told);
}

/* The told standard chain, as ids in a row, or -1 where it does not end. */
static int config_walk(const u32 *told, u8 *ids, unsigned int max)
{
	unsigned int pos = told[PCI_CAPABILITY_LIST / 4], n = 0;

	if (!(told[PCI_COMMAND / 4] >> 16 & PCI_STATUS_CAP_LIST))
		return 0;
	for (; pos; pos = told[pos / 4] >> 8 & 0xff) {
		if (n == max)
			return -1;
		ids[n++] = told[pos / 4] & 0xff;
	}
	return n;
}

static void config_header(struct kunit *test)
{
	struct config_fixture *f = config_fixture(test);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, config_filter(f), 0);
	KUNIT_EXPECT_EQ(test, f->told[0], 0x00101b36u);
	KUNIT_EXPECT_EQ(test, f->told[PCI_CLASS_REVISION / 4], 0x01080202u);
	KUNIT_EXPECT_EQ(test, f->told[PCI_SUBSYSTEM_VENDOR_ID / 4], 0x11001af4u);
	/* command, status, base registers, ROM, interrupt line and pin stay here */
	f->told[0] = 0;
	f->told[PCI_CLASS_REVISION / 4] = 0;
	f->told[PCI_SUBSYSTEM_VENDOR_ID / 4] = 0;
	for (i = 0; i < DEVLEND_CONFIG_DWORDS; i++)
		KUNIT_EXPECT_EQ_MSG(test, f->told[i], 0u, "dword %u", i);
}

static void config_refused(struct kunit *test)
{
	struct config_fixture *f = config_fixture(test);

	f->real[PCI_CACHE_LINE_SIZE / 4] |= PCI_HEADER_TYPE_BRIDGE << 16;
	KUNIT_EXPECT_EQ(test, config_filter(f), -EINVAL);
	f->real[0] = 0xffffffff;
	KUNIT_EXPECT_EQ(test, config_filter(f), -EIO);
}

/* First, middle and last capability hidden; what is told keeps its place and order. */
static void config_hidden(struct kunit *test)
{
	struct config_fixture *f = config_fixture(test);
	u8 ids[4];

	f->real[PCI_CAPABILITY_LIST / 4] = 0x40;
	config_std(f, 0x40, PCI_CAP_ID_VPD, 0x48, 0);
	config_std(f, 0x48, PCI_CAP_ID_PM, 0x50, 0xffff);
	f->real[0x4c / 4] = 0xffffffff;
	config_std(f, 0x50, PCI_CAP_ID_EA, 0x60, 0xffff);
	config_std(f, 0x60, PCI_CAP_ID_MSIX, 0x70,
		   PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL | 0x40);
	f->real[0x64 / 4] = 0x2003;
	f->real[0x68 / 4] = 0x3003;
	config_std(f, 0x70, PCI_CAP_ID_AF, 0, 0xffff);
	KUNIT_ASSERT_EQ(test, config_filter(f), 0);
	KUNIT_ASSERT_EQ(test, config_walk(f->told, ids, ARRAY_SIZE(ids)), 2);
	KUNIT_EXPECT_EQ(test, ids[0], (u8)PCI_CAP_ID_PM);
	KUNIT_EXPECT_EQ(test, ids[1], (u8)PCI_CAP_ID_MSIX);
	KUNIT_EXPECT_EQ(test, f->told[PCI_CAPABILITY_LIST / 4], 0x48u);
	/* no wake-up, D0, no reset on the way there */
	KUNIT_EXPECT_EQ(test, f->told[0x48 / 4] >> 16, 0x002fu);
	KUNIT_EXPECT_EQ(test, f->told[0x4c / 4], (u32)PCI_PM_CTRL_NO_SOFT_RESET);
	/* MSI-X: its size, not what is set */
	KUNIT_EXPECT_EQ(test, f->told[0x60 / 4] >> 16, 0x40u);
	KUNIT_EXPECT_EQ(test, f->told[0x64 / 4], 0x2003u);
	KUNIT_EXPECT_EQ(test, f->told[0x40 / 4] | f->told[0x50 / 4] | f->told[0x70 / 4], 0u);
}

/* A device whose chain is broken: loops, itself, into the header, over another. */
static void config_broken_chains(struct kunit *test)
{
	struct config_fixture *f = config_fixture(test);
	u8 ids[4];

	f->real[PCI_CAPABILITY_LIST / 4] = 0x40;
	config_std(f, 0x40, PCI_CAP_ID_PM, 0x50, 0);
	config_std(f, 0x50, PCI_CAP_ID_MSIX, 0x40, 0);
	KUNIT_ASSERT_EQ(test, config_filter(f), 0);
	KUNIT_EXPECT_EQ(test, config_walk(f->told, ids, ARRAY_SIZE(ids)), 2);

	config_std(f, 0x40, PCI_CAP_ID_VPD, 0x40, 0);
	KUNIT_ASSERT_EQ(test, config_filter(f), 0);
	KUNIT_EXPECT_EQ(test, config_walk(f->told, ids, ARRAY_SIZE(ids)), 0);

	config_std(f, 0x40, PCI_CAP_ID_PM, 0x10, 0);
	KUNIT_ASSERT_EQ(test, config_filter(f), 0);
	KUNIT_EXPECT_EQ(test, config_walk(f->told, ids, ARRAY_SIZE(ids)), 1);

	/* MSI-X in the middle of PM, and one that runs over the end */
	config_std(f, 0x40, PCI_CAP_ID_PM, 0x44, 0);
	config_std(f, 0x44, PCI_CAP_ID_MSIX, 0xfc, 0);
	config_std(f, 0xfc, PCI_CAP_ID_PM, 0, 0);
	KUNIT_ASSERT_EQ(test, config_filter(f), 0);
	KUNIT_ASSERT_EQ(test, config_walk(f->told, ids, ARRAY_SIZE(ids)), 1);
	KUNIT_EXPECT_EQ(test, ids[0], (u8)PCI_CAP_ID_PM);
}

/* MSI: what it can do, no address, no data, no mask; its length depends on that. */
static void config_msi(struct kunit *test)
{
	struct config_fixture *f = config_fixture(test);
	unsigned int i;

	f->real[PCI_CAPABILITY_LIST / 4] = 0x40;
	for (i = 0x44; i < 0x60; i += 4)
		f->real[i / 4] = 0xffffffff;
	config_std(f, 0x40, PCI_CAP_ID_MSI, 0, 0xffff);
	KUNIT_ASSERT_EQ(test, config_filter(f), 0);
	KUNIT_EXPECT_EQ(test, f->told[0x40 / 4] >> 16,
			(u32)(PCI_MSI_FLAGS_QMASK | PCI_MSI_FLAGS_64BIT | PCI_MSI_FLAGS_MASKBIT));
	for (i = 0x44; i < 0x60; i += 4)
		KUNIT_EXPECT_EQ(test, f->told[i / 4], 0u);
}

/* A vendor capability says its own length, and it may lie. */
static void config_vendor(struct kunit *test)
{
	struct config_fixture *f = config_fixture(test);
	unsigned int i;

	f->real[PCI_CAPABILITY_LIST / 4] = 0x40;
	for (i = 0x40; i < 0x100; i += 4)
		f->real[i / 4] = 0x5a5a5a5a;
	config_std(f, 0x40, PCI_CAP_ID_VNDR, 0, 0x0110);
	KUNIT_ASSERT_EQ(test, config_filter(f), 0);
	KUNIT_EXPECT_EQ(test, f->told[0x40 / 4], 0x01100009u);
	KUNIT_EXPECT_EQ(test, f->told[0x4c / 4], 0x5a5a5a5au);
	KUNIT_EXPECT_EQ(test, f->told[0x50 / 4], 0u);

	config_std(f, 0x40, PCI_CAP_ID_VNDR, 0, 0x01ff);
	KUNIT_ASSERT_EQ(test, config_filter(f), 0);
	KUNIT_EXPECT_EQ(test, f->told[0x7c / 4], 0x5a5a5a5au);
	KUNIT_EXPECT_EQ(test, f->told[0x80 / 4], 0u);
}

/* The extended chain starts at 0x100, whatever is told of it. */
static void config_extended(struct kunit *test)
{
	struct config_fixture *f = config_fixture(test);

	config_ext(f, 0x100, PCI_EXT_CAP_ID_ERR, 0x150);
	f->real[0x104 / 4] = 0xffffffff;
	config_ext(f, 0x150, PCI_EXT_CAP_ID_SRIOV, 0x200);
	config_ext(f, 0x200, PCI_EXT_CAP_ID_DSN, 0x300);
	f->real[0x204 / 4] = 0x11223344;
	f->real[0x208 / 4] = 0x55667788;
	config_ext(f, 0x300, PCI_EXT_CAP_ID_REBAR, 0x100);
	KUNIT_ASSERT_EQ(test, config_filter(f), 0);
	KUNIT_EXPECT_EQ(test, f->told[0x100 / 4], 0x20000000u);
	KUNIT_EXPECT_EQ(test, f->told[0x104 / 4], 0u);
	KUNIT_EXPECT_EQ(test, f->told[0x150 / 4], 0u);
	KUNIT_EXPECT_EQ(test, f->told[0x200 / 4], 0x00010003u);
	KUNIT_EXPECT_EQ(test, f->told[0x204 / 4], 0x11223344u);
	KUNIT_EXPECT_EQ(test, f->told[0x208 / 4], 0x55667788u);
	KUNIT_EXPECT_EQ(test, f->told[0x300 / 4], 0u);

	/* told at 0x100 itself, and nothing told at all */
	config_ext(f, 0x100, PCI_EXT_CAP_ID_DSN, 0x150);
	config_ext(f, 0x150, PCI_EXT_CAP_ID_ATS, 0);
	KUNIT_ASSERT_EQ(test, config_filter(f), 0);
	KUNIT_EXPECT_EQ(test, f->told[0x100 / 4], 0x00010003u);
	config_ext(f, 0x100, PCI_EXT_CAP_ID_ACS, 0x150);
	KUNIT_ASSERT_EQ(test, config_filter(f), 0);
	KUNIT_EXPECT_EQ(test, f->told[0x100 / 4], 0u);
}

/* A device with 256 bytes has no more, whatever lies behind. */
static void config_short_space(struct kunit *test)
{
	struct config_fixture *f = config_fixture(test);

	config_ext(f, 0x100, PCI_EXT_CAP_ID_DSN, 0);
	f->real[0x104 / 4] = 1;
	KUNIT_ASSERT_EQ(test, lender_config_filter(f->real, FILTER_STD_BYTES, true, f->told), 0);
	KUNIT_EXPECT_EQ(test, f->told[0x100 / 4], 0u);
}

/* All bits random: no crash, chains that end, and nothing but told capabilities in them. */
static void config_random(struct kunit *test)
{
	struct config_fixture *f = config_fixture(test);
	unsigned int round, i;
	u32 seed = 1;
	u8 ids[64];

	for (round = 0; round < 200; round++) {
		int n;

		for (i = 1; i < DEVLEND_CONFIG_DWORDS; i++) {
			seed = seed * 1664525 + 1013904223;
			f->real[i] = seed ^ seed >> 13;
		}
		f->real[PCI_CACHE_LINE_SIZE / 4] &= ~(PCI_HEADER_TYPE_MASK << 16);
		f->real[PCI_COMMAND / 4] |= PCI_STATUS_CAP_LIST << 16;
		KUNIT_ASSERT_EQ(test, config_filter(f), 0);
		n = config_walk(f->told, ids, ARRAY_SIZE(ids));
		KUNIT_ASSERT_GE(test, n, 0);
		while (n--)
			KUNIT_ASSERT_NOT_NULL(test, filter_find(filter_std, ARRAY_SIZE(filter_std),
								ids[n]));
	}
}

/* Unpack as the wire format says. */
static void config_decode(struct kunit *test, struct config_fixture *f, int n)
{
	int i = 0;

	memset(f->back, 0, sizeof(f->back));
	while (i < n) {
		u32 head = le32_to_cpu(f->wire[i++]), first = head & 0xffff, count = head >> 16;

		KUNIT_ASSERT_GT(test, count, 0u);
		KUNIT_ASSERT_LE(test, first + count, (u32)DEVLEND_CONFIG_DWORDS);
		while (count--)
			f->back[first++] = le32_to_cpu(f->wire[i++]);
	}
	KUNIT_ASSERT_EQ(test, i, n);
}

static void config_encode_round_trip(struct kunit *test)
{
	struct config_fixture *f = config_fixture(test);
	int n;

	f->told[0] = 1;
	f->told[1] = 2;
	/* one zero: the same run; two: another */
	f->told[3] = 3;
	f->told[6] = 4;
	f->told[DEVLEND_CONFIG_DWORDS - 1] = 5;
	n = lender_config_encode(f->told, f->wire, ARRAY_SIZE(f->wire));
	KUNIT_ASSERT_EQ(test, n, 1 + 4 + 1 + 1 + 1 + 1);
	config_decode(test, f, n);
	KUNIT_EXPECT_MEMEQ(test, f->back, f->told, sizeof(f->told));
	KUNIT_EXPECT_EQ(test, lender_config_encode(f->told, f->wire, n), n);
	KUNIT_EXPECT_EQ(test, lender_config_encode(f->told, f->wire, n - 1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, lender_config_encode(f->told, f->wire, 0), -ENOSPC);
}

static void config_encode_extremes(struct kunit *test)
{
	struct config_fixture *f = config_fixture(test);
	int n;

	KUNIT_EXPECT_EQ(test, lender_config_encode(f->told, f->wire, 0), 0);
	memset(f->told, 0xff, sizeof(f->told));
	n = lender_config_encode(f->told, f->wire, ARRAY_SIZE(f->wire));
	KUNIT_ASSERT_EQ(test, n, DEVLEND_CONFIG_DWORDS + 1);
	config_decode(test, f, n);
	KUNIT_EXPECT_MEMEQ(test, f->back, f->told, sizeof(f->told));
}

/* A reset that this host would refuse is not told; nothing else of the register changes. */
static void config_no_flr(struct kunit *test)
{
	struct config_fixture *f = config_fixture(test);
	const unsigned int devcap = 0x40 + PCI_EXP_DEVCAP;

	f->real[PCI_CAPABILITY_LIST / 4] = 0x40;
	config_std(f, 0x40, PCI_CAP_ID_EXP, 0, 2);
	f->real[devcap / 4] = 0xffffffff;
	KUNIT_ASSERT_EQ(test, config_filter(f), 0);
	KUNIT_EXPECT_EQ(test, f->told[devcap / 4], 0xffffffffu);
	KUNIT_ASSERT_EQ(test, lender_config_filter(f->real, FILTER_ALL_BYTES, false, f->told), 0);
	KUNIT_EXPECT_EQ(test, f->told[devcap / 4], ~PCI_EXP_DEVCAP_FLR);
}

static struct kunit_case config_cases[] = {
	KUNIT_CASE(config_header),
	KUNIT_CASE(config_refused),
	KUNIT_CASE(config_no_flr),
	KUNIT_CASE(config_hidden),
	KUNIT_CASE(config_broken_chains),
	KUNIT_CASE(config_msi),
	KUNIT_CASE(config_vendor),
	KUNIT_CASE(config_extended),
	KUNIT_CASE(config_short_space),
	KUNIT_CASE(config_random),
	KUNIT_CASE(config_encode_round_trip),
	KUNIT_CASE(config_encode_extremes),
	{}
};

static struct kunit_suite config_suite = {
	.name = "devlend-lender-config",
	.test_cases = config_cases,
};

kunit_test_suite(config_suite);
