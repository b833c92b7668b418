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
 * Where the metadata is on one area only, that can't leave before there is another: the new one
 * takes the other place, and the old one's is vacant in the end.
 *
 *	the new device is judged, wiped and labelled	cut: a label that no superblock names, which
 *							says by its uuid whom it is to follow
 *	a table with it in the other place, which is	cut: the next start is without it: that
 *	vacant, and which the pool may only get so;	place is vacant; give the command again
 *	the member behind it, if it is to be one
 *	resync						cut: the same; after it two mirrors, and the
 *							same command knows by the uuid how to go on
 *	the old area leaves, and its place is vacant	cut: the next start is without it
 *	a table without it; it is wiped			cut: it says itself that it has left
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
#include "interrupt.h"
#include "layout.h"
#include "left.h"
#include "leftover.h"
#include "lock.h"
#include "member.h"
#include "mirror.h"
#include "msg.h"
#include "progress.h"
#include "units.h"
#include "volume.h"

#define LOOK_MS		100
#define TELL_SECONDS	2

/* The device of an area in the table; 0: it is not there. */
static dev_t rdev_of(const struct live *l, unsigned int k)
{
	unsigned int major, minor;

	if (k >= l->t.nr_meta || sscanf(l->t.meta[k].dev, "%u:%u", &major, &minor) != 2)
		return 0;
	return makedev(major, minor);
}

int mirror_find(const struct live *l, const char *word)
{
	struct stat st;
	unsigned int k;
	uint64_t i;

	/* The only one may get another beside it. */
	if (parse_u64(word, &i) && i < EK_MAX_META)
		return i;
	for (k = 0; k < l->t.nr_meta; k++)
		if (!stat(word, &st) && S_ISBLK(st.st_mode) && st.st_rdev == rdev_of(l, k))
			return k;
	return -fail("%s: carries no metadata area of %s (a path, 0 or 1)", word,
		     l->name);
}

static void tell(const struct live *l, struct progress *p, struct sync_at *at)
{
	/* Each question that an older module doesn't know is a line in the kernel's log. */
	if (!at->refused && volume_sync_at(l->name, &l->st, at))
		progress_tell(p, at->done * EK_BLOCK_SIZE, at->total * EK_BLOCK_SIZE, false);
}

/* Until the kernel has done what @state stands for. */
static int wait_while(struct live *l, unsigned int k, char state)
{
	struct timespec nap = { 0, LOOK_MS * 1000000L };
	struct sync_at at = { .total = 1 };
	struct progress p;
	int err;

	progress_init(&p, "metadata", TELL_SECONDS, isatty(STDOUT_FILENO), progress_now());
	for (;;) {
		err = live_look(l);
		if (err || k >= l->st.nr_meta || l->st.meta[k] != state)
			break;
		if (interrupted) {
			err = fail("%s: interrupted; what the kernel does with metadata area %u goes on",
				   l->name, k);
			break;
		}
		tell(l, &p, &at);
		nanosleep(&nap, NULL);
	}
	/* What ends otherwise than it should ends where it was. */
	if (!err && k < l->st.nr_meta && (state == 'R') == (l->st.meta[k] == 'A'))
		at.done = at.total;
	if (p.told)
		progress_tell(&p, at.done * EK_BLOCK_SIZE, at.total * EK_BLOCK_SIZE, true);
	return err;
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
		else if (l->st.meta[k] != 'A' && l->st.meta[k] != '-')
			err = resync(l, k);
	}
	return err;
}

/* --- a move --- */

/* Is area @k all that there is to be, and the other place free for another one? */
static bool is_alone(const struct live *l, unsigned int k)
{
	return k < l->st.nr_meta && l->st.meta[k] == 'A' &&
	       (l->st.nr_meta < EK_MAX_META || l->st.meta[!k] == '-');
}

static int judge(const struct live *l, unsigned int k)
{
	if (l->st.mode != MODE_RW)
		return fail("%s: is not writable", l->name);
	if (is_alone(l, k))
		return EXIT_OK;
	/* Lost: it is to be made anew, not to be forgotten. */
	if (l->st.meta[!k] == 'F')
		return fail("%s: metadata area %u is all that the metadata is on, as the other one is lost, and has to stay until \"hybridctl metadata %s move %u DEV\" has made another mirror",
			    l->name, k, l->name, !k);
	if (l->st.meta[!k] != 'A')
		return fail("%s: metadata area %u is all that the metadata is on, and has to stay until \"hybridctl metadata %s resync\" has made the other one a mirror",
			    l->name, k, l->name);
	return EXIT_OK;
}

