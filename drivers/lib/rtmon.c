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
 *
 * How many requests are in flight is looked at only at some completions, as that
 * reads a word of every CPU.  Which ones is drawn by a hash of the clock: no state to
 * update, and no pattern of the load falls in step with it.  The part is set
 * each period from what completed in the last one, for EK_RT_LOOKS of them, so that it
 * costs the same however fast the device is.
 */
#include <linux/cache.h>
#include <linux/export.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include "rtmath.h"

#define EK_RT_ALL	EK_DIRS		/* index of the average over both */
#define EK_RT_EWMAS	(EK_DIRS + 1)

#define EK_RT_LOOKS	2048		/* wanted in a period */
#define EK_RT_LOOK_FIRST	(U32_MAX / 8)	/* below this, in the first period */
#define EK_RT_LOOK_MAX	4095		/* in flight; more counts as this */

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
 * @looks: completions at which the requests in flight were counted
 * @look_sum: what was counted
 * @look_sq: its squares
 * @seen: the sampler's: requests at the last sample
 */
struct ek_rt_cpu {
	s64 flight;
	u64 ewma[EK_RT_EWMAS];
	struct ek_rt_sums dir[EK_DIRS];
	u64 hist[EK_DIRS][EK_RT_BUCKETS];
	u64 background_ns;
	u64 background_bytes;
	u64 looks;
	u64 look_sum;
	u64 look_sq;
	u64 seen[EK_DIRS];
} ____cacheline_aligned;

/* Running totals at a moment. */
struct ek_rt_mark {
	u64 ns;
	u64 requests;
	u64 occupancy_ns;
};

/**
 * struct ek_rtmon - the monitor of a device
 * @cpu: what is recorded
 * @look_below: a completion counts the requests in flight if its hash is below
 * @nr_background: background I/O under way; background_lock
 * @background_lock: the time it takes
 * @background_since: when the present stretch of it began
 * @background: stretches of it, summed; background_lock
 * @taken: the sampler's, as the rest: of @background at the last sample
 * @look: the looks' sums then
 * @since: when the period began
 * @ages: of the requests that were in flight then, summed
 * @total: what had completed then
 * @ewma: the averages of the last period with requests, ns
 * @background_ns: as of then
 * @background_bytes: as of then
 */
struct ek_rtmon {
	struct ek_rt_cpu __percpu *cpu;
	u32 look_below;
	unsigned int nr_background;
	spinlock_t background_lock;	/* nr_background, background_since, background */
	struct ek_rt_mark background_since;
	struct ek_rt_mark background;
	struct ek_rt_mark taken;
	struct ek_rt_looks look;
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
	spin_lock_init(&mon->background_lock);
	mon->look_below = EK_RT_LOOK_FIRST;
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
 * ek_rtmon_started - what ek_rtmon_start() does
 * @mon: the device's monitor
 * @now: of ktime_get_ns()
 *
 * Context: any, also hard interrupt; no lock, no allocation.
 */
void ek_rtmon_started(struct ek_rtmon *mon, u64 now)
{
	this_cpu_add(mon->cpu->flight, ek_rt_flight_word(now));
}
EXPORT_SYMBOL_GPL(ek_rtmon_started);

static __always_inline void ewma_update(struct ek_rt_cpu __percpu *cpu, unsigned int which,
					u64 ns)
{
	u64 old = this_cpu_read(cpu->ewma[which]);

	/* Who comes in between, here or as this task goes to another CPU, has its step. */
	this_cpu_cmpxchg(cpu->ewma[which], old, ek_rt_ewma_next(old, ns));
}

static s64 flight(struct ek_rtmon *mon)
{
	s64 word = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		word += READ_ONCE(per_cpu_ptr(mon->cpu, cpu)->flight);
	return word;
}

/* A completion: how many were in flight, with the one that is done. */
static noinline void look(struct ek_rtmon *mon, u64 now)
{
	u64 n = min_t(u64, ek_rt_flight_count(flight(mon), now) + 1, EK_RT_LOOK_MAX);

	if (READ_ONCE(mon->nr_background))
		return;
	this_cpu_inc(mon->cpu->looks);
	this_cpu_add(mon->cpu->look_sum, n);
	this_cpu_add(mon->cpu->look_sq, n * n);
}

/**
 * ek_rtmon_ended - what ek_rtmon_end() does
 * @mon: the device's monitor
 * @dir: EK_READ or EK_WRITE
 * @bytes: its length
 * @start_ns: what ek_rtmon_start() returned
 * @now: of ktime_get_ns()
 *
 * Context: any, also hard interrupt; no lock, no allocation.
 */
void ek_rtmon_ended(struct ek_rtmon *mon, enum ek_dir dir, u32 bytes, u64 start_ns, u64 now)
{
	u64 ns = now - start_ns, clamped = ek_rt_clamp(ns);
	/* The compiler can't know that the additions don't change mon->cpu. */
	struct ek_rt_cpu __percpu *cpu = mon->cpu;

	this_cpu_sub(cpu->flight, ek_rt_flight_word(start_ns));
	this_cpu_add(cpu->dir[dir].bytes, bytes);
	this_cpu_add(cpu->dir[dir].sum_ns, ns);
	this_cpu_inc(cpu->hist[dir][ek_rt_bucket(clamped)]);
	ewma_update(cpu, dir, clamped);
	ewma_update(cpu, EK_RT_ALL, clamped);
	if (unlikely(ek_rt_draw(now) < READ_ONCE(mon->look_below)))
		look(mon, now);
}
EXPORT_SYMBOL_GPL(ek_rtmon_ended);

/* Documented in the header. */
void ek_rtmon_cancel(struct ek_rtmon *mon, u64 start_ns)
{
	this_cpu_sub(mon->cpu->flight, ek_rt_flight_word(start_ns));
}
EXPORT_SYMBOL_GPL(ek_rtmon_cancel);

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
 * ek_rtmon_is_idle - is nobody's I/O at the device?
 * @mon: the device's monitor
 *
 * Context: any; reads a word of every CPU.
 * Return: if neither users' requests are in flight nor background I/O is under way.
 */
bool ek_rtmon_is_idle(struct ek_rtmon *mon)
{
	return !READ_ONCE(mon->nr_background) && !ek_rtmon_inflight(mon);
}
EXPORT_SYMBOL_GPL(ek_rtmon_is_idle);

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

static struct ek_rt_mark mark(struct ek_rtmon *mon)
{
	struct ek_rt_mark m = { .ns = ktime_get_ns() };
	int cpu, dir, b;

