// SPDX-License-Identifier: GPL-2.0-only
/*
 * Both segments of a tiny nameless SSD under requests, migrations, acknowledgements, cuts and failures as the input
 * says: the virtual one against the model of tests/unit/nameless/rig.h, the blocks against what their client wrote.
 * Five bytes say what it is made of, then three each are a request.
 */
#include <string.h>

#include "stream.h"
#include "names.h"

#define BLOCKS	20u
#define QUEUE	16u
#define HEAD	5u

enum { PUT, PUT_TOO, FREE, LOOK, FORGE, LISTEN, TAKE, COMMON, NR = COMMON + STREAM_NR };

/* @maybe: what a cut may have left instead, 0: it may be gone; @open: one of these */
struct block {
	bool there, open;
	struct nl_name name;
	uint32_t version, maybe;
};

struct client {
	struct rig rig;
	struct block block[BLOCKS];
	uint32_t version;
	struct nl_move queue[QUEUE];
	unsigned int first, nr;
};

static struct nl_io now(struct client *c)
{
	return (struct nl_io){ .now = c->rig.now += 100000 };
}

static struct nl_meta meta_of(uint32_t at)
{
	return (struct nl_meta){ { at, 7, 0 } };
}

static int look(struct client *c, const struct nl_name *name, uint32_t *version)
{
	struct nl_io io = now(c);
	struct nl_buf *buf = NULL;
	int r = nl_name_read(c->rig.ftl, name, &buf, &io);

	if (r)
		return r;
	MUST(buf);
	*version = ((uint32_t *)nl_buf_data(buf))[1];
	MUST(((uint32_t *)nl_buf_data(buf))[0] == name->meta.word[0]);
	nl_buf_put(buf);
	return 0;
}

/* An error or nothing; a cut leaves it open whether it was done. */
static int put(struct client *c, uint32_t at)
{
	struct block *b = &c->block[at];
	struct nl_meta meta = meta_of(at);
	struct nl_io io = now(c);
	struct nl_buf *buf = nl_buf_alloc(512, false);
	uint32_t version = ++c->version, ppn = 0;
	int r;

	memset(nl_buf_data(buf), version, 512);
	((uint32_t *)nl_buf_data(buf))[0] = at;
	((uint32_t *)nl_buf_data(buf))[1] = version;
	r = nl_name_write(c->rig.ftl, b->there ? &b->name : NULL, &meta, buf, &ppn, &io);
	nl_buf_put(buf);
	if (!r)
		*b = (struct block){ .there = true, .name = { .ppn = ppn, .meta = meta }, .version = version };
	b->open = r == -ESHUTDOWN;
	b->maybe = version;
	return r == -ENOSPC ? 0 : r;
}

static int drop(struct client *c, uint32_t at)
{
	struct block *b = &c->block[at];
	struct nl_io io = now(c);
	int r = b->there ? nl_name_free(c->rig.ftl, &b->name, &io) : 0;

	if (!r)
		b->there = false;
	b->open = r == -ESHUTDOWN;
	b->maybe = 0;
	return r;
}

static int right(struct client *c, uint32_t at)
{
	uint32_t version = 0;
	int r = c->block[at].there ? look(c, &c->block[at].name, &version) : 0;

	MUST(!c->block[at].there || r || version == c->block[at].version, "block %u is %u, not %u", at, version,
	     c->block[at].version);
	return r;
}

static int forge(struct client *c, uint32_t at, uint8_t how)
{
	struct nl_name name = { .ppn = how, .meta = meta_of(at) };
	struct nl_io io = now(c);

	name.meta.word[2] = 1;
	MUST(nl_name_free(c->rig.ftl, &name, &io) < 0);
	return c->rig.flash.off ? -ESHUTDOWN : 0;
}

static void listen(struct client *c, unsigned int most)
{
	struct nl_move move;

	while (most-- && c->nr < QUEUE && nl_name_moves(c->rig.ftl, &move, 1) == 1)
		c->queue[(c->first + c->nr++) % QUEUE] = move;
}

