// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <sys/stat.h>
#include "engine_internal.h"
#include "ktap.h"
#include "scmfs_lib.h"

int tfs_mount(struct tfs *t, struct scmfs_recovery *rec)
{
	const char *reason = NULL;
	int r = scmfs_open(t->mem, t->size, 0, &t->fs, rec, &reason);

	CHECK(!r || *reason);
	return r;
}

static void clear(struct tfs *t)
{
	unsigned int i;

	for (i = 0; i < TFS_INODES; i++) {
		scmfs_node_clear(&t->node[i]);
		t->node[i].ino = i;
	}
	memset(t->open, 0, sizeof(t->open));
}

void tfs_make(struct tfs *t, u64 size, u64 inodes, u32 lanes)
{
	struct scmfs_format_params p = { .nr_inodes = inodes,
		.lanes = lanes, .now = 1, .uuid = { 1 } };

	memset(t, 0, sizeof(*t));
	t->mem = aligned_alloc(4096, size);
	t->size = size;
	t->now = 1000;
	memset(t->mem, 0x5a, size);
	CHECK(!scmfs_format(t->mem, size, &p));
	clear(t);
	CHECK(!tfs_mount(t, NULL));
}

void tfs_unmount(struct tfs *t)
{
	unsigned int i;

	for (i = 0; i < TFS_INODES; i++) {
		if (t->open[i]) {
			t->open[i] = 0;
			scmfs_release(t->fs, i);
		}
	}
	clear(t);
	scmfs_close(t->fs);
	t->fs = NULL;
}

void tfs_crash(struct tfs *t)
{
	clear(t);
	scmfs_abandon(t->fs);
	t->fs = NULL;
}

void tfs_free(struct tfs *t)
{
	tfs_crash(t);
	free(t->mem);
}

void tfs_drop(struct tfs *t, u64 ino)
{
	struct scmfs_attr a;

	if (t->open[ino] || scmfs_getattr(t->fs, ino, &a) || a.links)
		return;
	scmfs_node_clear(&t->node[ino]);
	scmfs_release(t->fs, ino);
}

/* The directory of a path, and its last part. */
static int parent(struct tfs *t, const char *path, struct scmfs_node **dir, const char **last)
{
	const char *slash;
	u64 ino = SCMFS_ROOT_INO;
	int r;

	while ((slash = strchr(path, '/'))) {
		r = scmfs_lookup(t->fs, &t->node[ino], path, slash - path, &ino);
		if (r)
			return r;
		path = slash + 1;
	}
	*dir = &t->node[ino];
	*last = path;
	return 0;
}

int tfs_find(struct tfs *t, const char *path, u64 *ino)
{
	struct scmfs_node *dir;
	const char *last;
	int r = parent(t, path, &dir, &last);

	*ino = SCMFS_ROOT_INO;
	return r || !*path ? r : scmfs_lookup(t->fs, dir, last, strlen(last), ino);
}

static s64 tick(struct tfs *t)
{
	return t->still ? t->now : ++t->now;
}

int tfs_make_node(struct tfs *t, const char *path, u32 mode, const char *target, u64 *ino)
{
	struct scmfs_new new = { .mode = mode, .uid = 3, .gid = 4, .now = tick(t) };
	struct scmfs_node *dir;
	const char *last;
	u64 ignored;
	int r = parent(t, path, &dir, &last);

	if (S_ISCHR(mode))
		new.rdev = 0x501;
	if (target) {
		new.target = target;
		new.target_len = strlen(target);
	}
	return r ? r : scmfs_create(t->fs, dir, last, strlen(last), &new, ino ? ino : &ignored);
}

int tfs_link(struct tfs *t, const char *old, const char *path)
{
	struct scmfs_node *dir;
	const char *last;
	u64 ino;
	int r = tfs_find(t, old, &ino);

	if (!r)
		r = parent(t, path, &dir, &last);
	return r ? r : scmfs_link(t->fs, dir, last, strlen(last), ino, tick(t));
}

