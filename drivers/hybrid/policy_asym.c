// SPDX-License-Identifier: GPL-2.0-only
/* Where an extent is best by its reads and writes; see policy_asym.h. */
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "policy_asym.h"
#include "policy_util.h"

#define DELTA_PLACES	3
#define DELTA_ONE	1000u
#define NS_PER_MS	1000000ULL
#define TOKEN		1000000000ULL	/* a token of hy_asym.bucket; ns of a second */
#define SURE		400u		/* requests after which what was before is nothing */
#define BLEND		100u		/* wu-2011's average: the last hundred, about */
#define QUIET		20		/* a period's part that members were busy for at most */
#define POPS		64u		/* candidates looked at before the lock is let go of */
#define LOW_FREE	20		/* hy_asym.relative: a member's part that stays free */
#define SWEEPS		128u		/* epochs in which all of the table is aged */
#define GONE		8u		/* epochs after which nothing is left of a count */

#define ALONG_ONE	1024u
#define ALONG_MOST	16u		/* and at least a sixteenth */

enum { READ_NS, WRITE_NS };

/* A bound on what is multiplied: 2 * 255 counts, 100 times delta and 2^37 ns make 2^63 at most. */
#define MAX_DELTA	(100 * DELTA_ONE)

static const struct asym_param {
	const char *key;
	unsigned int places;
	u32 min;
	u32 max;
	u32 initial;
	const char *reason;
} params[HY_ASYM_PARAMS] = {
	[HY_ASYM_DELTA] = { "delta", DELTA_PLACES, 0, MAX_DELTA, DELTA_ONE,
			    "delta: 0 to 100, at most 3 decimals" },
	[HY_ASYM_ACCESSES] = { "accesses", 0, 1, 200, 4, "accesses: 1 to 200" },
	[HY_ASYM_RATE] = { "rate", 0, 0, 1000000, 100,
			   "rate: extents a second, 0 (no limit) to 1000000" },
	[HY_ASYM_AGE_MS] = { "age_ms", 0, 100, 86400000, 120000, "age_ms: 100 to 86400000" },
	[HY_ASYM_SIZES] = { "sizes", 0, 0, 1, 1, "sizes: 0 or 1" },
};

/* What two members differ by is less when their loads are left out of it. */
static u32 initial(const struct hy_asym *a, unsigned int i)
{
	return a->relative && i == HY_ASYM_DELTA ? DELTA_ONE * 6 / 10 : params[i].initial;
}

void hy_asym_init(struct hy_asym *a, bool relative)
{
	unsigned int i;

	a->relative = relative;
	for (i = 0; i < HY_ASYM_PARAMS; i++)
		a->param[i] = initial(a, i);
}

/* As hy_policy_set(); -ENOENT leaves @reason alone. */
int hy_asym_set(struct hy_asym *a, const char *key, const char *value, const char **reason)
{
	unsigned int i;
	u64 v;

	for (i = 0; i < HY_ASYM_PARAMS; i++)
		if (!strcmp(params[i].key, key))
			break;
	if (i == HY_ASYM_PARAMS)
		return -ENOENT;
	if (hy_parse_decimal(value, NULL, params[i].places, params[i].max, &v) ||
	    v < params[i].min) {
		*reason = params[i].reason;
		return -EINVAL;
	}
	a->param[i] = v;
	return 0;
}

void hy_asym_emit(const struct hy_asym *a, struct hy_text *text)
{
	unsigned int i;

	for (i = 0; i < HY_ASYM_PARAMS; i++) {
		if (a->param[i] == initial(a, i))
			continue;
		hy_text_add_key(text, params[i].key);
		hy_text_add_decimal(text, a->param[i], params[i].places);
	}
}

/* --- the table --- */

static struct hy_use *set_of(struct hy_asym *a, u64 le)
{
	return a->set[hash_64(le, ilog2(HY_USE_SETS))];
}

static void age(struct hy_asym *a, struct hy_use *u)
{
	u8 epochs = a->epoch - (u8)u->epoch;

	u->epoch = a->epoch;
	if (!epochs)
		return;
	epochs = min_t(u8, epochs, GONE);
	u->reads >>= epochs;
	u->writes >>= epochs;
	u->large >>= epochs;
}

