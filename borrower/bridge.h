/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BORROWER_BRIDGE_H
#define BORROWER_BRIDGE_H

#include <linux/types.h>

struct borrower_lease;
struct borrower_shadow;
struct pci_dev;

struct borrower_shadow *borrower_bridge_create(struct borrower_lease *lease);
int borrower_bridge_scan(struct borrower_shadow *shadow);
void borrower_bridge_unbind(struct borrower_shadow *shadow);
void borrower_bridge_remove(struct borrower_shadow *shadow);
void borrower_bridge_put(struct borrower_shadow *shadow);
int borrower_bridge_domain_free(int domain);
int borrower_bridge_init(void);
void borrower_bridge_exit(void);

#endif /* BORROWER_BRIDGE_H */
