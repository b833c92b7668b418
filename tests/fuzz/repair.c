// SPDX-License-Identifier: GPL-2.0-only
/*
 * hybridctl repair of an edited pool, as edited.h has it; the first byte's upper bits are the
 * options, and whether the power goes in between.
 *
 * What can be read stays as it is, whatever else is mended; what is said to be sound is, and has
 * nothing left to mend; what is refused before it is begun has written nothing.  Where checksums
 * were not made good, what is edited is damage: then the newest map there was is what is found, if
 * an area has it, and no extent is ever where it never was.
 */
#include <string.h>

#include <evenkeel/entry.h>

#include "check_internal.h"
#include "devices.h"
#include "edited.h"
#include "fuzz.h"
#include "msg.h"
#include "repair.h"
#include "store_internal.h"

#define FORCE		0x20
#define DEGRADED	0x40
#define CUT		0x80

/* What a pool's metadata says by now. */
struct state {
	bool whole;		/* every page and all of the journal could be read */
	u64 map[POOL_NR];
};

/* A pool before it is mended. */
struct before {
	bool one;		/* there is one pool on the areas, and not more */
	bool faultless;		/* and the check finds no error */
	bool clean;		/* nor has it anything to say of it, not even a warning */
	bool agree;		/* no area is worse than the other, by the check */
	unsigned int there;	/* areas whose label is */
	struct state state;
};

/* ---- looks ---- */

static void look_at_store(const struct pool *p, struct state *s)
{
	struct check c = { .pool = p };
	struct ek_store *store;
	struct store_io io;
	struct image im;
	u64 le, *page;

	memset(s, 0, sizeof(*s));
	if (store_open(&io, p, &store))
		return;
	if (check_super(&c, ek_store_super(store))) {
		/* Of its members' sizes and states there may be errors: they are not the map's. */
		findings_free(&c.errors);
		s->whole = image_load(&im, &c, store) && im.nr_extents == POOL_NR;
		for (le = 0; le < POOL_NR && le < im.nr_extents; le++) {
			page = im.page[le / EK_PAGE_ENTRIES];
			s->map[le] = page ? page[le % EK_PAGE_ENTRIES] : 0;
		}
		image_free(&im);
	}
	findings_free(&c.errors);
	findings_free(&c.warnings);
	store_close(&io, store);
}

static bool agree(const struct findings *errors)
{
	uint64_t i;

	for (i = 0; i < errors->nr && i < FINDINGS_KEPT; i++)
		if (!strncmp(errors->text[i], "metadata area", strlen("metadata area")))
			return false;
	return errors->nr <= FINDINGS_KEPT;
}

static struct pool *the_pool(struct pools *pools)
{
	devices_pools(pools);
	if (pools->nr != 1)
		return NULL;
	pool_settle(&pools->pool[0]);
	return &pools->pool[0];
}

static void look(struct media *m, unsigned int areas, struct before *b)
{
	struct pools pools;
	struct check c;
	struct pool *p;
	unsigned int i;

	memset(b, 0, sizeof(*b));
	devices_use(m, areas);
	p = the_pool(&pools);
	if (p) {
		b->one = true;
		for (i = 0; i < p->nr_meta; i++)
			b->there |= p->meta[i].there ? 1u << i : 0;
		look_at_store(p, &b->state);
		if (!check_pool(&c, p)) {
			b->agree = agree(&c.errors);
			b->faultless = !c.errors.nr && c.complete;
			/* Members are never there, which is a warning. */
			b->clean = b->faultless && c.warnings.nr == 1;
		}
		findings_free(&c.errors);
		findings_free(&c.warnings);
	}
	pools_free(&pools);
}

/* ---- what was done to a pool ---- */

/* An area's labels and pages apart from what leads to them. */
enum part { LABELS, CORE, PAGES, PARTS };

struct damage {
	bool part[PARTS];	/* something is other than it was */
	bool older;		/* and as it, or another place, was at another time */
	bool made_up;		/* or passes for what it never was */
};

static const u8 zeroes[EK_BLOCK_SIZE];

static const u8 *block_of(const struct media *m, unsigned int area, u32 block)
{
	return m->durable[area][block] ? m->durable[area][block]->data : zeroes;
}

