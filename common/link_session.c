// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: what the state machine's actions do. A session is a pair of epochs, ours and the
 * peer's, with both lanes open, from the moment that the peer is found until either host ends
 * it.
 *
 * Who calls it: the link's worker (link_work.c) and, from within it, call.c for the handshake.
 * All functions here run in that one work, so what they write needs no lock but where others
 * read it: link->lock for what is counted or compared, READ_ONCE and WRITE_ONCE for single
 * words. Nothing here waits for the peer or for a service.
 *
 * Order at the end of a session: lanes closed (nothing more is sent, waiters of the atomic lane
 * fail), then the session's number changes, then calls are cancelled, then services are told. A
 * call that was made meanwhile either finds its lane closed or is on the list when it is
 * cancelled.
 */
#define pr_fmt(fmt) "devlend: " fmt

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/random.h>

#include "link.h"
#include "trace.h"

/* Writes may be ignored for a moment around a link change: how long they are repeated. */
#define SESSION_ANNOUNCE_TRIES		10
#define SESSION_ANNOUNCE_PAUSE_US	100

static const char *session_reason(enum devlend_down_reason why)
{
	static const char * const names[] = {
		[DEVLEND_DOWN_LINK] = "the NTB's link is down",
		[DEVLEND_DOWN_EPOCH] = "the peer began anew",
		[DEVLEND_DOWN_SILENT] = "the peer is silent",
		[DEVLEND_DOWN_BYE] = "the peer said goodbye",
		[DEVLEND_DOWN_LOCAL] = "stopped on this host",
		[DEVLEND_DOWN_BROKEN] = "the peer does not keep to the protocol",
	};

	return why < ARRAY_SIZE(names) ? names[why] : "unknown";
}

static void session_new_epoch(struct devlend_link *link)
{
	u32 epoch;

	do {
		epoch = get_random_u32();
	} while (!epoch || epoch == link->epoch);
	WRITE_ONCE(link->epoch, epoch);
	link->used_epoch = 0;
}

/* Did the peer's scratchpads take the words that matter? */
static bool session_announced(struct devlend_link *link)
{
	struct devlend_transport *t = &link->transport;

	return t->ops->read_back(t, DEVLEND_WORD_EPOCH) == link->epoch &&
	       t->ops->read_back(t, DEVLEND_WORD_HELLO) == DEVLEND_HELLO(t->words);
}

/**
 * devlend_link_restate() - write epoch and hello again, should the peer's scratchpads have lost
 * them
 * @link: the link
 *
 * Context: the link's worker.
 */
void devlend_link_restate(struct devlend_link *link)
{
	devlend_link_write(link, DEVLEND_WORD_EPOCH, link->epoch);
	/* last: who sees the hello sees the epoch too (posted writes stay in order) */
	devlend_link_write(link, DEVLEND_WORD_HELLO, DEVLEND_HELLO(link->transport.words));
}

/**
 * devlend_link_announce() - tell the peer that this host is there, under its present epoch
 * @link: the link; no session is open
 *
 * Context: the link's worker; sleeps up to a few milliseconds.
 */
void devlend_link_announce(struct devlend_link *link)
{
	int tries;

	devlend_link_write(link, DEVLEND_WORD_HELLO, 0);
	devlend_link_write(link, DEVLEND_WORD_SLEEP_CTL, 0);
	devlend_link_write(link, DEVLEND_WORD_ATOMIC_CTL, 0);
	for (tries = 0; tries < SESSION_ANNOUNCE_TRIES; tries++) {
		devlend_link_restate(link);
		link->announce_due = !session_announced(link);
		if (!link->announce_due)
			break;
		usleep_range(SESSION_ANNOUNCE_PAUSE_US, 2 * SESSION_ANNOUNCE_PAUSE_US);
	}
	if (link->announce_due && !link->announce_failed)
		dev_warn(&link->dev, "the peer's scratchpads do not take writes; trying again with every beat\n");
	link->announce_failed = link->announce_due;
	link->transport.ops->ring(&link->transport);
}

static void session_end(struct devlend_link *link, enum devlend_down_reason why)
{
	devlend_lane_atomic_close(&link->atomic);
	devlend_lane_sleep_close(&link->sleep);
	link->hello_answered = false;
	link->hello_seen = false;
	link->hello_refused = false;
	WRITE_ONCE(link->peer_epoch, 0);
	spin_lock(&link->lock);
	link->session = link->session + 1 ?: 1;
	WRITE_ONCE(link->up_session, 0);
	WRITE_ONCE(link->why, why);
	spin_unlock(&link->lock);
	devlend_call_cancel_all(link);
	devlend_service_link_changed(link);
}

