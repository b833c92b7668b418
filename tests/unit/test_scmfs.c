// SPDX-License-Identifier: GPL-2.0-only
/* scmfs' engine against a model, and what is counted. */
#include <sys/mman.h>
#include <sys/stat.h>
#include <evenkeel/label.h>
#include <evenkeel/scm.h>
#include "crash.h"
#include "engine_gc.h"
#include "engine_internal.h"
#include "ktap.h"
#include "scmfs_lib.h"

static struct tfs t;

/*
 * ---- a model: what a file system is, as simply as it can be said ------------------------------
 */

#define NODES	512
#define NAMES	1024
#define MAX_SIZE	400000u

struct m_inode {
	bool used;
	u64 ino;
	u32 mode, links, uid, gid, rdev;
	u64 size;
	s64 mtime, ctime, btime;
	u8 *data;
	char target[600];
};

struct m_name {
	bool used;
	u32 dir, inode;
	char name[256];
};

static struct m_inode inode[NODES];
static struct m_name names[NAMES];

static void m_reset(void)
{
	u32 i;

	for (i = 0; i < NODES; i++)
		free(inode[i].data);
	memset(inode, 0, sizeof(inode));
	memset(names, 0, sizeof(names));
	inode[0] = (struct m_inode){ .used = true, .ino = 1, .mode = S_IFDIR | 0755, .links = 2,
				     .mtime = 1, .ctime = 1, .btime = 1 };
}

static struct m_name *m_child(u32 dir, const char *name, size_t len)
{
	u32 i;

	for (i = 0; i < NAMES; i++)
		if (names[i].used && names[i].dir == dir && strlen(names[i].name) == len &&
		    !memcmp(names[i].name, name, len))
			return &names[i];
	return NULL;
}

/* The directory of a path and the name's entry, if there is one. */
static int m_walk(const char *path, u32 *dir, const char **last, struct m_name **n)
{
	const char *slash;

	*dir = 0;
	while ((slash = strchr(path, '/'))) {
		struct m_name *up = m_child(*dir, path, slash - path);

		if (!up)
			return -ENOENT;
		if (!S_ISDIR(inode[up->inode].mode))
			return -ENOTDIR;
		*dir = up->inode;
		path = slash + 1;
	}
	*last = path;
	*n = m_child(*dir, path, strlen(path));
	return 0;
}

static void m_touch(u32 dir)
{
	inode[dir].mtime = inode[dir].ctime = t.now;
}

static void m_add(u32 dir, const char *name, u32 to)
{
	u32 i;

	for (i = 0; names[i].used; i++)
		;
	names[i] = (struct m_name){ .used = true, .dir = dir, .inode = to };
	strcpy(names[i].name, name);
	m_touch(dir);
}

static void m_put(u32 i)
{
	if (!inode[i].links) {
		free(inode[i].data);
		inode[i] = (struct m_inode){ 0 };
	}
}

static u32 m_count(u32 dir)
{
	u32 i, n = 0;

	for (i = 0; i < NAMES; i++)
		n += names[i].used && names[i].dir == dir;
	return n;
}

static int m_make(const char *path, u32 mode, const char *target, u64 ino)
{
	struct m_name *n;
	const char *last;
	u32 dir, i;
	int r = m_walk(path, &dir, &last, &n);

	if (r || n)
		return r ? r : -EEXIST;
	for (i = 0; inode[i].used; i++)
		;
	inode[i] = (struct m_inode){ .used = true, .ino = ino, .mode = mode, .links = 1, .uid = 3,
		.gid = 4, .mtime = t.now, .ctime = t.now, .btime = t.now };
	if (S_ISCHR(mode))
		inode[i].rdev = 0x501;
	if (S_ISDIR(mode)) {
		inode[i].links = 2;
		inode[dir].links++;
	}
	if (S_ISREG(mode))
		inode[i].data = calloc(1, MAX_SIZE);
	if (target) {
		strcpy(inode[i].target, target);
		inode[i].size = strlen(target);
	}
	m_add(dir, last, i);
	return 0;
}

static int m_remove(const char *path, bool is_dir)
{
	struct m_name *n;
	const char *last;
	u32 dir, i;
	int r = m_walk(path, &dir, &last, &n);

	if (r || !n)
		return r ? r : -ENOENT;
	i = n->inode;
	if (!S_ISDIR(inode[i].mode) != !is_dir)
		return is_dir ? -ENOTDIR : -EISDIR;
	if (is_dir && m_count(i))
		return -ENOTEMPTY;
	n->used = false;
	m_touch(dir);
	inode[i].ctime = t.now;
	inode[i].links -= is_dir ? 2 : 1;
	if (is_dir)
		inode[dir].links--;
	m_put(i);
	return 0;
}

static int m_link(const char *old, const char *path)
{
	struct m_name *n, *new;
	const char *last;
	u32 dir;
	int r = m_walk(old, &dir, &last, &n);

	if (r || !n)
		return r ? r : -ENOENT;
	r = m_walk(path, &dir, &last, &new);
	if (r)
		return r;
	if (S_ISDIR(inode[n->inode].mode))
		return -EPERM;
	if (new)
		return -EEXIST;
	inode[n->inode].links++;
	inode[n->inode].ctime = t.now;
	m_add(dir, last, n->inode);
	return 0;
}

static bool m_below(u32 dir, u32 top)
{
	u32 i;

	if (dir == top)
		return true;
	for (i = 0; i < NAMES; i++)
		if (names[i].used && names[i].inode == dir)
			return m_below(names[i].dir, top);
	return false;
}

static void m_move_dir(u32 i, u32 from, u32 to)
{
	if (S_ISDIR(inode[i].mode)) {
		inode[from].links--;
		inode[to].links++;
	}
	inode[i].ctime = t.now;
}

static int m_rename(const char *from, const char *to, unsigned int flags)
{
	u32 fd, td, a, b;
	struct m_name *fn, *tn;
	const char *fl, *tl;
	int r = m_walk(from, &fd, &fl, &fn);

	if (r || !fn)
		return r ? r : -ENOENT;
	r = m_walk(to, &td, &tl, &tn);
	if (r)
		return r;
	if (!tn && flags & SCMFS_RENAME_EXCHANGE)
		return -ENOENT;
	if (tn && flags & SCMFS_RENAME_NOREPLACE)
		return -EEXIST;
	a = fn->inode;
	if (tn && tn->inode == a)
		return 0;
	if (tn) {
		b = tn->inode;
		if (flags & SCMFS_RENAME_EXCHANGE) {
			m_move_dir(a, fd, td);
			m_move_dir(b, td, fd);
			fn->inode = b;
			tn->inode = a;
			m_touch(fd);
			m_touch(td);
			return 0;
		}
		if (S_ISDIR(inode[a].mode) != S_ISDIR(inode[b].mode))
			return S_ISDIR(inode[a].mode) ? -ENOTDIR : -EISDIR;
		if (S_ISDIR(inode[b].mode) && m_count(b))
			return -ENOTEMPTY;
		inode[b].links -= S_ISDIR(inode[b].mode) ? 2 : 1;
		if (S_ISDIR(inode[b].mode))
			inode[td].links--;
		inode[b].ctime = t.now;
		m_put(b);
		tn->used = false;
	}
	fn->used = false;
	m_move_dir(a, fd, td);
	m_add(td, tl, a);
	m_touch(fd);
	return 0;
}

static u64 m_content(const struct m_inode *i)
{
	const void *bytes = S_ISLNK(i->mode) ? (const u8 *)i->target : i->data;

	return S_ISREG(i->mode) || S_ISLNK(i->mode) ? tfs_sum(TFS_SUM, bytes, i->size) : TFS_SUM;
}

static char *m_line[NAMES + 1];
static u32 m_lines;

static void m_show_dir(u32 dir, const char *path)
{
	char full[4096];
	u32 i;

	for (i = 0; i < NAMES; i++) {
		const struct m_inode *m = &inode[names[i].inode];

		if (!names[i].used || names[i].dir != dir)
			continue;
		snprintf(full, sizeof(full), "%s/%s", path, names[i].name);
		if (asprintf(&m_line[m_lines++],
			     "%s %llu mode %o links %u own %u %u dev %x size %llu times %lld %lld %lld content %llx\n",
			     full, m->ino, m->mode, m->links, m->uid, m->gid, m->rdev, m->size,
			     m->mtime, m->ctime, m->btime, m_content(m)) < 0)
			abort();
		if (S_ISDIR(m->mode))
			m_show_dir(names[i].inode, full);
	}
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char **)a, *(char **)b);
}

static char *m_show(void)
{
	size_t len = 0;
	char *text;
	u32 i;

	m_lines = 0;
	if (asprintf(&m_line[m_lines++], "/ mode %o links %u times %lld %lld\n", inode[0].mode,
		     inode[0].links, inode[0].mtime, inode[0].ctime) < 0)
		abort();
	m_show_dir(0, "");
	qsort(m_line, m_lines, sizeof(char *), compare);
	for (i = 0; i < m_lines; i++)
		len += strlen(m_line[i]);
	text = malloc(len + 1);
	for (i = 0, len = 0; i < m_lines; i++) {
		len += sprintf(text + len, "%s", m_line[i]);
		free(m_line[i]);
	}
	return text;
}

/* ---- random operations ---------------------------------------------------------------------- */

static u32 rnd(u32 n)
{
	return get_random_u32() % n;
}

static char *random_path(char *path)
{
	static const u32 lengths[] = { 1, 1, 1, 48, 49, 112, 113, 176, 240, 255 };
	u32 depth = rnd(3), len, at = 0;

	while (depth--)
		at += sprintf(path + at, "%c/", 'a' + rnd(3));
	len = lengths[rnd(ARRAY_SIZE(lengths))];
	memset(path + at, 'a' + rnd(4), len);
	path[at + len] = 0;
	return path;
}

/* A regular file's inode, or -1. */
static int random_file(void)
{
	u32 i, tries;

	for (tries = 0; tries < 50; tries++) {
		i = rnd(NODES);
		if (inode[i].used && S_ISREG(inode[i].mode))
			return i;
	}
	return -1;
}

static int change_place(u64 ino, u32 offset, u32 len)
{
	const struct scmfs_move m = { .file = offset >> SCMFS_BLOCK_SHIFT,
				      .count = 1 + (rnd(2) ? 0 : len >> SCMFS_BLOCK_SHIFT) };
	u64 moved;

	return scmfs_relocate(t.fs, ino, &m, &moved);
}

#define FAULT	4
#define WRITE	5

static void change_file(int i, u32 kind)
{
	u32 offset = rnd(5) ? rnd(40000) : rnd(MAX_SIZE / 2), len = 1 + (rnd(5) ? rnd(6000) : rnd(150000));
	struct m_inode *m = &inode[i];
	int r, fill = 1 + rnd(255);

	switch (kind) {
	case 10:	/* to other blocks: nobody sees that */
		r = change_place(m->ino, offset, len);
		CHECK(!r || r == -ENODATA || r == -ENOSPC, "error %d", r);
		return;
	case 8:		/* a range that goes */
		offset = round_down(offset, SCMFS_BLOCK_SIZE);
		len = round_up(len, SCMFS_BLOCK_SIZE);
		r = scmfs_collapse(t.fs, m->ino, offset, len, ++t.now);
		if (offset + len >= m->size) {
			CHECK(r == -EINVAL);
			return;
		}
		if (r == -ENOSPC)
			return;
		memmove(m->data + offset, m->data + offset + len, m->size - offset - len);
		memset(m->data + m->size - len, 0, len);
		m->size -= len;
		break;
	case 9:		/* one that comes */
		offset = round_down(offset, SCMFS_BLOCK_SIZE);
		len = round_up(len, SCMFS_BLOCK_SIZE);
		if (m->size + len > MAX_SIZE)
			return;
		r = scmfs_insert(t.fs, m->ino, offset, len, ++t.now);
		if (offset >= m->size) {
			CHECK(r == -EINVAL);
			return;
		}
		if (r == -ENOSPC)
			return;
		memmove(m->data + offset + len, m->data + offset, m->size - offset);
		memset(m->data + offset, 0, len);
		m->size += len;
		break;
	case 0:
		len = rnd(3) ? offset : rnd(3) * 4096;
		r = scmfs_truncate(t.fs, m->ino, len, ++t.now);
		if (len < m->size)
			memset(m->data + len, 0, m->size - len);
		m->size = len;
		break;
	case 1:
		r = scmfs_punch(t.fs, m->ino, offset, len, ++t.now);
		if (offset >= m->size)
			return;
		memset(m->data + offset, 0, min_t(u64, len, m->size - offset));
		break;
	case 2:
		fill = rnd(2);
		r = scmfs_reserve(t.fs, m->ino, offset, len, fill ? SCMFS_RESERVE_KEEP_SIZE : 0, ++t.now);
		if (r == -ENOSPC)
			return;
		if (!fill && offset + len > m->size)
			m->size = offset + len;
		break;
	case 3:
		CHECK(!scmfs_trim(t.fs, m->ino));
		return;
	case 7:
		r = scmfs_zero(t.fs, m->ino, offset, len, ++t.now);
		if (offset < m->size)
			memset(m->data + offset, 0, min_t(u64, len, m->size - offset));
		break;
	case FAULT:	/* a page that is about to be stored to: still what it was */
		offset &= ~(SCMFS_BLOCK_SIZE - 1);
		if (offset >= m->size)
			return;
		r = tfs_fault(&t, m->ino, offset, SCMFS_BLOCK_SIZE);
		if (r == -ENOSPC)
			return;
		break;
	default:
		if (rnd(3) == 0)
			offset = min_t(u64, m->size, MAX_SIZE - len);
		r = tfs_write(&t, m->ino, offset, len, fill, rnd(3) ? 0 : SCMFS_WRITE_ATOMIC);
		if (r == -ENOSPC) {	/* some parts of it may have been written */
			struct scmfs_attr a;

			CHECK(!scmfs_getattr(t.fs, m->ino, &a) && a.size <= MAX_SIZE);
			CHECK(!tfs_read(&t, m->ino, 0, a.size, m->data));
			m->size = a.size;
			m->mtime = a.mtime;
			m->ctime = a.ctime;
			return;
		}
		memset(m->data + offset, fill, len);
		m->size = max_t(u64, m->size, offset + len);
		break;
	}
	CHECK(!r, "error %d", r);
	m->mtime = m->ctime = t.now;
}

/* About half of the writes are in the tick of the last change of the same file. */
static void change_content(void)
{
	int i = random_file();

	if (i < 0)
		return;
	change_file(i, rnd(11));
	if (rnd(5))
		return;
	t.still = true;
	change_file(i, rnd(4) ? WRITE : FAULT);
	t.still = false;
}

static void change_a_name(void)
{
	char path[1024], other[1024], target[600];
	static const unsigned int flags[] = { 0, 0, SCMFS_RENAME_NOREPLACE, SCMFS_RENAME_EXCHANGE };
	static const u32 modes[] = { S_IFREG | 0644, S_IFREG | 0644, S_IFDIR | 0755, S_IFDIR | 0755,
				     S_IFLNK | 0777, S_IFCHR | 0600 };
	u32 kind = rnd(10), mode = modes[rnd(ARRAY_SIZE(modes))], flag = flags[rnd(ARRAY_SIZE(flags))];
	struct m_name *a, *b;
	const char *last;
	int r, want;
	u64 ino = 0;
	u32 da, db;

	random_path(path);
	random_path(other);
	memset(target, 'x', sizeof(target));
	target[1 + rnd(rnd(2) ? 500 : 130)] = 0;
	switch (kind) {
	case 0 ... 3:
		r = tfs_make_node(&t, path, mode, S_ISLNK(mode) ? target : NULL, &ino);
		if (r == -ENOSPC || r == -E2BIG)
			return;
		want = m_make(path, mode, S_ISLNK(mode) ? target : NULL, ino);
		break;
	case 4:
		r = tfs_unlink(&t, path);
		want = m_remove(path, false);
		break;
	case 5:
		r = tfs_rmdir(&t, path);
		want = m_remove(path, true);
		break;
	case 6:
		r = tfs_link(&t, other, path);
		if (r == -ENOSPC || r == -E2BIG)
			return;
		want = m_link(other, path);
		break;
	case 7:
		mode = rnd(0777);
		r = tfs_chmod(&t, path, mode);
		want = m_walk(path, &da, &last, &a);
		if (!want && !a)
			want = -ENOENT;
		if (!want) {
			struct m_inode *m = &inode[a->inode];

			m->mode = (m->mode & S_IFMT) | mode;
			m->uid = mode;
			m->gid = mode + 1;
			m->ctime = t.now;
		}
		break;
	default:
		/* VFS sees to it that no directory gets below itself. */
		if (!m_walk(path, &da, &last, &a) && !m_walk(other, &db, &last, &b) &&
		    ((a && m_below(db, a->inode)) || (b && m_below(da, b->inode))))
			return;
		r = tfs_rename(&t, path, other, flag);
		if (r == -ENOSPC || r == -E2BIG)
			return;
		want = m_rename(path, other, flag);
	}
	/* Which of several reasons one with two paths fails for is not laid down. */
	CHECK(r == want || ((kind > 7 || kind == 6) && r < 0 && want < 0), "operation %u on %.20s: %d instead of %d", kind, path, r, want);
}

