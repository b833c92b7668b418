/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EVENKEEL_COPY_H
#define _EVENKEEL_COPY_H

#include <linux/string.h>

/**
 * ek_copy - copy a bulk of bytes
 * @dst: where to
 * @src: from where; does not overlap
 * @len: bytes, most often a multiple of 8
 *
 * For lengths that the compiler doesn't know, out of which it may make a byte-wise string copy.
 * Context: any.
 */
static inline void ek_copy(void *dst, const void *src, size_t len)
{
#ifdef CONFIG_X86_64
	size_t words = len / 8;

	asm volatile("rep movsq" : "+D" (dst), "+S" (src), "+c" (words) : : "memory");
	len &= 7;
	if (likely(!len))
		return;
#endif
	memcpy(dst, src, len);
}

#endif
