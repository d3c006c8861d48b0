// SPDX-License-Identifier: GPL-2.0
/*
 * The sleeping lane: whole messages, cut into frames, one frame at a time.
 *
 * Who calls it: the link's ordered worker (open, close, poll, resend: never two at once), and
 * anyone who may take a spinlock (queue). It owns the messages that are queued.
 *
 * Stop and wait: the data words change only when the peer acknowledged the frame before. An
 * acknowledgment rewrites the control word alone. A frame that arrives twice (the
 * acknowledgment was lost) is acknowledged again by resend, not delivered again. Data words
 * are written before the control word; posted writes of one requester stay in order through the
 * NTB, so a receiver that sees a control word whose check holds has the data that belongs to it
 * (pairs with the reads in sleep_read_frame()).
 */
#include <linux/crc32.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <devlend/compat.h>

#include "lane_sleep.h"
#include "transport.h"

/* More than this cannot be in use by an honest host: requests and replies are bounded. */
#define SLEEP_QUEUE_MAX	128

static unsigned int sleep_word(unsigned int i)
{
	return i ? DEVLEND_WORD_SLEEP_MORE + i - 1 : DEVLEND_WORD_SLEEP_DATA;
}

static unsigned int sleep_fields_words(u32 ctl)
{
	return (ctl >> DEVLEND_CTL_WORDS_SHIFT) & DEVLEND_CTL_NIBBLE;
}

static void sleep_write_ctl(struct devlend_lane_sleep *lane, bool ring)
{
	u32 fields = lane->fields | (u32)lane->rx_seq << DEVLEND_CTL_ACK_SHIFT;
	u32 ctl = devlend_frame_seal(lane->pair.mine, lane->pair.peer, DEVLEND_LANE_SLEEP, fields,
				     lane->data, sleep_fields_words(fields));

	lane->written = jiffies;
	lane->t->ops->write(lane->t, DEVLEND_WORD_SLEEP_CTL, ctl);
	if (ring)
		lane->t->ops->ring(lane->t);
}

static void sleep_write_frame(struct devlend_lane_sleep *lane, bool ring)
{
	unsigned int i;

	for (i = 0; i < sleep_fields_words(lane->fields); i++)
		lane->t->ops->write(lane->t, sleep_word(i), lane->data[i]);
	sleep_write_ctl(lane, ring);
}

static struct devlend_msg *sleep_first(struct devlend_lane_sleep *lane)
{
	struct devlend_msg *msg;

	spin_lock(&lane->lock);
	msg = list_first_entry_or_null(&lane->queue, struct devlend_msg, list);
	spin_unlock(&lane->lock);
	return msg;
}

/* Prepare the next frame, if one is due. Return: true if there is one to be written. */
static bool sleep_next_frame(struct devlend_lane_sleep *lane)
{
	struct devlend_msg *msg = sleep_first(lane);
	unsigned int i, n;
	size_t bytes;

	if (lane->flying || !msg)
		return false;
	bytes = min_t(size_t, msg->len - lane->sent, lane->words * 4);
	n = bytes / 4;
	for (i = 0; i < n; i++)
		lane->data[i] = get_unaligned_le32(msg->data + lane->sent + i * 4);
	lane->flying = bytes;
	lane->tx_seq = devlend_seq_next(lane->tx_seq);
	lane->fields = (u32)lane->tx_seq << DEVLEND_CTL_SEQ_SHIFT | n << DEVLEND_CTL_WORDS_SHIFT;
	if (!lane->sent)
		lane->fields |= DEVLEND_CTL_FIRST;
	if (lane->sent + bytes == msg->len)
		lane->fields |= DEVLEND_CTL_LAST;
	return true;
}

static void sleep_acked(struct devlend_lane_sleep *lane)
{
	struct devlend_msg *msg = sleep_first(lane);

	lane->sent += lane->flying;
	lane->flying = 0;
	if (!msg || lane->sent < msg->len)
		return;
	spin_lock(&lane->lock);
	list_del(&msg->list);
	lane->queued--;
	spin_unlock(&lane->lock);
	kfree(msg);
	lane->sent = 0;
}

