// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dumps that are taken and such that must not be; a pool that was restored has what the dump says,
 * and nothing else, wherever the power goes meanwhile.
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
#include "../commands.h"
#include "../msg.h"
#include "../offline.h"
#include "../restore.h"
#include "../store_io.h"
#include "ktap.h"
#include "mended.h"

static unsigned int dump_generation = 9, dump_metas = 2, dump_vacant, dump_used, dump_flags;
static const char *dump_label = "label x";
static bool degraded;

static void write_dump(FILE *f, bool end)
{
	unsigned int i;

	fprintf(f, "pool 11111111-1111-1111-1111-111111111111 name testpool extent_sectors %u members 2"
		" metadata %u\n%s\nsuperblock generation %u flags %x stale %x extents 1000 pages 9 journal 9",
		IMAGE_EXTENT, dump_metas, dump_label, dump_generation, dump_flags, dump_vacant);
	if (dump_used)
		fprintf(f, " used %u", dump_used);
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

static FILE *dumped(bool end)
{
	FILE *f = tmpfile();

	write_dump(f, end);
	return f;
}

/* With @nr files from @first on. */
static int restore_to(struct image_set *set, unsigned int first, int nr, FILE *f)
{
	struct restore_how how = { .force = forced, .degraded = degraded };
	char *paths[2] = { set->path[first], set->path[1] };
	struct pools pools;
	int err;

	if (offline_pools(&pools, paths, nr))
		return EXIT_USAGE;
	err = restore_pool(&pools.pool[0], f, &how);
	pools_free(&pools);
	fclose(f);
	return err;
}

static int restore(struct image_set *set, FILE *f)
{
	return restore_to(set, 0, 2, f);
}

/* The dump as it is set up, with force or without. */
static int restore_it(struct image_set *set)
{
	FILE *f = dumped(true);
	int err;

	silence();
	err = restore(set, f);
	speak();
	return err;
}

static int restore_of(struct image_set *set, unsigned int metas, unsigned int vacant)
{
	int err;

	dump_metas = metas;
	dump_vacant = vacant;
	err = restore_it(set);
	dump_metas = 2;
	dump_vacant = 0;
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

	pool_make(&set);
	for (i = 0; i < 2; i++)
		image_spoil(&set, i, TABLE, 8192);
	dump_generation = 0;
	f = dumped(true);
	silence();
	ok = restore(&set, f) == EXIT_FAILED;
	dump_generation = 9;
	f = dumped(true);
	then = restore(&set, f);
	speak();
	ktap_ok(ok && !then, "restore: not over metadata that is newer, damaged or not");
	image_close(&set);
}

/* A page of the map that is damaged keeps nobody from seeing how new the rest is. */
static void newer_is_refused(void)
{
	struct image_set set;
	bool ok;
	u64 at;

	pool_make(&set);
	at = image_page_offset(&set);
	image_spoil(&set, 0, at + 64, 8);
	image_spoil(&set, 1, at + 64, 8);
	dump_generation = pool_word(&set).generation - 1;
	ktap_ok(restore_it(&set) == EXIT_FAILED, "restore: not over a later generation that can be opened");
	dump_generation++;
	ok = restore_it(&set) == EXIT_FAILED;
	dump_used = 99;
	ok &= restore_it(&set) == EXIT_OK;
	dump_used = 0;
	dump_generation = 9;
	ktap_ok(ok, "restore: nor over a longer journal of the same generation");
	image_close(&set);
}

/* A superblock alone: what came after it is known only if it was closed. */
static void unclosed_is_refused(void)
{
	struct image_set set;
	unsigned int i, k;
	bool ok = true;

	for (i = 0; i < 2; i++) {
		pool_make(&set);
		image_flags(&set, i ? EK_SUPER_CLEAN : 0, i ? 0 : EK_SUPER_CLEAN);
		dump_generation = pool_word(&set).generation;
		for (k = 0; k < 2; k++)
			image_spoil(&set, k, TABLE, 8192);
		ok &= restore_it(&set) == (i ? EXIT_OK : EXIT_FAILED);
		image_close(&set);
	}
	dump_generation = 9;
	ktap_ok(ok, "restore: not over a superblock of the same generation that was not closed");
}

/* What fails to be read now may be read again tomorrow, and be newer. */
static void unread_is_refused(void)
{
	struct image_set set;
	unsigned int i;
	bool ok;

	pool_make(&set);
	for (i = 0; i < 2; i++)
		image_spoil(&set, i, TABLE, 8192);
	read_fails(set.path[1], SUPER(0), TABLE);
	ok = restore_it(&set) == EXIT_FAILED;
	read_fails(NULL, 0, 0);
	ok &= restore_it(&set) == EXIT_OK;
	ktap_ok(ok, "restore: not over a superblock that can't be read");
	image_close(&set);
}

enum elsewhere { A_PAGE, A_COPY, THE_TABLE, NR_ELSEWHERE };

static void spoil_elsewhere(struct image_set *set, enum elsewhere what)
{
	const u64 copy = (u64)IMAGE_SECTORS * SECTOR - EK_BLOCK_SIZE;

	if (what == A_PAGE)
		image_spoil(set, 1, image_page_offset(set) + 64, 8);
	else if (what == A_COPY)
		image_spoil(set, 1, copy, 8);
	else
		image_spoil(set, 1, TABLE, 8192);
}

/*
 * Area 1 was left out and does not know; area 0 went on, and is not to be asked now.  What is found
 * elsewhere is no reason to write over both.
 */
static void went_on_is_refused(enum elsewhere what, bool unread)
{
	struct image_set set;
	unsigned int i;
	u32 sum[2];
	bool ok;

	pool_make(&set);
	dump_generation = pool_word(&set).generation + 1;
	spoil_elsewhere(&set, what);
	image_leave(&set, 1);
	for (i = 0; i < 3; i++)
		image_flags(&set, EK_SUPER_CLEAN, 0);
	if (unread)
		read_fails(set.path[0], SUPER(0), TABLE);
	else
		image_spoil(&set, 0, SUPER(0), TABLE - SUPER(0));
	for (i = 0; i < 2; i++)
		sum[i] = image_sum(&set, i);
	ok = restore_it(&set) == EXIT_FAILED;
	read_fails(NULL, 0, 0);
	ktap_ok(ok && image_sum(&set, 0) == sum[0] && image_sum(&set, 1) == sum[1],
		"restore: not over an area that %s and may be the one that went on (%d)",
		unread ? "can't be read" : "is damaged", what);
	forced = true;
	ktap_ok(!restore_it(&set), "restore: but with --force");
	forced = false;
	dump_generation = 9;
	image_close(&set);
}

/* Nothing is written to what somebody else may have by now, whatever force. */
static void anothers_is_refused(void)
{
	struct image_set set;

	pool_make(&set);
	image_spoil(&set, 1, LABEL, 8);
	forced = true;
	ktap_ok(restore_it(&set) == EXIT_FAILED, "restore: not where another may have overwritten the label");
	forced = false;
	image_close(&set);
}

/* The dump says more than where extents are. */
static void states(void)
{
	struct image_set set;

	pool_make(&set);
	forced = true;
	dump_flags = EK_SUPER_NEEDS_CHECK;
	ktap_ok(!restore_it(&set) && image_member_state(&set, 1) == EK_MEMBER_DRAINING &&
		image_member_state(&set, 0) == EK_MEMBER_ACTIVE, "restore: the states of members");
	ktap_ok(image_super_flags(&set) & EK_SUPER_NEEDS_CHECK, "restore: that a check is needed");
	dump_flags = 0;
	forced = false;
	image_close(&set);
}

/* An area that can't say how new it is may be the newer one. */
static void blind_is_refused(void)
{
	struct image_set set;
	int status;
	bool ok;

	pool_make(&set);
	image_spoil(&set, 0, SUPER(0), 1 << 20);
	silence();
	ok = pool_repair(&set) == EXIT_FAILED;
	speak();
	ktap_ok(ok, "repair: an area without superblocks may be newer: refused");
	forced = true;
	silence();
	ok = pool_repair(&set) == EXIT_OK && pool_holds(&set, &status) && !status;
	speak();
	forced = false;
	ktap_ok(ok, "repair: --force writes it anew");
	image_close(&set);
}

/* As a later format would have it: sound, of another version or with another feature. */
static void make_unknown(struct image_set *set, unsigned int area, bool version)
{
	struct ek_super sb;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (pread(set->fd[area], &sb, sizeof(sb), SUPER(i)) != sizeof(sb))
			abort();
		if (version)
			sb.version = cpu_to_le32(EK_FORMAT_VERSION + 1);
		else
			sb.incompat |= cpu_to_le64(1ull << 40);
		sb.csum = cpu_to_le32(ek_checksum(&sb, sizeof(sb), &sb.csum));
		if (pwrite(set->fd[area], &sb, sizeof(sb), SUPER(i)) != sizeof(sb))
			abort();
	}
}

