/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The event loop: epoll, level triggered, single threaded.
 *
 * A callback may add and remove any source, its own included; a removed source is never called again, even
 * when its event was already fetched. After each callback the @after hook runs: that is where output is
 * flushed and where connections that were found broken are taken down, so that no callback ever sees an
 * object vanish under it.
 */
#ifndef NTBSIM_LOOP_H
#define NTBSIM_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#define LOOP_BATCH 32

/**
 * struct loop_src - something to wait for; embed it in its owner
 * @fd: the descriptor, owned by whoever embeds this
 * @events: what epoll is asked for now
 * @cb: called with the events that occurred
 */
struct loop_src {
	int fd;
	uint32_t events;
	void (*cb)(struct loop_src *src, uint32_t events);
};

/**
 * struct loop - the loop
 * @epfd: epoll descriptor
 * @stop: set by loop_stop()
 * @after: runs after every callback
 * @after_arg: its argument
 * @batch: events fetched by the current epoll_wait()
 * @nbatch: how many of them
 */
struct loop {
	int epfd;
	bool stop;
	void (*after)(void *arg);
	void *after_arg;
	struct epoll_event batch[LOOP_BATCH];
	int nbatch;
};

int loop_init(struct loop *loop);
void loop_exit(struct loop *loop);
int loop_add(struct loop *loop, struct loop_src *src, uint32_t events);
void loop_mod(struct loop *loop, struct loop_src *src, uint32_t events);
void loop_del(struct loop *loop, struct loop_src *src);

/**
 * loop_once() - wait and dispatch once
 * @loop: the loop
 * @timeout_ms: as epoll_wait()
 *
 * Return: the number of events dispatched, or a negative errno.
 */
int loop_once(struct loop *loop, int timeout_ms);
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

#endif /* NTBSIM_LOOP_H */
