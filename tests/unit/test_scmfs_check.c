// SPDX-License-Identifier: GPL-2.0-only
/* fsck's check and repair, on file systems that were damaged in one or several places. */
#include <sys/stat.h>
#include <time.h>
#include <evenkeel/scm.h>
#include <evenkeel/undo.h>
#include "check.h"
#include "crash.h"
#include "engine_internal.h"
#include "ktap.h"
#include "scmfs_lib.h"

#define SIZE	(2u << 20)
#define INODES	200u
#define MANY_BYTES	(256ull << 20)
#define LANES	2u

static struct tfs t;
static u8 *image;
static u64 said;
static u64 steps;	/* of the walk over names: as it was built, each branch calls this */

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	steps++;
}

static bool vouched;	/* for the saved maps, when something had been found */

static void say(const char *text)
{
	vouched |= scmfs_read(&((struct scmfs_state *)(t.mem + SCMFS_STATE_OFFSET))->clean);
	said++;
}

static u64 check(const char *what)
{
	struct scmfs_check c = { .say = say };
	const char *reason = "";
	int r;

	said = 0;
	r = scmfs_check(t.mem, SIZE, &c, &reason);
	CHECK(!r, "%s: %d %s", what, r, reason);
	CHECK(c.found == said);
	return c.found;
}

static void make(void)
{
	char path[400];
	u32 i, j;
	u64 ino;

	tfs_make(&t, SIZE, INODES, LANES);
	for (i = 0; i < 6; i++) {
		sprintf(path, "dir%u", i);
		CHECK(!tfs_make_node(&t, path, S_IFDIR | 0755, NULL, NULL));
		for (j = 0; j < 12; j++) {
			sprintf(path, "dir%u/%0*u", i, j * 20 + 1, j);
			CHECK(!tfs_make_node(&t, path, S_IFREG | 0644, NULL, &ino));
			CHECK(!tfs_write(&t, ino, j * 3000, 5000, i + 1, 0));
		}
	}
	memset(path, 'l', 399);
	path[399] = 0;
	CHECK(!tfs_make_node(&t, "long", S_IFLNK | 0777, path, NULL));
	CHECK(!tfs_make_node(&t, "dir0/sub", S_IFDIR | 0755, NULL, NULL));
	CHECK(!tfs_make_node(&t, "dir0/sub/sub", S_IFDIR | 0755, NULL, NULL));
	CHECK(!tfs_link(&t, "dir1/0", "dir0/link"));
	CHECK(!tfs_set_attr(&t, 3, "a", 1, 100) && !tfs_set_attr(&t, 4, "b", 1, 6000));
	CHECK(!scmfs_reserve(t.fs, 4, 0, 200000, 0, 1));
	/* one with a block of extents */
	CHECK(!tfs_make_node(&t, "holes", S_IFREG | 0644, NULL, &ino));
	for (i = 0; i < 20; i++)
		CHECK(!tfs_write(&t, ino, (39 - i) * 8192, 100, 3, 0));
	tfs_unmount(&t);
	image = malloc(SIZE);
	memcpy(image, t.mem, SIZE);
}

static void undamaged(void)
{
	make();
	CHECK(!check("what was closed") && !memcmp(image + 4096, t.mem + 4096, 4));
	CHECK(!tfs_mount(&t, NULL));
	tfs_check(&t);
	tfs_crash(&t);
	CHECK(!check("after a crash"));
	free(image);
	free(t.mem);
}

static void inode_word(u64 ino, size_t offset, u64 value)
{
	memcpy(t.mem + le64_to_cpu(((struct scmfs_super *)t.mem)->inode_offset) + ino * 256 + offset,
	       &value, 8);
}

static u64 word_of(u64 ino, size_t offset)
{
	u64 value;

	memcpy(&value, t.mem + le64_to_cpu(((struct scmfs_super *)t.mem)->inode_offset) + ino * 256 +
	       offset, 8);
	return value;
}

/* Repaired at once, then nothing is found, and everything can be used. */
static void repaired(const char *what, u64 least)
{
	char *text;
	u64 n = check(what);

	CHECK(n >= least, "%s: %llu found", what, n);
	n = check(what);
	CHECK(!n, "%s: %llu left", what, n);
	if (ktap_failing() || !CHECK(!tfs_mount(&t, NULL)))
		return;
	tfs_check(&t);
	text = tfs_show(&t);
	CHECK(text && !tfs_make_node(&t, "new", S_IFREG | 0644, NULL, NULL), "%s", what);
	free(text);
	tfs_crash(&t);
}

static void one_damage(void)
{
	static const struct {
		const char *what;
		u64 ino;
		size_t offset;
		u64 value;
	} damage[] = {
		{ "links", 3, 0, (u64)(S_IFREG | 0644) << 32 | 7 },
		{ "no links", 3, 0, (u64)(S_IFREG | 0644) << 32 },
		{ "type", 3, 0, (u64)0170000 << 32 | 1 },
		{ "a directory's links", 2, 0, (u64)(S_IFDIR | 0755) << 32 | 9 },
		{ "a directory's size", 2, 8, 1 << 20 },
		{ "a directory is a file", 2, 0, (u64)(S_IFREG | 0755) << 32 | 1 },
		{ "a file is a directory", 3, 0, (u64)(S_IFDIR | 0755) << 32 | 2 },
		{ "size", 3, 8, -4093ULL },
		{ "size of a directory", 2, 8, -1ULL },
		{ "what is reserved", 3, 112, -1ULL },
		{ "blocks", 3, 32, 99 },
		{ "map block", 3, 40, 5 },
		{ "map block beyond", 3, 40, 1ULL << 40 },
		{ "parent", 2, 48, 17 },
		{ "extent", 3, 128, 1 },
		{ "extent beyond", 3, 128, 1ULL << 50 },
		{ "extent too long", 3, 136, 0xffffffff00000000ULL },
		{ "attributes", 3, 104, 5 },
		{ "attributes beyond", 3, 104, 1ULL << 40 },
		{ "attributes in a file", 3, 104, 100 },
		{ "root", 1, 0, 0 },
		{ "magic", 3, 88, 0 },
	};
	u64 ino;
	u32 i;

	make();
	for (i = 0; i < ARRAY_SIZE(damage) && !ktap_failing(); i++) {
		memcpy(t.mem, image, SIZE);
		inode_word(damage[i].ino, damage[i].offset, damage[i].value);
		repaired(damage[i].what, 1);
	}
	memcpy(t.mem, image, SIZE);
	inode_word(2, 128, word_of(2, 128) | SCMFS_UNWRITTEN);
	repaired("a directory that is unwritten", 1);
	CHECK(!tfs_mount(&t, NULL) && !tfs_find(&t, "dir0/0", &ino));
	tfs_crash(&t);
	memcpy(t.mem, image, SIZE);
	t.mem[word_of(3, 104) * SCMFS_BLOCK_SIZE + 60] ^= 1;
	repaired("an attribute", 1);
	memcpy(t.mem, image, SIZE);
	memset(t.mem, 0, 512);
	repaired("super block", 1);
	memcpy(t.mem, image, SIZE);
	t.mem[le64_to_cpu(((struct scmfs_super *)image)->block_map_offset) + 20] ^= 0xff;
	repaired("maps", 1);
	free(image);
	free(t.mem);
}

/* An ACL as a list of (tag, permissions, id), with the version in front. */
static u32 put_acl(u8 *value, u32 version, const u32 (*e)[3], u32 nr)
{
	__le32 v = cpu_to_le32(version);
	u32 i, len = sizeof(v);

	memcpy(value, &v, sizeof(v));
	for (i = 0; i < nr; i++, len += 8) {
		__le32 words[] = { cpu_to_le32(e[i][0] | e[i][1] << 16), cpu_to_le32(e[i][2]) };

		memcpy(value + len, words, sizeof(words));
	}
	return len;
}

static void set_acl(u64 ino, u32 index, const void *value, u32 len)
{
	const struct scmfs_attr a = { .mode = 0664 };
	const struct scmfs_xattr x = { .index = index, .name = "", .value = value,
				       .value_len = len };

	CHECK(!scmfs_xattr_set(t.fs, ino, &x, 0, &a, SCMFS_SET_MODE));
}

static u32 mode_is(u64 ino)
{
	struct scmfs_attr a;

	CHECK(!scmfs_getattr(t.fs, ino, &a));
	return a.mode & 0777;
}

static bool has_acl(u64 ino, u32 index)
{
	return scmfs_xattr_get(t.fs, ino, index, "", 0, NULL, 0) >= 0;
}

#define NONE	~0u

