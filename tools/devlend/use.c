// SPDX-License-Identifier: GPL-2.0
/*
 * Is a device in use? Asked before its driver is taken from it, on either host.
 *
 * In order, so that the most telling answer comes first: an interface that is up; a drive that is
 * mounted (in any mount namespace), swap, below another block device (LVM, RAID, dm-crypt), behind
 * a loop device, exported by nvmet, a member of an array or volume group that is not running; a
 * drive that the kernel has opened for itself; and anything that a process has open. What a kernel
 * service uses without any of these is not seen.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "nodes.h"
#include "sysfs.h"
#include "use.h"

#define IFF_UP_BIT	1
#define NVMET_SUBSYSTEMS	"/sys/kernel/config/nvmet/subsystems"

static bool is_block(const struct node *node)
{
	return node->kind == NODE_DISK || node->kind == NODE_PART;
}

static int in_use(struct why *why, const struct node *node, const char *how, const char *remedy)
{
	return why_not(why, TOOL_BUSY, "%s %s; %s", node->name, how, remedy);
}

static int use_net(const struct node *node, struct why *why)
{
	if (node->kind != NODE_NET || !(sys_hex("%s/flags", node->path) & IFF_UP_BIT))
		return TOOL_OK;
	return why_not(why, TOOL_BUSY, "interface %s is up; ip link set %s down", node->name,
		       node->name);
}

/* "\040" is a space in mountinfo. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (text[0] == '\\' && isdigit((unsigned char)text[1]) &&
		    isdigit((unsigned char)text[2]) && isdigit((unsigned char)text[3])) {
			*to++ = (text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0');
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/*
 * One line of mountinfo: "36 35 98:0 /root /mount/point options - type source options". A file
 * system of several drives has a device number of its own, and names one of them as its source.
 */
static bool mount_is_of(char *line, const struct node *node, char **point)
{
	char *field[5], *rest, *dash = strstr(line, " - "), *source;
	unsigned int major, minor;
	int i;

	if (!dash)
		return false;
	*dash = '\0';
	strtok_r(dash + 3, "\n ", &rest);
	source = strtok_r(NULL, "\n ", &rest);
	for (i = 0; i < 5; i++) {
		field[i] = strtok_r(i ? NULL : line, "\n ", &rest);
		if (!field[i])
			return false;
	}
	*point = field[4];
	if (sscanf(field[2], "%u:%u", &major, &minor) == 2 && major == node->major &&
	    minor == node->minor)
		return true;
	return source && !strncmp(source, "/dev/", 5) && !strcmp(source + 5, node->name);
}

static int use_mountinfo(const char *pid, const struct node *node, struct why *why)
{
	char path[PATH_MAX], *line = NULL, *point;
	int code = TOOL_OK;
	size_t room = 0;
	FILE *file;

	sys_path(path, "/proc/%s/mountinfo", pid);
	file = fopen(path, "re");
	if (!file)
		return TOOL_OK;
	while (!code && getline(&line, &room, file) > 0) {
		if (!mount_is_of(line, node, &point))
			continue;
		unescape(point);
		code = why_not(why, TOOL_BUSY, "%s is mounted on %s; umount it", node->name,
			       point);
	}
	free(line);
	fclose(file);
	return code;
}

/* One process of each mount namespace tells of its mounts. */
static int use_mounts(const struct node *node, struct why *why)
{
	struct names pids, seen = { 0 };
	int code = use_mountinfo("self", node, why);
	char space[64];
	size_t i, j;

	sys_list(&pids, "", "/proc");
	for (i = 0; i < pids.count && !code; i++) {
		if (!isdigit((unsigned char)pids.name[i][0]) ||
		    sys_link_name(space, sizeof(space), "/proc/%s/ns/mnt", pids.name[i]))
			continue;
		for (j = 0; j < seen.count && strcmp(seen.name[j], space); j++)
			;
		if (j < seen.count)
			continue;
		names_add(&seen, space);
		code = use_mountinfo(pids.name[i], node, why);
	}
	names_free(&seen);
	names_free(&pids);
	return code;
}

