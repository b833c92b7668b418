// SPDX-License-Identifier: GPL-2.0-only
/* Garbage collection of scmfs' engine: what it decides, and what it does to files. */
#include <stdint.h>
#include <sys/stat.h>
#include "crash.h"
#include "engine_gc.h"
#include "engine_internal.h"
#include "ktap.h"
#include "scmfs_lib.h"

#define UNIT	SCMFS_UNIT_BLOCKS

static struct tfs t;

/* ---- decisions ------------------------------------------------------------------------------ */

static void thresholds(void)
{
	const struct scmfs_gc_params p = { .low = 10, .high = 20, .whole = 50, .cold = 100 };

	CHECK(!scmfs_gc_pressed(&p, 100, 1000, false) && scmfs_gc_pressed(&p, 99, 1000, false));
	CHECK(scmfs_gc_pressed(&p, 199, 1000, true) && !scmfs_gc_pressed(&p, 200, 1000, true));
	CHECK(!scmfs_gc_pressed(&p, 0, 0, true));
	CHECK(scmfs_gc_scattered(&p, 2 * UNIT + 1, 1) && !scmfs_gc_scattered(&p, 2 * UNIT, 1));
	CHECK(!scmfs_gc_scattered(&p, 0, 0));
	CHECK(scmfs_gc_is_cold(&p, 0, 100) && !scmfs_gc_is_cold(&p, 1, 100));
	CHECK(!scmfs_gc_is_cold(&p, 1000, 100) && scmfs_gc_is_cold(&p, INT64_MIN, INT64_MAX));
}

static void victims(void)
{
	struct scmfs_gc_victims v = { .nr = 0 };
	u32 i;

	scmfs_gc_consider(&v, 1, 0);
	CHECK(!v.nr);
	for (i = 0; i < 100; i++)
		scmfs_gc_consider(&v, i, 1 + (i * 37) % 101);
	CHECK(v.nr == SCMFS_GC_VICTIMS);
	for (i = 0; i < v.nr; i++)
		CHECK(v.used[i] == i + 1 && 1 + (v.unit[i] * 37) % 101 == i + 1, "%u", i);
	/* 1 + 2 + 3 + 4 blocks, and 2038 free ones that are no room for them */
	scmfs_gc_limit(&v, 4 * UNIT);
	CHECK(v.nr == 4);
	scmfs_gc_limit(&v, 4 * UNIT - 1);
	CHECK(v.nr == 3);
	scmfs_gc_limit(&v, UNIT - 1);
	CHECK(!v.nr);
}

static void worth(void)
{
	struct scmfs_gc_part one[] = { { UNIT, UNIT, false } }, odd[] = { { UNIT + 1, UNIT, false } };
	struct scmfs_gc_part two[] = { { UNIT, 100, false }, { 5 * UNIT + 100, UNIT - 100, false } };
	struct scmfs_gc_part hole[] = { { UNIT + 1, 100, false }, { 0, 412, false } };
	struct scmfs_gc_part part[] = { { UNIT, 256, false }, { UNIT + 256, 256, true } };
	struct scmfs_gc_part room[] = { { 1, 255, false }, { 999, 257, true } };

	CHECK(!scmfs_gc_worth_whole(one, 1) && scmfs_gc_worth_whole(odd, 1));
	CHECK(scmfs_gc_worth_whole(two, 2) && !scmfs_gc_worth_whole(hole, 2));
	CHECK(!scmfs_gc_worth_whole(part, 2) && !scmfs_gc_worth_whole(room, 2));
	CHECK(!scmfs_gc_worth_whole(one, 0) && !scmfs_gc_worth_whole(odd + 0, 0));
	part[1].block++;
	CHECK(scmfs_gc_worth_whole(part, 2));
}

/* ---- a relocation --------------------------------------------------------------------------- */

/* Files that are written in turns, a block at a time: all of them in pieces of that. */
static void in_turns(u64 *ino, u32 nr, u64 blocks)
{
	char name[] = "a";
	u64 at;
	u32 i;

	for (i = 0; i < nr; i++, name[0]++) {
		CHECK(!tfs_make_node(&t, name, S_IFREG | 0644, NULL, &ino[i]));
		CHECK(!scmfs_truncate(t.fs, ino[i], blocks << SCMFS_BLOCK_SHIFT, ++t.now));
	}
	for (at = 0; at < blocks; at++)
		for (i = 0; i < nr; i++)
			CHECK(!tfs_write(&t, ino[i], at << SCMFS_BLOCK_SHIFT, SCMFS_BLOCK_SIZE,
					 1 + (at * nr + i) % 251, 0));
}

static u32 pieces(u64 ino, u64 blocks, u64 *first)
{
	struct scmfs_seg seg[2];
	u64 at = 0, end = blocks << SCMFS_BLOCK_SHIFT;
	u32 n = 0;

	*first = 0;
	for (; at < end; at = seg[0].file + seg[0].len, n++) {
		if (!CHECK(scmfs_map(t.fs, ino, at, end - at, seg, 1) == 1))
			return 0;
		if (!n)
			*first = seg[0].at >> SCMFS_BLOCK_SHIFT;
	}
	return n;
}

static u32 whole_units(void)
{
	u16 frees[64];
	u64 unit = 0;
	u32 nr = scmfs_unit_frees(t.fs, &unit, frees, 64), i, n = 0;

	for (i = 0; i < nr; i++)
		n += frees[i] == UNIT;
	return n;
}

static void unchanged(const char *before)
{
	char *is = tfs_show(&t);

	CHECK(is && !strcmp(before, is), "before:\n%s# is:\n%s", before, is);
	free(is);
	tfs_check(&t);
}

