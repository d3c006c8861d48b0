// SPDX-License-Identifier: GPL-2.0
/* Order: what may not overtake what, and what becomes of what is held. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define A (&b->f[0])
#define B (&b->f[1])
#define DEV 0xfebf0000ull

static uint32_t ram32(struct fake *f, uint64_t at)
{
	uint32_t v;

	memcpy(&v, f->ram + at, sizeof(v));
	return v;
}

static void test_doorbell_after_write(void **state)
{
	struct bench *b = bench_pair();
	struct vfu_hdr first, second;
	struct msg *m;

	(void)state;
	fake_write64(B, 0, GEN3_INT_STATUS, ~0ull);
	fake_write32(A, 4, DEV, 1);
	fake_write32(A, 4, DEV + 4, 2);
	fake_write32(A, 0, 0x100, 1);
	/* Both writes are on their way at once, the doorbell waits for both. */
	m = fake_expect_dma(B, VFU_DMA_WRITE, DEV, 4);
	first = m->hdr;
	m = fake_expect_dma(B, VFU_DMA_WRITE, DEV + 4, 4);
	second = m->hdr;
	assert_int_equal(fake_irqs(B, 0), 0);
	fake_answer_write(B, &first, 0);
	assert_int_equal(fake_irqs(B, 0), 0);
	assert_int_equal(fake_read64(B, 0, GEN3_INT_STATUS), 0);
	fake_answer_write(B, &second, 0);
	assert_int_equal(fake_irqs(B, 0), 1);
	assert_int_equal(fake_cnt(A)->doorbells_held, 1);
	bench_free(b);
}

static void test_all_kinds_stay_in_order(void **state)
{
	struct bench *b = bench_pair();
	struct vfu_hdr first;
	struct msg *m;

	(void)state;
	fake_write64(B, 0, GEN3_INT_STATUS, ~0ull);
	fake_write32(A, 4, DEV, 1);			/* device, window 1 */
	fake_write32(A, 2, 0, 0x11);			/* memory, window 0 */
	fake_write32(A, 0, 0x180, 0x22);		/* scratchpad */
	fake_write32(A, 4, 0xfee00000, 0x33);		/* interrupt */
	fake_write32(A, 2, 0, 0x44);			/* memory again */
	fake_write32(A, 0, 0x104, 1);			/* doorbell */

	m = fake_expect_dma(B, VFU_DMA_WRITE, DEV, 4);
	first = m->hdr;
	assert_null(fake_request(B));
	assert_int_equal(ram32(B, 0x200000), 0);
	assert_int_equal(fake_read32(B, 0, 0x80), 0);
	fake_answer_write(B, &first, 0);
	assert_int_equal(ram32(B, 0x200000), 0x11);
	m = fake_expect_dma(B, VFU_DMA_WRITE, 0xfee00000, 4);
	first = m->hdr;
	assert_int_equal(fake_read32(B, 0, 0x80), 0x22);
	assert_int_equal(ram32(B, 0x200000), 0x11);
	assert_int_equal(fake_irqs(B, 1), 0);
	fake_answer_write(B, &first, 0);
	assert_int_equal(ram32(B, 0x200000), 0x44);
	assert_int_equal(fake_irqs(B, 1), 1);
	assert_int_equal(fake_port(A)->out.n, 0);
	bench_free(b);
}

/* A read of memory pushes the writes before it, as NVMe's shadow doorbells need. */
static void test_memory_read_is_ordered(void **state)
{
	struct bench *b = bench_pair();
	struct vfu_hdr first;
	struct msg *m;
	uint16_t id;

	(void)state;
	fake_write32(A, 4, DEV, 1);
	m = fake_expect_dma(B, VFU_DMA_WRITE, DEV, 4);
	first = m->hdr;
	fake_write32(A, 2, 4, 0xaabbccdd);
	id = fake_read_start(A, 2, 8, 4);
	assert_null(fake_recv(A));
	assert_int_equal(fake_port(A)->out.waits, 1);
	/* Whoever sees the write has had its own before: the read finds it. */
	memcpy(B->ram + 0x200008, "\x78\x56\x34\x12", 4);
	fake_answer_write(B, &first, 0);
	assert_int_equal(ram32(B, 0x200004), 0xaabbccdd);
	m = fake_recv(A);
	assert_non_null(m);
	assert_int_equal(m->hdr.id, id);
	assert_memory_equal(m->data + 16, "\x78\x56\x34\x12", 4);
	assert_int_equal(fake_port(A)->out.waits, 0);
	assert_int_equal(fake_cnt(A)->win[0].held, 2);
	assert_int_equal(fake_cnt(A)->win[0].reads_early, 0);
	bench_free(b);
}

