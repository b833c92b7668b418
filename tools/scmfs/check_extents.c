// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extents of an inode: each can be one, no two of them overlap in the file, and their blocks are
 * nobody else's. Of those that overlap as many as possible stay: taken in order of their ends, each
 * that begins where the last one ended or later does. So one whose length is damaged goes, and what
 * it covers stays. The order costs a sort; where the places are plays no role.
 */
#include <stdlib.h>

#include "check_internal.h"

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

/* A walk that has ended at the head of a block of extents goes on as if that were right. */
static struct scmfs_extent *pass_head(struct scmfs_slots *s, u64 *head)
{
	struct scmfs_map *map;

	if (!s->error || !*head || s->map != *head)
		return NULL;
	map = scmfs_block(s->fs, *head);
	*head = 0;	/* once: it may be in a ring */
	s->error = 0;
	s->map = scmfs_read(&map->next);
	s->place = map->extent;
	s->left = SCMFS_MAP_EXTENTS;
	return scmfs_slots_next(s);
}

bool adds_up_with(const struct run *run, u64 ino, u64 head)
{
	struct scmfs_inode *inode = scmfs_inode(run->fs, ino);
	u64 sum = scmfs_xattr_blocks(run->fs, inode);
	struct scmfs_extent *place;
	struct scmfs_slots s;

	scmfs_slots(run->fs, inode, &s);
	while ((place = scmfs_slots_next(&s) ?: pass_head(&s, &head))) {
		struct scmfs_ext e = ext_of(place);

		if (e.count && !scmfs_ext_ok(run->fs, inode, &e))
			return false;
		sum += e.count;
	}
	return !s.error && sum + s.maps == scmfs_read(&inode->blocks);
}

bool adds_up(const struct run *run, u64 ino)
{
	return adds_up_with(run, ino, 0);
}

/* Of @count blocks from @block on, those up to the first that others have, or that they don't. */
static u64 same_from(const struct run *run, u64 block, u64 count, bool *used)
{
	*used = test_bit(block, run->used);
	if (*used)
		return find_next_zero_bit(run->used, block + count, block) - block;
	return find_next_bit(run->used, block + count, block) - block;
}

static bool is_free(const struct run *run, const struct scmfs_ext *e)
{
	bool used;

	return same_from(run, e->block, e->count, &used) == e->count && !used;
}

bool can_have(const struct run *run, const struct scmfs_inode *inode, const struct scmfs_ext *e)
{
	return scmfs_ext_ok(run->fs, inode, e) && is_free(run, e);
}

/* An extent in a place that has none; what is cut in between is none yet. */
static void put_extent(struct scmfs_extent *place, const struct scmfs_ext *e)
{
	scmfs_write_word(&place->block, scmfs_ext_block(e));
	scm_fence();
	scmfs_write_word(&place->second, scmfs_second(e->file, e->count));
}

static struct scmfs_extent *next_free(struct scmfs_slots *s)
{
	struct scmfs_extent *place;

	do
		place = scmfs_slots_next(s);
	while (place && ext_of(place).count);
	return place;
}

static struct scmfs_ext part_of(const struct scmfs_ext *e, u64 from, u64 count)
{
	return (struct scmfs_ext){ e->block + from, e->file + from, count, e->unwritten };
}

/*
 * Of an extent some of whose blocks are somebody else's the others stay. What it begins with stays
 * in its place, the rest goes to free places before, so that a cut loses nothing; for lack of them
 * the first that stays may have its own, and others are lost.
 */
static void split(struct run *run, struct scmfs_extent *place, struct scmfs_slots *free)
{
	struct scmfs_ext e = ext_of(place), last = { 0 }, part;
	u64 at, n, front = 0;
	bool used;

	for (at = 0; at < e.count; at += n) {
		struct scmfs_extent *other;

		n = same_from(run, e.block + at, e.count - at, &used);
		if (used)
			continue;
		if (!at) {
			front = n;
			continue;
		}
		part = part_of(&e, at, n);
		other = next_free(free);
		if (other)
			put_extent(other, &part);
		else if (!last.count)
			last = part;
	}
	scm_fence();
	scmfs_write_word(&place->second, scmfs_second(e.file, front));
	if (front || !last.count)
		return;
	scm_fence();
	put_extent(place, &last);
}

/* Before any of the inode's own is taken: what is used is others'. Return: some were split. */
static bool split_shared(struct run *run, u64 ino, struct scmfs_inode *inode,
			 struct scmfs_extent **place, u64 nr)
{
	bool any = false;
	struct scmfs_slots free;
	u64 i, first;

	scmfs_slots(run->fs, inode, &free);
	for (i = 0; i < nr; i++) {
		struct scmfs_ext e = ext_of(place[i]);

		if (!scmfs_ext_ok(run->fs, inode, &e) || is_free(run, &e))
			continue;
		first = find_next_bit(run->used, e.block + e.count, e.block);
		if (!found_loss(run, "inode %llu: extent at file block %llu (%llu + %llu): %s", ino,
				e.file, e.block, e.count, was_free(run, first, 1) ?
				"it was free" : "others have it"))
			continue;
		split(run, place[i], &free);
		any = true;
	}
	return any;
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
		if (found_loss(run, "inode %llu: extent at file block %llu (%llu + %llu) can't be",
			       ino, e.file, e.block, e.count))
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
u64 check_extents(struct run *run, u64 ino, struct scmfs_inode *inode, u64 maps)
{
	struct scmfs_extent **place;
	u64 nr, blocks, left;

	mend_extent(run, ino, inode, maps);
	if (run->no_memory)
		return 0;
	place = collect_extents(run, inode, &nr);
	if (!place)
		return 0;
	left = run->check->left;
	if (split_shared(run, ino, inode, place, nr)) {
		kvfree(place);
		place = collect_extents(run, inode, &nr);
		if (!place)
			return 0;
	}
	if (run->check->left != left) {	/* of one that is left nothing is anybody's yet */
		kvfree(place);
		return 0;
	}
	qsort(place, nr, sizeof(struct scmfs_extent *), by_end);
	blocks = take_in_order(run, ino, inode, place, nr);
	kvfree(place);
	return blocks;
}
