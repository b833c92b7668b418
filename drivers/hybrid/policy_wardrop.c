// SPDX-License-Identifier: GPL-2.0-only
/*
 * Equal response times: equation (1) of wu-reddy section II, for any number of
 * members.  Every period, over the usable members,
 *
 *	Rbar = sum R_i Q_i
 *	P_i  = Q_i + alpha (Rbar - R_i) Q_i
 *	tokens of i = |P_i - Q_i| beta, to take in if P_i > Q_i, else to give away
 *
 * See Documentation/design/policies.rst for the bounds put around it.
 *
 * Units: shares in ppm, times in ns, alpha in 10^-6 per ms, beta in 10^-6 tokens.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include "policy_first.h"
#include "policy_marginal.h"
#include "policy_util.h"

#define NS_PER_MS	1000000ULL
#define MAX_NS		1000000000000ULL	/* a response time that counts: 1000 s */
#define MAX_GAIN	1000000000000ULL	/* ppm; takes a share of 1 ppm to all */
#define TOKEN		1000000000000ULL	/* ppm of share times 10^-6 tokens */

enum { ALPHA, BETA, FLOOR, DEADBAND, STEP, ESTIMATOR, ROUNDING, OBJECTIVE, FIRST, NR_PARAMS };
enum { BY_MEAN, BY_EWMA };
enum { NEAREST, TRUNCATE };
enum { AVERAGE, MARGINAL };
enum { PROBED, EQUAL };
enum { PRESET_DEFAULT, PRESET_PAPER, NR_PRESETS };

static const char * const preset_words[] = { "default", "paper", NULL };
static const char * const estimator_words[] = { "mean", "ewma", NULL };
static const char * const rounding_words[] = { "nearest", "truncate", NULL };

static const char * const objective_words[] = { "average", "marginal", NULL };
static const char * const first_words[] = { "probed", "equal", NULL };

/**
 * struct param - a parameter
 * @key: its name
 * @words: what it may be, NULL: a number
 * @places: decimal places of the number
 * @max: its bound, in units of the last place
 * @preset: its values by preset
 * @reason: what is said about a bad value
 */
struct param {
	const char *key;
	const char * const *words;
	unsigned int places;
	u64 max;
	u64 preset[NR_PRESETS];
	const char *reason;
};

static const struct param params[NR_PARAMS] = {
	[ALPHA] = {
		.key = "alpha", .places = 6, .max = 1000000000,
		.preset = { 1000000, 10000000 },
		.reason = "alpha: per ms, 0 to 1000, at most 6 decimals",
	},
	[BETA] = {
		.key = "beta", .places = 6, .max = 1000000000000ULL,
		.preset = { 5000000000ULL, 100000000 },
		.reason = "beta: extents per whole share, 0 to 1000000, at most 6 decimals",
	},
	[FLOOR] = {
		.key = "floor", .places = 4, .max = HY_PPM,
		.preset = { 1000, 10000 },
		.reason = "floor: percent, 0 to an equal share, at most 4 decimals",
	},
	[DEADBAND] = {
		.key = "deadband", .places = 4, .max = HY_PPM,
		.preset = { 50000, 0 },
		.reason = "deadband: percent, 0 to 100, at most 4 decimals",
	},
	[STEP] = {
		.key = "step", .places = 4, .max = HY_PPM,
		.preset = { 100000, HY_PPM },
		.reason = "step: percent, 0 to 100, at most 4 decimals",
	},
	[ESTIMATOR] = {
		.key = "estimator", .words = estimator_words,
		.preset = { BY_MEAN, BY_EWMA },
		.reason = "estimator: mean or ewma",
	},
	[ROUNDING] = {
		.key = "rounding", .words = rounding_words,
		.preset = { NEAREST, TRUNCATE },
		.reason = "rounding: nearest or truncate",
	},
	[OBJECTIVE] = {
		.key = "objective", .words = objective_words,
		.preset = { MARGINAL, AVERAGE },
		.reason = "objective: average or marginal",
	},
	[FIRST] = {
		.key = "first", .words = first_words,
		.preset = { PROBED, EQUAL },
		.reason = "first: probed or equal",
	},
};

static const char not_a_key[] =
	"not one of: alpha beta floor deadband step estimator rounding objective first preset";

struct wardrop {
	u64 param[NR_PARAMS];
	u32 target[EK_MAX_MEMBERS];
	struct hy_credit credit;
	struct hy_first first;
	struct hy_marginal marginal;
};

/* A period's computation, over all members; unusable ones stay at zero. */
struct balance {
	u64 r[EK_MAX_MEMBERS];		/* ns, 0: not measured */
	u32 q[EK_MAX_MEMBERS];
	u32 p[EK_MAX_MEMBERS];
	u64 rbar;
};

