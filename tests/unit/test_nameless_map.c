// SPDX-License-Identifier: GPL-2.0-only
/*
 * The nameless FTL's map with a cache that it does not fit: what is in memory and what is not, when
 * it is written, what happens when it can't be read; and what all that costs.
 */
#include "ktap.h"
#include "nameless/rig.h"
#include "ftl_nameless.h"

#define PAGES	400u

static struct nl_ftl_stat stat_of(struct rig *rig)
{
	struct nl_ftl_stat stat;

	nl_ftl_stat(rig->ftl, &stat);
	return stat;
}

/* A device of PAGES pages in chunks of @entries, of which @chunks may be in memory, all written. */
static void make(struct rig *rig, u32 chunks, u32 entries, u32 spare)
{
	struct nl_config config;
	u32 i;

	rig_map_chunks = chunks;
	rig_map_entries = entries;
	config = rig_tiny(NL_FTL_NAMELESS, 2, 8, PAGES, spare);
	rig_init(rig, &config, PAGES, ktap_seed);
	CHECK(!rig_open(rig));
	for (i = 0; i < PAGES; i++)
		CHECK(!rig_write(rig, i, 0));
}

static u64 programs(const struct rig *rig)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < NL_NR_CAUSES; i++)
		sum += rig->flash.count[NL_PROGRAM][i];
	return sum;
}

static void idle(struct rig *rig)
{
	struct nl_io io = { .now = ++rig->now };

	while (nl_ftl_gc(rig->ftl, &io) == 1)
		io.now = ++rig->now;
}

/* It is in memory as far as it may be, by its own account. */
static void test_bound(void)
{
	struct nl_ftl_stat stat;
	struct rig rig;
	u64 whole;
	u32 i;

	make(&rig, 0, 0, 2);
	stat = stat_of(&rig);
	CHECK(!stat.map_max && !stat.map_in && !stat.map_out);
	rig_destroy(&rig);

	make(&rig, 50, 8, 2);	/* all of it */
	for (i = 0; i < 5000 && !ktap_failing(); i++)
		CHECK(!rig_write(&rig, rig_random(&rig, PAGES), 0));
	stat = stat_of(&rig);
	CHECK(stat.map_chunks == 50 && stat.map_resident == 50 && !stat.map_out && !stat.map_in);
	whole = stat.map_bytes[NL_MAP_PAGE];
	rig_destroy(&rig);

	make(&rig, 3, 8, 2);
	for (i = 0; i < 5000 && !ktap_failing(); i++) {
		if (i % 3)
			CHECK(!rig_write(&rig, rig_random(&rig, PAGES), 0));
		else
			rig_read(&rig, rig_random(&rig, PAGES));
		stat = stat_of(&rig);
		CHECK(stat.map_resident <= 3 + (i % 3 == 0), "%u in memory", stat.map_resident);
	}
	CHECK(stat.map_max == 3 && stat.map_out > 1000 && stat.map_in > 1000);
	CHECK(whole - stat.map_bytes[NL_MAP_PAGE] >= 46 * 8 * sizeof(u32));
	CHECK(stat.map_most <= 4, "%u at once", stat.map_most);
	ktap_note("%llu hits, %llu misses, %llu in, %llu out", stat.map_hits, stat.map_misses,
		  stat.map_in, stat.map_out);
	rig_verify(&rig);
	rig_destroy(&rig);
}

/* Reads program nothing, and have half of the cache when it has been idle. */
static void test_reads(void)
{
	struct nl_ftl_stat stat;
	struct rig rig;
	u64 before, hits;
	u32 i;

	make(&rig, 4, 8, 2);
	before = programs(&rig);
	CHECK(stat_of(&rig).map_dirty == 4);
	for (i = 0; i < PAGES; i++)
		rig_read(&rig, i);
	stat = stat_of(&rig);
	CHECK(programs(&rig) == before && stat.map_dirty == 4 && stat.map_resident == 5);
	idle(&rig);
	stat = stat_of(&rig);
	CHECK(stat.map_dirty == 2 && stat.map_resident <= 4);
	before = programs(&rig);
	hits = stat.map_hits;
	for (i = 0; i < 100; i++)
		rig_read(&rig, i % 2 * 8);
	stat = stat_of(&rig);
	CHECK(programs(&rig) == before && stat.map_hits - hits >= 98);
	rig_verify(&rig);
	rig_destroy(&rig);
}

