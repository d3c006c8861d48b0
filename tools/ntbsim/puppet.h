/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Puppets: ports without a guest, driven over the control socket.
 *
 * To its peer a puppet is a host like any other. What it does goes through the same registers, flow and windows as
 * what a guest does, in the same order, and is counted the same. It has RAM of its own where it was told to.
 *
 * It is driven by batches: lists of operations, carried out one after the other. One that has to wait (for a
 * doorbell, a word, an answer) stops its batch, not the simulator; the puppet is kicked when something of that kind
 * happened to its port, and looks again from the loop's after-hook. README.md lists the operations.
 *
 * puppet.c carries out batches, puppet_op.c has the operations.
 */
#ifndef NTBSIM_PUPPET_H
#define NTBSIM_PUPPET_H

#include <json.h>
#include <stdbool.h>
#include <stdint.h>

#include "timer.h"

/* The most that a puppet serves as RAM, and the longest wait of one operation. */
#define PUPPET_RAM_MAX		(1ull << 30)
#define PUPPET_WAIT_MAX_MS	600000

struct port;

/**
 * typedef puppet_done_fn - a batch ended later
 * @arg: as given to puppet_run()
 * @reply: as puppet_run() would have returned it; the callee puts it
 */
typedef void (*puppet_done_fn)(void *arg, struct json_object *reply);

/**
 * struct puppet - what drives a port that has no guest
 * @port: the port
 * @ops: the batch that is carried out, or NULL
 * @at: its current operation
 * @results: of the operations before
 * @done: whom to tell
 * @arg: for @done
 * @kicked: look again
 * @running: looking
 * @waiting: the current operation waits
 * @timed_out: and has waited for long enough
 * @read_id: names the read that it waits for; others are of batches that were forgotten
 * @answered: its answer came
 * @answer: the answer, NULL for all-ones
 * @answer_len: bytes in it
 * @timeout: of the operation that waits
 * @count: makes a peer's scratchpad count
 * @count_us: how often; 0 for not at all
 * @count_word: which one
 * @count_value: what it was set to last
 * @err: why the operation failed
 */
struct puppet {
	struct port *port;
	struct json_object *ops;
	size_t at;
	struct json_object *results;
	puppet_done_fn done;
	void *arg;

	bool kicked;
	bool running;
	bool waiting;
	bool timed_out;
	uint16_t read_id;
	bool answered;
	uint8_t *answer;
	uint32_t answer_len;

	struct timer timeout;
	struct timer count;
	uint64_t count_us;
	unsigned int count_word;
	uint32_t count_value;

	char err[160];
};

/* Make a port a puppet: present, decoding, mastering; its link is not enabled yet. Return: NULL without memory. */
struct puppet *puppet_new(struct port *port);
void puppet_free(struct puppet *pp);

/* The port was reset: what a guest's firmware and driver would set up again. */
void puppet_set_up(struct puppet *pp);

/**
 * puppet_run() - carry out a batch
 * @pp: the puppet, which has no other to carry out
 * @ops: the operations, each an array; a reference is taken
 * @done: called if the batch ends later
 * @arg: for @done
 *
 * Return: the reply, or NULL if it comes later.
 */
struct json_object *puppet_run(struct puppet *pp, struct json_object *ops,
			       puppet_done_fn done, void *arg);
/* Forget the batch; whoever asked is gone. */
void puppet_cancel(struct puppet *pp);

/* Something happened to the port. @pp may be NULL. */
void puppet_kick(struct puppet *pp);
/* From the after-hook. Return: whether anything was done. */
bool puppet_look(struct puppet *pp);

/* A read that did not end at once has ended. @data is NULL for all-ones. */
void puppet_answer(struct puppet *pp, uint16_t read_id, const void *data,
		   uint32_t len);

/* For puppet_op.c and puppet.c: */

enum puppet_op_state {
	PUPPET_OP_DONE,
	PUPPET_OP_WAIT,
	PUPPET_OP_BAD,		/* @err says why */
};

/**
 * puppet_op() - carry out the current operation, or look again whether it can end
 * @pp: the puppet
 * @op: the operation
 * @result: what the reply says of it, NULL for null
 */
enum puppet_op_state puppet_op(struct puppet *pp, struct json_object *op,
			       struct json_object **result);

#endif /* NTBSIM_PUPPET_H */
