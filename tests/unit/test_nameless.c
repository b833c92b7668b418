// SPDX-License-Identifier: GPL-2.0-only
/* FTLs on flash that refuses what flash refuses: requests, full devices, cuts everywhere. */
#include <linux/slab.h>
#include "ktap.h"
#include "nameless/rig.h"
#include "ftl_hybrid.h"

static enum nl_ftl_kind kind;

static void steps(struct rig *rig, u32 nr)
{
	int r = 0;
	u32 i;

	for (i = 0; i < nr && !r && !ktap_failing(); i++)
		r = rig_step(rig);
	CHECK(!r, "step %u: %d", i, r);
}

static void plain(const struct nl_config *config, u32 pages, u64 seed, u32 nr)
{
	struct rig rig;
	u32 i;

	rig_init(&rig, config, pages, seed);
	if (CHECK(!rig_open(&rig))) {
		for (i = 0; i < nr && !ktap_failing(); i += 50) {
			steps(&rig, 50);
			rig_verify(&rig);
		}
		rig_flush(&rig);
		rig_crash(&rig);
	}
	rig_destroy(&rig);
}

static void test_requests(void)
{
	struct nl_config config;
	u32 spare;

	for (spare = 0; spare < 6; spare++) {
		config = rig_tiny(kind, 1 + spare % 3, 8, 150, spare);
		plain(&config, 150, ktap_seed + spare, 2000);
		config.p[NL_P_BUFFER] = 1 + 5 * spare;
		plain(&config, 150, ktap_seed + spare, 2000);
	}
}

static void test_full(void)
{
	struct nl_config config = rig_tiny(kind, 3, 4, 101, 0);
	struct rig rig;
	u32 i, round;

	rig_init(&rig, &config, 101, ktap_seed);
	CHECK(!rig_open(&rig));
	for (i = 0; i < 101; i++)
		CHECK(!rig_write(&rig, i, 0));
	for (round = 0; round < 3000 && !ktap_failing(); round++)
		CHECK(!rig_write(&rig, rig_random(&rig, 101), 0));
	rig_verify(&rig);
	rig_destroy(&rig);
}

/* A run of @nr requests, cut at operation @cut: -1 if it was over before that. */
static int run_to(struct rig *rig, u32 nr, u64 cut, enum nl_tear tear)
{
	u32 i;
	int r = rig->ftl ? 0 : -ENXIO;

	nl_flash_cut(&rig->flash, cut, tear);
	for (i = 0; i < nr && !r; i++)
		r = rig_step(rig);
	if (r == -ESHUTDOWN)
		return 0;
	CHECK(!r, "step %u: %d", i, r);
	return -1;
}

/* Cuts at every operation, each left in every way; then on, and cut again at one of the next. */
static void every_cut(const struct nl_config *config, u32 pages, u64 seed, u32 nr, u32 again)
{
	u64 cut = 0, cuts = 0;
	int over = 0, tear;
	struct rig rig;

	for (; !over && !ktap_failing(); cut++) {
		for (tear = 0; tear < NL_NR_TEARS && !ktap_failing(); tear++) {
			u32 second = cut % (again + 1);

			rig_init(&rig, config, pages, seed);
			CHECK(!rig_open(&rig));
			over = run_to(&rig, nr, cut, tear);
			rig_crash(&rig);
			if (!ktap_failing() &&
			    !run_to(&rig, nr, second, (tear + cut) % NL_NR_TEARS))
				rig_crash(&rig);
			if (!ktap_failing())
				steps(&rig, 15);
			if (!ktap_failing())
				rig_verify(&rig);
			if (ktap_failing())
				ktap_note("cut %llu, torn %d, again at %u, seed %llu", cut, tear,
					  second, (unsigned long long)seed);
			rig_destroy(&rig);
			cuts++;
		}
	}
	ktap_note("%llu cuts", cuts);
}

/* Cuts of all kinds take a minute: each kind has its turn. */
static bool has_turn(void)
{
	bool turn = ktap_has_turn(kind + 2 * rig_across + !!rig_map_chunks, 3);

	if (!turn)
		ktap_skip("its turn is in another run (EVENKEEL_CRASH_PART)");
	return turn;
}

static void test_every_cut(void)
{
	struct nl_config config = rig_tiny(kind, 2, 4, 26, 0);

	if (!has_turn())
		return;
	every_cut(&config, 26, ktap_seed, 150, 9);
	config.p[NL_P_BUFFER] = 5;
	every_cut(&config, 26, ktap_seed + 1, 150, 17);
	config = rig_tiny(kind, 1, 3, 17, 2);
	every_cut(&config, 17, ktap_seed + 2, 150, 31);
	config = rig_tiny(kind, 1, 4, 17, 8);	/* room for checkpoints; wear leveling */
	config.p[NL_P_ENDURANCE] = 100;
	config.p[NL_P_WEAR] = 1000;
	every_cut(&config, 17, ktap_seed + 3, 150, 11);
}

/* However often the power goes, and wherever: no room is lost for good. */
static void test_cut_forever(void)
{
	struct nl_config config = rig_tiny(kind, 2, 4, 26, 0);
	struct rig rig;
	u32 i;

	rig_init(&rig, &config, 26, ktap_seed);
	CHECK(!rig_open(&rig));
	for (i = 0; i < 26; i++)
		CHECK(!rig_write(&rig, i, 0));
	for (i = 0; i < 3000 && !ktap_failing(); i++) {
		nl_flash_cut(&rig.flash, rig_random(&rig, 1 + i % 7), i % NL_NR_TEARS);
		while (!rig_write(&rig, rig_random(&rig, 26), 0))
			;
		rig_crash(&rig);
	}
	for (i = 0; i < 100 && !ktap_failing(); i++)
		CHECK(!rig_write(&rig, rig_random(&rig, 26), 0));
	rig_destroy(&rig);
}

