/* SPDX-License-Identifier: GPL-2.0-only */
/* Between persistent memory and users' buffers (scm.h has the rules). */
#ifndef _EVENKEEL_SCM_ITER_H
#define _EVENKEEL_SCM_ITER_H

#include <linux/types.h>

struct iov_iter;

size_t scm_copy_from_iter(void *dst, size_t len, struct iov_iter *from);
size_t scm_copy_to_iter(const void *src, size_t len, struct iov_iter *to);

#endif
