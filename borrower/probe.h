/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BORROWER_PROBE_H
#define BORROWER_PROBE_H

#include <linux/types.h>

struct borrower_lease;

int borrower_probe_memory(struct borrower_lease *lease);
int borrower_probe_bar(struct borrower_lease *lease);
int borrower_probe_message(struct borrower_lease *lease, u64 offset, u32 data);
int borrower_probe_event(struct borrower_lease *lease, u32 event);

#endif /* BORROWER_PROBE_H */
