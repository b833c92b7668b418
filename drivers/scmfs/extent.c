// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extents of an inode: places in it, then in a chain of blocks. They are in no order; a place whose
 * extent has no blocks is free, so that adding one changes one place. Of a file with such a
 * chain there is an index in RAM, mostly (index.c).
 */
#include "engine_internal.h"

#define MAX_MARKS	8u	/* extents that one operation marks: records of the log */

void scmfs_slots(const struct scmfs *fs, struct scmfs_inode *inode, struct scmfs_slots *s)
{
	bool none = !scmfs_has_extents(scmfs_mode(scmfs_read(&inode->mode_links))) ||
		    scmfs_inline_target(inode);

	*s = (struct scmfs_slots){ .fs = fs, .inode = inode };
	if (none)
		return;
	s->map = scmfs_read(&inode->map);
	s->place = inode->extent;
	s->left = SCMFS_INLINE_EXTENTS;
}

static bool next_map(struct scmfs_slots *s)
{
	u64 ino = s->inode - scmfs_inode(s->fs, 0);
	struct scmfs_map *map;

	if (!s->map)
		return false;
	s->error = -EUCLEAN;
	if (!scmfs_run_ok(s->fs, s->map, 1) || s->map == s->mark)
		return false;
	s->error = -EIO;
	if (!scmfs_all_good(s->fs, s->map, 1))
		return false;
	s->error = -EUCLEAN;
	/* A chain that bites its tail meets the mark once that is in the ring (Brent). */
	s->maps++;
	if (is_power_of_2(s->maps))
		s->mark = s->map;
	map = scmfs_block(s->fs, s->map);
	if (le32_to_cpu(map->magic) != SCMFS_MAP_MAGIC || le64_to_cpu(map->ino) != ino)
		return false;
	s->error = 0;
	s->map = scmfs_read(&map->next);
	s->place = map->extent;
	s->left = SCMFS_MAP_EXTENTS;
	return true;
}

/* Free places, too; NULL at the end, or with s->error. */
struct scmfs_extent *scmfs_slots_next(struct scmfs_slots *s)
{
	if (!s->left && !next_map(s)) {
		if (s->error == -EUCLEAN)
			scmfs_damaged(s->fs);
		return NULL;
	}
	s->left--;
	return s->place++;
}

static int checked(const struct scmfs *fs, const struct scmfs_inode *inode,
		   const struct scmfs_ext *e)
{
	return scmfs_ext_ok(fs, inode, e) ? 0 : scmfs_damaged(fs);
}

/* Of an extent that ends behind @file, or a hole if it begins there; NULL: there is none. */
static struct scmfs_ext cut_front(const struct scmfs_ext *e, u64 file)
{
	u64 next = e ? e->file : SCMFS_MAX_FILE_BLOCKS;

	if (next > file || !e)
		return (struct scmfs_ext){ 0, file, next > file ? next - file : 0, false };
	return (struct scmfs_ext){ e->block + (file - e->file), file, e->count - (file - e->file),
				   e->unwritten };
}

/* The extent that ends behind @file, the first one if there are several, searched one by one. */
static int search(const struct scmfs *fs, struct scmfs_inode *inode, u64 file,
		  struct scmfs_extent **first, struct scmfs_ext *found)
{
	struct scmfs_extent *place;
	struct scmfs_slots s;

	*first = NULL;
	scmfs_slots(fs, inode, &s);
	while ((place = scmfs_slots_next(&s))) {
		struct scmfs_ext e = scmfs_ext_of(scmfs_read(&place->block),
						  scmfs_read(&place->second));

		if (!e.count || e.file + e.count <= file)
			continue;
		if (checked(fs, inode, &e))
			return -EUCLEAN;
		if (*first && e.file >= found->file)
			continue;
		*first = place;
		*found = e;
		if (e.file <= file)
			return 0;
	}
	return s.error;
}

/* The same, by the index if there is one; of an extent behind @file that doesn't know the block. */
static int find(const struct scmfs *fs, struct scmfs_inode *inode, u64 file,
		struct scmfs_extent **place, struct scmfs_ext *found)
{
	struct scmfs_index *x = scmfs_index_get(fs, inode);

