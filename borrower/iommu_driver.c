// SPDX-License-Identifier: GPL-2.0
/*
 * An IOMMU driver for shadows, so that the kernel's own IOMMU DMA (dma-iommu) works for them.
 *
 * Everything that a driver may do with the DMA API is there: scatter lists, coherent memory of any
 * size from pages anywhere, mmap, bouncing of parts of pages for devices that are not trusted, and
 * each shadow has a group of its own. Here is only what an IOMMU's hardware would do. A shadow's
 * domain has the addresses by which the lent device reaches its slice of the NTB's I/O range
 * (io_range.c); mapping at an offset in one maps at the same offset in the other.
 *
 * The kernel finds this driver by the firmware node that the DMA mode gives a shadow before the
 * drivers of real IOMMUs see the device; so these go on beside it. Registering makes the kernel
 * offer all devices without group to all IOMMU drivers again, which must not happen to a shadow in
 * direct mode: it is done before there are shadows, when the module is loaded.
 *
 * The policy is the host's for the NTB function. Strict: what is unmapped is closed when the unmap
 * returns. Lazy: when the kernel's flush queue is flushed, which is IOMMU_QUEUE_TIME later at most.
 * A shadow has one domain, that of its driver's DMA. A second, which pass-through would want, is
 * refused.
 *
 * Called by the IOMMU core: probe and domains under its locks, in process context; map and unmap in
 * any context. Owns the domains; no locks.
 */
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/iommu.h>
#include <linux/iommu-dma.h>
#include <linux/lockdep.h>
#include <linux/pci.h>
#include <linux/property.h>
#include <linux/slab.h>

#include <devlend/compat.h>

#include "dma.h"
#include "lease.h"
#include "shadow.h"

/* name in /sys/class/iommu */
#define IOMMU_NAME	"devlend"
/* bit of &borrower_io_slice.attached */
#define IOMMU_ATTACHED	0
/* ms, dma-iommu's IOVA_DEFAULT_FQ_TIMEOUT: a flush queue is flushed after this time, or earlier */
#define IOMMU_QUEUE_TIME	10

/**
 * struct iommu_shadow_domain - the DMA domain of a shadow
 * @domain: for the kernel
 * @slice: of its lease, which outlives the shadow
 * @device_base: address by which the lent device reaches the first byte of @slice
 */
struct iommu_shadow_domain {
	struct iommu_domain domain;
	struct borrower_io_slice *slice;
	u64 device_base;
};

static struct iommu_device iommu_device;
static struct fwnode_handle *iommu_node;
/* a copy outside of the module's text: see borrower_iommu_init() */
static struct iommu_ops *iommu_ops;

static struct iommu_shadow_domain *to_shadow_domain(struct iommu_domain *domain)
{
	return container_of(domain, struct iommu_shadow_domain, domain);
}

/* The lease of a shadow in this mode; NULL for any other device. */
static struct borrower_lease *iommu_lease(struct device *dev)
{
	struct borrower_lease *lease;

	if (!dev_is_pci(dev) || to_pci_dev(dev)->bus->ops != &borrower_pci_ops)
		return NULL;
	lease = borrower_shadow_of_bus(to_pci_dev(dev)->bus)->lease;
	return lease->dma == &borrower_dma_iommu ? lease : NULL;
}

static int iommu_attach(struct iommu_domain *domain, struct device *dev)
{
	struct borrower_lease *lease = iommu_lease(dev);

	return lease && to_shadow_domain(domain)->slice == &lease->memory.io ? 0 : -EINVAL;
}

#ifdef DEVLEND_HAVE_IOMMU_ATTACH_OLD
static int iommu_attach_dev(struct iommu_domain *domain, struct device *dev,
			    struct iommu_domain *old)
{
	return iommu_attach(domain, dev);
}
#else
#define iommu_attach_dev	iommu_attach
#endif

