/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BIOGEN_H
#define BIOGEN_H

#include <linux/bio.h>
#include <evenkeel/direct.h>

#define GEN_MOST_DEPTH		2048u
#define GEN_MOST_BYTES		(BIO_MAX_VECS << PAGE_SHIFT)
#define GEN_MOST_THREADS	8u

struct gen_job;

/**
 * struct gen_way - a way that a bio can go
 * @name: how the user calls it
 * @submit: go it; in the end gen_done() is called
 * @begin: before the first bio of a job of one thread; may be NULL
 * @round: as many bios as the depth are done, and none is under way; may be NULL
 * @end: behind the last one, if @begin returned 0; may be NULL
 */
struct gen_way {
	const char *name;
	void (*submit)(struct gen_job *job, struct bio *bio);
	int (*begin)(struct gen_job *job);
	int (*round)(struct gen_job *job, unsigned int bios);
	void (*end)(struct gen_job *job);
};

/**
 * struct gen_job - what is to be measured
 * @way: that bios go
 * @path: of the device
 * @writes: so many of a thousand bios, the others read
 * @bytes: of a bio
 * @depth: bios that are submitted before any of them is waited for
 * @count: bios of each thread
 * @threads: each on a CPU of its own, in a part of the device of its own
 * @random: bios go anywhere in a thread's part, not one behind the other
 * @seed: of where they go
 * @area: bytes of the device that are used, from its beginning
 * @bdev: the device
 * @direct: it, without the block layer
 * @memory: a copy's other side, @area long; of other ways NULL
 * @private: the way's
 */
struct gen_job {
	const struct gen_way *way;
	char path[64];
	unsigned int writes;
	unsigned int bytes;
	unsigned int depth;
	unsigned int count;
	unsigned int threads;
	bool random;
	u64 seed;
	u64 area;
	struct block_device *bdev;
	struct ek_direct direct;
	void *memory;
	void *private;
};

extern const struct gen_way gen_copies[];

void gen_done(struct bio *bio);
int gen_way_add(const struct gen_way *way);
void gen_way_remove(void);
int gen_measure(struct gen_job *job, u64 *ns);
int gen_null_init(void);
void gen_null_exit(void);

#endif
