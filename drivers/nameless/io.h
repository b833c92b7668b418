/* SPDX-License-Identifier: GPL-2.0-only */
/* A bio on its way through the FTL: what io.c and zones_io.c share. */
#ifndef NAMELESS_IO_H
#define NAMELESS_IO_H

#include <linux/bio.h>
#include <linux/ktime.h>

#include "buf.h"
#include "dev.h"

/* Flash pages that are handled at one go. */
#define NL_BATCH	32u

/**
 * struct nl_walk - how far a bio is
 * @dev: the device
 * @bio: it
 * @iter: in its data
 * @at: byte of the device that comes next
 * @came: when the bio did, ns
 * @start: when the flash may begin, ns
 * @due: when the last of what was done so far is done, ns
 * @drops: buffers of blocks that were erased meanwhile
 * @noio: what memory could be got from before the lock was taken
 * @traced: somebody wants to know what it costs
 * @model: of that: ns in the FTL, and waiting for it
 */
struct nl_walk {
	struct nl_dev *dev;
	struct bio *bio;
	struct bvec_iter iter;
	u64 at;
	u64 came;
	u64 start;
	u64 due;
	struct nl_drops drops;
	unsigned int noio;
	bool traced;
	u64 model;
};

static inline u64 nl_clock(const struct nl_walk *walk)
{
	return unlikely(walk->traced) ? ktime_get_ns() : 0;
}

/* A call of the FTL for this bio, which has to wait for what it did before. */
static inline struct nl_io nl_io(const struct nl_walk *walk)
{
	return (struct nl_io){ .now = walk->start, .came = walk->came };
}

/* The result of an FTL's call: what took until io->done was done for this bio. */
static inline int nl_done(struct nl_walk *walk, const struct nl_io *io, int err)
{
	if (!err)
		walk->due = max(walk->due, io->done);
	return err;
}

static inline u64 nl_lpn_at(const struct nl_walk *walk, u64 at)
{
	return at >> walk->dev->page_shift;
}

static inline u64 nl_lpn(const struct nl_walk *walk)
{
	return nl_lpn_at(walk, walk->at);
}

static inline u32 nl_fua(const struct nl_walk *walk)
{
	return walk->bio->bi_opf & REQ_FUA ? NL_FUA : 0;
}

/* io.c */
int nl_enter(struct nl_walk *walk);
void nl_leave(struct nl_walk *walk);
void nl_put(struct nl_buf **buf, u32 count);
int nl_take(struct nl_walk *walk, struct nl_buf **buf, u32 count);
int nl_write_whole(struct nl_walk *walk, u32 most);

/* zones_io.c */
int nl_zones_write(struct nl_walk *walk);
int nl_zones_append(struct nl_walk *walk);
int nl_zones_manage(struct nl_walk *walk);

#endif /* NAMELESS_IO_H */
