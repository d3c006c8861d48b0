// SPDX-License-Identifier: GPL-2.0
/* Tables for people: columns as wide as what is in them; an empty cell is a dash. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

static void table_add(struct table *table, va_list ap)
{
	size_t i, at = table->rows * table->columns;
	const char *text;

	table->cell = realloc(table->cell, (at + table->columns) * sizeof(*table->cell));
	if (!table->cell)
		abort();
	for (i = 0; i < table->columns; i++) {
		text = va_arg(ap, const char *);
		table->cell[at + i] = strdup(text[0] ? text : "-");
		if (!table->cell[at + i])
			abort();
	}
	table->rows++;
}

/* Begin with the headings, as many as there are columns. */
void table_init(struct table *table, size_t columns, ...)
{
	va_list ap;

	*table = (struct table){ .columns = columns };
	va_start(ap, columns);
	table_add(table, ap);
	va_end(ap);
}

/* Add a row of as many strings as there are columns. */
void table_row(struct table *table, ...)
{
	va_list ap;

	va_start(ap, table);
	table_add(table, ap);
	va_end(ap);
}

void table_print(const struct table *table, const char *indent)
{
	size_t width[TABLE_COLUMNS] = { 0 }, row, i, len;

	for (row = 0; row < table->rows; row++)
		for (i = 0; i < table->columns; i++) {
			len = strlen(table->cell[row * table->columns + i]);
			width[i] = len > width[i] ? len : width[i];
		}
	for (row = 0; row < table->rows; row++) {
		char **cell = &table->cell[row * table->columns];

		fputs(indent, stdout);
		for (i = 0; i < table->columns - 1; i++)
			printf("%-*s  ", (int)width[i], cell[i]);
		printf("%s\n", cell[i]);
	}
}

void table_free(struct table *table)
{
	size_t i;

	for (i = 0; i < table->rows * table->columns; i++)
		free(table->cell[i]);
	free(table->cell);
}
