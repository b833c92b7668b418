/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the engine share; engine.h has the contract and the order of locks. */
#ifndef EVENKEEL_SCMFS_ENGINE_INTERNAL_H
#define EVENKEEL_SCMFS_ENGINE_INTERNAL_H

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/percpu_counter.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <evenkeel/scm.h>

#include "engine.h"

#define INODE_LOCKS	32u
#define INDEX_BUCKETS	64u
#define UNIT_LOCKS	64u
/* Runs of blocks that one operation allocates: attributes' one by one, what a creation needs. */
#define MAX_ALLOCS	(SCMFS_MAX_XATTR_BLOCKS + 8u)
#define MAX_DROPS	32u	/* and frees */

/* Not from a system header, which kernel and userspace have in different places. */
#define SCMFS_IFMT	0170000u
#define SCMFS_IFDIR	0040000u
#define SCMFS_IFREG	0100000u
#define SCMFS_IFLNK	0120000u

struct scmfs_index;

/* Each in a line of its own: CPUs that allocate are not in each other's way. */
struct scmfs_unit_lock {
	spinlock_t lock;	/* for the bits and counts of some units */
} ____cacheline_aligned_in_smp;

/**
 * struct scmfs_pool - where a CPU takes from, so that no other one has to
 * @unit: of 2 MiB, where small files are put; nr_units: none yet
 * @word: of the inode map; past its end: none yet
 */
struct scmfs_pool {
	u64 unit;
	u64 word;
} ____cacheline_aligned_in_smp;

struct scmfs_index_bucket {
	spinlock_t lock;		/* for the list */
	struct scmfs_index *first;
};

/**
 * struct scmfs - an open file system
 * @base: the region
 * @super: as it was checked: replaying a log may change the one in the region
 * @state: in it
 * @name_key: of directories' tables: nobody knows it who makes names
 * @log: undo log
 * @read_only: stores nothing
 * @log_known: @log was used, or opened to be: it knows what it has not retired
 * @block_map: bit per block: used. With @unit_free and @wear under the lock of the block's unit;
 *	all of them are read without it, too
 * @nr_blocks: of the region
 * @first_data: first block that is not metadata
 * @nr_units: of 2 MiB, the last one may be shorter
 * @nr_inodes: numbers end below it
 * @unit_free: free blocks of each 2 MiB
 * @wear: blocks allocated in each 2 MiB so far
 * @unit_lock: of each 2 MiB, hashed
 * @free_blocks: all of @unit_free
 * @marked: blocks that recovery has found so far
 * @pool: of the CPUs; some share one where there are few units
 * @nr_pools: how many
 * @unit_claimed: bit per unit of 2 MiB: it is in a CPU's pool. Of two CPUs that share one, as
 *	there are no others, the first one that leaves clears it
 * @word_claimed: the same of words of @inode_map
 * @gc_unit: where garbage collection looks next, about
 * @gc_done: bit per inode: garbage collection has found nothing in it that is to be put together,
 *	and no transaction has named it since; NULL: nothing is collected. Not under the lock.
 * @bad: bit per block: its memory is bad; NULL: none is known to be. Read without the lock.
 * @aside: bit per block: bad, and free but for that
 * @nr_aside: how many
 * @bad_seen: times that some became bad
 * @inode_map: bit per inode: used. Changed by atomic operations
 * @free_inodes: how many are not
 * @lock: for making @bad, and for what follows up to @high_known
 * @inode_hint: none is free below it but in words that are claimed
 * @inode_high: numbers from here on were never used
 * @inode_durable: the same, as recovery would find it whenever power goes
 * @high_known: the state has told so
 * @index_lock: for making the index of an inode, by its number
 * @inode_lock: for words of inodes, by their numbers
 * @index: of files in many extents, by their numbers
 */
