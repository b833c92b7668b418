/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * As much of the kernel as the policies, the heat list and the response-time
 * monitor use, in userspace.  Tests set the clock and the CPU, and make
 * allocations fail.
 */
#ifndef _TEST_SHIM_H
#define _TEST_SHIM_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
typedef unsigned int gfp_t;

#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX
#define GFP_KERNEL 0u
#define __percpu
#define ____cacheline_aligned __attribute__((aligned(64)))
#define __printf(a, b) __attribute__((format(printf, a, b)))
#define EXPORT_SYMBOL_GPL(x) _Static_assert(sizeof(&(x)), "declared")
#define unlikely(x) __builtin_expect(!!(x), 0)
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define BIT_ULL(n) (1ULL << (n))

#define min(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a < _b ? _a : _b; })
#define max(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })
#define min_t(t, a, b) min((t)(a), (t)(b))
#define max_t(t, a, b) max((t)(a), (t)(b))
#define clamp_t(t, v, lo, hi) min_t(t, max_t(t, v, lo), hi)
#define abs(x) ({ __typeof__(x) _x = (x); _x < 0 ? -_x : _x; })

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline u64 div64_u64(u64 a, u64 b) { return a / b; }
static inline s64 div64_s64(s64 a, s64 b) { return a / b; }
static inline u64 div_u64(u64 a, u32 b) { return a / b; }
static inline u64 div_u64_rem(u64 a, u32 b, u32 *rem)
{
	*rem = a % b;
	return a / b;
}

/* Memory; fails when shim_fail_in counts down to 0. */
extern long shim_fail_in;	/* -1: never */
extern long shim_allocated;	/* objects not yet freed */
void *shim_alloc(size_t size, bool zero);
void shim_free(const void *p);
#define kmalloc(size, gfp) ((void)(gfp), shim_alloc(size, false))
#define kzalloc(size, gfp) ((void)(gfp), shim_alloc(size, true))
#define kfree(p) shim_free(p)

/* CPUs and the clock */
#define SHIM_CPUS 4
#define SHIM_STRIDE 4096
extern int shim_cpu;
extern u64 shim_now;
static inline u64 ktime_get_ns(void) { return shim_now; }
void *shim_alloc_percpu(size_t size);
#define alloc_percpu(type) ((type *)shim_alloc_percpu(sizeof(type)))
#define free_percpu(p) shim_free(p)
#define per_cpu_ptr(p, cpu) ((__typeof__(p))((char *)(p) + (cpu) * SHIM_STRIDE))
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < SHIM_CPUS; (cpu)++)
#define shim_this(x) (*per_cpu_ptr(&(x), shim_cpu))
#define this_cpu_add(x, v) (shim_this(x) += (v))
#define this_cpu_sub(x, v) (shim_this(x) -= (v))
#define this_cpu_inc(x) (shim_this(x)++)
#define this_cpu_read(x) shim_this(x)
#define this_cpu_write(x, v) (shim_this(x) = (v))

/* Lists */
struct list_head { struct list_head *next, *prev; };
static inline void INIT_LIST_HEAD(struct list_head *h) { h->next = h->prev = h; }
static inline void list_add(struct list_head *n, struct list_head *h)
{
	n->next = h->next;
	n->prev = h;
	h->next->prev = n;
	h->next = n;
}
static inline void list_del(struct list_head *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	n->next = n->prev = NULL;
}
static inline void list_move(struct list_head *n, struct list_head *h)
{
	list_del(n);
	list_add(n, h);
}
#define shim_entry(p, t, m) ((t *)((char *)(p) - offsetof(t, m)))
#define list_last_entry(h, t, m) shim_entry((h)->prev, t, m)
#define list_for_each_entry(pos, h, m) \
	for (pos = shim_entry((h)->next, __typeof__(*pos), m); &pos->m != (h); \
	     pos = shim_entry(pos->m.next, __typeof__(*pos), m))

/* An XArray: a hash table with chains */
#define SHIM_XA_BUCKETS 16384
struct shim_xa_entry { u64 index; void *value; struct shim_xa_entry *next; };
struct xarray { struct shim_xa_entry **bucket; };
static inline void xa_init(struct xarray *xa) { xa->bucket = NULL; }
void *xa_load(struct xarray *xa, u64 index);
void *xa_store(struct xarray *xa, u64 index, void *value, gfp_t gfp);
void *xa_erase(struct xarray *xa, u64 index);
void xa_destroy(struct xarray *xa);
extern char shim_xa_error;
#define xa_is_err(p) ((p) == (void *)&shim_xa_error)

#endif
