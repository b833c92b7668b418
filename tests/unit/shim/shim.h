/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the pure cores need of the kernel, for userspace.  Atomics and barriers are
 * real; allocation can be made to fail (shim_fail_alloc); random numbers come from
 * a seed (shim_seed), so that runs repeat; tests set the clock and the CPU.
 */
#ifndef EVENKEEL_SHIM_H
#define EVENKEEL_SHIM_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <linux/types.h>

#define __user
#define __iomem
#define __percpu
#define __rcu
#define __force
#define noinline	__attribute__((noinline))
#define __maybe_unused	__attribute__((unused))
#define __aligned(n)	__attribute__((aligned(n)))
#define __must_check	__attribute__((warn_unused_result))
#define __printf(a, b)	__attribute__((format(printf, a, b)))
#define ____cacheline_aligned	__attribute__((aligned(64)))
#define ____cacheline_aligned_in_smp __attribute__((aligned(64)))
#define fallthrough	__attribute__((fallthrough))
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define static_assert	_Static_assert
#define IS_ENABLED(option)	0
#define BUILD_BUG_ON(x)	_Static_assert(!(x), #x)
#define EXPORT_SYMBOL_GPL(x)	extern typeof(x) x
#define MODULE_LICENSE(x)	extern int shim_module
#define MODULE_AUTHOR(x)	extern int shim_module
#define MODULE_DESCRIPTION(x)	extern int shim_module

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define barrier()		__asm__ __volatile__("" ::: "memory")
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb()		__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb()		__atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_mb__before_atomic()	smp_mb()
#define smp_mb__after_atomic()	smp_mb()
#define cpu_relax()		sched_yield()
#define preempt_disable()	barrier()
#define preempt_enable()	barrier()
#define might_sleep()		do { } while (0)
#define cond_resched()		do { } while (0)
extern bool shim_killed;	/* the task has a fatal signal */
#define fatal_signal_pending(task)	((void)(task), shim_killed)
#define rcu_read_lock()		barrier()
#define rcu_read_unlock()	barrier()
#define synchronize_rcu()	smp_mb()
#define WARN_ON_ONCE(x)		(!!(x))

/*
 * Now and then give way right after an atomic change, so that the windows between
 * two of them are hit even on few CPUs.
 */
extern __thread unsigned int shim_jitter_count;
void shim_yield(void);
static inline void shim_jitter(void)
{
	if (++shim_jitter_count % 13 == 0)
		shim_yield();
}

/* Fully ordered, as the kernel's: returns what was there. */
#define cmpxchg(p, o, n) ({						\
	typeof(*(p)) shim_old = (o);					\
	__atomic_compare_exchange_n((p), &shim_old, (n), false,	\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	smp_mb();							\
	shim_jitter();							\
	shim_old; })
#define xchg(p, v)	__atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)

typedef struct { int counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;
#define ATOMIC_INIT(v)			{ (v) }
#define atomic_set(a, v)		WRITE_ONCE((a)->counter, v)
#define atomic_read(a)			READ_ONCE((a)->counter)
#define atomic_read_acquire(a)		smp_load_acquire(&(a)->counter)
#define atomic_inc(a)			((void)__atomic_add_fetch(&(a)->counter, 1, __ATOMIC_RELAXED))
#define atomic_dec(a)			((void)__atomic_sub_fetch(&(a)->counter, 1, __ATOMIC_RELAXED))
#define atomic_inc_return(a)		__atomic_add_fetch(&(a)->counter, 1, __ATOMIC_SEQ_CST)
#define atomic_dec_return_release(a)	__atomic_sub_fetch(&(a)->counter, 1, __ATOMIC_RELEASE)
#define atomic64_set(a, v)		WRITE_ONCE((a)->counter, v)
#define atomic64_read(a)		READ_ONCE((a)->counter)
#define atomic64_inc(a)			((void)__atomic_add_fetch(&(a)->counter, 1, __ATOMIC_RELAXED))
#define atomic64_add(v, a)		((void)__atomic_add_fetch(&(a)->counter, v, __ATOMIC_RELAXED))

/* arithmetic */
#define BITS_PER_LONG		64
#define BITS_PER_TYPE(t)	(sizeof(t) * 8)
#define BITS_TO_LONGS(n)	(((n) + 63) / 64)
#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define BIT_WORD(n)		((n) / 64)
#define BIT_MASK(n)		(1UL << ((n) % 64))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define round_up(x, y)		((((x) - 1) | ((typeof(x))((y) - 1))) + 1)
#define round_down(x, y)	((x) & ~((typeof(x))((y) - 1)))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define min(a, b)		({ typeof(a) shim_a = (a); typeof(b) shim_b = (b); \
				   shim_a < shim_b ? shim_a : shim_b; })
