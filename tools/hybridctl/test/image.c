// SPDX-License-Identifier: GPL-2.0-only
/* Makes and spoils a pool in image files, with the library's own format code. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/crc32c.h>
#include <evenkeel/entry.h>
#include <evenkeel/label.h>
#include <evenkeel/store.h>

#include "image.h"

#define SECTOR	512u

static int image_read(void *ctx, unsigned int area, u64 offset, void *buf, size_t len)
{
	struct image_set *set = ctx;

	return pread(set->fd[area], buf, len, offset) == (ssize_t)len ? 0 : -EIO;
}

static int image_write(void *ctx, unsigned int area, u64 offset, const void *buf, size_t len,
		       unsigned int flags)
{
	struct image_set *set = ctx;

	(void)flags;
	return pwrite(set->fd[area], buf, len, offset) == (ssize_t)len ? 0 : -EIO;
}

static int image_done(void *ctx, unsigned int area)
{
	(void)ctx;
	(void)area;
	return 0;
}

static const struct ek_store_io image_io = {
	.read = image_read, .write = image_write, .wait = image_done, .flush = image_done,
};

static void must(int err, const char *what)
{
	if (!err)
		return;
	printf("Bail out! %s: %d\n", what, err);
	exit(1);
}

static unsigned int nr_meta = 2;	/* in labels */
static const char *name = "testpool";	/* likewise */
static u32 extent = IMAGE_EXTENT;

static void label(const struct image_set *set, unsigned int file, u32 role, u32 index,
		  u8 uuid, u64 start, u64 end)
{
	struct ek_label_info info = {
		.role = role, .index = index, .nr_members = 2, .nr_meta = nr_meta,
		.extent_sectors = extent, .area_start = start, .area_sectors = end - start,
		.ctime = 1,
	};
	struct ek_label out;

	snprintf(info.name, sizeof(info.name), "%s", name);
	memset(info.pool_uuid, 0x11, EK_UUID_SIZE);
	memset(info.area_uuid, uuid, EK_UUID_SIZE);
	ek_label_encode(&info, &out);
	must(pwrite(set->fd[file], &out, sizeof(out), start * SECTOR) != sizeof(out), "label");
	must(pwrite(set->fd[file], &out, sizeof(out),
		    start * SECTOR + ek_label_copy_offset(end - start)) != sizeof(out), "copy");
}

static struct ek_store *open_store(struct image_set *set)
{
	u64 bytes[2] = { IMAGE_META * SECTOR, IMAGE_META * SECTOR };
	struct ek_store *store;
	const char *reason;

	must(ek_store_open(&image_io, set, bytes, 3, &store, &reason), "open");
	return store;
}

static int ignore_map(void *ctx, u64 le, u64 entry)
{
	(void)ctx;
	(void)le;
	(void)entry;
	return 0;
}

static int ignore_free(void *ctx, unsigned int member, u32 pe, u32 count)
{
	(void)ctx;
	(void)member;
	(void)pe;
	(void)count;
	return 0;
}

void image_make(struct image_set *set, const char *dir)
{
	struct ek_store_params p = {
		.extent_sectors = IMAGE_EXTENT, .nr_extents = 1000, .nr_meta = 2, .nr_members = 2,
		.area_bytes = { IMAGE_META * SECTOR, IMAGE_META * SECTOR },
		.policy = "wardrop 2 alpha 10",
	};
	unsigned int i;

	memset(p.pool_uuid, 0x11, EK_UUID_SIZE);
	for (i = 0; i < 2; i++) {
		snprintf(set->path[i], sizeof(set->path[i]), "%s/image%u", dir, i);
		set->fd[i] = open(set->path[i], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		must(set->fd[i] < 0 || ftruncate(set->fd[i], IMAGE_SECTORS * SECTOR), "file");
		memset(p.member_uuid[i], (EK_ROLE_MEMBER << 4) + i, EK_UUID_SIZE);
		p.member_extents[i] = ek_member_extents(IMAGE_SECTORS - IMAGE_META, IMAGE_EXTENT);
	}
	must(ek_store_area_bytes(1000, 2, p.member_extents) > IMAGE_META * SECTOR, "area size");
	must(ek_store_format(&image_io, set, &p), "format");
	for (i = 0; i < 2; i++) {
		/* Metadata areas are told apart by their index, as long as none was replaced. */
		label(set, i, EK_ROLE_META, i, 0x11, 0, IMAGE_META);
		label(set, i, EK_ROLE_MEMBER, i, (EK_ROLE_MEMBER << 4) + i, IMAGE_META,
		      IMAGE_SECTORS);
	}
}

void image_leave(struct image_set *set, unsigned int i)
{
	struct ek_store *store = open_store(set);

	must(ek_store_replay(store, ignore_map, ignore_free, NULL), "replay");
	must(ek_store_leave_out(store, i), "leave");
	ek_store_close(store);
}

void image_wipe_area(struct image_set *set, unsigned int i)
{
	char zero[EK_BLOCK_SIZE] = { 0 };
	u64 at;

	for (at = 0; at < IMAGE_META * SECTOR; at += sizeof(zero))
		must(pwrite(set->fd[i], zero, sizeof(zero), at) != sizeof(zero), "wipe");
}

void image_made_with_one(struct image_set *set)
{
	unsigned int i;

	nr_meta = 1;
	label(set, 0, EK_ROLE_META, 0, 0x11, 0, IMAGE_META);
	for (i = 0; i < 2; i++)
		label(set, i, EK_ROLE_MEMBER, i, (EK_ROLE_MEMBER << 4) + i, IMAGE_META,
		      IMAGE_SECTORS);
	nr_meta = 2;
}

static void label_all(const struct image_set *set)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		label(set, i, EK_ROLE_META, i, 0x11, 0, IMAGE_META);
		label(set, i, EK_ROLE_MEMBER, i, (EK_ROLE_MEMBER << 4) + i, IMAGE_META,
		      IMAGE_SECTORS);
	}
}

