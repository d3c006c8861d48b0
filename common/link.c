// SPDX-License-Identifier: GPL-2.0
/*
 * Links: made when the NTB bus gives us a device, taken down when it takes it away.
 *
 * This file owns the list of links and their lifetimes. A link is a device on the devlend
 * bus and lives as long as someone holds it; its NTB lives until devlend_link_remove(), which may run
 * under the rescan lock (hot-unplug, sysfs remove): nothing it waits for takes that lock.
 *
 * Taking down is set-up in reverse: no more events (ntb_clear_ctx), no bell, no timer, no work; session ended and the
 * peer told; services told, which lets go of windows and resources; windows closed; link disabled; NTB pointer cleared.
 *
 * Contexts of the NTB's callbacks: hard IRQ on most drivers. The atomic lane is served right there; all else is left to the
 * worker. No lock is held across ntb_link_enable() or _disable(): some drivers call link_event from within.
 */
#define pr_fmt(fmt) "devlend: " fmt

#include <linux/idr.h>
#include <linux/ntb.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include <devlend/compat.h>

#include "bus.h"
#include "link.h"
#include "trace.h"
#include "window.h"

static LIST_HEAD(link_list);
/* protects link_list */
static DEFINE_MUTEX(link_mutex);
static DEFINE_IDA(link_ida);

/**
 * devlend_link_kick() - have the worker look
 * @link: the link
 *
 * Context: any.
 */
void devlend_link_kick(struct devlend_link *link)
{
	queue_work(link->wq, &link->work);
}

/**
 * devlend_link_fail() - the peer did not answer: end the session
 * @link: the link
 *
 * Context: any; the worker does it.
 */
void devlend_link_fail(struct devlend_link *link)
{
	WRITE_ONCE(link->failed, true);
	devlend_link_kick(link);
}

static void link_ntb_link_event(void *ctx)
{
	devlend_link_kick(ctx);
}

static void link_ntb_db_event(void *ctx, int vector)
{
	struct devlend_link *link = ctx;

	if (!link->transport.ops->take_bell(&link->transport))
		return;
	if (!devlend_lane_atomic_poll(&link->atomic))
		atomic_inc(&link->bells);
	devlend_link_kick(link);
}

static const struct ntb_ctx_ops link_ntb_ops = {
	.link_event = link_ntb_link_event,
	.db_event = link_ntb_db_event,
};

static void link_release(struct device *dev)
{
	struct devlend_link *link = to_devlend_link(dev);

	devlend_windows_release(link);
	if (link->notify_wq)
		destroy_workqueue(link->notify_wq);
	if (link->wq)
		destroy_workqueue(link->wq);
	ida_free(&link_ida, link->id);
	kfree(link);
}

static const struct device_type link_type = {
	.name = "link",
	.release = link_release,
};

static struct devlend_link *link_alloc(struct ntb_dev *ntb)
{
	struct devlend_link *link = kzalloc(sizeof(*link), GFP_KERNEL);

	if (!link)
		return NULL;
	link->id = ida_alloc(&link_ida, GFP_KERNEL);
	if (link->id < 0) {
		kfree(link);
		return NULL;
	}
	INIT_LIST_HEAD(&link->list);
	INIT_LIST_HEAD(&link->pending);
	init_rwsem(&link->ntb_rwsem);
	spin_lock_init(&link->lock);
	mutex_init(&link->notify_mutex);
	INIT_WORK(&link->work, devlend_link_work);
	INIT_WORK(&link->notify_work, devlend_service_notify);
	link->ntb = ntb;
	link->epoch = get_random_u32() ?: 1;
	device_initialize(&link->dev);
	link->dev.bus = &devlend_bus_type;
	link->dev.type = &link_type;
	link->dev.parent = &ntb->dev;
	link->dev.groups = devlend_link_groups;
	return link;
}

