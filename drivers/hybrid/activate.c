// SPDX-License-Identifier: GPL-2.0-only
/*
 * From labels to a running pool: format if new, else read superblock, space maps
 * and journal.  Pages of the map stay on the media until they are wanted; what the
 * journal says about them is kept, sorted, and laid over them when they are loaded.
 */
#include <linux/sort.h>
#include <linux/uuid.h>
#include <linux/vmalloc.h>
#include "hybrid.h"

/* --- format --- */

static int format_store(struct hy_pool *pool, struct hy_table *t,
			u8 (*member_uuid)[EK_UUID_SIZE])
{
	struct ek_store_params *p = kzalloc(sizeof(*p), GFP_NOIO);
	unsigned int i;
	int r;

	if (!p)
		return -ENOMEM;
	memcpy(p->pool_uuid, pool->uuid, EK_UUID_SIZE);
	p->extent_sectors = t->extent_sectors;
	p->nr_extents = DIV_ROUND_UP_ULL(t->ti->len, t->extent_sectors);
	p->nr_meta = t->nr_meta;
	for (i = 0; i < t->nr_meta; i++)
		p->area_bytes[i] = (u64)t->meta[i].sectors << SECTOR_SHIFT;
	p->nr_members = t->nr_members;
	for (i = 0; i < t->nr_members; i++) {
		memcpy(p->member_uuid[i], member_uuid[i], EK_UUID_SIZE);
		p->member_extents[i] = ek_member_extents(t->member[i].sectors, t->extent_sectors);
	}
	p->policy = t->policy;
	r = ek_store_format(&hy_meta_io, pool, p);
	kfree(p);
	return r;
}

/* The constructor looked at the labels, and much may have been written since. */
static int still_new(struct hy_pool *pool, struct hy_table *t)
{
	enum hy_label_state state;
	char *error;
	u8 uuid[EK_UUID_SIZE];
	int r;

	r = hy_labels_check(t, uuid, &state, &error);
	if (!r) {
		error = "another pool has been made of them";
		if (state != HY_LABELS_NEW ||
		    (memchr_inv(uuid, 0, EK_UUID_SIZE) && memcmp(uuid, pool->uuid, EK_UUID_SIZE)))
			r = -EBUSY;
	}
	if (r)
		DMERR("the devices are not what they were when the table was loaded: %s", error);
	return r;
}

/* The order is explained in area.c. */
static int format(struct hy_pool *pool, struct hy_table *t)
{
	u8 (*member_uuid)[EK_UUID_SIZE] = kcalloc(EK_MAX_MEMBERS, EK_UUID_SIZE, GFP_NOIO);
	char name[EK_NAME_SIZE] = "";
	unsigned int i;
	int r;

	if (!member_uuid)
		return -ENOMEM;
	r = still_new(pool, t);
	if (!r && !memchr_inv(pool->uuid, 0, EK_UUID_SIZE)) {
		r = ek_store_forget(&hy_meta_io, pool, t->nr_meta);
		generate_random_uuid(pool->uuid);
	}
	if (r)
		goto out;
	memcpy(t->uuid, pool->uuid, EK_UUID_SIZE);	/* another try goes on with it */
	for (i = 0; i < t->nr_meta; i++)
		memcpy(t->meta[i].uuid, pool->uuid, EK_UUID_SIZE);
	for (i = 0; i < t->nr_members; i++) {
		generate_random_uuid(member_uuid[i]);
		memcpy(t->member[i].uuid, member_uuid[i], EK_UUID_SIZE);
	}
	dm_copy_name_and_uuid(dm_table_get_md(t->ti->table), name, NULL);
	r = hy_labels_write(pool, t, name, true, NULL);
	if (!r)
		r = hy_labels_write(pool, t, name, true, member_uuid);
	if (!r)
		r = format_store(pool, t, member_uuid);
	if (!r)
		r = hy_labels_write(pool, t, name, false, NULL);
out:
	if (r)
		DMERR("cannot format the pool: error %d", r);
	else
		DMINFO("formatted pool %pUb", pool->uuid);
	kfree(member_uuid);
	return r;
}

