// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timing models by themselves. Prints KTAP. Builds with
 *	cc -I drivers/emudisk tests/unit/test_emudisk_model.c drivers/emudisk/model*.c
 */
#include <assert.h>
#include <stdarg.h>

#include "model.h"

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)
#define MS 1000000ULL
#define US 1000ULL

static int tests, failures, case_failed;

#define CHECK(cond, ...) do { \
	if (!(cond) && ++case_failed <= 5) { \
		printf("# %s:%d: %s: ", __FILE__, __LINE__, #cond); \
		printf(__VA_ARGS__); \
		putchar('\n'); \
	} \
} while (0)

static void run(const char *title, void (*test)(void))
{
	case_failed = 0;
	test();
	printf("%sok %d - %s\n", case_failed ? "not " : "", ++tests, title);
	failures += !!case_failed;
}

static struct emu_model *model_new(const char *preset, u64 bytes)
{
	struct emu_model *m = calloc(1, sizeof(*m));
	const struct emu_preset *p = emu_preset_find(preset);

	assert(m && p);
	emu_model_init(m, p, bytes >> 9, 1);
	return m;
}

/* A closed loop: depth requests under way, the next made by a generator. */
struct load {
	u64 rng;
	u64 span;			/* bytes */
	u64 at;
	u32 size;
	int write_percent;
	int run_length;			/* sequential requests before a jump; 0 = all sequential */
	int in_run;
	u64 think;			/* ns from a completion to the next submission */
};

static void load_next(struct load *l, struct emu_req *req)
{
	if (l->run_length && l->in_run++ % l->run_length == 0)
		l->at = emu_random(&l->rng) % (l->span / l->size) * l->size;
	if (l->at + l->size > l->span)
		l->at = 0;
	req->sector = l->at >> 9;
	req->sectors = l->size >> 9;
	req->op = (int)(emu_random(&l->rng) % 100) < l->write_percent ? EMU_WRITE : EMU_READ;
	req->fua = false;
	l->at += l->size;
}

struct result {
	double mbs, mean_us, max_us;
	u64 end;
};

static struct result simulate(struct emu_model *m, struct load l, int depth, int count)
{
	struct emu_req *reqs = calloc(depth, sizeof(*reqs)), *req;
	struct result r = { 0 };
	double sum = 0;
	u64 now = 0;
	int i, submitted = 0, done = 0;

	l.rng = 42;
	for (i = 0; i < depth && submitted < count; i++, submitted++) {
		load_next(&l, &reqs[i]);
		emu_model_submit(m, &reqs[i], now);
	}
	while (done < count) {
		u64 next = emu_model_next(m);

		assert(next != U64_MAX && next >= now);
		now = next;
		while ((req = emu_model_pop(m, now))) {
			double us = (req->done - req->arrive) / 1e3;

			assert(req->done >= req->arrive && req->done <= now);
			sum += us;
			r.max_us = us > r.max_us ? us : r.max_us;
			done++;
			if (submitted++ < count) {
				load_next(&l, req);
				now += l.think;
				emu_model_submit(m, req, now);
			}
		}
	}
	r.end = now;
	r.mbs = (double)count * l.size / now * 1e3;
	r.mean_us = sum / count;
	free(reqs);
	return r;
}

static struct result measure(const char *preset, struct load l, int depth, int count)
{
	struct emu_model *m = model_new(preset, 16 * GIB);
	struct result r;

	if (!l.span)
		l.span = 8 * GIB;
	if (!l.think)
		l.think = 10 * US;
	r = simulate(m, l, depth, count);
	free(m);
	return r;
}

static double rnd(const char *preset, u32 size, int write_percent, int depth)
{
	return measure(preset, (struct load){ .size = size, .run_length = 1,
					      .write_percent = write_percent }, depth, 2000).mean_us;
}

