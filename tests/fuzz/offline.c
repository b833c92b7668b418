// SPDX-License-Identifier: GPL-2.0-only
/*
 * hybridctl's offline check of an edited pool, labels and all.  What it finds no
 * fault with has none: every extent is used once and marked so.
 */
#include <errno.h>
#include <string.h>

#include <evenkeel/entry.h>

#include "check.h"
#include "edited.h"
#include "fuzz.h"
#include "msg.h"

static struct media *media;
static unsigned int areas;

/* Devices "0" and "1" are the media's areas, as far as the input has them. */
int bdev_open(struct bdev *dev, const char *path, unsigned int flags)
{
	unsigned int area = path[0] - '0';

	(void)flags;
	if (area >= media->nr || !(areas & 1u << area))
		return -ENOENT;
	memset(dev, 0, sizeof(*dev));
	dev->path = strdup(path);
	dev->fd = area;
	dev->sectors = pool_area_bytes() / SECTOR_SIZE;
	return 0;
}

void bdev_close(struct bdev *dev)
{
	free(dev->path);
}

int bdev_read(const struct bdev *dev, uint64_t offset, void *buf, size_t len)
{
	uint64_t bytes = dev->sectors * SECTOR_SIZE;

	MUST(!(offset % EK_BLOCK_SIZE) && len && !(len % EK_BLOCK_SIZE));
	if (offset > bytes || len > bytes - offset)
		return -EIO;
	MUST(!media_io.read(media, dev->fd, offset, buf, len));
	return 0;
}

/* Who only reads has opened nothing for writing. */
int bdev_write(const struct bdev *dev, uint64_t offset, const void *buf, size_t len)
{
	abort();
}

int bdev_flush(const struct bdev *dev)
{
	abort();
}

void *bdev_buffer(size_t len)
{
	void *p = NULL;

	MUST(!posix_memalign(&p, EK_BLOCK_SIZE, len));
	return memset(p, 0, len);
}

/* Silence: the tool's errors are not the fuzzer's. */
int __wrap_fail(const char *fmt, ...);
int __wrap_fail(const char *fmt, ...)
{
	(void)fmt;
	return EXIT_FAILED;
}

struct seen {
	uint64_t nr, size;
	u64 *place;
};

static void visit(void *ctx, uint64_t le, uint64_t entry)
{
	struct seen *s = ctx;

	(void)le;
	if (s->nr == s->size) {
		s->size = s->size * 2 + 64;
		s->place = realloc(s->place, s->size * sizeof(*s->place));
	}
	s->place[s->nr++] = ek_entry_place(entry);
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void check_faultless(const struct pool *pool, const struct check *c)
{
	struct seen s = { };
	struct check again;
	uint64_t i;

	MUST(!check_map(&again, pool, visit, &s));
	MUST(s.nr == c->mapped && c->mapped <= c->logical && c->used <= c->total);
	MUST(c->used == c->mapped + c->leaked);
	MUST(!c->leaked || c->warnings.nr);
	if (s.nr)
		qsort(s.place, s.nr, sizeof(*s.place), compare);
	for (i = 1; i < s.nr; i++)
		MUST(s.place[i] != s.place[i - 1], "an extent that two have");
	findings_free(&again.errors);
	findings_free(&again.warnings);
	free(s.place);
}

static void check_one(const struct pool *pool, bool untouched)
{
	struct check c;
	int err = check_pool(&c, pool);

	MUST(!err || err == EXIT_USAGE);
	if (!err) {
		MUST(c.errors.nr || c.complete);
		if (untouched)
			MUST(!c.errors.nr, "%s", c.errors.text[0]);
		if (!c.errors.nr)
			check_faultless(pool, &c);
	}
	findings_free(&c.errors);
	findings_free(&c.warnings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pools pools = { };
	struct pool_input in;
	struct bdev dev;
	unsigned int i;
	int head;

	media = pool_make(data, size, &in);
	areas = in.areas;
	for (i = 0; i < media->nr; i++) {
		if (bdev_open(&dev, i ? "1" : "0", 0))
			continue;
		MUST(pools_add(&pools, &dev, &head) <= AREA_MAX);
		bdev_close(&dev);
	}
	if (pool_untouched(size))
		MUST(pools.nr == !!areas);
	for (i = 0; i < pools.nr; i++)
		check_one(&pools.pool[i], pool_untouched(size) && in.kind != POOL_LAGGING &&
					  in.kind != POOL_BEHIND);
	pools_free(&pools);
	media_free(media);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	return pool_mutate(data, size, max, seed);
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	return pool_corpus(nr, data);
}
