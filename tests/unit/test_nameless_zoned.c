// SPDX-License-Identifier: GPL-2.0-only
/* The zoned personality against the model of nameless/zone_rig.h. */
#include "nameless/zone_rig.h"

/* --- what zones do ---------------------------------------------------------------------------- */

static void test_shape(void)
{
	struct nl_config config = zrig_config(3, 5, 0, 2, 0);
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
	struct nl_config config = zrig_config(2, 3, 0, 4, 1);
	struct nl_ftl_stat stat;
	struct zrig b;
	u32 lpn, i;

	zrig_init(&b, &config, 4, 1);
	CHECK(zrig_write(&b, 1, 0) == -EINVAL);
	CHECK(zrig_look(&b, 0).state == NL_ZONE_EMPTY && !b.flash.ops);
	for (lpn = 0; lpn < 3; lpn++)
		CHECK(!zrig_write(&b, lpn, 0));
	CHECK(zrig_look(&b, 0).state == NL_ZONE_IMPLICIT && zrig_look(&b, 0).pointer == 3);
	CHECK(zrig_write(&b, 2, 0) == -EINVAL && zrig_write(&b, 4, 0) == -EINVAL);
	CHECK(nl_zone_admit(b.ftl, 3, 4) == -EINVAL);
	CHECK(nl_zone_admit(b.ftl, 3, 3) == 0 && zrig_look(&b, 0).pointer == 3);
	for (; lpn < 6; lpn++)
		CHECK(!zrig_write(&b, lpn, 0));
	CHECK(zrig_look(&b, 0).state == NL_ZONE_FULL && zrig_write(&b, 6, 0) == -ENOSPC);
	CHECK(nl_zone_admit(b.ftl, 32, 1) == -ERANGE);
	CHECK(zrig_verify(&b));
	CHECK(b.flash.count[NL_PROGRAM][NL_FOR_HOST] == 6);
	CHECK(!zrig_manage(&b, 0, NL_ZONE_RESET) && zrig_look(&b, 0).state == NL_ZONE_EMPTY);
	CHECK(!zrig_manage(&b, 0, NL_ZONE_RESET));
	/* twice two: what looks erased is erased before it is used for the first time */
	CHECK(b.flash.count[NL_ERASE][NL_FOR_HOST] == 4);
	CHECK(!zrig_append(&b, 0, 6, 0) && zrig_verify(&b));
	nl_ftl_stat(b.ftl, &stat);
	CHECK(stat.zone_refused == 5 && stat.zone_resets == 1 && stat.mapped == 6);
	CHECK(stat.zones[NL_ZONE_FULL] == 1 && stat.zones[NL_ZONE_EMPTY] == 3);
	CHECK(stat.map_bytes[NL_MAP_ZONE] && stat.map_bytes[NL_MAP_ZONE] < 200);
	CHECK(nl_ftl_trim(b.ftl, 0, 1, &(struct nl_io){ .now = b.now }) == -EOPNOTSUPP);
	/* the planes of a zone work side by side */
	for (i = 0; i < 2; i++)
		CHECK(b.flash.block[i * config.p[NL_P_BLOCKS]].next ||
		      b.flash.block[i * config.p[NL_P_BLOCKS] + 1].next);
	zrig_destroy(&b);
}

