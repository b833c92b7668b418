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
#include <unistd.h>

#include <evenkeel/entry.h>
#include <evenkeel/label.h>

#include "../check.h"
#include "../leftover.h"
#include "../msg.h"
#include "../offline.h"
#include "../repair.h"
#include "../restore.h"
#include "../store_io.h"
#include "image.h"
#include "ktap.h"

#define SECTOR		512u
#define LABEL		0u
#define TABLE		(EK_AREA_HEAD_BYTES + (128u << 10))
#define SUPER(n)	(EK_AREA_HEAD_BYTES + 65536u * (n))
#define META_BYTES	((u64)IMAGE_META * SECTOR)
#define MAP(l, m, p)	{ .le = (l), .member = (m), .pe = (p), .valid = 1 }
#define FREE(m, p)	{ .free = true, .member = (m), .pe = (p) }

/* In memory: hundreds of pools are made, and flushed at each step. */
static char dir[] = "/dev/shm/hybridctl-test-XXXXXX";

/* What is mapped in the end, by extent. */
static u64 truth[1000];

static void make(struct image_set *set)
{
	static const struct image_change page[] = { MAP(0, 0, 0), MAP(3, 0, 1), MAP(9, 0, 2) };
	static const struct image_change first[] = { MAP(7, 1, 3), MAP(600, 1, 5) };
	static const struct image_change moved[] = { MAP(7, 0, 8), FREE(1, 3), MAP(8, 1, 3) };

	image_make(set, dir);
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

/* --- what is found --- */

struct found {
	unsigned int right, wrong;
};

static void compare(void *ctx, uint64_t le, uint64_t entry)
{
	struct found *f = ctx;

	f->right += entry == truth[le];
	f->wrong += entry != truth[le];
}

/* Without what the repair and the check say. */
static int quiet[2];

static void silence(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), i;

	fflush(stdout);
	for (i = 0; i < 2; i++) {
		quiet[i] = dup(i + 1);
		dup2(null, i + 1);
	}
	close(null);
}

static void speak(void)
{
	int i;

	fflush(stdout);
	for (i = 0; i < 2; i++) {
		dup2(quiet[i], i + 1);
		close(quiet[i]);
	}
}

