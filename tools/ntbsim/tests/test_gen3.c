// SPDX-License-Identifier: GPL-2.0
/* Registers, config space, interrupts and the link, as the driver uses them. */
#include "fake.h"

#include <string.h>

#define A (&b->f[0])
#define B (&b->f[1])

static void test_identity(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	assert_int_equal(fake_read32(A, 7, 0), 0x201c8086);
	assert_int_equal(fake_read32(A, 7, 8) >> 16, 0x0680);
	assert_int_equal(fake_read32(A, 7, 0xd4) & 0xff, 0x01);
	assert_int_equal(fake_read32(B, 7, 0xd4) & 0xff, 0x11);
	assert_int_equal(fake_read32(A, 7, 0xd0), 0x20142014);
	assert_int_equal(fake_read32(A, 7, 0x34) & 0xff, 0x80);
	assert_int_equal(fake_read32(A, 7, 0x80) & 0x7ffffff, 0x209011);
	assert_int_equal(fake_read32(A, 7, 0x3c) >> 8, 0x01);
	assert_int_equal(fake_read32(A, 7, 0x84), 0x8000);
	assert_int_equal(fake_read32(A, 7, 0x90) & 0xffff, 0x0010);
	bench_free(b);
}

static void test_bar_sizing(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	fake_write64(A, 7, 0x10, ~0ull);
	fake_write64(A, 7, 0x18, ~0ull);
	fake_write64(A, 7, 0x20, ~0ull);
	assert_true(fake_read64(A, 7, 0x10) == 0xffffffffffff000cull);
	assert_true(fake_read64(A, 7, 0x18) == 0xfffffffffff0000cull);
	assert_true(fake_read64(A, 7, 0x20) == 0xffffffff0000000cull);
	/* Read only: the identity. */
	fake_write32(A, 7, 0, 0);
	assert_int_equal(fake_read32(A, 7, 0), 0x201c8086);
	bench_free(b);
}

static void test_translation_readback(void **state)
{
	static const uint64_t regs[] = {
		0x10, 0x18, 0x20, 0x28, 0x4008, 0x4010, 0x4018, 0x4020, 0x4028,
		0x4510, 0x4518, 0x4520,
	};
	struct bench *b = bench_pair();

	(void)state;
	for (size_t i = 0; i < sizeof(regs) / sizeof(regs[0]); i++) {
		fake_write64(A, 0, regs[i], 0x123456789abcdef0ull + i);
		assert_true(fake_read64(A, 0, regs[i]) ==
			    0x123456789abcdef0ull + i);
		fake_write32(A, 0, regs[i] + 4, 0x55);
		assert_true(fake_read64(A, 0, regs[i]) ==
			    0x559abcdef0ull + i);
		assert_int_equal(fake_read32(A, 0, regs[i] + 4), 0x55);
	}
	/* Registers that are not there. */
	fake_write64(A, 0, 0x3000, ~0ull);
	assert_int_equal(fake_read64(A, 0, 0x3000), 0);
	/* An access over several registers, and one that is odd. */
	fake_write64(A, 0, 0x14, 0x1111111122222222ull);
	assert_int_equal(fake_read32(A, 0, 0x14), 0x22222222);
	assert_int_equal(fake_read32(A, 0, 0x18), 0x11111111);
	bench_free(b);
}

static void test_scratchpads(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	for (int i = 0; i < 16; i++) {
		fake_write32(A, 0, 0x80 + 4 * i, 0x100 + i);
		fake_write32(A, 0, 0x180 + 4 * i, 0x200 + i);
	}
	for (int i = 0; i < 16; i++) {
		assert_int_equal(fake_read32(A, 0, 0x80 + 4 * i), 0x100 + i);
		assert_int_equal(fake_read32(A, 0, 0x180 + 4 * i), 0x200 + i);
		assert_int_equal(fake_read32(B, 0, 0x80 + 4 * i), 0x200 + i);
		assert_int_equal(fake_read32(B, 0, 0x180 + 4 * i), 0x100 + i);
		assert_int_equal(fake_cnt(A)->spad_peer_write[i], 1);
	}
	assert_int_equal(fake_cnt(A)->spad_local_writes, 16);
	assert_int_equal(fake_cnt(A)->spad_local_reads, 16);
	assert_int_equal(fake_cnt(A)->spad_peer_writes, 16);
	assert_int_equal(fake_cnt(A)->spad_peer_reads, 16);
	/* A half of a word. */
	fake_write(A, 0, 0x182, "\x34\x12", 2);
	assert_int_equal(fake_read32(B, 0, 0x80), 0x12340200);
	bench_free(b);
}

