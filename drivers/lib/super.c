// SPDX-License-Identifier: GPL-2.0-only
/*
 * Superblocks: where things are, whether one may be believed, a pool's first one.
 */
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <evenkeel/label.h>
#include "store_internal.h"

#define EK_SECTOR_BYTES	BIT(EK_SECTOR_SHIFT)

u32 ek_table_checksum(const u8 *table, u64 bytes)
{
	return ~crc32c(~0, table, bytes);
}

static u64 ek_table_size(u64 nr_pages)
{
	return round_up((nr_pages + 3) / 4, EK_BLOCK_SIZE);
}

static u64 ek_pages_size(u64 nr_pages)
{
	return 2 * ek_table_size(nr_pages) + nr_pages * 2 * EK_BLOCK_SIZE;
}

static u64 ek_pages_needed(u64 nr_extents, u32 nr_members, const u32 *member_extents)
{
	u64 pages = (nr_extents + EK_PAGE_ENTRIES - 1) / EK_PAGE_ENTRIES;
	u32 i;

	for (i = 0; i < nr_members; i++)
		pages += ek_space_pages(member_extents[i]);
	return pages;
}

/**
 * ek_store_area_bytes - size of a metadata area
 * @nr_extents: logical extents
 * @nr_members: members
 * @member_extents: physical extents of each
 *
 * Context: any.
 * Return: bytes, with a journal of full length.
 */
u64 ek_store_area_bytes(u64 nr_extents, u32 nr_members, const u32 *member_extents)
{
	u64 pages = ek_pages_needed(nr_extents, nr_members, member_extents);

	return EK_TABLES_OFFSET + ek_pages_size(pages) +
	       (u64)EK_JOURNAL_DEFAULT * EK_BLOCK_SIZE + EK_AREA_TAIL_BYTES;
}
EXPORT_SYMBOL_GPL(ek_store_area_bytes);

/* Three quarters of what the pages needed leave go to the journal, the rest to more pages. */
static int ek_geometry_make(struct ek_geometry *geo, u64 nr_extents, u64 needed, u64 area_bytes)
{
	u64 fixed = EK_TABLES_OFFSET + EK_AREA_TAIL_BYTES, room, spare;

	area_bytes = round_down(area_bytes, EK_BLOCK_SIZE);
	if (needed > EK_PAGES_MAX || area_bytes < fixed + ek_pages_size(needed))
		return -ENOSPC;
	room = area_bytes - fixed;
	spare = (room - ek_pages_size(needed)) / EK_BLOCK_SIZE;
	if (spare < EK_JOURNAL_MIN)
		return -ENOSPC;
	geo->journal_blocks = clamp_t(u64, spare - spare / 4, EK_JOURNAL_MIN, EK_JOURNAL_DEFAULT);
	room -= geo->journal_blocks * EK_BLOCK_SIZE;

	geo->nr_extents = nr_extents;
	geo->nr_pages = min_t(u64, room / (2 * EK_BLOCK_SIZE), EK_PAGES_MAX);
	while (ek_pages_size(geo->nr_pages) > room)
		geo->nr_pages -= max_t(u64, 1, (ek_pages_size(geo->nr_pages) - room) /
					       (3 * EK_BLOCK_SIZE));
	geo->table_bytes = ek_table_size(geo->nr_pages);
	geo->table_offset[0] = EK_TABLES_OFFSET;
	geo->table_offset[1] = EK_TABLES_OFFSET + geo->table_bytes;
	geo->journal_offset = EK_TABLES_OFFSET + 2 * geo->table_bytes;
	geo->pages_offset = geo->journal_offset + geo->journal_blocks * EK_BLOCK_SIZE;
	return 0;
}

/*
 * What those who don't know the state of some member would take for damage, or who would believe an
 * area that was replaced.
 */
u64 ek_super_incompat(const struct ek_super *sb)
{
	u64 incompat = memchr_inv(sb->meta_uuid, 0, sizeof(sb->meta_uuid)) ?
			EK_INCOMPAT_META_UUID : 0;
	u32 i;

	for (i = 0; i < le32_to_cpu(sb->nr_members); i++)
		if (le32_to_cpu(sb->member[i].state) >= EK_MEMBER_DRAINING)
			incompat |= EK_INCOMPAT_LEAVING;
	return incompat;
}