static void test_states(void)
{
	struct nl_config config = zrig_config(2, 3, 0, 6, 1);
	struct zrig b;

	config.p[NL_P_MAX_OPEN] = 2;
	config.p[NL_P_MAX_ACTIVE] = 3;
	zrig_init(&b, &config, 6, 1);
	CHECK(zrig_manage(&b, 0, NL_ZONE_CLOSE) == -EINVAL);
	CHECK(!zrig_manage(&b, 0, NL_ZONE_OPEN) && zrig_look(&b, 0).state == NL_ZONE_EXPLICIT);
	CHECK(!zrig_manage(&b, 0, NL_ZONE_CLOSE) && zrig_look(&b, 0).state == NL_ZONE_EMPTY);
	CHECK(!zrig_append(&b, 0, 1, 0) && !zrig_append(&b, 1, 1, 0));
	/* one that is open implicitly makes room */
	CHECK(!zrig_append(&b, 2, 1, 0) && zrig_look(&b, 0).state == NL_ZONE_CLOSED);
	CHECK(zrig_append(&b, 3, 1, 0) == -EOVERFLOW && zrig_look(&b, 3).state == NL_ZONE_EMPTY);
	CHECK(zrig_manage(&b, 3, NL_ZONE_FINISH) == -EOVERFLOW);
	CHECK(!zrig_manage(&b, 1, NL_ZONE_OPEN) && !zrig_manage(&b, 2, NL_ZONE_OPEN));
	CHECK(zrig_append(&b, 0, 1, 0) == -ETOOMANYREFS && zrig_look(&b, 0).pointer == 1);
	CHECK(zrig_manage(&b, 0, NL_ZONE_OPEN) == -ETOOMANYREFS);
	CHECK(!zrig_manage(&b, 1, NL_ZONE_CLOSE) && !zrig_manage(&b, 1, NL_ZONE_CLOSE));
	CHECK(!zrig_append(&b, 0, 5, 0) && zrig_look(&b, 0).state == NL_ZONE_FULL);
	CHECK(zrig_manage(&b, 0, NL_ZONE_OPEN) == -EINVAL &&
	      zrig_manage(&b, 0, NL_ZONE_CLOSE) == -EINVAL);
	CHECK(!zrig_manage(&b, 0, NL_ZONE_FINISH));
	CHECK(!zrig_manage(&b, 1, NL_ZONE_FINISH) && zrig_look(&b, 1).state == NL_ZONE_FULL);
	CHECK(zrig_look(&b, 1).pointer == 1 && zrig_append(&b, 1, 1, 0) == -ENOSPC);
	CHECK(!zrig_append(&b, 3, 1, 0) && !zrig_append(&b, 4, 1, 0));
	CHECK(zrig_verify(&b));
	/* a zone that was finished while it was empty, and all of that after a start */
	CHECK(!zrig_manage(&b, 4, NL_ZONE_RESET) && !zrig_manage(&b, 5, NL_ZONE_FINISH));
	CHECK(zrig_crash(&b, NL_NO_CUT, 0));
	CHECK(zrig_look(&b, 5).state == NL_ZONE_FULL && !zrig_look(&b, 5).pointer);
	CHECK(zrig_look(&b, 1).state == NL_ZONE_FULL && zrig_look(&b, 1).pointer == 1);
	CHECK(zrig_look(&b, 2).state == NL_ZONE_CLOSED && zrig_look(&b, 3).state == NL_ZONE_CLOSED);
	CHECK(!zrig_append(&b, 2, 5, 0) && !zrig_append(&b, 3, 5, 0) && zrig_verify(&b));
	CHECK(!zrig_manage(&b, 5, NL_ZONE_RESET) && !zrig_append(&b, 5, 6, 0) && zrig_verify(&b));
	CHECK(nl_zone_manage(b.ftl, 6, NL_ZONE_RESET, &(struct nl_io){ .now = 0 }) == -ERANGE);
	zrig_destroy(&b);
}

/* A zone that is being written to is not closed between the parts of the write. */
static void test_busy(void)
{
	struct nl_config config = zrig_config(2, 3, 0, 4, 1);
	struct zrig b;

	config.p[NL_P_MAX_OPEN] = 2;
	zrig_init(&b, &config, 4, 1);
	CHECK(!zrig_append(&b, 0, 1, 0) && !zrig_append(&b, 1, 1, 0));
	nl_zone_busy(b.ftl, 0, true);
	CHECK(!zrig_manage(&b, 2, NL_ZONE_OPEN) && zrig_look(&b, 1).state == NL_ZONE_CLOSED);
	CHECK(zrig_manage(&b, 3, NL_ZONE_OPEN) == -ETOOMANYREFS);
	CHECK(zrig_append(&b, 1, 1, 0) == -ETOOMANYREFS);
	CHECK(zrig_look(&b, 0).state == NL_ZONE_IMPLICIT && !zrig_append(&b, 0, 1, 0));
	nl_zone_busy(b.ftl, 0, false);
	CHECK(!zrig_append(&b, 1, 1, 0) && zrig_look(&b, 0).state == NL_ZONE_CLOSED &&
	      zrig_verify(&b));
	zrig_destroy(&b);
}

