// SPDX-License-Identifier: GPL-2.0-only
/*
 * The raw interface, and the FTL on the host that keeps its metadata by flushes: what
 * test_nameless.c does not ask, which has both FTL and interface through what all FTLs go through.
 */
#include <linux/slab.h>
#include "ktap.h"
#include "nameless/rig.h"
#include "ftl_page.h"
#include "raw.h"

static struct nl_config tiny(u32 planes, u32 pages, u32 spare)
{
	return rig_tiny(NL_FTL_SPLIT, planes, 4, pages, spare);
}

static struct nl_split *split_of(struct rig *rig)
{
	return container_of(rig->ftl, struct nl_page_ftl, ftl)->split;
}

/* --- the raw device --------------------------------------------------------------------------- */

static u64 when;

static int program(struct nl_flash *flash, u32 ppn)
{
	static const u8 oob[64] = { 1 };

	return nl_raw_program(flash, ppn, NL_FOR_HOST, 0, &when, NULL, oob);
}

static void test_refused(void)
{
	struct nl_config config = tiny(2, 26, 0);
	struct nl_flash flash;
	u64 ops, count, refused = 0;
	u8 oob[64];

	CHECK(!nl_flash_create(&flash, &config));
	CHECK(!program(&flash, 0) && !program(&flash, 1));
	CHECK(!nl_raw_mark_bad(&flash, 3));
	ops = flash.ops;
	count = flash.count[NL_PROGRAM][NL_FOR_HOST];
	when = 0;
	CHECK(program(&flash, 0) == -EEXIST);
	CHECK(program(&flash, 1) == -EEXIST);
	CHECK(program(&flash, 3) == -EINVAL);
	CHECK(program(&flash, 5) == -EINVAL);
	CHECK(program(&flash, 12) == -ENXIO);
	CHECK(program(&flash, flash.geo.nr_pages) == -ERANGE);
	CHECK(program(&flash, ~0u) == -ERANGE);
	CHECK(nl_raw_erase(&flash, 3, NL_FOR_HOST, 0, &when) == -ENXIO);
	CHECK(nl_raw_erase(&flash, flash.geo.nr_blocks, NL_FOR_HOST, 0, &when) == -ERANGE);
	CHECK(nl_raw_read(&flash, flash.geo.nr_pages, NL_FOR_HOST, 0, &when, NULL, oob) == -ERANGE);
	CHECK(nl_raw_mark_bad(&flash, flash.geo.nr_blocks) == -ERANGE);
	refused += 11;
	CHECK(flash.refused == refused, "%llu", (unsigned long long)flash.refused);
	CHECK(!flash.violations && !when, "nothing is done, and no time passes");
	CHECK(flash.ops == ops && flash.count[NL_PROGRAM][NL_FOR_HOST] == count);
	CHECK(flash.block[0].next == 2 && !flash.block[1].next && !flash.block[0].erases);
	CHECK(nl_raw_is_bad(&flash, 3) && !nl_raw_is_bad(&flash, 0) && nl_raw_is_bad(&flash, ~0u));
	CHECK(!nl_raw_read(&flash, 1, NL_FOR_HOST, 0, &when, NULL, oob) && oob[0] == 1 && when);
	CHECK(nl_raw_read(&flash, 2, NL_FOR_HOST, 0, &when, NULL, oob) == -ENODATA);
	CHECK(!program(&flash, 2));
	CHECK(!nl_raw_erase(&flash, 0, NL_FOR_HOST, 0, &when) && !program(&flash, 0));
	nl_flash_power_off(&flash);
	CHECK(program(&flash, 1) == -ESHUTDOWN && program(&flash, ~0u) == -ESHUTDOWN);
	CHECK(flash.refused == refused);
	nl_flash_destroy(&flash);
}

/* An FTL that asks for what flash would not do is told, and it shows. */
static void test_violation(void)
{
	struct nl_config config = tiny(1, 17, 2);
	static const u8 oob[64];
	struct rig rig;

	rig_init(&rig, &config, 17, 1);
	CHECK(!rig_open(&rig) && !rig_write(&rig, 1, 0));
	CHECK(nl_flash_program(&rig.port, rig.port.geo.nr_pages - 1, NL_FOR_HOST, &when, NULL,
			       oob) == -EINVAL);
	CHECK(rig.port.violations == 1 && rig.flash.refused == 1 && !rig.flash.violations);
	rig.port.violations = 0;
	rig.flash.refused = 0;
	rig_verify(&rig);
	rig_destroy(&rig);
}

