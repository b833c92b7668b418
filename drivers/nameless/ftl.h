/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The FTLs, behind one table of operations.
 *
 * An FTL decides at once, on the thread that calls it: when a call returns, the flash and the map
 * are as they will be, and only time is still to pass. Every call has @io: `now` in, `done` out,
 * the time at which the request may be told complete. The kernel side sleeps until then by a
 * timer; requests may complete in another order than they were decided on, as with any disk.
 *
 * Addresses are logical pages of page_bytes. Who takes smaller requests reads, merges and writes.
 *
 * Locks: the caller serialises all calls on one FTL, and on its flash, with one lock that may be
 * slept under (opening a flash block allocates). Data is copied outside of it: fill a buffer,
 * lock, nl_ftl_write(), unlock; or lock, nl_ftl_read(), unlock, copy, nl_buf_put(). GC runs
 * inside of the writes that need it and in nl_ftl_gc(), which the caller may call when idle.
 *
 * What lasts: a write that returned and whose power is cut before a flush is there or not, whole
 * pages each, never another page's content and never older than the last flush. A flush that
 * returned 0 makes all earlier writes and trims last; so does NL_FUA for its own write, and for
 * what was written with NL_MORE before it: the pages of one request, of which the last says NL_FUA
 * alone. Without a write buffer (NL_P_BUFFER 0) writes last when they return, but for NL_FTL_SPLIT,
 * which has them last at the next flush.
 *
 * Errors: -ESHUTDOWN after a power cut (only destroy is left to do); -EROFS when so many blocks
 * went bad that the next write might not find room: reads go on; -EIO for a read that the flash
 * can't correct; -ENOMEM: nothing was done, the caller may try again; -ERANGE for an address
 * beyond the end; -ENOSPC when a page that holds nothing is to be written and the physical segment
 * (names.h) has taken the space.
 *
 * Pure: also builds in userspace.
 */
#ifndef NAMELESS_FTL_H
#define NAMELESS_FTL_H

#include "flash.h"

#define NL_FUA		0x1
#define NL_MORE		0x2	/* with NL_FUA: lasts when the next write with NL_FUA alone does */

/**
 * struct nl_io - time of a request
 * @now: not to begin before, ns
 * @came: what time it is, ns, if that is earlier: nothing is booked before it any more; 0: @now
 * @done: result: when it is complete, ns; at least @now
 */
struct nl_io {
	u64 now;
	u64 came;
	u64 done;
};

enum nl_ftl_state { NL_FTL_RW, NL_FTL_RO };
enum nl_zone_state {
	NL_ZONE_EMPTY, NL_ZONE_IMPLICIT, NL_ZONE_EXPLICIT, NL_ZONE_CLOSED, NL_ZONE_FULL,
	NL_ZONE_READONLY, NL_ZONE_OFFLINE, NL_NR_ZONE_STATES
};

enum nl_merge { NL_MERGE_SWITCH, NL_MERGE_PARTIAL, NL_MERGE_FULL, NL_NR_MERGES };
enum nl_map { NL_MAP_PAGE, NL_MAP_BLOCK, NL_MAP_LOG, NL_MAP_CHAIN, NL_MAP_MOVED, NL_MAP_ZONE,
	      NL_NR_MAPS };
extern const char * const nl_merge_names[NL_NR_MERGES];
extern const char * const nl_map_names[NL_NR_MAPS];
extern const char * const nl_zone_names[NL_NR_ZONE_STATES];

/**
 * struct nl_ftl_stat - what there is to see; operations are counted in struct nl_flash
 * @reads: pages that users read
 * @writes: pages that users wrote
 * @trims: pages that users trimmed
 * @flushes: of them
 * @buffered: pages in the write buffer
 * @mapped: logical pages that are mapped to flash
 * @free_blocks: erased, or to be erased at once
 * @bad_blocks: from the factory, and those that went bad
 * @min_blocks: good blocks without which it is read-only
 * @victims: blocks that GC emptied
 * @wear_swaps: blocks that wear leveling emptied
 * @unreadable: erase blocks that GC leaves, as something live in them can't be read
 * @lost: pages that could not be read when they were to be moved, and are marked so (hybrid)
 * @valid: blocks of the physical segment (nameless, as all that follow here)
 * @wasted: pages that were filled with nothing, for want of a write
 * @migrated: blocks that got another address
 * @waiting: migrations that are not acknowledged
 * @stalled: levelings that ended because too many are not
 * @stale: requests that were refused because no block has the name
 * @unlisted: times that a block was left out of a list for that
 * @merges: switch, partial and full (hybrid)
 * @zones: by state (zoned, as all that follow here)
 * @zone_spare: free blocks that no zone needs
 * @zone_resets: zones that were erased
 * @zone_moves: blocks of zones that were replaced by spare ones
 * @zone_refused: requests that the state or the write pointer of a zone, or a limit, forbade
 * @zone_lost: pages in the write buffer that could not be programmed
 * @map_chunks: of the virtual segment's map (nameless with map_cache, as all that follow here)
 * @map_max: of them that may be in memory
 * @map_resident: that are
 * @map_dirty: of these not as in the flash
 * @map_most: were in memory at once
 * @map_hits: times that one was wanted and in memory
 * @map_misses: and was not
 * @map_in: read from the flash
 * @map_out: written to it
 * @map_rebuilt: could not be read, and were made from OOB again
 * @map_lost: pages of them that this did not find
 * @commits: of metadata (split, as all that follow here)
 * @images: of these with all of it
 * @meta_blocks: blocks that are for it
 * @meta_good: of these there are, not bad
 * @meta_rotated: blocks that were data's and took the place of one that is bad or worn
 * @held: flash pages that nothing refers to but what was committed
 * @map_bytes: mapping tables as they are in memory, by kind: what table 4.3 counts
 * @other_bytes: the rest of the FTL's memory
 * @recovered_by_scan: the last open read all OOB; otherwise it had a checkpoint
 * @recovery_ns: and took so long
 * @state: enum nl_ftl_state
 */