#define max(a, b)		({ typeof(a) shim_a = (a); typeof(b) shim_b = (b); \
				   shim_a > shim_b ? shim_a : shim_b; })
#define min3(a, b, c)		min(min(a, b), c)
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))
#define clamp(v, l, h)		min(max(v, l), h)
#define clamp_t(t, v, l, h)	clamp((t)(v), (t)(l), (t)(h))
#define swap(a, b)		do { typeof(a) shim_t = (a); (a) = (b); (b) = shim_t; } while (0)
#define IS_ALIGNED(x, a)	(((x) & ((__typeof__(x))(a) - 1)) == 0)
#define is_power_of_2(n)	((n) && !((n) & ((n) - 1)))
#define ilog2(n)		(63 - __builtin_clzll(n))
#define roundup_pow_of_two(n)	((n) > 1 ? 1UL << (64 - __builtin_clzll((n) - 1)) : 1UL)

static inline u32 int_sqrt64(u64 x)
{
	u64 root = 0, bit;

	for (bit = 1ULL << 31; bit; bit >>= 1)
		if ((root | bit) * (root | bit) <= x)
			root |= bit;
	return root;
}

#define __ffs(x)		((unsigned long)__builtin_ctzl(x))
#define hweight32(x)		((unsigned int)__builtin_popcount(x))
#define hweight64(x)		((unsigned int)__builtin_popcountll(x))
#define hweight_long(x)		((unsigned int)__builtin_popcountl(x))
#define U8_MAX		((u8)~0U)
#define U32_MAX			(~(u32)0)
#ifndef INT_MAX				/* not by a header, which a fuzzer's own takes the place of */
#define INT_MAX			((int)(U32_MAX >> 1))
#endif
#define U64_MAX			(~(u64)0)
#define div_u64(a, b)		((u64)(a) / (u32)(b))
#define DIV64_U64_ROUND_UP(a, b) \
	({ u64 shim_by = (b); ((u64)(a) + shim_by - 1) / shim_by; })
#define div64_u64(a, b)		((u64)(a) / (u64)(b))
#define div64_s64(a, b)		((s64)(a) / (s64)(b))
#define abs(x)			({ typeof(x) shim_x = (x); shim_x < 0 ? -shim_x : shim_x; })
#define fls64(x)		((x) ? 64 - __builtin_clzll(x) : 0)
#define check_add_overflow(a, b, d) __builtin_add_overflow(a, b, d)
#define check_mul_overflow(a, b, d) __builtin_mul_overflow(a, b, d)
#define mul_u64_u32_div(a, m, d) ((u64)((unsigned __int128)(a) * (m) / (d)))
#define mul_u64_u64_div_u64(a, m, d) ((u64)((unsigned __int128)(a) * (m) / (d)))
#define container_of(p, t, m)	((t *)((char *)(p) - offsetof(t, m)))

static inline u64 div_u64_rem(u64 a, u32 b, u32 *rem)
{
	*rem = a % b;
	return a / b;
}

/* byte order: little-endian hosts only, which the build checks */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little-endian host");
#define cpu_to_le16(x)	((__le16)(u16)(x))
#define cpu_to_le32(x)	((__le32)(u32)(x))
#define cpu_to_le64(x)	((__le64)(u64)(x))
#define le16_to_cpu(x)	((u16)(x))
#define le32_to_cpu(x)	((u32)(x))
#define le64_to_cpu(x)	((u64)(x))

/* memory */
typedef unsigned int gfp_t;
#define GFP_KERNEL	1u
#define GFP_NOIO	2u
#define GFP_NOWAIT	4u
#define GFP_ATOMIC	8u
#define __GFP_NOWARN	16u
#define __GFP_ZERO	32u
#define __GFP_RETRY_MAYFAIL 64u
#define gfpflags_allow_blocking(g)	((g) & (GFP_KERNEL | GFP_NOIO))

