// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything that a pool is asked for, at once: I/O, discards, migration, messages,
 * members and metadata areas that leave and come back, pins, reloads, suspension,
 * status, a second pool; and at intervals the pool is removed and made again.
 *
 *   race SECONDS SEED TABLE SECOND-TABLE [COMMAND]	lines up to the members, without features;
 *							the first of two areas and MEMBERS members
 *
 * COMMAND is run each time that the pool has been removed, and has to succeed.
 *
 * Sectors belong to threads, in regions smaller than granules up to larger than
 * extents. A thread knows what its sectors have to hold, so every read is judged
 * exactly, without locks that would keep threads apart. The program's parent sees
 * to it that none of them is at one thing for more than a minute.
 *
 * Exits with 0; 1: something was wrong; 3: something hangs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/dm-ioctl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dm.h"

#define SECTOR		512u
#define EXTENT		128u		/* sectors */
#define GRANULE		8u
#define IO_THREADS	6u
#define MAX_THREADS	16u
#define MAX_IO		256u		/* sectors */
#define STALL_S		60
#define FULL_S		60	/* a run this long is to come to everything */
#define MORE_S		360	/* and this much longer where it did not */
#define MAGIC		0x6b6c656576654e72ULL
#define TABLE_WAYS	5u
#define AREAS		2u		/* of metadata */
#define MEMBERS		3u
#define LEAVES		(MEMBERS - 1)	/* the smallest one: the others have room for all */

/* What is counted; each must have happened in a run of a minute or more, and discards so often. */
#define DISCARDS	36u		/* of extents that had been written, as a whole */
#define COUNTED(X) \
	X(write) X(fua) X(read) X(peek) X(flush) X(nowait_write) X(nowait_read) X(would_block) \
	X(discard) X(discard_part) X(move) X(commit) X(checkpoint) X(set) X(policy) X(refused_message) \
	X(reload) X(round_trip) X(refused_load) X(clear) X(suspend) X(suspend_noflush) X(status) \
	X(second_pool) X(cycle) X(explain) X(evacuate) X(stay) X(pin) X(unpin) X(holds) X(counts) \
	X(members) X(leave) X(resync)
#define AS_ENUM(name) N_##name,
#define AS_NAME(name) #name,
enum { COUNTED(AS_ENUM) NR_COUNTED };
static const char *const counted[] = { COUNTED(AS_NAME) };

struct region {
	uint32_t start, nr;
};

struct worker {
	const char *name;
	void (*round)(struct worker *w);
	uint64_t rng;
	struct region *region;
	unsigned int nr_regions;
	unsigned int *large, nr_large;	/* those that are whole extents */
	uint8_t *buf, *want;
	pthread_t thread;
};

/* What the parent looks at. */
struct shared {
	struct {
		const char *_Atomic what;	/* NULL: waits for the others, or is over */
		const char *name;
		atomic_llong since;
	} slot[MAX_THREADS + 1];
	atomic_ullong count[NR_COUNTED];
};

static struct shared *shared;
static const char *prefix, *second, *offline;
static uint64_t seed, sectors;
static uint32_t *version;		/* of every sector; 0: zeroes */
static uint32_t next_version[IO_THREADS];
static char node[64];
static int fd, dsync_fd;
static atomic_bool failed, over;
static struct worker worker[MAX_THREADS];
static unsigned int nr_workers;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool wanted;
	unsigned int parked;
} park = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0 };

static long long now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static uint32_t rnd(struct worker *w, uint32_t below)
{
	return mix(w->rng++) % below;
}

static void doing(struct worker *w, const char *what)
{
	unsigned int i = w - worker;

	shared->slot[i].since = now_s();
	shared->slot[i].what = what;
}

static void did(int what)
{
	shared->count[what]++;
}

__attribute__((format(printf, 1, 2)))
static void wrong(const char *format, ...)
{
	static atomic_int told;
	va_list args;

	failed = true;
	if (told++ >= 20)
		return;
	va_start(args, format);
	printf("# WRONG: ");
	vprintf(format, args);
	printf("\n");
	fflush(stdout);
	va_end(args);
}

/* ---- content ---- */