/* --- load --- */

static int check_super(struct hy_pool *pool, struct hy_table *t)
{
	const struct ek_super *s = ek_store_super(pool->store);
	unsigned int i;

	if (memcmp(s->pool_uuid, pool->uuid, EK_UUID_SIZE) ||
	    le32_to_cpu(s->nr_members) != t->nr_members ||
	    le32_to_cpu(s->extent_sectors) != t->extent_sectors) {
		DMERR("superblock and labels disagree");
		return -EUCLEAN;
	}
	if (le32_to_cpu(s->nr_meta) != t->nr_meta) {
		DMERR("the pool has places for %u metadata areas", le32_to_cpu(s->nr_meta));
		return -EUCLEAN;
	}
	for (i = 0; i < t->nr_members; i++) {
		u32 extents = le32_to_cpu(s->member[i].nr_extents);

		/* One that left, or whose joining was cut, still has a label. */
		if (t->member[i].dev &&
		    memcmp(t->member[i].uuid, s->member[i].uuid, EK_UUID_SIZE)) {
			DMERR("member %u is not the one that the superblock names", i);
			return -EUCLEAN;
		}
		if (t->member[i].dev &&
		    extents > ek_member_extents(t->member[i].sectors, t->extent_sectors)) {
			DMERR("member %u is smaller than it was", i);
			return -EUCLEAN;
		}
		pool->member[i].nr_extents = extents;
		pool->member[i].state = le32_to_cpu(s->member[i].state);
		pool->member[i].leaving = pool->member[i].state == EK_MEMBER_DRAINING;
	}
	pool->nr_extents = le64_to_cpu(s->nr_extents);
	if (DIV_ROUND_UP_ULL(t->ti->len, t->extent_sectors) > pool->nr_extents) {
		DMERR("device longer than the pool was made for (%llu sectors)",
		      pool->nr_extents * t->extent_sectors);
		return -EINVAL;
	}
	/* What a table that was read-only has found is yet to be noted (commit.c). */
	pool->needs_check_noted = le32_to_cpu(s->flags) & EK_SUPER_NEEDS_CHECK;
	pool->needs_check |= pool->needs_check_noted;
	return 0;
}

static int load_spaces(struct hy_pool *pool)
{
	unsigned int i;
	int r = 0;

	for (i = 0; !r && i < pool->nr_members; i++) {
		struct hy_member *m = &pool->member[i];

		r = ek_space_init(&m->space, m->nr_extents);
		if (!r)
			r = ek_store_load_space(pool->store, i, &m->space);
	}
	return r;
}

static int replay_map(void *ctx, u64 le, u64 entry)
{
	struct hy_pool *pool = ctx;

	if (pool->nr_replayed == pool->max_replayed)
		return -EUCLEAN;
	pool->replayed[pool->nr_replayed].le = le;
	pool->replayed[pool->nr_replayed++].entry = entry;
	if (!ek_entry_mapped(entry))
		return 0;
	return ek_space_store(&pool->member[ek_entry_member(entry)].space, ek_entry_pe(entry),
			      1, true);
}

static int replay_free(void *ctx, unsigned int member, u32 pe, u32 count)
{
	struct hy_pool *pool = ctx;

	return ek_space_store(&pool->member[member].space, pe, count, false);
}

/* By extent; for one extent in the order of the journal, which their addresses keep. */
struct replay_key {
	u64 le;
	u64 entry;
	u32 order;
};

static int compare_replay(const void *a, const void *b)
{
	const struct replay_key *x = a, *y = b;

	if (x->le != y->le)
		return x->le < y->le ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Sort, and keep the last entry of each extent. */
static int sort_replayed(struct hy_pool *pool)
{
	size_t n = pool->nr_replayed, i, kept = 0;
	struct replay_key *keys;

	if (!n)
		return 0;
	keys = kvmalloc_array(n, sizeof(*keys), GFP_NOIO);
	if (!keys)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		keys[i].le = pool->replayed[i].le;
		keys[i].entry = pool->replayed[i].entry;
		keys[i].order = i;
	}
	sort(keys, n, sizeof(*keys), compare_replay, NULL);
	for (i = 0; i < n; i++) {
		if (i + 1 < n && keys[i].le == keys[i + 1].le)
			continue;
		pool->replayed[kept].le = keys[i].le;
		pool->replayed[kept++].entry = keys[i].entry;
	}
	pool->nr_replayed = kept;
	kvfree(keys);
	return 0;
}

