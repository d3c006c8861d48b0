/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_USE_H
#define DEVLEND_TOOL_USE_H

#include "why.h"

int use_check(const char *bdf, struct why *why);

#endif
