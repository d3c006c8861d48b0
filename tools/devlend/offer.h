/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_OFFER_H
#define DEVLEND_TOOL_OFFER_H

#include <json.h>

#include "pciaddr.h"
#include "pcidev.h"
#include "sysfs.h"
#include "why.h"

#define OFFER_BARS	6

/**
 * struct offer - a device that another host lends
 * @name: on the devlend bus
 * @id: full identity
 * @host: UUID of the lender
 * @device: its address there
 * @link: link that it was seen through
 * @state: as the kernel tells it
 * @bar: sizes in bytes, 0 = none
 * @msi: interrupt vectors of its MSI capability
 * @msix: interrupt vectors of its MSI-X capability
 * @mps: maximum payload size in force, bytes
 * @lender_iommu: address bits of the lender's IOMMU for it; 0 = none
 * @irq_mode: interrupt mode that its next borrow is to use, or auto
 * @ids: what it is
 */
struct offer {
	char name[64];
	char id[80];
	char host[40];
	char device[PCIADDR_MAX];
	char link[32];
	char state[16];
	long long bar[OFFER_BARS];
	long long msi, msix, mps, lender_iommu;
	char irq_mode[16];
	struct pci_ids ids;
};

/* a list of offers; free it */
struct offers {
	size_t count;
	struct offer *offer;
};

void offers_read(struct offers *offers);
void offers_free(struct offers *offers);
bool offer_read(struct offer *offer, const char *name);
bool offer_is(const struct offer *offer, const char *text);
struct json_object *offer_json(const struct offer *offer);
int borrower_loaded(struct why *why);

#endif
