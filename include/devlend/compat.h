/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one place for differences between kernels. The newest spelling is used
 * everywhere; what an older kernel lacks is emulated here, decided by the feature probes in
 * Kbuild.features, never by a version number.
 */
#ifndef DEVLEND_COMPAT_H
#define DEVLEND_COMPAT_H

#ifdef DEVLEND_HAVE_LINUX_UNALIGNED
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* The offset of a DMA range: a field of its own until it became derived. */
struct bus_dma_region;
#ifdef DEVLEND_HAVE_DMA_REGION_OFFSET
#define devlend_dma_region_set_offset(r)	((r)->offset = (r)->cpu_start - (r)->dma_start)
#else
#define devlend_dma_region_set_offset(r)	((void)(r))
#endif

/* Where the default bounce buffers of a device lie; false where it has none. */
#include <linux/device.h>
#include <linux/swiotlb.h>
static inline bool devlend_swiotlb_range(struct device *dev, phys_addr_t *start, phys_addr_t *end)
{
#ifdef CONFIG_SWIOTLB
	struct io_tlb_mem *mem = dev->dma_io_tlb_mem;

	if (!mem)
		return false;
#ifdef DEVLEND_HAVE_SWIOTLB_POOLS
	*start = mem->defpool.start;
	*end = mem->defpool.end;
#else
	*start = mem->start;
	*end = mem->end;
#endif
	return *end > *start;
#else
	return false;
#endif
}

/* Is this MSI domain a parent of per-device domains, or (older kernels) the global PCI one? */
#include <linux/irqdomain.h>
static inline struct irq_domain *devlend_msi_parent(struct irq_domain *domain)
{
#ifdef DEVLEND_HAVE_MSI_PARENT_FLAG
	if (domain && irq_domain_is_msi_parent(domain))
		return domain;
#endif
	return domain ? domain->parent : NULL;
}

/* For &device.bus, whose target became const: the devlend bus of <devlend/core.h>. */
#define DEVLEND_BUS	((struct bus_type *)&devlend_bus_type)

/* In tracepoints: copy a string that was declared by __string(dst, src). */
#ifdef DEVLEND_HAVE_ASSIGN_STR_ONE
#define devlend_assign_str(dst, src)	__assign_str(dst)
#else
#define devlend_assign_str(dst, src)	__assign_str(dst, src)
#endif

/* A bus type is constant since device.bus points to a constant one. */
#ifdef DEVLEND_HAVE_CONST_BUS
#define DEVLEND_BUS_CONST	const
#else
#define DEVLEND_BUS_CONST
#endif

/* Binary attributes, and lists of them, became constant. */
#ifdef DEVLEND_HAVE_CONST_BIN_ATTR
#define DEVLEND_BIN_ATTR_CONST	const
#else
#define DEVLEND_BIN_ATTR_CONST
#endif

/* Timers: newer names of the same. */
#include <linux/timer.h>
#ifndef timer_container_of
#define timer_container_of	from_timer
#endif
#ifndef DEVLEND_HAVE_TIMER_SHUTDOWN
#define timer_shutdown_sync	del_timer_sync
#endif

/* driver_override: of struct pci_dev before it became one of struct device. */
#include <linux/err.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/string.h>
/* A copy of it, to be freed by kfree(); NULL = none; ERR_PTR(-ENOMEM). */
static inline char *devlend_driver_override_get(struct pci_dev *pdev)
{
	const char *now;
	char *copy = NULL;

#ifdef DEVLEND_HAVE_DEVICE_DRIVER_OVERRIDE
	spin_lock(&pdev->dev.driver_override.lock);
	now = pdev->dev.driver_override.name;
	if (now)
		copy = kstrdup(now, GFP_ATOMIC) ?: ERR_PTR(-ENOMEM);
	spin_unlock(&pdev->dev.driver_override.lock);
#else
	device_lock(&pdev->dev);
	now = pdev->driver_override;
	if (now)
		copy = kstrdup(now, GFP_KERNEL) ?: ERR_PTR(-ENOMEM);
	device_unlock(&pdev->dev);
#endif
	return copy;
}

/* Is it @name? Allocates nothing, so there is always an answer. */
static inline bool devlend_driver_override_is(struct pci_dev *pdev, const char *name)
{
	const char *now;
	bool is;

#ifdef DEVLEND_HAVE_DEVICE_DRIVER_OVERRIDE
	spin_lock(&pdev->dev.driver_override.lock);
	now = pdev->dev.driver_override.name;
	is = now && !strcmp(now, name);
	spin_unlock(&pdev->dev.driver_override.lock);
#else
	device_lock(&pdev->dev);
	now = pdev->driver_override;
	is = now && !strcmp(now, name);
	device_unlock(&pdev->dev);
#endif
	return is;
}

