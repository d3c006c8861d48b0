// SPDX-License-Identifier: GPL-2.0
/* Parsing of the configuration file. Unknown keys are errors: a typing mistake must not change a test. */
#include <errno.h>
#include <json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#define WINDOW_MIN	0x1000ull
#define WINDOW_MAX	(1ull << 40)
#define WINDOW_DEFAULT	(64ull << 20)
#define FILE_MAX	(1024 * 1024)

struct parser {
	char *err;
	int errlen;
};

static int __attribute__((format(printf, 2, 3)))
fail(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->err, p->errlen, fmt, ap);
	va_end(ap);
	return -1;
}

static int get_string(struct parser *p, struct json_object *v, const char *what,
		      char *out, size_t room)
{
	if (!json_object_is_type(v, json_type_string))
		return fail(p, "%s must be a string", what);
	if ((size_t)json_object_get_string_len(v) >= room)
		return fail(p, "%s is longer than %zu characters", what,
			    room - 1);
	if (!json_object_get_string_len(v))
		return fail(p, "%s is empty", what);
	strcpy(out, json_object_get_string(v));
	return 0;
}

static int get_bool(struct parser *p, struct json_object *v, const char *what,
		    bool *out)
{
	if (!json_object_is_type(v, json_type_boolean))
		return fail(p, "%s must be true or false", what);
	*out = json_object_get_boolean(v);
	return 0;
}

/* A number of bytes, or a string with one of the suffixes K, M, G, T. */
static int get_size(struct parser *p, struct json_object *v, const char *what,
		    uint64_t *out)
{
	static const char suffix[] = "KMGT";
	unsigned long long n;
	const char *s, *at;
	char *end;

	if (json_object_is_type(v, json_type_int)) {
		int64_t i = json_object_get_int64(v);

		if (i <= 0)
			return fail(p, "%s must be positive", what);
		*out = i;
		return 0;
	}
	if (!json_object_is_type(v, json_type_string))
		return fail(p, "%s must be a size such as \"64M\"", what);
	s = json_object_get_string(v);
	errno = 0;
	n = strtoull(s, &end, 10);
	at = *end ? strchr(suffix, *end) : NULL;
	if (errno || end == s || *s == '-' || (*end && (!at || end[1])))
		return fail(p, "%s: \"%s\" is not a size such as \"64M\"",
			    what, s);
	if (at) {
		unsigned int shift = 10 * (at - suffix + 1);

		if (n > UINT64_MAX >> shift)
			return fail(p, "%s: \"%s\" is too large", what, s);
		n <<= shift;
	}
	*out = n;
	return 0;
}

static int parse_window(struct parser *p, struct json_object *o,
			struct port_config *pc)
{
	struct window_config w = { .size = WINDOW_DEFAULT };
	int bar = -1;

	if (!json_object_is_type(o, json_type_object))
		return fail(p, "port %s: a window must be an object", pc->name);
	json_object_object_foreach(o, k, v) {
		int ret = 0;

		if (!strcmp(k, "bar"))
			bar = json_object_get_int(v);
		else if (!strcmp(k, "size"))
			ret = get_size(p, v, "window size", &w.size);
		else if (!strcmp(k, "fast"))
			ret = get_bool(p, v, "\"fast\"", &w.fast);
		else if (!strcmp(k, "fast_size"))
			ret = get_size(p, v, "\"fast_size\"", &w.fast_size);
		else if (!strcmp(k, "fast_ram"))
			ret = get_size(p, v, "\"fast_ram\"", &w.fast_ram);
		else
			ret = fail(p, "port %s: window: unknown key \"%s\"",
				   pc->name, k);
		if (ret)
			return ret;
	}
	if (bar != 2 && bar != 4)
		return fail(p, "port %s: a window's bar must be 2 or 4",
			    pc->name);
	if (w.size < WINDOW_MIN || w.size > WINDOW_MAX ||
	    w.size & (w.size - 1))
		return fail(p,
			    "port %s: bar %d: the size must be a power of two from 4K to 1T",
			    pc->name, bar);
	if ((w.fast_size | w.fast_ram) % WINDOW_MIN ||
	    (!w.fast && (w.fast_size || w.fast_ram)))
		return fail(p,
			    "port %s: bar %d: \"fast_size\" and \"fast_ram\" are multiples of 4K, of a fast window",
			    pc->name, bar);
	pc->win[bar / 2 - 1] = w;
	return 0;
}

