// SPDX-License-Identifier: GPL-2.0-only
/*
 * Images of scmfs: a sample in which the input changes some words (position, value, repeated),
 * opened, read whole, written to; then what fsck makes of the same image, which has to be
 * openable. Nothing may go wrong but by an error, also where the content of files changes, as it
 * does at any time, and is what others have their names or extents in.
 */
#include <linux/errno.h>
#include <linux/string.h>

#include <evenkeel/label.h>

#include "fuzz.h"
#include "check.h"
#include "engine_internal.h"

#define SIZE		(512u << 10)
#define INODES		40u
#define STATE_CLEAN	0x80	/* of the first byte: the maps are believed */
#define SIGNED		0x40	/* and attributes have their checksums */

static u8 *sample, *image;
static struct scmfs *fs_now;
static struct scmfs_node node[INODES + 2];	/* with their indexes, once used */

struct edit {
	u32 at;
	u8 bytes[6];
} __attribute__((packed));

static const struct scmfs_new file = { .mode = SCMFS_IFREG | 0644 };
static const struct scmfs_new directory = { .mode = SCMFS_IFDIR | 0755 };

static const u8 bytes[5000];
static const struct scmfs_xattr attribute = {
	.index = SCMFS_XATTR_USER, .name = "name", .name_len = 4, .value = bytes, .value_len = 5000,
};
static const __le32 acl_value[] = {
	cpu_to_le32(2), cpu_to_le32(7 << 16 | 1), cpu_to_le32(~0u), cpu_to_le32(5 << 16 | 4),
	cpu_to_le32(~0u), cpu_to_le32(5 << 16 | 32), cpu_to_le32(~0u),
};
static const struct scmfs_xattr acl = {
	.index = SCMFS_XATTR_ACL_DEFAULT, .value = acl_value, .value_len = sizeof(acl_value),
};

static void make_sample(void)
{
	struct scmfs_format_params p = { .uuid = { 1 }, .nr_inodes = INODES, .lanes = 1 };
	struct scmfs_new link = { .mode = SCMFS_IFLNK | 0777, .target = "there", .target_len = 5 };
	struct scmfs_node root = { .ino = 1 }, dir = { 0 };
	const char *reason;
	struct scmfs *fs;
	char name[200];
	u64 ino;
	u32 i;

	sample = aligned_alloc(4096, SIZE);
	image = aligned_alloc(4096, SIZE);
	memset(sample, 0, SIZE);
	MUST(!scmfs_format(sample, SIZE, &p) && !scmfs_open(sample, SIZE, 0, &fs, NULL, &reason));
	MUST(!scmfs_create(fs, &root, "dir", 3, &directory, &dir.ino));
	MUST(!scmfs_create(fs, &root, "link", 4, &link, &ino));
	for (i = 0; i < 8; i++) {
		memset(name, 'a' + i, sizeof(name));
		MUST(!scmfs_create(fs, &dir, name, 1 + i * 25, &file, &ino));
		MUST(!scmfs_reserve(fs, ino, i * 5000, 3000, 0, 0));
	}
	MUST(!scmfs_xattr_set(fs, ino, &attribute, 0, NULL, 0));
	MUST(!scmfs_xattr_set(fs, dir.ino, &acl, 0, NULL, 0));
	for (i = 0; i < 12; i++)	/* more extents than are in the inode */
		MUST(!scmfs_reserve(fs, ino, 400000 - i * 8192, 10, 0, 0));
	scmfs_node_clear(&dir);
	scmfs_node_clear(&root);
	scmfs_close(fs);
}

static bool emit(void *ctx, const char *name, u32 len, u64 ino, u32 type, u64 cookie)
{
	MUST(len >= 1 && len <= SCMFS_NAME_MAX && ino);
	*(u64 *)ctx = ino;
	return true;
}

