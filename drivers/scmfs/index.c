// SPDX-License-Identifier: GPL-2.0-only
/*
 * Indexes of files in many extents. On the media those are in no order, so that adding one changes
 * one word; here, in RAM, they are sorted: leaves with sorted entries, and a sorted array of
 * leaves. Made when such a file is first looked at, and forgotten with the inode. It is never
 * needed: without memory, or where the extents are damaged, the places are searched one after the
 * other.
 *
 * Who changes extents changes the index in the same operation, under the exclusive lock of the
 * file; if that fails, the index is forgotten. So it says what is on the media whenever no
 * operation is under way.
 *
 * Memory for it is asked for within operations and under index_lock: reclaim must not evict inodes
 * then, which takes the same locks.
 */
#include <linux/sort.h>
#include "engine_internal.h"

#define LEAF_EXTENTS	126u	/* 2 KiB */
#define FILL_AT_ONCE	16u	/* blocks of extents */

struct entry {
	struct scmfs_extent *place;
	u32 file;
	u32 count;
};

struct leaf {
	u64 nr;		/* never 0 */
	struct entry entry[LEAF_EXTENTS];
};

/**
 * struct scmfs_index - of one file
 * @ino: its number
 * @next: in the bucket
 * @leaf: in order
 * @nr_leaves: how many
 * @room: for how many
 * @free: places without an extent, or which the operation under way empties
 * @nr_free: how many
 * @free_room: for how many
 */
struct scmfs_index {
	u64 ino;
	struct scmfs_index *next;
	struct leaf **leaf;
	u64 nr_leaves;
	u64 room;
	struct scmfs_extent **free;
	u64 nr_free;
	u64 free_room;
};

/**
 * struct filling - what an index is made from
 * @map: blocks of extents: the first place, and the block of the file that its extent begins at
 * @nr: how many
 * @room: for how many
 * @part: extents of one block
 */
struct filling {
	struct entry *map;
	u64 nr;
	u64 room;
	struct entry part[SCMFS_MAP_EXTENTS];
};

struct pos {
	u64 leaf;
	u64 at;
};

static struct entry *entry_at(const struct scmfs_index *x, struct pos p)
{
	return &x->leaf[p.leaf]->entry[p.at];
}

static void free_index(struct scmfs_index *x)
{
	u64 i;

	if (!x)
		return;
	for (i = 0; i < x->nr_leaves; i++)
		kfree(x->leaf[i]);
	kvfree(x->leaf);
	kvfree(x->free);
	kfree(x);
}

/* One more of @size bytes will fit in an array. */
static int make_room(void *array, u64 nr, u64 *room, size_t size)
{
	void *old = *(void **)array, *more;
	u64 want = max(*room * 2, (u64)64);

	if (nr < *room)
		return 0;
	/* the kernel warns of who asks for more than that */
	more = want <= INT_MAX / size ? kvmalloc_array(want, size, GFP_NOIO) : NULL;
	if (!more)
		return -ENOMEM;
	if (nr)
		memcpy(more, old, nr * size);
	kvfree(old);
	*(void **)array = more;
	*room = want;
	return 0;
}

/* ---- finding -------------------------------------------------------------------------------- */

/* The last entry that begins at @file or before; false: there is none. */
static bool seek(const struct scmfs_index *x, u64 file, struct pos *p)
{
	u64 low = 0, high = x->nr_leaves, mid;
	const struct leaf *leaf;

	while (low < high) {
		mid = (low + high) / 2;
		if (x->leaf[mid]->entry[0].file <= file)
			low = mid + 1;
		else
			high = mid;
	}
	*p = (struct pos){ 0, 0 };
	if (!low)
		return false;
	p->leaf = low - 1;
	leaf = x->leaf[p->leaf];
	for (low = 1, high = leaf->nr; low < high;) {
		mid = (low + high) / 2;
		if (leaf->entry[mid].file <= file)
			low = mid + 1;
		else
			high = mid;
	}
	p->at = low - 1;
	return true;
}

static bool step(const struct scmfs_index *x, struct pos *p)
{
	if (++p->at < x->leaf[p->leaf]->nr)
		return true;
	p->at = 0;
	return ++p->leaf < x->nr_leaves;
}