static struct hy_use *find(struct hy_asym *a, u64 le)
{
	struct hy_use *set = set_of(a, le), *u;

	for (u = set; u < set + HY_USE_WAYS; u++) {
		if (!(u->flags & HY_USE_VALID) || u->le != le)
			continue;
		age(a, u);
		return u;
	}
	return NULL;
}

/* To the front of its set; a new one in place of the one not accessed for longest. */
static struct hy_use *touch(struct hy_asym *a, const struct hy_access *access)
{
	struct hy_use *set = set_of(a, access->le), *u = find(a, access->le), use;

	if (u)
		use = *u;
	else
		use = (struct hy_use){ .le = access->le, .epoch = a->epoch,
				       .member = access->member, .flags = HY_USE_VALID |
				       (access->ahead ? HY_USE_AHEAD : 0) };
	if (!u)
		u = &set[HY_USE_WAYS - 1];
	memmove(set + 1, set, (u - set) * sizeof(*set));
	set[0] = use;
	return set;
}

/* One byte each: the proportion stays. */
static void count(struct hy_use *u, u8 *n)
{
	if (*n == U8_MAX) {
		u->reads /= 2;
		u->writes /= 2;
		u->large /= 2;
	}
	++*n;
}

static unsigned int total(const struct hy_use *u)
{
	return u->reads + u->writes;
}

/* More often than not: now and then the detector takes chance for a stream. */
static bool is_large(const struct hy_use *u)
{
	return 2 * u->large > total(u);
}

/* --- what is best --- */

/* Of all its accesses together; 0: not known. */
static u64 cost(const struct hy_asym *a, const struct hy_use *u, unsigned int i)
{
	if (!a->ns[i][READ_NS])
		return 0;
	return u->reads * a->ns[i][READ_NS] + u->writes * a->ns[i][WRITE_NS];
}

/* Requests in flight, and one sixteenth, over the part that is free: less is better. */
static bool is_less_loaded(const struct hy_snapshot *snap, unsigned int x, unsigned int y)
{
	const struct hy_dev_snap *dx = &snap->dev[x], *dy = &snap->dev[y];
	u64 period = max_t(u64, snap->period_ns, 1), lx, ly;

	lx = div64_u64(min(dx->occupancy_ns, BIT_ULL(50)) * 16, period) + 1;
	ly = div64_u64(min(dy->occupancy_ns, BIT_ULL(50)) * 16, period) + 1;
	lx = min_t(u64, lx, BIT(20)) * div_u64((u64)dy->free * 1024, max(dy->extents, 1u));
	ly = min_t(u64, ly, BIT(20)) * div_u64((u64)dx->free * 1024, max(dx->extents, 1u));
	return lx < ly;
}

/* What changes places only to fit better leaves a member the room that it should have. */
static bool has_room(const struct hy_asym *a, const struct hy_snapshot *snap, unsigned int i)
{
	const struct hy_dev_snap *d = &snap->dev[i];

	if (a->closed & BIT(i))
		return false;
	if (a->relative && (u64)d->free * LOW_FREE < d->extents)
		return false;
	return hy_has_room(d);
}

/*
 * Where it is cheaper by enough, cheapest first; of those that are within a quarter of the cheapest
 * the one with less load and more room.  @snap: NULL: whoever has room.
 */
static int best_of(const struct hy_asym *a, const struct hy_use *u, u64 bound,
		   const struct hy_snapshot *snap)
{
	u64 least = U64_MAX, c;
	int best = -1;
	unsigned int i;

	for (i = 0; i < a->nr; i++) {
		c = cost(a, u, i);
		if (c && i != u->member && c < bound && (!snap || has_room(a, snap, i)))
			least = min(least, c);
	}
	for (i = 0; i < a->nr && least != U64_MAX; i++) {
		c = cost(a, u, i);
		if (!c || i == u->member || c >= bound || c > least + least / 4 ||
		    (snap && !has_room(a, snap, i)))
			continue;
		if (best < 0 || (snap && is_less_loaded(snap, i, best)))
			best = i;
	}
	return best;
}

static struct hy_verdict stays(enum hy_reason why)
{
	return (struct hy_verdict){ .to = -1, .why = why };
}

