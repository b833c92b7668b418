// SPDX-License-Identifier: GPL-2.0-only
/* Files of lost ranges, on images that mke2fs makes; where their blocks are is debugfs's word. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../ext_files.h"
#include "../ext_meta.h"
#include "../msg.h"
#include "ktap.h"

#define NAME	"x\ny"		/* a name that is no line */
#define BLOCKS	4096

static char dir[KTAP_NAME], image[KTAP_NAME + 8], what[32];
static unsigned int block_size;
static uint64_t offset;
static unsigned long long block[BLOCKS];

__attribute__((format(printf, 1, 2)))
static bool run(const char *fmt, ...)
{
	char command[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	return !system(command);
}

/* Files a, of two blocks, d/b, of a hundred, and many in e, in a file system of these options. */
static bool make(const char *name, unsigned int size, uint64_t at, const char *options)
{
	snprintf(what, sizeof(what), "%s", name);
	block_size = size;
	offset = at;
	return ktap_ok(run("rm -rf %s/t %s && mkdir -p %s/t/d && cd %s/t && "
			   "head -c %u /dev/urandom >a && head -c %u /dev/urandom >d/b && "
			   "head -c 100 /dev/urandom >\"$(printf 'd/x\\ny')\" && "
			   "mkdir e && for i in $(seq 100 299); do "
			   "echo 1 >e/$i-of-all-of-these-files-whose-names-take-some-room; done && "
			   "truncate -s 64M %s && mke2fs -q -F -b %u -E offset=%llu,nodiscard %s -d . %s %u",
			   dir, image, dir, dir, 2 * size, 100 * size, image, size,
			   (unsigned long long)at, options, image, (48 << 20) / size),
		       "%s: made", what);
}

/* The blocks of a file into block[], in the order in which they are found; how many. */
static int blocks_of(const char *path)
{
	char command[256];
	FILE *p;
	int n = 0;

	snprintf(command, sizeof(command), "debugfs -R 'blocks %s' '%s?offset=%llu' 2>/dev/null",
		 path, image, (unsigned long long)offset);
	p = popen(command, "re");
	while (n < BLOCKS && fscanf(p, "%llu", &block[n]) == 1)
		n++;
	pclose(p);
	return n;
}

static void lose(struct ranges *r, unsigned long long nr)
{
	ranges_add(r, offset + nr * block_size, block_size);
	ranges_settle(r);
}

static const struct ext_file *named(const struct ext_files *f, const char *path)
{
	unsigned long i;

	for (i = 0; i < f->nr; i++)
		if (f->file[i].path && !strcmp(f->file[i].path, path))
			return &f->file[i];
	return NULL;
}

static int find(struct ext_files *f, struct ranges *r, unsigned long limit)
{
	int err = ext_files_find(f, image, offset, r, limit, 0, true);

	ranges_free(r);
	return err;
}

static uint64_t parts(const struct ext_files *f)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < EXT_NR_PARTS; i++)
		sum += f->part[i];
	return sum;
}

/* One block of a file: that file and nothing else. */
static void test_file(void)
{
	struct ranges r = { 0 };
	const struct ext_file *b;
	struct ext_files f;

	ktap_ok(blocks_of("/d/b") >= 100, "%s: debugfs knows its blocks", what);
	lose(&r, block[5]);
	ktap_ok(!find(&f, &r, 10), "%s: looked through", what);
	b = named(&f, "/d/b");
	ktap_ok(b && f.nr == 1 && f.all == 1 && !parts(&f) && !f.partly,
		"%s: that file alone", what);
	ktap_ok(b && b->lost == block_size && !b->map && b->size == 100 * block_size &&
		!strcmp(b->type, "file"), "%s: as much as is lost", what);
	ext_files_free(&f);

	blocks_of("/d/b");
	lose(&r, block[99]);
	blocks_of("/a");
	lose(&r, block[0]);
	lose(&r, block[1]);
	ktap_ok(blocks_of("\"/d/" NAME "\"") == 1, "%s: an odd name", what);
	lose(&r, block[0]);
	ktap_ok(!find(&f, &r, 2) && f.nr == 2 && f.all == 3, "%s: no more than asked for", what);
	ext_files_free(&f);
	ktap_ok(!find(&f, &r, 2) && !f.all && !parts(&f),
		"%s: nothing is lost, nothing found", what);
	ext_files_free(&f);
}

/* Who has no time left is told so, and has nothing read for him. */
static void test_late(void)
{
	struct ranges r = { 0 };
	struct ext_files f;

	blocks_of("/d/b");
	lose(&r, block[5]);
	ktap_ok(!ext_files_find(&f, image, offset, &r, 10, 1, true) && f.partly && !f.all,
		"%s: too late", what);
	ranges_free(&r);
	ext_files_free(&f);
}