static void use_preset(struct wardrop *w, unsigned int preset)
{
	unsigned int i;

	for (i = 0; i < NR_PARAMS; i++)
		w->param[i] = params[i].preset[preset];
}

static void wardrop_init(struct hy_policy *policy)
{
	struct wardrop *w = policy->priv;
	u64 one[EK_MAX_MEMBERS];
	unsigned int i;

	use_preset(w, PRESET_DEFAULT);
	hy_marginal_init(&w->marginal);
	for (i = 0; i < policy->nr; i++)
		one[i] = 1;
	hy_apportion(w->target, one, policy->nr, HY_PPM);
}

static int find_word(const char * const *words, const char *word)
{
	int i;

	for (i = 0; words[i]; i++)
		if (!strcmp(words[i], word))
			return i;
	return -EINVAL;
}

static int parse_param(const struct param *param, const char *text, u64 *value)
{
	int word;

	if (!param->words)
		return hy_parse_decimal(text, NULL, param->places, param->max, value);
	word = find_word(param->words, text);
	if (word < 0)
		return word;
	*value = word;
	return 0;
}

static int set_preset(struct wardrop *w, const char *value, const char **reason)
{
	int preset = find_word(preset_words, value);

	if (preset < 0) {
		*reason = "preset: default or paper";
		return preset;
	}
	use_preset(w, preset);
	return 0;
}

static int wardrop_set(struct hy_policy *policy, const char *key, const char *value,
		       const char **reason)
{
	struct wardrop *w = policy->priv;
	unsigned int i;
	u64 v;

	if (!strcmp(key, "preset"))
		return set_preset(w, value, reason);
	for (i = 0; i < NR_PARAMS; i++)
		if (!strcmp(params[i].key, key))
			break;
	if (i == NR_PARAMS) {
		*reason = not_a_key;
		return -ENOENT;
	}
	if (parse_param(&params[i], value, &v) || (i == FLOOR && v * policy->nr > HY_PPM)) {
		*reason = params[i].reason;
		return -EINVAL;
	}
	w->param[i] = v;
	return 0;
}

static int wardrop_emit(const struct hy_policy *policy, char *buf, size_t len)
{
	const struct wardrop *w = policy->priv;
	struct hy_text text = { .buf = buf, .size = len };
	unsigned int i;

	for (i = 0; i < NR_PARAMS; i++) {
		if (w->param[i] == params[i].preset[PRESET_DEFAULT])
			continue;
		hy_text_add_key(&text, params[i].key);
		if (params[i].words)
			hy_text_add(&text, "%s", params[i].words[w->param[i]]);
		else
			hy_text_add_decimal(&text, w->param[i], params[i].places);
	}
	return text.len;
}

/* Q over the usable members; false: there were no requests. */
static bool measure_shares(struct balance *b, const struct hy_snapshot *snap)
{
	u64 share[EK_MAX_MEMBERS], sum = 0;
	unsigned int i;

	for (i = 0; i < snap->nr; i++) {
		const struct hy_dev_snap *dev = &snap->dev[i];

		share[i] = dev->usable ? dev->share : 0;
		sum += share[i];
	}
	hy_apportion(b->q, share, snap->nr, HY_PPM);
	return sum;
}

/*
 * A member without requests has Q = 0 and so drops out of equation (1) whatever
 * its R is taken for; the floor is what gets it measured again.  One that ended none keeps its Q.
 */
static void measure_times(struct balance *b, const struct hy_snapshot *snap, bool ewma)
{
	u64 sum = 0, weight = 0;
	unsigned int i;

	for (i = 0; i < snap->nr; i++) {
		const struct hy_dev_snap *dev = &snap->dev[i];

		b->r[i] = min(ewma ? dev->ewma_ns : dev->mean_ns, (u64)MAX_NS);
		if (!b->r[i])
			continue;
		sum += b->r[i] * b->q[i];
		weight += b->q[i];
	}
	b->rbar = weight ? div64_u64(sum + weight / 2, weight) : 0;
}

/* alpha (Rbar - R) in ppm, without its sign. */
static u64 gain(u64 alpha, u64 diff_ns)
{
	if (!alpha)
		return 0;
	/* alpha * diff_ns stays at or below 10^18 */
	diff_ns = min(diff_ns, div64_u64(MAX_GAIN * NS_PER_MS, alpha));
	return div_u64(alpha * diff_ns, NS_PER_MS);
}

/* Equation (1) for one member, clipped to 0 and 1. */
static u32 wanted_share(const struct wardrop *w, u64 r, u64 rbar, u32 q)
{
	u64 diff = r > rbar ? r - rbar : rbar - r;
	u64 change;

	if (!r || diff * HY_PPM <= rbar * w->param[DEADBAND])
		return q;
	change = div_u64(gain(w->param[ALPHA], diff) * q + HY_PPM / 2, HY_PPM);
	if (r > rbar)
		return change < q ? q - change : 0;
	return min(q + change, (u64)HY_PPM);
}

