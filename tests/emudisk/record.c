// SPDX-License-Identifier: GPL-2.0-only
/* The recorder: what it keeps, and replays of it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emudisk.h"

#define FILES	20u
#define CLEARS	64u
#define REPLAYS	40u
#define BIG	4096ull		/* KiB */

enum { START, BEFORE_FLUSH, AFTER_FLUSH, END, NR_POINTS };
static unsigned long long point[NR_POINTS];

static atomic_bool enough;		/* for the threads */

/* The last program printed a number of the recorder's. */
static bool take_number(unsigned long long *number)
{
	char *end;

	*number = strtoull(said, &end, 10);
	return (end != said && !*end) || wrong("is no number: %s", said);
}

static bool record_three(void)
{
	return put("r1", 2, 0, 4) && put("r2", 2, 0, 4) && put("r3", 2, 0, 4) &&
		emuctl("record mark before flush") && take_number(&point[BEFORE_FLUSH]) && flush("r1") &&
		emuctl("record mark after flush") && take_number(&point[AFTER_FLUSH]) &&
		put("r1", 3, 0, 4) && put_fua("r2", 3, 8, 4) && discard("r3", 0, 4) &&
		emuctl("record mark end") && take_number(&point[END]);
}

static bool recording(const struct test *t)
{
	(void)t;
	return emuctl("del --all --force") && emuctl("add r1 mem 16M cache=volatile") &&
		emuctl("add r2 mem 16M cache=volatile") && emuctl("add r3 mem 16M") &&
		put("r1", 1, 0, 4) && put("r2", 1, 0, 4) && put("r3", 1, 0, 4) &&
		emuctl("record start") && take_number(&point[START]) && record_three() &&
		refused("cut r1") && refused_at_once("record replay") && emuctl("record stop");
}

static long long number_of(json_t *event, const char *key)
{
	return json_integer_value(json_object_get(event, key));
}

static bool text_is(json_t *event, const char *key, const char *want)
{
	const char *got = json_string_value(json_object_get(event, key));

	return (got && !strcmp(got, want)) || wrong("%s is %s, wanted %s", key, got ? got : "not there", want);
}

static bool order_is_right(json_t *log)
{
	json_t *events = json_object_get(log, "events"), *event;
	long long start = number_of(log, "start"), last = -1, done = 0;
	size_t i;

	json_array_foreach(events, i, event) {
		long long seq = number_of(event, "seq");

		done = number_of(event, "done");
		if (seq < last || done < seq || seq <= start)
			return wrong("event %zu: seq %lld done %lld after %lld", i, seq, done, last);
		last = seq;
	}
	return number_of(log, "end") > done || wrong("the end is not behind the last");
}

static bool fua_is_listed(json_t *event)
{
	json_t *flags = json_object_get(event, "flags");
	const char *flag = json_string_value(json_array_get(flags, 0));

	if (json_array_size(flags) != 1 || !flag || strcmp(flag, "fua"))
		return wrong("flags of the FUA write");
	return text_is(event, "dev", "r2") && ((number_of(event, "sector") == 16 &&
		number_of(event, "sectors") == 8) || wrong("place of the FUA write"));
}

static bool log_is_right(json_t *log)
{
	static const char *const ops[] = { "write", "write", "write", "mark", "flush", "mark", "write", "write",
					   "discard", "mark" };
	const size_t nr = sizeof(ops) / sizeof(*ops);
	json_t *events = json_object_get(log, "events");

	if (json_array_size(events) != nr)
		return wrong("%zu events, wanted %zu", json_array_size(events), nr);
	for (size_t i = 0; i < nr; i++)
		if (!text_is(json_array_get(events, i), "op", ops[i]))
			return wrong("of event %zu", i);
	return order_is_right(log) && fua_is_listed(json_array_get(events, 7)) &&
		text_is(json_array_get(events, 5), "text", "after flush") &&
		text_is(json_array_get(events, 8), "dev", "r3");
}

/* It would be lines of the log, too. */
static bool mark_refused(const struct test *t)
{
	static const char *const bad[] = { "x\n1 1 r1 write 0 8 -", "a\tb", "x\x1b[2J", "x\x7f" };

	(void)t;
	if (!emuctl("record clear") || !emuctl("record start"))
		return false;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (!refused("record mark %s", bad[i]))
			return false;
	return emuctl("record mark gr\xc3\xbc\xc3\x9f dich") && emuctl("record stop") &&
		emuctl("record list") && (strstr(said, " - mark 0 0 - gr\xc3\xbc\xc3\x9f dich") ||
		wrong("%s", said)) && emuctl("record clear");
}

