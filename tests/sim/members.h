/* SPDX-License-Identifier: GPL-2.0-only */
/* The sets of devices that are simulated. */
#ifndef _SIM_MEMBERS_H
#define _SIM_MEMBERS_H

#include "sim.h"

#define DEV_A		{ .name = "A", .servers = 16, .us = 500, .cv = .3, .move_us = 1000 }
#define DEV_B		{ .name = "B", .servers = 16, .us = 1500, .cv = .3, .move_us = 3000 }
#define DEV_NVME	{ .name = "NVMe", .servers = 16, .us = 80, .cv = .3, .move_us = 300 }
#define DEV_SATA	{ .name = "SATA", .servers = 8, .us = 250, .cv = .3, .move_us = 800 }
#define DEV_SSD		{ .name = "SSD", .servers = 10, .us = 200, .cv = .3, .move_us = 500 }
#define DEV_HDD		{ .name = "HDD", .servers = 1, .us = 5000, .cv = .4, .move_us = 6000 }
#define DEV_XS		{ .name = "XS", .servers = 4, .us = 1000, .cv = .3, .move_us = 2000 }
/* A disk that sorts its queue, and a device whose rate grows as n^.4. */
#define DEV_HDDQ	{ .name = "HDDq", .servers = 1, .us = 5000, .cv = .4, .move_us = 6000, \
			  .grow = .25 }
#define DEV_G		{ .name = "G", .servers = 1, .us = 300, .cv = .3, .move_us = 1000, \
			  .grow = .4 }

/**
 * struct sim_members - a set
 * @name: what the table says
 * @dev: its members
 * @nr: how many
 * @first: the static splits that are tried give the first so many members one share
 *	and the others the rest, equally
 * @movers: copies at a time: the mover's setting
 * @longer: so many times as long a run, for what a disk can copy
 */
struct sim_members {
	const char *name;
	struct sim_dev dev[SIM_DEVS];
	unsigned int nr;
	unsigned int first;
	const char *movers;
	unsigned int longer;
};

static const struct sim_members members[] = {
	{ "A+B", { DEV_A, DEV_B }, 2, 1, "2", 1 },
	{ "NVMe+SATA", { DEV_NVME, DEV_SATA }, 2, 1, "2", 1 },
	{ "A+A", { DEV_A, DEV_A }, 2, 1, "2", 1 },
	{ "SSD+HDD", { DEV_SSD, DEV_HDD }, 2, 1, "8", 4 },
	{ "XS+HDDq", { DEV_XS, DEV_HDDQ }, 2, 1, "8", 4 },
	{ "G+B", { DEV_G, DEV_B }, 2, 1, "2", 1 },
	{ "A+A+B+B", { DEV_A, DEV_A, DEV_B, DEV_B }, 4, 2, "2", 1 },
};

static inline const struct sim_members *find_members(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(members); i++)
		if (!strcmp(members[i].name, name))
			return &members[i];
	abort();
}

#endif
