// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: mirrors made equal again
 *
 * An area that was left out (stale, unreadable), or a new one in the place of one that was
 * replaced, gets all that the other has, in an order in which no cut leaves it half believed:
 *
 *	all pages looked at		the area that was left out may be the last to have one
 *					that is damaged, for somebody who knows more than this
 *					does: then it is left as it is
 *	named stale by the other	it goes on alone, if it has not all the time
 *	superblocks of the area zeroed	from here it is no pool; the other one, which names it
 *					stale, is
 *	pages, some at a time		the same.  Commits go to the other's journal; checkpoints
 *					write their pages to both, so what is behind the cursor
 *					is equal in the table's slots before and after each
 *	journal; flush			the same
 *	superblock of the next		the area has none: the other one goes on alone, and
 *	generation, on the other one,	calls it stale anew.  If it can't be written nothing can
 *	without the stale mark, with	be from here on, or an area that the other one may call
 *	the uuid of the area's label	stale would go on alone
 *	the same on the area		mirrors again
 *
 * From then on the label of the one that was replaced, should it come back, is not the one named.
 *
 * If the area's disk may have dropped something on the way, as a flush failed that somebody else
 * had sent it, it is given up: the one at the end would find nothing of that.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <evenkeel/label.h>
#include "store_internal.h"

static int ek_resync_write(struct ek_store *store, unsigned int area, u64 offset, const void *buf,
			   size_t len)
{
	return ek_areas_write(store, 1u << area, offset, buf, len, 0) ? -EIO : 0;
}

static int ek_resync_zero(struct ek_store *store, unsigned int area, u64 offset, u64 len, void *buf)
{
	int r = 0;

	memset(buf, 0, EK_READ_CHUNK);
	while (len && !r) {
		size_t n = min_t(u64, len, EK_READ_CHUNK);

		r = ek_resync_write(store, area, offset, buf, n);
		offset += n;
		len -= n;
	}
	return r;
}

#define EK_SYNC_PAGES	(EK_READ_CHUNK / (2 * EK_BLOCK_SIZE))

static bool ek_sync_absent(struct ek_store *store, u64 from, u64 nr)
{
	u64 i;

	for (i = from; i < from + nr; i++)
		if (ek_table_get(store->table, i) != EK_PAGE_ABSENT)
			return false;
	return true;
}

/* Both slots of pages as they lie on an area in use; those that count are what they should be. */
static int ek_sync_read(struct ek_store *store, u64 from, u64 nr)
{
	struct ek_page *buf = store->sync.buf;
	unsigned int area = __ffs(store->areas), state;
	int err, r = 0;
	u64 i;

	err = store->io->read(store->ctx, area, ek_page_offset(&store->geo, from, 0), buf,
			      nr * 2 * EK_BLOCK_SIZE);
	if (err)
		memset(buf, 0, nr * 2 * EK_BLOCK_SIZE);
	for (i = 0; !r && i < nr; i++) {
		struct ek_page *page;

		state = ek_table_get(store->table, from + i);
		if (state == EK_PAGE_ABSENT)
			continue;
		page = buf + 2 * i + (state == EK_PAGE_SLOT1);
		if (err || !ek_page_verify(store, from + i, page))
			r = ek_store_read_page(store, from + i, page);
	}
	return r;
}

/*
 * The blocks that count, as they are in memory: what an area has of them by now nobody has looked
 * at.  Then zeroes: what an earlier life left there proves nothing then.
 */
static int ek_resync_journal(struct ek_store *store, unsigned int area, void *buf)
{
	u64 at = store->geo.journal_offset, used = store->journal.used * EK_BLOCK_SIZE;
	int r = 0;

	if (used)
		r = ek_resync_write(store, area, at, store->tx, used);
	if (r)
		return r;
	return ek_resync_zero(store, area, at + used,
			      store->geo.journal_blocks * EK_BLOCK_SIZE - used, buf);
}

