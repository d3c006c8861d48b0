// SPDX-License-Identifier: GPL-2.0
/* Reads that wait for each other in a circle. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

#define A (&b->f[0])
#define B (&b->f[1])
#define DEV 0xfebf0000ull

static void ones(struct fake *f, uint16_t id)
{
	struct msg *m = fake_recv(f);

	assert_non_null(m);
	assert_int_equal(m->hdr.id, id);
	assert_int_equal(m->hdr.flags, VFU_F_REPLY);
	assert_memory_equal(m->data + 16, "\xff\xff\xff\xff", 4);
}

static void finish(struct fake *from, struct fake *to, uint64_t addr)
{
	struct msg *m = fake_expect_dma(to, VFU_DMA_READ, addr, 4);
	struct vfu_hdr req = m->hdr;

	fake_answer_read(to, &req, addr, "\x01\x02\x03\x04", 4);
	m = fake_recv(from);
	assert_non_null(m);
	assert_memory_equal(m->data + 16, "\x01\x02\x03\x04", 4);
}

static void test_two(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	fake_read_start(A, 4, DEV, 4);
	ones(B, fake_read_start(B, 4, DEV + 4, 4));
	assert_int_equal(fake_cnt(B)->win[1].crossed, 1);
	assert_int_equal(fake_cnt(A)->win[1].crossed, 0);
	finish(A, B, DEV);
	/* Over: B may read now. */
	fake_read_start(B, 4, DEV + 4, 4);
	finish(B, A, DEV + 4);
	assert_int_equal(fake_cnt(B)->win[1].crossed, 1);
	bench_free(b);
}

/* What B does while A waits for it, other than a device read, is served. */
static void test_rest_crosses(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	A->ram[0x200000] = 0x42;
	fake_read_start(A, 4, DEV, 4);
	assert_int_equal(fake_read32(B, 2, 0), 0x42);
	fake_write32(B, 2, 4, 7);
	fake_write32(B, 4, DEV, 7);		/* unacknowledged: A stands still */
	fake_write32(B, 2, 4, 8);		/* held */
	assert_int_equal(fake_read32(B, 2, 4), 8);
	assert_int_equal(fake_read32(B, 0, 0x180), 0);
	assert_int_equal(fake_read32(B, 0, 0x80), 0);
	assert_int_equal(fake_cnt(B)->win[1].crossed, 0);
	bench_free(b);
}

/* A held device read is an edge too. */
static void test_held_read(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	fake_write32(A, 4, DEV, 1);
	fake_write32(A, 2, 0, 1);
	fake_read_start(A, 4, DEV, 4);
	assert_int_equal(fake_port(A)->out.n, 2);
	ones(B, fake_read_start(B, 4, DEV, 4));
	bench_free(b);
}

/*
 * Guests A, B and C in a ring; each has two functions: ab-ba, bc-cb, ca-ac.
 */
static struct bench *ring(bool one_guest_each)
{
	static const char * const ports[6] = { "ab", "ba", "bc", "cb", "ca", "ac" };
	static char json[4096];
	struct bench *b;
	int n = snprintf(json, sizeof(json), "{\"ports\":[");

	for (int i = 0; i < 6; i++) {
		n += snprintf(json + n, sizeof(json) - n,
			      "%s{\"name\":\"%s\",\"socket\":\"/n/%s\",\"role\":\"%s\",\"guest\":\"%.*s\","
			      "\"windows\":[{\"bar\":2,\"size\":\"1M\"},{\"bar\":4,\"size\":\"4G\"}]}",
			      i ? "," : "", ports[i], ports[i],
			      i & 1 ? "dsd" : "usd",
			      one_guest_each ? 1 : 2, ports[i]);
	}
	snprintf(json + n, sizeof(json) - n,
		 "],\"links\":[[\"ab\",\"ba\"],[\"bc\",\"cb\"],[\"ca\",\"ac\"]]}");
	b = bench_new(json);
	for (int i = 0; i < 6; i++) {
		fake_connect(&b->f[i]);
		fake_up(&b->f[i]);
		fake_open(&b->f[i], 1, 0, 4ull << 30);
	}
	return b;
}

static void test_three(void **state)
{
	struct bench *b = ring(true);

	(void)state;
	fake_read_start(&b->f[0], 4, DEV, 4);			/* A waits for B */
	fake_read_start(&b->f[2], 4, DEV, 4);			/* B waits for C */
	ones(&b->f[4], fake_read_start(&b->f[4], 4, DEV, 4));	/* C for A: no */
	assert_int_equal(fake_cnt(&b->f[4])->win[1].crossed, 1);
	/* C may still read B's: B waits for C, so no. */
	ones(&b->f[3], fake_read_start(&b->f[3], 4, DEV, 4));
	finish(&b->f[2], &b->f[3], DEV);
	/* B is free, A waits for it: C may ask A? A waits for B, which waits for none. */
	fake_read_start(&b->f[4], 4, DEV, 4);
	finish(&b->f[4], &b->f[5], DEV);
	finish(&b->f[0], &b->f[1], DEV);
	bench_free(b);
}

/* The same, seen as six guests: nobody waits for anybody else. */
static void test_not_a_circle(void **state)
{
	struct bench *b = ring(false);

	(void)state;
	fake_read_start(&b->f[0], 4, DEV, 4);
	fake_read_start(&b->f[2], 4, DEV, 4);
	fake_read_start(&b->f[4], 4, DEV, 4);
	finish(&b->f[0], &b->f[1], DEV);
	finish(&b->f[2], &b->f[3], DEV);
	finish(&b->f[4], &b->f[5], DEV);
	bench_free(b);
}

/* Both ends of a link in one guest: it would wait for itself. */
static void test_self(void **state)
{
	struct bench *b = bench_new(
		"{\"ports\":[{\"name\":\"a\",\"socket\":\"/n/a\",\"role\":\"usd\"},"
		"{\"name\":\"b\",\"socket\":\"/n/b\",\"role\":\"dsd\"}],\"links\":[[\"a\",\"b\"]]}");

	(void)state;
	for (int i = 0; i < 2; i++) {
		/* Without names the process tells, and it is ours both times. */
		fake_connect(&b->f[i]);
		fake_up(&b->f[i]);
		fake_open(&b->f[i], 1, 0, 64 << 20);
	}
	ones(A, fake_read_start(A, 4, 0x2000000, 4));
	assert_int_equal(fake_cnt(A)->win[1].crossed, 1);
	bench_free(b);
}

/* A circle that a vanished guest was part of is none. */
static void test_vanished(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	fake_read_start(A, 4, DEV, 4);
	fake_disconnect(A);
	assert_int_equal(fake_port(A)->out.waits, 1);
	fake_disconnect(B);
	assert_int_equal(fake_port(A)->out.waits, 0);
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two),
		cmocka_unit_test(test_rest_crosses),
		cmocka_unit_test(test_held_read),
		cmocka_unit_test(test_three),
		cmocka_unit_test(test_not_a_circle),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_vanished),
	};

	return cmocka_run_group_tests_name("cycle", tests, NULL, NULL);
}
