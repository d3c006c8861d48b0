/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_LINK_H
#define DEVLEND_TOOL_LINK_H

#include <json.h>

#include "pciaddr.h"
#include "sysfs.h"
#include "why.h"

/**
 * struct link - a link of this host
 * @name: on the devlend bus
 * @state: as the kernel tells it
 * @peer: UUID of the other host; "" while it is not known
 * @ntb: address of the NTB function; "" = unknown
 * @words: scratchpad words in each direction; -1 = unknown
 * @beat_timeout_ms: after so long a silence the peer is dead
 * @atomic_timeout_ms: ... and after so long without an answer to an atomic operation
 * @calls_sent: requests since the link was made
 * @calls_received: the peer's
 * @atomic_sent: atomic operations since the link was made
 * @atomic_received: the peer's
 * @frames_rejected: frames whose check did not fit
 */
struct link {
	char name[32];
	char state[16];
	char peer[40];
	char ntb[PCIADDR_MAX];
	long long words;
	long long beat_timeout_ms, atomic_timeout_ms;
	long long calls_sent, calls_received, atomic_sent, atomic_received, frames_rejected;
};

/* a list of links; free it */
struct links {
	size_t count;
	struct link *link;
};

void links_read(struct links *links);
void links_free(struct links *links);
struct json_object *link_json(const struct link *link);
int devlend_loaded(struct why *why);
int links_usable(struct why *why);

#endif
