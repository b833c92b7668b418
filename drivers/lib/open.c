// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: which area is believed
 *
 * Each area is judged alone first: superblock, page table, journal.  Then, of two
 * sound ones:
 *
 *	one names the other stale:	it went on without the other; the other is out
 *	each names the other:		both went on alone: refused, no way to merge
 *	neither:			the higher generation, then the longer journal.
 *
 * A crash explains one generation or one transaction of difference, as every write
 * went to both before anybody was told; replay levels that.  More means that an area
 * lost what it called durable: it is left out.
 *
 * A superblock is begun when the transaction before it is on both, so one that is a generation
 * ahead with the shorter journal of the two lost the rest of it.  It gets that from the other one:
 * believed as it is, it would take back what was acknowledged.
 *
 * An area of which the table or the journal can't be used still has a superblock that tells which
 * of the two is the newer.  If that is the damaged one the pool is refused: the other one is
 * of some time ago, and whoever goes on from there reads what was freed since, and overwrites what
 * was acknowledged.
 *
 * Where neither of an area's superblocks is whole, nobody knows whether it was the other one that
 * was left out: ek_store_untold() tells, and whoever opened it decides.  A cut leaves such an area
 * only where it just gets its first one, so the other one goes on.  A superblock that can't be read
 * is another matter: it may be the one that says so (ek_store_unread()).
 *
 * An area's label has a uuid, a superblock the uuids of the areas that are the mirrors.  One that
 * was replaced while it could not be told (it was gone, or the power went) has the superblock of
 * that time.  It is as sound as it was, so nothing but the other one's superblock tells:
 *
 *	one calls the other stale and	it was replaced, or is to replace another and its first
 *	does not name it		superblock came to it alone: out
 *	the later one does not name	it was replaced: out
 *	the earlier
 *	the same, but the earlier one	it went on alone after it was replaced, as somebody had the
 *	calls the other stale		other one left out: refused
 *	the earlier one does not name	likewise, and went on for longer than the other: refused
 *	the later
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <evenkeel/label.h>
#include "store_internal.h"

/**
 * struct ek_scan - what one area says
 * @err: 0, or why it can't be used; -ENODATA: nothing, or a format cut short
 * @reason: text for @err
 * @told: its superblock is sound, whatever else is not
 * @unread: one of its superblocks can't be read, and may be of the generation behind @sb
 * @sb: its superblock
 * @geo: as @sb says
 * @table: its page table
 * @block: its journal
 * @journal: the valid prefix of that
 * @whole: journal blocks that the area itself has of @journal
 */
struct ek_scan {
	int err;
	const char *reason;
	bool told;
	bool unread;
	struct ek_super *sb;
	struct ek_geometry geo;
	u8 *table;
	struct ek_journal_block *block;
	struct ek_journal journal;
	u64 whole;
};

struct ek_opening {
	const struct ek_store_io *io;
	void *ctx;
	const u8 (*uuid)[EK_UUID_SIZE];		/* in the labels; NULL: not known */
	struct ek_scan scan[EK_MAX_META];
};

static int ek_fail(struct ek_scan *scan, int err, const char *reason)
{
	scan->err = err;
	scan->reason = reason;
	return err;
}

static int ek_read_chunked(struct ek_opening *o, unsigned int area, u64 offset, void *buf,
			   u64 len)
{
	int r = 0;

	while (len && !r) {
		size_t n = min_t(u64, len, EK_READ_CHUNK);

		r = o->io->read(o->ctx, area, offset, buf, n);
		offset += n;
		buf += n;
		len -= n;
	}
	return r;
}

/*
 * Neither has its first sector: only what never was a pool looks so, or a format that was cut
 * short, which takes that sector of the old superblocks away before it touches anything else and
 * writes the one of the new superblock last.  In use, no more than one of the two is being written.
 */
static bool ek_supers_blank(const struct ek_super *sb)
{
	return !memchr_inv(sb, 0, 1u << EK_SECTOR_SHIFT) &&
	       !memchr_inv(sb + 1, 0, 1u << EK_SECTOR_SHIFT);
}

