// SPDX-License-Identifier: GPL-2.0-only
/*
 * The nameless FTL's physical segment against a client that knows what it wrote: names, stale and
 * forged ones, migrations that are acknowledged late or never, cuts at every operation.
 */
#include <time.h>
#include <linux/crc32c.h>
#include <linux/slab.h>
#include "ktap.h"
#include "nameless/rig.h"
#include "battery.h"
#include "ftl_internal.h"
#include "ftl_nameless.h"
#include "names.h"

#define BLOCKS	24u		/* that the client may have */
#define DEAD	32u		/* names that it remembers and has no more */
#define QUEUE	12u		/* migrations that it was told of, and did not look at */
#define FORGED	99u		/* in a word of metadata: never written */

struct block {
	bool there;
	struct nl_name name;
	u32 version;
};

enum doing { NOTHING, WRITING, OVERWRITING, FREEING };

/**
 * struct client - what should be on the device
 * @rig: the device, and a model of some pages of its virtual segment
 * @blocks: of the physical one
 * @virtual: pages of the virtual one that are used
 * @dead: names that are no more
 * @doing: what a cut may have interrupted, to @block, which would have become @version
 * @acks: of 8 migrations that are handed out, so many are acknowledged
 * @queue: those that were handed out, and come later
 */
struct client {
	struct rig rig;
	struct block block[BLOCKS];
	u32 blocks;
	u32 virtual;
	struct nl_name dead[DEAD];
	u32 nr_dead;
	enum doing doing;
	u32 at;
	u32 version;
	u32 acks;
	struct nl_move queue[QUEUE];
	u32 nr_queue;
	u64 moved, acked, refused, adopted;
};

static u64 moved, acked, refused, adopted, crashes;

static void client_init(struct client *c, const struct nl_config *config, u32 blocks, u32 virtual,
			u64 seed)
{
	memset(c, 0, sizeof(*c));
	rig_init(&c->rig, config, blocks + virtual, seed);
	c->blocks = blocks;
	c->virtual = virtual;
	c->acks = seed % 9;
	CHECK(!rig_open(&c->rig));
}

static void client_destroy(struct client *c)
{
	moved += c->moved;
	acked += c->acked;
	refused += c->refused;
	adopted += c->adopted;
	rig_destroy(&c->rig);
}

static struct nl_meta meta_of(u32 block)
{
	return (struct nl_meta){ { block, 0x1234567890abcdefULL, 0 } };
}

static struct nl_io now(struct client *c)
{
	return (struct nl_io){ .now = c->rig.now += 100000 };
}

static struct nl_buf *content(struct client *c, u32 block, u32 version)
{
	struct nl_buf *buf = nl_buf_alloc(c->rig.config.p[NL_P_PAGE_SIZE], false);
	u32 *word = nl_buf_data(buf);

	memset(word, version, c->rig.config.p[NL_P_PAGE_SIZE]);
	word[0] = block;
	word[1] = version;
	word[2] = ~version;
	return buf;
}

/* The version that a name reads as: an error, or ~0 for what nobody wrote. */
static int look(struct client *c, const struct nl_name *name, u32 *version)
{
	struct nl_io io = now(c);
	struct nl_buf *buf;
	const u32 *word;
	int r = nl_name_read(c->rig.ftl, name, &buf, &io);

	*version = ~0u;
	if (r)
		return r;
	word = nl_buf_data(buf);
	if (word[0] == name->meta.word[0] && word[2] == ~word[1])
		*version = word[1];
	nl_buf_put(buf);
	return 0;
}

static void bury(struct client *c, const struct nl_name *name)
{
	c->dead[c->nr_dead++ % DEAD] = *name;
}

static int put(struct client *c, u32 at)
{
	struct block *b = &c->block[at];
	struct nl_meta meta = meta_of(at);
	struct nl_io io = now(c);
	struct nl_buf *buf;
	u32 ppn;
	int r;

	c->doing = b->there ? OVERWRITING : WRITING;
	c->at = at;
	c->version = ++c->rig.version;
	buf = content(c, at, c->version);
	r = nl_name_write(c->rig.ftl, b->there ? &b->name : NULL, &meta, buf, &ppn, &io);
	nl_buf_put(buf);
	if (r)
		return r;
	if (b->there)
		bury(c, &b->name);
	*b = (struct block){ true, { .ppn = ppn, .meta = meta }, c->version };
	c->doing = NOTHING;
	return 0;
}

static int drop(struct client *c, u32 at)
{
	struct nl_io io = now(c);
	int r;

	if (!c->block[at].there)
		return 0;
	c->doing = FREEING;
	c->at = at;
	r = nl_name_free(c->rig.ftl, &c->block[at].name, &io);
	if (r)
		return r;
	bury(c, &c->block[at].name);
	c->block[at].there = false;
	c->doing = NOTHING;
	return 0;
}

static bool right(struct client *c, u32 at)
{
	const struct block *b = &c->block[at];
	u32 version;
	int r = look(c, &b->name, &version);

	if (r == -ESHUTDOWN)
		return true;
	return CHECK(!r && version == b->version, "block %u at %u: %d, version %u, not %u", at,
		     b->name.ppn, r, version, b->version);
}

/* A name that is no more is refused, or it happens to be the block's new one. */
static void refuse_dead(struct client *c)
{
	u32 i = rig_random(&c->rig, DEAD), version;
	const struct block *b;
	int r;

	if (i >= c->nr_dead)
		return;
	r = look(c, &c->dead[i], &version);
	b = &c->block[c->dead[i].meta.word[0]];
	c->refused += r == -ESTALE;
	CHECK(r == -ESTALE || r == -ESHUTDOWN || (!r && b->there && version == b->version),
	      "a dead name of block %llu at %u: %d, version %u",
	      (unsigned long long)c->dead[i].meta.word[0], c->dead[i].ppn, r, version);
}

static void refuse_forged(struct client *c, u32 at)
{
	struct nl_name name = c->block[at].there ? c->block[at].name :
						   (struct nl_name){ .ppn = at };
	struct nl_meta meta = meta_of(at);
	struct nl_io io = now(c);
	u32 version, ppn;

	if (c->rig.flash.off)
		return;
	name.meta.word[2] = FORGED;
	CHECK(look(c, &name, &version) == -ESTALE);
	CHECK(nl_name_free(c->rig.ftl, &name, &io) == -ESTALE);
	CHECK(nl_name_write(c->rig.ftl, &name, &meta, NULL, &ppn, &io) == -ESTALE);
	name.ppn = c->rig.flash.geo.nr_pages + at;
	CHECK(look(c, &name, &version) == -ESTALE);
}

/* All names that lead there are the client's; it may be long since it was told. */
static void take(struct client *c, const struct nl_move *move)
{
	struct block *b = &c->block[move->meta.word[0]];

	CHECK(move->meta.word[0] < c->blocks);
	if (b->there && b->name.ppn == move->from)
		b->name.ppn = move->to;
	CHECK(!nl_name_acknowledge(c->rig.ftl, move->from, &move->meta));
	c->acked++;
}

/* The client gets what is handed out, looks at it some time, and acknowledges some of it. */
static void listen(struct client *c)
{
	u32 i, room = min(1 + (u32)rig_random(&c->rig, 5), QUEUE - c->nr_queue);
	int n = nl_name_moves(c->rig.ftl, c->queue + c->nr_queue, room);

	CHECK(n >= 0);
	if (n > 0 && !rig_random(&c->rig, 4))	/* no room for the last */
		nl_name_untell(c->rig.ftl, &c->queue[c->nr_queue + --n]);
	c->moved += n;
	c->nr_queue += n;
	if (c->nr_queue < QUEUE && rig_random(&c->rig, 4))
		return;
	for (i = 0; i < c->nr_queue; i++)
		if (rig_random(&c->rig, 8) < c->acks)
			take(c, &c->queue[i]);
	c->nr_queue = 0;
}

static bool verify(struct client *c)
{
	bool ok = rig_verify(&c->rig);
	u32 i;

	for (i = 0; i < c->blocks && ok; i++)
		if (c->block[i].there)
			ok = right(c, i);
	return ok;
}

