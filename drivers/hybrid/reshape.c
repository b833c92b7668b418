// SPDX-License-Identifier: GPL-2.0-only
/*
 * A table with more members, or longer, than the live pool: the pool becomes so.
 *
 *	label	a tool has written it to the new member: of this pool, with the index that
 *		the member is to have, and a uuid of its own
 *	table	the constructor judges it (hy_reshape_allowed()), reading that label and
 *		what is in memory, writing nothing
 *	resume	one superblock with the members that join, the new size and the policy's text
 *	  cut before	the old shape: a label that the superblock doesn't name counts for
 *			nothing
 *	  cut after	the new shape
 *
 * A table with two metadata areas, where the live pool has one, makes a place for another in the
 * same superblock: vacant, until a resync (mirror.c) has filled it.
 *
 * A table with "-" where the live pool has a member says that the member is lost, or
 * removed: nothing is written for that.
 */
#include "hybrid.h"

static bool joins(struct hy_pool *pool, struct hy_table *t, unsigned int i)
{
	const struct ek_super *s = ek_store_super(pool->store);

	if (!t->member[i].dev)
		return false;
	/* One that left and is still in the table stays away: it has the old uuid. */
	return i >= pool->nr_members ||
	       (pool->member[i].state == EK_MEMBER_REMOVED &&
		memcmp(t->member[i].uuid, s->member[i].uuid, EK_UUID_SIZE));
}

/* What is to change?  False: nothing. */
static bool wanted(struct hy_pool *pool, struct hy_table *t)
{
	u64 extents = DIV_ROUND_UP_ULL(t->ti->len, t->extent_sectors);
	struct ek_reshape *want = &t->ready.want;
	unsigned int i;

	memset(want, 0, sizeof(*want));
	want->nr_members = t->nr_members;
	want->nr_extents = max(extents, pool->nr_extents);
	if (t->nr_meta > le32_to_cpu(ek_store_super(pool->store)->nr_meta))
		want->nr_meta = t->nr_meta;
	for (i = 0; i < t->nr_members; i++) {
		if (!joins(pool, t, i))
			continue;
		want->joining |= BIT(i);
		memcpy(want->member_uuid[i], t->member[i].uuid, EK_UUID_SIZE);
		want->member_extents[i] = ek_member_extents(t->member[i].sectors,
							    t->extent_sectors);
	}
	t->ready.grows = extents > pool->nr_extents;
	return want->joining || want->nr_meta || t->ready.grows;
}

/* Physical extents of those that will be there. */
static u64 capacity(struct hy_pool *pool, const struct ek_reshape *want)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < want->nr_members; i++)
		if (want->joining & BIT(i))
			sum += want->member_extents[i];
		else if (pool->member[i].state <= EK_MEMBER_DEGRADED)
			sum += pool->member[i].nr_extents;
	return sum;
}

static char *judge(struct hy_pool *pool, struct hy_table *t)
{
	const struct ek_reshape *want = &t->ready.want;

	if (t->read_only || pool->store_ro || !hy_pool_writable(pool))
		return "a pool that is read-only takes no member and does not grow";
	if (t->ready.grows && want->nr_extents > capacity(pool, want))
		return "longer than its members together";
	switch (ek_store_reshape_check(pool->store, want, &t->ready.super)) {
	case 0:
		return NULL;
	case -ENOSPC:
		return "metadata area too small for another member or a longer device";
	}
	return "a member can't join there";
}

/*
 * What is on the live device may be written in smaller blocks than such a member takes, be it one
 * that joins or one that was lost when the pool was started.
 */
static bool has_larger_blocks(struct hy_pool *pool, struct hy_area *a)
{
	return a->dev && bdev_logical_block_size(a->dev->bdev) > pool->block_size;
}

static char *judge_members(struct hy_pool *pool, struct hy_table *t)
{
	const struct ek_super *s = ek_store_super(pool->store);
	unsigned int i;

	if (t->nr_members < pool->nr_members)
		return "number of members is not the live pool's";
	if (t->nr_meta < le32_to_cpu(s->nr_meta))
		return "number of metadata areas is not the live pool's";
	for (i = 0; i < t->nr_members; i++) {
		struct hy_member *m = &pool->member[i];

		if (has_larger_blocks(pool, &t->member[i]))
			return "a member has larger logical blocks than the live pool";
		if (i >= pool->nr_members) {
			if (!t->member[i].dev)
				return "a member that joins can't be lost";
			continue;
		}
		if (!t->member[i].dev || m->state == EK_MEMBER_REMOVED)
			continue;
		if (memcmp(t->member[i].uuid, s->member[i].uuid, EK_UUID_SIZE) ||
		    (m->bdev && (t->member[i].dev->bdev->bd_dev != m->bdev->bd_dev ||
				 t->member[i].start != m->area_start)))
			return "a member is not the live pool's";
	}
	return NULL;
}

static bool is_there(struct hy_pool *pool, struct hy_table *t, unsigned int i)
{
	return t->meta[i].dev && t->meta[i].dev->bdev->bd_dev == pool->in_use[i].dev &&
	       t->meta[i].start == pool->in_use[i].start;
}

/**
 * hy_areas_gone - which metadata areas in use has a table not, or another in their place?
 * @pool: the pool, loaded
 * @t: the table
 *
 * The constructor lets none through that has another in the place of one in use; but which ones are
 * in use may change before the table is resumed.
 * Context: preresume; state_sem held.
 * Return: a bit for each.
 */
