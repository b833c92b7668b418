// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power cuts of scmfs' engine: sequences of operations on a few names are recorded; for the last
 * operation of each, at every fence, what any subset of the words that are not durable leaves is
 * recovered, checked, and compared with what could be seen before and after that operation.
 *
 *	test_scmfs_crash [--long] [--seed N] [TITLE]
 */
#include <sys/stat.h>
#include <evenkeel/scm.h>
#include "crash.h"
#include "engine_gc.h"
#include "ktap.h"
#include "scmfs_lib.h"

#define SIZE	(192u << 10)
#define INODES	60u
#define LANES	2u
#define SAMPLES	12u

static struct tfs t, after;
static u8 *base, *again;
static struct scm_log scm_log, second_log;
static bool long_run;
static unsigned int samples = SAMPLES;

static char base_target[301];

/* ---- operations ----------------------------------------------------------------------------- */

static const char long_name[] =
	"d/a-name-that-takes-three-slots-of-a-directory-because-it-is-longer-than-one-hundred-and-twelve-bytes-which-is-what-two-hold-";

static int create(const char *path)
{
	return tfs_make_node(&t, path, S_IFREG | 0644, NULL, NULL);
}

static int open_and_unlink(const char *path)
{
	u64 ino;
	int r = tfs_find(&t, path, &ino);

	if (r)
		return r;
	t.open[ino] = 1;
	return tfs_unlink(&t, path);
}

static int close_all(void)
{
	u64 ino;

	for (ino = 1; ino < INODES; ino++)
		if (t.open[ino]) {
			t.open[ino] = 0;
			tfs_drop(&t, ino);
		}
	return 0;
}

static int tmpfile_and_link(void)
{
	struct scmfs_new new = { .mode = S_IFREG | 0600, .now = ++t.now };
	u64 ino;
	int r = scmfs_tmpfile(t.fs, &new, &ino);

	if (!r)
		r = tfs_write(&t, ino, 0, 100, 9, 0);
	return r ? r : scmfs_link(t.fs, &t.node[1], "t", 1, ino, t.now);
}

/* "a" becomes @to, and a device without a name "a". */
static int whiteout(const char *to, unsigned int flags)
{
	struct scmfs_new new = { .mode = S_IFCHR, .now = ++t.now };
	u64 ino;
	int r = scmfs_tmpfile(t.fs, &new, &ino);

	if (r)
		return r;
	r = tfs_rename_leave(&t, "a", to, flags, ino);
	scmfs_release(t.fs, ino);
	return r;
}

static int on_file(const char *path, int (*fn)(u64 ino, u64 size))
{
	struct scmfs_attr a;
	u64 ino;
	int r = tfs_find(&t, path, &ino);

	if (!r)
		r = scmfs_getattr(t.fs, ino, &a);
	return r ? r : S_ISREG(a.mode) ? fn(ino, a.size) : -EINVAL;
}

static int append(u64 ino, u64 size)
{
	return tfs_write(&t, ino, size, 5003, 0x11, 0);
}

static int write_far(u64 ino, u64 size)
{
	return tfs_write(&t, ino, size + 20001, 300, 0x22, 0);
}

static int write_atomic(u64 ino, u64 size)
{
	return tfs_write(&t, ino, 1001, 6000, 0x33, SCMFS_WRITE_ATOMIC);
}

/* With other rights, as who cuts a set-user-ID file leaves it. */
static int shrink(u64 ino, u64 size)
{
	const struct scmfs_attr attr = { .size = size / 2 + 1, .mode = 0600 | (size & 0177), .mtime = ++t.now,
					 .ctime = t.now };

	return scmfs_truncate_set(t.fs, ino, &attr,
				  SCMFS_SET_MODE | SCMFS_SET_MTIME | SCMFS_SET_CTIME);
}

static int grow(u64 ino, u64 size)
{
	return scmfs_truncate(t.fs, ino, size + 3000, ++t.now);
}

static int empty(u64 ino, u64 size)
{
	return scmfs_truncate(t.fs, ino, 0, ++t.now);
}

static int punch(u64 ino, u64 size)
{
	return scmfs_punch(t.fs, ino, 4096, 4096, ++t.now);
}

static int reserve(u64 ino, u64 size)
{
	return scmfs_reserve(t.fs, ino, size + 9000, 9000, SCMFS_RESERVE_KEEP_SIZE, ++t.now);
}

/* Room that reads as zeroes: in holes, and in place of what was written. */
static int reserve_hole(u64 ino, u64 size)
{
	return scmfs_reserve(t.fs, ino, 0, 12000, 0, ++t.now);
}

static int zero(u64 ino, u64 size)
{
	return scmfs_zero(t.fs, ino, 0, 8192, ++t.now);
}

static int collapse(u64 ino, u64 size)
{
	return scmfs_collapse(t.fs, ino, 4096, 4096, ++t.now);
}

