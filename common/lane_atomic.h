/* SPDX-License-Identifier: GPL-2.0 */
/* The atomic lane: single frames, answered in the peer's interrupt; see lane_atomic.c. */
#ifndef DEVLEND_LANE_ATOMIC_H
#define DEVLEND_LANE_ATOMIC_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "frame.h"

struct devlend_transport;

#define DEVLEND_ATOMIC_QUEUE	64	/* power of two */
/* A waiter writes its frame again after this time, in ms, lest a lost bell cost the lease. */
#define ATOMIC_RESEND_MS	100

/**
 * struct devlend_atomic_frame - one operation
 * @op: &enum devlend_atomic_op
 * @data: D0 and D1
 */
struct devlend_atomic_frame {
	u8 op;
	u32 data[2];
};

typedef u8 (*devlend_atomic_serve_t)(void *ctx, u8 op, u32 d0, u32 d1);

/**
 * struct devlend_lane_atomic - both directions of lane 2
 * @timeout_ms: longest spin of devlend_lane_atomic_flush(); set by the operator, read without @lock
 * @lock: protects all below and the lane's words; taken in hard IRQ
 * @t: where the words are
 * @serve: answers the peer's operations, called under @lock
 * @ctx: its first argument
 * @pair: current pair of epochs; mine 0 = closed
 * @sent: the frame in our data words
 * @tx_seq: its number
 * @busy: it is not acknowledged yet
 * @rx_seq: number of the last frame accepted
 * @rx_status: what was answered to it
 * @rx_ctl: control word of the peer that was looked at last, with success; 0 = none
 * @queue: operations, by id modulo the queue's length
 * @next: id of the next operation to be queued
 * @started: id of the next operation to be sent
 * @done: id of the next operation to be acknowledged
 * @status: what was answered to the operation before @done; 0 at first
 * @generation: counts openings, so that a waiter sees that its session ended
 * @written: when our words were last written, jiffies
 * @rejected: frames that failed their check
 * @refused: operations that were not answered with %DEVLEND_OK
 */
struct devlend_lane_atomic {
	unsigned int timeout_ms;
	raw_spinlock_t lock;	/* protects all below */
	struct devlend_transport *t;
	devlend_atomic_serve_t serve;
	void *ctx;
	struct devlend_pair pair;
	struct devlend_atomic_frame sent;
	u8 tx_seq;
	bool busy;
	u8 rx_seq;
	u8 rx_status;
	u32 rx_ctl;
	struct devlend_atomic_frame queue[DEVLEND_ATOMIC_QUEUE];
	u32 next;
	u32 started;
	u32 done;
	u8 status;
	u32 generation;
	unsigned long written;
	u64 rejected;
	u64 refused;
};

void devlend_lane_atomic_init(struct devlend_lane_atomic *lane, struct devlend_transport *t,
			      devlend_atomic_serve_t serve, void *ctx);
void devlend_lane_atomic_open(struct devlend_lane_atomic *lane, struct devlend_pair pair);
void devlend_lane_atomic_close(struct devlend_lane_atomic *lane);
bool devlend_lane_atomic_poll(struct devlend_lane_atomic *lane);
bool devlend_lane_atomic_peek(struct devlend_lane_atomic *lane);
void devlend_lane_atomic_resend(struct devlend_lane_atomic *lane);
int devlend_lane_atomic_post(struct devlend_lane_atomic *lane, u8 op, u32 d0, u32 d1);
int devlend_lane_atomic_flush(struct devlend_lane_atomic *lane);
bool devlend_lane_atomic_is_open(struct devlend_lane_atomic *lane);

#endif /* DEVLEND_LANE_ATOMIC_H */