/* @snap: NULL: would it be better off elsewhere? */
static struct hy_verdict judge(const struct hy_asym *a, const struct hy_use *u,
			       const struct hy_snapshot *snap)
{
	u64 here = cost(a, u, u->member), bound;
	int to;

	if (total(u) < a->param[HY_ASYM_ACCESSES])
		return stays(HY_NOT_CANDIDATE);
	if (a->param[HY_ASYM_SIZES] && is_large(u))
		return stays(HY_NOT_SIZE);
	bound = div_u64(here * DELTA_ONE, DELTA_ONE + a->param[HY_ASYM_DELTA]);
	if (best_of(a, u, bound, NULL) < 0)
		return stays(HY_NOT_BALANCED);
	to = best_of(a, u, bound, snap);
	if (to < 0)
		return stays(HY_NOT_NOSPACE);
	/* As many accesses again must be worth the copy, r_i + w_k. */
	if (here - cost(a, u, to) <= a->ns[u->member][READ_NS] + a->ns[to][WRITE_NS])
		return stays(HY_NOT_COST);
	return (struct hy_verdict){ .to = to };
}

static bool cools(const struct hy_use *u, const struct hy_snapshot *snap)
{
	return u->moved && (u32)(snap->now_ns >> 20) - u->moved < snap->cooldown_ns >> 20;
}

/* --- candidates --- */

static void push(struct hy_asym *a, struct hy_use *u)
{
	struct hy_use *old;

	if (a->waiting == HY_USE_QUEUE) {
		old = find(a, a->queue[a->tail]);
		if (old)
			old->flags &= ~HY_USE_QUEUED;
		a->waiting--;
	}
	a->queue[a->tail] = u->le;
	a->tail = (a->tail + 1) % HY_USE_QUEUE;
	a->waiting++;
	u->flags |= HY_USE_QUEUED;
}

static struct hy_use *latest(struct hy_asym *a)
{
	return find(a, a->queue[(a->tail + HY_USE_QUEUE - 1) % HY_USE_QUEUE]);
}

static void pop(struct hy_asym *a, struct hy_use *u)
{
	a->tail = (a->tail + HY_USE_QUEUE - 1) % HY_USE_QUEUE;
	a->waiting--;
	if (u)
		u->flags &= ~HY_USE_QUEUED;
}

static void consider(struct hy_asym *a, struct hy_use *u, u32 *left)
{
	struct hy_verdict v;

	if (u->flags & HY_USE_QUEUED || total(u) < a->param[HY_ASYM_ACCESSES])
		return;
	v = judge(a, u, NULL);
	/* It would take the place of one that may go. */
	if (v.to >= 0 && u->flags & HY_USE_PINNED)
		v = stays(HY_NOT_PINNED);
	if (v.to >= 0)
		push(a, u);
	else
		left[v.why]++;
}

/* It has moved, whoever did it: it cools, and is watched anew. */
static void begin_anew(struct hy_use *u, u64 now_ns)
{
	u32 now = now_ns >> 20;

	u->reads = 0;
	u->writes = 0;
	u->large = 0;
	u->moved = now ? now : 1;
}

/**
 * hy_asym_accessed - an extent was accessed
 * @a: the table
 * @access: how
 * @stays: counts why it is no candidate
 */
void hy_asym_accessed(struct hy_asym *a, const struct hy_access *access, u32 *stays)
{
	bool large = access->large;
	struct hy_use *u;

	if (!a->extent_sectors || access->le >> 47)
		return;
	if (!access->ahead)
		large |= hy_streams_access(&a->streams, access->le * a->extent_sectors +
					   access->offset, a->extent_sectors);
	u = touch(a, access);
	u->flags &= ~HY_USE_PINNED;
	if (access->pinned)
		u->flags |= HY_USE_PINNED;
	if (!access->ahead) {
		if (!(u->flags & HY_USE_AHEAD) && u->member != access->member)
			begin_anew(u, a->now);	/* somebody else moved it */
		u->flags &= ~HY_USE_AHEAD;
		u->member = access->member;
	}
	if (large)
		count(u, &u->large);
	if (access->ahead)
		return;
	count(u, access->write ? &u->writes : &u->reads);
	consider(a, u, stays);
}

/* --- periods --- */

