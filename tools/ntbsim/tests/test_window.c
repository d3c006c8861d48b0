// SPDX-License-Identifier: GPL-2.0
/* Windows: where an access lands, and where it does not. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define A (&b->f[0])
#define B (&b->f[1])

static uint32_t ram32(struct fake *f, uint64_t at)
{
	uint32_t v;

	memcpy(&v, f->ram + at, sizeof(v));
	return v;
}

static void test_ram(void **state)
{
	struct bench *b = bench_pair();
	uint8_t block[300];

	(void)state;
	/* Window 0 has base 2 MiB, window 1 base 0. */
	fake_write32(A, 2, 0x10, 0xcafe0001);
	assert_int_equal(ram32(B, 0x200010), 0xcafe0001);
	assert_int_equal(fake_read32(A, 4, 0x200010), 0xcafe0001);
	fake_write64(B, 4, 0x300000, 0x1122334455667788ull);
	assert_int_equal(ram32(A, 0x300000), 0x55667788);
	assert_true(fake_read64(B, 2, 0x100000 - 8) == 0);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = i;
	fake_write(A, 4, 0x400001, block, sizeof(block));
	assert_memory_equal(B->ram + 0x400001, block, sizeof(block));
	assert_int_equal(fake_cnt(A)->win[0].writes, 1);
	assert_int_equal(fake_cnt(A)->win[1].writes, 1);
	assert_int_equal(fake_cnt(A)->win[1].bytes_written, 300);
	assert_int_equal(fake_cnt(A)->win[1].reads, 1);
	assert_int_equal(fake_cnt(A)->win[1].bytes_read, 4);
	assert_int_equal(fake_cnt(A)->win[0].ram_writes, 1);
	assert_int_equal(fake_cnt(A)->win[1].ram_reads, 1);
	assert_int_equal(fake_cnt(A)->win[1].message_writes, 0);
	assert_int_equal(fake_cnt(B)->win[1].ram_writes, 1);
	bench_free(b);
}

static void test_limit(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	fake_open(B, 0, 0x200000, 0x1000);
	fake_write32(A, 2, 0xffc, 1);
	fake_write32(A, 2, 0x1000, 2);
	fake_write32(A, 2, 0xffe, 3);
	fake_write32(A, 2, 0xffffc, 4);
	assert_int_equal(ram32(B, 0x200ffc), 1);
	assert_int_equal(ram32(B, 0x201000), 0);
	assert_int_equal(ram32(B, 0x2ffffc), 0);
	assert_int_equal(fake_read32(A, 2, 0x1000), 0xffffffff);
	assert_int_equal(fake_read32(A, 2, 0xffc), 1);
	assert_int_equal(fake_cnt(A)->win[0].dropped_limit, 4);
	assert_int_equal(fake_read32(B, 0, GEN3_USMEMMISS) & 0xffff, 4);
	bench_free(b);
}

static void test_closed(void **state)
{
	static const uint64_t limits[] = {
		FAKE_BAR2,			/* as the driver closes it */
		FAKE_BAR2 - 0x1000,		/* below */
		0,
		FAKE_BAR2 + 0x100001,		/* beyond the BAR */
		0x2000000000000000ull,		/* as the driver's init writes it */
		~0ull,
	};
	struct bench *b = bench_pair();
	size_t n = sizeof(limits) / sizeof(limits[0]);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		fake_write64(B, 0, GEN3_IMBAR1XLMT, limits[i]);
		fake_write32(A, 2, 0, 0xdead);
		assert_int_equal(fake_read32(A, 2, 0), 0xffffffff);
	}
	assert_int_equal(ram32(B, 0x200000), 0);
	assert_int_equal(fake_cnt(A)->win[0].dropped_closed, 2 * n);
	/* The other window and the other direction are not affected. */
	fake_write32(A, 4, 0x200000, 5);
	assert_int_equal(ram32(B, 0x200000), 5);
	fake_write32(B, 2, 0, 6);
	assert_int_equal(ram32(A, 0x200000), 6);
	bench_free(b);
}

/* The whole BAR: limit equals its end. */
static void test_whole(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	fake_write32(A, 2, 0xffffc, 9);
	assert_int_equal(ram32(B, 0x2ffffc), 9);
	bench_free(b);
}

