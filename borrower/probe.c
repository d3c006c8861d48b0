// SPDX-License-Identifier: GPL-2.0
/*
 * Proof of the windows: an NTB driver's word that a translation is programmed is not
 * enough (some ignore failures, none can read it back), so each direction carries a nonce
 * before a driver is let near the device.
 *
 * memory   The lender's CPU writes a nonce into a private page here, through the window that
 *          the device's DMA will take; this side sees it arrive.
 * bar      This side writes a nonce into the message data of MSI-X entry 0, through the
 *          window that the driver's registers will take, and asks the lender what its CPU
 *          reads there; then puts the old value back. MSI-X is disabled and entry 0 masked
 *          after the lender's reset, so the register has no effect. Devices without MSI-X
 *          stay "unproven".
 * message  The lender's CPU writes an interrupt message of this host: see irq_proof.c.
 * event    The lender tells an event that did not happen: see irq_doorbell.c.
 *
 * Called by borrow.c in the lease's worker, which holds no lock; the lease's lock is taken
 * around accesses through the NTB's BAR, so that the NTB cannot go meanwhile. Sleeps,
 * bounded by the call's time-out and PROBE_ARRIVAL_MS.
 */
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/pci_regs.h>
#include <linux/random.h>

#include "dma.h"
#include "lease.h"
#include "probe.h"

/* The write is posted and takes another way than the reply; longest time it may take, ms */
#define PROBE_ARRIVAL_MS	1000
#define PROBE_POLL_US		100

static u32 probe_nonce(void)
{
	/* bit 0 set: never zero, what a fresh page holds; bit 31 clear: never all ones */
	return (get_random_u32() | 1) & 0x7fffffff;
}

static int probe_call(struct borrower_lease *lease, struct devlend_wire_probe *probe)
{
	struct devlend_call call = {
		.op = DEVLEND_OP_PROBE,
		.handle = lease->grant.handle,
		.data = probe,
		.len = sizeof(*probe),
		.reply = probe,
		.reply_max = sizeof(*probe),
	};
	int err = devlend_call(lease->link, &call);

	if (!err && call.reply_len && call.reply_len != sizeof(*probe))
		return -EPROTO;
	return err;
}

static bool probe_arrives(const u32 *word, u32 nonce)
{
	unsigned long end = jiffies + msecs_to_jiffies(PROBE_ARRIVAL_MS);

	while (READ_ONCE(*word) != nonce) {
		if (time_after(jiffies, end))
			return READ_ONCE(*word) == nonce;
		usleep_range(PROBE_POLL_US, 2 * PROBE_POLL_US);
	}
	return true;
}

/**
 * borrower_probe_memory() - does what the lender writes arrive in this host's memory?
 * @lease: attached
 *
 * Context: process, sleeps; no locks.
 * Return: 0; -EIO where it does not arrive; -ENOMEM; an errno of devlend_call().
 */
int borrower_probe_memory(struct borrower_lease *lease)
{
	gfp_t zone = lease->memory.ram_end > lease->memory.reach ? GFP_DMA32 : 0;
	u32 nonce = probe_nonce();
	struct devlend_wire_probe probe = {
		.kind = cpu_to_le32(DEVLEND_PROBE_MEMORY),
		.index = cpu_to_le32(BORROWER_MAP_RAM),
		.value = cpu_to_le32(nonce),
	};
	struct page *page;
	u64 offset;
	u32 *word;
	int err;

	page = alloc_page(GFP_KERNEL | __GFP_ZERO | zone);
	if (!page)
		return -ENOMEM;
	/*
	 * A write that is still under way would hit whoever gets the page next, so the lease
	 * keeps the page until its windows are closed.
	 */
	lease->probe_page = page;
	word = page_address(page);
	err = lease->dma->open_page(&lease->memory, page, &offset);
	if (err)
		return err;
	probe.offset = cpu_to_le64(offset);
	err = probe_call(lease, &probe);
	if (!err && !probe_arrives(word, nonce)) {
		err = -EIO;
		dev_err(&lease->dev, "the lender's write to this host's memory (%#llx) did not arrive; check window, IOMMU and bus mastering of the NTB on both hosts\n",
			(u64)page_to_phys(page));
	}
	if (lease->dma->close_page)
		lease->dma->close_page(&lease->memory);
	return err;
}

