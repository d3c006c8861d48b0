/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What devlend_core gives to the modules above it.
 *
 * The core owns the NTB: one struct devlend_link per NTB device. It finds the peer, carries
 * calls, and programs memory windows. A module above registers one struct
 * devlend_service and is told when links come and go; the core does not know what the
 * services are for.
 *
 * Lifetimes. A link is a struct device and may be held (devlend_link_get) for as long as
 * one likes; the NTB behind it may not. @ops->link_gone is the last moment at which the
 * NTB function, its memory windows and its struct pci_dev may be used; after it every function
 * here that needs the NTB returns -ENODEV.
 *
 * Order. For one service and link, link_up, link_down and link_gone come one at a time:
 * link_up, then link_down (see there), and again; link_gone is the last and is preceded by
 * link_down where the link was up. Requests begin only between link_up's call and link_down's,
 * in the session that they were asked in. A service that registers late is told of links that
 * are up already.
 */
#ifndef DEVLEND_CORE_H
#define DEVLEND_CORE_H

#include <linux/device.h>
#include <linux/types.h>
#include <linux/uuid.h>

#include <devlend/compat.h>
#include <devlend/wire.h>

struct devlend_link;
struct ntb_dev;
struct pci_dev;
struct resource;

/* A frame that is not acknowledged is written again after this time. */
#define DEVLEND_RESEND_MS		1000
/* Default of the link's atomic_timeout_ms attribute: longest spin for an answer. */
#define DEVLEND_ATOMIC_TIMEOUT_MS	1000
/* Default bound of a call that only needs the peer's CPU. */
#define DEVLEND_CALL_TIMEOUT_MS		10000
/* Bound of calls that may contain a device reset (PCIe 6.0, 2.3.1: up to 60 s, and margin). */
#define DEVLEND_RESET_TIMEOUT_MS	70000
/* How often the beat is written and sampled. */
#define DEVLEND_BEAT_PERIOD_MS		200
/* Default of the link's beat_timeout_ms attribute: a peer silent for so long is dead. */
#define DEVLEND_BEAT_TIMEOUT_MS		3000

/**
 * struct devlend_handle - a lease, in CPU byte order
 * @epoch: epoch of the owning host when it granted the lease
 * @random: never 0 for a lease
 */
struct devlend_handle {
	u32 epoch;
	u32 random;
};

/**
 * enum devlend_down_reason - why a link went down
 * @DEVLEND_DOWN_LINK: the NTB says so
 * @DEVLEND_DOWN_EPOCH: the peer's epoch changed: it knows no lease any more
 * @DEVLEND_DOWN_SILENT: the peer's beat stopped
 * @DEVLEND_DOWN_BYE: the peer unloads or shuts down, in order
 * @DEVLEND_DOWN_LOCAL: this host unloads, shuts down, or removes the NTB
 * @DEVLEND_DOWN_BROKEN: the peer broke the protocol
 */
enum devlend_down_reason {
	DEVLEND_DOWN_LINK,
	DEVLEND_DOWN_EPOCH,
	DEVLEND_DOWN_SILENT,
	DEVLEND_DOWN_BYE,
	DEVLEND_DOWN_LOCAL,
	DEVLEND_DOWN_BROKEN,
};

/**
 * struct devlend_request - a request from the peer, checked as far as framing goes
 * @op: &enum devlend_op
 * @handle: the lease that the peer names; not checked
 * @function: function of the lease
 * @data: payload, a private copy, valid until the callback returns
 * @len: bytes of @data, a multiple of 4
 * @reply: buffer for the reply's payload
 * @reply_max: room in @reply, in bytes
 * @reply_len: set by the callback, a multiple of 4; 0 beforehand
 */
struct devlend_request {
	u16 op;
	struct devlend_handle handle;
	u8 function;
	const void *data;
	size_t len;
	void *reply;
	size_t reply_max;
	size_t reply_len;
};

