// SPDX-License-Identifier: GPL-2.0-only
/*
 * Battery-backed memory to and from an image. What comes from there is checked before it counts:
 * anybody can make a sum right.
 */
#include <linux/bitmap.h>
#include <linux/crc32c.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include "battery.h"
#include "buf.h"

#define NL_MOVES_MAX	16777216u	/* what one table can have */

/* What goes by, and its sum. */
struct nl_summed {
	nl_image_put put;
	nl_image_get get;
	void *ctx;
	u32 sum;
};

static int nl_sum_put(struct nl_summed *s, const void *data, size_t len)
{
	s->sum = crc32c(s->sum, data, len);
	return s->put(s->ctx, data, len);
}

static int nl_sum_get(struct nl_summed *s, void *data, size_t len)
{
	int r = s->get(s->ctx, data, len);

	if (!r)
		s->sum = crc32c(s->sum, data, len);
	return r;
}

/* --- saving ----------------------------------------------------------------------------------- */

static int nl_save_valid(const struct nl_flash *flash, struct nl_summed *s)
{
	u32 ppn, i;
	u8 byte;
	int r = 0;

	for (ppn = 0; ppn < flash->geo.nr_pages && !r; ppn += 8) {
		byte = 0;
		for (i = 0; i < 8 && ppn + i < flash->geo.nr_pages; i++)
			byte |= test_bit(ppn + i, flash->battery->valid) << i;
		r = nl_sum_put(s, &byte, 1);
	}
	return r;
}

/* Those that are over matter to the client only that was told. */
static bool nl_is_saved(const struct nl_moved *moved)
{
	return moved->used && moved->to != NL_NO_SLOT;
}

static int nl_save_moves(const struct nl_battery *battery, struct nl_summed *s)
{
	struct nl_image_move move;
	u32 i, w;
	int r = 0;

	for (i = 0; i < battery->max_moved && !r; i++) {
		if (!nl_is_saved(&battery->moved[i]))
			continue;
		move.from = cpu_to_le32(battery->moved[i].from);
		move.to = cpu_to_le32(battery->moved[i].to);
		for (w = 0; w < 3; w++)
			move.meta[w] = cpu_to_le64(battery->moved[i].meta.word[w]);
		r = nl_sum_put(s, &move, sizeof(move));
	}
	return r;
}

static int nl_save_held(const struct nl_flash *flash, const struct nl_held *held, u32 page,
			struct nl_summed *s)
{
	struct nl_image_held head = { .page = cpu_to_le32(page), .data = !!held->buf };
	int r = nl_sum_put(s, &head, sizeof(head));

	if (!r)
		r = nl_sum_put(s, held->oob, sizeof(held->oob));
	if (!r && held->buf)
		r = nl_sum_put(s, nl_buf_data(held->buf), flash->geo.page_bytes);
	return r;
}

static int nl_save_slot(const struct nl_flash *flash, const struct nl_slot *slot,
			struct nl_summed *s)
{
	struct nl_image_slot head = { .block = cpu_to_le32(slot->block), .lost = slot->lost };
	u32 page, nr = 0;
	int r;

	for (page = 0; page < flash->battery->pages; page++)
		nr += slot->page[page].used;
	head.pages = cpu_to_le32(nr);
	r = nl_sum_put(s, &head, sizeof(head));
	for (page = 0; page < flash->battery->pages && !r; page++)
		if (slot->page[page].used)
			r = nl_save_held(flash, &slot->page[page], page, s);
	return r;
}

int nl_battery_save(const struct nl_flash *flash, nl_image_put put, void *ctx)
{
	const struct nl_battery *battery = flash->battery;
	struct nl_summed s = { .put = put, .ctx = ctx, .sum = ~0 };
	struct nl_image_battery head = { 0 };
	u32 i, nr = 0, moves = 0;
	__le32 sum;
	int r;

	for (i = 0; i < battery->nr_slots; i++)
		nr += battery->slot[i].block != NL_NO_SLOT;
	for (i = 0; i < battery->max_moved; i++)
		moves += nl_is_saved(&battery->moved[i]);
	head.slots = cpu_to_le32(nr);
	head.moves = cpu_to_le32(moves);
	r = nl_sum_put(&s, &head, sizeof(head));
	if (!r)
		r = nl_save_valid(flash, &s);
	if (!r)
		r = nl_save_moves(battery, &s);
	for (i = 0; i < battery->nr_slots && !r; i++)
		if (battery->slot[i].block != NL_NO_SLOT)
			r = nl_save_slot(flash, &battery->slot[i], &s);
	sum = cpu_to_le32(~s.sum);
	return r ? r : put(ctx, &sum, sizeof(sum));
}

