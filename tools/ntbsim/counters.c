// SPDX-License-Identifier: GPL-2.0
/* Counters as JSON: a table of names, so that a counter is added in one place. */
#include <stddef.h>

#include "counters.h"
#include "fault.h"

struct field {
	const char *name;
	size_t offset;
};

#define WIN(f)	{ #f, offsetof(struct window_counters, f) }
#define PORT(f)	{ #f, offsetof(struct port_counters, f) }

static const struct field win_fields[] = {
	WIN(writes), WIN(reads), WIN(bytes_written), WIN(bytes_read),
	WIN(dropped_link), WIN(dropped_decode), WIN(dropped_closed),
	WIN(dropped_limit), WIN(dropped_master), WIN(dropped_purged),
	WIN(below_1m_writes), WIN(below_1m_reads),
	WIN(ram_writes), WIN(ram_reads),
	WIN(message_writes), WIN(message_reads),
	WIN(msi_writes), WIN(msi_reads),
	WIN(msi_overtaken), WIN(msi_overtaken_late),
	WIN(held), WIN(errors), WIN(crossed), WIN(reads_early),
};

static const struct field port_fields[] = {
	PORT(doorbells), PORT(doorbells_dropped), PORT(doorbells_merged),
	PORT(doorbells_held), PORT(irqs), PORT(irqs_lost), PORT(link_events),
	PORT(spad_local_reads), PORT(spad_local_writes),
	PORT(spad_peer_reads), PORT(spad_peer_writes), PORT(spads_dropped),
	PORT(register_reads), PORT(register_writes),
	PORT(config_reads), PORT(config_writes),
	PORT(resets), PORT(connects),
};

static void add_fields(struct json_object *obj, const void *base,
		       const struct field *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t *v = (const void *)((const char *)base +
						   f[i].offset);

		json_object_object_add(obj, f[i].name,
				       json_object_new_uint64(*v));
	}
}

static struct json_object *array(const uint64_t *v, size_t n)
{
	struct json_object *arr = json_object_new_array();

	for (size_t i = 0; i < n; i++)
		json_object_array_add(arr, json_object_new_uint64(v[i]));
	return arr;
}

static void add_dropped(struct json_object *obj,
			const struct window_counters *wc)
{
	uint64_t sum = wc->dropped_link + wc->dropped_decode +
		       wc->dropped_closed + wc->dropped_limit +
		       wc->dropped_master + wc->dropped_purged;

	json_object_object_add(obj, "dropped", json_object_new_uint64(sum));
}

struct json_object *counters_json(const struct port_counters *pc)
{
	static const char * const names[NUM_WINDOWS] = { "bar2", "bar4" };
	struct json_object *obj = json_object_new_object();
	struct json_object *wins = json_object_new_object();
	struct json_object *faults = json_object_new_object();

	for (int i = 0; i < NUM_WINDOWS; i++) {
		struct json_object *w = json_object_new_object();

		add_fields(w, &pc->win[i], win_fields,
			   sizeof(win_fields) / sizeof(win_fields[0]));
		add_dropped(w, &pc->win[i]);
		json_object_object_add(wins, names[i], w);
	}
	json_object_object_add(obj, "windows", wins);
	add_fields(obj, pc, port_fields,
		   sizeof(port_fields) / sizeof(port_fields[0]));
	json_object_object_add(obj, "doorbell_bits",
			       array(pc->doorbell_bits, NUM_DOORBELLS));
	json_object_object_add(obj, "spad_peer_write",
			       array(pc->spad_peer_write, NUM_SPADS));
	for (int i = 0; i < NUM_FAULTS; i++)
		json_object_object_add(faults, fault_names[i],
				       json_object_new_uint64(pc->faults[i]));
	json_object_object_add(obj, "faults", faults);
	return obj;
}
