// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranges taken out of files and put into them: all that lies behind moves, at once.
 *
 * A few extents, all of them in the inode, are changed by the transaction. Of more there is a new
 * chain, which holds all of them:
 *
 *	blocks of extents		stored past the cache, nothing refers to them
 *	--- fence 1 ---			a cut until here: as it was
 *	first block of the chain, places of the inode, size, times
 *	--- fence 2 ---			moved
 *	what was taken out, and the old chain, are free
 */
#include "engine_internal.h"

/**
 * struct shift - one of them
 * @fs: of which
 * @inode: of the file
 * @ino: its number
 * @from: file block from which on what there was is behind the range
 * @to: to which the rest goes on; what lies in between goes
 * @by: and moves by so much
 * @old: places of the inode as they were
 * @old_map: its chain
 * @nr: extents that there will be
 * @gone: blocks taken out
 * @old_maps: blocks of the old chain
 * @new_maps: and of the new one
 * @left: the extent that ends where the range is taken out, if there is one
 * @right: and the one that comes to lie behind it
 * @joined: they are one from then on
 */
struct shift {
	struct scmfs *fs;
	struct scmfs_inode *inode;
	u64 ino;
	u64 from;
	u64 to;
	s64 by;
	struct scmfs_extent old[SCMFS_INLINE_EXTENTS];
	u64 old_map;
	u64 nr;
	u64 gone;
	u64 old_maps;
	u64 new_maps;
	struct scmfs_ext left;
	struct scmfs_ext right;
	bool joined;
};

/* What an extent becomes: up to two, beside each other only in the file. */
static u32 parts_of(const struct shift *sh, const struct scmfs_ext *e, struct scmfs_ext out[2])
{
	u64 end = e->file + e->count, back = max(e->file, sh->to);
	u32 nr = 0;

	if (e->file < sh->from)
		out[nr++] = (struct scmfs_ext){ e->block, e->file, min(end, sh->from) - e->file,
						e->unwritten };
	if (end > back)
		out[nr++] = (struct scmfs_ext){ e->block + (back - e->file), back + sh->by,
						end - back, e->unwritten };
	return nr;
}

/* The same, with what was taken out between two parts of one extent gone. */
static u32 moved(const struct shift *sh, const struct scmfs_ext *e, struct scmfs_ext out[2])
{
	u32 nr = parts_of(sh, e, out), i, left = 0;

	for (i = 0; sh->joined && i < nr; i++) {
		if (out[i].block == sh->right.block)
			continue;
		out[left] = out[i];
		if (out[left].block == sh->left.block)
			out[left].count += sh->right.count;
		left++;
	}
	return sh->joined ? left : nr;
}

/* The two parts that meet when a range has gone. */
static void note_ends(struct shift *sh, const struct scmfs_ext *out, u32 nr)
{
	u32 i;

	for (i = 0; sh->by < 0 && i < nr; i++) {
		if (out[i].file + out[i].count == sh->from)
			sh->left = out[i];
		else if (out[i].file == sh->from)
			sh->right = out[i];
	}
}

static void join(struct shift *sh)
{
	sh->joined = sh->left.count && sh->right.count &&
		sh->left.block + sh->left.count == sh->right.block &&
		sh->left.unwritten == sh->right.unwritten;
	sh->nr -= sh->joined;
}

static void old_places(const struct shift *sh, struct scmfs_slots *s)
{
	scmfs_slots(sh->fs, sh->inode, s);
	s->place = (struct scmfs_extent *)sh->old;
	s->map = sh->old_map;
}

/* False: that was all of them, or s->error. */
static bool next_old(struct scmfs_slots *s, struct scmfs_ext *e)
{
	struct scmfs_extent *place;

	while ((place = scmfs_slots_next(s))) {
		if (s->left == 0)
			cond_resched();
		*e = scmfs_ext_of(scmfs_read(&place->block), scmfs_read(&place->second));
		if (!e->count)
			continue;
		s->error = scmfs_ext_ok(s->fs, s->inode, e) ? 0 : scmfs_damaged(s->fs);
		return !s->error;
	}
	return false;
}

