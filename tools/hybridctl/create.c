// SPDX-License-Identifier: GPL-2.0-only
/*
 * hybridctl create: judge everything, then wipe, then let the target format.
 * Whatever refuses, the devices are left as they were.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "commands.h"
#include "discard.h"
#include "dm.h"
#include "fresh.h"
#include "interrupt.h"
#include "layout.h"
#include "lock.h"
#include "loop.h"
#include "msg.h"
#include "pool.h"
#include "table.h"
#include "unfinished.h"
#include "units.h"

#define DEFAULT_POLICY	"wardrop"
#define MAX_SETTINGS	64
#define MAX_SET_DEVS	(EK_MAX_MEMBERS + EK_MAX_META)

struct create {
	const char *name;
	const char *policy;
	char *settings[MAX_SETTINGS];
	unsigned int nr_settings;
	bool force, volatile_ok, discard;
	struct layout layout;
	struct bdev dev[MAX_SET_DEVS];	/* members, then metadata devices */
	unsigned int nr_devs;
	struct bdev lock[MAX_SET_DEVS];	/* the same devices, open for their locks alone */
	unsigned int nr_locks;
	dev_t rdev[MAX_SET_DEVS];
	char *numbers[MAX_SET_DEVS];	/* "major:minor" */
	char *params;
};

static int parse_option(struct create *c, int opt, char **argv)
{
	uint64_t bytes;

	switch (opt) {
	case 'p':
		c->policy = optarg;
		return EXIT_OK;
	case 's':
		if (c->nr_settings == MAX_SETTINGS)
			return usage_error("too many --set");
		c->settings[c->nr_settings++] = optarg;
		return EXIT_OK;
	case 'e':
		if (!parse_size(optarg, &bytes) || bytes & (bytes - 1) ||
		    bytes < EK_MIN_EXTENT_SECTORS * SECTOR_SIZE ||
		    bytes > EK_MAX_EXTENT_SECTORS * SECTOR_SIZE)
			return usage_error("--extent %s: must be a power of two from 64K to 4M",
					   optarg);
		c->layout.extent_sectors = bytes / SECTOR_SIZE;
		return EXIT_OK;
	case 'z':
		if (!parse_size(optarg, &c->layout.size) || !c->layout.size)
			return usage_error("--size %s: not a size", optarg);
		return EXIT_OK;
	case 'm':
		if (c->layout.nr_meta == EK_MAX_META)
			return usage_error("--metadata can be given at most twice");
		c->layout.meta_path[c->layout.nr_meta++] = optarg;
		return EXIT_OK;
	case 'f':
		c->force = true;
		return EXIT_OK;
	case 'v':
		c->volatile_ok = true;
		return EXIT_OK;
	case 'd':
		c->discard = true;
		return EXIT_OK;
	case 'h':
		exit(command_help());
	default:
		return bad_option(argv);
	}
}

static int parse(struct create *c, int argc, char **argv)
{
	static const struct option options[] = {
		{ "policy", required_argument, NULL, 'p' },
		{ "set", required_argument, NULL, 's' },
		{ "extent", required_argument, NULL, 'e' },
		{ "size", required_argument, NULL, 'z' },
		{ "metadata", required_argument, NULL, 'm' },
		{ "force", no_argument, NULL, 'f' },
		{ "volatile-ok", no_argument, NULL, 'v' },
		{ "discard", no_argument, NULL, 'd' },
		OPT_HELP,
		{ NULL, 0, NULL, 0 },
	};
	int opt, err;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		err = parse_option(c, opt, argv);
		if (err)
			return err;
	}
	if (argc - optind < 2)
		return usage_error("a name and at least one device are needed");
	c->name = argv[optind++];
	if (!good_name(c->name))
		return EXIT_USAGE;
	if (argc - optind > EK_MAX_MEMBERS)
		return usage_error("more than %d devices", EK_MAX_MEMBERS);
	for (; optind < argc; optind++)
		c->layout.path[c->layout.nr_members++] = argv[optind];
	return EXIT_OK;
}

