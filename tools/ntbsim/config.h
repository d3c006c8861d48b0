/* SPDX-License-Identifier: GPL-2.0 */
/* The configuration file: what ports there are, and which of them are linked. */
#ifndef NTBSIM_CONFIG_H
#define NTBSIM_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "counters.h"

#define CONFIG_MAX_PORTS	32
#define CONFIG_MAX_LINKS	(CONFIG_MAX_PORTS / 2)
#define CONFIG_NAME_MAX		32
#define CONFIG_PATH_MAX		108	/* what a socket address holds */

/**
 * struct window_config - one window of a port
 * @size: of its BAR, a power of two
 * @fast: mapped straight onto the peer's memory file
 * @fast_size: so much of its front, at most; 0 = all of it
 * @fast_ram: address in the peer's memory that the front leads to
 */
struct window_config {
	uint64_t size;
	bool fast;
	uint64_t fast_size;
	uint64_t fast_ram;
};

/**
 * struct port_config - one port
 * @name: unique
 * @socket: where its client connects
 * @guest: ports with the same name here belong to one guest; empty: told by the client's process
 * @memory: file that holds the guest's memory, for fast windows of its peer; may be empty
 * @memory_size: its size
 * @dsd: downstream device, else upstream
 * @puppet: driven over the control socket, without a client; has no @socket
 * @win: for BAR 2 and BAR 4
 */
struct port_config {
	char name[CONFIG_NAME_MAX];
	char socket[CONFIG_PATH_MAX];
	char guest[CONFIG_NAME_MAX];
	char memory[256];
	uint64_t memory_size;
	bool dsd;
	bool puppet;
	struct window_config win[NUM_WINDOWS];
};

/**
 * struct config - everything
 * @control: the control socket
 * @log: name of the log level, may be empty
 * @port: ports
 * @nports: how many
 * @link: pairs of indices into @port
 * @nlinks: how many
 */
struct config {
	char control[CONFIG_PATH_MAX];
	char log[16];
	struct port_config port[CONFIG_MAX_PORTS];
	int nports;
	int link[CONFIG_MAX_LINKS][2];
	int nlinks;
};

/**
 * config_load() - read a file
 * @path: the file
 * @cfg: filled in
 * @err: one line that says what is wrong
 * @errlen: room in @err
 *
 * Return: 0 or -1.
 */
int config_load(const char *path, struct config *cfg, char *err, int errlen);

/* The same, from text. */
int config_parse(const char *text, struct config *cfg, char *err, int errlen);

#endif /* NTBSIM_CONFIG_H */
