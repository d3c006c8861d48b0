// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of borrower/slot.c: which PCI domain a borrowed device appears in.
 *
 * The host has a domain of somebody else's (as VMD has), where a case says so. The table is one for
 * all cases: each begins with an empty one.
 */
#include <kunit/test.h>
#include <linux/string.h>

#include "../../borrower/slot.c"

/* number of a domain that somebody else has; 0 = none */
static int slot_foreign;

int borrower_bridge_domain_free(int domain)
{
	return domain == slot_foreign ? -EEXIST : 0;
}

static int slot_test_init(struct kunit *test)
{
	memset(slots, 0, sizeof(slots));
	slot_foreign = 0;
	return 0;
}

static struct devlend_wire_offer_id slot_offer(u8 host, u16 bdf)
{
	struct devlend_wire_offer_id id = { .bdf = cpu_to_le16(bdf) };

	memset(&id.host, host, sizeof(id.host));
	return id;
}

static void slot_test_same_again(struct kunit *test)
{
	struct devlend_wire_offer_id one = slot_offer(1, 0x30), two = slot_offer(1, 0x38);

	KUNIT_EXPECT_EQ(test, borrower_slot_get(&one, -1), 0);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&two, -1), 1);
	borrower_slot_put(0);
	borrower_slot_put(1);
	/* in another order, and in another generation */
	two.generation = cpu_to_le32(7);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&two, -1), 1);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&one, -1), 0);
}

static void slot_test_equal_addresses(struct kunit *test)
{
	/* drives of two lenders, and of two segments of one: nothing but that tells them apart */
	struct devlend_wire_offer_id one = slot_offer(1, 0x30), two = slot_offer(2, 0x30);
	struct devlend_wire_offer_id three = one;

	three.domain = cpu_to_le32(1);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&one, -1), 0);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&two, -1), 1);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&three, -1), 2);
	borrower_slot_put(0);
	/* what is remembered for one is the last to be given to another */
	two.bdf = cpu_to_le16(0x40);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&two, -1), 3);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&one, -1), 0);
}

static void slot_test_wish(struct kunit *test)
{
	struct devlend_wire_offer_id one = slot_offer(1, 0x30), two = slot_offer(1, 0x38);

	KUNIT_EXPECT_EQ(test, borrower_slot_get(&one, SLOT_COUNT), -EINVAL);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&one, SLOT_COUNT - 1), SLOT_COUNT - 1);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&two, SLOT_COUNT - 1), -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&two, -1), 0);
	borrower_slot_put(SLOT_COUNT - 1);
	/* the wish is what is remembered */
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&one, 5), 5);
	borrower_slot_put(5);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&one, -1), 5);
}

static void slot_test_foreign_domain(struct kunit *test)
{
	struct devlend_wire_offer_id one = slot_offer(1, 0x30), two = slot_offer(1, 0x38);

	slot_foreign = borrower_slot_domain(0);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&one, 0), -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&one, -1), 1);
	borrower_slot_put(1);
	/* it came while the slot was remembered only */
	slot_foreign = borrower_slot_domain(1);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&one, -1), 0);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&two, -1), 2);
}

static void slot_test_all_used(struct kunit *test)
{
	struct devlend_wire_offer_id id = slot_offer(1, 0);
	unsigned int i;

	for (i = 0; i < SLOT_COUNT; i++) {
		id.bdf = cpu_to_le16(i);
		KUNIT_EXPECT_EQ(test, borrower_slot_get(&id, -1), i);
	}
	id.bdf = cpu_to_le16(SLOT_COUNT);
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&id, -1), -ENOSPC);
	borrower_slot_put(7);
	/* nobody's is left: that of one who has given it back will do */
	KUNIT_EXPECT_EQ(test, borrower_slot_get(&id, -1), 7);
}

static void slot_test_base(struct kunit *test)
{
	static const struct {
		unsigned int base;
		bool valid;
	} cases[] = {
		{ 0x8000, true }, { 0x18000, true }, { 0xff00, true }, { 0x1, true },
		/* IOMMU drivers know the low 16 bits only: segment 0, and what wraps to it */
		{ 0, false }, { 0x10000, false }, { 0xff01, false }, { 0x1ff01, false },
		/* not a positive number any more */
		{ 0x7fffff80, false }, { 0xffff8000, false },
	};
	unsigned int i, base = domain_base;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		domain_base = cases[i].base;
		KUNIT_EXPECT_EQ_MSG(test, borrower_slot_base_valid(), cases[i].valid, "%#x",
				    cases[i].base);
	}
	domain_base = base;
}

static struct kunit_case slot_cases[] = {
	KUNIT_CASE(slot_test_same_again),
	KUNIT_CASE(slot_test_equal_addresses),
	KUNIT_CASE(slot_test_wish),
	KUNIT_CASE(slot_test_foreign_domain),
	KUNIT_CASE(slot_test_all_used),
	KUNIT_CASE(slot_test_base),
	{}
};

static struct kunit_suite slot_suite = {
	.name = "devlend-borrower-slot",
	.init = slot_test_init,
	.test_cases = slot_cases,
};

kunit_test_suite(slot_suite);
