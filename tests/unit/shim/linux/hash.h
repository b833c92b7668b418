/* SPDX-License-Identifier: GPL-2.0-only */
#include <shim.h>

static inline u32 hash_64(u64 val, unsigned int bits)
{
	return val * 0x61c8864680b583ebULL >> (64 - bits);
}
