// SPDX-License-Identifier: GPL-2.0-only
/* The flash and its rules. */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <evenkeel/copy.h>
#include "battery.h"
#include "buf.h"
#include "flash_internal.h"
#include "raw.h"

static bool nl_page_is_mark(const struct nl_buf *data)
{
	return data == NL_PAGE_ERROR || data == NL_PAGE_BLANK;
}

static struct nl_buf *nl_tear_mark(enum nl_tear tear)
{
	return tear == NL_TEAR_BLANK ? NL_PAGE_BLANK : NL_PAGE_ERROR;
}

static u64 nl_flash_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void nl_flash_factory(struct nl_flash *flash, const struct nl_config *config)
{
	u64 random = config->p[NL_P_SEED], left = config->p[NL_P_FACTORY_BAD];
	u32 block;

	while (left) {
		div_u64_rem(nl_flash_random(&random) >> 32, flash->geo.nr_blocks, &block);
		if (nl_flash_is_bad(flash, block))
			continue;
		flash->block[block].state = NL_BLOCK_BAD;
		left--;
	}
}

int nl_flash_create(struct nl_flash *flash, const struct nl_config *config)
{
	int r;

	memset(flash, 0, sizeof(*flash));
	r = nl_geometry_init(&flash->geo, config);
	if (r)
		return r;
	if (config->p[NL_P_FACTORY_BAD] >= flash->geo.nr_blocks)
		return -ERANGE;
	r = nl_timing_init(&flash->timing, &flash->geo, config);
	if (r)
		return r;
	flash->block = kvcalloc(flash->geo.nr_blocks, sizeof(*flash->block), GFP_KERNEL);
	flash->data = kvcalloc(flash->geo.nr_pages, sizeof(*flash->data), GFP_KERNEL);
	if (!flash->block || !flash->data) {
		kvfree(flash->block);
		kvfree(flash->data);
		nl_timing_destroy(&flash->timing);
		return -ENOMEM;
	}
	flash->endurance = config->p[NL_P_ENDURANCE];
	flash->cut_at = NL_NO_CUT;
	nl_flash_factory(flash, config);
	return 0;
}

/* Forget what pages [0, next) of a block hold and leave @mark in all of it. */
static void nl_block_empty(struct nl_flash *flash, u32 block, struct nl_buf *mark)
{
	struct nl_buf **data = &flash->data[nl_ppn(&flash->geo, block, 0)];
	u32 i;

	for (i = 0; i < flash->block[block].next; i++) {
		if (data[i] && !nl_page_is_mark(data[i])) {
			nl_buf_drop(flash->drops, data[i]);
			flash->stored--;
		}
		data[i] = NULL;
	}
	for (i = 0; mark && i < flash->geo.pages; i++)
		data[i] = mark;
	kvfree(flash->block[block].oob);
	flash->block[block].oob = NULL;
	flash->block[block].next = mark ? flash->geo.pages : 0;
}

void nl_flash_destroy(struct nl_flash *flash)
{
	u32 i;

	if (flash->raw) {
		nl_port_destroy(flash);
		return;
	}
	nl_battery_destroy(flash);
	for (i = 0; i < flash->geo.nr_blocks; i++) {
		nl_block_empty(flash, i, NULL);
		cond_resched();
	}
	kvfree(flash->block);
	kvfree(flash->data);
	nl_timing_destroy(&flash->timing);
	memset(flash, 0, sizeof(*flash));
}

static int nl_flash_violated(struct nl_flash *flash, const char *how)
{
	if (!flash->violations++)
		flash->violation = how;
	return -EINVAL;
}

static void nl_flash_done(struct nl_flash *flash, enum nl_op op, enum nl_cause cause, u32 block,
			  u32 page, u64 *when)
{
	struct nl_event event = {
		.op = op, .cause = cause, .plane = nl_plane_of(&flash->geo, block),
		.block = block, .page = page, .ready = *when,
	};

	event.done = nl_timing_op(&flash->timing, op, cause, event.plane, *when);
	*when = event.done;
	flash->count[op][cause]++;
	if (flash->observe)
		flash->observe(flash->observer, &event);
}

