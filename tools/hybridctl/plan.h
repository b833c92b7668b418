/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which extents are to change places so that all accesses together take least, at most so many of
 * them.  Pure.
 *
 * An access to extent j at member i takes r_i or w_i, as measured, times how much busier or idler
 * the plan makes the member: (1 - u) / (1 - u'), u the part of what it can bear that it bears now
 * and u' then.  What it can bear is known only as far as its times have grown under its load, and
 * taken for twice what it was seen to bear at most; of a member without a load, one request at a
 * time.  Never less than the idle time; where that is not known, than now.
 *
 * Nothing goes where it is not known how long its accesses would take.
 *
 * The most useful move is planned first, and the others looked at again, as each changes what the
 * next one gains.  A move has to be worth its copy within as many accesses again as were counted.
 *
 * Where a member has no room an extent may change places with the one there that is used least, if
 * both together are worth both copies.
 */
#ifndef HYBRIDCTL_PLAN_H
#define HYBRIDCTL_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#define PLAN_MAX_MEMBERS	32

struct plan_member {
	bool takes;		/* extents may go there */
	double read_ns, write_ns;	/* means under the present load; 0: not known */
	double idle_ns;		/* without one; 0: not known */
	uint64_t room;		/* extents that it may take in */
	uint64_t spare;		/* places that are free, if only until one of two has left */
};

struct plan_extent {
	uint64_t le;
	unsigned int member;
	uint32_t reads, writes;
	bool fixed;		/* it may not move */
};

struct plan_move {
	uint64_t le;
	unsigned int from, to;
	uint32_t reads, writes;
	double gain_ns;		/* of all accesses that were counted, when it was planned */
	bool makes_room;	/* for the move before or behind it, which has the gain of both */
	bool with_next;		/* the first of such two */
};

struct plan {
	unsigned int nr_members;
	struct plan_member member[PLAN_MAX_MEMBERS];
	struct plan_extent *extent;
	unsigned long nr_extents;
	double per_second;	/* accesses, of all extents */
	/* made by plan_make() */
	struct plan_move *move;
	unsigned long nr_moves;
	double before_ns, after_ns;	/* mean of an access, as predicted */
};

/* At most @budget moves. */
void plan_make(struct plan *p, unsigned long budget);
/* Mean time of an access if extent i were at member at[i]; NULL: where it is. */
double plan_mean(const struct plan *p, const unsigned int *at);
/* What plan_make() made. */
void plan_free(struct plan *p);

#endif
