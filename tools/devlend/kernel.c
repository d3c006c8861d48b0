// SPDX-License-Identifier: GPL-2.0
/*
 * Asking the kernel for something: a write that returns when it is done, or with an errno.
 *
 * The write is a child's, so that there can be a progress line and a time-out meanwhile; the
 * kernel goes on when the writer is killed. What a refusal means is said by the kernel's own line,
 * which is looked for in its log, or else by the table below.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "kernel.h"
#include "sysfs.h"
#include "wait.h"

#define KERNEL_LOOK_MS	500
/* syslog's "error" */
#define KERNEL_ERROR	3

static const struct {
	int err, code;
	bool own;		/* better than the kernel's, which speaks of sysfs */
	const char *text;
} kernel_answers[] = {
	{ EACCES, TOOL_RIGHTS, true, "only root may do that: use sudo" },
	{ EPERM, TOOL_IMPOSSIBLE, false,
	  "its host does not allow that; the log there (dmesg) says why" },
	{ ENOENT, TOOL_NOT_FOUND, true, "it is gone; devlend list shows what is there" },
	{ ENODEV, TOOL_NOT_FOUND, false, "it is gone, or out of order; see devlend list" },
	{ EBUSY, TOOL_BUSY, false, "in use at the moment; try again, or with --wait" },
	{ EADDRINUSE, TOOL_BUSY, false, "that slot is taken; choose another, or none" },
	{ ELOOP, TOOL_IMPOSSIBLE, true,
	  "it is borrowed from another host; lend it there" },
	{ EOPNOTSUPP, TOOL_IMPOSSIBLE, false, "cannot be done with this device on this host" },
	{ ENOTTY, TOOL_IMPOSSIBLE, true,
	  "no way to reset it: one borrower's work could leak to the next; or --no-reset" },
	{ ENOSPC, TOOL_IMPOSSIBLE, false,
	  "no slot is free, or no window large enough; enlarge them in the firmware" },
	{ ERANGE, TOOL_IMPOSSIBLE, true,
	  "its packets are too large for the NTB; boot both hosts with pci=pcie_bus_peer2peer" },
	{ ENXIO, TOOL_FAILED, true,
	  "its host has no devlend_lender now: modprobe it there; or reload the NTB's driver" },
	{ ENOTCONN, TOOL_LINK, true, "the link is not up; devlend status says why" },
	{ ENOLINK, TOOL_LINK, true, "the link was lost meanwhile; devlend status says more" },
	{ ESHUTDOWN, TOOL_MODULES, true, "the module is being unloaded" },
	{ ETIMEDOUT, TOOL_TIMEOUT, true,
	  "the kernel is still at it; devlend list shows what becomes of it" },
	{ EINTR, TOOL_FAILED, true, "interrupted; the kernel goes on, see devlend list" },
	{ EPROTO, TOOL_FAILED, false,
	  "the lender said something impossible; are both hosts' devlend of one version?" },
	{ EIO, TOOL_FAILED, false, "it failed; the kernel log (dmesg) says more" },
	{ EAGAIN, TOOL_FAILED, false, "a driver refused; the kernel log (dmesg) says more" },
	{ EINVAL, TOOL_FAILED, false, "not understood; are modules and tool of one version?" },
};

/* Whether this user may write a file. */
int kernel_may(const char *path, struct why *why)
{
	char full[PATH_MAX];

	sys_path(full, "%s", path);
	if (!access(full, W_OK) || (errno != EACCES && errno != EPERM && errno != EROFS))
		return TOOL_OK;
	return why_not(why, TOOL_RIGHTS, "only root may do that: use sudo");
}

