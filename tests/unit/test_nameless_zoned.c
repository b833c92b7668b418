// SPDX-License-Identifier: GPL-2.0-only
/*
 * Zones against a model: what each may hold after every operation, failure and cut.
 *
 * A zone's pages are stamped with their address and the zone's generation, which a reset ends. Of
 * each zone the model knows how much has to be there, how much may be, and whether a reset or a
 * finish was under way.
 */
#include <linux/slab.h>
#include "ktap.h"
#include "nameless/rig.h"
#include "zones.h"

#define MAX_ZONES	8u

struct model {
	u32 generation;
	u32 least;		/* pages that last */
	u32 most;		/* pages that were ever written */
	bool finished;
	bool resetting;		/* when the power went */
	bool finishing;
};

struct bench {
	struct nl_config config;
	struct nl_flash flash;
	struct nl_ftl *ftl;
	struct nl_zone_shape shape;
	u32 zones;
	u64 now;
	u64 random;
	struct model zone[MAX_ZONES];
};

struct stamp {
	u32 lpn;
	u32 generation;
	u32 check;
};

static struct nl_config tiny(u32 planes, u32 pages, u32 blocks, u32 zones, u32 spare)
{
	struct nl_config config = { .p = {
		[NL_P_PACKAGES] = planes, [NL_P_DIES] = 1, [NL_P_PLANES] = 1,
		[NL_P_PAGES] = pages, [NL_P_PAGE_SIZE] = 512, [NL_P_OOB_SIZE] = 64,
		[NL_P_READ] = 25000, [NL_P_PROGRAM] = 200000, [NL_P_ERASE] = 1500000,
		[NL_P_BUS_CONTROL] = 2000, [NL_P_BUS_DATA] = 10000,
		[NL_P_RAM] = 1000, [NL_P_REGISTER] = 1000,
		[NL_P_LOG] = 50, [NL_P_FTL] = NL_FTL_ZONED, [NL_P_ZONE_BLOCKS] = blocks,
	} };
	struct nl_zone_shape shape;

	CHECK(!nl_zone_shape(&shape, &config));
	CHECK(!nl_config_fit(&config, zones * shape.size));
	config.p[NL_P_BLOCKS] += spare;
	return config;
}

static int bench_open(struct bench *b)
{
	struct nl_io io = { .now = b->now };
	int r = nl_ftl_open(&b->ftl, &b->flash, &b->config, b->zones * b->shape.size, &io);

	if (r)
		b->ftl = NULL;
	return r;
}

static void bench_init(struct bench *b, const struct nl_config *config, u32 zones, u64 seed)
{
	memset(b, 0, sizeof(*b));
	b->config = *config;
	b->zones = zones;
	b->random = seed;
	CHECK(zones <= MAX_ZONES && !nl_zone_shape(&b->shape, config));
	CHECK(!nl_flash_create(&b->flash, config));
	CHECK(!bench_open(b));
}

static void bench_destroy(struct bench *b)
{
	if (b->ftl)
		nl_ftl_destroy(b->ftl);
	nl_flash_destroy(&b->flash);
}

static u64 bench_random(struct bench *b, u64 below)
{
	u64 z = b->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return ((z ^ (z >> 31)) >> 11) % below;
}

static struct nl_zone_info look(struct bench *b, u32 zone)
{
	struct nl_zone_info info;

	nl_zone_look(b->ftl, zone, &info);
	return info;
}

static void report(void *ctx, const char *text)
{
	ktap_note("%s", text);
}

/* Pages before the pointer are this generation's, all others zeros. */
static bool zone_reads(struct bench *b, u32 zone, u32 pointer)
{
	u32 page, lpn = zone * b->shape.size;
	const struct stamp *stamp;
	bool ok = true;

	for (page = 0; page < b->shape.size && ok; page++) {
		struct nl_io io = { .now = b->now };
		struct nl_buf *buf = NULL;
		int r = nl_ftl_read(b->ftl, lpn + page, &buf, &io);

		if (page >= pointer) {
			ok = CHECK(!r && !buf, "zone %u page %u behind %u: %d", zone, page, pointer,
				   r);
		} else if (CHECK(!r && buf, "zone %u page %u before %u: %d", zone, page, pointer,
				 r)) {
			stamp = nl_buf_data(buf);
			ok = CHECK(stamp->lpn == lpn + page &&
				   stamp->generation == b->zone[zone].generation &&
				   stamp->check == ~stamp->lpn,
				   "zone %u page %u has page %u of generation %u, not %u", zone,
				   page, stamp->lpn, stamp->generation,
				   b->zone[zone].generation);
		} else {
			ok = false;
		}
		nl_buf_put(buf);
	}
	return ok;
}