static int leave(struct live *l, unsigned int k)
{
	int err = live_look(l);
	unsigned int tries;

	if (err || k >= l->st.nr_meta)
		return err;
	/* Of a command that was cut short: it goes on in the kernel. */
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
	if (live_look(l) || k >= l->st.nr_meta)
		return;
	if (l->st.meta[k] == 'L')
		warn("%s: metadata area %u leaves; \"hybridctl metadata %s resync\" makes it a mirror again",
		     l->name, k, l->name);
	else if (l->st.meta[k] == 'S' && resync(l, k))
		warn("%s: the metadata is on one device only until then", l->name);
}

static bool unwiped;	/* what was an area is to be found still */

/* The path of an area by now that was @k's, or is beside it. */
static char *path_by_now(const struct live *l, unsigned int k, dev_t old)
{
	dev_t rdev = rdev_of(l, k);

	return bdev_path(rdev && rdev != old ? rdev : rdev_of(l, !k));
}

static void warn_unwiped(const struct live *l, unsigned int k, dev_t old, const char *why)
{
	char *path = bdev_path(old), *now = path_by_now(l, k, old);

	warn("%s: the metadata that was there is not wiped: %s; nobody believes it beside %s, and \"hybridctl metadata %s move %s %s\" wipes it when that is mended",
	     path, why, now, l->name, path, now);
	unwiped = true;
	free(path);
	free(now);
}

bool mirror_is_wiped(void)
{
	return !unwiped;
}

/* It is a mirror no more, and is not to be found when devices are looked at. */
static void forget_old(const struct live *l, unsigned int k, dev_t rdev)
{
	struct area area[AREA_MAX];
	struct ek_super sb;
	struct bdev dev;
	int err, nr;
	char *path;

	/* What the table has there is in use, whatever the superblock says of it. */
	if (!rdev || rdev == rdev_of(l, k))
		return;
	if (live_super(l, &sb)) {
		warn_unwiped(l, k, rdev, "the superblock can't be read");
		return;
	}
	path = bdev_path(rdev);
	/* Somebody may have taken it; or a member lies behind it, so that it is in use. */
	err = bdev_open_same(&dev, path, rdev, BDEV_WRITE | BDEV_EXCL);
	if (err == -EBUSY && live_uses(l, rdev))
		err = bdev_open_same(&dev, path, rdev, BDEV_WRITE);
	free(path);
	if (err) {
		warn_unwiped(l, k, rdev, bdev_error(err));
		return;
	}
	for (nr = area_find(&dev, area, &err); nr > 0; nr--) {
		if (area[nr - 1].info.role != EK_ROLE_META || area[nr - 1].info.index != k ||
		    !leftover_is(&sb, &area[nr - 1]))
			continue;
		err = leftover_wipe(&dev, &area[nr - 1]);
		if (err == -EINVAL)
			warn("%s: something else has overwritten the label of the metadata that was there: left alone",
			     dev.path);
		else if (err)
			warn_unwiped(l, k, rdev, strerror(-err));
	}
	if (nr < 0)
		warn_unwiped(l, k, rdev, strerror(-nr));
	bdev_close(&dev);
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
	const uint8_t *follows;	/* uuid of the area that leaves when this is a mirror; or NULL */
	int join;
};

#define FOLLOWS	9	/* from this byte on a uuid says whom the area follows */

/*
 * Two mirrors, of which one is to leave as the other was made in its stead, look like any two: only
 * by this does a command that is given again know them.
 */
static void say_follows(uint8_t *uuid, const uint8_t *old)
{
	unsigned int i;

	for (i = FOLLOWS; i < EK_UUID_SIZE; i++)
		uuid[i] = ~old[i];
}

