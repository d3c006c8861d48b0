// SPDX-License-Identifier: GPL-2.0
/*
 * rig_place: what a driver allocates for DMA of one device is this piece of memory.
 *
 * A "fast" window of ntbsim leads to a fixed place in the peer's memory, while ntb_transport takes
 * what the allocator gives. With this module, loaded as
 *
 *   rig_place device=0000:00:05.0 start=0x10000000 size=0x400000
 *
 * the one coherent allocation that a driver of that device makes lies at start, which must have
 * been kept from the kernel by memmap=. A second one fails, and so does all mapping. It knows
 * nothing of devlend, which must not be loaded meanwhile. The driver frees before the module is
 * unloaded.
 *
 * Context: process.
 */
#include <linux/atomic.h>
#include <linux/dma-map-ops.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/string.h>

static char *device;
module_param(device, charp, 0400);
MODULE_PARM_DESC(device, "whose driver allocates, as 0000:00:05.0");
static unsigned long long start;
module_param(start, ullong, 0400);
MODULE_PARM_DESC(start, "physical address");
static unsigned long long size;
module_param(size, ullong, 0400);
MODULE_PARM_DESC(size, "bytes");

static struct pci_dev *place_pdev;
static void *place_memory;
static atomic_t place_taken = ATOMIC_INIT(0);

static void *place_alloc(struct device *dev, size_t len, dma_addr_t *bus, gfp_t gfp,
			 unsigned long attrs)
{
	if (len > size || atomic_xchg(&place_taken, 1))
		return NULL;
	memset(place_memory, 0, len);
	*bus = start;
	return place_memory;
}

static void place_free(struct device *dev, size_t len, void *memory, dma_addr_t bus,
		       unsigned long attrs)
{
	atomic_set(&place_taken, 0);
}

static const struct dma_map_ops place_ops = {
	.alloc	= place_alloc,
	.free	= place_free,
};

static int __init place_init(void)
{
	unsigned int domain, bus, slot, function;

	if (!device || sscanf(device, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
		return -EINVAL;
	place_pdev = pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(slot, function));
	if (!place_pdev)
		return -ENODEV;
	place_memory = get_dma_ops(&place_pdev->dev) ? NULL : memremap(start, size, MEMREMAP_WB);
	if (!place_memory) {
		pci_dev_put(place_pdev);
		return -EBUSY;
	}
	set_dma_ops(&place_pdev->dev, &place_ops);
	return 0;
}
module_init(place_init);

static void __exit place_exit(void)
{
	set_dma_ops(&place_pdev->dev, NULL);
	memunmap(place_memory);
	pci_dev_put(place_pdev);
}
module_exit(place_exit);

MODULE_DESCRIPTION("Gives a device's driver memory at a fixed place, for benchmarks of devlend");
MODULE_LICENSE("GPL");
