// SPDX-License-Identifier: GPL-2.0
/* The interrupt pin: a level, signalled once until the client says that it was served. */
#include "fake.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define A (&b->f[0])
#define B (&b->f[1])

#define TRIGGER_FD	(VFU_IRQ_SET_ACTION_TRIGGER | VFU_IRQ_SET_DATA_EVENTFD)
#define TRIGGER_NONE	(VFU_IRQ_SET_ACTION_TRIGGER | VFU_IRQ_SET_DATA_NONE)
#define MASK		(VFU_IRQ_SET_ACTION_MASK | VFU_IRQ_SET_DATA_NONE)
#define UNMASK		(VFU_IRQ_SET_ACTION_UNMASK | VFU_IRQ_SET_DATA_NONE)

static void set(struct fake *f, uint32_t flags, uint32_t count, int fd)
{
	struct vfu_irq_set s = {
		.argsz = sizeof(s), .flags = flags, .index = VFU_IRQ_INTX,
		.count = count,
	};
	struct msg *m;

	fake_send_fds(f, VFU_DEVICE_SET_IRQS, 0, &s, sizeof(s), &fd, fd >= 0);
	pump(f->b);
	m = fake_recv(f);
	assert_non_null(m);
	assert_int_equal(m->hdr.flags, VFU_F_REPLY);
}

static uint64_t came(int fd)
{
	uint64_t v = 0;

	return read(fd, &v, sizeof(v)) < 0 ? 0 : v;
}

static void config16(struct fake *f, unsigned int at, uint16_t v)
{
	fake_write(f, VFU_REGION_CONFIG, at, &v, sizeof(v));
}

/* Interrupt Status. */
static bool pending(struct fake *f)
{
	return fake_read32(f, VFU_REGION_CONFIG, PCICFG_COMMAND) >> 16 &
	       PCICFG_STATUS_INTX;
}

/* A pair whose b uses its pin, all quiet: the eventfd. */
static struct bench *bench_line(int *fd)
{
	struct bench *b = bench_pair();

	fake_write64(B, 0, GEN3_INT_STATUS, ~0ull);
	config16(B, PCICFG_MSIX_CTRL, 0);
	*fd = eventfd(0, EFD_NONBLOCK);
	set(B, TRIGGER_FD, 1, *fd);
	assert_int_equal(came(*fd), 0);
	assert_false(pending(B));
	return b;
}

static void done(struct bench *b, int fd)
{
	bench_free(b);
	close(fd);
}

static void ring(struct fake *f, unsigned int bit)
{
	fake_write32(f, 0, GEN3_DOORBELL + 4 * bit, 1);
}

/* However many bits are set: one signal. Served: silence, then the next. */
static void test_level(void **state)
{
	int fd;
	struct bench *b = bench_line(&fd);

	(void)state;
	ring(A, 0);
	ring(A, 5);
	assert_int_equal(came(fd), 1);
	assert_true(pending(B));
	fake_write64(B, 0, GEN3_INT_STATUS, 0x21);
	assert_false(pending(B));
	set(B, UNMASK, 1, -1);
	assert_int_equal(came(fd), 0);
	ring(A, 0);
	assert_int_equal(came(fd), 1);
	/* No vector, and none that is lost for it. */
	for (int v = 0; v < PORT_VECTORS; v++)
		assert_int_equal(fake_irqs(B, v), 0);
	assert_int_equal(fake_cnt(B)->irqs, 2);
	assert_int_equal(fake_cnt(B)->irqs_lost, 0);
	done(b, fd);
}

/* What was not served is signalled again as soon as the client listens; so is what came meanwhile. */
static void test_again(void **state)
{
	int fd;
	struct bench *b = bench_line(&fd);

	(void)state;
	ring(A, 3);
	assert_int_equal(came(fd), 1);
	for (int i = 0; i < 3; i++) {
		set(B, UNMASK, 1, -1);
		assert_int_equal(came(fd), 1);
	}
	fake_write64(B, 0, GEN3_INT_STATUS, 1 << 3);
	ring(A, 4);
	assert_int_equal(came(fd), 0);
	set(B, UNMASK, 1, -1);
	assert_int_equal(came(fd), 1);
	/* Told to unmask nothing: nothing. */
	set(B, UNMASK, 0, -1);
	assert_int_equal(came(fd), 0);
	done(b, fd);
}

