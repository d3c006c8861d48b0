// SPDX-License-Identifier: GPL-2.0
/*
 * What an operator sees and writes: `lend` and `reclaim` of the driver, and the attributes of
 * a lent device on the devlend bus. All are described in Documentation/ABI/testing/.
 *
 * Writes check and queue; they wait killably for the device's worker (lend.c). One value per file;
 * `state` can be polled (the core notifies it with each uevent).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include <devlend/compat.h>

#include "bars.h"
#include "grant.h"
#include "lent.h"

static ssize_t sysfs_write(const char *buf, size_t count, const char *what,
			   int (*act)(const struct lender_bdf *bdf))
{
	struct lender_bdf bdf;
	int err = lender_bdf_parse(buf, count, &bdf);

	if (err) {
		pr_err_ratelimited("%s: wants [dddd:]bb:dd.f and maybe force, as lspci prints it (%d)\n",
				   what, err);
		return err;
	}
	err = act(&bdf);
	if (err == -ENODEV)
		pr_err_ratelimited("%s: %04x:%02x:%02x.%x is not there, or not lent (%d)\n",
				   what, bdf.domain, bdf.bus, PCI_SLOT(bdf.devfn),
				   PCI_FUNC(bdf.devfn), err);
	return err ?: count;
}

static ssize_t lend_store(struct device_driver *driver, const char *buf, size_t count)
{
	return sysfs_write(buf, count, "lend", lender_lend);
}
static DRIVER_ATTR_WO(lend);

static ssize_t reclaim_store(struct device_driver *driver, const char *buf, size_t count)
{
	return sysfs_write(buf, count, "reclaim", lender_reclaim);
}
static DRIVER_ATTR_WO(reclaim);

static struct attribute *sysfs_driver_attrs[] = {
	&driver_attr_lend.attr,
	&driver_attr_reclaim.attr,
	NULL
};

static const struct attribute_group sysfs_driver_group = {
	.attrs = sysfs_driver_attrs,
};

const struct attribute_group *lender_driver_groups[] = {
	&sysfs_driver_group,
	NULL
};

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", lender_state_name(READ_ONCE(to_lender_dev(dev)->state)));
}
static DEVICE_ATTR_RO(state);

static ssize_t bdf_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", pci_name(to_lender_dev(dev)->pdev));
}
static DEVICE_ATTR_RO(bdf);

static ssize_t generation_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", to_lender_dev(dev)->generation);
}
static DEVICE_ATTR_RO(generation);

static ssize_t driver_name_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", to_lender_dev(dev)->driver);
}
static DEVICE_ATTR_RO(driver_name);

static ssize_t resettable_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", !to_lender_dev(dev)->forced);
}
static DEVICE_ATTR_RO(resettable);

static ssize_t peer_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct lender_dev *lent = to_lender_dev(dev);
	ssize_t n;

	mutex_lock(&lent->lock);
	n = lent->lease.link ? sysfs_emit(buf, "%pUb\n", &lent->lease.borrower) :
			       sysfs_emit(buf, "\n");
	mutex_unlock(&lent->lock);
	return n;
}
static DEVICE_ATTR_RO(peer);

static ssize_t link_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct lender_dev *lent = to_lender_dev(dev);
	ssize_t n;

	mutex_lock(&lent->lock);
	n = sysfs_emit(buf, "%s\n",
		       lent->lease.link ? dev_name(devlend_link_dev(lent->lease.link)) : "");
	mutex_unlock(&lent->lock);
	return n;
}
static DEVICE_ATTR_RO(link);

static ssize_t shared_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct lender_dev *lent = to_lender_dev(dev);
	bool shared;

	mutex_lock(&lent->lock);
	shared = lent->lease.link && lender_bars_shared(lent, lent->lease.link);
	mutex_unlock(&lent->lock);
	return sysfs_emit(buf, "%d\n", shared);
}
static DEVICE_ATTR_RO(shared);

static ssize_t isolated_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct lender_dev *lent = to_lender_dev(dev);
	bool isolated;

	mutex_lock(&lent->lock);
	isolated = lent->iommu.domain;
	mutex_unlock(&lent->lock);
	return sysfs_emit(buf, "%d\n", isolated);
}
static DEVICE_ATTR_RO(isolated);

static ssize_t leases_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(to_lender_dev(dev)->leases));
}
static DEVICE_ATTR_RO(leases);

static ssize_t sysfs_access_show(struct lender_dev *lent, const struct lender_access *list,
				 char *buf)
{
	ssize_t n;

	mutex_lock(&lent->lock);
	n = lender_access_print(list, buf, PAGE_SIZE);
	mutex_unlock(&lent->lock);
	return n;
}

static int sysfs_access_parse(struct device *dev, const char *buf, size_t count,
			      struct lender_access *list, bool *force)
{
	int err = lender_access_parse(buf, count, list, force);

	if (err)
		dev_err_ratelimited(dev, "wants any, none, or up to %u UUIDs of hosts (%d)\n",
				    LENDER_ACCESS_HOSTS, err);
	return err;
}

static ssize_t allow_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct lender_dev *lent = to_lender_dev(dev);

	return sysfs_access_show(lent, &lent->allow, buf);
}

static ssize_t allow_store(struct device *dev, struct device_attribute *attr, const char *buf,
			   size_t count)
{
	struct lender_access list;
	bool force;
	int err = sysfs_access_parse(dev, buf, count, &list, &force);

	if (!err)
		err = lender_access_allow(to_lender_dev(dev), &list, force);
	return err ?: count;
}
static DEVICE_ATTR_RW(allow);

static ssize_t visible_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct lender_dev *lent = to_lender_dev(dev);

	return sysfs_access_show(lent, &lent->visible, buf);
}

static ssize_t visible_store(struct device *dev, struct device_attribute *attr, const char *buf,
			     size_t count)
{
	struct lender_access list;
	int err = sysfs_access_parse(dev, buf, count, &list, NULL);

	if (!err)
		lender_access_show(to_lender_dev(dev), &list);
	return err ?: count;
}
static DEVICE_ATTR_RW(visible);

static ssize_t since_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct lender_dev *lent = to_lender_dev(dev);
	ssize_t n;

	mutex_lock(&lent->lock);
	n = lent->lease.link ? sysfs_emit(buf, "%lld\n", lent->lease.since) :
			       sysfs_emit(buf, "\n");
	mutex_unlock(&lent->lock);
	return n;
}
static DEVICE_ATTR_RO(since);

/* For a person who wants to know what a borrower will see: read anew each time. */
static ssize_t config_read(struct file *file, struct kobject *kobj,
			   DEVLEND_BIN_ATTR_CONST struct bin_attribute *attr, char *buf,
			   loff_t off, size_t count)
{
	struct lender_dev *lent = to_lender_dev(kobj_to_dev(kobj));
	ssize_t n = -EBUSY;
	u32 *told;
	int i;

	told = kcalloc(DEVLEND_CONFIG_DWORDS, sizeof(*told), GFP_KERNEL);
	if (!told)
		return -ENOMEM;
	mutex_lock(&lent->lock);
	if (lent->state == LENDER_OFFERED || lent->state == LENDER_BORROWED)
		n = lender_config_told(lent, told);
	mutex_unlock(&lent->lock);
	if (!n) {
		for (i = 0; i < DEVLEND_CONFIG_DWORDS; i++)
			cpu_to_le32s(&told[i]);
		n = memory_read_from_buffer(buf, count, &off, told,
					    DEVLEND_CONFIG_DWORDS * sizeof(*told));
	}
	kfree(told);
	return n;
}

static DEVLEND_BIN_ATTR_CONST struct bin_attribute sysfs_lent_config =
	__BIN_ATTR(config, 0400, config_read, NULL, DEVLEND_CONFIG_DWORDS * 4);

static DEVLEND_BIN_ATTR_CONST struct bin_attribute *DEVLEND_BIN_ATTR_CONST sysfs_lent_bins[] = {
	&sysfs_lent_config,
	NULL
};

static struct attribute *sysfs_lent_attrs[] = {
	&dev_attr_state.attr,
	&dev_attr_bdf.attr,
	&dev_attr_generation.attr,
	&dev_attr_driver_name.attr,
	&dev_attr_resettable.attr,
	&dev_attr_peer.attr,
	&dev_attr_link.attr,
	&dev_attr_shared.attr,
	&dev_attr_isolated.attr,
	&dev_attr_leases.attr,
	&dev_attr_allow.attr,
	&dev_attr_visible.attr,
	&dev_attr_since.attr,
	NULL
};

static const struct attribute_group sysfs_lent_group = {
	.attrs = sysfs_lent_attrs,
	.bin_attrs = sysfs_lent_bins,
};

const struct attribute_group *lender_lent_groups[] = {
	&sysfs_lent_group,
	NULL
};
