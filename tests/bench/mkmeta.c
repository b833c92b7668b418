// SPDX-License-Identifier: GPL-2.0-only
/*
 * Turn a pool's freshly formatted metadata area into that of a fully mapped pool,
 * or fill its journal as a crash would leave it.  By the library's own code, so
 * that what is measured is the format as it is.
 *
 * usage: mkmeta fill AREA            every logical extent mapped, all granules valid
 *        mkmeta journal AREA STEP    records of every STEPth extent until it is full
 *        mkmeta free AREA EXTENT     its place is free and yet its own: damage
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <evenkeel/entry.h>
#include <evenkeel/store.h>

#define TX_RECORDS	(8 * EK_JOURNAL_RECORDS)

struct area {
	int fd;
	u64 bytes;
};

static void die(const char *what, int err)
{
	fprintf(stderr, "mkmeta: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static int area_read(void *ctx, unsigned int area, u64 offset, void *buf, size_t len)
{
	struct area *a = ctx;

	return pread(a->fd, buf, len, offset) == (ssize_t)len ? 0 : -EIO;
}

static int area_write(void *ctx, unsigned int area, u64 offset, const void *buf, size_t len,
		      unsigned int flags)
{
	struct area *a = ctx;

	return pwrite(a->fd, buf, len, offset) == (ssize_t)len ? 0 : -EIO;
}

static int area_wait(void *ctx, unsigned int area)
{
	return 0;
}

static int area_flush(void *ctx, unsigned int area)
{
	struct area *a = ctx;

	return fdatasync(a->fd) ? -errno : 0;
}

static const struct ek_store_io area_io = {
	.read = area_read,
	.write = area_write,
	.wait = area_wait,
	.flush = area_flush,
};

static void area_open(struct area *a, const char *path)
{
	off_t end;

	a->fd = open(path, O_RDWR);
	if (a->fd < 0)
		die(path, errno);
	end = lseek(a->fd, 0, SEEK_END);
	if (end < 0)
		die(path, errno);
	a->bytes = end;
}

/* Extents are dealt out to the members in turn; a full one is passed over. */
static u64 next_entry(const struct ek_super *super, u32 *used)
{
	static unsigned int member;
	unsigned int i, nr = le32_to_cpu(super->nr_members);
	u32 all = ~0u >> (EK_GRANULES - ek_granules(le32_to_cpu(super->extent_sectors)));

	for (i = 0; i < nr; i++) {
		unsigned int m = (member + i) % nr;

		if (used[m] < le32_to_cpu(super->member[m].nr_extents)) {
			member = m + 1;
			return ek_entry_make(m, used[m]++, all);
		}
	}
	fprintf(stderr, "mkmeta: more logical extents than physical ones\n");
	exit(1);
}

static void fill_map(struct ek_store *store, u32 *used)
{
	const struct ek_super *super = ek_store_super(store);
	u64 nr = le64_to_cpu(super->nr_extents), le = 0, index;
	static struct ek_page page;
	unsigned int i;
	int err;

	for (index = 0; le < nr; index++) {
		memset(&page, 0, sizeof(page));
		for (i = 0; i < EK_PAGE_ENTRIES && le < nr; i++, le++)
			page.entry[i] = cpu_to_le64(next_entry(super, used));
		err = ek_store_ckpt_page(store, index, &page);
		if (err)
			die("map page", err);
	}
}

static void fill_space(struct ek_store *store, unsigned int member, u32 used)
{
	u32 nr = le32_to_cpu(ek_store_super(store)->member[member].nr_extents), i;
	static struct ek_page page;
	struct ek_space space;
	int err;

	err = ek_space_init(&space, nr);
	if (!err && used)
		err = ek_space_store(&space, 0, used, true);
	for (i = 0; !err && i < ek_space_pages(nr); i++) {
		memset(&page, 0, sizeof(page));
		ek_space_encode(&space, i, &page);
		err = ek_store_ckpt_page(store, ek_store_space_index(store, member, i), &page);
	}
	if (err)
		die("space map", err);
	ek_space_destroy(&space);
}