/* What a cut interrupted was done or not, never half. */
static void settle(struct client *c, const struct nl_name *name, u32 version)
{
	struct block *b = &c->block[name->meta.word[0]];
	bool new = c->doing != NOTHING && c->at == name->meta.word[0] && c->doing != FREEING &&
		   version == c->version;

	if (!CHECK(new || (b->there && version == b->version), "block %llu at %u: version %u",
		   (unsigned long long)name->meta.word[0], name->ppn, version))
		return;
	if (new) {
		*b = (struct block){ true, *name, version };
		c->adopted++;
	} else if (c->acks > 4) {
		b->name = *name;	/* repaired; or the old one goes on to be used */
	}
}

/* 4.3.7: every valid block with its metadata, once. */
static void enumerate(struct client *c)
{
	u32 seen[BLOCKS] = { 0 }, from = 0, i, version;
	struct nl_name names[7];
	struct nl_io io;
	int n;

	do {
		io = now(c);
		n = nl_name_list(c->rig.ftl, &from, names, ARRAY_SIZE(names), &io);
		CHECK(n >= 0, "%d", n);
		for (i = 0; (int)i < n && !ktap_failing(); i++) {
			CHECK(names[i].meta.word[0] < c->blocks &&
			      !seen[names[i].meta.word[0]]++);
			CHECK(!look(c, &names[i], &version));
			settle(c, &names[i], version);
		}
	} while (n > 0 && !ktap_failing());
	for (i = 0; i < c->blocks && !ktap_failing(); i++) {
		bool may_be_gone = c->doing == FREEING && c->at == i;

		if (!seen[i] && may_be_gone)
			c->block[i].there = false;
		CHECK(seen[i] == c->block[i].there, "block %u: %u times", i, seen[i]);
	}
	c->doing = NOTHING;
}

static void crash(struct client *c)
{
	u32 i;

	crashes++;
	if (!rig_crash(&c->rig))
		return;
	c->nr_queue = 0;	/* all is told again */
	nl_name_replay(c->rig.ftl);
	CHECK(rig_check(&c->rig));
	for (i = 0; i < c->blocks && !ktap_failing(); i++)	/* by the names it had */
		if (c->block[i].there && (c->doing == NOTHING || c->at != i))
			right(c, i);
	if (!ktap_failing())
		enumerate(c);
	if (!ktap_failing())
		verify(c);
}

static int step(struct client *c)
{
	u32 at = rig_random(&c->rig, c->blocks), lpn = rig_random(&c->rig, c->virtual);
	struct nl_io io = now(c);
	int r;

	switch (rig_random(&c->rig, 16)) {
	case 0:
		return drop(c, at);
	case 1:
		if (c->block[at].there)
			right(c, at);
		return 0;
	case 2:
		refuse_dead(c);
		return 0;
	case 3:
		refuse_forged(c, at);
		return 0;
	case 4:
		listen(c);
		return 0;
	case 5:
		r = nl_ftl_gc(c->rig.ftl, &io);
		return r < 0 ? r : 0;
	case 6:
		return rig_trim(&c->rig, lpn, 1);
	case 7:
		return rig_flush(&c->rig);
	case 8: case 9: case 10:
		return rig_write(&c->rig, lpn, 0);
	case 11:	/* hot */
		return put(c, at % 3);
	default:
		return put(c, at);
	}
}

/* It may only be read any more: because so many blocks are bad. */
static void check_few(struct client *c)
{
	struct nl_ftl_stat stat;

	nl_ftl_stat(c->rig.ftl, &stat);
	CHECK(stat.state == NL_FTL_RO);
	CHECK(c->rig.flash.geo.nr_blocks - stat.bad_blocks < stat.min_blocks, "%u of %u bad, %u",
	      stat.bad_blocks, c->rig.flash.geo.nr_blocks, stat.min_blocks);
	c->doing = NOTHING;
}

/* -1 if it was over before the cut. */
static int run_to(struct client *c, u32 nr, u64 cut, enum nl_tear tear)
{
	int r = 0;
	u32 i;

	c->rig.flash.cut_at = NL_NO_CUT;
	if (cut != NL_NO_CUT)
		nl_flash_cut(&c->rig.flash, cut, tear);
	for (i = 0; i < nr && !r && !ktap_failing(); i++)
		r = step(c);
	if (r == -ESHUTDOWN || c->rig.flash.off)
		return 0;
	if (r == -EROFS)
		check_few(c);
	else
		CHECK(!r, "step %u: %d", i, r);
	return -1;
}

/* One in which leveling begins early. */
static struct nl_config worn(u32 planes, u32 pages, u32 spare, u32 moves)
{
	struct nl_config config = rig_tiny(NL_FTL_NAMELESS, planes, 4, pages, spare);

	config.p[NL_P_ENDURANCE] = 10000;
	config.p[NL_P_WEAR] = 1000;
	config.p[NL_P_MOVES] = moves;
	return config;
}

static void test_requests(void)
{
	u32 round, i;

	for (round = 0; round < 24 && !ktap_failing(); round++) {
		struct nl_config config = worn(1 + round % 3, 36, round % 5, 1 + round * 3);
		struct client c;

		config.p[NL_P_BUFFER] = round % 4 == 3 ? 5 : 0;
		config.p[NL_P_TRUST] = round % 3 == 2;
		client_init(&c, &config, BLOCKS, 12, ktap_seed + round);
		for (i = 0; i < 40 && !ktap_failing(); i++) {
			run_to(&c, 60, NL_NO_CUT, 0);
			if (!ktap_failing())
				verify(&c);
		}
		if (!ktap_failing())
			crash(&c);
		client_destroy(&c);
	}
	ktap_note("%llu migrations, %llu acknowledged, %llu dead names refused", moved, acked,
		  refused);
	CHECK(moved > 100 && acked > 50 && acked < moved && refused > 100);
}

static void every_cut(const struct nl_config *config, u32 blocks, u32 virtual, u64 seed, u32 nr,
		      u32 fail)
{
	u64 cut = 0, cuts = 0;
	int over = 0, tear;

	for (; !over && !ktap_failing(); cut++) {
		for (tear = 0; tear < NL_NR_TEARS && !ktap_failing(); tear++) {
			struct client c;

			client_init(&c, config, blocks, virtual, seed);
			run_to(&c, 120, NL_NO_CUT, 0);	/* until there is no free block */
			c.rig.flash.fail_program = fail;
			c.rig.flash.fail_erase = fail / 3;
			over = run_to(&c, nr, cut, tear);
			crash(&c);
			if (!ktap_failing() &&
			    !run_to(&c, 20, cut % 7, (tear + cut) % NL_NR_TEARS))
				crash(&c);
			if (!ktap_failing())
				run_to(&c, 15, NL_NO_CUT, 0);
			if (!ktap_failing())
				verify(&c);
			if (ktap_failing())
				ktap_note("cut %llu, torn %d, seed %llu, fail %u",
					  (unsigned long long)cut, tear,
					  (unsigned long long)seed, fail);
			client_destroy(&c);
			cuts++;
		}
	}
	ktap_note("%llu cuts, %llu migrations so far, %llu interrupted writes found", cuts, moved,
		  adopted);
}

static void test_every_cut(void)
{
	struct nl_config config = worn(2, 26, 1, 40);
	u64 before = moved;

	every_cut(&config, 18, 8, 9 * 1000 + 3, 150, 0);
	every_cut(&config, 18, 8, 9 * 1000 + 8, 150, 0);
	config = worn(1, 17, 2, 6);
	every_cut(&config, 12, 5, 9 * 1000 + 4, 150, 0);
	config = worn(2, 26, 4, 40);
	every_cut(&config, 18, 8, 9 * 1000 + 5, 120, 19);
	every_cut(&config, 18, 8, 9 * 1000 + 7, 120, 34);
	CHECK(moved - before > 100 && adopted > 5);
}

static void test_random_cuts(void)
{
	u32 round, i;

	for (round = 0; round < 200 && !ktap_failing(); round++) {
		struct nl_config config = worn(1 + round % 3, 36, 2 + round % 4, round % 50);
		struct client c;

		config.p[NL_P_BUFFER] = round % 2 * 4;
		config.p[NL_P_TRUST] = round % 5 == 1;
		client_init(&c, &config, BLOCKS, 12, ktap_seed * 9 + round);
		for (i = 0; i < 10 && !ktap_failing(); i++) {
			if (round % 3 == 0 && i == 3)
				c.rig.flash.fail_erase = 1 + rig_random(&c.rig, 20);
			if (round % 3 == 1 && i == 4)
				c.rig.flash.fail_program = 1 + rig_random(&c.rig, 60);
			run_to(&c, 300, rig_random(&c.rig, 300), i % NL_NR_TEARS);
			if (!ktap_failing())
				crash(&c);
		}
		if (ktap_failing())
			ktap_note("round %u", round);
		client_destroy(&c);
	}
	ktap_note("%llu crashes", crashes);
}

