// SPDX-License-Identifier: GPL-2.0
/* The fake client; see fake.h. */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../log.h"

static struct msg *unstash(struct stashed **p);

static const char pair_json[] =
	"{\"ports\":["
	"{\"name\":\"a\",\"socket\":\"/nowhere/a\",\"role\":\"usd\",\"guest\":\"A\","
	"\"windows\":[{\"bar\":2,\"size\":\"1M\"},{\"bar\":4,\"size\":\"4G\"}]},"
	"{\"name\":\"b\",\"socket\":\"/nowhere/b\",\"role\":\"dsd\",\"guest\":\"B\","
	"\"windows\":[{\"bar\":2,\"size\":\"1M\"},{\"bar\":4,\"size\":\"4G\"}]}],"
	"\"links\":[[\"a\",\"b\"]]}";

struct bench *bench_new(const char *json)
{
	struct bench *b = calloc(1, sizeof(*b));
	char err[256] = "";

	log_level = getenv("NTBSIM_TEST_LOG") ? LOG_LVL_DEBUG : LOG_LVL_ERROR;
	b->s = calloc(1, sizeof(*b->s));
	if (config_parse(json, &b->s->cfg, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(server_init(b->s), 0);
	for (int i = 0; i < b->s->cfg.nports; i++) {
		b->f[i].b = b;
		b->f[i].port = i;
		b->f[i].fd = -1;
		b->f[i].ram_fd = -1;
		for (int v = 0; v < PORT_VECTORS; v++)
			b->f[i].irq[v] = -1;
	}
	return b;
}

struct bench *bench_pair_closed(void)
{
	struct bench *b = bench_new(pair_json);

	for (int i = 0; i < 2; i++) {
		fake_connect(&b->f[i]);
		fake_up(&b->f[i]);
	}
	for (int i = 0; i < 2; i++)
		for (int v = 0; v < PORT_VECTORS; v++)
			fake_irqs(&b->f[i], v);
	return b;
}

struct bench *bench_pair(void)
{
	struct bench *b = bench_pair_closed();

	for (int i = 0; i < 2; i++) {
		fake_open(&b->f[i], 0, 0x200000, 0x100000);
		fake_open(&b->f[i], 1, 0, 4ull << 30);
	}
	for (int i = 0; i < 2; i++)
		memset(&b->s->port[i].cnt, 0, sizeof(b->s->port[i].cnt));
	return b;
}

void bench_free(struct bench *b)
{
	for (int i = 0; i < b->s->cfg.nports; i++) {
		struct fake *f = &b->f[i];

		if (f->fd >= 0)
			fake_hangup(f);
		if (f->ram) {
			munmap(f->ram, FAKE_RAM);
			close(f->ram_fd);
		}
		for (int v = 0; v < PORT_VECTORS; v++)
			if (f->irq[v] >= 0)
				close(f->irq[v]);
	}
	server_exit(b->s);
	free(b->s);
	free(b);
}

void pump(struct bench *b)
{
	for (int i = 0; i < 100000 && loop_once(&b->s->loop, 0) > 0; i++)
		;
}

void fake_connect_raw(struct fake *f)
{
	int sv[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv),
			 0);
	fcntl(sv[0], F_SETFL, O_NONBLOCK);
	f->fd = sv[0];
	assert_int_equal(server_attach(f->b->s, f->port, sv[1]), 0);
}

void fake_connect(struct fake *f)
{
	static const char caps[] =
		"{\"capabilities\":{\"max_msg_fds\":16,\"write_multiple\":true}}";
	uint8_t buf[4 + sizeof(caps)] = { 0 };
	struct msg *m;

	fake_connect_raw(f);
	memcpy(buf + 4, caps, sizeof(caps));
	m = fake_call(f, VFU_VERSION, buf, sizeof(buf));
	assert_int_equal(m->hdr.flags, VFU_F_REPLY);
	assert_non_null(strstr((char *)m->data + 4, "write_multiple"));
}

void fake_hangup(struct fake *f)
{
	close(f->fd);
	f->fd = -1;
	while (f->later)
		unstash(&f->later);
}

void fake_disconnect(struct fake *f)
{
	fake_hangup(f);
	pump(f->b);
}

static void set_irqs(struct fake *f)
{
	for (int start = 0; start < PORT_VECTORS; start += 16) {
		struct vfu_irq_set s = {
			.argsz = sizeof(s),
			.flags = VFU_IRQ_SET_DATA_EVENTFD |
				 VFU_IRQ_SET_ACTION_TRIGGER,
			.index = VFU_IRQ_MSIX,
			.start = start,
		};
		struct msg *m;

		for (int v = start; v < PORT_VECTORS && v < start + 16; v++) {
			if (f->irq[v] < 0)
				f->irq[v] = eventfd(0, EFD_NONBLOCK);
			s.count++;
		}
		fake_send_fds(f, VFU_DEVICE_SET_IRQS, 0, &s, sizeof(s),
			      f->irq + start, s.count);
		pump(f->b);
		m = fake_recv(f);
		assert_non_null(m);
		assert_int_equal(m->hdr.flags, VFU_F_REPLY);
	}
}

void fake_up(struct fake *f)
{
	uint16_t cmd = PCICFG_CMD_MEMORY | PCICFG_CMD_MASTER;
	uint16_t msix = PCICFG_MSIX_ON;

	if (!f->ram) {
		f->ram_fd = memfd_create("ram", MFD_CLOEXEC);
		assert_int_equal(ftruncate(f->ram_fd, FAKE_RAM), 0);
		f->ram = mmap(NULL, FAKE_RAM, PROT_READ | PROT_WRITE,
			      MAP_SHARED, f->ram_fd, 0);
		assert_true(f->ram != MAP_FAILED);
	}
	assert_int_equal(fake_map(f, 0, FAKE_RAM, 3, f->ram_fd, 0), 0);
	set_irqs(f);
	fake_write64(f, VFU_REGION_CONFIG, 0x10, FAKE_BAR0);
	fake_write64(f, VFU_REGION_CONFIG, 0x18, FAKE_BAR2);
	fake_write64(f, VFU_REGION_CONFIG, 0x20, FAKE_BAR4);
	fake_write(f, VFU_REGION_CONFIG, PCICFG_COMMAND, &cmd, sizeof(cmd));
	fake_write(f, VFU_REGION_CONFIG, PCICFG_MSIX_CTRL, &msix, sizeof(msix));
	/* As the driver does: vectors in order, nothing masked. */
	for (int i = 0; i < 33; i++) {
		uint8_t v = i;

		fake_write(f, 0, GEN3_INTVEC + i, &v, 1);
	}
	fake_write32(f, 0, GEN3_NTBCNTL, 0x154);
}

uint16_t fake_send_fds(struct fake *f, uint16_t cmd, uint32_t flags,
		       const void *payload, size_t len, const int *fds, int n)
{
	struct vfu_hdr hdr = {
		.id = ++f->next_id, .cmd = cmd, .size = sizeof(hdr) + len,
		.flags = flags,
	};
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(32 * sizeof(int))];
	} ctl = { 0 };
	struct iovec iov[2] = {
		{ &hdr, sizeof(hdr) }, { (void *)payload, len },
	};
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 2 };

	if (n) {
		struct cmsghdr *c;

		mh.msg_control = ctl.buf;
		mh.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	}
	for (;;) {
		ssize_t ret = sendmsg(f->fd, &mh, MSG_NOSIGNAL);

		if (ret >= 0 && (size_t)ret == sizeof(hdr) + len)
			break;
		if (ret < 0 && errno == EAGAIN) {
			pump(f->b);
			continue;
		}
		if (ret < 0 && (errno == EPIPE || errno == ECONNRESET))
			break;
		/* A large message, sent in parts. */
		assert_true(ret > 0);
		mh.msg_control = NULL;
		mh.msg_controllen = 0;
		for (size_t done = ret; done < sizeof(hdr) + len;) {
			size_t at = done - sizeof(hdr);

			ret = send(f->fd, (const char *)payload + at, len - at,
				   MSG_NOSIGNAL);
			if (ret > 0)
				done += ret;
			else
				pump(f->b);
		}
		break;
	}
	return hdr.id;
}