static void acls(void)
{
	static const struct {
		const char *what;
		bool ok;
		u32 version, cut, nr, e[6][3];
	} list[] = {
		{ "of three", true, 2, 0, 3, { { 1, 6, NONE }, { 4, 4, NONE }, { 32, 4, NONE } } },
		{ "named", true, 2, 0, 6, { { 1, 7, NONE }, { 2, 6, 1000 }, { 4, 4, NONE },
					    { 8, 7, 50 }, { 16, 4, NONE }, { 32, 0, NONE } } },
		{ "mask alone", true, 2, 0, 4, { { 1, 6, NONE }, { 4, 4, NONE }, { 16, 4, NONE },
						 { 32, 4, NONE } } },
		{ "version", false, 3, 0, 3, { { 1, 6, NONE }, { 4, 4, NONE }, { 32, 4, NONE } } },
		{ "size", false, 2, 1, 3, { { 1, 6, NONE }, { 4, 4, NONE }, { 32, 4, NONE } } },
		{ "none", false, 2, 0, 0, { { 0 } } },
		{ "no end", false, 2, 0, 2, { { 1, 6, NONE }, { 4, 4, NONE } } },
		{ "order", false, 2, 0, 3, { { 4, 4, NONE }, { 1, 6, NONE }, { 32, 4, NONE } } },
		{ "twice", false, 2, 0, 4, { { 1, 6, NONE }, { 4, 4, NONE }, { 4, 4, NONE },
					     { 32, 4, NONE } } },
		{ "behind the end", false, 2, 0, 4, { { 1, 6, NONE }, { 4, 4, NONE },
						      { 32, 4, NONE }, { 32, 4, NONE } } },
		{ "tag", false, 2, 0, 3, { { 1, 6, NONE }, { 5, 4, NONE }, { 32, 4, NONE } } },
		{ "permissions", false, 2, 0, 3, { { 1, 8, NONE }, { 4, 4, NONE }, { 32, 4, NONE } } },
		{ "no mask", false, 2, 0, 4, { { 1, 6, NONE }, { 2, 6, 5 }, { 4, 4, NONE },
					       { 32, 4, NONE } } },
		{ "nobody", false, 2, 0, 5, { { 1, 6, NONE }, { 2, 6, NONE }, { 4, 4, NONE },
					      { 16, 4, NONE }, { 32, 4, NONE } } },
	};
	u8 value[100];
	u32 i, len;

	make();
	for (i = 0; i < ARRAY_SIZE(list) && !ktap_failing(); i++) {
		memcpy(t.mem, image, SIZE);
		CHECK(!tfs_mount(&t, NULL));
		len = put_acl(value, list[i].version, list[i].e, list[i].nr) - list[i].cut;
		set_acl(3, SCMFS_XATTR_ACL_ACCESS, value, len);		/* beside an attribute */
		set_acl(2, SCMFS_XATTR_ACL_DEFAULT, value, len);	/* alone, of a directory */
		tfs_unmount(&t);
		if (list[i].ok)
			CHECK(!check(list[i].what), "%s", list[i].what);
		else
			repaired(list[i].what, 2);
		CHECK(!tfs_mount(&t, NULL));
		CHECK(has_acl(3, SCMFS_XATTR_ACL_ACCESS) == list[i].ok, "%s", list[i].what);
		CHECK(has_acl(2, SCMFS_XATTR_ACL_DEFAULT) == list[i].ok, "%s", list[i].what);
		CHECK(mode_is(3) == (list[i].ok ? 0664 : 0604), "%s: %o", list[i].what, mode_is(3));
		CHECK(mode_is(2) == 0664, "%s", list[i].what);
		CHECK(scmfs_xattr_get(t.fs, 3, SCMFS_XATTR_USER, "a", 1, NULL, 0) == 100);
		tfs_crash(&t);
	}
	/* a default one of a file; and where there is no block to write the other attribute to */
	memcpy(t.mem, image, SIZE);
	CHECK(!tfs_mount(&t, NULL));
	len = put_acl(value, 2, list[0].e, 3);
	set_acl(3, SCMFS_XATTR_ACL_DEFAULT, value, len);
	CHECK(scmfs_reserve(t.fs, 4, 1 << 20, 2 << 20, SCMFS_RESERVE_KEEP_SIZE, 1) == -ENOSPC);
	for (i = 0; !scmfs_reserve(t.fs, 4, (4 << 20) + i * 4096, 4096, SCMFS_RESERVE_KEEP_SIZE, 1); i++)
		;
	tfs_unmount(&t);
	CHECK(check("of a file, and full") && !check("of a file, and full"));
	CHECK(!tfs_mount(&t, NULL) && !has_acl(3, SCMFS_XATTR_ACL_DEFAULT));
	tfs_check(&t);
	tfs_crash(&t);
	free(image);
	free(t.mem);
}

/* Who ends in the middle of its repairs leaves no maps that are believed, which may be wrong by then. */
static void told_first(void)
{
	struct scmfs_inode *table;

	make();
	table = (void *)(t.mem + le64_to_cpu(((struct scmfs_super *)image)->inode_offset));
	scmfs_write_word(&table[7].blocks, 77);
	vouched = false;
	CHECK(check("blocks miscounted") == 1 && !vouched, "%llu said, %d", said, vouched);
	CHECK(!check("again"));
	free(image);
	free(t.mem);
}

/* ---- the undo log --------------------------------------------------------------------------- */

static struct eku_lane *lane_of(u32 nr)
{
	return (struct eku_lane *)(t.mem + le64_to_cpu(((struct scmfs_super *)t.mem)->log_offset)) + nr;
}

/* The next one that transactions were in. */
static struct eku_lane *next_used(struct eku_lane *lane)
{
	do
		lane = lane ? lane + 1 : lane_of(0);
	while (lane < lane_of(LANES) && le64_to_cpu(lane->head.retired) < EKU_FIRST);
	return lane < lane_of(LANES) ? lane : NULL;
}

/* A mount refuses it, and changes nothing; a repair keeps all that was there. */
static void refused_and_repaired(const char *what, u64 least)
{
	char *before, *after;
	u8 *damaged = malloc(SIZE);
	u64 n;

	memcpy(damaged, t.mem, SIZE);
	CHECK(tfs_mount(&t, NULL) == -EUCLEAN, "%s", what);
	CHECK(!memcmp(damaged, t.mem, SIZE), "%s: a mount changes it", what);
	memcpy(t.mem, image, SIZE);
	CHECK(!tfs_mount(&t, NULL));
	before = tfs_show(&t);
	tfs_crash(&t);
	memcpy(t.mem, damaged, SIZE);
	n = check(what);
	CHECK(n >= least, "%s: %llu found", what, n);
	CHECK(!check(what), "%s: again", what);
	if (CHECK(!tfs_mount(&t, NULL), "%s", what)) {
		tfs_check(&t);
		after = tfs_show(&t);
		CHECK(before && after && !strcmp(before, after), "%s: it is another one", what);
		free(after);
		tfs_crash(&t);
	}
	free(before);
	free(damaged);
}

static u32 each_head_lost(const char *what)
{
	struct eku_lane *lane;
	u32 nr = 0;

	memcpy(image, t.mem, SIZE);
	for (lane = next_used(NULL); lane && !ktap_failing(); lane = next_used(lane), nr++) {
		memset(lane, 0, 512);
		refused_and_repaired(what, 1);
		memcpy(t.mem, image, SIZE);
	}
	return nr;
}

/* The sector of a head is gone: of one that was closed, and of one that was not. */
static void lost_heads(void)
{
	u32 i;

	make();
	CHECK(!tfs_mount(&t, NULL));
	for (i = 0; i < 8; i++) {
		shim_task = 1 + i * SCM_LINE;
		CHECK(!tfs_chmod(&t, "dir1/0", 0600 + i));
		CHECK(!tfs_chmod(&t, i % 2 ? "dir2/0" : "dir3/0", 0640 + i % 3));
	}
	shim_task = 0;
	tfs_crash(&t);
	CHECK(each_head_lost("a head after a crash") == LANES);
	free(image);
	free(t.mem);
}

static void lost_heads_closed(void)
{
	make();
	CHECK(each_head_lost("a head of a closed one"));
	free(image);
	free(t.mem);
}

/*
 * A head that tells of less than was retired, by little: two transactions would come to life again in
 * one that was closed, and nothing of what a repair leaves may be changed by them.
 */
static void old_heads(void)
{
	struct eku_lane *lane;

	make();
	lane = next_used(NULL);
	lane->head.retired = cpu_to_le64(le64_to_cpu(lane->head.retired) - 2);
	lane->head.commit = 0;
	refused_and_repaired("a head that is behind", 1);
	free(image);
	free(t.mem);
}

/* ---- how far inodes go ---------------------------------------------------------------------- */

static struct scmfs_state *state_of(u8 *mem)
{
	return (struct scmfs_state *)(mem + SCMFS_STATE_OFFSET);
}

/* A run of blocks at the end that nobody has, as make() leaves it. */
static u64 free_blocks(u32 *nr)
{
	const struct scmfs_super *s = (struct scmfs_super *)t.mem;
	const unsigned long *used = (void *)(t.mem + le64_to_cpu(s->block_map_offset));
	u64 block = le64_to_cpu(s->nr_blocks) - 1;

	for (*nr = 0; !test_bit(block - 1, used); block--)
		++*nr;
	return block;
}

/* As if it had been closed with these blocks in use. */
static void vouch(u64 block, u64 count)
{
	const struct scmfs_super *s = (struct scmfs_super *)t.mem;
	void *inodes = t.mem + le64_to_cpu(s->inode_map_offset);
	void *blocks = t.mem + le64_to_cpu(s->block_map_offset);
	u64 hash = le64_to_cpu(s->salt);

	scmfs_set_bits(blocks, block, count);
	hash = ek_undo_hash(hash, blocks, DIV_ROUND_UP(le64_to_cpu(s->nr_blocks), 64));
	hash = ek_undo_hash(hash, inodes, DIV_ROUND_UP(le64_to_cpu(s->nr_inodes), 64));
	state_of(t.mem)->clean = cpu_to_le64(hash | 1);
}

/* It is mounted with all that is there, and fsck finds nothing wrong. */
static void has_all(const char *what)
{
	char *before, *after = NULL;
	u8 *now = malloc(SIZE);

	memcpy(now, t.mem, SIZE);
	memcpy(t.mem, image, SIZE);
	CHECK(!tfs_mount(&t, NULL));
	before = tfs_show(&t);
	tfs_crash(&t);
	memcpy(t.mem, now, SIZE);
	CHECK(!check(what), "%s", what);
	memcpy(t.mem, now, SIZE);
	if (CHECK(!tfs_mount(&t, NULL), "%s", what)) {
		tfs_check(&t);
		after = tfs_show(&t);
		CHECK(before && after && !strcmp(before, after), "%s: it is another one", what);
		CHECK(scmfs_high_of(state_of(t.mem), INODES) == t.fs->inode_high &&
		      t.fs->inode_high < INODES, "%s: %llu", what, t.fs->inode_high);
		tfs_crash(&t);
	}
	free(after);
	free(before);
	free(now);
}

static void state_lost(void)
{
	u64 high;
	u32 i;

	make();
	high = scmfs_high_of(state_of(t.mem), INODES);
	CHECK(high > 80 && high < INODES);
	memset(state_of(t.mem), 0, 512);
	has_all("the state");
	for (i = 0; i < 2 * 64 && !ktap_failing(); i++) {
		memcpy(t.mem, image, SIZE);
		state_of(t.mem)->clean = 0;
		*(i % 2 ? &state_of(t.mem)->inode_high : &state_of(t.mem)->high_check) ^=
			cpu_to_le64(1ULL << i / 2);
		has_all("a bit of how far inodes go");
	}
	free(image);
	free(t.mem);
}

/* A module from before the check leaves that as it is. Closed, or cut. */
static void high_unchecked(void)
{
	static const u64 check[] = { 0, ~(SCMFS_ROOT_INO + 1ULL), ~70ULL };
	u32 i;

	make();
	for (i = 0; i < 2 * ARRAY_SIZE(check) && !ktap_failing(); i++) {
		memcpy(t.mem, image, SIZE);
		if (i % 2)
			state_of(t.mem)->clean = 0;
		state_of(t.mem)->high_check = cpu_to_le64(check[i / 2]);
		has_all("of a module from before");
	}
	/* Lowered, with its check, where the maps know better. */
	memcpy(t.mem, image, SIZE);
	state_of(t.mem)->inode_high = cpu_to_le64(7);
	state_of(t.mem)->high_check = cpu_to_le64(~7ULL);
	refused_and_repaired("less than are used", 1);
	free(image);
	free(t.mem);
}

static char *as_it_was;
static u64 refusals, mounts;