/* --- the metadata ----------------------------------------------------------------------------- */

static bool crash(struct rig *rig)
{
	rig->cut_start = 3;		/* the start itself is not cut: it changes nothing */
	return rig_crash(rig);
}

/* What was not flushed is gone, all of it, and what was is there; nothing else is asked for. */
static void test_flush_lasts(void)
{
	struct nl_config config = tiny(2, 26, 4);
	struct nl_io io = { .now = 1000000000 };
	struct nl_buf *buf = NULL;
	struct rig rig;
	u32 i;

	rig_init(&rig, &config, 26, 1);
	CHECK(!rig_open(&rig));
	for (i = 0; i < 13; i++)
		CHECK(!rig_write(&rig, i, 0));
	CHECK(!rig_flush(&rig));
	for (i = 13; i < 26; i++)
		CHECK(!rig_write(&rig, i, 0));
	CHECK(!rig_write(&rig, 3, NL_FUA));	/* lasts, and all that was before it */
	CHECK(!rig_write(&rig, 4, 0));
	CHECK(crash(&rig));
	CHECK(!nl_ftl_read(rig.ftl, 20, &buf, &io) && buf);
	nl_buf_put(buf);
	CHECK(!rig_trim(&rig, 20, 1) && !rig_write(&rig, 21, 0));
	CHECK(crash(&rig));
	CHECK(rig.page[20].flushed, "a trim that was not flushed");
	CHECK(!rig_trim(&rig, 20, 1) && !rig_flush(&rig));
	CHECK(crash(&rig));
	CHECK(!rig.page[20].flushed, "a trim that was");
	rig_destroy(&rig);
}

/* A flush with nothing to say programs nothing. */
static void test_flush_of_nothing(void)
{
	struct nl_config config = tiny(2, 26, 4);
	struct rig rig;
	u64 ops;

	rig_init(&rig, &config, 26, 1);
	CHECK(!rig_open(&rig));
	CHECK(!rig_write(&rig, 1, 0) && !rig_write(&rig, 2, 0) && !rig_flush(&rig));
	ops = rig.flash.ops;
	CHECK(!rig_flush(&rig) && rig.flash.ops == ops);
	CHECK(!rig_write(&rig, 1, 0) && !rig_flush(&rig));
	CHECK(rig.flash.ops == ops + 2, "a page, and a commit: %llu",
	      (unsigned long long)(rig.flash.ops - ops));
	rig_destroy(&rig);
}

/* One that has nothing to say is not done before the one that has. */
static void test_flush_of_a_flush(void)
{
	struct nl_io one = { .now = 1000000000 }, two = { .now = 1000000001 };
	struct nl_config config = tiny(2, 26, 4);
	struct rig rig;

	rig_init(&rig, &config, 26, 1);
	CHECK(!rig_open(&rig) && !rig_write(&rig, 1, 0));
	CHECK(!nl_ftl_flush(rig.ftl, &one) && one.done > one.now);
	CHECK(!nl_ftl_flush(rig.ftl, &two));
	CHECK(two.done >= one.done, "%llu, %llu", (unsigned long long)two.done,
	      (unsigned long long)one.done);
	rig_destroy(&rig);
}

/* Of a device that takes no more writes what was written and trimmed before can still be flushed. */
static void test_read_only(void)
{
	struct nl_config config = tiny(2, 26, 4);
	struct rig rig;

	rig_init(&rig, &config, 26, 1);
	CHECK(!rig_open(&rig) && !rig_write(&rig, 1, 0) && !rig_write(&rig, 2, 0));
	CHECK(!rig_flush(&rig) && !nl_ftl_behind(rig.ftl));
	CHECK(!rig_write(&rig, 3, 0) && !rig_trim(&rig, 1, 1));
	rig.ftl->state = NL_FTL_RO;
	CHECK(rig_write(&rig, 2, 0) == -EROFS);
	CHECK(nl_ftl_behind(rig.ftl));
	CHECK(!rig_flush(&rig) && !nl_ftl_behind(rig.ftl));
	CHECK(crash(&rig));
	CHECK(!rig.page[1].flushed && rig.page[3].flushed);
	rig_destroy(&rig);
}