/* All pages are of PAGE_SIZE. */
static int iommu_map_pages(struct iommu_domain *domain, unsigned long iova, phys_addr_t paddr,
			   size_t pgsize, size_t pgcount, int prot, gfp_t gfp, size_t *mapped)
{
	struct iommu_shadow_domain *sd = to_shadow_domain(domain);

	return borrower_io_map(sd->slice, iova - sd->device_base, paddr, pgcount, prot, gfp,
			       mapped);
}

static int iommu_sync_mapped(struct iommu_domain *domain, unsigned long iova, size_t size)
{
	struct iommu_shadow_domain *sd = to_shadow_domain(domain);

	return borrower_io_sync_map(sd->slice, iova - sd->device_base, size);
}

/* With its TLB entries, unless the kernel has a flush queue and gathers for that. */
static size_t iommu_unmap_pages(struct iommu_domain *domain, unsigned long iova, size_t pgsize,
				size_t pgcount, struct iommu_iotlb_gather *gather)
{
	struct iommu_shadow_domain *sd = to_shadow_domain(domain);

	return borrower_io_unmap(sd->slice, iova - sd->device_base, pgcount, gather);
}

/* Called by the flush queue, with a spinlock or from its timer. */
static void iommu_flush(struct iommu_domain *domain)
{
	borrower_io_flush(to_shadow_domain(domain)->slice);
}

static phys_addr_t iommu_to_phys(struct iommu_domain *domain, dma_addr_t iova)
{
	struct iommu_shadow_domain *sd = to_shadow_domain(domain);

	return borrower_io_to_phys(sd->slice, iova - sd->device_base);
}

static void iommu_free(struct iommu_domain *domain)
{
	struct iommu_shadow_domain *sd = to_shadow_domain(domain);

	clear_bit(IOMMU_ATTACHED, &sd->slice->attached);
	kfree(sd);
}

static const struct iommu_domain_ops iommu_domain_ops = {
	.attach_dev	= iommu_attach_dev,
	.map_pages	= iommu_map_pages,
	.unmap_pages	= iommu_unmap_pages,
	.iotlb_sync_map	= iommu_sync_mapped,
	.flush_iotlb_all = iommu_flush,
	.iova_to_phys	= iommu_to_phys,
	.free		= iommu_free,
};

static struct iommu_domain *iommu_alloc_paging(struct device *dev)
{
	struct borrower_lease *lease = iommu_lease(dev);
	struct iommu_shadow_domain *sd;

	if (!lease)
		return ERR_PTR(-ENODEV);
	sd = kzalloc(sizeof(*sd), GFP_KERNEL);
	if (!sd)
		return ERR_PTR(-ENOMEM);
	if (test_and_set_bit(IOMMU_ATTACHED, &lease->memory.io.attached)) {
		kfree(sd);
		return ERR_PTR(-EBUSY);
	}
	sd->slice = &lease->memory.io;
	sd->device_base = lease->memory.device_addr[BORROWER_MAP_RAM];
	/*
	 * One page size, so that a buffer is mapped and unmapped by a single call each; below, the
	 * real IOMMU takes larger pages where it can.
	 */
	sd->domain.pgsize_bitmap = PAGE_SIZE;
	/* the first page is the probe's: a write of it that comes late must not hit a driver's */
	sd->domain.geometry.aperture_start = sd->device_base + PAGE_SIZE;
	sd->domain.geometry.aperture_end = sd->device_base + sd->slice->size - 1;
	sd->domain.geometry.force_aperture = true;
	return &sd->domain;
}

static bool iommu_capable(struct device *dev, enum iommu_cap cap)
{
	return cap == IOMMU_CAP_CACHE_COHERENCY || cap == IOMMU_CAP_DEFERRED_FLUSH;
}

static int iommu_default_type(struct device *dev)
{
	struct borrower_lease *lease = iommu_lease(dev);

	return lease && lease->memory.io.lazy ? IOMMU_DOMAIN_DMA_FQ : IOMMU_DOMAIN_DMA;
}

static struct iommu_device *iommu_probe(struct device *dev)
{
	return iommu_lease(dev) ? &iommu_device : ERR_PTR(-ENODEV);
}

/* The queue goes next, unflushed, with page tables that hardware may remember. */
static void iommu_release(struct device *dev)
{
	struct borrower_lease *lease = iommu_lease(dev);

	if (lease)
		borrower_io_flush(&lease->memory.io);
}

