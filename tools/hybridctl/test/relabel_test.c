// SPDX-License-Identifier: GPL-2.0-only
/*
 * Labels that are lost with their copies come back from a dump, on the device that they were on and
 * on no other, and nothing but labels is written, wherever the power goes meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/crc32c.h>
#include <evenkeel/label.h>

#include "../commands.h"
#include "../msg.h"
#include "../relabel.h"
#include "ktap.h"
#include "mended.h"

#define FILE_BYTES	((u64)IMAGE_SECTORS * SECTOR)

static const u64 place[] = {
	0, META_BYTES - EK_BLOCK_SIZE, META_BYTES, FILE_BYTES - EK_BLOCK_SIZE,
};

#define PLACES		(sizeof(place) / sizeof(*place))

/* --- the dump --- */

static unsigned int dump_files = 3;		/* a bit each: whose labels it has */
static unsigned int dump_metas = 3;		/* likewise, whose metadata areas' */
static const char *dump_pool = "11111111-1111-1111-1111-111111111111";
static const char *dump_member;			/* the uuid of member 0; NULL: its own */
static bool dump_says = true;			/* who is a member */
static unsigned int dump_state;			/* of member 0 */
static const char *dump_more = "";

static const char *member_uuid(unsigned int i, char *uuid)
{
	if (!i && dump_member)
		return dump_member;
	snprintf(uuid, 37, "2%u2%u2%u2%u-2%u2%u-2%u2%u-2%u2%u-2%u2%u2%u2%u2%u2%u", i, i, i, i, i, i,
		 i, i, i, i, i, i, i, i, i, i);
	return uuid;
}

static FILE *dumped(void)
{
	FILE *f = tmpfile();
	unsigned int i;
	char uuid[40];

	fprintf(f, "pool %s name testpool extent_sectors %u members 2 metadata 2\n", dump_pool,
		IMAGE_EXTENT);
	for (i = 0; i < 2; i++)
		if (dump_files & dump_metas & 1u << i)
			fprintf(f, "label 11111111-1111-1111-1111-111111111111 role metadata area %u device /dev/a start 7 sectors 9 %u start 0 sectors %u label good copy good\n",
				i, i, IMAGE_META);
	for (i = 0; i < 2; i++)
		if (dump_files >> i & 1)
			fprintf(f, "label %s role member %u device /dev/a start 7 sectors 9 %u start %u sectors %u label missing (all zero) copy good\n",
				member_uuid(i, uuid), i, i, IMAGE_META, IMAGE_SECTORS - IMAGE_META);
	fputs("superblock generation 9 flags 0 stale 0 extents 1000 pages 9 journal 9\n", f);
	for (i = 0; i < 2 && dump_says; i++)
		fprintf(f, "member %u extents 300 state %u uuid %s\n", i, i ? 0 : dump_state,
			member_uuid(i, uuid));
	fputs(dump_more, f);
	rewind(f);
	return f;
}

/* --- what is done to the devices --- */

static bool by_force;

static int relabel_files(struct image_set *set, unsigned int first, int nr)
{
	char *paths[2] = { set->path[first], set->path[1] };
	FILE *f = dumped();
	int err;

	silence();
	err = relabel(f, paths, nr, by_force);
	speak();
	fclose(f);
	return err;
}

static int relabel_both(struct image_set *set)
{
	return relabel_files(set, 0, 2);
}

static int relabel_forced(struct image_set *set)
{
	int err;

	by_force = true;
	err = relabel_both(set);
	by_force = false;
	return err;
}

static void put(const struct image_set *set, unsigned int file, u64 at, const void *what,
		size_t len)
{
	if (pwrite(set->fd[file], what, len, at) != (ssize_t)len)
		abort();
}

static void lose(const struct image_set *set, unsigned int file)
{
	static const u8 none[EK_BLOCK_SIZE];
	unsigned int i;

	for (i = 0; i < PLACES; i++)
		put(set, file, place[i], none, sizeof(none));
}

/* All but where labels are. */
static u32 sum_of_rest(const struct image_set *set, unsigned int file)
{
	u8 *all = malloc(FILE_BYTES);
	unsigned int i;
	u32 sum;

	if (!all || pread(set->fd[file], all, FILE_BYTES, 0) != (ssize_t)FILE_BYTES)
		abort();
	for (i = 0; i < PLACES; i++)
		memset(all + place[i], 0, EK_BLOCK_SIZE);
	sum = crc32c(~0, all, FILE_BYTES);
	free(all);
	return sum;
}

