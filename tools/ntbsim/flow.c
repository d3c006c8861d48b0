// SPDX-License-Identifier: GPL-2.0
/* What crosses, in order: taking operations, holding them, giving them their turn. See flow.h. */
#include <stdlib.h>
#include <string.h>

#include "cycle.h"
#include "flow_op.h"
#include "log.h"
#include "port.h"
#include "puppet.h"

static struct flow_op *op_at(const struct flow *f, size_t i)
{
	return &f->ops[(f->head + i) & (f->cap - 1)];
}

static void op_free(struct flow *f, const struct flow_op *op)
{
	if (op->type == FLOW_WRITE && op->len > sizeof(op->small)) {
		f->bytes -= op->len;
		free(op->large);
	}
}

static void pop(struct flow *f)
{
	op_free(f, op_at(f, 0));
	f->head = (f->head + 1) & (f->cap - 1);
	f->n--;
	if (!f->n && f->cap > 4096) {
		/* A flood is over: give its memory back. */
		free(f->ops);
		f->ops = NULL;
		f->cap = f->head = 0;
	}
}

static void run(struct port *src)
{
	struct flow *f = &src->out;

	while (f->n && !f->frozen && flow_exec(src, op_at(f, 0)))
		pop(f);
}

static bool grow(struct flow *f)
{
	size_t cap = f->cap ? f->cap * 2 : 64;
	struct flow_op *ops;

	if (f->n < f->cap)
		return true;
	ops = calloc(cap, sizeof(*ops));
	if (!ops)
		return false;
	for (size_t i = 0; i < f->n; i++)
		ops[i] = *op_at(f, i);
	free(f->ops);
	f->ops = ops;
	f->head = 0;
	f->cap = cap;
	return true;
}

/* Hold an operation; @op->large, if used, still points to the caller's data. */
static bool hold(struct port *src, const struct flow_op *op)
{
	struct flow *f = &src->out;
	struct flow_op held = *op;

	if (f->bytes + f->n * sizeof(*op) + op->len > FLOW_CAP || !grow(f)) {
		if (src->peer->conn)
			vfu_conn_doom(src->peer->conn,
				      "it does not answer: %zu writes wait",
				      f->n);
		return false;
	}
	if (op->type == FLOW_WRITE && op->len > sizeof(op->small)) {
		held.large = malloc(op->len);
		if (!held.large)
			return false;
		memcpy(held.large, op->large, op->len);
		f->bytes += op->len;
	}
	f->n++;
	*op_at(f, f->n - 1) = held;
	return true;
}

/*
 * Take an operation in its turn. Return: 0 if it took effect, 1 if it is held, -1 if it was lost.
 */
static int submit(struct port *src, const struct flow_op *op)
{
	if (!src->out.n && !src->out.frozen && flow_exec(src, op))
		return 0;
	return hold(src, op) ? 1 : -1;
}

void flow_write(struct port *src, unsigned int win, uint64_t off,
		const void *data, uint32_t len)
{
	struct window_counters *wc = &src->cnt.win[win];
	struct flow_op op = {
		.type = FLOW_WRITE, .win = win, .off = off, .len = len,
	};
	int ret;

	wc->writes++;
	wc->bytes_written += len;
	if (len <= sizeof(op.small))
		memcpy(op.small, data, len);
	else
		op.large = (void *)data;
	ret = submit(src, &op);
	if (ret > 0)
		wc->held++;
	else if (ret < 0)
		wc->dropped_purged++;
}

/* Lay what the first @n held writes would put into [ptr, ptr + len) over @buf. */
static void overlay(struct port *src, size_t n, const uint8_t *ptr,
		    uint8_t *buf, uint32_t len)
{
	const struct flow *f = &src->out;

	for (size_t i = 0; i < n; i++) {
		const struct flow_op *op = op_at(f, i);
		const uint8_t *to, *from, *end;
		struct route r;

		if (op->type != FLOW_WRITE)
			continue;
		r = window_route(src, op->win, op->off, op->len, true);
		if (r.kind != ROUTE_RAM)
			continue;
		to = r.ptr;
		from = to > ptr ? to : ptr;
		end = to + op->len < ptr + len ? to + op->len : ptr + len;
		if (from < end)
			memcpy(buf + (from - ptr),
			       (const uint8_t *)flow_op_data(op) + (from - to),
			       end - from);
	}
}

/* Answer a port's held reads of memory out of their turn. Return: whether there was one. */
static bool give_way(struct port *src)
{
	static uint8_t buf[VFU_MAX_XFER];
	bool any = false;

	for (size_t i = 0; i < src->out.n; i++) {
		struct flow_op *op = op_at(&src->out, i);
		struct route r;

		if (op->type != FLOW_READ)
			continue;
		r = window_route(src, op->win, op->off, op->len, false);
		if (r.kind != ROUTE_RAM)
			continue;
		flow_read_ram(src, op, &r, buf);
		overlay(src, i, r.ptr, buf, op->len);
		src->cnt.win[op->win].reads_early++;
		flow_answer_op(src, op, buf);
		op->type = FLOW_NONE;
		any = true;
	}
	return any;
}

/* Would @src, if it waited for its peer, close a circle that no read of memory can open? */
static bool circle_closes(struct port *src)
{
	if (!cycle_would_close(src))
		return false;
	for (int i = 0; i < src->nall; i++)
		if (give_way(&src->all[i]) && !cycle_would_close(src))
			return false;
	return true;
}

