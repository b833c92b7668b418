// SPDX-License-Identifier: GPL-2.0-only
/*
 * usage: failnth modules|memory|nameless|scmfs|pool|commands [PATTERN]	the operations whose name has PATTERN in it
 *	  failnth rows					has each command and message an operation?
 *	  failnth background MILLISECONDS PERCENT
 *
 * The suite hybrid_failnth.sh has the disks ready.  Prints KTAP.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "failnth.h"

#define MOST	20000
#define DENSE	16	/* so many at the beginning, and half as many at the end, fail each */
#define SAMPLE	10	/* of those between, without EVENKEEL_DENSE: about twice as many as this */
#define SHAPED	4	/* of a pool's other shapes, that go much the same way, a quarter of these */

uint64_t seed;
static int nth_file = -1;
static bool sparse;
static unsigned int random_state;
static unsigned int nth, faults, tests, failures;
static const char *running = "setup";

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

void wrong(const char *fmt, ...)
{
	va_list ap;

	if (++faults > 10)
		return;
	printf("# %s, allocation %u: ", running, nth);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

void die(const char *fmt, ...)
{
	va_list ap;

	printf("Bail out! %s, allocation %u: ", running, nth);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf(": %s\n", strerror(errno));
	exit(2);
}

void result(const char *fmt, ...)
{
	va_list ap;

	failures += faults != 0;
	printf("%sok %u - ", faults ? "not " : "", ++tests);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	faults = 0;
}

void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die("%s", path);
	close(fd);
}

static void set_nth(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	if (pwrite(nth_file, text, len, 0) != len)
		die("fail-nth");
}

/* How many were left to go, 0: one failed. */
static unsigned int left(void)
{
	char text[16] = "";

	if (pread(nth_file, text, sizeof(text) - 1, 0) <= 0)
		die("fail-nth");
	return strtoul(text, NULL, 10);
}

static bool fail_one(const struct op *op, int *error)
{
	bool injected;

	if (op->remote)
		return !op->remote(op, nth, error);
	set_nth(nth);
	*error = op->run(op) ? errno : 0;
	injected = !left();
	set_nth(0);
	return injected;
}

static unsigned int max_of(unsigned int a, unsigned int b)
{
	return a > b ? a : b;
}

/* The first and the last ones each, of those between a sample. */
static unsigned int step(const struct op *op, unsigned int all)
{
	unsigned int part = op->thin ? op->thin : op->shape ? SHAPED : 1, dense = DENSE / part, left;

	if (!sparse || nth <= dense || nth + dense / 2 >= all)
		return 1;
	if (all == UINT_MAX)
		return 1 + rand_r(&random_state) % (nth * part / 4);
	left = all - dense / 2 - nth;
	return 1 + rand_r(&random_state) % max_of(1, all * part / SAMPLE) % left;
}

/* How many it makes when none fails; of a remote one nobody knows. */
static unsigned int count(const struct op *op)
{
	unsigned int all;
	int error;

	if (!sparse || op->remote)
		return UINT_MAX;
	op->before(op);
	set_nth(INT_MAX);
	error = op->run(op) ? errno : 0;
	all = INT_MAX - left();
	set_nth(0);
	op->after(op, error);
	return all;
}

/* The same sample for the same seed, whatever else runs. */
static void seed_for(const struct op *op)
{
	random_state = seed;
	for (const char *p = op->name; *p; p++)
		random_state = random_state * 31 + *p;
}

void fail_each(const struct op *op)
{
	unsigned int errors = 0, injections = 0, all;
	double begin = now();
	bool injected = true;
	int error;

	running = op->name;
	seed_for(op);
	all = count(op);
	for (nth = 1; injected && nth < MOST; nth += step(op, all)) {
		op->before(op);
		injected = fail_one(op, &error);
		injections += injected;
		errors += error != 0;
		if (!injected && error)
			wrong("fails with nothing injected: %s", strerror(error));
		op->after(op, error);
	}
	if (injected)
		wrong("no end after so many");
	if (!injections != op->allocates_nothing)
		wrong(injections ? "it allocates after all" : "nothing was injected");
	result("%s: %u allocations failed, %u times it did too # %.1f s", op->name, injections, errors,
	       now() - begin);
	nth = 0;
}

/* Without these nothing that may sleep fails, and no page. */
static void configure(void)
{
	put("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	put("/sys/kernel/debug/failslab/verbose", "0");
	put("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	put("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N");
	put("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	put("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	/* most of making and removing a pool would be waiting for grace periods */
	put("/sys/kernel/rcu_expedited", "1");
	nth_file = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth_file < 0)
		die("/proc/thread-self/fail-nth");
}

static void each(const struct op *op, const char *only)
{
	for (; op->name; op++)
		if (!only || strstr(op->name, only))
			fail_each(op);
}

int main(int argc, char **argv)
{
	const char *group = argc > 1 ? argv[1] : "", *only = argc > 2 ? argv[2] : NULL;

	if (getenv("EVENKEEL_SEED"))
		seed = strtoull(getenv("EVENKEEL_SEED"), NULL, 0);
	else
		seed = time(NULL);
	sparse = !getenv("EVENKEEL_DENSE");
	printf("KTAP version 1\n# seed %llu\n", (unsigned long long)seed);
	if (strcmp(group, "rows"))
		configure();
	if (!strcmp(group, "rows")) {
		running = "rows";
		commands_all();
		messages_all();
	} else if (!strcmp(group, "modules")) {
		each(module_ops, only);
	} else if (!strcmp(group, "memory")) {
		each(memory_ops, only);
		memory_end();
	} else if (!strcmp(group, "nameless")) {
		nameless_begin();
		each(nameless_ops, only);
		nameless_end();
		names_begin();
		each(names_ops, only);
		names_end();
	} else if (!strcmp(group, "scmfs")) {
		scmfs_begin();
		each(scmfs_ops, only);
		each(scmfs_asked_ops, only);
		scmfs_end();
	} else if (!strcmp(group, "pool")) {
		pool_begin();
		each(pool_ops, only);
		each(message_ops, only);
		pool_end();
	} else if (!strcmp(group, "commands")) {
		pool_begin();
		each(command_ops, only);
		pool_end();
	} else if (!strcmp(group, "background") && argc == 4) {
		running = "background";
		pool_begin();
		background(atoi(argv[2]), atoi(argv[3]));
		pool_end();
	} else {
		fprintf(stderr, "usage: failnth modules|memory|nameless|scmfs|pool|commands [PATTERN] |\n"
			"       failnth rows | failnth background MILLISECONDS PERCENT\n");
		return 2;
	}
	printf("1..%u\n", tests);
	return failures != 0;
}
