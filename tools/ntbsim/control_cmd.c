// SPDX-License-Identifier: GPL-2.0
/* The commands of the control socket. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "control_cmd.h"
#include "puppet.h"
#include "server.h"
#include "window.h"

jobj *control_ok(void)
{
	jobj *r = json_object_new_object();

	json_object_object_add(r, "ok", json_object_new_boolean(true));
	return r;
}

jobj *control_failed(const char *fmt, ...)
{
	jobj *r = json_object_new_object();
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_object_object_add(r, "ok", json_object_new_boolean(false));
	json_object_object_add(r, "error", json_object_new_string(text));
	return r;
}

static void add_int(jobj *o, const char *key, int64_t v)
{
	json_object_object_add(o, key, json_object_new_int64(v));
}

static void add_bool(jobj *o, const char *key, bool v)
{
	json_object_object_add(o, key, json_object_new_boolean(v));
}

static void add_str(jobj *o, const char *key, const char *v)
{
	json_object_object_add(o, key, json_object_new_string(v));
}

static void add_u64(jobj *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

static void reset_counters(struct server *s)
{
	for (int i = 0; i < s->cfg.nports; i++)
		memset(&s->port[i].cnt, 0, sizeof(s->port[i].cnt));
}

static uint64_t sum_crossed(const struct server *s)
{
	uint64_t n = 0;

	for (int i = 0; i < s->cfg.nports; i++) {
		for (int w = 0; w < NUM_WINDOWS; w++)
			n += s->port[i].cnt.win[w].crossed;
	}
	return n;
}

static jobj *cmd_counters(struct server *s, jobj *req)
{
	jobj *r = control_ok(), *ports = json_object_new_object(), *v;

	add_u64(r, "crossed_read_cycles", sum_crossed(s));
	for (int i = 0; i < s->cfg.nports; i++) {
		const struct port *p = &s->port[i];
		jobj *o = json_object_new_object();

		json_object_object_add(o, "out", counters_json(&p->cnt));
		if (p->peer)
			json_object_object_add(o, "in",
					       counters_json(&p->peer->cnt));
		json_object_object_add(ports, p->cfg->name, o);
	}
	json_object_object_add(r, "ports", ports);
	if (json_object_object_get_ex(req, "reset", &v) &&
	    json_object_get_boolean(v))
		reset_counters(s);
	return r;
}

static jobj *cmd_reset(struct server *s, jobj *req)
{
	(void)req;
	reset_counters(s);
	return control_ok();
}

static jobj *cmd_link(struct server *s, jobj *req)
{
	jobj *link, *up;
	int64_t i;

	if (!json_object_object_get_ex(req, "link", &link) ||
	    !json_object_is_type(link, json_type_int) ||
	    !json_object_object_get_ex(req, "up", &up) ||
	    !json_object_is_type(up, json_type_boolean))
		return control_failed("\"link\" must be a number and \"up\" true or false");
	i = json_object_get_int64(link);
	if (i < 0 || i >= s->cfg.nlinks)
		return control_failed("there is no link %lld", (long long)i);
	/* From here on it is the operator's. */
	flap_stop(&s->link[i].flap);
	s->link[i].allowed = json_object_get_boolean(up);
	link_update(&s->link[i]);
	return control_ok();
}

static jobj *window_status(const struct port *p, int win)
{
	jobj *o = json_object_new_object();

	add_int(o, "bar", 2 + 2 * win);
	add_u64(o, "size", p->cfg->win[win].size);
	add_bool(o, "fast", p->cfg->win[win].fast);
	add_u64(o, "bar_address", pcicfg_bar(&p->pci, 2 + 2 * win));
	add_u64(o, "xbase", p->regs.xbase[win]);
	add_u64(o, "xlmt", p->regs.xlmt[win]);
	add_u64(o, "inbound_open", window_opening(p, win));
	return o;
}

