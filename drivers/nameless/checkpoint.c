// SPDX-License-Identifier: GPL-2.0-only
/*
 * What spares the next start the scan: where each logical page is, and the blocks, in free blocks
 * of their own. It says what a scan would find, so all FTLs have the same.
 *
 * A checkpoint holds as long as nothing changes after it; so the first change is to erase the
 * block of its page 0 (nl_media_change()), and one that is found complete is true. It is found by
 * the first pages of all blocks. One that can't be written, for want of room or of luck, is done
 * without.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "ftl_internal.h"

static u64 nl_ckpt_bytes(const struct nl_ftl *ftl)
{
	return sizeof(struct nl_checkpoint) +
	       (u64)ftl->geo->nr_blocks * sizeof(struct nl_ckpt_block) +
	       ((u64)ftl->logical_pages + ftl->trims.nr) * sizeof(__le32);
}

static u32 nl_ckpt_pages(const struct nl_ftl *ftl)
{
	return div_u64(nl_ckpt_bytes(ftl) + ftl->geo->page_bytes - 1, ftl->geo->page_bytes);
}

static struct nl_ckpt_block *nl_ckpt_blocks(void *image)
{
	return image + sizeof(struct nl_checkpoint);
}

static __le32 *nl_ckpt_map(const struct nl_ftl *ftl, void *image)
{
	return (void *)(nl_ckpt_blocks(image) + ftl->geo->nr_blocks);
}

static int nl_ckpt_fill(struct nl_ftl *ftl, void *image, u32 pages, u64 *when)
{
	struct nl_checkpoint *head = image;
	struct nl_ckpt_block *block = nl_ckpt_blocks(image);
	__le32 *map = nl_ckpt_map(ftl, image);
	u32 i;

	head->magic = cpu_to_le64(NL_CHECKPOINT_MAGIC);
	head->version = cpu_to_le32(NL_FORMAT_VERSION);
	head->nr_blocks = cpu_to_le32(ftl->geo->nr_blocks);
	head->logical_pages = cpu_to_le32(ftl->logical_pages);
	head->nr_trim = cpu_to_le32(ftl->trims.nr);
	head->seq = cpu_to_le64(ftl->seq);
	head->program = cpu_to_le64(ftl->program + pages);
	for (i = 0; i < ftl->geo->nr_blocks; i++) {
		block[i].newest = cpu_to_le64(ftl->blocks.bk[i].newest);
		block[i].next = cpu_to_le32(ftl->blocks.bk[i].fill);
		block[i].state = ftl->blocks.bk[i].use == NL_USE_HELD ? NL_USE_CLOSED :
									ftl->blocks.bk[i].use;
		block[i].flags = ftl->blocks.bk[i].flags;
	}
	for (i = 0; i < ftl->trims.nr; i++)
		map[ftl->logical_pages + i] = cpu_to_le32(ftl->trims.ppn[i]);
	if (ftl->ops->maps)
		return ftl->ops->maps(ftl, map, when);
	for (i = 0; i < ftl->logical_pages; i++)
		map[i] = cpu_to_le32(ftl->ops->lookup(ftl, i));
	return 0;
}

/* Page @n of the image into a block that is held. */
static int nl_ckpt_program(struct nl_ftl *ftl, const u8 *image, u32 n, u32 pages, u32 block,
			   u64 *when)
{
	struct nl_rec rec = { .type = NL_OOB_CHECKPOINT, .lpn = n, .seq = ftl->seq, .aux = pages };
	struct nl_buf *buf = nl_buf_alloc(ftl->geo->page_bytes, false);
	int r;

	if (!buf)
		return -ENOMEM;
	memcpy(nl_buf_data(buf), image + (size_t)n * ftl->geo->page_bytes, ftl->geo->page_bytes);
	rec.data_csum = nl_data_csum(ftl, buf);
	r = nl_media_program(ftl, nl_ppn(ftl->geo, block, ftl->blocks.bk[block].fill),
			     NL_FOR_META, when, buf, &rec);
	nl_buf_put(buf);
	return r;
}

/* The plane with most free blocks gives one, erased and held. -EIO if it went bad by that. */
static int nl_ckpt_take(struct nl_ftl *ftl, u32 *block, u64 *when)
{
	u32 plane, best = 0;

	for (plane = 1; plane < ftl->geo->nr_planes; plane++)
		if (ftl->blocks.nr_free_in[plane] > ftl->blocks.nr_free_in[best])
			best = plane;
	*block = nl_block_take(ftl, best);
	if (*block == NL_NONE)
		return -ENOMEM;
	return nl_media_ready(ftl, *block, NL_FOR_META, when);
}

