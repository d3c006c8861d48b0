// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of common/lane_sleep.c: two lanes back to back over a transport that loses, spoils
 * and repeats. Whatever happens, a message is delivered whole, once, in order, or not at all.
 */
#include <kunit/test.h>

#include "../../common/lane_sleep.c"
#include "fake_transport.h"

#define SLEEP_SESSION	7u
#define SLEEP_MESSAGES	8

/**
 * struct sleep_host - one end
 * @end: its words
 * @lane: under test
 * @count: messages delivered
 * @len: their lengths, the first few
 * @mark: the first byte of their payloads
 * @sound: every payload was as it was sent
 */
struct sleep_host {
	struct fake_end end;
	struct devlend_lane_sleep lane;
	unsigned int count;
	size_t len[SLEEP_MESSAGES];
	u8 mark[SLEEP_MESSAGES];
	bool sound;
};

struct sleep_fixture {
	struct sleep_host a;
	struct sleep_host b;
};

static void sleep_deliver(void *ctx, const u8 *data, size_t len)
{
	struct sleep_host *host = ctx;
	size_t payload = len - DEVLEND_MSG_MIN, i;
	const u8 *p = data + sizeof(struct devlend_wire_hdr);

	for (i = 0; i < payload; i++)
		if (p[i] != (u8)(p[0] + i))
			host->sound = false;
	if (host->count < SLEEP_MESSAGES) {
		host->len[host->count] = payload;
		host->mark[host->count] = payload ? p[0] : 0;
	}
	host->count++;
}

static struct devlend_msg *sleep_message(struct kunit *test, size_t payload, u8 mark)
{
	size_t total = DEVLEND_MSG_MIN + payload, i;
	struct devlend_msg *msg = kzalloc(struct_size(msg, data, total), GFP_KERNEL);
	struct devlend_wire_hdr *hdr;

	KUNIT_ASSERT_NOT_NULL(test, msg);
	msg->len = total;
	hdr = (void *)msg->data;
	hdr->len = cpu_to_le16(payload);
	for (i = 0; i < payload; i++)
		msg->data[sizeof(*hdr) + i] = mark + i;
	put_unaligned_le32(crc32_le(~0u, msg->data, total - 4), msg->data + total - 4);
	return msg;
}

static void sleep_send(struct kunit *test, struct sleep_host *host, size_t payload, u8 mark)
{
	int err = devlend_lane_sleep_queue(&host->lane, sleep_message(test, payload, mark),
					   SLEEP_SESSION);

	KUNIT_ASSERT_EQ(test, err, 0);
}

static void sleep_begin(struct sleep_fixture *f, u32 a_epoch, u32 b_epoch)
{
	struct devlend_pair a = { a_epoch, b_epoch }, b = { b_epoch, a_epoch };

	devlend_lane_sleep_open(&f->a.lane, a, f->b.end.t.words, SLEEP_SESSION);
	devlend_lane_sleep_open(&f->b.lane, b, f->a.end.t.words, SLEEP_SESSION);
}

static struct sleep_fixture *sleep_fixture(struct kunit *test, unsigned int a_words,
					   unsigned int b_words)
{
	struct sleep_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	fake_pair(&f->a.end, &f->b.end, a_words, b_words);
	f->a.sound = true;
	f->b.sound = true;
	devlend_lane_sleep_init(&f->a.lane, &f->a.end.t, sleep_deliver, &f->a);
	devlend_lane_sleep_init(&f->b.lane, &f->b.end.t, sleep_deliver, &f->b);
	sleep_begin(f, 0xaaaa, 0xbbbb);
	return f;
}

static void sleep_end(struct sleep_fixture *f)
{
	devlend_lane_sleep_close(&f->a.lane);
	devlend_lane_sleep_close(&f->b.lane);
}

/* Let both look until neither has news. */
static void sleep_run(struct sleep_fixture *f)
{
	unsigned int quiet = 0, steps;

	for (steps = 0; quiet < 2 && steps < 100000; steps++) {
		bool news = devlend_lane_sleep_poll(&f->a.lane);

		news |= devlend_lane_sleep_poll(&f->b.lane);
		quiet = news ? 0 : quiet + 1;
	}
}

