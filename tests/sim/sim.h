/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A closed loop of processes over two or more devices, driving the kernel's own
 * policies and heat list by discrete events.  Deterministic by its seed.
 */
#ifndef _SIM_H
#define _SIM_H

#include <shim.h>
#include "policy.h"
#include "heat.h"

#define SIM_EXTENTS	20000
#define SIM_PERIOD_NS	2000000000ULL

/**
 * struct sim_dev - a device: a queue before identical servers
 * @name: what the table says
 * @servers: requests served at once
 * @us: mean service time of a request
 * @cv: its coefficient of variation
 * @move_us: service time of an extent that is copied
 */
struct sim_dev {
	const char *name;
	unsigned int servers;
	double us;
	double cv;
	double move_us;
};

struct sim_config {
	struct sim_dev dev[4];
	unsigned int nr;
	unsigned int processes;
	unsigned int periods;
	bool new_writes;		/* each request allocates its extent */
	u64 seed;
	const char *policy;
	const char *const *params;	/* key, value, ..., NULL */
};

/**
 * struct sim_result - over the second half of the periods
 * @iops: requests a second
 * @share: mean share of requests, percent
 * @share_sd: its standard deviation over periods, points, of the member with the largest
 * @mean_us: mean response time
 * @moves: extents migrated, in all periods
 * @hash: of everything measured in every period
 */
struct sim_result {
	double iops;
	double share[4];
	double share_sd;
	double mean_us[4];
	u64 moves;
	u64 hash;
};

struct sim_result sim_run(const struct sim_config *config);

#endif
