// SPDX-License-Identifier: GPL-2.0-only
/* asymmetry against arithmetic done by hand (wu-2011 section II.B). */
#include "check.h"
#include "policy_asym.h"
#include "policy_util.h"

#define US	1000ULL
#define MS	1000000ULL
#define SECOND	1000000000ULL
#define EXTENT	128u		/* sectors */

/* A flash that is slow to write, read in .4 ms and written in 12, and a disk of 5 ms. */
#define FLASH	0
#define DISK	1

struct bed {
	struct hy_policy *p;
	struct hy_snapshot s;
	struct hy_decision d;
};

static void end_period(struct bed *b)
{
	hy_policy_period(b->p, &b->s, &b->d);
	while (hy_policy_go_on(b->p, &b->s))
		;
}

static void member(struct bed *b, unsigned int i, u64 read_ns, u64 write_ns)
{
	b->s.dev[i] = (struct hy_dev_snap){
		.usable = true, .extents = 1000, .free = 500, .requests = 2000, .reads = 1000,
		.read_ns = read_ns, .write_ns = write_ns, .occupancy_ns = SECOND,
	};
}

static void set(struct bed *b, const char *key, const char *value)
{
	const char *reason = "";

	CHECK_MSG(!hy_policy_set(b->p, key, value, &reason), "%s", reason);
}

static struct bed bed(void)
{
	struct bed b = { .s = { .nr = 2, .period_ns = 2 * SECOND, .now_ns = 100 * SECOND,
				.cooldown_ns = 10 * SECOND, .logical_extents = 1 << 24,
				.extent_sectors = EXTENT } };

	CHECK_EQ(hy_policy_create("asymmetry", 2, &b.p), 0);
	set(&b, "accesses", "8");
	set(&b, "age_ms", "30000");
	member(&b, FLASH, 400 * US, 12 * MS);
	member(&b, DISK, 5 * MS, 5 * MS);
	end_period(&b);
	return b;
}

static void access(struct bed *b, u64 le, unsigned int at, bool write, unsigned int n)
{
	/* Backwards: not one behind the other. */
	struct hy_access a = { .le = le, .member = at, .write = write };

	while (n--) {
		a.offset = n % 16 * 8;
		b->p->ops->accessed(b->p, &a);
	}
}

/* What is counted of an extent at the flash. */
static unsigned int reads_of(struct bed *b, u64 le)
{
	struct hy_verdict v;
	unsigned int reads;
	char text[256];

	b->p->ops->explain(b->p, &b->s, le, FLASH, &v, text, sizeof(text));
	CHECK_MSG(sscanf(text, " reads %u", &reads) == 1, "%s", text);
	return reads;
}

/* What moves next: "extent from>to"; "-": nothing. */
static const char *next(struct bed *b)
{
	struct hy_moved moved = { .moved = 1, .there = 1 };
	static char text[64];
	struct hy_range r;

	if (!b->p->ops->next(b->p, &b->s, &r))
		return "-";
	CHECK_EQ(r.nr, 1);
	snprintf(text, sizeof(text), "%llu %d>%d", (unsigned long long)r.first, r.from, r.to);
	b->p->ops->moved(b->p, &r, &moved);
	return text;
}

#define CHECK_NEXT(b, text) do { \
	const char *_n = next(b); \
	CHECK_MSG(!strcmp(_n, text), "(is %s, should be %s)", _n, text); \
} while (0)

/*
 * What is read leaves the disk: 5 > 2 * .4.  What is written leaves the flash: 12 > 2 * 5.  What is
 * where it should be stays.
 */
static void to_where_it_costs_less(void)
{
	struct bed b = bed();

	access(&b, 1, DISK, false, 8);
	CHECK_NEXT(&b, "1 1>0");
	access(&b, 2, FLASH, true, 8);
	CHECK_NEXT(&b, "2 0>1");
	access(&b, 3, FLASH, false, 200);
	access(&b, 4, DISK, true, 200);
	CHECK_NEXT(&b, "-");
	CHECK(b.p->stays[HY_NOT_BALANCED] > 300);
	hy_policy_destroy(b.p);
}

