// SPDX-License-Identifier: GPL-2.0-only
/*
 * One extent of an inode is wrong by its length, or is nowhere, and all else tells what it was: the
 * number of its blocks, the maps of a file system that was closed, a directory's size. It is put
 * right if it is the only one that can be it. Otherwise nothing is done here: what can't be goes,
 * and is told as a loss.
 *
 *	too many blocks		the extent that can't be, and can if it has so many less
 *	too few			the one that can have so many more; they are nobody's, and nothing
 *				else is missing
 *	as many			the one out of the region: the missing ones, as many
 *
 * What was put right goes with the maps again, so it is that before the first finding ends that
 * they are vouched for: who is cut in between would have the next one not know what was missing.
 *
 * Blocks that an attribute or other extents of the inode are in are missing when the word that
 * leads to them is damaged. They tell whose they are, and become no content.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "check_internal.h"

/**
 * struct begin - where an extent begins, in the file or in the region
 * @block: there
 * @which: extent
 */
struct begin {
	u64 block;
	u64 which;
};

/**
 * struct lengths - extents of an inode, and how long they can be
 * @inode: whose
 * @ino: its number
 * @place: where they are
 * @most: blocks that each may have until the next one begins, in the file or in the region
 * @nr: how many
 * @wrong: blocks that the inode has too many, or too few
 * @end: file block up to which there may be some
 */
struct lengths {
	struct scmfs_inode *inode;
	u64 ino;
	struct scmfs_extent **place;
	u64 *most;
	u64 nr;
	u64 wrong;
	u64 end;
};

static int by_block(const void *pa, const void *pb)
{
	const struct begin *a = pa, *b = pb;

	return a->block < b->block ? -1 : a->block > b->block;
}

/* Sorted, as comparing each with each takes minutes where there are many. */
static void limit(struct lengths *l, struct begin *begin)
{
	u64 i;

	qsort(begin, l->nr, sizeof(*begin), by_block);
	for (i = 0; i + 1 < l->nr; i++) {
		u64 *most = l->most + begin[i].which;

		*most = min(*most, begin[i + 1].block - begin[i].block);
	}
}

static void limit_all(struct lengths *l, struct begin *begin)
{
	u64 i;

	for (i = 0; i < l->nr; i++) {
		l->most[i] = ~0ULL;
		begin[i] = (struct begin){ ext_of(l->place[i]).file, i };
	}
	limit(l, begin);
	for (i = 0; i < l->nr; i++)
		begin[i] = (struct begin){ ext_of(l->place[i]).block, i };
	limit(l, begin);
}

static void forget(struct lengths *l)
{
	kvfree(l->place);
	kvfree(l->most);
}

/* false: no memory, and nothing to forget. */
static bool look(struct run *run, struct lengths *l)
{
	struct begin *begin;

	l->place = collect_extents(run, l->inode, &l->nr);
	if (!l->place)
		return !run->no_memory;
	l->most = kvmalloc_array(l->nr, sizeof(*l->most), GFP_KERNEL);
	begin = kvmalloc_array(l->nr, sizeof(*begin), GFP_KERNEL);
	run->no_memory = !l->most || !begin;
	if (run->no_memory)
		forget(l);
	else
		limit_all(l, begin);
	kvfree(begin);
	return !run->no_memory;
}

static bool fits(const struct run *run, const struct lengths *l, u64 i, const struct scmfs_ext *e)
{
	return e->count <= l->most[i] && can_have(run, l->inode, e);
}

static void set_length(struct run *run, u64 ino, struct scmfs_extent *place, u64 count)
{
	struct scmfs_ext e = ext_of(place);

	scmfs_write_word(&place->second, scmfs_second(e.file, count));
	scm_fence();
	found(run, "inode %llu: extent at file block %llu has %llu blocks, not %llu", ino, e.file,
	      count, e.count);
}

static void shorten_one(struct run *run, struct lengths *l)
{
	u64 i, which = l->nr;

	for (i = 0; i < l->nr; i++) {
		struct scmfs_ext e = ext_of(l->place[i]);

		if (e.count <= l->wrong || fits(run, l, i, &e))
			continue;
		e.count -= l->wrong;
		if (!fits(run, l, i, &e))
			continue;
		if (which < l->nr)
			return;
		which = i;
	}
	if (which < l->nr)
		set_length(run, l->ino, l->place[which],
			   ext_of(l->place[which]).count - l->wrong);
}

/* Does one of the blocks say that it has the inode's extents or attributes? */
static bool has_head(const struct run *run, u64 ino, u64 block, u64 count)
{
	static_assert(offsetof(struct scmfs_map, ino) == offsetof(struct scmfs_xattr_block, ino),
		      "heads");
	for (; count; block++, count--) {
		const struct scmfs_map *map = scmfs_block(run->fs, block);
		u32 magic = le32_to_cpu(map->magic);

		if ((magic == SCMFS_MAP_MAGIC || magic == SCMFS_XATTR_MAGIC) &&
		    le64_to_cpu(map->ino) == ino)
			return true;
	}
	return false;
}

