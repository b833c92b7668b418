// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: how a store survives
 *
 * The physical segment is durable at once, block by block; the virtual one when it is flushed. A
 * block's pointer is in a catalogue. No block that a committed catalogue refers to is overwritten
 * or freed before the next catalogue is committed, and nothing of that is in place:
 *
 *	1 new blocks are written		a cut before 4: nothing refers to them. Who opens
 *						the store finds their metadata in the list of
 *						names, not in the catalogue, and frees them
 *	2 the catalogue of generation g+1	goes where that of g-1 was; a cut: g counts
 *	3 flush					or the superblock could last, and it not
 *	4 superblock g+1			goes where that of g-1 was, one flash page: it is
 *						there or not. A cut from here to 5: either may count
 *	5 flush					from here on g+1 counts
 *	6 blocks that only g had are freed	a cut: they are like those of 1
 *	7 migrations are acknowledged		a cut before: they are told again, and are in the
 *						catalogue already
 *
 * Migrations change pointers, not the tree. They are noted in memory, where old names go on
 * working; the catalogue with the new ones is committed by 2 to 5, and only then they are
 * acknowledged. Who opens a store after a cut takes all addresses out of the device's list, by
 * serial numbers: so a catalogue is right about what there is, and the device about where.
 *
 * The power may go and come back between two calls, which all succeed: then what was not flushed
 * is gone without an error. So a commit looks at the device's number of cuts after each flush; and
 * who finds a superblock when he opens a store flushes before he frees what it does not refer to,
 * as it may be in a write buffer only, left by a process that was killed between 4 and 5.
 *
 * An error in 4 or 5 leaves open which generation counts. The store is broken then: neither is
 * touched until it is opened again.
 *
 * A superblock that is damaged is nothing that a power cut leaves. To go on with the one before it
 * would be to free the blocks of the newest tree, so such a store is opened no more: beside
 * generation g there has to be g-1.
 *
 * Both halves have the length of the catalogue that counts, mapped: another one of that length
 * takes no space that is not there. So what makes the tree smaller, and what notes migrations, is
 * done on a device that is full, too. A catalogue that is longer lengthens both before it counts.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "crc.h"
#include "store.h"
#include "super.h"

#define PATIENCE_MS 1000	/* for migrations that the device has and has not told yet */

/* --- committing ------------------------------------------------------------------------------- */

static int acknowledge(struct ns_store *store)
{
	int err = nameless_acknowledge(store->dev, store->moves, store->nr_moves);

	if (!err)
		store->nr_moves = 0;
	return err == -ECONNRESET ? -EIO : err;
}

/* Will who reads it understand it? A catalogue that nobody does is the end of what it is of. */
static int try_catalogue(const struct ns_store *store, const void *data, size_t bytes)
{
	struct ns_tree tree = { 0 };
	struct ns_map map = { 0 };
	int err = tree_decode(&tree, &map, data, bytes, store->block);

	if (!err && map_highest(&map) >= store->serial)
		err = -EUCLEAN;
	tree_free(&tree);
	map_free(&map);
	return err == -EUCLEAN ? -EINVAL : err;
}

/* Steps 2 to 5 */
static int commit(struct ns_store *store, const struct ns_tree *tree)
{
	size_t bytes;
	void *data;
	int err;

	if (store->broken || !store->writable)
		return store->broken ? -EIO : -EBADF;
	err = tree_encode(tree, &store->map, &data, &bytes);
	if (err)
		return err;
	err = try_catalogue(store, data, bytes);
	if (!err)
		err = super_blocks(store, bytes) > super_half(store) ? -ENOSPC :
							      super_put(store, data, bytes);
	free(data);
	if (!err) {
		store->generation++;
		store->before = store->bytes;
		store->bytes = bytes;
		store->dirty = false;
	}
	if (!err || err == -ENOSPC)
		super_trim(store);
	return err;
}

/* --- migrations ------------------------------------------------------------------------------- */