/* The oldest that was told, however long ago. */
static void take(struct client *c, bool acknowledge)
{
	struct nl_move *move = &c->queue[c->first];
	struct block *b = &c->block[move->meta.word[0] % BLOCKS];

	if (!c->nr)
		return;
	MUST(move->meta.word[0] < BLOCKS);
	if (!acknowledge) {	/* it goes on with the old name, and is told again some time */
		nl_name_untell(c->rig.ftl, move);
	} else {
		if (b->there && b->name.ppn == move->from)
			b->name.ppn = move->to;
		MUST(!nl_name_acknowledge(c->rig.ftl, move->from, &move->meta));
	}
	c->first = (c->first + 1) % QUEUE;
	c->nr--;
}

/* Every valid block is one that may be, once, and all that have to be are there, by their old names, too. */
static void enumerate(struct client *c)
{
	bool seen[BLOCKS] = { 0 };
	struct nl_name names[3];
	uint32_t from = 0, version, i;
	struct nl_io io;
	int n, k;

	do {
		io = now(c);
		n = nl_name_list(c->rig.ftl, &from, names, 3, &io);
		MUST(n >= 0, "%d", n);
		for (k = 0; k < n; k++) {
			struct block *b = &c->block[names[k].meta.word[0] % BLOCKS];

			MUST(names[k].meta.word[0] < BLOCKS && !seen[names[k].meta.word[0]]);
			seen[names[k].meta.word[0]] = true;
			MUST(!look(c, &names[k], &version));
			MUST((b->there && version == b->version) || (b->open && version == b->maybe), "version %u", version);
			*b = (struct block){ .there = true, .name = names[k], .version = version };
		}
	} while (n > 0);
	for (i = 0; i < BLOCKS; i++) {
		struct block *b = &c->block[i];

		MUST(seen[i] || !b->there || (b->open && !b->maybe), "block %u is missing", i);
		b->there = seen[i];
		b->open = false;
	}
}

static void crash(struct client *c)
{
	uint32_t i;

	MUST(rig_crash(&c->rig));
	for (i = 0; i < BLOCKS; i++)
		if (!c->block[i].open)
			MUST(!right(c, i));
	c->nr = 0;
	nl_name_replay(c->rig.ftl);
	enumerate(c);
}

/* There may be no space for a page that has none. */
static int common(struct client *c, u32 op, const uint8_t *in)
{
	int r = stream_request(&c->rig, op - COMMON, in);

	return r == -ENOSPC && op == COMMON + STREAM_WRITE ? 0 : r;
}

static int request(struct client *c, const uint8_t *in)
{
	uint32_t at = in[1] % BLOCKS;

	switch (in[0] % NR) {
	case PUT:
	case PUT_TOO:
		return put(c, at);
	case FREE:
		return drop(c, at);
	case LOOK:
		return right(c, at);
	case FORGE:
		return forge(c, at, in[2]);
	case LISTEN:
		listen(c, in[2] % 8);
		return 0;
	case TAKE:
		take(c, in[2] % 4);
		return 0;
	default:
		return common(c, in[0] % NR, in);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nl_config config;
	struct client c;
	size_t i;
	int r = 0;

	if (size < HEAD)
		return 0;
	memset(&c, 0, sizeof(c));
	config = stream_config(NL_FTL_NAMELESS, data[0] % 3, 1 + data[2] % 6, data);
	config.p[NL_P_ENDURANCE] = 1000;
	config.p[NL_P_WEAR] = data[3] & 0x40 ? 1000 : 900;
	config.p[NL_P_MOVES] = data[4] % 32;
	config.p[NL_P_TRUST] = data[4] / 32 & 1;
	rig_init(&c.rig, &config, STREAM_PAGES, 1);
	MUST(!rig_open(&c.rig));
	for (i = HEAD; i + STREAM_BYTES <= size && r != -EROFS; i += STREAM_BYTES) {
		r = request(&c, &data[i]);
		stream_result(r);
		if (r == -ESHUTDOWN)
			crash(&c);
		else
			MUST(rig_check(&c.rig));
	}
	crash(&c);
	rig_destroy(&c.rig);
	return 0;
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	size_t size = stream_corpus(nr, 9, HEAD, NR, COMMON + STREAM_CUT, PUT, data);

	data[0] = nr % 3;
	return size;
}
