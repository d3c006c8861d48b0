// SPDX-License-Identifier: GPL-2.0
/* The command line of a verb: one table of options, of which each verb takes some. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "options.h"
#include "sysfs.h"

enum options_key {
	KEY_JSON = 'j',
	KEY_FILTER = 'f',
	KEY_WAIT = 'w',
	KEY_DRY_RUN = 'n',
	KEY_INTERVAL = 'i',
	KEY_COUNT = 'c',
	KEY_VERBOSE = 'v',
	KEY_SYSROOT = 0x100,
	KEY_FORCE,
	KEY_NO_RESET,
	KEY_REVOKE,
	KEY_SLOT,
	KEY_RAW,
	KEY_AUTOMATIC,
	KEY_TEST,
};

static const struct {
	unsigned int take;
	struct argp_option option;
} options_all[] = {
	{ 0, { "json", KEY_JSON, NULL, 0, "Print JSON", 0 } },
	{ 0, { "sysroot", KEY_SYSROOT, "DIR", 0,
	       "Take /sys, /proc, /dev and /run from below DIR (for tests)", 0 } },
	{ TAKE_FILTER, { "filter", KEY_FILTER, "KEY=VALUE", 0,
	       "Only devices that fit: class=0108, id=8086:10d3, slot=3b:00.0, driver=nvme, host=4c4c4544; may be given several times, or with commas",
	       0 } },
	{ TAKE_FORCE, { "force", KEY_FORCE, NULL, 0, "Also where the device is in use", 0 } },
	{ TAKE_WAIT, { "wait", KEY_WAIT, "SECONDS", OPTION_ARG_OPTIONAL,
	       "Wait until it can be done and is done, 60 seconds if not told otherwise", 0 } },
	{ TAKE_DRY_RUN, { "dry-run", KEY_DRY_RUN, NULL, 0,
	       "Check, and say what would be done", 0 } },
	{ TAKE_NO_RESET, { "no-reset", KEY_NO_RESET, NULL, 0,
	       "Lend a device that cannot be reset between two borrowers", 0 } },
	{ TAKE_REVOKE, { "revoke", KEY_REVOKE, NULL, 0,
	       "Take it from its borrower, who has 30 seconds to let go", 0 } },
	{ TAKE_SLOT, { "slot", KEY_SLOT, "N", 0,
	       "Borrow into this slot, which decides the PCI domain", 0 } },
	{ TAKE_WATCH, { "interval", KEY_INTERVAL, "SECONDS", 0, "Time between two looks", 0 } },
	{ TAKE_WATCH, { "count", KEY_COUNT, "N", 0, "End after N looks", 0 } },
	{ TAKE_VIEW, { "raw", KEY_RAW, NULL, 0,
	       "As it is on this host, not as its borrower is told", 0 } },
	{ TAKE_AUTOMATIC, { "automatic", KEY_AUTOMATIC, NULL, 0,
	       "As udev does it: leave alone what was returned or reclaimed by hand", 0 } },
	{ TAKE_TEST, { "test", KEY_TEST, NULL, 0,
	       "Have the other host write through windows that nobody uses, and look", 0 } },
	{ TAKE_VIEW, { "verbose", KEY_VERBOSE, NULL, 0, "More; up to three times", 0 } },
};

#define OPTIONS_ALL	(sizeof(options_all) / sizeof(*options_all))

struct parse {
	const struct verb *verb;
	struct options *opt;
	bool bare_wait;		/* --wait was given, without seconds */
};

void options_init(struct options *opt)
{
	*opt = (struct options){ .slot = "auto", .wait = -1, .interval = 2 };
	filter_init(&opt->filter);
}

static long number(struct argp_state *state, const char *arg, long min, long max, const char *what)
{
	char *end;
	long value = strtol(arg, &end, 10);

	if (end == arg || *end || value < min || value > max)
		argp_error(state, "%s: want a number from %ld to %ld, not \"%s\"", what, min, max,
			   arg);
	return value;
}

/* Options that come before the verb, too. */
int options_common(int key, char *arg, struct options *opt)
{
	if (key == KEY_JSON)
		opt->json = true;
	else if (key == KEY_SYSROOT)
		sys_set_root(arg);
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

/* A device has more than three characters, or others than digits. */
static int parse_argument(struct argp_state *state, const struct parse *parse, char *arg)
{
	struct options *opt = parse->opt;
	size_t len = strlen(arg);

	/* getopt takes an optional value only where it is not a word of its own */
	if (parse->bare_wait && len <= 3 && strspn(arg, "0123456789") == len)
		argp_error(state, "--wait %s: for so many seconds, --wait=%s or -w%s", arg, arg,
			   arg);
	if (!(parse->verb->take & TAKE_DEVICES))
		argp_error(state, "\"%s\" is one word too many", arg);
	opt->device = realloc(opt->device, (opt->devices + 1) * sizeof(*opt->device));
	if (!opt->device)
		return ENOMEM;
	opt->device[opt->devices++] = arg;
	return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct parse *parse = state->input;
	struct options *opt = parse->opt;
	struct why why;

	switch (key) {
	case KEY_FILTER:
		if (filter_add(&opt->filter, arg, &why))
			argp_error(state, "%s", why.text);
		return 0;
	case KEY_FORCE:
		opt->force = true;
		return 0;
	case KEY_WAIT:
		parse->bare_wait = !arg;
		opt->wait = arg ? number(state, arg, 0, 86400, "--wait") : OPTIONS_WAIT;
		opt->deadline = clock_ms() + opt->wait * 1000ll;
		return 0;
	case KEY_DRY_RUN:
		opt->dry_run = true;
		return 0;
	case KEY_NO_RESET:
		opt->no_reset = true;
		return 0;
	case KEY_REVOKE:
		opt->revoke = true;
		return 0;
	case KEY_SLOT:
		number(state, arg, 0, 255, "--slot");
		opt->slot = arg;
		return 0;
	case KEY_INTERVAL:
		opt->interval = number(state, arg, 1, 3600, "--interval");
		return 0;
	case KEY_COUNT:
		opt->count = number(state, arg, 1, 1000000, "--count");
		return 0;
	case KEY_RAW:
		opt->raw = true;
		return 0;
	case KEY_AUTOMATIC:
		opt->automatic = true;
		return 0;
	case KEY_TEST:
		opt->test = true;
		return 0;
	case KEY_VERBOSE:
		opt->verbose++;
		return 0;
	case ARGP_KEY_ARG:
		return parse_argument(state, parse, arg);
	default:
		return options_common(key, arg, opt);
	}
}

/* Parse what follows a verb; does not come back from a mistake, or from --help. */
int options_parse(const struct verb *verb, struct options *opt, int argc, char **argv)
{
	struct argp_option taken[OPTIONS_ALL + 1] = { 0 };
	struct argp argp = {
		.options = taken, .parser = parse_option, .args_doc = verb->args, .doc = verb->doc,
	};
	struct parse parse = { .verb = verb, .opt = opt };
	char name[64];
	size_t i, n = 0;

	for (i = 0; i < OPTIONS_ALL; i++)
		if (!options_all[i].take || options_all[i].take & verb->take)
			taken[n++] = options_all[i].option;
	snprintf(name, sizeof(name), "devlend %s", verb->name);
	argv[0] = name;
	return argp_parse(&argp, argc, argv, 0, NULL, &parse);
}
