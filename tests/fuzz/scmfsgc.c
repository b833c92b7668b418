// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stream of operations on a few files of scmfs: names, content, room, attributes, and blocks that
 * are put elsewhere, by hand and by the garbage collector, against a model of what must be there.
 * Afterwards fsck finds nothing.  The last operation may be cut off: then what is there is as it
 * was before or as it is after it, unless it is in steps: then that holds of all other files.
 */
#include <sys/stat.h>

#include <evenkeel/scm.h>

#include "check.h"
#include "crash.h"
#include "engine_gc.h"
#include "engine_internal.h"
#include "fuzz.h"
#include "ktap.h"
#include "scmfs_lib.h"

#define LARGE		(8u << 20)	/* four units of 2 MiB */
#define SMALL		(512u << 10)	/* there is never room for long */
#define INODES		24u
#define OPS_MAX		40u
#define RUNS_MAX	128u
#define BLOCK		SCMFS_BLOCK_SIZE

/* The first byte. */
#define IN_SMALL	0x01
#define CUT		0x02
#define CHECKED		0x04	/* by fsck, before what a cut left is opened */

struct op {
	u8 what, file;
	u8 at[2], len[2];
} __attribute__((packed));

enum what {
	CREATE, UNLINK, RENAME, EXCHANGE_DIRS, LINK,
	WRITE, WRITE_ATOMIC, WRITE_IN_TURNS, FAULT,
	TRUNCATE, PUNCH, ZERO, RESERVE, COLLAPSE, INSERT, TRIM,
	SET_ATTR, REMOVE_ATTR,
	RELOCATE, COLLECT, REMOUNT, CRASH,
	NR_WHATS,
};

/* ---- the model ------------------------------------------------------------------------------- */

#define NOTHING		0u	/* zeroes */
#define ANYTHING	~0u	/* an operation in steps failed, or was cut off */

/* Bytes @from to @to are those of the write @seq, which has the first of them at @in. */
struct run {
	u64 from, to, in;
	u32 seq;
};

#define ATTRS	3u

struct object {
	u64 ino;
	u64 size;
	u32 links;
	u32 nr;
	struct run run[RUNS_MAX];	/* sorted, up to the size; what is between them is zeroes */
	u32 attr[ATTRS];		/* length; 0: there is none */
	u8 fill[ATTRS];
};

#define OBJECTS	8u
#define NAMES	6u

struct model {
	struct object object[OBJECTS];	/* in use while they have links */
	struct object *name[NAMES];
};

static const char *const names[NAMES] = { "a", "b", "d/a", "d/b", "e/a", "e/b" };
static const char *const attr_names[ATTRS] = { "one", "two", "three" };

static struct tfs t;
static struct model model;
static struct scmfs_gc *gc;
static u64 sequence, busy;	/* the last write's; the file that the collector finds locked */
static u32 steps;

static u8 byte_of(u32 seq, u64 at)
{
	return 1 + (seq * 67 + (at >> 9) * 13 + (at >> 17) * 5) % 251;
}

static void add_run(struct object *o, u32 *nr, struct run r)
{
	MUST(*nr < RUNS_MAX);
	if (r.from < r.to && r.seq != NOTHING)
		o->run[(*nr)++] = r;
}

/* What is between two places becomes that of a write. */
static void put(struct object *o, u64 from, u64 to, u32 seq)
{
	struct object was = *o;
	bool done = false;
	u32 i, nr = 0;

	for (i = 0; i < was.nr; i++) {
		struct run r = was.run[i], end = r;

		r.to = min(r.to, from);
		add_run(o, &nr, r);
		if (!done && end.to > from) {
			add_run(o, &nr, (struct run){ from, to, 0, seq });
			done = true;
		}
		if (end.from < to) {
			end.in += to - end.from;
			end.from = to;
		}
		add_run(o, &nr, end);
	}
	if (!done)
		add_run(o, &nr, (struct run){ from, to, 0, seq });
	o->nr = nr;
}

