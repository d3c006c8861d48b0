// SPDX-License-Identifier: GPL-2.0
/*
 * Telling peers what is lent: OFFER when something is new or has changed, WITHDRAW when it
 * is gone.
 *
 * Each link that is up has one struct offer_link with a work item of its own, so a peer that
 * answers slowly holds up nobody else. The work walks all lent devices and sends what the
 * peer does not know yet; changes that come in the meantime are sent as one. What a peer knows
 * is a version number per device (&lender_dev.version); a peer that asks (OFFERS) knows nothing.
 *
 * lender_offers_push() may be called with lender_dev.lock held; the work takes that lock to
 * read a device, never across a call. offer_links_lock is a leaf.
 */
#include <linux/iommu.h>
#include <linux/kref.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uuid.h>
#include <linux/xarray.h>

#include "bars.h"
#include "iommu.h"
#include "lent.h"
#include "offer.h"

/**
 * struct offer_link - what is told over one link
 * @node: in offer_links
 * @kref: the list, and whoever flushes
 * @link: referenced
 * @work: sends what is due
 * @up: calls can be made
 * @again: the peer asked for everything
 * @sent: per &lender_dev.id what the peer knows: version times two, plus one where the
 *	device was offered. Work only, and link events while it does not run
 */
struct offer_link {
	struct list_head node;
	struct kref kref;
	struct devlend_link *link;
	struct work_struct work;
	bool up;
	bool again;
	struct xarray sent;
};

/* Protects offer_links. */
static DEFINE_SPINLOCK(offer_links_lock);
static LIST_HEAD(offer_links);
static struct workqueue_struct *offer_wq;

static void offer_link_release(struct kref *kref)
{
	struct offer_link *ol = container_of(kref, struct offer_link, kref);

	xa_destroy(&ol->sent);
	devlend_link_put(ol->link);
	kfree(ol);
}

static void offer_id_fill(struct devlend_wire_offer_id *id, const struct lender_dev *lent)
{
	uuid_t host;

	devlend_host_uuid(&host);
	export_uuid(id->host.b, &host);
	id->domain = cpu_to_le32(pci_domain_nr(lent->pdev->bus));
	id->bdf = cpu_to_le16(pci_dev_id(lent->pdev));
	id->generation = cpu_to_le32(lent->generation);
}

static u16 offer_msi_vectors(struct pci_dev *pdev)
{
	int n = pci_msi_vec_count(pdev);

	return n > 0 ? n : 0;
}

static u16 offer_msix_vectors(struct pci_dev *pdev)
{
	int n = pci_msix_vec_count(pdev);

	return n > 0 ? n : 0;
}

/* Where no IOMMU translates, width, page sizes and isolation group are none. Lock held. */
static void offer_fill(struct devlend_wire_offer *offer, const struct lender_dev *lent, u32 state)
{
	struct pci_dev *pdev = lent->pdev;
	int i;

	memset(offer, 0, sizeof(*offer));
	offer_id_fill(&offer->id, lent);
	offer->state = cpu_to_le32(state);
	offer->class_rev = cpu_to_le32(pdev->class << 8 | pdev->revision);
	offer->vendor = cpu_to_le16(pdev->vendor);
	offer->device = cpu_to_le16(pdev->device);
	offer->subsystem_vendor = cpu_to_le16(pdev->subsystem_vendor);
	offer->subsystem_device = cpu_to_le16(pdev->subsystem_device);
	for (i = 0; i < DEVLEND_BARS; i++) {
		offer->bar[i].size = cpu_to_le64(pci_resource_len(pdev, i));
		offer->bar[i].flags = cpu_to_le32(lender_bar_flags(pdev, i));
	}
	offer->msi_vectors = cpu_to_le16(offer_msi_vectors(pdev));
	offer->msix_vectors = cpu_to_le16(offer_msix_vectors(pdev));
	offer->mps = cpu_to_le16(pci_is_pcie(pdev) ? pcie_get_mps(pdev) : 0);
	if (!lent->iommu.domain)
		return;
	offer->iommu_width = cpu_to_le16(lender_iommu_bits(lent));
	offer->iommu_pgsizes = cpu_to_le64(lent->iommu.domain->pgsize_bitmap);
	offer->isolation_group = cpu_to_le32(iommu_group_id(lent->iommu.group) + 1);
}

static int offer_call(struct offer_link *ol, u16 op, const void *data, size_t len)
{
	struct devlend_call call = { .op = op, .data = data, .len = len };

	return devlend_call_insist(ol->link, &call);
}

