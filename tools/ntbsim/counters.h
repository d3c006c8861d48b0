/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is counted. Each port counts what its guest sends out; what comes in is what its peer sends out, so
 * nothing is counted twice and a snapshot is always consistent.
 */
#ifndef NTBSIM_COUNTERS_H
#define NTBSIM_COUNTERS_H

#include <json.h>
#include <stdint.h>

#define NUM_WINDOWS	2
#define NUM_SPADS	16
#define NUM_DOORBELLS	32
#define NUM_FAULTS	10

/**
 * struct window_counters - accesses through one window
 * @writes: posted writes that arrived
 * @reads: reads that arrived
 * @bytes_written: in @writes
 * @bytes_read: in @reads
 * @dropped_link: dropped since the link was down
 * @dropped_decode: the requester's memory decode was off
 * @dropped_closed: the window was closed
 * @dropped_limit: behind the window's limit
 * @dropped_master: the target's bus mastering was off
 * @dropped_purged: still waiting when their requester went away or was reset
 * @below_1m_writes: landed below 1 MiB of the target
 * @below_1m_reads: likewise
 * @ram_writes: done in mapped memory
 * @ram_reads: likewise
 * @message_writes: passed to the target's client, MSI excluded
 * @message_reads: likewise
 * @msi_writes: writes to 0xfee00000-0xfeefffff
 * @msi_reads: reads from there
 * @msi_overtaken: of @msi_writes, those that were not acknowledged yet when the target's guest got the
 *	answer of a device read. On a bus the answer comes behind them.
 * @msi_overtaken_late: of those, acknowledged more than %FLOW_LATE_US after the answer
 * @held: had to wait for earlier writes to be acknowledged
 * @reads_early: reads of memory answered before their turn, to open a circle
 * @errors: the target's client answered with an error, or vanished
 * @crossed: reads answered with all-ones to break a cycle
 */
struct window_counters {
	uint64_t writes;
	uint64_t reads;
	uint64_t bytes_written;
	uint64_t bytes_read;
	uint64_t dropped_link;
	uint64_t dropped_decode;
	uint64_t dropped_closed;
	uint64_t dropped_limit;
	uint64_t dropped_master;
	uint64_t dropped_purged;
	uint64_t below_1m_writes;
	uint64_t below_1m_reads;
	uint64_t ram_writes;
	uint64_t ram_reads;
	uint64_t message_writes;
	uint64_t message_reads;
	uint64_t msi_writes;
	uint64_t msi_reads;
	uint64_t msi_overtaken;
	uint64_t msi_overtaken_late;
	uint64_t held;
	uint64_t reads_early;
	uint64_t errors;
	uint64_t crossed;
};

/**
 * struct port_counters - what one guest does through its port
 * @win: by window
 * @doorbells: rung towards the peer
 * @doorbell_bits: the same, by bit
 * @doorbells_dropped: rung with the link down, or purged
 * @doorbells_merged: the bit was still set
 * @doorbells_held: waited for earlier writes
 * @irqs: interrupts raised at this port's own guest
 * @irqs_lost: with MSI-X on, its vector had no eventfd, or its bus mastering was off
 * @link_events: changes of the link told to this port's guest
 * @spad_local_reads: of its own scratchpads, in words
 * @spad_local_writes: likewise
 * @spad_peer_reads: of the peer's, in words
 * @spad_peer_writes: likewise
 * @spad_peer_write: the same, by index
 * @spads_dropped: accesses of the peer's scratchpads with the link down, or purged
 * @register_reads: all reads of the register BAR, in messages
 * @register_writes: likewise
 * @config_reads: of config space
 * @config_writes: likewise
 * @resets: of the device by its guest
 * @connects: clients that came
 * @faults: injected into what it sends, by kind; flaps at the link's first port
 */
struct port_counters {
	struct window_counters win[NUM_WINDOWS];
	uint64_t doorbells;
	uint64_t doorbell_bits[NUM_DOORBELLS];
	uint64_t doorbells_dropped;
	uint64_t doorbells_merged;
	uint64_t doorbells_held;
	uint64_t irqs;
	uint64_t irqs_lost;
	uint64_t link_events;
	uint64_t spad_local_reads;
	uint64_t spad_local_writes;
	uint64_t spad_peer_reads;
	uint64_t spad_peer_writes;
	uint64_t spad_peer_write[NUM_SPADS];
	uint64_t spads_dropped;
	uint64_t register_reads;
	uint64_t register_writes;
	uint64_t config_reads;
	uint64_t config_writes;
	uint64_t resets;
	uint64_t connects;
	uint64_t faults[NUM_FAULTS];
};

/* One port's counters as a JSON object. */
struct json_object *counters_json(const struct port_counters *pc);

#endif /* NTBSIM_COUNTERS_H */
