/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A user's bytes past the cache, also where the user's memory ends or isn't there.
 *
 * The kernel's own __copy_user_nocache() goes on through the cache from the 64 bytes in which a
 * page was missing (6.1), to the end if somebody maps that page meanwhile, and nobody is told: what
 * it says to have copied need not last. Here what can't be read is not stored, and what is stored
 * is either non-temporal or flushed, whatever happens to the source on the way. A line costs the
 * same number of instructions.
 */
#ifndef EVENKEEL_SCM_USER_H
#define EVENKEEL_SCM_USER_H

#include <linux/minmax.h>
#include <linux/uaccess.h>
#include <asm/asm.h>

#include "scm_arch.h"

/* Of an asm goto: a load that faults goes to its label @fault. */
#define SCM_FAULTS(load)	_ASM_EXTABLE_UA(load, %l[fault])

/* All of a line is read before any of it is stored. False: it can't be read, nothing is stored. */
static __always_inline bool scm_user_line(void *dst, const void __user *src)
{
	asm goto("10: movq (%1), %%rax\n"
		 "11: movq 8(%1), %%rcx\n"
		 "12: movq 16(%1), %%rdx\n"
		 "13: movq 24(%1), %%rsi\n"
		 "14: movq 32(%1), %%r8\n"
		 "15: movq 40(%1), %%r9\n"
		 "16: movq 48(%1), %%r10\n"
		 "17: movq 56(%1), %%r11\n"
		 "movnti %%rax, (%0)\n"
		 "movnti %%rcx, 8(%0)\n"
		 "movnti %%rdx, 16(%0)\n"
		 "movnti %%rsi, 24(%0)\n"
		 "movnti %%r8, 32(%0)\n"
		 "movnti %%r9, 40(%0)\n"
		 "movnti %%r10, 48(%0)\n"
		 "movnti %%r11, 56(%0)\n"
		 SCM_FAULTS(10b) SCM_FAULTS(11b) SCM_FAULTS(12b) SCM_FAULTS(13b)
		 SCM_FAULTS(14b) SCM_FAULTS(15b) SCM_FAULTS(16b) SCM_FAULTS(17b)
		 : : "r" (dst), "r" (src)
		 : "memory", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11" : fault);
	return true;
fault:
	return false;
}

/* The same of 8, of 4 aligned bytes, and of one, which stays in the cache. */
static __always_inline bool scm_user_word(void *dst, const void __user *src)
{
	asm goto("1: movq (%1), %%rax\n"
		 "movnti %%rax, (%0)\n"
		 SCM_FAULTS(1b)
		 : : "r" (dst), "r" (src) : "memory", "rax" : fault);
	return true;
fault:
	return false;
}

static __always_inline bool scm_user_half(void *dst, const void __user *src)
{
	asm goto("1: movl (%1), %%eax\n"
		 "movnti %%eax, (%0)\n"
		 SCM_FAULTS(1b)
		 : : "r" (dst), "r" (src) : "memory", "rax" : fault);
	return true;
fault:
	return false;
}

static __always_inline bool scm_user_byte(void *dst, const void __user *src)
{
	asm goto("1: movb (%1), %%al\n"
		 "movb %%al, (%0)\n"
		 SCM_FAULTS(1b)
		 : : "r" (dst), "r" (src) : "memory", "rax" : fault);
	return true;
fault:
	return false;
}

/* Fewer than 8, all in one line. */
static __always_inline size_t scm_user_bytes(void *dst, const void __user *src, size_t len)
{
	size_t done = 0;

	while (done < len && scm_user_byte(dst + done, src + done))
		done++;
	if (done)
		scm_arch_flush(dst, done);
	return done;
}

/* From an aligned word on. A line that can't be read as one is read word by word. */
static __always_inline size_t scm_user_words(void *dst, const void __user *src, size_t len)
{
	size_t done = 0;

	while (len - done >= SCM_LINE && scm_user_line(dst + done, src + done))
		done += SCM_LINE;
	while (len - done >= 8 && scm_user_word(dst + done, src + done))
		done += 8;
	if (len - done >= 4 && len - done < 8 && scm_user_half(dst + done, src + done))
		done += 4;
	if (len - done < 4)
		done += scm_user_bytes(dst + done, src + done, len - done);
	return done;
}

/* Durable at the next fence. The user's memory is open. Return: bytes stored, from the first on. */
static __always_inline size_t scm_user_copy(void *dst, const void __user *src, size_t len)
{
	size_t head = min_t(size_t, -(uintptr_t)dst & 7, len), done = 0;

	if (head)
		done = scm_user_bytes(dst, src, head);
	return done < head ? done : done + scm_user_words(dst + done, src + done, len - done);
}

#endif