static void session_adopt(struct devlend_link *link, u32 epoch)
{
	struct devlend_pair pair = { .mine = link->epoch, .peer = epoch };

	WRITE_ONCE(link->peer_epoch, epoch);
	WRITE_ONCE(link->beat_changed, jiffies);
	link->used_epoch = epoch;
	link->adopted_at = jiffies;
	/* a peer that was reset has lost what we wrote before it came */
	devlend_link_restate(link);
	devlend_lane_sleep_open(&link->sleep, pair, DEVLEND_HELLO_GET_WORDS(link->peer_hello),
				link->session);
	devlend_lane_atomic_open(&link->atomic, pair);
	/* the handshake's time-out tries again */
	if (devlend_call_hello(link))
		dev_warn_ratelimited(&link->dev, "no memory to greet the peer\n");
}

/* Offers are known by their host: two hosts of one name would be taken for one. */
static void session_check_name(struct devlend_link *link)
{
	uuid_t self;

	devlend_host_uuid(&self);
	if (uuid_equal(&self, &link->peer_host))
		dev_warn_ratelimited(&link->dev, "the peer has this host's own UUID %pUb: give one of the two another by devlend_core.host, unless the cable leads back to this host\n",
				     &self);
}

static void session_up(struct devlend_link *link)
{
	spin_lock(&link->lock);
	WRITE_ONCE(link->up_session, link->session);
	spin_unlock(&link->lock);
	dev_info_ratelimited(&link->dev, "up: host %pUb\n", &link->peer_host);
	session_check_name(link);
	devlend_service_link_changed(link);
}

/**
 * devlend_link_event() - feed the state machine and do what it says
 * @link: the link; for a new peer @link->peer_hello and its epoch word are those of the peer
 * @event: what happened
 * @epoch: of %DEVLEND_LINK_EV_PEER and %DEVLEND_LINK_EV_PEER_AGAIN: the peer's
 * @why: what the services are told if this ends a session
 *
 * Context: the link's worker.
 */
void devlend_link_event(struct devlend_link *link, enum devlend_link_event event, u32 epoch,
			enum devlend_down_reason why)
{
	enum devlend_link_state old = link->state;
	struct devlend_link_step step = devlend_link_next(old, event);

	if (old == step.next && !step.actions)
		return;
	trace_devlend_link_state(link->id, old, step.next, event);
	if (step.actions & DEVLEND_LINK_DO_END)
		session_end(link, why);
	WRITE_ONCE(link->state, step.next);
	if (old == DEVLEND_LINK_UP)
		dev_info_ratelimited(&link->dev, "down: %s\n", session_reason(why));
	if (step.actions & DEVLEND_LINK_DO_EPOCH)
		session_new_epoch(link);
	if (step.actions & DEVLEND_LINK_DO_ANNOUNCE)
		devlend_link_announce(link);
	if (step.actions & DEVLEND_LINK_DO_ADOPT)
		session_adopt(link, epoch);
	if (step.actions & DEVLEND_LINK_DO_UP)
		session_up(link);
	if (old != step.next)
		devlend_state_changed(&link->dev, devlend_link_state_name(step.next));
}

/**
 * devlend_link_hello_done() - a part of the handshake was done
 * @link: the link
 * @answered: the peer answered our hello
 * @seen: the peer's hello came and was answered
 * @refused: one of us cannot work with the other's features
 *
 * Context: the link's worker (called back from the sleeping lane); it looks at the outcome
 * afterwards.
 */
void devlend_link_hello_done(struct devlend_link *link, bool answered, bool seen, bool refused)
{
	link->hello_answered |= answered;
	link->hello_seen |= seen;
	link->hello_refused |= refused;
}

/**
 * devlend_link_farewell() - end the link for good and tell the peer
 * @link: the link; its NTB still works
 *
 * Context: the link's worker.
 */
void devlend_link_farewell(struct devlend_link *link)
{
	devlend_link_event(link, DEVLEND_LINK_EV_REMOVE, 0, DEVLEND_DOWN_LOCAL);
	/* epoch 0 is what tells a goodbye from a host that begins anew */
	devlend_link_write(link, DEVLEND_WORD_EPOCH, 0);
	devlend_link_write(link, DEVLEND_WORD_HELLO, 0);
	link->transport.ops->ring(&link->transport);
}
