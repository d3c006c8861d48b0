// SPDX-License-Identifier: GPL-2.0
/*
 * States of a lent device, as a table: which step may follow which, and how each state is
 * called in sysfs and on the wire.
 *
 * Called by lender_enter() in lent.c, the only place that changes a state, and by the
 * attributes and offers that show it. Pure: no state, no locks, any context;
 * tests/kunit/lender_state_test.c covers it.
 */
#include <linux/bits.h>
#include <linux/kernel.h>

#include <devlend/wire.h>

#include "lent_state.h"

static const struct {
	const char *name;
	u32 next;	/* bit mask of states that may follow */
	u32 offer;	/* enum devlend_offer_state; 0 = the peer is not to know of it */
} lent_states[LENDER_STATES] = {
	[LENDER_TAKING] = {
		.name = "taking",
		.next = BIT(LENDER_OFFERED) | BIT(LENDER_RECLAIMING) | BIT(LENDER_GONE),
	},
	[LENDER_OFFERED] = {
		.name = "offered",
		/* returning: it failed, or somebody else reset it, so it is reset once more */
		.next = BIT(LENDER_BORROWED) | BIT(LENDER_RETURNING) | BIT(LENDER_RECLAIMING) |
			BIT(LENDER_GONE),
		.offer = DEVLEND_OFFER_AVAILABLE,
	},
	[LENDER_BORROWED] = {
		/* whatever happens to a lease, the way out is the quiet one */
		.name = "borrowed",
		.next = BIT(LENDER_RETURNING),
		.offer = DEVLEND_OFFER_LENT,
	},
	[LENDER_RETURNING] = {
		.name = "returning",
		.next = BIT(LENDER_OFFERED) | BIT(LENDER_QUARANTINED) | BIT(LENDER_GONE),
		.offer = DEVLEND_OFFER_BUSY,
	},
	[LENDER_QUARANTINED] = {
		.name = "quarantined",
		.next = BIT(LENDER_RECLAIMING) | BIT(LENDER_GONE),
		.offer = DEVLEND_OFFER_QUARANTINED,
	},
	[LENDER_RECLAIMING] = {
		.name = "reclaiming",
		.next = BIT(LENDER_GONE),
	},
	[LENDER_GONE] = {
		.name = "gone",
	},
};

/**
 * lender_state_allowed() - may a device go from one state to another?
 * @from: state now
 * @to: state wanted
 *
 * Context: any. Return: whether the step exists.
 */
bool lender_state_allowed(enum lender_state from, enum lender_state to)
{
	return from < LENDER_STATES && to < LENDER_STATES && lent_states[from].next & BIT(to);
}

/**
 * lender_state_name() - what sysfs, uevents and logs call a state
 * @state: the state
 *
 * Context: any. Return: a constant string.
 */
const char *lender_state_name(enum lender_state state)
{
	return state < LENDER_STATES ? lent_states[state].name : "invalid";
}

/**
 * lender_state_offer() - what a peer is told
 * @state: the state
 *
 * Context: any. Return: &enum devlend_offer_state; 0 where the offer is to be withdrawn.
 */
u32 lender_state_offer(enum lender_state state)
{
	return state < LENDER_STATES ? lent_states[state].offer : 0;
}
