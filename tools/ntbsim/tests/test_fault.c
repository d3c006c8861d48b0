// SPDX-License-Identifier: GPL-2.0
/* Faults: each kind does what it says and no more, from a seed, and is counted. */
#include "fake.h"

#include <string.h>

#define A (&b->f[0])
#define B (&b->f[1])
#define DEV 0xfebf0000ull
#define BELLS 200

static struct fault_plan plan_of(enum fault_kind kind, double chance)
{
	struct fault_plan plan = {
		.seed = 1, .bell_us = 1000, .lost_us = 60000000,
		.corrupt_words = 0xffff,
	};

	plan.chance[kind] = chance;
	return plan;
}

/* A pair with something wrong about what A sends. */
static struct bench *faulty(enum fault_kind kind, double chance)
{
	struct fault_plan plan = plan_of(kind, chance);
	struct bench *b = bench_pair();

	fault_set_plan(&fake_port(A)->fault, &plan);
	return b;
}

static void no_faults(struct bench *b)
{
	struct fault_plan plan = { .seed = 1 };

	fault_set_plan(&fake_port(A)->fault, &plan);
}

static void ring(struct fake *f, int bit)
{
	fake_write32(f, 0, GEN3_DOORBELL + 4 * bit, 1);
}

static uint32_t status(struct fake *f)
{
	return fake_port(f)->regs.status;
}

static uint64_t count(struct bench *b, enum fault_kind kind)
{
	return fake_cnt(A)->faults[kind];
}

/* Let the server's next timer run out. */
static void next_timer(struct bench *b)
{
	assert_true(loop_once(&b->s->loop, 10000) > 0);
}

static void test_drop(void **state)
{
	struct bench *b = faulty(FAULT_BELL_DROP, 1);

	(void)state;
	ring(A, 3);
	ring(B, 4);
	assert_int_equal(status(B), 0);
	assert_int_equal(status(A), 1 << 4);
	assert_int_equal(count(b, FAULT_BELL_DROP), 1);
	assert_int_equal(fake_cnt(B)->faults[FAULT_BELL_DROP], 0);
	assert_int_equal(fake_cnt(A)->doorbells, 1);
	no_faults(b);
	ring(A, 3);
	assert_int_equal(status(B), 1 << 3);
	bench_free(b);
}

/* What is sent after a late bell comes before it. */
static void test_delay(void **state)
{
	struct bench *b = faulty(FAULT_BELL_DELAY, 1);

	(void)state;
	ring(A, 3);
	fake_write32(A, 0, GEN3_PEER_SPAD, 7);
	fake_write32(A, 2, 0, 8);
	assert_int_equal(fake_port(B)->regs.spad[0], 7);
	assert_int_equal(B->ram[0x200000], 8);
	while (!status(B))
		next_timer(b);
	assert_int_equal(status(B), 1 << 3);
	assert_int_equal(fake_irqs(B, 3), 1);
	assert_int_equal(count(b, FAULT_BELL_DELAY), 1);
	bench_free(b);
}

static void test_dup(void **state)
{
	struct bench *b = faulty(FAULT_BELL_DUP, 1);

	(void)state;
	ring(A, 3);
	assert_int_equal(status(B), 1 << 3);
	fake_port(B)->regs.status = 0;
	while (!status(B))
		next_timer(b);
	assert_int_equal(status(B), 1 << 3);
	assert_int_equal(fake_irqs(B, 3), 2);
	assert_int_equal(count(b, FAULT_BELL_DUP), 1);
	bench_free(b);
}

static void test_reorder(void **state)
{
	struct fault_plan plan = plan_of(FAULT_BELL_REORDER, 1);
	struct bench *b = bench_pair();

	(void)state;
	plan.bell_us = 60000000;
	fault_set_plan(&fake_port(A)->fault, &plan);
	ring(A, 3);
	assert_int_equal(status(B), 0);
	no_faults(b);
	ring(A, 4);
	assert_int_equal(status(B), 1 << 3 | 1 << 4);
	assert_int_equal(count(b, FAULT_BELL_REORDER), 1);
	/* A reset of the sender loses a bell that is late. */
	fault_set_plan(&fake_port(A)->fault, &plan);
	ring(A, 5);
	port_reset(fake_port(A));
	assert_int_equal(fake_port(A)->fault.nbells, 0);
	assert_int_equal(fake_cnt(A)->doorbells_dropped, 1);
	bench_free(b);
}

