// SPDX-License-Identifier: GPL-2.0-only
#include <evenkeel/scm.h>
#include <evenkeel/undo.h>
#include "crash.h"
#include "ktap.h"

#define LANES	3
#define AT	4096u
#define SIZE	(AT + LANES * EKU_LANE_BYTES)
#define SALT	0x1234567
#define WORDS	(AT / 8)

static u8 mem[SIZE] __aligned(4096), before[SIZE], second_before[SIZE];
static __le64 *const word = (__le64 *)mem;
static struct scm_log scm_log;
static struct ek_undo *undo;

/* What each of the words may be: as of after so many transactions. */
#define MAX_TX	8
static u64 history[MAX_TX + 1][WORDS];
static u32 fence_done[MAX_TX + 1];	/* events recorded when it had returned */
static u32 nr_tx;

static void fresh(void)
{
	u32 i;

	memset(mem, 0, SIZE);
	for (i = 0; i < SIZE; i++)
		mem[i] = get_random_u32();
	ek_undo_format(mem + AT, LANES);
	scm_fence();
	CHECK(!ek_undo_open(mem, SIZE, AT, LANES, SALT, &undo));
	memcpy(before, mem, SIZE);
	memcpy(history[0], mem, AT);
	nr_tx = 0;
	crash_log_init(&scm_log, mem, SIZE, 65536, 1 << 20);
	CHECK(!scm_record_start(&scm_log));
}

static void done(void)
{
	scm_record_stop();
	CHECK(!scm_log.full);
	ek_undo_close(undo);
}

/* A transaction of @nr random words out of the first @of, in a lane of the test's choice. */
static void transact(u32 lane, u32 nr, u32 of)
{
	struct ek_undo_tx other[LANES], tx;
	u32 i, at, first, held = 0;

	for (;;) {	/* the task's own lane comes first, then the ones after it */
		ek_undo_begin(undo, &tx);
		if (held == lane)
			break;
		other[held++] = tx;
	}
	memcpy(history[nr_tx + 1], history[nr_tx], AT);
	for (i = 0; i < nr; i++) {
		first = get_random_u32() % of;
		at = i % 3 ? (first + i) % of : first;
		history[nr_tx + 1][at] = get_random_u64();
		CHECK(!ek_undo_set(&tx, &word[at], history[nr_tx + 1][at]));
		CHECK(ek_undo_get(&tx, &word[at]) == history[nr_tx + 1][at]);
	}
	ek_undo_commit(&tx);
	while (held)
		ek_undo_abort(&other[--held]);
	fence_done[++nr_tx] = scm_log.nr_events;
	CHECK(!memcmp(mem, history[nr_tx], AT));
}

struct expected {
	u32 from, to;
};

static struct expected expect_at(u32 point)
{
	struct expected e = { 0, nr_tx };

	while (e.from < nr_tx && fence_done[e.from + 1] <= point)
		e.from++;
	e.to = min(e.from + 1, nr_tx);
	return e;
}

static u32 cuts_in_replay;

static void look_again(u8 *now, u32 point, void *arg)
{
	const struct expected *e = arg;
	struct ek_undo_stats stats;

	cuts_in_replay++;
	CHECK(!ek_undo_replay(now, SIZE, AT, LANES, SALT, false, &stats));
	CHECK(!memcmp(now, history[e->from], AT) || !memcmp(now, history[e->to], AT),
	      "after a cut in replay, event %u", point);
}

/* Record the replay of this content and cut that, too. */
static void cut_replay(const u8 *now, struct expected *e)
{
	struct ek_undo_stats stats;
	struct scm_log log;
	static u8 copy[SIZE];

	memcpy(copy, now, SIZE);
	memcpy(second_before, now, SIZE);
	crash_log_init(&log, copy, SIZE, 2048, 1 << 16);
	CHECK(!scm_record_start(&log));
	CHECK(!ek_undo_replay(copy, SIZE, AT, LANES, SALT, false, &stats));
	scm_record_stop();
	crash_cuts(&log, second_before, 0, 4, look_again, e);
	crash_log_free(&log);
}

static u32 undone, committed, nested;

/* As the lane that a task begins to look at follows from it. */
static void transact_anywhere(u32 nr, u32 of)
{
	shim_task = 1 + SCM_LINE * (get_random_u32() % 4);
	transact(get_random_u32() % LANES, nr, of);
	shim_task = 0;
}

