/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_JSONOUT_H
#define DEVLEND_TOOL_JSONOUT_H

#include <json.h>

#include "pcidev.h"
#include "sysfs.h"

/* version of the form of all that --json prints: Documentation/devlend-json.rst */
#define JSON_SCHEMA	1

struct json_object *json_document(const char *command);
void json_print(struct json_object *document);
void json_text(struct json_object *o, const char *key, const char *text);
void json_number(struct json_object *o, const char *key, long long number);
void json_ids(struct json_object *o, const struct pci_ids *ids);
void json_names(struct json_object *o, const char *key, const struct names *names);

#endif
