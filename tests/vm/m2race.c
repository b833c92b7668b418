// SPDX-License-Identifier: GPL-2.0-only
/*
 * A memory device that is used in every way while it is resized, deleted and made again.
 *
 *   m2race SECONDS SEED
 *
 * Who has it open, by the block device or a dm target, has all of it: I/O must not fail. Others are
 * told that it is in use, or not there. Exits with 0; 1: something was wrong, or never happened.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dm.h"

#define DIR	"/sys/kernel/config/mem2m/r"
#define NODE	"/dev/mem2m/r"
#define GENERATE "/sys/module/evenkeel_biogen/parameters/run"
#define TABLE	"0 8 mem2m r 0"
#define PAGE	4096u
#define MORE_S	100

#define COUNTED(X) \
	X(open) X(resize) X(release) X(create) X(rmdir) X(mkdir) X(map) X(reload) X(direct)
#define AS_ENUM(name) N_##name,
#define AS_NAME(name) #name,
enum { COUNTED(AS_ENUM) NR_COUNTED };
static const char *const counted[] = { COUNTED(AS_NAME) };
static atomic_uint done[NR_COUNTED], refused[NR_COUNTED];
static atomic_int last[NR_COUNTED];	/* why: errno */
static atomic_bool failed;
static time_t end, latest;

static void wrong(const char *what)
{
	printf("# WRONG: %s: %s\n", what, strerror(errno));
	failed = true;
}

/* Or nobody would ever have it between two changes. */
static void rest(unsigned int ms)
{
	const struct timespec t = { .tv_nsec = ms * 1000000L };

	nanosleep(&t, NULL);
}

/* What somebody else does to the device may have come before. */
static bool did(int what, int result)
{
	static const int others[] = { EBUSY, ENODEV, ENXIO, ENOENT, EEXIST };
	size_t i;

	if (result >= 0) {
		done[what]++;
		return true;
	}
	refused[what]++;
	last[what] = errno;
	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (errno == others[i])
			break;
	if (i == sizeof(others) / sizeof(*others))
		wrong(counted[what]);
	rest(1);
	return false;
}

static int say(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err;
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	err = errno;
	close(fd);
	errno = err;
	return n < 0 ? -1 : 0;
}

static void read_and_write(int fd, void *page)
{
	if (pread(fd, page, PAGE, 0) != PAGE || pwrite(fd, page, PAGE, 0) != PAGE)
		wrong("I/O");
}

static void use(unsigned int *seed, void *page)
{
	int fd = open(NODE, O_RDWR | O_DIRECT | O_CLOEXEC);

	(void)seed;
	if (!did(N_open, fd))
		return;
	read_and_write(fd, page);
	close(fd);
}

static void change(unsigned int *seed, void *page)
{
	static const char *const sizes[] = { "1M", "2M", "3M", "4M", "7M" };

	(void)page;
	did(N_resize, say(DIR "/resize", sizes[rand_r(seed) % 5]));
	rest(rand_r(seed) % 10);
}

static void replace(unsigned int *seed, void *page)
{
	(void)page;
	if (rand_r(seed) % 4)
		did(N_release, say(DIR "/release", "1"));
	else if (did(N_rmdir, rmdir(DIR)))
		did(N_mkdir, mkdir(DIR, 0755));
	if (access(DIR, F_OK))
		did(N_mkdir, mkdir(DIR, 0755));
	rest(did(N_create, say(DIR "/create", "4M unit=2M")) ? 50 + rand_r(seed) % 200 : 1);
}

static void map(unsigned int *seed, void *page)
{
	char node[64];
	int fd;

	(void)seed;
	if (!did(N_map, dm_make("m2race", TABLE, node, sizeof(node))))
		return;
	fd = open(node, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		wrong(node);
	else
		read_and_write(fd, page);
	if (did(N_reload, dm_load("m2race", TABLE)) && dm_resume("m2race"))
		wrong("resume");
	if (fd >= 0)
		read_and_write(fd, page);
	close(fd);
	if (dm_unmake("m2race", 1))
		wrong("remove");
}

static void direct(unsigned int *seed, void *page)
{
	(void)seed;
	(void)page;
	did(N_direct, say(GENERATE, "direct " NODE " read 512 1 5"));
}

static void (*const ways[])(unsigned int *, void *) = { use, use, change, replace, map, direct };
#define THREADS (sizeof(ways) / sizeof(*ways))

struct worker {
	pthread_t thread;
	unsigned int seed;
	void (*way)(unsigned int *, void *);
};

/* On a slow machine it takes longer until everything has happened. */
static bool enough(void)
{
	time_t now = time(NULL);
	unsigned int i;

	for (i = 0; i < NR_COUNTED && done[i] > 1; i++)
		;
	return failed || now > latest || (now > end && i == NR_COUNTED);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	void *page = aligned_alloc(PAGE, PAGE);

	memset(page, 1, PAGE);
	while (!enough())
		w->way(&w->seed, page);
	free(page);
	return NULL;
}

static void report(void)
{
	unsigned int i;

	for (i = 0; i < NR_COUNTED; i++) {
		printf("# %s: %u, refused %u%s%s\n", counted[i], done[i], refused[i],
		       last[i] ? ", last: " : "", last[i] ? strerror(last[i]) : "");
		if (!done[i]) {
			printf("# WRONG: never: %s\n", counted[i]);
			failed = true;
		}
	}
}

int main(int argc, char **argv)
{
	struct worker worker[THREADS];
	unsigned int i;

	if (argc != 3)
		return 2;
	end = time(NULL) + atoi(argv[1]);
	latest = end + MORE_S;
	for (i = 0; i < THREADS; i++) {
		worker[i] = (struct worker){ .seed = atoi(argv[2]) + i, .way = ways[i] };
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
			return 2;
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(worker[i].thread, NULL);
	report();
	say(DIR "/release", "1");
	rmdir(DIR);
	return failed;
}
