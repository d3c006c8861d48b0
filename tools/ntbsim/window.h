/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Windows: from an offset in a port's BAR to a place in the peer.
 *
 * The registers that govern a window are those of the *target*: what the guest behind port a may reach through
 * its BAR 2 is decided by XBASE and XLMT of window 1 in the peer's registers, which the peer's driver writes.
 * The limit is an address in the peer's own BAR: limit minus BAR address is the size of the opening. A limit
 * below the BAR, at it, or beyond its end leaves the window closed.
 */
#ifndef NTBSIM_WINDOW_H
#define NTBSIM_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define MSI_FIRST	0xfee00000ull
#define MSI_LAST	0xfeefffffull
#define LOW_MEMORY	0x100000ull

struct port;

enum route_kind {
	ROUTE_DROP_LINK,	/* the link is down */
	ROUTE_DROP_CLOSED,	/* the window is closed */
	ROUTE_DROP_LIMIT,	/* behind the limit */
	ROUTE_DROP_MASTER,	/* the target may not master its bus */
	ROUTE_RAM,		/* mapped memory */
	ROUTE_MESSAGE,		/* anything else: ask the target's client */
	ROUTE_MSI,		/* the same, and it is an interrupt */
};

/**
 * struct route - where an access goes
 * @kind: as above
 * @addr: bus address at the target, if not dropped
 * @ptr: the memory, for ROUTE_RAM
 */
struct route {
	enum route_kind kind;
	uint64_t addr;
	void *ptr;
};

/* How far a window onto @target is open, in bytes. */
uint64_t window_opening(const struct port *target, unsigned int win);

/**
 * window_route() - find where an access lands
 * @src: the requester's port
 * @win: which window, 0 or 1
 * @off: offset in its BAR
 * @len: bytes, at least 1; an access is taken or dropped as a whole
 * @write: or a read
 */
struct route window_route(struct port *src, unsigned int win, uint64_t off,
			  uint32_t len, bool write);

#endif /* NTBSIM_WINDOW_H */
