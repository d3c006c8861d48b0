/* SPDX-License-Identifier: GPL-2.0 */
/* The link's state machine, pure; see link_state.c. */
#ifndef DEVLEND_LINK_STATE_H
#define DEVLEND_LINK_STATE_H

#include <linux/bits.h>
#include <linux/types.h>

/**
 * enum devlend_link_state - what a link is
 * @DEVLEND_LINK_DOWN: the NTB has no link
 * @DEVLEND_LINK_HELLO: the NTB has a link; the peer is not there, or not yet agreed with
 * @DEVLEND_LINK_UP: calls can be made
 * @DEVLEND_LINK_INCOMPATIBLE: the peer's version cannot work with ours; ends when its
 *	hello or epoch changes
 * @DEVLEND_LINK_GONE: the NTB was taken from us; terminal
 * @DEVLEND_LINK_STATES: number of states
 */
enum devlend_link_state {
	DEVLEND_LINK_DOWN,
	DEVLEND_LINK_HELLO,
	DEVLEND_LINK_UP,
	DEVLEND_LINK_INCOMPATIBLE,
	DEVLEND_LINK_GONE,
	DEVLEND_LINK_STATES,
};

/**
 * enum devlend_link_event - what may happen to it
 * @DEVLEND_LINK_EV_NTB_UP: the NTB reports a link
 * @DEVLEND_LINK_EV_NTB_DOWN: the NTB reports none
 * @DEVLEND_LINK_EV_PEER: a peer with our major version and a new epoch is there
 * @DEVLEND_LINK_EV_PEER_AGAIN: the same, with an epoch that we had a session with in our
 *	present one
 * @DEVLEND_LINK_EV_PEER_LEFT: the peer's hello word went away
 * @DEVLEND_LINK_EV_MISMATCH: a peer with another major version is there, or one that
 *	refused our hello
 * @DEVLEND_LINK_EV_AGREED: both hellos were answered
 * @DEVLEND_LINK_EV_SILENT: the peer's beat stopped, or it did not answer in time
 * @DEVLEND_LINK_EV_REMOVE: the NTB goes, or this module
 * @DEVLEND_LINK_EVENTS: number of events
 */
enum devlend_link_event {
	DEVLEND_LINK_EV_NTB_UP,
	DEVLEND_LINK_EV_NTB_DOWN,
	DEVLEND_LINK_EV_PEER,
	DEVLEND_LINK_EV_PEER_AGAIN,
	DEVLEND_LINK_EV_PEER_LEFT,
	DEVLEND_LINK_EV_MISMATCH,
	DEVLEND_LINK_EV_AGREED,
	DEVLEND_LINK_EV_SILENT,
	DEVLEND_LINK_EV_REMOVE,
	DEVLEND_LINK_EVENTS,
};

/* what must be done on a transition */
#define DEVLEND_LINK_DO_END	BIT(0)	/* end the session, if there is one */
#define DEVLEND_LINK_DO_EPOCH	BIT(1)	/* take a new epoch of our own */
#define DEVLEND_LINK_DO_ANNOUNCE BIT(2)	/* write epoch and hello */
#define DEVLEND_LINK_DO_ADOPT	BIT(3)	/* begin a session with the peer's epoch */
#define DEVLEND_LINK_DO_UP	BIT(4)	/* tell the services */

/**
 * struct devlend_link_step - result of a transition
 * @next: new state
 * @actions: DEVLEND_LINK_DO_*, to be done in the order of their bits
 */
struct devlend_link_step {
	enum devlend_link_state next;
	unsigned int actions;
};

struct devlend_link_step devlend_link_next(enum devlend_link_state state,
					   enum devlend_link_event event);
const char *devlend_link_state_name(enum devlend_link_state state);

#endif /* DEVLEND_LINK_STATE_H */
