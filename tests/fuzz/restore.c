// SPDX-License-Identifier: GPL-2.0-only
/*
 * hybridctl restore: a dump onto a pool. The first byte names the pool as in edited.h, the second
 * says whether it is forced and whether the pool has lost its superblocks; the rest is the dump.
 * What is refused has written nothing. What is taken is durable, and dumped again it says the same.
 */
#include <getopt.h>
#include <string.h>
#include <uuid/uuid.h>

#include "commands.h"
#include "devices.h"
#include "edited.h"
#include "fuzz.h"
#include "msg.h"
#include "offline.h"
#include "restore.h"
#include "store_internal.h"

#define FORCE	0x1
#define WIPED	0x2
#define HEAD	2u

#define GENERATIONS	(1ull << 33)	/* that are left where a dump is always taken */

/* ---- what dump.c asks of the program that it is a part of ---- */

int offline_pools(struct pools *pools, char *const *paths, int nr)
{
	unsigned int i;

	devices_pools(pools);
	for (i = 0; i < pools->nr; i++)
		pool_settle(&pools->pool[i]);
	return EXIT_OK;
}

int command_help(void)
{
	abort();
}

int bad_option(char **argv)
{
	abort();
}

/* ---- what a dump says ---- */

struct member {
	uuid_t uuid;
	unsigned long long extents, state;
};

struct extent {
	unsigned long long le, member, pe, valid;
};

struct facts {
	uuid_t uuid;
	unsigned long long extent_sectors, nr_members, generation, flags, extents, vacant;
	struct member member[EK_MAX_MEMBERS];
	char *policy;
	struct extent *map;
	size_t nr;
};

static void read_member(struct facts *f, const char *line)
{
	unsigned long long i;
	struct member m;
	char uuid[40];

	MUST(sscanf(line, "member %llu extents %llu state %llu uuid %39s", &i, &m.extents, &m.state,
		    uuid) == 4);
	MUST(i < EK_MAX_MEMBERS && !uuid_parse(uuid, m.uuid));
	f->member[i] = m;
}

static void read_extent(struct facts *f, const char *line)
{
	struct extent e;

	MUST(sscanf(line, "extent %llu member %llu physical %llu valid %llx", &e.le, &e.member,
		    &e.pe, &e.valid) == 4);
	f->map = realloc(f->map, (f->nr + 1) * sizeof(*f->map));
	f->map[f->nr++] = e;
}

/* All numbers as wide as they are written, so none that was cut off is taken for another. */
static void read_line(struct facts *f, const char *line)
{
	const char *at;
	char uuid[40];

	if (!strncmp(line, "pool ", 5)) {
		at = strstr(line, " extent_sectors ");
		MUST(at && sscanf(line, "pool %39s", uuid) == 1 && !uuid_parse(uuid, f->uuid));
		MUST(sscanf(at, " extent_sectors %llu members %llu", &f->extent_sectors,
			    &f->nr_members) == 2);
	} else if (!strncmp(line, "superblock ", 11)) {
		at = strstr(line, " vacant ");
		MUST(sscanf(line, "superblock generation %llu flags %llx stale %*x extents %llu",
			    &f->generation, &f->flags, &f->extents) == 3);
		MUST(!at || sscanf(at, " vacant %llx", &f->vacant) == 1);
	} else if (!strncmp(line, "policy ", 7)) {
		free(f->policy);
		f->policy = strdup(line + 7);
	} else if (!strncmp(line, "member ", 7)) {
		read_member(f, line);
	} else if (!strncmp(line, "extent ", 7)) {
		read_extent(f, line);
	}
}

static int compare(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return x->le < y->le ? -1 : x->le > y->le;
}

static void read_facts(struct facts *f, const char *text)
{
	char *copy = strdup(text), *rest = copy, *line;

	memset(f, 0, sizeof(*f));
	while ((line = strsep(&rest, "\n")))
		read_line(f, line);
	if (f->nr)
		qsort(f->map, f->nr, sizeof(*f->map), compare);
	free(copy);
}

static void free_facts(struct facts *f)
{
	free(f->policy);
	free(f->map);
}