/*
 * Its newest superblock, if any is sound, calls stale what is in use here: it went on alone, and
 * may be all that has what was acknowledged then.  Both at a start are refused; here the one is in
 * use already, as the other one was not there.
 */
static bool ek_sync_went_on(struct ek_store *store, unsigned int area, u64 area_bytes,
			    struct ek_super *sb)
{
	static const u64 offset[] = { EK_SUPER0_OFFSET, EK_SUPER1_OFFSET };
	const struct ek_super *newest = NULL;
	const char *reason;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (store->io->read(store->ctx, area, offset[i], sb + i, sizeof(*sb)) ||
		    ek_super_check(sb + i, i, area_bytes, &reason))
			continue;
		if (!newest ||
		    le64_to_cpu(sb[i].generation) > le64_to_cpu(newest->generation))
			newest = sb + i;
	}
	return newest && le32_to_cpu(newest->meta_stale) & store->areas &&
	       !memcmp(newest->pool_uuid, store->super->pool_uuid, EK_UUID_SIZE);
}

/* All pages are there.  From here on the area is written. */
static int ek_sync_begin_copy(struct ek_store *store)
{
	struct ek_sync *sync = &store->sync;
	int r = 0;

	ek_areas_losses(store, 1u << sync->area, sync->since);
	/* The other one must name it stale before it is touched. */
	if (store->stale != le32_to_cpu(store->super->meta_stale))
		r = ek_store_update_super(store, 0, 0);
	if (!r)
		r = ek_resync_zero(store, sync->area, EK_SUPER0_OFFSET,
				   EK_TABLES_OFFSET - EK_SUPER0_OFFSET, sync->buf);
	if (!r && ek_areas_flush(store, 1u << sync->area))
		r = -EIO;
	if (r)
		return r;
	WRITE_ONCE(sync->at, 0);
	WRITE_ONCE(sync->phase, EK_SYNC_COPY);
	store->syncing = 1u << sync->area;
	return 0;
}

static bool ek_sync_lost(struct ek_store *store)
{
	struct ek_sync *sync = &store->sync;

	return sync->phase == EK_SYNC_COPY &&
	       ek_areas_lost(store, 1u << sync->area, sync->since, true);
}

static int ek_sync_finish(struct ek_store *store)
{
	unsigned int area = store->sync.area, bit = 1u << area;
	u8 was[EK_UUID_SIZE];
	int r;

	r = ek_resync_journal(store, area, store->sync.buf);
	if (!r && (ek_areas_flush(store, bit) || ek_sync_lost(store)))
		r = -EIO;
	if (r)
		return r;
	memcpy(was, store->pending->meta_uuid[area], EK_UUID_SIZE);
	memcpy(store->pending->meta_uuid[area], store->sync.uuid, EK_UUID_SIZE);
	ek_store_resync_stop(store);
	store->stale &= ~bit;
	WRITE_ONCE(store->areas, store->areas | bit);
	store->joining = bit;
	r = ek_store_update_super(store, 0, 0);
	store->joining = 0;
	if (r) {
		ek_areas_drop(store, bit);
		memcpy(store->pending->meta_uuid[area], was, EK_UUID_SIZE);
	}
	return !r && !(store->areas & bit) ? -EIO : r;
}

static int ek_sync_chunk(struct ek_store *store)
{
	struct ek_sync *sync = &store->sync;
	u64 nr = min_t(u64, store->geo.nr_pages - sync->at, EK_SYNC_PAGES);
	int r = 0;

	if (!ek_sync_absent(store, sync->at, nr)) {
		r = ek_sync_read(store, sync->at, nr);
		if (!r && sync->phase == EK_SYNC_COPY)
			r = ek_resync_write(store, sync->area,
					    ek_page_offset(&store->geo, sync->at, 0), sync->buf,
					    nr * 2 * EK_BLOCK_SIZE);
	}
	WRITE_ONCE(sync->at, sync->at + nr);
	return r;
}