static void ek_super_fill(struct ek_super *sb, const struct ek_store_params *p,
			  const struct ek_geometry *geo)
{
	u64 page = geo->nr_pages - 1;
	u32 i;

	sb->magic = cpu_to_le64(EK_SUPER_MAGIC);
	sb->version = cpu_to_le32(EK_FORMAT_VERSION);
	memcpy(sb->pool_uuid, p->pool_uuid, EK_UUID_SIZE);
	sb->generation = cpu_to_le64(p->generation ?: 1);
	sb->journal_generation = sb->generation;
	sb->flags = cpu_to_le32(EK_SUPER_CLEAN);
	sb->extent_sectors = cpu_to_le32(p->extent_sectors);
	sb->nr_members = cpu_to_le32(p->nr_members);
	sb->nr_meta = cpu_to_le32(p->nr_meta);
	sb->nr_extents = cpu_to_le64(geo->nr_extents);
	sb->nr_pages = cpu_to_le64(geo->nr_pages);
	sb->super_offset[0] = cpu_to_le64(EK_SUPER0_OFFSET);
	sb->super_offset[1] = cpu_to_le64(EK_SUPER1_OFFSET);
	sb->table_offset[0] = cpu_to_le64(geo->table_offset[0]);
	sb->table_offset[1] = cpu_to_le64(geo->table_offset[1]);
	sb->table_bytes = cpu_to_le64(geo->table_bytes);
	sb->journal_offset = cpu_to_le64(geo->journal_offset);
	sb->journal_blocks = cpu_to_le64(geo->journal_blocks);
	sb->pages_offset = cpu_to_le64(geo->pages_offset);
	for (i = 0; i < p->nr_members; i++) {
		struct ek_super_member *m = &sb->member[i];
		u32 pages = ek_space_pages(p->member_extents[i]);

		memcpy(m->uuid, p->member_uuid[i], EK_UUID_SIZE);
		m->nr_extents = cpu_to_le32(p->member_extents[i]);
		m->bitmap_page = cpu_to_le64(page);
		m->bitmap_pages = cpu_to_le32(pages);
		page -= pages;
	}
	strscpy(sb->policy, p->policy, sizeof(sb->policy));
	memcpy(sb->meta_uuid, p->meta_uuid, sizeof(sb->meta_uuid));
	sb->incompat = cpu_to_le64(ek_super_incompat(sb));
}

static bool ek_params_valid(const struct ek_store_params *p)
{
	u32 i;

	if (!p->nr_extents || p->nr_extents > (u64)EK_PAGES_MAX * EK_PAGE_ENTRIES ||
	    p->nr_members < 1 || p->nr_members > EK_MAX_MEMBERS ||
	    p->nr_meta < 1 || p->nr_meta > EK_MAX_META ||
	    p->extent_sectors < EK_MIN_EXTENT_SECTORS ||
	    p->extent_sectors > EK_MAX_EXTENT_SECTORS || !is_power_of_2(p->extent_sectors) ||
	    p->generation > EK_GENERATION_LATEST || strlen(p->policy) >= EK_POLICY_TEXT_SIZE)
		return false;
	for (i = 0; i < p->nr_members; i++)
		if (!p->member_extents[i] || p->member_extents[i] > EK_MAX_MEMBER_EXTENTS)
			return false;
	return true;
}

/* One write to every area at a time: format is the only one that has no store yet. */
static int ek_format_write(const struct ek_store_io *io, void *ctx, u32 nr_meta, u64 offset,
			   const void *buf, size_t len, unsigned int flags)
{
	u32 area;
	int r, err = 0;

	for (area = 0; area < nr_meta; area++) {
		r = io->write(ctx, area, offset, buf, len, flags);
		if (!err)
			err = r;
	}
	for (area = 0; area < nr_meta; area++) {
		r = io->wait(ctx, area);
		if (!err)
			err = r;
	}
	return err;
}

static int ek_format_flush(const struct ek_store_io *io, void *ctx, u32 nr_meta)
{
	u32 area;
	int r = 0;

	for (area = 0; area < nr_meta && !r; area++)
		r = io->flush(ctx, area);
	return r;
}