/* Nobody here knows how new it is, nor what else it has. */
static void unknown_is_refused(unsigned int areas, bool version)
{
	struct image_set set;
	unsigned int i;
	u32 sum[2];
	bool ok;

	pool_make(&set);
	for (i = 0; i < 2; i++) {
		if (areas >> i & 1)
			make_unknown(&set, i, version);
		sum[i] = image_sum(&set, i);
	}
	forced = false;
	ok = restore_of(&set, 2, 0) == EXIT_FAILED;
	ktap_ok(ok && image_sum(&set, 0) == sum[0] && image_sum(&set, 1) == sum[1],
		"restore: not over an unknown %s (areas %x)", version ? "version" : "feature", areas);
	forced = true;
	ktap_ok(!restore_of(&set, 2, 0), "restore: but with --force");
	forced = false;
	image_close(&set);
}

/* Where the dump has no place for an area, one of an unknown version is one all the same. */
static void unknown_beside(void)
{
	struct image_set set;
	u32 sum[2];
	bool ok;

	pool_make(&set);
	make_unknown(&set, 1, true);
	sum[0] = image_sum(&set, 0);
	sum[1] = image_sum(&set, 1);
	forced = true;
	ok = restore_of(&set, 1, 0) == EXIT_FAILED;
	forced = false;
	ktap_ok(ok && image_sum(&set, 0) == sum[0] && image_sum(&set, 1) == sum[1],
		"restore: refused beside an area of an unknown version");
	image_close(&set);
}

