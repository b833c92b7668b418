/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What reading words takes beyond the policies' shim, as the kernel does it.
 */
#ifndef _FUZZ_WORDS_H
#define _FUZZ_WORDS_H

#include <shim.h>

typedef u64 sector_t;

#define IS_ALIGNED(x, a) (((x) & ((__typeof__(x))(a) - 1)) == 0)
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

struct dm_arg_set {
	unsigned int argc;
	char **argv;
};

const char *dm_shift_arg(struct dm_arg_set *as);
int kstrtou64(const char *s, unsigned int base, u64 *v);
int kstrtou32(const char *s, unsigned int base, u32 *v);
int kstrtouint(const char *s, unsigned int base, unsigned int *v);
int scnprintf(char *buf, size_t size, const char *fmt, ...) __printf(3, 4);
char *kstrdup(const char *s, gfp_t gfp);

/* Not the kernel's: words as its splitter leaves them, blanks quoted by "\". */
unsigned int split_words(char *text, char **word, unsigned int max);

#endif
