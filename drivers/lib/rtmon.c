// SPDX-License-Identifier: GPL-2.0-only
/*
 * The response-time monitor (wu-reddy section II, "device performance monitor").
 *
 * A request costs two readings of the clock and, on the CPU where it happens, one
 * addition at its start and six updates at its end, in one cache line and a
 * counter of the histogram.  Each update is one instruction that an interrupt
 * can't split; together they are not atomic, so a sample may see a request's time
 * and not yet its count.  All of it is exact in the running totals.
 *
 * The averages are kept per CPU, over the requests that ended there: on one CPU the
 * paper's recurrence exactly, over several the mean of theirs weighted by the
 * requests that each ended in the period.  An interrupt between the reading
 * and the writing of an average loses one 1% step, nothing more.
 */
#include <linux/cache.h>
#include <linux/export.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "rtmath.h"

#define EK_RT_ALL	EK_DIRS		/* index of the average over both */
#define EK_RT_EWMAS	(EK_DIRS + 1)

struct ek_rt_sums {
	u64 bytes;
	u64 sum_ns;
};

/**
 * struct ek_rt_cpu - what one CPU recorded
 * @flight: see rtmath.h; may be negative, only the sum over CPUs means something
 * @ewma: per direction and over both, ns << EK_RT_EWMA_SHIFT
 * @dir: running sums
 * @hist: running counts; the number of requests is their sum
 * @background_ns: by ek_rtmon_note_background()
 * @background_bytes: likewise
 * @seen: the sampler's: requests at the last sample
 */
struct ek_rt_cpu {
	s64 flight;
	u64 ewma[EK_RT_EWMAS];
	struct ek_rt_sums dir[EK_DIRS];
	u64 hist[EK_DIRS][EK_RT_BUCKETS];
	u64 background_ns;
	u64 background_bytes;
	u64 seen[EK_DIRS];
} ____cacheline_aligned;

/**
 * struct ek_rtmon - the monitor of a device
 * @cpu: what is recorded; the rest is the sampler's
 * @since: when the period began
 * @ages: of the requests that were in flight then, summed
 * @total: what had completed then
 * @ewma: the averages of the last period with requests, ns
 * @background_ns: as of then
 * @background_bytes: as of then
 */
struct ek_rtmon {
	struct ek_rt_cpu __percpu *cpu;
	u64 since;
	u64 ages;
	struct ek_rt_window total[EK_DIRS];
	u64 ewma[EK_RT_EWMAS];
	u64 background_ns;
	u64 background_bytes;
};

/**
 * ek_rtmon_create - make a monitor; its first period begins
 *
 * Context: sleeps.
 * Return: the monitor, NULL without memory.
 */
struct ek_rtmon *ek_rtmon_create(void)
{
	struct ek_rtmon *mon = kzalloc(sizeof(*mon), GFP_KERNEL);

	if (!mon)
		return NULL;
	mon->cpu = alloc_percpu(struct ek_rt_cpu);
	if (!mon->cpu) {
		kfree(mon);
		return NULL;
	}
	mon->since = ktime_get_ns();
	return mon;
}
EXPORT_SYMBOL_GPL(ek_rtmon_create);

/**
 * ek_rtmon_destroy - free a monitor
 * @mon: it, or NULL; no request of it is in flight
 *
 * Context: may sleep.
 */
void ek_rtmon_destroy(struct ek_rtmon *mon)
{
	if (!mon)
		return;
	free_percpu(mon->cpu);
	kfree(mon);
}
EXPORT_SYMBOL_GPL(ek_rtmon_destroy);

/**
 * ek_rtmon_start - a request goes to the device
 * @mon: the device's monitor
 * @dir: EK_READ or EK_WRITE
 *
 * Context: any, also hard interrupt; no lock, no allocation.
 * Return: now, in ns of ktime_get_ns(), for ek_rtmon_end().
 */
u64 ek_rtmon_start(struct ek_rtmon *mon, enum ek_dir dir)
{
	u64 now = ktime_get_ns();

	this_cpu_add(mon->cpu->flight, ek_rt_flight_word(now));
	return now;
}
EXPORT_SYMBOL_GPL(ek_rtmon_start);

