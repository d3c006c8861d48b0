/* SPDX-License-Identifier: GPL-2.0 */
/* Stands for include/devlend/compat.h: one kernel only, the shim's. */
#include "../kernel.h"

#define DEVLEND_BUS_CONST