static void fill(void *buf, uint64_t sector, uint32_t v)
{
	uint64_t *word = buf, state = mix(seed ^ sector << 32 ^ v);

	if (!v) {
		memset(buf, 0, SECTOR);
		return;
	}
	word[0] = MAGIC ^ seed;
	word[1] = sector;
	word[2] = v;
	for (unsigned int i = 3; i < SECTOR / 8; i++)
		word[i] = state += 0x9e3779b97f4a7c15ULL;
}

static bool judge(const uint8_t *buf, uint8_t *want, uint64_t sector, uint32_t nr, const char *when)
{
	for (uint32_t i = 0; i < nr; i++) {
		const uint64_t *word = (const uint64_t *)(buf + i * SECTOR);

		fill(want, sector + i, version[sector + i]);
		if (!memcmp(word, want, SECTOR))
			continue;
		wrong("%s: sector %" PRIu64 " (extent %" PRIu64 " + %" PRIu64 ") should have version %u;"
		      " it has %" PRIx64 " %" PRIx64 " %" PRIx64 ", seed^magic is %" PRIx64, when,
		      sector + i, (sector + i) / EXTENT, (sector + i) % EXTENT, version[sector + i],
		      word[0], word[1], word[2], (uint64_t)(MAGIC ^ seed));
		return false;
	}
	return true;
}

/* ---- I/O threads ---- */

/* Few are large, so that they have a turn of their own. */
static struct region *pick_region(struct worker *w, bool large)
{
	return &w->region[large ? w->large[rnd(w, w->nr_large)] : rnd(w, w->nr_regions)];
}

static void pick(struct worker *w, uint64_t *sector, uint32_t *nr)
{
	struct region *r = pick_region(w, !rnd(w, 4));
	uint32_t from = 0;

	*nr = r->nr;
	if (rnd(w, 4)) {
		*nr = 1 + rnd(w, r->nr);
		from = rnd(w, r->nr - *nr + 1);
	}
	*sector = r->start + from;
}

static void set_version(uint64_t sector, uint32_t nr, uint32_t v)
{
	while (nr--)
		version[sector++] = v;
}

static void do_write(struct worker *w, uint64_t sector, uint32_t nr, bool fua, bool nowait)
{
	uint32_t i, v = ++next_version[w - worker] * IO_THREADS + (w - worker) + 1;
	struct iovec iov = { w->buf, nr * SECTOR };
	ssize_t n;

	/* One bio only: a request of several may be done in part when one would block. */
	if (nowait && sector / EXTENT != (sector + nr - 1) / EXTENT)
		return;
	for (i = 0; i < nr; i++)
		fill(w->buf + i * SECTOR, sector + i, v);
	doing(w, nowait ? "nowait write" : fua ? "fua write" : "write");
	n = pwritev2(fua ? dsync_fd : fd, &iov, 1, sector * SECTOR, nowait ? RWF_NOWAIT : 0);
	if (nowait && n < 0 && errno == EAGAIN) {
		did(N_would_block);
		return;
	}
	if (n != (ssize_t)(nr * SECTOR))
		wrong("write of %" PRIu64 "+%u: %s", sector, nr, n < 0 ? strerror(errno) : "short");
	set_version(sector, nr, v);
	did(nowait ? N_nowait_write : fua ? N_fua : N_write);
}

static void do_read(struct worker *w, uint64_t sector, uint32_t nr, bool nowait)
{
	struct iovec iov = { w->buf, nr * SECTOR };
	ssize_t n;

	doing(w, nowait ? "nowait read" : "read");
	n = preadv2(fd, &iov, 1, sector * SECTOR, nowait ? RWF_NOWAIT : 0);
	if (nowait && n < 0 && errno == EAGAIN) {
		did(N_would_block);
		return;
	}
	if (nowait && n > 0)
		nr = n / SECTOR;	/* its next bio would have blocked */
	else if (n != (ssize_t)(nr * SECTOR))
		wrong("read of %" PRIu64 "+%u: %s", sector, nr, n < 0 ? strerror(errno) : "short");
	judge(w->buf, w->want, sector, nr, "read");
	did(nowait ? N_nowait_read : N_read);
}

