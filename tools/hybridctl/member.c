// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members join and leave while the volume runs.  Each step can be cut anywhere and be asked for
 * again; what the kernel makes durable when is told in its reshape.c and evacuate.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "dm.h"
#include "extents.h"
#include "give_up.h"
#include "interrupt.h"
#include "layout.h"
#include "left.h"
#include "leftover.h"
#include "lock.h"
#include "member.h"
#include "msg.h"
#include "owner.h"
#include "progress.h"
#include "signature.h"
#include "units.h"

#define LOOK_MS		250		/* between looks at a member that is being emptied */
#define YOUNG		86400		/* seconds: a replace that is gone on with */
#define STUCK_LOOKS	(20000 / LOOK_MS)
#define STUCK_PASSES	3		/* through what is left, in which no copy succeeds */
#define RANGES_SHOWN	8

/* --- a device joins --- */

/* The place of one that left, or behind the others; -1: there are too many. */
int member_vacant(const struct live *l)
{
	unsigned int i;

	for (i = 0; i < l->st.nr_devs; i++)
		if (l->st.dev[i].state == DEV_REMOVED)
			return i;
	if (i < EK_MAX_MEMBERS)
		return i;
	return -fail("%s: has %u members already", l->name, EK_MAX_MEMBERS);
}

/* Reading it might take for ever, with the devices' lock held.  NULL: no, else why. */
static const char *stalled(const char *path)
{
	struct stat st;

	return stat(path, &st) || !S_ISBLK(st.st_mode) ? NULL : bdev_stalled(st.st_rdev);
}

/*
 * Of a device all of whose areas are, and with a start that nothing else has overwritten.  What
 * is in use is nobody's leftover, and is not read: if it is being discarded, who reads it waits
 * until that is done.
 */
dev_t member_leftover(const struct live *l, const char *path)
{
	struct area area[AREA_MAX];
	struct ek_super sb;
	struct bdev dev;
	int nr, err;
	dev_t rdev;
	bool is;

	if (stalled(path) || bdev_open(&dev, path, BDEV_EXCL))
		return 0;
	rdev = dev.rdev;
	nr = area_find(&dev, area, &err);
	is = nr > 0 && !live_uses(l, dev.rdev) && !live_super(l, &sb);
	while (is && nr--)
		is = (!area[nr].head_err || area[nr].head_err == -ENODATA) &&
		     leftover_is(&sb, &area[nr]);
	bdev_close(&dev);
	return is ? rdev : 0;
}

static int named_by(const struct live *l, const struct bdev *dev)
{
	struct area area[AREA_MAX];
	struct ek_super sb;
	int nr, err, found = MEMBER_NONE;
	uint32_t i;

	nr = area_find(dev, area, &err);
	if (nr < 0) {
		fail("%s: can't be read: %s", dev->path, strerror(-nr));
		return MEMBER_UNKNOWN;
	}
	if (nr && live_super(l, &sb)) {
		fail("%s: has a label, and nobody knows whether it is a member of %s", dev->path,
		     l->name);
		return MEMBER_UNKNOWN;
	}
	while (nr--)
		for (i = 0; i < le32_to_cpu(sb.nr_members); i++)
			if (le32_to_cpu(sb.member[i].state) != EK_MEMBER_REMOVED &&
			    !memcmp(area[nr].info.area_uuid, sb.member[i].uuid, EK_UUID_SIZE))
				found = i;
	return found;
}

static int named(const struct live *l, const char *path, unsigned int flags)
{
	const char *why = stalled(path);
	struct bdev dev;
	int found;

	if (why) {
		fail("%s: can't be looked at, %s", path, why);
		return MEMBER_UNKNOWN;
	}
	if (bdev_open(&dev, path, flags))
		return MEMBER_NONE;
	found = named_by(l, &dev);
	bdev_close(&dev);
	return found;
}

int member_named(const struct live *l, const char *path)
{
	return named(l, path, 0);
}

void member_make_info(const struct live *l, uint64_t start, uint64_t sectors, unsigned int index,
		      struct ek_label_info *info)
{
	const uint64_t block = EK_BLOCK_SIZE / SECTOR_SIZE;

