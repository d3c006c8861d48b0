/* SPDX-License-Identifier: GPL-2.0 */
/* The sleeping lane: messages in fragments; see lane_sleep.c. */
#ifndef DEVLEND_LANE_SLEEP_H
#define DEVLEND_LANE_SLEEP_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "frame.h"

struct devlend_transport;

/**
 * struct devlend_msg - an outgoing message; freed by the lane
 * @list: in the lane's queue
 * @len: bytes in @data, a multiple of 4
 * @data: header, payload, CRC
 */
struct devlend_msg {
	struct list_head list;
	size_t len;
	u8 data[] __aligned(4);
};

typedef void (*devlend_sleep_deliver_t)(void *ctx, const u8 *data, size_t len);

/**
 * struct devlend_lane_sleep - both directions of lane 1
 * @t: where the words are
 * @deliver: takes a whole message, framing checked; called from poll
 * @ctx: its first argument
 * @lock: protects @queue, @queued and @session
 * @queue: messages to be sent; the first is under way
 * @queued: their number
 * @session: number of the session that is open; 0 = none
 * @pair: current pair of epochs. This and all below belong to the link's worker
 * @words: data words in a frame
 * @data: data words of the frame under way
 * @fields: its control fields but for the acknowledgment
 * @sent: bytes of the first message that were acknowledged
 * @flying: bytes in the frame under way; 0 = none
 * @tx_seq: number of the last frame sent
 * @rx_seq: number of the last frame accepted
 * @rx_ctl: control word of the peer that was looked at last, with success; 0 = none
 * @rx_len: bytes in @rx_buf
 * @rx_begun: @rx_buf holds the beginning of a message
 * @written: when our words were last written, jiffies
 * @rejected: frames or messages that failed their check
 * @rx_buf: the message that is being received
 */
struct devlend_lane_sleep {
	struct devlend_transport *t;
	devlend_sleep_deliver_t deliver;
	void *ctx;

	spinlock_t lock;	/* protects @queue, @queued and @session */
	struct list_head queue;
	unsigned int queued;
	u32 session;

	struct devlend_pair pair;
	unsigned int words;
	u32 data[DEVLEND_WORDS_MAX];
	u32 fields;
	size_t sent;
	size_t flying;
	u8 tx_seq;
	u8 rx_seq;
	u32 rx_ctl;
	size_t rx_len;
	bool rx_begun;
	unsigned long written;
	u64 rejected;
	u8 rx_buf[DEVLEND_MSG_MAX] __aligned(4);
};

void devlend_lane_sleep_init(struct devlend_lane_sleep *lane, struct devlend_transport *t,
			     devlend_sleep_deliver_t deliver, void *ctx);
void devlend_lane_sleep_open(struct devlend_lane_sleep *lane, struct devlend_pair pair,
			     unsigned int peer_words, u32 session);
void devlend_lane_sleep_close(struct devlend_lane_sleep *lane);
int devlend_lane_sleep_queue(struct devlend_lane_sleep *lane, struct devlend_msg *msg,
			     u32 session);
bool devlend_lane_sleep_peek(struct devlend_lane_sleep *lane);
bool devlend_lane_sleep_poll(struct devlend_lane_sleep *lane);
void devlend_lane_sleep_resend(struct devlend_lane_sleep *lane);

#endif /* DEVLEND_LANE_SLEEP_H */
