// SPDX-License-Identifier: GPL-2.0
/*
 * A verb with one device or many: those that were named, or all that fit a filter. A failure does
 * not keep it from the others; the exit status is that of the first.
 */
#include <stdio.h>

#include "bulk.h"
#include "jsonout.h"

/* Why something was not done, for JSON. */
struct json_object *failure_json(const struct why *why)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "status", json_object_new_int(why->code));
	json_object_object_add(o, "reason", json_object_new_string(why_name(why->code)));
	json_object_object_add(o, "message", json_object_new_string(why->text));
	return o;
}

/* The whole verb failed: say so; returns the exit status. */
int verb_failed(const struct verb *verb, const struct options *opt, const struct why *why)
{
	struct json_object *o;

	if (opt->json) {
		o = json_document(verb->name);
		json_object_object_add(o, "error", failure_json(why));
		json_print(o);
	} else {
		fflush(stdout);
		fprintf(stderr, "devlend: %s\n", why->text);
	}
	return why->code;
}

static int bulk_do(const char *target, const struct options *opt, bulk_one one,
		   struct json_object *results)
{
	struct outcome outcome = { .json = json_object_new_object() };
	struct why why = { 0 };
	int code;

	json_object_object_add(outcome.json, "target", json_object_new_string(target));
	code = one(target, opt, &outcome, &why);
	json_object_object_add(outcome.json, "done", json_object_new_boolean(!code));
	json_object_object_add(outcome.json, "error", code ? failure_json(&why) : NULL);
	json_object_array_add(results, outcome.json);
	if (opt->json)
		return code;
	if (code) {
		fflush(stdout);
		fprintf(stderr, "devlend: %s: %s\n", target, why.text);
	} else {
		printf("%s\n", outcome.text);
		fflush(stdout);
	}
	return code;
}

static void bulk_targets(const struct options *opt, bulk_find find, struct names *targets)
{
	int i;

	*targets = (struct names){ 0 };
	if (opt->filter.given)
		find(&opt->filter, targets);
	for (i = 0; i < opt->devices; i++)
		names_add(targets, opt->device[i]);
}

/* Do it with every device that is meant; returns the exit status. */
int bulk_run(const struct verb *verb, const struct options *opt, bulk_find find, bulk_one one)
{
	struct json_object *results, *o;
	struct names targets;
	int code = TOOL_OK, first = TOOL_OK;
	struct why why;
	size_t i;

	if (!opt->devices && !opt->filter.given) {
		why_not(&why, TOOL_USAGE,
			"%s what? Give a device, or --filter; devlend list shows what there is",
			verb->name);
		return verb_failed(verb, opt, &why);
	}
	bulk_targets(opt, find, &targets);
	if (!targets.count) {
		why_not(&why, TOOL_NOT_FOUND, "no device to %s fits the filter", verb->name);
		return verb_failed(verb, opt, &why);
	}
	results = json_object_new_array();
	for (i = 0; i < targets.count; i++) {
		code = bulk_do(targets.name[i], opt, one, results);
		if (!first)
			first = code;
	}
	names_free(&targets);
	o = json_document(verb->name);
	json_object_object_add(o, "dry_run", json_object_new_boolean(opt->dry_run));
	json_object_object_add(o, "results", results);
	if (opt->json)
		json_print(o);
	else
		json_object_put(o);
	return first;
}