	*info = l->info;
	info->role = EK_ROLE_MEMBER;
	info->index = index;
	info->nr_members = index < l->t.nr_devs ? l->t.nr_devs : index + 1;
	info->area_start = start;
	info->area_sectors = sectors / block * block;
	info->ctime = time(NULL);
	uuid_generate(info->area_uuid);
}

int member_write_label(const struct bdev *dev, const struct ek_label_info *info)
{
	struct ek_label *label = bdev_buffer(sizeof(*label));
	uint64_t start = info->area_start * SECTOR_SIZE;
	int err;

	ek_label_encode(info, label);
	err = bdev_write(dev, start, label, sizeof(*label));
	if (!err)
		err = bdev_write(dev, start + ek_label_copy_offset(info->area_sectors), label,
				 sizeof(*label));
	if (!err)
		err = bdev_flush(dev);
	free(label);
	return err ? fail("%s: can't be labelled: %s", dev->path, strerror(-err)) : EXIT_OK;
}

/* @as: as it was judged. */
static int label(const struct bdev *as, const struct ek_label_info *info)
{
	struct bdev dev;
	int err = bdev_open_same(&dev, as->path, as->rdev, BDEV_WRITE | BDEV_EXCL);

	if (err)
		return fail("%s: %s", as->path, bdev_error(err));
	err = member_write_label(&dev, info);
	bdev_close(&dev);
	return err;
}

/*
 * The label comes before the superblock that names the member.  Of a superblock whose write failed
 * nobody knows whether it reached the media, or will; the kernel writes to that pool no more then.
 *
 *	label taken back, superblock not there	as before
 *	label left, superblock not there	a label that counts for nothing; "remove" wipes it
 *	label left, superblock there		the member has joined
 *	label taken back, superblock there	a member that nobody finds: no pool any more
 *
 * So it is taken back only if the kernel was not asked to change the pool; or refused, knows what
 * its superblock is, and that one does not name the member.
 */
static bool is_no_member(struct live *l, const struct ek_label_info *info)
{
	struct area area = { .info = *info };
	struct dm_dev dev;
	struct ek_super sb;

	if (!l->tried)
		return true;
	/* Who resumes the new table after all lets the member join. */
	if (dm_lookup(l->name, &dev) <= 0 || dev.suspended)
		return false;
	return !live_look(l) && l->st.mode == MODE_RW && !l->st.needs_check &&
	       !live_super(l, &sb) && leftover_is(&sb, &area);
}

void member_take_back(struct live *l, struct wipe *w, const struct bdev *dev,
		      const struct ek_label_info *info)
{
	if (!is_no_member(l, info))
		warn("%s: keeps its label, as the superblock may name it: when %s can be written again, stop and assemble it: it is a member then, or \"hybridctl remove\" wipes the label",
		     dev->path, l->name);
	else if (wipe_undo(w))
		fail("%s: the old content can't be put back", dev->path);
}

static void tell_place(const struct live *l, unsigned int i, unsigned int how)
{
	if (how & TABLE_FAST_IS_AUTO)
		note("%s: the policy chooses the fast member again, it is not member %u any more",
		     l->name, i);
	if (how & TABLE_HAS_NO_SHARE)
		note("%s: member %u has no share, so that nothing new is written to it (\"hybridctl set %s shares=...\" says how much is, of each)",
		     l->name, i, l->name);
}

static int join(struct live *l, const struct bdev *dev, unsigned int index)
{
	struct wipe *w = wipe_new();
	struct ek_label_info info;
	unsigned int how = 0;
	int err;

	l->tried = false;
	member_make_info(l, 0, dev->sectors, index, &info);

	/* What was wiped is known here alone: until the kernel has the device it can come back. */
	catch_interrupts();
	err = fresh_wipe(w, dev->path, dev->rdev, 0, dev->sectors, FRESH_MEMBER_HEAD) ?
	      EXIT_FAILED : EXIT_OK;
	if (!err)
		err = label(dev, &info);
	if (!err && interrupted)
		err = fail("%s: interrupted", dev->path);
	if (!err) {
		live_put(l, index, dev->rdev, 0);
		how = table_make_place(&l->t, index);
		err = live_reload(l, l->sectors);
	}
	if (err)
		member_take_back(l, w, dev, &info);
	else
		tell_place(l, index, how);
	let_interrupts();
	wipe_free(w);
	return err;
}

