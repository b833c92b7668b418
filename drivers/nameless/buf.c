// SPDX-License-Identifier: GPL-2.0-only
/* The data of a flash page; see buf.h, and flash.h for what the flash expects of it. */
#include <linux/mm.h>

#include "buf.h"

static struct page *nl_buf_page(struct nl_buf *buf)
{
	return (struct page *)buf;
}

/* @bytes: a power of two of at least PAGE_SIZE. NULL without memory. */
struct nl_buf *nl_buf_alloc_gfp(u32 bytes, gfp_t gfp)
{
	return (struct nl_buf *)alloc_pages(gfp | __GFP_COMP, get_order(bytes));
}

struct nl_buf *nl_buf_alloc(u32 bytes)
{
	return nl_buf_alloc_gfp(bytes, NL_GFP_IO);
}

void nl_buf_get(struct nl_buf *buf)
{
	get_page(nl_buf_page(buf));
}

void nl_buf_put(struct nl_buf *buf)
{
	if (buf)
		put_page(nl_buf_page(buf));
}

void *nl_buf_data(struct nl_buf *buf)
{
	return page_address(nl_buf_page(buf));
}