static void test_random_cuts(void)
{
	u32 round, i;

	if (!has_turn())
		return;
	for (round = 0; round < 6 && !ktap_failing(); round++) {
		struct nl_config config = rig_tiny(kind, 1 + round, 16, 9000, 20 * round);
		struct rig rig;

		config.p[NL_P_BUFFER] = round % 2 * 64;
		rig_init(&rig, &config, 9000, ktap_seed + round);
		CHECK(!rig_open(&rig));
		for (i = 0; i < 9000 && !ktap_failing(); i++)
			rig_write(&rig, i, 0);
		for (i = 0; i < 8 && !ktap_failing(); i++) {
			run_to(&rig, 4000, rig_random(&rig, 8000), i % NL_NR_TEARS);
			rig_crash(&rig);
		}
		rig_destroy(&rig);
	}
}

static void test_clean_stop(void)
{
	struct nl_config config = rig_tiny(kind, 2, 16, 600, 12);
	struct nl_ftl_stat stat;
	struct rig rig;
	u32 i;

	rig_init(&rig, &config, 600, ktap_seed);
	CHECK(!rig_open(&rig));
	for (i = 0; i < 20 && !ktap_failing(); i++) {
		steps(&rig, 300);
		rig_restart(&rig);
		rig_restart(&rig);
		nl_ftl_stat(rig.ftl, &stat);
		CHECK(!stat.recovered_by_scan);
		CHECK(!rig_write(&rig, 5, 0));
		rig_crash(&rig);	/* the checkpoint must not count any more */
		nl_ftl_stat(rig.ftl, &stat);
		CHECK(stat.recovered_by_scan);
	}
	rig_destroy(&rig);
}

/* The block that holds part @part of a checkpoint. */
static u32 part_at(struct rig *rig, u32 part)
{
	const struct nl_oob *oob;
	u32 i;

	for (i = 0; i < rig->flash.geo.nr_blocks; i++) {
		oob = nl_flash_peek(&rig->flash, i * rig->flash.geo.pages);
		if (oob && oob->type == NL_OOB_CHECKPOINT &&
		    le64_to_cpu(oob->lpn) == (u64)part * rig->flash.geo.pages)
			return i;
	}
	CHECK(false, "no part %u", part);
	return 0;
}

/* All that is in a block into another one, as no FTL would do it. */
static void forge_copy(struct rig *rig, u32 from, u32 to)
{
	const struct nl_geometry *geo = &rig->flash.geo;
	struct nl_block *block = rig->flash.block;
	struct nl_buf **data = rig->flash.data;
	u32 i;

	for (i = 0; i < block[to].next; i++)
		nl_buf_put(data[to * geo->pages + i]);
	for (i = 0; i < block[from].next; i++) {
		data[to * geo->pages + i] = data[from * geo->pages + i];
		nl_buf_get(data[from * geo->pages + i]);
	}
	rig->flash.stored += block[from].next - block[to].next;
	block[to].next = block[from].next;
	memcpy(block[to].oob, block[from].oob, (size_t)geo->pages * geo->oob_bytes);
}

/* Logical pages with which nothing but the place of a trim record is in a checkpoint's last block. */
static u32 pages_for_a_short_part(struct nl_config *config, u32 *last)
{
	u32 pages, bytes;

	for (pages = 1000; pages < 8000; pages++) {
		*config = rig_tiny(kind, 2, 16, pages, 12);
		bytes = sizeof(struct nl_checkpoint) + pages * sizeof(__le32) +
			2 * config->p[NL_P_BLOCKS] * sizeof(struct nl_ckpt_block);
		*last = bytes / (16 * config->p[NL_P_PAGE_SIZE]);
		if (bytes == *last * 16 * config->p[NL_P_PAGE_SIZE])
			return pages;
	}
	CHECK(false, "no such device");
	return 0;
}

/* Its last part would be read as zeroes: as if a trim record were in flash page 0. */
static void test_part_twice(void)
{
	struct nl_config config;
	u32 last, pages = pages_for_a_short_part(&config, &last), i;
	struct nl_ftl_stat stat;
	struct nl_io io = { 0 };
	struct rig rig;

	rig_init(&rig, &config, pages, ktap_seed);
	CHECK(!rig_open(&rig));
	for (i = 0; i < pages; i++)
		rig_write(&rig, i, 0);
	for (i = 0; i < pages; i++) {
		rig_read(&rig, i);
		if (!rig.ftl->ops->lookup(rig.ftl, i))
			rig_write(&rig, i, 0);
	}
	rig_flush(&rig);
	CHECK(!nl_ftl_stop(rig.ftl, &io));
	forge_copy(&rig, part_at(&rig, 0), part_at(&rig, last));
	nl_flash_power_off(&rig.flash);
	nl_ftl_destroy(rig.ftl);
	nl_flash_power_on(&rig.flash);
	CHECK(!rig_open(&rig));
	nl_ftl_stat(rig.ftl, &stat);
	CHECK(stat.recovered_by_scan);
	rig_verify(&rig);
	rig_destroy(&rig);
}