/* At the flash 2 reads of 20 cost (.4 * 2 + 12 * 18) / 20 = 10.84, 4 cost 9.68: 2 * 5 in between. */
static void delta(void)
{
	struct bed b = bed();

	set(&b, "accesses", "20");
	access(&b, 1, FLASH, false, 4);
	access(&b, 1, FLASH, true, 16);
	CHECK_NEXT(&b, "-");
	access(&b, 2, FLASH, false, 2);
	access(&b, 2, FLASH, true, 18);
	CHECK_NEXT(&b, "2 0>1");
	/* 9.68 > 1.9 * 5 */
	set(&b, "delta", "0.9");
	access(&b, 3, FLASH, true, 16);
	access(&b, 3, FLASH, false, 4);
	CHECK_NEXT(&b, "3 0>1");
	hy_policy_destroy(b.p);
}

static void not_before_enough_accesses(void)
{
	struct bed b = bed();

	access(&b, 1, DISK, false, 7);
	CHECK_NEXT(&b, "-");
	access(&b, 1, DISK, false, 1);
	CHECK_NEXT(&b, "1 1>0");
	hy_policy_destroy(b.p);
}

/* Reads gain 4.6 ms each; a copy costs 5 + 12: not for 3, but for 4. */
static void a_copy_must_be_worth_it(void)
{
	struct bed b = bed();

	set(&b, "accesses", "1");
	access(&b, 1, DISK, false, 3);
	CHECK_NEXT(&b, "-");
	CHECK_EQ(b.p->stays[HY_NOT_COST], 3);
	access(&b, 1, DISK, false, 1);
	CHECK_NEXT(&b, "1 1>0");
	hy_policy_destroy(b.p);
}

/* After a move the counts begin anew, and it stays for the cooldown. */
static void counts_begin_anew(void)
{
	struct bed b = bed();

	access(&b, 1, DISK, false, 250);
	CHECK_NEXT(&b, "1 1>0");
	access(&b, 1, FLASH, true, 8);
	CHECK_NEXT(&b, "-");
	CHECK_EQ(b.p->stays[HY_NOT_COOLDOWN], 1);
	b.s.now_ns += 11 * SECOND;
	access(&b, 1, FLASH, true, 1);
	CHECK_NEXT(&b, "1 0>1");
	hy_policy_destroy(b.p);
}

/* Moved by somebody else: known where it is then, and it cools as if it had been moved from here. */
static void moved_by_others(void)
{
	struct bed b = bed();

	access(&b, 1, DISK, true, 8);
	CHECK_NEXT(&b, "-");
	access(&b, 1, FLASH, true, 8);
	CHECK_NEXT(&b, "-");
	CHECK_EQ(b.p->stays[HY_NOT_COOLDOWN], 1);
	b.s.now_ns += 11 * SECOND;
	access(&b, 1, FLASH, true, 1);
	CHECK_NEXT(&b, "1 0>1");
	hy_policy_destroy(b.p);
}

/* What could not be moved gives its token back. */
static void refused_ones_use_no_token(void)
{
	struct hy_moved refused = { .left = 1 };
	struct bed b = bed();
	struct hy_range r;
	u64 le;

	set(&b, "rate", "1");
	for (le = 0; le < 4; le++)
		access(&b, le, DISK, false, 8);
	for (le = 3; le > 0; le--) {
		CHECK(b.p->ops->next(b.p, &b.s, &r));
		CHECK_EQ(r.first, le);
		b.p->ops->moved(b.p, &r, &refused);
	}
	CHECK_NEXT(&b, "0 1>0");
	access(&b, 9, DISK, false, 8);
	CHECK_NEXT(&b, "-");
	CHECK_EQ(b.p->stays[HY_NOT_TOKEN], 1);
	hy_policy_destroy(b.p);
}

/* 10 a second: 2 in hand at most, one more every .1 s; the latest first. */
static void its_own_rate(void)
{
	struct bed b = bed();
	u64 le;

	set(&b, "rate", "10");
	for (le = 0; le < 6; le++)
		access(&b, le, DISK, false, 8);
	CHECK_NEXT(&b, "5 1>0");
	CHECK_NEXT(&b, "4 1>0");
	CHECK_NEXT(&b, "-");
	CHECK_EQ(b.p->stays[HY_NOT_TOKEN], 1);
	b.s.now_ns += SECOND / 10;
	CHECK_NEXT(&b, "3 1>0");
	CHECK_NEXT(&b, "-");
	b.s.now_ns += 60 * SECOND;
	CHECK_NEXT(&b, "2 1>0");
	CHECK_NEXT(&b, "1 1>0");
	CHECK_NEXT(&b, "-");
	set(&b, "rate", "0");
	CHECK_NEXT(&b, "0 1>0");
	CHECK_NEXT(&b, "-");
	hy_policy_destroy(b.p);
}