static int ek_format_zero(const struct ek_store_io *io, void *ctx, u32 nr_meta, u64 offset,
			  u64 len, const void *zeroes, size_t chunk)
{
	int r = 0;

	while (len && !r) {
		size_t n = min_t(u64, len, chunk);

		r = ek_format_write(io, ctx, nr_meta, offset, zeroes, n, 0);
		offset += n;
		len -= n;
	}
	return r;
}

/*
 * The superblock's first sector is zero on the media until all its others are
 * durable, so that not even a torn write leaves half a pool.
 */
static int ek_format_super(const struct ek_store_io *io, void *ctx, u32 nr_meta,
			   struct ek_super *sb)
{
	u64 offset = ek_generation_slot(le64_to_cpu(sb->generation)) ? EK_SUPER1_OFFSET :
								       EK_SUPER0_OFFSET;
	u8 head[EK_SECTOR_BYTES];
	int r;

	memcpy(head, sb, sizeof(head));
	memset(sb, 0, sizeof(head));
	r = ek_format_write(io, ctx, nr_meta, offset, sb, sizeof(*sb), 0);
	if (!r)
		r = ek_format_flush(io, ctx, nr_meta);
	if (r)
		return r;
	memcpy(sb, head, sizeof(head));
	return ek_format_write(io, ctx, nr_meta, offset, sb, sizeof(*sb),
			       EK_IO_PREFLUSH | EK_IO_FUA);
}

/* One of the superblocks that there may be. */
struct ek_head {
	u32 area;
	u64 offset;
	u64 rank;	/* the highest is the last to go; 0: none, or torn */
};

/*
 * One of another version is not to be outlived by what this one would believe.  Nor is one that
 * can't be read: until it is overwritten its area is refused, and were it gone first, an older one
 * beside it would count.
 */
static u64 ek_super_rank(const struct ek_super *sb)
{
	if (sb->magic != cpu_to_le64(EK_SUPER_MAGIC) ||
	    le32_to_cpu(sb->csum) != ek_checksum(sb, sizeof(*sb), &sb->csum))
		return 0;
	if (sb->version != cpu_to_le32(EK_FORMAT_VERSION))
		return U64_MAX;
	return le64_to_cpu(sb->generation);
}

static unsigned int ek_heads_find(const struct ek_store_io *io, void *ctx, u32 nr_meta,
				  struct ek_super *sb, struct ek_head *head)
{
	static const u64 offset[] = { EK_SUPER0_OFFSET, EK_SUPER1_OFFSET };
	unsigned int area, slot, nr = 0;

	for (area = 0; area < nr_meta; area++)
		for (slot = 0; slot < 2; slot++, nr++) {
			head[nr].area = area;
			head[nr].offset = offset[slot];
			head[nr].rank = io->read(ctx, area, offset[slot], sb, sizeof(*sb)) ?
						U64_MAX : ek_super_rank(sb);
		}
	return nr;
}

/* Its other sectors stay as they are: however the write is torn, it is whole or has no head. */
static int ek_head_zero(const struct ek_store_io *io, void *ctx, const struct ek_head *head,
			struct ek_super *sb)
{
	int r, err;

	if (io->read(ctx, head->area, head->offset, sb, sizeof(*sb)))
		memset(sb, 0, sizeof(*sb));
	memset(sb, 0, EK_SECTOR_BYTES);
	r = io->write(ctx, head->area, head->offset, sb, sizeof(*sb), EK_IO_PREFLUSH | EK_IO_FUA);
	err = io->wait(ctx, head->area);
	return r ? r : err;
}

/*
 * One at a time, the newest last: were it gone before an older one, a cut would leave that one, and
 * with it a map of some time ago.  So it is with an area that was left out: the one that went on
 * without it is the newer of the two.
 */
static int ek_heads_zero(const struct ek_store_io *io, void *ctx, u32 nr_meta, struct ek_super *sb)
{
	struct ek_head head[2 * EK_MAX_META];
	unsigned int i, first, nr = ek_heads_find(io, ctx, nr_meta, sb, head);
	int r = 0;

	for (; nr && !r; nr--) {
		for (i = 1, first = 0; i < nr; i++)
			if (head[i].rank < head[first].rank)
				first = i;
		r = ek_head_zero(io, ctx, &head[first], sb);
		head[first] = head[nr - 1];
	}
	return r;
}

