// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <evenkeel/nlstore_format.h>

#include "../../../tools/libnameless/libnameless.h"
#include "fake.h"

#define MOVES 512

struct page {
	bool valid, unreadable;
	unsigned int fades;	/* the read from which on it is unreadable; 0: none */
	struct nl_meta meta;
	uint8_t data[FAKE_BLOCK];
};

struct move {
	bool used, told, late;
	struct nl_move move;
};

struct nameless {
	int flags;
};

static struct page pages[FAKE_PAGES];
static uint8_t lasting[FAKE_DISK][FAKE_BLOCK], disk[FAKE_DISK][FAKE_BLOCK];
static bool unflushed[FAKE_DISK], mapped[FAKE_DISK], mapped_lasting[FAKE_DISK];
static struct move moves[MOVES];
static struct nameless client;
static unsigned int clients, moving, room, restless_per, restless_all;
static uint64_t changes, cut_at, cuts, moved, state, reads, blink_at;
static enum fake_cut cut_how;
static enum fake_after cut_after;
static bool off, was_cut, restarted, kills, lazy, unlisted;

static uint32_t any(uint32_t below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % below;
}

void fake_reset(uint64_t seed, unsigned int one_in)
{
	memset(pages, 0, sizeof(pages));
	memset(lasting, 0, sizeof(lasting));
	memset(disk, 0, sizeof(disk));
	memset(unflushed, 0, sizeof(unflushed));
	memset(mapped, 0, sizeof(mapped));
	memset(mapped_lasting, 0, sizeof(mapped_lasting));
	memset(moves, 0, sizeof(moves));
	clients = room = restless_per = restless_all = 0;
	moving = one_in;
	changes = cut_at = cuts = moved = reads = blink_at = 0;
	state = seed * 2 + 1;
	off = was_cut = restarted = lazy = unlisted = false;
}

void fake_cut_at(uint64_t n, enum fake_cut how, enum fake_after after)
{
	cut_at = n ? changes + n : 0;
	cut_how = how;
	cut_after = after;
	was_cut = kills = false;
}

void fake_kill_instead(void)
{
	kills = true;
}

void fake_blink_at_read(uint64_t n)
{
	blink_at = reads + n;
	cut_how = FAKE_NONE;
	cut_after = FAKE_SILENT;
	was_cut = kills = false;
}

bool fake_was_cut(void)
{
	return was_cut;
}

void fake_power_on(void)
{
	off = false;
}

void fake_killed(void)
{
	clients = 0;
}

uint64_t fake_changes(void)
{
	return changes;
}

unsigned int fake_valid(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < FAKE_PAGES; i++)
		n += pages[i].valid;
	return n;
}

unsigned int fake_waiting(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < MOVES; i++)
		n += moves[i].used;
	return n;
}

uint64_t fake_moved(void)
{
	return moved;
}

unsigned int fake_open(void)
{
	return clients;
}

void fake_spoil(unsigned int which)
{
	unsigned int i;

	for (i = 0; i < FAKE_PAGES; i++)
		if (pages[i].valid && !which--)
			pages[i].data[77] ^= 4;
}

/* The block of that serial, or NULL. */
static struct page *page_of_serial(uint64_t serial)
{
	unsigned int i;

	for (i = 0; i < FAKE_PAGES; i++)
		if (pages[i].valid && pages[i].meta.word[1] == serial)
			return &pages[i];
	return NULL;
}

void fake_spoil_serial(uint64_t serial)
{
	page_of_serial(serial)->data[77] ^= 4;
}

void fake_lose_serial(uint64_t serial)
{
	page_of_serial(serial)->valid = false;
}

void fake_unlisted(void)
{
	unlisted = true;
}

void fake_wear_out_serial(uint64_t serial)
{
	page_of_serial(serial)->unreadable = true;
}

void fake_fade_serial(uint64_t serial, unsigned int n)
{
	page_of_serial(serial)->fades = n;
}

void fake_lose(unsigned int which)
{
	unsigned int i;

	for (i = 0; i < FAKE_PAGES; i++)
		if (pages[i].valid && !which--)
			pages[i].valid = false;
}

