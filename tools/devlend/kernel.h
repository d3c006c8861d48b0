/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_KERNEL_H
#define DEVLEND_TOOL_KERNEL_H

#include "options.h"

/**
 * struct request - something that the kernel is asked to do by a write
 * @path: file of sysfs, below the root
 * @value: what is written
 * @target: what it is about, for messages
 * @doing: what is being done, for the progress line
 * @state: file whose content is shown there; NULL = none
 */
struct request {
	const char *path, *value, *target, *doing, *state;
};

int kernel_may(const char *path, struct why *why);
int kernel_do(const struct request *request, const struct options *opt, struct why *why);

#endif
