// SPDX-License-Identifier: GPL-2.0-only
/*
 * See give_up.h.
 *
 * Of a member that is lost all of its extents are given up.  Of one that is there each granule is
 * read, and only those are that can't be, three times, the last of them when its label can: the
 * rest of the extent can be copied then, as a copy leaves out what is not written.  A discard is
 * durable after a flush: a cut leaves some of them done, and errors where the others were to be.
 *
 * Between a read that fails and its discard somebody may write there, and would lose what he wrote.
 * So nobody else has the volume, which is looked at before each discard; a file system would not
 * know, either, that what it has seen is zeroes by now.
 *
 * What is gone can't be seen anywhere afterwards, so it is printed at once, and a signal ends the
 * work between two discards.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "evenkeel/entry.h"

#include "area.h"
#include "dm.h"
#include "extents.h"
#include "give_up.h"
#include "interrupt.h"
#include "msg.h"
#include "owner.h"
#include "pool.h"
#include "progress.h"
#include "sole.h"
#include "units.h"

#define STEP	(1ull << 30)	/* bytes that one discard is about: often enough to tell of */
#define SECONDS	5u		/* between lines, where there is no terminal */
#define AGAIN	5u		/* looks, a second each, at what can't be looked at */
#define FLUSHES	3		/* up to two tell of what was lost before */

struct giving {
	const struct live *l;
	unsigned int i;			/* member */
	struct bdev dev;		/* the volume */
	uint64_t extent, granule;	/* bytes */
	void *buf;			/* of an extent */
	uint64_t at, len;		/* the last range that is gone, not printed yet; bytes */
	uint64_t gone;			/* bytes */
	struct progress progress;
	int64_t told;			/* seconds */
	int64_t judged;			/* likewise: that one which is lost is not there */
	uint64_t done, total;		/* bytes */
};

/* --- may it be? --- */

/* A device that came late is taken back by "attach", with all that is on it; no part of one is. */
static int tell_there(const struct live *l, unsigned int i, const char *path)
{
	struct area area[AREA_MAX];
	struct bdev dev;
	char *owner = NULL;
	int nr, err;

	if (!bdev_open(&dev, path, 0)) {
		nr = area_find(&dev, area, &err);
		if (nr > 0 && !bdev_has_holders(dev.rdev))
			owner = owner_of(&dev, area, nr);
		bdev_close(&dev);
	}
	if (owner)
		err = fail("%s: member %u is there: %s %s: \"hybridctl attach %s\" takes back what is made of that",
			   l->name, i, path, owner, l->name);
	else
		err = fail("%s: member %u is there (%s): \"hybridctl attach %s %s\" takes it back",
			   l->name, i, path, l->name, path);
	free(owner);
	return err;
}

/* @unseen: what can't be looked at, and may be it; NULL: there is none; free(). */
static int look_for_lost(const struct live *l, unsigned int i, char **unseen)
{
	struct pools pools;
	struct pool *p;
	unsigned int k;
	int err = pools_scan_owned(&pools, l->st.dev[i].total * l->st.extent_sectors);

	*unseen = NULL;
	if (err)
		return fail("can't look for member %u: %s", i, strerror(-err));
	for (k = 0; k < pools.nr && !err; k++) {
		p = &pools.pool[k];
		if (memcmp(p->uuid, l->info.pool_uuid, EK_UUID_SIZE))
			continue;
		pool_settle(p);
		if (p->member[i].there)
			err = tell_there(l, i, p->member[i].path);
	}
	*unseen = pools.unseen;
	pools.unseen = NULL;
	pools_free(&pools);
	return err;
}

static int judge_lost(const struct live *l, unsigned int i)
{
	char *unseen;
	int err = look_for_lost(l, i, &unseen);

	if (!err && unseen)
		err = fail("%s: %s may be member %u, and can't be looked at: nothing is given up before it can, or is gone",
			   l->name, unseen, i);
	free(unseen);
	return err;
}

/* A disk that was pulled fails each read, and is whole. */
static int judge_present(const struct live *l, unsigned int i)
{
	return live_answers(&l->t.dev[i]) == LIVE_ANSWERS ? EXIT_OK :
	       fail("%s: member %u does not answer, not even with its label: nothing is given up (if it is dead, \"hybridctl detach\" it, take it out, and give the command again)",
		    l->name, i);
}

