/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: direct mode
 *
 * Memory for another driver, without the block layer on the way (section 3.2 of the paper): find
 * the device once, hand it bios.  They are done, and have ended, on return; but for those with
 * PREFLUSH or FUA, and flushes, on memory of a pmem device: such a bio ends when the device beneath
 * has flushed, which may be later.  So it, and what it points to, has to stay until its end_io; on
 * the stack only where that is waited for.
 *
 *	struct mem2m *mem = mem2m_get("name");
 *
 *	if (IS_ERR(mem))
 *		return PTR_ERR(mem);
 *	mem2m_submit_bio(mem, bio);	wait for its end_io before the bio goes
 *	mem2m_put(mem);			and before this
 *
 * As long as it is held the device can't be deleted or resized, nor the module unloaded, and who
 * got it by its name has it alone.
 * Documentation/mem2m-example has a whole module.
 */
#ifndef _EVENKEEL_MEM2M_H
#define _EVENKEEL_MEM2M_H

#include <linux/types.h>

struct bio;
struct block_device;
struct mem2m;

struct mem2m *mem2m_get(const char *name);
struct mem2m *mem2m_get_by_bdev(struct block_device *bdev);
void mem2m_put(struct mem2m *mem);
void mem2m_submit_bio(struct mem2m *mem, struct bio *bio);
u64 mem2m_sectors(const struct mem2m *mem);
bool mem2m_volatile(const struct mem2m *mem);

#endif
