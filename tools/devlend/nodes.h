/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_NODES_H
#define DEVLEND_TOOL_NODES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * enum node_kind - what a driver made of a device
 * @NODE_CHAR: a character device
 * @NODE_DISK: a whole block device
 * @NODE_PART: a partition
 * @NODE_NET: a network interface
 */
enum node_kind {
	NODE_CHAR,
	NODE_DISK,
	NODE_PART,
	NODE_NET,
};

/**
 * struct node - one thing below a PCI function by which it can be in use
 * @kind: what it is
 * @name: as the kernel calls it
 * @major: of the device number
 * @minor: of the device number
 * @path: its folder in sysfs, below the root
 */
struct node {
	enum node_kind kind;
	char name[64];
	unsigned int major, minor;
	char path[PATH_MAX];
};

/* a list of nodes; free it */
struct nodes {
	size_t count;
	struct node *node;
};

void nodes_read(struct nodes *nodes, const char *bdf);
void nodes_free(struct nodes *nodes);

#endif
