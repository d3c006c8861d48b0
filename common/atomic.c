// SPDX-License-Identifier: GPL-2.0
/*
 * Operations of the atomic lane, as the modules above post them and wait for them.
 *
 * Who calls it: drivers' config accesses, in any context. It owns nothing: the queue is the
 * lane's (lane_atomic.c), which has the one lock. A peer that does not answer within the bound
 * is dead: the session ends then, so that the next operation fails at once and nobody waits
 * twice.
 */
#include <linux/export.h>

#include "link.h"
#include "trace.h"

/**
 * devlend_atomic_post() - queue an operation of the atomic lane
 * @link: the link
 * @op: &enum devlend_atomic_op
 * @handle_random: random half of the lease's handle
 * @arg: argument
 *
 * Context: any but a service's atomic callback; never waits.
 * Return: 0; -ENOTCONN; -ENOBUFS when too many are on their way.
 */
int devlend_atomic_post(struct devlend_link *link, u8 op, u32 handle_random, u32 arg)
{
	int err = devlend_lane_atomic_post(&link->atomic, op, handle_random, arg);

	trace_devlend_atomic(link->id, true, op, arg, err);
	if (!err)
		atomic64_inc(&link->atomic_sent);
	return err;
}
EXPORT_SYMBOL_GPL(devlend_atomic_post);

/**
 * devlend_atomic_flush() - wait until all that was posted is answered
 * @link: the link
 *
 * Spins at most as long as the link's atomic_timeout_ms says. Context: any with interrupts on.
 * Return: 0; -ENOTCONN: no session, or it ended; -ETIMEDOUT; the peer's status of the last
 * operation as errno.
 */
int devlend_atomic_flush(struct devlend_link *link)
{
	int ret = devlend_lane_atomic_flush(&link->atomic);

	/* the worker finds the lane closed, and ends the session */
	if (ret == -ETIMEDOUT)
		devlend_link_kick(link);
	return ret > 0 ? devlend_status_to_errno(ret) : ret;
}
EXPORT_SYMBOL_GPL(devlend_atomic_flush);
