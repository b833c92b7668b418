// SPDX-License-Identifier: GPL-2.0-only
/*
 * A policy that is told things while it decides.  Lines: "= POLICY" begins anew,
 * "! SEED" is a period of any measurements, the rest is KEY VALUE.
 */
#include <linux/errno.h>
#include <string.h>

#include "fuzz.h"
#include "settings.h"
#include "words.h"

#define LINES	32u

struct run {
	unsigned int nr;
	struct hy_policy *policy;
	struct hy_settings set;
	struct hy_snapshot snap;
	struct hy_decision decision;
	unsigned int shape;
};

static void measure(struct run *r, unsigned int seed)
{
	unsigned int i;

	memset(&r->snap, 0, sizeof(r->snap));
	r->snap.nr = r->nr;
	r->snap.now_ns = fuzz_odd(&seed);
	r->snap.cooldown_ns = fuzz_odd(&seed) % 3600000000000ULL;
	r->snap.period_ns = 1 + fuzz_odd(&seed) % 3600000000000ULL;
	r->snap.extent_sectors = EK_MIN_EXTENT_SECTORS << r->shape % 7;
	r->snap.logical_extents = 1 + (r->shape * 0x9e3779b97f4a7c15ULL >> r->shape % 64) %
					(1ULL << (r->shape % 16 ? 12 : 40));
	for (i = 0; i < r->nr; i++) {
		struct hy_dev_snap *d = &r->snap.dev[i];

		d->usable = fuzz_random(&seed, 8);
		d->memory = !fuzz_random(&seed, 4);
		/* What a monitor can measure: times of at most days, counts of at most a period's. */
		d->requests = fuzz_odd(&seed) % (1ULL << 40);
		d->share = fuzz_random(&seed, HY_PPM + 1);
		d->mean_ns = fuzz_odd(&seed) % (1ULL << 48);
		d->read_ns = fuzz_odd(&seed) % (1ULL << 48);
		d->write_ns = fuzz_odd(&seed) % (1ULL << 48);
		d->ewma_ns = fuzz_odd(&seed) % (1ULL << 48);
		d->occupancy_ns = fuzz_odd(&seed) % (1ULL << 48);
		d->background_ns = fuzz_odd(&seed) % (1ULL << 48);
		d->reads = fuzz_odd(&seed) % (1ULL << 40);
		d->quiet = (struct ek_rt_quiet){
			.ns = fuzz_odd(&seed) % (1ULL << 48),
			.requests = fuzz_odd(&seed) % (1ULL << 40),
			.occupancy_ns = fuzz_odd(&seed) % (1ULL << 56),
			.look.nr = fuzz_odd(&seed) % (1ULL << 40),
			.look.sum = fuzz_odd(&seed) % (1ULL << 52),
			.look.sq = fuzz_odd(&seed),
		};
		d->probes = fuzz_random(&seed, 32);
		d->probe_ns = fuzz_odd(&seed) % (1ULL << 48);
		d->probe_mid_ns = fuzz_odd(&seed) % (1ULL << 48);
		d->extents = 1 + fuzz_odd(&seed) % EK_MAX_MEMBER_EXTENTS;
		d->free = fuzz_odd(&seed) % (d->extents + 1);
	}
}

static void check_decision(const struct run *r)
{
	u64 target = 0, receive = 0, give = 0;
	unsigned int i, usable = 0;

	for (i = 0; i < r->nr; i++) {
		usable += r->snap.dev[i].usable;
		target += r->decision.target[i];
		receive += r->decision.receive[i];
		give += r->decision.give[i];
	}
	MUST(target == HY_PPM || (!target && !usable), "targets sum to %llu",
	     (unsigned long long)target);
	MUST(receive == give);
}

/* Accesses, mostly to few places, before; ranges after it. */
static void access_any(struct run *r, unsigned int seed)
{
	u64 extents = r->snap.logical_extents, le;
	unsigned int i;

	for (i = 0; extents && i < 300; i++) {
		le = i % 4 ? fuzz_random(&seed, 4) : fuzz_odd(&seed);
		r->policy->ops->accessed(r->policy, &(struct hy_access){
			.le = le % extents, .member = fuzz_random(&seed, r->nr),
			.offset = fuzz_random(&seed, max(r->snap.extent_sectors, 1u)),
			.write = i & 8, .large = !(i % 17), .ahead = !(i % 31) });
	}
}