static void sleep_test_lengths(struct kunit *test)
{
	static const unsigned int words[] = { 8, 9, 16, DEVLEND_WORDS_MAX };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		struct sleep_fixture *f = sleep_fixture(test, words[i], words[i]);

		sleep_send(test, &f->a, 0, 0);
		sleep_send(test, &f->a, 4, 1);
		sleep_send(test, &f->a, 60, 2);
		sleep_send(test, &f->a, DEVLEND_MSG_PAYLOAD_MAX, 3);
		sleep_run(f);
		KUNIT_EXPECT_EQ(test, f->b.count, 4u);
		KUNIT_EXPECT_TRUE(test, f->b.sound);
		KUNIT_EXPECT_EQ(test, f->b.len[0], (size_t)0);
		KUNIT_EXPECT_EQ(test, f->b.len[1], (size_t)4);
		KUNIT_EXPECT_EQ(test, f->b.len[2], (size_t)60);
		KUNIT_EXPECT_EQ(test, f->b.len[3], (size_t)DEVLEND_MSG_PAYLOAD_MAX);
		KUNIT_EXPECT_EQ(test, f->b.lane.rejected, 0ull);
		sleep_end(f);
	}
}

static void sleep_test_both_ways_in_order(struct kunit *test)
{
	struct sleep_fixture *f = sleep_fixture(test, 16, 16);
	unsigned int i;

	for (i = 0; i < SLEEP_MESSAGES; i++) {
		sleep_send(test, &f->a, 100, i);
		sleep_send(test, &f->b, 200, 0x80 + i);
	}
	sleep_run(f);
	KUNIT_EXPECT_EQ(test, f->a.count, SLEEP_MESSAGES);
	KUNIT_EXPECT_EQ(test, f->b.count, SLEEP_MESSAGES);
	for (i = 0; i < SLEEP_MESSAGES; i++) {
		KUNIT_EXPECT_EQ(test, f->b.mark[i], i);
		KUNIT_EXPECT_EQ(test, f->a.mark[i], 0x80 + i);
	}
	KUNIT_EXPECT_TRUE(test, f->a.sound && f->b.sound);
	sleep_end(f);
}

/* The smaller of both word counts is used, whichever side it is on. */
static void sleep_test_unequal_words(struct kunit *test)
{
	struct sleep_fixture *f = sleep_fixture(test, 8, DEVLEND_WORDS_MAX);

	KUNIT_EXPECT_EQ(test, f->a.lane.words, 1u);
	KUNIT_EXPECT_EQ(test, f->b.lane.words, 1u);
	sleep_send(test, &f->a, 40, 1);
	sleep_send(test, &f->b, 40, 2);
	sleep_run(f);
	KUNIT_EXPECT_EQ(test, f->a.count, 1u);
	KUNIT_EXPECT_EQ(test, f->b.count, 1u);
	sleep_end(f);
}

/* Lose each write in turn: nothing is delivered twice, and writing again brings the rest. */
static void sleep_test_any_write_lost(struct kunit *test)
{
	unsigned int nth, step, writes = 1;

	for (nth = 1; nth <= writes; nth++) {
		struct sleep_fixture *f = sleep_fixture(test, 9, 9);

		f->a.end.lose_nth = nth;
		f->b.end.lose_nth = nth / 2;
		sleep_send(test, &f->a, 12, 5);
		sleep_send(test, &f->b, 12, 6);
		for (step = 0; step < 100 && !(f->a.count && f->b.count); step++) {
			sleep_run(f);
			devlend_lane_sleep_resend(&f->a.lane);
			devlend_lane_sleep_resend(&f->b.lane);
		}
		sleep_run(f);
		KUNIT_EXPECT_EQ_MSG(test, f->a.count, 1u, "write %u lost", nth);
		KUNIT_EXPECT_EQ_MSG(test, f->b.count, 1u, "write %u lost", nth);
		KUNIT_EXPECT_TRUE(test, f->a.sound && f->b.sound);
		writes = max(writes, nth == 1 ? f->a.end.writes : 0);
		sleep_end(f);
	}
	KUNIT_EXPECT_GT(test, writes, 10u);
}

static void sleep_test_repeated(struct kunit *test)
{
	struct sleep_fixture *f = sleep_fixture(test, 16, 16);
	unsigned int i;

	sleep_send(test, &f->a, 300, 9);
	for (i = 0; i < 200; i++) {
		devlend_lane_sleep_poll(&f->a.lane);
		devlend_lane_sleep_resend(&f->a.lane);
		devlend_lane_sleep_resend(&f->a.lane);
		devlend_lane_sleep_poll(&f->b.lane);
		devlend_lane_sleep_poll(&f->b.lane);
		devlend_lane_sleep_resend(&f->b.lane);
	}
	KUNIT_EXPECT_EQ(test, f->b.count, 1u);
	KUNIT_EXPECT_EQ(test, f->b.len[0], (size_t)300);
	KUNIT_EXPECT_TRUE(test, f->b.sound);
	sleep_end(f);
}