static int relocate(u64 ino, u64 file, u64 count, bool whole, u64 *moved)
{
	const struct scmfs_move m = { .file = file, .count = count, .whole = whole };

	return scmfs_relocate(t.fs, ino, &m, moved);
}

static void into_one(void)
{
	u64 ino[2], first, moved;
	char *before;
	int r;

	tfs_make(&t, 32 << 20, 50, 2);
	in_turns(ino, 2, 2 * UNIT);
	before = tfs_show(&t);
	CHECK(pieces(ino[0], 2 * UNIT, &first) == 2 * UNIT);
	/* which would take a free unit */
	CHECK(whole_units() > 4 && relocate(ino[0], UNIT, UNIT, false, &moved) == -ENOSPC);
	r = relocate(ino[0], UNIT, UNIT, true, &moved);
	CHECK(!r && moved == UNIT, "%d %llu %u", r, moved, whole_units());
	CHECK(pieces(ino[0], 2 * UNIT, &first) == UNIT + 1);
	unchanged(before);
	tfs_crash(&t);
	CHECK(!tfs_mount(&t, NULL));
	unchanged(before);
	CHECK(!relocate(ino[0], 0, UNIT, true, &moved));
	/* where they went depends on wear; each of them is mapped by a huge page */
	CHECK(pieces(ino[0], 2 * UNIT, &first) <= 2 && !(first % UNIT));
	unchanged(before);
	free(before);
	tfs_free(&t);
}

/* What is known to be bad may hold anything by now, and stays: a copy would be taken for its content. */
static void bad_stays(void)
{
	u64 ino[1], moved, first, is;

	tfs_make(&t, 16 << 20, 50, 2);
	in_turns(ino, 1, 40);
	pieces(ino[0], 1, &first);
	CHECK(!scmfs_set_bad(t.fs, ((first + 7) << SCMFS_BLOCK_SHIFT) + 512, 64));
	CHECK(relocate(ino[0], 0, 40, false, &moved) == -EIO && !moved, "%llu moved", moved);
	pieces(ino[0], 1, &is);
	CHECK(is == first);
	tfs_check(&t);
	tfs_free(&t);
}

static void refused(void)
{
	struct scmfs_statfs st, after;
	u64 ino[1], moved, first;
	char *before;
	u32 i;

	tfs_make(&t, 16 << 20, 50, 2);
	in_turns(ino, 1, 40);
	CHECK(!scmfs_reserve(t.fs, ino[0], 60 << 12, 20 << 12, 0, ++t.now));
	before = tfs_show(&t);
	scmfs_statfs(t.fs, &st);
	CHECK(relocate(ino[0], 0, 0, false, &moved) == -EINVAL);
	CHECK(relocate(ino[0], 0, UNIT + 1, false, &moved) == -EINVAL);
	CHECK(relocate(ino[0], 1, UNIT, true, &moved) == -EINVAL);
	CHECK(relocate(ino[0], 0, 9, true, &moved) == -EINVAL);
	CHECK(relocate(1, 0, 1, false, &moved) == -EINVAL);
	CHECK(relocate(40, 0, 1, false, &moved) == -ESTALE);
	CHECK(relocate(ino[0], 30, 20, false, &moved) == -ENODATA);
	CHECK(!moved);
	pieces(ino[0], 1, &first);
	shim_bad_memory = t.mem + ((first + 7) << SCMFS_BLOCK_SHIFT) + 100;
	CHECK(relocate(ino[0], 0, 40, false, &moved) == -EIO && !moved);
	shim_bad_memory = NULL;
	shim_fail_alloc = 1;
	CHECK(relocate(ino[0], 0, 40, false, &moved) == -ENOMEM);
	shim_fail_alloc = 0;
	scmfs_statfs(t.fs, &after);
	CHECK(after.free == st.free);
	unchanged(before);
	for (i = 0; i < 2; i++)	/* what is reserved stays so */
		CHECK(!relocate(ino[0], 60, 20, false, &moved) && moved == 20);
	unchanged(before);
	free(before);
	tfs_free(&t);
}

/* Bad memory in its second step: what the first one has moved stays there, the rest is free. */
static void partly(void)
{
	struct scmfs_statfs st, after;
	struct scmfs_seg seg[1];
	u64 ino[2], moved;
	char *before;

	tfs_make(&t, 16 << 20, 50, 2);
	in_turns(ino, 2, 40);
	before = tfs_show(&t);
	scmfs_statfs(t.fs, &st);
	CHECK(scmfs_map(t.fs, ino[0], 20 << 12, 4096, seg, 1) == 1);
	shim_bad_memory = t.mem + seg[0].at + 100;
	CHECK(relocate(ino[0], 0, 40, false, &moved) == -EIO && moved == 16, "%llu", moved);
	shim_bad_memory = NULL;
	scmfs_statfs(t.fs, &after);
	CHECK(after.free == st.free, "%llu instead of %llu", after.free, st.free);
	unchanged(before);
	/* what is free is nobody's: new files take all of it */
	CHECK(!tfs_write(&t, ino[1], 1 << 20, 4 << 20, 99, 0));
	free(before);
	before = tfs_show(&t);
	tfs_crash(&t);
	CHECK(!tfs_mount(&t, NULL));
	unchanged(before);
	free(before);
	tfs_free(&t);
}

static struct scm_log *watched;
static u32 fences_then, frees_seen;

void __real_scmfs_free(struct scmfs *fs, u64 block, u64 count);

/* Whatever is given back: others may store to it from now on. */
void __wrap_scmfs_free(struct scmfs *fs, u64 block, u64 count)
{
	if (watched) {
		CHECK(crash_fences(watched) >= fences_then + 2, "%u fences",
		      crash_fences(watched) - fences_then);
		frees_seen++;
	}
	__real_scmfs_free(fs, block, count);
}