/* Some in the tick of what came before. */
static void change_names(void)
{
	t.still = !rnd(3);
	change_a_name();
	t.still = false;
}

static void same(void)
{
	char *is, *should;
	size_t i;

	if (tfs_check(&t))
		return;
	is = tfs_show(&t);
	should = m_show();
	if (is && strcmp(is, should)) {
		for (i = 0; is[i] == should[i]; i++)
			;
		while (i && is[i - 1] != '\n')
			i--;
		CHECK(false, "\n# is     %.200s\n# should %.200s", is + i, should + i);
	}
	free(is);
	free(should);
}

static void model_run(u64 size, u32 ops)
{
	struct scmfs_recovery rec;
	u32 i;

	m_reset();
	tfs_make(&t, size, 400, 1);
	for (i = 0; i < ops && !ktap_failing(); i++) {
		if (rnd(3))
			change_names();
		else
			change_content();
		if (i % 97 == 0)
			same();
		if (rnd(400) == 0) {
			same();
			tfs_unmount(&t);
			CHECK(!tfs_mount(&t, &rec) && rec.clean);
			same();
		} else if (rnd(400) == 0) {
			tfs_crash(&t);
			CHECK(!tfs_mount(&t, &rec) && !rec.clean && !rec.undo.undone);
			same();
		}
	}
	same();
	tfs_free(&t);
	m_reset();
}

static void model(void)
{
	model_run(32 << 20, 6000);
}

static void model_full(void)
{
	model_run(3 << 20, 6000);
}

/* ---- what is counted ------------------------------------------------------------------------ */

static struct scm_log scm_log;

/* Return: fences; @events is set to all that was done to the region. */
static u32 events_of(int (*op)(void), u32 *events)
{
	u32 n;

	crash_log_init(&scm_log, t.mem, t.size, 65536, 4 << 20);
	CHECK(!scm_record_start(&scm_log));
	CHECK(!op());
	scm_record_stop();
	n = crash_fences(&scm_log);
	*events = scm_log.nr_events;
	crash_log_free(&scm_log);
	return n;
}

/* Bytes that are stored past the cache to where files have theirs. */
static u64 stored_by(int (*op)(void))
{
	u64 data = le64_to_cpu(scmfs_super(t.fs)->first_data_block) << SCMFS_BLOCK_SHIFT, n = 0;
	const struct scm_event *event;
	u32 i;

	crash_log_init(&scm_log, t.mem, t.size, 65536, 16 << 20);
	CHECK(!scm_record_start(&scm_log));
	CHECK(!op());
	scm_record_stop();
	CHECK(!scm_log.full);
	for (i = 0; i < scm_log.nr_events; i++) {
		event = scm_log.event + i;
		if (event->type == SCM_STORE_NT && event->offset >= data)
			n += event->len;
	}
	crash_log_free(&scm_log);
	return n;
}

static u32 fences_of(int (*op)(void))
{
	u32 events;

	return events_of(op, &events);
}

static char path_a[300], path_b[300];

static int do_create(void)
{
	return tfs_make_node(&t, path_a, S_IFREG | 0644, NULL, NULL);
}

static int do_mkdir(void)
{
	return tfs_make_node(&t, path_a, S_IFDIR | 0755, NULL, NULL);
}

static int do_rename(void)
{
	return tfs_rename(&t, path_a, path_b, 0);
}

static int do_unlink(void)
{
	return tfs_unlink(&t, path_a);
}

static int do_append(void)
{
	struct scmfs_attr a;
	u64 ino;

	return tfs_find(&t, path_a, &ino) || scmfs_getattr(t.fs, ino, &a) ||
		tfs_write(&t, ino, a.size, 4096, 7, 0);
}

static void fences(void)
{
	u32 i, n, max_create = 0, max_rename = 0, max_unlink = 0, max_append = 0;

	tfs_make(&t, 16 << 20, 1000, 1);
	strcpy(path_a, "d");
	max_create = fences_of(do_mkdir);
	for (i = 0; i < 300; i++) {
		sprintf(path_a, "d/%0*u", i % 200 + 1, i);
		n = fences_of(do_create);
		max_create = max(max_create, n);
		n = fences_of(do_append);
		max_append = max(max_append, n);
		sprintf(path_b, "%s%u", i % 2 ? "" : "d/x", i / 3);
		n = fences_of(do_rename);
		max_rename = max(max_rename, n);
		if (i % 4)
			continue;
		strcpy(path_a, path_b);
		n = fences_of(do_unlink);
		max_unlink = max(max_unlink, n);
	}
	ktap_note("fences: create %u, rename %u, unlink %u, append %u", max_create, max_rename,
		  max_unlink, max_append);
	CHECK(max_create <= 2 && max_rename <= 3 && max_unlink <= 3 && max_append <= 2);
	tfs_free(&t);
}

static s64 overwrite_at;
static int overwrite_fill;

/* Across a border of blocks: none of it is new. */
static int do_overwrite(void)
{
	u64 ino;

	t.now = overwrite_at - 1;
	return tfs_find(&t, path_a, &ino) || tfs_write(&t, ino, 4000, 200, overwrite_fill, 0);
}

static struct tfs cut;

/* Of a write that has returned, no cut takes anything. */
static void look_overwrite(u8 *now, u32 point, void *arg)
{
	static u8 is[8192];
	struct scmfs_attr a;
	u64 ino;
	u32 i;

	memcpy(cut.mem, now, cut.size);
	if (!CHECK(!tfs_mount(&cut, NULL) && !tfs_find(&cut, path_a, &ino)))
		return;
	CHECK(!scmfs_getattr(cut.fs, ino, &a) && a.size == sizeof(is));
	CHECK(a.mtime == overwrite_at && a.ctime == overwrite_at);
	CHECK(!tfs_read(&cut, ino, 0, sizeof(is), is));
	for (i = 0; i < sizeof(is); i++)
		if (!CHECK(is[i] == (i < 4000 || i >= 4200 ? 7 : overwrite_fill), "%u: %u", i, is[i]))
			break;
	tfs_crash(&cut);
}

/* Other bytes than before; looked at is what is durable then. Return: fences. */
static u32 overwrite(void)
{
	u8 *before = malloc(t.size);
	u64 looks;
	u32 n;

	overwrite_fill++;
	memcpy(before, t.mem, t.size);
	crash_log_init(&scm_log, t.mem, t.size, 1024, 1 << 20);
	CHECK(!scm_record_start(&scm_log));
	CHECK(!do_overwrite());
	scm_record_stop();
	CHECK(!scm_log.full);
	looks = crash_cuts(&scm_log, before, scm_log.nr_events, 20, look_overwrite, NULL);
	CHECK(looks);
	n = crash_fences(&scm_log);
	crash_log_free(&scm_log);
	free(before);
	return n;
}

/* What the clock shows as one moment changes no word after the first time, but has to last. */
static void overwrites(void)
{
	struct scmfs_attr a;
	u64 ino;
	u32 i;

	tfs_make(&t, 1 << 20, 100, 1);
	tfs_make(&cut, 1 << 20, 100, 1);
	tfs_crash(&cut);
	strcpy(path_a, "a");
	overwrite_fill = 20;
	CHECK(!do_create() && !do_append() && !do_append());
	overwrite_at = t.now + 5;
	CHECK(overwrite() == 2);
	CHECK(overwrite() == 1 && overwrite() == 1);
	/* a time of its own, or one of both that is another */
	overwrite_at++;
	CHECK(overwrite() == 2 && !tfs_find(&t, path_a, &ino));
	for (i = 0; i < 2; i++) {
		a.mtime = a.ctime = ++overwrite_at;
		CHECK(!scmfs_setattr(t.fs, ino, &a, i ? SCMFS_SET_CTIME : SCMFS_SET_MTIME));
		CHECK(overwrite() == 2);
	}
	tfs_free(&t);
	free(cut.mem);
}

static int do_short_append(void)
{
	struct scmfs_attr a;
	u64 ino;
	int r;

	t.still = true;
	r = tfs_find(&t, path_a, &ino) || scmfs_getattr(t.fs, ino, &a) ||
		tfs_write(&t, ino, a.size, 100, overwrite_fill++, 0);
	t.still = false;
	return r;
}

/* In the same tick, and the block that is there: the size is one word, which needs no record. */
static void short_appends(void)
{
	u32 i, events;

	tfs_make(&t, 1 << 20, 100, 1);
	strcpy(path_a, "a");
	CHECK(!do_create() && !do_append() && !do_short_append() && !do_short_append());
	for (i = 0; i < 4; i++) {
		CHECK(events_of(do_short_append, &events) == 2);
		CHECK(events == 5, "%u events", events);
	}
	tfs_free(&t);
}

static void memory(void)
{
	struct scmfs_statfs st;
	long before;
	u32 i;

	before = shim_allocated;
	tfs_make(&t, 64 << 20, 4000, 1);
	CHECK(shim_allocated - before == 9, "%ld allocations", shim_allocated - before);
	for (i = 0; i < 2000; i++) {
		sprintf(path_a, "f%u", i);
		CHECK(!do_create());
	}
	scmfs_node_clear(&t.node[1]);
	CHECK(shim_allocated - before == 9, "%ld allocations", shim_allocated - before);
	scmfs_statfs(t.fs, &st);
	ktap_note("%llu bytes of RAM for %llu blocks and %llu inodes, of that %llu for transactions",
		  scmfs_memory(t.fs), st.blocks, st.inodes, scmfs_log_memory(t.fs));
	CHECK((scmfs_memory(t.fs) - scmfs_log_memory(t.fs)) / 2000 < 64);
	tfs_free(&t);
	CHECK(shim_allocated == before);
}

/* ---- directories ---------------------------------------------------------------------------- */

struct seen {
	u32 times[3000];
	u32 stop;
};

static bool see(void *ctx, const char *name, u32 len, u64 ino, u32 type, u64 cookie)
{
	struct seen *s = ctx;
	char text[300];

	if (s->stop && !--s->stop)
		return false;
	memcpy(text, name, len);
	text[len] = 0;
	s->times[atoi(text + strspn(text, "nx"))]++;
	return true;
}

