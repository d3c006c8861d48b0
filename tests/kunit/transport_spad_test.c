// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of common/transport_spad.c: which NTBs can carry the channel, and in which order what
 * was written and the bell cross.
 *
 * The NTB is a table of operations that note what they were asked for; no hardware, no bus.
 */
#include <kunit/test.h>
#include <linux/irqflags.h>
#include <linux/ntb.h>
#include <linux/pci.h>

#include "../../common/transport_spad.c"

#define FAKE_NTB_CALLS	16

/**
 * struct fake_ntb - an NTB and what was asked of it
 * @ntb: what the transport sees
 * @pdev: its PCI function
 * @driver: that function's driver
 * @peers: ports on the other side
 * @words: scratchpads
 * @valid: doorbell bits
 * @unsafe_words: an erratum of the scratchpads
 * @unsafe_bells: an erratum of the doorbells
 * @bells: our doorbell bits that are set
 * @masked: our doorbell bits that are masked
 * @calls: a letter each: w = word written to the peer, r = read from there, b = bell rung, B = bell
 *	rung with interrupts off
 * @count: of @calls
 * @t: the transport under test
 */
struct fake_ntb {
	struct ntb_dev ntb;
	struct pci_dev pdev;
	struct device_driver driver;
	int peers;
	int words;
	u64 valid;
	bool unsafe_words;
	bool unsafe_bells;
	u64 bells;
	u64 masked;
	char calls[FAKE_NTB_CALLS];
	unsigned int count;
	struct devlend_transport t;
};

static struct fake_ntb *to_fake(struct ntb_dev *ntb)
{
	return container_of(ntb, struct fake_ntb, ntb);
}

static void fake_note(struct ntb_dev *ntb, char call)
{
	struct fake_ntb *fake = to_fake(ntb);

	/* the last byte ends the text */
	if (fake->count < FAKE_NTB_CALLS - 1)
		fake->calls[fake->count++] = call;
}

static int fake_peers(struct ntb_dev *ntb)
{
	return to_fake(ntb)->peers;
}

static int fake_words(struct ntb_dev *ntb)
{
	return to_fake(ntb)->words;
}

static int fake_words_unsafe(struct ntb_dev *ntb)
{
	return to_fake(ntb)->unsafe_words;
}

static int fake_bells_unsafe(struct ntb_dev *ntb)
{
	return to_fake(ntb)->unsafe_bells;
}

static u64 fake_valid(struct ntb_dev *ntb)
{
	return to_fake(ntb)->valid;
}

static u64 fake_bells(struct ntb_dev *ntb)
{
	return to_fake(ntb)->bells;
}

static int fake_clear(struct ntb_dev *ntb, u64 bells)
{
	to_fake(ntb)->bells &= ~bells;
	return 0;
}

static int fake_mask(struct ntb_dev *ntb, u64 bells)
{
	to_fake(ntb)->masked |= bells;
	return 0;
}

static int fake_unmask(struct ntb_dev *ntb, u64 bells)
{
	to_fake(ntb)->masked &= ~bells;
	return 0;
}

static int fake_peer_bell(struct ntb_dev *ntb, u64 bells)
{
	fake_note(ntb, irqs_disabled() ? 'B' : 'b');
	return 0;
}

static int fake_peer_write(struct ntb_dev *ntb, int peer, int word, u32 value)
{
	fake_note(ntb, 'w');
	return 0;
}

static u32 fake_peer_read(struct ntb_dev *ntb, int peer, int word)
{
	fake_note(ntb, 'r');
	return 0;
}

static const struct ntb_dev_ops fake_ntb_ops = {
	.peer_port_count = fake_peers,
	.spad_count	= fake_words,
	.spad_is_unsafe	= fake_words_unsafe,
	.db_is_unsafe	= fake_bells_unsafe,
	.db_valid_mask	= fake_valid,
	.db_read	= fake_bells,
	.db_clear	= fake_clear,
	.db_set_mask	= fake_mask,
	.db_clear_mask	= fake_unmask,
	.peer_db_set	= fake_peer_bell,
	.peer_spad_write = fake_peer_write,
	.peer_spad_read	= fake_peer_read,
};

/* Nothing is wrong with it. */
static void fake_good(struct fake_ntb *fake)
{
	fake->peers = 1;
	fake->words = 16;
	fake->valid = 0xfff0;
	fake->unsafe_words = false;
	fake->unsafe_bells = false;
}

static struct fake_ntb *fake_of(struct kunit *test, const char *driver)
{
	struct fake_ntb *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fake);
	fake->driver.name = driver;
	fake->pdev.dev.driver = &fake->driver;
	fake->ntb.dev.init_name = "fake";
	fake->ntb.pdev = &fake->pdev;
	fake->ntb.ops = &fake_ntb_ops;
	fake_good(fake);
	return fake;
}

static void transport_test_usual(struct kunit *test)
{
	struct fake_ntb *fake = fake_of(test, "ntb_hw_intel");
	struct devlend_transport *t = &fake->t;

	fake->words = 128;
	KUNIT_ASSERT_EQ(test, devlend_transport_spad_init(t, &fake->ntb), 0);
	KUNIT_EXPECT_EQ(test, t->words, DEVLEND_WORDS_MAX);
	KUNIT_EXPECT_EQ(test, t->bell, BIT_ULL(4));
	KUNIT_EXPECT_EQ(test, t->event_bell, BIT_ULL(5));
	KUNIT_EXPECT_EQ(test, fake->masked, BIT_ULL(4) | BIT_ULL(5));
	KUNIT_EXPECT_TRUE(test, t->maskable);
}

