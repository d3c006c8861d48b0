// SPDX-License-Identifier: GPL-2.0
/*
 * Local memory that a lent device must reach, and the interrupt range.
 *
 * Where no IOMMU translates that is all RAM. The kernel's DMA API may hand a driver any page, so
 * either every page of RAM is reachable through the inbound window, or every page below 4 GiB is,
 * and the kernel's bounce buffers (swiotlb) are among them: then pages beyond are bounced, and
 * coherent memory comes from below. Anything in between would give a device an address that leads
 * nowhere, or a driver no memory, so it is refused here, before the lender is told of any memory
 * and long before a driver is bound.
 *
 * The interrupt range is exposed like memory: a device's MSI is a write to it. Where the lender's
 * CPU takes the device's interrupts it is not.
 *
 * Called by borrow.c and the DMA modes in the lease's worker. Owns the list of exposed regions,
 * which the core opened and closes; the lease's lock protects it, since a lost link closes it from
 * a callback. Holds no lock itself; sleeps.
 */
#include <linux/align.h>
#include <linux/errno.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include <devlend/compat.h>

#include "memory.h"

static int memory_add_range(struct resource *res, void *data)
{
	struct borrower_memory *mem = data;
	u64 start = PAGE_ALIGN(res->start);
	u64 end = PAGE_ALIGN_DOWN(res->end + 1);
	struct borrower_range *last = mem->ranges ? &mem->ram[mem->ranges - 1] : NULL;

	if (start >= end)
		return 0;
	mem->ram_end = end;
	if (last && last->cpu_phys + last->size == start) {
		last->size += end - start;
		return 0;
	}
	if (mem->ranges == BORROWER_RAM_RANGES)
		return -E2BIG;
	mem->ram[mem->ranges++] = (struct borrower_range){ .cpu_phys = start, .size = end - start };
	return 0;
}

/**
 * borrower_memory_survey() - find this host's RAM
 * @mem: zeroed; the list of RAM is filled in
 *
 * RAM that is added later is in no map: a mapping of it fails or is bounced, never
 * misdirected.
 * Context: process.
 * Return: 0; -E2BIG where RAM is in too many pieces; -ENODEV where none is found.
 */
int borrower_memory_survey(struct borrower_memory *mem)
{
	int err;

	err = walk_iomem_res_desc(IORES_DESC_NONE, IORESOURCE_SYSTEM_RAM | IORESOURCE_BUSY,
				  0, -1, mem, memory_add_range);
	if (err && err != -EINVAL)
		return err;
	return mem->ranges ? 0 : -ENODEV;
}

/**
 * borrower_memory_set_msi() - say where the interrupt range is, for whoever exposes it
 * @mem: the entry of the map list is filled in
 *
 * Context: any.
 */
void borrower_memory_set_msi(struct borrower_memory *mem)
{
	struct devlend_exposed *msi = &mem->exposed[BORROWER_MAP_MSI];

	msi->bus_addr = BORROWER_MSI_BASE;
	msi->size = BORROWER_MSI_SIZE;
}

static void memory_set_reach(struct borrower_memory *mem, u64 reach)
{
	struct devlend_exposed *ram = &mem->exposed[BORROWER_MAP_RAM];

	ram->bus_addr = 0;
	ram->size = reach;
	borrower_memory_set_msi(mem);
	mem->reach = reach;
}

/* Do bounce buffers of @ntb, as of all devices here, lie in RAM below 4 GiB, and is more beyond? */
static bool memory_may_bounce(const struct borrower_memory *mem, struct device *ntb)
{
	u64 low_end = borrower_memory_low_end(mem);
	phys_addr_t start, end;

	return low_end < mem->ram_end && devlend_swiotlb_range(ntb, &start, &end) &&
	       end <= low_end;
}

static void memory_explain(const struct borrower_memory *mem, bool may_bounce, struct device *log)
{
	if (may_bounce)
		dev_err(log, "no window covers even this host's RAM below 4 GiB, need %#llx bytes from 0; enlarge the NTB's windows\n",
			mem->reach);
	else if (mem->ram_end <= SZ_4G)
		dev_err(log, "no window covers this host's RAM, need %#llx bytes from 0; enlarge the NTB's windows\n",
			mem->reach);
	else
		dev_err(log, "no window covers this host's RAM, need %#llx bytes from 0, and no bounce buffers lie below 4 GiB; enlarge the NTB's windows, or boot without swiotlb=noforce\n",
			mem->reach);
}

/**
 * borrower_memory_expose_ram() - open inbound windows onto RAM and the interrupt range
 * @mem: surveyed; @maps says whether the range is wanted
 * @link: through whose windows
 * @ntb: the NTB function; asked where this host's bounce buffers lie
 * @log: device to log for
 *
 * Context: process, sleeps, up to minutes on some NTBs; the lease's lock is held.
 * Return: 0; -ENOSPC where neither all of RAM nor that below 4 GiB with the bounce buffers fits,
 * the core having logged what was needed and what there is; another errno of devlend_expose().
 */