/**
 * ek_store_forget - make what was in metadata areas no pool
 * @io: I/O
 * @ctx: for @io
 * @nr_meta: areas, each of EK_TABLES_OFFSET at least
 *
 * Durable when it returns: ek_store_open() says -ENODATA.  Cut anywhere it leaves that, or the pool
 * as it was last, be it of one of two areas, unless an area had lost what it called durable.
 *
 * Context: sleeps.
 * Return: 0; -ENOMEM; an I/O error.
 */
int ek_store_forget(const struct ek_store_io *io, void *ctx, u32 nr_meta)
{
	u64 len = EK_TABLES_OFFSET - EK_SUPER0_OFFSET;
	void *zeroes = kvzalloc(len, GFP_KERNEL);
	struct ek_super *sb = kmalloc(sizeof(*sb), GFP_KERNEL);
	int r = -ENOMEM;

	if (!zeroes || !sb)
		goto out;
	/* What is read next may be in a cache alone, with something older below. */
	r = ek_format_flush(io, ctx, nr_meta);
	if (!r)
		r = ek_heads_zero(io, ctx, nr_meta, sb);
	if (!r)
		r = ek_format_zero(io, ctx, nr_meta, EK_SUPER0_OFFSET, len, zeroes, len);
	if (!r)
		r = ek_format_flush(io, ctx, nr_meta);
out:
	kfree(sb);
	kvfree(zeroes);
	return r;
}
EXPORT_SYMBOL_GPL(ek_store_forget);

/**
 * ek_store_format - write an empty pool
 * @io: I/O
 * @ctx: for @io
 * @p: what it is to be
 *
 * Both superblock slots, the page table and the whole journal are zeroed first, so
 * nothing of a pool that was there before can count.  A crash leaves that pool as it was
 * last, what ek_store_open() calls -ENODATA, or an empty pool.
 *
 * Context: sleeps.
 * Return: 0; -EINVAL; -ENOSPC when an area is too small; -ENOMEM; an I/O error.
 */
int ek_store_format(const struct ek_store_io *io, void *ctx, const struct ek_store_params *p)
{
	struct ek_geometry geo;
	struct ek_super *sb;
	u64 bytes, zeroes_len;
	void *zeroes;
	int r;

	if (!ek_params_valid(p))
		return -EINVAL;
	bytes = p->area_bytes[0];
	if (p->nr_meta > 1)
		bytes = min(bytes, p->area_bytes[1]);
	r = ek_geometry_make(&geo, p->nr_extents,
			     ek_pages_needed(p->nr_extents, p->nr_members, p->member_extents),
			     bytes);
	if (r)
		return r;

	zeroes_len = min_t(u64, EK_READ_CHUNK, geo.pages_offset - EK_TABLES_OFFSET);
	zeroes = kvzalloc(zeroes_len, GFP_KERNEL);
	sb = kzalloc(sizeof(*sb), GFP_KERNEL);
	r = -ENOMEM;
	if (!zeroes || !sb)
		goto out;
	/* The superblocks go first and alone: without them nothing else counts. */
	r = ek_store_forget(io, ctx, p->nr_meta);
	if (!r)
		r = ek_format_zero(io, ctx, p->nr_meta, EK_TABLES_OFFSET,
				   geo.pages_offset - EK_TABLES_OFFSET, zeroes, zeroes_len);
	if (r)
		goto out;

	ek_super_fill(sb, p, &geo);
	r = -ENOMEM;
	kvfree(zeroes);
	zeroes = kvzalloc(geo.table_bytes, GFP_KERNEL);
	if (!zeroes)
		goto out;
	sb->table_csum = cpu_to_le32(ek_table_checksum(zeroes, geo.table_bytes));
	sb->csum = cpu_to_le32(ek_checksum(sb, sizeof(*sb), &sb->csum));
	r = ek_format_super(io, ctx, p->nr_meta, sb);
out:
	kvfree(zeroes);
	kfree(sb);
	return r;
}
EXPORT_SYMBOL_GPL(ek_store_format);

