// SPDX-License-Identifier: GPL-2.0
/* Flaps; see flap.h. */
#include <string.h>

#include "fault.h"
#include "flap.h"
#include "link.h"
#include "port.h"

static void permit(struct link *link, bool up)
{
	link->allowed = up;
	link_update(link);
}

static uint64_t part(struct flap *flap, uint64_t max)
{
	return max ? 1 + fault_random(&flap->random) % max : 1;
}

static void wait_for_next(struct flap *flap)
{
	uint64_t us = flap->plan.every_us / 2 +
		      part(flap, flap->plan.every_us);

	flap->next_us = fault_now() + us;
	timer_set(&flap->timer, us);
}

static void end(struct flap *flap)
{
	void (*done)(void *arg) = flap->done;

	timer_stop(&flap->timer);
	flap->plan.count = 0;
	flap->next_us = 0;
	flap->done = NULL;
	if (done)
		done(flap->arg);
}

static void on_time(void *arg)
{
	struct flap *flap = arg;

	if (flap->link->allowed) {
		flap->link->end[0]->cnt.faults[FAULT_FLAP]++;
		permit(flap->link, false);
		timer_set(&flap->timer, part(flap, flap->plan.down_us));
		return;
	}
	permit(flap->link, true);
	if (--flap->plan.count)
		wait_for_next(flap);
	else
		end(flap);
}

void flap_init(struct flap *flap, struct link *link)
{
	memset(flap, 0, sizeof(*flap));
	flap->link = link;
	timer_init(&flap->timer, link->end[0]->loop, on_time, flap);
}

void flap_exit(struct flap *flap)
{
	flap->done = NULL;
	timer_exit(&flap->timer);
}

void flap_start(struct flap *flap, const struct flap_plan *plan,
		void (*done)(void *arg), void *arg)
{
	flap_stop(flap);
	flap->plan = *plan;
	flap->random = plan->seed;
	flap->done = done;
	flap->arg = arg;
	wait_for_next(flap);
}

void flap_stop(struct flap *flap)
{
	if (!flap->plan.count)
		return;
	permit(flap->link, true);
	end(flap);
}
