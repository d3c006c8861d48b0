/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_OPTIONS_H
#define DEVLEND_TOOL_OPTIONS_H

#include <argp.h>

#include "filter.h"

/* seconds that --wait waits where it is not told how long */
#define OPTIONS_WAIT	60

/* What a verb understands, besides --json and --sysroot. */
enum options_take {
	TAKE_DEVICES = 1 << 0,
	TAKE_FILTER = 1 << 1,
	TAKE_FORCE = 1 << 2,
	TAKE_WAIT = 1 << 3,
	TAKE_DRY_RUN = 1 << 4,
	TAKE_NO_RESET = 1 << 5,
	TAKE_REVOKE = 1 << 6,
	TAKE_SLOT = 1 << 7,
	TAKE_WATCH = 1 << 8,
	TAKE_VIEW = 1 << 9,
	TAKE_AUTOMATIC = 1 << 10,
	TAKE_TEST = 1 << 11,
};

/**
 * struct options - the command line
 * @json: --json
 * @force: --force
 * @dry_run: --dry-run
 * @no_reset: --no-reset
 * @revoke: --revoke
 * @private: lend to nobody until allow says to whom; no option has it
 * @automatic: --automatic
 * @raw: --raw
 * @test: --test
 * @verbose: how often -v was given
 * @slot: --slot; "auto" = none given
 * @wait: --wait, seconds; -1 = not given
 * @deadline: when that is over, in milliseconds of the monotonic clock; 0 = never
 * @interval: --interval, seconds
 * @count: --count; 0 = without end
 * @filter: --filter
 * @device: what else is on the command line
 * @devices: how many of them
 */
struct options {
	bool json, force, dry_run, no_reset, revoke, private, automatic, raw, test;
	int verbose;
	const char *slot;
	int wait;
	long long deadline;
	double interval;
	int count;
	struct filter filter;
	char **device;
	int devices;
};

/**
 * struct verb - what the tool can do
 * @name: as on the command line
 * @args: what follows it, for --help
 * @doc: what it does, for --help
 * @take: &enum options_take
 * @run: does it; returns the exit status
 */
struct verb {
	const char *name;
	const char *args;
	const char *doc;
	unsigned int take;
	int (*run)(const struct verb *verb, struct options *opt);
};

extern const struct verb verb_lend, verb_reclaim, verb_list, verb_borrow, verb_return;
extern const struct verb verb_show, verb_status, verb_watch, verb_lspci, verb_config;
extern const struct verb verb_preflight;

void options_init(struct options *opt);
int options_common(int key, char *arg, struct options *opt);
int options_parse(const struct verb *verb, struct options *opt, int argc, char **argv);

#endif