/* The first entry that ends behind @file. */
static bool seek_end(const struct scmfs_index *x, u64 file, struct pos *p)
{
	if (!seek(x, file, p))
		return x->nr_leaves;
	return (u64)entry_at(x, *p)->file + entry_at(x, *p)->count > file || step(x, p);
}

/*
 * The extent that ends behind file block @file, the first one if there are several; NULL: none. It
 * may begin behind it, too. Its block is not filled.
 */
struct scmfs_extent *scmfs_index_from(const struct scmfs_index *x, u64 file, struct scmfs_ext *e)
{
	const struct entry *entry;
	struct pos p;

	if (!seek_end(x, file, &p))
		return NULL;
	entry = entry_at(x, p);
	*e = (struct scmfs_ext){ 0, entry->file, entry->count, false };
	return entry->place;
}

/* Blocks up to the end of the last extent. */
u64 scmfs_index_end(const struct scmfs_index *x)
{
	const struct leaf *last;

	if (!x->nr_leaves)
		return 0;
	last = x->leaf[x->nr_leaves - 1];
	return (u64)last->entry[last->nr - 1].file + last->entry[last->nr - 1].count;
}

/* A place that an extent can be put in now: not one that is emptied only by a commit, or bad. */
struct scmfs_extent *scmfs_index_free_place(const struct scmfs *fs, struct scmfs_index *x)
{
	struct scmfs_extent *place;
	u64 i;

	for (i = x->nr_free; i--;) {
		place = x->free[i];
		if (!scmfs_may_touch(fs, place, sizeof(*place)) ||
		    scmfs_read(&place->second) >> 32)
			continue;
		x->free[i] = x->free[--x->nr_free];
		return place;
	}
	return NULL;
}

/* ---- changing ------------------------------------------------------------------------------- */

static int insert_leaf(struct scmfs_index *x, u64 at, struct leaf *leaf)
{
	int r = make_room(&x->leaf, x->nr_leaves, &x->room, sizeof(*x->leaf));

	if (r)
		return r;
	memmove(x->leaf + at + 1, x->leaf + at, (x->nr_leaves - at) * sizeof(*x->leaf));
	x->leaf[at] = leaf;
	x->nr_leaves++;
	return 0;
}

/* Behind a full leaf half of it; all of it stays in place when what is to come goes behind it. */
static int split(struct scmfs_index *x, struct pos *p)
{
	struct leaf *full = x->leaf[p->leaf], *leaf = kmalloc(sizeof(*leaf), GFP_NOIO);
	u64 keep = p->at == full->nr ? full->nr : full->nr / 2;

	if (!leaf)
		return -ENOMEM;
	if (insert_leaf(x, p->leaf + 1, leaf)) {
		kfree(leaf);
		return -ENOMEM;
	}
	leaf->nr = full->nr - keep;
	memcpy(leaf->entry, full->entry + keep, leaf->nr * sizeof(*leaf->entry));
	full->nr = keep;
	if (p->at >= keep) {
		p->leaf++;
		p->at -= keep;
	}
	return 0;
}

static int first_leaf(struct scmfs_index *x)
{
	struct leaf *leaf = kmalloc(sizeof(*leaf), GFP_NOIO);

	if (!leaf)
		return -ENOMEM;
	leaf->nr = 0;
	if (!insert_leaf(x, 0, leaf))
		return 0;
	kfree(leaf);
	return -ENOMEM;
}

/* -EUCLEAN: it overlaps another one. */
int scmfs_index_insert(struct scmfs_index *x, struct scmfs_extent *place, u64 file, u64 count)
{
	struct entry *entry;
	struct leaf *leaf;
	struct pos p;
	int r = 0;

	if (seek_end(x, file, &p) && entry_at(x, p)->file < file + count)
		return -EUCLEAN;
	if (!x->nr_leaves)
		r = first_leaf(x);
	else if (seek(x, file, &p))
		p.at++;
	if (!r && x->leaf[p.leaf]->nr == LEAF_EXTENTS)
		r = split(x, &p);
	if (r)
		return r;
	leaf = x->leaf[p.leaf];
	entry = leaf->entry + p.at;
	memmove(entry + 1, entry, (leaf->nr++ - p.at) * sizeof(*entry));
	*entry = (struct entry){ place, file, count };
	return 0;
}

