/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A closed loop of processes over a few devices, driving the kernel's own policies,
 * monitor and heat list by discrete events.  Deterministic by its seed.
 */
#ifndef _SIM_H
#define _SIM_H

#include <shim.h>
#include "policy.h"
#include "heat.h"

#define SIM_EXTENTS	20000
#define SIM_DEVS	5
#define SIM_PROBED	(-2)
#define SIM_PERIOD_NS	2000000000ULL
#define SIM_MAX_PERIODS	256

/**
 * struct sim_dev - a device: a queue before identical servers
 * @name: what the table says
 * @servers: requests served at once
 * @us: mean service time of a request
 * @write_us: of a write; 0: @us
 * @write_servers: writes have a queue and servers of their own, so many; 0: they share the others
 * @cv: its coefficient of variation
 * @move_us: service time of an extent that is copied
 * @move_read_us: of one that is copied from there; 0: @move_us
 * @extents: it has; 0: as many as may be wanted
 * @grow: with n requests at the device a service takes @us / n^@grow
 */
struct sim_dev {
	const char *name;
	unsigned int servers;
	double us;
	double write_us;
	unsigned int write_servers;
	double cv;
	double move_us;
	double move_read_us;
	double grow;
	u32 extents;
};

enum sim_load { SIM_UNIFORM, SIM_ZIPF, SIM_NEW_WRITES, SIM_CONCENTRATED };

/**
 * struct sim_hot - concentrations as in oe-nanri section 2.1
 * @share: part of the requests that go to the concentration, while there is one
 * @extents: its size, and what its place is a multiple of
 * @least_s: a concentration lasts from so long
 * @most_s: to so long
 * @pause_s: then there is none
 * @shift: so often the next is beside it, above; otherwise anywhere
 * @among: anywhere is one of so many places, 0: all
 */
struct sim_hot {
	double share;
	u32 extents;
	double least_s;
	double most_s;
	double pause_s;
	double shift;
	unsigned int among;
};

/**
 * struct sim_step - something changes at the start of a period
 * @period: of this one; 0: nothing does
 * @processes: how many there are from then on; 0: as before
 * @dev: which device
 * @slower: its service times are so many times what they were; 0: as before
 */
struct sim_step {
	unsigned int period;
	unsigned int processes;
	unsigned int dev;
	double slower;
};

/**
 * struct sim_cycle - what a process does over and over, as programs do that work on files
 * @singles: requests one after the other
 * @burst: then so many writes at once, until all are done; to what is written, where that is apart
 * @think_us: then a pause, on average; half to one and a half times as long
 *
 * All 0: one request after the other.
 */
struct sim_cycle {
	unsigned int singles;
	unsigned int burst;
	double think_us;
};

/**
 * struct sim_config - what is simulated
 * @dev: the members
 * @nr: how many
 * @processes: each has one request in flight, or what its cycle says
 * @cycle: that
 * @periods: of SIM_PERIOD_NS
 * @load: what they access; SIM_NEW_WRITES allocates an extent for each request
 * @zipf: exponent of SIM_ZIPF
 * @hot: of SIM_CONCENTRATED
 * @writes: part of the requests that write
 * @apart: not 0: that part of the extents is written, but for so many of the requests there, and the
 *	others are read, but for as many
 * @large: part of the extents that are accessed in requests larger than an extent
 * @fresh: part of the requests that allocate their extent anew, of those in bursts if there are any
 * @fill: not 0: before the load all extents are written, one after the other, so many at once; what
 *	counts begins after that
 * @start: all extents lie on this member at first; -1: where the policy places them, what is to be
 *	filled when it is written; SIM_PROBED: the same after it has had the probes that it wants
 * @step: what changes
 * @whole: all periods count
 * @seed: of the random numbers
 * @order: not 0: of SIM_ZIPF it says which extents are the hot ones, and not @seed
 * @policy: its name
 * @params: key, value, ..., NULL: the policy's and the mover's
 */
struct sim_config {
	struct sim_dev dev[SIM_DEVS];
	unsigned int nr;
	unsigned int processes;
	struct sim_cycle cycle;
	unsigned int periods;
	enum sim_load load;
	double zipf;
	struct sim_hot hot;
	double writes;
	double apart;
	double large;
	double fresh;
	unsigned int fill;
	int start;
	struct sim_step step;
	bool whole;
	u64 seed;
	u64 order;
	const char *policy;
	const char *const *params;
};

/**
 * struct sim_result - over the last half of the periods, after a step over the last half
 *	of those that follow it; over all, or all after the filling
 * @iops: requests a second
 * @share: mean share of requests, percent
 * @share_sd: its standard deviation over periods, points, of the member with the largest
 * @mean_us: mean response time
 * @converged: periods, of a step from there, until all shares stay within 5 points of @share
 * @copying: periods that the extents migrated until then take at the slowest member's own pace
 * @moves: extents migrated, in all periods
 * @filled: periods in which there was something left to fill
 * @fill_moves: extents migrated in these
 * @emptied: periods after which a member with a tenth of the requests or more was to have none
 * @hash: of everything measured in every period
 */
struct sim_result {
	double iops;
	double share[SIM_DEVS];
	double share_sd;
	double mean_us[SIM_DEVS];
	unsigned int converged;
	double copying;
	u64 moves;
	unsigned int filled;
	u64 fill_moves;
	unsigned int emptied;
	u64 hash;
};

struct sim_result sim_run(const struct sim_config *config);

#endif