/* Somebody else's sectors: zeroes or these sectors' own, whatever the version. */
static void do_peek(struct worker *w)
{
	uint64_t sector = (uint64_t)rnd(w, sectors / EXTENT) * EXTENT;

	doing(w, "peek");
	if (pread(fd, w->buf, EXTENT * SECTOR, sector * SECTOR) != (ssize_t)(EXTENT * SECTOR)) {
		wrong("read of extent %" PRIu64 ": %s", sector / EXTENT, strerror(errno));
		return;
	}
	for (uint32_t i = 0; i < EXTENT; i++) {
		uint64_t *word = (uint64_t *)(w->buf + i * SECTOR);

		if ((word[0] && word[0] != (MAGIC ^ seed)) || (word[1] && word[1] != sector + i)) {
			wrong("sector %" PRIu64 " shows foreign bytes: %" PRIx64 " %" PRIx64, sector + i,
			      word[0], word[1]);
			return;
		}
	}
	did(N_peek);
}

static void do_flush(struct worker *w)
{
	doing(w, "flush");
	if (fdatasync(fd))
		wrong("flush: %s", strerror(errno));
	did(N_flush);
}

/* Does it free an extent: was there anything, and is all of it covered? */
static bool frees(uint64_t sector, uint32_t nr)
{
	for (uint64_t e = (sector + EXTENT - 1) / EXTENT; (e + 1) * EXTENT <= sector + nr; e++)
		for (uint32_t i = 0; i < EXTENT; i++)
			if (version[e * EXTENT + i])
				return true;
	return false;
}

/* Granules covered in full become zeroes, the others stay. */
static void do_discard(struct worker *w, uint64_t sector, uint32_t nr)
{
	uint64_t range[2] = { sector * SECTOR, nr * SECTOR };
	uint64_t from = (sector + GRANULE - 1) / GRANULE * GRANULE;
	uint64_t to = (sector + nr) / GRANULE * GRANULE;
	int what = frees(sector, nr) ? N_discard : N_discard_part;

	doing(w, "discard");
	if (ioctl(fd, BLKDISCARD, range))
		wrong("discard of %" PRIu64 "+%u: %s", sector, nr, strerror(errno));
	if (to > from)
		set_version(from, to - from, 0);
	did(what);
}

static void discard_all(struct worker *w)
{
	struct region *r = pick_region(w, true);

	do_discard(w, r->start, r->nr);
}

static void io_round(struct worker *w)
{
	uint32_t dice = rnd(w, 100), nr;
	uint64_t sector;

	pick(w, &sector, &nr);
	if (dice < 40)
		do_write(w, sector, nr, dice < 4, dice >= 4 && dice < 10);
	else if (dice < 70)
		do_read(w, sector, nr, dice < 45);
	else if (dice < 76)
		do_peek(w);
	else if (dice < 79)
		do_flush(w);
	else if (dice < 84)
		discard_all(w);
	else if (dice < 94)
		do_discard(w, sector, nr);
	else
		do_write(w, sector, 1, false, false);
}

/* ---- those who disturb ---- */

static void nap(struct worker *w, uint32_t max_ms)
{
	usleep(1000 * rnd(w, max_ms + 1));
}

static bool among(int error, const int *allowed)
{
	while (*allowed)
		if (*allowed++ == error)
			return true;
	return false;
}

/* It may make no sense: somebody has changed what it is about. */
static bool too_late(int what, int error)
{
	return (error == EIO && what == N_move) ||
	       (error == EINVAL && (what == N_stay || what == N_unpin || what == N_leave ||
				    what == N_resync));
}

static void say(struct worker *w, int what, const char *text)
{
	static const int busy[] = { EAGAIN, EBUSY, ENOENT, ENOSPC, 0 };

	doing(w, counted[what]);
	if (!dm_message("p", text))
		did(what);
	else if (!among(errno, busy) && !too_late(what, errno))
		wrong("message %s: %s", text, strerror(errno));
}

static void move_round(struct worker *w)
{
	char text[64];

	for (uint32_t n = 1 + rnd(w, 24); n; n--) {
		snprintf(text, sizeof(text), "move %u %u", rnd(w, sectors / EXTENT), rnd(w, MEMBERS));
		say(w, N_move, text);
		snprintf(text, sizeof(text), "explain %u", rnd(w, sectors / EXTENT));
		say(w, N_explain, text);	/* while the policy is replaced by another thread */
	}
	doing(w, "nap");
	nap(w, 30);
}

