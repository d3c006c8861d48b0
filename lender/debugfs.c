// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs: devlend/lent lists all lent devices with their leases, read-only.
 *
 * Handles are not shown: who knows one could speak for its lease.
 */
#include <linux/debugfs.h>
#include <linux/pci.h>
#include <linux/seq_file.h>

#include "bars.h"
#include "doorbell.h"
#include "lent.h"

static struct dentry *debugfs_file;

static void debugfs_show_lease(struct seq_file *m, struct lender_dev *lent)
{
	const struct lender_lease *lease = &lent->lease;
	unsigned int i;

	for (i = 0; i < lease->bars.count; i++)
		seq_printf(m, "  bar %u: bus %#llx size %#llx window %u offset %#llx\n",
			   lease->bars.index[i], lease->bars.exposed[i].bus_addr,
			   lease->bars.exposed[i].size, lease->bars.exposed[i].window,
			   lease->bars.exposed[i].offset);
	if (lease->link && lender_bars_shared(lent, lease->link))
		seq_puts(m, "  not isolated from another lease, whose window it shares\n");
	lender_doorbell_show(m, lent);
	for (i = 0; i < lease->maps; i++)
		seq_printf(m, "  map %u: kind %u window %u offset %#llx length %#llx prot %u device address %#llx\n",
			   i, lease->map[i].kind, lease->map[i].window, lease->map[i].offset,
			   lease->map[i].length, lease->map[i].prot, lease->map[i].lender_bus);
}

static int lent_show(struct seq_file *m, void *unused)
{
	struct lender_dev *lent;
	u32 id;

	for (id = 0; (lent = lender_next(id)); id = lent->id, lender_put(lent)) {
		mutex_lock(&lent->lock);
		seq_printf(m, "%s: %s generation %u leases %u bound %d todo %#lx error %d\n",
			   pci_name(lent->pdev), lender_state_name(lent->state), lent->generation,
			   lent->leases, lent->bound, lent->todo, lent->end_error);
		debugfs_show_lease(m, lent);
		mutex_unlock(&lent->lock);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(lent);

void lender_debugfs_init(void)
{
	debugfs_file = debugfs_create_file("lent", 0400, devlend_debugfs_root(), NULL, &lent_fops);
}

void lender_debugfs_exit(void)
{
	debugfs_remove(debugfs_file);
}