/* Programs and erases fail now and then, cuts come, until too few good blocks are left. */
static void test_failures(void)
{
	int left = 0;
	u32 round, i;

	for (round = 0; round < 40 && !ktap_failing(); round++) {
		struct nl_config config = rig_tiny(kind, 1 + round % 3, 4, 60, 4 + round % 9);
		struct nl_ftl_stat stat;
		struct rig rig;
		int r = 0;

		config.p[NL_P_BUFFER] = round % 4 == 3 ? 7 : 0;
		rig_init(&rig, &config, 60, ktap_seed + round);
		CHECK(!rig_open(&rig));
		for (i = 0; i < 20000 && !r && !ktap_failing(); i++) {
			if (!rig.flash.fail_program)
				rig.flash.fail_program = 1 + rig_random(&rig, 600);
			if (!rig.flash.fail_erase)
				rig.flash.fail_erase = 1 + rig_random(&rig, 200);
			r = rig_step(&rig);
			if (i % 97 == 0 && !r)
				rig_verify(&rig);
			if (i % 301 == 0 && !r)
				rig_crash(&rig);
		}
		CHECK(r == -EROFS, "step %u: %d", i, r);
		nl_ftl_stat(rig.ftl, &stat);
		CHECK(stat.state == NL_FTL_RO);
		left += rig.flash.geo.nr_blocks - stat.bad_blocks - stat.min_blocks + 1;
		rig_verify(&rig);
		rig_destroy(&rig);
	}
	ktap_note("%.2f good blocks above the minimum were left on average", left / 40.0);
}

/*
 * A full device whose blocks fail one by one, with time in between: it takes writes as long as
 * there are as many good blocks as it needs, in one plane, too.
 */
static void failing_one_by_one(u32 planes, u32 spare, bool erases, u32 apart)
{
	struct nl_config config = rig_tiny(kind, planes, 8, 100, spare);
	struct nl_ftl_stat stat;
	struct rig rig;
	int r = 0;
	u32 i;

	rig_init(&rig, &config, 100, ktap_seed + spare);
	CHECK(!rig_open(&rig));
	for (i = 0; i < 100 && !r; i++)
		r = rig_write(&rig, i, 0);
	for (i = 0; i < apart * 200 && !r && !ktap_failing(); i++) {
		if (i % apart == 0) {
			*(erases ? &rig.flash.fail_erase : &rig.flash.fail_program) =
				1 + rig_random(&rig, apart / 9);
			rig_verify(&rig);
		}
		r = rig_write(&rig, rig_random(&rig, 100), 0);
	}
	nl_ftl_stat(rig.ftl, &stat);
	CHECK(r == -EROFS && stat.state == NL_FTL_RO, "write %u: %d", i, r);
	CHECK(rig.ftl->blocks.good == stat.min_blocks - 1,
	      "%u planes, %u spare, %s: %u good blocks left, %u needed, %u free", planes, spare,
	      erases ? "erases" : "programs", rig.ftl->blocks.good, stat.min_blocks,
	      stat.free_blocks);
	rig_verify(&rig);
	rig_crash(&rig);
	rig_destroy(&rig);
}

static void test_spares(void)
{
	u32 planes, spare;

	for (planes = 1; planes <= 3; planes++)
		for (spare = 0; spare < 24 && !ktap_failing(); spare += 1 + spare / 3) {
			failing_one_by_one(planes, spare, false, 200);
			failing_one_by_one(planes, spare, true, 200);
		}
}

/* 90% of the pages are written once, 1% nearly always: how far erases are apart. */
static u32 spread(u32 permille, u32 *most)
{
	struct nl_config config = rig_tiny(kind, 2, 16, 1200, 20);
	u32 i, least = ~0u;
	struct rig rig;

	*most = 0;
	config.p[NL_P_ENDURANCE] = 2000;
	config.p[NL_P_WEAR] = permille;
	rig_init(&rig, &config, 1200, ktap_seed);
	CHECK(!rig_open(&rig));
	for (i = 0; i < 1200; i++)
		CHECK(!rig_write(&rig, i, 0));
	for (i = 0; i < 400000 && !ktap_failing(); i++) {
		CHECK(!rig_write(&rig, rig_random(&rig, rig_random(&rig, 20) ? 12 : 120), 0));
		if (kind == NL_FTL_SPLIT && i % 2000 == 0)
			CHECK(!rig_flush(&rig));	/* the model counts versions since the last one */
	}
	for (i = 0; i < rig.flash.geo.nr_blocks; i++) {
		if (rig.ftl->blocks.bk[i].use == NL_USE_META && kind == NL_FTL_SPLIT)
			continue;	/* has its own wear */
		least = min(least, rig.flash.block[i].erases);
		*most = max(*most, rig.flash.block[i].erases);
	}
	rig_verify(&rig);
	rig_crash(&rig);
	rig_destroy(&rig);
	return *most - least;
}

static void test_wear(void)
{
	u32 most, level_most, without = spread(0, &most), with = spread(990, &level_most);

	ktap_note("erases are %u apart, %u at most, without leveling %u and %u", with, level_most,
		  without, most);
	CHECK(with * 2 < without && level_most * 3 < most * 2);
}

static struct nl_ftl_stat stat_of(struct rig *rig)
{
	struct nl_ftl_stat stat;

	nl_ftl_stat(rig->ftl, &stat);
	return stat;
}

static int read_page(struct rig *rig, u32 lpn)
{
	struct nl_io io = { .now = ++rig->now };
	struct nl_buf *buf = NULL;
	int r = nl_ftl_read(rig->ftl, lpn, &buf, &io);

	nl_buf_put(buf);
	return r;
}

/* Any page of the first @below but @but is written; what was is flushed now and then. */
static void write_others(struct rig *rig, u32 nr, u32 below, u32 but)
{
	struct nl_io io = { .now = rig->now };
	u32 i, lpn;

	for (i = 0; i < nr && !ktap_failing(); i++) {
		lpn = rig_random(rig, below);
		if (lpn == but)
			continue;
		CHECK(!rig_write(rig, lpn, 0), "write %u of page %u, %u can't be read", i, lpn, but);
		if (i % 16 == 0)
			CHECK(!rig_flush(rig));
		if (i % 5 == 0)
			CHECK(nl_ftl_gc(rig->ftl, &io) >= 0);
	}
}

