/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * Where data begins in reserved memory: behind what is left there for labels and for the kernel's
 * struct pages. It follows from the size alone and is written nowhere, so it never changes.
 *
 *	| labels | struct pages ... | data ...
 *	0        reserve            next multiple of 2 MiB
 */
#ifndef _UAPI_EVENKEEL_RANGE_FORMAT_H
#define _UAPI_EVENKEEL_RANGE_FORMAT_H

#include <linux/types.h>

#define SCM_RANGE_ALIGN		(2ULL << 20)	/* of address and size */
#define SCM_RANGE_PAGE		4096u
#define SCM_RANGE_PAGE_BYTES	64u		/* left for its struct page */

/* @bytes: of the range; @reserve: bytes of labels. Return: bytes before the data. */
static inline __u64 scm_range_data(__u64 bytes, __u64 reserve)
{
	__u64 head = reserve + bytes / SCM_RANGE_PAGE * SCM_RANGE_PAGE_BYTES;

	return (head + SCM_RANGE_ALIGN - 1) / SCM_RANGE_ALIGN * SCM_RANGE_ALIGN;
}

#endif
