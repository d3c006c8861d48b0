// SPDX-License-Identifier: GPL-2.0
/* What a PCI function is: its ids from sysfs, their names from libpci's list. */
#include <pci/pci.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include "pcidev.h"
#include "sysfs.h"

/* Ids from a folder of sysfs; the subsystem's attributes start with sub_prefix. */
void pci_ids_read(struct pci_ids *ids, const char *dir, const char *sub_prefix)
{
	ids->vendor = sys_hex("%s/vendor", dir);
	ids->device = sys_hex("%s/device", dir);
	ids->sub_vendor = sys_hex("%s/%s_vendor", dir, sub_prefix);
	ids->sub_device = sys_hex("%s/%s_device", dir, sub_prefix);
	ids->class = sys_hex("%s/class", dir);
	ids->revision = sys_hex("%s/revision", dir);
}

/* Ids of a function of this host; all 0 where there is none. */
void pcidev_ids(struct pci_ids *ids, const char *bdf)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), SYS_PCI "/%s", bdf);
	pci_ids_read(ids, dir, "subsystem");
}

/* Name of the driver that a function is bound to; "" = none. */
void pcidev_driver(char *buf, size_t size, const char *bdf)
{
	sys_link_name(buf, size, SYS_PCI "/%s/driver", bdf);
}

/* libpci talks where its list cannot be read. */
static void pci_silent(char *fmt, ...)
{
	(void)fmt;
}

static jmp_buf pci_list_broken;

/* Where the list is not one, it expects not to be returned to; nobody needs names so much. */
static void __attribute__((noreturn)) pci_give_up(char *fmt, ...)
{
	(void)fmt;
	longjmp(pci_list_broken, 1);
}

static struct pci_access *pci_list(void)
{
	static struct pci_access *access;
	static char path[PATH_MAX];

	if (access)
		return access;
	access = pci_alloc();
	access->error = pci_give_up;
	access->warning = pci_silent;
	access->debug = pci_silent;
	pci_set_param(access, "hwdb.disable", "1");
	if (sys_root()[0]) {
		sys_path(path, "/usr/share/misc/pci.ids");
		pci_set_name_list_path(access, path, 0);
	}
	return access;
}

/* Vendor and device in words, or in numbers where nobody knows them. */
void pci_device_name(char *buf, size_t size, const struct pci_ids *ids)
{
	if (setjmp(pci_list_broken) ||
	    !pci_lookup_name(pci_list(), buf, size, PCI_LOOKUP_VENDOR | PCI_LOOKUP_DEVICE,
			     ids->vendor, ids->device))
		snprintf(buf, size, "%04x:%04x", ids->vendor, ids->device);
}

/* Class in words; class is that of sysfs, with the programming interface. */
void pci_class_name(char *buf, size_t size, unsigned int class)
{
	if (setjmp(pci_list_broken) ||
	    !pci_lookup_name(pci_list(), buf, size, PCI_LOOKUP_CLASS, class >> 8))
		snprintf(buf, size, "%04x", class >> 8);
}
