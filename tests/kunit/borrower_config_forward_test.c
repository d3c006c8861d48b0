// SPDX-License-Identifier: GPL-2.0
/* KUnit suite of borrower/config_forward.c: what the lender hears, and in which order. */
#include "borrower_config_fixture.h"

#include "../../borrower/config_forward.c"

#define FIX_MSI_ON	(PCI_MSI_FLAGS_ENABLE | 2 << 4)

static void forward_write(struct config_fixture *f, unsigned int where, unsigned int size,
			  u32 value)
{
	borrower_config_write(&f->cfg, where, size, value);
}

static void bus_mastering_is_told_when_it_changes(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);

	forward_write(f, PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_INTX_DISABLE);
	KUNIT_EXPECT_EQ(test, f->posts, 0u);
	forward_write(f, PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	fix_expect_post(test, f, 0, DEVLEND_AOP_BUS_MASTER, 1);
	forward_write(f, PCI_COMMAND, 4, PCI_COMMAND_MASTER);
	forward_write(f, PCI_COMMAND, 1, PCI_COMMAND_MASTER);
	KUNIT_EXPECT_EQ(test, f->posts, 1u);
	forward_write(f, PCI_COMMAND, 2, 0);
	fix_expect_post(test, f, 1, DEVLEND_AOP_BUS_MASTER, 0);
	KUNIT_EXPECT_EQ(test, f->posts, 2u);
}

static void no_bus_mastering_in_d3hot(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);

	forward_write(f, FIX_PM + PCI_PM_CTRL, 2, 3);
	KUNIT_EXPECT_EQ(test, f->posts, 0u);
	forward_write(f, PCI_COMMAND, 2, PCI_COMMAND_MASTER);
	KUNIT_EXPECT_EQ(test, f->posts, 0u);
	forward_write(f, FIX_PM + PCI_PM_CTRL, 2, 0);
	fix_expect_post(test, f, 0, DEVLEND_AOP_BUS_MASTER, 1);
	forward_write(f, FIX_PM + PCI_PM_CTRL, 1, 3);
	fix_expect_post(test, f, 1, DEVLEND_AOP_BUS_MASTER, 0);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, PCI_COMMAND, 2),
			(u32)PCI_COMMAND_MASTER);
}

static void d1_and_d2_do_not_exist(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);
	unsigned int from, to;

	for (from = 0; from <= 3; from += 3)
		for (to = 1; to <= 2; to++) {
			forward_write(f, FIX_PM + PCI_PM_CTRL, 2, from);
			forward_write(f, FIX_PM + PCI_PM_CTRL, 2, to);
			KUNIT_EXPECT_EQ(test, fix_get32(f, FIX_PM + PCI_PM_CTRL),
					from | PCI_PM_CTRL_NO_SOFT_RESET);
		}
}

/* As the PCI core does: message while off, on; another message while on; off. */
static void msi_comes_in_order(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);

	forward_write(f, FIX_MSI + PCI_MSI_MASK_64, 4, 0xf);
	forward_write(f, FIX_MSI + PCI_MSI_ADDRESS_LO, 4, 0x1000);
	forward_write(f, FIX_MSI + PCI_MSI_ADDRESS_HI, 4, 0x80);
	forward_write(f, FIX_MSI + PCI_MSI_DATA_64, 2, 0x31);
	forward_write(f, FIX_MSI + PCI_MSI_FLAGS, 2, FIX_MSI_ON);
	forward_write(f, FIX_MSI + PCI_MSI_MASK_64, 4, 0xe);
	fix_expect_post(test, f, 0, DEVLEND_AOP_MSI_MASK, 0xf);
	fix_expect_post(test, f, 1, DEVLEND_AOP_MSI_ADDR_LO, 0x1000);
	fix_expect_post(test, f, 2, DEVLEND_AOP_MSI_ADDR_HI, 0x80);
	fix_expect_post(test, f, 3, DEVLEND_AOP_MSI_DATA, 0x31);
	fix_expect_post(test, f, 4, DEVLEND_AOP_MSI_CTRL, FIX_MSI_ON);
	fix_expect_post(test, f, 5, DEVLEND_AOP_MSI_MASK, 0xe);
	fix_clear(f);
	/* control is written with each message, and has not changed */
	forward_write(f, FIX_MSI + PCI_MSI_FLAGS, 2, FIX_MSI_ON);
	forward_write(f, FIX_MSI + PCI_MSI_ADDRESS_LO, 4, 0x1000);
	forward_write(f, FIX_MSI + PCI_MSI_DATA_64, 2, 0x32);
	fix_expect_post(test, f, 0, DEVLEND_AOP_MSI_ADDR_LO, 0x1000);
	fix_expect_post(test, f, 1, DEVLEND_AOP_MSI_DATA, 0x32);
	forward_write(f, FIX_MSI + PCI_MSI_FLAGS, 2, 2 << 4);
	fix_expect_post(test, f, 2, DEVLEND_AOP_MSI_CTRL, 2 << 4);
	KUNIT_EXPECT_EQ(test, f->posts, 3u);
}

