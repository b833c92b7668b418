// SPDX-License-Identifier: GPL-2.0-only
/*
 * Directories. On the media only names in slots; in RAM, from the first use on, where the blocks
 * are, which slots are taken, and a hash table from names to slots (open addressing, linear
 * probing, at most 2/3 full).
 *
 * The hash that a name has on the media has no key: whoever knows that could make as many names
 * with the same one as they like, and looking for any would go past them all. The table goes by
 * another one.
 */
#include "engine_internal.h"

#define MAX_BLOCKS	33554432u	/* slots are counted in 32 bits */
#define GROW_BLOCKS	64u		/* at most at a time */
#define TAKEN_BACK	0xffffffffu	/* in the table, instead of slot + 1 */
#define NO_BLOCK	(~0ULL)
#define SMALL_TABLE	32u
#define LARGE_TABLE	BIT(27)		/* kvcalloc() gives no more than INT_MAX bytes, and warns */
#define SPARSE		6u		/* of less than one name in so many becomes smaller */
#define AT_ONCE		4096u		/* slots that are looked at */

struct scmfs_dir_block {
	u64 block;
	u64 used;	/* bit per slot */
	u64 start;	/* of them those where a name begins */
};

/**
 * struct scmfs_dir - a directory's index
 * @block: its blocks
 * @nr_blocks: how many
 * @room: for how many
 * @table: key << 32 | slot + 1, TAKEN_BACK or 0
 * @mask: entries of @table - 1
 * @filled: entries that are not 0
 * @count: names
 * @used_slots: by them
 * @hint: where free slots are looked for
 * @bad: when it was asked whether one of its blocks is bad memory, by the file system's count of
 *	what became bad, and in the last bit the answer: one word, as others ask at that moment
 */
struct scmfs_dir {
	struct scmfs_dir_block *block;
	u64 nr_blocks;
	u64 room;
	u64 *table;
	u64 mask;
	u64 filled;
	u64 count;
	u64 used_slots;
	u64 hint;
	u64 bad;
};

