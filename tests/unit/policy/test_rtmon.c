// SPDX-License-Identifier: GPL-2.0-only
/* The response-time monitor: the kernel's own source over a clock and CPUs that we set. */
#include <math.h>
#include "check.h"
#include "rtmath.h"

#define MS 1000000ULL
#define NR_REQ 300

static void mean_of_window(void)
{
	struct ek_rt_window w = { .count = 3, .sum_ns = 10 };

	CHECK_EQ(ek_rt_mean(&w), 3);
	w.count = 0;
	CHECK_EQ(ek_rt_mean(&w), 0);
}

static void percentiles(void)
{
	struct ek_rt_window w = {};

	CHECK_EQ(ek_rt_percentile(&w, 500), 0);
	/*
	 * 4 in [1024, 2048), 4 in [4096, 8192): rank of the median is 4 of 8, the
	 * last of the first four, so the end of the first bucket; p75 is rank 6,
	 * half of the second: 4096 + 4096 / 2; p999 is ceil(7.992) = rank 8: its end.
	 */
	w.hist[10] = 4;
	w.hist[12] = 4;
	CHECK_EQ(ek_rt_percentile(&w, 500), 2048);
	CHECK_EQ(ek_rt_percentile(&w, 750), 6144);
	CHECK_EQ(ek_rt_percentile(&w, 999), 8192);
	CHECK_EQ(ek_rt_percentile(&w, 1000), 8192);
	CHECK_EQ(ek_rt_percentile(&w, 5000), 8192);
	/* rank 1, a quarter of the first bucket: 1024 + 256 */
	CHECK_EQ(ek_rt_percentile(&w, 0), 1280);
	CHECK_EQ(ek_rt_percentile(&w, 125), 1280);
	/* just above: ceil(1.008) = 2 */
	CHECK_EQ(ek_rt_percentile(&w, 126), 1536);
	memset(&w, 0, sizeof(w));
	w.hist[0] = 2;			/* [0, 2) */
	CHECK_EQ(ek_rt_percentile(&w, 500), 1);
	memset(&w, 0, sizeof(w));
	w.hist[EK_RT_BUCKETS - 1] = 1ULL << 40;
	CHECK_EQ(ek_rt_percentile(&w, 500), 3ULL << (EK_RT_BUCKETS - 2));
}

static void one(struct ek_rtmon *mon, enum ek_dir dir, u64 ns, u32 bytes)
{
	u64 start = ek_rtmon_start(mon);

	shim_now += ns;
	ek_rtmon_end(mon, dir, bytes, start);
}

/* Buckets, window against total, a second period that holds only its own. */
static void windows(void)
{
	struct ek_rtmon *mon = ek_rtmon_create();
	struct ek_rt_sample s;

	one(mon, EK_READ, 1, 10);
	one(mon, EK_READ, 0, 1);
	one(mon, EK_READ, 4095, 100);
	one(mon, EK_WRITE, 4096, 1000);
	ek_rtmon_note_background(mon, 5, 6);
	ek_rtmon_sample(mon, &s);
	CHECK_EQ(s.ns, 8192);
	CHECK_EQ(s.dir[EK_READ].count, 3);
	CHECK_EQ(s.dir[EK_READ].bytes, 111);
	CHECK_EQ(s.dir[EK_READ].sum_ns, 4096);
	CHECK_EQ(s.dir[EK_READ].hist[0], 2);
	CHECK_EQ(s.dir[EK_READ].hist[11], 1);
	CHECK_EQ(s.dir[EK_WRITE].hist[12], 1);
	CHECK_EQ(s.background_ns, 5);
	CHECK_EQ(s.background_bytes, 6);
	CHECK_EQ(s.occupancy_ns, 8192);
	CHECK_EQ(s.inflight, 0);

	shim_cpu = 3;
	one(mon, EK_WRITE, 1ULL << 50, 1);
	ek_rtmon_sample(mon, &s);
	shim_cpu = 0;
	CHECK_EQ(s.ns, 1LL << 50);
	CHECK_EQ(s.dir[EK_READ].count, 0);
	CHECK_EQ(s.dir[EK_WRITE].count, 1);
	CHECK_EQ(s.dir[EK_WRITE].hist[EK_RT_BUCKETS - 1], 1);
	CHECK_EQ(s.total[EK_WRITE].count, 2);
	CHECK_EQ(s.total[EK_READ].bytes, 111);
	CHECK_EQ(s.background_ns, 0);
	ek_rtmon_destroy(mon);
	ek_rtmon_destroy(NULL);
	CHECK_EQ(shim_allocated, 0);
}