int borrower_memory_expose_ram(struct borrower_memory *mem, struct devlend_link *link,
			       struct device *ntb, struct device *log)
{
	bool may_bounce = memory_may_bounce(mem, ntb);
	int err;

	memory_set_reach(mem, mem->ram_end);
	if (may_bounce && devlend_exposable(link, mem->exposed, mem->maps) == -ENOSPC)
		memory_set_reach(mem, borrower_memory_low_end(mem));
	/* each lease exposes the same, so none can be kept apart */
	err = devlend_expose(link, mem->exposed, mem->maps, DEVLEND_APART_NO);
	if (err == -ENOSPC)
		memory_explain(mem, may_bounce, log);
	if (!err && mem->reach < mem->ram_end)
		dev_info(log, "RAM from 4 GiB on (to %#llx) is not covered by a window and will be bounced; larger NTB windows would be faster\n",
			 mem->ram_end);
	return err;
}

/**
 * borrower_memory_close_msi() - the device's interrupts do not come as messages after all
 * @mem: exposed, with the interrupt range or without
 * @link: the same as then
 *
 * The lender keeps its map of the range, which leads nowhere then, unless another lease has it
 * open. Context: process, sleeps; the lease's lock is held.
 */
void borrower_memory_close_msi(struct borrower_memory *mem, struct devlend_link *link)
{
	devlend_unexpose(link, &mem->exposed[BORROWER_MAP_MSI], 1);
}

/**
 * borrower_memory_unexpose() - close what the DMA mode opened
 * @mem: may be closed already
 * @link: the same as then; may be down or gone
 *
 * Context: process, sleeps; the lease's lock is held.
 */
void borrower_memory_unexpose(struct borrower_memory *mem, struct devlend_link *link)
{
	if (mem->exposed[BORROWER_MAP_RAM].open || mem->exposed[BORROWER_MAP_MSI].open)
		devlend_unexpose(link, mem->exposed, BORROWER_MAPS);
	mem->exposed[BORROWER_MAP_RAM].open = false;
	mem->exposed[BORROWER_MAP_MSI].open = false;
}

/**
 * borrower_memory_attach() - tell the lender of exposed memory; learn its addresses
 * @mem: exposed
 * @link: up
 * @grant: the lease
 * @log: device to log for
 *
 * Context: process, sleeps; no locks.
 * Return: 0; -EPROTO for an impossible reply; else an errno of devlend_call().
 */
int borrower_memory_attach(struct borrower_memory *mem, struct devlend_link *link,
			   const struct borrower_grant *grant, struct device *log)
{
	static const u16 kind[BORROWER_MAPS] = { DEVLEND_MAP_MEMORY, DEVLEND_MAP_MSI };
	static const u32 prot[BORROWER_MAPS] = { DEVLEND_PROT_READ | DEVLEND_PROT_WRITE,
						 DEVLEND_PROT_WRITE };
	struct devlend_wire_attach *msg;
	struct devlend_call call = { .op = DEVLEND_OP_ATTACH, .handle = grant->handle };
	size_t len = struct_size(msg, map, mem->maps);
	const char *why = "length";
	unsigned int i;
	int err;

	msg = kzalloc(len, GFP_KERNEL);
	if (!msg)
		return -ENOMEM;
	msg->count = cpu_to_le32(mem->maps);
	for (i = 0; i < mem->maps; i++) {
		msg->map[i].offset = cpu_to_le64(mem->exposed[i].offset);
		msg->map[i].length = cpu_to_le64(mem->exposed[i].size);
		msg->map[i].kind = cpu_to_le16(kind[i]);
		msg->map[i].window = cpu_to_le16(mem->exposed[i].window);
		msg->map[i].prot = cpu_to_le32(prot[i]);
	}
	call.data = msg;
	call.len = len;
	call.reply = msg;
	call.reply_max = len;
	err = devlend_call(link, &call);
	if (err)
		goto out;

	err = -EPROTO;
	if (call.reply_len != len || le32_to_cpu(msg->count) != mem->maps)
		goto refuse;
	mem->dma_bits = le32_to_cpu(msg->dma_bits);
	for (i = 0; i < mem->maps; i++)
		mem->device_addr[i] = le64_to_cpu(msg->map[i].device_addr);
	if (!borrower_memory_addrs_valid(mem, grant, &why))
		goto refuse;
	err = 0;
	goto out;
refuse:
	dev_err(log, "lender answered ATTACH with an impossible %s; are both hosts' devlend of one version?\n",
		why);
out:
	kfree(msg);
	return err;
}
