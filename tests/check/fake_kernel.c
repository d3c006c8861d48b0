// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into the tool by test_tool.py: a write to FILE fails as FILE.errno says, after FILE.log
 * was appended to the fake kernel log. While there is a FILE.hold it blocks, as writes to sysfs do;
 * FILE.begun tells that it does. After a write FILE reads as FILE.then, where there is one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef ssize_t (*write_function)(int fd, const void *buf, size_t count);

static ssize_t slurp(const char *path, const char *suffix, char *buf, size_t size)
{
	char name[PATH_MAX + 16];
	ssize_t len;
	int fd;

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	fd = open(name, O_RDONLY);
	if (fd < 0)
		return -1;
	len = read(fd, buf, size - 1);
	close(fd);
	buf[len > 0 ? len : 0] = '\0';
	return len;
}

static void log_line(write_function real, const char *text)
{
	char name[PATH_MAX];
	int fd;

	snprintf(name, sizeof(name), "%s/dev/kmsg", getenv("DEVLEND_SYSROOT"));
	fd = open(name, O_WRONLY | O_APPEND);
	if (fd < 0)
		return;
	real(fd, text, strlen(text));
	close(fd);
}

static void hold(const char *path)
{
	char held[PATH_MAX + 16], begun[PATH_MAX + 16];

	snprintf(held, sizeof(held), "%s.hold", path);
	snprintf(begun, sizeof(begun), "%s.begun", path);
	if (!access(held, F_OK))
		close(open(begun, O_WRONLY | O_CREAT, 0600));
	while (!access(held, F_OK))
		usleep(20000);
}

ssize_t write(int fd, const void *buf, size_t count)
{
	write_function real = (write_function)dlsym(RTLD_NEXT, "write");
	char link[64], path[PATH_MAX], text[1024];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0 || !getenv("DEVLEND_SYSROOT"))
		return real(fd, buf, count);
	path[len] = '\0';
	hold(path);
	if (slurp(path, ".errno", text, sizeof(text)) <= 0) {
		if (slurp(path, ".then", text, sizeof(text)) > 0)
			return real(fd, text, strlen(text)) < 0 ? -1 : (ssize_t)count;
		return real(fd, buf, count);
	}
	len = atoi(text);
	if (slurp(path, ".log", text, sizeof(text)) > 0)
		log_line(real, text);
	errno = len;
	return -1;
}
