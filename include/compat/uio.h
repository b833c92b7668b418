/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of a user's buffers that comes next. */
#ifndef EVENKEEL_COMPAT_UIO_H
#define EVENKEEL_COMPAT_UIO_H

#include <linux/minmax.h>
#include <linux/uio.h>

#include "compat.h"

#ifndef HAVE_ITER_IOV
#define iter_iov(iter)	((iter)->iov)
#endif

/* Not by iter_iov_len(), which is wrong for a single buffer that was begun. May be empty. */
static inline struct iovec compat_user_part(const struct iov_iter *i)
{
	const struct iovec *v;

	if (iter_is_ubuf(i))
		return (struct iovec){ i->ubuf + i->iov_offset, iov_iter_count(i) };
	v = iter_iov(i);
	return (struct iovec){ v->iov_base + i->iov_offset,
			       min(iov_iter_count(i), v->iov_len - i->iov_offset) };
}

#endif