/* Count an operation that changes the flash: is the power still there for it? */
static bool nl_flash_powered(struct nl_flash *flash)
{
	if (!flash->off && flash->ops == flash->cut_at)
		flash->off = true;
	else if (!flash->off)
		flash->ops++;
	return !flash->off;
}

static bool nl_counts_down(u64 *left)
{
	return *left && !--*left;
}

static void nl_page_spoil(struct nl_flash *flash, u32 ppn)
{
	if (flash->data[ppn]) {
		flash->stored--;
		nl_buf_put(flash->data[ppn]);
	}
	flash->data[ppn] = NL_PAGE_ERROR;
}

int nl_flash_read(struct nl_flash *flash, u32 ppn, enum nl_cause cause, u64 *when,
		  struct nl_buf **buf, void *oob)
{
	u32 number = nl_block_of(&flash->geo, ppn), page = nl_page_of(&flash->geo, ppn);
	const struct nl_block *block;

	if (flash->off)
		return -ESHUTDOWN;
	if (flash->raw)
		return nl_port_read(flash, ppn, cause, when, buf, oob);
	if (ppn >= flash->geo.nr_pages)
		return nl_flash_violated(flash, "read beyond the end");
	block = &flash->block[number];
	nl_flash_done(flash, NL_READ, cause, number, page, when);
	if (page >= block->next || flash->data[ppn] == NL_PAGE_BLANK)
		return -ENODATA;
	if (flash->data[ppn] != NL_PAGE_ERROR && nl_counts_down(&flash->fail_read))
		nl_page_spoil(flash, ppn);
	if (flash->data[ppn] == NL_PAGE_ERROR)
		return -EBADMSG;
	if (buf) {
		*buf = flash->data[ppn];
		if (*buf)
			nl_buf_get(*buf);
	}
	if (oob)
		ek_copy(oob, block->oob + (size_t)page * flash->geo.oob_bytes,
			flash->geo.oob_bytes);
	return 0;
}

const void *nl_flash_record(const struct nl_flash *flash, u32 ppn)
{
	const struct nl_block *block = &flash->block[nl_block_of(&flash->geo, ppn)];
	u32 page = nl_page_of(&flash->geo, ppn);

	/* a block whose erasing was cut has none */
	if (page >= block->next || !block->oob || flash->data[ppn] == NL_PAGE_BLANK)
		return NULL;
	return block->oob + (size_t)page * flash->geo.oob_bytes;
}

const void *nl_flash_peek(const struct nl_flash *flash, u32 ppn)
{
	if (flash->raw)
		return nl_port_peek(flash, ppn);
	return nl_page_is_mark(flash->data[ppn]) ? NULL : nl_flash_record(flash, ppn);
}

/* Is @ppn what may be programmed now? */
static int nl_program_allowed(struct nl_flash *flash, u32 ppn)
{
	const struct nl_block *block;
	u32 page = nl_page_of(&flash->geo, ppn);

	if (ppn >= flash->geo.nr_pages)
		return nl_flash_violated(flash, "program beyond the end");
	block = &flash->block[nl_block_of(&flash->geo, ppn)];
	if (block->state == NL_BLOCK_BAD)
		return nl_flash_violated(flash, "program in a bad block");
	if (page < block->next && flash->data[ppn] == NL_PAGE_BLANK)
		return -EIO;		/* who took it for erased could not know */
	if (page < block->next)
		return nl_flash_violated(flash, "program of a page that is not erased");
	if (page > block->next)
		return nl_flash_violated(flash, "program out of order");
	return 0;
}

static int nl_block_oob(struct nl_flash *flash, struct nl_block *block)
{
	if (!block->oob)
		block->oob = kvzalloc((size_t)flash->geo.pages * flash->geo.oob_bytes,
				      flash->nowait ? NL_GFP_NOWAIT : NL_GFP_IO);
	return block->oob ? 0 : -ENOMEM;
}

