// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes a pool's metadata anew from what dump --map printed: superblock, map and, made from the
 * map, space maps.  Labels are not written (see relabel.h): they must be there, and say which pool
 * it is.
 *
 *	the old superblocks are zeroed			from here on no pool: restore again
 *	tables, map and space maps are written,
 *	the superblock that names them is kept back	no pool: an empty one must never be
 *							found, somebody would write to it
 *	all is flushed, the superblock is written	what the dump said
 *
 * An area that fails on the way gets no superblock, and is stale in the other one's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include <evenkeel/entry.h>
#include <evenkeel/label.h>

#include "check.h"
#include "msg.h"
#include "restore.h"
#include "store_io.h"

/* A metadata area as the dump has it. */
struct dumped {
	uint8_t uuid[EK_UUID_SIZE];
	uint64_t sectors;		/* 0: it has not */
};

struct plan {
	const struct pool *pool;
	bool degraded;
	struct dumped meta[EK_MAX_META];
	unsigned int missing;		/* a bit per metadata area that is left out */
	struct ek_store_params p;
	uint32_t state[EK_MAX_MEMBERS];
	char policy[EK_POLICY_TEXT_SIZE];
	uint32_t flags;
	uint64_t generation, journal;	/* blocks in use */
	unsigned int vacant;		/* a bit per place for metadata that has no area */
	bool super, ended;
	u64 *map;
	unsigned long *used[EK_MAX_MEMBERS];
};

#define WORD_BITS	(8 * sizeof(unsigned long))

static int bad(unsigned long line, const char *what)
{
	return fail("line %lu: %s", line, what);
}

/* Numbers are read as wide as there are, so that none is cut off to one that would do. */
static int take_pool(struct plan *plan, const char *text, unsigned long line)
{
	char uuid[40];
	unsigned long long sectors, members, metas;
	const char *at = strstr(text, " extent_sectors ");

	if (plan->super || sscanf(text, "pool %39s", uuid) != 1 || !at ||
	    sscanf(at, " extent_sectors %llu members %llu metadata %llu", &sectors, &members,
		   &metas) != 3 ||
	    uuid_parse(uuid, plan->p.pool_uuid) || sectors > EK_MAX_EXTENT_SECTORS ||
	    members > EK_MAX_MEMBERS || metas > EK_MAX_META)
		return bad(line, "not a pool");
	if (memcmp(plan->p.pool_uuid, plan->pool->uuid, EK_UUID_SIZE))
		return bad(line, "the dump is of another pool");
	plan->p.extent_sectors = sectors;
	plan->p.nr_members = members;
	plan->p.nr_meta = metas;
	return EXIT_OK;
}

/*
 * Of metadata areas only, which may be missing by now.  A path may have anything in it, what comes
 * after it has not.
 */
static void take_label(struct plan *plan, const char *text)
{
	unsigned long long index, sectors;
	const char *at = NULL, *next = text;
	struct dumped label;
	char uuid[40];

	while ((next = strstr(next, " sectors ")))
		at = next++;
	if (!at || sscanf(text, "label %39s role metadata area %llu ", uuid, &index) != 2 ||
	    index >= EK_MAX_META || uuid_parse(uuid, label.uuid) ||
	    sscanf(at, " sectors %llu", &sectors) != 1 || sectors > UINT64_MAX / SECTOR_SIZE)
		return;
	label.sectors = sectors;
	plan->meta[index] = label;
}

/* So many extents the largest metadata area might have room for: a map has two slots for each. */
static uint64_t extents_at_most(const struct pool *pool)
{
	uint64_t sectors = 0;
	unsigned int i;

	for (i = 0; i < EK_MAX_META; i++)
		if (pool->meta[i].there && pool->meta[i].area.info.area_sectors > sectors)
			sectors = pool->meta[i].area.info.area_sectors;
	return sectors * (SECTOR_SIZE / (2 * sizeof(u64)));
}

