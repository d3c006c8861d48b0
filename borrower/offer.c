// SPDX-License-Identifier: GPL-2.0
/*
 * Offers: what peers lend, as devices on the devlend bus.
 *
 * An offer is named by its host's UUID and its address there, not by the link: a device
 * that is seen through two NTBs is shown as one, and borrowed through the link where it was
 * seen first. What was said of it through the other is kept: when the one that is shown goes,
 * the other takes its place, under the same name. OFFER messages make and change offers, WITHDRAW
 * and the loss of the link remove them. A lease copies what it needs and does not hold its offer.
 *
 * What comes is a peer's word: it is checked field by field (grant.c), its host must be the
 * peer itself, and a link has at most BORROWER_OFFERS_MAX.
 *
 * Called by main.c from callbacks of the core, in process context, several at a time, maybe
 * under the rescan lock. Lock order: rescan lock, offers_lock, offer->lock. offers_lock is
 * held while devices are added and deleted, so that one name never exists twice; no sysfs
 * file takes it, and those that wait give up their active protection before
 * (offer_sysfs.c).
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <devlend/compat.h>

#include "offer.h"
#include "trace.h"

static LIST_HEAD(offers);
/* protects offers, and serialises adding and deleting of their devices */
static DEFINE_MUTEX(offers_lock);

static void offer_release(struct device *dev)
{
	struct borrower_offer *offer = to_borrower_offer(dev);

	devlend_link_put(offer->link);
	kfree(offer);
	borrower_object_put();
}

static const struct device_type offer_type = {
	.name = "offer",
	.groups = borrower_offer_groups,
	.release = offer_release,
};

/**
 * borrower_offer_state_name() - the word that the state attribute shows
 * @state: &enum devlend_offer_state
 *
 * Context: any. Return: a constant string.
 */
const char *borrower_offer_state_name(u32 state)
{
	switch (state) {
	case DEVLEND_OFFER_AVAILABLE:
		return "available";
	case DEVLEND_OFFER_LENT:
		return "lent";
	case DEVLEND_OFFER_BUSY:
		return "busy";
	case DEVLEND_OFFER_QUARANTINED:
		return "quarantined";
	case DEVLEND_OFFER_FORBIDDEN:
		return "forbidden";
	default:
		return "unknown";
	}
}

static bool offer_same_device(const struct devlend_wire_offer_id *a,
			      const struct devlend_wire_offer_id *b)
{
	return a->domain == b->domain && a->bdf == b->bdf &&
	       !memcmp(&a->host, &b->host, sizeof(a->host));
}

/* What @link said of a device; NULL = what any did, first. Caller holds offers_lock. */
static struct borrower_offer *offer_find(const struct devlend_link *link,
					 const struct devlend_wire_offer_id *id)
{
	struct borrower_offer *offer;

	lockdep_assert_held(&offers_lock);
	list_for_each_entry(offer, &offers, node)
		if ((!link || offer->link == link) && offer_same_device(&offer->wire.id, id))
			return offer;
	return NULL;
}

/* Hosts whose UUIDs begin alike, each behind an NTB of its own. Caller holds offers_lock. */
static bool offer_name_taken(const char *name)
{
	struct borrower_offer *offer;

	lockdep_assert_held(&offers_lock);
	list_for_each_entry(offer, &offers, node)
		if (offer->shown && !strcmp(dev_name(&offer->dev), name))
			return true;
	return false;
}

/* Caller holds offers_lock. A failure leaves nothing to be done with @offer but to put it. */
static int offer_show(struct borrower_offer *offer)
{
	int err = -EBUSY;

	if (!offer_name_taken(dev_name(&offer->dev)))
		err = device_add(&offer->dev);
	if (err)
		return err;
	offer->shown = true;
	trace_borrower_offer(dev_name(&offer->dev), le32_to_cpu(offer->wire.id.generation),
			     le32_to_cpu(offer->wire.state));
	return 0;
}

static unsigned int offer_count(struct devlend_link *link)
{
	struct borrower_offer *offer;
	unsigned int n = 0;

	lockdep_assert_held(&offers_lock);
	list_for_each_entry(offer, &offers, node)
		n += offer->link == link;
	return n;
}

static enum devlend_status offer_add(struct devlend_link *link,
				     const struct devlend_wire_offer *wire)
{
	u16 bdf = le16_to_cpu(wire->id.bdf);
	struct borrower_offer *offer;
	int err;

	if (offer_count(link) >= BORROWER_OFFERS_MAX) {
		dev_warn_ratelimited(devlend_link_dev(link),
				     "peer offers more than %u devices; the rest is ignored\n",
				     BORROWER_OFFERS_MAX);
		return DEVLEND_E_BUSY;
	}
	offer = kzalloc(sizeof(*offer), GFP_KERNEL);
	if (!offer)
		return DEVLEND_E_NOMEM;
	borrower_object_get();
	device_initialize(&offer->dev);
	offer->dev.bus = DEVLEND_BUS;
	offer->dev.type = &offer_type;
	offer->dev.parent = devlend_link_dev(link);
	mutex_init(&offer->lock);
	offer->link = devlend_link_get(link);
	offer->wire = *wire;
	err = dev_set_name(&offer->dev, "offer-%4phN-%04x:%02x:%02x.%d", wire->id.host.b,
			   le32_to_cpu(wire->id.domain), bdf >> 8, (bdf >> 3) & 0x1f, bdf & 7);
	/* of those that name one device there is always one that is shown */
	if (!err && !offer_find(NULL, &wire->id))
		err = offer_show(offer);
	if (err) {
		put_device(&offer->dev);
		return devlend_errno_to_status(err);
	}
	list_add_tail(&offer->node, &offers);
	return DEVLEND_OK;
}