static int ek_sync_step(struct ek_store *store)
{
	struct ek_sync *sync = &store->sync;
	int r = ek_store_writable(store);

	if (!r && ek_sync_lost(store))
		r = -EIO;
	if (r)
		return r;
	if (sync->at < store->geo.nr_pages)
		r = ek_sync_chunk(store);
	if (r || sync->at < store->geo.nr_pages)
		return r ? r : 1;
	if (sync->phase == EK_SYNC_CHECK) {
		r = ek_sync_begin_copy(store);
		return r ? r : 1;
	}
	return ek_sync_finish(store);
}

/**
 * ek_store_resync_stop - give it up
 * @store: the store; nothing happens when none is under way
 *
 * The area stays what it was for the other one: left out.  What it had is gone if copying had
 * begun.
 *
 * Context: the committer; sleeps.
 */
void ek_store_resync_stop(struct ek_store *store)
{
	store->sync.buf = NULL;
	store->sync.phase = EK_SYNC_NONE;
	WRITE_ONCE(store->syncing, 0);
}
EXPORT_SYMBOL_GPL(ek_store_resync_stop);

/**
 * ek_store_resyncing - is an area being made a mirror?
 * @store: opened
 *
 * Context: any; takes no lock.
 * Return: its bit; 0: none.
 */
unsigned int ek_store_resyncing(const struct ek_store *store)
{
	return READ_ONCE(store->sync.phase) == EK_SYNC_NONE ? 0 : 1u << store->sync.area;
}
EXPORT_SYMBOL_GPL(ek_store_resyncing);

/**
 * ek_store_resync_at - how far is it?
 * @store: opened
 * @done: set to pages that were looked at or copied
 * @total: set to how many there are, each of them twice
 *
 * Context: any; takes no lock, so it may be a step behind.
 * Return: false: none is under way.
 */
bool ek_store_resync_at(const struct ek_store *store, u64 *done, u64 *total)
{
	enum ek_sync_phase phase = READ_ONCE(store->sync.phase);

	*total = 2 * store->geo.nr_pages;
	*done = READ_ONCE(store->sync.at) + (phase == EK_SYNC_COPY ? store->geo.nr_pages : 0);
	return phase != EK_SYNC_NONE;
}
EXPORT_SYMBOL_GPL(ek_store_resync_at);

/**
 * ek_store_sync_buf - what a resync or a mending works with
 *
 * Context: sleeps.
 * Return: it, for kvfree(); NULL: no memory.
 */
struct ek_page *ek_store_sync_buf(void)
{
	return kvmalloc(EK_MAX_META * EK_READ_CHUNK, GFP_KERNEL);
}
EXPORT_SYMBOL_GPL(ek_store_sync_buf);

/**
 * ek_store_resync_begin - begin to make an area a mirror that was left out
 * @store: replayed, no checkpoint under way
 * @area: which one
 * @area_bytes: its size
 * @uuid: in its label; NULL: the pool's
 * @buf: of ek_store_sync_buf(), the caller's until it is over
 *
 * Context: the committer; sleeps; takes no memory.
 * Return: 0; -EINVAL: it is one already, or is not of the pool; -EBUSY: another is under way;
 * -ENOSPC: it is too small; -EEXIST: it went on without those that are in use, and what it has
 * would be lost; -EROFS, -EIO.
 */
int ek_store_resync_begin(struct ek_store *store, unsigned int area, u64 area_bytes,
			  const u8 *uuid, struct ek_page *buf)
{
	struct ek_sync *sync = &store->sync;
	int r = ek_store_writable(store);

	if (r)
		return r;
	if (store->ckpt || sync->phase != EK_SYNC_NONE)
		return -EBUSY;
	if (area >= le32_to_cpu(store->super->nr_meta) || store->areas & 1u << area)
		return -EINVAL;
	if (area_bytes < ek_super_area_bytes(store->super))
		return -ENOSPC;
	if (ek_sync_went_on(store, area, area_bytes, (struct ek_super *)buf))
		return -EEXIST;
	sync->buf = buf;
	memset(sync->uuid, 0, EK_UUID_SIZE);
	if (uuid && memcmp(uuid, store->super->pool_uuid, EK_UUID_SIZE))
		memcpy(sync->uuid, uuid, EK_UUID_SIZE);
	sync->area = area;
	sync->at = 0;
	WRITE_ONCE(sync->phase, EK_SYNC_CHECK);
	return 0;
}
EXPORT_SYMBOL_GPL(ek_store_resync_begin);

