/* SPDX-License-Identifier: GPL-2.0 */
/* What flow.c (order) and flow_exec.c (effects) share, and nobody else sees. */
#ifndef NTBSIM_FLOW_OP_H
#define NTBSIM_FLOW_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "window.h"

struct port;
struct window_counters;

enum flow_type {
	FLOW_WRITE,
	FLOW_READ,
	FLOW_DOORBELL,
	FLOW_SPAD,
	FLOW_NONE,		/* a read that was answered out of its turn */
};

/**
 * struct flow_op - a held operation
 * @type: what
 * @win: window, for reads and writes
 * @index: doorbell bit or scratchpad
 * @msg_id: names a read
 * @len: bytes
 * @off: offset in the window's BAR; the mask of a scratchpad write
 * @overtaken: as in struct dmareq
 * @small: up to 8 bytes of data
 * @large: more
 */
struct flow_op {
	uint8_t type;
	uint8_t win;
	uint8_t index;
	uint16_t msg_id;
	uint32_t len;
	uint64_t off;
	uint64_t overtaken;
	union {
		uint8_t small[8];
		void *large;
	};
};

static inline const void *flow_op_data(const struct flow_op *op)
{
	return op->len <= sizeof(op->small) ? op->small : op->large;
}

/**
 * flow_exec() - let one operation take effect
 *
 * Return: false if it has to wait.
 */
bool flow_exec(struct port *src, const struct flow_op *op);

bool flow_link_is_up(const struct port *src);
void flow_count_drop(struct window_counters *wc, enum route_kind kind);

/* A read of memory: now. */
void flow_read_ram(struct port *src, const struct flow_op *op,
		   const struct route *r, void *buf);
/* A device read: ask the peer's client. False if there is nobody to ask. */
bool flow_send_read(struct port *src, const struct flow_op *op,
		    const struct route *r);
/* End a held device read. @data is NULL for all-ones. */
void flow_answer_op(struct port *src, const struct flow_op *op,
		    const void *data);

/* What a register holds after a scratchpad write. */
uint32_t flow_merge(uint32_t old, const struct flow_op *op);

#endif /* NTBSIM_FLOW_OP_H */