static bool same_block(const struct media *a, const struct media *b, unsigned int area, u32 block)
{
	return a->durable[area][block] == b->durable[area][block] ||
	       !memcmp(block_of(a, area, block), block_of(b, area, block), EK_BLOCK_SIZE);
}

static bool same_media(const struct media *a, const struct media *b)
{
	unsigned int area;
	u32 block;

	for (area = 0; area < a->nr; area++)
		for (block = 0; block < a->nr_blocks; block++)
			if (!same_block(a, b, area, block))
				return false;
	return true;
}

#define SUMMED(type, at) \
	(((const struct type *)(at))->csum == \
	 cpu_to_le32(ek_checksum(at, EK_BLOCK_SIZE, &((const struct type *)(at))->csum)))

static bool is_summed(const u8 *at)
{
	return SUMMED(ek_super, at) || SUMMED(ek_label, at) || SUMMED(ek_page, at) ||
	       SUMMED(ek_journal_block, at);
}

static bool is_older(const struct media *sample, unsigned int area, const u8 *at)
{
	u32 block;

	for (block = 0; block < sample->nr_blocks; block++)
		if (!memcmp(at, block_of(sample, area, block), EK_BLOCK_SIZE))
			return true;
	return false;
}

static enum part part_of(const struct media *sample, unsigned int area, u32 block)
{
	u64 offset = (u64)block * EK_BLOCK_SIZE;
	struct ek_geometry geo;

	ek_super_geometry((const struct ek_super *)block_of(sample, area, EK_SUPER0_OFFSET /
							    EK_BLOCK_SIZE), &geo);
	if (offset < EK_AREA_HEAD_BYTES || block == sample->nr_blocks - 1)
		return LABELS;
	return offset < geo.pages_offset ? CORE : PAGES;
}

static void compare(const struct media *m, const struct media *sample, struct damage *d)
{
	unsigned int area;
	u32 block;

	memset(d, 0, EK_MAX_META * sizeof(*d));
	for (area = 0; area < m->nr; area++)
		for (block = 0; block < m->nr_blocks; block++) {
			if (same_block(m, sample, area, block))
				continue;
			d[area].part[part_of(sample, area, block)] = true;
			if (is_older(sample, area, block_of(m, area, block)))
				d[area].older = true;
			else
				d[area].made_up |= is_summed(block_of(m, area, block));
		}
}

/* A cut leaves one area a step behind the other, which is no fault; a replay levels them. */
static bool is_behind(const struct media *m, const struct media *sample)
{
	u32 block;

	for (block = 0; m->nr > 1 && block < m->nr_blocks; block++)
		if (part_of(sample, 0, block) == CORE &&
		    memcmp(block_of(m, 0, block), block_of(m, 1, block), EK_BLOCK_SIZE))
			return true;
	return false;
}

/* ---- what a pool's maps were ---- */

static bool is_newest(const struct state *s, enum pool_kind kind)
{
	u64 le;

	for (le = 0; le < POOL_NR; le++)
		if (s->map[le] != pool_entry(kind, le))
			return false;
	return true;
}

/* Has some area that is there all that leads to the newest map; with @pages all of that as well? */
static bool has_newest(const struct pool_input *in, const struct damage *d, unsigned int there,
		       bool pages)
{
	unsigned int i;

	for (i = 0; i < EK_MAX_META; i++) {
		/* The superblock counts before the journal, so one that is behind is not newest. */
		if (i && in->kind != POOL_TWO)
			continue;
		if (there >> i & 1 && !d[i].older && !d[i].part[CORE] && !(pages && d[i].part[PAGES]))
			return true;
	}
	return false;
}

/* Of the three checkpoints, and as it was moved since: see edited.c. */
static bool ever_was(u64 le, u64 entry)
{
	u32 pe = ek_entry_pe(entry), valid = ek_entry_valid(entry);

	if (!entry)
		return true;
	if (!ek_entry_member(entry))
		return pe == le && valid == (u32)le;
	pe -= le % 3 == 2 && le < 400 ? EK_PAGE_BITS : 0;
	return le % 3 && ek_entry_member(entry) == 1 && pe >= le && pe - le < 3 && valid == pe - le;
}

