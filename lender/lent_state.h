/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LENDER_LENT_STATE_H
#define LENDER_LENT_STATE_H

#include <linux/types.h>

/**
 * enum lender_state - life of a lent device
 * @LENDER_TAKING: being taken from its driver; not visible yet
 * @LENDER_OFFERED: quiet, reset, waiting for a borrower
 * @LENDER_BORROWED: a lease exists; only in this state does the peer reach the device
 * @LENDER_RETURNING: the lease is void; windows close, the device is stopped and reset
 * @LENDER_QUARANTINED: it could not be reset: not lent again until reclaimed
 * @LENDER_RECLAIMING: on the way back to its driver
 * @LENDER_GONE: given back, or removed; terminal
 * @LENDER_STATES: number of states
 */
enum lender_state {
	LENDER_TAKING,
	LENDER_OFFERED,
	LENDER_BORROWED,
	LENDER_RETURNING,
	LENDER_QUARANTINED,
	LENDER_RECLAIMING,
	LENDER_GONE,
	LENDER_STATES,
};

bool lender_state_allowed(enum lender_state from, enum lender_state to);
const char *lender_state_name(enum lender_state state);
u32 lender_state_offer(enum lender_state state);

#endif /* LENDER_LENT_STATE_H */