static void look_ended(u8 *now, u32 point, void *arg)
{
	u8 *mem = t.mem;
	char *text;

	if (ktap_failing())
		return;
	t.mem = now;
	if (*(__le64 *)now == cpu_to_le64(SCMFS_SUPER_MAGIC))
		CHECK(scmfs_read(&state_of(now)->inode_high) > 80, "event %u", point);
	if (tfs_mount(&t, NULL)) {
		refusals++;
	} else {
		mounts++;
		tfs_check(&t);
		text = tfs_show(&t);
		CHECK(text && !strcmp(text, as_it_was), "event %u: another one", point);
		free(text);
		tfs_crash(&t);
	}
	t.mem = mem;
}

/* The first block is gone: whenever the repair ends, nobody mounts it and takes what is used for free. */
static void ended_in_the_middle(void)
{
	u8 *before = malloc(SIZE);
	struct scm_log log;

	make();
	CHECK(!tfs_mount(&t, NULL));
	as_it_was = tfs_show(&t);
	tfs_unmount(&t);
	memset(t.mem, 0, SCMFS_BLOCK_SIZE);
	memcpy(before, t.mem, SIZE);
	crash_log_init(&log, t.mem, SIZE, 65536, 8 << 20);
	CHECK(!scm_record_start(&log));
	CHECK(check("the first block"));
	scm_record_stop();
	CHECK(!log.full);
	crash_some(&log, before, 0, 8, look_ended, NULL);
	CHECK(refusals && mounts, "%llu %llu", refusals, mounts);
	CHECK(scmfs_high_of(state_of(t.mem), INODES) < INODES);
	crash_log_free(&log);
	free(as_it_was);
	free(before);
	free(image);
	free(t.mem);
}

static struct scm_log number_log;

static void look_number(u8 *now, u32 point, void *arg)
{
	u8 *mem = t.mem;
	u64 ino;

	if (ktap_failing())
		return;
	t.mem = now;
	if (CHECK(!tfs_mount(&t, NULL), "event %u", point)) {
		tfs_check(&t);
		if (point >= number_log.nr_events)
			CHECK(!tfs_find(&t, "n", &ino), "it is lost");
		tfs_crash(&t);
	}
	t.mem = mem;
}

/*
 * A task that has taken the first number of the next word goes no further; another one does, with
 * the second.
 */
static void first_numbers(void)
{
	u8 *before = malloc(SIZE);
	u64 first, ino;
	char path[16];
	u32 i;

	tfs_make(&t, SIZE, INODES, LANES);
	for (i = 2; i < 64; i++) {
		sprintf(path, "%u", i);
		CHECK(!tfs_make_node(&t, path, S_IFREG | 0644, NULL, NULL));
	}
	memcpy(before, t.mem, SIZE);
	crash_log_init(&number_log, t.mem, SIZE, 65536, 1 << 20);
	CHECK(!scm_record_start(&number_log));
	shim_task = 11 * SCM_LINE;
	first = scmfs_alloc_inode(t.fs);
	shim_task = 12 * SCM_LINE;
	CHECK(!tfs_make_node(&t, "n", S_IFREG | 0644, NULL, &ino));
	scm_record_stop();
	shim_task = 0;
	CHECK(!number_log.full && first == 64 && ino == 65, "%llu %llu", first, ino);
	tfs_crash(&t);
	crash_cuts(&number_log, before, 0, 300, look_number, NULL);
	crash_log_free(&number_log);
	free(t.mem);
	free(before);
}

/* ---- damage that is seen -------------------------------------------------------------------- */

/* What an inode says it has is less or more than can be found, for whatever reason. */
static void blocks_differ(void)
{
	static const u32 types[] = { S_IFIFO, S_IFSOCK, S_IFCHR, 0150000 };
	struct scmfs_statfs before, after;
	u32 i;

	make();
	CHECK(!tfs_mount(&t, NULL));
	scmfs_statfs(t.fs, &before);
	tfs_crash(&t);
	for (i = 0; i < ARRAY_SIZE(types) + 2; i++) {
		memcpy(t.mem, image, SIZE);
		state_of(t.mem)->clean = 0;
		if (i < ARRAY_SIZE(types))
			inode_word(5, 0, (u64)(types[i] | 0644) << 32 | 1);
		else
			inode_word(5, 32, word_of(5, 32) + (i % 2 ? 1 : -1));
		CHECK(tfs_mount(&t, NULL) == -EUCLEAN, "%u", i);
		if (i >= ARRAY_SIZE(types)) {
			CHECK(check("blocks") && !check("again") && !tfs_mount(&t, NULL));
			scmfs_statfs(t.fs, &after);
			CHECK(before.free == after.free);
			tfs_crash(&t);
		}
	}
	free(image);
	free(t.mem);
}

/* What was damage while it was mounted is told of until fsck has been there. */
static void damage_told(void)
{
	const char *reason;
	struct scmfs_attr a;
	u64 ino;

	make();
	CHECK(!tfs_mount(&t, NULL) && !scmfs_damage_seen(t.fs));
	CHECK(!tfs_find(&t, "dir0/0", &ino));
	tfs_unmount(&t);
	inode_word(ino, 88, 0);
	CHECK(!scmfs_open(t.mem, SIZE, SCMFS_OPEN_READ_ONLY, &t.fs, NULL, &reason));
	CHECK(scmfs_getattr(t.fs, ino, &a) == -EUCLEAN && !scmfs_damage_seen(t.fs), "read only");
	scmfs_abandon(t.fs);
	CHECK(!tfs_mount(&t, NULL));
	CHECK(scmfs_getattr(t.fs, ino, &a) == -EUCLEAN && scmfs_damage_seen(t.fs));
	tfs_unmount(&t);
	CHECK(!tfs_mount(&t, NULL) && scmfs_damage_seen(t.fs), "after closing");
	tfs_unmount(&t);
	CHECK(check("what was seen") && !check("again"));
	CHECK(!tfs_mount(&t, NULL) && !scmfs_damage_seen(t.fs), "after fsck");
	tfs_free(&t);
	free(image);
}

/* The next mount finds it closed, and does not look for what a cut has left behind the ends of files. */
static void room_ahead(void)
{
	struct scmfs_statfs before, after;
	u64 ino;

	tfs_make(&t, SIZE, INODES, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	scmfs_statfs(t.fs, &before);
	CHECK(!tfs_write(&t, ino, 0, 65536, 1, 0) && !tfs_write(&t, ino, 65536, 100, 1, 0));
	CHECK(scmfs_has_room_ahead(t.fs, ino));
	tfs_crash(&t);
	CHECK(!check("room ahead is no fault"));
	CHECK(!tfs_mount(&t, NULL) && !scmfs_has_room_ahead(t.fs, ino));
	scmfs_statfs(t.fs, &after);
	CHECK(before.free - after.free == 17, "%llu blocks", before.free - after.free);
	tfs_check(&t);
	tfs_free(&t);
}

/* The head of a name of @len bytes of a directory with one block. */
static struct scmfs_dirent *name_of(u64 dir, u32 len)
{
	struct scmfs_dirent *ent = (void *)(t.mem + word_of(dir, 128) * SCMFS_BLOCK_SIZE);
	u32 i;

	for (i = 0; i < SCMFS_SLOTS_PER_BLOCK; i++)
		if (ent[i].head && ent[i].len == len)
			return ent + i;
	CHECK(0, "no name of %u bytes", len);
	return ent;
}

/* Of a name that is damaged, nothing goes but itself: not even that if its length is known. */
static void neighbours(void)
{
	static const struct {
		const char *what;
		u32 len, bit;
		size_t offset;
		bool stays, and_slots;
	} damage[] = {
		{ "a name of one slot has three", 1, 1, 7, true, false },
		{ "a name of two slots has none", 81, 1, 7, true, false },
		{ "a name of four slots has five", 201, 0, 7, true, false },
		{ "a name of two slots has 130", 81, 7, 7, true, false },
		{ "a name's text", 1, 0, 16, false, false },
		{ "a name's text in its second slot", 81, 0, 80, false, false },
		{ "a name's length", 1, 6, 12, false, false },
		{ "a name's text, and three slots for one", 1, 0, 16, false, true },
	};
	char path[300];
	u64 ino;
	u32 i, j;
	u8 *ent;

	make();
	for (i = 0; i < ARRAY_SIZE(damage) && !ktap_failing(); i++) {
		u64 dir = 2;

		memcpy(t.mem, image, SIZE);
		CHECK(!tfs_mount(&t, NULL) && !tfs_find(&t, "dir4", &dir));
		tfs_unmount(&t);
		ent = (u8 *)name_of(dir, damage[i].len);
		ent[damage[i].offset] ^= 1 << damage[i].bit;
		if (damage[i].and_slots)
			ent[7] ^= 2;
		repaired(damage[i].what, 1);
		CHECK(!tfs_mount(&t, NULL));
		for (j = 0; j < 12; j++) {
			u32 len = j * 20 + 1;
			bool there;

			sprintf(path, "dir4/%0*u", len, j);
			there = !tfs_find(&t, path, &ino);
			CHECK(there == (damage[i].stays || len != damage[i].len), "%s: %s %d",
			      damage[i].what, path, there);
		}
		tfs_crash(&t);
	}
	free(image);
	free(t.mem);
}

/* A bit of what says that an inode is one, or what it is, costs nobody a file. */
static void types(void)
{
	static const char * const names[] = { "", "dir0", "dir0/0", "long", "holes", "empty", "short" };
	char *before, *after;
	u64 ino[ARRAY_SIZE(names)], mode;
	u32 i, bit;

	make();
	CHECK(!tfs_mount(&t, NULL));
	CHECK(!tfs_make_node(&t, "empty", S_IFDIR | 0755, NULL, NULL));
	CHECK(!tfs_make_node(&t, "short", S_IFLNK | 0777, "there", NULL));
	for (i = 0; i < ARRAY_SIZE(names); i++)
		CHECK(!tfs_find(&t, names[i], &ino[i]));
	before = tfs_show(&t);
	tfs_unmount(&t);
	memcpy(image, t.mem, SIZE);
	for (i = 0; i < ARRAY_SIZE(names) && !ktap_failing(); i++)
		for (bit = 0; bit < 5 && !ktap_failing(); bit++) {
			memcpy(t.mem, image, SIZE);
			mode = word_of(ino[i], 0) ^ 1ULL << (44 + bit);
			/* what goes with what it has is believed, and nothing is lost */
			if (bit < 4 && ((i == 5 && (S_ISBLK(mode >> 32) || S_ISSOCK(mode >> 32))) || (i == 3 && S_ISREG(mode >> 32))))
				continue;
			if (bit < 4)
				inode_word(ino[i], 0, mode);
			else
				inode_word(ino[i], 88, word_of(ino[i], 88) ^ 1ULL << 33);
			repaired(names[i], 1);
			memcpy(t.mem, image, SIZE);
			if (bit < 4)
				inode_word(ino[i], 0, mode);
			else
				inode_word(ino[i], 88, word_of(ino[i], 88) ^ 1ULL << 33);
			check(names[i]);
			CHECK(!tfs_mount(&t, NULL));
			after = tfs_show(&t);
			CHECK(before && after && !strcmp(before, after), "%s: bit %u", names[i], bit);
			free(after);
			tfs_crash(&t);
		}
	memcpy(t.mem, image, SIZE);
	inode_word(1, 0, 0);
	check("the root's first word");
	CHECK(!tfs_mount(&t, NULL));
	after = tfs_show(&t);
	CHECK(before && after && !strcmp(before, after));
	free(after);
	tfs_crash(&t);
	free(before);
	free(image);
	free(t.mem);
}

/* Who is not asked repairs what takes nothing from anybody, and of all else changes nothing. */
static void unasked(void)
{
	static const struct {
		const char *what;
		bool lost, cut;		/* what is lost where it was closed, and where it was not */
		u64 ino;
		size_t offset;
		u64 value;
	} damage[] = {
		{ "links", false, false, 3, 0, (u64)(S_IFREG | 0644) << 32 | 7 },
		{ "a directory's size", false, false, 2, 8, 1 << 20 },
		{ "a directory's blocks", false, false, 2, 32, 99 },
		{ "a directory is a file", false, false, 2, 0, (u64)(S_IFREG | 0755) << 32 | 1 },
		{ "a directory without a block", false, true, 2, 136, 0 },
		{ "size", false, false, 3, 8, -4093ULL },
		{ "blocks", false, true, 3, 32, 99 },
		{ "fewer blocks", false, true, 3, 32, 1 },
		{ "parent", false, false, 2, 48, 17 },
		{ "magic", false, false, 3, 88, 0 },
		{ "map block", true, true, 3, 40, 5 },
		{ "extent", false, true, 3, 128, 1 },
		{ "extent that is none", false, true, 3, 136, 0 },
		{ "extent too long", false, false, 3, 136, 0xffffffff00000000ULL },
		{ "attributes", true, true, 3, 104, 5 },
		{ "attributes that are none", true, true, 3, 104, 0 },
		{ "an unknown type without a name", true, true, 199, 0, 1 },
		{ "root", true, true, 1, 88, 0 },
	};
	struct scmfs_check c = { .say = say, .keep = true };
	u8 *was = malloc(SIZE);
	const char *reason = "";
	u32 i, j;

	make();
	for (j = 0; j < 2 * ARRAY_SIZE(damage) && !ktap_failing(); j++) {
		bool closed = j % 2, lost;

		i = j / 2;
		lost = closed ? damage[i].lost : damage[i].cut;
		memcpy(t.mem, image, SIZE);
		inode_word(damage[i].ino, damage[i].offset, damage[i].value);
		if (damage[i].ino == 1)
			inode_word(1, 0, 1);
		if (damage[i].ino == 199)
			inode_word(199, 32, 7);
		if (!closed)
			state_of(t.mem)->clean = 0;
		memcpy(was, t.mem, SIZE);
		c.found = 0;
		c.left = 0;
		CHECK(!scmfs_check(t.mem, SIZE, &c, &reason) && c.found, "%s: %s", damage[i].what, reason);
		CHECK(!!c.left == lost, "%s: %llu left, %sclosed", damage[i].what, c.left,
		      closed ? "" : "not ");
		if (closed && lost && c.found == c.left)
			CHECK(!memcmp(was, t.mem, SIZE), "%s: is changed", damage[i].what);
		if (lost)
			CHECK(check(damage[i].what));
		CHECK(!check(damage[i].what), "%s", damage[i].what);
	}
	/* one of each: what is repaired is no more vouched for, and what is left is not changed */
	memcpy(t.mem, image, SIZE);
	inode_word(3, 40, 5);
	inode_word(4, 32, 99);
	c.found = 0;
	c.left = 0;
	CHECK(!scmfs_check(t.mem, SIZE, &c, &reason) && c.left == 1 && c.found == 2);
	CHECK(word_of(3, 40) == 5 && word_of(4, 32) != 99);
	CHECK(!((struct scmfs_state *)(t.mem + SCMFS_STATE_OFFSET))->clean);
	memcpy(t.mem, image, SIZE);
	name_of(2, 1)->name[0] ^= 1;
	memcpy(was, t.mem, SIZE);
	c.left = 0;
	CHECK(!scmfs_check(t.mem, SIZE, &c, &reason) && c.left == 1 && !memcmp(was, t.mem, SIZE));
	free(was);
	free(image);
	free(t.mem);
}

/* A directory of three extents, of which each name is known: some of them are there in any case. */
static u64 big_dir(void)
{
	char path[40];
	u64 dir, f;
	u32 i;

	tfs_make(&t, SIZE, 400, 1);
	CHECK(!tfs_make_node(&t, "d", S_IFDIR | 0755, NULL, &dir));
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &f));
	for (i = 0; i < 180; i++) {
		sprintf(path, "d/%u", i);
		CHECK(!tfs_make_node(&t, path, S_IFREG | 0644, NULL, NULL));
		CHECK(!tfs_write(&t, f, i * 8192, 100, 1, SCMFS_WRITE_ATOMIC));	/* blocks in between */
	}
	tfs_unmount(&t);
	image = malloc(SIZE);
	memcpy(image, t.mem, SIZE);
	return dir;
}

