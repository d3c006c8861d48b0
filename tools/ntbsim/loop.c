// SPDX-License-Identifier: GPL-2.0
/* The event loop; see loop.h for its rules. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "loop.h"

int loop_init(struct loop *loop)
{
	memset(loop, 0, sizeof(*loop));
	loop->epfd = epoll_create1(EPOLL_CLOEXEC);
	return loop->epfd < 0 ? -errno : 0;
}

void loop_exit(struct loop *loop)
{
	close(loop->epfd);
	loop->epfd = -1;
}

int loop_add(struct loop *loop, struct loop_src *src, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = src };

	src->events = events;
	return epoll_ctl(loop->epfd, EPOLL_CTL_ADD, src->fd, &ev) ? -errno : 0;
}

void loop_mod(struct loop *loop, struct loop_src *src, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = src };

	if (src->events == events)
		return;
	src->events = events;
	epoll_ctl(loop->epfd, EPOLL_CTL_MOD, src->fd, &ev);
}

void loop_del(struct loop *loop, struct loop_src *src)
{
	epoll_ctl(loop->epfd, EPOLL_CTL_DEL, src->fd, NULL);
	for (int i = 0; i < loop->nbatch; i++) {
		if (loop->batch[i].data.ptr == src)
			loop->batch[i].data.ptr = NULL;
	}
}

int loop_once(struct loop *loop, int timeout_ms)
{
	int n = epoll_wait(loop->epfd, loop->batch, LOOP_BATCH, timeout_ms);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;

	loop->nbatch = n;
	for (int i = 0; i < n; i++) {
		struct loop_src *src = loop->batch[i].data.ptr;

		if (!src)
			continue;
		src->cb(src, loop->batch[i].events);
		if (loop->after)
			loop->after(loop->after_arg);
	}
	loop->nbatch = 0;
	return n;
}

int loop_run(struct loop *loop)
{
	while (!loop->stop) {
		int ret = loop_once(loop, -1);

		if (ret < 0)
			return ret;
	}
	return 0;
}

void loop_stop(struct loop *loop)
{
	loop->stop = true;
}
