// SPDX-License-Identifier: GPL-2.0-only
/* The raw interface: the device that refuses, and flash as an FTL on the host sees it. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <evenkeel/copy.h>
#include "flash_internal.h"
#include "raw.h"

/* --- the device ------------------------------------------------------------------------------- */

static int nl_raw_refuse(struct nl_flash *flash, int why)
{
	flash->refused++;
	return why;
}

int nl_raw_read(struct nl_flash *flash, u32 ppn, enum nl_cause cause, u64 now, u64 *when,
		struct nl_buf **buf, void *oob)
{
	if (flash->off)
		return -ESHUTDOWN;
	if (ppn >= flash->geo.nr_pages)
		return nl_raw_refuse(flash, -ERANGE);
	nl_timing_begin(&flash->timing, now);
	return nl_flash_read(flash, ppn, cause, when, buf, oob);
}

int nl_raw_program(struct nl_flash *flash, u32 ppn, enum nl_cause cause, u64 now, u64 *when,
		   struct nl_buf *buf, const void *oob)
{
	const struct nl_block *block;
	u32 page;

	if (flash->off)
		return -ESHUTDOWN;
	if (ppn >= flash->geo.nr_pages)
		return nl_raw_refuse(flash, -ERANGE);
	block = &flash->block[nl_block_of(&flash->geo, ppn)];
	page = nl_page_of(&flash->geo, ppn);
	if (block->state == NL_BLOCK_BAD)
		return nl_raw_refuse(flash, -ENXIO);
	if (page > block->next)
		return nl_raw_refuse(flash, -EINVAL);
	/* One that is torn and looks erased fails: nobody could know. */
	if (page < block->next && flash->data[ppn] != NL_PAGE_BLANK)
		return nl_raw_refuse(flash, -EEXIST);
	nl_timing_begin(&flash->timing, now);
	return nl_flash_program(flash, ppn, cause, when, buf, oob);
}

int nl_raw_erase(struct nl_flash *flash, u32 block, enum nl_cause cause, u64 now, u64 *when)
{
	if (flash->off)
		return -ESHUTDOWN;
	if (block >= flash->geo.nr_blocks)
		return nl_raw_refuse(flash, -ERANGE);
	if (flash->block[block].state == NL_BLOCK_BAD)
		return nl_raw_refuse(flash, -ENXIO);
	nl_timing_begin(&flash->timing, now);
	return nl_flash_erase(flash, block, cause, when);
}

int nl_raw_mark_bad(struct nl_flash *flash, u32 block)
{
	if (!flash->off && block >= flash->geo.nr_blocks)
		return nl_raw_refuse(flash, -ERANGE);
	return nl_flash_mark_bad(flash, block);
}

bool nl_raw_is_bad(const struct nl_flash *flash, u32 block)
{
	return block >= flash->geo.nr_blocks || nl_flash_is_bad(flash, block);
}

bool nl_raw_peek(const struct nl_flash *flash, u32 ppn, void *oob)
{
	const void *there = flash->off || ppn >= flash->geo.nr_pages ? NULL :
			    nl_flash_peek(flash, ppn);

	if (there)
		ek_copy(oob, there, flash->geo.oob_bytes);
	return there;
}

/* --- the host --------------------------------------------------------------------------------- */

int nl_port_create(struct nl_flash *flash, const struct nl_config *config,
		   const struct nl_raw_ops *ops, void *ctx)
{
	int r;

	memset(flash, 0, sizeof(*flash));
	r = nl_geometry_init(&flash->geo, config);
	if (!r)
		r = nl_timing_init(&flash->timing, &flash->geo, config);
	if (r)
		return r;
	flash->block = kvcalloc(flash->geo.nr_blocks, sizeof(*flash->block), GFP_KERNEL);
	flash->peeked = kvzalloc(flash->geo.oob_bytes, GFP_KERNEL);
	flash->raw = ops;
	flash->raw_ctx = ctx;
	flash->endurance = config->p[NL_P_ENDURANCE];
	flash->cut_at = NL_NO_CUT;
	if (flash->block && flash->peeked)
		return 0;
	nl_port_destroy(flash);
	return -ENOMEM;
}

void nl_port_destroy(struct nl_flash *flash)
{
	kvfree(flash->block);
	kvfree(flash->peeked);
	nl_timing_destroy(&flash->timing);
	memset(flash, 0, sizeof(*flash));
}

/* What the host's memory had is gone. */
void nl_port_power_on(struct nl_flash *flash)
{
	u32 i;

	for (i = 0; i < flash->geo.nr_blocks; i++) {
		memset(&flash->block[i], 0, sizeof(flash->block[i]));
		if (flash->raw->is_bad(flash->raw_ctx, i))
			flash->block[i].state = NL_BLOCK_BAD;
	}
}

const void *nl_port_peek(const struct nl_flash *flash, u32 ppn)
{
	return flash->raw->peek(flash->raw_ctx, ppn, flash->peeked) ? flash->peeked : NULL;
}

/* What the device said. An FTL that is refused has a bug, as with flash that is here. */
static int nl_port_told(struct nl_flash *flash, enum nl_op op, enum nl_cause cause, u64 when, int r)
{
	switch (r) {
	case -ESHUTDOWN:
		flash->off = true;
		return r;
	case -ERANGE:
	case -ENXIO:
	case -EEXIST:
	case -EINVAL:
		if (!flash->violations++)
			flash->violation = "refused by the raw device";
		return -EINVAL;
	case 0:
	case -EIO:
	case -ENODATA:
	case -EBADMSG:
		flash->count[op][cause]++;
		flash->timing.latest = max(flash->timing.latest, when);
	}
	return r;
}

int nl_port_read(struct nl_flash *flash, u32 ppn, enum nl_cause cause, u64 *when,
		 struct nl_buf **buf, void *oob)
{
	int r = flash->raw->read(flash->raw_ctx, ppn, cause, flash->timing.now, when, buf, oob);

	return nl_port_told(flash, NL_READ, cause, *when, r);
}

int nl_port_program(struct nl_flash *flash, u32 ppn, enum nl_cause cause, u64 *when,
		    struct nl_buf *buf, const void *oob)
{
	int r = flash->raw->program(flash->raw_ctx, ppn, cause, flash->timing.now, when, buf, oob);

	if (!r || r == -EIO)
		flash->block[nl_block_of(&flash->geo, ppn)].next++;
	return nl_port_told(flash, NL_PROGRAM, cause, *when, r);
}

int nl_port_erase(struct nl_flash *flash, u32 block, enum nl_cause cause, u64 *when)
{
	int r = flash->raw->erase(flash->raw_ctx, block, cause, flash->timing.now, when);

	if (!r || r == -EIO) {
		flash->block[block].next = 0;
		flash->block[block].erases++;
	}
	if (r == -EIO)
		flash->block[block].state = NL_BLOCK_BAD;
	return nl_port_told(flash, NL_ERASE, cause, *when, r);
}

int nl_port_mark_bad(struct nl_flash *flash, u32 block)
{
	int r = flash->raw->mark_bad(flash->raw_ctx, block);

	if (!r)
		flash->block[block].state = NL_BLOCK_BAD;
	else
		flash->off = true;
	return r;
}