void image_named(struct image_set *set, const char *new)
{
	name = new;
	label_all(set);
	name = "testpool";
}

void image_of_extents(struct image_set *set, u32 sectors)
{
	extent = sectors;
	label_all(set);
	extent = IMAGE_EXTENT;
}

void image_shrunk(struct image_set *set, unsigned int i)
{
	label(set, i, EK_ROLE_MEMBER, i, (EK_ROLE_MEMBER << 4) + i, IMAGE_META, IMAGE_SECTORS / 2);
}

void image_flags(struct image_set *set, u32 on, u32 off)
{
	struct ek_store *store = open_store(set);

	must(ek_store_replay(store, ignore_map, ignore_free, NULL), "replay");
	must(ek_store_update_super(store, on, off), "superblock");
	ek_store_close(store);
}

u32 image_super_flags(struct image_set *set)
{
	struct ek_store *store = open_store(set);
	u32 flags = le32_to_cpu(ek_store_super(store)->flags);

	ek_store_close(store);
	return flags;
}

u32 image_member_state(struct image_set *set, unsigned int i)
{
	struct ek_store *store = open_store(set);
	u32 state = le32_to_cpu(ek_store_super(store)->member[i].state);

	ek_store_close(store);
	return state;
}

void image_copy(struct image_set *set, unsigned int i, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char data[65536];
	u64 at;

	must(fd < 0, "file");
	for (at = 0; at < IMAGE_SECTORS * SECTOR; at += sizeof(data))
		must(pread(set->fd[i], data, sizeof(data), at) != sizeof(data) ||
		     write(fd, data, sizeof(data)) != sizeof(data), "copy");
	close(fd);
}

void image_relabel(struct image_set *set, unsigned int file, u64 offset,
		   void (*change)(struct ek_label *label))
{
	struct ek_label out;

	must(pread(set->fd[file], &out, sizeof(out), offset) != sizeof(out), "label");
	change(&out);
	out.csum = cpu_to_le32(ek_checksum(&out, sizeof(out), &out.csum));
	must(pwrite(set->fd[file], &out, sizeof(out), offset) != sizeof(out), "label");
}

void image_new_area(struct image_set *set, unsigned int i)
{
	image_wipe_area(set, i);
	label(set, i, EK_ROLE_META, i, 0x77, 0, IMAGE_META);
}

void image_journal(struct image_set *set, const struct image_change *c, unsigned int nr)
{
	struct ek_store *store = open_store(set);

	must(ek_store_replay(store, ignore_map, ignore_free, NULL), "replay");
	for (; nr; nr--, c++) {
		if (c->free)
			must(ek_store_tx_add_free(store, c->member, c->pe, 1), "free");
		else
			must(ek_store_tx_add_map(store, c->le,
						 ek_entry_make(c->member, c->pe, c->valid)), "map");
	}
	must(ek_store_tx_commit(store), "commit");
	ek_store_close(store);
}

