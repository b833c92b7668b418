// SPDX-License-Identifier: GPL-2.0-only
/* Injected errors, stalls, deletion, statistics, everything at once. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "emudisk.h"

#define ALLOWED	2000u		/* writes before the first that fails */

static atomic_bool written_all;

/* By configfs itself: quicker, and a directory stays when its disk goes. */
static bool tell(const char *attr, const char *text)
{
	char path[64];
	bool good;
	int fd;

	snprintf(path, sizeof(path), CONFIGFS "/%s", attr);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (!good)
		wrong("%s > %s: %s", text, attr, strerror(errno));
	if (fd >= 0)
		close(fd);
	return good;
}

static bool by_direction(const struct test *t)
{
	(void)t;
	return emuctl("add x mem 16M cache=volatile") && emuctl("set x fail=read") &&
		unreadable("x", 0, 4) && put("x", 1, 0, 4) && emuctl("set x fail=write") &&
		holds("x", 1, 0, 4) && unwritable("x", 0, 4) && holds("x", 1, 0, 4) &&
		emuctl("set x fail=none") && put("x", 2, 0, 4) && holds("x", 2, 0, 4);
}

static bool by_range(const struct test *t)
{
	(void)t;
	return emuctl("set x fail=all fail_range=2048+8") && holds("x", 0, 1028, 4) &&
		unreadable("x", 1024, 4) && put("x", 3, 1028, 4) && unwritable("x", 1024, 4) && flush("x") &&
		emuctl("set x fail=none fail_range=0+0") && holds("x", 0, 1024, 4);
}

static bool after_some(const struct test *t)
{
	(void)t;
	return emuctl("set x fail=write fail_after=2") && put("x", 1, 0, 4) && put("x", 1, 8, 4) &&
		unwritable("x", 16, 4) && emuctl("set x fail=none fail_after=0");
}

static void *write_on(void *arg)
{
	unsigned int *written = arg;
	char *data = buffer(4096);
	int fd = disk_open("fs", O_WRONLY);

	memset(data, 1, 4096);
	for (unsigned int i = 0; fd >= 0 && i < ALLOWED + 64; i++)
		*written += pwrite(fd, data, 4096, 0) == 4096;
	if (fd >= 0)
		close(fd);
	free(data);
	atomic_store(&written_all, true);
	return NULL;
}

/* Words enough for some writes to be counted between the first and the last. */
static bool set_on(void)
{
	char text[1024] = "";
	bool good = true;

	while (strlen(text) < sizeof(text) - 16)
		strcat(text, "cache_size=1M ");
	while (good && !atomic_load(&written_all))
		good = tell("fs/set", text);
	return good;
}

/* Another key does not put back what has been counted. */
static bool after_some_set(const struct test *t)
{
	unsigned int written = 0;
	pthread_t writer;
	bool good;

	(void)t;
	if (!emuctl("add fs null 1M") || !emuctl("set fs fail=write fail_after=%u", ALLOWED))
		return false;
	atomic_store(&written_all, false);
	if (pthread_create(&writer, NULL, write_on, &written))
		abort();
	good = set_on();
	pthread_join(writer, NULL);
	if (written != ALLOWED)
		good = wrong("%u writes instead of %u", written, ALLOWED);
	return good && emuctl("del fs");
}

static bool dropped(const struct test *t)
{
	(void)t;
	return put("x", 1, 0, 64) && emuctl("set x fail=read fail_range=16+8 fail_drop=8") &&
		unreadable("x", 0, 64) && holds("x", 1, 0, 4) && put("x", 2, 12, 4) &&
		unreadable("x", 8, 4) && unreadable("x", 0, 4) && unwritable("x", 12, 4) && unflushable("x") &&
		emuctl("set x fail=none") && holds("x", 2, 12, 4) && holds("x", 1, 8, 4);
}

static bool failed_flush(const struct test *t)
{
	(void)t;
	return put("x", 1, 64, 4) && flush("x") && put("x", 2, 64, 4) && emuctl("set x fail=flush") &&
		unflushable("x") && emuctl("cut x") && emuctl("set x fail=none power=on") &&
		holds("x", 1, 64, 4);
}

static bool counts_of(const char *name, const char *key, long long want)
{
	long long got = shown(name, key);

	return got == want || wrong("%s is %lld, wanted %lld", key, got, want);
}

