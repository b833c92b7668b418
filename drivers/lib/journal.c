// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: the journal
 *
 * It is linear: a checkpoint empties it, transactions are appended from block 0.
 * Its blocks carry the generation that emptied it, so what an earlier one left
 * behind does not count; a random nonce ties the blocks of one transaction
 * together, prev_csum ties transactions, so that neither a torn tail which recovery
 * overwrote in part nor its remains are ever taken for a transaction.
 *
 * A transaction of one block is its own proof.  For a longer one all but the last
 * block are made durable, then the last one is.
 *
 *	crash before the last block is durable:	the transaction is not there
 *	crash after it:				it is, whole, on that area
 *	on one mirror only:			nobody was told that it is durable;
 *						replay takes it and levels the other
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/random.h>
#include <linux/string.h>
#include <evenkeel/entry.h>
#include <evenkeel/label.h>
#include "store_internal.h"

static bool ek_block_valid(const struct ek_journal_block *block, u64 generation)
{
	u32 parts = le32_to_cpu(block->parts);

	return block->magic == cpu_to_le32(EK_JOURNAL_MAGIC) &&
	       le64_to_cpu(block->generation) == generation &&
	       parts && le32_to_cpu(block->part) < parts &&
	       le32_to_cpu(block->nr_records) <= EK_JOURNAL_RECORDS &&
	       le32_to_cpu(block->csum) == ek_checksum(block, sizeof(*block), &block->csum);
}

/* Blocks of the transaction that begins at @block, 0 when it does not count. */
static u64 ek_tx_valid(const struct ek_journal_block *block, u64 room, u64 generation,
		       const struct ek_journal *before)
{
	u32 prev = before->last_csum;
	u64 i, parts;

	if (!ek_block_valid(block, generation))
		return 0;
	parts = le32_to_cpu(block->parts);
	if (parts > room)
		return 0;
	for (i = 0; i < parts; i++, block++) {
		if (!ek_block_valid(block, generation) ||
		    le32_to_cpu(block->part) != i ||
		    le32_to_cpu(block->parts) != parts ||
		    block->nonce != block[-(s64)i].nonce ||
		    le64_to_cpu(block->sequence) != before->transactions + 1 ||
		    le32_to_cpu(block->prev_csum) != prev)
			return 0;
		prev = le32_to_cpu(block->csum);
	}
	return parts;
}

/* Can this block, beyond the prefix, be there only if something durable is not? */
static bool ek_block_proves_loss(const struct ek_journal_block *block, u64 generation,
				 const struct ek_journal *prefix)
{
	u64 its = le64_to_cpu(block->generation);

	if (its < generation ||
	    (its == generation && le64_to_cpu(block->sequence) <= prefix->transactions + 1))
		return false;
	return ek_block_valid(block, its);
}

/**
 * ek_journal_scan - find the valid prefix
 * @block: the journal's blocks
 * @nr: how many
 * @generation: that emptied it
 * @journal: set to the prefix
 *
 * A transaction is begun when the one before it is durable.  So one that lies
 * beyond the prefix with a higher sequence than the first missing one, or one of a
 * later generation, proves that something durable was lost since.
 *
 * Return: 0; -EUCLEAN when damage is proved.
 */
int ek_journal_scan(const struct ek_journal_block *block, u64 nr, u64 generation,
		    struct ek_journal *journal)
{
	u64 i, n;

	memset(journal, 0, sizeof(*journal));
	while (journal->used < nr) {
		n = ek_tx_valid(block + journal->used, nr - journal->used, generation, journal);
		if (!n)
			break;
		journal->used += n;
		journal->transactions++;
		journal->last_csum = le32_to_cpu(block[journal->used - 1].csum);
	}
	for (i = journal->used; i < nr; i++)
		if (ek_block_proves_loss(block + i, generation, journal))
			return -EUCLEAN;
	return 0;
}

