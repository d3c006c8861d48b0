// SPDX-License-Identifier: GPL-2.0
/*
 * Transport over scratchpads and one doorbell bit.
 *
 * Who calls it: link.c once per NTB (init, mask, stop); the lanes, the worker and the beat through
 * the operations. It owns nothing but the choice of the bit and a work that rings where the
 * NTB's driver would sleep. No locks.
 *
 * A host reads its own scratchpads and writes the peer's, so a read never crosses the NTB
 * (read_back excepted: once per handshake, and before each ring where the bell could overtake
 * the words).
 *
 * The bell is the lowest doorbell bit that is valid, the event bell the one above. Both hosts take
 * the lowest: they need not have the same number of bits (an endpoint function and its host have
 * not), and all drivers count from 0.
 *
 * Traps of single drivers are kept in the table below; Documentation/porting.rst explains them.
 */
#include <linux/bitops.h>
#include <linux/device.h>
#include <linux/minmax.h>
#include <linux/ntb.h>
#include <linux/pci.h>
#include <linux/string.h>

#include <devlend/wire.h>

#include "transport.h"

/**
 * struct spad_quirk - what a driver does otherwise than the interface promises
 * @driver: name of the driver of the NTB's PCI function
 * @bell_sleeps: see &struct devlend_transport
 * @bell_overtakes: the same
 * @win_sleeps: the same
 */
struct spad_quirk {
	const char *driver;
	bool bell_sleeps;
	bool bell_overtakes;
	bool win_sleeps;
};

static const struct spad_quirk spad_quirks[] = {
	/* words in a memory window, bells in the switch's registers; windows wait for firmware */
	{ .driver = "switchtec", .bell_overtakes = true, .win_sleeps = true },
	/* the host's side of an endpoint function: commands wait for the endpoint's CPU */
	{ .driver = "ntb_hw_epf", .bell_overtakes = true, .win_sleeps = true },
	/* the endpoint's own side: a bell is an interrupt raised by a controller driver */
	{ .driver = "pci-vntb", .bell_sleeps = true, .win_sleeps = true },
};

static u32 spad_read(struct devlend_transport *t, unsigned int word)
{
	return ntb_spad_read(t->ntb, word);
}

static void spad_write(struct devlend_transport *t, unsigned int word, u32 value)
{
	ntb_peer_spad_write(t->ntb, NTB_DEF_PEER_IDX, word, value);
}

static u32 spad_read_back(struct devlend_transport *t, unsigned int word)
{
	return ntb_peer_spad_read(t->ntb, NTB_DEF_PEER_IDX, word);
}

static void spad_ring_now(struct devlend_transport *t)
{
	/* the answer to a read comes after the writes before it have landed: now the bell may go */
	if (t->bell_overtakes)
		spad_read_back(t, DEVLEND_WORD_HELLO);
	ntb_peer_db_set(t->ntb, t->bell);
}

static void spad_ring_work(struct work_struct *work)
{
	spad_ring_now(container_of(work, struct devlend_transport, ring_work));
}

static void spad_ring(struct devlend_transport *t)
{
	if (t->bell_sleeps)
		schedule_work(&t->ring_work);
	else
		spad_ring_now(t);
}

static bool spad_take(struct devlend_transport *t, u64 bell)
{
	if (!(ntb_db_read(t->ntb) & bell))
		return false;
	/* before the words are read: a bell that rings from here on rings again */
	ntb_db_clear(t->ntb, bell);
	return true;
}

static bool spad_take_bell(struct devlend_transport *t)
{
	return spad_take(t, t->bell);
}

static void spad_ring_event(struct devlend_transport *t)
{
	ntb_peer_db_set(t->ntb, t->event_bell);
}

static bool spad_take_event(struct devlend_transport *t)
{
	return t->event_bell && spad_take(t, t->event_bell);
}

static void spad_mask(struct devlend_transport *t, bool masked)
{
	u64 bells = t->bell | t->event_bell;

	if (masked) {
		ntb_db_set_mask(t->ntb, bells);
	} else {
		ntb_db_clear(t->ntb, bells);
		ntb_db_clear_mask(t->ntb, bells);
	}
}

static void spad_stop(struct devlend_transport *t)
{
	/* what was asked for last (goodbye) is rung first */
	flush_work(&t->ring_work);
}

static const struct devlend_transport_ops spad_ops = {
	.read = spad_read,
	.write = spad_write,
	.read_back = spad_read_back,
	.ring = spad_ring,
	.take_bell = spad_take_bell,
	.ring_event = spad_ring_event,
	.take_event = spad_take_event,
	.mask = spad_mask,
	.stop = spad_stop,
};

static int spad_check(struct ntb_dev *ntb)
{
	int words = ntb_spad_count(ntb);

	if (ntb_peer_port_count(ntb) != 1) {
		dev_err(&ntb->dev, "an NTB with %d peers is not supported: exactly one is\n",
			ntb_peer_port_count(ntb));
		return -EOPNOTSUPP;
	}
	if (words < DEVLEND_WORDS_MIN) {
		dev_err(&ntb->dev, "%d scratchpads, but %d are needed: this NTB is not supported\n",
			words, DEVLEND_WORDS_MIN);
		return -EOPNOTSUPP;
	}
	/* asking tells the driver that we know; the answer is what counts */
	if (ntb_spad_is_unsafe(ntb) || ntb_db_is_unsafe(ntb)) {
		dev_err(&ntb->dev, "an erratum makes this NTB's scratchpads or doorbells unusable in this set-up: see its driver's options\n");
		return -EOPNOTSUPP;
	}
	if (!ntb_db_valid_mask(ntb)) {
		dev_err(&ntb->dev, "no doorbell: this NTB is not supported\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

/**
 * devlend_transport_spad_init() - look at an NTB's scratchpads and doorbells
 * @t: filled in; the bell is masked, where that is possible
 * @ntb: the NTB; kept in @t
 *
 * Context: process.
 * Return: 0; -EOPNOTSUPP, with one log line, where the NTB cannot carry the channel.
 */
int devlend_transport_spad_init(struct devlend_transport *t, struct ntb_dev *ntb)
{
	const char *driver = dev_driver_string(&ntb->pdev->dev);
	unsigned int i;
	int err;

	err = spad_check(ntb);
	if (err)
		return err;
	t->ops = &spad_ops;
	t->ntb = ntb;
	t->words = min(ntb_spad_count(ntb), DEVLEND_WORDS_MAX);
	t->bell = BIT_ULL(__ffs64(ntb_db_valid_mask(ntb)));
	t->event_bell = (t->bell << 1) & ntb_db_valid_mask(ntb);
	t->maskable = !ntb_db_set_mask(ntb, t->bell | t->event_bell);
	INIT_WORK(&t->ring_work, spad_ring_work);
	for (i = 0; i < ARRAY_SIZE(spad_quirks); i++) {
		const struct spad_quirk *quirk = &spad_quirks[i];

		if (strcmp(driver, quirk->driver))
			continue;
		t->bell_sleeps = quirk->bell_sleeps;
		t->bell_overtakes = quirk->bell_overtakes;
		t->win_sleeps = quirk->win_sleeps;
	}
	if (t->bell_sleeps)
		t->event_bell = 0;
	return 0;
}
