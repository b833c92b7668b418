// SPDX-License-Identifier: GPL-2.0-only
/* The offline check of one pool. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check_internal.h"
#include "msg.h"

typedef void (*entry_fn)(void *ctx, uint64_t le, uint64_t entry);

static const char *text_of(int err, const char *reason)
{
	return reason ? reason : strerror(-err);
}

/* Is every page good on this mirror alone?  The other may hide what is wrong here. */
static void check_pages(struct check *c, struct ek_store *store, unsigned int area)
{
	struct ek_page *page = bdev_buffer(sizeof(*page));
	u64 i, nr = le64_to_cpu(ek_store_super(store)->nr_pages);
	int err;

	for (i = 0; i < nr; i++) {
		if (ek_store_page_absent(store, i))
			continue;
		err = ek_store_read_page(store, i, page);
		if (err)
			findings_add(&c->errors, "metadata area %u: page %llu: %s", area,
				     (unsigned long long)i,
				     err == -EUCLEAN ? "damaged" : strerror(-err));
	}
	free(page);
}

static void check_mirror(struct check *c, struct store_io *io, unsigned int area)
{
	const char *reason = NULL;
	struct ek_store *store;
	int err;

	err = ek_store_open_named(&store_io_ops, io, io->bytes, store_io_uuids(io), 1u << area,
				  &store, &reason);
	if (err) {
		findings_add(&c->errors, "metadata area %u: %s", area, text_of(err, reason));
		return;
	}
	check_pages(c, store, area);
	ek_store_close(store);
}

/* @untold: of those that are stale, what may be newer; only the other one would have told. */
static void check_mirrors(struct check *c, struct store_io *io, unsigned int stale,
			  unsigned int untold)
{
	unsigned int i;

	for (i = 0; i < c->pool->nr_meta; i++) {
		if (!(io->areas >> i & 1))
			continue;
		if (untold >> i & 1)
			findings_add(&c->warnings, "metadata area %u has no superblock that can be read, and may be newer",
				     i);
		else if (stale >> i & 1)
			findings_add(&c->warnings, "metadata area %u is stale", i);
		else
			check_mirror(c, io, i);
	}
}

/* Each may be good, and one be older: its disk has dropped a write. */
static void compare_mirrors(struct check *c, struct ek_store *store)
{
	struct ek_mend look = { .buf = ek_store_sync_buf() };
	unsigned int i;
	int err = look.buf ? 0 : -ENOMEM;

	while (!err && (err = ek_store_mend_step(store, &look)) > 0)
		err = 0;
	kvfree(look.buf);
	for (i = 0; i < EK_MAX_META; i++)
		if (look.older[i])
			findings_add(&c->errors, "metadata area %u: %llu pages are older than the other area's",
				     i, (unsigned long long)look.older[i]);
	if (err == -EUCLEAN)
		findings_add(&c->errors, "metadata areas: two pages contradict each other, and are as old");
	else if (err)
		findings_add(&c->errors, "metadata areas: can't be compared: %s", strerror(-err));
}

static void visit(struct image *im, entry_fn fn, void *ctx)
{
	uint64_t le;
	u64 *page;

	for (le = 0; le < im->nr_extents; le++) {
		page = im->page[le / EK_PAGE_ENTRIES];
		if (page && page[le % EK_PAGE_ENTRIES])
			fn(ctx, le, page[le % EK_PAGE_ENTRIES]);
	}
}

static void check_store(struct check *c, struct ek_store *store, entry_fn fn, void *ctx)
{
	struct image im;

	if (!check_super(c, ek_store_super(store)))
		return;
	c->complete = image_load(&im, c, store);
	/* What is there is compared even when something else is missing. */
	if (fn) {
		visit(&im, fn, ctx);
	} else {
		image_check(&im);
		compare_mirrors(c, store);
	}
	image_free(&im);
}

static int run(struct check *c, const struct pool *pool, entry_fn fn, void *ctx)
{
	const char *reason = NULL;
	struct ek_store *store;
	struct store_io io;
	unsigned int stale, untold;
	int err;

	memset(c, 0, sizeof(*c));
	c->pool = pool;
	check_labels(c);
	if (store_io_open(&io, pool))
		return EXIT_USAGE;
	if (!io.areas) {
		store_io_close(&io);
		fail("%s: no metadata area of it on the given devices", pool->name);
		return EXIT_USAGE;
	}
	err = ek_store_open_named(&store_io_ops, &io, io.bytes, store_io_uuids(&io), io.areas,
				  &store, &reason);
	if (err == -EPROTONOSUPPORT || err == -ENOMEM) {
		store_io_close(&io);
		fail("%s: metadata: %s", pool->name, text_of(err, reason));
		return EXIT_USAGE;
	}
	if (err) {
		findings_add(&c->errors, "metadata: %s", text_of(err, reason));
		store_io_close(&io);
		return EXIT_OK;
	}
	check_store(c, store, fn, ctx);
	stale = ek_store_stale(store);
	untold = ek_store_untold(store);
	ek_store_close(store);
	if (!fn)
		check_mirrors(c, &io, stale, untold);
	store_io_close(&io);
	return EXIT_OK;
}

int check_pool(struct check *c, const struct pool *pool)
{
	return run(c, pool, NULL, NULL);
}

int check_map(struct check *c, const struct pool *pool, entry_fn fn, void *ctx)
{
	return run(c, pool, fn, ctx);
}