static double seq_mbs(const char *preset, u32 size, int write_percent, int depth)
{
	return measure(preset, (struct load){ .size = size, .write_percent = write_percent },
		       depth, 3000).mbs;
}

static void test_parse(void)
{
	static const struct {
		enum emu_unit unit;
		const char *text;
		int err;
		u64 value;
	} cases[] = {
		{ EMU_TIME, "10us", 0, 10000 }, { EMU_TIME, "2.5ms", 0, 2500000 },
		{ EMU_TIME, "7", 0, 7 }, { EMU_TIME, "1.5", -EINVAL, 0 },
		{ EMU_TIME, "", -EINVAL, 0 },
		{ EMU_TIME, "-1us", -EINVAL, 0 }, { EMU_TIME, "1 us", -EINVAL, 0 },
		{ EMU_SIZE, "20T", 0, 20ULL << 40 }, { EMU_SIZE, "4k", -EINVAL, 0 },
		{ EMU_SIZE, "1.5K", 0, 1536 }, { EMU_RATE, "250M", 0, 250000000 },
		{ EMU_SIZE, "99999999999999999999", -EINVAL, 0 },
		{ EMU_SIZE, "9999999P", -EINVAL, 0 },
		{ EMU_COUNT, "8", 0, 8 }, { EMU_COUNT, "8K", -EINVAL, 0 },
		{ EMU_ELEVATOR, "sptf", 0, EMU_SPTF }, { EMU_ELEVATOR, "x", -EINVAL, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 value = 0;
		int err = emu_parse(cases[i].unit, cases[i].text, &value);

		CHECK(err == cases[i].err && value == cases[i].value, "%s: %d %llu", cases[i].text, err,
		      (unsigned long long)value);
	}
}

static void test_presets(void)
{
	unsigned int i, p;

	for (i = 0; i < emu_nr_presets; i++)
		for (p = 0; p < EMU_NR_PARAMS; p++)
			if (emu_params[p].kinds & (1 << emu_presets[i].kind))
				CHECK(!emu_param_check(emu_presets[i].kind, p, emu_presets[i].param[p]),
				      "%s %s", emu_presets[i].name, emu_params[p].name);
			else
				CHECK(!emu_presets[i].param[p], "%s has a %s", emu_presets[i].name,
				      emu_params[p].name);
}

static void test_seek_curve(void)
{
	struct emu_model *m = model_new("mba3073", 73 * GIB);
	u64 sectors = m->sectors, d, last = 0;

	CHECK(emu_hdd_seek(m, 0, 100) == 0, "a seek within the track");
	for (d = 2000; d < sectors; d += sectors / 5000) {
		u64 t = emu_hdd_seek(m, 0, d);

		CHECK(t >= last, "not monotone at %llu", (unsigned long long)d);
		CHECK(t == emu_hdd_seek(m, d, 0) || d < 4000, "not symmetric");
		last = t;
	}
	CHECK(emu_hdd_seek(m, 0, sectors / 3) / 1000 + 1 >= m->p[EMU_P_SEEK_AVG] / 1000,
	      "a third of the stroke takes %llu", (unsigned long long)emu_hdd_seek(m, 0, sectors / 3));
	CHECK(emu_hdd_seek(m, 0, sectors - 1) > m->p[EMU_P_SEEK_FULL] * 99 / 100, "full stroke");
	free(m);
}

/* As large as emuctl makes them, and around where ever more bits are needed. */
static void test_seek_of_large_disks(void)
{
	static const u64 tib[] = { 1, 1024, 2047, 2048, 2049, 2800, 4096, 8192, 1024 * 1024 - 1 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tib); i++) {
		struct emu_model *m = model_new("hdd7200", tib[i] << 40);
		u64 last = 0, step = m->sectors / 5000, d, third;

		for (d = step; d < m->sectors; d += step) {
			u64 t = emu_hdd_seek(m, 0, d);

			CHECK(t >= last, "%llu TiB: not monotone at %llu",
			      (unsigned long long)tib[i], (unsigned long long)d);
			last = t;
		}
		third = emu_hdd_seek(m, 0, m->sectors / 3);
		CHECK(third / 1000 + 1 >= m->p[EMU_P_SEEK_AVG] / 1000 &&
		      third <= m->p[EMU_P_SEEK_AVG],
		      "%llu TiB: a third of the stroke takes %llu", (unsigned long long)tib[i],
		      (unsigned long long)third);
		CHECK(emu_hdd_seek(m, m->sectors - 1, 0) > m->p[EMU_P_SEEK_FULL] * 99 / 100,
		      "%llu TiB: full stroke", (unsigned long long)tib[i]);
		free(m);
	}
}

