// SPDX-License-Identifier: GPL-2.0
/*
 * Codec of control words: seals a frame and checks one. Who calls it: both lanes and the unit
 * tests. Pure: it owns nothing, takes no lock, and works in any context.
 *
 * The check covers the epochs of sender and receiver, so words that were left in the
 * scratchpads by an earlier life of either host are not taken for a frame.
 */
#include <linux/crc32.h>
#include <linux/kernel.h>

#include "frame.h"

static u16 frame_sum(u32 from, u32 to, u32 lane, u32 fields, const u32 *data, unsigned int n)
{
	__le32 head[4] = {
		cpu_to_le32(from), cpu_to_le32(to), cpu_to_le32(lane),
		cpu_to_le32(fields & ~DEVLEND_CTL_CHECK_MASK),
	};
	u32 crc = crc32_le(~0u, (const u8 *)head, sizeof(head));
	unsigned int i;

	for (i = 0; i < n; i++) {
		__le32 word = cpu_to_le32(data[i]);

		crc = crc32_le(crc, (const u8 *)&word, sizeof(word));
	}
	return crc & DEVLEND_CTL_CHECK_MASK;
}

/**
 * devlend_frame_seal() - complete a control word
 * @from: epoch of the sender
 * @to: epoch of the receiver
 * @lane: %DEVLEND_LANE_SLEEP or %DEVLEND_LANE_ATOMIC
 * @fields: bits 31..16 of the control word
 * @data: the frame's data words
 * @n: number of them
 *
 * Context: any.
 * Return: the control word with its check.
 */
u32 devlend_frame_seal(u32 from, u32 to, u32 lane, u32 fields, const u32 *data, unsigned int n)
{
	return (fields & ~DEVLEND_CTL_CHECK_MASK) | frame_sum(from, to, lane, fields, data, n);
}

/**
 * devlend_frame_check() - is this a frame from that peer's life to this one?
 * @from: epoch of the sender
 * @to: epoch of the receiver
 * @lane: %DEVLEND_LANE_SLEEP or %DEVLEND_LANE_ATOMIC
 * @ctl: control word as read
 * @data: data words as read
 * @n: number of them
 *
 * Context: any.
 */
bool devlend_frame_check(u32 from, u32 to, u32 lane, u32 ctl, const u32 *data, unsigned int n)
{
	return (ctl & DEVLEND_CTL_CHECK_MASK) == frame_sum(from, to, lane, ctl, data, n);
}
