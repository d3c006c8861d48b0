// SPDX-License-Identifier: GPL-2.0
/*
 * The link's worker: looks at the peer's words, feeds the state machine, does what it says.
 *
 * One work on an ordered queue: nothing here runs twice at once, so the session's state
 * needs no lock but where others read it. It is queued by the doorbell interrupt, by the
 * NTB's link event, by the beat timer and by callers that have something to send.
 *
 * It never waits for the peer nor for a service: calls are completed from here, and services are
 * told from a queue of their own.
 */
#define pr_fmt(fmt) "devlend: " fmt

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ntb.h>
#include <linux/random.h>

#include "bus.h"
#include "link.h"
#include "trace.h"

/* Writes may be ignored for a moment around a link change: how long they are repeated. */
#define LINK_ANNOUNCE_TRIES	10
#define LINK_ANNOUNCE_PAUSE_US	100

static u32 link_read(struct devlend_link *link, unsigned int word)
{
	return link->transport.ops->read(&link->transport, word);
}

static void link_write(struct devlend_link *link, unsigned int word, u32 value)
{
	link->transport.ops->write(&link->transport, word, value);
}

static void link_new_epoch(struct devlend_link *link)
{
	u32 epoch;

	do {
		epoch = get_random_u32();
	} while (!epoch || epoch == link->epoch);
	WRITE_ONCE(link->epoch, epoch);
}

static void link_announce(struct devlend_link *link)
{
	struct devlend_transport *t = &link->transport;
	u32 hello = DEVLEND_HELLO(t->words);
	int tries;

	for (tries = 0; tries < LINK_ANNOUNCE_TRIES; tries++) {
		link_write(link, DEVLEND_WORD_HELLO, 0);
		link_write(link, DEVLEND_WORD_SLEEP_CTL, 0);
		link_write(link, DEVLEND_WORD_ATOMIC_CTL, 0);
		link_write(link, DEVLEND_WORD_EPOCH, link->epoch);
		/* last: who sees the hello sees the epoch too (posted writes stay in order) */
		link_write(link, DEVLEND_WORD_HELLO, hello);
		if (t->ops->read_back(t, DEVLEND_WORD_EPOCH) == link->epoch &&
		    t->ops->read_back(t, DEVLEND_WORD_HELLO) == hello)
			break;
		usleep_range(LINK_ANNOUNCE_PAUSE_US, 2 * LINK_ANNOUNCE_PAUSE_US);
	}
	if (tries == LINK_ANNOUNCE_TRIES)
		dev_warn(&link->dev, "the peer's scratchpads do not take writes; trying again with the beat\n");
	t->ops->ring(t);
}

static void link_end_session(struct devlend_link *link)
{
	devlend_lane_atomic_close(&link->atomic);
	devlend_lane_sleep_close(&link->sleep);
	link->hello_answered = false;
	link->hello_seen = false;
	WRITE_ONCE(link->peer_epoch, 0);
	spin_lock(&link->lock);
	link->session++;
	link->up_session = 0;
	spin_unlock(&link->lock);
	devlend_call_cancel_all(link);
	queue_work(link->notify_wq, &link->notify_work);
}

static void link_adopt(struct devlend_link *link)
{
	struct devlend_pair pair = {
		.mine = link->epoch,
		.peer = link_read(link, DEVLEND_WORD_EPOCH),
	};

	WRITE_ONCE(link->peer_epoch, pair.peer);
	WRITE_ONCE(link->beat_changed, jiffies);
	link->last_news = jiffies;
	devlend_lane_sleep_open(&link->sleep, pair, DEVLEND_HELLO_GET_WORDS(link->peer_hello));
	devlend_lane_atomic_open(&link->atomic, pair);
	if (devlend_call_hello(link))
		dev_warn(&link->dev, "no memory to greet the peer; it will be tried again\n");
}

static void link_up(struct devlend_link *link)
{
	spin_lock(&link->lock);
	/* 0 means "none" */
	if (!link->session)
		link->session++;
	link->up_session = link->session;
	spin_unlock(&link->lock);
	dev_info(&link->dev, "up: peer %pUb\n", &link->peer_host);
	queue_work(link->notify_wq, &link->notify_work);
}

static void link_event(struct devlend_link *link, enum devlend_link_event event,
		       enum devlend_down_reason why)
{
	enum devlend_link_state old = link->state;
	struct devlend_link_step step = devlend_link_next(old, event);

	if (step.actions & DEVLEND_LINK_DO_END) {
		link->why = why;
		link_end_session(link);
	}
	if (old == DEVLEND_LINK_UP && step.next != DEVLEND_LINK_UP)
		dev_info(&link->dev, "down: reason %d\n", why);
	WRITE_ONCE(link->state, step.next);
	trace_devlend_link_state(link->id, old, step.next, event);
	if (step.actions & DEVLEND_LINK_DO_EPOCH)
		link_new_epoch(link);
	if (step.actions & DEVLEND_LINK_DO_ANNOUNCE)
		link_announce(link);
	if (step.actions & DEVLEND_LINK_DO_ADOPT)
		link_adopt(link);
	if (step.actions & DEVLEND_LINK_DO_UP)
		link_up(link);
	if (old != step.next)
		devlend_state_changed(&link->dev, devlend_link_state_name(step.next));
}

