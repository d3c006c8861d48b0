// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of lender/access_list.c: who may have a lent device, and how that is written.
 */
#include <kunit/test.h>

#include "../../lender/access_list.c"

#define A	"11111111-2222-3333-4444-555555555555"
#define B	"aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
#define B_UPPER	"AAAAAAAA-BBBB-CCCC-DDDD-EEEEEEEEEEEE"
#define NIL	"00000000-0000-0000-0000-000000000000"

static const uuid_t access_a = UUID_INIT(0x11111111, 0x2222, 0x3333, 0x44, 0x44, 0x55, 0x55, 0x55,
					 0x55, 0x55, 0x55);
static const uuid_t access_b = UUID_INIT(0xaaaaaaaa, 0xbbbb, 0xcccc, 0xdd, 0xdd, 0xee, 0xee, 0xee,
					 0xee, 0xee, 0xee);

struct access_case {
	const char *text;
	int err;
	const char *printed;
	bool has_a, has_b, force;
};

static const struct access_case access_cases[] = {
	{ "any", 0, "any\n", true, true, false },
	{ "none\n", 0, "none\n", false, false, false },
	{ A, 0, A "\n", true, false, false },
	{ " \t" A "\n\n", 0, A "\n", true, false, false },
	{ A " " B "\n", 0, A " " B "\n", true, true, false },
	{ B_UPPER "\n" A, 0, B " " A "\n", true, true, false },
	{ B " " B " " B, 0, B "\n", false, true, false },
	{ "any force", 0, "any\n", true, true, true },
	{ "none force\n", 0, "none\n", false, false, true },
	{ A " force", 0, A "\n", true, false, true },
	{ "", -EINVAL },
	{ "\n", -EINVAL },
	{ "force", -EINVAL },
	{ "ANY", -EINVAL },
	{ "anyone", -EINVAL },
	{ "any any", -EINVAL },
	{ "any " A, -EINVAL },
	{ A " any", -EINVAL },
	{ A " none", -EINVAL },
	{ "none " A, -EINVAL },
	{ "any force force", -EINVAL },
	{ "any force " A, -EINVAL },
	{ NIL, -EINVAL },
	{ A " " NIL, -EINVAL },
	{ A "0", -EINVAL },
	{ "{" A "}", -EINVAL },
	{ "11111111-2222-3333-4444-55555555555", -EINVAL },
	{ "11111111-2222-3333-4444-55555555555g", -EINVAL },
	{ "111111112222-3333-4444-5555555555555", -EINVAL },
	{ A "," B, -EINVAL },
};

static void access_texts(struct kunit *test)
{
	char *buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	struct lender_access list;
	unsigned int i;
	bool force;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (i = 0; i < ARRAY_SIZE(access_cases); i++) {
		const struct access_case *c = &access_cases[i];
		int err = lender_access_parse(c->text, strlen(c->text), &list, &force);

		KUNIT_EXPECT_EQ_MSG(test, err, c->err, "\"%s\"", c->text);
		if (c->err)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, force, c->force, "\"%s\"", c->text);
		KUNIT_EXPECT_EQ_MSG(test, lender_access_has(&list, &access_a), c->has_a, "\"%s\"",
				    c->text);
		KUNIT_EXPECT_EQ_MSG(test, lender_access_has(&list, &access_b), c->has_b, "\"%s\"",
				    c->text);
		KUNIT_EXPECT_EQ(test, lender_access_print(&list, buf, PAGE_SIZE),
				(int)strlen(c->printed));
		KUNIT_EXPECT_STREQ(test, buf, c->printed);
	}
}