static void resize(struct object *o, u64 size)
{
	if (size < o->size)
		put(o, size, o->size, NOTHING);
	o->size = size;
}

/* What is from @at on moves by @by, into a hole or over what was in front of it. */
static void shift(struct object *o, u64 at, s64 by)
{
	u32 i, nr = 0;

	if (by < 0)
		put(o, at, at - by, NOTHING);
	else
		put(o, at, at, NOTHING);
	for (i = 0; i < o->nr; i++) {
		struct run *r = &o->run[i], rest = *r;

		if (r->from >= at || r->to <= at) {
			nr++;
			continue;
		}
		/* Part it. */
		MUST(o->nr < RUNS_MAX);
		memmove(r + 1, r, (o->nr++ - i) * sizeof(*r));
		r->to = at;
		rest.in += at - rest.from;
		rest.from = at;
		r[1] = rest;
		nr++;
	}
	for (i = 0; i < o->nr; i++)
		if (o->run[i].from >= at) {
			o->run[i].from += by;
			o->run[i].to += by;
		}
	o->size += by;
}

static struct object *unused(void)
{
	u32 i;

	for (i = 0; i < OBJECTS; i++)
		if (!model.object[i].links)
			return &model.object[i];
	return NULL;
}

/* ---- is it so? ------------------------------------------------------------------------------- */

static bool all_are(const u8 *p, u64 len, u8 byte)
{
	return !len || (*p == byte && !memcmp(p, p + 1, len - 1));
}

static bool bytes_are(const u8 *p, u64 len, const struct run *r, u64 in)
{
	u64 n;

	for (; len; p += n, in += n, len -= n) {
		n = min_t(u64, len, 512 - in % 512);
		if (!all_are(p, n, byte_of(r->seq, in)))
			return false;
	}
	return true;
}

/* The run that a place is in, or the zeroes up to the next one. */
static struct run run_at(const struct object *o, u64 at)
{
	struct run r = { at, o->size, 0, NOTHING };
	u32 i;

	for (i = 0; i < o->nr; i++) {
		if (o->run[i].to <= at)
			continue;
		if (o->run[i].from <= at)
			return o->run[i];
		r.to = min(r.to, o->run[i].from);
		break;
	}
	return r;
}

static bool content_is(struct tfs *fs, const struct object *o)
{
	struct scmfs_seg part;
	struct run r;
	u64 at, end;

	for (at = 0; at < o->size; at = end) {
		r = run_at(o, at);
		end = min(r.to, o->size);
		if (r.seq == ANYTHING)
			continue;
		if (scmfs_map_part(fs->fs, o->ino, at, end, &part) || part.file != at || !part.len)
			return false;
		end = at + part.len;
		if (part.at == SCMFS_HOLE) {
			if (r.seq != NOTHING)
				return false;
		} else if (r.seq == NOTHING) {
			if (!all_are(fs->mem + part.at, part.len, 0))
				return false;
		} else if (!bytes_are(fs->mem + part.at, part.len, &r, r.in + (at - r.from))) {
			return false;
		}
	}
	return true;
}

static int count_attr(void *ctx, u32 index, const char *name, u32 len, u32 value_len)
{
	++*(u32 *)ctx;
	return 0;
}

static bool attrs_are(struct tfs *fs, const struct object *o)
{
	static u8 value[SCMFS_MAX_XATTR_VALUE];
	u32 i, nr = 0, want = 0;
	int r;

	for (i = 0; i < ATTRS; i++) {
		r = scmfs_xattr_get(fs->fs, o->ino, SCMFS_XATTR_USER, attr_names[i],
				    strlen(attr_names[i]), value, sizeof(value));
		want += !!o->attr[i];
		if (!o->attr[i] ? r != -ENODATA :
		    r != (int)o->attr[i] || !all_are(value, o->attr[i], o->fill[i]))
			return false;
	}
	return !scmfs_xattr_list(fs->fs, o->ino, count_attr, &nr) && nr == want;
}

