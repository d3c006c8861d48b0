// SPDX-License-Identifier: GPL-2.0
/*
 * Offers and grants, checked word by word: the gate between what a peer wrote and what
 * the rest of this module believes.
 *
 * Called by offer.c for each OFFER message and by borrow.c for the reply of BORROW. Pure:
 * no state, no locks, no allocation, any context; tests/kunit/borrower_grant_test.c covers it.
 *
 * What a lender could gain by a false grant, and the check against it: a BAR that lies
 * outside the aperture (range check, no wrap), two BARs that alias each other (disjoint on
 * both sides), a BAR of another size than was offered (compared), and one that the PCI core
 * would round or move (power of two, natural alignment, below 4 GiB if 32-bit). How far a BAR's
 * place here is from that on its own bus is its own affair: each has a bridge window, and a
 * lender's IOMMU gives each another I/O address.
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/pci_regs.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "grant.h"

/* smallest BARs that PCI knows, bytes */
#define GRANT_MEM_MIN	16u
#define GRANT_IO_MIN	4u
/* a 32-bit BAR cannot be larger */
#define GRANT_MEM32_MAX	BIT_ULL(31)
/* and nobody addresses more than this through an NTB */
#define GRANT_MEM64_MAX	BIT_ULL(52)

#define GRANT_BAR_FLAGS	(DEVLEND_BAR_IO | DEVLEND_BAR_64 | DEVLEND_BAR_PREFETCH)

/* packet sizes that PCI Express can express; 0 = not a PCI Express device */
static bool grant_packet_size_valid(u16 size)
{
	return !size || (is_power_of_2(size) && size >= 128 && size <= 4096);
}

static bool grant_offered_bar_valid(const struct devlend_wire_offer *offer, int i)
{
	u64 size = le64_to_cpu(offer->bar[i].size);
	u32 flags = le32_to_cpu(offer->bar[i].flags);

	if (!size)
		return !flags || i > 0;
	if (!is_power_of_2(size) || flags & ~GRANT_BAR_FLAGS)
		return false;
	if (flags & DEVLEND_BAR_IO)
		return flags == DEVLEND_BAR_IO && size >= GRANT_IO_MIN && size <= SZ_64K;
	if (size < GRANT_MEM_MIN)
		return false;
	if (!(flags & DEVLEND_BAR_64))
		return size <= GRANT_MEM32_MAX;
	return size <= GRANT_MEM64_MAX && i + 1 < DEVLEND_BARS && !offer->bar[i + 1].size;
}

/**
 * borrower_offer_valid() - is what an OFFER message says possible?
 * @offer: the message, a private copy
 * @why: set to the reason where not
 *
 * Who sent it is for the caller to check. Context: any.
 * Return: whether every field has a value that a real device could have.
 */
bool borrower_offer_valid(const struct devlend_wire_offer *offer, const char **why)
{
	u32 state = le32_to_cpu(offer->state);
	u16 vendor = le16_to_cpu(offer->vendor);
	u16 msi = le16_to_cpu(offer->msi_vectors);
	int i;

	*why = "state";
	if (state < DEVLEND_OFFER_AVAILABLE || state > DEVLEND_OFFER_FORBIDDEN)
		return false;
	*why = "generation";
	if (!offer->id.generation)
		return false;
	*why = "vendor id";
	if (!vendor || vendor == 0xffff)
		return false;
	*why = "MSI vectors";
	if (msi && (!is_power_of_2(msi) || msi > 32))
		return false;
	*why = "MSI-X vectors";
	if (le16_to_cpu(offer->msix_vectors) > PCI_MSIX_FLAGS_QSIZE + 1)
		return false;
	*why = "payload size";
	if (!grant_packet_size_valid(le16_to_cpu(offer->mps)))
		return false;
	*why = "IOMMU width";
	if (le16_to_cpu(offer->iommu_width) > 64)
		return false;
	*why = "BAR";
	for (i = 0; i < DEVLEND_BARS; i++)
		if (!grant_offered_bar_valid(offer, i))
			return false;
	*why = NULL;
	return true;
}

/* Take over one BAR; false where it is not what was offered, or lies where it must not. */
static bool grant_bar_take(const struct devlend_wire_bar *offered,
			   const struct devlend_wire_grant_bar *wire,
			   const struct devlend_aperture *aperture, unsigned int apertures,
			   struct borrower_bar *out)
{
	u32 offered_flags = le32_to_cpu(offered->flags);
	u64 want = offered_flags & DEVLEND_BAR_IO ? 0 : le64_to_cpu(offered->size);
	u64 size = le64_to_cpu(wire->size);
	u64 lender_bus = le64_to_cpu(wire->lender_bus);
	u64 offset = le64_to_cpu(wire->offset);
	u32 window = le32_to_cpu(wire->window);
	const struct devlend_aperture *ap;