/* A clean stop and a start: an error is one still, and no older version, unless OOB has to tell. */
static bool is_kept(struct rig *rig, u32 lpn)
{
	struct nl_io io = { .now = ++rig->now };
	int r;

	CHECK(!nl_ftl_stop(rig->ftl, &io));
	nl_ftl_destroy(rig->ftl);
	rig->ftl = NULL;
	CHECK(!rig_open(rig));
	r = read_page(rig, lpn);
	CHECK(r == -EIO || (!r && stat_of(rig).recovered_by_scan), "%d", r);
	return r;
}

/*
 * In a block of which a program failed, too: that it did is known after the start, as it was. How
 * often, while there is room for a checkpoint.
 */
static u32 stays(struct rig *rig, u32 lpn)
{
	struct nl_ftl_stat stat;
	u32 i;

	for (i = 0; i < 3 && !ktap_failing(); i++) {
		if (kind != NL_FTL_SPLIT && stat_of(rig).free_blocks < NL_FLOOR + 1)
			break;
		CHECK(is_kept(rig, lpn), "start %u", i);
		stat = stat_of(rig);
		CHECK(!stat.recovered_by_scan, "start %u", i);
		/* Metadata on the host has no word of it. */
		CHECK(kind == NL_FTL_SPLIT || rig->ftl->blocks.retired == 1, "start %u: %u", i,
		      rig->ftl->blocks.retired);
		write_others(rig, i * 500, 60, lpn);
	}
	return i;
}

/* The flash page of a logical one, if it is in a block of that use. */
static bool is_in(struct rig *rig, u32 lpn, enum nl_use use, u32 *ppn)
{
	struct nl_ftl *ftl = rig->ftl;

	*ppn = ftl->ops->lookup(ftl, lpn);
	return *ppn < ftl->geo->nr_pages &&
	       ftl->blocks.bk[nl_block_of(ftl->geo, *ppn)].use == use;
}

/* A logical page from @first on whose flash page is in a block of that use can't be read any more. */
static u32 spoil(struct rig *rig, u32 first, enum nl_use use)
{
	u32 lpn = first, ppn = 0;
	u64 when = 0;

	while (!ktap_failing() && !is_in(rig, lpn, use, &ppn))
		if (++lpn == rig->pages) {
			write_others(rig, 3, first ? first : rig->pages, rig->pages);
			lpn = first;
		}
	rig->flash.fail_read = 1;
	CHECK(nl_flash_read(&rig->flash, ppn, NL_FOR_HOST, &when, NULL, NULL) == -EBADMSG);
	return lpn;
}

enum unreadable { BY_GC, BY_LEVELING, IN_A_FAILED_BLOCK, NR_UNREADABLE };

/*
 * What can't be read any more fails by itself, whoever comes upon it: other writes find room, and no
 * good block is given up. Its erase block is collected when it is gone.
 */
static void test_unreadable(void)
{
	u32 round, i, at, met[NR_UNREADABLE] = { 0 }, kept = 0, starts = 0;
	struct nl_ftl_stat stat;
	struct rig rig;

	for (round = 0; round < 24 && !ktap_failing(); round++) {
		enum unreadable way = round % NR_UNREADABLE;
		static const u32 planes[] = { 4, 2, 1 };
		u32 hot = way == BY_LEVELING ? 12 : 60, shape = round / NR_UNREADABLE;
		struct nl_config config = rig_tiny(kind, 1 + shape % planes[way], 8, 60,
						   4 + shape % 5);

		config.p[NL_P_ENDURANCE] = way == BY_LEVELING ? 1000 : 0;
		config.p[NL_P_WEAR] = 990;
		rig_init(&rig, &config, 60, ktap_seed + round);
		CHECK(!rig_open(&rig));
		for (i = 0; i < 60; i++)
			CHECK(!rig_write(&rig, i, 0));
		write_others(&rig, 50, hot, 60);
		at = spoil(&rig, way == BY_LEVELING ? 12 : 0,
			   way == IN_A_FAILED_BLOCK ? NL_USE_ACTIVE : NL_USE_CLOSED);
		if (way == IN_A_FAILED_BLOCK)
			rig.flash.fail_program = 1;
		write_others(&rig, 5000, hot, at);
		stat = stat_of(&rig);
		/* There may have been others that are colder, or have less. */
		met[way] += stat.unreadable;
		CHECK(stat.unreadable <= 1, "round %u: %u", round, stat.unreadable);
		CHECK(stat.bad_blocks == (way == IN_A_FAILED_BLOCK), "round %u: %u bad", round,
		      stat.bad_blocks);
		for (i = 0; i < 60 && !ktap_failing(); i++)
			CHECK(i == at ? read_page(&rig, i) == -EIO : rig_read(&rig, i));
		if (way != IN_A_FAILED_BLOCK && !ktap_failing())
			kept += is_kept(&rig, at);
		else if (stat.unreadable)
			starts += stays(&rig, at);
		if (!ktap_failing()) {
			CHECK(!rig_write(&rig, at, 0) && !rig_flush(&rig));
			CHECK(!stat_of(&rig).unreadable);
			write_others(&rig, 500, 60, 60);
			CHECK(!stat_of(&rig).unreadable);
			rig_verify(&rig);
			rig_crash(&rig);
		}
		rig_destroy(&rig);
	}
	CHECK(met[BY_GC] > 2 && met[BY_LEVELING] > 2 && met[IN_A_FAILED_BLOCK] > 2 && kept > 2 &&
	      starts > 6, "%u, %u, %u; %u, %u", met[BY_GC], met[BY_LEVELING],
	      met[IN_A_FAILED_BLOCK], kept, starts);
}