/* Of two with the same label nobody knows which one is meant. */
static void copy_is_refused(void)
{
	struct image_set set, copy;
	char *paths[3] = { set.path[0], set.path[1], copy.path[0] };
	struct restore_how how = { .force = true, .degraded = true };
	struct pools pools;
	FILE *f = tmpfile();
	u32 sum[2];
	int err;

	pool_make(&set);
	image_clone(&copy, &set, pool_dir);
	sum[0] = image_sum(&set, 0);
	sum[1] = image_sum(&set, 1);
	write_dump(f, true);
	silence();
	err = offline_pools(&pools, paths, 3);
	if (!err) {
		err = restore_pool(&pools.pool[0], f, &how);
		pools_free(&pools);
	}
	speak();
	fclose(f);
	ktap_ok(err == EXIT_FAILED && image_sum(&set, 0) == sum[0] && image_sum(&set, 1) == sum[1] &&
		image_sum(&copy, 0) == sum[0], "restore: refused beside a copy, even with --force");
	close(copy.fd[0]);
	unlink(copy.path[0]);
	image_close(&set);
}

static int command(struct image_set *set, const char *dump)
{
	char *argv[] = { "restore", (char *)dump, set->path[0], set->path[1], NULL };
	int status;

	optind = 0;
	silence();
	status = cmd_restore(4, argv);
	speak();
	return status;
}

