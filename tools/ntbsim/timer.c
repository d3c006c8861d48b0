// SPDX-License-Identifier: GPL-2.0
/* Timers; see timer.h. */
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "timer.h"

static void expired(struct loop_src *src, uint32_t events)
{
	struct timer *t = (void *)src;
	uint64_t times;

	(void)events;
	/* Nothing to read: it was set anew after this event was fetched. */
	if (read(src->fd, &times, sizeof(times)) == sizeof(times))
		t->fn(t->arg);
}

void timer_init(struct timer *t, struct loop *loop, void (*fn)(void *arg),
		void *arg)
{
	t->src.fd = -1;
	t->src.cb = expired;
	t->loop = loop;
	t->fn = fn;
	t->arg = arg;
}

void timer_exit(struct timer *t)
{
	if (t->src.fd < 0)
		return;
	loop_del(t->loop, &t->src);
	close(t->src.fd);
	t->src.fd = -1;
}

static int make(struct timer *t)
{
	int ret;

	t->src.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (t->src.fd < 0)
		return -errno;
	ret = loop_add(t->loop, &t->src, EPOLLIN);
	if (ret) {
		close(t->src.fd);
		t->src.fd = -1;
	}
	return ret;
}

int timer_set(struct timer *t, uint64_t us)
{
	struct itimerspec when = {
		.it_value.tv_sec = us / 1000000,
		.it_value.tv_nsec = us % 1000000 * 1000,
	};
	int ret = t->src.fd < 0 ? make(t) : 0;

	if (ret)
		return ret;
	/* Zero would stop it. */
	if (!us)
		when.it_value.tv_nsec = 1;
	return timerfd_settime(t->src.fd, 0, &when, NULL) ? -errno : 0;
}

void timer_stop(struct timer *t)
{
	const struct itimerspec never = { 0 };

	if (t->src.fd >= 0)
		timerfd_settime(t->src.fd, 0, &never, NULL);
}