static int insert(u64 ino, u64 size)
{
	return scmfs_insert(t.fs, ino, 4096, 8192, ++t.now);
}

/* Always the same bytes: what is written already is written in place. */
static int write_room(u64 ino, u64 size)
{
	return tfs_write(&t, ino, 8192 + 50, 100, 0x44, 0);
}

static int write_room_atomic(u64 ino, u64 size)
{
	return tfs_write(&t, ino, 2000, 4000, 0x55, SCMFS_WRITE_ATOMIC);
}

/* A store to a mapped hole: the fault's part of it, once with blocks beside it, once in a huge hole. */
static int fault(u64 ino, u64 size)
{
	return tfs_fault(&t, ino, 4096, 4096);
}

static int fault_four(u64 ino, u64 size)
{
	return tfs_fault(&t, ino, 0, 4 * 4096);
}

static const char *const attr_names[] = { "one", "two" };

static int set_attr(u64 ino, int which, int fill, u32 len)
{
	return tfs_set_attr(&t, ino, attr_names[which], fill, len);
}

static int attr_new(u64 ino, u64 size)
{
	return set_attr(ino, 1, 0x66, 30);
}

static int attr_large(u64 ino, u64 size)
{
	return set_attr(ino, 0, 0x77, 4200);
}

static int attr_gone(u64 ino, u64 size)
{
	return set_attr(ino, 0, 0, 0);
}

/* With attributes, as a directory with a default ACL gives them. */
static int create_with_attrs(void)
{
	const struct scmfs_xattr x[] = {
		{ .index = SCMFS_XATTR_ACL_ACCESS, .value = base_target, .value_len = 28 },
		{ .index = SCMFS_XATTR_SECURITY, .name = "s", .name_len = 1, .value = base_target,
		  .value_len = 50 },
	};
	const struct scmfs_new new = { .mode = S_IFREG | 0644, .now = ++t.now, .xattr = x,
				       .nr_xattrs = 2 };
	u64 ino;

	return scmfs_create(t.fs, &t.node[1], "w", 1, &new, &ino);
}

static int relocate_blocks(u64 ino, u64 block, u64 count)
{
	const struct scmfs_move m = { .file = block, .count = count };
	u64 moved;

	return scmfs_relocate(t.fs, ino, &m, &moved);
}

static int relocate(u64 ino, u64 size)
{
	return relocate_blocks(ino, 0, size / 4096);
}

static int setattr(void)
{
	return tfs_chmod(&t, "a", t.now & 0777);
}

#define ALONE	1u	/* the last ones: too many words for sequences */

/* X(name, expression) */
#define OPS								\
	X(create_n, create("n"))					\
	X(create_dn, create("d/n"))					\
	X(create_long, create(long_name))				\
	X(mkdir_m, tfs_make_node(&t, "m", S_IFDIR | 0755, NULL, NULL))	\
	X(mkdir_dm, tfs_make_node(&t, "d/m", S_IFDIR | 0755, NULL, NULL)) \
	X(symlink, tfs_make_node(&t, "s", S_IFLNK | 0777, "short", NULL)) \
	X(symlink_long, tfs_make_node(&t, "d/s", S_IFLNK | 0777, base_target, NULL)) \
	X(link, tfs_link(&t, "a", "d/l"))				\
	X(tmpfile, tmpfile_and_link())					\
	X(unlink_a, tfs_unlink(&t, "a"))				\
	X(unlink_db, tfs_unlink(&t, "d/b"))				\
	X(unlink_long, tfs_unlink(&t, long_name))			\
	X(unlink_open, open_and_unlink("a"))				\
	X(close, close_all())						\
	X(rmdir_de, tfs_rmdir(&t, "d/e"))				\
	X(rmdir_m, tfs_rmdir(&t, "m"))					\
	X(rename_an, tfs_rename(&t, "a", "n", 0))			\
	X(rename_adb, tfs_rename(&t, "a", "d/b", 0))			\
	X(rename_long, tfs_rename(&t, "d/b", long_name, 0))		\
	X(rename_dir, tfs_rename(&t, "d/e", "m", 0))			\
	X(rename_d, tfs_rename(&t, "d", "c", 0))			\
	X(noreplace, tfs_rename(&t, "d/b", "n", SCMFS_RENAME_NOREPLACE)) \
	X(exchange, tfs_rename(&t, "a", "d/b", SCMFS_RENAME_EXCHANGE))	\
	X(whiteout, whiteout("n", 0))					\
	X(whiteout_over, whiteout("d/b", 0))				\
	X(exchange_dir, tfs_rename(&t, "a", "d/e", SCMFS_RENAME_EXCHANGE)) \
	X(append, on_file("a", append))					\
	X(write_far, on_file("d/b", write_far))				\
	X(write_atomic, on_file("a", write_atomic))			\
	X(shrink, on_file("a", shrink))					\
	X(grow, on_file("d/b", grow))					\
	X(empty, on_file("a", empty))					\
	X(punch, on_file("a", punch))					\
	X(reserve, on_file("d/b", reserve))				\
	X(reserve_hole, on_file("d/b", reserve_hole))			\
	X(zero, on_file("a", zero))					\
	X(collapse, on_file("a", collapse))				\
	X(insert, on_file("a", insert))					\
	X(write_room, on_file("u", write_room))				\
	X(write_room_atomic, on_file("u", write_room_atomic))		\
	X(fault, on_file("d/b", fault))					\
	X(fault_four, on_file("d/b", fault_four))			\
	X(attr_new, on_file("u", attr_new))				\
	X(attr_gone, on_file("u", attr_gone))				\
	X(create_with_attrs, create_with_attrs())			\
	X(relocate_a, on_file("a", relocate))				\
	X(relocate_u, on_file("u", relocate))				\
	X(setattr, setattr())						\
	X(attr_large, on_file("u", attr_large))

