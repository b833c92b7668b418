/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What store.c, journal.c and checkpoint.c share; nobody else includes this.
 */
#ifndef _EVENKEEL_STORE_INTERNAL_H
#define _EVENKEEL_STORE_INTERNAL_H

#include <linux/bits.h>
#include <linux/types.h>
#include <evenkeel/store.h>

#define EK_SUPER0_OFFSET	EK_AREA_HEAD_BYTES
#define EK_SUPER1_OFFSET	(EK_AREA_HEAD_BYTES + (64u << 10))
#define EK_TABLES_OFFSET	(EK_AREA_HEAD_BYTES + (128u << 10))

#define EK_JOURNAL_DEFAULT	512u	/* blocks */
#define EK_JOURNAL_MIN		16u
#define EK_JOURNAL_MAX		16384u	/* it has a buffer of its size in memory */
#define EK_PAGES_MAX		BIT(28)

#define EK_CKPT_RING		32u	/* page writes in flight */
#define EK_READ_CHUNK		BIT(20)	/* bytes */
#define EK_DURABLE_TRIES	4u	/* of what others' flushes that fail may drop */
#define EK_IO_FLUSH		BIT(31)	/* for ek_areas_write(): a flush behind it */

/**
 * struct ek_journal - the valid prefix of a journal, or where to append
 * @used: blocks
 * @transactions: in these blocks
 * @last_csum: checksum of the last of them, 0 when there is none
 */
struct ek_journal {
	u64 used;
	u64 transactions;
	u32 last_csum;
};

/* Where things are, in bytes from the area's start; the same on every area, set once. */
struct ek_geometry {
	u64 nr_extents;
	u64 nr_pages;
	u64 table_bytes;
	u64 table_offset[2];
	u64 journal_offset;
	u64 journal_blocks;
	u64 pages_offset;
};

/* What is done page by page between commits; see resync.c. */
enum ek_sync_phase { EK_SYNC_NONE, EK_SYNC_CHECK, EK_SYNC_COPY };

/**
 * struct ek_sync - an area that is being made a mirror
 * @phase: what is being done
 * @area: which one
 * @at: the next page
 * @buf: of ek_store_sync_buf(), of who began it
 * @uuid: in its label; zero: the pool's
 * @since: what disks had lost before the area was written to
 */
struct ek_sync {
	enum ek_sync_phase phase;
	unsigned int area;
	u64 at;
	struct ek_page *buf;
	u8 uuid[EK_UUID_SIZE];
	struct ek_losses since[EK_MAX_META];
};

/**
 * struct ek_store - an open store
 * @io: how to reach the areas
 * @ctx: for @io
 * @geo: offsets and counts
 * @areas: bit per area in use
 * @stale: bit per area left out
 * @untold: of these, without a superblock that could be read, and not called stale by the authority
 * @unread: of those, the ones with a superblock that can't be read
 * @lagging: areas in use that replay has to bring up to the authority
 * @behind: of these, whose superblock is one generation older
 * @area_used: journal blocks that each has
 * @replayed: levelled, may be written
 * @dead: a write's fate is unknown on the last area: no more writes
 * @generation: of the superblock in force
 * @journal_generation: of the one that emptied the journal
 * @super: as read or last written
 * @pending: as @super, with what is to be written next time
 * @table: page states in force, two bits each; readers beside the committer
 * @next: those of the checkpoint under way, else the same
 * @journal: where to append
 * @tx: as many blocks as the journal has: what is in it, and behind that the transaction being
 *	collected
 * @tx_records: records in it
 * @ckpt: a checkpoint is under way
 * @ckpt_failed: areas that failed in it
 * @ckpt_since: what their disks had lost when it began
 * @ckpt_lost: so many tries of it may have lost pages on the way
 * @ckpt_again: the last one ended for that
 * @sync: an area that is to become a mirror
 * @syncing: its bit, while it gets the pages that checkpoints write; not in @areas
 * @joining: its bit, in @areas, until its first superblock is there
 * @ring: page images being written
 * @ring_used: of EK_CKPT_RING
 */
