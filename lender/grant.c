// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of a borrower: granting a lease, and everything that is asked of one.
 *
 * Called by the core in process context, several at a time. What arrives is a peer's word: its
 * length is compared with the message it claims to be, what it names must exist and be the
 * peer's. A request about a lease names it by handle; it is served only if that handle is the
 * one of a lease that lives, was granted over this very link and in this epoch; else it is stale.
 *
 * Locks: lender_dev.lock is held while a request is served, except while RETURN waits for the
 * worker to bring the device to rest.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/pci.h>
#include <linux/random.h>
#include <linux/timekeeping.h>

#include "atomic.h"
#include "bars.h"
#include "doorbell.h"
#include "grant.h"
#include "lent.h"
#include "offer.h"
#include "trace.h"

/* no BAR holds an MSI-X table */
#define GRANT_NO_BAR		0xff
/* A collision of two random handles is a one in four billion chance; so many are a fault. */
#define GRANT_RANDOM_TRIES	8

/* May this peer have this offer? Lock held. */
static enum devlend_status grant_check(struct lender_dev *lent, struct devlend_link *link,
				       const struct devlend_wire_borrow *borrow)
{
	u32 mps = le32_to_cpu(borrow->mps);
	uuid_t peer;

	if (lent->generation != le32_to_cpu(borrow->id.generation))
		return DEVLEND_E_STALE;
	devlend_link_peer_host(link, &peer);
	if (memcmp(peer.b, borrow->borrower_host.b, sizeof(peer.b)) ||
	    !lender_access_granted(lent, &peer))
		return DEVLEND_E_PERM;
	switch (lent->state) {
	case LENDER_OFFERED:
		break;
	case LENDER_QUARANTINED:
	case LENDER_GONE:
		return DEVLEND_E_GONE;
	case LENDER_BORROWED:
		/* it asks again for what it got, so the grant never reached it */
		if (lent->lease.link == link && !lent->lease.maps)
			lender_lease_void(lent, LENDER_END_LOST_GRANT);
		return DEVLEND_E_BUSY;
	default:
		return DEVLEND_E_BUSY;
	}
	if (lent->revoke || lent->asleep)
		return DEVLEND_E_BUSY;
	if (mps && pci_is_pcie(lent->pdev) && mps < pcie_get_mps(lent->pdev)) {
		dev_err_ratelimited(&lent->dev, "not granted: its packets carry up to %d bytes, the borrower's NTB takes %u; boot both hosts with pci=pcie_bus_peer2peer\n",
				    pcie_get_mps(lent->pdev), mps);
		return DEVLEND_E_RANGE;
	}
	return DEVLEND_OK;
}

/* Where the MSI-X table lies, from the capability. */
static void grant_fill_msix(struct pci_dev *pdev, struct devlend_wire_grant *grant)
{
	u32 table = 0;

	grant->msix_bar = GRANT_NO_BAR;
	if (!pdev->msix_cap)
		return;
	pci_read_config_dword(pdev, pdev->msix_cap + PCI_MSIX_TABLE, &table);
	if ((table & PCI_MSIX_TABLE_BIR) >= DEVLEND_BARS)
		return;
	grant->msix_bar = table & PCI_MSIX_TABLE_BIR;
	grant->msix_offset = cpu_to_le32(table & PCI_MSIX_TABLE_OFFSET);
}

/* The reply of BORROW; lock held, BARs open. */
static void grant_fill(struct lender_dev *lent, struct devlend_wire_grant *grant)
{
	const struct lender_lease *lease = &lent->lease;
	struct pci_dev *pdev = lent->pdev;
	unsigned int i;

	memset(grant, 0, sizeof(*grant));
	grant->handle.epoch = cpu_to_le32(lease->handle.epoch);
	grant->handle.random = cpu_to_le32(lease->handle.random);
	for (i = 0; i < lease->bars.count; i++) {
		const struct devlend_exposed *e = &lease->bars.exposed[i];
		int bar = lease->bars.index[i];
		struct devlend_wire_grant_bar *g = &grant->bar[bar];

		g->lender_bus = cpu_to_le64(pci_bus_address(pdev, bar));
		g->size = cpu_to_le64(e->size);
		g->offset = cpu_to_le64(e->offset);
		g->window = cpu_to_le32(e->window);
		g->flags = cpu_to_le32(lender_bar_flags(pdev, bar));
	}
	grant_fill_msix(pdev, grant);
	if (pci_is_pcie(pdev)) {
		grant->mrrs = cpu_to_le16(pcie_get_readrq(pdev));
		grant->mps = cpu_to_le16(pcie_get_mps(pdev));
	}
}

/* Name the lease and let its operations through; lock held. */
static enum devlend_status grant_open(struct lender_dev *lent, struct devlend_link *link)
{
	struct lender_lease *lease = &lent->lease;
	unsigned int tries;

	lease->handle.epoch = devlend_link_epoch(link);
	for (tries = 0; tries < GRANT_RANDOM_TRIES; tries++) {
		lease->handle.random = get_random_u32();
		if (lender_atomic_open(lent, link, lease->handle.random))
			return DEVLEND_OK;
	}
	return DEVLEND_E_IO;
}

/* Lock held. */
static enum devlend_status grant_make(struct lender_dev *lent, struct devlend_link *link,
				      struct devlend_wire_grant *grant)
{
	enum devlend_status status;
	int err = lender_bars_open(lent, link);