uint16_t fake_send(struct fake *f, uint16_t cmd, uint32_t flags,
		   const void *payload, size_t len)
{
	return fake_send_fds(f, cmd, flags, payload, len, NULL, 0);
}

void fake_bytes(struct fake *f, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len) {
		ssize_t n = send(f->fd, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			return;
		if (n < 0) {
			pump(f->b);
			continue;
		}
		p += n;
		len -= n;
	}
}

static struct msg *receive(struct fake *f)
{
	static struct msg m;
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(4 * sizeof(int))];
	} ctl;
	struct iovec iov = { &m.hdr, sizeof(m.hdr) };
	struct msghdr mh = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = ctl.buf, .msg_controllen = sizeof(ctl.buf),
	};
	ssize_t n = recvmsg(f->fd, &mh, MSG_CMSG_CLOEXEC);
	size_t len, at = 0;
	struct cmsghdr *c;

	if (n <= 0)
		return NULL;
	/* As strict as the real client. */
	assert_int_equal(n, sizeof(m.hdr));
	assert_true(m.hdr.size >= sizeof(m.hdr));
	len = m.hdr.size - sizeof(m.hdr);
	assert_true(len <= sizeof(m.data));
	m.fd = -1;
	c = CMSG_FIRSTHDR(&mh);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&m.fd, CMSG_DATA(c), sizeof(int));
	while (at < len) {
		n = recv(f->fd, m.data + at, len - at, 0);
		if (n < 0 && errno == EAGAIN) {
			pump(f->b);
			continue;
		}
		assert_true(n > 0);
		at += n;
	}
	return &m;
}

