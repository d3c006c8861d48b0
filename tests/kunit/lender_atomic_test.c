// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of lender/atomic_check.c: what a borrower can do on the atomic lane, and what
 * it cannot. Config writes are looked at as the list that they are.
 */
#include <kunit/test.h>

#include "../../lender/atomic_check.c"

#define TEST_MSI	0x50
#define TEST_MSIX	0x70
#define TEST_RANGE	0x38fee00000ull
#define TEST_RANGE_LEN	0x100000ull

static struct lender_atomic atomic_device(void)
{
	return (struct lender_atomic) {
		.msi_pos = TEST_MSI,
		/* four vectors, 64-bit addresses, mask bits */
		.msi_flags = 2 << 1 | PCI_MSI_FLAGS_64BIT | PCI_MSI_FLAGS_MASKBIT,
		.msix_pos = TEST_MSIX,
		.can_flr = true,
		.attached = true,
		.ranges = 1,
		.range = { { TEST_RANGE, TEST_RANGE_LEN } },
	};
}

static void atomic_expect(struct kunit *test, struct lender_atomic *st, u8 op, u32 arg,
			  enum devlend_status want, unsigned int writes)
{
	struct lender_atomic_action act;
	enum devlend_status got = lender_atomic_check(st, op, arg, &act);

	KUNIT_EXPECT_EQ_MSG(test, got, want, "op %u arg %#x", op, arg);
	if (got == DEVLEND_OK)
		KUNIT_EXPECT_EQ_MSG(test, act.writes, writes, "op %u arg %#x", op, arg);
}

static void atomic_stage(struct kunit *test, struct lender_atomic *st, u64 addr, u32 data)
{
	atomic_expect(test, st, DEVLEND_AOP_MSI_ADDR_LO, addr, DEVLEND_OK, 0);
	atomic_expect(test, st, DEVLEND_AOP_MSI_ADDR_HI, addr >> 32, DEVLEND_OK, 0);
	atomic_expect(test, st, DEVLEND_AOP_MSI_DATA, data, DEVLEND_OK, 0);
}

static void atomic_bus_master_gate(struct kunit *test)
{
	struct lender_atomic st = atomic_device();
	struct lender_atomic_action act;

	KUNIT_ASSERT_EQ(test, lender_atomic_check(&st, DEVLEND_AOP_BUS_MASTER, 1, &act),
			DEVLEND_OK);
	KUNIT_ASSERT_EQ(test, act.writes, 1u);
	KUNIT_EXPECT_EQ(test, act.write[0].pos, (u16)PCI_COMMAND);
	KUNIT_EXPECT_EQ(test, act.write[0].size, (u8)2);
	KUNIT_EXPECT_EQ(test, act.write[0].clear, (u32)PCI_COMMAND_MASTER);
	KUNIT_EXPECT_EQ(test, act.write[0].set, (u32)PCI_COMMAND_MASTER);
	atomic_expect(test, &st, DEVLEND_AOP_BUS_MASTER, 2, DEVLEND_E_INVAL, 0);
	atomic_expect(test, &st, DEVLEND_AOP_BUS_MASTER, ~0u, DEVLEND_E_INVAL, 0);
	st.attached = false;
	atomic_expect(test, &st, DEVLEND_AOP_BUS_MASTER, 1, DEVLEND_E_PERM, 0);
	atomic_expect(test, &st, DEVLEND_AOP_BUS_MASTER, 0, DEVLEND_OK, 1);
	st.attached = true;
	st.resetting = true;
	atomic_expect(test, &st, DEVLEND_AOP_BUS_MASTER, 1, DEVLEND_E_BUSY, 0);
	atomic_expect(test, &st, DEVLEND_AOP_BUS_MASTER, 0, DEVLEND_OK, 1);
}

