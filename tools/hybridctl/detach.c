// SPDX-License-Identifier: GPL-2.0-only
/*
 * A disk that is dead keeps its node and its place on the bus as long as the volume has it open,
 * and one that was pulled comes back as another device.  So the volume is given a table without it,
 * and later one that has it where it is then:
 *
 *	detach	"-" in place of the member, and of a metadata area on the same device.  Nothing is
 *		written for that but what each suspension commits; at the next start the device is
 *		missed, or taken if it is there.
 *	attach	the device in these places.  What it had not flushed when it went was lost for the
 *		kernel at its next commit, and told; its state is made anew, and what it missed of
 *		the metadata is copied.
 *
 * Which devices are where is in the table alone, so that cut between any two steps the volume is
 * as it was, or without the device, or has it in a state that "status" shows.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <evenkeel/store.h>

#include "area.h"
#include "detach.h"
#include "dm.h"
#include "fresh.h"
#include "lock.h"
#include "member.h"
#include "mirror.h"
#include "msg.h"
#include "owner.h"
#include "store_io.h"
#include "units.h"

static bool is_none(const struct table_area *a)
{
	return !strcmp(a->dev, "-");
}

/* What of a volume is on one device: -1 where nothing is. */
struct parts {
	int member;
	int meta;
};

static int area_at(const struct table_area *a, unsigned int nr, const char *dev)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!strcmp(a[i].dev, dev))
			return i;
	return -1;
}

static int meta_at(const struct live *l, const char *dev)
{
	return area_at(l->t.meta, l->t.nr_meta, dev);
}

static int meta_by_path(const struct live *l, const char *path)
{
	struct stat st;
	char *number;
	int k;

	if (stat(path, &st) || !S_ISBLK(st.st_mode))
		return -1;
	number = xasprintf("%u:%u", major(st.st_rdev), minor(st.st_rdev));
	k = meta_at(l, number);
	free(number);
	return k;
}

/* "meta0", of an area whose node may be gone. */
static int meta_by_name(const struct live *l, const char *word)
{
	unsigned int k;

	for (k = 0; k < l->t.nr_meta; k++)
		if (!strncmp(word, "meta", 4) && word[4] == (char)('0' + k) && !word[5])
			return k;
	return -1;
}

static struct parts parts_of(const struct live *l, const char *word)
{
	struct parts p = { live_member(l, word, true), -1 };

	if (p.member >= 0) {
		if (!is_none(&l->t.dev[p.member]))
			p.meta = meta_at(l, l->t.dev[p.member].dev);
		return p;
	}
	p.meta = meta_by_name(l, word);
	if (p.meta < 0)
		p.meta = meta_by_path(l, word);
	else if (!is_none(&l->t.meta[p.meta]))
		p.member = area_at(l->t.dev, l->t.nr_devs, l->t.meta[p.meta].dev);
	return p;
}

/* --- it goes --- */

static unsigned int members_there(const struct live *l)
{
	unsigned int i, nr = 0;

	for (i = 0; i < l->t.nr_devs; i++)
		nr += !is_none(&l->t.dev[i]);
	return nr;
}

static int judge_meta(const struct live *l, int k)
{
	if (k < 0 || l->st.meta[k] != 'A')
		return EXIT_OK;
	if (l->t.nr_meta > 1 && l->st.meta[!k] == 'A')
		return EXIT_OK;
	return fail("%s: all that the metadata is on lies there (\"hybridctl metadata %s move %d DEV\" moves it)",
		    l->name, l->name, k);
}

static int judge_member(const struct live *l, int i, bool force)
{
	const struct status_dev *d = &l->st.dev[i];
	char size[UNIT_TEXT];

	if (members_there(l) < 2)
		return fail("%s: member %d is the last one that is there", l->name, i);
	if (d->state == DEV_FAILED || force)
		return EXIT_OK;
	return fail("%s: member %d is %s, and %s on it could be neither read nor written then: evacuate and remove it, or --force",
		    l->name, i, status_dev_state_name(d->state),
		    human_bytes(size, d->used * l->st.extent_sectors * SECTOR_SIZE));
}

