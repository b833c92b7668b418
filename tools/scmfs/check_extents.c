// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extents of an inode: each can be one, no two of them overlap in the file, and their blocks are
 * nobody else's. Of those that overlap as many as possible stay: taken in order of their ends, each
 * that begins where the last one ended or later does. So one whose length is damaged goes, and what
 * it covers stays. The order costs a sort; where the places are plays no role.
 */
#include <stdlib.h>

#include "check_internal.h"

static struct scmfs_ext ext_of(const struct scmfs_extent *place)
{
	return scmfs_ext_of(scmfs_read(&place->block), scmfs_read(&place->second));
}

static int by_end(const void *pa, const void *pb)
{
	const struct scmfs_extent * const *a = pa, * const *b = pb;
	struct scmfs_ext x = ext_of(*a), y = ext_of(*b);
	u64 end_x = x.file + x.count, end_y = y.file + y.count;

	if (end_x != end_y)
		return end_x < end_y ? -1 : 1;
	if (x.file != y.file)	/* the shorter one */
		return x.file > y.file ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

/* What says that it is unwritten and can't be is written, if it can be that. */
static void check_unwritten(struct run *run, u64 ino, struct scmfs_inode *inode,
			    struct scmfs_extent *place)
{
	struct scmfs_ext e = ext_of(place);

	if (!e.unwritten || scmfs_ext_ok(run->fs, inode, &e))
		return;
	e.unwritten = false;
	if (!scmfs_ext_ok(run->fs, inode, &e))
		return;
	found(run, "inode %llu: extent at %llu can't be unwritten", ino, e.file);
	scmfs_write_word(&place->block, e.block);
}

/* The places that have an extent, or just how many: @place may be NULL. */
static u64 collect(const struct run *run, struct scmfs_inode *inode, struct scmfs_extent **place)
{
	struct scmfs_extent *p;
	struct scmfs_slots s;
	u64 nr = 0;

	scmfs_slots(run->fs, inode, &s);
	while ((p = scmfs_slots_next(&s))) {
		if (!ext_of(p).count)
			continue;
		if (place)
			place[nr] = p;
		nr++;
	}
	return nr;
}

/* In order; blocks of those that stay. */
static u64 take_in_order(struct run *run, u64 ino, struct scmfs_inode *inode,
			 struct scmfs_extent **place, u64 nr)
{
	u64 i, end = 0, blocks = 0;

	for (i = 0; i < nr; i++) {
		struct scmfs_ext e;

		check_unwritten(run, ino, inode, place[i]);
		e = ext_of(place[i]);
		if (scmfs_ext_ok(run->fs, inode, &e) && e.file >= end &&
		    take_blocks(run, e.block, e.count)) {
			end = e.file + e.count;
			blocks += e.count;
			continue;
		}
		found(run, "inode %llu: extent at file block %llu (%llu + %llu) can't be", ino,
		      e.file, e.block, e.count);
		scmfs_write_word(&place[i]->second, 0);
	}
	return blocks;
}

struct scmfs_extent **collect_extents(struct run *run, struct scmfs_inode *inode, u64 *nr)
{
	struct scmfs_extent **place;

	*nr = collect(run, inode, NULL);
	if (!*nr)
		return NULL;
	place = kvmalloc_array(*nr, sizeof(struct scmfs_extent *), GFP_KERNEL);
	if (place)
		collect(run, inode, place);
	else
		run->no_memory = true;
	return place;
}

/* After check_maps(): the chain is sound. Without memory nothing is changed. */
u64 check_extents(struct run *run, u64 ino, struct scmfs_inode *inode)
{
	struct scmfs_extent **place;
	u64 nr, blocks;

	place = collect_extents(run, inode, &nr);
	if (!place)
		return 0;
	qsort(place, nr, sizeof(struct scmfs_extent *), by_end);
	blocks = take_in_order(run, ino, inode, place, nr);
	kvfree(place);
	return blocks;
}