/* The n-th allocation from now fails, once; 0: none. */
extern unsigned long shim_fail_alloc;
extern bool shim_alloc_failed;
/* Allocations that may wait, while who asks must not. */
extern bool shim_nowait;
extern unsigned long shim_waited;

static inline void shim_gfp(gfp_t gfp)
{
	shim_waited += shim_nowait && gfpflags_allow_blocking(gfp);
}

extern long shim_allocated;	/* and not yet freed */
extern long shim_bytes;		/* of those */
void *shim_alloc(size_t n, bool zero);
void shim_free(const void *p);

#define kmalloc(n, g)		(shim_gfp(g), shim_alloc(n, (g) & __GFP_ZERO))
#define kzalloc(n, g)		((void)(g), shim_alloc(n, true))
#define kcalloc(n, s, g)	((void)(g), shim_alloc((size_t)(n) * (s), true))
#define kmalloc_array(n, s, g)	((void)(g), shim_alloc((size_t)(n) * (s), false))
#define kvmalloc_array(n, s, g)	kmalloc_array(n, s, g)
#define kvmalloc(n, g)		((void)(g), shim_alloc(n, false))
#define kvzalloc(n, g)		(shim_gfp(g), shim_alloc(n, true))
#define kvcalloc(n, s, g)	kcalloc(n, s, g)
#define kvmalloc_array(n, s, g)	kmalloc_array(n, s, g)
#define vmalloc(n)		shim_alloc(n, false)
#define vzalloc(n)		shim_alloc(n, true)
#define kfree(p)		shim_free(p)
#define kvfree(p)		shim_free(p)
#define vfree(p)		shim_free(p)

/* Bytes not copied: as if memory were bad where a test says so. */
extern const void *shim_bad_memory;
unsigned long copy_mc_to_kernel(void *dst, const void *src, size_t len);

/* strings */
static inline int match_string(const char *const *array, size_t n, const char *string)
{
	size_t i;

	for (i = 0; i < n && array[i]; i++)
		if (!strcmp(array[i], string))
			return i;
	return -EINVAL;
}

static inline void *memchr_inv(const void *p, int c, size_t n)
{
	const u8 *s = p;

	for (; n; n--, s++)
		if (*s != (u8)c)
			return (void *)s;
	return NULL;
}

static inline ssize_t shim_strscpy(char *dst, const char *src, size_t n)
{
	size_t len = strnlen(src, n);

	if (!n)
		return -E2BIG;
	if (len == n)
		len--;
	memcpy(dst, src, len);
	dst[len] = 0;
	return src[len] ? -E2BIG : (ssize_t)len;
}
#define strscpy(d, s, n)	shim_strscpy((char *)(d), (const char *)(s), n)
#define strnlen(s, n)		(strnlen)((const char *)(s), n)
#define scnprintf		shim_scnprintf
#define vscnprintf		vsnprintf
static inline __attribute__((format(printf, 3, 4)))
int shim_scnprintf(char *buf, size_t n, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vsnprintf(buf, n, fmt, ap);
	va_end(ap);
	return n && r >= (int)n ? (int)n - 1 : r;
}

static inline int hex_to_bin(unsigned char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c) : NULL;

	return at ? at - digits : -1;
}

/* If set, called by each fence of memory that persists: for programs that map a file. */
extern void (*shim_fence)(void);

/* CPUs and the clock */
#define SHIM_CPUS	4
#define SHIM_STRIDE	4096
extern int shim_cpu;
extern u64 shim_now;
#define ktime_get_ns()		shim_now
void *shim_alloc_percpu(size_t n);
#define alloc_percpu(t)		((t *)shim_alloc_percpu(sizeof(t)))
#define free_percpu(p)		shim_free(p)
#define per_cpu_ptr(p, cpu)	((typeof(p))((char *)(p) + (cpu) * SHIM_STRIDE))
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < SHIM_CPUS; (cpu)++)
#define shim_this(x)		(*per_cpu_ptr(&(x), shim_cpu))
#define raw_smp_processor_id()	shim_cpu
#define num_possible_cpus()	SHIM_CPUS
#define this_cpu_add(x, v)	(shim_this(x) += (v))
#define this_cpu_sub(x, v)	(shim_this(x) -= (v))
#define this_cpu_inc(x)		(shim_this(x)++)
#define this_cpu_read(x)	shim_this(x)
#define this_cpu_write(x, v)	(shim_this(x) = (v))
#define this_cpu_cmpxchg(x, o, n) ({ typeof(x) *p_ = &shim_this(x), old_ = *p_; \
				*p_ = old_ == (o) ? (n) : old_; old_; })