/*
 * On x, which has nine extents and so a block of them: 0, 2, ... 14 of one written block each, and
 * three unwritten ones from 16 on; and on y, which has eight of them in its inode: 0, 2, ... 12 and
 * two from 14 on.
 */
static int collapse_at(u64 ino, u64 block, u64 count)
{
	return scmfs_collapse(t.fs, ino, block << 12, count << 12, ++t.now);
}

static int insert_at(u64 ino, u64 block, u64 count)
{
	return scmfs_insert(t.fs, ino, block << 12, count << 12, ++t.now);
}

/* Some bytes within a block. */
static int write_in(u64 ino, u64 block)
{
	return tfs_write(&t, ino, (block << 12) + 1000, 100, 0x21, 0);
}

static int zero_blocks(u64 ino, u64 block, u64 count)
{
	return scmfs_zero(t.fs, ino, block << 12, count << 12, ++t.now);
}

static int on(const char *path, int (*fn)(u64 ino, u64 block, u64 count), u64 block, u64 count)
{
	u64 ino;
	int r = tfs_find(&t, path, &ino);

	return r ? r : fn(ino, block, count);
}

static int write_at(const char *path, u64 block)
{
	u64 ino;
	int r = tfs_find(&t, path, &ino);

	return r ? r : write_in(ino, block);
}

static int write_all(u64 ino, u64 block, u64 count)
{
	return tfs_write(&t, ino, (block << 12) + 50, (count << 12) - 100, 0x31, 0);
}

#define MANY_OPS							\
	X(x_collapse, on("x", collapse_at, 2, 1))			\
	X(x_collapse_hole, on("x", collapse_at, 3, 1))			\
	X(x_collapse_most, on("x", collapse_at, 1, 14))			\
	X(x_collapse_room, on("x", collapse_at, 17, 1))			\
	X(x_insert, on("x", insert_at, 2, 1))				\
	X(x_insert_room, on("x", insert_at, 17, 2))			\
	X(x_write_room, write_at("x", 17))				\
	X(x_write_front, write_at("x", 16))				\
	X(x_write_back, write_at("x", 18))				\
	X(x_write_all, on("x", write_all, 16, 3))			\
	X(x_zero, on("x", zero_blocks, 2, 8))				\
	X(x_zero_back, on("x", zero_blocks, 14, 4))			\
	X(y_collapse, on("y", collapse_at, 14, 1))			\
	X(y_insert, on("y", insert_at, 15, 1))				\
	X(y_insert_front, on("y", insert_at, 0, 1))			\
	X(v_write_far, write_at("v", 9))				\
	X(y_zero, on("y", zero_blocks, 14, 1))				\
	X(v_write_between, write_at("v", 1))				\
	X(v_relocate, on("v", relocate_blocks, 0, 3))			\
	X(x_relocate, on("x", relocate_blocks, 4, 1))			\
	X(x_relocate_room, on("x", relocate_blocks, 17, 2))		\
	X(y_relocate, on("y", relocate_blocks, 14, 2))

/* On z, of which all of the inode's places are taken, in a full file system: there are no others. */
#define FULL_OPS							\
	X(z_write_room, write_at("z", 15))				\
	X(z_write_back, write_at("z", 16))				\
	X(z_write_front, write_at("z", 14))				\
	X(z_write_all, on("z", write_all, 14, 3))			\
	X(z_insert, on("z", insert_at, 2, 1))				\
	X(z_collapse, on("z", collapse_at, 1, 3))

/*
 * Writes to k in the tick of the operation before: blocks 0, 1 and 4 of it are written, 2 is
 * unwritten, 3 a hole; it ends in 4. Each writes other bytes than the last one. Where a second one
 * may write in place it is one word, which no cut parts.
 */
#define K_SIZE	(4 * 4096 + 800u)

static u64 tick_ino, tick_at, tick_len;
static u8 tick_fill;