static void atomic_reset(struct kunit *test)
{
	struct lender_atomic st = atomic_device();
	struct lender_atomic_action act;

	KUNIT_ASSERT_EQ(test, lender_atomic_check(&st, DEVLEND_AOP_FLR, 0, &act), DEVLEND_OK);
	KUNIT_EXPECT_TRUE(test, act.flr);
	KUNIT_EXPECT_TRUE(test, st.resetting);
	/* bus mastering goes off with it */
	KUNIT_ASSERT_EQ(test, act.writes, 1u);
	KUNIT_EXPECT_EQ(test, act.write[0].set, 0u);
	KUNIT_EXPECT_EQ(test, act.write[0].clear, (u32)PCI_COMMAND_MASTER);
	KUNIT_ASSERT_EQ(test, lender_atomic_check(&st, DEVLEND_AOP_FLR, 0, &act), DEVLEND_E_BUSY);
	KUNIT_EXPECT_FALSE(test, act.flr);
	st.resetting = false;
	atomic_expect(test, &st, DEVLEND_AOP_FLR, 1, DEVLEND_E_INVAL, 0);
	/* refused, and yet the worker has to answer: the borrower's config space is silent */
	st.can_flr = false;
	KUNIT_ASSERT_EQ(test, lender_atomic_check(&st, DEVLEND_AOP_FLR, 0, &act),
			DEVLEND_E_NOTSUPP);
	KUNIT_EXPECT_TRUE(test, act.flr);
	KUNIT_EXPECT_TRUE(test, st.resetting);
	atomic_expect(test, &st, DEVLEND_AOP_BUS_MASTER, 1, DEVLEND_E_BUSY, 0);
}

/* Enabling writes the whole message behind masks, then the control word. */
static void atomic_msi_enable(struct kunit *test)
{
	struct lender_atomic st = atomic_device();
	struct lender_atomic_action act;

	atomic_stage(test, &st, TEST_RANGE + 0x1000, 0x4041);
	KUNIT_ASSERT_EQ(test, lender_atomic_check(&st, DEVLEND_AOP_MSI_CTRL,
						  PCI_MSI_FLAGS_ENABLE | 1 << 4, &act), DEVLEND_OK);
	KUNIT_ASSERT_EQ(test, act.writes, 6u);
	KUNIT_EXPECT_EQ(test, act.write[0].pos, (u16)(TEST_MSI + PCI_MSI_MASK_64));
	KUNIT_EXPECT_EQ(test, act.write[0].set, ~0u);
	KUNIT_EXPECT_EQ(test, act.write[1].pos, (u16)(TEST_MSI + PCI_MSI_ADDRESS_LO));
	KUNIT_EXPECT_EQ(test, act.write[1].set, 0xfee01000u);
	KUNIT_EXPECT_EQ(test, act.write[2].pos, (u16)(TEST_MSI + PCI_MSI_ADDRESS_HI));
	KUNIT_EXPECT_EQ(test, act.write[2].set, 0x38u);
	KUNIT_EXPECT_EQ(test, act.write[3].pos, (u16)(TEST_MSI + PCI_MSI_DATA_64));
	KUNIT_EXPECT_EQ(test, act.write[3].set, 0x4041u);
	KUNIT_EXPECT_EQ(test, act.write[3].size, (u8)2);
	KUNIT_EXPECT_EQ(test, act.write[4].pos, (u16)(TEST_MSI + PCI_MSI_MASK_64));
	KUNIT_EXPECT_EQ(test, act.write[4].set, 0u);
	KUNIT_EXPECT_EQ(test, act.write[5].pos, (u16)(TEST_MSI + PCI_MSI_FLAGS));
	KUNIT_EXPECT_EQ(test, act.write[5].set, (u32)(PCI_MSI_FLAGS_ENABLE | 1 << 4));
	/* a change while it is on goes through with the data word; a mask at once */
	atomic_expect(test, &st, DEVLEND_AOP_MSI_ADDR_LO, (u32)TEST_RANGE, DEVLEND_OK, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_DATA, 0x4042, DEVLEND_OK, 5);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_MASK, 1, DEVLEND_OK, 1);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, 0, DEVLEND_OK, 1);
	KUNIT_EXPECT_FALSE(test, st.msi_on);
}

