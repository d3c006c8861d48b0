// SPDX-License-Identifier: GPL-2.0
/*
 * Messages that are valid, odd and broken, from a fixed seed, from both sides of a link, with disconnects: the
 * server must survive, leak nothing, and work afterwards.
 */
#include "fake.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define A (&b->f[0])

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static uint16_t any_command(unsigned int *seed)
{
	return rand_r(seed) % 8 ? 2 + rand_r(seed) % 15 : rand_r(seed);
}

/* A number that is more often than not near something that matters. */
static uint64_t any_number(unsigned int *seed)
{
	static const uint64_t near[] = {
		0, 1, 4, 8, 16, 32, 33, 0x40, 0x80, 0x100, 0x180, 0x1000, 0x10000,
		0x100000, 0xfee00000, 0xfebf0000, 1ull << 32, FAKE_BAR2,
		FAKE_BAR4, ~0ull, VFU_MAX_XFER,
	};
	uint64_t v = near[rand_r(seed) % (sizeof(near) / sizeof(near[0]))];

	switch (rand_r(seed) % 4) {
	case 0:
		return v + rand_r(seed) % 16;
	case 1:
		return v - rand_r(seed) % 16;
	case 2:
		return v;
	default:
		return (uint64_t)rand_r(seed) << 32 ^ rand_r(seed);
	}
}

static size_t any_payload(unsigned int *seed, uint16_t cmd, uint8_t *buf)
{
	size_t len = rand_r(seed) % 128;

	for (size_t i = 0; i < 128; i += 8) {
		uint64_t v = any_number(seed);

		memcpy(buf + i, &v, 8);
	}
	if (cmd == VFU_REGION_READ || cmd == VFU_REGION_WRITE) {
		struct vfu_region_rw rw = {
			.region = rand_r(seed) % 10,
			.offset = any_number(seed),
			.count = rand_r(seed) % 4 ? 1u << rand_r(seed) % 4 :
				 any_number(seed),
		};

		memcpy(buf, &rw, sizeof(rw));
		if (rand_r(seed) % 4)
			len = sizeof(rw) + 8;
	}
	return len;
}

/* Drain what the server sent, answering some requests, some of them wrongly. */
static void drain(struct fake *f, unsigned int *seed)
{
	struct msg *m;

	while (f->fd >= 0 && (m = fake_any(f))) {
		struct vfu_hdr req = m->hdr;
		struct vfu_dma_rw rw;

		if (m->fd >= 0)
			close(m->fd);
		if (req.flags & VFU_F_REPLY || !(rand_r(seed) % 4))
			continue;
		memcpy(&rw, m->data, sizeof(rw));
		if (!(rand_r(seed) % 16))
			req.id ^= 1u << rand_r(seed) % 16;
		if (req.cmd == VFU_DMA_WRITE)
			fake_answer_write(f, &req, rand_r(seed) % 8 ? 0 : 5);
		else
			fake_answer_read(f, &req, rw.offset, m->data,
					 rand_r(seed) % 8 ? rw.count & 0xff : 3);
	}
}

static void fuzz_one(struct fake *f, unsigned int *seed)
{
	uint16_t cmd = any_command(seed);
	uint32_t flags = rand_r(seed) % 8 ? rand_r(seed) % 2 * VFU_F_NO_REPLY :
			 rand_r(seed) % 64;
	uint8_t buf[128];
	size_t len = any_payload(seed, cmd, buf);
	int fds[4];
	int n = rand_r(seed) % 8 ? 0 : rand_r(seed) % 5;

	for (int i = 0; i < n; i++)
		fds[i] = rand_r(seed) % 2 ? f->ram_fd : f->irq[i];
	if (rand_r(seed) % 64)
		fake_send_fds(f, cmd, flags, buf, len, fds, n);
	else
		fake_bytes(f, buf, len);
}

static void test_fuzz(void **state)
{
	enum { ROUNDS = 40, MESSAGES = 500 };
	int before = open_fds(), dropped = 0;

	(void)state;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		struct bench *b = bench_pair();
		unsigned int seed = round + 1;

		for (int i = 0; i < MESSAGES; i++) {
			struct fake *f = &b->f[rand_r(&seed) % 2];

			fuzz_one(f, &seed);
			if (rand_r(&seed) % 4)
				pump(b);
			if (!(rand_r(&seed) % 200)) {
				fake_disconnect(f);
			}
			for (int k = 0; k < 2; k++) {
				f = &b->f[k];
				if (f->fd >= 0)
					drain(f, &seed);
				pump(b);
				if (fake_port(f)->conn)
					continue;
				if (f->fd >= 0)
					fake_hangup(f);
				dropped++;
				fake_connect(f);
				fake_up(f);
				fake_open(f, 0, 0x200000, 0x100000);
				fake_open(f, 1, 0, 4ull << 30);
			}
		}
		/* Both are usable afterwards, once they start anew. */
		for (int k = 0; k < 2; k++) {
			fake_disconnect(&b->f[k]);
			fake_connect(&b->f[k]);
			fake_up(&b->f[k]);
			fake_open(&b->f[k], 0, 0x200000, 0x100000);
		}
		fake_write32(A, 2, 0, 0x600d0000 + round);
		assert_int_equal(fake_read32(A, 2, 0), 0x600d0000 + round);
		assert_int_equal(fake_port(A)->out.inflight, 0);
		assert_int_equal(fake_port(A)->out.waits, 0);
		bench_free(b);
	}
	assert_int_equal(open_fds(), before);
	print_message("           %d messages, %d connections dropped\n",
		      ROUNDS * MESSAGES, dropped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fuzz),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("fuzz", tests, NULL, NULL);
}
