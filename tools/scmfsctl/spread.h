/* SPDX-License-Identifier: GPL-2.0-only */
/* Sums of what the module tells piece by piece. Pure: the unit tests build it, too. */
#ifndef SCMFSCTL_SPREAD_H
#define SCMFSCTL_SPREAD_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#define CLASSES		64u		/* by powers of two */
#define UNIT_BLOCKS	512u
#define UNIT_BYTES	(2u << 20)

/* 0 for 0 and 1, 1 for 2 and 3, 2 for 4 to 7 and so on */
unsigned int class_of(uint64_t n);

/**
 * struct runs - free blocks next to each other
 * @nr: how many runs there are of each class of lengths
 * @blocks: in these
 * @free: in all of them
 * @largest: of them
 * @units: whole aligned 2 MiB in them
 * @begin: of the run that goes on where the last words ended; valid while @open
 * @open: there is one
 */
struct runs {
	uint64_t nr[CLASSES];
	uint64_t blocks[CLASSES];
	uint64_t free;
	uint64_t largest;
	uint64_t units;
	uint64_t begin;
	bool open;
};

/* Blocks from @block on, a multiple of 64, are as @nr words say; only [@first, @end) count. */
void runs_add(struct runs *r, uint64_t block, const __u64 *word, uint32_t nr, uint64_t first,
	      uint64_t end);
/* That was all: the last run ends at @end. */
void runs_end(struct runs *r, uint64_t end);

/**
 * struct spread - numbers
 * @nr: how many
 * @sum: of them
 * @least: of them
 * @most: of them
 * @zeroes: how many are 0
 * @class: how many others are of each class
 */
struct spread {
	uint64_t nr;
	uint64_t sum;
	uint64_t least;
	uint64_t most;
	uint64_t zeroes;
	uint64_t class[CLASSES];
};

void spread_add(struct spread *s, uint64_t n);

/**
 * struct layout - where a file is, in bytes
 * @extents: how many
 * @bytes: in them
 * @unwritten: of these, in extents that were reserved and hold nothing yet
 * @largest: of the extents
 * @huge: of the bytes, that can be mapped by pages of 2 MiB
 * @at: of the piece that goes on: offset in the file
 * @place: its address
 * @len: its bytes
 */
struct layout {
	uint64_t extents;
	uint64_t bytes;
	uint64_t unwritten;
	uint64_t largest;
	uint64_t huge;
	uint64_t at;
	uint64_t place;
	uint64_t len;
};

/* The next extent in the order of the file. */
void layout_add(struct layout *l, uint64_t at, uint64_t place, uint64_t len, bool unwritten);
void layout_end(struct layout *l);

#endif