/* Addresses that are no interrupt's: never enabled, never written. */
static void atomic_msi_addresses(struct kunit *test)
{
	static const u64 bad[] = {
		0, 0xfee00000, TEST_RANGE - 4, TEST_RANGE + TEST_RANGE_LEN,
		TEST_RANGE + TEST_RANGE_LEN - 3, TEST_RANGE + 2, ~0ull, ~3ull,
	};
	struct lender_atomic st;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		st = atomic_device();
		atomic_stage(test, &st, bad[i], 0);
		atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE,
			      DEVLEND_E_RANGE, 0);
		KUNIT_EXPECT_FALSE(test, st.msi_on);
		st.msi_on = true;
		atomic_expect(test, &st, DEVLEND_AOP_MSI_DATA, 0, DEVLEND_E_RANGE, 0);
	}
	st = atomic_device();
	atomic_stage(test, &st, TEST_RANGE + TEST_RANGE_LEN - 4, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE, DEVLEND_OK, 6);
	/* no range was granted */
	st = atomic_device();
	st.ranges = 0;
	atomic_stage(test, &st, TEST_RANGE, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE, DEVLEND_E_RANGE, 0);
	/* a 32-bit capability cannot hold the address */
	st = atomic_device();
	st.msi_flags = 0;
	atomic_stage(test, &st, TEST_RANGE, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE, DEVLEND_E_RANGE, 0);
	/* and takes one that it can */
	st.range[0].start = 0xfee00000;
	atomic_stage(test, &st, 0xfee00000, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE, DEVLEND_OK, 3);
}

static void atomic_msi_control_bits(struct kunit *test)
{
	struct lender_atomic st = atomic_device();

	atomic_stage(test, &st, TEST_RANGE, 0);
	/* eight vectors of four, and bits that are the device's */
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE | 3 << 4,
		      DEVLEND_E_INVAL, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_64BIT, DEVLEND_E_INVAL, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, 0x10000, DEVLEND_E_INVAL, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_DATA, 0x10000, DEVLEND_E_INVAL, 0);
	st.msi_flags &= ~PCI_MSI_FLAGS_MASKBIT;
	atomic_expect(test, &st, DEVLEND_AOP_MSI_MASK, 0, DEVLEND_E_NOTSUPP, 0);
	st.attached = false;
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE, DEVLEND_E_PERM, 0);
	st.msi_pos = 0;
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, 0, DEVLEND_E_NOTSUPP, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_DATA, 0, DEVLEND_E_NOTSUPP, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_ADDR_LO, 0, DEVLEND_E_NOTSUPP, 0);
}

static void atomic_msix(struct kunit *test)
{
	struct lender_atomic st = atomic_device();

	atomic_expect(test, &st, DEVLEND_AOP_MSIX_CTRL,
		      PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL, DEVLEND_OK, 1);
	KUNIT_EXPECT_TRUE(test, st.msix_on);
	/* one kind of message at a time */
	atomic_stage(test, &st, TEST_RANGE, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE, DEVLEND_E_INVAL, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSIX_CTRL, 0, DEVLEND_OK, 1);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE, DEVLEND_OK, 6);
	atomic_expect(test, &st, DEVLEND_AOP_MSIX_CTRL, PCI_MSIX_FLAGS_ENABLE, DEVLEND_E_INVAL, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSIX_CTRL, 1, DEVLEND_E_INVAL, 0);
	st = atomic_device();
	st.resetting = true;
	atomic_expect(test, &st, DEVLEND_AOP_MSIX_CTRL, PCI_MSIX_FLAGS_ENABLE, DEVLEND_E_BUSY, 0);
	st.resetting = false;
	st.attached = false;
	atomic_expect(test, &st, DEVLEND_AOP_MSIX_CTRL, PCI_MSIX_FLAGS_ENABLE, DEVLEND_E_PERM, 0);
	st.msix_pos = 0;
	atomic_expect(test, &st, DEVLEND_AOP_MSIX_CTRL, 0, DEVLEND_E_NOTSUPP, 0);
}

/* Any operation, any argument: an answer, a bounded list, and nothing on while not attached. */
static void atomic_everything(struct kunit *test)
{
	static const u32 args[] = { 0, 1, 2, 0x8000, 0xc000, 0xffff, 0x10000, 0x80000000, ~0u };
	unsigned int op, i;

	for (op = 0; op < 256; op++) {
		for (i = 0; i < ARRAY_SIZE(args); i++) {
			struct lender_atomic st = atomic_device();
			struct lender_atomic_action act;
			enum devlend_status status;

			st.attached = false;
			status = lender_atomic_check(&st, op, args[i], &act);
			KUNIT_EXPECT_LE(test, status, DEVLEND_STATUS_MAX);
			KUNIT_EXPECT_LE(test, act.writes, (unsigned int)LENDER_ATOMIC_WRITES_MAX);
			KUNIT_EXPECT_FALSE(test, st.msi_on || st.msix_on);
			if (!op || op > DEVLEND_AOP_INTX_DISABLE)
				KUNIT_EXPECT_EQ(test, status, DEVLEND_E_NOTSUPP);
		}
	}
}