static void sleep_test_spoilt(struct kunit *test)
{
	static const unsigned int word[] = { DEVLEND_WORD_SLEEP_CTL, DEVLEND_WORD_SLEEP_DATA,
					     DEVLEND_WORD_SLEEP_MORE };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(word); i++) {
		struct sleep_fixture *f = sleep_fixture(test, 16, 16);

		f->a.end.spoil = BIT(17);
		f->a.end.spoil_word = word[i];
		sleep_send(test, &f->a, 8, 3);
		sleep_run(f);
		KUNIT_EXPECT_EQ(test, f->b.count, 0u);
		KUNIT_EXPECT_GT(test, f->b.lane.rejected, 0ull);
		devlend_lane_sleep_resend(&f->a.lane);
		sleep_run(f);
		KUNIT_EXPECT_EQ(test, f->b.count, 1u);
		KUNIT_EXPECT_TRUE(test, f->b.sound);
		sleep_end(f);
	}
}

/* An acknowledgment that comes late, after the next frame's words, does no harm. */
static void sleep_test_old_ack(struct kunit *test)
{
	struct sleep_fixture *f = sleep_fixture(test, 9, 9);
	u32 old;

	sleep_send(test, &f->a, 40, 4);
	devlend_lane_sleep_poll(&f->a.lane);
	devlend_lane_sleep_poll(&f->b.lane);
	old = f->a.end.word[DEVLEND_WORD_SLEEP_CTL];
	devlend_lane_sleep_poll(&f->a.lane);
	devlend_lane_sleep_poll(&f->b.lane);
	devlend_lane_sleep_poll(&f->a.lane);
	f->a.end.word[DEVLEND_WORD_SLEEP_CTL] = old;
	devlend_lane_sleep_poll(&f->a.lane);
	KUNIT_EXPECT_EQ(test, f->b.count, 0u);
	devlend_lane_sleep_resend(&f->b.lane);
	sleep_run(f);
	KUNIT_EXPECT_EQ(test, f->b.count, 1u);
	KUNIT_EXPECT_TRUE(test, f->b.sound);
	sleep_end(f);
}

/* What an earlier life left in the words is no frame, whichever host began anew. */
static void sleep_test_other_life(struct kunit *test)
{
	struct sleep_fixture *f = sleep_fixture(test, 16, 16);

	sleep_send(test, &f->a, 0, 0);
	devlend_lane_sleep_poll(&f->a.lane);
	sleep_begin(f, 0xaaaa, 0xcccc);
	KUNIT_EXPECT_FALSE(test, devlend_lane_sleep_poll(&f->b.lane));
	sleep_begin(f, 0xdddd, 0xbbbb);
	KUNIT_EXPECT_FALSE(test, devlend_lane_sleep_poll(&f->b.lane));
	KUNIT_EXPECT_EQ(test, f->b.count, 0u);
	sleep_send(test, &f->a, 20, 1);
	sleep_run(f);
	KUNIT_EXPECT_EQ(test, f->b.count, 1u);
	/* numbers begin anew, on both sides */
	sleep_begin(f, 0xdddd, 0xeeee);
	sleep_send(test, &f->a, 20, 2);
	sleep_send(test, &f->b, 20, 3);
	sleep_run(f);
	KUNIT_EXPECT_EQ(test, f->b.count, 2u);
	KUNIT_EXPECT_EQ(test, f->a.count, 1u);
	sleep_end(f);
}

static void sleep_test_queue(struct kunit *test)
{
	struct sleep_fixture *f = sleep_fixture(test, 16, 16);
	struct devlend_lane_sleep *lane = &f->a.lane;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, devlend_lane_sleep_queue(lane, sleep_message(test, 0, 0),
						       SLEEP_SESSION + 1), -ENOTCONN);
	for (i = 0; i < SLEEP_QUEUE_MAX; i++)
		sleep_send(test, &f->a, 0, 0);
	KUNIT_EXPECT_EQ(test, devlend_lane_sleep_queue(lane, sleep_message(test, 0, 0),
						       SLEEP_SESSION), -ENOBUFS);
	devlend_lane_sleep_close(lane);
	KUNIT_EXPECT_EQ(test, devlend_lane_sleep_queue(lane, sleep_message(test, 0, 0),
						       SLEEP_SESSION), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, devlend_lane_sleep_queue(lane, sleep_message(test, 0, 0), 0),
			-ENOTCONN);
	KUNIT_EXPECT_FALSE(test, devlend_lane_sleep_poll(lane));
	sleep_end(f);
}

/* A frame as a hostile peer would make it: sealed right, with any fields. */
static void sleep_forge(struct sleep_fixture *f, u32 fields, unsigned int n)
{
	u32 data[DEVLEND_WORDS_MAX] = {};
	unsigned int i;

	for (i = 0; i < n && i < DEVLEND_WORDS_MAX - DEVLEND_WORDS_MIN + 1; i++)
		f->b.end.word[sleep_word(i)] = data[i];
	fields |= n << DEVLEND_CTL_WORDS_SHIFT;
	f->b.end.word[DEVLEND_WORD_SLEEP_CTL] =
		devlend_frame_seal(0xaaaa, 0xbbbb, DEVLEND_LANE_SLEEP, fields, data, n);
}