static int in_tick(u64 at, u64 len)
{
	struct scmfs_attr a;
	int r = tfs_find(&t, "k", &tick_ino);

	if (!r)
		r = scmfs_getattr(t.fs, tick_ino, &a);
	tick_at = at ? at : a.size;
	tick_len = len;
	return r ? r : tfs_write(&t, tick_ino, tick_at, tick_len, ++tick_fill, 0);
}

#define TICK_OPS							\
	X(k_overwrite, in_tick(4096 + 72, 8))				\
	X(k_write_room, in_tick(2 * 4096 + 1000, 8))			\
	X(k_fill_hole, in_tick(3 * 4096 + 64, 8))			\
	X(k_append_in_block, in_tick(0, 100))				\
	X(k_append, in_tick(0, 5003))

struct op {
	const char *name;
	int (*fn)(void);
};

#define X(name, expression) static int op_##name(void) { return expression; }
OPS
MANY_OPS
FULL_OPS
TICK_OPS
#undef X

#define X(name, expression) { #name, op_##name },
static const struct op ops[] = { OPS };
static const struct op many_ops[] = { MANY_OPS };
static const struct op full_ops[] = { FULL_OPS };
static const struct op tick_ops[] = { TICK_OPS };
#undef X

/*
 * ---- the base, from which each sequence begins ------------------------------------------------
 */

static void some_files(void)
{
	CHECK(!create("a") && !tfs_make_node(&t, "d", S_IFDIR | 0755, NULL, NULL));
	CHECK(!create("d/b") && !tfs_make_node(&t, "d/e", S_IFDIR | 0700, NULL, NULL));
	CHECK(!create("u") && !on_file("u", reserve_hole));
	CHECK(!tfs_set_attr(&t, 6, "one", 1, 100));
	CHECK(!on_file("a", append) && !on_file("a", append) && !on_file("d/b", write_far));
}

/* Of extents of one block, each second block; from the last one on, as there is no room ahead then. */
static u64 scattered(const char *path, u64 nr)
{
	u64 ino, i;

	CHECK(!create(path) && !tfs_find(&t, path, &ino));
	CHECK(!scmfs_truncate(t.fs, ino, 20 << 12, ++t.now));
	for (i = nr; i--;)
		CHECK(!tfs_write(&t, ino, (2 * i) << 12, 4096, 0x40 + i, 0));
	return ino;
}

static u64 blocks_of(u64 ino)
{
	struct scmfs_attr a;

	CHECK(!scmfs_getattr(t.fs, ino, &a));
	return a.blocks;
}

static void many_extents(void)
{
	u64 v, x, y;

	x = scattered("x", 8);
	CHECK(!scmfs_reserve(t.fs, x, 16 << 12, 3 << 12, 0, ++t.now));
	y = scattered("y", 7);
	CHECK(!tfs_write(&t, y, 14 << 12, 8192, 0x50, 0));
	CHECK(blocks_of(x) == 12 && blocks_of(y) == 9, "%llu %llu", blocks_of(x), blocks_of(y));
	CHECK(!create("v") && !tfs_find(&t, "v", &v));
	CHECK(!scmfs_reserve(t.fs, v, 0, 3 << 12, 0, ++t.now));
	CHECK(!write_in(v, 0) && !write_in(v, 2) && blocks_of(v) == 3);
}

static void full(void)
{
	u64 z, fill;

	z = scattered("z", 7);
	CHECK(!scmfs_reserve(t.fs, z, 14 << 12, 3 << 12, 0, ++t.now));
	CHECK(blocks_of(z) == 10);
	CHECK(!create("fill") && !tfs_find(&t, "fill", &fill));
	for (u64 i = 0; !scmfs_reserve(t.fs, fill, i << 12, 4096, 0, ++t.now); i++)
		;
}

static void all_kinds(void)
{
	u64 k;

	CHECK(!create("k") && !tfs_find(&t, "k", &k));
	CHECK(!scmfs_truncate(t.fs, k, K_SIZE, ++t.now));
	CHECK(!tfs_write(&t, k, 4 * 4096, 800, 0x41, 0) && !tfs_write(&t, k, 0, 8192, 0x42, 0));
	CHECK(!scmfs_reserve(t.fs, k, 8192, 4096, 0, ++t.now) && !scmfs_trim(t.fs, k));
	CHECK(blocks_of(k) == 4, "%llu", blocks_of(k));
}

static void make_base(void (*files)(void))
{
	memset(base_target, 'y', sizeof(base_target) - 1);
	tfs_make(&t, SIZE, INODES, LANES);
	files();
	tfs_unmount(&t);
	base = malloc(SIZE);
	again = malloc(SIZE);
	memcpy(base, t.mem, SIZE);
}

static void rewind_base(void)
{
	memcpy(t.mem, base, SIZE);
	t.now = 2000;
	CHECK(!tfs_mount(&t, NULL));
}

/* ---- what a cut leaves ---------------------------------------------------------------------- */

static u64 states, nested;
static char *text_before, *text_after;
static u32 op_done;		/* events when the last operation had returned */
static char sequence[200];