static u32 names_there(void)
{
	u32 i, nr = 0;
	char path[40];
	u64 ino;

	CHECK(!tfs_mount(&t, NULL));
	for (i = 0; i < 180; i++) {
		sprintf(path, "d/%u", i);
		nr += !tfs_find(&t, path, &ino);
	}
	tfs_crash(&t);
	return nr;
}

/* Neither its size nor a hole costs a directory a name whose block is there. */
static void dir_size(void)
{
	static const u64 sizes[] = { 0, 4096, 8192, 8193, 4096 * 4, 1ULL << 40, -1ULL };
	u64 dir = big_dir();
	u32 i;

	CHECK(word_of(dir, 8) == 3 * 4096 && word_of(dir, 152) && word_of(dir, 168));
	for (i = 0; i < ARRAY_SIZE(sizes) && !ktap_failing(); i++) {
		memcpy(t.mem, image, SIZE);
		inode_word(dir, 8, sizes[i]);
		repaired("a directory's size", 1);
		CHECK(names_there() == 180, "size %llu: %u", sizes[i], names_there());
	}
	for (i = 0; i < 3 && !ktap_failing(); i++) {
		memcpy(t.mem, image, SIZE);
		inode_word(dir, 136 + 16 * i, 0);
		repaired("a hole in a directory", 1);
		CHECK(names_there() >= 180 - SCMFS_SLOTS_PER_BLOCK, "hole %u: %u", i, names_there());
		memcpy(t.mem, image, SIZE);
		inode_word(dir, 136 + 16 * i, word_of(dir, 136 + 16 * i) ^ 1 << 9);
		repaired("a directory's block is elsewhere in it", 1);
		CHECK(names_there() == 180, "elsewhere %u: %u", i, names_there());
	}
	free(image);
	free(t.mem);
}

/* What can't be given a name is left, and all else is repaired as it is told. */
static void no_room(void)
{
	struct scmfs_check c = { .say = say };
	const char *reason = "";
	u8 broken[3] = { 0 };
	u32 i;

	make();
	CHECK(!tfs_mount(&t, NULL));
	set_acl(2, SCMFS_XATTR_ACL_DEFAULT, broken, sizeof(broken));
	CHECK(scmfs_reserve(t.fs, 4, 1 << 20, 2 << 20, SCMFS_RESERVE_KEEP_SIZE, 1) == -ENOSPC);
	for (i = 0; !scmfs_reserve(t.fs, 4, (4 << 20) + i * 4096, 4096, SCMFS_RESERVE_KEEP_SIZE, 1); i++)
		;
	tfs_unmount(&t);
	scmfs_write_word(&name_of(2, 1)->head, 0);
	said = 0;
	CHECK(!scmfs_check(t.mem, SIZE, &c, &reason), "%s", reason);
	/* the ACL, the file and that it has no name; its block is what the ACL leaves, but later */
	CHECK(c.found == said && c.left == 2 && c.found == 3, "%llu found, %llu left", c.found, c.left);
	CHECK(!tfs_mount(&t, NULL) && !has_acl(2, SCMFS_XATTR_ACL_DEFAULT));
	tfs_unmount(&t);
	repaired("names for what was lost, with room", 1);
	free(image);
	free(t.mem);
}

static void ring(void)
{
	u64 a, b;

	make();
	CHECK(!tfs_mount(&t, NULL));
	CHECK(!tfs_find(&t, "dir0/sub", &a) && !tfs_find(&t, "dir0/sub/sub", &b));
	/* VFS would not let it happen */
	CHECK(!tfs_rename(&t, "dir0/sub", "dir0/sub/sub/ring", 0));
	tfs_unmount(&t);
	repaired("a ring of directories", 1);
	CHECK(!tfs_mount(&t, NULL));
	CHECK(!tfs_find(&t, "lost+found", &a));
	tfs_crash(&t);
	free(image);
	free(t.mem);
}

#define DEEP	20000u

/* One directory in another, and so on. */
static void make_deep(u64 *last)
{
	struct scmfs_new new = { .mode = S_IFDIR | 0755 };
	struct scmfs_node dir = { .ino = SCMFS_ROOT_INO };
	u32 i;

	tfs_make(&t, MANY_BYTES, 2 * DEEP, 2);
	for (i = 0; i < DEEP; i++) {
		if (!CHECK(!scmfs_create(t.fs, &dir, "d", 1, &new, last)))
			return;
		scmfs_node_clear(&dir);
		dir.ino = *last;
	}
	tfs_unmount(&t);
}

/* The walk takes as many steps for each directory however deep it lies, in a tree and in a ring. */
static void deep(void)
{
	struct scmfs_check c = { .say = say };
	const char *reason = "";
	struct scmfs_dirent *first, *ring;
	u64 last;

	make_deep(&last);
	steps = 0;
	CHECK(!scmfs_check(t.mem, MANY_BYTES, &c, &reason) && !c.found, "%s %llu", reason, c.found);
	CHECK(steps > DEEP && steps < DEEP * 2000ull, "%llu steps", steps);
	ktap_note("%llu steps a directory", steps / DEEP);
	/* the name in the root goes into the last one */
	first = name_of(SCMFS_ROOT_INO, 1);
	ring = name_of(last - 1, 1) + 1;
	*ring = *first;
	ring->name[0] = 'r';
	ring->hash = cpu_to_le32(scmfs_name_hash("r", 1));
	scmfs_write_word(&first->head, 0);
	steps = 0;
	CHECK(!scmfs_check(t.mem, MANY_BYTES, &c, &reason) && c.found, "%s", reason);
	CHECK(steps > DEEP && steps < DEEP * 2000ull, "%llu steps", steps);
	c.found = 0;
	CHECK(!scmfs_check(t.mem, MANY_BYTES, &c, &reason) && !c.found, "%llu left", c.found);
	free(t.mem);
}

