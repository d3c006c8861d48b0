/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults, injected on purpose: what an NTB, or the host behind it, may do to what a guest sends.
 *
 * Each port has a plan for its own guest's output. A doorbell or a scratchpad write asks the plan when it takes
 * effect, from flow_exec.c, as does an interrupt message that a guest or its device writes. Bells may be late, since
 * hardware has them on other ways than memory; they are never early. Writes may be lost or spoilt, but no two writes
 * of one requester ever change places: what is sent behind a late message waits with it.
 *
 * Chance is a generator of our own with a stream for each port and kind of fault, so the n-th bell of a port meets the
 * same fate in each run with the same seed, whatever else goes on. All that was done is counted.
 */
#ifndef NTBSIM_FAULT_H
#define NTBSIM_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "counters.h"
#include "timer.h"

enum fault_kind {
	FAULT_BELL_DROP,	/* a doorbell is lost */
	FAULT_BELL_DELAY,	/* it comes later than what was sent after it */
	FAULT_BELL_DUP,		/* it comes, and comes again later */
	FAULT_BELL_REORDER,	/* it comes after the next one */
	FAULT_SPAD_LOST,	/* a scratchpad write near a change of the link is lost */
	FAULT_SPAD_CORRUPT,	/* one bit of a scratchpad write is wrong */
	FAULT_MSI_LOST,		/* an interrupt message is lost */
	FAULT_MSI_LATE,		/* it is late, and with it all that comes behind it */
	FAULT_FREEZE,		/* all that the guest sends is held for a while */
	FAULT_FLAP,		/* the link goes down and comes back; see flap.h */
	FAULT_KINDS
};

/* Bells of one port that may be late at a time; more ring at once. */
#define FAULT_BELLS	64

struct port;

/**
 * struct fault_plan - what is to happen to a port's output; all zero for nothing
 * @seed: the generators begin from it
 * @chance: of each kind that is drawn for an operation, from 0 to 1
 * @bell_us: the longest that a bell is late
 * @lost_us: how near a change of the link a write must be to be lost
 * @corrupt_words: the scratchpads whose writes may be spoilt, one bit each
 * @msi_us: the longest that an interrupt message is late
 * @freeze_every_us: the mean time from one freeze to the next; 0 for none
 * @freeze_us: how long one lasts
 */
struct fault_plan {
	uint64_t seed;
	double chance[FAULT_KINDS];
	uint64_t bell_us;
	uint64_t lost_us;
	uint32_t corrupt_words;
	uint64_t msi_us;
	uint64_t freeze_every_us;
	uint64_t freeze_us;
};

/**
 * struct fault_bell - a bell that is late
 * @due: when it rings, in microseconds of the monotonic clock
 * @bit: which one
 * @behind: or when another has rung, if that is sooner
 */
struct fault_bell {
	uint64_t due;
	uint8_t bit;
	bool behind;
};

/**
 * struct fault - the faults of one port
 * @port: the port
 * @plan: what is to happen
 * @stream: state of the generators
 * @bell: late bells, in no order
 * @nbells: how many
 * @bells: rings them
 * @late: lets a late message go
 * @late_until: until when the message whose turn it is waits; 0 for none
 * @freeze: begins and ends freezes
 * @frozen: by the plan
 */
struct fault {
	struct port *port;
	struct fault_plan plan;
	uint64_t stream[FAULT_KINDS];
	struct fault_bell bell[FAULT_BELLS];
	unsigned int nbells;
	struct timer bells;
	struct timer late;
	uint64_t late_until;
	struct timer freeze;
	bool frozen;
};

void fault_init(struct fault *fault, struct port *port);
void fault_exit(struct fault *fault);

/* Another plan from now on. Bells that are late already still ring. */
void fault_set_plan(struct fault *fault, const struct fault_plan *plan);

/* The port was reset: late bells are lost, and nothing waits. */
void fault_purge(struct fault *fault);

/* A doorbell takes effect. Return: true if it does not, or not now. */
bool fault_bell(struct fault *fault, unsigned int bit);
/* A doorbell has rung; one that was to come after it does now. */
void fault_bell_rang(struct fault *fault);

/**
 * fault_spad() - a scratchpad write takes effect
 * @fault: of the requester
 * @i: which word
 * @v: its value, which may be changed
 *
 * Return: true if it is lost.
 */
bool fault_spad(struct fault *fault, unsigned int i, uint32_t *v);

/* An interrupt message of this guest or its devices takes effect. Return: true if it is lost. */
bool fault_message(struct fault *fault);

/*
 * Its turn has come: does it wait? Asked again until it does not; a message that waits for another reason
 * must not ask.
 */
bool fault_message_late(struct fault *fault);

/* Next number of a generator. Any seed will do. */
uint64_t fault_random(uint64_t *state);

/* Microseconds of the monotonic clock. */
uint64_t fault_now(void);

/* The name of a kind in requests and counters. */
extern const char * const fault_names[FAULT_KINDS];

#endif /* NTBSIM_FAULT_H */
