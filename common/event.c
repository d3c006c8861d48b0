// SPDX-License-Identifier: GPL-2.0
/*
 * The event bell: a doorbell bit beside that of the channel, by which a host that took a
 * device's interrupt has the other one look at the words that it counts in.
 *
 * Who calls it: the module that owns devices, in its interrupt handlers (ring); link.c when the
 * bell was heard, and the beat, lest a bell that was lost cost more than time. It owns nothing and
 * takes no lock: ringing is one posted write.
 */
#include <linux/export.h>

#include "link.h"

/**
 * devlend_event_usable() - can this NTB ring for events?
 * @link: the link
 *
 * Not where it has one doorbell bit, or where its driver sleeps to ring. Context: any.
 */
bool devlend_event_usable(struct devlend_link *link)
{
	return link->transport.event_bell;
}
EXPORT_SYMBOL_GPL(devlend_event_usable);

/**
 * devlend_event_ring() - ring the peer's event bell
 * @link: the link, which is not gone, and whose bell is usable
 *
 * What was written into the peer's memory before must have arrived: on some NTBs a bell overtakes
 * it. Context: any.
 */
void devlend_event_ring(struct devlend_link *link)
{
	link->transport.ops->ring_event(&link->transport);
}
EXPORT_SYMBOL_GPL(devlend_event_ring);
