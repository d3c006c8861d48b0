// SPDX-License-Identifier: GPL-2.0
/* Requests to clients; see dmareq.h. */
#include <errno.h>
#include <string.h>

#include "dmareq.h"
#include "log.h"
#include "port.h"

/* A request's id on the wire: its slot, and a few bits of the slot's use count. */
#define ID_SLOT_BITS	10
static_assert(DMAREQ_MAX == 1 << ID_SLOT_BITS, "ids");
#define ID_SEQ_MASK	0x3f

void dmareq_init(struct dmareq_table *t)
{
	memset(t, 0, sizeof(*t));
	for (int i = 0; i < DMAREQ_MAX; i++)
		t->free[i] = DMAREQ_MAX - 1 - i;
	t->nfree = DMAREQ_MAX;
}

bool dmareq_full(const struct dmareq_table *t)
{
	return !t->nfree;
}

static struct vfu_dma_rw *send_request(struct port *target,
				       const struct dmareq *req, uint64_t addr,
				       uint16_t cmd, size_t data_len)
{
	struct dmareq_table *t = &target->req;
	struct vfu_hdr hdr = { .cmd = cmd };
	struct vfu_dma_rw *rw;
	struct dmareq *slot;
	uint16_t i;

	if (!target->conn || target->conn->doomed || !t->nfree ||
	    req->count > target->conn->max_xfer)
		return NULL;
	i = t->free[t->nfree - 1];
	slot = &t->slot[i];
	hdr.id = i | (((slot->seq + 1) & ID_SEQ_MASK) << ID_SLOT_BITS);
	rw = vfu_conn_put(target->conn, &hdr,
			  sizeof(*rw) + data_len);
	if (!rw)
		return NULL;
	rw->offset = addr;
	rw->count = req->count;

	t->nfree--;
	i = slot->seq;
	*slot = *req;
	slot->used = true;
	slot->seq = i + 1;
	return rw;
}

bool dmareq_write(struct port *target, const struct dmareq *req, uint64_t addr,
		  const void *data)
{
	struct vfu_dma_rw *rw = send_request(target, req, addr, VFU_DMA_WRITE,
					     req->count);

	if (!rw)
		return false;
	memcpy(rw->data, data, req->count);
	return true;
}

bool dmareq_read(struct port *target, const struct dmareq *req, uint64_t addr)
{
	return send_request(target, req, addr, VFU_DMA_READ, 0);
}

void dmareq_overtake(struct port *target, const struct port *src, uint64_t now)
{
	struct dmareq_table *t = &target->req;

	for (unsigned int i = 0; i < DMAREQ_MAX; i++) {
		struct dmareq *req = &t->slot[i];

		if (req->used && req->write && req->src == src && !req->overtaken)
			req->overtaken = now;
	}
}

/* Free the slot, then tell the requester; that may use the slot again. */
static void end_request(struct dmareq_table *t, unsigned int i,
			const void *data)
{
	struct dmareq req = t->slot[i];

	t->slot[i].used = false;
	t->free[t->nfree++] = i;
	if (req.write)
		flow_write_done(req.src, &req, data != NULL);
	else
		flow_read_done(req.src, &req, data);
}

int dmareq_reply(struct port *target, const struct vfu_hdr *hdr,
		 const void *payload, size_t len)
{
	struct dmareq_table *t = &target->req;
	unsigned int i = hdr->id & (DMAREQ_MAX - 1);
	const struct dmareq *req = &t->slot[i];
	const struct vfu_dma_rw *rw = payload;
	const void *data = NULL;

	if (!req->used || (req->seq & ID_SEQ_MASK) != hdr->id >> ID_SLOT_BITS ||
	    hdr->cmd != (req->write ? VFU_DMA_WRITE : VFU_DMA_READ))
		return -EPROTO;
	if (hdr->flags & VFU_F_ERROR)
		log_dbg("%s: DMA %s failed: %s", target->cfg->name,
			req->write ? "write" : "read", strerror(hdr->error));
	else if (req->write)
		data = hdr;
	else if (len >= sizeof(*rw) + req->count && rw->count == req->count)
		data = rw->data;
	else
		log_warn("%s: short answer to a DMA read", target->cfg->name);
	end_request(t, i, data);
	return 0;
}

void dmareq_abort(struct port *target)
{
	struct dmareq_table *t = &target->req;

	for (unsigned int i = 0; i < DMAREQ_MAX; i++) {
		if (t->slot[i].used)
			end_request(t, i, NULL);
	}
}
