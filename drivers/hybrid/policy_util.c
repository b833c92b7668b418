// SPDX-License-Identifier: GPL-2.0-only
/* What the policies share; see policy_util.h. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/stdarg.h>
#include <linux/string.h>
#include "policy_util.h"

#define FEW_CAME	4	/* parts of what ended: less says nothing of shares */
#define STEADY		8	/* likewise: by so little the number in flight differs */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int add_digit(u64 *value, unsigned int digit, u64 max)
{
	if (*value > div_u64(U64_MAX - digit, 10))
		return -EINVAL;
	*value = *value * 10 + digit;
	return *value > max ? -EINVAL : 0;
}

int hy_parse_decimal(const char *text, const char **end, unsigned int places, u64 max,
		     u64 *value)
{
	unsigned int left = places;
	bool point = false;
	u64 v = 0;

	if (!is_digit(*text))
		return -EINVAL;
	for (; is_digit(*text) || (*text == '.' && !point); text++) {
		if (*text == '.') {
			point = true;
			if (!is_digit(text[1]))
				return -EINVAL;
			continue;
		}
		if (point && !left--)
			return -EINVAL;
		if (add_digit(&v, *text - '0', max))
			return -EINVAL;
	}
	while (left--)
		if (add_digit(&v, 0, max))
			return -EINVAL;
	if (end)
		*end = text;
	else if (*text)
		return -EINVAL;
	*value = v;
	return 0;
}

void hy_text_add(struct hy_text *text, const char *fmt, ...)
{
	size_t used = min(text->len, text->size);
	va_list args;

	va_start(args, fmt);
	text->len += vsnprintf(used < text->size ? text->buf + used : NULL,
			       text->size - used, fmt, args);
	va_end(args);
}

void hy_text_add_key(struct hy_text *text, const char *key)
{
	hy_text_add(text, "%s%s ", text->len ? " " : "", key);
}

void hy_text_add_decimal(struct hy_text *text, u64 value, unsigned int places)
{
	u64 one = 1, whole, rest;
	unsigned int i;

	for (i = 0; i < places; i++)
		one *= 10;
	whole = div64_u64(value, one);
	rest = value - whole * one;
	hy_text_add(text, "%llu", (unsigned long long)whole);
	if (!rest)
		return;
	while (rest == div_u64(rest, 10) * 10) {
		rest = div_u64(rest, 10);
		places--;
	}
	hy_text_add(text, ".%0*llu", (int)places, (unsigned long long)rest);
}

/* The member with the largest remainder, which is then used up. */
static unsigned int take_largest(u64 *rest, unsigned int nr)
{
	unsigned int i, best = 0;

	for (i = 1; i < nr; i++)
		if (rest[i] > rest[best])
			best = i;
	rest[best] = 0;
	return best;
}

void hy_apportion(u32 *parts, const u64 *weight, unsigned int nr, u32 total)
{
	u64 rest[EK_MAX_MEMBERS], sum = 0;
	u32 left = total;
	unsigned int i;

	for (i = 0; i < nr; i++)
		sum += weight[i];
	if (!sum) {
		memset(parts, 0, nr * sizeof(*parts));
		return;
	}
	for (i = 0; i < nr; i++) {
		parts[i] = div64_u64(weight[i] * total, sum);
		rest[i] = weight[i] * total - parts[i] * sum;
		left -= parts[i];
	}
	/* What is left is less than the number of non-zero remainders. */
	while (left--)
		parts[take_largest(rest, nr)]++;
}

void hy_measure_shares(u32 *share, const struct hy_traffic *traffic, unsigned int nr)
{
	u64 ended[EK_MAX_MEMBERS], came[EK_MAX_MEMBERS];
	u64 all_ended = 0, all_came = 0, drift = 0;
	bool known = false, busy = false;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const struct hy_traffic *t = &traffic[i];
		s64 more = t->after - t->before;

		ended[i] = t->ended;
		came[i] = max_t(s64, t->ended + more, 0);
		all_ended += ended[i];
		all_came += came[i];
		drift += abs(more);
		known |= share[i];
		busy |= t->after > 0;
	}
	if (drift * STEADY > all_ended && all_came * FEW_CAME >= all_ended)
		hy_apportion(share, came, nr, HY_PPM);
	else if (drift * STEADY > all_ended ? !known : all_ended || !busy)
		hy_apportion(share, ended, nr, HY_PPM);
}

void hy_spread_targets(u32 *target, const u32 *weight, const struct hy_snapshot *snap)
{
	u64 w[EK_MAX_MEMBERS], sum = 0;
	unsigned int i;

	for (i = 0; i < snap->nr; i++) {
		w[i] = snap->dev[i].usable ? weight[i] : 0;
		sum += w[i];
	}
	if (!sum)
		for (i = 0; i < snap->nr; i++)
			w[i] = snap->dev[i].usable;
	hy_apportion(target, w, snap->nr, HY_PPM);
}

static int most_room(const struct hy_snapshot *snap)
{
	int best = -1;
	unsigned int i;

	for (i = 0; i < snap->nr; i++)
		if (hy_has_room(&snap->dev[i]) &&
		    (best < 0 || snap->dev[i].free > snap->dev[best].free))
			best = i;
	return best;
}

int hy_credit_place(struct hy_credit *credit, const u32 *target,
		    const struct hy_snapshot *snap)
{
	u64 price = 0;
	int best = -1;
	unsigned int i;

	for (i = 0; i < snap->nr; i++) {
		if (!target[i] || !hy_has_room(&snap->dev[i]))
			continue;
		price += target[i];
		credit->credit[i] += target[i];
		if (best < 0 || credit->credit[i] > credit->credit[best])
			best = i;
	}
	if (best < 0)
		return most_room(snap);
	/* What was given out is taken in: the credits can't drift. */
	credit->credit[best] -= price;
	return best;
}
