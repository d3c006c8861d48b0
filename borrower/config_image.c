// SPDX-License-Identifier: GPL-2.0
/*
 * Making the image: from the lender's sparse runs to the first 64 bytes that a driver sees.
 *
 * Called by config.c, once per borrow, in the lease's worker, before anybody else can see the
 * config space. Owns nothing, takes no lock. What the lender says is taken apart with bounds; what
 * is not put into the image here or in config_caps.c reads 0 and takes no write. Pure;
 * tests/kunit/borrower_config_image_test.c covers it.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include <devlend/compat.h>

#include "config.h"
#include "grant.h"

#define IMAGE_COMMAND_WRITABLE	(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY | \
				 PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE)

#define IMAGE_CLASS_IDE		0x0101
/* programming interface: both channels by BAR, not at legacy ports */
#define IMAGE_IDE_NATIVE	0x05

/**
 * borrower_config_decode() - unpack the sparse image of a config space
 * @runs: payload of the reply to %DEVLEND_OP_CONFIG
 * @len: bytes
 * @raw: %BORROWER_CONFIG_SIZE bytes, zeroed here
 *
 * Runs must rise, must not overlap, and must fill @len exactly.
 * Context: any. Return: 0; -EPROTO.
 */
int borrower_config_decode(const void *runs, size_t len, u8 *raw)
{
	unsigned int next = 0;
	const u8 *p = runs;

	memset(raw, 0, BORROWER_CONFIG_SIZE);
	while (len) {
		unsigned int first, count;
		u32 head;

		if (len < 4)
			return -EPROTO;
		head = get_unaligned_le32(p);
		first = head & 0xffff;
		count = head >> 16;
		p += 4;
		len -= 4;
		if (!count || first < next || first + count > DEVLEND_CONFIG_DWORDS ||
		    len / 4 < count)
			return -EPROTO;
		memcpy(raw + first * 4, p, count * 4);
		next = first + count;
		p += count * 4;
		len -= count * 4;
	}
	return 0;
}

static void image_put16(struct borrower_config *cfg, unsigned int where, u16 value, u16 writable)
{
	put_unaligned_le16(value, cfg->image + where);
	put_unaligned_le16(writable, cfg->writable + where);
}

static void image_put32(struct borrower_config *cfg, unsigned int where, u32 value, u32 writable)
{
	put_unaligned_le32(value, cfg->image + where);
	put_unaligned_le32(writable, cfg->writable + where);
}

/*
 * BARs hold the lender's bus addresses. Each dword is a register of its own, so sizing works in
 * any order; the writable bits are the size mask.
 */
static void image_bars(struct borrower_config *cfg, const struct borrower_grant *grant)
{
	unsigned int i;

	for (i = 0; i < DEVLEND_BARS; i++) {
		const struct borrower_bar *bar = &grant->bar[i];
		unsigned int where = PCI_BASE_ADDRESS_0 + i * 4;
		u64 mask = ~(bar->size - 1);
		u32 type = 0;

		if (!bar->size)
			continue;
		if (bar->flags & DEVLEND_BAR_PREFETCH)
			type |= PCI_BASE_ADDRESS_MEM_PREFETCH;
		if (bar->flags & DEVLEND_BAR_64)
			type |= PCI_BASE_ADDRESS_MEM_TYPE_64;
		image_put32(cfg, where, lower_32_bits(bar->lender_bus) | type,
			    lower_32_bits(mask) & PCI_BASE_ADDRESS_MEM_MASK);
		if (bar->flags & DEVLEND_BAR_64 && ++i < DEVLEND_BARS)
			image_put32(cfg, where + 4, upper_32_bits(bar->lender_bus),
				    upper_32_bits(mask));
	}
}

/*
 * An IDE controller that does not say "native" on both channels makes the PCI core claim this
 * host's legacy ports for it.
 */
static void image_class(struct borrower_config *cfg)
{
	if (get_unaligned_le16(cfg->image + PCI_CLASS_DEVICE) == IMAGE_CLASS_IDE)
		cfg->image[PCI_CLASS_PROG] |= IMAGE_IDE_NATIVE;
}

/**
 * borrower_config_header() - the standard header of the image
 * @cfg: zeroed image
 * @grant: where the BARs lie
 * @raw: what the lender told
 *
 * Identity is the device's; command and BARs are the shadow's own; the expansion ROM and I/O ports
 * are not there, the interrupt pin only where INTx is told; a leased function stands alone, so it
 * is no multi-function device, and its pin is A.
 * Context: any.
 */
void borrower_config_header(struct borrower_config *cfg, const struct borrower_grant *grant,
			    const u8 *raw)
{
	memcpy(cfg->image + PCI_VENDOR_ID, raw + PCI_VENDOR_ID, 4);
	memcpy(cfg->image + PCI_CLASS_REVISION, raw + PCI_CLASS_REVISION, 4);
	memcpy(cfg->image + PCI_SUBSYSTEM_VENDOR_ID, raw + PCI_SUBSYSTEM_VENDOR_ID, 4);
	image_class(cfg);
	image_put16(cfg, PCI_COMMAND, 0, IMAGE_COMMAND_WRITABLE);
	cfg->writable[PCI_CACHE_LINE_SIZE] = 0xff;
	cfg->writable[PCI_INTERRUPT_LINE] = 0xff;
	cfg->image[PCI_INTERRUPT_PIN] = grant->intx;
	cfg->intx = grant->intx;
	cfg->intx_masked = true;
	image_bars(cfg, grant);
}
