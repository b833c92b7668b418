/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When flash operations are done: a pure function of what was asked before, without a clock of
 * its own.
 *
 * Times are absolute ns on whatever clock the caller uses throughout. An operation is booked
 * once, when the FTL decides on it, and gets its completion time at once: nothing has to be awake
 * until then, and the caller sleeps by a timer. Operations of one plane are done in the order of
 * booking. A bus carries one transfer at a time; a transfer takes the first gap that is long
 * enough, so that a page which will come out of a plane later does not keep the bus from others
 * meanwhile (figure 3.2).
 *
 *	read:     bus control | page read | register | bus data | RAM
 *	program:  RAM | bus control and data | register | page write
 *	erase:    bus control | block erase
 *
 * The plane is occupied from its bus control to its last step that is not RAM.
 *
 * The caller serialises calls on one struct nl_timing. No call sleeps or allocates, but
 * nl_timing_init().
 */
#ifndef NAMELESS_TIMING_H
#define NAMELESS_TIMING_H

#include "geometry.h"

enum nl_op { NL_READ, NL_PROGRAM, NL_ERASE, NL_NR_OPS };

/* What an operation is for. */
enum nl_cause {
	NL_FOR_HOST,
	NL_FOR_GC,		/* page map: live pages of a victim, and its erase */
	NL_FOR_MERGE,		/* hybrid: switch, partial and full merges */
	NL_FOR_WEAR,		/* wear leveling */
	NL_FOR_META,		/* trim records, checkpoints */
	NL_FOR_RECOVERY,	/* reading OOB at the start */
	NL_NR_CAUSES
};

extern const char * const nl_op_names[NL_NR_OPS];
extern const char * const nl_cause_names[NL_NR_CAUSES];

#define NL_BUS_SPANS	32u

struct nl_span {
	u64 from, to;
};

/* Times at which a bus is taken, in order, apart from each other. */
struct nl_bus {
	u32 nr;
	struct nl_span span[NL_BUS_SPANS];
};

/**
 * struct nl_timing - the device's clockwork
 * @geo: the shape
 * @lat: parameters NL_P_READ .. NL_P_REGISTER; may be changed between calls, what is booked stays
 * @plane_free: per plane: when the last operation booked is done
 * @latest: of these
 * @bus: per channel
 * @busy: ns that planes spent or will, by operation and cause (figures 3.14 and 3.15)
 * @plane_busy: ns per plane
 * @idle_in_merge: ns that planes did nothing for while a merge was under way, summed over planes
 * @merge_until: end of the last merge booked
 * @now: nothing is booked before it any more
 */
struct nl_timing {
	const struct nl_geometry *geo;
	u64 lat[NL_P_REGISTER - NL_P_READ + 1];
	u64 *plane_free;
	u64 latest;
	struct nl_bus *bus;
	u64 busy[NL_NR_OPS][NL_NR_CAUSES];
	u64 *plane_busy;
	u64 idle_in_merge;
	u64 merge_until;
	u64 now;
};

/* May sleep. 0 or -ENOMEM. */
int nl_timing_init(struct nl_timing *timing, const struct nl_geometry *geo,
		   const struct nl_config *config);
void nl_timing_destroy(struct nl_timing *timing);

/* Take latencies out of @config; what is booked stays. */
void nl_timing_retune(struct nl_timing *timing, const struct nl_config *config);

/* Power is off and on again: nothing is booked any more. The sums stay. */
void nl_timing_reset(struct nl_timing *timing);

/* Time goes on: nothing will be booked before @now any more. */
static inline void nl_timing_begin(struct nl_timing *timing, u64 now)
{
	timing->now = max(timing->now, now);
}

/**
 * nl_timing_op - book a flash operation
 * @timing: the clockwork
 * @op: which
 * @cause: what for, for the sums
 * @plane: where
 * @ready: not to begin before this, ns
 *
 * Return: when it is done, ns.
 */
u64 nl_timing_op(struct nl_timing *timing, enum nl_op op, enum nl_cause cause, u32 plane,
		 u64 ready);

/* What it takes to read a page into RAM and program it elsewhere, all else being idle, ns. */
u64 nl_timing_copy(const struct nl_config *config);

/* A merge took [@from, @to) and kept planes busy for @busy ns in sum: what is missing was idle. */
void nl_timing_merge(struct nl_timing *timing, u64 from, u64 to, u64 busy);

/* Latest completion booked, ns: the device is idle after it. */
u64 nl_timing_idle_at(const struct nl_timing *timing);

static inline u64 nl_latency(const struct nl_timing *timing, enum nl_param param)
{
	return timing->lat[param - NL_P_READ];
}

#endif