static void test_moved(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	fake_write32(A, 2, 0, 1);
	fake_open(B, 0, 0x500000, 0x100000);
	fake_write32(A, 2, 0, 2);
	assert_int_equal(ram32(B, 0x200000), 1);
	assert_int_equal(ram32(B, 0x500000), 2);
	/* An address beyond 64 bits. */
	fake_open(B, 0, ~0ull - 0xff, 0x100000);
	fake_write32(A, 2, 0x200, 3);
	assert_int_equal(fake_cnt(A)->win[0].dropped_limit, 1);
	bench_free(b);
}

static void test_below_1m(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	fake_write32(A, 4, 0x100000, 1);
	assert_int_equal(fake_cnt(A)->win[1].below_1m_writes, 0);
	fake_write32(A, 4, 0xffffc, 1);
	fake_write32(A, 4, 0, 1);
	fake_read32(A, 4, 0x10);
	assert_int_equal(fake_cnt(A)->win[1].below_1m_writes, 2);
	assert_int_equal(fake_cnt(A)->win[1].below_1m_reads, 1);
	/* The driver's fall-back for clearing: base 0 under the old limit. */
	fake_write64(B, 0, GEN3_IMBAR1XBASE, 0);
	fake_write32(A, 2, 0x40, 1);
	assert_int_equal(fake_cnt(A)->win[0].below_1m_writes, 1);
	/* What is dropped does not land. */
	fake_open(B, 0, 0, 0);
	fake_write32(A, 2, 0x40, 1);
	assert_int_equal(fake_cnt(A)->win[0].below_1m_writes, 1);
	bench_free(b);
}

static void test_master_and_decode(void **state)
{
	struct bench *b = bench_pair();
	uint16_t cmd = PCICFG_CMD_MEMORY;

	(void)state;
	fake_write(B, 7, PCICFG_COMMAND, &cmd, 2);
	fake_write32(A, 2, 0, 1);
	assert_int_equal(fake_read32(A, 2, 0), 0xffffffff);
	assert_int_equal(ram32(B, 0x200000), 0);
	assert_int_equal(fake_cnt(A)->win[0].dropped_master, 2);
	/* B may still reach A. */
	fake_write32(B, 2, 0, 1);
	assert_int_equal(ram32(A, 0x200000), 1);

	cmd = PCICFG_CMD_MASTER;
	fake_write(B, 7, PCICFG_COMMAND, &cmd, 2);
	fake_write32(B, 2, 0, 2);
	assert_int_equal(fake_read32(B, 2, 0), 0xffffffff);
	assert_int_equal(fake_read32(B, 0, 0), 0xffffffff);
	assert_int_equal(ram32(A, 0x200000), 1);
	assert_int_equal(fake_cnt(B)->win[0].dropped_decode, 2);
	/* A reaches B all the same: that is mastering, not decoding. */
	fake_write32(A, 2, 0, 3);
	assert_int_equal(ram32(B, 0x200000), 3);
	bench_free(b);
}

static void test_msi(void **state)
{
	struct bench *b = bench_pair();
	struct msg *m;

	(void)state;
	fake_write32(A, 4, 0xfee00000 + 0x1000, 0x4021);
	m = fake_expect_dma(B, VFU_DMA_WRITE, 0xfee01000, 4);
	assert_memory_equal(m->data + 16, "\x21\x40\0\0", 4);
	fake_answer_write(B, &m->hdr, 0);
	assert_int_equal(fake_cnt(A)->win[1].msi_writes, 1);
	assert_int_equal(fake_cnt(A)->win[1].message_writes, 0);
	assert_int_equal(fake_port(A)->out.inflight, 0);
	bench_free(b);
}

