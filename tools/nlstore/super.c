// SPDX-License-Identifier: GPL-2.0-only
/* Two superblocks, and behind them the halves that catalogues are in; store.c has the timeline. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crc.h"
#include "super.h"

#define HEAD_BYTES (1u << 20)	/* where others have what tells them */
#define TAIL_BYTES (1u << 16)

/* --- superblocks ------------------------------------------------------------------------------ */

static uint32_t super_csum(struct ns_super super)
{
	super.csum = 0;
	return crc32c_of(0, &super, sizeof(super));
}

uint64_t super_blocks(const struct ns_store *store, uint64_t bytes)
{
	return bytes / store->block + !!(bytes % store->block);
}

uint64_t super_half(const struct ns_store *store)
{
	return store->blocks > SUPER_FIRST ? (store->blocks - SUPER_FIRST) / 2 : 0;
}

static uint64_t area_of(const struct ns_store *store, uint64_t generation)
{
	return SUPER_FIRST + (generation % 2 ? super_half(store) : 0);
}

/* 0, -ENODATA, -EPROTONOSUPPORT, or -EUCLEAN: it is one that can't be */
static int check_super(const struct ns_store *store, const struct ns_super *super)
{
	uint64_t generation = le64toh(super->generation);

	if (le64toh(super->magic) != NS_MAGIC)
		return -ENODATA;
	if (le32toh(super->csum) != super_csum(*super))
		return -EUCLEAN;
	if (le32toh(super->version) != NS_VERSION || super->incompat)
		return -EPROTONOSUPPORT;
	if (le32toh(super->block_bytes) != store->block || !generation || !super->id ||
	    !super->serial || le64toh(super->serial) > SUPER_SERIALS ||
	    le64toh(super->start) != area_of(store, generation) ||
	    !super->bytes || super_blocks(store, le64toh(super->bytes)) > super_half(store) ||
	    super_blocks(store, le64toh(super->before)) > super_half(store))
		return -EUCLEAN;
	return 0;
}

static bool is_zeros(const uint8_t *data, size_t bytes)
{
	return !*data && !memcmp(data, data + 1, bytes - 1);
}

/* Block @i. -ENODATA: it is another's, or (*@vacant) zeros; -EUCLEAN: it is a damaged one. */
static int read_super(struct ns_store *store, unsigned int i, struct ns_super *super, bool *vacant)
{
	void *block = malloc(store->block);
	int err;

	*vacant = false;
	if (!block)
		return -ENOMEM;
	err = nameless_pread(store->dev, block, store->block, (uint64_t)i * store->block);
	if (!err) {
		memcpy(super, block, sizeof(*super));
		*vacant = is_zeros(block, store->block);
		err = check_super(store, super);
	}
	if (!err && le64toh(super->generation) % 2 != i)
		err = -EUCLEAN;
	free(block);
	return err;
}

static bool follows(const struct ns_super *older, const struct ns_super *newer)
{
	return le64toh(older->generation) + 1 == le64toh(newer->generation) &&
	       !memcmp(older->uuid, newer->uuid, sizeof(older->uuid));
}

/*
 * The one that counts: of two that follow each other the later one, or the first one alone. All
 * else is none, or is damaged; what says that it is a later format's is never passed over.
 */
int super_find(struct ns_store *store, struct ns_super *super)
{
	struct ns_super found[2];
	bool vacant[2];
	int err[2], i;

	for (i = 0; i < 2; i++) {
		err[i] = read_super(store, i, &found[i], &vacant[i]);
		if (err[i] && err[i] != -ENODATA)
			return err[i];
	}
	if (err[0] && err[1])
		return -ENODATA;
	if (err[0] || err[1]) {
		*super = found[!!err[0]];
		return vacant[!err[0]] && le64toh(super->generation) == 1 ? 0 : -EUCLEAN;
	}
	i = follows(&found[0], &found[1]);
	*super = found[i];
	return i || follows(&found[1], &found[0]) ? 0 : -EUCLEAN;
}

static int write_super(struct ns_store *store, const struct ns_super *super)
{
	uint64_t at = le64toh(super->generation) % 2 * store->block;
	uint8_t *block = calloc(1, store->block);
	int err;

	if (!block)
		return -ENOMEM;
	memcpy(block, super, sizeof(*super));
	err = nameless_pwrite(store->dev, block, store->block, at);
	free(block);
	return err;
}

/* --- the next generation ---------------------------------------------------------------------- */

/* What was written lasts. -EIO: the power went meanwhile, and nobody knows what there is. */
int super_flush(struct ns_store *store)
{
	struct nl_names_info info;
	int err = nameless_flush(store->dev);

	if (!err)
		err = nameless_query(store->dev, &info);
	if (!err && info.cuts != store->cuts)
		err = -EIO;
	return err;
}

