// SPDX-License-Identifier: GPL-2.0-only
/* See words.h. */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/time64.h>

#include "words.h"

/* More digits than any limit has, and fewer than would overflow. */
#define NL_DIGITS	15

/**
 * nl_word - take the next word from a line
 * @args: the rest of the line, advanced
 * @key: what is before its equals sign
 * @value: what is behind it; NULL: there is none
 *
 * Return: 1, or 0 at the end.
 */
int nl_word(char **args, char **key, char **value)
{
	do {
		*key = strsep(args, " ");
		if (!*key)
			return 0;
	} while (!**key);
	*value = strchr(*key, '=');
	if (*value)
		*(*value)++ = 0;
	return 1;
}

static int nl_parse_name(const char * const *names, unsigned int count, const char *text,
			 u64 *value)
{
	int i = match_string(names, count, text);

	if (i < 0)
		return -EINVAL;
	*value = i;
	return 0;
}

static int nl_time_factor(const char *suffix, u64 *factor)
{
	static const struct {
		const char *suffix;
		u64 ns;
	} units[] = {
		{ "", 1 }, { "ns", 1 }, { "us", NSEC_PER_USEC }, { "ms", NSEC_PER_MSEC },
		{ "s", NSEC_PER_SEC },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (!strcmp(suffix, units[i].suffix)) {
			*factor = units[i].ns;
			return 0;
		}
	}
	return -EINVAL;
}

static int nl_size_factor(const char *suffix, u64 *factor)
{
	static const char letters[] = "KMGT";
	const char *at = *suffix ? strchr(letters, toupper(*suffix)) : NULL;

	if (*suffix && (!at || suffix[1]))
		return -EINVAL;
	*factor = at ? 1024ULL << 10 * (at - letters) : 1;
	return 0;
}

/* Percent, of which a tenth is the smallest that can be said. */
static int nl_parse_permille(const char *rest, u64 *value)
{
	*value *= 10;
	if (*rest == '.' && isdigit(rest[1])) {
		*value += rest[1] - '0';
		rest += 2;
	}
	return *rest && strcmp(rest, "%") ? -EINVAL : 0;
}

static int nl_parse_number(enum nl_unit unit, const char *text, u64 *value)
{
	const char *rest = text;
	u64 factor = 1;
	int err = 0;

	for (*value = 0; isdigit(*rest); rest++)
		*value = *value * 10 + (*rest - '0');
	if (rest == text || rest - text > NL_DIGITS)
		return -EINVAL;
	if (unit == NL_PERMILLE)
		return nl_parse_permille(rest, value);
	if (unit == NL_TIME)
		err = nl_time_factor(rest, &factor);
	else if (unit == NL_SIZE)
		err = nl_size_factor(rest, &factor);
	else if (*rest)
		err = -EINVAL;
	if (!err && *value > U64_MAX / 2 / factor)
		err = -ERANGE;
	*value *= factor;
	return err;
}

/**
 * nl_parse - read a value with its unit
 * @unit: what is expected
 * @text: digits and a suffix: times ns (assumed), us, ms, s; sizes K to T, binary; percent with a
 *	decimal and a sign, both optional; or a name
 * @value: result in ns, bytes, thousandths, a count or an enum
 *
 * Return: 0, -EINVAL or -ERANGE.
 */
int nl_parse(enum nl_unit unit, const char *text, u64 *value)
{
	switch (unit) {
	case NL_FTL_KIND:
		return nl_parse_name(nl_ftl_names, NL_NR_FTLS, text, value);
	case NL_GC_KIND:
		return nl_parse_name(nl_gc_names, NL_NR_GCS, text, value);
	default:
		return nl_parse_number(unit, text, value);
	}
}

/**
 * nl_emit - show a value as nl_parse() takes it
 * @page: of a file of configfs
 * @at: where in it
 * @unit: of the value
 * @value: it
 *
 * Return: how much was added.
 */
ssize_t nl_emit(char *page, ssize_t at, enum nl_unit unit, u64 value)
{
	switch (unit) {
	case NL_FTL_KIND:
		return sysfs_emit_at(page, at, "%s", nl_ftl_names[value]);
	case NL_GC_KIND:
		return sysfs_emit_at(page, at, "%s", nl_gc_names[value]);
	case NL_PERMILLE:
		return sysfs_emit_at(page, at, "%llu.%llu", value / 10, value % 10);
	default:
		return sysfs_emit_at(page, at, "%llu", value);
	}
}
