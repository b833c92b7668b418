// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: dm-hybrid
 *
 * One volume out of unlike devices as peers.  Logical extents map to extents of
 * the members; a policy places new ones and moves others by measured response
 * times.  Where to read on:
 *
 *	io.c, first_write.c, discard.c	what happens to a bio
 *	commit.c, checkpoint.c, free.c	what is durable when
 *	migrate.c, epoch.c		moving an extent under I/O
 *	balance.c, mover.c, policy*.c	who decides and who acts
 *	pool.c, activate.c, area.c	tables, pools, labels, metadata
 *	hibernate.c			why a machine with a volume does not hibernate
 */
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <compat/dm.h>
#include "hybrid.h"

static void put_devices(struct hy_table *t)
{
	unsigned int i;

	for (i = 0; i < t->nr_members; i++) {
		if (!t->member[i].dev)
			continue;
		ek_direct_put(&t->member[i].direct);
		dm_put_device(t->ti, t->member[i].dev);
	}
	for (i = 0; i < t->nr_meta; i++)
		if (t->meta[i].dev)
			dm_put_device(t->ti, t->meta[i].dev);
}

static int open_area(struct hy_table *t, struct hy_area *a, const char *path, sector_t start,
		     char *what, char **error)
{
	int r;

	a->start = start;
	if (!strcmp(path, "-"))
		return 0;
	r = dm_get_device(t->ti, path, dm_table_get_mode(t->ti->table), &a->dev);
	if (r)
		*error = what;
	return r;
}

static int get_devices(struct hy_table *t, const struct hy_args *args, char **error)
{
	unsigned int i;
	int r = 0;

	for (i = 0; !r && i < args->nr_meta; i++) {
		t->nr_meta = i + 1;
		r = open_area(t, &t->meta[i], args->meta_path[i], args->meta_start[i],
			      "cannot open a metadata device", error);
	}
	for (i = 0; !r && i < args->nr_members; i++) {
		t->nr_members = i + 1;
		r = open_area(t, &t->member[i], args->member_path[i], args->member_start[i],
			      "cannot open a member", error);
		if (!r && t->member[i].dev)
			ek_direct_get(&t->member[i].direct, t->member[i].dev->bdev);
	}
	return r;
}

static int check_length(struct hy_table *t, char **error)
{
	u64 extents = 0;
	unsigned int i;

	for (i = 0; i < t->nr_members; i++)
		if (t->member[i].dev)
			extents += ek_member_extents(t->member[i].sectors, t->extent_sectors);
		else
			return 0;	/* not known until the superblock is read */
	if (DIV_ROUND_UP_ULL(t->ti->len, t->extent_sectors) > extents) {
		*error = "longer than its members together";
		return -EINVAL;
	}
	return 0;
}

/* The smallest metadata area of a new pool must hold what the store needs. */
static int check_meta_size(struct hy_table *t, char **error)
{
	u64 extents = DIV_ROUND_UP_ULL(t->ti->len, t->extent_sectors);
	u32 member[EK_MAX_MEMBERS];
	unsigned int i;
	u64 need;

	if (t->labels != HY_LABELS_NEW)
		return 0;
	for (i = 0; i < t->nr_members; i++)
		member[i] = ek_member_extents(t->member[i].sectors, t->extent_sectors);
	need = ek_store_area_bytes(extents, t->nr_members, member);
	for (i = 0; i < t->nr_meta; i++) {
		if (!t->meta[i].dev) {
			*error = "a new pool needs all its metadata areas";
			return -EINVAL;
		}
		if ((u64)t->meta[i].sectors << SECTOR_SHIFT < need) {
			*error = "metadata area too small";
			return -EINVAL;
		}
	}
	return 0;
}

static int table_init(struct hy_table *t, const struct hy_args *args, char **error)
{
	int r;

	t->extent_sectors = args->extent_sectors;
	t->no_discard_passdown = args->no_discard_passdown;
	t->read_only = args->read_only || !ek_dm_table_writable(t->ti->table);
	strscpy(t->policy, args->policy, sizeof(t->policy));
	if (!IS_ALIGNED(t->ti->len, EK_BLOCK_SIZE >> SECTOR_SHIFT)) {
		*error = "length must be a multiple of 8 sectors";
		return -EINVAL;
	}
	r = get_devices(t, args, error);
	if (!r)
		r = hy_areas_check(t, error);
	if (!r)
		r = hy_ready_policy(t, error);
	if (!r)
		r = hy_labels_check(t, t->uuid, &t->labels, error);
	if (!r && t->read_only && t->labels == HY_LABELS_NEW) {
		*error = "a new pool can't be read-only";
		r = -EROFS;
	}
	/* One that exists is as long as it is; one that grows is judged with it (reshape.c). */
	if (!r && t->labels == HY_LABELS_NEW)
		r = check_length(t, error);
	if (!r)
		r = check_meta_size(t, error);
	return r;
}

