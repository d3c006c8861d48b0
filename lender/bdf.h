/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LENDER_BDF_H
#define LENDER_BDF_H

#include <linux/types.h>

/**
 * struct lender_bdf - a PCI function as an operator names it
 * @domain: PCI domain
 * @bus: bus number
 * @devfn: device (7..3) and function (2..0)
 * @force: the word "force" followed
 * @private: the word "private" followed
 */
struct lender_bdf {
	u32 domain;
	u8 bus;
	u8 devfn;
	bool force;
	bool private;
};

int lender_bdf_parse(const char *text, size_t len, struct lender_bdf *out);

#endif /* LENDER_BDF_H */