static const struct iommu_ops iommu_ops_template = {
	.capable		= iommu_capable,
	.domain_alloc_paging	= iommu_alloc_paging,
	.probe_device		= iommu_probe,
	.release_device		= iommu_release,
	.device_group		= generic_device_group,
	.def_domain_type	= iommu_default_type,
	.default_domain_ops	= &iommu_domain_ops,
};

/**
 * borrower_iommu_add() - make a shadow this driver's, before another looks at it
 * @pdev: the shadow, being added; its lease is attached
 *
 * Context: process. Return: 0 or an errno.
 */
int borrower_iommu_add(struct pci_dev *pdev)
{
	int err;

	/*
	 * The IOMMU core's lock, which its own callers hold, is not for modules. It orders those
	 * who look at one device; nobody looks at this one yet.
	 */
	lockdep_off();
	err = iommu_fwspec_init(&pdev->dev, iommu_node);
	lockdep_on();
	return err;
}

/**
 * borrower_iommu_remove() - undo borrower_iommu_add(): the IOMMU core has done it
 * @pdev: the shadow, removed
 *
 * Context: process.
 */
void borrower_iommu_remove(struct pci_dev *pdev)
{
}

/**
 * borrower_iommu_flush_ms() - how long what the driver of a shadow has unmapped may stay in reach
 * @pdev: the shadow, which this driver translates for
 *
 * Its group's type may be made lazy later than at the beginning, so the domain is asked.
 *
 * Context: process. Return: milliseconds, without what the kernel's timer is late; 0 = not at all.
 */
unsigned int borrower_iommu_flush_ms(struct pci_dev *pdev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&pdev->dev);

	return domain && domain->type == IOMMU_DOMAIN_DMA_FQ ? IOMMU_QUEUE_TIME : 0;
}

/**
 * borrower_iommu_is_ours() - did the kernel take this driver for a shadow, and its own DMA above?
 * @slice: the lease's
 * @dev: the shadow, added, no driver bound
 *
 * Context: process.
 */
bool borrower_iommu_is_ours(const struct borrower_io_slice *slice, struct device *dev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return domain && domain->ops == &iommu_domain_ops && iommu_is_dma_domain(domain) &&
	       to_shadow_domain(domain)->slice == slice && use_dma_iommu(dev);
}

/**
 * borrower_iommu_init() - register the IOMMU driver
 *
 * With an owner the IOMMU core would hold this module for each shadow, and it could not be unloaded
 * with leases, which ends them. It need not be held: unloading waits until no shadow is left. The
 * core insists on an owner only for operations that lie in a module.
 *
 * Context: process; no shadow may exist. Return: 0 or an errno.
 */
int borrower_iommu_init(void)
{
	int err = -ENOMEM;

	iommu_ops = kmemdup(&iommu_ops_template, sizeof(iommu_ops_template), GFP_KERNEL);
	if (!iommu_ops)
		return err;
	iommu_node = fwnode_create_software_node(NULL, NULL);
	if (IS_ERR(iommu_node)) {
		err = PTR_ERR(iommu_node);
		goto free;
	}
	err = iommu_device_sysfs_add(&iommu_device, NULL, NULL, IOMMU_NAME);
	if (err)
		goto remove_node;
	iommu_device.fwnode = iommu_node;
	err = iommu_device_register(&iommu_device, iommu_ops, NULL);
	if (err)
		goto remove_sysfs;
	return 0;
remove_sysfs:
	iommu_device_sysfs_remove(&iommu_device);
remove_node:
	fwnode_remove_software_node(iommu_node);
free:
	kfree(iommu_ops);
	return err;
}

/**
 * borrower_iommu_exit() - take it out again; no shadow is left
 *
 * Context: process.
 */
void borrower_iommu_exit(void)
{
	iommu_device_unregister(&iommu_device);
	iommu_device_sysfs_remove(&iommu_device);
	fwnode_remove_software_node(iommu_node);
	kfree(iommu_ops);
}