/* Exchange the message data of MSI-X entry 0 through the aperture; flushed by a read. */
static int probe_exchange(struct borrower_lease *lease, u64 cpu_phys, u32 value, u32 *old)
{
	void __iomem *reg;
	int err = -ENODEV;

	mutex_lock(&lease->lock);
	if (lease->dead)
		goto unlock;
	err = -ENOMEM;
	reg = ioremap(cpu_phys, sizeof(u32));
	if (!reg)
		goto unlock;
	*old = readl(reg);
	writel(value, reg);
	readl(reg);
	iounmap(reg);
	err = 0;
unlock:
	mutex_unlock(&lease->lock);
	return err;
}

/**
 * borrower_probe_bar() - does what this host writes arrive in the lent device's registers?
 * @lease: granted, no driver bound
 *
 * Sets &borrower_lease.bar_proven. Context: process, sleeps; no locks. Return: 0, also
 * where there is nothing to prove it by; -EIO where it does not arrive; else an errno.
 */
int borrower_probe_bar(struct borrower_lease *lease)
{
	const struct borrower_grant *grant = &lease->grant;
	u32 nonce = probe_nonce(), old, dummy;
	struct devlend_wire_probe probe = { .kind = cpu_to_le32(DEVLEND_PROBE_BAR) };
	u64 cpu_phys, offset;
	int err, undo;

	if (grant->msix_bar == BORROWER_NO_BAR)
		return 0;
	offset = grant->msix_offset + PCI_MSIX_ENTRY_DATA;
	cpu_phys = grant->bar[grant->msix_bar].cpu_phys + offset;
	err = probe_exchange(lease, cpu_phys, nonce, &old);
	if (err)
		return err;
	probe.index = cpu_to_le32(grant->msix_bar);
	probe.offset = cpu_to_le64(offset);
	err = probe_call(lease, &probe);
	if (!err && le32_to_cpu(probe.value) != nonce)
		err = -EIO;
	undo = probe_exchange(lease, cpu_phys, old, &dummy);
	if (err == -EIO)
		dev_err(&lease->dev, "wrote %#x to BAR %u at %#llx, the lender reads %#x: the window to its registers does not lead there; check window and IOMMU on the lender\n",
			nonce, grant->msix_bar, offset, le32_to_cpu(probe.value));
	if (err || undo)
		return err ?: undo;
	lease->bar_proven = true;
	return 0;
}

/**
 * borrower_probe_message() - have the lender's CPU write an interrupt message
 * @lease: attached
 * @offset: of its address, from the start of this host's interrupt range
 * @data: its data
 *
 * Context: process, sleeps; no locks. Return: 0 where it was written; an errno of devlend_call().
 */
int borrower_probe_message(struct borrower_lease *lease, u64 offset, u32 data)
{
	struct devlend_wire_probe probe = {
		.kind = cpu_to_le32(DEVLEND_PROBE_MSI),
		.index = cpu_to_le32(BORROWER_MAP_MSI),
		.offset = cpu_to_le64(offset),
		.value = cpu_to_le32(data),
	};

	return probe_call(lease, &probe);
}

/**
 * borrower_probe_event() - have the lender tell an event that did not happen
 * @lease: attached; the lender tells its events
 * @event: which
 *
 * Context: process, sleeps; no locks. Return: 0 where it was told; an errno of devlend_call().
 */
int borrower_probe_event(struct borrower_lease *lease, u32 event)
{
	struct devlend_wire_probe probe = {
		.kind = cpu_to_le32(DEVLEND_PROBE_EVENT),
		.index = cpu_to_le32(event),
	};

	return probe_call(lease, &probe);
}
