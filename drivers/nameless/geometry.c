// SPDX-License-Identifier: GPL-2.0-only
/* Parameters by name and what follows from them. */
#include "geometry.h"

#define SECOND 1000000000ULL

const struct nl_param_info nl_params[NL_NR_PARAMS] = {
	[NL_P_PACKAGES]	= { "packages", NL_COUNT, true, 1, 4096, "flash chips" },
	[NL_P_DIES]	= { "dies", NL_COUNT, true, 1, 64, "dies of a package" },
	[NL_P_PLANES]	= { "planes", NL_COUNT, true, 1, 64, "planes of a die" },
	[NL_P_CHANNELS]	= { "channels", NL_COUNT, true, 0, 4096,
			    "buses that packages share; 0: each has its own" },
	[NL_P_BLOCKS]	= { "blocks", NL_COUNT, true, 0, 1 << 24,
			    "erase blocks of a plane; 0: what the size needs" },
	[NL_P_PAGES]	= { "pages", NL_COUNT, true, 2, 1 << 16, "pages of an erase block" },
	[NL_P_PAGE_SIZE] = { "page_size", NL_SIZE, true, 512, 65536, "data of a page" },
	[NL_P_OOB_SIZE]	= { "oob_size", NL_SIZE, true, 64, 4096, "OOB of a page" },
	[NL_P_ENDURANCE] = { "endurance", NL_COUNT, true, 0, 1 << 30,
			     "erases that a block stands; 0: any number" },
	[NL_P_FACTORY_BAD] = { "factory_bad", NL_COUNT, true, 0, 1 << 20,
			       "blocks that are bad from the start" },
	[NL_P_SEED]	= { "seed", NL_COUNT, true, 0, U64_MAX, "of all that is random" },
	[NL_P_READ]	= { "t_read", NL_TIME, false, 0, SECOND, "page read" },
	[NL_P_PROGRAM]	= { "t_program", NL_TIME, false, 0, SECOND, "page write" },
	[NL_P_ERASE]	= { "t_erase", NL_TIME, false, 0, SECOND, "block erase" },
	[NL_P_BUS_CONTROL] = { "t_bus_control", NL_TIME, false, 0, SECOND, "command on the bus" },
	[NL_P_BUS_DATA]	= { "t_bus_data", NL_TIME, false, 0, SECOND, "page on the bus" },
	[NL_P_RAM]	= { "t_ram", NL_TIME, false, 0, SECOND,
			    "page to or from the device's RAM" },
	[NL_P_REGISTER]	= { "t_register", NL_TIME, false, 0, SECOND,
			    "page to or from the plane's register" },
	[NL_P_FTL]	= { "ftl", NL_FTL_KIND, true, 0, NL_NR_FTLS - 1, "mapping" },
	[NL_P_OVERPROVISION] = { "op", NL_PERMILLE, true, 0, 10000,
				 "flash beyond what users see" },
	[NL_P_RESERVE]	= { "reserve", NL_COUNT, true, 0, 1 << 20,
			    "free blocks below which GC begins; 0: one a plane and 2" },
	[NL_P_LOG]	= { "log", NL_PERMILLE, true, 1, 900, "log area (hybrid)" },
	[NL_P_GC]	= { "gc", NL_GC_KIND, true, 0, NL_NR_GCS - 1, "choice of GC's victims" },
	[NL_P_WEAR]	= { "wear", NL_PERMILLE, true, 0, 1000,
			    "of the average of erases left, less is worn; 0: no leveling" },
	[NL_P_WEAR_AT]	= { "wear_at", NL_PERMILLE, true, 0, 1000,
			    "of its endurance a block has used up before leveling (nameless)" },
	[NL_P_MOVES]	= { "moves", NL_COUNT, true, 0, 1 << 20,
			    "migrations not acknowledged before leveling stops (nameless)" },
	[NL_P_MAP_CACHE] = { "map_cache", NL_SIZE, true, 0, 1ULL << 40,
			     "memory for the map, swapped to flash; 0: all in memory (nameless)" },
	[NL_P_TRUST]	= { "trust", NL_COUNT, true, 0, 1,
			    "1: names to overwrite and free are looked at in no time (nameless)" },
	[NL_P_BUFFER]	= { "buffer", NL_COUNT, true, 0, 1 << 20,
			    "pages of volatile write buffer" },
	[NL_P_ZONE_BLOCKS] = { "zone_blocks", NL_COUNT, true, 0, 1 << 16,
			       "erase blocks of a zone; 0: one of each plane (zoned)" },
	[NL_P_MAX_OPEN]	= { "max_open", NL_COUNT, true, 0, 1 << 20,
			    "zones that are open at once; 0: any number (zoned)" },
	[NL_P_MAX_ACTIVE] = { "max_active", NL_COUNT, true, 0, 1 << 20,
			      "zones open or closed at once; 0: any number (zoned)" },
	[NL_P_GC_IDLE]	= { "gc_idle", NL_TIME, false, 0, 1000 * SECOND,
			    "without requests, after which GC begins; 0: never" },
	[NL_P_QUEUE]	= { "queue", NL_COUNT, false, 0, 1 << 16,
			    "requests of the block device at once, others wait; 0: any number" },
};