static int block_size(const char *path, int fd)
{
	int own = fd < 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1, size = 0;

	if (ioctl(fd < 0 ? own : fd, BLKSSZGET, &size))
		size = 0;
	if (own >= 0)
		close(own);
	return size;
}

/* What is on the volume relies on its block size: a file system would not mount again. */
int member_judge_blocks(const struct live *l, const struct bdev *dev)
{
	char *path = xasprintf("/dev/mapper/%s", l->name);
	int own = block_size(path, -1), new = block_size(dev->path, dev->fd);

	free(path);
	if (!own || !new)
		return fail("%s: the logical block size can't be had", own ? dev->path : l->name);
	if (new > own)
		return fail("%s: has logical blocks of %d bytes, %s of %d: what is on it could not go on",
			    dev->path, new, l->name, own);
	return EXIT_OK;
}

static int judge_found(const struct live *l, const char *path, int i)
{
	if (i == MEMBER_NONE)
		return EXIT_OK;
	if (i == MEMBER_UNKNOWN)
		return EXIT_FAILED;
	return fail("%s: is member %d of %s itself, with what is on it: \"hybridctl attach %s %s\" takes it back if it is missed (or remove it first)",
		    path, i, l->name, l->name, path);
}

/* One that is in use is not read: what is being discarded has who reads it wait for the end. */
int member_judge_none(const struct live *l, const char *path)
{
	return judge_found(l, path, named(l, path, BDEV_EXCL));
}

int member_judge_held(const struct live *l, const struct bdev *dev)
{
	return judge_found(l, dev->path, named_by(l, dev));
}

/* No other pool gets the device between our look and device-mapper's claim. */
static int add(struct live *l, const char *path, const struct fresh *how, int index)
{
	struct fresh mine = *how;
	struct bdev dev;
	int err;

	/* One that was killed between load and resume would hold the device. */
	dm_clear(l->name);
	/* Whatever --force may overwrite, it is not the volume's own data. */
	err = member_judge_none(l, path);
	if (err)
		return err;
	mine.leftover = member_leftover(l, path);
	mine.volume = live_rdev(l);
	err = fresh_open(&dev, path, &mine);
	if (err)
		return err;
	err = member_judge_held(l, &dev);
	if (!err)
		err = member_judge_blocks(l, &dev);
	if (!err) {
		close(dev.fd);	/* device-mapper claims it itself */
		dev.fd = -1;
		err = join(l, &dev, index);
	}
	bdev_close(&dev);
	return err;
}

int member_add(struct live *l, const char *path, const struct fresh *how)
{
	int index = member_vacant(l);

	if (index < 0 || lock_devices())
		return -1;
	if (add(l, path, how, index))
		index = -1;
	unlock_devices();
	if (index >= 0 && live_look(l))
		index = -1;
	if (index >= 0)
		note("%s is member %d of %s", path, index, l->name);
	return index;
}

/* --- a member is emptied --- */

struct emptying {
	struct progress progress;
	uint64_t begun, last;	/* extents */
	bool give_up;
	unsigned int stuck;	/* looks without change */
	uint64_t failed;	/* copies until then */
	uint64_t passes;	/* through the map until then */
	bool known;		/* can the kernel tell of @standing? */
	struct standing standing;
};

static void tell(const struct live *l, unsigned int i, struct emptying *p, bool end)
{
	uint64_t used = l->st.dev[i].used, bytes = l->st.extent_sectors * SECTOR_SIZE;
	uint64_t total = p->begun > used ? p->begun : used;

	progress_tell(&p->progress, (total - used) * bytes, total * bytes, end);
}

static uint64_t room_elsewhere(const struct live *l, unsigned int but, enum status_dev_state state)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < l->st.nr_devs; i++)
		if (i != but && l->st.dev[i].state == state)
			sum += l->st.dev[i].total - l->st.dev[i].used;
	return sum;
}

