// SPDX-License-Identifier: GPL-2.0-only
#include "shim/shim.h"
#include "ktap.h"
#include "media.h"

#define SECTORS	8u

static const u8 zeroes[EK_BLOCK_SIZE];

static struct media_block *block_get(struct media_block *b)
{
	if (b)
		b->ref++;
	return b;
}

static void block_put(struct media_block *b)
{
	if (b && !--b->ref)
		free(b);
}

static struct media_block *block_new(const void *data)
{
	struct media_block *b = malloc(sizeof(*b));

	b->ref = 1;
	memcpy(b->data, data, EK_BLOCK_SIZE);
	return b;
}

struct media *media_new(unsigned int nr, u64 bytes)
{
	struct media *m = calloc(1, sizeof(*m));
	unsigned int area;

	m->nr = nr;
	m->nr_blocks = bytes / EK_BLOCK_SIZE;
	for (area = 0; area < nr; area++)
		m->durable[area] = calloc(m->nr_blocks, sizeof(struct media_block *));
	return m;
}

void media_free(struct media *m)
{
	unsigned int area, i;

	for (area = 0; area < m->nr; area++) {
		for (i = 0; i < m->nr_blocks; i++)
			block_put(m->durable[area][i]);
		free(m->durable[area]);
	}
	for (i = 0; i < m->nr_pending; i++)
		block_put(m->pending[i].data);
	free(m->pending);
	free(m);
}

static void make_durable(struct media *m, const struct media_write *w)
{
	struct media_block **slot = &m->durable[w->area][w->block];

	block_put(*slot);
	*slot = block_get(w->data);
}

/* Write only the sectors in @mask. */
static void make_durable_sectors(struct media *m, const struct media_write *w, unsigned int mask)
{
	struct media_block **slot = &m->durable[w->area][w->block], *b;
	unsigned int s;

	if (!mask)
		return;
	b = block_new(*slot ? (*slot)->data : zeroes);
	for (s = 0; s < SECTORS; s++)
		if (mask & 1u << s)
			memcpy(b->data + s * 512, w->data->data + s * 512, 512);
	block_put(*slot);
	*slot = b;
}

/* Move what @pick says from the cache to the media. */
static void settle(struct media *m, unsigned int area, bool (*pick)(const struct media_write *))
{
	unsigned int i, n = 0;

	for (i = 0; i < m->nr_pending; i++) {
		struct media_write *w = &m->pending[i];

		if (w->area == area && pick(w)) {
			make_durable(m, w);
			block_put(w->data);
		} else {
			m->pending[n++] = *w;
		}
	}
	m->nr_pending = n;
}

static bool pick_completed(const struct media_write *w)
{
	return w->completed;
}

static bool pick_fua(const struct media_write *w)
{
	return w->completed && w->fua;
}

static void event(struct media *m)
{
	if (m->hook)
		m->hook(m);
}

/* Before the flush that is about to begin. */
static void drop(struct media *m, unsigned int area)
{
	u64 nr = ++m->flushes[area];
	unsigned int i, n = 0;

	if (!m->drop_at[area] || nr < m->drop_at[area] || nr >= m->drop_at[area] + m->drops[area])
		return;
	if (m->drop == DROP_KNOWN)
		m->lost[area].known++;
	m->lost[area].likely++;
	for (i = 0; i < m->nr_pending && m->drop != DROP_NOTHING; i++) {
		struct media_write *w = &m->pending[i];

		if (w->area == area && w->completed)
			block_put(w->data);
		else
			m->pending[n++] = *w;
	}
	if (m->drop != DROP_NOTHING)
		m->nr_pending = n;
	event(m);
}

static bool fails(struct media *m, unsigned int area)
{
	m->writes[area]++;
	return m->fail_at[area] && (m->writes[area] == m->fail_at[area] ||
				    (m->fail_on[area] && m->writes[area] > m->fail_at[area]));
}

static int media_read(void *ctx, unsigned int area, u64 offset, void *buf, size_t len)
{
	struct media *m = ctx;
	unsigned int i;
	u32 block = offset / EK_BLOCK_SIZE;

	CHECK(area < m->nr && !(offset % EK_BLOCK_SIZE) && !(len % EK_BLOCK_SIZE) && len);
	CHECK(offset / EK_BLOCK_SIZE + len / EK_BLOCK_SIZE <= m->nr_blocks, "read past the end");
	if (ktap_failing())
		return -EIO;
	if (m->unreadable && m->unreadable(area, offset, len)) {
		m->read_errors[area]++;
		return -EIO;
	}
	for (; len; len -= EK_BLOCK_SIZE, buf += EK_BLOCK_SIZE, block++) {
		const struct media_block *b = m->durable[area][block];

		for (i = 0; i < m->nr_pending; i++)
			if (m->pending[i].area == area && m->pending[i].block == block)
				b = m->pending[i].data;
		memcpy(buf, b ? b->data : zeroes, EK_BLOCK_SIZE);
	}
	return 0;
}

static int media_flush(void *ctx, unsigned int area)
{
	struct media *m = ctx;

	if (fails(m, area))
		return -EIO;
	drop(m, area);
	settle(m, area, pick_completed);
	event(m);
	return 0;
}

static void media_losses(void *ctx, unsigned int area, struct ek_losses *losses)
{
	const struct media *m = ctx;

	*losses = m->lost[area];
}

static void fail_write(struct media *m, unsigned int area, u32 block, const u8 *buf, size_t len)
{
	size_t n = m->fate == FATE_LOST ? 0 : m->fate == FATE_TORN ? len / 2 : len;

	for (; n; block++, buf += EK_BLOCK_SIZE) {
		struct media_write w = { .area = area, .block = block, .data = block_new(buf) };
		size_t part = n < EK_BLOCK_SIZE ? n : EK_BLOCK_SIZE;

		make_durable_sectors(m, &w, (1u << part / 512) - 1);
		block_put(w.data);
		n -= part;
	}
	m->error[area] = true;
}