static void test_rotation(void)
{
	struct emu_model *m = model_new("mba3073", 73 * GIB);
	u64 rev = m->hdd.rev_ns, spt = m->hdd.spt[0], i, sum = 0;

	CHECK(rev == 4 * MS, "rev %llu", (unsigned long long)rev);
	CHECK(emu_hdd_position(m, 0, false, 0) == 0, "sector 0 is under the head at time 0");
	CHECK(emu_hdd_position(m, 0, false, 1 * MS) == 3 * MS, "a quarter later it has passed");
	CHECK(emu_hdd_position(m, 0, false, 5 * MS) == 3 * MS, "every turn alike");
	for (i = 0; i < 100; i++)
		sum += emu_hdd_position(m, 0, false, i * rev / 100);
	CHECK(sum / 100 > rev * 48 / 100 && sum / 100 < rev * 52 / 100, "half a turn on average");
	/* the end of one transfer is the start of the next */
	for (i = 0; i < 1000; i++) {
		u64 end = i * 8 * rev / spt;

		m->hdd.head = i * 8;
		CHECK(emu_hdd_position(m, i * 8, false, end) < 100, "lost a turn at %llu: %llu",
		      (unsigned long long)i, (unsigned long long)emu_hdd_position(m, i * 8, false, end));
	}
	free(m);
}

static void test_hdd_sequential(void)
{
	double seq = seq_mbs("hdd7200", 65536, 0, 1);
	double random = 65536 / rnd("hdd7200", 65536, 0, 1);

	CHECK(seq > 200 && seq < 260, "sequential read at the media rate: %.1f MB/s", seq);
	CHECK(seq > 20 * random, "sequential %.1f, random %.1f MB/s", seq, random);
	seq = seq_mbs("mba3073", 4096, 0, 1);
	CHECK(seq > 30, "4K sequential reads come from the buffer: %.1f MB/s", seq);
}

static void test_hdd_zones(void)
{
	struct emu_model *m = model_new("hdd7200", 1024 * GIB);
	struct load l = { .size = MIB, .span = 1024 * GIB, .think = 1 };
	double outer = simulate(m, l, 4, 500).mbs, inner;

	free(m);
	m = model_new("hdd7200", 1024 * GIB);
	l.at = 1000 * GIB;
	inner = simulate(m, l, 4, 500).mbs;
	CHECK(outer > 1.7 * inner && outer < 2.3 * inner, "outer %.1f inner %.1f", outer, inner);
	free(m);
}

static double elevator(enum emu_elevator e, int depth, double *max)
{
	struct emu_model *m = model_new("hdd7200", 64 * GIB);
	struct load l = { .size = 4096, .run_length = 1, .span = 64 * GIB };
	struct result r;

	m->p[EMU_P_ELEVATOR] = e;
	r = simulate(m, l, depth, 3000);
	if (max)
		*max = r.max_us;
	free(m);
	return r.mbs;
}