/* 0.99 and 0.01 for each request, but for those after which nothing is left of what was before. */
static void blend(u64 *ns, u64 mean, u64 requests)
{
	mean = min(mean, HY_ASYM_MAX_NS);
	if (!requests || !mean)
		return;
	if (!*ns || requests >= SURE)
		*ns = mean;
	else
		*ns = div_u64(*ns * BLEND + mean * requests, BLEND + requests);
}

/*
 * A direction that had no requests: what was measured of it is of another load, or of a device that
 * was another one then.  It is taken to have changed as the other direction did since both were
 * measured, within bounds: so it comes back to what it was when the other one does.
 */
static void go_along(u64 *ns, const u64 *pair, unsigned int dir)
{
	u64 factor;

	if (!pair[READ_NS] || !pair[WRITE_NS] || !ns[!dir])
		return;
	factor = div64_u64(ns[!dir] * ALONG_ONE, pair[!dir]);
	factor = clamp_t(u64, factor, ALONG_ONE / ALONG_MOST, ALONG_ONE * ALONG_MOST);
	ns[dir] = clamp_t(u64, div_u64(pair[dir] * factor, ALONG_ONE), 1, HY_ASYM_MAX_NS);
}

/* What had no requests may be faster than under load: its idle response time tells. */
static void take_probes(u64 *ns, const u64 *pair, const struct hy_dev_snap *d)
{
	u64 probe = min(d->probe_ns, HY_ASYM_MAX_NS);

	if (!d->probes || !probe)
		return;
	ns[READ_NS] = probe;
	go_along(ns, pair, WRITE_NS);
}

/* @pair: of the last period in which both were seen; until there is one, of two periods. */
static void take_requests(u64 *ns, u64 *pair, const struct hy_dev_snap *d, u64 writes)
{
	blend(&ns[READ_NS], d->read_ns, d->reads);
	blend(&ns[WRITE_NS], d->write_ns, writes);
	if (d->reads && (writes || !pair[READ_NS] || !pair[WRITE_NS]))
		pair[READ_NS] = ns[READ_NS];
	if (writes && (d->reads || !pair[READ_NS] || !pair[WRITE_NS]))
		pair[WRITE_NS] = ns[WRITE_NS];
	if (!d->reads && writes)
		go_along(ns, pair, READ_NS);
	if (!writes && d->reads)
		go_along(ns, pair, WRITE_NS);
}

static void measure(struct hy_asym *a, const struct hy_snapshot *snap, u32 *probe)
{
	unsigned int i;

	for (i = 0; i < snap->nr; i++) {
		const struct hy_dev_snap *d = &snap->dev[i];
		u64 writes = d->requests - min(d->reads, d->requests);

		take_requests(a->measured[i], a->pair[i], d, writes);
		a->mix[READ_NS] += d->reads;
		a->mix[WRITE_NS] += writes;
		if (d->requests || !d->usable)
			continue;
		*probe |= BIT(i);
		take_probes(a->measured[i], a->pair[i], d);
	}
	while (a->mix[READ_NS] + a->mix[WRITE_NS] > BIT(20)) {
		a->mix[READ_NS] /= 2;
		a->mix[WRITE_NS] /= 2;
	}
}

/* What all extents together do, at a member; the mix is below 2^20. */
static u64 cost_of_all(const struct hy_asym *a, unsigned int i)
{
	u64 n = a->mix[READ_NS] + a->mix[WRITE_NS];

	if (!n || !a->ns[i][READ_NS])
		return 0;
	return div64_u64(a->mix[READ_NS] * a->ns[i][READ_NS] +
			 a->mix[WRITE_NS] * a->ns[i][WRITE_NS], n);
}

/* hy_asym.relative: so that all together costs the same everywhere, the mean. */
static void scale(struct hy_asym *a, unsigned int nr)
{
	u64 sum = 0, all, mean;
	unsigned int i, known = 0;

	for (i = 0; i < nr; i++) {
		all = cost_of_all(a, i);
		sum += all;
		known += !!all;
	}
	mean = known ? min(div_u64(sum, known), BIT_ULL(26)) : 0;
	for (i = 0; i < nr && mean; i++) {
		all = cost_of_all(a, i);
		if (!all)
			continue;
		a->ns[i][READ_NS] = min(div64_u64(a->ns[i][READ_NS] * mean, all), HY_ASYM_MAX_NS);
		a->ns[i][WRITE_NS] = min(div64_u64(a->ns[i][WRITE_NS] * mean, all), HY_ASYM_MAX_NS);
	}
}