struct scmfs {
	u8 *base;
	struct scmfs_super super;
	struct scmfs_state *state;
	hsiphash_key_t name_key;
	struct ek_undo *log;
	bool read_only;
	bool log_known;
	unsigned long *block_map;
	u16 *unit_free;
	u64 *wear;
	u64 nr_blocks;
	u64 first_data;
	u64 nr_units;
	struct percpu_counter free_blocks;
	u64 marked;
	struct scmfs_pool *pool;
	u32 nr_pools;
	unsigned long *unit_claimed;
	unsigned long *word_claimed;
	u64 gc_unit;
	unsigned long *gc_done;
	unsigned long *bad;
	unsigned long *aside;
	atomic64_t nr_aside;
	atomic64_t bad_seen;
	unsigned long *inode_map;
	u64 nr_inodes;
	struct percpu_counter free_inodes;
	spinlock_t lock;		/* for what follows up to high_known */
	u64 inode_hint;
	u64 inode_high;
	u64 inode_durable;
	bool high_known;
	struct mutex index_lock[INODE_LOCKS];	/* for making indexes, by inodes' numbers */
	struct mutex inode_lock[INODE_LOCKS];	/* for words of inodes, by their numbers */
	struct scmfs_index_bucket index[INDEX_BUCKETS];
	struct scmfs_unit_lock unit_lock[UNIT_LOCKS];
};

/* Small, as operations have many on the stack. */
struct scmfs_run {
	u32 block;
	u32 count;
};

/**
 * struct scmfs_op - an operation under way
 * @fs: of which
 * @tx: its transaction
 * @locks: bit per inode lock that is held
 * @nr_allocs: runs in @alloc
 * @nr_drops: runs in @drop
 * @indexed: number of the file whose index has changed with it, or 0
 * @alloc: allocated for it: free again if it fails
 * @drop: free once it is done
 */
struct scmfs_op {
	struct scmfs *fs;
	struct ek_undo_tx tx;
	u32 locks;
	u32 nr_allocs;
	u32 nr_drops;
	u64 indexed;
	struct scmfs_run alloc[MAX_ALLOCS];
	struct scmfs_run drop[MAX_DROPS];
};

/* An extent in host order. */
struct scmfs_ext {
	u64 block;
	u64 file;
	u64 count;
	bool unwritten;
};

/**
 * struct scmfs_slots - a walk over all extents' places of an inode
 * @fs: of which
 * @inode: whose
 * @map: block of extents that comes next
 * @place: places of the current block
 * @left: of them
 * @maps: blocks of extents seen
 * @mark: one of them, to end a loop
 * @error: -EUCLEAN; -EIO: a block of extents is bad memory
 */
struct scmfs_slots {
	const struct scmfs *fs;
	struct scmfs_inode *inode;
	u64 map;
	struct scmfs_extent *place;
	u32 left;
	u64 maps;
	u64 mark;
	int error;
};

static inline void *scmfs_block(const struct scmfs *fs, u64 block)
{
	return fs->base + (block << SCMFS_BLOCK_SHIFT);
}

/* The block that a byte is in, the blocks that so many bytes need, and where in its block it is. */
static inline u64 block_of(u64 offset)
{
	return offset >> SCMFS_BLOCK_SHIFT;
}

static inline u64 in_block(u64 offset)
{
	return offset & (SCMFS_BLOCK_SIZE - 1);
}

static inline u64 blocks_to(u64 offset)
{
	return block_of(offset) + !!in_block(offset);	/* rounding up may pass the last one */
}

/* Of the unit that a block is in. */
static inline spinlock_t *scmfs_block_lock(struct scmfs *fs, u64 block)
{
	return &fs->unit_lock[block / SCMFS_UNIT_BLOCKS % UNIT_LOCKS].lock;
}

/* This CPU's. Who is on another one by the time that it is used takes from it all the same. */
static inline struct scmfs_pool *scmfs_my_pool(struct scmfs *fs)
{
	return &fs->pool[raw_smp_processor_id() % fs->nr_pools];
}

/* How much of a run is in the unit of its first block. */
static inline u64 scmfs_in_unit(u64 block, u64 count)
{
	return min_t(u64, count, SCMFS_UNIT_BLOCKS - block % SCMFS_UNIT_BLOCKS);
}

static inline bool scmfs_run_ok(const struct scmfs *fs, u64 block, u64 count)
{
	return count && block >= fs->first_data && block < fs->nr_blocks - 1 &&
		count <= fs->nr_blocks - 1 - block;
}

