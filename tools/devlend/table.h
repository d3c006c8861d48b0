/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_TABLE_H
#define DEVLEND_TOOL_TABLE_H

#include <stddef.h>

#define TABLE_COLUMNS	8

/**
 * struct table - rows of text that are printed in columns
 * @columns: how many
 * @rows: how many, the heading included
 * @cell: texts, row by row
 */
struct table {
	size_t columns, rows;
	char **cell;
};

void table_init(struct table *table, size_t columns, ...);
void table_row(struct table *table, ...);
void table_print(const struct table *table, const char *indent);
void table_free(struct table *table);

#endif
