// SPDX-License-Identifier: GPL-2.0-only
/* What create wipes can be put back: all that the kernel's format may have overwritten. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <evenkeel/store.h>

#include "../area.h"
#include "../commands.h"
#include "../discard.h"
#include "../dm.h"
#include "../fresh.h"
#include "../interrupt.h"
#include "../lock.h"
#include "../loop.h"
#include "../msg.h"
#include "../pool.h"
#include "../table.h"
#include "../unfinished.h"
#include "capture.h"
#include "ktap.h"

#define MAX	4
#define MIB	(1ull << 20)

/* When a signal comes. */
enum when { NEVER, WIPING, TRYING, DISCARDING, HAS_DISCARDED, LOCKING, MADE };

/* The devices that there are: "0" and so on. */
static struct {
	uint64_t bytes[MAX];
	struct wiped {
		unsigned int disk;
		uint64_t start, head;	/* bytes */
	} wiped[4 * MAX];
	unsigned int nr_wiped, nr_undone;
	uint64_t format_end;		/* of what the kernel's format wrote of an area */
	unsigned int wipe_fails;	/* at the so-manieth; 0: not */
	int undo_err;
	enum when when;
	bool knows_discard, discarding;
	unsigned int nr_locked, nr_locked_late, nr_created;
	bool takes;			/* the kernel does what it is told */
	bool has_uuid, ended;
	bool alike;			/* disks 0 and 1 are of one file */
	struct pool pool;		/* that there is, if it has a name */
	bool complete;
	unsigned int on;		/* a disk */
	int head_err;			/* of its label */
} now;

static void comes(enum when when)
{
	if (now.when == when)
		raise(SIGTERM);
}

/* --- what create needs of the others --- */

int __wrap_stat(const char *path, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = S_IFBLK;
	st->st_rdev = makedev(8, atoi(path));
	return 0;
}

uid_t geteuid(void)
{
	return 0;
}

int command_help(void)
{
	return EXIT_OK;
}

int bad_option(char **argv)
{
	return EXIT_USAGE;
}

bool good_name(const char *name)
{
	return true;
}

int need_dm(void)
{
	return EXIT_OK;
}

int unfinished_remove(const char *name, const char *uuid)
{
	return EXIT_OK;
}

int lock_devices(void)
{
	if (!now.discarding || now.when != LOCKING)
		return EXIT_OK;
	raise(SIGTERM);
	return EXIT_FAILED;
}

void unlock_devices(void)
{
	if (now.takes)
		comes(MADE);
}

int bdev_open_same(struct bdev *dev, const char *path, dev_t rdev, unsigned int flags)
{
	memset(dev, 0, sizeof(*dev));
	dev->path = xstrdup(path);
	dev->rdev = rdev;
	dev->sectors = now.bytes[minor(rdev)] / SECTOR_SIZE;
	return 0;
}

/* A wait for another program may be cut by whatever signal. */
int bdev_lock(const struct bdev *dev)
{
	now.nr_locked++;
	now.nr_locked_late += now.nr_wiped > 0;
	return 0;
}

void bdev_close(struct bdev *dev)
{
	free(dev->path);
	memset(dev, 0, sizeof(*dev));
}

uint64_t bdev_sectors(const struct bdev *dev)
{
	return dev->sectors;
}

const char *bdev_error(int err)
{
	return strerror(-err);
}

void bdev_announce(dev_t rdev)
{
}

/* Minors from 16 are partitions: 33 is one of disk 2. */
bool bdev_lies_on(dev_t upper, dev_t lower)
{
	return upper == lower || (minor(upper) >= 16 && minor(upper) / 16 == minor(lower));
}

int pools_scan(struct pools *pools)
{
	*pools = (struct pools){ &now.pool, now.pool.name[0] ? 1 : 0, NULL };
	return 0;
}

void pools_quietly(bool is)
{
}

void pools_free(struct pools *pools)
{
}

bool pool_lacks_stale_only(const struct pool *pool)
{
	return now.complete;
}

bool loop_alike(dev_t a, dev_t b)
{
	return now.alike && minor(a) + minor(b) == 1;
}

