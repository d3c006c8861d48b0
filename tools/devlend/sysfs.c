// SPDX-License-Identifier: GPL-2.0
/*
 * Access to sysfs, and to whatever else the kernel tells by files.
 *
 * All paths are below a root that tests may set: a folder that looks like "/". A file that cannot
 * be read is an errno or a default, never a reason to end: devices come and go at any time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sysfs.h"

static const char *sys_root_dir = "";

/* "" is the system itself; the string is kept, not copied. */
void sys_set_root(const char *root)
{
	sys_root_dir = root;
}

const char *sys_root(void)
{
	return sys_root_dir;
}

static void sys_vpath(char *path, const char *fmt, va_list ap)
{
	int len = snprintf(path, PATH_MAX, "%s", sys_root_dir);

	if (len < PATH_MAX)
		vsnprintf(path + len, PATH_MAX - len, fmt, ap);
}

/* Write the path, below the root, into a buffer of PATH_MAX bytes. */
void sys_path(char *path, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	sys_vpath(path, fmt, ap);
	va_end(ap);
}

bool sys_exists(const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	sys_vpath(path, fmt, ap);
	va_end(ap);
	return access(path, F_OK) == 0;
}

static int sys_read_path(char *buf, size_t size, const char *path)
{
	size_t len = 0;
	ssize_t n = 0;
	int fd, err = 0;

	buf[0] = '\0';
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (len < size - 1) {
		n = read(fd, buf + len, size - 1 - len);
		if (n <= 0)
			break;
		len += n;
	}
	if (n < 0)
		err = -errno;
	close(fd);
	buf[len] = '\0';
	while (len && buf[len - 1] == '\n')
		buf[--len] = '\0';
	return err;
}

/* Read a file without its last newlines: 0, or an errno and "". */
int sys_read(char *buf, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	sys_vpath(path, fmt, ap);
	va_end(ap);
	return sys_read_path(buf, size, path);
}

/* A file's number, decimal or with 0x; otherwise what the caller says. */
long long sys_number(long long otherwise, const char *fmt, ...)
{
	char path[PATH_MAX], buf[32], *end;
	long long value;
	va_list ap;

	va_start(ap, fmt);
	sys_vpath(path, fmt, ap);
	va_end(ap);
	if (sys_read_path(buf, sizeof(buf), path) || !buf[0])
		return otherwise;
	value = strtoll(buf, &end, 0);
	return *end ? otherwise : value;
}

/* A file's number, always hexadecimal; 0 where there is none. */
unsigned int sys_hex(const char *fmt, ...)
{
	char path[PATH_MAX], buf[32];
	va_list ap;

	va_start(ap, fmt);
	sys_vpath(path, fmt, ap);
	va_end(ap);
	return sys_read_path(buf, sizeof(buf), path) ? 0 : strtoul(buf, NULL, 16);
}

/* Bytes of a file, by its path below the root: how many, or an errno. */
ssize_t sys_bytes(void *buf, size_t size, const char *path)
{
	char full[PATH_MAX];
	ssize_t len = 0, n;
	int fd;

	sys_path(full, "%s", path);
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while ((size_t)len < size && (n = read(fd, (char *)buf + len, size - len)) != 0) {
		if (n < 0) {
			len = -errno;
			break;
		}
		len += n;
	}
	close(fd);
	return len;
}

/* The last component of where a symbolic link leads: 0, or an errno and "". */
int sys_link_name(char *buf, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *last;
	va_list ap;
	ssize_t len;

	va_start(ap, fmt);
	sys_vpath(path, fmt, ap);
	va_end(ap);
	buf[0] = '\0';
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return -errno;
	target[len] = '\0';
	last = strrchr(target, '/');
	snprintf(buf, size, "%s", last ? last + 1 : target);
	return 0;
}

void names_add(struct names *names, const char *name)
{
	names->name = realloc(names->name, (names->count + 1) * sizeof(*names->name));
	if (!names->name)
		abort();
	names->name[names->count] = strdup(name);
	if (!names->name[names->count++])
		abort();
}

void names_free(struct names *names)
{
	while (names->count)
		free(names->name[--names->count]);
	free(names->name);
	names->name = NULL;
}

static int names_compare(const void *a, const void *b)
{
	return strcmp(*(char * const *)a, *(char * const *)b);
}

/* Entries of a folder whose names start so; none where there is no such folder. */
void sys_list(struct names *names, const char *prefix, const char *fmt, ...)
{
	char path[PATH_MAX];
	struct dirent *entry;
	va_list ap;
	DIR *dir;

	*names = (struct names){ 0 };
	va_start(ap, fmt);
	sys_vpath(path, fmt, ap);
	va_end(ap);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && !strncmp(entry->d_name, prefix, strlen(prefix)))
			names_add(names, entry->d_name);
	closedir(dir);
	if (names->count)
		qsort(names->name, names->count, sizeof(*names->name), names_compare);
}

/* One write(2), as sysfs wants it, to a whole path: 0 or an errno. */
int sys_write(const char *value, const char *path)
{
	ssize_t len = strlen(value), done;
	int fd, err = 0;

	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	done = write(fd, value, len);
	if (done != len)
		err = done < 0 ? -errno : -EIO;
	close(fd);
	return err;
}
