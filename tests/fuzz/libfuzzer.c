// SPDX-License-Identifier: GPL-2.0
/* What driver.c owns of the shim, for targets that libFuzzer drives. */
#include "fuzz.h"

bool shim_irqs_off;
unsigned long shim_jiffies = 1000;
int shim_allocated;