	memset(out, 0, sizeof(*out));
	if (size != want)
		return false;
	if (!size)
		return true;
	if (le32_to_cpu(wire->flags) != offered_flags || window >= apertures)
		return false;
	if (lender_bus & (size - 1) || lender_bus > U64_MAX - (size - 1))
		return false;
	if (!(offered_flags & DEVLEND_BAR_64) && lender_bus + (size - 1) > U32_MAX)
		return false;
	ap = &aperture[window];
	if (size > ap->size || offset > ap->size - size)
		return false;

	out->cpu_phys = ap->cpu_phys + offset;
	out->lender_bus = lender_bus;
	out->size = size;
	out->window = window;
	out->flags = offered_flags;
	return true;
}

static bool grant_overlap(u64 a, u64 a_size, u64 b, u64 b_size)
{
	return a <= b + (b_size - 1) && b <= a + (a_size - 1);
}

/* BARs @a and @b: disjoint on both sides */
static bool grant_pair_valid(const struct borrower_bar *a, const struct borrower_bar *b)
{
	if (!a->size || !b->size)
		return true;
	return !grant_overlap(a->cpu_phys, a->size, b->cpu_phys, b->size) &&
	       !grant_overlap(a->lender_bus, a->size, b->lender_bus, b->size);
}

static bool grant_msix_valid(const struct devlend_wire_offer *offer,
			     const struct borrower_grant *grant)
{
	u64 need = (u64)le16_to_cpu(offer->msix_vectors) * PCI_MSIX_ENTRY_SIZE;

	if (grant->msix_bar == BORROWER_NO_BAR)
		return true;
	if (grant->msix_bar >= DEVLEND_BARS || !need || grant->msix_offset & 7)
		return false;
	return need <= grant->bar[grant->msix_bar].size &&
	       grant->msix_offset <= grant->bar[grant->msix_bar].size - need;
}

/**
 * borrower_grant_parse() - check a grant and take it over
 * @offer: what was offered; valid by borrower_offer_valid()
 * @wire: the reply of BORROW, a private copy
 * @aperture: this host's outbound windows
 * @apertures: number of them
 * @peer_epoch: the lender's epoch now
 * @out: filled in on success; &borrower_grant.handle always, so that a bad grant can be
 *	returned
 * @why: set to what is wrong on failure
 *
 * Context: any. Return: 0, or -EPROTO.
 */
int borrower_grant_parse(const struct devlend_wire_offer *offer,
			 const struct devlend_wire_grant *wire,
			 const struct devlend_aperture *aperture, unsigned int apertures,
			 u32 peer_epoch, struct borrower_grant *out, const char **why)
{
	int i, k;

	memset(out, 0, sizeof(*out));
	out->handle.epoch = le32_to_cpu(wire->handle.epoch);
	out->handle.random = le32_to_cpu(wire->handle.random);
	out->msix_bar = wire->msix_bar;
	out->msix_offset = le32_to_cpu(wire->msix_offset);
	out->mrrs = le16_to_cpu(wire->mrrs);
	out->mps = le16_to_cpu(wire->mps);

	*why = "handle";
	if (!out->handle.random || out->handle.epoch != peer_epoch)
		return -EPROTO;
	*why = "expansion ROM, which version 1 does not export";
	if (wire->rom_size)
		return -EPROTO;
	*why = "packet sizes";
	if (!grant_packet_size_valid(out->mrrs) || !grant_packet_size_valid(out->mps))
		return -EPROTO;
	*why = "a BAR that was not offered so, or lies outside its window";
	for (i = 0; i < DEVLEND_BARS; i++)
		if (!grant_bar_take(&offer->bar[i], &wire->bar[i], aperture, apertures,
				    &out->bar[i]))
			return -EPROTO;
	*why = "BARs that overlap";
	for (i = 0; i < DEVLEND_BARS; i++)
		for (k = i + 1; k < DEVLEND_BARS; k++)
			if (!grant_pair_valid(&out->bar[i], &out->bar[k]))
				return -EPROTO;
	*why = "place of the MSI-X table";
	if (!grant_msix_valid(offer, out))
		return -EPROTO;
	*why = NULL;
	return 0;
}
