/* SPDX-License-Identifier: GPL-2.0 */
/* The host's own, and what older ones have not. */
#include_next <linux/pci_regs.h>

#ifndef PCI_HEADER_TYPE_MASK
#define PCI_HEADER_TYPE_MASK	0x7f
#endif
