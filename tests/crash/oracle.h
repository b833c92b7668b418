/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECTOR		512u
#define MAX_IO		256u		/* sectors */

enum kind { OP_WRITE, OP_FUA, OP_FLUSH, OP_DISCARD, OP_KINDS };

/* end_tick 0: never acknowledged; error: acknowledged as failed. */
struct op {
	uint32_t kind;
	uint32_t nr;
	uint64_t sector;
	int32_t error;
	uint32_t partial;		/* a discard that may leave what it covers */
	uint64_t start_tick, end_tick;	/* order among operations */
	uint64_t start_seq, end_seq;	/* place in the recording */
};

/* What a workload did; a file in memory. */
struct log {
	uint64_t magic;
	uint64_t seed;
	uint64_t dev_sectors;
	uint64_t max_ops;
	uint64_t first_seq, last_seq;
	atomic_ullong nr_ops;
	struct op op[];
};

/**
 * struct workload - what `run` is asked to do
 * @dev: device
 * @log: path of the log
 * @seq_path: the recorder's state, with a line "now NUMBER"; NULL: not recorded
 * @dm_name: pool whose extents are to be moved; NULL: none
 * @lossy: the device may lose what is not flushed while it runs, and says so to flushes: content of
 *	another time that is read meanwhile is no error
 */
struct workload {
	const char *dev, *log, *seq_path, *dm_name;
	uint64_t seed, ops, extents;
	unsigned int members, threads, moves, flushes, discards, align;
	bool stop_at_error, lossy;
};

/**
 * struct sweep - what `sweep` is asked to do
 * @table: of the device to make at each point: START LENGTH TARGET WORDS
 * @record: the recorder's control file
 * @then: command to be run after every eighth point, the device being gone
 * @plain: it is no pool: don't look at its status
 * @judge_at: point of which the content has to be; UINT64_MAX: of each its own
 */
struct sweep {
	const char *name, *table, *log, *record, *then;
	uint64_t seed, judge_at;
	bool plain;
};

/* log.c */
extern const char *const kind_name[];
void die(const char *what);
uint64_t mix(uint64_t x);
uint64_t next(uint64_t *state);
void *buffer(void);
void tag_sector(void *buf, uint64_t seed, uint64_t sector, uint64_t id);
const char *read_tag(void *buf, uint64_t seed, uint64_t sector, uint64_t *id);
struct log *log_map(const char *path, uint64_t max_ops);

/* run.c */
int cmd_run(const struct workload *workload);

/* check.c */
int check_device(const char *dev, struct log *log, uint64_t point, bool rewrite);
int cmd_settled(const char *log_path);
int cmd_points(const char *log_path, uint64_t seed, uint64_t count, bool every);

/* sweep.c */
int cmd_sweep(const struct sweep *sweep);

#endif
