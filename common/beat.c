// SPDX-License-Identifier: GPL-2.0
/*
 * The beat: a word that counts, written to the peer without a bell, and the peer's, sampled.
 *
 * A peer whose beat stands still for the link's time-out is dead, whatever the NTB says of the
 * link: this is the primary sign of death. The timer also looks whether the peer wrote
 * something that the worker has not seen, and whether something of ours is on its way for long, and
 * has the words of events looked at, so that a lost bell costs time only.
 *
 * Who calls it: link.c starts and stops it. Context: a timer (softirq); it takes no lock. It
 * touches the transport, so it is stopped before the NTB goes. What it reads of the worker's
 * state may be old: the worker decides.
 */
#include <linux/irqflags.h>
#include <linux/jiffies.h>

#include <devlend/compat.h>

#include "link.h"

static bool beat_wants_look(struct devlend_link *link)
{
	if (READ_ONCE(link->state) != DEVLEND_LINK_UP)
		return true;
	if (READ_ONCE(link->sleep.flying) || READ_ONCE(link->atomic.busy))
		return true;
	if (devlend_link_read(link, DEVLEND_WORD_HELLO) != READ_ONCE(link->peer_hello) ||
	    devlend_link_read(link, DEVLEND_WORD_EPOCH) != READ_ONCE(link->peer_epoch))
		return true;
	if (devlend_lane_sleep_peek(&link->sleep) || devlend_lane_atomic_peek(&link->atomic))
		return true;
	return devlend_beat_is_silent(link);
}

/* Interrupts are delivered in there. */
static void beat_event(struct devlend_link *link)
{
	unsigned long flags;

	local_irq_save(flags);
	devlend_service_event(link, false);
	local_irq_restore(flags);
}

static void beat_tick(struct timer_list *timer)
{
	struct devlend_link *link = timer_container_of(link, timer, beat_timer);
	u32 beat = devlend_link_read(link, DEVLEND_WORD_BEAT);

	if (READ_ONCE(link->state) != DEVLEND_LINK_DOWN)
		devlend_link_write(link, DEVLEND_WORD_BEAT, ++link->beat);
	if (beat != link->beat_seen) {
		link->beat_seen = beat;
		WRITE_ONCE(link->beat_changed, jiffies);
	}
	if (link->transport.event_bell)
		beat_event(link);
	if (beat_wants_look(link))
		devlend_link_kick(link);
	mod_timer(&link->beat_timer, jiffies + msecs_to_jiffies(DEVLEND_BEAT_PERIOD_MS));
}

/**
 * devlend_beat_is_silent() - did the peer's beat stop?
 * @link: the link
 *
 * Context: any.
 */
bool devlend_beat_is_silent(struct devlend_link *link)
{
	unsigned long limit = msecs_to_jiffies(READ_ONCE(link->beat_timeout_ms));

	return time_after(jiffies, READ_ONCE(link->beat_changed) + limit);
}

/**
 * devlend_beat_init() - start to beat
 * @link: the link; its transport is ready
 *
 * Context: process.
 */
void devlend_beat_init(struct devlend_link *link)
{
	link->beat_changed = jiffies;
	timer_setup(&link->beat_timer, beat_tick, 0);
	mod_timer(&link->beat_timer, jiffies + msecs_to_jiffies(DEVLEND_BEAT_PERIOD_MS));
}

/**
 * devlend_beat_stop() - stop for good
 * @link: the link
 *
 * Context: process. On return the timer does not run and cannot be started.
 */
void devlend_beat_stop(struct devlend_link *link)
{
	timer_shutdown_sync(&link->beat_timer);
}
