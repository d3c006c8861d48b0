// SPDX-License-Identifier: GPL-2.0
/*
 * The devlend bus: where links, offers and leases are found by users.
 *
 * The bus has devices and no drivers: it gives them one place in sysfs (/sys/bus/devlend),
 * uevents, and lifetimes that are the driver model's. The core adds links; the modules
 * above add theirs, with ".bus = &devlend_bus_type", a device type of their own, and
 * attributes. Every device has a pollable "state", which is announced here and nowhere
 * else.
 *
 * Registered first and unregistered last by the core's init and exit; a module that adds
 * devices depends on the core, so none is left by then. No locks of its own.
 */
#define pr_fmt(fmt) "devlend: " fmt

#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/sysfs.h>

#include <devlend/compat.h>
#include <devlend/core.h>

#include "bus.h"
#include "link.h"

/* Longest state name in an uevent, with its key. */
#define BUS_STATE_ENV_MAX	64

static struct dentry *bus_debugfs;

DEVLEND_BUS_CONST struct bus_type devlend_bus_type = {
	.name = "devlend",
	/* the host goes down: only links have something to do */
	.shutdown = devlend_link_shutdown,
};
EXPORT_SYMBOL_GPL(devlend_bus_type);

/**
 * devlend_state_changed() - tell user space that a device's state is another one
 * @dev: a device on the devlend bus that was added
 * @state: the new state, as its "state" attribute reads
 *
 * Emits a change uevent with DEVLEND_STATE=@state, and wakes who polls the attribute.
 * Nothing depends on anyone listening.
 *
 * Context: process, sleeps.
 */
void devlend_state_changed(struct device *dev, const char *state)
{
	char env[BUS_STATE_ENV_MAX];
	char *envp[2] = { env };

	snprintf(env, sizeof(env), "DEVLEND_STATE=%s", state);
	sysfs_notify(&dev->kobj, NULL, "state");
	kobject_uevent_env(&dev->kobj, KOBJ_CHANGE, envp);
}
EXPORT_SYMBOL_GPL(devlend_state_changed);

/**
 * devlend_debugfs_root() - where the read-only dumps lie
 *
 * Context: any.
 * Return: the directory, owned by the core; an error pointer without debugfs,
 * which every debugfs call accepts as a parent.
 */
struct dentry *devlend_debugfs_root(void)
{
	return bus_debugfs;
}
EXPORT_SYMBOL_GPL(devlend_debugfs_root);

/**
 * devlend_bus_init() - register the bus
 *
 * Context: module init.
 * Return: 0 or a negative errno.
 */
int devlend_bus_init(void)
{
	int rc = bus_register(&devlend_bus_type);

	if (rc) {
		pr_err("the devlend bus cannot be registered: %d\n", rc);
		return rc;
	}
	bus_debugfs = debugfs_create_dir("devlend", NULL);
	return 0;
}

/**
 * devlend_bus_exit() - unregister the bus
 *
 * Context: module exit; no device is left on the bus.
 */
void devlend_bus_exit(void)
{
	debugfs_remove(bus_debugfs);
	bus_unregister(&devlend_bus_type);
}
