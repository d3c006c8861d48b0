// SPDX-License-Identifier: GPL-2.0
/*
 * The atomic lane: single frames that the peer answers in its interrupt handler.
 *
 * What it is for: the few operations of a driver that must have happened on the device when they
 * return (bus mastering off, reset begun, MSI switched), asked for in contexts that must not
 * sleep. An operation is one frame; its answer is a status that rides on the acknowledgment, so a
 * host can ask and answer at the same time with one set of words.
 *
 * Who calls it: the doorbell interrupt (poll), the link's worker (open, close, poll, resend),
 * the beat timer (peek), devlend_atomic_post() and devlend_atomic_flush(). Contexts: any, down
 * to hard IRQ; one raw spinlock, under which the service's answer to the peer is computed too:
 * a service must not post from there. Callers may hold any lock but what a service takes in its
 * answer; inside it only raw locks are taken, such as those of config accessors.
 *
 * Order: operations are sent in the order in which they were queued, one at a time. Data words are
 * written before the control word; both are posted writes of one requester, which the NTB keeps in
 * order, as does the CPU for MMIO (pairs with the reads in atomic_read_frame()).
 */
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>

#include <devlend/core.h>

#include "lane_atomic.h"
#include "transport.h"

/* Pause between two looks of a spinning waiter, in us. */
#define ATOMIC_POLL_US	10
static void atomic_write_ctl(struct devlend_lane_atomic *lane, bool ring)
{
	u32 fields = (u32)lane->tx_seq << DEVLEND_CTL_SEQ_SHIFT |
		     (u32)lane->rx_seq << DEVLEND_CTL_ACK_SHIFT |
		     (u32)lane->rx_status << DEVLEND_CTL_STATUS_SHIFT |
		     (u32)lane->sent.op << DEVLEND_CTL_OP_SHIFT;
	u32 ctl = devlend_frame_seal(lane->pair.mine, lane->pair.peer, DEVLEND_LANE_ATOMIC,
				     fields, lane->sent.data, 2);

	lane->written = jiffies;
	lane->t->ops->write(lane->t, DEVLEND_WORD_ATOMIC_CTL, ctl);
	if (ring)
		lane->t->ops->ring(lane->t);
}

static void atomic_write_frame(struct devlend_lane_atomic *lane, bool ring)
{
	lane->t->ops->write(lane->t, DEVLEND_WORD_ATOMIC_D0, lane->sent.data[0]);
	lane->t->ops->write(lane->t, DEVLEND_WORD_ATOMIC_D1, lane->sent.data[1]);
	atomic_write_ctl(lane, ring);
}

static void atomic_send_next(struct devlend_lane_atomic *lane)
{
	if (lane->busy || lane->started == lane->next)
		return;
	lane->sent = lane->queue[lane->started++ % DEVLEND_ATOMIC_QUEUE];
	lane->tx_seq = devlend_seq_next(lane->tx_seq);
	lane->busy = true;
	atomic_write_frame(lane, true);
}

static bool atomic_read_frame(struct devlend_lane_atomic *lane, u32 *ctl, u32 *data)
{
	*ctl = lane->t->ops->read(lane->t, DEVLEND_WORD_ATOMIC_CTL);
	if (*ctl == lane->rx_ctl)
		return false;
	data[0] = lane->t->ops->read(lane->t, DEVLEND_WORD_ATOMIC_D0);
	data[1] = lane->t->ops->read(lane->t, DEVLEND_WORD_ATOMIC_D1);
	if (devlend_frame_check(lane->pair.peer, lane->pair.mine, DEVLEND_LANE_ATOMIC, *ctl,
				data, 2)) {
		WRITE_ONCE(lane->rx_ctl, *ctl);
		return true;
	}
	/* a frame that is being written (its bell follows), or one of another life */
	lane->rejected++;
	return false;
}