/* What a start found is allowed, and lasts from now on. */
static bool zone_settle(struct bench *b, u32 zone)
{
	struct nl_zone_info info = look(b, zone);
	struct model *m = &b->zone[zone];
	bool full = info.state == NL_ZONE_FULL;

	if (info.state == NL_ZONE_OFFLINE) {
		*m = (struct model){ .generation = m->generation };
		return true;
	}
	if (m->resetting && !info.pointer && !full) {
		*m = (struct model){ .generation = m->generation + 1 };
	} else if (info.state != NL_ZONE_READONLY) {
		if (m->finishing && full)
			m->finished = true;
		CHECK(full == (m->finished || info.pointer == b->shape.capacity),
		      "zone %u is %s with %u pages", zone, nl_zone_names[info.state],
		      info.pointer);
	}
	m->resetting = false;
	m->finishing = false;
	if (!CHECK(info.pointer >= m->least && info.pointer <= m->most,
		   "zone %u: pointer %u, not from %u to %u", zone, info.pointer, m->least, m->most))
		return false;
	m->least = info.pointer;
	m->most = info.pointer;
	return zone_reads(b, zone, info.pointer);
}

static bool settle(struct bench *b)
{
	bool ok = CHECK(!nl_ftl_check(b->ftl, report, NULL));
	u32 zone;

	for (zone = 0; zone < b->zones && ok; zone++)
		ok = zone_settle(b, zone);
	return ok;
}

/* Everything reads as it has to. */
static bool verify(struct bench *b)
{
	bool ok = CHECK(!nl_ftl_check(b->ftl, report, NULL));
	u32 zone;

	for (zone = 0; zone < b->zones && ok; zone++) {
		struct nl_zone_info info = look(b, zone);

		if (info.state == NL_ZONE_OFFLINE) {
			b->zone[zone] = (struct model){ .generation = b->zone[zone].generation };
			continue;
		}
		ok = CHECK(info.pointer >= b->zone[zone].least &&
			   info.pointer <= b->zone[zone].most) &&
		     zone_reads(b, zone, info.pointer);
	}
	return ok;
}

static int write_page(struct bench *b, u32 lpn, u32 flags)
{
	u32 zone = lpn / b->shape.size, page = lpn % b->shape.size;
	struct nl_buf *buf = nl_buf_alloc(b->config.p[NL_P_PAGE_SIZE], false);
	struct nl_io io = { .now = ++b->now };
	struct model *m = &b->zone[zone];
	struct stamp *stamp;
	int r;

	stamp = nl_buf_data(buf);
	memset(stamp, 0, b->config.p[NL_P_PAGE_SIZE]);
	*stamp = (struct stamp){ .lpn = lpn, .generation = m->generation, .check = ~lpn };
	r = nl_ftl_write(b->ftl, lpn, buf, flags, &io);
	nl_buf_put(buf);
	if (!r || r == -ESHUTDOWN)
		m->most = max(m->most, page + 1);
	if (!r && (flags & NL_FUA || !b->config.p[NL_P_BUFFER]))
		m->least = page + 1;
	return r;
}

static int append(struct bench *b, u32 zone, u32 count, u32 flags)
{
	u32 lpn;
	int r = nl_zone_append(b->ftl, zone, count, &lpn);

	for (; !r && count; count--)
		r = write_page(b, lpn++, flags);
	return r;
}

static int flush(struct bench *b)
{
	struct nl_io io = { .now = ++b->now };
	int r = nl_ftl_flush(b->ftl, &io);
	u32 zone;

	for (zone = 0; zone < b->zones && !r; zone++)
		b->zone[zone].least = look(b, zone).pointer;
	return r;
}

static int manage(struct bench *b, u32 zone, enum nl_zone_op op)
{
	struct nl_io io = { .now = ++b->now };
	struct model *m = &b->zone[zone];
	enum nl_zone_state state = look(b, zone).state;
	int r;

	r = nl_zone_manage(b->ftl, zone, op, &io);
	if (r == -ESHUTDOWN) {
		m->resetting = op == NL_ZONE_RESET;
		m->finishing = op == NL_ZONE_FINISH;
	} else if (op == NL_ZONE_RESET && state != NL_ZONE_EMPTY && (!r || r == -EIO)) {
		*m = (struct model){ .generation = m->generation + 1 };
	} else if (!r && op == NL_ZONE_FINISH) {
		m->least = look(b, zone).pointer;
		m->finished = m->least < b->shape.capacity;
		m->most = m->least;
	}
	return r;
}

/* Power off and on; the start is cut at its @start-th operation if that is not ~0. */
static bool crash(struct bench *b, u64 start, enum nl_tear tear)
{
	int r;

	nl_flash_power_off(&b->flash);
	if (b->ftl)
		nl_ftl_destroy(b->ftl);
	b->ftl = NULL;
	nl_flash_power_on(&b->flash);
	if (start != NL_NO_CUT)
		nl_flash_cut(&b->flash, start, tear);
	r = bench_open(b);
	if (r == -ESHUTDOWN) {
		nl_flash_power_on(&b->flash);
		r = bench_open(b);
	}
	nl_flash_power_on(&b->flash);
	return CHECK(!r, "open after a cut: %d", r) && settle(b);
}

