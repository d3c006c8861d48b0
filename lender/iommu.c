// SPDX-License-Identifier: GPL-2.0
/*
 * A lent device behind this host's IOMMU: what it may address is what its borrower attached,
 * and nothing else of this host.
 *
 * The default domain is no help: it is the group's, holds what this host's drivers mapped, and
 * with iommu=pt everything. So when the device is bound to this driver its group's DMA is
 * claimed, as VFIO does, and a paging domain of our own is attached, with nothing in it. It stays
 * until the device is unbound, through all leases: between two of them the device reaches
 * nothing. ATTACH maps parts of the NTB's aperture, at I/O addresses that iova.c chooses, outside
 * of this host's bridge windows (where a switch would take an address for a neighbour's) and the
 * IOMMU's reserved regions; they are unmapped when the lease has ended and the device is at
 * rest, or before the NTB goes. A device that this host's IOMMU does not know has none of this.
 *
 *   bound      claim -> domain -> attach          (driver.c)
 *   ATTACH     place -> map                       (aperture.c)
 *   lease ends unmap                              (lease.c)
 *   unbound    unmap -> detach -> free -> release (driver.c)
 *
 * What one domain cannot keep apart is refused, unless the operator set unsafe=1: a group in
 * which this host, or another lease, uses a further device, and a host without isolated
 * interrupts, where a write to 0xfee00000 is any interrupt and no domain stands in its way.
 *
 * Locks: attach and detach run under the device's own lock, which is outside of the group's.
 * lender_dev.lock protects struct lender_iommu; what comes before a device is bound needs none.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/iommu.h>
#include <linux/list.h>
#include <linux/pci.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include <devlend/compat.h>

#include "bars.h"
#include "iommu.h"
#include "iova.h"
#include "lent.h"
#include "trace.h"

/* So many others of a group are looked at before anything is touched; the claim sees all. */
#define IOMMU_MATES_MAX		8
/*
 * Lowest I/O address: to many a driver 0 means "none", and this host's bridges forward the legacy
 * ranges below 1 MiB.
 */
#define IOMMU_FIRST		SZ_1M

/**
 * struct iommu_mates - the other devices of a group
 * @self: the one that they are the others of
 * @dev: referenced
 * @count: entries of @dev
 */
struct iommu_mates {
	struct device *self;
	struct device *dev[IOMMU_MATES_MAX];
	unsigned int count;
};

static int iommu_collect_mate(struct device *dev, void *data)
{
	struct iommu_mates *mates = data;

	if (dev != mates->self && mates->count < IOMMU_MATES_MAX)
		mates->dev[mates->count++] = get_device(dev);
	return 0;
}

/* Would the group's DMA be somebody else's too? As the claim sees it: by the driver. */
static bool iommu_mate_in_use(struct device *dev)
{
	bool in_use = false;

	device_lock(dev);
	if (dev->driver) {
		struct pci_driver *drv = dev_is_pci(dev) ? to_pci_driver(dev->driver) : NULL;

		in_use = !drv || !drv->driver_managed_dma || drv == &lender_pci_driver;
	}
	device_unlock(dev);
	return in_use;
}

/* The group's lock is held while its members are listed: their own are taken afterwards. */
static bool iommu_group_is_shared(struct iommu_group *group, struct device *self)
{
	struct iommu_mates mates = { .self = self };
	bool shared = false;
	unsigned int i;

	iommu_group_for_each_dev(group, &mates, iommu_collect_mate);
	for (i = 0; i < mates.count; i++) {
		shared = shared || iommu_mate_in_use(mates.dev[i]);
		put_device(mates.dev[i]);
	}
	return shared;
}

/* Would the device reach its borrower, and all of this host, if it were left where it is? */
static bool iommu_is_identity(struct device *dev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return domain && domain->type == IOMMU_DOMAIN_IDENTITY;
}

/**
 * lender_iommu_isolates_msi() - is the borrower kept from sending this host interrupts?
 * @pdev: a device that is to be lent
 *
 * Context: process.
 * Return: true also where no IOMMU would keep it from anything, and by unsafe=1.
 */
bool lender_iommu_isolates_msi(struct pci_dev *pdev)
{
	struct iommu_group *group = iommu_group_get(&pdev->dev);
	bool isolated;

	if (!group)
		return true;
	isolated = lender_unsafe() || devlend_isolated_msi(&pdev->dev, group);
	iommu_group_put(group);
	return isolated;
}