/*
 * What one that failed meanwhile still gives the kernel goes on to move; unless it was told to let
 * it stay, which only newer modules can tell.
 */
static bool is_leaving(const struct live *l, unsigned int i, const struct emptying *p)
{
	const struct status_dev *d = &l->st.dev[i];

	return d->state == DEV_DRAINING ||
	       (d->state == DEV_FAILED && d->present && (!p->known || p->standing.dev[i].leaving));
}

/* Member @i is; of another one that has failed an older module does not tell. */
static uint64_t all_that_leaves(const struct live *l, unsigned int i, const struct emptying *p)
{
	uint64_t sum = l->st.dev[i].used;
	unsigned int k;

	for (k = 0; k < l->st.nr_devs; k++)
		if (k != i && (l->st.dev[k].state == DEV_DRAINING ||
			       (p->known && p->standing.dev[k].leaving && l->st.dev[k].present)))
			sum += l->st.dev[k].used;
	return sum;
}

static uint64_t copies_failed(const struct live *l)
{
	unsigned int i;

	for (i = 0; i < l->st.nr_reasons; i++)
		if (!strcmp(l->st.reason[i].name, "error"))
			return l->st.reason[i].count;
	return 0;
}

/* "128 to 255, 1024 to 1151 and 3 more ranges", in sectors of the volume. */
static char *text_of(const struct live *l, const struct extents *e)
{
	uint64_t sectors = l->st.extent_sectors;
	char *text = xstrdup(""), *old;
	unsigned int i;

	for (i = 0; i < e->nr && i < RANGES_SHOWN; i++) {
		old = text;
		text = xasprintf("%s%s%llu to %llu", old, i ? ", " : "",
				 (unsigned long long)(e->range[i].first * sectors),
				 (unsigned long long)((e->range[i].first + e->range[i].nr) *
						      sectors - 1));
		free(old);
	}
	if (e->nr > i) {
		old = text;
		text = xasprintf("%s and %u more ranges", old, e->nr - i);
		free(old);
	}
	return text;
}

/* What is left was tried, over and over, and nothing of it has moved; @how: what may be done. */
static int stays(const struct live *l, unsigned int i, const char *how)
{
	char *question = xasprintf("holds %u", i), *where;
	struct extents e;

	extents_ask(&e, l->name, question);
	where = text_of(l, &e);
	if (e.unknown)
		warn("%s: of %llu extents of the volume the map can't be read: some of member %u may be among them",
		     l->name, (unsigned long long)e.unknown, i);
	fail("%s: %llu extents on member %u can't be copied, and stay there: sectors %s of the volume (%s, or hybridctl evacuate %s %u --cancel)",
	     l->name, (unsigned long long)l->st.dev[i].used, i, where, how, l->name, i);
	free(where);
	free(question);
	extents_free(&e);
	return EXIT_FAILED;
}

static void begin_anew(const struct live *l, unsigned int i, struct emptying *p)
{
	p->stuck = 0;
	p->last = l->st.dev[i].used;
	p->failed = copies_failed(l);
	p->passes = p->standing.dev[i].passes;
}

/* Of what is left the rest may be copied then; copies that failed until now count no more. */
static int go_on_without(struct live *l, unsigned int i, struct emptying *p)
{
	uint64_t bytes;
	int err = give_up(l, i, &bytes);

	/* A signal that came with the last of it ends the command as any other moment's would. */
	if (!err && interrupted)
		err = fail("%s: interrupted: what is left on member %u still moves, give the command again",
			   l->name, i);
	if (!err && !bytes)
		err = stays(l, i, "all of them can be read: see the kernel's log for what stops the copies");
	if (!err)
		err = live_look(l);
	if (!err)
		begin_anew(l, i, p);
	return err;
}

static int judge_room(const struct live *l, unsigned int i)
{
	if (room_elsewhere(l, i, DEV_ACTIVE))
		return EXIT_OK;
	if (room_elsewhere(l, i, DEV_DEGRADED))
		return fail("%s: the other members are full or degraded, and nothing moves to one that is; add one, or --cancel",
			    l->name);
	return fail("%s: the other members are full; add one, or --cancel", l->name);
}

