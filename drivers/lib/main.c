// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/module.h>

#include "range_internal.h"

/* Map entries change by compare-and-exchange on 64 bits, space maps are words of 64. */
static_assert(BITS_PER_LONG == 64);

static int __init evenkeel_init(void)
{
	return scm_range_init();
}

static void __exit evenkeel_exit(void)
{
	scm_range_exit();
}

module_init(evenkeel_init);
module_exit(evenkeel_exit);

MODULE_DESCRIPTION("Evenkeel: extent map, space map, metadata store, response-time monitor, persistent memory");
MODULE_AUTHOR("The Evenkeel project");
MODULE_LICENSE("GPL");
