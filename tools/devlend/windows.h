/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_WINDOWS_H
#define DEVLEND_TOOL_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>

#define WINDOWS_MAX	8
#define REGIONS_MAX	8

/**
 * struct window - an inbound window of this host
 * @open: it is open
 * @base: where, if it is open
 * @users: how many regions it carries
 * @size_max: bytes that it can have
 * @addr_align: alignment of its base
 * @size_align: alignment of its size
 */
struct window {
	bool open;
	unsigned long long base, users, size_max, addr_align, size_align;
};

/**
 * struct aperture - an outbound window of this host
 * @cpu_phys: CPU physical address of its first byte
 * @size: bytes
 */
struct aperture {
	unsigned long long cpu_phys, size;
};

/**
 * struct windows - what the kernel tells of the windows of a link
 * @told: it tells; false where debugfs is not there, or not for this user
 * @inbound: number of inbound windows
 * @in: these
 * @outbound: number of outbound windows
 * @out: these
 * @bounce_told: the kernel tells of bounce buffers
 * @bounce_end: address behind this host's bounce buffers; 0 = it has none
 */
struct windows {
	bool told, bounce_told;
	size_t inbound, outbound;
	struct window in[WINDOWS_MAX];
	struct aperture out[WINDOWS_MAX];
	unsigned long long bounce_end;
};

/* what is to be reached: local addresses */
struct region {
	unsigned long long start, size;
};

void windows_read(struct windows *windows, const char *link);
bool windows_fit(const struct windows *windows, const struct region *region, size_t count,
		 bool share);
unsigned long long windows_largest(const struct windows *windows);
unsigned long long apertures_largest(const struct windows *windows);
const char *bytes_text(unsigned long long bytes, char *buf, size_t size);

#endif
