/* SPDX-License-Identifier: GPL-2.0 */
/* Codec of the two lanes' control words; see frame.c. */
#ifndef DEVLEND_FRAME_H
#define DEVLEND_FRAME_H

#include <linux/types.h>

#include <devlend/wire.h>

/**
 * struct devlend_pair - the two lives that talk to each other
 * @mine: epoch of this host; 0 = no session
 * @peer: epoch of the peer
 */
struct devlend_pair {
	u32 mine;
	u32 peer;
};

u32 devlend_frame_seal(u32 from, u32 to, u32 lane, u32 fields, const u32 *data, unsigned int n);
bool devlend_frame_check(u32 from, u32 to, u32 lane, u32 ctl, const u32 *data, unsigned int n);

static inline unsigned int devlend_ctl_seq(u32 ctl)
{
	return (ctl >> DEVLEND_CTL_SEQ_SHIFT) & DEVLEND_CTL_NIBBLE;
}

static inline unsigned int devlend_ctl_ack(u32 ctl)
{
	return (ctl >> DEVLEND_CTL_ACK_SHIFT) & DEVLEND_CTL_NIBBLE;
}

static inline unsigned int devlend_seq_next(unsigned int seq)
{
	return seq >= DEVLEND_SEQ_MAX ? 1 : seq + 1;
}

#endif /* DEVLEND_FRAME_H */