/* Only what the committed map refers to is held. */
static void test_held(void)
{
	struct nl_config config = tiny(2, 26, 6);
	struct nl_ftl_stat stat;
	struct rig rig;
	u32 i;

	rig_init(&rig, &config, 26, 1);
	CHECK(!rig_open(&rig));
	CHECK(!rig_write(&rig, 1, 0) && !rig_flush(&rig));
	for (i = 0; i < 4; i++)
		CHECK(!rig_write(&rig, 1, 0) && !rig_write(&rig, 2, 0));
	nl_ftl_stat(rig.ftl, &stat);
	CHECK(stat.held == 1, "%u", stat.held);
	CHECK(!rig_flush(&rig));
	nl_ftl_stat(rig.ftl, &stat);
	CHECK(!stat.held && stat.mapped == 2);
	rig_verify(&rig);
	rig_destroy(&rig);
}

/* How often blocks were erased the device does not tell: the metadata does. */
static void test_erases(void)
{
	struct nl_config config = tiny(2, 40, 3);
	struct nl_io io = { .now = 1 };
	u32 i, ours = 0, theirs = 0;
	struct rig rig;

	rig_init(&rig, &config, 40, ktap_seed);
	CHECK(!rig_open(&rig));
	for (i = 0; i < 3000 && !ktap_failing(); i++) {
		CHECK(!rig_write(&rig, rig_random(&rig, 40), 0));
		if (i % 7 == 0)
			CHECK(!rig_flush(&rig));
		if (i % 400 == 399) {
			CHECK(!nl_ftl_stop(rig.ftl, &io));
			rig_flush(&rig);
			crash(&rig);
		}
	}
	for (i = 0; i < rig.flash.geo.nr_blocks; i++) {
		ours += rig.port.block[i].erases;
		theirs += rig.flash.block[i].erases;
		CHECK(rig.port.block[i].erases <= rig.flash.block[i].erases);
	}
	CHECK(theirs > 500 && ours * 100 >= theirs * 95, "%u of %u", ours, theirs);
	rig_destroy(&rig);
}

/* Whatever page of the metadata can't be read: what was flushed is read, or nothing is. */
static void test_damaged(void)
{
	u32 place, tried = 0, refused = 0;
	struct nl_config config = tiny(2, 26, 4);

	for (place = 0; !ktap_failing(); place++) {
		struct nl_buf **page, *was;
		struct rig rig;
		u32 i, block;
		int r;

		rig_init(&rig, &config, 26, 7);
		CHECK(!rig_open(&rig));
		for (i = 0; i < 9; i++)
			CHECK(!rig_write(&rig, i, 0) && !rig_flush(&rig));
		if (place >= split_of(&rig)->have * 4) {
			rig_destroy(&rig);
			break;
		}
		block = split_of(&rig)->block[place / 4];
		if (place % 4 >= rig.flash.block[block].next) {
			rig_destroy(&rig);
			continue;
		}
		page = &rig.flash.data[nl_ppn(&rig.flash.geo, block, place % 4)];
		was = *page;
		*page = (struct nl_buf *)1;		/* NL_PAGE_ERROR */
		rig.flash.stored--;
		nl_ftl_destroy(rig.ftl);
		rig.ftl = NULL;
		r = rig_open(&rig);
		tried++;
		refused += r == -EIO;
		/*
		 * The last page of all is as one that was torn. That is for the flush before it, so
		 * at most one write is missing; anything else is refused.
		 */
		if (!r) {
			u32 gone = 0;

			for (i = 0; i < 9; i++)
				gone += rig.ftl->ops->lookup(rig.ftl, i) == NL_UNMAPPED;
			CHECK(gone <= 1, "page %u: %u of 9 are gone", place, gone);
		} else {
			CHECK(r == -EIO, "page %u: %d", place, r);
		}
		*page = was;
		rig.flash.stored++;
		if (rig.ftl)
			nl_ftl_destroy(rig.ftl);
		rig.ftl = NULL;
		CHECK(!rig_open(&rig));
		rig_verify(&rig);
		rig_destroy(&rig);
	}
	ktap_note("%u pages, %u refused", tried, refused);
	CHECK(refused > 2);
}

struct damage_counts {
	u32 programmed;		/* pages that were damaged */
	u32 refused;
	u32 image;		/* of an image that no commit is behind */
};

static bool image_alone(struct rig *rig)
{
	return split_of(rig)->gen.index == split_of(rig)->pages;
}

/*
 * Writes that GC makes room for, flushes among them, and some behind the last flush: a damaged page
 * of the metadata. Metadata of before would have blocks that were erased and filled again.  After
 * odd numbers of writes an image was flushed last, with no commit behind it.
 */
