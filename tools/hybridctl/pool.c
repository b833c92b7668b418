// SPDX-License-Identifier: GPL-2.0-only
/* Puts pools together from labels. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "../common/looks.h"
#include "dm.h"
#include "msg.h"
#include "owner.h"
#include "pool.h"
#include "quote.h"
#include "store_io.h"
#include "table.h"
#include "twins.h"
#include "udev_db.h"

static bool quiet;	/* nothing is said of what is passed over, and none waited for */

static struct pool *pool_of(struct pools *pools, const struct ek_label_info *info)
{
	struct pool *p;
	unsigned int i;

	for (i = 0; i < pools->nr; i++)
		if (!memcmp(pools->pool[i].uuid, info->pool_uuid, EK_UUID_SIZE))
			return &pools->pool[i];
	pools->pool = xrealloc(pools->pool, (pools->nr + 1) * sizeof(*p));
	p = &pools->pool[pools->nr++];
	memset(p, 0, sizeof(*p));
	memcpy(p->uuid, info->pool_uuid, EK_UUID_SIZE);
	memcpy(p->name, info->name, EK_NAME_SIZE);
	p->name[EK_NAME_SIZE - 1] = 0;
	name_clean(p->name);
	p->extent_sectors = info->extent_sectors;
	p->nr_meta = info->nr_meta;
	p->nr_members = info->nr_members;
	return p;
}

/* The first one is told. */
static void conflict(struct pool *p, char *text)
{
	if (p->conflict)
		free(text);
	else
		p->conflict = text;
}

static void fill(struct pool_area *slot, const struct bdev *dev, const struct area *a)
{
	slot->there = true;
	slot->path = xstrdup(dev->path);
	slot->rdev = dev->rdev;
	slot->fs = dev->fs;
	slot->ino = dev->ino;
	slot->area = *a;
}

/* The place that a label is of; NULL: the pool does not have it. */
static struct pool_area *place_of(struct pool *p, const struct ek_label_info *info)
{
	if (info->role == EK_ROLE_META)
		return info->index < p->nr_meta ? &p->meta[info->index] : NULL;
	return info->index < p->nr_members ? &p->member[info->index] : NULL;
}

static void append_area(struct pool_area **list, unsigned int *nr, const struct pool_area *a)
{
	*list = xrealloc(*list, (*nr + 1) * sizeof(**list));
	(*list)[(*nr)++] = *a;
}

/*
 * One that left and one that came after it: the superblock tells which is which.  Of each, those
 * that carry the same label are its twins.
 */
static void add_further(struct pool *p, const struct pool_area *slot, const struct pool_area *a)
{
	bool twin = twins_are(slot, a);
	unsigned int k;

	for (k = 0; k < p->nr_other && !twin; k++)
		twin = twins_are(&p->other[k], a);
	if (twin)
		append_area(&p->twin, &p->nr_twins, a);
	else
		append_area(&p->other, &p->nr_other, a);
}

static void add_area(struct pool *p, const struct bdev *dev, const struct area *a)
{
	struct pool_area *slot, more;
	char text[AREA_TEXT];

	/* Those that came later are not in the labels of those before. */
	if (a->info.nr_members > p->nr_members)
		p->nr_members = a->info.nr_members;
	if (a->info.nr_meta > p->nr_meta)
		p->nr_meta = a->info.nr_meta;
	slot = place_of(p, &a->info);
	if (!slot) {
		conflict(p, xasprintf("%s: label of %s, which the pool does not have", dev->path,
				      area_text(text, a->info.role, a->info.index)));
		return;
	}
	if (a->info.extent_sectors != p->extent_sectors)
		conflict(p, xasprintf("%s: label does not agree with the pool's others",
				      dev->path));
	if (slot->there) {
		fill(&more, dev, a);
		add_further(p, slot, &more);
	} else {
		fill(slot, dev, a);
	}
}

static void forget(struct pool_area *a)
{
	free(a->path);
	memset(a, 0, sizeof(*a));
}

static void swap_areas(struct pool_area *a, struct pool_area *b)
{
	struct pool_area swap = *a;

	*a = *b;
	*b = swap;
}

