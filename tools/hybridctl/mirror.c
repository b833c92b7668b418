// SPDX-License-Identifier: GPL-2.0-only
/*
 * A metadata area moves to another device.  What the kernel does is told in its mirror.c.
 *
 *	the new device is judged, wiped and labelled	cut: a label that no superblock names
 *	the old area leaves				cut: stale; "resync" takes it in again
 *	a table with the new one in its place, and the	cut: the next start has the old one,
 *	member behind it, if it is to be one		stale, and the member, empty; give the
 *							command again
 *	resync						cut: the same
 *	the old one's superblocks and labels are wiped	cut: what is left of them is not named
 *
 * The devices' lock is not held while the kernel compares pages before the old one leaves: the new
 * device is open exclusively then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "dm.h"
#include "layout.h"
#include "leftover.h"
#include "lock.h"
#include "member.h"
#include "mirror.h"
#include "msg.h"
#include "units.h"

#define LOOK_MS	100

/* The device of an area in the table; 0: it is not there. */
static dev_t rdev_of(const struct live *l, unsigned int k)
{
	unsigned int major, minor;

	if (sscanf(l->t.meta[k].dev, "%u:%u", &major, &minor) != 2)
		return 0;
	return makedev(major, minor);
}

int mirror_find(const struct live *l, const char *word)
{
	struct stat st;
	unsigned int k;
	uint64_t i;

	if (parse_u64(word, &i) && i < l->t.nr_meta)
		return i;
	for (k = 0; k < l->t.nr_meta; k++)
		if (!stat(word, &st) && S_ISBLK(st.st_mode) && st.st_rdev == rdev_of(l, k))
			return k;
	return -fail("%s: carries no metadata area of %s (a path, or a number from 0)", word,
		     l->name);
}

/* Until the kernel has done what @state stands for. */
static int wait_while(struct live *l, unsigned int k, char state)
{
	struct timespec nap = { 0, LOOK_MS * 1000000L };
	int err;

	for (;;) {
		err = live_look(l);
		if (err || k >= l->st.nr_meta || l->st.meta[k] != state)
			return err;
		nanosleep(&nap, NULL);
	}
}

#define TRIES	5	/* whatever suspends the volume meanwhile ends it */

static int resync(struct live *l, unsigned int k)
{
	unsigned int tries;
	int err = EXIT_OK;

	for (tries = 0; !err && tries < TRIES && l->st.meta[k] != 'A'; tries++) {
		if (l->st.meta[k] != 'R')
			err = live_message(l, "metadata resync", k);
		if (!err)
			err = wait_while(l, k, 'R');
	}
	if (err)
		return err;
	if (l->st.meta[k] != 'A')
		return fail("%s: metadata area %u could not be made a mirror (the kernel's log says why); \"hybridctl metadata %s resync\" tries again",
			    l->name, k, l->name);
	note("Metadata area %u is a mirror", k);
	return EXIT_OK;
}

int mirror_resync(struct live *l)
{
	unsigned int k;
	int err = EXIT_OK;

	/* Of a move that was cut short: made when other areas were in use. */
	dm_clear(l->name);
	for (k = 0; !err && k < l->st.nr_meta; k++) {
		if (l->st.meta[k] == 'F')
			err = fail("%s: metadata area %u is not there (\"hybridctl metadata %s move %u DEV\" puts another in its place)",
				   l->name, k, l->name, k);
		else if (l->st.meta[k] != 'A')
			err = resync(l, k);
	}
	return err;
}

/* --- a move --- */

static int judge(const struct live *l, unsigned int k)
{
	if (l->st.mode != MODE_RW)
		return fail("%s: is not writable", l->name);
	if (l->t.nr_meta < 2)
		return fail("%s: has one metadata area only, which has to stay", l->name);
	if (l->st.meta[!k] != 'A')
		return fail("%s: metadata area %u is all that the metadata is on, and has to stay until \"hybridctl metadata %s resync\" has made the other one a mirror",
			    l->name, k, l->name);
	return EXIT_OK;
}

static int leave(struct live *l, unsigned int k)
{
	int err = live_look(l);
	unsigned int tries;

	/* Of a command that was cut short: it goes on in the kernel. */
	if (!err)
		err = wait_while(l, k, 'R');
	for (tries = 0; !err && tries < TRIES && strchr("AL", l->st.meta[k]); tries++) {
		if (l->st.meta[k] == 'A')
			err = live_message(l, "metadata leave", k);
		if (!err)
			err = wait_while(l, k, 'L');
	}
	if (!err && l->st.meta[k] == 'A')
		err = fail("%s: metadata area %u can't leave (the kernel's log says why)", l->name,
			   k);
	return err;
}