/* What there is, and whether it can be done. */
static int look(struct shift *sh)
{
	struct scmfs_ext e, out[2];
	struct scmfs_slots s;
	u32 i, nr;

	old_places(sh, &s);
	while (next_old(&s, &e)) {
		nr = parts_of(sh, &e, out);
		note_ends(sh, out, nr);
		sh->nr += nr;
		sh->gone += e.count;
		for (i = 0; i < nr; i++) {
			sh->gone -= out[i].count;
			if (out[i].file + out[i].count > SCMFS_MAX_FILE_BLOCKS)
				return -EFBIG;
		}
	}
	sh->old_maps = s.maps;
	join(sh);
	return s.error;
}

/* ---- a new chain ---------------------------------------------------------------------------- */

/* The block in @buf, before those at @head. */
static int put_map(struct shift *sh, struct scmfs_map *buf, u64 *head)
{
	u64 block;

	if (!scmfs_alloc(sh->fs, 1, 0, &block))
		return -ENOSPC;
	buf->magic = cpu_to_le32(SCMFS_MAP_MAGIC);
	buf->ino = cpu_to_le64(sh->ino);
	buf->next = cpu_to_le64(*head);
	scm_copy_nt(scmfs_block(sh->fs, block), buf, sizeof(*buf));
	memset(buf, 0, sizeof(*buf));
	*head = block;
	sh->new_maps++;
	return 0;
}

static int fill_maps(struct shift *sh, struct scmfs_map *buf, u64 *head)
{
	struct scmfs_ext e, out[2];
	struct scmfs_slots s;
	u32 i, nr, used = 0;
	int r = 0;

	old_places(sh, &s);
	while (!r && next_old(&s, &e)) {
		nr = moved(sh, &e, out);
		for (i = 0; !r && i < nr; i++) {
			buf->extent[used].block = cpu_to_le64(scmfs_ext_block(&out[i]));
			buf->extent[used].second =
				cpu_to_le64(scmfs_second(out[i].file, out[i].count));
			if (++used < SCMFS_MAP_EXTENTS)
				continue;
			r = put_map(sh, buf, head);
			used = 0;
		}
	}
	if (!r)
		r = s.error;
	return r || !used ? r : put_map(sh, buf, head);
}

/* Return: 0 and @head, which is 0 if there is nothing left; -ENOSPC; -ENOMEM; -EUCLEAN. */
static int make_maps(struct shift *sh, u64 *head)
{
	struct scmfs_map *buf = kzalloc(sizeof(*buf), GFP_NOIO);
	int r;

	*head = 0;
	if (!buf)
		return -ENOMEM;
	r = fill_maps(sh, buf, head);
	kfree(buf);
	if (r)
		scmfs_free_maps(sh->fs, *head, sh->new_maps);
	return r;
}

/* ---- the transaction ------------------------------------------------------------------------ */

/* Nothing in the inode itself. */
static int empty_places(struct scmfs_op *op, struct scmfs_inode *inode)
{
	u32 i;
	int r = 0;

	for (i = 0; !r && i < SCMFS_INLINE_EXTENTS; i++)
		if (scmfs_read(&inode->extent[i].second) >> 32)
			r = ek_undo_set(&op->tx, &inode->extent[i].second, 0);
	return r;
}

static int set_place(struct scmfs_op *op, struct scmfs_extent *place, const struct scmfs_ext *e)
{
	int r = ek_undo_set(&op->tx, &place->block, scmfs_ext_block(e));

	return r ? r : ek_undo_set(&op->tx, &place->second, scmfs_second(e->file, e->count));
}

/* All of them in the inode, from the first place on; the places' `block` is logged, too. */
static int set_places(struct scmfs_op *op, struct shift *sh)
{
	struct scmfs_ext e, out[2];
	struct scmfs_slots s;
	u32 used = 0, i, nr;
	int r = 0;

	old_places(sh, &s);
	while (!r && next_old(&s, &e)) {
		nr = moved(sh, &e, out);
		for (i = 0; !r && i < nr; i++)
			r = set_place(op, &sh->inode->extent[used++], &out[i]);
	}
	for (; !r && used < SCMFS_INLINE_EXTENTS; used++)
		r = ek_undo_set(&op->tx, &sh->inode->extent[used].second, 0);
	return r;
}

/* Where a byte of the file goes to. */
static u64 moved_to(const struct shift *sh, u64 at)
{
	u64 from = sh->from << SCMFS_BLOCK_SHIFT, to = sh->to << SCMFS_BLOCK_SHIFT;

	return at <= from ? at : at <= to ? from : at + sh->by * (s64)SCMFS_BLOCK_SIZE;
}

