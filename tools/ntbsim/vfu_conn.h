/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One client's connection: framing, descriptors that come with messages, buffered output.
 *
 * Owned by a port. The connection never blocks and never stops reading. Nothing is freed inside a callback:
 * an error only sets @doomed, and the owner takes the connection down from the loop's after-hook.
 *
 * Output rule: a client may read a message's header with a read of exactly its size and give up if that is
 * short. So one send carries whole messages only, at most VFU_SEND_MAX bytes of them (the kernel passes that
 * on in one piece or not at all), or one larger message alone.
 */
#ifndef NTBSIM_VFU_CONN_H
#define NTBSIM_VFU_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop.h"
#include "vfu_proto.h"

struct vfu_conn;

/* Output that may wait for one client before it is held to be dead, in bytes. */
#define VFU_OUT_CAP	(256u * 1024u * 1024u)
#define VFU_SEND_MAX	(32u * 1024u)
/* Batches of descriptors that may wait for their messages. */
#define VFU_FD_BATCHES	8
/* What the kernel passes in one message at most (SCM_MAX_FD). */
#define VFU_SCM_MAX_FD	253

/**
 * struct vfu_fds - descriptors that came with one message
 * @n: how many
 * @fd: them; a handler that keeps one sets its slot to -1, the rest are closed after the handler
 */
struct vfu_fds {
	int n;
	int fd[VFU_SCM_MAX_FD];
};

/**
 * typedef vfu_message_fn - handle one whole message
 *
 * Return: 0, or a negative errno to drop the connection.
 */
typedef int (*vfu_message_fn)(struct vfu_conn *conn,
			      const struct vfu_hdr *hdr, const void *payload,
			      size_t len, struct vfu_fds *fds);

/**
 * struct vfu_conn - a connection
 * @src: its place in the loop
 * @loop: the loop
 * @message: called for each message
 * @owner: whoever owns it
 * @name: for the log
 * @doomed: broken; to be taken down
 * @in: bytes received and not yet consumed
 * @in_len: how many
 * @in_cap: size of @in
 * @in_pos: position in the stream of in[0]
 * @batch: descriptors received, with the position in the stream that follows the last byte they came with
 * @nbatch: how many batches
 * @out: bytes to send: out_head to out_len
 * @out_part: bytes of a partly sent large message still to go
 * @out_fd: a descriptor to send with the message at @out_fd_at, or -1
 * @version_done: VFU_VERSION was seen (message layer)
 * @max_xfer: the client's limit of data in one message (message layer)
 */
struct vfu_conn {
	struct loop_src src;
	struct loop *loop;
	vfu_message_fn message;
	void *owner;
	const char *name;
	bool doomed;

	uint8_t *in;
	size_t in_len, in_cap;
	uint64_t in_pos;
	struct {
		uint64_t end;
		struct vfu_fds fds;
	} batch[VFU_FD_BATCHES];
	int nbatch;

	uint8_t *out;
	size_t out_head, out_len, out_cap;
	size_t out_part;
	size_t out_fd_at;
	int out_fd;

	bool version_done;
	uint32_t max_xfer;
};

/**
 * vfu_conn_new() - wrap a connected socket
 * @loop: the loop to join
 * @fd: the socket; taken over, also on failure
 * @message: handler
 * @owner: for the handler
 * @name: for the log; must outlive the connection
 *
 * Return: the connection, or NULL.
 */
struct vfu_conn *vfu_conn_new(struct loop *loop, int fd, vfu_message_fn message,
			      void *owner, const char *name);
void vfu_conn_free(struct vfu_conn *conn);

/**
 * vfu_conn_doom() - mark a connection as broken, with the reason in the log
 */
void vfu_conn_doom(struct vfu_conn *conn, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * vfu_conn_put() - append a message
 * @conn: the connection
 * @hdr: header; its size is filled in
 * @len: payload bytes
 *
 * Return: where the payload goes (valid until the next call), or NULL if the connection is broken.
 */
void *vfu_conn_put(struct vfu_conn *conn, const struct vfu_hdr *hdr,
		   size_t len);

/**
 * vfu_conn_put_fd() - send a descriptor with the message appended last
 * @conn: the connection
 * @fd: duplicated
 * @msg_len: that message's size, header included
 */
void vfu_conn_put_fd(struct vfu_conn *conn, int fd, size_t msg_len);

/* Read what is there and handle it. */
void vfu_conn_receive(struct vfu_conn *conn);
/* Send what can be sent; what cannot waits for EPOLLOUT. */
void vfu_conn_flush(struct vfu_conn *conn);

#endif /* NTBSIM_VFU_CONN_H */