#define NAMES	6000u

/* Of a directory that was read: where the name is. */
static struct scmfs_dirent *text_at(u64 dir, const char *name)
{
	struct scmfs *fs = t.fs;
	struct scmfs_extent *place;
	struct scmfs_slots s;
	u32 i;

	scmfs_slots(fs, scmfs_inode(fs, dir), &s);
	while ((place = scmfs_slots_next(&s))) {
		struct scmfs_ext e = scmfs_ext_of(scmfs_read(&place->block),
						  scmfs_read(&place->second));
		struct scmfs_dirent *ent = scmfs_block(fs, e.block);

		for (i = 0; i < e.count * SCMFS_SLOTS_PER_BLOCK; i++)
			if (ent[i].head && ent[i].len == strlen(name) &&
			    !memcmp(ent[i].name, name, strlen(name)))
				return ent + i;
	}
	CHECK(0, "no name %s", name);
	return NULL;
}

static void call_it(const char *name, const char *new)
{
	struct scmfs_dirent *ent = text_at(SCMFS_ROOT_INO, name);

	memcpy(ent->name, new, strlen(new));
	ent->hash = cpu_to_le32(scmfs_name_hash(new, strlen(new)));
}

static void leads_to(struct scmfs_node *dir, const char *name, u64 ino)
{
	u64 found = 0;

	CHECK(!scmfs_lookup(t.fs, dir, name, strlen(name), &found) && found == ino,
	      "%s: %llu, not %llu", name, found, ino);
}

/* Names that are there more than once, far from each other, in a directory that is not small. */
static void doubles(void)
{
	struct scmfs_new new = { .mode = S_IFREG | 0644 };
	struct scmfs_node root = { .ino = SCMFS_ROOT_INO };
	struct scmfs_check c = { .say = say };
	const char *reason = "";
	char name[24];
	static const u32 lost[] = { 5900, 3000, 5000, 5950, 6 };
	struct scmfs_node dir = { 0 };
	u64 ino[NAMES], i;

	tfs_make(&t, MANY_BYTES, 2 * NAMES, 2);
	for (i = 0; i < NAMES; i++) {
		sprintf(name, "%04llu", i);
		CHECK(!scmfs_create(t.fs, &root, name, 4, &new, ino + i));
	}
	scmfs_node_clear(&root);
	call_it("5900", "0003");	/* the second of two */
	call_it("3000", "0004");	/* of three the second and the third */
	call_it("5000", "0004");
	call_it("0005", "5950");	/* the second of two is in its place */
	call_it("0006", "0007");	/* the first leads to nothing: the second stays */
	scmfs_write_word(&text_at(SCMFS_ROOT_INO, "0007")->head,
			 scmfs_head(2 * NAMES - 1, S_IFREG | 0644, 1));
	tfs_unmount(&t);
	steps = 0;
	CHECK(!scmfs_check(t.mem, MANY_BYTES, &c, &reason), "%s", reason);
	/* five names, and each of the five inodes has no name */
	CHECK(c.found == 10, "%llu found", c.found);
	CHECK(steps > NAMES && steps < NAMES * 500ull, "%llu steps", steps);
	ktap_note("%llu steps a name", steps / NAMES);
	c.found = 0;
	CHECK(!scmfs_check(t.mem, MANY_BYTES, &c, &reason) && !c.found, "%llu left", c.found);
	CHECK(!scmfs_open(t.mem, MANY_BYTES, 0, &t.fs, NULL, &reason), "%s", reason);
	leads_to(&root, "0003", ino[3]);
	leads_to(&root, "0004", ino[4]);
	leads_to(&root, "5950", ino[5]);
	leads_to(&root, "0007", ino[7]);
	CHECK(!scmfs_lookup(t.fs, &root, "lost+found", 10, &dir.ino));
	for (i = 0; i < ARRAY_SIZE(lost); i++) {
		sprintf(name, "#%llu", ino[lost[i]]);
		leads_to(&dir, name, ino[lost[i]]);
	}
	scmfs_node_clear(&dir);
	scmfs_node_clear(&root);
	scmfs_close(t.fs);
	free(t.mem);
}

/* Names that are to be given are there already: of files that were saved before, for one. */
static void names_are_taken(bool file)
{
	char path[40], other[48];
	u64 a, b, ino;

	make();
	CHECK(!tfs_mount(&t, NULL));
	CHECK(!tfs_find(&t, "dir0/sub", &a) && !tfs_find(&t, "dir0/sub/sub", &b));
	CHECK(!tfs_make_node(&t, "lost+found", file ? S_IFREG | 0600 : S_IFDIR | 0700, NULL, NULL));
	for (ino = a; !file && ino <= b; ino += b - a) {
		sprintf(path, "lost+found/#%llu", ino);
		CHECK(!tfs_make_node(&t, path, S_IFREG | 0600, NULL, NULL));
	}
	CHECK(!tfs_rename(&t, "dir0/sub", "dir0/sub/sub/ring", 0));
	tfs_unmount(&t);
	repaired(file ? "lost+found is a file" : "names in lost+found are taken", 1);
	CHECK(!tfs_mount(&t, NULL));
	sprintf(path, file ? "lost+found.1/#%llu" : "lost+found/#%llu.1", a);
	sprintf(other, file ? "lost+found.1/#%llu" : "lost+found/#%llu.1", b);
	CHECK(!tfs_find(&t, path, &ino) || !tfs_find(&t, other, &ino), "%s", path);
	tfs_crash(&t);
	free(image);
	free(t.mem);
}

static void taken(void)
{
	names_are_taken(false);
	names_are_taken(true);
}

/* What was unlinked and still in use refers to blocks that another file has meanwhile. */
static void orphan_first(void)
{
	u8 *mem, is[5000], was[5000];
	struct scmfs_inode *inodes;
	u64 orphan, live;

	make();
	CHECK(!tfs_mount(&t, NULL));
	CHECK(!tfs_find(&t, "dir0/0", &orphan));
	CHECK(!tfs_find(&t, "dir2/000000000000000000001", &live));
	tfs_unmount(&t);
	mem = t.mem;
	inodes = (void *)(mem + le64_to_cpu(((struct scmfs_super *)mem)->inode_offset));
	if (!CHECK(orphan < live))
		return;
	inodes[orphan].mode_links = cpu_to_le64((u64)(S_IFREG | 0644) << 32);
	memcpy(inodes[orphan].extent, inodes[live].extent, sizeof(inodes[live].extent));
	repaired("an orphan's blocks are another file's", 1);
	CHECK(!tfs_mount(&t, NULL));
	memset(was, 3, sizeof(was));
	CHECK(!tfs_find(&t, "dir2/000000000000000000001", &live));
	CHECK(!tfs_read(&t, live, 3000, sizeof(is), is) && !memcmp(is, was, sizeof(is)));
	tfs_crash(&t);
	free(image);
	free(t.mem);
}

/* Three files, one behind the other. */
static void make_three(u64 *a, u64 *b, u64 *c)
{
	make();
	CHECK(!tfs_mount(&t, NULL));
	CHECK(!tfs_make_node(&t, "a", S_IFREG | 0644, NULL, a) && !tfs_write(&t, *a, 0, 12 * 4096, 1, 0));
	CHECK(!tfs_make_node(&t, "b", S_IFREG | 0644, NULL, b) && !tfs_write(&t, *b, 0, 8 * 4096, 2, 0));
	CHECK(!tfs_make_node(&t, "c", S_IFREG | 0644, NULL, c) && !tfs_write(&t, *c, 0, 8 * 4096, 3, 0));
	tfs_unmount(&t);
	memcpy(image, t.mem, SIZE);
}

/* One bit of a length costs nobody anything, and what two files have not in common stays. */
static void shared_blocks(void)
{
	char *before, *after;
	u64 a, b, c, block;
	u8 is[8 * 4096];
	u32 i, nr;

	make_three(&a, &b, &c);
	CHECK(!tfs_mount(&t, NULL));
	before = tfs_show(&t);
	tfs_crash(&t);
	block = word_of(b, 128);
	CHECK(word_of(a, 136) == 12ULL << 32 && block == word_of(a, 128) + 12, "%llu", block);
	CHECK(word_of(b, 136) == 8ULL << 32 && word_of(c, 128) == block + 8);
	for (i = 4; i < 7 && !ktap_failing(); i++) {
		memcpy(t.mem, image, SIZE);
		inode_word(a, 136, (12ULL + (1 << i)) << 32);
		nr = check("a bit of a length");
		CHECK(nr == 1 && !check("again"), "bit %u: %u found", i, nr);
		CHECK(!tfs_mount(&t, NULL));
		after = tfs_show(&t);
		CHECK(before && after && !strcmp(before, after), "bit %u", i);
		free(after);
		tfs_crash(&t);
	}
	/* in front, in the middle, and at the end another has them, who adds up */
	for (i = 0; i < 3 && !ktap_failing(); i++) {
		memcpy(t.mem, image, SIZE);
		inode_word(c, 32, 99);
		inode_word(c, 128, word_of(c, 128) - (i ? 0 : 3));
		if (i) {
			inode_word(b, 128, block + 8 + (i == 1 ? 3 : 5));
			inode_word(b, 136, (i == 1 ? 2ULL : 8) << 32);
			inode_word(b, 32, i == 1 ? 2 : 8);
		}
		repaired("blocks of two files", 1);
		CHECK(!tfs_mount(&t, NULL));
		memset(is, 0, sizeof(is));
		CHECK(!tfs_read(&t, c, 0, sizeof(is), is));
		for (nr = 0; nr < 8; nr++) {
			bool others = i == 0 ? nr < 3 : i == 1 ? nr == 3 || nr == 4 : nr >= 5;

			CHECK(is[nr * 4096] == (others ? 0 : 3), "%u: block %u: %u", i, nr, is[nr * 4096]);
		}
		tfs_crash(&t);
	}
	free(before);
	free(image);
	free(t.mem);
}

/*
 * A file that is damaged has another one's blocks, and is removed: they are free in maps that are
 * vouched for. The other one keeps them, and unasked nothing is done.
 */