int tfs_unlink(struct tfs *t, const char *path)
{
	struct scmfs_node *dir;
	const char *last;
	u64 ino;
	int r = parent(t, path, &dir, &last);

	if (!r)
		r = scmfs_unlink(t->fs, dir, last, strlen(last), tick(t), &ino);
	if (!r)
		tfs_drop(t, ino);
	return r;
}

int tfs_rmdir(struct tfs *t, const char *path)
{
	struct scmfs_node *dir;
	const char *last;
	u64 ino;
	int r = tfs_find(t, path, &ino);

	if (!r)
		r = parent(t, path, &dir, &last);
	if (!r)
		r = scmfs_rmdir(t->fs, dir, last, strlen(last), &t->node[ino], tick(t));
	if (!r)
		tfs_drop(t, ino);
	return r;
}

int tfs_rename_leave(struct tfs *t, const char *from, const char *to, unsigned int flags, u64 ino)
{
	struct scmfs_rename a = { .whiteout = ino }, b = { 0 };
	const char *last;
	u64 old = 0, new = 0;
	int r = parent(t, from, &a.dir, &last);

	if (r)
		return r;
	a.name = last;
	a.len = strlen(last);
	r = parent(t, to, &b.dir, &last);
	if (r)
		return r;
	b.name = last;
	b.len = strlen(last);
	tfs_find(t, from, &old);
	b.node = NULL;
	if (!tfs_find(t, to, &new))
		b.node = &t->node[new];
	a.node = &t->node[old];
	r = scmfs_rename(t->fs, &a, &b, flags, tick(t));
	if (!r && new && new != old)
		tfs_drop(t, new);
	return r;
}

int tfs_rename(struct tfs *t, const char *from, const char *to, unsigned int flags)
{
	return tfs_rename_leave(t, from, to, flags, 0);
}

int tfs_chmod(struct tfs *t, const char *path, u32 mode)
{
	struct scmfs_attr a = { .mode = mode, .uid = mode, .gid = mode + 1, .ctime = ++t->now };
	u64 ino;
	int r = tfs_find(t, path, &ino);

	return r ? r : scmfs_setattr(t->fs, ino, &a, SCMFS_SET_MODE | SCMFS_SET_UID |
				     SCMFS_SET_GID | SCMFS_SET_CTIME);
}

int tfs_set_attr(struct tfs *t, u64 ino, const char *name, int fill, u32 len)
{
	const struct scmfs_attr a = { .ctime = ++t->now };
	struct scmfs_xattr x = { .index = SCMFS_XATTR_USER, .name = name, .name_len = strlen(name),
		.value_len = len };
	u8 *value = malloc(len + 1);
	int r;

	memset(value, fill, len + 1);
	if (fill)
		x.value = value;
	r = scmfs_xattr_set(t->fs, ino, &x, 0, &a, SCMFS_SET_CTIME);
	free(value);
	return r;
}

/* Is that in blocks which have bytes of the file, in one piece? The caller of the engine may know. */
static bool find_known(struct tfs *t, u64 ino, u64 offset, u64 len, struct scmfs_seg *seg)
{
	struct scmfs_attr a;

	if (scmfs_getattr(t->fs, ino, &a) || offset > a.size ||
	    offset + len > round_up(a.size, SCMFS_BLOCK_SIZE))
		return false;
	return !scmfs_map_part(t->fs, ino, offset, offset + len, seg) && seg->at != SCMFS_HOLE &&
		seg->len == len;
}

static int begin_write(struct tfs *t, u64 ino, u64 offset, u64 len, bool knows, unsigned int flags,
		       struct scmfs_write *w)
{
	struct scmfs_seg seg;

	if (flags || !knows || !find_known(t, ino, offset, len, &seg))
		return scmfs_write_begin(t->fs, ino, offset, len, flags, w);
	scmfs_write_known(ino, &seg, w);
	return 0;
}