/* From a superblock that ek_super_check() passed. */
void ek_super_geometry(const struct ek_super *sb, struct ek_geometry *geo)
{
	geo->nr_extents = le64_to_cpu(sb->nr_extents);
	geo->nr_pages = le64_to_cpu(sb->nr_pages);
	geo->table_bytes = le64_to_cpu(sb->table_bytes);
	geo->table_offset[0] = le64_to_cpu(sb->table_offset[0]);
	geo->table_offset[1] = le64_to_cpu(sb->table_offset[1]);
	geo->journal_offset = le64_to_cpu(sb->journal_offset);
	geo->journal_blocks = le64_to_cpu(sb->journal_blocks);
	geo->pages_offset = le64_to_cpu(sb->pages_offset);
}

/**
 * ek_super_area_bytes - the size that another area must have to be a mirror
 * @sb: sound
 *
 * Context: any.
 * Return: bytes.
 */
u64 ek_super_area_bytes(const struct ek_super *sb)
{
	return le64_to_cpu(sb->pages_offset) + le64_to_cpu(sb->nr_pages) * 2 * EK_BLOCK_SIZE +
	       EK_AREA_TAIL_BYTES;
}
EXPORT_SYMBOL_GPL(ek_super_area_bytes);

/* [@offset, @offset + @len) is aligned, begins at or after *@end and ends before @limit. */
static bool ek_follows(u64 *end, u64 offset, u64 len, u64 limit)
{
	if (offset % EK_BLOCK_SIZE || offset < *end || offset > limit || len > limit - offset)
		return false;
	*end = offset + len;
	return true;
}

static bool ek_layout_valid(const struct ek_super *sb, u64 area_bytes)
{
	struct ek_geometry geo;
	u64 limit, end = EK_TABLES_OFFSET;

	ek_super_geometry(sb, &geo);
	if (le64_to_cpu(sb->super_offset[0]) != EK_SUPER0_OFFSET ||
	    le64_to_cpu(sb->super_offset[1]) != EK_SUPER1_OFFSET ||
	    area_bytes < EK_TABLES_OFFSET + EK_AREA_TAIL_BYTES)
		return false;
	limit = round_down(area_bytes, EK_BLOCK_SIZE) - EK_AREA_TAIL_BYTES;
	if (!geo.nr_pages || geo.nr_pages > EK_PAGES_MAX ||
	    geo.table_bytes != ek_table_size(geo.nr_pages) ||
	    geo.journal_blocks < 1 || geo.journal_blocks > EK_JOURNAL_MAX)
		return false;
	return ek_follows(&end, geo.table_offset[0], geo.table_bytes, limit) &&
	       ek_follows(&end, geo.table_offset[1], geo.table_bytes, limit) &&
	       ek_follows(&end, geo.journal_offset, geo.journal_blocks * EK_BLOCK_SIZE, limit) &&
	       ek_follows(&end, geo.pages_offset, geo.nr_pages * 2 * EK_BLOCK_SIZE, limit);
}

/* Bitmap pages of a member lie above the map's, inside the area, apart from the others'. */
static bool ek_member_valid(const struct ek_super *sb, u32 i)
{
	const struct ek_super_member *m = &sb->member[i];
	u64 map_pages = (le64_to_cpu(sb->nr_extents) + EK_PAGE_ENTRIES - 1) / EK_PAGE_ENTRIES;
	u64 last = le64_to_cpu(m->bitmap_page), pages = le32_to_cpu(m->bitmap_pages);
	u32 j, nr = le32_to_cpu(m->nr_extents);

	if (!nr || nr > EK_MAX_MEMBER_EXTENTS || pages != ek_space_pages(nr) ||
	    le32_to_cpu(m->state) > EK_MEMBER_REMOVED ||
	    last >= le64_to_cpu(sb->nr_pages) || last + 1 < map_pages + pages)
		return false;
	for (j = 0; j < i; j++) {
		u64 other = le64_to_cpu(sb->member[j].bitmap_page);

		if (last + le32_to_cpu(sb->member[j].bitmap_pages) > other &&
		    other + pages > last)
			return false;
	}
	return true;
}