int area_find(const struct bdev *dev, struct area *area, int *head_err)
{
	return now.takes;
}

char *uuid_text(char *buf, const uint8_t *uuid)
{
	return strcpy(buf, "");
}

int discard_device(const struct bdev *dev, bool *begun)
{
	now.discarding = true;
	if (interrupted)
		return EXIT_FAILED;
	*begun |= now.knows_discard;
	comes(DISCARDING);
	if (interrupted)
		return EXIT_FAILED;
	comes(HAS_DISCARDED);
	return EXIT_OK;
}

int fresh_open(struct bdev *dev, const char *path, const struct fresh *how)
{
	return bdev_open_same(dev, path, makedev(8, atoi(path)), 0);
}

int fresh_wipe(struct wipe *w, const char *path, dev_t rdev, uint64_t start, uint64_t sectors,
	       uint64_t head)
{
	now.wiped[now.nr_wiped++] = (struct wiped){ minor(rdev), start * SECTOR_SIZE, head };
	comes(WIPING);
	return now.nr_wiped == now.wipe_fails ? -EIO : 0;
}

struct wipe *wipe_new(void)
{
	return xcalloc(1, 1);
}

void wipe_free(struct wipe *w)
{
	free(w);
}

int wipe_undo(struct wipe *w)
{
	now.nr_undone++;
	return now.undo_err;
}

int dm_lookup(const char *name, struct dm_dev *dev)
{
	return 0;
}

void dm_settle(void)
{
	if (now.takes)
		comes(MADE);
}

int dm_set_uuid(const char *name, const char *uuid, char **why)
{
	now.has_uuid = true;
	return 0;
}

int dm_try(const char *name, uint64_t sectors, const char *params, char **why)
{
	comes(TRYING);
	return 0;
}

/* --- the kernel --- */

static int none(void *ctx, unsigned int area, u64 offset, void *buf, size_t len)
{
	memset(buf, 0, len);
	return 0;
}

static int count(void *ctx, unsigned int area, u64 offset, const void *buf, size_t len,
		 unsigned int flags)
{
	if (offset + len > now.format_end)
		now.format_end = offset + len;
	return 0;
}

static int done(void *ctx, unsigned int area)
{
	return 0;
}

static const struct ek_store_io counting = {
	.read = none, .write = count, .wait = done, .flush = done,
};

/* An area reaches to the next one on its device, or to the end. */
static uint64_t area_bytes(const struct table *t, const struct table_area *a)
{
	uint64_t end = now.bytes[atoi(a->dev + 2)] / SECTOR_SIZE;
	unsigned int i;

	for (i = 0; i < t->nr_devs; i++)
		if (!strcmp(t->dev[i].dev, a->dev) && t->dev[i].start > a->start)
			end = t->dev[i].start;
	return (end - a->start) * SECTOR_SIZE;
}

/* Formats, and fails then. */
int dm_create(const char *name, const char *uuid, uint64_t sectors, const char *params, char **why)
{
	struct ek_store_params p = { .policy = "wardrop 0" };
	unsigned int i;
	struct table t;
	char text[96];

	now.nr_created++;
	if (now.takes)
		return 0;
	*why = xstrdup("error 5");
	if (!table_parse(params, &t, text, sizeof(text)))
		return -EINVAL;
	p.extent_sectors = t.extent_sectors;
	p.nr_extents = (sectors + t.extent_sectors - 1) / t.extent_sectors;
	p.nr_meta = t.nr_meta;
	p.nr_members = t.nr_devs;
	for (i = 0; i < t.nr_meta; i++)
		p.area_bytes[i] = area_bytes(&t, &t.meta[i]);
	for (i = 0; i < t.nr_devs; i++)
		p.member_extents[i] = ek_member_extents(area_bytes(&t, &t.dev[i]) / SECTOR_SIZE,
							t.extent_sectors);
	ktap_ok(!ek_store_format(&counting, NULL, &p), "%s: it is formatted", name);
	table_free(&t);
	return -EIO;
}

/* --- the tests --- */

