// SPDX-License-Identifier: GPL-2.0
/*
 * devlend preflight: would it work? The host, its links, and each device that is lent, offered, or
 * named, looked at one by one; what is wrong with its remedy, and a verdict for each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bulk.h"
#include "jsonout.h"
#include "lent.h"
#include "preflight.h"

/* What the verdicts are about: a device or offer, in a role. */
struct verdicts {
	size_t count;
	struct verdict {
		char about[64];
		unsigned int role;
	} *verdict;
};

static void verdict_add(struct verdicts *verdicts, const char *about, unsigned int role)
{
	struct verdict *new;
	size_t i;

	for (i = 0; i < verdicts->count; i++)
		if (!strcmp(verdicts->verdict[i].about, about))
			return;
	verdicts->verdict = realloc(verdicts->verdict, (verdicts->count + 1) * sizeof(*new));
	if (!verdicts->verdict)
		abort();
	new = &verdicts->verdict[verdicts->count++];
	*new = (struct verdict){ .role = role };
	snprintf(new->about, sizeof(new->about), "%s", about);
}

/* The worst of what is its own, and of what is the host's and the links' for that role. */
static enum result judge(const struct preflight *pf, const struct verdict *verdict)
{
	enum result worst, one;
	size_t i;

	worst = findings_worst(&pf->findings, verdict->about, verdict->role);
	one = findings_worst(&pf->findings, "host", verdict->role);
	worst = one > worst ? one : worst;
	for (i = 0; i < pf->links.count; i++) {
		one = findings_worst(&pf->findings, pf->links.link[i].name, verdict->role);
		worst = one > worst ? one : worst;
	}
	return worst;
}

static bool add_offers(struct preflight *pf, struct verdicts *verdicts, const char *word,
		       const struct filter *filter)
{
	struct offers offers;
	bool found = false;
	size_t i;

	offers_read(&offers);
	for (i = 0; i < offers.count; i++) {
		const struct offer *offer = &offers.offer[i];
		struct subject subject = { offer->device, "", offer->host, &offer->ids };

		if (word ? !offer_is(offer, word) : !filter_fits(filter, &subject))
			continue;
		found = true;
		preflight_offer(pf, offer);
		verdict_add(verdicts, offer->name, ROLE_BORROW);
	}
	offers_free(&offers);
	return found;
}

static void add_device(struct preflight *pf, struct verdicts *verdicts, const char *bdf)
{
	size_t before = verdicts->count;

	verdict_add(verdicts, bdf, ROLE_LEND);
	if (verdicts->count > before)
		preflight_device(pf, bdf);
}

/* What is lent and offered, and with a filter all that fits it. */
static void add_all(struct preflight *pf, struct verdicts *verdicts, const struct filter *filter)
{
	struct names names = { 0 };
	struct lents lents;
	size_t i;

	if (pf->roles & ROLE_LEND) {
		lents_read(&lents);
		for (i = 0; i < lents.count; i++) {
			const struct lent *lent = &lents.lent[i];
			struct subject subject = { lent->bdf, lent->driver, lent->peer,
						   &lent->ids };

			if (filter_fits(filter, &subject))
				add_device(pf, verdicts, lent->bdf);
		}
		lents_free(&lents);
		if (filter->given)
			devices_find(filter, &names);
		for (i = 0; i < names.count; i++)
			add_device(pf, verdicts, names.name[i]);
		names_free(&names);
	}
	if (pf->roles & ROLE_BORROW)
		add_offers(pf, verdicts, NULL, filter);
}

static int add_named(struct preflight *pf, struct verdicts *verdicts, const char *word,
		     struct why *why)
{
	char bdf[PCIADDR_MAX];
	bool offered = add_offers(pf, verdicts, word, NULL);
	struct why other;

	/* a device here may have the address that another has at its lender */
	if (!device_resolve(word, bdf, offered ? &other : why) && sys_exists(SYS_PCI "/%s", bdf)) {
		add_device(pf, verdicts, bdf);
		return TOOL_OK;
	}
	if (offered)
		return TOOL_OK;
	return why_not(why, TOOL_NOT_FOUND,
		       "%s: no such device or offer; lspci -D and devlend list have them", word);
}

static void print_json(const struct verb *verb, const struct preflight *pf,
		       const struct verdicts *verdicts)
{
	struct json_object *o = json_document(verb->name), *list = json_object_new_array(), *one;
	size_t i;

	for (i = 0; i < pf->findings.count; i++)
		json_object_array_add(list, finding_json(&pf->findings.finding[i]));
	json_object_object_add(o, "checks", list);
	list = json_object_new_array();
	for (i = 0; i < verdicts->count; i++) {
		const struct verdict *verdict = &verdicts->verdict[i];

		one = json_object_new_object();
		json_text(one, "about", verdict->about);
		json_text(one, "role", verdict->role == ROLE_LEND ? "lend" : "borrow");
		json_text(one, "result", result_name(judge(pf, verdict)));
		json_object_array_add(list, one);
	}
	json_object_object_add(o, "verdicts", list);
	json_print(o);
}

