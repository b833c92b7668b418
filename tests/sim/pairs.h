/* SPDX-License-Identifier: GPL-2.0-only */
/* The pairs of devices that are simulated. */
#ifndef _SIM_PAIRS_H
#define _SIM_PAIRS_H

#include "sim.h"

static const struct {
	const char *name;
	struct sim_dev dev[2];
} pairs[] = {
	{ "A+B", { { "A", 16, 500, 0.3, 1000 }, { "B", 16, 1500, 0.3, 3000 } } },
	{ "NVMe+SATA", { { "NVMe", 16, 80, 0.3, 300 }, { "SATA", 8, 250, 0.3, 800 } } },
	{ "A+A", { { "A", 16, 500, 0.3, 1000 }, { "A", 16, 500, 0.3, 1000 } } },
	{ "SSD+HDD", { { "SSD", 10, 200, 0.3, 500 }, { "HDD", 1, 5000, 0.4, 6000 } } },
};

#endif
