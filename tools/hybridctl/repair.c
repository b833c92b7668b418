// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mends a pool's metadata.  What is written comes from what is intact:
 *
 *	a label			from its copy, or the copy from it
 *	a mirror		all of it from the other, if it is stale or can't be opened
 *	a page of a mirror	from the other's
 *	space maps		from the map, which says what is in use, if all of it can be read
 *				and no two extents have the same place
 *
 * A page of the map that no mirror has intact stays damaged: the kernel refuses what it maps, and
 * serves the rest.  Nobody knows where those extents are; to call them unwritten would be to show
 * zeroes for data.  A damaged journal without a mirror stays so for the same reason: what it
 * acknowledged would be taken back.
 *
 * The order is such that nothing good is touched before there is another copy of it: pages are
 * mended one by one while both mirrors are in use; an area is written anew only if it is left out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check_internal.h"
#include "msg.h"
#include "owner.h"
#include "repair.h"
#include "signature.h"

/* --- labels --- */

static int mend_label(struct pool_area *a)
{
	char text[AREA_TEXT];
	struct bdev dev;
	int err;

	area_text(text, a->area.info.role, a->area.info.index);
	/* Two that differ are both whole: neither is damage that the other could tell. */
	if (!a->there || a->area.differ || (!a->area.head_err && !a->area.copy_err))
		return 0;
	if (a->area.head_err == -EPROTONOSUPPORT || a->area.copy_err == -EPROTONOSUPPORT)
		return 0;
	err = pool_area_open(&dev, a, BDEV_WRITE | BDEV_EXCL);
	if (err) {
		fail("%s: %s", a->path, bdev_error(err));
		return EXIT_USAGE;
	}
	err = area_label_write(&dev, &a->area.info);
	bdev_close(&dev);
	if (err)
		return fail("%s: label of %s: %s", a->path, text, strerror(-err));
	note("%s: %s of %s written anew", a->path,
	     a->area.head_err ? "label" : "the label's copy", text);
	a->area.head_err = 0;
	a->area.copy_err = 0;
	return 0;
}

static int mend_labels(struct pool *p)
{
	unsigned int i;
	int err = EXIT_OK;

	for (i = 0; i < p->nr_meta; i++)
		err = repair_worse(err, mend_label(&p->meta[i]));
	for (i = 0; i < p->nr_members; i++)
		err = repair_worse(err, mend_label(&p->member[i]));
	return err;
}

/* --- space maps --- */

static void want(const struct image *im, unsigned long **used, bool *sound)
{
	const unsigned int bits = 8 * sizeof(unsigned long);
	uint64_t le;
	unsigned int m;
	u64 *page, e;
	u32 pe;

	for (m = 0; m < im->nr_members; m++)
		used[m] = xcalloc(im->extents[m] / bits + 1, sizeof(unsigned long));
	for (le = 0; le < im->nr_extents; le++) {
		page = im->page[le / EK_PAGE_ENTRIES];
		e = page ? page[le % EK_PAGE_ENTRIES] : 0;
		if (!ek_entry_mapped(e))
			continue;
		m = ek_entry_member(e);
		pe = ek_entry_pe(e);
		*sound &= !(used[m][pe / bits] >> pe % bits & 1);
		used[m][pe / bits] |= 1ul << pe % bits;
	}
}

static bool differs(const struct image *im, unsigned long **used)
{
	unsigned int m;
	u32 pe;

	for (m = 0; m < im->nr_members; m++)
		for (pe = 0; pe < im->extents[m]; pe++)
			if (!im->loaded[m] ||
			    !!test_bit(pe, im->space[m].stored) != !!test_bit(pe, used[m]))
				return true;
	return false;
}

/* All of the map, as the journal leaves it, and new space maps: one checkpoint. */
static int write_pages(struct ek_store *store, const struct image *im, unsigned long **used)
{
	struct ek_page *page = bdev_buffer(sizeof(*page));
	unsigned int i, m;
	u64 index;
	u32 p, n;
	int err = 0;

	for (index = 0; !err && index < im->nr_pages; index++) {
		for (i = 0; i < EK_PAGE_ENTRIES; i++)
			page->entry[i] = cpu_to_le64(im->page[index] ? im->page[index][i] : 0);
		err = ek_store_ckpt_page(store, index, page);
	}
	for (m = 0; m < im->nr_members; m++)
		for (p = 0; !err && p < ek_space_pages(im->extents[m]); p++) {
			memset(page, 0, sizeof(*page));
			for (n = 0; n < EK_PAGE_BITS && p * EK_PAGE_BITS + n < im->extents[m]; n++)
				if (test_bit(p * EK_PAGE_BITS + n, used[m]))
					page->entry[n / 64] |= cpu_to_le64(1ull << n % 64);
			err = ek_store_ckpt_page(store, ek_store_space_index(store, m, p), page);
		}
	free(page);
	return err;
}