static __always_inline void ewma_update(struct ek_rt_cpu __percpu *cpu, unsigned int which,
					u64 ns)
{
	u64 old = this_cpu_read(cpu->ewma[which]);

	this_cpu_write(cpu->ewma[which], ek_rt_ewma_next(old, ns));
}

/**
 * ek_rtmon_end - a request is done
 * @mon: the device's monitor
 * @dir: EK_READ or EK_WRITE
 * @bytes: its length
 * @start_ns: what ek_rtmon_start() returned
 *
 * Context: any, also hard interrupt and another CPU than the start; no lock, no
 * allocation.
 */
void ek_rtmon_end(struct ek_rtmon *mon, enum ek_dir dir, u32 bytes, u64 start_ns)
{
	u64 ns = ktime_get_ns() - start_ns;
	u64 clamped = ek_rt_clamp(ns);
	/* The compiler can't know that the additions don't change mon->cpu. */
	struct ek_rt_cpu __percpu *cpu = mon->cpu;

	this_cpu_sub(cpu->flight, ek_rt_flight_word(start_ns));
	this_cpu_add(cpu->dir[dir].bytes, bytes);
	this_cpu_add(cpu->dir[dir].sum_ns, ns);
	this_cpu_inc(cpu->hist[dir][ek_rt_bucket(clamped)]);
	ewma_update(cpu, dir, clamped);
	ewma_update(cpu, EK_RT_ALL, clamped);
}
EXPORT_SYMBOL_GPL(ek_rtmon_end);

/**
 * ek_rtmon_note_background - account device time that is not the users'
 * @mon: the device's monitor
 * @ns: how long the device was busy with it
 * @bytes: what it moved
 *
 * Context: any.
 */
void ek_rtmon_note_background(struct ek_rtmon *mon, u64 ns, u64 bytes)
{
	this_cpu_add(mon->cpu->background_ns, ns);
	this_cpu_add(mon->cpu->background_bytes, bytes);
}
EXPORT_SYMBOL_GPL(ek_rtmon_note_background);

static s64 flight(struct ek_rtmon *mon)
{
	s64 word = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		word += READ_ONCE(per_cpu_ptr(mon->cpu, cpu)->flight);
	return word;
}

/**
 * ek_rtmon_inflight - requests in flight
 * @mon: the device's monitor
 *
 * Reads a word of every CPU: not for every request.
 *
 * Context: any.
 * Return: how many now, exact when none starts or ends meanwhile.
 */
s64 ek_rtmon_inflight(struct ek_rtmon *mon)
{
	s64 word = flight(mon);

	return ek_rt_flight_count(word, ktime_get_ns());
}
EXPORT_SYMBOL_GPL(ek_rtmon_inflight);

/**
 * ek_rtmon_occupancy - time that requests have spent in flight
 * @mon: the device's monitor
 *
 * Those that have ended with all of theirs, those in flight with theirs until now.
 * Its growth over the time passed is the mean number in flight.
 *
 * Context: any; reads a few words of every CPU.
 * Return: ns, summed over all requests; requests that start or end meanwhile may be
 * in it twice or not at all.
 */
u64 ek_rtmon_occupancy(struct ek_rtmon *mon)
{
	u64 ns = ek_rt_flight_ages(flight(mon), ktime_get_ns());
	int cpu, dir;

	for_each_possible_cpu(cpu)
		for (dir = 0; dir < EK_DIRS; dir++)
			ns += READ_ONCE(per_cpu_ptr(mon->cpu, cpu)->dir[dir].sum_ns);
	return ns;
}
EXPORT_SYMBOL_GPL(ek_rtmon_occupancy);

/* Weighted sums of the CPUs' averages in ns and of the weights. */
struct ewma_fold {
	u64 sum[EK_RT_EWMAS];
	u64 weight[EK_RT_EWMAS];
};

