// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: the config space that a lender tells, and what a driver then does to it.
 *
 * Sources: borrower/config*.c. The input: a byte that picks the BARs, the length and text of a
 * reply of CONFIG as on the wire, then config reads and writes.
 *
 * Must hold for an image that is taken: both chains end, and hold nothing but what the policy
 * shows; the BAR registers are the grant's; nothing is writable outside the header and shown
 * capabilities, after any writes; the lender is asked for nothing but what lane 2 knows.
 */
#include "fuzz.h"

#include "../../borrower/config.c"
#include "../../borrower/config_caps.c"
#include "../../borrower/config_forward.c"
#include "../../borrower/config_image.c"
#include "../../borrower/config_policy.c"

#define ACCESSES	256

/* a queue that is full now and then */
struct way {
	struct borrower_config *cfg;
	unsigned int room;
	unsigned int posts;
	u32 control;	/* on at the lender: bits (1 << op) */
};

static int way_post(void *ctx, u8 op, u32 arg)
{
	struct way *way = ctx;

	MUST(way->cfg->lock.held);
	MUST(op >= DEVLEND_AOP_BUS_MASTER && op <= DEVLEND_AOP_INTX_DISABLE);
	switch (op) {
	case DEVLEND_AOP_BUS_MASTER:
		MUST(arg <= 1);
		break;
	case DEVLEND_AOP_FLR:
		MUST(!arg);
		break;
	case DEVLEND_AOP_MSI_DATA:
		MUST(arg <= 0xffff);
		break;
	case DEVLEND_AOP_MSI_CTRL:
		MUST(!(arg & ~(PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE)));
		break;
	case DEVLEND_AOP_MSIX_CTRL:
		MUST(!(arg & ~(PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL)));
		break;
	}
	if (!way->room)
		return -ENOBUFS;
	way->room--;
	way->posts++;
	return 0;
}

static int way_flush(void *ctx)
{
	struct way *way = ctx;

	MUST(!way->cfg->lock.held);
	way->room += 2;
	return 0;
}

static void way_later(void *ctx)
{
	(void)ctx;
}

static const struct borrower_config_fwd way_ops = {
	.post = way_post, .flush = way_flush, .later = way_later,
};

static void make_grant(struct borrower_grant *grant, u8 pick)
{
	*grant = (struct borrower_grant) {
		.handle.random = 7, .msix_bar = pick & 7 ? 0 : BORROWER_NO_BAR,
		.msix_offset = pick & 8 ? 0x2000 : 0x3000,
	};
	grant->bar[0] = (struct borrower_bar) {
		.lender_bus = 0xfe800000, .size = 0x4000, .flags = DEVLEND_BAR_64,
	};
	if (pick & 16)
		grant->bar[2] = (struct borrower_bar){ .lender_bus = 0xfe804000, .size = 0x1000 };
	if (pick & 32)
		grant->bar[4] = (struct borrower_bar) {
			.lender_bus = 0x3800000000ull, .size = 0x200000000ull,
			.flags = DEVLEND_BAR_64 | DEVLEND_BAR_PREFETCH,
		};
}

/* Longest that a shown capability can be; 0 = must not be shown. */
static unsigned int cap_room(u8 id)
{
	switch (id) {
	case PCI_CAP_ID_PM:
		return PCI_PM_SIZEOF;
	case PCI_CAP_ID_MSI:
		return 24;
	case PCI_CAP_ID_MSIX:
		return PCI_CAP_MSIX_SIZEOF;
	case PCI_CAP_ID_EXP:
		return 0x3c;
	case PCI_CAP_ID_VNDR:
		return 255;
	default:
		return 0;
	}
}

static void check_std(const struct borrower_config *cfg, bool *shown)
{
	unsigned int pos = cfg->image[PCI_CAPABILITY_LIST], steps = 0, i;
	bool listed = get_unaligned_le16(cfg->image + PCI_STATUS) & PCI_STATUS_CAP_LIST;

	MUST(listed == !!pos);
	for (; pos; pos = cfg->image[pos + 1]) {
		unsigned int room = cap_room(cfg->image[pos]);

		MUST(pos >= PCI_STD_HEADER_SIZEOF && !(pos % 4));
		MUST(++steps <= (PCI_CFG_SPACE_SIZE - PCI_STD_HEADER_SIZEOF) / 4);
		MUST(room);
		for (i = pos; i < pos + room && i < PCI_CFG_SPACE_SIZE; i++)
			shown[i] = true;
	}
}