/* A client that never acknowledges: leveling stops, nothing else does; and goes on afterwards. */
static void test_deaf(void)
{
	struct nl_config config = worn(2, 36, 6, 8);
	struct nl_ftl_stat stat;
	struct nl_move moves[8];
	struct client c;
	u64 before;
	int i, n;

	client_init(&c, &config, BLOCKS, 12, 9 * 100);
	CHECK(!c.acks);
	run_to(&c, 6000, NL_NO_CUT, 0);
	nl_ftl_stat(c.rig.ftl, &stat);
	CHECK(stat.waiting <= 8 && stat.stalled && stat.migrated);
	crash(&c);
	nl_ftl_stat(c.rig.ftl, &stat);
	CHECK(stat.waiting <= 8 && nl_name_untold(c.rig.ftl) == stat.waiting);
	for (i = 0; i < 2000; i++)	/* the others are cold */
		CHECK(!put(&c, i < BLOCKS ? i : i % 3));
	CHECK(nl_name_moves(c.rig.ftl, moves, 8) > 0);
	crash(&c);
	nl_ftl_stat(c.rig.ftl, &stat);
	CHECK(stat.waiting <= 8 && stat.waiting && nl_name_untold(c.rig.ftl) == stat.waiting);
	run_to(&c, 2000, NL_NO_CUT, 0);
	verify(&c);
	before = c.moved;
	nl_name_replay(c.rig.ftl);
	c.nr_queue = 0;
	c.acks = 8;
	while ((n = nl_name_moves(c.rig.ftl, moves, 8)) > 0)
		for (i = 0; i < n; i++)
			take(&c, &moves[i]);
	CHECK(nl_name_acknowledge(c.rig.ftl, 1, &(struct nl_meta){ { 1, 2, 3 } }) == -ENOENT);
	nl_ftl_stat(c.rig.ftl, &stat);
	CHECK(!stat.waiting);
	run_to(&c, 4000, NL_NO_CUT, 0);
	CHECK(c.moved > before);
	verify(&c);
	client_destroy(&c);
}

/* Overwrite block @at until it is at @ppn, for @tries. */
static bool gets_to(struct client *c, u32 at, u32 ppn, u32 tries)
{
	while (tries-- && CHECK(!put(c, at)))
		if (c->block[at].name.ppn == ppn)
			return true;
	return false;
}

/* A device that wears, and the first migration that its client is told; its block. */
static u32 first_told(struct client *c, const struct nl_config *config, u32 round,
		      struct nl_move *move)
{
	client_init(c, config, BLOCKS, 12, 9 * round + 8);
	do
		run_to(c, 20, NL_NO_CUT, 0);
	while (!ktap_failing() && nl_name_moves(c->rig.ftl, move, 1) != 1);
	return move->meta.word[0];
}

/*
 * What is told may lie in a queue while its block is overwritten or freed. Who looks at it then
 * must not take the block for the one that was there before.
 */
static void test_told_late(void)
{
	struct nl_config config = worn(2, 36, 6, 8);
	struct nl_move move;
	struct client c;
	u32 round, at;

	for (round = 0; round < 12 && !ktap_failing(); round++) {
		at = first_told(&c, &config, round, &move);
		if (round % 3 == 0)
			CHECK(!drop(&c, at));
		CHECK(!gets_to(&c, at, move.from, 600), "at its old address, not acknowledged");
		if (round % 3 == 2)
			nl_name_untell(c.rig.ftl, &move);
		else if (round % 3 == 1)
			nl_name_replay(c.rig.ftl);
		else
			take(&c, &move);
		CHECK(nl_name_acknowledge(c.rig.ftl, move.from, &move.meta) == -ENOENT,
		      "an old address is lost");
		CHECK(rig_check(&c.rig));
		client_destroy(&c);
	}
}

/* So it may over a cut, until its client knows of that. Overwritten before it or behind it. */
static void test_told_before_cut(void)
{
	struct nl_config config = worn(2, 36, 6, 8);
	struct nl_ftl_stat stat;
	struct nl_move move;
	struct client c;
	u32 round, at;

	for (round = 0; round < 12 && !ktap_failing(); round++) {
		at = first_told(&c, &config, round, &move);
		if (round % 3 != 2)
			CHECK(round % 3 ? !drop(&c, at) : !put(&c, at));
		CHECK(rig_crash(&c.rig));
		CHECK(!gets_to(&c, at, move.from, 600), "at its old address, the cut not known");
		nl_name_replay(c.rig.ftl);
		nl_ftl_stat(c.rig.ftl, &stat);
		CHECK(nl_name_untold(c.rig.ftl) == stat.waiting && rig_check(&c.rig));
		CHECK(nl_name_acknowledge(c.rig.ftl, move.from, &move.meta) == -ENOENT,
		      "an old address is lost");
		client_destroy(&c);
	}
}

/* Seconds of overwrites and frees beside a migration that waits in a table with room for @moves. */
static double beside(u32 moves)
{
	struct nl_config config = worn(2, 36, 6, moves);
	struct nl_ftl_stat stat;
	struct client c;
	clock_t began;
	u32 i;

	client_init(&c, &config, BLOCKS, 12, 9 * 100);
	for (i = 0; i < 100000; i++) {
		if (i % 1000 == 0)
			nl_ftl_stat(c.rig.ftl, &stat);
		if (stat.waiting > 4)
			break;
		CHECK(!put(&c, rig_random(&c.rig, i < BLOCKS ? BLOCKS : 3)));
	}
	CHECK(stat.waiting > 4);
	began = clock();
	for (i = 0; i < 1000; i++)
		CHECK(!drop(&c, 20) && !put(&c, 20) && !put(&c, 20));
	client_destroy(&c);
	return (double)(clock() - began) / CLOCKS_PER_SEC;
}

/* To look at all of a large table takes 1000 times as long. */
static void test_many_moves(void)
{
	double few = beside(8), many = beside(1 << 20);

	ktap_note("%.3f s with room for few, %.3f for many", few, many);
	CHECK(many < 20 * few + .2);
}

/* Blocks that say the same of themselves, and old names that are never given up. */
static void test_same(void)
{
	struct nl_config config = worn(2, 36, 2, 6);
	struct nl_meta meta = { { 7, 7, 7 } };
	struct nl_name name[BLOCKS];
	u32 version[BLOCKS] = { 0 }, i, at, ppn, found;
	struct nl_buf *buf;
	struct nl_io io;
	struct client c;

	client_init(&c, &config, BLOCKS, 12, ktap_seed);
	for (i = 0; i < 20000 && !ktap_failing(); i++) {
		at = i < BLOCKS ? i : rig_random(&c.rig, i % 4 ? 4 : BLOCKS);
		io = now(&c);
		buf = content(&c, 7, i + 1);
		CHECK(!nl_name_write(c.rig.ftl, i < BLOCKS ? NULL : &name[at], &meta, buf, &ppn,
				     &io));
		nl_buf_put(buf);
		name[at] = (struct nl_name){ .ppn = ppn, .meta = meta };
		version[at] = i + 1;
		at = rig_random(&c.rig, min(i + 1, BLOCKS));
		CHECK(!look(&c, &name[at], &found) && found == version[at],
		      "block %u: version %u, not %u", at, found, version[at]);
	}
	client_destroy(&c);
}

/* What a block's newest page is, a start that scans knows, too: leveling goes by it. */
static void test_coldest(void)
{
	struct nl_config config = rig_tiny(NL_FTL_NAMELESS, 2, 4, 36, 12);
	u64 newest[64];
	struct client c;
	u32 i, block;

	client_init(&c, &config, BLOCKS, 12, 4);
	for (i = 0; i < BLOCKS; i++)
		CHECK(!put(&c, i));
	for (block = 0; block < c.rig.flash.geo.nr_blocks; block++)
		newest[block] = c.rig.ftl->blocks.bk[block].newest;
	rig_crash(&c.rig);
	for (block = 0; block < c.rig.flash.geo.nr_blocks; block++)
		CHECK(c.rig.ftl->blocks.bk[block].newest == newest[block], "block %u", block);
	client_destroy(&c);
}

