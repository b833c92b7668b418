// SPDX-License-Identifier: GPL-2.0-only
/* Power cuts: what survives. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emudisk.h"

#define WRITES	32u

/* A flushed 1, an unflushed 2 over it and 3 beside it; then a cut. */
static bool cut_pair(const char *how, uint64_t number)
{
	char words[64];

	snprintf(words, sizeof(words), how, (unsigned long long)number);
	return emuctl("del --all --force") && emuctl("add v mem 16M cache=volatile") &&
		put("v", 1, 0, 64) && flush("v") && put("v", 2, 0, 64) && put("v", 3, 128, 64) &&
		holds("v", 2, 0, 64) && emuctl("cut v %s", words) && unreadable("v", 0, 64) &&
		emuctl("power v on");
}

static bool cut_none(const struct test *t)
{
	(void)t;
	return cut_pair("--keep none", 0) && holds("v", 1, 0, 64) && holds("v", 0, 128, 64);
}

static bool cut_all(const struct test *t)
{
	(void)t;
	return cut_pair("--keep all", 0) && holds("v", 2, 0, 64) && holds("v", 3, 128, 64);
}

static bool cut_random(const struct test *t)
{
	bool kept = false, lost = false;

	(void)t;
	for (unsigned int i = 1; i <= 32; i++) {
		int over, beside;

		if (!cut_pair("--keep random --seed %llu", seed + i))
			return false;
		over = filled("v", 0, 64);
		beside = filled("v", 128, 64);
		if (over != 2 && over != 1)
			return wrong("torn without --tear");
		if (beside != 3 && beside != 0)
			return wrong("torn without --tear, or not readable, beside it");
		kept |= beside == 3;
		lost |= beside == 0;
		if (kept && lost)
			return true;
	}
	return wrong("always %s in 32 seeds", kept ? "kept" : "lost");
}

static bool put_apart(const char *name)
{
	for (unsigned int i = 0; i < WRITES; i++)
		if (!put(name, 1, 8 * i, 4))
			return false;
	return true;
}

/* Of the writes of put_apart() those that are there, a bit each. */
static bool those_kept(const char *name, uint32_t *kept)
{
	*kept = 0;
	for (unsigned int i = 0; i < WRITES; i++) {
		int byte = filled(name, 8 * i, 4);

		if (byte != 0 && byte != 1)
			return wrong("%s: write %u is neither kept nor lost", name, i);
		*kept |= (uint32_t)byte << i;
	}
	return true;
}

/* As two disks have it that share nothing but a power supply. */
static bool cut_apart(const struct test *t)
{
	(void)t;
	for (unsigned int i = 0; i < 4; i++) {
		uint32_t a, b;

		if (!emuctl("del --all --force") || !emuctl("add a mem 1M cache=volatile") ||
		    !emuctl("add b mem 1M cache=volatile") || !put_apart("a") || !put_apart("b") ||
		    !emuctl("cut --all --keep random --seed %llu", (unsigned long long)seed + i) ||
		    !emuctl("power --all on") || !those_kept("a", &a) || !those_kept("b", &b))
			return false;
		if (a != b)
			return true;
	}
	return wrong("two disks have kept the same with 4 seeds");
}

static char *content_of(const char *name, size_t len)
{
	char *data = buffer(len);
	int fd = disk_open(name, O_RDONLY);

	if (fd < 0 || pread(fd, data, len, 0) != (ssize_t)len) {
		wrong("reading %s: %s", name, strerror(errno));
		free(data);
		data = NULL;
	}
	if (fd >= 0)
		close(fd);
	return data;
}

/* The same seed makes the same state. */
static bool cut_repeats(const struct test *t)
{
	const size_t len = 16 << 20;
	char *once = NULL, *again = NULL;
	bool good = false;

	(void)t;
	if (cut_pair("--keep random --tear --seed %llu", seed))
		once = content_of("v", len);
	if (once && cut_pair("--keep random --tear --seed %llu", seed))
		again = content_of("v", len);
	if (again)
		good = !memcmp(once, again, len) || wrong("two results of one seed");
	free(once);
	free(again);
	return good;
}