static bool follows(const uint8_t *uuid, const uint8_t *old)
{
	uint8_t is[EK_UUID_SIZE];

	memcpy(is, uuid, sizeof(is));
	say_follows(is, old);
	return !memcmp(is, uuid, sizeof(is));
}

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

	/* Not the area alone, which is whole blocks: others' signatures end with the device. */
	err = fresh_wipe(p->w, path, p->dev.rdev, 0, p->join < 0 ? p->dev.sectors : p->sectors,
			 FRESH_META_HEAD);
	if (!err && p->join >= 0)
		err = fresh_wipe(p->w, path, p->dev.rdev, p->sectors, rest, FRESH_MEMBER_HEAD);
	if (err)
		return EXIT_FAILED;
	member_make_info(l, p->sectors, rest, p->join < 0 ? 0 : p->join, &p->member);
	p->meta = p->member;
	p->meta.role = EK_ROLE_META;
	p->meta.index = k;
	p->meta.nr_members = l->t.nr_devs;
	if (p->meta.nr_meta <= k)
		p->meta.nr_meta = k + 1;
	p->meta.area_start = 0;
	p->meta.area_sectors = p->sectors;
	uuid_generate(p->meta.area_uuid);
	if (p->follows)
		say_follows(p->meta.area_uuid, p->follows);
	err = bdev_open_same(&dev, path, p->dev.rdev, BDEV_WRITE | BDEV_EXCL);
	if (err)
		return fail("%s: %s", path, bdev_error(err));
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
	int err = bdev_open_same(&held, p->dev.path, p->dev.rdev, BDEV_WRITE | BDEV_EXCL);

	if (err)
		return fail("%s: %s", p->dev.path, bdev_error(err));
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
	if (p->join >= 0) {
		live_put(l, p->join, p->dev.rdev, p->sectors);
		table_make_place(&l->t, p->join);
	}
	return live_reload(l, l->sectors);
}

/*
 * What was wiped is known here alone: until the kernel has the device a signal puts it back.  One
 * that comes later ends the first wait.
 */
static int take_in(struct live *l, struct place *p, unsigned int k, bool alone)
{
	int err;

	l->tried = false;
	p->w = wipe_new();
	catch_interrupts();
	err = wipe_and_label(l, p, k);
	if (!err && !alone)
		err = leave_holding(l, p, k);
	if (!err && interrupted)
		err = fail("%s: interrupted", p->dev.path);
	if (!err)
		err = put_in(l, p, k);
	if (err)
		member_take_back(l, p->w, &p->dev, &p->member);
	let_interrupts();
	wipe_free(p->w);
	return err;
}

/* --- the only area moves --- */

/* The label of the area that a device has for place @k; false: none of this pool. */
static bool label_on(const struct live *l, dev_t rdev, unsigned int k, struct ek_label_info *info)
{
	struct area area[AREA_MAX];
	char *path = rdev ? bdev_path(rdev) : NULL;
	struct bdev dev;
	bool is = false;
	int nr, err;

	if (path && !bdev_open(&dev, path, BDEV_LOOK)) {
		for (nr = area_find(&dev, area, &err); nr > 0; nr--)
			if (area[nr - 1].info.role == EK_ROLE_META &&
			    area[nr - 1].info.index == k && !area[nr - 1].head_err &&
			    !memcmp(area[nr - 1].info.pool_uuid, l->info.pool_uuid,
				    EK_UUID_SIZE)) {
				is = true;
				*info = area[nr - 1].info;
			}
		bdev_close(&dev);
	}
	free(path);
	return is;
}

/* Was the area in the other place made to follow area @k, and is on that device? */
static bool is_follower(const struct live *l, unsigned int k, dev_t rdev)
{
	struct ek_label_info new, old;

	return l->t.nr_meta == EK_MAX_META && rdev && rdev == rdev_of(l, !k) &&
	       label_on(l, rdev, !k, &new) && label_on(l, rdev_of(l, k), k, &old) &&
	       follows(new.area_uuid, old.area_uuid);
}

/* A table without the old device is in place: now it is seen whether its place is vacant. */
static int make_sure(struct live *l, unsigned int k)
{
	int err = live_look(l);

	if (!err && l->st.meta[k] != '-') {
		err = live_message(l, "metadata vacate", k);
		if (!err)
			err = wait_while(l, k, 'L');
	}
	if (!err && l->st.meta[k] != '-')
		err = fail("%s: the place of metadata area %u can't be made vacant (the kernel's log says why)",
			   l->name, k);
	return err;
}

