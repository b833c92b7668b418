/* SPDX-License-Identifier: GPL-2.0-only */
/* A collector, from inside. */
#ifndef EVENKEEL_SCMFS_ENGINE_GC_INTERNAL_H
#define EVENKEEL_SCMFS_ENGINE_GC_INTERNAL_H

#include "engine_gc.h"
#include "engine_internal.h"

#define SCMFS_GC_BAD		64u	/* relocations that met bad memory, remembered */
#define SCMFS_GC_LOOK_UNITS	512u	/* whose counts are copied under the maps' lock */

/**
 * struct scmfs_gc_bad - what can't be moved, as there is bad memory in it
 * @ino: of the file; 0: nothing
 * @file: its first block
 * @whole: as a whole unit, while its parts may be moved
 */
struct scmfs_gc_bad {
	u64 ino;
	u64 file;
	bool whole;
};

/**
 * struct scmfs_gc - a collector
 * @fs: of which
 * @ops: its file system's
 * @ctx: for those
 * @counts: what was done
 * @victims: of this round, as they were at its begin
 * @victim: bit per unit: it is to be emptied
 * @left: how many are still to be
 * @stuck: bit per unit: that was tried, and could not be done
 * @retry: which is to be forgotten
 * @begun: a round is under way
 * @hot: its second half
 * @ino: the file that comes next
 * @file: and its block
 * @pressed: memory is short
 * @p: of the pass
 * @order: of the round, see scmfs_gc_params
 * @now: likewise
 * @blocks: that it may still copy
 * @inodes: that it may still look at
 * @extents: likewise
 * @no_whole: there is no free unit left
 * @bad: not to be tried again until somebody starts it, the oldest goes first
 * @next_bad: the oldest
 * @frees: counts of units
 * @looking: file whose bit in scmfs.gc_done has yet to be deserved; 0: none
 * @part: 2 MiB of a file
 * @nr_parts: of them
 */
struct scmfs_gc {
	struct scmfs *fs;
	const struct scmfs_gc_ops *ops;
	void *ctx;
	struct scmfs_gc_counts counts;
	struct scmfs_gc_victims victims;
	unsigned long *victim;
	u32 left;
	unsigned long *stuck;
	bool retry;
	bool begun;
	bool hot;
	u64 ino;
	u64 file;
	bool pressed;
	const struct scmfs_gc_params *p;
	u64 order;
	s64 now;
	u64 blocks;
	u64 inodes;
	u64 extents;
	bool no_whole;
	struct scmfs_gc_bad bad[SCMFS_GC_BAD];
	u32 next_bad;
	u16 frees[SCMFS_GC_LOOK_UNITS];
	u64 looking;
	struct scmfs_gc_part part[SCMFS_UNIT_BLOCKS];
	u32 nr_parts;
};

static inline size_t scmfs_gc_map_bytes(const struct scmfs *fs)
{
	return BITS_TO_LONGS(fs->nr_units) * sizeof(unsigned long);
}

/* gc_units.c */
void scmfs_gc_choose(struct scmfs_gc *gc);
bool scmfs_gc_is_victim(struct scmfs_gc *gc, u64 unit);
void scmfs_gc_note_emptied(struct scmfs_gc *gc, u64 unit);
void scmfs_gc_end_round(struct scmfs_gc *gc);

#endif
