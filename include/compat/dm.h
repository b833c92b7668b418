/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EVENKEEL_COMPAT_DM_H
#define _EVENKEEL_COMPAT_DM_H

#include <linux/blkdev.h>
#include <linux/device-mapper.h>
#include <compat/compat.h>

/* Was the table made for writing? */
static inline bool ek_dm_table_writable(struct dm_table *table)
{
#ifdef HAVE_BLK_MODE_T
	return dm_table_get_mode(table) & BLK_OPEN_WRITE;
#else
	return dm_table_get_mode(table) & FMODE_WRITE;
#endif
}

static inline void ek_limits_set_max_discard(struct queue_limits *limits, unsigned int sectors)
{
#ifdef HAVE_USER_DISCARD_LIMIT
	limits->max_hw_discard_sectors = sectors;
#endif
	limits->max_discard_sectors = sectors;
}

#endif