/* What the interrupt core does when an interrupt is freed and requested again, MSI being on. */
static void msi_without_a_message_is_off(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);

	forward_write(f, FIX_MSI + PCI_MSI_FLAGS, 2, PCI_MSI_FLAGS_ENABLE);
	KUNIT_EXPECT_EQ(test, f->posts, 0u);
	forward_write(f, FIX_MSI + PCI_MSI_ADDRESS_LO, 4, 0x1000);
	forward_write(f, FIX_MSI + PCI_MSI_ADDRESS_HI, 4, 0x80);
	forward_write(f, FIX_MSI + PCI_MSI_DATA_64, 2, 0x31);
	fix_expect_post(test, f, 2, DEVLEND_AOP_MSI_DATA, 0x31);
	fix_expect_post(test, f, 3, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE);
	fix_clear(f);
	forward_write(f, FIX_MSI + PCI_MSI_ADDRESS_LO, 4, 0);
	forward_write(f, FIX_MSI + PCI_MSI_ADDRESS_HI, 4, 0);
	forward_write(f, FIX_MSI + PCI_MSI_DATA_64, 2, 0);
	fix_expect_post(test, f, 0, DEVLEND_AOP_MSI_ADDR_LO, 0);
	fix_expect_post(test, f, 1, DEVLEND_AOP_MSI_CTRL, 0);
	fix_expect_post(test, f, 2, DEVLEND_AOP_MSI_ADDR_HI, 0);
	fix_expect_post(test, f, 3, DEVLEND_AOP_MSI_DATA, 0);
	/* the driver sees what it wrote */
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, FIX_MSI + PCI_MSI_FLAGS, 2),
			0x184u | PCI_MSI_FLAGS_ENABLE);
	fix_clear(f);
	forward_write(f, FIX_MSI + PCI_MSI_ADDRESS_LO, 4, 0x2000);
	forward_write(f, FIX_MSI + PCI_MSI_ADDRESS_HI, 4, 0x80);
	forward_write(f, FIX_MSI + PCI_MSI_DATA_64, 2, 0x32);
	fix_expect_post(test, f, 2, DEVLEND_AOP_MSI_DATA, 0x32);
	fix_expect_post(test, f, 3, DEVLEND_AOP_MSI_CTRL, PCI_MSI_FLAGS_ENABLE);
	KUNIT_EXPECT_EQ(test, f->posts, 4u);
	fix_clear(f);
	forward_write(f, FIX_MSI + PCI_MSI_FLAGS, 2, 0);
	fix_expect_post(test, f, 0, DEVLEND_AOP_MSI_CTRL, 0);
}

static void msi_in_bytes_tells_whole_registers(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);

	forward_write(f, FIX_MSI + PCI_MSI_ADDRESS_LO + 1, 1, 0x12);
	forward_write(f, FIX_MSI + PCI_MSI_DATA_64 + 1, 1, 0x01);
	fix_expect_post(test, f, 0, DEVLEND_AOP_MSI_ADDR_LO, 0x1200);
	fix_expect_post(test, f, 1, DEVLEND_AOP_MSI_DATA, 0x100);
}

static void msi_32_has_no_upper_half(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	fix_cap(f, FIX_MSI, PCI_CAP_ID_MSI, FIX_EXP, 0);
	KUNIT_ASSERT_EQ(test, fix_setup(f), 0);
	forward_write(f, FIX_MSI + PCI_MSI_ADDRESS_LO, 4, 0x1000);
	forward_write(f, FIX_MSI + PCI_MSI_DATA_32, 4, 0xffff0031);
	forward_write(f, FIX_MSI + PCI_MSI_DATA_64, 4, ~0u);
	fix_expect_post(test, f, 0, DEVLEND_AOP_MSI_ADDR_LO, 0x1000);
	fix_expect_post(test, f, 1, DEVLEND_AOP_MSI_DATA, 0x31);
	KUNIT_EXPECT_EQ(test, f->posts, 2u);
}

