// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: checkpoints
 *
 * Pages go to the slot that the table in force does not name, the next table to the
 * table slot that the superblock in force does not name, the next superblock to the
 * other superblock slot, after all else is durable.
 *
 *	crash before the superblock:	the generation before, its pages, its journal
 *	pages lost before it:		somebody else's flush of the disk has failed: likewise,
 *					try again
 *	torn superblock:		its checksum fails: the same
 *	crash after it:			the new generation, an empty journal
 *	write error before it:		nothing that counts was touched; try again
 *	write error on it:		old or new, nobody knows: that area is left out,
 *					and with the last one the store refuses writes
 *
 * Mirrors get the same writes side by side and are all flushed before the first
 * superblock is written, so an area whose superblock is one generation older than
 * the other's has the newer one's pages.  An area that failed earlier is marked
 * stale in the superblock itself; one that failed on the superblock is marked by
 * another generation at once.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <evenkeel/label.h>
#include "store_internal.h"

/* Fill in @pending as the superblock of @generation. */
static void ek_super_seal(struct ek_store *store, u64 generation, u64 journal_generation,
			  const u8 *table, unsigned int stale, u32 flags)
{
	struct ek_super *sb = store->pending;

	sb->generation = cpu_to_le64(generation);
	sb->journal_generation = cpu_to_le64(journal_generation);
	sb->flags = cpu_to_le32(flags);
	sb->meta_stale = cpu_to_le32(stale);
	sb->incompat = cpu_to_le64(ek_super_incompat(sb));
	sb->table_csum = cpu_to_le32(ek_table_checksum(table, store->geo.table_bytes));
	sb->csum = cpu_to_le32(ek_checksum(sb, sizeof(*sb), &sb->csum));
}

/* The generation on the media became the one in memory, for readers beside us, too. */
static void ek_super_adopt(struct ek_store *store, u64 generation, u64 journal_generation,
			   const u8 *table)
{
	memcpy(store->super, store->pending, sizeof(*store->super));
	store->geo.nr_extents = le64_to_cpu(store->super->nr_extents);
	store->journal_generation = journal_generation;
	WRITE_ONCE(store->generation, generation);
	/* Pairs with smp_rmb() in ek_page_verify(): a page's generation is checked. */
	smp_wmb();
	if (table != store->table)
		memcpy(store->table, table, store->geo.table_bytes);
}

/*
 * The superblock of @generation.  One that is about to be a mirror gets it when another one has it:
 * until then those call it stale, and would not agree with it afterwards.  Return: who failed.
 */
static unsigned int ek_super_write(struct ek_store *store, unsigned int areas, u64 generation)
{
	u64 offset = ek_generation_slot(generation) ? EK_SUPER1_OFFSET : EK_SUPER0_OFFSET;
	unsigned int old = areas & ~store->joining, failed;

	failed = ek_areas_write(store, old, offset, store->pending, EK_BLOCK_SIZE, EK_IO_FUA);
	if (failed == old)
		return areas;
	return failed | ek_areas_write(store, areas & store->joining, offset, store->pending,
				       EK_BLOCK_SIZE, EK_IO_FUA);
}

/* One generation; returns 0, or -EIO with store->dead when its fate is unknown. */
static int ek_super_step(struct ek_store *store, const u8 *table, u64 journal_generation,
			 u32 flags)
{
	u64 generation = store->generation + 1;
	unsigned int slot = ek_generation_slot(generation);
	unsigned int failed, left;

	if (generation > EK_GENERATION_MAX)
		return -EIO;
	failed = ek_areas_write(store, store->areas, store->geo.table_offset[slot], table,
				store->geo.table_bytes, EK_IO_FLUSH);
	left = store->areas & ~failed;
	if (!(left & ~store->joining))
		return -EIO;
	ek_super_seal(store, generation, journal_generation, table, store->stale | failed, flags);
	failed |= ek_super_write(store, left, generation);
	if (failed == store->areas) {
		store->dead = true;
		return -EIO;
	}
	ek_areas_drop(store, failed);
	ek_super_adopt(store, generation, journal_generation, table);
	return 0;
}