/* Halved every 30 s: 15 are 7 then, and 1 more makes 8. */
static void counts_are_aged(void)
{
	struct bed b = bed();
	unsigned int i;

	set(&b, "accesses", "9");
	access(&b, 1, DISK, false, 8);
	access(&b, 2, DISK, false, 8);
	for (i = 0; i < 15; i++)
		end_period(&b);
	access(&b, 1, DISK, false, 4);
	CHECK_NEXT(&b, "-");
	access(&b, 1, DISK, false, 1);
	CHECK_NEXT(&b, "1 1>0");
	/* 256 epochs are as many as their numbers are; nothing is left of the counts */
	for (i = 0; i < 256 * 15; i++)
		end_period(&b);
	access(&b, 2, DISK, false, 1);
	CHECK_NEXT(&b, "-");
	hy_policy_destroy(b.p);
}

/* Periods of two seconds have four epochs of half a second each: 64 counts are 4 after one, then none. */
static void epochs_may_be_shorter_than_periods(void)
{
	struct bed b = bed();

	set(&b, "age_ms", "500");
	end_period(&b);		/* with what went before */
	access(&b, 1, FLASH, false, 64);
	end_period(&b);
	CHECK_EQ(reads_of(&b, 1), 4);
	end_period(&b);
	CHECK_EQ(reads_of(&b, 1), 0);
	hy_policy_destroy(b.p);
}

/*
 * What is left of a period counts: of 2 s and 2 s before 1 s is left of epochs of 1.5 s, and with three
 * more periods there are four.  256 at once are as many as their numbers are, and leave nothing.
 */
static void what_is_left_of_a_period_counts(void)
{
	struct bed b = bed();

	set(&b, "age_ms", "1500");
	end_period(&b);
	access(&b, 1, FLASH, false, 128);
	end_period(&b);
	end_period(&b);
	end_period(&b);
	CHECK_EQ(reads_of(&b, 1), 8);
	set(&b, "age_ms", "100");
	access(&b, 2, FLASH, false, 255);
	b.s.period_ns = 24600 * MS;	/* with the second that is left */
	end_period(&b);
	CHECK_EQ(reads_of(&b, 2), 0);
	hy_policy_destroy(b.p);
}

/* 500 reads and 500 writes in one byte each are as many of one as of the other. */
static void one_byte_each(void)
{
	struct bed b = bed();
	struct hy_verdict v;
	unsigned int i, reads, writes;
	char text[256];

	for (i = 0; i < 500; i++) {
		access(&b, 1, FLASH, false, 1);
		access(&b, 1, FLASH, true, 1);
	}
	b.p->ops->explain(b.p, &b.s, 1, FLASH, &v, text, sizeof(text));
	CHECK_MSG(sscanf(text, " reads %u writes %u", &reads, &writes) == 2, "%s", text);
	CHECK_NEAR(reads, writes, 1);
	CHECK(reads > 100);
	hy_policy_destroy(b.p);
}

static void access_large(struct bed *b, u64 le, bool ahead, unsigned int n)
{
	struct hy_access a = { .le = le, .member = DISK, .large = true, .ahead = ahead };

	while (n--)
		b->p->ops->accessed(b->p, &a);
}

/* More than half of it in requests larger than an extent: it stays; unless told otherwise. */
static void large_requests_stay(void)
{
	struct bed b = bed();

	access_large(&b, 1, false, 20);
	access(&b, 1, DISK, false, 19);
	CHECK_NEXT(&b, "-");
	CHECK(b.p->stays[HY_NOT_SIZE] > 30);
	access(&b, 1, DISK, false, 1);
	CHECK_NEXT(&b, "1 1>0");
	/* A piece that will come by itself tells how large it is, and is no access. */
	access_large(&b, 2, true, 50);
	CHECK_NEXT(&b, "-");
	access(&b, 2, DISK, false, 50);
	CHECK_NEXT(&b, "-");
	set(&b, "sizes", "0");
	access_large(&b, 3, false, 8);
	CHECK_NEXT(&b, "3 1>0");
	hy_policy_destroy(b.p);
}

