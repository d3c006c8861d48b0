// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting for what hinders, and the progress line that is shown meanwhile.
 *
 * The line goes to stderr: rewritten in place on a terminal, else once for each new reason.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"
#include "wait.h"

/* columns of a terminal that does not tell */
#define PROGRESS_COLUMNS	80

static char progress_last[512];
static long long progress_start;

/* One line of the terminal: what wraps cannot be rewritten in place. */
static void progress_rewrite(const char *text)
{
	struct winsize size = { 0 };
	char elapsed[32];
	int room;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		size.ws_col = PROGRESS_COLUMNS;
	/* the last column stays free: some terminals wrap when it is written */
	room = size.ws_col - 1 - snprintf(elapsed, sizeof(elapsed), " ... %lld s",
					  (clock_ms() - progress_start) / 1000);
	fprintf(stderr, "\r\033[K%.*s%s", room > 0 ? room : 0, text, elapsed);
}

/* Say what is waited for, if anybody wants to know. */
void progress(const struct options *opt, const char *fmt, ...)
{
	bool terminal = isatty(STDERR_FILENO);
	char text[sizeof(progress_last)];
	va_list ap;

	if (opt->wait < 0 && !terminal)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!progress_last[0])
		progress_start = clock_ms();
	if (terminal)
		progress_rewrite(text);
	else if (strcmp(text, progress_last))
		fprintf(stderr, "devlend: %s ...\n", text);
	snprintf(progress_last, sizeof(progress_last), "%s", text);
}

/* The line's end; it leaves nothing on a terminal. */
void progress_end(void)
{
	if (progress_last[0] && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	progress_last[0] = '\0';
}

/* Whether it can change by itself. */
static bool may_pass(int code)
{
	return code == TOOL_BUSY || code == TOOL_NOT_FOUND || code == TOOL_LINK;
}

/*
 * Ask until the answer is yes, or one that time does not change; without --wait, once. Returns the
 * answer, or TOOL_TIMEOUT.
 */
int wait_until(wait_check check, const char *target, const struct options *opt, struct why *why)
{
	struct events events;
	struct why last;
	long long left;
	int code;

	if (opt->wait < 0)
		return check(target, opt, why);
	events_open(&events);
	for (;;) {
		code = check(target, opt, why);
		left = opt->deadline - clock_ms();
		if (!may_pass(code) || left <= 0)
			break;
		progress(opt, "%s: waiting: %s", target, why->text);
		events_wait(&events, left);
	}
	progress_end();
	events_close(&events);
	if (!may_pass(code))
		return code;
	last = *why;
	return why_not(why, TOOL_TIMEOUT, "not within %d s: %.440s", opt->wait, last.text);
}