static void damage_and_look(u32 writes, u32 place, struct damage_counts *counts)
{
	struct nl_config config = tiny(2, 120, 4);
	struct nl_buf **page, *was;
	u32 i, block, last;
	struct rig rig;
	int r;

	rig_init(&rig, &config, 120, 11);
	CHECK(!rig_open(&rig));
	CHECK(split_of(&rig)->pages > 1, "an image of more than a page");
	for (i = 0; i < writes && !ktap_failing(); i++) {
		CHECK(!rig_write(&rig, rig_random(&rig, 120), 0));
		if (i % 11 == 0 && i + 30 < writes)
			CHECK(!rig_flush(&rig));
	}
	for (i = 0; writes % 2 && i < 400 && !image_alone(&rig) && !ktap_failing(); i++) {
		CHECK(!rig_write(&rig, rig_random(&rig, 120), 0));
		CHECK(!rig_flush(&rig));
	}
	block = place / 4 < split_of(&rig)->have ? split_of(&rig)->block[place / 4] : ~0u;
	page = &rig.flash.data[nl_ppn(&rig.flash.geo, block == ~0u ? 0 : block, place % 4)];
	i = split_of(&rig)->gen.index - 1;
	last = nl_ppn(&rig.flash.geo, split_of(&rig)->gen.block[i / 4], i % 4);
	if (block != ~0u && place % 4 < rig.flash.block[block].next && *page) {
		was = *page;
		*page = (struct nl_buf *)1;		/* NL_PAGE_ERROR */
		rig.flash.stored--;
		counts->programmed++;
		counts->image += image_alone(&rig) && block == split_of(&rig)->gen.block[0] &&
				 page != &rig.flash.data[last];
		nl_ftl_destroy(rig.ftl);
		rig.ftl = NULL;
		r = rig_open(&rig);
		CHECK(!r || r == -EIO, "page %u after %u writes: %d", place, writes, r);
		counts->refused += !!r;
		/* Only the last page of all may be as one that was torn. */
		for (i = 0; i < 120 && !r && !ktap_failing(); i++)
			CHECK(page == &rig.flash.data[last] ? rig_is_own(&rig, i) :
							      rig_settle(&rig, i),
			      "page %u after %u writes: %u", place, writes, i);
		*page = was;
		rig.flash.stored++;
	}
	rig_destroy(&rig);
}

static void test_damaged_reused(void)
{
	struct damage_counts counts = {};
	u32 writes, place;

	for (writes = 400; writes < 420 && !ktap_failing(); writes++)
		for (place = 0; place < 48 && !ktap_failing(); place++)
			damage_and_look(writes, place, &counts);
	ktap_note("%u pages, %u refused, %u of an image alone", counts.programmed, counts.refused,
		  counts.image);
	CHECK(counts.programmed > 50 && counts.refused > 5 && counts.refused < counts.programmed);
	CHECK(counts.image >= 5);
}

/* Data without metadata is not taken for an empty device, nor another FTL's flash. */
static void test_no_metadata(void)
{
	struct nl_config config = tiny(2, 26, 4), page;
	struct nl_io io = { .now = 1 };
	struct nl_ftl *ftl;
	struct rig rig;
	u32 i;

	rig_init(&rig, &config, 26, 1);
	CHECK(!rig_open(&rig) && !rig_write(&rig, 1, NL_FUA));
	for (i = 0; i < split_of(&rig)->have; i++)
		CHECK(!nl_flash_erase(&rig.flash, split_of(&rig)->block[i], NL_FOR_HOST, &when));
	nl_ftl_destroy(rig.ftl);
	rig.ftl = NULL;
	CHECK(rig_open(&rig) == -EIO);
	rig_destroy(&rig);

	rig_across = false;
	page = config;
	page.p[NL_P_FTL] = NL_FTL_PAGE;
	rig_init(&rig, &page, 26, 1);
	CHECK(!rig_open(&rig));
	for (i = 0; i < 20; i++)
		CHECK(!rig_write(&rig, i, 0));
	CHECK(nl_ftl_open(&ftl, &rig.flash, &config, 26, &io) == -EMEDIUMTYPE);
	rig_destroy(&rig);
	rig_across = true;
}

