// SPDX-License-Identifier: GPL-2.0-only
/*
 * Garbage collection, from file to file.
 *
 * A round looks at all files by their numbers, first at the cold ones and then at the others. At
 * its begin the units are chosen that are to be emptied: there is nothing that says whose blocks
 * are in a unit, so what each file has there goes when its turn comes. What can't be moved
 * (directories, blocks of extents and attributes, files that are mapped) keeps a unit in use; such
 * a unit is remembered, not tried again for a while, and filled before all others. A file that has
 * nothing to be put together is remembered until a transaction names it: a bit for each inode, so
 * that neither its extents are looked at again nor is it brought to RAM.
 *
 * A pass is a part of a round: so many files, so many blocks. Who runs it can end it between any
 * two relocations.
 */
#include "engine_gc_internal.h"

#define GC_LOOK_EXTENTS	256u	/* under one lock of a file */
#define GC_LOOK_INODES	262144u	/* whose bits are looked at under the maps' lock */
#define GC_RESUME	1	/* the pass ends here, the file isn't done */
#define GC_DONE		2	/* the file is */
#define GC_SPARE	256u	/* free blocks that a relocation leaves to others */

struct scmfs_gc *scmfs_gc_new(struct scmfs *fs, const struct scmfs_gc_ops *ops, void *ctx)
{
	struct scmfs_gc *gc = kvzalloc(sizeof(*gc), GFP_KERNEL);

	if (!gc)
		return NULL;
	gc->fs = fs;
	gc->ops = ops;
	gc->ctx = ctx;
	gc->victim = kvzalloc(scmfs_gc_map_bytes(fs), GFP_KERNEL);
	gc->stuck = kvzalloc(scmfs_gc_map_bytes(fs), GFP_KERNEL);
	if (gc->victim && gc->stuck && !scmfs_gc_done_init(fs))
		return gc;
	scmfs_gc_free(gc);
	return NULL;
}

void scmfs_gc_free(struct scmfs_gc *gc)
{
	if (!gc)
		return;
	kvfree(gc->victim);
	kvfree(gc->stuck);
	kvfree(gc);
}

const struct scmfs_gc_counts *scmfs_gc_counts(const struct scmfs_gc *gc)
{
	return &gc->counts;
}

u64 scmfs_gc_memory(const struct scmfs_gc *gc)
{
	return sizeof(*gc) + 2 * scmfs_gc_map_bytes(gc->fs) + scmfs_gc_done_bytes(gc->fs);
}

void scmfs_gc_retry(struct scmfs_gc *gc)
{
	gc->retry = true;
}

u64 scmfs_gc_order(const struct scmfs_gc *gc)
{
	return gc->order;
}

static bool may_make_whole(const struct scmfs_gc *gc)
{
	return gc->p->huge && (gc->order || !gc->hot) && !gc->no_whole;
}

/* ---- files in which there is nothing to be put together ------------------------------------- */

/*
 * The bit is set when the look at a file begins, and goes if that doesn't end well:
 *
 *	the look			a write
 *	file locked
 *	bit set
 *	256 extents
 *	file unlocked
 *					a transaction: bit cleared
 *	file locked, the rest of it
 *	all of it seen; the bit stays as it is
 */
static void begin_note(struct scmfs_gc *gc, u64 ino)
{
	if (gc->file || gc->looking || !may_make_whole(gc))
		return;
	gc->looking = ino;
	set_bit(ino, gc->fs->gc_done);
}

static void drop_note(struct scmfs_gc *gc)
{
	if (gc->looking)
		clear_bit(gc->looking, gc->fs->gc_done);
	gc->looking = 0;
}

static bool is_done(const struct scmfs_gc *gc, u64 ino)
{
	return gc->looking != ino && test_bit(ino, gc->fs->gc_done);
}

/* ---- a file --------------------------------------------------------------------------------- */

/* Has it blocks in a unit that is to be emptied? Without a lock: it says where to look, no more. */
static bool is_in_victim(const struct scmfs_gc *gc, const struct scmfs_inode *inode)
{
	struct scmfs_ext e;
	u64 last;
	u32 i;

	for (i = 0; i < SCMFS_INLINE_EXTENTS; i++) {
		e = scmfs_ext_of(scmfs_read(&inode->extent[i].block),
				 scmfs_read(&inode->extent[i].second));
		if (!scmfs_ext_ok(gc->fs, inode, &e))
			continue;
		last = (e.block + e.count - 1) / SCMFS_UNIT_BLOCKS;
		if (find_next_bit(gc->victim, last + 1, e.block / SCMFS_UNIT_BLOCKS) <= last)
			return true;
	}
	return false;
}