/* Whole blocks; what is behind @bytes is zeros. */
static int write_area(struct ns_store *store, const void *data, size_t bytes, uint64_t start)
{
	size_t whole = bytes - bytes % store->block, rest = bytes - whole;
	uint64_t at = start * store->block;
	uint8_t *last;
	int err = nameless_pwrite(store->dev, data, whole, at);

	if (err || !rest)
		return err;
	last = calloc(1, store->block);
	if (!last)
		return -ENOMEM;
	memcpy(last, (const uint8_t *)data + whole, rest);
	err = nameless_pwrite(store->dev, last, store->block, at + whole);
	free(last);
	return err;
}

/* What is mapped behind the catalogue's length, in both halves. If that fails it is no matter. */
void super_trim(struct ns_store *store)
{
	uint64_t used = super_blocks(store, store->bytes), i;

	for (i = 0; used < super_half(store) && i < 2; i++)
		nameless_discard(store->dev, (super_half(store) - used) * store->block,
				 (area_of(store, i) + used) * store->block);
}

/*
 * The half of the catalogue that counts becomes as long as the one that is to be committed, behind
 * what is in it.
 */
static int lengthen(struct ns_store *store, uint64_t blocks)
{
	uint64_t at = super_blocks(store, store->bytes), nr;
	size_t bytes = (size_t)NS_BATCH * store->block;
	uint8_t *data;
	int err = 0;

	if (blocks <= at)
		return 0;
	data = calloc(1, bytes);
	if (!data)
		return -ENOMEM;
	for (; !err && at < blocks; at += nr) {
		nr = blocks - at < NS_BATCH ? blocks - at : NS_BATCH;
		err = nameless_pwrite(store->dev, data, nr * store->block,
				      (area_of(store, store->generation) + at) * store->block);
	}
	free(data);
	return err;
}

int super_put(struct ns_store *store, const void *data, size_t bytes)
{
	uint64_t generation = store->generation + 1, start = area_of(store, generation);
	struct ns_super super = {
		.magic = htole64(NS_MAGIC),
		.version = htole32(NS_VERSION),
		.id = htole64(store->id),
		.generation = htole64(generation),
		.serial = htole64(store->serial),
		.start = htole64(start),
		.bytes = htole64(bytes),
		.before = htole64(store->bytes),
		.block_bytes = htole32(store->block),
		.catalogue_csum = htole32(crc32c_of(0, data, bytes)),
	};
	int err;

	memcpy(super.uuid, store->uuid, sizeof(super.uuid));
	super.csum = htole32(super_csum(super));
	err = lengthen(store, super_blocks(store, bytes));
	if (!err)
		err = write_area(store, data, bytes, start);
	if (!err)
		err = super_flush(store);
	if (err)
		return err;
	store->broken = true;	/* which one counts is open until both of these are done */
	err = write_super(store, &super);
	if (!err)
		err = super_flush(store);
	if (!err)
		store->broken = false;
	return err;
}

/* --- making a store --------------------------------------------------------------------------- */

static int is_vacant_at(struct ns_store *store, uint64_t at, uint64_t bytes, bool *vacant)
{
	uint8_t *data = malloc(bytes);
	int err = data ? nameless_pread(store->dev, data, bytes, at) : -ENOMEM;

	if (!err)
		*vacant = is_zeros(data, bytes);
	free(data);
	return err;
}

/* Is there nothing but zeros where superblocks go, and where others have what tells them? */
int super_is_vacant(struct ns_store *store, bool *vacant)
{
	uint64_t head = super_blocks(store, HEAD_BYTES), tail = super_blocks(store, TAIL_BYTES);
	int err;

	head = head < store->blocks ? head : store->blocks;
	tail = tail < store->blocks ? tail : store->blocks;
	err = is_vacant_at(store, 0, head * store->block, vacant);
	if (err || !*vacant)
		return err;
	return is_vacant_at(store, (store->blocks - tail) * store->block, tail * store->block,
			    vacant);
}

/* Which superblock goes first, so that what is left of a store is never taken for an older state */
static unsigned int older_super(struct ns_store *store)
{
	struct ns_super found[2];
	bool vacant;
	int first = read_super(store, 0, &found[0], &vacant);
	int second = read_super(store, 1, &found[1], &vacant);

	if (first || second)
		return !second;
	return le64toh(found[0].generation) > le64toh(found[1].generation);
}

/* Both superblocks go before anything else: a store that is half gone is none. */
int super_erase(struct ns_store *store)
{
	uint8_t *data = calloc(1, store->block);
	unsigned int older = older_super(store), i;
	int err = data ? 0 : -ENOMEM;

	for (i = 0; !err && i < 2; i++) {
		err = nameless_pwrite(store->dev, data, store->block,
				      (uint64_t)(i ? !older : older) * store->block);
		if (!err)
			err = super_flush(store);
	}
	free(data);
	return err;
}