static const char *policy_words(struct worker *w, char *text, size_t len)
{
	static const char *const name[] = {
		"wardrop", "stripe", "fill", "asymmetry", "unified",
		"concentrate sublun 1 window_ms 100 size 100 share 1 fast 1", "static",
	};
	unsigned int n = rnd(w, 7), share = 10 + rnd(w, 80);

	snprintf(text, len, n == 6 ? "%s shares %u,%u,10" : "%s", name[n], share, 90 - share);
	return text;
}

static void message_round(struct worker *w)
{
	static const char *const refused[] = { "fly", "set period_ms 0", "set alpha x", "policy nosuch",
					       "move 0", "move 99999999 0", "entry x", "commit now" };
	static const char *const key[] = { "period_ms", "commit_ms", "movers", "low_free", "candidates",
					   "cache_extents" };
	static const unsigned int most[] = { 400, 60, 12, 45, 500, 60 };
	char text[128], policy[64];
	unsigned int n;

	switch (rnd(w, 8)) {
	case 0:
	case 1:
		say(w, N_commit, "commit");
		break;
	case 2:
		say(w, N_checkpoint, "checkpoint");
		break;
	case 3:
	case 4:
		n = rnd(w, 6);
		snprintf(text, sizeof(text), "set %s %u", key[n],
			 100 * !n + 16 * (n == 4) + (n != 5) + rnd(w, most[n]));
		say(w, N_set, text);
		break;
	case 5:
		snprintf(text, sizeof(text), "policy %s", policy_words(w, policy, sizeof(policy)));
		say(w, N_policy, text);
		break;
	case 6:
		doing(w, "message to be refused");
		if (!dm_message("p", refused[rnd(w, sizeof(refused) / sizeof(*refused))]))
			wrong("a message that makes no sense was taken");
		did(N_refused_message);
		break;
	case 7:
		snprintf(text, sizeof(text), "entry %u", rnd(w, sectors / EXTENT));
		say(w, N_status, rnd(w, 2) ? text : "samples");
		break;
	}
	doing(w, "nap");
	nap(w, 40);
}

/* An answer in lines: so many, of which the last says how to go on. */
static void ask(struct worker *w, int what, const char *text, unsigned int lines)
{
	char answer[DM_LINE_ROOM] = "", *last = answer;
	unsigned int n = 1;

	doing(w, counted[what]);
	if (dm_ask("p", text, answer, sizeof(answer))) {
		if (errno != EAGAIN && errno != EBUSY)
			wrong("message %s: %s", text, strerror(errno));
		return;
	}
	for (char *c = strchr(answer, '\n'); c; c = strchr(last, '\n')) {
		last = c + 1;
		n++;
	}
	if (lines ? n != lines : strcmp(last, "end") && strncmp(last, "more ", 5))
		wrong("message %s: %u lines, the last is \"%s\"", text, n, last);
	did(what);
}

/* It may be removed at any of these, and is what it was when it is made again. */
static void member_round(struct worker *w)
{
	char text[64];

	if (rnd(w, 2))
		snprintf(text, sizeof(text), "evacuate %u", LEAVES);
	else
		snprintf(text, sizeof(text), "stay %u", LEAVES);
	say(w, *text == 'e' ? N_evacuate : N_stay, text);
	snprintf(text, sizeof(text), "holds %u %u", rnd(w, MEMBERS), rnd(w, sectors / EXTENT));
	ask(w, N_holds, text, 0);
	ask(w, N_counts, "counts 0", 0);
	ask(w, N_members, "members", MEMBERS);
	doing(w, "nap");
	nap(w, 300);
}

/* Few ranges at a time: all are let go of now and then. */
static void pin_round(struct worker *w)
{
	uint32_t nr = 1 + rnd(w, 6), first = rnd(w, sectors / EXTENT - nr);
	char text[64];

	snprintf(text, sizeof(text), "pin %u %u %u", first * EXTENT, nr * EXTENT, rnd(w, MEMBERS));
	say(w, N_pin, text);
	doing(w, "nap");
	nap(w, 60);
	snprintf(text, sizeof(text), rnd(w, 4) ? "unpin %u %u" : "unpin", first * EXTENT, nr * EXTENT);
	say(w, N_unpin, text);
}