static int link_start(struct devlend_link *link)
{
	struct ntb_dev *ntb = link->ntb;
	int err;

	err = ntb_set_ctx(ntb, link, &link_ntb_ops);
	if (err)
		return err;
	link->transport.ops->mask(&link->transport, false);
	devlend_beat_init(link);
	err = ntb_link_enable(ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	/* amd's secondary side has no say in it */
	if (err && err != -EINVAL)
		dev_warn(&link->dev, "the NTB does not enable its link (%d); waiting for it all the same\n",
			 err);
	devlend_link_kick(link);
	return 0;
}

/**
 * devlend_link_create() - begin to use an NTB
 * @ntb: given by the NTB bus; used until devlend_link_remove()
 *
 * Context: process. Return: the link, owned by the caller until devlend_link_remove(), or an error pointer.
 */
struct devlend_link *devlend_link_create(struct ntb_dev *ntb)
{
	struct devlend_link *link = link_alloc(ntb);
	int err;

	if (!link)
		return ERR_PTR(-ENOMEM);
	err = dev_set_name(&link->dev, "link%d", link->id);
	if (err)
		goto put;
	err = devlend_transport_spad_init(&link->transport, ntb);
	if (err)
		goto put;
	devlend_lane_sleep_init(&link->sleep, &link->transport, devlend_call_deliver, link);
	devlend_lane_atomic_init(&link->atomic, &link->transport, devlend_service_atomic, link);
	err = -ENOMEM;
	link->wq = alloc_ordered_workqueue("devlend-link%d", WQ_MEM_RECLAIM, link->id);
	link->notify_wq = alloc_ordered_workqueue("devlend-tell%d", 0, link->id);
	if (!link->wq || !link->notify_wq)
		goto put;
	err = devlend_windows_init(link);
	if (err)
		goto put;
	err = device_add(&link->dev);
	if (err)
		goto put;
	mutex_lock(&link_mutex);
	list_add_tail(&link->list, &link_list);
	mutex_unlock(&link_mutex);
	err = link_start(link);
	if (err)
		goto unlist;
	return link;
unlist:
	mutex_lock(&link_mutex);
	list_del_init(&link->list);
	mutex_unlock(&link_mutex);
	device_del(&link->dev);
put:
	put_device(&link->dev);
	return ERR_PTR(err);
}

/**
 * devlend_link_remove() - stop using an NTB
 * @link: from devlend_link_create(); the caller's hold ends here
 *
 * Context: process, possibly under the rescan lock, which nothing here waits for.
 */
void devlend_link_remove(struct devlend_link *link)
{
	struct ntb_dev *ntb = link->ntb;

	ntb_clear_ctx(ntb);
	link->transport.ops->mask(&link->transport, true);
	devlend_beat_stop(link);
	/* callers' kicks are harmless from here on: a disabled work is not run */
	WRITE_ONCE(link->failed, false);
	cancel_work_sync(&link->work);
	devlend_link_stop(link);
	cancel_work_sync(&link->work);
	cancel_work_sync(&link->notify_work);
	devlend_service_link_gone(link);
	devlend_windows_gone(link);
	ntb_link_disable(ntb);

	down_write(&link->ntb_rwsem);
	link->ntb = NULL;
	up_write(&link->ntb_rwsem);

	mutex_lock(&link_mutex);
	list_del_init(&link->list);
	mutex_unlock(&link_mutex);
	device_unregister(&link->dev);
}

/**
 * devlend_link_for_each() - do something with each link
 * @fn: called with each link held, no lock held
 * @arg: its second argument
 *
 * Links that come meanwhile may be missed. Context: process.
 */
void devlend_link_for_each(void (*fn)(struct devlend_link *link, void *arg), void *arg)
{
	struct devlend_link *link, *last = NULL;

	mutex_lock(&link_mutex);
	list_for_each_entry(link, &link_list, list) {
		devlend_link_get(link);
		mutex_unlock(&link_mutex);
		if (last)
			devlend_link_put(last);
		fn(link, arg);
		last = link;
		mutex_lock(&link_mutex);
		if (list_empty(&link->list))
			break;	/* removed meanwhile: its neighbours are unknown */
	}
	mutex_unlock(&link_mutex);
	if (last)
		devlend_link_put(last);
}

/**
 * devlend_link_ntb_get() - use the NTB for a while
 * @link: the link
 *
 * Context: process, may sleep. Return: the NTB, which stays until devlend_link_ntb_put(); NULL when it is gone.
 */
struct ntb_dev *devlend_link_ntb_get(struct devlend_link *link)
{
	down_read(&link->ntb_rwsem);
	if (link->ntb)
		return link->ntb;
	up_read(&link->ntb_rwsem);
	return NULL;
}

/**
 * devlend_link_ntb_put() - done with the NTB
 * @link: the link
 */
void devlend_link_ntb_put(struct devlend_link *link)
{
	up_read(&link->ntb_rwsem);
}

/**
 * devlend_link_get() - hold a link
 * @link: the link
 *
 * Context: any. Return: @link.
 */
struct devlend_link *devlend_link_get(struct devlend_link *link)
{
	get_device(&link->dev);
	return link;
}
EXPORT_SYMBOL_GPL(devlend_link_get);

/**
 * devlend_link_put() - let go of a link
 * @link: the link
 *
 * Context: process.
 */
void devlend_link_put(struct devlend_link *link)
{
	put_device(&link->dev);
}
EXPORT_SYMBOL_GPL(devlend_link_put);

/**
 * devlend_link_dev() - the link's device, for messages and as a parent
 * @link: the link
 */
struct device *devlend_link_dev(struct devlend_link *link)
{
	return &link->dev;
}
EXPORT_SYMBOL_GPL(devlend_link_dev);

/**
 * devlend_link_pdev() - the NTB function
 * @link: the link
 *
 * Context: process. Return: NULL when it is gone; else valid until link_gone, and longer if the caller holds it.
 */
struct pci_dev *devlend_link_pdev(struct devlend_link *link)
{
	struct ntb_dev *ntb = READ_ONCE(link->ntb);

	return ntb ? ntb->pdev : NULL;
}
EXPORT_SYMBOL_GPL(devlend_link_pdev);

/**
 * devlend_link_is_up() - can calls be made?
 * @link: the link
 *
 * Context: any.
 */
bool devlend_link_is_up(struct devlend_link *link)
{
	return READ_ONCE(link->up_session);
}
EXPORT_SYMBOL_GPL(devlend_link_is_up);

/**
 * devlend_link_epoch() - this host's epoch on a link
 * @link: the link
 */
u32 devlend_link_epoch(struct devlend_link *link)
{
	return READ_ONCE(link->epoch);
}
EXPORT_SYMBOL_GPL(devlend_link_epoch);

/**
 * devlend_link_peer_epoch() - the peer's epoch; 0 = there is none
 * @link: the link
 */
u32 devlend_link_peer_epoch(struct devlend_link *link)
{
	return READ_ONCE(link->peer_epoch);
}
EXPORT_SYMBOL_GPL(devlend_link_peer_epoch);

/**
 * devlend_link_peer_host() - the peer's identity, as it said in its hello
 * @link: the link
 * @host: filled in
 */
void devlend_link_peer_host(struct devlend_link *link, uuid_t *host)
{
	spin_lock(&link->lock);
	uuid_copy(host, &link->peer_host);
	spin_unlock(&link->lock);
}
EXPORT_SYMBOL_GPL(devlend_link_peer_host);

/**
 * devlend_atomic_post() - queue an operation of the atomic lane
 * @link: the link
 * @op: &enum devlend_atomic_op
 * @handle_random: random half of the lease's handle
 * @arg: argument
 *
 * Context: any; never waits. Return: 0; -ENOTCONN; -ENOBUFS.
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
 * Spins at most %DEVLEND_ATOMIC_TIMEOUT_MS. A peer that does not answer in that time is taken for dead: the
 * session ends, so that the next operation fails at once.
 * Context: any with interrupts on. Return: 0; -ENOTCONN; -ETIMEDOUT; the peer's status of the last operation as errno.
 */
int devlend_atomic_flush(struct devlend_link *link)
{
	int ret = devlend_lane_atomic_flush(&link->atomic);

	if (ret == -ETIMEDOUT) {
		devlend_lane_atomic_close(&link->atomic);
		devlend_link_fail(link);
	}
	return ret > 0 ? devlend_status_to_errno(ret) : ret;
}
EXPORT_SYMBOL_GPL(devlend_atomic_flush);