static void transport_test_refused(struct kunit *test)
{
	struct fake_ntb *fake = fake_of(test, "ntb_hw_intel");
	struct devlend_transport *t = &fake->t;

	/* of a switch with several hosts, and of one whose other port nobody has */
	fake->peers = 2;
	KUNIT_EXPECT_EQ(test, devlend_transport_spad_init(t, &fake->ntb), -EOPNOTSUPP);
	fake->peers = 0;
	KUNIT_EXPECT_EQ(test, devlend_transport_spad_init(t, &fake->ntb), -EOPNOTSUPP);
	fake_good(fake);
	fake->words = DEVLEND_WORDS_MIN - 1;
	KUNIT_EXPECT_EQ(test, devlend_transport_spad_init(t, &fake->ntb), -EOPNOTSUPP);
	fake_good(fake);
	fake->unsafe_words = true;
	KUNIT_EXPECT_EQ(test, devlend_transport_spad_init(t, &fake->ntb), -EOPNOTSUPP);
	fake_good(fake);
	fake->unsafe_bells = true;
	KUNIT_EXPECT_EQ(test, devlend_transport_spad_init(t, &fake->ntb), -EOPNOTSUPP);
	fake_good(fake);
	fake->valid = 0;
	KUNIT_EXPECT_EQ(test, devlend_transport_spad_init(t, &fake->ntb), -EOPNOTSUPP);
	/* nothing was masked, nothing crossed */
	KUNIT_EXPECT_EQ(test, fake->masked, 0);
	KUNIT_EXPECT_STREQ(test, fake->calls, "");
	fake_good(fake);
	fake->words = DEVLEND_WORDS_MIN;
	KUNIT_EXPECT_EQ(test, devlend_transport_spad_init(t, &fake->ntb), 0);
}

static void transport_test_bell_after_words(struct kunit *test)
{
	static const struct {
		const char *driver;
		const char *calls;
	} cases[] = {
		/* one way for both: nothing waits for an answer */
		{ "ntb_hw_intel", "wwb" },
		{ "ntb_hw_amd", "wwb" },
		/* words in memory, bells in registers: the answer shows that the words are there */
		{ "switchtec", "wwrb" },
		{ "ntb_hw_epf", "wwrb" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fake_ntb *fake = fake_of(test, cases[i].driver);
		struct devlend_transport *t = &fake->t;

		KUNIT_ASSERT_EQ(test, devlend_transport_spad_init(t, &fake->ntb), 0);
		t->ops->write(t, 3, 1);
		t->ops->write(t, 4, 2);
		t->ops->ring(t);
		KUNIT_EXPECT_STREQ(test, fake->calls, cases[i].calls);
	}
}

static void transport_test_bell_that_sleeps(struct kunit *test)
{
	struct fake_ntb *fake = fake_of(test, "pci-vntb");
	struct devlend_transport *t = &fake->t;
	unsigned long flags;

	KUNIT_ASSERT_EQ(test, devlend_transport_spad_init(t, &fake->ntb), 0);
	/* events are rung in an interrupt */
	KUNIT_EXPECT_EQ(test, t->event_bell, 0);
	local_irq_save(flags);
	t->ops->write(t, 3, 1);
	t->ops->ring(t);
	local_irq_restore(flags);
	t->ops->stop(t);
	KUNIT_EXPECT_STREQ(test, fake->calls, "wb");
}

static void transport_test_bells_apart(struct kunit *test)
{
	struct fake_ntb *fake = fake_of(test, "ntb_hw_intel");
	struct devlend_transport *t = &fake->t;

	KUNIT_ASSERT_EQ(test, devlend_transport_spad_init(t, &fake->ntb), 0);
	fake->bells = BIT_ULL(5) | BIT_ULL(7);
	KUNIT_EXPECT_FALSE(test, t->ops->take_bell(t));
	KUNIT_EXPECT_TRUE(test, t->ops->take_event(t));
	KUNIT_EXPECT_FALSE(test, t->ops->take_event(t));
	/* another's is left to it */
	KUNIT_EXPECT_EQ(test, fake->bells, BIT_ULL(7));
	/* what rang before anybody listened says nothing */
	fake->bells = BIT_ULL(4) | BIT_ULL(7);
	t->ops->mask(t, false);
	KUNIT_EXPECT_EQ(test, fake->masked, 0);
	KUNIT_EXPECT_FALSE(test, t->ops->take_bell(t));
	KUNIT_EXPECT_EQ(test, fake->bells, BIT_ULL(7));
}

static struct kunit_case transport_cases[] = {
	KUNIT_CASE(transport_test_usual),
	KUNIT_CASE(transport_test_refused),
	KUNIT_CASE(transport_test_bell_after_words),
	KUNIT_CASE(transport_test_bell_that_sleeps),
	KUNIT_CASE(transport_test_bells_apart),
	{}
};

static struct kunit_suite transport_suite = {
	.name = "devlend-transport-spad",
	.test_cases = transport_cases,
};

kunit_test_suite(transport_suite);
