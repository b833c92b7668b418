// SPDX-License-Identifier: GPL-2.0-only
/* See mended.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <evenkeel/entry.h>
#include <evenkeel/label.h>

#include "../check.h"
#include "../commands.h"
#include "../dm.h"
#include "../live.h"
#include "../loop.h"
#include "../msg.h"
#include "../offline.h"
#include "../repair.h"
#include "../store_io.h"
#include "ktap.h"
#include "mended.h"

char pool_dir[KTAP_NAME];

/* What is mapped in the end, by extent. */
u64 truth[1000];

void pool_make(struct image_set *set)
{
	static const struct image_change page[] = { MAP(0, 0, 0), MAP(3, 0, 1), MAP(9, 0, 2) };
	static const struct image_change first[] = { MAP(7, 1, 3), MAP(600, 1, 5) };
	static const struct image_change moved[] = { MAP(7, 0, 8), FREE(1, 3), MAP(8, 1, 3) };

	image_make(set, pool_dir);
	image_checkpoint(set, page, 3, 3);
	image_journal(set, first, 2);
	image_journal(set, moved, 3);
	memset(truth, 0, sizeof(truth));
	truth[0] = ek_entry_make(0, 0, 1);
	truth[3] = ek_entry_make(0, 1, 1);
	truth[9] = ek_entry_make(0, 2, 1);
	truth[7] = ek_entry_make(0, 8, 1);
	truth[8] = ek_entry_make(1, 3, 1);
	truth[600] = ek_entry_make(1, 5, 1);
}

static void compare(void *ctx, uint64_t le, uint64_t entry)
{
	struct found *f = ctx;

	f->right += entry == truth[le];
	f->wrong += entry != truth[le];
}

/* Without what the repair and the check say. */
static int quiet[2];

void silence(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), i;

	fflush(stdout);
	for (i = 0; i < 2; i++) {
		quiet[i] = dup(i + 1);
		dup2(null, i + 1);
	}
	close(null);
}

void speak(void)
{
	int i;

	fflush(stdout);
	for (i = 0; i < 2; i++) {
		dup2(quiet[i], i + 1);
		close(quiet[i]);
	}
}

/* As @files of the set have it; false: could not be opened at all. */
bool pool_look(struct image_set *set, unsigned int first, unsigned int nr, struct found *f,
	       bool *clean)
{
	char *paths[2] = { set->path[first], set->path[1] };
	struct pools pools;
	struct check c;
	bool ok = false;

	memset(f, 0, sizeof(*f));
	*clean = false;
	if (offline_pools(&pools, paths, nr))
		return false;
	if (pools.nr == 1) {
		ok = !check_map(&c, &pools.pool[0], compare, f);
		findings_free(&c.errors);
		findings_free(&c.warnings);
	}
	if (ok) {
		*clean = !check_pool(&c, &pools.pool[0]) && !c.errors.nr;
		findings_free(&c.errors);
		findings_free(&c.warnings);
	}
	pools_free(&pools);
	return ok;
}

int command_help(void)
{
	return EXIT_OK;
}

int bad_option(char **argv)
{
	(void)argv;
	return EXIT_USAGE;
}

bool forced = true;

int pool_repair(struct image_set *set)
{
	char *paths[2] = { set->path[0], set->path[1] };
	struct pools pools;
	int err;

	if (offline_pools(&pools, paths, 2))
		return EXIT_USAGE;
	err = pools.nr == 1 ? repair_pool(&pools.pool[0], &(struct repair_how){ .force = forced }) : EXIT_USAGE;
	pools_free(&pools);
	return err;
}

/* Repair, and hold the result to what was there. */
bool pool_holds(struct image_set *set, int *status)
{
	struct found both, alone[2];
	bool clean, clean_alone[2], there[2];
	unsigned int i;

	*status = pool_repair(set);
	pool_look(set, 0, 2, &both, &clean);
	for (i = 0; i < 2; i++)
		there[i] = pool_look(set, i, 1, &alone[i], &clean_alone[i]);
	if (both.wrong || alone[0].wrong || alone[1].wrong)
		return false;
	if (*status)
		return true;
	for (i = 0; i < 2; i++)
		/* With all labels of a device its areas are gone, and known to be missing. */
		if (there[i] && (alone[i].right != 6 || !clean_alone[i]))
			return false;
	return (there[0] || there[1]) && both.right == 6 && clean && !pool_repair(set);
}