static const char *path_of(const struct create *c, unsigned int i)
{
	const struct layout *l = &c->layout;

	return i < l->nr_members ? l->path[i] : l->meta_path[i - l->nr_members];
}

static int check_duplicate(const struct create *c, unsigned int nr, dev_t rdev)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (c->dev[i].rdev == rdev)
			return fail("%s: is the same device as %s", path_of(c, nr), c->dev[i].path);
		if (loop_alike(c->dev[i].rdev, rdev))
			return fail("%s: has the same file behind it as %s", path_of(c, nr),
				    c->dev[i].path);
	}
	return EXIT_OK;
}

static int judge_device(struct create *c, unsigned int i)
{
	struct fresh how = { .force = c->force, .volatile_ok = c->volatile_ok };
	const char *path = path_of(c, i);
	struct stat st;

	if (stat(path, &st))
		return fail("%s: %s", path, strerror(errno));
	if (S_ISBLK(st.st_mode) && check_duplicate(c, i, st.st_rdev))
		return EXIT_FAILED;
	if (fresh_open(&c->dev[i], path, &how))
		return EXIT_FAILED;
	c->nr_devs = i + 1;
	c->rdev[i] = c->dev[i].rdev;
	c->numbers[i] = xasprintf("%u:%u", major(c->rdev[i]), minor(c->rdev[i]));
	return EXIT_OK;
}

static int judge_devices(struct create *c)
{
	struct layout *l = &c->layout;
	unsigned int i;

	for (i = 0; i < l->nr_members + l->nr_meta; i++) {
		if (judge_device(c, i))
			return EXIT_FAILED;
		if (i < l->nr_members)
			l->dev_sectors[i] = c->dev[i].sectors;
		else
			l->meta_sectors[i - l->nr_members] = c->dev[i].sectors;
	}
	return EXIT_OK;
}

/* Of the devices: which metadata area @i is on. */
static unsigned int meta_dev(const struct create *c, unsigned int i)
{
	return c->layout.carve ? i : c->layout.nr_members + i;
}

static int make_table(struct create *c)
{
	const struct layout *l = &c->layout;
	struct table t = { .nr_meta = l->nr_meta, .nr_devs = l->nr_members,
			   .extent_sectors = l->extent_sectors, .features = "0" };
	const char *bad;
	unsigned int i;
	char *policy;

	policy = table_policy(c->policy, c->settings, c->nr_settings, &bad);
	if (!policy)
		return usage_error("--set %s: must be key=value", bad);
	t.policy = policy;
	for (i = 0; i < l->nr_meta; i++)
		t.meta[i].dev = c->numbers[meta_dev(c, i)];
	for (i = 0; i < l->nr_members; i++)
		t.dev[i] = (struct table_area){ c->numbers[i], l->start[i] };
	c->params = table_build(&t);
	free(policy);
	return EXIT_OK;
}

static uint64_t length(const struct create *c)
{
	return c->layout.logical * c->layout.extent_sectors;
}

/* Also of a disk, or a partition, of which the other is given. */
static bool is_given(const struct create *c, const struct pool_area *a)
{
	unsigned int i;

	for (i = 0; i < c->nr_devs; i++)
		if (bdev_lies_on(a->rdev, c->rdev[i]) || bdev_lies_on(c->rdev[i], a->rdev) ||
		    loop_alike(a->rdev, c->rdev[i]))
			return true;
	return false;
}

/* Of several that carry the same label one is enough; if nobody can tell which, it is alone. */
static bool is_left(const struct create *c, const struct pool *p, const struct pool_area *a)
{
	unsigned int i, nr = !is_given(c, a);

	for (i = 0; i < p->nr_twins; i++)
		if (!memcmp(p->twin[i].area.info.area_uuid, a->area.info.area_uuid, EK_UUID_SIZE))
			nr += !is_given(c, &p->twin[i]);
	return p->alike ? nr == 1 : nr;
}