struct stashed {
	struct stashed *next;
	size_t len;
	uint8_t msg[];
};

static struct msg *unstash(struct stashed **p)
{
	static struct msg m;
	struct stashed *s = *p;

	*p = s->next;
	memcpy(&m, s->msg, s->len);
	m.fd = -1;
	free(s);
	return &m;
}

static void stash(struct fake *f, const struct msg *m)
{
	struct stashed **p = &f->later;
	struct stashed *s = malloc(sizeof(*s) + m->hdr.size);

	while (*p)
		p = &(*p)->next;
	s->next = NULL;
	s->len = m->hdr.size;
	memcpy(s->msg, m, s->len);
	*p = s;
}

static bool is_reply(const struct vfu_hdr *hdr)
{
	return hdr->flags & VFU_F_REPLY;
}

static struct msg *receive_kind(struct fake *f, bool reply)
{
	struct msg *m;

	for (struct stashed **p = &f->later; *p; p = &(*p)->next) {
		if (is_reply((struct vfu_hdr *)(*p)->msg) == reply)
			return unstash(p);
	}
	while ((m = receive(f))) {
		if (is_reply(&m->hdr) == reply)
			return m;
		stash(f, m);
	}
	return NULL;
}

struct msg *fake_recv(struct fake *f)
{
	return receive_kind(f, true);
}

struct msg *fake_request(struct fake *f)
{
	return receive_kind(f, false);
}

struct msg *fake_any(struct fake *f)
{
	return f->later ? unstash(&f->later) : receive(f);
}

bool fake_closed(struct fake *f)
{
	char c;

	pump(f->b);
	for (;;) {
		ssize_t n = recv(f->fd, &c, 1, 0);

		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return true;
		if (n < 0)
			return false;
	}
}

struct msg *fake_call(struct fake *f, uint16_t cmd, const void *payload,
		      size_t len)
{
	uint16_t id = fake_send(f, cmd, 0, payload, len);
	struct msg *m;

	pump(f->b);
	m = fake_recv(f);
	assert_non_null(m);
	assert_int_equal(m->hdr.id, id);
	assert_int_equal(m->hdr.cmd, cmd);
	assert_true(m->hdr.flags & VFU_F_REPLY);
	return m;
}

void fake_write(struct fake *f, uint32_t region, uint64_t off, const void *data,
		uint32_t len)
{
	static uint8_t buf[VFU_MAX_MSG];
	struct vfu_region_rw rw = {
		.offset = off, .region = region, .count = len,
	};

	memcpy(buf, &rw, sizeof(rw));
	memcpy(buf + sizeof(rw), data, len);
	fake_send(f, VFU_REGION_WRITE, VFU_F_NO_REPLY, buf, sizeof(rw) + len);
	pump(f->b);
}

void fake_write32(struct fake *f, uint32_t region, uint64_t off, uint32_t v)
{
	fake_write(f, region, off, &v, sizeof(v));
}

void fake_write64(struct fake *f, uint32_t region, uint64_t off, uint64_t v)
{
	fake_write(f, region, off, &v, sizeof(v));
}

uint16_t fake_read_start(struct fake *f, uint32_t region, uint64_t off,
			 uint32_t len)
{
	struct vfu_region_rw rw = {
		.offset = off, .region = region, .count = len,
	};
	uint16_t id = fake_send(f, VFU_REGION_READ, 0, &rw, sizeof(rw));

	pump(f->b);
	return id;
}

