/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EVENKEEL_SIZE_H
#define EVENKEEL_SIZE_H

#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/types.h>

static inline int ek_size_shift(const char *unit, unsigned int *shift)
{
	static const char letters[] = "KMGTPE";
	const char *at;

	*shift = 0;
	if (!*unit)
		return 0;
	at = strchr(letters, toupper((unsigned char)*unit));
	if (!at || unit[1])
		return -EINVAL;
	*shift = 10 * (at - letters + 1);
	return 0;
}

/**
 * ek_parse_size - read a number of bytes, or an address
 * @text: a number as memparse() has it, in base 10, 16 behind 0x or 8 behind 0, with K, M, G, T, P
 *	or E behind it or nothing
 * @bytes: what it says
 *
 * memparse() itself reads what does not fit into 64 bits as some other number, and a unit without a
 * number as 0.
 * Context: any.
 * Return: 0, -EINVAL or -ERANGE.
 */
static inline int ek_parse_size(const char *text, u64 *bytes)
{
	u64 base = 10, n = 0, digit;
	unsigned int shift;

	if (!isdigit(*text))
		return -EINVAL;
	if (*text == '0') {
		bool hex = (text[1] == 'x' || text[1] == 'X') && isxdigit((unsigned char)text[2]);

		base = hex ? 16 : 8;
		text += hex ? 2 : 0;
	}
	for (; isxdigit((unsigned char)*text); text++) {
		digit = hex_to_bin(*text);
		if (digit >= base)	/* E is a unit, too */
			break;
		if (check_mul_overflow(n, base, &n) || check_add_overflow(n, digit, &n))
			return -ERANGE;
	}
	if (ek_size_shift(text, &shift))
		return -EINVAL;
	if (n << shift >> shift != n)
		return -ERANGE;
	*bytes = n << shift;
	return 0;
}

#endif /* EVENKEEL_SIZE_H */
