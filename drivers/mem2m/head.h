/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether somebody else has the head of a range by now, whatever its labels say. Pure. */
#ifndef MEM2M_HEAD_H
#define MEM2M_HEAD_H

#include "label.h"

bool m2_head_is_ours(const void *head, const struct m2_label_info *info);

#endif