static int media_write(void *ctx, unsigned int area, u64 offset, const void *buf, size_t len,
		       unsigned int flags)
{
	struct media *m = ctx;
	u32 block = offset / EK_BLOCK_SIZE;
	bool fail;

	CHECK(area < m->nr && !(offset % EK_BLOCK_SIZE) && !(len % EK_BLOCK_SIZE) && len);
	CHECK(offset >= EK_AREA_HEAD_BYTES, "the label's MiB is written to");
	CHECK(offset / EK_BLOCK_SIZE + len / EK_BLOCK_SIZE < m->nr_blocks,
	      "the label's copy is written to");
	CHECK(!((uintptr_t)buf % EK_BLOCK_SIZE), "buffers are page aligned");
	if (ktap_failing())
		return -EIO;
	fail = fails(m, area);
	/* Not even a write that fails gets to the media ahead of its flush. */
	if (flags & EK_IO_PREFLUSH && !(fail && m->fate == FATE_LOST)) {
		drop(m, area);
		settle(m, area, pick_completed);
		event(m);
	}
	if (fail) {
		fail_write(m, area, block, buf, len);
		/* Some fail at once, some later. */
		return m->writes[area] % 2 ? -EIO : 0;
	}
	for (; len; len -= EK_BLOCK_SIZE, buf += EK_BLOCK_SIZE, block++) {
		if (m->nr_pending == m->max_pending) {
			m->max_pending = m->max_pending * 2 + 16;
			m->pending = realloc(m->pending, m->max_pending * sizeof(*m->pending));
		}
		m->pending[m->nr_pending++] = (struct media_write) {
			.area = area, .block = block, .data = block_new(buf),
			.fua = flags & EK_IO_FUA,
		};
	}
	event(m);
	return 0;
}

static int media_wait(void *ctx, unsigned int area)
{
	struct media *m = ctx;
	bool error = m->error[area], fua = false;
	unsigned int i;

	m->error[area] = false;
	for (i = 0; i < m->nr_pending; i++)
		if (m->pending[i].area == area) {
			m->pending[i].completed = true;
			fua |= m->pending[i].fua;
		}
	if (fua)
		drop(m, area);
	settle(m, area, pick_fua);
	if (fua)
		event(m);
	return error ? -EIO : 0;
}

/* Nobody else sends flushes any more. */
static void media_quiesce(void *ctx)
{
	struct media *m = ctx;
	unsigned int area;

	m->quiesced++;
	for (area = 0; m->obeys && area < m->nr; area++)
		m->drop_at[area] = 0;
}

const struct ek_store_io media_io = {
	.read = media_read, .write = media_write, .wait = media_wait, .flush = media_flush,
	.losses = media_losses, .quiesce = media_quiesce,
};

const struct ek_store_io media_io_readonly = {
	.read = media_read,
};

static unsigned int keep(const struct media *m, unsigned int i, unsigned int how)
{
	const unsigned int all = (1u << SECTORS) - 1;
	u64 r;

	switch (how) {
	case CRASH_NONE:
		return 0;
	case CRASH_ALL:
		return all;
	case CRASH_FIRST:
		return m->pending[i].area == 0 ? all : 0;
	case CRASH_SECOND:
		return m->pending[i].area == 1 ? all : 0;
	case CRASH_RANDOM:
		r = get_random_u64();
		return r % 4 == 0 ? 0 : r % 4 == 1 ? all : (r >> 8) & all;
	default:
		return i + 1 < m->nr_pending ? all : (1u << (how - CRASH_TORN)) - 1;
	}
}

struct media *media_crash(const struct media *m, unsigned int how)
{
	struct media *c = media_new(m->nr, (u64)m->nr_blocks * EK_BLOCK_SIZE);
	unsigned int area, i;

	for (area = 0; area < m->nr; area++)
		for (i = 0; i < m->nr_blocks; i++)
			c->durable[area][i] = block_get(m->durable[area][i]);
	if (how == CRASH_WARM) {
		c->pending = calloc(m->nr_pending + 1, sizeof(*c->pending));
		c->nr_pending = m->nr_pending;
		c->max_pending = m->nr_pending + 1;
		for (i = 0; i < m->nr_pending; i++) {
			c->pending[i] = m->pending[i];
			block_get(c->pending[i].data);
			c->pending[i].completed = true;
			c->pending[i].fua = false;
		}
		return c;
	}
	for (i = 0; i < m->nr_pending; i++)
		make_durable_sectors(c, &m->pending[i], keep(m, i, how));
	return c;
}

u8 *media_poke(struct media *m, unsigned int area, u64 offset)
{
	struct media_block **slot = &m->durable[area][offset / EK_BLOCK_SIZE];
	struct media_block *b = block_new(*slot ? (*slot)->data : zeroes);

	block_put(*slot);
	*slot = b;
	return b->data + offset % EK_BLOCK_SIZE;
}

void media_put_area(struct media *m, unsigned int to, const struct media *other, unsigned int from)
{
	unsigned int i;

	for (i = 0; i < m->nr_blocks; i++) {
		block_put(m->durable[to][i]);
		m->durable[to][i] = block_get(other->durable[from][i]);
	}
}

void media_blank_area(struct media *m, unsigned int area)
{
	unsigned int i;

	for (i = 0; i < m->nr_blocks; i++) {
		block_put(m->durable[area][i]);
		m->durable[area][i] = NULL;
	}
}