static int attribute_of(void *ctx, u32 index, const char *name, u32 len, u32 value_len)
{
	static u8 value[SCMFS_MAX_XATTR_VALUE];
	const u64 *ino = ctx;
	int n = scmfs_xattr_get(fs_now, *ino, index, name, len, value, sizeof(value));

	MUST(n < 0 || n <= SCMFS_MAX_XATTR_VALUE);
	return 0;
}

static void in_region(const struct scmfs_seg *seg)
{
	MUST(seg->at == SCMFS_HOLE || (seg->at < SIZE && seg->len <= SIZE - seg->at),
	     "%llu bytes at %llu", seg->len, seg->at);
}

/* As a reader does, who may go by one part for all that it asks for. */
static void look_at(struct scmfs *fs, const struct scmfs_attr *a, u64 pos)
{
	struct scmfs_seg seg;
	bool unwritten;

	if (pos >= a->size)
		return;
	if (!scmfs_map_part(fs, a->ino, pos, round_up(a->size, SCMFS_BLOCK_SIZE), &seg))
		in_region(&seg);
	if (!scmfs_report(fs, a->ino, pos, a->size - pos, &seg, &unwritten))
		in_region(&seg);
}

static void read_inode(struct scmfs *fs, u64 ino)
{
	struct scmfs_seg seg[16];
	struct scmfs_attr a;
	const char *target;
	u64 cookie = 0, last = 0;
	int i, n;

	if (scmfs_getattr(fs, ino, &a))
		return;
	n = scmfs_target(fs, ino, &target);
	MUST(n <= 0 || (target >= (char *)image && target + n <= (char *)image + SIZE));
	MUST(a.size <= SCMFS_MAX_FILE_BLOCKS << SCMFS_BLOCK_SHIFT);
	n = scmfs_map(fs, ino, 0, 1 << 20, seg, 16);
	for (i = 0; i < n; i++)
		in_region(seg + i);
	look_at(fs, &a, 0);
	look_at(fs, &a, 10000);
	fs_now = fs;
	scmfs_xattr_list(fs, ino, attribute_of, &ino);
	if (!scmfs_readdir(fs, node + ino, &cookie, emit, &last))
		scmfs_lookup(fs, node + ino, "aaa", 3, &last);
}

/* A word, or its last byte, mostly where a block that is another's as well has its first ones. */
static void change_part(const struct scmfs_seg *s, unsigned int *rnd)
{
	u64 words = s->len / sizeof(u64), odd = fuzz_odd(rnd);
	u8 *at;

	if (s->at == SCMFS_HOLE || !words)
		return;
	at = image + s->at + fuzz_random(rnd, fuzz_random(rnd, 4) ? min(words, 32ULL) : words) * sizeof(u64);
	if (fuzz_random(rnd, 2))
		at[7] = odd;
	else
		memcpy(at, &odd, sizeof(odd));
}

/* Somebody who has the file open stores to it. */
static void change_content(struct scmfs *fs, u64 ino, unsigned int *rnd)
{
	struct scmfs_seg seg[4];
	int n = scmfs_map(fs, ino, 0, 1 << 20, seg, 4), i;

	for (i = 0; n > 0 && i < 4 * n; i++)
		change_part(seg + i / 4, rnd);
}

static void write_inode(struct scmfs *fs, u64 ino)
{
	struct scmfs_write w;
	u64 new;

	if (!scmfs_create(fs, node + ino, "new", 3, &file, &new))
		scmfs_unlink(fs, node + ino, "new", 3, 0, &new);
	scmfs_unlink(fs, node + ino, "a", 1, 0, &new);
	if (!scmfs_write_begin(fs, ino, 1000, 9000, 0, &w))
		scmfs_write_end(fs, &w, 5000, 0);
	if (!scmfs_write_begin(fs, ino, 1000, 9000, SCMFS_WRITE_ATOMIC, &w))
		scmfs_write_end(fs, &w, 9000, 0);
	scmfs_zero(fs, ino, 5000, 90000, 0);
	scmfs_insert(fs, ino, 4096, 8192, 0);
	scmfs_collapse(fs, ino, 0, 4096, 0);
	scmfs_xattr_set(fs, ino, &acl, 0, NULL, 0);
	scmfs_punch(fs, ino, 0, 4096, 0);
	scmfs_truncate(fs, ino, 10, 0);
}

