// SPDX-License-Identifier: GPL-2.0-only
/* Arguments, and that what is written is there. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "emudisk.h"

#define ROUNDS	300

static bool bad_arguments(const struct test *t)
{
	static const char *const bad[] = {
		"x nosuch 1G",
		"x mem",
		"x mem 0",
		"x mem 1000",
		"x mem 1G5",
		"x mem 99999999999999999999",
		"x mem 1G nosuch=1",
		"x mem 1G lbs=1024",
		"x mem 1G lbs",
		"x mem 1G cache=maybe",
		"x mem 1G read_lat=1y",
		"x mem 1G dilate=0",
		"x mem 1G rpm=7200",
		"x mem 1G stall=1",
		"x hdd7200 1G rpm=1",
		"x hdd7200 1G elevator=up",
		".x mem 1G",
		"a/b mem 1G",
		"a!b mem 1G",
		"a23456789012345678901234 mem 1G",
	};

	(void)t;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (!refused("add %s", bad[i]) || !no_devices())
			return wrong("by: emuctl add %s", bad[i]);
	return true;
}

static long long read_latency(const char *name)
{
	long long value = -1;
	json_t *root, *params;

	if (!emuctl("list %s --json", name))
		return -1;
	root = json_loads(said, 0, NULL);
	params = json_object_get(json_array_get(json_object_get(root, "devices"), 0), "params");
	if (json_is_integer(json_object_get(params, "read_lat")))
		value = json_integer_value(json_object_get(params, "read_lat"));
	json_decref(root);
	return value;
}

static bool bad_settings(const struct test *t)
{
	(void)t;
	if (!emuctl("add x mem 1M") || !refused("set x read_lat=50us write_lat=1y"))
		return false;
	if (read_latency("x") != 10000)
		return wrong("read_lat is not 10000");
	return refused("set x lbs=4096") && refused("set x wcache=1M") && refused("set y stall=1") &&
		misused("del x --frce") && misused("del x --help") && refused("cut ''") &&
		refused("cut .") && refused("add x mem 1M") && refused("cut x --keep some") && refused("cut x --tear") &&
		refused("del y") && refused("record mark no") && refused("record replay") &&
		refused("record stop");
}

/* What was given at add is listed, whatever it is. */
static bool seed_shown(const struct test *t)
{
	static const char *const seeds[] = { "0", "9223372036854775807", "9223372036854775808",
					     "18446744073709551615" };

	(void)t;
	for (size_t i = 0; i < sizeof(seeds) / sizeof(*seeds); i++) {
		json_t *root, *value;
		char *text;
		bool good;

		if (!emuctl("add sd mem 1M seed=%s", seeds[i]) || !emuctl("list sd --json"))
			return false;
		root = json_loads(said, 0, NULL);
		value = json_array_get(json_object_get(root, "devices"), 0);
		value = json_object_get(json_object_get(value, "params"), "seed");
		text = json_is_string(value) ? strdup(json_string_value(value)) :
			json_dumps(value, JSON_ENCODE_ANY);
		good = text && !strcmp(text, seeds[i]);
		if (!good)
			wrong("seed %s is shown as %s", seeds[i], text ? text : "nothing");
		free(text);
		json_decref(root);
		if (!good || !emuctl("del sd"))
			return false;
	}
	return true;
}

static bool wrong_usage(const struct test *t)
{
	static const char *const bad[] = {
		"add x mem", "set x", "del", "del x --all", "list x y", "list --jason", "models x",
		"cut", "cut x y", "power x", "power x on off", "record", "record mark",
		"record stop now", "record list x", "record replay x", "record rewind", "format x",
	};

	(void)t;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (!misused("%s", bad[i]))
			return false;
	return refused("cut x --some") && refused("power x maybe") && no_devices();
}

static bool every_model(const struct test *t)
{
	unsigned int nr = 0;
	char *models, *save, name[32];
	bool good;

	(void)t;
	if (!emuctl("models"))
		return false;
	models = strdup(said);
	good = true;
	for (char *m = strtok_r(models, "\n", &save); good && m; m = strtok_r(NULL, "\n", &save), nr++) {
		m[strcspn(m, " ")] = 0;
		snprintf(name, sizeof(name), "m-%s", m);
		good = emuctl("add %s %s 1G", name, m) && put(name, 7, 4, 4) && holds(name, 7, 4, 4);
	}
	free(models);
	return good && (nr || wrong("there are no models"));
}

/* Random writes and discards, beside a copy in memory. */
static bool against_model(const char *name, unsigned int lbs)
{
	const size_t size = 1 << 20;
	uint64_t range[2] = { 0, size }, state = seed;
	unsigned char *want = calloc(1, size), *data = buffer(size);
	int fd = disk_open(name, O_RDWR);
	bool good;

	if (!want)
		abort();
	good = fd >= 0 && !ioctl(fd, BLKDISCARD, range);
	for (unsigned int i = 0; good && i < ROUNDS; i++) {
		unsigned int blocks = 1 + mix(state++) % 40, kind = mix(state++) % 100;
		size_t at = mix(state++) % (size / lbs - blocks) * lbs, len = blocks * lbs;
		uint64_t *word = (void *)data;

		if (kind < 70) {
			for (size_t w = 0; w < len / 8; w++)
				word[w] = mix(state++);
			good = pwrite(fd, data, len, at) == (ssize_t)len;
			memcpy(want + at, data, len);
		} else {
			range[0] = at;
			range[1] = len;
			good = !ioctl(fd, kind < 85 ? BLKDISCARD : BLKZEROOUT, range);
			memset(want + at, 0, len);
		}
	}
	if (!good || pread(fd, data, size, 0) != (ssize_t)size)
		good = wrong("%s: %s", name, strerror(errno));
	for (size_t i = 0; good && i < size; i += lbs)
		if (memcmp(data + i, want + i, lbs))
			good = wrong("block %zu differs", i / lbs);
	if (fd >= 0)
		close(fd);
	free(data);
	free(want);
	return good;
}