/* What was freed last is so after a commit. */
static unsigned int looks_of_commit(const struct live *l)
{
	return STUCK_LOOKS / 2 + status_setting(&l->st, "commit_ms", 1000) / LOOK_MS;
}

/*
 * Errors are the volume's: another member's bad sectors have them, too.  Of this one something must
 * have been tried, time and again.
 */
static bool copies_fail(const struct live *l, unsigned int i, const struct emptying *p)
{
	const struct standing_dev *s = &p->standing.dev[i];

	if (!l->st.dev[i].used ||
	    copies_failed(l) - p->failed < STUCK_PASSES * all_that_leaves(l, i, p))
		return false;
	return !p->known || (s->tried && s->passes - p->passes >= STUCK_PASSES);
}

/*
 * What is on its way back is in use until that is done, which takes as long as a commit, and the
 * slowest request or discard.  It may have come back since the status was read, so looks are
 * counted anew from then on.
 */
static void count_look(struct emptying *p, unsigned int i)
{
	if (p->known && p->standing.dev[i].returning)
		p->stuck = 0;
	else
		p->stuck++;
}

/*
 * The kernel has gone through all of the map, time and again, and found nothing there that it could
 * have tried to move.
 */
static int judge_passes(const struct live *l, unsigned int i, const struct emptying *p)
{
	const struct standing_dev *s = &p->standing.dev[i];

	if (!p->known || s->tried || s->passes - p->passes <= STUCK_PASSES ||
	    p->stuck < looks_of_commit(l))
		return EXIT_OK;
	if (s->unknown)
		return fail("%s: %llu extents stay on member %u, as the map of %llu extents of the volume can't be read: stop the volume and let hybridctl repair look at its metadata, or let the member stay (hybridctl evacuate %s %u --cancel)",
			    l->name, (unsigned long long)l->st.dev[i].used, i,
			    (unsigned long long)s->unknown, l->name, i);
	return fail("%s: %llu extents on member %u are in use, and nothing of the volume is there: stop the volume and let hybridctl check look at its metadata, or let the member stay (hybridctl evacuate %s %u --cancel)",
		    l->name, (unsigned long long)l->st.dev[i].used, i, l->name, i);
}

static int judge_progress(struct live *l, unsigned int i, struct emptying *p)
{
	const struct status_dev *d = &l->st.dev[i];

	p->known = live_standing(l->name, l->st.nr_devs, &p->standing);
	if (!is_leaving(l, i, p))
		return fail("%s: member %u is not being evacuated any more: it is %s", l->name, i,
			    d->present ? status_dev_state_name(d->state) : "lost");
	if (l->st.mode != MODE_RW)
		return fail("%s: is not writable any more", l->name);
	/* Counted anew, it has been stopped and assembled. */
	if (d->used != p->last || copies_failed(l) < p->failed ||
	    p->standing.dev[i].passes < p->passes)
		begin_anew(l, i, p);
	if (copies_fail(l, i, p))
		return p->give_up ? go_on_without(l, i, p) :
		       stays(l, i, "overwrite or discard them and go on, or let --give-up discard what of them can't be read");
	count_look(p, i);
	if (d->used && judge_passes(l, i, p))
		return EXIT_FAILED;
	return p->stuck > STUCK_LOOKS ? judge_room(l, i) : EXIT_OK;
}

static int wait_empty(struct live *l, unsigned int i, bool give_up)
{
	struct timespec nap = { 0, LOOK_MS * 1000000L };
	struct emptying p = {
		.begun = l->st.dev[i].used, .failed = copies_failed(l), .give_up = give_up,
	};
	int err;

	progress_init(&p.progress, NULL, 0, isatty(STDOUT_FILENO), progress_now());
	while (l->st.dev[i].used) {
		tell(l, i, &p, false);
		/* It goes on in the kernel, for hours: nobody is there to see how it ends. */
		if (ferror(stdout))
			return fail("%s: nobody reads what is told any more: what is left on member %u still moves, give the command again",
				    l->name, i);
		nanosleep(&nap, NULL);
		err = live_look(l);
		if (!err)
			err = judge_progress(l, i, &p);
		if (err)
			return err;
	}
	tell(l, i, &p, true);
	return EXIT_OK;
}