	m.occupancy_ns = ek_rtmon_occupancy(mon);
	for_each_possible_cpu(cpu)
		for (dir = 0; dir < EK_DIRS; dir++)
			for (b = 0; b < EK_RT_BUCKETS; b++)
				m.requests += READ_ONCE(per_cpu_ptr(mon->cpu, cpu)->hist[dir][b]);
	return m;
}

/* The stretch of background I/O that began at background_since ends.  background_lock held. */
static void close_stretch(struct ek_rtmon *mon, const struct ek_rt_mark *now)
{
	mon->background.ns += now->ns - mon->background_since.ns;
	mon->background.requests += now->requests - mon->background_since.requests;
	mon->background.occupancy_ns += now->occupancy_ns - mon->background_since.occupancy_ns;
}

/**
 * ek_rtmon_background_begin - I/O that is not the users' goes to the device
 * @mon: the device's monitor
 *
 * Until as many calls of ek_rtmon_background_end(), what users see is kept out of
 * ek_rt_sample.quiet.
 *
 * Context: any; reads all counters of every CPU: not for every request.
 */
void ek_rtmon_background_begin(struct ek_rtmon *mon)
{
	unsigned long flags;

	spin_lock_irqsave(&mon->background_lock, flags);
	if (!mon->nr_background)
		mon->background_since = mark(mon);
	WRITE_ONCE(mon->nr_background, mon->nr_background + 1);
	spin_unlock_irqrestore(&mon->background_lock, flags);
}
EXPORT_SYMBOL_GPL(ek_rtmon_background_begin);

/**
 * ek_rtmon_background_end - it is done
 * @mon: the device's monitor
 *
 * Context: as ek_rtmon_background_begin().
 */
void ek_rtmon_background_end(struct ek_rtmon *mon)
{
	struct ek_rt_mark now;
	unsigned long flags;

	spin_lock_irqsave(&mon->background_lock, flags);
	WRITE_ONCE(mon->nr_background, mon->nr_background - 1);
	if (!mon->nr_background) {
		now = mark(mon);
		close_stretch(mon, &now);
	}
	spin_unlock_irqrestore(&mon->background_lock, flags);
}
EXPORT_SYMBOL_GPL(ek_rtmon_background_end);

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
	s->quiet.look.nr += READ_ONCE(c->looks);
	s->quiet.look.sum += READ_ONCE(c->look_sum);
	s->quiet.look.sq += READ_ONCE(c->look_sq);
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

/* What background I/O took of the period, up to now. */
static void take_background(struct ek_rtmon *mon, struct ek_rt_mark *took)
{
	unsigned long flags;

	spin_lock_irqsave(&mon->background_lock, flags);
	if (mon->nr_background) {
		struct ek_rt_mark now = mark(mon);

		close_stretch(mon, &now);
		mon->background_since = now;
	}
	*took = mon->background;
	spin_unlock_irqrestore(&mon->background_lock, flags);
	took->ns = take_growth(took->ns, &mon->taken.ns);
	took->requests = take_growth(took->requests, &mon->taken.requests);
	/* Ages are rounded, what has ended is not: it may have grown by less than nothing. */
	took->occupancy_ns = max_t(s64, take_growth(took->occupancy_ns, &mon->taken.occupancy_ns),
				   0);
}

static u64 less(u64 all, u64 part)
{
	return all > part ? all - part : 0;
}

/* The rest of the period; a request more or less at the borders may be in neither or both. */
static void take_quiet(struct ek_rtmon *mon, struct ek_rt_sample *s)
{
	u64 requests = s->dir[EK_READ].count + s->dir[EK_WRITE].count;
	struct ek_rt_mark took;

	take_background(mon, &took);
	s->quiet.ns = less(s->ns, took.ns);
	s->quiet.requests = less(requests, took.requests);
	s->quiet.occupancy_ns = less(s->occupancy_ns, took.occupancy_ns);
	s->quiet.look.nr = take_growth(s->quiet.look.nr, &mon->look.nr);
	s->quiet.look.sum = take_growth(s->quiet.look.sum, &mon->look.sum);
	s->quiet.look.sq = take_growth(s->quiet.look.sq, &mon->look.sq);
	WRITE_ONCE(mon->look_below, ek_rt_look_below(mon->look_below, requests, EK_RT_LOOKS));
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
	take_quiet(mon, sample);

	for (i = 0; i < EK_RT_EWMAS; i++)
		if (fold.weight[i])
			mon->ewma[i] = div64_u64(fold.sum[i], fold.weight[i]);
	for (i = 0; i < EK_DIRS; i++)
		sample->ewma_ns[i] = mon->ewma[i];
	sample->ewma_all_ns = mon->ewma[EK_RT_ALL];
}
EXPORT_SYMBOL_GPL(ek_rtmon_sample);
