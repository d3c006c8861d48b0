/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BORROWER_GRANT_H
#define BORROWER_GRANT_H

#include <linux/types.h>

#include <devlend/core.h>

/* &borrower_grant.msix_bar where the device has no MSI-X table in an exported BAR */
#define BORROWER_NO_BAR		0xff

/**
 * struct borrower_bar - one BAR of a lent device, as granted and checked
 * @cpu_phys: CPU physical address of its first byte, inside the NTB's aperture
 * @lender_bus: the lender's bus address, which the BAR register holds
 * @size: bytes, a power of two; 0 = none
 * @window: outbound window that reaches it
 * @flags: %DEVLEND_BAR_64, %DEVLEND_BAR_PREFETCH
 */
struct borrower_bar {
	u64 cpu_phys;
	u64 lender_bus;
	u64 size;
	unsigned int window;
	u32 flags;
};

/**
 * struct borrower_grant - a grant in CPU byte order, valid by construction
 * @handle: names the lease
 * @bar: the BARs; disjoint on both sides
 * @msix_bar: BAR that holds the MSI-X table, or %BORROWER_NO_BAR
 * @msix_offset: of the table in that BAR, bytes
 * @mrrs: maximum read request size in force, bytes
 * @mps: maximum payload size in force, bytes
 * @hide_msi: the shadow has no MSI; this and the following are not the lender's grant but what the
 *	interrupt mode can deliver, set by it before the shadow is made
 * @hide_msix: the shadow has no MSI-X
 * @messages_max: the most messages that it has; 0 = as many as the device
 * @intx: the shadow has an interrupt pin
 */
struct borrower_grant {
	struct devlend_handle handle;
	struct borrower_bar bar[DEVLEND_BARS];
	u8 msix_bar;
	u32 msix_offset;
	u16 mrrs;
	u16 mps;
	bool hide_msi;
	bool hide_msix;
	u16 messages_max;
	bool intx;
};

bool borrower_offer_valid(const struct devlend_wire_offer *offer, const char **why);
int borrower_grant_parse(const struct devlend_wire_offer *offer,
			 const struct devlend_wire_grant *wire,
			 const struct devlend_aperture *aperture, unsigned int apertures,
			 u32 peer_epoch, struct borrower_grant *out, const char **why);

#endif /* BORROWER_GRANT_H */
