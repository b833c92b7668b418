/* SPDX-License-Identifier: GPL-2.0-only */
/* SRCU readers that begin in one context and end in another. */
#ifndef _EVENKEEL_COMPAT_SRCU_H
#define _EVENKEEL_COMPAT_SRCU_H

#include <linux/srcu.h>
#include <compat/compat.h>

#ifndef HAVE_SRCU_DOWN_READ
static inline int srcu_down_read(struct srcu_struct *ssp)
{
	return __srcu_read_lock(ssp);
}

static inline void srcu_up_read(struct srcu_struct *ssp, int idx)
{
	__srcu_read_unlock(ssp, idx);
}
#endif

#endif