/* The kernel's bitmap_set() and bitmap_clear() take no more than an int has: go in pieces. */
static inline void scmfs_set_bits(unsigned long *map, u64 first, u64 nr)
{
	u64 n;

	for (; nr; first += n, nr -= n) {
		n = min_t(u64, nr, SCMFS_UNIT_BLOCKS);
		bitmap_set(map, first, n);
	}
}

static inline void scmfs_clear_bits(unsigned long *map, u64 first, u64 nr)
{
	u64 n;

	for (; nr; first += n, nr -= n) {
		n = min_t(u64, nr, SCMFS_UNIT_BLOCKS);
		bitmap_clear(map, first, n);
	}
}

/* Was it made with this? */
static inline bool scmfs_has(const struct scmfs *fs, u64 incompat)
{
	return le64_to_cpu(fs->super.incompat) & incompat;
}

static inline u32 scmfs_mode(u64 mode_links)
{
	return mode_links >> 32;
}

static inline u32 scmfs_links(u64 mode_links)
{
	return mode_links;
}

static inline u64 scmfs_mode_links(u32 mode, u32 links)
{
	return (u64)mode << 32 | links;
}

static inline bool scmfs_is_dir(u64 mode_links)
{
	return (scmfs_mode(mode_links) & SCMFS_IFMT) == SCMFS_IFDIR;
}

static inline bool scmfs_has_extents(u32 mode)
{
	u32 type = mode & SCMFS_IFMT;

	return type == SCMFS_IFREG || type == SCMFS_IFDIR || type == SCMFS_IFLNK;
}

/* A short target lies where extents would; one of a block has an extent. */
static inline bool scmfs_inline_target(const struct scmfs_inode *inode)
{
	return (scmfs_mode(le64_to_cpu(inode->mode_links)) & SCMFS_IFMT) == SCMFS_IFLNK &&
		le64_to_cpu(inode->size) <= SCMFS_INLINE_TARGET;
}

static inline u64 scmfs_read(const __le64 *word)
{
	return le64_to_cpu(READ_ONCE(*word));
}

static inline void scmfs_write_word(__le64 *word, u64 value)
{
	scm_store64((u64 *)word, (__force u64)cpu_to_le64(value));
	scm_flush(word, sizeof(*word));
}

/* The state's inode_high; 0: nobody knows. */
static inline u64 scmfs_high_of(const struct scmfs_state *state, u64 nr_inodes)
{
	u64 high = scmfs_read(&state->inode_high);

	return scmfs_read(&state->high_check) == ~high && high > SCMFS_ROOT_INO &&
		high <= nr_inodes ? high : 0;
}

static inline void scmfs_set_high(struct scmfs_state *state, u64 high)
{
	scmfs_write_word(&state->inode_high, high);
	scmfs_write_word(&state->high_check, ~high);
}

static inline u64 scmfs_second(u64 file, u64 count)
{
	return count << 32 | file;
}

static inline struct scmfs_ext scmfs_ext_of(u64 block, u64 second)
{
	return (struct scmfs_ext){ block & ~SCMFS_UNWRITTEN, (u32)second, second >> 32,
				   block & SCMFS_UNWRITTEN };
}

static inline u64 scmfs_ext_block(const struct scmfs_ext *e)
{
	return e->block | (e->unwritten ? SCMFS_UNWRITTEN : 0);
}

/* Can it have so many bytes? */
static inline bool scmfs_size_ok(const struct scmfs_inode *inode)
{
	return max(scmfs_read(&inode->size), scmfs_read(&inode->kept)) <=
		SCMFS_MAX_FILE_BLOCKS << SCMFS_BLOCK_SHIFT;
}

/*
 * What can be an extent of such an inode. In an image that was made for it the blocks of extents,
 * names or attributes are some file's content, too, and change at any time: whoever reads a word of
 * them reads it once, and goes by what was checked.
 */
static inline bool scmfs_ext_ok(const struct scmfs *fs, const struct scmfs_inode *inode,
				const struct scmfs_ext *e)
{
	if (e->unwritten &&
	    ((scmfs_mode(scmfs_read(&inode->mode_links)) & SCMFS_IFMT) != SCMFS_IFREG ||
	     !scmfs_has(fs, SCMFS_INCOMPAT_UNWRITTEN)))
		return false;
	return scmfs_run_ok(fs, e->block, e->count) &&
		e->file + e->count <= SCMFS_MAX_FILE_BLOCKS;
}