/* As assemble has it: whatever is there, it will not activate that. */
static bool is_damaged(const struct pool *p)
{
	unsigned int i;

	for (i = 0; i < EK_MAX_META; i++)
		if (p->meta[i].there && p->meta[i].area.head_err)
			return true;
	for (i = 0; i < EK_MAX_MEMBERS; i++)
		if (p->member[i].there && p->member[i].area.head_err)
			return true;
	return p->conflict && !p->alike;
}

/* All of it is there, can be activated, and none of that is to be overwritten. */
static bool is_left_whole(const struct create *c, const struct pool *p)
{
	unsigned int i;

	for (i = 0; i < EK_MAX_META; i++)
		if (p->meta[i].there && !is_left(c, p, &p->meta[i]))
			return false;
	for (i = 0; i < EK_MAX_MEMBERS; i++)
		if (p->member[i].there && !is_left(c, p, &p->member[i]))
			return false;
	return !is_damaged(p) && pool_lacks_stale_only(p);
}

static const char *where(const struct create *c, const struct pool *p)
{
	unsigned int i;

	for (i = 0; i < EK_MAX_MEMBERS; i++)
		if (p->member[i].there && !is_given(c, &p->member[i]))
			return p->member[i].path;
	for (i = 0; i < p->nr_twins; i++)
		if (!is_given(c, &p->twin[i]))
			return p->twin[i].path;
	return "?";
}

static void tell_name(const struct create *c, const struct pool *p)
{
	if (p->active)
		warn("%s: the volume that is active as %s has that name, too, when it is assembled again: only by its uuid it is known from this one then",
		     c->name, p->active);
	else if (is_left_whole(c, p))
		warn("%s: an inactive volume has that name, too, on %s and what belongs to it: only by its uuid it is known from this one",
		     c->name, where(c, p));
}

/*
 * At the next start one of the two would not get its name, whichever comes last.  He may know that
 * the other one is to be wiped, or is a backup.
 */
static void look_for_name(const struct create *c)
{
	const struct pool *p;
	struct pools pools;
	int err;

	/* Others wait for the devices' lock, and what is passed over is nobody's concern here. */
	pools_quietly(true);
	err = pools_scan(&pools);
	pools_quietly(false);
	if (err)
		return;
	for (p = pools.pool; p < pools.pool + pools.nr; p++)
		if (!strcmp(p->name, c->name))
			tell_name(c, p);
	pools_free(&pools);
}

static int judge(struct create *c)
{
	char *why;
	int there;

	if (need_dm() || unfinished_remove(c->name, NULL))
		return EXIT_FAILED;
	there = dm_lookup(c->name, NULL);
	if (there)
		return there > 0 ? fail("%s: a device-mapper device of that name is there already",
					c->name) : fail("%s: %s", c->name, strerror(-there));
	if (judge_devices(c))
		return EXIT_FAILED;
	look_for_name(c);
	why = layout_make(&c->layout);
	if (why) {
		fail("%s", why);
		free(why);
		return EXIT_FAILED;
	}
	return make_table(c);
}

/* Whatever the kernel zeroes before it may fail is remembered, too. */
static int wipe_all(const struct create *c, struct wipe *w)
{
	const struct layout *l = &c->layout;
	uint64_t head;
	unsigned int i;
	int err = layout_meta_head(l, &head);

	if (err)
		fail("the metadata can't be laid out: %s", strerror(-err));
	for (i = 0; i < l->nr_meta && !err; i++)
		err = fresh_wipe(w, l->meta_path[i], c->rdev[meta_dev(c, i)], 0,
				 l->meta_sectors[i], head);
	for (i = 0; i < l->nr_members && !err; i++)
		err = fresh_wipe(w, l->path[i], c->rdev[i], l->start[i],
				 l->dev_sectors[i] - l->start[i], FRESH_MEMBER_HEAD);
	return err;
}

static void close_devices(struct create *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_devs; i++)
		bdev_close(&c->dev[i]);
}

static void put_locks(struct create *c)
{
	while (c->nr_locks)
		bdev_close(&c->lock[--c->nr_locks]);
}

