// SPDX-License-Identifier: GPL-2.0
/* KUnit suite of borrower/lease_state.c: every way between two states, allowed or not. */
#include <kunit/test.h>

#include "../../borrower/lease_state.c"

static void lease_state_ways(struct kunit *test)
{
	/* rows: from; columns: borrowing, active, returning, dying, gone */
	static const bool way[BORROWER_LEASE_STATES][BORROWER_LEASE_STATES] = {
		{ 0, 1, 1, 1, 0 },
		{ 0, 0, 1, 1, 0 },
		{ 0, 0, 0, 1, 1 },
		{ 0, 0, 0, 0, 1 },
		{ 0, 0, 0, 0, 0 },
	};
	int from, to;

	for (from = 0; from < BORROWER_LEASE_STATES; from++)
		for (to = 0; to < BORROWER_LEASE_STATES; to++)
			KUNIT_EXPECT_EQ_MSG(test, borrower_lease_may_enter(from, to),
					    way[from][to], "%s -> %s",
					    borrower_lease_state_name(from),
					    borrower_lease_state_name(to));
}

static void lease_state_out_of_range(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, borrower_lease_may_enter(BORROWER_LEASE_STATES, 0));
	KUNIT_EXPECT_FALSE(test, borrower_lease_may_enter(0, BORROWER_LEASE_STATES));
	KUNIT_EXPECT_STREQ(test, borrower_lease_state_name(BORROWER_LEASE_STATES), "unknown");
}

static void lease_state_names(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, borrower_lease_state_name(BORROWER_LEASE_ACTIVE), "active");
	KUNIT_EXPECT_STREQ(test, borrower_lease_state_name(BORROWER_LEASE_GONE), "gone");
}

static struct kunit_case lease_state_cases[] = {
	KUNIT_CASE(lease_state_ways),
	KUNIT_CASE(lease_state_out_of_range),
	KUNIT_CASE(lease_state_names),
	{}
};

static struct kunit_suite lease_state_suite = {
	.name = "devlend-borrower-lease-state",
	.test_cases = lease_state_cases,
};

kunit_test_suite(lease_state_suite);
