// SPDX-License-Identifier: GPL-2.0
/*
 * What operations do when their turn has come. Every write, doorbell and device read takes effect in
 * flow_exec(), be it at once or after it was held: that is where fault.c is asked.
 */
#include <string.h>

#include "flow_op.h"
#include "link.h"
#include "port.h"
#include "puppet.h"

bool flow_link_is_up(const struct port *src)
{
	return src->link && src->link->up;
}

void flow_count_drop(struct window_counters *wc, enum route_kind kind)
{
	switch (kind) {
	case ROUTE_DROP_LINK:
		wc->dropped_link++;
		break;
	case ROUTE_DROP_CLOSED:
		wc->dropped_closed++;
		break;
	case ROUTE_DROP_LIMIT:
		wc->dropped_limit++;
		break;
	default:
		wc->dropped_master++;
	}
}

static bool exec_write(struct port *src, const struct flow_op *op)
{
	struct window_counters *wc = &src->cnt.win[op->win];
	struct flow *f = &src->out;
	struct route r = window_route(src, op->win, op->off, op->len, true);
	struct dmareq req = {
		.write = true,
		.win = op->win,
		.src = src,
		.count = op->len,
		.msi = r.kind == ROUTE_MSI,
		.overtaken = op->overtaken,
	};

	switch (r.kind) {
	case ROUTE_RAM:
		if (f->inflight)
			return false;
		dma_copy_to(r.ptr, flow_op_data(op), op->len);
		wc->ram_writes++;
		break;
	case ROUTE_MESSAGE:
	case ROUTE_MSI:
		if (dmareq_full(&src->peer->req))
			return false;
		if (r.kind == ROUTE_MSI && fault_message_late(&src->fault))
			return false;
		if (r.kind == ROUTE_MSI && fault_message(&src->fault))
			return true;
		if (!dmareq_write(src->peer, &req, r.addr, flow_op_data(op))) {
			wc->errors++;
			return true;
		}
		f->inflight++;
		if (r.kind == ROUTE_MSI)
			wc->msi_writes++;
		else
			wc->message_writes++;
		break;
	default:
		flow_count_drop(wc, r.kind);
		return true;
	}
	if (r.addr < LOW_MEMORY)
		wc->below_1m_writes++;
	return true;
}

void flow_answer_op(struct port *src, const struct flow_op *op,
		      const void *data)
{
	src->out.waits--;
	port_answer_read(src, op->msg_id, 2 + 2 * op->win, op->off, data,
			 op->len);
}

bool flow_send_read(struct port *src, const struct flow_op *op,
		      const struct route *r)
{
	struct window_counters *wc = &src->cnt.win[op->win];
	struct dmareq req = {
		.win = op->win,
		.src = src,
		.epoch = src->epoch,
		.msg_id = op->msg_id,
		.region = 2 + 2 * op->win,
		.offset = op->off,
		.count = op->len,
	};

	if (!dmareq_read(src->peer, &req, r->addr)) {
		wc->errors++;
		return false;
	}
	if (r->kind == ROUTE_MSI)
		wc->msi_reads++;
	else
		wc->message_reads++;
	if (r->addr < LOW_MEMORY)
		wc->below_1m_reads++;
	return true;
}

void flow_read_ram(struct port *src, const struct flow_op *op,
		     const struct route *r, void *buf)
{
	struct window_counters *wc = &src->cnt.win[op->win];

	dma_copy_from(buf, r->ptr, op->len);
	wc->ram_reads++;
	if (r->addr < LOW_MEMORY)
		wc->below_1m_reads++;
}

/* A held read. Its target may be another by now. */
static bool exec_read(struct port *src, const struct flow_op *op)
{
	struct route r = window_route(src, op->win, op->off, op->len, false);
	static uint8_t buf[VFU_MAX_XFER];

	switch (r.kind) {
	case ROUTE_RAM:
		flow_read_ram(src, op, &r, buf);
		flow_answer_op(src, op, buf);
		return true;
	case ROUTE_MESSAGE:
	case ROUTE_MSI:
		if (dmareq_full(&src->peer->req))
			return false;
		if (!flow_send_read(src, op, &r))
			flow_answer_op(src, op, NULL);
		return true;
	default:
		flow_count_drop(&src->cnt.win[op->win], r.kind);
		flow_answer_op(src, op, NULL);
		return true;
	}
}

static bool exec_doorbell(struct port *src, const struct flow_op *op)
{
	if (src->out.inflight)
		return false;
	if (!fault_bell(&src->fault, op->index)) {
		flow_ring(src, op->index);
		fault_bell_rang(&src->fault);
	}
	return true;
}

void flow_ring(struct port *src, unsigned int bit)
{
	if (!flow_link_is_up(src))
		src->cnt.doorbells_dropped++;
	else if (!gen3_set_status(src->peer, bit))
		src->cnt.doorbells_merged++;
}

uint32_t flow_merge(uint32_t old, const struct flow_op *op)
{
	uint32_t v;

	memcpy(&v, op->small, sizeof(v));
	return (old & ~op->off) | (v & op->off);
}

static bool exec_spad(struct port *src, const struct flow_op *op)
{
	struct flow_op as_sent = *op;
	uint32_t *reg, v;

	if (src->out.inflight)
		return false;
	if (!flow_link_is_up(src)) {
		src->cnt.spads_dropped++;
		return true;
	}
	reg = &src->peer->regs.spad[op->index];
	memcpy(&v, as_sent.small, sizeof(v));
	if (fault_spad(&src->fault, op->index, &v))
		return true;
	memcpy(as_sent.small, &v, sizeof(v));
	*reg = flow_merge(*reg, &as_sent);
	puppet_kick(src->peer->puppet);
	return true;
}

/* Let one operation take effect. Return: false if it has to wait. */
bool flow_exec(struct port *src, const struct flow_op *op)
{
	switch (op->type) {
	case FLOW_WRITE:
		return exec_write(src, op);
	case FLOW_READ:
		return exec_read(src, op);
	case FLOW_DOORBELL:
		return exec_doorbell(src, op);
	case FLOW_SPAD:
		return exec_spad(src, op);
	default:
		return true;
	}
}
