// SPDX-License-Identifier: GPL-2.0
/* The protocol: what a well-behaved client asks, what a bad one sends, and clients that vanish. */
#include "fake.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define A (&b->f[0])
#define B (&b->f[1])

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static bool is_error(const struct msg *m)
{
	return m->hdr.flags == (VFU_F_REPLY | VFU_F_ERROR) && m->hdr.error;
}

static void test_info(void **state)
{
	struct bench *b = bench_pair();
	struct vfu_device_info di = { .argsz = sizeof(di) };
	struct vfu_irq_info ii = { .argsz = sizeof(ii) };
	struct vfu_region_info ri = { .argsz = sizeof(ri) };
	static const uint64_t size[9] = {
		0x10000, 0, 0x100000, 0, 4ull << 30, 0, 0, 4096, 0,
	};
	struct msg *m;

	(void)state;
	m = fake_call(A, VFU_DEVICE_GET_INFO, &di, sizeof(di));
	memcpy(&di, m->data, sizeof(di));
	assert_int_equal(di.flags, 3);
	assert_int_equal(di.num_regions, 9);
	assert_int_equal(di.num_irqs, 5);
	for (uint32_t i = 0; i < 9; i++) {
		ri.index = i;
		ri.argsz = sizeof(ri);
		m = fake_call(A, VFU_DEVICE_GET_REGION_INFO, &ri, sizeof(ri));
		memcpy(&ri, m->data, sizeof(ri));
		assert_true(ri.size == size[i]);
		assert_int_equal(ri.flags, size[i] ? 3 : 0);
	}
	for (uint32_t i = 0; i < 5; i++) {
		ii.index = i;
		m = fake_call(A, VFU_DEVICE_GET_IRQ_INFO, &ii, sizeof(ii));
		memcpy(&ii, m->data, sizeof(ii));
		assert_int_equal(ii.count, i == 2 ? 33 : i == 0 ? 1 : 0);
		assert_int_equal(ii.flags, i == 0 ? 7 : 9);
	}
	ii.index = 5;
	assert_true(is_error(fake_call(A, VFU_DEVICE_GET_IRQ_INFO, &ii,
				       sizeof(ii))));
	ri.index = 9;
	assert_true(is_error(fake_call(A, VFU_DEVICE_GET_REGION_INFO, &ri,
				       sizeof(ri))));
	ri.index = 0;
	ri.argsz = 4;
	assert_true(is_error(fake_call(A, VFU_DEVICE_GET_REGION_INFO, &ri,
				       sizeof(ri))));
	bench_free(b);
}

static void test_bad_version(void **state)
{
	static const struct {
		const char *data;
		size_t len;
	} t[] = {
		{ "\0", 1 },
		{ "\1\0\0\0", 4 },
		{ "\0\0\0\0{}", 6 },		/* no end of string */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct bench *b = bench_pair();

		fake_disconnect(A);
		fake_connect_raw(A);
		fake_send(A, VFU_VERSION, 0, t[i].data, t[i].len);
		pump(b);
		assert_true(is_error(fake_recv(A)));
		assert_true(fake_closed(A));
		bench_free(b);
	}
}

/* Capabilities that are not JSON, or odd, do not matter. */
static void test_odd_caps(void **state)
{
	static const char * const caps[] = {
		"", "{", "[]", "null", "{\"capabilities\":[]}",
		"{\"capabilities\":{\"max_data_xfer_size\":\"x\",\"write_multiple\":{}}}",
		"{\"capabilities\":{\"max_data_xfer_size\":-1}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		struct bench *b = bench_pair();
		char buf[256] = { 0 };
		struct msg *m;

		fake_disconnect(A);
		fake_connect_raw(A);
		strcpy(buf + 4, caps[i]);
		m = fake_call(A, VFU_VERSION, buf, 4 + strlen(caps[i]) + 1);
		assert_int_equal(m->hdr.flags, VFU_F_REPLY);
		bench_free(b);
	}
}

static void test_before_version(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	fake_disconnect(A);
	fake_connect_raw(A);
	fake_send(A, VFU_DEVICE_GET_INFO, 0, NULL, 0);
	assert_true(fake_closed(A));
	bench_free(b);
}

