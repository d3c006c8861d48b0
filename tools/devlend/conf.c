// SPDX-License-Identifier: GPL-2.0
/*
 * /etc/devlend.conf: what this host lends and borrows whenever it can.
 *
 *	lend ADDRESS [to any|none|UUID[,UUID]...] [no-reset]
 *	borrow ADDRESS [from UUID] [slot N]
 *
 * One a line; "#" begins a comment. Whatever is not understood is a problem, and a file with one
 * problem is not applied at all: half of what was meant may be worse than nothing.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "sysfs.h"

#define CONF_SLOT_MAX	255
#define CONF_BLANK	" \t"

static void problem(struct conf *conf, int number, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void problem(struct conf *conf, int number, const char *fmt, ...)
{
	struct conf_problem *p;
	va_list ap;

	conf->problem = realloc(conf->problem, (conf->problems + 1) * sizeof(*p));
	if (!conf->problem)
		abort();
	p = &conf->problem[conf->problems++];
	p->number = number;
	va_start(ap, fmt);
	vsnprintf(p->text, sizeof(p->text), fmt, ap);
	va_end(ap);
}

/* "4c4c4544-0042-3510-8058-b4c04f4d3532", in lower case into CONF_HOST_MAX bytes. */
static bool parse_host(const char *text, char *host)
{
	size_t i;

	if (strlen(text) != CONF_HOST_MAX - 1)
		return false;
	for (i = 0; text[i]; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return false;
		host[i] = tolower((unsigned char)text[i]);
	}
	host[i] = '\0';
	return true;
}

/* What follows "to". */
static void parse_to(struct conf *conf, struct conf_line *line, char *text)
{
	char *host, *rest;

	line->any = !strcmp(text, "any");
	if (line->any || !strcmp(text, "none"))
		return;
	if (text[0] == ',' || text[strlen(text) - 1] == ',' || strstr(text, ",,")) {
		problem(conf, line->number, "\"%.64s\" has a comma too many", text);
		return;
	}
	for (host = strtok_r(text, ",", &rest); host; host = strtok_r(NULL, ",", &rest)) {
		if (line->hosts == CONF_HOSTS) {
			problem(conf, line->number, "more than %d hosts", CONF_HOSTS);
			return;
		}
		if (!parse_host(host, line->host[line->hosts++]))
			problem(conf, line->number,
				"\"%.64s\" is not any, none, or the UUID of a host", host);
	}
}

static void parse_slot(struct conf *conf, struct conf_line *line, const char *text)
{
	size_t len = strlen(text);

	if (!len || len > 3 || strspn(text, "0123456789") != len || atoi(text) > CONF_SLOT_MAX)
		problem(conf, line->number, "slot \"%.64s\": want a number from 0 to %d", text,
			CONF_SLOT_MAX);
	else
		snprintf(line->slot, sizeof(line->slot), "%d", atoi(text));
}

/* The words after the address: each at most once. */
static void parse_rest(struct conf *conf, struct conf_line *line, char *rest)
{
	enum { TO, NO_RESET, FROM, SLOT, WORDS };
	static const struct {
		const char *word;
		bool lend, value;
	} words[] = {
		[TO] = { "to", true, true }, [NO_RESET] = { "no-reset", true, false },
		[FROM] = { "from", false, true }, [SLOT] = { "slot", false, true },
	};
	unsigned int i, given = 0;
	char *word, *value = "";

	while ((word = strtok_r(NULL, CONF_BLANK, &rest))) {
		for (i = 0; i < WORDS; i++)
			if (words[i].lend == line->lend && !strcmp(words[i].word, word))
				break;
		if (i == WORDS || given & 1 << i) {
			problem(conf, line->number, "\"%.64s\" is not expected here", word);
			return;
		}
		given |= 1 << i;
		if (words[i].value)
			value = strtok_r(NULL, CONF_BLANK, &rest);
		if (!value) {
			problem(conf, line->number, "nothing follows \"%s\"", word);
			return;
		}
		if (i == TO)
			parse_to(conf, line, value);
		else if (i == NO_RESET)
			line->no_reset = true;
		else if (i == SLOT)
			parse_slot(conf, line, value);
		else if (!parse_host(value, line->host[line->hosts++]))
			problem(conf, line->number, "\"%.64s\" is not the UUID of a host", value);
	}
}

