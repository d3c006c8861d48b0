// SPDX-License-Identifier: GPL-2.0
/*
 * Services: the modules above the core, one per kind, and how they are told of links.
 *
 * Callbacks of one service and link come one at a time (link->notify_mutex), in the order that
 * <devlend/core.h> promises. What is told is derived, not queued: the work compares the session that is up
 * with the session that each service was told of, so a flap that is faster than a service is seen as
 * one loss and one return.
 *
 * Locks, outermost first: link->notify_mutex, then whatever a service takes. Requests and atomic
 * operations hold an SRCU and an RCU read side; unregistering waits for both.
 */
#define pr_fmt(fmt) "devlend: " fmt

#include <linux/export.h>
#include <linux/srcu.h>

#include "link.h"
#include "trace.h"

static const struct devlend_service __rcu *service_of[DEVLEND_SVC_COUNT];
/* serialises registering and unregistering */
static DEFINE_MUTEX(service_mutex);
DEFINE_STATIC_SRCU(service_srcu);

static const struct devlend_service *service_get(struct devlend_link *link, unsigned int id)
{
	/* an unregistering service clears the pointer, then takes notify_mutex: it is ours till we drop it */
	return rcu_dereference_protected(service_of[id], lockdep_is_held(&link->notify_mutex));
}

static void service_tell_down(struct devlend_link *link, const struct devlend_service *service,
			      enum devlend_down_reason why)
{
	lockdep_assert_held(&link->notify_mutex);
	if (!link->told[service->id])
		return;
	link->told[service->id] = 0;
	if (service->link_down)
		service->link_down(link, why);
}

static void service_tell_gone(struct devlend_link *link, const struct devlend_service *service)
{
	service_tell_down(link, service, DEVLEND_DOWN_LOCAL);
	if (!link->known[service->id])
		return;
	link->known[service->id] = false;
	if (service->link_gone)
		service->link_gone(link);
}

static u32 service_up_session(struct devlend_link *link)
{
	u32 session;

	spin_lock(&link->lock);
	session = link->up_session;
	spin_unlock(&link->lock);
	return session;
}

/**
 * devlend_service_notify() - tell the services what became of a link
 * @work: link->notify_work
 *
 * Context: the link's notify queue.
 */
void devlend_service_notify(struct work_struct *work)
{
	struct devlend_link *link = container_of(work, struct devlend_link, notify_work);
	unsigned int id;

	mutex_lock(&link->notify_mutex);
	for (id = 0; id < DEVLEND_SVC_COUNT; id++) {
		const struct devlend_service *service = service_get(link, id);
		u32 session = service_up_session(link);

		if (!service)
			continue;
		if (link->told[id] != session)
			service_tell_down(link, service, READ_ONCE(link->why));
		if (session && !link->told[id]) {
			link->told[id] = session;
			link->known[id] = true;
			if (service->link_up)
				service->link_up(link);
		}
	}
	mutex_unlock(&link->notify_mutex);
}

/**
 * devlend_service_link_gone() - tell all services that a link's NTB goes away
 * @link: the link; its notify work was cancelled
 *
 * Context: process, possibly under the rescan lock.
 */
void devlend_service_link_gone(struct devlend_link *link)
{
	unsigned int id;

	mutex_lock(&link->notify_mutex);
	for (id = 0; id < DEVLEND_SVC_COUNT; id++) {
		const struct devlend_service *service = service_get(link, id);

		if (service)
			service_tell_gone(link, service);
	}
	mutex_unlock(&link->notify_mutex);
}

static void service_kick(struct devlend_link *link, void *arg)
{
	queue_work(link->notify_wq, &link->notify_work);
}

/**
 * devlend_service_register() - add a module's service
 * @service: stays valid until it is unregistered
 *
 * It is told of links that are up, from their own queues.
 * Context: process. Return: 0; -EINVAL; -EBUSY if there is one of this kind.
 */
int devlend_service_register(const struct devlend_service *service)
{
	int err = 0;

	if (service->id == DEVLEND_SVC_CORE || service->id >= DEVLEND_SVC_COUNT)
		return -EINVAL;
	mutex_lock(&service_mutex);
	if (rcu_access_pointer(service_of[service->id]))
		err = -EBUSY;
	else
		rcu_assign_pointer(service_of[service->id], service);
	mutex_unlock(&service_mutex);
	if (!err)
		devlend_link_for_each(service_kick, NULL);
	return err;
}
EXPORT_SYMBOL_GPL(devlend_service_register);

static void service_drop(struct devlend_link *link, void *arg)
{
	mutex_lock(&link->notify_mutex);
	service_tell_gone(link, arg);
	mutex_unlock(&link->notify_mutex);
}

/**
 * devlend_service_unregister() - take a service away
 * @service: the same as for registering
 *
 * Each link that it knows is told down and gone. Context: process; waits for running callbacks.
 */
void devlend_service_unregister(const struct devlend_service *service)
{
	mutex_lock(&service_mutex);
	RCU_INIT_POINTER(service_of[service->id], NULL);
	mutex_unlock(&service_mutex);
	devlend_link_for_each(service_drop, (void *)service);
	synchronize_srcu(&service_srcu);
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(devlend_service_unregister);

/**
 * devlend_service_request() - have a request of the peer served
 * @link: the link
 * @rq: the request
 *
 * Context: process. Return: a status.
 */
enum devlend_status devlend_service_request(struct devlend_link *link, struct devlend_request *rq)
{
	enum devlend_status status = DEVLEND_E_NOSVC;
	const struct devlend_service *service;
	unsigned int id = DEVLEND_OP_SERVICE(rq->op);
	int idx;

	if (id == DEVLEND_SVC_CORE || id >= DEVLEND_SVC_COUNT)
		return DEVLEND_E_NOTSUPP;
	idx = srcu_read_lock(&service_srcu);
	service = srcu_dereference(service_of[id], &service_srcu);
	if (service && service->request)
		status = service->request(link, rq);
	srcu_read_unlock(&service_srcu, idx);
	return status;
}

/**
 * devlend_service_atomic() - have an operation of the atomic lane served
 * @ctx: the link
 * @op: operation
 * @d0: random half of the lease's handle
 * @d1: argument
 *
 * Context: hard IRQ, under the lane's lock. Return: a status.
 */
u8 devlend_service_atomic(void *ctx, u8 op, u32 d0, u32 d1)
{
	const struct devlend_service *service;
	struct devlend_link *link = ctx;
	u8 status = DEVLEND_E_NOSVC;

	rcu_read_lock();
	service = rcu_dereference(service_of[DEVLEND_SVC_PROVIDER]);
	if (service && service->atomic)
		status = service->atomic(link, op, d0, d1);
	rcu_read_unlock();
	trace_devlend_atomic(link->id, false, op, d1, status);
	atomic64_inc(&link->atomic_received);
	return status & DEVLEND_CTL_NIBBLE;
}