/**
 * ek_store_resync_step - go on with it
 * @store: no checkpoint under way
 *
 * A step is a few large reads and writes; the last one copies the journal.
 *
 * Context: the committer; sleeps.
 * Return: 1: there is more to do; 0: the area is a mirror; after anything else it was given up:
 * -EINVAL: none was under way, or it failed between two steps; -EUCLEAN: a page is damaged; an I/O
 * error: left out as before, unless ek_store_writable() says worse.
 */
int ek_store_resync_step(struct ek_store *store)
{
	int r;

	if (store->sync.phase == EK_SYNC_NONE)
		return -EINVAL;
	if (store->ckpt)
		return -EBUSY;
	r = ek_sync_step(store);
	if (r < 0)
		ek_store_resync_stop(store);
	return r;
}
EXPORT_SYMBOL_GPL(ek_store_resync_step);

/**
 * ek_store_resync - take an area that was left out in again, at once
 * @store: replayed, no checkpoint under way
 * @area: which one; as large as the others
 *
 * Context: the committer; sleeps, for as long as it takes to copy all of the metadata.
 * Return: 0: it is a mirror again; -ENOMEM; an error as ek_store_resync_begin() or
 * ek_store_resync_step().
 */
int ek_store_resync(struct ek_store *store, unsigned int area)
{
	struct ek_page *buf = ek_store_sync_buf();
	int r = -EINVAL;

	if (!buf)
		return -ENOMEM;
	if (area < EK_MAX_META)
		r = ek_store_resync_begin(store, area, U64_MAX, store->super->meta_uuid[area], buf);
	if (!r)
		do {
			r = ek_store_resync_step(store);
		} while (r > 0);
	kvfree(buf);
	return r;
}
EXPORT_SYMBOL_GPL(ek_store_resync);

/*
 * The others know by now that it is out, for good.  Alone it would be believed, as nobody is there
 * who could say so: its own superblock calls it stale.  One that only leaves is not told: until
 * another has been made in its stead it is what there is when the last one that stays is lost.
 *
 * The pool does not depend on it: whether that can be written is the same to it.  A torn one leaves
 * the superblock before, of what was in use until now.  Of an area that was stale already it may be
 * the one before that, as the slot is that of the pool's generation: beside the others it counts
 * for nothing as before, and alone it is what it was, of some time ago, or refused.
 */
static void ek_tell_left(struct ek_store *store, unsigned int area)
{
	unsigned int slot = ek_generation_slot(store->generation);

	ek_areas_write(store, 1u << area, slot ? EK_SUPER1_OFFSET : EK_SUPER0_OFFSET, store->super,
		       EK_BLOCK_SIZE, EK_IO_PREFLUSH | EK_IO_FUA);
}

/* Blocks of the journal as an area has them, against those in memory; unreadable ones differ. */
static int ek_mend_blocks(struct ek_store *store, unsigned int area, u64 block, u64 nr)
{
	u64 offset = store->geo.journal_offset + block * EK_BLOCK_SIZE;
	const struct ek_journal_block *good = store->tx + block;
	size_t len = nr * EK_BLOCK_SIZE;

	/* No checkpoint is under way: its images are nobody's. */
	if (!store->io->read(store->ctx, area, offset, store->ring, len) &&
	    !memcmp(store->ring, good, len))
		return 0;
	return ek_areas_write(store, 1u << area, offset, good, len, EK_IO_FLUSH) ? -EIO : 0;
}