static int vacate(struct live *l, unsigned int k)
{
	unsigned int tries;
	int err;

	/* Of a command that was cut short: it goes on in the kernel, for good or not. */
	err = wait_while(l, k, 'R');
	if (!err)
		err = wait_while(l, k, 'L');
	for (tries = 0; !err && tries < TRIES && l->st.meta[k] != '-'; tries++) {
		/* Its device is in the table: stale is all that is seen of it then. */
		if (l->st.meta[k] != 'L')
			err = live_message(l, "metadata vacate", k);
		if (!err)
			err = wait_while(l, k, 'L');
		if (!err && l->st.meta[k] != 'A')
			return EXIT_OK;
	}
	if (!err && l->st.meta[k] == 'A')
		err = fail("%s: metadata area %u can't leave (the kernel's log says why)", l->name,
			   k);
	return err;
}

/* The other area is in the table: it becomes a mirror, and @k leaves for good. */
static int hand_over(struct live *l, unsigned int k)
{
	dev_t old = rdev_of(l, k);
	int err = live_look(l);

	if (!err && l->st.meta[!k] != 'A')
		err = resync(l, !k);
	if (!err)
		err = vacate(l, k);
	if (err)
		return err;
	if (strcmp(l->t.meta[k].dev, "-")) {
		live_put_no_meta(l, k);
		err = live_reload(l, l->sectors);
	}
	if (!err)
		err = make_sure(l, k);
	if (!err && old != rdev_of(l, !k))
		forget_old(l, k, old);
	return err;
}

/* @p->dev is open, alone. */
static int settle_in_alone(struct live *l, struct place *p, unsigned int k)
{
	struct ek_label_info old;
	int err = judge_size(l, p);

	if (!err && p->join >= 0)
		err = member_judge_blocks(l, &p->dev);
	if (err)
		return err;
	if (!label_on(l, rdev_of(l, k), k, &old))
		return fail("%s: the label of metadata area %u can't be read", l->name, k);
	close(p->dev.fd);
	p->dev.fd = -1;
	p->follows = old.area_uuid;
	err = take_in(l, p, !k, true);
	if (err)
		return err;
	unlock_devices();
	return hand_over(l, k);
}

/* --- one of two moves --- */

/* @p->dev is open, alone. */
static int settle_in(struct live *l, struct place *p, unsigned int k)
{
	bool mirror = k < l->st.nr_meta && l->st.meta[k] == 'A';
	dev_t old = rdev_of(l, k);
	int err = judge_size(l, p);

	if (!err && p->join >= 0)
		err = member_judge_blocks(l, &p->dev);
	if (err)
		return err;
	close(p->dev.fd);	/* what wipes it opens it itself, and so does device-mapper */
	p->dev.fd = -1;
	err = take_in(l, p, k, false);
	if (err && mirror)
		stay(l, k);
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
	bool alone = is_alone(l, k);
	int err = judge(l, k);

	if (!err)
		err = lock_devices();
	if (err)
		return err;
	dm_clear(l->name);
	mine.leftover = member_leftover(l, path);
	mine.volume = live_rdev(l);
	err = member_judge_none(l, path);
	if (!err)
		err = fresh_open(&p.dev, path, &mine);
	if (!err) {
		err = member_judge_held(l, &p.dev);
		if (!err)
			err = alone ? settle_in_alone(l, &p, k) : settle_in(l, &p, k);
		bdev_close(&p.dev);
	}
	unlock_devices();
	if (!err)
		note("Metadata area %u is on %s", alone ? !k : k, path);
	return err;
}

bool mirror_is_done(const struct live *l, unsigned int k, const char *path)
{
	struct stat st;

	return k < l->st.nr_meta && l->st.meta[k] == '-' && l->st.meta[!k] == 'A' &&
	       !stat(path, &st) && S_ISBLK(st.st_mode) && st.st_rdev == rdev_of(l, !k);
}

bool mirror_is_there(const struct live *l, unsigned int k, const char *path)
{
	struct stat st;

	return k < l->st.nr_meta && l->st.meta[k] == 'A' && !stat(path, &st) &&
	       S_ISBLK(st.st_mode) && st.st_rdev == rdev_of(l, k);
}