static int parse_windows(struct parser *p, struct json_object *v,
			 struct port_config *pc)
{
	if (!json_object_is_type(v, json_type_array))
		return fail(p, "port %s: \"windows\" must be a list", pc->name);
	for (size_t i = 0; i < json_object_array_length(v); i++) {
		if (parse_window(p, json_object_array_get_idx(v, i), pc))
			return -1;
	}
	return 0;
}

static int parse_role(struct parser *p, struct json_object *v, bool *dsd)
{
	const char *s = json_object_get_string(v);

	if (!s || (strcmp(s, "usd") && strcmp(s, "dsd")))
		return fail(p, "\"role\" must be \"usd\" or \"dsd\"");
	*dsd = !strcmp(s, "dsd");
	return 0;
}

static int parse_port(struct parser *p, struct json_object *o,
		      struct port_config *pc)
{
	struct json_object *role = NULL;

	if (!json_object_is_type(o, json_type_object))
		return fail(p, "a port must be an object");
	for (int i = 0; i < NUM_WINDOWS; i++)
		pc->win[i].size = WINDOW_DEFAULT;
	json_object_object_foreach(o, k, v) {
		int ret = 0;

		if (!strcmp(k, "name"))
			ret = get_string(p, v, "port name", pc->name,
					 sizeof(pc->name));
		else if (!strcmp(k, "socket"))
			ret = get_string(p, v, "\"socket\"", pc->socket,
					 sizeof(pc->socket));
		else if (!strcmp(k, "guest"))
			ret = get_string(p, v, "\"guest\"", pc->guest,
					 sizeof(pc->guest));
		else if (!strcmp(k, "memory"))
			ret = get_string(p, v, "\"memory\"", pc->memory,
					 sizeof(pc->memory));
		else if (!strcmp(k, "memory_size"))
			ret = get_size(p, v, "\"memory_size\"",
				       &pc->memory_size);
		else if (!strcmp(k, "puppet"))
			ret = get_bool(p, v, "\"puppet\"", &pc->puppet);
		else if (!strcmp(k, "role"))
			role = v;
		else if (!strcmp(k, "windows"))
			ret = parse_windows(p, v, pc);
		else
			ret = fail(p, "port: unknown key \"%s\"", k);
		if (ret)
			return ret;
	}
	if (!pc->name[0])
		return fail(p, "a port has no \"name\"");
	if (!pc->socket[0] && !pc->puppet)
		return fail(p, "port %s has no \"socket\"", pc->name);
	if (pc->puppet && (pc->socket[0] || pc->memory[0]))
		return fail(p,
			    "port %s is a puppet: it has no \"socket\" and no \"memory\"",
			    pc->name);
	if (pc->memory[0] && (!pc->memory_size || pc->memory_size & 4095))
		return fail(p,
			    "port %s: \"memory\" needs \"memory_size\", a multiple of 4K",
			    pc->name);
	if (!role)
		return fail(p, "port %s has no \"role\"", pc->name);
	return parse_role(p, role, &pc->dsd);
}

static int parse_ports(struct parser *p, struct json_object *v,
		       struct config *cfg)
{
	if (!json_object_is_type(v, json_type_array))
		return fail(p, "\"ports\" must be a list");
	for (size_t i = 0; i < json_object_array_length(v); i++) {
		struct port_config *pc = &cfg->port[cfg->nports];

		if (cfg->nports == CONFIG_MAX_PORTS)
			return fail(p, "more than %d ports", CONFIG_MAX_PORTS);
		if (parse_port(p, json_object_array_get_idx(v, i), pc))
			return -1;
		for (int j = 0; j < cfg->nports; j++) {
			if (!strcmp(cfg->port[j].name, pc->name))
				return fail(p, "two ports are named %s",
					    pc->name);
			if (!pc->puppet &&
			    !strcmp(cfg->port[j].socket, pc->socket))
				return fail(p, "two ports use %s", pc->socket);
		}
		cfg->nports++;
	}
	return cfg->nports ? 0 : fail(p, "there are no ports");
}

static int find_port(struct parser *p, struct json_object *v,
		     const struct config *cfg)
{
	const char *s = json_object_get_string(v);

	for (int i = 0; s && i < cfg->nports; i++) {
		if (!strcmp(cfg->port[i].name, s))
			return i;
	}
	return fail(p, "a link names a port that is not there: %s",
		    s ? s : "null");
}

