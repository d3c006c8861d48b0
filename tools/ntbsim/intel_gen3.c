// SPDX-License-Identifier: GPL-2.0
/* Register model; see intel_gen3.h. */
#include <string.h>

#include "flow.h"
#include "intel_gen3.h"
#include "link.h"
#include "port.h"
#include "puppet.h"

void gen3_reset(struct gen3 *regs)
{
	memset(regs, 0, sizeof(*regs));
	regs->cntl = GEN3_CNTL_LOCK | GEN3_CNTL_DISABLE;
	/* The hardware starts with doorbells on vectors 1 to 32 and the link on 0. */
	for (int i = 0; i < GEN3_INT_BITS; i++)
		regs->intvec[i] = (i + 1) % GEN3_INT_BITS;
}

bool gen3_link_enabled(const struct gen3 *regs)
{
	return !(regs->cntl & GEN3_CNTL_DISABLE);
}

bool gen3_pending(const struct gen3 *regs)
{
	return regs->status & ~regs->disable;
}

static void raise_bit(struct port *port, unsigned int bit)
{
	port_raise_irq(port, port->regs.intvec[bit]);
}

bool gen3_set_status(struct port *port, unsigned int bit)
{
	struct gen3 *regs = &port->regs;
	uint64_t m = 1ull << bit;

	if (regs->status & m)
		return false;
	regs->status |= m;
	puppet_kick(port->puppet);
	if (!(regs->disable & m))
		raise_bit(port, bit);
	port_update_line(port);
	return true;
}

static void write_disable(struct port *port, uint64_t v)
{
	struct gen3 *regs = &port->regs;
	uint64_t pending = regs->disable & ~v & regs->status;

	regs->disable = v;
	while (pending) {
		raise_bit(port, __builtin_ctzll(pending));
		pending &= pending - 1;
	}
	port_update_line(port);
}

/* Where a slot that only stores its value keeps it, or NULL. */
static uint64_t *plain_slot(struct gen3 *regs, uint64_t at)
{
	switch (at) {
	case GEN3_IMBAR1XBASE:
		return &regs->xbase[0];
	case GEN3_IMBAR1XLMT:
		return &regs->xlmt[0];
	case GEN3_IMBAR2XBASE:
		return &regs->xbase[1];
	case GEN3_IMBAR2XLMT:
		return &regs->xlmt[1];
	case GEN3_EM_FIRST ... GEN3_EM_LAST:
		return &regs->em[(at - GEN3_EM_FIRST) / 8];
	case GEN3_EMCFG_FIRST ... GEN3_EMCFG_LAST:
		return &regs->emcfg[(at - GEN3_EMCFG_FIRST) / 8];
	default:
		return NULL;
	}
}

/* Number of 32-bit words that a mask touches. */
static unsigned int words(uint64_t mask)
{
	return !!(uint32_t)mask + !!(mask >> 32);
}

static uint64_t spad_read(struct port *port, uint64_t at, uint64_t mask)
{
	unsigned int i = (at - GEN3_SPAD) / 4;

	port->cnt.spad_local_reads += words(mask);
	return port->regs.spad[i] | (uint64_t)port->regs.spad[i + 1] << 32;
}

static uint64_t peer_spad_read(struct port *port, uint64_t at, uint64_t mask)
{
	unsigned int i = (at - GEN3_PEER_SPAD) / 4;
	uint64_t v = 0;

	if ((uint32_t)mask)
		v |= flow_spad_read(port, i);
	if (mask >> 32)
		v |= (uint64_t)flow_spad_read(port, i + 1) << 32;
	return v;
}

static uint64_t slot_read(struct port *port, uint64_t at, uint64_t mask)
{
	struct gen3 *regs = &port->regs;
	uint64_t *plain, v;

	switch (at) {
	case GEN3_NTBCNTL:
		return regs->cntl;
	case GEN3_INT_STATUS:
		return regs->status;
	case GEN3_INT_DISABLE:
		return regs->disable;
	case GEN3_USMEMMISS:
		return regs->memmiss;
	case GEN3_SPAD ... GEN3_SPAD + 4 * NUM_SPADS - 1:
		return spad_read(port, at, mask);
	case GEN3_PEER_SPAD ... GEN3_PEER_SPAD + 4 * NUM_SPADS - 1:
		return peer_spad_read(port, at, mask);
	case GEN3_INTVEC ... GEN3_INTVEC + sizeof(regs->intvec) - 1:
		memcpy(&v, regs->intvec + (at - GEN3_INTVEC), sizeof(v));
		return v;
	default:
		plain = plain_slot(regs, at);
		return plain ? *plain : 0;
	}
}