static bool is_named(const struct pool_area *a, const struct ek_super_member *m)
{
	return a->there && !memcmp(a->area.info.area_uuid, m->uuid, EK_UUID_SIZE);
}

static void settle_member(struct pool *p, unsigned int i, const struct ek_super_member *m)
{
	unsigned int k;

	if (le32_to_cpu(m->state) == EK_MEMBER_REMOVED) {
		p->removed |= 1u << i;
		forget(&p->member[i]);
		return;
	}
	for (k = 0; k < p->nr_other && !is_named(&p->member[i], m); k++)
		if (p->other[k].area.info.role == EK_ROLE_MEMBER &&
		    p->other[k].area.info.index == i && is_named(&p->other[k], m))
			swap_areas(&p->member[i], &p->other[k]);
	/* A stale label alone: the member is missing, not another one in its place. */
	if (p->member[i].there && !is_named(&p->member[i], m))
		forget(&p->member[i]);
}

static bool is_meant(const struct pool_area *a, unsigned int i, const struct ek_super *sb)
{
	return a->there && a->area.info.role == EK_ROLE_META && a->area.info.index == i &&
	       ek_super_names(sb, i, a->area.info.area_uuid);
}

/*
 * One that was to take the place of an area that is left out, and did not get there, while that is
 * gone: with it the pool is complete.  It is stale as what it replaces was.
 */
static bool stands_in(const struct pool *p, unsigned int i, const struct ek_super *sb)
{
	unsigned int k;

	if (p->vacant >> i & 1)
		return false;
	for (k = 0; k < p->nr_other; k++)
		if (p->other[k].there && p->other[k].area.info.role == EK_ROLE_META &&
		    p->other[k].area.info.index == i)
			return false;
	return le32_to_cpu(sb->meta_stale) >> i & 1;
}

/* The metadata areas that a superblock names, and no others. */
static void take_meta(struct pool *p, const struct ek_super *sb, bool all)
{
	unsigned int i, k;

	/* A label that came before the superblock, which then did not come. */
	for (i = le32_to_cpu(sb->nr_meta); all && i < p->nr_meta; i++)
		forget(&p->meta[i]);
	if (all) {
		p->nr_meta = le32_to_cpu(sb->nr_meta);
		p->vacant = ek_super_vacant(sb);
	}
	for (i = 0; i < p->nr_meta; i++) {
		for (k = 0; k < p->nr_other && !is_meant(&p->meta[i], i, sb); k++)
			if (is_meant(&p->other[k], i, sb))
				swap_areas(&p->meta[i], &p->other[k]);
		if (all && p->meta[i].there && !is_meant(&p->meta[i], i, sb) &&
		    !stands_in(p, i, sb))
			forget(&p->meta[i]);
	}
	for (k = 0; all && k < p->nr_other; k++)
		if (p->other[k].there && p->other[k].area.info.role == EK_ROLE_META)
			forget(&p->other[k]);
}

/* The superblock of one area alone, if it is that area's. */
static bool peek(const struct pool *p, const struct pool_area *a, struct ek_super *sb)
{
	struct pool one = { .nr_meta = p->nr_meta };
	struct store_io io;
	bool is = false;

	if (!a->there || a->area.info.role != EK_ROLE_META)
		return false;
	memcpy(one.name, p->name, sizeof(one.name));
	one.meta[a->area.info.index] = *a;
	if (store_io_open(&io, &one))
		return false;
	is = !ek_store_peek(&store_io_ops, &io, io.bytes, io.areas, sb, NULL) &&
	     !memcmp(sb->pool_uuid, p->uuid, EK_UUID_SIZE) && is_meant(a, a->area.info.index, sb);
	store_io_close(&io);
	return is;
}

/*
 * One that was replaced and the one that came in its place: those that the latest superblock
 * names are opened, which tells in the end.
 */
static void choose_meta(struct pool *p)
{
	struct ek_super *sb = bdev_buffer(2 * sizeof(*sb));
	bool found = false;
	unsigned int i;

	for (i = 0; i < p->nr_meta + p->nr_other; i++) {
		if (!peek(p, i < p->nr_meta ? &p->meta[i] : &p->other[i - p->nr_meta], sb + 1))
			continue;
		if (!found || le64_to_cpu(sb[1].generation) > le64_to_cpu(sb[0].generation))
			sb[0] = sb[1];
		found = true;
	}
	if (found)
		take_meta(p, sb, false);
	free(sb);
}

