/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: direct mode
 *
 * Memory for another driver, without the block layer on the way (section 3.2 of the paper): find
 * the device once, hand it bios, which are done on return.
 *
 *	struct mem2m *mem = mem2m_get("name");
 *
 *	if (IS_ERR(mem))
 *		return PTR_ERR(mem);
 *	mem2m_submit_bio(mem, bio);
 *	mem2m_put(mem);
 *
 * As long as it is held the device can't be deleted or resized, nor the module unloaded.
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
