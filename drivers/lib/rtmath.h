/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arithmetic of the response-time monitor, apart from where it is kept.
 *
 * Requests in flight, without shared state.  Every CPU keeps one word: the sum of
 * D(start) over the requests started there minus those ended there, where
 * D(t) = EK_RT_ONE + t and t counts units of 2^EK_RT_UNIT_SHIFT ns.  Over all CPUs
 * that is, at time t, with n requests in flight whose ages sum to a,
 *
 *	W = n D(t) - a,
 *
 * and as a stays far below EK_RT_ONE / 2 (9 years) both can be read off:
 * n = W / D(t) rounded, a = n D(t) - W.  It is one word so that a reader on another
 * CPU can't see a count without its time; one that misses the start of a request
 * and sees its end finds one request fewer and a short age less (hence rounded:
 * then a may be below zero).  131,072 requests in flight fit.
 */
#ifndef _EVENKEEL_RTMATH_H
#define _EVENKEEL_RTMATH_H

#include <linux/bitops.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <evenkeel/rtmon.h>

#define EK_RT_UNIT_SHIFT	14
#define EK_RT_ONE		((s64)BIT_ULL(45))

/* The averages carry this many binary places, so that 1% of a short time counts. */
#define EK_RT_EWMA_SHIFT	8
/* 0.01 as a fraction of 2^20; (EK_RT_MAX_NS << 8) * it fits an s64. */
#define EK_RT_EWMA_GAIN		10486
#define EK_RT_EWMA_GAIN_SHIFT	20
/* What takes longer (18 minutes) counts as this in averages and histograms. */
#define EK_RT_MAX_NS		(BIT_ULL(EK_RT_BUCKETS) - 1)

static inline s64 ek_rt_flight_word(u64 ns)
{
	return EK_RT_ONE + (s64)(ns >> EK_RT_UNIT_SHIFT);
}

static inline s64 ek_rt_flight_count(s64 word, u64 now)
{
	s64 one = ek_rt_flight_word(now);

	return word > 0 ? div64_s64(word + one / 2, one) : 0;
}

/* The ages of the requests in flight summed, in ns. */
static inline u64 ek_rt_flight_ages(s64 word, u64 now)
{
	s64 age = ek_rt_flight_count(word, now) * ek_rt_flight_word(now) - word;

	return word > 0 && age > 0 ? (u64)age << EK_RT_UNIT_SHIFT : 0;
}

/* Evenly spread over 32 bits whatever the clock's steps are. */
static inline u32 ek_rt_draw(u64 now)
{
	return (u32)now * 2654435769u;
}

/*
 * Which draws look so that @looks of @requests do.  It rises slowly: after an idle
 * period a burst may come.
 */
static inline u32 ek_rt_look_below(u32 old, u64 requests, u32 looks)
{
	u64 new = requests > looks ? div64_u64((u64)looks * U32_MAX, requests) : U32_MAX;

	return min_t(u64, new, 2ULL * old + 1);
}

static inline u64 ek_rt_clamp(u64 ns)
{
	return clamp_t(u64, ns, 1, EK_RT_MAX_NS);
}

/* @ns clamped, so it is in range without a look. */
static inline unsigned int ek_rt_bucket(u64 ns)
{
	return fls64(ns) - 1;
}

/* 0.99 old + 0.01 @ns (wu-reddy section II); the first request sets it.  @ns clamped. */
static inline u64 ek_rt_ewma_next(u64 old, u64 ns)
{
	s64 diff = (s64)(ns << EK_RT_EWMA_SHIFT) - (s64)old;

	if (unlikely(!old))
		return ns << EK_RT_EWMA_SHIFT;
	return old + ((diff * EK_RT_EWMA_GAIN) >> EK_RT_EWMA_GAIN_SHIFT);
}

static inline u64 ek_rt_ewma_ns(u64 ewma)
{
	return (ewma + (1 << (EK_RT_EWMA_SHIFT - 1))) >> EK_RT_EWMA_SHIFT;
}

#endif