/* Where all of the edits are such as a disk makes.  What is whole is mended, or else refused. */
static void check_damaged(const struct pool_input *in, const struct damage *d,
			  const struct before *after, bool sound, bool written)
{
	u64 le;

	if (d[0].made_up || d[1].made_up)
		return;
	for (le = 0; le < POOL_NR && !d[0].older && !d[1].older; le++)
		MUST(ever_was(le, after->state.map[le]), "%llu: %llx", le, after->state.map[le]);
	if (sound && has_newest(in, d, after->there, false))
		MUST(is_newest(&after->state, in->kind));
	if (!sound && has_newest(in, d, after->there, true))
		MUST(!written, "one area has all that there is");
}

/* ---- the repair ---- */

static uint64_t written(const struct media *m)
{
	return m->writes[0] + m->writes[1];
}

/* Must it be refused before anything is written? */
static bool is_refused(const struct pool *p, const struct repair_how *how)
{
	unsigned int i;

	if (p->conflict)
		return true;
	for (i = 0; i < p->nr_meta && !how->force; i++) {
		if (!p->meta[i].there && !(p->vacant >> i & 1) && !how->degraded)
			return true;
		if (p->meta[i].there && (p->meta[i].area.head_err == -EINVAL ||
					 p->meta[i].area.copy_err == -EINVAL))
			return true;
	}
	return false;
}

/* An EXIT_ value; EXIT_USAGE also if there is nothing to be repaired. */
static int repair(struct media *m, unsigned int areas, const struct repair_how *how)
{
	uint64_t was = written(m);
	bool refused = false;
	struct pools pools;
	struct pool *p;
	int err = EXIT_USAGE;

	devices_use(m, areas);
	p = the_pool(&pools);
	if (p) {
		refused = is_refused(p, how);
		err = repair_pool(p, how);
		MUST(err == EXIT_OK || err == EXIT_FAILED || err == EXIT_USAGE);
		MUST(!refused || err == EXIT_FAILED);
	}
	if (refused || err == EXIT_USAGE)
		MUST(written(m) == was);
	pools_free(&pools);
	return err;
}

/* What is sound, and durable, has nothing left to mend. */
static void check_sound(const struct media *m, unsigned int areas, const struct repair_how *how)
{
	struct media *now = media_crash(m, CRASH_NONE), *then;

	/* An area that was done without is known to be stale from now on: it can be mended. */
	if (how->degraded || how->force)
		MUST(repair(now, areas, how) == EXIT_OK);
	then = media_crash(now, CRASH_NONE);
	MUST(repair(now, areas, how) == EXIT_OK);
	/* A replay flushes, so it is not their number. */
	MUST(same_media(now, then), "mended twice");
	media_free(then);
	media_free(now);
}

/* ---- a cut in it ---- */

static struct {
	uint64_t events, at;
	unsigned int how;
	struct media *left;
} cut;

static void count_event(struct media *m)
{
	if (++cut.events == cut.at)
		cut.left = media_crash(m, cut.how);
}

/* Once to know how many events there are, once to cut it at one of them. */
static void check_cut(const struct media *m, unsigned int areas, const struct repair_how *how,
		      const struct before *b, const struct before *after, unsigned int seed)
{
	static const struct repair_how forced = { .force = true };
	struct media *twin = media_crash(m, CRASH_NONE);
	struct before left;

	memset(&cut, 0, sizeof(cut));
	twin->hook = count_event;
	repair(twin, areas, how);
	media_free(twin);
	if (!cut.events)
		return;
	cut.at = 1 + fuzz_random(&seed, cut.events);
	cut.how = fuzz_random(&seed, CRASH_TORN + 8);
	cut.events = 0;
	twin = media_crash(m, CRASH_NONE);
	twin->hook = count_event;
	repair(twin, areas, how);
	media_free(twin);
	look(cut.left, areas, &left);
	if (b->state.whole && b->agree && left.state.whole)
		MUST(!memcmp(left.state.map, b->state.map, sizeof(b->state.map)), "a cut");
	/* An area that just gets its superblock has none: who repairs is asked about it. */
	MUST(repair(cut.left, areas, how) == EXIT_OK ||
	     repair(cut.left, areas, &forced) == EXIT_OK, "what was mendable before a cut");
	look(cut.left, areas, &left);
	MUST(left.state.whole &&
	     !memcmp(left.state.map, after->state.map, sizeof(left.state.map)), "a cut");
	media_free(cut.left);
}

