/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_PCIDEV_H
#define DEVLEND_TOOL_PCIDEV_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct pci_ids - what a function is
 * @vendor: vendor id
 * @device: device id
 * @sub_vendor: subsystem vendor id
 * @sub_device: subsystem device id
 * @class: class, subclass and programming interface
 * @revision: revision
 */
struct pci_ids {
	unsigned int vendor, device, sub_vendor, sub_device, class, revision;
};

void pci_ids_read(struct pci_ids *ids, const char *dir, const char *sub_prefix);
void pcidev_ids(struct pci_ids *ids, const char *bdf);
void pcidev_driver(char *buf, size_t size, const char *bdf);
void pci_device_name(char *buf, size_t size, const struct pci_ids *ids);
void pci_class_name(char *buf, size_t size, unsigned int class);

#endif