static void settle(struct pool *p, const struct ek_super *sb)
{
	unsigned int i, k, nr = le32_to_cpu(sb->nr_members);

	if (memcmp(sb->pool_uuid, p->uuid, EK_UUID_SIZE))
		return;
	p->generation = le64_to_cpu(sb->generation);
	p->stale = le32_to_cpu(sb->meta_stale);
	take_meta(p, sb, true);
	for (i = 0; i < nr; i++)
		settle_member(p, i, &sb->member[i]);
	/* A label that came before the superblock, which then did not come. */
	for (i = nr; i < p->nr_members; i++)
		forget(&p->member[i]);
	p->nr_members = nr;
	for (k = 0; k < p->nr_other; k++)
		if (p->other[k].area.info.role == EK_ROLE_MEMBER)
			forget(&p->other[k]);
}

void pool_settle(struct pool *p)
{
	const char *reason;
	struct ek_store *store;
	struct store_io io;
	unsigned int k;

	/* What a volume has in use is meant, and beside it nobody takes a copy for it. */
	if (!p->active)
		twins_prefer(p);
	if (p->nr_other)
		choose_meta(p);
	if (!store_io_open(&io, p)) {
		if (io.areas && !ek_store_open_named(&store_io_ops, &io, io.bytes,
						     store_io_uuids(&io), io.areas, &store,
						     &reason)) {
			settle(p, ek_store_super(store));
			ek_store_close(store);
		}
		store_io_close(&io);
	}
	for (k = 0; k < p->nr_other; k++)
		if (p->other[k].there)
			conflict(p, xasprintf("%s: another device has the same place in the pool",
					      p->other[k].path));
	if (!p->active)
		twins_judge(p, quiet);
}

static void enter(struct pools *pools, const struct bdev *dev, const struct area *area, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (area[i].info.nr_meta <= EK_MAX_META &&
		    area[i].info.nr_members <= EK_MAX_MEMBERS)
			add_area(pool_of(pools, &area[i].info), dev, &area[i]);
}

int pools_add(struct pools *pools, const struct bdev *dev, int *head_err)
{
	struct area area[AREA_MAX];
	int nr = area_find(dev, area, head_err);

	enter(pools, dev, area, nr);
	return nr;
}

int pools_add_named(struct pools *pools, const struct bdev *dev, int *head_err)
{
	struct area area[AREA_MAX];
	int nr = area_find_inside(dev, area, head_err);

	enter(pools, dev, area, nr);
	return nr;
}

/* Of a device that is held what is on top is preferred; or it is that which we look for. */
static char *owner_unless_held(const struct bdev *dev, const struct area *area, int nr)
{
	return nr > 0 && !bdev_has_holders(dev->rdev) ? owner_of(dev, area, nr) : NULL;
}

int pools_add_unowned(struct pools *pools, const struct bdev *dev)
{
	struct area area[AREA_MAX];
	int head_err, nr = area_find(dev, area, &head_err);
	char *owner = owner_unless_held(dev, area, nr);

	if (owner) {
		if (!quiet)
			warn("%s: passed over, as it %s", dev->path, owner);
		free(owner);
		return -EBUSY;
	}
	enter(pools, dev, area, nr);
	return nr;
}

struct scan {
	struct pools *pools;
	struct dm_dev *live;
	unsigned int nr_live;
	struct dm_dev *unfinished;	/* what they hold is nobody's yet */
	unsigned int nr_unfinished;
	dev_t with;		/* asked for by the event of this one; or 0 */
	bool owned;		/* parts of other devices count, too */
	uint64_t least;		/* sectors of one that matters if it can't be looked at */
	unsigned int looks;	/* left, at devices that are locked or stalled: all together */
	dev_t *passed;		/* over: what is on them is not known */
	unsigned int nr_passed;
	dev_t *seen;
	unsigned int nr_seen;
	dev_t *to_come;		/* of udev's, with events of their own; or private */
	unsigned int nr_to_come;
};

