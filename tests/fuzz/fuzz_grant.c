// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: what a lender offers and grants, against the gate in borrower/grant.c.
 *
 * The input is the two messages as they are on the wire, struct devlend_wire_offer and struct
 * devlend_wire_grant, and a byte that picks the apertures.
 *
 * Must hold for a grant that is taken: each BAR lies in an aperture of this host, is of the size
 * that was offered, shares no byte with another one, on neither side, and the MSI-X table lies in
 * its BAR. Checked anew here, by other arithmetic (128 bits).
 */
#include "fuzz.h"

#include "../../borrower/grant.c"

typedef unsigned __int128 u128;

static const struct devlend_aperture apertures[] = {
	{ .cpu_phys = 0x3800000000ull, .size = 0x400000 },
	{ .cpu_phys = 0x4000000000ull, .size = 0x200000000ull },
	{ .cpu_phys = 0xfe000000, .size = 0x10000 },
	{ .cpu_phys = 0xfffffffff0000000ull, .size = 0x10000000 },
};

static bool apart(u64 a, u64 a_size, u64 b, u64 b_size)
{
	return (u128)a + a_size <= b || (u128)b + b_size <= a;
}

static void check_bar(const struct borrower_bar *bar, const struct devlend_wire_bar *offered,
		      unsigned int count)
{
	const struct devlend_aperture *ap = &apertures[bar->window];

	MUST(bar->window < count);
	MUST(bar->size == offered->size && is_power_of_2(bar->size));
	MUST(bar->cpu_phys >= ap->cpu_phys);
	MUST((u128)bar->cpu_phys + bar->size <= (u128)ap->cpu_phys + ap->size);
	MUST(!(bar->lender_bus % bar->size));
	MUST((u128)bar->lender_bus + bar->size <= (u128)1 << 64);
	MUST(!(bar->flags & ~(DEVLEND_BAR_64 | DEVLEND_BAR_PREFETCH)));
	if (!(bar->flags & DEVLEND_BAR_64))
		MUST(bar->lender_bus + bar->size <= 1ull << 32);
}

static void check_grant(const struct devlend_wire_offer *offer, const struct borrower_grant *g,
			unsigned int count)
{
	unsigned int i, k;

	MUST(g->handle.random);
	for (i = 0; i < DEVLEND_BARS; i++) {
		const struct borrower_bar *a = &g->bar[i];

		if (!a->size)
			continue;
		check_bar(a, &offer->bar[i], count);
		/* the upper half of a 64-bit BAR is a register of it */
		if (a->flags & DEVLEND_BAR_64)
			MUST(i + 1 < DEVLEND_BARS && !g->bar[i + 1].size);
		for (k = 0; k < i; k++) {
			const struct borrower_bar *b = &g->bar[k];

			if (!b->size)
				continue;
			MUST(apart(a->cpu_phys, a->size, b->cpu_phys, b->size));
			MUST(apart(a->lender_bus, a->size, b->lender_bus, b->size));
		}
	}
	if (g->msix_bar != BORROWER_NO_BAR) {
		MUST(g->msix_bar < DEVLEND_BARS);
		MUST((u128)g->msix_offset + offer->msix_vectors * PCI_MSIX_ENTRY_SIZE <=
		     g->bar[g->msix_bar].size);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct devlend_wire_offer offer;
	struct devlend_wire_grant wire;
	struct borrower_grant grant;
	const char *why = "?";
	unsigned int count;
	u32 epoch;
	bool ok;

	input_bytes(&in, &offer, sizeof(offer));
	input_bytes(&in, &wire, sizeof(wire));
	count = input_u8(&in) % (ARRAY_SIZE(apertures) + 1);
	ok = borrower_offer_valid(&offer, &why);
	MUST(ok == !why);
	if (!ok)
		return 0;
	epoch = input_u8(&in) ? 1 : wire.handle.epoch;
	ok = !borrower_grant_parse(&offer, &wire, apertures, count, epoch, &grant, &why);
	MUST(ok == !why);
	/* so that even a bad grant can be returned */
	MUST(grant.handle.random == wire.handle.random);
	if (ok)
		check_grant(&offer, &grant, count);
	return 0;
}
