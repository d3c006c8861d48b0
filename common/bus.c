// SPDX-License-Identifier: GPL-2.0
/*
 * The devlend bus: where links, offers, lent devices and leases show themselves.
 *
 * Nothing binds here: the bus gives names, attributes, uevents and a place to look. Each of its devices
 * has an attribute "state" that can be polled.
 */
#define pr_fmt(fmt) "devlend: " fmt

#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/export.h>
#include <linux/slab.h>

#include <devlend/compat.h>

#include "bus.h"

DEVLEND_BUS_CONST struct bus_type devlend_bus_type = {
	.name = "devlend",
};
EXPORT_SYMBOL_GPL(devlend_bus_type);

static struct dentry *bus_debugfs;

/**
 * devlend_state_changed() - tell user space that a device of the bus changed its state
 * @dev: the device, registered
 * @state: its new state, as its attribute "state" shows it
 *
 * Wakes who polls the attribute and sends a change event with DEVLEND_STATE. Context: process.
 */
void devlend_state_changed(struct device *dev, const char *state)
{
	char *env[2] = { kasprintf(GFP_KERNEL, "DEVLEND_STATE=%s", state), NULL };

	sysfs_notify(&dev->kobj, NULL, "state");
	kobject_uevent_env(&dev->kobj, KOBJ_CHANGE, env);
	kfree(env[0]);
}
EXPORT_SYMBOL_GPL(devlend_state_changed);

/**
 * devlend_debugfs_root() - where read-only dumps go
 *
 * Return: the directory; may be an error pointer, which debugfs calls accept.
 */
struct dentry *devlend_debugfs_root(void)
{
	return bus_debugfs;
}
EXPORT_SYMBOL_GPL(devlend_debugfs_root);

/**
 * devlend_bus_init() - register the bus
 *
 * Context: process. Return: 0 or a negative errno.
 */
int devlend_bus_init(void)
{
	int err = bus_register(&devlend_bus_type);

	if (!err)
		bus_debugfs = debugfs_create_dir("devlend", NULL);
	return err;
}

/**
 * devlend_bus_exit() - the reverse
 */
void devlend_bus_exit(void)
{
	debugfs_remove_recursive(bus_debugfs);
	bus_unregister(&devlend_bus_type);
}