/* How it was used before it was moved is forgotten, sizes too. */
static void sizes_begin_anew(void)
{
	struct bed b = bed();

	access_large(&b, 1, false, 100);
	access(&b, 1, FLASH, true, 1);
	b.s.now_ns += 11 * SECOND;
	access(&b, 1, FLASH, true, 7);
	CHECK_NEXT(&b, "1 0>1");
	hy_policy_destroy(b.p);
}

/* What was announced with no member known is new where it is accessed, large, and cools not. */
static void announced_ones_are_new(void)
{
	struct hy_access ahead = { .le = 1, .large = true, .ahead = true };
	struct bed b = bed();

	b.p->ops->accessed(b.p, &ahead);
	access(&b, 1, DISK, false, 8);
	CHECK_NEXT(&b, "1 1>0");
	hy_policy_destroy(b.p);
}

/* Small ones that are one behind the other, between random ones: as good as large. */
static void sequential_ones_stay(void)
{
	struct bed b = bed();
	u64 sector;

	for (sector = 0; sector < 16 * EXTENT; sector += 8) {
		struct hy_access a = { .le = 100 + sector / EXTENT, .offset = sector % EXTENT,
				       .member = DISK };

		b.p->ops->accessed(b.p, &a);
		access(&b, rnd() % 100000 + 1000, FLASH, false, 1);
	}
	/* The first had enough accesses before it was known. */
	CHECK_NEXT(&b, "100 1>0");
	CHECK_NEXT(&b, "-");
	CHECK(b.p->stays[HY_NOT_SIZE] > 100);
	hy_policy_destroy(b.p);
}

/* Random accesses to a hundred neighbours hardly ever look like a stream. */
static void random_ones_are_no_stream(void)
{
	struct hy_streams s = {};
	unsigned int i, n = 0;

	for (i = 0; i < 100000; i++)
		n += hy_streams_access(&s, rnd() % 100 * EXTENT + rnd() % 16 * 8, EXTENT);
	CHECK_MSG(n < 500, "%u", n);
}

/* Of a million extents the latest 65,536 at most are known; a hot one among them stays known. */
static void the_table_is_bounded(void)
{
	struct bed b = bed();
	struct hy_verdict v;
	unsigned int known = 0;
	char text[256];
	u64 le;

	for (le = 0; le < 1000000; le++) {
		access(&b, le, FLASH, false, 1);
		if (!(le % 1000))
			access(&b, 1ULL << 40, FLASH, false, 1);
	}
	for (le = 0; le < 1000000; le++) {
		b.p->ops->explain(b.p, &b.s, le, FLASH, &v, text, sizeof(text));
		known += !strncmp(text, " reads 1 ", 9);
	}
	CHECK_MSG(known < 65536 && known > 60000, "%u", known);
	b.p->ops->explain(b.p, &b.s, 1ULL << 40, FLASH, &v, text, sizeof(text));
	CHECK_MSG(!strncmp(text, " reads 2", 8) || !strncmp(text, " reads 1", 8), "%s", text);
	hy_policy_destroy(b.p);
}

/* A stream goes forward: the same place again and again is none, however long the way to it was. */
static void standing_still_is_no_stream(void)
{
	struct hy_streams s = {};
	unsigned int i, n = 0;

	for (i = 0; i < 20; i++)
		n += hy_streams_access(&s, i ? EXTENT : 0, EXTENT);
	CHECK_EQ(n, 0);
	for (i = 0; i < 20; i++)
		n += hy_streams_access(&s, 4096 + i * 32, EXTENT);
	CHECK_EQ(n, 20 - HY_STREAM_STEPS);
}