/* The generation that is told at last. */
static uint64_t check_same(const char *before, const char *after)
{
	uint64_t generation;
	struct facts b, a;
	unsigned int i;

	read_facts(&b, before);
	read_facts(&a, after);
	MUST(!memcmp(a.uuid, b.uuid, sizeof(uuid_t)) && a.extent_sectors == b.extent_sectors);
	MUST(a.nr_members == b.nr_members && a.extents == b.extents && a.flags == b.flags);
	MUST(a.vacant == b.vacant && a.generation > b.generation && !strcmp(a.policy, b.policy));
	for (i = 0; i < a.nr_members; i++)
		MUST(!memcmp(&a.member[i], &b.member[i], sizeof(struct member)), "%u", i);
	MUST(a.nr == b.nr && (!a.nr || !memcmp(a.map, b.map, a.nr * sizeof(*a.map))));
	generation = a.generation;
	free_facts(&b);
	free_facts(&a);
	return generation;
}

/* ---- a dump onto a pool ---- */

/* What `hybridctl dump --map` prints, without a fault; free(). */
static char *dump(void)
{
	char *argv[] = { "dump", "--map", "0", NULL }, *text;
	FILE *out = stdout;
	size_t len;
	int err;

	optind = 0;
	stdout = open_memstream(&text, &len);
	err = cmd_dump(3, argv);
	fclose(stdout);
	stdout = out;
	MUST(err == EXIT_OK, "\n%s", text);
	return text;
}

static uint64_t written(const struct media *m)
{
	return m->writes[0] + m->writes[1];
}

static bool restore(struct media *m, unsigned int areas, const char *text, bool force)
{
	uint64_t before = written(m);
	FILE *in = fmemopen((void *)text, strlen(text), "r");
	struct restore_how how = { .force = force };
	struct pools pools;
	int err = EXIT_FAILED;

	devices_use(m, areas);
	offline_pools(&pools, NULL, 0);
	if (pools.nr)
		err = restore_pool(&pools.pool[0], in, &how);
	MUST(err == EXIT_OK || (err == EXIT_FAILED && written(m) == before));
	pools_free(&pools);
	fclose(in);
	return !err;
}

static void wipe(struct media *m)
{
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		memset(media_poke(m, i, EK_SUPER0_OFFSET), 0, EK_BLOCK_SIZE);
		memset(media_poke(m, i, EK_SUPER1_OFFSET), 0, EK_BLOCK_SIZE);
	}
}

/*
 * The power goes, and it is what the dump says, which is all that there is to be restored. What is
 * forced is the same once more, unless there are hardly any generations that are later.
 */