/* --- what was an area, and was not wiped --- */

static bool has_left(const struct live *l, const struct ek_super *sb, unsigned int k, dev_t rdev)
{
	struct ek_label_info info;

	/* One that is in the table still has not left: a move that was cut short goes on there. */
	return rdev != rdev_of(l, k) && label_on(l, rdev, k, &info) &&
	       !ek_super_names(sb, k, info.area_uuid);
}

bool mirror_has_left(const struct live *l, const char *old, const char *path)
{
	struct ek_super sb;
	struct stat st;

	if (!mirror_is_there(l, 0, path) && !mirror_is_there(l, 1, path))
		return false;
	if (stat(old, &st) || !S_ISBLK(st.st_mode))
		return false;
	/* A member may lie behind it. */
	if (live_is_member(l, st.st_rdev))
		return !live_super(l, &sb) &&
		       (has_left(l, &sb, 0, st.st_rdev) || has_left(l, &sb, 1, st.st_rdev));
	return member_leftover(l, old);
}

int mirror_forget(const struct live *l, const char *old)
{
	struct stat st;

	if (stat(old, &st) || !live_is_member(l, st.st_rdev))
		return member_forget(l, old);
	forget_old(l, 0, st.st_rdev);
	forget_old(l, 1, st.st_rdev);
	return EXIT_OK;
}

static void look_for_left(const struct left *left, dev_t rdev)
{
	char *path, *now;

	if (!has_left(left->l, &left->sb, left->index, rdev))
		return;
	path = bdev_path(rdev);
	now = path_by_now(left->l, left->index, rdev);
	warn("%s: carries what metadata area %u has left, or a copy of it: left alone (\"hybridctl metadata %s move %s %s\" wipes it)",
	     path, left->index, left->l->name, path, now);
	free(path);
	free(now);
}

int mirror_tell_left(const struct live *l, unsigned int k)
{
	struct left left = { .l = l, .index = k, .members_too = true, .look = look_for_left };
	int err = lock_devices();

	if (err)
		return err;
	err = left_look(&left);
	unlock_devices();
	return err;
}

/* --- a move that was cut short goes on --- */

bool mirror_goes_on(const struct live *l, unsigned int k, const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISBLK(st.st_mode) && is_follower(l, k, st.st_rdev);
}

int mirror_go_on(struct live *l, unsigned int k)
{
	int err;

	if (l->st.mode != MODE_RW)
		return fail("%s: is not writable", l->name);
	dm_clear(l->name);
	err = hand_over(l, k);
	if (!err)
		note("Metadata area %u has left, area %u is on its device", k, !k);
	return err;
}

/* A label for area @k on the device of member @i, before the member; false: none. */
static bool find_room(const struct live *l, unsigned int k, unsigned int i, dev_t *rdev,
		      uint64_t *start)
{
	struct ek_label_info info;

	if (!l->st.dev[i].present)
		return false;
	*rdev = makedev(l->st.dev[i].major, l->st.dev[i].minor);
	if (!label_on(l, *rdev, k, &info))
		return false;
	*start = info.area_start;
	return true;
}

/* One there that was to follow area @k, in the other place. */
static bool find_follower(const struct live *l, unsigned int k, unsigned int i, dev_t *rdev,
			  uint64_t *start)
{
	struct ek_label_info new, old;

	return find_room(l, !k, i, rdev, start) && label_on(l, *rdev, !k, &new) &&
	       label_on(l, rdev_of(l, k), k, &old) && follows(new.area_uuid, old.area_uuid);
}

int mirror_move_back_in(struct live *l, unsigned int k, unsigned int i)
{
	bool mirror = l->st.meta[k] == 'A';
	dev_t rdev, old = rdev_of(l, k);
	uint64_t start;
	int err;

	if (is_alone(l, k) && find_follower(l, k, i, &rdev, &start)) {
		live_put_meta(l, !k, rdev, start);
		err = live_reload(l, l->sectors);
		return err ? err : hand_over(l, k);
	}
	rdev = makedev(l->st.dev[i].major, l->st.dev[i].minor);
	if (l->st.dev[i].present && is_follower(l, k, rdev))
		return hand_over(l, k);
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