static void test_elevator(void)
{
	double fifo = elevator(EMU_FIFO, 32, NULL), clook = elevator(EMU_CLOOK, 32, NULL), max;
	double sptf = elevator(EMU_SPTF, 32, &max);

	CHECK(clook > 1.2 * fifo, "clook %.2f fifo %.2f", clook, fifo);
	CHECK(sptf > 1.2 * clook, "sptf %.2f clook %.2f", sptf, clook);
	CHECK(sptf > 1.8 * elevator(EMU_SPTF, 1, NULL), "depth helps");
	CHECK(elevator(EMU_FIFO, 32, NULL) < 1.1 * elevator(EMU_FIFO, 1, NULL), "fifo gains nothing");
	CHECK(max < 1.3e6, "nobody starves: %.0f us", max);
}

static void test_hdd_one_at_a_time(void)
{
	struct emu_model *m = model_new("sp2504c", 250 * GIB);
	struct load l = { .size = 4096, .run_length = 1, .span = 250 * GIB };
	struct result r = simulate(m, l, 1, 2000);

	/* average seek, half a turn, overhead */
	CHECK(r.mean_us > 12000 && r.mean_us < 14500, "random 4K read %.0f us", r.mean_us);
	free(m);
}

/* One request, until it is done: its time, ns. */
static u64 alone(struct emu_model *m, struct emu_req req, u64 *now)
{
	struct emu_req *done;

	emu_model_submit(m, &req, *now);
	do {
		u64 next = emu_model_next(m);

		assert(next != U64_MAX && next >= *now);
		*now = next;
		done = emu_model_pop(m, *now);
	} while (!done);
	return done->done - done->arrive;
}

/* The head reads on when the buffer is taken away from it. */
static void test_buffer_removed(void)
{
	struct emu_model *m = model_new("hdd7200", GIB);
	struct emu_req again = { .op = EMU_READ, .sector = 0, .sectors = 8 };
	u64 now = 0, next;

	alone(m, (struct emu_req){ .op = EMU_READ, .sectors = 128 }, &now);
	m->p[EMU_P_BUFFER] = 0;
	emu_model_retune(m);
	emu_model_submit(m, &again, now);
	next = emu_model_next(m);
	CHECK(next > now + m->p[EMU_P_CMD] && next < now + 1000 * MS, "a read takes %llu ns",
	      (unsigned long long)(next - now));
	while (!emu_model_pop(m, emu_model_next(m)))
		;
	now = again.done + 1;
	m->p[EMU_P_BUFFER] = 4 * MIB;
	emu_model_retune(m);
	CHECK(alone(m, again, &now) > 1 * MS, "read from a buffer that there was not");
	CHECK(alone(m, again, &now) < 1 * MS, "not read from the buffer that there is");
	free(m);
}

static void test_write_cache(void)
{
	struct emu_model *m = model_new("hdd7200", 64 * GIB);
	struct emu_req w[100], flush = { .op = EMU_FLUSH }, fua = { .op = EMU_WRITE, .fua = true };
	struct emu_req *req;
	u64 rng = 7, now = 0, i, done = 0;

	for (i = 0; i < 100; i++) {
		w[i] = (struct emu_req){ .op = EMU_WRITE, .sectors = 8,
					 .sector = emu_random(&rng) % (64 * GIB >> 12) * 8 };
		emu_model_submit(m, &w[i], now);
	}
	while (done < 100) {
		now = emu_model_next(m);
		while (emu_model_pop(m, now))
			done++;
	}
	CHECK(now < 2 * MS, "cached writes take %llu us", (unsigned long long)now / 1000);
	emu_model_submit(m, &flush, now);
	do
		req = emu_model_pop(m, emu_model_next(m));
	while (!req);
	CHECK(req == &flush && flush.done - flush.arrive > 200 * MS,
	      "a flush waits for the destaging: %llu us",
	      (unsigned long long)(flush.done - flush.arrive) / 1000);
	CHECK(m->hdd.nr_dirty == 0 && m->hdd.dirty_bytes == 0, "dirty after a flush");
	fua.sectors = 8;
	emu_model_submit(m, &fua, flush.done);
	do
		req = emu_model_pop(m, emu_model_next(m));
	while (!req);
	CHECK(fua.done - fua.arrive > 100 * US, "FUA goes to the medium");
	free(m);
}

