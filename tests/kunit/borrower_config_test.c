// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of borrower/config.c: every byte written in every way. What may change, and what
 * the lender may hear of it, is listed here once more, by hand: the tables in the code are not
 * their own judge.
 */
#include "borrower_config_fixture.h"

#include <linux/irqflags.h>
#include <linux/prandom.h>

#include "../../borrower/config.c"

#define OPS_MESSAGE	(BIT(DEVLEND_AOP_MSI_CTRL) | BIT(DEVLEND_AOP_MSI_ADDR_LO) | \
			 BIT(DEVLEND_AOP_MSI_ADDR_HI) | BIT(DEVLEND_AOP_MSI_DATA) | \
			 BIT(DEVLEND_AOP_MSI_MASK))

/* Dwords that can be written, by which bits, and operations that this may cause. */
static const struct config_rule {
	unsigned int where;
	u32 writable;
	unsigned long ops;
} config_rules[] = {
	{ PCI_COMMAND, 0x546, BIT(DEVLEND_AOP_BUS_MASTER) },
	{ PCI_CACHE_LINE_SIZE, 0xff, 0 },
	{ PCI_BASE_ADDRESS_0, 0xffffc000, 0 },
	{ PCI_BASE_ADDRESS_1, 0xffffffff, 0 },
	{ PCI_BASE_ADDRESS_2, 0xfffff000, 0 },
	{ PCI_BASE_ADDRESS_5, 0xfffffffe, 0 },
	{ PCI_INTERRUPT_LINE, 0xff, 0 },
	{ FIX_PM + PCI_PM_CTRL, 0x3, BIT(DEVLEND_AOP_BUS_MASTER) },
	{ FIX_MSI, 0x00710000, BIT(DEVLEND_AOP_MSI_CTRL) },
	{ FIX_MSI + PCI_MSI_ADDRESS_LO, 0xfffffffc, BIT(DEVLEND_AOP_MSI_ADDR_LO) },
	{ FIX_MSI + PCI_MSI_ADDRESS_HI, 0xffffffff, BIT(DEVLEND_AOP_MSI_ADDR_HI) },
	{ FIX_MSI + PCI_MSI_DATA_64, 0xffff, BIT(DEVLEND_AOP_MSI_DATA) },
	{ FIX_MSI + PCI_MSI_MASK_64, 0xf, BIT(DEVLEND_AOP_MSI_MASK) },
	{ FIX_EXP + PCI_EXP_DEVCTL, 0x7fff, BIT(DEVLEND_AOP_FLR) },
	{ FIX_MSIX, 0xc0000000, BIT(DEVLEND_AOP_MSIX_CTRL) },
};

static const struct config_rule *config_rule_of(unsigned int where)
{
	static const struct config_rule none;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(config_rules); i++)
		if (config_rules[i].where == (where & ~3u))
			return &config_rules[i];
	return &none;
}

/* Write once to a fresh image; only what the rule says may differ afterwards. */
static bool config_write_is_right(struct config_fixture *f, unsigned int where,
				  unsigned int size, u32 value)
{
	const struct config_rule *rule = config_rule_of(where);
	unsigned int dword = where & ~3u, shift = 8 * (where & 3), i;
	u32 lanes = (u32)(((1ull << (8 * size)) - 1) << shift);
	u32 before = fix_get32(f, dword), after, want;

	fix_clear(f);
	borrower_config_write(&f->cfg, where, size, value);
	after = fix_get32(f, dword);
	put_unaligned_le32(before, f->cfg.image + dword);
	if (memcmp(f->cfg.image, f->cfg.initial, BORROWER_CONFIG_SIZE))
		return false;
	for (i = 0; i < f->posts; i++)
		if (!(rule->ops & BIT(f->op[i])))
			return false;
	want = (before & ~(rule->writable & lanes)) | ((value << shift) & rule->writable & lanes);
	if (f->cfg.resetting) {
		f->cfg.resetting = false;
		return after == before && f->posts == 1 && f->op[0] == DEVLEND_AOP_FLR;
	}
	/* the two registers in which not every number is possible */
	if (dword == FIX_PM + PCI_PM_CTRL && (want & 3) % 3)
		want = before;
	if (dword == FIX_MSI && (want >> 20 & 7) > 2)
		want = (want & ~(7u << 20)) | 2u << 20;
	return after == want;
}