/* A checkpoint with one map page and member 0's first space map page. */
void image_checkpoint(struct image_set *set, const struct image_change *c, unsigned int nr,
		      u32 used)
{
	struct ek_page *map = calloc(1, sizeof(*map)), *space = calloc(1, sizeof(*space));
	struct ek_store *store = open_store(set);
	u32 pe;

	must(!map || !space, "memory");
	must(ek_store_replay(store, ignore_map, ignore_free, NULL), "replay");
	for (; nr; nr--, c++)
		map->entry[c->le] = cpu_to_le64(ek_entry_make(c->member, c->pe, c->valid));
	for (pe = 0; pe < used; pe++)
		space->entry[pe / 64] |= cpu_to_le64(1ull << pe % 64);
	must(ek_store_ckpt_begin(store), "begin");
	must(ek_store_ckpt_page(store, 0, map), "page");
	must(ek_store_ckpt_page(store, ek_store_space_index(store, 0, 0), space), "space page");
	must(ek_store_ckpt_commit(store, EK_SUPER_CLEAN), "checkpoint");
	ek_store_close(store);
	free(map);
	free(space);
}

/* Offset of the slot in use of a page. */
static u64 page_offset(struct image_set *set, u64 index, u64 pages)
{
	u64 offset = pages + 2 * index * EK_BLOCK_SIZE;
	struct ek_page page;
	unsigned int slot;

	for (slot = 0; slot < 2; slot++) {
		must(pread(set->fd[0], &page, sizeof(page), offset + slot * sizeof(page)) !=
		     sizeof(page), "page");
		if (le32_to_cpu(page.magic) == EK_PAGE_MAGIC)
			return offset + slot * sizeof(page);
	}
	must(1, "no such page");
	return 0;
}

u64 image_page_offset(struct image_set *set)
{
	struct ek_store *store = open_store(set);
	u64 pages = le64_to_cpu(ek_store_super(store)->pages_offset);

	ek_store_close(store);
	return page_offset(set, 0, pages);
}

u64 image_space_offset(struct image_set *set)
{
	struct ek_store *store = open_store(set);
	u64 pages = le64_to_cpu(ek_store_super(store)->pages_offset);
	u64 index = ek_store_space_index(store, 0, 0);

	ek_store_close(store);
	return page_offset(set, index, pages);
}

void image_spoil(struct image_set *set, unsigned int file, u64 offset, size_t len)
{
	unsigned char *bytes = malloc(len + 1);
	size_t i;

	must(!bytes, "memory");
	must(pread(set->fd[file], bytes, len, offset) != (ssize_t)len, "spoil");
	for (i = 0; i < len; i++)
		bytes[i] ^= 0x5a;
	must(pwrite(set->fd[file], bytes, len, offset) != (ssize_t)len, "spoil");
	free(bytes);
}

static void *read_all(const struct image_set *set, unsigned int i)
{
	const ssize_t len = (ssize_t)IMAGE_SECTORS * SECTOR;
	void *all = malloc(len);

	must(!all || pread(set->fd[i], all, len, 0) != len, "read");
	return all;
}

void image_md(struct image_set *set, unsigned int i)
{
	const u64 at = (u64)IMAGE_SECTORS * SECTOR - 2 * EK_BLOCK_SIZE;
	const __le64 where = cpu_to_le64(at / SECTOR);
	const __le32 head[] = { cpu_to_le32(0xa92b4efc), cpu_to_le32(1) };

	must(pwrite(set->fd[i], head, sizeof(head), at) != sizeof(head), "md");
	must(pwrite(set->fd[i], &where, sizeof(where), at + 144) != sizeof(where), "md");
}

u32 image_sum(const struct image_set *set, unsigned int i)
{
	void *all = read_all(set, i);
	u32 sum = crc32c(~0, all, IMAGE_SECTORS * SECTOR);

	free(all);
	return sum;
}

void image_clone(struct image_set *copy, const struct image_set *set, const char *dir)
{
	const ssize_t len = (ssize_t)IMAGE_SECTORS * SECTOR;
	void *all = read_all(set, 0);

	snprintf(copy->path[0], sizeof(copy->path[0]), "%s/copy", dir);
	copy->fd[0] = open(copy->path[0], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(copy->fd[0] < 0 || pwrite(copy->fd[0], all, len, 0) != len, "copy");
	free(all);
}

void image_exchange(struct image_set *set, const char *dir)
{
	struct image_set copy;

	image_clone(&copy, set, dir);
	must(rename(copy.path[0], set->path[0]), "exchange");
	close(set->fd[0]);
	set->fd[0] = copy.fd[0];
}

void image_close(struct image_set *set)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		close(set->fd[i]);
		unlink(set->path[i]);
	}
}
