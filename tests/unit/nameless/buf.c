// SPDX-License-Identifier: GPL-2.0-only
/* Buffers of flash pages out of the heap. */
#include <linux/slab.h>
#include "flash.h"

struct nl_buf {
	u32 users;
	u8 data[] __aligned(8);
};

struct nl_buf *nl_buf_alloc(u32 bytes, bool nowait)
{
	struct nl_buf *buf = kmalloc(sizeof(*buf) + bytes, nowait ? GFP_NOWAIT : GFP_NOIO);

	if (buf)
		buf->users = 1;
	return buf;
}

struct nl_buf *nl_buf_alloc_user(u32 bytes, bool nowait)
{
	return nl_buf_alloc(bytes, nowait);
}

void nl_buf_get(struct nl_buf *buf)
{
	buf->users++;
}

void nl_buf_put(struct nl_buf *buf)
{
	if (buf && !--buf->users)
		kfree(buf);
}

void nl_buf_drop(struct nl_drops *drops, struct nl_buf *buf)
{
	nl_buf_put(buf);
}

void *nl_buf_data(struct nl_buf *buf)
{
	return buf->data;
}
