// SPDX-License-Identifier: GPL-2.0
/*
 * PROBE: prove a window, by this host's CPU, before a driver relies on it.
 *
 *   memory   a dword of the borrower's choice into a region of its memory
 *   MSI      a message of the borrower's choice into its interrupt range
 *   event    an event that did not happen, told as the device's interrupts are (doorbell.c)
 *   BAR      what the CPU reads where the borrower wrote, in the data of MSI-X entry 0:
 *            a register without side effects, allowed only while MSI-X is off
 *
 * Nothing is read across the NTB: that the write arrived is seen at the other end, and a read
 * from a host that died meanwhile would be an error on this one's bus.
 *
 * Called by grant.c with lender_dev.lock held, the lease valid, and so the NTB present; process
 * context. Mappings live for one access only.
 */
#include <linux/io.h>
#include <linux/nospec.h>
#include <linux/pci.h>

#include "atomic.h"
#include "doorbell.h"
#include "grant.h"
#include "lent.h"
#include "trace.h"

static enum devlend_status probe_write(struct lender_dev *lent, u16 kind, u32 index, u64 offset,
				       u32 value)
{
	const struct lender_map *map;
	void __iomem *reg;

	if (index >= lent->lease.maps)
		return DEVLEND_E_INVAL;
	map = &lent->lease.map[array_index_nospec(index, lent->lease.maps)];
	if (map->kind != kind || !(map->prot & DEVLEND_PROT_WRITE))
		return DEVLEND_E_PERM;
	if (map->length < sizeof(u32) || offset > map->length - sizeof(u32))
		return DEVLEND_E_RANGE;
	reg = ioremap(map->cpu_phys + offset, sizeof(u32));
	if (!reg)
		return DEVLEND_E_NOMEM;
	writel(value, reg);
	iounmap(reg);
	return DEVLEND_OK;
}

/* The only register that may be read: message data of MSI-X entry 0. */
static enum devlend_status probe_bar(struct lender_dev *lent, u32 bar, u64 offset, u32 *value)
{
	struct pci_dev *pdev = lent->pdev;
	void __iomem *reg;
	u32 table = 0;

	if (!pdev->msix_cap)
		return DEVLEND_E_PERM;
	if (lender_atomic_msix_on(lent) || lender_atomic_resetting(lent))
		return DEVLEND_E_BUSY;
	pci_read_config_dword(pdev, pdev->msix_cap + PCI_MSIX_TABLE, &table);
	if (bar >= DEVLEND_BARS || bar != (table & PCI_MSIX_TABLE_BIR) ||
	    offset != (u64)(table & PCI_MSIX_TABLE_OFFSET) + PCI_MSIX_ENTRY_DATA)
		return DEVLEND_E_PERM;
	bar = array_index_nospec(bar, DEVLEND_BARS);
	if (offset + sizeof(u32) > pci_resource_len(pdev, bar))
		return DEVLEND_E_RANGE;
	reg = ioremap(pci_resource_start(pdev, bar) + offset, sizeof(u32));
	if (!reg)
		return DEVLEND_E_NOMEM;
	*value = readl(reg);
	iounmap(reg);
	return DEVLEND_OK;
}

/**
 * lender_serve_probe() - answer PROBE
 * @lent: the device; its lock is held, its lease is the request's
 * @rq: the request
 *
 * Context: process. Return: the status for the borrower.
 */
enum devlend_status lender_serve_probe(struct lender_dev *lent, struct devlend_request *rq)
{
	const struct devlend_wire_probe *probe = rq->data;
	struct devlend_wire_probe *reply = rq->reply;
	enum devlend_status status;
	u32 kind, index, value;
	u64 offset;

	if (rq->len != sizeof(*probe) || rq->reply_max < sizeof(*reply))
		return DEVLEND_E_INVAL;
	kind = le32_to_cpu(probe->kind);
	index = le32_to_cpu(probe->index);
	offset = le64_to_cpu(probe->offset);
	value = le32_to_cpu(probe->value);
	if (offset % sizeof(u32) || probe->reserved)
		return DEVLEND_E_INVAL;
	switch (kind) {
	case DEVLEND_PROBE_MEMORY:
		status = probe_write(lent, DEVLEND_MAP_MEMORY, index, offset, value);
		break;
	case DEVLEND_PROBE_MSI:
		status = probe_write(lent, DEVLEND_MAP_MSI, index, offset, value);
		break;
	case DEVLEND_PROBE_BAR:
		status = probe_bar(lent, index, offset, &value);
		break;
	case DEVLEND_PROBE_EVENT:
		status = offset || value ? DEVLEND_E_INVAL : lender_doorbell_prove(lent, index);
		break;
	default:
		return DEVLEND_E_NOTSUPP;
	}
	if (status != DEVLEND_OK)
		return status;
	*reply = *probe;
	reply->value = cpu_to_le32(value);
	rq->reply_len = sizeof(*reply);
	return DEVLEND_OK;
}
