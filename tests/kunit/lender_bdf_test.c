// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of lender/bdf.c: what may be written into `lend` and `reclaim`.
 */
#include <kunit/test.h>

#include "../../lender/bdf.c"

struct bdf_case {
	const char *text;
	int err;
	u32 domain;
	u8 bus;
	u8 devfn;
	bool force;
	bool private;
};

static const struct bdf_case bdf_cases[] = {
	{ "0000:00:04.0", 0, 0, 0, PCI_DEVFN(4, 0), false },
	{ "00:04.0\n", 0, 0, 0, PCI_DEVFN(4, 0), false },
	{ "00:1f.7", 0, 0, 0, PCI_DEVFN(0x1f, 7), false },
	{ "ff:1F.7", 0, 0, 0xff, PCI_DEVFN(0x1f, 7), false },
	{ "18000:00:00.0", 0, 0x18000, 0, 0, false },
	{ "ffffffff:ff:1f.7 force\n", 0, 0xffffffff, 0xff, 0xff, true },
	{ "0001:02:03.4 force", 0, 1, 2, PCI_DEVFN(3, 4), true },
	{ "0001:02:03.4 private\n", 0, 1, 2, PCI_DEVFN(3, 4), false, true },
	{ "ffffffff:ff:1f.7 force private\n", 0, 0xffffffff, 0xff, 0xff, true, true },
	{ "", -EINVAL },
	{ "\n", -EINVAL },
	{ "garbage", -EINVAL },
	{ "0000:00:04", -EINVAL },
	{ "0000:00:04.", -EINVAL },
	{ "0000:00:04.8", -EINVAL },
	{ "0000:00:20.0", -EINVAL },
	{ "0000:00:04.0.0", -EINVAL },
	{ "000:00:04.0", -EINVAL },
	{ "000000000:00:04.0", -EINVAL },
	{ "0000:0:04.0", -EINVAL },
	{ "0000:000:04.0", -EINVAL },
	{ "0000:00:4.0", -EINVAL },
	{ "0x00:00:04.0", -EINVAL },
	{ "-000:00:04.0", -EINVAL },
	{ ":00:04.0", -EINVAL },
	{ " 00:04.0", -EINVAL },
	{ "00:04.0 ", -EINVAL },
	{ "00:04.0 forc", -EINVAL },
	{ "00:04.0 forced", -EINVAL },
	{ "00:04.0 force force", -EINVAL },
	{ "00:04.0 private private", -EINVAL },
	{ "00:04.0 private force", -EINVAL },
	{ "00:04.0 force ", -EINVAL },
	{ "00:04.0  force", -EINVAL },
	{ "00:04.0\tforce", -EINVAL },
	{ "00:04.0\n\n", -EINVAL },
};

static void bdf_texts(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bdf_cases); i++) {
		const struct bdf_case *c = &bdf_cases[i];
		struct lender_bdf bdf;

		KUNIT_EXPECT_EQ_MSG(test, lender_bdf_parse(c->text, strlen(c->text), &bdf), c->err,
				    "\"%s\"", c->text);
		if (c->err)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, bdf.domain, c->domain, "\"%s\"", c->text);
		KUNIT_EXPECT_EQ_MSG(test, bdf.bus, c->bus, "\"%s\"", c->text);
		KUNIT_EXPECT_EQ_MSG(test, bdf.devfn, c->devfn, "\"%s\"", c->text);
		KUNIT_EXPECT_EQ_MSG(test, bdf.force, c->force, "\"%s\"", c->text);
		KUNIT_EXPECT_EQ_MSG(test, bdf.private, c->private, "\"%s\"", c->text);
	}
}

/* What sysfs passes on may hold anything, and end anywhere. */
static void bdf_lengths(struct kunit *test)
{
	static const char hole[] = "00:04.0\0force";
	struct lender_bdf bdf;
	char *page = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_EQ(test, lender_bdf_parse(hole, sizeof(hole) - 1, &bdf), -EINVAL);
	KUNIT_EXPECT_EQ(test, lender_bdf_parse("00:04.0xxxx", 7, &bdf), 0);
	KUNIT_EXPECT_EQ(test, lender_bdf_parse("00:04.0", 6, &bdf), -EINVAL);
	memset(page, 'f', PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, lender_bdf_parse(page, PAGE_SIZE, &bdf), -EINVAL);
	KUNIT_EXPECT_EQ(test, lender_bdf_parse(page, 31, &bdf), -EINVAL);
	KUNIT_EXPECT_EQ(test, lender_bdf_parse(page, 32, &bdf), -EINVAL);
}

static struct kunit_case bdf_kunit_cases[] = {
	KUNIT_CASE(bdf_texts),
	KUNIT_CASE(bdf_lengths),
	{}
};

static struct kunit_suite bdf_suite = {
	.name = "devlend-lender-bdf",
	.test_cases = bdf_kunit_cases,
};

kunit_test_suite(bdf_suite);
