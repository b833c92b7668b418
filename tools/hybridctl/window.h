/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an active volume's members did over some periods: how many requests, how long they took.
 */
#ifndef HYBRIDCTL_WINDOW_H
#define HYBRIDCTL_WINDOW_H

#include <stdint.h>

#include "status.h"

struct window_member {
	double reads, writes;		/* requests */
	double read_ns, write_ns;	/* their mean response times; 0: none */
	double idle_ns;			/* of a read when it is idle; 0: never seen so */
};

struct window {
	double seconds;
	double requests;
	double mean_ns;		/* of all requests; 0: none */
	double reads, writes, read_ns, write_ns;	/* of all members, as of each */
	struct window_member dev[STATUS_MAX_DEVS];
};

/*
 * Look at the end of each period for @seconds, one period at least.  Prints what is wrong; 0,
 * EXIT_FAILED.  Ends early when interrupted (interrupt.h): then nothing was measured, and it
 * returns 0.
 */
int window_measure(struct window *w, const char *name, double seconds);
/*
 * The mean response time at the mix of reads and writes of another window: who waits for answers
 * asks more often for what is answered faster, which makes the plain mean another mix's.
 */
double window_mean(const struct window *w, const struct window *as);

#endif