static int claim_devices(struct create *c)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < c->nr_devs && !err; i++) {
		err = bdev_open_same(&c->dev[i], path_of(c, i), c->rdev[i],
				     BDEV_WRITE | BDEV_EXCL);
		if (err)
			fail("%s: %s", path_of(c, i), bdev_error(err));
	}
	if (err)
		close_devices(c);
	return err ? EXIT_FAILED : EXIT_OK;
}

static uint64_t sectors_of(const struct create *c, unsigned int i)
{
	const struct layout *l = &c->layout;

	if (i < l->nr_members)
		return l->dev_sectors[i];
	return l->meta_sectors[i - l->nr_members];
}

/* Nobody had the lock: is all as it was judged? */
static int look_again(const struct create *c)
{
	int there = dm_lookup(c->name, NULL);
	unsigned int i;
	struct stat st;

	if (there < 0)
		return fail("%s: %s", c->name, strerror(-there));
	if (there)
		return fail("%s: a device-mapper device of that name has been made meanwhile",
			    c->name);
	for (i = 0; i < c->nr_devs; i++) {
		if (stat(path_of(c, i), &st) || st.st_rdev != c->dev[i].rdev)
			return fail("%s: is another device by now", path_of(c, i));
		if (bdev_sectors(&c->dev[i]) != sectors_of(c, i))
			return fail("%s: has another size by now", path_of(c, i));
	}
	return EXIT_OK;
}

/*
 * Each device by itself, so that who looks at all devices passes it over while it is discarded: the
 * kernel has those wait who read it.  Another program may have one locked for as long as it likes:
 * nothing is wiped yet, the devices are open exclusively, and others get theirs meanwhile.
 */
static int take_locks(struct create *c)
{
	unsigned int i;
	int err = 0;

	unlock_devices();
	for (i = 0; i < c->nr_devs && !err; i++) {
		err = bdev_open_same(&c->lock[i], path_of(c, i), c->rdev[i], 0);
		if (!err) {
			c->nr_locks = i + 1;
			err = bdev_lock(&c->lock[i]);
		}
		if (err)
			fail("%s: can't be locked: %s", path_of(c, i), bdev_error(err));
	}
	return err || lock_devices() ? EXIT_FAILED : look_again(c);
}

/*
 * It may take minutes, for which nobody waits who is after other devices:
 *
 *	all devices are open exclusively	nobody gets one of them
 *	the devices' lock is given up		others get theirs
 *	discard					take_locks() has been before
 *	the devices' lock, and look again	the name may be taken, a disk have another size
 *	closed, and their locks given up	device-mapper claims them itself
 *
 * Killed anywhere, or failing when a discard has begun, it leaves devices that are wiped, and
 * discarded in part.
 */
static int discard_all(struct create *c, bool *begun)
{
	int err = EXIT_OK;
	unsigned int i;

	unlock_devices();
	dm_settle();
	for (i = 0; i < c->nr_devs && !err; i++)
		err = discard_device(&c->dev[i], begun);
	/* Also to put back what was there. */
	if (lock_devices())
		err = EXIT_FAILED;
	if (!err)
		err = look_again(c);
	close_devices(c);
	put_locks(c);
	return err;
}

static int put_back(struct wipe *w)
{
	int err = wipe_undo(w);

	if (err)
		fail("the devices' old content can't be put back: %s", strerror(-err));
	return EXIT_FAILED;
}

/* What was there comes first: who is told may keep us waiting. */
static int refused(struct wipe *w, char *why)
{
	int err = put_back(w);

	fail("%s", why);
	free(why);
	return err;
}

static int make(struct create *c, struct wipe **w)
{
	bool begun = false;
	char *why = NULL;

	/* A discard can't be taken back: let the kernel judge before. */
	if (c->discard) {
		if (dm_try(c->name, length(c), c->params, &why))
			return refused(*w, why);
		if (claim_devices(c)) {
			dm_settle();
			return put_back(*w);
		}
		if (discard_all(c, &begun))
			return begun ? EXIT_FAILED : put_back(*w);
		/* Discarded blocks need not read as zeroes; and there is no way back. */
		if (begun) {
			wipe_free(*w);
			*w = wipe_new();
			if (wipe_all(c, *w))
				return EXIT_FAILED;
		}
	}
	if (interrupted)
		return refused(*w, xstrdup("interrupted"));
	note("Formatting %s", c->name);
	if (dm_create(c->name, NULL, length(c), c->params, &why))
		return refused(*w, why);
	return EXIT_OK;
}

