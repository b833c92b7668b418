// SPDX-License-Identifier: GPL-2.0-only
#include <evenkeel/scm.h>
#include "crash.h"
#include "ktap.h"

#define LEN	4096

static u8 mem[LEN] __aligned(64), before[LEN], data[LEN];
static struct scm_log scm_log;

static void begin(void)
{
	unsigned int i;

	for (i = 0; i < LEN; i++)
		data[i] = get_random_u32() | 1;
	memset(mem, 0, LEN);
	memset(before, 0, LEN);
	crash_log_init(&scm_log, mem, LEN, 4096, 1 << 20);
	CHECK(!scm_record_start(&scm_log));
}

static void end(void)
{
	scm_record_stop();
	CHECK(!scm_log.full);
}

static void copies(void)
{
	unsigned int i, from, at, len;
	u8 want[LEN];

	memset(mem, 0, LEN);
	memset(want, 0, LEN);
	for (i = 0; i < 5000; i++) {
		from = get_random_u32() % 64;
		at = get_random_u32() % 2000;
		len = get_random_u32() % (i % 2 ? 20 : 2000);
		if (i % 3 == 0) {
			scm_zero_nt(mem + at, len);
			memset(want + at, 0, len);
		} else {
			if (i % 3 == 1)
				scm_copy_nt(mem + at, data + from, len);
			else
				scm_store(mem + at, data + from, len);
			memcpy(want + at, data + from, len);
		}
		scm_flush(mem + at, len);
		scm_fence();
		if (!CHECK(!memcmp(mem, want, LEN), "at %u, %u bytes", at, len))
			break;
	}
}

static void recorded(void)
{
	u64 word = 0x1122334455667788ULL;

	begin();
	scm_store(mem + 8, data, 3);
	scm_store64((u64 *)(mem + 64), word);
	scm_copy_nt(mem + 100, data, 50);
	scm_flush(mem + 8, 3);
	scm_fence();
	scm_copy_nt(before, data, 4);	/* elsewhere: not of interest */
	end();
	CHECK(scm_log.nr_events == 5, "%u events", scm_log.nr_events);
	CHECK(scm_log.event[0].type == SCM_STORE && scm_log.event[0].offset == 8);
	CHECK(scm_log.event[0].len == 3 && !memcmp(scm_log.bytes, data, 3));
	CHECK(scm_log.event[1].offset == 64 && scm_log.event[1].len == 8);
	CHECK(!memcmp(scm_log.bytes + scm_log.event[1].data, &word, 8));
	CHECK(scm_log.event[2].type == SCM_STORE_NT && scm_log.event[2].len == 50);
	CHECK(scm_log.event[3].type == SCM_FLUSH && scm_log.event[3].offset == 8);
	CHECK(scm_log.event[4].type == SCM_FENCE);
	crash_log_free(&scm_log);
}

static void recorder_limits(void)
{
	struct scm_log second;

	begin();
	crash_log_init(&second, mem + 8, 16, 2, 12);
	CHECK(scm_record_start(&second) == -EBUSY);
	scm_record_stop();
	CHECK(!scm_record_start(&second));
	scm_store(mem, data, 20);		/* the 12 bytes of it that are in the region */
	scm_store(mem + 24, data, 8);		/* begins where it ends */
	scm_fence();
	CHECK(!second.full && second.nr_events == 2 && second.nr_bytes == 12);
	CHECK(!memcmp(second.bytes, data + 8, 12) && !second.event[0].offset);
	scm_fence();
	CHECK(second.full);
	scm_record_stop();
	scm_store(mem, data, 4);
	CHECK(second.nr_events == 2);
	crash_log_free(&second);
	crash_log_free(&scm_log);
}

struct seen {
	u32 point;
	u64 states;
	bool torn, old, new;
};

static void look(u8 *now, u32 point, void *arg)
{
	struct seen *seen = arg;
	bool none = !memcmp(now, before, 16), all = !memcmp(now, data, 16);

	if (point != seen->point)
		return;
	seen->states++;
	seen->old |= none;
	seen->new |= all;
	seen->torn |= !none && !all;
}

static struct seen at_point(u32 point)
{
	struct seen seen = { .point = point };

