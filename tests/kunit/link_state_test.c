// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of common/link_state.c: each transition that matters, and rules that hold for
 * all of them. The last test plays two hosts against each other.
 */
#include <kunit/test.h>

#include "../../common/link_state.c"

#define END		DEVLEND_LINK_DO_END
#define EPOCH		DEVLEND_LINK_DO_EPOCH
#define ANNOUNCE	DEVLEND_LINK_DO_ANNOUNCE
#define ADOPT		DEVLEND_LINK_DO_ADOPT

static void state_expect(struct kunit *test, enum devlend_link_state from,
			 enum devlend_link_event event, enum devlend_link_state to,
			 unsigned int actions)
{
	struct devlend_link_step step = devlend_link_next(from, event);

	KUNIT_EXPECT_EQ_MSG(test, step.next, to, "%s, event %d", devlend_link_state_name(from),
			    event);
	KUNIT_EXPECT_EQ_MSG(test, step.actions, actions, "%s, event %d",
			    devlend_link_state_name(from), event);
}

static void state_test_usual_life(struct kunit *test)
{
	state_expect(test, DEVLEND_LINK_DOWN, DEVLEND_LINK_EV_NTB_UP, DEVLEND_LINK_HELLO, ANNOUNCE);
	state_expect(test, DEVLEND_LINK_HELLO, DEVLEND_LINK_EV_PEER, DEVLEND_LINK_HELLO,
		     END | ADOPT);
	state_expect(test, DEVLEND_LINK_HELLO, DEVLEND_LINK_EV_AGREED, DEVLEND_LINK_UP,
		     DEVLEND_LINK_DO_UP);
	state_expect(test, DEVLEND_LINK_UP, DEVLEND_LINK_EV_REMOVE, DEVLEND_LINK_GONE, END);
}

static void state_test_losses(struct kunit *test)
{
	state_expect(test, DEVLEND_LINK_UP, DEVLEND_LINK_EV_NTB_DOWN, DEVLEND_LINK_DOWN,
		     END | EPOCH);
	state_expect(test, DEVLEND_LINK_UP, DEVLEND_LINK_EV_PEER, DEVLEND_LINK_HELLO, END | ADOPT);
	state_expect(test, DEVLEND_LINK_UP, DEVLEND_LINK_EV_PEER_LEFT, DEVLEND_LINK_HELLO, END);
	state_expect(test, DEVLEND_LINK_UP, DEVLEND_LINK_EV_SILENT, DEVLEND_LINK_HELLO,
		     END | EPOCH | ANNOUNCE);
	state_expect(test, DEVLEND_LINK_UP, DEVLEND_LINK_EV_MISMATCH, DEVLEND_LINK_INCOMPATIBLE,
		     END);
}

static void state_test_same_epoch_again(struct kunit *test)
{
	state_expect(test, DEVLEND_LINK_HELLO, DEVLEND_LINK_EV_PEER_AGAIN, DEVLEND_LINK_HELLO,
		     END | EPOCH | ANNOUNCE | ADOPT);
}

static void state_test_incompatible(struct kunit *test)
{
	state_expect(test, DEVLEND_LINK_INCOMPATIBLE, DEVLEND_LINK_EV_AGREED,
		     DEVLEND_LINK_INCOMPATIBLE, 0);
	state_expect(test, DEVLEND_LINK_INCOMPATIBLE, DEVLEND_LINK_EV_SILENT,
		     DEVLEND_LINK_INCOMPATIBLE, 0);
	state_expect(test, DEVLEND_LINK_INCOMPATIBLE, DEVLEND_LINK_EV_NTB_UP,
		     DEVLEND_LINK_INCOMPATIBLE, 0);
	state_expect(test, DEVLEND_LINK_INCOMPATIBLE, DEVLEND_LINK_EV_PEER, DEVLEND_LINK_HELLO,
		     END | ADOPT);
	state_expect(test, DEVLEND_LINK_INCOMPATIBLE, DEVLEND_LINK_EV_PEER_LEFT,
		     DEVLEND_LINK_HELLO, END);
}