u32 scmfs_name_hash(const char *name, u32 len)
{
	u64 h = len, word;

	for (; len >= 8; len -= 8, name += 8) {
		memcpy(&word, name, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, name, len);
	h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
	return h >> 32 ^ h >> 16;
}

static u32 key_of(const struct scmfs *fs, const void *name, u32 len)
{
	return hsiphash(name, len, &fs->name_key);
}

u64 scmfs_head(u64 ino, u32 mode, u64 slots)
{
	return ino | (u64)(mode >> 12 & 15) << 48 | slots << 56;
}

static u64 slots_for(u32 len)
{
	return DIV_ROUND_UP(SCMFS_SLOT_NAME + len, SCMFS_SLOT_SIZE);
}

static struct scmfs_dirent *dirent_at(const struct scmfs *fs, const struct scmfs_dir *dir, u64 slot)
{
	u64 block = dir->block[slot / SCMFS_SLOTS_PER_BLOCK].block;

	return (struct scmfs_dirent *)scmfs_block(fs, block) + slot % SCMFS_SLOTS_PER_BLOCK;
}

/* Is one of its blocks bad memory? The n-th, or any of them. */
static bool block_is_bad(const struct scmfs *fs, const struct scmfs_dir *dir, u64 n)
{
	return !scmfs_all_good(fs, dir->block[n].block, 1);
}

/*
 * Looked at once, beside others who do, each time that some memory became bad: blocks that it gets
 * later are good.
 */
static bool has_bad(const struct scmfs *fs, struct scmfs_dir *dir)
{
	u64 seen = atomic64_read(&fs->bad_seen), asked = READ_ONCE(dir->bad), i;
	bool bad = false;

	if (likely(!seen))
		return false;
	if (asked >> 1 == seen)
		return asked & 1;
	smp_rmb();	/* what was counted is in the bits: pairs with scmfs_set_bad() */
	for (i = 0; !bad && i < dir->nr_blocks; i++)
		bad = block_is_bad(fs, dir, i);
	WRITE_ONCE(dir->bad, seen << 1 | bad);
	return bad;
}

static u64 slot_bits(u64 slot, u64 slots)
{
	return ((1ULL << slots) - 1) << slot % SCMFS_SLOTS_PER_BLOCK;
}

/* 0; -ENOTEMPTY; -EIO: there may be names that nobody can read. */
int scmfs_dir_is_empty(const struct scmfs *fs, struct scmfs_dir *dir)
{
	if (dir->count)
		return -ENOTEMPTY;
	return has_bad(fs, dir) ? -EIO : 0;
}

static void free_dir(struct scmfs_dir *dir)
{
	if (dir) {
		kvfree(dir->block);
		kvfree(dir->table);
	}
	kfree(dir);
}

void scmfs_node_clear(struct scmfs_node *node)
{
	free_dir(node->dir);
	node->dir = NULL;
}

/* ---- the table ------------------------------------------------------------------------------ */

static bool in_use(u64 entry)
{
	return entry && (u32)entry != TAKEN_BACK;
}

/*
 * Of a name that isn't there. In the first place that one was taken back from, or else a name that
 * comes and goes, as that of a lock file, leaves one more each time that it has to be looked for
 * behind. Return: it was never used.
 */
static bool table_put(u64 *table, u64 mask, u64 entry)
{
	u64 i = entry >> 32;
	bool fresh;

	while (in_use(table[i & mask]))
		i++;
	fresh = !table[i & mask];
	table[i & mask] = entry;
	return fresh;
}

static int resize_table(struct scmfs_dir *dir, gfp_t gfp)
{
	u64 i, size = SMALL_TABLE, *table;

	static_assert(LARGE_TABLE * sizeof(*table) <= INT_MAX, "entries of the largest table");
	while (size < dir->count * 3 && size < LARGE_TABLE)
		size *= 2;
	if ((dir->count + 1) * 3 > size * 2)
		return -E2BIG;
	table = kvcalloc(size, sizeof(*table), gfp);
	if (!table)
		return -ENOMEM;
	for (i = 0; dir->table && i <= dir->mask; i++) {
		if (in_use(dir->table[i]))
			table_put(table, size - 1, dir->table[i]);
		if (!(i % AT_ONCE))
			cond_resched();
	}
	kvfree(dir->table);
	dir->table = table;
	dir->mask = size - 1;
	dir->filled = dir->count;
	return 0;
}

/* Room for one more name. */
int scmfs_dir_room(struct scmfs_dir *dir)
{
	if (dir->table && (dir->filled + 1) * 3 <= (dir->mask + 1) * 2)
		return 0;
	return resize_table(dir, GFP_NOIO);
}

/* There is room. */
static void index_add(struct scmfs_dir *dir, u32 key, u64 slot, u64 slots)
{
	dir->filled += table_put(dir->table, dir->mask, (u64)key << 32 | (u32)(slot + 1));
	dir->count++;
	dir->used_slots += slots;
	dir->block[slot / SCMFS_SLOTS_PER_BLOCK].used |= slot_bits(slot, slots);
	dir->block[slot / SCMFS_SLOTS_PER_BLOCK].start |= slot_bits(slot, 1);
}

void scmfs_dir_added(struct scmfs_dir *dir, const struct scmfs_name *n)
{
	index_add(dir, n->key, n->slot, SCMFS_HEAD_SLOTS(n->head));
}

/* Where there is no memory for a smaller table the large one stays: it is not waited for. */
static void shrink_table(struct scmfs_dir *dir)
{
	if (dir->mask > SMALL_TABLE && dir->count * SPARSE <= dir->mask)
		resize_table(dir, GFP_NOIO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
}

void scmfs_dir_removed(struct scmfs_dir *dir, const struct scmfs_name *n)
{
	struct scmfs_dir_block *block = &dir->block[n->slot / SCMFS_SLOTS_PER_BLOCK];
	u64 i = n->key, entry = (u64)n->key << 32 | (u32)(n->slot + 1);

	while (dir->table[i & dir->mask] != entry)
		i++;
	dir->table[i & dir->mask] = TAKEN_BACK;
	dir->count--;
	dir->used_slots -= SCMFS_HEAD_SLOTS(n->head);
	block->used &= ~slot_bits(n->slot, SCMFS_HEAD_SLOTS(n->head));
	block->start &= ~slot_bits(n->slot, 1);
	shrink_table(dir);
}

int scmfs_name_init(const struct scmfs *fs, struct scmfs_name *n, const char *name, u32 len)
{
	if (!len)
		return -EINVAL;
	if (len > SCMFS_NAME_MAX)
		return -ENAMETOOLONG;
	*n = (struct scmfs_name){ .name = name, .len = len, .key = key_of(fs, name, len) };
	return 0;
}

/*
 * Can a name of @len bytes begin at @slot with this head? What was so when the index was made may
 * be so no more, see scmfs_ext_ok().
 */
static bool head_ok(const struct scmfs *fs, u64 head, u64 slot, u32 len)
{
	u64 slots = SCMFS_HEAD_SLOTS(head), ino = SCMFS_HEAD_INO(head);

	return ino && ino < fs->nr_inodes && len && slots == slots_for(len) &&
		slot % SCMFS_SLOTS_PER_BLOCK + slots <= SCMFS_SLOTS_PER_BLOCK;
}

/*
 * Fills what is known once it was found. -EIO: it may be one that nobody can read; that it isn't
 * there can't be said, either.
 */
int scmfs_dir_find(const struct scmfs *fs, struct scmfs_dir *dir, struct scmfs_name *n)
{
	u64 i, entry;

	for (i = n->key; dir->table && (entry = dir->table[i & dir->mask]); i++) {
		struct scmfs_dirent *ent;

		if (entry >> 32 != n->key || !in_use(entry))
			continue;
		if (block_is_bad(fs, dir, ((u32)entry - 1) / SCMFS_SLOTS_PER_BLOCK))
			return -EIO;
		ent = dirent_at(fs, dir, (u32)entry - 1);
		if (ent->len != n->len || memcmp(ent->name, n->name, n->len))
			continue;
		n->slot = (u32)entry - 1;
		n->ent = ent;
		n->head = scmfs_read(&ent->head);
		return head_ok(fs, n->head, n->slot, n->len) ? 0 : scmfs_damaged(fs);
	}
	return has_bad(fs, dir) ? -EIO : -ENOENT;
}

/* ---- reading a directory -------------------------------------------------------------------- */

/*
 * Also called within an operation: reclaim must not evict inodes meanwhile, which begins another
 * one and waits for the locks of this one.
 */
static int add_block(struct scmfs_dir *dir, u64 block)
{
	if (dir->nr_blocks == dir->room) {
		u64 room = dir->room * 2 + 4;
		struct scmfs_dir_block *more = kvmalloc_array(room, sizeof(*more), GFP_NOIO);

		if (!more)
			return -ENOMEM;
		if (dir->nr_blocks)
			memcpy(more, dir->block, dir->nr_blocks * sizeof(*more));
		kvfree(dir->block);
		dir->block = more;
		dir->room = room;
	}
	dir->block[dir->nr_blocks++] = (struct scmfs_dir_block){ .block = block };
	return 0;
}

static int read_blocks(const struct scmfs *fs, struct scmfs_inode *inode, struct scmfs_dir *dir)
{
	u64 nr = scmfs_read(&inode->size) / SCMFS_BLOCK_SIZE;
	struct scmfs_ext e = { 0 };
	int r;

	if (nr > MAX_BLOCKS || nr > fs->nr_blocks || scmfs_read(&inode->size) % SCMFS_BLOCK_SIZE)
		return scmfs_damaged(fs);
	while (dir->nr_blocks < nr) {
		if (!e.count) {
			r = scmfs_ext_at(fs, inode, dir->nr_blocks, &e);
			if (r || !e.block)
				return r ? r : scmfs_damaged(fs);
		}
		r = add_block(dir, e.block);
		if (r)
			return r;
		e.block++;
		e.count--;
	}
	return 0;
}

/* Is the name at this slot one that there can be? */
static bool ent_ok(const struct scmfs *fs, const struct scmfs_dirent *ent, u64 head, u64 slot)
{
	u32 len = READ_ONCE(ent->len);

	return head_ok(fs, head, slot, len) &&
		le32_to_cpu(ent->hash) == scmfs_name_hash((const char *)ent->name, len);
}

/* Nothing is known of a bad block, and nothing put there. Return: the slot behind it. */
static u64 skip_bad(struct scmfs_dir *dir, u64 slot)
{
	dir->block[slot / SCMFS_SLOTS_PER_BLOCK].used = ~0ULL;
	dir->used_slots += SCMFS_SLOTS_PER_BLOCK;
	return slot + SCMFS_SLOTS_PER_BLOCK;
}

static int read_names(const struct scmfs *fs, struct scmfs_dir *dir)
{
	u64 slot, head, look = AT_ONCE;
	int r;

	for (slot = 0; slot < dir->nr_blocks * SCMFS_SLOTS_PER_BLOCK;) {
		struct scmfs_dirent *ent = dirent_at(fs, dir, slot);

		if (slot >= look) {
			cond_resched();
			look += AT_ONCE;
		}
		if (!(slot % SCMFS_SLOTS_PER_BLOCK) &&
		    block_is_bad(fs, dir, slot / SCMFS_SLOTS_PER_BLOCK)) {
			slot = skip_bad(dir, slot);
			continue;
		}
		head = scmfs_read(&ent->head);
		if (!head) {
			slot++;
			continue;
		}
		if (!ent_ok(fs, ent, head, slot))
			return scmfs_damaged(fs);
		r = scmfs_dir_room(dir);
		if (r)
			return r;
		index_add(dir, key_of(fs, ent->name, READ_ONCE(ent->len)), slot,
			  SCMFS_HEAD_SLOTS(head));
		slot += SCMFS_HEAD_SLOTS(head);
	}
	return 0;
}

static int make_index(struct scmfs *fs, struct scmfs_node *node)
{
	struct scmfs_inode *inode;
	struct scmfs_dir *dir;
	int r = scmfs_live(fs, node->ino, &inode);

	if (r)
		return r;
	if (!scmfs_is_dir(scmfs_read(&inode->mode_links)))
		return -ENOTDIR;
	dir = kzalloc(sizeof(*dir), GFP_NOIO);
	if (!dir)
		return -ENOMEM;
	r = read_blocks(fs, inode, dir);
	if (!r)
		r = read_names(fs, dir);
	if (r) {
		free_dir(dir);
		return r;
	}
	/* pairs with the acquire in scmfs_dir_get(): what it points to was filled before */
	smp_store_release(&node->dir, dir);
	return 0;
}

/* A directory's index, made if it is not there; beside others who look names up. */
int scmfs_dir_get(struct scmfs *fs, struct scmfs_node *node, struct scmfs_dir **dir)
{
	struct mutex *lock = &fs->index_lock[node->ino % INODE_LOCKS];
	int r = 0;

	/* pairs with the release in make_index() */
	*dir = smp_load_acquire(&node->dir);
	if (*dir)
		return 0;
	mutex_lock(lock);
	if (!node->dir)
		r = make_index(fs, node);
	mutex_unlock(lock);
	*dir = node->dir;
	return r;
}

int scmfs_lookup(struct scmfs *fs, struct scmfs_node *node, const char *name, u32 len, u64 *ino)
{
	struct scmfs_dir *dir;
	struct scmfs_name n;
	int r = scmfs_name_init(fs, &n, name, len);

	if (!r)
		r = scmfs_dir_get(fs, node, &dir);
	if (!r)
		r = scmfs_dir_find(fs, dir, &n);
	if (!r)
		*ino = SCMFS_HEAD_INO(n.head);
	return r;
}

int scmfs_readdir(struct scmfs *fs, struct scmfs_node *node, u64 *cookie,
		  bool (*emit)(void *ctx, const char *name, u32 len, u64 ino, u32 type, u64 cookie),
		  void *ctx)
{
	struct scmfs_dir *dir;
	u64 slot, head;
	u32 len;
	int r = scmfs_dir_get(fs, node, &dir);

	if (r)
		return r;
	for (slot = *cookie; slot < dir->nr_blocks * SCMFS_SLOTS_PER_BLOCK; slot++) {
		struct scmfs_dirent *ent = dirent_at(fs, dir, slot);

		if (!(dir->block[slot / SCMFS_SLOTS_PER_BLOCK].start & slot_bits(slot, 1)) ||
		    block_is_bad(fs, dir, slot / SCMFS_SLOTS_PER_BLOCK))
			continue;
		head = scmfs_read(&ent->head);
		len = READ_ONCE(ent->len);
		if (!head_ok(fs, head, slot, len)) {
			r = scmfs_damaged(fs);
			break;
		}
		if (!emit(ctx, (const char *)ent->name, len, SCMFS_HEAD_INO(head),
			  SCMFS_HEAD_TYPE(head), slot)) {
			*cookie = slot;
			return 0;
		}
		slot += SCMFS_HEAD_SLOTS(head) - 1;
	}
	*cookie = slot;
	/* once all that can be read has been */
	return !r && has_bad(fs, dir) ? -EIO : r;
}

/* ---- places for names ----------------------------------------------------------------------- */

/* The first of @slots free slots next to each other. */
static int free_slots(u64 used, u64 slots)
{
	u64 free = ~used;

	while (--slots)
		free &= free >> 1;
	return free ? __ffs(free) : -1;
}

static u64 find_free(const struct scmfs *fs, struct scmfs_dir *dir, u64 from, u64 slots)
{
	u64 i;
	int at;

	for (i = from; i < dir->nr_blocks; i++) {
		at = free_slots(dir->block[i].used, slots);
		if (at >= 0 && !block_is_bad(fs, dir, i)) {
			dir->hint = i;
			return i * SCMFS_SLOTS_PER_BLOCK + at;
		}
	}
	return NO_BLOCK;
}

/*
 * Behind the last one; from the start only when a quarter is free, so that a directory that is
 * emptied and filled does not grow, and one that only grows is not searched.
 */
static u64 find_place(const struct scmfs *fs, struct scmfs_dir *dir, u64 slots)
{
	u64 all = dir->nr_blocks * SCMFS_SLOTS_PER_BLOCK;
	u64 slot = find_free(fs, dir, dir->hint, slots);

	if (slot == NO_BLOCK && all - dir->used_slots >= all / 4)
		slot = find_free(fs, dir, 0, slots);
	return slot;
}

/* @got more blocks from @block on, all free slots. */
static int grow(struct scmfs_op *op, struct scmfs_node *node, u64 block, u64 got)
{
	struct scmfs_inode *inode = scmfs_inode(op->fs, node->ino);
	struct scmfs_dir *dir = node->dir;
	u64 nr = dir->nr_blocks, i;
	int r;

	scm_zero_nt(scmfs_block(op->fs, block), got << SCMFS_BLOCK_SHIFT);
	r = ek_undo_set(&op->tx, &inode->size, (nr + got) * SCMFS_BLOCK_SIZE);
	if (!r)
		r = scmfs_ext_add(op, inode, (struct scmfs_ext){ block, nr, got, false });
	for (i = 0; !r && i < got; i++)
		r = add_block(dir, block + i);
	dir->hint = nr;
	return r;
}

static int find_or_grow(struct scmfs_op *op, struct scmfs_node *node, u64 slots, u64 *slot)
{
	struct scmfs_dir *dir = node->dir;
	u64 goal = dir->nr_blocks ? dir->block[dir->nr_blocks - 1].block + 1 : 0;
	u64 want = clamp_t(u64, dir->nr_blocks / 8, 1, GROW_BLOCKS), block, got = 0;
	bool may_grow;

	*slot = find_place(op->fs, dir, slots);
	if (*slot != NO_BLOCK)
		return 0;
	may_grow = dir->nr_blocks + want <= MAX_BLOCKS;
	if (may_grow)
		got = scmfs_op_alloc(op, want, goal, &block);
	if (got) {
		*slot = dir->nr_blocks * SCMFS_SLOTS_PER_BLOCK;
		return grow(op, node, block, got);
	}
	*slot = find_free(op->fs, dir, 0, slots);
	if (*slot != NO_BLOCK)
		return 0;
	return may_grow ? -ENOSPC : -E2BIG;
}

/*
 * Store a name at free slots. Their first words are left to the transaction: whoever reads the
 * directory takes each free slot by its first word.
 */
static int store_name(struct scmfs_op *op, const struct scmfs_name *n, u64 slots)
{
	struct scmfs_dirent ent[SCMFS_MAX_SLOTS] EK_UNINITIALIZED;
	u64 i;
	int r = 0;

	memset(ent, 0, slots * SCMFS_SLOT_SIZE);
	ent->hash = cpu_to_le32(scmfs_name_hash(n->name, n->len));
	ent->len = n->len;
	memcpy((u8 *)ent + SCMFS_SLOT_NAME, n->name, n->len);
	for (i = 0; !r && i < slots; i++) {
		scm_store(&n->ent[i].hash, &ent[i].hash, SCMFS_SLOT_SIZE - sizeof(ent->head));
		scm_flush(&n->ent[i], SCMFS_SLOT_SIZE);
		if (i)
			r = ek_undo_set(&op->tx, &n->ent[i].head, le64_to_cpu(ent[i].head));
	}
	return r;
}

/*
 * A place for a name, its text stored; the transaction is to set the first head to n->head and an
 * inode. When the operation fails the index is not right any more: scmfs_node_clear().
 */
int scmfs_dir_place(struct scmfs_op *op, struct scmfs_node *node, struct scmfs_name *n)
{
	u64 slots = slots_for(n->len);
	int r = find_or_grow(op, node, slots, &n->slot);

	if (r)
		return r;
	n->ent = dirent_at(op->fs, node->dir, n->slot);
	n->head = slots << 56;
	return store_name(op, n, slots);
}

/* The first words of all its slots, so that each of them is free by itself. */
int scmfs_dir_clear(struct scmfs_op *op, const struct scmfs_name *n)
{
	u64 i;
	int r = 0;

	for (i = 0; !r && i < SCMFS_HEAD_SLOTS(n->head); i++)
		r = ek_undo_set(&op->tx, &n->ent[i].head, 0);
	return r;
}