/* The old blocks are free when a cut can't lead to them any more: after both fences of a step. */
static void free_last(void)
{
	struct scm_log log;
	u64 ino[2], moved;

	tfs_make(&t, 16 << 20, 50, 2);
	in_turns(ino, 2, 16);
	crash_log_init(&log, t.mem, t.size, 1 << 16, 4 << 20);
	CHECK(!scm_record_start(&log));
	fences_then = crash_fences(&log);
	watched = &log;
	CHECK(!relocate(ino[0], 0, 16, false, &moved) && moved == 16);
	watched = NULL;
	scm_record_stop();
	CHECK(frees_seen == 16 && !log.full, "%u", frees_seen);
	crash_log_free(&log);
	tfs_free(&t);
}

/* ---- passes --------------------------------------------------------------------------------- */

static u64 locked_out;		/* a file that somebody has */
static int why;
static u32 lock_calls, steps_left;
static u64 held, visited, locks_of[4096], indexes_made;
static void (*between)(void);	/* what others do when no file is locked */

static int test_lock(void *ctx, u64 ino, enum scmfs_gc_lock what)
{
	CHECK(!held);
	CHECK(!visited || visited == ino);
	visited = ino;
	lock_calls++;
	locks_of[ino]++;
	if (steps_left && steps_left != U32_MAX)
		steps_left--;
	if (ino == locked_out)
		return why;
	held = ino;
	if (scmfs_read(&scmfs_inode(t.fs, ino)->map) &&
	    !scmfs_index_get(t.fs, scmfs_inode(t.fs, ino)))
		indexes_made++;
	return 0;
}

static void test_unlock(void *ctx, u64 ino)
{
	CHECK(held == ino);
	held = 0;
}

/* Nobody else uses it. */
static void test_leave(void *ctx, u64 ino, bool done)
{
	CHECK(!held && (!visited || visited == ino));
	visited = 0;
	if (done)
		scmfs_forget(t.fs, ino);
	if (between)
		between();
}

static bool test_stop(void *ctx)
{
	CHECK(!held);
	return !steps_left;
}

static void test_moving(void *ctx, u64 ino)
{
	CHECK(held == ino && ino != locked_out);
}

static const struct scmfs_gc_ops test_ops = {
	test_lock, test_moving, test_unlock, test_leave, test_stop
};

static const struct scmfs_gc_params all = {
	.low = 0, .high = 0, .whole = 100, .cold = 0, .blocks = U32_MAX, .inodes = U32_MAX,
	.extents = U32_MAX, .huge = true,
};

/* For the start @order; 0: as the thresholds say. */
static int pass_of(struct scmfs_gc *gc, const struct scmfs_gc_params *p, u64 order)
{
	struct scmfs_gc_params with = *p;

	with.order = order;
	CHECK(!visited);
	return scmfs_gc_pass(gc, &with, t.now);
}

static struct scmfs_gc *begin(void)
{
	locked_out = 0;
	why = 0;
	steps_left = U32_MAX;
	lock_calls = 0;
	return scmfs_gc_new(t.fs, &test_ops, NULL);
}

/*
 * Small files of 64 KiB all over, every second of which goes, and two of 4 MiB that found what was
 * left: 48 MiB, in which there are no free 2 MiB any more.
 */
static void aged(u64 *large)
{
	char name[16];
	u32 i;

	tfs_make(&t, 48 << 20, 1200, 2);
	CHECK(!tfs_make_node(&t, "d", S_IFDIR | 0755, NULL, NULL));
	for (i = 0; i < 640; i++) {
		u64 ino;

		sprintf(name, "d/f%u", i);
		CHECK(!tfs_make_node(&t, name, S_IFREG | 0644, NULL, &ino));
		CHECK(!tfs_write(&t, ino, 0, 65536, 1 + i % 250, 0));
		CHECK(!scmfs_trim(t.fs, ino));
	}
	for (i = 0; i < 640; i += 2) {
		sprintf(name, "d/f%u", i);
		CHECK(!tfs_unlink(&t, name));
	}
	while (whole_units()) {		/* those that were never used */
		u64 ino;

		sprintf(name, "d/g%u", i++);
		CHECK(!tfs_make_node(&t, name, S_IFREG | 0644, NULL, &ino));
		CHECK(!tfs_write(&t, ino, 0, 4096 * 400, 1 + i % 250, 0));
		CHECK(!scmfs_trim(t.fs, ino));
	}
	in_turns(large, 2, UNIT);
	CHECK(!whole_units());
}

static void whole_again(void)
{
	const struct scmfs_gc_counts *c;
	u64 large[2], first;
	struct scmfs_gc *gc;
	char *before;
	u32 i, n;

	aged(large);
	before = tfs_show(&t);
	n = pieces(large[0], UNIT, &first);
	CHECK(n > 10);
	gc = begin();
	c = scmfs_gc_counts(gc);
	for (i = 0; i < 6; i++)
		CHECK(pass_of(gc, &all, 1) == 1);
	ktap_note("%u whole units from none, %llu blocks moved, %llu emptied, %llu stuck", whole_units(),
		  c->blocks, c->emptied, c->stuck);
	CHECK(whole_units() >= 4 && c->emptied >= 6 && c->wholes >= 2 && c->rounds == 6);
	for (i = 0; i < 2; i++)
		CHECK(pieces(large[i], UNIT, &first) == 1 && !(first % UNIT));
	unchanged(before);
	for (n = 6; i = c->moves, pass_of(gc, &all, 1) == 1 && c->moves != i; n++)
		CHECK(n < 16);
	ktap_note("nothing left to be done after %u rounds", n);
	scmfs_gc_free(gc);
	tfs_crash(&t);
	CHECK(!tfs_mount(&t, NULL));
	unchanged(before);
	free(before);
	tfs_free(&t);
}