/* Both segments out of one space. */
static void test_space(void)
{
	struct nl_config config = rig_tiny(NL_FTL_NAMELESS, 2, 4, 36, 0);
	struct nl_meta meta = meta_of(1);
	struct nl_io io = { .now = 1 };
	struct client c;
	u32 i, ppn, round;

	for (round = 0; round < 2 && !ktap_failing(); round++) {
		config.p[NL_P_BUFFER] = round * 6;
		client_init(&c, &config, BLOCKS, 12, ktap_seed);
		for (i = 0; i < BLOCKS; i++)
			CHECK(!put(&c, i));
		for (i = 0; i < 12; i++)
			CHECK(!rig_write(&c.rig, i, 0));
		CHECK(nl_name_write(c.rig.ftl, NULL, &meta, NULL, &ppn, &io) == -ENOSPC);
		CHECK(nl_ftl_write(c.rig.ftl, 20, NULL, 0, &io) == -ENOSPC);
		for (i = 0; i < 500 && !ktap_failing(); i++) {
			CHECK(!put(&c, rig_random(&c.rig, BLOCKS)));
			CHECK(!rig_write(&c.rig, rig_random(&c.rig, 12), 0));
		}
		CHECK(!drop(&c, 3));
		CHECK(!rig_write(&c.rig, 20, 0));
		CHECK(nl_name_write(c.rig.ftl, NULL, &meta, NULL, &ppn, &io) == -ENOSPC);
		CHECK(!rig_trim(&c.rig, 20, 1));
		CHECK(!put(&c, 3));
		verify(&c);
		crash(&c);
		client_destroy(&c);
	}
}

/* A clean stop spares the scan, and keeps names and migrations. */
static void test_stop(void)
{
	struct nl_config config = worn(2, 36, 16, 20);
	struct nl_ftl_stat stat;
	struct client c;
	u32 i;

	client_init(&c, &config, BLOCKS, 12, 9 * 50 + 3);
	for (i = 0; i < 30 && !ktap_failing(); i++) {
		run_to(&c, 200, NL_NO_CUT, 0);
		c.nr_queue = 0;	/* all is told again */
		rig_restart(&c.rig);
		nl_ftl_stat(c.rig.ftl, &stat);
		CHECK(!stat.recovered_by_scan);
		verify(&c);
	}
	client_destroy(&c);
}

/*
 * Blocks that fail in the stop itself: there is a checkpoint, or battery-backed memory still holds
 * pages, never both.
 */
static void test_stop_fails(void)
{
	u32 round, stops = 0, held = 0, plane;

	for (round = 0; round < 400 && !ktap_failing(); round++) {
		struct nl_config config = worn(2 + round % 2, 36, 3 + round % 5, 20);
		struct nl_ftl_stat stat;
		bool slots = false;
		struct nl_io io;
		struct client c;

		client_init(&c, &config, BLOCKS, 12, 9 * round + 3);
		run_to(&c, 150 + round, NL_NO_CUT, 0);
		c.rig.flash.fail_erase = 1;
		for (plane = 0; plane < 99 && c.rig.flash.fail_erase; plane++)
			CHECK(!rig_write(&c.rig, rig_random(&c.rig, 12), 0));
		c.rig.flash.fail_program = round % 2 ? 1 + round % 7 : 0;
		io = now(&c);
		CHECK(!nl_ftl_stop(c.rig.ftl, &io));
		for (plane = 0; plane < c.rig.flash.battery->nr_slots; plane++)
			slots |= c.rig.flash.battery->slot[plane].block != NL_NO_SLOT;
		nl_ftl_destroy(c.rig.ftl);
		c.rig.ftl = NULL;
		c.rig.flash.fail_program = 0;
		c.rig.flash.fail_erase = 0;
		CHECK(!rig_open(&c.rig));
		nl_ftl_stat(c.rig.ftl, &stat);
		CHECK(!slots || stat.recovered_by_scan, "round %u", round);
		stops += !stat.recovered_by_scan;
		held += slots;
		if (!ktap_failing())
			crash(&c);
		client_destroy(&c);
	}
	ktap_note("%u checkpoints, pages held %u times", stops, held);
	CHECK(stops > 20);
}

/* One plane, full, of blocks that fail one by one: names lead on, and all spare blocks are used. */
static void test_spares(void)
{
	u32 spare, i;

	for (spare = 0; spare < 12 && !ktap_failing(); spare++) {
		struct nl_config config = rig_tiny(NL_FTL_NAMELESS, 1, 8, BLOCKS + 76, spare);
		struct client c;
		int r = 0;

		config.p[NL_P_MOVES] = 4;
		client_init(&c, &config, BLOCKS, 76, 9 * spare + spare % 9);
		for (i = 0; i < BLOCKS + 76 && !r; i++)
			r = i < BLOCKS ? put(&c, i) : rig_write(&c.rig, i - BLOCKS, 0);
		for (i = 0; i < 10000 && !r && !ktap_failing(); i++) {
			if (i % 120 == 0) {
				*(i % 240 ? &c.rig.flash.fail_erase : &c.rig.flash.fail_program) =
					1 + rig_random(&c.rig, 12);
				verify(&c);
			}
			if (i % 7 == 0)
				listen(&c);
			if (i % 500 == 499)
				crash(&c);
			r = i % 3 ? put(&c, rig_random(&c.rig, BLOCKS)) :
				    rig_write(&c.rig, rig_random(&c.rig, 76), 0);
		}
		CHECK(r == -EROFS, "write %u: %d", i, r);
		CHECK(c.rig.ftl->blocks.good == c.rig.ftl->min_blocks - 1, "%u spare: %u, not %u",
		      spare, c.rig.ftl->blocks.good, c.rig.ftl->min_blocks - 1);
		c.doing = NOTHING;
		if (!ktap_failing())
			verify(&c);
		client_destroy(&c);
	}
}

static u8 image[1 << 20];
static size_t image_len, image_at;

static int save(void *ctx, const void *data, size_t len)
{
	memcpy(image + image_len, data, len);
	image_len += len;
	return 0;
}

static int load(void *ctx, void *data, size_t len)
{
	if (image_at + len > image_len)
		return -EINVAL;
	memcpy(data, image + image_at, len);
	image_at += len;
	return 0;
}

static int reload(struct client *c)
{
	nl_flash_destroy(&c->rig.flash);
	CHECK(!nl_flash_create(&c->rig.flash, &c->rig.config));
	image_at = 0;
	return nl_flash_load(&c->rig.flash, load, NULL);
}

/*
 * One plane, and the newest page of all is in a block that fails when it is erased. Then the power
 * goes; the page is only in the slot, and what is written next has to be newer than that.
 */
static void test_lost(void)
{
	u32 round, lost = 0, i, lpn;

	for (round = 0; round < 300 && !ktap_failing(); round++) {
		struct nl_config config = rig_tiny(NL_FTL_NAMELESS, 1, 4, 12, 1 + round % 3);
		struct rig rig;
		int r = 0;

		rig_init(&rig, &config, 12, round);
		CHECK(!rig_open(&rig));
		for (i = 0; i < 12; i++)
			CHECK(!rig_write(&rig, i, 0));
		for (i = 0; i < 20; i++)
			CHECK(!rig_write(&rig, rig_random(&rig, 12), 0));
		rig.flash.fail_erase = 1 + rig_random(&rig, 9);
		for (i = 0; i < 80 && !r; i++) {
			lpn = rig_random(&rig, 2 + round % 8) ? 3 : rig_random(&rig, 12);
			if (rig.flash.fail_erase == 1)
				nl_flash_cut(&rig.flash, 1, NL_TEAR_NOT);
			r = rig_write(&rig, lpn, 0);
		}
		lost += rig.flash.battery->slot[0].lost;
		rig_crash(&rig);
		for (i = 0; i < 3; i++)
			CHECK(!rig_write(&rig, i ? rig_random(&rig, 12) : 3, 0));
		if (!ktap_failing())
			rig_crash(&rig);
		if (ktap_failing())
			ktap_note("round %u", round);
		rig_destroy(&rig);
	}
	CHECK(lost > 10, "%u", lost);
}

