/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM hybrid

#if !defined(_HYBRID_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _HYBRID_TRACE_H

#include <linux/tracepoint.h>

#define show_mig_stage(stage)				\
	__print_symbolic(stage,				\
			 { HY_TRACE_START, "start" },	\
			 { HY_TRACE_SWITCH, "switch" },	\
			 { HY_TRACE_GIVE_UP, "give_up" })

TRACE_EVENT(hybrid_place,
	TP_PROTO(const void *pool, u64 le, int member, u32 pe),
	TP_ARGS(pool, le, member, pe),
	TP_STRUCT__entry(
		__field(const void *, pool)
		__field(u64, le)
		__field(int, member)
		__field(u32, pe)
	),
	TP_fast_assign(
		__entry->pool = pool;
		__entry->le = le;
		__entry->member = member;
		__entry->pe = pe;
	),
	TP_printk("pool=%p extent=%llu member=%d physical=%u",
		  __entry->pool, __entry->le, __entry->member, __entry->pe)
);

TRACE_EVENT(hybrid_migrate,
	TP_PROTO(const void *pool, u64 le, unsigned int from, unsigned int to, int stage,
		 u64 bytes),
	TP_ARGS(pool, le, from, to, stage, bytes),
	TP_STRUCT__entry(
		__field(const void *, pool)
		__field(u64, le)
		__field(unsigned int, from)
		__field(unsigned int, to)
		__field(int, stage)
		__field(u64, bytes)
	),
	TP_fast_assign(
		__entry->pool = pool;
		__entry->le = le;
		__entry->from = from;
		__entry->to = to;
		__entry->stage = stage;
		__entry->bytes = bytes;
	),
	TP_printk("pool=%p extent=%llu from=%u to=%u stage=%s bytes=%llu",
		  __entry->pool, __entry->le, __entry->from, __entry->to,
		  show_mig_stage(__entry->stage), __entry->bytes)
);

TRACE_EVENT(hybrid_commit,
	TP_PROTO(const void *pool, bool checkpoint, u64 entries, u64 ns, int error),
	TP_ARGS(pool, checkpoint, entries, ns, error),
	TP_STRUCT__entry(
		__field(const void *, pool)
		__field(bool, checkpoint)
		__field(u64, entries)
		__field(u64, ns)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->pool = pool;
		__entry->checkpoint = checkpoint;
		__entry->entries = entries;
		__entry->ns = ns;
		__entry->error = error;
	),
	TP_printk("pool=%p checkpoint=%d entries=%llu ns=%llu error=%d",
		  __entry->pool, __entry->checkpoint, __entry->entries, __entry->ns,
		  __entry->error)
);

TRACE_EVENT(hybrid_period,
	TP_PROTO(const void *pool, unsigned int member, u64 requests, u64 mean_ns, u32 share,
		 u32 target, u32 receive, u32 give),
	TP_ARGS(pool, member, requests, mean_ns, share, target, receive, give),
	TP_STRUCT__entry(
		__field(const void *, pool)
		__field(unsigned int, member)
		__field(u64, requests)
		__field(u64, mean_ns)
		__field(u32, share)
		__field(u32, target)
		__field(u32, receive)
		__field(u32, give)
	),
	TP_fast_assign(
		__entry->pool = pool;
		__entry->member = member;
		__entry->requests = requests;
		__entry->mean_ns = mean_ns;
		__entry->share = share;
		__entry->target = target;
		__entry->receive = receive;
		__entry->give = give;
	),
	TP_printk("pool=%p member=%u requests=%llu mean_ns=%llu share=%u target=%u receive=%u give=%u",
		  __entry->pool, __entry->member, __entry->requests, __entry->mean_ns,
		  __entry->share, __entry->target, __entry->receive, __entry->give)
);

/* What the policy wants to move. */
TRACE_EVENT(hybrid_range,
	TP_PROTO(const void *pool, u64 first, u64 nr, int from, int to),
	TP_ARGS(pool, first, nr, from, to),
	TP_STRUCT__entry(
		__field(const void *, pool)
		__field(u64, first)
		__field(u64, nr)
		__field(int, from)
		__field(int, to)
	),
	TP_fast_assign(
		__entry->pool = pool;
		__entry->first = first;
		__entry->nr = nr;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("pool=%p first=%llu nr=%llu from=%d to=%d",
		  __entry->pool, __entry->first, __entry->nr, __entry->from, __entry->to)
);

/* States as in enum ek_member_state. */
TRACE_EVENT(hybrid_member_state,
	TP_PROTO(const void *pool, unsigned int member, u32 from, u32 to),
	TP_ARGS(pool, member, from, to),
	TP_STRUCT__entry(
		__field(const void *, pool)
		__field(unsigned int, member)
		__field(u32, from)
		__field(u32, to)
	),
	TP_fast_assign(
		__entry->pool = pool;
		__entry->member = member;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("pool=%p member=%u from=%u to=%u",
		  __entry->pool, __entry->member, __entry->from, __entry->to)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE hybrid_trace
#include <trace/define_trace.h>