/* Each program of the metadata fails once: what was flushed is there, at once and after a cut. */
static void test_failing(void)
{
	struct nl_config config = tiny(2, 26, 4);
	u32 at, i;

	for (at = 1; at < 40 && !ktap_failing(); at++) {
		struct rig rig;

		rig_init(&rig, &config, 26, at);
		rig.flash.fail_program = at;
		CHECK(!rig_open(&rig));
		for (i = 0; i < 30 && !ktap_failing(); i++)
			CHECK(!rig_write(&rig, rig_random(&rig, 26), i % 3 ? 0 : NL_FUA));
		CHECK(!rig_flush(&rig));
		rig_verify(&rig);
		CHECK(crash(&rig));
		CHECK(!rig.flash.fail_program && rig.flash.count[NL_PROGRAM][NL_FOR_META]);
		for (i = 0; i < 30 && !ktap_failing(); i++)
			CHECK(!rig_write(&rig, rig_random(&rig, 26), 0));
		rig_verify(&rig);
		rig_destroy(&rig);
	}
}

/*
 * A commit that takes several pages is there as a whole or not at all: wherever it is cut, either
 * all pages of the run are the new ones or none is.
 */
static void test_whole(void)
{
	struct nl_config config = rig_tiny(NL_FTL_SPLIT, 2, 16, 400, 12);
	u32 cut, i, new, partly = 0, all = 0, none = 0;

	for (cut = 0; !all && !ktap_failing(); cut++) {
		struct rig rig;
		int r;

		rig_init(&rig, &config, 400, 1);
		CHECK(!rig_open(&rig));
		for (i = 0; i < 400; i++)
			CHECK(!rig_write(&rig, i, 0));
		CHECK(!rig_flush(&rig));
		for (i = 0; i < 150; i++)
			CHECK(!rig_write(&rig, i, 0));
		nl_flash_cut(&rig.flash, cut, NL_TEAR_BLANK);
		r = rig_flush(&rig);
		CHECK(!r || r == -ESHUTDOWN);
		new = rig.page[0].nr ? rig.page[0].since[0] : rig.page[0].flushed;
		CHECK(crash(&rig));
		for (i = 0; i < 150; i++)
			if ((rig.page[i].flushed >= new) != (rig.page[0].flushed >= new))
				partly++;
		all += !r;
		none += r && rig.page[0].flushed < new;
		rig_destroy(&rig);
	}
	CHECK(!partly, "%u", partly);
	CHECK(none >= 2, "the commit has several pages: %u", none);
}

/* --- its blocks ------------------------------------------------------------------------------- */

static u64 rotated(struct rig *rig)
{
	struct nl_ftl_stat stat;

	nl_ftl_stat(rig->ftl, &stat);
	CHECK(stat.meta_good <= stat.meta_blocks);
	return stat.meta_rotated;
}

/* Flushes wear all blocks that are not full of what nobody changes, not a few. */
static void test_rotates(void)
{
	struct nl_config config = tiny(2, 26, 10);
	u32 i, most = 0;
	struct rig rig;
	u64 all = 0;

	rig_init(&rig, &config, 26, ktap_seed);
	CHECK(!rig_open(&rig));
	for (i = 0; i < 6000 && !ktap_failing(); i++) {
		CHECK(!rig_write(&rig, rig_random(&rig, 6), NL_FUA));
		if (i % 500 == 499) {
			rig_verify(&rig);
			CHECK(crash(&rig));
		}
	}
	for (i = 0; i < rig.flash.geo.nr_blocks; i++) {
		all += rig.flash.block[i].erases;
		most = max(most, rig.flash.block[i].erases);
	}
	ktap_note("%u blocks, %llu erases, %u at most", i, (unsigned long long)all, most);
	CHECK(all > 2000 && most * i < all * 3 / 2);
	rig_destroy(&rig);
}

/*
 * As many blocks go bad as there may, most of them while the metadata is written: it has others
 * instead, and the device is not read-only before too few are left for all.
 */
