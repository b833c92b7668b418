// SPDX-License-Identifier: GPL-2.0-only
/* Copies between persistent memory and users' buffers; kernel only. */
#include <linux/export.h>
#include <linux/uio.h>
#include <evenkeel/scm_iter.h>

#include "scm_record.h"

/**
 * scm_copy_from_iter - copy a user's bytes past the cache
 * @dst: persistent memory
 * @len: bytes
 * @from: where from
 *
 * They last once scm_fence() was called.
 * Context: process context; touches the user's memory.
 * Return: bytes copied; less than @len where the user's memory ends.
 */
size_t scm_copy_from_iter(void *dst, size_t len, struct iov_iter *from)
{
	size_t done = _copy_from_iter_flushcache(dst, len, from);

	if (scm_recording())
		scm_record(SCM_STORE_NT, dst, dst, done);
	return done;
}
EXPORT_SYMBOL_GPL(scm_copy_from_iter);

/**
 * scm_copy_to_iter - copy to a user's buffer, such that bad memory is an error and no panic
 * @src: persistent memory
 * @len: bytes
 * @to: where to
 *
 * Context: process context; touches the user's memory.
 * Return: bytes copied; less than @len where the user's memory ends or @src's is bad.
 */
size_t scm_copy_to_iter(const void *src, size_t len, struct iov_iter *to)
{
	return _copy_mc_to_iter(src, len, to);
}
EXPORT_SYMBOL_GPL(scm_copy_to_iter);
