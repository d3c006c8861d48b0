// SPDX-License-Identifier: GPL-2.0
/*
 * Who may have a lent device: its two lists of hosts (access_list.c), what peers are told by them,
 * and the end of a lease whose borrower is not on the list any more.
 *
 * A host is named by the UUID that it gives in its hello. That is a claim: nothing proves it, and
 * a peer that lies about it gets what the host may have whose name it took. The lists keep
 * order between hosts that are what they say, and shut out all others that are honest. What a
 * hostile peer can do is in Documentation/security.rst.
 *
 * Called by sysfs.c (changes), offer.c (what is told), grant.c (may it borrow?) and the device's
 * worker. The lists are under &lender_dev.lock.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>

#include "access.h"
#include "lent.h"
#include "offer.h"

/* The lists have changed: what was said of a refused peer may be said again. Lock held. */
static void access_changed(struct lender_dev *lent)
{
	lent->refused = uuid_null;
	lent->version++;
	lender_offers_push();
}

/* Wait until the lease is over that was the last of @leases. */
static int access_wait(struct lender_dev *lent, unsigned int leases)
{
	long left = wait_event_killable_timeout(lent->wait, READ_ONCE(lent->leases) != leases,
						msecs_to_jiffies(LENDER_WAIT_MS));

	if (left < 0)
		return -EINTR;
	return left ? 0 : -ETIMEDOUT;
}

/**
 * lender_access_allow() - say which hosts may borrow a device
 * @lent: the device
 * @list: they
 * @force: a borrower that is not on it gets no time to return the device
 *
 * Context: process; where a borrower loses the device it waits for the end of that lease,
 * killably and at most %LENDER_WAIT_MS; that goes on in any case.
 * Return: 0; -EINTR; -ETIMEDOUT.
 */
int lender_access_allow(struct lender_dev *lent, const struct lender_access *list, bool force)
{
	unsigned int leases;
	bool over;

	mutex_lock(&lent->lock);
	lent->allow = *list;
	access_changed(lent);
	leases = lent->leases;
	over = lent->lease.link && !lender_access_has(list, &lent->lease.borrower);
	/* a reclaim that is under way ends it as well */
	if (over && (!lent->revoke || lent->revoke == DEVLEND_REVOKE_ACCESS)) {
		lent->revoke = DEVLEND_REVOKE_ACCESS;
		lent->grace_ms = force ? 0 : LENDER_GRACE_MS;
		dev_info(&lent->dev, "host %pUb may not have it any more\n", &lent->lease.borrower);
	}
	mutex_unlock(&lent->lock);
	if (!over)
		return 0;
	wake_up_all(&lent->wait);
	lender_kick(lent, LENDER_DO_EVICT);
	return access_wait(lent, leases);
}

/**
 * lender_access_show() - say which hosts may see a device, besides those that may borrow it
 * @lent: the device
 * @list: they
 *
 * Context: process.
 */
void lender_access_show(struct lender_dev *lent, const struct lender_access *list)
{
	mutex_lock(&lent->lock);
	lent->visible = *list;
	access_changed(lent);
	mutex_unlock(&lent->lock);
}

/**
 * lender_access_granted() - may a peer borrow a device?
 * @lent: the device; its lock is held
 * @peer: who asks
 *
 * A refusal is said once for a peer, until a list changes: asking again costs no line.
 * Context: process.
 */
bool lender_access_granted(struct lender_dev *lent, const uuid_t *peer)
{
	lockdep_assert_held(&lent->lock);
	if (lender_access_has(&lent->allow, peer))
		return true;
	if (!uuid_equal(&lent->refused, peer)) {
		lent->refused = *peer;
		dev_warn_ratelimited(&lent->dev, "not granted to host %pUb: it is not in the allow list\n",
				     peer);
	}
	return false;
}

/**
 * lender_access_told() - what the peer of a link is told of a device
 * @lent: the device; its lock is held
 * @link: the link
 * @offer: what one is told who may borrow it
 *
 * Context: process. Return: &enum devlend_offer_state; 0: it is not to know of it.
 */
u32 lender_access_told(const struct lender_dev *lent, struct devlend_link *link, u32 offer)
{
	uuid_t peer;

	lockdep_assert_held(&lent->lock);
	devlend_link_peer_host(link, &peer);
	return lender_access_offer(lender_access_right(&lent->allow, &lent->visible, &peer), offer);
}

/**
 * lender_access_evict() - end the lease of a borrower that may not have the device any more
 * @lent: the device
 *
 * Context: the device's worker; sleeps. No effect unless lender_access_allow() asked for it.
 */
void lender_access_evict(struct lender_dev *lent)
{
	bool due;

	mutex_lock(&lent->lock);
	due = lent->revoke == DEVLEND_REVOKE_ACCESS;
	mutex_unlock(&lent->lock);
	if (!due)
		return;
	lender_lease_revoke(lent);
	mutex_lock(&lent->lock);
	/* from the end of this lease on others may borrow; unless a reclaim has come meanwhile */
	if (lent->revoke == DEVLEND_REVOKE_ACCESS)
		lent->revoke = 0;
	mutex_unlock(&lent->lock);
	if (test_and_clear_bit(LENDER_DO_END, &lent->todo))
		lender_lease_end(lent);
}