/* In more extents than a pass looks at. */
static void index_stays(void)
{
	struct scmfs_gc_params few = all;
	struct scmfs_gc *gc;
	u32 passes = 1;
	u64 ino[2];

	few.extents = 300;
	tfs_make(&t, 48 << 20, 100, 2);
	in_turns(ino, 2, 3000);
	CHECK(!tfs_unlink(&t, "b"));
	scmfs_forget(t.fs, ino[0]);
	gc = begin();
	indexes_made = 0;
	while (!pass_of(gc, &few, 1))
		CHECK(++passes < 1000);
	ktap_note("%llu indexes in %u passes", indexes_made, passes);
	CHECK(passes > 4 && indexes_made == 1);
	CHECK(!scmfs_index_get(t.fs, scmfs_inode(t.fs, ino[0])));
	tfs_check(&t);
	scmfs_gc_free(gc);
	tfs_free(&t);
}

/*
 * Full of files of 64 KiB, every second of which goes, and two of 2 MiB that find what was left. The
 * directory stays where it is: in one piece, or with a block here and there.
 */
static u32 once_full(u64 size, bool scattered, u64 *large)
{
	char name[16];
	u32 nr, i, j;
	u64 ino;

	tfs_make(&t, size, 2048, 16);
	CHECK(!tfs_make_node(&t, "d", S_IFDIR | 0755, NULL, NULL));
	for (i = 0; i < 600 && !scattered; i++) {
		sprintf(name, "d/f%u", i);
		CHECK(!tfs_make_node(&t, name, S_IFREG | 0644, NULL, &ino));
	}
	for (nr = 0; nr < 600; nr++) {
		sprintf(name, "d/f%u", nr);
		if (scattered && tfs_make_node(&t, name, S_IFREG | 0644, NULL, &ino))
			break;
		if (tfs_find(&t, name, &ino) ||
		    tfs_write(&t, ino, 0, 65536, 1 + nr % 250, 0))
			break;
	}
	for (i = 0; i < 600; i++) {
		sprintf(name, "d/f%u", i);
		if (i >= nr || i % 2 == 0)
			tfs_unlink(&t, name);
	}
	for (j = 0; j < 2; j++)
		CHECK(!tfs_make_node(&t, j ? "y" : "x", S_IFREG | 0644, NULL, &large[j]));
	for (i = 0; i < 32; i++)
		for (j = 0; j < 2; j++)
			CHECK(!tfs_write(&t, large[j], i * 65536, 65536, 1 + i, 0));
	CHECK(!whole_units());
	return nr;
}

/* As who has started it does: until nothing is moved, and nothing else was tried. Rounds. */
static u32 to_the_end(struct scmfs_gc *gc)
{
	const struct scmfs_gc_counts *c = scmfs_gc_counts(gc);
	u32 n = 0;
	u64 was;

	do {
		was = c->moves + c->stuck;
		CHECK(pass_of(gc, &all, 1) == 1);
	} while (++n < 16 && c->moves + c->stuck != was);
	return n;
}

static void was_full_with(bool scattered, u32 least)
{
	struct scmfs_gc *gc;
	u64 large[2], first;
	u32 nr, n, j;

	nr = once_full(32 << 20, scattered, large);
	gc = begin();
	n = to_the_end(gc);
	ktap_note("%u files, %u rounds, %u whole units, %llu emptied, %llu stuck, %llu without room, %llu moves, %llu inodes",
		  nr, n, whole_units(), scmfs_gc_counts(gc)->emptied, scmfs_gc_counts(gc)->stuck,
		  scmfs_gc_counts(gc)->no_room, scmfs_gc_counts(gc)->moves, scmfs_gc_counts(gc)->inodes);
	CHECK(whole_units() >= least);
	for (j = 0; j < 2; j++)
		CHECK(pieces(large[j], UNIT, &first) == 1 && !(first % UNIT));
	tfs_check(&t);
	scmfs_gc_free(gc);
	tfs_free(&t);
}

static void was_full(void)
{
	was_full_with(false, 3);
	was_full_with(true, 3);
}

/* What is left when power goes at fence @i of what was recorded, looked at. */
static void look(struct tfs *after, const u8 *now, const char *before, u32 i)
{
	char *text;

	memcpy(after->mem, now, t.size);
	if (!CHECK(!tfs_mount(after, NULL), "fence %u", i))
		return;
	text = tfs_show(after);
	CHECK(text && !strcmp(text, before), "fence %u", i);
	free(text);
	tfs_check(after);
	tfs_crash(after);
}

/* In the order in which all is stored; test_scmfs_crash has what may get there otherwise. */
static void each_fence(const struct scm_log *log, u8 *now, const char *before)
{
	struct tfs *after = calloc(1, sizeof(*after));
	u32 i, fences = 0, seen = 0;

	after->mem = aligned_alloc(4096, t.size);
	after->size = t.size;
	for (i = 0; i < TFS_INODES; i++)
		after->node[i].ino = i;
	for (i = 0; i < log->nr_events && !ktap_failing(); i++) {
		const struct scm_event *e = log->event + i;

		if (e->type == SCM_STORE || e->type == SCM_STORE_NT)
			memcpy(now + e->offset, log->bytes + e->data, e->len);
		if (e->type == SCM_FENCE && fences++ % 4 == 0) {
			look(after, now, before, fences);
			seen++;
		}
	}
	ktap_note("%u fences, %u looked at", fences, seen);
	CHECK(seen > 10);
	free(after->mem);
	free(after);
}