static void test_replaced(void)
{
	struct nl_config config = tiny(2, 26, 10);
	u32 programs, i, spare, r;
	struct nl_ftl_stat stat;
	struct rig rig;

	for (programs = 0; programs < 2; programs++) {
		rig_init(&rig, &config, 26, ktap_seed);
		CHECK(!rig_open(&rig));
		nl_ftl_stat(rig.ftl, &stat);
		spare = rig.ftl->blocks.good - stat.min_blocks;
		CHECK(spare >= 8, "%u", spare);
		for (i = r = 0; !r && i < 6000 && !ktap_failing(); i++) {
			if (i % 40 == 5)
				*(programs ? &rig.flash.fail_program : &rig.flash.fail_erase) =
					programs ? 2 : 1;	/* of a write and its commit */
			r = rig_write(&rig, rig_random(&rig, 26), NL_FUA);
			nl_ftl_stat(rig.ftl, &stat);
			CHECK(r || stat.meta_good == stat.meta_blocks ||
			      stat.free_blocks <= NL_FLOOR, "%u of %u, %u free",
			      stat.meta_good, stat.meta_blocks, stat.free_blocks);
			CHECK(r || stat.state == NL_FTL_RO || stat.free_blocks >= NL_FLOOR,
			      "%u left for GC", stat.free_blocks);
			if (i % 100 == 99 && !r)
				CHECK(crash(&rig));
		}
		CHECK(r == (u32)-EROFS && rig.ftl->blocks.good == stat.min_blocks - 1,
		      "%u: %u good, %u least", programs, rig.ftl->blocks.good, stat.min_blocks);
		CHECK(!rig_flush(&rig) && crash(&rig));
		rig_destroy(&rig);
	}
}

/*
 * The power goes at each operation while the metadata goes from block to block, for some of these
 * fail: where it is, is found. @fails: 1 a program, 2 an erase, so many operations before the cut.
 */
static u32 cut_rotation(u32 cut, enum nl_tear tear, u32 fails, u32 ahead)
{
	struct nl_config config = tiny(2, 26, 5);
	u32 i, moved = 0, r = 0;
	struct rig rig;

	rig_init(&rig, &config, 26, 5);
	CHECK(!rig_open(&rig));
	for (i = 0; i < 260 && !ktap_failing(); i++)	/* some are worn more than others */
		CHECK(!rig_write(&rig, rig_random(&rig, 26), i % 2 ? NL_FUA : 0));
	moved = rotated(&rig);
	rig.flash.fail_program = fails == 1 ? ahead : 0;
	rig.flash.fail_erase = fails == 2 ? ahead : 0;
	nl_flash_cut(&rig.flash, cut, tear);
	for (i = 0; i < 90 && !r && !ktap_failing(); i++)
		r = rig_write(&rig, rig_random(&rig, 26), i % 3 ? NL_FUA : 0);
	CHECK(!r || r == (u32)-ESHUTDOWN || r == (u32)-EROFS, "%d", r);
	moved = r == (u32)-ESHUTDOWN ? 0 : rotated(&rig) - moved;
	CHECK(rig_crash(&rig), "cut at %u, left %u; failing %u, %u before", cut, tear, fails,
	      ahead);
	for (i = 0; i < 40 && !ktap_failing(); i++)
		CHECK(!rig_write(&rig, rig_random(&rig, 26), NL_FUA));
	if (!ktap_failing() && rig_verify(&rig))
		CHECK(rig_crash(&rig));
	rig_destroy(&rig);
	return moved;
}

static void test_rotation_cut(void)
{
	u32 cut, tear, fails, moved = 0;

	for (cut = 0; cut < 120 && !ktap_failing(); cut++)
		for (tear = 0; tear < NL_NR_TEARS && !ktap_failing(); tear++) {
			fails = (cut / 3 + tear) % 3;
			cut_rotation(cut, tear, fails, 1 + cut * 7 % (fails == 2 ? 9 : 40));
		}
	for (fails = 0; fails < 3; fails++)
		moved += cut_rotation(1000, 0, fails, 20);
	ktap_note("%u blocks changed hands without a cut", moved);
	CHECK(moved >= 9);
}

/* A start that finds more blocks with metadata than there can be, or one twice, says so. */
static void test_too_many(void)
{
	struct nl_config config = tiny(2, 26, 10);
	struct nl_split *s;
	struct nl_buf *buf;
	struct rig rig;
	u8 oob[64];
	u32 i, from;

	rig_init(&rig, &config, 26, 1);
	CHECK(!rig_open(&rig) && !rig_write(&rig, 1, NL_FUA));
	s = split_of(&rig);
	from = nl_ppn(&rig.flash.geo, s->gen.block[0], 0);
	CHECK(!nl_flash_read(&rig.flash, from, NL_FOR_HOST, &when, &buf, oob));
	for (i = 0; i < s->have && s->block[i] == s->gen.block[0]; i++)
		;
	CHECK(!nl_flash_program(&rig.flash, nl_ppn(&rig.flash.geo, s->block[i], 0), NL_FOR_HOST,
				&when, buf, oob));
	nl_ftl_destroy(rig.ftl);
	rig.ftl = NULL;
	CHECK(rig_open(&rig) == -EUCLEAN, "a block of it twice");
	for (i = 0; i < rig.flash.geo.nr_blocks; i++)
		if (!rig.flash.block[i].next)
			CHECK(!nl_flash_program(&rig.flash, nl_ppn(&rig.flash.geo, i, 0),
						NL_FOR_HOST, &when, buf, oob));
	CHECK(rig_open(&rig) == -EUCLEAN);
	nl_buf_put(buf);
	rig_destroy(&rig);
}