/* What is active, or a leg of something, is not written to, whatever its metadata needs. */
static void claimed(const char *what, bool leg, int expected)
{
	struct image_set set;
	char path[KTAP_NAME];
	unsigned int i;
	int status;
	u32 sum[2];
	FILE *f;

	snprintf(path, sizeof(path), "%.100s/dump", pool_dir);
	f = fopen(path, "w");
	pool_make(&set);
	for (i = 0; i < 2; i++)
		image_spoil(&set, i, TABLE, 8192);
	if (leg)
		image_md(&set, 1);
	write_dump(f, true);
	fclose(f);
	for (i = 0; i < 2; i++)
		sum[i] = image_sum(&set, i);
	status = command(&set, path);
	ktap_ok(status == expected && (!status || (image_sum(&set, 0) == sum[0] &&
						   image_sum(&set, 1) == sum[1])),
		"restore: %s: %d", what, status);
	unlink(path);
	image_close(&set);
}

static void claims(void)
{
	claimed("nobody else has a claim", false, EXIT_OK);
	claimed("a leg of md: refused", true, EXIT_FAILED);
	world.active = "vol";
	claimed("active: refused", false, EXIT_USAGE);
	world = (struct world){ .loop = "/dev/loop7" };
	claimed("behind a loop device in use: refused", false, EXIT_USAGE);
	world = (struct world){ 0 };
}

/* An area that fails meanwhile is left out, and has no pool of its own. */
static void failing_area(unsigned int i)
{
	struct image_set set;
	struct found f;
	bool clean, ok;
	int err;

	pool_make(&set);
	forced = true;
	page_fails = set.path[i];
	err = restore_of(&set, 2, 0);
	page_fails = NULL;
	forced = false;
	silence();
	ok = !pool_opens(&set, i, 1);
	ok &= pool_look(&set, 0, 2, &f, &clean) && clean && f.right == 6 && !f.wrong;
	ok &= pool_look(&set, !i, 1, &f, &clean) && f.right == 6 && !f.wrong;
	speak();
	ktap_ok(err == (degraded ? EXIT_OK : EXIT_FAILED) && ok,
		"restore: area %u fails meanwhile%s: told, and no pool", i,
		degraded ? ", --degraded" : "");
	image_close(&set);
}

/* What happens after the devices were judged, when the dump is read. */
struct meanwhile {
	FILE *dump;
	void (*happens)(struct image_set *set);
	struct image_set *set;
	u32 sum[2];		/* then */
};

static ssize_t meanwhile_read(void *cookie, char *buf, size_t len)
{
	struct meanwhile *m = cookie;
	unsigned int i;

	if (m->happens)
		m->happens(m->set);
	for (i = 0; m->happens && i < 2; i++)
		m->sum[i] = image_sum(m->set, i);
	m->happens = NULL;
	return fread(buf, 1, len, m->dump);
}

static void exchange(struct image_set *set)
{
	image_exchange(set, pool_dir);
}

static void relabel(struct image_set *set)
{
	image_new_area(set, 0);
}

/* What was judged is written to, and nothing that has its path by now. */
static void other_by_now(void (*happens)(struct image_set *set), const char *what)
{
	const cookie_io_functions_t io = { .read = meanwhile_read };
	struct image_set set;
	struct meanwhile m = { .dump = tmpfile(), .happens = happens, .set = &set };
	int err;

	pool_make(&set);
	write_dump(m.dump, true);
	forced = true;
	silence();
	err = restore(&set, fopencookie(&m, "r", io));
	speak();
	forced = false;
	ktap_ok(err && image_sum(&set, 0) == m.sum[0] && image_sum(&set, 1) == m.sum[1],
		"restore: %s meanwhile: refused, nothing is written", what);
	fclose(m.dump);
	image_close(&set);
}