/*
 * Until no area leaves or becomes a mirror: how long that takes is the machine's affair.  A
 * suspension gives it up, and then none is under way either; without a pool there is no answer.
 */
static void until_areas_rest(struct worker *w)
{
	char answer[DM_LINE_ROOM] = "1";

	doing(w, "wait for a metadata area");
	while (!dm_ask("p", "metadata", answer, sizeof(answer)) && *answer)
		usleep(5000);
}

/* Either one: the other is all that there is of the metadata until it is a mirror again. */
static void area_round(struct worker *w)
{
	unsigned int area = rnd(w, AREAS);
	char text[64];

	snprintf(text, sizeof(text), "metadata leave %u", area);
	say(w, N_leave, text);
	until_areas_rest(w);
	doing(w, "nap");
	nap(w, 200);
	for (area = 0; area < AREAS; area++) {
		snprintf(text, sizeof(text), "metadata resync %u", area);
		say(w, N_resync, text);
		if (rnd(w, 2))
			until_areas_rest(w);
	}
	doing(w, "nap");
	nap(w, 200);
}

static const char *table_line(struct worker *w, char *line, size_t len)
{
	static const char *const rest[TABLE_WAYS] = {
		"0 stripe 12 commit_ms 20 cooldown_ms 0 migrate_kbps 0 movers 4 period_ms 200 cache_extents 40",
		"0 wardrop 12 commit_ms 10 cooldown_ms 0 migrate_kbps 0 movers 8 period_ms 150 cache_extents 200",
		"1 no_discard_passdown fill 6 cooldown_ms 0 migrate_kbps 0 low_free 40",
		"0 static 8 shares 60,30,10 cooldown_ms 0 migrate_kbps 0 commit_ms 5",
		"0 wardrop 0",
	};

	snprintf(line, len, "%s %s", prefix, rest[rnd(w, TABLE_WAYS)]);
	return line;
}

static void suspend(struct worker *w)
{
	static const uint32_t flags[] = { 0, DM_NOFLUSH_FLAG, DM_SKIP_LOCKFS_FLAG,
					  DM_NOFLUSH_FLAG | DM_SKIP_LOCKFS_FLAG };
	uint32_t f = flags[rnd(w, 4)];
	int r;

	doing(w, f & DM_NOFLUSH_FLAG ? "suspend without flush" : "suspend");
	r = dm_suspend("p", f);
	if (r && errno != EINVAL)	/* somebody else has suspended it */
		wrong("suspend: %s", strerror(errno));
	if (!r)
		did(f & DM_NOFLUSH_FLAG ? N_suspend_noflush : N_suspend);
}

static void resume(struct worker *w)
{
	doing(w, "resume");
	if (dm_resume("p") && errno != EINVAL)
		wrong("resume: %s", strerror(errno));
}

static void suspend_round(struct worker *w)
{
	suspend(w);
	doing(w, "nap while suspended");
	nap(w, 20);
	resume(w);
	doing(w, "nap");
	nap(w, 500);
}

static void load_bad(struct worker *w)
{
	static const char *const rest[] = { "0 nosuch 0", "0 fill 1 x", "1 nosuch fill 0",
					    "0 static 2 shares 1,2", "0 fill 2 period_ms 0" };
	char line[DM_LINE_ROOM];

	snprintf(line, sizeof(line), "%s %s", prefix, rest[rnd(w, sizeof(rest) / sizeof(*rest))]);
	doing(w, "load to be refused");
	if (!dm_load("p", line))
		wrong("a bad table was taken: %s", line);
	did(N_refused_load);
}

static void reload_round(struct worker *w)
{
	bool round_trip = !rnd(w, 4);
	char line[DM_LINE_ROOM];
	int r;

	if (!rnd(w, 4))
		load_bad(w);
	doing(w, "table");
	if (round_trip && dm_line("p", DM_STATUS_TABLE_FLAG, line, sizeof(line)))
		wrong("table: %s", strerror(errno));
	if (!round_trip)
		table_line(w, line, sizeof(line));
	doing(w, "load");
	r = dm_load("p", line);
	if (r)
		wrong("load of %s: %s", line, strerror(errno));
	doing(w, "nap while a table is loaded");
	nap(w, 30);
	if (!rnd(w, 4)) {
		doing(w, "clear");
		if (dm_clear("p"))
			wrong("clear: %s", strerror(errno));
		did(N_clear);
		return;
	}
	if (rnd(w, 3))
		suspend(w);
	resume(w);
	did(round_trip ? N_round_trip : N_reload);
	doing(w, "nap");
	nap(w, 200);
}

