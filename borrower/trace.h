/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM devlend_borrower

#if !defined(BORROWER_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define BORROWER_TRACE_H

#include <linux/tracepoint.h>

#include <devlend/compat.h>

#include "lease_state.h"

TRACE_EVENT(borrower_lease_state,
	TP_PROTO(const char *name, enum borrower_lease_state from,
		 enum borrower_lease_state to),
	TP_ARGS(name, from, to),
	TP_STRUCT__entry(
		__string(name, name)
		__field(unsigned int, from)
		__field(unsigned int, to)
	),
	TP_fast_assign(
		devlend_assign_str(name, name);
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("%s: %s -> %s", __get_str(name),
		  borrower_lease_state_name(__entry->from),
		  borrower_lease_state_name(__entry->to))
);

TRACE_EVENT(borrower_offer,
	TP_PROTO(const char *name, u32 generation, u32 state),
	TP_ARGS(name, generation, state),
	TP_STRUCT__entry(
		__string(name, name)
		__field(u32, generation)
		__field(u32, state)
	),
	TP_fast_assign(
		devlend_assign_str(name, name);
		__entry->generation = generation;
		__entry->state = state;
	),
	TP_printk("%s: generation %u state %u", __get_str(name), __entry->generation,
		  __entry->state)
);

TRACE_EVENT(borrower_window,
	TP_PROTO(const char *name, u64 cpu_phys, u64 size, u64 lender_bus, bool attached),
	TP_ARGS(name, cpu_phys, size, lender_bus, attached),
	TP_STRUCT__entry(
		__string(name, name)
		__field(u64, cpu_phys)
		__field(u64, size)
		__field(u64, lender_bus)
		__field(bool, attached)
	),
	TP_fast_assign(
		devlend_assign_str(name, name);
		__entry->cpu_phys = cpu_phys;
		__entry->size = size;
		__entry->lender_bus = lender_bus;
		__entry->attached = attached;
	),
	TP_printk("%s: cpu %#llx size %#llx lender %#llx %s", __get_str(name),
		  __entry->cpu_phys, __entry->size, __entry->lender_bus,
		  __entry->attached ? "attached" : "detached")
);

#endif /* BORROWER_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
