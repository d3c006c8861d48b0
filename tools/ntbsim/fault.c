// SPDX-License-Identifier: GPL-2.0
/* Faults; see fault.h. */
#include <assert.h>
#include <string.h>
#include <time.h>

#include "fault.h"
#include "flow.h"
#include "link.h"
#include "log.h"
#include "port.h"

static_assert((int)FAULT_KINDS == NUM_FAULTS, "counters");

const char * const fault_names[FAULT_KINDS] = {
	"bell_drop", "bell_delay", "bell_dup", "bell_reorder",
	"spad_lost", "spad_corrupt", "msi_lost", "msi_late", "freeze", "flap",
};

/* splitmix64 */
uint64_t fault_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint64_t fault_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ull + ts.tv_nsec / 1000;
}

/* A number from 1 to @max. */
static uint64_t up_to(struct fault *fault, enum fault_kind kind, uint64_t max)
{
	return max ? 1 + fault_random(&fault->stream[kind]) % max : 1;
}

static bool happens(struct fault *fault, enum fault_kind kind)
{
	double drawn;

	if (fault->plan.chance[kind] <= 0)
		return false;
	drawn = (fault_random(&fault->stream[kind]) >> 11) * 0x1p-53;
	if (drawn >= fault->plan.chance[kind])
		return false;
	fault->port->cnt.faults[kind]++;
	return true;
}

/* --- bells ---------------------------------------------------------------------- */

static void set_bell_timer(struct fault *fault)
{
	uint64_t now = fault_now(), first = UINT64_MAX;

	for (unsigned int i = 0; i < fault->nbells; i++) {
		if (fault->bell[i].due < first)
			first = fault->bell[i].due;
	}
	if (fault->nbells)
		timer_set(&fault->bells, first > now ? first - now : 0);
}

static void ring_late(struct fault *fault, unsigned int i)
{
	unsigned int bit = fault->bell[i].bit;

	fault->bell[i] = fault->bell[--fault->nbells];
	flow_ring(fault->port, bit);
}

static void on_bells(void *arg)
{
	struct fault *fault = arg;
	uint64_t now = fault_now();

	for (unsigned int i = 0; i < fault->nbells;) {
		if (fault->bell[i].due <= now)
			ring_late(fault, i);
		else
			i++;
	}
	set_bell_timer(fault);
}

static bool be_late(struct fault *fault, enum fault_kind kind, unsigned int bit)
{
	if (fault->nbells == FAULT_BELLS)
		return false;
	fault->bell[fault->nbells++] = (struct fault_bell){
		.due = fault_now() + up_to(fault, kind, fault->plan.bell_us),
		.bit = bit,
		.behind = kind == FAULT_BELL_REORDER,
	};
	set_bell_timer(fault);
	return true;
}

bool fault_bell(struct fault *fault, unsigned int bit)
{
	/* Each is drawn for each bell, so that a stream does not depend on the others. */
	bool drop = happens(fault, FAULT_BELL_DROP);
	bool delay = happens(fault, FAULT_BELL_DELAY);
	bool again = happens(fault, FAULT_BELL_DUP);
	bool swap = happens(fault, FAULT_BELL_REORDER);

	if (again)
		be_late(fault, FAULT_BELL_DUP, bit);
	if (drop)
		return true;
	if (delay)
		return be_late(fault, FAULT_BELL_DELAY, bit);
	return swap && be_late(fault, FAULT_BELL_REORDER, bit);
}

void fault_bell_rang(struct fault *fault)
{
	for (unsigned int i = 0; i < fault->nbells; i++) {
		if (!fault->bell[i].behind)
			continue;
		/* It is the one that has rung, for the next that wait. */
		ring_late(fault, i);
		return;
	}
}

void fault_purge(struct fault *fault)
{
	fault->port->cnt.doorbells_dropped += fault->nbells;
	fault->nbells = 0;
	timer_stop(&fault->bells);
	fault->late_until = 0;
	timer_stop(&fault->late);
}

/* --- scratchpads ---------------------------------------------------------------- */

static bool near_change(const struct fault *fault)
{
	const struct link *link = fault->port->link;
	uint64_t now = fault_now(), us = fault->plan.lost_us;

	if (!us)
		return false;
	return now - link->changed_us < us ||
	       (link->flap.next_us >= now && link->flap.next_us - now < us);
}

bool fault_spad(struct fault *fault, unsigned int i, uint32_t *v)
{
	if (near_change(fault) && happens(fault, FAULT_SPAD_LOST))
		return true;
	if (fault->plan.corrupt_words & 1u << i &&
	    happens(fault, FAULT_SPAD_CORRUPT))
		*v ^= 1u << (up_to(fault, FAULT_SPAD_CORRUPT, 32) - 1);
	return false;
}

/* --- messages ------------------------------------------------------------------- */

bool fault_message(struct fault *fault)
{
	return happens(fault, FAULT_MSI_LOST);
}

static void on_late(void *arg)
{
	struct fault *fault = arg;

	flow_go_on(fault->port);
}

bool fault_message_late(struct fault *fault)
{
	uint64_t us;

	if (fault->late_until) {
		if (fault_now() < fault->late_until)
			return true;
		fault->late_until = 0;
		return false;
	}
	if (!happens(fault, FAULT_MSI_LATE))
		return false;
	us = up_to(fault, FAULT_MSI_LATE, fault->plan.msi_us);
	fault->late_until = fault_now() + us;
	timer_set(&fault->late, us);
	return true;
}

/* --- freezes -------------------------------------------------------------------- */

static void thaw(struct fault *fault)
{
	if (!fault->frozen)
		return;
	fault->frozen = false;
	flow_freeze(fault->port, false);
}

static void set_freeze_timer(struct fault *fault)
{
	const struct fault_plan *plan = &fault->plan;

	if (fault->frozen)
		timer_set(&fault->freeze, plan->freeze_us);
	else if (plan->freeze_every_us)
		timer_set(&fault->freeze, plan->freeze_every_us / 2 +
			  up_to(fault, FAULT_FREEZE, plan->freeze_every_us));
	else
		timer_stop(&fault->freeze);
}

static void on_freeze(void *arg)
{
	struct fault *fault = arg;

	if (fault->frozen) {
		thaw(fault);
	} else if (!fault->port->out.frozen) {
		fault->port->cnt.faults[FAULT_FREEZE]++;
		fault->frozen = true;
		flow_freeze(fault->port, true);
	}
	set_freeze_timer(fault);
}

/* --- the plan ------------------------------------------------------------------- */

void fault_set_plan(struct fault *fault, const struct fault_plan *plan)
{
	struct port *port = fault->port;

	fault->plan = *plan;
	for (int i = 0; i < FAULT_KINDS; i++) {
		uint64_t mix = plan->seed;

		fault->stream[i] = fault_random(&mix) +
				   (uint64_t)(port - port->all) * FAULT_KINDS + i;
		fault->stream[i] = fault_random(&fault->stream[i]);
	}
	thaw(fault);
	set_freeze_timer(fault);
	log_info("%s: faults from seed %llu", port->cfg->name,
		 (unsigned long long)plan->seed);
}

void fault_init(struct fault *fault, struct port *port)
{
	memset(fault, 0, sizeof(*fault));
	fault->port = port;
	timer_init(&fault->bells, port->loop, on_bells, fault);
	timer_init(&fault->late, port->loop, on_late, fault);
	timer_init(&fault->freeze, port->loop, on_freeze, fault);
}

void fault_exit(struct fault *fault)
{
	timer_exit(&fault->bells);
	timer_exit(&fault->late);
	timer_exit(&fault->freeze);
}
