/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control socket: requests and replies, each a JSON object on a line of its own. See README.md for them.
 */
#ifndef NTBSIM_CONTROL_H
#define NTBSIM_CONTROL_H

#include <json.h>

#include "loop.h"

/* The longest request, and what may wait to be read by one client, in bytes. */
#define CONTROL_LINE_MAX	(16 * 1024 * 1024)
#define CONTROL_OUT_MAX		(64 * 1024 * 1024)

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
 * @from: who asks, if a reply may come later; or NULL
 *
 * Return: the reply; the caller puts it. NULL if it comes by control_reply().
 */
struct json_object *control_request(struct server *s, const char *line,
				    struct control_client *from);

/* The reply to @cl comes later. @cancel is called with @arg if the client goes away before. */
void control_defer(struct control_client *cl, void (*cancel)(void *arg),
		   void *arg);
/* Here it is; put by this function. @arg is the &struct control_client. */
void control_reply(void *arg, struct json_object *reply);

#endif /* NTBSIM_CONTROL_H */