/* A directory's block: what is in there has no name, the directory has. */
static void test_directory(void)
{
	struct ranges r = { 0 };
	const struct ext_file *d;
	struct ext_files f;
	unsigned long i, nameless = 0;

	blocks_of("/d/b");
	lose(&r, block[0]);
	blocks_of("/d");
	lose(&r, block[0]);
	ktap_ok(!find(&f, &r, 10), "%s: looked through", what);
	d = named(&f, "/d");
	for (i = 0; i < f.nr; i++)
		nameless += !f.file[i].path && f.file[i].lost == block_size;
	ktap_ok(d && !strcmp(d->type, "directory") && f.nr == 2 && nameless == 1 && f.partly,
		"%s: a directory, and a file that has no name", what);
	ext_files_free(&f);
}

/* The root's: its own name needs no directory. */
static void test_root(void)
{
	struct ranges r = { 0 };
	struct ext_files f;

	blocks_of("/");
	lose(&r, block[0]);
	ktap_ok(!find(&f, &r, 10) && named(&f, "/") && f.nr == 1, "%s: the root", what);
	ext_files_free(&f);
}

/* The first block of what dumpe2fs has behind @key. */
static unsigned long long block_at(const char *key)
{
	unsigned long long nr = 0;
	char command[256];
	FILE *p;

	snprintf(command, sizeof(command),
		 "dumpe2fs '%s?offset=%llu' 2>/dev/null | sed -n 's/.*%s at \\([0-9]*\\).*/\\1/p' | head -n 1",
		 image, (unsigned long long)offset, key);
	p = popen(command, "re");
	if (fscanf(p, "%llu", &nr) != 1)
		nr = 0;
	pclose(p);
	return nr;
}

/* Some inodes are lost; those in the block before are not. */
static void test_inodes(void)
{
	unsigned long long nr = 0;
	struct ranges r = { 0 };
	struct ext_files f;
	char command[256];
	FILE *p;

	snprintf(command, sizeof(command),
		 "debugfs -R 'imap /d/b' '%s?offset=%llu' 2>/dev/null | sed -n 's/.*located at block \\([0-9]*\\),.*/\\1/p'",
		 image, (unsigned long long)offset);
	p = popen(command, "re");
	ktap_ok(fscanf(p, "%llu", &nr) == 1, "%s: its inode", what);
	pclose(p);
	lose(&r, nr + 1);
	blocks_of("/d/b");
	lose(&r, block[5]);
	ktap_ok(!find(&f, &r, 10) && named(&f, "/d/b") && named(&f, "/d/b")->lost == block_size &&
		f.partly, "%s: an inode beside those that are lost", what);
	ext_files_free(&f);
}

static void test_own(void)
{
	static const struct {
		const char *key;
		enum ext_part part;
	} own[] = {
		{ "Group descriptors", EXT_DESCRIPTORS }, { "Block bitmap", EXT_BLOCK_BITMAP },
		{ "Inode bitmap", EXT_INODE_BITMAP }, { "Inode table", EXT_INODE_TABLE },
	};
	struct ranges r = { 0 };
	struct ext_files f;
	unsigned int i;

	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		unsigned long long nr = block_at(own[i].key);

		lose(&r, nr);
		ktap_ok(nr && !find(&f, &r, 10) && f.part[own[i].part] == block_size &&
			parts(&f) == block_size && !f.all && f.partly == (i == 3),
			"%s: %s at %llu", what, ext_part_name[own[i].part], nr);
		ext_files_free(&f);
	}
	test_inodes();
	if (!blocks_of("<8>"))
		return;
	lose(&r, block[1]);
	ktap_ok(!find(&f, &r, 10) && f.part[EXT_JOURNAL] == block_size && !f.all,
		"%s: journal", what);
	ext_files_free(&f);
}

/* What is to lie on the fastest member: metadata, and nothing else. */
static void test_meta(void)
{
	static const char * const key[] = {
		"Primary superblock", "Group descriptors", "Block bitmap", "Inode bitmap",
		"Inode table"
	};
	struct ranges r = { 0 };
	unsigned int i;
	int nr;

	ktap_ok(!ext_meta_find(image, block_size, &r), "%s: its metadata", what);
	for (i = 0; i < sizeof(key) / sizeof(key[0]); i++)
		ktap_ok(ranges_overlap(&r, block_at(key[i]), 1) == 1, "%s: metadata: %s", what,
			key[i]);
	nr = blocks_of("<8>");
	for (i = 0; i < nr && ranges_overlap(&r, block[i], 1); i++)
		;
	ktap_ok(i == nr, "%s: metadata: the journal's %d blocks", what, nr);
	nr = blocks_of("/d/b");
	for (i = 0; i < nr && !ranges_overlap(&r, block[i], 1); i++)
		;
	ktap_ok(i == nr, "%s: metadata: no file", what);
	ranges_free(&r);
}

/* The block with an ext2 file's further blocks: what can't be reached isn't counted, but told. */
static void test_indirect(void)
{
	struct ranges r = { 0 };
	const struct ext_file *b;
	struct ext_files f;

	blocks_of("/d/b");
	lose(&r, block[12]);
	ktap_ok(!find(&f, &r, 10), "%s: looked through", what);
	b = named(&f, "/d/b");
	ktap_ok(b && f.nr == 1 && b->map == block_size && !b->lost && f.partly,
		"%s: a part of its map", what);
	ext_files_free(&f);
}