static void check_status(const char *when)
{
	char line[DM_LINE_ROOM], mode[16] = "", needs_check[16] = "";

	if (dm_line("p", 0, line, sizeof(line))) {
		wrong("%s: status: %s", when, strerror(errno));
		return;
	}
	hybrid_field(line, "mode", mode, sizeof(mode));
	hybrid_field(line, "needs_check", needs_check, sizeof(needs_check));
	if (strcmp(mode, "rw") || strcmp(needs_check, "-"))
		wrong("%s: the pool is %s %s: %s", when, mode, needs_check, line);
}

static void status_round(struct worker *w)
{
	char line[DM_LINE_ROOM];

	doing(w, "status");
	check_status("meanwhile");
	doing(w, "table");
	if (dm_line("p", DM_STATUS_TABLE_FLAG, line, sizeof(line)) || !strstr(line, " hybrid "))
		wrong("table: %s", line);
	/* That of the inactive table, if there is one. */
	dm_line("p", DM_QUERY_INACTIVE_TABLE_FLAG | rnd(w, 2) * DM_STATUS_TABLE_FLAG, line, sizeof(line));
	did(N_status);
	doing(w, "nap");
	nap(w, 20);
}

/* A pool beside, with a life of its own. */
static void second_round(struct worker *w)
{
	char line[DM_LINE_ROOM], path[64], text[64];
	uint64_t sector[16];
	int q, i;

	snprintf(line, sizeof(line), "%s 0 stripe 6 cooldown_ms 0 commit_ms 20 migrate_kbps 0", second);
	doing(w, "make the second pool");
	if (dm_make("q", line, path, sizeof(path))) {
		wrong("the second pool: %s", strerror(errno));
		sleep(1);
		return;
	}
	doing(w, "I/O of the second pool");
	q = open(path, O_RDWR | O_DIRECT);
	for (i = 0; i < 16; i++) {
		sector[i] = (rnd(w, 16) * 16 + i) * 8;
		for (int j = 0; j < 8; j++)
			fill(w->buf + j * SECTOR, sector[i] + j, i + 1);
		if (pwrite(q, w->buf, 8 * SECTOR, sector[i] * SECTOR) != 8 * SECTOR)
			wrong("second pool: write: %s", strerror(errno));
		snprintf(text, sizeof(text), "move %u %u", rnd(w, 16), rnd(w, 2));
		dm_message("q", text);
	}
	if (rnd(w, 2) && fdatasync(q))
		wrong("second pool: flush: %s", strerror(errno));
	for (i = 0; i < 16; i++) {
		if (pread(q, w->buf, 8 * SECTOR, sector[i] * SECTOR) != 8 * SECTOR)
			wrong("second pool: read: %s", strerror(errno));
		for (int j = 0; j < 8; j++) {
			fill(w->want, sector[i] + j, i + 1);
			if (memcmp(w->buf + j * SECTOR, w->want, SECTOR))
				wrong("second pool: sector %" PRIu64 " is wrong", sector[i] + j);
		}
	}
	close(q);
	doing(w, "remove the second pool");
	if (dm_unmake("q", 1))
		wrong("second pool: remove: %s", strerror(errno));
	did(N_second_pool);
	doing(w, "nap");
	nap(w, 500);
}

/* ---- the whole ---- */

static void *run(void *arg)
{
	struct worker *w = arg;

	while (!over) {
		pthread_mutex_lock(&park.lock);
		while (park.wanted && !over) {
			doing(w, NULL);
			park.parked++;
			pthread_cond_broadcast(&park.cond);
			pthread_cond_wait(&park.cond, &park.lock);
			park.parked--;
		}
		pthread_mutex_unlock(&park.lock);
		if (!over)
			w->round(w);
	}
	doing(w, NULL);
	return NULL;
}