/* May the extent have the @wrong blocks that follow it? */
static bool can_grow(const struct run *run, const struct lengths *l, const struct scmfs_ext *e)
{
	struct scmfs_ext more = { e->block + e->count, e->file + e->count, l->wrong, e->unwritten };

	return more.file + more.count <= l->end && scmfs_ext_ok(run->fs, l->inode, &more) &&
		all_lost(run, more.block, more.count) && can_have(run, l->inode, &more) &&
		!has_head(run, l->ino, more.block, more.count);
}

/* An extent whose blocks have all gone leaves its first one in its place. NULL: none or several. */
static struct scmfs_extent *emptied(const struct run *run, const struct lengths *l)
{
	struct scmfs_extent *place, *only = NULL;
	struct scmfs_slots s;

	scmfs_slots(run->fs, l->inode, &s);
	while ((place = scmfs_slots_next(&s))) {
		struct scmfs_ext e = ext_of(place);

		if (e.count || !can_grow(run, l, &e))
			continue;
		if (only)
			return NULL;
		only = place;
	}
	return only;
}

/* Is there none where it would be? */
static bool has_room(const struct lengths *l, const struct scmfs_extent *place)
{
	u64 i, file = ext_of(place).file;

	for (i = 0; i < l->nr; i++) {
		struct scmfs_ext e = ext_of(l->place[i]);

		if (e.file < file + l->wrong && file < e.file + e.count)
			return false;
	}
	return true;
}

static void lengthen_one(struct run *run, struct lengths *l)
{
	struct scmfs_extent *only = run->vouched ? emptied(run, l) : NULL;
	struct scmfs_ext e;
	u64 i;

	if (only && !has_room(l, only))
		only = NULL;
	for (i = 0; i < l->nr; i++) {
		e = ext_of(l->place[i]);
		if (e.count + l->wrong > l->most[i] || !can_grow(run, l, &e))
			continue;
		if (only)
			return;
		only = l->place[i];
	}
	if (!only)
		return;
	e = ext_of(only);
	set_length(run, l->ino, only, e.count + l->wrong);
	give_lost(run, e.block + e.count, l->wrong);
}

/* The only extent that is nowhere has as many blocks as are missing, and those are a run. */
static void move_one(struct run *run, const struct lengths *l)
{
	struct scmfs_extent *place, *only = NULL;
	struct scmfs *fs = run->fs;
	struct scmfs_slots s;
	struct scmfs_ext e;
	u64 was;

	scmfs_slots(fs, l->inode, &s);
	while ((place = scmfs_slots_next(&s))) {
		e = ext_of(place);
		if (!e.count || scmfs_run_ok(fs, e.block, e.count))
			continue;
		if (only || e.count != run->nr_lost)
			return;
		only = place;
	}
	if (!only)
		return;
	e = ext_of(only);
	was = e.block;
	e.block = find_next_bit(fs->block_map, fs->nr_blocks, 0);
	if (!all_lost(run, e.block, e.count) || !can_have(run, l->inode, &e) ||
	    has_head(run, l->ino, e.block, e.count))
		return;
	scmfs_write_word(&only->block, scmfs_ext_block(&e));
	scm_fence();
	found(run, "inode %llu: extent at file block %llu begins at block %llu, not %llu", l->ino,
	      e.file, e.block, was);
	give_lost(run, e.block, e.count);
}

static u64 sum_of(const struct run *run, struct scmfs_inode *inode)
{
	struct scmfs_extent *place;
	struct scmfs_slots s;
	u64 sum = 0;

	scmfs_slots(run->fs, inode, &s);
	while ((place = scmfs_slots_next(&s)))
		sum += ext_of(place).count;
	return sum;
}

static int ignore(void *ctx, u32 index, const char *name, u32 len, u32 value_len)
{
	return 0;
}

/*
 * Is it known what is missing? What a file system that was closed has no use for must be that, and
 * no more. Of a directory the size has to say so, too, which is enough: it has names in all blocks.
 */
static bool missing(const struct run *run, struct lengths *l, u64 sum)
{
	u64 size = scmfs_read(&l->inode->size);

	l->end = SCMFS_MAX_FILE_BLOCKS;
	if (scmfs_is_dir(scmfs_read(&l->inode->mode_links))) {
		l->end = block_of(size);
		if (in_block(size) || l->end != sum + l->wrong)
			return false;
	} else if (!run->vouched) {
		return false;
	}
	return !run->vouched || run->nr_lost == l->wrong;
}

void mend_extent(struct run *run, u64 ino, struct scmfs_inode *inode, u64 maps)
{
	u64 sum = sum_of(run, inode), counted = scmfs_read(&inode->blocks);
	u64 has = sum + maps + scmfs_xattr_blocks(run->fs, inode);
	struct lengths l = { .inode = inode, .ino = ino };

	if (has == counted && !run->nr_lost)
		return;
	/* attributes that can't be read are as many as nobody knows */
	if (scmfs_read(&inode->xattr) && scmfs_xattr_list(run->fs, ino, ignore, NULL))
		return;
	if (has == counted) {
		move_one(run, &l);
		return;
	}
	l.wrong = has > counted ? has - counted : counted - has;
	if ((has < counted && !missing(run, &l, sum)) || !look(run, &l))
		return;
	if (has > counted)
		shorten_one(run, &l);
	else
		lengthen_one(run, &l);
	forget(&l);
}
