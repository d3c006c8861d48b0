/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_FINDINGS_H
#define DEVLEND_TOOL_FINDINGS_H

#include <json.h>

#include "why.h"

/* What a finding matters for. */
#define ROLE_LEND	1u
#define ROLE_BORROW	2u
#define ROLE_BOTH	(ROLE_LEND | ROLE_BORROW)

/**
 * enum result - outcome of a check, from good to bad
 * @RESULT_PASS: as it should be
 * @RESULT_SKIP: not looked at, lest a lease be disturbed
 * @RESULT_UNKNOWN: cannot be seen from here
 * @RESULT_WARN: works, but
 * @RESULT_FAIL: keeps it from working
 */
enum result {
	RESULT_PASS,
	RESULT_SKIP,
	RESULT_UNKNOWN,
	RESULT_WARN,
	RESULT_FAIL,
};

/**
 * struct finding - what a check of preflight found
 * @about: "host", a link, a device or an offer
 * @check: name of the check
 * @roles: %ROLE_LEND and following
 * @result: outcome
 * @code: &enum tool_exit; other than TOOL_OK for %RESULT_FAIL alone
 * @text: what was found
 * @remedy: what to do; "" = nothing
 */
struct finding {
	char about[64];
	const char *check;
	unsigned int roles;
	enum result result;
	int code;
	char text[512];
	char remedy[256];
};

/* a list of findings; free it */
struct findings {
	size_t count;
	struct finding *finding;
};

/**
 * struct probe - a check that is being made: where its findings go
 * @findings: the list
 * @about: see &struct finding
 * @check: see &struct finding
 * @roles: see &struct finding
 */
struct probe {
	struct findings *findings;
	const char *about, *check;
	unsigned int roles;
};

void pass(const struct probe *probe, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void skipped(const struct probe *probe, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void unknown(const struct probe *probe, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void warn(const struct probe *probe, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void fail(const struct probe *probe, int code, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void fail_why(const struct probe *probe, const struct why *why);

enum result findings_worst(const struct findings *findings, const char *about, unsigned int role);
size_t findings_count(const struct findings *findings, const char *about, unsigned int role,
		      enum result result);
const char *result_name(enum result result);
struct json_object *finding_json(const struct finding *finding);
void findings_free(struct findings *findings);

#endif