/* Send what is new about one device; what fails is tried again with the next change. */
static void offer_push_one(struct offer_link *ol, struct lender_dev *lent)
{
	unsigned long known = xa_to_value(xa_load(&ol->sent, lent->id) ?: xa_mk_value(0));
	struct devlend_wire_withdraw withdraw = { };
	struct devlend_wire_offer offer;
	enum lender_state state;
	unsigned long value;
	u32 version, told;
	int err;

	mutex_lock(&lent->lock);
	state = lent->state;
	version = lent->version;
	told = lender_access_told(lent, ol->link, lender_state_offer(state));
	if (told)
		offer_fill(&offer, lent, told);
	else
		offer_id_fill(&withdraw.id, lent);
	mutex_unlock(&lent->lock);

	if (!told && !(known & 1)) {
		if (state == LENDER_GONE)
			xa_erase(&ol->sent, lent->id);
		return;
	}
	if (known >> 1 == version)
		return;
	if (told)
		err = offer_call(ol, DEVLEND_OP_OFFER, &offer, sizeof(offer));
	else
		err = offer_call(ol, DEVLEND_OP_WITHDRAW, &withdraw, sizeof(withdraw));
	value = (unsigned long)version << 1 | (told ? 1 : 0);
	if (!err)
		xa_store(&ol->sent, lent->id, xa_mk_value(value), GFP_KERNEL);
}

static void offer_work(struct work_struct *work)
{
	struct offer_link *ol = container_of(work, struct offer_link, work);
	struct lender_dev *lent;
	u32 id;

	if (xchg(&ol->again, false))
		xa_destroy(&ol->sent);
	for (id = 0; READ_ONCE(ol->up) && (lent = lender_next(id)); id = lent->id, lender_put(lent))
		offer_push_one(ol, lent);
}

/* The link's record, with a reference for the caller, or NULL. */
static struct offer_link *offer_link_find(struct devlend_link *link)
{
	struct offer_link *ol;

	spin_lock(&offer_links_lock);
	list_for_each_entry(ol, &offer_links, node) {
		if (ol->link == link) {
			kref_get(&ol->kref);
			spin_unlock(&offer_links_lock);
			return ol;
		}
	}
	spin_unlock(&offer_links_lock);
	return NULL;
}

/**
 * lender_offers_push() - something has changed: tell the peers, soon
 *
 * Context: process; lender_dev.lock may be held.
 */
void lender_offers_push(void)
{
	struct offer_link *ol;

	spin_lock(&offer_links_lock);
	list_for_each_entry(ol, &offer_links, node)
		if (ol->up)
			queue_work(offer_wq, &ol->work);
	spin_unlock(&offer_links_lock);
}

/**
 * lender_offers_flush() - wait until the peers have been told
 *
 * Context: process, no locks; sleeps for the bound of a call for each device and link.
 */
void lender_offers_flush(void)
{
	flush_workqueue(offer_wq);
}

/**
 * lender_offers_again() - serve OFFERS: the peer wants to hear everything again
 * @link: from whom
 *
 * Context: process; does not wait.
 */
void lender_offers_again(struct devlend_link *link)
{
	struct offer_link *ol;

	spin_lock(&offer_links_lock);
	list_for_each_entry(ol, &offer_links, node) {
		if (ol->link != link || !ol->up)
			continue;
		WRITE_ONCE(ol->again, true);
		queue_work(offer_wq, &ol->work);
	}
	spin_unlock(&offer_links_lock);
}

/**
 * lender_offers_link_up() - a peer is there
 * @link: its link
 *
 * Context: a callback of the core.
 */
void lender_offers_link_up(struct devlend_link *link)
{
	struct offer_link *ol = offer_link_find(link);

	if (!ol) {
		ol = kzalloc(sizeof(*ol), GFP_KERNEL);
		/* this peer sees no offers until its link comes up again */
		if (!ol)
			return;
		kref_init(&ol->kref);
		kref_get(&ol->kref);
		ol->link = devlend_link_get(link);
		INIT_WORK(&ol->work, offer_work);
		xa_init(&ol->sent);
		spin_lock(&offer_links_lock);
		list_add(&ol->node, &offer_links);
		spin_unlock(&offer_links_lock);
	}
	WRITE_ONCE(ol->again, true);
	WRITE_ONCE(ol->up, true);
	queue_work(offer_wq, &ol->work);
	kref_put(&ol->kref, offer_link_release);
}

/**
 * lender_offers_link_down() - the peer is lost: it knows nothing any more
 * @link: its link
 *
 * Calls that are under way fail by now, so the work ends soon. Context: a callback of the core.
 */
void lender_offers_link_down(struct devlend_link *link)
{
	struct offer_link *ol = offer_link_find(link);

	if (!ol)
		return;
	WRITE_ONCE(ol->up, false);
	cancel_work_sync(&ol->work);
	kref_put(&ol->kref, offer_link_release);
}

/**
 * lender_offers_link_gone() - the link is going for good
 * @link: down already
 *
 * Context: a callback of the core.
 */
void lender_offers_link_gone(struct devlend_link *link)
{
	struct offer_link *ol = offer_link_find(link);

	if (!ol)
		return;
	WRITE_ONCE(ol->up, false);
	spin_lock(&offer_links_lock);
	list_del(&ol->node);
	spin_unlock(&offer_links_lock);
	/* it is queued only while it is in the list */
	cancel_work_sync(&ol->work);
	kref_put(&ol->kref, offer_link_release);
	kref_put(&ol->kref, offer_link_release);
}

int lender_offers_init(void)
{
	offer_wq = alloc_workqueue("devlend_offers", WQ_UNBOUND, 0);
	return offer_wq ? 0 : -ENOMEM;
}

void lender_offers_exit(void)
{
	destroy_workqueue(offer_wq);
}