static bool sleep_read_frame(struct devlend_lane_sleep *lane, u32 *ctl, u32 *data)
{
	unsigned int i, n;

	*ctl = lane->t->ops->read(lane->t, DEVLEND_WORD_SLEEP_CTL);
	if (*ctl == lane->rx_ctl)
		return false;
	n = sleep_fields_words(*ctl);
	if (n <= lane->words) {
		for (i = 0; i < n; i++)
			data[i] = lane->t->ops->read(lane->t, sleep_word(i));
		if (devlend_frame_check(lane->pair.peer, lane->pair.mine, DEVLEND_LANE_SLEEP,
					*ctl, data, n)) {
			WRITE_ONCE(lane->rx_ctl, *ctl);
			return true;
		}
	}
	/* a frame that is being written (its bell follows), or one of another life */
	lane->rejected++;
	return false;
}

static bool sleep_message_ok(const u8 *data, size_t len)
{
	const struct devlend_wire_hdr *hdr = (const void *)data;
	u32 crc;

	if (len < DEVLEND_MSG_MIN || le16_to_cpu(hdr->len) != len - DEVLEND_MSG_MIN)
		return false;
	crc = crc32_le(~0u, data, len - 4);
	return crc == get_unaligned_le32(data + len - 4);
}

static void sleep_accept(struct devlend_lane_sleep *lane, u32 ctl, const u32 *data)
{
	unsigned int i, n = sleep_fields_words(ctl);

	if (ctl & DEVLEND_CTL_FIRST) {
		lane->rx_len = 0;
		lane->rx_begun = true;
	}
	if (!lane->rx_begun || lane->rx_len + n * 4 > sizeof(lane->rx_buf)) {
		lane->rx_begun = false;
		lane->rejected++;
		return;
	}
	for (i = 0; i < n; i++, lane->rx_len += 4)
		put_unaligned_le32(data[i], lane->rx_buf + lane->rx_len);
	if (!(ctl & DEVLEND_CTL_LAST))
		return;
	if (sleep_message_ok(lane->rx_buf, lane->rx_len))
		lane->deliver(lane->ctx, lane->rx_buf, lane->rx_len);
	else
		lane->rejected++;
	lane->rx_begun = false;
}

/**
 * devlend_lane_sleep_init() - make a lane, closed
 * @lane: the lane
 * @t: transport, outlives the lane
 * @deliver: takes whole messages, in the link's worker
 * @ctx: its first argument
 */
void devlend_lane_sleep_init(struct devlend_lane_sleep *lane, struct devlend_transport *t,
			     devlend_sleep_deliver_t deliver, void *ctx)
{
	spin_lock_init(&lane->lock);
	INIT_LIST_HEAD(&lane->queue);
	lane->t = t;
	lane->deliver = deliver;
	lane->ctx = ctx;
}

static void sleep_drop_queue(struct devlend_lane_sleep *lane, u32 session)
{
	struct devlend_msg *msg, *next;
	LIST_HEAD(drop);

	spin_lock(&lane->lock);
	list_splice_init(&lane->queue, &drop);
	lane->queued = 0;
	lane->session = session;
	spin_unlock(&lane->lock);
	list_for_each_entry_safe(msg, next, &drop, list)
		kfree(msg);
}

/**
 * devlend_lane_sleep_open() - begin a session
 * @lane: the lane
 * @pair: both epochs
 * @peer_words: words per direction that the peer has, checked by the caller
 * @session: names the session for devlend_lane_sleep_queue(); not 0
 *
 * Context: the link's worker.
 */