static int judge(const struct live *l, unsigned int i)
{
	return l->st.dev[i].present ? judge_present(l, i) : judge_lost(l, i);
}

int give_up_may(const struct live *l, unsigned int i)
{
	struct bdev dev;
	int err = judge(l, i);

	if (err || sole_open(&dev, l->name))
		return EXIT_FAILED;
	bdev_close(&dev);
	return EXIT_OK;
}

/* --- what is told --- */

static void tell(struct giving *g, bool end)
{
	int64_t now = progress_now();

	if (!end && now == g->told)
		return;
	g->told = now;
	progress_tell(&g->progress, g->done, g->total, end);
}

static void begin_line(const struct giving *g)
{
	if (g->progress.tty && g->progress.told)
		printf("\r\033[K");
}

static void say(struct giving *g)
{
	if (!g->len)
		return;
	begin_line(g);
	note("%s: given up, and zeroes from now on: sectors %llu to %llu", g->l->name,
	     (unsigned long long)(g->at / SECTOR_SIZE),
	     (unsigned long long)((g->at + g->len) / SECTOR_SIZE - 1));
	fflush(stdout);
	g->len = 0;
}

static void gone(struct giving *g, uint64_t at, uint64_t len)
{
	g->gone += len;
	if (g->len && g->at + g->len == at) {
		g->len += len;
		return;
	}
	say(g);
	g->at = at;
	g->len = len;
}

/* --- one range --- */

static int wrong(const struct giving *g, uint64_t at, const char *what)
{
	begin_line(g);
	return fail("%s: sector %llu: %s", g->l->name, (unsigned long long)(at / SECTOR_SIZE),
		    what);
}

/* It may have been done to some of the range before it failed. */
static int discard_failed(const struct giving *g, uint64_t at, uint64_t len, int err)
{
	begin_line(g);
	return fail("%s: sectors %llu to %llu: %s, and how much of that was given up before is not known",
		    g->l->name, (unsigned long long)(at / SECTOR_SIZE),
		    (unsigned long long)((at + len) / SECTOR_SIZE - 1), strerror(-err));
}

/* Somebody has found the cable, and has it stay: what fails to be read may not soon. */
static bool is_cancelled(const struct giving *g)
{
	struct standing s;

	return g->l->st.dev[g->i].present && live_standing(g->l->name, g->l->st.nr_devs, &s) &&
	       !s.dev[g->i].leaving;
}

/*
 * The pool's lock is not held for all of the work. Detached meanwhile all of a member fails to be
 * read at once, as whole as its disk may be; attached it has come back.
 */
static bool is_other_table(const struct giving *g)
{
	char *params, why[96];
	uint64_t sectors;
	struct table t;
	bool other = true;

	if (dm_get_table(g->l->name, &params, &sectors))
		return true;
	if (table_parse(params, &t, why, sizeof(why))) {
		other = g->i >= t.nr_devs || strcmp(t.dev[g->i].dev, g->l->t.dev[g->i].dev);
		table_free(&t);
	}
	free(params);
	return other;
}

static int discard(struct giving *g, uint64_t at, uint64_t len)
{
	int err;

	if (interrupted)
		return wrong(g, at, "interrupted here: the rest is as it was, give the command again");
	/* Nothing is given up that nobody is told of. */
	if (ferror(stdout))
		return wrong(g, at, "nobody reads what is told any more: the rest is as it was");
	if (!sole_is(g->l->name))
		return wrong(g, at, "somebody else has opened the volume: the rest is as it was");
	if (is_cancelled(g))
		return wrong(g, at, "the member is to stay after all: the rest is as it was");
	if (is_other_table(g))
		return wrong(g, at, "the member was detached or attached meanwhile: the rest is as it was, give the command again");
	err = bdev_discard(&g->dev, at, len);
	if (err)
		return discard_failed(g, at, len, err);
	gone(g, at, len);
	return EXIT_OK;
}

/* What is said of the media, as far as anybody can tell. */
static bool is_unreadable(int err)
{
	return err == -EIO || err == -ENODATA || err == -EILSEQ || err == -EREMOTEIO;
}

