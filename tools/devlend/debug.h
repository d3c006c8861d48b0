/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_DEBUG_H
#define DEVLEND_TOOL_DEBUG_H

#include "sysfs.h"

void debug_lines(struct names *lines, const char *file);
void debug_section(struct names *lines, const char *file, const char *name);

#endif