/* Where the transaction being collected begins: behind those that the journal has. */
static struct ek_journal_block *ek_tx_begin(struct ek_store *store)
{
	return store->tx + store->journal.used;
}

static int ek_tx_add(struct ek_store *store, u64 key, u64 value)
{
	struct ek_journal_block *block;
	u64 i = store->tx_records / EK_JOURNAL_RECORDS;
	int r = ek_store_writable(store);

	if (r)
		return r;
	if (store->ckpt)
		return -EBUSY;
	if (i >= store->geo.journal_blocks - store->journal.used)
		return -ENOSPC;
	block = ek_tx_begin(store) + i;
	i = store->tx_records % EK_JOURNAL_RECORDS;
	if (!i)
		memset(block, 0, sizeof(*block));
	block->record[i].key = cpu_to_le64(key);
	block->record[i].value = cpu_to_le64(value);
	block->nr_records = cpu_to_le32(i + 1);
	store->tx_records++;
	return 0;
}

/**
 * ek_store_tx_add_map - collect: an extent's entry became this
 * @store: replayed
 * @le: logical extent
 * @entry: its entry, 0 for none
 *
 * Context: the committer.
 * Return: 0; -ENOSPC: the journal can't hold it: abort and checkpoint; -EINVAL: out
 * of range; -EBUSY: a checkpoint is under way.
 */
int ek_store_tx_add_map(struct ek_store *store, u64 le, u64 entry)
{
	if (le >= store->geo.nr_extents || !ek_entry_in_range(store, entry))
		return -EINVAL;
	return ek_tx_add(store, (u64)EK_RECORD_MAP << EK_RECORD_TYPE_SHIFT | le, entry);
}
EXPORT_SYMBOL_GPL(ek_store_tx_add_map);

/* Is [@pe, @pe + @count) inside the member? */
static bool ek_range_valid(const struct ek_store *store, unsigned int member, u64 pe, u64 count)
{
	u32 nr;

	if (member >= le32_to_cpu(store->super->nr_members))
		return false;
	nr = le32_to_cpu(store->super->member[member].nr_extents);
	return count && pe < nr && count <= nr - pe;
}

/**
 * ek_store_tx_add_free - collect: physical extents are in the map no more
 * @store: replayed
 * @member: whose
 * @pe: the first
 * @count: how many
 *
 * Context: the committer.
 * Return: as ek_store_tx_add_map().
 */
int ek_store_tx_add_free(struct ek_store *store, unsigned int member, u32 pe, u32 count)
{
	if (!ek_range_valid(store, member, pe, count))
		return -EINVAL;
	return ek_tx_add(store, (u64)EK_RECORD_FREE << EK_RECORD_TYPE_SHIFT | count,
			 ek_entry_make(member, pe, 0));
}
EXPORT_SYMBOL_GPL(ek_store_tx_add_free);

/**
 * ek_store_tx_abort - forget the records collected
 * @store: the store
 *
 * Context: the committer.
 */
void ek_store_tx_abort(struct ek_store *store)
{
	store->tx_records = 0;
}
EXPORT_SYMBOL_GPL(ek_store_tx_abort);

/* Headers and checksums; returns the last block's checksum. */
static u32 ek_tx_seal(struct ek_store *store, u32 parts)
{
	__le64 nonce = cpu_to_le64(get_random_u64());
	u32 i, prev = store->journal.last_csum;

	for (i = 0; i < parts; i++) {
		struct ek_journal_block *block = ek_tx_begin(store) + i;

		block->magic = cpu_to_le32(EK_JOURNAL_MAGIC);
		block->generation = cpu_to_le64(store->journal_generation);
		block->sequence = cpu_to_le64(store->journal.transactions + 1);
		block->nonce = nonce;
		block->part = cpu_to_le32(i);
		block->parts = cpu_to_le32(parts);
		block->prev_csum = cpu_to_le32(prev);
		prev = ek_checksum(block, sizeof(*block), &block->csum);
		block->csum = cpu_to_le32(prev);
	}
	return prev;
}