static void test_ssd(void)
{
	struct emu_model *m = model_new("mem", GIB);
	struct load l = { .size = 4096, .run_length = 1, .span = GIB };
	double one, many;

	CHECK(simulate(m, l, 16, 1000).max_us == 10, "mem takes 10 us");
	free(m);
	m = model_new("mem", GIB);
	CHECK(simulate(m, l, 64, 10000).mean_us > 35, "more than 16 at once have to wait");
	free(m);
	many = measure("mem", (struct load){ .size = 4096, .run_length = 1, .think = 1 },
		       64, 20000).mbs / .004096;
	CHECK(many > 1580000 && many < 1601000, "mem does %.0f a second, and no more", many);
	m = model_new("mem", GIB);
	l.size = MIB;
	CHECK(simulate(m, l, 16, 1000).max_us == 10, "however much is asked");
	free(m);
	one = rnd("nvme", 4096, 0, 1);
	many = measure("nvme", (struct load){ .size = 4096, .run_length = 1, .think = 1 },
		       64, 20000).mbs;
	CHECK(one > 70 && one < 90, "nvme reads 4K in %.1f us", one);
	CHECK(many > 20 * 4096 / one, "channels work in parallel: %.1f MB/s", many);
	many = seq_mbs("sata-ssd", MIB, 0, 8);
	CHECK(many > 500 && many <= 551, "the interface limits: %.1f MB/s", many);
}

/* What one 4 KiB write takes that goes on with the last one, on a device that is idle. */
static double idle_write(const char *preset)
{
	return measure(preset, (struct load){ .size = 4096, .write_percent = 100, .think = MS },
		       1, 2000).mean_us;
}

/* us of a flush behind one; and what FUA asks for. */
static double flush_after_write(const char *preset)
{
	struct emu_model *m = model_new(preset, GIB);
	struct emu_req write = { .op = EMU_WRITE, .sectors = 8 };
	u64 now = 0, ns;

	alone(m, write, &now);
	ns = alone(m, (struct emu_req){ .op = EMU_FLUSH }, &now);
	write.fua = true;
	write.sector = 8;
	CHECK(alone(m, write, &now) > 400 * US, "FUA is answered by the flash");
	free(m);
	return ns / 1e3;
}

static void test_write_buffer(void)
{
	static const struct {
		const char *name;
		double sheet_us, sustained;
	} known[] = { { "nvme", 20, 2000 }, { "x25m", 115, 75 } };
	unsigned int i;
	double us, mbs;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		const char *name = known[i].name;

		us = idle_write(name);
		CHECK(us < 1.2 * known[i].sheet_us && us > known[i].sheet_us / 1.2,
		      "%s writes 4K in %.1f us", name, us);
	}
	us = idle_write("nvme");
	CHECK(2 * us < idle_write("sata-ssd"), "nvme writes 4K in %.1f us, sata-ssd in %.1f", us,
	      idle_write("sata-ssd"));
	/* 10 s of each: what the buffer takes in more is not seen */
	mbs = measure("nvme", (struct load){ .size = 4096, .run_length = 1, .write_percent = 100,
					     .think = 1 }, 32, 4900000).mbs;
	CHECK(mbs > 1960 && mbs < 2040, "nvme writes anywhere: %.1f MB/s", mbs);
	mbs = measure("x25m", (struct load){ .size = MIB, .write_percent = 100, .think = 1 },
		      4, 720).mbs;
	CHECK(mbs > 73.5 && mbs < 76.5, "x25m writes on: %.1f MB/s", mbs);
	mbs = measure("x25m", (struct load){ .size = 4096, .run_length = 1, .write_percent = 100 },
		      8, 2000).mean_us;
	CHECK(mbs > 8 * 2900 && mbs < 8 * 3100, "a merge each: %.1f us", mbs);
	us = flush_after_write("x25m");
	CHECK(us > 900, "a flush waits for what is in the buffer: %.1f us", us);
	/* reads wait for channels that writes have, but for no longer than a buffer is deep */
	us = measure("nvme", (struct load){ .size = 4096, .run_length = 1, .write_percent = 90,
					    .think = 1 }, 64, 20000).max_us;
	CHECK(us > 200 && us < 1200, "a read behind writes: %.1f us", us);
}