static int rebuild_spaces(struct ek_store *store, const struct image *im)
{
	unsigned long *used[EK_MAX_MEMBERS] = { NULL };
	bool sound = true;
	unsigned int m;
	int err = 0;

	want(im, used, &sound);
	if (sound && differs(im, used)) {
		err = ek_store_ckpt_begin(store);
		if (!err)
			err = write_pages(store, im, used);
		if (!err)
			err = ek_store_ckpt_commit(store, 0);
		if (err)
			ek_store_ckpt_abort(store);
		else
			note("space maps made anew from the map");
	}
	for (m = 0; m < im->nr_members; m++)
		free(used[m]);
	return err;
}

/* --- the store --- */

/* Its label is there: the superblocks name what that says from then on. */
static int resync_area(struct ek_store *store, const struct store_io *io, unsigned int i)
{
	struct ek_page *buf = ek_store_sync_buf();
	int err;

	if (!buf)
		return -ENOMEM;
	err = ek_store_resync_begin(store, i, io->bytes[i], io->uuid[i], buf);
	if (!err)
		do {
			err = ek_store_resync_step(store);
		} while (err > 0);
	kvfree(buf);
	return err;
}

/* What is under way, of a store that is open. */
struct mending {
	struct pool *pool;
	const struct repair_how *how;
	struct ek_store *store;
	struct store_io io;
	unsigned int left;	/* areas that may have what the other lost, so that they stay */
};

static int resync(struct mending *m)
{
	unsigned int i, again = m->io.areas & ~ek_store_areas(m->store);
	int err = 0;

	m->left = 0;
	if (!m->how->force)
		again &= ~ek_store_untold(m->store);

	for (i = 0; !err && i < EK_MAX_META; i++) {
		if (!(again >> i & 1))
			continue;
		err = resync_area(m->store, &m->io, i);
		if (err == -EUCLEAN) {
			m->left |= 1u << i;
			return 0;
		}
		if (!err)
			note("metadata area %u made equal to the other", i);
	}
	return err;
}

/* Every page of the map is there, and every record of the journal names what there is. */
static bool map_is_whole(const struct check *c)
{
	uint64_t i;

	for (i = 0; i < c->errors.nr && i < FINDINGS_KEPT; i++)
		if (strncmp(c->errors.text[i], "space map ", 10))
			return false;
	return c->errors.nr <= FINDINGS_KEPT;
}

/* Without a superblock nobody knows whether an area is stale, or went on without the other one. */
static int judge_untold(const struct pool *p, const struct ek_store *store,
			const struct store_io *io, const struct repair_how *how)
{
	unsigned int i, untold = ek_store_untold(store) & io->areas;
	int err = EXIT_OK;

	for (i = 0; i < p->nr_meta && !how->degraded && !how->force; i++)
		if (untold >> i & 1)
			err = fail("%s: %s: metadata area %u has no superblock that can be read, and may be newer (--degraded does without it, --force overwrites it)",
				   p->name, p->meta[i].path, i);
	return err;
}

static int none_map(void *ctx, u64 le, u64 entry)
{
	(void)ctx;
	(void)le;
	(void)entry;
	return 0;
}

static int none_free(void *ctx, unsigned int member, u32 pe, u32 count)
{
	(void)ctx;
	(void)member;
	(void)pe;
	(void)count;
	return 0;
}

static int mend_areas(struct mending *m)
{
	u64 mended;
	int err = judge_untold(m->pool, m->store, &m->io, m->how);

	if (err)
		return err;
	/* Levels the mirrors: from here on it can be written.  A damaged journal: see judge(). */
	ek_store_replay(m->store, none_map, none_free, NULL);
	err = ek_store_writable(m->store);
	if (!err)
		err = ek_store_mend_pages(m->store, &mended);
	if (!err && mended)
		note("%llu pages written anew from the other metadata area",
		     (unsigned long long)mended);
	if (!err)
		err = resync(m);
	/* What it is done without is stale from here on, or the next start would ask again. */
	if (!err && ek_store_stale(m->store) != le32_to_cpu(ek_store_super(m->store)->meta_stale))
		err = ek_store_update_super(m->store, 0, 0);
	return err;
}

/* From the map as it is by now: what an area had before may have been older. */
static int mend_spaces(struct mending *m)
{
	struct check c = { .pool = m->pool };
	struct image im;
	int err = 0;

	image_load(&im, &c, m->store);
	if (map_is_whole(&c))
		err = rebuild_spaces(m->store, &im);
	image_free(&im);
	findings_free(&c.errors);
	findings_free(&c.warnings);
	return err;
}

static int open_rw(struct pool *p, struct store_io *io, struct ek_store **store)
{
	const char *reason = NULL;
	int err;

	if (store_io_open_rw(io, p))
		return EXIT_USAGE;
	err = ek_store_open_named(&store_io_rw, io, io->bytes, store_io_uuids(io), io->areas, store,
				  &reason);
	if (!err)
		return EXIT_OK;
	store_io_close(io);
	return fail("%s: metadata: %s: nothing that it could be mended from", p->name,
		    reason ? reason : strerror(-err));
}

