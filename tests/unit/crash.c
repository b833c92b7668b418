// SPDX-License-Identifier: GPL-2.0-only
#include "crash.h"

#define EXHAUSTIVE	2048
#define EXHAUSTIVE_CUTS	4096

/* A word of 8 bytes, or the part of it that was stored. */
struct piece {
	u32 word;
	u32 from, to;		/* bytes of it */
	u8 data[8];
	bool nt;
	u64 fences;		/* bit per task: whose fence makes it durable */
	u32 queue;
};

struct crash {
	const struct scm_log *log;
	u8 *durable;
	u8 *now;
	struct piece *piece;
	u32 nr, room;
	u64 task[64];		/* those there have been; the last stands for more as well */
	u32 nr_tasks;
	u32 nr_queues;
	u32 *length;		/* of each queue */
	u32 *take;		/* how much of it got there */
	u32 from;
	u64 limit;		/* of contents at a point that are all looked at */
	bool by_lot;		/* not more than that, even where there are more */
	bool by_word;		/* no order but that of stores to the same word */
	crash_look look;
	void *arg;
	u64 states;
};

static void apply(u8 *mem, const struct piece *p)
{
	memcpy(mem + p->word * 8 + p->from, p->data + p->from, p->to - p->from);
}

static u64 task_bit(struct crash *c, u64 task)
{
	u32 i;

	for (i = 0; i < c->nr_tasks; i++)
		if (c->task[i] == task)
			return 1ULL << i;
	if (c->nr_tasks < ARRAY_SIZE(c->task))
		c->task[c->nr_tasks++] = task;
	return 1ULL << (c->nr_tasks - 1);
}

static void add_store(struct crash *c, const struct scm_event *e, bool nt)
{
	const u8 *data = c->log->bytes + e->data;
	u64 at = e->offset, end = at + e->len;

	while (at < end) {
		u64 to = min(end, round_down(at, 8) + 8);
		struct piece *p;

		if (c->nr == c->room) {
			c->room = 2 * c->room + 64;
			c->piece = realloc(c->piece, c->room * sizeof(*c->piece));
		}
		p = &c->piece[c->nr++];
		*p = (struct piece){ .word = at / 8, .from = at % 8, .nt = nt };
		p->fences = nt ? task_bit(c, e->task) : 0;
		p->to = p->from + (to - at);
		memcpy(p->data + p->from, data, to - at);
		data += to - at;
		at = to;
	}
}

static void flush(struct crash *c, const struct scm_event *e)
{
	u64 first = e->offset / SCM_LINE, last = (e->offset + e->len - 1) / SCM_LINE;
	u64 by = task_bit(c, e->task);
	u32 i;

	for (i = 0; i < c->nr; i++) {
		u64 line = c->piece[i].word * 8ULL / SCM_LINE;

		if (!c->piece[i].nt && line >= first && line <= last)
			c->piece[i].fences |= by;
	}
}

static void fence(struct crash *c, const struct scm_event *e)
{
	u64 by = task_bit(c, e->task);
	u32 i, left = 0;

	for (i = 0; i < c->nr; i++) {
		if (c->piece[i].fences & by)
			apply(c->durable, &c->piece[i]);
		else
			c->piece[left++] = c->piece[i];
	}
	c->nr = left;
}

static void do_event(struct crash *c, const struct scm_event *e)
{
	switch (e->type) {
	case SCM_STORE:
	case SCM_STORE_NT:
		add_store(c, e, e->type == SCM_STORE_NT);
		break;
	case SCM_FLUSH:
		flush(c, e);
		break;
	case SCM_FENCE:
		fence(c, e);
		break;
	}
}

static bool same_queue(const struct crash *c, const struct piece *p, const struct piece *q)
{
	if (c->by_word)
		return p->word == q->word;
	return p->nt == q->nt && (p->nt ? p->word == q->word :
				  p->word * 8 / SCM_LINE == q->word * 8 / SCM_LINE);
}

/* Pieces that get there in their order are a queue. */
static void make_queues(struct crash *c)
{
	u32 i, j;

	c->nr_queues = 0;
	c->length = realloc(c->length, (c->nr + 1) * sizeof(u32));
	c->take = realloc(c->take, (c->nr + 1) * sizeof(u32));
	for (i = 0; i < c->nr; i++) {
		struct piece *p = &c->piece[i];

		for (j = 0; j < i; j++) {
			struct piece *q = &c->piece[j];

			if (same_queue(c, p, q))
				break;
		}
		p->queue = j < i ? c->piece[j].queue : c->nr_queues++;
		if (j == i)
			c->length[p->queue] = 0;
		c->length[p->queue]++;
	}
}

static void show(struct crash *c, u32 point)
{
	u32 i, *left = malloc((c->nr_queues + 1) * sizeof(u32));

	memcpy(left, c->take, c->nr_queues * sizeof(u32));
	memcpy(c->now, c->durable, c->log->len);
	for (i = 0; i < c->nr; i++) {
		if (!left[c->piece[i].queue])
			continue;
		left[c->piece[i].queue]--;
		apply(c->now, &c->piece[i]);
	}
	free(left);
	c->states++;
	c->look(c->now, point, c->arg);
}