	if (!x)
		return search(fs, inode, file, place, found);
	*place = scmfs_index_from(x, file, found);
	if (!*place || found->file > file)
		return 0;
	if (!scmfs_may_touch(fs, *place, sizeof(**place)))
		return -EIO;
	*found = scmfs_ext_of(scmfs_read(&(*place)->block),
			      scmfs_second(found->file, found->count));
	return checked(fs, inode, found);
}

/*
 * The extent from file block @file on, cut off at the front. Where there is none @found->block is
 * 0 and count the length of the hole. Outside of operations on the file.
 */
int scmfs_ext_at(const struct scmfs *fs, struct scmfs_inode *inode, u64 file,
		 struct scmfs_ext *found)
{
	struct scmfs_extent *place;
	struct scmfs_ext e;
	int r = find(fs, inode, file, &place, &e);

	if (!r)
		*found = cut_front(place ? &e : NULL, file);
	return r;
}

/* The extent that file block @file is in, all of it. */
int scmfs_ext_around(const struct scmfs *fs, struct scmfs_inode *inode, u64 file,
		     struct scmfs_ext *found)
{
	struct scmfs_extent *place;
	int r = find(fs, inode, file, &place, found);

	if (r)
		return r;
	return place && found->file <= file ? 0 : scmfs_damaged(fs);
}

static int count_blocks(struct scmfs_op *op, struct scmfs_inode *inode, s64 more)
{
	return ek_undo_set(&op->tx, &inode->blocks, ek_undo_get(&op->tx, &inode->blocks) + more);
}

/* The words that a block of extents begins with: its head, and the first extent. */
static void start_map(struct scmfs_map *map, u64 ino, u64 next, struct scmfs_ext ext)
{
	__le64 start[] = {
		cpu_to_le64(SCMFS_MAP_MAGIC), cpu_to_le64(ino), cpu_to_le64(next), 0, 0, 0, 0, 0,
		cpu_to_le64(scmfs_ext_block(&ext)), cpu_to_le64(scmfs_second(ext.file, ext.count)),
	};

	static_assert(sizeof(start) == offsetof(struct scmfs_map, extent[1]), "start of a map");
	scm_copy_nt(map, start, sizeof(start));
	scm_zero_nt(map->extent + 1, sizeof(*map) - sizeof(start));
}

/* A block for more extents, put at the head of the chain by the transaction. */
static int add_map(struct scmfs_op *op, struct scmfs_inode *inode, struct scmfs_ext ext,
		   struct scmfs_map **map)
{
	u64 block;
	int r;

	if (!scmfs_op_alloc(op, 1, 0, &block))
		return -ENOSPC;
	*map = scmfs_block(op->fs, block);
	start_map(*map, inode - scmfs_inode(op->fs, 0), ek_undo_get(&op->tx, &inode->map), ext);
	r = count_blocks(op, inode, ext.count + 1);
	return r ? r : ek_undo_set(&op->tx, &inode->map, block);
}

/*
 * Both words by the log, though nobody looks at `block` before `second` changes: a transaction may
 * have named it when it emptied the place, and as long as that one isn't settled it counts only
 * with the word that it stored.  Or this very transaction did.
 */
static int fill_place(struct scmfs_op *op, struct scmfs_inode *inode, struct scmfs_extent *place,
		      struct scmfs_ext ext)
{
	int r = ek_undo_set(&op->tx, &place->block, scmfs_ext_block(&ext));

	if (!r)
		r = ek_undo_set(&op->tx, &place->second, scmfs_second(ext.file, ext.count));
	return r ? r : count_blocks(op, inode, ext.count);
}

/* Does @ext go on where @e ends, in the file and in the region? */
static bool continues(const struct scmfs_ext *e, const struct scmfs_ext *ext)
{
	return e->file + e->count == ext->file && e->block + e->count == ext->block &&
		e->unwritten == ext->unwritten;
}

/* An index that can't follow, for want of memory, is forgotten. */
static void follow(struct scmfs_op *op, struct scmfs_inode *inode, int r)
{
	if (r)
		scmfs_forget(op->fs, inode - scmfs_inode(op->fs, 0));
}

static int set_place(struct scmfs_op *op, struct scmfs_inode *inode, struct scmfs_extent *place,
		     struct scmfs_ext old, struct scmfs_ext e)
{
	struct scmfs_index *x = scmfs_index_get(op->fs, inode);
	int r = 0;

