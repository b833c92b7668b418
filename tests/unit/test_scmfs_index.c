// SPDX-License-Identifier: GPL-2.0-only
/* Files in many extents: what the index says is what the media say. */
#include <sys/stat.h>
#include "engine_internal.h"
#include "ktap.h"
#include "scmfs_lib.h"

#define BLOCKS	3000u	/* of a file */

static struct tfs t;

static u32 rnd(u32 n)
{
	return get_random_u32() % n;
}

/* Where file blocks are by the places on the media, one after the other; 0: nowhere. */
static u32 by_search(u64 ino, u64 *block)
{
	struct scmfs_extent *place;
	struct scmfs_slots s;
	u32 extents = 0;
	u64 i;

	memset(block, 0, BLOCKS * sizeof(*block));
	scmfs_slots(t.fs, scmfs_inode(t.fs, ino), &s);
	while ((place = scmfs_slots_next(&s))) {
		struct scmfs_ext e = scmfs_ext_of(le64_to_cpu(place->block),
						  scmfs_read(&place->second));

		for (i = 0; i < e.count && e.file + i < BLOCKS; i++)
			block[e.file + i] = e.unwritten ? 0 : e.block + i;
		extents += !!e.count;
	}
	CHECK(!s.error);
	return extents;
}

/* And by scmfs_map(), from @from on, which also joins neighbours. */
static bool same(u64 ino, u64 from)
{
	u64 block[BLOCKS], at = from << SCMFS_BLOCK_SHIFT, file;
	u64 end = (u64)BLOCKS << SCMFS_BLOCK_SHIFT;
	struct scmfs_seg seg[16];
	int nr, i;

	by_search(ino, block);
	while (at < end) {
		nr = scmfs_map(t.fs, ino, at, end - at, seg, ARRAY_SIZE(seg));
		if (!CHECK(nr > 0, "%d parts", nr))
			return false;
		for (i = 0; i < nr; i++)
			for (; at < seg[i].file + seg[i].len; at += SCMFS_BLOCK_SIZE) {
				u64 is = seg[i].at == SCMFS_HOLE ? 0 :
					(seg[i].at + (at - seg[i].file)) >> SCMFS_BLOCK_SHIFT;

				file = at >> SCMFS_BLOCK_SHIFT;
				if (!CHECK(is == block[file], "block %llu of %llu: %llu, not %llu",
					   file, ino, is, block[file]))
					return false;
			}
	}
	return true;
}

static int change(u64 ino, u32 kind, u64 block, u64 count)
{
	u64 at = block << SCMFS_BLOCK_SHIFT, len = count << SCMFS_BLOCK_SHIFT;

	t.still = rnd(2);
	switch (kind) {
	case 0:
		return scmfs_punch(t.fs, ino, at, len, t.now++);
	case 1:
		return scmfs_punch(t.fs, ino, at, len * 40, t.now++);
	case 2:
		return scmfs_reserve(t.fs, ino, at, len, SCMFS_RESERVE_KEEP_SIZE, t.now++);
	case 6:
		if (block & 1)
			return scmfs_insert(t.fs, ino, at, len, t.now++);
		return scmfs_collapse(t.fs, ino, at, len, t.now++);
	case 4:
		return scmfs_zero(t.fs, ino, at, len * 9, t.now++);
	case 5:		/* what a write does to the middle of it */
		return scmfs_reserve(t.fs, ino, at, len * 9, SCMFS_RESERVE_KEEP_SIZE, t.now++);
	case 3:
		return tfs_write(&t, ino, at, len, kind, SCMFS_WRITE_ATOMIC);
	default:
		return tfs_write(&t, ino, at, len, kind, 0);
	}
}

/* Without memory the index is given up now and then, and made again. */
static void random_changes(bool short_of_memory)
{
	u64 ino[2], block[BLOCKS];
	u32 i, most = 0;
	int r;

	tfs_make(&t, 64 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "a", S_IFREG | 0644, NULL, &ino[0]));
	CHECK(!tfs_make_node(&t, "b", S_IFREG | 0644, NULL, &ino[1]));
	for (i = 0; i < 12000 && !ktap_failing(); i++) {
		u64 one = ino[rnd(2)], at = rnd(BLOCKS - 4);

		shim_fail_alloc = short_of_memory ? rnd(4) : 0;
		r = rnd(2000) ? change(one, rnd(16), at, 1 + rnd(3)) :
			scmfs_truncate(t.fs, one, at << SCMFS_BLOCK_SHIFT, t.now++);
		shim_fail_alloc = 0;
		/* a range of a file that is shorter is none */
		CHECK(!r || r == -EINVAL || (short_of_memory && r == -ENOMEM), "%d", r);
		if (i % 64)
			continue;
		same(ino[0], at);
		same(ino[1], at);
		most = max(most, by_search(one, block));
		if (rnd(10))
			continue;
		tfs_check(&t);
		tfs_crash(&t);
		CHECK(!tfs_mount(&t, NULL));
		CHECK(same(ino[0], 0) && same(ino[1], 0));
	}
	ktap_note("up to %u extents", most);
	CHECK(most > 400);
	tfs_free(&t);
}

