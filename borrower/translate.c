// SPDX-License-Identifier: GPL-2.0
/*
 * Address arithmetic of a lease: this host's addresses on one side, those that the lent device
 * uses on the other.
 *
 * Called by memory.c, dma.c and irq.c. Pure: no state, no locks, any context;
 * tests/kunit/borrower_translate_test.c covers it.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sizes.h>

#include <devlend/compat.h>

#include "dma.h"
#include "irq.h"
#include "memory.h"

/* I/O addresses for one lease, where there are enough */
#define TRANSLATE_SLICE		SZ_64M

static bool translate_hits_bar(u64 start, u64 last, const struct borrower_grant *grant)
{
	int i;

	for (i = 0; i < DEVLEND_BARS; i++) {
		const struct borrower_bar *bar = &grant->bar[i];

		if (bar->size && start <= bar->lender_bus + (bar->size - 1) &&
		    bar->lender_bus <= last)
			return true;
	}
	return false;
}

/**
 * borrower_memory_addrs_valid() - can the device addresses that the lender told be true?
 * @mem: @device_addr and @dma_bits as told
 * @grant: the device's own BARs, which must not lie in the way
 * @why: set to what is wrong
 *
 * Context: any. Return: whether they are possible.
 */
bool borrower_memory_addrs_valid(const struct borrower_memory *mem,
				 const struct borrower_grant *grant, const char **why)
{
	unsigned int i;

	*why = "address width";
	if (!mem->dma_bits || mem->dma_bits > 64)
		return false;
	for (i = 0; i < mem->maps; i++) {
		u64 start = mem->device_addr[i];
		u64 last;

		*why = "device address that wraps";
		if (check_add_overflow(start, mem->exposed[i].size - 1, &last))
			return false;
		*why = "device address beyond the lender's address width";
		if (mem->dma_bits < 64 && last >> mem->dma_bits)
			return false;
		*why = "device address that is not page aligned as the memory is";
		if ((start ^ mem->exposed[i].bus_addr) & ~PAGE_MASK)
			return false;
		*why = "device address inside the device's own BARs";
		if (translate_hits_bar(start, last, grant))
			return false;
	}
	*why = NULL;
	return true;
}

/**
 * borrower_memory_low_end() - where RAM below 4 GiB ends
 * @mem: surveyed
 *
 * Context: any. Return: first CPU physical address beyond it, at most 4 GiB; 0 where there is none.
 */
u64 borrower_memory_low_end(const struct borrower_memory *mem)
{
	u64 end = 0;
	unsigned int i;

	for (i = 0; i < mem->ranges && mem->ram[i].cpu_phys < SZ_4G; i++)
		end = min_t(u64, mem->ram[i].cpu_phys + mem->ram[i].size, SZ_4G);
	return end;
}

/**
 * borrower_dma_build() - build the range map of a lease
 * @mem: what is exposed, and the device's addresses of it
 * @map: zeroed array; the kernel searches it from its first entry, so that is the largest piece
 * @entries: its length; the last entry is left zero
 *
 * Context: any. Return: number of entries filled in; 0 where they do not fit.
 */
unsigned int borrower_dma_build(const struct borrower_memory *mem, struct bus_dma_region *map,
				unsigned int entries)
{
	u64 device_base = mem->device_addr[BORROWER_MAP_RAM];
	unsigned int i, at, n = 0;

	for (i = 0; i < mem->ranges; i++) {
		u64 start = mem->ram[i].cpu_phys;
		u64 size = mem->ram[i].size;

		if (start >= mem->reach)
			break;
		if (n + 1 >= entries)
			return 0;
		size = min(size, mem->reach - start);
		for (at = n++; at && map[at - 1].size < size; at--)
			map[at] = map[at - 1];
		map[at].cpu_start = start;
		map[at].dma_start = device_base + start;
		map[at].size = size;
		devlend_dma_region_set_offset(&map[at]);
	}
	return n;
}

/**
 * borrower_dma_limit() - highest device address, or 0 where all RAM is covered
 * @mem: what is exposed
 *
 * The kernel translates it back to learn from which zone coherent memory may come: an address that
 * is not in the map would leave it the lowest 16 MiB. So the reach ends where RAM ends.
 *
 * Context: any. Return: value for dev->bus_dma_limit.
 */
u64 borrower_dma_limit(const struct borrower_memory *mem)
{
	if (mem->ram_end <= mem->reach)
		return 0;
	return mem->device_addr[BORROWER_MAP_RAM] + mem->reach - 1;
}

/**
 * borrower_io_slices() - in how many parts to divide an I/O range
 * @size: bytes, a power of two
 *
 * A part is large enough for a greedy driver, as long as the window allows; and there are no more
 * parts than leases are likely.
 *
 * Context: any. Return: a power of two, at most %BORROWER_IO_SLICES_MAX.
 */
unsigned int borrower_io_slices(u64 size)
{
	return clamp_t(u64, size / TRANSLATE_SLICE, 1, BORROWER_IO_SLICES_MAX);
}

/**
 * borrower_irq_translate() - turn a local message into one that the lent device can write
 * @msi_device_addr: device address of the start of this host's interrupt range
 * @msg: composed for this host; address translated in place
 *
 * A message that lies outside the interrupt range is replaced by vector 0 of the range,
 * which no CPU accepts: a device must never be told to write to an address that is not
 * what it was granted.
 *
 * Context: any. Return: whether the message could be translated.
 */
bool borrower_irq_translate(u64 msi_device_addr, struct msi_msg *msg)
{
	u64 addr = (u64)msg->address_hi << 32 | msg->address_lo;
	bool inside = addr >= BORROWER_MSI_BASE && addr - BORROWER_MSI_BASE < BORROWER_MSI_SIZE;

	if (inside) {
		addr = msi_device_addr + (addr - BORROWER_MSI_BASE);
	} else {
		addr = msi_device_addr;
		msg->data = 0;
	}
	msg->address_lo = lower_32_bits(addr);
	msg->address_hi = upper_32_bits(addr);
	return inside;
}