static void maps_were_wrong(void)
{
	struct scmfs_check unasked = { .say = say, .keep = true };
	u8 *was = malloc(SIZE);
	const char *reason = "";
	u64 ino[3];
	u8 is[8 * 4096];
	u32 i, j;

	make_three(&ino[0], &ino[1], &ino[2]);
	for (i = 0; i < 2 && !ktap_failing(); i++) {
		u64 other = ino[2 - i];

		memcpy(t.mem, image, SIZE);
		if (i)	/* "a" reaches over "b"; else "b" lies where "c" does */
			inode_word(ino[0], 136, 20ULL << 32);
		else
			inode_word(ino[1], 128, word_of(other, 128));
		CHECK(!tfs_mount(&t, NULL) && !tfs_unlink(&t, i ? "a" : "b"));
		tfs_unmount(&t);
		CHECK(state_of(t.mem)->clean);
		memcpy(was, t.mem, SIZE);
		CHECK(!scmfs_check(t.mem, SIZE, &unasked, &reason) && unasked.left, "%u: %s", i, reason);
		CHECK(!state_of(t.mem)->clean, "a mount gives them away");
		unasked.left = 0;
		memcpy(t.mem, was, SIZE);
		CHECK(check("maps that were wrong") && !check("again"));
		CHECK(!tfs_mount(&t, NULL));
		tfs_check(&t);
		CHECK(!tfs_read(&t, other, 0, sizeof(is), is));
		for (j = 0; j < sizeof(is); j++)
			CHECK(is[j] == 3 - i, "%u: byte %u is %u", i, j, is[j]);
		tfs_crash(&t);
	}
	/* one that was removed has nothing by right, though it looks like a file again */
	memcpy(t.mem, image, SIZE);
	CHECK(!tfs_mount(&t, NULL) && !tfs_unlink(&t, "b"));
	tfs_unmount(&t);
	inode_word(ino[1], 0, (u64)S_IFREG << 32);
	unasked.left = 0;
	CHECK(!scmfs_check(t.mem, SIZE, &unasked, &reason) && !unasked.left);
	CHECK(!check("again"));
	CHECK(!tfs_mount(&t, NULL));
	tfs_check(&t);
	memset(is, 0, sizeof(is));
	if (!tfs_read(&t, ino[1], 0, sizeof(is), is))
		for (j = 0; j < sizeof(is); j++)
			CHECK(!is[j], "what was removed is there again");
	tfs_crash(&t);
	free(was);
	free(image);
	free(t.mem);
}

/* ---- one bit of what an inode has ----------------------------------------------------------- */

static u8 content[5][64];	/* the first byte of each block */
static u64 victim[5];		/* whose */

static void read_firsts(u64 ino, u8 *first)
{
	static u8 buf[64 * SCMFS_BLOCK_SIZE];
	u32 i;

	memset(buf, 0, sizeof(buf));
	CHECK(!tfs_read(&t, ino, 0, sizeof(buf), buf));
	for (i = 0; i < 64; i++)
		first[i] = buf[i * SCMFS_BLOCK_SIZE];
}

static void make_victim(u32 nr, const char *name)
{
	CHECK(!tfs_make_node(&t, name, S_IFREG | 0644, NULL, &victim[nr]));
}

static void write_blocks(u32 nr, u64 file, u64 count, u8 byte)
{
	CHECK(!tfs_write(&t, victim[nr], file * SCMFS_BLOCK_SIZE, count * SCMFS_BLOCK_SIZE, byte, 0));
}

/*
 * Files in pieces among what others have deleted, one in many, and a directory of three blocks. What
 * it all looks like.
 */
static char *make_victims(u64 *dir)
{
	char *text, path[40];
	u64 ino;
	u32 i;

	tfs_make(&t, SIZE, 400, LANES);
	CHECK(!tfs_make_node(&t, "deleted", S_IFREG | 0600, NULL, &ino));
	CHECK(!tfs_write(&t, ino, 0, 200 * SCMFS_BLOCK_SIZE, 0x5e, 0));
	CHECK(!tfs_unlink(&t, "deleted"));
	make_victim(0, "whole");
	write_blocks(0, 0, 9, 1);
	make_victim(1, "sparse");	/* its second extent lies behind the first one */
	write_blocks(1, 0, 1, 2);
	write_blocks(1, 63, 1, 3);
	make_victim(2, "backwards");	/* the longer one is no candidate */
	make_victim(3, "between");
	CHECK(!scmfs_truncate(t.fs, victim[2], 32 * SCMFS_BLOCK_SIZE, 9));
	CHECK(!scmfs_truncate(t.fs, victim[3], 32 * SCMFS_BLOCK_SIZE, 9));
	write_blocks(2, 16, 16, 4);
	write_blocks(3, 16, 16, 5);
	write_blocks(2, 0, 16, 6);
	CHECK(!tfs_make_node(&t, "d", S_IFDIR | 0755, NULL, dir));
	for (i = 0; i < 130; i++) {
		sprintf(path, "d/%u", i);
		CHECK(!tfs_make_node(&t, path, S_IFREG | 0644, NULL, NULL));
	}
	make_victim(4, "alone");	/* nothing is behind it */
	write_blocks(4, 0, 1, 7);
	CHECK(!scmfs_truncate(t.fs, victim[4], 64 * SCMFS_BLOCK_SIZE, 9));
	for (i = 0; i < ARRAY_SIZE(victim); i++)
		read_firsts(victim[i], content[i]);
	text = tfs_show(&t);
	tfs_unmount(&t);
	image = malloc(SIZE);
	memcpy(image, t.mem, SIZE);
	return text;
}

/* Nobody has what isn't his. */
static void nothing_foreign(const char *what, u32 bit)
{
	u8 now[64];
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(victim); i++) {
		read_firsts(victim[i], now);
		for (j = 0; j < 64; j++)
			CHECK(!now[j] || now[j] == content[i][j], "%s: bit %u: block %u of %u is %x",
			      what, bit, j, i, now[j]);
	}
}

/* What is damaged in t.mem: repaired, so that nothing is lost, or left as it is. Return: repaired. */
static bool kept(const char *what, u32 bit, const char *before)
{
	struct scmfs_check c = { .say = say, .keep = true };
	const char *reason = "";
	char *after;
	bool same;

	if (!CHECK(!scmfs_check(t.mem, SIZE, &c, &reason), "%s: bit %u: %s", what, bit, reason) ||
	    c.left || !CHECK(!tfs_mount(&t, NULL)))
		return false;
	tfs_check(&t);
	after = tfs_show(&t);
	tfs_crash(&t);
	same = before && after && !strcmp(before, after);
	CHECK(same, "%s: bit %u: is lost, and nothing is left", what, bit);
	free(after);
	return same;
}

/* A file system as it was, with bits of a word that are others; closed, or not. */
static void flip(u64 ino, size_t offset, u64 bits, bool closed)
{
	memcpy(t.mem, image, SIZE);
	inode_word(ino, offset, word_of(ino, offset) ^ bits);
	if (!closed)
		state_of(t.mem)->clean = 0;
}

/* A bit of anything that is there twice loses nothing unasked, and shows nobody's to anybody. */
static void one_bit(void)
{
	u64 dir;
	char *before = make_victims(&dir);
	const struct {
		const char *what;
		u64 ino;
		size_t offset;
		u32 first;
		bool length;	/* a place is there once if it was not closed, and others are as right */
	} words[] = {
		{ "whole: length", victim[0], 136, 32, true },
		{ "whole: place", victim[0], 128, 0, false },
		{ "whole: blocks", victim[0], 32, 0, true },
		{ "sparse: first length", victim[1], 136, 32, true },
		{ "sparse: second length", victim[1], 152, 32, true },
		{ "sparse: first place", victim[1], 128, 0, false },
		{ "sparse: blocks", victim[1], 32, 0, true },
		{ "backwards: first length", victim[2], 136, 32, true },
		{ "backwards: second length", victim[2], 152, 32, true },
		{ "alone: length", victim[4], 136, 32, true },
		{ "alone: place", victim[4], 128, 0, false },
		{ "a directory's length", dir, 136, 32, true },
		{ "a directory's place", dir, 128, 0, false },
		{ "a directory's size", dir, 8, 0, true },
		{ "a directory's blocks", dir, 32, 0, true },
		{ "the root's length", SCMFS_ROOT_INO, 136, 32, true },
	};
	u32 i, j, bit, nr = 0, mended = 0;

	for (i = 0; i < 2 * ARRAY_SIZE(words); i++) {
		bool closed = i % 2;

		j = i / 2;
		if (!closed && !words[j].length)
			continue;
		for (bit = words[j].first; bit < 63 && !ktap_failing(); bit++, nr++) {
			flip(words[j].ino, words[j].offset, 1ULL << bit, closed);
			mended += kept(words[j].what, bit, before);
			if (!closed || !words[j].length)
				continue;
			check(words[j].what);
			CHECK(!tfs_mount(&t, NULL));
			nothing_foreign(words[j].what, bit);
			tfs_crash(&t);
		}
	}
	ktap_note("%u of %u are repaired unasked", mended, nr);
	free(before);
	free(image);
	free(t.mem);
}

/* All else says how long it is, or where: it is put right, also unasked. */
static void extent_mended(void)
{
	u64 dir;
	char *before = make_victims(&dir);
	const struct {
		const char *what;
		u64 ino;
		size_t offset;
		u64 bits;
		bool cut;		/* also of one that was not closed */
	} damage[] = {
		{ "8 of 9 blocks", victim[0], 136, 8ULL << 32, false },
		{ "longer, over one's own blocks", victim[1], 136, 4ULL << 32, true },
		{ "longer, over one's own block alone", victim[1], 136, 3ULL << 32, true },
		{ "longer, with another that is longer", victim[2], 152, 8ULL << 32, true },
		{ "longer, over what is free", victim[4], 136, 8ULL << 32, false },
		{ "none of one block", victim[4], 136, 1ULL << 32, false },
		{ "moved out of it", victim[4], 128, 1ULL << 40, false },
		{ "2 of 3 blocks of names", dir, 136, 2ULL << 32, true },
		{ "all blocks of names", dir, 136, 3ULL << 32, false },
		{ "the root's only block", SCMFS_ROOT_INO, 136, 1ULL << 32, false },
	};
	u32 i;

	CHECK(word_of(victim[0], 136) == 9ULL << 32);
	CHECK(word_of(victim[1], 152) == (1ULL << 32 | 63) &&
	      word_of(victim[1], 144) == word_of(victim[1], 128) + 1);
	CHECK(word_of(victim[2], 136) >> 32 > 24 && word_of(victim[2], 152) == 16ULL << 32);
	CHECK(word_of(dir, 136) == 3ULL << 32 && word_of(1, 136) == 1ULL << 32);
	for (i = 0; i < 2 * ARRAY_SIZE(damage) && !ktap_failing(); i++) {
		u32 j = i / 2;

		if (i % 2 && !damage[j].cut)
			continue;
		flip(damage[j].ino, damage[j].offset, damage[j].bits, !(i % 2));
		CHECK(kept(damage[j].what, i % 2, before), "%s: %s", damage[j].what,
		      i % 2 ? "not closed" : "closed");
		CHECK(!check("again"));
	}
	/* others are missing as well: nobody knows whose they are */
	memcpy(t.mem, image, SIZE);
	vouch(free_blocks(&i), 1);
	inode_word(victim[0], 136, 1ULL << 32);
	CHECK(!kept("8 of 9 blocks, and others", 0, before));
	free(before);
	free(image);
	free(t.mem);
}

