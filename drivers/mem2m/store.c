// SPDX-License-Identifier: GPL-2.0-only
/* Copies between memory and a device's memory. The caller has checked the range. */
#include <linux/log2.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <evenkeel/scm.h>

#include "store.h"

#define M2_ZERO_CHUNK	(2u << 20)	/* between two offers to reschedule */

/* Written out like m2_copy(). */
void m2_zero(void *dst, size_t len)
{
#ifdef CONFIG_X86_64
	size_t words = len / 8;

	asm volatile("rep stosq" : "+D" (dst), "+c" (words) : "a" (0UL) : "memory");
	len &= 7;
	if (likely(!len))
		return;
#endif
	memset(dst, 0, len);
}

/**
 * m2_store_init - set the sizes of a store without units
 * @store: zeroed
 * @bytes: of the device
 * @unit_bytes: of each unit but the last
 */
void m2_store_init(struct m2_store *store, u64 bytes, u64 unit_bytes)
{
	store->bytes = bytes;
	store->unit_bytes = unit_bytes;
	store->unit_shift = is_power_of_2(unit_bytes) ? ilog2(unit_bytes) : 0;
	store->nr_units = div64_u64(bytes + unit_bytes - 1, unit_bytes);
}

/**
 * m2_store_read - copy out of it
 * @store: the memory
 * @offset: first byte
 * @dst: where to
 * @len: bytes
 *
 * Return: bytes that could not be read as the memory is bad where they begin, or 0.
 */
size_t m2_store_read(const struct m2_store *store, u64 offset, void *dst, size_t len)
{
	while (len) {
		size_t n = len, left = 0;
		const void *src = m2_store_addr(store, offset, &n);

		if (store->persistent)
			left = copy_mc_to_kernel(dst, src, n);
		else
			m2_copy(dst, src, n);
		if (left)
			return len - n + left;
		offset += n;
		dst += n;
		len -= n;
	}
	return 0;
}

/**
 * m2_store_write - copy into it
 * @store: the memory
 * @offset: first byte
 * @src: where from
 * @len: bytes
 *
 * Lasts once m2_store_sync() was called, where the memory is persistent.
 */
void m2_store_write(const struct m2_store *store, u64 offset, const void *src, size_t len)
{
	while (len) {
		size_t n = len;
		void *dst = m2_store_addr(store, offset, &n);

		if (store->persistent)
			scm_copy_nt(dst, src, n);
		else
			m2_copy(dst, src, n);
		offset += n;
		src += n;
		len -= n;
	}
}

/**
 * m2_store_zero - zero a range of it
 * @store: the memory
 * @offset: first byte
 * @len: bytes
 *
 * Context: may sleep. Lasts once m2_store_sync() was called, where the memory is persistent.
 */
void m2_store_zero(const struct m2_store *store, u64 offset, u64 len)
{
	while (len) {
		size_t n = min_t(u64, len, M2_ZERO_CHUNK);
		void *dst = m2_store_addr(store, offset, &n);

		if (store->persistent)
			scm_zero_nt(dst, n);
		else
			m2_zero(dst, n);
		offset += n;
		len -= n;
		cond_resched();
	}
}

/**
 * m2_store_clear - zero a range of it, which lasts on return
 * @store: the memory
 * @offset: first byte
 * @len: bytes
 *
 * Who asks for it on behalf of a file system (DAX) may flush on another CPU, whose fence is not
 * about these stores. Context: may sleep.
 */
void m2_store_clear(const struct m2_store *store, u64 offset, u64 len)
{
	m2_store_zero(store, offset, len);
	m2_store_sync(store);
}

/**
 * m2_store_sync - make what this CPU wrote last
 * @store: the memory
 */
void m2_store_sync(const struct m2_store *store)
{
	if (store->persistent)
		scm_fence();
}