/*
 * The power goes while a trim record is programmed, or right behind it, and the block whose slot
 * has the page fails in the start that follows: what the page is then, it stays.
 */
static u32 cut_behind_trim(u32 round, u32 lpn, u32 cut, u32 fail)
{
	struct nl_config config = rig_tiny(NL_FTL_NAMELESS, 2, 4, 24, 1 + round % 3);
	u32 i, lost = 0;
	struct rig rig;

	rig_init(&rig, &config, 24, round);
	CHECK(!rig_open(&rig));
	for (i = 0; i < 24; i++)
		CHECK(!rig_write(&rig, i, 0));
	for (i = 0; i < 40 + round % 17; i++)
		CHECK(!rig_write(&rig, rig_random(&rig, 24), 0));
	CHECK(!rig_flush(&rig) && !rig_trim(&rig, lpn, 1));
	nl_flash_cut(&rig.flash, cut, NL_TEAR_NOT);
	rig_flush(&rig);
	rig.flash.fail_erase = fail;
	rig.cut_start = 4;
	rig_crash(&rig);
	for (i = 0; i < 2; i++)
		lost += rig.flash.battery->slot[i].lost;
	rig.flash.fail_erase = 0;
	CHECK(!rig_write(&rig, (lpn + 1) % 24, 0) && !rig_flush(&rig));
	if (!ktap_failing())
		rig_crash(&rig);
	rig_destroy(&rig);
	return lost;
}

static void test_lost_trim(void)
{
	u32 round, cut, fail, lost = 0;

	for (round = 0; round < 400 && !ktap_failing(); round++)
		for (cut = 1; cut < 7 && !ktap_failing(); cut++)
			for (fail = 1; fail < 3 && !ktap_failing(); fail++) {
				lost += cut_behind_trim(round, (round * 7 + cut) % 24, cut, fail);
				if (ktap_failing())
					ktap_note("round %u, cut %u, fail %u", round, cut, fail);
			}
	CHECK(lost > 10, "%u", lost);
}

/* A device whose power went, in the middle of GC or not, into an image and out of it. */
static void test_image(void)
{
	u32 round, slots = 0, i, damaged = 0;

	for (round = 0; round < 60 && !ktap_failing(); round++) {
		struct nl_config config = worn(2, 36, 2, 1 + round);
		struct client c;

		client_init(&c, &config, BLOCKS, 12, 9 * round + 2);
		if (round % 3 == 0)
			c.rig.flash.fail_erase = 30 + round;
		run_to(&c, 400, 60 + 5 * round, round % NL_NR_TEARS);
		nl_flash_power_off(&c.rig.flash);
		nl_ftl_destroy(c.rig.ftl);
		c.rig.ftl = NULL;
		image_len = 0;
		for (i = 0; i < 2; i++)
			slots += c.rig.flash.battery->slot[i].block != NL_NO_SLOT;
		CHECK(!nl_flash_save(&c.rig.flash, save, NULL));
		for (i = 0; i < 20 && round == 7; i++) {	/* one bit is another */
			size_t at = image_len - 1 - i * 97;

			image[at] ^= 4;
			damaged += reload(&c) == -EINVAL;
			image[at] ^= 4;
		}
		CHECK(!reload(&c));
		crash(&c);
		run_to(&c, 100, NL_NO_CUT, 0);
		if (!ktap_failing())
			verify(&c);
		client_destroy(&c);
	}
	ktap_note("%u blocks were being rewritten", slots);
	CHECK(slots > 10 && damaged == 20);
}

/* Who never acknowledges has more migrations waiting in the end than the flash has pages. */
static void test_image_of_many(void)
{
	struct nl_config config = worn(2, 36, 6, 1 << 14);
	struct nl_ftl_stat stat = {};
	struct client c;
	u32 i, pages;

	client_init(&c, &config, BLOCKS, 12, 9 * 100);
	pages = c.rig.flash.geo.nr_pages;
	for (i = 0; i < 1000000 && stat.waiting <= pages && !ktap_failing(); i++) {
		CHECK(!put(&c, rig_random(&c.rig, i < BLOCKS ? BLOCKS : 3)));
		if (i % 1000 == 0)
			nl_ftl_stat(c.rig.ftl, &stat);
	}
	ktap_note("%u waiting, %u pages, %u writes", stat.waiting, pages, i);
	CHECK(stat.waiting > pages);
	nl_flash_power_off(&c.rig.flash);
	nl_ftl_destroy(c.rig.ftl);
	c.rig.ftl = NULL;
	image_len = 0;
	CHECK(!nl_flash_save(&c.rig.flash, save, NULL) && !reload(&c));
	crash(&c);
	if (!ktap_failing())
		verify(&c);
	client_destroy(&c);
}

/* Those from MOVE_TWICE on only images are looked through for. */
enum lie { NO_LIE, DATA_VALID, TRIM_VALID, FREE_VALID, MOVE_TWICE, MOVE_OTHER, TORN_VALID,
	   NR_LIES };

/* With a migration of block @is from page 1 to where block 0 is. */
static void tell_move(struct client *c, u32 is)
{
	struct nl_battery *battery = c->rig.flash.battery;

	battery->moved[battery->nr_moved++] = (struct nl_moved){
		.used = true, .from = 1, .to = c->block[0].name.ppn, .meta = meta_of(is),
	};
}

/* A block as a cut leaves one that was being erased, whose page 1 is valid. */
static void tell_torn(struct client *c)
{
	struct nl_flash *flash = &c->rig.flash;
	u32 page, block = 0;

	while (flash->block[block].next || flash->block[block].oob)
		block++;
	flash->block[block].next = flash->geo.pages;
	for (page = 0; page < flash->geo.pages; page++)
		flash->data[nl_ppn(&flash->geo, block, page)] =
			(struct nl_buf *)1;	/* NL_PAGE_ERROR */
	__set_bit(nl_ppn(&flash->geo, block, 1), flash->battery->valid);
}

static void tell(struct client *c, enum lie lie)
{
	struct nl_battery *battery = c->rig.flash.battery;
	u32 ppn, type = lie == DATA_VALID ? NL_OOB_DATA : NL_OOB_TRIM;
	const struct nl_oob *oob;

	if (lie == TORN_VALID) {
		tell_torn(c);
		return;
	}
	if (lie >= MOVE_TWICE) {
		tell_move(c, 0);
		tell_move(c, lie == MOVE_OTHER);
		return;
	}
	for (ppn = 0; lie && ppn < c->rig.flash.geo.nr_pages; ppn++) {
		oob = nl_flash_peek(&c->rig.flash, ppn);
		if (lie == FREE_VALID ? !oob : oob && oob->type == type)
			__set_bit(ppn, battery->valid);
	}
}

/* Sums are right, and what they are of is not: no image may make a page live twice. */
static void test_forged_image(void)
{
	struct nl_config config = worn(2, 36, 12, 20);
	struct client c;
	int lie, way, r;
	u32 i;

	for (lie = 0; lie < NR_LIES && !ktap_failing(); lie++)
		for (way = 0; way < 4 && !ktap_failing(); way++) {
			client_init(&c, &config, BLOCKS, 12, 4);
			for (i = 0; i < 12; i++)
				CHECK(!put(&c, i) && !rig_write(&c.rig, i, 0));
			CHECK(!rig_trim(&c.rig, 5, 2) && !rig_flush(&c.rig));
			if (way & 1) {
				struct nl_io io = now(&c);

				CHECK(!nl_ftl_stop(c.rig.ftl, &io));
			}
			nl_ftl_destroy(c.rig.ftl);
			c.rig.ftl = NULL;
			tell(&c, lie);
			image_len = 0;
			CHECK(!nl_flash_save(&c.rig.flash, save, NULL));
			if (way & 2 || lie >= MOVE_TWICE) {
				r = reload(&c);
				CHECK(r == (lie ? -EINVAL : 0), "lie %d, way %d: %d", lie, way, r);
			} else {
				r = rig_open(&c.rig);
				CHECK(r == (lie ? -EUCLEAN : 0), "lie %d, way %d: %d", lie, way, r);
			}
			client_destroy(&c);
		}
}

