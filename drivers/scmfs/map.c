// SPDX-License-Identifier: GPL-2.0-only
/* Where the content of files is. */
#include "engine_internal.h"

int scmfs_find_file(const struct scmfs *fs, u64 ino, struct scmfs_inode **inode)
{
	int r = scmfs_live(fs, ino, inode);

	if (!r && (scmfs_mode(scmfs_read(&(*inode)->mode_links)) & SCMFS_IFMT) != SCMFS_IFREG)
		r = -EINVAL;
	return r;
}

int scmfs_open_file(struct scmfs *fs, u64 ino, struct scmfs_inode **inode)
{
	int r = scmfs_find_file(fs, ino, inode);

	if (!r)
		scmfs_index_make(fs, *inode);
	return r;
}

/* Of an extent from @offset's block on, the bytes from @offset on, at most to @end. */
static struct scmfs_seg part_of(const struct scmfs_ext *e, u64 offset, u64 end, bool seen)
{
	struct scmfs_seg seg = { .file = offset, .at = SCMFS_HOLE };

	seg.len = min(end, (e->file + e->count) << SCMFS_BLOCK_SHIFT) - offset;
	if (!e->count)	/* past all that a file can have */
		seg.len = end - offset;
	if (seen)
		seg.at = (e->block << SCMFS_BLOCK_SHIFT) + in_block(offset);
	return seg;
}

/* One part from @offset on, at most to @end, which lies behind it. */
int scmfs_part_at(const struct scmfs *fs, struct scmfs_inode *inode, u64 offset, u64 end,
		  struct scmfs_seg *seg)
{
	struct scmfs_ext e;
	int r = scmfs_ext_at(fs, inode, block_of(offset), &e);

	if (!r)
		*seg = part_of(&e, offset, end, e.block && !e.unwritten);
	return r;
}

static bool joins(const struct scmfs_seg *a, const struct scmfs_seg *b)
{
	if (a->at == SCMFS_HOLE || b->at == SCMFS_HOLE)
		return a->at == b->at;
	return a->at + a->len == b->at;
}

int scmfs_map(struct scmfs *fs, u64 ino, u64 offset, u64 len, struct scmfs_seg *seg,
	      unsigned int max)
{
	struct scmfs_inode *inode;
	u64 end = offset + len;
	unsigned int nr = 0;
	int r = scmfs_live(fs, ino, &inode);

	if (!r && end < offset)
		r = -EINVAL;
	if (!r)
		scmfs_index_make(fs, inode);
	while (!r && offset < end) {
		struct scmfs_seg part;

		r = scmfs_part_at(fs, inode, offset, end, &part);
		if (r)
			break;
		offset += part.len;
		if (nr && joins(&seg[nr - 1], &part)) {
			seg[nr - 1].len += part.len;
			continue;
		}
		if (nr == max)
			break;
		seg[nr++] = part;
	}
	return r ? r : nr;
}

int scmfs_map_part(struct scmfs *fs, u64 ino, u64 offset, u64 end, struct scmfs_seg *part)
{
	struct scmfs_inode *inode;
	int r = scmfs_live(fs, ino, &inode);

	if (!r && end <= offset)
		r = -EINVAL;
	if (r)
		return r;
	scmfs_index_make(fs, inode);
	return scmfs_part_at(fs, inode, offset, end, part);
}

bool scmfs_has_unwritten(const struct scmfs *fs)
{
	return scmfs_has(fs, SCMFS_INCOMPAT_UNWRITTEN);
}

int scmfs_report(struct scmfs *fs, u64 ino, u64 offset, u64 len, struct scmfs_seg *seg,
		 bool *unwritten)
{
	struct scmfs_inode *inode;
	int r = scmfs_live(fs, ino, &inode);
	struct scmfs_ext e;

	if (!r && offset + len < offset)
		r = -EINVAL;
	if (r)
		return r;
	scmfs_index_make(fs, inode);
	r = scmfs_ext_at(fs, inode, block_of(offset), &e);
	if (r)
		return r;
	*seg = part_of(&e, offset, offset + len, e.block);
	*unwritten = e.unwritten;
	return 0;
}

