/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Wire format, version 1: what two hosts write into each other's scratchpads.
 *
 * Each host owns one set of words per direction: the words that it *writes* lie in
 * the peer's scratchpads, and it *reads* its own. All that is needed fits in
 * eight words; words beyond the eighth, where both sides have them, only make the
 * frames of the sleeping lane longer.
 *
 *   word  name             written by the sender
 *   ----  ---------------  ---------------------------------------------------
 *     0   hello            magic, major version, number of words; 0 = not there
 *     1   epoch            random, never 0; new each time that the sender forgot
 *                          its leases (boot, reload, link lost, peer silent)
 *     2   beat             free-running counter, without a doorbell
 *     3   sleeping ctl     &enum devlend_ctl fields of lane 1
 *     4   sleeping data 0
 *     5   atomic ctl       &enum devlend_ctl fields of lane 2
 *     6   atomic data 0    random half of the lease handle
 *     7   atomic data 1    argument
 *    8..  sleeping data 1..n
 *
 * A frame is accepted only if its check fits both hosts' epochs, so words left over
 * from an earlier life of either host cannot be taken for a message. Both lanes are
 * stop-and-wait: a sender changes its data words only when the peer acknowledged
 * the frame before. See Documentation/protocol.rst for the ladder diagrams.
 *
 * All multi-byte fields of messages are little-endian; sizes and addresses are 64 bits.
 * This header is shared with user-space tests: it includes nothing but types.
 */
#ifndef DEVLEND_WIRE_H
#define DEVLEND_WIRE_H

#include <linux/types.h>

#define DEVLEND_WIRE_MAJOR	1
#define DEVLEND_WIRE_MINOR	0

/* --- the words ------------------------------------------------------------ */

enum devlend_word {
	DEVLEND_WORD_HELLO	= 0,
	DEVLEND_WORD_EPOCH	= 1,
	DEVLEND_WORD_BEAT	= 2,
	DEVLEND_WORD_SLEEP_CTL	= 3,
	DEVLEND_WORD_SLEEP_DATA	= 4,
	DEVLEND_WORD_ATOMIC_CTL	= 5,
	DEVLEND_WORD_ATOMIC_D0	= 6,
	DEVLEND_WORD_ATOMIC_D1	= 7,
	DEVLEND_WORD_SLEEP_MORE	= 8,
	DEVLEND_WORDS_MIN	= 8,
	/* a frame's word count has four bits: one data word and fourteen more */
	DEVLEND_WORDS_MAX	= 22,
};

/* The hello word: magic in bits 31..16, major in 15..8, number of words in 7..0. */
#define DEVLEND_HELLO_MAGIC	0xd1e5u
#define DEVLEND_HELLO(words) \
	((DEVLEND_HELLO_MAGIC << 16) | (DEVLEND_WIRE_MAJOR << 8) | (words))
#define DEVLEND_HELLO_GET_MAGIC(w)	((__u32)(w) >> 16)
#define DEVLEND_HELLO_GET_MAJOR(w)	(((__u32)(w) >> 8) & 0xff)
#define DEVLEND_HELLO_GET_WORDS(w)	((__u32)(w) & 0xff)

/* --- control words of the two lanes --------------------------------------- */

/*
 * Both control words carry, in bits 15..0, the low half of a CRC-32 (IEEE 802.3, reflected, begun
 * with ~0, not inverted at the end) over the sender's epoch, the receiver's epoch, a lane constant,
 * the word with bits 15..0 zero, and the data words of the frame, in this order, each as
 * four little-endian bytes.
 *
 * seq numbers the frame in the data words (1..15, then 1 again; 0 = none was sent
 * in this pair of epochs); ack is the seq of the last frame accepted from the peer.
 * An ack alone changes neither seq nor data.
 */
#define DEVLEND_CTL_SEQ_SHIFT	28
#define DEVLEND_CTL_ACK_SHIFT	24
#define DEVLEND_CTL_NIBBLE	0xfu
#define DEVLEND_CTL_CHECK_MASK	0xffffu
#define DEVLEND_SEQ_NONE	0u
#define DEVLEND_SEQ_MAX		15u

/* lane 1: data words in this frame (bits 19..16), first and last frame of a message */
#define DEVLEND_CTL_WORDS_SHIFT	16
#define DEVLEND_CTL_FIRST	(1u << 20)
#define DEVLEND_CTL_LAST	(1u << 21)