static u64 programs(const struct zrig *b)
{
	return b->flash.count[NL_PROGRAM][NL_FOR_HOST];
}

static void test_buffer(void)
{
	struct nl_config config = zrig_config(2, 4, 0, 3, 1);
	struct zrig b;

	config.p[NL_P_BUFFER] = 4;
	zrig_init(&b, &config, 3, 1);
	CHECK(!zrig_append(&b, 0, 2, 0) && !zrig_append(&b, 1, 1, 0) && !b.flash.ops);
	CHECK(zrig_verify(&b));
	/* what is behind the others takes them along */
	CHECK(!zrig_append(&b, 0, 1, NL_FUA) && programs(&b) == 4);
	CHECK(!zrig_append(&b, 2, 3, 0));
	CHECK(!zrig_manage(&b, 2, NL_ZONE_RESET) && zrig_look(&b, 2).state == NL_ZONE_EMPTY);
	CHECK(zrig_verify(&b) && programs(&b) == 4);
	CHECK(!zrig_append(&b, 2, 1, 0) && zrig_verify(&b));
	CHECK(!zrig_flush(&b) && programs(&b) == 5);
	CHECK(!zrig_append(&b, 0, 4, 0) && programs(&b) == 5);
	/* a zone that is full stays so */
	CHECK(!zrig_append(&b, 0, 1, 0) && zrig_look(&b, 0).state == NL_ZONE_FULL &&
	      zrig_verify(&b));
	CHECK(programs(&b) == 10);
	CHECK(!zrig_append(&b, 1, 2, 0) && !zrig_manage(&b, 1, NL_ZONE_FINISH));
	CHECK(zrig_crash(&b, NL_NO_CUT, 0) && zrig_look(&b, 1).pointer == 3);
	zrig_destroy(&b);
}

/* Every zone is what it was after a clean stop, and can be gone on with. */
static void test_restart(void)
{
	struct nl_config config = zrig_config(3, 4, 2, 5, 1);
	u32 zone, round;
	struct zrig b;

	config.p[NL_P_BUFFER] = 3;
	zrig_init(&b, &config, 5, 1);
	for (round = 0; round < 7; round++) {
		struct nl_io io = { .now = ++b.now };

		for (zone = 0; zone < 5; zone++)
			if (zrig_look(&b, zone).pointer < 8)
				CHECK(!zrig_append(&b, zone, 1, 0));
		CHECK(!nl_ftl_stop(b.ftl, &io));
		for (zone = 0; zone < 5; zone++)
			b.zone[zone].least = b.zone[zone].most;
		CHECK(zrig_crash(&b, NL_NO_CUT, 0));
	}
	CHECK(zrig_look(&b, 0).pointer == 7);
	zrig_destroy(&b);
}

/* Blocks that were erased less often are taken first. */
static void test_wear(void)
{
	struct nl_config config = zrig_config(2, 2, 0, 4, 3);
	u32 i, block, least = ~0u, most = 0, cold = 0;
	struct zrig b;

	zrig_init(&b, &config, 4, 1);
	CHECK(!zrig_append(&b, 3, 4, 0));
	for (i = 0; i < 120; i++)
		CHECK(!zrig_append(&b, 0, 4, 0) && !zrig_manage(&b, 0, NL_ZONE_RESET));
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
	CHECK(zrig_verify(&b));
	zrig_destroy(&b);
}

/* --- flash that fails ------------------------------------------------------------------------- */

