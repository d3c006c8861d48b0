/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_WHY_H
#define DEVLEND_TOOL_WHY_H

#include <stdbool.h>

/**
 * enum tool_exit - exit status of the tool; described in devlend.8
 * @TOOL_OK: done
 * @TOOL_FAILED: the kernel said no, for none of the reasons below
 * @TOOL_USAGE: not a command line that the tool understands
 * @TOOL_MODULES: a kernel module is not loaded
 * @TOOL_NOT_FOUND: there is no such device, offer or lease
 * @TOOL_RIGHTS: only root may do that
 * @TOOL_BUSY: in use, or not to be had at the moment
 * @TOOL_LINK: no link, or the link is not up
 * @TOOL_TIMEOUT: not done in time
 * @TOOL_IMPOSSIBLE: this device, or this host, cannot do that
 */
enum tool_exit {
	TOOL_OK,
	TOOL_FAILED,
	TOOL_USAGE,
	TOOL_MODULES,
	TOOL_NOT_FOUND,
	TOOL_RIGHTS,
	TOOL_BUSY,
	TOOL_LINK,
	TOOL_TIMEOUT,
	TOOL_IMPOSSIBLE,
};

/**
 * struct why - an outcome, and for other than TOOL_OK the one line that says why and what to do
 * @code: &enum tool_exit
 * @text: without the program's name, without a newline
 */
struct why {
	int code;
	char text[512];
};

int why_not(struct why *why, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
const char *why_name(int code);

#endif