static void fold_ewma(struct ewma_fold *fold, const struct ek_rt_cpu *c, unsigned int which,
		      u64 requests)
{
	/* 2^23 requests that took EK_RT_MAX_NS each, or 2^33 of 2 s, still fit. */
	u64 ns = ek_rt_ewma_ns(READ_ONCE(c->ewma[which]));

	fold->sum[which] += ns * requests;
	fold->weight[which] += requests;
}

static void fold_dir(struct ek_rt_window *w, const struct ek_rt_cpu *c, enum ek_dir dir)
{
	unsigned int b;

	for (b = 0; b < EK_RT_BUCKETS; b++) {
		u64 n = READ_ONCE(c->hist[dir][b]);

		w->hist[b] += n;
		w->count += n;
	}
	w->bytes += READ_ONCE(c->dir[dir].bytes);
	w->sum_ns += READ_ONCE(c->dir[dir].sum_ns);
}

static void fold_cpu(struct ek_rt_sample *s, struct ewma_fold *fold, struct ek_rt_cpu *c)
{
	u64 both = 0;
	int dir;

	for (dir = 0; dir < EK_DIRS; dir++) {
		u64 before = s->total[dir].count, requests;

		fold_dir(&s->total[dir], c, dir);
		requests = s->total[dir].count - before - c->seen[dir];
		c->seen[dir] += requests;
		fold_ewma(fold, c, dir, requests);
		both += requests;
	}
	fold_ewma(fold, c, EK_RT_ALL, both);
	s->background_ns += READ_ONCE(c->background_ns);
	s->background_bytes += READ_ONCE(c->background_bytes);
}

/* The period is what the totals have grown by. */
static void take_window(struct ek_rt_window *w, const struct ek_rt_window *now,
			struct ek_rt_window *last)
{
	unsigned int b;

	w->count = now->count - last->count;
	w->bytes = now->bytes - last->bytes;
	w->sum_ns = now->sum_ns - last->sum_ns;
	for (b = 0; b < EK_RT_BUCKETS; b++)
		w->hist[b] = now->hist[b] - last->hist[b];
	*last = *now;
}

static u64 take_growth(u64 now, u64 *last)
{
	u64 growth = now - *last;

	*last = now;
	return growth;
}

/*
 * Each request that ended spent its whole time in flight; of those in flight at
 * either end of the period only a part belongs to it.
 */
static void take_occupancy(struct ek_rtmon *mon, struct ek_rt_sample *s, s64 word, u64 now)
{
	u64 ages = ek_rt_flight_ages(word, now);
	s64 ns = s->dir[EK_READ].sum_ns + s->dir[EK_WRITE].sum_ns + ages - mon->ages;

	s->inflight = ek_rt_flight_count(word, now);
	s->occupancy_ns = max_t(s64, ns, 0);
	mon->ages = ages;
}

/**
 * ek_rtmon_sample - end the period and begin the next
 * @mon: the monitor
 * @sample: filled
 *
 * Context: one caller at a time; may be preempted, does not sleep.
 */
void ek_rtmon_sample(struct ek_rtmon *mon, struct ek_rt_sample *sample)
{
	struct ewma_fold fold = {};
	s64 word = flight(mon);
	u64 now = ktime_get_ns();
	int cpu, i;

	memset(sample, 0, sizeof(*sample));
	for_each_possible_cpu(cpu)
		fold_cpu(sample, &fold, per_cpu_ptr(mon->cpu, cpu));

	sample->ns = take_growth(now, &mon->since);
	for (i = 0; i < EK_DIRS; i++)
		take_window(&sample->dir[i], &sample->total[i], &mon->total[i]);
	sample->background_ns = take_growth(sample->background_ns, &mon->background_ns);
	sample->background_bytes = take_growth(sample->background_bytes,
					       &mon->background_bytes);
	take_occupancy(mon, sample, word, now);

	for (i = 0; i < EK_RT_EWMAS; i++)
		if (fold.weight[i])
			mon->ewma[i] = div64_u64(fold.sum[i], fold.weight[i]);
	for (i = 0; i < EK_DIRS; i++)
		sample->ewma_ns[i] = mon->ewma[i];
	sample->ewma_all_ns = mon->ewma[EK_RT_ALL];
}
EXPORT_SYMBOL_GPL(ek_rtmon_sample);
