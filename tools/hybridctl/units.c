// SPDX-License-Identifier: GPL-2.0-only
/* Sizes and times as people write and read them. */
#include <stdio.h>
#include <string.h>

#include "units.h"

static bool digits(const char **text, uint64_t *value)
{
	const char *p = *text;
	uint64_t v = 0;

	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return false;
	*value = v;
	*text = p;
	return true;
}

bool parse_u64(const char *text, uint64_t *value)
{
	if (text[0] == '0' && text[1])
		return false;
	return digits(&text, value) && !*text;
}

bool parse_size(const char *text, uint64_t *bytes)
{
	static const char suffix[] = "KMGTP";
	const char *s;
	uint64_t v;

	if (!digits(&text, &v))
		return false;
	if (*text) {
		s = strchr(suffix, *text >= 'a' ? *text - 'a' + 'A' : *text);
		if (!s || __builtin_mul_overflow(v, 1ULL << 10 * (s - suffix + 1), &v))
			return false;
		text++;
		if (*text && strcmp(text, "iB"))
			return false;
	}
	*bytes = v;
	return true;
}

static char *scaled(char *buf, uint64_t value, unsigned int step, const char * const *unit)
{
	uint64_t scale = 1;

	while (unit[1] && value / scale >= step) {
		scale *= step;
		unit++;
	}
	if (scale == 1 || value / scale >= 100 || !(value % scale))
		snprintf(buf, UNIT_TEXT, "%llu%s", (unsigned long long)(value / scale), *unit);
	else
		snprintf(buf, UNIT_TEXT, "%.1f%s", (double)value / (double)scale, *unit);
	return buf;
}

char *human_bytes(char *buf, uint64_t bytes)
{
	static const char * const unit[] = { "B", "K", "M", "G", "T", "P", "E", NULL };

	return scaled(buf, bytes, 1024, unit);
}

char *human_ns(char *buf, uint64_t ns)
{
	static const char * const unit[] = { "ns", "us", "ms", "s", NULL };

	return scaled(buf, ns, 1000, unit);
}

char *human_count(char *buf, uint64_t count)
{
	static const char * const unit[] = { "", "k", "M", "G", "T", NULL };

	return scaled(buf, count, 1000, unit);
}

void bar(char *buf, unsigned int width, uint64_t part_ppm, uint64_t mark_ppm)
{
	unsigned int full, mark;

	if (part_ppm > 1000000)
		part_ppm = 1000000;
	full = (part_ppm * width + 500000) / 1000000;
	memset(buf, '#', full);
	memset(buf + full, '.', width - full);
	if (mark_ppm <= 1000000) {
		mark = mark_ppm * width / 1000000;
		buf[mark < width ? mark : width - 1] = '|';
	}
	buf[width] = 0;
}
