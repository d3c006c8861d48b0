// SPDX-License-Identifier: GPL-2.0
/* Logging to stderr: one write() a line, so that lines never interleave. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

enum log_level log_level = LOG_LVL_INFO;

static const char * const names[] = { "error", "warn", "info", "debug" };

bool log_level_parse(const char *name, enum log_level *out)
{
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i])) {
			*out = i;
			return true;
		}
	}
	return false;
}

void log_write(enum log_level level, const char *fmt, ...)
{
	struct timespec ts;
	char line[1024];
	va_list ap;
	int n, m;

	clock_gettime(CLOCK_REALTIME, &ts);
	n = snprintf(line, sizeof(line), "ntbsim: %lld.%06ld %s: ",
		     (long long)ts.tv_sec, ts.tv_nsec / 1000, names[level]);
	va_start(ap, fmt);
	m = vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	if (m < 0)
		return;
	n += m;
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		return;
}
