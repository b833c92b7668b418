// SPDX-License-Identifier: GPL-2.0-only
/*
 * First shares: where does the first file of a new pool go?  Before any load was measured all that
 * can be known of the members is how long they take with nothing else to do.  By that, a member
 * gets its share in proportion to 1/S; those that are nearly alike get the same, as a few probes
 * can't tell them apart; one that is far behind gets nothing: whoever waits for a
 * request to a disk beside an SSD waits for the disk.  A load corrects both soon.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include "policy_first.h"
#include "policy_util.h"

#define ALIKE		2u	/* times the fastest */
#define HOPELESS	4u	/* likewise */
#define MAX_ASKED	3	/* periods */
#define MIN_REQUESTS	20	/* a load */
#define MAX_PROBE_NS	BIT_ULL(38)

static u64 idle_of(const struct hy_dev_snap *d)
{
	return clamp_t(u64, d->probe_mid_ns, 1, MAX_PROBE_NS);
}

/* Of the members that are usable; 0: not all were probed. */
static u64 fastest(const struct hy_snapshot *snap)
{
	u64 least = 0;
	unsigned int i;

	for (i = 0; i < snap->nr; i++) {
		const struct hy_dev_snap *d = &snap->dev[i];

		if (!d->usable)
			continue;
		if (d->probes < HY_FIRST_PROBES)
			return 0;
		least = least ? min(least, idle_of(d)) : idle_of(d);
	}
	return least;
}

static u32 weight_of(const struct hy_dev_snap *d, u64 least)
{
	u64 idle = idle_of(d);

	if (idle >= least * HOPELESS)
		return 0;
	return div64_u64(least * HY_PPM, idle < least * ALIKE ? least : idle);
}

static bool is_loaded(const struct hy_snapshot *snap)
{
	u64 requests = 0;
	unsigned int i;

	for (i = 0; i < snap->nr; i++)
		requests += snap->dev[i].requests;
	return requests >= MIN_REQUESTS;
}

bool hy_first_period(struct hy_first *first, const struct hy_snapshot *snap, u32 *target,
		     struct hy_decision *decision)
{
	u64 least = fastest(snap);
	u32 weight[EK_MAX_MEMBERS] = {};
	unsigned int i;

	if (first->over)
		return false;
	first->over = least || is_loaded(snap) || first->asked == MAX_ASKED;
	for (i = 0; i < snap->nr; i++) {
		if (!snap->dev[i].usable)
			continue;
		if (least)
			weight[i] = weight_of(&snap->dev[i], least);
		else if (!first->over)
			decision->probe |= BIT(i);
	}
	first->stand = least;
	if (least)
		hy_spread_targets(target, weight, snap);
	else if (!first->over)
		first->asked++;
	decision->probe_now = decision->probe;
	return least;
}

bool hy_first_stands(struct hy_first *first, const struct hy_snapshot *snap)
{
	if (is_loaded(snap))
		first->stand = false;
	return first->stand;
}

u64 hy_first_median(const u64 *ns)
{
	unsigned int i, j;

	for (i = 0; i < HY_FIRST_PROBES - 1; i++) {
		unsigned int less = 0, same = 0;

		for (j = 0; j < HY_FIRST_PROBES; j++) {
			less += ns[j] < ns[i];
			same += ns[j] == ns[i];
		}
		if (less <= HY_FIRST_PROBES / 2 && less + same > HY_FIRST_PROBES / 2)
			break;
	}
	return ns[i];
}
