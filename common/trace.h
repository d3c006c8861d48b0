/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints of the core: state changes, messages, windows. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM devlend

#if !defined(DEVLEND_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define DEVLEND_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(devlend_link_state,
	TP_PROTO(int link, int from, int to, int event),
	TP_ARGS(link, from, to, event),
	TP_STRUCT__entry(
		__field(int, link)
		__field(int, from)
		__field(int, to)
		__field(int, event)
	),
	TP_fast_assign(
		__entry->link = link;
		__entry->from = from;
		__entry->to = to;
		__entry->event = event;
	),
	TP_printk("link%d %d -> %d by event %d", __entry->link, __entry->from, __entry->to,
		  __entry->event)
);

TRACE_EVENT(devlend_request,
	TP_PROTO(int link, bool sent, u16 op, u32 txid, size_t len),
	TP_ARGS(link, sent, op, txid, len),
	TP_STRUCT__entry(
		__field(int, link)
		__field(bool, sent)
		__field(u16, op)
		__field(u32, txid)
		__field(size_t, len)
	),
	TP_fast_assign(
		__entry->link = link;
		__entry->sent = sent;
		__entry->op = op;
		__entry->txid = txid;
		__entry->len = len;
	),
	TP_printk("link%d %s op 0x%04x #%u, %zu bytes", __entry->link,
		  __entry->sent ? "sent" : "came", __entry->op, __entry->txid, __entry->len)
);

TRACE_EVENT(devlend_reply,
	TP_PROTO(int link, u16 op, u32 txid, int status, size_t len),
	TP_ARGS(link, op, txid, status, len),
	TP_STRUCT__entry(
		__field(int, link)
		__field(u16, op)
		__field(u32, txid)
		__field(int, status)
		__field(size_t, len)
	),
	TP_fast_assign(
		__entry->link = link;
		__entry->op = op;
		__entry->txid = txid;
		__entry->status = status;
		__entry->len = len;
	),
	TP_printk("link%d op 0x%04x #%u status %d, %zu bytes", __entry->link, __entry->op,
		  __entry->txid, __entry->status, __entry->len)
);

TRACE_EVENT(devlend_call_done,
	TP_PROTO(int link, u16 op, u32 txid, int err),
	TP_ARGS(link, op, txid, err),
	TP_STRUCT__entry(
		__field(int, link)
		__field(u16, op)
		__field(u32, txid)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->link = link;
		__entry->op = op;
		__entry->txid = txid;
		__entry->err = err;
	),
	TP_printk("link%d op 0x%04x #%u: %d", __entry->link, __entry->op, __entry->txid,
		  __entry->err)
);

TRACE_EVENT(devlend_atomic,
	TP_PROTO(int link, bool sent, u8 op, u32 arg, int result),
	TP_ARGS(link, sent, op, arg, result),
	TP_STRUCT__entry(
		__field(int, link)
		__field(bool, sent)
		__field(u8, op)
		__field(u32, arg)
		__field(int, result)
	),
	TP_fast_assign(
		__entry->link = link;
		__entry->sent = sent;
		__entry->op = op;
		__entry->arg = arg;
		__entry->result = result;
	),
	TP_printk("link%d %s op %u arg 0x%x: %d", __entry->link,
		  __entry->sent ? "sent" : "came", __entry->op, __entry->arg, __entry->result)
);

TRACE_EVENT(devlend_window,
	TP_PROTO(int link, unsigned int window, u64 base, u64 size, int err),
	TP_ARGS(link, window, base, size, err),
	TP_STRUCT__entry(
		__field(int, link)
		__field(unsigned int, window)
		__field(u64, base)
		__field(u64, size)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->link = link;
		__entry->window = window;
		__entry->base = base;
		__entry->size = size;
		__entry->err = err;
	),
	TP_printk("link%d window %u base 0x%llx size 0x%llx: %d", __entry->link, __entry->window,
		  __entry->base, __entry->size, __entry->err)
);

#endif /* DEVLEND_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
