/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EVENKEEL_SHIM_STRING_H
#define EVENKEEL_SHIM_STRING_H

#include "../shim.h"

extern u64 shim_moved;	/* bytes, by memmove() */
#define memmove(to, from, n) ({							\
	size_t shim_n = (n);							\
										\
	__atomic_fetch_add(&shim_moved, shim_n, __ATOMIC_RELAXED);		\
	(memmove)(to, from, shim_n); })

#endif