static void merge32(uint32_t *reg, uint32_t v, uint32_t mask)
{
	*reg = (*reg & ~mask) | (v & mask);
}

static void spad_write(struct port *port, uint64_t at, uint64_t v,
		       uint64_t mask)
{
	unsigned int i = (at - GEN3_SPAD) / 4;

	port->cnt.spad_local_writes += words(mask);
	merge32(&port->regs.spad[i], v, mask);
	merge32(&port->regs.spad[i + 1], v >> 32, mask >> 32);
}

static void peer_spad_write(struct port *port, uint64_t at, uint64_t v,
			    uint64_t mask)
{
	unsigned int i = (at - GEN3_PEER_SPAD) / 4;

	if ((uint32_t)mask)
		flow_spad_write(port, i, v, mask);
	if (mask >> 32)
		flow_spad_write(port, i + 1, v >> 32, mask >> 32);
}

/* One doorbell a 32-bit register; it rings when bit 0 is written as one. */
static void doorbell_write(struct port *port, uint64_t at, uint64_t v,
			   uint64_t mask)
{
	unsigned int bit = (at - GEN3_DOORBELL) / 4;

	v &= mask;
	if (v & 1)
		flow_doorbell(port, bit);
	if (v >> 32 & 1)
		flow_doorbell(port, bit + 1);
}

static void slot_write(struct port *port, uint64_t at, uint64_t v,
		       uint64_t mask)
{
	struct gen3 *regs = &port->regs;
	uint64_t *plain, old;

	switch (at) {
	case GEN3_NTBCNTL:
		merge32(&regs->cntl, v, mask);
		link_update(port->link);
		break;
	case GEN3_INT_STATUS:
		regs->status &= ~(v & mask);
		port_update_line(port);
		break;
	case GEN3_INT_DISABLE:
		write_disable(port, (regs->disable & ~mask) | (v & mask));
		break;
	case GEN3_USMEMMISS:
		regs->memmiss = 0;
		break;
	case GEN3_SPAD ... GEN3_SPAD + 4 * NUM_SPADS - 1:
		spad_write(port, at, v, mask);
		break;
	case GEN3_PEER_SPAD ... GEN3_PEER_SPAD + 4 * NUM_SPADS - 1:
		peer_spad_write(port, at, v, mask);
		break;
	case GEN3_DOORBELL ... GEN3_DOORBELL + 4 * NUM_DOORBELLS - 1:
		doorbell_write(port, at, v, mask);
		break;
	case GEN3_INTVEC ... GEN3_INTVEC + sizeof(regs->intvec) - 1:
		memcpy(&old, regs->intvec + (at - GEN3_INTVEC), sizeof(old));
		old = (old & ~mask) | (v & mask);
		memcpy(regs->intvec + (at - GEN3_INTVEC), &old, sizeof(old));
		break;
	default:
		plain = plain_slot(regs, at);
		if (plain)
			*plain = (*plain & ~mask) | (v & mask);
	}
}

/* Bytes of the access that lie in its first slot, and the bits they are. */
static uint32_t first_slot(uint64_t off, uint32_t len, uint64_t *mask)
{
	unsigned int skip = off & 7;
	uint32_t n = 8 - skip;

	if (n > len)
		n = len;
	*mask = (n == 8 ? ~0ull : (1ull << 8 * n) - 1) << 8 * skip;
	return n;
}

void gen3_read(struct port *port, uint64_t off, void *buf, uint32_t len)
{
	uint8_t *p = buf;

	while (len) {
		uint64_t mask, v;
		uint32_t n = first_slot(off, len, &mask);

		v = slot_read(port, off & ~7ull, mask) >> 8 * (off & 7);
		memcpy(p, &v, n);
		off += n;
		p += n;
		len -= n;
	}
}

void gen3_write(struct port *port, uint64_t off, const void *data,
		uint32_t len)
{
	const uint8_t *p = data;

	while (len) {
		uint64_t mask, v = 0;
		uint32_t n = first_slot(off, len, &mask);

		memcpy(&v, p, n);
		slot_write(port, off & ~7ull, v << 8 * (off & 7), mask);
		off += n;
		p += n;
		len -= n;
	}
}