/* Returns the areas that failed. */
static unsigned int ek_tx_write(struct ek_store *store, u32 parts)
{
	u64 offset = store->geo.journal_offset + store->journal.used * EK_BLOCK_SIZE;
	u64 body = (u64)(parts - 1) * EK_BLOCK_SIZE;
	unsigned int failed = 0;

	if (body)
		failed = ek_areas_write(store, store->areas, offset, ek_tx_begin(store), body,
					EK_IO_FLUSH);
	return failed | ek_areas_write(store, store->areas & ~failed, offset + body,
				       ek_tx_begin(store) + parts - 1, EK_BLOCK_SIZE, EK_IO_FUA);
}

/**
 * ek_store_tx_commit - make the collected records durable
 * @store: replayed
 *
 * What the header says about it.  A failed write may have reached the media all the
 * same, so an area that fails is left out for good, and with the last one the store
 * refuses writes.
 *
 * Context: the committer; sleeps.
 * Return: 0, -EIO, -EROFS, -EBUSY, -EINVAL.
 */
int ek_store_tx_commit(struct ek_store *store)
{
	unsigned int failed;
	u32 parts, csum;
	int r = ek_store_writable(store);

	if (r)
		return r;
	if (store->ckpt)
		return -EBUSY;
	if (!store->tx_records)
		return 0;
	r = ek_super_settle(store);
	if (r)
		return r;

	parts = (store->tx_records + EK_JOURNAL_RECORDS - 1) / EK_JOURNAL_RECORDS;
	csum = ek_tx_seal(store, parts);
	failed = ek_tx_write(store, parts);
	if (failed == store->areas) {
		store->dead = true;
		return -EIO;
	}
	store->journal.used += parts;
	store->journal.transactions++;
	store->journal.last_csum = csum;
	store->tx_records = 0;
	if (!failed)
		return 0;

	/* The area left behind must be known as such before anybody is told. */
	ek_areas_drop(store, failed);
	r = ek_super_settle(store);
	if (r)
		store->dead = true;
	return r;
}
EXPORT_SYMBOL_GPL(ek_store_tx_commit);

/* Bring one area's journal up to the authority's. */
static unsigned int ek_level_journal(struct ek_store *store, unsigned int area)
{
	u64 from = store->area_used[area], to = store->journal.used;

	if (from >= to)
		return 0;
	return ek_areas_write(store, 1u << area,
			      store->geo.journal_offset + from * EK_BLOCK_SIZE,
			      store->tx + from, (to - from) * EK_BLOCK_SIZE, 0);
}

static unsigned int ek_level_super(struct ek_store *store, unsigned int area)
{
	unsigned int slot = ek_generation_slot(store->generation);
	unsigned int failed;

	failed = ek_areas_write(store, 1u << area, store->geo.table_offset[slot],
				store->table, store->geo.table_bytes, 0);
	if (failed)
		return failed;
	return ek_areas_write(store, 1u << area, slot ? EK_SUPER1_OFFSET : EK_SUPER0_OFFSET,
			      store->super, EK_BLOCK_SIZE, EK_IO_PREFLUSH | EK_IO_FUA);
}

/*
 * What was read may still be in a volatile cache (the machine restarted, the device
 * did not): make it durable before anything builds on it.  Areas behind by the last
 * transaction or superblock get what they miss.
 */
static int ek_store_level(struct ek_store *store)
{
	unsigned int area, failed;

	failed = ek_areas_flush(store, store->areas);
	for (area = 0; area < EK_MAX_META; area++) {
		unsigned int bit = 1u << area;

		if (!(store->lagging & ~failed & bit))
			continue;
		failed |= ek_level_journal(store, area);
		if (store->behind & ~failed & bit)
			failed |= ek_level_super(store, area);
		if (!(failed & bit))
			failed |= ek_areas_flush(store, bit);
	}
	if (failed == store->areas) {
		store->dead = true;
		return -EIO;
	}
	ek_areas_drop(store, failed);
	store->lagging = 0;
	store->behind = 0;
	return 0;
}

