/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What crosses from one port to its peer, in order.
 *
 * Everything that a guest does towards its peer goes through its port's flow: writes through either window,
 * doorbells, peer scratchpads, reads. Writes take effect in the order in which they came.
 *
 * Most take effect at once. A write to a device (or an interrupt, which is a write to an interrupt controller) is
 * a message to the peer's client, and has happened only when that answers. Such writes follow each other
 * without waiting, since the client takes them in order; all else that comes behind is held until they are
 * acknowledged. An operation is translated when it takes effect, not when it came: a window that was closed
 * meanwhile drops what was held.
 *
 * Reads take their place in the order, since on a bus a read pushes the writes before it: who writes one word and
 * reads another sees the other's if that has not seen his. Where waiting would close a circle of guests that wait for
 * each other, reads of memory give way: they are answered at once, with what held writes would put there laid over
 * what is there, and counted.
 * A read's answer does not wait for writes of the other direction: the guest that could acknowledge those is the
 * one that stands still. A bus has the answer behind them; so it is counted which interrupts were overtaken, and how
 * many of them came late.
 *
 * flow.c keeps the order, flow_exec.c has the effects.
 */
#ifndef NTBSIM_FLOW_H
#define NTBSIM_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory that held operations of one port may take, in bytes. */
#define FLOW_CAP	(256u * 1024u * 1024u)

/*
 * An interrupt that is acknowledged so long after an answer that overtook it is late. That is how long Linux waits
 * on x86 for what is under way to a CPU that goes offline, once it has masked the source and read back.
 */
#define FLOW_LATE_US	1000

struct dmareq;
struct flow_op;
struct port;

/**
 * struct flow - one direction of a link
 * @ops: ring of held operations
 * @head: first one
 * @n: how many
 * @cap: size of the ring, a power of two
 * @bytes: data that they hold, over and above the ring
 * @inflight: writes sent to the peer's client and not yet acknowledged
 * @waits: device reads that wait, be they held or sent
 * @frozen: hold everything
 */
struct flow {
	struct flow_op *ops;
	size_t head, n, cap;
	size_t bytes;
	unsigned int inflight;
	unsigned int waits;
	bool frozen;
};

void flow_write(struct port *src, unsigned int win, uint64_t off,
		const void *data, uint32_t len);

/**
 * flow_read() - read through a window
 * @src: requester
 * @win: window
 * @off: offset in its BAR
 * @buf: for the data
 * @len: bytes
 * @msg_id: names the request
 *
 * Return: true if @buf holds the answer, false if it comes later.
 */
bool flow_read(struct port *src, unsigned int win, uint64_t off, void *buf,
	       uint32_t len, uint16_t msg_id);
void flow_doorbell(struct port *src, unsigned int bit);
void flow_spad_write(struct port *src, unsigned int i, uint32_t v,
		     uint32_t mask);
uint32_t flow_spad_read(struct port *src, unsigned int i);

/* Hold all that @src sends from now on, or let it go. */
void flow_freeze(struct port *src, bool on);

/* What is held may go as far as it can. */
void flow_go_on(struct port *src);

/* A doorbell arrives, late or not. */
void flow_ring(struct port *src, unsigned int bit);

/* Drop what is held; the requester is gone or was reset. */
void flow_purge(struct port *src);

/* For dmareq: a request of @src ended. @data is NULL if it failed. */
void flow_write_done(struct port *src, const struct dmareq *req, bool ok);
void flow_read_done(struct port *src, const struct dmareq *req,
		    const void *data);

#endif /* NTBSIM_FLOW_H */
