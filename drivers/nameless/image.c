// SPDX-License-Identifier: GPL-2.0-only
/* The flash to and from a file: all that survives a power cut, and nothing else. */
#include <linux/crc32c.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <evenkeel/nameless_format.h>
#include "battery.h"
#include "buf.h"
#include "flash_internal.h"

static void nl_image_fill(const struct nl_flash *flash, struct nl_image_header *head, u32 version,
			  u64 incompat)
{
	memset(head, 0, sizeof(*head));
	head->magic = cpu_to_le64(NL_IMAGE_MAGIC);
	head->version = cpu_to_le32(version);
	head->nr_planes = cpu_to_le32(flash->geo.nr_planes);
	head->blocks = cpu_to_le32(flash->geo.blocks);
	head->pages = cpu_to_le32(flash->geo.pages);
	head->page_bytes = cpu_to_le32(flash->geo.page_bytes);
	head->oob_bytes = cpu_to_le32(flash->geo.oob_bytes);
	head->endurance = cpu_to_le32(flash->endurance);
	head->incompat = cpu_to_le64(incompat);
	head->csum = cpu_to_le32(~crc32c(~0, head, sizeof(*head)));
}

static u8 nl_image_kind(const struct nl_buf *data)
{
	if (data == NL_PAGE_ERROR)
		return NL_IMAGE_ERROR;
	if (data == NL_PAGE_BLANK)
		return NL_IMAGE_BLANK;
	return data ? NL_IMAGE_BYTES : NL_IMAGE_ZEROS;
}

/* Has the block OOB to be kept?  A torn erase left none. */
static size_t nl_image_oob(const struct nl_flash *flash, const struct nl_block *block)
{
	return block->oob ? (size_t)block->next * flash->geo.oob_bytes : 0;
}

static u32 nl_image_sum(struct nl_image_block *head, const u8 *oob, size_t len, const u8 *kinds,
			u32 nr)
{
	u32 sum;

	head->csum = 0;
	sum = crc32c(~0, head, sizeof(*head));
	sum = crc32c(sum, oob, len);
	return ~crc32c(sum, kinds, nr);
}

/* Of all data of a block, in order. */
static u32 nl_image_data_sum(const struct nl_flash *flash, struct nl_buf **data, const u8 *kinds,
			     u32 nr)
{
	u32 sum = ~0, i;

	for (i = 0; i < nr; i++)
		if (kinds[i] == NL_IMAGE_BYTES)
			sum = crc32c(sum, nl_buf_data(data[i]), flash->geo.page_bytes);
	return ~sum;
}

static int nl_image_put_block(struct nl_flash *flash, u32 number, u8 *kinds, nl_image_put put,
			      void *ctx)
{
	const struct nl_block *block = &flash->block[number];
	struct nl_buf **data = &flash->data[nl_ppn(&flash->geo, number, 0)];
	struct nl_image_block head = {
		.erases = cpu_to_le32(block->erases), .next = cpu_to_le32(block->next),
		.state = block->state, .has_oob = !!block->oob,
	};
	size_t len = nl_image_oob(flash, block);
	u32 i;
	int r;

	for (i = 0; i < block->next; i++)
		kinds[i] = nl_image_kind(data[i]);
	head.data_csum = cpu_to_le32(nl_image_data_sum(flash, data, kinds, block->next));
	head.csum = cpu_to_le32(nl_image_sum(&head, block->oob, len, kinds, block->next));
	r = put(ctx, &head, sizeof(head));
	if (!r && len)
		r = put(ctx, block->oob, len);
	if (!r && block->next)
		r = put(ctx, kinds, block->next);
	for (i = 0; i < block->next && !r; i++)
		if (kinds[i] == NL_IMAGE_BYTES)
			r = put(ctx, nl_buf_data(data[i]), flash->geo.page_bytes);
	return r;
}

int nl_flash_save(struct nl_flash *flash, nl_image_put put, void *ctx)
{
	u8 *kinds = kvmalloc(flash->geo.pages, GFP_KERNEL);
	struct nl_image_header head;
	u32 i;
	int r;

	if (!kinds)
		return -ENOMEM;
	nl_image_fill(flash, &head, NL_IMAGE_VERSION, flash->battery ? NL_IMAGE_BATTERY : 0);
	r = put(ctx, &head, sizeof(head));
	for (i = 0; i < flash->geo.nr_blocks && !r; i++)
		r = nl_image_put_block(flash, i, kinds, put, ctx);
	if (!r && flash->battery)
		r = nl_battery_save(flash, put, ctx);
	kvfree(kinds);
	return r;
}

/**
 * struct nl_image_in - an image that is loaded
 * @get: its bytes in order
 * @ctx: passed to @get
 * @data_sums: its version has them
 * @head: of the block that is being loaded
 */
struct nl_image_in {
	nl_image_get get;
	void *ctx;
	bool data_sums;
	struct nl_image_block head;
};

