// SPDX-License-Identifier: GPL-2.0
/* devlend status: is all well? And if not, what to do. */
#include <stdio.h>
#include <string.h>

#include "bulk.h"
#include "conf.h"
#include "jsonout.h"
#include "lease.h"
#include "lent.h"
#include "link.h"
#include "offer.h"

static const char * const modules[] = { "devlend_core", "devlend_lender", "devlend_borrower" };

#define MODULES		(sizeof(modules) / sizeof(*modules))

enum { CORE, LENDER, BORROWER };

/* What there is to complain about; the first decides the exit status. */
struct complaints {
	size_t count;
	struct why why[16];
};

static struct why *next(struct complaints *complaints)
{
	size_t max = sizeof(complaints->why) / sizeof(*complaints->why);

	return &complaints->why[complaints->count < max ? complaints->count++ : max - 1];
}

static bool loaded(int module)
{
	return sys_exists("/sys/module/%s", modules[module]);
}

/* What the file wants done, and nobody is there to do. */
static void look_at_conf(struct complaints *complaints)
{
	bool wants[MODULES] = { false };
	struct conf conf;
	struct why none;
	size_t i;

	if (!conf_read(&conf, CONF_FILE, &none) && conf.problems)
		why_not(next(complaints), TOOL_USAGE,
			CONF_FILE " has problems (%zu), so nothing is done: devlend config check",
			conf.problems);
	for (i = 0; i < conf.count; i++)
		wants[conf.line[i].lend ? LENDER : BORROWER] = true;
	for (i = LENDER; i <= BORROWER; i++)
		if (wants[i] && !loaded(i))
			why_not(next(complaints), TOOL_MODULES, "%s is not loaded, and "
				CONF_FILE " %s: modprobe %s", modules[i],
				i == LENDER ? "lends" : "borrows", modules[i]);
	conf_free(&conf);
}

/* A host may have one role only: then the other's module is not missed. */
static void look_at_modules(struct complaints *complaints)
{
	if (loaded(CORE) && (loaded(LENDER) || loaded(BORROWER)))
		look_at_conf(complaints);
	else
		why_not(next(complaints), TOOL_MODULES,
			"%s: modprobe -a devlend_lender devlend_borrower",
			loaded(CORE) ? "devlend_core alone does nothing" : "not loaded");
}

/* What of a host is in use, and what is out of order. */
static void look(struct complaints *complaints, size_t counts[4])
{
	struct lents lents;
	struct leases leases;
	struct offers offers;
	size_t i;

	lents_read(&lents);
	counts[0] = lents.count;
	for (i = 0; i < lents.count; i++) {
		counts[1] += !strcmp(lents.lent[i].state, "borrowed");
		if (!strcmp(lents.lent[i].state, "quarantined"))
			why_not(next(complaints), TOOL_FAILED,
				"%s is quarantined: it could not be reset; devlend reclaim it",
				lents.lent[i].bdf);
	}
	lents_free(&lents);
	leases_read(&leases);
	counts[2] = leases.count;
	for (i = 0; i < leases.count; i++)
		if (!strcmp(leases.lease[i].state, "dying"))
			why_not(next(complaints), TOOL_FAILED,
				"%s has lost its lender; close what uses it, then borrow it again",
				leases.lease[i].name);
	leases_free(&leases);
	offers_read(&offers);
	counts[3] = offers.count;
	offers_free(&offers);
}

static void print_json(const struct verb *verb, const struct links *links, const size_t counts[4],
		       const struct complaints *complaints)
{
	struct json_object *o = json_document(verb->name), *part = json_object_new_object();
	size_t i;

	for (i = 0; i < MODULES; i++)
		json_object_object_add(part, modules[i], json_object_new_boolean(loaded(i)));
	json_object_object_add(o, "modules", part);
	part = json_object_new_array();
	for (i = 0; i < links->count; i++)
		json_object_array_add(part, link_json(&links->link[i]));
	json_object_object_add(o, "links", part);
	json_number(o, "lent", counts[0]);
	json_number(o, "lent_borrowed", counts[1]);
	json_number(o, "borrowed", counts[2]);
	json_number(o, "offered", counts[3]);
	part = json_object_new_array();
	for (i = 0; i < complaints->count; i++)
		json_object_array_add(part, failure_json(&complaints->why[i]));
	json_object_object_add(o, "problems", part);
	json_print(o);
}

static void print(const struct links *links, const size_t counts[4],
		  const struct complaints *complaints)
{
	size_t i;

	for (i = 0; i < links->count; i++) {
		const struct link *link = &links->link[i];

		printf("%s: %s%s%s, NTB %s\n", link->name, link->state,
		       link->peer[0] ? ", peer " : "", link->peer, link->ntb);
	}
	printf("lends %zu, %zu of them borrowed; has borrowed %zu; %zu offered to it\n",
	       counts[0], counts[1], counts[2], counts[3]);
	if (loaded(LENDER) != loaded(BORROWER))
		printf("cannot %s: %s is not loaded\n", loaded(LENDER) ? "borrow" : "lend",
		       modules[loaded(LENDER) ? BORROWER : LENDER]);
	fflush(stdout);
	for (i = 0; i < complaints->count; i++)
		fprintf(stderr, "devlend: %s\n", complaints->why[i].text);
}

static int run(const struct verb *verb, struct options *opt)
{
	struct complaints complaints = { 0 };
	size_t counts[4] = { 0 };
	struct links links;
	struct why why;

	look_at_modules(&complaints);
	if (loaded(CORE) && links_usable(&why))
		*next(&complaints) = why;
	links_read(&links);
	look(&complaints, counts);
	if (opt->json)
		print_json(verb, &links, counts, &complaints);
	else
		print(&links, counts, &complaints);
	links_free(&links);
	return complaints.count ? complaints.why[0].code : TOOL_OK;
}

const struct verb verb_status = {
	.name = "status",
	.doc = "Say whether all is well, and if not, what to do.",
	.run = run,
};