/* Keep a read for its turn. Return: as flow_read(). */
static bool hold_read(struct port *src, const struct flow_op *op)
{
	struct window_counters *wc = &src->cnt.win[op->win];

	if (!hold(src, op)) {
		wc->errors++;
		return true;
	}
	wc->held++;
	src->out.waits++;
	return false;
}

static bool read_memory(struct port *src, const struct flow_op *op,
			const struct route *r, void *buf)
{
	/* A read pushes the writes before it: what is held must land first. */
	if ((src->out.n || src->out.frozen) && !circle_closes(src)) {
		memset(buf, 0xff, op->len);
		return hold_read(src, op);
	}
	flow_read_ram(src, op, r, buf);
	if (src->out.n) {
		src->cnt.win[op->win].reads_early++;
		overlay(src, src->out.n, r->ptr, buf, op->len);
	}
	return true;
}

bool flow_read(struct port *src, unsigned int win, uint64_t off, void *buf,
	       uint32_t len, uint16_t msg_id)
{
	struct window_counters *wc = &src->cnt.win[win];
	struct flow_op op = {
		.type = FLOW_READ, .win = win, .off = off, .len = len,
		.msg_id = msg_id,
	};
	struct route r = window_route(src, win, off, len, false);

	wc->reads++;
	wc->bytes_read += len;
	if (r.kind == ROUTE_RAM)
		return read_memory(src, &op, &r, buf);
	memset(buf, 0xff, len);
	if (r.kind < ROUTE_RAM) {
		flow_count_drop(wc, r.kind);
		return true;
	}
	if (circle_closes(src)) {
		wc->crossed++;
		log_warn("%s: a device read of %s at %#llx crosses one in the other direction: answered with all-ones",
			 src->cfg->name, src->peer->cfg->name,
			 (unsigned long long)r.addr);
		return true;
	}
	if (src->out.n || src->out.frozen || dmareq_full(&src->peer->req))
		return hold_read(src, &op);
	if (!flow_send_read(src, &op, &r))
		return true;
	src->out.waits++;
	return false;
}

void flow_doorbell(struct port *src, unsigned int bit)
{
	struct flow_op op = { .type = FLOW_DOORBELL, .index = bit };
	int ret;

	src->cnt.doorbells++;
	src->cnt.doorbell_bits[bit]++;
	ret = submit(src, &op);
	if (ret > 0)
		src->cnt.doorbells_held++;
	else if (ret < 0)
		src->cnt.doorbells_dropped++;
}

void flow_spad_write(struct port *src, unsigned int i, uint32_t v,
		     uint32_t mask)
{
	struct flow_op op = { .type = FLOW_SPAD, .index = i, .off = mask };

	memcpy(op.small, &v, sizeof(v));
	src->cnt.spad_peer_writes++;
	src->cnt.spad_peer_write[i]++;
	if (submit(src, &op) < 0)
		src->cnt.spads_dropped++;
}

uint32_t flow_spad_read(struct port *src, unsigned int i)
{
	const struct flow *f = &src->out;
	uint32_t v;

	src->cnt.spad_peer_reads++;
	if (!flow_link_is_up(src)) {
		src->cnt.spads_dropped++;
		return ~0u;
	}
	v = src->peer->regs.spad[i];
	for (size_t k = 0; k < f->n; k++) {
		const struct flow_op *op = op_at(f, k);

		if (op->type == FLOW_SPAD && op->index == i)
			v = flow_merge(v, op);
	}
	return v;
}

void flow_go_on(struct port *src)
{
	run(src);
	puppet_kick(src->puppet);
}

void flow_freeze(struct port *src, bool on)
{
	src->out.frozen = on;
	flow_go_on(src);
}

void flow_purge(struct port *src)
{
	struct flow *f = &src->out;

	fault_purge(&src->fault);
	while (f->n) {
		const struct flow_op *op = op_at(f, 0);

		switch (op->type) {
		case FLOW_WRITE:
			src->cnt.win[op->win].dropped_purged++;
			break;
		case FLOW_READ:
			src->cnt.win[op->win].dropped_purged++;
			flow_answer_op(src, op, NULL);
			break;
		case FLOW_DOORBELL:
			src->cnt.doorbells_dropped++;
			break;
		default:
			src->cnt.spads_dropped++;
		}
		pop(f);
	}
	free(f->ops);
	f->ops = NULL;
	f->cap = f->head = 0;
}

void flow_write_done(struct port *src, const struct dmareq *req, bool ok)
{
	struct window_counters *wc = &src->cnt.win[req->win];

	if (!ok)
		wc->errors++;
	if (req->msi && req->overtaken) {
		wc->msi_overtaken++;
		if (fault_now() - req->overtaken > FLOW_LATE_US)
			wc->msi_overtaken_late++;
	}
	src->out.inflight--;
	flow_go_on(src);
}

/* @src gets the answer of a device read: what its peer wrote before should have come first. */
static void overtake(struct port *src)
{
	struct flow *f = &src->peer->out;
	uint64_t now;

	if (!f->inflight && !f->n)
		return;
	now = fault_now();
	dmareq_overtake(src, src->peer, now);
	for (size_t i = 0; i < f->n; i++) {
		struct flow_op *op = op_at(f, i);

		if (op->type == FLOW_WRITE && !op->overtaken)
			op->overtaken = now;
	}
}

void flow_read_done(struct port *src, const struct dmareq *req,
		    const void *data)
{
	if (!data)
		src->cnt.win[req->win].errors++;
	src->out.waits--;
	/* Not to a client that came after the one that asked. */
	if (src->epoch == req->epoch) {
		port_answer_read(src, req->msg_id, req->region, req->offset,
				 data, req->count);
		overtake(src);
	}
	run(src);
}
