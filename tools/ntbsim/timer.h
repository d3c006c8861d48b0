/* SPDX-License-Identifier: GPL-2.0 */
/* One-shot timers on the event loop. */
#ifndef NTBSIM_TIMER_H
#define NTBSIM_TIMER_H

#include "loop.h"

/**
 * struct timer - a timer; embed it in its owner
 * @src: its place in the loop; the descriptor is -1 until the timer is first set
 * @loop: the loop
 * @fn: called once when it runs out
 * @arg: for @fn
 */
struct timer {
	struct loop_src src;
	struct loop *loop;
	void (*fn)(void *arg);
	void *arg;
};

void timer_init(struct timer *t, struct loop *loop, void (*fn)(void *arg),
		void *arg);
void timer_exit(struct timer *t);

/**
 * timer_set() - run out in @us microseconds, whatever it was set to before
 *
 * Return: 0 or a negative errno.
 */
int timer_set(struct timer *t, uint64_t us);
void timer_stop(struct timer *t);

#endif /* NTBSIM_TIMER_H */