void devlend_lane_sleep_open(struct devlend_lane_sleep *lane, struct devlend_pair pair,
			     unsigned int peer_words, u32 session)
{
	lane->pair = pair;
	lane->words = min(lane->t->words, peer_words) - DEVLEND_WORDS_MIN + 1;
	lane->fields = 0;
	lane->sent = 0;
	lane->flying = 0;
	lane->tx_seq = DEVLEND_SEQ_NONE;
	lane->rx_seq = DEVLEND_SEQ_NONE;
	lane->rx_ctl = 0;
	lane->rx_begun = false;
	sleep_drop_queue(lane, session);
}

/**
 * devlend_lane_sleep_close() - end the session; what was queued is dropped
 * @lane: the lane
 *
 * Context: the link's worker, or after it was stopped.
 */
void devlend_lane_sleep_close(struct devlend_lane_sleep *lane)
{
	lane->pair = (struct devlend_pair){};
	lane->flying = 0;
	sleep_drop_queue(lane, 0);
}

/**
 * devlend_lane_sleep_queue() - send a message
 * @lane: the lane
 * @msg: from kmalloc; the lane frees it, also on failure
 * @session: that it belongs to
 *
 * The caller queues the link's worker afterwards. Context: process.
 * Return: 0; -ENOTCONN when that session has ended; -ENOBUFS when too many are queued.
 */
int devlend_lane_sleep_queue(struct devlend_lane_sleep *lane, struct devlend_msg *msg,
			     u32 session)
{
	int err = 0;

	spin_lock(&lane->lock);
	if (!session || lane->session != session) {
		err = -ENOTCONN;
	} else if (lane->queued >= SLEEP_QUEUE_MAX) {
		err = -ENOBUFS;
	} else {
		list_add_tail(&msg->list, &lane->queue);
		lane->queued++;
	}
	spin_unlock(&lane->lock);
	if (err)
		kfree(msg);
	return err;
}

/**
 * devlend_lane_sleep_poll() - take what the peer wrote, send what is due
 * @lane: the lane
 *
 * A frame that answers one and carries the next acknowledgment is written once for both.
 * Context: the link's worker. Return: true if there was something new.
 */
bool devlend_lane_sleep_poll(struct devlend_lane_sleep *lane)
{
	u32 ctl, data[DEVLEND_WORDS_MAX];
	bool news = false, accepted = false;
	unsigned int seq;

	if (!lane->pair.mine)
		return false;
	if (sleep_read_frame(lane, &ctl, data)) {
		if (lane->flying && devlend_ctl_ack(ctl) == lane->tx_seq) {
			sleep_acked(lane);
			news = true;
		}
		seq = devlend_ctl_seq(ctl);
		if (seq != DEVLEND_SEQ_NONE && seq == devlend_seq_next(lane->rx_seq)) {
			lane->rx_seq = seq;
			accepted = true;
			sleep_accept(lane, ctl, data);
		}
	}
	/* deliver() may have closed the session */
	if (!lane->pair.mine)
		return true;
	if (sleep_next_frame(lane))
		sleep_write_frame(lane, true);
	else if (accepted)
		sleep_write_ctl(lane, true);
	return news || accepted;
}

/**
 * devlend_lane_sleep_peek() - is there something that poll has not seen?
 * @lane: the lane
 *
 * Context: any; the answer may be old.
 */
bool devlend_lane_sleep_peek(struct devlend_lane_sleep *lane)
{
	return lane->t->ops->read(lane->t, DEVLEND_WORD_SLEEP_CTL) != READ_ONCE(lane->rx_ctl);
}

/**
 * devlend_lane_sleep_resend() - write our words again: what the peer waits for may be lost
 * @lane: the lane
 *
 * The bell is rung only where this side waits, so two idle hosts cannot keep each other awake.
 * Context: the link's worker.
 */
void devlend_lane_sleep_resend(struct devlend_lane_sleep *lane)
{
	if (lane->pair.mine && (lane->flying || lane->rx_seq))
		sleep_write_frame(lane, lane->flying);
}
