// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which units of 2 MiB a round of garbage collection empties.
 *
 * They are chosen once, as nothing says whose blocks are in a unit: all files have to be asked.
 * What is free changes meanwhile, so that is a plan and no more. Where a block is and what it can
 * have instead is looked up when it is moved, under its file's locks and the maps'.
 */
#include "engine_gc_internal.h"

#define GC_FORGET	64u	/* rounds after which stuck units are tried again */

/**
 * struct units - what a look at all of them has found
 * @whole: free ones
 * @room: free blocks of the others
 */
struct units {
	u64 whole;
	u64 room;
};

static void add_units(struct scmfs_gc *gc, u64 unit, u32 nr, struct units *seen)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (gc->frees[i] == SCMFS_UNIT_BLOCKS) {
			seen->whole++;
			continue;
		}
		seen->room += gc->frees[i];
		if (!test_bit(unit + i, gc->stuck))
			scmfs_gc_consider(&gc->victims, unit + i,
					  SCMFS_UNIT_BLOCKS - gc->frees[i]);
	}
}

static void look_at_units(struct scmfs_gc *gc, struct units *seen)
{
	u64 unit = 0;
	u32 nr;

	*seen = (struct units){ 0 };
	gc->victims.nr = 0;
	for (;; unit += nr) {
		nr = scmfs_unit_frees(gc->fs, &unit, gc->frees, SCMFS_GC_LOOK_UNITS);
		if (!nr || gc->ops->stop(gc->ctx))
			return;
		add_units(gc, unit, nr, seen);
		cond_resched();
	}
}

void scmfs_gc_choose(struct scmfs_gc *gc)
{
	struct scmfs_statfs st;
	struct units seen;
	u32 i;

	memset(gc->victim, 0, scmfs_gc_map_bytes(gc->fs));
	if (gc->retry || gc->counts.rounds % GC_FORGET == 0)
		memset(gc->stuck, 0, scmfs_gc_map_bytes(gc->fs));
	if (gc->retry)
		memset(gc->bad, 0, sizeof(gc->bad));
	gc->retry = false;
	look_at_units(gc, &seen);
	scmfs_statfs(gc->fs, &st);
	if (!gc->p->huge || !(gc->order || scmfs_gc_scattered(gc->p, st.free, seen.whole)))
		gc->victims.nr = 0;
	scmfs_gc_limit(&gc->victims, seen.room);
	gc->left = gc->victims.nr;
	for (i = 0; i < gc->left; i++)
		__set_bit(gc->victims.unit[i], gc->victim);
}

/* How many blocks of it are free now; where small files are put none, see scmfs_unit_frees(). */
static u32 frees_of(const struct scmfs_gc *gc, u64 unit)
{
	u64 at = unit;
	u16 free;

	return scmfs_unit_frees(gc->fs, &at, &free, 1) && at == unit ? free : 0;
}

static void no_victim(struct scmfs_gc *gc, u64 unit)
{
	__clear_bit(unit, gc->victim);
	gc->left--;
}

static u32 used_at_first(const struct scmfs_gc *gc, u64 unit)
{
	u32 i;

	for (i = 0; i < gc->victims.nr; i++)
		if (gc->victims.unit[i] == unit)
			return gc->victims.used[i];
	return 0;
}

/*
 * Is it (still) to be emptied? It was chosen for what was in it when the round began, and others
 * allocate meanwhile: with more in it than then there are better ones, which the next round finds.
 */
bool scmfs_gc_is_victim(struct scmfs_gc *gc, u64 unit)
{
	if (!test_bit(unit, gc->victim))
		return false;
	if (SCMFS_UNIT_BLOCKS - frees_of(gc, unit) <= used_at_first(gc, unit))
		return true;
	no_victim(gc, unit);
	gc->counts.refilled++;
	return false;
}

/* Some of it has gone; is there more? */
void scmfs_gc_note_emptied(struct scmfs_gc *gc, u64 unit)
{
	if (!test_bit(unit, gc->victim) || frees_of(gc, unit) < SCMFS_UNIT_BLOCKS)
		return;
	no_victim(gc, unit);
	gc->counts.emptied++;
}

/* What is left could not be emptied, unless others have done so. */
void scmfs_gc_end_round(struct scmfs_gc *gc)
{
	u64 unit;
	u32 i;

	for (i = 0; i < gc->victims.nr; i++) {
		unit = gc->victims.unit[i];
		scmfs_gc_note_emptied(gc, unit);
		if (!test_bit(unit, gc->victim))
			continue;
		__set_bit(unit, gc->stuck);
		gc->counts.stuck++;
	}
	gc->counts.rounds++;
	gc->begun = false;
}
