/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the suites of borrower/config*.c share: a made-up device as a lender tells it, its grant,
 * and a way to the lender that writes down what it is asked.
 *
 * The device: PM at 0x40, MSI (64 bits, masks, 4 messages) at 0x50, a vendor capability at 0x70,
 * PCI Express version 2 with FLR at 0x80, MSI-X (8 entries) at 0xc0, one that nobody knows at
 * 0xd0; extended: AER at 0x100, serial number at 0x150, SR-IOV at 0x160. BAR 0: 64 bits, 16 KiB;
 * BAR 2: 32 bits, 4 KiB; BAR 4: 64 bits, 8 GiB.
 */
#ifndef BORROWER_CONFIG_FIXTURE_H
#define BORROWER_CONFIG_FIXTURE_H

#include <kunit/test.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include <devlend/compat.h>

#include "../../borrower/config.h"
#include "../../borrower/grant.h"

#define FIX_PM		0x40
#define FIX_MSI		0x50
#define FIX_VENDOR	0x70
#define FIX_EXP		0x80
#define FIX_MSIX	0xc0
#define FIX_UNKNOWN	0xd0
#define FIX_AER		0x100
#define FIX_DSN		0x150
#define FIX_SRIOV	0x160

#define FIX_BAR4	0x3800000000ull
#define FIX_LOG_MAX	64

/* posts are accepted while @room is not 0; then -ENOBUFS. @post_err: of all posts, if set */
struct config_fixture {
	struct borrower_config cfg;
	struct borrower_grant grant;
	u8 raw[BORROWER_CONFIG_SIZE];
	__le32 runs[1 + DEVLEND_CONFIG_DWORDS];
	u8 op[FIX_LOG_MAX];
	u32 arg[FIX_LOG_MAX];
	unsigned int posts;
	unsigned int room;
	int post_err;
	int flush_err;
	unsigned int flushes;
	unsigned int laters;
};

static inline int fix_post(void *ctx, u8 op, u32 arg)
{
	struct config_fixture *f = ctx;

	if (f->post_err)
		return f->post_err;
	if (!f->room || f->posts == FIX_LOG_MAX)
		return -ENOBUFS;
	f->room--;
	f->op[f->posts] = op;
	f->arg[f->posts++] = arg;
	return 0;
}

static inline int fix_flush(void *ctx)
{
	struct config_fixture *f = ctx;

	f->flushes++;
	return f->flush_err;
}

static inline void fix_later(void *ctx)
{
	struct config_fixture *f = ctx;

	f->laters++;
}

static inline void fix_put(struct config_fixture *f, unsigned int where, unsigned int size,
			   u32 value)
{
	for (; size--; value >>= 8)
		f->raw[where++] = value;
}

static inline void fix_cap(struct config_fixture *f, unsigned int pos, u8 id, unsigned int next,
			   u16 word)
{
	fix_put(f, pos, 4, id | next << 8 | (u32)word << 16);
}

static inline void fix_ext(struct config_fixture *f, unsigned int pos, u16 id, unsigned int next)
{
	fix_put(f, pos, 4, id | 1u << 16 | (u32)next << 20);
}

static inline void fix_caps(struct config_fixture *f)
{
	fix_put(f, PCI_STATUS, 2, 0xffff);
	fix_put(f, PCI_CAPABILITY_LIST, 1, FIX_PM);
	fix_cap(f, FIX_PM, PCI_CAP_ID_PM, FIX_MSI, 0xffff);
	fix_put(f, FIX_PM + 4, 4, ~0u);
	fix_cap(f, FIX_MSI, PCI_CAP_ID_MSI, FIX_VENDOR,
		PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_64BIT | PCI_MSI_FLAGS_MASKBIT | 2 << 1);
	memset(f->raw + FIX_MSI + 4, 0xff, 20);
	fix_cap(f, FIX_VENDOR, PCI_CAP_ID_VNDR, FIX_EXP, 0xab08);
	fix_put(f, FIX_VENDOR + 4, 4, 0x12345678);
	memset(f->raw + FIX_EXP + 4, 0xff, 0x38);
	fix_cap(f, FIX_EXP, PCI_CAP_ID_EXP, FIX_MSIX, 0xff02);
	fix_put(f, FIX_EXP + PCI_EXP_FLAGS, 2, 2 | PCI_EXP_TYPE_ENDPOINT << 4);
	fix_put(f, FIX_EXP + PCI_EXP_DEVCTL, 2, 0x2810);
	fix_cap(f, FIX_MSIX, PCI_CAP_ID_MSIX, FIX_UNKNOWN, PCI_MSIX_FLAGS_ENABLE | 7);
	fix_put(f, FIX_MSIX + PCI_MSIX_TABLE, 4, 0x2000);
	fix_put(f, FIX_MSIX + PCI_MSIX_PBA, 4, 0x3000);
	fix_cap(f, FIX_UNKNOWN, 0x33, 0, 0xffff);

	fix_ext(f, FIX_AER, PCI_EXT_CAP_ID_ERR, FIX_DSN);
	memset(f->raw + FIX_AER + 4, 0xff, 0x40);
	fix_ext(f, FIX_DSN, PCI_EXT_CAP_ID_DSN, FIX_SRIOV);
	fix_put(f, FIX_DSN + 4, 4, 0xcafe0001);
	fix_put(f, FIX_DSN + 8, 4, 0xcafe0002);
	fix_ext(f, FIX_SRIOV, PCI_EXT_CAP_ID_SRIOV, 0);
	memset(f->raw + FIX_SRIOV + 4, 0xff, 0x3c);
}