static void no_more_messages_than_there_are(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);
	unsigned int want;

	for (want = 0; want < 8; want++) {
		forward_write(f, FIX_MSI + PCI_MSI_FLAGS, 2, want << 4);
		KUNIT_EXPECT_EQ(test, (borrower_config_read(&f->cfg, FIX_MSI + PCI_MSI_FLAGS, 2) &
				       PCI_MSI_FLAGS_QSIZE) >> 4, min(want, 2u));
	}
	KUNIT_EXPECT_EQ(test, f->posts, 2u);
}

static void msix_control_is_told_when_it_changes(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);
	const u16 both = PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL;

	forward_write(f, FIX_MSIX + PCI_MSIX_FLAGS, 2, both | 0x3ff);
	forward_write(f, FIX_MSIX + PCI_MSIX_FLAGS, 2, both);
	forward_write(f, FIX_MSIX + PCI_MSIX_FLAGS + 1, 1, PCI_MSIX_FLAGS_ENABLE >> 8);
	fix_expect_post(test, f, 0, DEVLEND_AOP_MSIX_CTRL, both);
	fix_expect_post(test, f, 1, DEVLEND_AOP_MSIX_CTRL, PCI_MSIX_FLAGS_ENABLE);
	KUNIT_EXPECT_EQ(test, f->posts, 2u);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, FIX_MSIX + PCI_MSIX_FLAGS, 2),
			7u | PCI_MSIX_FLAGS_ENABLE);
}

static void reset_goes_back_to_the_beginning(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);

	forward_write(f, PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	forward_write(f, PCI_BASE_ADDRESS_0, 4, 0);
	forward_write(f, FIX_MSI + PCI_MSI_ADDRESS_LO, 4, 0x1000);
	forward_write(f, FIX_MSIX + PCI_MSIX_FLAGS, 2, PCI_MSIX_FLAGS_ENABLE);
	fix_clear(f);
	forward_write(f, FIX_EXP + PCI_EXP_DEVCTL, 2, 0x2810 | PCI_EXP_DEVCTL_BCR_FLR);
	fix_expect_post(test, f, 0, DEVLEND_AOP_FLR, 0);
	KUNIT_EXPECT_EQ(test, f->posts, 1u);
	KUNIT_EXPECT_EQ(test, memcmp(f->cfg.image, f->cfg.initial, BORROWER_CONFIG_SIZE), 0);
	/* silent until the lender says so, whatever is written */
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, PCI_VENDOR_ID, 4), ~0u);
	forward_write(f, PCI_COMMAND, 2, PCI_COMMAND_MASTER);
	forward_write(f, FIX_EXP + PCI_EXP_DEVCTL, 2, PCI_EXP_DEVCTL_BCR_FLR);
	KUNIT_EXPECT_EQ(test, f->posts, 1u);
	borrower_config_reset_done(&f->cfg, 0);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, PCI_VENDOR_ID, 4), 0x00101b36u);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, PCI_COMMAND, 2), 0u);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, FIX_EXP + PCI_EXP_DEVCTL, 2), 0x2810u);
	/* what the PCI core restores is told again */
	forward_write(f, FIX_MSIX + PCI_MSIX_FLAGS, 2, PCI_MSIX_FLAGS_ENABLE);
	forward_write(f, PCI_COMMAND, 2, PCI_COMMAND_MASTER);
	fix_expect_post(test, f, 1, DEVLEND_AOP_MSIX_CTRL, PCI_MSIX_FLAGS_ENABLE);
	fix_expect_post(test, f, 2, DEVLEND_AOP_BUS_MASTER, 1);
}

static void failed_reset_stays_silent(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);

	forward_write(f, FIX_EXP + PCI_EXP_DEVCTL, 4, PCI_EXP_DEVCTL_BCR_FLR);
	borrower_config_reset_done(&f->cfg, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, PCI_COMMAND, 2), ~0u);
}

static void reset_needs_the_capability(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	fix_put(f, FIX_EXP + PCI_EXP_DEVCAP, 4, ~PCI_EXP_DEVCAP_FLR);
	KUNIT_ASSERT_EQ(test, fix_setup(f), 0);
	forward_write(f, FIX_EXP + PCI_EXP_DEVCTL, 2, 0xffff);
	KUNIT_EXPECT_EQ(test, f->posts, 0u);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, FIX_EXP + PCI_EXP_DEVCTL, 2), 0x7fffu);
	/* an aligned dword whose upper half is device status: no reset either */
	forward_write(f, FIX_EXP + PCI_EXP_DEVCTL + 2, 2, 0xffff);
	KUNIT_EXPECT_EQ(test, f->posts, 0u);
}

