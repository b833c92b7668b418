/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: garbage collection of scmfs' engine
 *
 * wu-2011 IV.B.5: what files have beyond their ends is given back when memory is short, that of
 * cold files first; and what lies in pieces is put together, so that there are whole aligned 2 MiB,
 * free ones for new files and used ones in files that are there, which huge pages can map.
 *
 * relocate.c puts blocks elsewhere, gc_pick.c decides which, without looking at anything but what
 * it is given, and gc.c goes from file to file. None of it locks files: that is its caller's, by
 * struct scmfs_gc_ops.
 */
#ifndef EVENKEEL_SCMFS_ENGINE_GC_H
#define EVENKEEL_SCMFS_ENGINE_GC_H

#include "engine.h"

/* ---- blocks of a file elsewhere -------------------------------------------------------------- */

/**
 * struct scmfs_move - blocks that are to lie in one piece
 * @file: first of them, of the file
 * @count: how many: SCMFS_UNIT_BLOCKS at most, none of them in a hole
 * @whole: into a whole free unit of 2 MiB; else where units are full already, never into a free one
 * @avoid: bit per unit that is not to be used; NULL: none
 * @prefer: bit per unit that is to be used before all others; NULL: none
 */
struct scmfs_move {
	u64 file;
	u64 count;
	bool whole;
	const unsigned long *avoid;
	const unsigned long *prefer;
};

/*
 * scmfs_relocate - put some of a file's blocks into one free run [X]
 *
 * Nobody may have them mapped, or read them without the file's lock. What the file holds, its size
 * and times stay; reserved blocks stay reserved. In steps, each of which is atomic: a cut leaves
 * each part of it at its old place or at the new one. What was bad memory stays where it is.
 * @moved: blocks that lie elsewhere now, also after an error.
 * Return: 0; -ENOSPC: no such run, or no block for extents; -ENODATA: a hole; -EINVAL; -EIO: bad
 * memory; -ENOMEM; -EUCLEAN.
 */
int scmfs_relocate(struct scmfs *fs, u64 ino, const struct scmfs_move *m, u64 *moved);

/*
 * scmfs_trim_some - give back room ahead, as much as one transaction can [X]
 *
 * Return: 1: there may be more; 0: that was all; or an error.
 */
int scmfs_trim_some(struct scmfs *fs, u64 ino);

/* ---- what to do, as pure functions ----------------------------------------------------------- */

/**
 * struct scmfs_gc_params - what collecting is to keep to
 * @low: percent of the memory free below which room ahead is given back
 * @high: and up to which
 * @whole: percent of what is free that should be in whole units of 2 MiB
 * @cold: nanoseconds since a file was modified from which on it is cold
 * @blocks: that a pass copies at most, but for those of the file that it began with
 * @inodes: that it looks at
 * @extents: of files, likewise, but for 256 of the last
 * @huge: whole units are worth it: they can be mapped by huge pages
 * @order: which start it is for: put together what can be, also where the thresholds ask for
 *	nothing, and in hot files; 0: nobody has started it
 */
struct scmfs_gc_params {
	u32 low;
	u32 high;
	u32 whole;
	s64 cold;
	u64 blocks;
	u64 inodes;
	u64 extents;
	bool huge;
	u64 order;
};

/* scmfs_gc_pressed - is so little free that room ahead has to go? @was: it was before */
bool scmfs_gc_pressed(const struct scmfs_gc_params *p, u64 free, u64 all, bool was);
/* scmfs_gc_scattered - is too little of what is free in whole units? */
bool scmfs_gc_scattered(const struct scmfs_gc_params *p, u64 free, u64 whole_units);
/* scmfs_gc_is_cold - has it not been modified for long? A time in the future counts as now. */
bool scmfs_gc_is_cold(const struct scmfs_gc_params *p, s64 mtime, s64 now);

#define SCMFS_GC_VICTIMS	32u	/* units that are emptied at a time */

/**
 * struct scmfs_gc_victims - units that are worth emptying, the emptiest first
 * @nr: how many
 * @unit: which
 * @used: blocks of each that are to go elsewhere
 */
struct scmfs_gc_victims {
	u32 nr;
	u64 unit[SCMFS_GC_VICTIMS];
	u16 used[SCMFS_GC_VICTIMS];
};

/* scmfs_gc_consider - a unit that has @used blocks in use */
void scmfs_gc_consider(struct scmfs_gc_victims *v, u64 unit, u32 used);
/* scmfs_gc_limit - leave as many as have room in @room free blocks, which include their own */
void scmfs_gc_limit(struct scmfs_gc_victims *v, u64 room);