/* What is in steps may have got to any point, of one file. */
static bool is_as(struct tfs *fs, const struct model *m, const struct object *but)
{
	struct scmfs_attr a;
	u64 ino;
	u32 i;

	for (i = 0; i < NAMES; i++) {
		const struct object *o = m->name[i];
		int r = tfs_find(fs, names[i], &ino);

		if (!o ? r != -ENOENT : r || ino != o->ino)
			return false;
		if (!o)
			continue;
		if (scmfs_getattr(fs->fs, ino, &a) || a.links != o->links || !attrs_are(fs, o))
			return false;
		if (o != but && (a.size != o->size || !content_is(fs, o)))
			return false;
	}
	return true;
}

/* ---- operations ------------------------------------------------------------------------------ */

static u64 at_of(const struct op *op)
{
	return (u64)(op->at[0] | op->at[1] << 8) * 64;
}

static u64 len_of(const struct op *op)
{
	return 1 + (u64)(op->len[0] | op->len[1] << 8) * 33;	/* a little more than 2 MiB */
}

static bool no_room(int r)
{
	return r == -ENOSPC;
}

static void create(u32 n)
{
	struct object *o = unused();
	u64 ino;
	int r;

	if (!o)
		return;
	r = tfs_make_node(&t, names[n], S_IFREG | 0644, NULL, &ino);
	if (model.name[n]) {
		MUST(r == -EEXIST);
		return;
	}
	MUST(!r || no_room(r), "%d", r);
	if (r)
		return;
	memset(o, 0, sizeof(*o));
	o->ino = ino;
	o->links = 1;
	model.name[n] = o;
}

static void remove_name(u32 n)
{
	int r = tfs_unlink(&t, names[n]);

	MUST(r == (model.name[n] ? 0 : -ENOENT), "%d", r);
	if (!r)
		model.name[n]->links--;
	model.name[n] = NULL;
}

static void rename_file(u32 from, u32 to, unsigned int flags)
{
	struct object *o = model.name[from], *victim = model.name[to];
	int r;

	/* Who calls looks for what is to be renamed. */
	if (!o)
		return;
	r = tfs_rename(&t, names[from], names[to], flags);
	if (flags & SCMFS_RENAME_NOREPLACE && victim) {
		MUST(r == -EEXIST, "%d", r);
		return;
	}
	if (flags & SCMFS_RENAME_EXCHANGE && !victim) {
		MUST(r == -ENOENT, "%d", r);
		return;
	}
	MUST(!r || no_room(r), "%d", r);
	if (r || o == victim)
		return;
	model.name[to] = o;
	model.name[from] = flags & SCMFS_RENAME_EXCHANGE ? victim : NULL;
	if (victim && !(flags & SCMFS_RENAME_EXCHANGE))
		victim->links--;
}

static void exchange_dirs(void)
{
	u32 i;

	MUST(!tfs_rename(&t, "d", "e", SCMFS_RENAME_EXCHANGE));
	for (i = 2; i < 4; i++)
		swap(model.name[i], model.name[i + 2]);
}

static void add_link(u32 from, u32 to)
{
	int r;

	if (!model.name[from])
		return;
	r = tfs_link(&t, names[from], names[to]);
	if (model.name[to]) {
		MUST(r == -EEXIST, "%d", r);
		return;
	}
	MUST(!r || no_room(r), "%d", r);
	if (r)
		return;
	model.name[to] = model.name[from];
	model.name[to]->links++;
}

static void store(const struct scmfs_write *w, u32 seq, u64 in)
{
	unsigned int i;
	u64 at;

	for (i = 0; i < w->nr; i++) {
		const struct scmfs_seg *seg = &w->seg[i];
		u8 *bytes = malloc(seg->len);

		for (at = 0; at < seg->len; at++)
			bytes[at] = byte_of(seq, in + (seg->file - w->offset) + at);
		scm_copy_nt(t.mem + seg->at, bytes, seg->len);
		free(bytes);
	}
}

