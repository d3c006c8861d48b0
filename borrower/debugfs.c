// SPDX-License-Identifier: GPL-2.0
/*
 * <debugfs>/devlend/leases: all leases with their windows, map list and interrupts. Read-only.
 *
 * Process context; each lease's lock is held while it is printed.
 */
#include <linux/debugfs.h>
#include <linux/pci.h>
#include <linux/seq_file.h>

#include "lease.h"
#include "shadow.h"

static struct dentry *debugfs_leases;

static void debugfs_show_bars(struct seq_file *m, const struct borrower_grant *grant)
{
	int i;

	for (i = 0; i < DEVLEND_BARS; i++) {
		const struct borrower_bar *bar = &grant->bar[i];

		if (bar->size)
			seq_printf(m, "  bar%d: cpu_phys %#llx lender_bus %#llx size %#llx window %u\n",
				   i, bar->cpu_phys, bar->lender_bus, bar->size, bar->window);
	}
	if (grant->msix_bar != BORROWER_NO_BAR)
		seq_printf(m, "  msix: bar%u + %#x\n", grant->msix_bar, grant->msix_offset);
}

static void debugfs_show_maps(struct seq_file *m, const struct borrower_memory *mem)
{
	unsigned int i;

	for (i = 0; i < mem->maps; i++)
		seq_printf(m, "  map%u: cpu_phys %#llx size %#llx device_addr %#llx window %u %s\n",
			   i, mem->exposed[i].bus_addr, mem->exposed[i].size,
			   mem->device_addr[i], mem->exposed[i].window,
			   mem->exposed[i].open ? "open" : "closed");
	if (mem->io.range)
		seq_printf(m, "  io: base %#llx size %#llx mapped %#llx, lender path %u bits\n",
			   mem->io.io_base, mem->io.size, (u64)atomic64_read(&mem->io.mapped),
			   mem->dma_bits);
	else
		seq_printf(m, "  ram: %u pieces to %#llx, covered to %#llx, lender path %u bits\n",
			   mem->ranges, mem->ram_end, mem->reach, mem->dma_bits);
}

static void debugfs_show_vectors(struct seq_file *m, struct pci_dev *pdev)
{
	int i;

	if (!pdev->msix_enabled && !pdev->msi_enabled)
		return;
	seq_puts(m, "  interrupts:");
	for (i = 0; pci_irq_vector(pdev, i) > 0; i++)
		seq_printf(m, " %d", pci_irq_vector(pdev, i));
	seq_putc(m, '\n');
}

static void debugfs_show_lease(struct borrower_lease *lease, void *data)
{
	struct seq_file *m = data;

	mutex_lock(&lease->lock);
	seq_printf(m, "%s: %s offer %s handle %08x:%08x%s\n", dev_name(&lease->dev),
		   borrower_lease_state_name(lease->state), lease->offer_name,
		   lease->grant.handle.epoch, lease->grant.handle.random,
		   lease->dead ? " dead" : "");
	if (borrower_lease_granted(lease)) {
		debugfs_show_bars(m, &lease->grant);
		debugfs_show_maps(m, &lease->memory);
	}
	if (lease->shadow && lease->shadow->pdev)
		debugfs_show_vectors(m, lease->shadow->pdev);
	mutex_unlock(&lease->lock);
}

static int debugfs_leases_show(struct seq_file *m, void *unused)
{
	borrower_leases_each(NULL, debugfs_show_lease, m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(debugfs_leases);

/**
 * borrower_debugfs_init() - make the file; failure does no harm
 *
 * Context: process.
 */
void borrower_debugfs_init(void)
{
	debugfs_leases = debugfs_create_file("leases", 0400, devlend_debugfs_root(), NULL,
					     &debugfs_leases_fops);
}

/**
 * borrower_debugfs_exit() - remove the file
 *
 * Context: process.
 */
void borrower_debugfs_exit(void)
{
	debugfs_remove(debugfs_leases);
}