/* --- loading ---------------------------------------------------------------------------------- */

static int nl_load_valid(struct nl_flash *flash, struct nl_summed *s)
{
	u32 ppn, i;
	u8 byte;
	int r = 0;

	for (ppn = 0; ppn < flash->geo.nr_pages && !r; ppn += 8) {
		r = nl_sum_get(s, &byte, 1);
		for (i = 0; i < 8 && ppn + i < flash->geo.nr_pages && !r; i++)
			if (byte & 1 << i)
				__set_bit(ppn + i, flash->battery->valid);
		if (!r && i < 8 && byte >> i)
			r = -EINVAL;
	}
	return r;
}

static int nl_load_moves(struct nl_flash *flash, u32 nr, struct nl_summed *s)
{
	struct nl_battery *battery = flash->battery;
	struct nl_image_move move;
	u32 i, w;
	int r = 0;

	for (i = 0; i < nr && !r; i++) {
		r = nl_sum_get(s, &move, sizeof(move));
		if (r)
			break;
		if (le32_to_cpu(move.from) >= flash->geo.nr_pages ||
		    le32_to_cpu(move.to) >= flash->geo.nr_pages)
			return -EINVAL;
		battery->moved[i] = (struct nl_moved){
			.used = true, .from = le32_to_cpu(move.from), .to = le32_to_cpu(move.to),
		};
		for (w = 0; w < 3; w++)
			battery->moved[i].meta.word[w] = le64_to_cpu(move.meta[w]);
		battery->nr_moved++;
	}
	return r;
}

static int nl_load_held(struct nl_flash *flash, struct nl_slot *slot, struct nl_summed *s)
{
	struct nl_image_held head;
	struct nl_held *held;
	int r = nl_sum_get(s, &head, sizeof(head));

	if (r)
		return r;
	if (le32_to_cpu(head.page) >= flash->geo.pages ||
	    slot->page[le32_to_cpu(head.page)].used || head.data > 1 ||
	    memchr_inv(head.reserved, 0, sizeof(head.reserved)))
		return -EINVAL;
	held = &slot->page[le32_to_cpu(head.page)];
	r = nl_sum_get(s, held->oob, sizeof(held->oob));
	if (!r && head.data) {
		held->buf = nl_buf_alloc_user(flash->geo.page_bytes, false);
		if (!held->buf)
			return -ENOMEM;
	}
	held->used = true;
	return r || !head.data ? r : nl_sum_get(s, nl_buf_data(held->buf), flash->geo.page_bytes);
}

static int nl_load_slot(struct nl_flash *flash, struct nl_summed *s)
{
	struct nl_image_slot head;
	struct nl_slot *slot;
	u32 i, block;
	int r = nl_sum_get(s, &head, sizeof(head));

	if (r)
		return r;
	block = le32_to_cpu(head.block);
	if (block >= flash->geo.nr_blocks || head.lost > 1 ||
	    memchr_inv(head.reserved, 0, sizeof(head.reserved)) ||
	    (!head.lost && nl_flash_is_bad(flash, block)))
		return -EINVAL;
	slot = &flash->battery->slot[nl_plane_of(&flash->geo, block)];
	if (slot->block != NL_NO_SLOT || le32_to_cpu(head.pages) > flash->geo.pages)
		return -EINVAL;
	slot->block = block;
	slot->lost = head.lost;
	for (i = 0; i < le32_to_cpu(head.pages) && !r; i++)
		r = nl_load_held(flash, slot, s);
	return r;
}

/*
 * The record of a page, wherever that is, and whether it can be read by now; NULL: there is none,
 * or the block is no more.
 */
static const struct nl_oob *nl_battery_oob(const struct nl_flash *flash, u32 ppn)
{
	u32 block = nl_block_of(&flash->geo, ppn);
	const struct nl_slot *slot = &flash->battery->slot[nl_plane_of(&flash->geo, block)];
	const struct nl_held *held;

	if (slot->block == block) {
		held = &slot->page[nl_page_of(&flash->geo, ppn)];
		return held->used ? (const void *)held->oob : NULL;
	}
	return nl_flash_is_bad(flash, block) ? NULL : nl_flash_record(flash, ppn);
}

/* Is there a block of the physical segment, and if @meta is not NULL, with that? */
static bool nl_battery_has(const struct nl_flash *flash, u32 ppn, const struct nl_meta *meta)
{
	const struct nl_oob *oob = nl_battery_oob(flash, ppn);

	if (!oob || oob->type != NL_OOB_NAMELESS)
		return false;
	return !meta || (le64_to_cpu(oob->lpn) == meta->word[0] &&
			 le64_to_cpu(oob->meta[0]) == meta->word[1] &&
			 le64_to_cpu(oob->meta[1]) == meta->word[2]);
}

