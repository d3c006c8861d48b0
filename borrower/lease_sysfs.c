// SPDX-License-Identifier: GPL-2.0
/*
 * Attributes of a lease. Described in Documentation/ABI/testing/sysfs-bus-devlend-borrower.
 *
 * Process context. `return` waits for the worker, which deletes this very device: it gives up
 * sysfs's active protection first, and holds the device and the module.
 */
#include <linux/module.h>
#include <linux/sysfs.h>

#include "dma.h"
#include "lease.h"
#include "shadow.h"

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct borrower_lease *lease = to_borrower_lease(dev);
	enum borrower_lease_state state;

	mutex_lock(&lease->lock);
	state = lease->state;
	mutex_unlock(&lease->lock);
	return sysfs_emit(buf, "%s\n", borrower_lease_state_name(state));
}
static DEVICE_ATTR_RO(state);

static ssize_t offer_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", to_borrower_lease(dev)->offer_name);
}
static DEVICE_ATTR_RO(offer);

static ssize_t link_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", dev_name(devlend_link_dev(to_borrower_lease(dev)->link)));
}
static DEVICE_ATTR_RO(link);

static ssize_t domain_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%04x\n", to_borrower_lease(dev)->domain);
}
static DEVICE_ATTR_RO(domain);

static ssize_t slot_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", to_borrower_lease(dev)->slot);
}
static DEVICE_ATTR_RO(slot);

static ssize_t dma_mode_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", to_borrower_lease(dev)->dma->name);
}
static DEVICE_ATTR_RO(dma_mode);

static ssize_t dma_flush_ms_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct borrower_lease *lease = to_borrower_lease(dev);
	ssize_t len = -ENODEV;

	mutex_lock(&lease->lock);
	if (!lease->dma->flush_ms)
		len = sysfs_emit(buf, "never\n");
	else if (lease->shadow && lease->shadow->pdev)
		len = sysfs_emit(buf, "%u\n", lease->dma->flush_ms(lease->shadow->pdev));
	mutex_unlock(&lease->lock);
	return len;
}
static DEVICE_ATTR_RO(dma_flush_ms);

static ssize_t irq_mode_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct borrower_irq *irq = &to_borrower_lease(dev)->irq;
	const struct borrower_irq_ops *ops = READ_ONCE(irq->ops);

	return sysfs_emit(buf, "%s\n", ops ? ops->name : borrower_irq_mode_name(irq->want));
}
static DEVICE_ATTR_RO(irq_mode);

static ssize_t irq_proof_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", borrower_irq_proof_name(&to_borrower_lease(dev)->irq));
}
static DEVICE_ATTR_RO(irq_proof);

static ssize_t bar_proof_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct borrower_lease *lease = to_borrower_lease(dev);

	return sysfs_emit(buf, "%s\n", READ_ONCE(lease->bar_proven) ? "proven" : "unproven");
}
static DEVICE_ATTR_RO(bar_proof);

static ssize_t since_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%lld\n", to_borrower_lease(dev)->since);
}
static DEVICE_ATTR_RO(since);

static ssize_t pci_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct borrower_lease *lease = to_borrower_lease(dev);
	ssize_t len = -ENODEV;

	mutex_lock(&lease->lock);
	if (lease->shadow && lease->shadow->pdev)
		len = sysfs_emit(buf, "%s\n", pci_name(lease->shadow->pdev));
	mutex_unlock(&lease->lock);
	return len;
}
static DEVICE_ATTR_RO(pci);

static ssize_t return_store(struct device *dev, struct device_attribute *attr, const char *buf,
			    size_t count)
{
	struct borrower_lease *lease = to_borrower_lease(dev);
	struct kernfs_node *kn;
	int err;

	if (!sysfs_streq(buf, "1"))
		return -EINVAL;
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	get_device(dev);
	kn = sysfs_break_active_protection(&dev->kobj, &attr->attr);
	err = borrower_lease_end(lease, true);
	if (kn)
		sysfs_unbreak_active_protection(kn);
	put_device(dev);
	module_put(THIS_MODULE);
	return err ?: count;
}
static DEVICE_ATTR_WO(return);

static struct attribute *lease_attrs[] = {
	&dev_attr_state.attr,
	&dev_attr_offer.attr,
	&dev_attr_link.attr,
	&dev_attr_domain.attr,
	&dev_attr_slot.attr,
	&dev_attr_dma_mode.attr,
	&dev_attr_dma_flush_ms.attr,
	&dev_attr_irq_mode.attr,
	&dev_attr_irq_proof.attr,
	&dev_attr_bar_proof.attr,
	&dev_attr_since.attr,
	&dev_attr_pci.attr,
	&dev_attr_return.attr,
	NULL
};

static const struct attribute_group lease_group = {
	.attrs = lease_attrs,
};

const struct attribute_group *borrower_lease_groups[] = {
	&lease_group,
	NULL
};