/*
 * The volume would be longer than those that stay can hold, though what is there now fits: writes
 * to what was never written would fail in the end.  One that is lost holds nothing anyway.
 */
int member_judge_room(const struct live *l, unsigned int but, uint64_t joining,
		      const char *remedy)
{
	uint64_t sum = joining;
	char left[UNIT_TEXT], size[UNIT_TEXT];
	unsigned int i;

	for (i = 0; i < l->st.nr_devs; i++)
		if (i != but && l->st.dev[i].state <= DEV_DEGRADED)
			sum += l->st.dev[i].total;
	if (!l->st.dev[but].present || sum * l->st.extent_sectors >= l->sectors)
		return EXIT_OK;
	human_bytes(size, l->sectors * SECTOR_SIZE);
	human_bytes(left, sum * l->st.extent_sectors * SECTOR_SIZE);
	if (remedy)
		return fail("%s: is %s long, the other members hold %s: not all of it could be written any more (%s)",
			    l->name, size, left, remedy);
	warn("%s: is %s long, the other members hold %s: writes will fail when they are full",
	     l->name, size, left);
	return EXIT_OK;
}

bool member_is_lost_with_data(const struct live *l, unsigned int i)
{
	const struct status_dev *d = &l->st.dev[i];

	return d->state != DEV_REMOVED && !d->present && d->used;
}

/*
 * What was discarded is free when that has been committed, and nobody may use it any more.  Of an
 * older module, which does not tell what is on its way there, that may take until the next commit.
 */
static int wait_freed(struct live *l, unsigned int i)
{
	struct timespec nap = { 0, LOOK_MS * 1000000L };
	struct emptying p = { .last = l->st.dev[i].used };
	int err = EXIT_OK;

	while (!err && l->st.dev[i].used) {
		nanosleep(&nap, NULL);
		err = live_look(l);
		if (err || l->st.dev[i].used != p.last) {
			p.last = l->st.dev[i].used;
			p.stuck = 0;
			continue;
		}
		p.known = live_standing(l->name, l->st.nr_devs, &p.standing);
		count_look(&p, i);
		if (p.stuck > (p.known ? STUCK_LOOKS : looks_of_commit(l)))
			err = fail("%s: %llu extents stay on member %u", l->name,
				   (unsigned long long)p.last, i);
	}
	return err;
}

/* Nothing can be moved from it, nor does anything new come to it: it is empty when that is gone. */
static int give_up_lost(struct live *l, unsigned int i)
{
	uint64_t bytes;
	int err;

	if (l->st.mode != MODE_RW)
		return fail("%s: is not writable", l->name);
	if (!room_elsewhere(l, i, DEV_ACTIVE) && !room_elsewhere(l, i, DEV_DEGRADED))
		return fail("%s: no other member has room for what is written: member %u can't leave",
			    l->name, i);
	err = give_up(l, i, &bytes);
	return err ? err : wait_freed(l, i);
}

static const char *remedy_of(unsigned int how)
{
	if (how & EVACUATE_FORCE)
		return NULL;
	return how & EVACUATE_REPLACE ? MEMBER_TAKE_LARGER : MEMBER_ADD_OR_FORCE;
}

int member_evacuate(struct live *l, unsigned int i, unsigned int how)
{
	int err = EXIT_OK;

	/* One that is to leave was judged when that began. */
	if (!live_is_leaving(l, i))
		err = member_judge_room(l, i, 0, remedy_of(how));
	if (!err && how & EVACUATE_GIVE_UP && member_is_lost_with_data(l, i))
		err = give_up_lost(l, i);
	if (!err)
		err = live_message(l, "evacuate", i);
	if (!err)
		err = live_look(l);
	if (err || !(how & EVACUATE_WAIT))
		return err;
	/* For hours: meanwhile it may be cancelled, or another be added that has room. */
	unlock_pool();
	return wait_empty(l, i, how & EVACUATE_GIVE_UP);
}

