// SPDX-License-Identifier: GPL-2.0
/* Outcomes: an exit status with the line that goes with it. */
#include <stdarg.h>
#include <stdio.h>

#include "why.h"

/* Note an outcome other than TOOL_OK; return its code. */
int why_not(struct why *why, int code, const char *fmt, ...)
{
	va_list ap;

	why->code = code;
	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return code;
}

/* The name that JSON output has for an exit status. */
const char *why_name(int code)
{
	static const char * const names[] = {
		[TOOL_OK] = "ok",
		[TOOL_FAILED] = "failed",
		[TOOL_USAGE] = "usage",
		[TOOL_MODULES] = "modules",
		[TOOL_NOT_FOUND] = "not-found",
		[TOOL_RIGHTS] = "rights",
		[TOOL_BUSY] = "busy",
		[TOOL_LINK] = "link",
		[TOOL_TIMEOUT] = "timeout",
		[TOOL_IMPOSSIBLE] = "impossible",
	};

	return names[code];
}