#define MANY_NAMES 2000u

static u64 steps;	/* of what reads battery-backed memory: as it was built, each branch is one */

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	steps++;
}

/* The last word ends so that the metadata's sum is the same for each @i. */
static struct nl_meta same_sum(u32 i)
{
	struct nl_meta meta = { { i } };

	meta.word[2] = (u64)crc32c(0, &meta, sizeof(meta) - sizeof(u32)) << 32;
	return meta;
}

/* Blocks whose metadata was made for it, and each was at page 1. */
static void fill_image(struct client *c)
{
	struct nl_battery *battery;
	u32 i, ppn;

	for (i = 0; i < MANY_NAMES; i++) {
		struct nl_meta meta = same_sum(i);
		struct nl_io io = now(c);

		CHECK(!nl_name_write(c->rig.ftl, NULL, &meta, NULL, &ppn, &io));
		battery = c->rig.flash.battery;
		battery->moved[i] = (struct nl_moved){
			.used = true, .from = 1, .to = ppn, .meta = meta,
		};
	}
	CHECK(crc32c(1, &battery->moved[0].meta, 24) == crc32c(1, &battery->moved[9].meta, 24));
	battery->nr_moved = MANY_NAMES;
	nl_ftl_destroy(c->rig.ftl);
	c->rig.ftl = NULL;
	image_len = 0;
	CHECK(!nl_flash_save(&c->rig.flash, save, NULL));
}

/* Nobody makes an image that takes time by the square of its migrations; and who waits may go. */
static void test_image_made_slow(void)
{
	struct nl_config config = worn(2, MANY_NAMES, 12, MANY_NAMES);
	struct client c;
	int r;

	client_init(&c, &config, MANY_NAMES, 12, 4);
	fill_image(&c);
	steps = 0;
	CHECK(!reload(&c) && c.rig.flash.battery->nr_moved == MANY_NAMES);
	CHECK(steps > MANY_NAMES && steps < MANY_NAMES * 200ull, "%llu steps",
	      (unsigned long long)steps);
	ktap_note("%llu steps a migration", (unsigned long long)steps / MANY_NAMES);
	shim_killed = true;
	r = reload(&c);
	shim_killed = false;
	CHECK(r == -EINTR, "%d", r);
	client_destroy(&c);
}

/* When a device is idle, ns: when it starts, and from then on. */
#define IDLE_AS_IT_IS	(~0ULL)
static struct {
	u64 first, then;
} idle = { IDLE_AS_IT_IS, IDLE_AS_IT_IS };

/*
 * ns of the last of many writes of @used pages of a device, at depth 32, by its own clock; and how
 * many pages GC programmed.
 */
static u64 many_writes(enum nl_ftl_kind kind, u32 pages, u32 used, bool trust, bool random,
		       u64 *collected)
{
	u32 *at = calloc(pages, sizeof(*at)), i, lpn, ppn = 0, n, least;
	struct nl_config config = nl_preset_find("ssd1")->config;
	u64 depth[32] = { 0 }, half = 0;
	struct nl_meta meta;
	struct nl_name old;
	struct nl_io io;
	struct rig rig;
	int r = 0;

	config.p[NL_P_FTL] = kind;
	config.p[NL_P_TRUST] = trust;
	if (idle.first != IDLE_AS_IT_IS)
		config.p[NL_P_GC_IDLE] = idle.first;
	CHECK(!nl_config_fit(&config, pages));
	rig_init(&rig, &config, 1, 3);
	rig.pages = pages;
	CHECK(!rig_open(&rig));
	if (idle.then != IDLE_AS_IT_IS) {
		config.p[NL_P_GC_IDLE] = idle.then;
		nl_ftl_retune(rig.ftl, &config);
	}
	for (i = 0; i < 3 * pages && !r; i++) {
		lpn = i < used || !random ? i % used : rig_random(&rig, used);
		for (least = 0, n = 1; n < ARRAY_SIZE(depth); n++)
			if (depth[n] < depth[least])
				least = n;
		io = (struct nl_io){ .now = depth[least] + 1 };
		meta = (struct nl_meta){ { lpn, 1, 2 } };
		old = (struct nl_name){ .ppn = i < used ? 0 : at[lpn], .meta = meta };
		half = i == 2 * pages ? io.now : half;
		if (kind == NL_FTL_NAMELESS)
			r = nl_name_write(rig.ftl, i < used ? NULL : &old, &meta, NULL, &ppn, &io);
		else
			r = nl_ftl_write(rig.ftl, lpn, NULL, 0, &io);
		at[lpn] = ppn;
		depth[least] = io.done;
	}
	CHECK(!r, "write %u: %d", i, r);
	for (least = 0, n = 1; n < ARRAY_SIZE(depth); n++)
		least = depth[n] > depth[least] ? n : least;
	half = depth[least] - half;
	*collected = rig.flash.count[NL_PROGRAM][NL_FOR_GC];
	rig_destroy(&rig);
	free(at);
	return half;
}

/* Many planes for little flash: GC has less to choose from in one of them than in all. */
static void test_speed(void)
{
	u64 gc, page = many_writes(NL_FTL_PAGE, 32768, 32768, false, true, &gc);
	u64 names = many_writes(NL_FTL_NAMELESS, 32768, 32768, false, true, &gc);
	u64 trusted = many_writes(NL_FTL_NAMELESS, 32768, 32768, true, true, &gc);

	ktap_note("random writes without names take %.3f of the page map's time, trusted ones %.3f",
		  (double)names / page, (double)trusted / page);
	CHECK(names * 90 < page * 100);
	CHECK(trusted < names);
}

/*
 * Half of the device is used, so blocks differ in what is live: GC takes the least, although few
 * writes come while that is put back. Holes go on waiting for others.
 */
static void test_victims(void)
{
	u64 page, names;

	many_writes(NL_FTL_PAGE, 16384, 8192, false, true, &page);
	many_writes(NL_FTL_NAMELESS, 16384, 8192, true, true, &names);
	ktap_note("GC puts %.3f of the pages back that the page map's moves",
		  (double)names / page);
	CHECK(names * 100 < page * 110);
}

/* GC goes by what gc_idle is now, not by what it was when the power came. */
static void test_retuned(void)
{
	u64 never, soon, from_soon, from_never;

	idle.first = 0;
	many_writes(NL_FTL_NAMELESS, 16384, 8192, true, true, &never);
	idle.first = 1;
	many_writes(NL_FTL_NAMELESS, 16384, 8192, true, true, &soon);
	idle.then = 0;
	many_writes(NL_FTL_NAMELESS, 16384, 8192, true, true, &from_soon);
	idle.first = 0;
	idle.then = 1;
	many_writes(NL_FTL_NAMELESS, 16384, 8192, true, true, &from_never);
	idle.first = IDLE_AS_IT_IS;
	idle.then = IDLE_AS_IT_IS;
	ktap_note("pages put back: %llu when it is never idle, %llu when it always is",
		  (unsigned long long)never, (unsigned long long)soon);
	CHECK(never != soon && from_soon == never && from_never == soon);
}

/*
 * So many planes that hardly a write comes to each: of two blocks of one, that with more live pages
 * gains more, as its dead ones are at its end.
 */
static void test_many_planes(void)
{
	const u32 planes = 4295, pages = planes * 8 - 24, dead[] = { 0, 1, 2, 6, 7 };
	struct nl_config config = rig_tiny(NL_FTL_NAMELESS, 1, 4, 64, 0);
	struct nl_io io = { .now = 1 };
	struct nl_nw *f;
	struct rig rig;
	u32 i, lpn;

	config.p[NL_P_PACKAGES] = planes / 5;
	config.p[NL_P_DIES] = 5;
	config.p[NL_P_BLOCKS] = 2;
	config.p[NL_P_GC_IDLE] = 100000000;
	CHECK(!nl_config_fit(&config, pages));
	rig_init(&rig, &config, 1, 1);
	rig.pages = pages;
	CHECK(!rig_open(&rig));
	f = nl_nw(rig.ftl);
	for (i = 0; i < pages; i++)
		CHECK(!nl_ftl_write(rig.ftl, i, NULL, 0, &io));
	for (i = 0; i < ARRAY_SIZE(dead); i++) {
		for (lpn = 0; lpn < pages && nl_map_get(f, lpn) != dead[i]; lpn++)
			;
		CHECK(!nl_ftl_write(rig.ftl, lpn, NULL, 0, &io));
	}
	f->cursor = 0;
	f->rate = 10000;
	CHECK(!nl_ftl_write(rig.ftl, 1, NULL, 0, &io));
	CHECK(f->active[0] == 1, "block %u is collected", f->active[0]);
	rig_destroy(&rig);
}

