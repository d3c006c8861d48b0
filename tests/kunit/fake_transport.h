/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A transport out of memory, for the lanes' tests: two ends, each with the words that the
 * other wrote. It can lose writes, spoil them, and count bells; nothing happens by itself.
 */
#ifndef FAKE_TRANSPORT_H
#define FAKE_TRANSPORT_H

#include <linux/container_of.h>

#include <devlend/wire.h>

#include "../../common/transport.h"

/**
 * struct fake_end - one host's end
 * @t: what the lane under test sees
 * @other: the other end
 * @word: words that the other end wrote
 * @reads: words read by this end so far
 * @writes: writes of this end so far
 * @rings: bells rung by this end so far
 * @lose: so many of the next writes of this end are lost
 * @lose_nth: this one of its writes is lost, counted from 1; 0 = none
 * @spoil: exclusive-ored onto the next write to @spoil_word, once
 * @spoil_word: see @spoil
 */
struct fake_end {
	struct devlend_transport t;
	struct fake_end *other;
	u32 word[DEVLEND_WORDS_MAX];
	unsigned int reads;
	unsigned int writes;
	unsigned int rings;
	unsigned int lose;
	unsigned int lose_nth;
	u32 spoil;
	unsigned int spoil_word;
};

static inline struct fake_end *fake_end(struct devlend_transport *t)
{
	return container_of(t, struct fake_end, t);
}

static u32 fake_read(struct devlend_transport *t, unsigned int word)
{
	fake_end(t)->reads++;
	return fake_end(t)->word[word];
}

static void fake_write(struct devlend_transport *t, unsigned int word, u32 value)
{
	struct fake_end *end = fake_end(t);

	if (++end->writes == end->lose_nth)
		return;
	if (end->lose) {
		end->lose--;
		return;
	}
	if (end->spoil && word == end->spoil_word) {
		value ^= end->spoil;
		end->spoil = 0;
	}
	end->other->word[word] = value;
}

static void fake_ring(struct devlend_transport *t)
{
	fake_end(t)->rings++;
}

static const struct devlend_transport_ops fake_ops = {
	.read = fake_read,
	.write = fake_write,
	.ring = fake_ring,
};

static void fake_pair(struct fake_end *a, struct fake_end *b, unsigned int a_words,
		      unsigned int b_words)
{
	*a = (struct fake_end){ .t = { .ops = &fake_ops, .words = a_words }, .other = b };
	*b = (struct fake_end){ .t = { .ops = &fake_ops, .words = b_words }, .other = a };
}

#endif /* FAKE_TRANSPORT_H */