static bool log_listed(const struct test *t)
{
	json_t *log;
	bool good;

	(void)t;
	if (!emuctl("record list --json"))
		return false;
	log = json_loads(said, 0, NULL);
	good = log ? log_is_right(log) : wrong("no JSON: %s", said);
	if (!good)
		wrong("%s", said);
	json_decref(log);
	return good;
}

static bool not_deleted(const struct test *t)
{
	(void)t;
	return refused_at_once("del r1");
}

static bool replay(int to, const char *keep)
{
	return emuctl("record replay --to %llu%s%s", point[to], *keep ? " --keep " : "", keep);
}

static bool replay_start(const struct test *t)
{
	(void)t;
	return replay(START, "") && holds("r1", 1, 0, 4) && holds("r2", 1, 0, 4) && holds("r3", 1, 0, 4);
}

static bool before_flush_none(const struct test *t)
{
	(void)t;
	return replay(BEFORE_FLUSH, "") && holds("r1", 1, 0, 4) && holds("r2", 1, 0, 4) &&
		holds("r3", 2, 0, 4);
}

static bool before_flush_all(const struct test *t)
{
	(void)t;
	return replay(BEFORE_FLUSH, "all") && holds("r1", 2, 0, 4) && holds("r2", 2, 0, 4) &&
		holds("r3", 2, 0, 4) && holds("r2", 0, 8, 4);
}

static bool after_flush_none(const struct test *t)
{
	(void)t;
	return replay(AFTER_FLUSH, "") && holds("r1", 2, 0, 4) && holds("r2", 1, 0, 4);
}

static bool end_none(const struct test *t)
{
	(void)t;
	return replay(END, "") && holds("r1", 2, 0, 4) && holds("r2", 1, 0, 4) && holds("r2", 3, 8, 4) &&
		holds("r3", 0, 0, 4);
}

static bool all_of_it(const struct test *t)
{
	(void)t;
	return emuctl("record replay --keep all") && holds("r1", 3, 0, 4) && holds("r2", 2, 0, 4) &&
		holds("r2", 3, 8, 4);
}

static bool undoes_recovery(const struct test *t)
{
	(void)t;
	return replay(AFTER_FLUSH, "") && put("r1", 99, 0, 4) && put("r1", 99, 1024, 64) && flush("r1") &&
		put("r3", 99, 512, 4) && replay(AFTER_FLUSH, "") && holds("r1", 2, 0, 4) &&
		holds("r1", 0, 1024, 64) && holds("r3", 0, 512, 4);
}

/* What was replayed is durable. */
static bool replay_then_cut(const struct test *t)
{
	(void)t;
	return replay(BEFORE_FLUSH, "all") && emuctl("cut --all") && emuctl("power --all on") &&
		holds("r1", 2, 0, 4) && holds("r2", 2, 0, 4);
}

static bool replay_busy(const struct test *t)
{
	int fd = disk_open("r1", O_RDONLY);
	bool good;

	(void)t;
	good = fd >= 0 && refused_at_once("record replay");
	close(fd);
	return good;
}

/* Reads at both ends of a disk that must not change while it is open; tells what is wrong. */
static void *open_and_look(void *arg)
{
	const char **what = arg;
	char *first = buffer(4096), *last = buffer(4096);

	while (!enough && !*what) {
		int fd = disk_open("o", O_RDONLY), byte = 0;

		for (unsigned int i = 0; fd >= 0 && !*what && i < 8; i++) {
			if (pread(fd, first, 4096, 0) != 4096 ||
			    pread(fd, last, 4096, (BIG - 4) * KIB) != 4096)
				*what = strerror(errno);
			else if (*first != *last || (i && *first != byte))
				*what = "changes while it is open";
			byte = *first;
		}
		if (fd < 0 && errno != EBUSY)
			*what = strerror(errno);
		if (fd >= 0)
			close(fd);
		usleep(1000);
	}
	free(first);
	free(last);
	return NULL;
}

/* As often as it is not refused because the disk is open. */
static bool replay_back_and_forth(unsigned long long from, unsigned long long to)
{
	unsigned int done = 0;

	for (unsigned int tries = 0; done < REPLAYS && tries < 1000 * REPLAYS; tries++) {
		int fd = open(CONFIGFS "/record", O_WRONLY | O_CLOEXEC);
		char text[96];
		int len = snprintf(text, sizeof(text), "replay to=%llu keep=all",
				   done % 2 ? from : to);

		if (fd >= 0 && write(fd, text, len) == len)
			done++;
		else if (errno != EBUSY)
			return wrong("%s: %s", text, strerror(errno));
		close(fd);
		usleep(100);
	}
	return done == REPLAYS || wrong("only %u replays", done);
}