/* --- what zones do ---------------------------------------------------------------------------- */

static void test_shape(void)
{
	struct nl_config config = tiny(3, 5, 0, 2, 0);
	struct nl_zone_shape shape;

	CHECK(!nl_zone_shape(&shape, &config));
	CHECK(shape.blocks == 3 && shape.capacity == 15 && shape.size == 16);
	config.p[NL_P_ZONE_BLOCKS] = 4;
	CHECK(!nl_zone_shape(&shape, &config));
	CHECK(shape.blocks == 4 && shape.capacity == 20 && shape.size == 32);
	config.p[NL_P_BLOCKS] = 0;
	CHECK(nl_config_fit(&config, 48) == -EINVAL);
	config.p[NL_P_BLOCKS] = 0;
	CHECK(!nl_config_fit(&config, 64));
	CHECK(config.p[NL_P_BLOCKS] * 3 >= 2 * 4 + 2);
	config.p[NL_P_BLOCKS] = 3;
	CHECK(nl_config_fit(&config, 64) == -ENOSPC);
	config.p[NL_P_ZONE_BLOCKS] = 1 << 16;
	config.p[NL_P_PAGES] = 1 << 16;
	CHECK(nl_zone_shape(&shape, &config) == -EFBIG);
}

static void test_pointer(void)
{
	struct nl_config config = tiny(2, 3, 0, 4, 1);
	struct nl_ftl_stat stat;
	struct bench b;
	u32 lpn, i;

	bench_init(&b, &config, 4, 1);
	CHECK(write_page(&b, 1, 0) == -EINVAL);
	CHECK(look(&b, 0).state == NL_ZONE_EMPTY && !b.flash.ops);
	for (lpn = 0; lpn < 3; lpn++)
		CHECK(!write_page(&b, lpn, 0));
	CHECK(look(&b, 0).state == NL_ZONE_IMPLICIT && look(&b, 0).pointer == 3);
	CHECK(write_page(&b, 2, 0) == -EINVAL && write_page(&b, 4, 0) == -EINVAL);
	CHECK(nl_zone_admit(b.ftl, 3, 4) == -EINVAL);
	CHECK(nl_zone_admit(b.ftl, 3, 3) == 0 && look(&b, 0).pointer == 3);
	for (; lpn < 6; lpn++)
		CHECK(!write_page(&b, lpn, 0));
	CHECK(look(&b, 0).state == NL_ZONE_FULL && write_page(&b, 6, 0) == -ENOSPC);
	CHECK(nl_zone_admit(b.ftl, 32, 1) == -ERANGE);
	CHECK(verify(&b));
	CHECK(b.flash.count[NL_PROGRAM][NL_FOR_HOST] == 6);
	CHECK(!manage(&b, 0, NL_ZONE_RESET) && look(&b, 0).state == NL_ZONE_EMPTY);
	CHECK(!manage(&b, 0, NL_ZONE_RESET));
	/* twice two: what looks erased is erased before it is used for the first time */
	CHECK(b.flash.count[NL_ERASE][NL_FOR_HOST] == 4);
	CHECK(!append(&b, 0, 6, 0) && verify(&b));
	nl_ftl_stat(b.ftl, &stat);
	CHECK(stat.zone_refused == 5 && stat.zone_resets == 1 && stat.mapped == 6);
	CHECK(stat.zones[NL_ZONE_FULL] == 1 && stat.zones[NL_ZONE_EMPTY] == 3);
	CHECK(stat.map_bytes[NL_MAP_ZONE] && stat.map_bytes[NL_MAP_ZONE] < 200);
	CHECK(nl_ftl_trim(b.ftl, 0, 1, &(struct nl_io){ .now = b.now }) == -EOPNOTSUPP);
	/* the planes of a zone work side by side */
	for (i = 0; i < 2; i++)
		CHECK(b.flash.block[i * config.p[NL_P_BLOCKS]].next ||
		      b.flash.block[i * config.p[NL_P_BLOCKS] + 1].next);
	bench_destroy(&b);
}