/* Whether two lines want the same thing, or the same place for it. */
static void check_twice(struct conf *conf, const struct conf_line *line)
{
	const struct conf_line *before;

	for (before = conf->line; before < line; before++) {
		bool same_host = !before->hosts || !line->hosts ||
				 !strcmp(before->host[0], line->host[0]);

		if (before->lend != line->lend)
			continue;
		if (!strcmp(before->bdf, line->bdf) && (line->lend || same_host))
			problem(conf, line->number, "%s is in line %d already", line->bdf,
				before->number);
		if (!line->lend && strcmp(line->slot, "auto") && !strcmp(before->slot, line->slot))
			problem(conf, line->number, "slot %s is in line %d already", line->slot,
				before->number);
	}
}

static void parse_line(struct conf *conf, int number, char *text)
{
	struct conf_line *line;
	char *verb, *bdf, *rest;
	size_t i;

	for (i = 0; text[i]; i++)
		if (text[i] != '\t' && !isprint((unsigned char)text[i])) {
			problem(conf, number, "there is a byte 0x%02x in it; want plain text",
				(unsigned char)text[i]);
			return;
		}
	text[strcspn(text, "#")] = '\0';
	verb = strtok_r(text, CONF_BLANK, &rest);
	if (!verb)
		return;
	if (strcmp(verb, "lend") && strcmp(verb, "borrow")) {
		problem(conf, number, "\"%.64s\" is neither lend nor borrow", verb);
		return;
	}
	conf->line = realloc(conf->line, (conf->count + 1) * sizeof(*line));
	if (!conf->line)
		abort();
	line = &conf->line[conf->count];
	*line = (struct conf_line){
		.number = number, .lend = verb[0] == 'l', .any = true, .slot = "auto",
	};
	bdf = strtok_r(NULL, CONF_BLANK, &rest);
	if (!bdf || !pciaddr_parse(bdf, line->bdf)) {
		problem(conf, number, "%s what? Want an address as lspci -D has it, 0000:3b:00.0",
			verb);
		return;
	}
	conf->count++;
	parse_rest(conf, line, rest);
	check_twice(conf, line);
}

/*
 * Read a file, below the root. TOOL_OK also where it has problems; otherwise it cannot be read.
 * conf_free() in any case.
 */
int conf_read(struct conf *conf, const char *path, struct why *why)
{
	char full[PATH_MAX], *text = NULL;
	size_t size = 0;
	int number = 0;
	ssize_t len;
	FILE *file;

	*conf = (struct conf){ 0 };
	sys_path(full, "%s", path);
	file = fopen(full, "re");
	if (!file)
		return why_not(why, errno == ENOENT ? TOOL_NOT_FOUND :
			       errno == EACCES ? TOOL_RIGHTS : TOOL_FAILED,
			       "%s: %s; devlend(8) describes it", path, strerror(errno));
	while ((len = getline(&text, &size, file)) >= 0) {
		number++;
		if (len && text[len - 1] == '\n')
			text[--len] = '\0';
		if (strlen(text) != (size_t)len)
			problem(conf, number, "there is a byte 0x00 in it; want plain text");
		else
			parse_line(conf, number, text);
	}
	len = ferror(file) ? errno : 0;
	free(text);
	fclose(file);
	if (len)
		return why_not(why, TOOL_FAILED, "%s: %s", path, strerror(len));
	return TOOL_OK;
}

void conf_free(struct conf *conf)
{
	free(conf->line);
	free(conf->problem);
	*conf = (struct conf){ 0 };
}