/* More late bells than there is room for ring at once. */
static void test_many_late(void **state)
{
	struct fault_plan plan = plan_of(FAULT_BELL_DELAY, 1);
	struct bench *b = bench_pair();

	(void)state;
	plan.bell_us = 60000000;
	fault_set_plan(&fake_port(A)->fault, &plan);
	for (int i = 0; i < FAULT_BELLS; i++)
		ring(A, 1);
	assert_int_equal(status(B), 0);
	ring(A, 2);
	assert_int_equal(status(B), 1 << 2);
	bench_free(b);
}

/* A late message keeps its place: what is sent behind it waits too. */
static void test_late_message(void **state)
{
	struct fault_plan plan = plan_of(FAULT_MSI_LATE, 1);
	struct bench *b = bench_pair();

	(void)state;
	plan.msi_us = 60000000;
	fault_set_plan(&fake_port(A)->fault, &plan);
	fake_write32(A, 4, 0xfee00000, 0x33);
	no_faults(b);
	fake_write32(A, 2, 0, 8);
	ring(A, 3);
	assert_null(fake_request(B));
	assert_int_equal(fake_port(A)->out.n, 3);
	assert_int_equal(count(b, FAULT_MSI_LATE), 1);
	fake_port(A)->fault.late_until = fault_now();
	timer_set(&fake_port(A)->fault.late, 1);
	next_timer(b);
	fake_answer_write(B, &fake_expect_dma(B, VFU_DMA_WRITE, 0xfee00000, 4)->hdr, 0);
	assert_int_equal(B->ram[0x200000], 8);
	assert_int_equal(status(B), 1 << 3);
	bench_free(b);
}

static void flap_once(struct bench *b, bool up)
{
	b->s->link[0].allowed = up;
	link_update(&b->s->link[0]);
}

static void test_lost(void **state)
{
	struct bench *b = bench_pair();
	struct fault_plan plan = plan_of(FAULT_SPAD_LOST, 1);

	(void)state;
	flap_once(b, false);
	flap_once(b, true);
	fault_set_plan(&fake_port(A)->fault, &plan);
	fake_write32(A, 0, GEN3_PEER_SPAD, 7);
	fake_write32(A, 2, 0, 8);
	assert_int_equal(fake_port(B)->regs.spad[0], 0);
	assert_int_equal(B->ram[0x200000], 8);
	assert_int_equal(count(b, FAULT_SPAD_LOST), 1);
	/* Long after. */
	b->s->link[0].changed_us = fault_now() - plan.lost_us;
	fake_write32(A, 0, GEN3_PEER_SPAD, 9);
	assert_int_equal(fake_port(B)->regs.spad[0], 9);
	/* Shortly before. */
	b->s->link[0].flap.next_us = fault_now() + 1000000;
	fake_write32(A, 0, GEN3_PEER_SPAD, 10);
	assert_int_equal(fake_port(B)->regs.spad[0], 9);
	assert_int_equal(count(b, FAULT_SPAD_LOST), 2);
	bench_free(b);
}

static void test_corrupt(void **state)
{
	struct fault_plan plan = plan_of(FAULT_SPAD_CORRUPT, 1);
	struct bench *b = bench_pair();

	(void)state;
	plan.corrupt_words = 1 << 3;
	fault_set_plan(&fake_port(A)->fault, &plan);
	for (int i = 0; i < 100; i++) {
		uint32_t wrong;

		fake_write32(A, 0, GEN3_PEER_SPAD + 4 * 3, 0x5a5a1234);
		wrong = fake_port(B)->regs.spad[3] ^ 0x5a5a1234;
		assert_int_equal(__builtin_popcount(wrong), 1);
	}
	fake_write32(A, 0, GEN3_PEER_SPAD + 4 * 4, 0x5a5a1234);
	assert_int_equal(fake_port(B)->regs.spad[4], 0x5a5a1234);
	assert_int_equal(count(b, FAULT_SPAD_CORRUPT), 100);
	bench_free(b);
}

static void test_freeze(void **state)
{
	struct bench *b = bench_pair();
	struct msg *m;
	uint16_t id;

	(void)state;
	flow_freeze(fake_port(A), true);
	fake_write32(A, 2, 0, 8);
	fake_write32(A, 0, GEN3_PEER_SPAD, 7);
	ring(A, 3);
	id = fake_read_start(A, 2, 0, 4);
	pump(b);
	assert_null(fake_recv(A));
	assert_int_equal(B->ram[0x200000], 0);
	assert_int_equal(fake_port(B)->regs.spad[0], 0);
	assert_int_equal(status(B), 0);
	/* The other way is open. */
	fake_write32(B, 2, 0, 9);
	assert_int_equal(A->ram[0x200000], 9);
	flow_freeze(fake_port(A), false);
	pump(b);
	b->s->loop.after(b->s);
	assert_int_equal(B->ram[0x200000], 8);
	assert_int_equal(fake_port(B)->regs.spad[0], 7);
	assert_int_equal(status(B), 1 << 3);
	m = fake_recv(A);
	assert_non_null(m);
	assert_int_equal(m->hdr.id, id);
	assert_memory_equal(m->data + 16, "\x08\0\0\0", 4);
	bench_free(b);
}