static void test_states(void)
{
	struct nl_config config = tiny(2, 3, 0, 6, 1);
	struct bench b;

	config.p[NL_P_MAX_OPEN] = 2;
	config.p[NL_P_MAX_ACTIVE] = 3;
	bench_init(&b, &config, 6, 1);
	CHECK(manage(&b, 0, NL_ZONE_CLOSE) == -EINVAL);
	CHECK(!manage(&b, 0, NL_ZONE_OPEN) && look(&b, 0).state == NL_ZONE_EXPLICIT);
	CHECK(!manage(&b, 0, NL_ZONE_CLOSE) && look(&b, 0).state == NL_ZONE_EMPTY);
	CHECK(!append(&b, 0, 1, 0) && !append(&b, 1, 1, 0));
	/* one that is open implicitly makes room */
	CHECK(!append(&b, 2, 1, 0) && look(&b, 0).state == NL_ZONE_CLOSED);
	CHECK(append(&b, 3, 1, 0) == -EOVERFLOW && look(&b, 3).state == NL_ZONE_EMPTY);
	CHECK(manage(&b, 3, NL_ZONE_FINISH) == -EOVERFLOW);
	CHECK(!manage(&b, 1, NL_ZONE_OPEN) && !manage(&b, 2, NL_ZONE_OPEN));
	CHECK(append(&b, 0, 1, 0) == -ETOOMANYREFS && look(&b, 0).pointer == 1);
	CHECK(manage(&b, 0, NL_ZONE_OPEN) == -ETOOMANYREFS);
	CHECK(!manage(&b, 1, NL_ZONE_CLOSE) && !manage(&b, 1, NL_ZONE_CLOSE));
	CHECK(!append(&b, 0, 5, 0) && look(&b, 0).state == NL_ZONE_FULL);
	CHECK(manage(&b, 0, NL_ZONE_OPEN) == -EINVAL && manage(&b, 0, NL_ZONE_CLOSE) == -EINVAL);
	CHECK(!manage(&b, 0, NL_ZONE_FINISH));
	CHECK(!manage(&b, 1, NL_ZONE_FINISH) && look(&b, 1).state == NL_ZONE_FULL);
	CHECK(look(&b, 1).pointer == 1 && append(&b, 1, 1, 0) == -ENOSPC);
	CHECK(!append(&b, 3, 1, 0) && !append(&b, 4, 1, 0));
	CHECK(verify(&b));
	/* a zone that was finished while it was empty, and all of that after a start */
	CHECK(!manage(&b, 4, NL_ZONE_RESET) && !manage(&b, 5, NL_ZONE_FINISH));
	CHECK(crash(&b, NL_NO_CUT, 0));
	CHECK(look(&b, 5).state == NL_ZONE_FULL && !look(&b, 5).pointer);
	CHECK(look(&b, 1).state == NL_ZONE_FULL && look(&b, 1).pointer == 1);
	CHECK(look(&b, 2).state == NL_ZONE_CLOSED && look(&b, 3).state == NL_ZONE_CLOSED);
	CHECK(!append(&b, 2, 5, 0) && !append(&b, 3, 5, 0) && verify(&b));
	CHECK(!manage(&b, 5, NL_ZONE_RESET) && !append(&b, 5, 6, 0) && verify(&b));
	CHECK(nl_zone_manage(b.ftl, 6, NL_ZONE_RESET, &(struct nl_io){ .now = 0 }) == -ERANGE);
	bench_destroy(&b);
}

/* A zone that is being written to is not closed between the parts of the write. */
static void test_busy(void)
{
	struct nl_config config = tiny(2, 3, 0, 4, 1);
	struct bench b;

	config.p[NL_P_MAX_OPEN] = 2;
	bench_init(&b, &config, 4, 1);
	CHECK(!append(&b, 0, 1, 0) && !append(&b, 1, 1, 0));
	nl_zone_busy(b.ftl, 0, true);
	CHECK(!manage(&b, 2, NL_ZONE_OPEN) && look(&b, 1).state == NL_ZONE_CLOSED);
	CHECK(manage(&b, 3, NL_ZONE_OPEN) == -ETOOMANYREFS);
	CHECK(append(&b, 1, 1, 0) == -ETOOMANYREFS);
	CHECK(look(&b, 0).state == NL_ZONE_IMPLICIT && !append(&b, 0, 1, 0));
	nl_zone_busy(b.ftl, 0, false);
	CHECK(!append(&b, 1, 1, 0) && look(&b, 0).state == NL_ZONE_CLOSED && verify(&b));
	bench_destroy(&b);
}

static u64 programs(const struct bench *b)
{
	return b->flash.count[NL_PROGRAM][NL_FOR_HOST];
}

static void test_buffer(void)
{
	struct nl_config config = tiny(2, 4, 0, 3, 1);
	struct bench b;

	config.p[NL_P_BUFFER] = 4;
	bench_init(&b, &config, 3, 1);
	CHECK(!append(&b, 0, 2, 0) && !append(&b, 1, 1, 0) && !b.flash.ops);
	CHECK(verify(&b));
	/* what is behind the others takes them along */
	CHECK(!append(&b, 0, 1, NL_FUA) && programs(&b) == 4);
	CHECK(!append(&b, 2, 3, 0));
	CHECK(!manage(&b, 2, NL_ZONE_RESET) && look(&b, 2).state == NL_ZONE_EMPTY);
	CHECK(verify(&b) && programs(&b) == 4);
	CHECK(!append(&b, 2, 1, 0) && verify(&b));
	CHECK(!flush(&b) && programs(&b) == 5);
	CHECK(!append(&b, 0, 4, 0) && programs(&b) == 5);
	/* a zone that is full stays so */
	CHECK(!append(&b, 0, 1, 0) && look(&b, 0).state == NL_ZONE_FULL && verify(&b));
	CHECK(programs(&b) == 10);
	CHECK(!append(&b, 1, 2, 0) && !manage(&b, 1, NL_ZONE_FINISH));
	CHECK(crash(&b, NL_NO_CUT, 0) && look(&b, 1).pointer == 3);
	bench_destroy(&b);
}

