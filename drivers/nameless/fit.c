// SPDX-License-Identifier: GPL-2.0-only
/* How much flash there has to be. */
#include "battery.h"
#include "ftl_hybrid.h"
#include "ftl_nameless_map.h"
#include "split.h"
#include "zones.h"

static u32 nl_fit_chunks(const struct nl_geometry *geo, u32 logical_pages)
{
	return DIV_ROUND_UP(logical_pages, NL_TRIM_BITS(geo->page_bytes));
}

/* Of all blocks of the device, so that the area is what was asked for; two at least. */
u32 nl_hybrid_log_blocks(const struct nl_geometry *geo, const struct nl_config *config,
			 u32 logical_pages)
{
	u64 permille = config->p[NL_P_LOG];
	u64 data = DIV_ROUND_UP(logical_pages, geo->pages);

	return max_t(u64, 2, div_u64(data * permille + 999 - permille, 1000 - permille));
}

u32 nl_hybrid_meta_blocks(const struct nl_geometry *geo, u32 logical_pages)
{
	return DIV_ROUND_UP(nl_fit_chunks(geo, logical_pages), geo->pages) + 1;
}

/* All that zones are promised, and what one block that fails takes. */
static u32 nl_zone_min_blocks(const struct nl_config *config, u32 logical_pages)
{
	struct nl_zone_shape shape;

	if (nl_zone_shape(&shape, config))
		return U32_MAX / 2;
	return logical_pages / shape.size * shape.blocks + NL_FLOOR;
}

u32 nl_map_entries(const struct nl_geometry *geo, const struct nl_config *config)
{
	u32 entries = geo->page_bytes / sizeof(__le32);

	return config->map_entries ? min(entries, config->map_entries) : entries;
}

u32 nl_map_chunks(const struct nl_geometry *geo, const struct nl_config *config,
		  u32 logical_pages)
{
	return DIV_ROUND_UP(logical_pages, nl_map_entries(geo, config));
}

/* Raw flash is as much as the FTL on the host wants. */
static bool nl_is_split(const struct nl_config *config)
{
	return config->p[NL_P_FTL] == NL_FTL_SPLIT || config->p[NL_P_FTL] == NL_FTL_RAW;
}

/* Pages beside users' that may be live before one is programmed: trim records, a swapped map. */
static u32 nl_fit_records(const struct nl_geometry *geo, const struct nl_config *config,
			  u32 logical_pages)
{
	u32 records = nl_fit_chunks(geo, logical_pages);

	if (config->p[NL_P_FTL] == NL_FTL_NAMELESS && config->p[NL_P_MAP_CACHE])
		records += nl_map_chunks(geo, config, logical_pages);
	return records;
}

/*
 * DOC in ftl_page.c and ftl_hybrid.c says why this is enough, with a map that is swapped in
 * ftl_nameless_map.c.
 */
u32 nl_ftl_min_blocks(const struct nl_geometry *geo, const struct nl_config *config,
		      u32 logical_pages)
{
	if (config->p[NL_P_FTL] == NL_FTL_ZONED)
		return nl_zone_min_blocks(config, logical_pages);
	if (config->p[NL_P_FTL] == NL_FTL_HYBRID)
		return DIV_ROUND_UP(logical_pages, geo->pages) +
		       nl_hybrid_log_blocks(geo, config, logical_pages) + 1 +
		       nl_hybrid_meta_blocks(geo, logical_pages) + NL_FLOOR;
	if (nl_is_split(config))
		return logical_pages / geo->pages + 1 + NL_FLOOR +
		       nl_split_blocks(geo, config, logical_pages);
	return div_u64((u64)logical_pages + nl_fit_records(geo, config, logical_pages),
		       geo->pages) + 1 + NL_FLOOR;
}

/* Battery-backed memory with its indexes, and what planes have beside it. */
static u64 nl_nameless_bytes(const struct nl_geometry *geo, const struct nl_config *config)
{
	u64 moves = nl_battery_moves(geo, config), buckets = 1;

	while (buckets < moves)
		buckets *= 2;
	return moves * (sizeof(struct nl_moved) + 2 * sizeof(u32)) + buckets * 2 * sizeof(u32) +
	       geo->nr_planes * (sizeof(struct nl_slot) + 2 * sizeof(u32) +
				 (u64)geo->pages * sizeof(struct nl_held)) +
	       BITS_TO_LONGS(geo->nr_pages) * sizeof(long);
}

u64 nl_config_bytes(const struct nl_geometry *geo, const struct nl_config *config)
{
	u64 lists = (u64)geo->nr_planes * (geo->pages + 1);
	u64 bytes = (u64)geo->nr_pages * NL_TABLE_BYTES + (u64)geo->nr_blocks * NL_BLOCK_BYTES +
		    lists * NL_LIST_BYTES + config->p[NL_P_BUFFER] * NL_WSLOT_BYTES +
		    geo->nr_channels * sizeof(struct nl_bus);

	return config->p[NL_P_FTL] == NL_FTL_NAMELESS ? bytes + nl_nameless_bytes(geo, config) :
							bytes;
}

/* Its metadata has an entry for each block, so the more blocks the more of them it takes. */
static int nl_fit_split(struct nl_config *config, u32 logical_pages, u64 blocks)
{
	struct nl_geometry geo;
	u64 want;
	int r;

	for (;;) {
		r = nl_geometry_init(&geo, config);
		if (r)
			return r;
		want = blocks + nl_split_blocks(&geo, config, logical_pages);
		if (want <= geo.nr_blocks)
			return 0;
		config->p[NL_P_BLOCKS] = div_u64(want + geo.nr_planes - 1, geo.nr_planes);
	}
}

int nl_config_fit(struct nl_config *config, u64 logical_pages)
{
	struct nl_zone_shape shape;
	struct nl_geometry geo;
	u64 blocks, least, data = logical_pages;
	bool given = config->p[NL_P_BLOCKS];
	int r;

	if (!given)
		config->p[NL_P_BLOCKS] = 1;
	r = nl_geometry_init(&geo, config);
	if (r)
		return r;
	if (!logical_pages || logical_pages >= 1ULL << 31)
		return -EFBIG;
	if (config->p[NL_P_FTL] == NL_FTL_ZONED) {
		if (nl_zone_shape(&shape, config))
			return -EFBIG;
		if (logical_pages % shape.size)
			return -EINVAL;
		/* There is no flash behind what is beyond a zone's capacity. */
		data = (u32)logical_pages / shape.size * shape.capacity;
	}
	least = nl_ftl_min_blocks(&geo, config, logical_pages) + config->p[NL_P_FACTORY_BAD];
	/* Of bare flash its host asks again; what is there is for whoever made it. */
	if (nl_is_split(config) && (!given || config->p[NL_P_FTL] == NL_FTL_RAW))
		least -= nl_split_blocks(&geo, config, logical_pages);
	if (given)
		return geo.nr_blocks < least ? -ENOSPC : 0;
	blocks = div_u64(data * (1000 + config->p[NL_P_OVERPROVISION]),
			 geo.pages * 1000) + 1;
	blocks = max(blocks + config->p[NL_P_FACTORY_BAD], least);
	config->p[NL_P_BLOCKS] = div_u64(blocks + geo.nr_planes - 1, geo.nr_planes);
	r = nl_geometry_init(&geo, config);
	return r || !nl_is_split(config) ? r : nl_fit_split(config, logical_pages, blocks);
}
