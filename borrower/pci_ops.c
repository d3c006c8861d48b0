// SPDX-License-Identifier: GPL-2.0
/*
 * The PCI core's way into a shadow's config space, and that config space's way to the lender.
 *
 * One function stands on the shadow's root bus, at 00.0; all others are not there. Context: as the PCI core calls
 * it: user-space accesses hold its lock with interrupts off, kernel accesses on x86 hold nothing. The lock of
 * the config space is its own.
 */
#include <linux/pci.h>

#include <devlend/core.h>

#include "config.h"
#include "grant.h"
#include "lease.h"
#include "shadow.h"

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

	if (err)
		dev_warn_ratelimited(&shadow->lease->dev, "the lender did not carry out a config write (%d)\n",
				     err);
	return err;
}

static const struct borrower_config_fwd ops_fwd = {
	.post = ops_post,
	.flush = ops_flush,
};

/**
 * borrower_config_init() - make a shadow's config space, with its way to the lender
 * @cfg: inside a struct borrower_shadow, whose lease is set
 * @link: the lease's link
 * @grant: the lease's, valid
 * @runs: sparse image from the lender
 * @len: its length in bytes
 *
 * Context: process. Return: 0; -EPROTO; -ENOMEM.
 */
int borrower_config_init(struct borrower_config *cfg, struct devlend_link *link,
			 const struct borrower_grant *grant, const void *runs, size_t len)
{
	return borrower_config_setup(cfg, grant, runs, len, &ops_fwd,
				     container_of(cfg, struct borrower_shadow, config));
}