/**
 * struct devlend_service - a module above the core
 * @id: which operations it serves; one module per id
 * @name: for messages
 * @link_up: a peer is there and calls can be made; requests may be served from here on. Context:
 *	process, may sleep and call the peer, must not wait for the rescan lock.
 * @link_down: leases with this peer are void, calls fail already. Context: process, may
 *	sleep, must not wait for the rescan lock. Called at once after the loss is seen; called
 *	again, before the next link_up, when a request that was being served then has finished,
 *	since that may have left something behind.
 * @link_gone: the NTB function is going away. On return nothing of it may be in use: window
 *	resources detached, mappings of its BARs by this module gone. Context: process, the rescan
 *	lock may be held by the caller: neither take it nor wait for what takes it.
 * @request: serve one request. Context: process, may sleep, must not wait for the rescan
 *	lock; several run at the same time. Return: a status.
 * @atomic: serve one operation of the atomic lane. Context: hard IRQ or
 *	interrupts off: no sleeping, no devlend_atomic_post(); config accessors and posted
 *	writes only. Return: a status.
 * @event: look at each word: the peer rang the event bell (@rung), or might have, unheard.
 *	Context: hard IRQ or interrupts off. May be NULL
 */
struct devlend_service {
	enum devlend_service_id id;
	const char *name;
	void (*link_up)(struct devlend_link *link);
	void (*link_down)(struct devlend_link *link, enum devlend_down_reason reason);
	void (*link_gone)(struct devlend_link *link);
	enum devlend_status (*request)(struct devlend_link *link, struct devlend_request *rq);
	enum devlend_status (*atomic)(struct devlend_link *link, u8 op, u32 handle_random, u32 arg);
	void (*event)(struct devlend_link *link, bool rung);
};

/* --- services (common/service.c) ------------------------------------------ */

int devlend_service_register(const struct devlend_service *service);
/* Calls link_down and link_gone for each link, waits for running callbacks. May sleep. */
void devlend_service_unregister(const struct devlend_service *service);

/* --- links (common/link.c) ------------------------------------------------- */

struct devlend_link *devlend_link_get(struct devlend_link *link);
void devlend_link_put(struct devlend_link *link);
struct device *devlend_link_dev(struct devlend_link *link);
/* The NTB function; NULL after link_gone. The caller holds no reference by this alone. */
struct pci_dev *devlend_link_pdev(struct devlend_link *link);
bool devlend_link_is_up(struct devlend_link *link);
u32 devlend_link_epoch(struct devlend_link *link);	/* our epoch */
u32 devlend_link_peer_epoch(struct devlend_link *link);
void devlend_link_peer_host(struct devlend_link *link, uuid_t *host);
void devlend_host_uuid(uuid_t *host);			/* our own identity */

/* --- calls (common/call.c, common/lane_atomic.c) --------------------------- */

/**
 * struct devlend_call - one request to the peer
 * @op: &enum devlend_op
 * @handle: lease that it is about, or zeroes
 * @data: payload; NULL with @len 0
 * @len: bytes, a multiple of 4, at most %DEVLEND_MSG_PAYLOAD_MAX
 * @reply: where to put the reply's payload; may be NULL
 * @reply_max: room there; a longer reply is -EPROTO
 * @reply_len: set on success
 * @timeout_ms: 0 = %DEVLEND_CALL_TIMEOUT_MS
 */
struct devlend_call {
	u16 op;
	struct devlend_handle handle;
	const void *data;
	size_t len;
	void *reply;
	size_t reply_max;
	size_t reply_len;
	unsigned int timeout_ms;
};

/*
 * Context: process, sleeps; never under the rescan lock.
 * Return: 0; -ENOTCONN link not up or lost meanwhile; -ETIMEDOUT; -EPROTO malformed reply;
 * else the peer's status as errno.
 */
int devlend_call(struct devlend_link *link, struct devlend_call *call);
/* The same for what the peer has to hear: insists where either host has no memory for it. */
int devlend_call_insist(struct devlend_link *link, struct devlend_call *call);