int tfs_write(struct tfs *t, u64 ino, u64 offset, u64 len, int fill, unsigned int flags)
{
	struct scmfs_write w;
	unsigned int i;
	u8 *bytes;
	int r;

	for (; len; offset += w.len, len -= w.len) {
		r = begin_write(t, ino, offset, len, fill % 2, flags, &w);
		if (r)
			return r;
		for (i = 0; i < w.nr; i++) {
			bytes = malloc(w.seg[i].len);
			memset(bytes, fill, w.seg[i].len);
			scm_copy_nt(t->mem + w.seg[i].at, bytes, w.seg[i].len);
			free(bytes);
		}
		r = scmfs_write_end(t->fs, &w, w.len, tick(t));
		if (r)
			return r;
	}
	return 0;
}

int tfs_fault(struct tfs *t, u64 ino, u64 offset, u64 len)
{
	struct scmfs_write w;
	int r = scmfs_write_begin(t->fs, ino, offset, len, SCMFS_WRITE_KEEP_SIZE, &w);

	return r ? r : scmfs_write_end(t->fs, &w, w.nr == 1 ? w.len : 0, tick(t));
}

int tfs_read(struct tfs *t, u64 ino, u64 offset, u64 len, u8 *to)
{
	struct scmfs_seg seg[4];
	u64 from = offset, end = offset + len;
	int i, n;

	while (offset < end) {
		n = scmfs_map(t->fs, ino, offset, end - offset, seg, ARRAY_SIZE(seg));
		if (n <= 0)
			return n ? n : -EIO;
		for (i = 0; i < n; i++, offset += seg[i - 1].len) {
			if (seg[i].file != offset)
				return -EIO;
			if (seg[i].at == SCMFS_HOLE)
				memset(to + (offset - from), 0, seg[i].len);
			else
				memcpy(to + (offset - from), t->mem + seg[i].at, seg[i].len);
		}
	}
	return 0;
}

/* ---- what can be seen ----------------------------------------------------------------------- */

struct list {
	char **line;
	size_t nr, room;
};

static void add_line(struct list *l, char *line)
{
	if (l->nr == l->room) {
		l->room = 2 * l->room + 16;
		l->line = realloc(l->line, l->room * sizeof(char *));
	}
	l->line[l->nr++] = line;
}

struct entry {
	char name[256];
	u64 ino;
	u32 type;
};

struct entries {
	struct entry *e;
	size_t nr, room;
};

static bool emit(void *ctx, const char *name, u32 len, u64 ino, u32 type, u64 cookie)
{
	struct entries *all = ctx;

	if (all->nr == all->room) {
		all->room = 2 * all->room + 16;
		all->e = realloc(all->e, all->room * sizeof(*all->e));
	}
	memcpy(all->e[all->nr].name, name, len);
	all->e[all->nr].name[len] = 0;
	all->e[all->nr].ino = ino;
	all->e[all->nr++].type = type;
	return true;
}

/* By words: most of the time of the enumeration of cuts is this. */
u64 tfs_sum(u64 h, const void *data, size_t len)
{
	const u8 *p = data;
	u64 word;

	for (; len; p += min_t(size_t, len, 8), len -= min_t(size_t, len, 8)) {
		word = len;
		memcpy(&word, p, min_t(size_t, len, 8));
		h ^= word;
		h = (h << 29 | h >> 35) * 0x9e3779b97f4a7c15ULL;
	}
	return h;
}

static u64 content(struct tfs *t, u64 ino, const struct scmfs_attr *a)
{
	u64 h = TFS_SUM, at, n;
	static u8 buf[65536];
	const char *target;

	if (S_ISLNK(a->mode)) {
		int len = scmfs_target(t->fs, ino, &target);

		CHECK(len == a->size);
		return len > 0 ? tfs_sum(h, target, len) : h;
	}
	/* of a size that damage has made, the front */
	for (at = 0; S_ISREG(a->mode) && at < min_t(u64, a->size, 2 << 20); at += n) {
		n = min_t(u64, a->size - at, sizeof(buf));
		if (!CHECK(!tfs_read(t, ino, at, n, buf)))
			return 0;
		h = tfs_sum(h, buf, n);
	}
	return h;
}