static bool is_whole(const struct image_set *set, unsigned int file)
{
	struct area area[AREA_MAX];
	struct bdev dev;
	bool whole;
	int i, err;

	if (bdev_open(&dev, set->path[file], BDEV_FILES))
		abort();
	whole = area_find(&dev, area, &err) == 2;
	for (i = 0; whole && i < 2; i++)
		whole = !area[i].head_err && !area[i].copy_err && !area[i].differ &&
			area[i].info.index == file && !area[i].info.ctime &&
			!strcmp(area[i].info.name, "testpool") && area[i].info.nr_members == 2 &&
			area[i].info.extent_sectors == IMAGE_EXTENT;
	bdev_close(&dev);
	return whole;
}

static bool is_found(struct image_set *set)
{
	struct found f;
	bool clean, ok;

	silence();
	ok = pool_look(set, 0, 2, &f, &clean) && clean && f.right == 6 && !f.wrong;
	speak();
	return ok;
}

/* Refused without force, or whatever is given, and then nothing is written. */
static void refused(struct image_set *set, const char *what, bool ever, int status)
{
	u32 sum[2] = { image_sum(set, 0), image_sum(set, 1) };
	int first = relabel_both(set), then = relabel_forced(set);

	if (ever)
		ktap_ok(first == status && then == EXIT_OK && is_whole(set, 0) && is_found(set),
			"relabel: %s: only with --force: %d, %d", what, first, then);
	else
		ktap_ok(first == status && then == status && image_sum(set, 0) == sum[0] &&
			image_sum(set, 1) == sum[1], "relabel: %s: refused, nothing is written: %d, %d",
			what, first, then);
	image_close(set);
}

/* --- tests --- */

static void plain(void)
{
	struct image_set set;
	u32 rest;
	int err;

	pool_make(&set);
	rest = sum_of_rest(&set, 0);
	lose(&set, 0);
	err = relabel_both(&set);
	ktap_ok(!err && is_whole(&set, 0) && sum_of_rest(&set, 0) == rest && is_found(&set),
		"relabel: a device without any label gets its own: %d", err);
	rest = image_sum(&set, 0);
	err = relabel_both(&set);
	ktap_ok(!err && image_sum(&set, 0) == rest, "relabel: once more there is nothing to do: %d", err);
	lose(&set, 0);
	dump_files = 1;
	err = relabel_files(&set, 0, 1);
	dump_files = 3;
	ktap_ok(!err && is_whole(&set, 0) && is_found(&set),
		"relabel: alone, where the dump has no other of its size: %d", err);
	image_close(&set);
}

/* Two that are as large, and nothing tells which is which. */
static void ambiguous(void)
{
	struct image_set set;
	u32 sum[2];
	int err;

	pool_make(&set);
	lose(&set, 0);
	sum[0] = image_sum(&set, 0);
	by_force = true;
	err = relabel_files(&set, 0, 1);
	by_force = false;
	ktap_ok(err == EXIT_FAILED && image_sum(&set, 0) == sum[0],
		"relabel: alone it may be another one of its size: %d", err);
	lose(&set, 1);
	refused(&set, "both have lost all of theirs", false, EXIT_FAILED);
	pool_make(&set);
	lose(&set, 0);
	lose(&set, 1);
	dump_files = 1;
	refused(&set, "both may be the same one of the dump", false, EXIT_FAILED);
	dump_files = 3;
}

/* What is left of one tells which one it is: both can be mended. */
static void by_one_label(void)
{
	static const u8 none[EK_BLOCK_SIZE];
	struct image_set set;
	unsigned int i, k;
	int err;

	for (k = 0; k < PLACES; k += 2) {
		pool_make(&set);
		for (i = 0; i < 2; i++) {
			put(&set, i, place[k], none, sizeof(none));
			put(&set, i, place[k + 1], none, sizeof(none));
		}
		err = relabel_both(&set);
		ktap_ok(!err && is_found(&set), "relabel: both have lost those of a %s: %d",
			k ? "member" : "metadata area", err);
		image_close(&set);
	}
}

