// SPDX-License-Identifier: GPL-2.0-only
/* Queues, servers, and what is done next. */
#include <math.h>
#include "sim_internal.h"

/* Three uniforms: mean 1, standard deviation @cv, never below 0.1. */
static double variation(struct sim *s, double cv)
{
	double v = 1 + cv * 2 * (sim_uniform(s) + sim_uniform(s) + sim_uniform(s) - 1.5);

	return v < 0.1 ? 0.1 : v;
}

static bool before(const struct request *a, const struct request *b)
{
	return a->end != b->end ? a->end < b->end : a->id < b->id;
}

static void heap_push(struct sim *s, struct request *r)
{
	unsigned int i = s->heap_nr++;

	for (; i && before(r, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = r;
}

static struct request *heap_pop(struct sim *s)
{
	struct request *first = s->heap[0], *last = s->heap[--s->heap_nr];
	unsigned int i = 0, child;

	while ((child = 2 * i + 1) < s->heap_nr) {
		if (child + 1 < s->heap_nr && before(s->heap[child + 1], s->heap[child]))
			child++;
		if (!before(s->heap[child], last))
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = last;
	return first;
}

static bool is_apart(const struct device *d, const struct request *r)
{
	return d->model.write_servers && !r->copy && r->dir == EK_WRITE;
}

static struct queue *queue_of(struct device *d, const struct request *r)
{
	return is_apart(d, r) ? &d->writes : &d->all;
}

static unsigned int servers_of(const struct device *d, const struct request *r)
{
	return is_apart(d, r) ? d->model.write_servers : d->model.servers;
}

static double copy_us(const struct device *d, const struct request *r)
{
	return !r->writing && d->model.move_read_us ? d->model.move_read_us : d->model.move_us;
}

static void serve(struct sim *s, struct device *d, struct request *r)
{
	double us = r->copy ? copy_us(d, r) : d->model.us;
	const struct queue *q = queue_of(d, r);

	if (!r->copy && r->dir == EK_WRITE && d->model.write_us)
		us = d->model.write_us;
	if (d->model.grow)
		us /= pow(q->busy + q->queued, d->model.grow);
	r->end = s->now + llround(us * 1000 * variation(s, d->model.cv));
	heap_push(s, r);
}

void sim_submit(struct sim *s, struct request *r, unsigned int dev)
{
	struct device *d = &s->dev[dev];
	struct queue *q = queue_of(d, r);

	r->dev = dev;
	if (q->busy < servers_of(d, r)) {
		q->busy++;
		serve(s, d, r);
	} else {
		q->waiting[(q->head + q->queued++) % MAX_REQUESTS] = r;
	}
}

/* @done made room. */
static void next_in_queue(struct sim *s, struct device *d, const struct request *done)
{
	struct queue *q = queue_of(d, done);
	struct request *r;

	if (!q->queued) {
		q->busy--;
		return;
	}
	q->queued--;
	r = q->waiting[q->head];
	q->head = (q->head + 1) % MAX_REQUESTS;
	serve(s, d, r);
}

void sim_pause(struct sim *s, struct request *r, double us)
{
	r->pause = true;
	r->end = s->now + llround(us * 1000 * (.5 + sim_uniform(s)));
	heap_push(s, r);
}

/* Time goes on to what is done next, or to @until (then NULL). */
struct request *sim_next_done(struct sim *s, u64 until)
{
	struct request *r = NULL;

	if (s->heap_nr && s->heap[0]->end <= until) {
		r = heap_pop(s);
		until = r->end;
	}
	s->now = until;
	shim_now = until;
	if (r && !r->pause)
		next_in_queue(s, &s->dev[r->dev], r);
	return r;
}
