/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fake client for the tests: a whole server in this process, and the other ends of its connections in our
 * hands. Nothing runs by itself: pump() lets the server work until it has nothing to do.
 */
#ifndef NTBSIM_TESTS_FAKE_H
#define NTBSIM_TESTS_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../server.h"
#include "../vfu_proto.h"

#define FAKE_RAM	(16u << 20)
#define FAKE_BAR0	0xfe000000ull
#define FAKE_BAR2	0x3800000000ull
#define FAKE_BAR4	0x3000000000ull
#define FAKE_MAX	8

struct stashed;

/**
 * struct fake - one client
 * @b: its bench
 * @port: index of its port
 * @fd: our end, or -1
 * @next_id: of its messages
 * @ram: its memory, FAKE_RAM bytes, mapped at address 0
 * @ram_fd: the file
 * @irq: its eventfds, or -1
 * @later: messages received while another kind was looked for, oldest first
 */
struct fake {
	struct bench *b;
	int port;
	int fd;
	uint16_t next_id;
	uint8_t *ram;
	int ram_fd;
	int irq[PORT_VECTORS];
	struct stashed *later;
};

struct bench {
	struct server *s;
	struct fake f[FAKE_MAX];
};

struct msg {
	struct vfu_hdr hdr;
	uint8_t data[VFU_MAX_MSG];
	int fd;
};

/* A server from a configuration; no clients yet. */
struct bench *bench_new(const char *json);
/* Ports a and b, linked, both with a client that is up, windows wide open at base 0. */
struct bench *bench_pair(void);
/* The same without opening windows. */
struct bench *bench_pair_closed(void);
void bench_free(struct bench *b);

void pump(struct bench *b);

/* Connect and negotiate. */
void fake_connect(struct fake *f);
/* Connect only. */
void fake_connect_raw(struct fake *f);
void fake_disconnect(struct fake *f);
/* Close our end; the server has not seen it yet. */
void fake_hangup(struct fake *f);
/* Memory, BARs, command, interrupts, link enabled. */
void fake_up(struct fake *f);

uint16_t fake_send_fds(struct fake *f, uint16_t cmd, uint32_t flags,
		       const void *payload, size_t len, const int *fds, int n);
uint16_t fake_send(struct fake *f, uint16_t cmd, uint32_t flags,
		   const void *payload, size_t len);
/* Raw bytes. */
void fake_bytes(struct fake *f, const void *data, size_t len);
/* One reply, or NULL if there is none. Valid until the next call. */
struct msg *fake_recv(struct fake *f);
/* One request of the server, likewise. */
struct msg *fake_request(struct fake *f);
/* Either, in the order in which they came. */
struct msg *fake_any(struct fake *f);
/* Whether the server closed the connection. */
bool fake_closed(struct fake *f);
/* Send, pump, receive the answer; fails the test if there is none. */
struct msg *fake_call(struct fake *f, uint16_t cmd, const void *payload,
		      size_t len);

void fake_write(struct fake *f, uint32_t region, uint64_t off, const void *data,
		uint32_t len);
void fake_write32(struct fake *f, uint32_t region, uint64_t off, uint32_t v);
void fake_write64(struct fake *f, uint32_t region, uint64_t off, uint64_t v);
/* Send a read; its answer may come later. */
uint16_t fake_read_start(struct fake *f, uint32_t region, uint64_t off,
			 uint32_t len);
uint32_t fake_read32(struct fake *f, uint32_t region, uint64_t off);
uint64_t fake_read64(struct fake *f, uint32_t region, uint64_t off);

/* Program the inbound window of @f. */
void fake_open(struct fake *f, int win, uint64_t base, uint64_t size);
int fake_map(struct fake *f, uint64_t iova, uint64_t size, uint32_t flags,
	     int fd, uint64_t offset);
int fake_unmap(struct fake *f, uint64_t iova, uint64_t size);

/* Expect a DMA request; answer it. */
struct msg *fake_expect_dma(struct fake *f, uint16_t cmd, uint64_t addr,
			    uint32_t count);
void fake_answer_write(struct fake *f, const struct vfu_hdr *req, int err);
void fake_answer_read(struct fake *f, const struct vfu_hdr *req, uint64_t addr,
		      const void *data, uint32_t len);

/* Times that a vector was raised since the last look. */
uint64_t fake_irqs(struct fake *f, int vector);

struct port *fake_port(struct fake *f);
struct port_counters *fake_cnt(struct fake *f);

#endif /* NTBSIM_TESTS_FAKE_H */
