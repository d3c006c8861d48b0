// SPDX-License-Identifier: GPL-2.0
/*
 * What a driver made of a PCI function: all disks, partitions, interfaces and character devices
 * below it in sysfs.
 *
 * A drive of nvme's multipath is not below its controller: there is only a hidden path, nvme0c1n1,
 * and the drive is nvme0n1, elsewhere. It is counted to each of its controllers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "nodes.h"
#include "sysfs.h"

/* deeper than any driver builds; ends a walk through a tree with a loop in it */
#define NODES_DEPTH	12

static struct node *nodes_add(struct nodes *nodes, enum node_kind kind, const char *dir,
			      const char *name)
{
	struct node *node;

	nodes->node = realloc(nodes->node, (nodes->count + 1) * sizeof(*nodes->node));
	if (!nodes->node)
		abort();
	node = &nodes->node[nodes->count++];
	*node = (struct node){ .kind = kind };
	snprintf(node->name, sizeof(node->name), "%s", name);
	snprintf(node->path, sizeof(node->path), "%s", dir);
	return node;
}

static void nodes_walk(struct nodes *nodes, const char *dir, int depth);

/* "nvme0c1n1" is a path to "nvme0n1". */
static void nodes_multipath(struct nodes *nodes, const char *name)
{
	unsigned int subsystem, controller, namespace;
	char path[PATH_MAX], *real;
	int end = 0;

	if (sscanf(name, "nvme%uc%un%u%n", &subsystem, &controller, &namespace, &end) != 3 ||
	    name[end])
		return;
	sys_path(path, "/sys/class/block/nvme%un%u", subsystem, namespace);
	real = realpath(path, NULL);
	if (real)
		nodes_walk(nodes, real + strlen(sys_root()), NODES_DEPTH - 2);
	free(real);
}

/* The thing that a folder is, if it is one. */
static void nodes_look(struct nodes *nodes, const char *dir)
{
	const char *name = strrchr(dir, '/') + 1;
	unsigned int major, minor;
	char text[64], subsystem[64];
	struct node *node;

	if (sys_link_name(subsystem, sizeof(subsystem), "%s/subsystem", dir))
		return;
	if (!strcmp(subsystem, "net")) {
		nodes_add(nodes, NODE_NET, dir, name);
		return;
	}
	nodes_multipath(nodes, name);
	if (sys_read(text, sizeof(text), "%s/dev", dir) ||
	    sscanf(text, "%u:%u", &major, &minor) != 2)
		return;
	if (strcmp(subsystem, "block"))
		node = nodes_add(nodes, NODE_CHAR, dir, name);
	else if (sys_exists("%s/partition", dir))
		node = nodes_add(nodes, NODE_PART, dir, name);
	else
		node = nodes_add(nodes, NODE_DISK, dir, name);
	node->major = major;
	node->minor = minor;
}

static void nodes_walk(struct nodes *nodes, const char *dir, int depth)
{
	char path[PATH_MAX], full[PATH_MAX];
	struct names names;
	struct stat st;
	size_t i;

	if (depth == NODES_DEPTH)
		return;
	nodes_look(nodes, dir);
	sys_list(&names, "", "%s", dir);
	for (i = 0; i < names.count; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", dir, names.name[i]) >= (int)sizeof(path))
			continue;
		sys_path(full, "%s", path);
		if (!lstat(full, &st) && S_ISDIR(st.st_mode))
			nodes_walk(nodes, path, depth + 1);
	}
	names_free(&names);
}

/* All of a function's; none where it has no driver, or is not there. */
void nodes_read(struct nodes *nodes, const char *bdf)
{
	char path[PATH_MAX], *real;

	*nodes = (struct nodes){ 0 };
	sys_path(path, SYS_PCI "/%s", bdf);
	real = realpath(path, NULL);
	if (real)
		nodes_walk(nodes, real + strlen(sys_root()), 0);
	free(real);
}

void nodes_free(struct nodes *nodes)
{
	free(nodes->node);
}