static void each_byte_in_each_way(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);
	unsigned int where, size, i, wrong = 0;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 2);
	for (size = 1; size <= 4; size *= 2) {
		for (where = 0; where < BORROWER_CONFIG_SIZE; where += size) {
			const u32 values[] = { 0, ~0u, prandom_u32_state(&rnd),
					       prandom_u32_state(&rnd) };

			for (i = 0; i < ARRAY_SIZE(values); i++) {
				if (config_write_is_right(f, where, size, values[i]))
					continue;
				if (!wrong++)
					KUNIT_FAIL(test, "%u bytes at %#x: %#x", size, where,
						   values[i]);
			}
		}
	}
	KUNIT_EXPECT_EQ(test, wrong, 0u);
	KUNIT_EXPECT_EQ(test, f->cfg.dropped, 0u);
}

/* The same writes on top of each other: identity, chains and read-only bits stand. */
static void random_writes_harm_nothing(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);
	unsigned int i, wrong = 0;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 3);
	for (i = 0; i < 50000; i++) {
		unsigned int size = 1u << (prandom_u32_state(&rnd) % 3);
		unsigned int where = prandom_u32_state(&rnd) % 0x120 & ~(size - 1);

		borrower_config_write(&f->cfg, where, size, prandom_u32_state(&rnd));
		f->posts = 0;
		f->room = prandom_u32_state(&rnd) % 3;
		borrower_config_reset_done(&f->cfg, 0);
	}
	f->room = FIX_LOG_MAX;
	borrower_config_catch_up(&f->cfg);
	KUNIT_EXPECT_EQ(test, (unsigned int)f->cfg.owed, 0u);
	for (i = 0; i < BORROWER_CONFIG_SIZE; i++)
		wrong += !!((f->cfg.image[i] ^ f->cfg.initial[i]) & ~f->cfg.writable[i]);
	KUNIT_EXPECT_EQ(test, wrong, 0u);
}

static void bad_accesses_find_nothing(struct kunit *test)
{
	static const struct { unsigned int where, size; } bad[] = {
		{ 0, 0 }, { 0, 3 }, { 0, 8 }, { 1, 2 }, { 2, 4 }, { 3, 2 }, { 4096, 1 },
		{ 4096, 4 }, { 0x10004, 4 }, { ~3u, 4 }, { ~0u, 1 },
	};
	struct config_fixture *f = fix_made(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		borrower_config_write(&f->cfg, bad[i].where, bad[i].size, ~0u);
		KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, bad[i].where, bad[i].size),
				~0u);
	}
	KUNIT_EXPECT_EQ(test, memcmp(f->cfg.image, f->cfg.initial, BORROWER_CONFIG_SIZE), 0);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, 0, 1), 0x36u);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, 2, 2), 0x0010u);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, 4092, 4), 0u);
}

static void reads_cause_nothing(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);
	unsigned int where;

	for (where = 0; where < BORROWER_CONFIG_SIZE; where++)
		borrower_config_read(&f->cfg, where, 1);
	KUNIT_EXPECT_EQ(test, f->posts, 0u);
	KUNIT_EXPECT_EQ(test, f->flushes, 0u);
}

