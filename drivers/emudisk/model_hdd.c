// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: mechanical disk
 *
 * One arm, one spindle. An access seeks (a square root of the distance up to a third of the stroke,
 * linear beyond), waits until the sector comes round (the angle is a function of time alone: the
 * disk never stops), and transfers at the zone's rate, which falls from the outer to the inner
 * edge. The drive sees up to `qd` waiting requests and serves the one with the shortest positioning
 * time (elevator=sptf), the next upwards (clook) or the oldest (fifo).
 *
 * After a read the head goes on into the read buffer until it is needed elsewhere; what is in the
 * buffer is read at interface speed, what the head is about to reach is waited for. With a write
 * cache (wcache), writes without FUA complete at interface speed and are destaged when nothing
 * waits, when the cache is three quarters full, or for a flush.
 */
#include "model.h"

/* Rounding may put the head a few ns past a sector that it is just reaching. */
#define EMU_ANGLE_SLACK 64
#define EMU_FRACTION_BITS 20
#define EMU_DISTANCE_BITS 42
#define EMU_DISTANCE_SHIFT 10

static u64 emu_isqrt(u64 x)
{
	u64 root = 0, bit = 1ULL << 62;

	while (bit > x)
		bit >>= 2;
	for (; bit; bit >>= 2) {
		if (x >= root + bit) {
			x -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return root;
}

void emu_hdd_init(struct emu_model *m)
{
	INIT_LIST_HEAD(&m->hdd.queue);
	INIT_LIST_HEAD(&m->hdd.flushes);
}

void emu_hdd_retune(struct emu_model *m)
{
	struct emu_hdd *h = &m->hdd;
	u64 outer = m->p[EMU_P_OUTER_BW], inner = min_t(u64, m->p[EMU_P_INNER_BW], outer), i;

	h->rev_ns = 60000000000ULL / m->p[EMU_P_RPM];
	h->zone_sectors = m->sectors / EMU_ZONES + 1;
	for (i = 0; i < EMU_ZONES; i++) {
		u64 rate = outer - (outer - inner) * (2 * i + 1) / (2 * EMU_ZONES);

		h->spt[i] = max_t(u64, rate / 1000 * h->rev_ns / 512000000ULL, 1);
	}
	/* without a buffer nothing is read ahead, nor was it: there is nothing to go on from */
	if (!m->p[EMU_P_BUFFER]) {
		h->prefetching = false;
		h->buf_start = 0;
		h->buf_end = 0;
	}
}

/* Thrice the fraction of the stroke, so that 1 is the average distance. */
static u64 emu_hdd_fraction(const struct emu_model *m, u64 distance)
{
	u64 one = 1ULL << EMU_FRACTION_BITS, sectors = m->sectors;

	/* a disk may have 2^51 sectors, and its fraction takes 22 bits more than the distance */
	if (sectors >> EMU_DISTANCE_BITS) {
		distance >>= EMU_DISTANCE_SHIFT;
		sectors >>= EMU_DISTANCE_SHIFT;
	}
	return min_t(u64, 3 * (distance << EMU_FRACTION_BITS) / sectors, 3 * one);
}

static u64 emu_hdd_spt(const struct emu_hdd *h, u64 sector)
{
	return h->spt[min_t(u64, sector / h->zone_sectors, EMU_ZONES - 1)];
}

static u64 emu_hdd_media(const struct emu_hdd *h, u64 sector, u64 sectors)
{
	return sectors * h->rev_ns / emu_hdd_spt(h, sector);
}

/**
 * emu_hdd_seek - time to move the arm
 * @m: the model
 * @from: sector under the head
 * @to: sector to reach
 *
 * Return: ns; 0 within a track.
 */
u64 emu_hdd_seek(const struct emu_model *m, u64 from, u64 to)
{
	u64 track = m->p[EMU_P_SEEK_TRACK], avg = max_t(u64, m->p[EMU_P_SEEK_AVG], track);
	u64 full = max_t(u64, m->p[EMU_P_SEEK_FULL], avg);
	u64 distance = from > to ? from - to : to - from;
	u64 one = 1ULL << EMU_FRACTION_BITS, x;

	if (distance < emu_hdd_spt(&m->hdd, from))
		return 0;
	x = emu_hdd_fraction(m, distance);
	if (x <= one)
		return track + ((avg - track) * emu_isqrt(x << EMU_FRACTION_BITS)
				>> EMU_FRACTION_BITS);
	return avg + ((full - avg) * (x - one) / 2 >> EMU_FRACTION_BITS);
}

/**
 * emu_hdd_position - seek and rotational delay of an access
 * @m: the model
 * @sector: first sector
 * @write: whether the head must settle for writing
 * @now: when the arm may leave, ns
 *
 * Return: ns until the first sector is under the head.
 */
u64 emu_hdd_position(const struct emu_model *m, u64 sector, bool write, u64 now)
{
	const struct emu_hdd *h = &m->hdd;
	u64 seek = emu_hdd_seek(m, h->head, sector), spt = emu_hdd_spt(h, sector);
	u64 angle, at, wait;

	if (seek && write)
		seek += m->p[EMU_P_SETTLE];
	angle = sector % spt * h->rev_ns / spt;
	at = (now + seek) % h->rev_ns;
	wait = angle >= at ? angle - at : angle + h->rev_ns - at;
	if (wait + EMU_ANGLE_SLACK >= h->rev_ns)
		wait = 0;
	return seek + wait;
}

/* how far the head has read ahead */
static u64 emu_hdd_buffered(const struct emu_model *m, u64 now)
{
	const struct emu_hdd *h = &m->hdd;
	u64 end = h->buf_end, limit = h->buf_start + (m->p[EMU_P_BUFFER] >> 9);

	if (h->prefetching && now > h->buf_time)
		end += (now - h->buf_time) * emu_hdd_spt(h, h->buf_end) / h->rev_ns;
	return max_t(u64, h->buf_end, min_t(u64, end, min_t(u64, limit, m->sectors)));
}

static bool emu_hdd_hit(const struct emu_model *m, const struct emu_req *req, u64 now)
{
	return m->p[EMU_P_BUFFER] && req->op == EMU_READ && req->sector >= m->hdd.buf_start &&
	       req->sector + req->sectors <= emu_hdd_buffered(m, now);
}

static bool emu_hdd_streams(const struct emu_model *m, const struct emu_req *req, u64 now)
{
	const struct emu_hdd *h = &m->hdd;

	return h->prefetching && req->op == EMU_READ && req->sector >= h->buf_start &&
	       req->sector <= emu_hdd_buffered(m, now);
}

static void emu_hdd_stop_prefetch(struct emu_model *m, u64 now)
{
	struct emu_hdd *h = &m->hdd;

	h->buf_end = emu_hdd_buffered(m, now);
	h->buf_time = now;
	h->prefetching = false;
}

/* The next sectors of a stream: the head is on its way there already. */
static u64 emu_hdd_stream(struct emu_model *m, const struct emu_req *req, u64 now)
{
	struct emu_hdd *h = &m->hdd;
	u64 end = req->sector + req->sectors, have = emu_hdd_buffered(m, now);
	u64 room = max_t(u64, m->p[EMU_P_BUFFER] >> 10, req->sectors);

	h->buf_end = end;
	h->buf_time = now + emu_hdd_media(h, have, end - have);
	h->buf_start = max_t(u64, h->buf_start, end - min_t(u64, end, room));
	return h->buf_time;
}

static u64 emu_hdd_access(struct emu_model *m, u64 sector, u32 sectors, bool write, u64 now)
{
	struct emu_hdd *h = &m->hdd;
	u64 fin;

	emu_hdd_stop_prefetch(m, now);
	fin = now + emu_hdd_position(m, sector, write, now) + emu_hdd_media(h, sector, sectors);
	h->head = sector + sectors;
	if (!write && m->p[EMU_P_BUFFER]) {
		h->buf_start = sector;
		h->buf_end = sector + sectors;
		h->buf_time = fin;
		h->prefetching = true;
	}
	return fin;
}

static u64 emu_hdd_cost(const struct emu_model *m, const struct emu_req *req, u64 now)
{
	if (emu_hdd_streams(m, req, now))
		return 0;
	return emu_hdd_position(m, req->sector, req->op == EMU_WRITE, now);
}

/* distance upwards, wrapping at the end */
static u64 emu_hdd_upwards(const struct emu_model *m, u64 sector)
{
	return sector >= m->hdd.head ? sector - m->hdd.head : sector + m->sectors - m->hdd.head;
}

static struct emu_req *emu_hdd_pick(struct emu_model *m, u64 now)
{
	struct emu_hdd *h = &m->hdd;
	u64 elevator = m->p[EMU_P_ELEVATOR], best_cost = U64_MAX, cost, n = 0;
	struct emu_req *req, *best = NULL;

	if (list_empty(&h->queue))
		return NULL;
	req = list_first_entry(&h->queue, struct emu_req, node);
	if (elevator == EMU_FIFO || (m->p[EMU_P_STARVE] && now - req->arrive > m->p[EMU_P_STARVE]))
		return req;
	list_for_each_entry(req, &h->queue, node) {
		cost = elevator == EMU_SPTF ? emu_hdd_cost(m, req, now) :
					      emu_hdd_upwards(m, req->sector);
		if (cost < best_cost) {
			best_cost = cost;
			best = req;
		}
		if (++n >= m->p[EMU_P_QD])
			break;
	}
	return best;
}

static u32 emu_hdd_pick_dirty(const struct emu_model *m, u64 *cost)
{
	const struct emu_hdd *h = &m->hdd;
	u32 i, best = 0;
	u64 upwards;

	*cost = U64_MAX;
	for (i = 0; i < h->nr_dirty; i++) {
		upwards = emu_hdd_upwards(m, h->dirty[i].sector);
		if (upwards < *cost) {
			*cost = upwards;
			best = i;
		}
	}
	return best;
}

static bool emu_hdd_must_destage(const struct emu_model *m)
{
	return m->hdd.dirty_bytes > m->p[EMU_P_WCACHE] / 4 * 3 ||
	       m->hdd.nr_dirty > EMU_MAX_DIRTY / 4 * 3 || !list_empty(&m->hdd.flushes);
}

static void emu_hdd_destage(struct emu_model *m, u64 now)
{
	struct emu_hdd *h = &m->hdd;
	struct emu_dirty *d;
	u64 cost;

	h->destage_at = emu_hdd_pick_dirty(m, &cost);
	d = &h->dirty[h->destage_at];
	h->fin = emu_hdd_access(m, d->sector, d->sectors, true, now);
	h->busy = true;
	h->destaging = true;
}

static void emu_hdd_serve(struct emu_model *m, struct emu_req *req, u64 now)
{
	struct emu_hdd *h = &m->hdd;
	u64 start = now + m->p[EMU_P_CMD];

	list_del(&req->node);
	if (emu_hdd_streams(m, req, now))
		h->fin = max_t(u64, emu_hdd_stream(m, req, now), start);
	else
		h->fin = emu_hdd_access(m, req->sector, req->sectors, req->op == EMU_WRITE, start);
	h->fin = max_t(u64, h->fin, emu_link(m, req->sectors, now));
	h->head = req->sector + req->sectors;
	h->cur = req;
	h->busy = true;
	h->destaging = false;
}

static void emu_hdd_next(struct emu_model *m, u64 now)
{
	struct emu_hdd *h = &m->hdd;
	struct emu_req *req;

	h->busy = false;
	h->cur = NULL;
	for (;;) {
		req = emu_hdd_pick(m, now);
		if (!req || (h->nr_dirty && emu_hdd_must_destage(m)))
			break;
		if (!emu_hdd_hit(m, req, now)) {
			emu_hdd_serve(m, req, now);
			return;
		}
		list_del(&req->node);
		emu_model_finish(m, req, emu_link(m, req->sectors, now) + m->p[EMU_P_CMD]);
	}
	if (h->nr_dirty)
		emu_hdd_destage(m, now);
}

static void emu_hdd_end_flushes(struct emu_model *m, u64 now)
{
	struct emu_req *req, *next;
	u64 oldest = U64_MAX;
	u32 i;

	for (i = 0; i < m->hdd.nr_dirty; i++)
		oldest = min_t(u64, oldest, m->hdd.dirty[i].id);
	list_for_each_entry_safe(req, next, &m->hdd.flushes, node) {
		/* done holds the newest cache entry that the flush covers */
		if (req->done >= oldest)
			continue;
		list_del(&req->node);
		emu_model_finish(m, req, now + m->p[EMU_P_FLUSH]);
	}
}

static void emu_hdd_destaged(struct emu_model *m, u64 now)
{
	struct emu_hdd *h = &m->hdd;

	h->dirty_bytes -= (u64)h->dirty[h->destage_at].sectors << 9;
	h->dirty[h->destage_at] = h->dirty[--h->nr_dirty];
	h->destaging = false;
	if (!list_empty(&h->flushes))
		emu_hdd_end_flushes(m, now);
}

void emu_hdd_advance(struct emu_model *m, u64 now)
{
	struct emu_hdd *h = &m->hdd;

	while (h->busy && h->fin <= now) {
		u64 fin = h->fin;

		if (h->destaging)
			emu_hdd_destaged(m, fin);
		else
			emu_model_finish(m, h->cur, fin);
		emu_hdd_next(m, fin);
	}
}

/* Only the newest entries are looked at: that is where a stream goes on. */
static bool emu_hdd_extend(struct emu_hdd *h, const struct emu_req *req)
{
	u32 i;

	for (i = h->nr_dirty; i > 0 && h->nr_dirty - i < 4; i--) {
		struct emu_dirty *d = &h->dirty[i - 1];

		if (d->sector + d->sectors != req->sector || d->sectors >= 8192 ||
		    (h->destaging && h->destage_at == i - 1))
			continue;
		d->sectors += req->sectors;
		return true;
	}
	return false;
}

static bool emu_hdd_cache(struct emu_model *m, struct emu_req *req, u64 now)
{
	struct emu_hdd *h = &m->hdd;
	u64 bytes = (u64)req->sectors << 9;

	if (req->op != EMU_WRITE || req->fua || h->dirty_bytes + bytes > m->p[EMU_P_WCACHE])
		return false;
	if (!emu_hdd_extend(h, req)) {
		if (h->nr_dirty == EMU_MAX_DIRTY)
			return false;
		h->dirty[h->nr_dirty++] = (struct emu_dirty){
			.sector = req->sector, .sectors = req->sectors, .id = ++h->dirty_id };
	}
	h->dirty_bytes += bytes;
	emu_model_finish(m, req, emu_link(m, req->sectors, now) + m->p[EMU_P_CMD]);
	return true;
}

void emu_hdd_submit(struct emu_model *m, struct emu_req *req, u64 now)
{
	struct emu_hdd *h = &m->hdd;

	emu_hdd_advance(m, now);
	if (req->op == EMU_FLUSH && h->nr_dirty) {
		req->done = h->dirty_id;
		list_add_tail(&req->node, &h->flushes);
	} else if (req->op == EMU_FLUSH) {
		emu_model_finish(m, req, now + m->p[EMU_P_FLUSH]);
	} else if (req->op != EMU_READ && req->op != EMU_WRITE) {
		emu_model_finish(m, req, now + m->p[EMU_P_DISCARD]);
	} else if (emu_hdd_hit(m, req, now)) {
		emu_model_finish(m, req, emu_link(m, req->sectors, now) + m->p[EMU_P_CMD]);
	} else if (!emu_hdd_cache(m, req, now)) {
		list_add_tail(&req->node, &h->queue);
	}
	if (!h->busy)
		emu_hdd_next(m, now);
}

void emu_hdd_drain(struct emu_model *m, struct list_head *out)
{
	struct emu_hdd *h = &m->hdd;

	list_splice_tail_init(&h->queue, out);
	list_splice_tail_init(&h->flushes, out);
	if (h->cur)
		list_add_tail(&h->cur->node, out);
	h->cur = NULL;
	h->busy = false;
	h->destaging = false;
	h->prefetching = false;
	h->buf_start = 0;
	h->buf_end = 0;
	h->nr_dirty = 0;
	h->dirty_bytes = 0;
}