static void test_client_mask(void **state)
{
	int fd;
	struct bench *b = bench_line(&fd);

	(void)state;
	set(B, MASK, 1, -1);
	ring(A, 0);
	assert_int_equal(came(fd), 0);
	assert_true(pending(B));
	set(B, UNMASK, 1, -1);
	assert_int_equal(came(fd), 1);
	done(b, fd);
}

/* The function's own mask, and Interrupt Disable. */
static void test_gates(void **state)
{
	int fd;
	struct bench *b = bench_line(&fd);
	uint16_t cmd = PCICFG_CMD_MEMORY | PCICFG_CMD_MASTER;

	(void)state;
	fake_write64(B, 0, GEN3_INT_DISABLE, 1);
	ring(A, 0);
	assert_int_equal(came(fd), 0);
	assert_false(pending(B));
	fake_write64(B, 0, GEN3_INT_DISABLE, 0);
	assert_int_equal(came(fd), 1);
	fake_write64(B, 0, GEN3_INT_STATUS, ~0ull);
	set(B, UNMASK, 1, -1);

	config16(B, PCICFG_COMMAND, cmd | PCICFG_CMD_INTX_OFF);
	ring(A, 0);
	assert_int_equal(came(fd), 0);
	assert_true(pending(B));
	config16(B, PCICFG_COMMAND, cmd);
	assert_int_equal(came(fd), 1);
	fake_write64(B, 0, GEN3_INT_STATUS, ~0ull);
	set(B, UNMASK, 1, -1);

	/* A pin is no write: it needs no bus mastering. */
	config16(B, PCICFG_COMMAND, PCICFG_CMD_MEMORY);
	fake_write32(B, 0, GEN3_NTBCNTL, 3);
	assert_int_equal(came(fd), 1);
	assert_true(fake_read64(B, 0, GEN3_INT_STATUS) == 1ull << 32);
	done(b, fd);
}

/* With MSI-X on it is silent; off, with work left, it speaks. */
static void test_msix(void **state)
{
	int fd;
	struct bench *b = bench_line(&fd);

	(void)state;
	config16(B, PCICFG_MSIX_CTRL, PCICFG_MSIX_ON);
	ring(A, 7);
	assert_int_equal(came(fd), 0);
	assert_int_equal(fake_irqs(B, 7), 1);
	assert_false(pending(B));
	config16(B, PCICFG_MSIX_CTRL, 0);
	assert_int_equal(came(fd), 1);
	assert_true(pending(B));
	done(b, fd);
}

/* A client that comes to it late, one that gives it up, and resets. */
static void test_eventfd(void **state)
{
	int fd;
	struct bench *b = bench_line(&fd);

	(void)state;
	set(B, TRIGGER_NONE, 0, -1);
	ring(A, 0);
	assert_int_equal(came(fd), 0);
	set(B, TRIGGER_FD, 1, fd);
	assert_int_equal(came(fd), 1);
	/* Without one it is taken away. */
	set(B, TRIGGER_FD, 1, -1);
	set(B, UNMASK, 1, -1);
	assert_int_equal(came(fd), 0);
	set(B, TRIGGER_FD, 1, fd);
	assert_int_equal(came(fd), 1);
	fake_call(B, VFU_DEVICE_RESET, NULL, 0);
	set(B, UNMASK, 1, -1);
	assert_int_equal(came(fd), 0);
	assert_false(pending(B));
	/* The next client does not inherit it. */
	fake_disconnect(B);
	fake_connect(B);
	fake_up(B);
	config16(B, PCICFG_MSIX_CTRL, 0);
	ring(A, 0);
	assert_true(pending(B));
	assert_int_equal(came(fd), 0);
	done(b, fd);
}

/* An eventfd that is nothing of the kind must not stop the loop. */
static void test_blocking(void **state)
{
	int fd, p[2];
	struct bench *b = bench_line(&fd);

	(void)state;
	assert_int_equal(pipe(p), 0);
	set(B, TRIGGER_FD, 1, p[1]);
	ring(A, 0);
	for (int i = 0; i < 20000; i++)
		set(B, UNMASK, 1, -1);
	assert_int_equal(fake_cnt(B)->irqs, 20001);
	close(p[0]);
	close(p[1]);
	done(b, fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_level),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_client_mask),
		cmocka_unit_test(test_gates),
		cmocka_unit_test(test_msix),
		cmocka_unit_test(test_eventfd),
		cmocka_unit_test(test_blocking),
	};

	return cmocka_run_group_tests_name("intx", tests, NULL, NULL);
}