static void look(u8 *now, u32 point, void *arg)
{
	struct expected e = expect_at(point);
	struct ek_undo_stats stats;
	static u8 copy[SIZE];
	static u32 count;

	if (ktap_failing())
		return;
	if (nested && count++ % nested == 0)
		cut_replay(now, &e);
	memcpy(copy, now, SIZE);
	CHECK(!ek_undo_replay(now, SIZE, AT, LANES, SALT, true, &stats));
	CHECK(!memcmp(copy, now, SIZE), "a dry replay stores nothing");
	CHECK(!ek_undo_replay(now, SIZE, AT, LANES, SALT, false, &stats));
	undone += stats.undone;
	committed += stats.committed;
	CHECK(!memcmp(now, history[e.from], AT) || !memcmp(now, history[e.to], AT),
	      "event %u: neither as after %u nor as after %u transactions", point, e.from, e.to);
	CHECK(!ek_undo_replay(now, SIZE, AT, LANES, SALT, false, &stats));
	CHECK(!stats.undone && !stats.committed && !stats.words, "a second replay finds nothing");
}

static void every_cut(void)
{
	u32 round, i;
	u64 states = 0;

	undone = committed = cuts_in_replay = 0;
	nested = 37;
	for (round = 0; round < 12 && !ktap_failing(); round++) {
		fresh();
		for (i = 0; i < 5; i++) {
			u32 nr = 1 + get_random_u32() % (round < 8 ? 5 : 9), of = round % 3 ? 12 : 40;

			if (round % 2)
				transact_anywhere(nr, of);
			else
				transact(0, nr, of);
		}
		done();
		states += crash_cuts(&scm_log, before, 0, 60, look, NULL);
		crash_log_free(&scm_log);
	}
	CHECK(undone && committed && cuts_in_replay);
	ktap_note("%llu states: %u transactions undone, %u found done; %u cuts in replays",
		  (unsigned long long)states, undone, committed, cuts_in_replay);
}

/* A later transaction reuses the records' places: cut, replayed, used again, cut again. */
static void after_recovery(void)
{
	static u8 image[SIZE];
	struct ek_undo_stats stats;
	struct scm_log first;
	u32 keep, round;

	nested = 0;
	for (round = 0; round < 40 && !ktap_failing(); round++) {
		fresh();
		transact(0, 9, 40);
		transact(0, 9, 40);
		done();
		/*
		 * All records of the second arrived but the first of them, and nothing else of
		 * it.
		 */
		keep = fence_done[1];
		first = scm_log;
		memcpy(image, before, SIZE);
		for (u32 i = 0; i < first.nr_events; i++) {
			const struct scm_event *e = &first.event[i];

			if (i == keep)
				continue;
			if (i > keep && e->type == SCM_FENCE)
				break;
			if (e->type == SCM_STORE || e->type == SCM_STORE_NT)
				memcpy(image + e->offset, first.bytes + e->data, e->len);
		}
		crash_log_free(&first);
		memcpy(mem, image, SIZE);
		CHECK(!ek_undo_replay(mem, SIZE, AT, LANES, SALT, false, &stats));
		CHECK(!memcmp(mem, history[1], AT));
		CHECK(!ek_undo_open(mem, SIZE, AT, LANES, SALT, &undo));
		memcpy(before, mem, SIZE);
		memcpy(history[0], mem, AT);
		nr_tx = 0;
		crash_log_init(&scm_log, mem, SIZE, 4096, 1 << 18);
		CHECK(!scm_record_start(&scm_log));
		transact(0, 2, 40);
		transact(0, 2, 40);
		done();
		crash_cuts(&scm_log, before, 0, 40, look, NULL);
		crash_log_free(&scm_log);
	}
}

static void costs(void)
{
	struct ek_undo_tx tx;

	fresh();
	transact(0, 5, 40);
	CHECK(crash_fences(&scm_log) == 2, "%u fences", crash_fences(&scm_log));
	ek_undo_begin(undo, &tx);
	ek_undo_commit(&tx);
	ek_undo_begin(undo, &tx);
	CHECK(!ek_undo_set(&tx, &word[3], 5));
	ek_undo_abort(&tx);
	CHECK(crash_fences(&scm_log) == 2, "%u fences after nothing", crash_fences(&scm_log));
	CHECK(!memcmp(mem, history[1], AT));
	ktap_note("%u lanes: %llu bytes of RAM, %u of the region", LANES,
		  (unsigned long long)ek_undo_memory(undo), LANES * EKU_LANE_BYTES);
	CHECK(ek_undo_memory(undo) / LANES * 16 + ek_undo_bytes(16) < 200000);
	done();
	crash_log_free(&scm_log);
}

