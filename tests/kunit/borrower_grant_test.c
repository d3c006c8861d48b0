// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of borrower/grant.c: what a lender may say, and what not. Each case starts from a
 * grant that is right and breaks one thing.
 */
#include <kunit/test.h>

#include "../../borrower/grant.c"

#define GRANT_EPOCH	0x1234u

struct grant_fixture {
	struct devlend_wire_offer offer;
	struct devlend_wire_grant wire;
	struct devlend_aperture aperture[2];
};

static void grant_bar(struct grant_fixture *f, int i, u64 size, u32 flags, u64 lender_bus,
		      u32 window, u64 offset)
{
	f->offer.bar[i].size = cpu_to_le64(size);
	f->offer.bar[i].flags = cpu_to_le32(flags);
	f->wire.bar[i].size = cpu_to_le64(size);
	f->wire.bar[i].flags = cpu_to_le32(flags);
	f->wire.bar[i].lender_bus = cpu_to_le64(lender_bus);
	f->wire.bar[i].window = cpu_to_le32(window);
	f->wire.bar[i].offset = cpu_to_le64(offset);
}

/* A drive with a 64-bit BAR 0, and a 32-bit BAR 2 in the same window. */
static struct grant_fixture *grant_fixture(struct kunit *test)
{
	struct grant_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->offer.id.generation = cpu_to_le32(1);
	f->offer.state = cpu_to_le32(DEVLEND_OFFER_AVAILABLE);
	f->offer.vendor = cpu_to_le16(0x1b36);
	f->offer.msix_vectors = cpu_to_le16(65);
	f->aperture[0] = (struct devlend_aperture){ 0x3800000000ull, SZ_1M, 2 };
	f->aperture[1] = (struct devlend_aperture){ 0x3900000000ull, SZ_64K, 4 };
	grant_bar(f, 0, SZ_16K, DEVLEND_BAR_64, 0xfe800000, 0, 0);
	grant_bar(f, 2, SZ_4K, 0, 0xfe804000, 0, SZ_16K);
	f->wire.handle.epoch = cpu_to_le32(GRANT_EPOCH);
	f->wire.handle.random = cpu_to_le32(7);
	f->wire.msix_bar = 0;
	f->wire.msix_offset = cpu_to_le32(0x2000);
	f->wire.mrrs = cpu_to_le16(512);
	f->wire.mps = cpu_to_le16(128);
	return f;
}

static int grant_parse(struct grant_fixture *f, struct borrower_grant *out)
{
	const char *why;
	int err;

	err = borrower_grant_parse(&f->offer, &f->wire, f->aperture, ARRAY_SIZE(f->aperture),
				   GRANT_EPOCH, out, &why);
	return !err == !why ? err : -EDOM;
}

#define GRANT_EXPECT(_err)						\
do {									\
	struct borrower_grant _out;					\
									\
	KUNIT_EXPECT_EQ(test, grant_parse(f, &_out), _err);		\
} while (0)

static void grant_accepts(struct kunit *test)
{
	struct grant_fixture *f = grant_fixture(test);
	struct borrower_grant out;
	const char *why;

	KUNIT_EXPECT_TRUE(test, borrower_offer_valid(&f->offer, &why));
	KUNIT_ASSERT_EQ(test, grant_parse(f, &out), 0);
	KUNIT_EXPECT_EQ(test, out.bar[0].cpu_phys, 0x3800000000ull);
	KUNIT_EXPECT_EQ(test, out.bar[2].cpu_phys, 0x3800004000ull);
	KUNIT_EXPECT_EQ(test, out.bar[2].lender_bus, 0xfe804000ull);
	KUNIT_EXPECT_EQ(test, out.bar[1].size, 0ull);
	KUNIT_EXPECT_EQ(test, out.handle.random, 7u);
	KUNIT_EXPECT_EQ(test, out.msix_offset, 0x2000u);
}

static void grant_handle(struct kunit *test)
{
	struct grant_fixture *f = grant_fixture(test);

	f->wire.handle.random = 0;
	GRANT_EXPECT(-EPROTO);
	f->wire.handle.random = cpu_to_le32(7);
	f->wire.handle.epoch = cpu_to_le32(GRANT_EPOCH + 1);
	GRANT_EXPECT(-EPROTO);
}

