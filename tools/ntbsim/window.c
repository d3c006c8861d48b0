// SPDX-License-Identifier: GPL-2.0
/* Translation and routing; see window.h. */
#include "link.h"
#include "port.h"
#include "window.h"

uint64_t window_opening(const struct port *target, unsigned int win)
{
	uint64_t base = pcicfg_bar(&target->pci, 2 + 2 * win);
	uint64_t limit = target->regs.xlmt[win];

	if (limit <= base || limit - base > target->cfg->win[win].size)
		return 0;
	return limit - base;
}

static void count_miss(struct port *target)
{
	if (target->regs.memmiss != UINT16_MAX)
		target->regs.memmiss++;
}

struct route window_route(struct port *src, unsigned int win, uint64_t off,
			  uint32_t len, bool write)
{
	struct port *dst = src->peer;
	struct route r = { .kind = ROUTE_MESSAGE };
	uint64_t open, last;

	if (!src->link || !src->link->up) {
		r.kind = ROUTE_DROP_LINK;
		return r;
	}
	open = window_opening(dst, win);
	if (!open) {
		count_miss(dst);
		r.kind = ROUTE_DROP_CLOSED;
		return r;
	}
	r.addr = dst->regs.xbase[win] + off;
	last = r.addr + (len - 1);
	if (off >= open || len > open - off || r.addr < off || last < r.addr) {
		count_miss(dst);
		r.kind = ROUTE_DROP_LIMIT;
		return r;
	}
	if (!port_can_master(dst)) {
		r.kind = ROUTE_DROP_MASTER;
		return r;
	}
	/* A puppet has no interrupt controller there, but may have memory. */
	if (r.addr <= MSI_LAST && last >= MSI_FIRST && !dst->puppet) {
		r.kind = ROUTE_MSI;
		return r;
	}
	r.ptr = dma_lookup(&dst->dma, r.addr, len,
			   write ? DMA_PROT_WRITE : DMA_PROT_READ);
	if (r.ptr)
		r.kind = ROUTE_RAM;
	return r;
}