/* Nothing in it counts by itself: it is as free as any block that is to be erased first. */
static void nl_ckpt_give(struct nl_ftl *ftl, u32 block)
{
	ftl->blocks.bk[block].flags |= NL_DIRTY;
	nl_block_free(ftl, block);
}

/* Taken blocks are free again, but for the one that makes the checkpoint count. */
static int nl_ckpt_end(struct nl_ftl *ftl, const u32 *block, u32 nr, int r)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (r == -EIO && i == nr - 1 && ftl->blocks.bk[block[i]].fill)
			return nl_media_retire(ftl, block[i]);
		if (block[i] == ftl->checkpoint)
			nl_block_close(ftl, block[i]);
		else
			nl_ckpt_give(ftl, block[i]);
	}
	return r == -EIO || r == -ENOMEM ? 0 : r;
}

static int nl_ckpt_write(struct nl_ftl *ftl, const u8 *image, u32 pages, u32 *block,
			 struct nl_io *io)
{
	u32 n, nr = 0;
	u64 when = io->now;
	int r = 0;

	ftl->seq++;
	for (n = 0; n < pages && !r; n++) {
		if (n % ftl->geo->pages == 0) {
			r = nl_ckpt_take(ftl, &block[nr], &when);
			if (r)
				return nl_ckpt_end(ftl, block, nr, r == -EIO ? -ENOMEM : r);
			nr++;
		}
		r = nl_ckpt_program(ftl, image, n, pages, block[nr - 1], &when);
	}
	nl_io_wait(io, when);
	if (!r)
		ftl->checkpoint = block[0];
	return nl_ckpt_end(ftl, block, nr, r);
}

/* The image is made before blocks are taken for it: they are free in it, as loading knows. */
int nl_checkpoint(struct nl_ftl *ftl, struct nl_io *io)
{
	u32 pages = nl_ckpt_pages(ftl), blocks = DIV_ROUND_UP(pages, ftl->geo->pages);
	struct nl_io write = { .now = io->now };
	void *image;
	u32 *block;
	int r = 0;

	if (ftl->blocks.nr_free < blocks + NL_FLOOR)
		return 0;
	image = kvcalloc(pages, ftl->geo->page_bytes, NL_GFP_IO);
	block = kvcalloc(blocks, sizeof(*block), NL_GFP_IO);
	if (image && block) {
		r = nl_ckpt_fill(ftl, image, pages, &write.now);
		if (!r)
			r = nl_ckpt_write(ftl, image, pages, block, &write);
		nl_io_wait(io, write.done);
	}
	kvfree(image);
	kvfree(block);
	return r == -EIO || r == -ENOMEM ? 0 : r;
}

/* What the first page of a block is. */
enum nl_first { NL_FIRST_BLANK, NL_FIRST_TORN, NL_FIRST_PAGE, NL_FIRST_CHECKPOINT };

struct nl_ckpt_first {
	u64 seq;
	u32 lpn;
};

/**
 * struct nl_ckpt_find - the first pages of all blocks
 * @seq: of the newest checkpoint's page 0
 * @pages: it has
 * @kind: per block: enum nl_first
 * @rec: per block, of a checkpoint's page
 */
struct nl_ckpt_find {
	u64 seq;
	u32 pages;
	u8 *kind;
	struct nl_ckpt_first *rec;
};

static int nl_find_first(struct nl_ftl *ftl, struct nl_ckpt_find *find, u32 block, struct nl_io *io)
{
	struct nl_rec rec;
	u64 when = io->now;
	int r = nl_flash_read(ftl->flash, nl_ppn(ftl->geo, block, 0), NL_FOR_RECOVERY, &when, NULL,
			      ftl->oob);

	nl_io_wait(io, when);
	find->kind[block] = r == -ENODATA ? NL_FIRST_BLANK : r ? NL_FIRST_TORN : NL_FIRST_PAGE;
	if (r)
		return r == -ESHUTDOWN ? r : 0;
	r = nl_oob_decode(ftl, ftl->oob, &rec);
	if (r || rec.type != NL_OOB_CHECKPOINT)
		return r;
	find->kind[block] = NL_FIRST_CHECKPOINT;
	find->rec[block].seq = rec.seq;
	find->rec[block].lpn = rec.lpn;
	if (!rec.lpn && rec.seq > find->seq) {
		find->seq = rec.seq;
		find->pages = rec.aux;
	}
	return 0;
}

