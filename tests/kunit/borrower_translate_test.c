// SPDX-License-Identifier: GPL-2.0
/* KUnit suite of borrower/translate.c: range maps, device addresses, interrupt messages. */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "../../borrower/translate.c"

#define TRANSLATE_DEVICE	0x4000000000ull

/* RAM as on a small PC: a hole below 1 MiB, one below 4 GiB, and 2 GiB beyond. */
static struct borrower_memory *translate_memory(struct kunit *test, u64 reach)
{
	struct borrower_memory *mem = kunit_kzalloc(test, sizeof(*mem), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mem);
	mem->ram[0] = (struct borrower_range){ 0x1000, 0x9e000 };
	mem->ram[1] = (struct borrower_range){ SZ_1M, 3ull * SZ_1G - SZ_1M };
	mem->ram[2] = (struct borrower_range){ SZ_4G, SZ_2G };
	mem->ranges = 3;
	mem->ram_end = SZ_4G + SZ_2G;
	mem->reach = reach;
	mem->dma_bits = 64;
	mem->maps = BORROWER_MAPS;
	mem->device_addr[BORROWER_MAP_RAM] = TRANSLATE_DEVICE;
	mem->device_addr[BORROWER_MAP_MSI] = 0x8000000000ull;
	mem->exposed[BORROWER_MAP_RAM].size = reach;
	mem->exposed[BORROWER_MAP_MSI].bus_addr = BORROWER_MSI_BASE;
	mem->exposed[BORROWER_MAP_MSI].size = BORROWER_MSI_SIZE;
	return mem;
}

static struct bus_dma_region *translate_map(struct kunit *test)
{
	struct bus_dma_region *map;

	map = kunit_kcalloc(test, BORROWER_DMA_ENTRIES, sizeof(*map), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, map);
	return map;
}

static void dma_covers_all_ram(struct kunit *test)
{
	struct borrower_memory *mem = translate_memory(test, SZ_4G + SZ_2G);
	struct bus_dma_region *map = translate_map(test);

	KUNIT_ASSERT_EQ(test, borrower_dma_build(mem, map, BORROWER_DMA_ENTRIES), 3u);
	/* the largest first */
	KUNIT_EXPECT_EQ(test, (u64)map[0].cpu_start, (u64)SZ_1M);
	KUNIT_EXPECT_EQ(test, (u64)map[0].dma_start, TRANSLATE_DEVICE + SZ_1M);
	KUNIT_EXPECT_EQ(test, (u64)map[1].dma_start, TRANSLATE_DEVICE + SZ_4G);
	KUNIT_EXPECT_EQ(test, map[1].size, (u64)SZ_2G);
	KUNIT_EXPECT_EQ(test, (u64)map[2].cpu_start, 0x1000ull);
	KUNIT_EXPECT_EQ(test, map[2].size, 0x9e000ull);
	KUNIT_EXPECT_EQ(test, map[3].size, 0ull);
	KUNIT_EXPECT_EQ(test, borrower_dma_limit(mem), 0ull);
}

static void dma_leaves_the_hole_out(struct kunit *test)
{
	struct borrower_memory *mem = translate_memory(test, SZ_4G + SZ_2G);
	struct bus_dma_region *map = translate_map(test);
	unsigned int i, n = borrower_dma_build(mem, map, BORROWER_DMA_ENTRIES);
	u64 hole = 0xe0000000;

	for (i = 0; i < n; i++)
		KUNIT_EXPECT_FALSE(test, hole >= map[i].cpu_start &&
				   hole - map[i].cpu_start < map[i].size);
}

static void dma_bounces_what_is_beyond(struct kunit *test)
{
	struct borrower_memory *mem = translate_memory(test, 3ull * SZ_1G);
	struct bus_dma_region *map = translate_map(test);

	KUNIT_ASSERT_EQ(test, borrower_dma_build(mem, map, BORROWER_DMA_ENTRIES), 2u);
	KUNIT_EXPECT_EQ(test, borrower_dma_limit(mem), TRANSLATE_DEVICE + 3ull * SZ_1G - 1);
	/* an address that can be translated back */
	KUNIT_EXPECT_EQ(test, borrower_dma_limit(mem), map[0].dma_start + map[0].size - 1);
}

static void low_memory_ends(struct kunit *test)
{
	struct borrower_memory *mem = translate_memory(test, 0);

	KUNIT_EXPECT_EQ(test, borrower_memory_low_end(mem), 3ull * SZ_1G);
	mem->ram[1].size = mem->ram[2].cpu_phys + mem->ram[2].size - mem->ram[1].cpu_phys;
	mem->ranges = 2;
	KUNIT_EXPECT_EQ(test, borrower_memory_low_end(mem), (u64)SZ_4G);
	mem->ranges = 1;
	KUNIT_EXPECT_EQ(test, borrower_memory_low_end(mem), 0x9f000ull);
	mem->ram[0] = (struct borrower_range){ SZ_4G, SZ_2G };
	KUNIT_EXPECT_EQ(test, borrower_memory_low_end(mem), 0ull);
}

static void dma_cuts_a_piece(struct kunit *test)
{
	struct borrower_memory *mem = translate_memory(test, SZ_1G);
	struct bus_dma_region *map = translate_map(test);

	KUNIT_ASSERT_EQ(test, borrower_dma_build(mem, map, BORROWER_DMA_ENTRIES), 2u);
	KUNIT_EXPECT_EQ(test, map[0].size, (u64)SZ_1G - SZ_1M);
}

