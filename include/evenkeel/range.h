/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: memory set aside as storage
 *
 * A range is one piece of kernel addresses with struct pages behind them, and nobody else's until
 * it is let go of. It comes from one of two places:
 *
 * reserved memory, by physical address, as `memmap=SIZE$START` leaves it:
 *
 *	scm_range_claim()	is it set aside and free?
 *	scm_range_peek()	what is in it, before struct pages overwrite any of it
 *	scm_range_vacant()	is there somebody's content?
 *	scm_range_forget_below()	by force: whose content reaches into it is nobody's any more
 *	scm_range_map()		struct pages into its head, addresses for all of it
 *
 * or a block device with DAX, whose driver has made struct pages already: scm_range_get_dax().
 */
#ifndef _EVENKEEL_RANGE_H
#define _EVENKEEL_RANGE_H

#include <linux/list.h>
#include <linux/memremap.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <evenkeel/range_format.h>

struct block_device;
struct dax_device;
struct dax_holder_operations;

#define SCM_RANGE_ERROR_LEN	160

/**
 * struct scm_range - memory set aside as storage
 * @addr: its first byte; NULL until it is mapped
 * @bytes: its size
 * @lasts: its content is there when the power was off, as the firmware or the kernel's command line
 *	has told the kernel; of reserved memory nobody has. Set when it is taken
 * @phys: reserved memory: its address
 * @region: reserved memory: what /proc/iomem calls it
 * @pgmap: reserved memory: its struct pages
 * @bdev: DAX: the block device that it was got by
 * @dax: DAX: the device
 * @dax_offset: DAX: where the block device begins in it, bytes
 * @holder: DAX: whose it is
 * @dax_ops: DAX: what that wants to be told, set before it is taken; NULL: nothing. A call may be
 *	under way until scm_range_wait_told() returns
 * @failed: called when the kernel has found memory of it to be bad, before it takes that out of
 *	its map; set before it is mapped, and reserved memory or without @dax_ops; NULL: nobody
 *	wants to know. The flags are MF_*. Returns -EOPNOTSUPP: the kernel has to kill who has it
 *	mapped, by what the struct pages say of one file each; anything else: that has been seen to.
 *	May sleep; a call may be under way until scm_range_unmap() or scm_range_put_dax() returns
 * @on_list: DAX: in the list of those whose holder is told by @failed; reserved memory: of those
 *	beside which there is no hibernation
 * @error: why the last call failed
 */
struct scm_range {
	void *addr;
	u64 bytes;
	bool lasts;
	u64 phys;
	char region[48];
	struct dev_pagemap pgmap;
	struct block_device *bdev;
	struct dax_device *dax;
	u64 dax_offset;
	void *holder;
	const struct dax_holder_operations *dax_ops;
	int (*failed)(struct scm_range *range, u64 offset, u64 bytes, int flags);
	struct list_head on_list;
	char error[SCM_RANGE_ERROR_LEN];
};

u64 scm_range_head(u64 bytes, u64 reserve);
__printf(4, 5) int scm_range_claim(struct scm_range *range, u64 phys, u64 bytes, const char *fmt,
				   ...);
void *scm_range_peek(struct scm_range *range);
void scm_range_unpeek(void *addr);
int scm_range_vacant(struct scm_range *range, const void *addr, u64 but);
int scm_range_forget_below(struct scm_range *range);
int scm_range_map(struct scm_range *range, u64 reserve, u64 head, void *owner);
void scm_range_unmap(struct scm_range *range);
void scm_range_unclaim(struct scm_range *range);

int scm_range_get_dax(struct scm_range *range, struct block_device *bdev, u64 bytes, void *holder);
void scm_range_put_dax(struct scm_range *range);
void scm_range_wait_told(void);
u64 scm_range_next_bad(const struct scm_range *range, u64 from, u64 to, u64 *bytes);

#endif