static void test_program_fails(void)
{
	struct nl_config config = zrig_config(2, 4, 0, 3, 1);
	struct nl_ftl_stat stat;
	struct zrig b;

	zrig_init(&b, &config, 3, 1);
	/* in a block where there is nothing: another one, and that's all */
	b.flash.fail_program = 1;
	CHECK(!zrig_append(&b, 0, 5, 0) && zrig_look(&b, 0).state == NL_ZONE_IMPLICIT &&
	      zrig_verify(&b));
	/* in one with pages: all is there, and more is refused */
	b.flash.fail_program = 1;
	CHECK(!zrig_append(&b, 0, 1, 0) && zrig_look(&b, 0).state == NL_ZONE_READONLY);
	CHECK(zrig_append(&b, 0, 1, 0) == -EROFS && zrig_manage(&b, 0, NL_ZONE_RESET) == -EROFS);
	CHECK(zrig_manage(&b, 0, NL_ZONE_FINISH) == -EROFS);
	CHECK(zrig_look(&b, 0).pointer == 6 && zrig_verify(&b));
	CHECK(zrig_crash(&b, NL_NO_CUT, 0) && zrig_look(&b, 0).state == NL_ZONE_READONLY);
	CHECK(zrig_look(&b, 0).pointer == 6);
	CHECK(!zrig_append(&b, 1, 8, 0) && !zrig_manage(&b, 1, NL_ZONE_RESET) && zrig_verify(&b));
	nl_ftl_stat(b.ftl, &stat);
	CHECK(stat.bad_blocks == 2 && stat.zones[NL_ZONE_READONLY] == 1);
	zrig_destroy(&b);
}

static int stop(struct zrig *b)
{
	struct nl_io io = { .now = ++b->now };

	return nl_ftl_stop(b->ftl, &io);
}

/*
 * What the buffer had still comes into the flash; without a spare block it is lost, and said, to
 * who flushes or to who stops the device.
 */
static void test_program_fails_buffered(void)
{
	u32 spare, round, i;

	for (spare = 0; spare < 2; spare++)
		for (round = 1; round < 8; round++) {
			struct nl_config config = zrig_config(1, 4, 2, 2, 0);
			struct zrig b;
			int r;

			config.p[NL_P_BUFFER] = 4;
			zrig_init(&b, &config, 2, round);
			for (i = 4; !spare && i < b.flash.geo.nr_blocks; i++)
				CHECK(!nl_flash_mark_bad(&b.flash, i));
			CHECK(zrig_crash(&b, NL_NO_CUT, 0));
			CHECK(!zrig_append(&b, 1, 1, NL_FUA));
			b.flash.fail_program = round;
			r = zrig_append(&b, 0, 7, 0);
			CHECK(!r || r == -EROFS || r == -EIO, "append %d", r);
			r = round % 2 ? zrig_flush(&b) : stop(&b);
			if (spare)
				CHECK(!r, "flush or stop %d", r);
			else if (zrig_look(&b, 0).state == NL_ZONE_READONLY)
				CHECK(r == -EIO, "flush or stop %d", r);
			CHECK(!stop(&b) && !zrig_flush(&b) && zrig_settle(&b));
			CHECK(zrig_crash(&b, NL_NO_CUT, 0));
			zrig_destroy(&b);
		}
}