static bool atomic_poll_locked(struct devlend_lane_atomic *lane)
{
	u32 ctl, data[2];
	unsigned int seq;
	bool news = false;

	if (!lane->pair.mine || !atomic_read_frame(lane, &ctl, data))
		return false;
	if (lane->busy && devlend_ctl_ack(ctl) == lane->tx_seq) {
		lane->busy = false;
		lane->done++;
		lane->status = (ctl >> DEVLEND_CTL_STATUS_SHIFT) & DEVLEND_CTL_NIBBLE;
		if (lane->status)
			lane->refused++;
		atomic_send_next(lane);
		news = true;
	}
	seq = devlend_ctl_seq(ctl);
	if (seq != DEVLEND_SEQ_NONE && seq == devlend_seq_next(lane->rx_seq)) {
		u8 op = (ctl >> DEVLEND_CTL_OP_SHIFT) & DEVLEND_CTL_NIBBLE;

		lane->rx_status = lane->serve(lane->ctx, op, data[0], data[1]);
		lane->rx_seq = seq;
		atomic_write_ctl(lane, true);
		news = true;
	}
	return news;
}

/**
 * devlend_lane_atomic_init() - make a lane, closed
 * @lane: the lane
 * @t: transport, outlives the lane
 * @serve: answers the peer; called with interrupts off
 * @ctx: its first argument
 */
void devlend_lane_atomic_init(struct devlend_lane_atomic *lane, struct devlend_transport *t,
			      devlend_atomic_serve_t serve, void *ctx)
{
	raw_spin_lock_init(&lane->lock);
	lane->t = t;
	lane->serve = serve;
	lane->ctx = ctx;
	lane->timeout_ms = DEVLEND_ATOMIC_TIMEOUT_MS;
}

static void atomic_reset_locked(struct devlend_lane_atomic *lane, struct devlend_pair pair)
{
	lane->pair = pair;
	lane->busy = false;
	lane->tx_seq = DEVLEND_SEQ_NONE;
	lane->rx_seq = DEVLEND_SEQ_NONE;
	lane->rx_status = 0;
	lane->rx_ctl = 0;
	lane->status = 0;
	lane->sent = (struct devlend_atomic_frame){};
	lane->started = lane->next;
	lane->done = lane->next;
	lane->generation++;
}

/**
 * devlend_lane_atomic_open() - begin a session
 * @lane: the lane
 * @pair: both epochs
 *
 * What was queued in an earlier session is dropped. Context: any.
 */
void devlend_lane_atomic_open(struct devlend_lane_atomic *lane, struct devlend_pair pair)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lane->lock, flags);
	atomic_reset_locked(lane, pair);
	raw_spin_unlock_irqrestore(&lane->lock, flags);
}

/**
 * devlend_lane_atomic_close() - end the session; waiters get -ENOTCONN
 * @lane: the lane
 *
 * Context: any. On return the transport is not touched by this lane any more.
 */
void devlend_lane_atomic_close(struct devlend_lane_atomic *lane)
{
	devlend_lane_atomic_open(lane, (struct devlend_pair){});
}

/**
 * devlend_lane_atomic_poll() - take what the peer wrote
 * @lane: the lane
 *
 * Context: any. Return: true if there was something new.
 */
bool devlend_lane_atomic_poll(struct devlend_lane_atomic *lane)
{
	unsigned long flags;
	bool news;

	raw_spin_lock_irqsave(&lane->lock, flags);
	news = atomic_poll_locked(lane);
	raw_spin_unlock_irqrestore(&lane->lock, flags);
	return news;
}

/**
 * devlend_lane_atomic_peek() - is there something that poll has not seen?
 * @lane: the lane
 *
 * Context: any; the answer may be old.
 */
bool devlend_lane_atomic_peek(struct devlend_lane_atomic *lane)
{
	return lane->t->ops->read(lane->t, DEVLEND_WORD_ATOMIC_CTL) != READ_ONCE(lane->rx_ctl);
}

static void atomic_resend_locked(struct devlend_lane_atomic *lane)
{
	if (lane->pair.mine && (lane->busy || lane->rx_seq))
		atomic_write_frame(lane, lane->busy);
}

