// SPDX-License-Identifier: GPL-2.0-only
/*
 * What works behind the callers: allocations of every kworker fail at random while
 * blocks are written, read and compared, extents moved, the map committed.  Nothing
 * of it may be seen: the callers' own allocations don't fail here.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "disk.h"
#include "dm.h"
#include "failnth.h"

#define THREADS	2u
#define TIMES	100000000
#define MORE_MS	60000	/* where nothing failed yet, on a slow machine */
#define HANG_S	120

static volatile bool stop;
static unsigned int done[THREADS];

static void kworkers(const char *flag)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	char path[288], comm[16];
	int fd;

	while ((e = readdir(proc))) {
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		memset(comm, 0, sizeof(comm));
		if (fd < 0 || read(fd, comm, sizeof(comm) - 1) < 0 || strncmp(comm, "kworker", 7)) {
			if (fd >= 0)
				close(fd);
			continue;
		}
		close(fd);
		snprintf(path, sizeof(path), "/proc/%s/make-it-fail", e->d_name);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd >= 0) {
			if (write(fd, flag, 1) < 0 && errno != ESRCH)
				die("%s", path);
			close(fd);
		}
	}
	closedir(proc);
}

static void each_kind(const char *file, const char *value)
{
	static const char *const kind[] = { "failslab", "fail_page_alloc" };
	char path[96];

	for (unsigned int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", kind[i], file);
		put(path, value);
	}
}

static unsigned int times_left(const char *kind)
{
	char path[96], text[16] = "";
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/times", kind);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		die("%s", path);
	close(fd);
	return strtoul(text, NULL, 10);
}

static unsigned int failed(const char *kind)
{
	return TIMES - times_left(kind);
}

static bool is_over(uint64_t end)
{
	struct timespec t;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = t.tv_sec * 1000ull + t.tv_nsec / 1000000;
	return now >= end + MORE_MS ||
	       (now >= end && failed("failslab") && failed("fail_page_alloc"));
}

static void *worker(void *arg)
{
	unsigned int me = (uintptr_t)arg, state = seed + me, begin = me * (BLOCKS / THREADS);
	int fd = disk_open();

	while (!stop) {
		unsigned int nr = 1 + rand_r(&state) % 16, what = rand_r(&state) % 16, block, error;

		block = begin + rand_r(&state) % (BLOCKS / THREADS - nr);
		if (what < 8)
			error = disk_write(fd, block, nr);
		else if (what < 14)
			error = disk_read(fd, block, nr);
		else if (what == 14)
			error = disk_discard(fd, block / (EXTENT / BLOCK));
		else
			error = fdatasync(fd) ? errno : 0;
		if (error)
			wrong("%s of %u blocks at %u: %s", what < 8 ? "write" : what < 14 ? "read" :
			      what == 14 ? "discard" : "flush", nr, block, strerror(error));
		done[me]++;
	}
	close(fd);
	return NULL;
}

static void ask(unsigned int *state)
{
	static const char *const text[] = {
		"commit", "checkpoint", "policy stripe", "policy static shares 70,30",
		"set period_ms 100", "policy wardrop", "samples",
		"policy concentrate sublun 1 window_ms 100 size 50", "concentrations",
	};
	char move[32];

	snprintf(move, sizeof(move), "move %u %u", rand_r(state) % EXTENTS, rand_r(state) % 2);
	if (dm_message(POOL, move) && errno != EBUSY && errno != ENOENT && errno != EAGAIN &&
	    errno != EINVAL && errno != ENOSPC && errno != EEXIST && errno != EALREADY)
		wrong("%s: %s", move, strerror(errno));
	if (rand_r(state) % 4)
		return;
	dm_message(POOL, text[rand_r(state) % (sizeof(text) / sizeof(*text))]);
}

static void reopen(void)
{
	if (dm_unmake(POOL, 1) || dm_make(POOL, pool_table("fill 0"), pool_node, sizeof(pool_node)))
		wrong("the pool again: %s", strerror(errno));
	else
		pool_check();
}

void background(unsigned int ms, unsigned int percent)
{
	unsigned int state = seed, messages, i, slabs, pages;
	pthread_t thread[THREADS];
	char text[16];
	struct timespec t;
	uint64_t end;

	snprintf(text, sizeof(text), "%d", TIMES);
	each_kind("times", text);
	each_kind("task-filter", "Y");
	kworkers("1");
	snprintf(text, sizeof(text), "%u", percent);
	each_kind("probability", text);
	clock_gettime(CLOCK_MONOTONIC, &t);
	end = t.tv_sec * 1000ull + t.tv_nsec / 1000000 + ms;
	alarm((ms + MORE_MS) / 1000 + HANG_S);	/* a hang ends without a plan */
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, worker, (void *)(uintptr_t)i))
			die("a thread");
	for (messages = 0; !is_over(end); messages++) {
		ask(&state);
		if (messages % 64 == 63)
			kworkers("1");
	}
	stop = true;
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	each_kind("probability", "0");
	kworkers("0");
	alarm(0);
	slabs = failed("failslab");
	pages = failed("fail_page_alloc");
	each_kind("times", "-1");
	if (!slabs || !pages)
		wrong("%u slab and %u page allocations failed", slabs, pages);
	pool_check();
	reopen();
	result("%u requests, %u messages: %u slab and %u page allocations of workers failed",
	       done[0] + done[1], messages, slabs, pages);
}