static bool as_expected(const char *text, u32 point)
{
	if (!strcmp(text, text_after))
		return true;
	return point < op_done && !strcmp(text, text_before);
}

static void explain(const char *text)
{
	ktap_note("%s", sequence);
	ktap_note("before:\n%s# after:\n%s# is:\n%s", text_before, text_after, text ? text : "?");
}

/* Mount, check, compare; leaves it mounted. */
static bool recovered(u32 point)
{
	const char *reason = "";
	char *text;
	bool ok;
	int r;

	r = scmfs_open(after.mem, SIZE, 0, &after.fs, NULL, &reason);
	if (!CHECK(!r, "%s: event %u of %u: %d %s", sequence, point, op_done, r, reason))
		return false;
	text = tfs_show(&after);
	ok = CHECK(text && as_expected(text, point), "%s: event %u of %u: neither before nor after",
		   sequence, point, op_done) && !tfs_check(&after) &&
	     CHECK(!scmfs_damage_seen(after.fs), "%s: event %u of %u", sequence, point, op_done);
	if (!ok)
		explain(text);
	free(text);
	return ok;
}

struct names {
	char name[40][300];
	u64 ino[40];
	u32 nr;
};

static bool collect(void *ctx, const char *name, u32 len, u64 ino, u32 type, u64 cookie)
{
	struct names *n = ctx;

	memcpy(n->name[n->nr], name, len);
	n->name[n->nr][len] = 0;
	n->ino[n->nr++] = ino;
	return n->nr < ARRAY_SIZE(n->name);
}

static bool remove_below(u64 dir)
{
	struct names n = { .nr = 0 };
	struct scmfs_attr a;
	u64 cookie = 0, ino;
	u32 i;
	int r;

	if (scmfs_readdir(after.fs, &after.node[dir], &cookie, collect, &n))
		return false;
	for (i = 0; i < n.nr; i++) {
		if (scmfs_getattr(after.fs, n.ino[i], &a))
			return false;
		if (S_ISDIR(a.mode)) {
			if (!remove_below(n.ino[i]))
				return false;
			r = scmfs_rmdir(after.fs, &after.node[dir], n.name[i], strlen(n.name[i]),
					&after.node[n.ino[i]], 1);
			ino = n.ino[i];
		} else {
			r = scmfs_unlink(after.fs, &after.node[dir], n.name[i], strlen(n.name[i]), 1,
					 &ino);
		}
		if (r)
			return false;
		tfs_drop(&after, ino);
	}
	return true;
}

static u64 dirty_tails;

/* Whoever maps a file sees zeroes behind its end, if that was looked at before. */
static void look_behind_end(u64 ino, u64 size)
{
	struct scmfs_seg tail;
	u64 end = (size | 4095) + 1, i;

	if (!(size % 4096))
		return;
	dirty_tails += scmfs_tail_is_dirty(after.fs, ino);
	scmfs_clean_tail(after.fs, ino);
	if (scmfs_map_part(after.fs, ino, size, end, &tail) || tail.at == SCMFS_HOLE)
		return;
	for (i = 0; i < tail.len; i++)
		if (!CHECK(!after.mem[tail.at + i], "%s: ino %llu: byte %llu behind the end", sequence, ino, i))
			return;
}

/* It must be of use afterwards: create, write to everything, remove everything, nothing is left. */
static void use_it(void)
{
	struct scmfs_statfs st;
	struct scmfs_attr a;
	u64 ino;

	tfs_unlink(&after, "fill");	/* if there is one */
	CHECK(!tfs_make_node(&after, "new", S_IFREG | 0644, NULL, &ino), "%s", sequence);
	CHECK(!tfs_make_node(&after, "newdir", S_IFDIR | 0755, NULL, NULL), "%s", sequence);
	for (ino = 1; ino < INODES; ino++)
		if (!scmfs_getattr(after.fs, ino, &a) && S_ISREG(a.mode)) {
			int r;

			look_behind_end(ino, a.size);
			r = tfs_write(&after, ino, a.size, 100, 1, 0);
			/* the others need room, too */
			CHECK(!r && !scmfs_trim(after.fs, ino), "%s: %d", sequence, r);
		}
	CHECK(remove_below(SCMFS_ROOT_INO), "%s: not all can be removed", sequence);
	scmfs_node_clear(&after.node[1]);
	scmfs_statfs(after.fs, &st);
	CHECK(st.inodes - st.free_inodes == 1, "%s: %llu inodes left", sequence,
	      st.inodes - st.free_inodes);
	scmfs_getattr(after.fs, SCMFS_ROOT_INO, &a);
	CHECK(st.blocks - st.free == a.blocks, "%s: %llu blocks left, the root has %llu", sequence,
	      st.blocks - st.free, a.blocks);
}

static void look_again(u8 *now, u32 point, void *arg)
{
	u32 outer = *(u32 *)arg;

	if (ktap_failing())
		return;
	nested++;
	memcpy(after.mem, now, SIZE);
	recovered(outer);
	tfs_crash(&after);
}