/* As @files of the set have it; false: could not be opened at all. */
static bool look(struct image_set *set, unsigned int first, unsigned int nr, struct found *f,
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

static bool forced = true;

static int repair(struct image_set *set)
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
static bool holds(struct image_set *set, int *status)
{
	struct found both, alone[2];
	bool clean, clean_alone[2], there[2];
	unsigned int i;

	*status = repair(set);
	look(set, 0, 2, &both, &clean);
	for (i = 0; i < 2; i++)
		there[i] = look(set, i, 1, &alone[i], &clean_alone[i]);
	if (both.wrong || alone[0].wrong || alone[1].wrong)
		return false;
	if (*status)
		return true;
	for (i = 0; i < 2; i++)
		/* With label and copy an area is gone, and known to be missing. */
		if (there[i] && (alone[i].right != 6 || !clean_alone[i]))
			return false;
	return (there[0] || there[1]) && both.right == 6 && clean && !repair(set);
}

/* --- each structure --- */

struct damage {
	const char *what;
	unsigned int files;	/* a bit each */
	u64 offset;
	size_t len;
	int status;		/* of the repair */
};

static void one(const struct damage *d)
{
	struct image_set set;
	unsigned int i;
	int status;
	bool ok;

	make(&set);
	for (i = 0; i < 2; i++)
		if (d->files >> i & 1)
			image_spoil(&set, i, d->offset, d->len);
	silence();
	ok = holds(&set, &status);
	speak();
	ktap_ok(ok && status == d->status, "repair: %s: %d", d->what, status);
	image_close(&set);
}

static u64 offset_of(struct image_set *set, bool journal)
{
	struct ek_super sb;

	if (pread(set->fd[0], &sb, sizeof(sb), SUPER(1)) != sizeof(sb))
		abort();
	return le64_to_cpu(journal ? sb.journal_offset : sb.table_offset[1]);
}

static void each(void)
{
	struct image_set set;
	u64 page, journal, table, i;

	make(&set);
	page = image_page_offset(&set);
	journal = offset_of(&set, true);
	table = offset_of(&set, false);
	image_close(&set);
	{
		const u64 copy = META_BYTES - EK_BLOCK_SIZE, member = META_BYTES;
		const u64 end = (u64)IMAGE_SECTORS * SECTOR - EK_BLOCK_SIZE;
		const struct damage all[] = {
			{ "nothing", 0, 0, 0, 0 },
			{ "a metadata label", 1, LABEL + 8, 8, 0 },
			{ "both metadata labels", 3, LABEL + 8, 8, 0 },
			{ "a metadata label's copy", 2, copy + 100, 8, 0 },
			{ "a member's label", 1, member + 60, 8, 0 },
			{ "a member's label's copy", 1, end + 60, 8, 0 },
			{ "one superblock of one area", 1, SUPER(1), 100, 0 },
			{ "the other superblock of it", 2, SUPER(0) + 200, 9, 0 },
			{ "both superblocks of an area", 2, SUPER(0), 66000, 0 },
			{ "a page table", 1, table, 4096, 0 },
			{ "a page of the map", 2, page + 64, 8, 0 },
			{ "a page of the map on both areas", 3, page + 64, 8, 1 },
			{ "a journal's first block", 1, journal + 70, 8, 0 },
			{ "a journal's last block", 2, journal + 4096 + 70, 8, 0 },
			{ "the journals' first blocks", 3, journal + 70, 8, 1 },
			{ "all but the labels of an area", 1, SUPER(0), META_BYTES - 8192 - SUPER(0), 0 },
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

	make(&set);	/* for what is true */
	image_close(&set);
	image_make(&set, dir);
	image_checkpoint(&set, page, 3, 1);
	image_journal(&set, rest, 3);
	silence();
	ok = holds(&set, &status);
	speak();
	ktap_ok(ok && !status, "repair: places that were marked free");
	image_close(&set);
	image_make(&set, dir);
	image_checkpoint(&set, page, 3, 30);
	image_journal(&set, rest, 3);
	silence();
	ok = holds(&set, &status);
	speak();
	ktap_ok(ok && !status, "repair: places in use that nothing maps are no error");
	image_journal(&set, same, 2);
	silence();
	status = repair(&set);
	speak();
	ktap_ok(status == EXIT_FAILED, "repair: two extents in one place: nobody knows whose");
	image_close(&set);
}

/* --- dump and restore --- */

static unsigned int dump_generation = 9, dump_metas = 2, dump_vacant;

static void write_dump(FILE *f, bool end)
{
	unsigned int i;

	fprintf(f, "pool 11111111-1111-1111-1111-111111111111 name testpool extent_sectors %u members 2"
		" metadata %u\nlabel x\nsuperblock generation %u flags 0 stale %x extents 1000 pages 9 journal 9",
		IMAGE_EXTENT, dump_metas, dump_generation, dump_vacant);
	if (dump_vacant)
		fprintf(f, " vacant %x", dump_vacant);
	fputs("\npolicy wardrop 2 alpha 10\n", f);
	for (i = 0; i < 2; i++)
		fprintf(f, "member %u extents %u state %u uuid 2%u2%u2%u2%u-2%u2%u-2%u2%u-2%u2%u-"
			"2%u2%u2%u2%u2%u2%u\n", i,
			(unsigned int)ek_member_extents(IMAGE_SECTORS - IMAGE_META, IMAGE_EXTENT), 3 * i,
			i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i);
	for (i = 0; i < 1000; i++)
		if (truth[i])
			fprintf(f, "extent %u member %u physical %u valid %08x\n", i,
				ek_entry_member(truth[i]), ek_entry_pe(truth[i]),
				ek_entry_valid(truth[i]));
	if (end)
		fputs("end\n", f);
	rewind(f);
}

static int restore(struct image_set *set, FILE *f)
{
	char *paths[2] = { set->path[0], set->path[1] };
	struct pools pools;
	int err;

	if (offline_pools(&pools, paths, 2))
		return EXIT_USAGE;
	err = restore_pool(&pools.pool[0], f, forced);
	pools_free(&pools);
	fclose(f);
	return err;
}

/* Page tables that can't be read: the superblocks still tell that there was more after the dump. */
static void older_is_refused(void)
{
	struct image_set set;
	unsigned int i;
	int then;
	bool ok;
	FILE *f;

	make(&set);
	for (i = 0; i < 2; i++)
		image_spoil(&set, i, TABLE, 8192);
	dump_generation = 0;
	f = tmpfile();
	write_dump(f, true);
	silence();
	ok = restore(&set, f) == EXIT_FAILED;
	dump_generation = 9;
	f = tmpfile();
	write_dump(f, true);
	then = restore(&set, f);
	speak();
	ktap_ok(ok && !then, "restore: not over metadata that is newer, damaged or not");
	image_close(&set);
}

/* An area that can't say how new it is may be the newer one. */
static void blind_is_refused(void)
{
	struct image_set set;
	int status;
	bool ok;

	make(&set);
	image_spoil(&set, 0, SUPER(0), 1 << 20);
	silence();
	ok = repair(&set) == EXIT_FAILED;
	speak();
	ktap_ok(ok, "repair: an area without superblocks may be newer: refused");
	forced = true;
	silence();
	ok = repair(&set) == EXIT_OK && holds(&set, &status) && !status;
	speak();
	forced = false;
	ktap_ok(ok, "repair: --force writes it anew");
	image_close(&set);
}

/* Of the pool as it is; 0: it can't be opened. */
static u64 generation(struct image_set *set)
{
	char *paths[2] = { set->path[0], set->path[1] };
	struct ek_store *store;
	struct pools pools;
	struct store_io io;
	u64 found = 0;

	if (offline_pools(&pools, paths, 2))
		return 0;
	if (!store_open(&io, &pools.pool[0], &store)) {
		found = ek_store_generation(store);
		store_close(&io, store);
	}
	pools_free(&pools);
	return found;
}

/* Whatever was there, or is in the dump: what is restored is later. */
static void later_than_all(void)
{
	static const unsigned int dumps[] = { 1, 9, 500 };
	struct image_set set;
	u64 before, after;
	unsigned int i;
	bool ok = true;
	FILE *f;

	for (i = 0; i < 3; i++) {
		make(&set);
		before = generation(&set);
		dump_generation = dumps[i];
		forced = true;
		f = tmpfile();
		write_dump(f, true);
		ok &= before && !restore(&set, f);
		after = generation(&set);
		ok &= after > before && after > dumps[i] && after < 600;
		/* The same dump once more would take back what comes from now on. */
		forced = false;
		image_spoil(&set, 0, TABLE, 8192);
		image_spoil(&set, 1, TABLE, 8192);
		f = tmpfile();
		write_dump(f, true);
		silence();
		ok &= restore(&set, f) == EXIT_FAILED;
		speak();
		image_close(&set);
	}
	dump_generation = 9;
	ktap_ok(ok, "restore: of a later generation than what was there and than the dump");
}

static int restore_of(struct image_set *set, unsigned int metas, unsigned int vacant)
{
	FILE *f = tmpfile();
	int err;

	dump_metas = metas;
	dump_vacant = vacant;
	write_dump(f, true);
	dump_metas = 2;
	dump_vacant = 0;
	silence();
	err = restore(set, f);
	speak();
	return err;
}

/* All of the dump, when all devices are there, and from area @i alone. */
static bool is_restored(struct image_set *set, unsigned int i)
{
	struct found f;
	bool clean, ok;

	silence();
	ok = look(set, 0, 2, &f, &clean) && clean && f.right == 6 && !f.wrong;
	if (!i)
		ok = ok && look(set, 0, 1, &f, &clean) && f.right == 6 && !f.wrong;
	speak();
	return ok;
}

/* A dump of a pool with one area, in either place: what is in the other one is not in the dump. */
static void vacant_places(void)
{
	struct image_set set;
	struct found f;
	unsigned int i;
	bool clean, ok;

	for (i = 0; i < 2; i++) {
		make(&set);
		forced = true;
		ok = restore_of(&set, 2, 1u << !i) == EXIT_FAILED;
		ok &= look(&set, 0, 2, &f, &clean) && clean && f.right == 6;
		ktap_ok(ok, "restore: refused beside an area where the dump has none, even with --force");
		image_wipe_area(&set, !i);
		image_spoil(&set, i, TABLE, 8192);
		ok = !restore_of(&set, 2, 1u << !i) && is_restored(&set, i);
		ktap_ok(ok, "restore: area %u, the other place is vacant", i);
		image_close(&set);
	}
	make(&set);
	ok = restore_of(&set, 1, 0) == EXIT_FAILED;
	ok &= look(&set, 0, 2, &f, &clean) && clean && f.right == 6;
	ktap_ok(ok, "restore: refused beside an area that the dump has no place for");
	forced = false;
	image_wipe_area(&set, 1);
	image_made_with_one(&set);
	image_spoil(&set, 0, SUPER(0), 1 << 20);
	ok = !restore_of(&set, 2, 2) && is_restored(&set, 0);
	ktap_ok(ok, "restore: labels of before there was another place");
	image_new_area(&set, 1);
	image_spoil(&set, 0, SUPER(0), 1 << 20);
	ok = restore_of(&set, 2, 0) == EXIT_OK;
	image_new_area(&set, 1);
	image_spoil(&set, 0, SUPER(0), 1 << 20);
	ok &= !restore_of(&set, 1, 0) && is_restored(&set, 0);
	ktap_ok(ok, "restore: the label of an area that was to come is nothing");
	image_close(&set);
}

/* Its dump with @to in place of @from; as restore(). */
static int restore_changed(struct image_set *set, const char *from, const char *to)
{
	FILE *f = tmpfile(), *changed = tmpfile();
	char text[4096] = "", *at;
	int err;

	write_dump(f, true);
	at = fread(text, 1, sizeof(text) - 1, f) ? strstr(text, from) : NULL;
	fclose(f);
	if (!at)
		return EXIT_USAGE;
	fprintf(changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	rewind(changed);
	silence();
	err = restore(set, changed);
	speak();
	return err;
}

/*
 * Numbers of more than 32 bits are not taken for what is left of them, nor is memory for any map;
 * and there must be generations to come.
 */
static void wide_numbers(void)
{
	static const struct {
		const char *from, *to;
	} change[] = {
		{ " members 2", " members 4294967298" }, { " metadata 2", " metadata 4294967298" },
		{ " flags 0", " flags 100000000" }, { "member 0 ", "member 4294967296 " },
		{ " state 3", " state 4294967299" }, { " member 0 ", " member 4294967296 " },
		{ " physical 0 ", " physical 4294967296 " },
		{ " valid 00000001", " valid 100000001" },
		{ " extents 1000", " extents 4294968296" },
		{ " extents 1000", " extents 137438953472" },
		{ " generation 9 ", " generation 4611686018427387905 " },
		{ " generation 9 ", " generation 4611686018427387904 " },
		{ " generation 9 ", " generation 4611686018427387902 " },
		{ " generation 9 ", " generation 4611686018427387900 " },
		{ " generation 9 ", " generation 4611686014132420607 " },
	};
	struct image_set set;
	unsigned int i;
	int status;

	make(&set);
	forced = true;
	for (i = 0; i < sizeof(change) / sizeof(*change); i++)
		ktap_ok(restore_changed(&set, change[i].from, change[i].to) == EXIT_FAILED,
			"restore: refused for \"%s\"", change[i].to);
	silence();
	i = holds(&set, &status) && !status;
	speak();
	ktap_ok(i, "restore: nothing is written then");
	ktap_ok(restore_changed(&set, " flags 0", " flags 0") == EXIT_OK, "restore: the dump will do");
	forced = false;
	image_close(&set);
}

/* What else there may be in a dump, and what must be refused before anything is written. */
static void restores(void)
{
	static const char * const wrong[] = {
		"extent 1000 member 0 physical 20 valid 1\n", "extent 20 member 2 physical 0 valid 1\n",
		"extent 20 member 0 physical 0 valid 1\n", "extent 0 member 0 physical 77 valid 1\n",
		"extent 20 member 0 physical 99999 valid 1\n", "garbage\n",
	};
	struct image_set set;
	struct found both;
	unsigned int i;
	int status, refused = 0;
	bool clean, ok;
	FILE *f;

	make(&set);
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		f = tmpfile();
		write_dump(f, false);
		fseek(f, 0, SEEK_END);
		fprintf(f, "%send\n", wrong[i]);
		rewind(f);
		silence();
		refused += restore(&set, f) == EXIT_FAILED;
		speak();
	}
	f = tmpfile();
	write_dump(f, false);
	silence();
	refused += restore(&set, f) == EXIT_FAILED;
	ok = holds(&set, &status);
	speak();
	ktap_ok(refused == 7 && ok && !status, "restore: %d wrong dumps are refused, nothing is written",
		refused);
	forced = false;
	f = tmpfile();
	write_dump(f, true);
	silence();
	ok = restore(&set, f) == EXIT_FAILED;
	speak();
	ktap_ok(ok, "restore: not over a pool that is sound");
	image_spoil(&set, 0, META_BYTES, 8);
	silence();
	ok = repair(&set) == EXIT_FAILED;
	forced = true;
	ok &= repair(&set) == EXIT_OK;
	speak();
	ktap_ok(ok, "repair: a head that something else has overwritten, only with --force");
	image_spoil(&set, 0, SUPER(0), 1 << 20);
	image_spoil(&set, 1, SUPER(0), 1 << 20);
	f = tmpfile();
	write_dump(f, true);
	silence();
	status = restore(&set, f);
	look(&set, 0, 2, &both, &clean);
	ok = !status && clean && both.right == 6 && !both.wrong && holds(&set, &status) && !status;
	speak();
	ktap_ok(ok, "restore: both areas are wrecked, the dump brings all back");
	ktap_ok(generation(&set) > 1u << 30, "restore: later than what nobody knows any more");
	image_close(&set);
	forced = false;
	older_is_refused();
	blind_is_refused();
	later_than_all();
	vacant_places();
}

/* --- labels that name nobody --- */

static bool first_leftover(struct image_set *set, struct bdev *dev, struct area *area)
{
	struct area all[AREA_MAX];
	int err;

	return !bdev_open(dev, set->path[0], BDEV_WRITE | BDEV_FILES) &&
	       area_find(dev, all, &err) == 2 && (*area = all[1], true);
}

static void leftovers(void)
{
	struct ek_super sb;
	struct image_set set;
	struct area area;
	struct bdev dev;
	char byte;

	make(&set);
	if (pread(set.fd[0], &sb, sizeof(sb), SUPER(1)) != sizeof(sb) ||
	    !first_leftover(&set, &dev, &area))
		abort();
	ktap_ok(!leftover_is(&sb, &area), "leftover: a member's label is none");
	sb.member[0].state = cpu_to_le32(EK_MEMBER_FAILED);
	ktap_ok(!leftover_is(&sb, &area), "leftover: nor that of one that failed");
	area.info.index = 1;
	ktap_ok(!leftover_is(&sb, &area), "leftover: nor one with another's index");
	area.info.index = 0;
	sb.member[0].state = cpu_to_le32(EK_MEMBER_REMOVED);
	ktap_ok(leftover_is(&sb, &area), "leftover: of one that left");
	sb.member[0].state = cpu_to_le32(EK_MEMBER_ACTIVE);
	area.info.area_uuid[3] ^= 1;
	ktap_ok(leftover_is(&sb, &area), "leftover: of a place that another has by now");
	area.info.pool_uuid[3] ^= 1;
	ktap_ok(!leftover_is(&sb, &area), "leftover: not of another pool");
	area.head_err = -EINVAL;
	ktap_ok(leftover_wipe(&dev, &area) == -EINVAL &&
		pread(set.fd[0], &byte, 1, META_BYTES) == 1 && byte, "leftover: what is overwritten is left");
	area.head_err = 0;
	ktap_ok(!leftover_wipe(&dev, &area) &&
		pread(set.fd[0], &byte, 1, META_BYTES) == 1 && !byte, "leftover: wiped");
	bdev_close(&dev);
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

	make(&set);
	paths[0] = set.path[0];
	silence();
	ok = !offline_pools(&pools, paths, 1);
	first = repair_pool(&pools.pool[0], &careful);
	then = repair_pool(&pools.pool[0], &degraded);
	pools_free(&pools);
	speak();
	ktap_ok(ok && first == EXIT_FAILED && then == EXIT_OK,
		"repair: without a metadata area only if told to: %d, %d", first, then);
	image_close(&set);

	/* Another area's label, the member's own device being gone. */
	make(&set);
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

static u64 state;

static u64 rnd(u64 n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % n;
}

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

	make(&set);
	page = image_page_offset(&set);
	journal = offset_of(&set, true);
	table = offset_of(&set, false);
	image_close(&set);
	for (i = 0; i < rounds && !bad; i++) {
		make(&set);
		for (k = 1 + rnd(5); k; k--)
			image_spoil(&set, rnd(2), somewhere(page, journal, table), 1 + rnd(90));
		silence();
		bad = !holds(&set, &status);
		speak();
		sound += !status;
		left += !!status;
		image_close(&set);
	}
	ktap_ok(!bad && sound && left, "repair: any damage, round %u: %u sound, %u not", i, sound, left);
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
static unsigned int nr_undone, events, cut_at;	/* 0: never */

int __real_bdev_write(const struct bdev *dev, uint64_t offset, const void *buf, size_t len);
int __real_bdev_flush(const struct bdev *dev);
int __wrap_bdev_write(const struct bdev *dev, uint64_t offset, const void *buf, size_t len);
int __wrap_bdev_flush(const struct bdev *dev);

static bool is_cut(void)
{
	events++;
	return cut_at && events >= cut_at;
}

int __wrap_bdev_write(const struct bdev *dev, uint64_t offset, const void *buf, size_t len)
{
	struct undone *u = &undone[nr_undone];

	/* The one that is cut may have reached the media, too. */
	if (is_cut() && events > cut_at)
		return -EIO;
	if (cut_at) {
		if (nr_undone++ == UNDONE_MAX)
			abort();
		snprintf(u->path, sizeof(u->path), "%s", dev->path);
		u->offset = offset;
		u->len = len;
		u->old = bdev_buffer(len);
		if (bdev_read(dev, offset, u->old, len))
			abort();
	}
	return __real_bdev_write(dev, offset, buf, len) ?: cut_at && events == cut_at ? -EIO : 0;
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

enum kept { KEPT_ALL, KEPT_NONE, KEPT_SOME, NR_KEPT };

/* The power is back: what was in the caches is what it is. */
static void power_on(enum kept kept)
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
	cut_at = 0;
	events = 0;
}

/* As the kernel would open it. */
static bool opens(struct image_set *set, unsigned int first, unsigned int nr)
{
	char *paths[2] = { set->path[first], set->path[1] };
	struct ek_store *store;
	struct store_io io;
	struct pools pools;
	bool ok;

	if (offline_pools(&pools, paths, nr))
		return false;
	ok = pools.nr == 1 && !store_open(&io, &pools.pool[0], &store);
	if (ok)
		store_close(&io, store);
	pools_free(&pools);
	return ok;
}

/* A pool that can be opened at all, by both areas or one of them, is the one that there was. */
static bool is_none_or_right(struct image_set *set)
{
	static const unsigned int first[] = { 0, 0, 1 }, nr[] = { 2, 1, 1 };
	struct found f;
	unsigned int i;
	bool clean;

	for (i = 0; i < 3; i++) {
		look(set, first[i], nr[i], &f, &clean);
		if (f.wrong || (f.right != 6 && (clean || opens(set, first[i], nr[i]))))
			return false;
	}
	return true;
}

static int restore_whole(struct image_set *set)
{
	FILE *f = tmpfile();

	write_dump(f, true);
	return restore(set, f);
}

static void make_wrecked(struct image_set *set, bool wreck)
{
	make(set);
	if (!wreck)
		return;
	image_spoil(set, 0, SUPER(0), 1 << 20);
	image_spoil(set, 1, SUPER(0), 1 << 20);
}

/* How many writes and flushes it takes. */
static unsigned int events_of(int (*command)(struct image_set *set), struct image_set *set)
{
	int err;

	events = 0;
	err = command(set);
	return err ? 0 : events;
}

static void cut_restore(bool wreck)
{
	unsigned int all, at, bad = 0, none = 0;
	struct image_set set;
	struct found f;
	bool clean, ok;

	forced = true;
	make_wrecked(&set, wreck);
	silence();
	all = events_of(restore_whole, &set);
	image_close(&set);
	for (at = 1; at <= all && !bad; at++) {
		make_wrecked(&set, wreck);
		cut_at = at;
		events = 0;
		restore_whole(&set);
		power_on((at + wreck) % NR_KEPT);
		bad = !is_none_or_right(&set);
		none += !opens(&set, 0, 2);
		ok = !restore_whole(&set) && look(&set, 0, 2, &f, &clean) && clean &&
		     f.right == 6 && !f.wrong;
		bad |= !ok;
		image_close(&set);
	}
	speak();
	ktap_ok(all > 10 && !bad && none, "restore over %s: cut at %u of %u; %u times no pool",
		wreck ? "a wreck" : "what is sound", at - 1, all, none);
}

static void cut_repair(const char *what, u64 first, u64 len0, u64 second, u64 len1)
{
	unsigned int all, at, bad = 0;
	struct image_set set;
	struct found f;
	bool clean;
	int status;

	for (all = 0, at = 0; !bad && (!at || at <= all); at++) {
		make(&set);
		image_spoil(&set, 0, first, len0);
		image_spoil(&set, 1, second, len1);
		silence();
		if (!at)
			all = events_of(repair, &set);
		cut_at = at;
		events = 0;
		repair(&set);
		power_on((at + first) % NR_KEPT);
		/* What is found is right; what is sound is whole; and it can be mended. */
		bad = look(&set, 0, 2, &f, &clean) && (f.wrong || (clean && f.right != 6));
		bad |= !holds(&set, &status) || status;
		speak();
		image_close(&set);
	}
	ktap_ok(all > 2 && !bad, "repair of %s: cut at %u of %u", what, at - 1, all);
}

static void cuts(void)
{
	struct image_set set;
	u64 page, journal;

	make(&set);
	page = image_page_offset(&set);
	journal = offset_of(&set, true);
	image_close(&set);
	cut_restore(true);
	cut_restore(false);
	cut_repair("an area that is wrecked", SUPER(0), 1 << 20, META_BYTES, 0);
	cut_repair("labels and a page", LABEL + 8, 8, page + 64, 8);
	cut_repair("both labels of an area and a journal", LABEL + 8, 8, journal + 70, 8);
}

int main(int argc, char **argv)
{
	state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	if (!mkdtemp(dir))
		return 1;
	ktap_begin();
	each();
	spaces();
	restores();
	wide_numbers();
	leftovers();
	missing();
	cuts();
	any(argc > 2 ? atoi(argv[2]) : 80);
	rmdir(dir);
	return ktap_end();
}