static int ek_replay_record(struct ek_store *store, const struct ek_record *record,
			    int (*map)(void *ctx, u64 le, u64 entry),
			    int (*free)(void *ctx, unsigned int member, u32 pe, u32 count),
			    void *ctx)
{
	u64 key = le64_to_cpu(record->key), value = le64_to_cpu(record->value);
	unsigned int type = key >> EK_RECORD_TYPE_SHIFT;

	key &= (1ULL << EK_RECORD_TYPE_SHIFT) - 1;
	switch (type) {
	case EK_RECORD_MAP:
		if (key >= store->geo.nr_extents || !ek_entry_in_range(store, value))
			return -EUCLEAN;
		return map(ctx, key, value);
	case EK_RECORD_FREE:
		if (!ek_entry_mapped(value) ||
		    !ek_range_valid(store, ek_entry_member(value), ek_entry_pe(value), key))
			return -EUCLEAN;
		return free(ctx, ek_entry_member(value), ek_entry_pe(value), key);
	}
	return -EUCLEAN;
}

/**
 * ek_store_replay - level the areas, then hand out the journal's records in order
 * @store: opened; once
 * @map: an extent's entry became this
 * @free: physical extents of a member became free
 * @ctx: for both; an error from either ends the replay and is returned
 *
 * Context: sleeps.  Bounded by the journal's size.
 * Return: 0; -EUCLEAN: a record is out of range; -EIO: no area can be written;
 * -EINVAL: replayed before.
 */
int ek_store_replay(struct ek_store *store,
		    int (*map)(void *ctx, u64 le, u64 entry),
		    int (*free)(void *ctx, unsigned int member, u32 pe, u32 count),
		    void *ctx)
{
	u64 i;
	u32 j;
	int r;

	if (store->replayed)
		return -EINVAL;
	if (store->io->write) {
		r = ek_store_level(store);
		if (r)
			return r;
	}
	for (i = 0; i < store->journal.used; i++) {
		const struct ek_journal_block *block = store->tx + i;

		for (j = 0; j < le32_to_cpu(block->nr_records); j++) {
			r = ek_replay_record(store, &block->record[j], map, free, ctx);
			if (r)
				return r;
		}
	}
	store->replayed = true;
	return 0;
}
EXPORT_SYMBOL_GPL(ek_store_replay);

/* What one block has of a page of the map. */
static void ek_overlay(struct ek_page *page, u64 first, const struct ek_journal_block *block)
{
	u32 i;

	for (i = 0; i < le32_to_cpu(block->nr_records); i++) {
		u64 slot = le64_to_cpu(block->record[i].key) -
			   ((u64)EK_RECORD_MAP << EK_RECORD_TYPE_SHIFT | first);

		if (slot < EK_PAGE_ENTRIES)
			page->entry[slot] = block->record[i].value;
	}
}

/**
 * ek_store_read_committed - a page of the map as the next start would have it
 * @store: opened
 * @index: of the page
 * @page: its entries are set; its header is the slot's
 *
 * The slot in force, and over it what the journal has of it; neither a transaction that is being
 * collected nor a checkpoint under way.
 *
 * Context: the committer; sleeps.
 * Return: as ek_store_read_page().
 */
int ek_store_read_committed(struct ek_store *store, u64 index, struct ek_page *page)
{
	int r = ek_store_read_page(store, index, page);
	u64 i;

	for (i = 0; !r && i < store->journal.used; i++)
		ek_overlay(page, index * EK_PAGE_ENTRIES, store->tx + i);
	return r;
}
EXPORT_SYMBOL_GPL(ek_store_read_committed);