struct nl_ftl_stat {
	u64 reads, writes, trims, flushes;
	u32 buffered;
	u32 mapped;
	u32 free_blocks;
	u32 bad_blocks;
	u32 min_blocks;
	u64 victims;
	u64 wear_swaps;
	u32 unreadable;
	u64 lost;
	u32 valid;
	u64 wasted, migrated;
	u32 waiting;
	u64 stalled, stale;
	u64 unlisted;
	u64 merges[NL_NR_MERGES];
	u32 zones[NL_NR_ZONE_STATES];
	u32 zone_spare;
	u64 zone_resets, zone_moves, zone_refused, zone_lost;
	u32 map_chunks, map_max, map_resident, map_dirty, map_most;
	u64 map_hits, map_misses, map_in, map_out, map_rebuilt, map_lost;
	u64 commits, images;
	u32 meta_blocks, meta_good, held;
	u64 meta_rotated;
	u64 map_bytes[NL_NR_MAPS];
	u64 other_bytes;
	bool recovered_by_scan;
	u64 recovery_ns;
	enum nl_ftl_state state;
};

struct nl_ftl;
struct nl_rec;

/* Told of what check finds, in words, one call each. */
typedef void (*nl_report)(void *ctx, const char *text);

/*
 * What an FTL is. Use the nl_ftl_*() below: they check addresses, count, and keep the write
 * buffer.
 *
 * @lean: it tracks neither live pages nor trims: no memory for them, and no requests to trim
 * @whose: its map may be of before what the flash has: a read by a user looks at the OOB whose the
 *	page is
 * @open: make or recover; @ftl is zeroed but for its head
 * @lookup: flash page of a logical page, NL_UNMAPPED: none
 * @load: have in memory what @lookup needs for this page, which a user wants to read; NULL: it is
 * @mapped: has it a flash page?  Needs no @load; NULL: @lookup says so
 * @loads: have in memory what @forget needs for the pages from @lpn to @end that wait for a trim
 *	record, until that is done; NULL: it is
 * @maps: all flash pages of logical ones, for a checkpoint; NULL: @lookup says so
 * @forget: a trim record says so: unmap a page that is mapped
 * @append: find room for a trim record, give it a seq and program it; its page is live then; NULL:
 *	there are no records, @commit says so
 * @commit: all that was done so far lasts, 0 if it does already; NULL: it always does
 * @write: program it; when it returns 0 it lasts, or @commit makes it
 * @behind: has it something that @commit has to do? NULL: never
 * @read: a live page, which may be elsewhere than in the flash; NULL: it never is
 * @peek: OOB of a live page likewise, as nl_flash_peek()
 * @refuse: may this page not be read? 0 or why not; NULL: all may
 * @put: a user's write, in place of the way over the write buffer that others take; NULL: none
 * @lost: an error if pages in the write buffer got lost since the last call; NULL: none ever do
 * @full: would a write of this page need space that there is not? NULL: never
 * @settle: have all in the flash, 1: not all can be, so no checkpoint; NULL: it is
 * @gc: one step of background work; 1 if there was something to do, 0 if not
 * @check: every invariant of map, OOB, validity and free lists; findings go to @report
 * @stat: fill in what the FTL knows
 * @close: free its memory, nothing else
 */
