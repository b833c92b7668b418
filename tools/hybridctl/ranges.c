// SPDX-License-Identifier: GPL-2.0-only
/* Ranges of extents; see ranges.h. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "msg.h"
#include "ranges.h"

#define STARTS		64	/* ranges that a repetition is looked for from */
#define STRIDES		48	/* and distances to those that follow */

void ranges_add(struct ranges *r, uint64_t first, uint64_t nr)
{
	if (!nr)
		return;
	if (r->nr == r->max) {
		r->max = r->max ? 2 * r->max : 64;
		r->range = xrealloc(r->range, r->max * sizeof(*r->range));
	}
	r->range[r->nr++] = (struct range){ first, nr };
}

void ranges_free(struct ranges *r)
{
	free(r->range);
	memset(r, 0, sizeof(*r));
}

static int by_first(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

void ranges_settle(struct ranges *r)
{
	unsigned long i, n = 0;

	qsort(r->range, r->nr, sizeof(*r->range), by_first);
	for (i = 0; i < r->nr; i++) {
		struct range *last = n ? &r->range[n - 1] : NULL;
		uint64_t end = r->range[i].first + r->range[i].nr;

		if (!last || r->range[i].first > last->first + last->nr)
			r->range[n++] = r->range[i];
		else if (end > last->first + last->nr)
			last->nr = end - last->first;
	}
	r->nr = n;
}

uint64_t ranges_sum(const struct ranges *r)
{
	uint64_t sum = 0;
	unsigned long i;

	for (i = 0; i < r->nr; i++)
		sum += r->range[i].nr;
	return sum;
}

/* The first of them that ends behind @first. */
static unsigned long behind(const struct ranges *r, uint64_t first)
{
	unsigned long low = 0, high = r->nr;

	while (low < high) {
		unsigned long mid = low + (high - low) / 2;

		if (r->range[mid].first + r->range[mid].nr <= first)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint64_t ranges_overlap(const struct ranges *r, uint64_t first, uint64_t nr)
{
	uint64_t end = first + nr, sum = 0, from, to;
	unsigned long i;

	for (i = behind(r, first); i < r->nr && r->range[i].first < end; i++) {
		from = r->range[i].first > first ? r->range[i].first : first;
		to = r->range[i].first + r->range[i].nr;
		sum += (to < end ? to : end) - from;
	}
	return sum;
}

static bool holds(const struct ranges *r, uint64_t first, uint64_t nr)
{
	unsigned long low = behind(r, first);

	return low < r->nr && r->range[low].first <= first &&
	       first + nr <= r->range[low].first + r->range[low].nr;
}

struct repeated {
	uint64_t first, nr, stride, times;
};

static uint64_t sum_of(const struct repeated *p)
{
	return p->nr * p->times;
}

/* The range at @i, again and again by the distance to the one at @j. */
static struct repeated repeats(const struct ranges *r, unsigned long i, unsigned long j)
{
	struct repeated p = { .first = r->range[i].first, .nr = r->range[i].nr, .times = 1 };

	p.stride = r->range[j].first - p.first;
	/* One that is cut short would end the row. */
	if (r->range[j].nr < p.nr)
		p.nr = r->range[j].nr;
	while (p.nr <= UINT32_MAX && p.stride <= UINT32_MAX && p.times < UINT32_MAX &&
	       holds(r, p.first + p.times * p.stride, p.nr))
		p.times++;
	return p;
}

static struct repeated best_of(const struct ranges *r)
{
	struct repeated best = { .times = 1 }, p;
	unsigned long i, j;

	for (i = 0; i < r->nr; i++) {
		p = (struct repeated){ .first = r->range[i].first, .nr = r->range[i].nr,
				       .times = 1 };
		if (p.nr > UINT32_MAX)
			p.nr = UINT32_MAX;
		if (sum_of(&p) > sum_of(&best))
			best = p;
		for (j = i + 1; i < STARTS && j < r->nr && j <= i + STRIDES; j++) {
			p = repeats(r, i, j);
			if (p.times > 1 && sum_of(&p) > sum_of(&best))
				best = p;
		}
	}
	return best;
}

static void subtract_one(struct ranges *left, const struct range *a, const struct repeated *p)
{
	uint64_t at = a->first, end = a->first + a->nr, from, to, k = 0;

	if (p->times > 1 && at > p->first)
		k = (at - p->first) / p->stride;
	for (; k < p->times && at < end; k++) {
		from = p->first + k * p->stride;
		to = from + p->nr;
		if (from >= end)
			break;
		if (to <= at)
			continue;
		if (from > at)
			ranges_add(left, at, from - at);
		at = to;
	}
	if (at < end)
		ranges_add(left, at, end - at);
}

static void subtract(struct ranges *r, const struct repeated *p)
{
	struct ranges left = { 0 };
	unsigned long i;

	for (i = 0; i < r->nr; i++)
		subtract_one(&left, &r->range[i], p);
	ranges_free(r);
	*r = left;
}

void ranges_to_pins(struct ranges *r, unsigned int member, char *text)
{
	unsigned int n, len = 0;
	char one[96];

	text[0] = '\0';
	for (n = 0; n < PINS_MAX && r->nr; n++) {
		struct repeated p = best_of(r);
		int l = snprintf(one, sizeof(one), "%s%llu+%llu", n ? "," : "",
				 (unsigned long long)p.first, (unsigned long long)p.nr);

		if (p.times > 1)
			l += snprintf(one + l, sizeof(one) - l, "/%llu*%llu",
				      (unsigned long long)p.stride, (unsigned long long)p.times);
		l += snprintf(one + l, sizeof(one) - l, ":%u", member);
		if (len + l >= PINS_TEXT)
			break;
		memcpy(text + len, one, l + 1);
		len += l;
		subtract(r, &p);
	}
}