/* Pick the newer superblock of the two in @sb into @sb[0]. */
static int ek_scan_pick(struct ek_scan *scan, struct ek_super *sb, u64 area_bytes)
{
	const char *reason[2];
	int err[2];

	err[0] = ek_super_check(sb, 0, area_bytes, &reason[0]);
	err[1] = ek_super_check(sb + 1, 1, area_bytes, &reason[1]);
	if (err[0] == -ENODATA && err[1] == -ENODATA) {
		if (ek_supers_blank(sb))
			return ek_fail(scan, -ENODATA, "no superblock");
		return ek_fail(scan, -EUCLEAN, reason[0]);
	}
	/* Whole but impossible or unknown: neither torn nor to be passed over. */
	if (err[0] && err[0] != -ENODATA)
		return ek_fail(scan, err[0], reason[0]);
	if (err[1] && err[1] != -ENODATA)
		return ek_fail(scan, err[1], reason[1]);
	if (err[0] || (!err[1] && le64_to_cpu(sb[1].generation) > le64_to_cpu(sb[0].generation)))
		memcpy(sb, sb + 1, sizeof(*sb));
	return 0;
}

static const char ek_unread[] = "superblock can't be read";

static int ek_scan_super(struct ek_opening *o, unsigned int area, u64 area_bytes)
{
	static const u64 offset[] = { EK_SUPER0_OFFSET, EK_SUPER1_OFFSET };
	struct ek_scan *scan = &o->scan[area];
	unsigned int i;
	int r;

	if (area_bytes < EK_TABLES_OFFSET)
		return ek_fail(scan, -EUCLEAN, "metadata area too small");
	scan->sb = kzalloc(2 * sizeof(*scan->sb), GFP_KERNEL);
	if (!scan->sb)
		return ek_fail(scan, -ENOMEM, "out of memory");
	for (i = 0; i < 2; i++)
		if (o->io->read(o->ctx, area, offset[i], scan->sb + i, sizeof(*scan->sb))) {
			memset(scan->sb + i, 0, sizeof(*scan->sb));
			scan->unread = true;
		}
	r = ek_scan_pick(scan, scan->sb, area_bytes);
	/* Blank is what could be read only. */
	return scan->unread && r == -ENODATA ? ek_fail(scan, -EIO, ek_unread) : r;
}

static int ek_scan_table(struct ek_opening *o, unsigned int area)
{
	struct ek_scan *scan = &o->scan[area];
	unsigned int slot = ek_generation_slot(le64_to_cpu(scan->sb->generation));
	u64 i;

	scan->table = kvmalloc(scan->geo.table_bytes, GFP_KERNEL);
	if (!scan->table)
		return ek_fail(scan, -ENOMEM, "out of memory");
	if (ek_read_chunked(o, area, scan->geo.table_offset[slot], scan->table,
			    scan->geo.table_bytes))
		return ek_fail(scan, -EIO, "page table can't be read");
	if (ek_table_checksum(scan->table, scan->geo.table_bytes) !=
	    le32_to_cpu(scan->sb->table_csum))
		return ek_fail(scan, -EUCLEAN, "page table damaged");
	for (i = 0; i < scan->geo.nr_pages; i++)
		if (ek_table_get(scan->table, i) > EK_PAGE_SLOT1)
			return ek_fail(scan, -EUCLEAN, "page table with an impossible state");
	return 0;
}

static int ek_scan_journal(struct ek_opening *o, unsigned int area)
{
	struct ek_scan *scan = &o->scan[area];
	u64 bytes = scan->geo.journal_blocks * EK_BLOCK_SIZE;

	scan->block = kvmalloc(bytes, GFP_KERNEL);
	if (!scan->block)
		return ek_fail(scan, -ENOMEM, "out of memory");
	if (ek_read_chunked(o, area, scan->geo.journal_offset, scan->block, bytes))
		return ek_fail(scan, -EIO, "journal can't be read");
	if (ek_journal_scan(scan->block, scan->geo.journal_blocks,
			    le64_to_cpu(scan->sb->journal_generation), &scan->journal))
		return ek_fail(scan, -EUCLEAN, "journal damaged, or superblock lost");
	scan->whole = scan->journal.used;
	return 0;
}

