/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The physical segment (zhang-2013 table 4.1): blocks without a name but the one that the device
 * gives them. A name is the address that a write returned, with the metadata that it came with;
 * the address alone is not enough, as the device may have moved the block and given its page to
 * another one.
 *
 * Both segments share the space: pages of the virtual one that are mapped and valid blocks of
 * this one are at most as many as the device has logical pages. Neither has a size of its own.
 *
 * What lasts: all that returned 0, at once; there is no flush to wait for. Of a write that a power
 * cut interrupts there is all or nothing; an overwrite leaves either the old block or the new one.
 *
 * Migrations: the device gives blocks other addresses to level wear, or because flash failed. Old
 * names go on working, for reads, overwrites and frees, until the migration is acknowledged.
 * Unacknowledged ones last over power cuts, are handed out again when asked for, and are bounded:
 * NL_P_MOVES stop leveling, and nothing else. One that was handed out is to be acknowledged even if
 * its block was overwritten or freed meanwhile: until then no block with this metadata gets the old
 * address, so whoever knows his block by that when he comes to it knows the one that moved.
 *
 * Errors beside those of ftl.h: -ESTALE, no valid block has this name; -EBADMSG, the flash of the
 * block can't be read, nor then whether this is its name; -ENOSPC, all space is in use;
 * -EOPNOTSUPP, the FTL is another.
 *
 * Locks and times are as in ftl.h. Pure: also builds in userspace.
 */
#ifndef NAMELESS_NAMES_H
#define NAMELESS_NAMES_H

#include "battery.h"
#include "ftl.h"

/*
 * Write a block, with @meta, instead of the one named @old if that is not NULL. *@ppn: its
 * address.
 */
int nl_name_write(struct nl_ftl *ftl, const struct nl_name *old, const struct nl_meta *meta,
		  struct nl_buf *buf, u32 *ppn, struct nl_io *io);
/* *@buf with a reference, NULL for zeros. */
int nl_name_read(struct nl_ftl *ftl, const struct nl_name *name, struct nl_buf **buf,
		 struct nl_io *io);
int nl_name_free(struct nl_ftl *ftl, const struct nl_name *name, struct nl_io *io);

/* Migrations that were not handed out yet, @max at most: how many. */
int nl_name_moves(struct nl_ftl *ftl, struct nl_move *moves, u32 max);
/*
 * Hand all out again: to another client, or to one that has forgotten what it was told, after a cut
 * that it knows of. An FTL's start does not: its client may not know yet.
 */
void nl_name_replay(struct nl_ftl *ftl);
/* One that was handed out could not be taken: it will be again. */
void nl_name_untell(struct nl_ftl *ftl, const struct nl_move *move);
/*
 * The client uses @from no more for this block, which may be no more itself. -ENOENT if no such
 * migration waits.
 */
int nl_name_acknowledge(struct nl_ftl *ftl, u32 from, const struct nl_meta *meta);

/*
 * Names of valid blocks, @max at most, from *@from on, which is 0 at first and moves on: how many.
 * They come from all planes in turn. What can't be read is left out, and counted.
 */
int nl_name_list(struct nl_ftl *ftl, u32 *from, struct nl_name *names, u32 max,
		 struct nl_io *io);

/* Migrations that wait to be handed out. */
u32 nl_name_untold(const struct nl_ftl *ftl);

#endif