/* 1 if the block's pages were read into @image, 0 if they are not all there. */
static int nl_find_read(struct nl_ftl *ftl, struct nl_ckpt_find *find, u32 block, u8 *image,
			u64 *when)
{
	u32 first = find->rec[block].lpn, page;
	struct nl_rec rec;
	struct nl_buf *buf;
	bool same;
	int r;

	for (page = 0; page < ftl->geo->pages && first + page < find->pages; page++) {
		r = nl_media_read(ftl, nl_ppn(ftl->geo, block, page), NL_FOR_RECOVERY, when, &buf,
				  &rec);
		if (r)
			return r == -EIO ? 0 : r;
		same = buf && rec.type == NL_OOB_CHECKPOINT && rec.seq == find->seq &&
		       rec.lpn == first + page && rec.aux == find->pages &&
		       rec.data_csum == nl_data_csum(ftl, buf);
		if (same)
			memcpy(image + (size_t)(first + page) * ftl->geo->page_bytes,
			       nl_buf_data(buf), ftl->geo->page_bytes);
		nl_buf_put(buf);
		if (!same)
			return 0;
	}
	return 1;
}

/* 1 if each block's worth was there once. @seen: a bit for each, none set. */
static int nl_find_parts(struct nl_ftl *ftl, struct nl_ckpt_find *find, u8 *image,
			 unsigned long *seen, struct nl_io *io)
{
	u32 i, part, read = 0, want = DIV_ROUND_UP(find->pages, ftl->geo->pages);
	u64 when;
	int r;

	for (i = 0; i < ftl->geo->nr_blocks; i++) {
		if (find->kind[i] != NL_FIRST_CHECKPOINT || find->rec[i].seq != find->seq ||
		    find->rec[i].lpn >= find->pages || find->rec[i].lpn % ftl->geo->pages)
			continue;
		part = find->rec[i].lpn / ftl->geo->pages;
		if (test_bit(part, seen))
			return 0;
		__set_bit(part, seen);
		when = io->now;
		r = nl_find_read(ftl, find, i, image, &when);
		nl_io_wait(io, when);
		if (r <= 0)
			return r;
		read++;
	}
	return read == want;
}

static int nl_find_all(struct nl_ftl *ftl, struct nl_ckpt_find *find, u8 *image, struct nl_io *io)
{
	unsigned long *seen = ftl->blocks.live;		/* nothing is, so far */
	int r = nl_find_parts(ftl, find, image, seen, io);

	memset(seen, 0, BITS_TO_LONGS(ftl->geo->nr_pages) * sizeof(long));
	return r;
}

/* Could a block be what the image says, seen by its first page? */
static bool nl_load_fits(const struct nl_ftl *ftl, const struct nl_ckpt_find *find, u32 i,
			 const struct nl_ckpt_block *block)
{
	bool ours = find->kind[i] == NL_FIRST_CHECKPOINT && find->rec[i].seq == find->seq;

	if (ftl->blocks.bk[i].use == NL_USE_BAD)
		return block->state == NL_USE_BAD;
	if (le32_to_cpu(block->next) > ftl->geo->pages)
		return false;
	if (block->flags & NL_RETIRED &&
	    (block->state == NL_USE_FREE || block->state == NL_USE_ACTIVE))
		return false;
	switch (block->state) {
	case NL_USE_FREE:
		return ours || find->kind[i] == NL_FIRST_BLANK || block->flags & NL_DIRTY;
	case NL_USE_ACTIVE:
		return !ours && le32_to_cpu(block->next) < ftl->geo->pages &&
		       !block->next == (find->kind[i] == NL_FIRST_BLANK);
	case NL_USE_CLOSED:
	case NL_USE_DATA:
	case NL_USE_LOG:
	case NL_USE_META:
		return !ours;
	default:
		return false;
	}
}

/* Are all pages that are mapped programmed, each for one? @seen: a bit per page, none set. */
static bool nl_load_maps(const struct nl_ftl *ftl, void *image, unsigned long *seen)
{
	const struct nl_ckpt_block *block;
	u32 i, ppn;

	for (i = 0; i < ftl->logical_pages + ftl->trims.nr; i++) {
		ppn = le32_to_cpu(nl_ckpt_map(ftl, image)[i]);
		if (ppn == NL_UNMAPPED)
			continue;
		if (ppn >= ftl->geo->nr_pages || test_bit(ppn, seen))
			return false;
		block = &nl_ckpt_blocks(image)[nl_block_of(ftl->geo, ppn)];
		if (block->state == NL_USE_FREE || block->state == NL_USE_BAD ||
		    nl_page_of(ftl->geo, ppn) >= le32_to_cpu(block->next))
			return false;
		__set_bit(ppn, seen);
	}
	return true;
}

