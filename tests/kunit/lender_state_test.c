// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of lender/lent_state.c: the shape of a lent device's life.
 */
#include <kunit/test.h>

#include "../../lender/lent_state.c"

/* The life that every device has. */
static void state_main_path(struct kunit *test)
{
	static const enum lender_state path[] = {
		LENDER_TAKING, LENDER_OFFERED, LENDER_BORROWED, LENDER_RETURNING,
		LENDER_OFFERED, LENDER_RECLAIMING, LENDER_GONE,
	};
	unsigned int i;

	for (i = 0; i + 1 < ARRAY_SIZE(path); i++)
		KUNIT_EXPECT_TRUE_MSG(test, lender_state_allowed(path[i], path[i + 1]),
				      "%s -> %s", lender_state_name(path[i]),
				      lender_state_name(path[i + 1]));
}

/* A borrowed device has one way out, and it leads through the reset. */
static void state_borrowed_one_way_out(struct kunit *test)
{
	enum lender_state to;

	for (to = 0; to < LENDER_STATES; to++)
		KUNIT_EXPECT_EQ(test, lender_state_allowed(LENDER_BORROWED, to),
				to == LENDER_RETURNING);
}

static void state_gone_is_terminal(struct kunit *test)
{
	enum lender_state to;

	for (to = 0; to < LENDER_STATES; to++)
		KUNIT_EXPECT_FALSE(test, lender_state_allowed(LENDER_GONE, to));
}

/* Offered and then upset: it is reset, as after a lease, before anybody gets it. */
static void state_offered_is_reset_once_more(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, lender_state_allowed(LENDER_OFFERED, LENDER_RETURNING));
	KUNIT_EXPECT_FALSE(test, lender_state_allowed(LENDER_OFFERED, LENDER_QUARANTINED));
}

/* Only a device that is quiet and offered can be borrowed. */
static void state_borrowed_one_way_in(struct kunit *test)
{
	enum lender_state from;

	for (from = 0; from < LENDER_STATES; from++)
		KUNIT_EXPECT_EQ(test, lender_state_allowed(from, LENDER_BORROWED),
				from == LENDER_OFFERED);
}

/* Whatever can be bound to the driver can be unbound by hand; a lease ends first. */
static void state_removal_from_everywhere(struct kunit *test)
{
	enum lender_state from;

	for (from = 0; from < LENDER_GONE; from++)
		KUNIT_EXPECT_EQ(test, lender_state_allowed(from, LENDER_GONE),
				from != LENDER_BORROWED);
}

static void state_out_of_range(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, lender_state_allowed(LENDER_STATES, LENDER_OFFERED));
	KUNIT_EXPECT_FALSE(test, lender_state_allowed(LENDER_TAKING, LENDER_STATES));
	KUNIT_EXPECT_STREQ(test, lender_state_name(LENDER_STATES), "invalid");
	KUNIT_EXPECT_EQ(test, lender_state_offer(LENDER_STATES), 0u);
}

/* What peers see: one available state, nothing of a device that is not there (yet, or any more). */
static void state_offers(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, lender_state_offer(LENDER_TAKING), 0u);
	KUNIT_EXPECT_EQ(test, lender_state_offer(LENDER_OFFERED), (u32)DEVLEND_OFFER_AVAILABLE);
	KUNIT_EXPECT_EQ(test, lender_state_offer(LENDER_BORROWED), (u32)DEVLEND_OFFER_LENT);
	KUNIT_EXPECT_EQ(test, lender_state_offer(LENDER_RETURNING), (u32)DEVLEND_OFFER_BUSY);
	KUNIT_EXPECT_EQ(test, lender_state_offer(LENDER_QUARANTINED),
			(u32)DEVLEND_OFFER_QUARANTINED);
	KUNIT_EXPECT_EQ(test, lender_state_offer(LENDER_RECLAIMING), 0u);
	KUNIT_EXPECT_EQ(test, lender_state_offer(LENDER_GONE), 0u);
}

static struct kunit_case state_cases[] = {
	KUNIT_CASE(state_main_path),
	KUNIT_CASE(state_borrowed_one_way_out),
	KUNIT_CASE(state_borrowed_one_way_in),
	KUNIT_CASE(state_offered_is_reset_once_more),
	KUNIT_CASE(state_gone_is_terminal),
	KUNIT_CASE(state_removal_from_everywhere),
	KUNIT_CASE(state_out_of_range),
	KUNIT_CASE(state_offers),
	{}
};

static struct kunit_suite state_suite = {
	.name = "devlend-lender-state",
	.test_cases = state_cases,
};

kunit_test_suite(state_suite);
