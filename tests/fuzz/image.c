// SPDX-License-Identifier: GPL-2.0-only
/*
 * Images of devices that whoever made them wanted: sums are right, what they are of is not. A used device's OOB, data,
 * battery-backed memory and blocks are edited as the input says and saved; bytes of that may be edited, too. Loading
 * it, starting an FTL on it with or without a checkpoint, and all that is asked of that may fail, and nothing else.
 * Four bytes say what device, then five each are an edit: what, where (two bytes), to what (two bytes).
 */
#include <string.h>
#include <linux/slab.h>

#include "fuzz.h"
#include "ktap.h"
#include "nameless/rig.h"
#include "names.h"
#include "ftl_internal.h"

#define PAGES	60u
#define HEAD	4u
#define EDIT	5u
#define MAX	(1u << 20)

enum { OOB, OOB_SUMMED, DATA, ERASES, NEXT, STATE, VALID, MOVED, MOVED_COUNT, SLOT, SLOT_OOB, BYTE, NR };

static uint8_t image[MAX];
static size_t image_len, image_at;

static int save(void *ctx, const void *data, size_t len)
{
	MUST(image_len + len <= MAX);
	memcpy(image + image_len, data, len);
	image_len += len;
	return 0;
}

static int load(void *ctx, void *data, size_t len)
{
	if (image_at + len > image_len)
		return -EINVAL;
	memcpy(data, image + image_at, len);
	image_at += len;
	return 0;
}

/* Something in both segments, trims, a checkpoint or none, blocks that failed. */
static void use(struct rig *rig, const uint8_t *in)
{
	struct nl_meta meta = { { 1, 2, 3 } };
	struct nl_io io = { .now = 1 };
	uint32_t ppn, i;

	for (i = 0; i < 30u + in[1] % 64; i++) {
		if (i == in[2])
			rig->flash.fail_erase = 1;
		rig_write(rig, i * 7 % PAGES, 0);
		meta.word[0] = i;
		if (rig->config.p[NL_P_FTL] == NL_FTL_NAMELESS && i % 5 == 0)
			nl_name_write(rig->ftl, NULL, &meta, NULL, &ppn, &io);
	}
	rig_trim(rig, 3, 5);
	rig_flush(rig);
	if (in[3] & 1)
		nl_ftl_stop(rig->ftl, &io);
	else if (in[3] & 2)
		nl_flash_power_off(&rig->flash);
	nl_ftl_destroy(rig->ftl);
	rig->ftl = NULL;
}

/* With a sum that is right for what is there now. */
static void sum(void *to)
{
	struct nl_oob *oob = to;

	oob->csum = 0;
	oob->csum = cpu_to_le32(~crc32c(~0, oob, sizeof(*oob)));
}

static void edit_page(struct nl_flash *flash, uint8_t what, uint32_t where, uint8_t to)
{
	uint32_t ppn = where % flash->geo.nr_pages, at = where / flash->geo.nr_pages;
	struct nl_block *block = &flash->block[ppn / flash->geo.pages];
	uint8_t *oob = block->oob ? block->oob + ppn % flash->geo.pages * flash->geo.oob_bytes : NULL;

	if (!nl_flash_peek(flash, ppn))
		return;
	if (what == DATA && flash->data[ppn])
		((uint8_t *)nl_buf_data(flash->data[ppn]))[at % flash->geo.page_bytes] = to;
	if (what == OOB || what == OOB_SUMMED)
		oob[at % NL_OOB_BYTES] = to;
	if (what == OOB_SUMMED)
		sum(oob);
}

/* One that leads to block @to: some with its metadata, as others are refused. */
static struct nl_moved migration(const struct nl_flash *flash, uint32_t from, uint32_t to, bool is)
{
	const struct nl_oob *oob = to < flash->geo.nr_pages ? nl_flash_peek(flash, to) : NULL;
	struct nl_moved moved = { .used = true, .from = from, .to = to };

	if (is && oob)
		moved.meta = (struct nl_meta){ { le64_to_cpu(oob->lpn), le64_to_cpu(oob->meta[0]),
						 le64_to_cpu(oob->meta[1]) } };
	return moved;
}

static void edit_battery(struct nl_flash *flash, uint8_t what, uint32_t where, uint16_t to)
{
	struct nl_battery *battery = flash->battery;
	struct nl_slot *slot = &battery->slot[where % battery->nr_slots];
	struct nl_held *held = &slot->page[where / battery->nr_slots % battery->pages];
	struct nl_moved *moved = &battery->moved[where % battery->max_moved];

	switch (what) {
	case MOVED:
		*moved = migration(flash, to / 2 % 256, to / 512, to & 1);
		break;
	case MOVED_COUNT:
		battery->nr_moved = to;
		break;
	case SLOT:
		slot->block = to % 256 ? to % 256 : NL_NO_SLOT;
		slot->lost = to / 256 & 1;
		nl_held_drop(held);
		held->used = to / 512 & 1;
		break;
	default:
		held->oob[to / 256 % NL_OOB_BYTES] = to;
		sum(held->oob);
	}
}