static void take_all(struct crash *c, bool all)
{
	u32 q;

	for (q = 0; q < c->nr_queues; q++)
		c->take[q] = all ? c->length[q] : 0;
}

static bool next(struct crash *c)
{
	u32 q;

	for (q = 0; q < c->nr_queues; q++) {
		if (c->take[q]++ < c->length[q])
			return true;
		c->take[q] = 0;
	}
	return false;
}

static void some(struct crash *c, u32 point, unsigned int samples)
{
	u32 q;

	take_all(c, false);
	show(c, point);
	take_all(c, true);
	show(c, point);
	for (q = 0; q < c->nr_queues; q++) {
		take_all(c, false);
		c->take[q] = c->length[q];
		show(c, point);
		take_all(c, true);
		c->take[q] = 0;
		show(c, point);
	}
	while (samples--) {
		for (q = 0; q < c->nr_queues; q++)
			c->take[q] = get_random_u32() % (c->length[q] + 1);
		show(c, point);
	}
}

/* Any subset, one single piece, or all but one. */
static void draw(struct crash *c)
{
	u32 q, kind = get_random_u32() % 3, one = get_random_u32() % c->nr_queues;

	take_all(c, kind == 1);
	if (kind)
		c->take[one] = kind == 1 ? 0 : c->length[one];
	else
		for (q = 0; q < c->nr_queues; q++)
			c->take[q] = get_random_u32() % (c->length[q] + 1);
}

static void few(struct crash *c, u32 point)
{
	u64 i;

	for (i = 0; i < c->limit; i++) {
		if (c->limit > 1 && i < 2)
			take_all(c, i);
		else
			draw(c);
		show(c, point);
	}
}

static void show_point(struct crash *c, u32 point, unsigned int samples)
{
	u64 total = 1;
	u32 q;

	make_queues(c);
	for (q = 0; q < c->nr_queues && total <= c->limit; q++)
		total *= c->length[q] + 1;
	if (total > c->limit) {
		if (c->by_lot)
			few(c, point);
		else
			some(c, point, samples);
		return;
	}
	take_all(c, false);
	do
		show(c, point);
	while (next(c));
}

static u64 walk(struct crash *c, const u8 *before, unsigned int samples)
{
	const struct scm_log *log = c->log;
	u32 point;

	c->durable = malloc(log->len);
	c->now = malloc(log->len);
	memcpy(c->durable, before, log->len);
	for (point = 0; point <= log->nr_events; point++) {
		bool last = point == log->nr_events;

		if (point >= c->from &&
		    (!c->by_word || last || log->event[point].type == SCM_FENCE))
			show_point(c, point, samples);
		if (!last)
			do_event(c, &log->event[point]);
	}
	free(c->durable);
	free(c->now);
	free(c->piece);
	free(c->length);
	free(c->take);
	return c->states;
}

u64 crash_each(const struct scm_log *log, const u8 *before, unsigned int samples, crash_look look,
	       void *arg)
{
	struct crash c = { .log = log, .look = look, .arg = arg, .limit = EXHAUSTIVE };

	return walk(&c, before, samples);
}

u64 crash_cuts(const struct scm_log *log, const u8 *before, u32 from, unsigned int samples,
	       crash_look look, void *arg)
{
	struct crash c = { .log = log, .look = look, .arg = arg, .from = from, .by_word = true,
			   .limit = EXHAUSTIVE_CUTS };

	return walk(&c, before, samples);
}

u64 crash_some(const struct scm_log *log, const u8 *before, u32 from, unsigned int most,
	       crash_look look, void *arg)
{
	struct crash c = { .log = log, .look = look, .arg = arg, .from = from, .by_word = true,
			   .limit = most, .by_lot = true };

	return walk(&c, before, 0);
}

void crash_none(const struct scm_log *log, u8 *content)
{
	const struct scm_event *e;

	for (e = log->event; e < log->event + log->nr_events; e++)
		if (e->type == SCM_STORE || e->type == SCM_STORE_NT)
			memcpy(content + e->offset, log->bytes + e->data, e->len);
}

u32 crash_fences(const struct scm_log *log)
{
	u32 i, fences = 0;

	for (i = 0; i < log->nr_events; i++)
		fences += log->event[i].type == SCM_FENCE;
	return fences;
}

void crash_log_init(struct scm_log *log, const void *base, size_t len, u32 events, size_t bytes)
{
	*log = (struct scm_log){ .base = base, .len = len, .max_events = events, .max_bytes = bytes };
	log->event = calloc(events, sizeof(*log->event));
	log->bytes = malloc(bytes);
}

void crash_log_free(struct scm_log *log)
{
	free(log->event);
	free(log->bytes);
}
