// SPDX-License-Identifier: GPL-2.0-only
/* The sums of scmfsctl, and what the engine hands out for them. */
#include "engine_internal.h"
#include "ktap.h"
#include "scmfs_lib.h"
#include "../../tools/scmfsctl/spread.h"

#define WORDS	40u
#define BITS	(WORDS * 64)

static u32 rnd(u32 n)
{
	return get_random_u32() % n;
}

static void classes(void)
{
	CHECK(class_of(0) == 0 && class_of(1) == 0 && class_of(2) == 1 && class_of(3) == 1);
	CHECK(class_of(4) == 2 && class_of(~0ULL) == 63);
}

/* Bit by bit. */
static void count_runs(const u64 *word, u64 first, u64 end, struct runs *r)
{
	u64 i, len = 0;

	for (i = first; i <= end; i++) {
		if (i < end && !(word[i / 64] >> i % 64 & 1)) {
			len++;
			continue;
		}
		if (!len)
			continue;
		r->nr[class_of(len)]++;
		r->blocks[class_of(len)] += len;
		r->free += len;
		r->largest = max(r->largest, len);
		for (u64 u = round_up(i - len, UNIT_BLOCKS); u + UNIT_BLOCKS <= i; u += UNIT_BLOCKS)
			r->units++;
		len = 0;
	}
}

static bool same_runs(const struct runs *a, const struct runs *b)
{
	return !memcmp(a->nr, b->nr, sizeof(a->nr)) &&
		!memcmp(a->blocks, b->blocks, sizeof(a->blocks)) && a->free == b->free &&
		a->largest == b->largest && a->units == b->units;
}

/* Long and short runs, told in pieces of any length. */
static void free_runs(void)
{
	u64 word[WORDS], first, end, at, len, used;
	u32 round, i, nr;

	for (round = 0; round < 2000; round++) {
		struct runs got = { 0 }, want = { 0 };

		for (at = 0, used = rnd(2); at < BITS; at += len, used ^= 1) {
			len = min_t(u64, BITS - at, 1 + rnd(1u << rnd(12)));
			for (i = 0; i < len; i++) {
				word[(at + i) / 64] &= ~(1ULL << (at + i) % 64);
				word[(at + i) / 64] |= used << (at + i) % 64;
			}
		}
		first = rnd(200);
		end = BITS - rnd(200);
		for (i = 0; i < WORDS; i += nr) {
			nr = min(1 + rnd(WORDS), WORDS - i);
			runs_add(&got, i * 64, word + i, nr, first, end);
		}
		runs_end(&got, end);
		count_runs(word, first, end, &want);
		if (!CHECK(same_runs(&got, &want), "round %u: %llu to %llu", round, first, end))
			return;
	}
}

static void all_free(void)
{
	const u64 none[WORDS] = { 0 };
	struct runs r = { 0 };

	runs_add(&r, 0, none, WORDS, 1, BITS);
	runs_end(&r, BITS);
	CHECK(r.free == BITS - 1 && r.largest == r.free && r.units == BITS / UNIT_BLOCKS - 1);
	runs_end(&r, BITS);
	CHECK(r.free == BITS - 1);
}

static void spreads(void)
{
	struct spread s = { 0 };

	spread_add(&s, 9);
	spread_add(&s, 0);
	spread_add(&s, 5);
	CHECK(s.nr == 3 && s.sum == 14 && s.least == 0 && s.most == 9);
	CHECK(s.zeroes == 1 && s.class[2] == 1 && s.class[3] == 1);
}

static void layouts(void)
{
	const u64 m = 1 << 20;
	struct layout l = { 0 };

	layout_add(&l, 0, 4 * m, 5 * m, false);		/* 0 to 4 MiB of it */
	layout_end(&l);
	CHECK(l.extents == 1 && l.bytes == 5 * m && l.largest == 5 * m && l.huge == 4 * m);
	layout_add(&l, 8 * m, 17 * m, 4 * m, false);	/* at an odd place */
	layout_end(&l);
	CHECK(l.huge == 4 * m && l.extents == 2);
	layout_add(&l, 20 * m, 20 * m, m, false);	/* two that are next to each other */
	layout_add(&l, 21 * m, 21 * m, m, false);
	layout_end(&l);
	CHECK(l.huge == 6 * m);
	layout_add(&l, 30 * m, 30 * m, m, false);	/* in the file alone */
	layout_add(&l, 31 * m, 35 * m, m, false);
	layout_end(&l);
	CHECK(l.huge == 6 * m);
	layout_add(&l, 40 * m, 40 * m, m, false);	/* in the memory alone */
	layout_add(&l, 43 * m, 41 * m, m, false);
	layout_end(&l);
	CHECK(l.huge == 6 * m);
	layout_add(&l, 50 * m, 50 * m, 2 * m, true);
	layout_add(&l, 52 * m, 52 * m, m, false);
	layout_end(&l);
	CHECK(l.huge == 6 * m && l.unwritten == 2 * m && l.extents == 10);
}