static bool is_ours(const struct ns_store *store, const struct nl_meta *meta)
{
	return meta->word[0] == store->id && meta->word[1] && meta->word[2] == NS_META;
}

static int keep_move(struct ns_store *store, const struct nl_move *move)
{
	size_t room = store->room_moves ? 2 * store->room_moves : NS_MOVES;
	struct nl_move *more = store->moves;

	if (store->nr_moves == store->room_moves) {
		more = reallocarray(more, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		store->moves = more;
		store->room_moves = room;
	}
	store->moves[store->nr_moves++] = *move;
	return 0;
}

/* There is a block of that serial: the next one gets another. */
static void pass_serial(struct ns_store *store, uint64_t serial)
{
	if (serial >= store->serial && serial < SUPER_SERIALS)
		store->serial = serial + 1;
}

/*
 * Of a block that moved twice the second migration is told after the first: who has its address by
 * another way already is not at @from. A block that is not in the map is one whose name a write
 * that failed has not told, or that was listed on neither side of a migration: it is freed with
 * what no tree has.
 */
static int note_move(struct ns_store *store, const struct nl_move *move)
{
	uint64_t serial = move->meta.word[1];
	struct ns_where *where = map_find(&store->map, serial);

	store->moved++;
	if (!where) {
		int err = map_add(&store->map, serial, move->to);

		if (err)
			return err;
		pass_serial(store, serial);
	} else if (where->address == move->from) {
		where->address = move->to;
		store->dirty = true;
	}
	return store->writable ? keep_move(store, move) : 0;
}

/*
 * All that the device has to tell: how many, or an error. Nothing is acknowledged on the way, so
 * its own limit of migrations that wait bounds this. Others' are theirs to acknowledge.
 */
static int take_moves(struct ns_store *store, int timeout_ms)
{
	struct nl_move moves[NS_MOVES];
	int n, i, err, all = 0;

	while ((n = nameless_moves(store->dev, moves, NS_MOVES, timeout_ms)) > 0) {
		for (i = 0; i < n; i++) {
			if (!is_ours(store, &moves[i].meta)) {
				store->foreign_moves++;
				continue;
			}
			err = note_move(store, &moves[i]);
			if (err)
				return err;
		}
		all += n;
		timeout_ms = 0;
	}
	return n == -ECONNRESET ? -EIO : n ? n : all;
}

/* Make what is noted last, and acknowledge it. */
static int settle(struct ns_store *store)
{
	int err = store->dirty ? commit(store, &store->tree) : 0;

	if (!err && store->broken)
		err = -EIO;
	return err ? err : acknowledge(store);
}

void store_allow(struct ns_store *store, uint64_t moves)
{
	if (moves && moves / 2 < NS_MOVES)
		store->most_moves = moves > 1 ? moves / 2 : 1;
}

/*
 * The catalogue that is committed may make the device move others: these wait for the next time, or
 * the two could go on for ever.
 */
int store_tend(struct ns_store *store)
{
	int n = take_moves(store, 0);

	if (n < 0)
		return n;
	return store->nr_moves >= store->most_moves ? settle(store) : 0;
}

/* What waits is noted, also what the device is about to tell. */
static int tend_all(struct ns_store *store)
{
	struct nl_names_info info;
	int n, err;

	for (n = take_moves(store, 0); n >= 0;) {
		err = nameless_query(store->dev, &info);
		if (!err && info.cuts != store->cuts)
			err = -EIO;
		if (err || info.waiting <= store->nr_moves + store->foreign_moves)
			return err;
		n = take_moves(store, PATIENCE_MS);
		if (!n)
			return 0;
	}
	return n;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static int add_pieces(struct ns_store *store, const struct nl_name *names, unsigned int nr)
{
	int err = 0;

	for (; nr && !err; nr--, names++)
		err = map_add(&store->map, names->meta.word[1], names->ppn);
	return err;
}

int store_write(struct ns_store *store, const void *data, unsigned int nr, struct ns_piece *piece)
{
	struct nl_name names[NS_BATCH] = { 0 };
	unsigned int i, done;
	int err, failed;

	if (store->broken)
		return -EIO;
	if (store->serial + nr > SUPER_SERIALS)
		return -EOVERFLOW;
	for (i = 0; i < nr; i++) {
		piece[i].serial = store->serial++;
		piece[i].csum = crc32c_of(0, (const uint8_t *)data + (size_t)i * store->block,
					  store->block);
		names[i].meta = (struct nl_meta){ { store->id, piece[i].serial, NS_META } };
	}
	err = nameless_write(store->dev, names, data, nr, &done);
	failed = add_pieces(store, names, done);
	return err ? err : failed;
}

/* The device has no such block, or can't read it: either is of this block alone. */
static bool is_lost(int err)
{
	return err == -ESTALE || err == -EBADMSG;
}

/* *@bad is the first one that is not what it was: those before one that is lost are looked at. */
static int read_named(struct ns_store *store, const struct ns_piece *piece, unsigned int nr,
		      void *data, unsigned int *bad)
{
	struct nl_name names[NS_BATCH] = { 0 };
	const struct ns_where *where;
	unsigned int i, done = 0;
	int err;

	for (i = 0; i < nr; i++) {
		where = map_find(&store->map, piece[i].serial);
		names[i].ppn = where ? where->address : ~0u;
		names[i].meta = (struct nl_meta){ { store->id, piece[i].serial, NS_META } };
	}
	err = nameless_read(store->dev, names, data, nr, &done);
	*bad = done;
	if (err && !is_lost(err))
		return err;
	for (i = 0; i < (err ? done : nr); i++)
		if (crc32c_of(0, (uint8_t *)data + (size_t)i * store->block, store->block) !=
		    piece[i].csum)
			break;
	*bad = i;
	return i < nr ? -EUCLEAN : 0;
}

/* Runs of blocks that are somewhere, and of such that are nothing but zeros. */
int store_read(struct ns_store *store, const struct ns_piece *piece, unsigned int nr, void *data,
	       unsigned int *bad)
{
	unsigned int at, run;
	int err = 0;

	for (at = 0; !err && at < nr; at += run) {
		uint8_t *to = (uint8_t *)data + (size_t)at * store->block;

		for (run = 1; at + run < nr && !piece[at].serial == !piece[at + run].serial; run++)
			;
		if (piece[at].serial)
			err = read_named(store, piece + at, run, to, bad);
		else
			memset(to, 0, (size_t)run * store->block);
		if (err)
			*bad += at;
	}
	return err;
}

/* What is gone already is passed over, as is what nobody can free any more. */
static int free_names(struct ns_store *store, const struct nl_name *names, unsigned int nr)
{
	unsigned int at = 0, done;
	int err = 0;

	while (at < nr) {
		err = nameless_free(store->dev, names + at, nr - at, &done);
		at += done;
		if (!err)
			continue;
		if (!is_lost(err))
			return err;
		at++;
	}
	return 0;
}

/* Free all that is in the map and not marked. */
static int free_unmarked(struct ns_store *store)
{
	struct nl_name names[NS_BATCH] = { 0 };
	const struct ns_where *where;
	unsigned int nr = 0;
	int err = 0;
	size_t i;

	for (i = 0; !err && i < store->map.slots; i++) {
		where = &store->map.slot[i];
		if (!where->serial || where->mark)
			continue;
		names[nr].ppn = where->address;
		names[nr++].meta = (struct nl_meta){ { store->id, where->serial, NS_META } };
		if (nr < NS_BATCH)
			continue;
		err = free_names(store, names, nr);
		nr = 0;
	}
	if (!err)
		err = free_names(store, names, nr);
	return err ? err : map_keep(&store->map, true);
}

static void mark_tree(struct ns_store *store, const struct ns_tree *tree)
{
	struct ns_where *where;
	uint32_t i;
	size_t n;

	map_mark_all(&store->map, false);
	for (n = 0; n < tree->nr; n++) {
		for (i = 0; i < tree->node[n].blocks; i++) {
			where = map_find(&store->map, tree->node[n].piece[i].serial);
			if (where)
				where->mark = true;
		}
	}
}

int store_forget(struct ns_store *store)
{
	if (store->broken)
		return -EIO;
	mark_tree(store, &store->tree);
	return free_unmarked(store);
}

/* Step 6 may fail: then the blocks are orphans, which the next one to open the store frees. */
int store_replace(struct ns_store *store, struct ns_tree *tree)
{
	int err = commit(store, tree);

	if (err)
		return err;
	tree_free(&store->tree);
	store->tree = *tree;
	*tree = (struct ns_tree){ 0 };
	store_forget(store);
	return 0;
}

/* --- coming and going ------------------------------------------------------------------------- */

/* Of a device that was opened. */
static int learn_device(struct ns_store *store)
{
	struct nl_names_info info;
	uint64_t bytes = 0;
	int err = nameless_query(store->dev, &info);

	if (!err)
		err = nameless_size(store->dev, &bytes);
	if (err)
		return err;
	store->block = info.block_bytes;
	store->blocks = bytes / info.block_bytes;
	store->cuts = info.cuts;
	return store->block < sizeof(struct ns_super) ? -EUCLEAN : 0;
}

static int load_catalogue(struct ns_store *store, const struct ns_super *super)
{
	uint64_t bytes = le64toh(super->bytes), room = super_blocks(store, bytes) * store->block;
	void *data = room > SIZE_MAX ? NULL : malloc(room);
	int err;

	if (!data)
		return -ENOMEM;
	err = nameless_pread(store->dev, data, room, le64toh(super->start) * store->block);
	if (!err && crc32c_of(0, data, bytes) != le32toh(super->catalogue_csum))
		err = -EUCLEAN;
	if (!err)
		err = tree_decode(&store->tree, &store->map, data, bytes, store->block);
	if (!err && map_highest(&store->map) >= le64toh(super->serial))
		err = -EUCLEAN;
	free(data);
	memcpy(store->uuid, super->uuid, sizeof(store->uuid));
	store->id = le64toh(super->id);
	store->generation = le64toh(super->generation);
	store->serial = le64toh(super->serial);
	store->bytes = bytes;
	store->before = le64toh(super->before);
	return err;
}

/* A name that the device lists is where the block is. What isn't listed stays unmarked. */
static int learn_name(struct ns_store *store, const struct nl_name *name)
{
	uint64_t serial = name->meta.word[1];
	struct ns_where *where;
	int err;

	if (!is_ours(store, &name->meta)) {
		store->foreign++;
		return 0;
	}
	where = map_find(&store->map, serial);
	if (!where) {
		store->orphans++;
		pass_serial(store, serial);
		err = map_add(&store->map, serial, name->ppn);
		if (err)
			return err;
		where = map_find(&store->map, serial);
	}
	store->dirty |= where->address != name->ppn;
	where->address = name->ppn;
	where->mark = true;
	return 0;
}

/* Is the block there, by the name that the catalogue has or an older one? */
static int try_name(struct ns_store *store, const struct ns_where *where, void *data)
{
	struct nl_name name = {
		.ppn = where->address,
		.meta = { { store->id, where->serial, NS_META } },
	};

	return nameless_read(store->dev, &name, data, 1, NULL);
}

/*
 * Blocks of the tree that were not listed: those that moved meanwhile are there by the names that
 * they had; what is not is no more, and nothing is to be taken for a block that it was.
 */
static int drop_missing(struct ns_store *store)
{
	void *data = malloc(store->block);
	struct ns_where *where;
	int err = data ? 0 : -ENOMEM;
	size_t at;

	for (at = 0; !err && at < store->map.slots; at++) {
		where = &store->map.slot[at];
		if (!where->serial || where->mark)
			continue;
		err = try_name(store, where, data);
		where->mark = !err;
		store->missing += is_lost(err);
		err = is_lost(err) ? 0 : err;
	}
	free(data);
	return err ? err : map_keep(&store->map, true);
}

/* All addresses, as the device has them. */
static int learn_names(struct ns_store *store)
{
	struct nl_name names[NS_BATCH];
	uint32_t from = 0;
	int n, i, err = 0;

	while ((n = nameless_list(store->dev, &from, names, NS_BATCH)) > 0 && !err)
		for (i = 0; i < n && !err; i++)
			err = learn_name(store, &names[i]);
	if (n < 0 || err)
		return n < 0 ? n : err;
	return drop_missing(store);
}

static int load_all(struct ns_store *store)
{
	struct ns_super super = { 0 };
	int err = learn_device(store);

	if (!err)
		err = super_find(store, &super);
	if (!err)
		err = load_catalogue(store, &super);
	if (!err)
		err = learn_names(store);
	if (err || !store->writable)
		return err;
	err = super_flush(store);
	if (!err)
		err = store_forget(store);
	return err ? err : tend_all(store);
}

/*
 * What was read before a cut and what was read behind it may be of two generations, as one of them
 * was not flushed: that is no damage, and is gone when it is read again.
 */
static int load(struct ns_store *store)
{
	struct nl_names_info info;
	int err = load_all(store);

	if (err != -EUCLEAN && err != -ENODATA)
		return err;
	return nameless_query(store->dev, &info) || info.cuts != store->cuts ? -EIO : err;
}

static void let_go(struct ns_store *store)
{
	nameless_close(store->dev);
	tree_free(&store->tree);
	map_free(&store->map);
	free(store->moves);
}

int store_open(struct ns_store *store, const char *device, bool writable)
{
	int err;

	*store = (struct ns_store){ .writable = writable, .most_moves = NS_MOVES };
	err = nameless_open(device, writable ? O_RDWR : O_RDONLY, &store->dev);
	if (err)
		return err;
	err = load(store);
	if (err)
		let_go(store);
	return err;
}

int store_close(struct ns_store *store)
{
	int err = 0;

	if (store->writable && !store->broken) {
		err = tend_all(store);
		if (!err)
			err = settle(store);
	}
	let_go(store);
	return err;
}

/* What stores that were here before have left: without a superblock nothing refers to it. */
static int drop_old(struct ns_store *store)
{
	struct nl_name names[NS_BATCH];
	unsigned int nr;
	uint32_t from = 0;
	int n, i, err;

	while ((n = nameless_list(store->dev, &from, names, NS_BATCH)) > 0) {
		for (nr = 0, i = 0; i < n; i++)
			if (names[i].meta.word[2] == NS_META)
				names[nr++] = names[i];
		err = free_names(store, names, nr);
		if (err)
			return err;
	}
	return n;
}

static int format(struct ns_store *store, bool force)
{
	struct ns_node *top;
	bool vacant = false;
	int err = learn_device(store);

	if (!err)
		err = super_is_vacant(store, &vacant);
	if (!err && !vacant && !force)
		err = -EEXIST;
	if (!err)
		err = super_half(store) ? super_erase(store) : -ENOSPC;
	if (!err)
		err = nameless_discard(store->dev, (store->blocks - SUPER_FIRST) * store->block,
				       SUPER_FIRST * store->block);
	if (!err)
		err = drop_old(store);
	if (err)
		return err;
	if (getrandom(store->uuid, sizeof(store->uuid), 0) != sizeof(store->uuid))
		return -EIO;
	store->uuid[6] = (store->uuid[6] & 0x0f) | 0x40;
	store->uuid[8] = (store->uuid[8] & 0x3f) | 0x80;
	memcpy(&store->id, store->uuid, sizeof(store->id));
	store->id |= 1;		/* 0 is no id */
	store->serial = 1;
	top = tree_add(&store->tree, "");
	if (!top)
		return -ENOMEM;
	top->type = NS_DIRECTORY;
	top->mode = 0755;
	return commit(store, &store->tree);
}

int store_format(const char *device, bool force)
{
	struct ns_store store = { .writable = true };
	int err = nameless_open(device, O_RDWR, &store.dev);

	if (err)
		return err;
	err = format(&store, force);
	let_go(&store);
	return err;
}