/* percpu_counter: exact at any time */
struct percpu_counter {
	s64 count;
};
#define percpu_counter_init(c, v, gfp)	(percpu_counter_set(c, v), 0)
#define percpu_counter_destroy(c)	((void)(c))
#define percpu_counter_set(c, v)	__atomic_store_n(&(c)->count, v, __ATOMIC_RELAXED)
#define percpu_counter_add(c, v)	((void)__atomic_add_fetch(&(c)->count, v, __ATOMIC_RELAXED))
#define percpu_counter_sub(c, v)	percpu_counter_add(c, -(s64)(v))
#define percpu_counter_inc(c)		percpu_counter_add(c, 1)
#define percpu_counter_dec(c)		percpu_counter_add(c, -1)
#define percpu_counter_read_positive(c)	max_t(s64, READ_ONCE((c)->count), 0)
#define percpu_counter_sum_positive(c)	percpu_counter_read_positive(c)

u32 crc32c(u32 crc, const void *data, size_t len);

/* random, seeded */
void shim_seed(u64 seed);
u64 get_random_u64(void);
#define get_random_u32()	((u32)get_random_u64())
/* not seeded: what nobody may know, and nothing that is seen depends on */
void get_random_bytes(void *to, size_t len);

/* SipHash-1-3 */
typedef struct { unsigned long key[2]; } hsiphash_key_t;
u32 hsiphash(const void *data, size_t len, const hsiphash_key_t *key);

/* locks */
typedef struct { pthread_mutex_t m; } spinlock_t;
#define DEFINE_SPINLOCK(l)		spinlock_t l = { PTHREAD_MUTEX_INITIALIZER }
#define spin_lock_init(l)		pthread_mutex_init(&(l)->m, NULL)
#define spin_lock(l)			pthread_mutex_lock(&(l)->m)
#define spin_unlock(l)			pthread_mutex_unlock(&(l)->m)
#define spin_lock_irqsave(l, f)		((f) = 0, spin_lock(l))
#define spin_unlock_irqrestore(l, f)	((void)(f), spin_unlock(l))
#define lockdep_assert_held(l)		((void)(l))

struct mutex {
	pthread_mutex_t m;
};
#define mutex_init(l)			pthread_mutex_init(&(l)->m, NULL)
#define mutex_destroy(l)		pthread_mutex_destroy(&(l)->m)
#define mutex_lock(l)			pthread_mutex_lock(&(l)->m)
#define mutex_lock_nested(l, class)	((void)(class), mutex_lock(l))
#define mutex_trylock(l)		(!pthread_mutex_trylock(&(l)->m))
#define mutex_unlock(l)			pthread_mutex_unlock(&(l)->m)

/* Tests may say which task runs. */
extern unsigned long shim_task;
#define current				(shim_task ? shim_task : pthread_self())

/* bits */
#define DECLARE_BITMAP(n, b)	unsigned long n[BITS_TO_LONGS(b)]

static inline bool test_bit(unsigned long n, const unsigned long *p)
{
	return READ_ONCE(p[BIT_WORD(n)]) & BIT_MASK(n);
}

static inline void set_bit(unsigned long n, unsigned long *p)
{
	__atomic_fetch_or(&p[BIT_WORD(n)], BIT_MASK(n), __ATOMIC_RELAXED);
}

static inline void clear_bit(unsigned long n, unsigned long *p)
{
	__atomic_fetch_and(&p[BIT_WORD(n)], ~BIT_MASK(n), __ATOMIC_RELAXED);
}