/* One step of a write, from byte @in of it on. Return: bytes; 0: it failed. */
static u64 write_step(struct object *o, u64 at, u64 len, u32 seq, u64 in, unsigned int flags)
{
	struct scmfs_write w;
	int r = scmfs_write_begin(t.fs, o->ino, at, len, flags, &w);

	MUST(!r || no_room(r), "%d", r);
	if (r)
		return 0;
	store(&w, seq, in);
	r = scmfs_write_end(t.fs, &w, w.len, ++t.now);
	MUST(!r || no_room(r), "%d", r);
	if (r) {
		/* What was stored in place is there. */
		if (!(w.flags & SCMFS_WRITE_ATOMIC))
			put(o, min(at, o->size), min(at + w.len, o->size), ANYTHING);
		return 0;
	}
	o->size = max(o->size, at + w.len);
	put(o, at, at + w.len, seq);
	if (o->nr && in) {
		struct run *run = o->run;

		while (run->from != at)
			run++;
		run->in = in;
	}
	return w.len;
}

static void write_file(struct object *o, u64 at, u64 len, unsigned int flags)
{
	u32 seq = ++sequence;
	u64 n, in = 0;

	for (; in < len && o->nr + 4 < RUNS_MAX; in += n) {
		n = write_step(o, at + in, len - in, seq, in, flags);
		if (!n)
			break;
	}
}

/* Blocks of two files by turns: they come to lie in pieces. */
static void write_in_turns(struct object *o, struct object *other, u64 at, u64 len)
{
	struct object *both[] = { o, other };
	u64 end = min(at + len, at + 40 * BLOCK);
	u32 i;

	for (; at < end; at += BLOCK)
		for (i = 0; i < 2; i++)
			if (both[i]->nr + 4 < RUNS_MAX)
				write_step(both[i], at, BLOCK, ++sequence, 0, 0);
}

/* A store to a mapping, below the size: the fault is told nothing of it. */
static void fault(struct object *o, u64 at)
{
	struct scmfs_seg part;
	u64 end;
	int r;

	at = round_down(at, BLOCK);
	if (at >= o->size || o->nr + 4 >= RUNS_MAX)
		return;
	r = tfs_fault(&t, o->ino, at, BLOCK);
	MUST(!r || no_room(r), "%d", r);
	if (r)
		return;
	end = min(at + BLOCK, o->size);
	MUST(!scmfs_map_part(t.fs, o->ino, at, end, &part) && part.at != SCMFS_HOLE);
	end = at + part.len;
	memset(t.mem + part.at, byte_of(++sequence, 0), min_t(u64, part.len, 512));
	scm_flush(t.mem + part.at, min_t(u64, part.len, 512));
	scm_fence();
	put(o, at, min(end, at + 512), sequence);
}

static void truncate_file(struct object *o, u64 size)
{
	int r = scmfs_truncate(t.fs, o->ino, size, ++t.now);

	MUST(!r || no_room(r), "%d", r);
	if (!r)
		resize(o, size);
}

static void punch(struct object *o, u64 at, u64 len)
{
	int r = scmfs_punch(t.fs, o->ino, at, len, ++t.now);

	MUST(!r || no_room(r), "%d", r);
	put(o, min(at, o->size), min(at + len, o->size), r ? ANYTHING : NOTHING);
}

static void zero(struct object *o, u64 at, u64 len)
{
	int r = scmfs_zero(t.fs, o->ino, at, len, ++t.now);

	MUST(!r || no_room(r), "%d", r);
	put(o, min(at, o->size), min(at + len, o->size), r ? ANYTHING : NOTHING);
}

static void reserve(struct object *o, u64 at, u64 len, unsigned int flags)
{
	int r = scmfs_reserve(t.fs, o->ino, at, len, flags, ++t.now);

	MUST(!r || no_room(r), "%d", r);
	if (!r && !(flags & SCMFS_RESERVE_KEEP_SIZE))
		o->size = max(o->size, at + len);
}