static void stop_all(void)
{
	pthread_mutex_lock(&park.lock);
	park.wanted = true;
	while (park.parked < nr_workers)
		pthread_cond_wait(&park.cond, &park.lock);
	pthread_mutex_unlock(&park.lock);
}

static void go_on(void)
{
	pthread_mutex_lock(&park.lock);
	park.wanted = false;
	pthread_cond_broadcast(&park.cond);
	pthread_mutex_unlock(&park.lock);
}

static void open_device(void)
{
	fd = open(node, O_RDWR | O_DIRECT);
	dsync_fd = open(node, O_RDWR | O_DIRECT | O_DSYNC);
	if (fd < 0 || dsync_fd < 0) {
		printf("# %s: %s\n", node, strerror(errno));
		exit(1);
	}
}

static void make(struct worker *w)
{
	char line[DM_LINE_ROOM];

	doing(w, "make the pool");
	if (dm_make("p", table_line(w, line, sizeof(line)), node, sizeof(node))) {
		printf("# the pool can't be made: %s\n", strerror(errno));
		exit(1);
	}
	open_device();
}

static void verify(struct worker *w, const char *when)
{
	doing(w, "verify all");
	for (uint64_t sector = 0; sector < sectors; sector += EXTENT) {
		if (pread(fd, w->buf, EXTENT * SECTOR, sector * SECTOR) != (ssize_t)(EXTENT * SECTOR))
			wrong("%s: extent %" PRIu64 " can't be read: %s", when, sector / EXTENT, strerror(errno));
		judge(w->buf, w->want, sector, EXTENT, when);
	}
}

/* No pool tells where space is lost: it counts what is mapped by what is used. */
static void check_offline(struct worker *w)
{
	int status;

	if (!offline)
		return;
	doing(w, "check offline");
	fflush(stdout);
	status = system(offline);
	if (status)
		wrong("removed: the pool does not check out, status %d", status);
}

static void cycle(struct worker *w, unsigned int n)
{
	char text[64];

	doing(w, NULL);
	usleep(1000 * (4000 + rnd(w, 4000)));
	stop_all();
	check_status("at rest");
	if (n % 2)
		verify(w, "at rest");
	/* While extents are moving. */
	for (uint32_t i = 0; i < 16; i++) {
		snprintf(text, sizeof(text), "move %u %u", rnd(w, sectors / EXTENT), rnd(w, MEMBERS));
		dm_message("p", text);
	}
	close(fd);
	close(dsync_fd);
	doing(w, "remove the pool");
	if (dm_unmake("p", 1)) {
		wrong("remove: %s", strerror(errno));
		exit(1);
	}
	check_offline(w);
	make(w);
	verify(w, "made again");
	check_status("made again");
	did(N_cycle);
	go_on();
}

/* Regions of many sizes, neighbours of different threads. */
static void give_regions(void)
{
	static const uint32_t size[8] = { 4, 8, 20, 32, 64, 128, 256, 256 };
	uint64_t at = 0, extent;
	unsigned int n[2] = { 0 };

	for (unsigned int i = 0; i < IO_THREADS; i++) {
		worker[i].region = calloc(sectors / 4, sizeof(*worker[i].region));
		worker[i].large = calloc(sectors / EXTENT, sizeof(*worker[i].large));
	}
	while (at < sectors) {
		uint32_t nr = size[at / EXTENT % 8];
		bool large = nr >= EXTENT;
		struct worker *w = &worker[n[large]++ % IO_THREADS];

		extent = at / EXTENT + (nr > EXTENT ? 2 : 1);
		if (at + nr > extent * EXTENT)
			nr = extent * EXTENT - at;
		if (at + nr > sectors)
			nr = sectors - at;
		if (large)
			w->large[w->nr_large++] = w->nr_regions;
		w->region[w->nr_regions++] = (struct region){ at, nr };
		at += nr;
	}
}

static void new_worker(const char *name, void (*round)(struct worker *))
{
	struct worker *w = &worker[nr_workers];

	w->name = name;
	w->round = round;
	w->rng = mix(seed + nr_workers);
	if (posix_memalign((void **)&w->buf, 4096, MAX_IO * SECTOR) ||
	    posix_memalign((void **)&w->want, 4096, SECTOR))
		exit(2);
	shared->slot[nr_workers++].name = name;
}