static void cut(void)
{
	struct scmfs_gc *gc;
	struct scm_log log;
	u64 large[2];
	char *before;
	u8 *now;

	once_full(16 << 20, false, large);
	now = malloc(t.size);
	memcpy(now, t.mem, t.size);
	before = tfs_show(&t);
	gc = begin();
	crash_log_init(&log, t.mem, t.size, 1 << 20, 32 << 20);
	CHECK(!scm_record_start(&log));
	to_the_end(gc);
	scm_record_stop();
	CHECK(!log.full && scmfs_gc_counts(gc)->moves > 10);
	each_fence(&log, now, before);
	crash_log_free(&log);
	scmfs_gc_free(gc);
	free(before);
	free(now);
	tfs_free(&t);
}

/* Any transaction that names it will do. */
static void touch(u64 ino)
{
	struct scmfs_attr a = { .mtime = ++t.now };

	CHECK(!scmfs_setattr(t.fs, ino, &a, SCMFS_SET_MTIME));
}

/* With little to do at a time it is done, too, and no pass does more. */
static void in_bounds(void)
{
	struct scmfs_gc_params little = all;
	const struct scmfs_gc_counts *c;
	u64 large[2], first, was, looked;
	struct scmfs_gc *gc;
	u32 i, ended = 0;

	aged(large);
	little.blocks = 100;
	little.inodes = 50;
	gc = begin();
	c = scmfs_gc_counts(gc);
	for (i = 0; i < 3000 && ended < 200; i++) {
		was = c->blocks;
		looked = c->inodes;
		ended += pass_of(gc, &little, 1);
		CHECK(c->blocks - was < 100 + UNIT && c->inodes - looked <= 50);
	}
	ktap_note("%u passes, %u rounds", i, ended);
	CHECK(i > 200 && c->passes == i);
	CHECK(pieces(large[0], UNIT, &first) == 1 && whole_units());
	tfs_check(&t);
	/* nor does it look at more extents, but for those under the last lock */
	for (i = 0; i < 2; i++)
		touch(large[i]);
	little = all;
	little.extents = 0;
	lock_calls = 0;
	CHECK(!pass_of(gc, &little, 1) && !lock_calls);
	little.extents = 1;
	CHECK(!pass_of(gc, &little, 1) && lock_calls == 1);
	/* it ends between two files, or two relocations, when it is told to */
	for (i = 0; i < 40; i++) {
		steps_left = i % 7;
		lock_calls = 0;
		CHECK(pass_of(gc, &all, 1) >= 0 && lock_calls <= i % 7);
	}
	scmfs_gc_free(gc);
	tfs_free(&t);
}

static void whose_is_locked(void)
{
	const struct scmfs_gc_counts *c;
	u64 large[2], first, at, n;
	struct scmfs_gc *gc;
	u32 i;

	aged(large);
	n = pieces(large[0], UNIT, &at);
	gc = begin();
	c = scmfs_gc_counts(gc);
	locked_out = large[0];
	why = -EAGAIN;
	for (i = 0; i < 4; i++)
		CHECK(pass_of(gc, &all, 1) == 1);
	CHECK(c->busy && !c->mapped);
	why = -EBUSY;
	CHECK(pass_of(gc, &all, 1) == 1 && c->mapped);
	why = -ESTALE;
	CHECK(pass_of(gc, &all, 1) == 1);
	CHECK(pieces(large[0], UNIT, &first) == n && first == at);
	CHECK(pieces(large[1], UNIT, &first) == 1);
	why = -EROFS;
	CHECK(pass_of(gc, &all, 1) == -EROFS);
	scmfs_gc_free(gc);
	tfs_free(&t);
}

/* It is met once, and not in each round. */
static void bad_memory(void)
{
	const struct scmfs_gc_counts *c;
	u64 large[2], first, was;
	struct scmfs_gc *gc;
	char *before;
	u32 i;

	aged(large);
	before = tfs_show(&t);
	gc = begin();
	c = scmfs_gc_counts(gc);
	pieces(large[0], UNIT, &first);
	shim_bad_memory = t.mem + (first << SCMFS_BLOCK_SHIFT) + 100;
	for (i = 0; i < 8; i++)
		CHECK(pass_of(gc, &all, 1) == 1);
	was = c->bad;
	ktap_note("met %llu times in %u rounds", was, i);
	CHECK(was >= 1 && was <= 2 && c->wholes == 1);	/* the 2 MiB, and the extent */
	scmfs_gc_retry(gc);
	CHECK(pass_of(gc, &all, 1) == 1 && c->bad > was);
	shim_bad_memory = NULL;
	unchanged(before);
	scmfs_gc_retry(gc);
	for (i = 0; i < 2; i++)
		CHECK(pass_of(gc, &all, 1) == 1);
	CHECK(c->wholes == 2);
	unchanged(before);
	free(before);
	scmfs_gc_free(gc);
	tfs_free(&t);
}

/* Without being told to it does what the thresholds ask for. */
static void only_if_needed(void)
{
	struct scmfs_gc_params p = all;
	const struct scmfs_gc_counts *c;
	u64 large[2], was;
	struct scmfs_gc *gc;

	aged(large);
	gc = begin();
	c = scmfs_gc_counts(gc);
	p.whole = 0;
	p.cold = INT64_MAX;	/* all of them are hot */
	CHECK(pass_of(gc, &p, 0) == 1 && !c->blocks && !lock_calls);
	p.huge = false;
	p.whole = 100;
	CHECK(pass_of(gc, &p, 1) == 1 && !c->blocks && !lock_calls);
	p.huge = true;
	CHECK(pass_of(gc, &p, 0) == 1 && c->blocks && !c->wholes);
	was = c->wholes;
	p.cold = 0;
	CHECK(pass_of(gc, &p, 0) == 1 && c->wholes == was + 2);
	scmfs_gc_free(gc);
	tfs_free(&t);
}