	crash_each(&scm_log, before, 10, look, &seen);
	return seen;
}

static void enumerated(void)
{
	struct seen seen;

	begin();
	scm_copy_nt(mem, data, 16);	/* 0: two words, each by itself */
	scm_fence();			/* 1 */
	end();
	seen = at_point(0);
	CHECK(seen.states == 1 && seen.old);
	seen = at_point(1);
	CHECK(seen.states == 4 && seen.old && seen.new && seen.torn);
	seen = at_point(2);
	CHECK(seen.states == 1 && seen.new);
	crash_log_free(&scm_log);

	begin();
	scm_store(mem, data, 16);	/* 0: two words of a line, in their order */
	scm_fence();			/* 1: of no use */
	scm_flush(mem + 3, 1);		/* 2: of the line */
	scm_fence();			/* 3 */
	end();
	CHECK(at_point(1).states == 3);
	CHECK(at_point(2).states == 3);
	CHECK(at_point(3).states == 3);
	seen = at_point(4);
	CHECK(seen.states == 1 && seen.new);
	crash_log_free(&scm_log);

	begin();
	scm_flush(mem, 16);		/* too early */
	scm_store(mem, data, 16);
	scm_fence();
	end();
	CHECK(at_point(3).states == 3);
	crash_log_free(&scm_log);
}

/* What one task flushes, or stores past the cache, another's fence doesn't wait for. */
static void of_tasks(void)
{
	struct seen seen;

	begin();
	shim_task = 1 * SCM_LINE;
	scm_copy_nt(mem, data, 8);	/* 0 */
	scm_store(mem + 8, data + 8, 8);	/* 1 */
	scm_flush(mem + 8, 8);		/* 2 */
	shim_task = 2 * SCM_LINE;
	scm_fence();			/* 3: of no use */
	scm_flush(mem + 8, 8);		/* 4: the other's store, by whom it is seen */
	scm_fence();			/* 5 */
	shim_task = 1 * SCM_LINE;
	scm_fence();			/* 6 */
	shim_task = 0;
	end();
	CHECK(at_point(3).states == 4);
	CHECK(at_point(4).states == 4);
	seen = at_point(6);
	CHECK(seen.states == 2 && !seen.old && seen.new && seen.torn);
	seen = at_point(7);
	CHECK(seen.states == 1 && seen.new);
	crash_log_free(&scm_log);
}

static void look_each(u8 *now, u32 point, void *arg)
{
	struct seen *seen = arg;

	if (point == seen->point)
		look(now, point, arg);
}

static struct seen some_at(u32 point, unsigned int most)
{
	struct seen seen = { .point = point };

	crash_some(&scm_log, before, 0, most, look_each, &seen);
	return seen;
}

static void by_lot(void)
{
	u8 content[LEN];
	struct seen seen;

	begin();
	scm_copy_nt(mem, data, 16);	/* 0 */
	scm_fence();			/* 1 */
	scm_store(mem + 64, data, 8);	/* 2: never flushed */
	end();
	seen = some_at(1, 4);
	CHECK(seen.states == 4 && seen.old && seen.new && seen.torn);
	seen = some_at(1, 2);
	CHECK(seen.states == 2 && seen.old && seen.new && !seen.torn);
	CHECK(some_at(1, 1).states == 1);
	CHECK(!some_at(0, 4).states && !some_at(2, 4).states);
	seen = some_at(3, 1);
	CHECK(seen.states == 1 && seen.new);
	memcpy(content, before, LEN);
	crash_none(&scm_log, content);
	CHECK(!memcmp(content, mem, LEN));
	crash_log_free(&scm_log);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	shim_seed(ktap_seed);
	ktap_run("scm: stores, copies and zeroes of any alignment arrive", copies);
	ktap_run("scm: the recorder has what was done, in its order", recorded);
	ktap_run("scm: the recorder keeps to its region and says when it is full", recorder_limits);
	ktap_run("scm: a power cut leaves what flushes and fences allow, and all of that", enumerated);
	ktap_run("scm: and that a task's fence is for what it has done itself", of_tasks);
	ktap_run("scm: or as much of it as is asked for", by_lot);
	return ktap_done();
}
