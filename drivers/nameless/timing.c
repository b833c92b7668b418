// SPDX-License-Identifier: GPL-2.0-only
/* The clockwork: deadlines of planes, gaps of buses. */
#include <linux/slab.h>
#include <linux/mm.h>
#include "timing.h"

const char * const nl_op_names[NL_NR_OPS] = {
	[NL_READ] = "read", [NL_PROGRAM] = "program", [NL_ERASE] = "erase",
};

const char * const nl_cause_names[NL_NR_CAUSES] = {
	[NL_FOR_HOST] = "host", [NL_FOR_GC] = "gc", [NL_FOR_MERGE] = "merge",
	[NL_FOR_WEAR] = "wear", [NL_FOR_META] = "meta", [NL_FOR_RECOVERY] = "recovery",
};

int nl_timing_init(struct nl_timing *timing, const struct nl_geometry *geo,
		   const struct nl_config *config)
{
	memset(timing, 0, sizeof(*timing));
	timing->geo = geo;
	timing->plane_free = kvcalloc(geo->nr_planes, sizeof(u64), GFP_KERNEL);
	timing->plane_busy = kvcalloc(geo->nr_planes, sizeof(u64), GFP_KERNEL);
	timing->bus = kvcalloc(geo->nr_channels, sizeof(*timing->bus), GFP_KERNEL);
	if (!timing->plane_free || !timing->plane_busy || !timing->bus) {
		nl_timing_destroy(timing);
		return -ENOMEM;
	}
	nl_timing_retune(timing, config);
	return 0;
}

void nl_timing_destroy(struct nl_timing *timing)
{
	kvfree(timing->plane_free);
	kvfree(timing->plane_busy);
	kvfree(timing->bus);
	memset(timing, 0, sizeof(*timing));
}

void nl_timing_retune(struct nl_timing *timing, const struct nl_config *config)
{
	memcpy(timing->lat, &config->p[NL_P_READ], sizeof(timing->lat));
}

void nl_timing_reset(struct nl_timing *timing)
{
	u32 i;

	for (i = 0; i < timing->geo->nr_planes; i++)
		timing->plane_free[i] = 0;
	timing->latest = 0;
	for (i = 0; i < timing->geo->nr_channels; i++)
		timing->bus[i].nr = 0;
	timing->merge_until = 0;
	timing->now = 0;
}

static void nl_bus_drop(struct nl_bus *bus, u32 at)
{
	bus->nr--;
	memmove(&bus->span[at], &bus->span[at + 1], (bus->nr - at) * sizeof(bus->span[0]));
}

/* Room for one more: the smallest gap is given up, as if the bus were taken in it. */
static void nl_bus_make_room(struct nl_bus *bus)
{
	u32 i, best = 1;

	for (i = 2; i < bus->nr; i++)
		if (bus->span[i].from - bus->span[i - 1].to <
		    bus->span[best].from - bus->span[best - 1].to)
			best = i;
	bus->span[best - 1].to = bus->span[best].to;
	nl_bus_drop(bus, best);
}

static void nl_bus_insert(struct nl_bus *bus, u32 at, u64 from, u64 to)
{
	if (at && bus->span[at - 1].to == from) {
		bus->span[at - 1].to = to;
		if (at < bus->nr && bus->span[at].from == to) {
			bus->span[at - 1].to = bus->span[at].to;
			nl_bus_drop(bus, at);
		}
		return;
	}
	if (at < bus->nr && bus->span[at].from == to) {
		bus->span[at].from = from;
		return;
	}
	memmove(&bus->span[at + 1], &bus->span[at], (bus->nr - at) * sizeof(bus->span[0]));
	bus->span[at].from = from;
	bus->span[at].to = to;
	bus->nr++;
}