/*
 * Atomic lane. devlend_atomic_post() queues an operation and never waits, from any context;
 * devlend_atomic_flush() spins, at most atomic_timeout_ms of the link, until all that was queued
 * before is answered; from any context but hard IRQ and interrupts off. Operations keep their
 * order. See common/atomic.c.
 */
int devlend_atomic_post(struct devlend_link *link, u8 op, u32 handle_random, u32 arg);
int devlend_atomic_flush(struct devlend_link *link);

/*
 * The event bell, beside that of the channel: rings the peer's consumer, by @event. What it is
 * about lies in the peer's memory; the caller made sure that it arrived before.
 */
bool devlend_event_usable(struct devlend_link *link);
void devlend_event_ring(struct devlend_link *link);

int devlend_status_to_errno(enum devlend_status status);
enum devlend_status devlend_errno_to_status(int err);

/* --- memory windows (common/window.c; the planner is <devlend/plan.h>) ------ */

/**
 * struct devlend_aperture - an outbound window: local addresses by which the peer is reached
 * @cpu_phys: CPU physical address of its first byte
 * @size: bytes
 * @bar: PCI resource number of the NTB function that holds it
 */
struct devlend_aperture {
	phys_addr_t cpu_phys;
	resource_size_t size;
	int bar;
};

unsigned int devlend_aperture_count(struct devlend_link *link);
int devlend_aperture_get(struct devlend_link *link, unsigned int window,
			 struct devlend_aperture *out);

/**
 * struct devlend_exposed - a region of this host that the peer reaches through a window
 * @bus_addr: first byte, as the NTB function addresses it here (local bus address)
 * @size: bytes
 * @window: result: inbound window index here = the peer's outbound window index
 * @offset: result: of @bus_addr from the start of the window
 * @open: result: internal; true while exposed
 */
struct devlend_exposed {
	u64 bus_addr;
	u64 size;
	unsigned int window;
	u64 offset;
	bool open;
};

/**
 * enum devlend_apart - what else may be in reach by the windows that carry a region
 * @DEVLEND_APART_NO: anything; nor do others mind this region
 * @DEVLEND_APART_IF: no region that minds, if windows allow; else anything
 * @DEVLEND_APART_MUST: no region that minds; nor may this one be in reach by a window of such
 *
 * Regions of the second and third kind mind each other. What is in reach is all that is open of
 * a window, from its aligned base on.
 */
enum devlend_apart {
	DEVLEND_APART_NO,
	DEVLEND_APART_IF,
	DEVLEND_APART_MUST,
};

/*
 * Expose @n regions, all or none. Windows are shared where a region lies in reach of an open one,
 * as far as @apart permits; -EPERM where it forbids the only places that there are.
 * On -ENOSPC one log line says what was needed and what each window could give.
 * Context: process, sleeps (up to minutes on some NTBs).
 */
int devlend_expose(struct devlend_link *link, struct devlend_exposed *region, unsigned int n,
		   enum devlend_apart apart);
/* Would it find a place for them now? Says nothing in the log. Context: process, sleeps. */
int devlend_exposable(struct devlend_link *link, const struct devlend_exposed *region,
		      unsigned int n);
/* Are these apart from what others exposed but by DEVLEND_APART_NO? Context: process, sleeps. */
bool devlend_exposed_apart(struct devlend_link *link, const struct devlend_exposed *region,
			   unsigned int n);
/*
 * Close what devlend_expose() opened; a window without users is closed (same base, size 0, read
 * back where the NTB allows it). After link_gone a no-op that only clears @open.
 */
void devlend_unexpose(struct devlend_link *link, struct devlend_exposed *region, unsigned int n);

/* --- the devlend bus (common/bus.c) ----------------------------------------- */

extern DEVLEND_BUS_CONST struct bus_type devlend_bus_type;

/* Emit a change uevent "DEVLEND_STATE=<state>" and sysfs_notify(state) for a device on the bus. */
void devlend_state_changed(struct device *dev, const char *state);

/* debugfs directory "devlend"; NULL or an error pointer is fine for debugfs calls. */
struct dentry *devlend_debugfs_root(void);

#endif /* DEVLEND_CORE_H */
