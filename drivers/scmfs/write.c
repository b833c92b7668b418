// SPDX-License-Identifier: GPL-2.0-only
/*
 * The content of files: where it is, room for more, less of it.
 *
 * Timeline of an append: the bytes are stored into blocks that nothing refers to, or beyond the
 * size; the first fence of the transaction makes them durable; then extents and size change. A
 * cut before shows the old size.
 */
#include "engine_internal.h"

#define AHEAD_BLOCKS	SCMFS_UNIT_BLOCKS
#define RESERVE_BLOCKS	(16ULL * SCMFS_UNIT_BLOCKS)	/* zeroed under locks of inodes */
#define ATOMIC_EXTENTS	16u	/* that one atomic write replaces at most */

static u64 block_of(u64 offset)
{
	return offset >> SCMFS_BLOCK_SHIFT;
}

static u64 blocks_to(u64 offset)
{
	return DIV_ROUND_UP(offset, SCMFS_BLOCK_SIZE);
}

static u64 in_block(u64 offset)
{
	return offset & (SCMFS_BLOCK_SIZE - 1);
}

static int find_file(const struct scmfs *fs, u64 ino, struct scmfs_inode **inode)
{
	int r = scmfs_live(fs, ino, inode);

	if (!r && (scmfs_mode(scmfs_read(&(*inode)->mode_links)) & SCMFS_IFMT) != SCMFS_IFREG)
		r = -EINVAL;
	return r;
}

static int open_file(struct scmfs *fs, u64 ino, struct scmfs_inode **inode)
{
	int r = find_file(fs, ino, inode);

	if (!r)
		scmfs_index_make(fs, *inode);
	return r;
}

/* One part from @offset on, at most to @end. */
static int part_at(const struct scmfs *fs, struct scmfs_inode *inode, u64 offset, u64 end,
		   struct scmfs_seg *seg)
{
	struct scmfs_ext e;
	int r = scmfs_ext_at(fs, inode, block_of(offset), &e);

	if (r)
		return r;
	seg->file = offset;
	seg->len = min(end, (e.file + e.count) << SCMFS_BLOCK_SHIFT) - offset;
	if (!e.count)	/* past all that a file can have */
		seg->len = end - offset;
	seg->at = SCMFS_HOLE;
	if (e.block && !e.unwritten)
		seg->at = (e.block << SCMFS_BLOCK_SHIFT) + in_block(offset);
	return 0;
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

		r = part_at(fs, inode, offset, end, &part);
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
	r = part_at(fs, inode, offset, offset + len, seg);
	if (!r)
		r = scmfs_ext_at(fs, inode, block_of(offset), &e);
	if (r)
		return r;
	*unwritten = e.unwritten;
	if (e.unwritten)
		seg->at = (e.block << SCMFS_BLOCK_SHIFT) + in_block(offset);
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
	}
	return end << SCMFS_BLOCK_SHIFT;
}

