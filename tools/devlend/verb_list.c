// SPDX-License-Identifier: GPL-2.0
/* devlend list: what this host lends, what it has borrowed, and what it could borrow. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bulk.h"
#include "jsonout.h"
#include "lease.h"
#include "lent.h"
#include "link.h"
#include "offer.h"
#include "table.h"

/* Since when, as a length of time: "3d04h", "2h05m", "1m30s"; "" = the kernel does not tell. */
static const char *age(long long since, char *buf, size_t size)
{
	long long s = time(NULL) - since;

	buf[0] = '\0';
	if (since < 0 || s < 0)
		return buf;
	if (s >= 86400)
		snprintf(buf, size, "%lldd%02lldh", s / 86400, s / 3600 % 24);
	else if (s >= 3600)
		snprintf(buf, size, "%lldh%02lldm", s / 3600, s / 60 % 60);
	else
		snprintf(buf, size, "%lldm%02llds", s / 60, s % 60);
	return buf;
}

/* A UUID's first part is what people tell hosts apart by. */
static const char *host(const char *uuid, char *buf, size_t size)
{
	snprintf(buf, size, "%.8s", uuid);
	return buf;
}

static size_t list_lent(const struct filter *filter, struct json_object *o)
{
	struct json_object *list = json_object_new_array();
	char name[256], peer[16], since[32];
	struct lents lents;
	struct table table;
	size_t i, rows;

	table_init(&table, 6, "LENT", "STATE", "PEER", "SINCE", "ISOLATED", "DEVICE");
	lents_read(&lents);
	for (i = 0; i < lents.count; i++) {
		const struct lent *lent = &lents.lent[i];
		struct subject subject = { lent->bdf, lent->driver, lent->peer, &lent->ids };

		if (!filter_fits(filter, &subject))
			continue;
		json_object_array_add(list, lent_json(lent));
		pci_device_name(name, sizeof(name), &lent->ids);
		table_row(&table, lent->bdf, lent->state, host(lent->peer, peer, sizeof(peer)),
			  age(lent->since, since, sizeof(since)),
			  lent->isolated < 0 ? "" : lent->isolated ? "yes" : "no", name);
	}
	lents_free(&lents);
	rows = table.rows - 1;
	if (!o && rows)
		table_print(&table, "");
	table_free(&table);
	if (o)
		json_object_object_add(o, "lent", list);
	else
		json_object_put(list);
	return rows;
}

/* Disks and interfaces of a lease, and its driver where it has neither. */
static const char *uses(const struct lease *lease, char *buf, size_t size)
{
	size_t i, len = 0;

	buf[0] = '\0';
	for (i = 0; i < lease->disks.count && len < size; i++)
		len += snprintf(buf + len, size - len, "%s%s", len ? "," : "",
				lease->disks.name[i]);
	for (i = 0; i < lease->nets.count && len < size; i++)
		len += snprintf(buf + len, size - len, "%s%s", len ? "," : "",
				lease->nets.name[i]);
	if (!len)
		snprintf(buf, size, "%s", lease->driver);
	return buf;
}

static size_t list_leases(const struct filter *filter, struct json_object *o)
{
	struct json_object *list = json_object_new_array();
	char name[256], use[128], peer[16], since[32];
	struct leases leases;
	struct table table;
	size_t i, rows;

	table_init(&table, 7, "BORROWED", "STATE", "PEER", "ADDRESS", "AS", "SINCE", "DEVICE");
	leases_read(&leases);
	for (i = 0; i < leases.count; i++) {
		const struct lease *lease = &leases.lease[i];
		const char *bdf = lease->pci[0] ? lease->pci : lease_device(lease);
		struct subject subject = { bdf, lease->driver, lease->peer, &lease->ids };

		if (!filter_fits(filter, &subject))
			continue;
		json_object_array_add(list, lease_json(lease));
		pci_device_name(name, sizeof(name), &lease->ids);
		table_row(&table, lease->name, lease->state,
			  host(lease->peer, peer, sizeof(peer)), lease->pci,
			  uses(lease, use, sizeof(use)), age(lease->since, since, sizeof(since)),
			  name);
	}
	leases_free(&leases);
	rows = table.rows - 1;
	if (!o && rows)
		table_print(&table, "");
	table_free(&table);
	if (o)
		json_object_object_add(o, "borrowed", list);
	else
		json_object_put(list);
	return rows;
}

static size_t list_offers(const struct filter *filter, struct json_object *o)
{
	struct json_object *list = json_object_new_array();
	struct offers offers;
	struct table table;
	char name[256];
	size_t i, rows;

	table_init(&table, 4, "OFFERED", "STATE", "LINK", "DEVICE");
	offers_read(&offers);
	for (i = 0; i < offers.count; i++) {
		const struct offer *offer = &offers.offer[i];
		struct subject subject = { offer->device, "", offer->host, &offer->ids };

		if (!filter_fits(filter, &subject))
			continue;
		json_object_array_add(list, offer_json(offer));
		pci_device_name(name, sizeof(name), &offer->ids);
		table_row(&table, offer->name, offer->state, offer->link, name);
	}
	offers_free(&offers);
	rows = table.rows - 1;
	if (!o && rows)
		table_print(&table, "");
	table_free(&table);
	if (o)
		json_object_object_add(o, "offered", list);
	else
		json_object_put(list);
	return rows;
}

/* An empty list could be taken for a tool that does not work: say what it means. */
static void nothing(const struct options *opt)
{
	struct why why;

	if (opt->filter.given)
		snprintf(why.text, sizeof(why.text), "or it does not fit the filter");
	else if (!links_usable(&why))
		snprintf(why.text, sizeof(why.text), "devlend lend, here or on the other host");
	fprintf(stderr, "devlend: nothing is lent, borrowed or offered; %s\n", why.text);
}

static int run(const struct verb *verb, struct options *opt)
{
	struct json_object *o = NULL;
	struct why why;
	size_t rows;

	if (devlend_loaded(&why))
		return verb_failed(verb, opt, &why);
	if (opt->json)
		o = json_document(verb->name);
	rows = list_lent(&opt->filter, o);
	rows += list_leases(&opt->filter, o);
	rows += list_offers(&opt->filter, o);
	if (o)
		json_print(o);
	else if (!rows)
		nothing(opt);
	return TOOL_OK;
}

const struct verb verb_list = {
	.name = "list",
	.doc = "Show what this host lends, has borrowed, and could borrow.",
	.take = TAKE_FILTER,
	.run = run,
};
