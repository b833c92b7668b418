// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damages each structure of a pool's metadata, alone and several at once, and repairs it.  Whatever
 * the damage: no extent is ever found where it was not, and when repair says that all is sound,
 * every one is found where it was, by the mirrors together and by each alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <evenkeel/entry.h>
#include <evenkeel/label.h>

#include "../commands.h"
#include "../msg.h"
#include "../offline.h"
#include "../repair.h"
#include "../store_io.h"
#include "given.h"
#include "ktap.h"
#include "mended.h"

/* --- each structure --- */

struct damage {
	const char *what;
	unsigned int files;	/* a bit each */
	u64 offset;
	size_t len;
	int status;		/* of the repair */
	size_t tail;		/* bytes at the file's end as well */
};

/* Each area by its label, and by its copy. */
static bool labels_are_whole(const struct image_set *set)
{
	struct area area[AREA_MAX];
	bool whole = true;
	struct bdev dev;
	int i, k, err;

	for (i = 0; i < 2; i++) {
		if (bdev_open(&dev, set->path[i], BDEV_FILES))
			abort();
		whole &= area_find(&dev, area, &err) == 2;
		for (k = 0; whole && k < 2; k++)
			whole &= !area[k].head_err && !area[k].copy_err && !area[k].differ;
		bdev_close(&dev);
	}
	return whole;
}

static void one(const struct damage *d)
{
	struct image_set set;
	unsigned int i;
	int status;
	bool ok;

	pool_make(&set);
	for (i = 0; i < 2; i++)
		if (d->files >> i & 1) {
			image_spoil(&set, i, d->offset, d->len);
			image_spoil(&set, i, FILE_BYTES - d->tail, d->tail);
		}
	silence();
	ok = pool_holds(&set, &status) && (status || labels_are_whole(&set));
	speak();
	ktap_ok(ok && status == d->status, "repair: %s: %d", d->what, status);
	image_close(&set);
}

static void each(void)
{
	struct image_set set;
	u64 page, journal, table, i;

	pool_make(&set);
	page = image_page_offset(&set);
	journal = pool_offset(&set, true);
	table = pool_offset(&set, false);
	image_close(&set);
	{
		const u64 copy = META_BYTES - EK_BLOCK_SIZE, member = META_BYTES;
		const u64 end = FILE_BYTES - EK_BLOCK_SIZE;
		const struct damage all[] = {
			{ "nothing", 0, 0, 0, 0, 0 },
			{ "a metadata label", 1, LABEL + 8, 8, 0, 0 },
			{ "both metadata labels", 3, LABEL + 8, 8, 0, 0 },
			{ "a metadata label's copy", 2, copy + 100, 8, 0, 0 },
			{ "a member's label", 1, member + 60, 8, 0, 0 },
			{ "a member's label's copy", 1, end + 60, 8, 0, 0 },
			{ "one superblock of one area", 1, SUPER(1), 100, 0, 0 },
			{ "the other superblock of it", 2, SUPER(0) + 200, 9, 0, 0 },
			{ "both superblocks of an area", 2, SUPER(0), 66000, 0, 0 },
			{ "a page table", 1, table, 4096, 0, 0 },
			{ "a page of the map", 2, page + 64, 8, 0, 0 },
			{ "a page of the map on both areas", 3, page + 64, 8, 1, 0 },
			{ "a journal's first block", 1, journal + 70, 8, 0, 0 },
			{ "a journal's last block", 2, journal + 4096 + 70, 8, 0, 0 },
			{ "the journals' first blocks", 3, journal + 70, 8, 1, 0 },
			{ "all but the labels of an area", 1, SUPER(0), META_BYTES - 8192 - SUPER(0), 0, 0 },
			{ "both ends of a device", 1, 0, 34 * SECTOR, 0, 33 * SECTOR },
			{ "both ends of both", 3, 0, 34 * SECTOR, 0, 33 * SECTOR },
			{ "both ends and a superblock", 2, 0, SUPER(0) + 100, 0, 33 * SECTOR },
		};

		for (i = 0; i < sizeof(all) / sizeof(*all); i++)
			one(&all[i]);
	}
}

/* --- space maps --- */