/* Reads that find nothing held are held too. */
static void test_frozen_reads(void **state)
{
	struct bench *b = bench_pair();
	struct vfu_hdr req;

	(void)state;
	flow_freeze(fake_port(A), true);
	fake_read_start(A, 2, 0, 4);
	pump(b);
	assert_null(fake_recv(A));
	fake_read_start(A, 4, DEV, 4);
	pump(b);
	assert_null(fake_request(B));
	flow_freeze(fake_port(A), false);
	b->s->loop.after(b->s);
	req = fake_expect_dma(B, VFU_DMA_READ, DEV, 4)->hdr;
	fake_answer_read(B, &req, DEV, "\x01\x02\x03\x04", 4);
	assert_non_null(fake_recv(A));
	assert_non_null(fake_recv(A));
	bench_free(b);
}

static void test_planned_freeze(void **state)
{
	struct fault_plan plan = {
		.seed = 5, .freeze_every_us = 1000, .freeze_us = 1000,
	};
	struct bench *b = bench_pair();

	(void)state;
	fault_set_plan(&fake_port(A)->fault, &plan);
	for (int i = 0; i < 3; i++) {
		while (!fake_port(A)->out.frozen)
			next_timer(b);
		while (fake_port(A)->out.frozen)
			next_timer(b);
	}
	assert_true(count(b, FAULT_FREEZE) >= 3);
	while (!fake_port(A)->out.frozen)
		next_timer(b);
	no_faults(b);
	assert_false(fake_port(A)->out.frozen);
	bench_free(b);
}

static void fates(uint64_t seed, bool others, char *out)
{
	struct fault_plan plan = plan_of(FAULT_BELL_DROP, 0.5);
	struct bench *b = bench_pair();

	plan.seed = seed;
	if (others)
		plan.chance[FAULT_SPAD_CORRUPT] = 0.5;
	fault_set_plan(&fake_port(A)->fault, &plan);
	for (int i = 0; i < BELLS; i++) {
		fake_port(B)->regs.status = 0;
		ring(A, 1);
		out[i] = status(B) ? 'x' : '.';
		if (others)
			fake_write32(A, 0, GEN3_PEER_SPAD, i);
	}
	out[BELLS] = '\0';
	bench_free(b);
}

/* The same seed gives the same faults, whatever else goes on. */
static void test_seed(void **state)
{
	char one[BELLS + 1], two[BELLS + 1];
	int rung = 0;

	(void)state;
	fates(7, false, one);
	fates(7, true, two);
	assert_string_equal(one, two);
	fates(8, false, two);
	assert_true(strcmp(one, two));
	for (int i = 0; i < BELLS; i++)
		rung += one[i] == 'x';
	assert_in_range(rung, BELLS / 4, BELLS * 3 / 4);
}

/* With everything wrong at once, no write of memory or of a word passes an earlier one. */
static void test_order(void **state)
{
	struct bench *b = bench_pair();
	struct fault_plan plan = {
		.seed = 11, .bell_us = 500, .lost_us = 60000000,
		.freeze_every_us = 2000, .freeze_us = 500,
	};
	uint32_t seen = 0;

	(void)state;
	plan.chance[FAULT_BELL_DROP] = plan.chance[FAULT_BELL_DELAY] = 0.3;
	plan.chance[FAULT_BELL_DUP] = plan.chance[FAULT_BELL_REORDER] = 0.3;
	plan.chance[FAULT_SPAD_LOST] = 0.2;
	fault_set_plan(&fake_port(A)->fault, &plan);
	for (uint32_t i = 1; i <= 3000; i++) {
		uint32_t word, memory;

		fake_write32(A, 2, 0, i);
		fake_write32(A, 0, GEN3_PEER_SPAD, i);
		ring(A, i & 31);
		pump(b);
		word = fake_port(B)->regs.spad[0];
		memcpy(&memory, B->ram + 0x200000, 4);
		assert_true(word >= seen && memory >= word);
		seen = word;
	}
	assert_true(seen > 2000);
	for (int i = 0; i < FAULT_FREEZE; i++)
		if (plan.chance[i] > 0)
			assert_true(fake_cnt(A)->faults[i] > 100);
	bench_free(b);
}

static int flaps_done;

static void done(void *arg)
{
	assert_null(arg);
	flaps_done++;
}