static void ek_scan_area(struct ek_opening *o, unsigned int area, u64 area_bytes)
{
	struct ek_scan *scan = &o->scan[area];

	if (ek_scan_super(o, area, area_bytes))
		return;
	ek_super_geometry(scan->sb, &scan->geo);
	if (le32_to_cpu(scan->sb->nr_meta) <= area) {
		ek_fail(scan, -EUCLEAN, "more metadata areas than the pool has");
		return;
	}
	if (le32_to_cpu(scan->sb->meta_stale) & 1u << area) {
		ek_fail(scan, -EUCLEAN, "superblock of an area that calls itself stale");
		return;
	}
	if (o->uuid && !ek_super_names(scan->sb, area, o->uuid[area])) {
		ek_fail(scan, -EUCLEAN, "superblock of another metadata area");
		return;
	}
	scan->told = true;
	if (scan->unread) {
		ek_fail(scan, -EIO, ek_unread);
		return;
	}
	if (ek_scan_table(o, area))
		return;
	ek_scan_journal(o, area);
}

/* Laid out alike; the later of the two may have more members and places, and a longer map. */
static bool ek_same_pool(const struct ek_scan *a, const struct ek_scan *b)
{
	struct ek_geometry geo = b->geo;
	s64 members = le32_to_cpu(a->sb->nr_members) - (s64)le32_to_cpu(b->sb->nr_members);
	s64 extents = a->geo.nr_extents - b->geo.nr_extents;
	s64 places = le32_to_cpu(a->sb->nr_meta) - (s64)le32_to_cpu(b->sb->nr_meta);
	s64 ahead = le64_to_cpu(a->sb->generation) - le64_to_cpu(b->sb->generation);

	if (ahead < 0) {
		members = -members;
		extents = -extents;
		places = -places;
	}
	if (ahead ? members < 0 || extents < 0 || places < 0 : members || extents || places)
		return false;
	geo.nr_extents = a->geo.nr_extents;
	return !memcmp(a->sb->pool_uuid, b->sb->pool_uuid, EK_UUID_SIZE) &&
	       !memcmp(&a->geo, &geo, sizeof(geo));
}

/* Newer first, then longer. */
static bool ek_newer(const struct ek_scan *a, const struct ek_scan *b)
{
	u64 ga = le64_to_cpu(a->sb->generation), gb = le64_to_cpu(b->sb->generation);

	if (ga != gb)
		return ga > gb;
	return a->journal.transactions > b->journal.transactions;
}

/* Does @longer begin with all that @scan has of the same journal? */
static bool ek_begins_with(const struct ek_scan *longer, const struct ek_scan *scan)
{
	u64 used = scan->journal.used;

	return longer->sb->journal_generation == scan->sb->journal_generation &&
	       longer->journal.used >= used &&
	       scan->journal.last_csum == (used ? le32_to_cpu(longer->block[used - 1].csum) : 0);
}

/* @new is a superblock ahead of @old: give it what it lost of the journal that it had by then. */
static void ek_complete_journal(struct ek_scan *new, const struct ek_scan *old)
{
	if (le64_to_cpu(new->sb->generation) - le64_to_cpu(old->sb->generation) != 1 ||
	    !ek_begins_with(old, new))
		return;
	memcpy(new->block + new->whole, old->block + new->whole,
	       (old->journal.used - new->whole) * EK_BLOCK_SIZE);
	new->journal = old->journal;
}

/*
 * Does a crash explain how @old differs from @new?  Levelling then needs no pages:
 * both were flushed before the newer superblock was written.
 */
static bool ek_can_level(const struct ek_scan *new, const struct ek_scan *old)
{
	u64 ahead = le64_to_cpu(new->sb->generation) - le64_to_cpu(old->sb->generation);

	if (ahead > 1)
		return false;
	if (new->sb->journal_generation != old->sb->journal_generation)
		return ahead == 1 && !new->journal.used;
	if (old->journal.transactions > new->journal.transactions ||
	    new->journal.transactions - old->journal.transactions > 1)
		return false;
	/* A superblock is begun when the transaction before it is on both. */
	if (ahead && new->journal.transactions != old->journal.transactions)
		return false;
	if (!ahead && memcmp(new->sb, old->sb, sizeof(*new->sb)))
		return false;
	return ek_begins_with(new, old);
}

