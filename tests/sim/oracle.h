/* SPDX-License-Identifier: GPL-2.0-only */
/* What a policy is judged against. */
#ifndef _SIM_ORACLE_H
#define _SIM_ORACLE_H

#include "members.h"

/**
 * struct oracle - what other ways to use the members give, requests a second
 * @split: the best static split
 * @share: of the first members in it, percent
 * @single: the best member alone
 * @sum: of all members, each alone under the whole load
 * @stripe: extents in turn
 */
struct oracle {
	double split;
	double share;
	double single;
	double sum;
	double stripe;
};

struct oracle ask_oracle(const struct sim_config *config, const struct sim_members *m);

#endif
