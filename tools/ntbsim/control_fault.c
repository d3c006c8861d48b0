// SPDX-License-Identifier: GPL-2.0
/* The commands that injure: faults, flaps, freezes. */
#include <string.h>

#include "control_cmd.h"
#include "server.h"

/* The longest time in a plan. */
#define FAULT_MAX_US	600000000ull

/* Whether a request has only keys that mean something. Return: NULL, or one that does not. */
static const char *odd_key(jobj *req, const char * const known[], size_t n)
{
	json_object_object_foreach(req, key, v) {
		size_t i = 0;

		(void)v;
		while (i < n && strcmp(known[i], key))
			i++;
		if (i == n)
			return key;
	}
	return NULL;
}

/* A number that may be missing. */
static bool get_number(jobj *req, const char *key, uint64_t max, uint64_t *out)
{
	jobj *v;

	if (!json_object_object_get_ex(req, key, &v))
		return true;
	if (!json_object_is_type(v, json_type_int) ||
	    json_object_get_int64(v) < 0)
		return false;
	*out = json_object_get_uint64(v);
	return *out <= max;
}

static bool get_chance(jobj *req, const char *key, double *out)
{
	jobj *v;

	if (!json_object_object_get_ex(req, key, &v))
		return true;
	if (!json_object_is_type(v, json_type_double) &&
	    !json_object_is_type(v, json_type_int))
		return false;
	*out = json_object_get_double(v);
	return *out >= 0 && *out <= 1;
}

jobj *control_faults(struct server *s, jobj *req)
{
	static const char * const known[] = {
		"cmd", "port", "seed", "bell_us", "lost_us", "corrupt_words",
		"freeze_every_us", "freeze_us",
		"bell_drop", "bell_delay", "bell_dup", "bell_reorder",
		"spad_lost", "spad_corrupt", "msi_lost", "msi_late", "msi_us",
	};
	const char *odd = odd_key(req, known, sizeof(known) / sizeof(known[0]));
	struct fault_plan plan = {
		.bell_us = 10000,
		.lost_us = 1000,
		.msi_us = 10000,
		.corrupt_words = (1u << NUM_SPADS) - 1,
		.freeze_us = 10000,
	};
	struct port *port = control_port(s, req);
	uint64_t words = plan.corrupt_words;

	if (odd)
		return control_failed("faults: unknown key \"%s\"", odd);
	if (!port && json_object_object_get_ex(req, "port", NULL))
		return control_failed("there is no such port");
	for (int i = 0; i < FAULT_FREEZE; i++) {
		if (!get_chance(req, fault_names[i], &plan.chance[i]))
			return control_failed("\"%s\" must be a number from 0 to 1",
					      fault_names[i]);
	}
	if (!get_number(req, "seed", INT64_MAX, &plan.seed) ||
	    !get_number(req, "bell_us", FAULT_MAX_US, &plan.bell_us) ||
	    !get_number(req, "lost_us", FAULT_MAX_US, &plan.lost_us) ||
	    !get_number(req, "msi_us", FAULT_MAX_US, &plan.msi_us) ||
	    !get_number(req, "corrupt_words", words, &words) ||
	    !get_number(req, "freeze_every_us", FAULT_MAX_US,
			&plan.freeze_every_us) ||
	    !get_number(req, "freeze_us", FAULT_MAX_US, &plan.freeze_us))
		return control_failed("times are up to %llu us, words a mask of %d bits, and the seed a positive number",
				      FAULT_MAX_US, NUM_SPADS);
	plan.corrupt_words = words;
	for (int i = 0; i < s->cfg.nports; i++) {
		if (!port || port == &s->port[i])
			fault_set_plan(&s->port[i].fault, &plan);
	}
	return control_ok();
}

jobj *control_freeze(struct server *s, jobj *req)
{
	struct port *port = control_port(s, req);
	jobj *on;

	if (!port || !json_object_object_get_ex(req, "on", &on) ||
	    !json_object_is_type(on, json_type_boolean))
		return control_failed("\"port\" must name a port, and \"on\" be true or false");
	flow_freeze(port, json_object_get_boolean(on));
	return control_ok();
}

static void flapped(void *arg)
{
	control_reply(arg, control_ok());
}

static void forget_flaps(void *arg)
{
	struct flap *flap = arg;

	flap->done = NULL;
}

jobj *control_flap(struct server *s, jobj *req, struct control_client *from)
{
	static const char * const known[] = {
		"cmd", "link", "seed", "every_us", "down_us", "count", "wait",
	};
	const char *odd = odd_key(req, known, sizeof(known) / sizeof(known[0]));
	struct flap_plan plan = { .every_us = 20000, .down_us = 10000 };
	uint64_t link = 0;
	struct flap *flap;
	bool wait;
	jobj *v;

	if (odd)
		return control_failed("flap: unknown key \"%s\"", odd);
	if (!get_number(req, "link", CONFIG_MAX_LINKS, &link) ||
	    link >= (uint64_t)s->cfg.nlinks)
		return control_failed("there is no such link");
	if (!get_number(req, "seed", INT64_MAX, &plan.seed) ||
	    !get_number(req, "every_us", FAULT_MAX_US, &plan.every_us) ||
	    !get_number(req, "down_us", FAULT_MAX_US, &plan.down_us) ||
	    !get_number(req, "count", UINT32_MAX, &plan.count))
		return control_failed("times are up to %llu us, and seed and count positive numbers",
				      FAULT_MAX_US);
	wait = json_object_object_get_ex(req, "wait", &v) &&
	       json_object_get_boolean(v) && plan.count && from;
	flap = &s->link[link].flap;
	if (!plan.count) {
		flap_stop(flap);
		return control_ok();
	}
	flap_start(flap, &plan, wait ? flapped : NULL, from);
	if (!wait)
		return control_ok();
	control_defer(from, forget_flaps, flap);
	return NULL;
}