static bool block_size_is(const char *name, unsigned int want)
{
	int fd = disk_open(name, O_RDONLY), got = 0;

	if (fd < 0 || ioctl(fd, BLKSSZGET, &got))
		wrong("%s: %s", name, strerror(errno));
	if (fd >= 0)
		close(fd);
	return got == (int)want || wrong("is %d, wanted %u", got, want);
}

static const char *content_name(const struct test *t)
{
	static char name[32];

	snprintf(name, sizeof(name), "c%u%s", t->number, t->cache);
	return name;
}

static bool content(const struct test *t)
{
	const char *name = content_name(t);

	return emuctl("add %s mem 64M lbs=%u cache=%s", name, t->number, t->cache) &&
		block_size_is(name, t->number) && against_model(name, t->number) &&
		discard_all(name) && holds(name, 0, 0, 1024);
}

static bool queued(const struct test *t)
{
	static const struct load load[] = {
		{ "c512none", 512, 0 }, { "c512through", 512, 1 }, { "c512volatile", 512, 2 },
		{ "c4096none", 4096, 3 }, { "c4096through", 4096, 4 }, { "c4096volatile", 4096, 5 },
	};

	(void)t;
	return queued_load(load, sizeof(load) / sizeof(*load));
}

static bool memory_is(const char *name, long long most)
{
	long long got = shown(name, "memory");

	return (got >= 0 && got <= most) || wrong("%s takes %lld", name, got);
}

static bool sparse(const struct test *t)
{
	const uint64_t far = 19ull << 30;	/* KiB */

	(void)t;
	return emuctl("add big nvme 20T") && put("big", 9, far, 4) && holds("big", 9, far, 4) &&
		holds("big", 0, 10ull << 30, 64) && memory_is("big", 8192) &&
		program("mkfs.ext4 -q -F -E lazy_itable_init=1,lazy_journal_init=1 %s 64G", device("big")) &&
		program("e2fsck -fn %s", device("big")) && discard_all("big") && memory_is("big", 0);
}

static bool zeroes_unallocated(const struct test *t)
{
	(void)t;
	return emuctl("add z mem 16M") && put("z", 0, 0, 1024) && memory_is("z", 0) &&
		emuctl("del z");
}

/* Over nothing, over data and over a part of a page; and nothing of the data comes back. */
static bool zeroes_of_tracked(const struct test *t)
{
	bool record = !*t->cache;

	return emuctl("add z mem 16M cache=%s", record ? "none" : t->cache) &&
		(!record || emuctl("record start")) && put("z", 0, 0, 1024) &&
		memory_is("z", 0) && put("z", 1, 512, 64) && put("z", 0, 512, 64) &&
		put("z", 0, 1026, 1) && flush("z") && put("z", 0, 2048, 4) &&
		holds("z", 0, 0, 2048) && (record || memory_is("z", 0)) &&
		(!record || (emuctl("record stop") && emuctl("record replay --keep all"))) &&
		holds("z", 0, 0, 2048) && emuctl("cut z") && emuctl("power z on") &&
		holds("z", 0, 0, 2048) && (!record || emuctl("record clear")) &&
		memory_is("z", 0) && emuctl("del z");
}

static bool misaligned(const struct test *t)
{
	char *data = buffer(4096);
	bool good = false;
	int fd;

	(void)t;
	if (emuctl("add al mem 1M lbs=4096")) {
		fd = disk_open("al", O_WRONLY);
		memset(data, 0, 4096);
		good = pwrite(fd, data, 512, 0) < 0 && errno == EINVAL;
		if (!good)
			wrong("512 bytes: not EINVAL");
		close(fd);
	}
	free(data);
	return good;
}

const struct test content_tests[] = {
	{ "bad arguments are refused and leave nothing", bad_arguments },
	{ "a seed is shown as it was given", seed_shown },
	{ "wrong usage has a status of its own", wrong_usage, .reset = true },
	{ "bad settings are refused, all or none", bad_settings },
	{ "every model holds data", every_model, .reset = true },
	{ "unloading is refused with devices, works without", unload },
	{ "content with lbs=512 cache=none", content, .number = 512, .cache = "none" },
	{ "content with lbs=512 cache=through", content, .number = 512, .cache = "through" },
	{ "content with lbs=512 cache=volatile", content, .number = 512, .cache = "volatile" },
	{ "content with lbs=4096 cache=none", content, .number = 4096, .cache = "none" },
	{ "content with lbs=4096 cache=through", content, .number = 4096, .cache = "through" },
	{ "content with lbs=4096 cache=volatile", content, .number = 4096, .cache = "volatile" },
	{ "many requests in flight, verified", queued },
	{ "20 TiB are sparse, discard frees", sparse },
	{ "zeroes take no memory", zeroes_unallocated },
	{ "zeroes take no memory, cache=through", zeroes_of_tracked, .reset = true,
	  .cache = "through" },
	{ "zeroes take no memory, cache=volatile", zeroes_of_tracked, .reset = true,
	  .cache = "volatile" },
	{ "zeroes take no memory, recorded", zeroes_of_tracked, .reset = true,
	  .cache = "" },
	{ "requests below the logical block are refused", misaligned },
	{ }
};
