// SPDX-License-Identifier: GPL-2.0
/* Config space of the Intel gen3 NTB function, as far as its driver and a guest's PCI core look. */
#include <string.h>

#include "pcicfg.h"

#define CAP_MSIX	0x80
#define CAP_PCIE	0x90

#define MSIX_VECTORS	33
#define MSIX_TABLE	0x8000
#define MSIX_PBA	0x9000

/* 64-bit, prefetchable. */
#define BAR_FLAGS	0x0c

#define LINK_UP		0x2103	/* active, x16, 8 GT/s */
#define LINK_DOWN	0x0001

static void put16(uint8_t *p, uint16_t v)
{
	memcpy(p, &v, sizeof(v));
}

static void put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static void put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

static void init_bars(struct pcicfg *cfg, const uint64_t bar_size[3])
{
	for (int i = 0; i < 3; i++) {
		unsigned int at = PCICFG_BAR0 + 8 * i;

		put64(cfg->b + at, BAR_FLAGS);
		put64(cfg->wmask + at, ~(bar_size[i] - 1) & ~0xfull);
	}
}

static void init_caps(struct pcicfg *cfg)
{
	cfg->b[0x34] = CAP_MSIX;

	cfg->b[CAP_MSIX] = 0x11;
	cfg->b[CAP_MSIX + 1] = CAP_PCIE;
	put16(cfg->b + CAP_MSIX + 2, MSIX_VECTORS - 1);
	put16(cfg->wmask + CAP_MSIX + 2, 0xc000);
	put32(cfg->b + CAP_MSIX + 4, MSIX_TABLE);
	put32(cfg->b + CAP_MSIX + 8, MSIX_PBA);

	cfg->b[CAP_PCIE] = 0x10;
	cfg->b[CAP_PCIE + 1] = 0;
	put16(cfg->b + CAP_PCIE + 2, 0x0002);		/* version 2, endpoint */
	put32(cfg->b + CAP_PCIE + 4, 0x10008001);	/* FLR, role based errors, 256 bytes */
	put16(cfg->b + CAP_PCIE + 8, 0x2810);
	put16(cfg->wmask + CAP_PCIE + 8, 0x7fff);
	put32(cfg->b + CAP_PCIE + 12, 0x00000103);	/* 8 GT/s, x16 */
	put16(cfg->wmask + CAP_PCIE + 16, 0x0fff);
	put16(cfg->b + CAP_PCIE + 18, 0x0103);
	put32(cfg->b + CAP_PCIE + 36, 0x00000010);	/* completion time-out can be off */
	put16(cfg->wmask + CAP_PCIE + 40, 0x001f);
	put32(cfg->b + CAP_PCIE + 44, 0x0000000e);
	put16(cfg->b + CAP_PCIE + 48, 0x0003);
}

void pcicfg_reset(struct pcicfg *cfg, bool dsd, const uint64_t bar_size[3])
{
	memset(cfg, 0, sizeof(*cfg));
	put16(cfg->b + 0x00, 0x8086);
	put16(cfg->b + 0x02, 0x201c);
	put16(cfg->wmask + PCICFG_COMMAND, 0x0546);
	put16(cfg->b + PCICFG_STATUS, 0x0010);			/* capability list */
	put16(cfg->b + 0x0a, 0x0680);			/* bridge, other */
	cfg->wmask[0x0c] = 0xff;			/* cache line size */
	put16(cfg->b + 0x2c, 0x8086);
	put16(cfg->b + 0x2e, 0x0000);
	cfg->wmask[0x3c] = 0xff;			/* interrupt line */
	cfg->b[PCICFG_PIN] = 1;				/* INTA */
	init_bars(cfg, bar_size);
	init_caps(cfg);

	/* log2 of the sizes of both windows, this side and the other */
	for (int i = 0; i < 4; i++)
		cfg->b[0xd0 + i] = __builtin_ctzll(bar_size[1 + (i & 1)]);
	cfg->b[PCICFG_PPD] = dsd ? 0x11 : 0x01;
	pcicfg_set_link(cfg, false);
}

bool pcicfg_write(struct pcicfg *cfg, unsigned int off, const uint8_t *data,
		  size_t len)
{
	bool flr = false;

	for (size_t i = 0; i < len; i++) {
		uint8_t m = cfg->wmask[off + i];

		cfg->b[off + i] = (cfg->b[off + i] & ~m) | (data[i] & m);
		if (off + i == PCICFG_PCIE_DEVCTL + 1 &&
		    data[i] & (PCICFG_DEVCTL_FLR >> 8))
			flr = true;
	}
	return flr;
}

static uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

uint16_t pcicfg_command(const struct pcicfg *cfg)
{
	return get16(cfg->b + PCICFG_COMMAND);
}

bool pcicfg_msix(const struct pcicfg *cfg)
{
	return get16(cfg->b + PCICFG_MSIX_CTRL) & PCICFG_MSIX_ON;
}

void pcicfg_set_pending(struct pcicfg *cfg, bool pending)
{
	uint16_t v = get16(cfg->b + PCICFG_STATUS) & ~PCICFG_STATUS_INTX;

	put16(cfg->b + PCICFG_STATUS, pending ? v | PCICFG_STATUS_INTX : v);
}

uint64_t pcicfg_bar(const struct pcicfg *cfg, unsigned int bar)
{
	uint64_t v;

	memcpy(&v, cfg->b + PCICFG_BAR0 + 4 * bar, sizeof(v));
	return v & ~0xfull;
}

void pcicfg_set_link(struct pcicfg *cfg, bool up)
{
	put16(cfg->b + PCICFG_LINK_STATUS, up ? LINK_UP : LINK_DOWN);
}
