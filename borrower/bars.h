/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BORROWER_BARS_H
#define BORROWER_BARS_H

#include <linux/ioport.h>

#include <devlend/plan.h>

#include "grant.h"

struct bars_ntb;

/**
 * struct borrower_window - one window of the virtual host bridge
 * @res: CPU addresses, inside the NTB's BAR; linked into the iomem tree while attached
 * @offset: CPU physical address minus lender bus address
 * @ntb_bar: who holds the NTB's BAR; NULL while detached
 */
struct borrower_window {
	struct resource res;
	u64 offset;
	struct bars_ntb *ntb_bar;
};

/**
 * struct borrower_windows - the windows of one lease
 * @win: in descending order of address
 * @count: entries of @win
 *
 * The memory must outlive the host bridge, which points to the resources. Attach and
 * detach are serialised by the lease's lock.
 */
struct borrower_windows {
	struct borrower_window win[DEVLEND_BARS];
	unsigned int count;
};

void borrower_windows_build(struct borrower_windows *windows, const struct borrower_grant *grant,
			    const char *name);
int borrower_windows_attach(struct borrower_windows *windows, struct pci_dev *ntb,
			    struct device *log);
void borrower_windows_detach(struct borrower_windows *windows);

#endif /* BORROWER_BARS_H */
