/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_SYSFS_H
#define DEVLEND_TOOL_SYSFS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SYS_BUS		"/sys/bus/devlend/devices"
#define SYS_DRIVER	"/sys/bus/pci/drivers/devlend_lender"
#define SYS_PCI		"/sys/bus/pci/devices"
#define SYS_DEBUG	"/sys/kernel/debug/devlend"

#define SYS_FMT(at)	__attribute__((format(printf, at, at + 1)))

/**
 * struct names - a list of strings, sorted
 * @count: how many
 * @name: the strings; freed by names_free()
 */
struct names {
	size_t count;
	char **name;
};

void names_add(struct names *names, const char *name);
void names_free(struct names *names);

void sys_set_root(const char *root);
const char *sys_root(void);
void sys_path(char *path, const char *fmt, ...) SYS_FMT(2);

bool sys_exists(const char *fmt, ...) SYS_FMT(1);
int sys_read(char *buf, size_t size, const char *fmt, ...) SYS_FMT(3);
long long sys_number(long long otherwise, const char *fmt, ...) SYS_FMT(2);
unsigned int sys_hex(const char *fmt, ...) SYS_FMT(1);
ssize_t sys_bytes(void *buf, size_t size, const char *path);
int sys_link_name(char *buf, size_t size, const char *fmt, ...) SYS_FMT(3);
void sys_list(struct names *names, const char *prefix, const char *fmt, ...) SYS_FMT(3);
int sys_write(const char *value, const char *path);

#endif
