// SPDX-License-Identifier: GPL-2.0-only
/* See plan.h. */
#include <stdlib.h>
#include <string.h>

#include "msg.h"
#include "plan.h"

#define PASSES		64	/* over all extents: what gained nothing may do so later */
#define BUSIEST		0.95	/* beyond that, times grow by the slope that they have there */
#define SEEN_TWICE	2.0	/* what a member can bear, in what it was seen to bear */
#define NEARLY		1.05
#define NOBODY		(~0UL)
#define ASKED		16	/* extents, whether they would leave */

/* A member, as far as its load goes; demands are ns at its present response times. */
struct bearer {
	double demand;		/* of what is there as planned so far */
	double whole;		/* a demand that it could just bear */
	double now;		/* the part of it that it has at present */
	double floor;		/* factor to its idle time */
};

struct state {
	struct plan *p;
	struct bearer of[PLAN_MAX_MEMBERS];
	uint64_t room[PLAN_MAX_MEMBERS];
	unsigned int *at;
	unsigned long *coldest;		/* extents by member, and those by what they demand there */
	unsigned long next[PLAN_MAX_MEMBERS], end[PLAN_MAX_MEMBERS];	/* in it, that may leave */
};

struct choice {
	double gain;
	unsigned long extent;
	unsigned int to;
	unsigned long out;	/* the extent that comes in its place; or NOBODY */
};

static double cost(const struct plan *p, const struct plan_extent *e, unsigned int i)
{
	const struct plan_member *m = &p->member[i];
	double read = m->read_ns > 0 ? m->read_ns : m->write_ns;

	return e->reads * read + e->writes * (m->write_ns > 0 ? m->write_ns : read);
}

/* Are there times for what the extent is used for? */
static bool is_known(const struct plan_member *m, const struct plan_extent *e)
{
	return (m->read_ns > 0 || !e->reads) && (m->write_ns > 0 || !e->writes);
}

static double copy_cost(const struct plan_member *from, const struct plan_member *to)
{
	return (from->read_ns > 0 ? from->read_ns : from->write_ns) +
	       (to->write_ns > 0 ? to->write_ns : to->read_ns);
}

static double waiting(double u)
{
	double most = 1 / (1 - BUSIEST);

	return u < BUSIEST ? 1 / (1 - u) : most + (u - BUSIEST) * most * most;
}

/* What all requests at a member take when they demand @demand. */
static double takes(const struct bearer *b, double demand)
{
	double factor;

	if (b->whole <= 0)
		return demand;
	factor = waiting(demand / b->whole) / waiting(b->now);
	return demand * (factor > b->floor ? factor : b->floor);
}

static double counted(const struct plan *p)
{
	double sum = 0;
	unsigned long j;

	for (j = 0; j < p->nr_extents; j++)
		sum += (double)p->extent[j].reads + p->extent[j].writes;
	return sum;
}

/* @span: ns in which as many accesses come as were counted; 0: there is no load. */
static void judge_member(const struct plan_member *m, double span, struct bearer *b)
{
	double erlangs, bears;

	b->floor = m->idle_ns > 0 && m->idle_ns < m->read_ns ? m->idle_ns / m->read_ns : 1;
	if (span <= 0)
		return;
	erlangs = b->demand / span;
	if (m->idle_ns <= 0)
		bears = 1 + erlangs;
	else
		bears = b->floor < 1 ? erlangs / (1 - b->floor) : SEEN_TWICE * erlangs;
	if (bears > SEEN_TWICE * erlangs)
		bears = SEEN_TWICE * erlangs;
	if (bears < NEARLY * erlangs)
		bears = NEARLY * erlangs;
	if (bears < 1)
		bears = 1;
	b->whole = bears * span;
	b->now = b->demand / b->whole;
}

static void begin(struct state *s, struct plan *p)
{
	double span = p->per_second > 0 ? counted(p) / p->per_second * 1e9 : 0;
	unsigned long j;
	unsigned int i;

	memset(s, 0, sizeof(*s));
	s->p = p;
	for (j = 0; j < p->nr_extents; j++)
		s->of[p->extent[j].member].demand += cost(p, &p->extent[j], p->extent[j].member);
	for (i = 0; i < p->nr_members; i++) {
		judge_member(&p->member[i], span, &s->of[i]);
		s->room[i] = p->member[i].room;
	}
}