static bool ek_fields_valid(const struct ek_super *sb, unsigned int slot)
{
	u64 generation = le64_to_cpu(sb->generation);
	u32 extent = le32_to_cpu(sb->extent_sectors), nr_meta = le32_to_cpu(sb->nr_meta);
	u32 stale = le32_to_cpu(sb->meta_stale);

	if (!generation || generation > EK_GENERATION_LATEST ||
	    ek_generation_slot(generation) != slot ||
	    !sb->journal_generation || le64_to_cpu(sb->journal_generation) > generation)
		return false;
	if (le32_to_cpu(sb->flags) & ~(EK_SUPER_CLEAN | EK_SUPER_NEEDS_CHECK))
		return false;
	if (nr_meta < 1 || nr_meta > EK_MAX_META || stale >= (1u << nr_meta) - 1)
		return false;
	return extent >= EK_MIN_EXTENT_SECTORS && extent <= EK_MAX_EXTENT_SECTORS &&
	       is_power_of_2(extent) && sb->nr_extents &&
	       le64_to_cpu(sb->nr_extents) <= (u64)EK_PAGES_MAX * EK_PAGE_ENTRIES &&
	       strnlen(sb->policy, EK_POLICY_TEXT_SIZE) < EK_POLICY_TEXT_SIZE;
}

/* The superblock's parts that a change of shape could break. */
bool ek_super_shape_valid(const struct ek_super *sb)
{
	u32 i;

	for (i = 0; i < le32_to_cpu(sb->nr_members); i++)
		if (!ek_member_valid(sb, i))
			return false;
	return true;
}

/**
 * ek_super_names - is an area the one that a superblock means?
 * @sb: sound
 * @area: which one
 * @uuid: in its label
 *
 * Context: any.
 * Return: true if it is.
 */
bool ek_super_names(const struct ek_super *sb, unsigned int area, const u8 *uuid)
{
	const u8 *named = sb->meta_uuid[area];

	return !memcmp(memchr_inv(named, 0, EK_UUID_SIZE) ? named : sb->pool_uuid, uuid,
		       EK_UUID_SIZE);
}
EXPORT_SYMBOL_GPL(ek_super_names);

/**
 * ek_super_vacant - which places for metadata areas have none, nor are to have one
 * @sb: sound
 *
 * Context: any.
 * Return: a bit for each.
 */
unsigned int ek_super_vacant(const struct ek_super *sb)
{
	unsigned int i, vacant = 0;

	for (i = 0; i < EK_MAX_META; i++)
		if (!memchr_inv(sb->meta_uuid[i], 0xff, EK_UUID_SIZE))
			vacant |= 1u << i;
	return vacant;
}
EXPORT_SYMBOL_GPL(ek_super_vacant);

/**
 * ek_super_check - may this superblock be believed?
 * @sb: 4 KiB as read
 * @slot: from which of the two places
 * @area_bytes: size of the area
 * @reason: set on failure
 *
 * Return: 0; -ENODATA: no superblock, or a torn one: the other slot decides;
 * -EPROTONOSUPPORT; -EUCLEAN: whole, but a field is impossible.
 */
int ek_super_check(const struct ek_super *sb, unsigned int slot, u64 area_bytes,
		   const char **reason)
{
	u32 nr = le32_to_cpu(sb->nr_members);

	*reason = "no valid superblock";
	if (sb->magic != cpu_to_le64(EK_SUPER_MAGIC) ||
	    le32_to_cpu(sb->csum) != ek_checksum(sb, sizeof(*sb), &sb->csum))
		return -ENODATA;
	*reason = "superblock of an unknown version";
	if (sb->version != cpu_to_le32(EK_FORMAT_VERSION) ||
	    le64_to_cpu(sb->incompat) & ~(u64)EK_INCOMPAT_KNOWN)
		return -EPROTONOSUPPORT;
	*reason = "superblock with an impossible field";
	if (!ek_fields_valid(sb, slot) || nr < 1 || nr > EK_MAX_MEMBERS)
		return -EUCLEAN;
	*reason = "superblock with an impossible layout";
	if (!ek_layout_valid(sb, area_bytes))
		return -EUCLEAN;
	return ek_super_shape_valid(sb) ? 0 : -EUCLEAN;
}