/* Every zone is what it was after a clean stop, and can be gone on with. */
static void test_restart(void)
{
	struct nl_config config = tiny(3, 4, 2, 5, 1);
	u32 zone, round;
	struct bench b;

	config.p[NL_P_BUFFER] = 3;
	bench_init(&b, &config, 5, 1);
	for (round = 0; round < 7; round++) {
		struct nl_io io = { .now = ++b.now };

		for (zone = 0; zone < 5; zone++)
			if (look(&b, zone).pointer < 8)
				CHECK(!append(&b, zone, 1, 0));
		CHECK(!nl_ftl_stop(b.ftl, &io));
		for (zone = 0; zone < 5; zone++)
			b.zone[zone].least = b.zone[zone].most;
		CHECK(crash(&b, NL_NO_CUT, 0));
	}
	CHECK(look(&b, 0).pointer == 7);
	bench_destroy(&b);
}

/* Blocks that were erased less often are taken first. */
static void test_wear(void)
{
	struct nl_config config = tiny(2, 2, 0, 4, 3);
	u32 i, block, least = ~0u, most = 0, cold = 0;
	struct bench b;

	bench_init(&b, &config, 4, 1);
	CHECK(!append(&b, 3, 4, 0));
	for (i = 0; i < 120; i++)
		CHECK(!append(&b, 0, 4, 0) && !manage(&b, 0, NL_ZONE_RESET));
	for (block = 0; block < b.flash.geo.nr_blocks; block++) {
		if (nl_flash_erases(&b.flash, block) < 2) {
			cold++;
			continue;
		}
		least = min(least, nl_flash_erases(&b.flash, block));
		most = max(most, nl_flash_erases(&b.flash, block));
	}
	CHECK(cold == 2, "%u blocks are hardly erased", cold);
	CHECK(most - least <= 1, "erased from %u to %u times", least, most);
	CHECK(verify(&b));
	bench_destroy(&b);
}

/* --- flash that fails ------------------------------------------------------------------------- */

static void test_program_fails(void)
{
	struct nl_config config = tiny(2, 4, 0, 3, 1);
	struct nl_ftl_stat stat;
	struct bench b;

	bench_init(&b, &config, 3, 1);
	/* in a block where there is nothing: another one, and that's all */
	b.flash.fail_program = 1;
	CHECK(!append(&b, 0, 5, 0) && look(&b, 0).state == NL_ZONE_IMPLICIT && verify(&b));
	/* in one with pages: all is there, and more is refused */
	b.flash.fail_program = 1;
	CHECK(!append(&b, 0, 1, 0) && look(&b, 0).state == NL_ZONE_READONLY);
	CHECK(append(&b, 0, 1, 0) == -EROFS && manage(&b, 0, NL_ZONE_RESET) == -EROFS);
	CHECK(manage(&b, 0, NL_ZONE_FINISH) == -EROFS);
	CHECK(look(&b, 0).pointer == 6 && verify(&b));
	CHECK(crash(&b, NL_NO_CUT, 0) && look(&b, 0).state == NL_ZONE_READONLY);
	CHECK(look(&b, 0).pointer == 6);
	CHECK(!append(&b, 1, 8, 0) && !manage(&b, 1, NL_ZONE_RESET) && verify(&b));
	nl_ftl_stat(b.ftl, &stat);
	CHECK(stat.bad_blocks == 2 && stat.zones[NL_ZONE_READONLY] == 1);
	bench_destroy(&b);
}

/* What the buffer had still comes into the flash; without a spare block it is lost, and said. */
static void test_program_fails_buffered(void)
{
	u32 spare, round, i;

	for (spare = 0; spare < 2; spare++)
		for (round = 1; round < 8; round++) {
			struct nl_config config = tiny(1, 4, 2, 2, 0);
			struct bench b;
			int r;

			config.p[NL_P_BUFFER] = 4;
			bench_init(&b, &config, 2, round);
			for (i = 4; !spare && i < b.flash.geo.nr_blocks; i++)
				CHECK(!nl_flash_mark_bad(&b.flash, i));
			CHECK(crash(&b, NL_NO_CUT, 0));
			CHECK(!append(&b, 1, 1, NL_FUA));
			b.flash.fail_program = round;
			r = append(&b, 0, 7, 0);
			CHECK(!r || r == -EROFS || r == -EIO, "append %d", r);
			r = flush(&b);
			if (spare)
				CHECK(!r, "flush %d", r);
			else if (look(&b, 0).state == NL_ZONE_READONLY)
				CHECK(r == -EIO, "flush %d", r);
			CHECK(!flush(&b) && settle(&b));
			CHECK(crash(&b, NL_NO_CUT, 0));
			bench_destroy(&b);
		}
}

