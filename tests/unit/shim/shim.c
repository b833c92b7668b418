// SPDX-License-Identifier: GPL-2.0-only
#include <sys/random.h>
#include <malloc.h>
#include "shim.h"

bool shim_killed;
unsigned long shim_fail_alloc;
u64 shim_moved;
bool shim_alloc_failed;
bool shim_nowait;
unsigned long shim_waited;
long shim_allocated;
long shim_bytes;
int shim_cpu;
unsigned long shim_task;
u64 shim_now;
void (*shim_fence)(void);

static bool fails(void)
{
	if (!shim_fail_alloc || --shim_fail_alloc)
		return false;
	shim_alloc_failed = true;
	return true;
}

void *shim_alloc(size_t n, bool zero)
{
	void *p = NULL;

	if (fails())
		return NULL;
	/* as the kernel's, to a power of two that it is */
	if (posix_memalign(&p, n >= 4096 ? 4096 : n >= 16 && is_power_of_2(n) ? n : 16, n ? n : 1))
		return NULL;
	/* What is not asked to be zero must not be taken for it. */
	memset(p, zero ? 0 : 0xa5, n);
	__atomic_add_fetch(&shim_allocated, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&shim_bytes, malloc_usable_size(p), __ATOMIC_RELAXED);
	return p;
}

void shim_free(const void *p)
{
	if (p) {
		__atomic_sub_fetch(&shim_allocated, 1, __ATOMIC_RELAXED);
		__atomic_sub_fetch(&shim_bytes, malloc_usable_size((void *)p), __ATOMIC_RELAXED);
	}
	free((void *)p);
}

const void *shim_bad_memory;

unsigned long copy_mc_to_kernel(void *dst, const void *src, size_t len)
{
	size_t good = len;

	if (shim_bad_memory >= src && shim_bad_memory < src + len)
		good = shim_bad_memory - src;
	memcpy(dst, src, good);
	return len - good;
}

void *shim_alloc_percpu(size_t n)
{
	void *p;

	if (fails())
		return NULL;
	if (n > SHIM_STRIDE || posix_memalign(&p, SHIM_STRIDE, SHIM_CPUS * SHIM_STRIDE))
		abort();
	memset(p, 0, SHIM_CPUS * SHIM_STRIDE);
	__atomic_add_fetch(&shim_allocated, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&shim_bytes, malloc_usable_size(p), __ATOMIC_RELAXED);
	return p;
}

static u32 crc_table[8][256];

static void __attribute__((constructor)) crc_init(void)
{
	u32 i, j, c;

	for (i = 0; i < 256; i++) {
		for (c = i, j = 0; j < 8; j++)
			c = c >> 1 ^ (c & 1 ? 0x82f63b78 : 0);
		crc_table[0][i] = c;
	}
	for (i = 0; i < 256; i++)
		for (j = 1; j < 8; j++)
			crc_table[j][i] = crc_table[j - 1][i] >> 8 ^
					  crc_table[0][crc_table[j - 1][i] & 255];
}

__attribute__((no_sanitize("address", "undefined")))
u32 crc32c(u32 crc, const void *data, size_t len)
{
	const u8 *p = data;
	u64 w;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&w, p, 8);
		w ^= crc;
		crc = crc_table[7][w & 255] ^ crc_table[6][w >> 8 & 255] ^
		      crc_table[5][w >> 16 & 255] ^ crc_table[4][w >> 24 & 255] ^
		      crc_table[3][w >> 32 & 255] ^ crc_table[2][w >> 40 & 255] ^
		      crc_table[1][w >> 48 & 255] ^ crc_table[0][w >> 56];
	}
	while (len--)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *p++) & 255];
	return crc;
}

__thread unsigned int shim_jitter_count;

void shim_yield(void)
{
	sched_yield();
}

static u64 random_state = 1;

void shim_seed(u64 seed)
{
	random_state = seed;
}