/* Without a spare block a zone is not gone on with at the cost of another one. */
static void test_no_spare(void)
{
	struct nl_config config = zrig_config(1, 4, 2, 2, 0);
	struct zrig b;
	u32 i;

	zrig_init(&b, &config, 2, 1);
	for (i = 4; i < b.flash.geo.nr_blocks; i++)
		CHECK(!nl_flash_mark_bad(&b.flash, i));
	CHECK(zrig_crash(&b, NL_NO_CUT, 0) && !zrig_append(&b, 0, 6, 0) &&
	      zrig_crash(&b, NL_NO_CUT, 0));
	CHECK(zrig_append(&b, 0, 1, 0) == -EIO && zrig_look(&b, 0).state == NL_ZONE_READONLY);
	CHECK(zrig_look(&b, 0).pointer == 6 && zrig_look(&b, 1).state == NL_ZONE_EMPTY);
	CHECK(!zrig_append(&b, 1, 8, 0) && zrig_verify(&b));
	/* but may be reset, which needs none */
	CHECK(zrig_look(&b, 0).stuck && zrig_append(&b, 0, 1, 0) == -EROFS);
	CHECK(zrig_manage(&b, 0, NL_ZONE_FINISH) == -EROFS);
	CHECK(!zrig_manage(&b, 0, NL_ZONE_RESET) && zrig_look(&b, 0).state == NL_ZONE_EMPTY);
	CHECK(!zrig_look(&b, 0).stuck && zrig_verify(&b) && !zrig_append(&b, 0, 8, 0) &&
	      zrig_verify(&b));
	CHECK(!zrig_manage(&b, 0, NL_ZONE_RESET) && !zrig_append(&b, 0, 3, 0) &&
	      zrig_crash(&b, NL_NO_CUT, 0));
	CHECK(zrig_append(&b, 0, 1, 0) == -EIO && zrig_look(&b, 0).stuck &&
	      zrig_look(&b, 0).pointer == 3);
	CHECK(zrig_crash(&b, NL_NO_CUT, 0) && zrig_look(&b, 0).state == NL_ZONE_CLOSED &&
	      zrig_verify(&b));
	zrig_destroy(&b);
}

static void test_erase_fails(void)
{
	struct nl_config config = zrig_config(2, 2, 0, 3, 0);
	struct nl_ftl_stat stat;
	u32 zone, spare, i;
	struct zrig b;

	zrig_init(&b, &config, 3, 1);
	for (zone = 0; zone < 3; zone++)
		CHECK(!zrig_append(&b, zone, 4, 0));
	nl_ftl_stat(b.ftl, &stat);
	spare = stat.zone_spare;
	CHECK(spare == stat.free_blocks && spare >= 2);
	for (i = 0; i < spare; i++) {
		b.flash.fail_erase = 1;
		CHECK(!zrig_manage(&b, 0, NL_ZONE_RESET) && !zrig_append(&b, 0, 4, 0) &&
		      zrig_verify(&b));
	}
	b.flash.fail_erase = 1;
	CHECK(zrig_manage(&b, 0, NL_ZONE_RESET) == -EIO &&
	      zrig_look(&b, 0).state == NL_ZONE_OFFLINE);
	CHECK(zrig_append(&b, 0, 1, 0) == -EIO && zrig_manage(&b, 0, NL_ZONE_RESET) == -EIO);
	CHECK(nl_ftl_read(b.ftl, 0, &(struct nl_buf *){ NULL },
			  &(struct nl_io){ .now = b.now }) == -EIO);
	b.zone[0] = (struct zrig_zone){ .generation = b.zone[0].generation + 1 };
	CHECK(zrig_verify(&b));
	CHECK(zrig_crash(&b, NL_NO_CUT, 0) && zrig_look(&b, 0).state == NL_ZONE_OFFLINE);
	CHECK(!zrig_manage(&b, 1, NL_ZONE_RESET) && !zrig_append(&b, 1, 4, 0) && zrig_verify(&b));
	zrig_destroy(&b);
}

static void test_no_memory(void)
{
	struct nl_config config = zrig_config(2, 3, 0, 3, 1);
	struct zrig b;

	zrig_init(&b, &config, 3, 1);
	CHECK(!zrig_append(&b, 0, 4, 0));
	CHECK(zrig_crash(&b, NL_NO_CUT, 0));
	/* the first write after a start moves a block, and goes on when there is memory again */
	shim_fail_alloc = 2;
	b.flash.nowait = true;
	CHECK(zrig_append(&b, 0, 1, 0) == -ENOMEM);
	shim_fail_alloc = 2;
	CHECK(zrig_append(&b, 1, 1, 0) == -ENOMEM);
	shim_fail_alloc = 0;
	b.flash.nowait = false;
	CHECK(zrig_verify(&b));
	CHECK(!zrig_manage(&b, 1, NL_ZONE_CLOSE) && zrig_verify(&b));
	CHECK(!zrig_append(&b, 0, 2, 0) && !zrig_append(&b, 1, 6, 0) && zrig_verify(&b));
	zrig_destroy(&b);
}

