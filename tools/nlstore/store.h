/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A store on a device: its committed tree, and how another one takes its place. Functions that
 * return int return 0 or a negative error number; none prints.
 */
#ifndef NLSTORE_STORE_H
#define NLSTORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "../libnameless/libnameless.h"
#include "tree.h"

#define NS_BATCH	64u	/* blocks of a request */
#define NS_MOVES	64u	/* at so many migrations they are made to last, at the latest */

/**
 * struct ns_store - an open store
 * @dev: its device
 * @writable: it may be changed
 * @broken: what is on the device is not known any more: no change until it is opened again
 * @dirty: blocks are elsewhere than the catalogue says
 * @block: bytes of a block
 * @blocks: of the virtual segment
 * @cuts: power cuts when it was opened
 * @uuid: its own
 * @id: in the metadata of its blocks
 * @generation: of the committed tree
 * @serial: the next block's
 * @bytes: of the catalogue
 * @before: of the one before
 * @tree: the committed tree
 * @map: where the blocks are of it, and of what is being written
 * @moves: migrations that are in @map, and not acknowledged
 * @nr_moves: of them
 * @room_moves: for as many there is room; the device bounds it
 * @most_moves: from as many on they are made to last
 * @foreign: blocks on the device that are others'
 * @foreign_moves: migrations of such, which are theirs to acknowledge
 * @orphans: blocks of this store that are in no tree; a writable store has freed them
 * @missing: blocks of the tree that the device does not have, or can't read: they are not in @map
 * @moved: migrations since it was opened
 */
struct ns_store {
	struct nameless *dev;
	bool writable, broken, dirty;
	uint32_t block;
	uint64_t blocks, cuts;
	uint8_t uuid[16];
	uint64_t id, generation, serial, bytes, before;
	struct ns_tree tree;
	struct ns_map map;
	struct nl_move *moves;
	size_t nr_moves, room_moves, most_moves;
	uint64_t foreign, foreign_moves, orphans, missing, moved;
};

/*
 * -EEXIST: there is something on the virtual segment, and not @force; -EBUSY: it is in use, which
 * @force does not help.
 */
int store_format(const char *device, bool force);
/*
 * -ENODATA: there is no store; -EUCLEAN: there is a broken one; -EPROTONOSUPPORT: one of a later
 * format; what nameless_open() says.
 */
int store_open(struct ns_store *store, const char *device, bool writable);
/* Migrations that are known are made to last and acknowledged, if that is possible. */
int store_close(struct ns_store *store);

/* New blocks, which nothing refers to until store_replace(). At most NS_BATCH. */
int store_write(struct ns_store *store, const void *data, unsigned int nr,
		struct ns_piece *piece);
/* At most NS_BATCH. -EUCLEAN: one is missing, unreadable or not what it was; *@bad: which. */
int store_read(struct ns_store *store, const struct ns_piece *piece, unsigned int nr, void *data,
	       unsigned int *bad);
/*
 * The device levels no more while @moves migrations wait, 0: it does: half of them are made to
 * last. Until this is called NS_MOVES are.
 */
void store_allow(struct ns_store *store, uint64_t moves);
/* Take what migrated. The caller does so from time to time. */
int store_tend(struct ns_store *store);
/*
 * @tree becomes the committed tree, and the store's own, if this returns 0; otherwise the caller
 * keeps it, and the device has the one or the other. -EINVAL, -EFBIG: no store may have such a
 * tree; -ENOSPC: the catalogue has no room; then nothing has changed.
 */
int store_replace(struct ns_store *store, struct ns_tree *tree);
/* Free the blocks that were written and not committed. */
int store_forget(struct ns_store *store);

#endif
