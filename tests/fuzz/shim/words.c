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

/* Base 10: digits, a sign "+" before and a newline behind are taken. */
int kstrtou64(const char *s, unsigned int base, u64 *v)
{
	u64 n = 0;

	(void)base;
	if (*s == '+')
		s++;
	if (*s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *s - '0', &n))
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