/*
 * Pages out of the write buffer: a program fails, and then there is no memory to copy what its
 * block has. The block is bad then: the next flush copies, before it programs anything.
 */
static void test_no_memory_buffered(void)
{
	struct nl_config config = zrig_config(1, 4, 2, 2, 1);
	u32 n, failed = 0;
	struct zrig b;
	int r;

	config.p[NL_P_BUFFER] = 4;
	for (n = 1; n < 6; n++) {
		zrig_init(&b, &config, 2, n);
		CHECK(!zrig_append(&b, 0, 4, NL_FUA) && !zrig_append(&b, 0, 3, 0) &&
		      !zrig_append(&b, 1, 1, 0));
		b.flash.fail_program = 1;
		b.flash.nowait = true;
		shim_fail_alloc = n;
		r = zrig_flush(&b);
		shim_fail_alloc = 0;
		b.flash.nowait = false;
		CHECK(!r || r == -ENOMEM, "%d", r);
		failed += !!r;
		CHECK(zrig_look(&b, 0).state == NL_ZONE_READONLY || !b.flash.fail_program);
		CHECK(!zrig_flush(&b) && zrig_verify(&b));
		CHECK(zrig_look(&b, 0).pointer == 7 && zrig_look(&b, 1).pointer == 1);
		CHECK(!b.flash.violations, "%s", b.flash.violation ?: "");
		CHECK(zrig_crash(&b, NL_NO_CUT, 0) && zrig_look(&b, 0).pointer == 7);
		zrig_destroy(&b);
	}
	CHECK(failed, "memory never was short");
}

/* --- cuts ------------------------------------------------------------------------------------- */

static int step(struct zrig *b, u32 at)
{
	switch (at) {
	case 0:
		return zrig_append(b, 0, 3, 0);
	case 1:
		return zrig_append(b, 1, 5, 0);
	case 2:
		return zrig_flush(b);
	case 3:
		return zrig_append(b, 0, 2, NL_FUA);
	case 4:
		return zrig_manage(b, 1, NL_ZONE_RESET);
	case 5:
		return zrig_append(b, 1, 2, 0);
	case 6:
		return zrig_manage(b, 0, NL_ZONE_FINISH);
	case 7:
		return zrig_append(b, 2, 6, 0);
	case 8:
		return zrig_manage(b, 2, NL_ZONE_RESET);
	case 9:
		return zrig_append(b, 2, 1, NL_FUA);
	case 10:
		return zrig_manage(b, 0, NL_ZONE_RESET);
	default:
		return zrig_append(b, 0, 3, NL_FUA);
	}
}

/* All of it, until the power goes. */
static bool run(struct zrig *b)
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
static bool fill(struct zrig *b)
{
	u32 zone;
	int r = 0;

	for (zone = 0; zone < b->zones && !r; zone++) {
		struct nl_zone_info info = zrig_look(b, zone);

		if (info.state == NL_ZONE_EMPTY || info.state == NL_ZONE_CLOSED)
			r = zrig_append(b, zone, b->shape.capacity - info.pointer, 0);
	}
	if (!r)
		r = zrig_flush(b);
	CHECK(!r || r == -ESHUTDOWN, "after a cut: %d", r);
	return r == -ESHUTDOWN;
}