static int set_words(struct scmfs_op *op, struct shift *sh, u64 map, s64 now)
{
	struct scmfs_inode *inode = sh->inode;
	struct ek_undo_tx *tx = &op->tx;
	int r = ek_undo_set(tx, &inode->size, moved_to(sh, scmfs_read(&inode->size)));

	if (!r)
		r = scmfs_op_times(op, inode, now);
	if (!r)
		r = ek_undo_set(tx, &inode->blocks, scmfs_read(&inode->blocks) - sh->gone -
				sh->old_maps + sh->new_maps);
	if (!r)
		r = ek_undo_set(tx, &inode->map, map);
	if (!r && scmfs_read(&inode->kept))
		r = ek_undo_set(tx, &inode->kept, moved_to(sh, scmfs_read(&inode->kept)));
	return r;
}

static int commit(struct shift *sh, bool inside, u64 map, s64 now)
{
	struct scmfs_op op EK_UNINITIALIZED;
	int r;

	scmfs_op_begin(sh->fs, &op, &sh->ino, 1);
	r = set_words(&op, sh, map, now);
	if (!r)
		r = inside ? set_places(&op, sh) : empty_places(&op, sh->inode);
	if (r)
		scmfs_op_abort(&op);
	else
		scmfs_op_commit(&op);
	return r;
}

/* Nothing durable refers to it any more. */
static void free_old(struct shift *sh)
{
	struct scmfs_slots s;
	struct scmfs_ext e;
	u64 from, to;

	ek_undo_settle(sh->fs->log);
	old_places(sh, &s);
	while (sh->gone && next_old(&s, &e)) {
		from = max(e.file, sh->from);
		to = min(e.file + e.count, sh->to);
		if (from < to)
			scmfs_free(sh->fs, e.block + (from - e.file), to - from);
	}
	scmfs_free_maps(sh->fs, sh->old_map, sh->old_maps);
}

static int shift(struct shift *sh, s64 now)
{
	u64 map = 0;
	bool inside;
	int r;

	memcpy(sh->old, sh->inode->extent, sizeof(sh->old));
	sh->old_map = scmfs_read(&sh->inode->map);
	r = look(sh);
	if (r)
		return r;
	inside = !sh->old_map && sh->nr <= SCMFS_INLINE_EXTENTS;
	if (!inside)
		r = make_maps(sh, &map);
	if (r)
		return r;
	r = commit(sh, inside, map, now);
	if (r) {
		scmfs_free_maps(sh->fs, map, sh->new_maps);
		return r;
	}
	scmfs_forget(sh->fs, sh->ino);
	free_old(sh);
	return 0;
}

static int begin(struct shift *sh, struct scmfs *fs, u64 ino, u64 offset, u64 len)
{
	int r = scmfs_live(fs, ino, &sh->inode);

	if (r)
		return r;
	if ((scmfs_mode(scmfs_read(&sh->inode->mode_links)) & SCMFS_IFMT) != SCMFS_IFREG ||
	    !len || (offset | len) & (SCMFS_BLOCK_SIZE - 1) || offset + len < offset)
		return -EINVAL;
	sh->fs = fs;
	sh->ino = ino;
	sh->from = offset >> SCMFS_BLOCK_SHIFT;
	return scmfs_trim(fs, ino);	/* room ahead would be in the way */
}

int scmfs_collapse(struct scmfs *fs, u64 ino, u64 offset, u64 len, s64 now)
{
	struct shift sh = { .nr = 0 };
	int r = begin(&sh, fs, ino, offset, len);

	if (!r && offset + len >= scmfs_read(&sh.inode->size))
		r = -EINVAL;
	if (r)
		return r;
	sh.to = sh.from + (len >> SCMFS_BLOCK_SHIFT);
	sh.by = -(s64)(len >> SCMFS_BLOCK_SHIFT);
	return shift(&sh, now);
}

int scmfs_insert(struct scmfs *fs, u64 ino, u64 offset, u64 len, s64 now)
{
	u64 most = SCMFS_MAX_FILE_BLOCKS << SCMFS_BLOCK_SHIFT, size;
	struct shift sh = { .nr = 0 };
	int r = begin(&sh, fs, ino, offset, len);

	if (r)
		return r;
	size = scmfs_read(&sh.inode->size);
	if (offset >= size)
		return -EINVAL;
	if (len > most || size > most - len)
		return -EFBIG;
	sh.to = sh.from;
	sh.by = len >> SCMFS_BLOCK_SHIFT;
	return shift(&sh, now);
}