static bool is_large(const struct scmfs_gc *gc, const struct scmfs_inode *inode)
{
	return may_make_whole(gc) && scmfs_read(&inode->size) >= SCMFS_UNIT_SIZE;
}

static bool is_worth_a_look(const struct scmfs_gc *gc, u64 ino, const struct scmfs_inode *inode)
{
	if (is_large(gc, inode) && !is_done(gc, ino))
		return true;
	return gc->left && (scmfs_read(&inode->map) || is_in_victim(gc, inode));
}

/* 2 MiB of a file, from @file on. Return: should they be put together? Or an error. */
static int look_at_whole(struct scmfs_gc *gc, struct scmfs_inode *inode, u64 file)
{
	u64 end = file + SCMFS_UNIT_BLOCKS;
	struct scmfs_ext e;
	u32 nr;
	int r;

	for (nr = 0; file < end; nr++, file += e.count) {
		gc->extents -= !!gc->extents;
		r = scmfs_ext_at(gc->fs, inode, file, &e);
		if (r || !e.block)
			return r;
		e.count = min(e.count, end - file);
		gc->part[nr] = (struct scmfs_gc_part){ e.block, e.count, e.unwritten };
	}
	gc->nr_parts = nr;
	return scmfs_gc_worth_whole(gc->part, nr);
}

static void note_bad(struct scmfs_gc *gc, u64 ino, const struct scmfs_move *m)
{
	gc->bad[gc->next_bad] = (struct scmfs_gc_bad){ ino, m->file, m->whole };
	gc->next_bad = (gc->next_bad + 1) % SCMFS_GC_BAD;
}

/* Each try copies what is before it, and meets it: a machine check, for nothing. */
static bool was_bad(const struct scmfs_gc *gc, const struct scmfs_inode *inode, bool whole)
{
	u64 ino = inode - scmfs_inode(gc->fs, 0);
	u32 i;

	for (i = 0; i < SCMFS_GC_BAD; i++)
		if (gc->bad[i].ino == ino && gc->bad[i].file == gc->file &&
		    gc->bad[i].whole == whole)
			return true;
	return false;
}

/* The part of the extent at gc->file that lies in one unit of the file and one of the memory. */
static int look_at_part(struct scmfs_gc *gc, struct scmfs_inode *inode, struct scmfs_move *m)
{
	u64 in_file = SCMFS_UNIT_BLOCKS - gc->file % SCMFS_UNIT_BLOCKS;
	struct scmfs_ext e;
	int r = scmfs_ext_at(gc->fs, inode, gc->file, &e);

	if (r)
		return r;
	*m = (struct scmfs_move){ .file = gc->file, .count = e.count, .avoid = gc->victim,
				    .prefer = gc->stuck };
	if (!e.block)
		return 0;
	m->count = min3(e.count, in_file, SCMFS_UNIT_BLOCKS - e.block % SCMFS_UNIT_BLOCKS);
	return scmfs_gc_is_victim(gc, e.block / SCMFS_UNIT_BLOCKS) && !was_bad(gc, inode, false);
}

/* May 2 MiB begin here that are to be put together? Else the look at the file isn't whole. */
static bool may_look_at_whole(struct scmfs_gc *gc, const struct scmfs_inode *inode)
{
	u64 end = gc->file + SCMFS_UNIT_BLOCKS;

	if (!may_make_whole(gc)) {
		drop_note(gc);
		return false;
	}
	if (gc->file % SCMFS_UNIT_BLOCKS || end > blocks_to(scmfs_read(&inode->size)))
		return false;
	if (!was_bad(gc, inode, true))
		return true;
	drop_note(gc);
	return false;
}

/* Return: 1: @m is to be done; 0: nothing so far; or an error. */
static int look_here(struct scmfs_gc *gc, struct scmfs_inode *inode, bool done,
		     struct scmfs_move *m)
{
	int r;

	if (!done && may_look_at_whole(gc, inode)) {
		*m = (struct scmfs_move){ gc->file, SCMFS_UNIT_BLOCKS, .whole = true };
		r = look_at_whole(gc, inode, gc->file);
		if (r)
			return r;
	}
	return look_at_part(gc, inode, m);
}