static int ek_pick_error(struct ek_opening *o, unsigned int areas, const char **reason)
{
	static const int worst[] = { -ENOMEM, -EPROTONOSUPPORT, -EUCLEAN, -EIO, -ENODATA };
	unsigned int i, area;

	for (i = 0; i < ARRAY_SIZE(worst); i++)
		for (area = 0; area < EK_MAX_META; area++)
			if (areas & 1u << area && o->scan[area].err == worst[i]) {
				*reason = o->scan[area].reason;
				return worst[i];
			}
	*reason = "no metadata area";
	return -EIO;
}

static bool ek_names_stale(const struct ek_scan *scan, unsigned int area)
{
	return scan->told && le32_to_cpu(scan->sb->meta_stale) & 1u << area;
}

static bool ek_names(struct ek_opening *o, unsigned int by, unsigned int area)
{
	return !o->uuid || ek_super_names(o->scan[by].sb, area, o->uuid[area]);
}

/* Does @area call stale whom it does not name, but is named by? */
static bool ek_is_without(struct ek_opening *o, unsigned int area)
{
	return ek_names_stale(&o->scan[area], !area) && !ek_names_stale(&o->scan[!area], area) &&
	       !ek_names(o, area, !area) && ek_names(o, !area, area);
}

/*
 * Superblocks of both are sound, and one does not name the other.  Return: the one that counts;
 * -EUCLEAN: nobody knows which of the two has everything.
 */
static int ek_judge_replaced(struct ek_opening *o)
{
	u64 g0 = le64_to_cpu(o->scan[0].sb->generation);
	u64 g1 = le64_to_cpu(o->scan[1].sb->generation);
	unsigned int later = g1 > g0;

	if (ek_is_without(o, 0))
		return 0;
	if (ek_is_without(o, 1))
		return 1;
	/* It is of before the pool had a place for the later one. */
	if (g0 != g1 && le32_to_cpu(o->scan[!later].sb->nr_meta) <= later)
		return later;
	if (g0 == g1 || ek_names(o, later, !later) || ek_names_stale(&o->scan[!later], later))
		return -EUCLEAN;
	/* Neither knows the other one: it may be the later one that was replaced. */
	if (!ek_names(o, !later, later) && ek_names_stale(&o->scan[later], !later))
		return -EUCLEAN;
	return later;
}

/* The other area can't be used.  Is @lead all that the pool has, or of some time ago? */
static int ek_judge_left(struct ek_opening *o, unsigned int lead, const char **reason)
{
	struct ek_scan *sound = &o->scan[lead], *other = &o->scan[!lead];
	u64 generation = le64_to_cpu(sound->sb->generation);

	/* The other one is blank and this one never used: a format cut short. */
	if (other->err == -ENODATA && generation == 1 && !sound->journal.used &&
	    le32_to_cpu(sound->sb->nr_meta) == EK_MAX_META) {
		*reason = "no superblock";
		return -ENODATA;
	}
	/* It may call the other one stale because it was replaced, and went on alone. */
	if (ek_names_stale(sound, !lead) && !ek_names_stale(other, lead) &&
	    (!other->told || ek_names(o, !lead, lead)))
		return 0;
	if (other->err == -EPROTONOSUPPORT) {
		*reason = other->reason;
		return -EPROTONOSUPPORT;
	}
	if (!other->told || memcmp(sound->sb->pool_uuid, other->sb->pool_uuid, EK_UUID_SIZE))
		return 0;
	if (!ek_names(o, lead, !lead) && ek_judge_replaced(o) == (int)lead)
		return 0;
	*reason = "the newer metadata area is damaged, the other one is stale";
	/* It was replaced, whatever it has done since. */
	if (!ek_names(o, !lead, lead))
		return -EUCLEAN;
	if (ek_names_stale(other, lead) || le64_to_cpu(other->sb->generation) > generation + 1)
		return -EUCLEAN;
	return 0;
}