static void grant_bad_handle_is_kept(struct kunit *test)
{
	struct grant_fixture *f = grant_fixture(test);
	struct borrower_grant out;

	f->wire.bar[0].window = cpu_to_le32(2);
	KUNIT_EXPECT_EQ(test, grant_parse(f, &out), -EPROTO);
	KUNIT_EXPECT_EQ(test, out.handle.random, 7u);
}

static void grant_size_differs(struct kunit *test)
{
	struct grant_fixture *f = grant_fixture(test);

	f->wire.bar[0].size = cpu_to_le64(SZ_32K);
	GRANT_EXPECT(-EPROTO);
	f->wire.bar[0].size = 0;
	GRANT_EXPECT(-EPROTO);
	f->wire.bar[0].size = cpu_to_le64(SZ_16K);
	f->wire.bar[4].size = cpu_to_le64(SZ_4K);
	GRANT_EXPECT(-EPROTO);
}

static void grant_flags_differ(struct kunit *test)
{
	struct grant_fixture *f = grant_fixture(test);

	f->wire.bar[0].flags = 0;
	GRANT_EXPECT(-EPROTO);
}

static void grant_outside_aperture(struct kunit *test)
{
	struct grant_fixture *f = grant_fixture(test);

	f->wire.bar[0].offset = cpu_to_le64(SZ_1M - SZ_16K + 16);
	GRANT_EXPECT(-EPROTO);
	f->wire.bar[0].offset = cpu_to_le64(U64_MAX - 4095);
	GRANT_EXPECT(-EPROTO);
	f->wire.bar[0].offset = 0;
	f->wire.bar[0].window = cpu_to_le32(2);
	GRANT_EXPECT(-EPROTO);
}

static void grant_larger_than_aperture(struct kunit *test)
{
	struct grant_fixture *f = grant_fixture(test);

	/* apart from the other BAR, so that nothing else is wrong with it */
	grant_bar(f, 0, SZ_64K, DEVLEND_BAR_64, 0x4000000000ull, 1, 0);
	GRANT_EXPECT(0);
	grant_bar(f, 0, SZ_128K, DEVLEND_BAR_64, 0x4000000000ull, 1, 0);
	GRANT_EXPECT(-EPROTO);
}

static void grant_misaligned(struct kunit *test)
{
	struct grant_fixture *f = grant_fixture(test);

	f->wire.bar[0].lender_bus = cpu_to_le64(0xfe801000);
	GRANT_EXPECT(-EPROTO);
}

static void grant_32bit_above_4g(struct kunit *test)
{
	struct grant_fixture *f = grant_fixture(test);

	grant_bar(f, 0, SZ_16K, DEVLEND_BAR_64, 0x1fe800000ull, 0, 0);
	f->wire.bar[2].lender_bus = cpu_to_le64(0x1fe804000ull);
	GRANT_EXPECT(-EPROTO);
}

static void grant_overlapping(struct kunit *test)
{
	struct grant_fixture *f = grant_fixture(test);

	/* both sides */
	f->wire.bar[2].offset = cpu_to_le64(SZ_8K);
	f->wire.bar[2].lender_bus = cpu_to_le64(0xfe802000);
	GRANT_EXPECT(-EPROTO);
	/* the lender's side only, through another window */
	f->wire.bar[2].window = cpu_to_le32(1);
	f->wire.bar[2].offset = 0;
	GRANT_EXPECT(-EPROTO);
}

/* Behind a lender's IOMMU BARs lie in another order, and further apart, than on their bus. */
static void grant_offsets_differ(struct kunit *test)
{
	struct grant_fixture *f = grant_fixture(test);

	f->wire.bar[2].offset = cpu_to_le64(SZ_32K);
	GRANT_EXPECT(0);
	f->wire.bar[2].offset = cpu_to_le64(SZ_8K);
	GRANT_EXPECT(-EPROTO);
	f->wire.bar[2].window = cpu_to_le32(1);
	f->wire.bar[2].offset = cpu_to_le64(SZ_8K);
	GRANT_EXPECT(0);
}