static void check_ext(const struct borrower_config *cfg)
{
	unsigned int pos = PCI_CFG_SPACE_SIZE, steps = 0;
	u32 header;

	for (; pos; pos = PCI_EXT_CAP_NEXT(header)) {
		MUST(pos >= PCI_CFG_SPACE_SIZE && pos <= BORROWER_CONFIG_SIZE - 4);
		MUST(++steps <= (BORROWER_CONFIG_SIZE - PCI_CFG_SPACE_SIZE) / 4);
		header = get_unaligned_le32(cfg->image + pos);
		MUST(PCI_EXT_CAP_ID(header) == PCI_EXT_CAP_ID_DSN || !PCI_EXT_CAP_ID(header));
	}
}

static void check_image(const struct borrower_config *cfg, const struct borrower_grant *grant)
{
	bool shown[BORROWER_CONFIG_SIZE] = { };
	unsigned int i;

	check_std(cfg, shown);
	check_ext(cfg);
	MUST(!(cfg->image[PCI_HEADER_TYPE]));
	MUST(!cfg->image[PCI_INTERRUPT_PIN]);
	MUST(!get_unaligned_le32(cfg->image + PCI_ROM_ADDRESS));
	for (i = PCI_STD_HEADER_SIZEOF; i < BORROWER_CONFIG_SIZE; i++)
		MUST(!cfg->writable[i] || shown[i]);
	if (cfg->msix)
		MUST(grant->msix_bar != BORROWER_NO_BAR &&
		     get_unaligned_le32(cfg->image + cfg->msix + PCI_MSIX_TABLE) ==
		     (grant->msix_offset | grant->msix_bar));
}

static void check_bars(const struct borrower_config *cfg, const struct borrower_grant *grant)
{
	unsigned int i;

	for (i = 0; i < DEVLEND_BARS; i++) {
		const struct borrower_bar *bar = &grant->bar[i];
		unsigned int at = PCI_BASE_ADDRESS_0 + 4 * i;

		if (bar->size) {
			MUST((get_unaligned_le32(cfg->initial + at) & ~0xfu) == (u32)bar->lender_bus);
			/* bits below the size read 0, but for the type: a driver cannot move it there */
			MUST(!(get_unaligned_le32(cfg->image + at) & (u32)(bar->size - 1) & ~0xfu));
		}
	}
}

static void access_one(struct borrower_config *cfg, struct way *way, struct input *in)
{
	u8 how = input_u8(in);
	unsigned int size = 1u << (how & 3), where = input_u16(in) % (BORROWER_CONFIG_SIZE + 16);
	u32 value;

	/* mostly where the capabilities are */
	if (how & 4)
		where %= PCI_CFG_SPACE_SIZE;
	shim_irqs_off = how & 8;
	switch (how >> 4) {
	case 0:
		borrower_config_read(cfg, where, size);
		break;
	case 1:
		borrower_config_reset_done(cfg, how & 1);
		break;
	case 2:
		way->room = how & 3;
		borrower_config_catch_up(cfg);
		break;
	case 3:
		if (how == 0x3f)
			borrower_config_kill(cfg);
		break;
	default:
		value = input_u32(in);
		borrower_config_write(cfg, where, size, value);
		break;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct borrower_config cfg;
	struct input in = { data, size };
	struct way way = { .cfg = &cfg, .room = 4 };
	struct borrower_grant grant;
	unsigned int n = 0;
	int before = shim_allocated;
	size_t len;
	u8 *runs;
	int err;

	memset(&cfg, 0, sizeof(cfg));
	make_grant(&grant, input_u8(&in));
	len = min_t(size_t, input_u16(&in), min_t(size_t, in.left, DEVLEND_MSG_PAYLOAD_MAX));
	/* a copy of its own, so that a read behind its end is seen */
	runs = malloc(len ?: 1);
	input_bytes(&in, runs, len);
	err = borrower_config_setup(&cfg, &grant, runs, len, &way_ops, &way);
	free(runs);
	MUST(shim_allocated == before);
	if (err)
		return 0;
	check_image(&cfg, &grant);
	check_bars(&cfg, &grant);
	while (in.left && n++ < ACCESSES)
		access_one(&cfg, &way, &in);
	check_image(&cfg, &grant);
	check_bars(&cfg, &grant);
	MUST(way.posts <= 8 * (ACCESSES + 1));
	return 0;
}