/* Who starts it gets a round that began for him, whatever was under way, and so who stops it. */
static void started(void)
{
	struct scmfs_gc_params little = all;
	const struct scmfs_gc_counts *c;
	struct scmfs_gc *gc;
	u64 large[2], was;

	aged(large);
	little.whole = 0;
	little.cold = INT64_MAX;
	gc = begin();
	c = scmfs_gc_counts(gc);
	/* nothing asks for anything, but its units are chosen */
	CHECK(pass_of(gc, &little, 0) == 1 && !c->moves && c->rounds == 1);
	was = c->inodes;
	little.inodes = 20;
	little.whole = 100;
	CHECK(!pass_of(gc, &little, 0) && !scmfs_gc_order(gc) && c->inodes == was + 20);
	little.inodes = 5;
	CHECK(!pass_of(gc, &little, 3) && scmfs_gc_order(gc) == 3 && c->wholes == 0);
	/* another start while that is under way: it is no answer to this one */
	little.inodes = U32_MAX;
	CHECK(pass_of(gc, &little, 4) == 1 && scmfs_gc_order(gc) == 3);
	CHECK(c->moves && c->rounds == 2);
	CHECK(pass_of(gc, &little, 4) == 1 && scmfs_gc_order(gc) == 4);
	little.inodes = 5;
	CHECK(!pass_of(gc, &little, 5) && !pass_of(gc, &little, 0) && !scmfs_gc_order(gc));
	scmfs_gc_free(gc);
	tfs_free(&t);
}

static u64 with_room(const char *name, s64 mtime)
{
	struct scmfs_attr a = { .mtime = mtime };
	u64 ino;
	u32 i;

	CHECK(!tfs_make_node(&t, name, S_IFREG | 0644, NULL, &ino));
	for (i = 0; i < 65; i++)
		CHECK(!tfs_write(&t, ino, 4096 * i, 4096, 1, 0));
	CHECK(!scmfs_setattr(t.fs, ino, &a, SCMFS_SET_MTIME));
	CHECK(scmfs_room_ahead(t.fs, ino) > 0);
	return ino;
}

static void room(void)
{
	struct scmfs_gc_params p = all;
	u64 cold, hot, warm, was;
	struct scmfs_statfs st;
	struct scmfs_gc *gc;

	tfs_make(&t, 4 << 20, 50, 2);
	hot = with_room("h", 1000);
	cold = with_room("c", 1);
	warm = with_room("w", 900);
	scmfs_statfs(t.fs, &st);
	gc = begin();
	p.huge = false;
	p.cold = 500;
	p.low = p.high = 100 * st.free / st.blocks;
	CHECK(scmfs_gc_pass(gc, &p, 1000) == 1);
	CHECK(scmfs_room_ahead(t.fs, cold) && !scmfs_gc_counts(gc)->room);
	/* a little more, which the cold one has */
	p.low += 2;
	p.high = p.low + 1;
	was = scmfs_room_ahead(t.fs, cold);
	CHECK(scmfs_gc_pass(gc, &p, 1000) == 1);
	CHECK(!scmfs_room_ahead(t.fs, cold) && scmfs_room_ahead(t.fs, hot) &&
	      scmfs_room_ahead(t.fs, warm));
	CHECK(scmfs_gc_counts(gc)->room == was >> SCMFS_BLOCK_SHIFT);
	p.low = p.high = 99;
	locked_out = warm;
	why = -EAGAIN;
	CHECK(scmfs_gc_pass(gc, &p, 1000) == 1);
	CHECK(!scmfs_room_ahead(t.fs, hot) && scmfs_room_ahead(t.fs, warm));
	lock_calls = 0;		/* those that have none are not looked for */
	CHECK(scmfs_gc_pass(gc, &p, 1000) == 1 && lock_calls == 1);
	tfs_check(&t);
	scmfs_gc_free(gc);
	tfs_free(&t);
}

/* In a round of its own: the file has 2 MiB or more. */
static bool looks_again(struct scmfs_gc *gc, u64 ino)
{
	const struct scmfs_gc_counts *c = scmfs_gc_counts(gc);
	u64 was = locks_of[ino], unchanged = c->unchanged;

	CHECK(pass_of(gc, &all, 1) == 1);
	CHECK(locks_of[ino] != was || c->unchanged > unchanged);
	return locks_of[ino] != was;
}

static void quiet(struct scmfs_gc *gc, u64 ino)
{
	u32 i;

	for (i = 0; i < 8 && looks_again(gc, ino); i++)
		;
	CHECK(i < 8 && !looks_again(gc, ino));
}

static void rewrite(u64 ino)
{
	CHECK(!tfs_write(&t, ino, 5 << SCMFS_BLOCK_SHIFT, 100, 77, SCMFS_WRITE_ATOMIC));
}

static void grow(u64 ino)
{
	CHECK(!tfs_write(&t, ino, UNIT << SCMFS_BLOCK_SHIFT, 2 * UNIT << SCMFS_BLOCK_SHIFT, 78, 0));
}

static void punch(u64 ino)
{
	CHECK(!scmfs_punch(t.fs, ino, 9 << SCMFS_BLOCK_SHIFT, SCMFS_BLOCK_SIZE, ++t.now));
}

static void collapse(u64 ino)
{
	CHECK(!scmfs_collapse(t.fs, ino, 20 << SCMFS_BLOCK_SHIFT, SCMFS_BLOCK_SIZE, ++t.now));
}

