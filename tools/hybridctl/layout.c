// SPDX-License-Identifier: GPL-2.0-only
/* Where a new pool's areas go and how large its volume is. */
#include <string.h>

#include "layout.h"
#include "msg.h"
#include "units.h"

#define SECTOR		512u
#define MIN_EXTENTS	2u
#define ROOM_TIMES	4u	/* the map may become so many times as large */
#define RESERVE_PART	100u	/* a hundredth of each member is kept free ... */
#define RESERVE_MIN	8u	/* ... at least so many extents ... */
#define RESERVE_MOST	4u	/* ... at most a quarter */

static bool fits(uint64_t sectors, uint64_t extent_sectors)
{
	return ek_member_extents(sectors, extent_sectors) <= EK_MAX_MEMBER_EXTENTS;
}

static uint64_t largest(const struct layout *l)
{
	uint64_t most = 0;
	unsigned int i;

	for (i = 0; i < l->nr_members; i++)
		if (l->dev_sectors[i] > most)
			most = l->dev_sectors[i];
	return most;
}

static uint64_t fitting_extent(const struct layout *l)
{
	uint64_t extent = LAYOUT_DEFAULT_EXTENT, most = largest(l);

	while (extent < EK_MAX_EXTENT_SECTORS && !fits(most, extent))
		extent *= 2;
	return fits(most, extent) ? extent : 0;
}

static char *choose_extent(struct layout *l)
{
	uint64_t fitting = fitting_extent(l);
	char given[UNIT_TEXT], would[UNIT_TEXT];

	if (!fitting)
		return xasprintf("a device is too large even for the largest extents (%s)",
				 human_bytes(would, (uint64_t)EK_MAX_EXTENT_SECTORS * SECTOR));
	if (!l->extent_sectors)
		l->extent_sectors = fitting;
	if (fits(largest(l), l->extent_sectors))
		return NULL;
	return xasprintf("a device is too large for extents of %s; --extent %s would fit",
			 human_bytes(given, l->extent_sectors * SECTOR),
			 human_bytes(would, fitting * SECTOR));
}

static char *count_extents(struct layout *l)
{
	char have[UNIT_TEXT];
	uint64_t n, sectors;
	unsigned int i;

	l->total = 0;
	for (i = 0; i < l->nr_members; i++) {
		sectors = l->dev_sectors[i];
		n = l->start[i] < sectors ?
			ek_member_extents(sectors - l->start[i], l->extent_sectors) : 0;
		if (n < MIN_EXTENTS)
			return xasprintf("%s: too small (%s)", l->path[i],
					 human_bytes(have, sectors * SECTOR));
		l->extents[i] = n;
		l->total += n;
	}
	return NULL;
}

/* So that members can join and the volume can grow: 8 KiB for 508 extents. */
static uint64_t room(const struct layout *l)
{
	uint64_t pages = l->total / EK_PAGE_ENTRIES + 1;

	return l->carve ? (ROOM_TIMES - 1) * pages * 2 * EK_BLOCK_SIZE : 0;
}

static char *place_metadata(struct layout *l)
{
	uint64_t need = ek_store_area_bytes(l->total, l->nr_members, l->extents) + room(l);
	char have[UNIT_TEXT], want[UNIT_TEXT];
	unsigned int i;

	need = (need + LAYOUT_ALIGN - 1) / LAYOUT_ALIGN * LAYOUT_ALIGN;
	for (i = 0; !l->carve && i < l->nr_meta; i++)
		if (l->meta_sectors[i] * SECTOR < need)
			return xasprintf("%s: too small for the metadata (%s, needed are %s)",
					 l->meta_path[i],
					 human_bytes(have, l->meta_sectors[i] * SECTOR),
					 human_bytes(want, need));
	if (!l->carve)
		return NULL;
	l->nr_meta = l->nr_members > 1 ? EK_MAX_META : 1;
	for (i = 0; i < l->nr_meta; i++) {
		l->meta_path[i] = l->path[i];
		l->meta_sectors[i] = need / SECTOR;
		l->start[i] = need / SECTOR;
	}
	return count_extents(l);
}

/* What stays free, so that extents can move. */
static uint64_t reserve(const struct layout *l)
{
	uint64_t sum = 0, keep;
	unsigned int i;

	for (i = 0; i < l->nr_members; i++) {
		keep = l->extents[i] / RESERVE_PART;
		if (keep < RESERVE_MIN)
			keep = RESERVE_MIN;
		if (keep > l->extents[i] / RESERVE_MOST)
			keep = l->extents[i] / RESERVE_MOST;
		sum += keep;
	}
	return sum;
}

static char *size_volume(struct layout *l)
{
	uint64_t bytes = l->extent_sectors * SECTOR;
	char want[UNIT_TEXT], have[UNIT_TEXT];

	if (!l->size) {
		l->logical = l->total - reserve(l);
		return NULL;
	}
	l->logical = l->size / bytes + !!(l->size % bytes);
	if (l->logical > l->total)
		return xasprintf("--size %s is more than the members hold (%s)",
				 human_bytes(want, l->size), human_bytes(have, l->total * bytes));
	return NULL;
}

uint64_t layout_volume_extents(const struct layout *l)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < l->nr_members; i++)
		sum += l->extents[i];
	return sum - reserve(l);
}

/* --- what the kernel's format will write: the same code says it, and writes nothing --- */

static int read_nothing(void *ctx, unsigned int area, u64 offset, void *buf, size_t len)
{
	(void)ctx;
	(void)area;
	(void)offset;
	memset(buf, 0, len);
	return 0;
}

static int note_end(void *ctx, unsigned int area, u64 offset, const void *buf, size_t len,
		    unsigned int flags)
{
	uint64_t *end = ctx;

	(void)area;
	(void)buf;
	(void)flags;
	if (offset + len > *end)
		*end = offset + len;
	return 0;
}

static int do_nothing(void *ctx, unsigned int area)
{
	(void)ctx;
	(void)area;
	return 0;
}

static const struct ek_store_io note_io = {
	.read = read_nothing, .write = note_end, .wait = do_nothing, .flush = do_nothing,
};

int layout_meta_head(const struct layout *l, uint64_t *bytes)
{
	struct ek_store_params p = {
		.extent_sectors = l->extent_sectors, .nr_extents = l->logical,
		.nr_meta = l->nr_meta, .nr_members = l->nr_members, .policy = "",
	};
	unsigned int i;

	for (i = 0; i < l->nr_meta; i++)
		p.area_bytes[i] = l->meta_sectors[i] * SECTOR;
	memcpy(p.member_extents, l->extents, sizeof(p.member_extents));
	*bytes = 0;
	return ek_store_format(&note_io, bytes, &p);
}

char *layout_make(struct layout *l)
{
	char *why;

	l->carve = !l->nr_meta;
	memset(l->start, 0, sizeof(l->start));
	why = choose_extent(l);
	if (!why)
		why = count_extents(l);
	if (!why)
		why = place_metadata(l);
	return why ? why : size_volume(l);
}