static void follows(void)
{
	random_changes(false);
}

static void follows_without_memory(void)
{
	random_changes(true);
}

/* From the end on, so that there is no room ahead: @blocks / 2 extents. */
static void in_pieces(u64 ino, u64 blocks)
{
	u64 at;

	for (at = blocks; at >= 2; at -= 2)
		CHECK(!tfs_write(&t, ino, at << SCMFS_BLOCK_SHIFT, SCMFS_BLOCK_SIZE, 1, 0));
}

/*
 * Every other block of a large file goes, then every one: blocks of extents come back. When it is in
 * pieces again nothing is left of what the index had.
 */
static void emptied(void)
{
	struct scmfs_statfs before, after;
	u64 ino, other, block[BLOCKS], i;

	tfs_make(&t, 64 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "a", S_IFREG | 0644, NULL, &ino));
	scmfs_statfs(t.fs, &before);
	CHECK(!tfs_write(&t, ino, 0, (u64)BLOCKS << SCMFS_BLOCK_SHIFT, 1, 0));
	for (i = 0; i < BLOCKS; i += 2)
		CHECK(!scmfs_punch(t.fs, ino, i << SCMFS_BLOCK_SHIFT, SCMFS_BLOCK_SIZE, t.now++));
	same(ino, 0);
	CHECK(scmfs_mapped_size(t.fs, ino) == (u64)BLOCKS << SCMFS_BLOCK_SHIFT);
	CHECK(!scmfs_truncate(t.fs, ino, 0, t.now++));
	CHECK(scmfs_mapped_size(t.fs, ino) == 0);
	scmfs_statfs(t.fs, &after);
	CHECK(before.free == after.free, "%llu free, not %llu", after.free, before.free);
	CHECK(!tfs_make_node(&t, "b", S_IFREG | 0644, NULL, &other));
	CHECK(!tfs_write(&t, other, 0, 8 << 20, 2, 0));	/* where its further extents were */
	in_pieces(ino, 1000);
	CHECK(by_search(ino, block) == 500);
	same(ino, 0);
	same(other, 0);
	tfs_check(&t);
	tfs_free(&t);
}

/* The number is another file's after release: its extents are its own. */
static void reused(void)
{
	u64 ino, next, block[BLOCKS];

	tfs_make(&t, 64 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "a", S_IFREG | 0644, NULL, &ino));
	in_pieces(ino, 600);
	CHECK(by_search(ino, block) == 300);
	CHECK(!tfs_unlink(&t, "a"));
	CHECK(!tfs_make_node(&t, "b", S_IFREG | 0644, NULL, &next));
	CHECK(ino == next, "another number: this shows nothing");
	in_pieces(ino, 401);
	CHECK(by_search(ino, block) == 200);
	same(ino, 0);
	tfs_check(&t);
	tfs_free(&t);
}

/* Bytes that are moved when the index of a file of so many extents is made. */
static u64 moved(u64 extents, bool down)
{
	u64 ino, i, at, before;

	tfs_make(&t, 96 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "a", S_IFREG | 0644, NULL, &ino));
	for (i = 0; i < extents; i++) {
		at = 2 * (down ? extents - i : i + 1);
		CHECK(!tfs_write(&t, ino, at << SCMFS_BLOCK_SHIFT, SCMFS_BLOCK_SIZE, 1, 0));
	}
	scmfs_forget(t.fs, ino);
	before = shim_moved;
	scmfs_index_make(t.fs, scmfs_inode(t.fs, ino));
	CHECK(scmfs_index_get(t.fs, scmfs_inode(t.fs, ino)));
	CHECK(scmfs_mapped_size(t.fs, ino) == (2 * extents + 1) << SCMFS_BLOCK_SHIFT);
	tfs_free(&t);
	return shim_moved - before;
}

static void no_worse(bool down)
{
	u64 once = moved(6000, down), twice = moved(12000, down);

	ktap_note("%llu bytes moved, %llu for twice as many extents", once, twice);
	CHECK(twice <= 5 * once / 2 && twice < 12000 * 10, "%llu bytes moved, after %llu",
	      twice, once);
}

static void made_in_order(void)
{
	no_worse(false);
	no_worse(true);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("scmfs index: it follows random changes", follows);
	ktap_run("scmfs index: without memory too", follows_without_memory);
	ktap_run("scmfs index: a file of many extents is emptied", emptied);
	ktap_run("scmfs index: a number that is used again", reused);
	ktap_run("scmfs index: twice as many extents are twice the work, whoever wrote them",
		 made_in_order);
	return ktap_done();
}