/* As it was before, as far as it can be. */
static void stay(struct live *l, unsigned int k)
{
	if (!live_look(l) && l->st.meta[k] == 'S' && resync(l, k))
		warn("%s: the metadata is on one device only until then", l->name);
}

/* It is a mirror no more, and is not to be found when devices are looked at. */
static void forget_old(const struct live *l, unsigned int k, dev_t rdev)
{
	char *path = rdev ? bdev_path(rdev) : NULL;
	struct area area[AREA_MAX];
	struct ek_super sb;
	struct bdev dev;
	int err, nr;

	if (!path || live_super(l, &sb)) {
		free(path);
		return;
	}
	/* Somebody may have taken it; or a member lies behind it, so that it is in use. */
	err = bdev_open(&dev, path, BDEV_WRITE | BDEV_EXCL);
	if (err == -EBUSY && live_uses(l, rdev))
		err = bdev_open(&dev, path, BDEV_WRITE);
	if (err)
		warn("%s: the metadata that was there is not wiped: %s; nobody believes it", path,
		     strerror(-err));
	for (nr = err ? 0 : area_find(&dev, area, &err); nr > 0; nr--)
		if (area[nr - 1].info.role == EK_ROLE_META && area[nr - 1].info.index == k &&
		    leftover_is(&sb, &area[nr - 1]) && leftover_wipe(&dev, &area[nr - 1]))
			warn("%s: the metadata that was there can't be wiped; nobody believes it",
			     path);
	bdev_close(&dev);
	free(path);
}

/* The table has the new area by now, with @old in whose place it is. */
static int take_over(struct live *l, unsigned int k, dev_t old)
{
	int err = live_look(l);

	if (!err)
		err = resync(l, k);
	if (!err && old != rdev_of(l, k))
		forget_old(l, k, old);
	return err;
}

/* A new device, and what becomes of it. */
struct place {
	struct bdev dev;
	struct wipe *w;
	struct ek_label_info meta, member;
	uint64_t sectors;	/* of the area */
	int join;
};

uint64_t mirror_sectors(const struct live *l)
{
	struct ek_super sb;
	uint64_t bytes;

	if (live_super(l, &sb))
		return 0;
	bytes = ek_super_area_bytes(&sb);
	return (bytes + LAYOUT_ALIGN - 1) / LAYOUT_ALIGN * LAYOUT_ALIGN / SECTOR_SIZE;
}

static int judge_size(const struct live *l, struct place *p)
{
	uint64_t need = mirror_sectors(l), own = p->dev.sectors / 8 * 8;
	char want[UNIT_TEXT], have[UNIT_TEXT];

	if (!need)
		return EXIT_FAILED;
	p->sectors = p->join < 0 && own > need ? own : need;
	if (own >= p->sectors + (p->join < 0 ? 0 : FRESH_MEMBER_HEAD / SECTOR_SIZE))
		return EXIT_OK;
	return fail("%s: too small for the metadata (%s, needed are %s)", p->dev.path,
		    human_bytes(have, p->dev.sectors * SECTOR_SIZE),
		    human_bytes(want, need * SECTOR_SIZE));
}

static int wipe_and_label(const struct live *l, struct place *p, unsigned int k)
{
	const char *path = p->dev.path;
	uint64_t rest = p->dev.sectors - p->sectors;
	struct bdev dev;
	int err;

	err = fresh_wipe(p->w, path, 0, p->sectors, FRESH_META_HEAD);
	if (!err && p->join >= 0)
		err = fresh_wipe(p->w, path, p->sectors, rest, FRESH_MEMBER_HEAD);
	if (err)
		return EXIT_FAILED;
	member_make_info(l, p->sectors, rest, p->join < 0 ? 0 : p->join, &p->member);
	p->meta = p->member;
	p->meta.role = EK_ROLE_META;
	p->meta.index = k;
	p->meta.nr_members = l->t.nr_devs;
	p->meta.area_start = 0;
	p->meta.area_sectors = p->sectors;
	uuid_generate(p->meta.area_uuid);
	err = bdev_open(&dev, path, BDEV_WRITE | BDEV_EXCL);
	if (err)
		return fail("%s: %s", path, strerror(-err));
	err = member_write_label(&dev, &p->meta);
	if (!err && p->join >= 0)
		err = member_write_label(&dev, &p->member);
	bdev_close(&dev);
	return err;
}

