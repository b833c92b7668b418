// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>

#include "words.h"

const char *dm_shift_arg(struct dm_arg_set *as)
{
	if (!as->argc)
		return NULL;
	as->argc--;
	return *as->argv++;
}

/*
 * Base 10, or 0 for what the text itself says: a sign "+" before and a newline behind are taken.
 */
int kstrtou64(const char *s, unsigned int base, u64 *v)
{
	u64 n = 0;
	int digit;

	if (*s == '+')
		s++;
	if (!base) {
		base = *s == '0' ? 8 : 10;
		if (*s == '0' && (s[1] | 0x20) == 'x' && hex_to_bin(s[2]) >= 0) {
			base = 16;
			s += 2;
		}
	}
	digit = hex_to_bin(*s);
	if (digit < 0 || digit >= (int)base)
		return -EINVAL;
	for (; digit >= 0 && digit < (int)base; digit = hex_to_bin(*++s))
		if (__builtin_mul_overflow(n, base, &n) || __builtin_add_overflow(n, digit, &n))
			return -ERANGE;
	if (*s == '\n')
		s++;
	if (*s)
		return -EINVAL;
	*v = n;
	return 0;
}

int kstrtou32(const char *s, unsigned int base, u32 *v)
{
	u64 n;
	int r = kstrtou64(s, base, &n);

	if (r || n > U32_MAX)
		return r ? r : -ERANGE;
	*v = n;
	return 0;
}

int kstrtouint(const char *s, unsigned int base, unsigned int *v)
{
	return kstrtou32(s, base, v);
}

char *kstrdup(const char *s, gfp_t gfp)
{
	char *copy = shim_alloc(strlen(s) + 1, false);

	(void)gfp;
	return copy ? strcpy(copy, s) : NULL;
}

unsigned int split_words(char *text, char **word, unsigned int max)
{
	unsigned int nr = 0;
	char *out;

	for (;;) {
		while (isspace((unsigned char)*text))
			text++;
		if (!*text || nr == max)
			return nr;
		word[nr++] = out = text;
		while (*text && !isspace((unsigned char)*text)) {
			if (*text == '\\' && text[1])
				text++;
			*out++ = *text++;
		}
		if (*text)
			text++;
		*out = 0;
	}
}