/* Members 2 and 3 are equally fast: the one with less load, of equal loads the one with room. */
static void of_several_the_one_with_room(void)
{
	struct bed b = bed();

	hy_policy_destroy(b.p);
	CHECK_EQ(hy_policy_create("asymmetry", 4, &b.p), 0);
	b.s.nr = 4;
	member(&b, 2, 400 * US, 400 * US);
	member(&b, 3, 450 * US, 450 * US);
	end_period(&b);
	access(&b, 1, DISK, true, 8);
	CHECK_NEXT(&b, "1 1>2");
	b.s.dev[2].free = 100;
	access(&b, 2, DISK, true, 8);
	CHECK_NEXT(&b, "2 1>3");
	b.s.dev[3].occupancy_ns = 20 * SECOND;
	access(&b, 3, DISK, true, 8);
	CHECK_NEXT(&b, "3 1>2");
	/* the cheapest has no room: the other one, though it takes twice as long */
	b.s.dev[2].free = 0;
	member(&b, 3, 900 * US, 900 * US);
	end_period(&b);
	access(&b, 6, DISK, true, 8);
	CHECK_NEXT(&b, "6 1>3");
	/* none of them has room */
	b.s.dev[2].free = 0;
	b.s.dev[3].free = 0;
	access(&b, 4, DISK, true, 8);
	CHECK_NEXT(&b, "-");
	CHECK_EQ(b.p->stays[HY_NOT_NOSPACE], 1);
	/* and one that is not usable is none at all */
	b.s.dev[2].free = 500;
	b.s.dev[2].usable = false;
	end_period(&b);
	access(&b, 5, DISK, true, 8);
	CHECK_NEXT(&b, "-");
	hy_policy_destroy(b.p);
}

/* They became candidates after they were accessed: found when nothing is going on. */
static void idle_ones_move_when_it_is_quiet(void)
{
	struct bed b = bed();

	member(&b, FLASH, 4 * MS, 12 * MS);
	end_period(&b);
	access(&b, 1, DISK, false, 100);
	CHECK_NEXT(&b, "-");
	member(&b, FLASH, 400 * US, 12 * MS);
	end_period(&b);
	CHECK_NEXT(&b, "-");
	b.s.dev[FLASH].occupancy_ns = MS;
	b.s.dev[DISK].occupancy_ns = MS;
	end_period(&b);
	CHECK_NEXT(&b, "1 1>0");
	CHECK_NEXT(&b, "-");
	hy_policy_destroy(b.p);
}

/* The flash was slow under load and has none now: probes show it, and scale its writes. */
static void probes_of_an_idle_member(void)
{
	struct bed b = bed();

	member(&b, FLASH, 10 * MS, 20 * MS);
	end_period(&b);
	CHECK_EQ(b.d.probe, 0);
	access(&b, 1, DISK, false, 100);
	CHECK_NEXT(&b, "-");
	b.s.dev[FLASH] = (struct hy_dev_snap){ .usable = true, .extents = 1000, .free = 500 };
	end_period(&b);
	CHECK_EQ(b.d.probe, 1 << FLASH);
	b.s.dev[FLASH].probes = 7;
	b.s.dev[FLASH].probe_ns = MS;
	end_period(&b);
	access(&b, 1, DISK, false, 1);
	CHECK_NEXT(&b, "1 1>0");
	/* 2 ms a write now */
	access(&b, 2, DISK, true, 8);
	CHECK_NEXT(&b, "2 1>0");
	hy_policy_destroy(b.p);
}

/* Only written now, in .1 ms for 5: reads of the disk are taken for faster, a sixteenth: .3125. */
static void a_direction_not_seen_goes_along(void)
{
	struct bed b = bed();

	set(&b, "delta", "0.2");
	access(&b, 1, FLASH, false, 100);
	CHECK_NEXT(&b, "-");
	member(&b, DISK, 0, 100 * US);
	b.s.dev[DISK].reads = 0;
	end_period(&b);
	access(&b, 1, FLASH, false, 1);
	CHECK_NEXT(&b, "1 0>1");
	hy_policy_destroy(b.p);
}

static unsigned long long read_cost(struct bed *b, u64 le)
{
	struct hy_verdict v;
	unsigned long long ns = 0;
	const char *at;
	char text[256];

	b->p->ops->explain(b->p, &b->s, le, FLASH, &v, text, sizeof(text));
	at = strstr(text, "cost.1 ");
	CHECK_MSG(at && sscanf(at, "cost.1 %llu", &ns) == 1, "%s", text);
	return ns;
}