/* First replayed entry at or after an extent. */
static size_t find_replayed(struct hy_pool *pool, u64 le)
{
	size_t lo = 0, hi = pool->nr_replayed;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (pool->replayed[mid].le < le)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* load_lock held. */
static void overlay(struct hy_pool *pool, u64 index, struct ek_page *page)
{
	u64 first = index * EK_PAGE_ENTRIES;
	size_t i;

	for (i = find_replayed(pool, first); i < pool->nr_replayed; i++) {
		u64 at = pool->replayed[i].le - first;

		if (at >= EK_PAGE_ENTRIES)
			break;
		page->entry[at] = cpu_to_le64(pool->replayed[i].entry);
	}
}

/* Is the place of an entry free?  Then nobody is given it from now on. */
static bool take_free_place(struct hy_pool *pool, u64 entry)
{
	struct ek_space *space = &pool->member[ek_entry_member(entry)].space;

	return !ek_space_is_used(space, ek_entry_pe(entry)) &&
	       ek_space_take(space, ek_entry_pe(entry));
}

/*
 * An extent that the map names and the space map calls free would be given out
 * a second time.  Nothing of a page that is not in memory yet can have changed.
 *
 * A write that has found the pool writable may be about to take such a place, so it is taken
 * before allocation stops.  Another extent may have had it, and given it back, since the pool
 * was loaded: what is there is not known to be the extent's, so the page stays refused, though
 * the next time its places would be found in use.
 *
 * load_lock held.
 */
static int check_used(struct hy_pool *pool, u64 index, const struct ek_page *page)
{
	bool sound = true;
	unsigned int i;

	if (xa_load(&pool->refused, index))
		return -EUCLEAN;
	for (i = 0; i < EK_PAGE_ENTRIES; i++) {
		u64 entry = le64_to_cpu(page->entry[i]);

		if (!ek_entry_mapped(entry) || !take_free_place(pool, entry))
			continue;
		DMERR_LIMIT("extent %llu lies where member %u says that nothing is",
			    index * EK_PAGE_ENTRIES + i, ek_entry_member(entry));
		sound = false;
	}
	if (sound)
		return 0;
	xa_store(&pool->refused, index, xa_mk_value(0), HY_MUST);
	hy_pool_needs_check(pool, "a place in use was free");
	return -EUCLEAN;
}

/**
 * hy_pool_load_page - bring a page of the map into memory
 * @pool: the pool
 * @index: of the page
 *
 * Context: sleeps; several at once.
 * Return: 0 or an error.
 */
int hy_pool_load_page(struct hy_pool *pool, u64 index)
{
	struct ek_page *page;
	int r;

	if (ek_map_page(&pool->map, index))
		return 0;
	page = kmalloc(sizeof(*page), HY_MUST);
	r = ek_store_read_page(pool->store, index, page);
	if (!r) {
		mutex_lock(&pool->load_lock);
		overlay(pool, index, page);
		if (!ek_map_page(&pool->map, index))
			r = check_used(pool, index, page);
		if (!r)
			r = ek_map_insert_page(&pool->map, index, page, HY_MUST);
		mutex_unlock(&pool->load_lock);
	} else if (ek_map_page(&pool->map, index)) {
		r = 0;	/* loaded, changed and written meanwhile: it was torn under us */
	} else {
		DMERR_LIMIT("cannot read page %llu of the map: error %d", index, r);
	}
	kfree(page);
	return r;
}

/**
 * hy_pool_lookup - an extent's entry, its page of the map being read if need be
 * @pool: the pool
 * @le: logical extent
 * @entry: set on success
 *
 * Context: sleeps.
 * Return: 0; -EINVAL: past the end; why the page can't be had.
 */
int hy_pool_lookup(struct hy_pool *pool, u64 le, u64 *entry)
{
	int r;

	while ((r = ek_map_lookup(&pool->map, le, entry)) == -EAGAIN) {
		r = hy_pool_load_page(pool, le / EK_PAGE_ENTRIES);
		if (r)
			break;
	}
	return r;
}

/**
 * hy_pool_lookup_step - the same for who goes through many, and reads one page at a time
 * @pool: the pool
 * @le: logical extent
 * @entry: set on success
 * @loaded: was a page read already?  Set when one was
 *
 * Context: sleeps.
 * Return: as hy_pool_lookup(); -EAGAIN: another page would have to be read.
 */
int hy_pool_lookup_step(struct hy_pool *pool, u64 le, u64 *entry, bool *loaded)
{
	int r = ek_map_lookup(&pool->map, le, entry);

	if (r != -EAGAIN || *loaded)
		return r;
	*loaded = true;
	return hy_pool_lookup(pool, le, entry);
}

/**
 * hy_pool_load_replayed - load the pages that the journal has entries for
 * @pool: the pool
 *
 * They become dirty, so that the checkpoint that empties the journal writes them.
 * Context: the committer.
 * Return: 0 or an error.
 */
int hy_pool_load_replayed(struct hy_pool *pool)
{
	u64 last = U64_MAX;
	size_t i;
	int r;

	for (i = 0; i < pool->nr_replayed; i++) {
		u64 index = pool->replayed[i].le / EK_PAGE_ENTRIES;

		if (index == last)
			continue;
		last = index;
		r = hy_pool_load_page(pool, index);
		if (r)
			return r;
		hy_page_dirty(pool, ek_map_page(&pool->map, index));
	}
	return 0;
}

/* Pages that the media do not have, but the journal has entries for, cost no I/O. */
static int insert_absent(struct hy_pool *pool)
{
	struct ek_page *page = kzalloc(sizeof(*page), GFP_NOIO);
	u64 last = U64_MAX;
	size_t i;
	int r = page ? 0 : -ENOMEM;

	for (i = 0; !r && i < pool->nr_replayed; i++) {
		u64 index = pool->replayed[i].le / EK_PAGE_ENTRIES;

		if (index == last || !ek_store_page_absent(pool->store, index))
			continue;
		last = index;
		memset(page, 0, sizeof(*page));
		overlay(pool, index, page);
		r = ek_map_insert_page(&pool->map, index, page, GFP_NOIO);
	}
	kfree(page);
	return r;
}

static bool page_absent(void *ctx, u64 index)
{
	struct hy_pool *pool = ctx;

	return ek_store_page_absent(pool->store, index);
}

static int load_journal(struct hy_pool *pool)
{
	u64 mapped = 0;
	unsigned int i;
	int r;

	pool->max_replayed = ek_store_journal_blocks(pool->store) * EK_JOURNAL_RECORDS;
	pool->max_taken = pool->max_replayed;
	pool->replayed = kvmalloc_array(pool->max_replayed, sizeof(*pool->replayed), GFP_NOIO);
	pool->taken = kvmalloc_array(pool->max_taken, sizeof(*pool->taken), GFP_NOIO);
	if (!pool->replayed || !pool->taken)
		return -ENOMEM;
	r = ek_store_replay(pool->store, replay_map, replay_free, pool);
	if (!r)
		r = sort_replayed(pool);
	if (!r)
		r = insert_absent(pool);
	if (r)
		return r;
	for (i = 0; i < pool->nr_members; i++) {
		ek_space_activate(&pool->member[i].space);
		mapped += pool->member[i].nr_extents - ek_space_nr_free(&pool->member[i].space);
	}
	/* A damaged space map: places that no extent is at.  It costs room, and nothing else. */
	if (mapped > pool->nr_extents)
		DMWARN("%llu places in use by %llu extents: hybridctl check tells which are lost",
		       mapped, pool->nr_extents);
	atomic64_set(&pool->mapped, mapped);
	return 0;
}

static int load(struct hy_pool *pool, struct hy_table *t)
{
	u64 bytes[EK_MAX_META] = { 0 };
	u8 uuid[EK_MAX_META][EK_UUID_SIZE];
	unsigned int areas = 0, i;
	const char *reason = "unknown";
	int r;

	for (i = 0; i < t->nr_meta; i++) {
		bytes[i] = (u64)t->meta[i].sectors << SECTOR_SHIFT;
		memcpy(uuid[i], t->meta[i].uuid, EK_UUID_SIZE);
		areas |= t->meta[i].dev ? BIT(i) : 0;
	}
	pool->store_ro = t->read_only;
	r = ek_store_open_named(t->read_only ? &hy_meta_io_ro : &hy_meta_io, pool, bytes,
				(const u8 (*)[EK_UUID_SIZE])uuid, areas, &pool->store, &reason);
	if (r) {
		DMERR("cannot open the metadata: %s (error %d)", reason, r);
		return r;
	}
	/* One that was left out and doesn't know would be the only one that is heard. */
	if (ek_store_unread(pool->store) & areas) {
		DMERR("a superblock of metadata area %u can't be read, and it may be the newer one",
		      ek_store_unread(pool->store) & 1 ? 0 : 1);
		return -EIO;
	}
	for (i = 0; i < t->nr_members; i++)
		hy_member_forget_writes(&pool->member[i]);
	pool->distrusted = 0;
	r = check_super(pool, t);
	if (r)
		return r;
	r = load_spaces(pool);
	if (r) {
		DMERR("cannot read the space maps: error %d", r);
		return r;
	}
	r = ek_map_init(&pool->map, pool->nr_extents, page_absent, pool);
	if (r)
		return r;
	pool->map_ready = true;
	r = load_journal(pool);
	if (r)
		DMERR("cannot replay the journal: error %d", r);
	return r;
}

static void unload(struct hy_pool *pool)
{
	unsigned int i;

	if (pool->map_ready)
		ek_map_destroy(&pool->map);
	pool->map_ready = false;
	for (i = 0; i < pool->nr_members; i++) {
		ek_space_destroy(&pool->member[i].space);
		memset(&pool->member[i].space, 0, sizeof(pool->member[i].space));
	}
	if (pool->store)
		ek_store_close(pool->store);
	pool->store = NULL;
	xa_destroy(&pool->refused);
	kvfree(pool->replayed);
	kvfree(pool->taken);
	pool->replayed = NULL;
	pool->taken = NULL;
	pool->nr_replayed = 0;
}

/* --- binding --- */

/* What the table has in the place of one in use is no copy of it: not read, and not written. */
static void bind_meta(struct hy_pool *pool, struct hy_table *t)
{
	unsigned int i, gone = pool->loaded ? hy_areas_gone(pool, t) : 0;

	pool->nr_meta = t->nr_meta;
	memcpy(pool->meta, t->meta, sizeof(pool->meta));
	for (i = 0; i < EK_MAX_META; i++)
		if (gone & BIT(i))
			pool->meta[i].dev = NULL;
}

static void bind(struct hy_pool *pool, struct hy_table *t)
{
	unsigned int i;

	bind_meta(pool, t);
	for (i = 0; i < t->nr_members; i++) {
		struct hy_member *m = &pool->member[i];

		m->bdev = t->member[i].dev ? t->member[i].dev->bdev : NULL;
		m->direct = t->member[i].direct.ops ? &t->member[i].direct : NULL;
		m->area_start = t->member[i].start;
		m->area_sectors = t->member[i].sectors;
		m->data = m->area_start + ek_member_sector(0, t->extent_sectors);
	}
	/* Of a table that has more, and goes: it may have been judged before the pool grew. */
	for (; i < pool->nr_members; i++) {
		pool->member[i].bdev = NULL;
		pool->member[i].direct = NULL;
	}
	pool->no_discard_passdown = t->no_discard_passdown;
	WRITE_ONCE(pool->read_only, t->read_only);
	WRITE_ONCE(pool->bound, t);
}

/**
 * hy_pool_unbind - the table that the pool is bound to goes, with its devices
 * @pool: the pool, suspended
 *
 * Another one, not resumed yet, may keep the pool.
 * Context: the table's destructor; sleeps.
 */
void hy_pool_unbind(struct hy_pool *pool)
{
	unsigned int i;

	WRITE_ONCE(pool->bound, NULL);
	hy_drain_wait(pool);
	hy_commit_end(pool);
	down_write(&pool->state_sem);
	for (i = 0; i < pool->nr_members; i++) {
		pool->member[i].bdev = NULL;
		pool->member[i].direct = NULL;
	}
	for (i = 0; i < EK_MAX_META; i++)
		pool->meta[i].dev = NULL;
	up_write(&pool->state_sem);
}

/* The table's takes over; with the one before, what that had learned is gone. */
static void adopt_policy(struct hy_pool *pool, struct hy_ready *ready)
{
	struct hy_policy *old;

	spin_lock_irq(&pool->policy_lock);
	old = pool->policy;
	pool->policy = ready->policy;
	pool->set = ready->set;
	memset(&pool->tokens, 0, sizeof(pool->tokens));
	hy_gather_drop(pool);
	memset(&pool->decision, 0, sizeof(pool->decision));
	spin_unlock_irq(&pool->policy_lock);
	ready->policy = NULL;
	hy_policy_destroy(old);
	mutex_lock(&pool->heat_lock);
	hy_heat_resize(&pool->heat, ready->set.candidates);
	mutex_unlock(&pool->heat_lock);
	hy_cache_resize(pool, ready->set.cache_extents, &ready->cache);
}

static void set_mode(struct hy_pool *pool, struct hy_table *t)
{
	if (pool->needs_check)
		hy_pool_set_mode(pool, HY_RO, "its metadata needs a check");
	else if (t->read_only)
		pool->mode = HY_RO;
	else if (pool->mode == HY_RO)
		pool->mode = HY_RW;
}

/*
 * Labels that say "forming": if the store can be read nevertheless, all that was
 * left to do was to say that it is complete.
 */
static int make(struct hy_pool *pool, struct hy_table *t)
{
	int r;

	if (memchr_inv(t->uuid, 0, EK_UUID_SIZE)) {
		r = load(pool, t);
		if (!r)
			return 0;
		unload(pool);
		if (r != -ENODATA)
			return r;
	}
	r = format(pool, t);
	return r ? r : load(pool, t);
}

static int load_or_make(struct hy_pool *pool, struct hy_table *t)
{
	int r;

	memcpy(pool->uuid, t->uuid, EK_UUID_SIZE);
	r = t->labels == HY_LABELS_NEW ? make(pool, t) : load(pool, t);
	if (!r && !t->read_only)
		r = hy_labels_settle(t);
	if (r)
		hy_pool_deactivate(pool);
	else
		pool->loaded = true;
	return r;
}

static void note_areas(struct hy_pool *pool, struct hy_table *t)
{
	unsigned int i;

	for (i = 0; i < t->nr_meta; i++)	/* of one that is not there: where it was */
		if (pool->meta[i].dev) {
			pool->in_use[i].dev = pool->meta[i].dev->bdev->bd_dev;
			pool->in_use[i].start = pool->meta[i].start;
		}
	hy_pool_note_keys(pool, t, ek_super_vacant(ek_store_super(pool->store)));
}

/* A table may still name what was removed: nothing is done to that. */
static void unbind_removed(struct hy_pool *pool)
{
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++)
		if (pool->member[i].state == EK_MEMBER_REMOVED) {
			pool->member[i].bdev = NULL;
			pool->member[i].direct = NULL;
		}
}