static void spaces(void)
{
	static const struct image_change page[] = { MAP(0, 0, 0), MAP(3, 0, 1), MAP(9, 0, 2) };
	static const struct image_change same[] = { MAP(20, 0, 40), MAP(21, 0, 40) };
	static const struct image_change rest[] = { MAP(7, 0, 8), MAP(8, 1, 3), MAP(600, 1, 5) };
	struct image_set set;
	int status;
	bool ok;

	pool_make(&set);	/* for what is true */
	image_close(&set);
	image_make(&set, pool_dir);
	image_checkpoint(&set, page, 3, 1);
	image_journal(&set, rest, 3);
	silence();
	ok = pool_holds(&set, &status);
	speak();
	ktap_ok(ok && !status, "repair: places that were marked free");
	image_close(&set);
	image_make(&set, pool_dir);
	image_checkpoint(&set, page, 3, 30);
	image_journal(&set, rest, 3);
	silence();
	ok = pool_holds(&set, &status);
	speak();
	ktap_ok(ok && !status, "repair: places in use that nothing maps are no error");
	image_journal(&set, same, 2);
	silence();
	status = pool_repair(&set);
	speak();
	ktap_ok(status == EXIT_FAILED, "repair: two extents in one place: nobody knows whose");
	image_close(&set);
}

/* A disk that has dropped a write has an older page in that place, whole. */
static void older(unsigned int file)
{
	static const struct image_change before[] = { MAP(0, 0, 0), MAP(3, 0, 7) };
	static const struct image_change page[] = { MAP(0, 0, 0), MAP(3, 0, 1), MAP(9, 0, 2) };
	static const struct image_change rest[] = { MAP(7, 0, 8), MAP(8, 1, 3), MAP(600, 1, 5) };
	struct image_set set;
	struct ek_page old;
	struct found f;
	bool ok, clean;
	int status;
	u64 at;

	pool_make(&set);	/* for what is true */
	image_close(&set);
	image_make(&set, pool_dir);
	image_checkpoint(&set, before, 2, 2);
	at = image_page_offset(&set);
	ok = pread(set.fd[file], &old, sizeof(old), at) == sizeof(old);
	image_checkpoint(&set, before, 2, 2);
	image_checkpoint(&set, page, 3, 3);
	image_journal(&set, rest, 3);
	ok &= pwrite(set.fd[file], &old, sizeof(old), at) == sizeof(old);
	silence();
	ok &= pool_look(&set, 0, 2, &f, &clean) && !clean && pool_holds(&set, &status) && !status;
	speak();
	ktap_ok(ok, "repair: a page of area %u that is older than the other's", file);
	image_close(&set);
}

/* One area is out, the other has lost what the map tells: that does not keep the first one out. */
static void space_without_mirror(void)
{
	struct image_set set;
	u32 before, after;
	int status;
	bool ok;

	pool_make(&set);
	image_leave(&set, 1);
	before = pool_word(&set).stale;
	image_spoil(&set, 0, image_space_offset(&set) + 64, 8);
	silence();
	status = pool_repair(&set);
	after = pool_word(&set).stale;
	ok = pool_holds(&set, &status);
	speak();
	ktap_ok(ok && !status && before == 2 && !after,
		"repair: a stale area, and a space map that is damaged on the other: stale %x, then %x",
		before, after);
	image_close(&set);
}

/* --- what else may be there --- */

static void overwritten(u64 label, const char *whose)
{
	struct image_set set;
	bool ok;

	pool_make(&set);
	forced = false;
	image_spoil(&set, 0, label, 8);
	silence();
	ok = pool_repair(&set) == EXIT_FAILED;
	forced = true;
	ok &= pool_repair(&set) == EXIT_OK;
	speak();
	ktap_ok(ok, "repair: %s head that something else has overwritten, only with --force", whose);
	image_close(&set);
}

static void of_tomorrow(struct ek_label *label)
{
	label->incompat = cpu_to_le64(1ull << 63);
}

static bool same(const struct image_set *set, unsigned int file, u64 at, const void *old, size_t len)
{
	char *now = malloc(len);
	bool is = pread(set->fd[file], now, len, at) == (ssize_t)len && !memcmp(now, old, len);

	free(now);
	return is;
}

static void keep(const struct image_set *set, unsigned int file, u64 at, void *old, size_t len)
{
	if (pread(set->fd[file], old, len, at) != (ssize_t)len)
		abort();
}