/**
 * devlend_lane_atomic_resend() - write our words again: what the peer waits for may be lost
 * @lane: the lane
 *
 * The bell is rung only where this side waits. Context: any.
 */
void devlend_lane_atomic_resend(struct devlend_lane_atomic *lane)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lane->lock, flags);
	atomic_resend_locked(lane);
	raw_spin_unlock_irqrestore(&lane->lock, flags);
}

/**
 * devlend_lane_atomic_post() - queue an operation
 * @lane: the lane
 * @op: four bits
 * @d0: first data word
 * @d1: second data word
 *
 * Context: any, never waits. Return: 0; -ENOTCONN; -ENOBUFS when the queue is full.
 */
int devlend_lane_atomic_post(struct devlend_lane_atomic *lane, u8 op, u32 d0, u32 d1)
{
	unsigned long flags;
	int err = 0;

	raw_spin_lock_irqsave(&lane->lock, flags);
	if (!lane->pair.mine) {
		err = -ENOTCONN;
	} else if (lane->next - lane->done >= DEVLEND_ATOMIC_QUEUE) {
		err = -ENOBUFS;
	} else {
		lane->queue[lane->next++ % DEVLEND_ATOMIC_QUEUE] =
			(struct devlend_atomic_frame){ .op = op, .data = { d0, d1 } };
		atomic_send_next(lane);
	}
	raw_spin_unlock_irqrestore(&lane->lock, flags);
	return err;
}

/*
 * 1 = @id is answered, *@status is that of the last operation answered; 0 = not yet; or an
 * error. What was sent long ago is sent again. If it is too late the lane is closed: what was
 * posted behind would not be answered either.
 */
static int atomic_look(struct devlend_lane_atomic *lane, u32 id, u32 generation, bool late,
		       u8 *status)
{
	unsigned long flags;
	int ret = 0;

	raw_spin_lock_irqsave(&lane->lock, flags);
	if (lane->generation != generation || !lane->pair.mine) {
		ret = -ENOTCONN;
		goto unlock;
	}
	atomic_poll_locked(lane);
	if ((s32)(lane->done - id) > 0) {
		*status = lane->status;
		ret = 1;
	} else if (late) {
		atomic_reset_locked(lane, (struct devlend_pair){});
		ret = -ETIMEDOUT;
	} else if (time_after(jiffies, lane->written + msecs_to_jiffies(ATOMIC_RESEND_MS))) {
		atomic_resend_locked(lane);
	}
unlock:
	raw_spin_unlock_irqrestore(&lane->lock, flags);
	return ret;
}

/**
 * devlend_lane_atomic_flush() - spin until all that was queued is answered
 * @lane: the lane
 *
 * Context: any with interrupts on; at most @lane's timeout_ms, as it was at the call, after which
 * the lane is closed.
 * Return: the peer's status of the last operation (0 and above); -ENOTCONN; -ETIMEDOUT.
 */
int devlend_lane_atomic_flush(struct devlend_lane_atomic *lane)
{
	ktime_t end = ktime_add_ms(ktime_get(), READ_ONCE(lane->timeout_ms));
	u32 id, generation;
	unsigned long flags;
	u8 status = 0;
	int ret;

	raw_spin_lock_irqsave(&lane->lock, flags);
	id = lane->next - 1;
	generation = lane->generation;
	raw_spin_unlock_irqrestore(&lane->lock, flags);
	for (;;) {
		/* the clock first: an answer that came while this CPU was elsewhere counts */
		bool late = ktime_after(ktime_get(), end);

		ret = atomic_look(lane, id, generation, late, &status);
		if (ret)
			return ret < 0 ? ret : status;
		udelay(ATOMIC_POLL_US);
	}
}

/**
 * devlend_lane_atomic_is_open() - is there a session?
 * @lane: the lane
 *
 * Context: any; the answer may be old.
 */
bool devlend_lane_atomic_is_open(struct devlend_lane_atomic *lane)
{
	return READ_ONCE(lane->pair.mine);
}