static void test_flaps(void **state)
{
	const struct flap_plan plan = {
		.seed = 3, .every_us = 200, .down_us = 200, .count = 5,
	};
	struct bench *b = bench_pair();
	struct flap *flap = &b->s->link[0].flap;

	(void)state;
	flaps_done = 0;
	flap_start(flap, &plan, done, NULL);
	assert_true(flap->next_us);
	while (!flaps_done)
		next_timer(b);
	assert_int_equal(count(b, FAULT_FLAP), 5);
	assert_int_equal(fake_cnt(A)->link_events, 10);
	assert_int_equal(fake_cnt(B)->link_events, 10);
	assert_true(b->s->link[0].up);
	assert_int_equal(flap->next_us, 0);
	/* Stopped while it is down. */
	flap_start(flap, &plan, done, NULL);
	while (b->s->link[0].up)
		next_timer(b);
	flap_stop(flap);
	assert_int_equal(flaps_done, 2);
	assert_true(b->s->link[0].up);
	/* A second start ends the first. */
	flap_start(flap, &plan, done, NULL);
	flap_start(flap, &plan, NULL, NULL);
	assert_int_equal(flaps_done, 3);
	bench_free(b);
}

static bool says(struct bench *b, const char *line, const char *text)
{
	struct json_object *r = control_request(b->s, line, NULL);
	bool found = strstr(json_object_to_json_string_ext(r,
					JSON_C_TO_STRING_PLAIN), text);

	json_object_put(r);
	return found;
}

static void test_commands(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	assert_true(says(b, "{\"cmd\":\"faults\",\"seed\":9,\"bell_drop\":1,\"port\":\"a\"}",
			 "\"ok\":true"));
	ring(A, 0);
	ring(B, 0);
	assert_int_equal(status(B), 0);
	assert_int_equal(status(A), 1);
	assert_true(says(b, "{\"cmd\":\"counters\"}", "\"faults\":{\"bell_drop\":1,"));
	/* For all ports; and what is not named is over. */
	assert_true(says(b, "{\"cmd\":\"faults\",\"spad_corrupt\":1,\"corrupt_words\":8}",
			 "\"ok\":true"));
	ring(A, 0);
	assert_int_equal(status(B), 1);
	assert_int_equal(fake_port(B)->fault.plan.corrupt_words, 8);
	assert_true(says(b, "{\"cmd\":\"freeze\",\"port\":\"b\",\"on\":true}",
			 "\"ok\":true"));
	assert_true(says(b, "{\"cmd\":\"status\"}", "\"frozen\":true"));
	assert_true(says(b, "{\"cmd\":\"flap\",\"count\":2,\"every_us\":100}",
			 "\"ok\":true"));
	assert_true(says(b, "{\"cmd\":\"status\"}", "\"flaps_left\":2"));
	/* The operator's word on the link ends them. */
	assert_true(says(b, "{\"cmd\":\"link\",\"link\":0,\"up\":true}",
			 "\"ok\":true"));
	assert_true(says(b, "{\"cmd\":\"status\"}", "\"flaps_left\":0"));

	assert_true(says(b, "{\"cmd\":\"faults\",\"bell_dorp\":1}", "unknown key"));
	assert_true(says(b, "{\"cmd\":\"faults\",\"bell_drop\":1.5}", "from 0 to 1"));
	assert_true(says(b, "{\"cmd\":\"faults\",\"bell_drop\":\"x\"}", "from 0 to 1"));
	assert_true(says(b, "{\"cmd\":\"faults\",\"port\":\"z\"}", "no such port"));
	assert_true(says(b, "{\"cmd\":\"faults\",\"corrupt_words\":65536}", "a mask of 16"));
	assert_true(says(b, "{\"cmd\":\"faults\",\"seed\":-1}", "positive"));
	assert_true(says(b, "{\"cmd\":\"freeze\",\"port\":\"b\"}", "true or false"));
	assert_true(says(b, "{\"cmd\":\"flap\",\"link\":1}", "no such link"));
	assert_true(says(b, "{\"cmd\":\"flap\",\"often\":1}", "unknown key"));
	assert_true(says(b, "{\"cmd\":\"flap\",\"count\":-1}", "positive"));
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_dup),
		cmocka_unit_test(test_reorder),
		cmocka_unit_test(test_many_late),
		cmocka_unit_test(test_late_message),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_corrupt),
		cmocka_unit_test(test_freeze),
		cmocka_unit_test(test_frozen_reads),
		cmocka_unit_test(test_planned_freeze),
		cmocka_unit_test(test_seed),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_flaps),
		cmocka_unit_test(test_commands),
	};

	return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