static bool stalled(const struct test *t)
{
	struct writer *writer;
	bool held;

	(void)t;
	if (!emuctl("set x stall=1"))
		return false;
	writer = put_beside("x", 8, 0, 4);
	held = one_in_flight("x") && counts_of("x", "inflight", 1) && (!is_over(writer) || wrong("the write did not wait"));
	if (!emuctl("set x stall=0"))
		return false;
	if (outcome(writer))
		return wrong("the write failed");
	return held && holds("x", 8, 0, 4);
}

static bool del_open(const struct test *t)
{
	int fd = disk_open("x", O_RDONLY);
	bool good;

	(void)t;
	good = fd >= 0 && refused_at_once("del x");
	close(fd);
	return good && emuctl("del x") && (access(device("x"), F_OK) || wrong("it is still there"));
}

static bool del_stalled(const struct test *t)
{
	struct writer *writer;
	bool gone;

	(void)t;
	if (!emuctl("add s mem 1M") || !emuctl("set s stall=1"))
		return false;
	writer = put_beside("s", 1, 0, 4);
	gone = one_in_flight("s") && emuctl("del s --force");
	if (!gone)
		emuctl("set s stall=0");
	return (outcome(writer) || wrong("the write succeeded")) && gone;
}

/* The scan for partitions does not take what reads take later. */
static bool added_slow(const struct test *t)
{
	struct timespec from, to;

	(void)t;
	clock_gettime(CLOCK_MONOTONIC, &from);
	if (!emuctl("add sl mem 1M read_lat=10s dilate=4") || !emuctl("del sl --force") ||
	    !emuctl("add sl hdd7200 1M cmd=1s dilate=40") || !emuctl("del sl --force"))
		return false;
	clock_gettime(CLOCK_MONOTONIC, &to);
	return to.tv_sec - from.tv_sec < 39 ||
		wrong("took %lld s", (long long)(to.tv_sec - from.tv_sec));
}

