// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: both lanes against a peer that writes what it likes into the words.
 *
 * Sources: common/frame.c, lane_sleep.c, lane_atomic.c, status.c. The input is a list of steps:
 * raw words, frames and whole messages with right checks (a check is no secret), acknowledgments,
 * and what this host does meanwhile.
 *
 * Must hold: a message that is delivered is whole and its check fits; queues are bounded; what was
 * allocated is freed when the lane is closed.
 */
#include "fuzz.h"

#include "../../common/frame.c"
#include "../../common/lane_atomic.c"
#include "../../common/lane_sleep.c"
#include "../../common/status.c"

#define MINE	0x11111111u
#define PEER	0x22222222u
/* so many steps of one input are taken */
#define STEPS	512

struct lanes {
	struct devlend_transport t;
	struct devlend_lane_sleep sleep;
	struct devlend_lane_atomic atomic;
	u32 word[DEVLEND_WORDS_MAX];	/* that the peer wrote */
	u32 mine[DEVLEND_WORDS_MAX];	/* that this host wrote */
	unsigned int peer_words;
	u32 session;
	unsigned int delivered;
	unsigned int served;
};

static u32 lanes_read(struct devlend_transport *t, unsigned int word)
{
	MUST(word < t->words);
	return container_of(t, struct lanes, t)->word[word];
}

static void lanes_write(struct devlend_transport *t, unsigned int word, u32 value)
{
	struct lanes *l = container_of(t, struct lanes, t);

	/* the peer has not more */
	MUST(word < t->words && word < l->peer_words);
	l->mine[word] = value;
}

static void lanes_ring(struct devlend_transport *t)
{
	(void)t;
}

static const struct devlend_transport_ops lanes_ops = {
	.read = lanes_read, .write = lanes_write, .ring = lanes_ring,
};

static void lanes_deliver(void *ctx, const u8 *data, size_t len)
{
	const struct devlend_wire_hdr *hdr = (const void *)data;
	struct lanes *l = ctx;
	int err;

	MUST(len >= DEVLEND_MSG_MIN && len <= DEVLEND_MSG_MAX && !(len % 4));
	MUST(hdr->len == len - DEVLEND_MSG_MIN && hdr->len <= DEVLEND_MSG_PAYLOAD_MAX);
	MUST(crc32_le(~0u, data, len - 4) == get_unaligned_le32(data + len - 4));
	err = devlend_status_to_errno(hdr->status);
	MUST(err <= 0);
	if (err != -EPROTO)
		MUST(devlend_errno_to_status(err) == hdr->status);
	l->delivered++;
}

static u8 lanes_serve(void *ctx, u8 op, u32 d0, u32 d1)
{
	struct lanes *l = ctx;

	MUST(op <= DEVLEND_CTL_NIBBLE);
	l->served++;
	return (d0 ^ d1) & DEVLEND_CTL_NIBBLE;
}

static void lanes_open(struct lanes *l)
{
	struct devlend_pair pair = { .mine = MINE, .peer = PEER };

	devlend_lane_sleep_open(&l->sleep, pair, l->peer_words, ++l->session);
	devlend_lane_atomic_open(&l->atomic, pair);
}

static void lanes_poll(struct lanes *l)
{
	unsigned int n = 0;

	while (devlend_lane_sleep_poll(&l->sleep))
		MUST(++n < 4);	/* one frame is news once, and frees one of ours */
	devlend_lane_atomic_poll(&l->atomic);
	MUST(l->sleep.queued <= SLEEP_QUEUE_MAX);
	MUST(l->sleep.rx_len <= sizeof(l->sleep.rx_buf));
	MUST(l->atomic.next - l->atomic.done <= DEVLEND_ATOMIC_QUEUE);
}

/* A frame with a right check: @fields as they are, but for what @how says. */
static void lanes_frame(struct lanes *l, u32 fields, u8 how, const u32 *data, unsigned int n)
{
	unsigned int i;

	fields &= ~(DEVLEND_CTL_NIBBLE << DEVLEND_CTL_WORDS_SHIFT);
	fields |= n << DEVLEND_CTL_WORDS_SHIFT;
	if (how & 1) {
		fields &= ~(DEVLEND_CTL_NIBBLE << DEVLEND_CTL_SEQ_SHIFT);
		fields |= devlend_seq_next(l->sleep.rx_seq) << DEVLEND_CTL_SEQ_SHIFT;
	}
	if (how & 2) {
		fields &= ~(DEVLEND_CTL_NIBBLE << DEVLEND_CTL_ACK_SHIFT);
		fields |= (u32)l->sleep.tx_seq << DEVLEND_CTL_ACK_SHIFT;
	}
	for (i = 0; i < n && sleep_word(i) < DEVLEND_WORDS_MAX; i++)
		l->word[sleep_word(i)] = data[i];
	l->word[DEVLEND_WORD_SLEEP_CTL] = devlend_frame_seal(PEER, MINE, DEVLEND_LANE_SLEEP,
							     fields, data, n);
	lanes_poll(l);
}