/* Where nobody can lose a device, "force" means nothing. */
static void access_force_not_understood(struct kunit *test)
{
	static const char text[] = "any force";
	struct lender_access list;

	KUNIT_EXPECT_EQ(test, lender_access_parse(text, strlen(text), &list, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, lender_access_parse(text, 3, &list, NULL), 0);
}

/* A text may hold anything and end anywhere. */
static void access_lengths(struct kunit *test)
{
	static const char hole[] = "any\0none";
	char *page = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	struct lender_access list;
	bool force;

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_EQ(test, lender_access_parse(hole, sizeof(hole) - 1, &list, &force), -EINVAL);
	KUNIT_EXPECT_EQ(test, lender_access_parse(A "x", UUID_STRING_LEN, &list, &force), 0);
	memset(page, ' ', PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, lender_access_parse(page, PAGE_SIZE, &list, &force), -EINVAL);
	memset(page, 'f', PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, lender_access_parse(page, PAGE_SIZE, &list, &force), -EINVAL);
}

/* As many as there is room for, and all of them come back; one more is refused. */
static void access_full(struct kunit *test)
{
	char *text = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	char *back = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	struct lender_access list;
	unsigned int i;
	bool force;
	int n = 0;

	KUNIT_ASSERT_NOT_NULL(test, text);
	KUNIT_ASSERT_NOT_NULL(test, back);
	for (i = 1; i <= LENDER_ACCESS_HOSTS; i++)
		n += scnprintf(text + n, PAGE_SIZE - n,
			       "%08x-0000-0000-0000-000000000000%c", i,
			       i == LENDER_ACCESS_HOSTS ? '\n' : ' ');
	KUNIT_EXPECT_EQ(test, lender_access_parse(text, n, &list, &force), 0);
	KUNIT_EXPECT_EQ(test, lender_access_print(&list, back, PAGE_SIZE), n);
	KUNIT_EXPECT_STREQ(test, back, text);
	/* one that is there already needs no room */
	memcpy(text + n, text, UUID_STRING_LEN);
	KUNIT_EXPECT_EQ(test, lender_access_parse(text, n + UUID_STRING_LEN, &list, &force), 0);
	memcpy(text + n, A, UUID_STRING_LEN);
	KUNIT_EXPECT_EQ(test, lender_access_parse(text, n + UUID_STRING_LEN, &list, &force),
			-E2BIG);
}

/* A peer that is not there is nil, and has no rights, not even where all have. */
static void access_nil_is_nobody(struct kunit *test)
{
	const struct lender_access any = { .any = true }, none = { };

	KUNIT_EXPECT_FALSE(test, lender_access_has(&any, &uuid_null));
	KUNIT_EXPECT_FALSE(test, lender_access_has(&none, &uuid_null));
	KUNIT_EXPECT_EQ(test, lender_access_right(&any, &any, &uuid_null), LENDER_RIGHT_NONE);
}

/* Who may borrow sees; who may see does not borrow. */
static void access_rights(struct kunit *test)
{
	const struct lender_access any = { .any = true }, none = { };
	const struct lender_access a = { .hosts = 1, .host = { access_a } };

	KUNIT_EXPECT_EQ(test, lender_access_right(&any, &none, &access_a), LENDER_RIGHT_BORROW);
	KUNIT_EXPECT_EQ(test, lender_access_right(&a, &any, &access_a), LENDER_RIGHT_BORROW);
	KUNIT_EXPECT_EQ(test, lender_access_right(&a, &any, &access_b), LENDER_RIGHT_SEE);
	KUNIT_EXPECT_EQ(test, lender_access_right(&none, &a, &access_a), LENDER_RIGHT_SEE);
	KUNIT_EXPECT_EQ(test, lender_access_right(&none, &a, &access_b), LENDER_RIGHT_NONE);
	KUNIT_EXPECT_EQ(test, lender_access_right(&none, &none, &access_a), LENDER_RIGHT_NONE);
}

/* A device that is not there is shown to nobody, whatever their rights. */
static void access_offers(struct kunit *test)
{
	u32 offer;

	for (offer = DEVLEND_OFFER_AVAILABLE; offer <= DEVLEND_OFFER_QUARANTINED; offer++) {
		KUNIT_EXPECT_EQ(test, lender_access_offer(LENDER_RIGHT_BORROW, offer), offer);
		KUNIT_EXPECT_EQ(test, lender_access_offer(LENDER_RIGHT_SEE, offer),
				(u32)DEVLEND_OFFER_FORBIDDEN);
		KUNIT_EXPECT_EQ(test, lender_access_offer(LENDER_RIGHT_NONE, offer), 0u);
	}
	KUNIT_EXPECT_EQ(test, lender_access_offer(LENDER_RIGHT_BORROW, 0), 0u);
	KUNIT_EXPECT_EQ(test, lender_access_offer(LENDER_RIGHT_SEE, 0), 0u);
}

static struct kunit_case access_kunit_cases[] = {
	KUNIT_CASE(access_texts),
	KUNIT_CASE(access_force_not_understood),
	KUNIT_CASE(access_lengths),
	KUNIT_CASE(access_full),
	KUNIT_CASE(access_nil_is_nobody),
	KUNIT_CASE(access_rights),
	KUNIT_CASE(access_offers),
	{}
};

static struct kunit_suite access_suite = {
	.name = "devlend-lender-access",
	.test_cases = access_kunit_cases,
};

kunit_test_suite(access_suite);
