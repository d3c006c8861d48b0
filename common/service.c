// SPDX-License-Identifier: GPL-2.0
/*
 * Services: the modules above the core, one per kind, and how they are told of links.
 *
 * Who calls it: the modules (register, unregister), the link's worker (link_changed), link.c
 * (link_gone), call.c and the atomic lane (request, atomic). It owns the table of services and,
 * per link and service, a struct devlend_told.
 *
 * What is told is derived, not queued: a work compares the session that is up with the one that
 * the service was told of, so a flap that is faster than a service is seen as one loss and one
 * return. Each service has a work of its own, so that none waits for another's link_down.
 *
 * Requests are served in the session that they came in: they wait until the service was told of
 * it, and are refused when it was told of its end. A request that was already running when the
 * link went down is not waited for (the loss must be told at once), but it may leave something
 * behind that belongs to a session which ended: so link_down is called a second time when it
 * has finished, and before the next link_up.
 *
 * Locks, outermost first: devlend_told.mutex, then whatever a service takes; link->lock for
 * moments. Requests and atomic operations hold an SRCU and an RCU read side; unregistering
 * waits for both.
 */
#define pr_fmt(fmt) "devlend: " fmt

#include <linux/delay.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/nospec.h>
#include <linux/srcu.h>

#include "link.h"
#include "trace.h"
#include "window.h"

/* A request may reset a device; none is waited for longer. */
#define SERVICE_DRAIN_MS	(DEVLEND_RESET_TIMEOUT_MS + DEVLEND_CALL_TIMEOUT_MS)
/* At shutdown services have so long to let go of a link, and are looked at so often. */
#define SERVICE_SHUTDOWN_MS	10000
#define SERVICE_POLL_MS		10

/* protected by service_mutex for writing, service_srcu and RCU for reading */
static const struct devlend_service __rcu *service_of[DEVLEND_SVC_COUNT];
/* serialises registering and unregistering */
static DEFINE_MUTEX(service_mutex);
DEFINE_STATIC_SRCU(service_srcu);

/* Set what the service is told, and wake who waits for it. Return: requests that are running. */
static unsigned int told_set(struct devlend_told *told, u32 session)
{
	unsigned int running;

	lockdep_assert_held(&told->mutex);
	spin_lock(&told->link->lock);
	told->session = session;
	running = told->running;
	spin_unlock(&told->link->lock);
	wake_up_all(&told->wait);
	return running;
}

static bool told_idle(struct devlend_told *told)
{
	bool idle;

	spin_lock(&told->link->lock);
	idle = !told->running;
	spin_unlock(&told->link->lock);
	return idle;
}

static void told_down(struct devlend_told *told, const struct devlend_service *service,
		      enum devlend_down_reason why)
{
	unsigned int running;

	if (!told->session)
		return;
	running = told_set(told, 0);
	if (service->link_down)
		service->link_down(told->link, why);
	if (!running)
		return;
	if (!wait_event_timeout(told->wait, told_idle(told), msecs_to_jiffies(SERVICE_DRAIN_MS)))
		dev_warn(&told->link->dev, "%s: a request of an ended session is still running\n",
			 service->name);
	if (service->link_down)
		service->link_down(told->link, why);
}

static void told_gone(struct devlend_told *told, const struct devlend_service *service)
{
	told_down(told, service, DEVLEND_DOWN_LOCAL);
	if (!told->known)
		return;
	told->known = false;
	if (service->link_gone)
		service->link_gone(told->link);
}

static u32 service_up_session(struct devlend_link *link)
{
	u32 session;

	spin_lock(&link->lock);
	session = link->up_session;
	spin_unlock(&link->lock);
	return session;
}

static const struct devlend_service *told_service(struct devlend_told *told)
{
	/* who unregisters clears the pointer, then takes the mutex: it is there till we drop it */
	return rcu_dereference_protected(service_of[told->id], lockdep_is_held(&told->mutex));
}

static void told_work(struct work_struct *work)
{
	struct devlend_told *told = container_of(work, struct devlend_told, work);
	const struct devlend_service *service;
	u32 session;

	mutex_lock(&told->mutex);
	service = told_service(told);
	if (!service)
		goto unlock;
	if (told->session != service_up_session(told->link))
		told_down(told, service, READ_ONCE(told->link->why));
	/* again: the above may have taken long */
	session = service_up_session(told->link);
	if (session && !told->session) {
		told->known = true;
		/* before link_up, from within which the peer may be asked and ask in turn */
		told_set(told, session);
		if (service->link_up)
			service->link_up(told->link);
	}
unlock:
	mutex_unlock(&told->mutex);
}

/**
 * devlend_service_link_init() - prepare a link's part
 * @link: the link
 */
void devlend_service_link_init(struct devlend_link *link)
{
	unsigned int id;

	for (id = 0; id < DEVLEND_SVC_COUNT; id++) {
		struct devlend_told *told = &link->told[id];

		told->link = link;
		told->id = id;
		INIT_WORK(&told->work, told_work);
		mutex_init(&told->mutex);
		init_waitqueue_head(&told->wait);
	}
}