static void too_large(void)
{
	struct ek_undo_tx tx;
	u32 i, nr = 0;

	fresh();
	ek_undo_begin(undo, &tx);
	for (i = 0; i < WORDS && !ek_undo_set(&tx, &word[i], i); i += 2)
		nr++;
	CHECK(nr == EKU_RECORDS, "%u words apart", nr);
	ek_undo_abort(&tx);
	CHECK(!memcmp(mem, history[0], AT));
	ek_undo_begin(undo, &tx);
	for (i = 0, nr = 0; i < WORDS && !ek_undo_set(&tx, &word[i], i); i++)
		nr++;
	CHECK(nr == 128, "%u words", nr);
	ek_undo_commit(&tx);
	CHECK(le64_to_cpu(word[127]) == 127 && le64_to_cpu(word[128]) == history[0][128]);
	done();
	crash_log_free(&scm_log);
}

static void damaged(void)
{
	struct ek_undo_stats stats;
	struct eku_lane *lane = (void *)(mem + AT);
	struct eku_record *r = &lane->record[1][0];
	static const u64 where[] = {
		0, 6ULL << 56, 1ULL << 56 | 4, 1ULL << 56 | SIZE, 5ULL << 56 | (SIZE - 32),
		1ULL << 56 | AT, 5ULL << 56 | (AT - 8), 1ULL << 56 | (SIZE - 8),
		1ULL << 56 | ((1ULL << 56) - 8),
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(where); i++) {
		fresh();
		r->transaction = cpu_to_le64(EKU_FIRST);
		r->where = cpu_to_le64(where[i]);
		CHECK(!ek_undo_replay(mem, SIZE, AT, LANES, SALT, false, &stats) && !stats.undone,
		      "one whose check is wrong is none");
		r->check = cpu_to_le64(ek_undo_hash(SALT, &r->transaction, 7));
		memcpy(before, mem, SIZE);
		CHECK(ek_undo_replay(mem, SIZE, AT, LANES, SALT, false, &stats) == -EUCLEAN,
		      "where %llx", (unsigned long long)where[i]);
		CHECK(!memcmp(before, mem, SIZE));
		r->where = cpu_to_le64(1ULL << 56 | 8);
		r->check = cpu_to_le64(ek_undo_hash(SALT + 1, &r->transaction, 7));
		CHECK(!ek_undo_replay(mem, SIZE, AT, LANES, SALT, false, &stats) && !stats.undone,
		      "another log's is none");
		done();
		crash_log_free(&scm_log);
	}
}

/* A task whose own lane is the first. */
static void first_lane_task(void)
{
	u64 task = 0;

	while (ek_undo_hash(0, &task, 1) % LANES)
		task++;
	shim_task = task * SCM_LINE + 1;
}

/*
 * The sector that a lane's head is in is zeroes, and whatever number of transactions its other
 * records are from: none of them comes to life again, nor is anything of other lanes taken back.
 */
static void lost_head(void)
{
	struct eku_lane *lane = (void *)(mem + AT);
	struct ek_undo_stats stats;
	u32 nr, i;

	for (nr = 0; nr <= 6; nr++) {
		fresh();
		first_lane_task();
		for (i = 0; i < nr; i++)
			transact(1, 9, 40);
		transact(0, 2, 40);
		shim_task = 0;
		done();
		crash_log_free(&scm_log);
		/* That one was cut before its words were there. */
		lane[0].head.retired = cpu_to_le64(EKU_FIRST - 1);
		lane[0].head.commit = 0;
		memset(&lane[1], 0, 512);
		memcpy(before, mem, SIZE);
		CHECK(ek_undo_replay(mem, SIZE, AT, LANES, SALT, true, &stats) == (nr ? -EUCLEAN : 0),
		      "%u transactions", nr);
		CHECK(!memcmp(before, mem, SIZE));
		CHECK(ek_undo_replay(mem, SIZE, AT, LANES, SALT, false, &stats) == (nr ? -EUCLEAN : 0));
		CHECK(!nr || !memcmp(before, mem, SIZE), "%u transactions: something is stored", nr);
		CHECK(nr || stats.undone == 1);
	}
}

