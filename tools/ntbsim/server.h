/* SPDX-License-Identifier: GPL-2.0 */
/* All of it together: ports, links, sockets, control. */
#ifndef NTBSIM_SERVER_H
#define NTBSIM_SERVER_H

#include "config.h"
#include "control.h"
#include "link.h"
#include "loop.h"
#include "port.h"

/**
 * struct server - the simulator
 * @cfg: configuration
 * @loop: event loop
 * @port: one for each in @cfg
 * @link: one for each in @cfg
 * @control: control socket
 */
struct server {
	struct config cfg;
	struct loop loop;
	struct port port[CONFIG_MAX_PORTS];
	struct link link[CONFIG_MAX_LINKS];
	struct control control;
};

/**
 * server_init() - build ports and links from s->cfg; no sockets yet
 *
 * Return: 0 or a negative errno.
 */
int server_init(struct server *s);

/**
 * server_listen() - open all sockets and memory files
 * @s: the server
 * @err: one line that says what is wrong
 * @errlen: room in @err
 *
 * Return: 0 or -1.
 */
int server_listen(struct server *s, char *err, int errlen);

/**
 * server_attach() - give a port a client
 * @s: the server
 * @port: index of the port
 * @fd: the connection; taken over
 *
 * A client that is still there keeps its place.
 *
 * Return: 0, -EBUSY, -ENOMEM.
 */
int server_attach(struct server *s, int port, int fd);

/* Disconnect, close, unlink. */
void server_exit(struct server *s);

#endif /* NTBSIM_SERVER_H */
