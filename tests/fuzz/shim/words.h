/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What reading words takes beyond the policies' shim, as the kernel does it.
 */
#ifndef _FUZZ_WORDS_H
#define _FUZZ_WORDS_H

#include <shim.h>

typedef u64 sector_t;

struct dm_arg_set {
	unsigned int argc;
	char **argv;
};

const char *dm_shift_arg(struct dm_arg_set *as);
int kstrtou64(const char *s, unsigned int base, u64 *v);
int kstrtou32(const char *s, unsigned int base, u32 *v);
int kstrtouint(const char *s, unsigned int base, unsigned int *v);
char *kstrdup(const char *s, gfp_t gfp);

/* Not the kernel's: words as its splitter leaves them, blanks quoted by "\". */
unsigned int split_words(char *text, char **word, unsigned int max);

#endif