/* The kernel log, from here on; -1 = cannot be read. */
static int log_open(void)
{
	char path[PATH_MAX];
	int fd;

	sys_path(path, "/dev/kmsg");
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/*
 * The last error that the log has of us since then, without the driver's and device's name before
 * it and the errno behind it: "4,1234,5678,-;devlend lease-8000: no window (-28)". False = none.
 */
static bool log_reason(int fd, const char *target, char *text, size_t size)
{
	char record[1024], *at, *end;
	bool found = false;
	ssize_t len;

	while (fd >= 0 && ((len = read(fd, record, sizeof(record) - 1)) > 0 || errno == EPIPE)) {
		if (len <= 0)
			continue;
		record[len] = '\0';
		end = strchr(record, '\n');
		if (end)
			*end = '\0';
		at = strchr(record, ';');
		if (!at || (atoi(record) & 7) > KERNEL_ERROR ||
		    (!strstr(at, "devlend") && !strstr(at, target)))
			continue;
		at = strstr(at, ": ");
		if (!at)
			continue;
		end = strstr(at, " (-");
		if (end && end[strlen(end) - 1] == ')')
			*end = '\0';
		snprintf(text, size, "%s", at + 2);
		found = true;
	}
	return found;
}

static int answer(int err, int log, const struct request *request, struct why *why)
{
	size_t i, n = sizeof(kernel_answers) / sizeof(*kernel_answers);
	char text[400];

	for (i = 0; i < n && kernel_answers[i].err != err; i++)
		;
	if ((i == n || !kernel_answers[i].own) &&
	    log_reason(log, request->target, text, sizeof(text)))
		return why_not(why, i < n ? kernel_answers[i].code : TOOL_FAILED, "%s", text);
	if (i < n)
		return why_not(why, kernel_answers[i].code, "%s", kernel_answers[i].text);
	return why_not(why, TOOL_FAILED, "the kernel refused: %s; its log (dmesg) may say more",
		       strerror(err));
}

/* The child: its errno goes through the pipe. */
static pid_t spawn_write(const struct request *request, int *from)
{
	char path[PATH_MAX];
	int ends[2], err;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	sys_path(path, "%s", request->path);
	pid = fork();
	if (!pid) {
		err = -sys_write(request->value, path);
		_exit(write(ends[1], &err, sizeof(err)) != sizeof(err));
	}
	close(ends[1]);
	*from = ends[0];
	return pid;
}

/* Wait for the child: its errno, or -1 where it is out of time. */
static int await_write(int from, const struct request *request, const struct options *opt)
{
	struct pollfd fd = { .fd = from, .events = POLLIN };
	long long left;
	int err = EINTR, ready;
	char state[64] = "";

	for (;;) {
		left = opt->deadline ? opt->deadline - clock_ms() : KERNEL_LOOK_MS;
		if (left <= 0)
			return -1;
		ready = poll(&fd, 1, left < KERNEL_LOOK_MS ? left : KERNEL_LOOK_MS);
		if (ready > 0)
			break;
		if (request->state)
			sys_read(state, sizeof(state), "%s", request->state);
		progress(opt, "%s: %s%s%s", request->target, request->doing,
			 state[0] ? ", now " : "", state);
	}
	if (read(from, &err, sizeof(err)) != sizeof(err))
		return EINTR;
	return err;
}

/* Have the kernel do it; TOOL_OK when it is done. */
int kernel_do(const struct request *request, const struct options *opt, struct why *why)
{
	int from, log, err, code = TOOL_OK;
	pid_t pid;

	log = log_open();
	pid = spawn_write(request, &from);
	if (pid < 0) {
		code = why_not(why, TOOL_FAILED, "cannot start a process: %s", strerror(errno));
		goto out;
	}
	err = await_write(from, request, opt);
	progress_end();
	if (err < 0)
		kill(pid, SIGKILL);
	close(from);
	waitpid(pid, NULL, 0);
	if (err < 0)
		code = why_not(why, TOOL_TIMEOUT,
			       "not done within %d s; the kernel goes on, see devlend list",
			       opt->wait);
	else if (err)
		code = answer(err, log, request, why);
out:
	if (log >= 0)
		close(log);
	return code;
}