static void fill(struct ek_store *store, u64 unused)
{
	u32 used[EK_MAX_MEMBERS] = { 0 };
	unsigned int m;
	int err;

	err = ek_store_ckpt_begin(store);
	if (err)
		die("checkpoint", err);
	fill_map(store, used);
	for (m = 0; m < le32_to_cpu(ek_store_super(store)->nr_members); m++)
		fill_space(store, m, used[m]);
	err = ek_store_ckpt_commit(store, EK_SUPER_CLEAN);
	if (err)
		die("checkpoint", err);
	printf("%llu extents mapped\n",
	       (unsigned long long)le64_to_cpu(ek_store_super(store)->nr_extents));
}

/* A record that changes nothing costs a replay as much as one that does. */
static u64 stored_entry(struct ek_store *store, u64 le)
{
	static struct ek_page page;
	static u64 loaded = ~0ULL;

	if (loaded != le / EK_PAGE_ENTRIES) {
		int err = ek_store_read_page(store, le / EK_PAGE_ENTRIES, &page);

		if (err)
			die("read page", err);
		loaded = le / EK_PAGE_ENTRIES;
	}
	return le64_to_cpu(page.entry[le % EK_PAGE_ENTRIES]);
}

static void fill_journal(struct ek_store *store, u64 step)
{
	u64 nr = le64_to_cpu(ek_store_super(store)->nr_extents), le = 0, records = 0;
	unsigned int i;
	int err = 0;

	while (!err) {
		for (i = 0; i < TX_RECORDS && !err; i++) {
			err = ek_store_tx_add_map(store, le, stored_entry(store, le));
			le = (le + max_t(u64, step, 1)) % nr;
		}
		if (!err)
			err = ek_store_tx_commit(store);
		if (!err)
			records += TX_RECORDS;
	}
	if (err != -ENOSPC)
		die("journal", err);
	ek_store_tx_abort(store);
	printf("%llu records in %llu of %llu journal blocks\n", (unsigned long long)records,
	       (unsigned long long)ek_store_journal_used(store),
	       (unsigned long long)ek_store_journal_blocks(store));
}

static void free_place(struct ek_store *store, u64 le)
{
	u64 entry = stored_entry(store, le);
	int err;

	if (!ek_entry_mapped(entry))
		die("not mapped", EINVAL);
	err = ek_store_tx_add_free(store, ek_entry_member(entry), ek_entry_pe(entry), 1);
	if (!err)
		err = ek_store_tx_commit(store);
	if (err)
		die("transaction", err);
}

static int ignore_map(void *ctx, u64 le, u64 entry)
{
	return 0;
}

static int ignore_free(void *ctx, unsigned int member, u32 pe, u32 count)
{
	return 0;
}

/* What the words ask for; NULL: nothing known. */
static void (*change_of(int argc, char **argv))(struct ek_store *store, u64 number)
{
	static const struct {
		const char *name;
		int argc;
		void (*run)(struct ek_store *store, u64 number);
	} changes[] = {
		{ "fill", 3, fill }, { "journal", 4, fill_journal }, { "free", 4, free_place },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(changes) && argc > 1; i++)
		if (argc == changes[i].argc && !strcmp(argv[1], changes[i].name))
			return changes[i].run;
	return NULL;
}

int main(int argc, char **argv)
{
	void (*change)(struct ek_store *store, u64 number) = change_of(argc, argv);
	const char *reason = "";
	struct ek_store *store;
	struct area area;
	int err;

	if (!change) {
		fprintf(stderr, "usage: mkmeta fill AREA | journal AREA STEP | free AREA EXTENT\n");
		return 2;
	}
	area_open(&area, argv[2]);
	err = ek_store_open(&area_io, &area, &area.bytes, 1, &store, &reason);
	if (err)
		die(reason, err);
	err = ek_store_replay(store, ignore_map, ignore_free, NULL);
	if (err)
		die("replay", err);
	change(store, argc > 3 ? strtoull(argv[3], NULL, 0) : 0);
	ek_store_close(store);
	if (fsync(area.fd))
		die(argv[2], errno);
	return 0;
}
