// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: simple SSD
 *
 * A command costs the controller `cmd`, one at a time. Its data crosses the shared interface and is
 * spread over the channels in pieces of at least `chunk`; a piece takes the channel that is free
 * first and keeps it for the latency plus its bytes at the channel's share of read_bw or write_bw.
 * With a buffer of `wbuf` a write is answered after write_lat, unless channels are further behind
 * than the buffer holds; they are busy with its bytes afterwards, and reads wait for them.
 * A small write that goes on with no stream seen lately pays `rw_penalty`, one at a time for the
 * whole device, as drives with a block map do when they merge. 0 channels means no queueing at all.
 */
#include "model.h"

static void emu_heap_sift(u64 *heap, u32 n)
{
	u32 i = 0, child;
	u64 value = heap[0];

	while ((child = 2 * i + 1) < n) {
		if (child + 1 < n && heap[child + 1] < heap[child])
			child++;
		if (heap[child] >= value)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = value;
}

void emu_ssd_retune(struct emu_model *m)
{
	struct emu_ssd *s = &m->ssd;
	u32 channels = m->p[EMU_P_CHANNELS], i;
	u64 latest = 0;

	if (channels == s->channels)
		return;
	for (i = 0; i < s->channels; i++)
		latest = max_t(u64, latest, s->chan_free[i]);
	for (i = 0; i < channels; i++)
		s->chan_free[i] = latest;
	s->channels = channels;
}

/* 100% +- jitter, as a multiplier in 1/65536 */
static u64 emu_ssd_vary(struct emu_model *m, u64 ns)
{
	u64 jitter = m->p[EMU_P_JITTER], factor;

	if (!jitter)
		return ns;
	factor = 65536 - jitter * 655 + (emu_random(&m->rng) & 0xffff) * jitter / 50;
	return ns * factor >> 16;
}

static u64 emu_ssd_channels(struct emu_model *m, u64 bytes, u64 latency, u64 rate, u64 start)
{
	struct emu_ssd *s = &m->ssd;
	u64 chunk = m->p[EMU_P_CHUNK], piece, done = start;

	if (!s->channels)
		return start + latency + emu_transfer(bytes, rate);
	piece = (bytes + s->channels - 1) / s->channels;
	piece = (piece + chunk - 1) / chunk * chunk;
	while (bytes) {
		u64 len = min_t(u64, piece, bytes), free;

		free = max_t(u64, s->chan_free[0], start) + latency +
		       emu_transfer(len * s->channels, rate);
		s->chan_free[0] = free;
		emu_heap_sift(s->chan_free, s->channels);
		done = max_t(u64, done, free);
		bytes -= len;
	}
	return done;
}

static bool emu_ssd_sequential(struct emu_ssd *s, const struct emu_req *req)
{
	u32 i;

	for (i = 0; i < EMU_MAX_STREAMS; i++) {
		if (s->stream[i] == req->sector) {
			s->stream[i] = req->sector + req->sectors;
			return true;
		}
	}
	s->stream[s->stream_next++ % EMU_MAX_STREAMS] = req->sector + req->sectors;
	return false;
}

static u64 emu_ssd_write(struct emu_model *m, struct emu_req *req, u64 start)
{
	struct emu_ssd *s = &m->ssd;
	u64 bytes = (u64)req->sectors << 9, wbuf = m->p[EMU_P_WBUF], latency, held, done;
	bool sequential = emu_ssd_sequential(s, req);

	start = max_t(u64, start, emu_link(m, req->sectors, start));
	if (m->p[EMU_P_RW_PENALTY] && !sequential && bytes < m->p[EMU_P_RW_SIZE]) {
		s->penalty_free = max_t(u64, s->penalty_free, start) +
				  emu_ssd_vary(m, m->p[EMU_P_RW_PENALTY]);
		start = s->penalty_free;
		wbuf = 0;	/* a merge is of what the flash has */
	}
	latency = emu_ssd_vary(m, m->p[EMU_P_WRITE_LAT]);
	done = emu_ssd_channels(m, bytes, wbuf ? 0 : latency, m->p[EMU_P_WRITE_BW], start);
	s->last_write_done = max_t(u64, s->last_write_done, done);
	if (!wbuf || req->fua)
		return max_t(u64, done, start + latency);
	held = emu_transfer(wbuf, m->p[EMU_P_WRITE_BW]);
	return max_t(u64, start + latency, done > held ? done - held : 0);
}

static u64 emu_ssd_read(struct emu_model *m, struct emu_req *req, u64 start)
{
	u64 bytes = (u64)req->sectors << 9;
	u64 link = emu_link(m, req->sectors, start);
	u64 ready = emu_ssd_channels(m, bytes, emu_ssd_vary(m, m->p[EMU_P_READ_LAT]),
				     m->p[EMU_P_READ_BW], start);

	/* the last piece crosses the interface after it was read, the others meanwhile */
	return max_t(u64, ready + emu_transfer(min_t(u64, bytes, m->p[EMU_P_CHUNK]),
					    m->p[EMU_P_LINK_BW]), link);
}

void emu_ssd_submit(struct emu_model *m, struct emu_req *req, u64 now)
{
	struct emu_ssd *s = &m->ssd;
	u64 start = max_t(u64, now, s->cmd_free) + m->p[EMU_P_CMD];

	s->cmd_free = start;
	switch (req->op) {
	case EMU_READ:
		start = emu_ssd_read(m, req, start);
		break;
	case EMU_WRITE:
		start = emu_ssd_write(m, req, start);
		break;
	case EMU_FLUSH:
		start = max_t(u64, start, s->last_write_done) + m->p[EMU_P_FLUSH];
		break;
	default:
		start += m->p[EMU_P_DISCARD];
		break;
	}
	emu_model_finish(m, req, start);
}

/* What was booked for the requests is not done. Nor does the drive remember its streams. */
void emu_ssd_drain(struct emu_model *m)
{
	u32 channels = m->ssd.channels;

	memset(&m->ssd, 0, sizeof(m->ssd));
	m->ssd.channels = channels;
}
