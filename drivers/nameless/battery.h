/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device's battery-backed memory: what lasts over power cuts without being in the flash.
 *
 * In-place GC needs it (zhang-2013 4.2.2 and 4.3.7): between the erase of a block and the last
 * program that puts a page back, the page is nowhere else. It also holds what the dissertation
 * keeps in the OOB, which is written once here: which pages of the physical segment are valid, a
 * bit each; and the moves that clients have not acknowledged.
 *
 * A change of it takes no time and is never torn: a cut comes between two flash operations.
 *
 * Pure: also builds in userspace.
 */
#ifndef NAMELESS_BATTERY_H
#define NAMELESS_BATTERY_H

#include <evenkeel/nameless.h>
#include <evenkeel/nameless_format.h>
#include "flash.h"

#define NL_NO_SLOT	(~0u)

static inline bool nl_meta_same(const struct nl_meta *a, const struct nl_meta *b)
{
	return a->word[0] == b->word[0] && a->word[1] == b->word[1] && a->word[2] == b->word[2];
}

/**
 * struct nl_held - a page of a block that is being rewritten
 * @used: there is one
 * @buf: its data, NULL: zeros
 * @oob: its record
 */
struct nl_held {
	bool used;
	struct nl_buf *buf;
	u8 oob[NL_OOB_BYTES];
};

/**
 * struct nl_slot - all that is live in one block
 * @block: which; NL_NO_SLOT: none
 * @lost: the block failed: what is live in it is here, for good or until it finds another place
 * @page: by place in the block
 */
struct nl_slot {
	u32 block;
	bool lost;
	struct nl_held *page;
};

/**
 * struct nl_moved - a migration that no client has acknowledged
 * @used: there is one
 * @told: it was handed out
 * @from: flash page by which clients know it
 * @to: where it is; ~0: nowhere any more, and @told: a client may have it in a queue yet
 * @meta: and what it is: @from may hold another block meanwhile
 */
struct nl_moved {
	bool used;
	bool told;
	u32 from;
	u32 to;
	struct nl_meta meta;
};

/**
 * struct nl_battery - all of it
 * @nr_slots: one for each plane
 * @pages: of a slot
 * @slot: all of them
 * @valid: bit per flash page: holds a valid block of the physical segment
 * @nr_valid: bits that are set
 * @moved: migrations
 * @max_moved: entries of it
 * @nr_moved: in use
 */
struct nl_battery {
	u32 nr_slots;
	u32 pages;
	struct nl_slot *slot;
	unsigned long *valid;
	u32 nr_valid;
	struct nl_moved *moved;
	u32 max_moved;
	u32 nr_moved;
};

/* Entries of the table of migrations: leveling's, and what a failed block of each plane had. */
static inline u32 nl_battery_moves(const struct nl_geometry *geo, const struct nl_config *config)
{
	u64 forced = (u64)geo->nr_planes * geo->pages;

	return min_t(u64, config->p[NL_P_MOVES] + forced, 1 << 22);
}

/* Give the flash one if it has none: room for @moves. 0 or -ENOMEM. */
int nl_battery_create(struct nl_flash *flash, u32 moves);
void nl_battery_destroy(struct nl_flash *flash);
/* Forget one page, and all of them. */
void nl_held_drop(struct nl_held *held);
void nl_slot_drop(struct nl_battery *battery, struct nl_slot *slot);
/*
 * To and from an image, as nl_flash_save() and nl_flash_load(), which call them: its own sum is
 * behind it.
 */
int nl_battery_save(const struct nl_flash *flash, nl_image_put put, void *ctx);
int nl_battery_load(struct nl_flash *flash, nl_image_get get, void *ctx);
/* Bytes of it, data apart. */
u64 nl_battery_memory(const struct nl_flash *flash);

#endif
