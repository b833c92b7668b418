// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each message of the hybrid target.  What one has changed is changed back before the next turn, so
 * that all begin alike; one that failed has changed nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "disk.h"
#include "dm.h"
#include "pool.h"

#define POLLS	5000
#define POLL_US	2000

static char was[DM_LINE_ROOM], answer[DM_LINE_ROOM];

static int do_message(const struct op *op)
{
	return dm_message(POOL, op->arg);
}

static int ask(const struct op *op)
{
	return dm_ask(POOL, op->arg, answer, sizeof(answer));
}

static unsigned long number(const char *key)
{
	char value[64];

	pool_field(key, value, sizeof(value));
	return strtoul(value, NULL, 10);
}

/* --- settings --- */

/* Nothing moves by itself, and nothing is set but what op->argv says. */
static void unset(const struct op *op)
{
	pool_live(op);
	pool_tell("set pin none");
	pool_tell("set cache_extents 0");
	pool_tell("set period_ms 2000");
	pool_tell("set candidates 16384");
	pool_tell(strcmp(op->arg, "policy fill") ? "policy fill" : "policy stripe");
	for (const char *const *text = op->argv; text && *text; text++)
		pool_tell(*text);
	pool_says_table(was);
}

/* Nor has the pool the frame of a cache that was used before. */
static void no_cache(const struct op *op)
{
	pool_live(op);
	if (dm_unmake(POOL, 1) || dm_make(POOL, pool_table("fill 0"), pool_node, sizeof(pool_node)))
		die("the pool once more");
	unset(op);
}

/* The table says what is set: what it was, or something else. */
static void after_set(const struct op *op, int error)
{
	char line[DM_LINE_ROOM];

	pool_says_table(line);
	if (!strcmp(line, was) != !!error)
		wrong("%s, and the table is %s", strerror(error), line);
	pool_sound(op, error);
}

/* And is what it says: it has to keep extents. */
static void after_set_cache(const struct op *op, int error)
{
	after_set(op, error);
	if (dm_ask(POOL, "cache", answer, sizeof(answer)))
		die("cache");
	if (!strstr(answer, error ? " limit 0 " : " limit 8 "))
		wrong("%s, and the cache is: %s", strerror(error), answer);
	pool_tell("set cache_extents 0");
}

static void after_policy_cache(const struct op *op, int error)
{
	after_set_cache(op, error);
	pool_tell("policy fill");
}

/* --- questions --- */

static void to_ask(const struct op *op)
{
	unset(op);
	if (dm_ask(POOL, op->arg, was, sizeof(was)))
		die("%s", op->arg);
}

/* An answer that came is all there is to say. */
static void after_same(const struct op *op, int error)
{
	if (!error && strcmp(answer, was))
		wrong("says %s, not %s", answer, was);
	pool_sound(op, error);
}

/* It has counts that go on. */
static void after_any(const struct op *op, int error)
{
	if (!error && !*answer)
		wrong("says nothing");
	pool_sound(op, error);
}

/* The map is on the disks, and not in memory yet. */
static void unread(const struct op *op)
{
	to_ask(op);
	if (dm_unmake(POOL, 1) || dm_make(POOL, pool_table("fill 0"), pool_node, sizeof(pool_node)))
		die("the pool once more");
}

/* --- extents and members --- */

/* A move that was asked for goes on when the message has been answered. */
static void until_nothing_moves(void)
{
	for (int i = 0; i < POLLS; i++) {
		if (number("started") == number("completed") + number("failed"))
			return;
		usleep(POLL_US);
	}
	die("a migration does not end");
}

static void first_place(char *at, size_t len)
{
	until_nothing_moves();
	if (dm_ask(POOL, "entry 3", at, len))
		die("entry");
}