/* --- what a start brings back ----------------------------------------------------------------- */

/* How warm the data of each block is: wear leveling asks for the coldest. */
static void test_newest(void)
{
	struct nl_config config = tiny(2, 60, 6);
	u32 i, n, turn, same = 0, block;
	u64 newest[256];
	struct rig rig;

	config.p[NL_P_ENDURANCE] = 1000000;
	config.p[NL_P_WEAR] = 999;
	rig_init(&rig, &config, 60, ktap_seed);
	CHECK(!rig_open(&rig) && rig.flash.geo.nr_blocks <= ARRAY_SIZE(newest));
	for (turn = 0; turn < 20 && !ktap_failing(); turn++) {
		for (i = 0; i < 60; i++)
			CHECK(!rig_write(&rig, turn % 3 ? rig_random(&rig, 20) : i,
					 i % 9 ? 0 : NL_FUA));
		CHECK(!rig_flush(&rig));
		for (n = 0; n < rig.flash.geo.nr_blocks; n++)
			newest[n] = rig.ftl->blocks.bk[n].newest;
		nl_ftl_destroy(rig.ftl);
		rig.ftl = NULL;
		CHECK(!rig_open(&rig));
		for (n = 0; n < rig.flash.geo.nr_blocks; n++) {
			if (rig.ftl->blocks.bk[n].use != NL_USE_CLOSED)
				continue;
			CHECK(newest[n] && rig.ftl->blocks.bk[n].newest == newest[n],
			      "block %u: %llu, was %llu", n,
			      (unsigned long long)rig.ftl->blocks.bk[n].newest,
			      (unsigned long long)newest[n]);
			same++;
		}
		block = nl_block_coldest(rig.ftl);
		for (n = 0; n < rig.flash.geo.nr_blocks && block != NL_NONE; n++)
			CHECK(rig.ftl->blocks.bk[n].use != NL_USE_CLOSED ||
			      nl_block_is_old(rig.ftl, n) || newest[block] <= newest[n]);
	}
	CHECK(same > 100, "%u", same);
	rig_destroy(&rig);
}

/* What comes when a start is done waits for nothing that the start asked for. */
static void test_first(void)
{
	struct nl_config config = tiny(3, 40, 4);
	u32 i, turn, was;
	struct rig rig;
	u64 took = 0;

	rig_init(&rig, &config, 40, 3);
	CHECK(!rig_open(&rig));
	for (i = 0; i < 200; i++)
		CHECK(!rig_write(&rig, i % 40, i % 7 ? 0 : NL_FUA));
	CHECK(!rig_flush(&rig));
	for (turn = 0; turn < 41 && !ktap_failing(); turn++) {
		struct nl_io start = { .now = 1000000000ULL * (turn + 1) }, first;
		struct nl_buf *buf;

		nl_ftl_destroy(rig.ftl);
		rig.ftl = NULL;
		if (turn == 40) {		/* nothing there: it writes the first metadata */
			for (i = 0; i < rig.flash.geo.nr_blocks; i++)
				CHECK(!nl_flash_erase(&rig.flash, i, NL_FOR_HOST, &when));
		}
		nl_flash_power_on(&rig.flash);
		nl_flash_power_on(&rig.port);
		was = rig.flash.count[NL_READ][NL_FOR_RECOVERY];
		CHECK(!nl_ftl_open(&rig.ftl, &rig.port, &config, 40, &start));
		took = max(took, start.done - start.now);
		CHECK(start.done >= rig.flash.timing.latest && start.done > start.now);
		/* No more than if all that it read were behind each other. */
		CHECK(start.done - start.now <=
		      39000ULL * (rig.flash.count[NL_READ][NL_FOR_RECOVERY] - was) + 1714000);
		first = (struct nl_io){ .now = start.done, .came = start.now + 1 };
		if (turn == 40) {
			CHECK(!nl_ftl_write(rig.ftl, 0, NULL, 0, &first));
			CHECK(first.done - first.now <= 214000 + 1502000);
			continue;
		}
		CHECK(!nl_ftl_read(rig.ftl, turn, &buf, &first));
		nl_buf_put(buf);
		CHECK(first.done - first.now == 39000, "page %u: %llu", turn,
		      (unsigned long long)(first.done - first.now));
	}
	ktap_note("a start took %llu us at most", (unsigned long long)took / 1000);
	rig_destroy(&rig);
}