static void use_all(struct scmfs *fs, unsigned int rnd)
{
	unsigned int round;
	u64 ino;

	for (ino = 0; ino < INODES + 2; ino++)
		node[ino].ino = ino;
	for (round = 0; round < 2; round++) {
		for (ino = 0; ino < INODES + 2; ino++)
			read_inode(fs, ino);
		for (ino = 0; ino < INODES; ino++)
			change_content(fs, ino, &rnd);
	}
	for (ino = 0; ino < INODES; ino++) {
		write_inode(fs, ino);
		change_content(fs, ino, &rnd);
	}
	for (ino = 0; ino < INODES + 2; ino++)
		scmfs_node_clear(node + ino);
}

static void say(const char *text)
{
	MUST(*text);
}

/* Checksums of attributes' blocks are right, or all that is in them would never be looked at. */
static void sign_attributes(void)
{
	u64 block;

	for (block = 0; block < SIZE / SCMFS_BLOCK_SIZE; block++) {
		struct scmfs_xattr_block *b = (void *)(image + block * SCMFS_BLOCK_SIZE);
		u32 used = le32_to_cpu(b->used);

		if (le32_to_cpu(b->magic) == SCMFS_XATTR_MAGIC && used <= SCMFS_XATTR_DATA)
			b->csum = cpu_to_le32(ek_checksum(b, offsetof(struct scmfs_xattr_block, data) + used,
							  &b->csum));
	}
}

static void apply(const uint8_t *data, size_t size)
{
	const uint8_t *first = data;
	struct edit e;

	memcpy(image, sample, SIZE);
	if (!size)
		return;
	if (!(*data & STATE_CLEAN))
		memset(image + SCMFS_STATE_OFFSET, 0, 8);
	for (data++, size--; size >= sizeof(e); data += sizeof(e), size -= sizeof(e)) {
		memcpy(&e, data, sizeof(e));
		e.at %= SIZE - sizeof(e.bytes);
		memcpy(image + e.at, e.bytes, sizeof(e.bytes));
	}
	if (*first & SIGNED)
		sign_attributes();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scmfs_check check = { .say = say };
	const char *reason = "";
	struct scmfs *fs;
	int r;

	if (!sample)
		make_sample();
	apply(data, size);
	r = scmfs_open(image, SIZE, 0, &fs, NULL, &reason);
	MUST(!r || *reason);
	if (!r) {
		use_all(fs, scmfs_name_hash((const char *)data, size));
		scmfs_close(fs);
	}
	apply(data, size);
	check.found = 0;
	r = scmfs_check(image, SIZE, &check, &reason);
	MUST(!r || *reason);
	if (r)
		return 0;
	MUST(!scmfs_open(image, SIZE, 0, &fs, NULL, &reason), "%s", reason);
	use_all(fs, scmfs_name_hash((const char *)data, size));
	scmfs_close(fs);
	return 0;
}

/* The first ones, of those that there are. */
static u64 attribute_block(unsigned int nr)
{
	u64 block, last = 0;

	for (block = 0; block < SIZE / SCMFS_BLOCK_SIZE; block++) {
		const struct scmfs_xattr_block *b = (void *)(sample + block * SCMFS_BLOCK_SIZE);

		if (le32_to_cpu(b->magic) != SCMFS_XATTR_MAGIC)
			continue;
		last = block;
		if (!nr--)
			break;
	}
	return last;
}

static u32 inode_at(u64 ino)
{
	return le64_to_cpu(((struct scmfs_super *)sample)->inode_offset) + ino * sizeof(struct scmfs_inode);
}