/**
 * devlend_service_link_changed() - a session came up or ended
 * @link: the link
 *
 * Context: any that may take a spinlock; the services are told from the link's queue.
 */
void devlend_service_link_changed(struct devlend_link *link)
{
	unsigned int id;

	for (id = 0; id < DEVLEND_SVC_COUNT; id++) {
		queue_work(link->tell_wq, &link->told[id].work);
		/* requests of an ended session wait for it in vain */
		wake_up_all(&link->told[id].wait);
	}
}

/**
 * devlend_service_link_gone() - tell all services that a link's NTB goes away
 * @link: the link; its session has ended
 *
 * Context: process, possibly under the rescan lock.
 */
void devlend_service_link_gone(struct devlend_link *link)
{
	unsigned int id;

	for (id = 0; id < DEVLEND_SVC_COUNT; id++) {
		struct devlend_told *told = &link->told[id];
		const struct devlend_service *service;

		mutex_lock(&told->mutex);
		service = told_service(told);
		if (service)
			told_gone(told, service);
		mutex_unlock(&told->mutex);
	}
}

/**
 * devlend_service_link_wait_down() - wait until all services were told of the session's end
 * @link: the link; its session has ended
 *
 * Context: process, at shutdown.
 */
void devlend_service_link_wait_down(struct devlend_link *link)
{
	unsigned long end = jiffies + msecs_to_jiffies(SERVICE_SHUTDOWN_MS);
	unsigned int id;

	for (id = 0; id < DEVLEND_SVC_COUNT; id++) {
		struct devlend_told *told = &link->told[id];

		/* the mutex is held while a service is at it */
		while (READ_ONCE(told->session) || mutex_is_locked(&told->mutex)) {
			if (time_after(jiffies, end)) {
				dev_warn(&link->dev, "going down while a service still uses this link\n");
				return;
			}
			msleep(SERVICE_POLL_MS);
		}
	}
}

static void service_look(struct devlend_link *link, void *arg)
{
	devlend_service_link_changed(link);
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
		devlend_link_for_each(service_look, NULL);
	return err;
}
EXPORT_SYMBOL_GPL(devlend_service_register);

static void service_drop(struct devlend_link *link, void *arg)
{
	const struct devlend_service *service = arg;
	struct devlend_told *told = &link->told[service->id];

	wake_up_all(&told->wait);
	mutex_lock(&told->mutex);
	told_gone(told, service);
	mutex_unlock(&told->mutex);
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

/* 1 = the request may run, and is counted; 0 = not yet; -ESTALE = never */
static int told_try_enter(struct devlend_told *told, u32 session)
{
	struct devlend_link *link = told->link;
	int ret = 0;

	spin_lock(&link->lock);
	if (link->session != session || !rcu_access_pointer(service_of[told->id])) {
		ret = -ESTALE;
	} else if (told->session == session) {
		told->running++;
		ret = 1;
	}
	spin_unlock(&link->lock);
	return ret;
}

static bool told_enter(struct devlend_told *told, u32 session)
{
	int ret = 0;

	wait_event_timeout(told->wait, (ret = told_try_enter(told, session)) != 0,
			   msecs_to_jiffies(DEVLEND_CALL_TIMEOUT_MS));
	return ret > 0;
}

static void told_leave(struct devlend_told *told)
{
	spin_lock(&told->link->lock);
	told->running--;
	spin_unlock(&told->link->lock);
	wake_up_all(&told->wait);
}

/**
 * devlend_service_request() - have a request of the peer served
 * @link: the link
 * @session: that it came in
 * @rq: the request
 *
 * Context: process. Return: a status.
 */
enum devlend_status devlend_service_request(struct devlend_link *link, u32 session,
					    struct devlend_request *rq)
{
	enum devlend_status status = DEVLEND_E_NOSVC;
	const struct devlend_service *service;
	unsigned int id = DEVLEND_OP_SERVICE(rq->op);
	int idx;

	if (rq->op == DEVLEND_OP_TEST)
		return devlend_windows_serve_test(link, rq);
	if (id == DEVLEND_SVC_CORE || id >= DEVLEND_SVC_COUNT)
		return DEVLEND_E_NOTSUPP;
	id = array_index_nospec(id, DEVLEND_SVC_COUNT);
	idx = srcu_read_lock(&service_srcu);
	service = srcu_dereference(service_of[id], &service_srcu);
	if (!service || !service->request)
		goto unlock;
	status = DEVLEND_E_STALE;
	if (told_enter(&link->told[id], session)) {
		status = service->request(link, rq);
		told_leave(&link->told[id]);
	}
unlock:
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

/**
 * devlend_service_event() - have the words of events looked at
 * @link: the link
 * @rung: because the peer rang
 *
 * Context: hard IRQ, or interrupts off.
 */
void devlend_service_event(struct devlend_link *link, bool rung)
{
	const struct devlend_service *service;

	rcu_read_lock();
	service = rcu_dereference(service_of[DEVLEND_SVC_CONSUMER]);
	if (service && service->event)
		service->event(link, rung);
	rcu_read_unlock();
}