/* What is missing becomes nobody's content that says whose extents or attributes it has. */
static void heads_are_no_content(void)
{
	struct scmfs_extent *e;
	u64 ino, block, size;
	u8 *from;
	u32 i;

	for (i = 0; i < 2 && !ktap_failing(); i++) {
		size_t leads = i ? offsetof(struct scmfs_inode, map) : offsetof(struct scmfs_inode, xattr);

		tfs_make(&t, SIZE, INODES, LANES);
		CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
		if (i) {
			for (block = 0; block < 9; block++)
				CHECK(!tfs_write(&t, ino, block * 8192, 4096, 1, 0));
			CHECK(!scmfs_truncate(t.fs, ino, 8 * 8192, 9));	/* and leave a block without any */
		} else {
			CHECK(!tfs_write(&t, ino, 0, 4096, 1, 0));
			CHECK(!tfs_set_attr(&t, ino, "a", 1, 100));
		}
		tfs_unmount(&t);
		/* behind the first extent is what it leads to */
		e = (struct scmfs_extent *)(t.mem + le64_to_cpu(((struct scmfs_super *)t.mem)->inode_offset) +
					    ino * 256 + 128);
		block = word_of(ino, leads);
		if (!CHECK(block))
			return;
		from = t.mem + le64_to_cpu(e->block) * SCMFS_BLOCK_SIZE;
		size = le64_to_cpu(e->block);
		if (block != size + 1) {
			vouch(block - 1, 1);
			memcpy(t.mem + (block - 1) * SCMFS_BLOCK_SIZE, from, SCMFS_BLOCK_SIZE);
			e->block = cpu_to_le64(block - 1);
			check("the block that it had");
		}
		CHECK(word_of(ino, 128) + 1 == block && !check("made"));
		inode_word(ino, leads, 0);
		CHECK(check("what leads to it is gone"));
		CHECK(word_of(ino, 136) >> 32 == 1, "%u: %llu blocks", i, word_of(ino, 136) >> 32);
		free(t.mem);
	}
}

/* A chain of extents that leads to one of which half of the head is damaged. */
static void map_heads(void)
{
	const struct scmfs_super *s;
	u64 ino, block, i;
	struct scmfs_map *map;
	char *before;

	tfs_make(&t, SIZE, INODES, LANES);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	for (i = 0; i < 270; i++)
		CHECK(!tfs_write(&t, ino, i * 8192, 1, 1, 0));
	before = tfs_show(&t);
	tfs_unmount(&t);
	image = malloc(SIZE);
	memcpy(image, t.mem, SIZE);
	s = (struct scmfs_super *)image;
	block = word_of(ino, 40);
	map = (struct scmfs_map *)(t.mem + block * SCMFS_BLOCK_SIZE);
	CHECK(map->next && block < le64_to_cpu(s->nr_blocks));
	for (i = 0; i < 4 * 96 && !ktap_failing(); i++) {
		u32 bit = i / 4;

		memcpy(t.mem, image, SIZE);
		map = (struct scmfs_map *)(t.mem + block * SCMFS_BLOCK_SIZE);
		if (i % 4 > 1)	/* the last one of the chain */
			map = (struct scmfs_map *)(t.mem + le64_to_cpu(map->next) * SCMFS_BLOCK_SIZE);
		if (bit < 32)
			map->magic ^= cpu_to_le32(1U << bit);
		else
			map->ino ^= cpu_to_le64(1ULL << (bit - 32));
		if (i % 2)
			state_of(t.mem)->clean = 0;
		CHECK(kept("a head", bit, before), "bit %u", bit);
		CHECK(!check("again"));
	}
	/* it may be any block's: the number of blocks has to say that it is this one's */
	memcpy(t.mem, image, SIZE);
	map = (struct scmfs_map *)(t.mem + block * SCMFS_BLOCK_SIZE);
	map->magic ^= cpu_to_le32(1);
	inode_word(ino, 32, word_of(ino, 32) - 1);
	CHECK(!kept("a head, and the number of blocks", 0, before));
	free(before);
	free(image);
	free(t.mem);
}

static char *shown(void)
{
	char *text;

	if (!CHECK(!tfs_mount(&t, NULL)))
		return NULL;
	tfs_check(&t);
	text = tfs_show(&t);
	tfs_crash(&t);
	return text;
}

/* What a cut has left of a repair: the next one ends it, as if there had been none. */
static void after_cut(u8 *now, u32 point, void *arg)
{
	char *text;

	if (ktap_failing())
		return;
	memcpy(t.mem, now, SIZE);
	check("what was cut");
	CHECK(!check("what was cut, and repaired"), "event %u", point);
	text = shown();
	CHECK(text && !strcmp(text, arg), "event %u", point);
	free(text);
}

static void cut_damage(u32 which, u64 a, u64 b, u64 c)
{
	u64 block = word_of(b, 128);

	switch (which) {
	case 0:		/* in front others', so that what stays moves to a free place */
		inode_word(c, 32, 99);
		inode_word(c, 128, block - 1);
		inode_word(b, 136, 2ULL << 32);
		inode_word(b, 32, 2);
		break;
	case 1:
		inode_word(a, 136, 28ULL << 32);
		break;
	case 2:		/* a directory's size, the root's type, and a magic */
		inode_word(2, 8, 1 << 20);
		inode_word(1, 0, word_of(1, 0) ^ 1ULL << 44);
		inode_word(a, 88, 0);
		break;
	case 3:		/* a long name, which is removed slot by slot */
		scmfs_write_word(&name_of(2, 221)->head, scmfs_head(190, S_IFREG, 4));
		break;
	case 4:		/* a hole in front of a directory's block */
		inode_word(2, 136, word_of(2, 136) + 3);
		break;
	case 5:		/* fewer blocks, which only what was closed tells of */
		inode_word(a, 136, 4ULL << 32);
		break;
	case 6:		/* in blocks that are free */
		inode_word(a, 128, word_of(c, 128) + 20);
		break;
	}
}

static void cuts(void)
{
	u64 a, b, c, states = 0;
	struct scm_log log;
	char *whole;
	u8 *before;
	u32 i;

	make_three(&a, &b, &c);
	before = malloc(SIZE);
	crash_log_init(&log, t.mem, SIZE, 20000, 16 << 20);
	for (i = 0; i < 7 && !ktap_failing(); i++) {
		memcpy(t.mem, image, SIZE);
		cut_damage(i, a, b, c);
		memcpy(before, t.mem, SIZE);
		CHECK(!scm_record_start(&log));
		CHECK(check("to be cut"));
		scm_record_stop();
		CHECK(!log.full);
		whole = shown();
		if (whole)
			states += crash_some(&log, before, 0, 3, after_cut, whole);
		CHECK(!ktap_failing(), "damage %u", i);
		free(whole);
	}
	ktap_note("%llu states", states);
	crash_log_free(&log);
	free(before);
	free(image);
	free(t.mem);
}

/* ---- extents that overlap ------------------------------------------------------------------- */

static struct scmfs_inode *inode_of(u64 ino)
{
	return (struct scmfs_inode *)(t.mem +
			le64_to_cpu(((struct scmfs_super *)t.mem)->inode_offset)) + ino;
}

/* The place of extent @i of a file whose chain lies in the blocks from @map on. */
static struct scmfs_extent *place_of(u64 ino, u64 map, u32 i)
{
	struct scmfs_map *maps = (struct scmfs_map *)(t.mem + map * SCMFS_BLOCK_SIZE);

	if (i < SCMFS_INLINE_EXTENTS)
		return inode_of(ino)->extent + i;
	i -= SCMFS_INLINE_EXTENTS;
	return maps[i / SCMFS_MAP_EXTENTS].extent + i % SCMFS_MAP_EXTENTS;
}

static u32 maps_for(u32 nr)
{
	return nr > SCMFS_INLINE_EXTENTS ?
		DIV_ROUND_UP(nr - SCMFS_INLINE_EXTENTS, SCMFS_MAP_EXTENTS) : 0;
}

/* Give a file these extents, in this order; it has as many blocks as it says. */
static void put_extents(u64 ino, u64 map, const struct scmfs_ext *e, u32 nr)
{
	struct scmfs_map *maps = (struct scmfs_map *)(t.mem + map * SCMFS_BLOCK_SIZE);
	u32 i, nr_maps = maps_for(nr);
	struct scmfs_extent *place;
	u64 sum = 0;

	memset(inode_of(ino)->extent, 0, sizeof(inode_of(ino)->extent));
	inode_of(ino)->map = cpu_to_le64(nr_maps ? map : 0);
	memset(maps, 0, (u64)nr_maps * SCMFS_BLOCK_SIZE);
	for (i = 0; i < nr_maps; i++) {
		maps[i].magic = cpu_to_le32(SCMFS_MAP_MAGIC);
		maps[i].ino = cpu_to_le64(ino);
		maps[i].next = cpu_to_le64(i + 1 < nr_maps ? map + i + 1 : 0);
	}
	for (i = 0; i < nr; i++) {
		place = place_of(ino, map, i);
		place->block = cpu_to_le64(e[i].block);
		place->second = cpu_to_le64(scmfs_second(e[i].file, e[i].count));
		sum += e[i].count;
	}
	inode_word(ino, 32, sum + nr_maps + (word_of(ino, 104) ? 1 : 0));
}

static bool stayed(u64 ino, u64 map, u32 i, const struct scmfs_ext *e)
{
	const struct scmfs_extent *place = place_of(ino, map, i);

	if (!place->second)
		return false;
	CHECK(le64_to_cpu(place->block) == e->block &&
	      le64_to_cpu(place->second) == scmfs_second(e->file, e->count), "%u changed", i);
	return true;
}

static bool meet(u64 a, u64 b, u64 na, u64 nb)
{
	return a < b + nb && b < a + na;
}

static bool collide(const struct scmfs_ext *a, const struct scmfs_ext *b)
{
	return meet(a->file, b->file, a->count, b->count) ||
		meet(a->block, b->block, a->count, b->count);
}

/* How many of them can be together, by trying all sets. */
static u32 most(const struct scmfs_ext *e, u32 nr)
{
	u32 set, i, j, best = 0;

	for (set = 0; set < 1u << nr; set++) {
		bool ok = (u32)hweight_long(set) > best;

		for (i = 0; ok && i < nr; i++)
			for (j = 0; ok && j < i; j++)
				ok = !(set >> i & set >> j & 1) || !collide(&e[i], &e[j]);
		if (ok)
			best = hweight_long(set);
	}
	return best;
}