/* A request waits for what has to be read and written first. */
static void test_time(void)
{
	struct nl_io io = { .now = 1000000000 };
	struct nl_buf *buf;
	struct rig rig;
	u64 hit, miss;

	make(&rig, 2, 8, 2);
	idle(&rig);
	CHECK(!nl_ftl_read(rig.ftl, 3, &buf, &io));
	nl_buf_put(buf);
	io.now = 2000000000;
	CHECK(!nl_ftl_read(rig.ftl, 4, &buf, &io));
	nl_buf_put(buf);
	hit = io.done - io.now;
	io.now = 3000000000;
	CHECK(!nl_ftl_read(rig.ftl, 100, &buf, &io));
	nl_buf_put(buf);
	miss = io.done - io.now;
	CHECK(hit >= 25000 && miss >= 2 * 25000 && miss > hit, "%llu and %llu", hit, miss);
	rig_destroy(&rig);
}

/* What is trimmed needs no flash; a record about many chunks has them all. */
static void test_trims(void)
{
	struct nl_ftl_stat stat;
	struct rig rig;

	make(&rig, 2, 8, 2);
	CHECK(!rig_trim(&rig, 0, PAGES) && !rig_flush(&rig));
	stat = stat_of(&rig);
	CHECK(!stat.mapped && stat.map_most >= 50);
	rig_verify(&rig);
	CHECK(!rig_write(&rig, 7, 0));
	stat = stat_of(&rig);
	CHECK(stat.map_resident <= 2 && rig.ftl->blocks.bk);
	rig_verify(&rig);
	rig_crash(&rig);
	CHECK(!rig_write(&rig, 390, 0));
	rig_verify(&rig);
	rig_destroy(&rig);
}

/* The flash page of a chunk that is not in memory, and a logical page of it. */
static u32 swapped(struct rig *rig, u32 *lpn)
{
	const struct nl_vmap *m = &nl_nw(rig->ftl)->map;
	const struct nl_chunk *chunk;
	u32 n;

	for (n = 0; n < m->nr; n++) {
		chunk = nl_map_chunk(m, n);
		*lpn = n * m->entries;
		if (chunk && !chunk->entry && !nl_nw_held(nl_nw(rig->ftl), chunk->ppn))
			return chunk->ppn;
	}
	CHECK(n < m->nr);
	return 0;
}

static void damage(struct rig *rig, u32 ppn)
{
	((u8 *)nl_buf_data(rig->flash.data[ppn]))[1] ^= 1;
}

/* A chunk that can't be read is known from OOB. */
static void test_rebuilt(void)
{
	struct nl_ftl_stat stat;
	struct rig rig;
	u32 lpn, round;

	for (round = 0; round < 60 && !ktap_failing(); round++) {
		make(&rig, 2, 8, 2);
		damage(&rig, swapped(&rig, &lpn));
		if (round % 3 == 0)
			rig_read(&rig, lpn);
		else if (round % 3 == 1)
			CHECK(!rig_write(&rig, lpn + 1, 0));
		else
			CHECK(!rig_trim(&rig, lpn + 1, 1) && !rig_flush(&rig));
		stat = stat_of(&rig);
		CHECK(stat.map_rebuilt == 1 && !stat.map_lost, "%llu", stat.map_rebuilt);
		rig_verify(&rig);
		damage(&rig, swapped(&rig, &lpn));
		if (round % 2)
			rig_restart(&rig);
		else
			rig_crash(&rig);
		rig_verify(&rig);
		rig_destroy(&rig);
	}
}

/* The page can't be corrected from now on, nor can its OOB. */
static void spoil(struct rig *rig, u32 ppn)
{
	u64 when = 0;

	rig->flash.fail_read = 1;
	CHECK(nl_flash_read(&rig->flash, ppn, NL_FOR_HOST, &when, NULL, NULL) == -EBADMSG);
}