static void collapse(struct object *o, u64 at, u64 len)
{
	int r = scmfs_collapse(t.fs, o->ino, at, len, ++t.now);

	if (at + len >= o->size) {
		MUST(r == -EINVAL, "%d", r);
		return;
	}
	MUST(!r || no_room(r), "%d", r);
	if (!r)
		shift(o, at, -(s64)len);
}

static void insert(struct object *o, u64 at, u64 len)
{
	int r = scmfs_insert(t.fs, o->ino, at, len, ++t.now);

	if (at >= o->size) {
		MUST(r == -EINVAL, "%d", r);
		return;
	}
	MUST(!r || no_room(r), "%d", r);
	if (!r)
		shift(o, at, len);
}

static void set_attr(struct object *o, u32 which, u8 fill, u32 len)
{
	int r = tfs_set_attr(&t, o->ino, attr_names[which], fill, len);

	MUST(!r || no_room(r) || (!fill && r == -ENODATA), "%d", r);
	MUST(fill || r == (o->attr[which] ? 0 : -ENODATA) || no_room(r), "%d", r);
	if (r)
		return;
	o->attr[which] = fill ? len : 0;
	o->fill[which] = fill;
}

static void relocate(struct object *o, u64 at, u64 count, bool whole)
{
	const struct scmfs_move m = {
		.file = at >> SCMFS_BLOCK_SHIFT, .count = count, .whole = whole,
	};
	u64 moved;
	int r = scmfs_relocate(t.fs, o->ino, &m, &moved);

	MUST(!r || no_room(r) || r == -ENODATA || r == -EINVAL, "%d", r);
	MUST(moved <= count && (r || moved == count));
}

/* ---- the collector's ------------------------------------------------------------------------- */

static u64 held;

static int lock(void *ctx, u64 ino, enum scmfs_gc_lock what)
{
	MUST(!held);
	if (steps)
		steps--;
	if (ino == busy)
		return what == SCMFS_GC_MOVE ? -EBUSY : -EAGAIN;
	held = ino;
	return 0;
}

static void moving(void *ctx, u64 ino)
{
	MUST(held == ino && ino != busy);
}

static void unlock(void *ctx, u64 ino)
{
	MUST(held == ino);
	held = 0;
}

static void leave(void *ctx, u64 ino, bool done)
{
	MUST(!held);
}

static bool stop(void *ctx)
{
	return !steps;
}

static const struct scmfs_gc_ops ops = { lock, moving, unlock, leave, stop };

static void collect(struct object *o, const struct op *op)
{
	static u64 order;
	const struct scmfs_gc_params p = {
		.low = op->at[0] % 101, .high = 100, .whole = op->at[1] % 101, .cold = 0,
		.blocks = op->len[0] & 8 ? 100 : U32_MAX, .inodes = U32_MAX, .extents = U32_MAX,
		.huge = !(op->len[0] & 1), .order = op->len[0] & 2 ? 0 : ++order,
	};
	int r;

	busy = op->len[0] & 4 ? o->ino : 0;
	steps = op->len[1] ? op->len[1] : ~0u;
	r = scmfs_gc_pass(gc, &p, t.now);
	MUST(r == 0 || r == 1, "%d", r);
}

static void begin(void)
{
	MUST(!tfs_mount(&t, NULL));
	gc = scmfs_gc_new(t.fs, &ops, NULL);
	MUST(gc);
}

static void end(bool crash)
{
	scmfs_gc_free(gc);
	if (crash)
		tfs_crash(&t);
	else
		tfs_unmount(&t);
}

/* ---- an operation ---------------------------------------------------------------------------- */

