// SPDX-License-Identifier: GPL-2.0-only
/* Copies between persistent memory and users' buffers; kernel only. */
#include <linux/export.h>
#include <linux/kasan-checks.h>
#include <linux/uio.h>
#include <evenkeel/scm_iter.h>

#include <compat/uio.h>

#include "scm_record.h"
#include "scm_user.h"

static size_t copy_part(void *dst, const struct iovec *part)
{
	size_t done;

	kasan_check_write(dst, part->iov_len);
	if (!user_access_begin(part->iov_base, part->iov_len))
		return 0;
	done = scm_user_copy(dst, part->iov_base, part->iov_len);
	user_access_end();
	return done;
}

/* Up to where the user's memory ends, or is not there and must not be brought in now. */
static size_t copy_from_user_parts(void *dst, size_t len, struct iov_iter *from)
{
	size_t done = 0, n;
	struct iovec part;

	len = min(len, iov_iter_count(from));
	while (done < len) {
		part = compat_user_part(from);
		part.iov_len = min(part.iov_len, len - done);
		n = copy_part(dst + done, &part);
		iov_iter_advance(from, n);
		done += n;
		if (n < part.iov_len)
			break;
	}
	return done;
}

/**
 * scm_copy_from_iter - copy a user's bytes past the cache
 * @dst: persistent memory
 * @len: bytes
 * @from: where from
 *
 * They last once scm_fence() was called: all that is reported, and nothing else was stored.
 * Context: process context; touches the user's memory, which need not be there if page faults are
 * disabled.
 * Return: bytes copied; less than @len where the user's memory ends.
 */
size_t scm_copy_from_iter(void *dst, size_t len, struct iov_iter *from)
{
	size_t done = user_backed_iter(from) ? copy_from_user_parts(dst, len, from) :
		_copy_from_iter_flushcache(dst, len, from);

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
