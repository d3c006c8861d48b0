// SPDX-License-Identifier: GPL-2.0
/* devlend show: all that is known of a link, a lent device, a lease or an offer. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "activity.h"
#include "bulk.h"
#include "debug.h"
#include "jsonout.h"
#include "lease.h"
#include "lent.h"
#include "link.h"
#include "offer.h"

static void field(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One line for people. */
static void field(const char *name, const char *fmt, ...)
{
	va_list ap;

	printf("    %-14s ", name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static const char *or_none(const char *text)
{
	return text[0] ? text : "none";
}

static void fields_ids(const struct pci_ids *ids)
{
	char name[256], class[128];

	pci_device_name(name, sizeof(name), ids);
	pci_class_name(class, sizeof(class), ids->class);
	field("device", "%s [%04x:%04x] rev %02x, %s [%04x]", name, ids->vendor, ids->device,
	      ids->revision, class, ids->class >> 8);
}

static void field_since(long long since)
{
	time_t at = since;
	char text[64];
	struct tm tm;

	if (since < 0 || !localtime_r(&at, &tm))
		return;
	strftime(text, sizeof(text), "%F %T", &tm);
	field("since", "%s", text);
}

static void fields_lines(const char *name, const struct names *lines)
{
	size_t i;

	for (i = 0; i < lines->count; i++)
		field(i ? "" : name, "%s", lines->name[i]);
}

static struct json_object *show_link(const struct link *link, bool json)
{
	struct json_object *o = NULL;
	struct names windows;
	char file[64];

	snprintf(file, sizeof(file), "%s/windows", link->name);
	debug_lines(&windows, file);
	if (json) {
		o = json_object_new_object();
		json_object_object_add(o, "link", link_json(link));
		json_names(o, "kernel", &windows);
	} else {
		printf("%s: %s\n", link->name, link->state);
		field("peer", "%s", or_none(link->peer));
		field("NTB", "%s, %lld scratchpad words each way", or_none(link->ntb),
		      link->words);
		field("beat", "peer is dead after %lld ms of silence", link->beat_timeout_ms);
		field("atomic", "... and %lld ms without an answer", link->atomic_timeout_ms);
		field("calls", "%lld sent, %lld received; atomic %lld sent, %lld received",
		      link->calls_sent, link->calls_received, link->atomic_sent,
		      link->atomic_received);
		field("rejected", "%lld frames", link->frames_rejected);
		fields_lines("windows", &windows);
	}
	names_free(&windows);
	return o;
}

static struct json_object *show_lent(const struct lent *lent, bool json)
{
	struct json_object *o = NULL;
	struct names lines;

	debug_section(&lines, "lent", lent->bdf);
	if (json) {
		o = json_object_new_object();
		json_object_object_add(o, "lent", lent_json(lent));
		json_names(o, "kernel", &lines);
	} else {
		printf("%s: lent, %s\n", lent->bdf, lent->state);
		fields_ids(&lent->ids);
		field("borrower", "%s%s%s", or_none(lent->peer), lent->link[0] ? " by " : "",
		      lent->link);
		field_since(lent->since);
		field("driver", "%s had it", or_none(lent->driver));
		field("leases", "%lld ended; lent %lld times", lent->leases, lent->generation);
		if (!lent->resettable)
			field("reset", "not possible: lent with --no-reset");
		if (lent->isolated >= 0)
			field("reaches", "its borrower's memory, and %s", lent->isolated ?
			      "nothing here" : "all of this host's: no IOMMU is between");
		fields_lines("windows", &lines);
	}
	names_free(&lines);
	return o;
}

static void fields_activity(const struct lease *lease, const struct activity *activity)
{
	size_t i;

	for (i = 0; i < activity->vectors; i++)
		field(i ? "" : "interrupts", "%u: %lld", activity->vector[i].irq,
		      activity->vector[i].count);
	if (lease->disks.count)
		field("disk", "%lld reads, %lld bytes; %lld writes, %lld bytes", activity->reads,
		      activity->read_bytes, activity->writes, activity->written_bytes);
	if (lease->nets.count)
		field("interface", "%lld packets, %lld bytes in; %lld packets, %lld bytes out",
		      activity->rx_packets, activity->rx_bytes, activity->tx_packets,
		      activity->tx_bytes);
}

static struct json_object *show_lease(const struct lease *lease, bool json)
{
	struct json_object *o = NULL;
	struct activity activity;
	struct names lines;

	activity_read(lease, &activity);
	debug_section(&lines, "leases", lease->name);
	if (json) {
		o = json_object_new_object();
		json_object_object_add(o, "lease", lease_json(lease));
		json_object_object_add(o, "activity", activity_json(&activity));
		json_names(o, "kernel", &lines);
	} else {
		printf("%s: %s\n", lease->name, lease->state);
		fields_ids(&lease->ids);
		field("offer", "%s by %s", or_none(lease->offer), or_none(lease->link));
		field("lender", "%s", or_none(lease->peer));
		field("address", "%s, driver %s", or_none(lease->pci), or_none(lease->driver));
		fields_lines("disks", &lease->disks);
		fields_lines("interfaces", &lease->nets);
		field("modes", "DMA %s, interrupts %s (%s), registers %s", lease->dma_mode,
		      lease->irq_mode, or_none(lease->irq_proof), lease->bar_proof);
		if (!strcmp(lease->dma_flush_ms, "never"))
			field("unmapped", "memory stays in reach of the lender");
		else if (lease->dma_flush_ms[0])
			field("unmapped", "memory is out of reach after %s ms",
			      lease->dma_flush_ms);
		field_since(lease->since);
		fields_activity(lease, &activity);
		fields_lines("windows", &lines);
	}
	names_free(&lines);
	activity_free(&activity);
	return o;
}

static struct json_object *show_offer(const struct offer *offer, bool json)
{
	struct json_object *o = NULL;
	int i;

	if (json) {
		o = json_object_new_object();
		json_object_object_add(o, "offer", offer_json(offer));
		return o;
	}
	printf("%s: %s\n", offer->name, offer->state);
	fields_ids(&offer->ids);
	field("lender", "%s, there %s, by %s", offer->host, offer->device, or_none(offer->link));
	field("identity", "%s", offer->id);
	for (i = 0; i < OFFER_BARS; i++)
		if (offer->bar[i])
			field("BAR", "%d: %lld bytes", i, offer->bar[i]);
	field("interrupts", "%lld MSI-X, %lld MSI, mode %s", offer->msix, offer->msi,
	      or_none(offer->irq_mode));
	field("max payload", "%lld bytes", offer->mps);
	if (offer->lender_iommu)
		field("lender's IOMMU", "%lld bits", offer->lender_iommu);
	else
		field("lender's IOMMU", "none: who borrows it reaches all memory of the lender");
	return NULL;
}

/* What a show has found. */
struct shown {
	const struct options *opt;
	struct json_object *list;
	size_t count;
};

static void add(struct shown *shown, struct json_object *o)
{
	shown->count++;
	if (o)
		json_object_array_add(shown->list, o);
}

/* Everything that a word means; NULL is all there is. */
static void show(struct shown *shown, const char *word)
{
	bool json = shown->opt->json;
	char bdf[PCIADDR_MAX];
	struct links links;
	struct lents lents;
	struct leases leases;
	struct offers offers;
	size_t i;

	if (word && !pciaddr_parse(word, bdf))
		snprintf(bdf, sizeof(bdf), "%.19s", word);
	links_read(&links);
	for (i = 0; i < links.count; i++)
		if (!word || !strcmp(word, links.link[i].name))
			add(shown, show_link(&links.link[i], json));
	links_free(&links);
	lents_read(&lents);
	for (i = 0; i < lents.count; i++)
		if (!word || !strcmp(bdf, lents.lent[i].bdf))
			add(shown, show_lent(&lents.lent[i], json));
	lents_free(&lents);
	leases_read(&leases);
	for (i = 0; i < leases.count; i++)
		if (!word || lease_is(&leases.lease[i], word))
			add(shown, show_lease(&leases.lease[i], json));
	leases_free(&leases);
	offers_read(&offers);
	for (i = 0; i < offers.count; i++)
		if (!word || offer_is(&offers.offer[i], word))
			add(shown, show_offer(&offers.offer[i], json));
	offers_free(&offers);
}

static int run(const struct verb *verb, struct options *opt)
{
	struct shown shown = { .opt = opt };
	struct json_object *o;
	struct why why = { 0 };
	size_t before;
	int i;

	if (devlend_loaded(&why))
		return verb_failed(verb, opt, &why);
	shown.list = json_object_new_array();
	if (!opt->devices)
		show(&shown, NULL);
	for (i = 0; i < opt->devices && !why.code; i++) {
		before = shown.count;
		show(&shown, opt->device[i]);
		if (shown.count == before)
			why_not(&why, TOOL_NOT_FOUND,
				"%s: no such link, device, lease or offer; see devlend list",
				opt->device[i]);
	}
	/* not even a link */
	if (!opt->devices && !opt->json && !shown.count && links_usable(&why)) {
		fprintf(stderr, "devlend: nothing to show; %s\n", why.text);
		why.code = TOOL_OK;
	}
	if (why.code || !opt->json) {
		json_object_put(shown.list);
		return why.code ? verb_failed(verb, opt, &why) : TOOL_OK;
	}
	o = json_document(verb->name);
	json_object_object_add(o, "things", shown.list);
	json_print(o);
	return TOOL_OK;
}

const struct verb verb_show = {
	.name = "show",
	.args = "[THING...]",
	.doc = "Show all that is known: windows, modes, vectors, counters.\v"
		"THING is a link, or a device as list, lend, borrow and return take it;\n"
		"everything if there is none. Windows are root's to see.",
	.take = TAKE_DEVICES,
	.run = run,
};
