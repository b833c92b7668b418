// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools: one per metadata area, however many tables there are.
 */
#include "hybrid.h"

static LIST_HEAD(hy_pools);
static DEFINE_MUTEX(hy_pools_lock);
static LIST_HEAD(hy_claimed);		/* of those that are loaded; hy_keys_lock */
static bool hy_no_claims;		/* likewise */
static DEFINE_SPINLOCK(hy_keys_lock);	/* so that no resume waits for constructors */

/* --- modes --- */

static void raise_event(struct work_struct *work)
{
	struct hy_pool *pool = container_of(work, struct hy_pool, event_work);
	struct hy_table *t = READ_ONCE(pool->bound);

	if (t)
		dm_table_event(t->ti->table);
}

/**
 * hy_pool_set_mode - make it less: rw, ro, fail
 * @pool: the pool
 * @mode: the new mode; one that is not less changes nothing
 * @why: for the log
 *
 * Context: any.
 */
void hy_pool_set_mode(struct hy_pool *pool, enum hy_mode mode, const char *why)
{
	static const char * const name[] = { "read-write", "read-only", "failed" };

	if (READ_ONCE(pool->mode) >= mode)
		return;
	WRITE_ONCE(pool->mode, mode);
	DMERR("pool becomes %s: %s", name[mode], why);
	queue_work(pool->wq, &pool->event_work);
}

/**
 * hy_pool_needs_check - memory and media may disagree: stop writing
 * @pool: the pool
 * @why: for the log
 *
 * Context: any.
 */
void hy_pool_needs_check(struct hy_pool *pool, const char *why)
{
	WRITE_ONCE(pool->needs_check, true);
	hy_pool_set_mode(pool, HY_RO, why);
	hy_commit_kick(pool);	/* the superblock is to say so, too */
}

/* --- life --- */

static void members_exit(struct hy_pool *pool)
{
	unsigned int i;

	for (i = 0; i < pool->nr_members; i++) {
		if (pool->member[i].mon)
			ek_rtmon_destroy(pool->member[i].mon);
		free_percpu(pool->member[i].writes);
	}
}

static int members_init(struct hy_pool *pool, struct hy_table *t)
{
	unsigned int i;

	pool->nr_members = t->nr_members;
	for (i = 0; i < t->nr_members; i++) {
		struct hy_member *m = &pool->member[i];

		m->writes = alloc_percpu(u64);
		m->mon = ek_rtmon_create();
		if (!m->writes || !m->mon)
			return -ENOMEM;
	}
	return 0;
}

static void pool_free(struct hy_pool *pool)
{
	struct hy_free *f, *tmp;

	/* A resume that failed may have left a commit under way, which asks for another one. */
	cancel_delayed_work_sync(&pool->commit_timer);
	if (pool->commit_wq)
		drain_workqueue(pool->commit_wq);

	hy_cache_stop(pool);
	if (pool->srcu_ready) {
		hy_drain_wait(pool);
		cleanup_srcu_struct(&pool->srcu);
	}
	hy_cache_destroy(pool);
	hy_pool_deactivate(pool);
	list_for_each_entry_safe(f, tmp, &pool->frees, list)
		hy_free_drop(f);
	if (pool->wq)
		destroy_workqueue(pool->wq);
	if (pool->discard_wq)
		destroy_workqueue(pool->discard_wq);
	if (pool->settle_wq)
		destroy_workqueue(pool->settle_wq);
	if (pool->submit_wq)
		destroy_workqueue(pool->submit_wq);
	if (pool->commit_wq)
		destroy_workqueue(pool->commit_wq);
	if (pool->kc)
		dm_kcopyd_client_destroy(pool->kc);
	if (pool->io_client)
		dm_io_client_destroy(pool->io_client);
	bioset_exit(&pool->bs);
	free_percpu(pool->rings);
	hy_heat_destroy(&pool->heat);
	members_exit(pool);
	kvfree(pool->images);
	kvfree(pool->image_index);
	kfree(pool->committed);
	kfree(pool->text);
	kvfree(pool);
}

