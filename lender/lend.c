// SPDX-License-Identifier: GPL-2.0
/*
 * Taking a device from its driver, and giving it back exactly as it was.
 *
 * Called by the driver attributes of sysfs.c, which check, queue and wait; the work is done by
 * the device's worker (lent.c), so it is finished whether or not the writer is killed.
 *
 * From the moment that driver_override names this driver nobody else can bind the device;
 * it is put back on every way out, unless an operator changed it meanwhile. The driver
 * that had the device is bound again by the same means: the override names it
 * for a moment, so that the PCI core finds it with its own table entry, and no pointer to a
 * driver that may be unloaded is kept.
 *
 * Binding and unbinding take the device's own lock, so none of it happens under lender_dev.lock.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/pci.h>
#include <linux/string.h>

#include <devlend/compat.h>

#include "lend.h"
#include "lent.h"
#include "offer.h"
#include "quiesce.h"
#include "trace.h"

#define LEND_OVERRIDE_TRIES	5
#define LEND_OVERRIDE_POLL_MS	50

static struct pci_dev *lend_pdev(const struct lender_bdf *bdf)
{
	return pci_get_domain_bus_and_slot(bdf->domain, bdf->bus, bdf->devfn);
}

/*
 * A wrong override would stay for good, so a lack of memory, which for so little is one of a
 * moment, is waited out.
 */
static int lend_set_override(struct lender_dev *lent, const char *name)
{
	unsigned int tries;
	int err;

	for (tries = LEND_OVERRIDE_TRIES; ; tries--) {
		err = devlend_driver_override_set(lent->pdev, name);
		if (err != -ENOMEM || tries == 1)
			return err;
		msleep(LEND_OVERRIDE_POLL_MS);
	}
}

/* Remember which driver has the device, and keep others away from it. */
static int lend_reserve(struct lender_dev *lent)
{
	struct device *dev = &lent->pdev->dev;
	char *override = devlend_driver_override_get(lent->pdev);

	if (IS_ERR(override))
		return PTR_ERR(override);
	lent->override = override;
	device_lock(dev);
	if (dev->driver)
		strscpy(lent->driver, dev->driver->name, sizeof(lent->driver));
	device_unlock(dev);
	return lend_set_override(lent, LENDER_DRIVER_NAME);
}

static bool lend_is_bound(struct lender_dev *lent)
{
	bool bound;

	mutex_lock(&lent->lock);
	bound = lent->bound;
	mutex_unlock(&lent->lock);
	return bound;
}

/* driver_override as it was; left alone where an operator changed it meanwhile. */
static void lend_restore_override(struct lender_dev *lent, const char *expected)
{
	if (devlend_driver_override_is(lent->pdev, expected) &&
	    lend_set_override(lent, lent->override))
		pci_err(lent->pdev, "cannot restore driver_override; write \"%s\" to it\n",
			lent->override ?: "");
}

/* Bind the driver that had the device, or, where an operator named another meanwhile, that one. */
static void lend_rebind(struct lender_dev *lent)
{
	struct device *dev = &lent->pdev->dev;
	const char *expected = LENDER_DRIVER_NAME;
	int bound = 0;

	if (!devlend_driver_override_is(lent->pdev, expected)) {
		bound = device_attach(dev);
		trace_lender_step(lent->pdev, "rebind", bound);
		return;
	}
	if (lent->driver[0] && !lend_set_override(lent, lent->driver)) {
		expected = lent->driver;
		bound = device_attach(dev);
	}
	lend_restore_override(lent, expected);
	trace_lender_step(lent->pdev, "rebind", bound);
	if (lent->driver[0] && bound != 1)
		pci_warn(lent->pdev, "given back, but its driver %s did not bind; load it, or write to drivers_probe\n",
			 lent->driver);
}

/* Unbind from this driver and bind the old one; state reclaiming. */
static void lend_hand_back(struct lender_dev *lent)
{
	if (lend_is_bound(lent))
		device_release_driver(&lent->pdev->dev);
	lend_rebind(lent);
}

/* The end of a lent device, whatever its way there. */
static void lend_finish(struct lender_dev *lent, int error)
{
	bool registered;

	mutex_lock(&lent->lock);
	registered = lent->registered;
	lent->registered = false;
	mutex_unlock(&lent->lock);
	if (registered)
		device_del(&lent->dev);
	mutex_lock(&lent->lock);
	lent->error = error;
	lender_enter(lent, LENDER_GONE);
	mutex_unlock(&lent->lock);
	/* it stays listed until no peer's worker needs it to send the withdrawal */
	lender_offers_flush();
	lender_forget(lent);
}

