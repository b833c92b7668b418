/* SPDX-License-Identifier: GPL-2.0-only */
/* What a size says, in arithmetic wider than any decoder's. */
#ifndef EVENKEEL_FUZZ_WIDE_H
#define EVENKEEL_FUZZ_WIDE_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WIDE_MAX	((unsigned __int128)1 << 100)	/* this much or more */

/* Is @text a number with a unit behind it or none, and how much? */
static inline bool wide_size(const char *text, unsigned __int128 *size)
{
	static const char digits[] = "0123456789abcdef", units[] = "kmgtpe";
	unsigned int base = 10, i;
	const char *at, *unit;

	if (!isdigit((unsigned char)*text))
		return false;
	if (!strncasecmp(text, "0x", 2) && isxdigit((unsigned char)text[2])) {
		base = 16;
		text += 2;
	} else if (*text == '0') {
		base = 8;
	}
	for (*size = 0; *text; text++) {
		at = strchr(digits, tolower((unsigned char)*text));
		if (!at || at - digits >= base)
			break;
		*size = *size * base + (at - digits);
		if (*size > WIDE_MAX)
			*size = WIDE_MAX;
	}
	if (!*text)
		return true;
	unit = strchr(units, tolower((unsigned char)*text));
	if (!unit || text[1])
		return false;
	for (i = 0; i <= unit - units; i++)
		if (*size < WIDE_MAX)
			*size <<= 10;
	return true;
}

#endif
