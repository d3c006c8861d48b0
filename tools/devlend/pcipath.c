// SPDX-License-Identifier: GPL-2.0
/* Where a PCI function is, and what its config space says of it; all from sysfs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcipath.h"
#include "sysfs.h"

#define CONFIG_STATUS	0x06
#define STATUS_CAPS	0x10u
#define CONFIG_CAPS	0x34
#define CAP_ACS		0x0du
#define EXT_CAPS	0x100
#define CAPS_MAX	48

/* Another user than root sees the first 64 bytes. */
void config_read(struct config *config, const char *bdf)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), SYS_PCI "/%s/config", bdf);
	config->len = sys_bytes(config->byte, sizeof(config->byte), path);
}

/* Two bytes; all ones where there is none. */
unsigned int config_word(const struct config *config, int at)
{
	if (at < 0 || at + 2 > config->len)
		return 0xffff;
	return config->byte[at] | config->byte[at + 1] << 8;
}

/* Where a capability is; 0 = there is none; -1 = cannot be read. */
int config_cap(const struct config *config, unsigned int id)
{
	int at, n;

	if (config->len < CONFIG_CAPS + 1)
		return -1;
	if (!(config_word(config, CONFIG_STATUS) & STATUS_CAPS))
		return 0;
	at = config->byte[CONFIG_CAPS] & ~3;
	for (n = 0; at && n < CAPS_MAX; n++) {
		if (at + 2 > config->len)
			return -1;
		if (config->byte[at] == id)
			return at;
		at = config->byte[at + 1] & ~3;
	}
	return 0;
}

/* The same of extended capabilities. */
int config_ext_cap(const struct config *config, unsigned int id)
{
	int at = EXT_CAPS, n;

	/* a function of conventional PCI has none */
	if (config->len == EXT_CAPS)
		return 0;
	for (n = 0; at >= EXT_CAPS && n < CONFIG_MAX / 8; n++) {
		if (at + 4 > config->len)
			return -1;
		if (config_word(config, at) == id)
			return at;
		at = config_word(config, at + 2) >> 4 & ~3;
	}
	return 0;
}

/* &enum pcie_type; -1 = no PCIe, or not known */
int config_pcie_type(const struct config *config)
{
	int cap = config_cap(config, CAP_PCIE);

	return cap > 0 ? (int)(config_word(config, cap + 2) >> 4 & 0xf) : PCIE_NONE;
}

/* Largest payload in force; -1 = no PCIe, or not known */
int config_mps(const struct config *config)
{
	int cap = config_cap(config, CAP_PCIE);

	return cap > 0 ? 128 << (config_word(config, cap + 8) >> 5 & 7) : -1;
}

/* The ACS control register; 0 without ACS; -1 = not known */
int config_acs(const struct config *config)
{
	int cap = config_ext_cap(config, CAP_ACS);

	return cap > 0 ? (int)config_word(config, cap + 6) : cap;
}

/* The way to a function; false if it is not there. */
bool pcipath_read(struct pcipath *path, const char *bdf)
{
	char link[PATH_MAX], real[PATH_MAX], *part, *rest;

	*path = (struct pcipath){ 0 };
	sys_path(link, SYS_PCI "/%s", bdf);
	if (!realpath(link, real))
		return false;
	for (part = strtok_r(real, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
		if (!strncmp(part, "pci", 3) && strchr(part, ':'))
			snprintf(path->root, sizeof(path->root), "%.31s", part);
		else if (strlen(part) >= 12 && path->count < PCIPATH_MAX &&
			 pciaddr_parse(part, path->bdf[path->count]))
			path->count++;
	}
	return path->count > 0;
}

/* How many functions two ways have in common, from the root; -1 where not even that. */
int pcipath_common(const struct pcipath *a, const struct pcipath *b)
{
	int n = 0;

	if (strcmp(a->root, b->root))
		return -1;
	while (n < a->count && n < b->count && !strcmp(a->bdf[n], b->bdf[n]))
		n++;
	return n;
}