static bool replay_under_openers(const struct test *t)
{
	unsigned long long from, to;
	const char *what = NULL;
	pthread_t opener;
	bool good;

	(void)t;
	if (!emuctl("record clear") || !emuctl("del --all --force") || !emuctl("add o null 16M") ||
	    !put("o", 1, 0, BIG) || !emuctl("record start") || !take_number(&from) ||
	    !put("o", 2, 0, BIG) || !emuctl("record mark end") || !take_number(&to) ||
	    !emuctl("record stop"))
		return false;
	enough = false;
	if (pthread_create(&opener, NULL, open_and_look, &what))
		abort();
	good = replay_back_and_forth(from, to);
	enough = true;
	pthread_join(opener, NULL);
	if (what)
		good = wrong("o: %s", what);
	return emuctl("record clear") && good;
}

static bool record_again(const struct test *t)
{
	(void)t;
	return emuctl("record clear") && emuctl("record start") && put("r1", 4, 0, 4) &&
		emuctl("record stop") && emuctl("record replay --keep all") && holds("r1", 4, 0, 4) &&
		emuctl("record clear");
}

/* Without a program to start, and not tried again. */
static bool record_directly(const char *text)
{
	int fd = open(CONFIGFS "/record", O_WRONLY | O_CLOEXEC), len = strlen(text);
	bool good = fd >= 0 && write(fd, text, len) == len;

	if (!good)
		wrong("%s: %s", text, strerror(errno));
	if (fd >= 0)
		close(fd);
	return good;
}

/* One of those who write to a page, each to its own sectors; what: is wrong, if anything. */
struct neighbour {
	pthread_t thread;
	unsigned int sector, sectors, looks;
	const char *what;
};

static void *write_and_look(void *arg)
{
	struct neighbour *n = arg;
	ssize_t len = n->sectors * 512;
	uint64_t *wrote = buffer(len), *got = buffer(len);
	int fd = disk_open("n", O_RDWR);

	memset(wrote, 1, len);
	while (!enough && !n->what) {
		wrote[0]++;
		if (pwrite(fd, wrote, len, n->sector * 512) != len)
			n->what = strerror(errno);
		for (unsigned int i = 0; !n->what && i < n->looks; i++) {
			if (pread(fd, got, len, n->sector * 512) != len)
				n->what = strerror(errno);
			else if (memcmp(got, wrote, len))
				n->what = "what was written is lost";
		}
	}
	if (fd >= 0)
		close(fd);
	free(wrote);
	free(got);
	return NULL;
}

static bool clear_often(void)
{
	for (unsigned int i = 0; i < CLEARS; i++) {
		/* all of this takes a while to be forgotten, in which the writers come to wait */
		if (!record_directly("start") || !put("n", i, BIG, 2 * BIG) ||
		    !record_directly("stop") || !record_directly("clear"))
			return false;
	}
	return true;
}

/*
 * Whoever was about to write as recorded must not put back what others write in place by then. A
 * long write has its first page for a while before it puts it into its place.
 */
static bool clear_under_writes(const struct test *t)
{
	struct neighbour n[] = {
		{ .sector = 0, .sectors = 1, .looks = 8 },
		{ .sector = 1, .sectors = 1, .looks = 8 },
		{ .sector = 4, .sectors = 2000 },
	};
	const unsigned int nr = sizeof(n) / sizeof(*n);
	bool good;

	(void)t;
	if (!emuctl("del --all --force") || !emuctl("add n null 32M") || !put("n", 1, BIG, 2 * BIG))
		return false;
	enough = false;
	for (unsigned int i = 0; i < nr; i++)
		if (pthread_create(&n[i].thread, NULL, write_and_look, &n[i]))
			abort();
	good = clear_often();
	enough = true;
	for (unsigned int i = 0; i < nr; i++) {
		pthread_join(n[i].thread, NULL);
		if (n[i].what)
			good = wrong("sector %u: %s", n[i].sector, n[i].what);
	}
	return good;
}

/* FILES files, each synced and then marked. */
static bool mark_files(const char *dir, unsigned long long *mark)
{
	char path[96], text[16];

	for (unsigned int i = 1; i <= FILES; i++) {
		int fd, len = snprintf(text, sizeof(text), "%u\n", i);
		bool good;

		snprintf(path, sizeof(path), "%s/f%u", dir, i);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		good = fd >= 0 && write(fd, text, len) == len && !fsync(fd);
		if (fd >= 0)
			close(fd);
		if (!good)
			return wrong("%s: %s", path, strerror(errno));
		if (!emuctl("record mark %u", i) || !take_number(&mark[i]))
			return false;
	}
	return true;
}

