/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: where a byte of a device is
 *
 * In unit offset / unit_bytes, at its base plus the rest (section 3.1 of the paper): no tree,
 * nothing to look up by page. All units are of one size but the last, which takes what is left.
 */
#ifndef MEM2M_STORE_H
#define MEM2M_STORE_H

#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

/**
 * struct m2_store - the memory of a device
 * @unit: base address of each
 * @nr_units: how many
 * @unit_shift: of unit_bytes where it is a power of two, otherwise 0
 * @persistent: writes go past the cache and are in the memory after a fence, which outlives the
 *	device, though maybe not the power; reads survive bad memory
 * @unit_bytes: of all but the last
 * @bytes: of the device
 */
struct m2_store {
	void **unit;
	unsigned int nr_units;
	u8 unit_shift;
	bool persistent;
	u64 unit_bytes;
	u64 bytes;
};

/*
 * Written out, as where gcc sees a copy of variable length it may turn it into a byte-wise string
 * instruction. Bio vectors are of whole words but for odd ones.
 */
static __always_inline void m2_copy(void *dst, const void *src, size_t len)
{
#ifdef CONFIG_X86_64
	size_t words = len / 8;

	asm volatile("rep movsq" : "+D" (dst), "+S" (src), "+c" (words) : : "memory");
	len &= 7;
	if (unlikely(len))
		asm volatile("rep movsb" : "+D" (dst), "+S" (src), "+c" (len) : : "memory");
#else
	memcpy(dst, src, len);
#endif
}

void m2_zero(void *dst, size_t len);

void m2_store_init(struct m2_store *store, u64 bytes, u64 unit_bytes);
size_t m2_store_read(const struct m2_store *store, u64 offset, void *dst, size_t len);
void m2_store_write(const struct m2_store *store, u64 offset, const void *src, size_t len);
void m2_store_zero(const struct m2_store *store, u64 offset, u64 len);
void m2_store_clear(const struct m2_store *store, u64 offset, u64 len);
void m2_store_sync(const struct m2_store *store);

/* Address of the byte at @offset; *@len is cut to what follows it in one piece. */
static inline void *m2_store_addr(const struct m2_store *store, u64 offset, size_t *len)
{
	u64 unit, rest;

	if (likely(store->unit_shift)) {
		unit = offset >> store->unit_shift;
		rest = offset & (store->unit_bytes - 1);
	} else {
		unit = div64_u64(offset, store->unit_bytes);
		rest = offset - unit * store->unit_bytes;
	}
	*len = min_t(u64, *len, store->unit_bytes - rest);
	return store->unit[unit] + rest;
}

#endif
