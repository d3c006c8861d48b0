/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_PCIPATH_H
#define DEVLEND_TOOL_PCIPATH_H

#include <stdbool.h>

#include "pciaddr.h"

/* more levels of bridges than any machine has */
#define PCIPATH_MAX	32
#define CONFIG_MAX	4096

/* the PCI Express capability's id */
#define CAP_PCIE	0x10u

/* bits of the ACS control register (PCIe 6.0, 7.7.12.3) */
#define ACS_REQUEST_REDIRECT	0x04u
#define ACS_EGRESS_CONTROL	0x20u

/* device/port types of the PCIe capability; and none of them */
enum pcie_type {
	PCIE_NONE = -1,
	PCIE_ROOT_PORT = 4,
	PCIE_UPSTREAM = 5,
	PCIE_DOWNSTREAM = 6,
	PCIE_TO_PCI = 7,
};

/**
 * struct config - a config space, as far as this user may read it
 * @len: bytes
 * @byte: these
 */
struct config {
	int len;
	unsigned char byte[CONFIG_MAX];
};

/**
 * struct pcipath - the way from the root of the tree to a function
 * @root: "pci0000:00"
 * @count: functions on it, the one itself the last
 * @bdf: these
 */
struct pcipath {
	char root[32];
	int count;
	char bdf[PCIPATH_MAX][PCIADDR_MAX];
};

void config_read(struct config *config, const char *bdf);
unsigned int config_word(const struct config *config, int at);
int config_cap(const struct config *config, unsigned int id);
int config_ext_cap(const struct config *config, unsigned int id);
int config_pcie_type(const struct config *config);
int config_mps(const struct config *config);
int config_acs(const struct config *config);

bool pcipath_read(struct pcipath *path, const char *bdf);
int pcipath_common(const struct pcipath *a, const struct pcipath *b);

#endif