const char * const nl_ftl_names[NL_NR_FTLS] = {
	[NL_FTL_PAGE] = "page", [NL_FTL_HYBRID] = "hybrid",
	[NL_FTL_NAMELESS] = "nameless", [NL_FTL_ZONED] = "zoned",
	[NL_FTL_SPLIT] = "split", [NL_FTL_RAW] = "raw",
};

const char * const nl_gc_names[NL_NR_GCS] = {
	[NL_GC_GREEDY] = "greedy", [NL_GC_FIFO] = "fifo",
};

int nl_param_find(const char *name)
{
	int i;

	for (i = 0; i < NL_NR_PARAMS; i++)
		if (!strcmp(nl_params[i].name, name))
			return i;
	return -ENOENT;
}

int nl_param_check(enum nl_param param, u64 value)
{
	if (value < nl_params[param].min || value > nl_params[param].max)
		return -ERANGE;
	return 0;
}

static int nl_config_check(const struct nl_config *config)
{
	int i, r;

	for (i = 0; i < NL_NR_PARAMS; i++) {
		r = nl_param_check(i, config->p[i]);
		if (r)
			return r;
	}
	return 0;
}

int nl_geometry_init(struct nl_geometry *geo, const struct nl_config *config)
{
	const u64 *p = config->p;
	u64 pages;
	int r = nl_config_check(config);

	if (r)
		return r;
	if (!p[NL_P_BLOCKS])
		return -ERANGE;
	/* Each factor is bounded by its range: 2^12 * 2^6 * 2^6 * 2^24 * 2^16 does not fit. */
	pages = p[NL_P_PACKAGES] * p[NL_P_DIES] * p[NL_P_PLANES];
	if (pages > 1 << 16 || pages * p[NL_P_BLOCKS] * p[NL_P_PAGES] >= 1ULL << 31)
		return -EFBIG;
	geo->nr_planes = pages;
	geo->planes_per_package = p[NL_P_DIES] * p[NL_P_PLANES];
	geo->nr_channels = p[NL_P_CHANNELS] ? p[NL_P_CHANNELS] : p[NL_P_PACKAGES];
	geo->blocks = p[NL_P_BLOCKS];
	geo->pages = p[NL_P_PAGES];
	geo->page_bytes = p[NL_P_PAGE_SIZE];
	geo->oob_bytes = p[NL_P_OOB_SIZE];
	geo->nr_blocks = geo->nr_planes * geo->blocks;
	geo->nr_pages = geo->nr_blocks * geo->pages;
	return 0;
}