static int restore_alone(struct image_set *set, unsigned int i)
{
	FILE *f = dumped(true);
	int err;

	silence();
	err = restore_to(set, i, 1, f);
	speak();
	return err;
}

/* Does the superblock of area @i say that the other one is stale, and name it by byte @other? */
static bool calls_stale(struct image_set *set, unsigned int i, u8 other)
{
	char *path = set->path[i];
	struct ek_store *store;
	struct pools pools;
	struct store_io io;
	u8 uuid[EK_UUID_SIZE];
	bool is = false;

	memset(uuid, other, sizeof(uuid));
	if (offline_pools(&pools, &path, 1))
		return false;
	if (!store_open(&io, &pools.pool[0], &store)) {
		is = le32_to_cpu(ek_store_super(store)->meta_stale) == 1u << !i &&
		     ek_super_names(ek_store_super(store), !i, uuid);
		store_close(&io, store);
	}
	pools_free(&pools);
	return is;
}

/* One that is not there is left out; back again it counts for nothing until it is mended. */
static void missing_area(unsigned int i)
{
	struct image_set set;
	struct found f;
	bool clean, ok;
	int status;

	pool_make(&set);
	image_spoil(&set, i, TABLE, 8192);
	ktap_ok(restore_alone(&set, i) == EXIT_FAILED, "restore: without area %u: refused", !i);
	degraded = true;
	ktap_ok(restore_alone(&set, i) == EXIT_OK && calls_stale(&set, i, 0x11),
		"restore: but with --degraded it is stale");
	degraded = false;
	silence();
	ok = pool_look(&set, i, 1, &f, &clean) && f.right == 6 && !f.wrong;
	ok &= pool_look(&set, 0, 2, &f, &clean) && clean && f.right == 6 && !f.wrong;
	forced = true;
	ok &= pool_holds(&set, &status) && !status;
	forced = false;
	speak();
	ktap_ok(ok, "restore: and when it is back it can be mended");
	image_close(&set);
}

/* The dump knows who it was, and that it was the smaller one. */
static void missing_label(void)
{
	const unsigned int sectors = IMAGE_META - 2048;
	struct image_set set;
	struct ek_super sb;
	char text[200];

	pool_make(&set);
	snprintf(text, sizeof(text), "label 77777777-7777-7777-7777-777777777777 role metadata area 1"
		 " device /dev/x start 0 sectors %u label good copy good", sectors);
	dump_label = text;
	degraded = true;
	forced = true;
	ktap_ok(restore_alone(&set, 0) == EXIT_OK && calls_stale(&set, 0, 0x77),
		"restore: the area that is missing is named as in the dump");
	if (pread(set.fd[0], &sb, sizeof(sb), SUPER(0)) != sizeof(sb))
		abort();
	ktap_ok(le64_to_cpu(sb.pages_offset) + le64_to_cpu(sb.nr_pages) * 2 * EK_BLOCK_SIZE <=
		(u64)sectors * SECTOR, "restore: and has room");
	image_spoil(&set, 1, SUPER(0), 1 << 20);
	dump_metas = 1;
	ktap_ok(restore_alone(&set, 1) == EXIT_FAILED, "restore: not without any, even so");
	dump_metas = 2;
	forced = false;
	degraded = false;
	dump_label = "label x";
	image_close(&set);
}

/* An area that takes nothing at all, from the first write on. */
static void dead_area(unsigned int i)
{
	struct image_set set;
	int err;

	pool_make(&set);
	forced = true;
	write_fails = set.path[i];
	err = restore_of(&set, 2, 0);
	degraded = true;
	ktap_ok(err == EXIT_FAILED && !restore_of(&set, 2, 0) && calls_stale(&set, !i, 0x11),
		"restore: area %u can't be written at all: only with --degraded", i);
	write_fails = NULL;
	degraded = false;
	forced = false;
	image_close(&set);
}

