// SPDX-License-Identifier: GPL-2.0
/*
 * Links: made when the NTB bus gives us a device, taken down when it takes it away.
 *
 * Who calls it: main.c for the NTB bus, bus.c at shutdown, and everyone above for references.
 * It owns the links' lifetimes. A link is a device on the devlend bus and lives as long as
 * someone holds it; its NTB lives until devlend_link_remove(), which may run under the rescan
 * lock (hot-unplug, sysfs remove): nothing it waits for takes that lock.
 *
 * Taking down is set-up in reverse: no more events (ntb_clear_ctx), no bell, no timer; the
 * worker ends the session, tells the peer and does nothing any more; services are told, which
 * lets go of windows and resources; windows closed; link disabled; NTB pointer cleared.
 *
 * Contexts of the NTB's callbacks: hard IRQ on most drivers, under a spinlock of the NTB core.
 * The atomic lane is served right there; all else is left to the worker. No lock is held across
 * ntb_link_enable() or _disable(): some drivers call link_event from within.
 *
 * Locks: ntb_rwsem here; see Documentation/locking.rst for all.
 */
#define pr_fmt(fmt) "devlend: " fmt

#include <linux/idr.h>
#include <linux/ntb.h>
#include <linux/pci.h>
#include <linux/random.h>
#include <linux/slab.h>

#include <devlend/compat.h>

#include "link.h"
#include "window.h"

static DEFINE_IDA(link_ida);

/**
 * devlend_link_kick() - have the worker look
 * @link: the link
 *
 * Context: any; harmless after the link is gone.
 */
void devlend_link_kick(struct devlend_link *link)
{
	queue_work(link->wq, &link->work);
}

static void link_ntb_link_event(void *ctx)
{
	devlend_link_kick(ctx);
}

static void link_ntb_db_event(void *ctx, int vector)
{
	struct devlend_link *link = ctx;

	/* nobody rings that one: what came is the message of a test, by the window */
	if (vector == READ_ONCE(link->test_vector))
		complete(&link->test_seen);
	if (link->transport.ops->take_event(&link->transport))
		devlend_service_event(link, true);
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

	if (link->tell_wq)
		destroy_workqueue(link->tell_wq);
	if (link->wq)
		destroy_workqueue(link->wq);
	devlend_windows_release(link);
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
	link->test_vector = -1;
	init_completion(&link->test_seen);
	link->id = ida_alloc(&link_ida, GFP_KERNEL);
	if (link->id < 0) {
		kfree(link);
		return NULL;
	}
	INIT_LIST_HEAD(&link->pending);
	init_rwsem(&link->ntb_rwsem);
	spin_lock_init(&link->lock);
	init_waitqueue_head(&link->calls_wait);
	INIT_WORK(&link->work, devlend_link_work);
	devlend_service_link_init(link);
	link->ntb = ntb;
	link->session = 1;
	link->epoch = get_random_u32() ?: 1;
	link->beat_timeout_ms = DEVLEND_BEAT_TIMEOUT_MS;
	device_initialize(&link->dev);
	link->dev.bus = DEVLEND_BUS;
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
 * Context: process. Return: the link, owned by the caller until devlend_link_remove(), or an
 * error pointer.
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
	link->wq = alloc_ordered_workqueue("devlend-link%d", WQ_MEM_RECLAIM | WQ_HIGHPRI, link->id);
	link->tell_wq = alloc_workqueue("devlend-tell%d", WQ_UNBOUND, 0, link->id);
	if (!link->wq || !link->tell_wq)
		goto put;
	err = devlend_windows_init(link);
	if (err)
		goto put;
	err = device_add(&link->dev);
	if (err)
		goto windows;
	err = link_start(link);
	if (err)
		goto del;
	return link;
del:
	device_del(&link->dev);
windows:
	devlend_windows_gone(link);
put:
	put_device(&link->dev);
	return ERR_PTR(err);
}

/* No event, no bell, no timer; the worker has said goodbye and does nothing any more. */
static void link_quiesce(struct devlend_link *link)
{
	ntb_clear_ctx(link->ntb);
	link->transport.ops->mask(&link->transport, true);
	devlend_beat_stop(link);
	/* in the worker, since only one may run the state machine, and anyone may queue it */
	WRITE_ONCE(link->stopping, true);
	devlend_link_kick(link);
	flush_work(&link->work);
	link->transport.ops->stop(&link->transport);
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

	link_quiesce(link);
	devlend_service_link_gone(link);
	devlend_windows_gone(link);
	ntb_link_disable(ntb);

	down_write(&link->ntb_rwsem);
	link->ntb = NULL;
	up_write(&link->ntb_rwsem);

	device_unregister(&link->dev);
}

/**
 * devlend_link_shutdown() - the host goes down: end the session while the NTB works
 * @dev: a device on the devlend bus; those that are no link are passed over
 *
 * Services are told "down", not "gone". Devices that were added later, such as those that a
 * service made of this link, were shut down before.
 * Context: process, bounded.
 */
void devlend_link_shutdown(struct device *dev)
{
	struct devlend_link *link;

	if (dev->type != &link_type)
		return;
	link = to_devlend_link(dev);
	link_quiesce(link);
	devlend_service_link_wait_down(link);
}

struct link_visit {
	void (*fn)(struct devlend_link *link, void *arg);
	void *arg;
};

static int link_visit(struct device *dev, void *data)
{
	const struct link_visit *visit = data;

	if (dev->type == &link_type)
		visit->fn(to_devlend_link(dev), visit->arg);
	return 0;
}

/**
 * devlend_link_for_each() - do something with each link
 * @fn: called with each link held, no lock held
 * @arg: its second argument
 *
 * Links that come meanwhile may be missed; links that go may be visited. Context: process.
 */
void devlend_link_for_each(void (*fn)(struct devlend_link *link, void *arg), void *arg)
{
	struct link_visit visit = { .fn = fn, .arg = arg };

	bus_for_each_dev(&devlend_bus_type, NULL, &visit, link_visit);
}

/**
 * devlend_link_ntb_get() - use the NTB for a while
 * @link: the link
 *
 * Context: process, may sleep. Return: the NTB, which stays until devlend_link_ntb_put(); NULL
 * when it is gone.
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
 * Context: process. Return: NULL when it is gone; else valid until link_gone, and longer if the
 * caller holds it.
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
 *
 * Context: process.
 */
void devlend_link_peer_host(struct devlend_link *link, uuid_t *host)
{
	spin_lock(&link->lock);
	uuid_copy(host, &link->peer_host);
	spin_unlock(&link->lock);
}
EXPORT_SYMBOL_GPL(devlend_link_peer_host);