static bool slow_then(const struct test *t)
{
	struct timespec from, to;

	(void)t;
	if (!emuctl("add sl mem 1M read_lat=300ms"))
		return false;
	clock_gettime(CLOCK_MONOTONIC, &from);
	if (!holds("sl", 0, 512, 4))
		return false;
	clock_gettime(CLOCK_MONOTONIC, &to);
	return (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 >= 300 ||
		wrong("a read does not take its time");
}

static bool counts(const char *key, long long want)
{
	return counts_of("st", key, want);
}

static bool counts_more(const char *key, long long than)
{
	long long got = shown("st", key);

	return got > than || wrong("%s is %lld, wanted more than %lld", key, got, than);
}

static bool statistics(const struct test *t)
{
	long long reads;

	(void)t;
	if (!emuctl("add st mem 16M cache=volatile"))
		return false;
	reads = shown("st", "reads");
	return reads >= 0 && put("st", 1, 0, 8) && put("st", 1, 8, 8) && holds("st", 1, 0, 16) && flush("st") &&
		discard("st", 0, 4) && counts("writes", 2) && counts("write_sectors", 32) &&
		counts("flushes", 1) && counts("discards", 1) && counts_more("reads", reads) &&
		counts("inflight", 0) && counts_more("busy_ns", 0);
}

/* Its release fails a request before its time, which is over when the next disk is made. */
static bool released_busy(void)
{
	struct writer *writer;
	bool good;

	if (!tell("again/create", "mem 1M write_lat=3s"))
		return false;
	writer = put_beside("again", 1, 0, 4);
	good = one_in_flight("again") && tell("again/release", "force");
	if (!outcome(writer))
		return wrong("the write succeeded");
	usleep(3100000);
	return good;
}

static bool works_in_time(const char *name)
{
	struct writer *writer = put_beside(name, 2, 0, 4);
	bool good = false;

	for (unsigned int ms = 0; ms < 60000 && !(good = is_over(writer)); ms += 10)
		usleep(10000);
	if (!good) {
		wrong("the write hangs");
		emuctl("del %s --force", name);
	}
	return (!outcome(writer) || wrong("the write failed")) && good;
}

static bool made_again(const struct test *t)
{
	(void)t;
	if (mkdir(CONFIGFS "/again", 0700))
		return wrong("again: %s", strerror(errno));
	return released_busy() && tell("again/create", "mem 1M") &&
		counts_of("again", "writes", 0) && counts_of("again", "errors", 0) &&
		works_in_time("again") && holds("again", 2, 0, 4) && emuctl("del again");
}

static bool setting(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (!good)
		wrong("%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return good;
}

/* The thread's n-th allocation from now on; 0: none. */
static bool fail_allocation(int file, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	return pwrite(file, text, len, 0) == len || wrong("fail-nth: %s", strerror(errno));
}

static unsigned int allocations_left(int file)
{
	char text[16] = "";

	return pread(file, text, sizeof(text) - 1, 0) > 0 ? strtoul(text, NULL, 10) : 0;
}

static bool allocations_fail(int file)
{
	int ends[2];

	if (!setting("/sys/kernel/debug/failslab/ignore-gfp-wait", "N") ||
	    !setting("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N") ||
	    !setting("/sys/kernel/debug/fail_page_alloc/min-order", "0") ||
	    !fail_allocation(file, 1))
		return false;
	return pipe(ends) || wrong("no allocation fails");
}

static bool writes_without(int file, const char *name)
{
	char *data = buffer(4096);
	int fd = disk_open(name, O_WRONLY);
	bool good = fd >= 0, more = true;

	memset(data, 1, 4096);
	for (unsigned int n = 1; good && more && n < 64; n++) {
		good = fail_allocation(file, n);
		if (good && pwrite(fd, data, 4096, n * 65536ul) != 4096)
			good = wrong("allocation %u: %s", n, strerror(errno));
		more = !allocations_left(file);
	}
	good &= fail_allocation(file, 0);
	if (fd >= 0)
		close(fd);
	free(data);
	return good && (!more || wrong("there is always another allocation"));
}

/* On kernels that can make memory short. */
static bool short_of_memory(const struct test *t)
{
	int file = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	bool good;

	(void)t;
	if (file < 0)
		return errno == ENOENT || wrong("fail-nth: %s", strerror(errno));
	good = emuctl("add nn mem 16M") && emuctl("add nv mem 16M cache=volatile") &&
		allocations_fail(file) && writes_without(file, "nn") && writes_without(file, "nv");
	close(file);
	return good;
}

static bool cuts_and_stalls(void)
{
	for (unsigned int i = 1; i <= 10; i++) {
		churn_more(10 * i);
		if (!emuctl("cut --all --keep random --tear --seed %llu", (unsigned long long)seed + i) ||
		    !emuctl("power --all on") || !emuctl("set w1 dilate=2 stall=1") ||
		    !emuctl("set w1 stall=0 dilate=1"))
			return false;
	}
	return true;
}

static bool nothing_in_flight(const char *name)
{
	long long n = shown(name, "inflight");

	return !n || wrong("%s: %lld in flight", name, n);
}

/* Several writers, readers, cuts at once: for lockdep and KASAN. */
static bool parallel(const struct test *t)
{
	static const struct load load[] = { { "w1", 512, 0 }, { "w2", 512, 1 }, { "w3", 512, 2 } };
	bool good = emuctl("del --all --force");

	(void)t;
	for (unsigned int i = 0; good && i < 3; i++)
		good = emuctl("add %s mem 16M cache=volatile cache_size=256K", load[i].name);
	if (!good || !churn_begin(load, 3))
		return false;
	good = cuts_and_stalls();
	return churn_end() && good && nothing_in_flight("w1") && nothing_in_flight("w2") &&
		nothing_in_flight("w3");
}

const struct test fault_tests[] = {
	{ "errors by direction", by_direction, .reset = true },
	{ "errors by range", by_range },
	{ "errors after N", after_some },
	{ "errors after N, counted while something else is set", after_some_set },
	{ "errors of all after one", dropped },
	{ "a failed flush makes nothing durable", failed_flush },
	{ "stall and go on", stalled },
	{ "deleting an open device is refused", del_open },
	{ "deleting a stalled device fails its requests", del_stalled },
	{ "a slow device is added at once", added_slow },
	{ "and is slow from then on", slow_then },
	{ "a directory gets a second disk", made_again },
	{ "no write is short of memory", short_of_memory },
	{ "statistics", statistics },
	{ "parallel I/O under cuts and stalls", parallel },
	{ }
};