static void pool_init_plain(struct hy_pool *pool)
{
	unsigned int i;

	INIT_LIST_HEAD(&pool->list);
	INIT_LIST_HEAD(&pool->claimed);
	mutex_init(&pool->load_lock);
	init_rwsem(&pool->state_sem);
	init_rwsem(&pool->free_sem);
	spin_lock_init(&pool->free_lock);
	INIT_LIST_HEAD(&pool->frees);
	pool->tell_until = jiffies;
	pool->tell_fua_until = jiffies;
	bio_list_init(&pool->nospace);
	bio_list_init(&pool->crowded);
	INIT_WORK(&pool->event_work, raise_event);
	xa_init(&pool->migs);
	xa_init(&pool->refused);
	init_waitqueue_head(&pool->mig_wait);
	hy_settle_init(pool);
	for (i = 0; i < EK_MAX_MEMBERS; i++) {
		hy_free_init_member(pool, &pool->member[i]);
		hy_settle_init_member(&pool->member[i], i);
		hy_submit_init_member(&pool->member[i]);
	}
	for (i = 0; i < HY_BUCKETS; i++) {
		spin_lock_init(&pool->bucket[i].lock);
		INIT_HLIST_HEAD(&pool->bucket[i].ios);
	}
	for (i = 0; i < EK_MAX_META; i++) {
		atomic_set(&pool->meta_io[i].pending, 1);
		init_completion(&pool->meta_io[i].done);
	}
	hy_settings_init(&pool->set);
	hy_lanes_init(pool);
	hy_commit_init(pool);
	hy_mirror_init(pool);
	hy_balance_init(pool);
	hy_heat_init(&pool->heat, pool->set.candidates);
}