/* What is written lasts. */
static void make_last(unsigned int block)
{
	memcpy(lasting[block], disk[block], FAKE_BLOCK);
	mapped_lasting[block] = mapped[block];
}

void fake_spoil_disk(unsigned int block, unsigned int bit)
{
	disk[block][bit / 8] ^= 1 << bit % 8;
	mapped[block] = true;
	make_last(block);
}

void fake_wipe_disk(unsigned int block)
{
	memset(disk[block], 0, FAKE_BLOCK);
	memset(lasting[block], 0, FAKE_BLOCK);
}

unsigned int fake_mapped(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < FAKE_DISK; i++)
		n += mapped[i];
	return n;
}

void fake_room(unsigned int blocks)
{
	room = blocks;
}

static bool is_full(void)
{
	return room && fake_valid() + fake_mapped() >= room;
}

void fake_lazy(void)
{
	lazy = true;
}

void fake_restless(unsigned int per, unsigned int all)
{
	restless_per = per;
	restless_all = all;
}

/* --- power ------------------------------------------------------------------------------------ */

static bool lasts(void)
{
	return cut_how == FAKE_ALL || (cut_how == FAKE_SOME && any(2));
}

static void cut(void)
{
	unsigned int i;

	was_cut = true;
	if (kills) {
		off = true;
		cut_at = 0;
		return;
	}
	for (i = 0; i < FAKE_DISK; i++) {
		if (unflushed[i] && lasts())
			make_last(i);
		unflushed[i] = false;
	}
	memcpy(disk, lasting, sizeof(disk));
	memcpy(mapped, mapped_lasting, sizeof(mapped));
	for (i = 0; i < MOVES; i++)
		moves[i].told = false;
	cuts++;
	cut_at = 0;
	off = cut_after == FAKE_OFF;
	restarted = true;
}

/*
 * A change: 0, or -EIO; then *@done says whether it is to be made nevertheless, before the power
 * goes.
 */
