/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEVLEND_TOOL_FILTER_H
#define DEVLEND_TOOL_FILTER_H

#include "pcidev.h"
#include "why.h"

/* any value of a field */
#define FILTER_ANY	-1

/**
 * struct filter - which devices are meant; all that is given must fit
 * @given: there is at least one condition
 * @class: first hexadecimal digits of class, subclass and interface; x is any
 * @vendor: vendor id
 * @device: device id
 * @domain: of the address
 * @bus: of the address
 * @dev: of the address
 * @fn: of the address
 * @driver: name of its driver; "" = any
 * @host: first digits of the other host's UUID; "" = any
 */
struct filter {
	bool given;
	char class[7];
	long vendor, device, domain, bus, dev, fn;
	char driver[64];
	char host[40];
};

/**
 * struct subject - what a filter looks at
 * @bdf: address
 * @driver: its driver, or ""
 * @host: the other host, or ""
 * @ids: what it is
 */
struct subject {
	const char *bdf, *driver, *host;
	const struct pci_ids *ids;
};

void filter_init(struct filter *filter);
int filter_add(struct filter *filter, const char *text, struct why *why);
bool filter_fits(const struct filter *filter, const struct subject *subject);

#endif
