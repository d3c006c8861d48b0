// SPDX-License-Identifier: GPL-2.0
/*
 * devlend config: check /etc/devlend.conf, or do what it says.
 *
 * Applying does what is not done yet and can be done now. What has to come first (an offer, a
 * device) is no failure: its event starts another run, by the udev rule. So both hosts may come up
 * in any order, and a run more does no harm.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "bulk.h"
#include "conf.h"
#include "held.h"
#include "jsonout.h"
#include "kernel.h"
#include "lease.h"
#include "lent.h"
#include "offer.h"

/* What became of a line, for people and programs. */
enum result { DONE, ALREADY, WAITING, HELD, FAILED };

static const char * const result_names[] = {
	[DONE] = "done", [ALREADY] = "already", [WAITING] = "waiting", [HELD] = "held",
	[FAILED] = "failed",
};

static enum result waiting(struct outcome *outcome, const char *what)
{
	snprintf(outcome->text, sizeof(outcome->text), "waiting: %s", what);
	return WAITING;
}

static enum result held(struct outcome *outcome, const char *what)
{
	snprintf(outcome->text, sizeof(outcome->text),
		 "%s by hand: left alone until the next boot, or devlend config apply", what);
	return HELD;
}

/* Whether the hosts that may have a lent device are those of the line. */
static bool allowed_already(const struct conf_line *line)
{
	char text[CONF_HOSTS * CONF_HOST_MAX + 8], *word, *rest;
	size_t i, found = 0;

	if (sys_read(text, sizeof(text), SYS_BUS "/lent-%s/allow", line->bdf))
		return false;
	if (!line->hosts)
		return !strcmp(text, line->any ? "any" : "none");
	for (word = strtok_r(text, "\n ", &rest); word; word = strtok_r(NULL, "\n ", &rest)) {
		for (i = 0; i < line->hosts && strcasecmp(line->host[i], word); i++)
			;
		if (i == line->hosts)
			return false;
		found++;
	}
	return found == line->hosts;
}

static int allow(const struct conf_line *line, const struct options *opt, struct why *why)
{
	char path[PATH_MAX], value[CONF_HOSTS * CONF_HOST_MAX + 8];
	struct request request = {
		.path = path, .value = value, .target = line->bdf, .doing = "changing allow",
	};
	size_t i, len = 0;

	for (i = 0; i < line->hosts; i++)
		len += snprintf(value + len, sizeof(value) - len, "%s%s", i ? " " : "",
				line->host[i]);
	if (!line->hosts)
		snprintf(value, sizeof(value), "%s", line->any ? "any" : "none");
	snprintf(path, sizeof(path), SYS_BUS "/lent-%s/allow", line->bdf);
	return kernel_do(&request, opt, why);
}

static enum result apply_lend(const struct conf_line *line, const struct options *opt,
			      struct outcome *outcome, struct why *why)
{
	enum result result = DONE;
	struct options one = *opt;
	char name[64];
	struct lent lent;

	snprintf(name, sizeof(name), "lent-%s", line->bdf);
	one.no_reset = line->no_reset;
	one.private = !line->any;
	if (lent_read(&lent, line->bdf)) {
		if (strcmp(lent.state, "offered") && strcmp(lent.state, "borrowed") &&
		    strcmp(lent.state, "returning")) {
			why_not(why, TOOL_FAILED, "it is %s; devlend status says more",
				lent.state);
			return FAILED;
		}
		snprintf(outcome->text, sizeof(outcome->text), "lent");
		result = ALREADY;
	} else if (lender_loaded(why)) {
		return FAILED;
	} else if (opt->automatic && held_is(name)) {
		return held(outcome, "reclaimed");
	} else if (!sys_exists(SYS_PCI "/%s", line->bdf)) {
		return waiting(outcome, "no such device on this host yet");
	} else if (lend_device(line->bdf, &one, outcome, why)) {
		return FAILED;
	}
	if (result == DONE && (opt->dry_run || line->any))
		return result;
	if (allowed_already(line))
		return result;
	if (!opt->dry_run && allow(line, opt, why))
		return FAILED;
	snprintf(outcome->text, sizeof(outcome->text), "%s: %s to the hosts of line %d", line->bdf,
		 opt->dry_run ? "would be lent" : "lent", line->number);
	return DONE;
}

static bool from_host(const struct conf_line *line, const char *host)
{
	return !line->hosts || !strncasecmp(line->host[0], host, strlen(host));
}

/* The lease of the device of a line; to be freed. An offer's name has 8 digits of its host. */
static bool find_lease(const struct conf_line *line, struct lease *lease)
{
	struct names names;
	bool found = false;
	size_t i;

	sys_list(&names, "lease-", SYS_BUS);
	for (i = 0; i < names.count && !found; i++) {
		char host[9];

		if (!lease_read(lease, names.name[i]))
			continue;
		snprintf(host, sizeof(host), "%.8s", lease->offer + strlen("offer-"));
		found = !strcmp(lease_device(lease), line->bdf) && from_host(line, host);
		if (!found)
			lease_free(lease);
	}
	names_free(&names);
	return found;
}

static enum result apply_borrow(const struct conf_line *line, const struct options *opt,
				struct outcome *outcome, struct why *why)
{
	struct offer offer = { 0 };
	struct options one = *opt;
	struct offers offers;
	struct lease lease;
	size_t i, fit = 0;
	bool dying;