/* It gives way where the guest that must acknowledge waits for the reader; it sees its own writes. */
static void test_memory_read_gives_way(void **state)
{
	struct bench *b = bench_pair();
	struct msg *m;
	uint8_t big[64];
	uint16_t id;

	(void)state;
	memset(big, 0x5a, sizeof(big));
	memset(B->ram + 0x200000, 0x11, 256);
	fake_write32(A, 4, DEV, 1);
	fake_expect_dma(B, VFU_DMA_WRITE, DEV, 4);
	fake_write32(A, 2, 4, 0xaabbccdd);
	fake_write(A, 4, 0x200040, big, sizeof(big));
	id = fake_read_start(A, 2, 0, 8);
	assert_null(fake_recv(A));
	fake_read_start(B, 4, DEV + 8, 4);
	m = fake_recv(A);
	assert_non_null(m);
	assert_int_equal(m->hdr.id, id);
	assert_memory_equal(m->data + 16, "\x11\x11\x11\x11\xdd\xcc\xbb\xaa", 8);
	assert_int_equal(fake_cnt(A)->win[0].reads_early, 1);
	assert_int_equal(fake_cnt(B)->win[1].crossed, 0);
	fake_expect_dma(A, VFU_DMA_READ, DEV + 8, 4);
	/* While the other waits for us, a read of memory is answered at once. */
	assert_true(fake_read64(A, 4, 0x20003c) == 0x5a5a5a5a11111111ull);
	assert_int_equal(fake_cnt(A)->win[1].reads_early, 1);
	assert_int_equal(ram32(B, 0x200004), 0x11111111);
	bench_free(b);
}

/* A device read keeps its place behind a held write. */
static void test_device_read_is_ordered(void **state)
{
	struct bench *b = bench_pair();
	struct vfu_hdr first;
	struct msg *m;
	uint32_t v = 9;
	uint16_t id;

	(void)state;
	fake_write32(A, 4, DEV, 1);
	m = fake_expect_dma(B, VFU_DMA_WRITE, DEV, 4);
	first = m->hdr;
	fake_write32(A, 2, 0, 7);
	id = fake_read_start(A, 4, DEV + 8, 4);
	assert_null(fake_request(B));
	assert_null(fake_recv(A));
	assert_int_equal(fake_port(A)->out.waits, 1);
	fake_answer_write(B, &first, 0);
	assert_int_equal(ram32(B, 0x200000), 7);
	m = fake_expect_dma(B, VFU_DMA_READ, DEV + 8, 4);
	first = m->hdr;
	fake_answer_read(B, &first, DEV + 8, &v, 4);
	m = fake_recv(A);
	assert_non_null(m);
	assert_int_equal(m->hdr.id, id);
	assert_int_equal(fake_port(A)->out.waits, 0);
	/* Right behind a device write it goes out at once. */
	fake_write32(A, 4, DEV, 1);
	fake_read_start(A, 4, DEV + 8, 4);
	m = fake_expect_dma(B, VFU_DMA_WRITE, DEV, 4);
	m = fake_expect_dma(B, VFU_DMA_READ, DEV + 8, 4);
	bench_free(b);
}

/* An answer does not wait for interrupts that came before it, sent or held; each is counted once. */
static void test_overtaken_interrupts(void **state)
{
	const struct window_counters *wc;
	struct bench *b = bench_pair();
	struct vfu_hdr msi, held, read;
	struct msg *m;
	uint32_t v = 9;

	(void)state;
	wc = &fake_cnt(B)->win[1];
	fake_read_start(A, 4, DEV, 4);
	m = fake_expect_dma(B, VFU_DMA_READ, DEV, 4);
	read = m->hdr;
	fake_write32(B, 4, 0xfee00000, 0x33);
	m = fake_expect_dma(A, VFU_DMA_WRITE, 0xfee00000, 4);
	msi = m->hdr;
	fake_write32(B, 2, 0, 0x11);
	fake_write32(B, 4, 0xfee00000, 0x34);
	fake_answer_read(B, &read, DEV, &v, 4);
	assert_non_null(fake_recv(A));
	/* Behind the answer: not overtaken. */
	fake_write32(B, 4, 0xfee00000, 0x35);
	assert_int_equal(wc->msi_overtaken, 0);
	usleep(2 * FLOW_LATE_US);
	fake_answer_write(A, &msi, 0);
	assert_int_equal(wc->msi_overtaken, 1);
	assert_int_equal(wc->msi_overtaken_late, 1);
	m = fake_expect_dma(A, VFU_DMA_WRITE, 0xfee00000, 4);
	held = m->hdr;
	m = fake_expect_dma(A, VFU_DMA_WRITE, 0xfee00000, 4);
	msi = m->hdr;
	fake_answer_write(A, &held, 0);
	assert_int_equal(wc->msi_overtaken, 2);
	assert_int_equal(wc->msi_overtaken_late, 2);
	fake_answer_write(A, &msi, 0);
	assert_int_equal(wc->msi_overtaken, 2);
	assert_int_equal(wc->msi_writes, 3);
	bench_free(b);
}