static uint64_t read_n(struct fake *f, uint32_t region, uint64_t off, int n)
{
	struct vfu_region_rw rw = {
		.offset = off, .region = region, .count = n,
	};
	struct msg *m = fake_call(f, VFU_REGION_READ, &rw, sizeof(rw));
	uint64_t v = 0;

	assert_int_equal(m->hdr.flags, VFU_F_REPLY);
	assert_int_equal(m->hdr.size, sizeof(m->hdr) + sizeof(rw) + n);
	memcpy(&v, m->data + sizeof(rw), n);
	return v;
}

uint32_t fake_read32(struct fake *f, uint32_t region, uint64_t off)
{
	return read_n(f, region, off, 4);
}

uint64_t fake_read64(struct fake *f, uint32_t region, uint64_t off)
{
	return read_n(f, region, off, 8);
}

void fake_open(struct fake *f, int win, uint64_t base, uint64_t size)
{
	uint64_t bar = win ? FAKE_BAR4 : FAKE_BAR2;

	fake_write64(f, 0, win ? GEN3_IMBAR2XBASE : GEN3_IMBAR1XBASE, base);
	fake_write64(f, 0, win ? GEN3_IMBAR2XLMT : GEN3_IMBAR1XLMT, bar + size);
}

int fake_map(struct fake *f, uint64_t iova, uint64_t size, uint32_t flags,
	     int fd, uint64_t offset)
{
	struct vfu_dma_map mp = {
		.argsz = sizeof(mp), .flags = flags, .offset = offset,
		.iova = iova, .size = size,
	};
	struct msg *m;

	fake_send_fds(f, VFU_DMA_MAP, 0, &mp, sizeof(mp), &fd, fd >= 0);
	pump(f->b);
	m = fake_recv(f);
	assert_non_null(m);
	return m->hdr.flags & VFU_F_ERROR ? -(int)m->hdr.error : 0;
}

int fake_unmap(struct fake *f, uint64_t iova, uint64_t size)
{
	struct vfu_dma_unmap u = {
		.argsz = sizeof(u), .iova = iova, .size = size,
	};
	struct msg *m = fake_call(f, VFU_DMA_UNMAP, &u, sizeof(u));

	return m->hdr.flags & VFU_F_ERROR ? -(int)m->hdr.error : 0;
}

struct msg *fake_expect_dma(struct fake *f, uint16_t cmd, uint64_t addr,
			    uint32_t count)
{
	struct msg *m;
	struct vfu_dma_rw rw;

	pump(f->b);
	m = fake_request(f);
	assert_non_null(m);
	assert_int_equal(m->hdr.cmd, cmd);
	assert_int_equal(m->hdr.flags, 0);
	memcpy(&rw, m->data, sizeof(rw));
	assert_int_equal(rw.offset, addr);
	assert_int_equal(rw.count, count);
	assert_int_equal(m->hdr.size, sizeof(m->hdr) + sizeof(rw) +
			 (cmd == VFU_DMA_WRITE ? count : 0));
	return m;
}

static void answer(struct fake *f, const struct vfu_hdr *req, uint32_t flags,
		   int err, const void *data, size_t len)
{
	struct vfu_hdr hdr = {
		.id = req->id, .cmd = req->cmd, .size = sizeof(hdr) + len,
		.flags = VFU_F_REPLY | flags, .error = err,
	};

	fake_bytes(f, &hdr, sizeof(hdr));
	fake_bytes(f, data, len);
	pump(f->b);
}

void fake_answer_write(struct fake *f, const struct vfu_hdr *req, int err)
{
	answer(f, req, err ? VFU_F_ERROR : 0, err, NULL, 0);
}

void fake_answer_read(struct fake *f, const struct vfu_hdr *req, uint64_t addr,
		      const void *data, uint32_t len)
{
	uint8_t buf[4096];
	struct vfu_dma_rw rw = { .offset = addr, .count = len };

	memcpy(buf, &rw, sizeof(rw));
	memcpy(buf + sizeof(rw), data, len);
	answer(f, req, 0, 0, buf, sizeof(rw) + len);
}

uint64_t fake_irqs(struct fake *f, int vector)
{
	uint64_t v = 0;

	if (read(f->irq[vector], &v, sizeof(v)) < 0)
		return 0;
	return v;
}

struct port *fake_port(struct fake *f)
{
	return &f->b->s->port[f->port];
}

struct port_counters *fake_cnt(struct fake *f)
{
	return &fake_port(f)->cnt;
}