static void cut_everywhere(u32 buffer, u32 planes, u32 pages, u32 blocks)
{
	struct nl_config config = zrig_config(planes, pages, blocks, 3, 0);
	u32 first, second;
	bool cut = true, again;
	struct zrig b;
	enum nl_tear tear;

	config.p[NL_P_BUFFER] = buffer;
	for (first = 0; cut && !ktap_failing(); first++)
		for (tear = 0; tear < NL_NR_TEARS; tear++)
			for (second = 0, again = true; again && !ktap_failing(); second++) {
				zrig_init(&b, &config, 3, first);
				nl_flash_cut(&b.flash, first, tear);
				cut = run(&b);
				/* the second in the start, or in what follows it */
				if (cut && zrig_crash(&b, second, (tear + second) % NL_NR_TEARS)) {
					nl_flash_cut(&b.flash, second, (tear + 1) % NL_NR_TEARS);
					again = fill(&b);
					zrig_crash(&b, NL_NO_CUT, 0);
					fill(&b);
					zrig_verify(&b);
				} else {
					again = false;
				}
				CHECK(!b.flash.violations, "%s", b.flash.violation ?: "");
				zrig_destroy(&b);
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

static int mixed(struct zrig *b)
{
	u32 zone = zrig_random(b, b->zones), count = 1 + zrig_random(b, b->shape.capacity);
	u32 flags = zrig_random(b, 4) ? 0 : NL_FUA;

	switch (zrig_random(b, 16)) {
	case 0:
	case 1:
		return zrig_manage(b, zone, NL_ZONE_RESET);
	case 2:
		return zrig_manage(b, zone, NL_ZONE_FINISH);
	case 3:
		return zrig_manage(b, zone, NL_ZONE_OPEN);
	case 4:
		return zrig_manage(b, zone, NL_ZONE_CLOSE);
	case 5:
		return zrig_flush(b);
	case 6:
		return zrig_write(b, zone * b->shape.size + count - 1, flags);
	default:
		return zrig_append(b, zone, 1 + count / 3, flags);
	}
}

/* Anything in any order, blocks that fail and cuts. */
static void random_mix(bool failing)
{
	u32 round, i;

	for (round = 0; round < 150 && !ktap_failing(); round++) {
		struct nl_config config;
		struct zrig b = { .random = ktap_seed + round };
		u32 zones = 2 + zrig_random(&b, 6), planes = 1 + zrig_random(&b, 3);

		config = zrig_config(planes, 2 + zrig_random(&b, 5), zrig_random(&b, 4), zones,
			      zrig_random(&b, 4));
		config.p[NL_P_BUFFER] = zrig_random(&b, 2) * 5;
		config.p[NL_P_MAX_OPEN] = zrig_random(&b, 4);
		config.p[NL_P_MAX_ACTIVE] = zrig_random(&b, 2) * 4;
		zrig_init(&b, &config, zones, ktap_seed + round);
		for (i = 0; i < 300 && !ktap_failing(); i++) {
			int r;

			if (failing && !zrig_random(&b, 60))
				b.flash.fail_program = 1 + zrig_random(&b, 20);
			if (failing && !zrig_random(&b, 60))
				b.flash.fail_erase = 1 + zrig_random(&b, 6);
			if (!zrig_random(&b, 25))
				nl_flash_cut(&b.flash, zrig_random(&b, 30),
					     zrig_random(&b, NL_NR_TEARS));
			r = mixed(&b);
			CHECK(r == -ESHUTDOWN || !r || r == -EINVAL || r == -ENOSPC ||
			      r == -EOVERFLOW || r == -ETOOMANYREFS ||
			      (failing && (r == -EIO || r == -EROFS)), "%d", r);
			if (r == -ESHUTDOWN)
				zrig_crash(&b, zrig_random(&b, 8), zrig_random(&b, NL_NR_TEARS));
			else
				zrig_verify(&b);
		}
		CHECK(!b.flash.violations, "%s", b.flash.violation ?: "");
		zrig_destroy(&b);
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
	struct nl_config config = zrig_config(2, 4, 0, 4, 4);
	struct zrig b;

	zrig_init(&b, &config, 4, 1);
	CHECK(!zrig_append(&b, 0, 3, 0));
	nl_ftl_destroy(b.ftl);
	b.ftl = NULL;
	b.config.p[NL_P_ZONE_BLOCKS] = 4;
	b.zones = 2;
	CHECK(!nl_zone_shape(&b.shape, &b.config) && zrig_open(&b) == -EMEDIUMTYPE);
	b.config.p[NL_P_ZONE_BLOCKS] = 0;
	b.config.p[NL_P_FTL] = NL_FTL_PAGE;
	CHECK(zrig_open(&b) == -EMEDIUMTYPE);
	zrig_destroy(&b);
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