static u32 crc32(const u8 *p, size_t len)
{
	u32 crc = ~0;
	int i;

	while (len--)
		for (crc ^= *p++, i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	return ~crc;
}

#define ENTRIES_BYTES	(32 * SECTOR)

static void gpt_header(u8 *h, u64 my, u64 other, u64 entries, const u8 *table)
{
	const __le64 where[] = { cpu_to_le64(my), cpu_to_le64(other), cpu_to_le64(34),
				 cpu_to_le64(IMAGE_SECTORS - 34) };
	const __le32 size[] = { cpu_to_le32(128), cpu_to_le32(128),
				cpu_to_le32(crc32(table, ENTRIES_BYTES)) };
	const __le32 head[] = { cpu_to_le32(0x10000), cpu_to_le32(92) };
	const __le64 lba = cpu_to_le64(entries);
	__le32 crc;

	memset(h, 0, SECTOR);
	memcpy(h, "EFI PART", 8);
	memcpy(h + 8, head, sizeof(head));
	memcpy(h + 24, where, sizeof(where));
	memset(h + 56, 0x42, 16);
	memcpy(h + 72, &lba, sizeof(lba));
	memcpy(h + 80, size, sizeof(size));
	crc = cpu_to_le32(crc32(h, 92));
	memcpy(h + 16, &crc, sizeof(crc));
}

/* As parted writes it: 34 sectors at the start, 33 at the end. */
static void put_gpt(const struct image_set *set, bool partition)
{
	static const u8 all[] = { 0, 0, 2, 0, 0xee, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0xff, 0xff, 0, 0 };
	static const __le64 range[] = { cpu_to_le64(2048), cpu_to_le64(9999) };
	u8 table[ENTRIES_BYTES] = { 0 }, mbr[SECTOR] = { 0 }, head[SECTOR];
	const u64 last = IMAGE_SECTORS - 1;

	if (partition) {
		memset(table, 0x33, 32);
		memcpy(table + 32, range, sizeof(range));
	}
	memcpy(mbr + 446, all, sizeof(all));
	memcpy(mbr + 510, "\125\252", 2);
	put(set, 0, 0, mbr, sizeof(mbr));
	gpt_header(head, 1, last, 2, table);
	put(set, 0, SECTOR, head, sizeof(head));
	put(set, 0, 2 * SECTOR, table, sizeof(table));
	put(set, 0, (last - 32) * SECTOR, table, sizeof(table));
	gpt_header(head, last, 1, last - 32, table);
	put(set, 0, last * SECTOR, head, sizeof(head));
}

static void gpt(void)
{
	struct image_set set;
	u32 rest;
	int err;

	pool_make(&set);
	put_gpt(&set, false);
	rest = sum_of_rest(&set, 0);
	err = relabel_both(&set);
	ktap_ok(!err && is_found(&set) && sum_of_rest(&set, 0) == rest,
		"relabel: over a GPT that took the ends of a device: %d", err);
	lose(&set, 0);
	put_gpt(&set, false);
	err = relabel_both(&set);
	ktap_ok(!err && is_whole(&set, 0) && is_found(&set),
		"relabel: over a GPT, where nothing is left in between: %d", err);
	image_close(&set);
	pool_make(&set);
	lose(&set, 0);
	put_gpt(&set, true);
	refused(&set, "a GPT with a partition", true, EXIT_FAILED);
}

static void foreign(void)
{
	struct image_set set;

	pool_make(&set);
	lose(&set, 0);
	image_md(&set, 0);
	refused(&set, "a leg of md", true, EXIT_FAILED);
	/* A table of partitions hides no file system that was there before it. */
	pool_make(&set);
	lose(&set, 0);
	put_gpt(&set, false);
	put(&set, 0, 65536 + 64, "_BHRfS_M", 8);
	refused(&set, "a file system beside a GPT", true, EXIT_FAILED);
}

/* Nothing but its size speaks for a device without the metadata that was there. */
static void without_super(void)
{
	struct image_set set;
	int first, then;

	pool_make(&set);
	lose(&set, 0);
	image_spoil(&set, 0, SUPER(0), 100);
	image_spoil(&set, 0, SUPER(1), 100);
	first = relabel_both(&set);
	then = relabel_forced(&set);
	ktap_ok(first == EXIT_FAILED && !then && is_whole(&set, 0),
		"relabel: no superblock where there was one: only with --force: %d, %d", first, then);
	image_close(&set);
}

static void wrong_size(void)
{
	struct image_set set;

	pool_make(&set);
	lose(&set, 0);
	if (ftruncate(set.fd[0], FILE_BYTES + EK_BLOCK_SIZE))
		abort();
	refused(&set, "a device that is larger", false, EXIT_FAILED);
	pool_make(&set);
	put_gpt(&set, false);
	if (ftruncate(set.fd[0], FILE_BYTES + EK_BLOCK_SIZE))
		abort();
	refused(&set, "one that has become larger", false, EXIT_FAILED);
}

static void of_tomorrow(struct ek_label *label)
{
	label->incompat = cpu_to_le64(1ull << 63);
}

static void of_another(struct ek_label *label)
{
	label->area_uuid[0] ^= 1;
}

static void named(void)
{
	struct image_set set;

	pool_make(&set);
	lose(&set, 0);
	dump_member = "51515151-5151-5151-5151-515151515151";
	refused(&set, "a member that the superblock does not name", false, EXIT_FAILED);
	dump_member = NULL;
	pool_make(&set);
	lose(&set, 0);
	dump_pool = "11111111-1111-1111-1111-111111111112";
	refused(&set, "a dump of another pool", false, EXIT_FAILED);
	dump_pool = "11111111-1111-1111-1111-111111111111";
	pool_make(&set);
	lose(&set, 0);
	image_relabel(&set, 1, META_BYTES, of_tomorrow);
	image_relabel(&set, 1, FILE_BYTES - EK_BLOCK_SIZE, of_tomorrow);
	refused(&set, "a label of a later version", false, EXIT_FAILED);
	pool_make(&set);
	lose(&set, 0);
	image_relabel(&set, 1, META_BYTES, of_another);
	image_relabel(&set, 1, FILE_BYTES - EK_BLOCK_SIZE, of_another);
	refused(&set, "another label in that place", false, EXIT_FAILED);
}

/* Where no superblock is left it is the dump that names members. */
static void named_by_dump(void)
{
	struct image_set set;
	unsigned int i;
	int err[3];

	pool_make(&set);
	lose(&set, 0);
	for (i = 0; i < 2; i++) {
		image_spoil(&set, i, SUPER(0), 100);
		image_spoil(&set, i, SUPER(1), 100);
	}
	dump_says = false;
	err[0] = relabel_forced(&set);
	dump_says = true;
	dump_state = EK_MEMBER_REMOVED;
	err[1] = relabel_forced(&set);
	dump_state = 0;
	err[2] = relabel_forced(&set);
	ktap_ok(err[0] == EXIT_FAILED && err[1] == EXIT_FAILED && !err[2] && is_whole(&set, 0),
		"relabel: without a superblock the dump has to name the member: %d, %d, %d", err[0],
		err[1], err[2]);
	image_close(&set);
}

/* Alone, so that nothing but that line can be why. */
static void refused_for(const char *line, unsigned int nr)
{
	struct image_set set;
	int first, then;
	u32 sum;

	pool_make(&set);
	lose(&set, 0);
	sum = image_sum(&set, 0);
	dump_more = line;
	first = relabel_files(&set, 0, 1);
	by_force = true;
	then = relabel_files(&set, 0, 1);
	by_force = false;
	dump_more = "";
	ktap_ok(first == EXIT_FAILED && then == EXIT_FAILED && image_sum(&set, 0) == sum,
		"relabel: a dump with a line that can't be, %u: refused, nothing is written: %d, %d",
		nr, first, then);
	image_close(&set);
}

#define OTHER	"label 33333333-3333-3333-3333-333333333333 role member "
#define GOOD	" label good copy good\n"

static void dumps(void)
{
	static const char * const more[] = {
		"label 11111111-1111-1111-1111-111111111111 role metadata area 0 device /dev/q start 0 sectors 8192" GOOD,
		"label x role member 1 device /dev/q start 0 sectors 8192" GOOD,
		OTHER "1 device /dev/q start 0 sectors 8191" GOOD,
		OTHER "2 device /dev/q start 0 sectors 8192" GOOD,
		OTHER "1 device /dev/a start 7 sectors 9 0 start 16 sectors 8192" GOOD,
		OTHER "1 device /dev/q start 0 sectors 36028797018963968" GOOD,
		OTHER "1 start 0 sectors 8192\n",
		OTHER "1 device /dev/q start 0 sectors 819",
		OTHER "1 device /dev/q start 0 sectors 8192",
		OTHER "1 device /dev/q start 0 sectors -18446744073709543424" GOOD,
		"pool 11111111-1111-1111-1111-111111111111 name x extent_sectors 128 members 2 metadata 2\n",
		"member 0 extents 300 state 4 uuid 20202020-2020-2020-2020-202020202020\n",
		"member 1 extents 300 state 0 uuid 33333333\n",
	};
	struct image_set set;
	unsigned int i;
	int err;

	dump_files = 1;
	pool_make(&set);
	lose(&set, 0);
	dump_more = OTHER "1 device /dev/q start 0 sectors 8192" GOOD;
	err = relabel_files(&set, 0, 1);
	dump_more = "";
	ktap_ok(!err && is_whole(&set, 0), "relabel: a dump with a line of another device: %d", err);
	image_close(&set);
	for (i = 0; i < sizeof(more) / sizeof(*more); i++)
		refused_for(more[i], i);
	dump_files = 0;
	pool_make(&set);
	refused(&set, "a dump without labels", false, EXIT_FAILED);
	dump_files = 3;
}

static void claims(void)
{
	struct image_set set;

	world.active = "vol";
	pool_make(&set);
	lose(&set, 0);
	refused(&set, "active", false, EXIT_USAGE);
	world = (struct world){ .loop = "/dev/loop7" };
	pool_make(&set);
	lose(&set, 0);
	refused(&set, "behind a loop device in use", false, EXIT_USAGE);
	world = (struct world){ 0 };
}

/* Wherever it is cut: once more does the rest. */
static void cuts(void)
{
	unsigned int at, all = 0, bad = 0, kept;
	struct image_set set;
	u32 rest;

	for (at = 0; !at || at <= all; at++)
		for (kept = 0; kept < (at ? NR_KEPT : 1); kept++) {
			pool_make(&set);
			rest = sum_of_rest(&set, 0);
			lose(&set, 0);
			if (!at) {
				all = cut_events(relabel_both, &set);
			} else {
				cut_begin(at);
				relabel_both(&set);
				power_on(kept);
			}
			bad += sum_of_rest(&set, 0) != rest || relabel_both(&set) ||
			       !is_whole(&set, 0) || sum_of_rest(&set, 0) != rest;
			image_close(&set);
		}
	ktap_ok(all == 8 && !bad, "relabel: cut at each of %u writes and flushes: %u bad", all, bad);
}

/* By the command line. */
static void command(void)
{
	char path[KTAP_NAME];
	struct image_set set;
	char line[4096];
	FILE *in = dumped(), *out;
	int status[2];

	snprintf(path, sizeof(path), "%.100s/dump", pool_dir);
	out = fopen(path, "w");
	while (fgets(line, sizeof(line), in))
		fputs(line, out);
	fclose(in);
	fclose(out);
	pool_make(&set);
	lose(&set, 0);
	{
		char *both[] = { "restore", path, set.path[0], set.path[1], "--labels", "--degraded", NULL };
		char *one[] = { "restore", path, set.path[0], set.path[1], "--labels", NULL };

		silence();
		optind = 0;
		status[0] = cmd_restore(6, both);
		optind = 0;
		status[1] = cmd_restore(5, one);
		speak();
	}
	ktap_ok(status[0] == EXIT_USAGE && !status[1] && is_whole(&set, 0) && is_found(&set),
		"relabel: restore --labels, not with --degraded: %d, %d", status[1], status[0]);
	unlink(path);
	image_close(&set);
}

/* A member alone is known by its size, and a new disk has that, too. */
static void blank(void)
{
	static const u8 none[1 << 20];
	struct image_set set;
	int err[3];
	u32 sum;

	pool_make(&set);
	lose(&set, 0);
	dump_metas = 2;
	err[0] = relabel_both(&set);
	lose(&set, 0);
	put(&set, 0, EK_AREA_HEAD_BYTES, none, sizeof(none));
	sum = image_sum(&set, 0);
	err[1] = relabel_both(&set);
	sum -= image_sum(&set, 0);
	err[2] = relabel_forced(&set);
	dump_metas = 3;
	ktap_ok(!err[0] && err[1] == EXIT_FAILED && !sum && !err[2],
		"relabel: a blank disk of the size: only with --force: %d, %d, %d", err[0], err[1], err[2]);
	image_close(&set);
}

int main(void)
{
	if (!mkdtemp(ktap_name(pool_dir, POOL_PLACE)))
		return 1;
	ktap_begin();
	rnd_begin();
	plain();
	ambiguous();
	by_one_label();
	gpt();
	foreign();
	without_super();
	blank();
	wrong_size();
	named();
	named_by_dump();
	dumps();
	claims();
	command();
	cuts();
	rmdir(pool_dir);
	return ktap_end();
}