/*
 * Those that stay are to have all that is acknowledged: a transaction that one of them has dropped,
 * or that has been damaged there since, would go with the area that leaves.
 */
static int ek_mend_journals(struct ek_store *store, unsigned int areas)
{
	u64 at, used = store->journal.used;
	unsigned int area;
	int r = 0;

	for (area = 0; area < EK_MAX_META; area++)
		for (at = 0; areas & 1u << area && !r && at < used; at += EK_CKPT_RING)
			r = ek_mend_blocks(store, area, at, min_t(u64, used - at, EK_CKPT_RING));
	return r;
}

static int ek_leave(struct ek_store *store, unsigned int area, const u8 *uuid)
{
	unsigned int bit = 1u << area, areas = store->areas, stale = store->stale;
	u8 *named = store->pending->meta_uuid[area], was[EK_UUID_SIZE];
	int r = ek_mend_journals(store, areas & ~bit);

	if (r)
		return r;
	memcpy(was, named, EK_UUID_SIZE);
	memcpy(named, uuid, EK_UUID_SIZE);
	if (areas & bit)
		ek_areas_drop(store, bit);
	if (store->stale != le32_to_cpu(store->super->meta_stale) ||
	    memcmp(store->super->meta_uuid[area], uuid, EK_UUID_SIZE))
		r = ek_store_update_super(store, 0, 0);
	if (r && !store->dead) {
		/* No superblock was begun: the one that was to leave may be the only good one. */
		memcpy(named, was, EK_UUID_SIZE);
		WRITE_ONCE(store->areas, areas);
		store->stale = stale;
	}
	return r;
}

static int ek_may_leave(struct ek_store *store, unsigned int area)
{
	int r = ek_store_writable(store);

	if (r)
		return r;
	if (store->ckpt || store->sync.phase != EK_SYNC_NONE)
		return -EBUSY;
	if (area >= le32_to_cpu(store->super->nr_meta) || !(store->areas & ~(1u << area)))
		return -EINVAL;
	return 0;
}

/**
 * ek_store_leave_out - go on without an area
 * @store: replayed, no checkpoint and no resync under way
 * @area: which one
 *
 * The others' journals are compared with what is in memory first, and written anew where they
 * differ; their pages are ek_store_mend_step()'s.  They name it stale, durably, when this
 * returns 0: beside them it does not count any more, whatever becomes of it.  Alone it is what
 * it was: a pool that has lost the others goes on from there, if somebody wants that.
 *
 * Context: the committer; sleeps.
 * Return: 0, also if it is left out already; -EINVAL: it is the last one, or not of the pool;
 * -EBUSY; an error as ek_store_update_super(): it is what it was, unless ek_store_writable() says
 * worse.
 */
int ek_store_leave_out(struct ek_store *store, unsigned int area)
{
	u8 uuid[EK_UUID_SIZE];
	int r = ek_may_leave(store, area);

	if (r)
		return r;
	memcpy(uuid, store->pending->meta_uuid[area], EK_UUID_SIZE);
	return ek_leave(store, area, uuid);
}
EXPORT_SYMBOL_GPL(ek_store_leave_out);

/**
 * ek_store_vacate - go on without an area, for good
 * @store: replayed, no checkpoint and no resync under way
 * @area: which one
 *
 * As ek_store_leave_out(); in the same superblock its place becomes vacant: no label is of an area
 * there, and none is missed.  Then its own superblock says so, too, if it can be written: alone it
 * is refused, so the others have to be all that anybody needs.  A resync fills the place.
 *
 * Context: the committer; sleeps.
 * Return: as ek_store_leave_out().
 */
int ek_store_vacate(struct ek_store *store, unsigned int area)
{
	u8 uuid[EK_UUID_SIZE];
	int r = ek_may_leave(store, area);

	if (r)
		return r;
	memset(uuid, 0xff, EK_UUID_SIZE);
	r = ek_leave(store, area, uuid);
	if (!r)
		ek_tell_left(store, area);
	return r;
}
EXPORT_SYMBOL_GPL(ek_store_vacate);