/* --- the engine ------------------------------------------------------------------------------- */

static struct tfs t;

static void used_agrees(void)
{
	u64 word[SCMFS_LOOK_WORDS], block = 0, wear[8], sum = 0;
	struct scmfs_statfs st;
	struct runs r = { 0 };
	u32 nr, i;

	while ((nr = scmfs_used_blocks(t.fs, block, word, 1 + rnd(SCMFS_LOOK_WORDS)))) {
		runs_add(&r, block, word, nr, t.fs->first_data, t.fs->nr_blocks - 1);
		block += 64 * nr;
	}
	runs_end(&r, t.fs->nr_blocks - 1);
	CHECK(block == round_up(t.fs->nr_blocks, 64));
	scmfs_statfs(t.fs, &st);
	CHECK(r.free == st.free, "%llu, not %llu", (u64)r.free, st.free);
	CHECK(!scmfs_used_blocks(t.fs, block, word, 1) && !scmfs_used_blocks(t.fs, ~63ULL, word, 1));
	for (block = 0; (nr = scmfs_wear_counts(t.fs, block, wear, ARRAY_SIZE(wear))); block += nr)
		for (i = 0; i < nr; i++) {
			CHECK(wear[i] == scmfs_wear(t.fs, block + i));
			sum += wear[i];
		}
	CHECK(block == t.fs->nr_units && !scmfs_wear_counts(t.fs, ~0ULL, wear, 1));
	CHECK(sum >= st.blocks - st.free);
}

/* By the places on the media. */
static u64 room_by_places(u64 ino)
{
	u64 kept = scmfs_kept_size(t.fs, ino) / SCMFS_BLOCK_SIZE, room = 0, i;
	struct scmfs_extent *place;
	struct scmfs_slots s;

	scmfs_slots(t.fs, scmfs_inode(t.fs, ino), &s);
	while ((place = scmfs_slots_next(&s))) {
		struct scmfs_ext e = scmfs_ext_of(0, scmfs_read(&place->second));

		for (i = 0; i < e.count; i++)
			room += e.file + i >= kept;
	}
	return room * SCMFS_BLOCK_SIZE;
}

static void engine(void)
{
	u64 ino[2], end, at, seen = 0;
	bool some = false;
	u32 i, k;

	tfs_make(&t, 24 << 20, 256, 2);
	CHECK(!tfs_make_node(&t, "a", 0100644, NULL, ino));
	CHECK(!tfs_make_node(&t, "b", 0100644, NULL, ino + 1));
	for (i = 0; i < 300 && !ktap_failing(); i++) {
		k = rnd(2);
		/* holes first, so that it has an index, then appending */
		at = i < 60 ? rnd(400) * 8192ULL : 4 << 20;
		tfs_write(&t, ino[k], i < 60 ? at : at + (i * 4096ULL), 4096, i, 0);
		if (!rnd(9))
			scmfs_reserve(t.fs, ino[k], 6 << 20, 1 + rnd(1 << 20),
				      SCMFS_RESERVE_KEEP_SIZE, t.now++);
		if (!rnd(9))
			scmfs_truncate(t.fs, ino[k], at / 2, t.now++);
		if (!rnd(5))
			scmfs_forget(t.fs, ino[k]);
		CHECK(scmfs_room_ahead(t.fs, ino[k]) == room_by_places(ino[k]), "step %u", i);
		CHECK(!!scmfs_room_ahead(t.fs, ino[k]) == scmfs_has_room_ahead(t.fs, ino[k]));
		some |= scmfs_room_ahead(t.fs, ino[k]) > 0;
		used_agrees();
	}
	CHECK(some);
	CHECK(!scmfs_trim(t.fs, ino[0]) && !scmfs_room_ahead(t.fs, ino[0]));
	CHECK(!scmfs_room_ahead(t.fs, SCMFS_ROOT_INO) && !scmfs_room_ahead(t.fs, 255));
	end = t.fs->nr_inodes;
	for (at = scmfs_next_inode(t.fs, 1, end); at < end; at = scmfs_next_inode(t.fs, at + 1, end))
		seen++;
	CHECK(seen == t.fs->nr_inodes - 1 - t.fs->free_inodes.count, "%llu", seen);
	CHECK(scmfs_next_inode(t.fs, ~0ULL, ~0ULL) == t.fs->nr_inodes);
	CHECK(scmfs_next_inode(t.fs, 0, 1) <= 1);
	tfs_free(&t);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("classes", classes);
	ktap_run("runs of free blocks", free_runs);
	ktap_run("all of it free", all_free);
	ktap_run("numbers", spreads);
	ktap_run("where a file is", layouts);
	ktap_run("what the engine tells", engine);
	return ktap_done();
}