static void dma_needs_a_terminator(struct kunit *test)
{
	struct borrower_memory *mem = translate_memory(test, SZ_4G + SZ_2G);
	struct bus_dma_region *map = translate_map(test);

	KUNIT_EXPECT_EQ(test, borrower_dma_build(mem, map, 3), 0u);
	KUNIT_EXPECT_EQ(test, borrower_dma_build(mem, map, 4), 3u);
}

static void addrs_checked(struct kunit *test)
{
	struct borrower_memory *mem = translate_memory(test, SZ_4G);
	struct borrower_grant *grant = kunit_kzalloc(test, sizeof(*grant), GFP_KERNEL);
	const char *why;

	KUNIT_ASSERT_NOT_NULL(test, grant);
	KUNIT_EXPECT_TRUE(test, borrower_memory_addrs_valid(mem, grant, &why));
	mem->dma_bits = 38;
	KUNIT_EXPECT_FALSE(test, borrower_memory_addrs_valid(mem, grant, &why));
	mem->dma_bits = 40;
	KUNIT_EXPECT_TRUE(test, borrower_memory_addrs_valid(mem, grant, &why));
	mem->dma_bits = 65;
	KUNIT_EXPECT_FALSE(test, borrower_memory_addrs_valid(mem, grant, &why));
	mem->dma_bits = 64;
	mem->device_addr[BORROWER_MAP_RAM] = 0ull - SZ_2G;
	KUNIT_EXPECT_FALSE(test, borrower_memory_addrs_valid(mem, grant, &why));
	mem->device_addr[BORROWER_MAP_RAM] = TRANSLATE_DEVICE + 1;
	KUNIT_EXPECT_FALSE(test, borrower_memory_addrs_valid(mem, grant, &why));
	mem->device_addr[BORROWER_MAP_RAM] = TRANSLATE_DEVICE;
	mem->device_addr[BORROWER_MAP_MSI] = 1;
	KUNIT_EXPECT_FALSE(test, borrower_memory_addrs_valid(mem, grant, &why));
	/* with the interrupt range left out there is no such address */
	mem->maps = BORROWER_MAP_MSI;
	KUNIT_EXPECT_TRUE(test, borrower_memory_addrs_valid(mem, grant, &why));
	grant->bar[0].size = SZ_4K;
	grant->bar[0].lender_bus = TRANSLATE_DEVICE + SZ_1G;
	KUNIT_EXPECT_FALSE(test, borrower_memory_addrs_valid(mem, grant, &why));
}

/* Parts of 64 MiB or more, 16 at most, and one where the window is small. */
static void io_range_is_divided(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, borrower_io_slices(SZ_16M), 1u);
	KUNIT_EXPECT_EQ(test, borrower_io_slices(SZ_64M), 1u);
	KUNIT_EXPECT_EQ(test, borrower_io_slices(SZ_128M), 2u);
	KUNIT_EXPECT_EQ(test, borrower_io_slices(SZ_512M), 8u);
	KUNIT_EXPECT_EQ(test, borrower_io_slices(SZ_1G), 16u);
	KUNIT_EXPECT_EQ(test, borrower_io_slices(1ull << 40), 16u);
}

static void msi_is_translated(struct kunit *test)
{
	struct msi_msg msg = { .address_lo = 0xfee01004, .data = 0x31 };

	KUNIT_EXPECT_TRUE(test, borrower_irq_translate(0x8000000000ull, &msg));
	KUNIT_EXPECT_EQ(test, msg.address_hi, 0x80u);
	KUNIT_EXPECT_EQ(test, msg.address_lo, 0x1004u);
	KUNIT_EXPECT_EQ(test, msg.data, 0x31u);
}

static void msi_outside_the_range_is_defused(struct kunit *test)
{
	struct msi_msg high = { .address_hi = 1, .address_lo = 0xfee00000, .data = 0x31 };
	struct msi_msg none = {};

	KUNIT_EXPECT_FALSE(test, borrower_irq_translate(0x8000000000ull, &high));
	KUNIT_EXPECT_EQ(test, high.address_hi, 0x80u);
	KUNIT_EXPECT_EQ(test, high.address_lo, 0u);
	KUNIT_EXPECT_EQ(test, high.data, 0u);
	KUNIT_EXPECT_FALSE(test, borrower_irq_translate(0x8000000000ull, &none));
	KUNIT_EXPECT_EQ(test, none.address_hi, 0x80u);
}

static struct kunit_case translate_cases[] = {
	KUNIT_CASE(dma_covers_all_ram),
	KUNIT_CASE(dma_leaves_the_hole_out),
	KUNIT_CASE(dma_bounces_what_is_beyond),
	KUNIT_CASE(low_memory_ends),
	KUNIT_CASE(dma_cuts_a_piece),
	KUNIT_CASE(dma_needs_a_terminator),
	KUNIT_CASE(addrs_checked),
	KUNIT_CASE(io_range_is_divided),
	KUNIT_CASE(msi_is_translated),
	KUNIT_CASE(msi_outside_the_range_is_defused),
	{}
};

static struct kunit_suite translate_suite = {
	.name = "devlend-borrower-translate",
	.test_cases = translate_cases,
};

kunit_test_suite(translate_suite);
