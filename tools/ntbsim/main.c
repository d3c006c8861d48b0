// SPDX-License-Identifier: GPL-2.0
/* ntbsim: NTB endpoints made of software, joined in pairs, for guests that speak vfio-user. */
#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "log.h"
#include "server.h"

#define EXIT_WRONG 2

const char *argp_program_version = "ntbsim 1";

struct options {
	const char *config;
	const char *log;
};

static const struct argp_option opts[] = {
	{ "config", 'c', "FILE", 0, "Read the configuration from FILE", 0 },
	{ "log", 'l', "LEVEL", 0, "error, warn, info or debug", 0 },
	{ 0 }
};

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'c':
		o->config = arg;
		return 0;
	case 'l':
		o->log = arg;
		return 0;
	case ARGP_KEY_ARG:
		argp_failure(state, EXIT_WRONG, 0,
			     "unexpected argument: %s", arg);
		return 0;
	case ARGP_KEY_END:
		if (!o->config)
			argp_failure(state, EXIT_WRONG, 0, "--config is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = opts,
	.parser = parse_opt,
	.doc = "A non-transparent bridge made of software, for QEMU guests.",
};

static struct {
	struct loop_src src;
	struct loop *loop;
} signals;

static void on_signal(struct loop_src *src, uint32_t events)
{
	struct signalfd_siginfo si;

	(void)events;
	if (read(src->fd, &si, sizeof(si)) == sizeof(si))
		log_info("ends on signal %u", si.ssi_signo);
	loop_stop(signals.loop);
}

static int watch_signals(struct loop *loop)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals.src.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	signals.src.cb = on_signal;
	signals.loop = loop;
	if (signals.src.fd < 0)
		return -1;
	return loop_add(loop, &signals.src, EPOLLIN);
}

static int wrong(const char *what)
{
	fprintf(stderr, "ntbsim: %s\n", what);
	return EXIT_WRONG;
}

int main(int argc, char **argv)
{
	static struct server server;
	struct options o = { 0 };
	char err[512];
	const char *level;
	int ret;

	argp_err_exit_status = EXIT_WRONG;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (config_load(o.config, &server.cfg, err, sizeof(err)))
		return wrong(err);
	level = o.log ? o.log : server.cfg.log;
	if (*level && !log_level_parse(level, &log_level))
		return wrong("the log level must be error, warn, info or debug");

	if (server_init(&server) || watch_signals(&server.loop))
		return wrong("no event loop");
	dma_install_sigbus();
	if (server_listen(&server, err, sizeof(err))) {
		server_exit(&server);
		return wrong(err);
	}
	printf("ntbsim: ready\n");
	fflush(stdout);

	ret = loop_run(&server.loop);
	server_exit(&server);
	close(signals.src.fd);
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}