	if (x) {
		op->indexed = inode - scmfs_inode(op->fs, 0);
		follow(op, inode, scmfs_index_change(x, old.file, e.file, e.count));
	}
	if (scmfs_ext_block(&old) != scmfs_ext_block(&e))
		r = ek_undo_set(&op->tx, &place->block, scmfs_ext_block(&e));
	return r ? r : ek_undo_set(&op->tx, &place->second, scmfs_second(e.file, e.count));
}

/**
 * struct neighbours - extents that one that is added becomes one with
 * @former: the place of the one before it, or NULL
 * @latter: the place of the one behind it, or NULL
 * @before: what is in @former
 * @behind: what is in @latter
 */
struct neighbours {
	struct scmfs_extent *former;
	struct scmfs_extent *latter;
	struct scmfs_ext before;
	struct scmfs_ext behind;
};

/* The extent @e of @place may be one of them. */
static void note_neighbour(struct neighbours *n, struct scmfs_extent *place,
			   const struct scmfs_ext *e, const struct scmfs_ext *ext)
{
	if (continues(e, ext)) {
		n->former = place;
		n->before = *e;
	} else if (continues(ext, e)) {
		n->latter = place;
		n->behind = *e;
	}
}

/* All of them are one, in the first one's place. There is one at least. */
static int join(struct scmfs_op *op, struct scmfs_inode *inode, const struct neighbours *n,
		const struct scmfs_ext *ext)
{
	struct scmfs_ext all = *ext, none = n->behind;
	int r = 0;

	none.count = 0;
	if (n->latter)
		all.count += n->behind.count;
	if (n->former && n->latter)
		r = set_place(op, inode, n->latter, n->behind, none);
	if (n->former) {
		all.block = n->before.block;
		all.file = n->before.file;
		all.count += n->before.count;
	}
	if (!r)
		r = set_place(op, inode, n->former ? n->former : n->latter,
			      n->former ? n->before : n->behind, all);
	return r ? r : count_blocks(op, inode, ext->count);
}

static int add_searched(struct scmfs_op *op, struct scmfs_inode *inode, struct scmfs_ext ext)
{
	struct scmfs_extent *place, *empty = NULL;
	struct neighbours n = { 0 };
	struct scmfs_slots s;
	struct scmfs_map *map;

	scmfs_slots(op->fs, inode, &s);
	while ((place = scmfs_slots_next(&s))) {
		struct scmfs_ext e = scmfs_ext_of(ek_undo_get(&op->tx, &place->block),
						  ek_undo_get(&op->tx, &place->second));

		if (e.count)
			note_neighbour(&n, place, &e, &ext);
		/* not one that this transaction empties: it may be taken back */
		else if (!empty && !(scmfs_read(&place->second) >> 32))
			empty = place;
	}
	if (s.error)
		return s.error;
	if (n.former || n.latter)
		return join(op, inode, &n, &ext);
	return empty ? fill_place(op, inode, empty, ext) : add_map(op, inode, ext, &map);
}

/* By the index, the extents at both ends of @ext. */
static void find_neighbours(struct scmfs_op *op, const struct scmfs_index *x,
			    const struct scmfs_ext *ext, struct neighbours *n)
{
	const u64 at[] = { ext->file ? ext->file - 1 : 0, ext->file + ext->count };
	struct scmfs_extent *place;
	struct scmfs_ext e;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		place = scmfs_index_from(x, at[i], &e);
		if (!place || !scmfs_may_touch(op->fs, place, sizeof(*place)))
			continue;
		e = scmfs_ext_of(ek_undo_get(&op->tx, &place->block),
				 scmfs_second(e.file, e.count));
		note_neighbour(n, place, &e, ext);
	}
}

static int add_indexed(struct scmfs_op *op, struct scmfs_inode *inode, struct scmfs_index *x,
		       struct scmfs_ext ext)
{
	struct scmfs_extent *place;
	struct scmfs_map *map = NULL;
	struct neighbours n = { 0 };
	int r;