/*
 * Since the table was loaded, an area that it has not, or in whose place it has another, may have
 * become a mirror:
 *
 *	load		[C, B]: area 0, on A, is left out, so that another may take its place
 *	message		"metadata resync 0": A is a mirror
 *	resume		C would count as one, with what it had some time ago; A would miss all that
 *			comes, and no superblock say so
 *
 * So it is left out again before the devices change.  If nothing would be left the resume fails, if
 * that can't be written the pool is read-only from then on; such an area then has no device
 * (bind_meta()) until a table has it.
 *
 * A table that is read-only writes nothing, and the area misses nothing as long as the pool has
 * such tables: it is a mirror without a device until one that writes has it, or leaves it out.
 */
static int leave_areas(struct hy_pool *pool, struct hy_table *t)
{
	unsigned int gone = hy_areas_gone(pool, t);

	if (t->nr_meta < le32_to_cpu(ek_store_super(pool->store)->nr_meta)) {
		DMERR("number of metadata areas is not the live pool's");
		return -EINVAL;
	}
	/* One that takes no writes any more has no more use for mirrors. */
	if (!gone || ek_store_writable(pool->store))
		return 0;
	if (gone == ek_store_areas(pool->store)) {
		DMERR("none of the metadata areas is the live pool's");
		return -EINVAL;
	}
	if (t->read_only)
		return 0;
	return hy_mirror_leave_now(pool, gone);
}