/* The pages of one request are committed at once, with its last one. */
static void test_request(void)
{
	struct nl_config config = tiny(2, 26, 6);
	struct nl_ftl_stat before, after;
	struct rig rig;
	u32 i;

	rig_init(&rig, &config, 26, 1);
	CHECK(!rig_open(&rig));
	nl_ftl_stat(rig.ftl, &before);
	for (i = 0; i < 16; i++)
		CHECK(!rig_write(&rig, i, i < 15 ? NL_FUA | NL_MORE : NL_FUA));
	nl_ftl_stat(rig.ftl, &after);
	CHECK(after.commits == before.commits + 1, "%llu",
	      (unsigned long long)(after.commits - before.commits));
	CHECK(crash(&rig));
	for (i = 0; i < 16; i++)
		CHECK(rig.page[i].flushed);
	rig_destroy(&rig);
}

/* --- what is not committed, among all that there is ------------------------------------------- */

static void test_marks(void)
{
	const u32 at[] = { 0, 1, 4095, 4096, 8191, 12287, 12288, 20000 }, nr = ARRAY_SIZE(at);
	struct nl_marks m;
	u32 i, n, k;

	CHECK(!nl_marks_init(&m, 20001));
	for (k = 0; k < 2; k++) {
		CHECK(nl_marks_next(&m, 0) == m.bits && !m.nr);
		for (n = 0; n < nr; n++) {
			nl_marks_set(&m, at[n]);
			nl_marks_set(&m, at[n]);
		}
		CHECK(m.nr == nr);
		for (i = nl_marks_next(&m, 0), n = 0; i < m.bits; i = nl_marks_next(&m, i + 1), n++)
			CHECK(n < nr && i == at[n] && nl_marks_has(&m, i));
		CHECK(n == nr);
		CHECK(nl_marks_next(&m, 4097) == 8191 && nl_marks_next(&m, 8192) == 12287);
		nl_marks_unset(&m, 8191);
		CHECK(m.nr == nr - 1 && nl_marks_next(&m, 4097) == 12287);
		nl_marks_clear(&m);
		for (n = 0; n < nr; n++)
			CHECK(!nl_marks_has(&m, at[n]));
	}
	nl_marks_free(&m);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	rig_across = true;
	ktap_run("what flash would not do is refused, and nothing is changed", test_refused);
	ktap_run("an FTL that asks for it has a bug, which shows", test_violation);
	ktap_run("what was flushed lasts, and nothing else", test_flush_lasts);
	ktap_run("a flush with nothing to say programs nothing", test_flush_of_nothing);
	ktap_run("one that has nothing to say waits for the one that has", test_flush_of_a_flush);
	ktap_run("a read-only device can still be flushed", test_read_only);
	ktap_run("a page is held as long as a start would ask for it", test_held);
	ktap_run("the metadata knows how often blocks were erased", test_erases);
	ktap_run("metadata that can't be read is refused, not made up for by older one", test_damaged);
	ktap_run("damaged metadata shows no page in place of another", test_damaged_reused);
	ktap_run("data without metadata is not taken for an empty device", test_no_metadata);
	ktap_run("programs of the metadata fail", test_failing);
	ktap_run("a commit is whole or not there", test_whole);
	ktap_run("flushes wear all blocks, not a few", test_rotates);
	ktap_run("blocks of the metadata that fail are replaced", test_replaced);
	ktap_run("metadata that goes from block to block is found after a cut",
		 test_rotation_cut);
	ktap_run("more metadata than there can be is refused", test_too_many);
	ktap_run("the metadata knows how warm the data of a block is", test_newest);
	ktap_run("what comes after a start does not wait for it", test_first);
	ktap_run("the pages of a request are committed at once", test_request);
	ktap_run("marks are found in order, and cleared, wherever they are", test_marks);
	return ktap_done();
}