static int read_page(struct rig *rig, u32 lpn)
{
	struct nl_io io = { .now = ++rig->now };
	struct nl_buf *buf;
	int r = nl_ftl_read(rig->ftl, lpn, &buf, &io);

	if (!r)
		nl_buf_put(buf);
	return r;
}

static u64 reads(const struct rig *rig)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < NL_NR_CAUSES; i++)
		sum += rig->flash.count[NL_READ][i];
	return sum;
}

/* A chunk and a page of it that is neither held nor to be read any more; its logical page. */
static u32 lose(struct rig *rig)
{
	struct nl_nw *f = nl_nw(rig->ftl);
	u32 lpn, ppn = swapped(rig, &lpn), at;

	for (; nl_nw_held(f, nl_map_peek(f, lpn)); lpn++)
		;
	at = nl_map_peek(f, lpn);
	damage(rig, ppn);
	spoil(rig, at);
	return lpn;
}

/*
 * What OOB does not have either is never guessed: that page fails until it is written, and one
 * flush does. Nothing else, and nobody looks for it again.
 */
static void test_lost(void)
{
	struct nl_ftl_stat stat;
	struct rig rig;
	u32 lpn, other, i;
	u64 before;

	make(&rig, 2, 8, 2);
	lpn = lose(&rig);
	other = lpn / 8 * 8 + (lpn % 8 ? 0 : 1);
	CHECK(read_page(&rig, lpn) == -EIO);
	rig_read(&rig, other);
	for (i = 0; i < PAGES; i++)	/* its chunk goes into the flash as it is, and comes back */
		CHECK(!read_page(&rig, i) || i == lpn);
	idle(&rig);
	before = reads(&rig);
	CHECK(read_page(&rig, lpn) == -EIO && reads(&rig) - before <= 1);
	stat = stat_of(&rig);
	CHECK(stat.map_rebuilt == 1 && stat.map_lost == 1, "%llu", stat.map_lost);
	CHECK(rig_flush(&rig) == -EIO && !rig_flush(&rig));
	rig_check(&rig);
	CHECK(!rig_write(&rig, lpn, 0));
	rig_verify(&rig);
	rig_restart(&rig);
	CHECK(stat_of(&rig).recovered_by_scan);
	rig_verify(&rig);
	rig_destroy(&rig);
}

/* Behind it trims last as before, and what is in a write buffer goes into the flash. */
static void test_lost_goes_on(void)
{
	struct nl_config config;
	struct rig rig;
	u32 lpn, i, round;

	for (round = 0; round < 6 && !ktap_failing(); round++) {
		rig_map_chunks = 2;
		rig_map_entries = 8;
		config = rig_tiny(NL_FTL_NAMELESS, 2, 8, 5000, 40);
		config.p[NL_P_BUFFER] = round % 2 * 5;
		rig_init(&rig, &config, 5000, ktap_seed);
		CHECK(!rig_open(&rig));
		for (i = 0; i < 5000; i++)
			CHECK(!rig_write(&rig, i, 0));
		CHECK(!rig_flush(&rig));
		lpn = lose(&rig);
		CHECK(!rig_trim(&rig, lpn, 1) && !rig_trim(&rig, 4990, 10));
		if (round / 2 == 1)
			CHECK(!rig_write(&rig, lpn, 0));
		else if (round / 2 == 2)
			CHECK(!rig_write(&rig, lpn / 8 * 8 + (lpn + 1) % 8, 0));
		CHECK(rig_flush(&rig) == -EIO && !rig_flush(&rig));
		CHECK(!rig.ftl->trims.nr_pending && !rig.ftl->wbuf.nr);
		CHECK(stat_of(&rig).map_lost == 1);
		rig_verify(&rig);
		rig_crash(&rig);
		rig_verify(&rig);
		rig_destroy(&rig);
	}
}