struct ek_store {
	const struct ek_store_io *io;
	void *ctx;
	struct ek_geometry geo;
	unsigned int areas;
	unsigned int stale;
	unsigned int untold;
	unsigned int unread;
	unsigned int lagging;
	unsigned int behind;
	u64 area_used[EK_MAX_META];
	bool replayed;
	bool dead;
	u64 generation;
	u64 journal_generation;
	struct ek_super *super;
	struct ek_super *pending;
	u8 *table;
	u8 *next;
	struct ek_journal journal;
	struct ek_journal_block *tx;
	u64 tx_records;
	bool ckpt;
	unsigned int ckpt_failed;
	struct ek_losses ckpt_since[EK_MAX_META];
	unsigned int ckpt_lost;
	bool ckpt_again;
	struct ek_sync sync;
	unsigned int syncing;
	unsigned int joining;
	struct ek_page *ring;
	unsigned int ring_used;
};

/*
 * What would follow the last one is not written.  EK_GENERATION_LATEST, which is all that is
 * opened, leaves room before it: who began with this one would go on for a moment only.
 */
#define EK_GENERATION_MAX	(BIT_ULL(63) - 1)

/* Which superblock and table a generation uses: the first one uses 0. */
static inline unsigned int ek_generation_slot(u64 generation)
{
	return (generation - 1) & 1;
}

static inline u64 ek_page_offset(const struct ek_geometry *geo, u64 index, unsigned int slot)
{
	return geo->pages_offset + (2 * index + slot) * EK_BLOCK_SIZE;
}

static inline unsigned int ek_table_get(const u8 *table, u64 index)
{
	return READ_ONCE(table[index / 4]) >> (index % 4 * 2) & 3;
}

static inline void ek_table_set(u8 *table, u64 index, unsigned int state)
{
	unsigned int shift = index % 4 * 2;

	table[index / 4] = (table[index / 4] & ~(3u << shift)) | state << shift;
}

static inline u64 ek_map_pages(const struct ek_geometry *geo)
{
	return (geo->nr_extents + EK_PAGE_ENTRIES - 1) / EK_PAGE_ENTRIES;
}

/* store.c: all areas in the mask side by side; returns the mask of those that failed */
unsigned int ek_areas_begin(struct ek_store *store, unsigned int areas, u64 offset,
			    const void *buf, size_t len, unsigned int flags);
unsigned int ek_areas_wait(struct ek_store *store, unsigned int areas);
unsigned int ek_areas_write(struct ek_store *store, unsigned int areas, u64 offset,
			    const void *buf, size_t len, unsigned int flags);
unsigned int ek_areas_flush(struct ek_store *store, unsigned int areas);
void ek_areas_quiesce(struct ek_store *store);
void ek_areas_losses(struct ek_store *store, unsigned int areas, struct ek_losses *losses);
unsigned int ek_areas_lost(struct ek_store *store, unsigned int areas,
			   const struct ek_losses *since, bool known);
void ek_areas_drop(struct ek_store *store, unsigned int areas);
bool ek_entry_in_range(const struct ek_store *store, u64 entry);
bool ek_page_verify(const struct ek_store *store, u64 index, const struct ek_page *page);

/* super.c */
int ek_super_check(const struct ek_super *sb, unsigned int slot, u64 area_bytes,
		   const char **reason);
bool ek_super_shape_valid(const struct ek_super *sb);
void ek_super_geometry(const struct ek_super *sb, struct ek_geometry *geo);
u32 ek_table_checksum(const u8 *table, u64 bytes);

u64 ek_super_incompat(const struct ek_super *sb);

/* journal.c */
int ek_journal_scan(const struct ek_journal_block *block, u64 nr, u64 generation,
		    struct ek_journal *journal);

/* checkpoint.c */
int ek_super_advance(struct ek_store *store, u8 *table, bool empty_journal, u32 flags);
int ek_super_settle(struct ek_store *store);

#endif
