/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The response-time monitor: one object per device.  Per direction: the paper's
 * exponential average (0.99 old + 0.01 new; wu-reddy section II), the mean over
 * the period that ends with each ek_rtmon_sample(), the time integral of the
 * requests in flight, a log2 histogram.  Recording is per CPU and takes no lock;
 * migration I/O is not recorded here by its callers but through
 * ek_rtmon_note_background().
 */
#ifndef _EVENKEEL_RTMON_H
#define _EVENKEEL_RTMON_H

#include <linux/ktime.h>
#include <linux/types.h>

#define EK_RT_BUCKETS	40	/* bucket b: [2^b, 2^(b+1)) ns, the last is open */

enum ek_dir { EK_READ, EK_WRITE, EK_DIRS };

/**
 * struct ek_rt_window - one direction over one period
 * @count: requests that completed
 * @bytes: what they moved
 * @sum_ns: sum of their response times
 * @hist: how many by response time
 */
struct ek_rt_window {
	u64 count;
	u64 bytes;
	u64 sum_ns;
	u64 hist[EK_RT_BUCKETS];
};

/**
 * struct ek_rt_looks - requests in flight, counted at some completions
 * @nr: at how many
 * @sum: of what was counted, the completing one included
 * @sq: of its squares
 */
struct ek_rt_looks {
	u64 nr;
	u64 sum;
	u64 sq;
};

/**
 * struct ek_rt_quiet - the part of a period without background I/O on the device
 * @ns: its length
 * @requests: that completed in it
 * @occupancy_ns: integral of the number in flight
 * @look: at some of those completions; of all of them alike, so that ratios and
 *	means are estimates of theirs
 */
struct ek_rt_quiet {
	u64 ns;
	u64 requests;
	u64 occupancy_ns;
	struct ek_rt_looks look;
};

/**
 * struct ek_rt_sample - a period seen as a whole
 * @ns: its length
 * @dir: what completed in it, per direction
 * @total: since the monitor was made
 * @ewma_ns: exponential averages at its end; 0 before the first request
 * @ewma_all_ns: over both directions
 * @inflight: requests in flight at its end
 * @occupancy_ns: integral of the number in flight over the period; with the
 *	completions this is the loaded latency by Little's law
 * @background_ns: device time that background I/O took, by ek_rtmon_note_background()
 * @background_bytes: what it moved
 * @quiet: what is left of the period without it, between ek_rtmon_background_begin() and
 *	ek_rtmon_background_end()
 */
struct ek_rt_sample {
	u64 ns;
	struct ek_rt_window dir[EK_DIRS];
	struct ek_rt_window total[EK_DIRS];
	u64 ewma_ns[EK_DIRS];
	u64 ewma_all_ns;
	s64 inflight;
	u64 occupancy_ns;
	u64 background_ns;
	u64 background_bytes;
	struct ek_rt_quiet quiet;
};

struct ek_rtmon;

struct ek_rtmon *ek_rtmon_create(void);		/* may sleep; NULL: no memory */
void ek_rtmon_destroy(struct ek_rtmon *mon);

void ek_rtmon_started(struct ek_rtmon *mon, u64 now);
void ek_rtmon_ended(struct ek_rtmon *mon, enum ek_dir dir, u32 bytes, u64 start_ns, u64 now);

/**
 * ek_rtmon_start - a request goes to the device
 * @mon: the device's monitor
 *
 * The clock is read here, as in ek_rtmon_end(), and not in the function called: that
 * one calls nothing else then and has no registers to save.
 *
 * Context: any, also hard interrupt; no lock, no allocation.
 * Return: now, in ns of ktime_get_ns(), for ek_rtmon_end().
 */
static __always_inline u64 ek_rtmon_start(struct ek_rtmon *mon)
{
	u64 now = ktime_get_ns();

	ek_rtmon_started(mon, now);
	return now;
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
static __always_inline void ek_rtmon_end(struct ek_rtmon *mon, enum ek_dir dir, u32 bytes,
					 u64 start_ns)
{
	ek_rtmon_ended(mon, dir, bytes, start_ns, ktime_get_ns());
}

/**
 * ek_rtmon_cancel - a request did not happen: the device refused it at once
 * @mon: the device's monitor
 * @start_ns: what ek_rtmon_start() returned
 *
 * Of one that was asked not to wait, and would have had to, the time says nothing.
 *
 * Context: as ek_rtmon_end().
 */
void ek_rtmon_cancel(struct ek_rtmon *mon, u64 start_ns);

void ek_rtmon_note_background(struct ek_rtmon *mon, u64 ns, u64 bytes);
/* Around each of it: what users see meanwhile is not in ek_rt_sample.quiet. */
void ek_rtmon_background_begin(struct ek_rtmon *mon);
void ek_rtmon_background_end(struct ek_rtmon *mon);

/**
 * ek_rtmon_sample - end the period and begin the next
 * @mon: the monitor
 * @sample: filled
 *
 * One caller at a time (the balancer); may be preempted, does not sleep.
 */
void ek_rtmon_sample(struct ek_rtmon *mon, struct ek_rt_sample *sample);

/* Requests in flight now.  Any context. */
s64 ek_rtmon_inflight(struct ek_rtmon *mon);
bool ek_rtmon_is_idle(struct ek_rtmon *mon);
u64 ek_rtmon_occupancy(struct ek_rtmon *mon);

/* Mean of a window in ns, 0 without requests. */
u64 ek_rt_mean(const struct ek_rt_window *w);
/* Percentile (0..1000 per mille) in ns, interpolated within its bucket; pure. */
u64 ek_rt_percentile(const struct ek_rt_window *w, unsigned int permille);

#endif
