/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who waits for whom.
 *
 * A guest that reads a register of a device in another guest stands still until it is answered, and while it
 * stands still it answers nobody. Guests that wait for each other in a circle would wait for ever. So before a
 * read goes out, see whether the guest that it asks waits, over any number of others, for the one that asks.
 *
 * The nodes are guests, not ports: a guest with two NTB functions stands still as a whole.
 */
#ifndef NTBSIM_CYCLE_H
#define NTBSIM_CYCLE_H

#include <stdbool.h>

struct port;

/* Whether a device read from @src to its peer would close a circle. */
bool cycle_would_close(const struct port *src);

#endif /* NTBSIM_CYCLE_H */
