// SPDX-License-Identifier: GPL-2.0
/*
 * ATTACH: where the lent device finds its borrower's memory.
 *
 * The borrower names regions by outbound window and offset; this host knows where its NTB's
 * BAR lies, and answers with the addresses that the lent device must use: I/O addresses of our
 * choice where an IOMMU translates (iommu.c), else those of the BAR. With an IOMMU
 * the list is all that the device reaches. Without one it can address anything on
 * this host, mapped or not: the list says what works, not what is allowed. The interrupt ranges
 * in it are what plain MSI messages are checked against (atomic_check.c).
 *
 * Called by grant.c with lender_dev.lock held and the lease valid; process context.
 */
#include <linux/overflow.h>
#include <linux/pci.h>
#include <linux/sizes.h>

#include "atomic.h"
#include "grant.h"
#include "iommu.h"
#include "lent.h"

/* the interrupt range of x86: no more is an interrupt's */
#define APERTURE_MSI_MAX	SZ_1M
/* what limits the path to the window is not known here: bridges above both carry 64 bits */
#define APERTURE_DMA_BITS	64

/* An address of this host's CPU, in the NTB's BAR, as the lent device has to say it. */
static u64 aperture_lender_bus(struct pci_dev *pdev, const struct devlend_aperture *ap,
			       struct pci_dev *ntb, u64 offset)
{
	struct resource res = {
		.start = ap->cpu_phys + offset,
		.end = ap->cpu_phys + offset,
		.flags = pci_resource_flags(ntb, ap->bar),
	};
	struct pci_bus_region region;

	pcibios_resource_to_bus(pdev->bus, &region, &res);
	return region.start;
}

static enum devlend_status aperture_entry(struct lender_dev *lent,
					  const struct devlend_wire_map *wire,
					  struct lender_map *map)
{
	struct devlend_link *link = lent->lease.link;
	struct pci_dev *ntb = devlend_link_pdev(link);
	struct devlend_aperture ap;
	u64 end;

	map->kind = le16_to_cpu(wire->kind);
	map->window = le16_to_cpu(wire->window);
	map->prot = le32_to_cpu(wire->prot);
	map->offset = le64_to_cpu(wire->offset);
	map->length = le64_to_cpu(wire->length);
	if (!ntb)
		return DEVLEND_E_GONE;
	if (map->kind != DEVLEND_MAP_MEMORY && map->kind != DEVLEND_MAP_MSI)
		return DEVLEND_E_NOTSUPP;
	if (!map->prot || map->prot & ~(DEVLEND_PROT_READ | DEVLEND_PROT_WRITE))
		return DEVLEND_E_INVAL;
	if (map->kind == DEVLEND_MAP_MSI &&
	    (map->length > APERTURE_MSI_MAX || !(map->prot & DEVLEND_PROT_WRITE)))
		return DEVLEND_E_INVAL;
	if (wire->reserved[0] || wire->reserved[1] ||
	    map->window >= devlend_aperture_count(link) ||
	    devlend_aperture_get(link, map->window, &ap) ||
	    ap.bar < 0 || ap.bar >= PCI_STD_NUM_BARS)
		return DEVLEND_E_INVAL;
	if (!map->length || check_add_overflow(map->offset, map->length, &end) || end > ap.size)
		return DEVLEND_E_RANGE;
	map->cpu_phys = ap.cpu_phys + map->offset;
	map->lender_bus = aperture_lender_bus(lent->pdev, &ap, ntb, map->offset);
	return DEVLEND_OK;
}

/* A new list takes the place of the one before; lock held. */
static enum devlend_status aperture_attach(struct lender_dev *lent, struct lender_map *map,
					   unsigned int count)
{
	struct lender_lease *lease = &lent->lease;
	int err = lender_iommu_place(lent, map, count);

	if (err)
		goto fail;
	/* from here on nothing can be switched on, until the new one is there */
	err = lender_atomic_attach(lent, NULL, 0);
	if (err)
		return devlend_errno_to_status(err);
	lender_iommu_unmap(lent);
	lease->maps = 0;
	err = lender_iommu_map(lent, map, count);
	if (err)
		goto fail;
	lender_atomic_attach(lent, map, count);
	memcpy(lease->map, map, count * sizeof(*map));
	lease->maps = count;
	return DEVLEND_OK;
fail:
	dev_err_ratelimited(&lent->dev, "its IOMMU cannot map the borrower's memory (%d)\n", err);
	return devlend_errno_to_status(err);
}

/**
 * lender_serve_attach() - answer ATTACH
 * @lent: the device; its lock is held, its lease is the request's
 * @rq: the request
 *
 * A second list takes the place of the first, as long as the device does not master the bus.
 * Context: process. Return: the status for the borrower.
 */
enum devlend_status lender_serve_attach(struct lender_dev *lent, struct devlend_request *rq)
{
	const struct devlend_wire_attach *attach = rq->data;
	struct devlend_wire_attach *reply = rq->reply;
	struct lender_map map[DEVLEND_MAP_ENTRIES_MAX] = { };
	enum devlend_status status;
	unsigned int i, count;

	if (rq->len < sizeof(*attach))
		return DEVLEND_E_INVAL;
	count = le32_to_cpu(attach->count);
	if (!count || count > DEVLEND_MAP_ENTRIES_MAX ||
	    rq->len != struct_size(attach, map, count) || rq->reply_max < rq->len)
		return DEVLEND_E_INVAL;
	for (i = 0; i < count; i++) {
		status = aperture_entry(lent, &attach->map[i], &map[i]);
		if (status != DEVLEND_OK)
			return status;
	}
	status = aperture_attach(lent, map, count);
	if (status != DEVLEND_OK)
		return status;

	memcpy(reply, attach, rq->len);
	reply->dma_bits = cpu_to_le32(lender_iommu_bits(lent) ?: APERTURE_DMA_BITS);
	for (i = 0; i < count; i++)
		reply->map[i].device_addr = cpu_to_le64(map[i].lender_bus);
	rq->reply_len = rq->len;
	return DEVLEND_OK;
}
