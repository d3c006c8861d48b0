// SPDX-License-Identifier: GPL-2.0
/*
 * The states of a lease and the ways between them, as a table. Pure; the one function that
 * moves a lease is borrower_lease_enter() in lease.c, under the lease's lock.
 *
 *   BORROWING -> ACTIVE -> RETURNING -> GONE     in order
 *   BORROWING -> RETURNING                       the borrow failed
 *   any of these three -> DYING -> GONE          the lender, or the NTB, is lost
 */
#include <linux/bits.h>
#include <linux/kernel.h>

#include "lease_state.h"

static const struct {
	const char *name;
	unsigned int next;
} lease_states[BORROWER_LEASE_STATES] = {
	[BORROWER_LEASE_BORROWING] = {
		"borrowing",
		BIT(BORROWER_LEASE_ACTIVE) | BIT(BORROWER_LEASE_RETURNING) |
		BIT(BORROWER_LEASE_DYING),
	},
	[BORROWER_LEASE_ACTIVE] = {
		"active",
		BIT(BORROWER_LEASE_RETURNING) | BIT(BORROWER_LEASE_DYING),
	},
	[BORROWER_LEASE_RETURNING] = {
		"returning",
		BIT(BORROWER_LEASE_DYING) | BIT(BORROWER_LEASE_GONE),
	},
	[BORROWER_LEASE_DYING] = {
		"dying",
		BIT(BORROWER_LEASE_GONE),
	},
	[BORROWER_LEASE_GONE] = {
		"gone",
		0,
	},
};

/**
 * borrower_lease_state_name() - the word that the state attribute shows
 * @state: a state
 *
 * Context: any. Return: a constant string.
 */
const char *borrower_lease_state_name(enum borrower_lease_state state)
{
	return state < BORROWER_LEASE_STATES ? lease_states[state].name : "unknown";
}

/**
 * borrower_lease_may_enter() - is there a way between two states?
 * @from: the state now
 * @to: the state wanted
 *
 * Context: any. Return: whether the table has the way.
 */
bool borrower_lease_may_enter(enum borrower_lease_state from, enum borrower_lease_state to)
{
	return from < BORROWER_LEASE_STATES && to < BORROWER_LEASE_STATES &&
	       lease_states[from].next & BIT(to);
}