/* The device as told, and as granted; cfg is zero. */
static inline struct config_fixture *fix_new(struct kunit *test)
{
	struct config_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->room = FIX_LOG_MAX;
	fix_put(f, PCI_VENDOR_ID, 4, 0x00101b36);
	fix_put(f, PCI_COMMAND, 2, 0xffff);
	fix_put(f, PCI_CLASS_REVISION, 4, 0x01080202);
	fix_put(f, PCI_CACHE_LINE_SIZE, 4, 0xff800000);
	memset(f->raw + PCI_BASE_ADDRESS_0, 0xff, 0x1c);
	fix_put(f, PCI_SUBSYSTEM_VENDOR_ID, 4, 0x11001af4);
	fix_put(f, PCI_ROM_ADDRESS, 4, ~0u);
	fix_put(f, PCI_INTERRUPT_LINE, 4, ~0u);
	fix_caps(f);
	f->grant.handle.random = 7;
	f->grant.bar[0] = (struct borrower_bar) {
		.lender_bus = 0xfe800000, .size = SZ_16K, .flags = DEVLEND_BAR_64,
	};
	f->grant.bar[2] = (struct borrower_bar){ .lender_bus = 0xfe804000, .size = SZ_4K };
	f->grant.bar[4] = (struct borrower_bar) {
		.lender_bus = FIX_BAR4, .size = 2ull * SZ_4G,
		.flags = DEVLEND_BAR_64 | DEVLEND_BAR_PREFETCH,
	};
	f->grant.msix_offset = 0x2000;
	return f;
}

static inline int fix_setup(struct config_fixture *f)
{
	static const struct borrower_config_fwd fwd = {
		.post = fix_post, .flush = fix_flush, .later = fix_later,
	};

	memset(&f->cfg, 0, sizeof(f->cfg));
	f->runs[0] = cpu_to_le32(DEVLEND_CONFIG_RUN(0, DEVLEND_CONFIG_DWORDS));
	memcpy(f->runs + 1, f->raw, sizeof(f->raw));
	return borrower_config_setup(&f->cfg, &f->grant, f->runs, sizeof(f->runs), &fwd, f);
}

/* The same with its config space made. */
static inline struct config_fixture *fix_made(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	KUNIT_ASSERT_EQ(test, fix_setup(f), 0);
	return f;
}

/* Forget what was posted. */
static inline void fix_clear(struct config_fixture *f)
{
	f->posts = 0;
	f->room = FIX_LOG_MAX;
	f->flushes = 0;
	f->laters = 0;
}

static inline u32 fix_get32(const struct config_fixture *f, unsigned int where)
{
	return get_unaligned_le32(f->cfg.image + where);
}

/* Operation number @i that was posted is this one. */
static inline void fix_expect_post(struct kunit *test, const struct config_fixture *f,
				   unsigned int i, unsigned int op, u32 arg)
{
	KUNIT_ASSERT_GT(test, f->posts, i);
	KUNIT_EXPECT_EQ_MSG(test, (unsigned int)f->op[i], op, "operation %u", i);
	KUNIT_EXPECT_EQ_MSG(test, f->arg[i], arg, "argument %u", i);
}

#endif /* BORROWER_CONFIG_FIXTURE_H */