/* Set it; NULL = none. Context: process, the device not locked. */
static inline int devlend_driver_override_set(struct pci_dev *pdev, const char *name)
{
#ifdef DEVLEND_HAVE_DEVICE_DRIVER_OVERRIDE
	return device_set_driver_override(&pdev->dev, name ?: "");
#else
	return driver_set_override(&pdev->dev, &pdev->driver_override, name ?: "",
				   name ? strlen(name) : 0);
#endif
}

/* IOMMU domains: made for a device since they were made for a bus; NULL or an error for none. */
#include <linux/iommu.h>
#ifndef DEVLEND_HAVE_PAGING_DOMAIN_ALLOC
#define iommu_paging_domain_alloc(dev)	iommu_domain_alloc((dev)->bus)
#endif

/* The argument for how to allocate, in place of a function that does so atomically. */
static inline int devlend_iommu_map(struct iommu_domain *domain, unsigned long iova,
				    phys_addr_t cpu_phys, size_t size, int prot)
{
#ifdef DEVLEND_HAVE_IOMMU_MAP_ATOMIC
	return iommu_map(domain, iova, cpu_phys, size, prot);
#else
	return iommu_map(domain, iova, cpu_phys, size, prot, GFP_KERNEL);
#endif
}

/*
 * Pages into a domain and out of it. The operations of the domain, or of its page table where the
 * kernel has page tables of its own for all IOMMU drivers, are called as the IOMMU core calls them:
 * going through the core would cost a tenth of each mapping. An older core maps, and has the
 * hardware look again, in one call; not every driver of its time has these operations.
 */
#ifdef DEVLEND_HAVE_IOMMU_PT
#include <linux/generic_pt/iommu.h>
#endif
static inline int devlend_iommu_map_pages(struct iommu_domain *domain, unsigned long iova,
					  phys_addr_t cpu_phys, size_t pages, int prot, gfp_t gfp,
					  size_t *mapped)
{
#ifdef DEVLEND_HAVE_IOMMU_MAP_ATOMIC
	size_t size = pages << PAGE_SHIFT;
	int err = gfpflags_allow_blocking(gfp) ?
		  iommu_map(domain, iova, cpu_phys, size, prot) :
		  iommu_map_atomic(domain, iova, cpu_phys, size, prot);

	*mapped = err ? 0 : size;
	return err;
#else
#ifdef DEVLEND_HAVE_IOMMU_PT
	struct pt_iommu *pt = iommupt_from_domain(domain);

	if (pt)
		return pt->ops->map_range(pt, iova, cpu_phys, pages << PAGE_SHIFT, prot, gfp,
					  mapped);
#endif
	return domain->ops->map_pages(domain, iova, cpu_phys, PAGE_SIZE, pages, prot, gfp, mapped);
#endif
}

static inline int devlend_iommu_sync_map(struct iommu_domain *domain, unsigned long iova,
					 size_t size)
{
#ifndef DEVLEND_HAVE_IOMMU_MAP_ATOMIC
	if (domain->ops->iotlb_sync_map)
		return domain->ops->iotlb_sync_map(domain, iova, size);
#endif
	return 0;
}

static inline size_t devlend_iommu_unmap_pages(struct iommu_domain *domain, unsigned long iova,
					       size_t pages, struct iommu_iotlb_gather *gather)
{
#ifdef DEVLEND_HAVE_IOMMU_MAP_ATOMIC
	return iommu_unmap_fast(domain, iova, pages << PAGE_SHIFT, gather);
#else
#ifdef DEVLEND_HAVE_IOMMU_PT
	struct pt_iommu *pt = iommupt_from_domain(domain);

	if (pt)
		return pt->ops->unmap_range(pt, iova, pages << PAGE_SHIFT, gather);
#endif
	return domain->ops->unmap_pages(domain, iova, PAGE_SIZE, pages, gather);
#endif
}

/* Can no device of the group send interrupts that were not given to it? */
static inline bool devlend_isolated_msi(struct device *dev, struct iommu_group *group)
{
#ifdef DEVLEND_HAVE_ISOLATED_MSI
	return iommu_group_has_isolated_msi(group);
#else
	return device_iommu_capable(dev, IOMMU_CAP_INTR_REMAP) || irq_domain_check_msi_remap();
#endif
}

#endif /* DEVLEND_COMPAT_H */
