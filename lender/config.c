// SPDX-License-Identifier: GPL-2.0
/*
 * CONFIG: the config space of a lent device as its borrower is told it.
 *
 * Read from the device, filtered and packed by config_filter.c. What the PCI core knows better than
 * the device's registers is put in afterwards: base registers, from the resources (those of I/O
 * ports are not lent, and 0), and the ids of virtual functions, whose registers read ~0.
 *
 * Called by grant.c with lender_dev.lock held and the lease valid, and by sysfs.c; process context.
 */
#include <linux/pci.h>
#include <linux/slab.h>

#include "atomic.h"
#include "config_filter.h"
#include "grant.h"
#include "lent.h"

static void config_read(struct pci_dev *pdev, u32 *real)
{
	int pos;

	for (pos = 0; pos < pdev->cfg_size && pos < DEVLEND_CONFIG_DWORDS * 4; pos += 4)
		pci_read_config_dword(pdev, pos, &real[pos / 4]);
	if (pdev->is_virtfn)
		real[PCI_VENDOR_ID / 4] = (u32)pdev->device << 16 | pdev->vendor;
}

static void config_bars(struct pci_dev *pdev, u32 *told)
{
	int i;

	for (i = 0; i < DEVLEND_BARS; i++) {
		const struct resource *res = &pdev->resource[i];
		u32 *bar = &told[PCI_BASE_ADDRESS_0 / 4 + i];
		u64 addr;

		if (!pci_resource_len(pdev, i) || !(res->flags & IORESOURCE_MEM))
			continue;
		addr = pci_bus_address(pdev, i);
		*bar = lower_32_bits(addr);
		if (res->flags & IORESOURCE_PREFETCH)
			*bar |= PCI_BASE_ADDRESS_MEM_PREFETCH;
		if (!(res->flags & IORESOURCE_MEM_64))
			continue;
		*bar |= PCI_BASE_ADDRESS_MEM_TYPE_64;
		if (i + 1 < DEVLEND_BARS)
			bar[1] = upper_32_bits(addr);
	}
}

/**
 * lender_config_told() - config space of a lent device as a borrower is told it
 * @lent: the device; its lock is held, and it is offered or borrowed
 * @told: filled in, %DEVLEND_CONFIG_DWORDS
 *
 * Context: process.
 * Return: 0, -EBUSY while it is being reset, -ENOMEM, or what the filter says of a device
 *	that it cannot read.
 */
int lender_config_told(struct lender_dev *lent, u32 *told)
{
	bool can_flr = lent->lease.link ? lender_atomic_can_flr(lent) :
					  lent->pdev->reset_methods[0];
	u32 *real;
	int err;

	lockdep_assert_held(&lent->lock);
	if (lender_atomic_resetting(lent))
		return -EBUSY;
	real = kcalloc(DEVLEND_CONFIG_DWORDS, sizeof(*real), GFP_KERNEL);
	if (!real)
		return -ENOMEM;
	config_read(lent->pdev, real);
	err = lender_config_filter(real, lent->pdev->cfg_size, can_flr, told);
	if (!err)
		config_bars(lent->pdev, told);
	kfree(real);
	return err;
}

/**
 * lender_serve_config() - answer CONFIG
 * @lent: the device; its lock is held, its lease is the request's
 * @rq: the request
 *
 * Context: process. Return: the status for the borrower.
 */
enum devlend_status lender_serve_config(struct lender_dev *lent, struct devlend_request *rq)
{
	enum devlend_status status = DEVLEND_OK;
	u32 *told;
	int n;

	if (rq->len)
		return DEVLEND_E_INVAL;
	told = kcalloc(DEVLEND_CONFIG_DWORDS, sizeof(*told), GFP_KERNEL);
	if (!told)
		return DEVLEND_E_NOMEM;
	n = lender_config_told(lent, told);
	if (n) {
		status = n == -EBUSY ? DEVLEND_E_BUSY :
			 n == -ENOMEM ? DEVLEND_E_NOMEM : DEVLEND_E_IO;
		goto free;
	}
	n = lender_config_encode(told, rq->reply, rq->reply_max / sizeof(__le32));
	if (n < 0) {
		status = DEVLEND_E_NOSPC;
		goto free;
	}
	rq->reply_len = n * sizeof(__le32);
free:
	kfree(told);
	return status;
}