static int take_super(struct plan *plan, const char *text, unsigned long line)
{
	unsigned long long generation, flags, stale, extents, used = 0, places = 0;
	uint64_t most = extents_at_most(plan->pool);
	const char *at, *vacant;

	if (plan->super || !plan->p.nr_members ||
	    sscanf(text, "superblock generation %llu flags %llx stale %llx extents %llu",
		   &generation, &flags, &stale, &extents) != 4 || !extents)
		return bad(line, "not a superblock");
	if (!most)
		return fail("%s: no metadata area is on the devices", plan->pool->name);
	/* Before there is memory for them. */
	if (extents > most)
		return bad(line, "more extents than the metadata area has room for");
	at = strstr(text, " used ");
	vacant = strstr(text, " vacant ");
	if (vacant && (sscanf(vacant, " vacant %llx", &places) != 1 ||
		       places >= (1u << plan->p.nr_meta) - 1))
		return bad(line, "a superblock with places that are not known");
	if (generation > EK_GENERATION_LATEST)
		return bad(line, "a generation that no pool comes to");
	if ((flags & ~(EK_SUPER_CLEAN | EK_SUPER_NEEDS_CHECK)) ||
	    (at && sscanf(at, " used %llu", &used) != 1))
		return bad(line, "a superblock with flags or a journal that are not known");
	plan->super = true;
	plan->flags = flags;
	plan->vacant = places;
	plan->generation = generation;
	plan->journal = used;
	plan->p.nr_extents = extents;
	plan->map = xcalloc(extents, sizeof(*plan->map));
	return EXIT_OK;
}

static int take_member(struct plan *plan, const char *text, unsigned long line)
{
	unsigned long long i, extents, state;
	char uuid[40];

	if (sscanf(text, "member %llu extents %llu state %llu uuid %39s", &i, &extents, &state,
		   uuid) != 4 ||
	    i >= plan->p.nr_members || plan->used[i] || !extents ||
	    extents > EK_MAX_MEMBER_EXTENTS || state > EK_MEMBER_REMOVED ||
	    uuid_parse(uuid, plan->p.member_uuid[i]))
		return bad(line, "not a member");
	plan->p.member_extents[i] = extents;
	plan->state[i] = state;
	plan->used[i] = xcalloc(extents / WORD_BITS + 1, sizeof(unsigned long));
	return EXIT_OK;
}

static int take_extent(struct plan *plan, const char *text, unsigned long line)
{
	unsigned long long le, m, pe, valid;
	unsigned long *word, bit;

	if (sscanf(text, "extent %llu member %llu physical %llu valid %llx", &le, &m, &pe,
		   &valid) != 4 ||
	    !plan->super || le >= plan->p.nr_extents || m >= plan->p.nr_members || !plan->used[m] ||
	    pe >= plan->p.member_extents[m] || valid >> ek_granules(plan->p.extent_sectors) ||
	    plan->state[m] == EK_MEMBER_REMOVED)
		return bad(line, "not an extent that the pool could have");
	word = &plan->used[m][pe / WORD_BITS];
	bit = 1ul << pe % WORD_BITS;
	if (plan->map[le] || *word & bit)
		return bad(line, "an extent or its place is there twice");
	*word |= bit;
	plan->map[le] = ek_entry_make(m, pe, valid);
	return EXIT_OK;
}

static int take_policy(struct plan *plan, const char *text, unsigned long line)
{
	if (strlen(text) >= sizeof(plan->policy) + 7)
		return bad(line, "policy too long");
	strcpy(plan->policy, text + 7);
	plan->p.policy = plan->policy;
	return EXIT_OK;
}

static int take(struct plan *plan, const char *text, unsigned long line)
{
	if (plan->ended)
		return bad(line, "something after the end");
	if (!strncmp(text, "pool ", 5))
		return take_pool(plan, text, line);
	if (!strncmp(text, "label ", 6)) {
		take_label(plan, text);
		return EXIT_OK;
	}
	if (!strncmp(text, "superblock ", 11))
		return take_super(plan, text, line);
	if (!strncmp(text, "policy ", 7))
		return take_policy(plan, text, line);
	if (!strncmp(text, "member ", 7))
		return take_member(plan, text, line);
	if (!strncmp(text, "extent ", 7))
		return take_extent(plan, text, line);
	plan->ended = !strcmp(text, "end");
	return plan->ended ? EXIT_OK : bad(line, "not known");
}

