/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BORROWER_LEASE_STATE_H
#define BORROWER_LEASE_STATE_H

#include <linux/types.h>

/**
 * enum borrower_lease_state - life of a lease on the borrowing host
 * @BORROWER_LEASE_BORROWING: the steps of a borrow are under way; no driver is bound yet
 * @BORROWER_LEASE_ACTIVE: the shadow is there
 * @BORROWER_LEASE_RETURNING: being taken down in order; the lender still answers
 * @BORROWER_LEASE_DYING: being taken down alone; the lender is not asked any more
 * @BORROWER_LEASE_GONE: nothing is left but the object
 * @BORROWER_LEASE_STATES: number of states
 */
enum borrower_lease_state {
	BORROWER_LEASE_BORROWING,
	BORROWER_LEASE_ACTIVE,
	BORROWER_LEASE_RETURNING,
	BORROWER_LEASE_DYING,
	BORROWER_LEASE_GONE,
	BORROWER_LEASE_STATES,
};

const char *borrower_lease_state_name(enum borrower_lease_state state);
bool borrower_lease_may_enter(enum borrower_lease_state from, enum borrower_lease_state to);

#endif /* BORROWER_LEASE_STATE_H */