/* A stream leaves dead blocks in all planes: erases are spread over them. */
static void test_stream(void)
{
	u64 gc, page = many_writes(NL_FTL_PAGE, 16384, 8192, false, false, &gc);
	u64 names = many_writes(NL_FTL_NAMELESS, 16384, 8192, true, false, &gc);

	ktap_note("a stream without names takes %.3f of the page map's time", (double)names / page);
	CHECK(names * 105 > page * 100 && page * 105 > names * 100);
}

/* A device that trusts reads nothing to overwrite or free a block, and knows wrong names still. */
static void test_trust(void)
{
	struct nl_config config = rig_tiny(NL_FTL_NAMELESS, 2, 4, 36, 4);
	struct nl_meta meta = meta_of(FORGED);
	struct nl_name wrong = { .meta = meta };
	struct client c;
	struct nl_io io;
	u32 i, ppn;
	u64 reads;

	config.p[NL_P_TRUST] = 1;
	client_init(&c, &config, BLOCKS, 12, 5);
	CHECK(!rig_write(&c.rig, 0, 0));
	for (i = 0; i < 20; i++)
		CHECK(!put(&c, i % 4));
	CHECK(!drop(&c, 0));
	CHECK(!c.rig.flash.count[NL_READ][NL_FOR_HOST]);
	CHECK(verify(&c));
	io = now(&c);
	reads = c.rig.flash.count[NL_READ][NL_FOR_HOST];
	for (i = 0; i < c.rig.flash.geo.nr_pages; i++) {
		wrong.ppn = i;
		CHECK(nl_name_free(c.rig.ftl, &wrong, &io) == -ESTALE, "page %u", i);
		CHECK(nl_name_write(c.rig.ftl, &wrong, &meta, NULL, &ppn, &io) == -ESTALE);
	}
	CHECK(c.rig.flash.count[NL_READ][NL_FOR_HOST] == reads);
	CHECK(verify(&c));
	client_destroy(&c);
}

static u32 most_erases(struct client *c)
{
	u32 i, most = 0;

	for (i = 0; i < c->rig.flash.geo.nr_blocks; i++)
		most = max(most, nl_flash_erases(&c->rig.flash, i));
	return most;
}

/* Erases of the most worn block when the first page is moved because of it (4.4.6). */
static u32 leveled_at(u32 wear_at)
{
	struct nl_config config = worn(2, 36, 6, 50);
	struct client c;
	u32 i, most;

	config.p[NL_P_ENDURANCE] = 400;
	config.p[NL_P_WEAR] = 900;
	config.p[NL_P_WEAR_AT] = wear_at;
	client_init(&c, &config, BLOCKS, 12, ktap_seed);
	for (i = 0; i < BLOCKS; i++)
		CHECK(!put(&c, i) && !rig_write(&c.rig, i % 12, 0));
	for (i = 0; i < 60000 && !c.rig.flash.count[NL_PROGRAM][NL_FOR_WEAR]; i++)
		CHECK(!put(&c, i % 3));
	most = most_erases(&c);
	CHECK(c.rig.flash.count[NL_PROGRAM][NL_FOR_WEAR], "%u erases and no leveling", most);
	verify(&c);
	client_destroy(&c);
	return most;
}

/* Of 400 erases that a block has, 3/4 go by without leveling, or 1/4, whatever is worn by then. */
static void test_wear_at(void)
{
	u32 never = leveled_at(0), early = leveled_at(250), late = leveled_at(750);

	ktap_note("leveling begins at %u erases, %u with wear_at=25%%, %u with 75%%", never, early,
		  late);
	CHECK(never < 100 && early >= 100 && early < 110 && late >= 300 && late < 310);
}

/* What is listed at one go is read in all planes side by side, and waited for. */
static void test_list_time(void)
{
	struct nl_config config = rig_tiny(NL_FTL_NAMELESS, 3, 8, 36, 4);
	u64 read = config.p[NL_P_READ];
	struct nl_name names[6];
	struct client c;
	struct nl_io io;
	u32 i, from = 0;

	client_init(&c, &config, BLOCKS, 12, 1);
	for (i = 0; i < BLOCKS; i++)
		CHECK(!put(&c, i));
	io = (struct nl_io){ .now = 1000000000 };
	CHECK(nl_name_list(c.rig.ftl, &from, names, 6, &io) == 6);
	CHECK(io.done - io.now >= 2 * read && io.done - io.now < 5 * read, "%llu ns",
	      (unsigned long long)(io.done - io.now));
	client_destroy(&c);
}

static void spoil(struct client *c, u32 ppn)
{
	u64 when = 0;

	c->rig.flash.fail_read = 1;
	CHECK(nl_flash_read(&c->rig.flash, ppn, NL_FOR_HOST, &when, NULL, NULL) == -EBADMSG);
}

/* A block of the physical segment, or a page of the virtual one, in a closed erase block. */
static u32 closed(struct client *c, bool virtual, u32 *at)
{
	struct nl_nw *f = nl_nw(c->rig.ftl);
	u32 ppn, nr = virtual ? c->virtual : c->blocks;

	for (*at = 0; *at < nr; ++*at) {
		const struct nl_name *name = &c->block[*at].name;

		ppn = virtual ? nl_map_peek(f, *at) : name->ppn;
		if (!virtual && nl_nw_moved(f, ppn, &name->meta))
			continue;
		if (ppn < NL_LOST && f->ftl.blocks.bk[nl_block_of(f->ftl.geo, ppn)].use ==
				     NL_USE_CLOSED)
			return ppn;
	}
	CHECK(*at < nr);
	return 0;
}

static struct nl_ftl_stat stat_of(struct client *c)
{
	struct nl_ftl_stat stat;

	nl_ftl_stat(c->rig.ftl, &stat);
	return stat;
}

/* All that can be read is listed. */
static u32 listed(struct client *c)
{
	struct nl_name names[5];
	u32 from = 0, nr = 0;
	struct nl_io io;
	int n;

	do {
		io = now(c);
		n = nl_name_list(c->rig.ftl, &from, names, ARRAY_SIZE(names), &io);
		CHECK(n >= 0, "%d", n);
		nr += max(n, 0);
	} while (n > 0);
	return nr;
}

/*
 * A clean stop, an image, and a start: is what can't be read such a page still? 1 if a checkpoint
 * says so.
 */
static u32 stays_unreadable(struct client *c, bool virtual, u32 at)
{
	struct nl_io io = now(c);
	struct nl_buf *buf;
	u32 version;

	CHECK(!nl_ftl_stop(c->rig.ftl, &io));
	c->nr_queue = 0;	/* all is told again */
	nl_ftl_destroy(c->rig.ftl);
	c->rig.ftl = NULL;
	nl_flash_power_off(&c->rig.flash);
	image_len = 0;
	CHECK(!nl_flash_save(&c->rig.flash, save, NULL));
	CHECK(!reload(c), "the image is refused");
	CHECK(!rig_open(&c->rig));
	listen(c);
	if (stat_of(c).recovered_by_scan || ktap_failing())
		return 0;
	if (virtual)
		CHECK(nl_ftl_read(c->rig.ftl, at, &buf, &io) == -EIO);
	else
		CHECK(look(c, &c->block[at].name, &version) == -EBADMSG);
	return 1;
}

/*
 * What can't be read any more fails by itself: other writes find room, the floor is filled, wear is
 * leveled, names are listed. Its erase block is collected when it is gone.
 */
