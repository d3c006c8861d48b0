// SPDX-License-Identifier: GPL-2.0
/*
 * Transport over scratchpads and one doorbell bit.
 *
 * A host reads its own scratchpads and writes the peer's, so a read never crosses the NTB
 * (read_back excepted, which is used once per handshake). The bell is the highest doorbell bit that
 * is valid on this side: both sides run the same driver, hence pick the same bit.
 *
 * Traps of single drivers are kept here; Documentation/porting.rst lists them.
 */
#include <linux/log2.h>
#include <linux/ntb.h>
#include <linux/pci.h>

#include <devlend/wire.h>

#include "transport.h"

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

static void spad_ring(struct devlend_transport *t)
{
	/*
	 * Where bell and words take different paths (Switchtec keeps its words in a memory window), the
	 * bell could overtake them: a read of the last path's word pushes the writes out first.
	 */
	if (t->win_sleeps)
		ntb_peer_spad_read(t->ntb, NTB_DEF_PEER_IDX, DEVLEND_WORD_BEAT);
	ntb_peer_db_set(t->ntb, t->bell);
}

static bool spad_take_bell(struct devlend_transport *t)
{
	if (!(ntb_db_read(t->ntb) & t->bell))
		return false;
	ntb_db_clear(t->ntb, t->bell);
	return true;
}

static void spad_mask(struct devlend_transport *t, bool masked)
{
	if (masked) {
		ntb_db_set_mask(t->ntb, t->bell);
	} else {
		ntb_db_clear(t->ntb, t->bell);
		ntb_db_clear_mask(t->ntb, t->bell);
	}
}

static const struct devlend_transport_ops spad_ops = {
	.read = spad_read,
	.write = spad_write,
	.read_back = spad_read_back,
	.ring = spad_ring,
	.take_bell = spad_take_bell,
	.mask = spad_mask,
};

static bool spad_driver_is(struct ntb_dev *ntb, const char *name)
{
	const char *driver = dev_driver_string(&ntb->pdev->dev);

	return strstr(driver, name);
}

/**
 * devlend_transport_spad_init() - look at an NTB's scratchpads and doorbells
 * @t: filled in
 * @ntb: the NTB; kept in @t
 *
 * Context: process.
 * Return: 0; -EOPNOTSUPP, with one log line, where the NTB cannot carry the channel.
 */
int devlend_transport_spad_init(struct devlend_transport *t, struct ntb_dev *ntb)
{
	u64 valid = ntb_db_valid_mask(ntb);
	int words = ntb_spad_count(ntb);

	if (ntb_peer_port_count(ntb) > 1) {
		dev_err(&ntb->dev, "more than two hosts on one NTB are not supported\n");
		return -EOPNOTSUPP;
	}
	if (ntb_spad_is_unsafe(ntb) || ntb_db_is_unsafe(ntb)) {
		dev_err(&ntb->dev, "this NTB's scratchpads or doorbells have an erratum that makes them unusable here\n");
		return -EOPNOTSUPP;
	}
	if (words < DEVLEND_WORDS_MIN) {
		dev_err(&ntb->dev, "%d scratchpads, but %d are needed: this NTB is not supported\n",
			words, DEVLEND_WORDS_MIN);
		return -EOPNOTSUPP;
	}
	if (!valid) {
		dev_err(&ntb->dev, "no doorbell: this NTB is not supported\n");
		return -EOPNOTSUPP;
	}
	t->ops = &spad_ops;
	t->ntb = ntb;
	t->words = min_t(unsigned int, words, DEVLEND_WORDS_MAX);
	t->bell = BIT_ULL(ilog2(valid));
	t->maskable = true;
	t->win_sleeps = spad_driver_is(ntb, "switchtec");
	t->bell_sleeps = spad_driver_is(ntb, "vntb") || spad_driver_is(ntb, "epf");
	return 0;
}