static int pool_init(struct hy_pool *pool, struct hy_table *t)
{
	int r;

	pool->extent_sectors = t->extent_sectors;
	pool->extent_shift = ilog2(t->extent_sectors);
	pool->granule_shift = pool->extent_shift - ilog2(ek_granules(t->extent_sectors));
	pool_init_plain(pool);
	r = members_init(pool, t);
	if (r)
		return r;
	pool->rings = alloc_percpu(struct hy_ring);
	pool->images = kvmalloc_array(HY_IMAGES, sizeof(struct ek_page), GFP_KERNEL);
	pool->image_index = kvmalloc_array(HY_IMAGES, sizeof(u64), GFP_KERNEL);
	pool->committed = kmalloc(sizeof(*pool->committed), GFP_KERNEL);
	pool->text = kmalloc(2 * EK_POLICY_TEXT_SIZE, GFP_KERNEL);
	pool->wq = alloc_workqueue("hybrid", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	pool->discard_wq = alloc_workqueue("hybrid_discard", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	pool->settle_wq = alloc_workqueue("hybrid_settle", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	pool->submit_wq = alloc_workqueue("hybrid_submit", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	pool->commit_wq = alloc_ordered_workqueue("hybrid_commit", WQ_MEM_RECLAIM);
	if (!pool->rings || !pool->images || !pool->image_index || !pool->committed ||
	    !pool->text || !pool->wq || !pool->discard_wq || !pool->settle_wq ||
	    !pool->submit_wq || !pool->commit_wq)
		return -ENOMEM;
	r = bioset_init(&pool->bs, 64, 0, BIOSET_NEED_BVECS);
	if (r)
		return r;
	r = init_srcu_struct(&pool->srcu);
	if (r)
		return r;
	pool->srcu_ready = true;
	pool->io_client = dm_io_client_create();
	if (IS_ERR(pool->io_client)) {
		r = PTR_ERR(pool->io_client);
		pool->io_client = NULL;
		return r;
	}
	pool->kc = dm_kcopyd_client_create(NULL);
	if (IS_ERR(pool->kc)) {
		r = PTR_ERR(pool->kc);
		pool->kc = NULL;
	}
	return r;
}

/* --- registry --- */

static bool same_area(const struct hy_area *a, dev_t dev, sector_t start)
{
	return a->dev && a->dev->bdev->bd_dev == dev && a->start == start;
}

/*
 * The labels of @t were read: where an area was that is not there by now may be anything, and is
 * this pool's only if they say so.
 */
static bool has_key(struct hy_pool *pool, const struct hy_table *t, const struct hy_area *a)
{
	bool ours = !memcmp(t->uuid, pool->uuid, EK_UUID_SIZE), has = false;
	unsigned int k;

	spin_lock(&hy_keys_lock);
	for (k = 0; k < EK_MAX_META; k++)
		has |= (pool->key[k].open || ours) &&
		       same_area(a, pool->key[k].dev, pool->key[k].start);
	spin_unlock(&hy_keys_lock);
	return has;
}

/* hy_pools_lock held. */
static struct hy_pool *find_pool(struct hy_table *t)
{
	struct hy_pool *pool;
	unsigned int i;

	list_for_each_entry(pool, &hy_pools, list)
		for (i = 0; i < t->nr_meta; i++)
			if (has_key(pool, t, &t->meta[i]))
				return pool;
	return NULL;
}

/* hy_pools_lock held.  One that never was activated may still become another one. */
static bool has_live_pool(struct mapped_device *md)
{
	struct hy_pool *pool;

	list_for_each_entry(pool, &hy_pools, list)
		if (pool->md == md && pool->loaded)
			return true;
	return false;
}

/**
 * hy_pool_note_keys - a pool is found by the metadata areas of its last table from here on
 * @pool: the pool
 * @t: the table; of an area that is not there it stays what it was
 * @vacant: a bit for each place where none is missing: what was there is another's by now
 *
 * Context: any but interrupts.
 */
void hy_pool_note_keys(struct hy_pool *pool, struct hy_table *t, unsigned int vacant)
{
	unsigned int i;

	spin_lock(&hy_keys_lock);
	for (i = 0; i < t->nr_meta; i++) {
		pool->key[i].open = t->meta[i].dev;
		if (t->meta[i].dev) {
			pool->key[i].dev = t->meta[i].dev->bdev->bd_dev;
			pool->key[i].start = t->meta[i].start;
		} else if (vacant & BIT(i)) {
			memset(&pool->key[i], 0, sizeof(pool->key[i]));
		}
	}
	spin_unlock(&hy_keys_lock);
}

/* Has another pool that is loaded one of the table's members?  hy_keys_lock held. */
static bool claimed_by_other(struct hy_pool *pool, struct hy_table *t)
{
	struct hy_pool *other;
	unsigned int i, k;

	list_for_each_entry(other, &hy_claimed, claimed)
		for (i = 0; other != pool && i < t->nr_members; i++)
			for (k = 0; k < EK_MAX_MEMBERS; k++)
				if (same_area(&t->member[i], other->claim[k].dev,
					      other->claim[k].start))
					return true;
	return false;
}

/**
 * hy_pool_claim - no other pool may be loaded with these members
 * @pool: the pool
 * @t: its table
 *
 * A metadata area that was replaced, and not wiped, names the same members as the pool that goes
 * on; it is no key of that any more.
 * Context: preresume.
 * Return: NULL, or why not.
 */
const char *hy_pool_claim(struct hy_pool *pool, struct hy_table *t)
{
	const char *why = NULL;
	unsigned int i;

	spin_lock(&hy_keys_lock);
	if (hy_no_claims && list_empty(&pool->claimed))
		why = "hibernation has begun";
	else if (claimed_by_other(pool, t))
		why = "a member is in use by another pool";
	for (i = 0; !why && i < t->nr_members; i++) {
		struct hy_area *a = &t->member[i];

		pool->claim[i].dev = a->dev ? a->dev->bdev->bd_dev : 0;
		pool->claim[i].start = a->start;
	}
	/* Of a table whose shape the pool did not take. */
	for (i = max(i, pool->nr_members); !why && i < EK_MAX_MEMBERS; i++)
		pool->claim[i].dev = 0;
	if (!why && list_empty(&pool->claimed))
		list_add(&pool->claimed, &hy_claimed);
	spin_unlock(&hy_keys_lock);
	return why;
}

/**
 * hy_pools_stop_claims - no pool may be loaded from here on, if none is
 * @who: set to the device of one that is loaded
 * @len: its room
 *
 * Context: any but interrupts.
 * Return: false: one is, and nothing has changed.
 */
bool hy_pools_stop_claims(char *who, size_t len)
{
	struct hy_pool *pool;

	spin_lock(&hy_keys_lock);
	pool = list_first_entry_or_null(&hy_claimed, struct hy_pool, claimed);
	/* Its device goes after that. */
	if (pool)
		strscpy(who, dm_device_name(pool->md), len);
	hy_no_claims = !pool;
	spin_unlock(&hy_keys_lock);
	return !pool;
}

/**
 * hy_pools_allow_claims - pools may be loaded again
 *
 * Context: any but interrupts.
 */
void hy_pools_allow_claims(void)
{
	spin_lock(&hy_keys_lock);
	hy_no_claims = false;
	spin_unlock(&hy_keys_lock);
}

/* It is not loaded any more. */
void hy_pool_unclaim(struct hy_pool *pool)
{
	spin_lock(&hy_keys_lock);
	list_del_init(&pool->claimed);
	memset(pool->claim, 0, sizeof(pool->claim));
	spin_unlock(&hy_keys_lock);
}

/* Said by the constructor already: by the resume nothing could be refused in time. */
static bool is_claimed(struct hy_pool *pool, struct hy_table *t)
{
	bool is;

	spin_lock(&hy_keys_lock);
	is = claimed_by_other(pool, t);
	spin_unlock(&hy_keys_lock);
	return is;
}

/**
 * hy_pool_matches - can this table be one of a pool that exists already?
 * @pool: the pool
 * @t: the table
 * @error: set to why not; NULL when it can
 *
 * Context: hy_pools_lock and state_sem held.
 * Return: true when it can.
 */
bool hy_pool_matches(struct hy_pool *pool, struct hy_table *t, char **error)
{
	*error = NULL;
	if (pool->extent_sectors != t->extent_sectors)
		*error = "extent size is not the live pool's";
	else if (!pool->loaded && pool->nr_members != t->nr_members)
		*error = "number of members is not the live pool's";
	else if (pool->loaded)
		hy_reshape_allowed(pool, t, error);
	return !*error;
}

/*
 * A pool that nothing was read of yet is nothing but what its table says, and that one goes when
 * this one is loaded: nobody should have to clear it first.  It can't be resumed any more, or there
 * could be two pools with these areas.  hy_pools_lock held.
 * Return: 0: it is the table's, too; -ESTALE: it is out of date; -EAGAIN: it is being resumed;
 * another error.
 */
static int share(struct hy_pool *pool, struct hy_table *t, char **error)
{
	int r = -EINVAL;

	if (pool->md != dm_table_get_md(t->ti->table)) {
		*error = "the pool is in use by another device";
		return -EBUSY;
	}
	if (!down_read_trylock(&pool->state_sem))
		return -EAGAIN;
	if (is_claimed(pool, t)) {
		*error = "a member is in use by another pool";
		r = -EBUSY;
	} else if (hy_labels_adopt(pool, t, error)) {
		r = -EIO;
	} else if (hy_pool_matches(pool, t, error)) {
		pool->refs++;
		r = 0;
	} else if (!pool->loaded) {
		pool->outdated = true;
		r = -ESTALE;
	}
	up_read(&pool->state_sem);
	return r;
}

/* One reference less.  hy_pools_lock held. */
static void put(struct hy_pool *pool)
{
	if (--pool->refs)
		return;
	list_del(&pool->list);
	pool_free(pool);
}

/*
 * Until its resume is over, however long its metadata devices take: other pools have nothing to do
 * with that.
 */
static void wait_for_resume(struct hy_pool *pool)
{
	pool->refs++;
	mutex_unlock(&hy_pools_lock);
	down_read(&pool->state_sem);
	up_read(&pool->state_sem);
	mutex_lock(&hy_pools_lock);
	put(pool);
}

/**
 * hy_pool_get - the pool of a table, made if there is none
 * @t: devices opened, areas checked
 * @error: set on failure
 *
 * Context: constructor; sleeps; reads no metadata.
 * Return: it, with a reference; ERR_PTR().
 */
struct hy_pool *hy_pool_get(struct hy_table *t, char **error)
{
	struct hy_pool *pool;
	int r = -EINVAL;

	mutex_lock(&hy_pools_lock);
	while ((pool = find_pool(t))) {
		r = share(pool, t, error);
		if (r == -ESTALE)
			list_del_init(&pool->list);
		else if (r == -EAGAIN)
			wait_for_resume(pool);
		else
			goto out;
		r = -EINVAL;
	}
	/* {A, -} and {-, B} may be one pool, of which B is stale: not beside each other. */
	if (has_live_pool(dm_table_get_md(t->ti->table))) {
		*error = "none of the metadata areas is the live pool's";
		goto out;
	}
	if (is_claimed(NULL, t)) {
		*error = "a member is in use by another pool";
		r = -EBUSY;
		goto out;
	}
	r = hy_labels_adopt(NULL, t, error);
	if (r)
		goto out;
	*error = "out of memory";
	r = -ENOMEM;
	pool = kvzalloc(sizeof(*pool), GFP_KERNEL);
	if (!pool)
		goto out;
	r = pool_init(pool, t);
	if (r) {
		pool_free(pool);
		goto out;
	}
	pool->md = dm_table_get_md(t->ti->table);
	hy_pool_note_keys(pool, t, 0);
	pool->refs = 1;
	list_add(&pool->list, &hy_pools);
out:
	mutex_unlock(&hy_pools_lock);
	return r ? ERR_PTR(r) : pool;
}

/**
 * hy_pool_put - a table is gone
 * @pool: the pool
 *
 * Context: sleeps; the table is suspended or never was resumed.
 */
void hy_pool_put(struct hy_pool *pool)
{
	mutex_lock(&hy_pools_lock);
	put(pool);
	mutex_unlock(&hy_pools_lock);
}