static void test_unreadable(void)
{
	u32 round, i, at, ppn, stays = 0;

	for (round = 0; round < 40 && !ktap_failing(); round++) {
		struct nl_config config = worn(1 + round % 3, 36, 6 + round % 4, 50);
		bool virtual = round % 2;
		struct nl_ftl_stat stat;
		struct client c;

		client_init(&c, &config, BLOCKS, 12, ktap_seed + round);
		for (i = 0; i < BLOCKS; i++)
			CHECK(!put(&c, i) && !rig_write(&c.rig, i % 12, 0));
		for (i = 0; i < 50; i++)
			CHECK(!put(&c, rig_random(&c.rig, BLOCKS)));
		ppn = closed(&c, virtual, &at);
		spoil(&c, ppn);
		for (i = 0; i < 600 && !ktap_failing(); i++) {
			u32 other = rig_random(&c.rig, BLOCKS), lpn = rig_random(&c.rig, 12);

			if (round % 5 == 4 && i == 200)
				c.rig.flash.fail_erase = 1;
			if (virtual || other != at)
				CHECK(!put(&c, other), "block %u", other);
			if (!virtual || lpn != at)
				CHECK(!rig_write(&c.rig, lpn, 0), "page %u", lpn);
			listen(&c);
		}
		stat = stat_of(&c);
		CHECK(stat.unreadable == 1, "round %u: %u", round, stat.unreadable);
		CHECK(listed(&c) == BLOCKS - !virtual && stat_of(&c).unlisted == !virtual);
		for (i = 0; i < BLOCKS && !ktap_failing(); i++)
			CHECK((!virtual && i == at) || right(&c, i));
		if (!ktap_failing())
			stays += stays_unreadable(&c, virtual, at);
		for (i = 0; i < BLOCKS && !ktap_failing(); i++)
			CHECK((!virtual && i == at) || right(&c, i));
		if (virtual && !ktap_failing()) {
			CHECK(!rig_write(&c.rig, at, 0) && !stat_of(&c).unreadable);
			for (i = 0; i < 300; i++)
				CHECK(!put(&c, rig_random(&c.rig, BLOCKS)));
			verify(&c);
		}
		client_destroy(&c);
	}
	CHECK(stays > 20, "%u", stays);
}

/* Who asks for a block that can't be read is told so, not that the power went; nothing changes. */
static void test_unreadable_named(void)
{
	struct nl_config config = rig_tiny(NL_FTL_NAMELESS, 1, 8, 36, 4);
	u32 trust, i, at, version, ppn;
	struct nl_meta meta;
	struct client c;
	struct nl_buf *buf;
	struct nl_io io;

	for (trust = 0; trust < 2 && !ktap_failing(); trust++) {
		config.p[NL_P_TRUST] = trust;
		client_init(&c, &config, BLOCKS, 12, 1);
		for (i = 0; i < BLOCKS; i++)
			CHECK(!put(&c, i));
		spoil(&c, closed(&c, false, &at));
		CHECK(look(&c, &c.block[at].name, &version) == -EBADMSG);
		io = now(&c);
		CHECK(nl_name_free(c.rig.ftl, &c.block[at].name, &io) == -EBADMSG);
		meta = meta_of(at);
		buf = content(&c, at, 9);
		io = now(&c);
		CHECK(nl_name_write(c.rig.ftl, &c.block[at].name, &meta, buf, &ppn, &io) ==
		      -EBADMSG);
		nl_buf_put(buf);
		CHECK(stat_of(&c).valid == BLOCKS && right(&c, (at + 1) % BLOCKS));
		client_destroy(&c);
	}
}

/*
 * With blocks that fail beside it there may be too few, or only holes that are old names of what is
 * written: then it can be read only, and nothing goes round in circles.
 */
static void test_unreadable_few(void)
{
	u32 round, i, at;

	for (round = 0; round < 40 && !ktap_failing(); round++) {
		struct nl_config config = worn(1, 36, 3, 50);
		struct client c;
		u64 erases;
		int r = 0;

		client_init(&c, &config, BLOCKS, 12, ktap_seed + round);
		c.acks = round % 2 * 8;
		for (i = 0; i < BLOCKS; i++)
			CHECK(!put(&c, i) && !rig_write(&c.rig, i % 12, 0));
		spoil(&c, closed(&c, true, &at));
		c.rig.flash.fail_erase = 40;
		for (i = 0; i < 400 && !r; i++) {
			r = put(&c, rig_random(&c.rig, BLOCKS));
			listen(&c);
		}
		CHECK(!r || r == -EROFS, "%d", r);
		erases = c.rig.flash.count[NL_ERASE][NL_FOR_GC];
		CHECK(erases < 10 * i + 100, "%llu erases for %u writes",
		      (unsigned long long)erases, i);
		client_destroy(&c);
	}
}

static void test_others(void)
{
	struct nl_config config = rig_tiny(NL_FTL_PAGE, 2, 4, 36, 0);
	struct nl_meta meta = meta_of(1);
	struct nl_io io = { .now = 1 };
	struct rig rig;
	u32 ppn = 0;

	rig_init(&rig, &config, 36, 1);
	CHECK(!rig_open(&rig));
	CHECK(nl_name_write(rig.ftl, NULL, &meta, NULL, &ppn, &io) == -EOPNOTSUPP);
	CHECK(nl_name_moves(rig.ftl, NULL, 0) == -EOPNOTSUPP);
	CHECK(nl_name_list(rig.ftl, &ppn, NULL, 0, &io) == -EOPNOTSUPP);
	CHECK(nl_name_acknowledge(rig.ftl, 0, &meta) == -EOPNOTSUPP);
	rig_destroy(&rig);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("names lead to what was written, through GC and migrations", test_requests);
	ktap_run("names: after a cut at every operation all or nothing was done", test_every_cut);
	ktap_run("names: cuts anywhere, with blocks that fail", test_random_cuts);
	ktap_run("a client that never acknowledges stops leveling and nothing else", test_deaf);
	ktap_run("what was told and not looked at leads to no other block", test_told_late);
	ktap_run("nor does it over a cut that its client does not know of", test_told_before_cut);
	ktap_run("what waits costs others nothing, however large its table is", test_many_moves);
	ktap_run("blocks that say the same of themselves are told apart", test_same);
	ktap_run("a start knows how warm blocks are", test_coldest);
	ktap_run("both segments share the space", test_space);
	ktap_run("a clean stop keeps names and migrations", test_stop);
	ktap_run("no checkpoint contradicts what the battery keeps", test_stop_fails);
	ktap_run("names: one plane goes on until its spare blocks are used up", test_spares);
	ktap_run("what is written after a block was lost is newer", test_lost);
	ktap_run("nor does what was trimmed come back out of one, and go again", test_lost_trim);
	ktap_run("an image has what the battery kept", test_image);
	ktap_run("an image has more migrations than pages", test_image_of_many);
	ktap_run("an image whose sums are right is not believed either", test_forged_image);
	ktap_run("no image takes time by the square of its migrations", test_image_made_slow);
	ktap_run("leveling begins when as much life is gone as is asked for", test_wear_at);
	ktap_run("names are listed out of all planes at once", test_list_time);
	ktap_run("what can't be read is passed by", test_unreadable);
	ktap_run("so it is where there is hardly room", test_unreadable_few);
	ktap_run("and told from a power cut", test_unreadable_named);
	ktap_run("a device that trusts looks at no block to end it", test_trust);
	ktap_run("random overwrites are about as fast as the page map's", test_speed);
	ktap_run("in-place GC takes blocks in which little is live", test_victims);
	ktap_run("of many planes each has its share of the writes", test_many_planes);
	ktap_run("what gc_idle is changed to counts at once", test_retuned);
	ktap_run("a stream keeps all planes busy, with names and without", test_stream);
	ktap_run("other FTLs have no names", test_others);
	rig_map_chunks = 1;
	rig_map_entries = 4;
	ktap_run("swapped: names lead to what was written", test_requests);
	ktap_run("swapped: after a cut at every operation all or nothing was done", test_every_cut);
	ktap_run("swapped: cuts anywhere, with blocks that fail", test_random_cuts);
	ktap_run("swapped: both segments share the space", test_space);
	ktap_run("swapped: a clean stop keeps names and migrations", test_stop);
	ktap_run("swapped: no checkpoint contradicts what the battery keeps", test_stop_fails);
	ktap_run("swapped: one plane goes on until its spare blocks are used up", test_spares);
	ktap_run("swapped: what is written after a block was lost is newer", test_lost);
	ktap_run("swapped: an image has what the battery kept", test_image);
	ktap_run("swapped: an image whose sums are right is not believed either",
		 test_forged_image);
	return ktap_done();
}