static void no_memory(void)
{
	int n;

	for (n = 0; n < 2; n++) {
		shim_fail_alloc = n + 1;
		CHECK(!ek_rtmon_create());
	}
	shim_fail_alloc = 0;
	CHECK_EQ(shim_allocated, 0);
}

/* On one CPU: the recurrence, in floating point beside it, to 0.05% and 1 ns. */
static void ewma_recurrence(void)
{
	struct ek_rtmon *mon = ek_rtmon_create();
	struct ek_rt_sample s;
	double want[3] = {};
	int i, d;

	ek_rtmon_sample(mon, &s);
	CHECK_EQ(s.ewma_all_ns, 0);
	one(mon, EK_READ, 1000, 1);
	ek_rtmon_sample(mon, &s);
	CHECK_EQ(s.ewma_ns[EK_READ], 1000);
	CHECK_EQ(s.ewma_ns[EK_WRITE], 0);
	/* 0.99 * 1000 + 0.01 * 2000 = 1010 */
	one(mon, EK_READ, 2000, 1);
	ek_rtmon_sample(mon, &s);
	CHECK_EQ(s.ewma_ns[EK_READ], 1010);
	CHECK_EQ(s.ewma_all_ns, 1010);
	/* the first write sets its own to 5010, the common: 1010 + 40 = 1050 */
	one(mon, EK_WRITE, 5010, 1);
	ek_rtmon_sample(mon, &s);
	CHECK_EQ(s.ewma_ns[EK_READ], 1010);
	CHECK_EQ(s.ewma_ns[EK_WRITE], 5010);
	CHECK_EQ(s.ewma_all_ns, 1050);

	want[0] = 1010, want[1] = 5010, want[2] = 1050;
	for (i = 0; i < 20000; i++) {
		u64 ns = rnd_log(36) + 1;

		d = rnd() % 2;
		one(mon, d, ns, 1);
		want[d] = 0.99 * want[d] + 0.01 * ns;
		want[2] = 0.99 * want[2] + 0.01 * ns;
		if (i % 100)
			continue;
		ek_rtmon_sample(mon, &s);
		CHECK_NEAR(s.ewma_ns[0], want[0], want[0] / 2000 + 1);
		CHECK_NEAR(s.ewma_ns[1], want[1], want[1] / 2000 + 1);
		CHECK_NEAR(s.ewma_all_ns, want[2], want[2] / 2000 + 1);
	}
	/* without requests it stays */
	ek_rtmon_sample(mon, &s);
	CHECK_NEAR(s.ewma_all_ns, want[2], want[2] / 2000 + 1);
	ek_rtmon_destroy(mon);
}

static void ewma_over_cpus(void)
{
	struct ek_rtmon *mon = ek_rtmon_create();
	struct ek_rt_sample s;
	int i;

	for (i = 0; i < 3; i++)
		one(mon, EK_READ, 1000, 1);
	shim_cpu = 1;
	one(mon, EK_READ, 5000, 1);
	ek_rtmon_sample(mon, &s);
	CHECK_EQ(s.ewma_ns[EK_READ], (3 * 1000 + 5000) / 4);
	/* only CPU 1 has requests now: only its average counts */
	one(mon, EK_READ, 5000, 1);
	ek_rtmon_sample(mon, &s);
	shim_cpu = 0;
	CHECK_EQ(s.ewma_ns[EK_READ], 5000);
	ek_rtmon_destroy(mon);
}

struct req { u64 start, end; enum ek_dir dir; bool started, ended; };

static u64 overlap(const struct req *r, u64 from, u64 to)
{
	u64 a = r->start > from ? r->start : from, b = r->end < to ? r->end : to;

	return a < b ? b - a : 0;
}

static u64 next_event(const struct req *req, u64 sample)
{
	u64 next = sample;
	int i;

	for (i = 0; i < NR_REQ; i++) {
		if (!req[i].started && req[i].start < next)
			next = req[i].start;
		if (req[i].started && !req[i].ended && req[i].end < next)
			next = req[i].end;
	}
	return next;
}

static int perform(struct ek_rtmon *mon, struct req *req)
{
	int i, n = 0;

	for (i = 0; i < NR_REQ; i++) {
		shim_cpu = rnd() % SHIM_CPUS;
		if (!req[i].started && req[i].start == shim_now) {
			req[i].started = true;
			CHECK_EQ(ek_rtmon_start(mon), shim_now);
		}
		if (req[i].started && !req[i].ended && req[i].end == shim_now) {
			req[i].ended = true;
			ek_rtmon_end(mon, req[i].dir, 1, req[i].start);
		}
		n += req[i].started && !req[i].ended;
	}
	shim_cpu = 0;
	CHECK_EQ(ek_rtmon_inflight(mon), n);
	return n;
}