static unsigned int nr_usable(const struct hy_snapshot *snap)
{
	unsigned int i, n = 0;

	for (i = 0; i < snap->nr; i++)
		n += snap->dev[i].usable;
	return n;
}

/*
 * Make P sum to 1 with no usable member below the floor: what lies above the
 * floors is scaled.  Does not change a P that is so already.
 */
static void normalise(u32 *p, const struct hy_snapshot *snap, u32 floor)
{
	u64 above[EK_MAX_MEMBERS], sum = 0;
	unsigned int i;

	for (i = 0; i < snap->nr; i++) {
		above[i] = snap->dev[i].usable && p[i] > floor ? p[i] - floor : 0;
		sum += above[i];
	}
	if (!sum)
		for (i = 0; i < snap->nr; i++)
			above[i] = snap->dev[i].usable;
	hy_apportion(p, above, snap->nr, HY_PPM - nr_usable(snap) * floor);
	for (i = 0; i < snap->nr; i++)
		if (snap->dev[i].usable)
			p[i] += floor;
}

static s64 change_of(const struct balance *b, unsigned int i)
{
	return (s64)b->p[i] - b->q[i];
}

/* Scale the changes so that the largest is @step. */
static void limit_step(struct balance *b, unsigned int nr, u32 step)
{
	s64 largest = 0;
	unsigned int i;

	for (i = 0; i < nr; i++)
		largest = max_t(s64, largest, abs(change_of(b, i)));
	if (largest <= step)
		return;
	for (i = 0; i < nr; i++)
		b->p[i] = b->q[i] + div64_s64(change_of(b, i) * step, largest);
}

static u64 tokens_wanted(const struct wardrop *w, const u64 *rise, unsigned int nr)
{
	u64 beta = w->param[BETA], tokens = 0, sum = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		tokens += div64_u64(rise[i] * beta, TOKEN);
		sum += rise[i];
	}
	/* However little share is left on a member that is to have none, it may be many extents. */
	if (w->marginal.gross && w->param[OBJECTIVE] == MARGINAL && sum)
		sum = HY_PPM;
	/* The rises sum to at most 1 as a share: no overflow. */
	return w->param[ROUNDING] == TRUNCATE ? tokens : div64_u64(sum * beta + TOKEN / 2, TOKEN);
}

/* Split @total by @weight, nobody above its bound; returns how many that gave. */
static u32 share_out(u32 *parts, const u64 *weight, const u32 *bound, unsigned int nr, u32 total)
{
	unsigned int i;
	u32 sum = 0;

	hy_apportion(parts, weight, nr, total);
	for (i = 0; i < nr; i++) {
		parts[i] = min(parts[i], bound[i]);
		sum += parts[i];
	}
	return sum;
}

/* What members are to gain (@sign 1) or to give up (-1); others 0. */
static void weigh(const struct balance *b, unsigned int nr, int sign, u64 *weight)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		weight[i] = max_t(s64, 0, sign * change_of(b, i));
}

/*
 * While a volume is filled, which is where most requests write new extents, these are placed by the
 * targets and carry the load there; what was written a moment ago is what would be copied first.
 * Where they are the smaller part of the requests a step takes all its copies.
 */
static u64 without_first(const struct hy_snapshot *snap, u64 tokens)
{
	u64 requests = 0, first;
	unsigned int i;

	for (i = 0; i < snap->nr; i++)
		requests += snap->dev[i].requests;
	requests = clamp_t(u64, requests, 1, U32_MAX);
	first = min(snap->first, requests);
	return min(tokens, div64_u64(2 * tokens * (requests - first), requests));
}

/*
 * By largest remainder on either side.  With rounding "truncate" the receivers'
 * sum is of truncated numbers, as the paper's TokenNumbers is.
 */
static void make_tokens(const struct wardrop *w, const struct balance *b,
			const struct hy_snapshot *snap, struct hy_decision *d)
{
	u64 weight[EK_MAX_MEMBERS] = {}, wanted;
	u32 bound[EK_MAX_MEMBERS];
	unsigned int i, nr = snap->nr;
	u32 in, out;

	for (i = 0; i < nr; i++)
		bound[i] = snap->dev[i].usable ? snap->dev[i].free : 0;
	weigh(b, nr, 1, weight);
	wanted = tokens_wanted(w, weight, nr);
	if (w->param[OBJECTIVE] == MARGINAL)
		wanted = without_first(snap, wanted);
	in = share_out(d->receive, weight, bound, nr, wanted);

	for (i = 0; i < nr; i++)
		bound[i] = snap->dev[i].extents - min(snap->dev[i].free, snap->dev[i].extents);
	weigh(b, nr, -1, weight);
	out = share_out(d->give, weight, bound, nr, in);

	if (out < in) {
		for (i = 0; i < nr; i++)
			weight[i] = d->receive[i];
		hy_apportion(d->receive, weight, nr, out);
	}
}