static int change(bool *done)
{
	*done = !off;
	if (off)
		return -EIO;
	if (++changes != cut_at)
		return 0;
	if (cut_after == FAKE_SILENT) {
		cut();
		return 0;
	}
	*done = lasts();
	return -EIO;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static bool same(const struct nl_meta *a, const struct nl_meta *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static uint32_t vacant(const struct nl_meta *meta)
{
	uint32_t ppn, i;

	for (;;) {
		ppn = any(FAKE_PAGES);
		for (i = 0; i < MOVES; i++)
			if (moves[i].used && moves[i].move.from == ppn &&
			    same(&moves[i].move.meta, meta))
				break;
		if (!pages[ppn].valid && i == MOVES)
			return ppn;
	}
}

/* The page that a name leads to, or NULL. */
static struct page *page_of(const struct nl_name *name)
{
	uint32_t i;

	if (name->reserved)
		return NULL;
	if (name->ppn < FAKE_PAGES && pages[name->ppn].valid &&
	    same(&pages[name->ppn].meta, &name->meta))
		return &pages[name->ppn];
	for (i = 0; i < MOVES; i++)
		if (moves[i].used && moves[i].move.from == name->ppn &&
		    same(&moves[i].move.meta, &name->meta))
			return &pages[moves[i].move.to];
	return NULL;
}

static void forget_moves(uint32_t to)
{
	uint32_t i;

	for (i = 0; i < MOVES; i++)
		if (moves[i].used && moves[i].move.to == to)
			moves[i].used = false;
}

/* Any block moves; older migrations of it lead to the new place, too. */
static void move_one(void)
{
	uint32_t from = any(FAKE_PAGES), to, i;

	for (i = 0; i < FAKE_PAGES && !pages[from].valid; i++)
		from = (from + 1) % FAKE_PAGES;
	for (i = 0; i < MOVES && moves[i].used; i++)
		;
	if (!pages[from].valid || i == MOVES)
		return;
	to = vacant(&pages[from].meta);
	pages[to] = pages[from];
	pages[from].valid = false;
	moves[i] = (struct move){ true, false, lazy && any(2), { from, to, pages[to].meta } };
	for (i = 0; i < MOVES; i++)
		if (moves[i].used && moves[i].move.to == from)
			moves[i].move.to = to;
	moved++;
}

void fake_move(unsigned int nr)
{
	while (nr--)
		move_one();
}

void fake_add_foreign(unsigned int nr)
{
	struct nl_meta meta = { { 1, 2, 3 } };

	while (nr--) {
		uint32_t ppn = vacant(&meta);

		meta.word[1]++;
		pages[ppn].valid = true;
		pages[ppn].meta = meta;
	}
}

void fake_add_named(uint64_t id, uint64_t serial)
{
	struct nl_meta meta = { { id, serial, NS_META } };
	uint32_t ppn = vacant(&meta);

	pages[ppn].valid = true;
	pages[ppn].meta = meta;
}

/* --- the library ------------------------------------------------------------------------------ */

int nameless_open(const char *device, int flags, struct nameless **dev)
{
	uint32_t i;

	(void)device;
	if (off || clients)
		return off ? -EIO : -EBUSY;
	for (i = 0; i < MOVES; i++)
		moves[i].told = false;
	clients = 1;
	restarted = false;
	client.flags = flags;
	*dev = &client;
	return 0;
}

void nameless_close(struct nameless *dev)
{
	(void)dev;
	clients = 0;
}

int nameless_query(struct nameless *dev, struct nl_names_info *info)
{
	(void)dev;
	if (off)
		return -EIO;
	*info = (struct nl_names_info){
		.block_bytes = FAKE_BLOCK, .addresses = FAKE_PAGES, .valid = fake_valid(),
		.waiting = fake_waiting(), .cuts = cuts,
	};
	restarted = false;
	return 0;
}

int nameless_write(struct nameless *dev, struct nl_name *names, const void *data, unsigned int nr,
		   unsigned int *done)
{
	uint32_t i, ppn;
	int err = 0;
	bool make;

	if (dev->flags == O_RDONLY)
		return -EBADF;
	for (i = 0; !err && i < nr; i++) {
		if (is_full())
			return *done = i, -ENOSPC;
		err = change(&make);
		if (make && moving && !any(moving))
			move_one();
		if (make) {
			ppn = vacant(&names[i].meta);
			pages[ppn].valid = true;
			pages[ppn].meta = names[i].meta;
			memcpy(pages[ppn].data, (const uint8_t *)data + i * FAKE_BLOCK, FAKE_BLOCK);
			if (!err)
				names[i].ppn = ppn;
		}
		if (err && !off)
			cut();
	}
	*done = err ? i - 1 : i;
	return err;
}

int nameless_read(struct nameless *dev, const struct nl_name *names, void *data, unsigned int nr,
		  unsigned int *done)
{
	struct page *page;
	unsigned int ignored;
	uint32_t i;

	(void)dev;
	done = done ? done : &ignored;
	for (i = 0; i < nr; i++) {
		*done = i;
		page = page_of(&names[i]);
		if (off || !page)
			return off ? -EIO : -ESTALE;
		if (page->fades && !--page->fades)
			page->unreadable = true;
		if (page->unreadable)
			return -EBADMSG;
		memcpy((uint8_t *)data + i * FAKE_BLOCK, page->data, FAKE_BLOCK);
	}
	return 0;
}

int nameless_free(struct nameless *dev, const struct nl_name *names, unsigned int nr,
		  unsigned int *done)
{
	unsigned int i, ignored;
	struct page *page;
	int err = 0;
	bool make;

	if (dev->flags == O_RDONLY)
		return -EBADF;
	done = done ? done : &ignored;
	for (i = 0; i < nr; i++) {
		*done = i;
		page = page_of(&names[i]);
		if (!off && !page)
			return -ESTALE;
		if (!off && page->unreadable)
			return -EBADMSG;
		err = change(&make);
		if (make) {
			page->valid = false;
			forget_moves(page - pages);
		}
		if (err && !off)
			cut();
		if (err)
			return err;
	}
	*done = nr;
	return 0;
}

int nameless_moves(struct nameless *dev, struct nl_move *result, unsigned int max, int timeout_ms)
{
	unsigned int i, n = 0;

	(void)dev;
	if (!max)
		return -EINVAL;
	for (i = 0; i < MOVES && n < max; i++) {
		if (!moves[i].used || moves[i].told || (moves[i].late && !timeout_ms))
			continue;
		moves[i].told = true;
		result[n++] = moves[i].move;
	}
	return n ? (int)n : restarted ? -ECONNRESET : 0;
}

int nameless_acknowledge(struct nameless *dev, const struct nl_move *acks, unsigned int nr)
{
	uint32_t i;

	if (dev->flags == O_RDONLY)
		return -EBADF;
	for (; nr; nr--, acks++) {
		bool make;
		int err = change(&make);

		for (i = 0; make && i < MOVES; i++)
			if (moves[i].used && moves[i].move.from == acks->from &&
			    same(&moves[i].move.meta, &acks->meta))
				moves[i].used = false;
		if (err && !off)
			cut();
		if (err)
			return err;
	}
	return 0;
}

/* It moved, and the list came by neither of its places while it was there. */
static bool is_unlisted(uint32_t ppn)
{
	uint32_t i;

	for (i = 0; unlisted && i < MOVES; i++)
		if (moves[i].used && moves[i].move.to == ppn)
			return true;
	return false;
}

int nameless_list(struct nameless *dev, uint32_t *from, struct nl_name *names, unsigned int max)
{
	unsigned int n = 0;

	(void)dev;
	if (off)
		return -EIO;
	for (; n < max && *from < FAKE_PAGES; (*from)++)
		if (pages[*from].valid && !pages[*from].unreadable && !is_unlisted(*from))
			names[n++] = (struct nl_name){ .ppn = *from, .meta = pages[*from].meta };
	return (int)n;
}

int nameless_size(struct nameless *dev, uint64_t *bytes)
{
	(void)dev;
	*bytes = (uint64_t)FAKE_DISK * FAKE_BLOCK;
	return 0;
}

static int place(size_t bytes, uint64_t at)
{
	if (bytes % FAKE_BLOCK || at % FAKE_BLOCK)
		return -EINVAL;
	return at + bytes > (uint64_t)FAKE_DISK * FAKE_BLOCK ? -ENXIO : off ? -EIO : 0;
}

int nameless_pread(struct nameless *dev, void *data, size_t bytes, uint64_t at)
{
	int err = place(bytes, at);

	(void)dev;
	if (++reads == blink_at)
		cut();
	if (!err)
		memcpy(data, disk[at / FAKE_BLOCK], bytes);
	return err;
}

static int put(const void *data, size_t bytes, uint64_t at)
{
	uint64_t block = at / FAKE_BLOCK;
	int err = place(bytes, at);
	unsigned int i;
	bool make;

	for (; !err && bytes; bytes -= FAKE_BLOCK, block++) {
		if (!data && !mapped[block])
			continue;
		if (data && !mapped[block] && is_full())
			return -ENOSPC;
		err = change(&make);
		for (i = 0; data && i < restless_per && restless_all; i++, restless_all--)
			move_one();
		if (make) {
			mapped[block] = data;
			if (data)
				memcpy(disk[block], data, FAKE_BLOCK);
			else
				memset(disk[block], 0, FAKE_BLOCK);
			unflushed[block] = true;
		}
		if (err && !off)
			cut();
		data = data ? (const uint8_t *)data + FAKE_BLOCK : NULL;
	}
	return err;
}

int nameless_pwrite(struct nameless *dev, const void *data, size_t bytes, uint64_t at)
{
	return dev->flags == O_RDONLY ? -EBADF : put(data, bytes, at);
}

int nameless_discard(struct nameless *dev, uint64_t bytes, uint64_t at)
{
	return dev->flags == O_RDONLY ? -EBADF : put(NULL, bytes, at);
}

int nameless_flush(struct nameless *dev)
{
	unsigned int i;
	bool make;
	int err;

	(void)dev;
	err = change(&make);
	for (i = 0; make && i < FAKE_DISK; i++) {
		if (unflushed[i])
			make_last(i);
		unflushed[i] = false;
	}
	if (err && !off)
		cut();
	return err;
}
