/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A user's bytes past the cache, also where the user's memory ends or isn't there.
 *
 * The kernel's own __copy_user_nocache() goes on through the cache from the 64 bytes in which a
 * page was missing (6.1), to the end if somebody maps that page meanwhile, and nobody is told: what
 * it says to have copied need not last. Here what can't be read is not stored, and what is stored
 * is either non-temporal or flushed, whatever happens to the source on the way. A line costs the
 * same 20 instructions.
 */
#ifndef EVENKEEL_SCM_USER_H
#define EVENKEEL_SCM_USER_H

#include <linux/minmax.h>
#include <linux/uaccess.h>
#include <asm/asm.h>

#include "scm_arch.h"

/* Of an asm goto: a load that faults goes to its label. */
#define SCM_FAULTS(load, label)	_ASM_EXTABLE_UA(load, %l[label])

/* What is read before any of it is stored is half a line. Return: bytes stored. */
static __always_inline size_t scm_user_line(void *dst, const void __user *src)
{
	asm goto("10: movq (%1), %%r8\n"
		 "11: movq 8(%1), %%r9\n"
		 "12: movq 16(%1), %%r10\n"
		 "13: movq 24(%1), %%r11\n"
		 "movnti %%r8, (%0)\n"
		 "movnti %%r9, 8(%0)\n"
		 "movnti %%r10, 16(%0)\n"
		 "movnti %%r11, 24(%0)\n"
		 "14: movq 32(%1), %%r8\n"
		 "15: movq 40(%1), %%r9\n"
		 "16: movq 48(%1), %%r10\n"
		 "17: movq 56(%1), %%r11\n"
		 "movnti %%r8, 32(%0)\n"
		 "movnti %%r9, 40(%0)\n"
		 "movnti %%r10, 48(%0)\n"
		 "movnti %%r11, 56(%0)\n"
		 SCM_FAULTS(10b, none) SCM_FAULTS(11b, none)
		 SCM_FAULTS(12b, none) SCM_FAULTS(13b, none)
		 SCM_FAULTS(14b, half) SCM_FAULTS(15b, half)
		 SCM_FAULTS(16b, half) SCM_FAULTS(17b, half)
		 : : "r" (dst), "r" (src) : "memory", "r8", "r9", "r10", "r11" : none, half);
	return SCM_LINE;
half:
	return SCM_LINE / 2;
none:
	return 0;
}

/* All of 8, of 4 aligned bytes, or of one, which stays in the cache; or nothing. */
static __always_inline bool scm_user_word(void *dst, const void __user *src)
{
	asm goto("1: movq (%1), %%rax\n"
		 "movnti %%rax, (%0)\n"
		 SCM_FAULTS(1b, none)
		 : : "r" (dst), "r" (src) : "memory", "rax" : none);
	return true;
none:
	return false;
}

static __always_inline bool scm_user_half(void *dst, const void __user *src)
{
	asm goto("1: movl (%1), %%eax\n"
		 "movnti %%eax, (%0)\n"
		 SCM_FAULTS(1b, none)
		 : : "r" (dst), "r" (src) : "memory", "rax" : none);
	return true;
none:
	return false;
}

static __always_inline bool scm_user_byte(void *dst, const void __user *src)
{
	asm goto("1: movb (%1), %%al\n"
		 "movb %%al, (%0)\n"
		 SCM_FAULTS(1b, none)
		 : : "r" (dst), "r" (src) : "memory", "rax" : none);
	return true;
none:
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
	void *at = dst, *lines = dst + round_down(len, SCM_LINE), *words = dst + round_down(len, 8);
	size_t done = SCM_LINE;

	for (; at < lines && done == SCM_LINE; at += done, src += done)
		done = scm_user_line(at, src);
	for (; at < words && scm_user_word(at, src); at += 8)
		src += 8;
	done = at - dst;
	if (at < words || (len & 4 && !scm_user_half(at, src)))
		return done;
	done += len & 4;
	return done + scm_user_bytes(dst + done, src + (len & 4), len & 3);
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