static int create(const char *name, const char *words)
{
	char *line = xasprintf("create %s %s", name, words), *rest = line, *argv[16];
	int argc = 0, ret;

	while (argc < 16 && (argv[argc] = strsep(&rest, " ")))
		argc++;
	optind = 0;
	ret = cmd_create(argc, argv);
	free(line);
	return ret;
}

static uint64_t head_of(unsigned int disk)
{
	unsigned int i;

	for (i = 0; i < now.nr_wiped; i++)
		if (now.wiped[i].disk == disk && !now.wiped[i].start)
			return now.wiped[i].head;
	return 0;
}

/* Disk @meta carries a metadata area. */
static void covers(const char *name, const char *words, unsigned int meta)
{
	now.nr_wiped = 0;
	now.nr_undone = 0;
	now.format_end = 0;
	ktap_ok(create(name, words) == EXIT_FAILED && now.nr_undone == 1,
		"%s: what was wiped is put back", name);
	ktap_ok(now.format_end && head_of(meta) >= now.format_end,
		"%s: all of it, %llu KiB", name, (unsigned long long)now.format_end >> 10);
}

static void test_covers(void)
{
	now.bytes[0] = 32 * MIB;
	now.bytes[1] = 48 * MIB;
	covers("small", "0 1 --extent 64K", 0);
	now.bytes[0] = 4ull << 40;
	now.bytes[1] = 12ull << 40;
	covers("large", "0 1", 1);
	now.bytes[2] = 8 * MIB;
	now.bytes[0] = 1ull << 30;
	now.bytes[1] = now.bytes[0];
	covers("least", "0 1 --metadata 2", 2);
	now.bytes[2] = 64ull << 30;
	covers("roomy", "0 1 --metadata 2", 2);
	now.bytes[3] = 8 * MIB;
	covers("unlike", "0 1 --metadata 2 --metadata 3", 2);
}

/* The old content of a device can't be put back, after a wipe that failed and a format that did. */
static void test_told(unsigned int wipe_fails)
{
	struct capture c;
	char text[512];
	int ret;

	capture_begin(&c, stderr);
	now.nr_wiped = 0;
	now.wipe_fails = wipe_fails;
	now.undo_err = -EIO;
	ret = create("unput", "0 1");
	now.wipe_fails = 0;
	now.undo_err = 0;
	capture_end(&c, text, sizeof(text));
	ktap_ok(ret == EXIT_FAILED && strstr(text, "the devices' old content can't be put back"),
		"what can't be put back is told, after %u areas", now.nr_wiped);
}

/* Before the kernel has the devices: their old content comes back, if it is not discarded. */
static void ends(const char *title, enum when when, const char *words, bool back)
{
	sighandler_t before = signal(SIGTERM, SIG_DFL);

	now.nr_wiped = 0;
	now.nr_undone = 0;
	now.nr_created = 0;
	now.discarding = false;
	now.when = when;
	interrupted = 0;
	ktap_ok(create(title, words) == EXIT_FAILED && !now.nr_created &&
		now.nr_undone == back, "interrupted, %s: %s", title,
		back ? "as it was" : "no way back");
	ktap_ok(signal(SIGTERM, before) == SIG_DFL, "interrupted, %s: caught no more", title);
	interrupted = 0;
	now.when = NEVER;
}

static void test_interrupted(void)
{
	now.knows_discard = true;
	ends("wiping", WIPING, "0 1", true);
	ends("trying", TRYING, "0 1 --discard", true);
	ends("discarding", DISCARDING, "0 1 --discard", false);
	now.knows_discard = false;
	ends("undiscarded", DISCARDING, "0 1 --discard", true);
	ends("between", HAS_DISCARDED, "0 1 --discard", true);
	ends("after", HAS_DISCARDED, "0 --discard", true);
	ends("waiting", LOCKING, "0 1 --discard", true);
}

static void on_end(int sig)
{
	now.ended |= !now.has_uuid;
}