static void test_jitter(void)
{
	struct emu_model *a = model_new("nvme", GIB), *b = model_new("nvme", GIB);
	struct load l = { .size = 4096, .run_length = 1, .span = GIB };
	struct result ra = simulate(a, l, 4, 1000), rb = simulate(b, l, 4, 1000), rc;

	CHECK(ra.end == rb.end && ra.mean_us == rb.mean_us, "one seed, one result");
	free(b);
	b = calloc(1, sizeof(*b));
	emu_model_init(b, emu_preset_find("nvme"), GIB >> 9, 2);
	rc = simulate(b, l, 4, 1000);
	CHECK(rc.end != ra.end, "another seed, another result");
	free(a);
	free(b);
}

static void test_drain(void)
{
	const char *names[] = { "hdd7200", "mba3073", "x25m", "mem" };
	struct emu_req reqs[64], *req;
	struct list_head out;
	unsigned int i, k, n;
	u64 rng = 3;

	for (k = 0; k < ARRAY_SIZE(names); k++) {
		struct emu_model *m = model_new(names[k], GIB);

		n = 0;
		for (i = 0; i < 64; i++) {
			reqs[i] = (struct emu_req){ .op = i % 5 ? i % 2 : EMU_FLUSH, .sectors = 8,
						    .sector = emu_random(&rng) % 2000 * 8 };
			emu_model_submit(m, &reqs[i], i);
		}
		while (emu_model_pop(m, 15 * US))
			n++;
		INIT_LIST_HEAD(&out);
		emu_model_drain(m, &out);
		list_for_each_entry(req, &out, node)
			n++;
		CHECK(n == 64, "%s: %u came back", names[k], n);
		CHECK(emu_model_next(m) == U64_MAX, "%s is not idle", names[k]);
		free(m);
	}
}

/* After a drain of so many requests: ns that a flush and a write take, and a read. */
static u64 after_drain(const char *name, int count, u64 *read)
{
	struct emu_model *m = model_new(name, GIB);
	struct emu_req reqs[64];
	struct list_head out;
	u64 now = 0, sum;
	int i;

	for (i = 0; i < count; i++) {
		reqs[i] = (struct emu_req){ .op = i % 2, .sectors = 2048, .sector = i * 4096 + 8 };
		emu_model_submit(m, &reqs[i], now);
	}
	INIT_LIST_HEAD(&out);
	emu_model_drain(m, &out);
	sum = alone(m, (struct emu_req){ .op = EMU_FLUSH }, &now);
	sum += alone(m, (struct emu_req){ .op = EMU_WRITE, .sectors = 8, .sector = 800 }, &now);
	*read = alone(m, (struct emu_req){ .op = EMU_READ, .sectors = 8, .sector = 80000 }, &now);
	free(m);
	return sum;
}

static void test_idle_after_drain(void)
{
	unsigned int i;

	for (i = 0; i < emu_nr_presets; i++) {
		const char *name = emu_presets[i].name;
		u64 read, fresh, sum;

		/* an arm stays where it is, and a platter turns: no two times need be the same */
		if (emu_presets[i].kind == EMU_KIND_HDD || emu_presets[i].param[EMU_P_JITTER])
			continue;
		sum = after_drain(name, 0, &fresh);
		CHECK(after_drain(name, 64, &read) == sum, "%s: flush and write", name);
		CHECK(read == fresh, "%s: a read takes %llu, not %llu ns", name,
		      (unsigned long long)read, (unsigned long long)fresh);
	}
}