/* Also when the one that has the largest is lost: whoever has the device open relies on it. */
static void note_block_size(struct hy_pool *pool, struct hy_table *t)
{
	unsigned int i;

	for (i = 0; i < t->nr_members; i++)
		if (t->member[i].dev)
			pool->block_size = max(pool->block_size,
					       bdev_logical_block_size(t->member[i].dev->bdev));
}

static int activate(struct hy_pool *pool, struct hy_table *t)
{
	const char *why;
	int r = 0;

	if (pool->outdated) {
		DMERR("a table that was loaded later said otherwise of this pool: load one again");
		return -EINVAL;
	}
	if (pool->loaded && hy_pool_loads_anew(pool, t))
		hy_pool_deactivate(pool);
	/*
	 * Its table is gone, and the areas' devices with it, or is read-only and may have left some
	 * out: they are to be written to.
	 */
	if (pool->loaded && (!pool->bound || pool->read_only))
		bind_meta(pool, t);
	if (pool->loaded)
		r = leave_areas(pool, t);
	bind(pool, t);
	/* Also if it fails: these are the members that it has from here on. */
	why = hy_pool_claim(pool, t);
	if (!r && why) {
		DMERR("%s", why);
		r = -EBUSY;
	}
	if (r)
		return r;
	r = pool->loaded ? hy_reshape(pool, t) : load_or_make(pool, t);
	if (r)
		return r;
	if (t->ready.policy)
		adopt_policy(pool, &t->ready);
	unbind_removed(pool);
	note_areas(pool, t);
	note_block_size(pool, t);
	set_mode(pool, t);
	/* What it did not take: it did not want it after all, nor would it the next time. */
	hy_ready_drop_shape(&t->ready);
	hy_cache_unmake(t->ready.cache);
	t->ready.cache = NULL;
	return 0;
}

/**
 * hy_pool_activate - make a pool ready for I/O through a table
 * @pool: the pool, suspended
 * @t: its new table
 *
 * A pool that is loaded is adopted as it is, or takes the table's shape, for which no memory is
 * needed but what the table brings (ready.c names exceptions); otherwise its metadata is read, or
 * made if the metadata areas are blank.
 *
 * Context: preresume, under memalloc_noio; sleeps.
 * Return: 0 or an error.
 */
int hy_pool_activate(struct hy_pool *pool, struct hy_table *t)
{
	int r;

	/* Of a resume that failed: it uses the devices of the table before. */
	hy_commit_end(pool);
	down_write(&pool->state_sem);
	r = activate(pool, t);
	up_write(&pool->state_sem);
	return r;
}

/**
 * hy_pool_deactivate - forget what was loaded
 * @pool: the pool
 *
 * Context: sleeps; no I/O, no commit.
 */
void hy_pool_deactivate(struct hy_pool *pool)
{
	if (pool->policy)
		hy_policy_destroy(pool->policy);
	pool->policy = NULL;
	unload(pool);
	pool->loaded = false;
	hy_pool_unclaim(pool);
}