/* The extent that is to move is at its first place, and nothing else moves. */
static void to_move(const struct op *op)
{
	char at[64] = "";
	int fd;

	unset(op);
	first_place(at, sizeof(at));
	if (!strncmp(at, "-", 1)) {
		fd = disk_open();
		if (disk_write(fd, 3 * EXTENT / BLOCK, 1))
			die("writing");
		close(fd);
		pool_tell("commit");
	}
	for (int i = 0; i < 1000; i++) {
		first_place(at, sizeof(at));
		if (!strncmp(at, "0 ", 2))
			return;
		dm_message(POOL, "move 3 0");
	}
	die("extent 3 stays at %s", at);
}

static void after_move(const struct op *op, int error)
{
	if (error && error != ENOMEM)
		wrong("%s", strerror(error));
	pool_sound(op, error);
}

#define SECOND	"dev.1.state"

static void to_evacuate(const struct op *op)
{
	unset(op);
	if (pool_field_is(SECOND, "draining"))
		pool_tell("stay 1");
}

static void after_evacuate(const struct op *op, int error)
{
	if (pool_field_is(SECOND, "draining") != !error)
		wrong("%s, and it is %sbeing emptied", strerror(error), error ? "" : "not ");
	pool_sound(op, error);
	to_evacuate(op);
}

static void to_stay(const struct op *op)
{
	unset(op);
	pool_tell("evacuate 1");
}

static void after_stay(const struct op *op, int error)
{
	if (pool_field_is(SECOND, "draining") != !!error)
		wrong("%s, and it is %sbeing emptied", strerror(error), error ? "not " : "");
	pool_sound(op, error);
	to_evacuate(op);
}

#define FIRST_LOST	3u

static void to_lose(const struct op *op)
{
	pool_live(op);
	pool_whole();
	pool_second_has(FIRST_LOST);
	pool_less();
	if (dm_ask(POOL, op->arg, was, sizeof(was)))
		die("%s", op->arg);
	if (atoi(was) != FIRST_LOST)
		die("extent %u is lost, and it says %s", FIRST_LOST, was);
}

static void after_lost(const struct op *op, int error)
{
	pool_whole();
	after_same(op, error);
}

static void to_reinstate(const struct op *op)
{
	unset(op);
	pool_hurt(FIRST_LOST);
}

static void after_reinstate(const struct op *op, int error)
{
	if (pool_field_is(SECOND, "active") != !error)
		wrong("%s, and it is %strusted", strerror(error), error ? "" : "not ");
	if (error && do_message(op))
		wrong("%s, nor is it trusted the next time: %s", strerror(error), strerror(errno));
	pool_healed();
}

/* Nothing was ever there. */
static void to_remove(const struct op *op)
{
	to_stay(op);
	for (int i = 0; !pool_field_is("dev.1.used", "0"); i++) {
		if (i == POLLS)
			die("the second member is not empty");
		usleep(POLL_US);
	}
}

/* It is gone for good: the next turn has another pool. */
static void after_removal(const struct op *op, int error)
{
	if (pool_field_is(SECOND, "removed") != !error)
		wrong("%s, and it is %sremoved", strerror(error), error ? "" : "not ");
	if (error && do_message(op))
		wrong("%s, nor is it removed the next time: %s", strerror(error), strerror(errno));
	pool_sound(op, error);
	pool_blank();
}

/* --- metadata areas --- */

/* Nothing is said of an area's way for a moment before the last step. */
static void until_areas_rest(char *letters, size_t len)
{
	for (int i = 0; i < POLLS; i++) {
		pool_field("meta", letters, len);
		if (!strpbrk(letters, "LR"))
			return;
		usleep(POLL_US);
	}
	die("a metadata area comes to no end");
}

static bool areas_are(const char *want)
{
	char letters[8];

	until_areas_rest(letters, sizeof(letters));
	return !strcmp(letters, want);
}

static void areas_become(const char *want, const char *message)
{
	char letters[8];

	if (areas_are(want))
		return;
	pool_tell(message);
	until_areas_rest(letters, sizeof(letters));
	if (strcmp(letters, want))
		die("%s: the metadata areas become %s, not %s", message, letters, want);
}

static void to_leave(const struct op *op)
{
	unset(op);
	areas_become("AA", "metadata resync 1");
}