/* Recover while recording, and cut that. */
static void cut_recovery(const u8 *now, u32 point)
{
	u8 *copy = again;

	memcpy(after.mem, now, SIZE);
	memcpy(copy, now, SIZE);
	second_log.base = after.mem;
	CHECK(!scm_record_start(&second_log));
	recovered(point);
	scm_record_stop();
	tfs_crash(&after);
	CHECK(!second_log.full);
	crash_cuts(&second_log, copy, 0, 3, look_again, &point);
}

static void look(u8 *now, u32 point, void *arg)
{
	if (ktap_failing())
		return;
	states++;
	memcpy(after.mem, now, SIZE);
	if (recovered(point) && (long_run || states % 3 == 0))
		use_it();
	tfs_crash(&after);
	if (states % (long_run ? 97 : 401) == 0)
		cut_recovery(now, point);
}

/* ---- sequences ------------------------------------------------------------------------------ */

static bool same_tick;	/* all of a sequence */
static bool last_in_tick;	/* its last operation is in the tick of the one before */

/* After its last fence a cut leaves what can be seen then: those are the bytes. */
static void look_tick(void)
{
	static u8 is[8192];
	u64 i;

	CHECK(!tfs_read(&t, tick_ino, tick_at, tick_len, is));
	for (i = 0; i < tick_len; i++)
		if (!CHECK(is[i] == tick_fill, "%s: byte %llu is %x", sequence, i, is[i]))
			return;
	CHECK(strcmp(text_before, text_after), "%s", sequence);
}

/*
 * Run them in turn, as tasks with different lanes; cuts in the last one. False if one of them
 * fails, as it should.
 */
static bool run(const struct op *const *op, u32 nr)
{
	u32 i, from = 0;
	int r = 0;

	rewind_base();
	tick_fill = 0x60;
	sequence[0] = 0;
	scm_log.base = t.mem;
	memcpy(after.mem, t.mem, SIZE);
	memcpy(again, t.mem, SIZE);
	CHECK(!scm_record_start(&scm_log));
	for (i = 0; !r && i < nr; i++) {
		sprintf(sequence + strlen(sequence), "%s%s", i ? ", " : "", op[i]->name);
		from = scm_log.nr_events;
		if (i == nr - 1)
			text_before = tfs_show(&t);
		shim_task = 1 + 64 * (i + 1);
		t.still = i && (same_tick || (last_in_tick && i == nr - 1));
		r = op[i]->fn();
		t.still = false;
		shim_task = 0;
	}
	op_done = scm_log.nr_events;
	scm_record_stop();
	CHECK(!scm_log.full);
	if (i == nr && !r) {
		u8 *start = malloc(SIZE);

		memcpy(start, again, SIZE);
		text_after = tfs_show(&t);
		if (same_tick)
			look_tick();
		tfs_check(&t);
		crash_cuts(&scm_log, start, from + 1, samples, look, NULL);
		free(start);
		free(text_after);
	}
	if (i == nr)
		free(text_before);
	close_all();
	tfs_crash(&t);
	return !r;
}

static void begin(void (*files)(void))
{
	memset(&after, 0, sizeof(after));
	make_base(files);
	after.mem = aligned_alloc(4096, SIZE);
	after.size = SIZE;
	for (u32 i = 0; i < TFS_INODES; i++)
		after.node[i].ino = i;
	crash_log_init(&scm_log, t.mem, SIZE, 16384, 2 << 20);
	crash_log_init(&second_log, after.mem, SIZE, 16384, 2 << 20);
	states = nested = dirty_tails = 0;
}

static void end(u32 nr)
{
	ktap_note("%u sequences, %llu states, %llu cuts in recoveries, %llu dirty tails", nr, states, nested,
		  dirty_tails);
	crash_log_free(&scm_log);
	crash_log_free(&second_log);
	free(t.mem);
	free(after.mem);
	free(base);
	free(again);
}

/* Writes in place, which a cut may leave part of: what was reserved is written after the first. */
static bool in_place(const struct op *first, const struct op *second)
{
	return strstr(first->name, "_write_") && strstr(second->name, "_write_") &&
		(first->name[0] == 'z' || strstr(first->name, "_all") ||
		 strstr(second->name, "_all"));
}

/*
 * All sequences of one of these, and each as one of two with some others: --long takes all. Those of
 * two take as many @turns.
 */