static void do_to_names(const struct op *op, u32 n, u32 other)
{
	switch (op->what % NR_WHATS) {
	case CREATE:
		create(n);
		break;
	case UNLINK:
		remove_name(n);
		break;
	case RENAME:
		rename_file(n, other, op->len[0] % 3);
		break;
	case EXCHANGE_DIRS:
		exchange_dirs();
		break;
	case LINK:
		add_link(n, other);
		break;
	}
}

static void do_to_file(const struct op *op, struct object *o, struct object *other)
{
	u64 at = at_of(op), len = len_of(op);

	switch (op->what % NR_WHATS) {
	case WRITE:
		write_file(o, at, len, 0);
		break;
	case WRITE_ATOMIC:
		write_file(o, at, len, SCMFS_WRITE_ATOMIC);
		break;
	case WRITE_IN_TURNS:
		write_in_turns(o, other ? other : o, round_down(at, BLOCK), len);
		break;
	case FAULT:
		fault(o, at);
		break;
	case TRUNCATE:
		truncate_file(o, at + op->len[0]);
		break;
	case RESERVE:
		reserve(o, at, len, op->len[0] & (SCMFS_RESERVE_KEEP_SIZE | SCMFS_RESERVE_ZEROED));
		break;
	case TRIM:
		MUST(!scmfs_trim(t.fs, o->ino));
		break;
	case SET_ATTR:
		set_attr(o, op->at[0] % ATTRS, 1 + op->at[1] % 255, 1 + len % 9000);
		break;
	case REMOVE_ATTR:
		set_attr(o, op->at[0] % ATTRS, 0, 0);
		break;
	case RELOCATE:
		if (op->len[1] & 1)
			relocate(o, round_down(at, SCMFS_UNIT_SIZE), SCMFS_UNIT_BLOCKS, true);
		else
			relocate(o, at, 1 + len % SCMFS_UNIT_BLOCKS, false);
		break;
	case COLLECT:
		collect(o, op);
		break;
	}
}

/* These make a run of another two. */
static void do_to_runs(const struct op *op, struct object *o)
{
	u64 at = at_of(op), len = len_of(op);
	u64 block = round_down(at, BLOCK), blocks = round_up(len % (64 * BLOCK) + 1, BLOCK);

	if (o->nr + 4 >= RUNS_MAX)
		return;
	switch (op->what % NR_WHATS) {
	case PUNCH:
		punch(o, at, len);
		break;
	case ZERO:
		zero(o, at, len);
		break;
	case COLLAPSE:
		collapse(o, block, blocks);
		break;
	case INSERT:
		/* Not beyond what the tests look at. */
		if (o->size < 16 << 20)
			insert(o, block, blocks);
		break;
	}
}

static void do_op(const struct op *op)
{
	u32 n = op->file % NAMES, other = op->file / NAMES % NAMES;
	enum what what = op->what % NR_WHATS;

	if (what == REMOUNT || what == CRASH) {
		end(what == CRASH);
		begin();
		return;
	}
	do_to_names(op, n, other);
	if (!model.name[n])
		return;
	do_to_file(op, model.name[n], model.name[other]);
	do_to_runs(op, model.name[n]);
}

/* ---- a cut ----------------------------------------------------------------------------------- */

static struct tfs after;
static struct model before;
static const struct object *in_steps;	/* of the model as it is after */

static void say(const char *text)
{
	MUST(0, "fsck: %s", text);
}

static void check(u8 *mem, u64 size)
{
	struct scmfs_check c = { .say = say };
	const char *reason = "";

	MUST(!scmfs_check(mem, size, &c, &reason), "%s", reason);
	MUST(!c.found);
}

static void look(u8 *now, u32 point, void *arg)
{
	const struct object *but = in_steps;

	if (now != after.mem)
		memcpy(after.mem, now, t.size);
	if (*(u8 *)arg & CHECKED)
		check(after.mem, t.size);
	MUST(!tfs_mount(&after, NULL));
	MUST(is_as(&after, &model, but) ||
	     is_as(&after, &before, but ? before.object + (but - model.object) : NULL),
	     "event %u: neither before nor after", point);
	tfs_check(&after);
	tfs_crash(&after);
}

