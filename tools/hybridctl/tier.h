/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What policy "concentrate" has in hand: the kernel's answer to the message "concentrations",
 * whose grammar is in Documentation/admin-guide/dm-hybrid.rst.  Pure.
 */
#ifndef HYBRIDCTL_TIER_H
#define HYBRIDCTL_TIER_H

#include <stdbool.h>
#include <stdint.h>

/* Neighbouring sub-LUNs on which accesses concentrate. */
struct tier_run {
	uint64_t first, extents;
	uint64_t share_ppm;	/* of the accesses */
	uint64_t windows;	/* that it has gone on */
	uint64_t fast;		/* extents known to be on the fast member */
	uint64_t left_ms;	/* expected */
};

struct tier {
	int member;		/* the fast one; -1: not known yet */
	uint64_t sublun;	/* extents */
	uint64_t fast, up, down;
	struct tier_run *run;
	unsigned int nr_runs;
};

/* @text is cut into words; false: not understood, nothing to free. */
bool tier_parse(char *text, struct tier *tier);
void tier_free(struct tier *tier);

#endif