static void test_doorbells(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	fake_write64(B, 0, GEN3_INT_STATUS, ~0ull);
	for (int i = 0; i < 32; i++) {
		fake_write32(A, 0, 0x100 + 4 * i, 1);
		assert_true(fake_read64(B, 0, GEN3_INT_STATUS) ==
			    (1ull << (i + 1)) - 1);
		assert_int_equal(fake_irqs(B, i), 1);
	}
	/* Rung again while it is set: no second interrupt. */
	fake_write32(A, 0, 0x100, 1);
	assert_int_equal(fake_irqs(B, 0), 0);
	assert_int_equal(fake_cnt(A)->doorbells_merged, 1);
	/* Zero does not ring. */
	fake_write64(B, 0, GEN3_INT_STATUS, 1);
	fake_write32(A, 0, 0x100, 0);
	assert_int_equal(fake_irqs(B, 0), 0);
	fake_write32(A, 0, 0x100, 1);
	assert_int_equal(fake_irqs(B, 0), 1);
	assert_int_equal(fake_cnt(A)->doorbells, 34);
	assert_int_equal(fake_cnt(A)->doorbell_bits[0], 3);
	bench_free(b);
}

static void test_mask(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	fake_write64(B, 0, GEN3_INT_STATUS, ~0ull);
	fake_write64(B, 0, GEN3_INT_DISABLE, 0x6);
	assert_int_equal(fake_read64(B, 0, GEN3_INT_DISABLE), 6);
	fake_write32(A, 0, 0x104, 1);
	fake_write32(A, 0, 0x108, 1);
	assert_int_equal(fake_irqs(B, 1) + fake_irqs(B, 2), 0);
	assert_int_equal(fake_read64(B, 0, GEN3_INT_STATUS), 6);
	/* Cleared before it is unmasked: nothing. */
	fake_write64(B, 0, GEN3_INT_STATUS, 2);
	fake_write64(B, 0, GEN3_INT_DISABLE, 0);
	assert_int_equal(fake_irqs(B, 1), 0);
	assert_int_equal(fake_irqs(B, 2), 1);
	bench_free(b);
}

static void test_vectors(void **state)
{
	struct bench *b = bench_pair();
	uint8_t v = 31;

	(void)state;
	fake_write64(B, 0, GEN3_INT_STATUS, ~0ull);
	fake_write(B, 0, GEN3_INTVEC + 5, &v, 1);
	fake_write32(A, 0, 0x100 + 4 * 5, 1);
	assert_int_equal(fake_irqs(B, 31), 1);
	/* A vector that is not there. */
	v = 200;
	fake_write(B, 0, GEN3_INTVEC + 6, &v, 1);
	fake_write32(A, 0, 0x100 + 4 * 6, 1);
	assert_int_equal(fake_cnt(B)->irqs_lost, 1);
	/* Reset values: doorbells on 1 to 32, the link on 0. */
	fake_call(B, VFU_DEVICE_RESET, NULL, 0);
	assert_int_equal(fake_port(B)->regs.intvec[0], 1);
	assert_int_equal(fake_port(B)->regs.intvec[31], 32);
	assert_int_equal(fake_port(B)->regs.intvec[32], 0);
	bench_free(b);
}

static void test_no_interrupt_without_master(void **state)
{
	struct bench *b = bench_pair();
	uint16_t cmd = PCICFG_CMD_MEMORY;

	(void)state;
	fake_write64(B, 0, GEN3_INT_STATUS, ~0ull);
	fake_write(B, 7, PCICFG_COMMAND, &cmd, 2);
	fake_write32(A, 0, 0x100, 1);
	assert_int_equal(fake_irqs(B, 0), 0);
	assert_int_equal(fake_read64(B, 0, GEN3_INT_STATUS), 1);
	bench_free(b);
}