/**
 * ek_super_advance - go to the next generation
 * @store: replayed, not dead
 * @table: its page table
 * @empty_journal: the journal begins anew
 * @flags: EK_SUPER_*
 *
 * Another one follows when an area failed on the way, so that its being left out is
 * durable before this returns 0.
 *
 * Return: 0; -EIO: the old generation is in force, or store->dead.
 */
int ek_super_advance(struct ek_store *store, u8 *table, bool empty_journal, u32 flags)
{
	u64 journal_generation = empty_journal ? store->generation + 1 :
						 store->journal_generation;
	int r;

	r = ek_super_step(store, table, journal_generation, flags);
	if (r)
		return r;
	if (empty_journal)
		memset(&store->journal, 0, sizeof(store->journal));
	while (store->stale != le32_to_cpu(store->super->meta_stale)) {
		r = ek_super_step(store, store->table, journal_generation, flags);
		if (r) {
			store->dead = true;
			return r;
		}
	}
	return 0;
}

/* Make the superblock true before a transaction: not clean, areas left out named. */
int ek_super_settle(struct ek_store *store)
{
	u32 flags = le32_to_cpu(store->super->flags);

	if (!(flags & EK_SUPER_CLEAN) &&
	    store->stale == le32_to_cpu(store->super->meta_stale))
		return 0;
	return ek_store_update_super(store, 0, EK_SUPER_CLEAN);
}

/* Documented in the header. */
int ek_store_update_super(struct ek_store *store, u32 flags_set, u32 flags_clear)
{
	u32 flags = le32_to_cpu(store->super->flags);
	int r = ek_store_writable(store);

	if (r)
		return r;
	return ek_super_advance(store, store->table, false, (flags & ~flags_clear) | flags_set);
}
EXPORT_SYMBOL_GPL(ek_store_update_super);

/**
 * ek_store_ckpt_begin - begin a checkpoint
 * @store: replayed
 *
 * Records collected for a transaction are forgotten: the pages carry it all.
 *
 * Context: the committer.
 * Return: 0, -EBUSY when one is under way, -EROFS, -EIO, -EINVAL.
 */
int ek_store_ckpt_begin(struct ek_store *store)
{
	int r = ek_store_writable(store);

	if (r)
		return r;
	if (store->ckpt)
		return -EBUSY;
	ek_store_tx_abort(store);
	store->ckpt = true;
	store->ckpt_failed = 0;
	store->ring_used = 0;
	if (!store->ckpt_again)
		store->ckpt_lost = 0;
	store->ckpt_again = false;
	ek_areas_losses(store, store->areas, store->ckpt_since);
	return 0;
}
EXPORT_SYMBOL_GPL(ek_store_ckpt_begin);

static void ek_ckpt_drain(struct ek_store *store)
{
	store->ckpt_failed |= ek_areas_wait(store, store->areas | store->syncing);
	store->ring_used = 0;
	/* One that is not a mirror yet does not become one; nobody else need hear of it. */
	if (store->ckpt_failed & store->syncing)
		ek_store_resync_stop(store);
	store->ckpt_failed &= store->areas;
}

/**
 * ek_store_ckpt_page - write one page to the slot not in use
 * @store: with a checkpoint under way
 * @index: of the page
 * @image: entries set; the header is filled in here; may be reused at once
 *
 * Write errors show when the checkpoint is committed.
 *
 * Context: the committer; sleeps.
 * Return: 0; -EINVAL: no checkpoint, or out of range.
 */
