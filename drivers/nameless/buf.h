/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: the data of a flash page
 *
 * A compound page with a reference count. The host's bytes are copied into a fresh one before the
 * device's lock is taken; copies within the flash share it; who reads takes a reference under the
 * lock and copies without it, whatever is erased meanwhile.
 */
#ifndef NAMELESS_BUF_H
#define NAMELESS_BUF_H

#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mm.h>

#include "flash.h"

/*
 * A machine short of memory gets an I/O error, not its processes killed. So do the FTL's tables:
 * they are made with the device's lock, which keeps the OOM killer away, and single pages would be
 * asked for without an end.
 */
#define NL_GFP_IO	(GFP_NOIO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
#define NL_GFP_NOWAIT	(GFP_NOWAIT | __GFP_NOWARN)

/* Pages of the RAM that are left alone, whatever the flash has still to hold. */
static inline unsigned long nl_reserve(void)
{
	return totalram_pages() >> 5;
}

#define NL_DROPS_MOST	512	/* blocks of a few planes */

/**
 * struct nl_drops - buffers that nobody has any more
 * @pages: they
 * @nr: of them
 *
 * An erase gives a block's buffers back at once, which takes longer than the rest of a write. Who
 * wants to be told that his write is done need not wait for that.
 */
struct nl_drops {
	struct list_head pages;
	unsigned int nr;
};

void nl_drops_put(struct nl_drops *drops);

int nl_buf_start_up(void);
void nl_buf_drain(void);
void nl_buf_room(u32 bytes, long pages);
void nl_buf_shut_down(void);

#endif /* NAMELESS_BUF_H */