static void test_bad_headers(void **state)
{
	static const struct vfu_hdr t[] = {
		{ .cmd = 9, .size = 0 },
		{ .cmd = 9, .size = 15 },
		{ .cmd = 9, .size = VFU_MAX_MSG + 1 },
		{ .cmd = 9, .size = 0xffffffff },
		{ .cmd = 9, .size = 16, .flags = 2 },
		{ .cmd = 9, .size = 16, .flags = 0xf },
		{ .cmd = VFU_VERSION, .size = 20 },		/* once is enough */
		{ .id = 7, .cmd = VFU_DMA_READ, .size = 16,	/* never asked */
		  .flags = VFU_F_REPLY },
		{ .id = 0xffff, .cmd = VFU_DMA_WRITE, .size = 16,
		  .flags = VFU_F_REPLY },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct bench *b = bench_pair();
		uint32_t pad = 0;

		fake_bytes(A, &t[i], sizeof(t[i]));
		fake_bytes(A, &pad, sizeof(pad));
		assert_true(fake_closed(A));
		assert_null(fake_port(A)->conn);
		assert_false(b->s->link[0].up);
		bench_free(b);
	}
}

/* Every command with every payload length from nothing to more than enough. */
static void test_short_payloads(void **state)
{
	struct bench *b = bench_pair();
	uint8_t zero[64] = { 0 };

	(void)state;
	for (uint16_t cmd = 0; cmd < 20; cmd++) {
		if (cmd == VFU_VERSION)
			continue;
		for (size_t len = 0; len <= sizeof(zero); len++) {
			struct msg *m = fake_call(A, cmd, zero, len);

			assert_true(m->hdr.flags == VFU_F_REPLY || is_error(m));
		}
	}
	assert_false(fake_closed(A));
	bench_free(b);
}

static void test_bad_regions(void **state)
{
	static const struct {
		uint32_t region;
		uint64_t off;
		uint32_t len;
	} t[] = {
		{ 0, 0x10000, 1 }, { 0, 0xffff, 2 }, { 0, ~0ull, 1 },
		{ 0, ~0ull, 8 }, { 1, 0, 1 }, { 6, 0, 4 }, { 7, 4096, 1 },
		{ 7, 4095, 2 }, { 8, 0, 1 }, { 9, 0, 1 }, { ~0u, 0, 1 },
		{ 2, 0x100000, 1 }, { 4, 4ull << 30, 1 }, { 0, 0, 0 },
		{ 4, 0, VFU_MAX_XFER + 1 }, { 4, 0, ~0u },
	};
	struct bench *b = bench_pair();

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct {
			struct vfu_region_rw rw;
			uint8_t data[64];
		} w = {
			.rw = {
				.region = t[i].region, .offset = t[i].off,
				.count = t[i].len,
			},
		};

		assert_true(is_error(fake_call(A, VFU_REGION_READ, &w.rw,
					       sizeof(w.rw))));
		assert_true(is_error(fake_call(A, VFU_REGION_WRITE, &w,
					       sizeof(w))));
	}
	bench_free(b);
}

static void test_bad_irqs(void **state)
{
	static const struct vfu_irq_set t[] = {
		{ .index = 5, .flags = 0x21 },
		{ .index = 2, .flags = 0x24, .start = 33, .count = 1 },
		{ .index = 2, .flags = 0x24, .start = 30, .count = 4 },
		{ .index = 2, .flags = 0x24, .start = ~0u, .count = 2 },
		{ .index = 2, .flags = 0x24, .start = 2, .count = ~0u },
		{ .index = 1, .flags = 0x24, .count = 1 },
		{ .index = 0, .flags = 0x24, .count = 2 },
		{ .index = 0, .flags = 0x24, .start = 1, .count = 1 },
		{ .index = 0, .flags = 0x24 },
		{ .index = 0, .flags = 0x21, .count = 1 },
		{ .index = 0, .flags = 0x0a, .count = 1 },
		{ .index = 0, .flags = 0x14, .count = 1 },
		{ .index = 2, .flags = 0x20, .count = 1 },
	};
	struct bench *b = bench_pair();
	struct vfu_irq_set s = { .index = 2, .flags = 0x24, .count = 2 };
	int fds[3] = { A->irq[0], A->irq[1], A->irq[2] };
	int before;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_true(is_error(fake_call(A, VFU_DEVICE_SET_IRQS, &t[i],
					       sizeof(t[i]))));
	/* A count that is not that of the descriptors; none may leak. */
	before = open_fds();
	fake_send_fds(A, VFU_DEVICE_SET_IRQS, 0, &s, sizeof(s), fds, 3);
	pump(b);
	assert_true(is_error(fake_recv(A)));
	assert_int_equal(open_fds(), before);
	/* Descriptors with a message that wants none. */
	fake_send_fds(A, VFU_DEVICE_RESET, 0, NULL, 0, fds, 3);
	pump(b);
	assert_non_null(fake_recv(A));
	assert_int_equal(open_fds(), before);
	/* More of them than the pin takes. */
	s.index = 0;
	s.count = 1;
	fake_send_fds(A, VFU_DEVICE_SET_IRQS, 0, &s, sizeof(s), fds, 2);
	pump(b);
	assert_true(is_error(fake_recv(A)));
	assert_int_equal(open_fds(), before);
	/* One for the pin, another in its place, and off. */
	for (int i = 0; i < 2; i++) {
		fake_send_fds(A, VFU_DEVICE_SET_IRQS, 0, &s, sizeof(s), fds + i, 1);
		pump(b);
		assert_false(is_error(fake_recv(A)));
		assert_int_equal(open_fds(), before + 1);
	}
	s.flags = 0x21;
	s.count = 0;
	assert_false(is_error(fake_call(A, VFU_DEVICE_SET_IRQS, &s, sizeof(s))));
	assert_int_equal(open_fds(), before);
	s = (struct vfu_irq_set){ .index = 2, .flags = 0x24, .count = 2 };
	/* Take two away, trigger one, switch all off. */
	assert_false(is_error(fake_call(A, VFU_DEVICE_SET_IRQS, &s, sizeof(s))));
	assert_int_equal(open_fds(), before - 2);
	s.flags = 0x21;
	s.count = 0;
	assert_false(is_error(fake_call(A, VFU_DEVICE_SET_IRQS, &s, sizeof(s))));
	assert_int_equal(open_fds(), before - 33);
	bench_free(b);
}