static int remove_entry(struct scmfs_index *x, struct pos p)
{
	struct leaf *leaf = x->leaf[p.leaf];
	struct entry *entry = leaf->entry + p.at;
	int r = make_room(&x->free, x->nr_free, &x->free_room, sizeof(*x->free));

	if (r)
		return r;
	x->free[x->nr_free++] = entry->place;
	memmove(entry, entry + 1, (--leaf->nr - p.at) * sizeof(*entry));
	if (leaf->nr)
		return 0;
	kfree(leaf);
	x->nr_leaves--;
	memmove(x->leaf + p.leaf, x->leaf + p.leaf + 1, (x->nr_leaves - p.leaf) * sizeof(*x->leaf));
	return 0;
}

/* The extent that began at @old has other bounds, up to its neighbours at most; or none. */
int scmfs_index_change(struct scmfs_index *x, u64 old, u64 file, u64 count)
{
	struct pos p;

	if (!seek(x, old, &p) || entry_at(x, p)->file != old)
		return -EUCLEAN;
	if (!count)
		return remove_entry(x, p);
	entry_at(x, p)->file = file;
	entry_at(x, p)->count = count;
	return 0;
}

int scmfs_index_add_free(struct scmfs_index *x, struct scmfs_extent *place, u32 nr)
{
	int r = 0;

	for (; !r && nr; nr--, place++) {
		r = make_room(&x->free, x->nr_free, &x->free_room, sizeof(*x->free));
		if (!r)
			x->free[x->nr_free++] = place;
	}
	return r;
}

/* ---- which there are ------------------------------------------------------------------------ */

static struct scmfs_index_bucket *bucket_of(struct scmfs *fs, u64 ino)
{
	return &fs->index[ino % INDEX_BUCKETS];
}

/* The index of a file that somebody has locked, or NULL. */
struct scmfs_index *scmfs_index_get(const struct scmfs *fs, const struct scmfs_inode *inode)
{
	u64 ino = inode - scmfs_inode(fs, 0);
	struct scmfs_index_bucket *b = bucket_of((struct scmfs *)fs, ino);
	struct scmfs_index *x;

	if (!scmfs_read(&inode->map))
		return NULL;
	spin_lock(&b->lock);
	for (x = b->first; x && x->ino != ino; x = x->next)
		;
	spin_unlock(&b->lock);
	return x;
}

static int by_file(const void *a, const void *b)
{
	const struct entry *one = a, *other = b;

	return one->file < other->file ? -1 : one->file > other->file;
}

/* Extents of @nr places, and the places that are free. */
static int add_places(const struct scmfs *fs, struct scmfs_inode *inode, struct scmfs_index *x,
		      struct filling *f, struct scmfs_extent *place, u32 nr)
{
	u32 i, extents = 0;
	int r = 0;

	for (; !r && nr; nr--, place++) {
		struct scmfs_ext e = scmfs_ext_of(scmfs_read(&place->block),
						  scmfs_read(&place->second));

		if (!e.count)
			r = scmfs_index_add_free(x, place, 1);
		else if (!scmfs_ext_ok(fs, inode, &e))
			r = -EUCLEAN;
		else
			f->part[extents++] = (struct entry){ place, e.file, e.count };
	}
	sort(f->part, extents, sizeof(*f->part), by_file, NULL);
	for (i = 0; !r && i < extents; i++)
		r = scmfs_index_insert(x, f->part[i].place, f->part[i].file, f->part[i].count);
	return r;
}

static u32 first_file(const struct scmfs_extent *place)
{
	struct scmfs_ext e;
	u32 i;

	for (i = 0; i < SCMFS_MAP_EXTENTS; i++) {
		e = scmfs_ext_of(0, scmfs_read(&place[i].second));
		if (e.count)
			return e.file;
	}
	return 0;
}