static void sleep_test_hostile(struct kunit *test)
{
	struct sleep_fixture *f = sleep_fixture(test, 16, 16);
	unsigned int seq = 0, i;

	/* a message without an end, longer than any; then an end */
	for (i = 0; i < 2 * DEVLEND_MSG_MAX / 36; i++) {
		seq = devlend_seq_next(seq);
		sleep_forge(f, seq << DEVLEND_CTL_SEQ_SHIFT | (i ? 0 : DEVLEND_CTL_FIRST), 9);
		devlend_lane_sleep_poll(&f->b.lane);
		KUNIT_ASSERT_LE(test, f->b.lane.rx_len, sizeof(f->b.lane.rx_buf));
	}
	seq = devlend_seq_next(seq);
	sleep_forge(f, seq << DEVLEND_CTL_SEQ_SHIFT | DEVLEND_CTL_LAST, 9);
	devlend_lane_sleep_poll(&f->b.lane);
	/* more words than there are; no words at all; a number out of turn */
	sleep_forge(f, devlend_seq_next(seq) << DEVLEND_CTL_SEQ_SHIFT | DEVLEND_CTL_LAST, 15);
	KUNIT_EXPECT_FALSE(test, devlend_lane_sleep_poll(&f->b.lane));
	seq = devlend_seq_next(seq);
	sleep_forge(f, seq << DEVLEND_CTL_SEQ_SHIFT | DEVLEND_CTL_FIRST | DEVLEND_CTL_LAST, 0);
	devlend_lane_sleep_poll(&f->b.lane);
	/* a header without payload, whose CRC is wrong */
	seq = devlend_seq_next(seq);
	sleep_forge(f, seq << DEVLEND_CTL_SEQ_SHIFT | DEVLEND_CTL_FIRST | DEVLEND_CTL_LAST,
		    DEVLEND_MSG_MIN / 4);
	KUNIT_EXPECT_TRUE(test, devlend_lane_sleep_poll(&f->b.lane));
	sleep_forge(f, devlend_seq_next(devlend_seq_next(seq)) << DEVLEND_CTL_SEQ_SHIFT, 1);
	KUNIT_EXPECT_FALSE(test, devlend_lane_sleep_poll(&f->b.lane));
	KUNIT_EXPECT_EQ(test, f->b.count, 0u);
	KUNIT_EXPECT_GT(test, f->b.lane.rejected, 2ull);
	sleep_end(f);
}

/* Two idle hosts do not keep each other awake, and looking costs one word. */
static void sleep_test_idle_is_silent(struct kunit *test)
{
	struct sleep_fixture *f = sleep_fixture(test, 16, 16);
	unsigned int rings;

	sleep_send(test, &f->a, 20, 1);
	sleep_run(f);
	rings = f->a.end.rings + f->b.end.rings;
	devlend_lane_sleep_resend(&f->a.lane);
	devlend_lane_sleep_resend(&f->b.lane);
	sleep_run(f);
	KUNIT_EXPECT_EQ(test, f->a.end.rings + f->b.end.rings, rings);
	KUNIT_EXPECT_FALSE(test, devlend_lane_sleep_peek(&f->a.lane));
	KUNIT_EXPECT_FALSE(test, devlend_lane_sleep_peek(&f->b.lane));
	f->b.end.reads = 0;
	KUNIT_EXPECT_FALSE(test, devlend_lane_sleep_poll(&f->b.lane));
	KUNIT_EXPECT_EQ(test, f->b.end.reads, 1u);
	sleep_end(f);
}

static struct kunit_case sleep_cases[] = {
	KUNIT_CASE(sleep_test_lengths),
	KUNIT_CASE(sleep_test_both_ways_in_order),
	KUNIT_CASE(sleep_test_unequal_words),
	KUNIT_CASE(sleep_test_any_write_lost),
	KUNIT_CASE(sleep_test_repeated),
	KUNIT_CASE(sleep_test_spoilt),
	KUNIT_CASE(sleep_test_old_ack),
	KUNIT_CASE(sleep_test_other_life),
	KUNIT_CASE(sleep_test_queue),
	KUNIT_CASE(sleep_test_hostile),
	KUNIT_CASE(sleep_test_idle_is_silent),
	{}
};

static struct kunit_suite sleep_suite = {
	.name = "devlend-lane-sleep",
	.test_cases = sleep_cases,
};

kunit_test_suite(sleep_suite);