static void init_target(struct dm_target *ti)
{
	ti->num_flush_bios = 1;
	ti->flush_supported = true;
	ti->num_discard_bios = 1;
	ti->discards_supported = true;
	ti->per_io_data_size = sizeof(struct hy_io);
}

static int make_table(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct hy_args *args = kzalloc(sizeof(*args), GFP_KERNEL);
	struct hy_table *t = kvzalloc(sizeof(*t), GFP_KERNEL);
	int r = -ENOMEM;

	ti->error = "out of memory";
	if (!args || !t)
		goto bad;
	t->ti = ti;
	r = hy_args_parse(args, argc, argv, &ti->error);
	if (!r)
		r = table_init(t, args, &ti->error);
	if (r)
		goto bad_devices;
	t->pool = hy_pool_get(t, &ti->error);
	if (IS_ERR(t->pool)) {
		r = PTR_ERR(t->pool);
		goto bad_devices;
	}
	ti->error = "out of memory";
	r = hy_ready_all(t);
	if (r)
		goto bad_ready;
	init_target(ti);
	ti->private = t;
	kfree(args);
	return 0;

bad_ready:
	hy_pool_put(t->pool);
bad_devices:
	hy_ready_drop(t);
	put_devices(t);
bad:
	kvfree(t);
	kfree(args);
	return r;
}

/* The table's own pool may be suspended, and memory then wait for it (ready.c). */
static int hybrid_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	unsigned int noio = memalloc_noio_save();
	int r = make_table(ti, argc, argv);

	memalloc_noio_restore(noio);
	return r;
}

static void hybrid_dtr(struct dm_target *ti)
{
	struct hy_table *t = ti->private;

	if (t->pool->bound == t)
		hy_pool_unbind(t->pool);
	/* It may have looked which table is bound before another one was. */
	flush_work(&t->pool->event_work);
	hy_pool_put(t->pool);
	hy_ready_drop(t);
	put_devices(t);
	kvfree(t);
}

static void hybrid_presuspend(struct dm_target *ti)
{
	struct hy_pool *pool = ((struct hy_table *)ti->private)->pool;

	WRITE_ONCE(pool->running, false);
	hy_balance_stop(pool);
}

/* What changed while it was not running, or was left by a commit that failed, has no timer. */
static void run(struct hy_pool *pool)
{
	WRITE_ONCE(pool->at_rest, false);
	hy_commit_tell_on(pool);
	WRITE_ONCE(pool->running, true);
	WRITE_ONCE(pool->timed, true);
	hy_commit_note_policy(pool);
	hy_commit_soon(pool);
	hy_balance_start(pool);
}

static void hybrid_presuspend_undo(struct dm_target *ti)
{
	run(((struct hy_table *)ti->private)->pool);
}

/* No bio is in flight any more. */
static void hybrid_postsuspend(struct dm_target *ti)
{
	struct hy_pool *pool = ((struct hy_table *)ti->private)->pool;

	if (!pool->loaded)
		return;
	flush_workqueue(pool->wq);
	flush_workqueue(pool->discard_wq);
	flush_workqueue(pool->settle_wq);
	flush_workqueue(pool->submit_wq);
	/* Nobody says that the members are the same, or have the same, afterwards. */
	hy_cache_forget_all(pool);
	hy_mirror_stop(pool);
	WRITE_ONCE(pool->timed, false);
	/* A commit that failed may be about to have the timer try again: not behind its end. */
	flush_workqueue(pool->commit_wq);
	cancel_delayed_work_sync(&pool->commit_timer);
	WRITE_ONCE(pool->closing, true);
	if (hy_pool_writable(pool) && hy_commit_wait(pool, true))
		DMERR("the last commit before suspension failed");
	hy_members_rest(pool);
	WRITE_ONCE(pool->closing, false);
	if (pool->needs_check && !pool->needs_check_noted)
		hy_commit_wait(pool, false);
	flush_workqueue(pool->commit_wq);
	if (hy_commit_tell_stop(pool))
		DMERR("a member did not make durable all that was written to it");
	hy_drain_wait(pool);
	/* The last bio may be done, and commit_first() not have left its epoch yet. */
	synchronize_srcu(&pool->srcu);
	smp_store_release(&pool->at_rest, true);	/* pairs with tell_at_rest() */
}

