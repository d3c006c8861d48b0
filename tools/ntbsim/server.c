// SPDX-License-Identifier: GPL-2.0
/* Ports, links and sockets; see server.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "log.h"
#include "puppet.h"
#include "server.h"
#include "vfu_msg.h"

/*
 * Runs after each event: let puppets go on, send what waits, take down what broke. Each may make work for another,
 * so look again until nothing changes.
 */
static void after_event(void *arg)
{
	struct server *s = arg;
	bool again;

	do {
		again = false;
		for (int i = 0; i < s->cfg.nports; i++) {
			struct port *p = &s->port[i];

			again |= p->puppet && puppet_look(p->puppet);
			if (!p->conn)
				continue;
			if (p->conn->out_head < p->conn->out_len &&
			    !(p->conn->src.events & EPOLLOUT))
				vfu_conn_flush(p->conn);
			if (p->conn->doomed) {
				port_detach(p);
				again = true;
			}
		}
	} while (again);
}

int server_init(struct server *s)
{
	int ret = loop_init(&s->loop);

	if (ret)
		return ret;
	s->loop.after = after_event;
	s->loop.after_arg = s;
	control_init(&s->control);
	for (int i = 0; i < s->cfg.nports; i++) {
		ret = port_init(&s->port[i], &s->cfg.port[i], &s->loop);
		if (ret)
			return ret;
		s->port[i].all = s->port;
		s->port[i].nall = s->cfg.nports;
	}
	for (int i = 0; i < s->cfg.nlinks; i++)
		link_init(&s->link[i], &s->port[s->cfg.link[i][0]],
			  &s->port[s->cfg.link[i][1]]);
	return 0;
}

static bool hung_up(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLRDHUP };

	return poll(&pfd, 1, 0) > 0;
}

int server_attach(struct server *s, int port, int fd)
{
	struct port *p = &s->port[port];

	/* Perhaps the old client is gone and we have not read that yet. */
	if (p->conn && hung_up(p->conn->src.fd))
		port_detach(p);
	if (p->conn) {
		log_warn("%s: a second client was turned away", p->cfg->name);
		close(fd);
		return -EBUSY;
	}
	return port_attach(p, fd, vfu_message);
}

static void accept_client(struct loop_src *src, uint32_t events)
{
	struct port *p = (void *)((char *)src - offsetof(struct port, listen));
	struct server *s = p->loop->after_arg;
	int fd = accept4(src->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd >= 0)
		server_attach(s, p - s->port, fd);
}

static int listen_on(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct stat st;
	int fd, err;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	strncpy(sa.sun_path, path, sizeof(sa.sun_path) - 1);
	/* A socket that nobody answers at is left over from a process that died. */
	if (!lstat(path, &st) && S_ISSOCK(st.st_mode)) {
		if (!connect(fd, (void *)&sa, sizeof(sa))) {
			close(fd);
			return -EADDRINUSE;
		}
		unlink(path);
	}
	if (!bind(fd, (void *)&sa, sizeof(sa)) && !listen(fd, 8))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* The file of a guest's memory may be here before the guest is. */
static int open_memory(const struct port_config *pc)
{
	int fd = open(pc->memory, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) ||
	    ((uint64_t)st.st_size < pc->memory_size &&
	     ftruncate(fd, pc->memory_size))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

int server_listen(struct server *s, char *err, int errlen)
{
	for (int i = 0; i < s->cfg.nports; i++) {
		struct port *p = &s->port[i];
		int fd;

		if (p->cfg->memory[0]) {
			fd = open_memory(p->cfg);
			if (fd < 0) {
				snprintf(err, errlen, "%s: %s", p->cfg->memory,
					 strerror(-fd));
				return -1;
			}
			p->memory_fd = fd;
		}
		if (p->cfg->puppet)
			continue;
		fd = listen_on(p->cfg->socket);
		if (fd < 0) {
			snprintf(err, errlen, "%s: %s", p->cfg->socket,
				 strerror(-fd));
			return -1;
		}
		p->listen.fd = fd;
		p->listen.cb = accept_client;
		if (loop_add(&s->loop, &p->listen, EPOLLIN)) {
			snprintf(err, errlen, "epoll: %s", strerror(errno));
			return -1;
		}
	}
	if (s->cfg.control[0]) {
		int fd = listen_on(s->cfg.control);

		if (fd < 0) {
			snprintf(err, errlen, "%s: %s", s->cfg.control,
				 strerror(-fd));
			return -1;
		}
		if (control_listen(&s->control, s, fd)) {
			snprintf(err, errlen, "epoll: %s", strerror(errno));
			return -1;
		}
	}
	return 0;
}

void server_exit(struct server *s)
{
	control_exit(&s->control);
	for (int i = 0; i < s->cfg.nlinks; i++)
		flap_exit(&s->link[i].flap);
	for (int i = 0; i < s->cfg.nports; i++)
		port_exit(&s->port[i]);
	loop_exit(&s->loop);
}
