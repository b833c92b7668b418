// SPDX-License-Identifier: GPL-2.0-only
/* Pins; see policy_pin.h. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "policy_pin.h"
#include "policy_util.h"

static const char bad_text[] =
	"pin: none, or FIRST+COUNT:MEMBER or FIRST+COUNT/STRIDE*TIMES:MEMBER, extents, with commas";

/* A number, and what must follow it. */
static int number(const char **text, u64 max, char end, u64 *v)
{
	if (hy_parse_decimal(*text, text, 0, max, v) || **text != end)
		return -EINVAL;
	*text += !!end;
	return 0;
}

static int parse_one(const char **text, unsigned int members, struct hy_pin *pin)
{
	u64 first, nr, stride = 0, times = 1, member;

	if (number(text, HY_PIN_EXTENTS - 1, '+', &first) ||
	    hy_parse_decimal(*text, text, 0, U32_MAX, &nr) || !nr)
		return -EINVAL;
	if (**text == '/') {
		++*text;
		if (number(text, U32_MAX, '*', &stride) ||
		    hy_parse_decimal(*text, text, 0, U32_MAX, &times) || stride < nr || times < 2)
			return -EINVAL;
	}
	if (**text != ':')
		return -EINVAL;
	++*text;
	if (hy_parse_decimal(*text, text, 0, members - 1, &member) ||
	    stride > div64_u64(HY_PIN_EXTENTS - 1 - first, times))
		return -EINVAL;
	*pin = (struct hy_pin){ .first = first, .nr = nr, .stride = stride, .times = times,
				.member = member };
	return 0;
}

/* What would not fit into the superblock is refused before it is taken. */
static int take(struct hy_pins *pins, const struct hy_pins *new, const char **reason)
{
	if (new->nr > HY_PINS || hy_pins_emit(new, NULL, 0) >= HY_PINS_TEXT) {
		*reason = "pin: too many ranges";
		return -EINVAL;
	}
	*pins = *new;
	return 0;
}

/**
 * hy_pins_set - from text; see above
 * @pins: changed on success only
 * @text: "none": no pins
 * @members: how many there are
 * @reason: set to a static text on failure
 *
 * Return: 0 or -EINVAL.
 */
int hy_pins_set(struct hy_pins *pins, const char *text, unsigned int members, const char **reason)
{
	struct hy_pins new = {};

	*reason = bad_text;
	if (!strcmp(text, "none"))
		return take(pins, &new, reason);
	for (;;) {
		if (new.nr == HY_PINS) {
			*reason = "pin: too many ranges";
			return -EINVAL;
		}
		if (parse_one(&text, members, &new.pin[new.nr]))
			return -EINVAL;
		new.nr++;
		if (!*text)
			return take(pins, &new, reason);
		if (*text++ != ',')
			return -EINVAL;
	}
}

static u64 end_of(const struct hy_pin *p)
{
	return p->first + (u64)p->stride * (p->times - 1) + p->nr;
}

/* The first extent of the range from @le on; U64_MAX: none. */
static u64 next_in(const struct hy_pin *p, u64 le)
{
	u64 turn, at;

	if (le <= p->first)
		return p->first;
	turn = p->stride ? div64_u64(le - p->first, p->stride) : 0;
	turn = min_t(u64, turn, p->times - 1);
	at = p->first + turn * p->stride;
	if (le < at + p->nr)
		return le;
	return turn + 1 < p->times ? at + p->stride : U64_MAX;
}

/* Part of a range stays: nothing if it is empty. */
static int keep(struct hy_pins *new, const struct hy_pin *pin, u64 first, u64 end)
{
	if (first >= end)
		return 0;
	if (new->nr == HY_PINS)
		return -EINVAL;
	new->pin[new->nr] = *pin;
	new->pin[new->nr].first = first;
	new->pin[new->nr++].nr = end - first;
	return 0;
}

static int cut(struct hy_pins *new, const struct hy_pins *old, u64 first, u64 end,
	       const char **reason)
{
	const struct hy_pin *p;

	for (p = old->pin; p < old->pin + old->nr; p++) {
		u64 from = p->first, to = end_of(p);

		bool inside = from >= first && to <= end;

		/* What is between its repetitions is not its own. */
		if (p->times > 1 && !inside && next_in(p, first) < end) {
			*reason = "pin: part of a range that repeats; unpin all of it first";
			return -EINVAL;
		}
		*reason = "pin: too many ranges";
		if (p->times > 1 && !inside) {
			if (new->nr == HY_PINS)
				return -EINVAL;
			new->pin[new->nr++] = *p;
		} else if (p->times == 1 && (keep(new, p, from, min(to, first)) ||
					     keep(new, p, max(from, end), to))) {
			return -EINVAL;
		}
	}
	return 0;
}

/**
 * hy_pins_remove - hold a range no longer
 * @pins: changed on success only
 * @first: its first extent
 * @nr: how many
 * @reason: set to a static text on failure
 *
 * What holds more than that is cut; a range that repeats can only go as a whole.
 *
 * Return: 0 or -EINVAL.
 */
int hy_pins_remove(struct hy_pins *pins, u64 first, u64 nr, const char **reason)
{
	struct hy_pins new = {};
	u64 end = nr > HY_PIN_EXTENTS || first > HY_PIN_EXTENTS ? U64_MAX : first + nr;

	if (cut(&new, pins, first, end, reason))
		return -EINVAL;
	return take(pins, &new, reason);
}

/**
 * hy_pins_add - hold a range, wherever it was held before
 * @pins: changed on success only
 * @first: its first extent
 * @nr: how many
 * @member: where
 * @reason: set to a static text on failure
 *
 * Return: 0 or -EINVAL.
 */
int hy_pins_add(struct hy_pins *pins, u64 first, u32 nr, unsigned int member,
		const char **reason)
{
	struct hy_pins new = {};

	if (cut(&new, pins, first, first + nr, reason))
		return -EINVAL;
	*reason = "pin: too many ranges";
	if (new.nr == HY_PINS)
		return -EINVAL;
	new.pin[new.nr++] = (struct hy_pin){ .first = first, .nr = nr, .times = 1,
					     .member = member };
	return take(pins, &new, reason);
}

int hy_pins_emit(const struct hy_pins *pins, char *buf, size_t len)
{
	struct hy_text text = { .buf = buf, .size = len };
	const struct hy_pin *p;

	if (len)
		buf[0] = '\0';
	for (p = pins->pin; p < pins->pin + pins->nr; p++) {
		hy_text_add(&text, "%s%llu+%u", p == pins->pin ? "" : ",",
			    (unsigned long long)p->first, p->nr);
		if (p->times > 1)
			hy_text_add(&text, "/%u*%u", p->stride, p->times);
		hy_text_add(&text, ":%u", (unsigned int)p->member);
	}
	return text.len;
}

int hy_pins_find(const struct hy_pins *pins, u64 le)
{
	const struct hy_pin *p;

	for (p = pins->pin; p < pins->pin + pins->nr; p++)
		if (next_in(p, le) == le)
			return p->member;
	return -1;
}

u64 hy_pins_end(const struct hy_pins *pins)
{
	const struct hy_pin *p;
	u64 end = 0;

	for (p = pins->pin; p < pins->pin + pins->nr; p++)
		end = max(end, end_of(p));
	return end;
}

u64 hy_pins_next(const struct hy_pins *pins, u64 le)
{
	const struct hy_pin *p;
	u64 next = U64_MAX;

	for (p = pins->pin; p < pins->pin + pins->nr; p++)
		next = min(next, next_in(p, le));
	return next;
}