/* --- merges that meet what can't be read ------------------------------------------------------ */

/* The power goes and comes: all that can be read is as old as a flush at most. */
static void cut_but(struct rig *rig, u32 but)
{
	u32 i;
	int r;

	nl_flash_power_off(&rig->flash);
	nl_ftl_destroy(rig->ftl);
	nl_flash_power_on(&rig->flash);
	r = rig_open(rig);
	if (!CHECK(!r, "open after a cut: %d", r))
		return;
	rig_check(rig);
	for (i = 0; i < rig->pages && !ktap_failing(); i++)
		if (i != but)
			rig_settle(rig, i);
}

/* Runs that end before their logical block does, one after the other. */
static void write_runs(struct rig *rig, u32 nr, u32 but)
{
	u32 i, lpn;

	for (i = 0; i < nr && !ktap_failing(); i++) {
		lpn = rig_random(rig, rig->pages / 8) * 8;
		do {
			if (lpn == but)
				break;
			CHECK(!rig_write(rig, lpn, 0), "run %u, page %u", i, lpn);
		} while (++lpn % 8 && rig_random(rig, 5));
	}
}

/*
 * A merge goes on over a page that can't be read: to read it is an error then, whoever moves it and
 * however often the power goes, until it is written or trimmed; and that is so for no other page.
 */
static void test_merge_unreadable(void)
{
	u32 round, i, at, lost = 0;
	u64 merges[NL_NR_MERGES] = { 0 };
	struct nl_ftl_stat stat;
	struct rig rig;

	for (round = 0; round < 40 && !ktap_failing(); round++) {
		struct nl_config config = rig_tiny(kind, 1 + round % 3, 8, 64, round % 5);

		rig_init(&rig, &config, 64, ktap_seed + round);
		CHECK(!rig_open(&rig));
		for (i = 0; i < 64; i++)
			CHECK(!rig_write(&rig, i, 0));
		write_others(&rig, 50, 64, 64);
		at = spoil(&rig, 0, round % 2 ? NL_USE_DATA : NL_USE_LOG);
		CHECK(read_page(&rig, at) == -EIO);
		for (i = 0; i < 30 && !ktap_failing(); i++) {
			if (round % 4 < 2)
				write_runs(&rig, 5, at);
			write_others(&rig, 30, 64, at);
			CHECK(read_page(&rig, at) == -EIO, "round %u, %u", round, i);
		}
		stat = stat_of(&rig);
		CHECK(stat.lost == 1 && stat.bad_blocks == 0, "round %u: %llu", round,
		      (unsigned long long)stat.lost);
		lost += stat.lost;
		for (i = 0; i < NL_NR_MERGES; i++)
			merges[i] += stat.merges[i];
		rig_check(&rig);
		for (i = 0; i < 64 && !ktap_failing(); i++)
			CHECK(i == at ? read_page(&rig, i) == -EIO : rig_read(&rig, i));
		for (i = 0; i < 4 && !ktap_failing(); i++) {
			if (i % 2)
				CHECK(is_kept(&rig, at));
			else
				cut_but(&rig, at);
			CHECK(read_page(&rig, at) == -EIO && !stat_of(&rig).lost, "%u", i);
			write_others(&rig, 100, 64, at);
		}
		if (!ktap_failing()) {
			CHECK(round % 3 ? !rig_write(&rig, at, 0) : !rig_trim(&rig, at, 1));
			CHECK(!rig_flush(&rig));
			rig_verify(&rig);
			rig_crash(&rig);
			steps(&rig, 300);
		}
		rig_destroy(&rig);
	}
	CHECK(lost == 40 && merges[NL_MERGE_SWITCH] && merges[NL_MERGE_PARTIAL] > 100 &&
	      merges[NL_MERGE_FULL] > 100, "%u; %llu, %llu, %llu", lost,
	      (unsigned long long)merges[0], (unsigned long long)merges[1],
	      (unsigned long long)merges[2]);
}

/* Some page that was programmed can't be read any more. */
static void spoil_any(struct rig *rig)
{
	u64 when = 0;
	u32 i, ppn;

	rig->flash.fail_read = 1;
	for (i = 0; i < 10000 && rig->flash.fail_read; i++) {
		ppn = rig_random(rig, rig->flash.geo.nr_pages);
		nl_flash_read(&rig->flash, ppn, NL_FOR_HOST, &when, NULL, NULL);
	}
}

/* The power comes, and goes under the start. */
static void start_cut(struct rig *rig, u32 round, u64 at)
{
	int r = rig_power_cycle(rig, at, round % NL_NR_TEARS);

	CHECK(!r, "round %u: %d", round, r);
}

/* Writes of all pages but one until the power goes. */
static void write_to_cut(struct rig *rig, u32 round, u64 at, u32 but)
{
	u32 i, lpn;
	int r;

	nl_flash_cut(&rig->flash, at, round % NL_NR_TEARS);
	for (i = 0; i < 300 && !rig->flash.off && !ktap_failing(); i++) {
		lpn = rig_random(rig, rig->pages);
		if (lpn == but)
			continue;
		r = rig_write(rig, lpn, 0);
		CHECK(!r || r == -ESHUTDOWN, "round %u: page %u: %d", round, lpn, r);
	}
}

/*
 * The power goes in any operation of merges that meet such a page, and of the start after that; now
 * and then another page can't be read any more then. There is a start, and it goes on. A mark that
 * was made lasts, and nothing else is lost.
 */