static void print_verdict(const struct preflight *pf, const struct verdict *verdict)
{
	size_t host, i;

	printf("%s: ", verdict->about);
	switch (judge(pf, verdict)) {
	case RESULT_FAIL:
		host = findings_count(&pf->findings, "host", verdict->role, RESULT_FAIL);
		for (i = 0; i < pf->links.count; i++)
			host += findings_count(&pf->findings, pf->links.link[i].name,
					       verdict->role, RESULT_FAIL);
		printf("cannot be %s: %zu of its own, %zu of host and links\n",
		       verdict->role == ROLE_LEND ? "lent" : "borrowed",
		       findings_count(&pf->findings, verdict->about, verdict->role, RESULT_FAIL),
		       host);
		break;
	case RESULT_WARN:
		printf("can be %s, with warnings\n", verdict->role == ROLE_LEND ?
		       "lent" : "borrowed");
		break;
	case RESULT_UNKNOWN:
		printf("can be %s, as far as can be seen\n", verdict->role == ROLE_LEND ?
		       "lent" : "borrowed");
		break;
	default:
		printf("can be %s\n", verdict->role == ROLE_LEND ? "lent" : "borrowed");
	}
}

static void print(const struct preflight *pf, const struct verdicts *verdicts)
{
	const char *about = "";
	size_t i;

	for (i = 0; i < pf->findings.count; i++) {
		const struct finding *one = &pf->findings.finding[i];

		if (strcmp(about, one->about))
			printf("%s\n", one->about);
		about = one->about;
		printf("  %-8s%-12s%s\n", result_name(one->result), one->check, one->text);
		if (one->remedy[0])
			printf("  %-20s-> %s\n", "", one->remedy);
	}
	if (verdicts->count)
		putchar('\n');
	for (i = 0; i < verdicts->count; i++)
		print_verdict(pf, &verdicts->verdict[i]);
}

/* A test of a window is one of a direction; the other is the other host's to see. */
static void print_test(const struct findings *findings)
{
	size_t i;

	for (i = 0; i < findings->count; i++)
		if (!strcmp(findings->finding[i].check, "pattern") &&
		    findings->finding[i].result != RESULT_UNKNOWN)
			break;
	if (i == findings->count)
		return;
	puts("\nTested were the windows into this host.");
	puts("devlend preflight --test on the other host tests those into it.");
}

static int first_failure(const struct findings *findings)
{
	size_t i;

	for (i = 0; i < findings->count; i++)
		if (findings->finding[i].result == RESULT_FAIL)
			return findings->finding[i].code;
	return TOOL_OK;
}

static int run(const struct verb *verb, struct options *opt)
{
	struct preflight pf = { 0 };
	struct verdicts verdicts = { 0 };
	struct why why = { 0 };
	int i, code;

	preflight_host(&pf);
	preflight_links(&pf);
	if (opt->test)
		preflight_test(&pf);
	if (!opt->devices || opt->filter.given)
		add_all(&pf, &verdicts, &opt->filter);
	for (i = 0; i < opt->devices && !why.code; i++)
		add_named(&pf, &verdicts, opt->device[i], &why);
	if (opt->filter.given && !verdicts.count && !why.code)
		why_not(&why, TOOL_NOT_FOUND, "no device or offer fits the filter");
	code = why.code ? why.code : first_failure(&pf.findings);
	if (why.code)
		verb_failed(verb, opt, &why);
	else if (opt->json)
		print_json(verb, &pf, &verdicts);
	else
		print(&pf, &verdicts);
	if (opt->test && !opt->json && !why.code)
		print_test(&pf.findings);
	links_free(&pf.links);
	free(pf.windows);
	free(verdicts.verdict);
	findings_free(&pf.findings);
	return code;
}

const struct verb verb_preflight = {
	.name = "preflight",
	.args = "[DEVICE|OFFER...]",
	.doc = "Check host, links and devices: would lending and borrowing work?\v"
		"Without an argument or filter, what is lent and offered is looked at. Nothing\n"
		"is changed, and no lease disturbed; but with --test windows that nobody uses\n"
		"are opened for a moment.",
	.take = TAKE_DEVICES | TAKE_FILTER | TAKE_TEST,
	.run = run,
};