/* Held writes find the window as it is when their turn comes. */
static void test_closed_while_held(void **state)
{
	struct bench *b = bench_pair();
	struct vfu_hdr first;
	struct msg *m;

	(void)state;
	fake_write32(A, 4, DEV, 1);
	m = fake_expect_dma(B, VFU_DMA_WRITE, DEV, 4);
	first = m->hdr;
	fake_write32(A, 2, 0, 7);
	fake_read_start(A, 4, DEV, 4);
	fake_open(B, 0, 0x200000, 0);
	fake_open(B, 1, 0, 0);
	fake_answer_write(B, &first, 0);
	assert_int_equal(ram32(B, 0x200000), 0);
	assert_int_equal(fake_cnt(A)->win[0].dropped_closed, 1);
	assert_int_equal(fake_cnt(A)->win[1].dropped_closed, 1);
	m = fake_recv(A);
	assert_non_null(m);
	assert_memory_equal(m->data + 16, "\xff\xff\xff\xff", 4);
	assert_int_equal(fake_port(A)->out.waits, 0);
	bench_free(b);
}

static void test_target_vanishes(void **state)
{
	struct bench *b = bench_pair();
	struct msg *m;
	uint16_t id;

	(void)state;
	fake_write32(A, 4, DEV, 1);
	id = fake_read_start(A, 4, DEV, 4);
	fake_write32(A, 2, 0, 7);
	fake_write32(A, 0, 0x100, 1);
	fake_disconnect(B);
	m = fake_recv(A);
	assert_non_null(m);
	assert_int_equal(m->hdr.id, id);
	assert_memory_equal(m->data + 16, "\xff\xff\xff\xff", 4);
	assert_int_equal(fake_port(A)->out.n, 0);
	assert_int_equal(fake_port(A)->out.inflight, 0);
	assert_int_equal(fake_port(A)->out.waits, 0);
	assert_int_equal(fake_cnt(A)->doorbells_dropped, 1);
	assert_int_equal(ram32(B, 0x200000), 0);
	/* And comes back. */
	fake_connect(B);
	fake_up(B);
	fake_open(B, 0, 0x200000, 0x100000);
	fake_write32(A, 2, 0, 8);
	assert_int_equal(ram32(B, 0x200000), 8);
	bench_free(b);
}

static void test_requester_vanishes(void **state)
{
	struct bench *b = bench_pair();
	struct vfu_hdr wr, rd;
	struct msg *m;
	uint32_t v = 1;

	(void)state;
	fake_write32(A, 4, DEV, 1);
	m = fake_expect_dma(B, VFU_DMA_WRITE, DEV, 4);
	wr = m->hdr;
	fake_read_start(A, 4, DEV, 4);
	m = fake_expect_dma(B, VFU_DMA_READ, DEV, 4);
	rd = m->hdr;
	fake_write32(A, 2, 0, 7);
	fake_read_start(A, 4, DEV, 4);
	fake_disconnect(A);
	assert_int_equal(fake_port(A)->out.n, 0);
	assert_int_equal(fake_port(A)->out.waits, 1);
	/* A new client must not get the old one's answer. */
	fake_connect(A);
	fake_answer_write(B, &wr, 0);
	fake_answer_read(B, &rd, DEV, &v, 4);
	assert_null(fake_recv(A));
	assert_int_equal(fake_port(A)->out.waits, 0);
	assert_int_equal(fake_port(A)->out.inflight, 0);
	assert_int_equal(ram32(B, 0x200000), 0);
	bench_free(b);
}

/* A reset guest gets an answer to what it still waits for. */
static void test_reset_while_held(void **state)
{
	struct bench *b = bench_pair();
	struct msg *m;
	uint16_t id;

	(void)state;
	fake_write32(A, 4, DEV, 1);
	fake_write32(A, 2, 0, 7);
	id = fake_read_start(A, 4, DEV, 4);
	fake_send(A, VFU_DEVICE_RESET, 0, NULL, 0);
	pump(b);
	m = fake_recv(A);
	assert_non_null(m);
	assert_int_equal(m->hdr.id, id);
	m = fake_recv(A);
	assert_non_null(m);
	assert_int_equal(m->hdr.cmd, VFU_DEVICE_RESET);
	assert_int_equal(fake_port(A)->out.n, 0);
	assert_int_equal(fake_cnt(A)->win[0].dropped_purged, 1);
	bench_free(b);
}

