/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_HELD_H
#define DEVLEND_TOOL_HELD_H

#include <stdbool.h>

#include "why.h"

/* what the tool remembers until the next boot */
#define HELD_RUN	"/run/devlend"

void held_set(const char *name);
void held_clear(const char *name);
bool held_is(const char *name);
int held_lock(bool automatic, bool *done, struct why *why);

#endif
