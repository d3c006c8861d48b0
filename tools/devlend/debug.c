// SPDX-License-Identifier: GPL-2.0
/*
 * What the modules tell in debugfs, for people: lines, whose form may change. None where it is
 * not mounted, or not for this user.
 */
#include <stdio.h>
#include <string.h>

#include "debug.h"

/* Room for all of a file: some hundred lines. */
#define DEBUG_MAX	(64 * 1024)

/* All lines of a file below devlend's folder. */
void debug_lines(struct names *lines, const char *file)
{
	static char text[DEBUG_MAX];
	char *line, *rest;

	*lines = (struct names){ 0 };
	sys_read(text, sizeof(text), SYS_DEBUG "/%s", file);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		names_add(lines, line);
}

/* The indented lines below "name: ...", without the indent. */
void debug_section(struct names *lines, const char *file, const char *name)
{
	struct names all;
	size_t i, len = strlen(name);
	bool inside = false;

	*lines = (struct names){ 0 };
	debug_lines(&all, file);
	for (i = 0; i < all.count; i++) {
		if (all.name[i][0] != ' ')
			inside = !strncmp(all.name[i], name, len) && all.name[i][len] == ':';
		else if (inside)
			names_add(lines, all.name[i] + strspn(all.name[i], " "));
	}
	names_free(&all);
}