static void tell_detached(const struct live *l, struct parts p, const char *word)
{
	char size[UNIT_TEXT];

	if (p.meta >= 0)
		note("%s: goes on without metadata area %d", l->name, p.meta);
	if (p.member < 0)
		return;
	note("%s: goes on without member %d (%s): what is on it, %s, can be neither read nor written until \"hybridctl attach %s DEV\" (\"hybridctl lost %s\" lists it)",
	     l->name, p.member, word,
	     human_bytes(size, l->st.dev[p.member].used * l->st.extent_sectors * SECTOR_SIZE),
	     l->name, l->name);
}

static int take_out(struct live *l, struct parts p, const char *word)
{
	bool writable = l->st.mode == MODE_RW;
	int err;

	if (p.member >= 0)
		live_put_none(l, p.member);
	if (p.meta >= 0)
		live_put_no_meta(l, p.meta);
	err = live_reload(l, l->sectors);
	if (!err)
		err = live_look(l);
	if (err)
		return err;
	tell_detached(l, p, word);
	if (!writable || l->st.mode == MODE_RW)
		return EXIT_OK;
	return fail("%s: is not writable any more (\"hybridctl status %s\" says what to do)",
		    l->name, l->name);
}

static bool is_out(const struct live *l, struct parts p)
{
	return is_none(p.member >= 0 ? &l->t.dev[p.member] : &l->t.meta[p.meta]);
}

/* Of a command that was cut short, or whose resume failed, it may be suspended still. */
static int already(struct live *l, struct parts p)
{
	struct dm_dev dev;
	int err = EXIT_OK;

	if (dm_lookup(l->name, &dev) > 0 && dev.suspended)
		err = live_reload(l, l->sectors);
	if (!err && p.member >= 0)
		note("%s: is without member %d already", l->name, p.member);
	else if (!err)
		note("%s: is without metadata area %d already", l->name, p.meta);
	return err;
}

int detach_device(struct live *l, const char *word, bool force)
{
	struct parts p = parts_of(l, word);
	int err;

	if (p.member < 0 && p.meta < 0)
		return fail("%s: no part of %s (a path, the number that status shows, meta0 or meta1)",
			    word, l->name);
	if (p.member >= 0 && l->st.dev[p.member].state == DEV_REMOVED)
		return fail("%s: member %d has been removed", l->name, p.member);
	if (is_out(l, p))
		return already(l, p);
	err = judge_meta(l, p.meta);
	if (!err && p.member >= 0)
		err = judge_member(l, p.member, force);
	return err ? err : take_out(l, p, word);
}

/* --- it comes back --- */

struct found {
	struct parts p;
	uint64_t member_start, meta_start;
	struct area meta;
};

static void find_part(const struct ek_super *sb, const struct area *area, struct found *f)
{
	const struct ek_label_info *info = &area->info;
	uint32_t i;

	for (i = 0; i < le32_to_cpu(sb->nr_members); i++)
		if (info->role == EK_ROLE_MEMBER &&
		    le32_to_cpu(sb->member[i].state) != EK_MEMBER_REMOVED &&
		    !memcmp(info->area_uuid, sb->member[i].uuid, EK_UUID_SIZE)) {
			f->p.member = i;
			f->member_start = info->area_start;
		}
	if (info->role == EK_ROLE_META && info->index < EK_MAX_META &&
	    ek_super_names(sb, info->index, info->area_uuid)) {
		f->p.meta = info->index;
		f->meta_start = info->area_start;
		f->meta = *area;
	}
}

/* A leg of a mirror, a path of multipath: what is on top of it is the member, if anything is. */
static int judge_owner(const struct live *l, const struct bdev *dev, const struct area *area,
		       int nr)
{
	char *owner;
	int err;

	if (live_uses(l, dev->rdev))
		return EXIT_OK;
	if (bdev_has_holders(dev->rdev))
		return fresh_in_use(dev->path, dev->rdev);
	owner = owner_of(dev, area, nr);
	err = owner ? fail("%s: %s: what is made of that is to be attached", dev->path, owner) :
		      EXIT_OK;
	free(owner);
	return err;
}

