/* SPDX-License-Identifier: GPL-2.0 */
/* What the files with commands of the control socket share. */
#ifndef NTBSIM_CONTROL_CMD_H
#define NTBSIM_CONTROL_CMD_H

#include "control.h"

typedef struct json_object jobj;

struct port;

/* Replies. */
jobj *control_ok(void);
jobj *__attribute__((format(printf, 1, 2))) control_failed(const char *fmt,
							    ...);

/* The port that a request names, or NULL. */
struct port *control_port(struct server *s, jobj *req);

/* The commands of control_fault.c. */
jobj *control_faults(struct server *s, jobj *req);
jobj *control_freeze(struct server *s, jobj *req);
jobj *control_flap(struct server *s, jobj *req, struct control_client *from);

#endif /* NTBSIM_CONTROL_CMD_H */