/* The target made the pool's uuid: the dm device's follows from it. */
static void name_by_pool(const struct create *c)
{
	struct area area[AREA_MAX];
	char text[UUID_TEXT], *uuid, *why = NULL;
	struct bdev dev;
	int err, nr = -ENOENT;

	err = bdev_open_same(&dev, c->layout.meta_path[0], c->rdev[meta_dev(c, 0)], 0);
	if (!err) {
		nr = area_find(&dev, area, &err);
		bdev_close(&dev);
	}
	if (nr < 1) {
		warn("the new pool's label can't be read; the device has no uuid");
		return;
	}
	uuid = xasprintf(DM_UUID_PREFIX "%s", uuid_text(text, area[0].info.pool_uuid));
	if (dm_set_uuid(c->name, uuid, &why))
		warn("the device's uuid can't be set: %s", why);
	free(why);
	free(uuid);
}

/*
 * udev looked at the devices when we closed them, before the target labelled them, and nothing
 * tells it of that.  It is to know the pool while the volume is active: else the next event, which
 * may come when the volume has been stopped, would be the first to show it, and start it.
 */
static void announce(const struct create *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_devs; i++)
		bdev_announce(c->rdev[i]);
}

static void tell(const struct create *c)
{
	const struct layout *l = &c->layout;
	uint64_t bytes = l->extent_sectors * SECTOR_SIZE;
	char size[UNIT_TEXT], extent[UNIT_TEXT], rest[UNIT_TEXT], meta[UNIT_TEXT];

	note("/dev/mapper/%s: %s in extents of %s on %u device%s; %s kept free for migration",
	     c->name, human_bytes(size, l->logical * bytes), human_bytes(extent, bytes),
	     l->nr_members, l->nr_members == 1 ? "" : "s",
	     human_bytes(rest, (l->total - l->logical) * bytes));
	if (l->size && l->size != l->logical * bytes)
		note("The size was rounded up to whole extents.");
	note("Metadata: %s %s %s%s%s", human_bytes(meta, l->meta_sectors[0] * SECTOR_SIZE),
	     l->carve ? "at the start of" : "on", l->meta_path[0],
	     l->nr_meta > 1 ? ", mirrored on " : "", l->nr_meta > 1 ? l->meta_path[1] : "");
}

/*
 * What was wiped is known here alone: until the kernel has the devices a signal puts it back.  And
 * what the kernel has made gets its uuid whatever comes: without, it would be a stranger to udev's
 * rules and the initramfs for as long as it is active.
 */
static int wipe_and_make(struct create *c)
{
	struct wipe *w = wipe_new();
	int err;

	catch_interrupts();
	err = wipe_all(c, w) ? put_back(w) : make(c, &w);
	if (!err) {
		/* Claimed.  Until then the devices might have had to be put back. */
		unlock_devices();
		name_by_pool(c);
		dm_settle();
	}
	let_interrupts();
	wipe_free(w);
	return err;
}

static int build(struct create *c)
{
	int err = c->discard ? take_locks(c) : EXIT_OK;

	if (err)
		return err;
	note("Wiping the areas' starts and ends");
	close_devices(c);
	err = wipe_and_make(c);
	if (err)
		return err;
	announce(c);
	tell(c);
	return EXIT_OK;
}

int cmd_create(int argc, char **argv)
{
	struct create c = { .policy = DEFAULT_POLICY };
	unsigned int i;
	int err;

	err = parse(&c, argc, argv);
	/* No other volume gets one of the devices between our look and device-mapper's claim. */
	if (!err && !geteuid())
		err = lock_devices();
	if (!err)
		err = judge(&c);
	if (!err)
		err = build(&c);
	close_devices(&c);
	put_locks(&c);
	for (i = 0; i < MAX_SET_DEVS; i++)
		free(c.numbers[i]);
	free(c.params);
	return err;
}