/* maps.c */
int scmfs_maps_init(struct scmfs *fs);
void scmfs_maps_free(struct scmfs *fs);
int scmfs_maps_load(struct scmfs *fs);
void scmfs_maps_save(struct scmfs *fs);
void scmfs_maps_count(struct scmfs *fs);
int scmfs_mark_used(struct scmfs *fs, u64 block, u64 count);
u64 scmfs_maps_memory(const struct scmfs *fs);
u64 scmfs_gc_done_bytes(const struct scmfs *fs);
int scmfs_gc_done_init(struct scmfs *fs);
void scmfs_gc_undone(struct scmfs *fs, u64 ino);

/* alloc.c */
u64 scmfs_alloc(struct scmfs *fs, u64 want, u64 goal, u64 *block);
u64 scmfs_alloc_whole(struct scmfs *fs);
u64 scmfs_alloc_packed(struct scmfs *fs, u64 want, const unsigned long *avoid,
		       const unsigned long *prefer);
u32 scmfs_unit_frees(struct scmfs *fs, u64 *unit, u16 *count, u32 nr);
void scmfs_free(struct scmfs *fs, u64 block, u64 count);

/* numbers.c */
u64 scmfs_alloc_inode(struct scmfs *fs);
void scmfs_inode_lives(struct scmfs *fs, u64 ino);
void scmfs_free_inode(struct scmfs *fs, u64 ino);

/* bad.c */
void scmfs_bad_free(struct scmfs *fs);
int scmfs_know_bad(struct scmfs *fs, const struct scmfs_bad_list *bad);
int scmfs_put_aside(struct scmfs *fs, const struct scmfs_bad_list *bad);
void scmfs_set_aside(struct scmfs *fs, u64 block, u64 count);
void scmfs_show_aside(struct scmfs *fs, bool used);

/* May all of these blocks be stored to? */
static inline bool scmfs_all_good(const struct scmfs *fs, u64 block, u64 count)
{
	u64 bytes = count << SCMFS_BLOCK_SHIFT;

	return scmfs_good(fs, block << SCMFS_BLOCK_SHIFT, bytes) == bytes;
}

/* May these bytes of the region be touched? Who looks for what isn't content asks, too. */
static inline bool scmfs_may_touch(const struct scmfs *fs, const void *at, u64 len)
{
	return scmfs_good(fs, (const u8 *)at - fs->base, len) == len;
}

/* op.c */
void scmfs_op_begin(struct scmfs *fs, struct scmfs_op *op, const u64 *ino, u32 nr);
void scmfs_op_commit(struct scmfs_op *op);
void scmfs_op_abort(struct scmfs_op *op);
u64 scmfs_op_alloc(struct scmfs_op *op, u64 want, u64 goal, u64 *block);
int scmfs_op_times(struct scmfs_op *op, struct scmfs_inode *inode, s64 now);

/* extent.c */
void scmfs_slots(const struct scmfs *fs, struct scmfs_inode *inode, struct scmfs_slots *s);
struct scmfs_extent *scmfs_slots_next(struct scmfs_slots *s);
int scmfs_ext_at(const struct scmfs *fs, struct scmfs_inode *inode, u64 file,
		 struct scmfs_ext *found);
int scmfs_ext_around(const struct scmfs *fs, struct scmfs_inode *inode, u64 file,
		     struct scmfs_ext *found);
int scmfs_ext_add(struct scmfs_op *op, struct scmfs_inode *inode, struct scmfs_ext ext);
int scmfs_ext_mark(struct scmfs_op *op, struct scmfs_inode *inode, u64 file, u64 count,
		   bool unwritten);
int scmfs_ext_remove(struct scmfs_op *op, struct scmfs_inode *inode, u64 file, u64 count);
u64 scmfs_next_map(const struct scmfs *fs, u64 block);
void scmfs_free_maps(struct scmfs *fs, u64 block, u64 nr);
int scmfs_each_run(const struct scmfs *fs, struct scmfs_inode *inode,
		   int (*fn)(struct scmfs *fs, u64 block, u64 count));

