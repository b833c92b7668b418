/* SPDX-License-Identifier: GPL-2.0-only */
/* The sets of devices that are simulated. */
#ifndef _SIM_MEMBERS_H
#define _SIM_MEMBERS_H

#include "sim.h"

#define DEV(n, s, r, w, v, m) \
	.name = n, .servers = s, .us = r, .write_us = w, .cv = v, .move_us = m
#define DEV_A		{ DEV("A", 16, 500, 700, .3, 1000) }
#define DEV_B		{ DEV("B", 16, 1500, 1000, .3, 3000) }
#define DEV_NVME	{ DEV("NVMe", 16, 80, 40, .3, 300) }
#define DEV_SATA	{ DEV("SATA", 8, 250, 350, .3, 800) }
#define DEV_SSD		{ DEV("SSD", 10, 200, 300, .3, 500) }
#define DEV_XS		{ DEV("XS", 4, 1000, 1500, .3, 2000) }
#define DEV_MEM		{ DEV("MEM", 1, 10, 10, .3, 50) }
#define DEV_NVME4	{ DEV("NVMe", 4, 80, 40, .3, 300) }
/* Requests of 16K: fewer at once make them as fast as they get. */
#define DEV_NVME_16K	{ DEV("NVMe", 8, 120, 90, .3, 300) }
#define DEV_SATA_16K	{ DEV("SATA", 2, 120, 150, .3, 800) }
/* Alone at so many a time that nothing waits, and nearly as fast as each other. */
#define DEV_WIDE	{ DEV("WIDE", 64, 85, 152, .1, 300) }
#define DEV_NEAR	{ DEV("NEAR", 16, 124, 101, .1, 800) }
#define DEV_HDD		{ DEV("HDD", 1, 5000, 5000, .4, 6000) }
/* A disk that sorts its queue, and a device whose rate grows as n^.4. */
#define DEV_HDDQ	{ DEV("HDDq", 1, 5000, 5000, .4, 6000), .grow = .25 }
#define DEV_G		{ DEV("G", 1, 300, 400, .3, 1000), .grow = .4 }
/* As wu-2011's: flashes slow and fast to write beside a disk. */
#define DEV_TS		{ DEV("TS", 1, 400, 12000, .3, 9000), .move_read_us = 3500 }
#define DEV_MR		{ DEV("MR", 2, 300, 2500, .3, 2500) }
/* One that takes small writes in turn, and reads beside them. */
#define DEV_MEMO	{ DEV("MEMO", 4, 160, 9000, .1, 3000), .write_servers = 1 }
/* One made for reads beside one made for writes. */
#define DEV_QLC		{ DEV("QLC", 16, 300, 3000, .3, 3000) }
#define DEV_TLC		{ DEV("TLC", 8, 500, 400, .3, 1000) }

/**
 * struct sim_members - a set
 * @name: what the table says
 * @dev: its members
 * @nr: how many
 * @first: the static splits that are tried give the first so many members one share
 *	and the others the rest, equally
 * @longer: so many times as long a run, for what a disk can copy
 */
struct sim_members {
	const char *name;
	struct sim_dev dev[SIM_DEVS];
	unsigned int nr;
	unsigned int first;
	unsigned int longer;
};

static const struct sim_members members[] = {
	{ "A+B", { DEV_A, DEV_B }, 2, 1, 1 },
	{ "NVMe+SATA", { DEV_NVME, DEV_SATA }, 2, 1, 1 },
	{ "A+A", { DEV_A, DEV_A }, 2, 1, 1 },
	{ "SSD+HDD", { DEV_SSD, DEV_HDD }, 2, 1, 4 },
	{ "XS+HDDq", { DEV_XS, DEV_HDDQ }, 2, 1, 4 },
	{ "G+B", { DEV_G, DEV_B }, 2, 1, 1 },
	{ "MEM+NVMe", { DEV_MEM, DEV_NVME4 }, 2, 1, 1 },
	{ "16K", { DEV_NVME_16K, DEV_SATA_16K }, 2, 1, 1 },
	{ "WIDE+NEAR", { DEV_WIDE, DEV_NEAR }, 2, 1, 1 },
	{ "SSD+2HDD", { DEV_SSD, DEV_HDD, DEV_HDD }, 3, 1, 4 },
	{ "SSD+4HDD", { DEV_SSD, DEV_HDD, DEV_HDD, DEV_HDD, DEV_HDD }, 5, 1, 4 },
	{ "TS+HDD", { DEV_TS, DEV_HDD }, 2, 1, 4 },
	{ "MR+HDD", { DEV_MR, DEV_HDD }, 2, 1, 4 },
	{ "MEMO+HDDq", { DEV_MEMO, DEV_HDDQ }, 2, 1, 4 },
	{ "QLC+TLC", { DEV_QLC, DEV_TLC }, 2, 1, 1 },
	{ "A+A+B+B", { DEV_A, DEV_A, DEV_B, DEV_B }, 4, 2, 1 },
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