static void grant_msix_table(struct kunit *test)
{
	struct grant_fixture *f = grant_fixture(test);

	f->wire.msix_offset = cpu_to_le32(SZ_16K - 65 * 16 + 8);
	GRANT_EXPECT(-EPROTO);
	f->wire.msix_offset = cpu_to_le32(0x2004);
	GRANT_EXPECT(-EPROTO);
	f->wire.msix_offset = cpu_to_le32(SZ_16K - 65 * 16);
	GRANT_EXPECT(0);
	f->wire.msix_bar = 1;
	GRANT_EXPECT(-EPROTO);
	f->wire.msix_bar = 6;
	GRANT_EXPECT(-EPROTO);
	f->wire.msix_bar = BORROWER_NO_BAR;
	GRANT_EXPECT(0);
}

static void grant_packet_sizes(struct kunit *test)
{
	struct grant_fixture *f = grant_fixture(test);

	f->wire.mrrs = cpu_to_le16(384);
	GRANT_EXPECT(-EPROTO);
	f->wire.mrrs = 0;
	f->wire.mps = 0;
	GRANT_EXPECT(0);
	f->wire.rom_size = cpu_to_le32(SZ_64K);
	GRANT_EXPECT(-EPROTO);
}

static void grant_io_bar_is_not_exported(struct kunit *test)
{
	struct grant_fixture *f = grant_fixture(test);
	const char *why;

	f->offer.bar[4].size = cpu_to_le64(32);
	f->offer.bar[4].flags = cpu_to_le32(DEVLEND_BAR_IO);
	KUNIT_EXPECT_TRUE(test, borrower_offer_valid(&f->offer, &why));
	GRANT_EXPECT(0);
	f->wire.bar[4].size = cpu_to_le64(32);
	GRANT_EXPECT(-EPROTO);
}

static void offer_refuses(struct kunit *test)
{
	const char *why;
	struct grant_fixture *f;

#define OFFER_REFUSES(_break)						\
do {									\
	f = grant_fixture(test);					\
	_break;								\
	KUNIT_EXPECT_FALSE(test, borrower_offer_valid(&f->offer, &why)); \
	KUNIT_EXPECT_NOT_NULL(test, why);				\
} while (0)
	OFFER_REFUSES(f->offer.state = 0);
	OFFER_REFUSES(f->offer.state = cpu_to_le32(6));
	OFFER_REFUSES(f->offer.id.generation = 0);
	OFFER_REFUSES(f->offer.vendor = 0);
	OFFER_REFUSES(f->offer.vendor = cpu_to_le16(0xffff));
	OFFER_REFUSES(f->offer.msi_vectors = cpu_to_le16(3));
	OFFER_REFUSES(f->offer.msi_vectors = cpu_to_le16(64));
	OFFER_REFUSES(f->offer.msix_vectors = cpu_to_le16(2049));
	OFFER_REFUSES(f->offer.mps = cpu_to_le16(200));
	OFFER_REFUSES(f->offer.iommu_width = cpu_to_le16(65));
	OFFER_REFUSES(f->offer.bar[0].size = cpu_to_le64(SZ_16K + 1));
	OFFER_REFUSES(f->offer.bar[0].size = cpu_to_le64(8));
	OFFER_REFUSES(f->offer.bar[0].flags = cpu_to_le32(1u << 8));
	OFFER_REFUSES(f->offer.bar[1].size = cpu_to_le64(SZ_4K));
	OFFER_REFUSES(grant_bar(f, 5, SZ_4K, DEVLEND_BAR_64, 0, 0, 0));
	OFFER_REFUSES(grant_bar(f, 3, SZ_4G, 0, 0, 0, 0));
#undef OFFER_REFUSES
}

static struct kunit_case grant_cases[] = {
	KUNIT_CASE(grant_accepts),
	KUNIT_CASE(grant_handle),
	KUNIT_CASE(grant_bad_handle_is_kept),
	KUNIT_CASE(grant_size_differs),
	KUNIT_CASE(grant_flags_differ),
	KUNIT_CASE(grant_outside_aperture),
	KUNIT_CASE(grant_larger_than_aperture),
	KUNIT_CASE(grant_misaligned),
	KUNIT_CASE(grant_32bit_above_4g),
	KUNIT_CASE(grant_overlapping),
	KUNIT_CASE(grant_offsets_differ),
	KUNIT_CASE(grant_msix_table),
	KUNIT_CASE(grant_packet_sizes),
	KUNIT_CASE(grant_io_bar_is_not_exported),
	KUNIT_CASE(offer_refuses),
	{}
};

static struct kunit_suite grant_suite = {
	.name = "devlend-borrower-grant",
	.test_cases = grant_cases,
};

kunit_test_suite(grant_suite);
