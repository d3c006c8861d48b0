/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The config space of one port's function: bytes, and a mask of those that the guest may write.
 */
#ifndef NTBSIM_PCICFG_H
#define NTBSIM_PCICFG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCICFG_SIZE		4096
#define PCICFG_COMMAND		0x04
#define PCICFG_STATUS		0x06
#define PCICFG_BAR0		0x10
#define PCICFG_PIN		0x3d
#define PCICFG_MSIX_CTRL	0x82
#define PCICFG_PCIE_DEVCTL	0x98
#define PCICFG_PPD		0xd4
#define PCICFG_LINK_STATUS	0x1a2

#define PCICFG_CMD_MEMORY	0x0002
#define PCICFG_CMD_MASTER	0x0004
#define PCICFG_CMD_INTX_OFF	0x0400
#define PCICFG_STATUS_INTX	0x0008
#define PCICFG_MSIX_ON		0x8000
#define PCICFG_DEVCTL_FLR	0x8000

/**
 * struct pcicfg - config space
 * @b: the bytes
 * @wmask: bits that the guest may write
 */
struct pcicfg {
	uint8_t b[PCICFG_SIZE];
	uint8_t wmask[PCICFG_SIZE];
};

/**
 * pcicfg_reset() - power-on state
 * @cfg: the config space
 * @dsd: downstream device, else upstream
 * @bar_size: of BAR 0, 2 and 4, powers of two
 */
void pcicfg_reset(struct pcicfg *cfg, bool dsd, const uint64_t bar_size[3]);

/**
 * pcicfg_write() - a write of the guest
 *
 * Return: true if it asked for a function level reset.
 */
bool pcicfg_write(struct pcicfg *cfg, unsigned int off, const uint8_t *data,
		  size_t len);

uint16_t pcicfg_command(const struct pcicfg *cfg);

/* Bus address of BAR @bar (0, 2 or 4). */
uint64_t pcicfg_bar(const struct pcicfg *cfg, unsigned int bar);
void pcicfg_set_link(struct pcicfg *cfg, bool up);

/* Whether MSI-X is on: then the function has no use for its pin. */
bool pcicfg_msix(const struct pcicfg *cfg);
/* Interrupt Status: whether the function wants its pin asserted. */
void pcicfg_set_pending(struct pcicfg *cfg, bool pending);

#endif /* NTBSIM_PCICFG_H */