	if (err)
		return devlend_errno_to_status(err);
	lent->lease.link = devlend_link_get(link);
	/* the link may have gone while the windows were opened; what comes later finds the lease */
	status = devlend_link_is_up(link) ? grant_open(lent, link) : DEVLEND_E_STALE;
	if (status != DEVLEND_OK) {
		lender_bars_close(lent);
		devlend_link_put(link);
		memset(&lent->lease, 0, sizeof(lent->lease));
		return status;
	}
	devlend_link_peer_host(link, &lent->lease.borrower);
	lent->lease.since = ktime_get_real_seconds();
	grant_fill(lent, grant);
	lender_enter(lent, LENDER_BORROWED);
	dev_info_ratelimited(&lent->dev, "borrowed by host %pUb\n", &lent->lease.borrower);
	return DEVLEND_OK;
}

static enum devlend_status grant_borrow(struct devlend_link *link, struct devlend_request *rq)
{
	const struct devlend_wire_borrow *borrow = rq->data;
	struct devlend_wire_grant grant;
	enum devlend_status status;
	struct lender_dev *lent;
	uuid_t host;

	if (rq->len != sizeof(*borrow) || borrow->flags || rq->reply_max < sizeof(grant))
		return DEVLEND_E_INVAL;
	devlend_host_uuid(&host);
	if (memcmp(host.b, borrow->id.host.b, sizeof(host.b)))
		return DEVLEND_E_NOENT;
	lent = lender_find_offer(le32_to_cpu(borrow->id.domain), le16_to_cpu(borrow->id.bdf));
	if (!lent)
		return DEVLEND_E_NOENT;
	mutex_lock(&lent->lock);
	status = grant_check(lent, link, borrow);
	if (status == DEVLEND_OK)
		status = grant_make(lent, link, &grant);
	mutex_unlock(&lent->lock);
	lender_put(lent);
	if (status == DEVLEND_OK) {
		memcpy(rq->reply, &grant, sizeof(grant));
		rq->reply_len = sizeof(grant);
	}
	return status;
}

/* Is @lent's lease the one that the request names? Lock held. */
static bool grant_lease_valid(const struct lender_dev *lent, struct devlend_link *link,
			      const struct devlend_request *rq)
{
	return lent->state == LENDER_BORROWED && lent->lease.link == link &&
	       lent->lease.handle.random == rq->handle.random &&
	       lent->lease.handle.epoch == rq->handle.epoch &&
	       devlend_link_epoch(link) == rq->handle.epoch;
}

/*
 * RETURN: answered when the device is at rest, so that the borrower may close its own windows
 * on the answer. The worker does it; this waits, as long as the link stands.
 */
static enum devlend_status grant_return(struct lender_dev *lent, struct devlend_link *link,
					unsigned int leases)
{
	unsigned long end = jiffies + msecs_to_jiffies(DEVLEND_RESET_TIMEOUT_MS);
	enum devlend_status status = DEVLEND_E_TIMEDOUT;

	while (time_before(jiffies, end) && devlend_link_is_up(link) &&
	       !wait_event_timeout(lent->wait, READ_ONCE(lent->leases) != leases,
				   msecs_to_jiffies(LENDER_POLL_MS)))
		;
	mutex_lock(&lent->lock);
	if (lent->leases != leases)
		status = lent->end_error ? DEVLEND_E_GONE : DEVLEND_OK;
	mutex_unlock(&lent->lock);
	return status;
}

/* Requests about a lease. */
static enum devlend_status grant_lease_request(struct devlend_link *link,
					       struct devlend_request *rq)
{
	struct lender_dev *lent = lender_atomic_find(link, rq->handle.random);
	enum devlend_status status = DEVLEND_E_STALE;
	bool returning = false;
	unsigned int leases;

	if (!lent)
		return DEVLEND_E_STALE;
	mutex_lock(&lent->lock);
	leases = lent->leases;
	if (!grant_lease_valid(lent, link, rq))
		goto unlock;
	switch (rq->op) {
	case DEVLEND_OP_CONFIG:
		status = lender_serve_config(lent, rq);
		break;
	case DEVLEND_OP_ATTACH:
		status = lender_serve_attach(lent, rq);
		break;
	case DEVLEND_OP_PROBE:
		status = lender_serve_probe(lent, rq);
		break;
	case DEVLEND_OP_EVENTS:
		status = lender_serve_events(lent, rq);
		break;
	case DEVLEND_OP_RETURN:
		lender_lease_void(lent, LENDER_END_RETURN);
		returning = true;
		break;
	}
unlock:
	mutex_unlock(&lent->lock);
	if (returning)
		status = grant_return(lent, link, leases);
	lender_put(lent);
	return status;
}

/**
 * lender_request() - serve a request of a peer
 * @link: from whom
 * @rq: the request; its reply is filled in
 *
 * Context: process; RETURN waits up to %DEVLEND_RESET_TIMEOUT_MS, BORROW for the windows.
 * Return: the status for the peer.
 */
enum devlend_status lender_request(struct devlend_link *link, struct devlend_request *rq)
{
	enum devlend_status status;

	switch (rq->op) {
	case DEVLEND_OP_OFFERS:
		lender_offers_again(link);
		status = DEVLEND_OK;
		break;
	case DEVLEND_OP_BORROW:
		status = rq->function ? DEVLEND_E_INVAL : grant_borrow(link, rq);
		break;
	case DEVLEND_OP_CONFIG:
	case DEVLEND_OP_ATTACH:
	case DEVLEND_OP_PROBE:
	case DEVLEND_OP_EVENTS:
	case DEVLEND_OP_RETURN:
		status = rq->function ? DEVLEND_E_INVAL : grant_lease_request(link, rq);
		break;
	default:
		status = DEVLEND_E_NOTSUPP;
	}
	trace_lender_request(rq->op, rq->handle.random, status);
	return status;
}
