// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of common/lane_atomic.c: two lanes back to back over a transport that loses and
 * spoils. An operation is served once, in order, and its status comes back.
 */
#include <kunit/test.h>

#include "../../common/lane_atomic.c"
#include "fake_transport.h"

#define ATOMIC_SERVED	128

/**
 * struct atomic_host - one end
 * @end: its words
 * @lane: under test
 * @answer: status that it gives
 * @count: operations served
 * @op: which, the first few
 * @arg: their arguments
 */
struct atomic_host {
	struct fake_end end;
	struct devlend_lane_atomic lane;
	u8 answer;
	unsigned int count;
	u8 op[ATOMIC_SERVED];
	u32 arg[ATOMIC_SERVED];
};

struct atomic_fixture {
	struct atomic_host a;
	struct atomic_host b;
};

static u8 atomic_serve(void *ctx, u8 op, u32 d0, u32 d1)
{
	struct atomic_host *host = ctx;

	if (host->count < ATOMIC_SERVED) {
		host->op[host->count] = op;
		host->arg[host->count] = d1;
	}
	host->count++;
	return host->answer;
}

static void atomic_begin(struct atomic_fixture *f, u32 a_epoch, u32 b_epoch)
{
	devlend_lane_atomic_open(&f->a.lane, (struct devlend_pair){ a_epoch, b_epoch });
	devlend_lane_atomic_open(&f->b.lane, (struct devlend_pair){ b_epoch, a_epoch });
}

static struct atomic_fixture *atomic_fixture(struct kunit *test)
{
	struct atomic_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	fake_pair(&f->a.end, &f->b.end, DEVLEND_WORDS_MIN, DEVLEND_WORDS_MIN);
	devlend_lane_atomic_init(&f->a.lane, &f->a.end.t, atomic_serve, &f->a);
	devlend_lane_atomic_init(&f->b.lane, &f->b.end.t, atomic_serve, &f->b);
	atomic_begin(f, 0xaaaa, 0xbbbb);
	return f;
}

static void atomic_run(struct atomic_fixture *f)
{
	unsigned int steps;

	for (steps = 0; steps < 10000; steps++)
		if (!devlend_lane_atomic_poll(&f->a.lane) & !devlend_lane_atomic_poll(&f->b.lane))
			break;
}

static void atomic_test_status(struct kunit *test)
{
	struct atomic_fixture *f = atomic_fixture(test);
	u8 status;

	for (status = 0; status <= DEVLEND_STATUS_MAX; status++) {
		f->b.answer = status;
		KUNIT_EXPECT_EQ(test, devlend_lane_atomic_post(&f->a.lane, 3, 1, status), 0);
		devlend_lane_atomic_poll(&f->b.lane);
		KUNIT_EXPECT_EQ(test, devlend_lane_atomic_flush(&f->a.lane), (int)status);
		KUNIT_EXPECT_EQ(test, f->b.arg[status], (u32)status);
	}
	KUNIT_EXPECT_EQ(test, f->b.count, DEVLEND_STATUS_MAX + 1u);
	KUNIT_EXPECT_EQ(test, f->a.lane.refused, (u64)DEVLEND_STATUS_MAX);
}

static void atomic_test_flush_of_nothing(struct kunit *test)
{
	struct atomic_fixture *f = atomic_fixture(test);

	KUNIT_EXPECT_EQ(test, devlend_lane_atomic_flush(&f->a.lane), 0);
	f->b.answer = DEVLEND_E_IO;
	devlend_lane_atomic_post(&f->a.lane, 1, 0, 0);
	atomic_run(f);
	KUNIT_EXPECT_EQ(test, devlend_lane_atomic_flush(&f->a.lane), (int)DEVLEND_E_IO);
	/* a status does not outlive its session */
	atomic_begin(f, 0xaaaa, 0xcccc);
	KUNIT_EXPECT_EQ(test, devlend_lane_atomic_flush(&f->a.lane), 0);
}

static void atomic_test_order_and_bound(struct kunit *test)
{
	struct atomic_fixture *f = atomic_fixture(test);
	unsigned int i;

	for (i = 0; i < DEVLEND_ATOMIC_QUEUE; i++)
		KUNIT_EXPECT_EQ(test, devlend_lane_atomic_post(&f->a.lane, i % 9 + 1, 0, i), 0);
	KUNIT_EXPECT_EQ(test, devlend_lane_atomic_post(&f->a.lane, 1, 0, 0), -ENOBUFS);
	atomic_run(f);
	KUNIT_EXPECT_EQ(test, f->b.count, (unsigned int)DEVLEND_ATOMIC_QUEUE);
	for (i = 0; i < DEVLEND_ATOMIC_QUEUE; i++) {
		KUNIT_EXPECT_EQ(test, f->b.arg[i], i);
		KUNIT_EXPECT_EQ(test, (unsigned int)f->b.op[i], i % 9 + 1);
	}
	KUNIT_EXPECT_EQ(test, devlend_lane_atomic_post(&f->a.lane, 1, 0, 0), 0);
}