static void test_merge_unreadable_cut(void)
{
	u32 round, at, i, cut, rests = 0, marks = 0;
	bool marked, another;
	struct rig rig;

	for (round = 0; round < 600 && !ktap_failing(); round++) {
		struct nl_config config = rig_tiny(kind, 1 + round % 3, 8, 64, round % 4);

		rig_init(&rig, &config, 64, ktap_seed + round / 60);
		CHECK(!rig_open(&rig));
		for (i = 0; i < 64; i++)
			CHECK(!rig_write(&rig, i, 0));
		write_others(&rig, 50, 64, 64);
		at = spoil(&rig, 0, round / 60 % 2 ? NL_USE_DATA : NL_USE_LOG);
		marked = false;
		another = false;
		for (cut = 0; cut < 4 && !ktap_failing(); cut++) {
			write_to_cut(&rig, round + cut, round % 60, at);
			marked |= rig.ftl->lost;
			if (cut == 1 && round % 5 == 0) {
				spoil_any(&rig);
				another = true;
			}
			start_cut(&rig, round + cut, cut ? rig_random(&rig, 12) : 1000);
			if (ktap_failing())
				break;
			rests += !!stat_of(&rig).merges[NL_MERGE_FULL];
			rig_check(&rig);
			for (i = 0; i < 64 && !ktap_failing(); i++)
				if (i == at || another)
					CHECK(rig_is_own(&rig, i), "round %u: page %u", round, i);
				else
					rig_settle(&rig, i);
			CHECK(!marked || another || read_page(&rig, at) == -EIO, "round %u", round);
		}
		marks += marked;
		rig_destroy(&rig);
	}
	CHECK(rests > 20 && marks > 100, "%u, %u", rests, marks);
}

/* A trim record that can't be read is written again where it would have been moved. */
static void test_record_unreadable(void)
{
	struct nl_config config = rig_tiny(kind, 2, 8, 4200, 2);
	struct rig rig;
	u32 i, ppn;
	u64 when = 0;

	rig_init(&rig, &config, 4200, ktap_seed);
	CHECK(!rig_open(&rig));
	for (i = 4100; i < 4200; i++)
		CHECK(!rig_write(&rig, i, 0));
	CHECK(!rig_trim(&rig, 4110, 70) && !rig_flush(&rig));
	ppn = rig.ftl->trims.ppn[1];
	rig.flash.fail_read = 1;
	CHECK(nl_flash_read(&rig.flash, ppn, NL_FOR_HOST, &when, NULL, NULL) == -EBADMSG);
	for (i = 0; i < 100 && !ktap_failing(); i++) {
		CHECK(!rig_write(&rig, i, 0) && !rig_trim(&rig, i, 1) && !rig_flush(&rig), "%u", i);
		if (i == 50)
			rig_trim(&rig, 4190, 1);	/* it may wait while that is written */
	}
	CHECK(rig.ftl->trims.ppn[1] != ppn);
	rig_verify(&rig);
	rig_crash(&rig);
	rig_destroy(&rig);
}

/* What is live in a block of which a program failed is overwritten. */
static void write_retired(struct rig *rig)
{
	struct nl_ftl *ftl = rig->ftl;
	u32 lpn, ppn;

	for (lpn = 0; lpn < rig->pages && !ktap_failing(); lpn++) {
		ppn = ftl->ops->lookup(ftl, lpn);
		if (ppn < ftl->geo->nr_pages &&
		    ftl->blocks.bk[nl_block_of(ftl->geo, ppn)].flags & NL_RETIRED)
			CHECK(!rig_write(rig, lpn, 0));
	}
}

/*
 * A block of which a program failed, and in which something is live, is no reason to do without a
 * checkpoint, and such a block after the start, too: nothing more goes there, and it is marked when
 * what is live in it is gone.
 */
static void test_failed_stays(void)
{
	u32 round, i, met = 0, marked = 0;
	struct rig rig;

	for (round = 0; round < 200 && !ktap_failing(); round++) {
		struct nl_config config = rig_tiny(kind, 1 + round % 3, 8, 150, 8);

		rig_init(&rig, &config, 150, ktap_seed + round);
		CHECK(!rig_open(&rig));
		steps(&rig, 200);
		rig.flash.fail_program = 1;
		for (i = 0; i < 40 && rig.flash.fail_program && !ktap_failing(); i++)
			CHECK(!rig_write(&rig, rig_random(&rig, 150), 0));
		if (round % 2)
			write_retired(&rig);
		for (i = 0; i < 3 && !ktap_failing(); i++) {
			if (!(i || rig.ftl->blocks.retired) ||
			    stat_of(&rig).free_blocks < NL_FLOOR + 2)
				break;
			met++;
			rig_restart(&rig);
			CHECK(!stat_of(&rig).recovered_by_scan, "round %u", round);
			CHECK(stat_of(&rig).bad_blocks == 1, "round %u: %u", round,
			      stat_of(&rig).bad_blocks);
			steps(&rig, i * 20);
		}
		if (i && !ktap_failing()) {
			steps(&rig, 600);
			/* A start without a checkpoint has not heard of it. */
			marked += !rig.ftl->blocks.retired && stat_of(&rig).bad_blocks == 1;
		}
		rig_verify(&rig);
		rig_crash(&rig);
		rig_destroy(&rig);
	}
	CHECK(met > 100 && marked > 20, "%u, %u", met, marked);
}

