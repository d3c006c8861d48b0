// SPDX-License-Identifier: GPL-2.0
/*
 * The link's worker: looks at the peer's words and tells the state machine what it sees.
 *
 * One work on an ordered queue: nothing here runs twice at once. It is queued by the doorbell
 * interrupt, by the NTB's link event, by the beat timer and by callers that have something to
 * send. It owns the session (link_session.c) and the sleeping lane.
 *
 * It never waits for the peer nor for a service: calls are completed from here, and services
 * are told from a queue of their own. Locks: none held here; it takes link->lock and the lanes'
 * for moments.
 */
#define pr_fmt(fmt) "devlend: " fmt

#include <linux/jiffies.h>
#include <linux/ntb.h>

#include "link.h"

/* A handshake that takes longer is begun anew; in jiffies. */
#define LINK_HELLO_TIMEOUT	msecs_to_jiffies(5000)
/* Frames taken in one go; more wait for the next, lest a peer keep the worker for itself. */
#define LINK_FRAMES_MAX		64

static bool link_hello_valid(u32 hello)
{
	return DEVLEND_HELLO_GET_MAGIC(hello) == DEVLEND_HELLO_MAGIC;
}

static bool link_words_valid(u32 hello)
{
	return DEVLEND_HELLO_GET_WORDS(hello) >= DEVLEND_WORDS_MIN &&
	       DEVLEND_HELLO_GET_WORDS(hello) <= DEVLEND_WORDS_MAX;
}

static void link_peer_left(struct devlend_link *link, u32 epoch)
{
	/* epoch 0 is a goodbye; else it is about to announce itself again */
	if (link->peer_epoch || link->state == DEVLEND_LINK_INCOMPATIBLE)
		devlend_link_event(link, DEVLEND_LINK_EV_PEER_LEFT, 0,
				   epoch ? DEVLEND_DOWN_EPOCH : DEVLEND_DOWN_BYE);
	WRITE_ONCE(link->peer_hello, 0);
}

static void link_peer_unfit(struct devlend_link *link, u32 hello, u32 epoch)
{
	WRITE_ONCE(link->peer_hello, hello);
	link->unfit_epoch = epoch;
	devlend_link_event(link, DEVLEND_LINK_EV_MISMATCH, 0, DEVLEND_DOWN_BROKEN);
}

static void link_peer_found(struct devlend_link *link, u32 hello, u32 epoch)
{
	WRITE_ONCE(link->peer_hello, hello);
	devlend_link_event(link, epoch == link->used_epoch ? DEVLEND_LINK_EV_PEER_AGAIN :
			   DEVLEND_LINK_EV_PEER, epoch, DEVLEND_DOWN_EPOCH);
}

/* The words of a host that fell silent stand until its beat moves, or another takes its place. */
static bool link_is_shunned(struct devlend_link *link, u32 epoch)
{
	if (link->shun_epoch && link->shun_epoch == epoch &&
	    link->shun_beat == devlend_link_read(link, DEVLEND_WORD_BEAT))
		return true;
	link->shun_epoch = 0;
	return false;
}

/* Look who is there. Each word is read once. */
static void link_look_at_peer(struct devlend_link *link)
{
	u32 hello = devlend_link_read(link, DEVLEND_WORD_HELLO);
	u32 epoch = devlend_link_read(link, DEVLEND_WORD_EPOCH);

	if (!link_hello_valid(hello) || !epoch) {
		link_peer_left(link, epoch);
		return;
	}
	if (link->state == DEVLEND_LINK_INCOMPATIBLE && hello == link->peer_hello &&
	    epoch == link->unfit_epoch)
		return;
	if (DEVLEND_HELLO_GET_MAJOR(hello) != DEVLEND_WIRE_MAJOR) {
		dev_err_ratelimited(&link->dev, "the peer speaks protocol %u, this host %u: install the same major version on both\n",
				    DEVLEND_HELLO_GET_MAJOR(hello), DEVLEND_WIRE_MAJOR);
		link_peer_unfit(link, hello, epoch);
		return;
	}
	if (!link_words_valid(hello)) {
		dev_err_ratelimited(&link->dev, "the peer claims %u words, which this protocol does not know: not listening to it\n",
				    DEVLEND_HELLO_GET_WORDS(hello));
		link_peer_unfit(link, hello, epoch);
		return;
	}
	if (epoch == link->peer_epoch && hello == link->peer_hello)
		return;
	if (!link_is_shunned(link, epoch))
		link_peer_found(link, hello, epoch);
}