/* An eventfd that is nothing of the kind must not stop the loop. */
static void test_blocking_irq(void **state)
{
	struct bench *b = bench_pair();
	struct vfu_irq_set s = { .index = 2, .flags = 0x24, .count = 1 };
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	fake_send_fds(B, VFU_DEVICE_SET_IRQS, 0, &s, sizeof(s), &p[1], 1);
	pump(b);
	assert_non_null(fake_recv(B));
	for (int i = 0; i < 20000; i++) {
		fake_port(B)->regs.status = 0;
		fake_write32(A, 0, 0x100, 1);
	}
	assert_int_equal(fake_cnt(A)->doorbells, 20000);
	close(p[0]);
	close(p[1]);
	bench_free(b);
}

/* One byte at a time. */
static void test_trickle(void **state)
{
	struct bench *b = bench_pair();
	struct {
		struct vfu_hdr hdr;
		struct vfu_region_rw rw;
		uint32_t v;
	} w = {
		.hdr = {
			.cmd = VFU_REGION_WRITE, .size = 36,
			.flags = VFU_F_NO_REPLY,
		},
		.rw = { .region = 2, .count = 4 },
		.v = 0x12345678,
	};

	(void)state;
	for (size_t i = 0; i < 36; i++) {
		assert_int_equal(fake_cnt(A)->win[0].writes, 0);
		fake_bytes(A, (uint8_t *)&w + i, 1);
		pump(b);
	}
	assert_int_equal(fake_cnt(A)->win[0].writes, 1);
	assert_memory_equal(B->ram + 0x200000, "\x78\x56\x34\x12", 4);
	bench_free(b);
}

/* Messages of odd sizes, several at once: nothing behind the first is aligned. */
static void test_odd_sizes(void **state)
{
	struct bench *b = bench_pair();
	struct vfu_region_rw rw = { .region = 2 };
	struct msg *m;

	(void)state;
	for (uint32_t n = 1; n < 24; n++)
		B->ram[0x200000 + n] = n;
	for (uint32_t n = 1; n < 24; n++) {
		rw.offset = 1;
		rw.count = n;
		fake_send(A, VFU_REGION_READ, 0, &rw, sizeof(rw));
		fake_send(A, VFU_DEVICE_GET_INFO, 0, "123456789", n % 5 + 4);
	}
	for (uint32_t n = 1; n < 24; n++) {
		pump(b);
		m = fake_recv(A);
		assert_int_equal(m->hdr.cmd, VFU_REGION_READ);
		assert_int_equal(m->hdr.size, 32 + n);
		assert_int_equal(m->data[16 + n - 1], n);
		m = fake_recv(A);
		assert_int_equal(m->hdr.cmd, VFU_DEVICE_GET_INFO);
	}
	bench_free(b);
}