static bool link_hello_valid(u32 hello)
{
	return DEVLEND_HELLO_GET_MAGIC(hello) == DEVLEND_HELLO_MAGIC &&
	       DEVLEND_HELLO_GET_WORDS(hello) >= DEVLEND_WORDS_MIN &&
	       DEVLEND_HELLO_GET_WORDS(hello) <= DEVLEND_WORDS_MAX;
}

/* Look who is there. Each word is read once. */
static void link_look_at_peer(struct devlend_link *link)
{
	u32 hello = link_read(link, DEVLEND_WORD_HELLO);
	u32 epoch = link_read(link, DEVLEND_WORD_EPOCH);

	if (!link_hello_valid(hello) || !epoch) {
		if (link->peer_epoch || link->state == DEVLEND_LINK_INCOMPATIBLE)
			link_event(link, DEVLEND_LINK_EV_PEER_LEFT, DEVLEND_DOWN_BYE);
		link->peer_hello = 0;
		return;
	}
	if (DEVLEND_HELLO_GET_MAJOR(hello) != DEVLEND_WIRE_MAJOR) {
		if (hello != link->peer_hello) {
			dev_err(&link->dev, "the peer speaks protocol %u, this host %u: install the same major version on both\n",
				DEVLEND_HELLO_GET_MAJOR(hello), DEVLEND_WIRE_MAJOR);
			link->peer_hello = hello;
			link_event(link, DEVLEND_LINK_EV_MISMATCH, DEVLEND_DOWN_BROKEN);
		}
		return;
	}
	if (epoch != link->peer_epoch) {
		link->peer_hello = hello;
		link_event(link, DEVLEND_LINK_EV_PEER, DEVLEND_DOWN_EPOCH);
	}
}

static void link_lanes(struct devlend_link *link, bool bell)
{
	bool news = devlend_lane_atomic_poll(&link->atomic);

	while (devlend_lane_sleep_poll(&link->sleep))
		news = true;
	if (news) {
		link->last_news = jiffies;
		return;
	}
	/*
	 * A bell without news: the peer waits for what we believe to have written. And what was sent, but not
	 * acknowledged for long, is written again.
	 */
	if (!time_after(jiffies, link->last_news + msecs_to_jiffies(DEVLEND_RESEND_MS) / 2))
		return;
	if (bell || link->sleep.flying || link->atomic.busy) {
		link->last_news = jiffies;
		devlend_lane_sleep_resend(&link->sleep);
		devlend_lane_atomic_resend(&link->atomic);
	}
}

/**
 * devlend_link_hello_done() - half of the handshake was done
 * @link: the link
 * @answered: the peer answered our hello
 * @seen: the peer's hello came and was answered
 *
 * Context: the link's worker (called back from the sleeping lane).
 */
void devlend_link_hello_done(struct devlend_link *link, bool answered, bool seen)
{
	link->hello_answered |= answered;
	link->hello_seen |= seen;
}

/**
 * devlend_link_work() - the worker
 * @work: of a link
 */
void devlend_link_work(struct work_struct *work)
{
	struct devlend_link *link = container_of(work, struct devlend_link, work);
	bool bell = atomic_xchg(&link->bells, 0);

	if (link->state == DEVLEND_LINK_GONE)
		return;
	if (ntb_link_is_up(link->transport.ntb, NULL, NULL) != 1) {
		link_event(link, DEVLEND_LINK_EV_NTB_DOWN, DEVLEND_DOWN_LINK);
		return;
	}
	link_event(link, DEVLEND_LINK_EV_NTB_UP, DEVLEND_DOWN_LINK);
	if (xchg(&link->failed, false) ||
	    (link->peer_epoch && devlend_beat_is_silent(link))) {
		if (link->state == DEVLEND_LINK_UP)
			dev_warn(&link->dev, "the peer has been silent for %u ms: it is taken for dead\n",
				 link->beat_timeout_ms);
		link_event(link, DEVLEND_LINK_EV_SILENT, DEVLEND_DOWN_SILENT);
	}
	link_look_at_peer(link);
	link_lanes(link, bell);
	if (link->state == DEVLEND_LINK_HELLO && link->hello_answered && link->hello_seen)
		link_event(link, DEVLEND_LINK_EV_AGREED, DEVLEND_DOWN_LINK);
}

/**
 * devlend_link_stop() - end the session for good and tell the peer
 * @link: the link; its bell is masked, its timer stopped, its work will not be queued again
 *
 * Context: process, after the link's work was cancelled. The NTB still works.
 */
void devlend_link_stop(struct devlend_link *link)
{
	link_event(link, DEVLEND_LINK_EV_REMOVE, DEVLEND_DOWN_LOCAL);
	link_write(link, DEVLEND_WORD_HELLO, 0);
	link_write(link, DEVLEND_WORD_EPOCH, 0);
	link->transport.ops->ring(&link->transport);
}