static dev_t live_dev(const struct scan *scan, unsigned int i)
{
	return makedev(scan->live[i].major, scan->live[i].minor);
}

static void append(dev_t **list, unsigned int *nr, dev_t rdev)
{
	*list = xrealloc(*list, (*nr + 1) * sizeof(**list));
	(*list)[(*nr)++] = rdev;
}

static void pass_over(struct scan *scan, dev_t rdev)
{
	append(&scan->passed, &scan->nr_passed, rdev);
}

/* What is on a volume doesn't tell whose its members are. */
static bool is_on_live(const struct scan *scan, dev_t upper, dev_t lower)
{
	unsigned int i;

	for (i = 0; i < scan->nr_live; i++)
		if (bdev_is_above(upper, live_dev(scan, i)) &&
		    bdev_is_above(live_dev(scan, i), lower))
			return true;
	return false;
}

/* Of these devices one that lies on it; 0: none. */
static dev_t above_among(const struct scan *scan, const dev_t *list, unsigned int nr, dev_t rdev)
{
	for (; nr; nr--, list++)
		if (bdev_is_above(*list, rdev) && !is_on_live(scan, *list, rdev))
			return *list;
	return 0;
}

static void tell_hidden(const struct bdev *dev, dev_t by, const char *how)
{
	struct area area[AREA_MAX];
	int head_err;
	char *path;

	if (quiet || area_find(dev, area, &head_err) <= 0)
		return;
	path = bdev_path(by);
	warn("%s: passed over, as %s %s", dev->path, path, how);
	free(path);
}

/*
 * What lies on it counts, also if that can't be looked at now, or is not to be yet: a volume with
 * what is beneath in it would go past multipath, or past a layer that is suspended to be changed.
 * The kernel's claims don't prevent that: all of device-mapper's are one holder's.  A partition
 * can't be used while its disk is, and what is above that shows the same.
 */
static bool is_hidden(const struct scan *scan, const struct bdev *dev)
{
	dev_t disk = bdev_disk(dev->rdev), by;

	by = above_among(scan, scan->passed, scan->nr_passed, dev->rdev);
	if (by) {
		tell_hidden(dev, by, "lies on it and can't be looked at");
		return true;
	}
	by = above_among(scan, scan->to_come, scan->nr_to_come, dev->rdev);
	if (by) {
		tell_hidden(dev, by, "lies on it, which udev has yet to look at or keeps private");
		return true;
	}
	if (disk != dev->rdev && bdev_has_holders(disk)) {
		tell_hidden(dev, disk, "is in use as a whole");
		return true;
	}
	return false;
}

/* Its origin may be there and yet to come, and then this one would be taken for it. */
static bool is_snapshot(const struct scan *scan, dev_t rdev)
{
	return scan->with && bdev_is_snapshot(rdev);
}

static int look_at(struct scan *scan, const struct bdev *dev)
{
	int err;

	/* Who asks what is there at all is told of it. */
	if (!scan->owned && (is_hidden(scan, dev) || is_snapshot(scan, dev->rdev)))
		return 0;
	return scan->owned ? pools_add(scan->pools, dev, &err) :
			     pools_add_unowned(scan->pools, dev);
}

static bool may_wait(struct scan *scan)
{
	if (!scan->looks)
		return false;
	scan->looks--;
	nap_between_looks();
	return true;
}

/* What a volume in use has is known without a look, and so is that of which it has a partition. */
static bool is_below_live(const struct scan *scan, dev_t rdev)
{
	unsigned int i;

	for (i = 0; i < scan->nr_live; i++)
		if (bdev_lies_on(live_dev(scan, i), rdev))
			return true;
	return false;
}

/* A path, or a leg: what is on it was seen on what it is part of. */
static bool is_below_seen(const struct scan *scan, dev_t rdev)
{
	unsigned int i;

	for (i = 0; i < scan->nr_seen; i++)
		if (bdev_is_above(scan->seen[i], rdev))
			return true;
	return false;
}

/* One whose size nobody knows may have any. */
static void note_unseen(struct scan *scan, const char *path, dev_t rdev)
{
	uint64_t sectors = bdev_sectors_told(rdev);

	if (scan->pools->unseen || (sectors && sectors < scan->least) ||
	    is_below_live(scan, rdev) || is_below_seen(scan, rdev))
		return;
	scan->pools->unseen = xstrdup(path);
}

