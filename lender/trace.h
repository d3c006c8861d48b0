/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM devlend_lender

#if !defined(LENDER_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define LENDER_TRACE_H

#include <linux/pci.h>
#include <linux/tracepoint.h>

#include <devlend/compat.h>

TRACE_EVENT(lender_state,
	TP_PROTO(struct pci_dev *pdev, u32 from, u32 to),
	TP_ARGS(pdev, from, to),
	TP_STRUCT__entry(
		__string(device, pci_name(pdev))
		__field(u32, from)
		__field(u32, to)
	),
	TP_fast_assign(
		devlend_assign_str(device, pci_name(pdev));
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("%s state %u -> %u", __get_str(device), __entry->from, __entry->to)
);

TRACE_EVENT(lender_request,
	TP_PROTO(u16 op, u32 random, u8 status),
	TP_ARGS(op, random, status),
	TP_STRUCT__entry(
		__field(u16, op)
		__field(u32, random)
		__field(u8, status)
	),
	TP_fast_assign(
		__entry->op = op;
		__entry->random = random;
		__entry->status = status;
	),
	TP_printk("op %#x lease %08x status %u", __entry->op, __entry->random, __entry->status)
);

TRACE_EVENT(lender_atomic,
	TP_PROTO(u8 op, u32 random, u32 arg, u8 status),
	TP_ARGS(op, random, arg, status),
	TP_STRUCT__entry(
		__field(u8, op)
		__field(u32, random)
		__field(u32, arg)
		__field(u8, status)
	),
	TP_fast_assign(
		__entry->op = op;
		__entry->random = random;
		__entry->arg = arg;
		__entry->status = status;
	),
	TP_printk("op %u lease %08x arg %#x status %u", __entry->op, __entry->random,
		  __entry->arg, __entry->status)
);

TRACE_EVENT(lender_step,
	TP_PROTO(struct pci_dev *pdev, const char *step, int err),
	TP_ARGS(pdev, step, err),
	TP_STRUCT__entry(
		__string(device, pci_name(pdev))
		__array(char, step, 16)
		__field(int, err)
	),
	TP_fast_assign(
		devlend_assign_str(device, pci_name(pdev));
		strscpy(__entry->step, step, sizeof(__entry->step));
		__entry->err = err;
	),
	TP_printk("%s %s: %d", __get_str(device), __entry->step, __entry->err)
);

#endif /* LENDER_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
