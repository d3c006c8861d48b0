/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The register BAR of the Intel gen3 NTB, as its Linux driver uses it.
 *
 * All registers sit in aligned 8-byte slots, so any access is split into slots with a mask of the bits
 * touched. A slot that is not listed reads as zero and ignores writes.
 *
 * Interrupts: a doorbell or a change of the link sets a bit in the status register. A vector is raised when an
 * unmasked bit goes from clear to set, and when a set bit gets unmasked. With MSI-X off the pin is asserted for as long
 * as there is an unmasked bit that is set.
 */
#ifndef NTBSIM_INTEL_GEN3_H
#define NTBSIM_INTEL_GEN3_H

#include <stdbool.h>
#include <stdint.h>

#include "counters.h"

#define GEN3_BAR_SIZE		0x10000ull

#define GEN3_NTBCNTL		0x0000
#define GEN3_IMBAR1XBASE	0x0010
#define GEN3_IMBAR1XLMT		0x0018
#define GEN3_IMBAR2XBASE	0x0020
#define GEN3_IMBAR2XLMT		0x0028
#define GEN3_INT_STATUS		0x0040
#define GEN3_INT_DISABLE	0x0048
#define GEN3_USMEMMISS		0x0070
#define GEN3_SPAD		0x0080
#define GEN3_INTVEC		0x00d0
#define GEN3_DOORBELL		0x0100
#define GEN3_PEER_SPAD		0x0180
#define GEN3_EM_FIRST		0x4000
#define GEN3_EM_LAST		0x4057
#define GEN3_EMCFG_FIRST	0x4500
#define GEN3_EMCFG_LAST		0x4527

#define GEN3_CNTL_LOCK		0x1
#define GEN3_CNTL_DISABLE	0x2
#define GEN3_LINK_BIT		32
#define GEN3_INT_BITS		33
#define GEN3_EM_SLOTS		((GEN3_EM_LAST + 1 - GEN3_EM_FIRST) / 8)
#define GEN3_EMCFG_SLOTS	((GEN3_EMCFG_LAST + 1 - GEN3_EMCFG_FIRST) / 8)

struct port;

/**
 * struct gen3 - registers
 * @cntl: NTBCNTL
 * @xbase: incoming translation of the peer's window, by window
 * @xlmt: incoming limit
 * @status: interrupt status, one bit a doorbell, and the link
 * @disable: interrupt mask
 * @memmiss: incoming accesses that hit no open window, saturates
 * @spad: own scratchpads
 * @intvec: vector of each status bit
 * @em: registers of the embedded endpoint, only stored
 * @emcfg: its config space, only stored
 */
struct gen3 {
	uint32_t cntl;
	uint64_t xbase[NUM_WINDOWS];
	uint64_t xlmt[NUM_WINDOWS];
	uint64_t status;
	uint64_t disable;
	uint16_t memmiss;
	uint32_t spad[NUM_SPADS];
	uint8_t intvec[40];
	uint64_t em[GEN3_EM_SLOTS];
	uint64_t emcfg[GEN3_EMCFG_SLOTS];
};

void gen3_reset(struct gen3 *regs);
void gen3_read(struct port *port, uint64_t off, void *buf, uint32_t len);
void gen3_write(struct port *port, uint64_t off, const void *data,
		uint32_t len);

/**
 * gen3_set_status() - set a status bit and interrupt if that is called for
 *
 * Return: false if the bit was set already.
 */
bool gen3_set_status(struct port *port, unsigned int bit);

/* Whether there is an interrupt that is not masked. */
bool gen3_pending(const struct gen3 *regs);

/* Whether this side permits the link. */
bool gen3_link_enabled(const struct gen3 *regs);

#endif /* NTBSIM_INTEL_GEN3_H */