struct attrs {
	struct tfs *t;
	u64 ino;
	u64 sum;	/* in any order */
	u32 nr;
};

static int sum_attr(void *ctx, u32 index, const char *name, u32 len, u32 value_len)
{
	static u8 value[SCMFS_MAX_XATTR_VALUE];
	struct attrs *a = ctx;
	u64 h = index;

	a->nr++;
	CHECK(scmfs_xattr_get(a->t->fs, a->ino, index, name, len, value, sizeof(value)) ==
	      value_len);
	a->sum += tfs_sum(tfs_sum(h, name, len), value, value_len);
	return 0;
}

static void show_attrs(struct tfs *t, u64 ino, char *text)
{
	struct attrs a = { .t = t, .ino = ino };

	CHECK(!scmfs_xattr_list(t->fs, ino, sum_attr, &a));
	*text = 0;
	if (a.nr)
		sprintf(text, " attributes %u %llx", a.nr, a.sum);
}

static bool show_dir(struct tfs *t, struct list *l, const char *path, u64 ino, u64 up, int depth);

static bool show_entry(struct tfs *t, struct list *l, const char *path, const struct entry *e,
		       u64 dir, int depth)
{
	struct scmfs_attr a;
	char *line, *full, attrs[64];

	if (!CHECK(!scmfs_getattr(t->fs, e->ino, &a), "%s/%s has no inode", path, e->name))
		return false;
	if (!CHECK(IFTODT(a.mode) == e->type, "%s/%s", path, e->name))
		return false;
	show_attrs(t, e->ino, attrs);
	if (asprintf(&full, "%s/%s", path, e->name) < 0 ||
	    asprintf(&line, "%s %llu mode %o links %u own %u %u dev %x size %llu times %lld %lld %lld content %llx%s\n",
		     full, e->ino, a.mode, a.links, a.uid, a.gid, a.rdev,
		     S_ISDIR(a.mode) ? 0 : a.size, a.mtime, a.ctime, a.btime,
		     content(t, e->ino, &a), attrs) < 0)
		abort();
	add_line(l, line);
	if (S_ISDIR(a.mode) && !show_dir(t, l, full, e->ino, dir, depth + 1)) {
		free(full);
		return false;
	}
	free(full);
	return true;
}

static bool show_dir(struct tfs *t, struct list *l, const char *path, u64 ino, u64 up, int depth)
{
	struct entries all = { 0 };
	struct scmfs_attr a;
	u64 cookie = 0, found;
	bool ok;
	size_t i;

	ok = CHECK(depth < 64) && CHECK(!scmfs_getattr(t->fs, ino, &a) && a.parent == up,
					"%s: parent %llu", path, a.parent) &&
		CHECK(!scmfs_readdir(t->fs, &t->node[ino], &cookie, emit, &all), "%s", path);
	for (i = 0; ok && i < all.nr; i++) {
		struct entry *e = &all.e[i];

		ok = CHECK(!scmfs_lookup(t->fs, &t->node[ino], e->name, strlen(e->name), &found) &&
			   found == e->ino, "%s/%s", path, e->name) &&
			show_entry(t, l, path, e, ino, depth);
	}
	free(all.e);
	return ok;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char **)a, *(char **)b);
}