/* It could not run, which is no verdict. */
static void read_only_devices(void)
{
	struct image_set set;
	int err;

	pool_make(&set);
	read_only = true;
	forced = true;
	err = restore_of(&set, 2, 0);
	forced = false;
	read_only = false;
	ktap_ok(err == EXIT_USAGE, "restore: status 2: can't be opened for writing");
	image_close(&set);
}

/* Whatever was there, or is in the dump: what is restored is later. */
static void later_than_all(void)
{
	static const unsigned int dumps[] = { 1, 9, 500 };
	struct image_set set;
	u64 before, after;
	unsigned int i, k;
	bool ok = true;
	FILE *f;

	for (i = 0; i < 3; i++) {
		pool_make(&set);
		for (k = 0; k < 5; k++)
			image_flags(&set, EK_SUPER_CLEAN, 0);
		before = pool_word(&set).generation;
		dump_generation = dumps[i];
		forced = true;
		f = dumped(true);
		ok &= before && !restore(&set, f);
		after = pool_word(&set).generation;
		ok &= after > before && after > dumps[i] && after < 600;
		/* The same dump once more would take back what comes from now on. */
		forced = false;
		image_spoil(&set, 0, TABLE, 8192);
		image_spoil(&set, 1, TABLE, 8192);
		f = dumped(true);
		silence();
		ok &= restore(&set, f) == EXIT_FAILED;
		speak();
		image_close(&set);
	}
	dump_generation = 9;
	ktap_ok(ok, "restore: of a later generation than what was there and than the dump");
}

/* All of the dump, when all devices are there, and from area @i alone. */
static bool is_restored(struct image_set *set, unsigned int i)
{
	struct found f;
	bool clean, ok;

	silence();
	ok = pool_look(set, 0, 2, &f, &clean) && clean && f.right == 6 && !f.wrong;
	if (!i)
		ok = ok && pool_look(set, 0, 1, &f, &clean) && f.right == 6 && !f.wrong;
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
		pool_make(&set);
		forced = true;
		ok = restore_of(&set, 2, 1u << !i) == EXIT_FAILED;
		ok &= pool_look(&set, 0, 2, &f, &clean) && clean && f.right == 6;
		ktap_ok(ok, "restore: refused beside an area where the dump has none, even with --force");
		image_wipe_area(&set, !i);
		image_spoil(&set, i, TABLE, 8192);
		ok = !restore_of(&set, 2, 1u << !i) && is_restored(&set, i);
		ktap_ok(ok, "restore: area %u, the other place is vacant", i);
		image_close(&set);
	}
	pool_make(&set);
	ok = restore_of(&set, 1, 0) == EXIT_FAILED;
	ok &= pool_look(&set, 0, 2, &f, &clean) && clean && f.right == 6;
	ktap_ok(ok, "restore: refused beside an area that the dump has no place for");
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
	forced = false;
	ktap_ok(ok, "restore: the label of an area that was to come is nothing");
	image_close(&set);
}

