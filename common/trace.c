// SPDX-License-Identifier: GPL-2.0
/* Definitions of the core's tracepoints. */
#define CREATE_TRACE_POINTS
#include "trace.h"