/* Both ask at the same time: neither's question is taken for the other's answer. */
static void atomic_test_both_ways(struct kunit *test)
{
	struct atomic_fixture *f = atomic_fixture(test);
	unsigned int i;

	f->a.answer = DEVLEND_E_BUSY;
	for (i = 0; i < 40; i++) {
		devlend_lane_atomic_post(&f->a.lane, 1, 0, i);
		devlend_lane_atomic_post(&f->b.lane, 2, 0, 1000 + i);
	}
	atomic_run(f);
	KUNIT_EXPECT_EQ(test, f->a.count, 40u);
	KUNIT_EXPECT_EQ(test, f->b.count, 40u);
	KUNIT_EXPECT_EQ(test, f->a.arg[39], 1039u);
	KUNIT_EXPECT_EQ(test, f->b.arg[39], 39u);
	KUNIT_EXPECT_EQ(test, devlend_lane_atomic_flush(&f->a.lane), 0);
	KUNIT_EXPECT_EQ(test, devlend_lane_atomic_flush(&f->b.lane), (int)DEVLEND_E_BUSY);
}

static void atomic_test_any_write_lost(struct kunit *test)
{
	unsigned int nth, step;

	for (nth = 0; nth < 8; nth++) {
		struct atomic_fixture *f = atomic_fixture(test);

		for (step = 0; step < 3; step++)
			devlend_lane_atomic_post(&f->a.lane, 5, 0, step);
		for (step = 0; step < 100 && f->a.lane.done != f->a.lane.next; step++) {
			if (step == nth) {
				f->a.end.lose = nth % 3 + 1;
				f->b.end.lose = nth % 2;
			}
			atomic_run(f);
			devlend_lane_atomic_resend(&f->a.lane);
			devlend_lane_atomic_resend(&f->b.lane);
		}
		KUNIT_EXPECT_EQ_MSG(test, f->b.count, 3u, "loss at %u", nth);
		KUNIT_EXPECT_EQ(test, f->a.lane.done, f->a.lane.next);
	}
}

static void atomic_test_spoilt(struct kunit *test)
{
	unsigned int word;

	for (word = DEVLEND_WORD_ATOMIC_CTL; word <= DEVLEND_WORD_ATOMIC_D1; word++) {
		struct atomic_fixture *f = atomic_fixture(test);

		f->a.end.spoil = BIT(20);
		f->a.end.spoil_word = word;
		devlend_lane_atomic_post(&f->a.lane, 1, 2, 3);
		atomic_run(f);
		KUNIT_EXPECT_EQ(test, f->b.count, 0u);
		KUNIT_EXPECT_GT(test, f->b.lane.rejected, 0ull);
		devlend_lane_atomic_resend(&f->a.lane);
		atomic_run(f);
		KUNIT_EXPECT_EQ(test, f->b.count, 1u);
	}
}

static void atomic_test_other_life(struct kunit *test)
{
	struct atomic_fixture *f = atomic_fixture(test);

	devlend_lane_atomic_post(&f->a.lane, 1, 2, 3);
	atomic_begin(f, 0xaaaa, 0xcccc);
	KUNIT_EXPECT_FALSE(test, devlend_lane_atomic_poll(&f->b.lane));
	KUNIT_EXPECT_EQ(test, f->b.count, 0u);
	devlend_lane_atomic_close(&f->a.lane);
	KUNIT_EXPECT_EQ(test, devlend_lane_atomic_post(&f->a.lane, 1, 2, 3), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, devlend_lane_atomic_flush(&f->a.lane), -ENOTCONN);
}

/* Nobody answers: bounded, and nobody waits a second time. */
static void atomic_test_timeout_of(struct kunit *test, unsigned int set_ms, s64 want_ms)
{
	struct atomic_fixture *f = atomic_fixture(test);
	ktime_t begin = ktime_get();

	if (set_ms)
		f->a.lane.timeout_ms = set_ms;
	devlend_lane_atomic_post(&f->a.lane, 1, 2, 3);
	KUNIT_EXPECT_EQ(test, devlend_lane_atomic_flush(&f->a.lane), -ETIMEDOUT);
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), begin), want_ms);
	/* it rang again in between, should a bell have been lost */
	KUNIT_EXPECT_GT(test, f->a.end.rings, 2u);
	KUNIT_EXPECT_FALSE(test, devlend_lane_atomic_is_open(&f->a.lane));
	begin = ktime_get();
	KUNIT_EXPECT_EQ(test, devlend_lane_atomic_post(&f->a.lane, 1, 2, 3), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, devlend_lane_atomic_flush(&f->a.lane), -ENOTCONN);
	KUNIT_EXPECT_LT(test, ktime_ms_delta(ktime_get(), begin), want_ms / 2);
}

static void atomic_test_timeout(struct kunit *test)
{
	atomic_test_timeout_of(test, 0, DEVLEND_ATOMIC_TIMEOUT_MS);
}

static void atomic_test_timeout_of_the_operator(struct kunit *test)
{
	atomic_test_timeout_of(test, 2 * DEVLEND_ATOMIC_TIMEOUT_MS, 2 * DEVLEND_ATOMIC_TIMEOUT_MS);
}

static struct kunit_case atomic_cases[] = {
	KUNIT_CASE(atomic_test_status),
	KUNIT_CASE(atomic_test_flush_of_nothing),
	KUNIT_CASE(atomic_test_order_and_bound),
	KUNIT_CASE(atomic_test_both_ways),
	KUNIT_CASE(atomic_test_any_write_lost),
	KUNIT_CASE(atomic_test_spoilt),
	KUNIT_CASE(atomic_test_other_life),
	KUNIT_CASE(atomic_test_timeout),
	KUNIT_CASE(atomic_test_timeout_of_the_operator),
	{}
};

static struct kunit_suite atomic_suite = {
	.name = "devlend-lane-atomic",
	.test_cases = atomic_cases,
};

kunit_test_suite(atomic_suite);
