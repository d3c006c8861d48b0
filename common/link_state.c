// SPDX-License-Identifier: GPL-2.0
/*
 * The link's state machine: one pure function, from state and event to state and actions.
 *
 * Who calls it: the link's worker, and the unit tests. It owns nothing, touches nothing and
 * takes no lock.
 *
 * Two rules keep two such machines from working against each other:
 *
 * - Our own epoch changes for reasons of our own (no link, a silent peer), never in answer
 *   to the peer's new epoch: else two hosts would chase each other for ever.
 * - A pair of epochs serves one session at most, since the frames' numbers begin anew in
 *   each. So if a peer left and came back under the same epoch, it is we who take a new one.
 */
#include "link_state.h"

static struct devlend_link_step step(enum devlend_link_state next, unsigned int actions)
{
	return (struct devlend_link_step){ .next = next, .actions = actions };
}

/**
 * devlend_link_next() - what an event does to a link
 * @state: where it is
 * @event: what happened
 *
 * Context: any. Return: the new state, and what must be done.
 */
struct devlend_link_step devlend_link_next(enum devlend_link_state state,
					   enum devlend_link_event event)
{
	if (state == DEVLEND_LINK_GONE)
		return step(DEVLEND_LINK_GONE, 0);

	switch (event) {
	case DEVLEND_LINK_EV_REMOVE:
		return step(DEVLEND_LINK_GONE, DEVLEND_LINK_DO_END);
	case DEVLEND_LINK_EV_NTB_DOWN:
		if (state == DEVLEND_LINK_DOWN)
			break;
		return step(DEVLEND_LINK_DOWN, DEVLEND_LINK_DO_END | DEVLEND_LINK_DO_EPOCH);
	case DEVLEND_LINK_EV_NTB_UP:
		if (state != DEVLEND_LINK_DOWN)
			break;
		return step(DEVLEND_LINK_HELLO, DEVLEND_LINK_DO_ANNOUNCE);
	case DEVLEND_LINK_EV_PEER:
		if (state == DEVLEND_LINK_DOWN)
			break;
		return step(DEVLEND_LINK_HELLO, DEVLEND_LINK_DO_END | DEVLEND_LINK_DO_ADOPT);
	case DEVLEND_LINK_EV_PEER_AGAIN:
		if (state == DEVLEND_LINK_DOWN)
			break;
		return step(DEVLEND_LINK_HELLO, DEVLEND_LINK_DO_END | DEVLEND_LINK_DO_EPOCH |
			    DEVLEND_LINK_DO_ANNOUNCE | DEVLEND_LINK_DO_ADOPT);
	case DEVLEND_LINK_EV_PEER_LEFT:
		if (state == DEVLEND_LINK_DOWN)
			break;
		return step(DEVLEND_LINK_HELLO, DEVLEND_LINK_DO_END);
	case DEVLEND_LINK_EV_MISMATCH:
		if (state == DEVLEND_LINK_DOWN)
			break;
		return step(DEVLEND_LINK_INCOMPATIBLE, DEVLEND_LINK_DO_END);
	case DEVLEND_LINK_EV_AGREED:
		if (state != DEVLEND_LINK_HELLO)
			break;
		return step(DEVLEND_LINK_UP, DEVLEND_LINK_DO_UP);
	case DEVLEND_LINK_EV_SILENT:
		if (state != DEVLEND_LINK_HELLO && state != DEVLEND_LINK_UP)
			break;
		return step(DEVLEND_LINK_HELLO, DEVLEND_LINK_DO_END | DEVLEND_LINK_DO_EPOCH |
			    DEVLEND_LINK_DO_ANNOUNCE);
	default:
		break;
	}
	return step(state, 0);
}

/**
 * devlend_link_state_name() - a state as sysfs shows it
 * @state: the state
 */
const char *devlend_link_state_name(enum devlend_link_state state)
{
	static const char * const names[DEVLEND_LINK_STATES] = {
		[DEVLEND_LINK_DOWN] = "down",
		[DEVLEND_LINK_HELLO] = "hello",
		[DEVLEND_LINK_UP] = "up",
		[DEVLEND_LINK_INCOMPATIBLE] = "incompatible",
		[DEVLEND_LINK_GONE] = "gone",
	};

	return state < DEVLEND_LINK_STATES ? names[state] : "unknown";
}