/* Return: 1: @m is to be done; 0: look on later; -ENOENT: nothing more; or another error. */
static int find_move(struct scmfs_gc *gc, u64 ino, struct scmfs_move *m)
{
	struct scmfs_inode *inode;
	int r = scmfs_open_file(gc->fs, ino, &inode);
	bool done = is_done(gc, ino);
	u64 end;
	u32 nr;

	if (!r && scmfs_read(&inode->map) && !scmfs_index_get(gc->fs, inode))
		r = -ENOMEM;	/* it would take too long */
	if (r)
		return r;
	if (!done)
		begin_note(gc, ino);
	end = block_of(scmfs_mapped_size(gc->fs, ino));
	for (nr = 0; nr < GC_LOOK_EXTENTS; nr++) {
		if (gc->file >= end)
			return -ENOENT;
		gc->extents -= !!gc->extents;
		r = look_here(gc, inode, done, m);
		if (r)
			return r;
		gc->file += m->count;
	}
	return 0;
}

static void note_move(struct scmfs_gc *gc, const struct scmfs_move *m, int r)
{
	struct scmfs_gc_counts *c = &gc->counts;

	c->moves += !r;
	c->wholes += !r && m->whole;
	c->bad += r == -EIO;
	c->no_room += r == -ENOSPC;
	c->failed += r && r != -EIO && r != -ENOSPC;
}

/* What was in several places went to one. */
static void note_wholes(struct scmfs_gc *gc)
{
	const struct scmfs_gc_part *part;
	u64 unit, last;
	u32 i;

	for (i = 0; i < gc->nr_parts; i++) {
		part = gc->part + i;
		last = (part->block + part->count - 1) / SCMFS_UNIT_BLOCKS;
		for (unit = part->block / SCMFS_UNIT_BLOCKS; unit <= last; unit++)
			scmfs_gc_note_emptied(gc, unit);
	}
}

static void do_move(struct scmfs_gc *gc, u64 ino, const struct scmfs_move *m)
{
	struct scmfs_ext e = { 0 };
	struct scmfs_statfs st;
	int r = -ENOSPC;
	u64 moved = 0;

	if (!m->whole)
		scmfs_ext_at(gc->fs, scmfs_inode(gc->fs, ino), m->file, &e);
	scmfs_statfs(gc->fs, &st);
	if (st.free >= m->count + GC_SPARE) {
		gc->ops->moving(gc->ctx, ino);
		r = scmfs_relocate(gc->fs, ino, m, &moved);
	}
	note_move(gc, m, r);
	if (r == -EIO)
		note_bad(gc, ino, m);
	if (r && m->whole)
		drop_note(gc);
	gc->counts.blocks += moved;
	gc->blocks -= min(gc->blocks, moved);
	if (e.block)
		scmfs_gc_note_emptied(gc, e.block / SCMFS_UNIT_BLOCKS);
	if (!r && m->whole)
		note_wholes(gc);
	if (r == -ENOSPC && m->whole && !moved)
		gc->no_whole = true;	/* it is looked at once more, for its parts */
	else
		gc->file += m->count;
}

/* Return: 0: looked at it; GC_DONE: to its end; or an error of lock(). */
static int move_some(struct scmfs_gc *gc, u64 ino)
{
	struct scmfs_move m;
	int r = gc->ops->lock(gc->ctx, ino, SCMFS_GC_MOVE);

	gc->counts.busy += r == -EAGAIN;
	gc->counts.mapped += r == -EBUSY;
	if (r == -EAGAIN || r == -EBUSY || r == -ESTALE)
		return GC_DONE;
	if (r)
		return r;
	r = find_move(gc, ino, &m);
	if (r > 0)
		do_move(gc, ino, &m);
	else if (r == -ENOENT)
		gc->looking = 0;	/* all of it was seen */
	else if (r)
		drop_note(gc);
	gc->ops->unlock(gc->ctx, ino);
	cond_resched();
	return r < 0 ? GC_DONE : 0;
}

/* Without a lock, as above. */
static bool may_have_room(const struct scmfs_inode *inode)
{
	u64 end = blocks_to(max(scmfs_read(&inode->size), scmfs_read(&inode->kept)));
	struct scmfs_ext e;
	u32 i;

	for (i = 0; i < SCMFS_INLINE_EXTENTS; i++) {
		e = scmfs_ext_of(0, scmfs_read(&inode->extent[i].second));
		if (e.count && e.file + e.count > end)
			return true;
	}
	return scmfs_read(&inode->map);
}