static int read_dump(struct plan *plan, FILE *dump)
{
	unsigned long line = 0;
	unsigned int i;
	size_t size = 0;
	char *text = NULL;
	int err = EXIT_OK;

	while (!err && getline(&text, &size, dump) >= 0) {
		text[strcspn(text, "\n")] = 0;
		err = take(plan, text, ++line);
	}
	free(text);
	if (!err && !plan->ended)
		err = fail("the dump has no end: was it made with --map?");
	for (i = 0; !err && i < plan->p.nr_members; i++)
		if (!plan->used[i])
			err = fail("the dump has no member %u", i);
	return err;
}

/* Has that area a superblock, whatever it says otherwise?  One that is not known is one, too. */
static bool has_super(const struct pool *pool, unsigned int i)
{
	struct ek_super *sb = bdev_buffer(sizeof(*sb));
	struct pool one = { .nr_meta = pool->nr_meta };
	struct store_io io;
	bool has = true, untold = true;

	one.meta[i] = pool->meta[i];
	if (!store_io_open(&io, &one)) {
		has = !ek_store_peek(&store_io_ops, &io, io.bytes, io.areas, sb, &untold) || untold;
		store_io_close(&io);
	}
	free(sb);
	return has;
}

/*
 * Places where the dump has no area.  One that stands there would be believed beside what is
 * restored, or instead; a label alone, of a move that was cut short, is nothing where the dump has
 * no place at all.
 */
static int judge_vacant(const struct plan *plan)
{
	const struct pool *pool = plan->pool;
	unsigned int i;

	for (i = 0; i < EK_MAX_META; i++)
		if (pool->meta[i].there && (i < plan->p.nr_meta ? plan->vacant >> i & 1 :
					    has_super(pool, i)))
			return fail("%s: carries metadata area %u, which the dump does not have: leave it out of the command, or wipe it",
				    pool->meta[i].path, i);
	return EXIT_OK;
}

static uint64_t area_sectors(const struct plan *plan, unsigned int i)
{
	const struct pool *pool = plan->pool;

	if (!(plan->vacant >> i & 1) && pool->meta[i].there)
		return pool->meta[i].area.info.area_sectors;
	if (plan->missing >> i & 1 && plan->meta[i].sectors)
		return plan->meta[i].sectors;
	/* As large as the other one: nothing is written there. */
	return pool->meta[!i].area.info.area_sectors;
}

static int judge_meta(struct plan *plan, unsigned int i)
{
	const struct pool_area *a = &plan->pool->meta[i];

	if (plan->vacant >> i & 1)
		return EXIT_OK;
	if (!a->there && !plan->degraded)
		return fail("%s: metadata area %u is not on the devices (--degraded does without)",
			    plan->pool->name, i);
	if (!a->there)
		plan->missing |= 1u << i;
	else if (a->area.head_err)
		return fail("%s: label of metadata area %u is %s (see repair)", a->path, i,
			    area_label_error(a->area.head_err));
	return EXIT_OK;
}

/* One at least is written. */
static int judge_metas(struct plan *plan)
{
	unsigned int i;

	for (i = 0; i < plan->p.nr_meta; i++)
		if (judge_meta(plan, i))
			return EXIT_FAILED;
	if ((plan->vacant | plan->missing) == (1u << plan->p.nr_meta) - 1)
		return fail("%s: no metadata area of the dump is on the devices", plan->pool->name);
	for (i = 0; i < plan->p.nr_meta; i++)
		plan->p.area_bytes[i] = area_sectors(plan, i) * SECTOR_SIZE;
	return EXIT_OK;
}