struct nl_ftl_ops {
	const char *name;
	size_t size;
	bool lean;
	bool whose;
	int (*open)(struct nl_ftl *ftl, struct nl_io *io);
	u32 (*lookup)(struct nl_ftl *ftl, u32 lpn);
	int (*load)(struct nl_ftl *ftl, u32 lpn, u64 *when);
	bool (*mapped)(struct nl_ftl *ftl, u32 lpn);
	int (*loads)(struct nl_ftl *ftl, u32 lpn, u32 end, u64 *when);
	int (*maps)(struct nl_ftl *ftl, __le32 *map, u64 *when);
	void (*forget)(struct nl_ftl *ftl, u32 lpn);
	int (*append)(struct nl_ftl *ftl, struct nl_buf *buf, struct nl_rec *rec, u64 *when,
		      u32 *ppn);
	int (*commit)(struct nl_ftl *ftl, struct nl_io *io);
	bool (*behind)(const struct nl_ftl *ftl);
	int (*write)(struct nl_ftl *ftl, u32 lpn, struct nl_buf *buf, struct nl_io *io);
	int (*read)(struct nl_ftl *ftl, u32 ppn, struct nl_buf **buf, u64 *when);
	const void *(*peek)(const struct nl_ftl *ftl, u32 ppn);
	int (*refuse)(struct nl_ftl *ftl, u32 lpn);
	int (*put)(struct nl_ftl *ftl, u32 lpn, struct nl_buf *buf, u32 flags, struct nl_io *io);
	int (*lost)(struct nl_ftl *ftl);
	bool (*full)(struct nl_ftl *ftl, u32 lpn);
	int (*settle)(struct nl_ftl *ftl, struct nl_io *io);
	int (*gc)(struct nl_ftl *ftl, struct nl_io *io);
	u32 (*check)(struct nl_ftl *ftl, nl_report report, void *ctx);
	void (*stat)(const struct nl_ftl *ftl, struct nl_ftl_stat *stat);
	void (*close)(struct nl_ftl *ftl);
};

extern const struct nl_ftl_ops nl_ftl_page, nl_ftl_hybrid, nl_ftl_nameless, nl_ftl_zoned,
			       nl_ftl_split;

/**
 * nl_ftl_open - start an FTL on flash
 * @result: the FTL
 * @flash: erased, or written by the same FTL with as many logical pages
 * @config: NL_P_FTL and what follows it
 * @logical_pages: what users see
 * @io: `done` says when recovery is complete
 *
 * Erased flash needs no formatting. Anything else is recovered: from a checkpoint if there is a
 * complete one, from all OOB if not. A cut in recovery does no harm; opening again recovers the
 * same.
 *
 * Context: may sleep, long.
 * Return: 0; -EMEDIUMTYPE if another FTL, or one of another size, wrote the flash; -ENOSPC if the
 * flash is too small for @logical_pages and the reserve; -EINVAL for parameters that can't be;
 * -ENOMEM; -ESHUTDOWN.
 */
int nl_ftl_open(struct nl_ftl **result, struct nl_flash *flash, const struct nl_config *config,
		u32 logical_pages, struct nl_io *io);

/* Read a page: *@buf with a reference, or NULL for zeros. 0, -ERANGE, -EIO, -ENOMEM, -ESHUTDOWN. */
int nl_ftl_read(struct nl_ftl *ftl, u32 lpn, struct nl_buf **buf, struct nl_io *io);
/* The same for who writes a part of it: users asked for no page. */
int nl_ftl_read_part(struct nl_ftl *ftl, u32 lpn, struct nl_buf **buf, struct nl_io *io);

/*
 * Write a page. @buf isn't changed any more; the caller keeps its reference. @flags: NL_FUA,
 * NL_MORE.
 */
int nl_ftl_write(struct nl_ftl *ftl, u32 lpn, struct nl_buf *buf, u32 flags, struct nl_io *io);

/* Forget @count pages: they read as zeros. */
int nl_ftl_trim(struct nl_ftl *ftl, u32 lpn, u32 count, struct nl_io *io);

/* All earlier writes and trims last. */
int nl_ftl_flush(struct nl_ftl *ftl, struct nl_io *io);

/* Background work, when there is nothing else to do: 1 if it did something, 0 if not, an error. */
int nl_ftl_gc(struct nl_ftl *ftl, struct nl_io *io);

/* Every invariant; returns how many are broken. Reads flash without taking its time. Sleeps. */
u32 nl_ftl_check(struct nl_ftl *ftl, nl_report report, void *ctx);

void nl_ftl_stat(const struct nl_ftl *ftl, struct nl_ftl_stat *stat);

/*
 * Flush and write a checkpoint, if there is room: before nl_ftl_destroy() at a clean stop. -EIO as
 * a flush has it, once: what got lost since the last one.
 */
int nl_ftl_stop(struct nl_ftl *ftl, struct nl_io *io);

/* Would a cut lose what was done, though nothing is buffered? */
bool nl_ftl_behind(const struct nl_ftl *ftl);

/* Pages that are only in the buffer. */
u32 nl_ftl_buffered(const struct nl_ftl *ftl);

/* Parameters that may be changed are as in @config from now on; others stay as they are. */
void nl_ftl_retune(struct nl_ftl *ftl, const struct nl_config *config);

/* Free the memory. What was not flushed is lost, as by a power cut. */
void nl_ftl_destroy(struct nl_ftl *ftl);

/*
 * Good blocks that an FTL needs for @logical_pages, whatever was configured. Flash that has not
 * as many, those apart that are bad from the factory, is -ENOSPC; when they become fewer the
 * device is read-only.
 */
u32 nl_ftl_min_blocks(const struct nl_geometry *geo, const struct nl_config *config,
		      u32 logical_pages);

#endif