/* By labels at their heads: a device that got something else since has that there. */
static int find_parts(const struct live *l, const struct bdev *dev, struct found *f)
{
	struct area area[AREA_MAX];
	struct ek_super sb;
	int nr, err;

	*f = (struct found){ .p = { -1, -1 } };
	if (live_super(l, &sb))
		return EXIT_FAILED;
	nr = area_find(dev, area, &err);
	if (nr < 0)
		return fail("%s: %s", dev->path, strerror(-nr));
	err = nr > 0 ? judge_owner(l, dev, area, nr) : EXIT_OK;
	if (err)
		return err;
	while (nr-- > 0)
		if (!area[nr].head_err &&
		    !memcmp(area[nr].info.pool_uuid, l->info.pool_uuid, EK_UUID_SIZE))
			find_part(&sb, &area[nr], f);
	/* Of a superblock that is ahead of the table. */
	if (f->p.member >= (int)l->t.nr_devs)
		f->p.member = -1;
	if (f->p.meta >= (int)l->t.nr_meta)
		f->p.meta = -1;
	if (f->p.member < 0 && f->p.meta < 0)
		return fail("%s: carries no part of %s", dev->path, l->name);
	return EXIT_OK;
}

/* The area that was found, as it lies on @dev. */
static struct store_io io_of(const struct bdev *dev, const struct found *f)
{
	return (struct store_io){
		.dev = { *dev }, .start = { f->meta_start * SECTOR_SIZE },
		.bytes = { f->meta.info.area_sectors * SECTOR_SIZE }, .areas = 1,
	};
}

/* Does its superblock call stale what the volume has in use?  What nobody can tell may. */
static bool went_on(const struct live *l, const struct bdev *dev, const struct found *f)
{
	struct ek_super *sb = bdev_buffer(sizeof(*sb));
	struct store_io io = io_of(dev, f);
	bool untold = false, is;
	unsigned int k;

	is = !ek_store_peek(&store_io_ops, &io, io.bytes, 1, sb, &untold) &&
	     !memcmp(sb->pool_uuid, l->info.pool_uuid, EK_UUID_SIZE);
	for (k = 0; is && k < l->st.nr_meta; k++)
		if (l->st.meta[k] == 'A' && le32_to_cpu(sb->meta_stale) & 1u << k)
			untold = true;
	free(sb);
	return untold;
}

static int forget(const struct bdev *dev, const struct found *f)
{
	struct bdev rw;
	struct store_io io;
	int err = bdev_open_same(&rw, dev->path, dev->rdev, BDEV_WRITE);

	if (err)
		return fail("%s: %s", dev->path, bdev_error(err));
	io = io_of(&rw, f);
	err = ek_store_forget(&store_io_rw, &io, 1);
	bdev_close(&rw);
	return err ? fail("%s: its metadata can't be wiped: %s", dev->path, strerror(-err)) :
		     EXIT_OK;
}

/* What has the place of the first of @f that is missing; NULL: nobody has. */
static const struct table_area *occupant(const struct live *l, const struct found *f)
{
	if (f->p.member >= 0 && !is_none(&l->t.dev[f->p.member]))
		return &l->t.dev[f->p.member];
	if (f->p.meta >= 0 && !is_none(&l->t.meta[f->p.meta]))
		return &l->t.meta[f->p.meta];
	return NULL;
}

/* Left: what there is to do. */
static void drop_present(const struct live *l, const struct bdev *dev, struct found *f)
{
	char *number = xasprintf("%u:%u", major(dev->rdev), minor(dev->rdev));

	if (f->p.meta >= 0 && !strcmp(l->t.meta[f->p.meta].dev, number))
		f->p.meta = -1;
	if (f->p.member >= 0 && !strcmp(l->t.dev[f->p.member].dev, number))
		f->p.member = -1;
	free(number);
}