static unsigned int ek_mend_slot(struct ek_store *store, u64 index)
{
	return ek_table_get(store->table, index) == EK_PAGE_SLOT1;
}

/* The page that counts, of those of this step, as an area has it. */
static struct ek_page *ek_mend_at(struct ek_store *store, struct ek_mend *m, unsigned int area,
				  u64 index)
{
	return m->buf + 2 * (area * EK_SYNC_PAGES + index - m->at) + ek_mend_slot(store, index);
}

static bool ek_mend_read_one(struct ek_store *store, struct ek_mend *m, unsigned int area,
			     u64 index)
{
	return !store->io->read(store->ctx, area,
				ek_page_offset(&store->geo, index, ek_mend_slot(store, index)),
				ek_mend_at(store, m, area, index), EK_BLOCK_SIZE);
}

static bool ek_mend_read(struct ek_store *store, struct ek_mend *m, unsigned int area, u64 nr)
{
	if (m->at < m->singly)
		return ek_mend_read_one(store, m, area, m->at);
	return !store->io->read(store->ctx, area, ek_page_offset(&store->geo, m->at, 0),
				m->buf + 2 * area * EK_SYNC_PAGES, nr * 2 * EK_BLOCK_SIZE);
}

/* These pages, one by one: each step waits for one bad place at most. */
static int ek_mend_singly(struct ek_mend *m, u64 nr)
{
	m->singly = m->at + nr;
	return 1;
}

/*
 * Sets the areas that @nr pages were read of.  What fails of one that is to be written is read
 * again; another one may be what leaves as it is dying, and is not asked any more unless a page is
 * nowhere else.  1: page by page from here on.
 */
static int ek_mend_read_all(struct ek_store *store, struct ek_mend *m, u64 nr, unsigned int *there)
{
	unsigned int area;

	*there = 0;
	for (area = 0; area < EK_MAX_META; area++) {
		unsigned int bit = 1u << area;

		if (!(store->areas & ~m->failed & bit))
			continue;
		if (ek_mend_read(store, m, area, nr))
			*there |= bit;
		else if (!(m->areas & bit))
			m->failed |= bit;
		else if (m->at >= m->singly)
			return ek_mend_singly(m, nr);
	}
	return 0;
}

/*
 * The page as the area has it that wrote it last: a disk that dropped a write has an older one in
 * the same place, whole.  Two that are as old and differ are both left: nothing tells which counts.
 */
static int ek_newest_page(struct ek_store *store, struct ek_mend *m, u64 index,
			  unsigned int there, struct ek_page **good)
{
	unsigned int area;

	*good = NULL;
	for (area = 0; area < EK_MAX_META; area++) {
		struct ek_page *page = ek_mend_at(store, m, area, index);

		if (!(there & 1u << area) || !ek_page_verify(store, index, page))
			continue;
		if (*good && page->generation == (*good)->generation &&
		    memcmp(page, *good, sizeof(*page)))
			return -EUCLEAN;
		if (*good && le64_to_cpu(page->generation) <= le64_to_cpu((*good)->generation))
			continue;
		*good = page;
	}
	return 0;
}

/* Those of which it is not the page that counts get it. */
static int ek_mend_write(struct ek_store *store, struct ek_mend *m, u64 index, unsigned int there,
			 const struct ek_page *good)
{
	u64 offset = ek_page_offset(&store->geo, index, ek_mend_slot(store, index));
	unsigned int area;
	int r = 0;

	for (area = 0; !r && area < EK_MAX_META; area++) {
		struct ek_page *page = ek_mend_at(store, m, area, index);

		if (there & 1u << area && !memcmp(page, good, sizeof(*good)))
			continue;
		if (there & 1u << area && ek_page_verify(store, index, page))
			m->older[area]++;
		if (!(store->areas & m->areas & 1u << area))
			continue;
		r = ek_resync_write(store, area, offset, good, sizeof(*good));
		m->mended += !r;
	}
	return r;
}

