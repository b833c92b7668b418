/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Zones (NL_FTL_ZONED): groups of erase blocks that are written from their start to their end and
 * erased as a whole. There is no map but which blocks a zone has, and nothing is ever collected.
 *
 * Zone n begins at page n * size, a power of two, of the address space; the first `capacity` pages
 * of it can be written, the rest reads as zeros. Pages at and beyond the write pointer read as
 * zeros, too.
 *
 * Requests that the rules forbid are refused and change nothing:
 *	-EINVAL		not at the write pointer; beyond the capacity; an operation that the state
 *			of the zone doesn't allow
 *	-ENOSPC		a write to a full zone
 *	-EROFS		a zone that is read-only: one of its blocks failed, or there was no spare
 *			one to go on with after a start; then it may be reset. All of it can be read
 *	-EIO		a zone that is offline: there are no blocks for it any more
 *	-ETOOMANYREFS	NL_P_MAX_OPEN zones are open, none of them implicitly
 *	-EOVERFLOW	NL_P_MAX_ACTIVE zones are active
 *
 * What lasts: of a zone, what was flushed or written with NL_FUA, and a prefix of what was written
 * since; the write pointer is behind that. After a start no zone is open, and those that were
 * written to in part are closed. A reset and a finish last when they return.
 *
 * Pages that were taken into the write buffer, and for which then neither their block nor a spare
 * one was good, are lost: the write pointer goes back, the zone is read-only, and the next flush
 * says -EIO.
 *
 * Locks and times are as in ftl.h. Pure: also builds in userspace.
 */
#ifndef NAMELESS_ZONES_H
#define NAMELESS_ZONES_H

#include "ftl.h"

/* What is done to a zone as a whole, and what else there is to trace. */
enum nl_zone_op {
	NL_ZONE_OPEN, NL_ZONE_CLOSE, NL_ZONE_FINISH, NL_ZONE_RESET, NL_NR_ZONE_OPS,
	NL_ZONE_WRITE = NL_NR_ZONE_OPS, NL_ZONE_APPEND,
};

/**
 * struct nl_zone_shape - what zones are like
 * @blocks: erase blocks of a zone
 * @capacity: pages that can be written
 * @size: pages of address space, a power of two
 */
struct nl_zone_shape {
	u32 blocks;
	u32 capacity;
	u32 size;
};

/* 0; -EFBIG if a zone has more pages than can be numbered. NL_P_BLOCKS is not looked at. */
int nl_zone_shape(struct nl_zone_shape *shape, const struct nl_config *config);

/**
 * struct nl_zone_info - a zone as users see it
 * @state: enum nl_zone_state
 * @pointer: pages that are written; all later ones read as zeros
 * @stuck: read-only for want of a spare block: may be reset
 */
struct nl_zone_info {
	enum nl_zone_state state;
	u32 pointer;
	bool stuck;
};

const struct nl_zone_shape *nl_zone_shape_of(const struct nl_ftl *ftl);
u32 nl_zone_count(const struct nl_ftl *ftl);
void nl_zone_look(const struct nl_ftl *ftl, u32 zone, struct nl_zone_info *info);

/*
 * May @count pages be written from @lpn on? 0, and the zone is open: nl_ftl_write() of them in
 * order succeeds then, if the flash lets it and nothing comes between.
 */
int nl_zone_admit(struct nl_ftl *ftl, u32 lpn, u32 count);

/* Likewise of @zone, wherever its write pointer is: *@lpn. */
int nl_zone_append(struct nl_ftl *ftl, u32 zone, u32 count, u32 *lpn);

/*
 * A write that was admitted is under way, or has ended: until then the zone isn't closed for
 * another one's sake, which may come while the device's lock is not held.
 */
void nl_zone_busy(struct nl_ftl *ftl, u32 zone, bool busy);

/* What rules forbid, of what these return: nothing went wrong. */
static inline bool nl_zone_refused(int err)
{
	return err == -EINVAL || err == -ENOSPC || err == -EROFS || err == -ETOOMANYREFS ||
	       err == -EOVERFLOW;
}

/* An operation on a zone as a whole. 0 also if it is in that state already. */
int nl_zone_manage(struct nl_ftl *ftl, u32 zone, enum nl_zone_op op, struct nl_io *io);

#endif