static bool nl_load_is_sane(const struct nl_ftl *ftl, const struct nl_ckpt_find *find, void *image)
{
	const struct nl_checkpoint *head = image;
	unsigned long *seen = ftl->blocks.live;		/* nothing is, so far */
	bool sane;
	u32 i;

	if (head->magic != cpu_to_le64(NL_CHECKPOINT_MAGIC) ||
	    head->version != cpu_to_le32(NL_FORMAT_VERSION) ||
	    head->nr_blocks != cpu_to_le32(ftl->geo->nr_blocks) ||
	    head->logical_pages != cpu_to_le32(ftl->logical_pages) ||
	    head->nr_trim != cpu_to_le32(ftl->trims.nr))
		return false;
	for (i = 0; i < ftl->geo->nr_blocks; i++)
		if (!nl_load_fits(ftl, find, i, &nl_ckpt_blocks(image)[i]))
			return false;
	sane = nl_load_maps(ftl, image, seen);
	memset(seen, 0, BITS_TO_LONGS(ftl->geo->nr_pages) * sizeof(long));
	return sane;
}

static void nl_load_block(struct nl_ftl *ftl, const struct nl_ckpt_find *find, u32 i,
			  const struct nl_ckpt_block *block)
{
	struct nl_bk *bk = &ftl->blocks.bk[i];

	if (bk->use == NL_USE_BAD)
		return;
	bk->newest = le64_to_cpu(block->newest);
	bk->fill = le32_to_cpu(block->next);
	bk->flags = block->flags & NL_DIRTY;
	bk->prev = NL_NONE;
	bk->next = block->state;
	if (block->flags & NL_RETIRED)
		nl_media_retired(ftl, i);
	if (block->state != NL_USE_FREE)
		return;
	if (find->kind[i] != NL_FIRST_CHECKPOINT || find->rec[i].seq != find->seq) {
		nl_block_free(ftl, i);
	} else if (find->rec[i].lpn) {
		nl_ckpt_give(ftl, i);
	} else {
		bk->fill = ftl->geo->pages;
		bk->flags = 0;
		nl_block_close(ftl, i);
		ftl->checkpoint = i;
	}
}

static void nl_load_apply(struct nl_ftl *ftl, u32 *map, const struct nl_ckpt_find *find,
			  void *image)
{
	const struct nl_checkpoint *head = image;
	const __le32 *from = nl_ckpt_map(ftl, image);
	u32 i;

	ftl->seq = max(le64_to_cpu(head->seq), find->seq);
	ftl->program = le64_to_cpu(head->program);
	for (i = 0; i < ftl->logical_pages; i++)
		map[i] = le32_to_cpu(from[i]);
	for (i = 0; i < ftl->trims.nr; i++)
		ftl->trims.ppn[i] = le32_to_cpu(from[ftl->logical_pages + i]);
	for (i = 0; i < ftl->geo->nr_blocks; i++)
		nl_load_block(ftl, find, i, &nl_ckpt_blocks(image)[i]);
}

static int nl_load_find(struct nl_ftl *ftl, u32 *map, struct nl_ckpt_find *find, struct nl_io *io)
{
	void *image;
	u32 i;
	int r = 0;

	for (i = 0; i < ftl->geo->nr_blocks && !r; i++)
		if (ftl->blocks.bk[i].use != NL_USE_BAD)
			r = nl_find_first(ftl, find, i, io);
	if (r || find->pages != nl_ckpt_pages(ftl))
		return r;
	image = kvcalloc(find->pages, ftl->geo->page_bytes, NL_GFP_IO);
	if (!image)
		return -ENOMEM;
	r = nl_find_all(ftl, find, image, io);
	if (r > 0)
		r = nl_load_is_sane(ftl, find, image);
	if (r > 0)
		nl_load_apply(ftl, map, find, image);
	kvfree(image);
	return r;
}

int nl_checkpoint_load(struct nl_ftl *ftl, u32 *map, struct nl_io *io)
{
	struct nl_ckpt_find find = { .seq = 0 };
	int r = -ENOMEM;

	find.kind = kvcalloc(ftl->geo->nr_blocks, sizeof(*find.kind), NL_GFP_IO);
	find.rec = kvcalloc(ftl->geo->nr_blocks, sizeof(*find.rec), NL_GFP_IO);
	if (find.kind && find.rec)
		r = nl_load_find(ftl, map, &find, io);
	kvfree(find.kind);
	kvfree(find.rec);
	return r;
}