/*
 * Are the devices the ones that the dump is of?  How many metadata areas there are is more than the
 * labels know if one came later, and less if one was to come.
 */
static int judge(struct plan *plan)
{
	const struct pool *pool = plan->pool;
	unsigned int i;

	if (!plan->super || !plan->p.policy)
		return fail("the dump has no superblock or policy");
	if (plan->p.extent_sectors != pool->extent_sectors)
		return fail("%s: labels and dump do not agree", pool->name);
	if (judge_vacant(plan) || judge_metas(plan))
		return EXIT_FAILED;
	for (i = 0; i < plan->p.nr_members && i < pool->nr_members; i++)
		if (pool->member[i].there && plan->state[i] != EK_MEMBER_REMOVED &&
		    memcmp(pool->member[i].area.info.area_uuid, plan->p.member_uuid[i],
			   EK_UUID_SIZE))
			return fail("%s: is not the dump's member %u", pool->member[i].path, i);
	return EXIT_OK;
}

/*
 * Neither superblock of that area is sound, and they are not blank, as what a format or a restore
 * that was cut has left: what they said nobody knows.
 */
static bool is_spoiled(struct store_io *io, unsigned int i)
{
	struct ek_super *sb = bdev_buffer(sizeof(*sb));
	const char *reason;
	struct ek_store *store;
	bool is;

	/* Without one that is sound nothing is opened. */
	is = ek_store_peek(&store_io_ops, io, io->bytes, 1u << i, sb, NULL) == -ENODATA &&
	     ek_store_open(&store_io_ops, io, io->bytes, 1u << i, &store, &reason) != -ENODATA;
	free(sb);
	return is;
}

static int may_be_newer(const struct plan *plan)
{
	return fail("%s: a superblock is damaged or can't be read, or is of an unknown version, and may be newer than the dump; see check and repair, or use --force",
		    plan->pool->name);
}

static int is_newer(const struct plan *plan, uint64_t generation, const char *what)
{
	return fail("%s: its metadata is newer (generation %llu%s) than the dump (%llu); see check and repair, or use --force",
		    plan->pool->name, (unsigned long long)generation, what,
		    (unsigned long long)plan->generation);
}

/*
 * It can't be used as it is.  A superblock that was not closed has a journal after it, of which
 * nobody knows by now whether it is what the dump has.
 */
static int judge_damaged(const struct plan *plan, struct store_io *io)
{
	struct ek_super *sb = bdev_buffer(sizeof(*sb));
	bool untold = false;
	int err = ek_store_peek(&store_io_ops, io, io->bytes, io->areas, sb, &untold);
	uint64_t generation = err ? 0 : le64_to_cpu(sb->generation);
	bool clean = !err && le32_to_cpu(sb->flags) & EK_SUPER_CLEAN;
	unsigned int i;

	free(sb);
	for (i = 0; i < EK_MAX_META; i++)
		if (io->areas >> i & 1)
			untold |= is_spoiled(io, i);
	if (untold)
		return may_be_newer(plan);
	if (generation > plan->generation)
		return is_newer(plan, generation, "");
	if (generation == plan->generation && !clean)
		return is_newer(plan, generation, ", and it was not closed: it may be");
	return EXIT_OK;
}

/*
 * Within a generation the journal only gets longer.  It was opened by one area: what the other one
 * would say, if it could, may be that it went on alone.
 */
static int judge_open(const struct plan *plan, struct pool *pool, const struct store_io *io,
		      struct ek_store *store)
{
	uint64_t generation = ek_store_generation(store), used = ek_store_journal_used(store);
	struct check c;
	int err;

	if (ek_store_untold(store) & io->areas)
		return may_be_newer(plan);
	if (generation > plan->generation)
		return is_newer(plan, generation, "");
	if (generation == plan->generation && used > plan->journal)
		return is_newer(plan, generation, ", with a longer journal");
	err = check_pool(&c, pool);
	if (err)
		return EXIT_OK;
	err = c.errors.nr ? EXIT_OK : fail("%s: its metadata is sound, nothing has to be restored (use --force)",
					   pool->name);
	findings_free(&c.errors);
	findings_free(&c.warnings);
	return err;
}