/* A store is replayed once: each part has one of its own. */
static int mend(struct mending *m, int (*part)(struct mending *m))
{
	int err = open_rw(m->pool, &m->io, &m->store);

	if (err)
		return err;
	err = part(m);
	store_close(&m->io, m->store);
	return err < 0 ? fail("%s: can't be mended: %s", m->pool->name, strerror(-err)) : err;
}

static int mend_store(struct pool *p, const struct repair_how *how)
{
	struct mending m = { .pool = p, .how = how };
	unsigned int i;
	int err = mend(&m, mend_areas);

	if (!err)
		err = mend(&m, mend_spaces);
	/* What an area was left for may have been a space map, which is there again. */
	if (!err && m.left)
		err = mend(&m, mend_areas);
	for (i = 0; !err && i < EK_MAX_META; i++)
		if (m.left >> i & 1)
			fail("metadata area %u is left: it may have what the other lost", i);
	return err;
}

/* --- and afterwards --- */

/* The kernel asked for a check: it has been made, and all is well. */
static int clear_needs_check(struct pool *p)
{
	struct ek_store *store;
	struct store_io io;
	int err = open_rw(p, &io, &store);

	if (err)
		return err;
	if (le32_to_cpu(ek_store_super(store)->flags) & EK_SUPER_NEEDS_CHECK) {
		err = ek_store_replay(store, none_map, none_free, NULL);
		if (!err)
			err = ek_store_update_super(store, 0, EK_SUPER_NEEDS_CHECK);
		if (!err)
			note("%s: needs no check any more", p->name);
	}
	store_close(&io, store);
	return err ? fail("%s: %s", p->name, strerror(-err)) : EXIT_OK;
}

static int judge(struct pool *p)
{
	struct check c;
	uint64_t i;
	int err = check_pool(&c, p);

	for (i = 0; !err && i < c.errors.nr && i < FINDINGS_KEPT; i++)
		fail("%s: not mended: %s", p->name, c.errors.text[i]);
	if (!err && c.errors.nr)
		err = EXIT_FAILED;
	findings_free(&c.errors);
	findings_free(&c.warnings);
	return err;
}

/* As far as it can be looked at: what can't be opened is not written to either. */
static char *put_instead(const struct pool_area *a)
{
	struct bdev dev;
	char *what;

	if (!a->area.head_err || pool_area_open(&dev, a, 0))
		return NULL;
	what = owner_instead(&dev);
	bdev_close(&dev);
	return what;
}

/*
 * What is neither ours nor zero is somebody's; and whoever has zeroed our label, or left some of
 * it, may have his own beside it.  Our copy, or our label, may be all that is left.
 */
static int judge_head(const struct pool_area *a)
{
	char text[AREA_TEXT], *what;
	int err = EXIT_OK;

	if (!a->there)
		return EXIT_OK;
	area_text(text, a->area.info.role, a->area.info.index);
	what = put_instead(a);
	if (what)
		err = fail("%s: label of %s is %s, and something else is on the device: %s %s (--force writes the label anew)",
			   a->path, text, area_label_error(a->area.head_err),
			   signature_article(what), what);
	else if (a->area.head_err == -EINVAL || a->area.copy_err == -EINVAL)
		err = fail("%s: %s of %s is %s: is the device another's by now? (--force writes it anew)",
			   a->path, a->area.head_err == -EINVAL ? "label" : "the label's copy",
			   text, area_label_error(-EINVAL));
	free(what);
	return err;
}

/*
 * Nothing is written before.  Of two metadata areas the one that is not there may have gone on
 * without this one: to write this one would make two pools of one.
 */
static int judge_areas(const struct pool *p, const struct repair_how *how)
{
	unsigned int i;
	int err = EXIT_OK;

	for (i = 0; i < p->nr_meta; i++) {
		if (!how->force)
			err |= judge_head(&p->meta[i]);
		if (!p->meta[i].there && !(p->vacant >> i & 1) && !how->degraded && !how->force)
			err |= fail("%s: metadata area %u is not there, and may be newer (--degraded does without)",
				    p->name, i);
	}
	for (i = 0; i < p->nr_members && !how->force; i++)
		err |= judge_head(&p->member[i]);
	return err ? EXIT_FAILED : EXIT_OK;
}

int repair_pool(struct pool *p, const struct repair_how *how)
{
	char *missing = pool_missing(p);
	int err;

	if (missing)
		warn("%s: without %s", p->name, missing);
	free(missing);
	if (p->conflict)
		return fail("%s: %s", p->name, p->conflict);
	err = judge_areas(p, how);
	if (!err)
		err = mend_labels(p);
	if (!err)
		err = mend_store(p, how);
	if (!err)
		err = judge(p);
	if (!err)
		err = clear_needs_check(p);
	if (!err)
		note("%s: sound", p->name);
	return err;
}