static void all_of(void (*files)(void), const struct op *op, u32 all, u32 turns)
{
	const struct op *seq[2];
	u32 i, nr = 0, drawn = 0, pairs = 0;

	begin(files);
	samples = long_run ? 2000 : 100;
	for (i = 0; i < all && !ktap_failing(); i++) {
		seq[0] = &op[i];
		nr += run(seq, 1);
	}
	CHECK(nr == all, "only %u of %u operations can be done", nr, all);
	samples = long_run ? 100 : SAMPLES;
	for (i = 0; i < all * all && !ktap_failing(); i++) {
		seq[0] = &op[i / all];
		seq[1] = &op[i % all];
		if (!long_run && ((i / all + i % all) % 4 || !ktap_has_turn(i / all + i % all / 4, turns)))
			continue;
		if (in_place(seq[0], seq[1]))
			continue;
		drawn++;
		pairs += run(seq, 2);
	}
	CHECK(drawn && 2 * pairs >= drawn, "only %u of %u pairs can be done", pairs, drawn);
	end(nr + pairs);
}

static void many(void)
{
	all_of(many_extents, many_ops, ARRAY_SIZE(many_ops), 3);
}

static void no_room(void)
{
	all_of(full, full_ops, ARRAY_SIZE(full_ops), 1);
}

/* What has changed in the tick before does not let a write off: all there is of two and three. */
static void ticks(void)
{
	u32 i, nr = 0, all = ARRAY_SIZE(tick_ops);
	const struct op *seq[3];

	begin(all_kinds);
	samples = long_run ? 100 : SAMPLES;
	same_tick = true;
	for (i = 0; i < all * all * (all + 1) && !ktap_failing(); i++) {
		seq[0] = &tick_ops[i % all];
		seq[1] = &tick_ops[i / all % all];
		seq[2] = &tick_ops[i / all / all % all];
		nr += run(seq, i < all * all ? 2 : 3);
	}
	same_tick = false;
	CHECK(nr == i, "only %u of %u can be done", nr, i);
	end(nr);
}

static void one(void)
{
	const struct op *seq[1];
	u32 i, nr = 0;

	begin(some_files);
	samples = long_run ? 2000 : 300;
	for (i = 0; i < ARRAY_SIZE(ops) && !ktap_failing(); i++) {
		seq[0] = &ops[i];
		nr += run(seq, 1);
	}
	CHECK(nr > ARRAY_SIZE(ops) * 3 / 4, "only %u operations can be done", nr);
	CHECK(dirty_tails, "no cut left anything behind a file's end");
	end(nr);
}

static void two(void)
{
	const struct op *seq[2];
	u32 i, nr = 0, all = ARRAY_SIZE(ops) - ALONE;

	begin(some_files);
	samples = long_run ? 100 : SAMPLES;
	for (i = 0; i < all * all && !ktap_failing(); i++) {
		/* each first one, and each second one, is among those of any turn */
		if (!ktap_has_turn(i / all + i % all, 6))
			continue;
		seq[0] = &ops[i / all];
		seq[1] = &ops[i % all];
		last_in_tick = i / all > i % all;
		nr += run(seq, 2);
		if (i / all != i % all)
			continue;
		last_in_tick = true;	/* one operation, twice: both ways */
		nr += run(seq, 2);
	}
	last_in_tick = false;
	end(nr);
}

static void three(void)
{
	const struct op *seq[3];
	u32 i, nr = 0, all = ARRAY_SIZE(ops) - ALONE;

	begin(some_files);
	samples = SAMPLES;
	for (i = 0; i < (long_run ? all * all * all : 100) && !ktap_failing(); i++) {
		u32 which = long_run ? i : get_random_u32() % (all * all * all);

		seq[0] = &ops[which / all / all];
		seq[1] = &ops[which / all % all];
		seq[2] = &ops[which % all];
		nr += run(seq, 3);
	}
	end(nr);
}

/* Formatting over another file system: none, or the new one. */
static u32 none, new_one;

static void look_format(u8 *now, u32 point, void *arg)
{
	struct scmfs_super s;
	const char *reason;
	struct scmfs *fs;
	bool damaged;

	states++;
	if (scmfs_probe(now, SIZE, &s, &damaged, &reason)) {
		none++;
		return;
	}
	new_one++;
	CHECK(s.uuid[0] == 2, "event %u: the old one", point);
	CHECK(!scmfs_open(now, SIZE, 0, &fs, NULL, &reason), "%s", reason);
	scmfs_close(fs);
}

static void format(void)
{
	struct scmfs_format_params p = { .uuid = { 2 }, .nr_inodes = INODES, .lanes = LANES };

	begin(some_files);
	memcpy(t.mem, base, SIZE);
	none = new_one = 0;
	CHECK(!scm_record_start(&scm_log));
	CHECK(!scmfs_format(t.mem, SIZE, &p));
	scm_record_stop();
	/* From its first fence on: until then the old one may be there. */
	crash_cuts(&scm_log, base, 3, 200, look_format, NULL);
	CHECK(none && new_one);
	end(1);
}

/* Closing: what was saved is believed only when all of it is there. */
static void look_close(u8 *now, u32 point, void *arg)
{
	look(now, point, arg);
}

