/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_ACTIVITY_H
#define DEVLEND_TOOL_ACTIVITY_H

#include <json.h>

#include "lease.h"

/**
 * struct vector - an interrupt of a function
 * @irq: its number on this host
 * @count: how often it came, on all CPUs
 */
struct vector {
	unsigned int irq;
	long long count;
};

/**
 * struct activity - what a borrowed device did since its driver was bound
 * @reads: of its disks
 * @read_bytes: of its disks
 * @writes: to its disks
 * @written_bytes: to its disks
 * @rx_packets: of its interfaces
 * @rx_bytes: of its interfaces
 * @tx_packets: of its interfaces
 * @tx_bytes: of its interfaces
 * @interrupts: all of @vector
 * @vectors: how many
 * @vector: its interrupts; freed by activity_free()
 */
struct activity {
	long long reads, read_bytes, writes, written_bytes;
	long long rx_packets, rx_bytes, tx_packets, tx_bytes;
	long long interrupts;
	size_t vectors;
	struct vector *vector;
};

void activity_read(const struct lease *lease, struct activity *activity);
void activity_free(struct activity *activity);
struct json_object *activity_json(const struct activity *activity);

#endif