static void check_restored(const struct media *m, unsigned int areas, const char *text)
{
	struct media *now = media_crash(m, CRASH_NONE);
	char *after, *again;
	uint64_t generation;

	devices_use(now, areas);
	after = dump();
	generation = check_same(text, after);
	MUST(generation < EK_GENERATION_LATEST);
	MUST(!restore(now, areas, text, false) && !restore(now, areas, after, false));
	if (restore(now, areas, after, true)) {
		again = dump();
		check_same(after, again);
		free(again);
	} else {
		MUST(generation > EK_GENERATION_LATEST - GENERATIONS);
	}
	media_free(now);
	free(after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pool_input in;
	struct media *m;
	char *text;

	if (size < HEAD)
		return 0;
	m = pool_make(data, 1, &in);
	if (data[1] & WIPED)
		wipe(m);
	text = fuzz_string(data + HEAD, size - HEAD);
	if (restore(m, in.areas, text, data[1] & FORCE))
		check_restored(m, in.areas, text);
	media_free(m);
	free(text);
	return 0;
}

/* ---- mutation ---- */

/* Where the nth number or, if it is a line that is wanted, the nth line begins; its length. */
static size_t find(const char *text, bool line, unsigned int n, size_t *len)
{
	size_t at = 0, word;

	for (;;) {
		at += line ? 0 : strcspn(text + at, "0123456789");
		word = line ? strcspn(text + at, "\n") : strspn(text + at, "0123456789abcdefABCDEF");
		if (!text[at] || !n--)
			break;
		at += word + (line && text[at + word]);
	}
	*len = word + (line && text[at + word]);
	return at;
}

static unsigned int count(const char *text, bool line)
{
	unsigned int n = 0;
	size_t len;

	while (text[find(text, line, n, &len)])
		n++;
	return n;
}

/* A number becomes another. */
static char *change_number(const char *text, unsigned int *rnd)
{
	unsigned long long v = fuzz_random(rnd, 3) ? fuzz_odd(rnd) : fuzz_random(rnd, 8);
	unsigned int nr = count(text, false);
	size_t len, at = find(text, false, fuzz_random(rnd, nr), &len);
	char *made;

	MUST(asprintf(&made, fuzz_random(rnd, 4) ? "%.*s%llu%s" : "%.*s%llx%s", (int)at, text, v,
		      text + at + len) >= 0);
	return made;
}

/* A line goes, or is there once more elsewhere. */
static char *change_lines(const char *text, unsigned int *rnd)
{
	unsigned int nr = count(text, true);
	size_t len, ignored, at = find(text, true, fuzz_random(rnd, nr), &len), to = at;
	char *made;

	if (fuzz_random(rnd, 2)) {
		MUST(asprintf(&made, "%.*s%s", (int)at, text, text + at + len) >= 0);
		return made;
	}
	to = find(text, true, fuzz_random(rnd, nr), &ignored);
	MUST(asprintf(&made, "%.*s%.*s%s", (int)to, text, (int)len, text + at, text + to) >= 0);
	return made;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	unsigned int rnd = seed;
	char *text, *made;

	if (size < HEAD || !fuzz_random(&rnd, 4))
		return LLVMFuzzerMutate(data, size, max);
	if (!fuzz_random(&rnd, 8)) {
		data[0] = fuzz_random(&rnd, 4) ? fuzz_random(&rnd, POOL_KINDS) : fuzz_random(&rnd, 32);
		data[1] = fuzz_random(&rnd, 4);
		return size;
	}
	text = fuzz_string(data + HEAD, size - HEAD);
	made = fuzz_random(&rnd, 3) ? change_number(text, &rnd) : change_lines(text, &rnd);
	if (HEAD + strlen(made) <= max) {
		memcpy(data + HEAD, made, strlen(made));
		size = HEAD + strlen(made);
	}
	free(text);
	free(made);
	return size;
}

/* A dump of a sample pool with a few extents of its map, and perhaps a line more before its end. */
static size_t short_dump(uint8_t kind, const char *more, uint8_t *data)
{
	unsigned int extents = 0;
	struct pool_input in;
	struct media *m = pool_make(&kind, 1, &in);
	char *text, *rest, *line;
	size_t at = 0;

	devices_use(m, in.areas);
	rest = text = dump();
	while ((line = strsep(&rest, "\n"))) {
		if (!strcmp(line, "end"))
			at += sprintf((char *)data + at, "%s", more);
		if (*line && (strncmp(line, "extent ", 7) || extents++ % 90 == 0))
			at += sprintf((char *)data + at, "%s\n", line);
	}
	media_free(m);
	free(text);
	return at;
}

/* Onto the same pool and onto the next one; then what is just not taken, and a member that left. */
size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	static const char *const more[] = {
		"extent 1 member 1 physical 4 valid 1\n", "extent 2 member 1 physical 3 valid 1\n",
		"extent 1100 member 1 physical 4 valid 1\n", "extent 3 member 2 physical 4 valid 1\n",
		"extent 3 member 0 physical 600 valid 1\n", "extent 3 member 0 physical 1 valid 10000\n",
		"member 1 extents 1 state 0 uuid 51515151-5151-5151-5151-515151515151\n",
		"end\n", "policy static 2 shares 20,80\n",
	};
	static const unsigned int lines = sizeof(more) / sizeof(*more);
	uint8_t kind = nr / 2;
	char *state;

	data[1] = FORCE;
	if (kind < POOL_KINDS) {
		data[0] = nr & 1 ? (kind + 1) % POOL_KINDS : kind;
		data[1] = nr & 1 ? FORCE : WIPED;
		return HEAD + short_dump(kind, "", data + HEAD);
	}
	nr -= 2 * POOL_KINDS;
	data[0] = POOL_CLEAN;
	if (nr < lines)
		return HEAD + short_dump(POOL_CLEAN, more[nr], data + HEAD);
	if (nr > lines)
		return 0;
	nr = HEAD + short_dump(POOL_CLEAN, "", data + HEAD);
	data[nr] = 0;
	state = strstr((char *)data + HEAD, "state 0");
	state[strlen("state ")] = '0' + EK_MEMBER_REMOVED;
	return nr;
}