/* Its dump with @to in place of @from; as restore(). */
static int restore_changed(struct image_set *set, const char *from, const char *to)
{
	FILE *f = dumped(true), *changed = tmpfile();
	char text[4096] = "", *at;
	int err;

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
		{ "pool 1", "pool 2" }, { "uuid 20", "uuid 30" }, { " state 3", " state 4" },
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

	pool_make(&set);
	forced = true;
	for (i = 0; i < sizeof(change) / sizeof(*change); i++)
		ktap_ok(restore_changed(&set, change[i].from, change[i].to) == EXIT_FAILED,
			"restore: refused for \"%s\"", change[i].to);
	silence();
	i = pool_holds(&set, &status) && !status;
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

	pool_make(&set);
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		f = dumped(false);
		fseek(f, 0, SEEK_END);
		fprintf(f, "%send\n", wrong[i]);
		rewind(f);
		silence();
		refused += restore(&set, f) == EXIT_FAILED;
		speak();
	}
	f = dumped(false);
	silence();
	refused += restore(&set, f) == EXIT_FAILED;
	ok = pool_holds(&set, &status);
	speak();
	ktap_ok(refused == 7 && ok && !status, "restore: %d wrong dumps are refused, nothing is written",
		refused);
	forced = false;
	f = dumped(true);
	silence();
	ok = restore(&set, f) == EXIT_FAILED;
	speak();
	ktap_ok(ok, "restore: not over a pool that is sound");
	forced = true;
	image_spoil(&set, 0, SUPER(0), 1 << 20);
	image_spoil(&set, 1, SUPER(0), 1 << 20);
	f = dumped(true);
	silence();
	status = restore(&set, f);
	pool_look(&set, 0, 2, &both, &clean);
	ok = !status && clean && both.right == 6 && !both.wrong && pool_holds(&set, &status) && !status;
	speak();
	ktap_ok(ok, "restore: both areas are wrecked, the dump brings all back");
	ktap_ok(pool_word(&set).generation > 1u << 30, "restore: later than what nobody knows any more");
	image_close(&set);
	forced = false;
	older_is_refused();
	newer_is_refused();
	unclosed_is_refused();
	unread_is_refused();
	for (i = 0; i < NR_ELSEWHERE; i++) {
		went_on_is_refused(i, true);
		went_on_is_refused(i, false);
	}
	anothers_is_refused();
	states();
	blind_is_refused();
	unknown_is_refused(3, false);
	unknown_is_refused(3, true);
	unknown_is_refused(1, false);
	unknown_is_refused(2, true);
	unknown_beside();
	copy_is_refused();
	claims();
	other_by_now(exchange, "another file has the path");
	other_by_now(relabel, "the label is another area's");
	read_only_devices();
	failing_area(0);
	failing_area(1);
	degraded = true;
	failing_area(0);
	failing_area(1);
	degraded = false;
	missing_area(0);
	missing_area(1);
	missing_label();
	dead_area(0);
	dead_area(1);
	later_than_all();
	vacant_places();
}

/* --- cut at each write --- */

/* A pool that can be opened at all, by both areas or one of them, is the one that there was. */
static bool is_none_or_right(struct image_set *set)
{
	static const unsigned int first[] = { 0, 0, 1 }, nr[] = { 2, 1, 1 };
	struct found f;
	unsigned int i;
	bool clean;

	for (i = 0; i < 3; i++) {
		pool_look(set, first[i], nr[i], &f, &clean);
		if (f.wrong || (f.right != 6 && (clean || pool_opens(set, first[i], nr[i]))))
			return false;
	}
	return true;
}

static int restore_whole(struct image_set *set)
{
	return restore(set, dumped(true));
}

static void make_wrecked(struct image_set *set, bool wreck)
{
	pool_make(set);
	if (!wreck)
		return;
	image_spoil(set, 0, SUPER(0), 1 << 20);
	image_spoil(set, 1, SUPER(0), 1 << 20);
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
	all = cut_events(restore_whole, &set);
	image_close(&set);
	for (at = 1; at <= all && !bad; at++) {
		make_wrecked(&set, wreck);
		cut_begin(at);
		restore_whole(&set);
		power_on(kept_of(at + wreck));
		bad = !is_none_or_right(&set);
		none += !pool_opens(&set, 0, 2);
		ok = !restore_whole(&set) && pool_look(&set, 0, 2, &f, &clean) && clean &&
		     f.right == 6 && !f.wrong;
		bad |= !ok;
		image_close(&set);
	}
	speak();
	ktap_ok(all > 10 && !bad && none, "restore over %s: cut at %u of %u; %u times no pool",
		wreck ? "a wreck" : "what is sound", at - 1, all, none);
	printf("# tried %u moments\n", at - 1);
}

int main(void)
{
	if (!mkdtemp(ktap_name(pool_dir, POOL_PLACE)))
		return 1;
	ktap_begin();
	rnd_begin();
	restores();
	wide_numbers();
	cut_restore(true);
	cut_restore(false);
	rmdir(pool_dir);
	return ktap_end();
}