static double mean(const struct state *s)
{
	double sum = 0, n = counted(s->p);
	unsigned int i;

	for (i = 0; i < s->p->nr_members; i++)
		sum += takes(&s->of[i], s->of[i].demand);
	return n > 0 ? sum / n : 0;
}

double plan_mean(const struct plan *p, const unsigned int *at)
{
	struct state s;
	unsigned long j;

	begin(&s, (struct plan *)p);
	for (j = 0; at && j < p->nr_extents; j++) {
		s.of[p->extent[j].member].demand -= cost(p, &p->extent[j], p->extent[j].member);
		s.of[at[j]].demand += cost(p, &p->extent[j], at[j]);
	}
	return mean(&s);
}

/* --- who would make room --- */

static int by_demand(const void *a, const void *b, void *plan)
{
	const struct plan *p = plan;
	const struct plan_extent *x = &p->extent[*(const unsigned long *)a];
	const struct plan_extent *y = &p->extent[*(const unsigned long *)b];
	double dx, dy;

	if (x->member != y->member)
		return x->member < y->member ? -1 : 1;
	dx = cost(p, x, x->member);
	dy = cost(p, y, y->member);
	if (dx < dy || dx > dy)
		return dx < dy ? -1 : 1;
	return x->le < y->le ? -1 : x->le > y->le;
}

/* The next one that is still where it was. */
static void skip(struct state *s, unsigned int i)
{
	for (; s->next[i] < s->end[i]; s->next[i]++) {
		unsigned long j = s->coldest[s->next[i]];

		if (!s->p->extent[j].fixed && s->at[j] == i)
			return;
	}
}

static void sort_by_demand(struct state *s)
{
	const struct plan *p = s->p;
	unsigned long j;
	unsigned int i;

	s->coldest = xcalloc(p->nr_extents + 1, sizeof(*s->coldest));
	for (j = 0; j < p->nr_extents; j++) {
		s->coldest[j] = j;
		s->end[p->extent[j].member]++;
	}
	qsort_r(s->coldest, p->nr_extents, sizeof(*s->coldest), by_demand, s->p);
	for (i = 0; i < p->nr_members; i++) {
		s->next[i] = i ? s->end[i - 1] : 0;
		s->end[i] += s->next[i];
		skip(s, i);
	}
}

/* Who would leave @to for @from, which can take it or is left by another one first; NOBODY. */
static unsigned long makes_room(const struct state *s, unsigned int from, unsigned int to)
{
	const struct plan_member *f = &s->p->member[from];
	unsigned long i;

	if (!f->takes || (!f->spare && !s->p->member[to].spare))
		return NOBODY;
	for (i = s->next[to]; i < s->end[to] && i < s->next[to] + ASKED; i++) {
		const struct plan_extent *e = &s->p->extent[s->coldest[i]];

		if (!e->fixed && s->at[s->coldest[i]] == to && is_known(f, e))
			return s->coldest[i];
	}
	return NOBODY;
}

/* --- what a move gains --- */

/* @out: the extent that comes in its place, or NULL. */
static double gain_of(const struct state *s, const struct plan_extent *e, unsigned int from,
		      unsigned int to, const struct plan_extent *out)
{
	const struct bearer *f = &s->of[from], *t = &s->of[to];
	double here = f->demand - cost(s->p, e, from), there = t->demand + cost(s->p, e, to);

	if (out) {
		here += cost(s->p, out, from);
		there -= cost(s->p, out, to);
	}
	return takes(f, f->demand) - takes(f, here) + takes(t, t->demand) - takes(t, there);
}

/* Where the extent gains most, more than its copy costs; false: nowhere. */
static bool choose(const struct state *s, struct choice *c)
{
	const struct plan *p = s->p;
	const struct plan_extent *e = &p->extent[c->extent];
	unsigned int from = s->at[c->extent], i;

	c->gain = 0;
	/* Once is enough: two moves of one extent would be one that was planned badly. */
	if (e->fixed || from != e->member)
		return false;
	for (i = 0; i < p->nr_members; i++) {
		unsigned long out = NOBODY;
		double gain, copies;

		if (i == from || !p->member[i].takes || !is_known(&p->member[i], e))
			continue;
		copies = copy_cost(&p->member[from], &p->member[i]);
		if (!s->room[i]) {
			out = makes_room(s, from, i);
			if (out == NOBODY)
				continue;
			copies += copy_cost(&p->member[i], &p->member[from]);
		}
		gain = gain_of(s, e, from, i, out == NOBODY ? NULL : &p->extent[out]);
		if (gain <= copies || gain <= c->gain)
			continue;
		c->gain = gain;
		c->to = i;
		c->out = out;
	}
	return c->gain > 0;
}

