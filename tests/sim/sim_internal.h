/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the simulation. */
#ifndef _SIM_INTERNAL_H
#define _SIM_INTERNAL_H

#include <evenkeel/rtmon.h>
#include "settings.h"
#include "sim.h"

#define MAX_PROCESSES	1024		/* times the requests that each has in flight */
#define MAX_MOVERS	64
#define MAX_REQUESTS	(MAX_PROCESSES + MAX_MOVERS + SIM_DEVS)	/* and a probe each */
#define NOWHERE		0xff
#define EXTENT_KB	128

/* Where a process is in its cycle, and how many requests it waits for. */
struct process {
	unsigned int at, pending;
	bool started;
};

/* A process's request, or its pause, or a copy: read at @from, then written at @to. */
struct request {
	unsigned int id;
	unsigned int dev;
	u64 start, end;
	u64 le;
	bool copy, probe, writing, active, pause;
	enum ek_dir dir;
	unsigned int from, to;
};

/* Requests that wait, and how many are served. */
struct queue {
	unsigned int busy;
	struct request *waiting[MAX_REQUESTS];
	unsigned int head, queued;
};

struct device {
	struct sim_dev model;
	struct ek_rtmon *mon;
	struct ek_rt_sample sample;
	struct queue all;
	struct queue writes;		/* of users, where they have servers of their own */
	s64 debt;
	u64 cold_cursor;
	u32 cold_looks;			/* at extents, since one was found that is not in use */
	u64 cold_since, cold_last;
	u64 shed_idle;
	u64 seen_occupancy;
	u64 probe_due, probe_ns;
	u32 probes, new_probes;
	u64 last_probe[HY_FIRST_PROBES];
};

struct ring {
	u32 head, tail;
	struct hy_access slot[HY_RING];
};

struct zipf {
	double *cdf;
	u32 *guide;
	u32 *extent;		/* by rank */
};

/* struct hy_gather */
struct sim_gather {
	bool active;
	struct hy_range range;
	u64 at, start;
	struct hy_moved moved;
};

/* Where accesses concentrate, from when to when. */
struct hot {
	u64 first, from, until;
};

struct sim {
	const struct sim_config *config;
	u64 now, random;
	unsigned int processes;
	struct process process[MAX_PROCESSES];
	struct device dev[SIM_DEVS];
	struct request request[MAX_REQUESTS];
	struct request *heap[MAX_REQUESTS];
	unsigned int heap_nr;
	u8 map[SIM_EXTENTS];
	u64 next_new;
	u64 filled;
	unsigned int filling;
	struct zipf zipf;
	struct ring ring[SHIM_CPUS];
	struct hy_policy *policy;
	struct hy_settings set;
	struct hy_snapshot snap;
	struct hy_decision decision, tokens;
	struct hy_heat heat;
	u64 period_start, next_copy, last_tick;
	u64 first;			/* requests that write new extents */
	unsigned int moving;
	u64 moves;
	u32 moved_ppm;
	struct sim_gather gather;
	struct hot hot;
};

/* sim_load.c */
double sim_uniform(struct sim *s);
void sim_load_init(struct sim *s);
void sim_load_destroy(struct sim *s);
u64 sim_next_extent(struct sim *s);
bool sim_is_written(const struct sim *s, u64 le);
bool sim_writes(struct sim *s, u64 le);
bool sim_is_large(const struct sim *s, u64 le);

/* sim_device.c */
void sim_submit(struct sim *s, struct request *r, unsigned int dev);
void sim_pause(struct sim *s, struct request *r, double us);
struct request *sim_next_done(struct sim *s, u64 until);

/* sim_mover.c */
void sim_note_access(struct sim *s, const struct request *r);
void sim_take_accesses(struct sim *s);
void sim_mover_tick(struct sim *s);
void sim_pay_debts(struct sim *s);
struct request *sim_free_mover(struct sim *s, unsigned int from);
void sim_copy(struct sim *s, struct request *r, unsigned int from, unsigned int to);
void sim_copy_done(struct sim *s, struct request *r);

/* sim_gather.c */
void sim_gather_tick(struct sim *s);

/* sim_probe.c */
void sim_probe_tick(struct sim *s);
void sim_probe_done(struct sim *s, struct request *r);
void sim_probe_sample(struct device *d, struct hy_dev_snap *snap);
bool sim_probes_are_known(const struct sim *s);

/* sim.c */
void sim_put(struct sim *s, u64 le, unsigned int member);

#endif