/* Whatever happens: gone stays gone, and a session never survives a change out of "up". */
static void state_test_rules(struct kunit *test)
{
	enum devlend_link_state state;
	enum devlend_link_event event;

	for (event = 0; event < DEVLEND_LINK_EVENTS; event++)
		state_expect(test, DEVLEND_LINK_GONE, event, DEVLEND_LINK_GONE, 0);
	for (state = 0; state < DEVLEND_LINK_STATES; state++) {
		for (event = 0; event < DEVLEND_LINK_EVENTS; event++) {
			struct devlend_link_step step = devlend_link_next(state, event);

			KUNIT_EXPECT_LT(test, step.next, DEVLEND_LINK_STATES);
			if (state == DEVLEND_LINK_UP && step.next != DEVLEND_LINK_UP)
				KUNIT_EXPECT_TRUE(test, step.actions & END);
			if (step.actions & ADOPT)
				KUNIT_EXPECT_TRUE(test, step.actions & END);
			if (step.next == DEVLEND_LINK_UP && state != DEVLEND_LINK_UP)
				KUNIT_EXPECT_EQ(test, state, DEVLEND_LINK_HELLO);
			/* a new epoch that nobody is told of is one of a host without a link */
			if ((step.actions & EPOCH) && !(step.actions & ANNOUNCE))
				KUNIT_EXPECT_EQ(test, step.next, DEVLEND_LINK_DOWN);
		}
	}
}

/**
 * struct state_host - as much of a host as the handshake needs
 * @state: of its link
 * @epoch: what it announces; 0 = nothing yet
 * @life: makes new epochs
 * @peer: epoch of the session; 0 = none
 * @used: as in &struct devlend_link
 * @sessions: begun so far
 */
struct state_host {
	enum devlend_link_state state;
	u32 epoch;
	u32 life;
	u32 peer;
	u32 used;
	unsigned int sessions;
};

static void state_host_feed(struct state_host *host, enum devlend_link_event event, u32 peer)
{
	struct devlend_link_step step = devlend_link_next(host->state, event);

	host->state = step.next;
	if (step.actions & END)
		host->peer = 0;
	if (step.actions & EPOCH) {
		host->life += 2;
		host->used = 0;
	}
	if (step.actions & ANNOUNCE)
		host->epoch = host->life;
	if (step.actions & ADOPT) {
		host->peer = peer;
		host->used = peer;
		host->sessions++;
	}
}

static void state_host_look(struct state_host *host, const struct state_host *other)
{
	if (other->epoch && other->epoch != host->peer)
		state_host_feed(host, other->epoch == host->used ? DEVLEND_LINK_EV_PEER_AGAIN :
				DEVLEND_LINK_EV_PEER, other->epoch);
}

/* Both lose the link, or find the other silent, at any time: they agree soon, and stay so. */
static void state_test_two_hosts_converge(struct kunit *test)
{
	struct state_host a = { .life = 1 }, b = { .life = 2 };
	unsigned int round, before;
	int i;

	state_host_feed(&a, DEVLEND_LINK_EV_NTB_UP, 0);
	state_host_feed(&b, DEVLEND_LINK_EV_NTB_UP, 0);
	for (round = 0; round < 16; round++) {
		if (round & 1)
			state_host_feed(&a, DEVLEND_LINK_EV_SILENT, 0);
		if (round & 2)
			state_host_feed(&b, DEVLEND_LINK_EV_SILENT, 0);
		if (round & 4)
			state_host_feed(&a, DEVLEND_LINK_EV_PEER_LEFT, 0);
		if (round & 8)
			state_host_look(&b, &a);
		for (i = 0; i < 3; i++) {
			state_host_look(&a, &b);
			state_host_look(&b, &a);
		}
		KUNIT_EXPECT_EQ(test, a.peer, b.epoch);
		KUNIT_EXPECT_EQ(test, b.peer, a.epoch);
		before = a.sessions + b.sessions;
		state_host_look(&a, &b);
		state_host_look(&b, &a);
		KUNIT_EXPECT_EQ(test, a.sessions + b.sessions, before);
	}
}

static void state_test_names(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, devlend_link_state_name(DEVLEND_LINK_UP), "up");
	KUNIT_EXPECT_STREQ(test, devlend_link_state_name(DEVLEND_LINK_STATES), "unknown");
}

static struct kunit_case state_cases[] = {
	KUNIT_CASE(state_test_usual_life),
	KUNIT_CASE(state_test_losses),
	KUNIT_CASE(state_test_same_epoch_again),
	KUNIT_CASE(state_test_incompatible),
	KUNIT_CASE(state_test_rules),
	KUNIT_CASE(state_test_two_hosts_converge),
	KUNIT_CASE(state_test_names),
	{}
};

static struct kunit_suite state_suite = {
	.name = "devlend-link-state",
	.test_cases = state_cases,
};

kunit_test_suite(state_suite);