static inline bool test_and_set_bit(unsigned long n, unsigned long *p)
{
	unsigned long was = __atomic_fetch_or(&p[BIT_WORD(n)], BIT_MASK(n), __ATOMIC_SEQ_CST);

	smp_mb();
	shim_jitter();
	return was & BIT_MASK(n);
}

static inline bool test_and_clear_bit(unsigned long n, unsigned long *p)
{
	unsigned long was = __atomic_fetch_and(&p[BIT_WORD(n)], ~BIT_MASK(n), __ATOMIC_SEQ_CST);

	smp_mb();
	shim_jitter();
	return was & BIT_MASK(n);
}

static inline void __set_bit(unsigned long n, unsigned long *p)
{
	p[BIT_WORD(n)] |= BIT_MASK(n);
}

static inline void __clear_bit(unsigned long n, unsigned long *p)
{
	p[BIT_WORD(n)] &= ~BIT_MASK(n);
}

static inline unsigned long shim_find(const unsigned long *p, unsigned long size,
				      unsigned long from, unsigned long flip)
{
	unsigned long word;

	while (from < size) {
		word = (READ_ONCE(p[BIT_WORD(from)]) ^ flip) >> (from % 64);
		if (word) {
			from += __ffs(word);
			return from < size ? from : size;
		}
		from = (from | 63) + 1;
	}
	return size;
}
#define find_next_bit(p, s, f)		shim_find(p, s, f, 0)
#define find_next_zero_bit(p, s, f)	shim_find(p, s, f, ~0UL)
#define find_first_bit(p, s)		shim_find(p, s, 0, 0)
static inline unsigned long find_last_bit(const unsigned long *p, unsigned long size)
{
	unsigned long i = size;

	while (i && !(p[(i - 1) / 64] >> (i - 1) % 64 & 1))
		i--;
	return i ? i - 1 : size;
}
#define bitmap_empty(p, s)		(find_first_bit(p, s) >= (s))
#define for_each_set_bit(i, p, s)	\
	for ((i) = find_first_bit(p, s); (i) < (s); (i) = find_next_bit(p, s, (i) + 1))

/* As the kernel's, which do next to nothing where the length is more than an int has. */
static inline void bitmap_set(unsigned long *p, unsigned int n, int count)
{
	for (; count > 0 && n % 64; count--)
		__set_bit(n++, p);
	for (; count >= 64; count -= 64, n += 64)
		p[BIT_WORD(n)] = ~0UL;
	for (; count > 0; count--)
		__set_bit(n++, p);
}

static inline void bitmap_clear(unsigned long *p, unsigned int n, int count)
{
	for (; count > 0 && n % 64; count--)
		__clear_bit(n++, p);
	for (; count >= 64; count -= 64, n += 64)
		p[BIT_WORD(n)] = 0;
	for (; count > 0; count--)
		__clear_bit(n++, p);
}

static inline void bitmap_zero(unsigned long *p, unsigned int n)
{
	memset(p, 0, BITS_TO_LONGS(n) * sizeof(long));
}

static inline unsigned int bitmap_weight(const unsigned long *p, unsigned int n)
{
	unsigned int i, w = 0;

	for (i = 0; i < n / 64; i++)
		w += hweight_long(p[i]);
	if (n % 64)
		w += hweight_long(p[i] & ((1UL << n % 64) - 1));
	return w;
}

/* lists */
struct list_head {
	struct list_head *next, *prev;
};
#define LIST_HEAD_INIT(n)	{ &(n), &(n) }
#define LIST_HEAD(n)		struct list_head n = LIST_HEAD_INIT(n)

static inline void INIT_LIST_HEAD(struct list_head *h)
{
	h->next = h;
	h->prev = h;
}

static inline void list_add(struct list_head *n, struct list_head *h)
{
	n->next = h->next;
	n->prev = h;
	h->next->prev = n;
	h->next = n;
}

static inline void list_add_tail(struct list_head *n, struct list_head *h)
{
	list_add(n, h->prev);
}

static inline void list_del(struct list_head *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
}

static inline void list_del_init(struct list_head *n)
{
	list_del(n);
	INIT_LIST_HEAD(n);
}

static inline void list_move(struct list_head *n, struct list_head *h)
{
	list_del(n);
	list_add(n, h);
}