/* Period after period of bursts of writes: what reads take comes back, and is bounded. */
static void going_along_comes_back(void)
{
	struct bed b = bed();
	unsigned int i;

	access(&b, 1, FLASH, false, 100);
	member(&b, DISK, 500 * MS, 50 * US);
	end_period(&b);
	CHECK_EQ(read_cost(&b, 1), 500 * MS);
	for (i = 0; i < 20; i++) {
		member(&b, DISK, 0, SECOND);
		b.s.dev[DISK].reads = 0;
		end_period(&b);
		CHECK_EQ(read_cost(&b, 1), 16 * 500 * MS);
		member(&b, DISK, 0, 50 * US);
		b.s.dev[DISK].reads = 0;
		end_period(&b);
		CHECK_EQ(read_cost(&b, 1), 500 * MS);
	}
	hy_policy_destroy(b.p);
}

/* A member of which nothing is known gets and gives nothing; one direction stands for the other. */
static void what_is_not_known(void)
{
	struct bed b = bed();

	hy_policy_destroy(b.p);
	CHECK_EQ(hy_policy_create("asymmetry", 2, &b.p), 0);
	set(&b, "accesses", "8");
	b.s.dev[FLASH].requests = 0;
	b.s.dev[FLASH].reads = 0;
	end_period(&b);
	access(&b, 1, DISK, false, 100);
	access(&b, 2, FLASH, false, 100);
	CHECK_NEXT(&b, "-");
	member(&b, FLASH, 400 * US, 0);
	b.s.dev[FLASH].requests = 1000;
	end_period(&b);
	access(&b, 1, DISK, true, 1);
	CHECK_NEXT(&b, "1 1>0");
	hy_policy_destroy(b.p);
}

/* Striped; or on the first that has room. */
static void where_new_ones_go(void)
{
	struct bed b = bed();

	CHECK_EQ(hy_policy_place(b.p, &b.s, &b.d, 6), 0);
	CHECK_EQ(hy_policy_place(b.p, &b.s, &b.d, 7), 1);
	CHECK_EQ(b.d.target[0], HY_PPM / 2);
	set(&b, "first", "fill");
	end_period(&b);
	CHECK_EQ(b.d.target[0], HY_PPM);
	CHECK_EQ(hy_policy_place(b.p, &b.s, &b.d, 7), 0);
	b.s.dev[0].free = 0;
	CHECK_EQ(hy_policy_place(b.p, &b.s, &b.d, 7), 1);
	hy_policy_destroy(b.p);
}

static void parameters(void)
{
	static const char * const bad[][2] = {
		{ "delta", "-1" }, { "delta", "100.001" }, { "delta", "0.0001" }, { "delta", "x" },
		{ "accesses", "0" }, { "accesses", "201" }, { "rate", "1000001" },
		{ "age_ms", "99" }, { "sizes", "2" }, { "first", "last" },
	};
	struct bed b = bed();
	const char *reason;
	char text[256];
	unsigned int i;

	set(&b, "accesses", "4");
	set(&b, "age_ms", "120000");
	hy_policy_emit(b.p, text, sizeof(text));
	CHECK_MSG(!*text, "%s", text);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		reason = NULL;
		CHECK_EQ(hy_policy_set(b.p, bad[i][0], bad[i][1], &reason), -EINVAL);
		CHECK(reason && !strncmp(reason, bad[i][0], strlen(bad[i][0])));
	}
	reason = NULL;
	CHECK_EQ(hy_policy_set(b.p, "shares", "1", &reason), -ENOENT);
	CHECK(reason);
	set(&b, "delta", "0.5");
	set(&b, "accesses", "5");
	set(&b, "rate", "7");
	set(&b, "age_ms", "1000");
	set(&b, "sizes", "0");
	set(&b, "first", "fill");
	hy_policy_emit(b.p, text, sizeof(text));
	CHECK_MSG(!strcmp(text, "delta 0.5 accesses 5 rate 7 age_ms 1000 sizes 0 first fill"), "%s",
		  text);
	CHECK_EQ(hy_policy_nr_args(b.p), 12);
	hy_policy_destroy(b.p);
}

