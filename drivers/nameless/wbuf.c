// SPDX-License-Identifier: GPL-2.0-only
/*
 * The volatile write buffer: pages in the order they were written; a page written again keeps its
 * place. When it is full the oldest is programmed.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "ftl_internal.h"

int nl_wbuf_init(struct nl_ftl *ftl)
{
	struct nl_wbuf *w = &ftl->wbuf;
	u32 i;

	w->max = ftl->config.p[NL_P_BUFFER];
	if (!w->max)
		return 0;
	w->size = 1;
	while (w->size < w->max)
		w->size *= 2;
	w->slot = kvcalloc(w->max, sizeof(*w->slot), NL_GFP_IO);
	w->hash = kvcalloc(w->size, sizeof(*w->hash), NL_GFP_IO);
	if (!w->slot || !w->hash)
		return -ENOMEM;
	for (i = 0; i < w->size; i++)
		w->hash[i] = NL_NONE;
	return 0;
}

void nl_wbuf_destroy(struct nl_ftl *ftl)
{
	u32 i;

	for (i = 0; ftl->wbuf.slot && i < ftl->wbuf.max; i++)
		if (ftl->wbuf.slot[i].used)
			nl_buf_put(ftl->wbuf.slot[i].buf);
	kvfree(ftl->wbuf.slot);
	kvfree(ftl->wbuf.hash);
}

static u32 *nl_wbuf_bucket(struct nl_wbuf *w, u32 lpn)
{
	return &w->hash[lpn & (w->size - 1)];
}

/* Where the number of @lpn's slot is written; there is NL_NONE if it has none. */
static u32 *nl_wbuf_find(struct nl_wbuf *w, u32 lpn)
{
	u32 *at = nl_wbuf_bucket(w, lpn);

	while (*at != NL_NONE && w->slot[*at].lpn != lpn)
		at = &w->slot[*at].chain;
	return at;
}

bool nl_wbuf_read(struct nl_ftl *ftl, u32 lpn, struct nl_buf **buf)
{
	struct nl_wbuf *w = &ftl->wbuf;
	u32 slot;

	if (!w->nr)
		return false;
	slot = *nl_wbuf_find(w, lpn);
	if (slot == NL_NONE)
		return false;
	*buf = w->slot[slot].buf;
	if (*buf)
		nl_buf_get(*buf);
	return true;
}

/* Its slot stays in the ring, empty, until it is the oldest. */
void nl_wbuf_drop(struct nl_ftl *ftl, u32 lpn)
{
	struct nl_wbuf *w = &ftl->wbuf;
	struct nl_wslot *slot;
	u32 *at;

	if (!w->nr)
		return;
	at = nl_wbuf_find(w, lpn);
	if (*at == NL_NONE)
		return;
	slot = &w->slot[*at];
	*at = slot->chain;
	nl_buf_put(slot->buf);
	slot->used = false;
	w->nr--;
}

/* Make the oldest slot free. */
static int nl_wbuf_evict(struct nl_ftl *ftl, struct nl_io *io)
{
	struct nl_wbuf *w = &ftl->wbuf;
	struct nl_wslot *slot = &w->slot[w->head];
	int r;

	if (slot->used) {
		r = ftl->ops->write(ftl, slot->lpn, slot->buf, io);
		if (r)
			return r;
		nl_wbuf_drop(ftl, slot->lpn);
		w->until = max(w->until, io->done);
	}
	w->head = (w->head + 1) % w->max;
	w->ring--;
	return 0;
}

static void nl_wbuf_add(struct nl_wbuf *w, u32 lpn, struct nl_buf *buf)
{
	u32 number = (w->head + w->ring++) % w->max, *at = nl_wbuf_bucket(w, lpn);
	struct nl_wslot *slot = &w->slot[number];

	slot->buf = buf;
	slot->lpn = lpn;
	slot->used = true;
	slot->chain = *at;
	*at = number;
	w->nr++;
}

int nl_wbuf_write(struct nl_ftl *ftl, u32 lpn, struct nl_buf *buf, struct nl_io *io)
{
	struct nl_wbuf *w = &ftl->wbuf;
	u32 slot = *nl_wbuf_find(w, lpn);
	int r = 0;

	while (slot == NL_NONE && w->ring == w->max && !r)
		r = nl_wbuf_evict(ftl, io);
	if (r)
		return r;
	if (buf)
		nl_buf_get(buf);
	if (slot == NL_NONE) {
		nl_wbuf_add(w, lpn, buf);
	} else {
		nl_buf_put(w->slot[slot].buf);
		w->slot[slot].buf = buf;
	}
	nl_io_wait(io, io->now + nl_latency(&ftl->flash->timing, NL_P_RAM));
	return 0;
}

int nl_wbuf_flush(struct nl_ftl *ftl, struct nl_io *io)
{
	int r = 0;

	while (ftl->wbuf.ring && !r)
		r = nl_wbuf_evict(ftl, io);
	return r;
}