static void flip(unsigned long *bits, uint32_t nr)
{
	if (test_bit(nr, bits))
		__clear_bit(nr, bits);
	else
		__set_bit(nr, bits);
}

static void edit(struct nl_flash *flash, const uint8_t *in)
{
	uint32_t where = in[1] | in[2] << 8;
	struct nl_block *block = &flash->block[where % flash->geo.nr_blocks];
	uint16_t to = in[3] | in[4] << 8;

	switch (in[0] % NR) {
	case OOB:
	case OOB_SUMMED:
	case DATA:
		edit_page(flash, in[0] % NR, where, to);
		break;
	case ERASES:
		block->erases = to << (to % 16);
		break;
	case STATE:
		block->state = to % 2;
		break;
	case VALID:
		if (flash->battery)
			flip(flash->battery->valid, where % flash->geo.nr_pages);
		break;
	case NEXT:
	case BYTE:
		break;
	default:
		if (flash->battery)
			edit_battery(flash, in[0] % NR, where, to);
	}
}

static void ignore(void *ctx, const char *text)
{
}

/* Whatever it says, and it may say what it wants. */
static void try(struct rig *rig)
{
	struct nl_meta meta = { { 1, 2, 3 } };
	struct nl_name names[8];
	uint32_t from = 0, i, ppn;
	struct nl_io io = { .now = 5 };
	struct nl_move moves[8];
	struct nl_buf *buf;
	int n;

	nl_ftl_check(rig->ftl, ignore, NULL);
	for (i = 0; i < PAGES; i++)
		if (!nl_ftl_read(rig->ftl, i, &buf, &io))
			nl_buf_put(buf);
	if (rig->config.p[NL_P_FTL] == NL_FTL_NAMELESS) {
		while ((n = nl_name_list(rig->ftl, &from, names, 8, &io)) > 0)
			for (i = 0; i < n; i++)
				if (!nl_name_read(rig->ftl, &names[i], &buf, &io))
					nl_buf_put(buf);
		nl_name_replay(rig->ftl);
		n = nl_name_moves(rig->ftl, moves, 8);
		for (i = 0; (int)i < n; i++)
			nl_name_acknowledge(rig->ftl, moves[i].from, &moves[i].meta);
		nl_name_write(rig->ftl, NULL, &meta, NULL, &ppn, &io);
	}
	for (i = 0; i < 3 * PAGES; i++)
		nl_ftl_write(rig->ftl, i % PAGES, NULL, 0, &io);
	nl_ftl_flush(rig->ftl, &io);
	nl_ftl_stop(rig->ftl, &io);
	MUST(!rig->flash.violations, "%s", rig->flash.violation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nl_config config;
	struct rig rig;
	size_t i;
	int r;

	if (size < HEAD)
		return 0;
	rig_map_chunks = data[0] / NL_FTL_ZONED % 2 * 2;
	rig_map_entries = 5;
	config = rig_tiny(data[0] % NL_FTL_ZONED, 1 + data[0] / 16 % 3, 4 + data[0] / 64, PAGES, 6);
	config.p[NL_P_MOVES] = 5;
	rig_init(&rig, &config, PAGES, 1);
	MUST(!rig_open(&rig));
	use(&rig, data);
	for (i = HEAD; i + EDIT <= size; i += EDIT)
		edit(&rig.flash, &data[i]);
	image_len = 0;
	MUST(!nl_flash_save(&rig.flash, save, NULL));
	for (i = HEAD; i + EDIT <= size; i += EDIT)
		if (data[i] % NR == BYTE)
			image[(data[i + 1] | data[i + 2] << 8 | data[i + 4] << 16) % image_len] = data[i + 3];
	nl_flash_destroy(&rig.flash);
	MUST(!nl_flash_create(&rig.flash, &config));
	image_at = 0;
	r = nl_flash_load(&rig.flash, load, NULL);
	if (!r)
		r = rig_open(&rig);
	if (!r)
		try(&rig);
	rig_destroy(&rig);
	return 0;
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	unsigned int state = nr + 1;
	size_t i, size = HEAD + EDIT * (nr % 6);

	if (nr >= 30)
		return 0;
	for (i = 0; i < size; i++)
		data[i] = fuzz_random(&state, 256);
	data[0] = nr % 6 + nr / 6 % 3 * 16;
	data[3] = nr;
	return size;
}