static jobj *port_status(const struct port *p)
{
	jobj *o = json_object_new_object(), *wins = json_object_new_array();
	int vectors = 0;

	for (int i = 0; i < PORT_VECTORS; i++)
		vectors += p->irq_fd[i] >= 0;
	for (int i = 0; i < NUM_WINDOWS; i++)
		json_object_array_add(wins, window_status(p, i));
	add_str(o, "name", p->cfg->name);
	add_str(o, "role", p->cfg->dsd ? "dsd" : "usd");
	add_bool(o, "connected", port_present(p));
	add_bool(o, "puppet", p->puppet);
	add_int(o, "pid", p->conn ? p->pid : 0);
	add_int(o, "command", pcicfg_command(&p->pci));
	add_bool(o, "memory_decode", port_can_decode(p));
	add_bool(o, "bus_master", port_can_master(p));
	add_u64(o, "bar0_address", pcicfg_bar(&p->pci, 0));
	add_int(o, "ntbcntl", p->regs.cntl);
	add_bool(o, "link_enabled", gen3_link_enabled(&p->regs));
	add_u64(o, "int_status", p->regs.status);
	add_u64(o, "int_disable", p->regs.disable);
	add_int(o, "vectors", vectors);
	add_bool(o, "msix", pcicfg_msix(&p->pci));
	add_bool(o, "intx", p->line_fd >= 0);
	add_u64(o, "dma_maps", p->dma.n);
	add_u64(o, "held", p->out.n);
	add_bool(o, "frozen", p->out.frozen);
	add_u64(o, "late_bells", p->fault.nbells);
	add_int(o, "unacknowledged", p->out.inflight);
	add_int(o, "device_reads", p->out.waits);
	json_object_object_add(o, "windows", wins);
	return o;
}

static jobj *cmd_status(struct server *s, jobj *req)
{
	jobj *r = control_ok();
	jobj *ports = json_object_new_array(), *links = json_object_new_array();

	(void)req;
	for (int i = 0; i < s->cfg.nports; i++)
		json_object_array_add(ports, port_status(&s->port[i]));
	for (int i = 0; i < s->cfg.nlinks; i++) {
		const struct link *l = &s->link[i];
		jobj *o = json_object_new_object();
		jobj *ends = json_object_new_array();

		for (int e = 0; e < 2; e++)
			json_object_array_add(ends,
				json_object_new_string(l->end[e]->cfg->name));
		json_object_object_add(o, "ports", ends);
		add_bool(o, "allowed", l->allowed);
		add_bool(o, "up", l->up);
		add_u64(o, "flaps_left", l->flap.plan.count);
		json_object_array_add(links, o);
	}
	json_object_object_add(r, "ports", ports);
	json_object_object_add(r, "links", links);
	add_u64(r, "replaced_pages", dma_sigbus_count());
	return r;
}

struct port *control_port(struct server *s, jobj *req)
{
	const char *name;
	jobj *v;

	if (!json_object_object_get_ex(req, "port", &v))
		return NULL;
	name = json_object_get_string(v);
	for (int i = 0; name && i < s->cfg.nports; i++) {
		if (!strcmp(s->cfg.port[i].name, name))
			return &s->port[i];
	}
	return NULL;
}

static void forget_batch(void *arg)
{
	puppet_cancel(arg);
}

static jobj *cmd_puppet(struct server *s, jobj *req,
			struct control_client *from)
{
	struct port *port = control_port(s, req);
	jobj *ops, *r;

	if (!port || !port->puppet)
		return control_failed("\"port\" must name a puppet");
	if (!port->peer)
		return control_failed("the puppet has no link");
	if (!json_object_object_get_ex(req, "ops", &ops) ||
	    !json_object_is_type(ops, json_type_array))
		return control_failed("\"ops\" must be a list");
	if (!from || port->puppet->ops)
		return control_failed("the puppet has a batch to carry out");
	r = puppet_run(port->puppet, ops, control_reply, from);
	if (!r)
		control_defer(from, forget_batch, port->puppet);
	return r;
}

static const struct {
	const char *name;
	jobj *(*fn)(struct server *s, jobj *req);
} commands[] = {
	{ "counters", cmd_counters },
	{ "reset", cmd_reset },
	{ "link", cmd_link },
	{ "status", cmd_status },
	{ "faults", control_faults },
	{ "freeze", control_freeze },
};

/* Those whose replies may come later. */
static const struct {
	const char *name;
	jobj *(*fn)(struct server *s, jobj *req, struct control_client *from);
} later[] = {
	{ "puppet", cmd_puppet },
	{ "flap", control_flap },
};

jobj *control_request(struct server *s, const char *line,
		      struct control_client *from)
{
	jobj *req = json_tokener_parse(line), *cmd, *r = NULL;
	const char *name;

	if (!json_object_is_type(req, json_type_object)) {
		json_object_put(req);
		return control_failed("a request is a JSON object on one line");
	}
	if (!json_object_object_get_ex(req, "cmd", &cmd) ||
	    !json_object_is_type(cmd, json_type_string)) {
		json_object_put(req);
		return control_failed("a request has a \"cmd\"");
	}
	name = json_object_get_string(cmd);
	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
		if (!strcmp(later[i].name, name)) {
			r = later[i].fn(s, req, from);
			json_object_put(req);
			return r;
		}
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(commands[i].name, name))
			r = commands[i].fn(s, req);
	}
	if (!r)
		r = control_failed("unknown command \"%s\"", name);
	json_object_put(req);
	return r;
}
