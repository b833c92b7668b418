// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/module.h>

/* Map entries change by compare-and-exchange on 64 bits, space maps are words of 64. */
static_assert(BITS_PER_LONG == 64);

MODULE_DESCRIPTION("Evenkeel: extent map, space map, metadata store, response-time monitor, persistent memory");
MODULE_AUTHOR("The Evenkeel project");
MODULE_LICENSE("GPL");
