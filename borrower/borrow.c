// SPDX-License-Identifier: GPL-2.0
/*
 * The steps of a borrow, from BORROW to the first probe of the shadow's driver.
 *
 *   BORROW       the lender grants; the grant is checked hard (grant.c)
 *   expose       memory and interrupt range become reachable for the lender (dma.c)
 *   ATTACH       the lender maps them for the device, and tells the device's addresses
 *   PROBE        each window is proven by a nonce (probe.c)
 *   windows      resources inside the NTB's BARs (bars.c)
 *   interrupts   domain of the lease, and its way proven (irq.c)
 *   CONFIG       sparse config image -> the shadow's config space
 *   scan         bus, BARs, device, driver (bridge.c)
 *
 * Everything up to the scan can be refused with a precise errno and one log line, before a
 * driver has seen the device. On any error the caller tears down what there is by
 * removal.c, which also owes the lender RETURN once it granted.
 *
 * Runs in the lease's worker. Takes the lease's lock around what uses the NTB locally, never
 * across a call to the peer or while waiting for the rescan lock.
 */
#include <linux/pci.h>
#include <linux/slab.h>

#include "bridge.h"
#include "dma.h"
#include "irq_doorbell.h"
#include "lease.h"
#include "probe.h"
#include "shadow.h"
#include "trace.h"

/* Where the outbound windows lie; size 0 for one that no BAR of the NTB holds. */
static unsigned int borrow_apertures(struct borrower_lease *lease,
				     struct devlend_aperture *aperture, unsigned int max)
{
	unsigned int i, count = min(devlend_aperture_count(lease->link), max);
	int err;

	for (i = 0; i < count; i++) {
		err = devlend_aperture_get(lease->link, i, &aperture[i]);
		if (!err)
			continue;
		dev_warn(&lease->dev, "outbound window %u cannot be used (%d); has NTB %s all its BARs?\n",
			 i, err, pci_name(lease->ntb));
		aperture[i] = (struct devlend_aperture){};
	}
	return count;
}

/* BORROW: fetch the grant into the lease. */
static int borrow_grant(struct borrower_lease *lease)
{
	struct devlend_aperture aperture[DEVLEND_PLAN_WINDOWS_MAX];
	struct devlend_wire_borrow request = {
		.id = lease->offer.id,
		.mps = cpu_to_le32(pci_is_pcie(lease->ntb) ? pcie_get_mps(lease->ntb) : 128),
	};
	struct devlend_wire_grant wire;
	struct devlend_call call = {
		.op = DEVLEND_OP_BORROW,
		.data = &request,
		.len = sizeof(request),
		.reply = &wire,
		.reply_max = sizeof(wire),
	};
	unsigned int windows;
	const char *why = "length";
	uuid_t self;
	int err;

	devlend_host_uuid(&self);
	export_uuid(request.borrower_host.b, &self);
	windows = borrow_apertures(lease, aperture, ARRAY_SIZE(aperture));
	err = devlend_call(lease->link, &call);
	if (err) {
		/* that the link was lost is told already */
		if (err != -ENOTCONN)
			dev_err(&lease->dev, "the lender refused %s (%d); its log says why\n",
				lease->offer_name, err);
		return err;
	}
	err = -EPROTO;
	if (call.reply_len == sizeof(wire))
		err = borrower_grant_parse(&lease->offer, &wire, aperture, windows,
					   devlend_link_peer_epoch(lease->link),
					   &lease->grant, &why);
	/* from here on the lender holds a lease for us: even a bad grant is returned */
	if (lease->grant.handle.random)
		/* the grant before the flag: pairs with borrower_lease_granted() */
		smp_store_release(&lease->granted, true);
	if (err)
		dev_err(&lease->dev, "impossible grant of %s: %s; returned\n", lease->offer_name,
			why);
	return err;
}

/*
 * What the operator chose by its ids is what the PCI core will find: quirks and drivers
 * go by those, so this comes before the scan.
 */