/* A drive without a medium has nothing, and DRBD's secondary is seen beneath. */
static bool has_nothing(int err)
{
	return err == -ENOMEDIUM || err == -EMEDIUMTYPE || err == -ENXIO || err == -ENODEV ||
	       err == -ENOENT;
}

/* Any other that fails now may have it still. */
static void note_failed(struct scan *scan, const char *path, dev_t rdev, int err)
{
	if (!has_nothing(err))
		note_unseen(scan, path, rdev);
}

/* What is passed over may be what a volume lacks then, so it is said. */
static int open_to_look(struct scan *scan, struct bdev *dev, const char *path, dev_t rdev)
{
	const char *stalled;
	int err;

	while ((stalled = bdev_stalled(rdev)) && may_wait(scan))
		;
	if (stalled) {
		if (!quiet)
			warn("%s: passed over, %s", path, stalled);
		note_unseen(scan, path, rdev);
		return -EBUSY;
	}
	while ((err = bdev_open(dev, path, BDEV_LOOK)) == -EAGAIN && may_wait(scan))
		;
	if (err == -EAGAIN) {
		if (!quiet)
			warn("%s: passed over, another program has it locked", path);
		note_unseen(scan, path, rdev);
	}
	return err;
}

static void scan_device(void *ctx, dev_t rdev)
{
	struct scan *scan = ctx;
	struct bdev dev;
	unsigned int i;
	char *path;
	int err;

	for (i = 0; i < scan->nr_live; i++)
		if (live_dev(scan, i) == rdev)
			return;
	for (i = 0; i < scan->nr_unfinished; i++)
		if (makedev(scan->unfinished[i].major, scan->unfinished[i].minor) == rdev)
			return;
	/* It may turn out to be a path, or a leg, or is one. Its own event looks for its pool. */
	if (scan->with && rdev != scan->with &&
	    (udev_db_is_to_come(rdev) || udev_db_is_private(rdev))) {
		append(&scan->to_come, &scan->nr_to_come, rdev);
		return;
	}
	path = bdev_path(rdev);
	/* No medium, being discarded, gone meanwhile: nothing to be assembled from. */
	err = access(path, R_OK) ? -errno : open_to_look(scan, &dev, path, rdev);
	if (!err) {
		err = look_at(scan, &dev);
		if (err < 0 && err != -EBUSY && dev.sectors)
			note_failed(scan, path, rdev, err);
		bdev_close(&dev);
	} else if (err != -EBUSY && err != -EAGAIN) {
		note_failed(scan, path, rdev, err);
	}
	if (err < 0)
		pass_over(scan, rdev);
	else
		append(&scan->seen, &scan->nr_seen, rdev);
	free(path);
}

static void note_to_come(struct pools *pools, const struct ek_label_info *info)
{
	unsigned int i;

	for (i = 0; i < pools->nr; i++)
		if (info->role == EK_ROLE_META && info->index < EK_MAX_META &&
		    !memcmp(pools->pool[i].uuid, info->pool_uuid, EK_UUID_SIZE))
			pools->pool[i].to_come |= 1u << info->index;
}

/*
 * With it another device may be meant, or nobody knows which; and metadata may name others.  That
 * is judged when it is there: its event asks again.
 */
static void note_awaited(struct pools *pools, const struct bdev *dev,
			 const struct ek_label_info *info)
{
	const struct pool_area *slot;
	char text[AREA_TEXT];
	struct pool *p;
	bool same;

	for (p = pools->pool; p < pools->pool + pools->nr; p++) {
		if (p->active || p->awaited || memcmp(p->uuid, info->pool_uuid, EK_UUID_SIZE))
			continue;
		slot = place_of(p, info);
		if (!slot || !slot->there)
			continue;
		same = !memcmp(slot->area.info.area_uuid, info->area_uuid, EK_UUID_SIZE);
		if (same ? !twins_outrank(p, slot, dev->rdev) : info->role == EK_ROLE_META)
			p->awaited = xasprintf("%s is on %s, too",
					       area_text(text, info->role, info->index), dev->path);
	}
}