/* A place is free, or has a device that is dead, which goes now. */
static int make_way(struct live *l, const struct bdev *dev, const struct found *f)
{
	const struct table_area *has = occupant(l, f);
	char *old;
	int err;

	if (!has)
		return EXIT_OK;
	switch (live_answers(has)) {
	case LIVE_ANSWERS:
		return fail("%s: has that already on %s, which answers: %s is a copy of it",
			    l->name, has->dev, dev->path);
	case LIVE_STALLED:
		return fail("%s: has that already on %s, which may answer yet: \"hybridctl detach\" it, if it will not",
			    l->name, has->dev);
	case LIVE_DEAD:
		break;
	}
	old = xstrdup(has->dev);
	err = take_out(l, (struct parts){ f->p.member, meta_at(l, old) }, old);
	free(old);
	return err;
}

/* Its errors were another time's. */
static int trust(struct live *l, int i)
{
	int err = live_look(l);

	if (!err && l->st.dev[i].state != DEV_ACTIVE && l->st.dev[i].state != DEV_DRAINING)
		err = live_message(l, "reinstate", i);
	if (!err)
		err = live_look(l);
	if (!err)
		note("%s: member %d is %s", l->name, i,
		     status_dev_state_name(l->st.dev[i].state));
	return err;
}

static int put_back(struct live *l, const struct bdev *dev, const struct found *f)
{
	int err = EXIT_OK;

	if (f->p.member >= 0)
		live_put(l, f->p.member, dev->rdev, f->member_start);
	if (f->p.meta >= 0)
		live_put_meta(l, f->p.meta, dev->rdev, f->meta_start);
	err = live_reload(l, l->sectors);
	if (!err && f->p.member >= 0)
		err = trust(l, f->p.member);
	if (!err && f->p.meta >= 0)
		err = live_look(l) ? EXIT_FAILED : mirror_resync(l);
	return err;
}

/*
 * Where the volume was used with that area alone, and with the other one alone, what either map
 * says lies on a device is not what the other one does: nothing of it is taken before somebody has
 * said which of the two counts.
 */
static int attach_open(struct live *l, struct bdev *dev, bool force)
{
	struct found f;
	bool fork;
	int err;

	dm_clear(l->name);
	err = find_parts(l, dev, &f);
	if (err)
		return err;
	drop_present(l, dev, &f);
	if (f.p.member < 0 && f.p.meta < 0) {
		note("%s: is in %s already (\"hybridctl reinstate\" trusts a member again)",
		     dev->path, l->name);
		return EXIT_OK;
	}
	fork = f.p.meta >= 0 && went_on(l, dev, &f);
	if (fork && !force)
		return fail("%s: metadata area %d on it went on without the one in use: neither has all that was written since (--force forgets what this one has)",
			    dev->path, f.p.meta);
	err = make_way(l, dev, &f);
	if (!err && fork)
		err = forget(dev, &f);
	return err ? err : put_back(l, dev, &f);
}

/* Before it is read, which might take for ever, with the devices' lock held. */
static int judge_path(const struct live *l, const char *path, dev_t *rdev)
{
	const char *stalled;
	struct stat st;

	if (stat(path, &st))
		return fail("%s: %s", path, strerror(errno));
	if (!S_ISBLK(st.st_mode))
		return fail("%s: not a block device", path);
	*rdev = st.st_rdev;
	/* A write to it would wait for one that the volume can't end before it. */
	if (bdev_lies_on(st.st_rdev, live_rdev(l)))
		return fail("%s: lies on the volume itself", path);
	stalled = bdev_stalled(st.st_rdev);
	return stalled ? fail("%s: can't be looked at, %s", path, stalled) : EXIT_OK;
}

int attach_device(struct live *l, const char *path, bool force)
{
	struct bdev dev;
	dev_t rdev = 0;
	int err;

	if (judge_path(l, path, &rdev) || lock_devices())
		return EXIT_FAILED;
	err = bdev_open_same(&dev, path, rdev, 0);
	if (err) {
		err = fail("%s: %s", path, bdev_error(err));
	} else {
		err = attach_open(l, &dev, force);
		bdev_close(&dev);
	}
	unlock_devices();
	return err;
}