static inline void list_move_tail(struct list_head *n, struct list_head *h)
{
	list_del(n);
	list_add_tail(n, h);
}

static inline bool list_empty(const struct list_head *h)
{
	return h->next == h;
}

static inline void list_splice_tail_init(struct list_head *from, struct list_head *to)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	INIT_LIST_HEAD(from);
}
#define list_entry(p, t, m)		container_of(p, t, m)
#define list_first_entry(h, t, m)	list_entry((h)->next, t, m)
#define list_last_entry(h, t, m)	list_entry((h)->prev, t, m)
#define list_next_entry(p, m)		list_entry((p)->m.next, typeof(*(p)), m)
#define list_prev_entry(p, m)		list_entry((p)->m.prev, typeof(*(p)), m)
#define list_for_each_entry(p, h, m)					\
	for ((p) = list_first_entry(h, typeof(*(p)), m); &(p)->m != (h); \
	     (p) = list_next_entry(p, m))
#define list_for_each_entry_reverse(p, h, m)				\
	for ((p) = list_last_entry(h, typeof(*(p)), m); &(p)->m != (h); \
	     (p) = list_prev_entry(p, m))
#define list_for_each_entry_safe(p, n, h, m)				\
	for ((p) = list_first_entry(h, typeof(*(p)), m), (n) = list_next_entry(p, m); \
	     &(p)->m != (h); (p) = (n), (n) = list_next_entry(n, m))

struct llist_node {
	struct llist_node *next;
};

struct llist_head {
	struct llist_node *first;
};

static inline void init_llist_head(struct llist_head *h)
{
	h->first = NULL;
}

static inline bool llist_empty(const struct llist_head *h)
{
	return !READ_ONCE(h->first);
}

static inline bool llist_add(struct llist_node *n, struct llist_head *h)
{
	struct llist_node *first = READ_ONCE(h->first);

	do {
		WRITE_ONCE(n->next, first);
	} while (!__atomic_compare_exchange_n(&h->first, &first, n, false,
					      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	return !first;
}

static inline struct llist_node *llist_del_all(struct llist_head *h)
{
	return xchg(&h->first, NULL);
}
#define shim_llist_entry(n, p, m)					\
	({ struct llist_node *shim_n = (n);				\
	   shim_n ? container_of(shim_n, typeof(*(p)), m) : NULL; })
#define llist_for_each_entry_safe(p, n, first, m)			\
	for ((p) = shim_llist_entry(first, p, m);			\
	     (p) && ((n) = shim_llist_entry(READ_ONCE((p)->m.next), p, m), true); \
	     (p) = (n))

/* xarray: four levels of 2,048 for indices below 2^44 */
#define SHIM_XA_LEVELS	4
#define SHIM_XA_SHIFT	11
#define SHIM_XA_SLOTS	(1u << SHIM_XA_SHIFT)
struct xarray {
	pthread_mutex_t lock;
	void **root;
};

static inline void xa_init(struct xarray *xa)
{
	pthread_mutex_init(&xa->lock, NULL);
	xa->root = NULL;
}
void *xa_load(struct xarray *xa, unsigned long index);
void *xa_cmpxchg(struct xarray *xa, unsigned long index, void *old, void *new, gfp_t gfp);
void *xa_store(struct xarray *xa, unsigned long index, void *new, gfp_t gfp);
int xa_reserve(struct xarray *xa, unsigned long index, gfp_t gfp);
static inline void xa_release(struct xarray *xa, unsigned long index)
{
	(void)xa;
	(void)index;
}
void *xa_erase(struct xarray *xa, unsigned long index);
void *shim_xa_next(struct xarray *xa, unsigned long *index);
void xa_destroy(struct xarray *xa);
#define SHIM_XA_NOMEM	((void *)~0UL)
#define xa_err(p)	((p) == SHIM_XA_NOMEM ? -ENOMEM : 0)
#define xa_is_err(p)	((p) == SHIM_XA_NOMEM)
#define xa_for_each(xa, i, p)	xa_for_each_start(xa, i, p, 0)
#define xa_for_each_start(xa, i, p, start)	\
	for ((i) = (start); ((p) = shim_xa_next(xa, &(i))) != NULL; (i)++)

#endif