static int by_number(const void *a, const void *b)
{
	unsigned long long x = *(const unsigned long long *)a, y = *(const unsigned long long *)b;

	return x < y ? -1 : x > y;
}

/* Moments at which something was done, sorted, each once; to be freed. */
static unsigned long long *moments(size_t *nr)
{
	unsigned long long *at;
	json_t *log, *events, *event;
	size_t i, n = 0;

	*nr = 0;
	if (!emuctl("record list --json"))
		return NULL;
	log = json_loads(said, 0, NULL);
	events = json_object_get(log, "events");
	at = calloc(json_array_size(events) + 1, sizeof(*at));
	if (!at)
		abort();
	json_array_foreach(events, i, event)
		if (number_of(event, "done"))
			at[n++] = number_of(event, "done");
	json_decref(log);
	qsort(at, n, sizeof(*at), by_number);
	for (i = 0; i < n; i++)
		if (!i || at[i] != at[i - 1])
			at[(*nr)++] = at[i];
	return at;
}

static bool replay_directly(unsigned long long to)
{
	char text[96];

	snprintf(text, sizeof(text), "replay to=%llu keep=random tear=1 seed=%llu", to,
		 (unsigned long long)seed + to);
	return record_directly(text);
}

static bool replay_every_other_moment(void)
{
	unsigned long long *at;
	bool good = true;
	size_t nr;

	at = moments(&nr);
	for (size_t i = 0; good && i < nr; i += 2)
		good = replay_directly(at[i]);
	free(at);
	return good && (nr > FILES || wrong("only %zu moments", nr));
}

static bool file_is_there(const char *dir, unsigned int i)
{
	char path[96], text[16] = "";
	int fd;

	if (mount(device("j"), dir, "ext4", 0, NULL))
		return wrong("mount: %s", strerror(errno));
	snprintf(path, sizeof(path), "%s/f%u", dir, i);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		wrong("%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (umount(dir))
		return wrong("umount: %s", strerror(errno));
	return atoi(text) == (int)i || wrong("f%u holds '%s'", i, text);
}

/* A file system under the recorder, hundreds of points. */
static bool many_replays_in(const char *dir)
{
	unsigned long long mark[FILES + 1];
	bool marked;

	if (!emuctl("add j mem 64M cache=volatile") || !program("mkfs.ext4 -q -F %s", device("j")) ||
	    !emuctl("record start"))
		return false;
	if (mount(device("j"), dir, "ext4", 0, NULL))
		return wrong("mount: %s", strerror(errno));
	marked = mark_files(dir, mark);
	if (umount(dir))
		return wrong("umount: %s", strerror(errno));
	if (!marked || !emuctl("record stop") || !replay_every_other_moment())
		return false;
	for (unsigned int i = 5; i <= FILES; i += 5)
		if (!emuctl("record replay --to %llu --keep random --seed %llu", mark[i],
			    (unsigned long long)seed + mark[i]) || !file_is_there(dir, i))
			return false;
	return emuctl("record clear");
}

static bool many_replays(const struct test *t)
{
	char dir[64];
	bool good;

	(void)t;
	snprintf(dir, sizeof(dir), "%s/j", work);
	mkdir(dir, 0700);
	good = emuctl("del --all --force") && emuctl("record clear") && many_replays_in(dir);
	rmdir(dir);
	return good;
}

const struct test record_tests[] = {
	{ "recording", recording, .reset = true },
	{ "the log lists what happened", log_listed },
	{ "recorded devices are not deleted", not_deleted },
	{ "replay to the start", replay_start },
	{ "replay before the flush, keep none", before_flush_none },
	{ "replay before the flush, keep all", before_flush_all },
	{ "replay after the flush, keep none", after_flush_none },
	{ "replay to the end, keep none", end_none },
	{ "replay without --to, keep all", all_of_it },
	{ "replay goes back again", before_flush_none },
	{ "replay undoes writes since the last replay", undoes_recovery },
	{ "what was replayed is durable", replay_then_cut },
	{ "replay is refused while a device is open", replay_busy },
	{ "clear, record and replay again", record_again },
	{ "a mark is a line", mark_refused },
	{ "no disk is opened while it is replayed", replay_under_openers, .reset = true },
	{ "clearing the log under writes loses none of them", clear_under_writes, .reset = true },
	{ "many replays of a file system", many_replays, .reset = true },
	{ }
};