/* Names of the model before are pointers to objects of its own. */
static void remember(void)
{
	u32 i;

	before = model;
	for (i = 0; i < NAMES; i++)
		if (model.name[i])
			before.name[i] = before.object + (model.name[i] - model.object);
}

/* Is it done at once? If not, what it is done to. */
static const struct object *steps_of(const struct op *op)
{
	switch (op->what % NR_WHATS) {
	case WRITE:
	case WRITE_ATOMIC:	/* if there are several */
	case FAULT:
	case PUNCH:
	case ZERO:
	case RESERVE:
		return model.name[op->file % NAMES];
	default:
		return NULL;
	}
}

/* Of what is stored since a fence all subsets are drawn from, where that is not for long. */
static bool is_short(const struct scm_log *log)
{
	u64 bytes = 0;
	u32 i;

	for (i = log->nr_events; i-- && log->event[i].type != SCM_FENCE;)
		bytes += log->event[i].type == SCM_FLUSH ? 0 : log->event[i].len;
	return bytes < 32768;
}

static void look_at_point(const struct scm_log *log, u8 *start, uint8_t options)
{
	if (is_short(log)) {
		crash_some(log, start, log->nr_events, 4, look, &options);
		return;
	}
	memcpy(after.mem, start, t.size);
	crash_none(log, after.mem);
	look(after.mem, log->nr_events, &options);
}

/* At some points of it, and at its end: after that nothing but what is there can be found. */
static void cut(const struct op *op, uint8_t options, unsigned int seed)
{
	static u8 *start;
	static struct scm_log log;
	u32 all, i;

	if (op->what % NR_WHATS == WRITE_IN_TURNS || op->what % NR_WHATS == CRASH) {
		do_op(op);
		return;
	}
	if (!start) {
		start = malloc(LARGE);
		crash_log_init(&log, t.mem, LARGE, 1 << 17, 24 << 20);
	}
	memcpy(start, t.mem, t.size);
	after.size = log.len = t.size;
	remember();
	log.nr_events = log.nr_bytes = 0;
	log.full = false;
	MUST(!scm_record_start(&log));
	do_op(op);
	scm_record_stop();
	in_steps = steps_of(op);
	all = log.nr_events;
	if (log.full || !all)
		return;
	for (i = 0; i < 3; i++) {
		log.nr_events = i ? 1 + fuzz_random(&seed, all) : all;
		look_at_point(&log, start, options);
	}
}

/* ---- the target ------------------------------------------------------------------------------ */

static u8 *samples[2];

static void make_sample(bool small)
{
	struct scmfs_format_params p = {
		.uuid = { 1 }, .nr_inodes = INODES, .lanes = 2, .now = 1,
	};
	u64 size = small ? SMALL : LARGE;

	samples[small] = aligned_alloc(2 << 20, LARGE);
	memset(samples[small], 0x5a, size);
	MUST(!scmfs_format(samples[small], size, &p));
	t.size = size;
	memcpy(t.mem, samples[small], size);
	MUST(!tfs_mount(&t, NULL));
	MUST(!tfs_make_node(&t, "d", S_IFDIR | 0755, NULL, NULL));
	MUST(!tfs_make_node(&t, "e", S_IFDIR | 0755, NULL, NULL));
	tfs_unmount(&t);
	memcpy(samples[small], t.mem, size);
}

