/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control socket: requests and replies, each a JSON object on a line of its own. See README.md for them.
 */
#ifndef NTBSIM_CONTROL_H
#define NTBSIM_CONTROL_H

#include <json.h>

#include "loop.h"

/* The longest request, and what may wait to be read by one client, in bytes. */
#define CONTROL_LINE_MAX	65536
#define CONTROL_OUT_MAX		(8 * 1024 * 1024)

struct control_client;
struct server;

/**
 * struct control - the control socket
 * @listen: the listening socket
 * @server: what it controls
 * @clients: list of connections
 */
struct control {
	struct loop_src listen;
	struct server *server;
	struct control_client *clients;
};

void control_init(struct control *c);
int control_listen(struct control *c, struct server *s, int fd);
void control_exit(struct control *c);

/**
 * control_request() - carry out one request
 * @s: the server
 * @line: the request, without its newline
 *
 * Return: the reply; the caller puts it.
 */
struct json_object *control_request(struct server *s, const char *line);

#endif /* NTBSIM_CONTROL_H */