/* One direction may not have been seen: the other one's time will do. */
static u64 time_of(const u64 *measured, int direction)
{
	return measured[direction] ? measured[direction] : measured[!direction];
}

static void use_measured(struct hy_asym *a, const struct hy_snapshot *snap)
{
	unsigned int i;

	memset(a->ns, 0, sizeof(a->ns));
	for (i = 0; i < snap->nr; i++) {
		const u64 *m = a->measured[i];

		if (!snap->dev[i].usable)
			continue;
		a->ns[i][READ_NS] = time_of(m, READ_NS);
		a->ns[i][WRITE_NS] = time_of(m, WRITE_NS);
	}
	if (a->relative)
		scale(a, snap->nr);
}

/* Counts are aged when they are looked at; the epoch's number must not come round before that. */
static void sweep(struct hy_asym *a)
{
	u32 each = HY_USE_SETS / SWEEPS, first = a->epoch % SWEEPS * each, i, j;

	for (i = first; i < first + each; i++)
		for (j = 0; j < HY_USE_WAYS; j++)
			age(a, &a->set[i][j]);
}

/* A period may be longer than an epoch: as many begin as it had, or as make a difference. */
static void begin_epochs(struct hy_asym *a, u64 period_ns)
{
	u64 each = a->param[HY_ASYM_AGE_MS] * NS_PER_MS, epochs;

	/* Where epochs have become shorter one is over, not all that would have been. */
	a->epoch_ns = min(a->epoch_ns, each - 1) + period_ns;
	epochs = div64_u64(a->epoch_ns, each);
	a->epoch_ns -= epochs * each;
	for (epochs = min_t(u64, epochs, GONE); epochs; epochs--) {
		a->epoch++;
		sweep(a);
	}
}

/* Nothing is known of a period that has only begun, as after a suspension. */
static bool is_quiet(const struct hy_snapshot *snap)
{
	unsigned int i;

	if (snap->period_ns < NS_PER_MS)
		return false;
	for (i = 0; i < snap->nr; i++)
		if (snap->dev[i].occupancy_ns > snap->period_ns / QUIET)
			return false;
	return true;
}

void hy_asym_period(struct hy_asym *a, const struct hy_snapshot *snap, u32 *probe)
{
	a->nr = snap->nr;
	a->extent_sectors = snap->extent_sectors;
	a->now = snap->now_ns;
	measure(a, snap, probe);
	use_measured(a, snap);
	begin_epochs(a, snap->period_ns);
	a->quiet = is_quiet(snap);
	a->scan = 0;
}

/**
 * hy_asym_go_on - look for candidates that are not accessed now, in quiet periods
 * @a: the table
 * @stays: counts why others are none
 *
 * Return: is there more to look at?
 */
bool hy_asym_go_on(struct hy_asym *a, u32 *stays)
{
	u32 end = min(a->scan + HY_USE_STEP, HY_USE_SETS), j;

	if (!a->quiet)
		return false;
	for (; a->scan < end; a->scan++) {
		for (j = 0; j < HY_USE_WAYS && a->waiting < HY_USE_QUEUE; j++) {
			struct hy_use *u = &a->set[a->scan][j];

			if (!(u->flags & HY_USE_VALID))
				break;
			age(a, u);
			consider(a, u, stays);
		}
	}
	return a->scan < HY_USE_SETS;
}

/* --- what moves next --- */

static void fill_bucket(struct hy_asym *a, const struct hy_snapshot *snap)
{
	u64 rate = a->param[HY_ASYM_RATE], most = max(rate * (TOKEN / 5), TOKEN), ns;

	ns = snap->now_ns > a->filled ? snap->now_ns - a->filled : 0;
	a->bucket = min(a->bucket + min(ns, TOKEN) * rate, most);
	a->filled = snap->now_ns;
}

/**
 * hy_asym_next - the latest candidate that is to move, if there is a token for it
 * @a: the table
 * @snap: who has room
 * @range: filled
 * @stays: counts why others don't
 *
 * Return: is there one?
 */