/**
 * lender_iommu_isolates_group() - is the device alone in its group?
 * @pdev: a device that is to be lent
 *
 * Others do no harm as long as no driver lets them do DMA.
 * Context: process; takes the others' own locks for a moment.
 * Return: true also where no IOMMU would keep them apart, and by unsafe=1 where it translates
 * nothing.
 */
bool lender_iommu_isolates_group(struct pci_dev *pdev)
{
	struct iommu_group *group = iommu_group_get(&pdev->dev);
	bool alone;

	if (!group)
		return true;
	alone = !iommu_group_is_shared(group, &pdev->dev) ||
		(lender_unsafe() && iommu_is_identity(&pdev->dev));
	iommu_group_put(group);
	return alone;
}

/* Make the group's DMA ours, with an empty domain. */
static int iommu_own(struct lender_dev *lent, struct iommu_group *group,
		     struct iommu_domain **domain, const char **step)
{
	int err = iommu_group_claim_dma_owner(group, lent);

	*step = "its group is in use";
	if (err)
		return err == -EPERM ? -EBUSY : err;
	*domain = iommu_paging_domain_alloc(&lent->pdev->dev);
	err = IS_ERR(*domain) ? PTR_ERR(*domain) : -ENOMEM;
	*step = "the IOMMU driver makes none";
	if (IS_ERR_OR_NULL(*domain))
		goto release;
	err = iommu_attach_group(*domain, group);
	*step = "it cannot be attached";
	if (err)
		goto free;
	return 0;
free:
	iommu_domain_free(*domain);
release:
	iommu_group_release_dma_owner(group);
	return err;
}

/**
 * lender_iommu_attach() - take the device out of this host's DMA
 * @lent: the device, being bound to this driver, masters no bus
 *
 * Context: process; the device's own lock is held.
 * Return: 0, also where no IOMMU translates for it, and by unsafe=1 where its group is in use and
 * not translated; -EBUSY where the group is in use; else an errno of the IOMMU driver. The reason
 * is in the log.
 */
int lender_iommu_attach(struct lender_dev *lent)
{
	struct iommu_group *group = iommu_group_get(&lent->pdev->dev);
	struct iommu_domain *domain = NULL;
	const char *step = NULL;
	int err;

	if (!group)
		return 0;
	err = iommu_own(lent, group, &domain, &step);
	trace_lender_step(lent->pdev, "iommu attach", err);
	if (err) {
		if (lender_unsafe() && iommu_is_identity(&lent->pdev->dev)) {
			pci_warn(lent->pdev, "no IOMMU domain of its own, %s (%d): its borrower reaches all memory of this host (unsafe=1)\n",
				 step, err);
			err = 0;
		} else {
			pci_err(lent->pdev, "no IOMMU domain of its own, %s (%d); look into iommu_group/devices\n",
				step, err);
		}
		iommu_group_put(group);
		return err;
	}
	mutex_lock(&lent->lock);
	lent->iommu.group = group;
	lent->iommu.domain = domain;
	mutex_unlock(&lent->lock);
	return 0;
}

/**
 * lender_iommu_detach() - give the device back to this host's DMA
 * @lent: the device, being unbound; it masters no bus. May never have been attached
 *
 * Context: process; the device's own lock is held.
 */
void lender_iommu_detach(struct lender_dev *lent)
{
	struct iommu_domain *domain;
	struct iommu_group *group;

	mutex_lock(&lent->lock);
	lender_iommu_unmap(lent);
	domain = lent->iommu.domain;
	group = lent->iommu.group;
	lent->iommu.domain = NULL;
	lent->iommu.group = NULL;
	mutex_unlock(&lent->lock);
	if (!domain)
		return;
	iommu_detach_group(domain, group);
	iommu_domain_free(domain);
	iommu_group_release_dma_owner(group);
	iommu_group_put(group);
	trace_lender_step(lent->pdev, "iommu detach", 0);
}

static int iommu_take_reserved(struct lender_dev *lent, struct lender_iova_space *space)
{
	struct iommu_resv_region *region, *next;
	LIST_HEAD(regions);
	int err = iommu_get_group_resv_regions(lent->iommu.group, &regions);

	list_for_each_entry_safe(region, next, &regions, list) {
		if (!err && region->length)
			err = lender_iova_take(space, region->start,
					       region->start + (region->length - 1));
		list_del(&region->list);
		/* copies, made for this list */
		kfree(region);
	}
	return err;
}

