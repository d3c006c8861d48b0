// SPDX-License-Identifier: GPL-2.0
/*
 * Slots: which PCI domain a borrowed device appears in.
 *
 * The domain is domain_base + slot. The operator names the slot, or the lowest that is free
 * and nobody else's is taken and remembered for the offer (host and address, not
 * generation), so that interface names are the same after every re-borrow while the module
 * is loaded.
 *
 * The default base is 0x8000. What matters to IOMMU look-ups is only the low 16 bits of a
 * domain, so 0x8000 is as safe as 0x18000; and user space that knows four hex digits (QEMU)
 * can name it. Firmware segments and other drivers' domains that exist are checked for at
 * each borrow.
 *
 * Called by lease.c in process context. Owns the table; one mutex, a leaf.
 */
#include <linux/errno.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include "bridge.h"
#include "lease.h"

/* Slots, which is also the number of offers that are remembered. */
#define SLOT_COUNT	256

static unsigned int domain_base = 0x8000;
module_param(domain_base, uint, 0444);
MODULE_PARM_DESC(domain_base, "PCI domain of slot 0 (default 0x8000)");

static struct {
	struct devlend_wire_offer_id owner;	/* its generation does not count */
	bool known;
	bool used;
} slots[SLOT_COUNT];
/* protects slots */
static DEFINE_MUTEX(slots_lock);

/**
 * borrower_slot_base_valid() - does the parameter leave room for all slots?
 *
 * Context: any. Return: whether the module can load with it.
 */
bool borrower_slot_base_valid(void)
{
	unsigned int low = domain_base & 0xffff;

	return domain_base <= 0x7fffffff - SLOT_COUNT && low && low <= 0x10000 - SLOT_COUNT;
}

/**
 * borrower_slot_domain() - the PCI domain of a slot
 * @slot: from borrower_slot_get()
 *
 * Context: any. Return: the domain number.
 */
int borrower_slot_domain(unsigned int slot)
{
	return domain_base + slot;
}

static bool slot_is_of(unsigned int slot, const struct devlend_wire_offer_id *id)
{
	const struct devlend_wire_offer_id *owner = &slots[slot].owner;

	return slots[slot].known && owner->domain == id->domain && owner->bdf == id->bdf &&
	       !memcmp(&owner->host, &id->host, sizeof(id->host));
}

static bool slot_usable(unsigned int slot)
{
	return !slots[slot].used && !borrower_bridge_domain_free(borrower_slot_domain(slot));
}

/* The one of this offer; else the lowest that is nobody's; else the lowest that is free. */
static int slot_choose(const struct devlend_wire_offer_id *id)
{
	unsigned int slot;

	for (slot = 0; slot < SLOT_COUNT; slot++)
		if (slot_is_of(slot, id) && slot_usable(slot))
			return slot;
	for (slot = 0; slot < SLOT_COUNT; slot++)
		if (!slots[slot].known && slot_usable(slot))
			return slot;
	for (slot = 0; slot < SLOT_COUNT; slot++)
		if (slot_usable(slot))
			return slot;
	return -ENOSPC;
}

/**
 * borrower_slot_get() - take a slot for an offer
 * @id: the offer
 * @want: a slot number, or -1 for the one it had before, or a free one
 *
 * Context: process, sleeps.
 * Return: the slot; -EINVAL for a number that is no slot; -EADDRINUSE where it is in use,
 * or a bus has its domain; -ENOSPC where none is free.
 */
int borrower_slot_get(const struct devlend_wire_offer_id *id, int want)
{
	unsigned int i;
	int slot = want;

	if (want >= SLOT_COUNT)
		return -EINVAL;
	mutex_lock(&slots_lock);
	if (want < 0)
		slot = slot_choose(id);
	else if (!slot_usable(want))
		slot = -EADDRINUSE;
	if (slot < 0)
		goto unlock;
	for (i = 0; i < SLOT_COUNT; i++)
		if (slot_is_of(i, id))
			slots[i].known = false;
	slots[slot].owner = *id;
	slots[slot].known = true;
	slots[slot].used = true;
unlock:
	mutex_unlock(&slots_lock);
	return slot;
}

/**
 * borrower_slot_put() - give a slot back; whose it was is remembered
 * @slot: from borrower_slot_get()
 *
 * Context: process, sleeps.
 */
void borrower_slot_put(unsigned int slot)
{
	mutex_lock(&slots_lock);
	slots[slot].used = false;
	mutex_unlock(&slots_lock);
}
