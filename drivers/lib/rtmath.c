// SPDX-License-Identifier: GPL-2.0-only
/* Means and percentiles of a window of response times.  Pure. */
#include <linux/export.h>
#include <linux/math64.h>
#include "rtmath.h"

/**
 * ek_rt_mean - mean response time
 * @w: the window
 *
 * Context: any.
 * Return: ns, 0 without requests.
 */
u64 ek_rt_mean(const struct ek_rt_window *w)
{
	return w->count ? div64_u64(w->sum_ns, w->count) : 0;
}
EXPORT_SYMBOL_GPL(ek_rt_mean);

/* As far into bucket @b as @rank is into the @n requests that it holds. */
static u64 within_bucket(unsigned int b, u64 rank, u64 n)
{
	u64 low = b ? 1ULL << b : 0;
	u64 width = (1ULL << (b + 1)) - low;

	/* width < 2^41 and the fraction in 20 bits: no overflow. */
	return low + ((width * div64_u64(min_t(u64, rank, 1ULL << 43) << 20, n)) >> 20);
}

/**
 * ek_rt_percentile - response time that a part of the requests did not exceed
 * @w: the window
 * @permille: which part, 0 to 1000
 *
 * The rank is ceil(@permille * requests / 1000) of the histogram's requests;
 * within a bucket they are taken as evenly spread.
 *
 * Context: any.
 * Return: ns, 0 without requests.
 */
u64 ek_rt_percentile(const struct ek_rt_window *w, unsigned int permille)
{
	u64 total = 0, rank, before = 0;
	unsigned int b;

	for (b = 0; b < EK_RT_BUCKETS; b++)
		total += w->hist[b];
	if (!total)
		return 0;

	permille = min(permille, 1000u);
	rank = total / 1000 * permille + div_u64(total % 1000 * permille + 999, 1000);
	rank = max_t(u64, rank, 1);
	for (b = 0; b < EK_RT_BUCKETS - 1; b++) {
		if (before + w->hist[b] >= rank)
			break;
		before += w->hist[b];
	}
	return within_bucket(b, rank - before, w->hist[b]);
}
EXPORT_SYMBOL_GPL(ek_rt_percentile);