/* Reads and writes in turn, never idle: writes leave reads half of the cache. */
static void test_crowded(void)
{
	struct nl_ftl_stat stat, before = { 0 };
	struct rig rig;
	u32 i;

	make(&rig, 8, 8, 4);
	CHECK(stat_of(&rig).map_dirty == 8);
	rig_read(&rig, PAGES / 2);
	for (i = 0; i < 8; i++)	/* each makes one clean, at most */
		CHECK(!rig_write(&rig, i % 2 * 8, 0));
	stat = stat_of(&rig);
	CHECK(stat.map_dirty <= 5 && stat.map_resident <= 8, "%u dirty, %u", stat.map_dirty,
	      stat.map_resident);
	for (i = 0; i < 20; i++) {	/* two chunks are written, two others read */
		CHECK(!rig_write(&rig, i % 2 * 8, 0));
		rig_read(&rig, 200 + i % 2 * 8);
		if (i == 4)
			before = stat_of(&rig);
	}
	stat = stat_of(&rig);
	CHECK(stat.map_hits - before.map_hits >= 28 && stat.map_misses == before.map_misses,
	      "%llu hits, %llu misses", stat.map_hits - before.map_hits,
	      stat.map_misses - before.map_misses);
	CHECK(stat.map_out == before.map_out);
	rig_verify(&rig);
	rig_destroy(&rig);
}

/* Flash pages of the map that were moved since @ppn was noted, by a write that wrote none. */
static u32 moved(struct rig *rig, u32 *ppn)
{
	const struct nl_vmap *m = &nl_nw(rig->ftl)->map;
	u32 n, moved = 0, now;

	for (n = 0; n < m->nr; n++) {
		now = nl_map_chunk(m, n) ? nl_map_chunk(m, n)->ppn : NL_UNMAPPED;
		moved += now != ppn[n] && ppn[n] != NL_UNMAPPED && now != NL_UNMAPPED;
		ppn[n] = now;
	}
	return moved;
}

/* Leveling and failed blocks move pages of the map, and of chunks that are not in memory. */
static void test_moved(void)
{
	struct nl_config config;
	u32 i, nr = 0, at[PAGES / 4] = { 0 };
	struct rig rig;
	u64 out;

	rig_map_chunks = 2;
	rig_map_entries = 4;
	config = rig_tiny(NL_FTL_NAMELESS, 2, 8, PAGES, 12);
	config.p[NL_P_ENDURANCE] = 20000;
	config.p[NL_P_WEAR] = 1000;
	rig_init(&rig, &config, PAGES, ktap_seed);
	CHECK(!rig_open(&rig));
	for (i = 0; i < PAGES; i++)
		CHECK(!rig_write(&rig, i, 0));
	for (i = 0; i < 20000 && !ktap_failing(); i++) {
		if (i % 4000 == 0)
			rig.flash.fail_program = 1 + rig_random(&rig, 50);
		if (i % 4000 == 2000)
			rig.flash.fail_erase = 1 + rig_random(&rig, 9);
		moved(&rig, at);
		out = stat_of(&rig).map_out;
		CHECK(!rig_write(&rig, rig_random(&rig, i % 8 ? 20 : PAGES), 0));
		if (stat_of(&rig).map_out == out)
			nr += moved(&rig, at);
		if (i % 50 == 0)
			rig_check(&rig);
		if (i % 1000 == 0)
			rig_verify(&rig);
	}
	CHECK(nr > 20, "%u", nr);
	ktap_note("%u pages of the map moved, at most %u chunks were in memory", nr,
		  stat_of(&rig).map_most);
	rig_crash(&rig);
	rig_verify(&rig);
	rig_destroy(&rig);
}

/*
 * Blocks fail while others are emptied, and what these had is moved meanwhile: a chunk changes
 * under the program that moves its own page.
 */
static void test_failures(void)
{
	struct nl_config config;
	struct rig rig;
	u32 round, n, i;
	int r;

	rig_map_chunks = 1;
	for (n = 0; n < 750 && !ktap_failing(); n++) {
		/* A page of the map dies in 17 of 60000; three of these are among the last 150. */
		round = n < 600 ? n : 55200 + n;
		rig_map_entries = 5 + round % 4 * 5;
		config = rig_tiny(NL_FTL_NAMELESS, 1, 4, 40, 12 + round % 7);
		rig_init(&rig, &config, 40, round + 1);
		r = rig_open(&rig);
		for (i = 0; i < 640 && !r && !ktap_failing(); i++) {
			if (!rig.flash.fail_program && i % 15 == 0)
				rig.flash.fail_program = 1 + rig_random(&rig, 9);
			if (!rig.flash.fail_erase && i % 13 == 0)
				rig.flash.fail_erase = 1 + rig_random(&rig, 4);
			r = rig_write(&rig, i < 40 ? i : rig_random(&rig, 40), 0);
			if (i % 10 == 0)
				rig_check(&rig);
		}
		CHECK(!r || r == -EROFS, "write %u: %d", i, r);
		rig_verify(&rig);
		rig_destroy(&rig);
	}
}

