// SPDX-License-Identifier: GPL-2.0
/*
 * What is common to all that --json prints. schema.json says the form of each document.
 *
 * What is not known is null: an empty text, a number below 0.
 */
#include <stdio.h>

#include "jsonout.h"

/* A document of a verb; json_print() takes it. */
struct json_object *json_document(const char *command)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "schema", json_object_new_int(JSON_SCHEMA));
	json_object_object_add(o, "command", json_object_new_string(command));
	return o;
}

/* Print a document as one line, and free it. */
void json_print(struct json_object *document)
{
	puts(json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	fflush(stdout);
	json_object_put(document);
}

void json_text(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, text[0] ? json_object_new_string(text) : NULL);
}

void json_number(struct json_object *o, const char *key, long long number)
{
	json_object_object_add(o, key, number >= 0 ? json_object_new_int64(number) : NULL);
}

static void json_hex(struct json_object *o, const char *key, int digits, unsigned int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%0*x", digits, value);
	json_object_object_add(o, key, json_object_new_string(text));
}

/* What a function is, in numbers and in words; null where it is not known. */
void json_ids(struct json_object *o, const struct pci_ids *ids)
{
	struct json_object *to;
	char text[256];

	if (!ids->vendor) {
		json_object_object_add(o, "ids", NULL);
		json_object_object_add(o, "name", NULL);
		json_object_object_add(o, "class_name", NULL);
		return;
	}
	to = json_object_new_object();
	json_hex(to, "vendor", 4, ids->vendor);
	json_hex(to, "device", 4, ids->device);
	json_hex(to, "subsystem_vendor", 4, ids->sub_vendor);
	json_hex(to, "subsystem_device", 4, ids->sub_device);
	json_hex(to, "class", 6, ids->class);
	json_hex(to, "revision", 2, ids->revision);
	json_object_object_add(o, "ids", to);
	pci_device_name(text, sizeof(text), ids);
	json_text(o, "name", text);
	pci_class_name(text, sizeof(text), ids->class);
	json_text(o, "class_name", text);
}

void json_names(struct json_object *o, const char *key, const struct names *names)
{
	struct json_object *list = json_object_new_array();
	size_t i;

	for (i = 0; i < names->count; i++)
		json_object_array_add(list, json_object_new_string(names->name[i]));
	json_object_object_add(o, key, list);
}
