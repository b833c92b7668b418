/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of repair and restore share: a pool whose map is known, what is found in it when
 * it has been damaged and mended, and a power that goes while it is.
 */
#ifndef TEST_MENDED_H
#define TEST_MENDED_H

#include <evenkeel/entry.h>

#include "image.h"

#define SECTOR		512u
#define LABEL		0u
#define TABLE		(EK_AREA_HEAD_BYTES + (128u << 10))
#define SUPER(n)	(EK_AREA_HEAD_BYTES + 65536u * (n))
#define META_BYTES	((u64)IMAGE_META * SECTOR)
#define FILE_BYTES	((u64)IMAGE_SECTORS * SECTOR)
#define MAP(l, m, p)	{ .le = (l), .member = (m), .pe = (p), .valid = 1 }
#define FREE(m, p)	{ .free = true, .member = (m), .pe = (p) }

/* Where pools are made: for mkdtemp(ktap_name()). */
extern char pool_dir[];
/* In memory: hundreds of pools are made, and flushed at each step. */
#define POOL_PLACE	"/dev/shm"

/* What is mapped in the end, by extent. */
extern u64 truth[1000];

/* A pool with six extents mapped. */
void pool_make(struct image_set *set);
/* Where the journal, or a table of pages, is. */
u64 pool_offset(struct image_set *set, bool journal);

struct found {
	unsigned int right, wrong;
};

/* As @nr files of the set have it; false: could not be opened at all. */
bool pool_look(struct image_set *set, unsigned int first, unsigned int nr, struct found *f,
	       bool *clean);
/* Would the kernel open it by them? */
bool pool_opens(struct image_set *set, unsigned int first, unsigned int nr);

/* What it says of itself, of all that is there; all 0: it can't be opened. */
struct pool_word {
	u64 generation;
	unsigned int stale;
};

struct pool_word pool_word(struct image_set *set);

/* Does pool_repair() use force? */
extern bool forced;
int pool_repair(struct image_set *set);
/* Repair, and hold the result to what was there. */
bool pool_holds(struct image_set *set, int *status);

/* What repair and check say goes nowhere in between. */
void silence(void);
void speak(void);

/* Begin to draw, by SEED. */
void rnd_begin(void);
u64 rnd(u64 n);

/* How many writes and flushes it takes; 0: it fails. */
unsigned int cut_events(int (*command)(struct image_set *set), struct image_set *set);
/* The power goes with the write or flush of that number; 0: never. */
void cut_begin(unsigned int at);

/* Pages can't be written to this one, all else can; NULL: they can. */
extern const char *page_fails;
/* Likewise, but nothing can be. */
extern const char *write_fails;

/* No device can be opened to be written to. */
extern bool read_only;

/* What there is beside the pool's files: another volume, and what is told here. */
struct world {
	const char *active;	/* the pool, by that name; NULL: it is not */
	bool by_dmsetup;	/* so that device-mapper does not know whose it is */
	int list_err;		/* of device-mapper, to be asked for volumes */
	const char *loop;	/* one in use, with the first file behind it; NULL: none */
};

extern struct world world;

enum kept { KEPT_ALL, KEPT_NONE, KEPT_SOME, NR_KEPT };
/* The one of them that is the turn's; the next seed has another there. */
enum kept kept_of(u64 turn);

/* Reads of these bytes fail; NULL: none. */
void read_fails(const char *path, u64 from, u64 to);

/* From now on, those that touch these bytes; how many there were. */
void count_writes(const char *path, u64 from, u64 to);
unsigned int writes_counted(void);

/* The power is back: what was in the caches is what it is. */
void power_on(enum kept kept);

#endif