static void after_leave(const struct op *op, int error)
{
	if (!areas_are(error ? "AA" : "AS"))
		wrong("%s, and it has %sleft", strerror(error), error ? "" : "not ");
	pool_sound(op, error);
	to_leave(op);
}

static void to_resync(const struct op *op)
{
	unset(op);
	areas_become("AS", "metadata leave 1");
}

static void after_resync(const struct op *op, int error)
{
	if (!areas_are(error ? "AS" : "AA"))
		wrong("%s, and it is %sa mirror", strerror(error), error ? "" : "not ");
	pool_sound(op, error);
	to_leave(op);
}

#define FIRST(...) .argv = (const char *const []){ __VA_ARGS__, NULL }

const struct op message_ops[] = {
	{ "message set", unset, do_message, NULL, after_set, "set period_ms 500" },
	{ "message set candidates", unset, do_message, NULL, after_set, "set candidates 64" },
	{ "message set cache_extents", no_cache, do_message, NULL, after_set_cache,
	  "set cache_extents 8" },
	{ "message set pin", unset, do_message, NULL, after_set, "set pin 17+2:1" },
	{ "message policy static", unset, do_message, NULL, after_set, "policy static shares 70,30" },
	{ "message policy wardrop", unset, do_message, NULL, after_set, "policy wardrop alpha 3" },
	{ "message policy asymmetry", unset, do_message, NULL, after_set, "policy asymmetry" },
	{ "message policy unified", unset, do_message, NULL, after_set, "policy unified" },
	{ "message policy concentrate", unset, do_message, NULL, after_set,
	  "policy concentrate sublun 64 evict 3" },
	{ "message policy stripe", unset, do_message, NULL, after_set, "policy stripe" },
	{ "message policy fill", unset, do_message, NULL, after_set, "policy fill" },
	{ "message policy, with a cache", no_cache, do_message, NULL, after_policy_cache,
	  "policy stripe cache_extents 8" },
	{ "message pin", unset, do_message, NULL, after_set, "pin 2176 256 1" },
	{ "message unpin", unset, do_message, NULL, after_set, "unpin 2176 128",
	  FIRST("pin 2176 256 1") },
	{ "message unpin, all", unset, do_message, NULL, after_set, "unpin", FIRST("pin 2176 256 1") },
	{ "message commit", pool_dirty, do_message, NULL, pool_sound, "commit" },
	{ "message checkpoint", pool_dirty, do_message, NULL, pool_sound, "checkpoint" },
	{ "message move", to_move, do_message, NULL, after_move, "move 3 1" },
	{ "message entry", to_ask, ask, NULL, after_same, "entry 1" },
	{ "message entry, the map unread", unread, ask, NULL, after_same, "entry 1", .thin = 8 },
	{ "message explain", to_ask, ask, NULL, after_any, "explain 0" },
	{ "message explain, asymmetry", to_ask, ask, NULL, after_any, "explain 0",
	  FIRST("policy asymmetry") },
	{ "message counts", to_ask, ask, NULL, after_any, "counts 0" },
	{ "message counts, asymmetry", to_ask, ask, NULL, after_any, "counts 0",
	  FIRST("policy asymmetry") },
	{ "message holds", to_ask, ask, NULL, after_same, "holds 0 0" },
	{ "message samples", to_ask, ask, NULL, after_any, "samples" },
	{ "message cache", to_ask, ask, NULL, after_any, "cache", FIRST("set cache_extents 8") },
	{ "message concentrations", to_ask, ask, NULL, after_any, "concentrations",
	  FIRST("policy concentrate sublun 64") },
	{ "message metadata", to_ask, ask, NULL, after_same, "metadata" },
	{ "message evacuate", to_evacuate, do_message, NULL, after_evacuate, "evacuate 1" },
	{ "message stay", to_stay, do_message, NULL, after_stay, "stay 1" },
	{ "message reinstate", to_reinstate, do_message, NULL, after_reinstate, "reinstate 1" },
	{ "message members", to_ask, ask, NULL, after_same, "members" },
	{ "message remove", to_remove, do_message, NULL, after_removal, "remove 1" },
	{ "message lost, a member missing", to_lose, ask, NULL, after_lost, "lost 0", .thin = 4 },
	{ "message remove, devices missing", to_remove, do_message, NULL, after_removal, "remove 1",
	  .shape = POOL_LESS },
	{ "message checkpoint, metadata mirrored", pool_dirty, do_message, NULL, pool_sound,
	  "checkpoint", .shape = POOL_MIRRORED },
	{ "message metadata leave", to_leave, do_message, NULL, after_leave, "metadata leave 1",
	  .shape = POOL_MIRRORED },
	{ "message metadata vacate", to_leave, do_message, NULL, after_leave, "metadata vacate 1",
	  .shape = POOL_MIRRORED },
	{ "message metadata resync", to_resync, do_message, NULL, after_resync, "metadata resync 1",
	  .shape = POOL_MIRRORED },
	{ }
};