static void cookies(void)
{
	static struct seen s;
	u64 cookie = 0;
	u32 i, round;

	tfs_make(&t, 16 << 20, 3000, 1);
	memset(&s, 0, sizeof(s));
	for (i = 0; i < 2000; i++) {
		sprintf(path_a, "%.*s%u", i % 90, "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn", i);
		CHECK(!do_create());
	}
	for (round = 0; round < 200; round++) {
		s.stop = 12;
		CHECK(!scmfs_readdir(t.fs, &t.node[1], &cookie, see, &s));
		/* beside: others come and go, and the index with its table is made again */
		sprintf(path_a, "x%u", 2000 + round);
		CHECK(!do_create());
		if (round % 3 == 0)
			CHECK(!do_unlink());
		if (round % 50 == 0)
			scmfs_node_clear(&t.node[1]);
	}
	CHECK(!scmfs_readdir(t.fs, &t.node[1], &cookie, see, &s));
	for (i = 0; i < 2000 && !ktap_failing(); i++)
		CHECK(s.times[i] == 1, "name %u seen %u times", i, s.times[i]);
	tfs_free(&t);
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void million(void)
{
	static char name[32];
	struct scmfs_new new = { .mode = S_IFREG | 0644 };
	double tenth[10], last, from;
	struct scmfs_recovery rec;
	u64 ino, found;
	u32 i, nr = 200000;

	tfs_make(&t, 256 << 20, nr + 100, 1);
	from = cpu_ns();
	for (i = 0; i < nr; i++) {
		sprintf(name, "file-%u", i);
		if (!CHECK(!scmfs_create(t.fs, &t.node[1], name, strlen(name), &new, &ino)))
			break;
		if ((i + 1) % (nr / 10))
			continue;
		tenth[i / (nr / 10)] = cpu_ns() - from;
		from = cpu_ns();
	}
	/* a machine that stood still is in one of them */
	last = min(tenth[7], min(tenth[8], tenth[9]));
	ktap_note("create: %.0f ns over the first tenth, %.0f ns at the end of %u", tenth[0] * 10 / nr,
		  last * 10 / nr, nr);
	CHECK(last < 3 * tenth[0], "creating gets slower");
	scmfs_abandon(t.fs);
	scmfs_node_clear(&t.node[1]);
	CHECK(!tfs_mount(&t, &rec) && rec.inodes == nr + 1);
	for (i = 0; i < nr && !ktap_failing(); i += 7) {
		sprintf(name, "file-%u", i);
		CHECK(!scmfs_lookup(t.fs, &t.node[1], name, strlen(name), &found));
	}
	tfs_free(&t);
}

/* Time that it takes to make so many names, each another one for the same file, and to make the index anew. */
static double names_take(u32 nr, void (*name_of)(u32 i, char *name))
{
	char name[17] = "";
	double from, took;
	u64 ino, found;
	u32 i;

	tfs_make(&t, 64 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	from = cpu_ns();
	for (i = 0; i < nr && !ktap_failing(); i++) {
		name_of(i, name);
		CHECK(!scmfs_link(t.fs, &t.node[1], name, 16, ino, 1));
	}
	tfs_unmount(&t);
	CHECK(!tfs_mount(&t, NULL) && !scmfs_lookup(t.fs, &t.node[1], name, 16, &found) && found == ino);
	took = cpu_ns() - from;
	tfs_free(&t);
	return took;
}

static void plain_name(u32 i, char *name)
{
	sprintf(name, "name-%011u", i);
}

/* scmfs_name_hash() of 16 bytes: the second word makes up for what the first one has done. */
static void same_hash(u32 i, char *name)
{
	static u64 next;
	u64 first, h;
	u32 c;

	next = i ? next : 0;
	do {
		first = 0x4141414141414141ULL + ++next * 0x9e3779b97f4a7c15ULL;
		h = (16 ^ first) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 32;
		h ^= 0x123456789abcdef0ULL;
		memcpy(name, &first, 8);
		memcpy(name + 8, &h, 8);
		for (c = 0; c < 16 && name[c] && name[c] != '/'; c++)
			;
	} while (c < 16);
}

/* Whoever makes names chooses them, and is not to choose how long looking for one takes. */
static void chosen_names(void)
{
	const u32 nr = 20000;
	char a[17], b[17];
	double plain = 1e18, chosen = 1e18;
	u32 round;

	same_hash(0, a);
	same_hash(1, b);
	CHECK(memcmp(a, b, 16) && scmfs_name_hash(a, 16) == scmfs_name_hash(b, 16));
	/* the least of several, as a machine may stand still during one */
	for (round = 0; !round || (round < 5 && chosen >= 4 * plain); round++) {
		plain = min(plain, names_take(nr, plain_name));
		chosen = min(chosen, names_take(nr, same_hash));
	}
	ktap_note("%u names: %.0f ms, of one hash: %.0f ms", nr, plain / 1e6, chosen / 1e6);
	CHECK(chosen < 4 * plain);
}

static double lookups(void)
{
	double from, least = 1e18;
	u64 found;
	u32 i, round;

	for (round = 0; round < 5; round++) {
		from = cpu_ns();
		for (i = 0; i < 100; i++)
			CHECK(scmfs_lookup(t.fs, &t.node[1], "lock", 4, &found) == -ENOENT);
		least = min(least, cpu_ns() - from);
	}
	return least / 100;
}

/* A name that comes and goes is found as fast as before, in a directory with a large table. */
static void comes_and_goes(void)
{
	struct scmfs_node *root = &t.node[1];
	struct scmfs_new new = { .mode = S_IFREG | 0644 };
	double before, after;
	char name[32];
	u64 ino;
	u32 i;

	tfs_make(&t, 16 << 20, 12000, 1);
	for (i = 0; i < 11000; i++) {
		sprintf(name, "f%u", i);
		CHECK(!scmfs_create(t.fs, root, name, strlen(name), &new, &ino));
	}
	before = lookups();
	for (i = 0; i < 8000; i++) {
		CHECK(!scmfs_create(t.fs, root, "lock", 4, &new, &ino));
		CHECK(!scmfs_unlink(t.fs, root, "lock", 4, 1, &ino));
		scmfs_release(t.fs, ino);
	}
	after = lookups();
	ktap_note("a lookup: %.0f ns before, %.0f ns after", before, after);
	CHECK(after < 20 * before, "looking up gets slower");
	tfs_free(&t);
}

/*
 * As many blocks in one run as the kernel's bitmap_set() takes for a negative number. Their bits
 * alone are 256 MiB: the maps are all there is of it.
 */
static void long_runs(void)
{
	const u64 nr = 1ULL << 31;
	struct scmfs fs = { .nr_blocks = nr + 130, .first_data = 3 };
	u64 block = 0;
	int i;

	fs.nr_units = DIV_ROUND_UP(fs.nr_blocks, SCMFS_UNIT_BLOCKS);
	fs.block_map = calloc(fs.nr_blocks / 64 + 1, 8);
	fs.unit_free = calloc(fs.nr_units, sizeof(*fs.unit_free));
	fs.wear = calloc(fs.nr_units, sizeof(*fs.wear));
	for (i = 0; i < UNIT_LOCKS; i++)
		spin_lock_init(&fs.unit_lock[i].lock);
	CHECK(!scmfs_mark_used(&fs, 70, nr));
	CHECK(find_next_bit(fs.block_map, fs.nr_blocks, 0) == 70);
	CHECK(find_next_zero_bit(fs.block_map, fs.nr_blocks, 70) == nr + 70);
	CHECK(scmfs_mark_used(&fs, nr, 1) == -EUCLEAN);
	scmfs_free(&fs, 70, nr);
	CHECK(find_next_bit(fs.block_map, fs.nr_blocks, 0) == fs.nr_blocks &&
	      fs.free_blocks.count == (s64)nr);
	CHECK(fs.unit_free[0] == 442 && fs.unit_free[1] == 512 && fs.unit_free[nr / 512] == 70);
	CHECK(scmfs_alloc(&fs, nr, 70, &block) == nr && block == 70 && !fs.free_blocks.count);
	CHECK(find_next_zero_bit(fs.block_map, fs.nr_blocks, 70) == nr + 70);
	free(fs.block_map);
	free(fs.unit_free);
	free(fs.wear);
}

/*
 * CPUs take blocks and numbers from places of their own, as long as there are some; then, whoever
 * asks, the rest of each other's, down to the last.
 */
static void each_cpu(void)
{
	u64 block[SHIM_CPUS], ino[SHIM_CPUS], ino_of_1[64], got, nr = 0, at;
	struct scmfs_statfs st;
	int cpu, other;
	u32 i;

	tfs_make(&t, 128 << 20, 400, 1);
	for (i = 0; i < t.fs->nr_units; i++)	/* one that all would take */
		t.fs->wear[i] = i == 7 ? 0 : 1000;
	for (shim_cpu = 0; shim_cpu < SHIM_CPUS; shim_cpu++) {
		CHECK(scmfs_alloc(t.fs, 3, 0, &block[shim_cpu]) == 3);
		ino[shim_cpu] = scmfs_alloc_inode(t.fs);
	}
	for (cpu = 0; cpu < SHIM_CPUS; cpu++)
		for (other = 0; other < cpu; other++)
			CHECK(block[cpu] / SCMFS_UNIT_BLOCKS != block[other] / SCMFS_UNIT_BLOCKS &&
			      ino[cpu] / 64 != ino[other] / 64, "%llu and %llu, %llu and %llu",
			      block[cpu], block[other], ino[cpu], ino[other]);
	for (shim_cpu = 0; shim_cpu < SHIM_CPUS; shim_cpu++) {
		CHECK(scmfs_alloc(t.fs, 1, 0, &at) == 1 && at == block[shim_cpu] + 3);
		CHECK(scmfs_alloc_inode(t.fs) == ino[shim_cpu] + 1);
	}
	scmfs_free(t.fs, block[3], 3);
	scmfs_free_inode(t.fs, ino[3]);
	shim_cpu = 1;
	for (i = 0; i < 64; i++) {	/* which is the next word's, too */
		got = scmfs_alloc_inode(t.fs);
		CHECK(got / 64 != ino[3] / 64 && got / 64 != ino[0] / 64, "%llu", got);
		ino_of_1[i] = got;
	}
	while (i--)
		scmfs_free_inode(t.fs, ino_of_1[i]);
	while ((got = scmfs_alloc(t.fs, 100, 0, &at)))
		nr += got;
	scmfs_statfs(t.fs, &st);
	CHECK(!st.free && nr == st.blocks - SHIM_CPUS * 4 + 3, "%llu of %llu, %llu left", nr,
	      st.blocks, st.free);
	for (nr = 0; (got = scmfs_alloc_inode(t.fs)); nr++)
		CHECK(got < 400 && (got < 64 * 6 || t.fs->inode_high == 400), "%llu", got);
	scmfs_statfs(t.fs, &st);
	CHECK(!st.free_inodes && nr == st.inodes - SHIM_CPUS * 2 + 1 - 1, "%llu of %llu, %llu left",
	      nr, st.inodes, st.free_inodes);
	/* What is given back is found again, by any of them. */
	for (shim_cpu = 0; shim_cpu < SHIM_CPUS; shim_cpu++) {
		scmfs_free(t.fs, block[3], 1);
		scmfs_free_inode(t.fs, 77 + shim_cpu * 64);
		CHECK(scmfs_alloc(t.fs, 5, 0, &at) == 1 && at == block[3]);
		CHECK(scmfs_alloc_inode(t.fs) == 77 + shim_cpu * 64ULL);
	}
	shim_cpu = 0;
	tfs_crash(&t);
	free(t.mem);
}

/* Of a damaged image, in which both have the same blocks. */
static void freed_twice(void)
{
	struct scmfs_inode *f, *g;
	u64 ino, before, block;
	struct scmfs_statfs st;

	tfs_make(&t, 16 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	f = scmfs_inode(t.fs, ino);
	CHECK(!tfs_make_node(&t, "g", S_IFREG | 0644, NULL, &ino));
	g = scmfs_inode(t.fs, ino);
	scmfs_statfs(t.fs, &st);
	before = st.free;
	CHECK(!tfs_write(&t, f - scmfs_inode(t.fs, 0), 0, 400000, 1, 0));
	CHECK(!scmfs_trim(t.fs, f - scmfs_inode(t.fs, 0)));
	memcpy(g->extent, f->extent, sizeof(g->extent));
	g->blocks = f->blocks;
	CHECK(!tfs_unlink(&t, "f") && !scmfs_damage_seen(t.fs));
	CHECK(!tfs_unlink(&t, "g") && scmfs_damage_seen(t.fs));
	scmfs_statfs(t.fs, &st);
	if (CHECK(st.free == before, "%llu and %llu free", before, st.free))
		while (scmfs_alloc(t.fs, 7, 0, &block))
			;
	CHECK(!scmfs_alloc_whole(t.fs));
	tfs_crash(&t);
	free(t.mem);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void refused(void)
{
	struct scmfs_format_params p = { .uuid = { 7 } };
	struct scmfs_super s, *on;
	const char *reason;
	struct scmfs *fs;
	bool damaged;
	u64 size = 4 << 20, head;
	u8 *mem = aligned_alloc(4096, size);

	memset(mem, 0, size);
	CHECK(scmfs_open(mem, size, 0, &fs, NULL, &reason) == -ENODATA && *reason);
	CHECK(scmfs_open(mem, 4096, 0, &fs, NULL, &reason) == -ENOSPC && *reason);
	mem[1080] = 0x53;
	CHECK(scmfs_open(mem, size, 0, &fs, NULL, &reason) == -EMEDIUMTYPE && *reason);
	CHECK(scmfs_format(mem, 65536, &p) == -ENOSPC);
	p.nr_inodes = 1;
	CHECK(scmfs_format(mem, size, &p) == -EINVAL);
	p.nr_inodes = 1ULL << 33;
	CHECK(scmfs_format(mem, size, &p) == -EINVAL);
	p.nr_inodes = 20000;
	CHECK(scmfs_format(mem, size, &p) == -ENOSPC);
	CHECK(scmfs_format_head(size, &p, &head) == -ENOSPC);
	p.nr_inodes = 100;
	CHECK(!scmfs_format(mem, size, &p) && !scmfs_format_head(size, &p, &head));
	on = (void *)mem;
	CHECK(head == le64_to_cpu(on->first_data_block) << SCMFS_BLOCK_SHIFT);
	CHECK(scmfs_open(mem, size, SCMFS_OPEN_READ_ONLY, &fs, NULL, &reason) == -EROFS);
	CHECK(!scmfs_open(mem, size, 0, &fs, NULL, &reason));
	scmfs_close(fs);
	CHECK(!scmfs_open(mem, size, SCMFS_OPEN_READ_ONLY, &fs, NULL, &reason));
	scmfs_close(fs);
	on->ro_compat = cpu_to_le64(1ULL << 17);
	on->csum = cpu_to_le32(ek_checksum(on, sizeof(*on), &on->csum));
	CHECK(scmfs_open(mem, size, 0, &fs, NULL, &reason) == -EPROTONOSUPPORT && *reason);
	CHECK(!scmfs_open(mem, size, SCMFS_OPEN_READ_ONLY, &fs, NULL, &reason));
	CHECK(scmfs_make_writable(fs, &reason) == -EPROTONOSUPPORT && strstr(reason, "features"));
	scmfs_close(fs);
	on->ro_compat = 0;
	on->csum = cpu_to_le32(ek_checksum(on, sizeof(*on), &on->csum));
	CHECK(scmfs_open(mem, size / 2, 0, &fs, NULL, &reason) == -ENOSPC && *reason);
	on->incompat = cpu_to_le64(SCMFS_INCOMPAT_KNOWN ^ 1ULL << 40);
	CHECK(scmfs_probe(mem, size, &s, &damaged, &reason) == -EUCLEAN && damaged);
	CHECK(le64_to_cpu(s.incompat) == SCMFS_INCOMPAT_KNOWN);
	CHECK(scmfs_open(mem, size, 0, &fs, NULL, &reason) == -EUCLEAN && *reason);
	memset(mem, 0, 4096);
	CHECK(scmfs_probe(mem, size, &s, &damaged, &reason) == -EUCLEAN && damaged);
	/* Whoever has the memory by now left the last block alone. */
	memset(mem + 512, 'L', 32);
	CHECK(scmfs_probe(mem, size, &s, &damaged, &reason) == -EMEDIUMTYPE && !damaged);
	CHECK(!scmfs_probe_copy(mem, size, &s, &reason));
	memset(mem, 0, le64_to_cpu(s.inode_offset) + 4096);
	CHECK(scmfs_probe(mem, size, &s, &damaged, &reason) == -EMEDIUMTYPE && !damaged);
	free(mem);
}

/* The user's memory ends after @done of @len bytes. */
static void write_short(u64 ino, u64 offset, u64 len, u64 done, unsigned int flags)
{
	struct scmfs_write w;
	u8 bytes[SCMFS_BLOCK_SIZE];
	u64 at, n;

	memset(bytes, 2, sizeof(bytes));
	CHECK(!scmfs_write_begin(t.fs, ino, offset, len, flags, &w));
	CHECK(w.nr == 1 && w.len == len, "%u parts of %llu bytes", w.nr, w.len);
	for (at = 0; at < done; at += n) {
		n = min_t(u64, sizeof(bytes), done - at);
		scm_copy_nt(t.mem + w.seg[0].at + at, bytes, n);
	}
	CHECK(!scmfs_write_end(t.fs, &w, done, 5000));
}

static void atomic_short(void)
{
	static const struct {
		u32 offset, len, done;
	} cases[] = {
		{ 0, 12288, 5000 }, { 0, 12288, 4096 }, { 100, 12000, 1 }, { 4096, 8192, 8191 },
		{ 8000, 4288, 200 }, { 10000, 9000, 1000 }, { 10000, 9000, 6000 },
	};
	u8 is[24576], was[24576];
	u64 ino, size;
	u32 i, c;

	for (c = 0; c < ARRAY_SIZE(cases); c++) {
		u32 end = cases[c].offset + cases[c].done;

		tfs_make(&t, 16 << 20, 100, 1);
		CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
		CHECK(!tfs_write(&t, ino, 0, 12288, 1, 0));
		write_short(ino, cases[c].offset, cases[c].len, cases[c].done, SCMFS_WRITE_ATOMIC);
		size = max(end, 12288u);
		memset(was, 1, sizeof(was));
		memset(was + cases[c].offset, 2, cases[c].done);
		CHECK(!tfs_read(&t, ino, 0, size, is));
		for (i = 0; i < size; i++)
			if (!CHECK(is[i] == was[i], "case %u, byte %u is %u", c, i, is[i]))
				break;
		tfs_check(&t);
		tfs_free(&t);
	}
}

/* Byte @offset of a file in the region. */
static u64 place_of(u64 ino, u64 offset)
{
	struct scmfs_seg seg = {};

	CHECK(scmfs_map(t.fs, ino, offset, 1, &seg, 1) == 1 && seg.at != SCMFS_HOLE);
	return seg.at;
}

static struct scmfs_statfs stat_now(void)
{
	struct scmfs_statfs st;

	scmfs_statfs(t.fs, &st);
	return st;
}

/* A file of 16 blocks, the block of byte 20480 of which is bad. Return: that. */
static u64 make_bad(u64 *ino)
{
	u64 at;

	tfs_make(&t, 16 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, ino));
	CHECK(!tfs_write(&t, *ino, 0, 65536, 1, 0));
	at = place_of(*ino, 20480);
	CHECK(scmfs_good(t.fs, at - 20480, 65536) == 65536);
	CHECK(!scmfs_set_bad(t.fs, at + 700, 64));
	return at;
}

/* Nobody stores to it, whatever is done to the file. */
static void bad_is_untouched(void)
{
	u8 was[4096];
	struct scmfs_write w;
	u64 ino, at = make_bad(&ino);

	memset(was, 1, sizeof(was));
	CHECK(scmfs_good(t.fs, at - 20480, 65536) == 20480 && !scmfs_good(t.fs, at + 5, 1));
	CHECK(scmfs_good(t.fs, at + 4096, 65536) == 65536);
	CHECK(!scmfs_write_begin(t.fs, ino, 100, 40000, 0, &w) && w.len == 20380);
	CHECK(!scmfs_write_end(t.fs, &w, 0, 5));
	CHECK(tfs_write(&t, ino, 0, 65536, 2, 0) == -EIO);
	CHECK(tfs_write(&t, ino, 21000, 10, 2, 0) == -EIO);
	CHECK(!tfs_write(&t, ino, 24576, 100, 2, 0));
	CHECK(tfs_write(&t, ino, 24576, 65536, 2, SCMFS_WRITE_ATOMIC) == 0);
	CHECK(!scmfs_punch(t.fs, ino, 21000, 100, 6));
	CHECK(!scmfs_truncate(t.fs, ino, 21000, 7));
	CHECK(!scmfs_truncate(t.fs, ino, 65536, 8));
	CHECK(!memcmp(t.mem + at, was, sizeof(was)), "somebody stored to it");
	tfs_check(&t);
	tfs_free(&t);
}

#define OLD_BYTE 0xaa	/* of another file, which has gone */

/*
 * In what that file has left, one of more extents than an inode has: the block where the rest of
 * them are goes bad, in which there is block 18, the last one, which is written in part. Behind it
 * there is one of room ahead, or with @reserved some that are unwritten. Without @indexed nobody
 * remembers what has been in the bad block. Return: the file.
 */
static u64 make_bad_map(bool reserved, bool indexed)
{
	u64 ino, old, i;

	tfs_make(&t, 4 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "old", S_IFREG | 0600, NULL, &old));
	for (i = 0; !tfs_write(&t, old, i << 16, 1 << 16, OLD_BYTE, 0); i++)
		;
	CHECK(i > 55);
	CHECK(!tfs_unlink(&t, "old"));
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	for (i = 0; i < 9; i++)
		CHECK(!tfs_write(&t, ino, i * 8192, 4096, 1, 0));
	if (reserved)
		CHECK(!scmfs_reserve(t.fs, ino, 44 * 4096, 16 * 4096, SCMFS_RESERVE_KEEP_SIZE, ++t.now));
	CHECK(!tfs_write(&t, ino, 17 * 4096, 4096 + 100, 2, 0));
	CHECK(!scmfs_punch(t.fs, ino, 0, 4096, ++t.now));
	CHECK(!tfs_write(&t, ino, 18 * 4096 + 100, 10, 3, SCMFS_WRITE_ATOMIC));
	CHECK(scmfs_mapped_size(t.fs, ino) > 19 * 4096, "nothing behind it: this shows nothing");
	CHECK(!scmfs_set_bad(t.fs, scmfs_read(&scmfs_inode(t.fs, ino)->map) << 12, 4096));
	if (!indexed)
		scmfs_forget(t.fs, ino);
	return ino;
}

enum grow_by { BY_TRUNCATE, BY_TRUNCATE_FAR, BY_WRITE, BY_WRITE_FAR, BY_RESERVE, GROW_WAYS };

static int grow_by(u64 ino, enum grow_by how)
{
	u64 near = 19 * 4096 + 4000, far = 40 * 4096;

	switch (how) {
	case BY_TRUNCATE:
		return scmfs_truncate(t.fs, ino, near, ++t.now);
	case BY_TRUNCATE_FAR:
		return scmfs_truncate(t.fs, ino, far, ++t.now);
	case BY_WRITE:
		return tfs_write(&t, ino, near, 10, 4, 0);
	case BY_WRITE_FAR:
		return tfs_write(&t, ino, far, 10, 4, 0);
	default:
		return scmfs_reserve(t.fs, ino, far, 4096, 0, ++t.now);
	}
}

/* What can't be found can't be zeroed: the size does not grow over it, nor over what is behind it. */
static void bad_is_not_grown_over(void)
{
	u64 size = 18 * 4096 + 110, ino, before, i;
	struct scmfs_attr a;
	u8 is[4096];
	u32 n;
	int r;

	for (n = 0; n < 4 * GROW_WAYS && !ktap_failing(); n++) {
		ino = make_bad_map(n & 1, n & 2);
		before = stat_now().free;
		r = grow_by(ino, n / 4);
		CHECK(r == -EIO, "%u: %d", n, r);
		CHECK(!scmfs_getattr(t.fs, ino, &a) && a.size == size, "%u: %llu", n, a.size);
		CHECK(n / 4 == BY_RESERVE || stat_now().free >= before, "%u: blocks of it are lost", n);
		for (i = 0; i < a.size; i += sizeof(is))
			if (!tfs_read(&t, ino, i, min_t(u64, a.size - i, sizeof(is)), is))
				CHECK(!memchr(is, OLD_BYTE, min_t(u64, a.size - i, sizeof(is))), "%u", n);
		CHECK(!scmfs_damage_seen(t.fs));
		tfs_crash(&t);
		free(t.mem);
	}
}

/* data=atomic has to copy what it does not cover; unwritten blocks are zeroed around a write. */
static void bad_edges(void)
{
	struct scmfs_write w;
	u64 ino, free, at = make_bad(&ino);
	u8 was[4096];

	free = stat_now().free;
	memset(was, 1, sizeof(was));
	CHECK(scmfs_write_begin(t.fs, ino, 21000, 10, SCMFS_WRITE_ATOMIC, &w) == -EIO);
	CHECK(scmfs_write_begin(t.fs, ino, 16384, 5000, SCMFS_WRITE_ATOMIC, &w) == -EIO);
	CHECK(!scmfs_write_begin(t.fs, ino, 16384, 8192, SCMFS_WRITE_ATOMIC, &w));
	CHECK(scmfs_write_end(t.fs, &w, 5000, 5) == -EIO, "cut short within it");
	CHECK(stat_now().free == free && place_of(ino, 20480) == at);
	CHECK(!memcmp(t.mem + at, was, sizeof(was)) && !stat_now().aside);
	CHECK(!tfs_write(&t, ino, 16384, 8192, 3, SCMFS_WRITE_ATOMIC), "all of it is replaced");
	CHECK(stat_now().free == free - 1 && stat_now().aside == 1);
	CHECK(!scmfs_reserve(t.fs, ino, 1 << 20, 65536, 0, 6));
	CHECK(!tfs_write(&t, ino, 1 << 20, 1, 4, 0));
	at = place_of(ino, 1 << 20);
	CHECK(!scmfs_set_bad(t.fs, at + 4096, 1));
	memset(t.mem + at + 4096, 1, 4096);
	CHECK(tfs_write(&t, ino, (1 << 20) + 5000, 10, 4, 0) == -EIO);
	CHECK(tfs_fault(&t, ino, (1 << 20) + 4096, 4096) == -EIO);
	CHECK(!memcmp(t.mem + at + 4096, was, sizeof(was)));
	tfs_unmount(&t);	/* what is set aside is nobody's */
	CHECK(!tfs_mount(&t, NULL));
	tfs_check(&t);
	tfs_free(&t);
}

/* From here on whoever touches it dies of it. */
static void take_away(const void *at)
{
	u8 *page = (u8 *)((uintptr_t)at & ~4095UL);

	CHECK(!scmfs_set_bad(t.fs, page - t.mem, 4096));
	CHECK(!mprotect(page, 4096, PROT_NONE));
}

static void give_again(const void *at)
{
	CHECK(!mprotect((void *)((uintptr_t)at & ~4095UL), 4096, PROT_READ | PROT_WRITE));
}

static bool count_one(void *ctx, const char *name, u32 len, u64 ino, u32 type, u64 cookie)
{
	++*(u32 *)ctx;
	return true;
}

/* All names of "d" but those of a bad block; what could be in that is EIO. */
static void bad_names(u64 dir)
{
	struct scmfs_node *node = &t.node[dir];
	u32 i, found = 0, lost = 0, listed = 0;
	u64 cookie = 0, ino;
	int r;

	for (i = 0; i < 300; i++) {
		sprintf(path_a, "d/%u", i);
		r = tfs_find(&t, path_a, &ino);
		CHECK(!r || r == -EIO, "%s: %d", path_a, r);
		found += !r;
		lost += r == -EIO;
	}
	CHECK(lost == 64 && found == 236, "%u, %u lost", found, lost);
	CHECK(scmfs_readdir(t.fs, node, &cookie, count_one, &listed) == -EIO && listed == found);
	CHECK(tfs_make_node(&t, "d/new", S_IFREG | 0644, NULL, NULL) == -EIO);
	CHECK(tfs_rmdir(&t, "d") < 0);
}

/* Names beside bad ones can be used: found, listed, removed. None is put there, and none forgotten. */
static void bad_directory(void)
{
	struct scmfs_attr a;
	u64 dir, ino;
	u8 *bad;
	u32 i;

	tfs_make(&t, 16 << 20, 500, 1);
	CHECK(!tfs_make_node(&t, "d", S_IFDIR | 0755, NULL, &dir));
	for (i = 0; i < 300; i++) {
		sprintf(path_a, "d/%u", i);
		CHECK(!tfs_make_node(&t, path_a, S_IFREG | 0644, NULL, NULL));
	}
	bad = t.mem + (scmfs_inode(t.fs, dir)->extent[0].block << SCMFS_BLOCK_SHIFT);
	CHECK(!scmfs_set_bad(t.fs, t.size - 3 * 4096, 1));
	CHECK(tfs_find(&t, "d/none", &ino) == -ENOENT, "all of it is good");
	take_away(bad);
	bad_names(dir);
	scmfs_node_clear(&t.node[dir]);		/* and by an index that was made without it */
	bad_names(dir);
	for (i = 0; i < 300; i++) {
		sprintf(path_a, "d/%u", i);
		if (!tfs_find(&t, path_a, &ino))
			CHECK(!tfs_unlink(&t, path_a));
	}
	CHECK(tfs_rmdir(&t, "d") == -EIO, "there may be names in it");
	CHECK(!scmfs_getattr(t.fs, dir, &a) && !scmfs_damage_seen(t.fs));
	give_again(bad);
	tfs_crash(&t);
	free(t.mem);
}

/* The map block of extents that a place is in; of a file in so many that it has several. */
static u8 *map_of(u64 ino, u32 n)
{
	u64 block = scmfs_read(&scmfs_inode(t.fs, ino)->map);

	while (n--)
		block = scmfs_next_map(t.fs, block);
	return t.mem + (block << SCMFS_BLOCK_SHIFT);
}

/* What can't be known of a file's extents is EIO for that file, with an index and without. */
static void bad_extents(void)
{
	u64 ino, other, i, good = 0, lost = 0;
	struct scmfs_seg seg;
	u8 *bad;
	int r;

	tfs_make(&t, 32 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	CHECK(!tfs_make_node(&t, "g", S_IFREG | 0644, NULL, &other));
	for (i = 0; i < 1200; i++)	/* each an extent of its own */
		CHECK(!tfs_write(&t, ino, i * 8192, 4096, 1, 0));
	bad = map_of(ino, 2);
	take_away(bad);
	for (i = 0; i < 1200; i++) {
		r = scmfs_map(t.fs, ino, i * 8192, 1, &seg, 1);
		good += r == 1;
		lost += r == -EIO;
	}
	CHECK(good + lost == 1200 && lost > 100 && good > 100, "%llu, %llu lost", good, lost);
	scmfs_forget(t.fs, ino);
	CHECK(scmfs_map(t.fs, ino, 20 * 8192, 1, &seg, 1) == -EIO);
	CHECK(scmfs_write_begin(t.fs, ino, 1300 * 8192, 10, 0, &(struct scmfs_write){}) == -EIO);
	CHECK(scmfs_punch(t.fs, ino, 0, 1200 * 8192, 6) == -EIO);
	CHECK(scmfs_collapse(t.fs, ino, 4096, 4096, 6) == -EIO);
	CHECK(!tfs_write(&t, other, 0, 100000, 2, 0), "nobody else is hit");
	CHECK(!tfs_unlink(&t, "f") && !scmfs_damage_seen(t.fs));
	give_again(bad);
	tfs_crash(&t);
	free(t.mem);
}

#define CUT_EXTENTS	1200u

static bool note_told(void *ctx, const struct scmfs_seg *seg)
{
	bitmap_set(ctx, seg->at >> SCMFS_BLOCK_SHIFT, seg->len >> SCMFS_BLOCK_SHIFT);
	return true;
}

/* Of the file's blocks, those that are free now and were not told of. */
static u32 free_untold(const u64 *block, const unsigned long *told, u32 *nr_free)
{
	u32 i, untold = 0;

	*nr_free = 0;
	ek_undo_settle(t.fs->log);
	for (i = 0; i < CUT_EXTENTS; i++)
		if (!test_bit(block[i], t.fs->block_map)) {
			++*nr_free;
			untold += !test_bit(block[i], told);
		}
	return untold;
}

enum unreadable { BAD_INDEXED, BAD_FORGOTTEN, DAMAGED, UNREADABLE_WAYS };

/* Of a file in 1200 extents, the block of each of them in @block. Return: what has to be given again. */
static u8 *make_unreadable(u64 *ino, u64 *block, enum unreadable how)
{
	struct scmfs_extent *place;
	u8 *bad;
	u32 i;

	tfs_make(&t, 16 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, ino));
	for (i = 0; i < CUT_EXTENTS; i++)
		CHECK(!tfs_write(&t, *ino, i * 8192, 4096, 1, 0));
	for (i = 0; i < CUT_EXTENTS; i++)
		block[i] = place_of(*ino, i * 8192) >> SCMFS_BLOCK_SHIFT;
	bad = map_of(*ino, 2);
	if (how != DAMAGED)
		take_away(bad);
	if (how != BAD_INDEXED)
		scmfs_forget(t.fs, *ino);
	if (how != DAMAGED)
		return bad;
	place = &((struct scmfs_map *)bad)->extent[100];
	place->block = cpu_to_le64(1ULL << 40);
	return NULL;
}

/*
 * Whoever looks whether somebody has the blocks of a file pinned is told of all that can be taken
 * out of it, block by block or when the file goes: also of those that scmfs_map() fails at.
 */
static void cut_is_told(void)
{
	u64 words = (16 << 20) / SCMFS_BLOCK_SIZE / 64, ino, block[CUT_EXTENTS];
	unsigned long told[words], all[words];
	u32 n, i, nr, was, behind;
	struct scmfs_seg seg;
	u8 *bad;

	for (n = 0; n < UNREADABLE_WAYS && !ktap_failing(); n++) {
		bad = make_unreadable(&ino, block, n);
		memset(all, 0, sizeof(all));
		scmfs_each_written(t.fs, ino, 0, CUT_EXTENTS * 8192, note_told, all);
		for (i = 0, behind = 0, was = 0; i < CUT_EXTENTS; i++) {
			was |= scmfs_map(t.fs, ino, i * 8192, 1, &seg, 1) < 0;
			behind += was && test_bit(block[i], all);
		}
		CHECK(was && behind > 200, "%u: %u behind what can't be read", n, behind);
		for (i = 0, was = 0; i < CUT_EXTENTS; i += 3, was = nr) {
			memset(told, 0, sizeof(told));
			scmfs_each_written(t.fs, ino, i * 8192, i * 8192 + 4096, note_told, told);
			CHECK(bitmap_weight(told, words * 64) <= 1, "%u: more than was asked for", n);
			scmfs_punch(t.fs, ino, i * 8192, 4096, 6);
			free_untold(block, told, &nr);
			CHECK(nr == was || (nr == was + 1 && test_bit(block[i], told)), "%u: %u", n, i);
		}
		/* One operation that fails takes nothing out, of many the last one. */
		CHECK(was > 100 || n == BAD_FORGOTTEN, "%u: %u taken out", n, was);
		CHECK(scmfs_punch(t.fs, ino, 0, CUT_EXTENTS * 8192, 6) < 0);
		CHECK(!free_untold(block, all, &nr) && (nr > was || n != BAD_FORGOTTEN), "%u: %u", n, nr);
		CHECK(!tfs_unlink(&t, "f") && !free_untold(block, all, &nr), "%u", n);
		CHECK(nr > was + 100, "%u: %u of %u are free", n, nr, was);
		CHECK(scmfs_damage_seen(t.fs) == (n == DAMAGED));
		if (bad)
			give_again(bad);
		tfs_crash(&t);
		free(t.mem);
	}
}

static u64 one_bad(void *ctx, u64 from, u64 to, u64 *bytes)
{
	u64 at = *(u64 *)ctx;

	*bytes = 4096;
	return at >= from && at < to ? at : to;
}

/*
 * Known before it is opened: whom the blocks belong to that are named there can't be known, so
 * nobody gets any after a crash. Who closed it has said which are free.
 */
static void bad_before(void)
{
	u64 ino, i, at, was_free;
	struct scmfs_bad_list bad = { .next = one_bad, .ctx = &at };
	const char *reason = "";
	u8 *page;

	tfs_make(&t, 32 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	for (i = 0; i < 1200; i++)
		CHECK(!tfs_write(&t, ino, i * 8192, 4096, 1, 0));
	page = map_of(ino, 2);
	at = page - t.mem;
	tfs_crash(&t);
	CHECK(!mprotect(page, 4096, PROT_NONE));
	CHECK(scmfs_open_beside(t.mem, t.size, 0, &bad, &t.fs, NULL, &reason) == -EIO && strstr(reason, "bad memory"));
	give_again(page);
	CHECK(!tfs_mount(&t, NULL));
	was_free = stat_now().free;
	tfs_unmount(&t);
	CHECK(!mprotect(page, 4096, PROT_NONE));
	CHECK(!scmfs_open_beside(t.mem, t.size, 0, &bad, &t.fs, NULL, &reason), "%s", reason);
	CHECK(stat_now().free == was_free && !stat_now().aside);
	CHECK(scmfs_punch(t.fs, ino, 0, 1200 * 8192, 6) == -EIO);
	tfs_unmount(&t);
	give_again(page);
	at = t.size - 3 * 4096;
	CHECK(!scmfs_open_beside(t.mem, t.size, 0, &bad, &t.fs, NULL, &reason), "%s", reason);
	CHECK(stat_now().aside == 1);
	tfs_crash(&t);
	free(t.mem);
}

/* So are attributes, and the target of a link. */
static void bad_attributes(void)
{
	static char target[2000];
	const char *to;
	u64 ino, link;
	u8 *bad, value[100];

	memset(target, 'x', sizeof(target) - 1);
	tfs_make(&t, 16 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	CHECK(!tfs_make_node(&t, "l", S_IFLNK | 0777, target, &link));
	CHECK(!tfs_set_attr(&t, ino, "a", 3, 50));
	bad = t.mem + (scmfs_read(&scmfs_inode(t.fs, ino)->xattr) << SCMFS_BLOCK_SHIFT);
	take_away(bad);
	CHECK(scmfs_xattr_get(t.fs, ino, SCMFS_XATTR_USER, "a", 1, value, sizeof(value)) == -EIO);
	CHECK(tfs_set_attr(&t, ino, "b", 3, 50) == -EIO && tfs_set_attr(&t, ino, "a", 3, 0) == -EIO);
	CHECK(!tfs_write(&t, ino, 0, 5000, 2, 0));
	CHECK(!tfs_unlink(&t, "f"));
	give_again(bad);
	bad = t.mem + (scmfs_read((__le64 *)&scmfs_inode(t.fs, link)->extent[0].block) << SCMFS_BLOCK_SHIFT);
	take_away(bad);
	CHECK(scmfs_target(t.fs, link, &to) == -EIO);
	CHECK(!tfs_unlink(&t, "l") && !scmfs_damage_seen(t.fs));
	give_again(bad);
	tfs_crash(&t);
	free(t.mem);
}

/* What is free of it is nobody's until the file system is opened again. */
static void bad_is_aside(void)
{
	u64 ino, at = make_bad(&ino), free = stat_now().free, found = 0, pos;
	struct scmfs_seg seg;

	CHECK(!stat_now().aside);
	CHECK(!tfs_unlink(&t, "f"));
	CHECK(stat_now().free >= free + 15 && stat_now().aside == 1);
	free = stat_now().free;
	CHECK(!scmfs_set_bad(t.fs, at - 4096, 8192));
	CHECK(stat_now().free == free - 1 && stat_now().aside == 2);
	CHECK(!tfs_make_node(&t, "all", S_IFREG | 0644, NULL, &ino));
	CHECK(tfs_write(&t, ino, 0, 16 << 20, 3, 0) == -ENOSPC);
	for (pos = 0; pos < scmfs_mapped_size(t.fs, ino); pos += seg.len) {
		CHECK(scmfs_map(t.fs, ino, pos, 16 << 20, &seg, 1) == 1);
		if (seg.at != SCMFS_HOLE && scmfs_good(t.fs, seg.at, seg.len) < seg.len)
			found++;
	}
	CHECK(!found && stat_now().aside == 2);
	scmfs_freeze(t.fs);
	CHECK(stat_now().aside == 2);
	scmfs_thaw(t.fs);
	CHECK(!tfs_unlink(&t, "all"));
	free = stat_now().free;
	tfs_unmount(&t);
	CHECK(!tfs_mount(&t, NULL));
	CHECK(stat_now().free == free + 2 && !stat_now().aside);
	tfs_check(&t);
	tfs_free(&t);
}

/* Behind the end of a file that is mapped there are zeroes, not what its room ahead had before. */
static void short_append(void)
{
	struct scmfs_seg seg;
	u64 ino;
	u32 i;

	tfs_make(&t, 16 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "old", S_IFREG | 0644, NULL, &ino));
	CHECK(!tfs_write(&t, ino, 0, 12 << 20, 7, 0));
	CHECK(!tfs_unlink(&t, "old"));
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	CHECK(!tfs_write(&t, ino, 0, 8192, 1, 0));
	CHECK(!tfs_write(&t, ino, 8192, 8192, 1, 0));
	CHECK(scmfs_mapped_size(t.fs, ino) >= 24576, "no room ahead: this shows nothing");
	write_short(ino, 16384, 8192, 100, 0);
	CHECK(scmfs_map(t.fs, ino, 16384, 4096, &seg, 1) == 1);
	for (i = 0; i < 4096; i++)
		if (!CHECK(t.mem[seg.at + i] == (i < 100 ? 2 : 0), "byte %u is %u", i, t.mem[seg.at + i]))
			break;
	tfs_check(&t);
	tfs_free(&t);
}

/* What a mapping's stores left behind the end is not the file's when it grows. */
static void grow_over_stores(void)
{
	struct scmfs_seg seg;
	u8 is[3000];
	u64 ino;
	u32 i;

	tfs_make(&t, 16 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	CHECK(!tfs_write(&t, ino, 0, 100, 1, 0));
	CHECK(scmfs_map(t.fs, ino, 0, 4096, &seg, 1) == 1);
	memset(t.mem + seg.at + 100, 9, 3996);
	CHECK(!scmfs_truncate(t.fs, ino, sizeof(is), ++t.now));
	CHECK(!tfs_read(&t, ino, 0, sizeof(is), is));
	for (i = 0; i < sizeof(is); i++)
		if (!CHECK(is[i] == (i < 100 ? 1 : 0), "byte %u is %u", i, is[i]))
			break;
	tfs_check(&t);
	tfs_free(&t);
}

/* Saved maps with one bit turned over, and a hash that vouches for them. */
static int mount_with_bit(const u8 *image, u64 offset, u64 bit)
{
	struct scmfs_super *s = (struct scmfs_super *)t.mem;
	struct scmfs_state *state = (struct scmfs_state *)(t.mem + SCMFS_STATE_OFFSET);
	const char *reason;
	u64 h;
	int r;

	memcpy(t.mem, image, t.size);
	t.mem[offset + bit / 8] ^= 1u << bit % 8;
	h = ek_undo_hash(le64_to_cpu(s->salt), t.mem + le64_to_cpu(s->block_map_offset),
			 DIV_ROUND_UP(le64_to_cpu(s->nr_blocks), 64));
	h = ek_undo_hash(h, t.mem + le64_to_cpu(s->inode_map_offset),
			 DIV_ROUND_UP(le64_to_cpu(s->nr_inodes), 64)) | 1;
	state->clean = cpu_to_le64(h);
	r = scmfs_open(t.mem, t.size, 0, &t.fs, NULL, &reason);
	if (!r)
		scmfs_abandon(t.fs);
	t.fs = NULL;
	return r;
}

static void maps_of_its_own(void)
{
	u64 blocks, inodes, first, nr, nr_inodes;
	struct scmfs_super *s;
	u8 *image;

	tfs_make(&t, (16 << 20) - 4096, 1000, 1);
	tfs_unmount(&t);
	s = (struct scmfs_super *)t.mem;
	blocks = le64_to_cpu(s->block_map_offset);
	inodes = le64_to_cpu(s->inode_map_offset);
	first = le64_to_cpu(s->first_data_block);
	nr = le64_to_cpu(s->nr_blocks);
	nr_inodes = le64_to_cpu(s->nr_inodes);
	image = malloc(t.size);
	memcpy(image, t.mem, t.size);
	CHECK(!mount_with_bit(image, blocks, nr - 2), "this bit is any block's");
	CHECK(mount_with_bit(image, blocks, 0) == -EUCLEAN);
	CHECK(mount_with_bit(image, blocks, first - 1) == -EUCLEAN);
	CHECK(mount_with_bit(image, blocks, nr - 1) == -EUCLEAN);
	CHECK(mount_with_bit(image, inodes, 0) == -EUCLEAN);
	CHECK(mount_with_bit(image, inodes, SCMFS_ROOT_INO) == -EUCLEAN);
	CHECK(!(nr % 64) || mount_with_bit(image, blocks, nr) == -EUCLEAN);
	CHECK(!(nr_inodes % 64) || mount_with_bit(image, inodes, nr_inodes) == -EUCLEAN);
	ktap_note("%llu blocks, %llu inodes", nr, nr_inodes);
	free(image);
	free(t.mem);
}

static void no_memory(void)
{
	struct scmfs_new new = { .mode = S_IFREG | 0644 };
	const char *reason;
	struct scmfs *fs;
	u64 ino;
	u32 i;

	tfs_make(&t, 4 << 20, 100, 1);
	tfs_unmount(&t);
	for (i = 1; ; i++) {
		shim_alloc_failed = false;
		shim_fail_alloc = i;
		if (!scmfs_open(t.mem, t.size, 0, &fs, NULL, &reason))
			break;
		CHECK(shim_alloc_failed && *reason);
	}
	CHECK(i > 5);
	shim_fail_alloc = 0;
	t.fs = fs;
	for (i = 1; i < 50; i++) {
		shim_alloc_failed = false;
		shim_fail_alloc = i;
		if (!scmfs_create(t.fs, &t.node[1], "a", 1, &new, &ino) && !shim_alloc_failed)
			break;
		CHECK(shim_alloc_failed);
		shim_fail_alloc = 0;
		tfs_check(&t);
		CHECK(scmfs_lookup(t.fs, &t.node[1], "a", 1, &ino) == -ENOENT);
		scmfs_node_clear(&t.node[1]);
	}
	CHECK(i > 3 && i < 50);
	shim_fail_alloc = 0;
	tfs_free(&t);
}

static bool times_are(u64 ino, s64 mtime, s64 ctime)
{
	struct scmfs_attr a;

	return CHECK(!scmfs_getattr(t.fs, ino, &a)) && a.mtime == mtime && a.ctime == ctime;
}

/* Times that somebody else notes don't go back. */
static void touched(void)
{
	struct scmfs_attr later, mixed;
	u64 ino;

	tfs_make(&t, 4 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "fifo", S_IFIFO | 0644, NULL, &ino));
	later = (struct scmfs_attr){ .mtime = t.now + 20, .ctime = t.now + 30 };
	mixed = (struct scmfs_attr){ .mtime = t.now + 25, .ctime = t.now + 10 };
	CHECK(!scmfs_touch_times(t.fs, ino, &later) && times_are(ino, later.mtime, later.ctime));
	CHECK(!scmfs_touch_times(t.fs, ino, &mixed) && times_are(ino, mixed.mtime, later.ctime));
	tfs_crash(&t);
	CHECK(!tfs_mount(&t, NULL) && times_are(ino, mixed.mtime, later.ctime));
	CHECK(scmfs_touch_times(t.fs, ino + 1, &later) == -ESTALE);
	tfs_check(&t);
	tfs_free(&t);
}

/* What more blocks would not help is told apart from what they would. */
static void too_many(void)
{
	static const char value[60000];
	struct scmfs_xattr x = { .index = SCMFS_XATTR_USER, .name = "a", .name_len = 1, .value = value,
		.value_len = sizeof(value) };
	const struct scmfs_attr a = { .ctime = 5 };
	struct scmfs_new new = { .mode = S_IFREG | 0644 };
	char name[20];
	u64 ino, i;
	int r = 0;

	tfs_make(&t, 16 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	CHECK(!scmfs_xattr_set(t.fs, ino, &x, 0, &a, SCMFS_SET_CTIME));
	x.name = "b";
	CHECK(!scmfs_xattr_set(t.fs, ino, &x, 0, &a, SCMFS_SET_CTIME));
	x.name = "c";
	CHECK(scmfs_xattr_set(t.fs, ino, &x, 0, &a, SCMFS_SET_CTIME) == -E2BIG);
	for (i = 0; !r && i < 1000; i++) {
		sprintf(name, "n%llu", i);
		r = tfs_make_node(&t, name, S_IFREG | 0644, NULL, &ino);
	}
	CHECK(r == -E2BIG && scmfs_tmpfile(t.fs, &new, &ino) == -E2BIG, "%d", r);
	tfs_check(&t);
	tfs_free(&t);
}

#define IDLE_FILES	4000u
#define IDLE_BYTES	64	/* at most of each, with the index of its directory, which is in use */

/* Make or remove a file, as VFS does: what nobody uses is released. */
static u64 idle_file(u32 i, bool make)
{
	struct scmfs_new new = { .mode = S_IFREG | 0644 };
	char name[32];
	u64 ino = 0;
	int r, len = sprintf(name, "%s%u", i % 10 ? "f" : "a-longer-name-", i);

	if (make)
		r = scmfs_create(t.fs, &t.node[1], name, len, &new, &ino);
	else
		r = scmfs_unlink(t.fs, &t.node[1], name, len, 1, &ino);
	if (!CHECK(!r, "%s: %d", name, r))
		return 0;
	if (!make)
		scmfs_release(t.fs, ino);
	return ino;
}

static long idle_is_small(const char *when, u32 files, long bytes)
{
	CHECK(bytes <= IDLE_BYTES * (long)files, "%s: %ld bytes for %u", when, bytes, files);
	return bytes * 10 / files;
}

static u64 given_runs;
static u64 given_blocks;

/* What its next user may do with it at once, on another CPU. */
static int give_away(struct scmfs *fs, u64 block, u64 count)
{
	memset(scmfs_block(fs, block), 0xee, count * SCMFS_BLOCK_SIZE);
	given_runs++;
	given_blocks += count;
	return 0;
}

/* The blocks of an inode, among them those of its map, in an order in which all can be reused. */
static void given_back(void)
{
	const u64 holes = 2 * SCMFS_MAP_EXTENTS + SCMFS_INLINE_EXTENTS + 40;
	u64 ino, i;

	tfs_make(&t, 64 << 20, 64, 2);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0600, NULL, &ino));
	for (i = 0; i < holes && !ktap_failing(); i++)
		CHECK(!tfs_write(&t, ino, 2 * i * SCMFS_BLOCK_SIZE, SCMFS_BLOCK_SIZE, i & 0xff, 0));
	given_runs = 0;
	given_blocks = 0;
	CHECK(!scmfs_each_run(t.fs, scmfs_inode(t.fs, ino), give_away));
	CHECK(given_runs == holes + 3 && given_blocks == holes + 3, "%llu runs, %llu blocks",
	      (unsigned long long)given_runs, (unsigned long long)given_blocks);
	tfs_free(&t);
}

/*
 * Files that were used and have left VFS' cache. The maps have bits for all that there can be,
 * and are there before.
 */
static void idle(void)
{
	long before, is, most = 0;
	u32 i, j, left;
	u64 ino;

	tfs_make(&t, 32 << 20, IDLE_FILES + 90, 1);
	before = shim_bytes;
	for (i = 0; i < IDLE_FILES && !ktap_failing(); i++) {
		ino = idle_file(i, true);
		for (j = 0; i % 100 == 0 && j < 20; j++)	/* with an index */
			CHECK(!tfs_write(&t, ino, 8192 * (20 - j), 100, 1, 0));
		scmfs_forget(t.fs, ino);
		if (i < 100)
			continue;
		is = idle_is_small("growing", i, shim_bytes - before);
		most = max(most, is);
	}
	for (left = IDLE_FILES; left > IDLE_FILES / 10 && !ktap_failing();) {
		idle_file(--left, false);
		is = idle_is_small("shrinking", left, shim_bytes - before);
		most = max(most, is);
	}
	ktap_note("%ld.%ld bytes of RAM a file at most", most / 10, most % 10);
	CHECK(!scmfs_lookup(t.fs, &t.node[1], "f77", 3, &ino));
	CHECK(scmfs_lookup(t.fs, &t.node[1], "f3999", 5, &ino) == -ENOENT);
	scmfs_node_clear(&t.node[1]);
	CHECK(shim_bytes == before, "%ld bytes left", shim_bytes - before);
	tfs_check(&t);
	tfs_free(&t);
}

static u64 mapped(u64 ino)
{
	return scmfs_mapped_size(t.fs, ino);
}

/* Room ahead is given back, what was reserved stays, until the file is cut. */
static void reserved(void)
{
	struct scmfs_recovery rec;
	u64 ino;

	tfs_make(&t, 16 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	CHECK(!tfs_write(&t, ino, 0, 20000, 1, 0) && !tfs_write(&t, ino, 20000, 20000, 1, 0));
	CHECK(scmfs_has_room_ahead(t.fs, ino) && !scmfs_trim(t.fs, ino) && mapped(ino) == 40960);
	CHECK(!scmfs_reserve(t.fs, ino, 0, 100000, SCMFS_RESERVE_KEEP_SIZE, 5) && mapped(ino) >= 100000);
	CHECK(times_are(ino, 5, 5));
	CHECK(!scmfs_reserve(t.fs, ino, 0, 10000, 0, 6) && times_are(ino, 6, 6));
	CHECK(!scmfs_has_room_ahead(t.fs, ino) && !scmfs_trim(t.fs, ino) && mapped(ino) == 102400);
	tfs_crash(&t);
	CHECK(!tfs_mount(&t, &rec) && !scmfs_trim(t.fs, ino) && mapped(ino) == 102400);
	CHECK(!scmfs_truncate(t.fs, ino, 60000, 7) && !scmfs_trim(t.fs, ino) && mapped(ino) == 102400);
	CHECK(!scmfs_truncate(t.fs, ino, 60000, 8) && mapped(ino) == 61440, "%llu", mapped(ino));
	CHECK(!scmfs_reserve(t.fs, ino, 0, 100000, 0, 9) && !scmfs_trim(t.fs, ino));
	CHECK(mapped(ino) == 102400);
	shim_killed = true;
	CHECK(scmfs_reserve(t.fs, ino, 0, 300000, SCMFS_RESERVE_KEEP_SIZE, 10) == -EINTR && mapped(ino) == 102400);
	shim_killed = false;
	CHECK(scmfs_reserve(t.fs, ino, 0, 64 << 20, SCMFS_RESERVE_KEEP_SIZE, 11) == -ENOSPC);
	CHECK(scmfs_has_room_ahead(t.fs, ino) && !scmfs_trim(t.fs, ino) && mapped(ino) == 102400);
	tfs_check(&t);
	tfs_free(&t);
}

static u64 extents_of(u64 ino, u64 *unwritten)
{
	struct scmfs_extent *place;
	struct scmfs_slots s;
	u64 nr = 0;

	*unwritten = 0;
	scmfs_slots(t.fs, scmfs_inode(t.fs, ino), &s);
	while ((place = scmfs_slots_next(&s))) {
		struct scmfs_ext e = scmfs_ext_of(scmfs_read(&place->block),
						  scmfs_read(&place->second));

		nr += !!e.count;
		*unwritten += e.unwritten ? e.count : 0;
	}
	return nr;
}

static bool all_are(u64 ino, u64 from, u64 to, u8 fill)
{
	static u8 bytes[400000];
	u64 i;

	if (tfs_read(&t, ino, from, to - from, bytes))
		return false;
	for (i = 0; i < to - from && bytes[i] == fill; i++)
		;
	return i == to - from;
}

/* Who appends takes no more ahead than leaves others room, however large the file: its writer may be slow. */
static void ahead_leaves_room(void)
{
	struct scmfs_write w, other;
	u64 ino[3];

	tfs_make(&t, 16 << 20, 100, 2);
	CHECK(!tfs_make_node(&t, "a", S_IFREG | 0644, NULL, &ino[0]));
	CHECK(!tfs_make_node(&t, "b", S_IFREG | 0644, NULL, &ino[1]));
	CHECK(!tfs_make_node(&t, "rest", S_IFREG | 0644, NULL, &ino[2]));
	CHECK(!tfs_write(&t, ino[0], 0, 4 << 20, 1, 0) && !scmfs_trim(t.fs, ino[0]));
	CHECK(!scmfs_reserve(t.fs, ino[2], 0, (stat_now().free - 400) << SCMFS_BLOCK_SHIFT, 0, 5));
	CHECK(!scmfs_write_begin(t.fs, ino[0], 4 << 20, 4096, 0, &w));
	CHECK(!scmfs_write_begin(t.fs, ino[1], 0, 4096, 0, &other), "%u of 400 blocks ahead", w.ahead);
	CHECK(w.ahead && !scmfs_write_end(t.fs, &other, 4096, 6));
	memset(t.mem + w.seg[0].at, 1, 4096);
	CHECK(!scmfs_write_end(t.fs, &w, 4096, 6));
	tfs_check(&t);
	tfs_free(&t);
}

/* A ninth extent takes a block for itself, which others have had meanwhile: room ahead is where it comes from. */
static void ahead_gives_way(void)
{
	struct scmfs_write w;
	u64 ino, rest, i;

	tfs_make(&t, 16 << 20, 100, 2);
	CHECK(!tfs_make_node(&t, "a", S_IFREG | 0644, NULL, &ino));
	CHECK(!tfs_make_node(&t, "rest", S_IFREG | 0644, NULL, &rest));
	for (i = SCMFS_INLINE_EXTENTS; i--;)	/* the last one first: none can become longer */
		CHECK(!tfs_write(&t, ino, (2 * i) << 12, 4096, 1, 0));
	CHECK(!scmfs_write_begin(t.fs, ino, 15 << 12, 4096, 0, &w) && w.ahead);
	for (i = 0; !scmfs_reserve(t.fs, rest, i << 12, 4096, 0, 5); i++)
		;
	CHECK(!stat_now().free);
	memset(t.mem + w.seg[0].at, 1, 4096);
	CHECK(!scmfs_write_end(t.fs, &w, 4096, 6) && all_are(ino, 14 << 12, 16 << 12, 1));
	tfs_check(&t);
	tfs_free(&t);
}

/* What would be no huge page is nothing: no block is taken, nor zeroed. */
static void huge_or_nothing(void)
{
	const unsigned int flags = SCMFS_WRITE_KEEP_SIZE | SCMFS_WRITE_WHOLE;
	struct scmfs_write w;
	u64 ino, at, free;

	tfs_make(&t, 16 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	CHECK(!scmfs_truncate(t.fs, ino, 8 << 20, 5));
	CHECK(!scmfs_write_begin(t.fs, ino, 0, 2 << 20, flags, &w) && w.nr == 1 && w.len == 2 << 20);
	CHECK(!(w.seg[0].at % (2 << 20)) && !scmfs_write_end(t.fs, &w, w.len, 6));
	/* two blocks behind an odd number of them aren't aligned */
	CHECK(!tfs_write(&t, ino, 4 << 20, 4096, 1, 0) && !scmfs_write_begin(t.fs, ino, 6 << 20, 4096, flags, &w));
	at = w.seg[0].at;
	CHECK(!scmfs_write_end(t.fs, &w, 0, 7));
	if (!(at % 8192))
		CHECK(!tfs_write(&t, ino, 5 << 20, 4096, 1, 0));
	memset(t.mem + at, 1, 3 * 4096);
	free = stat_now().free;
	CHECK(scmfs_write_begin(t.fs, ino, 6 << 20, 8192, flags, &w) == -EAGAIN);
	CHECK(stat_now().free == free && !memchr(t.mem + at, 0, 3 * 4096));
	tfs_check(&t);
	tfs_free(&t);
}

/* Nobody has the file after a cut, so nobody would find its room when blocks run short. */
static void ahead_ends_with_a_cut(void)
{
	u64 ino, free;

	tfs_make(&t, 16 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	free = stat_now().free;
	CHECK(!tfs_write(&t, ino, 0, 65536, 1, 0) && !tfs_write(&t, ino, 65536, 100, 1, 0));
	CHECK(scmfs_has_room_ahead(t.fs, ino) && stat_now().free < free - 17);
	tfs_crash(&t);
	CHECK(!tfs_mount(&t, NULL) && scmfs_has_room_ahead(t.fs, ino));
	scmfs_trim_all(t.fs);
	CHECK(!scmfs_has_room_ahead(t.fs, ino) && stat_now().free == free - 17);
	CHECK(all_are(ino, 0, 65536, 1));
	tfs_check(&t);
	tfs_free(&t);
}

/* An inode that is used, and free to the map: told once, and no reason to make no others. */
static void used_number(void)
{
	struct scmfs_new new = { .mode = S_IFREG | 0644 };
	u64 ino, other;

	tfs_make(&t, 1 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	scmfs_write_word(&scmfs_inode(t.fs, ino + 1)->mode_links, scmfs_mode_links(S_IFREG | 0644, 1));
	CHECK(scmfs_tmpfile(t.fs, &new, &other) == -EUCLEAN);
	CHECK(!scmfs_tmpfile(t.fs, &new, &other) && other != ino + 1);
	scmfs_release(t.fs, other);
	scmfs_write_word(&scmfs_inode(t.fs, ino + 1)->mode_links, 0);
	CHECK(!tfs_make_node(&t, "g", S_IFREG | 0644, NULL, &other) && other != ino + 1);
	tfs_crash(&t);
	CHECK(!tfs_mount(&t, NULL));
	tfs_check(&t);
	tfs_free(&t);
}

/*
 * A file with as many extents as its inode has room for, each of @blocks and beside another's block, and @left free
 * blocks: there is room for data, or for a block of extents, and not for both.
 */
static u64 crowded(u64 blocks, u64 left, u64 *ino)
{
	const u64 step = (blocks + 1) << 12;
	u64 pad, i;

	tfs_make(&t, 1 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, ino));
	CHECK(!tfs_make_node(&t, "pad", S_IFREG | 0644, NULL, &pad));
	for (i = 0; i < SCMFS_INLINE_EXTENTS; i++) {
		CHECK(!tfs_write(&t, *ino, i * step, blocks << 12, 1, 0) && !scmfs_trim(t.fs, *ino));
		CHECK(!scmfs_reserve(t.fs, pad, i * step, 4096, 0, 5));
	}
	while (stat_now().free > left)
		if (!CHECK(!scmfs_reserve(t.fs, pad, 1 << 20 | i++ << 12, 4096, 0, 5)))
			break;
	return (SCMFS_INLINE_EXTENTS - 1) * step;
}

/* A write that has failed leaves nothing behind the end, where who maps the last block would see it. */
static void failed_append(void)
{
	struct scmfs_write w;
	u64 ino, end;

	end = crowded(1, 1, &ino) + 100;
	CHECK(!scmfs_truncate(t.fs, ino, end, 5));
	CHECK(!scmfs_write_begin(t.fs, ino, end, 8000, 0, &w) && w.nr == 2, "%u parts", w.nr);
	memset(t.mem + w.seg[0].at, 0xff, w.seg[0].len);
	memset(t.mem + w.seg[1].at, 0xff, w.seg[1].len);
	CHECK(scmfs_tail_is_dirty(t.fs, ino));
	CHECK(!scmfs_write_end(t.fs, &w, 0, 6));
	CHECK(stat_now().free == 1 && !scmfs_tail_is_dirty(t.fs, ino));
	tfs_check(&t);
	tfs_free(&t);
}

/* Others have mapped the file as well: what they have behind its end is not for who finds no room to zero. */
static void failed_fault(void)
{
	struct scmfs_seg tail;
	u64 ino, end;

	end = crowded(1, 1, &ino) + 100;
	CHECK(!scmfs_truncate(t.fs, ino, end, 5));
	CHECK(!scmfs_map_part(t.fs, ino, end, end + 10, &tail) && tail.at != SCMFS_HOLE);
	memset(t.mem + tail.at, 7, 10);
	CHECK(tfs_fault(&t, ino, 4096, 4096) == -ENOSPC);
	CHECK(stat_now().free == 1 && scmfs_tail_is_dirty(t.fs, ino));
	tfs_check(&t);
	tfs_free(&t);
}

/* What needs no room is written, and said: the bytes are there already. */
static void short_write(void)
{
	struct scmfs_write w;
	struct scmfs_attr a;
	u64 ino, end;

	end = crowded(1, 1, &ino) + 100;
	CHECK(!scmfs_truncate(t.fs, ino, end, 5));
	CHECK(!scmfs_write_begin(t.fs, ino, end - 50, 8000, 0, &w) && w.nr == 2, "%u parts", w.nr);
	CHECK(w.seg[1].at != w.seg[0].at + w.seg[0].len);
	memset(t.mem + w.seg[0].at, 2, w.seg[0].len);
	memset(t.mem + w.seg[1].at, 2, w.seg[1].len);
	CHECK(!scmfs_write_end(t.fs, &w, w.len, 777));
	CHECK(w.len == 4096 - 50, "%llu", w.len);
	CHECK(!scmfs_getattr(t.fs, ino, &a) && a.size == end - 50 + w.len && a.mtime == 777 && a.ctime == 777);
	CHECK(all_are(ino, end - 100, end - 50, 1) && all_are(ino, end - 50, a.size, 2));
	CHECK(stat_now().free == 1 && !scmfs_tail_is_dirty(t.fs, ino));
	/* nor is anything changed behind what needs room: that is for another write */
	CHECK(!scmfs_write_begin(t.fs, ino, 4096, 8192, 0, &w) && w.nr == 1 && w.fresh && w.len == 4096);
	memset(t.mem + w.seg[0].at, 3, w.seg[0].len);
	CHECK(scmfs_write_end(t.fs, &w, w.len, 778) == -ENOSPC && all_are(ino, 4096, 8192, 0) && all_are(ino, 8192, 12288, 1));
	/* with nothing in front that needs no room it has not happened */
	CHECK(!scmfs_write_begin(t.fs, ino, a.size, 4000, 0, &w) && w.nr == 1 && w.fresh);
	memset(t.mem + w.seg[0].at, 3, w.seg[0].len);
	CHECK(scmfs_write_end(t.fs, &w, w.len, 778) == -ENOSPC);
	CHECK(!scmfs_getattr(t.fs, ino, &a) && a.size == end - 50 + 4096 - 50 && a.mtime == 777);
	CHECK(stat_now().free == 1);
	tfs_check(&t);
	tfs_free(&t);
}

/* A hole where two extents would be left of one, and there is no room for that: zeroes do, and its blocks stay. */
static void punch_when_full(void)
{
	struct scmfs_attr a;
	u64 ino;

	crowded(3, 0, &ino);
	CHECK(scmfs_punch(t.fs, ino, 4000, 4096 + 200, 776) == -ENOSPC);
	CHECK(!scmfs_zero(t.fs, ino, 4000, 4096 + 200, 777));
	CHECK(all_are(ino, 0, 4000, 1) && all_are(ino, 4000, 8296, 0) && all_are(ino, 8296, 3 << 12, 1));
	CHECK(!scmfs_getattr(t.fs, ino, &a) && a.mtime == 777 && a.ctime == 777);
	CHECK(!stat_now().free);
	tfs_check(&t);
	tfs_free(&t);
}

/* What the size passes without a write is a hole, although there was room ahead. */
static void ahead_is_no_room(void)
{
	u64 ino, blocks;

	tfs_make(&t, 16 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	CHECK(!tfs_write(&t, ino, 0, 36864, 1, 0) && !tfs_write(&t, ino, 36864, 4096, 1, 0));
	CHECK(scmfs_has_room_ahead(t.fs, ino) && mapped(ino) > 60000, "%llu", mapped(ino));
	CHECK(!tfs_write(&t, ino, 57344, 100, 2, 0) && extents_of(ino, &blocks) == 2);
	CHECK(all_are(ino, 40960, 57344, 0) && all_are(ino, 57344, 57444, 2));
	CHECK(!tfs_write(&t, ino, 57444, 10000, 2, 0) && scmfs_has_room_ahead(t.fs, ino));
	CHECK(!scmfs_truncate(t.fs, ino, 81920, 5) && !scmfs_has_room_ahead(t.fs, ino));
	CHECK(mapped(ino) == 69632 && all_are(ino, 67444, 81920, 0));
	CHECK(!tfs_write(&t, ino, 81920, 100, 2, 0) && scmfs_has_room_ahead(t.fs, ino));
	CHECK(!scmfs_reserve(t.fs, ino, 86016, 4096, 0, 6) && !scmfs_has_room_ahead(t.fs, ino));
	extents_of(ino, &blocks);
	CHECK(blocks == 1, "%llu unwritten", blocks);
	tfs_check(&t);
	tfs_free(&t);
}

static u32 whole_units(void)
{
	u16 count[64];
	u64 unit = 0;
	u32 nr = scmfs_unit_frees(t.fs, &unit, count, 64), whole = 0;

	while (nr--)
		whole += count[nr] == SCMFS_UNIT_BLOCKS;
	return whole;
}

/* A file with a hole before each write has each in the next block, not in a unit of its own. */
static void holes_between(void)
{
	u32 i, before;
	u64 ino;

	tfs_make(&t, 64 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	before = whole_units();
	for (i = 0; i < 1000; i++)
		CHECK(!tfs_write(&t, ino, i * 8192, 4096, 1, 0));
	CHECK(!scmfs_has_room_ahead(t.fs, ino) && before > 20 && whole_units() >= before - 3,
	      "%u of %u units are free", whole_units(), before);
	tfs_check(&t);
	tfs_free(&t);
}

/*
 * Reserved room that is written in any order ends as one extent, also while its inode's places are
 * enough; and what lies between is never more pieces than there are.
 */
static void written_in_any_order(void)
{
	static const char * const order[] = { "backwards", "shuffled", "odd, then even, backwards" };
	u32 at[64], how, i, j, nr = ARRAY_SIZE(at), most;
	u64 ino, blocks, pieces;

	for (how = 0; how < ARRAY_SIZE(order) && !ktap_failing(); how++) {
		tfs_make(&t, 16 << 20, 100, 1);
		CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
		CHECK(!scmfs_reserve(t.fs, ino, 0, nr * 4096, 0, 5));
		for (i = 0; i < nr; i++)
			at[i] = how == 2 ? (nr - 1 - i) * 2 % nr + (i < nr / 2) : nr - 1 - i;
		for (i = nr; how == 1 && --i;) {
			j = get_random_u32() % (i + 1);
			swap(at[i], at[j]);
		}
		for (i = 0; i < nr; i++) {
			CHECK(!tfs_write(&t, ino, at[i] * 4096, 4096, 1 + at[i], 0));
			pieces = extents_of(ino, &blocks);
			most = how ? 2 * min(i + 1, nr - i) + 1 : 2;
			CHECK(blocks == nr - 1 - i && pieces <= most, "%s: %llu after %u",
			      order[how], pieces, i);
		}
		CHECK(extents_of(ino, &blocks) == 1 && !blocks, "%s", order[how]);
		for (i = 0; i < nr; i++)
			CHECK(all_are(ino, i * 4096, i * 4096 + 4096, 1 + i));
		CHECK(!scmfs_trim(t.fs, ino));
		tfs_check(&t);
		tfs_crash(&t);
		CHECK(!tfs_mount(&t, NULL) && all_are(ino, 4096, 8192, 2));
		tfs_free(&t);
	}
}

/* What was put in goes out again, and leaves one extent, or one and a chain, as before. */
static void inserted_and_gone(void)
{
	u64 ino, blocks, i;

	tfs_make(&t, 16 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	CHECK(!tfs_write(&t, ino, 0, 40 * 4096, 7, 0) && extents_of(ino, &blocks) == 1);
	CHECK(!scmfs_insert(t.fs, ino, 8192, 4096, 1) && extents_of(ino, &blocks) == 2);
	CHECK(!scmfs_collapse(t.fs, ino, 8192, 4096, 2) && extents_of(ino, &blocks) == 1);
	for (i = 0; i < 40; i++)
		CHECK(!scmfs_insert(t.fs, ino, i * 8192, 4096, 3));
	CHECK(extents_of(ino, &blocks) == 40);
	for (i = 0; i < 40; i++)
		CHECK(!scmfs_collapse(t.fs, ino, i * 4096, 4096, 4));
	CHECK(extents_of(ino, &blocks) == 1 && all_are(ino, 0, 40 * 4096, 7));
	/* what was reserved is not one with what was written */
	CHECK(!scmfs_trim(t.fs, ino) && !scmfs_reserve(t.fs, ino, 40 * 4096, 8192, 0, 5));
	i = extents_of(ino, &blocks);
	CHECK(!scmfs_insert(t.fs, ino, 40 * 4096, 4096, 6));
	CHECK(!scmfs_collapse(t.fs, ino, 40 * 4096, 4096, 6) && extents_of(ino, &blocks) == i);
	CHECK(blocks == 2 && all_are(ino, 0, 40 * 4096, 7) && all_are(ino, 40 * 4096, 42 * 4096, 0));
	tfs_check(&t);
	tfs_free(&t);
}

/* A range of many extents becomes zeroes step by step: who is killed leaves part of it. */
static void zeroing_killed(void)
{
	u64 ino, blocks, i;

	tfs_make(&t, 16 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	for (i = 40; i--;)
		CHECK(!tfs_write(&t, ino, i * 8192, 4096, 7, 0));
	shim_killed = true;
	CHECK(scmfs_zero(t.fs, ino, 0, 40 * 8192, 1) == -EINTR);
	shim_killed = false;
	extents_of(ino, &blocks);
	CHECK(blocks && blocks < 40, "%llu", blocks);
	tfs_check(&t);
	CHECK(!scmfs_zero(t.fs, ino, 0, 40 * 8192, 2) && all_are(ino, 0, 39 * 8192 + 4096, 0));
	tfs_check(&t);
	tfs_free(&t);
}

/* Its maps are those of the media, its log goes on behind what was there, and a crash recovers. */
static void made_writable(void)
{
	const char *reason;
	u64 ino;

	tfs_make(&t, 16 << 20, 100, 2);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	scmfs_node_clear(&t.node[1]);
	tfs_unmount(&t);
	CHECK(!scmfs_open(t.mem, t.size, SCMFS_OPEN_READ_ONLY, &t.fs, NULL, &reason), "%s", reason);
	CHECK(!scmfs_make_writable(t.fs, &reason));
	shim_task = 65;		/* of another lane */
	CHECK(!tfs_chmod(&t, "f", 0600) && !tfs_unlink(&t, "f"));
	CHECK(!tfs_make_node(&t, "g", S_IFREG | 0644, NULL, &ino));
	shim_task = 0;
	tfs_crash(&t);
	CHECK(!tfs_mount(&t, NULL));
	CHECK(tfs_find(&t, "f", &ino) == -ENOENT && !tfs_find(&t, "g", &ino));
	tfs_check(&t);
	tfs_free(&t);
}

static u64 clean_word(const void *mem)
{
	return le64_to_cpu(((const struct scmfs_state *)((const u8 *)mem + SCMFS_STATE_OFFSET))->clean);
}

/* It is as if it was closed, and nothing at all is stored until it is writable again. */
static void made_read_only(void)
{
	struct scmfs_state *state;
	struct scmfs *other;
	struct scmfs_recovery rec;
	const char *reason;
	u8 *copy;
	u64 ino;

	tfs_make(&t, 16 << 20, 100, 2);
	state = (void *)(t.mem + SCMFS_STATE_OFFSET);
	copy = aligned_alloc(4096, t.size);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino) && !tfs_write(&t, ino, 0, 5000, 7, 0));
	CHECK(!clean_word(t.mem));
	scmfs_make_read_only(t.fs);
	CHECK(clean_word(t.mem));
	memcpy(copy, t.mem, t.size);
	CHECK(!scmfs_open(copy, t.size, SCMFS_OPEN_READ_ONLY, &other, &rec, &reason) && rec.clean, "%s", reason);
	scmfs_abandon(other);
	CHECK(!scmfs_open(copy, t.size, 0, &other, &rec, &reason) && rec.clean && !rec.undo.undone, "%s", reason);
	scmfs_abandon(other);
	/* damage is told, and not noted */
	memcpy(copy, t.mem, t.size);
	scmfs_inode(t.fs, ino)->magic ^= cpu_to_le16(1);
	CHECK(scmfs_getattr(t.fs, ino, &(struct scmfs_attr){ 0 }) == -EUCLEAN && !scmfs_damage_seen(t.fs));
	scmfs_inode(t.fs, ino)->magic ^= cpu_to_le16(1);
	CHECK(!memcmp(copy, t.mem, t.size));
	/* writable again it is in use, and goes on with its log */
	CHECK(!scmfs_make_writable(t.fs, &reason) && !clean_word(t.mem));
	CHECK(le64_to_cpu(state->mounts) == 2, "%llu", le64_to_cpu(state->mounts));
	CHECK(!tfs_chmod(&t, "f", 0600) && !tfs_make_node(&t, "g", S_IFREG | 0644, NULL, &ino));
	CHECK(!tfs_unlink(&t, "f"));
	tfs_crash(&t);
	CHECK(!tfs_mount(&t, &rec) && !rec.clean && rec.inodes == 2);
	CHECK(tfs_find(&t, "f", &ino) == -ENOENT && !tfs_find(&t, "g", &ino));
	tfs_check(&t);
	/* closed while it is read-only, there is nothing to be stored */
	scmfs_make_read_only(t.fs);
	memcpy(copy, t.mem, t.size);
	tfs_unmount(&t);
	CHECK(!memcmp(copy, t.mem, t.size));
	CHECK(!tfs_mount(&t, &rec) && rec.clean);
	tfs_check(&t);
	free(copy);
	tfs_free(&t);
}

/* Without memory for the log it is as it was: closed. */
static void not_made_writable(void)
{
	const char *reason = "";
	u8 *copy;
	u64 ino;

	tfs_make(&t, 16 << 20, 100, 2);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	scmfs_node_clear(&t.node[1]);
	tfs_unmount(&t);
	copy = malloc(t.size);
	CHECK(!scmfs_open(t.mem, t.size, SCMFS_OPEN_READ_ONLY, &t.fs, NULL, &reason), "%s", reason);
	memcpy(copy, t.mem, t.size);
	shim_alloc_failed = false;
	shim_fail_alloc = 1;
	CHECK(scmfs_make_writable(t.fs, &reason) == -ENOMEM && shim_alloc_failed && *reason);
	shim_fail_alloc = 0;
	CHECK(clean_word(t.mem) == clean_word(copy));
	CHECK(!scmfs_make_writable(t.fs, &reason) && !clean_word(t.mem));
	tfs_check(&t);
	free(copy);
	tfs_free(&t);
}

/* Room that was reserved is not touched, reads as zeroes, and is told of; what is written isn't. */
static void unwritten(void)
{
	struct scmfs_seg seg;
	bool unwritten;
	u64 ino, blocks, i;

	tfs_make(&t, 16 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	CHECK(!scmfs_reserve(t.fs, ino, 0, 400000, 0, 5) && all_are(ino, 0, 400000, 0));
	CHECK(!scmfs_report(t.fs, ino, 5000, 400000, &seg, &unwritten) && unwritten);
	CHECK(t.mem[seg.at] == 0x5a && t.mem[seg.at + 100000] == 0x5a, "it was touched");
	CHECK(extents_of(ino, &blocks) == 1 && blocks == 98);
	/* in the middle: three extents, and zeroes beside it */
	CHECK(!tfs_write(&t, ino, 201000, 1000, 7, 0) && all_are(ino, 201000, 202000, 7));
	CHECK(all_are(ino, 0, 201000, 0) && all_are(ino, 202000, 400000, 0));
	CHECK(extents_of(ino, &blocks) == 3 && blocks == 97);
	CHECK(!scmfs_report(t.fs, ino, 201000, 1000, &seg, &unwritten) && !unwritten);
	/* from the start on: it grows, up to what was written there */
	for (i = 0; i < 400000; i += 1000)
		CHECK(!tfs_write(&t, ino, i, 1000, 8, i % 3 ? 0 : SCMFS_WRITE_ATOMIC));
	CHECK(all_are(ino, 0, 400000, 8) && extents_of(ino, &blocks) < 120 && !blocks);
	CHECK(!scmfs_zero(t.fs, ino, 100, 300000, 9) && all_are(ino, 100, 300100, 0));
	CHECK(all_are(ino, 0, 100, 8) && all_are(ino, 300100, 400000, 8));
	extents_of(ino, &blocks);
	CHECK(blocks == 72, "%llu", blocks);
	/* who is to store without asking gets zeroed ones */
	CHECK(!scmfs_reserve(t.fs, ino, 0, 400000, SCMFS_RESERVE_ZEROED, 10));
	extents_of(ino, &blocks);
	CHECK(!blocks && all_are(ino, 100, 300100, 0) && all_are(ino, 0, 100, 8));
	tfs_check(&t);
	tfs_free(&t);
}

/* What was reserved can be written to although there is no block left for more extents. */
static void reserved_when_full(void)
{
	u64 ino, filler, at, before, after;
	int r = 0;
	u32 i;

	tfs_make(&t, 8 << 20, 256, 4);
	CHECK(!tfs_make_node(&t, "f", 0100644, NULL, &ino) &&
	      !tfs_make_node(&t, "filler", 0100644, NULL, &filler));
	CHECK(!scmfs_reserve(t.fs, ino, 0, 400000, 0, 5));
	for (at = 0; !tfs_write(&t, filler, at, 4096, 1, 0); at += 4096)
		;
	for (i = 0; i < 8 && r != -ENOSPC; i++)
		r = tfs_write(&t, ino, 4096 + i * 8192 + 100, 3000, 7, SCMFS_WRITE_NOT_AROUND);
	extents_of(ino, &before);
	CHECK(r == -ENOSPC && before == 98 - (i - 1), "%u: %d, %llu reserved", i, r, before);
	shim_killed = true;
	CHECK(tfs_write(&t, ino, 4096 + i * 8192 + 100, 3000, 7, 0) == -EINTR, "who is killed leaves");
	shim_killed = false;
	extents_of(ino, &after);
	CHECK(after == before);
	for (i = 0; i < 40; i++)
		if (!CHECK(!tfs_write(&t, ino, 4096 + i * 8192 + 100, 3000, 7, 0), "%u", i))
			break;
	for (i = 0; i < 40; i++) {
		u64 start = 4096 + i * 8192 + 100;

		if (!CHECK(all_are(ino, start - 4196, start, 0) && all_are(ino, start, start + 3000, 7), "%u", i))
			break;
	}
	CHECK(all_are(ino, 4096 + 39 * 8192 + 3100, 400000, 0));
	tfs_check(&t);
	tfs_free(&t);
}

static u64 reserved_ino, reserved_from;

static int reserve_zeroed(void)
{
	return scmfs_reserve(t.fs, reserved_ino, reserved_from, 1 << 20, SCMFS_RESERVE_ZEROED, 5);
}

/* What is reserved as zeroes is zeroed once, be it a hole, or reserved before. */
static void zeroed_once(void)
{
	u32 flags[] = { 0, SCMFS_RESERVE_KEEP_SIZE, SCMFS_RESERVE_KEEP_SIZE | SCMFS_RESERVE_ZEROED };
	u64 stored;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		tfs_make(&t, 16 << 20, 100, 1);
		CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &reserved_ino));
		reserved_from = 0;
		if (flags[i])
			CHECK(!scmfs_reserve(t.fs, reserved_ino, 0, 3 << 20, flags[i], 5));
		stored = stored_by(reserve_zeroed);
		CHECK(stored == 1 << 20, "%llu bytes stored, case %u", stored, i);
		reserved_from = 1 << 20;
		stored = stored_by(reserve_zeroed);
		CHECK(stored == 1 << 20, "%llu bytes stored behind that, case %u", stored, i);
		stored = stored_by(reserve_zeroed);
		CHECK(!stored, "%llu bytes stored once more, case %u", stored, i);
		CHECK(all_are(reserved_ino, (2 << 20) - 400000, 2 << 20, 0));
		tfs_check(&t);
		tfs_free(&t);
	}
}

/*
 * What lies behind the size may hold anything: in the block of the last byte, before what is
 * reserved, in it.
 */
static void old_bytes_reserved(void)
{
	const u32 kept = SCMFS_RESERVE_KEEP_SIZE | SCMFS_RESERVE_ZEROED;
	struct scmfs_seg seg;
	u64 ino;

	tfs_make(&t, 16 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	CHECK(!scmfs_reserve(t.fs, ino, 0, 400000, kept, 5));
	CHECK(!tfs_write(&t, ino, 0, 5000, 7, 0) && mapped(ino) >= 400000);
	CHECK(!scmfs_map_part(t.fs, ino, 0, 400000, &seg) && seg.len == 400000);
	memset(t.mem + seg.at + 5000, 0xee, 395000);
	CHECK(!scmfs_reserve(t.fs, ino, 100000, 200000, SCMFS_RESERVE_ZEROED, 6));
	CHECK(all_are(ino, 0, 5000, 7) && all_are(ino, 5000, 300000, 0));
	CHECK(!scmfs_reserve(t.fs, ino, 200000, 200000, SCMFS_RESERVE_ZEROED, 6));
	CHECK(all_are(ino, 0, 5000, 7) && all_are(ino, 5000, 400000, 0));
	tfs_check(&t);
	tfs_free(&t);
}

/* A file system from before there were unwritten extents gets none. */
static void without_unwritten(void)
{
	struct scmfs_format_params p = { .uuid = { 1 }, .without = SCMFS_INCOMPAT_UNWRITTEN };
	u64 ino, blocks;

	tfs_make(&t, 16 << 20, 100, 1);
	tfs_crash(&t);
	CHECK(!scmfs_format(t.mem, t.size, &p) && !tfs_mount(&t, NULL));
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	CHECK(!scmfs_reserve(t.fs, ino, 0, 400000, 0, 5) && all_are(ino, 0, 400000, 0));
	CHECK(!tfs_write(&t, ino, 0, 400000, 7, 0) && !scmfs_zero(t.fs, ino, 0, 400000, 5));
	CHECK(all_are(ino, 0, 400000, 0) && extents_of(ino, &blocks) == 1 && !blocks);
	tfs_check(&t);
	tfs_free(&t);
}

/* ---- extended attributes -------------------------------------------------------------------- */

#define ATTRS	6u
#define HOLDERS	3u

struct m_attr {
	bool there;
	u32 len;
	u8 fill;
};

static struct m_attr attr[HOLDERS][ATTRS];
static u64 holder[HOLDERS];
static u32 attrs_full;

static const struct {
	u32 index;
	const char *name;
} attr_name[ATTRS] = {
	{ SCMFS_XATTR_USER, "a" }, { SCMFS_XATTR_USER, "b" }, { SCMFS_XATTR_TRUSTED, "a" },
	{ SCMFS_XATTR_SECURITY, "selinux" }, { SCMFS_XATTR_ACL_ACCESS, "" },
	{ SCMFS_XATTR_USER, "a-name-that-is-as-long-as-most-people-would-never-think-of-to-type" },
};

static int count_attr(void *ctx, u32 index, const char *name, u32 len, u32 value_len)
{
	++*(u32 *)ctx;
	return 0;
}

static void attrs_same(u32 h)
{
	static u8 value[SCMFS_MAX_XATTR_VALUE];
	u32 i, j, nr = 0, want = 0;

	for (i = 0; i < ATTRS; i++) {
		const struct m_attr *m = &attr[h][i];
		int r = scmfs_xattr_get(t.fs, holder[h], attr_name[i].index, attr_name[i].name,
					strlen(attr_name[i].name), value, sizeof(value));

		want += m->there;
		if (!CHECK(r == (m->there ? (int)m->len : -ENODATA), "%d, not %u", r, m->len))
			return;
		for (j = 0; m->there && j < m->len; j++)
			if (!CHECK(value[j] == m->fill))
				return;
	}
	CHECK(!scmfs_xattr_list(t.fs, holder[h], count_attr, &nr) && nr == want);
}

static void change_attr(void)
{
	static const u32 lengths[] = { 0, 1, 7, 8, 100, 4000, 4056, 5000, 30000, 65536 };
	static u8 value[SCMFS_MAX_XATTR_VALUE];
	u32 h = rnd(HOLDERS), i = rnd(ATTRS), len = lengths[rnd(ARRAY_SIZE(lengths))], flags = rnd(3);
	struct m_attr *m = &attr[h][i];
	const struct scmfs_attr a = { .ctime = ++t.now, .mode = len & 0777 };
	struct scmfs_xattr x = { .index = attr_name[i].index, .name = attr_name[i].name,
		.name_len = strlen(attr_name[i].name), .value_len = len };
	struct scmfs_attr now;
	u8 fill = 1 + rnd(255);
	int r, want = 0;

	memset(value, fill, len);
	if (rnd(3))
		x.value = value;
	if (!x.value || flags == SCMFS_XATTR_REPLACE)
		want = m->there ? 0 : -ENODATA;
	else if (flags == SCMFS_XATTR_CREATE && m->there)
		want = -EEXIST;
	r = scmfs_xattr_set(t.fs, holder[h], &x, flags, &a, SCMFS_SET_CTIME | SCMFS_SET_MODE);
	CHECK(!scmfs_getattr(t.fs, holder[h], &now));
	CHECK((now.ctime == t.now) == !r);
	if (r == -ENOSPC || r == -E2BIG) {
		attrs_full++;
		return;
	}
	CHECK(r == want, "%d, not %d", r, want);
	if (!r) {
		*m = (struct m_attr){ x.value, len, fill };
		CHECK((now.mode & 0777) == (len & 0777));
	}
}

static void attributes_in(u64 size)
{
	const struct scmfs_xattr first[] = {
		{ .index = SCMFS_XATTR_USER, .name = "a", .name_len = 1, .value = "xxx", .value_len = 3 },
		{ .index = SCMFS_XATTR_ACL_ACCESS, .value = "yyyy", .value_len = 4 },
	};
	struct scmfs_new new = { .mode = S_IFREG | 0644, .xattr = first, .nr_xattrs = 2 };
	struct scmfs_statfs st;
	u64 free_before;
	u32 i, h;

	tfs_make(&t, size, 100, 1);
	memset(attr, 0, sizeof(attr));
	CHECK(!tfs_make_node(&t, "d", S_IFDIR | 0755, NULL, &holder[1]));
	CHECK(!tfs_make_node(&t, "s", S_IFLNK | 0777, "there", &holder[2]));
	scmfs_statfs(t.fs, &st);
	free_before = st.free;
	CHECK(!scmfs_create(t.fs, &t.node[1], "f", 1, &new, &holder[0]));
	attr[0][0] = (struct m_attr){ true, 3, 'x' };
	attr[0][4] = (struct m_attr){ true, 4, 'y' };
	attrs_same(0);
	for (i = 0; i < 1500 && !ktap_failing(); i++) {
		change_attr();
		attrs_same(rnd(HOLDERS));
		if (rnd(100))
			continue;
		tfs_check(&t);
		tfs_crash(&t);
		CHECK(!tfs_mount(&t, NULL));
		for (h = 0; h < HOLDERS; h++)
			attrs_same(h);
	}
	tfs_check(&t);
	CHECK(!tfs_unlink(&t, "f") && !tfs_rmdir(&t, "d") && !tfs_unlink(&t, "s"));
	scmfs_statfs(t.fs, &st);
	CHECK(st.free >= free_before, "%llu of %llu", st.free, free_before);
	tfs_free(&t);
}

static void attributes(void)
{
	attributes_in(4 << 20);
}

static void attributes_full(void)
{
	attrs_full = 0;
	attributes_in(320 << 10);
	CHECK(attrs_full > 20 && attrs_full < 1000, "%u times", attrs_full);
}

/* A file that loses its last block of extents keeps its attributes, and one that is too old gets none. */
static void attributes_beside(void)
{
	struct scmfs_format_params p = { .uuid = { 1 }, .without = SCMFS_INCOMPAT_XATTR };
	struct scmfs_attr a;
	u64 ino, i;
	u8 byte[2];

	tfs_make(&t, 16 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	CHECK(!tfs_set_attr(&t, ino, "x", 7, 2));
	for (i = 40; i; i--)
		CHECK(!tfs_write(&t, ino, i * 8192, 100, 1, 0));
	CHECK(!scmfs_truncate(t.fs, ino, 0, 9) && !scmfs_getattr(t.fs, ino, &a) && a.blocks == 1);
	CHECK(scmfs_xattr_get(t.fs, ino, SCMFS_XATTR_USER, "x", 1, byte, 1) == -ERANGE);
	CHECK(scmfs_xattr_get(t.fs, ino, SCMFS_XATTR_USER, "x", 1, NULL, 0) == 2);
	CHECK(tfs_set_attr(&t, ino, "", 7, 2) == -EINVAL);
	tfs_check(&t);
	tfs_crash(&t);
	CHECK(!scmfs_format(t.mem, t.size, &p) && !tfs_mount(&t, NULL));
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	CHECK(tfs_set_attr(&t, ino, "x", 7, 2) == -EOPNOTSUPP && !scmfs_has_xattrs(t.fs));
	tfs_free(&t);
}

/* Text in the region; NULL: it isn't there. */
static u8 *find_text(const char *text)
{
	return memmem(t.mem, t.size, text, strlen(text));
}

/* What an operation that met damage has left is @as_it_was. */
static void nothing_else(const u8 *as_it_was, const char *what)
{
	CHECK(!memcmp(t.mem + le64_to_cpu(scmfs_super(t.fs)->inode_offset),
		      as_it_was + le64_to_cpu(scmfs_super(t.fs)->inode_offset),
		      t.size - le64_to_cpu(scmfs_super(t.fs)->inode_offset)), "%s", what);
}

static bool count_name(void *ctx, const char *name, u32 len, u64 ino, u32 type, u64 cookie)
{
	++*(u32 *)ctx;
	return true;
}

/* Of @ino's names those before damage are handed out once, and then it is all damage. */
static void read_to_damage(u64 ino, u32 before)
{
	u64 cookie = 0, at;
	u32 names = 0;

	CHECK(scmfs_readdir(t.fs, &t.node[ino], &cookie, count_name, &names) == -EUCLEAN);
	CHECK(names == before, "%u names, not %u", names, before);
	at = cookie;
	names = 0;
	CHECK(scmfs_readdir(t.fs, &t.node[ino], &cookie, count_name, &names) == -EUCLEAN);
	CHECK(!names && cookie == at, "%u names once more", names);
}

/*
 * In an image that was made for it a directory's block is some file's content as well: its names
 * change when it has its index already. Each of them by its last word, one that would take more
 * slots than are left in its block.
 */
static void names_change(void)
{
	u8 *before = malloc(4 << 20), *ent;
	char name[20];
	u64 ino;
	u32 i;

	tfs_make(&t, 4 << 20, 500, 1);
	CHECK(!tfs_make_node(&t, "d", S_IFDIR | 0755, NULL, &ino));
	for (i = 0; i < 2 * SCMFS_SLOTS_PER_BLOCK; i++) {
		sprintf(name, "d/name%u", i);
		CHECK(!tfs_make_node(&t, name, S_IFREG | 0644, NULL, NULL));
	}
	for (i = 0; i < 2 * SCMFS_SLOTS_PER_BLOCK && !ktap_failing(); i++) {
		sprintf(name, "d/name%u", i);
		ent = find_text(name + 2) - SCMFS_SLOT_NAME;
		ent[7] = i % 2 ? 0 : 2 + get_random_u32() % 254;
		memcpy(before, t.mem, t.size);
		CHECK(tfs_find(&t, name, &ino) == -EUCLEAN, "%s", name);
		CHECK(tfs_unlink(&t, name) == -EUCLEAN, "%s", name);
		CHECK(tfs_rename(&t, name, "d/other", 0) == -EUCLEAN, "%s", name);
		if (CHECK(!tfs_find(&t, "d", &ino)))
			read_to_damage(ino, i);
		nothing_else(before, name);
		ent[7] = 1;
	}
	tfs_check(&t);
	tfs_free(&t);
	free(before);
}

/* Likewise extents that an index tells of. */
static void extents_change(void)
{
	u8 *before = malloc(4 << 20);
	struct scmfs_seg seg[4];
	struct scmfs_map *map;
	u64 ino, block;
	bool unwritten;
	u32 i;

	tfs_make(&t, 4 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	for (i = 0; i < 20; i++)
		CHECK(!tfs_write(&t, ino, i * 8192, 100, 3, 0));
	CHECK(scmfs_map(t.fs, ino, 0, 1 << 20, seg, 4) == 4);
	map = (struct scmfs_map *)(t.mem + le64_to_cpu(scmfs_inode(t.fs, ino)->map) * SCMFS_BLOCK_SIZE);
	for (i = 0; i < SCMFS_MAP_EXTENTS && !ktap_failing(); i++) {
		u64 file = (u32)le64_to_cpu(map->extent[i].second) * 4096ULL;

		if (!map->extent[i].second)
			continue;
		block = map->extent[i].block;
		map->extent[i].block = cpu_to_le64(get_random_u64() | 1ULL << (22 + get_random_u32() % 40));
		memcpy(before, t.mem, t.size);
		CHECK(scmfs_map(t.fs, ino, file, 100, seg, 4) == -EUCLEAN);
		CHECK(scmfs_map_part(t.fs, ino, file, file + 100, seg) == -EUCLEAN);
		CHECK(scmfs_report(t.fs, ino, file, 100, seg, &unwritten) == -EUCLEAN);
		CHECK(tfs_write(&t, ino, file, 100, 3, 0) == -EUCLEAN);
		CHECK(scmfs_collapse(t.fs, ino, 0, 4096, 1) == -EUCLEAN);
		CHECK(scmfs_punch(t.fs, ino, file, 4096, 1) == -EUCLEAN);
		nothing_else(before, "extents");
		map->extent[i].block = block;
	}
	tfs_check(&t);
	tfs_free(&t);
	free(before);
}

/*
 * Likewise between the two halves of a write to reserved room, where all is full and the rest of
 * its extent is to be zeroed: the extent is in front of what was written, behind it, or ends in it.
 */
static void extent_changes_in_write(void)
{
	static const s64 moved[] = { 40, -40, 2, -2 };
	u8 *before = malloc(8 << 20), bytes[8192] = { 0 };
	struct scmfs_extent *place;
	struct scmfs_write w;
	u64 ino, filler, at;
	struct scmfs_ext e;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(moved) && !ktap_failing(); i++) {
		tfs_make(&t, 8 << 20, 256, 4);
		CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
		CHECK(!tfs_make_node(&t, "filler", S_IFREG | 0644, NULL, &filler));
		CHECK(!tfs_write(&t, filler, 0, 400000, 1, 0));
		for (at = 0; at < SCMFS_INLINE_EXTENTS; at++)	/* no place is left */
			CHECK(!scmfs_reserve(t.fs, ino, at << 20, 16384, SCMFS_RESERVE_KEEP_SIZE, 5));
		for (at = 400000; !tfs_write(&t, filler, at, 4096, 1, 0); at += 4096)
			;
		at = (3 << 20) + (moved[i] < 0 ? 2 : 1) * 4096;
		CHECK(!scmfs_write_begin(t.fs, ino, at, sizeof(bytes) / 2, 0, &w));
		CHECK(w.nr == 1 && w.unwritten == 1);
		memcpy(t.mem + w.seg[0].at, bytes, sizeof(bytes) / 2);
		for (place = scmfs_inode(t.fs, ino)->extent;; place++) {
			e = scmfs_ext_of(le64_to_cpu(place->block), le64_to_cpu(place->second));
			if (e.file == 3 << 8)
				break;
		}
		place->block = cpu_to_le64((e.block + moved[i]) | SCMFS_UNWRITTEN);
		memcpy(before, t.mem, t.size);
		CHECK(scmfs_write_end(t.fs, &w, w.len, 6) == -EUCLEAN, "%lld", moved[i]);
		nothing_else(before, "a write to what is no longer around it");
		tfs_free(&t);
	}
	free(before);
}

/* More bytes than a file can have, so many that rounding up to blocks would pass 0. */
static void sizes(void)
{
	struct scmfs_inode *inode;
	struct scmfs_seg seg[2];
	struct scmfs_write w;
	struct scmfs_attr a;
	bool unwritten;
	__le64 *word;
	u64 ino;
	u32 i;

	tfs_make(&t, 4 << 20, 100, 1);
	CHECK(!tfs_make_node(&t, "f", S_IFREG | 0644, NULL, &ino));
	CHECK(!tfs_write(&t, ino, 0, 100000, 3, 0));
	inode = scmfs_inode(t.fs, ino);
	for (i = 0; i < 2 * 4094; i += 1 + get_random_u32() % 500) {
		word = i % 2 ? &inode->size : &inode->kept;
		a.size = *word;
		*word = cpu_to_le64(-1ULL - i / 2);
		CHECK(scmfs_map(t.fs, ino, 8192, 100, seg, 2) == -EUCLEAN);
		CHECK(scmfs_map_part(t.fs, ino, 8192, 0, seg) == -EUCLEAN);
		CHECK(scmfs_report(t.fs, ino, 8192, 100, seg, &unwritten) == -EUCLEAN);
		CHECK(scmfs_write_begin(t.fs, ino, 0, 100, 0, &w) == -EUCLEAN);
		CHECK(scmfs_trim(t.fs, ino) == -EUCLEAN && !scmfs_has_room_ahead(t.fs, ino));
		*word = a.size;
	}
	CHECK(scmfs_map_part(t.fs, ino, 8192, 8192, seg) == -EINVAL);
	CHECK(!scmfs_getattr(t.fs, ino, &a) && a.blocks == 25, "%llu blocks", a.blocks);
	tfs_check(&t);
	tfs_free(&t);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("scmfs: random operations do what a model says", model);
	ktap_run("scmfs: the same where space runs out", model_full);
	ktap_run("scmfs: at most 2 fences for create, 3 for rename", fences);
	ktap_run("scmfs: an overwrite has 2 fences, 1 in the same tick as the last one", overwrites);
	ktap_run("scmfs: an append in the same tick makes no transaction", short_appends);
	ktap_run("scmfs: idle files take no memory but bits", memory);
	ktap_run("scmfs: readdir tells of each name once, whatever happens beside", cookies);
	ktap_run("scmfs: a large directory costs as little as a small one", million);
	ktap_run("scmfs: a name that comes and goes is found as fast as before", comes_and_goes);
	ktap_run("scmfs: runs of more blocks than an int has", long_runs);
	ktap_run("scmfs: each CPU takes from places of its own, and of others if there is no more",
		 each_cpu);
	ktap_run("scmfs: what two files have is free once", freed_twice);
	ktap_run("scmfs: what is not formatted, foreign, damaged or too small is refused", refused);
	ktap_run("scmfs: data=atomic: of a write cut short the rest is as it was", atomic_short);
	ktap_run("scmfs: nobody stores to bad memory", bad_is_untouched);
	ktap_run("scmfs: nor does a size grow over what can't be zeroed", bad_is_not_grown_over);
	ktap_run("scmfs: nor copies from it", bad_edges);
	ktap_run("scmfs: nor is it given to anybody", bad_is_aside);
	ktap_run("scmfs: bad memory in a directory costs the names that are there", bad_directory);
	ktap_run("scmfs: where extents are kept, those of one file", bad_extents);
	ktap_run("scmfs: what can be taken out of such a file is told before", cut_is_told);
	ktap_run("scmfs: where that is known before, nobody gets them", bad_before);
	ktap_run("scmfs: so it is with attributes and links", bad_attributes);
	ktap_run("scmfs: an append cut short shows nothing of what was there before", short_append);
	ktap_run("scmfs: stores behind the end are not seen when it grows", grow_over_stores);
	ktap_run("scmfs: maps that would give the file system's own blocks out are refused",
		 maps_of_its_own);
	ktap_run("scmfs: times that were noted elsewhere don't go back", touched);
	ktap_run("scmfs: what blocks would not help is told apart", too_many);
	ktap_run("scmfs: what was reserved stays, room ahead does not", reserved);
	ktap_run("scmfs: what the size passes without a write is a hole", ahead_is_no_room);
	ktap_run("scmfs: room ahead leaves others room", ahead_leaves_room);
	ktap_run("scmfs: and gives way to what describes an extent", ahead_gives_way);
	ktap_run("scmfs: a huge page is all there, or nothing of it", huge_or_nothing);
	ktap_run("scmfs: after a cut it is given back", ahead_ends_with_a_cut);
	ktap_run("scmfs: an inode that the map calls free is told of once", used_number);
	ktap_run("scmfs: names that were chosen for their hash are found like others", chosen_names);
	ktap_run("scmfs: a write that fails leaves nothing behind the end", failed_append);
	ktap_run("scmfs: a fault that fails zeroes nothing behind the end", failed_fault);
	ktap_run("scmfs: a write that has room for its front is a short one", short_write);
	ktap_run("scmfs: a hole that there is no room for is zeroes", punch_when_full);
	ktap_run("scmfs: what is written with holes between leaves units whole", holes_between);
	ktap_run("scmfs: ranges put in and taken out again leave no extents", inserted_and_gone);
	ktap_run("scmfs: who is killed while zeroing leaves part of it", zeroing_killed);
	ktap_run("scmfs: what is reserved as zeroes is zeroed once", zeroed_once);
	ktap_run("scmfs: reserved room shows nothing that was behind the size", old_bytes_reserved);
	ktap_run("scmfs: what was opened to be read can become writable", made_writable);
	ktap_run("scmfs: what becomes read-only is as if it was closed", made_read_only);
	ktap_run("scmfs: what can't become writable stays closed", not_made_writable);
	ktap_run("scmfs: what was reserved is unwritten until it is written", unwritten);
	ktap_run("scmfs: what was reserved can be written to when all is full", reserved_when_full);
	ktap_run("scmfs: reserved room that is written in any order is one", written_in_any_order);
	ktap_run("scmfs: one that was made without unwritten extents stays so", without_unwritten);
	ktap_run("scmfs: attributes are what was set last", attributes);
	ktap_run("scmfs: the same where there is no room for them", attributes_full);
	ktap_run("scmfs: attributes beside what else an inode has", attributes_beside);
	ktap_run("scmfs: sizes that can't be are damage", sizes);
	ktap_run("scmfs: names that change under their index are damage", names_change);
	ktap_run("scmfs: so are extents", extents_change);
	ktap_run("scmfs: so is one that changes while it is written to", extent_changes_in_write);
	ktap_run("scmfs: what is told to be given back is not looked at again", given_back);
	ktap_run("scmfs: an idle file takes little memory", idle);
	ktap_run("scmfs: no memory is an error that changes nothing", no_memory);
	return ktap_done();
}
