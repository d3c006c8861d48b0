// SPDX-License-Identifier: GPL-2.0
/*
 * What an operator gave back by hand stays so, though the configuration names it: reclaim and
 * return leave a file, which lend and borrow remove; "config apply --automatic" leaves alone what
 * has one.
 * They are below /run, which a boot empties. A device is known by its name on the devlend bus:
 * lent-<address>, offer-<host>-<address>.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "held.h"
#include "sysfs.h"

static int held_open(const char *name)
{
	char path[PATH_MAX];

	sys_path(path, HELD_RUN);
	mkdir(path, 0755);
	sys_path(path, HELD_RUN "/%s", name);
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
}

/* Called before the device is given back, so that the event of that finds it. */
void held_set(const char *name)
{
	int fd = held_open(name);

	if (fd >= 0)
		close(fd);
}

void held_clear(const char *name)
{
	char path[PATH_MAX];

	sys_path(path, HELD_RUN "/%s", name);
	unlink(path);
}

bool held_is(const char *name)
{
	return sys_exists(HELD_RUN "/%s", name);
}

/*
 * One at a time applies the configuration, until the process ends. Every event starts one, so of
 * those that would wait automatically only one does, which looks when all their events are over.
 * @done: there is one.
 */
int held_lock(bool automatic, bool *done, struct why *why)
{
	int next = held_open("next"), turn = held_open("turn");

	*done = false;
	if (next < 0 || turn < 0)
		return why_not(why, errno == EACCES ? TOOL_RIGHTS : TOOL_FAILED,
			       "cannot write to " HELD_RUN ": %s", strerror(errno));
	if (flock(next, LOCK_EX | (automatic ? LOCK_NB : 0))) {
		*done = automatic && errno == EWOULDBLOCK;
		close(turn);
		close(next);
		return *done ? TOOL_OK :
		       why_not(why, TOOL_FAILED, "cannot lock: %s", strerror(errno));
	}
	while (flock(turn, LOCK_EX) && errno == EINTR)
		;
	close(next);
	return TOOL_OK;
}