u64 pool_offset(struct image_set *set, bool journal)
{
	struct ek_super sb;

	if (pread(set->fd[0], &sb, sizeof(sb), SUPER(1)) != sizeof(sb))
		abort();
	return le64_to_cpu(journal ? sb.journal_offset : sb.table_offset[1]);
}

static u64 rnd_state, turn_of_seed;

void rnd_begin(void)
{
	rnd_state = ktap_seed();
	turn_of_seed = (rnd_state + NR_KEPT - 1) % NR_KEPT;	/* 0 without SEED */
}

u64 rnd(u64 n)
{
	rnd_state = rnd_state * 6364136223846793005ull + 1442695040888963407ull;
	return (rnd_state >> 33) % n;
}

/*
 * --- cut at each write ---
 *
 * The tool's writes and flushes go through here (ld's --wrap). From a certain one on they fail and
 * nothing is written; what was not flushed by then is there, or not, or in part, sector by sector.
 */

struct undone {
	char path[256];
	uint64_t offset;
	size_t len;
	uint8_t *old;
};

#define UNDONE_MAX	4096

static struct undone undone[UNDONE_MAX];
static unsigned int nr_undone, events, cut_event;	/* 0: never */

int __real_bdev_read(const struct bdev *dev, uint64_t offset, void *buf, size_t len);
int __wrap_bdev_read(const struct bdev *dev, uint64_t offset, void *buf, size_t len);
int __real_bdev_write(const struct bdev *dev, uint64_t offset, const void *buf, size_t len);
int __real_bdev_flush(const struct bdev *dev);
int __wrap_bdev_write(const struct bdev *dev, uint64_t offset, const void *buf, size_t len);
int __wrap_bdev_flush(const struct bdev *dev);

static struct {
	const char *path;
	u64 from, to;
} unreadable;

void read_fails(const char *path, u64 from, u64 to)
{
	unreadable.path = path;
	unreadable.from = from;
	unreadable.to = to;
}

int __wrap_bdev_read(const struct bdev *dev, uint64_t offset, void *buf, size_t len)
{
	if (unreadable.path && !strcmp(dev->path, unreadable.path) && offset < unreadable.to &&
	    offset + len > unreadable.from)
		return -EIO;
	return __real_bdev_read(dev, offset, buf, len);
}

bool read_only;

int __real_bdev_open_same(struct bdev *dev, const char *path, dev_t rdev, unsigned int flags);
int __wrap_bdev_open_same(struct bdev *dev, const char *path, dev_t rdev, unsigned int flags);

int __wrap_bdev_open_same(struct bdev *dev, const char *path, dev_t rdev, unsigned int flags)
{
	if (!read_only || !(flags & BDEV_WRITE))
		return __real_bdev_open_same(dev, path, rdev, flags);
	memset(dev, 0, sizeof(*dev));
	dev->fd = -1;
	return -EROFS;
}

/* --- what else there is --- */

struct world world;

int __wrap_dm_reachable(void);
int __wrap_dm_list_hybrid(struct dm_dev **devs, unsigned int *nr);
char *__wrap_dm_pool_uuid(const char *name);
bool __wrap_live_pool(const char *name, struct ek_label_info *info);
char *__wrap_loop_users(const struct loop_part *part, dev_t but);

int __wrap_dm_reachable(void)
{
	return 0;
}

int __wrap_dm_list_hybrid(struct dm_dev **devs, unsigned int *nr)
{
	*devs = NULL;
	*nr = 0;
	if (world.list_err)
		return world.list_err;
	*devs = xcalloc(2, sizeof(**devs));
	(*devs)[(*nr)++].name = xstrdup("another");
	if (world.active)
		(*devs)[(*nr)++].name = xstrdup(world.active);
	return 0;
}

char *__wrap_dm_pool_uuid(const char *name)
{
	if (!strcmp(name, "another"))
		return xstrdup("22222222-2222-2222-2222-222222222222");
	return world.by_dmsetup ? NULL : xstrdup("11111111-1111-1111-1111-111111111111");
}

bool __wrap_live_pool(const char *name, struct ek_label_info *info)
{
	memset(info->pool_uuid, strcmp(name, "another") ? 0x11 : 0x22, EK_UUID_SIZE);
	return true;
}