/* The largest transfer, and many answers that the client is slow to read. */
static void test_large(void **state)
{
	struct bench *b = bench_pair();
	struct vfu_region_rw rw = {
		.region = 4, .offset = 0x200000, .count = VFU_MAX_XFER,
	};
	uint8_t *big = malloc(VFU_MAX_XFER);

	(void)state;
	for (size_t i = 0; i < VFU_MAX_XFER; i++)
		big[i] = i * 7;
	fake_write(A, 4, 0x200000, big, VFU_MAX_XFER);
	assert_memory_equal(B->ram + 0x200000, big, VFU_MAX_XFER);
	for (int i = 0; i < 20; i++) {
		fake_send(A, VFU_REGION_READ, 0, &rw, sizeof(rw));
		fake_send(A, VFU_DEVICE_GET_INFO, 0, &rw, sizeof(rw));
	}
	pump(b);
	for (int i = 0; i < 20; i++) {
		struct msg *m = fake_recv(A);

		assert_non_null(m);
		assert_int_equal(m->hdr.cmd, VFU_REGION_READ);
		assert_memory_equal(m->data + 16, big, VFU_MAX_XFER);
		pump(b);
		m = fake_recv(A);
		assert_non_null(m);
		assert_int_equal(m->hdr.cmd, VFU_DEVICE_GET_INFO);
	}
	free(big);
	bench_free(b);
}

static void test_vanish_in_the_middle(void **state)
{
	struct bench *b = bench_pair();
	struct {
		struct vfu_hdr hdr;
		uint8_t data[64];
	} w = {
		.hdr = { .cmd = VFU_REGION_WRITE, .size = sizeof(w) },
	};
	int before;

	(void)state;
	fake_disconnect(A);
	before = open_fds();
	for (size_t len = 1; len < sizeof(w); len++) {
		fake_connect(A);
		fake_bytes(A, &w, len);
		fake_disconnect(A);
		assert_null(fake_port(A)->conn);
	}
	/* With a descriptor on its way. */
	for (int i = 0; i < 10; i++) {
		struct vfu_dma_map m = { .flags = 3, .size = 4096 };

		fake_connect(A);
		fake_send_fds(A, VFU_DMA_MAP, 0, &m, 8, &A->ram_fd, 1);
		fake_send_fds(A, VFU_DMA_MAP, 0, &m, sizeof(m), &A->ram_fd, 1);
		fake_disconnect(A);
	}
	assert_int_equal(open_fds(), before);
	bench_free(b);
}

static void test_second_client(void **state)
{
	struct bench *b = bench_pair();
	int sv[2];
	char c;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	assert_int_equal(server_attach(b->s, 0, sv[1]), -EBUSY);
	assert_int_equal(read(sv[0], &c, 1), 0);
	close(sv[0]);
	assert_int_equal(fake_read32(A, 7, 0), 0x201c8086);
	/* The old one is gone, and the server did not look yet: the new one is let in. */
	fake_bytes(A, "123", 3);
	fake_hangup(A);
	fake_connect(A);
	assert_int_equal(fake_read32(A, 7, 0), 0x201c8086);
	bench_free(b);
}

/* A client that never reads must not cost more than the cap. */
static void test_does_not_read(void **state)
{
	struct bench *b = bench_pair();
	struct vfu_region_rw rw = {
		.region = 4, .offset = 0x200000, .count = VFU_MAX_XFER,
	};

	(void)state;
	for (int i = 0; i < 300 && fake_port(A)->conn; i++) {
		fake_send(A, VFU_REGION_READ, 0, &rw, sizeof(rw));
		pump(b);
	}
	assert_null(fake_port(A)->conn);
	bench_free(b);
}

/* A peer that never answers costs the one that floods it no more either. */
static void test_does_not_answer(void **state)
{
	struct bench *b = bench_pair();
	uint8_t *big = calloc(1, VFU_MAX_XFER);

	(void)state;
	fake_write32(A, 4, 0xfebf0000, 1);
	for (int i = 0; i < 300 && fake_port(B)->conn; i++)
		fake_write(A, 4, 0x200000, big, VFU_MAX_XFER);
	assert_null(fake_port(B)->conn);
	assert_non_null(fake_port(A)->conn);
	assert_int_equal(fake_port(A)->out.n, 0);
	assert_int_equal(fake_port(A)->out.bytes, 0);
	free(big);
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_info),
		cmocka_unit_test(test_bad_version),
		cmocka_unit_test(test_odd_caps),
		cmocka_unit_test(test_before_version),
		cmocka_unit_test(test_bad_headers),
		cmocka_unit_test(test_short_payloads),
		cmocka_unit_test(test_bad_regions),
		cmocka_unit_test(test_bad_irqs),
		cmocka_unit_test(test_blocking_irq),
		cmocka_unit_test(test_trickle),
		cmocka_unit_test(test_odd_sizes),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_vanish_in_the_middle),
		cmocka_unit_test(test_second_client),
		cmocka_unit_test(test_does_not_read),
		cmocka_unit_test(test_does_not_answer),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("proto", tests, NULL, NULL);
}