/* Both are sound. */
static int ek_judge_both(struct ek_opening *o, unsigned int *lead, unsigned int *use,
			 const char **reason)
{
	struct ek_scan *a = &o->scan[0], *b = &o->scan[1];
	bool a_out = ek_names_stale(b, 0), b_out = ek_names_stale(a, 1);

	*reason = "metadata areas of different pools";
	if (!ek_same_pool(a, b))
		return -EUCLEAN;
	*reason = "metadata areas went on without each other";
	if (a_out && b_out)
		return -EUCLEAN;
	if (!ek_names(o, 0, 1) || !ek_names(o, 1, 0)) {
		int left = ek_judge_replaced(o);

		if (left < 0)
			return left;
		*lead = left;
		*use = 1u << left;
		return 0;
	}
	*lead = a_out || (!b_out && ek_newer(b, a));
	if (!a_out && !b_out)
		ek_complete_journal(&o->scan[*lead], &o->scan[!*lead]);
	*use = 1u << *lead;
	if (!a_out && !b_out && ek_can_level(&o->scan[*lead], &o->scan[!*lead]))
		*use = 3;
	return 0;
}

/**
 * ek_judge - choose the authority
 * @o: scanned areas
 * @areas: that are there
 * @lead: set to the authority
 * @use: set to the areas to be used
 * @reason: set on failure
 *
 * Context: any; no I/O.
 * Return: 0 or an error as ek_store_open().
 */
static int ek_judge(struct ek_opening *o, unsigned int areas, unsigned int *lead,
		    unsigned int *use, const char **reason)
{
	struct ek_scan *a = &o->scan[0], *b = &o->scan[1];
	unsigned int ok = (areas & 1 && !a->err ? 1 : 0) | (areas & 2 && !b->err ? 2 : 0);

	if (ok == 3)
		return ek_judge_both(o, lead, use, reason);
	if (!ok || a->err == -ENOMEM || b->err == -ENOMEM)
		return ek_pick_error(o, areas, reason);
	*lead = ok >> 1;
	*use = ok;
	return areas == 3 ? ek_judge_left(o, *lead, reason) : 0;
}

/*
 * What its superblock would say nobody knows: may it have gone on without @sound?  One that can't
 * be read is of the generation behind the other one of that area, or of the one before.
 */
static bool ek_may_be_newer(const struct ek_scan *scan, const struct ek_scan *sound)
{
	return !scan->told || (scan->unread && le64_to_cpu(scan->sb->generation) >=
					       le64_to_cpu(sound->sb->generation));
}

static void ek_store_take(struct ek_store *store, struct ek_opening *o, unsigned int lead)
{
	struct ek_scan *scan = &o->scan[lead], *other = &o->scan[!lead];
	unsigned int bit = 1u << !lead;

	store->geo = scan->geo;
	store->generation = le64_to_cpu(scan->sb->generation);
	store->journal_generation = le64_to_cpu(scan->sb->journal_generation);
	store->journal = scan->journal;
	store->area_used[lead] = scan->whole;
	if (scan->whole < scan->journal.used)
		store->lagging = 1u << lead;
	store->stale = ((1u << le32_to_cpu(scan->sb->nr_meta)) - 1) & ~store->areas;
	if (store->stale & bit && ek_may_be_newer(other, scan) && !ek_names_stale(scan, !lead))
		store->untold = bit;
	if (other->unread)
		store->unread = store->untold;
	memcpy(store->super, scan->sb, sizeof(*store->super));
	memcpy(store->pending, scan->sb, sizeof(*store->pending));
	memcpy(store->next, scan->table, scan->geo.table_bytes);
	swap(store->table, scan->table);
	swap(store->tx, scan->block);
	if (!(store->areas & bit))
		return;
	if (other->sb->generation != scan->sb->generation)
		store->behind = bit;
	store->area_used[!lead] = other->whole;
	if (other->sb->journal_generation != scan->sb->journal_generation)
		store->area_used[!lead] = 0;
	if (store->behind || store->area_used[!lead] < scan->journal.used)
		store->lagging |= bit;
}

static struct ek_store *ek_store_make(struct ek_opening *o, unsigned int lead, unsigned int use)
{
	struct ek_store *store = kzalloc(sizeof(*store), GFP_KERNEL);