/* A copy that is damaged is no reason to write over a label that is not understood. */
static void later_version(void)
{
	char old[EK_BLOCK_SIZE];
	struct image_set set;

	pool_make(&set);
	image_relabel(&set, 0, META_BYTES, of_tomorrow);
	keep(&set, 0, META_BYTES, old, sizeof(old));
	silence();
	pool_repair(&set);
	speak();
	ktap_ok(same(&set, 0, META_BYTES, old, sizeof(old)), "repair: a label of a later version is left");
	image_close(&set);
}

/* Two devices, one of which was copied from the other: which is the pool's? */
static void alike(void)
{
	struct image_set set, both;
	char old[EK_BLOCK_SIZE];
	int status;

	pool_make(&set);
	both = set;
	snprintf(both.path[1], sizeof(both.path[1]), "%.200s.copy", set.path[0]);
	image_copy(&set, 0, both.path[1]);
	image_spoil(&set, 0, META_BYTES - EK_BLOCK_SIZE + 100, 8);
	keep(&set, 0, META_BYTES - EK_BLOCK_SIZE, old, sizeof(old));
	silence();
	status = pool_repair(&both);
	speak();
	ktap_ok(status == EXIT_FAILED && same(&set, 0, META_BYTES - EK_BLOCK_SIZE, old, sizeof(old)),
		"repair: neither of two that are alike is written to");
	unlink(both.path[1]);
	image_close(&set);
}

/* What the kernel asked for is done when all is sound, and not before. */
static void needs_check(void)
{
	static const struct image_change same_place[] = { MAP(20, 0, 40), MAP(21, 0, 40) };
	struct image_set set;
	int status;

	pool_make(&set);
	image_flags(&set, EK_SUPER_NEEDS_CHECK, 0);
	silence();
	status = pool_repair(&set);
	speak();
	ktap_ok(!status && !(image_super_flags(&set) & EK_SUPER_NEEDS_CHECK),
		"repair: what is sound needs no check any more");
	image_flags(&set, EK_SUPER_NEEDS_CHECK, 0);
	image_journal(&set, same_place, 2);
	silence();
	status = pool_repair(&set);
	speak();
	ktap_ok(status == EXIT_FAILED && image_super_flags(&set) & EK_SUPER_NEEDS_CHECK,
		"repair: what is not sound needs a check still");
	image_close(&set);
}

static int degraded_repair(struct image_set *set, int nr)
{
	struct repair_how degraded = { .degraded = true };
	char *paths[2] = { set->path[0], set->path[1] };
	struct pools pools;
	int err;

	if (offline_pools(&pools, paths, nr))
		return EXIT_USAGE;
	err = repair_pool(&pools.pool[0], &degraded);
	pools_free(&pools);
	return err;
}

/* An area that can't tell whether it is newer is done without, not written over. */
static void untold(void)
{
	const size_t len = 1 << 20;
	char *old = malloc(len);
	struct image_set set;
	int status;

	pool_make(&set);
	image_spoil(&set, 0, SUPER(0), len);
	keep(&set, 0, SUPER(0), old, len);
	silence();
	status = degraded_repair(&set, 2);
	speak();
	ktap_ok(!status && same(&set, 0, SUPER(0), old, len),
		"repair: --degraded leaves an area without superblocks as it is: %d", status);
	free(old);
	image_close(&set);
}

/* --- what somebody has put there since --- */

/* The other area may call the one on that device stale: that is no leave to overwrite it. */
static void given_away(const char *by, void (*place)(const struct image_set *set), bool stale)
{
	struct image_set set;
	u32 sum[2];
	int status;

	pool_make(&set);
	if (stale)
		image_leave(&set, 0);
	place(&set);
	sum[0] = image_sum(&set, 0);
	sum[1] = image_sum(&set, 1);
	silence();
	status = degraded_repair(&set, 2);
	speak();
	ktap_ok(status == EXIT_FAILED && image_sum(&set, 0) == sum[0] &&
		image_sum(&set, 1) == sum[1],
		"repair: %s has taken a device%s: refused, nothing is written", by,
		stale ? " whose area is stale" : "");
	silence();
	status = pool_repair(&set);
	speak();
	ktap_ok(status == EXIT_OK, "repair: %s: with --force it is taken back: %d", by, status);
	image_close(&set);
}