	find_neighbours(op, x, &ext, &n);
	if (n.former || n.latter)
		return join(op, inode, &n, &ext);
	place = scmfs_index_free_place(op->fs, x);
	r = place ? fill_place(op, inode, place, ext) : add_map(op, inode, ext, &map);
	if (r)
		return r;
	r = scmfs_index_insert(x, place ? place : map->extent, ext.file, ext.count);
	if (!r && map)
		r = scmfs_index_add_free(x, map->extent + 1, SCMFS_MAP_EXTENTS - 1);
	follow(op, inode, r);
	return 0;
}

/* Give a file that has none there blocks that nothing refers to. */
int scmfs_ext_add(struct scmfs_op *op, struct scmfs_inode *inode, struct scmfs_ext ext)
{
	struct scmfs_index *x = scmfs_index_get(op->fs, inode);

	if (!x)
		return add_searched(op, inode, ext);
	op->indexed = inode - scmfs_inode(op->fs, 0);
	return add_indexed(op, inode, x, ext);
}

/* Leave of the extent @e of a place what is not in [@from, @to), which is within it. */
static int open_place(struct scmfs_op *op, struct scmfs_inode *inode, struct scmfs_extent *place,
		      struct scmfs_ext e, u64 from, u64 to)
{
	struct scmfs_ext front = { e.block, e.file, from - e.file, e.unwritten };
	struct scmfs_ext back = { e.block + (to - e.file), to, e.file + e.count - to, e.unwritten };
	int r = set_place(op, inode, place, e, front.count || !back.count ? front : back);

	if (!r)
		r = count_blocks(op, inode, -(s64)(to - from));
	if (!r && front.count && back.count) {
		r = count_blocks(op, inode, -(s64)back.count);	/* which adding adds again */
		if (!r)
			r = scmfs_ext_add(op, inode, back);
	}
	return r;
}

/* Take [@file, @end) out of the extent @e of a place. */
static int cut_place(struct scmfs_op *op, struct scmfs_inode *inode, struct scmfs_extent *place,
		     struct scmfs_ext e, u64 file, u64 end)
{
	u64 from = max(file, e.file), to = min(end, e.file + e.count);

	op->drop[op->nr_drops++] = (struct scmfs_run){ e.block + (from - e.file), to - from };
	return open_place(op, inode, place, e, from, to);
}

/* The next place that has some of [@file, @end), as this transaction will leave it. */
static struct scmfs_extent *next_overlap(struct scmfs_op *op, struct scmfs_inode *inode,
					 struct scmfs_slots *s, u64 file, u64 end,
					 struct scmfs_ext *e)
{
	struct scmfs_index *x = scmfs_index_get(op->fs, inode);
	struct scmfs_extent *place;

	if (x) {
		place = scmfs_index_from(x, file, e);
		if (!place || e->file >= end)
			return NULL;
		s->error = scmfs_may_touch(op->fs, place, sizeof(*place)) ? 0 : -EIO;
		if (s->error)
			return NULL;
		*e = scmfs_ext_of(ek_undo_get(&op->tx, &place->block),
				  scmfs_second(e->file, e->count));
		return place;
	}
	while ((place = scmfs_slots_next(s))) {
		*e = scmfs_ext_of(ek_undo_get(&op->tx, &place->block),
				  ek_undo_get(&op->tx, &place->second));
		if (e->count && e->file < end && e->file + e->count > file)
			return place;
	}
	return NULL;
}

/*
 * Take file blocks [@file, @file + @count) out of a file and drop them. -EAGAIN: one operation is
 * not enough; what was done so far can be committed, and the rest taken out by another one.
 */
int scmfs_ext_remove(struct scmfs_op *op, struct scmfs_inode *inode, u64 file, u64 count)
{
	struct scmfs_extent *place;
	struct scmfs_slots s;
	struct scmfs_ext e;
	int r;

	if (!count)
		return 0;
	scmfs_slots(op->fs, inode, &s);
	while ((place = next_overlap(op, inode, &s, file, file + count, &e))) {
		if (checked(op->fs, inode, &e))
			return -EUCLEAN;
		if (op->nr_drops == MAX_DROPS)
			return -EAGAIN;
		r = cut_place(op, inode, place, e, file, file + count);
		if (r)
			return r;
	}
	return s.error;
}