static void test_link(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	assert_int_equal(fake_read32(A, 7, 0x1a0) >> 16, 0x2103);
	fake_write64(A, 0, GEN3_INT_STATUS, ~0ull);
	fake_write64(B, 0, GEN3_INT_STATUS, ~0ull);
	fake_irqs(A, 32);
	fake_irqs(B, 32);

	fake_write32(B, 0, GEN3_NTBCNTL, 3);
	assert_int_equal(fake_read32(A, 7, 0x1a0) >> 16, 0x0001);
	assert_int_equal(fake_read32(B, 7, 0x1a0) >> 16, 0x0001);
	assert_int_equal(fake_irqs(A, 32), 1);
	assert_int_equal(fake_irqs(B, 32), 1);
	assert_true(fake_read64(A, 0, GEN3_INT_STATUS) == 1ull << 32);

	/* Nothing crosses while it is down. */
	fake_write32(A, 0, 0x100, 1);
	fake_write32(A, 0, 0x180, 7);
	assert_int_equal(fake_read32(A, 0, 0x180), 0xffffffff);
	assert_int_equal(fake_read32(A, 4, 0x300000), 0xffffffff);
	assert_int_equal(fake_cnt(A)->doorbells_dropped, 1);
	assert_int_equal(fake_cnt(A)->spads_dropped, 2);
	assert_int_equal(fake_cnt(A)->win[1].dropped_link, 1);
	assert_int_equal(fake_read32(B, 0, 0x80), 0);

	fake_write64(A, 0, GEN3_INT_STATUS, ~0ull);
	fake_write32(B, 0, GEN3_NTBCNTL, 0x154);
	assert_int_equal(fake_irqs(A, 32), 1);
	assert_int_equal(fake_read32(A, 7, 0x1a0) >> 16, 0x2103);
	bench_free(b);
}

static void test_guest_restart(void **state)
{
	struct bench *b = bench_pair();

	(void)state;
	fake_write32(A, 0, 0x180, 0x1234);
	fake_write64(A, 0, GEN3_INT_STATUS, ~0ull);
	fake_irqs(A, 32);
	fake_disconnect(B);
	assert_int_equal(fake_irqs(A, 32), 1);
	assert_int_equal(fake_read32(A, 7, 0x1a0) >> 16, 1);
	fake_connect(B);
	assert_int_equal(fake_read32(A, 7, 0x1a0) >> 16, 1);
	fake_up(B);
	assert_int_equal(fake_read32(A, 7, 0x1a0) >> 16, 0x2103);
	/* The new guest finds reset registers. */
	assert_int_equal(fake_read32(B, 0, 0x80), 0);
	assert_int_equal(fake_read64(B, 0, 0x18), 0);
	bench_free(b);
}

/* A reset by the client and one by the function's own register do the same. */
static void test_reset(void **state)
{
	struct bench *b = bench_pair();
	uint16_t flr = 0x8000;

	(void)state;
	for (int way = 0; way < 2; way++) {
		if (way)
			fake_write(A, 7, PCICFG_PCIE_DEVCTL, &flr, 2);
		else
			fake_call(A, VFU_DEVICE_RESET, NULL, 0);
		assert_int_equal(fake_read32(A, 7, 4) & 0xffff, 0);
		assert_int_equal(fake_read32(A, 7, 0x18), 0xc);
		assert_int_equal(fake_read32(B, 7, 0x1a0) >> 16, 1);
		assert_int_equal(fake_port(A)->regs.status, 0);
		fake_unmap(A, 0, FAKE_RAM);
		fake_up(A);
		assert_int_equal(fake_read32(B, 7, 0x1a0) >> 16, 0x2103);
	}
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_bar_sizing),
		cmocka_unit_test(test_translation_readback),
		cmocka_unit_test(test_scratchpads),
		cmocka_unit_test(test_doorbells),
		cmocka_unit_test(test_mask),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_no_interrupt_without_master),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_guest_restart),
		cmocka_unit_test(test_reset),
	};

	return cmocka_run_group_tests_name("gen3", tests, NULL, NULL);
}