static int use_swap(const struct node *node, struct why *why)
{
	char text[8192], *line, *rest;
	int code = TOOL_OK;
	size_t len = strlen(node->name);

	sys_read(text, sizeof(text), "/proc/swaps");
	for (line = strtok_r(text, "\n", &rest); line && !code; line = strtok_r(NULL, "\n", &rest))
		if (!strncmp(line, "/dev/", 5) && !strncmp(line + 5, node->name, len) &&
		    isspace((unsigned char)line[5 + len]))
			code = why_not(why, TOOL_BUSY, "%s is swap; swapoff /dev/%s", node->name,
				       node->name);
	return code;
}

static int use_holders(const struct node *node, struct why *why)
{
	struct names holders;
	char dm[128];
	int code = TOOL_OK;

	sys_list(&holders, "", "%s/holders", node->path);
	if (holders.count) {
		const char *holder = holders.name[0];

		sys_read(dm, sizeof(dm), "/sys/class/block/%s/dm/name", holder);
		if (dm[0])
			code = why_not(why, TOOL_BUSY,
				       "%s is part of %s (%s, device mapper: LVM, dm-crypt, multipath); take that down",
				       node->name, dm, holder);
		else if (!strncmp(holder, "md", 2))
			code = why_not(why, TOOL_BUSY,
				       "%s is part of RAID %s; mdadm --stop /dev/%s, or remove it from the array",
				       node->name, holder, holder);
		else
			code = why_not(why, TOOL_BUSY, "%s is held by %s; take that down",
				       node->name, holder);
	}
	names_free(&holders);
	return code;
}

static int use_loop(const struct node *node, struct why *why)
{
	char file[PATH_MAX];
	struct names loops;
	int code = TOOL_OK;
	size_t i;

	sys_list(&loops, "loop", "/sys/block");
	for (i = 0; i < loops.count && !code; i++) {
		sys_read(file, sizeof(file), "/sys/block/%s/loop/backing_file", loops.name[i]);
		if (!strncmp(file, "/dev/", 5) && !strcmp(file + 5, node->name))
			code = why_not(why, TOOL_BUSY, "%s is behind %s; losetup -d /dev/%s",
				       node->name, loops.name[i], loops.name[i]);
	}
	names_free(&loops);
	return code;
}

/* Whether the node of that name in /dev is this one. */
static bool is_node(const struct stat *st, const struct node *node)
{
	return (is_block(node) ? S_ISBLK(st->st_mode) : S_ISCHR(st->st_mode)) &&
	       st->st_rdev == makedev(node->major, node->minor);
}

/* A namespace of nvmet that is enabled, and the file or link of /dev that it was given. */
static bool is_exported(const char *namespace, const struct node *node)
{
	char file[PATH_MAX], path[PATH_MAX];
	struct stat st;

	if (sys_number(0, "%s/enable", namespace) != 1 ||
	    sys_read(file, sizeof(file), "%s/device_path", namespace))
		return false;
	if (!strncmp(file, "/dev/", 5) && !strcmp(file + 5, node->name))
		return true;
	sys_path(path, "%s", file);
	return !stat(path, &st) && is_node(&st, node);
}

/* nvmet opens a drive as a process does, and is none. */
static int use_nvmet(const struct node *node, struct why *why)
{
	struct names subsystems, namespaces;
	int code = TOOL_OK;
	char path[PATH_MAX];
	size_t i, j;

	sys_list(&subsystems, "", NVMET_SUBSYSTEMS);
	for (i = 0; i < subsystems.count && !code; i++) {
		sys_list(&namespaces, "", NVMET_SUBSYSTEMS "/%s/namespaces", subsystems.name[i]);
		for (j = 0; j < namespaces.count && !code; j++) {
			snprintf(path, sizeof(path), NVMET_SUBSYSTEMS "/%s/namespaces/%s",
				 subsystems.name[i], namespaces.name[j]);
			if (is_exported(path, node))
				code = why_not(why, TOOL_BUSY,
					       "%s is exported by nvmet; write 0 to %s/enable",
					       node->name, path);
		}
		names_free(&namespaces);
	}
	names_free(&subsystems);
	return code;
}

