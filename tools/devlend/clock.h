/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_CLOCK_H
#define DEVLEND_TOOL_CLOCK_H

#include <time.h>

/* milliseconds of the monotonic clock */
static inline long long clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

#endif
