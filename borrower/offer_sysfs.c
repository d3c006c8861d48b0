// SPDX-License-Identifier: GPL-2.0
/*
 * Attributes of an offer. Described in Documentation/ABI/testing/sysfs-bus-devlend-borrower.
 *
 * Process context. Reads take the offer's lock for the one value. `borrow` waits for a
 * worker, and the offer may be withdrawn, or its NTB removed, meanwhile: so it gives up
 * sysfs's active protection first (device_del() does not wait for it), and holds the device
 * and the module.
 */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/sysfs.h>

#include "offer.h"

/* a snapshot of what the peer said */
static struct devlend_wire_offer offer_snapshot(struct device *dev)
{
	struct borrower_offer *offer = to_borrower_offer(dev);
	struct devlend_wire_offer wire;

	mutex_lock(&offer->lock);
	wire = offer->wire;
	mutex_unlock(&offer->lock);
	return wire;
}

#define OFFER_ATTR(_name, _fmt, _value)							\
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr, char *buf)	\
{											\
	struct devlend_wire_offer wire = offer_snapshot(dev);				\
											\
	return sysfs_emit(buf, _fmt "\n", _value);					\
}											\
static DEVICE_ATTR_RO(_name)

OFFER_ATTR(host, "%pUb", wire.id.host.b);
OFFER_ATTR(generation, "%u", le32_to_cpu(wire.id.generation));
OFFER_ATTR(state, "%s", borrower_offer_state_name(le32_to_cpu(wire.state)));
OFFER_ATTR(vendor, "0x%04x", le16_to_cpu(wire.vendor));
OFFER_ATTR(device, "0x%04x", le16_to_cpu(wire.device));
OFFER_ATTR(subsystem_vendor, "0x%04x", le16_to_cpu(wire.subsystem_vendor));
OFFER_ATTR(subsystem_device, "0x%04x", le16_to_cpu(wire.subsystem_device));
OFFER_ATTR(class, "0x%06x", le32_to_cpu(wire.class_rev) >> 8);
OFFER_ATTR(revision, "0x%02x", le32_to_cpu(wire.class_rev) & 0xff);
OFFER_ATTR(msi_vectors, "%u", le16_to_cpu(wire.msi_vectors));
OFFER_ATTR(msix_vectors, "%u", le16_to_cpu(wire.msix_vectors));
OFFER_ATTR(mps, "%u", le16_to_cpu(wire.mps));
OFFER_ATTR(lender_iommu, "%u", le16_to_cpu(wire.iommu_width));
OFFER_ATTR(bar0_size, "%llu", le64_to_cpu(wire.bar[0].size));
OFFER_ATTR(bar1_size, "%llu", le64_to_cpu(wire.bar[1].size));
OFFER_ATTR(bar2_size, "%llu", le64_to_cpu(wire.bar[2].size));
OFFER_ATTR(bar3_size, "%llu", le64_to_cpu(wire.bar[3].size));
OFFER_ATTR(bar4_size, "%llu", le64_to_cpu(wire.bar[4].size));
OFFER_ATTR(bar5_size, "%llu", le64_to_cpu(wire.bar[5].size));

static ssize_t id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct devlend_wire_offer wire = offer_snapshot(dev);
	u16 bdf = le16_to_cpu(wire.id.bdf);

	return sysfs_emit(buf, "%pUb/%04x:%02x:%02x.%d/%u\n", wire.id.host.b,
			  le32_to_cpu(wire.id.domain), bdf >> 8, (bdf >> 3) & 0x1f, bdf & 7,
			  le32_to_cpu(wire.id.generation));
}
static DEVICE_ATTR_RO(id);

static ssize_t irq_mode_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct borrower_offer *offer = to_borrower_offer(dev);
	enum borrower_irq_mode mode;

	mutex_lock(&offer->lock);
	mode = offer->irq_mode;
	mutex_unlock(&offer->lock);
	return sysfs_emit(buf, "%s\n", borrower_irq_mode_name(mode));
}

static ssize_t irq_mode_store(struct device *dev, struct device_attribute *attr, const char *buf,
			      size_t count)
{
	struct borrower_offer *offer = to_borrower_offer(dev);
	int mode = borrower_irq_mode_parse(buf);

	if (mode < 0)
		return mode;
	mutex_lock(&offer->lock);
	offer->irq_mode = mode;
	mutex_unlock(&offer->lock);
	return count;
}
static DEVICE_ATTR_RW(irq_mode);

/* "auto", or a decimal slot number; -1 is auto */
static int offer_parse_slot(const char *buf, int *slot)
{
	unsigned int number;

	if (sysfs_streq(buf, "auto")) {
		*slot = -1;
		return 0;
	}
	if (!isdigit(buf[0]) || kstrtouint(buf, 10, &number) || number > INT_MAX)
		return -EINVAL;
	*slot = number;
	return 0;
}

static ssize_t borrow_store(struct device *dev, struct device_attribute *attr, const char *buf,
			    size_t count)
{
	struct borrower_offer *offer = to_borrower_offer(dev);
	struct kernfs_node *kn;
	int slot, err;

	err = offer_parse_slot(buf, &slot);
	if (err)
		return err;
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	get_device(dev);
	kn = sysfs_break_active_protection(&dev->kobj, &attr->attr);
	err = borrower_offer_borrow(offer, slot);
	if (kn)
		sysfs_unbreak_active_protection(kn);
	put_device(dev);
	module_put(THIS_MODULE);
	return err ?: count;
}
static DEVICE_ATTR_WO(borrow);

static struct attribute *offer_attrs[] = {
	&dev_attr_id.attr,
	&dev_attr_host.attr,
	&dev_attr_generation.attr,
	&dev_attr_state.attr,
	&dev_attr_vendor.attr,
	&dev_attr_device.attr,
	&dev_attr_subsystem_vendor.attr,
	&dev_attr_subsystem_device.attr,
	&dev_attr_class.attr,
	&dev_attr_revision.attr,
	&dev_attr_msi_vectors.attr,
	&dev_attr_msix_vectors.attr,
	&dev_attr_mps.attr,
	&dev_attr_lender_iommu.attr,
	&dev_attr_irq_mode.attr,
	&dev_attr_bar0_size.attr,
	&dev_attr_bar1_size.attr,
	&dev_attr_bar2_size.attr,
	&dev_attr_bar3_size.attr,
	&dev_attr_bar4_size.attr,
	&dev_attr_bar5_size.attr,
	&dev_attr_borrow.attr,
	NULL
};

static const struct attribute_group offer_group = {
	.attrs = offer_attrs,
};

const struct attribute_group *borrower_offer_groups[] = {
	&offer_group,
	NULL
};