/* A start leaves no more in memory than may be, with a checkpoint and without. */
static void test_start(void)
{
	struct nl_ftl_stat stat;
	struct rig rig;
	u32 round;

	make(&rig, 3, 8, 40);
	for (round = 0; round < 6 && !ktap_failing(); round++) {
		if (round % 2)
			rig_crash(&rig);
		else
			rig_restart(&rig);
		stat = stat_of(&rig);
		CHECK(stat.recovered_by_scan == round % 2 && stat.map_out >= 47 &&
		      stat.map_resident <= 4,	/* by reads of those that are dirty */
		      "round %u, %u in memory", round, stat.map_resident);
		CHECK(!rig_write(&rig, 5, 0));
	}
	rig_destroy(&rig);
}

static void test_refused(void)
{
	struct nl_config config;
	struct rig rig;

	rig_map_chunks = 1;
	rig_map_entries = 16;
	config = rig_tiny(NL_FTL_NAMELESS, 2, 8, PAGES, 2);
	rig_init(&rig, &config, PAGES, 1);
	rig.config.p[NL_P_MAP_CACHE] = 16 * sizeof(u32) - 1;
	CHECK(rig_open(&rig) == -EINVAL);
	rig_destroy(&rig);
	/* what is enough for a map in memory is not for one that is swapped */
	rig_map_chunks = 0;
	config = rig_tiny(NL_FTL_NAMELESS, 2, 8, PAGES, 0);
	config.p[NL_P_MAP_CACHE] = 4096;
	CHECK(nl_config_fit(&config, PAGES) == -ENOSPC);
	rig_init(&rig, &config, PAGES, 1);
	CHECK(rig_open(&rig) == -ENOSPC);
	rig_destroy(&rig);
}

/* Random writes and reads of a full ssd1 of 32 MiB, 8 chunks: what a cache of @chunks costs. */
static u64 measure(u32 chunks, u32 percent)
{
	struct nl_config config = nl_preset_find("ssd1")->config;
	u32 pages = 8192, i, hot = pages / 5;
	struct nl_ftl_stat before, stat;
	struct nl_io io = { .now = 1 };
	u64 start, host, all;
	struct rig rig;
	int r = 0;

	config.p[NL_P_FTL] = NL_FTL_NAMELESS;
	config.p[NL_P_MAP_CACHE] = chunks * 4096;
	CHECK(!nl_config_fit(&config, pages));
	rig_init(&rig, &config, 1, 3);
	rig.pages = pages;
	CHECK(!rig_open(&rig));
	for (i = 0; i < pages && !r; i++, io.now = io.done)
		r = nl_ftl_write(rig.ftl, i, NULL, 0, &io);
	for (i = 0; i < pages && !r; i++, io.now = io.done)
		r = nl_ftl_write(rig.ftl, rig_random(&rig, pages), NULL, 0, &io);
	before = stat_of(&rig);
	all = programs(&rig);
	start = io.now;
	for (i = 0; i < 2 * pages && !r; i++, io.now = io.done)
		r = nl_ftl_write(rig.ftl, rig_random(&rig, 100) < percent ?
				 rig_random(&rig, hot) : rig_random(&rig, pages), NULL, 0, &io);
	CHECK(!r, "%d", r);
	stat = stat_of(&rig);
	host = stat.writes - before.writes;
	start = (io.now - start) / host;
	ktap_note("%u of 8 chunks, %2u%% to a fifth: %5.1f%% hits, %.3f programs, %llu us a write",
		  chunks ? chunks : 8, percent, 100. * (stat.map_hits - before.map_hits) /
		  (stat.map_hits + stat.map_misses - before.map_hits - before.map_misses),
		  (double)(programs(&rig) - all) / host, start / 1000);
	rig_destroy(&rig);
	return start;
}