/* ---- the target ---- */

static void check_repaired(struct media *m, const struct pool_input *in, uint8_t options)
{
	const struct repair_how how = {
		.force = options & FORCE, .degraded = options & DEGRADED,
	};
	struct media *was = media_crash(m, CRASH_NONE), *sample, *left;
	struct damage damage[EK_MAX_META], changed[EK_MAX_META];
	static struct before b, after;
	struct pool_input ignored;
	uint8_t kind = in->kind;
	int err;

	sample = pool_make(&kind, 1, &ignored);
	compare(m, sample, damage);
	look(m, in->areas, &b);
	err = repair(m, in->areas, &how);
	/* The power goes. */
	left = media_crash(m, CRASH_NONE);
	look(left, in->areas, &after);
	if (b.clean && b.there == (1u << m->nr) - 1 && !is_behind(was, sample))
		MUST(err == EXIT_OK && same_media(left, was), "what was clean is changed");
	if (b.state.whole && b.agree)
		MUST(!memcmp(after.state.map, b.state.map, sizeof(b.state.map)), "another map");
	compare(left, was, changed);
	check_damaged(in, damage, &after, err == EXIT_OK,
		      changed[0].part[CORE] || changed[0].part[PAGES] ||
		      changed[1].part[CORE] || changed[1].part[PAGES]);
	if (err == EXIT_OK) {
		MUST(after.faultless && after.state.whole);
		check_sound(left, in->areas, &how);
		if (options & CUT)
			check_cut(was, in->areas, &how, &b, &after, options);
	}
	media_free(left);
	media_free(sample);
	media_free(was);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pool_input in;
	struct media *m;

	devices_labels = true;
	m = pool_make(data, size, &in);
	check_repaired(m, &in, size ? data[0] : 0);
	media_free(m);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	unsigned int rnd = ~seed;

	size = pool_mutate(data, size, max, seed);
	if (size && !fuzz_random(&rnd, 3))
		data[0] = (data[0] & ~(FORCE | DEGRADED | CUT)) | fuzz_random(&rnd, 8) << 5;
	if (!fuzz_random(&rnd, 3))
		pool_damage(data, size);
	if (size && size + 2 * EDIT_SIZE <= max && !fuzz_random(&rnd, 8))
		size = pool_damage_page(data, size, fuzz_random(&rnd, 8), fuzz_random(&rnd, 2));
	else if (size && size + EDIT_SIZE <= max && !fuzz_random(&rnd, 8))
		size = pool_older_page(data, size, fuzz_random(&rnd, 8), fuzz_random(&rnd, 2),
				       fuzz_random(&rnd, 2));
	return size;
}

#define NR_PAGES	5u

/*
 * Those of edited.c, half of them as damage; then pages, of one area and of both; and such as a
 * disk keeps that drops a write.
 */
size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	static const unsigned int pages[NR_PAGES] = { 0, 1, 2, 3, 32 };
	size_t size = pool_corpus(nr, data);
	unsigned int i;

	if (size) {
		if (size > 1)
			data[0] |= (nr & 7) << 5;
		if (nr & 1)
			pool_damage(data, size);
		return size;
	}
	for (i = 0; pool_corpus(i, data); i++)
		;
	nr -= i;
	if (nr >= 2 * NR_PAGES && nr < 2 * NR_PAGES + 4) {
		data[0] = POOL_TWO;
		return pool_older_page(data, 1, 2, nr & 1, nr & 2);
	}
	if (nr >= 2 * NR_PAGES)
		return 0;
	data[0] = nr & 1 ? POOL_TWO : POOL_CLEAN;
	size = pool_damage_page(data, 1, pages[nr / 2], false);
	return nr & 1 ? pool_damage_page(data, size, pages[nr / 2], nr & 2) : size;
}
