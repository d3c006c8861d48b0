// SPDX-License-Identifier: GPL-2.0
/*
 * devlend watch: both sides, live, with rates.
 *
 * A look is taken every interval, and at once when the kernel tells of a change; rates are those
 * since the look before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "activity.h"
#include "bulk.h"
#include "clock.h"
#include "jsonout.h"
#include "lease.h"
#include "lent.h"
#include "link.h"
#include "table.h"
#include "wait.h"

/* Changes come in bursts: one look for all of them. */
#define WATCH_SETTLE_MS	200

/* A look at everything. */
struct look {
	long long at;
	struct links links;
	struct lents lents;
	struct leases leases;
	struct activity *activity;
};

static void look_take(struct look *look)
{
	size_t i;

	look->at = clock_ms();
	links_read(&look->links);
	lents_read(&look->lents);
	leases_read(&look->leases);
	look->activity = calloc(look->leases.count + 1, sizeof(*look->activity));
	if (!look->activity)
		abort();
	for (i = 0; i < look->leases.count; i++)
		activity_read(&look->leases.lease[i], &look->activity[i]);
}

static void look_free(struct look *look)
{
	size_t i;

	for (i = 0; i < look->leases.count; i++)
		activity_free(&look->activity[i]);
	free(look->activity);
	links_free(&look->links);
	lents_free(&look->lents);
	leases_free(&look->leases);
}

/* The same link, a look before; NULL = it was not there. */
static const struct link *link_before(const struct look *before, const struct link *link)
{
	size_t i;

	for (i = 0; before && i < before->links.count; i++)
		if (!strcmp(before->links.link[i].name, link->name))
			return &before->links.link[i];
	return NULL;
}

static const struct activity *activity_before(const struct look *before, const struct lease *lease)
{
	size_t i;

	for (i = 0; before && i < before->leases.count; i++)
		if (!strcmp(before->leases.lease[i].name, lease->name) &&
		    before->leases.lease[i].since == lease->since)
			return &before->activity[i];
	return NULL;
}

/* Per second; -1 = not known, because there was no look before or the count began anew. */
static double rate(long long now, long long before, bool known, double seconds)
{
	if (!known || seconds <= 0 || now < before)
		return -1;
	return (now - before) / seconds;
}

static void json_rate(struct json_object *o, const char *key, double value)
{
	json_object_object_add(o, key, value < 0 ? NULL : json_object_new_double(value));
}

/* "12.3M" */
static const char *short_rate(double value, char *buf, size_t size)
{
	static const char units[] = " kMGT";
	const char *unit = units;

	buf[0] = '\0';
	if (value < 0)
		return buf;
	for (; value >= 1000 && unit[1]; unit++)
		value /= 1000;
	if (unit == units)
		snprintf(buf, size, "%.0f", value);
	else
		snprintf(buf, size, "%.1f%c", value, *unit);
	return buf;
}

/* Rates of a lease, in and out of this host. */
struct rates {
	double ios, in, out, interrupts;
};

static struct rates lease_rates(const struct look *now, const struct look *before, size_t i,
				double seconds)
{
	static const struct activity none;
	const struct activity *a = &now->activity[i], *found, *b;
	bool known;

	found = activity_before(before, &now->leases.lease[i]);
	known = found;
	b = found ? found : &none;
	return (struct rates){
		.ios = rate(a->reads + a->writes + a->rx_packets + a->tx_packets,
			    b->reads + b->writes + b->rx_packets + b->tx_packets, known, seconds),
		.in = rate(a->read_bytes + a->rx_bytes, b->read_bytes + b->rx_bytes, known,
			   seconds),
		.out = rate(a->written_bytes + a->tx_bytes, b->written_bytes + b->tx_bytes, known,
			    seconds),
		.interrupts = rate(a->interrupts, b->interrupts, known, seconds),
	};
}