static void insert(u64 ino)
{
	CHECK(!scmfs_insert(t.fs, ino, 20 << SCMFS_BLOCK_SHIFT, SCMFS_BLOCK_SIZE, ++t.now));
}

static void reserve(u64 ino)
{
	CHECK(!scmfs_reserve(t.fs, ino, 0, 4 * UNIT << SCMFS_BLOCK_SHIFT, 0, ++t.now));
}

static void zero(u64 ino)
{
	CHECK(!scmfs_zero(t.fs, ino, 30 << SCMFS_BLOCK_SHIFT, 9000, ++t.now));
}

static void cut_off(u64 ino)
{
	CHECK(!scmfs_truncate(t.fs, ino, (UNIT + 7) << SCMFS_BLOCK_SHIFT, ++t.now));
}

static void longer(u64 ino)
{
	CHECK(!scmfs_truncate(t.fs, ino, 3 * UNIT << SCMFS_BLOCK_SHIFT, ++t.now));
}

static void away(u64 ino)
{
	u64 moved;

	CHECK(!relocate(ino, 3, 2, false, &moved));
}

/* A file in which there was nothing to do is looked at again when something was done to it. */
static void unchanged_files(void)
{
	static void (*change[])(u64 ino) = {
		touch, rewrite, grow, punch, collapse, insert, reserve, zero, cut_off, longer, away
	};
	struct scmfs_gc *gc;
	u64 ino[1];
	u32 i;

	tfs_make(&t, 48 << 20, 50, 2);
	in_turns(ino, 1, UNIT);
	gc = begin();
	quiet(gc, ino[0]);
	for (i = 0; i < sizeof(change) / sizeof(*change); i++) {
		change[i](ino[0]);
		CHECK(looks_again(gc, ino[0]), "change %u", i);
		quiet(gc, ino[0]);
	}
	scmfs_gc_free(gc);
	/* a new one knows nothing */
	gc = begin();
	CHECK(looks_again(gc, ino[0]));
	quiet(gc, ino[0]);
	/* its number is another one's */
	CHECK(!tfs_unlink(&t, "a"));
	in_turns(&ino[0], 1, UNIT);
	CHECK(looks_again(gc, ino[0]));
	tfs_check(&t);
	scmfs_gc_free(gc);
	tfs_free(&t);
}

/* What changes in the midst of a look is looked at again, and so is what was not seen to its end. */
static void changed_meanwhile(void)
{
	struct scmfs_gc_params little = all;
	struct scmfs_gc *gc;
	u64 ino[1], at;
	u32 i;

	tfs_make(&t, 48 << 20, 50, 2);
	CHECK(!tfs_make_node(&t, "a", S_IFREG | 0644, NULL, ino));
	for (at = 0; at < UNIT; at += 2)	/* more than is looked at under one lock */
		CHECK(!tfs_write(&t, ino[0], at << SCMFS_BLOCK_SHIFT, SCMFS_BLOCK_SIZE, 1, 0));
	CHECK(!scmfs_truncate(t.fs, ino[0], UNIT << SCMFS_BLOCK_SHIFT, ++t.now));
	gc = begin();
	quiet(gc, ino[0]);
	little.extents = 1;
	for (i = 0; i < 2; i++) {
		touch(ino[0]);
		CHECK(!pass_of(gc, &little, 1));	/* the first half of it */
		if (i)
			rewrite(ino[0]);
		CHECK(pass_of(gc, &all, 1) == 1);
		CHECK(looks_again(gc, ino[0]) == !!i, "%u", i);
		quiet(gc, ino[0]);
	}
	/* given up as it is turned off; then somebody has it */
	touch(ino[0]);
	CHECK(!pass_of(gc, &little, 1));
	locked_out = ino[0];
	why = -EBUSY;
	CHECK(pass_of(gc, &all, 0) == 1);
	locked_out = 0;
	CHECK(looks_again(gc, ino[0]));
	quiet(gc, ino[0]);
	scmfs_gc_free(gc);
	tfs_free(&t);
}

/* What was to be done, and was not: no room, no memory, bad memory. */
static void not_done(void)
{
	struct scmfs_seg seg[1];
	struct scmfs_gc *gc;
	u64 ino[2], fill, at = 0;

	tfs_make(&t, 16 << 20, 50, 2);
	in_turns(ino, 2, UNIT);
	CHECK(!tfs_make_node(&t, "fill", S_IFREG | 0644, NULL, &fill));
	while (!tfs_write(&t, fill, at, SCMFS_BLOCK_SIZE, 1, 0))
		at += SCMFS_BLOCK_SIZE;
	gc = begin();
	CHECK(looks_again(gc, ino[0]) && looks_again(gc, ino[0]));
	CHECK(!scmfs_gc_counts(gc)->wholes && scmfs_gc_counts(gc)->no_room);
	CHECK(!scmfs_truncate(t.fs, fill, 0, ++t.now) && !scmfs_trim(t.fs, fill));
	CHECK(scmfs_map(t.fs, ino[0], 0, 4096, seg, 1) == 1);
	shim_bad_memory = t.mem + seg[0].at + 100;
	CHECK(looks_again(gc, ino[0]) && scmfs_gc_counts(gc)->bad && looks_again(gc, ino[0]));
	shim_bad_memory = NULL;
	scmfs_gc_retry(gc);
	CHECK(looks_again(gc, ino[0]) && scmfs_gc_counts(gc)->wholes == 2);
	quiet(gc, ino[0]);
	scmfs_gc_free(gc);
	tfs_free(&t);
}

