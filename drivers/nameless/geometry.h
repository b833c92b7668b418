/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shape and the parameters of an emulated SSD.
 *
 * All parameters are u64 in one array, so that configfs, presets, tests and documents share one
 * table (nl_params). struct nl_geometry is what follows from them and what the code computes
 * with.
 *
 * Numbers: a plane is 0 .. nr_planes - 1, package-major (planes of one die are neighbours, dies
 * of one package are neighbours). A block's number is plane * blocks + its place in the plane; a
 * physical page's is block * pages + its place in the block. All fit 32 bits, physical pages 31
 * (nl_geometry_init() refuses more).
 *
 * Pure: also builds in userspace.
 */
#ifndef NAMELESS_GEOMETRY_H
#define NAMELESS_GEOMETRY_H

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>

enum nl_param {
	/* shape */
	NL_P_PACKAGES, NL_P_DIES, NL_P_PLANES, NL_P_CHANNELS, NL_P_BLOCKS, NL_P_PAGES,
	NL_P_PAGE_SIZE, NL_P_OOB_SIZE,
	/* how it ages */
	NL_P_ENDURANCE, NL_P_FACTORY_BAD, NL_P_SEED,
	/* ns, table 3.1 */
	NL_P_READ, NL_P_PROGRAM, NL_P_ERASE, NL_P_BUS_CONTROL, NL_P_BUS_DATA, NL_P_RAM,
	NL_P_REGISTER,
	/* the FTL */
	NL_P_FTL, NL_P_OVERPROVISION, NL_P_RESERVE, NL_P_LOG, NL_P_GC, NL_P_WEAR,
	NL_P_WEAR_AT, NL_P_MOVES, NL_P_MAP_CACHE, NL_P_TRUST,
	NL_P_BUFFER, NL_P_ZONE_BLOCKS, NL_P_MAX_OPEN, NL_P_MAX_ACTIVE,
	/* the device */
	NL_P_GC_IDLE, NL_P_QUEUE,
	NL_NR_PARAMS
};

enum nl_unit {
	NL_COUNT,		/* a number */
	NL_TIME,		/* ns */
	NL_SIZE,		/* bytes */
	NL_PERMILLE,		/* 1/1000 */
	NL_FTL_KIND,		/* enum nl_ftl_kind, by name */
	NL_GC_KIND,		/* enum nl_gc_kind, by name */
};

enum nl_ftl_kind {
	NL_FTL_PAGE, NL_FTL_HYBRID, NL_FTL_NAMELESS, NL_FTL_ZONED, NL_FTL_SPLIT, NL_FTL_RAW,
	NL_NR_FTLS
};

enum nl_gc_kind { NL_GC_GREEDY, NL_GC_FIFO, NL_NR_GCS };

/**
 * struct nl_param_info - what one parameter is
 * @name: as typed and as configfs' attribute
 * @unit: of its value
 * @fixed: not to be changed while the device exists (latencies may be)
 * @min: least value
 * @max: greatest value
 * @text: one line for users
 */
struct nl_param_info {
	const char *name;
	enum nl_unit unit;
	bool fixed;
	u64 min, max;
	const char *text;
};

extern const struct nl_param_info nl_params[NL_NR_PARAMS];
extern const char * const nl_ftl_names[NL_NR_FTLS];
extern const char * const nl_gc_names[NL_NR_GCS];

/**
 * struct nl_config - what a device is to be
 * @p: the parameters
 * @map_entries: of a chunk of a map that is swapped, at most; 0: what a flash page holds. For
 *	tests: tiny devices have several chunks then
 */
struct nl_config {
	u64 p[NL_NR_PARAMS];
	u32 map_entries;
};

/**
 * struct nl_preset - a device by name
 * @name: as typed
 * @text: one line: what it is and where its figures are from
 * @config: NL_P_BLOCKS is 0: it follows from the size asked for
 */
struct nl_preset {
	const char *name;
	const char *text;
	struct nl_config config;
};

extern const struct nl_preset nl_presets[];
extern const unsigned int nl_nr_presets;

/* By name, NULL if there is none; the first preset (ssd1) is the default. */
const struct nl_preset *nl_preset_find(const char *name);

/* By name: enum nl_param, -ENOENT. */
int nl_param_find(const char *name);

/* May @param be @value by itself?  0 or -ERANGE. */
int nl_param_check(enum nl_param param, u64 value);

/**
 * struct nl_geometry - what follows from the parameters
 * @nr_planes: of the whole device
 * @nr_channels: buses; package n is on channel n % nr_channels
 * @planes_per_package: dies times planes
 * @blocks: erase blocks of one plane
 * @pages: pages of one erase block
 * @page_bytes: data of a page
 * @oob_bytes: beside it
 * @nr_blocks: of the whole device
 * @nr_pages: of the whole device, below 2^31
 */
struct nl_geometry {
	u32 nr_planes;
	u32 nr_channels;
	u32 planes_per_package;
	u32 blocks;
	u32 pages;
	u32 page_bytes;
	u32 oob_bytes;
	u32 nr_blocks;
	u32 nr_pages;
};

/**
 * nl_config_fit - blocks per plane for a visible capacity
 * @config: NL_P_BLOCKS is filled in if it is 0
 * @logical_pages: pages that users are to see
 *
 * Room for the data, over-provisioning (NL_P_OVERPROVISION of the data), the log area (hybrid),
 * the reserve that the FTL needs so as never to wedge, and what is bad from the factory; rounded
 * up to whole blocks in every plane.
 *
 * Return: 0; -ERANGE if a parameter is out of its range; -EFBIG if there are more pages than fit
 * 31 bits; -ENOSPC if NL_P_BLOCKS was given and is too few; -EINVAL if @logical_pages are not whole
 * zones (zoned).
 */
int nl_config_fit(struct nl_config *config, u64 logical_pages);

/* What tables take in memory, bytes, of */
#define NL_TABLE_BYTES	24	/* a flash page: its data's place, maps, recovery */
#define NL_BLOCK_BYTES	64	/* an erase block, in the flash and in the FTL */
#define NL_LIST_BYTES	8	/* blocks with as many live pages, in a plane */
#define NL_WSLOT_BYTES	32	/* a page of the write buffer, but its data */

/**
 * nl_geometry_init - compute the geometry
 * @geo: result
 * @config: with NL_P_BLOCKS
 *
 * Return: 0; -ERANGE if a parameter is out of its range; -EFBIG if there are more pages than fit
 * 31 bits.
 */
int nl_geometry_init(struct nl_geometry *geo, const struct nl_config *config);

/* All tables of a device whose flash is in use, bytes; what pages hold is apart. */
u64 nl_config_bytes(const struct nl_geometry *geo, const struct nl_config *config);

static inline u32 nl_block_of(const struct nl_geometry *geo, u32 ppn)
{
	return ppn / geo->pages;
}

static inline u32 nl_page_of(const struct nl_geometry *geo, u32 ppn)
{
	return ppn % geo->pages;
}

static inline u32 nl_plane_of(const struct nl_geometry *geo, u32 block)
{
	return block / geo->blocks;
}

static inline u32 nl_ppn(const struct nl_geometry *geo, u32 block, u32 page)
{
	return block * geo->pages + page;
}

static inline u32 nl_channel_of(const struct nl_geometry *geo, u32 plane)
{
	return plane / geo->planes_per_package % geo->nr_channels;
}

#endif