/* Nobody takes it meanwhile, and nobody waits for it. */
static int leave_holding(struct live *l, struct place *p, unsigned int k)
{
	struct bdev held;
	int err = bdev_open(&held, p->dev.path, BDEV_WRITE | BDEV_EXCL);

	if (err)
		return fail("%s: %s", p->dev.path, strerror(-err));
	unlock_devices();
	err = leave(l, k);
	if (lock_devices())
		err = EXIT_FAILED;
	bdev_close(&held);
	return err;
}

static int put_in(struct live *l, struct place *p, unsigned int k)
{
	live_put_meta(l, k, p->dev.rdev, 0);
	if (p->join >= 0)
		live_put(l, p->join, p->dev.rdev, p->sectors);
	return live_reload(l, l->sectors);
}

/* @p->dev is open, alone. */
static int settle_in(struct live *l, struct place *p, unsigned int k)
{
	bool mirror = l->st.meta[k] == 'A';
	dev_t old = rdev_of(l, k);
	int err = judge_size(l, p);

	if (!err && p->join >= 0)
		err = member_judge_blocks(l, &p->dev);
	if (err)
		return err;
	close(p->dev.fd);	/* what wipes it opens it itself, and so does device-mapper */
	p->dev.fd = -1;
	l->tried = false;
	p->w = wipe_new();
	err = wipe_and_label(l, p, k);
	if (!err)
		err = leave_holding(l, p, k);
	if (!err)
		err = put_in(l, p, k);
	if (err) {
		member_take_back(l, p->w, &p->dev, &p->member);
		if (mirror)
			stay(l, k);
	}
	wipe_free(p->w);
	if (err)
		return err;
	unlock_devices();
	return take_over(l, k, old);
}

int mirror_move(struct live *l, unsigned int k, const char *path, const struct fresh *how,
		int join)
{
	struct place p = { .join = join };
	struct fresh mine = *how;
	int err = judge(l, k);

	if (!err)
		err = lock_devices();
	if (err)
		return err;
	dm_clear(l->name);
	mine.leftover = member_is_leftover(l, path);
	err = fresh_open(&p.dev, path, &mine);
	if (!err) {
		err = settle_in(l, &p, k);
		bdev_close(&p.dev);
	}
	unlock_devices();
	if (!err)
		note("Metadata area %u is on %s", k, path);
	return err;
}

/* A label for area @k on the device of member @i, before the member; 0: none. */
static bool find_room(const struct live *l, unsigned int k, unsigned int i, dev_t *rdev,
		      uint64_t *start)
{
	struct area area[AREA_MAX];
	struct bdev dev;
	bool is = false;
	char *path;
	int nr, err;

	if (!l->st.dev[i].present)
		return false;
	*rdev = makedev(l->st.dev[i].major, l->st.dev[i].minor);
	path = bdev_path(*rdev);
	if (!bdev_open(&dev, path, 0)) {
		for (nr = area_find(&dev, area, &err); nr > 0; nr--)
			if (area[nr - 1].info.role == EK_ROLE_META &&
			    area[nr - 1].info.index == k && !area[nr - 1].head_err &&
			    !memcmp(area[nr - 1].info.pool_uuid, l->info.pool_uuid,
				    EK_UUID_SIZE)) {
				is = true;
				*start = area[nr - 1].info.area_start;
			}
		bdev_close(&dev);
	}
	free(path);
	return is;
}

int mirror_move_back_in(struct live *l, unsigned int k, unsigned int i)
{
	bool mirror = l->st.meta[k] == 'A';
	dev_t rdev, old = rdev_of(l, k);
	uint64_t start;
	int err;

	if (!find_room(l, k, i, &rdev, &start))
		return fail("%s: metadata area %u has to move to another device first (hybridctl metadata %s move %u DEV)",
			    l->name, k, l->name, k);
	err = judge(l, k);
	if (!err)
		err = leave(l, k);
	if (err)
		return err;
	live_put_meta(l, k, rdev, start);
	err = live_reload(l, l->sectors);
	if (err && mirror)
		stay(l, k);
	return err ? err : take_over(l, k, old);
}