static bool cut_torn(const struct test *t)
{
	bool one = false, good = true;
	char *data;

	(void)t;
	if (!cut_pair("--keep random --tear --seed %llu", seed))
		return false;
	data = content_of("v", 65536);
	if (!data)
		return false;
	for (size_t i = 0; good && i < 65536; i += 512) {
		if ((data[i] != 1 && data[i] != 2) || memcmp(data + i, data + i + 1, 511))
			good = wrong("block %zu begins with %d, and is not whole", i / 512, data[i]);
		one |= data[i] == 1;
	}
	free(data);
	return good && (one || wrong("nothing of the write was lost"));
}

static bool tear_happens(const struct test *t)
{
	(void)t;
	for (unsigned int i = 1; i <= 32; i++) {
		int byte;

		if (!cut_pair("--keep random --tear --seed %llu", seed + i))
			return false;
		byte = filled("v", 0, 64);
		if (byte != 1 && byte != 2)
			return byte == MIXED || wrong("%s", strerror(-byte - 1));
	}
	return wrong("never torn in 32 seeds");
}

static bool fua_is_durable(const struct test *t)
{
	(void)t;
	return emuctl("add f mem 16M cache=volatile") && put("f", 1, 0, 4) && put_fua("f", 2, 64, 4) &&
		emuctl("cut f") && emuctl("power f on") && holds("f", 2, 64, 4) && holds("f", 0, 0, 4);
}

static bool fua_order(const struct test *t)
{
	(void)t;
	return emuctl("add fo mem 16M cache=volatile") && put("fo", 1, 0, 4) && put_fua("fo", 2, 0, 4) &&
		emuctl("cut fo --keep all") && emuctl("power fo on") && holds("fo", 2, 0, 4);
}

static bool discard_is_volatile(const struct test *t)
{
	(void)t;
	return emuctl("add dv mem 16M cache=volatile") && put("dv", 5, 0, 64) && flush("dv") &&
		discard("dv", 0, 32) && holds("dv", 0, 0, 32) && emuctl("cut dv") &&
		emuctl("power dv on") && holds("dv", 5, 0, 64);
}

static bool flush_of_another(const struct test *t)
{
	(void)t;
	return emuctl("add p mem 16M cache=volatile") && emuctl("add q mem 16M cache=volatile") &&
		put("p", 1, 0, 4) && put("q", 1, 0, 4) && flush("p") && emuctl("cut --all") &&
		emuctl("power --all on") && holds("p", 1, 0, 4) && holds("q", 0, 0, 4);
}

/* A write held in the device when the power goes. */
static bool in_flight(const struct test *t)
{
	struct writer *writer;
	bool cut;

	if (!emuctl("del --all --force") || !emuctl("add i mem 16M cache=%s", t->cache) ||
	    !emuctl("set i stall=1"))
		return false;
	writer = put_beside("i", 4, 0, 4);
	cut = one_in_flight("i") && emuctl("cut i --keep %s", t->keep);
	if (!cut)
		emuctl("set i stall=0");
	if (!outcome(writer))
		return wrong("the write succeeded");
	return cut && emuctl("set i stall=0 power=on") && holds("i", t->number, 0, 4);
}

static void *flush_fd(void *arg)
{
	return (void *)(long)fsync(*(int *)arg);
}

/* A write still under way when the flush was submitted is not covered. */
static bool flush_covers_completed(const struct test *t)
{
	struct writer *writer;
	pthread_t flusher;
	bool under_way;
	int fd;

	(void)t;
	if (!emuctl("add fc mem 16M cache=volatile write_lat=3s flush=1ms") ||
	    !emuctl("set fc dilate=40"))
		return false;
	fd = disk_open("fc", O_RDWR);
	if (fd < 0)
		return wrong("fc: %s", strerror(errno));
	writer = put_beside("fc", 1, 0, 4);
	under_way = one_in_flight("fc");
	/* SSD flushes wait for the writes before them: the clock is what stands between */
	if (pthread_create(&flusher, NULL, flush_fd, &fd))
		abort();
	while (under_way && shown("fc", "inflight") == 1)
		;	/* until the flush is submitted, too, well before the write is done */
	under_way &= emuctl("set fc dilate=1");
	if (outcome(writer))
		under_way = wrong("the write failed");
	pthread_join(flusher, NULL);
	close(fd);
	return under_way && emuctl("cut fc") && emuctl("power fc on") && holds("fc", 0, 0, 4);
}

