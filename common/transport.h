/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transport: words that the peer can read and a bell that it hears. What lies above
 * knows neither scratchpads nor doorbells; message registers or a memory ring can follow.
 */
#ifndef DEVLEND_TRANSPORT_H
#define DEVLEND_TRANSPORT_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct devlend_transport;
struct ntb_dev;

/**
 * struct devlend_transport_ops - one kind of transport
 * @read: a word that the peer wrote, from this host's own registers. Context: any.
 * @write: a word to the peer, posted; writes arrive in order. Context: any.
 * @read_back: a word that this host wrote, from the peer: slow. Context: any.
 * @ring: the peer's bell, after all words written before. Context: any.
 * @take_bell: was our bell rung? clears it. Context: hard IRQ.
 * @ring_event: the peer's event bell; only where there is one. Context: any.
 * @take_event: was our event bell rung? clears it. Context: hard IRQ.
 * @mask: hear the bell, or not. Context: process.
 * @stop: no ring is under way on return. Nothing rings any more. Context: process.
 */
struct devlend_transport_ops {
	u32 (*read)(struct devlend_transport *t, unsigned int word);
	void (*write)(struct devlend_transport *t, unsigned int word, u32 value);
	u32 (*read_back)(struct devlend_transport *t, unsigned int word);
	void (*ring)(struct devlend_transport *t);
	bool (*take_bell)(struct devlend_transport *t);
	void (*ring_event)(struct devlend_transport *t);
	bool (*take_event)(struct devlend_transport *t);
	void (*mask)(struct devlend_transport *t, bool masked);
	void (*stop)(struct devlend_transport *t);
};

/**
 * struct devlend_transport - a transport and what it can do
 * @ops: its functions
 * @ntb: the NTB behind it; borrowed from the link, which outlives it
 * @words: words per direction, at least %DEVLEND_WORDS_MIN
 * @bell_sleeps: the NTB's driver sleeps when it rings: @ops->ring leaves it to @ring_work
 * @bell_overtakes: words and bell take different paths: a word is read back before each ring
 * @win_sleeps: programming a window may sleep for long
 * @maskable: the bell can be masked
 * @bell: the doorbell bit of the channel, as a mask
 * @event_bell: the one of events; 0 where there is none, or where it cannot be rung in an interrupt
 * @ring_work: rings where @bell_sleeps
 */
struct devlend_transport {
	const struct devlend_transport_ops *ops;
	struct ntb_dev *ntb;
	unsigned int words;
	bool bell_sleeps;
	bool bell_overtakes;
	bool win_sleeps;
	bool maskable;
	u64 bell;
	u64 event_bell;
	struct work_struct ring_work;
};

int devlend_transport_spad_init(struct devlend_transport *t, struct ntb_dev *ntb);

#endif /* DEVLEND_TRANSPORT_H */