static void test_cost(void)
{
	u64 whole = measure(0, 0), half = measure(4, 0), one = measure(1, 0), hot = measure(4, 80);

	CHECK(whole < half && half < one && hot < half);
}

/*
 * Bytes of the map of 100 GB, as it says, when @pages of metadata are mapped, each @step pages from
 * the one before. No flash: what is more than the cache holds would have left memory.
 */
static u64 memory(u64 cache, u32 pages, u32 step)
{
	struct nl_config config = nl_preset_find("ssd1")->config;
	u32 logical = 100U << 18, i;
	struct nl_flash flash = { 0 };
	struct nl_nw f = { 0 };
	u64 when = 0, bytes;

	config.p[NL_P_FTL] = NL_FTL_NAMELESS;
	config.p[NL_P_MAP_CACHE] = cache;
	CHECK(!nl_config_fit(&config, logical));
	CHECK(!nl_geometry_init(&flash.geo, &config));
	f.ftl.flash = &flash;
	f.ftl.geo = &flash.geo;
	f.ftl.config = config;
	f.ftl.logical_pages = logical;
	CHECK(!nl_map_init(&f));
	for (i = 0; i < pages; i++) {
		CHECK(!nl_map_need(&f, i * step, &when));
		nl_map_set(&f, i * step, i);
	}
	bytes = nl_map_memory(&f);
	if (f.map.max && f.map.resident > f.map.max)
		bytes -= (u64)(f.map.resident - f.map.max) * f.map.entries * sizeof(u32);
	nl_map_destroy(&f);
	return bytes;
}

/*
 * Table 4.3's 100 GB, of the metadata of an ext4 and an ext3 file system (nameless-figures.rst),
 * against the hybrid FTL's 4 bytes for a block, and 8 for a page of the log area.
 */
static void test_memory(void)
{
	u64 blocks = (100ULL << 18) / 64, hybrid = blocks * 4 + blocks * 64 / 20 * 8;
	static const struct {
		const char *what;
		u32 pages, step, least;
		u64 cache;
	} at[] = {
		{ "ext4", 83672, 1, 30, 0 }, { "ext4", 83672, 1, 100, 65536 },
		{ "ext4", 83672, 1, 40, 196608 }, { "ext3", 190291, 1, 14, 0 },
		{ "ext3", 190291, 1, 100, 65536 }, { "ext3", 190291, 1, 40, 196608 },
		{ "ext4, scattered", 83672, 300, 2, 65536 },
		{ "ext3, scattered", 190291, 130, 2, 65536 }, { "nothing", 0, 1, 10000, 65536 },
	};
	u64 bytes;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		bytes = memory(at[i].cache, at[i].pages, at[i].step);
		ktap_note("%s, cache %llu: %llu bytes, 1/%.1f of the hybrid FTL's %llu", at[i].what,
			  (unsigned long long)at[i].cache, (unsigned long long)bytes,
			  (double)hybrid / bytes, (unsigned long long)hybrid);
		CHECK(bytes * at[i].least <= hybrid);
	}
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("no more of the map is in memory than may be", test_bound);
	ktap_run("reads program nothing, and find room", test_reads);
	ktap_run("a request waits for its chunk", test_time);
	ktap_run("a trim record has all chunks that it is about", test_trims);
	ktap_run("a chunk that can't be read is rebuilt", test_rebuilt);
	ktap_run("no entry is guessed", test_lost);
	ktap_run("what is lost keeps nothing else", test_lost_goes_on);
	ktap_run("reads find room among writes", test_crowded);
	ktap_run("pages of the map are moved like others", test_moved);
	ktap_run("blocks fail while others are emptied", test_failures);
	ktap_run("a start swaps out what is too much", test_start);
	ktap_run("what can't be is refused", test_refused);
	ktap_run("what a cache costs", test_cost);
	ktap_run("what the map of 100 GB takes in memory", test_memory);
	return ktap_done();
}
