// SPDX-License-Identifier: GPL-2.0
/* Batches of puppets; see puppet.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "port.h"
#include "puppet.h"

static void on_timeout(void *arg)
{
	struct puppet *pp = arg;

	pp->timed_out = true;
	puppet_kick(pp);
}

static void on_count(void *arg)
{
	struct puppet *pp = arg;

	if (!pp->count_us)
		return;
	flow_spad_write(pp->port, pp->count_word, ++pp->count_value, ~0u);
	timer_set(&pp->count, pp->count_us);
}

struct puppet *puppet_new(struct port *port)
{
	struct puppet *pp = calloc(1, sizeof(*pp));

	if (!pp)
		return NULL;
	pp->port = port;
	timer_init(&pp->timeout, port->loop, on_timeout, pp);
	timer_init(&pp->count, port->loop, on_count, pp);
	puppet_set_up(pp);
	return pp;
}

void puppet_set_up(struct puppet *pp)
{
	/* Addresses that no window's size reaches; nobody but window_opening() looks at them. */
	static const uint64_t bar[3] = { 1ull << 41, 1ull << 42, 1ull << 43 };
	struct port *port = pp->port;
	uint16_t cmd = PCICFG_CMD_MEMORY | PCICFG_CMD_MASTER;

	for (int i = 0; i < 3; i++)
		pcicfg_write(&port->pci, PCICFG_BAR0 + 8 * i,
			     (const uint8_t *)&bar[i], sizeof(bar[i]));
	pcicfg_write(&port->pci, PCICFG_COMMAND, (const uint8_t *)&cmd,
		     sizeof(cmd));
	pp->count_us = 0;
}

static void drop_answer(struct puppet *pp)
{
	free(pp->answer);
	pp->answer = NULL;
	pp->answered = false;
}

static void end_batch(struct puppet *pp)
{
	json_object_put(pp->ops);
	json_object_put(pp->results);
	pp->ops = pp->results = NULL;
	pp->done = NULL;
	pp->waiting = pp->timed_out = false;
	timer_stop(&pp->timeout);
	/* An answer may still come, to nobody. */
	pp->read_id++;
	drop_answer(pp);
}

void puppet_free(struct puppet *pp)
{
	end_batch(pp);
	timer_exit(&pp->timeout);
	timer_exit(&pp->count);
	free(pp);
}

/* The reply, if the batch came to its end. */
static struct json_object *go_on(struct puppet *pp)
{
	size_t n = json_object_array_length(pp->ops);
	struct json_object *reply, *result = NULL;
	enum puppet_op_state state = PUPPET_OP_DONE;

	for (; pp->at < n; pp->at++) {
		result = NULL;
		state = puppet_op(pp, json_object_array_get_idx(pp->ops, pp->at),
				  &result);
		if (state == PUPPET_OP_WAIT) {
			pp->waiting = true;
			return NULL;
		}
		if (pp->waiting)
			timer_stop(&pp->timeout);
		pp->waiting = pp->timed_out = false;
		drop_answer(pp);
		if (state == PUPPET_OP_BAD)
			break;
		json_object_array_add(pp->results, result);
	}
	reply = json_object_new_object();
	json_object_object_add(reply, "ok",
			       json_object_new_boolean(state == PUPPET_OP_DONE));
	if (state == PUPPET_OP_BAD) {
		char text[224];

		snprintf(text, sizeof(text), "operation %zu: %s", pp->at,
			 pp->err);
		json_object_object_add(reply, "error",
				       json_object_new_string(text));
	}
	json_object_object_add(reply, "results", json_object_get(pp->results));
	return reply;
}

struct json_object *puppet_run(struct puppet *pp, struct json_object *ops,
			       puppet_done_fn done, void *arg)
{
	struct json_object *reply;

	pp->ops = json_object_get(ops);
	pp->results = json_object_new_array();
	pp->at = 0;
	pp->done = done;
	pp->arg = arg;
	pp->running = true;
	reply = go_on(pp);
	pp->running = false;
	if (reply)
		end_batch(pp);
	return reply;
}

void puppet_cancel(struct puppet *pp)
{
	end_batch(pp);
}

void puppet_kick(struct puppet *pp)
{
	if (pp)
		pp->kicked = true;
}

bool puppet_look(struct puppet *pp)
{
	struct json_object *reply;
	puppet_done_fn done;

	if (!pp->kicked || pp->running)
		return false;
	pp->kicked = false;
	if (!pp->ops)
		return false;
	pp->running = true;
	reply = go_on(pp);
	pp->running = false;
	if (reply) {
		done = pp->done;
		end_batch(pp);
		done(pp->arg, reply);
	}
	return true;
}

void puppet_answer(struct puppet *pp, uint16_t read_id, const void *data,
		   uint32_t len)
{
	if (read_id != pp->read_id || pp->answered)
		return;
	pp->answered = true;
	pp->answer_len = len;
	pp->answer = data ? malloc(len) : NULL;
	if (pp->answer)
		memcpy(pp->answer, data, len);
	puppet_kick(pp);
}