static int nl_image_get_page(struct nl_flash *flash, u32 ppn, u8 kind, nl_image_get get, void *ctx)
{
	switch (kind) {
	case NL_IMAGE_ERROR:
		flash->data[ppn] = NL_PAGE_ERROR;
		return 0;
	case NL_IMAGE_BLANK:
		flash->data[ppn] = NL_PAGE_BLANK;
		return 0;
	case NL_IMAGE_ZEROS:
		return 0;
	case NL_IMAGE_BYTES:
		flash->data[ppn] = nl_buf_alloc_user(flash->geo.page_bytes, false);
		if (!flash->data[ppn])
			return -ENOMEM;
		flash->stored++;
		return get(ctx, nl_buf_data(flash->data[ppn]), flash->geo.page_bytes);
	default:
		return -EINVAL;
	}
}

/* Take in what a block's head says, if it can be. */
static int nl_image_get_head(struct nl_flash *flash, struct nl_block *block,
			     struct nl_image_block *head, nl_image_get get, void *ctx)
{
	int r = get(ctx, head, sizeof(*head));

	if (r)
		return r;
	if (le32_to_cpu(head->next) > flash->geo.pages || head->state > NL_BLOCK_BAD)
		return -EINVAL;
	if (!head->has_oob || !head->next)
		return 0;
	/* Whole and zeroed: a program that is torn writes none of its page's, and that is saved. */
	block->oob = kvzalloc((size_t)flash->geo.pages * flash->geo.oob_bytes, NL_GFP_IO);
	if (!block->oob)
		return -ENOMEM;
	return get(ctx, block->oob, (size_t)le32_to_cpu(head->next) * flash->geo.oob_bytes);
}

/* A page that can be read has OOB. */
static bool nl_image_kinds_fit(const struct nl_block *block, const u8 *kinds, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (kinds[i] > NL_IMAGE_BLANK || (kinds[i] <= NL_IMAGE_BYTES && !block->oob))
			return false;
	return true;
}

static int nl_image_get_data(struct nl_flash *flash, u32 number, const u8 *kinds,
			     const struct nl_image_in *in)
{
	u32 first = nl_ppn(&flash->geo, number, 0), next = le32_to_cpu(in->head.next);
	struct nl_block *block = &flash->block[number];
	int r = 0;

	for (; block->next < next && !r; block->next++)
		r = nl_image_get_page(flash, first + block->next, kinds[block->next], in->get,
				      in->ctx);
	if (!r && in->data_sums &&
	    le32_to_cpu(in->head.data_csum) != nl_image_data_sum(flash, &flash->data[first], kinds,
								 next))
		r = -EINVAL;
	return r;
}

static int nl_image_get_block(struct nl_flash *flash, u32 number, u8 *kinds,
			      struct nl_image_in *in)
{
	struct nl_block *block = &flash->block[number];
	size_t oob_len;
	u32 next, csum;
	int r = nl_image_get_head(flash, block, &in->head, in->get, in->ctx);

	if (r)
		return r;
	next = le32_to_cpu(in->head.next);
	csum = le32_to_cpu(in->head.csum);
	r = next ? in->get(in->ctx, kinds, next) : 0;
	if (r)
		return r;
	oob_len = block->oob ? (size_t)next * flash->geo.oob_bytes : 0;
	if (csum != nl_image_sum(&in->head, block->oob, oob_len, kinds, next) ||
	    !nl_image_kinds_fit(block, kinds, next))
		return -EINVAL;
	block->erases = le32_to_cpu(in->head.erases);
	block->state = in->head.state;
	return nl_image_get_data(flash, number, kinds, in);
}

static int nl_image_check(const struct nl_flash *flash, const struct nl_image_header *head)
{
	struct nl_image_header copy = *head;
	u32 version = le32_to_cpu(head->version);

	copy.csum = 0;
	if (head->magic != cpu_to_le64(NL_IMAGE_MAGIC) ||
	    le32_to_cpu(head->csum) != (u32)~crc32c(~0, &copy, sizeof(copy)))
		return -EINVAL;
	if (!version || version > NL_IMAGE_VERSION ||
	    le64_to_cpu(head->incompat) & ~NL_IMAGE_BATTERY)
		return -EOPNOTSUPP;
	nl_image_fill(flash, &copy, version, le64_to_cpu(head->incompat));
	return memcmp(head, &copy, sizeof(copy)) ? -ERANGE : 0;
}

int nl_flash_load(struct nl_flash *flash, nl_image_get get, void *ctx)
{
	struct nl_image_in in = { .get = get, .ctx = ctx };
	struct nl_image_header head;
	u8 *kinds;
	u32 i;
	int r;

	r = get(ctx, &head, sizeof(head));
	if (!r)
		r = nl_image_check(flash, &head);
	if (r)
		return r;
	in.data_sums = le32_to_cpu(head.version) > 1;
	kinds = kvmalloc(flash->geo.pages, GFP_KERNEL);
	if (!kinds)
		return -ENOMEM;
	for (i = 0; i < flash->geo.nr_blocks && !r; i++)
		r = nl_image_get_block(flash, i, kinds, &in);
	if (!r && le64_to_cpu(head.incompat) & NL_IMAGE_BATTERY)
		r = nl_battery_load(flash, get, ctx);
	kvfree(kinds);
	return r;
}
