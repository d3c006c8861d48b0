/* SPDX-License-Identifier: GPL-2.0 */
/* The devlend bus, on the core's side; see bus.c. What others may use is in <devlend/core.h>. */
#ifndef DEVLEND_BUS_H
#define DEVLEND_BUS_H

int devlend_bus_init(void);
void devlend_bus_exit(void);

#endif /* DEVLEND_BUS_H */