static void watch_json(const struct verb *verb, const struct look *now, const struct look *before,
		       double seconds)
{
	struct json_object *o = json_document(verb->name), *list, *one;
	const struct link *b;
	size_t i;

	json_number(o, "time", time(NULL));
	json_rate(o, "seconds", before ? seconds : -1);
	list = json_object_new_array();
	for (i = 0; i < now->links.count; i++) {
		const struct link *link = &now->links.link[i];

		b = link_before(before, link);
		one = link_json(link);
		json_rate(one, "calls_rate", rate(link->calls_sent + link->calls_received,
						  b ? b->calls_sent + b->calls_received : 0, b,
						  seconds));
		json_rate(one, "atomic_rate", rate(link->atomic_sent + link->atomic_received,
						   b ? b->atomic_sent + b->atomic_received : 0, b,
						   seconds));
		json_object_array_add(list, one);
	}
	json_object_object_add(o, "links", list);
	list = json_object_new_array();
	for (i = 0; i < now->lents.count; i++)
		json_object_array_add(list, lent_json(&now->lents.lent[i]));
	json_object_object_add(o, "lent", list);
	list = json_object_new_array();
	for (i = 0; i < now->leases.count; i++) {
		struct rates rates = lease_rates(now, before, i, seconds);

		one = lease_json(&now->leases.lease[i]);
		json_rate(one, "io_rate", rates.ios);
		json_rate(one, "bytes_in_rate", rates.in);
		json_rate(one, "bytes_out_rate", rates.out);
		json_rate(one, "interrupt_rate", rates.interrupts);
		json_object_array_add(list, one);
	}
	json_object_object_add(o, "borrowed", list);
	json_print(o);
}

static void watch_links(const struct look *now, const struct look *before, double seconds)
{
	char calls[16], rejected[24];
	struct table table;
	size_t i;

	table_init(&table, 5, "LINK", "STATE", "PEER", "CALLS/s", "REJECTED");
	for (i = 0; i < now->links.count; i++) {
		const struct link *link = &now->links.link[i], *b = link_before(before, link);

		snprintf(rejected, sizeof(rejected), "%lld", link->frames_rejected);
		short_rate(rate(link->calls_sent + link->calls_received,
				b ? b->calls_sent + b->calls_received : 0, b, seconds),
			   calls, sizeof(calls));
		table_row(&table, link->name, link->state, link->peer, calls, rejected);
	}
	table_print(&table, "");
	table_free(&table);
}

static void watch_people(const struct look *now, const struct look *before, double seconds)
{
	char ios[16], in[16], out[16], irqs[16];
	struct table table;
	size_t i;

	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	watch_links(now, before, seconds);
	table_init(&table, 3, "LENT", "STATE", "PEER");
	for (i = 0; i < now->lents.count; i++)
		table_row(&table, now->lents.lent[i].bdf, now->lents.lent[i].state,
			  now->lents.lent[i].peer);
	if (table.rows > 1)
		table_print(&table, "");
	table_free(&table);
	table_init(&table, 7, "BORROWED", "STATE", "ADDRESS", "IO/s", "IN B/s", "OUT B/s", "IRQ/s");
	for (i = 0; i < now->leases.count; i++) {
		const struct lease *lease = &now->leases.lease[i];
		struct rates rates = lease_rates(now, before, i, seconds);

		table_row(&table, lease->name, lease->state, lease->pci,
			  short_rate(rates.ios, ios, sizeof(ios)),
			  short_rate(rates.in, in, sizeof(in)),
			  short_rate(rates.out, out, sizeof(out)),
			  short_rate(rates.interrupts, irqs, sizeof(irqs)));
	}
	if (table.rows > 1)
		table_print(&table, "");
	table_free(&table);
	fflush(stdout);
}

/* Until the next look is due. */
static void watch_sleep(struct events *events, const struct options *opt)
{
	long long end = clock_ms() + opt->interval * 1000, left;

	while ((left = end - clock_ms()) > 0)
		if (events_wait(events, left)) {
			usleep(WATCH_SETTLE_MS * 1000);
			return;
		}
}

static int run(const struct verb *verb, struct options *opt)
{
	struct look looks[2], *now, *before = NULL;
	struct events events;
	struct why why;
	double seconds = 0;
	int i;

	if (devlend_loaded(&why))
		return verb_failed(verb, opt, &why);
	events_open(&events);
	for (i = 0; !opt->count || i < opt->count; i++) {
		if (i)
			watch_sleep(&events, opt);
		now = &looks[i & 1];
		look_take(now);
		if (before)
			seconds = (now->at - before->at) / 1000.0;
		if (opt->json)
			watch_json(verb, now, before, seconds);
		else
			watch_people(now, before, seconds);
		if (before)
			look_free(before);
		before = now;
	}
	look_free(before);
	events_close(&events);
	return TOOL_OK;
}

const struct verb verb_watch = {
	.name = "watch",
	.doc = "Show both sides, live, with rates.\v"
		"Every two seconds, and at once when something changes. IO counts packets, too;\n"
		"IN is what is read or received. --json prints a document for each look.",
	.take = TAKE_WATCH,
	.run = run,
};
