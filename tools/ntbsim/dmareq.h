/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests to a port's client: DMA_READ and DMA_WRITE, and what becomes of their answers.
 *
 * The table belongs to the port that is asked (the target). Every request ends exactly once: by its answer, or
 * by dmareq_abort() when the client goes away.
 */
#ifndef NTBSIM_DMAREQ_H
#define NTBSIM_DMAREQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vfu_proto.h"

/* Requests that may be on their way to one client. */
#define DMAREQ_MAX	1024

struct port;

/**
 * struct dmareq - one request
 * @used: this slot is taken
 * @write: DMA_WRITE, else DMA_READ
 * @seq: counts the uses of this slot, so that a late answer is told apart
 * @win: which window of the requester it came through
 * @src: the requester's port
 * @epoch: that port's epoch at the time
 * @msg_id: the requester's message, for a read
 * @region: its region
 * @offset: its offset
 * @count: bytes
 * @msi: an interrupt
 * @overtaken: when a read's answer overtook it, as fault_now() has it; 0 = none has
 */
struct dmareq {
	bool used;
	bool write;
	uint8_t seq;
	uint8_t win;
	struct port *src;
	uint32_t epoch;
	uint16_t msg_id;
	uint32_t region;
	uint64_t offset;
	uint32_t count;
	bool msi;
	uint64_t overtaken;
};

/**
 * struct dmareq_table - requests on their way to one client
 * @slot: requests
 * @free: stack of free slots
 * @nfree: its height
 */
struct dmareq_table {
	struct dmareq slot[DMAREQ_MAX];
	uint16_t free[DMAREQ_MAX];
	int nfree;
};

void dmareq_init(struct dmareq_table *t);
bool dmareq_full(const struct dmareq_table *t);

/**
 * dmareq_write() - write to what the target's client can reach
 * @target: the port whose client is asked; its table is not full
 * @req: template; @used and @seq are ignored
 * @addr: bus address at the target
 * @data: @req->count bytes
 *
 * Return: false if there is no client to ask.
 */
bool dmareq_write(struct port *target, const struct dmareq *req, uint64_t addr,
		  const void *data);
bool dmareq_read(struct port *target, const struct dmareq *req, uint64_t addr);

/*
 * Note at writes of @src that are on their way to the target's client, and were not overtaken before,
 * that a read's answer overtakes them @now.
 */
void dmareq_overtake(struct port *target, const struct port *src, uint64_t now);

/* An answer came. Return: 0, or -EPROTO if it answers nothing. */
int dmareq_reply(struct port *target, const struct vfu_hdr *hdr,
		 const void *payload, size_t len);

/* The client is gone: end all requests. */
void dmareq_abort(struct port *target);

#endif /* NTBSIM_DMAREQ_H */