/* Written while the queue is full: nothing is lost, the last value counts, the order is right. */
static void full_queue_is_caught_up_with(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);
	unsigned int i;

	f->room = 0;
	for (i = 0; i < 100; i++) {
		forward_write(f, PCI_COMMAND, 2, PCI_COMMAND_MASTER);
		forward_write(f, PCI_COMMAND, 2, 0);
	}
	forward_write(f, PCI_COMMAND, 2, PCI_COMMAND_MASTER);
	forward_write(f, FIX_MSI + PCI_MSI_MASK_64, 4, 1);
	forward_write(f, FIX_MSI + PCI_MSI_DATA_64, 2, 0x31);
	forward_write(f, FIX_MSI + PCI_MSI_ADDRESS_HI, 4, 0x80);
	forward_write(f, FIX_MSI + PCI_MSI_ADDRESS_LO, 4, 0x1000);
	forward_write(f, FIX_MSI + PCI_MSI_FLAGS, 2, FIX_MSI_ON);
	KUNIT_EXPECT_EQ(test, f->posts, 0u);
	KUNIT_EXPECT_GT(test, f->laters, 0u);
	f->room = 2;
	f->laters = 0;
	borrower_config_catch_up(&f->cfg);
	KUNIT_EXPECT_EQ(test, f->laters, 1u);
	f->room = FIX_LOG_MAX;
	borrower_config_catch_up(&f->cfg);
	KUNIT_EXPECT_EQ(test, f->laters, 1u);
	fix_expect_post(test, f, 0, DEVLEND_AOP_MSI_ADDR_LO, 0x1000);
	fix_expect_post(test, f, 1, DEVLEND_AOP_MSI_ADDR_HI, 0x80);
	fix_expect_post(test, f, 2, DEVLEND_AOP_MSI_DATA, 0x31);
	fix_expect_post(test, f, 3, DEVLEND_AOP_MSI_MASK, 1);
	fix_expect_post(test, f, 4, DEVLEND_AOP_MSI_CTRL, FIX_MSI_ON);
	fix_expect_post(test, f, 5, DEVLEND_AOP_BUS_MASTER, 1);
	KUNIT_EXPECT_EQ(test, f->posts, 6u);
	KUNIT_EXPECT_EQ(test, (unsigned int)f->cfg.owed, 0u);
	borrower_config_catch_up(&f->cfg);
	KUNIT_EXPECT_EQ(test, f->posts, 6u);
}

static void switching_off_is_told_first(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);

	forward_write(f, PCI_COMMAND, 2, PCI_COMMAND_MASTER);
	forward_write(f, FIX_MSI + PCI_MSI_ADDRESS_LO, 4, 0x1000);
	forward_write(f, FIX_MSI + PCI_MSI_FLAGS, 2, FIX_MSI_ON);
	fix_clear(f);
	f->room = 0;
	/* from MSI to MSI-X, and bus mastering off */
	forward_write(f, FIX_MSIX + PCI_MSIX_FLAGS, 2, PCI_MSIX_FLAGS_ENABLE);
	forward_write(f, FIX_MSI + PCI_MSI_ADDRESS_LO, 4, 0);
	forward_write(f, FIX_MSI + PCI_MSI_FLAGS, 2, 0);
	forward_write(f, PCI_COMMAND, 2, 0);
	f->room = FIX_LOG_MAX;
	borrower_config_catch_up(&f->cfg);
	fix_expect_post(test, f, 0, DEVLEND_AOP_BUS_MASTER, 0);
	fix_expect_post(test, f, 1, DEVLEND_AOP_MSI_CTRL, 0);
	fix_expect_post(test, f, 2, DEVLEND_AOP_MSI_ADDR_LO, 0);
	fix_expect_post(test, f, 3, DEVLEND_AOP_MSIX_CTRL, PCI_MSIX_FLAGS_ENABLE);
	KUNIT_EXPECT_EQ(test, f->posts, 4u);
}

static void reset_voids_what_was_owed(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);

	f->room = 0;
	forward_write(f, PCI_COMMAND, 2, PCI_COMMAND_MASTER);
	forward_write(f, FIX_MSI + PCI_MSI_DATA_64, 2, 0x31);
	forward_write(f, FIX_EXP + PCI_EXP_DEVCTL + 1, 1, PCI_EXP_DEVCTL_BCR_FLR >> 8);
	/* the lender was not told yet: what it says is of another reset */
	borrower_config_reset_done(&f->cfg, 0);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, PCI_VENDOR_ID, 2), ~0u);
	f->room = FIX_LOG_MAX;
	borrower_config_catch_up(&f->cfg);
	fix_expect_post(test, f, 0, DEVLEND_AOP_FLR, 0);
	KUNIT_EXPECT_EQ(test, f->posts, 1u);
	borrower_config_reset_done(&f->cfg, 0);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, PCI_VENDOR_ID, 2), 0x1b36u);
}