/*
 * Requests that start and end on any CPU, some longer than periods; the machine
 * has been up for a while or for 17 years.  The border's ages are in units of 16 us.
 */
static void occupancy_brute_force_at(u64 origin)
{
	struct req req[NR_REQ] = {};
	struct ek_rt_sample s;
	struct ek_rtmon *mon;
	u64 from = origin, to, sum;
	int i, n = 0;

	shim_now = origin;
	mon = ek_rtmon_create();
	for (i = 0; i < NR_REQ; i++) {
		req[i].start = origin + rnd() % (90 * MS);
		req[i].end = req[i].start + rnd_log(26);
		req[i].dir = rnd() % 2;
	}
	for (to = origin + 10 * MS; to <= origin + 200 * MS; to += 10 * MS) {
		while ((shim_now = next_event(req, to)) < to)
			n = perform(mon, req);
		n = perform(mon, req);
		ek_rtmon_sample(mon, &s);
		for (sum = 0, i = 0; i < NR_REQ; i++)
			sum += overlap(&req[i], from, to);
		CHECK_EQ(s.ns, 10 * MS);
		CHECK_EQ(s.inflight, n);
		CHECK_NEAR(s.occupancy_ns, sum, (u64)NR_REQ << EK_RT_UNIT_SHIFT);
		CHECK_NEAR(s.occupancy_ns, sum, sum / 20 + (10ULL << EK_RT_UNIT_SHIFT));
		from = to;
	}
	CHECK_EQ(n, 0);
	ek_rtmon_destroy(mon);
}

static void occupancy_brute_force(void)
{
	occupancy_brute_force_at(0);
	occupancy_brute_force_at(123456789012345ULL);
	occupancy_brute_force_at(17ULL * 365 * 86400 * 1000 * MS);
}

/* 100,000 requests in flight after years. */
static void many_in_flight(void)
{
	struct ek_rtmon *mon;
	struct ek_rt_sample s;
	u64 start = 10ULL * 365 * 86400 * 1000 * MS;
	int i;

	shim_now = start;
	mon = ek_rtmon_create();
	for (i = 0; i < 100000; i++) {
		shim_cpu = i % SHIM_CPUS;
		ek_rtmon_start(mon);
	}
	shim_now += 100000 * MS;
	CHECK_EQ(ek_rtmon_inflight(mon), 100000);
	ek_rtmon_sample(mon, &s);
	CHECK_NEAR(s.occupancy_ns / 100000, 100000 * MS, 1 << EK_RT_UNIT_SHIFT);
	for (i = 0; i < 100000; i++)
		ek_rtmon_end(mon, EK_READ, 1, start);
	CHECK_EQ(ek_rtmon_inflight(mon), 0);
	shim_cpu = 0;
	ek_rtmon_destroy(mon);
}

/* What a busy device refuses at once is no fast request of its. */
static void refused(void)
{
	struct ek_rtmon *mon;
	struct ek_rt_sample s;
	u64 start, refused;

	shim_now = 1000 * MS;
	mon = ek_rtmon_create();
	start = ek_rtmon_start(mon);
	shim_now += MS;
	refused = ek_rtmon_start(mon);
	shim_now += 3000;
	CHECK_EQ(ek_rtmon_inflight(mon), 2);
	shim_cpu = 1;
	ek_rtmon_cancel(mon, refused);
	CHECK_EQ(ek_rtmon_inflight(mon), 1);
	shim_now = start + 10 * MS;
	ek_rtmon_end(mon, EK_READ, 4096, start);
	ek_rtmon_sample(mon, &s);
	CHECK_EQ(s.dir[EK_READ].count, 1);
	CHECK_EQ(s.dir[EK_READ].sum_ns, 10 * MS);
	CHECK_EQ(ek_rtmon_inflight(mon), 0);
	shim_cpu = 0;
	ek_rtmon_destroy(mon);
}

/* A reader that saw an end and not its start. */
static void torn_read(void)
{
	s64 word = -ek_rt_flight_word(1000 * MS);

	CHECK_EQ(ek_rt_flight_count(word, 2000 * MS), 0);
	CHECK_EQ(ek_rt_flight_ages(word, 2000 * MS), 0);
	word += 3 * ek_rt_flight_word(1500 * MS);
	CHECK_EQ(ek_rt_flight_count(word, 1500 * MS), 2);
}

