// SPDX-License-Identifier: GPL-2.0
/*
 * The borrower's way to the registers: memory BARs of a lent device, exposed through
 * inbound windows.
 *
 * Opened by a grant, closed first of all when a lease ends, and closed and opened again around
 * a reset that the borrower asked for: there the place must be the same, since the borrower's
 * mappings stand. Called with lender_dev.lock held, in process context; sleeps, minutes on
 * some NTBs.
 *
 * Without an IOMMU behind the NTB, two leases of which one lies in what is open of the other's
 * window are not isolated from each other, and one of them cannot be closed alone. So the core is
 * asked to keep them apart, and the second is refused where it cannot, unless the operator set
 * unsafe=1.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/module.h>
#include <linux/pci.h>

#include <devlend/plan.h>

#include "bars.h"
#include "lent.h"
#include "trace.h"

static bool unsafe;
module_param(unsafe, bool, 0644);
MODULE_PARM_DESC(unsafe, "Lend though nothing isolates a device from another lease, or from this host");

/* Did the operator permit what isolates nothing? Context: any. */
bool lender_unsafe(void)
{
	return READ_ONCE(unsafe);
}

static bool bars_is_translated(struct pci_dev *ntb)
{
	struct iommu_domain *domain;

	if (!device_iommu_mapped(&ntb->dev))
		return false;
	domain = iommu_get_domain_for_dev(&ntb->dev);
	return domain && domain->type != IOMMU_DOMAIN_IDENTITY;
}

/**
 * lender_bar_flags() - flags of a BAR on the wire
 * @pdev: the device
 * @bar: 0 to 5
 *
 * Context: any. Return: %DEVLEND_BAR_IO and following; 0 where there is none.
 */
u32 lender_bar_flags(const struct pci_dev *pdev, int bar)
{
	const struct resource *res = &pdev->resource[bar];
	u32 flags = 0;

	if (!pci_resource_len(pdev, bar))
		return 0;
	if (res->flags & IORESOURCE_IO)
		return DEVLEND_BAR_IO;
	if (res->flags & IORESOURCE_MEM_64)
		flags |= DEVLEND_BAR_64;
	if (res->flags & IORESOURCE_PREFETCH)
		flags |= DEVLEND_BAR_PREFETCH;
	return flags;
}

static void bars_unmap(struct lender_bars *bars)
{
	unsigned int i;

	for (i = 0; bars->ntb && i < bars->count; i++)
		dma_unmap_resource(bars->ntb, bars->iova[i], bars->exposed[i].size,
				   DMA_BIDIRECTIONAL, 0);
	bars->ntb = NULL;
	bars->count = 0;
}

/* List the memory BARs as the NTB function addresses them. */
static int bars_list(struct lender_dev *lent, struct pci_dev *ntb)
{
	struct lender_bars *bars = &lent->lease.bars;
	int i;

	memset(bars, 0, sizeof(*bars));
	if (bars_is_translated(ntb))
		bars->ntb = &ntb->dev;
	for (i = 0; i < DEVLEND_BARS; i++) {
		struct resource *res = &lent->pdev->resource[i];
		struct devlend_exposed *e = &bars->exposed[bars->count];

		if (!pci_resource_len(lent->pdev, i) || !(res->flags & IORESOURCE_MEM))
			continue;
		e->size = pci_resource_len(lent->pdev, i);
		if (bars->ntb) {
			dma_addr_t iova = dma_map_resource(bars->ntb, res->start, e->size,
							   DMA_BIDIRECTIONAL, 0);

			if (dma_mapping_error(bars->ntb, iova))
				return -ENOMEM;
			bars->iova[bars->count] = iova;
			e->bus_addr = iova;
		} else {
			struct pci_bus_region region;

			pcibios_resource_to_bus(ntb->bus, &region, res);
			e->bus_addr = region.start;
		}
		bars->index[bars->count++] = i;
	}
	return 0;
}