/*
 * A mirror that is stale is done without, but not if it only comes a moment later.  Nor is a copy
 * taken for the original that comes then, or that is private: nobody knows which is meant.  Only
 * where a pool would be activated: devices whose own event is to come are not read otherwise, as
 * they may be slow.
 */
static void look_ahead(struct pools *pools, dev_t rdev)
{
	struct area area[AREA_MAX];
	char *path = bdev_path(rdev), *owner, *since;
	bool comes = !udev_db_is_private(rdev);
	struct bdev dev;
	int nr, err;

	if (!bdev_stalled(rdev) && !access(path, R_OK) && !bdev_open(&dev, path, BDEV_LOOK)) {
		nr = area_find(&dev, area, &err);
		owner = owner_unless_held(&dev, area, nr);
		/* Its event looks for nothing if it has become another's. */
		since = nr > 0 ? owner_since(&dev, area, nr) : NULL;
		for (; nr > 0 && !since; nr--) {
			if (comes)
				note_to_come(pools, &area[nr - 1].info);
			/* What is part of another one will be passed over. */
			if (!owner)
				note_awaited(pools, &dev, &area[nr - 1].info);
		}
		free(since);
		free(owner);
		bdev_close(&dev);
	}
	free(path);
}

static bool is_among(const struct table_area *t, unsigned int nr, const struct pool_area *a)
{
	char number[32];
	unsigned int i;

	snprintf(number, sizeof(number), "%u:%u", major(a->rdev), minor(a->rdev));
	for (i = 0; i < nr; i++)
		if (t[i].start == a->area.info.area_start && !strcmp(t[i].dev, number))
			return true;
	return false;
}

static bool table_has(const struct table *t, const struct pool_area *a)
{
	return a->there && is_among(t->meta, t->nr_meta, a);
}

/* Of one place there may be two areas: which of them counts is not settled yet. */
static bool table_is_of(const struct table *t, const struct pool *p)
{
	unsigned int i;

	for (i = 0; i < p->nr_meta; i++)
		if (table_has(t, &p->meta[i]))
			return true;
	for (i = 0; i < p->nr_other; i++)
		if (table_has(t, &p->other[i]))
			return true;
	for (i = 0; i < p->nr_twins; i++)
		if (table_has(t, &p->twin[i]))
			return true;
	return false;
}

/* What the volume has is meant. */
static void take_from_table(struct pool *p, const struct table *t, struct pool_area *a,
			    unsigned int nr)
{
	struct pool_area *slot;

	for (; nr; nr--, a++) {
		slot = place_of(p, &a->area.info);
		if (a->area.info.role == EK_ROLE_META ? table_has(t, a) :
		    is_among(t->dev, t->nr_devs, a))
			swap_areas(slot, a);
	}
}

static void activate(struct pool *p, const char *name, const struct table *t)
{
	p->active = xstrdup(name);
	take_from_table(p, t, p->twin, p->nr_twins);
	take_from_table(p, t, p->other, p->nr_other);
}

static void mark_active(struct pools *pools, const char *name)
{
	uint64_t sectors;
	unsigned int i;
	struct table t;
	char *params, why[96];

	if (dm_get_table(name, &params, &sectors))
		return;
	if (table_parse(params, &t, why, sizeof(why))) {
		for (i = 0; i < pools->nr; i++)
			if (!pools->pool[i].active && table_is_of(&t, &pools->pool[i]))
				activate(&pools->pool[i], name, &t);
		table_free(&t);
	}
	free(params);
}

