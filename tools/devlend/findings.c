// SPDX-License-Identifier: GPL-2.0
/* What preflight finds: a list, each entry with its remedy. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "jsonout.h"

static struct finding *add(const struct probe *probe, enum result result, int code,
			   const char *remedy)
{
	struct findings *all = probe->findings;
	struct finding *new;

	all->finding = realloc(all->finding, (all->count + 1) * sizeof(*all->finding));
	if (!all->finding)
		abort();
	new = &all->finding[all->count++];
	*new = (struct finding){
		.check = probe->check, .roles = probe->roles, .result = result, .code = code,
	};
	snprintf(new->about, sizeof(new->about), "%s", probe->about);
	snprintf(new->remedy, sizeof(new->remedy), "%s", remedy);
	return new;
}

#define ADD(...) do {							\
	struct finding *new = add(__VA_ARGS__);				\
	va_list ap;							\
									\
	va_start(ap, fmt);						\
	vsnprintf(new->text, sizeof(new->text), fmt, ap);		\
	va_end(ap);							\
} while (0)

/* As it should be. */
void pass(const struct probe *probe, const char *fmt, ...)
{
	ADD(probe, RESULT_PASS, TOOL_OK, "");
}

/* Not looked at, as a lease is in the way. */
void skipped(const struct probe *probe, const char *fmt, ...)
{
	ADD(probe, RESULT_SKIP, TOOL_OK, "");
}

/* Cannot be seen from here. */
void unknown(const struct probe *probe, const char *remedy, const char *fmt, ...)
{
	ADD(probe, RESULT_UNKNOWN, TOOL_OK, remedy);
}

/* Works, but not as well, or not as safely, as it could. */
void warn(const struct probe *probe, const char *remedy, const char *fmt, ...)
{
	ADD(probe, RESULT_WARN, TOOL_OK, remedy);
}

/* Keeps it from working. */
void fail(const struct probe *probe, int code, const char *remedy, const char *fmt, ...)
{
	ADD(probe, RESULT_FAIL, code, remedy);
}

/* As another verb would say it: what is wrong, a semicolon or colon, the remedy. */
void fail_why(const struct probe *probe, const struct why *why)
{
	const char *end = strstr(why->text, "; ");

	if (!end)
		end = strstr(why->text, ": ");
	if (end)
		fail(probe, why->code, end + 2, "%.*s", (int)(end - why->text), why->text);
	else
		fail(probe, why->code, "see devlend status", "%s", why->text);
}

static bool fits(const struct finding *finding, const char *about, unsigned int role)
{
	return finding->roles & role && (!about || !strcmp(finding->about, about));
}

/* The worst of those about something, or about anything (NULL). */
enum result findings_worst(const struct findings *findings, const char *about, unsigned int role)
{
	enum result worst = RESULT_PASS;
	size_t i;

	for (i = 0; i < findings->count; i++)
		if (fits(&findings->finding[i], about, role) &&
		    findings->finding[i].result > worst)
			worst = findings->finding[i].result;
	return worst;
}

/* How many there are of one result. */
size_t findings_count(const struct findings *findings, const char *about, unsigned int role,
		      enum result result)
{
	size_t i, count = 0;

	for (i = 0; i < findings->count; i++)
		count += fits(&findings->finding[i], about, role) &&
			 findings->finding[i].result == result;
	return count;
}

/* For JSON, and for people. */
const char *result_name(enum result result)
{
	static const char * const names[] = {
		[RESULT_PASS] = "pass",
		[RESULT_SKIP] = "skip",
		[RESULT_UNKNOWN] = "unknown",
		[RESULT_WARN] = "warn",
		[RESULT_FAIL] = "fail",
	};

	return names[result];
}

struct json_object *finding_json(const struct finding *finding)
{
	struct json_object *o = json_object_new_object(), *roles = json_object_new_array();

	json_text(o, "about", finding->about);
	json_text(o, "check", finding->check);
	if (finding->roles & ROLE_LEND)
		json_object_array_add(roles, json_object_new_string("lend"));
	if (finding->roles & ROLE_BORROW)
		json_object_array_add(roles, json_object_new_string("borrow"));
	json_object_object_add(o, "roles", roles);
	json_text(o, "result", result_name(finding->result));
	json_number(o, "status", finding->code);
	json_text(o, "message", finding->text);
	json_text(o, "remedy", finding->remedy);
	return o;
}

void findings_free(struct findings *findings)
{
	free(findings->finding);
	*findings = (struct findings){ 0 };
}