static bool cache_bounded(const struct test *t)
{
	long long unflushed;

	(void)t;
	if (!emuctl("add cb mem 64M cache=volatile cache_size=1M") || !put("cb", 6, 0, 4096) ||
	    !put("cb", 7, 8192, 2048) || !put("cb", 8, 12288, 4))
		return false;
	unflushed = shown("cb", "unflushed");
	if (unflushed < 0 || unflushed > 2200000)
		return wrong("%lld are unflushed", unflushed);
	return emuctl("cut cb") && emuctl("power cb on") && holds("cb", 6, 0, 4096);
}

static bool write_file(const char *path, const char *data, size_t len, bool sync)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool good = fd >= 0;

	for (size_t at = 0; good && at < len; at += 65536)
		good = write(fd, data + at, 65536) == 65536;
	if (good && sync)
		good = !fsync(fd);
	if (fd >= 0)
		close(fd);
	return good || wrong("%s: %s", path, strerror(errno));
}

static bool file_holds(const char *path, const char *data, size_t len)
{
	char *got = buffer(len);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool good = fd >= 0 && read(fd, got, len) == (ssize_t)len && !memcmp(got, data, len);

	if (fd >= 0)
		close(fd);
	free(got);
	return good || wrong("%s is not what was written", path);
}

static bool fsync_survives(const char *dir, char *data)
{
	char kept[96], lost[96];
	bool good;

	snprintf(kept, sizeof(kept), "%s/kept", dir);
	snprintf(lost, sizeof(lost), "%s/lost", dir);
	if (mount(device("e"), dir, "ext4", 0, NULL))
		return wrong("mount: %s", strerror(errno));
	good = write_file(kept, data, 8 << 16, true) && write_file(lost, data + (8 << 16), 64 << 16, false) &&
		emuctl("cut e --keep random --seed %llu", (unsigned long long)seed);
	umount(dir);
	if (!good || !emuctl("power e on"))
		return false;
	if (mount(device("e"), dir, "ext4", 0, NULL))
		return wrong("mount after the cut: %s", strerror(errno));
	good = file_holds(kept, data, 8 << 16);
	if (umount(dir))
		return wrong("umount: %s", strerror(errno));
	return good && program("e2fsck -fn %s", device("e"));
}

static bool ext4_survives(const struct test *t)
{
	const size_t len = 72 << 16;
	char *data = buffer(len), dir[64];
	bool good;

	(void)t;
	for (size_t i = 0; i < len / 8; i++)
		((uint64_t *)data)[i] = mix(seed + i);
	snprintf(dir, sizeof(dir), "%s/m", work);
	mkdir(dir, 0700);
	good = emuctl("add e mem 256M cache=volatile") && program("mkfs.ext4 -q -F %s", device("e")) &&
		fsync_survives(dir, data);
	rmdir(dir);
	free(data);
	return good;
}

const struct test cut_tests[] = {
	{ "cut --keep none: only what was flushed", cut_none, .reset = true },
	{ "cut --keep all: everything completed", cut_all },
	{ "cut --keep random: each write whole or not at all", cut_random },
	{ "cut --tear: by logical blocks", cut_torn },
	{ "cut --tear does tear", tear_happens },
	{ "cut: one seed, one result", cut_repeats },
	{ "cut --all --keep random: each disk loses its own", cut_apart },
	{ "FUA is durable by itself", fua_is_durable },
	{ "an older write does not return over a FUA one", fua_order },
	{ "a discard is volatile too", discard_is_volatile },
	{ "a flush is of its device alone", flush_of_another },
	{ "in flight, cache=volatile, keep none: lost", in_flight, false, 0, "volatile", "none" },
	{ "in flight, cache=volatile, keep all: there", in_flight, false, 4, "volatile", "all" },
	{ "in flight, cache=through, keep none: lost", in_flight, false, 0, "through", "none" },
	{ "in flight, cache=through, keep all: there", in_flight, false, 4, "through", "all" },
	{ "a flush covers what completed before it was submitted", flush_covers_completed },
	{ "the volatile cache is bounded", cache_bounded },
	{ "ext4 keeps what was fsynced over a cut", ext4_survives },
	{ }
};
