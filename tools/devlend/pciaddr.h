/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_PCIADDR_H
#define DEVLEND_TOOL_PCIADDR_H

#include <stdbool.h>
#include <stddef.h>

/* "dddd:bb:dd.f", with up to eight digits of domain */
#define PCIADDR_MAX	20

bool pciaddr_parse(const char *text, char *bdf);
bool pciaddr_of_node(const char *name, char *bdf);

#endif