/* What udev found on it: a part of something that is not running now, and would miss it. */
static int use_member(const struct node *node, struct why *why)
{
	static const char key[] = "E:ID_FS_TYPE=";
	char text[16384], *type, *end;

	sys_read(text, sizeof(text), "/run/udev/data/b%u:%u", node->major, node->minor);
	type = strstr(text, key);
	if (!type)
		return TOOL_OK;
	type += strlen(key);
	end = strchr(type, '\n');
	if (end)
		*end = '\0';
	if (!strstr(type, "_member") && strcmp(type, "bcache") && strcmp(type, "drbd"))
		return TOOL_OK;
	return why_not(why, TOOL_BUSY,
		       "%s is a member of an array or volume group (%s); remove it from there, or wipefs it",
		       node->name, type);
}

/* The kernel's own users open a drive exclusively: then nobody else can. */
static int use_exclusive(const struct node *node, struct why *why)
{
	char path[PATH_MAX];
	struct stat st;
	int fd;

	sys_path(path, "/dev/%s", node->name);
	if (stat(path, &st) || !is_node(&st, node))
		return TOOL_OK;
	fd = open(path, O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == EBUSY)
		return in_use(why, node, "is held by the kernel",
			      "find its file system, swap, RAID or volume with lsblk");
	if (fd >= 0)
		close(fd);
	return TOOL_OK;
}

static int use_process(const struct node *node, const char *pid, struct why *why)
{
	char path[PATH_MAX], target[PATH_MAX], comm[32];
	struct names fds;
	int code = TOOL_OK;
	struct stat st;
	ssize_t len;
	size_t i;

	sys_list(&fds, "", "/proc/%s/fd", pid);
	for (i = 0; i < fds.count && !code; i++) {
		sys_path(path, "/proc/%s/fd/%s", pid, fds.name[i]);
		len = readlink(path, target, sizeof(target) - 1);
		if (len < 5)
			continue;
		target[len] = '\0';
		if ((strncmp(target, "/dev/", 5) || strcmp(target + 5, node->name)) &&
		    (stat(path, &st) || !is_node(&st, node)))
			continue;
		sys_read(comm, sizeof(comm), "/proc/%s/comm", pid);
		code = why_not(why, TOOL_BUSY, "%s is opened by %s (process %s); end that",
			       node->name, comm, pid);
	}
	names_free(&fds);
	return code;
}

static int use_open(const struct node *node, struct why *why)
{
	struct names pids;
	int code = TOOL_OK;
	size_t i;

	sys_list(&pids, "", "/proc");
	for (i = 0; i < pids.count && !code; i++)
		if (isdigit((unsigned char)pids.name[i][0]))
			code = use_process(node, pids.name[i], why);
	names_free(&pids);
	return code;
}

static int use_block(const struct node *node, struct why *why)
{
	static int (* const checks[])(const struct node *node, struct why *why) = {
		use_mounts, use_swap, use_holders, use_loop, use_nvmet, use_member,
	};
	int code = TOOL_OK;
	size_t i;

	for (i = 0; i < sizeof(checks) / sizeof(*checks) && !code && is_block(node); i++)
		code = checks[i](node, why);
	return code;
}

/*
 * Whether taking a PCI function from its driver would hurt somebody: TOOL_BUSY with how it is in
 * use, and what ends that.
 */
int use_check(const char *bdf, struct why *why)
{
	struct nodes nodes;
	int code = TOOL_OK;
	size_t i;

	nodes_read(&nodes, bdf);
	for (i = 0; i < nodes.count && !code; i++)
		code = use_net(&nodes.node[i], why);
	for (i = 0; i < nodes.count && !code; i++)
		code = use_block(&nodes.node[i], why);
	/* partitions first: a mounted one makes its drive exclusive, too */
	for (i = nodes.count; i-- && !code;)
		if (is_block(&nodes.node[i]))
			code = use_exclusive(&nodes.node[i], why);
	for (i = 0; i < nodes.count && !code; i++)
		if (nodes.node[i].kind != NODE_NET)
			code = use_open(&nodes.node[i], why);
	nodes_free(&nodes);
	return code;
}