/* Without a spare block a zone is not gone on with at the cost of another one. */
static void test_no_spare(void)
{
	struct nl_config config = tiny(1, 4, 2, 2, 0);
	struct bench b;
	u32 i;

	bench_init(&b, &config, 2, 1);
	for (i = 4; i < b.flash.geo.nr_blocks; i++)
		CHECK(!nl_flash_mark_bad(&b.flash, i));
	CHECK(crash(&b, NL_NO_CUT, 0) && !append(&b, 0, 6, 0) && crash(&b, NL_NO_CUT, 0));
	CHECK(append(&b, 0, 1, 0) == -EIO && look(&b, 0).state == NL_ZONE_READONLY);
	CHECK(look(&b, 0).pointer == 6 && look(&b, 1).state == NL_ZONE_EMPTY);
	CHECK(!append(&b, 1, 8, 0) && verify(&b));
	/* but may be reset, which needs none */
	CHECK(look(&b, 0).stuck && append(&b, 0, 1, 0) == -EROFS);
	CHECK(manage(&b, 0, NL_ZONE_FINISH) == -EROFS);
	CHECK(!manage(&b, 0, NL_ZONE_RESET) && look(&b, 0).state == NL_ZONE_EMPTY);
	CHECK(!look(&b, 0).stuck && verify(&b) && !append(&b, 0, 8, 0) && verify(&b));
	CHECK(!manage(&b, 0, NL_ZONE_RESET) && !append(&b, 0, 3, 0) && crash(&b, NL_NO_CUT, 0));
	CHECK(append(&b, 0, 1, 0) == -EIO && look(&b, 0).stuck && look(&b, 0).pointer == 3);
	CHECK(crash(&b, NL_NO_CUT, 0) && look(&b, 0).state == NL_ZONE_CLOSED && verify(&b));
	bench_destroy(&b);
}

static void test_erase_fails(void)
{
	struct nl_config config = tiny(2, 2, 0, 3, 0);
	struct nl_ftl_stat stat;
	u32 zone, spare, i;
	struct bench b;

	bench_init(&b, &config, 3, 1);
	for (zone = 0; zone < 3; zone++)
		CHECK(!append(&b, zone, 4, 0));
	nl_ftl_stat(b.ftl, &stat);
	spare = stat.zone_spare;
	CHECK(spare == stat.free_blocks && spare >= 2);
	for (i = 0; i < spare; i++) {
		b.flash.fail_erase = 1;
		CHECK(!manage(&b, 0, NL_ZONE_RESET) && !append(&b, 0, 4, 0) && verify(&b));
	}
	b.flash.fail_erase = 1;
	CHECK(manage(&b, 0, NL_ZONE_RESET) == -EIO && look(&b, 0).state == NL_ZONE_OFFLINE);
	CHECK(append(&b, 0, 1, 0) == -EIO && manage(&b, 0, NL_ZONE_RESET) == -EIO);
	CHECK(nl_ftl_read(b.ftl, 0, &(struct nl_buf *){ NULL },
			  &(struct nl_io){ .now = b.now }) == -EIO);
	b.zone[0] = (struct model){ .generation = b.zone[0].generation + 1 };
	CHECK(verify(&b));
	CHECK(crash(&b, NL_NO_CUT, 0) && look(&b, 0).state == NL_ZONE_OFFLINE);
	CHECK(!manage(&b, 1, NL_ZONE_RESET) && !append(&b, 1, 4, 0) && verify(&b));
	bench_destroy(&b);
}

static void test_no_memory(void)
{
	struct nl_config config = tiny(2, 3, 0, 3, 1);
	struct bench b;

	bench_init(&b, &config, 3, 1);
	CHECK(!append(&b, 0, 4, 0));
	CHECK(crash(&b, NL_NO_CUT, 0));
	/* the first write after a start moves a block, and goes on when there is memory again */
	shim_fail_alloc = 2;
	b.flash.nowait = true;
	CHECK(append(&b, 0, 1, 0) == -ENOMEM);
	shim_fail_alloc = 2;
	CHECK(append(&b, 1, 1, 0) == -ENOMEM);
	shim_fail_alloc = 0;
	b.flash.nowait = false;
	CHECK(verify(&b));
	CHECK(!manage(&b, 1, NL_ZONE_CLOSE) && verify(&b));
	CHECK(!append(&b, 0, 2, 0) && !append(&b, 1, 6, 0) && verify(&b));
	bench_destroy(&b);
}