static size_t add_edit(uint8_t *data, u32 at, uint64_t v)
{
	struct edit e = { .at = at };

	memcpy(e.bytes, &v, sizeof(e.bytes));
	memcpy(data, &e, sizeof(e));
	return sizeof(e);
}

/* All of a word, by two edits. */
static size_t set_word(uint8_t *data, u32 at, u64 v)
{
	size_t n = add_edit(data, at, v);

	return n + add_edit(data + n, at + 2, v >> 16);
}

/* Bytes so many that their number of blocks wraps. */
static size_t huge_size(uint8_t *data, u64 ino, bool kept, u64 below)
{
	return set_word(data, inode_at(ino) + (kept ? offsetof(struct scmfs_inode, kept) :
					       offsetof(struct scmfs_inode, size)), -below);
}

/* A file's content is a block that others have in use. */
static size_t share(uint8_t *data, u64 ino, u32 place, u64 block)
{
	return set_word(data, inode_at(ino) + offsetof(struct scmfs_inode, extent) +
			place * sizeof(struct scmfs_extent), block);
}

static size_t add_crafted(uint8_t *data, unsigned int *rnd)
{
	u64 first = ((struct scmfs_super *)sample)->first_data_block, ino = 1 + fuzz_random(rnd, 12);

	if (fuzz_random(rnd, 2))
		return huge_size(data, ino, fuzz_random(rnd, 2), 1 + fuzz_random(rnd, 4200));
	return share(data, ino, fuzz_random(rnd, 3), first + fuzz_random(rnd, 24));
}

/* Most edits where something is: inodes, the directory, the map of extents. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	unsigned int rnd = seed;
	struct edit e;
	uint64_t v;

	if (!fuzz_random(&rnd, 4) || size < 1)
		return LLVMFuzzerMutate(data, size, max);
	if (max < size + 2 * sizeof(e))
		size = 1;
	if (!sample)
		make_sample();
	if (!fuzz_random(&rnd, 4))
		return size + add_crafted(data + size, &rnd);
	e.at = le64_to_cpu(((struct scmfs_super *)sample)->inode_offset) + 8 * fuzz_random(&rnd, 16 * 32);
	if (!fuzz_random(&rnd, 3))
		e.at = (((struct scmfs_super *)sample)->first_data_block << 12) +
			8 * fuzz_random(&rnd, 20 * 512);
	if (!fuzz_random(&rnd, 12))
		e.at = 8 * fuzz_random(&rnd, 4096);
	if (!fuzz_random(&rnd, 3)) {
		e.at = attribute_block(fuzz_random(&rnd, 3)) * SCMFS_BLOCK_SIZE + 4 * fuzz_random(&rnd, 40);
		data[0] |= SIGNED;
	}
	v = fuzz_odd(&rnd);
	memcpy(e.bytes, &v, sizeof(e.bytes));
	memcpy(data + size, &e, sizeof(e));
	return size + sizeof(e);
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	static const struct edit edits[] = {
		{ 0, { 0 } }, { 2048, { 1 } }, { 24576 + 256 + 136, { 255, 255, 255, 255, 9 } },
	};

	u32 i;

	if (nr >= 6 && !sample)
		make_sample();
	data[0] = STATE_CLEAN;
	if (nr >= 6 && nr < 10)
		return 1 + huge_size(data + 1, 4 + nr / 8, nr & 1, 10);
	if (nr >= 10 && nr < 20) {	/* eight files, two of each of four blocks */
		size_t n = 1;

		for (i = 0; i < 8; i++)
			n += share(data + n, 4 + i, 0, ((struct scmfs_super *)sample)->first_data_block +
				   (nr - 10) * 4 + i % 4);
		return n;
	}
	if (nr >= 20)
		return 0;
	data[0] = nr & 1 ? STATE_CLEAN : 0;
	memcpy(data + 1, &edits[nr / 2], sizeof(edits[0]));
	return 1 + (nr < 2 ? 0 : sizeof(edits[0]));
}
