// SPDX-License-Identifier: GPL-2.0
/*
 * May this device be lent? The questions that are asked before anything is touched.
 *
 * Called by lender_lend() in process context. Each refusal is one log line with its reason,
 * and an errno that documentation and tools can rely on. What is asked here can change until the
 * worker acts (an operator may bind something else meanwhile): nothing below is a matter
 * of safety that is not looked at again where it counts.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/pci.h>
#include <linux/string.h>

#include <devlend/core.h>

#include "iommu.h"
#include "lend.h"

static int check_refuse(struct pci_dev *pdev, int err, const char *why)
{
	pci_err(pdev, "not lent: %s (%d)\n", why, err);
	return err;
}

static int check_is_ntb_client(struct device *child, void *unused)
{
	return child->bus && !strcmp(child->bus->name, "ntb");
}

/* An NTB: whatever its driver is called, the NTB device is its child. */
static bool check_is_ntb(struct pci_dev *pdev)
{
	return device_for_each_child(&pdev->dev, NULL, check_is_ntb_client) != 0;
}

/* Host and ISA bridges have an ordinary header: their class tells. */
static bool check_is_bridge(struct pci_dev *pdev)
{
	return pdev->hdr_type != PCI_HEADER_TYPE_NORMAL ||
	       pdev->class >> 16 == PCI_BASE_CLASS_BRIDGE;
}

/* Borrowed from another host: its host bridge belongs to a lease, on the devlend bus. */
static bool check_is_borrowed(struct pci_dev *pdev)
{
	struct device *dev;

	for (dev = &pdev->dev; dev; dev = dev->parent)
		if (dev->bus == &devlend_bus_type)
			return true;
	return false;
}

/* Opened by a user of vfio: its drivers enable the device for as long as it is open. */
static bool check_is_held_by_vfio(struct pci_dev *pdev)
{
	bool held;

	device_lock(&pdev->dev);
	held = pdev->dev.driver && strstr(pdev->dev.driver->name, "vfio") && pci_is_enabled(pdev);
	device_unlock(&pdev->dev);
	return held;
}

/* First memory BAR that firmware or kernel gave no address; -1 = none */
static int check_bar_without_address(struct pci_dev *pdev)
{
	int i;

	for (i = 0; i < DEVLEND_BARS; i++) {
		const struct resource *res = &pdev->resource[i];

		if (pci_resource_len(pdev, i) && res->flags & IORESOURCE_MEM &&
		    (!res->start || res->flags & IORESOURCE_UNSET))
			return i;
	}
	return -1;
}

/**
 * lender_may_lend() - may this device be lent?
 * @pdev: the device
 * @force: the operator vouches for a device that cannot be reset
 *
 * Context: process; takes the device's own lock, and those of its IOMMU group's others, for a
 * moment.
 * Return: 0; else the errno for the writer of `lend`, after one log line.
 */
int lender_may_lend(struct pci_dev *pdev, bool force)
{
	if (check_is_borrowed(pdev))
		return check_refuse(pdev, -ELOOP,
				    "it is borrowed from another host; lend it there");
	if (check_is_ntb(pdev))
		return check_refuse(pdev, -EOPNOTSUPP,
				    "it is the NTB, the way to the other host");
	if (check_is_bridge(pdev))
		return check_refuse(pdev, -EOPNOTSUPP,
				    "it is a bridge; lend the functions below it");
	if (pci_num_vf(pdev))
		return check_refuse(pdev, -EBUSY,
				    "its virtual functions are enabled; write 0 to sriov_numvfs, or lend those");
	if (check_is_held_by_vfio(pdev))
		return check_refuse(pdev, -EBUSY,
				    "a vfio user has it open; end that first");
	if (check_bar_without_address(pdev) >= 0)
		return check_refuse(pdev, -EOPNOTSUPP,
				    "one of its BARs has no address; boot with pci=realloc");
	if (!lender_iommu_isolates_msi(pdev))
		return check_refuse(pdev, -EPERM,
				    "this host has an IOMMU but does not remap interrupts, so its borrower could send any; enable that in firmware and kernel, or load this module with unsafe=1");
	if (!lender_iommu_isolates_group(pdev))
		return check_refuse(pdev, -EBUSY,
				    "another device of its IOMMU group has a driver on this host, or is lent, and nothing isolates the two; unbind or reclaim that one");
	if (!pdev->reset_methods[0] && !force)
		return check_refuse(pdev, -ENOTTY,
				    "it has no way to be reset, so a borrower's work could leak to the next; add the word force if that does not matter");
	return 0;
}