char *__wrap_loop_users(const struct loop_part *part, dev_t but)
{
	static ino_t first;

	if (!world.loop)
		first = 0;
	else if (!first)
		first = part->ino;
	return world.loop && part->ino == first ? xstrdup(world.loop) : NULL;
}

const char *page_fails, *write_fails;

static bool fails(const struct bdev *dev, const void *buf, size_t len)
{
	if (write_fails && !strcmp(write_fails, dev->path))
		return true;
	return page_fails && !strcmp(page_fails, dev->path) && len == sizeof(struct ek_page) &&
	       le32_to_cpu(((const struct ek_page *)buf)->magic) == EK_PAGE_MAGIC;
}

static struct {
	const char *path;
	u64 from, to;
	unsigned int nr;
} counted;

void count_writes(const char *path, u64 from, u64 to)
{
	counted.path = path;
	counted.from = from;
	counted.to = to;
	counted.nr = 0;
}

unsigned int writes_counted(void)
{
	counted.path = NULL;
	return counted.nr;
}

static bool is_cut(void)
{
	events++;
	return cut_event && events >= cut_event;
}

int __wrap_bdev_write(const struct bdev *dev, uint64_t offset, const void *buf, size_t len)
{
	struct undone *u = &undone[nr_undone];

	counted.nr += counted.path && !strcmp(dev->path, counted.path) && offset < counted.to &&
		      offset + len > counted.from;
	if (fails(dev, buf, len))
		return -EIO;
	/* The one that is cut may have reached the media, too. */
	if (is_cut() && events > cut_event)
		return -EIO;
	if (cut_event) {
		if (nr_undone++ == UNDONE_MAX)
			abort();
		snprintf(u->path, sizeof(u->path), "%s", dev->path);
		u->offset = offset;
		u->len = len;
		u->old = bdev_buffer(len);
		if (bdev_read(dev, offset, u->old, len))
			abort();
	}
	return __real_bdev_write(dev, offset, buf, len) ?: cut_event && events == cut_event ? -EIO : 0;
}

int __wrap_bdev_flush(const struct bdev *dev)
{
	unsigned int i, kept = 0;

	if (is_cut())
		return -EIO;
	for (i = 0; i < nr_undone; i++)
		if (strcmp(undone[i].path, dev->path))
			undone[kept++] = undone[i];
		else
			free(undone[i].old);
	nr_undone = kept;
	return __real_bdev_flush(dev);
}

enum kept kept_of(u64 turn)
{
	return (turn + turn_of_seed) % NR_KEPT;
}

/* The power is back: what was in the caches is what it is. */
void power_on(enum kept kept)
{
	struct undone *u;
	size_t at;
	int fd;

	while (nr_undone) {
		u = &undone[--nr_undone];
		fd = open(u->path, O_RDWR | O_CLOEXEC);
		for (at = 0; at < u->len; at += SECTOR)
			if ((kept == KEPT_NONE || (kept == KEPT_SOME && rnd(2))) &&
			    pwrite(fd, u->old + at, SECTOR, u->offset + at) != SECTOR)
				abort();
		close(fd);
		free(u->old);
	}
	cut_event = 0;
	events = 0;
}

/* As the kernel would open it. */
static bool ask(struct image_set *set, unsigned int first, unsigned int nr, struct pool_word *word)
{
	char *paths[2] = { set->path[first], set->path[1] };
	struct ek_store *store;
	struct store_io io;
	struct pools pools;
	bool ok;

	if (offline_pools(&pools, paths, nr))
		return false;
	ok = pools.nr == 1 && !store_open(&io, &pools.pool[0], &store);
	if (ok) {
		word->generation = ek_store_generation(store);
		word->stale = ek_store_stale(store);
		store_close(&io, store);
	}
	pools_free(&pools);
	return ok;
}

bool pool_opens(struct image_set *set, unsigned int first, unsigned int nr)
{
	struct pool_word ignored;

	return ask(set, first, nr, &ignored);
}

struct pool_word pool_word(struct image_set *set)
{
	struct pool_word word = { 0 };

	ask(set, 0, 2, &word);
	return word;
}

void cut_begin(unsigned int at)
{
	cut_event = at;
	events = 0;
}

/* How many writes and flushes it takes. */
unsigned int cut_events(int (*command)(struct image_set *set), struct image_set *set)
{
	int err;

	events = 0;
	err = command(set);
	return err ? 0 : events;
}