static int trim(struct scmfs_gc *gc, u64 ino)
{
	struct scmfs_statfs before, after;
	int r = 1, err;

	while (r > 0 && gc->pressed && !gc->ops->stop(gc->ctx)) {
		err = gc->ops->lock(gc->ctx, ino, SCMFS_GC_TRIM);
		if (err)
			return err == -EAGAIN || err == -EBUSY || err == -ESTALE ? 0 : err;
		scmfs_statfs(gc->fs, &before);
		r = scmfs_has_room_ahead(gc->fs, ino) ? scmfs_trim_some(gc->fs, ino) : 0;
		gc->ops->unlock(gc->ctx, ino);
		scmfs_statfs(gc->fs, &after);
		/* others allocate meanwhile */
		gc->counts.room += after.free > before.free ? after.free - before.free : 0;
		gc->pressed = scmfs_gc_pressed(gc->p, after.free, after.blocks, true);
		cond_resched();
	}
	return 0;
}

/* Return: 0: the next file comes; GC_RESUME; or an error of lock(). */
static int visit_blocks(struct scmfs_gc *gc, u64 ino, const struct scmfs_inode *inode)
{
	int r = 0;

	if (gc->pressed && may_have_room(inode))
		r = trim(gc, ino);
	while (!r && is_worth_a_look(gc, ino, inode)) {
		if (!gc->blocks || !gc->extents || gc->ops->stop(gc->ctx))
			return GC_RESUME;
		r = move_some(gc, ino);
	}
	return r == GC_DONE ? 0 : r;
}

/* Likewise. */
static int visit(struct scmfs_gc *gc, u64 ino)
{
	struct scmfs_inode *inode;
	int r;

	if (scmfs_find_file(gc->fs, ino, &inode) ||
	    !scmfs_links(scmfs_read(&inode->mode_links)) || !scmfs_read(&inode->blocks) ||
	    scmfs_gc_is_cold(gc->p, scmfs_read(&inode->mtime), gc->now) == gc->hot)
		return 0;
	gc->counts.unchanged += is_large(gc, inode) && is_done(gc, ino);
	r = visit_blocks(gc, ino, inode);
	gc->ops->leave(gc->ctx, ino, !r);
	return r;
}

/* ---- a pass --------------------------------------------------------------------------------- */

static bool has_work(const struct scmfs_gc *gc)
{
	return gc->pressed || gc->left || may_make_whole(gc);
}

static void go_to(struct scmfs_gc *gc, u64 ino)
{
	drop_note(gc);
	gc->ino = ino;
	gc->file = 0;
}

static void begin_half(struct scmfs_gc *gc, bool hot)
{
	go_to(gc, 1);
	gc->hot = hot;
}

static void begin_pass(struct scmfs_gc *gc, const struct scmfs_gc_params *p, s64 now)
{
	struct scmfs_statfs st;

	gc->p = p;
	gc->now = now;
	gc->blocks = p->blocks;
	gc->inodes = p->inodes;
	gc->extents = p->extents;
	gc->no_whole = false;
	gc->counts.passes++;
	scmfs_statfs(gc->fs, &st);
	gc->pressed = scmfs_gc_pressed(p, st.free, st.blocks, false);
	if (gc->begun && !gc->order == !p->order)
		return;
	gc->order = p->order;
	scmfs_gc_choose(gc);
	begin_half(gc, false);
	gc->begun = true;
}

/* Return: 0: the files of this half are done; GC_RESUME; or an error of lock(). */
static int half(struct scmfs_gc *gc)
{
	u64 end = gc->fs->nr_inodes, most, ino;
	int r;

	while (has_work(gc)) {
		most = min(end, gc->ino + GC_LOOK_INODES);
		ino = scmfs_next_inode(gc->fs, gc->ino, most);
		if (ino != gc->ino)
			go_to(gc, ino);
		if (ino >= end)
			return 0;
		if (!gc->inodes || gc->ops->stop(gc->ctx))
			return GC_RESUME;
		cond_resched();
		if (ino >= most)	/* nobody knows yet whether there is this one */
			continue;
		gc->inodes--;
		gc->counts.inodes++;
		r = visit(gc, ino);
		if (r)
			return r;
		go_to(gc, gc->ino + 1);
	}
	return 0;
}

int scmfs_gc_pass(struct scmfs_gc *gc, const struct scmfs_gc_params *p, s64 now)
{
	int r;

	begin_pass(gc, p, now);
	r = half(gc);
	if (!r && !gc->hot) {
		begin_half(gc, true);
		r = half(gc);
	}
	if (!r)
		scmfs_gc_end_round(gc);
	return r < 0 ? r : !r;
}