/* What is between the ends is no reason to take a device for whole, or for anybody's. */
static void inside(void)
{
	static const u8 none[EK_BLOCK_SIZE];
	struct area area[AREA_MAX];
	struct image_set set;
	struct bdev dev;
	int nr[3], err;
	bool ok;

	pool_make(&set);
	given_gpt(&set);
	if (bdev_open(&dev, set.path[0], BDEV_FILES))
		abort();
	ok = !area_find(&dev, area, &err);	/* nobody who only looks around has it */
	nr[0] = area_find_inside(&dev, area, &err);
	ok &= area[0].inside && area[1].inside && area[0].head_err && !area[0].copy_err &&
	     !area[1].head_err && area[1].copy_err && err == -EINVAL;
	given_put(&set, META_BYTES - EK_BLOCK_SIZE, none, sizeof(none));
	nr[1] = area_find_inside(&dev, area, &err);
	ok &= area[0].inside && area[0].info.role == EK_ROLE_MEMBER;
	given_put(&set, META_BYTES, none, sizeof(none));
	nr[2] = area_find_inside(&dev, area, &err);
	ktap_ok(ok && nr[0] == 2 && nr[1] == 1 && !nr[2] && err == -EINVAL,
		"area: found between the ends: %d, without the copy %d, nor the label %d", nr[0],
		nr[1], nr[2]);
	bdev_close(&dev);
	image_close(&set);
}

static void all_given_away(void)
{
	given_away("bcache", given_bcache, false);
	given_away("bcache", given_bcache, true);
	given_away("a partition table", given_mbr, false);
	given_away("what left only a member's copy", given_over_all, true);
	given_away("the end of a GPT", given_backup, false);
	given_away("a GPT", given_gpt, false);
	given_away("a GPT", given_gpt, true);
}

/* What was judged is written to, and nothing that has its path by now. */
static void exchanged(u64 spoilt)
{
	struct repair_how how = { .force = true };
	struct image_set set;
	struct pools pools;
	char *paths[2] = { set.path[0], set.path[1] };
	u32 sum[2] = { 0 };
	int err;

	pool_make(&set);
	image_spoil(&set, 0, spoilt, 8);
	silence();
	err = offline_pools(&pools, paths, 2);
	if (!err) {
		image_exchange(&set, pool_dir);
		sum[0] = image_sum(&set, 0);
		sum[1] = image_sum(&set, 1);
		err = repair_pool(&pools.pool[0], &how);
		pools_free(&pools);
	}
	speak();
	ktap_ok(err && image_sum(&set, 0) == sum[0] && image_sum(&set, 1) == sum[1],
		"repair: another file has the path meanwhile (%llx): refused, nothing is written",
		(unsigned long long)spoilt);
	image_close(&set);
}

/* --- the command's status --- */

static int command_with(struct image_set *set, const char *option)
{
	char *argv[] = { "repair", set->path[0], set->path[1], (char *)option, NULL };
	int status;

	optind = 0;
	silence();
	status = cmd_repair(option ? 4 : 3, argv);
	speak();
	return status;
}

static int command(struct image_set *set)
{
	return command_with(set, NULL);
}

static void statuses(void)
{
	struct image_set set;
	u64 page;

	pool_make(&set);
	page = image_page_offset(&set);
	ktap_ok(command(&set) == EXIT_OK, "repair: status 0: sound");
	read_only = true;
	ktap_ok(command(&set) == EXIT_USAGE, "repair: status 2: can't be opened for writing");
	image_spoil(&set, 0, LABEL + 8, 8);
	ktap_ok(command(&set) == EXIT_USAGE, "repair: status 2: nor for its label");
	image_spoil(&set, 0, META_BYTES + 60, 8);
	ktap_ok(command(&set) == EXIT_USAGE, "repair: status 2: nor for two labels");
	read_only = false;
	image_spoil(&set, 0, page + 64, 8);
	image_spoil(&set, 1, page + 64, 8);
	ktap_ok(command(&set) == EXIT_FAILED, "repair: status 1: something is left");
	image_close(&set);
}

/* --- who else has a claim --- */