/* splitmix64 */
u64 get_random_u64(void)
{
	u64 z = __atomic_add_fetch(&random_state, 0x9e3779b97f4a7c15ULL, __ATOMIC_RELAXED);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

void get_random_bytes(void *to, size_t len)
{
	if (getrandom(to, len, 0) != (ssize_t)len)
		abort();
}

static u64 turned(u64 x, unsigned int by)
{
	return x << by | x >> (64 - by);
}

static void sip_rounds(u64 v[4], unsigned int nr)
{
	while (nr--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = turned(v[1], 13) ^ v[0];
		v[3] = turned(v[3], 16) ^ v[2];
		v[0] = turned(v[0], 32) + v[3];
		v[2] += v[1];
		v[3] = turned(v[3], 21) ^ v[0];
		v[1] = turned(v[1], 17) ^ v[2];
		v[2] = turned(v[2], 32);
	}
}

static void sip_word(u64 v[4], u64 word)
{
	v[3] ^= word;
	sip_rounds(v, 1);
	v[0] ^= word;
}

u32 hsiphash(const void *data, size_t len, const hsiphash_key_t *key)
{
	u64 v[4] = { key->key[0] ^ 0x736f6d6570736575ULL, key->key[1] ^ 0x646f72616e646f6dULL,
		     key->key[0] ^ 0x6c7967656e657261ULL, key->key[1] ^ 0x7465646279746573ULL };
	const u8 *at = data;
	u64 word, left;

	for (left = len; left >= 8; left -= 8, at += 8) {
		memcpy(&word, at, 8);
		sip_word(v, word);
	}
	word = 0;
	memcpy(&word, at, left);
	sip_word(v, word | (u64)len << 56);
	v[2] ^= 0xff;
	sip_rounds(v, 3);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static unsigned int xa_slot(unsigned long index, unsigned int level)
{
	return index >> (level * SHIM_XA_SHIFT) & (SHIM_XA_SLOTS - 1);
}

/* The slot of an index, or NULL. */
static void **xa_walk(struct xarray *xa, unsigned long index, bool make)
{
	void **node, **next, ***link = &xa->root;
	int level;

	if (index >> (SHIM_XA_LEVELS * SHIM_XA_SHIFT))
		return NULL;
	for (level = SHIM_XA_LEVELS - 1;; level--) {
		node = smp_load_acquire(link);
		if (!node) {
			if (!make)
				return NULL;
			next = shim_alloc(SHIM_XA_SLOTS * sizeof(void *), true);
			if (!next)
				return NULL;
			smp_store_release(link, next);
			node = next;
		}
		if (!level)
			return node + xa_slot(index, 0);
		link = (void ***)(node + xa_slot(index, level));
	}
}

void *xa_load(struct xarray *xa, unsigned long index)
{
	void **slot = xa_walk(xa, index, false);

	return slot ? smp_load_acquire(slot) : NULL;
}

void *xa_cmpxchg(struct xarray *xa, unsigned long index, void *old, void *new, gfp_t gfp)
{
	void **slot, *was = SHIM_XA_NOMEM;

	pthread_mutex_lock(&xa->lock);
	slot = xa_walk(xa, index, true);
	if (slot) {
		was = *slot;
		if (was == old)
			smp_store_release(slot, new);
	}
	pthread_mutex_unlock(&xa->lock);
	return was;
}

void *xa_store(struct xarray *xa, unsigned long index, void *new, gfp_t gfp)
{
	void **slot, *was = SHIM_XA_NOMEM;

	pthread_mutex_lock(&xa->lock);
	slot = xa_walk(xa, index, true);
	if (slot) {
		was = *slot;
		smp_store_release(slot, new);
	}
	pthread_mutex_unlock(&xa->lock);
	return was;
}

int xa_reserve(struct xarray *xa, unsigned long index, gfp_t gfp)
{
	void **slot;

	pthread_mutex_lock(&xa->lock);
	slot = xa_walk(xa, index, true);
	pthread_mutex_unlock(&xa->lock);
	return slot ? 0 : -ENOMEM;
}

void *xa_erase(struct xarray *xa, unsigned long index)
{
	void **slot = xa_walk(xa, index, false);

	return slot ? xchg(slot, NULL) : NULL;
}

static void *xa_next(void **node, int level, unsigned long first, unsigned long *index)
{
	unsigned long span = 1UL << (level * SHIM_XA_SHIFT), at;
	unsigned int i;
	void *p;

	for (i = 0; node && i < SHIM_XA_SLOTS; i++) {
		at = first + i * span;
		if (!node[i] || at + span <= *index)
			continue;
		if (!level) {
			*index = at;
			return node[i];
		}
		p = xa_next(node[i], level - 1, at, index);
		if (p)
			return p;
	}
	return NULL;
}

void *shim_xa_next(struct xarray *xa, unsigned long *index)
{
	return xa_next(xa->root, SHIM_XA_LEVELS - 1, 0, index);
}

static void xa_free_node(void **node, int level)
{
	unsigned int i;

	if (!node)
		return;
	if (level)
		for (i = 0; i < SHIM_XA_SLOTS; i++)
			xa_free_node(node[i], level - 1);
	shim_free(node);
}

void xa_destroy(struct xarray *xa)
{
	xa_free_node(xa->root, SHIM_XA_LEVELS - 1);
	xa->root = NULL;
}