static int borrow_identity(struct borrower_lease *lease, struct borrower_config *config)
{
	const struct devlend_wire_offer *offer = &lease->offer;
	u32 want = le16_to_cpu(offer->device) << 16 | le16_to_cpu(offer->vendor);
	u32 is = borrower_config_read(config, PCI_VENDOR_ID, 4);
	u32 class_rev = borrower_config_read(config, PCI_CLASS_REVISION, 4);

	if (is == want && class_rev == le32_to_cpu(offer->class_rev))
		return 0;
	dev_err(&lease->dev, "config space is that of %04x:%04x class %08x, offered was %04x:%04x class %08x; lend the device again\n",
		is & 0xffff, is >> 16, class_rev, want & 0xffff, want >> 16,
		le32_to_cpu(offer->class_rev));
	return -EPROTO;
}

/* CONFIG: fetch the image and make the shadow's config space of it. */
static int borrow_config(struct borrower_lease *lease, struct borrower_shadow *shadow)
{
	struct devlend_call call = {
		.op = DEVLEND_OP_CONFIG,
		.handle = lease->grant.handle,
		.reply_max = DEVLEND_MSG_PAYLOAD_MAX,
	};
	int err;

	call.reply = kmalloc(call.reply_max, GFP_KERNEL);
	if (!call.reply)
		return -ENOMEM;
	err = devlend_call(lease->link, &call);
	if (err)
		goto out;
	err = borrower_config_init(&shadow->config, lease->link, &lease->grant,
				   call.reply, call.reply_len);
	if (err)
		dev_err(&lease->dev, "unusable config space of %s (%d)\n", lease->offer_name, err);
	else
		err = borrow_identity(lease, &shadow->config);
out:
	kfree(call.reply);
	return err;
}

/* Open the way from the device to this host's memory. */
static int borrow_expose(struct borrower_lease *lease)
{
	int err = -ENOLINK;

	mutex_lock(&lease->lock);
	lease->memory.maps = lease->irq.ops->messages ? BORROWER_MAPS : BORROWER_MAP_MSI;
	if (!lease->dead)
		err = lease->dma->expose(&lease->memory, lease->link, lease->ntb, &lease->dev);
	mutex_unlock(&lease->lock);
	return err;
}

/* Place the windows and make the interrupt domain: the last that needs the NTB. */
static int borrow_local(struct borrower_lease *lease)
{
	int err = -ENOLINK;

	mutex_lock(&lease->lock);
	if (lease->dead)
		goto unlock;
	borrower_windows_build(&lease->windows, &lease->grant, dev_name(&lease->dev));
	err = borrower_windows_attach(&lease->windows, lease->ntb, &lease->dev);
	if (err)
		goto unlock;
	err = borrower_irq_create(lease);
unlock:
	mutex_unlock(&lease->lock);
	return err;
}

/* The bridge with its config space; from the end on in the reach of those who cut leases off. */
static int borrow_shadow(struct borrower_lease *lease)
{
	struct borrower_shadow *shadow = borrower_bridge_create(lease);
	int err;

	if (!shadow)
		return -ENOMEM;
	err = borrow_config(lease, shadow);
	if (err) {
		borrower_bridge_put(shadow);
		return err;
	}
	mutex_lock(&lease->lock);
	lease->shadow = shadow;
	if (lease->doorbell)
		lease->doorbell->config = &shadow->config;
	if (lease->dead)
		err = -ENOLINK;
	mutex_unlock(&lease->lock);
	return err;
}

/**
 * borrower_lease_borrow() - take all steps of a borrow
 * @lease: fresh
 *
 * Context: the lease's worker; no locks held.
 * Return: 0 with the shadow there; or an errno, after one log line, with
 * borrower_lease_teardown() due.
 */
int borrower_lease_borrow(struct borrower_lease *lease)
{
	int err;

	err = lease->dma->usable(&lease->memory, &lease->dev);
	if (err)
		return err;
	err = borrower_irq_choose(lease);
	if (err)
		return err;
	err = borrow_grant(lease);
	if (err)
		return err;
	err = borrow_expose(lease);
	if (err)
		return err;
	err = borrower_memory_attach(&lease->memory, lease->link, &lease->grant, &lease->dev);
	if (err)
		return err;
	err = borrower_probe_memory(lease);
	if (err)
		return err;
	err = borrower_probe_bar(lease);
	if (err)
		return err;
	err = borrow_local(lease);
	if (err)
		return err;
	err = borrower_irq_prove(lease);
	if (err)
		return err;
	err = borrow_shadow(lease);
	if (err)
		return err;
	borrower_irq_watch_start(lease);
	return borrower_bridge_scan(lease->shadow);
}
