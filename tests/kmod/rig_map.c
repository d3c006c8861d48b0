// SPDX-License-Identifier: GPL-2.0
/*
 * rig_map: what it costs to map memory for a device and to unmap it.
 *
 * It takes only a device whose driver_override names it, and does nothing with that but what the
 * DMA API does: the device is never told of any address. So it works the same for a local device
 * and for a borrowed one, and for any kind. Attribute of the device:
 *
 *   cost       write "page" or "sg": maps and unmaps 1,024 pages of 4 KiB each by itself, or as
 *              scatter lists of 16 pages that do not adjoin, as drivers do that have 32 pages
 *              mapped at a time. Read: "PAGES MAP UNMAP", ticks of the time stamp counter that all
 *              maps and all unmaps took. Where an emulator counts instructions as time, ticks are
 *              instructions. A map that fails ends the write with its error, and nothing mapped
 *
 * Used by tests/bench/maps.py and tests/e2e/test_map_fails.py. Context: process; one mutex
 * serialises runs.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/timex.h>

/* pages that are mapped at a time, and how often that is done */
#define MAP_PAGES	32
#define MAP_TIMES	32
#define MAP_SG		16
/* every other page of one piece is used, so that none adjoin */
#define MAP_ORDER	6

/**
 * struct map_rig - a device whose DMA is measured
 * @dev: the device
 * @lock: one run at a time
 * @memory: 1 << MAP_ORDER pages
 * @dma: where the pages are mapped
 * @sg: the same as scatter lists
 * @map: ticks of all maps of the last run
 * @unmap: and of all unmaps
 */
struct map_rig {
	struct device *dev;
	struct mutex lock;	/* one run at a time */
	struct page *memory;
	dma_addr_t dma[MAP_PAGES];
	struct scatterlist sg[MAP_PAGES / MAP_SG][MAP_SG];
	u64 map;
	u64 unmap;
};

static void map_unmap_pages(struct map_rig *rig, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		dma_unmap_page(rig->dev, rig->dma[i], PAGE_SIZE, DMA_FROM_DEVICE);
}

static int map_pages(struct map_rig *rig)
{
	cycles_t start, mapped;
	unsigned int i;

	start = get_cycles();
	for (i = 0; i < MAP_PAGES; i++) {
		rig->dma[i] = dma_map_page(rig->dev, rig->memory + 2 * i, 0, PAGE_SIZE,
					   DMA_FROM_DEVICE);
		if (dma_mapping_error(rig->dev, rig->dma[i])) {
			map_unmap_pages(rig, i);
			return -ENOMEM;
		}
	}
	mapped = get_cycles();
	map_unmap_pages(rig, MAP_PAGES);
	rig->unmap += get_cycles() - mapped;
	rig->map += mapped - start;
	return 0;
}

static void map_unmap_lists(struct map_rig *rig, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		dma_unmap_sg(rig->dev, rig->sg[i], MAP_SG, DMA_FROM_DEVICE);
}

static int map_lists(struct map_rig *rig)
{
	cycles_t start, mapped;
	unsigned int i;

	start = get_cycles();
	for (i = 0; i < ARRAY_SIZE(rig->sg); i++) {
		struct sg_table table = { .sgl = rig->sg[i], .orig_nents = MAP_SG };
		int err = dma_map_sgtable(rig->dev, &table, DMA_FROM_DEVICE, 0);

		if (err) {
			map_unmap_lists(rig, i);
			return err;
		}
	}
	mapped = get_cycles();
	map_unmap_lists(rig, ARRAY_SIZE(rig->sg));
	rig->unmap += get_cycles() - mapped;
	rig->map += mapped - start;
	return 0;
}

static ssize_t cost_store(struct device *dev, struct device_attribute *attr, const char *buf,
			  size_t count)
{
	struct map_rig *rig = dev_get_drvdata(dev);
	int (*once)(struct map_rig *rig);
	unsigned int i;
	int err = 0;

	if (sysfs_streq(buf, "page"))
		once = map_pages;
	else if (sysfs_streq(buf, "sg"))
		once = map_lists;
	else
		return -EINVAL;
	mutex_lock(&rig->lock);
	rig->map = 0;
	rig->unmap = 0;
	for (i = 0; i < MAP_TIMES && !err; i++)
		err = once(rig);
	mutex_unlock(&rig->lock);
	return err ?: count;
}

static ssize_t cost_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct map_rig *rig = dev_get_drvdata(dev);
	ssize_t len;

	mutex_lock(&rig->lock);
	len = sysfs_emit(buf, "%u %llu %llu\n", MAP_PAGES * MAP_TIMES, rig->map, rig->unmap);
	mutex_unlock(&rig->lock);
	return len;
}
static DEVICE_ATTR_RW(cost);

static struct attribute *map_attrs[] = {
	&dev_attr_cost.attr,
	NULL
};
ATTRIBUTE_GROUPS(map);

static void map_free(void *page)
{
	__free_pages(page, MAP_ORDER);
}

static int map_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct map_rig *rig = devm_kzalloc(&pdev->dev, sizeof(*rig), GFP_KERNEL);
	unsigned int i;
	int err;

	if (!rig)
		return -ENOMEM;
	rig->dev = &pdev->dev;
	mutex_init(&rig->lock);
	rig->memory = alloc_pages(GFP_KERNEL, MAP_ORDER);
	if (!rig->memory)
		return -ENOMEM;
	err = devm_add_action_or_reset(&pdev->dev, map_free, rig->memory);
	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(rig->sg); i++)
		sg_init_table(rig->sg[i], MAP_SG);
	for (i = 0; i < MAP_PAGES; i++)
		sg_set_page(&rig->sg[i / MAP_SG][i % MAP_SG], rig->memory + 2 * i, PAGE_SIZE, 0);
	pci_set_drvdata(pdev, rig);
	return dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
}

/* No ids: it takes what is told to use it. */
static struct pci_driver map_driver = {
	.name = "rig_map",
	.probe = map_probe,
	.dev_groups = map_groups,
};
module_pci_driver(map_driver);
MODULE_DESCRIPTION("Cost of DMA mappings, for measurements");
MODULE_LICENSE("GPL");
