/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Links that flap: down and up again, at a given rate, for a number of times.
 *
 * A flap withdraws the operator's permission of the link and gives it back. Times are drawn from a seed, between half
 * and one and a half times what was asked for.
 */
#ifndef NTBSIM_FLAP_H
#define NTBSIM_FLAP_H

#include <stdint.h>

#include "timer.h"

struct link;

/**
 * struct flap_plan - how a link is to flap
 * @seed: for the times
 * @every_us: the mean time from one flap to the next
 * @down_us: how long the link is down, at most; any shorter time is as likely
 * @count: how often
 */
struct flap_plan {
	uint64_t seed;
	uint64_t every_us;
	uint64_t down_us;
	uint64_t count;
};

/**
 * struct flap - the flaps of one link
 * @link: the link
 * @plan: as asked for; @count goes down
 * @random: state of the generator
 * @next_us: when the link goes down next, on the monotonic clock; 0 if it does not
 * @timer: until the next change
 * @done: told when the last flap is over, or NULL
 * @arg: for @done
 */
struct flap {
	struct link *link;
	struct flap_plan plan;
	uint64_t random;
	uint64_t next_us;
	struct timer timer;
	void (*done)(void *arg);
	void *arg;
};

void flap_init(struct flap *flap, struct link *link);
void flap_exit(struct flap *flap);

/**
 * flap_start() - flap from now on
 * @flap: of the link, whose flaps so far are over with this
 * @plan: how
 * @done: called once, when the last flap is over or flap_stop() was called; may be NULL
 * @arg: for @done
 */
void flap_start(struct flap *flap, const struct flap_plan *plan,
		void (*done)(void *arg), void *arg);

/* No more flaps; the link is permitted if it was down for one. */
void flap_stop(struct flap *flap);

#endif /* NTBSIM_FLAP_H */
