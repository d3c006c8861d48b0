// SPDX-License-Identifier: GPL-2.0
/* Filters: which devices a verb is for, in the manner of lspci. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "filter.h"

/* what a value must have one of, to say anything: not "", ":", "*:*.*" or "xx" */
#define FILTER_SAYS	"0123456789abcdefghijklmnopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWYZ"

/* A filter that everything fits. */
void filter_init(struct filter *filter)
{
	*filter = (struct filter){
		.vendor = FILTER_ANY, .device = FILTER_ANY, .domain = FILTER_ANY,
		.bus = FILTER_ANY, .dev = FILTER_ANY, .fn = FILTER_ANY,
	};
}

/* A hexadecimal field; empty and "*" are any. */
static bool field(const char *text, long max, long *value)
{
	char *end;

	*value = FILTER_ANY;
	if (!text[0] || !strcmp(text, "*"))
		return true;
	if (!isxdigit((unsigned char)text[0]))
		return false;
	*value = strtol(text, &end, 16);
	return !*end && *value <= max;
}

static bool set_class(struct filter *filter, const char *text)
{
	size_t len = strlen(text);

	if (len < 2 || len > 6 || strspn(text, "0123456789abcdefABCDEFxX") != len)
		return false;
	memcpy(filter->class, text, len + 1);
	return true;
}

/* "[vendor]:[device]" */
static bool set_id(struct filter *filter, char *text)
{
	char *colon = strchr(text, ':');

	if (!colon)
		return false;
	*colon = '\0';
	return field(text, 0xffff, &filter->vendor) && field(colon + 1, 0xffff, &filter->device);
}

/* "[[[[domain]:]bus]:][device][.[function]]" */
static bool set_slot(struct filter *filter, char *text)
{
	char *dot = strchr(text, '.'), *last, *first;

	if (dot)
		*dot++ = '\0';
	last = strrchr(text, ':');
	if (!last)
		return field(text, 0x1f, &filter->dev) && field(dot ? dot : "", 7, &filter->fn);
	*last++ = '\0';
	first = strrchr(text, ':');
	if (first)
		*first++ = '\0';
	return field(first ? text : "", 0x7fffffff, &filter->domain) &&
	       field(first ? first : text, 0xff, &filter->bus) &&
	       field(last, 0x1f, &filter->dev) && field(dot ? dot : "", 7, &filter->fn);
}

static bool set_text(char *to, size_t size, const char *text)
{
	return text[0] && snprintf(to, size, "%s", text) < (int)size;
}

static bool set_one(struct filter *filter, const char *key, char *value)
{
	if (!strcmp(key, "class"))
		return set_class(filter, value);
	if (!strcmp(key, "id"))
		return set_id(filter, value);
	if (!strcmp(key, "slot"))
		return set_slot(filter, value);
	if (!strcmp(key, "driver"))
		return set_text(filter->driver, sizeof(filter->driver), value);
	if (!strcmp(key, "host"))
		return set_text(filter->host, sizeof(filter->host), value);
	return false;
}

static int not_a_filter(const char *text, struct why *why)
{
	return why_not(why, TOOL_USAGE,
		       "filter \"%.200s\": want class=0108, id=8086:10d3, slot=3b:00.0, driver=nvme or host=4c4c4544",
		       text);
}

/*
 * Add conditions "key=value[,key=value]..."; TOOL_USAGE if that is none. One that says nothing is a
 * mistake, such as a variable that is not set: a verb would act on every device.
 */
int filter_add(struct filter *filter, const char *text, struct why *why)
{
	char copy[256], *part, *rest = copy, *value;

	filter->given = true;
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return not_a_filter(text, why);
	while ((part = strsep(&rest, ","))) {
		value = strchr(part, '=');
		if (value)
			*value++ = '\0';
		if (!value || !strpbrk(value, FILTER_SAYS) || !set_one(filter, part, value))
			return not_a_filter(text, why);
	}
	return TOOL_OK;
}

static bool fits_class(const char *want, unsigned int class)
{
	char have[16];
	size_t i;

	snprintf(have, sizeof(have), "%06x", class);
	for (i = 0; want[i]; i++)
		if (tolower((unsigned char)want[i]) != 'x' &&
		    tolower((unsigned char)want[i]) != have[i])
			return false;
	return true;
}

static bool fits(long want, unsigned int have)
{
	return want == FILTER_ANY || want == (long)have;
}

bool filter_fits(const struct filter *filter, const struct subject *subject)
{
	unsigned int domain, bus, dev, fn;

	if (sscanf(subject->bdf, "%x:%x:%x.%x", &domain, &bus, &dev, &fn) != 4)
		return false;
	return fits_class(filter->class, subject->ids->class) &&
	       fits(filter->vendor, subject->ids->vendor) &&
	       fits(filter->device, subject->ids->device) &&
	       fits(filter->domain, domain) && fits(filter->bus, bus) &&
	       fits(filter->dev, dev) && fits(filter->fn, fn) &&
	       (!filter->driver[0] || !strcmp(filter->driver, subject->driver)) &&
	       !strncasecmp(filter->host, subject->host, strlen(filter->host));
}