/* Units that became free as what was in them went to whole ones, or was removed, aren't stuck. */
static void not_stuck(void)
{
	const struct scmfs_gc_counts *c;
	struct scmfs_gc *gc;
	char name[] = "a";
	u64 ino[3], at;
	u32 i;

	tfs_make(&t, 48 << 20, 50, 2);
	for (i = 0; i < 3; i++, name[0]++) {
		CHECK(!tfs_make_node(&t, name, S_IFREG | 0644, NULL, &ino[i]));
		CHECK(!scmfs_truncate(t.fs, ino[i], 4 << 20, ++t.now));
	}
	/* no more extents than an inode has itself: their blocks would stay where they are */
	for (at = 0; at < 8; at++)
		for (i = 0; i < 3; i++)
			CHECK(!tfs_write(&t, ino[i], at << 19, 1 << 19, 1 + i, 0));
	CHECK(!tfs_unlink(&t, "b"));
	gc = begin();
	c = scmfs_gc_counts(gc);
	CHECK(pass_of(gc, &all, 1) == 1 && c->wholes == 4);
	ktap_note("%u whole units, %llu emptied, %llu stuck", whole_units(), c->emptied, c->stuck);
	CHECK(c->emptied >= 2 && !c->stuck);
	scmfs_gc_free(gc);
	tfs_free(&t);
}

#define TAKEN	4096u
static struct scmfs_run taken[TAKEN];
static u32 nr_taken;

/* Others take all that is free in units that are half empty. */
static void refill(void)
{
	u16 frees[64];
	u64 unit = 0, got, block, at;
	u32 nr, i;

	if (nr_taken)
		return;
	nr = scmfs_unit_frees(t.fs, &unit, frees, 64);
	for (i = 0; i < nr; i++)
		for (at = (unit + i) * UNIT; frees[i] > 100 && at < (unit + i + 1) * UNIT; at++) {
			if (!CHECK(nr_taken < TAKEN))
				return;
			got = test_bit(at, t.fs->block_map) ? 0 :
				scmfs_alloc(t.fs, (unit + i + 1) * UNIT - at, at, &block);
			if (got)
				taken[nr_taken++] = (struct scmfs_run){ block, got };
		}
}

static void refilled(void)
{
	const struct scmfs_gc_counts *c;
	struct scmfs_gc_params p = all;
	struct scmfs_gc *gc;
	u64 large[2], moves;
	char *before;
	u32 i;

	aged(large);
	p.cold = INT64_MAX;	/* hot: units are emptied, and that is all */
	before = tfs_show(&t);
	gc = begin();
	c = scmfs_gc_counts(gc);
	nr_taken = 0;
	between = refill;
	CHECK(pass_of(gc, &p, 0) == 1);
	between = NULL;
	ktap_note("%llu moves, %llu units refilled, %llu stuck, %llu without room", c->moves, c->refilled,
		  c->stuck, c->no_room);
	CHECK(nr_taken && c->refilled && c->moves <= 1 && !c->no_room);
	moves = c->moves;
	for (i = 0; i < nr_taken; i++)
		scmfs_free(t.fs, taken[i].block, taken[i].count);
	unchanged(before);
	for (i = 0; i < 4; i++)
		CHECK(pass_of(gc, &p, 0) == 1);
	CHECK(c->moves > moves && c->emptied);
	unchanged(before);
	free(before);
	scmfs_gc_free(gc);
	tfs_free(&t);
}

static void no_memory(void)
{
	u32 i;

	tfs_make(&t, 8 << 20, 50, 2);
	for (i = 1; i <= 4; i++) {
		shim_fail_alloc = i;
		CHECK(!scmfs_gc_new(t.fs, &test_ops, NULL));
	}
	shim_fail_alloc = 0;
	tfs_free(&t);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("scmfs gc: thresholds, and what is cold", thresholds);
	ktap_run("scmfs gc: the emptiest units go, as far as there is room for what they have", victims);
	ktap_run("scmfs gc: what is worth a whole unit", worth);
	ktap_run("scmfs gc: 2 MiB in many pieces become one, and hold the same", into_one);
	ktap_run("scmfs gc: a relocation leaves bad memory where it is", bad_stays);
	ktap_run("scmfs gc: what can't be moved is as it was", refused);
	ktap_run("scmfs gc: what was moved in part is in one place or the other", partly);
	ktap_run("scmfs gc: the old blocks are free when nothing durable leads to them", free_last);
	ktap_run("scmfs gc: an aged file system has whole units again", whole_again);
	ktap_run("scmfs gc: so has one that was full", was_full);
	ktap_run("scmfs gc: a file of many passes has its index made once", index_stays);
	ktap_run("scmfs gc: a cut in a pass leaves every file as it was", cut);
	ktap_run("scmfs gc: a pass does no more than it may", in_bounds);
	ktap_run("scmfs gc: files that somebody has stay where they are", whose_is_locked);
	ktap_run("scmfs gc: bad memory is not looked for again and again", bad_memory);
	ktap_run("scmfs gc: what nothing asks for is not done", only_if_needed);
	ktap_run("scmfs gc: a start is answered by a round that began after it", started);
	ktap_run("scmfs gc: room ahead is given back by cold files first, up to the threshold", room);
	ktap_run("scmfs gc: what nothing was done to is not looked at again", unchanged_files);
	ktap_run("scmfs gc: but what changes during a look is", changed_meanwhile);
	ktap_run("scmfs gc: and what could not be put together", not_done);
	ktap_run("scmfs gc: what became free by whatever it was is not stuck", not_stuck);
	ktap_run("scmfs gc: units that others fill are given up", refilled);
	ktap_run("scmfs gc: a collector needs memory", no_memory);
	return ktap_done();
}