/* There is something to mend, and somebody else at work on it or on top of it. */
static void claimed(const char *by, int status, bool ever)
{
	struct image_set set;
	u32 sum[2];
	int first, then;

	pool_make(&set);
	image_spoil(&set, 1, LABEL + 8, 8);
	sum[0] = image_sum(&set, 0);
	sum[1] = image_sum(&set, 1);
	first = command(&set);
	ktap_ok(first == status && image_sum(&set, 0) == sum[0] && image_sum(&set, 1) == sum[1],
		"repair: %s: refused, nothing is written: %d", by, first);
	then = command_with(&set, "--force");
	ktap_ok(ever ? then == EXIT_OK : then == status && image_sum(&set, 1) == sum[1],
		"repair: %s: --force: %d", by, then);
	image_close(&set);
}

/* One that is not written to as long as another program has it to itself. */
static void locked_file(void)
{
	struct image_set set;
	int fd;

	pool_make(&set);
	fd = open(set.path[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX))
		abort();
	ktap_ok(command(&set) == EXIT_USAGE, "repair: a file that another program has locked");
	if (flock(fd, LOCK_SH))
		abort();
	ktap_ok(command(&set) == EXIT_USAGE, "repair: or that others read, and want as it is");
	close(fd);
	ktap_ok(command(&set) == EXIT_OK, "repair: and not any more");
	image_close(&set);
}

static void leg(void)
{
	struct image_set set;
	u32 sum[2];
	int first, then;

	pool_make(&set);
	image_md(&set, 0);
	image_spoil(&set, 1, LABEL + 8, 8);
	sum[0] = image_sum(&set, 0);
	sum[1] = image_sum(&set, 1);
	first = command(&set);
	ktap_ok(first == EXIT_FAILED && image_sum(&set, 0) == sum[0] &&
		image_sum(&set, 1) == sum[1], "repair: a leg of md: refused, nothing is written");
	then = command_with(&set, "--force");
	ktap_ok(then == EXIT_OK, "repair: a leg of md: only with --force: %d", then);
	image_close(&set);
}

static void claims(void)
{
	world.active = "vol";
	claimed("active", EXIT_USAGE, false);
	world.by_dmsetup = true;
	claimed("active, by dmsetup's doing", EXIT_USAGE, false);
	world = (struct world){ .list_err = -ENOMEM };
	claimed("nobody knows whether it is active", EXIT_USAGE, false);
	world = (struct world){ .loop = "/dev/loop7" };
	claimed("behind a loop device in use", EXIT_USAGE, false);
	world = (struct world){ 0 };
	locked_file();
	leg();
}

/* --- one of two --- */

/* It may be the last that there is, and a write that fails may take it. */
static void mends_one(bool head)
{
	const u64 at[] = { META_BYTES, FILE_BYTES - EK_BLOCK_SIZE };
	struct image_set set;
	unsigned int nr;
	bool ok;

	pool_make(&set);
	image_spoil(&set, 0, at[!head] + 8, 8);
	count_writes(set.path[0], at[head], at[head] + EK_BLOCK_SIZE);
	silence();
	ok = pool_repair(&set) == EXIT_OK;
	speak();
	nr = writes_counted();
	ktap_ok(ok && !nr && labels_are_whole(&set),
		"repair: what is good of a label is left, %s is written: %u",
		head ? "the label" : "the copy", nr);
	image_close(&set);
}

/* --- what is not there --- */

static void missing(void)
{
	struct repair_how careful = { .force = false }, degraded = { .degraded = true };
	struct image_set set;
	struct pools pools;
	struct ek_label label;
	struct ek_label_info info;
	char *paths[1], *both[2];
	int first, then;
	u64 copy;
	bool ok;

	pool_make(&set);
	paths[0] = set.path[0];
	silence();
	ok = !offline_pools(&pools, paths, 1);
	first = repair_pool(&pools.pool[0], &careful);
	then = repair_pool(&pools.pool[0], &degraded);
	pools_free(&pools);
	speak();
	ktap_ok(ok && first == EXIT_FAILED && then == EXIT_OK,
		"repair: without a metadata area only if told to: %d, %d", first, then);
	ktap_ok(pool_word(&set).stale == 2, "repair: the one that it did without is stale from then on");
	image_close(&set);

	/* Another area's label, the member's own device being gone. */
	pool_make(&set);
	both[0] = set.path[0];
	both[1] = set.path[1];
	if (pread(set.fd[1], &label, sizeof(label), META_BYTES) != sizeof(label) ||
	    ek_label_decode(&label, &info))
		abort();
	info.area_uuid[5] ^= 1;
	ek_label_encode(&info, &label);
	copy = info.area_start * SECTOR + ek_label_copy_offset(info.area_sectors);
	if (pwrite(set.fd[1], &label, sizeof(label), META_BYTES) != sizeof(label) ||
	    pwrite(set.fd[1], &label, sizeof(label), copy) != sizeof(label))
		abort();
	silence();
	ok = !offline_pools(&pools, both, 2) && pools.pool[0].member[0].there &&
	     !pools.pool[0].member[1].there;
	pools_free(&pools);
	speak();
	ktap_ok(ok, "pool: a stale label is not taken for the member that is missing");
	image_close(&set);
}

