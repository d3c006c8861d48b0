// SPDX-License-Identifier: GPL-2.0
/* KUnit suite of common/frame.c: what a check covers, and that it is the one of the protocol. */
#include <kunit/test.h>

#include "../../common/frame.c"

#define FRAME_FROM	0x11111111u
#define FRAME_TO	0x22222222u
#define FRAME_FIELDS	0x12340000u

static const u32 frame_data[] = { 0x01234567u, 0x89abcdefu, 0xffffffffu };

static u32 frame_sealed(void)
{
	return devlend_frame_seal(FRAME_FROM, FRAME_TO, DEVLEND_LANE_SLEEP, FRAME_FIELDS,
				  frame_data, ARRAY_SIZE(frame_data));
}

static bool frame_ok(u32 from, u32 to, u32 lane, u32 ctl, const u32 *data, unsigned int n)
{
	return devlend_frame_check(from, to, lane, ctl, data, n);
}

static void frame_test_round_trip(struct kunit *test)
{
	u32 ctl = frame_sealed();

	KUNIT_EXPECT_EQ(test, ctl & ~DEVLEND_CTL_CHECK_MASK, FRAME_FIELDS);
	KUNIT_EXPECT_TRUE(test, frame_ok(FRAME_FROM, FRAME_TO, DEVLEND_LANE_SLEEP, ctl,
					 frame_data, 3));
}

/* Bit by bit, over the bytes of the protocol: an independent way to the same number. */
static u32 frame_crc_slowly(u32 crc, u32 word)
{
	int bit;

	for (bit = 0; bit < 32; bit++) {
		u32 mix = (crc ^ (word >> bit)) & 1;

		crc = (crc >> 1) ^ (mix ? 0xedb88320u : 0);
	}
	return crc;
}

static void frame_test_is_the_protocols(struct kunit *test)
{
	const u32 covered[] = { FRAME_FROM, FRAME_TO, DEVLEND_LANE_SLEEP, FRAME_FIELDS,
				frame_data[0], frame_data[1], frame_data[2] };
	u32 crc = ~0u;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(covered); i++)
		crc = frame_crc_slowly(crc, covered[i]);
	KUNIT_EXPECT_EQ(test, frame_sealed() & DEVLEND_CTL_CHECK_MASK, crc & 0xffff);
}

static void frame_test_other_life(struct kunit *test)
{
	u32 ctl = frame_sealed();

	KUNIT_EXPECT_FALSE(test, frame_ok(FRAME_FROM + 1, FRAME_TO, DEVLEND_LANE_SLEEP, ctl,
					  frame_data, 3));
	KUNIT_EXPECT_FALSE(test, frame_ok(FRAME_FROM, FRAME_TO + 1, DEVLEND_LANE_SLEEP, ctl,
					  frame_data, 3));
	KUNIT_EXPECT_FALSE(test, frame_ok(FRAME_TO, FRAME_FROM, DEVLEND_LANE_SLEEP, ctl,
					  frame_data, 3));
	KUNIT_EXPECT_FALSE(test, frame_ok(FRAME_FROM, FRAME_TO, DEVLEND_LANE_ATOMIC, ctl,
					  frame_data, 3));
	KUNIT_EXPECT_FALSE(test, frame_ok(FRAME_FROM, FRAME_TO, DEVLEND_LANE_SLEEP, ctl,
					  frame_data, 2));
}

static void frame_test_every_bit(struct kunit *test)
{
	u32 ctl = frame_sealed(), data[3];
	unsigned int bit;

	for (bit = 0; bit < 32; bit++)
		KUNIT_EXPECT_FALSE(test, frame_ok(FRAME_FROM, FRAME_TO, DEVLEND_LANE_SLEEP,
						  ctl ^ BIT(bit), frame_data, 3));
	for (bit = 0; bit < 96; bit++) {
		memcpy(data, frame_data, sizeof(data));
		data[bit / 32] ^= BIT(bit % 32);
		KUNIT_EXPECT_FALSE(test, frame_ok(FRAME_FROM, FRAME_TO, DEVLEND_LANE_SLEEP, ctl,
						  data, 3));
	}
}

/* Scratchpads that were reset, or that a device does not answer for, are no frames. */
static void frame_test_blank_words(struct kunit *test)
{
	const u32 zeroes[2] = {}, ones[2] = { ~0u, ~0u };

	KUNIT_EXPECT_FALSE(test, frame_ok(FRAME_FROM, FRAME_TO, DEVLEND_LANE_ATOMIC, 0, zeroes, 2));
	KUNIT_EXPECT_FALSE(test, frame_ok(FRAME_FROM, FRAME_TO, DEVLEND_LANE_ATOMIC, ~0u, ones, 2));
}

static void frame_test_seq(struct kunit *test)
{
	unsigned int seq = DEVLEND_SEQ_NONE, i;

	for (i = 1; i <= DEVLEND_SEQ_MAX; i++) {
		seq = devlend_seq_next(seq);
		KUNIT_EXPECT_EQ(test, seq, i);
	}
	KUNIT_EXPECT_EQ(test, devlend_seq_next(seq), 1u);
	KUNIT_EXPECT_EQ(test, devlend_ctl_seq(0xa5000000u), 0xau);
	KUNIT_EXPECT_EQ(test, devlend_ctl_ack(0xa5000000u), 0x5u);
}

static struct kunit_case frame_cases[] = {
	KUNIT_CASE(frame_test_round_trip),
	KUNIT_CASE(frame_test_is_the_protocols),
	KUNIT_CASE(frame_test_other_life),
	KUNIT_CASE(frame_test_every_bit),
	KUNIT_CASE(frame_test_blank_words),
	KUNIT_CASE(frame_test_seq),
	{}
};

static struct kunit_suite frame_suite = {
	.name = "devlend-frame",
	.test_cases = frame_cases,
};

kunit_test_suite(frame_suite);