/* --- a member leaves --- */

/* Of what is told next time less is left, until the label can be wiped. */
static int tell_unwiped(const struct bdev *dev, const struct area *a)
{
	char *what = owner_instead(dev), *end;

	if (what) {
		end = signature_ended_by(what);
		fail("%s: has %s %s by now: left alone (if that is not needed any more, %s)",
		     dev->path, signature_article(what), what, end);
		free(end);
		free(what);
	} else if (a->head_err == -EINVAL) {
		fail("%s: something else, that is not known, has overwritten the label: left alone (if that is not needed any more, zeroes in the 4 KiB from sector %llu end it)",
		     dev->path, (unsigned long long)a->info.area_start);
	} else {
		fail("%s: has a label that is %s: left alone", dev->path,
		     area_label_error(a->head_err));
	}
	return EXIT_FAILED;
}

static int forget_areas(const struct live *l, const struct bdev *dev)
{
	struct area area[AREA_MAX];
	struct ek_super sb;
	int err, nr, i, found = 0;

	if (live_uses(l, dev->rdev))
		return fail("%s: is in use by %s, or below what is", dev->path, l->name);
	if (live_super(l, &sb))
		return EXIT_FAILED;
	nr = area_find(dev, area, &err);
	if (nr < 0)
		return fail("%s: can't be read: %s", dev->path, strerror(-nr));
	for (i = 0, err = 0; !err && i < nr; i++)
		if (leftover_is(&sb, &area[i])) {
			found++;
			err = leftover_wipe(dev, &area[i]);
		}
	if (err == -EINVAL)
		return tell_unwiped(dev, &area[i - 1]);
	if (err)
		return fail("%s: the label can't be wiped: %s", dev->path, strerror(-err));
	return found ? EXIT_OK : fail("%s: nothing that a member of %s has left", dev->path,
				      l->name);
}

bool member_is_young(const struct live *l, unsigned int i)
{
	uint64_t now = time(NULL);
	struct area area[AREA_MAX];
	struct bdev dev;
	bool is = false;
	char *path;
	int nr, err;

	if (!l->st.dev[i].present || l->st.dev[i].state != DEV_ACTIVE)
		return false;
	if (!l->st.dev[i].used)
		return true;
	path = bdev_path(makedev(l->st.dev[i].major, l->st.dev[i].minor));
	if (!bdev_open(&dev, path, 0)) {
		for (nr = area_find(&dev, area, &err); nr > 0; nr--)
			is |= area[nr - 1].info.role == EK_ROLE_MEMBER &&
			      area[nr - 1].info.index == i &&
			      area[nr - 1].info.ctime + YOUNG >= now;
		bdev_close(&dev);
	}
	free(path);
	return is;
}

int member_forget(const struct live *l, const char *path)
{
	struct bdev dev;
	int err;

	/* Alone: what has a user, a mount or another device, is nobody's leftover. */
	err = bdev_open(&dev, path, BDEV_WRITE | BDEV_EXCL);
	if (err == -EBUSY)
		return fail("%s: no member of %s, and in use", path, l->name);
	if (err)
		return fail("%s: no member of %s: %s", path, l->name, strerror(-err));
	err = forget_areas(l, &dev);
	bdev_close(&dev);
	return err;
}

/* Nobody has named the device, and without its label it may be another's. */
static void tell_left(const struct left *left, const char *path, const struct area *a)
{
	if (!leftover_may_be_wiped(a)) {
		warn("%s: carries what member %u has left, or a copy of it, with its label %s: left alone",
		     path, left->index, area_label_error(a->head_err));
		return;
	}
	warn("%s: carries what member %u has left, or a copy of it, with its label %s: left alone (\"hybridctl remove %s %s\" wipes it%s)",
	     path, left->index, area_label_error(a->head_err), left->l->name, path,
	     a->head_err ? " if nothing else is on it" : "");
}