/*
 * The shares that objective "marginal" wants.  Tokens stand for shares there, not for
 * extents: those that are accessed more use up more of them.  Unless a member is to have none.
 */
static void marginal_period(struct wardrop *w, struct balance *b, const struct hy_snapshot *snap,
			    struct hy_decision *decision)
{
	unsigned int i;

	for (i = 0; i < snap->nr; i++)
		if (hy_estimate_wants_probe(&snap->dev[i]))
			decision->probe |= BIT(i);
	decision->rest = hy_marginal_period(&w->marginal, snap, b->q, b->p);
	normalise(b->p, snap, 0);
	if (decision->rest == HY_PPM || w->marginal.settled || !w->param[BETA])
		return;
	if (!w->marginal.gross)
		decision->token_ppm = max_t(u64, div64_u64(TOKEN, w->param[BETA]), 1);
	for (i = 0; i < snap->nr; i++)
		decision->largest[i] = hy_marginal_largest(&w->marginal, i);
	make_tokens(w, b, snap, decision);
}

static void average_period(struct wardrop *w, struct balance *b, const struct hy_snapshot *snap,
			   struct hy_decision *decision)
{
	u32 floor = w->param[FLOOR];
	unsigned int i;

	measure_times(b, snap, w->param[ESTIMATOR] == BY_EWMA);
	for (i = 0; i < snap->nr; i++)
		b->p[i] = wanted_share(w, b->r[i], b->rbar, b->q[i]);
	normalise(b->p, snap, floor);
	limit_step(b, snap->nr, w->param[STEP]);
	normalise(b->p, snap, floor);
	make_tokens(w, b, snap, decision);
}

static bool has_tokens(const struct hy_decision *decision, unsigned int nr)
{
	while (nr--)
		if (decision->receive[nr])
			return true;
	return false;
}

static void wardrop_period(struct hy_policy *policy, const struct hy_snapshot *snap,
			   struct hy_decision *decision)
{
	struct wardrop *w = policy->priv;
	struct balance b = {};

	if (!nr_usable(snap)) {
		memcpy(decision->target, w->target, sizeof(w->target));
		return;
	}
	if (w->param[FIRST] == PROBED &&
	    hy_first_period(&w->first, snap, w->target, decision)) {
		hy_marginal_idle(&w->marginal, snap);
		memcpy(decision->target, w->target, sizeof(w->target));
		return;
	}
	if (hy_first_stands(&w->first, snap) || !measure_shares(&b, snap)) {
		hy_spread_targets(decision->target, w->target, snap);
		return;
	}
	if (w->param[OBJECTIVE] == MARGINAL)
		marginal_period(w, &b, snap, decision);
	else
		average_period(w, &b, snap, decision);
	if (!has_tokens(decision, snap->nr))
		policy->stays[HY_NOT_BALANCED]++;
	memcpy(w->target, b.p, sizeof(w->target));
	memcpy(decision->target, b.p, sizeof(b.p));
}

/* With tokens to receive and room: the one with the most. */
static int best_receiver(const struct hy_snapshot *snap, const struct hy_decision *tokens)
{
	int best = -1;
	unsigned int i;

	for (i = 0; i < snap->nr; i++) {
		if (!tokens->receive[i] || !hy_has_room(&snap->dev[i]))
			continue;
		if (best < 0 || tokens->receive[i] > tokens->receive[best])
			best = i;
	}
	return best;
}

static void take_give_token(struct hy_decision *tokens, unsigned int nr)
{
	unsigned int i, most = 0;

	for (i = 1; i < nr; i++)
		if (tokens->give[i] > tokens->give[most])
			most = i;
	if (tokens->give[most])
		tokens->give[most]--;
}

static int wardrop_place(struct hy_policy *policy, const struct hy_snapshot *snap,
			 struct hy_decision *tokens, u64 le)
{
	struct wardrop *w = policy->priv;
	int i = w->param[OBJECTIVE] == MARGINAL ? -1 : best_receiver(snap, tokens);

	if (i < 0)
		return hy_credit_place(&w->credit, w->target, snap);
	tokens->receive[i]--;
	take_give_token(tokens, snap->nr);
	return i;
}

const struct hy_policy_ops hy_policy_wardrop = {
	.name = "wardrop",
	.size = sizeof(struct wardrop),
	.init = wardrop_init,
	.set = wardrop_set,
	.emit = wardrop_emit,
	.period = wardrop_period,
	.place = wardrop_place,
};