char *tfs_show(struct tfs *t)
{
	struct list l = { 0 };
	size_t i, len = 0;
	struct scmfs_attr a;
	char *text = NULL, *line;
	bool ok;

	CHECK(!scmfs_getattr(t->fs, SCMFS_ROOT_INO, &a));
	if (asprintf(&line, "/ mode %o links %u times %lld %lld\n", a.mode, a.links, a.mtime,
		     a.ctime) < 0)
		abort();
	add_line(&l, line);
	ok = show_dir(t, &l, "", SCMFS_ROOT_INO, SCMFS_ROOT_INO, 0);
	qsort(l.line, l.nr, sizeof(char *), compare);
	for (i = 0; i < l.nr; i++)
		len += strlen(l.line[i]);
	if (ok)
		text = calloc(1, len + 1);
	for (i = 0, len = 0; i < l.nr; i++) {
		if (ok)
			len += sprintf(text + len, "%s", l.line[i]);
		free(l.line[i]);
	}
	free(l.line);
	return text;
}

/* ---- what must hold ------------------------------------------------------------------------- */

static unsigned long *seen_blocks;
static u64 nr_seen;

static int see(struct scmfs *fs, u64 block, u64 count)
{
	u64 i;

	if (!CHECK(scmfs_run_ok(fs, block, count), "block %llu + %llu", block, count))
		return -EUCLEAN;
	for (i = block; i < block + count; i++) {
		if (!CHECK(!test_bit(i, seen_blocks), "block %llu belongs to two", i))
			return -EUCLEAN;
		CHECK(test_bit(i, fs->block_map), "block %llu is in use and free", i);
		__set_bit(i, seen_blocks);
	}
	nr_seen += count;
	return 0;
}

static void count_names(struct tfs *t, u64 ino, u32 *refs, u32 *subdirs)
{
	struct entries all = { 0 };
	u64 cookie = 0;
	size_t i;

	CHECK(!scmfs_readdir(t->fs, &t->node[ino], &cookie, emit, &all));
	for (i = 0; i < all.nr; i++) {
		refs[all.e[i].ino]++;
		subdirs[ino] += all.e[i].type == DT_DIR;
	}
	free(all.e);
}

int tfs_check(struct tfs *t)
{
	static u32 refs[TFS_INODES], subdirs[TFS_INODES];
	struct scmfs_statfs st;
	struct scmfs_attr a;
	u64 ino, live = 0, had;

	memset(refs, 0, sizeof(refs));
	memset(subdirs, 0, sizeof(subdirs));
	seen_blocks = calloc(t->fs->nr_blocks / 64 + 1, 8);
	nr_seen = 0;
	for (ino = 1; ino < t->fs->nr_inodes; ino++)
		if (!scmfs_getattr(t->fs, ino, &a) && S_ISDIR(a.mode) && a.links)
			count_names(t, ino, refs, subdirs);
	for (ino = 1; ino < t->fs->nr_inodes && !ktap_failing(); ino++) {
		if (scmfs_getattr(t->fs, ino, &a))
			continue;
		live++;
		had = nr_seen;
		CHECK(!scmfs_each_run(t->fs, scmfs_inode(t->fs, ino), see), "inode %llu", ino);
		CHECK(nr_seen - had == a.blocks, "inode %llu has %llu blocks, says %llu", ino,
		      nr_seen - had, a.blocks);
		CHECK(test_bit(ino, t->fs->inode_map), "inode %llu is in use and free", ino);
		if (S_ISDIR(a.mode))
			CHECK(!a.links || a.links == 2 + subdirs[ino], "directory %llu: %u links",
			      ino, a.links);
		else
			CHECK(a.links == refs[ino], "inode %llu: %u links, %u names", ino, a.links,
			      refs[ino]);
		if (S_ISDIR(a.mode) && a.links)
			CHECK(refs[ino] == (ino != SCMFS_ROOT_INO), "directory %llu: %u names", ino,
			      refs[ino]);
	}
	scmfs_statfs(t->fs, &st);
	CHECK(st.blocks - st.free == nr_seen, "%llu blocks used, %llu seen", st.blocks - st.free,
	      nr_seen);
	CHECK(st.inodes - st.free_inodes == live);
	free(seen_blocks);
	return ktap_failing();
}
