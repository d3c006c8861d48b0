/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_BULK_H
#define DEVLEND_TOOL_BULK_H

#include <json.h>

#include "options.h"
#include "sysfs.h"

/**
 * struct outcome - what a verb did with one device
 * @text: for people
 * @json: more for programs, owned by bulk.c
 */
struct outcome {
	char text[512];
	struct json_object *json;
};

typedef int (*bulk_one)(const char *target, const struct options *opt, struct outcome *outcome,
			struct why *why);
typedef void (*bulk_find)(const struct filter *filter, struct names *targets);

struct json_object *failure_json(const struct why *why);
int verb_failed(const struct verb *verb, const struct options *opt, const struct why *why);
int bulk_run(const struct verb *verb, const struct options *opt, bulk_find find, bulk_one one);

/* verb_lend.c */
bool device_is_shadow(const char *bdf);
int device_resolve(const char *target, char *bdf, struct why *why);
void devices_find(const struct filter *filter, struct names *targets);

/* verb_lend.c, verb_borrow.c */
int lend_device(const char *target, const struct options *opt, struct outcome *outcome,
		struct why *why);
int borrow_offer(const char *target, const struct options *opt, struct outcome *outcome,
		 struct why *why);

#endif