int ek_store_ckpt_page(struct ek_store *store, u64 index, struct ek_page *image)
{
	struct ek_page *page;
	unsigned int slot;

	if (!store->ckpt || index >= store->geo.nr_pages)
		return -EINVAL;
	/* Twice in one checkpoint: the same slot, so not side by side. */
	if (store->ring_used == EK_CKPT_RING ||
	    ek_table_get(store->next, index) != ek_table_get(store->table, index))
		ek_ckpt_drain(store);
	if (!memchr_inv(image->entry, 0, sizeof(image->entry))) {
		ek_table_set(store->next, index, EK_PAGE_ABSENT);
		return 0;
	}

	slot = ek_table_get(store->table, index) == EK_PAGE_SLOT0;
	page = store->ring + store->ring_used++;
	memcpy(page->entry, image->entry, sizeof(page->entry));
	page->magic = cpu_to_le32(EK_PAGE_MAGIC);
	page->index = cpu_to_le64(index);
	page->generation = cpu_to_le64(store->generation + 1);
	page->reserved = 0;
	page->csum = cpu_to_le32(ek_checksum(page, sizeof(*page), &page->csum));
	store->ckpt_failed |= ek_areas_begin(store, store->areas | store->syncing,
					     ek_page_offset(&store->geo, index, slot),
					     page, EK_BLOCK_SIZE, 0);
	ek_table_set(store->next, index, slot ? EK_PAGE_SLOT1 : EK_PAGE_SLOT0);
	return 0;
}
EXPORT_SYMBOL_GPL(ek_store_ckpt_page);

/*
 * Others' flushes that failed may have dropped pages before the one at the end: what the table is
 * about to name would be as it was two checkpoints ago.  Return: it is all to be done again; as
 * often as ek_areas_write() would, and then an area that loses something each time is one that
 * failed.
 */
static bool ek_ckpt_lost(struct ek_store *store, unsigned int areas)
{
	bool last = ++store->ckpt_lost >= EK_DURABLE_TRIES;
	unsigned int lost = ek_areas_lost(store, areas, store->ckpt_since, last);

	store->ckpt_again = lost && !last;
	if (store->ckpt_again)
		return true;
	store->ckpt_failed |= lost;
	return lost == areas;
}

/**
 * ek_store_ckpt_commit - make the pages written count, empty the journal
 * @store: with a checkpoint under way
 * @flags: EK_SUPER_*; EK_SUPER_NEEDS_CHECK stays until it is cleared
 *
 * The user has flushed the members.  The checkpoint is over when this returns 0;
 * otherwise ek_store_ckpt_abort() ends it.
 *
 * Context: the committer; sleeps.
 * Return: 0; -EINVAL: no checkpoint; -EAGAIN: pages may have been lost on the way: nothing that
 * counts was touched, all of it is to be written again, which a few tries bring to an end; -EIO:
 * see ek_store_writable().
 */
int ek_store_ckpt_commit(struct ek_store *store, u32 flags)
{
	unsigned int left;
	int r;

	if (!store->ckpt)
		return -EINVAL;
	r = ek_store_writable(store);
	if (r)
		return r;
	ek_ckpt_drain(store);
	left = store->areas & ~store->ckpt_failed;
	store->ckpt_failed |= ek_areas_flush(store, left);
	left = store->areas & ~store->ckpt_failed;
	if (!left)
		return -EIO;
	/* Who has failed is not asked again by a try that follows. */
	ek_areas_drop(store, store->ckpt_failed);
	if (ek_ckpt_lost(store, left)) {
		ek_areas_quiesce(store);
		return store->ckpt_again ? -EAGAIN : -EIO;
	}
	ek_areas_drop(store, store->ckpt_failed);
	flags |= le32_to_cpu(store->super->flags) & EK_SUPER_NEEDS_CHECK;
	r = ek_super_advance(store, store->next, true, flags);
	if (r)
		return r;
	store->ckpt = false;
	return 0;
}
EXPORT_SYMBOL_GPL(ek_store_ckpt_commit);

/**
 * ek_store_ckpt_abort - forget the checkpoint; the generation before goes on
 * @store: the store; nothing happens when none is under way
 *
 * Context: the committer; sleeps.
 */
void ek_store_ckpt_abort(struct ek_store *store)
{
	if (!store->ckpt)
		return;
	ek_ckpt_drain(store);
	memcpy(store->next, store->table, store->geo.table_bytes);
	store->ckpt = false;
}
EXPORT_SYMBOL_GPL(ek_store_ckpt_abort);