/* --- any --- */

/*
 * Where something is; most of the areas is not in use.  Not in the journal's last transaction: if
 * the other area is lost, too, damage there is what a power cut leaves, which is no damage.
 */
static u64 somewhere(u64 page, u64 journal, u64 table)
{
	const u64 where[] = { 0, META_BYTES - 4096, SUPER(0), SUPER(1), table, table - 4096, journal,
			      page, page + 4096, META_BYTES, (u64)IMAGE_SECTORS * SECTOR - 4096 };

	return where[rnd(sizeof(where) / sizeof(*where))] + rnd(4000);
}

static void any(unsigned int rounds)
{
	unsigned int i, k, sound = 0, left = 0, bad = 0;
	struct image_set set;
	u64 page, journal, table;
	int status;

	pool_make(&set);
	page = image_page_offset(&set);
	journal = pool_offset(&set, true);
	table = pool_offset(&set, false);
	image_close(&set);
	for (i = 0; i < rounds && !bad; i++) {
		pool_make(&set);
		for (k = 1 + rnd(5); k; k--)
			image_spoil(&set, rnd(2), somewhere(page, journal, table), 1 + rnd(90));
		silence();
		bad = !pool_holds(&set, &status);
		speak();
		sound += !status;
		left += !!status;
		image_close(&set);
	}
	ktap_ok(!bad && sound && left, "repair: any damage, round %u: %u sound, %u not", i, sound, left);
}

/* --- cut at each write --- */

static void cut_repair(const char *what, u64 first, u64 len0, u64 second, u64 len1)
{
	unsigned int all, at, bad = 0;
	struct image_set set;
	struct found f;
	bool clean;
	int status;

	for (all = 0, at = 0; !bad && (!at || at <= all); at++) {
		pool_make(&set);
		image_spoil(&set, 0, first, len0);
		image_spoil(&set, 1, second, len1);
		silence();
		if (!at)
			all = cut_events(pool_repair, &set);
		cut_begin(at);
		pool_repair(&set);
		power_on(kept_of(at + first));
		/* What is found is right; what is sound is whole; and it can be mended. */
		bad = pool_look(&set, 0, 2, &f, &clean) && (f.wrong || (clean && f.right != 6));
		bad |= !pool_holds(&set, &status) || status;
		speak();
		image_close(&set);
	}
	ktap_ok(all > 2 && !bad, "repair of %s: cut at %u of %u", what, at - 1, all);
	printf("# tried %u moments\n", at - 1);
}

static void cuts(void)
{
	struct image_set set;
	u64 page, journal;

	pool_make(&set);
	page = image_page_offset(&set);
	journal = pool_offset(&set, true);
	image_close(&set);
	cut_repair("an area that is wrecked", SUPER(0), 1 << 20, META_BYTES, 0);
	cut_repair("labels and a page", LABEL + 8, 8, page + 64, 8);
	cut_repair("both labels of an area and a journal", LABEL + 8, 8, journal + 70, 8);
}

int main(int argc, char **argv)
{
	if (!mkdtemp(ktap_name(pool_dir, POOL_PLACE)))
		return 1;
	ktap_begin();
	rnd_begin();
	overwritten(META_BYTES, "a member's");
	overwritten(LABEL, "a metadata area's");
	later_version();
	alike();
	needs_check();
	untold();
	all_given_away();
	inside();
	mends_one(false);
	mends_one(true);
	missing();
	spaces();
	older(0);
	older(1);
	space_without_mirror();
	exchanged(LABEL + 8);
	exchanged(META_BYTES + 60);
	exchanged(SUPER(1));
	statuses();
	claims();
	each();
	cuts();
	any(argc > 1 ? atoi(argv[1]) : getenv("EVENKEEL_QUICK") ? 24 : 80);
	rmdir(pool_dir);
	return ktap_end();
}