/* Whatever allocation fails: it is told, and the next try succeeds. */
static void test_memory(void)
{
	struct nl_config config = rig_tiny(kind, 2, 4, 60, 6);
	struct rig rig;
	u32 n, i;
	int r;

	rig_init(&rig, &config, 60, ktap_seed);
	for (n = 1; n < 60 && !rig.ftl; n++) {
		shim_fail_alloc = n;
		r = rig_open(&rig);
		shim_fail_alloc = 0;
		CHECK(!r || r == -ENOMEM);
		if (r)
			rig.ftl = NULL;
	}
	CHECK(rig.ftl);
	for (i = 0; i < 3000 && !ktap_failing(); i++) {
		u32 lpn = rig_random(&rig, 60);
		struct nl_io io = { .now = ++rig.now };

		shim_fail_alloc = 2 + i % 3;	/* the first is the rig's own buffer */
		r = rig_write(&rig, lpn, 0);
		shim_fail_alloc = i % 2;
		if (!(i % 5))
			CHECK(!nl_ftl_flush(rig.ftl, &io) || shim_alloc_failed);
		shim_fail_alloc = 0;
		CHECK(!r || r == -ENOMEM);
		if (i % 7 == 0)
			CHECK(!rig_trim(&rig, lpn, 1));
		if (i % 50 == 0)
			rig_verify(&rig);
		if (i % 211 == 0)
			rig_crash(&rig);
	}
	rig_destroy(&rig);
	CHECK(!shim_allocated, "%ld left", shim_allocated);
}

/* Who must not wait gets -ENOMEM rather than memory that is waited for. */
static void test_nowait(void)
{
	struct nl_config config = rig_tiny(kind, 2, 4, 60, 1);
	struct rig rig;
	u32 i;
	int r;

	rig_init(&rig, &config, 60, ktap_seed);
	CHECK(!rig_open(&rig));
	for (i = 0; i < 2000 && !ktap_failing(); i++) {
		rig.flash.nowait = true;
		shim_nowait = true;
		r = rig_write(&rig, rig_random(&rig, 60), 0);
		CHECK(!r || r == -ENOMEM);
		if (i % 3 == 0)
			CHECK(!rig_trim(&rig, rig_random(&rig, 60), 1));
		if (i % 9 == 0)
			CHECK(!rig_flush(&rig));
		rig.flash.nowait = false;
		shim_nowait = false;
	}
	CHECK(!shim_waited, "%lu times", shim_waited);
	rig_verify(&rig);
	rig_destroy(&rig);
}

/* One that begins later leaves the bus to who came meanwhile, but not what was booked before. */
static void test_came(void)
{
	struct nl_config config = nl_preset_find("ssd1")->config;
	const u64 t = 100000000;
	struct nl_io first = { .now = t }, later = { .now = 2 * t, .came = t + 1 };
	struct nl_io io = { .now = t + 2000 };
	struct rig rig;
	u32 i;

	config.p[NL_P_FTL] = kind;
	config.p[NL_P_CHANNELS] = 1;
	config.p[NL_P_PACKAGES] = 4;
	config.p[NL_P_LOG] = 500;
	CHECK(!nl_config_fit(&config, 1000));
	rig_init(&rig, &config, 1000, 1);
	CHECK(!rig_open(&rig));
	for (i = 1; i < 9; i++)			/* a block is open in each plane */
		CHECK(!rig_write(&rig, i, 0));
	CHECK(!nl_ftl_write(rig.ftl, 11, NULL, 0, &first) && first.done == t + 214000);
	CHECK(!nl_ftl_write(rig.ftl, 13, NULL, 0, &later) && later.done == 2 * t + 214000);
	CHECK(!nl_ftl_write(rig.ftl, 15, NULL, 0, &io));
	CHECK(io.done == t + 226000, "%llu", (unsigned long long)io.done);
	rig_destroy(&rig);
}

/* A page that a write pushed out of the buffer is on its way when nothing else is. */
static void test_flush_waits(void)
{
	struct nl_config config = rig_tiny(kind, 2, 4, 60, 2);
	struct nl_io push = { .now = 100 }, flush = { .now = 101 };
	struct rig rig;

	config.p[NL_P_BUFFER] = 1;
	rig_init(&rig, &config, 60, ktap_seed);
	CHECK(!rig_open(&rig));
	CHECK(!rig_write(&rig, 5, 0));
	CHECK(!nl_ftl_write(rig.ftl, 6, NULL, 0, &push));
	CHECK(push.done > flush.now);
	CHECK(!rig_trim(&rig, 6, 1));
	CHECK(!nl_ftl_flush(rig.ftl, &flush));
	CHECK(flush.done >= push.done, "done at %llu, not %llu",
	      (unsigned long long)flush.done, (unsigned long long)push.done);
	rig_destroy(&rig);
}

/* What fails is not counted, nor what is read to be written again in part. */
static void test_counted(void)
{
	struct nl_config config = rig_tiny(kind, 2, 4, 60, 1);
	struct nl_io io = { .now = 0 };
	struct nl_ftl_stat stat;
	struct nl_buf *buf;
	struct rig rig;

	rig_init(&rig, &config, 60, 1);
	CHECK(!rig_open(&rig));
	CHECK(!rig_write(&rig, 3, 0) && rig_read(&rig, 3));
	CHECK(!nl_ftl_read_part(rig.ftl, 3, &buf, &io));
	nl_buf_put(buf);
	nl_flash_cut(&rig.flash, 0, NL_TEAR_NOT);
	CHECK(nl_ftl_write(rig.ftl, 4, NULL, 0, &io) == -ESHUTDOWN);
	CHECK(nl_ftl_read(rig.ftl, 3, &buf, &io) == -ESHUTDOWN);
	nl_ftl_stat(rig.ftl, &stat);
	CHECK(stat.writes == 1 && stat.reads == 1, "%llu writes, %llu reads",
	      (unsigned long long)stat.writes, (unsigned long long)stat.reads);
	rig_destroy(&rig);
}