/* 0; 1: to be read singly; an error; a page that is damaged everywhere stays so. */
static int ek_mend_page(struct ek_store *store, struct ek_mend *m, u64 index, u64 nr,
			unsigned int there)
{
	unsigned int area, asked = store->areas & m->failed & ~there;
	struct ek_page *good;
	int r;

	if (ek_table_get(store->table, index) == EK_PAGE_ABSENT)
		return 0;
	r = ek_newest_page(store, m, index, there, &good);
	if (!r && !good && asked) {
		if (m->at >= m->singly)
			return ek_mend_singly(m, nr);
		for (area = 0; area < EK_MAX_META; area++)
			if (asked & 1u << area && ek_mend_read_one(store, m, area, index))
				there |= 1u << area;
		r = ek_newest_page(store, m, index, there, &good);
	}
	return r || !good ? r : ek_mend_write(store, m, index, there, good);
}

static int ek_mend_some(struct ek_store *store, struct ek_mend *m)
{
	u64 i, nr = min_t(u64, store->geo.nr_pages - m->at, EK_SYNC_PAGES);
	unsigned int there = 0;
	int r = 0;

	if (m->at < m->singly)
		nr = 1;
	if (!ek_sync_absent(store, m->at, nr))
		r = ek_mend_read_all(store, m, nr, &there);
	for (i = 0; !r && i < nr; i++)
		r = ek_mend_page(store, m, m->at + i, nr, there);
	if (!r)
		m->at += nr;
	return r;
}

/**
 * ek_store_mend_step - a few pages that one area has and the other has not, damaged, or older
 * @store: replayed, no checkpoint under way; if none is to be written it may be read-only
 * @m: which areas are written, if need be (the others are read only), and where it is
 *
 * A step is one large read of each area, or one page when that fails.  A page is overwritten where
 * it lies: it is of no use as it is.
 *
 * Context: the committer; sleeps; takes no memory.
 * Return: 1: there are more; 0: none, and what was written is durable, also when a page is damaged
 * on all areas: it stays so; -EUCLEAN: two pages contradict each other; -EIO: also if a disk that
 * is written to may have dropped something since the first step; another I/O error.
 */
int ek_store_mend_step(struct ek_store *store, struct ek_mend *m)
{
	unsigned int areas = store->areas & m->areas;
	int r = m->areas ? ek_store_writable(store) : 0;

	if (r)
		return r;
	if (store->ckpt)
		return -EBUSY;
	if (!m->begun)
		ek_areas_losses(store, areas, m->since);
	m->begun = true;
	if (m->at < store->geo.nr_pages)
		r = ek_mend_some(store, m);
	if (!r && ek_areas_lost(store, areas, m->since, true))
		r = -EIO;
	if (r || m->at < store->geo.nr_pages)
		return r ? r : 1;
	return ek_areas_flush(store, areas) || ek_areas_lost(store, areas, m->since, true) ? -EIO :
											     0;
}
EXPORT_SYMBOL_GPL(ek_store_mend_step);

/**
 * ek_store_mend_pages - all of them at once
 * @store: replayed, no checkpoint under way
 * @mended: how many were written
 *
 * Context: the committer; sleeps.
 * Return: as the step; -ENOMEM.
 */
int ek_store_mend_pages(struct ek_store *store, u64 *mended)
{
	struct ek_mend m = { .areas = ~0u, .buf = ek_store_sync_buf() };
	int r;

	if (!m.buf)
		return -ENOMEM;
	do {
		r = ek_store_mend_step(store, &m);
	} while (r > 0);
	kvfree(m.buf);
	*mended = m.mended;
	return r;
}
EXPORT_SYMBOL_GPL(ek_store_mend_pages);
