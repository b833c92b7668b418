// SPDX-License-Identifier: GPL-2.0-only
/*
 * See give_up.h.
 *
 * Of a member that is lost all of its extents are given up.  Of one that is there each granule is
 * read, and only those are that can't be, twice: the rest of the extent can be copied then, as a
 * copy leaves out what is not written.  Discards are as durable as any, after a flush: a cut
 * leaves some of them done, and an error where the others were to be.
 *
 * Between a read that fails and its discard somebody may write there, and would lose what he wrote.
 * So nobody else has the volume meanwhile; a file system would not know, either, that what it has
 * seen is zeroes by now.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/entry.h"

#include "bdev.h"
#include "extents.h"
#include "give_up.h"
#include "msg.h"
#include "progress.h"
#include "ranges.h"
#include "units.h"

#define STEP	(1ull << 30)	/* bytes that one discard is about: often enough to tell of */
#define SECONDS	5u		/* between lines, where there is no terminal */

struct giving {
	struct bdev dev;		/* the volume */
	uint64_t extent, granule;	/* bytes */
	void *buf;			/* of an extent */
	struct ranges gone;		/* bytes */
	struct progress progress;
	uint64_t done, total;		/* bytes */
};

static int volume_open(const struct live *l, struct bdev *dev)
{
	char *path = xasprintf("/dev/mapper/%s", l->name), *users;
	int err = bdev_open(dev, path, BDEV_WRITE | BDEV_EXCL);
	struct bdev other;

	if (err == -EBUSY && !bdev_open(&other, path, 0)) {
		users = bdev_users(other.rdev);
		fail("%s: is in use (%s): what can't be read may be given up only while nobody else has the volume",
		     l->name, users ? users : "by a program");
		free(users);
		bdev_close(&other);
	} else if (err) {
		fail("%s: %s", path, strerror(-err));
	}
	free(path);
	return err ? EXIT_FAILED : EXIT_OK;
}

int give_up_may(const struct live *l)
{
	struct bdev dev;
	int err = volume_open(l, &dev);

	if (!err)
		bdev_close(&dev);
	return err;
}

static void tell(struct giving *g, bool end)
{
	progress_tell(&g->progress, g->done, g->total, end);
}

static int discard(struct giving *g, uint64_t at, uint64_t len)
{
	int err = bdev_discard(&g->dev, at, len);

	if (err)
		return fail("%s: sectors %llu to %llu can't be discarded: %s", g->dev.path,
			    (unsigned long long)(at / SECTOR_SIZE),
			    (unsigned long long)((at + len) / SECTOR_SIZE - 1), strerror(-err));
	ranges_add(&g->gone, at, len);
	return EXIT_OK;
}

/* What the media say of it, not the way to them: that may be there again later. */
static bool is_unreadable(int err)
{
	return err == -EIO || err == -ENODATA || err == -EILSEQ;
}

/* 0: it can be read; 1: it can't, whoever tries; EXIT_FAILED + 1: that can't be told, printed. */
static int look(const struct giving *g, uint64_t at, uint64_t len)
{
	int err = bdev_read(&g->dev, at, g->buf, len);

	if (is_unreadable(err))
		err = bdev_read(&g->dev, at, g->buf, len);
	if (!err || is_unreadable(err))
		return err ? 1 : 0;
	return fail("%s: sector %llu: %s", g->dev.path, (unsigned long long)(at / SECTOR_SIZE),
		    strerror(-err)) + 1;
}

/* Granules of [@at, @end), which is an extent, or the last part of one. */
static int unreadable_granules(struct giving *g, uint64_t at, uint64_t end)
{
	uint64_t len;
	int bad, err = EXIT_OK;

	for (; at < end && !err; at += len) {
		len = end - at < g->granule ? end - at : g->granule;
		bad = look(g, at, len);
		if (bad)
			err = bad == 1 ? discard(g, at, len) : EXIT_FAILED;
	}
	return err;
}

static int unreadable(struct giving *g, uint64_t at, uint64_t end)
{
	uint64_t len;
	int err = EXIT_OK;

	for (; at < end && !err; at += len, g->done += len) {
		len = end - at < g->extent ? end - at : g->extent;
		tell(g, false);
		if (bdev_read(&g->dev, at, g->buf, len))
			err = unreadable_granules(g, at, at + len);
	}
	return err;
}

static int everything(struct giving *g, uint64_t at, uint64_t end)
{
	uint64_t len;
	int err = EXIT_OK;

	for (; at < end && !err; at += len, g->done += len) {
		len = end - at < STEP ? end - at : STEP;
		tell(g, false);
		err = discard(g, at, len);
	}
	return err;
}

static int walk(struct giving *g, const struct extents *e, bool lost)
{
	uint64_t size = g->dev.sectors * SECTOR_SIZE, at, end;
	unsigned int i;
	int err = EXIT_OK;

	for (i = 0; i < e->nr && !err; i++) {
		at = e->range[i].first * g->extent;
		end = at + e->range[i].nr * g->extent;
		end = end < size ? end : size;
		err = lost ? everything(g, at, end) : unreadable(g, at, end);
	}
	if (!err && g->gone.nr && bdev_flush(&g->dev))
		err = fail("%s: what was given up may not be so after a power failure: the flush failed",
			   g->dev.path);
	return err;
}

/* For good, and nowhere else to be seen. */
static void say(const struct live *l, struct giving *g, unsigned int i)
{
	char size[UNIT_TEXT];
	unsigned long k;

	ranges_settle(&g->gone);
	if (!g->gone.nr)
		return;
	note("%s: given up %s on member %u, which read as zeroes now:", l->name,
	     human_bytes(size, ranges_sum(&g->gone)), i);
	for (k = 0; k < g->gone.nr; k++)
		note("  sectors %llu to %llu",
		     (unsigned long long)(g->gone.range[k].first / SECTOR_SIZE),
		     (unsigned long long)((g->gone.range[k].first + g->gone.range[k].nr) /
					  SECTOR_SIZE - 1));
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

int give_up(const struct live *l, unsigned int i, uint64_t *bytes)
{
	struct giving g = { .extent = l->st.extent_sectors * SECTOR_SIZE };
	struct extents e;
	int err;

	*bytes = 0;
	if (volume_open(l, &g.dev))
		return EXIT_FAILED;
	err = ask(l, i, &e);
	if (!err) {
		g.granule = g.extent / ek_granules(l->st.extent_sectors);
		g.buf = bdev_buffer(g.extent);
		g.total = extents_sum(&e) * g.extent;
		progress_init(&g.progress, "Looking for what can't be read", SECONDS,
			      isatty(STDOUT_FILENO), progress_now());
		err = walk(&g, &e, !l->st.dev[i].present);
		if (g.progress.told)
			tell(&g, true);
		say(l, &g, i);
		*bytes = ranges_sum(&g.gone);
		free(g.buf);
	}
	ranges_free(&g.gone);
	extents_free(&e);
	bdev_close(&g.dev);
	return err;
}