/* A whole message, @len bytes of payload, its length field off by @lie, in proper frames. */
static void lanes_message(struct lanes *l, struct input *in, unsigned int len, u8 lie)
{
	u8 buf[DEVLEND_MSG_MAX + 256] = { };
	struct devlend_wire_hdr *hdr = (void *)buf;
	size_t total = min_t(size_t, DEVLEND_MSG_MIN + len * 4, sizeof(buf)), at = 0;

	input_bytes(in, buf, min_t(size_t, total - 4, 64));
	hdr->len = total - DEVLEND_MSG_MIN + lie;
	put_unaligned_le32(crc32_le(~0u, buf, total - 4), buf + total - 4);
	while (at < total) {
		u32 data[DEVLEND_WORDS_MAX], fields = 0;
		unsigned int i, n = min_t(size_t, (total - at) / 4, l->sleep.words);

		for (i = 0; i < n; i++)
			data[i] = get_unaligned_le32(buf + at + i * 4);
		if (!at)
			fields |= DEVLEND_CTL_FIRST;
		at += n * 4;
		if (at == total)
			fields |= DEVLEND_CTL_LAST;
		lanes_frame(l, fields, 3, data, n);
	}
}

static void lanes_atomic(struct lanes *l, u32 fields, u8 how, const u32 *data)
{
	if (how & 1) {
		fields &= ~(DEVLEND_CTL_NIBBLE << DEVLEND_CTL_SEQ_SHIFT);
		fields |= devlend_seq_next(l->atomic.rx_seq) << DEVLEND_CTL_SEQ_SHIFT;
	}
	if (how & 2) {
		fields &= ~(DEVLEND_CTL_NIBBLE << DEVLEND_CTL_ACK_SHIFT);
		fields |= (u32)l->atomic.tx_seq << DEVLEND_CTL_ACK_SHIFT;
	}
	l->word[DEVLEND_WORD_ATOMIC_D0] = data[0];
	l->word[DEVLEND_WORD_ATOMIC_D1] = data[1];
	l->word[DEVLEND_WORD_ATOMIC_CTL] = devlend_frame_seal(PEER, MINE, DEVLEND_LANE_ATOMIC,
							      fields, data, 2);
	lanes_poll(l);
}

/* This host sends a message of its own. */
static void lanes_send(struct lanes *l, unsigned int len)
{
	size_t total = DEVLEND_MSG_MIN + len % (DEVLEND_MSG_PAYLOAD_MAX / 4 + 1) * 4;
	struct devlend_msg *msg = kzalloc(sizeof(*msg) + total, GFP_KERNEL);

	msg->len = total;
	devlend_lane_sleep_queue(&l->sleep, msg, l->session);
	lanes_poll(l);
}

static void lanes_step(struct lanes *l, struct input *in)
{
	u32 data[DEVLEND_WORDS_MAX], fields;
	u8 step = input_u8(in), how = input_u8(in);
	unsigned int n;

	switch (step % 10) {
	case 0:
		l->word[how % DEVLEND_WORDS_MAX] = input_u32(in);
		lanes_poll(l);
		break;
	case 1:
		fields = input_u32(in);
		/* the reader asks how many words there are before it believes the count */
		n = how >> 4;
		input_bytes(in, data, n * 4);
		lanes_frame(l, fields, how, data, n);
		break;
	case 2:
		n = input_u16(in) % (DEVLEND_MSG_PAYLOAD_MAX / 4 + 32);
		lanes_message(l, in, n, how % 4 ? 0 : how);
		break;
	case 3:
		fields = input_u32(in);
		input_bytes(in, data, 8);
		lanes_atomic(l, fields, how, data);
		break;
	case 4:
		lanes_send(l, how | (unsigned int)input_u8(in) << 8);
		break;
	case 5:
		shim_jiffies += how * 16;
		devlend_lane_sleep_resend(&l->sleep);
		devlend_lane_atomic_resend(&l->atomic);
		break;
	case 6:
		devlend_lane_sleep_close(&l->sleep);
		devlend_lane_atomic_close(&l->atomic);
		if (how & 1)
			lanes_poll(l);
		lanes_open(l);
		break;
	case 7:
		devlend_lane_atomic_post(&l->atomic, how & DEVLEND_CTL_NIBBLE, input_u32(in), 1);
		break;
	case 8:
		if (how > 0xf0)		/* it takes the time of a time-out */
			devlend_lane_atomic_flush(&l->atomic);
		break;
	case 9:
		lanes_frame(l, 0, 2, data, 0);
		lanes_atomic(l, (u32)how << 16, 2, (u32[2]){ });
		break;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct lanes *l = calloc(1, sizeof(*l));
	int before = shim_allocated;
	unsigned int steps = 0;

	l->t.ops = &lanes_ops;
	l->t.words = DEVLEND_WORDS_MIN + input_u8(&in) % (DEVLEND_WORDS_MAX - DEVLEND_WORDS_MIN + 1);
	l->peer_words = DEVLEND_WORDS_MIN +
			input_u8(&in) % (DEVLEND_WORDS_MAX - DEVLEND_WORDS_MIN + 1);
	devlend_lane_sleep_init(&l->sleep, &l->t, lanes_deliver, l);
	devlend_lane_atomic_init(&l->atomic, &l->t, lanes_serve, l);
	lanes_open(l);
	while (in.left && steps++ < STEPS)
		lanes_step(l, &in);
	devlend_lane_sleep_close(&l->sleep);
	devlend_lane_atomic_close(&l->atomic);
	MUST(shim_allocated == before);
	free(l);
	return 0;
}
