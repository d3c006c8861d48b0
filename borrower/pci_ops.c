// SPDX-License-Identifier: GPL-2.0
/*
 * The PCI core's way into a shadow's config space, and that config space's way to the lender.
 *
 * One function stands on the shadow's root bus, at 00.0; all others are not there. Called by the
 * PCI core: user-space accesses hold its raw lock with interrupts off, kernel accesses on x86 hold
 * nothing. The lock of the config space is its own.
 *
 * Operations go by the core's atomic lane. Its queue may be full where many writes came with
 * interrupts off; a delayed work then tries again until they went, or the lease ended.
 */
#include <linux/jiffies.h>
#include <linux/pci.h>
#include <linux/workqueue.h>

#include <devlend/core.h>

#include "config.h"
#include "grant.h"
#include "lease.h"
#include "shadow.h"

/* Pause before operations are queued again for which there was no room. */
#define OPS_RETRY_MS	10

static struct borrower_config *ops_config(struct pci_bus *bus, unsigned int devfn)
{
	if (devfn || !pci_is_root_bus(bus))
		return NULL;
	return &borrower_shadow_of_bus(bus)->config;
}

static int ops_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *value)
{
	struct borrower_config *cfg = ops_config(bus, devfn);

	if (!cfg) {
		PCI_SET_ERROR_RESPONSE(value);
		return PCIBIOS_DEVICE_NOT_FOUND;
	}
	*value = borrower_config_read(cfg, where, size);
	return PCIBIOS_SUCCESSFUL;
}

static int ops_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 value)
{
	struct borrower_config *cfg = ops_config(bus, devfn);

	if (!cfg)
		return PCIBIOS_DEVICE_NOT_FOUND;
	borrower_config_write(cfg, where, size, value);
	return PCIBIOS_SUCCESSFUL;
}

struct pci_ops borrower_pci_ops = {
	.read = ops_read,
	.write = ops_write,
};

static int ops_post(void *ctx, u8 op, u32 arg)
{
	struct borrower_shadow *shadow = ctx;

	return devlend_atomic_post(shadow->lease->link, op, shadow->config.handle_random, arg);
}

static int ops_flush(void *ctx)
{
	struct borrower_shadow *shadow = ctx;
	int err = devlend_atomic_flush(shadow->lease->link);

	if (err && err != -ENOTCONN)
		dev_warn_ratelimited(&shadow->lease->dev, "the lender did not carry out a config write (%d); see its log\n",
				     err);
	return err;
}

static void ops_later(void *ctx)
{
	struct borrower_shadow *shadow = ctx;

	schedule_delayed_work(&shadow->config.retry, msecs_to_jiffies(OPS_RETRY_MS));
}

static const struct borrower_config_fwd ops_fwd = {
	.post = ops_post,
	.flush = ops_flush,
	.later = ops_later,
};

static void ops_retry(struct work_struct *work)
{
	borrower_config_catch_up(container_of(work, struct borrower_config, retry.work));
}

/**
 * borrower_config_init() - make a shadow's config space, with its way to the lender
 * @cfg: inside a struct borrower_shadow, whose lease is set
 * @link: the lease's link
 * @grant: the lease's, valid
 * @runs: sparse image from the lender
 * @len: its length in bytes
 *
 * On success borrower_config_stop() is due before the shadow is freed, once the PCI core
 * has seen @cfg.
 *
 * Context: process. Return: 0; -EPROTO; -ENOMEM.
 */
int borrower_config_init(struct borrower_config *cfg, struct devlend_link *link,
			 const struct borrower_grant *grant, const void *runs, size_t len)
{
	INIT_DELAYED_WORK(&cfg->retry, ops_retry);
	return borrower_config_setup(cfg, grant, runs, len, &ops_fwd,
				     container_of(cfg, struct borrower_shadow, config));
}

/**
 * borrower_config_stop() - the lease is over, and nothing works for its config space any more
 * @cfg: made by borrower_config_init(); dead already, or not
 *
 * Accesses may still come, from who holds the device; they are answered as those of a dead one.
 * Context: process, sleeps; no locks that a work of the system's workqueue needs.
 */
void borrower_config_stop(struct borrower_config *cfg)
{
	borrower_config_kill(cfg);
	cancel_delayed_work_sync(&cfg->retry);
}