/* What is there and better than the dump, which is true only until the volume was active again. */
static int judge_present(const struct plan *plan, struct pool *pool)
{
	struct ek_store *store;
	struct store_io io;
	int err;

	if (store_io_open(&io, pool))
		return EXIT_USAGE;
	if (ek_store_open_named(&store_io_ops, &io, io.bytes, store_io_uuids(&io), io.areas, &store,
				&(const char *){ NULL })) {
		err = judge_damaged(plan, &io);
		store_io_close(&io);
		return err;
	}
	err = judge_open(plan, pool, &io, store);
	store_close(&io, store);
	return err;
}

/* --- the superblocks, kept back until all that they name is written --- */

struct kept {
	struct store_io io;
	unsigned int without;			/* areas that are none: not written, and blank */
	unsigned int failed;			/* areas with an I/O error */
	struct ek_super super[EK_MAX_META];	/* of the highest generation */
	u64 offset[EK_MAX_META];
	bool there[EK_MAX_META];
};

#define SUPERS_END	(EK_AREA_HEAD_BYTES + (128u << 10))

/* Whole areas of zeroes are written in larger pieces. */
static bool is_super(u64 offset, size_t len)
{
	return offset >= EK_AREA_HEAD_BYTES && offset < SUPERS_END &&
	       len == sizeof(struct ek_super);
}

static int noted(struct kept *k, unsigned int area, int err)
{
	if (err)
		k->failed |= 1u << area;
	return err;
}

static int kept_read(void *ctx, unsigned int area, u64 offset, void *buf, size_t len)
{
	struct kept *k = ctx;

	if (k->without >> area & 1) {
		memset(buf, 0, len);
		return 0;
	}
	if (k->there[area] && offset == k->offset[area] && len == sizeof(struct ek_super)) {
		memcpy(buf, &k->super[area], len);
		return 0;
	}
	return noted(k, area, store_io_rw.read(&k->io, area, offset, buf, len));
}

static int kept_write(void *ctx, unsigned int area, u64 offset, const void *buf, size_t len,
		      unsigned int flags)
{
	struct kept *k = ctx;

	if (k->without >> area & 1)
		return 0;
	/* One without its head is none yet, or none any more. */
	if (!is_super(offset, len) ||
	    le64_to_cpu(((const struct ek_super *)buf)->magic) != EK_SUPER_MAGIC)
		return noted(k, area, store_io_rw.write(&k->io, area, offset, buf, len, flags));
	memcpy(&k->super[area], buf, len);
	k->offset[area] = offset;
	k->there[area] = true;
	return 0;
}

static int kept_wait(void *ctx, unsigned int area)
{
	struct kept *k = ctx;

	return k->without >> area & 1 ? 0 : noted(k, area, store_io_rw.wait(&k->io, area));
}

static int kept_flush(void *ctx, unsigned int area)
{
	struct kept *k = ctx;

	return k->without >> area & 1 ? 0 : noted(k, area, store_io_rw.flush(&k->io, area));
}

static const struct ek_store_io kept_io = {
	.read = kept_read, .write = kept_write, .wait = kept_wait, .flush = kept_flush,
};

/* The first sector last, as when a pool is made: a torn write is no pool. */
static int write_super(struct kept *k, unsigned int area)
{
	struct ek_super headless = k->super[area];
	int err;

	memset(&headless, 0, SECTOR_SIZE);
	err = store_io_rw.write(&k->io, area, k->offset[area], &headless, sizeof(headless),
				EK_IO_PREFLUSH | EK_IO_FUA);
	if (!err)
		err = store_io_rw.write(&k->io, area, k->offset[area], &k->super[area],
					sizeof(headless), EK_IO_PREFLUSH | EK_IO_FUA);
	return noted(k, area, err);
}