/* Zero what there is of a range; not fenced. May sleep. 0, or what is wrong with its extents. */
int scmfs_zero_mapped(const struct scmfs *fs, struct scmfs_inode *inode, u64 from, u64 to)
{
	struct scmfs_seg part;

	for (; from < to; from += part.len) {
		int r = part_at(fs, inode, from, to, &part);

		if (r)
			return r;
		if (part.at == SCMFS_HOLE)
			continue;
		part.len = min_t(u64, part.len, SCMFS_UNIT_SIZE);
		scm_zero_nt(fs->base + part.at, part.len);
		cond_resched();
	}
	return 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

static struct scmfs_run run_of(const struct scmfs_write *w, unsigned int i)
{
	const struct scmfs_seg *seg = &w->seg[i];
	u64 count = blocks_to(seg->file + seg->len) - block_of(seg->file);

	return (struct scmfs_run){ block_of(seg->at), count + (i == w->nr - 1 ? w->ahead : 0) };
}

static void give_up(struct scmfs *fs, struct scmfs_write *w)
{
	unsigned int i;

	for (i = 0; i < w->nr; i++) {
		struct scmfs_run run = run_of(w, i);

		if (w->fresh & 1u << i)
			scmfs_free(fs, run.block, run.count);
	}
	w->nr = 0;
}

/* Bytes [@from, @to) of a new block that the write does not cover: what the file has there. */
static void fill_edge(const struct scmfs *fs, struct scmfs_inode *inode,
		      const struct scmfs_write *w, u64 block, u64 from, u64 to)
{
	u8 *at = (u8 *)scmfs_block(fs, block) + in_block(from);
	u64 size = scmfs_read(&inode->size), keep = 0;
	struct scmfs_seg old;

	if (from >= to)
		return;
	if (w->flags & SCMFS_WRITE_ATOMIC && from < size &&
	    !part_at(fs, inode, from, to, &old) && old.at != SCMFS_HOLE) {
		keep = min(to, size) - from;
		scm_copy_nt(at, fs->base + old.at, keep);
	}
	scm_zero_nt(at + keep, to - from - keep);
}

static void fill_edges(const struct scmfs *fs, struct scmfs_inode *inode,
		       const struct scmfs_write *w, unsigned int i)
{
	const struct scmfs_seg *seg = &w->seg[i];
	u64 end = seg->file + seg->len;

	if (w->flags & SCMFS_WRITE_KEEP_SIZE)
		scm_zero_nt(fs->base + seg->at, seg->len);
	fill_edge(fs, inode, w, block_of(seg->at), round_down(seg->file, SCMFS_BLOCK_SIZE),
		  seg->file);
	if (in_block(end))
		fill_edge(fs, inode, w, block_of(seg->at + seg->len), end,
			  round_up(end, SCMFS_BLOCK_SIZE));
}

/*
 * How many blocks to have in store behind a write that ends the file: as many as it has, within
 * bounds.
 */
static u64 ahead_of(struct scmfs_inode *inode, const struct scmfs_write *w, u64 end, u64 hole)
{
	u64 need = blocks_to(end) - block_of(w->offset);
	u64 want = min_t(u64, block_of(scmfs_read(&inode->size)), AHEAD_BLOCKS);

	if (w->flags & (SCMFS_WRITE_KEEP_SIZE | SCMFS_WRITE_ATOMIC) ||
	    end < scmfs_read(&inode->size) || want + need > hole)
		return 0;
	return want;
}

/* New blocks for the hole @part; it may become shorter. */
static int add_fresh(struct scmfs *fs, struct scmfs_inode *inode, struct scmfs_write *w,
		     struct scmfs_seg *part, u64 hole, u64 goal)
{
	u64 end = part->file + part->len, block, got, ahead;
	u64 need = blocks_to(end) - block_of(part->file);

	ahead = ahead_of(inode, w, end, hole);
	got = scmfs_alloc(fs, need + ahead, goal, &block);
	if (!got)
		return -ENOSPC;
	if (got < need)
		part->len = ((block_of(part->file) + got) << SCMFS_BLOCK_SHIFT) - part->file;
	w->ahead = got > need ? got - need : 0;
	part->at = (block << SCMFS_BLOCK_SHIFT) + in_block(part->file);
	w->fresh |= 1u << w->nr;
	return 0;
}

/* Behind what comes before in the write or in the file. */
static u64 goal_of(const struct scmfs *fs, struct scmfs_inode *inode, const struct scmfs_write *w,
		   u64 offset)
{
	struct scmfs_ext e;

	if (w->nr)
		return block_of(w->seg[w->nr - 1].at + w->seg[w->nr - 1].len - 1) + 1;
	if (!block_of(offset) || scmfs_ext_at(fs, inode, block_of(offset) - 1, &e) || !e.block)
		return 0;
	return e.block + 1;
}

/* The next part of a write, from @offset on. */
static int next_part(struct scmfs *fs, struct scmfs_inode *inode, struct scmfs_write *w,
		     u64 offset, u64 end)
{
	bool atomic = w->flags & SCMFS_WRITE_ATOMIC;
	struct scmfs_seg *part = &w->seg[w->nr];
	struct scmfs_ext e;
	int r = scmfs_ext_at(fs, inode, block_of(offset), &e);

	if (r)
		return r;
	part->file = offset;
	part->len = atomic ? end - offset :
		min(end, (e.file + e.count) << SCMFS_BLOCK_SHIFT) - offset;
	if (e.block && !atomic) {
		part->at = (e.block << SCMFS_BLOCK_SHIFT) + in_block(offset);
		w->unwritten |= (u32)e.unwritten << w->nr;
		w->nr++;
		if (e.unwritten)
			fill_edges(fs, inode, w, w->nr - 1);
		return 0;
	}
	r = add_fresh(fs, inode, w, part, e.block ? 0 : e.count, goal_of(fs, inode, w, offset));
	if (r)
		return r;
	w->nr++;
	fill_edges(fs, inode, w, w->nr - 1);
	return 0;
}

/*
 * An atomic write takes out what was there in one operation: shorten it to as much as fits. One to
 * unwritten blocks needs no others: they become written when all of it is there.
 */
static int limit_atomic(struct scmfs *fs, struct scmfs_inode *inode, struct scmfs_write *w)
{
	u64 at = w->offset, end = w->offset + w->len;
	struct scmfs_seg part;
	struct scmfs_ext e;
	unsigned int i;
	int r;

	r = scmfs_ext_at(fs, inode, block_of(at), &e);
	if (r)
		return r;
	if (e.unwritten && e.count << SCMFS_BLOCK_SHIFT >= in_block(at) + w->len) {
		w->flags &= ~SCMFS_WRITE_ATOMIC;
		return 0;
	}
	end = min(end, at + SCMFS_UNIT_SIZE - in_block(at));
	for (i = 0; at < end && i < ATOMIC_EXTENTS; i++, at += part.len) {
		r = part_at(fs, inode, at, end, &part);
		if (r)
			return r;
	}
	w->len = at - w->offset;
	return 0;
}

/*
 * Nothing of former use may show up between the old size and the new one, nor in the last block
 * behind it.
 */
static void zero_gap(struct scmfs *fs, struct scmfs_inode *inode, const struct scmfs_write *w)
{
	u64 size = scmfs_read(&inode->size), end = w->offset + w->len;

	if (w->flags & SCMFS_WRITE_KEEP_SIZE || end <= size)
		return;
	scmfs_zero_mapped(fs, inode, size, w->offset);
	if (in_block(end) && round_down(end, SCMFS_BLOCK_SIZE) >= size)
		scmfs_zero_mapped(fs, inode, end, round_up(end, SCMFS_BLOCK_SIZE));
}

/*
 * Before the size passes @offset: room ahead would be blocks of zeroes then where a hole belongs,
 * or what is unwritten.
 */
static int trim_before(struct scmfs *fs, const struct scmfs_inode *inode, u64 ino, u64 offset)
{
	if (block_of(offset) <= blocks_to(scmfs_read(&inode->size)) ||
	    !scmfs_has_room_ahead(fs, ino))
		return 0;
	return scmfs_trim(fs, ino);
}

int scmfs_write_begin(struct scmfs *fs, u64 ino, u64 offset, u64 len, unsigned int flags,
		      struct scmfs_write *w)
{
	struct scmfs_inode *inode;
	u64 at = offset, end;
	int r = open_file(fs, ino, &inode);

	if (!r && (!len || offset + len < offset))
		r = -EINVAL;
	if (!r && blocks_to(offset + len) > SCMFS_MAX_FILE_BLOCKS)
		r = -EFBIG;
	w->ino = ino;
	w->offset = offset;
	w->len = len;
	w->flags = flags;
	w->nr = 0;
	w->fresh = 0;
	w->unwritten = 0;
	w->ahead = 0;
	w->around = false;
	if (!r)
		r = trim_before(fs, inode, ino, offset);
	if (!r && flags & SCMFS_WRITE_ATOMIC)
		r = limit_atomic(fs, inode, w);
	if (r)
		return r;
	for (end = offset + w->len; at < end && w->nr < SCMFS_WRITE_SEGS && !w->ahead;) {
		r = next_part(fs, inode, w, at, end);
		if (r)
			break;
		at += w->seg[w->nr - 1].len;
	}
	if (!w->nr)
		return r;
	w->len = at - offset;
	zero_gap(fs, inode, w);
	return 0;
}

/*
 * Parts behind @done bytes are given back; what is left of the last block is as if the write had
 * been begun with that length.
 */
static void shorten(struct scmfs *fs, struct scmfs_write *w, u64 done)
{
	struct scmfs_inode *inode = scmfs_inode(fs, w->ino);
	u64 end = w->offset + done;

	if (done == w->len)
		return;
	while (w->nr && w->seg[w->nr - 1].file >= end) {
		struct scmfs_run run = run_of(w, w->nr - 1);

		w->nr--;
		if (w->fresh & 1u << w->nr)
			scmfs_free(fs, run.block, run.count);
		w->unwritten &= ~(1u << w->nr);
		w->ahead = 0;
	}
	if (w->nr && w->seg[w->nr - 1].file + w->seg[w->nr - 1].len > end) {
		struct scmfs_seg *seg = &w->seg[w->nr - 1];
		struct scmfs_run run = run_of(w, w->nr - 1);
		u64 keep = blocks_to(end) - block_of(seg->file);

		seg->len = end - seg->file;
		w->ahead = 0;
		if (w->fresh & 1u << (w->nr - 1)) {
			if (in_block(end))
				fill_edge(fs, inode, w,
					  block_of(seg->at + seg->len), end,
					  round_up(end, SCMFS_BLOCK_SIZE));
			if (run.count > keep)
				scmfs_free(fs, run.block + keep, run.count - keep);
		} else if (w->unwritten & 1u << (w->nr - 1)) {
			if (in_block(end))
				fill_edge(fs, inode, w, block_of(seg->at + seg->len), end,
					  round_up(end, SCMFS_BLOCK_SIZE));
		} else if (end > scmfs_read(&inode->size)) {
			/* Room ahead has what was there before: the size shows it to mappings. */
			scmfs_zero_mapped(fs, inode, end, round_up(end, SCMFS_BLOCK_SIZE));
		}
	}
	w->len = done;
}

/* What was unwritten of a part is written; with @whole all of the extent that it lies in. */
static int mark_part(struct scmfs_op *op, struct scmfs_inode *inode, const struct scmfs_write *w,
		     unsigned int i, bool whole)
{
	struct scmfs_ext e = { .file = block_of(w->seg[i].file), .count = run_of(w, i).count };
	int r = whole ? scmfs_ext_around(op->fs, inode, e.file, &e) : 0;

	return r ? r : scmfs_ext_mark(op, inode, e.file, e.count, false);
}

static int link_parts(struct scmfs_op *op, struct scmfs_inode *inode, const struct scmfs_write *w,
		      bool whole)
{
	unsigned int i;
	int r = 0;

	if (w->flags & SCMFS_WRITE_ATOMIC)
		r = scmfs_ext_remove(op, inode, block_of(w->offset),
				     blocks_to(w->offset + w->len) - block_of(w->offset));
	for (i = 0; !r && i < w->nr; i++) {
		struct scmfs_run run = run_of(w, i);

		if (w->fresh & 1u << i)
			r = scmfs_ext_add(op, inode, (struct scmfs_ext){
				run.block, block_of(w->seg[i].file), run.count, false });
		else if (w->unwritten & 1u << i)
			r = mark_part(op, inode, w, i, whole);
	}
	return r == -EAGAIN ? -ENOSPC : r;
}

static int do_write(struct scmfs_op *op, struct scmfs_inode *inode, const struct scmfs_write *w,
		    s64 now, bool whole)
{
	u64 end = w->offset + w->len;
	int r = 0;

	if (!(w->flags & SCMFS_WRITE_KEEP_SIZE) && end > scmfs_read(&inode->size))
		r = ek_undo_set(&op->tx, &inode->size, end);
	if (!r && !(w->flags & SCMFS_WRITE_NO_TIME))
		r = scmfs_op_times(op, inode, now);
	return r ? r : link_parts(op, inode, w, whole);
}

static int finish_write(struct scmfs *fs, struct scmfs_inode *inode, const struct scmfs_write *w,
			s64 now, bool whole)
{
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	scmfs_op_begin(fs, &op, &w->ino, 1);
	r = do_write(&op, inode, w, now, whole);
	if (r)
		scmfs_op_abort(&op);
	else
		scmfs_op_commit(&op);
	return r;
}

static void zero_blocks(const struct scmfs *fs, u64 block, u64 count)
{
	u64 n;

	for (; count; block += n, count -= n) {
		n = min_t(u64, count, SCMFS_UNIT_BLOCKS);
		scm_zero_nt(scmfs_block(fs, block), n << SCMFS_BLOCK_SHIFT);
		cond_resched();
	}
}

/*
 * What was reserved can be written to, even if there is no room to tell the part of an extent that
 * is written from the rest: then the rest is zeroed, and all of it is written, which needs none.
 * Nobody sees the zeroes before the transaction, whose first fence makes them durable.
 */
static int zero_around(struct scmfs *fs, struct scmfs_inode *inode, const struct scmfs_write *w)
{
	struct scmfs_ext e;
	unsigned int i;
	u64 end;
	int r;

	for (i = 0; i < w->nr; i++) {
		struct scmfs_run run = run_of(w, i);

		if (!(w->unwritten & 1u << i))
			continue;
		r = scmfs_ext_around(fs, inode, block_of(w->seg[i].file), &e);
		if (r)
			return r;
		end = run.block + run.count;
		zero_blocks(fs, e.block, run.block - e.block);
		zero_blocks(fs, end, e.block + e.count - end);
	}
	return 0;
}

/* Room ahead may be what the block for one more extent was to come from. */
static bool drop_ahead(struct scmfs *fs, struct scmfs_write *w)
{
	struct scmfs_run run;

	if (!w->ahead)
		return false;
	run = run_of(w, w->nr - 1);
	scmfs_free(fs, run.block + run.count - w->ahead, w->ahead);
	w->ahead = 0;
	return true;
}

int scmfs_write_end(struct scmfs *fs, struct scmfs_write *w, u64 done, s64 now)
{
	struct scmfs_inode *inode = scmfs_inode(fs, w->ino);
	int r;

	if (!done) {
		give_up(fs, w);
		return 0;
	}
	shorten(fs, w, min(done, w->len));
	if (!w->fresh && !w->unwritten && w->flags & SCMFS_WRITE_NO_TIME &&
	    w->offset + w->len <= scmfs_read(&inode->size)) {
		scm_fence();
		return 0;
	}
	r = finish_write(fs, inode, w, now, false);
	if (r == -ENOSPC && drop_ahead(fs, w))
		r = finish_write(fs, inode, w, now, false);
	if (r == -ENOSPC && w->unwritten) {
		r = zero_around(fs, inode, w);
		if (!r)
			r = finish_write(fs, inode, w, now, true);
		w->around = !r;
	}
	if (r)
		give_up(fs, w);
	return r;
}

/* ---- size ----------------------------------------------------------------------------------- */

/*
 * Take blocks out of a file, operation by operation; the first one sets the times, if @now is
 * there.
 */
static int cut_range(struct scmfs *fs, u64 ino, u64 file, u64 count, const s64 *now)
{
	struct scmfs_inode *inode = scmfs_inode(fs, ino);
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	do {
		scmfs_op_begin(fs, &op, &ino, 1);
		r = now ? scmfs_op_times(&op, inode, *now) : 0;
		if (!r)
			r = scmfs_ext_remove(&op, inode, file, count);
		now = NULL;
		if (r && r != -EAGAIN)
			scmfs_op_abort(&op);
		else
			scmfs_op_commit(&op);
		cond_resched();
	} while (r == -EAGAIN);
	return r;
}

/* Blocks of extents that are all empty: the chain goes at once. */
static int drop_maps(struct scmfs *fs, u64 ino)
{
	struct scmfs_inode *inode = scmfs_inode(fs, ino);
	u64 map = scmfs_read(&inode->map), next, blocks = scmfs_read(&inode->blocks);
	u64 maps = 0, attrs = scmfs_xattr_blocks(fs, inode);
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	for (next = map; next && scmfs_run_ok(fs, next, 1) && maps <= blocks; maps++)
		next = le64_to_cpu(((struct scmfs_map *)scmfs_block(fs, next))->next);
	if (!maps || maps + attrs != blocks)
		return 0;
	scmfs_op_begin(fs, &op, &ino, 1);
	r = ek_undo_set(&op.tx, &inode->blocks, attrs);
	if (!r)
		r = ek_undo_set(&op.tx, &inode->map, 0);
	if (r) {
		scmfs_op_abort(&op);
		return r;
	}
	scmfs_op_commit(&op);
	scmfs_forget(fs, ino);
	ek_undo_settle(fs->log);
	for (; map; map = next) {
		next = le64_to_cpu(((struct scmfs_map *)scmfs_block(fs, map))->next);
		scmfs_free(fs, map, 1);
	}
	return 0;
}

/* What was reserved goes with what is cut off. */
static int set_size(struct scmfs *fs, struct scmfs_inode *inode, u64 ino, u64 size, s64 now)
{
	struct scmfs_op op EK_UNINITIALIZED;
	bool cuts = size <= scmfs_read(&inode->size);
	int r;

	scmfs_op_begin(fs, &op, &ino, 1);
	r = ek_undo_set(&op.tx, &inode->size, size);
	if (!r)
		r = scmfs_op_times(&op, inode, now);
	if (!r && cuts && scmfs_read(&inode->kept))
		r = ek_undo_set(&op.tx, &inode->kept, 0);
	if (r)
		scmfs_op_abort(&op);
	else
		scmfs_op_commit(&op);
	return r;
}

/* Up to where a file's blocks are no room ahead. */
static u64 blocks_kept(const struct scmfs_inode *inode)
{
	return min(blocks_to(max(scmfs_read(&inode->size), scmfs_read(&inode->kept))),
		   SCMFS_MAX_FILE_BLOCKS);
}

u64 scmfs_kept_size(struct scmfs *fs, u64 ino)
{
	struct scmfs_inode *inode;

	return scmfs_live(fs, ino, &inode) ? 0 : blocks_kept(inode) << SCMFS_BLOCK_SHIFT;
}

bool scmfs_has_room_ahead(struct scmfs *fs, u64 ino)
{
	struct scmfs_inode *inode;

	return !scmfs_live(fs, ino, &inode) &&
		block_of(scmfs_mapped_size(fs, ino)) > blocks_kept(inode);
}

int scmfs_trim(struct scmfs *fs, u64 ino)
{
	struct scmfs_inode *inode;
	int r = find_file(fs, ino, &inode);	/* memory may be being reclaimed */
	u64 first;

	if (r)
		return r;
	first = blocks_kept(inode);
	r = cut_range(fs, ino, first, SCMFS_MAX_FILE_BLOCKS - first, NULL);
	return r ? r : drop_maps(fs, ino);
}

static int resize(struct scmfs *fs, struct scmfs_inode *inode, u64 ino, u64 size, s64 now)
{
	u64 old = scmfs_read(&inode->size);
	int r;

	if (size > old)		/* before the size shows it */
		scmfs_zero_mapped(fs, inode, old, round_up(size, SCMFS_BLOCK_SIZE));
	r = set_size(fs, inode, ino, size, now);
	if (r || size > old)
		return r;
	if (in_block(size)) {
		scmfs_zero_mapped(fs, inode, size, round_up(size, SCMFS_BLOCK_SIZE));
		scm_fence();	/* there may be nothing to trim */
	}
	return scmfs_trim(fs, ino);
}

int scmfs_truncate(struct scmfs *fs, u64 ino, u64 size, s64 now)
{
	struct scmfs_inode *inode;
	int r = open_file(fs, ino, &inode);

	if (!r && blocks_to(size) > SCMFS_MAX_FILE_BLOCKS)
		r = -EFBIG;
	if (!r)
		r = trim_before(fs, inode, ino, size);
	return r ? r : resize(fs, inode, ino, size, now);
}

/* ---- room and holes ------------------------------------------------------------------------- */

/* Blocks for a hole of @count at most. */
static int reserve_part(struct scmfs *fs, struct scmfs_inode *inode, u64 ino, u64 file, u64 count,
			bool unwritten)
{
	u64 block, got, goal = 0;
	struct scmfs_ext e;
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	if (file && !scmfs_ext_at(fs, inode, file - 1, &e) && e.block)
		goal = e.block + 1;
	scmfs_op_begin(fs, &op, &ino, 1);
	got = scmfs_op_alloc(&op, count, goal, &block);
	r = got ? 0 : -ENOSPC;
	if (!r && !unwritten)
		scm_zero_nt(scmfs_block(fs, block), got << SCMFS_BLOCK_SHIFT);
	if (!r)
		r = scmfs_ext_add(&op, inode, (struct scmfs_ext){ block, file, got, unwritten });
	if (r)
		scmfs_op_abort(&op);
	else
		scmfs_op_commit(&op);
	return r;
}

/* Unwritten blocks are to be stored to. */
static int write_part(struct scmfs *fs, struct scmfs_inode *inode, u64 ino,
		      const struct scmfs_ext *e, u64 count)
{
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	scm_zero_nt(scmfs_block(fs, e->block), count << SCMFS_BLOCK_SHIFT);
	scmfs_op_begin(fs, &op, &ino, 1);
	r = scmfs_ext_mark(&op, inode, e->file, count, false);
	if (r)
		scmfs_op_abort(&op);
	else
		scmfs_op_commit(&op);
	return r;
}

/* The next step of a reservation; @file is set to what comes next. */
static int reserve_step(struct scmfs *fs, struct scmfs_inode *inode, u64 ino, u64 *file, u64 end,
			bool unwritten)
{
	struct scmfs_ext e;
	int r = scmfs_ext_at(fs, inode, *file, &e);
	u64 count;

	if (r)
		return r;
	count = min3(e.count, end - *file, RESERVE_BLOCKS);
	if (!e.block)		/* it may be less: look again */
		return reserve_part(fs, inode, ino, *file, count, unwritten);
	if (e.unwritten && !unwritten)
		r = write_part(fs, inode, ino, &e, count);
	else
		count = e.count;
	*file += count;
	return r;
}

/* Last, so that what is there of a reservation that failed is room ahead. */
static int keep(struct scmfs *fs, struct scmfs_inode *inode, u64 ino, u64 end)
{
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	if (end <= scmfs_read(&inode->size) || end <= scmfs_read(&inode->kept))
		return 0;
	scmfs_op_begin(fs, &op, &ino, 1);
	r = ek_undo_set(&op.tx, &inode->kept, end);
	if (r)
		scmfs_op_abort(&op);
	else
		scmfs_op_commit(&op);
	return r;
}

int scmfs_reserve(struct scmfs *fs, u64 ino, u64 offset, u64 len, unsigned int flags, s64 now)
{
	u64 file = block_of(offset), end = blocks_to(offset + len);
	bool unwritten = scmfs_has_unwritten(fs) && !(flags & SCMFS_RESERVE_ZEROED);
	struct scmfs_inode *inode;
	int r = open_file(fs, ino, &inode);

	if (!r && (!len || offset + len < offset))
		r = -EINVAL;
	if (!r && end > SCMFS_MAX_FILE_BLOCKS)
		r = -EFBIG;
	if (!r)
		r = trim_before(fs, inode, ino, end << SCMFS_BLOCK_SHIFT);
	while (!r && file < end) {
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		r = reserve_step(fs, inode, ino, &file, end, unwritten);
	}
	if (r || flags & SCMFS_RESERVE_KEEP_SIZE)
		return r ? r : keep(fs, inode, ino, offset + len);
	if (offset + len <= scmfs_read(&inode->size))
		return 0;
	return resize(fs, inode, ino, offset + len, now);
}

/*
 * The blocks of a range become unwritten, operation by operation; the first one sets the times.
 *
 *	edges zeroed, past the cache
 *	--- fence 1 ---			a cut: some of the edges, as in any write in place
 *	extents unwritten, times
 *	--- fence 2 ---			a cut: the front of the range, as far as it got
 */
static int unwrite_range(struct scmfs *fs, u64 ino, u64 file, u64 count, s64 now)
{
	struct scmfs_inode *inode = scmfs_inode(fs, ino);
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	do {
		scmfs_op_begin(fs, &op, &ino, 1);
		r = scmfs_op_times(&op, inode, now);
		if (!r)
			r = scmfs_ext_mark(&op, inode, file, count, true);
		if (r && r != -EAGAIN)
			scmfs_op_abort(&op);
		else
			scmfs_op_commit(&op);
		cond_resched();
		if (r == -EAGAIN && fatal_signal_pending(current))
			r = -EINTR;
	} while (r == -EAGAIN);
	return r;
}

/* The whole blocks of a range, which what lies behind the size makes whole, too. */
static void whole_blocks(const struct scmfs_inode *inode, u64 offset, u64 end, u64 *from, u64 *to)
{
	*from = round_up(offset, SCMFS_BLOCK_SIZE);
	*to = end == scmfs_read(&inode->size) ? round_up(end, SCMFS_BLOCK_SIZE) :
		round_down(end, SCMFS_BLOCK_SIZE);
	*to = max(*from, *to);
}

/* Of any length: who is killed leaves part of it. */
static int zero_in_steps(struct scmfs *fs, struct scmfs_inode *inode, u64 from, u64 to)
{
	u64 end;
	int r = 0;

	for (; !r && from < to; from = end) {
		if (fatal_signal_pending(current))
			return -EINTR;
		end = min(to, from + (RESERVE_BLOCKS << SCMFS_BLOCK_SHIFT));
		r = scmfs_zero_mapped(fs, inode, from, end);
	}
	return r;
}

int scmfs_zero(struct scmfs *fs, u64 ino, u64 offset, u64 len, s64 now)
{
	const struct scmfs_attr times = { .mtime = now, .ctime = now };
	struct scmfs_inode *inode;
	u64 end, from, to;
	int r = open_file(fs, ino, &inode);

	if (!r && (!len || offset + len < offset))
		r = -EINVAL;
	if (r)
		return r;
	end = min(offset + len, scmfs_read(&inode->size));
	if (scmfs_has_unwritten(fs) && offset < end) {
		whole_blocks(inode, offset, end, &from, &to);
		r = scmfs_zero_mapped(fs, inode, offset, min(from, end));
		if (!r && to < end)
			r = scmfs_zero_mapped(fs, inode, to, end);
		if (!r)
			r = unwrite_range(fs, ino, block_of(from), block_of(to - from), now);
		if (r != -ENOSPC)
			return r;
	}
	r = zero_in_steps(fs, inode, offset, end);
	return r ? r : scmfs_setattr(fs, ino, &times, SCMFS_SET_MTIME | SCMFS_SET_CTIME);
}

int scmfs_punch(struct scmfs *fs, u64 ino, u64 offset, u64 len, s64 now)
{
	struct scmfs_inode *inode;
	u64 end, from, to;
	int r = open_file(fs, ino, &inode);

	if (r)
		return r;
	end = min(offset + len, scmfs_read(&inode->size));
	if (offset >= end || offset + len < offset)
		return 0;
	whole_blocks(inode, offset, end, &from, &to);
	scmfs_zero_mapped(fs, inode, offset, min(from, end));
	if (to < end)
		scmfs_zero_mapped(fs, inode, to, end);
	return cut_range(fs, ino, block_of(from), block_of(to - from), &now);
}