static int hybrid_preresume(struct dm_target *ti)
{
	struct hy_table *t = ti->private;
	unsigned int noio = memalloc_noio_save();
	int r = hy_pool_activate(t->pool, t);

	memalloc_noio_restore(noio);
	return r;
}

static void hybrid_resume(struct dm_target *ti)
{
	struct hy_pool *pool = ((struct hy_table *)ti->private)->pool;

	run(pool);
	/* What the table has, and has not, may be a change of states. */
	queue_work(pool->wq, &pool->event_work);
}

static int hybrid_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn, void *data)
{
	struct hy_table *t = ti->private;
	unsigned int i;
	int r = 0;

	for (i = 0; !r && i < t->nr_members; i++) {
		struct hy_area *a = &t->member[i];

		if (a->dev)
			r = fn(ti, a->dev, a->start, a->sectors, data);
	}
	return r;
}

/*
 * What lies above, other targets of dm for one, splits bios after max_sectors.  Many a member has
 * 255: the sector that is then left of an extent would share its granule with what went before, and
 * the first write of each such granule would be two that wait for each other, and zeroes besides.
 * Newer kernels derive max_sectors from max_hw_sectors.
 */
static void split_between_granules(struct hy_table *t, struct queue_limits *limits)
{
	u32 granule = max(t->extent_sectors / EK_GRANULES, EK_BLOCK_SIZE >> SECTOR_SHIFT);

	if (limits->max_hw_sectors > granule)	/* newer kernels derive the other one from it */
		limits->max_hw_sectors -= limits->max_hw_sectors % granule;
	if (limits->max_sectors <= granule || !(limits->max_sectors % granule))
		return;
	limits->max_sectors -= limits->max_sectors % granule;
	limits->max_hw_sectors = limits->max_sectors;
}

/* As large as they were, though a member that had such is lost: it may come back under a user. */
static void keep_block_size(struct hy_pool *pool, struct queue_limits *limits)
{
	limits->logical_block_size = max(limits->logical_block_size, pool->block_size);
	limits->physical_block_size = max(limits->physical_block_size, limits->logical_block_size);
	limits->io_min = max(limits->io_min, limits->physical_block_size);
}

static void hybrid_io_hints(struct dm_target *ti, struct queue_limits *limits)
{
	struct hy_table *t = ti->private;
	u32 bytes = t->extent_sectors << SECTOR_SHIFT;

	keep_block_size(t->pool, limits);
	split_between_granules(t, limits);
	limits->chunk_sectors = t->extent_sectors;
	limits->discard_granularity = bytes;
	limits->discard_alignment = 0;
	ek_limits_set_max_discard(limits, HY_MAX_DISCARD >> SECTOR_SHIFT);
	if (limits->io_opt < bytes)
		limits->io_opt = bytes;
}

static struct target_type hybrid_target = {
	.name = "hybrid",
	.version = { 1, 0, 0 },
	.features = DM_TARGET_NOWAIT | DM_TARGET_SINGLETON,
	.module = THIS_MODULE,
	.ctr = hybrid_ctr,
	.dtr = hybrid_dtr,
	.map = hy_map,
	.end_io = hy_end_io,
	.presuspend = hybrid_presuspend,
	.presuspend_undo = hybrid_presuspend_undo,
	.postsuspend = hybrid_postsuspend,
	.preresume = hybrid_preresume,
	.resume = hybrid_resume,
	.status = hy_status,
	.message = hy_message,
	.iterate_devices = hybrid_iterate_devices,
	.io_hints = hybrid_io_hints,
};

static int __init hybrid_init(void)
{
	int r = hy_free_init();

	if (r)
		return r;
	r = hy_cache_init();
	if (r)
		goto no_cache;
	r = hy_hibernate_init();
	if (r)
		goto no_notifier;
	r = dm_register_target(&hybrid_target);
	if (!r)
		return 0;
	hy_hibernate_exit();
no_notifier:
	hy_cache_exit();
no_cache:
	hy_free_exit();
	return r;
}

static void __exit hybrid_exit(void)
{
	dm_unregister_target(&hybrid_target);
	hy_hibernate_exit();
	hy_cache_exit();
	hy_free_exit();
}

module_init(hybrid_init);
module_exit(hybrid_exit);

MODULE_DESCRIPTION("device-mapper pool of unlike devices, balanced by response times");
MODULE_AUTHOR("Evenkeel");
MODULE_LICENSE("GPL");