/* What is kept for an area that was dropped since is that of an empty pool. */
static int write_supers(struct kept *k, unsigned int areas)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < EK_MAX_META; i++)
		if (areas >> i & 1)
			err = k->there[i] ? kept_flush(k, i) : -EIO;
	for (i = 0; !err && i < EK_MAX_META; i++)
		if (areas >> i & 1)
			err = write_super(k, i);
	return err;
}

static int no_map(void *ctx, u64 le, u64 entry)
{
	(void)ctx;
	(void)le;
	(void)entry;
	return -EUCLEAN;
}

static int no_free(void *ctx, unsigned int member, u32 pe, u32 count)
{
	(void)ctx;
	(void)member;
	(void)pe;
	(void)count;
	return -EUCLEAN;
}

static int write_map(const struct plan *plan, struct ek_store *store, struct ek_page *page)
{
	u64 le, n = plan->p.nr_extents;
	int err = 0;

	for (le = 0; !err && le < n; le++) {
		page->entry[le % EK_PAGE_ENTRIES] = cpu_to_le64(plan->map[le]);
		if ((le + 1) % EK_PAGE_ENTRIES && le + 1 < n)
			continue;
		err = ek_store_ckpt_page(store, le / EK_PAGE_ENTRIES, page);
		memset(page, 0, sizeof(*page));
	}
	return err;
}

static int write_space(const struct plan *plan, struct ek_store *store, unsigned int m,
		       struct ek_page *page)
{
	u32 pe, nr = plan->p.member_extents[m];
	int err = 0;

	memset(page, 0, sizeof(*page));
	for (pe = 0; !err && pe < nr; pe++) {
		u32 n = pe % EK_PAGE_BITS;

		if (plan->used[m][pe / WORD_BITS] >> pe % WORD_BITS & 1)
			page->entry[n / 64] |= cpu_to_le64(1ull << n % 64);
		if (n + 1 < EK_PAGE_BITS && pe + 1 < nr)
			continue;
		err = ek_store_ckpt_page(store,
					 ek_store_space_index(store, m, pe / EK_PAGE_BITS), page);
		memset(page, 0, sizeof(*page));
	}
	return err;
}

static int fill(const struct plan *plan, struct ek_store *store)
{
	struct ek_page *page = bdev_buffer(sizeof(*page));
	unsigned int m;
	int err;

	err = ek_store_replay(store, no_map, no_free, NULL);
	if (!err)
		err = ek_store_ckpt_begin(store);
	if (!err)
		err = write_map(plan, store, page);
	for (m = 0; !err && m < plan->p.nr_members; m++) {
		err = write_space(plan, store, m, page);
		if (!err)
			err = ek_store_set_member_state(store, m, plan->state[m]);
	}
	if (!err)
		err = ek_store_ckpt_commit(store, plan->flags);
	free(page);
	return err;
}

/*
 * Later than all that there was: another dump of this pool, of before, is older than what is
 * written now, and so is a page that an earlier life left in a slot.  An area that can't tell may
 * have been further than the other one: further than any pool comes to by itself.
 */
#define UNKNOWN		(1ull << 32)

static uint64_t next_generation(const struct plan *plan, struct store_io *io)
{
	struct ek_super *sb = bdev_buffer(sizeof(*sb));
	uint64_t latest = plan->generation, ahead = 2;	/* its two slots are one apart */
	unsigned int i;

	for (i = 0; i < plan->p.nr_meta; i++) {
		if (plan->vacant >> i & 1 && !(io->areas >> i & 1))
			continue;
		if (ek_store_peek(&store_io_ops, io, io->bytes, 1u << i, sb, NULL))
			ahead = UNKNOWN;
		else if (le64_to_cpu(sb->generation) > latest)
			latest = le64_to_cpu(sb->generation);
	}
	free(sb);
	return latest + ahead;
}

