// SPDX-License-Identifier: GPL-2.0
/* Connections to the control socket; the commands are in control_cmd.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control.h"
#include "server.h"

/**
 * struct control_client - one connection
 * @src: its place in the loop
 * @ctl: the control socket
 * @next: list
 * @in: bytes of lines that were not handled yet
 * @in_len: how many
 * @in_cap: room for them
 * @in_seen: the first of them, in which there is no end of a line
 * @cancel: a reply is to come, and this is called if the client goes away before; further lines wait; or NULL
 * @cancel_arg: for @cancel
 * @out: bytes that wait to be sent
 * @out_len: how many
 */
struct control_client {
	struct loop_src src;
	struct control *ctl;
	struct control_client *next;
	char *in;
	size_t in_len, in_cap, in_seen;
	void (*cancel)(void *arg);
	void *cancel_arg;
	char *out;
	size_t out_len;
};

static void client_free(struct control_client *cl)
{
	struct control_client **p = &cl->ctl->clients;

	if (cl->cancel)
		cl->cancel(cl->cancel_arg);
	while (*p != cl)
		p = &(*p)->next;
	*p = cl->next;
	loop_del(&cl->ctl->server->loop, &cl->src);
	close(cl->src.fd);
	free(cl->in);
	free(cl->out);
	free(cl);
}

static bool queue(struct control_client *cl, const char *text, size_t len)
{
	char *out;

	if (cl->out_len + len + 1 > CONTROL_OUT_MAX)
		return false;
	out = realloc(cl->out, cl->out_len + len + 1);
	if (!out)
		return false;
	memcpy(out + cl->out_len, text, len);
	out[cl->out_len + len] = '\n';
	cl->out = out;
	cl->out_len += len + 1;
	return true;
}

static bool flush(struct control_client *cl)
{
	while (cl->out_len) {
		ssize_t n = send(cl->src.fd, cl->out, cl->out_len,
				 MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			loop_mod(&cl->ctl->server->loop, &cl->src,
				 EPOLLIN | EPOLLOUT);
			return true;
		}
		if (n < 0)
			return errno == EINTR;
		cl->out_len -= n;
		memmove(cl->out, cl->out + n, cl->out_len);
	}
	loop_mod(&cl->ctl->server->loop, &cl->src, EPOLLIN);
	return true;
}

static bool queue_reply(struct control_client *cl, struct json_object *r)
{
	const char *text = json_object_to_json_string_ext(r,
						JSON_C_TO_STRING_PLAIN);
	bool fits = queue(cl, text, strlen(text));

	json_object_put(r);
	return fits;
}

static bool handle_lines(struct control_client *cl)
{
	char *nl;

	while (!cl->cancel && cl->in_seen < cl->in_len &&
	       (nl = memchr(cl->in + cl->in_seen, '\n',
			    cl->in_len - cl->in_seen))) {
		struct json_object *r;
		size_t used = nl - cl->in + 1;

		*nl = '\0';
		r = control_request(cl->ctl->server, cl->in, cl);
		if (r && !queue_reply(cl, r))
			return false;
		cl->in_len -= used;
		memmove(cl->in, cl->in + used, cl->in_len);
		cl->in_seen = 0;
	}
	if (!cl->cancel)
		cl->in_seen = cl->in_len;
	return cl->in_len < CONTROL_LINE_MAX;
}

static bool make_room(struct control_client *cl)
{
	size_t cap = cl->in_cap ? cl->in_cap * 2 : 65536;
	char *in;

	if (cl->in_len < cl->in_cap)
		return true;
	in = realloc(cl->in, cap);
	if (!in)
		return false;
	cl->in = in;
	cl->in_cap = cap;
	return true;
}

static void client_event(struct loop_src *src, uint32_t events)
{
	struct control_client *cl = (void *)src;
	ssize_t n;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		if (!make_room(cl)) {
			client_free(cl);
			return;
		}
		n = recv(src->fd, cl->in + cl->in_len,
			 cl->in_cap - cl->in_len, 0);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
			client_free(cl);
			return;
		}
		if (n > 0) {
			cl->in_len += n;
			if (!handle_lines(cl)) {
				client_free(cl);
				return;
			}
		}
	}
	if (!flush(cl))
		client_free(cl);
}

void control_defer(struct control_client *cl, void (*cancel)(void *arg),
		   void *arg)
{
	cl->cancel = cancel;
	cl->cancel_arg = arg;
}

void control_reply(void *arg, struct json_object *reply)
{
	struct control_client *cl = arg;

	cl->cancel = NULL;
	if (!queue_reply(cl, reply) || !handle_lines(cl) || !flush(cl))
		client_free(cl);
}

static void accept_control(struct loop_src *src, uint32_t events)
{
	struct control *c = (void *)src;
	struct control_client *cl;
	int fd = accept4(src->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd < 0)
		return;
	cl = calloc(1, sizeof(*cl));
	if (!cl) {
		close(fd);
		return;
	}
	cl->src.fd = fd;
	cl->src.cb = client_event;
	cl->ctl = c;
	cl->next = c->clients;
	c->clients = cl;
	if (loop_add(&c->server->loop, &cl->src, EPOLLIN))
		client_free(cl);
}

void control_init(struct control *c)
{
	memset(c, 0, sizeof(*c));
	c->listen.fd = -1;
}

int control_listen(struct control *c, struct server *s, int fd)
{
	c->server = s;
	c->listen.fd = fd;
	c->listen.cb = accept_control;
	return loop_add(&s->loop, &c->listen, EPOLLIN);
}

void control_exit(struct control *c)
{
	if (c->listen.fd < 0)
		return;
	while (c->clients)
		client_free(c->clients);
	loop_del(&c->server->loop, &c->listen);
	close(c->listen.fd);
	unlink(c->server->cfg.control);
	c->listen.fd = -1;
}