	if (!store)
		return NULL;
	store->io = o->io;
	store->ctx = o->ctx;
	store->areas = use;
	store->super = kmalloc(sizeof(*store->super), GFP_KERNEL);
	store->pending = kmalloc(sizeof(*store->pending), GFP_KERNEL);
	store->next = kvmalloc(o->scan[lead].geo.table_bytes, GFP_KERNEL);
	store->ring = kvcalloc(EK_CKPT_RING, sizeof(*store->ring), GFP_KERNEL);
	if (!store->super || !store->pending || !store->next || !store->ring) {
		ek_store_close(store);
		return NULL;
	}
	ek_store_take(store, o, lead);
	return store;
}

/**
 * ek_store_peek - the newest superblock that is sound, whatever else is not
 * @io: I/O
 * @ctx: for @io
 * @area_bytes: sizes of the areas
 * @areas: bit per area that is there
 * @super: set to it
 * @untold: set if one can't be read, or is of an unknown version: it may be newer; or NULL
 *
 * Context: sleeps; reads only.
 * Return: 0; -ENODATA: there is none; -ENOMEM.
 */
int ek_store_peek(const struct ek_store_io *io, void *ctx, const u64 *area_bytes,
		  unsigned int areas, struct ek_super *super, bool *untold)
{
	struct ek_opening *o = kzalloc(sizeof(*o), GFP_KERNEL);
	unsigned int area;
	int r = -ENODATA;

	if (!o)
		return -ENOMEM;
	o->io = io;
	o->ctx = ctx;
	if (untold)
		*untold = false;
	for (area = 0; area < EK_MAX_META; area++) {
		const struct ek_scan *scan = &o->scan[area];

		if (!(areas & 1u << area))
			continue;
		if (!ek_scan_super(o, area, area_bytes[area]) &&
		    (r || le64_to_cpu(scan->sb->generation) > le64_to_cpu(super->generation))) {
			memcpy(super, scan->sb, sizeof(*super));
			r = 0;
		}
		if (untold)
			*untold |= scan->unread || scan->err == -EPROTONOSUPPORT;
		kfree(scan->sb);
	}
	kfree(o);
	return r;
}
EXPORT_SYMBOL_GPL(ek_store_peek);

/* Documented in the header. */
int ek_store_open(const struct ek_store_io *io, void *ctx, const u64 *area_bytes,
		  unsigned int areas, struct ek_store **store, const char **reason)
{
	return ek_store_open_named(io, ctx, area_bytes, NULL, areas, store, reason);
}
EXPORT_SYMBOL_GPL(ek_store_open);

/**
 * ek_store_open_named - read the superblocks and page table of areas whose labels are known
 * @io: I/O
 * @ctx: for @io
 * @area_bytes: sizes of the areas
 * @uuid: in their labels; NULL: not known
 * @areas: bit per area that is there
 * @store: set on success
 * @reason: set on failure
 *
 * Context: sleeps; reads only.
 * Return: as ek_store_open().
 */
int ek_store_open_named(const struct ek_store_io *io, void *ctx, const u64 *area_bytes,
			const u8 uuid[][EK_UUID_SIZE], unsigned int areas,
			struct ek_store **store, const char **reason)
{
	struct ek_opening *o = kzalloc(sizeof(*o), GFP_KERNEL);
	unsigned int area, lead, use;
	int r = -ENOMEM;

	*store = NULL;
	*reason = "out of memory";
	if (!o)
		return -ENOMEM;
	o->io = io;
	o->ctx = ctx;
	o->uuid = uuid;
	areas &= (1u << EK_MAX_META) - 1;
	for (area = 0; area < EK_MAX_META; area++)
		if (areas & 1u << area)
			ek_scan_area(o, area, area_bytes[area]);
	r = ek_judge(o, areas, &lead, &use, reason);
	if (!r) {
		*reason = "out of memory";
		*store = ek_store_make(o, lead, use);
		if (!*store)
			r = -ENOMEM;
	}
	for (area = 0; area < EK_MAX_META; area++) {
		kfree(o->scan[area].sb);
		kvfree(o->scan[area].table);
		kvfree(o->scan[area].block);
	}
	kfree(o);
	return r;
}
EXPORT_SYMBOL_GPL(ek_store_open_named);