static void test_device(void **state)
{
	struct bench *b = bench_pair();
	uint32_t v = 0x00010203;
	struct vfu_hdr req;
	struct msg *m;
	uint16_t id;

	(void)state;
	/* A device's BAR below 4 GiB, one behind the RAM, one through window 0. */
	fake_write32(A, 4, 0xfebf0014, 0x460001);
	m = fake_expect_dma(B, VFU_DMA_WRITE, 0xfebf0014, 4);
	fake_answer_write(B, &m->hdr, 0);
	fake_open(B, 0, 0x800000000ull, 0x100000);
	id = fake_read_start(A, 2, 0x1c, 4);
	assert_null(fake_recv(A));
	m = fake_expect_dma(B, VFU_DMA_READ, 0x80000001cull, 4);
	req = m->hdr;
	assert_int_equal(fake_port(A)->out.waits, 1);
	/* Its own registers stay reachable meanwhile. */
	assert_int_equal(fake_read32(B, 7, 0), 0x201c8086);
	fake_answer_read(B, &req, 0x80000001cull, &v, 4);
	m = fake_recv(A);
	assert_non_null(m);
	assert_int_equal(m->hdr.id, id);
	assert_int_equal(m->hdr.flags, VFU_F_REPLY);
	assert_memory_equal(m->data + 16, &v, 4);
	assert_int_equal(fake_port(A)->out.waits, 0);
	assert_int_equal(fake_cnt(A)->win[0].message_reads, 1);
	assert_int_equal(fake_cnt(A)->win[1].message_writes, 1);
	bench_free(b);
}