/**
 * struct scmfs_gc_part - an extent's part of 2 MiB of a file
 * @block: where; 0: a hole
 * @count: blocks
 * @unwritten: reserved
 */
struct scmfs_gc_part {
	u64 block;
	u64 count;
	bool unwritten;
};

/*
 * scmfs_gc_worth_whole - should these 2 MiB, which begin at a multiple of that, be put together?
 *
 * Not with holes, nor when most of it is only reserved, nor when it is in one aligned piece.
 */
bool scmfs_gc_worth_whole(const struct scmfs_gc_part *part, u32 nr);

/* ---- from file to file ----------------------------------------------------------------------- */

enum scmfs_gc_lock {
	SCMFS_GC_MOVE,		/* blocks: nobody may have them mapped or pinned */
	SCMFS_GC_TRIM,		/* what is behind the end */
};

/**
 * struct scmfs_gc_ops - whose file system it is
 * @lock: the file exclusively, without waiting; 0; -EAGAIN: somebody is at work on it; -EBUSY:
 *	somebody has it mapped or pinned; -ESTALE: it is gone; another error ends the pass
 * @moving: blocks of it are about to be moved
 * @unlock: after each of them that returned 0
 * @leave: after one or more calls of @lock for a file, whatever they returned: another one comes,
 *	or the pass ends. What the engine knows of the file stays until then. If it is not @done the
 *	next pass goes on there, and would have to find that out anew.
 * @stop: should the pass end now?
 */
struct scmfs_gc_ops {
	int (*lock)(void *ctx, u64 ino, enum scmfs_gc_lock what);
	void (*moving)(void *ctx, u64 ino);
	void (*unlock)(void *ctx, u64 ino);
	void (*leave)(void *ctx, u64 ino, bool done);
	bool (*stop)(void *ctx);
};

/**
 * struct scmfs_gc_counts - what was done since it was opened
 * @passes: begun
 * @rounds: times that all files were looked at, the cold ones and then the hot ones
 * @inodes: looked at
 * @unchanged: of them large files that nothing was done to since there was nothing to put together
 * @moves: relocations
 * @blocks: that lie elsewhere now
 * @wholes: 2 MiB of files put into one piece
 * @emptied: units that are free as a whole now
 * @stuck: units that could not be emptied
 * @refilled: units that were to be, until others put more into them than there was
 * @room: blocks of room ahead that were given back
 * @busy: times that a file was passed by, as somebody was at work on it
 * @mapped: as it was mapped or pinned
 * @no_room: as there was no run to put it in
 * @bad: relocations that met bad memory
 * @failed: or failed otherwise
 */
struct scmfs_gc_counts {
	u64 passes;
	u64 rounds;
	u64 inodes;
	u64 unchanged;
	u64 moves;
	u64 blocks;
	u64 wholes;
	u64 emptied;
	u64 stuck;
	u64 refilled;
	u64 room;
	u64 busy;
	u64 mapped;
	u64 no_room;
	u64 bad;
	u64 failed;
};

struct scmfs_gc;		/* a collector; gc.c */

/* scmfs_gc_new - NULL: no memory. It begins with the first file. */
struct scmfs_gc *scmfs_gc_new(struct scmfs *fs, const struct scmfs_gc_ops *ops, void *ctx);
void scmfs_gc_free(struct scmfs_gc *gc);
const struct scmfs_gc_counts *scmfs_gc_counts(const struct scmfs_gc *gc);
u64 scmfs_gc_memory(const struct scmfs_gc *gc);

/* scmfs_gc_retry - units that could not be emptied may be tried again, from the next round on */
void scmfs_gc_retry(struct scmfs_gc *gc);

/* scmfs_gc_order - which start the round that is under way, or ended last, began for */
u64 scmfs_gc_order(const struct scmfs_gc *gc);

/*
 * scmfs_gc_pass - collect for a while
 *
 * It goes on where the last pass ended, but begins anew with other units when somebody has started
 * it, or stopped it, since. A file is locked for one relocation (2 MiB at most) or 256
 * extents at a time. Nobody else is in a pass of this collector.
 * Return: 1: all files were looked at; 0: there is more; or what @lock returned.
 */
int scmfs_gc_pass(struct scmfs_gc *gc, const struct scmfs_gc_params *p, s64 now);

#endif
