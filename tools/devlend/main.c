// SPDX-License-Identifier: GPL-2.0
/* devlend: the command line tool. This file finds the verb; each verb has a file of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "sysfs.h"

const char *argp_program_version = "devlend " DEVLEND_VERSION;

static const struct verb * const verbs[] = {
	&verb_list, &verb_lend, &verb_reclaim, &verb_borrow, &verb_return,
	&verb_show, &verb_status, &verb_watch, &verb_lspci, &verb_config,
	&verb_preflight,
};

#define VERBS	(sizeof(verbs) / sizeof(*verbs))

struct command {
	struct options opt;
	const struct verb *verb;
	int argc;
	char **argv;
};

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ "sysroot", 0x100, "DIR", 0,
	  "Take /sys, /proc, /dev and /run from below DIR (for tests)", 0 },
	{ 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;
	size_t i;

	switch (key) {
	case ARGP_KEY_ARG:
		for (i = 0; i < VERBS && strcmp(arg, verbs[i]->name); i++)
			;
		if (i == VERBS)
			argp_error(state, "no verb \"%s\"; --help lists them", arg);
		command->verb = verbs[i];
		command->argc = state->argc - state->next + 1;
		command->argv = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return options_common(key, arg, &command->opt);
	}
}

/* The verbs in --help, after the options. */
static char *help(int key, const char *text, void *input)
{
	char *buf, *at;
	size_t i;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	buf = malloc(4096);
	if (!buf)
		return NULL;
	at = buf + sprintf(buf, "Verbs, each with a --help of its own:\n\n");
	for (i = 0; i < VERBS; i++) {
		const char *end = strchrnul(verbs[i]->doc, '\v');

		at += sprintf(at, "  %-10s%.*s\n", verbs[i]->name, (int)(end - verbs[i]->doc),
			      verbs[i]->doc);
	}
	sprintf(at, "\nThe exit status and all else is described in devlend(8).");
	return buf;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse_option, .args_doc = "VERB [ARGUMENT...]",
		.doc = "Lend PCI Express devices to other hosts, and borrow theirs.\v",
		.help_filter = help,
	};
	struct command command = { 0 };
	int code;

	argp_err_exit_status = TOOL_USAGE;
	options_init(&command.opt);
	if (getenv("DEVLEND_SYSROOT"))
		sys_set_root(getenv("DEVLEND_SYSROOT"));
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &command);
	options_parse(command.verb, &command.opt, command.argc, command.argv);
	code = command.verb->run(command.verb, &command.opt);
	free(command.opt.device);
	return code;
}