/* lane 2: status that goes with the ack (bits 23..20), operation (bits 19..16) */
#define DEVLEND_CTL_STATUS_SHIFT 20
#define DEVLEND_CTL_OP_SHIFT	16

#define DEVLEND_LANE_SLEEP	0x6c616e31u	/* seeds of the check */
#define DEVLEND_LANE_ATOMIC	0x6c616e32u

/**
 * enum devlend_atomic_op - operations of the atomic lane (four bits)
 *
 * All go from the host that holds the lease to the host that owns the device.
 * D0 is the random half of the lease handle (the epochs are in the check), D1 the argument.
 *
 * @DEVLEND_AOP_BUS_MASTER: 1 on, 0 off. Off is answered when the bit is clear.
 * @DEVLEND_AOP_FLR: start a function reset; done is told by %DEVLEND_OP_RESET_DONE.
 * @DEVLEND_AOP_MSI_ADDR_LO: address of the plain MSI message, lender bus address,
 *	checked against the granted interrupt range when MSI is enabled.
 * @DEVLEND_AOP_MSI_ADDR_HI: upper half of the same.
 * @DEVLEND_AOP_MSI_DATA: data of the plain MSI message.
 * @DEVLEND_AOP_MSI_MASK: mask bits, where the capability has them.
 * @DEVLEND_AOP_MSI_CTRL: message control word of MSI: enable, multiple message enable.
 * @DEVLEND_AOP_MSIX_CTRL: message control word of MSI-X: enable, function mask.
 * @DEVLEND_AOP_INTX_DISABLE: 1: INTx masked. 0: unmasked, which is also the end of the interrupt
 *	that was told last; it is told again where the device still asks for it.
 */
enum devlend_atomic_op {
	DEVLEND_AOP_BUS_MASTER		= 1,
	DEVLEND_AOP_FLR			= 2,
	DEVLEND_AOP_MSI_ADDR_LO		= 3,
	DEVLEND_AOP_MSI_ADDR_HI		= 4,
	DEVLEND_AOP_MSI_DATA		= 5,
	DEVLEND_AOP_MSI_MASK		= 6,
	DEVLEND_AOP_MSI_CTRL		= 7,
	DEVLEND_AOP_MSIX_CTRL		= 8,
	DEVLEND_AOP_INTX_DISABLE	= 9,
};

/**
 * enum devlend_status - outcome of a call, on both lanes; four bits
 * @DEVLEND_OK: done
 * @DEVLEND_E_INVAL: malformed, or out of range
 * @DEVLEND_E_NOENT: no such offer
 * @DEVLEND_E_STALE: handle or generation of an earlier life
 * @DEVLEND_E_BUSY: taken, or too many requests at once
 * @DEVLEND_E_PERM: not allowed to this peer
 * @DEVLEND_E_NOSPC: no window holds it
 * @DEVLEND_E_IO: device or window did not do as told
 * @DEVLEND_E_NOTSUPP: operation or feature unknown here
 * @DEVLEND_E_TIMEDOUT: the device did not get ready
 * @DEVLEND_E_NOMEM: no memory
 * @DEVLEND_E_RANGE: the device cannot address it
 * @DEVLEND_E_GONE: the device is gone, or quarantined
 * @DEVLEND_E_NOSVC: the module that serves it is not loaded
 * @DEVLEND_STATUS_MAX: largest value that fits on the wire
 *
 * Translated to errno in one function, devlend_status_to_errno().
 */
enum devlend_status {
	DEVLEND_OK		= 0,
	DEVLEND_E_INVAL		= 1,
	DEVLEND_E_NOENT		= 2,
	DEVLEND_E_STALE		= 3,
	DEVLEND_E_BUSY		= 4,
	DEVLEND_E_PERM		= 5,
	DEVLEND_E_NOSPC		= 6,
	DEVLEND_E_IO		= 7,
	DEVLEND_E_NOTSUPP	= 8,
	DEVLEND_E_TIMEDOUT	= 9,
	DEVLEND_E_NOMEM		= 10,
	DEVLEND_E_RANGE		= 11,
	DEVLEND_E_GONE		= 12,
	DEVLEND_E_NOSVC		= 13,
	DEVLEND_STATUS_MAX	= 15,
};

/* the messages of the sleeping lane */
#include <devlend/wire_messages.h>

#endif /* DEVLEND_WIRE_H */
