// SPDX-License-Identifier: GPL-2.0-only
/* See memlock.h. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "memlock.h"

#define STACK	(64u << 10)
#define HEAP	(512u << 10)	/* device-mapper's buffers, and tables */

/* Written to, and not left out as nobody reads it. */
static __attribute__((noinline)) void touch_stack(void)
{
	char stack[STACK];

	explicit_bzero(stack, sizeof(stack));
}

/* What is freed stays the program's, and is what it gets next. */
static void touch_heap(void)
{
	char *heap;

	mallopt(M_MMAP_THRESHOLD, 2 * HEAP);
	mallopt(M_TRIM_THRESHOLD, 2 * HEAP);
	heap = malloc(HEAP);
	if (heap)
		explicit_bzero(heap, HEAP);
	free(heap);
}

void memory_lock(void)
{
	mlockall(MCL_CURRENT | MCL_FUTURE);
	touch_stack();
	touch_heap();
}

void memory_unlock(void)
{
	munlockall();
}