static int iommu_take_bridge_windows(struct pci_dev *pdev, struct lender_iova_space *space)
{
	struct pci_bus *bus = pdev->bus;
	struct resource *res;
	int i, err = 0;

	while (!pci_is_root_bus(bus))
		bus = bus->parent;
	pci_bus_for_each_resource(bus, res, i) {
		struct pci_bus_region region;

		if (err || !res || resource_type(res) != IORESOURCE_MEM)
			continue;
		pcibios_resource_to_bus(bus, &region, res);
		err = lender_iova_take(space, region.start, region.end);
	}
	return err;
}

/* The device's I/O addresses, with nothing of its borrower's in them. Lock held. */
static int iommu_space(struct lender_dev *lent, struct lender_iova_space *space)
{
	const struct iommu_domain *domain = lent->iommu.domain;
	int err;

	space->first = max_t(u64, domain->geometry.aperture_start, IOMMU_FIRST);
	space->last = domain->geometry.aperture_end;
	space->pgsizes = domain->pgsize_bitmap;
	err = iommu_take_reserved(lent, space);
	return err ?: iommu_take_bridge_windows(lent->pdev, space);
}

/**
 * lender_iommu_place() - choose the addresses that the device will use
 * @lent: the device; its lock is held
 * @map: the new map list; @lender_bus of each entry is set, where an IOMMU translates
 * @maps: its entries
 *
 * Interrupt ranges come first: they are small, and a device may know 32 bits only.
 * Context: process.
 * Return: 0; -EINVAL where an entry is not made of whole pages; -ENOSPC where there is no room;
 * -ENOMEM.
 */
int lender_iommu_place(struct lender_dev *lent, struct lender_map *map, unsigned int maps)
{
	struct lender_iova_space *space;
	unsigned int pass, i;
	int err;

	lockdep_assert_held(&lent->lock);
	if (!lent->iommu.domain)
		return 0;
	space = kzalloc(sizeof(*space), GFP_KERNEL);
	if (!space)
		return -ENOMEM;
	err = iommu_space(lent, space);
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < maps && !err; i++) {
			bool msi = map[i].kind == DEVLEND_MAP_MSI;

			if (msi == !pass)
				err = lender_iova_place(space, map[i].cpu_phys, map[i].length,
							&map[i].lender_bus);
		}
	}
	kfree(space);
	return err;
}

/**
 * lender_iommu_map() - let the device reach its borrower
 * @lent: the device; its lock is held, nothing is mapped
 * @map: the map list, placed
 * @maps: its entries, at most %DEVLEND_MAP_ENTRIES_MAX
 *
 * Context: process. Return: 0; else an errno of the IOMMU driver, with nothing mapped.
 */
int lender_iommu_map(struct lender_dev *lent, const struct lender_map *map, unsigned int maps)
{
	struct lender_iommu *iommu = &lent->iommu;
	int err = 0;

	lockdep_assert_held(&lent->lock);
	if (!iommu->domain)
		return 0;
	while (!err && iommu->maps < maps) {
		const struct lender_map *m = &map[iommu->maps];
		int prot = IOMMU_MMIO;

		prot |= m->prot & DEVLEND_PROT_READ ? IOMMU_READ : 0;
		prot |= m->prot & DEVLEND_PROT_WRITE ? IOMMU_WRITE : 0;
		err = devlend_iommu_map(iommu->domain, m->lender_bus, m->cpu_phys, m->length,
					prot);
		if (!err)
			iommu->mapped[iommu->maps++] = (struct lender_iova_range) {
				m->lender_bus, m->lender_bus + (m->length - 1),
			};
	}
	trace_lender_step(lent->pdev, "iommu map", err);
	if (err)
		lender_iommu_unmap(lent);
	return err;
}

/**
 * lender_iommu_unmap() - the device reaches nothing any more
 * @lent: the device; its lock is held, and it masters no bus
 *
 * Nothing happens where nothing is mapped. Context: process.
 */
void lender_iommu_unmap(struct lender_dev *lent)
{
	struct lender_iommu *iommu = &lent->iommu;

	lockdep_assert_held(&lent->lock);
	if (!iommu->maps)
		return;
	while (iommu->maps) {
		const struct lender_iova_range *r = &iommu->mapped[--iommu->maps];

		iommu_unmap(iommu->domain, r->start, r->last - r->start + 1);
	}
	trace_lender_step(lent->pdev, "iommu unmap", 0);
}

/**
 * lender_iommu_bits() - width of the addresses that the device may use
 * @lent: the device; its lock is held
 *
 * Context: any. Return: bits; 0 where no IOMMU translates.
 */
unsigned int lender_iommu_bits(const struct lender_dev *lent)
{
	lockdep_assert_held(&lent->lock);
	return lent->iommu.domain ? fls64(lent->iommu.domain->geometry.aperture_end) : 0;
}