/* wu-2011, chapter II, on its Figure 2: what the text says of the three devices. */
static double flash_to_disk(const char *flash, u32 size, int write_percent)
{
	return rnd(flash, size, write_percent, 1) / rnd("sp2504c", size, write_percent, 1);
}

static void test_figure2(void)
{
	const char *flash[] = { "transcend16", "memoright32" };
	unsigned int i;
	u32 size;

	for (i = 0; i < 2; i++) {
		double last = 0, ratio = flash_to_disk(flash[i], 4096, 0);

		CHECK(ratio < 0.1, "%s: small reads: flash/disk %.3f", flash[i], ratio);
		for (size = 16384; size <= 4 * MIB; size *= 4) {
			ratio = flash_to_disk(flash[i], size, 0);
			CHECK(ratio > last, "%s: the disk gains with the size of reads: %u: %.3f after %.3f",
			      flash[i], size, ratio, last);
			last = ratio;
		}
		CHECK(last > 1, "%s: large reads: flash/disk %.2f", flash[i], last);
		ratio = flash_to_disk(flash[i], 4096, 100);
		CHECK(ratio > 0.6 && ratio < 1.6, "%s: small writes: flash/disk %.2f", flash[i], ratio);
		for (size = MIB; size <= 4 * MIB; size *= 2) {
			ratio = flash_to_disk(flash[i], size, 100);
			CHECK(ratio > 1.25, "%s: writes of %u: flash/disk %.2f", flash[i], size, ratio);
		}
	}
}

/*
 * wu-reddy, Table III: a NetApp mix gives the 15K disk and the X25-M nearly the same throughput, with
 * one process as with ten. The trace is not public; what reaches a device from it, behind a page
 * cache, is taken for mostly merged writes of 64 KiB within 1 GiB.
 */
static void test_table3(void)
{
	struct load mix = { .size = 65536, .run_length = 1, .write_percent = 80, .span = GIB };
	int depth;

	for (depth = 1; depth <= 10; depth += 9) {
		double disk = measure("mba3073", mix, depth, 3000).mbs;
		double ssd = measure("x25m", mix, depth, 3000).mbs;

		CHECK(ssd / disk < 1.35 && disk / ssd < 1.35, "depth %d: disk %.1f, ssd %.1f MB/s", depth,
		      disk, ssd);
	}
	CHECK(rnd("mba3073", 4096, 0, 1) > 20 * rnd("x25m", 4096, 0, 1), "small reads are the SSD's");
}

int main(void)
{
	puts("KTAP version 1");
	run("values with units", test_parse);
	run("presets are within their own bounds", test_presets);
	run("seek curve: monotone, symmetric, through its points", test_seek_curve);
	run("seek curve of disks up to an EiB", test_seek_of_large_disks);
	run("rotation is a function of time", test_rotation);
	run("hdd: sequential far above random", test_hdd_sequential);
	run("hdd: outer zones are faster", test_hdd_zones);
	run("hdd: elevators beat fifo", test_elevator);
	run("hdd: random read is seek + half a turn", test_hdd_one_at_a_time);
	run("hdd: no buffer from one moment to the next", test_buffer_removed);
	run("hdd: write cache, flush and FUA", test_write_cache);
	run("ssd: channels, latency, interface", test_ssd);
	run("ssd: a buffer answers writes, flash keeps their rate", test_write_buffer);
	run("ssd: jitter is seeded", test_jitter);
	run("every request comes back from a drain", test_drain);
	run("nothing is booked any more after a drain", test_idle_after_drain);
	run("wu-2011 Figure 2: flash against sp2504c", test_figure2);
	run("wu-reddy Table III: x25m against mba3073", test_table3);
	printf("1..%d\n%d passed, %d failed, 0 skipped\n", tests, tests - failures, failures);
	return failures != 0;
}