/* Show the device on the devlend bus, and offer it. */
static int lend_publish(struct lender_dev *lent)
{
	int err = device_add(&lent->dev);

	if (err)
		return err;
	mutex_lock(&lent->lock);
	lent->registered = true;
	lender_enter(lent, LENDER_OFFERED);
	/* while it was being taken */
	if (lent->upset)
		lender_upset(lent);
	mutex_unlock(&lent->lock);
	return 0;
}

/**
 * lender_take() - take a device from its driver and offer it
 * @lent: in state taking
 *
 * Context: the device's worker.
 */
void lender_take(struct lender_dev *lent)
{
	struct device *dev = &lent->pdev->dev;
	const char *step = "cannot set driver_override";
	int err;

	/* a reclaim may have come first */
	if (READ_ONCE(lent->state) != LENDER_TAKING)
		return;
	err = lend_reserve(lent);
	if (err)
		goto fail;
	step = "cannot bind the device to " LENDER_DRIVER_NAME;
	device_release_driver(dev);
	err = device_driver_attach(&lender_pci_driver.driver, dev);
	/* somebody else's bind may have come first: to this driver it could only be */
	if (err && !lend_is_bound(lent))
		goto fail;
	step = "cannot stop and reset the device";
	err = lender_quiesce(lent);
	if (err)
		goto fail;
	step = "cannot add it to the devlend bus";
	err = lend_publish(lent);
	if (err)
		goto fail;
	pci_info(lent->pdev, "lent: offered to other hosts; %s%s had it\n",
		 lent->driver[0] ? "driver " : "no driver", lent->driver);
	return;
fail:
	pci_err(lent->pdev, "not lent: %s (%d)\n", step, err);
	mutex_lock(&lent->lock);
	lender_enter(lent, LENDER_RECLAIMING);
	mutex_unlock(&lent->lock);
	lend_hand_back(lent);
	lend_finish(lent, err);
}

/*
 * From whatever there is to state reclaiming. An error or a foreign reset may make it returning at
 * any moment; its bit is set by then. false: unbound meanwhile, or gone.
 */
static bool lend_start_reclaim(struct lender_dev *lent)
{
	bool settled, bound;

	do {
		if (test_and_clear_bit(LENDER_DO_END, &lent->todo))
			lender_lease_end(lent);
		mutex_lock(&lent->lock);
		bound = lent->bound;
		settled = lent->state != LENDER_RETURNING;
		if (bound && settled)
			lender_enter(lent, LENDER_RECLAIMING);
		mutex_unlock(&lent->lock);
	} while (bound && !settled);
	return bound && READ_ONCE(lent->state) == LENDER_RECLAIMING;
}

/**
 * lender_give_back() - end the lease if there is one, and give the device to its driver
 * @lent: in any state
 *
 * Context: the device's worker.
 */
void lender_give_back(struct lender_dev *lent)
{
	enum lender_state state;

	mutex_lock(&lent->lock);
	state = lent->state;
	mutex_unlock(&lent->lock);
	if (state == LENDER_GONE)
		return;
	/* no new lease can start: grants look at &lender_dev.revoke */
	if (state == LENDER_BORROWED)
		lender_lease_revoke(lent);
	if (!lend_start_reclaim(lent)) {
		lender_unbound(lent);
		return;
	}
	lend_hand_back(lent);
	pci_info(lent->pdev, "no longer lent\n");
	lend_finish(lent, 0);
}

/**
 * lender_unbound() - clear up after somebody else unbound or removed the device
 * @lent: not bound any more; its lease, if there was one, has ended
 *
 * The device is left without a driver, as whoever unbound it asked for.
 * Context: the device's worker.
 */
void lender_unbound(struct lender_dev *lent)
{
	enum lender_state state;

	mutex_lock(&lent->lock);
	state = lent->state;
	mutex_unlock(&lent->lock);
	if (state == LENDER_GONE)
		return;
	lend_restore_override(lent, LENDER_DRIVER_NAME);
	pci_warn(lent->pdev, "no longer lent: it was unbound or removed\n");
	lend_finish(lent, 0);
}