/*
 * Pages out of the write buffer: a program fails, and then there is no memory to copy what its
 * block has. The block is bad then: the next flush copies, before it programs anything.
 */
static void test_no_memory_buffered(void)
{
	struct nl_config config = tiny(1, 4, 2, 2, 1);
	u32 n, failed = 0;
	struct bench b;
	int r;

	config.p[NL_P_BUFFER] = 4;
	for (n = 1; n < 6; n++) {
		bench_init(&b, &config, 2, n);
		CHECK(!append(&b, 0, 4, NL_FUA) && !append(&b, 0, 3, 0) && !append(&b, 1, 1, 0));
		b.flash.fail_program = 1;
		b.flash.nowait = true;
		shim_fail_alloc = n;
		r = flush(&b);
		shim_fail_alloc = 0;
		b.flash.nowait = false;
		CHECK(!r || r == -ENOMEM, "%d", r);
		failed += !!r;
		CHECK(look(&b, 0).state == NL_ZONE_READONLY || !b.flash.fail_program);
		CHECK(!flush(&b) && verify(&b));
		CHECK(look(&b, 0).pointer == 7 && look(&b, 1).pointer == 1);
		CHECK(!b.flash.violations, "%s", b.flash.violation ?: "");
		CHECK(crash(&b, NL_NO_CUT, 0) && look(&b, 0).pointer == 7);
		bench_destroy(&b);
	}
	CHECK(failed, "memory never was short");
}

/* --- cuts ------------------------------------------------------------------------------------- */

static int step(struct bench *b, u32 at)
{
	switch (at) {
	case 0:
		return append(b, 0, 3, 0);
	case 1:
		return append(b, 1, 5, 0);
	case 2:
		return flush(b);
	case 3:
		return append(b, 0, 2, NL_FUA);
	case 4:
		return manage(b, 1, NL_ZONE_RESET);
	case 5:
		return append(b, 1, 2, 0);
	case 6:
		return manage(b, 0, NL_ZONE_FINISH);
	case 7:
		return append(b, 2, 6, 0);
	case 8:
		return manage(b, 2, NL_ZONE_RESET);
	case 9:
		return append(b, 2, 1, NL_FUA);
	case 10:
		return manage(b, 0, NL_ZONE_RESET);
	default:
		return append(b, 0, 3, NL_FUA);
	}
}

/* All of it, until the power goes. */
static bool run(struct bench *b)
{
	u32 at;
	int r;

	for (at = 0; at < 12; at++) {
		r = step(b, at);
		if (r == -ESHUTDOWN)
			return true;
		if (!CHECK(!r, "step %u: %d", at, r))
			return false;
	}
	return false;
}

/* Whatever can be written to takes what fits. */
static bool fill(struct bench *b)
{
	u32 zone;
	int r = 0;

	for (zone = 0; zone < b->zones && !r; zone++) {
		struct nl_zone_info info = look(b, zone);

		if (info.state == NL_ZONE_EMPTY || info.state == NL_ZONE_CLOSED)
			r = append(b, zone, b->shape.capacity - info.pointer, 0);
	}
	if (!r)
		r = flush(b);
	CHECK(!r || r == -ESHUTDOWN, "after a cut: %d", r);
	return r == -ESHUTDOWN;
}

static void cut_everywhere(u32 buffer, u32 planes, u32 pages, u32 blocks)
{
	struct nl_config config = tiny(planes, pages, blocks, 3, 0);
	u32 first, second;
	bool cut = true, again;
	struct bench b;
	enum nl_tear tear;

	config.p[NL_P_BUFFER] = buffer;
	for (first = 0; cut && !ktap_failing(); first++)
		for (tear = 0; tear < NL_NR_TEARS; tear++)
			for (second = 0, again = true; again && !ktap_failing(); second++) {
				bench_init(&b, &config, 3, first);
				nl_flash_cut(&b.flash, first, tear);
				cut = run(&b);
				/* the second in the start, or in what follows it */
				if (cut && crash(&b, second, (tear + second) % NL_NR_TEARS)) {
					nl_flash_cut(&b.flash, second, (tear + 1) % NL_NR_TEARS);
					again = fill(&b);
					crash(&b, NL_NO_CUT, 0);
					fill(&b);
					verify(&b);
				} else {
					again = false;
				}
				CHECK(!b.flash.violations, "%s", b.flash.violation ?: "");
				bench_destroy(&b);
			}
}

static void test_cuts(void)
{
	cut_everywhere(0, 2, 3, 0);
}

static void test_cuts_buffered(void)
{
	cut_everywhere(3, 2, 3, 0);
}

static void test_cuts_one_block(void)
{
	cut_everywhere(2, 2, 6, 1);
}