static void waits_only_with_interrupts_on(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);

	borrower_config_write(&f->cfg, PCI_COMMAND, 2, PCI_COMMAND_MASTER);
	KUNIT_EXPECT_EQ(test, f->flushes, 1u);
	borrower_config_write(&f->cfg, PCI_COMMAND, 2, PCI_COMMAND_MASTER | PCI_COMMAND_MEMORY);
	KUNIT_EXPECT_EQ(test, f->flushes, 1u);
	/* the words of a message wait for its last */
	borrower_config_write(&f->cfg, FIX_MSI + PCI_MSI_ADDRESS_LO, 4, 0x1000);
	KUNIT_EXPECT_EQ(test, f->flushes, 1u);
	borrower_config_write(&f->cfg, FIX_MSI + PCI_MSI_DATA_64, 2, 0x31);
	KUNIT_EXPECT_EQ(test, f->flushes, 2u);
	local_irq_disable();
	borrower_config_write(&f->cfg, PCI_COMMAND, 2, 0);
	borrower_config_write(&f->cfg, FIX_EXP + PCI_EXP_DEVCTL, 2, PCI_EXP_DEVCTL_BCR_FLR);
	local_irq_enable();
	KUNIT_EXPECT_EQ(test, f->flushes, 2u);
	KUNIT_EXPECT_EQ(test, f->posts, 5u);
}

static void full_queue_is_waited_for_with_a_bound(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);

	f->room = 0;
	borrower_config_write(&f->cfg, PCI_COMMAND, 2, PCI_COMMAND_MASTER);
	KUNIT_EXPECT_GT(test, f->flushes, 1u);
	KUNIT_EXPECT_LE(test, f->flushes, 10u);
	KUNIT_EXPECT_GT(test, f->laters, 0u);
	f->room = 1;
	f->flush_err = -ENOTCONN;
	f->flushes = 0;
	borrower_config_write(&f->cfg, PCI_COMMAND, 2, 0);
	KUNIT_EXPECT_EQ(test, f->flushes, 1u);
	KUNIT_EXPECT_EQ(test, f->cfg.dropped, 1u);
	fix_expect_post(test, f, 0, DEVLEND_AOP_BUS_MASTER, 0);
}

static void dead_is_silent(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);

	f->room = 0;
	borrower_config_write(&f->cfg, PCI_COMMAND, 2, PCI_COMMAND_MASTER);
	borrower_config_kill(&f->cfg);
	fix_clear(f);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, PCI_VENDOR_ID, 4), ~0u);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, PCI_COMMAND, 1), ~0u);
	borrower_config_write(&f->cfg, PCI_COMMAND, 2, 0);
	borrower_config_write(&f->cfg, FIX_EXP + PCI_EXP_DEVCTL, 2, PCI_EXP_DEVCTL_BCR_FLR);
	borrower_config_catch_up(&f->cfg);
	borrower_config_reset_done(&f->cfg, 0);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, PCI_VENDOR_ID, 4), ~0u);
	KUNIT_EXPECT_EQ(test, f->posts + f->flushes + f->laters, 0u);
}

static void bare_device_works(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);
	unsigned int where;

	fix_put(f, PCI_STATUS, 2, 0);
	memset(&f->grant.bar, 0, sizeof(f->grant.bar));
	KUNIT_ASSERT_EQ(test, fix_setup(f), 0);
	for (where = 0; where < BORROWER_CONFIG_SIZE; where += 4)
		borrower_config_write(&f->cfg, where, 4, ~0u);
	fix_expect_post(test, f, 0, DEVLEND_AOP_BUS_MASTER, 1);
	KUNIT_EXPECT_EQ(test, f->posts, 1u);
	KUNIT_EXPECT_EQ(test, fix_get32(f, PCI_BASE_ADDRESS_0), 0u);
}

static struct kunit_case config_cases[] = {
	KUNIT_CASE(each_byte_in_each_way),
	KUNIT_CASE(random_writes_harm_nothing),
	KUNIT_CASE(bad_accesses_find_nothing),
	KUNIT_CASE(reads_cause_nothing),
	KUNIT_CASE(waits_only_with_interrupts_on),
	KUNIT_CASE(full_queue_is_waited_for_with_a_bound),
	KUNIT_CASE(dead_is_silent),
	KUNIT_CASE(bare_device_works),
	{}
};

static struct kunit_suite config_suite = {
	.name = "devlend-borrower-config",
	.test_cases = config_cases,
};

kunit_test_suite(config_suite);