/* Where INTx is told: the driver's bit and the interrupt's mask are one to the lender. */
static void intx_is_told(struct kunit *test)
{
	struct config_fixture *f = fix_new(test);

	f->grant.intx = true;
	KUNIT_ASSERT_EQ(test, fix_setup(f), 0);
	KUNIT_EXPECT_EQ(test, borrower_config_read(&f->cfg, PCI_INTERRUPT_PIN, 1), 1u);
	borrower_config_intx(&f->cfg, false);
	fix_expect_post(test, f, 0, DEVLEND_AOP_INTX_DISABLE, 0);
	/* the end of an interrupt is told each time */
	borrower_config_intx(&f->cfg, false);
	fix_expect_post(test, f, 1, DEVLEND_AOP_INTX_DISABLE, 0);
	forward_write(f, PCI_COMMAND, 2, PCI_COMMAND_INTX_DISABLE);
	fix_expect_post(test, f, 2, DEVLEND_AOP_INTX_DISABLE, 1);
	borrower_config_intx(&f->cfg, false);
	fix_expect_post(test, f, 3, DEVLEND_AOP_INTX_DISABLE, 1);
	forward_write(f, PCI_COMMAND, 2, 0);
	fix_expect_post(test, f, 4, DEVLEND_AOP_INTX_DISABLE, 0);
	KUNIT_EXPECT_EQ(test, f->posts, 5u);

	/* one that found no room is told later, and not lost */
	fix_clear(f);
	f->room = 0;
	borrower_config_intx(&f->cfg, false);
	KUNIT_EXPECT_EQ(test, f->posts, 0u);
	f->room = FIX_LOG_MAX;
	borrower_config_catch_up(&f->cfg);
	fix_expect_post(test, f, 0, DEVLEND_AOP_INTX_DISABLE, 0);

	/* a reset masks it at the lender: told again when that is done, and not before */
	fix_clear(f);
	forward_write(f, FIX_EXP + PCI_EXP_DEVCTL, 2, PCI_EXP_DEVCTL_BCR_FLR);
	borrower_config_intx(&f->cfg, false);
	KUNIT_EXPECT_EQ(test, f->posts, 1u);
	borrower_config_reset_done(&f->cfg, 0);
	fix_expect_post(test, f, 1, DEVLEND_AOP_INTX_DISABLE, 0);
	KUNIT_EXPECT_EQ(test, f->posts, 2u);
}

static void lost_link_is_not_retried(struct kunit *test)
{
	struct config_fixture *f = fix_made(test);

	f->post_err = -ENOTCONN;
	forward_write(f, PCI_COMMAND, 2, PCI_COMMAND_MASTER);
	KUNIT_EXPECT_EQ(test, (unsigned int)f->cfg.owed, 0u);
	KUNIT_EXPECT_EQ(test, f->laters, 0u);
	KUNIT_EXPECT_EQ(test, f->cfg.dropped, 1u);
}

static struct kunit_case forward_cases[] = {
	KUNIT_CASE(bus_mastering_is_told_when_it_changes),
	KUNIT_CASE(no_bus_mastering_in_d3hot),
	KUNIT_CASE(d1_and_d2_do_not_exist),
	KUNIT_CASE(msi_comes_in_order),
	KUNIT_CASE(msi_without_a_message_is_off),
	KUNIT_CASE(msi_in_bytes_tells_whole_registers),
	KUNIT_CASE(msi_32_has_no_upper_half),
	KUNIT_CASE(no_more_messages_than_there_are),
	KUNIT_CASE(msix_control_is_told_when_it_changes),
	KUNIT_CASE(reset_goes_back_to_the_beginning),
	KUNIT_CASE(failed_reset_stays_silent),
	KUNIT_CASE(reset_needs_the_capability),
	KUNIT_CASE(full_queue_is_caught_up_with),
	KUNIT_CASE(switching_off_is_told_first),
	KUNIT_CASE(reset_voids_what_was_owed),
	KUNIT_CASE(lost_link_is_not_retried),
	KUNIT_CASE(intx_is_told),
	{}
};

static struct kunit_suite forward_suite = {
	.name = "devlend-borrower-config-forward",
	.test_cases = forward_cases,
};

kunit_test_suite(forward_suite);