/* The kernel has made it: it gets its uuid, by which udev's rules and the initramfs know it. */
static void test_made(void)
{
	sighandler_t before = signal(SIGTERM, on_end);
	int ret;

	now.takes = true;
	now.when = MADE;
	now.nr_undone = 0;
	ret = create("made", "0 1");
	ktap_ok(ret == EXIT_OK && now.has_uuid && !now.ended && !now.nr_undone,
		"interrupted when it is made: it is finished");
	ktap_ok(signal(SIGTERM, before) == on_end, "interrupted when it is made: caught no more");
	interrupted = 0;
	now.takes = false;
	now.when = NEVER;
}

/* Others may have the devices locked for as long as they like. */
static void test_locks(void)
{
	now.nr_wiped = 0;
	now.nr_locked = 0;
	now.nr_locked_late = 0;
	create("locked", "0 1 --discard");
	ktap_ok(now.nr_locked == 2 && !now.nr_locked_late, "locked before anything is wiped");
	now.nr_wiped = 0;
	now.nr_locked = 0;
	create("unlocked", "0 1");
	ktap_ok(!now.nr_locked, "not locked where nothing is discarded");
}

/* Two loop devices of one file: whatever is forced. */
static void test_alike(void)
{
	now.nr_wiped = 0;
	now.alike = true;
	ktap_ok(create("alike", "0 1 --force") == EXIT_FAILED && !now.nr_wiped,
		"two devices of one file: refused");
	ktap_ok(create("alike", "0 --metadata 1 --force") == EXIT_FAILED && !now.nr_wiped,
		"also for the metadata");
	ktap_ok(create("unlike", "0 2 --force") == EXIT_FAILED && now.nr_wiped,
		"of others nothing is refused");
	now.alike = false;
}

/* Another pool, on disk 2. */
static void named(const char *title, const char *name, const char *words, bool told)
{
	const char *told_by = now.pool.active ? "active as other has that name" :
						"an inactive volume has";
	struct capture c;
	char text[512];

	strcpy(now.pool.name, name);
	now.pool.member[0] = (struct pool_area){
		.there = true, .path = "2", .rdev = makedev(8, now.on), .area.head_err = now.head_err,
	};
	now.nr_wiped = 0;
	capture_begin(&c, stderr);
	create("vol", words);
	capture_end(&c, text, sizeof(text));
	ktap_ok(now.nr_wiped && told == !!strstr(text, told_by), "another pool: %s: %s", title,
		told ? "told" : "nothing is said");
	now.pool.name[0] = 0;
}

static void test_named(void)
{
	static char active[] = "other";
	struct pool_area twin = { .there = true, .path = "3", .rdev = makedev(8, 3) };

	now.bytes[3] = now.bytes[2];
	now.complete = true;
	now.on = 2;
	named("of that name", "vol", "0 1", true);
	named("of another name", "vole", "0 1", false);
	named("to be overwritten", "vol", "0 2 --force", false);
	now.pool.active = active;
	named("active by another name", "vol", "0 1", true);
	named("active by another name, of another", "vole", "0 1", false);
	now.pool.active = NULL;
	now.complete = false;
	named("of which some is missing", "vol", "0 1", false);
	now.complete = true;
	now.pool.conflict = active;
	named("that contradicts itself", "vol", "0 1", false);
	now.pool.alike = true;
	now.pool.twin = &twin;
	now.pool.nr_twins = 1;
	named("of which there are two copies", "vol", "0 1", false);
	named("of which a copy stays", "vol", "0 2", true);
	named("of which the copy goes", "vol", "0 3", true);
	named("of which both go", "vol", "2 3 --force", false);
	now.pool.nr_twins = 0;
	now.pool.alike = false;
	now.pool.conflict = NULL;
	now.on = 33;
	named("on a partition of what is given", "vol", "0 2 --force", false);
	named("on another's partition", "vol", "0 1", true);
	now.on = 2;
	now.head_err = -EUCLEAN;
	named("with a damaged label", "vol", "0 1", false);
	now.head_err = 0;
}

int main(void)
{
	ktap_begin();
	test_covers();
	test_told(0);
	test_told(2);
	test_alike();
	test_named();
	test_locks();
	test_interrupted();
	test_made();
	return ktap_end();
}