/*
 * What is valid has to be a block of the physical segment: another page would be live twice. And a
 * migration has to lead to what is valid and has its metadata: to end a block, who has an old name
 * of it reads no record any more.
 */
static bool nl_battery_is_sane(const struct nl_flash *flash)
{
	const struct nl_battery *battery = flash->battery;
	const struct nl_moved *moved = battery->moved;
	u32 ppn, i;

	for_each_set_bit(ppn, battery->valid, flash->geo.nr_pages) {
		if (!nl_battery_has(flash, ppn, NULL))
			return false;
		cond_resched();
	}
	for (i = 0; i < battery->nr_moved; i++) {
		if (!test_bit(moved[i].to, battery->valid) ||
		    !nl_battery_has(flash, moved[i].to, &moved[i].meta))
			return false;
		cond_resched();
	}
	return true;
}

/**
 * struct nl_keys - the old names of an image's migrations
 * @secret: nobody knows it who makes images, or all names could be in one bucket
 * @size: buckets, a power of two
 * @bucket: the last migration in each; NL_NO_SLOT: none
 * @chain: the one before it, of each migration
 */
struct nl_keys {
	hsiphash_key_t secret;
	u32 size;
	u32 *bucket;
	u32 *chain;
};

static int nl_keys_init(struct nl_keys *keys, u32 nr)
{
	u32 i;

	get_random_bytes(&keys->secret, sizeof(keys->secret));
	keys->size = 1;
	while (keys->size < nr)
		keys->size *= 2;
	keys->bucket = kvmalloc_array(keys->size, sizeof(*keys->bucket), NL_GFP_IO);
	keys->chain = kvmalloc_array(keys->size, sizeof(*keys->chain), NL_GFP_IO);
	if (!keys->bucket || !keys->chain)
		return -ENOMEM;
	for (i = 0; i < keys->size; i++)
		keys->bucket[i] = NL_NO_SLOT;
	return 0;
}

static u32 *nl_keys_bucket(const struct nl_keys *keys, const struct nl_moved *moved)
{
	u64 key[] = { moved->from, moved->meta.word[0], moved->meta.word[1], moved->meta.word[2] };

	return &keys->bucket[hsiphash(key, sizeof(key), &keys->secret) & (keys->size - 1)];
}

static int nl_keys_add(struct nl_keys *keys, const struct nl_moved *moved, u32 i)
{
	u32 *bucket = nl_keys_bucket(keys, &moved[i]), j;

	for (j = *bucket; j != NL_NO_SLOT; j = keys->chain[j])
		if (moved[j].from == moved[i].from && nl_meta_same(&moved[j].meta, &moved[i].meta))
			return -EINVAL;
	keys->chain[i] = *bucket;
	*bucket = i;
	return 0;
}

/* An old name leads to one place. 0, -EINVAL, -ENOMEM, -EINTR. */
static int nl_battery_keys(const struct nl_battery *battery)
{
	struct nl_keys keys;
	int r = nl_keys_init(&keys, battery->nr_moved);
	u32 i;

	for (i = 0; i < battery->nr_moved && !r; i++) {
		cond_resched();
		r = fatal_signal_pending(current) ? -EINTR :
						    nl_keys_add(&keys, battery->moved, i);
	}
	kvfree(keys.bucket);
	kvfree(keys.chain);
	return r;
}

int nl_battery_load(struct nl_flash *flash, nl_image_get get, void *ctx)
{
	struct nl_summed s = { .get = get, .ctx = ctx, .sum = ~0 };
	struct nl_image_battery head;
	u32 i, moves;
	__le32 sum;
	int r = nl_sum_get(&s, &head, sizeof(head));

	if (r)
		return r;
	moves = le32_to_cpu(head.moves);
	/* Nobody has to acknowledge: there may be more than there are pages. */
	if (moves > NL_MOVES_MAX || le32_to_cpu(head.slots) > flash->geo.nr_planes)
		return -EINVAL;
	r = nl_battery_create(flash, moves + flash->geo.pages);
	if (!r)
		r = nl_load_valid(flash, &s);
	if (!r)
		r = nl_load_moves(flash, moves, &s);
	for (i = 0; i < le32_to_cpu(head.slots) && !r; i++)
		r = nl_load_slot(flash, &s);
	if (!r)
		r = get(ctx, &sum, sizeof(sum));
	if (!r && (le32_to_cpu(sum) != (u32)~s.sum || !nl_battery_is_sane(flash)))
		r = -EINVAL;
	return r ? r : nl_battery_keys(flash->battery);
}
