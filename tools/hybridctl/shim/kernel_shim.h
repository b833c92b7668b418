/* SPDX-License-Identifier: GPL-2.0-only */
/* What the library's pure code needs of the kernel, in userspace and single-threaded. */
#ifndef KERNEL_SHIM_H
#define KERNEL_SHIM_H

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
typedef unsigned int gfp_t;
typedef struct { char unused; } spinlock_t;

#define le16_to_cpu(x)	le16toh(x)
#define le32_to_cpu(x)	le32toh(x)
#define le64_to_cpu(x)	le64toh(x)
#define cpu_to_le16(x)	htole16(x)
#define cpu_to_le32(x)	htole32(x)
#define cpu_to_le64(x)	htole64(x)

#define READ_ONCE(x)		(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile typeof(x) *)&(x) = (v))
#define smp_rmb()		__sync_synchronize()
#define smp_wmb()		__sync_synchronize()
#define smp_mb()		__sync_synchronize()
#define EXPORT_SYMBOL_GPL(sym)	struct shim_unused_##sym
#define __always_unused		__attribute__((unused))
#define __force
#define fallthrough		__attribute__((fallthrough))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))

#define GFP_KERNEL	0u
#define GFP_NOIO	0u
#define __GFP_ZERO	0u
#define __GFP_NOWARN	0u
#define PAGE_SIZE	4096ul
#define PAGE_ALIGN(x)	round_up((x), PAGE_SIZE)

static inline void *kvcalloc(size_t n, size_t size, gfp_t gfp)
{
	(void)gfp;
	return calloc(n ? n : 1, size ? size : 1);
}

static inline void *kvzalloc(size_t size, gfp_t gfp)
{
	return kvcalloc(1, size, gfp);
}

#define kzalloc(size, gfp)	kvzalloc(size, gfp)
#define kmalloc(size, gfp)	kvzalloc(size, gfp)
#define kvmalloc(size, gfp)	kvzalloc(size, gfp)
#define kcalloc(n, size, gfp)	kvcalloc(n, size, gfp)
#define kvfree(p)		free((void *)(p))
#define kfree(p)		free((void *)(p))

#define spin_lock_init(l)		((void)(l))
#define spin_lock_irqsave(l, flags)	((void)(l), (flags) = 0)
#define spin_unlock_irqrestore(l, flags) ((void)(l), (void)(flags))

#define min(a, b)	({ typeof(a) _a = (a); typeof(b) _b = (b); _a < _b ? _a : _b; })
#define max(a, b)	({ typeof(a) _a = (a); typeof(b) _b = (b); _a > _b ? _a : _b; })
#define min_t(t, a, b)	({ t _a = (a); t _b = (b); _a < _b ? _a : _b; })
#define max_t(t, a, b)	({ t _a = (a); t _b = (b); _a > _b ? _a : _b; })
#define clamp_t(t, v, lo, hi)	min_t(t, max_t(t, v, lo), hi)
#define swap(a, b)	do { typeof(a) _t = (a); (a) = (b); (b) = _t; } while (0)
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV_ROUND_UP_ULL(n, d)	DIV_ROUND_UP((unsigned long long)(n), (d))
#define round_up(x, y)		((((x) - 1) | ((typeof(x))(y) - 1)) + 1)
#define round_down(x, y)	((x) & ~((typeof(x))(y) - 1))
#define IS_ALIGNED(x, a)	(((x) & ((typeof(x))(a) - 1)) == 0)

static inline u64 div_u64(u64 n, u32 d)
{
	return n / d;
}

static inline u64 div64_u64(u64 n, u64 d)
{
	return n / d;
}

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

static inline int ilog2(u64 n)
{
	return 63 - __builtin_clzll(n);
}

#define BITS_PER_LONG		(8 * (unsigned int)sizeof(long))
#define BITS_TO_LONGS(n)	DIV_ROUND_UP(n, BITS_PER_LONG)
#define BIT(n)			(1ul << (n))
#define BIT_ULL(n)		(1ull << (n))
#define BIT_WORD(n)		((n) / BITS_PER_LONG)
#define BIT_MASK(n)		(1ul << ((n) % BITS_PER_LONG))

static inline bool test_bit(unsigned long n, const unsigned long *map)
{
	return map[BIT_WORD(n)] & BIT_MASK(n);
}

static inline void __set_bit(unsigned long n, unsigned long *map)
{
	map[BIT_WORD(n)] |= BIT_MASK(n);
}

static inline void __clear_bit(unsigned long n, unsigned long *map)
{
	map[BIT_WORD(n)] &= ~BIT_MASK(n);
}

static inline unsigned long __ffs(unsigned long word)
{
	return __builtin_ctzl(word);
}

static inline unsigned long shim_find(const unsigned long *map, unsigned long size,
				      unsigned long n, unsigned long flip)
{
	unsigned long word;

	while (n < size) {
		word = (map[BIT_WORD(n)] ^ flip) >> n % BITS_PER_LONG;
		if (word) {
			n += __ffs(word);
			return n < size ? n : size;
		}
		n = (BIT_WORD(n) + 1) * BITS_PER_LONG;
	}
	return size;
}

#define find_next_bit(map, size, n)		shim_find(map, size, n, 0)
#define find_next_zero_bit(map, size, n)	shim_find(map, size, n, ~0ul)
#define find_first_bit(map, size)		shim_find(map, size, 0, 0)

static inline void bitmap_set(unsigned long *map, unsigned int start, unsigned int n)
{
	while (n--)
		__set_bit(start++, map);
}

static inline void bitmap_clear(unsigned long *map, unsigned int start, unsigned int n)
{
	while (n--)
		__clear_bit(start++, map);
}

static inline unsigned int bitmap_weight(const unsigned long *map, unsigned int n)
{
	unsigned int i, weight = 0;

	for (i = 0; i < n; i++)
		weight += test_bit(i, map);
	return weight;
}

static inline void *memchr_inv(const void *p, int c, size_t n)
{
	const u8 *b = p;

	for (; n; b++, n--)
		if (*b != (u8)c)
			return (void *)b;
	return NULL;
}

static inline ssize_t strscpy(char *to, const char *from, size_t size)
{
	size_t len = strnlen(from, size);

	if (!size)
		return -E2BIG;
	if (len == size)
		len--;
	memcpy(to, from, len);
	to[len] = 0;
	return from[len] ? -E2BIG : (ssize_t)len;
}

static inline u64 get_random_u64(void)
{
	u64 v = 0;

	if (getrandom(&v, sizeof(v), 0) != sizeof(v))
		abort();
	return v;
}

/* As the kernel's: no inversion at either end. */
static inline u32 crc32c(u32 crc, const void *data, size_t len)
{
	static u32 table[256];
	const u8 *p = data;
	unsigned int i, bit;

	if (!table[1])
		for (i = 0; i < 256; i++)
			for (table[i] = i, bit = 0; bit < 8; bit++)
				table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0x82f63b78 : 0);
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return crc;
}

#endif