/* index.c */
void scmfs_index_init(struct scmfs *fs);
void scmfs_index_exit(struct scmfs *fs);
void scmfs_index_make(struct scmfs *fs, struct scmfs_inode *inode);
struct scmfs_index *scmfs_index_get(const struct scmfs *fs, const struct scmfs_inode *inode);
struct scmfs_extent *scmfs_index_from(const struct scmfs_index *x, u64 file, struct scmfs_ext *e);
u64 scmfs_index_end(const struct scmfs_index *x);
struct scmfs_extent *scmfs_index_free_place(const struct scmfs *fs, struct scmfs_index *x);
int scmfs_index_insert(struct scmfs_index *x, struct scmfs_extent *place, u64 file, u64 count);
int scmfs_index_change(struct scmfs_index *x, u64 old, u64 file, u64 count);
int scmfs_index_add_free(struct scmfs_index *x, struct scmfs_extent *place, u32 nr);

/* inode.c */
int scmfs_damaged(const struct scmfs *fs);
int scmfs_live(const struct scmfs *fs, u64 ino, struct scmfs_inode **inode);
int scmfs_set_fields(struct scmfs_op *op, struct scmfs_inode *inode, const struct scmfs_attr *attr,
		     unsigned int mask);
int scmfs_new_inode(struct scmfs_op *op, u64 ino, const struct scmfs_new *new, u64 parent);

/* xattr.c */
int scmfs_xattr_each(const struct scmfs *fs, struct scmfs_inode *inode,
		     int (*fn)(struct scmfs *fs, u64 block, u64 count));
u32 scmfs_xattr_blocks(const struct scmfs *fs, const struct scmfs_inode *inode);
int scmfs_xattr_new(struct scmfs_op *op, u64 ino, const struct scmfs_xattr *x, u32 nr,
		    struct scmfs_inode *body);

/* dir.c */
/**
 * struct scmfs_name - a name and where it is
 * @name: text
 * @len: bytes
 * @key: hash of it in the table of this mount
 * @slot: number in the directory
 * @ent: in the region
 * @head: its first word
 */
struct scmfs_name {
	const char *name;
	u32 len;
	u32 key;
	u64 slot;
	struct scmfs_dirent *ent;
	u64 head;
};

int scmfs_dir_get(struct scmfs *fs, struct scmfs_node *node, struct scmfs_dir **dir);
int scmfs_dir_is_empty(const struct scmfs *fs, struct scmfs_dir *dir);
int scmfs_name_init(const struct scmfs *fs, struct scmfs_name *n, const char *name, u32 len);
int scmfs_dir_find(const struct scmfs *fs, struct scmfs_dir *dir, struct scmfs_name *n);
int scmfs_dir_room(struct scmfs_dir *dir);
int scmfs_dir_place(struct scmfs_op *op, struct scmfs_node *node, struct scmfs_name *n);
int scmfs_dir_clear(struct scmfs_op *op, const struct scmfs_name *n);
void scmfs_dir_added(struct scmfs_dir *dir, const struct scmfs_name *n);
void scmfs_dir_removed(struct scmfs_dir *dir, const struct scmfs_name *n);
u64 scmfs_head(u64 ino, u32 mode, u64 slots);

/* map.c */
int scmfs_find_file(const struct scmfs *fs, u64 ino, struct scmfs_inode **inode);
int scmfs_open_file(struct scmfs *fs, u64 ino, struct scmfs_inode **inode);
int scmfs_part_at(const struct scmfs *fs, struct scmfs_inode *inode, u64 offset, u64 end,
		  struct scmfs_seg *seg);
int scmfs_zero_mapped(const struct scmfs *fs, struct scmfs_inode *inode, u64 from, u64 to);

/* size.c */
int scmfs_cut_range(struct scmfs *fs, u64 ino, u64 file, u64 count, const s64 *now);
int scmfs_trim_before(struct scmfs *fs, const struct scmfs_inode *inode, u64 ino, u64 offset);
int scmfs_grow(struct scmfs *fs, struct scmfs_inode *inode, u64 ino, u64 size, u64 zeroed,
	       s64 now);

#endif
