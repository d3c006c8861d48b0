// SPDX-License-Identifier: GPL-2.0
/* Framing of vfio-user connections; see vfu_conn.h for the rules. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "log.h"
#include "vfu_conn.h"

/* Room to read into, in bytes: a flood of small writes is fetched in few calls. */
#define READ_CHUNK	(128u * 1024u)
/* Reads in a row before other clients get their turn. */
#define READ_ROUNDS	4

static void conn_event(struct loop_src *src, uint32_t events)
{
	struct vfu_conn *conn = (struct vfu_conn *)src;

	if (events & EPOLLOUT)
		vfu_conn_flush(conn);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		vfu_conn_receive(conn);
}

struct vfu_conn *vfu_conn_new(struct loop *loop, int fd, vfu_message_fn message,
			      void *owner, const char *name)
{
	struct vfu_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		goto err_close;
	conn->in_cap = 2 * READ_CHUNK;
	conn->in = malloc(conn->in_cap);
	if (!conn->in)
		goto err_free;

	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	conn->src.fd = fd;
	conn->src.cb = conn_event;
	conn->loop = loop;
	conn->message = message;
	conn->owner = owner;
	conn->name = name;
	conn->out_fd = -1;
	conn->max_xfer = VFU_MAX_XFER;
	if (loop_add(loop, &conn->src, EPOLLIN))
		goto err_in;
	return conn;

err_in:
	free(conn->in);
err_free:
	free(conn);
err_close:
	close(fd);
	return NULL;
}

static void close_fds(struct vfu_fds *fds)
{
	for (int i = 0; i < fds->n; i++) {
		if (fds->fd[i] >= 0)
			close(fds->fd[i]);
	}
	fds->n = 0;
}

void vfu_conn_free(struct vfu_conn *conn)
{
	loop_del(conn->loop, &conn->src);
	for (int i = 0; i < conn->nbatch; i++)
		close_fds(&conn->batch[i].fds);
	if (conn->out_fd >= 0)
		close(conn->out_fd);
	close(conn->src.fd);
	free(conn->in);
	free(conn->out);
	free(conn);
}

void vfu_conn_doom(struct vfu_conn *conn, const char *fmt, ...)
{
	char why[256];
	va_list ap;

	if (conn->doomed)
		return;
	conn->doomed = true;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	log_info("%s: client dropped: %s", conn->name, why);
}

/* Take the descriptors that came with the message that ends at @end. */
static void take_fds(struct vfu_conn *conn, uint64_t end, struct vfu_fds *out)
{
	int used = 0;

	out->n = 0;
	while (used < conn->nbatch && conn->batch[used].end <= end) {
		/* One batch a message; a second one is nobody's. */
		if (!out->n)
			*out = conn->batch[used].fds;
		else
			close_fds(&conn->batch[used].fds);
		used++;
	}
	if (!used)
		return;
	conn->nbatch -= used;
	memmove(conn->batch, conn->batch + used,
		conn->nbatch * sizeof(conn->batch[0]));
}

/* Handle all whole messages in the input buffer. */
static void consume(struct vfu_conn *conn)
{
	/* Large, and the loop is single threaded: keep it off the stack. */
	static struct vfu_fds fds;
	size_t at = 0;

	while (!conn->doomed && conn->in_len - at >= sizeof(struct vfu_hdr)) {
		struct vfu_hdr hdr;
		int ret;

		memcpy(&hdr, conn->in + at, sizeof(hdr));
		if (hdr.size < sizeof(hdr) || hdr.size > VFU_MAX_MSG) {
			vfu_conn_doom(conn, "impossible message size %u",
				      hdr.size);
			break;
		}
		if (conn->in_len - at < hdr.size) {
			/* Make room for the rest of a large message. */
			if (hdr.size + READ_CHUNK > conn->in_cap) {
				size_t cap = hdr.size + READ_CHUNK;
				uint8_t *in = realloc(conn->in, cap);

				if (!in) {
					vfu_conn_doom(conn, "out of memory");
					break;
				}
				conn->in = in;
				conn->in_cap = cap;
			}
			break;
		}
		fds.n = 0;
		if (conn->nbatch)
			take_fds(conn, conn->in_pos + at + hdr.size, &fds);
		ret = conn->message(conn, &hdr, conn->in + at + sizeof(hdr),
				    hdr.size - sizeof(hdr), &fds);
		close_fds(&fds);
		if (ret) {
			/* It may have been told why. */
			vfu_conn_flush(conn);
			vfu_conn_doom(conn, "message %u: %s", hdr.cmd,
				      strerror(-ret));
		}
		at += hdr.size;
	}
	if (at) {
		conn->in_len -= at;
		conn->in_pos += at;
		if (conn->in_len)
			memmove(conn->in, conn->in + at, conn->in_len);
	}
}

/*
 * Note the descriptors of one recvmsg(). The kernel ends a read behind the piece of data that descriptors
 * came with, so they belong to the message that holds the last byte read.
 */
static void note_fds(struct vfu_conn *conn, struct msghdr *mh, uint64_t end)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		struct vfu_fds fds;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		fds.n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds.fd, CMSG_DATA(c), fds.n * sizeof(int));
		if (conn->nbatch == VFU_FD_BATCHES) {
			close_fds(&fds);
			vfu_conn_doom(conn, "descriptors without messages");
			continue;
		}
		conn->batch[conn->nbatch].end = end;
		conn->batch[conn->nbatch].fds = fds;
		conn->nbatch++;
	}
	if (mh->msg_flags & MSG_CTRUNC)
		vfu_conn_doom(conn, "descriptors were lost");
}