unsigned int hy_areas_gone(struct hy_pool *pool, struct hy_table *t)
{
	unsigned int i, gone = 0, areas = ek_store_areas(pool->store);

	for (i = 0; i < EK_MAX_META; i++)
		if (areas & BIT(i) && !is_there(pool, t, i))
			gone |= BIT(i);
	return gone;
}

/**
 * hy_pool_loads_anew - does a table's resume begin with what the media say?
 * @pool: the pool, loaded
 * @t: the table
 *
 * What was opened for reading has nothing in memory that the media do not.
 * Context: state_sem held.
 * Return: whether.
 */
bool hy_pool_loads_anew(struct hy_pool *pool, struct hy_table *t)
{
	return pool->store_ro && (!t->read_only || hy_areas_gone(pool, t));
}

/*
 * A mirror in use gets what changes from here on only: an older copy of it in its place would keep
 * old pages, whole, and be believed at the next start.  And one of those in use has to stay.
 */
static char *judge_areas(struct hy_pool *pool, struct hy_table *t)
{
	unsigned int i, left = 0, areas = ek_store_areas(pool->store);

	for (i = 0; i < t->nr_meta; i++) {
		if (!(areas & BIT(i)) || !t->meta[i].dev)
			continue;
		left++;
		if (pool->in_use[i].dev && (t->meta[i].dev->bdev->bd_dev != pool->in_use[i].dev ||
					    t->meta[i].start != pool->in_use[i].start))
			return "a metadata area is not the live pool's";
	}
	return areas && !left ? "none of the metadata areas is the live pool's" : NULL;
}

/**
 * hy_reshape_allowed - can the live pool be what this table says?
 * @pool: the pool, loaded
 * @t: the table, its labels read; what it wants is noted in it, for hy_ready_shape()
 * @error: set to why not; NULL when it can
 *
 * Context: constructor; state_sem held, which a resume waits for: takes no memory; writes nothing.
 * Return: true when it can.
 */
bool hy_reshape_allowed(struct hy_pool *pool, struct hy_table *t, char **error)
{
	*error = judge_members(pool, t);
	if (!*error && !pool->store_ro)
		*error = judge_areas(pool, t);
	if (!*error && wanted(pool, t))
		*error = judge(pool, t);
	return !*error;
}

/* What was measured and known of the device that had the number before; nobody uses its monitor. */
static void forget_device(struct hy_member *m)
{
	memset(&m->sample, 0, sizeof(m->sample));
	memset(m->usual_ns, 0, sizeof(m->usual_ns));
	m->share = 0;
	m->seen_occupancy = 0;
	atomic64_set(&m->copy_debt, 0);
	memset(m->probe.last, 0, sizeof(m->probe.last));
	atomic64_set(&m->probe.nr, 0);
	atomic64_set(&m->probe.ns, 0);
	m->probe.seen_nr = 0;
	m->probe.seen_ns = 0;
	m->passes = (struct hy_passes){};
	/* Or a period of few requests would be judged by its errors. */
	m->seen_failed = atomic64_read(&m->failed_requests);
	m->seen_failed_ended = atomic64_read(&m->failed_ended);
}

static void join(struct hy_pool *pool, unsigned int i, struct hy_ready *ready)
{
	struct hy_member *m = &pool->member[i];

	/* A removed one's go with @ready. */
	swap(m->space, ready->space[i]);
	if (!m->writes)
		swap(m->writes, ready->writes[i]);
	swap(m->mon, ready->mon[i]);
	forget_device(m);
	m->nr_extents = ready->want.member_extents[i];
	hy_member_forget_writes(m);
	clear_bit(i, &pool->distrusted);
	m->leaving = false;
	m->drained = false;
	atomic64_set(&m->errors, 0);
	atomic64_set(&m->allocations, 0);
	hy_member_becomes(pool, m, EK_MEMBER_ACTIVE);
	DMINFO("member %u has joined", i);
}

static void take_shape(struct hy_pool *pool, struct hy_ready *ready)
{
	unsigned long joining = ready->want.joining;
	unsigned int i;

	for_each_set_bit(i, &joining, EK_MAX_MEMBERS)
		join(pool, i, ready);
	pool->nr_members = ready->want.nr_members;
	if (ready->grows)
		ek_map_grow_finish(&pool->map, ready->want.nr_extents, ready->pages);
	if (ready->grows)
		ready->pages = NULL;
	pool->nr_extents = ready->want.nr_extents;
}

static int change(struct hy_pool *pool, struct hy_ready *ready)
{
	int r = hy_ready_shape(ready);

	if (r)
		return r;
	r = hy_commit_super(pool, &ready->want);
	if (r)
		return r;
	take_shape(pool, ready);
	return 0;
}

/**
 * hy_reshape - make the live pool what a table says
 * @pool: the pool, loaded and suspended
 * @t: the table; if its policy is to take over, the superblock has that one's text, too
 *
 * Context: preresume; state_sem held for writing; sleeps.
 * Return: 0, -EINVAL: not any more what the constructor saw; -ENOMEM or an I/O error, after
 * which the pool is as it was.
 */
int hy_reshape(struct hy_pool *pool, struct hy_table *t)
{
	char *error = judge_members(pool, t);
	int r = 0;

	if (error) {
		DMERR("%s", error);
		return -EINVAL;
	}
	if (wanted(pool, t)) {
		t->ready.want.policy = t->ready.policy ? t->policy : NULL;
		error = judge(pool, t);
		r = error ? -EINVAL : change(pool, &t->ready);
	}
	if (error)
		DMERR("%s", error);
	else if (r)
		DMERR("the pool can't be changed: error %d", r);
	return r;
}
