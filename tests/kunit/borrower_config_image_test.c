// SPDX-License-Identifier: GPL-2.0
/* KUnit suite of borrower/config_image.c: hostile runs, the header, sizing of BARs. */
#include "borrower_config_fixture.h"

#include "../../borrower/config_image.c"

static int image_decode(struct kunit *test, const u32 *words, unsigned int n, size_t len)
{
	u8 *raw = kunit_kzalloc(test, BORROWER_CONFIG_SIZE, GFP_KERNEL);
	__le32 *runs = kunit_kcalloc(test, n + 1, sizeof(*runs), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, raw);
	KUNIT_ASSERT_NOT_NULL(test, runs);
	for (i = 0; i < n; i++)
		runs[i] = cpu_to_le32(words[i]);
	return borrower_config_decode(runs, len, raw);
}

#define IMAGE_EXPECT(_err, ...)							\
do {										\
	const u32 _words[] = { __VA_ARGS__ };					\
										\
	KUNIT_EXPECT_EQ(test, image_decode(test, _words, ARRAY_SIZE(_words),	\
					   sizeof(_words)), _err);		\
} while (0)

static void runs_are_unpacked(struct kunit *test)
{
	u8 *raw = kunit_kmalloc(test, BORROWER_CONFIG_SIZE, GFP_KERNEL);
	__le32 runs[] = {
		cpu_to_le32(DEVLEND_CONFIG_RUN(0, 2)), cpu_to_le32(1), cpu_to_le32(2),
		cpu_to_le32(DEVLEND_CONFIG_RUN(1023, 1)), cpu_to_le32(0x11223344),
	};

	KUNIT_ASSERT_NOT_NULL(test, raw);
	memset(raw, 0xaa, BORROWER_CONFIG_SIZE);
	KUNIT_ASSERT_EQ(test, borrower_config_decode(runs, sizeof(runs), raw), 0);
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(raw), 1u);
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(raw + 4), 2u);
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(raw + 8), 0u);
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(raw + 4088), 0u);
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(raw + 4092), 0x11223344u);
	KUNIT_EXPECT_EQ(test, borrower_config_decode(NULL, 0, raw), 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(raw, 0, BORROWER_CONFIG_SIZE));
}

static void hostile_runs_are_refused(struct kunit *test)
{
	IMAGE_EXPECT(0, DEVLEND_CONFIG_RUN(0, 1), 1, DEVLEND_CONFIG_RUN(1, 1), 2);
	/* nothing in it */
	IMAGE_EXPECT(-EPROTO, DEVLEND_CONFIG_RUN(0, 0));
	IMAGE_EXPECT(-EPROTO, DEVLEND_CONFIG_RUN(0, 1), 1, DEVLEND_CONFIG_RUN(5, 0));
	/* overlap, the same again, backwards */
	IMAGE_EXPECT(-EPROTO, DEVLEND_CONFIG_RUN(0, 2), 1, 2, DEVLEND_CONFIG_RUN(1, 1), 3);
	IMAGE_EXPECT(-EPROTO, DEVLEND_CONFIG_RUN(4, 1), 1, DEVLEND_CONFIG_RUN(4, 1), 2);
	IMAGE_EXPECT(-EPROTO, DEVLEND_CONFIG_RUN(4, 1), 1, DEVLEND_CONFIG_RUN(0, 1), 2);
	/* beyond the end */
	IMAGE_EXPECT(-EPROTO, DEVLEND_CONFIG_RUN(1024, 1), 1);
	IMAGE_EXPECT(-EPROTO, DEVLEND_CONFIG_RUN(1023, 2), 1, 2);
	IMAGE_EXPECT(-EPROTO, DEVLEND_CONFIG_RUN(0xffff, 1), 1);
	IMAGE_EXPECT(-EPROTO, DEVLEND_CONFIG_RUN(1, 0xffffu), 1);
	IMAGE_EXPECT(-EPROTO, 0xffffffffu);
	/* less than was said */
	IMAGE_EXPECT(-EPROTO, DEVLEND_CONFIG_RUN(0, 2), 1);
	IMAGE_EXPECT(-EPROTO, DEVLEND_CONFIG_RUN(0, 1));
}

static void odd_lengths_are_refused(struct kunit *test)
{
	const u32 words[] = { DEVLEND_CONFIG_RUN(0, 1), 1, 0 };
	size_t len;

	for (len = 0; len <= sizeof(words); len++)
		KUNIT_EXPECT_EQ(test, image_decode(test, words, ARRAY_SIZE(words), len),
				len == 0 || len == 8 ? 0 : -EPROTO);
}