static void prepare(void)
{
	u32 i;

	t.mem = aligned_alloc(2 << 20, LARGE);
	after.mem = aligned_alloc(2 << 20, LARGE);
	for (i = 0; i < TFS_INODES; i++)
		t.node[i].ino = after.node[i].ino = i;
	make_sample(false);
	make_sample(true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct op *op = (const struct op *)(data + 1);
	size_t nr, i;
	bool small;

	if (size < 1 + sizeof(*op))
		return 0;
	if (!t.mem)
		prepare();
	small = data[0] & IN_SMALL;
	t.size = small ? SMALL : LARGE;
	t.now = 1000;
	memcpy(t.mem, samples[small], t.size);
	memset(&model, 0, sizeof(model));
	sequence = 0;
	shim_seed(size);
	begin();
	nr = min_t(size_t, (size - 1) / sizeof(*op), OPS_MAX);
	for (i = 0; i < nr; i++) {
		if (data[0] & CUT && i == nr - 1)
			cut(&op[i], data[0], data[0] * 7 + op[i].len[1]);
		else
			do_op(&op[i]);
	}
	MUST(is_as(&t, &model, NULL));
	tfs_check(&t);
	end(data[0] & CHECKED);
	check(t.mem, t.size);
	begin();
	MUST(is_as(&t, &model, NULL), "after fsck");
	end(true);
	return 0;
}

/* ---- mutation -------------------------------------------------------------------------------- */

/* Files are soon there; most operations are near the start or on whole blocks. */
static void random_op(struct op *op, unsigned int *rnd)
{
	u32 at = fuzz_random(rnd, 3) ? fuzz_random(rnd, 40) * 64 : fuzz_random(rnd, 65536);
	u32 len = fuzz_random(rnd, 3) ? fuzz_random(rnd, 700) : fuzz_random(rnd, 65536);

	if (!fuzz_random(rnd, 4))
		at += fuzz_random(rnd, 5) - 2;
	op->what = fuzz_random(rnd, NR_WHATS);
	if (!fuzz_random(rnd, 4))
		op->what = fuzz_random(rnd, 2) ? COLLECT : RELOCATE;
	op->file = fuzz_random(rnd, 3) ? fuzz_random(rnd, 2) + NAMES * fuzz_random(rnd, 3) :
		fuzz_random(rnd, NAMES * NAMES);
	op->at[0] = at;
	op->at[1] = at >> 8;
	op->len[0] = len;
	op->len[1] = len >> 8;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	struct op *op = (struct op *)(data + 1);
	unsigned int rnd = seed;
	size_t nr, i;

	if (size < 1 || max < 1 + sizeof(*op) || !fuzz_random(&rnd, 6))
		return LLVMFuzzerMutate(data, size, max);
	if (!fuzz_random(&rnd, 6))
		data[0] = fuzz_random(&rnd, 8);
	nr = (size - 1) / sizeof(*op);
	i = fuzz_random(&rnd, nr + 1);
	if (i < nr && !fuzz_random(&rnd, 5)) {
		memmove(&op[i], &op[i + 1], (nr - i - 1) * sizeof(*op));
		return 1 + (nr - 1) * sizeof(*op);
	}
	if (nr < OPS_MAX && 1 + (nr + 1) * sizeof(*op) <= max && fuzz_random(&rnd, 3)) {
		memmove(&op[i + 1], &op[i], (nr - i) * sizeof(*op));
		nr++;
	} else if (i == nr) {
		i = nr ? nr - 1 : 0;
		nr = i + 1;
	}
	random_op(&op[i], &rnd);
	return 1 + nr * sizeof(*op);
}

/* Two files by turns, an operation of each kind, and what collecting makes of it. */
size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	struct op *op = (struct op *)(data + 1);
	unsigned int rnd = nr, i;

	if (nr >= 2 * NR_WHATS)
		return 0;
	data[0] = nr % 8;
	for (i = 0; i < 9; i++)
		random_op(&op[i], &rnd);
	for (i = 0; i < 2; i++)
		op[i] = (struct op){ CREATE, i };
	op[2] = (struct op){ WRITE_IN_TURNS, 0 + NAMES, { 0 }, { 0, 32 } };
	op[4].what = SET_ATTR;
	op[6].what = RELOCATE;
	op[7].what = COLLECT;
	op[8].what = nr / 2;
	return 1 + 9 * sizeof(*op);
}
