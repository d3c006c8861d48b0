/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_CONF_H
#define DEVLEND_TOOL_CONF_H

#include <stdbool.h>
#include <stddef.h>

#include "pciaddr.h"
#include "why.h"

#define CONF_FILE	"/etc/devlend.conf"
/* hosts that the kernel takes in one list */
#define CONF_HOSTS	16
/* a UUID and its NUL */
#define CONF_HOST_MAX	37

/**
 * struct conf_line - something that is to be lent or borrowed
 * @number: of the line, from 1
 * @lend: to be lent; false = to be borrowed
 * @bdf: address at the lender
 * @no_reset: lend: also where it cannot be reset
 * @any: lend: to any host; false = to those of @host
 * @hosts: entries of @host
 * @host: lend: who may have it; borrow: the lender, if it is said. Lower case
 * @slot: borrow: the slot, decimal; "auto" = none is said
 */
struct conf_line {
	int number;
	bool lend;
	char bdf[PCIADDR_MAX];
	bool no_reset, any;
	size_t hosts;
	char host[CONF_HOSTS][CONF_HOST_MAX];
	char slot[8];
};

/**
 * struct conf_problem - what is wrong with a line
 * @number: of the line, from 1
 * @text: what, and what is wanted
 */
struct conf_problem {
	int number;
	char text[192];
};

/**
 * struct conf - a file
 * @count: entries of @line
 * @line: what it says, in its order
 * @problems: entries of @problem
 * @problem: what is wrong with it, in its order
 */
struct conf {
	size_t count;
	struct conf_line *line;
	size_t problems;
	struct conf_problem *problem;
};

int conf_read(struct conf *conf, const char *path, struct why *why);
void conf_free(struct conf *conf);

#endif