static void test_error_counts_as_done(void **state)
{
	struct bench *b = bench_pair();
	struct vfu_hdr first;
	struct msg *m;

	(void)state;
	fake_write32(A, 4, DEV, 1);
	m = fake_expect_dma(B, VFU_DMA_WRITE, DEV, 4);
	first = m->hdr;
	fake_write32(A, 2, 0, 7);
	fake_answer_write(B, &first, 22);
	assert_int_equal(ram32(B, 0x200000), 7);
	assert_int_equal(fake_cnt(A)->win[1].errors, 1);
	bench_free(b);
}

/* More writes than may be on their way, and far more than a socket holds. */
static void test_flood(void **state)
{
	enum { N = 20000 };
	struct bench *b = bench_pair();
	uint32_t next = 0;

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		struct {
			struct vfu_region_rw rw;
			uint32_t v;
		} w = {
			.rw = { .offset = DEV, .region = 4, .count = 4 },
			.v = i,
		};

		fake_send(A, VFU_REGION_WRITE, VFU_F_NO_REPLY, &w, sizeof(w));
	}
	fake_write32(A, 0, 0x180, 0x99);
	pump(b);
	while (next < N) {
		struct msg *m;
		uint32_t v;

		pump(b);
		m = fake_request(B);
		assert_non_null(m);
		assert_int_equal(m->hdr.cmd, VFU_DMA_WRITE);
		memcpy(&v, m->data + 16, sizeof(v));
		assert_int_equal(v, next);
		next++;
		assert_int_not_equal(fake_port(B)->regs.spad[0], 0x99);
		fake_answer_write(B, &m->hdr, 0);
	}
	assert_int_equal(fake_read32(B, 0, 0x80), 0x99);
	assert_int_equal(fake_cnt(A)->win[1].message_writes, N);
	bench_free(b);
}

/* A write that wants an answer gets it before anything else happens. */
static void test_write_is_answered_first(void **state)
{
	struct bench *b = bench_pair();
	struct {
		struct vfu_region_rw rw;
		uint32_t v;
	} w = {
		.rw = { .offset = DEV, .region = 4, .count = 4 },
	};

	(void)state;
	fake_call(A, VFU_REGION_WRITE, &w, sizeof(w));
	fake_expect_dma(B, VFU_DMA_WRITE, DEV, 4);
	bench_free(b);
}

static void test_write_multi(void **state)
{
	struct bench *b = bench_pair();
	struct {
		uint64_t n;
		struct vfu_write_one w[3];
	} m = {
		.n = 3,
		.w = {
			{ .offset = 0, .region = 2, .count = 4, .data = "abcd" },
			{ .offset = 0x188, .region = 0, .count = 4,
			  .data = "efgh" },
			{ .offset = 4, .region = 2, .count = 8,
			  .data = "ijklmnop" },
		},
	};

	(void)state;
	fake_send(A, VFU_REGION_WRITE_MULTI, VFU_F_NO_REPLY, &m, sizeof(m));
	pump(b);
	assert_memory_equal(B->ram + 0x200000, "abcdijklmnop", 12);
	assert_int_equal(fake_read32(B, 0, 0x88), 0x68676665);
	m.n = 1ull << 60;
	assert_true(fake_call(A, VFU_REGION_WRITE_MULTI, &m, sizeof(m))->hdr.flags &
		    VFU_F_ERROR);
	m.n = 1;
	m.w[0].count = 9;
	assert_true(fake_call(A, VFU_REGION_WRITE_MULTI, &m, sizeof(m))->hdr.flags &
		    VFU_F_ERROR);
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_doorbell_after_write),
		cmocka_unit_test(test_all_kinds_stay_in_order),
		cmocka_unit_test(test_memory_read_is_ordered),
		cmocka_unit_test(test_memory_read_gives_way),
		cmocka_unit_test(test_device_read_is_ordered),
		cmocka_unit_test(test_overtaken_interrupts),
		cmocka_unit_test(test_closed_while_held),
		cmocka_unit_test(test_target_vanishes),
		cmocka_unit_test(test_requester_vanishes),
		cmocka_unit_test(test_reset_while_held),
		cmocka_unit_test(test_error_counts_as_done),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_write_is_answered_first),
		cmocka_unit_test(test_write_multi),
	};

	return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