static void header_is_the_shadows_own(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);

	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_VENDOR_ID), 0x00101b36u);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_COMMAND), (u32)PCI_STATUS_CAP_LIST << 16);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_CLASS_REVISION), 0x01080202u);
	/* no self-test, one function, an endpoint */
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_CACHE_LINE_SIZE), 0u);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_BASE_ADDRESS_0), 0xfe800004u);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_BASE_ADDRESS_1), 0u);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_BASE_ADDRESS_2), 0xfe804000u);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_BASE_ADDRESS_3), 0u);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_BASE_ADDRESS_4), 0x0000000cu);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_BASE_ADDRESS_5), 0x38u);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_CARDBUS_CIS), 0u);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_SUBSYSTEM_VENDOR_ID), 0x11001af4u);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_ROM_ADDRESS), 0u);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_CAPABILITY_LIST), (u32)FIX_PM);
	/* no pin */
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_INTERRUPT_LINE), 0u);
}

static void bridges_are_refused(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);
	u8 type;

	for (type = 1; type < 0x80; type++) {
		f->raw[PCI_HEADER_TYPE] = type;
		KUNIT_EXPECT_EQ(test, fix_setup(f), -EPROTO);
	}
}

static void ide_is_native(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	fix_put(f, PCI_CLASS_REVISION, 4, 0x01018a02);
	KUNIT_ASSERT_EQ(test, fix_setup(f), 0);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_CLASS_REVISION), 0x01018f02u);
}

/* What the PCI core does to find a size: all ones, read, put back. */
static void image_size(struct kunit *test, struct config_fixture *f, unsigned int bar, u32 mask)
{
	unsigned int where = PCI_BASE_ADDRESS_0 + 4 * bar;
	u32 old = borrower_config_read(&f->cfg, where, 4);

	borrower_config_write(&f->cfg, where, 4, ~0u);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, where, 4), mask);
	borrower_config_write(&f->cfg, where, 4, old);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, where, 4), old);
}

static const u32 image_masks[DEVLEND_BARS] = {
	0xffffc004, 0xffffffff, 0xfffff000, 0, 0x0000000c, 0xfffffffe,
};

static void bars_are_sized_one_by_one(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);
	unsigned int a, b;

	for (a = 0; a < DEVLEND_BARS; a++)
		for (b = 0; b < DEVLEND_BARS; b++) {
			image_size(test, f, a, image_masks[a]);
			image_size(test, f, b, image_masks[b]);
		}
	KUNIT_EXPECT_EQ(test, f->posts, 0u);
	KUNIT_EXPECT_EQ(test, memcmp(f->cfg.image, f->cfg.initial, BORROWER_CONFIG_SIZE), 0);
}

/* All at once, written and put back in each rotation, both ways. */
static void bars_are_sized_in_any_order(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);
	u32 old[DEVLEND_BARS];
	unsigned int first, i, k;
	int step;

	for (first = 0; first < DEVLEND_BARS; first++) {
		for (step = 1; step < DEVLEND_BARS; step += DEVLEND_BARS - 2) {
			for (i = 0, k = first; i < DEVLEND_BARS; i++) {
				old[k] = fix_get32(f, PCI_BASE_ADDRESS_0 + 4 * k);
				borrower_config_write(&f->cfg, PCI_BASE_ADDRESS_0 + 4 * k, 4, ~0u);
				k = (k + step) % DEVLEND_BARS;
			}
			for (i = 0; i < DEVLEND_BARS; i++)
				KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_BASE_ADDRESS_0 + 4 * i),
						image_masks[i]);
			for (i = 0, k = first; i < DEVLEND_BARS; i++) {
				borrower_config_write(&f->cfg, PCI_BASE_ADDRESS_0 + 4 * k, 4,
						      old[k]);
				k = (k + step) % DEVLEND_BARS;
			}
		}
	}
	KUNIT_EXPECT_EQ(test, memcmp(f->cfg.image, f->cfg.initial, BORROWER_CONFIG_SIZE), 0);
}

/* In bytes, from either end. */
static void bars_are_sized_in_bytes(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);
	unsigned int where;

	for (where = PCI_BASE_ADDRESS_0; where < PCI_CARDBUS_CIS; where++)
		borrower_config_write(&f->cfg, where, 1, 0xff);
	for (where = 0; where < DEVLEND_BARS; where++)
		KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_BASE_ADDRESS_0 + 4 * where),
				image_masks[where]);
	for (where = PCI_CARDBUS_CIS; where-- > PCI_BASE_ADDRESS_0; )
		borrower_config_write(&f->cfg, where, 1, 0);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_BASE_ADDRESS_0), 4u);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_BASE_ADDRESS_5), 0u);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_BASE_ADDRESS_4), 0xcu);
}

static struct kunit_case image_cases[] = {
	KUNIT_CASE(runs_are_unpacked),
	KUNIT_CASE(hostile_runs_are_refused),
	KUNIT_CASE(odd_lengths_are_refused),
	KUNIT_CASE(header_is_the_shadows_own),
	KUNIT_CASE(bridges_are_refused),
	KUNIT_CASE(ide_is_native),
	KUNIT_CASE(bars_are_sized_one_by_one),
	KUNIT_CASE(bars_are_sized_in_any_order),
	KUNIT_CASE(bars_are_sized_in_bytes),
	{}
};

static struct kunit_suite image_suite = {
	.name = "devlend-borrower-config-image",
	.test_cases = image_cases,
};

kunit_test_suite(image_suite);
