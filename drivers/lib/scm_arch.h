/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instructions beneath scm.c: the kernel's own, which are patched to what the CPU has, and for
 * userspace the same chosen at run time.
 */
#ifndef EVENKEEL_SCM_ARCH_H
#define EVENKEEL_SCM_ARCH_H

#include <linux/types.h>
#include <evenkeel/scm.h>

/* Eight words, none of which stays in the cache. */
static inline void scm_arch_copy_line_nt(u64 *dst, const u64 *src)
{
	unsigned int i;

#pragma GCC unroll 8
	for (i = 0; i < SCM_LINE / sizeof(*dst); i++)
		asm volatile("movnti %1, %0" : "=m" (dst[i]) : "r" (src[i]));
}

#ifdef __KERNEL__
#include <linux/string.h>
#include <asm/barrier.h>
#include <asm/special_insns.h>

/* Durable at the next fence at any alignment: odd ends go through the cache and are flushed. */
static inline void scm_arch_copy_nt(void *dst, const void *src, size_t len)
{
	memcpy_flushcache(dst, src, len);
}

/* clwb() is also clflushopt, or clflush, by what the CPU has. */
static inline void scm_arch_flush(const void *addr, size_t len)
{
	const char *line = PTR_ALIGN_DOWN((const char *)addr, SCM_LINE);

	for (; line < (const char *)addr + len; line += SCM_LINE)
		clwb((void *)line);
}

static inline void scm_arch_fence(void)
{
	pmem_wmb();
}

#else
#include <cpuid.h>
#include <linux/minmax.h>

enum scm_arch_flush_kind { SCM_CLFLUSH, SCM_CLFLUSHOPT, SCM_CLWB };

static inline enum scm_arch_flush_kind scm_arch_flush_kind(void)
{
	unsigned int eax, ebx = 0, ecx, edx;

	if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
		return SCM_CLFLUSH;
	if (ebx & 1u << 24)
		return SCM_CLWB;
	return ebx & 1u << 23 ? SCM_CLFLUSHOPT : SCM_CLFLUSH;
}

static inline void scm_arch_flush(const void *addr, size_t len)
{
	static int known = -1;
	const char *p = (const char *)((uintptr_t)addr & ~(uintptr_t)(SCM_LINE - 1));

	if (known < 0)
		known = scm_arch_flush_kind();
	for (; p < (const char *)addr + len; p += SCM_LINE) {
		if (known == SCM_CLWB)
			asm volatile("clwb %0" : : "m" (*p) : "memory");
		else if (known == SCM_CLFLUSHOPT)
			asm volatile("clflushopt %0" : : "m" (*p) : "memory");
		else
			asm volatile("clflush %0" : : "m" (*p) : "memory");
	}
}

static inline void scm_arch_copy_nt(void *dst, const void *src, size_t len)
{
	size_t head = -(uintptr_t)dst & 7;
	u64 word;

	head = min(head, len);
	if (head) {
		memcpy(dst, src, head);
		scm_arch_flush(dst, head);
	}
	for (dst += head, src += head, len -= head; len >= 8; dst += 8, src += 8, len -= 8) {
		memcpy(&word, src, 8);
		asm volatile("movnti %1, %0" : "=m" (*(u64 *)dst) : "r" (word));
	}
	if (len) {
		memcpy(dst, src, len);
		scm_arch_flush(dst, len);
	}
}

static inline void scm_arch_fence(void)
{
	asm volatile("sfence" : : : "memory");
	if (shim_fence)
		shim_fence();
}
#endif

#endif
