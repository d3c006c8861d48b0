// SPDX-License-Identifier: GPL-2.0
/* Addresses of PCI functions, as a person gives them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pciaddr.h"
#include "sysfs.h"

static bool hex_field(const char **at, int min, int max, char end, unsigned int *value)
{
	int digits = 0;

	*value = 0;
	for (; isxdigit((unsigned char)**at); (*at)++, digits++) {
		char one[2] = { **at };

		if (digits == max)
			return false;
		*value = *value << 4 | strtoul(one, NULL, 16);
	}
	if (digits < min || **at != end)
		return false;
	if (end)
		(*at)++;
	return true;
}

/* "[dddd:]bb:dd.f" as the kernel writes it, into PCIADDR_MAX bytes. */
bool pciaddr_parse(const char *text, char *bdf)
{
	unsigned int domain = 0, bus, dev, fn;
	const char *colon = strchr(text, ':');

	if (!colon)
		return false;
	if (strchr(colon + 1, ':') && !hex_field(&text, 4, 8, ':', &domain))
		return false;
	if (!hex_field(&text, 1, 2, ':', &bus) || !hex_field(&text, 1, 2, '.', &dev) ||
	    !hex_field(&text, 1, 1, '\0', &fn) || dev > 0x1f || fn > 7)
		return false;
	snprintf(bdf, PCIADDR_MAX, "%04x:%02x:%02x.%x", domain, bus, dev, fn);
	return true;
}

/*
 * The function behind a block device or network interface: "nvme0n1", "/dev/nvme0n1p2", "eth0". It
 * is the last address on the device's path in sysfs.
 */
bool pciaddr_of_node(const char *name, char *bdf)
{
	static const char * const classes[] = { "block", "net", "nvme" };
	char path[PATH_MAX], real[PATH_MAX], *part, *rest;
	bool found = false;
	size_t i;

	if (!strncmp(name, "/dev/", 5))
		name += 5;
	if (!name[0] || strchr(name, '/'))
		return false;
	for (i = 0; i < sizeof(classes) / sizeof(*classes) && !found; i++) {
		sys_path(path, "/sys/class/%s/%s", classes[i], name);
		if (!realpath(path, real))
			continue;
		for (part = strtok_r(real, "/", &rest); part; part = strtok_r(NULL, "/", &rest))
			if (strlen(part) >= 12 && pciaddr_parse(part, bdf))
				found = true;
	}
	return found;
}