static void overlaps_of(u64 ino, u32 nr, bool apart, u64 map, u64 first, u32 blocks)
{
	struct scmfs_ext e[40] = { 0 };
	bool kept[40];
	u32 i, j, left = 0;

	for (i = 0; i < nr; i++) {
		e[i] = (struct scmfs_ext){ .count = 1 + get_random_u32() % (apart ? 4 : 9),
					   .file = get_random_u32() % (2 * nr) };
		e[i].block = apart ? first + 4 * i : first + get_random_u32() % (blocks - 9);
	}
	put_extents(ino, map, e, nr);
	check("extents that overlap");
	for (i = 0; i < nr; i++) {
		kept[i] = stayed(ino, map, i, &e[i]);
		left += kept[i];
	}
	for (i = 0; i < nr; i++) {
		bool hit = false;

		for (j = 0; j < nr; j++)
			hit |= i != j && kept[j] && collide(&e[i], &e[j]);
		CHECK(kept[i] != hit, "%u of %u: %s", i, nr, kept[i] ? "stays" : "goes");
	}
	if (apart && nr <= 10)
		CHECK(left == most(e, nr), "%u of %u", left, nr);
	CHECK(!check("again"));
}

static void overlaps(void)
{
	u64 first, map, ino = 3;
	u32 round, blocks;

	make();
	map = free_blocks(&blocks);
	first = map + 1;
	if (!CHECK(blocks > 170, "%u blocks", blocks))
		return;
	vouch(map, blocks);
	memcpy(image, t.mem, SIZE);
	for (round = 0; round < 400 && !ktap_failing(); round++) {
		memcpy(t.mem, image, SIZE);
		overlaps_of(ino, 2 + get_random_u32() % (round % 2 ? 9 : 39), round % 4 < 2, map,
			    first, blocks - 1);
	}
	memcpy(t.mem, image, SIZE);
	/* one whose length is damaged costs none of those that it covers, wherever it is */
	put_extents(ino, map, (struct scmfs_ext[]){ { first, 0, 60, 0 }, { first + 70, 5, 1, 0 },
						    { first + 71, 9, 2, 0 } }, 3);
	CHECK(check("too long"));
	CHECK(!place_of(ino, map, 0)->second && place_of(ino, map, 1)->second &&
	      place_of(ino, map, 2)->second);
	free(image);
	free(t.mem);
}

#define MANY_BYTES	(256ull << 20)
#define MANY	60000u

/* In time that grows with their number, not with its square, which would be minutes. */
static void many(void)
{
	static const char * const order[] = { "backwards", "shuffled", "each over the next",
		"all too many by one", "one is missing" };
	struct scmfs_check c = { .say = say };
	struct scmfs_ext *e = calloc(MANY, sizeof(*e));
	const char *reason = "";
	u64 first, map, ino;
	u32 how, i, j, blocks, left;
	clock_t begun;

	tfs_make(&t, MANY_BYTES, INODES, 2);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	tfs_unmount(&t);
	image = malloc(MANY_BYTES);
	memcpy(image, t.mem, MANY_BYTES);
	map = free_blocks(&blocks);
	first = map + maps_for(MANY);
	for (how = 0; how < ARRAY_SIZE(order) && !ktap_failing(); how++) {
		u32 count = how == 2 || how == 3 ? 2 : 1, apart = how == 3 ? 2 : 1;
		u32 nr = MANY / count;

		for (i = 0; i < nr; i++)
			e[i] = (struct scmfs_ext){ first + i * count, (nr - i) * apart, count, 0 };
		for (i = nr; how == 1 && --i;) {
			j = get_random_u32() % (i + 1);
			swap(e[i], e[j]);
		}
		memcpy(t.mem, image, MANY_BYTES);
		put_extents(ino, map, e, nr);
		vouch(map, first + MANY + (how == 4) - map);
		if (how >= 3)
			inode_word(ino, 32, word_of(ino, 32) + (how == 3 ? -1 : 1));
		begun = clock();
		CHECK(!scmfs_check(t.mem, MANY_BYTES, &c, &reason), "%s", reason);
		begun = clock() - begun;
		CHECK(begun < 4 * CLOCKS_PER_SEC, "%s: %ld ms", order[how],
		      begun * 1000 / CLOCKS_PER_SEC);
		for (left = 0, i = 0; i < nr; i++)
			left += stayed(ino, map, i, &e[i]);
		CHECK(left == (how == 2 ? nr / 2 : nr), "%s: %u of %u", order[how], left, nr);
	}
	free(image);
	free(e);
	free(t.mem);
}

#define LOST	25000u

/* In time that grows with their number, not with its square. */
static void many_lost(void)
{
	struct scmfs_new new = { .mode = S_IFDIR | 0755 };
	struct scmfs_node root = { .ino = SCMFS_ROOT_INO };
	struct scmfs_check c = { .say = say };
	const char *reason = "";
	struct scmfs_slots s;
	struct scmfs_extent *place;
	clock_t begun;
	char name[20];
	u64 ino;
	u32 i;

	tfs_make(&t, MANY_BYTES, 2 * LOST, 2);
	for (i = 0; i < LOST; i++) {
		sprintf(name, "%u", i);
		if (!CHECK(!scmfs_create(t.fs, &root, name, strlen(name), &new, &ino)))
			return;
	}
	scmfs_node_clear(&root);
	scmfs_slots(t.fs, scmfs_inode(t.fs, SCMFS_ROOT_INO), &s);
	while ((place = scmfs_slots_next(&s)))
		memset(t.mem + place->block * SCMFS_BLOCK_SIZE, 0,
		       (place->second >> 32) * SCMFS_BLOCK_SIZE);
	tfs_unmount(&t);
	begun = clock();
	CHECK(!scmfs_check(t.mem, MANY_BYTES, &c, &reason), "%s", reason);
	begun = clock() - begun;
	CHECK(begun < 4 * CLOCKS_PER_SEC, "%ld ms", begun * 1000 / CLOCKS_PER_SEC);
	CHECK(c.found > LOST, "%llu found", c.found);
	c.found = 0;
	CHECK(!scmfs_check(t.mem, MANY_BYTES, &c, &reason) && !c.found, "%llu left", c.found);
	free(t.mem);
}

/* Who can't check an inode says so, and takes nothing from it or others. */
static void no_memory(void)
{
	struct scmfs_check c = { .say = say };
	const char *reason;
	unsigned long i;
	int r = 0;

	make();
	for (i = 1; !ktap_failing(); i++) {
		memcpy(t.mem, image, SIZE);
		reason = "";
		shim_alloc_failed = false;
		shim_fail_alloc = i;
		r = scmfs_check(t.mem, SIZE, &c, &reason);
		shim_fail_alloc = 0;
		if (!shim_alloc_failed)
			break;
		CHECK(!c.found, "allocation %lu: %llu found", i, c.found);
		CHECK(!r || (r == -ENOMEM && *reason), "allocation %lu: %d %s", i, r, reason);
		CHECK(!check("afterwards"));
	}
	CHECK(!r && i > 80, "%lu allocations", i);
	free(image);
	free(t.mem);
}

static void random_damage(void)
{
	u32 round, i, nr, rounds = 600;
	u64 total = 0;

	make();
	for (round = 0; round < rounds && !ktap_failing(); round++) {
		u64 tables = le64_to_cpu(((struct scmfs_super *)image)->inode_offset);

		memcpy(t.mem, image, SIZE);
		if (round % 2)
			memset(t.mem + SCMFS_STATE_OFFSET, 0, 8);
		nr = 1 + get_random_u32() % 8;
		for (i = 0; i < nr; i++) {
			u64 at = get_random_u32() % 3 ? tables + get_random_u32() % (100 * 256) :
				4096 + get_random_u32() % (SIZE - 8192);
			u64 value = get_random_u64() >> get_random_u32() % 64;

			memcpy(t.mem + at, &value, 1 + get_random_u32() % 8);
		}
		repaired("random damage", 0);
		total += said;
	}
	ktap_note("%u images", round);
	free(image);
	free(t.mem);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("scmfs fsck: ACLs that the kernel would not take are removed", acls);
	ktap_run("fsck.scmfs: finds nothing where nothing is wrong", undamaged);
	ktap_run("fsck.scmfs: repairs each kind of damage", one_damage);
	ktap_run("fsck.scmfs: what is repaired is not vouched for meanwhile", told_first);
	ktap_run("fsck.scmfs: the undo log brings nothing to life again", lost_heads_closed);
	ktap_run("fsck.scmfs: nor after a crash", lost_heads);
	ktap_run("fsck.scmfs: nor where it is only a little behind", old_heads);
	ktap_run("scmfs: how far inodes go is not believed where it can't be", state_lost);
	ktap_run("scmfs: nor in its former form", high_unchecked);
	ktap_run("fsck.scmfs: who ends before all is repaired leaves none that takes files for free",
		 ended_in_the_middle);
	ktap_run("scmfs: the first new inodes of a word are found after a cut", first_numbers);
	ktap_run("scmfs: blocks that an inode counts and does not have, or has and does not count",
		 blocks_differ);
	ktap_run("scmfs: damage that was seen is told of until fsck", damage_told);
	ktap_run("fsck.scmfs: what a cut has left behind the ends of files is given back", room_ahead);
	ktap_run("fsck.scmfs: a name that is damaged costs no other one", neighbours);
	ktap_run("fsck.scmfs: a file is kept whose type or magic is damaged", types);
	ktap_run("fsck.scmfs: unasked, nothing is taken from anybody", unasked);
	ktap_run("fsck.scmfs: a directory keeps the names whose blocks are there", dir_size);
	ktap_run("fsck.scmfs: where nothing is free for names all else is repaired", no_room);
	ktap_run("fsck.scmfs: breaks a ring of directories", ring);
	ktap_run("fsck.scmfs: a directory takes as many steps however deep it lies", deep);
	ktap_run("fsck.scmfs: of names that are there more than once the first stays", doubles);
	ktap_run("scmfs: names for what was lost are taken", taken);
	ktap_run("fsck.scmfs: takes no file's blocks for one without names", orphan_first);
	ktap_run("fsck.scmfs: what is claimed twice goes to who can have it", shared_blocks);
	ktap_run("fsck.scmfs: what is free in maps that were wrong stays whose it is", maps_were_wrong);
	ktap_run("fsck.scmfs: one bit of what is there twice loses nothing unasked", one_bit);
	ktap_run("fsck.scmfs: one wrong extent is what all else says", extent_mended);
	ktap_run("fsck.scmfs: no extents or attributes become content", heads_are_no_content);
	ktap_run("fsck.scmfs: a chain with a damaged head is whole", map_heads);
	ktap_run("fsck.scmfs: a repair that is cut is ended by the next", cuts);
	ktap_run("fsck.scmfs: of extents that overlap as many as possible stay", overlaps);
	ktap_run("fsck.scmfs: extents in any order take no longer", many);
	ktap_run("fsck.scmfs: directories that nothing leads to take no longer", many_lost);
	ktap_run("fsck.scmfs: without memory nothing is taken for damage", no_memory);
	ktap_run("fsck.scmfs: whatever is damaged can be used afterwards", random_damage);
	return ktap_done();
}
