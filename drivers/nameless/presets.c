// SPDX-License-Identifier: GPL-2.0-only
/* The devices by name. Sources: Documentation/design/nameless.rst. */
#include "geometry.h"

#define US 1000ULL
#define MS 1000000ULL
#define KIB 1024ULL

/* Table 3.1: 10 planes that work in parallel, each behind a bus of its own. */
#define TABLE_3_1							\
	[NL_P_PACKAGES] = 10, [NL_P_DIES] = 1, [NL_P_PLANES] = 1,	\
	[NL_P_PAGES] = 64, [NL_P_PAGE_SIZE] = 4 * KIB, [NL_P_OOB_SIZE] = 128,	\
	[NL_P_BUS_CONTROL] = 2 * US, [NL_P_BUS_DATA] = 10 * US,		\
	[NL_P_RAM] = 1 * US, [NL_P_REGISTER] = 1 * US

#define FTL_DEFAULTS							\
	[NL_P_OVERPROVISION] = 70, [NL_P_LOG] = 50, [NL_P_WEAR] = 900,	\
	[NL_P_WEAR_AT] = 250, [NL_P_MOVES] = 8192, [NL_P_GC_IDLE] = 100 * MS,	\
	[NL_P_QUEUE] = 256

const struct nl_preset nl_presets[] = {
	{ "ssd1", "older flash, zhang-2013 table 3.1; SLC", { .p = {
		TABLE_3_1, FTL_DEFAULTS, [NL_P_ENDURANCE] = 100000,
		[NL_P_READ] = 25 * US, [NL_P_PROGRAM] = 200 * US, [NL_P_ERASE] = 1500 * US } } },
	{ "ssd2", "newer flash, zhang-2013 table 3.1; SLC", { .p = {
		TABLE_3_1, FTL_DEFAULTS, [NL_P_ENDURANCE] = 100000,
		[NL_P_READ] = 65 * US, [NL_P_PROGRAM] = 85 * US, [NL_P_ERASE] = 1000 * US } } },
	{ "tlc", "176-layer TLC, 4 planes a die, 1.6 GT/s", { .p = {
		[NL_P_PACKAGES] = 4, [NL_P_DIES] = 2, [NL_P_PLANES] = 4,
		[NL_P_PAGES] = 256, [NL_P_PAGE_SIZE] = 16 * KIB, [NL_P_OOB_SIZE] = 128,
		FTL_DEFAULTS, [NL_P_ENDURANCE] = 3000,
		[NL_P_READ] = 50 * US, [NL_P_PROGRAM] = 390 * US, [NL_P_ERASE] = 3500 * US,
		[NL_P_BUS_CONTROL] = 200, [NL_P_BUS_DATA] = 10240,
		[NL_P_RAM] = 1 * US, [NL_P_REGISTER] = 500 } } },
	{ "qlc", "96-layer QLC, 30 MB/s a die, 1.2 GT/s", { .p = {
		[NL_P_PACKAGES] = 4, [NL_P_DIES] = 2, [NL_P_PLANES] = 4,
		[NL_P_PAGES] = 512, [NL_P_PAGE_SIZE] = 16 * KIB, [NL_P_OOB_SIZE] = 128,
		FTL_DEFAULTS, [NL_P_ENDURANCE] = 1000,
		[NL_P_READ] = 85 * US, [NL_P_PROGRAM] = 2180 * US, [NL_P_ERASE] = 10000 * US,
		[NL_P_BUS_CONTROL] = 200, [NL_P_BUS_DATA] = 13650,
		[NL_P_RAM] = 1 * US, [NL_P_REGISTER] = 500 } } },
};

const unsigned int nl_nr_presets = ARRAY_SIZE(nl_presets);

const struct nl_preset *nl_preset_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < nl_nr_presets; i++)
		if (!strcmp(nl_presets[i].name, name))
			return &nl_presets[i];
	return NULL;
}
