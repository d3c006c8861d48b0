/* SPDX-License-Identifier: GPL-2.0 */
/* The devlend bus; see bus.c. */
#ifndef DEVLEND_BUS_H
#define DEVLEND_BUS_H

#include <devlend/core.h>

int devlend_bus_init(void);
void devlend_bus_exit(void);

#endif /* DEVLEND_BUS_H */