/* Samples until every completion looks. */
static void look_always(struct ek_rtmon *mon)
{
	struct ek_rt_sample s;
	int i;

	for (i = 0; i < 8; i++)
		ek_rtmon_sample(mon, &s);
}

/* Three in flight end one by one: 3, 2 and 1 are seen, on whatever CPU. */
static void looks(void)
{
	struct ek_rtmon *mon = ek_rtmon_create();
	struct ek_rt_sample s;
	u64 start[3];
	int i;

	look_always(mon);
	for (i = 0; i < 3; i++) {
		shim_cpu = i;
		start[i] = ek_rtmon_start(mon);
	}
	for (i = 0; i < 3; i++) {
		shim_now += MS;
		shim_cpu = 3 - i;
		ek_rtmon_end(mon, EK_READ, 1, start[i]);
	}
	shim_cpu = 0;
	ek_rtmon_sample(mon, &s);
	CHECK_EQ(s.quiet.look.nr, 3);
	CHECK_EQ(s.quiet.look.sum, 6);
	CHECK_EQ(s.quiet.look.sq, 14);
	CHECK_EQ(s.quiet.ns, 3 * MS);
	CHECK_EQ(s.quiet.requests, 3);
	CHECK_EQ(s.quiet.occupancy_ns, 6 * MS);
	ek_rtmon_sample(mon, &s);
	CHECK_EQ(s.quiet.look.nr, 0);
	ek_rtmon_destroy(mon);
}

/* However many requests: some 2048 looks, after a period to learn. */
static void looks_are_bounded(void)
{
	static const u32 step[] = { 1, 1000, 4096, 1 << 20 };
	struct ek_rt_sample s;
	int i, n;

	for (i = 0; i < ARRAY_SIZE(step); i++) {
		struct ek_rtmon *mon = ek_rtmon_create();

		for (n = 0; n < 400000; n++) {
			one(mon, EK_READ, step[i], 1);
			if (n % 100000 == 99999)
				ek_rtmon_sample(mon, &s);
		}
		CHECK_NEAR(s.quiet.look.nr, 2048, 200);
		CHECK_EQ(s.quiet.look.sum, s.quiet.look.nr);
		ek_rtmon_destroy(mon);
	}
}

/*
 * 10 ms: a request all the time, background I/O from 2 to 5 ms, another within it and on to
 * 6 ms; the next period begins with background I/O under way.
 */
static void quiet_without_background(void)
{
	struct ek_rtmon *mon = ek_rtmon_create();
	struct ek_rt_sample s;
	int ms;

	look_always(mon);
	for (ms = 0; ms < 10; ms++) {
		if (ms == 2 || ms == 4 || ms == 9)
			ek_rtmon_background_begin(mon);
		if (ms == 5 || ms == 6)
			ek_rtmon_background_end(mon);
		one(mon, EK_WRITE, MS, 1);
	}
	ek_rtmon_sample(mon, &s);
	CHECK_EQ(s.dir[EK_WRITE].count, 10);
	CHECK_EQ(s.quiet.ns, 5 * MS);
	CHECK_EQ(s.quiet.requests, 5);
	CHECK_EQ(s.quiet.occupancy_ns, 5 * MS);
	CHECK_EQ(s.quiet.look.nr, 5);
	CHECK_EQ(s.quiet.look.sum, 5);
	one(mon, EK_READ, MS, 1);
	ek_rtmon_background_end(mon);
	one(mon, EK_READ, 2 * MS, 1);
	ek_rtmon_sample(mon, &s);
	CHECK_EQ(s.ns, 3 * MS);
	CHECK_EQ(s.quiet.ns, 2 * MS);
	CHECK_EQ(s.quiet.requests, 1);
	CHECK_EQ(s.quiet.occupancy_ns, 2 * MS);
	CHECK_EQ(s.quiet.look.nr, 1);
	ek_rtmon_destroy(mon);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(mean_of_window),
		TEST(percentiles),
		TEST(windows),
		TEST(no_memory),
		TEST(ewma_recurrence),
		TEST(ewma_over_cpus),
		TEST(occupancy_brute_force),
		TEST(many_in_flight),
		TEST(refused),
		TEST(torn_read),
		TEST(looks),
		TEST(looks_are_bounded),
		TEST(quiet_without_background),
	};

	return run_tests(tests, ARRAY_SIZE(tests));
}
