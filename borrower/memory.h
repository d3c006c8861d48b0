/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BORROWER_MEMORY_H
#define BORROWER_MEMORY_H

#include <linux/types.h>

#include <devlend/core.h>

#include "grant.h"
#include "io_range.h"

struct device;

/* Where x86 takes message signalled interrupts; local bus address and size. */
#define BORROWER_MSI_BASE	0xfee00000u
#define BORROWER_MSI_SIZE	0x00100000u

/* More separate pieces of RAM than this are refused; big machines have about twenty. */
#define BORROWER_RAM_RANGES	64

/*
 * Entries of the map list, in the order in which they are sent. The interrupt range is the last,
 * and left out where the lender's CPU takes the device's interrupts.
 */
enum borrower_map {
	BORROWER_MAP_RAM,
	BORROWER_MAP_MSI,
	BORROWER_MAPS,
};

/**
 * struct borrower_range - a piece of this host's RAM
 * @cpu_phys: first byte, page aligned
 * @size: bytes, a multiple of the page size
 */
struct borrower_range {
	u64 cpu_phys;
	u64 size;
};

/**
 * struct borrower_memory - which local memory a lent device reaches, and under which addresses
 * @ram: this host's RAM, ascending and disjoint
 * @ranges: entries of @ram
 * @ram_end: first CPU physical address beyond all RAM
 * @reach: CPU physical addresses [0, @reach) are exposed; the end of a piece of RAM
 * @maps: entries of the map list
 * @device_addr: address by which the device knows the first byte of each map entry
 * @dma_bits: address bits that the lender's path carries
 * @exposed: what the core opened, indexed like @device_addr; locked by the lease's lock
 * @io: I/O addresses of the NTB function that are this lease's, in DMA mode iommu
 *
 * @ram, @ranges, @ram_end and @reach are of DMA mode direct, and zero in the other.
 */
struct borrower_memory {
	struct borrower_range ram[BORROWER_RAM_RANGES];
	unsigned int ranges;
	u64 ram_end;
	u64 reach;
	unsigned int maps;
	u64 device_addr[BORROWER_MAPS];
	unsigned int dma_bits;
	struct devlend_exposed exposed[BORROWER_MAPS];
	struct borrower_io_slice io;
};

int borrower_memory_survey(struct borrower_memory *mem);
int borrower_memory_expose_ram(struct borrower_memory *mem, struct devlend_link *link,
			       struct device *ntb, struct device *log);
void borrower_memory_set_msi(struct borrower_memory *mem);
void borrower_memory_close_msi(struct borrower_memory *mem, struct devlend_link *link);
void borrower_memory_unexpose(struct borrower_memory *mem, struct devlend_link *link);
int borrower_memory_attach(struct borrower_memory *mem, struct devlend_link *link,
			   const struct borrower_grant *grant, struct device *log);

/* translate.c */
u64 borrower_memory_low_end(const struct borrower_memory *mem);
bool borrower_memory_addrs_valid(const struct borrower_memory *mem,
				 const struct borrower_grant *grant, const char **why);

#endif /* BORROWER_MEMORY_H */
