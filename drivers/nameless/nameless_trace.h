/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM nameless

#if !defined(_NAMELESS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _NAMELESS_TRACE_H

#include <linux/tracepoint.h>

#include "zones.h"

#define show_merge(kind)				\
	__print_symbolic(kind,				\
			 { NL_MERGE_SWITCH, "switch" },	\
			 { NL_MERGE_PARTIAL, "partial" },	\
			 { NL_MERGE_FULL, "full" })

#define show_cause(cause)				\
	__print_symbolic(cause,				\
			 { NL_FOR_HOST, "host" },	\
			 { NL_FOR_GC, "gc" },		\
			 { NL_FOR_MERGE, "merge" },	\
			 { NL_FOR_WEAR, "wear" },	\
			 { NL_FOR_META, "meta" },	\
			 { NL_FOR_RECOVERY, "recovery" })

DECLARE_EVENT_CLASS(nameless_op,
	TP_PROTO(dev_t dev, const struct nl_event *event),
	TP_ARGS(dev, event),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(int, cause)
		__field(u32, plane)
		__field(u32, block)
		__field(u32, page)
		__field(u64, ready)
		__field(u64, done)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->cause = event->cause;
		__entry->plane = event->plane;
		__entry->block = event->block;
		__entry->page = event->page;
		__entry->ready = event->ready;
		__entry->done = event->done;
	),
	TP_printk("%d,%d for=%s plane=%u block=%u page=%d ready=%llu done=%llu",
		  MAJOR(__entry->dev), MINOR(__entry->dev), show_cause(__entry->cause),
		  __entry->plane, __entry->block, (int)__entry->page, __entry->ready,
		  __entry->done)
);

DEFINE_EVENT(nameless_op, nameless_read,
	TP_PROTO(dev_t dev, const struct nl_event *event),
	TP_ARGS(dev, event)
);

DEFINE_EVENT(nameless_op, nameless_program,
	TP_PROTO(dev_t dev, const struct nl_event *event),
	TP_ARGS(dev, event)
);

DEFINE_EVENT(nameless_op, nameless_migrate,
	TP_PROTO(dev_t dev, const struct nl_event *event),
	TP_ARGS(dev, event)
);

DEFINE_EVENT(nameless_op, nameless_erase,
	TP_PROTO(dev_t dev, const struct nl_event *event),
	TP_ARGS(dev, event)
);

TRACE_EVENT(nameless_merge,
	TP_PROTO(dev_t dev, int kind, u64 count),
	TP_ARGS(dev, kind, count),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(int, kind)
		__field(u64, count)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->kind = kind;
		__entry->count = count;
	),
	TP_printk("%d,%d kind=%s count=%llu", MAJOR(__entry->dev), MINOR(__entry->dev),
		  show_merge(__entry->kind), __entry->count)
);

#define show_zone_op(op)				\
	__print_symbolic(op,				\
			 { NL_ZONE_OPEN, "open" },	\
			 { NL_ZONE_CLOSE, "close" },	\
			 { NL_ZONE_FINISH, "finish" },	\
			 { NL_ZONE_RESET, "reset" },	\
			 { NL_ZONE_WRITE, "write" },	\
			 { NL_ZONE_APPEND, "append" })

#define show_zone_state(state)				\
	__print_symbolic(state,				\
			 { NL_ZONE_EMPTY, "empty" },	\
			 { NL_ZONE_IMPLICIT, "implicit" },	\
			 { NL_ZONE_EXPLICIT, "explicit" },	\
			 { NL_ZONE_CLOSED, "closed" },	\
			 { NL_ZONE_FULL, "full" },	\
			 { NL_ZONE_READONLY, "readonly" },	\
			 { NL_ZONE_OFFLINE, "offline" })

/* What was asked of a zone: its result, and the zone after that. A write's beginning is there. */
TRACE_EVENT(nameless_zone,
	TP_PROTO(dev_t dev, int op, u32 zone, const struct nl_zone_info *info, int err),
	TP_ARGS(dev, op, zone, info, err),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(int, op)
		__field(u32, zone)
		__field(int, state)
		__field(u32, pointer)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->op = op;
		__entry->zone = zone;
		__entry->state = info->state;
		__entry->pointer = info->pointer;
		__entry->err = err;
	),
	TP_printk("%d,%d op=%s zone=%u state=%s pointer=%u err=%d", MAJOR(__entry->dev),
		  MINOR(__entry->dev), show_zone_op(__entry->op), __entry->zone,
		  show_zone_state(__entry->state), __entry->pointer, __entry->err)
);

/* What a bio cost this machine beside what it took: ns. */
TRACE_EVENT(nameless_request,
	TP_PROTO(dev_t dev, char op, u64 sector, u32 bytes, const struct nl_cost *cost),
	TP_ARGS(dev, op, sector, bytes, cost),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(char, op)
		__field(u64, sector)
		__field(u32, bytes)
		__field(u64, model)
		__field(u64, store)
		__field(u64, end)
		__field(u64, flash)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->op = op;
		__entry->sector = sector;
		__entry->bytes = bytes;
		__entry->model = cost->model;
		__entry->store = cost->store;
		__entry->end = cost->end;
		__entry->flash = cost->flash;
	),
	TP_printk("%d,%d %c %llu + %u model=%llu store=%llu end=%llu flash=%llu",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->op, __entry->sector,
		  __entry->bytes, __entry->model, __entry->store, __entry->end, __entry->flash)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE nameless_trace
#include <trace/define_trace.h>