static int bars_open(struct lender_dev *lent, struct devlend_link *link, bool permit_sharing)
{
	struct lender_bars *bars = &lent->lease.bars;
	struct pci_dev *ntb = devlend_link_pdev(link);
	enum devlend_apart apart;
	int err;

	lockdep_assert_held(&lent->lock);
	if (!ntb)
		return -ENODEV;
	err = bars_list(lent, ntb);
	if (err)
		goto unmap;
	bars->permit_sharing = permit_sharing;
	if (bars->ntb)
		apart = DEVLEND_APART_NO;
	else
		apart = permit_sharing ? DEVLEND_APART_IF : DEVLEND_APART_MUST;
	err = bars->count ? devlend_expose(link, bars->exposed, bars->count, apart) : 0;
	trace_lender_step(lent->pdev, "expose", err);
	if (!err)
		return 0;
	if (err == -EPERM)
		dev_err_ratelimited(&lent->dev, "not granted: it would share a memory window with another lease, and no IOMMU isolates the two; reclaim that one, or load this module with unsafe=1\n");
unmap:
	bars_unmap(bars);
	return err;
}

/**
 * lender_bars_open() - expose a device's memory BARs
 * @lent: the device; its lock is held, it has no BARs open
 * @link: through which NTB
 *
 * Context: process, sleeps.
 * Return: 0 with &lender_lease.bars filled in; -ENODEV where the NTB is gone; -ENOSPC (the
 * core says why); -EPERM where a window would be shared.
 */
int lender_bars_open(struct lender_dev *lent, struct devlend_link *link)
{
	int err = bars_open(lent, link, lender_unsafe());

	if (!err && lender_bars_shared(lent, link))
		dev_warn_ratelimited(&lent->dev, "shares a memory window with another lease: they are not isolated from each other (unsafe=1)\n");
	return err;
}

/**
 * lender_bars_shared() - do leases reach each other's registers?
 * @lent: the device; its lock is held
 * @link: its lease's
 *
 * Context: process, sleeps.
 * Return: whether what is open for this lease reaches the registers of another one, or the other
 * way round, with no IOMMU between.
 */
bool lender_bars_shared(struct lender_dev *lent, struct devlend_link *link)
{
	const struct lender_bars *bars = &lent->lease.bars;

	lockdep_assert_held(&lent->lock);
	return bars->count && !bars->ntb &&
	       !devlend_exposed_apart(link, bars->exposed, bars->count);
}

/**
 * lender_bars_close() - close the way to the registers
 * @lent: the device; its lock is held
 *
 * Nothing happens where they are closed. The link is the lease's; its NTB is still there, for
 * link_gone closes what is open. Context: process, sleeps.
 */
void lender_bars_close(struct lender_dev *lent)
{
	struct lender_bars *bars = &lent->lease.bars;

	lockdep_assert_held(&lent->lock);
	if (!lent->lease.link || !bars->count)
		return;
	devlend_unexpose(lent->lease.link, bars->exposed, bars->count);
	trace_lender_step(lent->pdev, "unexpose", 0);
	bars_unmap(bars);
}

/**
 * lender_bars_reopen() - open them again after a reset in the course of a lease
 * @lent: the device; its lock is held, its BARs are closed
 * @before: &lender_lease.bars before they were closed
 *
 * Context: process, sleeps.
 * Return: 0; -ESTALE where the windows have moved; else as lender_bars_open().
 */
int lender_bars_reopen(struct lender_dev *lent, const struct lender_bars *before)
{
	struct lender_bars *now = &lent->lease.bars;
	unsigned int i;
	/* what was granted stays granted, whatever "unsafe" says now */
	int err = bars_open(lent, lent->lease.link, before->permit_sharing);

	for (i = 0; !err && i < now->count; i++)
		if (now->exposed[i].window != before->exposed[i].window ||
		    now->exposed[i].offset != before->exposed[i].offset)
			err = -ESTALE;
	if (err == -ESTALE)
		lender_bars_close(lent);
	return err;
}