static void test_refused(void)
{
	struct nl_config config = rig_tiny(NL_FTL_HYBRID, 2, 4, 60, 1), other;
	struct nl_io io = { .now = 0 };
	struct nl_ftl *ftl;
	struct nl_buf *buf;
	struct rig rig;

	config.p[NL_P_FTL] = kind;
	rig_init(&rig, &config, 60, 1);
	CHECK(nl_ftl_open(&ftl, &rig.flash, &config, 600, &io) == -ENOSPC);
	CHECK(nl_ftl_open(&ftl, &rig.flash, &config, 0, &io) == -EINVAL);
	CHECK(!rig_open(&rig));
	CHECK(nl_ftl_write(rig.ftl, 60, NULL, 0, &io) == -ERANGE);
	CHECK(nl_ftl_read(rig.ftl, 60, &buf, &io) == -ERANGE);
	CHECK(nl_ftl_trim(rig.ftl, 50, 11, &io) == -ERANGE);
	CHECK(nl_ftl_trim(rig.ftl, ~0u, 2, &io) == -ERANGE);
	CHECK(!rig_write(&rig, 3, 0));
	CHECK(nl_ftl_open(&ftl, &rig.flash, &config, 59, &io) == -EMEDIUMTYPE);
	other = config;
	other.p[NL_P_FTL] = !kind;
	CHECK(nl_ftl_open(&ftl, &rig.flash, &other, 60, &io) == -EMEDIUMTYPE);
	rig_verify(&rig);
	rig_destroy(&rig);
}

static const struct {
	const char *title;
	void (*test)(void);
} tests[] = {
	{ "reads give what was written last, and all invariants hold", test_requests },
	{ "a full device at minimum over-provisioning takes writes for ever", test_full },
	{ "after a cut at every operation each page is as old as a flush at most", test_every_cut },
	{ "a clean stop spares the scan, and a write after it is not lost", test_clean_stop },
	{ "a checkpoint with a part twice is not whole", test_part_twice },
	{ "blocks go bad, data stays, and in the end it is read-only", test_failures },
	{ "a full device goes on until its spare blocks are used up", test_spares },
	{ "erases are spread when one percent of the pages is hot", test_wear },
	{ "what can't be read fails by itself", test_unreadable },
	{ "a block that failed is one after a clean stop", test_failed_stays },
	{ "a merge marks what can't be read, and goes on", test_merge_unreadable },
	{ "so it is when the power goes under it", test_merge_unreadable_cut },
	{ "a trim record that can't be read is written again", test_record_unreadable },
	{ "when memory fails nothing is lost", test_memory },
	{ "who must not wait does not", test_nowait },
	{ "what begins later takes nothing from what comes before", test_came },
	{ "a flush waits for what left the buffer before it", test_flush_waits },
	{ "what was read and written is counted", test_counted },
	{ "what can't be is refused", test_refused },
	{ "however often the power goes, no room is lost", test_cut_forever },
	{ "large devices survive cuts anywhere", test_random_cuts },
};

/*
 * Metadata of its own is no checkpoint, and who is on the host waits for memory. Of what can't be
 * read names have tests of their own, and so have merges.
 */
static bool fits(void (*test)(void))
{
	if (test == test_merge_unreadable || test == test_merge_unreadable_cut ||
	    test == test_record_unreadable)
		return kind == NL_FTL_HYBRID;
	if (test == test_unreadable && kind != NL_FTL_PAGE)
		return kind == NL_FTL_SPLIT;
	if (kind != NL_FTL_SPLIT)
		return true;
	return test != test_clean_stop && test != test_part_twice && test != test_failed_stays &&
	       !(test == test_nowait && rig_across);
}

static void run_all(const char *name)
{
	char title[160];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		if (!fits(tests[i].test))
			continue;
		snprintf(title, sizeof(title), "%s: %s", name, tests[i].title);
		ktap_run(title, tests[i].test);
	}
}

/* What is asked for before a device is made is what it takes: all kinds and odd shapes of it. */
static void test_asked(void)
{
	static const u32 shape[][3] = { { 2, 8, 400 }, { 64, 4, 600 }, { 4, 512, 3000 } };
	u64 asked, taken, sum;
	struct nl_ftl_stat stat;
	u32 kind, i, n;

	for (kind = 0; kind < NL_FTL_ZONED; kind++)
		for (i = 0; i < ARRAY_SIZE(shape) && !ktap_failing(); i++) {
			struct nl_config config = rig_tiny(kind, shape[i][0], shape[i][1],
							   shape[i][2], 2);
			struct rig rig;

			config.p[NL_P_MOVES] = i * 5000;
			config.p[NL_P_BUFFER] = i * 20;
			rig_init(&rig, &config, shape[i][2], 1);
			CHECK(!rig_open(&rig));
			for (n = 0; n < shape[i][2]; n++)
				CHECK(!rig_write(&rig, n, 0));
			nl_ftl_stat(rig.ftl, &stat);
			for (sum = 0, n = 0; n < NL_NR_MAPS; n++)
				sum += n == NL_MAP_MOVED ? 0 : stat.map_bytes[n];
			asked = nl_config_bytes(&rig.flash.geo, &config);
			taken = sum + stat.other_bytes + nl_flash_memory(&rig.flash);
			CHECK(taken <= asked + 4096 && asked <= 3 * taken, "%u, shape %u: %llu of %llu",
			      kind, i, (unsigned long long)taken, (unsigned long long)asked);
			rig_destroy(&rig);
		}
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	for (kind = 0; kind < NL_FTL_ZONED; kind++)
		run_all(nl_ftl_names[kind]);
	kind = NL_FTL_SPLIT;
	run_all("split");
	rig_across = true;
	run_all("host");
	rig_across = false;
	kind = NL_FTL_NAMELESS;
	rig_map_chunks = 2;
	rig_map_entries = 8;
	run_all("swapped");
	ktap_run("tables take what was asked for", test_asked);
	return ktap_done();
}
