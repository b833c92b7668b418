/* SPDX-License-Identifier: GPL-2.0-only */
/* What mem2m is told in words, checked; nothing is looked up or got. Pure. */
#ifndef MEM2M_WORDS_H
#define MEM2M_WORDS_H

#include <linux/bits.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <evenkeel/mem2m_format.h>

#define M2_ERROR_LEN	192
#define M2_UNIT_ALIGN	((u64)SZ_2M)
#define M2_UNIT_DEFAULT	((u64)SZ_1G)
#define M2_BLOCK	4096u
#define M2_MAX_BYTES	BIT_ULL(50)

/* What `create` was told; @dax points into the words. */
struct m2_settings {
	u64 bytes;
	u64 unit;
	u64 phys;
	const char *dax;
	bool has_phys;
	bool force;
};

int m2_words_bytes(const char *size, u64 *bytes, char *error);
int m2_words_create(struct m2_settings *s, char *args, char *error);
char *m2_words_preset(char **list, char **args);
int m2_words_target(char name[M2_NAME_SIZE], u64 *start, unsigned int argc, char **argv,
		    char **error);

#endif