/* What this host took is all that can be switched on, and its message all that there is. */
static void atomic_taken(struct kunit *test)
{
	struct lender_atomic st = atomic_device();

	lender_atomic_taken(&st, DEVLEND_EVENTS_MSI | DEVLEND_EVENTS_INTX, 2, 0xfee01000, 0x31);
	atomic_expect(test, &st, DEVLEND_AOP_MSIX_CTRL, PCI_MSIX_FLAGS_ENABLE, DEVLEND_E_NOTSUPP,
		      0);
	atomic_stage(test, &st, TEST_RANGE, 0x31);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE, DEVLEND_E_RANGE, 0);
	atomic_stage(test, &st, 0xfee01000, 0x32);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE, DEVLEND_E_RANGE, 0);
	atomic_stage(test, &st, 0xfee01000, 0x31);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE | 2 << 4,
		      DEVLEND_E_INVAL, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE | 1 << 4, DEVLEND_OK,
		      6);
	/* not even while it is on */
	atomic_expect(test, &st, DEVLEND_AOP_MSI_DATA, 0x30, DEVLEND_E_RANGE, 0);

	st = atomic_device();
	lender_atomic_taken(&st, DEVLEND_EVENTS_MSIX, 0, 0, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, 0, DEVLEND_E_NOTSUPP, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSIX_CTRL, PCI_MSIX_FLAGS_ENABLE, DEVLEND_OK, 1);

	st = atomic_device();
	lender_atomic_taken(&st, DEVLEND_EVENTS_INTX, 0, 0, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, 0, DEVLEND_E_NOTSUPP, 0);
	atomic_expect(test, &st, DEVLEND_AOP_MSIX_CTRL, 0, DEVLEND_E_NOTSUPP, 0);
}

static void atomic_intx(struct kunit *test)
{
	struct lender_atomic st = atomic_device();
	struct lender_atomic_action act;

	KUNIT_EXPECT_EQ(test, lender_atomic_check(&st, DEVLEND_AOP_INTX_DISABLE, 2, &act),
			DEVLEND_E_INVAL);
	KUNIT_EXPECT_EQ(test, lender_atomic_check(&st, DEVLEND_AOP_INTX_DISABLE, 0, &act),
			DEVLEND_OK);
	KUNIT_EXPECT_TRUE(test, act.intx);
	KUNIT_EXPECT_EQ(test, act.writes, 0u);
	/* nothing is unmasked while the device is reset */
	st.resetting = true;
	KUNIT_EXPECT_EQ(test, lender_atomic_check(&st, DEVLEND_AOP_INTX_DISABLE, 0, &act),
			DEVLEND_OK);
	KUNIT_EXPECT_FALSE(test, act.intx);
}

static void atomic_forget(struct kunit *test)
{
	struct lender_atomic st = atomic_device();

	atomic_stage(test, &st, TEST_RANGE, 5);
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE, DEVLEND_OK, 6);
	lender_atomic_forget(&st);
	/* what was staged before a reset is not enabled after it */
	atomic_expect(test, &st, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE, DEVLEND_E_RANGE, 0);
}

static struct kunit_case atomic_cases[] = {
	KUNIT_CASE(atomic_bus_master_gate),
	KUNIT_CASE(atomic_reset),
	KUNIT_CASE(atomic_msi_enable),
	KUNIT_CASE(atomic_msi_addresses),
	KUNIT_CASE(atomic_msi_control_bits),
	KUNIT_CASE(atomic_msix),
	KUNIT_CASE(atomic_everything),
	KUNIT_CASE(atomic_forget),
	KUNIT_CASE(atomic_taken),
	KUNIT_CASE(atomic_intx),
	{}
};

static struct kunit_suite atomic_suite = {
	.name = "devlend-lender-atomic",
	.test_cases = atomic_cases,
};

kunit_test_suite(atomic_suite);