static void closing(void)
{
	begin(some_files);
	rewind_base();
	scm_log.base = t.mem;
	CHECK(!create("n") && !tfs_unlink(&t, "a"));
	memcpy(again, t.mem, SIZE);
	text_before = tfs_show(&t);
	text_after = text_before;
	strcpy(sequence, "close");
	CHECK(!scm_record_start(&scm_log));
	tfs_unmount(&t);
	scm_record_stop();
	op_done = scm_log.nr_events;
	{
		u8 *start = malloc(SIZE);

		memcpy(start, again, SIZE);
		crash_cuts(&scm_log, start, 0, 300, look_close, NULL);
		free(start);
	}
	free(text_before);
	end(1);
}

/* Becoming read-only, and writable again. */
static u8 *began;		/* with these contents */
static u64 nr_clean, nr_in_use;

static bool is_clean(const u8 *now)
{
	return ((const struct scmfs_state *)(now + SCMFS_STATE_OFFSET))->clean;
}

static void look_read_only(u8 *now, u32 point, void *arg)
{
	if (is_clean(now))
		nr_clean++;
	else
		nr_in_use++;
	CHECK(point < op_done || is_clean(now), "it is read-only, and in use");
	look(now, point, arg);
}

/* Of all that a cut leaves nothing but the word itself has changed as long as it says "closed". */
static void look_writable(u8 *now, u32 point, void *arg)
{
	if (is_clean(now)) {
		nr_clean++;
		CHECK(!memcmp(now, began, SIZE), "event %u: stored to, and not in use", point);
	} else {
		nr_in_use++;
	}
	look(now, point, arg);
}

static void begin_part(const char *name)
{
	strcpy(sequence, name);
	nr_clean = nr_in_use = 0;
	memcpy(began, t.mem, SIZE);
	text_before = tfs_show(&t);
	CHECK(!scm_record_start(&scm_log));
}

static void end_part(crash_look fn)
{
	u8 *start = malloc(SIZE);

	op_done = scm_log.nr_events;
	scm_record_stop();
	CHECK(!scm_log.full);
	text_after = tfs_show(&t);
	memcpy(start, began, SIZE);
	crash_cuts(&scm_log, start, 0, 300, fn, NULL);
	CHECK(nr_clean && nr_in_use, "%s: %llu closed, %llu in use", sequence, nr_clean, nr_in_use);
	free(start);
	free(text_before);
	free(text_after);
}

/* What was done last is not retired, as where the head of its lane was not durable yet. */
static void unretire(void)
{
	const struct scmfs_super *s = (const struct scmfs_super *)t.mem;
	struct eku_lane *lane = (void *)(t.mem + le64_to_cpu(s->log_offset));
	struct ek_undo_stats stats;
	u32 i, nr = 0;

	for (i = 0; i < LANES; i++) {
		__le64 was = lane[i].head.retired;

		lane[i].head.retired = cpu_to_le64(le64_to_cpu(was) - 1);
		CHECK(!ek_undo_replay(t.mem, SIZE, le64_to_cpu(s->log_offset), LANES, le64_to_cpu(s->salt), true,
				      &stats));
		if (stats.undone || stats.committed == nr)
			lane[i].head.retired = was;
		else
			nr++;
	}
	CHECK(nr, "all of the log is retired");
}

static void remounting(void)
{
	const char *reason;

	begin(some_files);
	rewind_base();
	scm_log.base = t.mem;
	began = malloc(SIZE);
	CHECK(!create("n") && !tfs_unlink(&t, "a"));
	begin_part("read-only");
	scmfs_make_read_only(t.fs);
	end_part(look_read_only);
	begin_part("writable again");
	CHECK(!scmfs_make_writable(t.fs, &reason) && !create("o"));
	end_part(look_writable);
	scmfs_make_read_only(t.fs);
	tfs_crash(&t);
	unretire();
	CHECK(!scmfs_open(t.mem, SIZE, SCMFS_OPEN_READ_ONLY, &t.fs, NULL, &reason), "%s", reason);
	begin_part("writable, opened read-only");
	CHECK(!scmfs_make_writable(t.fs, &reason) && !create("p"));
	end_part(look_writable);
	tfs_crash(&t);
	free(began);
	end(3);
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--long")) {
			long_run = true;
			memmove(argv + i, argv + i + 1, (argc - i) * sizeof(*argv));
			argc--;
		}
	ktap_init(argc, argv);
	ktap_run("scmfs: a cut in any operation leaves it done or not begun", one);
	ktap_run("scmfs: the same after any other operation", two);
	ktap_run("scmfs: the same after two others", three);
	ktap_run("scmfs: a cut while ranges of many extents change leaves them done or not begun", many);
	ktap_run("scmfs: the same without room for other extents", no_room);
	ktap_run("scmfs: what is written in the same tick is there once it returns", ticks);
	ktap_run("scmfs: a cut format is no file system or the new one", format);
	ktap_run("scmfs: a cut while closing loses nothing", closing);
	ktap_run("scmfs: nor does one while becoming read-only, and writable again", remounting);
	return ktap_done();
}