static void look_for_left(const struct left *left, dev_t rdev)
{
	char *path = bdev_path(rdev);
	struct area area[AREA_MAX];
	struct bdev dev;
	int nr, err;

	if (path && !bdev_open(&dev, path, BDEV_LOOK)) {
		for (nr = area_find(&dev, area, &err); nr > 0; nr--)
			if (area[nr - 1].info.role == EK_ROLE_MEMBER &&
			    area[nr - 1].info.index == left->index &&
			    leftover_is(&left->sb, &area[nr - 1]))
				tell_left(left, path, &area[nr - 1]);
		bdev_close(&dev);
	}
	free(path);
}

/* The member is out, and where it was nobody knows: a command that was cut has left its label. */
static int tell_all_left(const struct live *l, unsigned int i)
{
	struct left left = { .l = l, .index = i, .look = look_for_left };
	int err = lock_devices();

	if (err)
		return err;
	err = left_look(&left);
	if (err)
		fail("%s: whether a label of member %u is left can't be told (\"hybridctl remove %s PATH\" wipes it)",
		     l->name, i, l->name);
	unlock_devices();
	return err;
}

static char *path_of(const struct live *l, unsigned int i)
{
	const struct status_dev *d = &l->st.dev[i];
	unsigned int major, minor;

	if (d->present)
		return bdev_path(makedev(d->major, d->minor));
	if (sscanf(l->t.dev[i].dev, "%u:%u", &major, &minor) == 2)
		return bdev_path(makedev(major, minor));
	return NULL;
}

/* Or it would be of whoever gets the place next. */
static bool drop_place(struct live *l, unsigned int i)
{
	bool any = table_move_pins(&l->t, i, -1);

	if (any)
		note("%s: nothing is pinned to member %u any more", l->name, i);
	if (table_has_share(&l->t, i))	/* they are a hundred percent, so it can't go with it */
		note("%s: the share of member %u stays with its place, for whoever joins there (\"hybridctl set %s shares=...\" says how much is, of each)",
		     l->name, i, l->name);
	if (!table_move_fast(&l->t, i, -1))
		return any;
	tell_place(l, i, TABLE_FAST_IS_AUTO);
	return true;
}

int member_remove(struct live *l, unsigned int i, const char *remedy)
{
	bool again = l->st.dev[i].state == DEV_REMOVED;
	char *path = path_of(l, i);
	int err = EXIT_OK;

	if (live_metadata_on(l, i) >= 0) {
		free(path);
		return fail("%s: a metadata area lies on member %u, and has to move first (hybridctl metadata %s move %d DEV)",
			    l->name, i, l->name, live_metadata_on(l, i));
	}
	if (!again)
		err = member_judge_room(l, i, 0, remedy);
	/* One that a failed reload left suspended takes no message; the next reload resumes it. */
	if (!err && !again)
		err = live_message(l, "remove", i);
	/* One that is lost is not in the table any more; what the policy says of it may be. */
	if (!err && (drop_place(l, i) | !!strcmp(l->t.dev[i].dev, "-"))) {
		live_put_none(l, i);
		err = live_reload(l, l->sectors);
	}
	if (!err)
		err = live_look(l);
	if (!err && path)
		err = member_forget(l, path);
	else if (!err && again)
		err = tell_all_left(l, i);
	free(path);
	return err;
}

/* --- the volume grows --- */

static uint64_t sectors_held(const struct live *l)
{
	struct layout layout = { .nr_members = 0 };
	unsigned int i;

	for (i = 0; i < l->st.nr_devs; i++)
		if (l->st.dev[i].state <= DEV_DEGRADED)
			layout.extents[layout.nr_members++] = l->st.dev[i].total;
	return layout_volume_extents(&layout) * l->st.extent_sectors;
}

int member_grow(struct live *l, uint64_t sectors)
{
	char size[UNIT_TEXT];
	int err;

	if (!sectors)
		sectors = sectors_held(l);
	if (sectors == l->sectors) {
		note("%s: is as large as that already", l->name);
		return EXIT_OK;
	}
	if (sectors < l->sectors)
		return fail("%s: would become smaller", l->name);
	err = live_reload(l, sectors);
	if (!err)
		note("%s: %s", l->name, human_bytes(size, sectors * SECTOR_SIZE));
	return err;
}