/* 0: it can be read; 1: it can't; -1: that can't be told, printed. */
static int look_once(const struct giving *g, uint64_t at, uint64_t len)
{
	int err = bdev_read(&g->dev, at, g->buf, len);

	if (!err || is_unreadable(err))
		return err ? 1 : 0;
	wrong(g, at, strerror(-err));
	return -1;
}

/* Likewise, whoever tries. */
static int look(const struct giving *g, uint64_t at, uint64_t len)
{
	int r = look_once(g, at, len);

	return r > 0 ? look_once(g, at, len) : r;
}

/* What is left moves only if that has helped. */
static int discard_unreadable(struct giving *g, uint64_t at, uint64_t len)
{
	int err = discard(g, at, len);

	if (!err && bdev_read(&g->dev, at, g->buf, len))
		err = wrong(g, at, "still can't be read, though it was discarded");
	return err;
}

/*
 * What was found to be so while others were looked at is looked at again.  A disk that dropped off
 * meanwhile, at a bad place as a rule, fails all reads: what it has is not given up.  Nor is it if
 * the disk has come back since, and answers with its label by now.
 */
static int discard_if_still_bad(struct giving *g, uint64_t at, uint64_t len)
{
	int r = look(g, at, len);

	if (r > 0)
		r = judge_present(g->l, g->i) ? -1 : look_once(g, at, len);
	if (r <= 0)
		return r ? EXIT_FAILED : EXIT_OK;
	return discard_unreadable(g, at, len);
}

/* The kernel has gone on since it was asked what is there.  1: it has moved. */
static int is_elsewhere(const struct giving *g, uint64_t at)
{
	char *message = xasprintf("entry %llu", (unsigned long long)(at / g->extent));
	char *reply = NULL, *why = NULL;
	unsigned int member = 0;
	int r = -1;

	if (dm_message(g->l->name, message, &reply, &why))
		wrong(g, at, why ? why : "the kernel can't tell where it is");
	else
		r = !reply || sscanf(reply, "%u", &member) != 1 || member != g->i;
	free(message);
	free(reply);
	free(why);
	return r;
}

/* How much of a granule that begins @from there is in @len bytes. */
static uint64_t granule_in(const struct giving *g, uint64_t from, uint64_t len)
{
	return len - from < g->granule ? len - from : g->granule;
}

/* @bad: a bit for each granule that can't be read.  As @read: whether none can. */
static int look_at_granules(const struct giving *g, uint64_t at, uint64_t len, uint64_t *bad,
			    int (*read)(const struct giving *g, uint64_t at, uint64_t len))
{
	uint64_t from, bit = 1;
	int r = 0;

	*bad = 0;
	for (from = 0; from < len && r >= 0; from += g->granule, bit <<= 1) {
		r = read(g, at + from, granule_in(g, from, len));
		*bad |= r > 0 ? bit : 0;
	}
	return r < 0 ? r : *bad == bit - 1;
}

/* [@at, @at + @len) is an extent, or what the volume has of its last one, and can't be read. */
static int give_up_part(struct giving *g, uint64_t at, uint64_t len)
{
	uint64_t from, bad;
	int r = is_elsewhere(g, at);

	if (r)
		return r > 0 ? EXIT_OK : EXIT_FAILED;
	r = look_at_granules(g, at, len, &bad, look);
	/* As in discard_if_still_bad(). */
	if (r > 0)
		r = judge_present(g->l, g->i) ? -1 : look_at_granules(g, at, len, &bad, look_once);
	/* Of one that has nothing to be copied nothing is left, and it need not be moved. */
	if (r)
		return r < 0 ? EXIT_FAILED : discard_unreadable(g, at, len);
	for (from = 0; from < len && !r; from += g->granule, bad >>= 1)
		if (bad & 1)
			r = discard_if_still_bad(g, at + from, granule_in(g, from, len));
	return r;
}

static int unreadable(struct giving *g, uint64_t at, uint64_t len)
{
	if (interrupted)
		return wrong(g, at, "interrupted here: the rest is as it was, give the command again");
	return bdev_read(&g->dev, at, g->buf, len) ? give_up_part(g, at, len) : EXIT_OK;
}

/* --- all that is there --- */