/* --- is any message forgotten? --- */

#define SOURCE	"drivers/hybrid/status.c"	/* in the folder that suites run in */

static unsigned int words_of(const char *text)
{
	unsigned int nr = 1;

	for (; *text; text++)
		nr += *text == ' ';
	return nr;
}

static bool has_row(const char *word, unsigned int least, unsigned int most)
{
	size_t len = strlen(word);

	for (const struct op *op = message_ops; op->name; op++)
		if (!strncmp(op->arg, word, len) && (!op->arg[len] || op->arg[len] == ' ') &&
		    words_of(op->arg) >= least && words_of(op->arg) <= most)
			return true;
	return false;
}

static void judge(const char *word, unsigned int least, unsigned int most)
{
	if (!has_row(word, least, most))
		wrong("%s, of %u words: no row", word, least);
}

/* "(argc == 1 || argc == 3) && !strcasecmp(argv[0], "WORD")" is two. */
static unsigned int judge_line(const char *line)
{
	const char *at = line, *quoted = strstr(line, "(argv[0], \"");
	unsigned int nr = 0, argc;
	char word[32];

	if (!quoted || sscanf(quoted, "(argv[0], \"%31[a-z_]\"", word) != 1)
		return 0;
	while ((at = strstr(at, "argc "))) {
		if (sscanf(at, "argc == %u", &argc) == 1)
			judge(word, argc, argc);
		else if (sscanf(at, "argc >= %u", &argc) == 1)
			judge(word, argc, ~0u);
		else
			wrong("how many words has this: %s", line);
		nr++;
		at++;
	}
	if (!nr)
		wrong("how many words has this: %s", line);
	return nr;
}

/* "!strcasecmp(word, "WORD") || ...": a member is the other word. */
static unsigned int judge_members(const char *line)
{
	unsigned int nr = 0;
	char word[32];

	while ((line = strstr(line, "(word, \""))) {
		if (sscanf(line, "(word, \"%31[a-z_]\"", word) == 1) {
			judge(word, 2, 2);
			nr++;
		}
		line++;
	}
	return nr;
}

/* By the source of what takes them, so that a new one can't be left out. */
void messages_all(void)
{
	unsigned int nr = 0, members = 0, rows = 0;
	bool of_members = false, of_all = false;
	FILE *source = fopen(SOURCE, "re");
	char line[256];

	while (source && fgets(line, sizeof(line), source)) {
		of_members |= !strncmp(line, "static bool is_member_message(", 30);
		of_all |= !strncmp(line, "static int message(", 19);
		if (*line == '}')
			of_members = of_all = false;
		if (of_members)
			members += judge_members(line);
		else if (of_all)
			nr += judge_line(line);
	}
	if (!source || fclose(source) || !nr || !members)
		wrong(SOURCE " has no messages");
	for (const struct op *op = message_ops; op->name; op++)
		rows++;
	result("%u messages: each is in one of %u rows", nr + members, rows);
}