bool hy_asym_next(struct hy_asym *a, const struct hy_snapshot *snap, struct hy_range *range,
		  u32 *stays)
{
	unsigned int pops = POPS;

	a->now = snap->now_ns;
	fill_bucket(a, snap);
	while (a->waiting && pops--) {
		struct hy_use *u = latest(a);
		struct hy_verdict v;

		if (!u) {
			pop(a, NULL);
			continue;
		}
		v = judge(a, u, snap);
		if (v.to >= 0 && cools(u, snap)) {
			v.to = -1;
			v.why = HY_NOT_COOLDOWN;
		}
		if (v.to >= 0 && a->param[HY_ASYM_RATE] && a->bucket < TOKEN) {
			stays[HY_NOT_TOKEN]++;
			return false;
		}
		pop(a, u);
		if (v.to < 0) {
			stays[v.why]++;
			continue;
		}
		if (a->param[HY_ASYM_RATE])
			a->bucket -= TOKEN;
		*range = (struct hy_range){ .first = u->le, .nr = 1, .from = u->member,
					    .to = v.to };
		return true;
	}
	return false;
}

/* It is on its way, or could not go: it is watched anew where it is then. */
void hy_asym_moved(struct hy_asym *a, const struct hy_range *range, const struct hy_moved *moved)
{
	struct hy_use *u = find(a, range->first);

	/* What could not go has not used its token. */
	if (!moved->moved && a->param[HY_ASYM_RATE])
		a->bucket += TOKEN;
	if (!u)
		return;
	if (moved->moved)
		u->member = range->to;
	begin_anew(u, a->now);
}

/* --- what is said about one --- */

/* As find(), without a change. */
static bool look_up(const struct hy_asym *a, u64 le, struct hy_use *use)
{
	const struct hy_use *set = set_of((struct hy_asym *)a, le), *u;

	for (u = set; u < set + HY_USE_WAYS; u++) {
		if (!(u->flags & HY_USE_VALID) || u->le != le)
			continue;
		*use = *u;
		age((struct hy_asym *)a, use);
		return true;
	}
	return false;
}

/* Of an access of its mix, as measured; what hy_asym.relative makes of it is no time. */
static u64 mean_ns(const struct hy_asym *a, const struct hy_use *u, unsigned int i)
{
	const u64 *m = a->measured[i];

	if (!a->ns[i][READ_NS] || !total(u))
		return 0;
	return div_u64(u->reads * time_of(m, READ_NS) + u->writes * time_of(m, WRITE_NS), total(u));
}

void hy_asym_explain(const struct hy_asym *a, const struct hy_snapshot *snap, u64 le,
		     unsigned int member, struct hy_verdict *verdict, struct hy_text *text)
{
	struct hy_use u = {};
	unsigned int i;

	if (!look_up(a, le, &u))
		u.le = le;
	u.member = member;
	*verdict = judge(a, &u, snap);
	if (verdict->to >= 0 && cools(&u, snap))
		*verdict = stays(HY_NOT_COOLDOWN);
	hy_text_add(text, " reads %u writes %u size %s", u.reads, u.writes,
		    is_large(&u) ? "large" : "small");
	for (i = 0; i < snap->nr; i++)
		hy_text_add(text, " cost.%u %llu", i, (unsigned long long)mean_ns(a, &u, i));
}

/* See hy_policy_ops.counts; the cursor is a set's number. */
unsigned int hy_asym_counts(const struct hy_asym *a, u64 *cursor, struct hy_count *count,
			    unsigned int max)
{
	u64 end = min_t(u64, *cursor, HY_USE_SETS) + HY_USE_STEP;
	unsigned int n = 0, j;

	for (; *cursor < min_t(u64, end, HY_USE_SETS) && n + HY_USE_WAYS <= max; ++*cursor) {
		for (j = 0; j < HY_USE_WAYS; j++) {
			struct hy_use u = a->set[*cursor][j];

			if (!(u.flags & HY_USE_VALID))
				break;
			age((struct hy_asym *)a, &u);
			if (total(&u))
				count[n++] = (struct hy_count){ .le = u.le, .reads = u.reads,
								.writes = u.writes,
								.large = is_large(&u) };
		}
	}
	if (*cursor >= HY_USE_SETS)
		*cursor = U64_MAX;
	return n;
}