static void move_ranges(struct run *r, unsigned int seed)
{
	struct hy_range range;
	struct hy_moved moved;
	unsigned int i;

	for (i = 0; i < 64 && r->policy->ops->next(r->policy, &r->snap, &range); i++) {
		MUST(range.nr && range.first < r->snap.logical_extents &&
		     range.nr <= r->snap.logical_extents - range.first);
		MUST(range.to >= -1 && range.to < (int)r->nr);
		MUST(range.from >= -1 && range.from < (int)r->nr);
		MUST(range.to != range.from);
		moved.moved = fuzz_odd(&seed) % (range.nr + 1);
		moved.there = fuzz_odd(&seed) % (range.nr + 1);
		moved.left = fuzz_odd(&seed) % (range.nr + 1);
		moved.ns = fuzz_odd(&seed) % (1ULL << 56);
		r->policy->ops->moved(r->policy, &range, &moved);
	}
}

static void period(struct run *r, unsigned int seed)
{
	unsigned int i;

	if (r->policy->ops->accessed)
		access_any(r, seed);
	measure(r, seed);
	hy_policy_period(r->policy, &r->snap, &r->decision);
	check_decision(r);
	/* Not always to the end: it may be set, and asked, in between. */
	i = fuzz_odd(&seed) % 256;
	while (i-- && hy_policy_go_on(r->policy, &r->snap))
		;
	if (r->policy->ops->next)
		move_ranges(r, seed);
	for (i = 0; i < 8; i++) {
		int m = hy_policy_place(r->policy, &r->snap, &r->decision, fuzz_odd(&seed));

		MUST(m >= -1 && m < (int)r->nr);
		if (m < 0)
			continue;
		MUST(r->snap.dev[m].usable && r->snap.dev[m].free);
		r->snap.dev[m].free--;
	}
}

static void choose(struct run *r, const char *name)
{
	struct hy_policy *policy;
	int err = hy_policy_create(name, r->nr, &policy);

	MUST(!err || err == -ENOENT);
	if (err)
		return;
	hy_policy_destroy(r->policy);
	r->policy = policy;
}

static void line(struct run *r, char *text)
{
	const char *key = strsep(&text, " "), *reason = NULL;
	int err;

	if (!text)
		return;
	if (!strcmp(key, "=")) {
		choose(r, text);
	} else if (!strcmp(key, "!")) {
		period(r, strtoul(text, NULL, 10));
	} else {
		err = hy_policy_set_any(r->policy, &r->set, key, text, &reason);
		MUST(!err || ((err == -ENOENT || err == -EINVAL) && reason && *reason));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char args[EK_POLICY_TEXT_SIZE], text[EK_POLICY_TEXT_SIZE];
	char *whole = fuzz_string(data, size), *rest = whole;
	struct run r = { .nr = size ? 1 + data[0] % EK_MAX_MEMBERS : 1, .shape = size };
	unsigned int i;

	MUST(!hy_policy_create("wardrop", r.nr, &r.policy));
	hy_settings_init(&r.set);
	strsep(&rest, "\n");
	for (i = 0; rest && i < LINES; i++)
		line(&r, strsep(&rest, "\n"));
	MUST(!hy_policy_format(r.policy, &r.set, args, text, sizeof(text)));
	hy_policy_destroy(r.policy);
	MUST(!shim_allocated, "leaked");
	free(whole);
	return 0;
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	static const char *const text[] = {
		"!\n! 1\n! 2\nalpha 3\n! 4",
		"#\nobjective marginal\n! 1\n! 2\n! 3\n! 4\n! 5\n! 6",
		"\"\n= static\nshares 20,30,50\n! 3\nmovers 4\n! 5",
		" \n= static\nshares 100\n! 3\n= fill\n! 4\n= stripe\n! 6",
		"!\n= concentrate\nwindow_ms 10\n! 1\n! 2\nsublun 1\n! 3\n! 4\nsize 100\n! 5\n"
		"fast 1\n! 6",
		"\"\n= concentrate\nsize 100\nsublun 64\n! 9\n! 8\n! 7\nshare 1\n! 6\nevict 0\n! 5\n"
		"fast auto\n! 4",
		"\"\n= asymmetry\naccesses 1\nrate 0\n! 1\n! 2\ndelta 0\n! 3\nsizes 0\n! 4\nfirst fill\n! 5",
		"\"\n= unified\naccesses 1\nrate 0\n! 1\ndelta 0\n! 2\npin 1+2/3*4:0\n! 3\nalpha 2\n! 4",
		"?\n= stripe\n! 3\nlow_free 50\n= wardrop\n! 5\n! 6\n! 7", NULL,
	};

	return fuzz_text(nr, text, data);
}
