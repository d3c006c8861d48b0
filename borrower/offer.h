/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BORROWER_OFFER_H
#define BORROWER_OFFER_H

#include <linux/device.h>
#include <linux/list.h>
#include <linux/mutex.h>

#include <devlend/core.h>

#include "lease.h"

/* More offers than this through one link are refused: the peer may be hostile. */
#define BORROWER_OFFERS_MAX	64

/**
 * struct borrower_offer - a device that a peer lends, as seen through one link
 * @dev: child of the link's device; on the devlend bus while @shown
 * @node: in the list of offers, under that list's lock
 * @shown: its device is added: of the offers of one device only one is. Under that lock
 * @link: referenced
 * @lock: protects @wire and @irq_mode; a leaf
 * @wire: what the peer said last, valid by borrower_offer_valid(); host, domain and bdf
 * constant
 * @irq_mode: interrupt mode that the next borrow is to use, or auto
 */
struct borrower_offer {
	struct device dev;
	struct list_head node;
	bool shown;
	struct devlend_link *link;
	struct mutex lock;	/* protects what follows */
	struct devlend_wire_offer wire;
	enum borrower_irq_mode irq_mode;
};

static inline struct borrower_offer *to_borrower_offer(struct device *dev)
{
	return container_of(dev, struct borrower_offer, dev);
}

const char *borrower_offer_state_name(u32 state);
enum devlend_status borrower_offer_update(struct devlend_link *link,
					  const struct devlend_wire_offer *wire);
enum devlend_status borrower_offer_withdraw(struct devlend_link *link,
					    const struct devlend_wire_offer_id *id);
void borrower_offers_link_lost(struct devlend_link *link);
int borrower_offer_borrow(struct borrower_offer *offer, int slot);

/* offer_sysfs.c */
extern const struct attribute_group *borrower_offer_groups[];

#endif /* BORROWER_OFFER_H */