/* A log from when numbers began with 1: what it has is as it was, and its next ones are as now. */
static void small_numbers(void)
{
	struct eku_lane *lane = (void *)(mem + AT);
	struct ek_undo_stats stats;
	struct eku_record *r;
	u32 i;

	fresh();
	done();
	crash_log_free(&scm_log);
	for (i = 0; i < LANES; i++)
		lane[i].head.retired = cpu_to_le64(i == 2);
	r = &lane[1].record[1][0];	/* cut */
	r->transaction = cpu_to_le64(1);
	r->where = cpu_to_le64(1ULL << EKU_WHERE_BITS | 8);
	r->old[0] = cpu_to_le64(77);
	r->check = cpu_to_le64(ek_undo_hash(SALT, &r->transaction, 7));
	CHECK(!ek_undo_replay(mem, SIZE, AT, LANES, SALT, false, &stats));
	CHECK(stats.undone == 1 && le64_to_cpu(word[1]) == 77);
	for (i = 0; i < LANES; i++)
		CHECK(le64_to_cpu(lane[i].head.retired) == EKU_FIRST - 1);
}

#define THREADS	6
#define ROUNDS	3000

static void *add(void *arg)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	u32 mine = 1 + (uintptr_t)arg, i;
	struct ek_undo_tx tx;

	for (i = 0; i < ROUNDS; i++) {
		bool shared = i % 4 == 0;

		if (shared)
			pthread_mutex_lock(&lock);
		ek_undo_begin(undo, &tx);
		if (shared)
			ek_undo_set(&tx, &word[0], ek_undo_get(&tx, &word[0]) + 1);
		ek_undo_set(&tx, &word[mine], ek_undo_get(&tx, &word[mine]) + 1);
		ek_undo_commit(&tx);
		if (shared)
			pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void threads(void)
{
	struct ek_undo_stats stats;
	pthread_t t[THREADS];
	uintptr_t i;

	memset(mem, 0, AT);
	ek_undo_format(mem + AT, LANES);
	CHECK(!ek_undo_open(mem, SIZE, AT, LANES, SALT, &undo));
	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, add, (void *)i);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	ek_undo_close(undo);
	CHECK(word[0] == THREADS * ROUNDS / 4);
	for (i = 0; i < THREADS; i++)
		CHECK(word[1 + i] == ROUNDS);
	CHECK(!ek_undo_replay(mem, SIZE, AT, LANES, SALT, false, &stats) && !stats.undone);
}

static void formatted_again(void)
{
	struct ek_undo_stats stats;
	u32 i;

	fresh();
	for (i = 0; i < 6; i++)
		transact(i % LANES, 5, WORDS);
	done();
	crash_log_free(&scm_log);
	ek_undo_format(mem + AT, LANES);
	scm_fence();
	memcpy(before, mem, SIZE);
	CHECK(!ek_undo_replay(mem, SIZE, AT, LANES, SALT, false, &stats));
	CHECK(!stats.undone && !stats.committed, "%u undone, %u committed", stats.undone,
	      stats.committed);
	CHECK(!memcmp(before, mem, SIZE));
}

static void no_memory(void)
{
	shim_fail_alloc = 1;
	CHECK(ek_undo_open(mem, SIZE, AT, LANES, SALT, &undo) == -ENOMEM);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("undo: whenever power goes, a transaction has happened or not, in replay, too", every_cut);
	ktap_run("undo: records of a torn transaction mean nothing to later ones", after_recovery);
	ktap_run("undo: a transaction has two fences, one of nothing has none", costs);
	ktap_run("undo: what is too large is refused and changes nothing", too_large);
	ktap_run("undo: damaged and foreign records are refused or none", damaged);
	ktap_run("undo: a lane whose head is lost is refused, whatever it has", lost_head);
	ktap_run("undo: a log whose numbers began with 1 is replayed, and goes on", small_numbers);
	ktap_run("undo: more tasks than lanes, words in common", threads);
	ktap_run("undo: a log formatted again with its salt has forgotten all", formatted_again);
	ktap_run("undo: no memory is an error", no_memory);
	return ktap_done();
}
