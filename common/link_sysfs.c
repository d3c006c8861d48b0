// SPDX-License-Identifier: GPL-2.0
/*
 * Attributes of a link; Documentation/ABI/testing/sysfs-bus-devlend describes them.
 *
 * Who calls it: the driver core, for link.c, in process context. Values are single words, read
 * without a lock; the peer's identity is copied under the link's. A link that is gone still
 * answers: its NTB is not touched here.
 */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "link.h"

/* Below this a peer that is merely busy would be taken for dead. */
#define BEAT_TIMEOUT_MIN_MS	(3 * DEVLEND_BEAT_PERIOD_MS)
#define BEAT_TIMEOUT_MAX_MS	600000
/* Below this a lost bell, which a repetition makes good, would end the session. */
#define ATOMIC_TIMEOUT_MIN_MS	(3 * ATOMIC_RESEND_MS)
/* A CPU spins: half of what the kernel lets pass before it reports a lockup. */
#define ATOMIC_TIMEOUT_MAX_MS	10000

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct devlend_link *link = to_devlend_link(dev);

	return sysfs_emit(buf, "%s\n", devlend_link_state_name(READ_ONCE(link->state)));
}
static DEVICE_ATTR_RO(state);

static ssize_t epoch_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%08x\n", devlend_link_epoch(to_devlend_link(dev)));
}
static DEVICE_ATTR_RO(epoch);

static ssize_t peer_epoch_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%08x\n", devlend_link_peer_epoch(to_devlend_link(dev)));
}
static DEVICE_ATTR_RO(peer_epoch);

static ssize_t peer_host_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct devlend_link *link = to_devlend_link(dev);
	uuid_t host;

	if (!devlend_link_is_up(link))
		return -ENOTCONN;
	devlend_link_peer_host(link, &host);
	return sysfs_emit(buf, "%pUb\n", &host);
}
static DEVICE_ATTR_RO(peer_host);

static ssize_t words_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", to_devlend_link(dev)->transport.words);
}
static DEVICE_ATTR_RO(words);

static int link_store_ms(const char *buf, unsigned int least, unsigned int most, unsigned int *ms)
{
	int err = kstrtouint(buf, 0, ms);

	if (err)
		return err;
	return *ms < least || *ms > most ? -ERANGE : 0;
}

static ssize_t beat_timeout_ms_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(to_devlend_link(dev)->beat_timeout_ms));
}

static ssize_t beat_timeout_ms_store(struct device *dev, struct device_attribute *attr,
				     const char *buf, size_t count)
{
	unsigned int ms;
	int err = link_store_ms(buf, BEAT_TIMEOUT_MIN_MS, BEAT_TIMEOUT_MAX_MS, &ms);

	if (err)
		return err;
	WRITE_ONCE(to_devlend_link(dev)->beat_timeout_ms, ms);
	return count;
}
static DEVICE_ATTR_RW(beat_timeout_ms);

static ssize_t atomic_timeout_ms_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(to_devlend_link(dev)->atomic.timeout_ms));
}

static ssize_t atomic_timeout_ms_store(struct device *dev, struct device_attribute *attr,
				       const char *buf, size_t count)
{
	unsigned int ms;
	int err = link_store_ms(buf, ATOMIC_TIMEOUT_MIN_MS, ATOMIC_TIMEOUT_MAX_MS, &ms);

	if (err)
		return err;
	WRITE_ONCE(to_devlend_link(dev)->atomic.timeout_ms, ms);
	return count;
}
static DEVICE_ATTR_RW(atomic_timeout_ms);

/* Lanes' own counters: read without their locks, a value may be a moment old. */
static ssize_t frames_rejected_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct devlend_link *link = to_devlend_link(dev);

	return sysfs_emit(buf, "%llu\n", READ_ONCE(link->sleep.rejected) +
			  READ_ONCE(link->atomic.rejected));
}
static DEVICE_ATTR_RO(frames_rejected);

static ssize_t link_count(char *buf, const atomic64_t *count)
{
	return sysfs_emit(buf, "%lld\n", (long long)atomic64_read(count));
}

static ssize_t calls_sent_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return link_count(buf, &to_devlend_link(dev)->calls_sent);
}
static DEVICE_ATTR_RO(calls_sent);

static ssize_t calls_received_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return link_count(buf, &to_devlend_link(dev)->calls_received);
}
static DEVICE_ATTR_RO(calls_received);

static ssize_t atomic_sent_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return link_count(buf, &to_devlend_link(dev)->atomic_sent);
}
static DEVICE_ATTR_RO(atomic_sent);

static ssize_t atomic_received_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return link_count(buf, &to_devlend_link(dev)->atomic_received);
}
static DEVICE_ATTR_RO(atomic_received);

static struct attribute *link_attrs[] = {
	&dev_attr_state.attr,
	&dev_attr_epoch.attr,
	&dev_attr_peer_epoch.attr,
	&dev_attr_peer_host.attr,
	&dev_attr_words.attr,
	&dev_attr_beat_timeout_ms.attr,
	&dev_attr_atomic_timeout_ms.attr,
	&dev_attr_frames_rejected.attr,
	&dev_attr_calls_sent.attr,
	&dev_attr_calls_received.attr,
	&dev_attr_atomic_sent.attr,
	&dev_attr_atomic_received.attr,
	NULL
};

static const struct attribute_group link_group = {
	.attrs = link_attrs,
};

const struct attribute_group *devlend_link_groups[] = {
	&link_group,
	NULL
};