/* All but the superblocks, to @areas; those that failed are taken from it. */
static int write_kept(const struct plan *plan, struct kept *k, unsigned int *areas)
{
	const char *reason = NULL;
	struct ek_store *store;
	int err;

	err = ek_store_format(&kept_io, k, &plan->p);
	if (!err)
		err = ek_store_open(&kept_io, k, k->io.bytes, *areas, &store, &reason);
	if (err)
		return err;
	err = fill(plan, store);
	*areas = ek_store_areas(store);
	ek_store_close(store);
	return err;
}

static void tell_without(const struct plan *plan, unsigned int areas)
{
	unsigned int i;

	for (i = 0; i < EK_MAX_META; i++)
		if (areas >> i & 1)
			warn("%s: metadata area %u %s, and is stale: restored without it",
			     plan->pool->name, i,
			     plan->missing >> i & 1 ? "is not there" : "can't be written");
}

/*
 * @areas: likewise.  Where the store can't go on without an area that failed, it is begun again:
 * its first writes, and the superblocks, are to be on all areas.
 */
static int write_areas(const struct plan *plan, struct kept *k, unsigned int *areas)
{
	unsigned int left;
	int err;

	do {
		memset(k->there, 0, sizeof(k->there));
		left = *areas & ~k->without;
		err = write_kept(plan, k, &left);
		if (!err)
			err = write_supers(k, left);
		k->without |= k->failed;
	} while (err && plan->degraded && k->failed & left && *areas & ~k->without);
	*areas = left;
	return err;
}

/* As the labels have them: the pool's own, as when it was made, need not be said. */
static void name_areas(struct plan *plan, const struct store_io *io)
{
	const u8 *uuid;
	unsigned int i;

	for (i = 0; i < plan->p.nr_meta; i++) {
		uuid = plan->missing >> i & 1 ? plan->meta[i].uuid : io->uuid[i];
		if (plan->vacant >> i & 1)
			memset(plan->p.meta_uuid[i], 0xff, EK_UUID_SIZE);
		else if (memcmp(uuid, plan->p.pool_uuid, EK_UUID_SIZE))
			memcpy(plan->p.meta_uuid[i], uuid, EK_UUID_SIZE);
	}
}

static int write_all(struct plan *plan, struct kept *k)
{
	unsigned int areas, left;
	int err;

	plan->p.generation = next_generation(plan, &k->io);
	/* One that comes to the last generation is not opened any more. */
	if (plan->p.generation > EK_GENERATION_LATEST - UNKNOWN)
		return fail("%s: there are too few generations that are later than the dump and what was there",
			    plan->pool->name);
	name_areas(plan, &k->io);
	k->without = plan->vacant | plan->missing;
	areas = k->io.areas & ~k->without;
	left = areas;
	err = write_areas(plan, k, &left);
	if (err)
		return fail("%s: can't be written: %s", plan->pool->name, strerror(-err));
	tell_without(plan, plan->missing | (areas & ~left));
	return areas == left || plan->degraded ? EXIT_OK : EXIT_FAILED;
}

static int open_and_write(struct plan *plan)
{
	struct pool pool = *plan->pool;
	struct kept *k = xcalloc(1, sizeof(*k));
	int err = EXIT_USAGE;

	/* Places that the dump does not have. */
	pool.nr_meta = plan->p.nr_meta;
	if (!store_io_open_rw(&k->io, &pool)) {
		err = write_all(plan, k);
		store_io_close(&k->io);
	}
	free(k);
	return err;
}

int restore_pool(struct pool *pool, FILE *dump, const struct restore_how *how)
{
	struct plan plan = { .pool = pool, .degraded = how->degraded };
	unsigned int i;
	int err;

	if (pool->conflict)
		return fail("%s: %s", pool->name, pool->conflict);
	err = read_dump(&plan, dump);
	if (!err)
		err = judge(&plan);
	if (!err && !how->force)
		err = judge_present(&plan, pool);
	if (!err)
		err = open_and_write(&plan);
	free(plan.map);
	for (i = 0; i < EK_MAX_MEMBERS; i++)
		free(plan.used[i]);
	return err;
}