/* Take the bus for @len at @ready or as soon as it is free so long: when that begins. */
static u64 nl_bus_take(struct nl_bus *bus, u64 ready, u64 len)
{
	u64 from = ready;
	u32 i;

	if (!len)
		return ready;
	if (bus->nr == NL_BUS_SPANS)
		nl_bus_make_room(bus);
	/* most begin behind all that is booked */
	i = bus->nr && bus->span[bus->nr - 1].to <= from ? bus->nr : 0;
	for (; i < bus->nr; i++) {
		if (bus->span[i].to <= from)
			continue;
		if (bus->span[i].from >= from + len)
			break;
		from = bus->span[i].to;
	}
	nl_bus_insert(bus, i, from, from + len);
	return from;
}

/* What is over can't matter any more: nothing is booked before the time now. */
static void nl_bus_forget(struct nl_bus *bus, u64 before)
{
	u32 i = 0;

	while (i < bus->nr && bus->span[i].to <= before)
		i++;
	if (!i)
		return;
	bus->nr -= i;
	memmove(&bus->span[0], &bus->span[i], bus->nr * sizeof(bus->span[0]));
}

static u64 nl_time_read(struct nl_timing *timing, struct nl_bus *bus, u64 *from)
{
	u64 at;

	*from = nl_bus_take(bus, *from, nl_latency(timing, NL_P_BUS_CONTROL));
	at = *from + nl_latency(timing, NL_P_BUS_CONTROL) + nl_latency(timing, NL_P_READ) +
	     nl_latency(timing, NL_P_REGISTER);
	at = nl_bus_take(bus, at, nl_latency(timing, NL_P_BUS_DATA));
	return at + nl_latency(timing, NL_P_BUS_DATA);
}

static u64 nl_time_program(struct nl_timing *timing, struct nl_bus *bus, u64 *from)
{
	u64 transfer = nl_latency(timing, NL_P_BUS_CONTROL) + nl_latency(timing, NL_P_BUS_DATA);

	*from = nl_bus_take(bus, *from, transfer);
	return *from + transfer + nl_latency(timing, NL_P_REGISTER) +
	       nl_latency(timing, NL_P_PROGRAM);
}

static u64 nl_time_erase(struct nl_timing *timing, struct nl_bus *bus, u64 *from)
{
	*from = nl_bus_take(bus, *from, nl_latency(timing, NL_P_BUS_CONTROL));
	return *from + nl_latency(timing, NL_P_BUS_CONTROL) + nl_latency(timing, NL_P_ERASE);
}

u64 nl_timing_op(struct nl_timing *timing, enum nl_op op, enum nl_cause cause, u32 plane,
		 u64 ready)
{
	struct nl_bus *bus = &timing->bus[nl_channel_of(timing->geo, plane)];
	u64 from = ready + (op == NL_PROGRAM ? nl_latency(timing, NL_P_RAM) : 0);
	u64 done;

	nl_bus_forget(bus, timing->now);
	from = max(from, timing->plane_free[plane]);
	switch (op) {
	case NL_READ:
		done = nl_time_read(timing, bus, &from);
		break;
	case NL_PROGRAM:
		done = nl_time_program(timing, bus, &from);
		break;
	default:
		done = nl_time_erase(timing, bus, &from);
		break;
	}
	timing->plane_free[plane] = done;
	timing->latest = max(timing->latest, done);
	timing->busy[op][cause] += done - from;
	timing->plane_busy[plane] += done - from;
	return done + (op == NL_READ ? nl_latency(timing, NL_P_RAM) : 0);
}

u64 nl_timing_copy(const struct nl_config *config)
{
	const u64 *p = config->p;

	return p[NL_P_READ] + p[NL_P_PROGRAM] + 2 * (p[NL_P_BUS_CONTROL] + p[NL_P_BUS_DATA] +
						     p[NL_P_REGISTER] + p[NL_P_RAM]);
}

void nl_timing_merge(struct nl_timing *timing, u64 from, u64 to, u64 busy)
{
	u64 all;

	from = max(from, timing->merge_until);
	if (to <= from)
		return;
	timing->merge_until = to;
	all = (to - from) * timing->geo->nr_planes;
	timing->idle_in_merge += all > busy ? all - busy : 0;
}

u64 nl_timing_idle_at(const struct nl_timing *timing)
{
	return timing->latest;
}