/* --- a heap of choices, the best one first --- */

static bool better(const struct choice *a, const struct choice *b)
{
	return a->gain > b->gain || (a->gain >= b->gain && a->extent < b->extent);
}

static void sift_down(struct choice *heap, unsigned long n, unsigned long i)
{
	for (;;) {
		unsigned long child = 2 * i + 1;
		struct choice c;

		if (child + 1 < n && better(&heap[child + 1], &heap[child]))
			child++;
		if (child >= n || !better(&heap[child], &heap[i]))
			return;
		c = heap[i];
		heap[i] = heap[child];
		heap[child] = c;
		i = child;
	}
}

static unsigned long fill(const struct state *s, struct choice *heap)
{
	unsigned long j, n = 0;

	for (j = 0; j < s->p->nr_extents; j++) {
		heap[n].extent = j;
		if (choose(s, &heap[n]))
			n++;
	}
	for (j = n / 2; j-- > 0;)
		sift_down(heap, n, j);
	return n;
}

static struct plan_move *move(struct state *s, unsigned long j, unsigned int to, double gain)
{
	struct plan *p = s->p;
	struct plan_move *m = &p->move[p->nr_moves++];
	const struct plan_extent *e = &p->extent[j];

	s->of[e->member].demand -= cost(p, e, e->member);
	s->of[to].demand += cost(p, e, to);
	s->at[j] = to;
	skip(s, e->member);
	*m = (struct plan_move){
		.le = e->le, .from = e->member, .to = to, .reads = e->reads,
		.writes = e->writes, .gain_ns = gain, .makes_room = gain <= 0,
	};
	return m;
}

static void apply(struct state *s, const struct choice *c)
{
	unsigned int from = s->p->extent[c->extent].member;

	if (c->out == NOBODY) {
		move(s, c->extent, c->to, c->gain);
		s->room[from]++;
		s->room[c->to]--;
	} else if (s->p->member[from].spare) {
		move(s, c->out, from, 0)->with_next = true;
		move(s, c->extent, c->to, c->gain);
	} else {
		move(s, c->extent, c->to, c->gain)->with_next = true;
		move(s, c->out, from, 0);
	}
}

/* Once through all; returns whether anything was planned. */
static bool pass(struct state *s, struct choice *heap, unsigned long budget)
{
	unsigned long n = fill(s, heap);
	bool any = false;

	while (n && s->p->nr_moves < budget) {
		struct choice *best = &heap[0];

		/* What was planned since may have made it worth less. */
		if (!choose(s, best) ||
		    (best->out != NOBODY && s->p->nr_moves + 2 > budget)) {
			heap[0] = heap[--n];
			sift_down(heap, n, 0);
			continue;
		}
		if ((n > 1 && better(&heap[1], best)) || (n > 2 && better(&heap[2], best))) {
			sift_down(heap, n, 0);
			continue;
		}
		apply(s, best);
		any = true;
		heap[0] = heap[--n];
		sift_down(heap, n, 0);
	}
	return any;
}

void plan_make(struct plan *p, unsigned long budget)
{
	struct choice *heap = xcalloc(p->nr_extents + 1, sizeof(*heap));
	unsigned long j, passes = PASSES;
	struct state s;

	if (budget > p->nr_extents)
		budget = p->nr_extents;
	p->move = xcalloc(budget + 1, sizeof(*p->move));
	p->nr_moves = 0;
	begin(&s, p);
	s.at = xcalloc(p->nr_extents, sizeof(*s.at));
	for (j = 0; j < p->nr_extents; j++)
		s.at[j] = p->extent[j].member;
	sort_by_demand(&s);
	p->before_ns = mean(&s);
	while (passes-- && p->nr_moves < budget && pass(&s, heap, budget))
		;
	p->after_ns = mean(&s);
	free(s.coldest);
	free(s.at);
	free(heap);
}

void plan_free(struct plan *p)
{
	free(p->move);
	p->move = NULL;
	p->nr_moves = 0;
}