void vfu_conn_receive(struct vfu_conn *conn)
{
	for (int round = 0; round < READ_ROUNDS && !conn->doomed; round++) {
		union {
			struct cmsghdr align;
			char buf[CMSG_SPACE(VFU_SCM_MAX_FD * sizeof(int))];
		} ctl;
		size_t room = conn->in_cap - conn->in_len;
		struct iovec iov = {
			.iov_base = conn->in + conn->in_len,
			.iov_len = room,
		};
		struct msghdr mh = {
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = ctl.buf,
			.msg_controllen = sizeof(ctl.buf),
		};
		ssize_t n = recvmsg(conn->src.fd, &mh, MSG_CMSG_CLOEXEC);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			if (errno != EAGAIN)
				vfu_conn_doom(conn, "receive: %s",
					      strerror(errno));
			return;
		}
		if (!n) {
			vfu_conn_doom(conn, "it closed the connection");
			return;
		}
		conn->in_len += n;
		if (mh.msg_controllen)
			note_fds(conn, &mh, conn->in_pos + conn->in_len);
		consume(conn);
		/* A short read emptied the socket, unless descriptors cut it short. */
		if ((size_t)n < room && !mh.msg_controllen)
			return;
	}
}

void *vfu_conn_put(struct vfu_conn *conn, const struct vfu_hdr *hdr, size_t len)
{
	size_t size = sizeof(*hdr) + len;
	struct vfu_hdr h = *hdr;
	uint8_t *at;

	if (conn->doomed)
		return NULL;
	if (conn->out_head == conn->out_len)
		conn->out_head = conn->out_len = 0;
	if (conn->out_len + size > conn->out_cap && conn->out_head) {
		memmove(conn->out, conn->out + conn->out_head,
			conn->out_len - conn->out_head);
		conn->out_fd_at -= conn->out_fd >= 0 ? conn->out_head : 0;
		conn->out_len -= conn->out_head;
		conn->out_head = 0;
	}
	if (conn->out_len + size > conn->out_cap) {
		size_t cap = conn->out_cap * 2 + size + 4096;
		uint8_t *out;

		if (conn->out_len + size > VFU_OUT_CAP) {
			vfu_conn_doom(conn, "it does not read: %zu bytes wait",
				      conn->out_len);
			return NULL;
		}
		out = realloc(conn->out, cap);
		if (!out) {
			vfu_conn_doom(conn, "out of memory");
			return NULL;
		}
		conn->out = out;
		conn->out_cap = cap;
	}
	at = conn->out + conn->out_len;
	h.size = size;
	memcpy(at, &h, sizeof(h));
	conn->out_len += size;
	return at + sizeof(h);
}

void vfu_conn_put_fd(struct vfu_conn *conn, int fd, size_t msg_len)
{
	if (conn->doomed)
		return;
	/* Only one at a time can wait; region queries are not pipelined. */
	if (conn->out_fd >= 0) {
		vfu_conn_doom(conn, "too many descriptors wait to be sent");
		return;
	}
	conn->out_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	conn->out_fd_at = conn->out_len - msg_len;
}

/* How much the next send may carry; see the rule in vfu_conn.h. */
static size_t next_send(const struct vfu_conn *conn)
{
	size_t at = conn->out_head;

	if (conn->out_part)
		return conn->out_part;
	while (at < conn->out_len) {
		struct vfu_hdr hdr;

		if (conn->out_fd >= 0 && at == conn->out_fd_at &&
		    at != conn->out_head)
			break;
		memcpy(&hdr, conn->out + at, sizeof(hdr));
		if (at != conn->out_head &&
		    at + hdr.size - conn->out_head > VFU_SEND_MAX)
			break;
		at += hdr.size;
		if (conn->out_fd >= 0 && at - hdr.size == conn->out_fd_at)
			break;
	}
	return at - conn->out_head;
}

static ssize_t send_some(struct vfu_conn *conn, size_t len)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} ctl = { 0 };
	struct iovec iov = {
		.iov_base = conn->out + conn->out_head,
		.iov_len = len,
	};
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	bool with_fd = conn->out_fd >= 0 && conn->out_head == conn->out_fd_at &&
		       !conn->out_part;
	ssize_t n;

	if (with_fd) {
		struct cmsghdr *c;

		mh.msg_control = ctl.buf;
		mh.msg_controllen = sizeof(ctl.buf);
		c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &conn->out_fd, sizeof(int));
	}
	n = sendmsg(conn->src.fd, &mh, MSG_NOSIGNAL);
	if (n > 0 && with_fd) {
		close(conn->out_fd);
		conn->out_fd = -1;
	}
	return n;
}

void vfu_conn_flush(struct vfu_conn *conn)
{
	while (!conn->doomed && conn->out_head < conn->out_len) {
		size_t len = next_send(conn);
		ssize_t n = send_some(conn, len);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			if (errno != EAGAIN) {
				vfu_conn_doom(conn, "send: %s",
					      strerror(errno));
				return;
			}
			loop_mod(conn->loop, &conn->src, EPOLLIN | EPOLLOUT);
			return;
		}
		conn->out_head += n;
		conn->out_part = len - n;
	}
	if (!conn->doomed)
		loop_mod(conn->loop, &conn->src, EPOLLIN);
}