static int add_link(struct parser *p, struct json_object *v, struct config *cfg)
{
	int end[2];

	if (!json_object_is_type(v, json_type_array) ||
	    json_object_array_length(v) != 2)
		return fail(p, "a link must be a pair of port names");
	for (int i = 0; i < 2; i++) {
		end[i] = find_port(p, json_object_array_get_idx(v, i), cfg);
		if (end[i] < 0)
			return -1;
		for (int j = 0; j < cfg->nlinks; j++) {
			if (cfg->link[j][0] == end[i] ||
			    cfg->link[j][1] == end[i])
				return fail(p, "port %s has two links",
					    cfg->port[end[i]].name);
		}
	}
	if (end[0] == end[1])
		return fail(p, "port %s is linked to itself",
			    cfg->port[end[0]].name);
	if (cfg->port[end[0]].dsd == cfg->port[end[1]].dsd)
		return fail(p, "ports %s and %s have the same role",
			    cfg->port[end[0]].name, cfg->port[end[1]].name);
	for (int i = 0; i < 2; i++) {
		const struct port_config *pc = &cfg->port[end[i]];
		const struct port_config *peer = &cfg->port[end[!i]];

		for (int w = 0; w < NUM_WINDOWS; w++) {
			if (pc->win[w].fast && !peer->memory[0])
				return fail(p,
					    "port %s has a fast window, but port %s has no \"memory\"",
					    pc->name, peer->name);
			if (pc->win[w].fast &&
			    pc->win[w].fast_ram >= peer->memory_size)
				return fail(p,
					    "port %s has a fast window that leads beyond the memory of port %s",
					    pc->name, peer->name);
		}
	}
	cfg->link[cfg->nlinks][0] = end[0];
	cfg->link[cfg->nlinks][1] = end[1];
	cfg->nlinks++;
	return 0;
}

static int parse_links(struct parser *p, struct json_object *v,
		       struct config *cfg)
{
	if (!json_object_is_type(v, json_type_array))
		return fail(p, "\"links\" must be a list");
	for (size_t i = 0; i < json_object_array_length(v); i++) {
		if (add_link(p, json_object_array_get_idx(v, i), cfg))
			return -1;
	}
	return 0;
}

static int parse_root(struct parser *p, struct json_object *root,
		      struct config *cfg)
{
	struct json_object *ports = NULL, *links = NULL;

	if (!json_object_is_type(root, json_type_object))
		return fail(p, "not an object");
	json_object_object_foreach(root, k, v) {
		int ret = 0;

		if (!strcmp(k, "control"))
			ret = get_string(p, v, "\"control\"", cfg->control,
					 sizeof(cfg->control));
		else if (!strcmp(k, "log"))
			ret = get_string(p, v, "\"log\"", cfg->log,
					 sizeof(cfg->log));
		else if (!strcmp(k, "ports"))
			ports = v;
		else if (!strcmp(k, "links"))
			links = v;
		else
			ret = fail(p, "unknown key \"%s\"", k);
		if (ret)
			return ret;
	}
	if (!ports)
		return fail(p, "there are no \"ports\"");
	if (parse_ports(p, ports, cfg))
		return -1;
	return links ? parse_links(p, links, cfg) : 0;
}

int config_parse(const char *text, struct config *cfg, char *err, int errlen)
{
	struct parser p = { .err = err, .errlen = errlen };
	enum json_tokener_error jerr;
	struct json_object *root;
	int ret;

	memset(cfg, 0, sizeof(*cfg));
	root = json_tokener_parse_verbose(text, &jerr);
	if (!root)
		return fail(&p, "not JSON: %s", json_tokener_error_desc(jerr));
	ret = parse_root(&p, root, cfg);
	json_object_put(root);
	return ret;
}

int config_load(const char *path, struct config *cfg, char *err, int errlen)
{
	struct parser p = { .err = err, .errlen = errlen };
	FILE *f = fopen(path, "re");
	char what[256];
	char *text;
	size_t n;
	int ret;

	if (!f)
		return fail(&p, "%s: %s", path, strerror(errno));
	text = calloc(1, FILE_MAX + 1);
	n = text ? fread(text, 1, FILE_MAX, f) : 0;
	if (!text || ferror(f) || n == FILE_MAX) {
		fclose(f);
		free(text);
		return fail(&p, "%s: cannot be read, or larger than 1 MiB",
			    path);
	}
	fclose(f);
	ret = config_parse(text, cfg, what, sizeof(what));
	free(text);
	return ret ? fail(&p, "%s: %s", path, what) : 0;
}