static void test_device_errors(void **state)
{
	struct bench *b = bench_pair();
	struct vfu_hdr req, hdr;
	struct msg *m;

	(void)state;
	fake_read_start(A, 4, 0xfebf0000, 4);
	m = fake_expect_dma(B, VFU_DMA_READ, 0xfebf0000, 4);
	req = m->hdr;
	hdr = (struct vfu_hdr) {
		.id = req.id, .cmd = req.cmd, .size = 16,
		.flags = VFU_F_REPLY | VFU_F_ERROR, .error = 14,
	};
	fake_bytes(B, &hdr, sizeof(hdr));
	pump(b);
	m = fake_recv(A);
	assert_non_null(m);
	assert_memory_equal(m->data + 16, "\xff\xff\xff\xff", 4);
	/* An answer that is shorter than it says. */
	fake_read_start(A, 4, 0xfebf0000, 8);
	m = fake_expect_dma(B, VFU_DMA_READ, 0xfebf0000, 8);
	req = m->hdr;
	fake_answer_read(B, &req, 0xfebf0000, "1234", 4);
	m = fake_recv(A);
	assert_non_null(m);
	assert_memory_equal(m->data + 16, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
	assert_int_equal(fake_cnt(A)->win[1].errors, 2);
	assert_false(fake_closed(B));
	bench_free(b);
}

/* A range that may only be read, or that has no file, is the client's business. */
static void test_not_mapped(void **state)
{
	struct bench *b = bench_pair();
	struct msg *m;

	(void)state;
	assert_int_equal(fake_map(B, 0x2000000, 0x1000, 1, B->ram_fd, 0), 0);
	assert_int_equal(fake_map(B, 0x3000000, 0x1000, 3, -1, 0), 0);
	B->ram[0x10] = 0x77;
	assert_int_equal(fake_read32(A, 4, 0x2000010), 0x77);
	fake_write32(A, 4, 0x2000010, 1);
	m = fake_expect_dma(B, VFU_DMA_WRITE, 0x2000010, 4);
	fake_answer_write(B, &m->hdr, 0);
	fake_write32(A, 4, 0x3000000, 1);
	m = fake_expect_dma(B, VFU_DMA_WRITE, 0x3000000, 4);
	fake_answer_write(B, &m->hdr, 0);
	/* An access that is half in memory goes by message as a whole. */
	fake_write64(A, 4, FAKE_RAM - 4, 1);
	m = fake_expect_dma(B, VFU_DMA_WRITE, FAKE_RAM - 4, 8);
	fake_answer_write(B, &m->hdr, 0);
	/* Memory that went away. */
	assert_int_equal(fake_unmap(B, 0, FAKE_RAM), 0);
	fake_write32(A, 4, 0x300000, 1);
	m = fake_expect_dma(B, VFU_DMA_WRITE, 0x300000, 4);
	fake_answer_write(B, &m->hdr, 0);
	assert_int_equal(ram32(B, 0x300000), 0);
	bench_free(b);
}

/* The interrupt range is never memory, whatever the client maps there. */
static void test_msi_over_memory(void **state)
{
	struct bench *b = bench_pair();
	struct msg *m;

	(void)state;
	assert_int_equal(fake_map(B, 0xfe000000, FAKE_RAM, 3, B->ram_fd, 0), 0);
	fake_write32(A, 4, 0xfee00000, 0x21);
	m = fake_expect_dma(B, VFU_DMA_WRITE, 0xfee00000, 4);
	fake_answer_write(B, &m->hdr, 0);
	bench_free(b);
}

/* Port A with one window, its peer with 1 MiB of memory in a file, which the caller unlinks. */
static struct bench *fast_bench(char *path, const char *window)
{
	char json[1024], err[256];
	struct bench *b;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	snprintf(json, sizeof(json),
		 "{\"ports\":[{\"name\":\"a\",\"socket\":\"%s.a\",\"role\":\"usd\",\"windows\":[%s]},"
		 "{\"name\":\"b\",\"socket\":\"%s.b\",\"role\":\"dsd\",\"memory\":\"%s\",\"memory_size\":\"1M\"}],\"links\":[[\"a\",\"b\"]]}",
		 path, window, path, path);
	b = bench_new(json);
	if (server_listen(b->s, err, sizeof(err)))
		fail_msg("%s", err);
	fake_connect(A);
	return b;
}

static void test_fast(void **state)
{
	char path[] = "/tmp/ntbsim-test-XXXXXX";
	struct vfu_region_info info = { .argsz = sizeof(info), .index = 4 };
	struct bench *b = fast_bench(path, "{\"bar\":4,\"size\":\"4G\",\"fast\":true}");
	struct msg *m;
	uint8_t *p;

	(void)state;
	/* The short first answer names the capability all the same. */
	m = fake_call(A, VFU_DEVICE_GET_REGION_INFO, &info, sizeof(info));
	assert_int_equal(m->hdr.size, 16 + 32);
	memcpy(&info, m->data, sizeof(info));
	assert_int_equal(info.argsz, 64);
	assert_int_equal(info.cap_offset, 32);
	assert_int_equal(info.flags, 15);
	assert_true(m->fd >= 0);
	close(m->fd);
	m = fake_call(A, VFU_DEVICE_GET_REGION_INFO, &info, sizeof(info));
	assert_int_equal(m->hdr.size, 16 + 64);
	assert_true(m->fd >= 0);
	p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	assert_true(p != MAP_FAILED);
	munmap(p, 1 << 20);
	close(m->fd);
	/* The other window is as always. */
	info.index = 2;
	m = fake_call(A, VFU_DEVICE_GET_REGION_INFO, &info, sizeof(info));
	memcpy(&info, m->data, sizeof(info));
	assert_int_equal(info.flags, 3);
	assert_int_equal(m->fd, -1);
	bench_free(b);
	unlink(path);
}

/* The front of a window leads to some place in the peer's memory; the rest is as always. */
static void test_fast_part(void **state)
{
	char path[] = "/tmp/ntbsim-test-XXXXXX";
	struct {
		struct vfu_region_info info;
		struct vfu_sparse_one sparse;
	} got = { .info = { .argsz = sizeof(got), .index = 2 } };
	struct bench *b = fast_bench(path, "{\"bar\":2,\"size\":\"1M\",\"fast\":true,\"fast_size\":\"128K\",\"fast_ram\":\"64K\"}");
	struct msg *m;

	(void)state;
	m = fake_call(A, VFU_DEVICE_GET_REGION_INFO, &got.info, sizeof(got.info));
	assert_int_equal(m->hdr.size, 16 + sizeof(got));
	memcpy(&got, m->data, sizeof(got));
	assert_int_equal(got.info.size, 1 << 20);
	assert_int_equal(got.info.offset, 64 << 10);
	assert_int_equal(got.sparse.offset, 0);
	assert_int_equal(got.sparse.size, 128 << 10);
	assert_true(m->fd >= 0);
	close(m->fd);
	bench_free(b);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ram),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_below_1m),
		cmocka_unit_test(test_master_and_decode),
		cmocka_unit_test(test_msi),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_device_errors),
		cmocka_unit_test(test_not_mapped),
		cmocka_unit_test(test_msi_over_memory),
		cmocka_unit_test(test_fast),
		cmocka_unit_test(test_fast_part),
	};

	return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