static int mixed(struct bench *b)
{
	u32 zone = bench_random(b, b->zones), count = 1 + bench_random(b, b->shape.capacity);
	u32 flags = bench_random(b, 4) ? 0 : NL_FUA;

	switch (bench_random(b, 16)) {
	case 0:
	case 1:
		return manage(b, zone, NL_ZONE_RESET);
	case 2:
		return manage(b, zone, NL_ZONE_FINISH);
	case 3:
		return manage(b, zone, NL_ZONE_OPEN);
	case 4:
		return manage(b, zone, NL_ZONE_CLOSE);
	case 5:
		return flush(b);
	case 6:
		return write_page(b, zone * b->shape.size + count - 1, flags);
	default:
		return append(b, zone, 1 + count / 3, flags);
	}
}

/* Anything in any order, blocks that fail and cuts. */
static void random_mix(bool failing)
{
	u32 round, i;

	for (round = 0; round < 150 && !ktap_failing(); round++) {
		struct nl_config config;
		struct bench b = { .random = ktap_seed + round };
		u32 zones = 2 + bench_random(&b, 6), planes = 1 + bench_random(&b, 3);

		config = tiny(planes, 2 + bench_random(&b, 5), bench_random(&b, 4), zones,
			      bench_random(&b, 4));
		config.p[NL_P_BUFFER] = bench_random(&b, 2) * 5;
		config.p[NL_P_MAX_OPEN] = bench_random(&b, 4);
		config.p[NL_P_MAX_ACTIVE] = bench_random(&b, 2) * 4;
		bench_init(&b, &config, zones, ktap_seed + round);
		for (i = 0; i < 300 && !ktap_failing(); i++) {
			int r;

			if (failing && !bench_random(&b, 60))
				b.flash.fail_program = 1 + bench_random(&b, 20);
			if (failing && !bench_random(&b, 60))
				b.flash.fail_erase = 1 + bench_random(&b, 6);
			if (!bench_random(&b, 25))
				nl_flash_cut(&b.flash, bench_random(&b, 30),
					     bench_random(&b, NL_NR_TEARS));
			r = mixed(&b);
			CHECK(r == -ESHUTDOWN || !r || r == -EINVAL || r == -ENOSPC ||
			      r == -EOVERFLOW || r == -ETOOMANYREFS ||
			      (failing && (r == -EIO || r == -EROFS)), "%d", r);
			if (r == -ESHUTDOWN)
				crash(&b, bench_random(&b, 8), bench_random(&b, NL_NR_TEARS));
			else
				verify(&b);
		}
		CHECK(!b.flash.violations, "%s", b.flash.violation ?: "");
		bench_destroy(&b);
	}
}

static void test_random(void)
{
	random_mix(false);
}

static void test_random_failing(void)
{
	random_mix(true);
}

static void test_foreign(void)
{
	struct nl_config config = tiny(2, 4, 0, 4, 4);
	struct bench b;

	bench_init(&b, &config, 4, 1);
	CHECK(!append(&b, 0, 3, 0));
	nl_ftl_destroy(b.ftl);
	b.ftl = NULL;
	b.config.p[NL_P_ZONE_BLOCKS] = 4;
	b.zones = 2;
	CHECK(!nl_zone_shape(&b.shape, &b.config) && bench_open(&b) == -EMEDIUMTYPE);
	b.config.p[NL_P_ZONE_BLOCKS] = 0;
	b.config.p[NL_P_FTL] = NL_FTL_PAGE;
	CHECK(bench_open(&b) == -EMEDIUMTYPE);
	bench_destroy(&b);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("zoned: shape and size", test_shape);
	ktap_run("zoned: writes go to the write pointer", test_pointer);
	ktap_run("zoned: states and limits", test_states);
	ktap_run("zoned: a zone that is being written to stays open", test_busy);
	ktap_run("zoned: the write buffer", test_buffer);
	ktap_run("zoned: stop and start", test_restart);
	ktap_run("zoned: wear spreads", test_wear);
	ktap_run("zoned: a program fails", test_program_fails);
	ktap_run("zoned: a program out of the write buffer fails", test_program_fails_buffered);
	ktap_run("zoned: no spare block", test_no_spare);
	ktap_run("zoned: an erase fails", test_erase_fails);
	ktap_run("zoned: no memory", test_no_memory);
	ktap_run("zoned: a program fails, and no memory", test_no_memory_buffered);
	ktap_run("zoned: flash of another shape", test_foreign);
	ktap_run("zoned: two cuts at every operation", test_cuts);
	ktap_run("zoned: two cuts at every operation, buffered", test_cuts_buffered);
	ktap_run("zoned: two cuts at every operation, a block a zone", test_cuts_one_block);
	ktap_run("zoned: anything and cuts", test_random);
	ktap_run("zoned: anything, cuts and failing flash", test_random_failing);
	return ktap_done();
}