/* Response times of 1000 s and more, delta 100, counts full: no overflow (UBSan, and it decides). */
static void extremes(void)
{
	struct bed b = bed();

	set(&b, "delta", "100");
	member(&b, FLASH, 1, 1);
	member(&b, DISK, U64_MAX, U64_MAX);
	end_period(&b);
	access(&b, 1, DISK, true, 1000);
	access(&b, 1, DISK, false, 1000);
	CHECK_NEXT(&b, "1 1>0");
	hy_policy_destroy(b.p);
}

/* Pinned ones are counted, and are no candidates; also those that are looked for when it is quiet. */
static void pinned_ones_are_no_candidates(void)
{
	struct bed b = bed();
	struct hy_access a = { .le = 1, .member = DISK, .pinned = true };
	unsigned int i;

	for (i = 0; i < 20; i++)
		b.p->ops->accessed(b.p, &a);
	CHECK_NEXT(&b, "-");
	CHECK_EQ(b.p->stays[HY_NOT_PINNED], 13);
	b.s.dev[FLASH].occupancy_ns = 0;
	b.s.dev[DISK].occupancy_ns = 0;
	end_period(&b);
	CHECK_NEXT(&b, "-");
	access(&b, 1, DISK, false, 1);		/* not pinned any more */
	CHECK_NEXT(&b, "1 1>0");
	hy_policy_destroy(b.p);
}

/* All of the table, each extent once, in parts; what was counted to nothing is left out. */
static void counts_are_told(void)
{
	struct bed b = bed();
	struct hy_count c[HY_COUNTS_MIN];
	unsigned int n, i, reads = 0, writes = 0, nr = 0, large = 0;
	u64 cursor = 0, sum = 0;

	for (i = 0; i < 500; i++) {
		struct hy_access a = { .le = i * 977, .member = DISK, .large = i == 3 };

		access(&b, i * 977, DISK, i % 3 == 0, 2);
		b.p->ops->accessed(b.p, &a);
	}
	while (cursor != U64_MAX) {
		n = b.p->ops->counts(b.p, &cursor, c, HY_COUNTS_MIN);
		CHECK(n <= HY_COUNTS_MIN);
		for (i = 0; i < n; i++) {
			reads += c[i].reads;
			writes += c[i].writes;
			sum += c[i].le;
			large += c[i].large;
			nr++;
		}
	}
	CHECK_EQ(nr, 500);
	CHECK_EQ(sum, 977 * 500 * 499 / 2);
	CHECK_EQ(writes, 167 * 2);
	CHECK_EQ(reads, 333 * 2 + 500);
	CHECK_EQ(large, 0);	/* one of three */
	b.s.period_ns = 31 * SECOND;
	for (i = 0; i < 3; i++)
		end_period(&b);
	for (cursor = 0, nr = 0; cursor != U64_MAX;)
		nr += b.p->ops->counts(b.p, &cursor, c, HY_COUNTS_MIN);
	CHECK_EQ(nr, 0);
	hy_policy_destroy(b.p);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(to_where_it_costs_less),
		TEST(delta),
		TEST(not_before_enough_accesses),
		TEST(a_copy_must_be_worth_it),
		TEST(counts_begin_anew),
		TEST(moved_by_others),
		TEST(refused_ones_use_no_token),
		TEST(its_own_rate),
		TEST(counts_are_aged),
		TEST(epochs_may_be_shorter_than_periods),
		TEST(what_is_left_of_a_period_counts),
		TEST(one_byte_each),
		TEST(large_requests_stay),
		TEST(sizes_begin_anew),
		TEST(announced_ones_are_new),
		TEST(sequential_ones_stay),
		TEST(random_ones_are_no_stream),
		TEST(the_table_is_bounded),
		TEST(standing_still_is_no_stream),
		TEST(of_several_the_one_with_room),
		TEST(idle_ones_move_when_it_is_quiet),
		TEST(probes_of_an_idle_member),
		TEST(a_direction_not_seen_goes_along),
		TEST(going_along_comes_back),
		TEST(what_is_not_known),
		TEST(where_new_ones_go),
		TEST(pinned_ones_are_no_candidates),
		TEST(counts_are_told),
		TEST(parameters),
		TEST(extremes),
	};

	return run_tests(tests, ARRAY_SIZE(tests));
}