/* A directory of several blocks, of which the first is lost: the names in the others are found. */
static void test_names(void)
{
	char command[256], name[256] = "/e/";
	struct ranges r = { 0 };
	const struct ext_file *last;
	struct ext_files f;
	FILE *p;

	snprintf(command, sizeof(command),
		 "debugfs -R 'ls -p /e' %s 2>/dev/null | sed -n 's|.*/\\([0-9][^/]*\\)/[0-9]*/$|\\1|p' | tail -n 1",
		 image);
	p = popen(command, "re");
	ktap_ok(fscanf(p, "%200s", name + 3) == 1, "%s: its last name", what);
	pclose(p);
	ktap_ok(blocks_of("/e") > 2, "%s: a large directory", what);
	lose(&r, block[0]);
	ktap_ok(blocks_of(name) == 1, "%s: one of its files", what);
	lose(&r, block[0]);
	ktap_ok(!find(&f, &r, 10), "%s: looked through", what);
	last = named(&f, name);
	ktap_ok(named(&f, "/e") && last && last->lost == block_size && f.nr == 2,
		"%s: a name that is not in the part that is lost", what);
	ext_files_free(&f);
}

/* Every second block is a hole: more extents than a block of the tree has. */
static bool write_holes(void)
{
	char path[KTAP_NAME + 8], data[4096];
	bool good = true;
	FILE *f;
	int i;

	snprintf(path, sizeof(path), "%s/s", dir);
	f = fopen(path, "we");
	for (i = 0; i < 1000; i++) {
		memset(data, i % 2 ? 0 : 1, sizeof(data));
		good &= fwrite(data, sizeof(data), 1, f) == 1;
	}
	return !fclose(f) && good &&
	       run("debugfs -w -R 'write %s s' %s >/dev/null 2>&1", path, image);
}

/* The first block of its tree is lost, and one that another leads to. */
static void test_tree(void)
{
	struct ranges r = { 0 };
	const struct ext_file *s;
	struct ext_files f;
	unsigned long long tree = 0;
	char command[256];
	FILE *p;
	int nr;

	ktap_ok(write_holes(), "%s: a file with holes", what);
	snprintf(command, sizeof(command),
		 "debugfs -R 'stat /s' %s 2>/dev/null | sed -n 's/.*(ETB0):\\([0-9]*\\), (0).*/\\1/p'",
		 image);
	p = popen(command, "re");
	ktap_ok(fscanf(p, "%llu", &tree) == 1, "%s: with a tree", what);
	pclose(p);
	nr = blocks_of("/s");
	lose(&r, tree);
	lose(&r, block[nr - 1]);
	ktap_ok(nr >= 500 && !find(&f, &r, 10), "%s: looked through", what);
	s = named(&f, "/s");
	ktap_ok(s && f.nr == 1 && s->map == block_size && s->lost == block_size,
		"%s: its tree, and what the rest of it leads to", what);
	ext_files_free(&f);
}

/* The first superblock is gone: its copy does. */
static void test_copy(void)
{
	struct ranges r = { 0 };
	struct ext_files f;

	blocks_of("/d/b");
	lose(&r, block[5]);
	lose(&r, 0);
	lose(&r, 1);
	lose(&r, 2);
	ktap_ok(run("dd if=/dev/zero of=%s bs=%u count=3 seek=%llu conv=notrunc status=none", image,
		    block_size, (unsigned long long)offset / block_size), "%s: wiped", what);
	ktap_ok(!find(&f, &r, 10) && named(&f, "/d/b") && named(&f, "/d/b")->lost == block_size &&
		f.part[EXT_SUPER] && f.part[EXT_DESCRIPTORS], "%s: found by a copy", what);
	ext_files_free(&f);
	/* What is no file system, and is not lost, isn't taken for what was there before. */
	ktap_ok(find(&f, &r, 10), "%s: none", what);
}

int main(void)
{
	ktap_begin();
	if (!mkdtemp(ktap_name(dir, "/tmp")))
		return 1;
	snprintf(image, sizeof(image), "%s/image", dir);
	if (make("ext4", 4096, 0, "-t ext4 -g 4096")) {
		test_file();
		test_late();
		test_directory();
		test_root();
		test_own();
		test_names();
		test_tree();
		test_meta();
	}
	if (make("ext4 behind", 4096, 1 << 20, "-t ext4"))
		test_file();
	if (make("ext2", 1024, 0, "-t ext2")) {
		test_file();
		test_directory();
		test_own();
		test_names();
		test_indirect();
		test_meta();
		test_copy();
	}
	if (make("ext4 of copies", 1024, 4096, "-t ext4 -O ^64bit"))
		test_copy();
	run("rm -rf %s", dir);
	return ktap_end();
}