u64 scmfs_mapped_size(struct scmfs *fs, u64 ino)
{
	struct scmfs_extent *place;
	struct scmfs_inode *inode;
	struct scmfs_index *x;
	struct scmfs_slots s;
	u64 end = 0;

	if (scmfs_live(fs, ino, &inode))
		return 0;
	x = scmfs_index_get(fs, inode);
	if (x)
		return scmfs_index_end(x) << SCMFS_BLOCK_SHIFT;
	scmfs_slots(fs, inode, &s);
	while ((place = scmfs_slots_next(&s))) {
		struct scmfs_ext e = scmfs_ext_of(0, scmfs_read(&place->second));

		if (e.count)
			end = max(end, e.file + e.count);
		if (!s.left)
			cond_resched();
	}
	if (s.error)	/* nobody can say what there is not */
		end = SCMFS_MAX_FILE_BLOCKS;
	return end << SCMFS_BLOCK_SHIFT;
}

/* By an index from file block *@file on, which is moved past it; else the next place's. */
static bool next_known(const struct scmfs *fs, const struct scmfs_index *x, u64 *file,
		       struct scmfs_slots *s, struct scmfs_ext *e)
{
	struct scmfs_extent *place = x ? scmfs_index_from(x, *file, e) : scmfs_slots_next(s);

	if (!place)
		return false;
	if (!x) {
		*e = scmfs_ext_of(scmfs_read(&place->block), scmfs_read(&place->second));
		return true;
	}
	*file = e->file + e->count;
	if (scmfs_may_touch(fs, place, sizeof(*place)))
		*e = scmfs_ext_of(scmfs_read(&place->block), scmfs_second(e->file, e->count));
	else
		e->count = 0;
	return true;
}

/*
 * In the order, and with the same end, in which blocks are taken out of a file: by an index all of
 * its extents that can be read, without one all places up to the first block of them that can't.
 */
void scmfs_each_written(struct scmfs *fs, u64 ino, u64 offset, u64 end,
			bool (*fn)(void *ctx, const struct scmfs_seg *seg), void *ctx)
{
	u64 first = block_of(offset), last = blocks_to(end), file = first, nr = 0, to;
	struct scmfs_inode *inode;
	struct scmfs_index *x;
	struct scmfs_slots s;
	struct scmfs_seg seg;
	struct scmfs_ext e;

	if (first >= last || scmfs_live(fs, ino, &inode))
		return;
	scmfs_index_make(fs, inode);
	x = scmfs_index_get(fs, inode);
	scmfs_slots(fs, inode, &s);
	while (next_known(fs, x, &file, &s, &e)) {
		if (!(++nr % 256))	/* about a map block's */
			cond_resched();
		if (x && e.count && e.file >= last)
			return;
		to = min(e.file + e.count, last);
		if (max(e.file, first) >= to || e.unwritten || !scmfs_ext_ok(fs, inode, &e))
			continue;
		seg.file = max(e.file, first) << SCMFS_BLOCK_SHIFT;
		seg.at = (e.block << SCMFS_BLOCK_SHIFT) + seg.file - (e.file << SCMFS_BLOCK_SHIFT);
		seg.len = (to << SCMFS_BLOCK_SHIFT) - seg.file;
		if (!fn(ctx, &seg))
			return;
	}
}

/*
 * Zero what there is of a range, but for bad memory, which reads as an error anyway; not fenced.
 * May sleep. 0, or what is wrong with its extents.
 */
int scmfs_zero_mapped(const struct scmfs *fs, struct scmfs_inode *inode, u64 from, u64 to)
{
	struct scmfs_seg part;
	u64 good;

	for (; from < to; from += part.len) {
		int r = scmfs_part_at(fs, inode, from, to, &part);

		if (r)
			return r;
		if (part.at == SCMFS_HOLE)
			continue;
		part.len = min_t(u64, part.len, SCMFS_UNIT_SIZE);
		good = scmfs_good(fs, part.at, part.len);
		scm_zero_nt(fs->base + part.at, good);
		if (good < part.len)
			part.len = good ?: min(part.len, SCMFS_BLOCK_SIZE - in_block(part.at));
		cond_resched();
	}
	return 0;
}