	if (borrower_loaded(why))
		return FAILED;
	if (find_lease(line, &lease)) {
		dying = !strcmp(lease.state, "dying");
		snprintf(outcome->text, sizeof(outcome->text), "borrowed as %s", lease.pci);
		lease_free(&lease);
		return dying ? waiting(outcome, "its lender went away; close what uses it here") :
			       ALREADY;
	}
	offers_read(&offers);
	for (i = 0; i < offers.count; i++)
		if (!strcmp(offers.offer[i].device, line->bdf) &&
		    from_host(line, offers.offer[i].host)) {
			offer = offers.offer[i];
			fit++;
		}
	offers_free(&offers);
	if (!fit)
		return waiting(outcome, "not offered yet");
	if (fit > 1) {
		why_not(why, TOOL_USAGE, "%zu hosts lend such a device; say which, from UUID", fit);
		return FAILED;
	}
	if (opt->automatic && held_is(offer.name))
		return held(outcome, "returned");
	if (strcmp(offer.state, "available") && strcmp(offer.state, "quarantined") &&
	    strcmp(offer.state, "forbidden"))
		return waiting(outcome, "in use by another host, or being reset");
	one.slot = line->slot;
	return borrow_offer(offer.name, &one, outcome, why) ? FAILED : DONE;
}

/* One line: its exit status. */
static int apply_line(const struct conf_line *line, const struct options *opt,
		      struct json_object *results)
{
	struct outcome outcome = { .json = json_object_new_object() };
	const char *what = line->lend ? "lend" : "borrow";
	struct why why = { 0 };
	enum result result;

	result = line->lend ? apply_lend(line, opt, &outcome, &why) :
			      apply_borrow(line, opt, &outcome, &why);
	json_object_put(outcome.json);
	if (!opt->json && result == FAILED) {
		fflush(stdout);
		fprintf(stderr, "devlend: %s %s: %s\n", what, line->bdf, why.text);
	} else if (!opt->json && result == DONE) {
		printf("%s\n", outcome.text);
	} else if (!opt->json) {
		printf("%s %s: %s\n", what, line->bdf, outcome.text);
	}
	if (results) {
		struct json_object *o = json_object_new_object();

		json_number(o, "line", line->number);
		json_text(o, "what", what);
		json_text(o, "device", line->bdf);
		json_text(o, "result", result_names[result]);
		json_object_object_add(o, "error", result == FAILED ? failure_json(&why) : NULL);
		json_object_array_add(results, o);
	}
	return result == FAILED ? why.code : TOOL_OK;
}

static int apply(const struct conf *conf, const struct options *opt, struct json_object *results,
		 struct why *why)
{
	int code, first = TOOL_OK;
	bool done = false;
	size_t i;

	if (!opt->dry_run && held_lock(opt->automatic, &done, why))
		return why->code;
	for (i = 0; i < conf->count && !done; i++) {
		code = apply_line(&conf->line[i], opt, results);
		if (!first)
			first = code;
	}
	return first;
}

static void problems_told(const struct conf *conf, const char *path, const struct options *opt,
			  struct json_object *problems)
{
	struct json_object *o;
	size_t i;

	for (i = 0; i < conf->problems; i++) {
		const struct conf_problem *problem = &conf->problem[i];

		if (!opt->json)
			fprintf(stderr, "devlend: %s:%d: %s\n", path, problem->number,
				problem->text);
		o = json_object_new_object();
		json_number(o, "line", problem->number);
		json_text(o, "message", problem->text);
		json_object_array_add(problems, o);
	}
}

/* Check it, and apply it if that is wanted and it has no problem. */
static int act(const struct verb *verb, const struct options *opt, bool applied, const char *path,
	       struct why *why)
{
	struct json_object *o, *problems, *results;
	struct conf conf;
	int code = conf_read(&conf, path, why);

	if (code)
		goto free;
	problems = json_object_new_array();
	results = json_object_new_array();
	problems_told(&conf, path, opt, problems);
	if (conf.problems)
		code = TOOL_USAGE;
	else if (applied)
		code = apply(&conf, opt, results, why);
	else if (!opt->json)
		printf("%s: no problem, %zu devices\n", path, conf.count);
	o = json_document(verb->name);
	json_text(o, "action", applied ? "apply" : "check");
	json_text(o, "file", path);
	json_object_object_add(o, "dry_run", json_object_new_boolean(opt->dry_run));
	json_object_object_add(o, "problems", problems);
	json_object_object_add(o, "results", results);
	if (opt->json && !why->code)
		json_print(o);
	else
		json_object_put(o);
free:
	conf_free(&conf);
	return code;
}

static int run(const struct verb *verb, struct options *opt)
{
	bool applied = opt->devices && !strcmp(opt->device[0], "apply");
	struct why why = { 0 };
	int code;

	if (opt->devices < 1 || opt->devices > 2 ||
	    (!applied && strcmp(opt->device[0], "check"))) {
		why_not(&why, TOOL_USAGE, "config what? check or apply, and maybe a file");
		return verb_failed(verb, opt, &why);
	}
	code = act(verb, opt, applied, opt->devices > 1 ? opt->device[1] : CONF_FILE, &why);
	return why.code ? verb_failed(verb, opt, &why) : code;
}

const struct verb verb_config = {
	.name = "config",
	.args = "check|apply [FILE]",
	.doc = "Check /etc/devlend.conf, or lend and borrow what it says.\v"
		"apply does what is not done yet; what it cannot do before the other host has done\n"
		"its part is no failure. A udev rule runs it when a link comes up or an offer\n"
		"appears. devlend(8) describes the file.",
	.take = TAKE_DEVICES | TAKE_DRY_RUN | TAKE_AUTOMATIC,
	.run = run,
};