/* Another that fails, or is locked, does so for a moment as a rule: nothing is given up in that. */
static int wait_until_seen(const struct giving *g, bool *seen)
{
	struct timespec nap = { 1, 0 };
	unsigned int n;
	char *unseen;
	int err;

	for (n = 0; n < AGAIN && !interrupted; n++) {
		err = look_for_lost(g->l, g->i, &unseen);
		*seen = !unseen;
		free(unseen);
		if (err || *seen)
			return err;
		nanosleep(&nap, NULL);
	}
	return EXIT_OK;
}

/* It takes hours, in which the device may come back. */
static int still_lost(struct giving *g)
{
	bool seen = false;
	int err;

	if (progress_now() - g->judged < SECONDS)
		return EXIT_OK;
	pools_quietly(true);
	err = wait_until_seen(g, &seen);
	pools_quietly(false);
	if (!err && !seen && !interrupted)
		err = judge_lost(g->l, g->i);
	g->judged = progress_now();
	return err;
}

static int give_up_lost(struct giving *g, uint64_t at, uint64_t len)
{
	int err = still_lost(g);

	return err ? err : discard(g, at, len);
}

static int range(struct giving *g, uint64_t at, uint64_t end)
{
	bool lost = !g->l->st.dev[g->i].present;
	uint64_t len, step = lost ? STEP : g->extent;
	int err = EXIT_OK;

	while (at < end && !err) {
		len = end - at < step ? end - at : step;
		tell(g, false);
		err = lost ? give_up_lost(g, at, len) : unreadable(g, at, len);
		at += len;
		g->done += err ? 0 : len;
	}
	return err;
}

/* Also of what was discarded before: what is to be freed then is so. */
static int flush(const struct giving *g)
{
	unsigned int n;

	for (n = 0; n < FLUSHES; n++)
		if (!bdev_flush(&g->dev)) {
			if (n)
				warn("%s: a flush failed, as writes had been lost with a member before: see the kernel's log",
				     g->l->name);
			return EXIT_OK;
		}
	return fail("%s: what was given up may not be so after a power failure: the flush failed",
		    g->l->name);
}

static int walk(struct giving *g, const struct extents *e)
{
	uint64_t size = g->dev.sectors * SECTOR_SIZE, at, end;
	int err = EXIT_OK, flushed;
	unsigned int k;

	for (k = 0; k < e->nr && !err; k++) {
		at = e->range[k].first * g->extent;
		end = at + e->range[k].nr * g->extent;
		err = range(g, at, end < size ? end : size);
	}
	say(g);
	flushed = flush(g);
	if (g->progress.told)
		tell(g, true);
	return err ? err : flushed;
}

static int ask(const struct live *l, unsigned int i, struct extents *e)
{
	char *question = xasprintf("holds %u", i);

	extents_ask(e, l->name, question);
	free(question);
	if (!e->partly)
		return EXIT_OK;
	return fail("%s: not all that is on member %u could be found out: nothing is given up",
		    l->name, i);
}

static int give_up_all(struct giving *g)
{
	char size[UNIT_TEXT];
	struct extents e;
	int err = ask(g->l, g->i, &e);

	if (!err) {
		g->buf = bdev_buffer(g->extent);
		g->total = extents_sum(&e) * g->extent;
		progress_init(&g->progress, "Giving up what can't be read", SECONDS,
			      isatty(STDOUT_FILENO), progress_now());
		catch_interrupts();
		err = walk(g, &e);
		let_interrupts();
		if (g->gone)
			note("%s: given up %s on member %u", g->l->name,
			     human_bytes(size, g->gone), g->i);
		free(g->buf);
	}
	extents_free(&e);
	return err;
}

int give_up(const struct live *l, unsigned int i, uint64_t *bytes)
{
	struct giving g = {
		.l = l, .i = i, .extent = l->st.extent_sectors * SECTOR_SIZE,
		.judged = progress_now(),
	};
	int err;

	*bytes = 0;
	if (judge(l, i) || sole_open(&g.dev, l->name))
		return EXIT_FAILED;
	g.granule = g.extent / ek_granules(l->st.extent_sectors);
	err = give_up_all(&g);
	*bytes = g.gone;
	bdev_close(&g.dev);
	return err;
}
