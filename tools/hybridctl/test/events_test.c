// SPDX-License-Identifier: GPL-2.0-only
/* What monitor --events makes of a volume that is renamed, stopped, or replaced by another. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../bdev.h"
#include "../dm.h"
#include "../interrupt.h"
#include "../monitor.h"
#include "../msg.h"
#include "capture.h"
#include "ktap.h"

#define MAX	2

/* Active volumes at each event: names, numbers by which the kernel tells them apart, modes. */
struct world {
	const char *name;
	unsigned int seq;
	const char *mode;
};

static struct {
	const struct world (*at)[MAX];	/* the last one stays */
	unsigned int nr, event;
	bool quiet;			/* no more events: who waits, waits */
} now;

static const struct world *find(const char *name)
{
	unsigned int i;

	for (i = 0; i < MAX; i++) {
		const struct world *w = &now.at[now.event][i];

		if (w->name && !strcmp(w->name, name))
			return w;
	}
	return NULL;
}

/* An event of some device comes as soon as it is waited for. */
int dm_watch(void)
{
	return open(now.quiet ? "/proc/self/fd/0" : "/dev/zero", O_RDWR | O_CLOEXEC);
}

static bool begun;

int dm_watch_on(int fd)
{
	if (begun && now.event + 1 < now.nr)
		now.event++;
	begun = true;
	return 0;
}

int dm_get_status(const char *name, char **params, uint64_t *sectors)
{
	const struct world *w = find(name);

	if (!w)
		return -ENXIO;
	*params = xasprintf("%s - 256 10/8000 3/512 1 A 1 254:3 active 7/100 1000000 1000000 1000 2000 3000 4000 5 7 12 - 9 8 1 1048576 2 0 11 22 33 44 wardrop 0",
			    w->mode);
	*sectors = 1 << 20;
	return 0;
}

int dm_lookup(const char *name, struct dm_dev *dev)
{
	const struct world *w = find(name);

	if (!w)
		return 0;
	memset(dev, 0, sizeof(*dev));
	dev->major = 254;
	dev->minor = w->seq;
	return 1;
}

int dm_list_hybrid(struct dm_dev **devs, unsigned int *nr)
{
	unsigned int i;

	*devs = xcalloc(MAX, sizeof(**devs));
	*nr = 0;
	for (i = 0; i < MAX; i++) {
		const struct world *w = &now.at[now.event][i];

		if (!w->name)
			continue;
		(*devs)[*nr].name = xstrdup(w->name);
		(*devs)[*nr].major = 254;
		(*devs)[(*nr)++].minor = w->seq;
	}
	return 0;
}

void dm_free_list(struct dm_dev *devs, unsigned int nr)
{
	while (nr)
		free(devs[--nr].name);
	free(devs);
}

uint64_t bdev_seq(dev_t rdev)
{
	return minor(rdev);
}

/* --- the tests --- */

static char told[1024];

static int monitor(const struct world (*at)[MAX], unsigned int nr, uint64_t count)
{
	struct capture c;
	int ret;

	now.at = at;
	now.nr = nr;
	now.event = 0;
	begun = false;
	interrupted = 0;
	capture_begin(&c, stdout);
	alarm(20);
	ret = monitor_events("p", count);
	alarm(0);
	capture_end(&c, told, sizeof(told));
	return ret;
}

/* @words: what is in the lines, behind their times, in that order. */
static void tells(const char *title, const struct world (*at)[MAX], unsigned int nr,
		  uint64_t count, unsigned int lines, const char * const *words)
{
	int ret = monitor(at, nr, count);
	unsigned int n = 0;
	char *line, *save;
	bool is = true;

	for (line = strtok_r(told, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++)
		is = is && n < lines && strstr(line, words[n]);
	ktap_ok(ret == EXIT_OK && is && n == lines, "%s: %u lines", title, n);
}

/* The reader of a pipe goes, and nothing happens. */
static void test_closed(void)
{
	static const struct world same[][MAX] = { { { "p", 1, "rw" } } };
	int keep = dup(STDOUT_FILENO), in = dup(STDIN_FILENO), fd[2], silent[2], ret;

	if (pipe(fd) || pipe(silent))
		return;
	fflush(stdout);
	now.at = same;
	now.nr = 1;
	now.event = 0;
	now.quiet = true;
	dup2(fd[1], STDOUT_FILENO);
	dup2(silent[0], STDIN_FILENO);
	close(fd[1]);
	if (!fork()) {
		char buf[256];

		close(STDOUT_FILENO);
		_exit(read(fd[0], buf, sizeof(buf)) <= 0);
	}
	close(fd[0]);
	alarm(20);
	ret = monitor_events("p", 0);
	alarm(0);
	fflush(stdout);
	dup2(keep, STDOUT_FILENO);
	dup2(in, STDIN_FILENO);
	now.quiet = false;
	ktap_ok(ret == EXIT_OK, "it ends when nobody reads any more");
}

/* Each begins with its first look; as it is at the last one it stays. */
static const struct world stopped[][MAX] = {
	{ { "p", 1, "rw" } }, { { "p", 1, "ro" } }, { { NULL } },
};

static const struct world renamed[][MAX] = {
	{ { "p", 1, "rw" } }, { { "q", 1, "rw" } }, { { "q", 1, "ro" } }, { { NULL } },
};

static const struct world both[][MAX] = {
	{ { "p", 1, "rw" } }, { { "q", 1, "ro" } }, { { NULL } },
};

static const struct world another[][MAX] = {
	{ { "p", 1, "rw" } }, { { "p", 2, "ro" } },
};

static const struct world swapped[][MAX] = {
	{ { "p", 1, "rw" }, { "q", 2, "ro" } }, { { "q", 1, "rw" }, { "p", 2, "ro" } },
	{ { "p", 2, "rw" } },
};

int main(void)
{
	static const char * const lines[][4] = {
		{ " p: rw, device 0", " p: ro", " p: stopped" },
		{ " p: rw, device 0", " p: renamed to q", " q: ro", " q: stopped" },
		{ " p: rw, device 0", " p: stopped" },
		{ " p: rw, device 0", " p: renamed to q", " q: stopped" },
	};

	ktap_begin();
	tells("stopped", stopped, 3, 0, 3, lines[0]);
	tells("renamed", renamed, 4, 0, 4, lines[1]);
	tells("renamed, and more", both, 3, 0, 4, lines[1]);
	tells("renamed, as many as asked", both, 3, 2, 2, lines[1]);
	tells("another has the name", another, 2, 0, 2, lines[2]);
	tells("another has the name, and it that one's", swapped, 3, 0, 3, lines[3]);
	test_closed();
	return ktap_end();
}