/* Did the peer die, as far as can be seen? */
static void link_check_silence(struct devlend_link *link)
{
	if (!link->peer_epoch)
		return;
	if (devlend_beat_is_silent(link)) {
		if (link->state == DEVLEND_LINK_UP)
			dev_warn_ratelimited(&link->dev, "no beat of the peer for %u ms: it is taken for dead\n",
					     link->beat_timeout_ms);
		link->shun_epoch = link->peer_epoch;
		link->shun_beat = devlend_link_read(link, DEVLEND_WORD_BEAT);
	} else if (!devlend_lane_atomic_is_open(&link->atomic)) {
		/* closed by who waited in vain */
		dev_warn_ratelimited(&link->dev, "no answer of the peer for %u ms: it is taken for dead\n",
				     READ_ONCE(link->atomic.timeout_ms));
	} else if (link->state != DEVLEND_LINK_HELLO ||
		   time_before(jiffies, link->adopted_at + LINK_HELLO_TIMEOUT)) {
		return;
	}
	devlend_link_event(link, DEVLEND_LINK_EV_SILENT, 0, DEVLEND_DOWN_SILENT);
}

/*
 * Write again what was written long ago, if this host waits for an answer to it; and sooner if
 * the peer rings though there is no news: then it is the peer that waits for what we believe to
 * have written.
 */
static bool link_resend_due(unsigned long written, bool waits, bool bell)
{
	unsigned long age = jiffies - written;

	return (waits && age >= msecs_to_jiffies(DEVLEND_RESEND_MS)) ||
	       (bell && age >= msecs_to_jiffies(DEVLEND_RESEND_MS / 2));
}

static void link_lanes(struct devlend_link *link, bool bell)
{
	bool news = devlend_lane_atomic_poll(&link->atomic);
	unsigned int frames = 0;
	u64 refused;

	while (devlend_lane_sleep_poll(&link->sleep)) {
		news = true;
		if (++frames < LINK_FRAMES_MAX)
			continue;
		devlend_link_kick(link);
		break;
	}
	bell = bell && !news;
	if (link_resend_due(link->sleep.written, link->sleep.flying, bell))
		devlend_lane_sleep_resend(&link->sleep);
	if (link_resend_due(READ_ONCE(link->atomic.written), READ_ONCE(link->atomic.busy), bell))
		devlend_lane_atomic_resend(&link->atomic);

	refused = READ_ONCE(link->atomic.refused);
	if (refused != link->refused_seen)
		dev_warn_ratelimited(&link->dev, "the peer refused %llu operations of the atomic lane\n",
				     refused - link->refused_seen);
	link->refused_seen = refused;
}

static void link_check_handshake(struct devlend_link *link)
{
	if (link->state != DEVLEND_LINK_HELLO)
		return;
	if (link->hello_refused)
		link_peer_unfit(link, link->peer_hello, link->peer_epoch);
	else if (link->hello_answered && link->hello_seen)
		devlend_link_event(link, DEVLEND_LINK_EV_AGREED, 0, DEVLEND_DOWN_LOCAL);
	else if (!link->peer_epoch)
		/* nobody there yet: a peer whose scratchpads were reset must find us */
		devlend_link_restate(link);
}

/**
 * devlend_link_work() - the worker
 * @work: of a link
 *
 * Context: the link's queue.
 */
void devlend_link_work(struct work_struct *work)
{
	struct devlend_link *link = container_of(work, struct devlend_link, work);
	bool bell = atomic_xchg(&link->bells, 0);

	if (link->state == DEVLEND_LINK_GONE)
		return;
	if (READ_ONCE(link->stopping)) {
		devlend_link_farewell(link);
		return;
	}
	if (!(ntb_link_is_up(link->transport.ntb, NULL, NULL) & BIT_ULL(NTB_DEF_PEER_IDX))) {
		devlend_link_event(link, DEVLEND_LINK_EV_NTB_DOWN, 0, DEVLEND_DOWN_LINK);
		return;
	}
	devlend_link_event(link, DEVLEND_LINK_EV_NTB_UP, 0, DEVLEND_DOWN_LINK);
	if (link->announce_due && !link->peer_epoch)
		devlend_link_announce(link);
	link_check_silence(link);
	link_look_at_peer(link);
	link_lanes(link, bell);
	link_check_handshake(link);
}