/* Wait for the worker; the work goes on if the writer is killed. */
static int lend_wait(struct lender_dev *lent, bool (*done)(struct lender_dev *lent))
{
	long left = wait_event_killable_timeout(lent->wait, done(lent),
						msecs_to_jiffies(LENDER_WAIT_MS));

	if (left < 0)
		return -EINTR;
	return left ? 0 : -ETIMEDOUT;
}

static bool lend_taken(struct lender_dev *lent)
{
	enum lender_state state = READ_ONCE(lent->state);

	return state != LENDER_TAKING && state != LENDER_RECLAIMING;
}

static bool lend_gone(struct lender_dev *lent)
{
	return READ_ONCE(lent->state) == LENDER_GONE;
}

/* End the wait of a reclaim for its borrower: a second one came, with no grace. */
static void lend_ask_back(struct lender_dev *lent, u32 reason, unsigned int grace_ms)
{
	mutex_lock(&lent->lock);
	lent->revoke = reason;
	lent->grace_ms = grace_ms;
	mutex_unlock(&lent->lock);
	wake_up_all(&lent->wait);
	lender_kick(lent, LENDER_DO_RECLAIM);
}

/**
 * lender_lend() - serve a write to `lend`
 * @bdf: what was written
 *
 * Context: process; killable, at most %LENDER_WAIT_MS.
 * Return: 0 with the device offered; else the precise errno, with the reason in the log.
 */
int lender_lend(const struct lender_bdf *bdf)
{
	struct pci_dev *pdev = lend_pdev(bdf);
	struct lender_dev *lent;
	int err;

	if (!pdev)
		return -ENODEV;
	/* first, since the other questions are asked of devices that are not lent */
	lent = lender_find_pdev(pdev);
	if (lent) {
		lender_put(lent);
		err = -EBUSY;
	} else {
		err = lender_may_lend(pdev, bdf->force);
		if (err)
			goto put;
		lent = lender_create(pdev, bdf->force && !pdev->reset_methods[0]);
		err = PTR_ERR_OR_ZERO(lent);
	}
	if (err) {
		pci_err(pdev, "not lent: %s (%d)\n",
			err == -EBUSY ? "it already is" : "no memory, or the module goes", err);
		goto put;
	}
	/* before anybody can ask for it */
	lent->allow.any = !bdf->private;
	lender_kick(lent, LENDER_DO_TAKE);
	err = lend_wait(lent, lend_taken);
	if (!err) {
		mutex_lock(&lent->lock);
		err = lent->error;
		mutex_unlock(&lent->lock);
	}
	lender_put(lent);
put:
	pci_dev_put(pdev);
	return err;
}

/**
 * lender_reclaim() - serve a write to `reclaim`
 * @bdf: what was written; force: the borrower gets no grace
 *
 * Context: process; killable, at most %LENDER_WAIT_MS.
 * Return: 0 with the device given back; -ENODEV where it is not lent; -EINVAL for "private".
 */
int lender_reclaim(const struct lender_bdf *bdf)
{
	struct pci_dev *pdev;
	struct lender_dev *lent;
	int err;

	if (bdf->private)
		return -EINVAL;
	pdev = lend_pdev(bdf);
	if (!pdev)
		return -ENODEV;
	lent = lender_find_pdev(pdev);
	err = -ENODEV;
	if (!lent)
		goto put;
	lend_ask_back(lent, DEVLEND_REVOKE_RECLAIM, bdf->force ? 0 : LENDER_GRACE_MS);
	err = lend_wait(lent, lend_gone);
	lender_put(lent);
put:
	pci_dev_put(pdev);
	return err;
}

/**
 * lender_reclaim_all() - take back all devices, when the module goes
 * @reason: &enum devlend_revoke_reason
 *
 * New ones must be shut out already. Context: process; waits until all are given back: each
 * worker's own waits have bounds.
 */
void lender_reclaim_all(u32 reason)
{
	struct lender_dev *lent;
	u32 id;

	for (id = 0; (lent = lender_next(id)); id = lent->id, lender_put(lent))
		lend_ask_back(lent, reason, LENDER_GRACE_MS);
	for (id = 0; (lent = lender_next(id)); id = lent->id, lender_put(lent))
		wait_event(lent->wait, lend_gone(lent));
	/* and until the peers have heard of it, for the links go next */
	lender_lents_flush();
}