static int scan_all(struct scan *scan)
{
	struct pools *pools = scan->pools;
	bool ahead = false;
	unsigned int i;
	int err;

	memset(pools, 0, sizeof(*pools));
	scan->looks = quiet ? 0 : LOOKS;
	err = dm_list_hybrid(&scan->live, &scan->nr_live);
	if (err)
		return err;
	err = dm_list_unfinished(&scan->unfinished, &scan->nr_unfinished);
	if (err) {
		dm_free_list(scan->live, scan->nr_live);
		return err;
	}
	bdev_for_each(scan_device, scan);
	for (i = 0; i < scan->nr_live; i++)
		mark_active(pools, scan->live[i].name);
	dm_free_list(scan->live, scan->nr_live);
	dm_free_list(scan->unfinished, scan->nr_unfinished);
	free(scan->passed);
	free(scan->seen);
	for (i = 0; i < pools->nr; i++)
		if (!pools->pool[i].active) {
			pool_settle(&pools->pool[i]);
			ahead |= pool_lacks_stale_only(&pools->pool[i]);
		}
	for (i = 0; ahead && i < scan->nr_to_come; i++)
		look_ahead(pools, scan->to_come[i]);
	free(scan->to_come);
	return 0;
}

int pools_scan(struct pools *pools)
{
	struct scan scan = { .pools = pools };

	return scan_all(&scan);
}

int pools_scan_with(struct pools *pools, dev_t with)
{
	struct scan scan = { .pools = pools, .with = with };

	return scan_all(&scan);
}

int pools_scan_owned(struct pools *pools, uint64_t least)
{
	struct scan scan = { .pools = pools, .owned = true, .least = least };

	return scan_all(&scan);
}

void pools_quietly(bool is)
{
	quiet = is;
}

void pools_free(struct pools *pools)
{
	unsigned int i, n;

	for (n = 0; n < pools->nr; n++) {
		struct pool *p = &pools->pool[n];

		for (i = 0; i < EK_MAX_META; i++)
			free(p->meta[i].path);
		for (i = 0; i < EK_MAX_MEMBERS; i++)
			free(p->member[i].path);
		for (i = 0; i < p->nr_other; i++)
			free(p->other[i].path);
		for (i = 0; i < p->nr_twins; i++)
			free(p->twin[i].path);
		free(p->other);
		free(p->twin);
		free(p->conflict);
		free(p->awaited);
		free(p->active);
	}
	free(pools->pool);
	free(pools->unseen);
	memset(pools, 0, sizeof(*pools));
}

unsigned int pools_find(const struct pools *pools, const char *name, struct pool **pool)
{
	unsigned int i, nr = 0;
	char uuid[UUID_TEXT];
	struct pool *p;

	for (i = 0; i < pools->nr; i++) {
		p = &pools->pool[i];
		if (strcmp(name, p->name) && strcmp(name, uuid_text(uuid, p->uuid)) &&
		    (!p->active || strcmp(name, p->active)))
			continue;
		*pool = p;
		nr++;
	}
	return nr;
}

/* Between the look at it and this its path may have become another's. */
int pool_area_open(struct bdev *dev, const struct pool_area *a, unsigned int flags)
{
	int err = bdev_open_same(dev, a->path, a->rdev, BDEV_FILES | flags);

	if (err)
		return err;
	if (dev->fs != a->fs || dev->ino != a->ino)
		err = -EREMCHG;
	else if (flags & BDEV_WRITE)
		err = area_is_still(dev, &a->area);
	if (err)
		bdev_close(dev);
	return err;
}

static char *add_missing(char *list, uint32_t role, unsigned int index)
{
	char text[AREA_TEXT], *longer;

	area_text(text, role, index);
	longer = list ? xasprintf("%s, %s", list, text) : xstrdup(text);
	free(list);
	return longer;
}

char *pool_missing(const struct pool *pool)
{
	char *list = NULL;
	unsigned int i;

	for (i = 0; i < pool->nr_meta; i++)
		if (!pool->meta[i].there && !(pool->vacant >> i & 1))
			list = add_missing(list, EK_ROLE_META, i);
	for (i = 0; i < pool->nr_members; i++)
		if (!pool->member[i].there && !(pool->removed >> i & 1))
			list = add_missing(list, EK_ROLE_MEMBER, i);
	return list;
}

bool pool_lacks_stale_only(const struct pool *pool)
{
	uint32_t needed = ~(pool->vacant | (pool->stale & ~pool->to_come));
	unsigned int i;

	for (i = 0; i < pool->nr_meta; i++)
		if (!pool->meta[i].there && needed >> i & 1)
			return false;
	for (i = 0; i < pool->nr_members; i++)
		if (!pool->member[i].there && !(pool->removed >> i & 1))
			return false;
	return true;
}