/* All blocks of a chain, before the first of which @s is. */
static int collect_maps(struct scmfs_slots *s, struct filling *f)
{
	struct scmfs_extent *place;
	int r = 0;

	while (!r && (place = scmfs_slots_next(s))) {
		s->left = 0;
		r = make_room(&f->map, f->nr, &f->room, sizeof(*f->map));
		if (!r)
			f->map[f->nr++] = (struct entry){ place, first_file(place), 0 };
		if (f->nr % FILL_AT_ONCE == 0)
			cond_resched();
	}
	return r ? r : s->error;
}

static int fill_from(const struct scmfs *fs, struct scmfs_inode *inode, struct scmfs_index *x,
		     struct filling *f)
{
	struct scmfs_slots own, chain;
	u64 i;
	int r;

	scmfs_slots(fs, inode, &own);
	chain = own;
	chain.left = 0;
	r = collect_maps(&chain, f);
	if (!r)
		sort(f->map, f->nr, sizeof(*f->map), by_file, NULL);
	for (i = 0; !r && i < f->nr; i++) {
		r = add_places(fs, inode, x, f, f->map[i].place, SCMFS_MAP_EXTENTS);
		if (i % FILL_AT_ONCE == 0)
			cond_resched();
	}
	return r ? r : add_places(fs, inode, x, f, own.place, own.left);
}

/*
 * A file that was written upwards has its last extents in the first block of the chain, one that
 * was written downwards in the last one, and each block's are in any order. In that of the file
 * what comes goes behind what is there, and nothing has to be moved but for the inode's own, which
 * are few. Where blocks have extents from all over the file leaves are, still.
 */
static int fill_index(const struct scmfs *fs, struct scmfs_inode *inode, struct scmfs_index *x)
{
	struct filling *f = kmalloc(sizeof(*f), GFP_NOIO);
	int r;

	if (!f)
		return -ENOMEM;
	f->map = NULL;
	f->nr = 0;
	f->room = 0;
	r = fill_from(fs, inode, x, f);
	kvfree(f->map);
	kfree(f);
	return r;
}

static void make(struct scmfs *fs, struct scmfs_inode *inode)
{
	struct scmfs_index *x = kzalloc(sizeof(*x), GFP_NOIO);
	struct scmfs_index_bucket *b;

	if (!x)
		return;
	x->ino = inode - scmfs_inode(fs, 0);
	if (fill_index(fs, inode, x)) {
		free_index(x);
		return;
	}
	b = bucket_of(fs, x->ino);
	spin_lock(&b->lock);
	x->next = b->first;
	b->first = x;
	spin_unlock(&b->lock);
}

/*
 * Before a file is looked at or changed, and outside of operations: there is an index if it is
 * worth one and can be had.
 */
void scmfs_index_make(struct scmfs *fs, struct scmfs_inode *inode)
{
	struct mutex *lock = &fs->index_lock[(inode - scmfs_inode(fs, 0)) % INODE_LOCKS];

	if (!scmfs_read(&inode->map) || scmfs_index_get(fs, inode))
		return;
	mutex_lock(lock);
	if (!scmfs_index_get(fs, inode))
		make(fs, inode);
	mutex_unlock(lock);
}

void scmfs_forget(struct scmfs *fs, u64 ino)
{
	struct scmfs_index_bucket *b = bucket_of(fs, ino);
	struct scmfs_index **at, *x;

	if (!READ_ONCE(b->first))
		return;
	spin_lock(&b->lock);
	for (at = &b->first; *at && (*at)->ino != ino; at = &(*at)->next)
		;
	x = *at;
	if (x)
		*at = x->next;
	spin_unlock(&b->lock);
	free_index(x);
}

void scmfs_index_init(struct scmfs *fs)
{
	u32 i;

	for (i = 0; i < INDEX_BUCKETS; i++)
		spin_lock_init(&fs->index[i].lock);
}

void scmfs_index_exit(struct scmfs *fs)
{
	struct scmfs_index *x;
	u32 i;

	for (i = 0; i < INDEX_BUCKETS; i++)
		while ((x = fs->index[i].first)) {
			fs->index[i].first = x->next;
			free_index(x);
		}
}