static enum devlend_status offer_change(struct borrower_offer *offer,
					const struct devlend_wire_offer *wire)
{
	u32 state = le32_to_cpu(wire->state);

	if (le32_to_cpu(wire->id.generation) < le32_to_cpu(offer->wire.id.generation))
		return DEVLEND_E_STALE;
	mutex_lock(&offer->lock);
	offer->wire = *wire;
	mutex_unlock(&offer->lock);
	if (!offer->shown)
		return DEVLEND_OK;
	trace_borrower_offer(dev_name(&offer->dev), le32_to_cpu(wire->id.generation), state);
	devlend_state_changed(&offer->dev, borrower_offer_state_name(state));
	return DEVLEND_OK;
}

/**
 * borrower_offer_update() - serve OFFER: a new offer, or news of one
 * @link: from whom
 * @wire: the message, a private copy
 *
 * Context: process, sleeps. Return: a status for the peer.
 */
enum devlend_status borrower_offer_update(struct devlend_link *link,
					  const struct devlend_wire_offer *wire)
{
	enum devlend_status status = DEVLEND_OK;
	struct borrower_offer *offer;
	const char *why;
	uuid_t host;

	if (!borrower_offer_valid(wire, &why)) {
		dev_warn_ratelimited(devlend_link_dev(link), "peer offers a device with an impossible %s; ignored\n",
				     why);
		return DEVLEND_E_INVAL;
	}
	devlend_link_peer_host(link, &host);
	if (memcmp(wire->id.host.b, host.b, sizeof(host.b))) {
		dev_warn_ratelimited(devlend_link_dev(link),
				     "peer offers another host's device; ignored\n");
		return DEVLEND_E_PERM;
	}

	mutex_lock(&offers_lock);
	offer = offer_find(link, &wire->id);
	/* a request that was under way when the link went down comes too late */
	if (!devlend_link_is_up(link))
		status = DEVLEND_E_STALE;
	else if (!offer)
		status = offer_add(link, wire);
	else
		status = offer_change(offer, wire);
	mutex_unlock(&offers_lock);
	return status;
}

/* Caller holds offers_lock. */
static void offer_drop(struct borrower_offer *offer)
{
	lockdep_assert_held(&offers_lock);
	list_del(&offer->node);
	if (offer->shown)
		device_del(&offer->dev);
	put_device(&offer->dev);
}

/* Caller holds offers_lock. What another link said of the device is shown instead. */
static void offer_remove(struct borrower_offer *offer)
{
	struct devlend_wire_offer_id id = offer->wire.id;
	bool was_shown = offer->shown;

	offer_drop(offer);
	while (was_shown && (offer = offer_find(NULL, &id)) && offer_show(offer))
		offer_drop(offer);
}

/**
 * borrower_offer_withdraw() - serve WITHDRAW
 * @link: from whom
 * @id: which; the generation must be that of the offer
 *
 * A lease of it goes on: it ends by REVOKE. Context: process, sleeps. Return: a status for
 * the peer.
 */
enum devlend_status borrower_offer_withdraw(struct devlend_link *link,
					    const struct devlend_wire_offer_id *id)
{
	enum devlend_status status = DEVLEND_E_NOENT;
	struct borrower_offer *offer;

	mutex_lock(&offers_lock);
	offer = offer_find(link, id);
	if (offer) {
		status = DEVLEND_E_STALE;
		if (offer->wire.id.generation == id->generation) {
			offer_remove(offer);
			status = DEVLEND_OK;
		}
	}
	mutex_unlock(&offers_lock);
	return status;
}

/* Caller holds offers_lock. */
static struct borrower_offer *offer_first(const struct devlend_link *link)
{
	struct borrower_offer *offer;

	lockdep_assert_held(&offers_lock);
	list_for_each_entry(offer, &offers, node)
		if (offer->link == link)
			return offer;
	return NULL;
}

/**
 * borrower_offers_link_lost() - remove all offers of a link
 * @link: down, or going
 *
 * Those that are offered through another link too are shown as offers of that one.
 * Context: a callback of the core; process; the rescan lock may be held.
 */
void borrower_offers_link_lost(struct devlend_link *link)
{
	struct borrower_offer *offer;

	mutex_lock(&offers_lock);
	while ((offer = offer_first(link)))
		offer_remove(offer);
	mutex_unlock(&offers_lock);
}

/**
 * borrower_offer_borrow() - borrow an offer, and wait for the outcome
 * @offer: referenced by the caller; need not be on the list any more
 * @slot: slot wanted, or -1
 *
 * Context: process; killable; at most %BORROWER_WAIT_MS; the work goes on in any case.
 * Return: 0 with the shadow's driver probed; -EBUSY where it is lent or busy; -EPERM where the
 * lender does not allow it; or the precise errno of the step that failed.
 */
int borrower_offer_borrow(struct borrower_offer *offer, int slot)
{
	struct devlend_wire_offer wire;
	enum borrower_irq_mode irq_mode;
	struct borrower_lease *lease;
	int err;

	mutex_lock(&offer->lock);
	wire = offer->wire;
	irq_mode = offer->irq_mode;
	mutex_unlock(&offer->lock);
	switch (le32_to_cpu(wire.state)) {
	case DEVLEND_OFFER_AVAILABLE:
	/* that is the lender's to say, in its log too */
	case DEVLEND_OFFER_FORBIDDEN:
		break;
	case DEVLEND_OFFER_QUARANTINED:
		return -ENODEV;
	default:
		return -EBUSY;
	}
	lease = borrower_lease_start(offer->link, &wire, dev_name(&offer->dev), slot, irq_mode);
	if (IS_ERR(lease))
		return PTR_ERR(lease);
	err = borrower_lease_wait_started(lease);
	put_device(&lease->dev);
	return err;
}