static bool seen(int what)
{
	return shared->count[what] >= (what == N_discard ? DISCARDS : 1);
}

static bool all_seen(void)
{
	for (int i = 0; i < NR_COUNTED; i++)
		if (!seen(i))
			return false;
	return true;
}

/* A starved machine does not come to everything in time: it has more, unless it is to be short. */
static bool goes_on(long long begun, long seconds)
{
	long long s = now_s() - begun;

	if (failed)
		return false;
	return s < seconds || (seconds >= FULL_S && s < seconds + MORE_S && !all_seen());
}

static int child(long seconds)
{
	long long begun = now_s();
	struct worker *main_worker;
	unsigned int n = 0, i;

	version = calloc(sectors, sizeof(*version));
	for (i = 0; i < IO_THREADS; i++)
		new_worker("I/O", io_round);
	give_regions();
	new_worker("mover", move_round);
	new_worker("messages", message_round);
	new_worker("members", member_round);
	new_worker("pins", pin_round);
	new_worker("areas", area_round);
	new_worker("reload", reload_round);
	new_worker("suspend", suspend_round);
	new_worker("status", status_round);
	new_worker("second pool", second_round);
	new_worker("main", NULL);
	main_worker = &worker[--nr_workers];

	make(main_worker);
	verify(main_worker, "a new pool");
	for (i = 0; i < nr_workers; i++)
		if (pthread_create(&worker[i].thread, NULL, run, &worker[i]))
			return 2;
	while (goes_on(begun, seconds))
		cycle(main_worker, n++);
	stop_all();
	over = true;
	go_on();
	for (i = 0; i < nr_workers; i++)
		pthread_join(worker[i].thread, NULL);
	verify(main_worker, "at the end");
	check_status("at the end");
	close(fd);
	close(dsync_fd);
	doing(main_worker, "remove the pool");
	if (dm_unmake("p", 1))
		wrong("remove: %s", strerror(errno));
	doing(main_worker, NULL);
	fflush(stdout);
	return failed;
}

/* Who is at one thing for too long? */
static bool stalled(void)
{
	bool found = false;

	for (unsigned int i = 0; i <= MAX_THREADS; i++) {
		const char *what = shared->slot[i].what;
		long long s = now_s() - shared->slot[i].since;

		if (!what || s < STALL_S)
			continue;
		printf("# HANGS: %s %u: %s, for %lld s\n", shared->slot[i].name, i, what, s);
		found = true;
	}
	return found;
}

static void tell_blocked(void)
{
	int trigger = open("/proc/sysrq-trigger", O_WRONLY);

	if (trigger >= 0 && write(trigger, "w", 1) != 1)
		printf("# no sysrq\n");
}

static int tell(long seconds, int status)
{
	printf("# seed %" PRIu64, seed);
	for (int i = 0; i < NR_COUNTED; i++)
		printf(", %s %llu", counted[i], (unsigned long long)shared->count[i]);
	printf("\n");
	for (int i = 0; !status && seconds >= FULL_S && i < NR_COUNTED; i++)
		if (!seen(i)) {
			printf("# WRONG: too few of %s\n", counted[i]);
			status = 1;
		}
	return status;
}

int main(int argc, char **argv)
{
	int status = 0;
	long seconds;
	pid_t pid;

	if (argc < 5 || argc > 6)
		return 2;
	seconds = strtol(argv[1], NULL, 0);
	seed = strtoull(argv[2], NULL, 0);
	prefix = argv[3];
	second = argv[4];
	offline = argv[5];
	sectors = strtoull(prefix + strspn(prefix, "0 "), NULL, 10);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || !sectors)
		return 2;
	fflush(stdout);
	pid = fork();
	if (!pid)
		return child(seconds);
	while (!waitpid(pid, &status, WNOHANG)) {
		if (stalled()) {
			tell_blocked();
			tell(seconds, 3);
			kill(pid, SIGKILL);
			return 3;
		}
		sleep(1);
	}
	return tell(seconds, WIFEXITED(status) ? WEXITSTATUS(status) : 2);
}