/* Is there an extent that @ext would become one with, in this transaction? */
static bool has_neighbour(struct scmfs_op *op, struct scmfs_inode *inode,
			  const struct scmfs_ext *ext)
{
	const u64 at[] = { ext->file ? ext->file - 1 : 0, ext->file + ext->count };
	struct neighbours n = { 0 };
	struct scmfs_extent *place;
	struct scmfs_slots s;
	struct scmfs_ext e;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		scmfs_slots(op->fs, inode, &s);
		place = next_overlap(op, inode, &s, at[i], at[i] + 1, &e);
		if (place)
			note_neighbour(&n, place, &e, ext);
	}
	return n.former || n.latter;
}

/*
 * [@from, @to) of the extent @e of a place becomes written, or unwritten. All of it needs no other
 * place: it joins the extents beside it, or changes where it is.
 */
static int mark_place(struct scmfs_op *op, struct scmfs_inode *inode, struct scmfs_extent *place,
		      struct scmfs_ext e, u64 from, u64 to)
{
	struct scmfs_ext now = { e.block + (from - e.file), from, to - from, !e.unwritten };
	int r;

	if (now.count == e.count && !has_neighbour(op, inode, &now))
		return set_place(op, inode, place, e, now);
	r = open_place(op, inode, place, e, from, to);
	return r ? r : scmfs_ext_add(op, inode, now);
}

/*
 * What a file has of [@file, @file + @count) becomes written, or unwritten. -EAGAIN: as with
 * scmfs_ext_remove().
 */
int scmfs_ext_mark(struct scmfs_op *op, struct scmfs_inode *inode, u64 file, u64 count,
		   bool unwritten)
{
	struct scmfs_extent *place;
	u64 end = file + count;
	struct scmfs_slots s;
	struct scmfs_ext e;
	u32 marks = 0;
	int r;

	scmfs_slots(op->fs, inode, &s);
	while (file < end && (place = next_overlap(op, inode, &s, file, end, &e))) {
		if (checked(op->fs, inode, &e))
			return -EUCLEAN;
		if (e.unwritten != unwritten) {
			if (marks++ == MAX_MARKS)
				return -EAGAIN;
			r = mark_place(op, inode, place, e, max(file, e.file),
				       min(end, e.file + e.count));
			if (r)
				return r;
		}
		if (scmfs_index_get(op->fs, inode))	/* in order */
			file = e.file + e.count;
	}
	return s.error;
}

/* The block that follows one in a chain; 0: none, or nobody can say. */
u64 scmfs_next_map(const struct scmfs *fs, u64 block)
{
	if (!scmfs_all_good(fs, block, 1))
		return 0;
	return scmfs_read(&((struct scmfs_map *)scmfs_block(fs, block))->next);
}

/* A chain of @nr at most; nothing refers to it any more. */
void scmfs_free_maps(struct scmfs *fs, u64 block, u64 nr)
{
	u64 next;

	for (; nr && scmfs_run_ok(fs, block, 1); block = next, nr--) {
		next = scmfs_next_map(fs, block);
		scmfs_free(fs, block, 1);
	}
}

/*
 * All blocks that an inode refers to, those of extents, too.  One with places of extents comes when
 * they have been read: whom @fn gives it to may write it at once.
 */
int scmfs_each_run(const struct scmfs *fs, struct scmfs_inode *inode,
		   int (*fn)(struct scmfs *fs, u64 block, u64 count))
{
	struct scmfs_extent *place;
	u64 next, map = 0;
	struct scmfs_slots s;
	struct scmfs_ext e;
	int r;

	scmfs_slots(fs, inode, &s);
	for (;;) {
		next = s.left ? 0 : s.map;
		place = scmfs_slots_next(&s);
		if (s.error)
			return s.error;
		if (map && (next || !place)) {
			r = fn((struct scmfs *)fs, map, 1);
			if (r)
				return r;
		}
		if (!place)
			return scmfs_xattr_each(fs, inode, fn);
		if (next) {
			map = next;
			cond_resched();
		}
		e = scmfs_ext_of(scmfs_read(&place->block), scmfs_read(&place->second));
		if (!e.count)
			continue;
		r = checked(fs, inode, &e);
		if (!r)
			r = fn((struct scmfs *)fs, e.block, e.count);
		if (r)
			return r;
	}
}