/* The page is spent, without content. */
static void nl_page_spend(struct nl_flash *flash, u32 ppn, struct nl_buf *mark)
{
	flash->block[nl_block_of(&flash->geo, ppn)].next++;
	flash->data[ppn] = mark;
}

int nl_flash_program(struct nl_flash *flash, u32 ppn, enum nl_cause cause, u64 *when,
		     struct nl_buf *buf, const void *oob)
{
	u32 number = nl_block_of(&flash->geo, ppn), page = nl_page_of(&flash->geo, ppn);
	struct nl_block *block;
	int r;

	if (flash->off)
		return -ESHUTDOWN;
	if (flash->raw)
		return nl_port_program(flash, ppn, cause, when, buf, oob);
	r = nl_program_allowed(flash, ppn);
	if (r)
		return r;
	block = &flash->block[number];
	r = nl_block_oob(flash, block);
	if (r)
		return r;
	if (!nl_flash_powered(flash)) {
		if (flash->cut_tear != NL_TEAR_NOT)
			nl_page_spend(flash, ppn, nl_tear_mark(flash->cut_tear));
		return -ESHUTDOWN;
	}
	nl_flash_done(flash, NL_PROGRAM, cause, number, page, when);
	if (nl_counts_down(&flash->fail_program)) {
		nl_page_spend(flash, ppn, NL_PAGE_ERROR);
		return -EIO;
	}
	if (buf) {
		nl_buf_get(buf);
		flash->stored++;
	}
	nl_page_spend(flash, ppn, buf);
	ek_copy(block->oob + (size_t)page * flash->geo.oob_bytes, oob, flash->geo.oob_bytes);
	return 0;
}

int nl_flash_erase(struct nl_flash *flash, u32 number, enum nl_cause cause, u64 *when)
{
	struct nl_block *block;

	if (flash->off)
		return -ESHUTDOWN;
	if (flash->raw)
		return nl_port_erase(flash, number, cause, when);
	if (number >= flash->geo.nr_blocks)
		return nl_flash_violated(flash, "erase beyond the end");
	block = &flash->block[number];
	if (block->state == NL_BLOCK_BAD)
		return nl_flash_violated(flash, "erase of a bad block");
	if (!nl_flash_powered(flash)) {
		if (flash->cut_tear != NL_TEAR_NOT)
			nl_block_empty(flash, number, nl_tear_mark(flash->cut_tear));
		return -ESHUTDOWN;
	}
	nl_flash_done(flash, NL_ERASE, cause, number, NL_NO_PAGE, when);
	nl_block_empty(flash, number, NULL);
	block->erases++;
	if (nl_counts_down(&flash->fail_erase) ||
	    (flash->endurance && block->erases > flash->endurance)) {
		block->state = NL_BLOCK_BAD;
		return -EIO;
	}
	return 0;
}

int nl_flash_mark_bad(struct nl_flash *flash, u32 block)
{
	if (flash->raw && !flash->off)
		return nl_port_mark_bad(flash, block);
	if (flash->off || !nl_flash_powered(flash))
		return -ESHUTDOWN;
	flash->block[block].state = NL_BLOCK_BAD;
	return 0;
}

void nl_flash_cut(struct nl_flash *flash, u64 after, enum nl_tear tear)
{
	flash->cut_at = flash->ops + after;
	flash->cut_tear = tear;
}

void nl_flash_power_off(struct nl_flash *flash)
{
	flash->off = true;
}

void nl_flash_power_on(struct nl_flash *flash)
{
	flash->off = false;
	flash->cut_at = NL_NO_CUT;
	nl_timing_reset(&flash->timing);
	if (flash->raw)
		nl_port_power_on(flash);
}

u64 nl_flash_memory(const struct nl_flash *flash)
{
	const struct nl_geometry *geo = &flash->geo;

	return (u64)geo->nr_blocks * sizeof(*flash->block) +
	       (flash->raw ? 0 : (u64)geo->nr_pages * sizeof(*flash->data)) +
	       (u64)geo->nr_planes * 2 * sizeof(u64) +
	       (u64)geo->nr_channels * sizeof(struct nl_bus);
}
