// SPDX-License-Identifier: GPL-2.0-only
/* A store on a device whose power goes at every call; and catalogues that lie. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "../../tools/common/configfs.h"
#include "../../tools/nlstore/import.h"
#include "ktap.h"
#include "nlstore/fake.h"

#define FILES 6

static struct ns_store store;
static bool tidies;	/* who fails to commit a tree frees its blocks */

static uint64_t state;

static uint32_t any(uint32_t below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % below;
}

/* File @i of tree @version: how many blocks, and what a block of it holds. Some stay as they are. */
static uint32_t version_of(uint32_t i, uint32_t version)
{
	return i % 3 ? version : version / 2;
}

static uint32_t blocks_in(uint32_t i, uint32_t version)
{
	return (i * 5 + version_of(i, version) * 3) % 9;
}

static void fill(uint8_t *block, uint32_t i, uint32_t version, uint32_t at)
{
	uint32_t w, word[4] = { i, version_of(i, version), at, 0x73746f72 };

	for (w = 0; w < FAKE_BLOCK; w += sizeof(word))
		memcpy(block + w, word, sizeof(word));
}

static struct ns_node *add(struct ns_tree *tree, const char *path, enum ns_type type)
{
	struct ns_node *node = tree_add(tree, path);

	node->type = type;
	node->mode = 0644;
	return node;
}

/* Files that are as they were keep their blocks; the others are written. */
static int add_file(struct ns_tree *tree, uint32_t i, uint32_t version)
{
	uint8_t data[16 * FAKE_BLOCK];
	const struct ns_node *old;
	struct ns_node *node;
	char path[32];
	uint32_t at;

	snprintf(path, sizeof(path), "d/%u", i);
	old = tree_find(&store.tree, path);
	node = add(tree, path, NS_FILE);
	node->blocks = blocks_in(i, version);
	node->size = node->blocks * (uint64_t)FAKE_BLOCK;
	node->mtime = version_of(i, version);
	node->piece = calloc(16, sizeof(*node->piece));
	if (old && old->mtime == node->mtime) {
		memcpy(node->piece, old->piece, old->blocks * sizeof(*old->piece));
		return 0;
	}
	for (at = 0; at < node->blocks; at++)
		fill(data + at * FAKE_BLOCK, i, version, at);
	return node->blocks ? store_write(&store, data, node->blocks, node->piece) : 0;
}

/* Tree @version takes the place of the one that there is. */
static int commit_tree(uint32_t version)
{
	struct ns_tree tree = { 0 };
	uint32_t i;
	int err = 0;

	add(&tree, "", NS_DIRECTORY);
	add(&tree, "d", NS_DIRECTORY);
	for (i = 0; !err && i < FILES; i++) {
		err = add_file(&tree, i, version);
		if (!err)
			err = store_tend(&store);
	}
	if (!err)
		err = store_replace(&store, &tree);
	if (err && tidies)
		store_forget(&store);
	tree_free(&tree);
	return err;
}

/* Is what the store holds tree @version? */
static bool is_tree(uint32_t version)
{
	uint8_t data[16 * FAKE_BLOCK], block[FAKE_BLOCK];
	const struct ns_node *node;
	unsigned int bad;
	char path[32];
	uint32_t i, at;

	if (store.tree.nr != (version ? FILES + 2 : 1))
		return false;
	for (i = 0; version && i < FILES; i++) {
		snprintf(path, sizeof(path), "d/%u", i);
		node = tree_find(&store.tree, path);
		if (!node || node->blocks != blocks_in(i, version) ||
		    node->mtime != version_of(i, version) ||
		    store_read(&store, node->piece, node->blocks, data, &bad))
			return false;
		for (at = 0; at < node->blocks; at++) {
			fill(block, i, version, at);
			if (memcmp(block, data + at * FAKE_BLOCK, FAKE_BLOCK))
				return false;
		}
	}
	return true;
}

/* Blocks of tree @version, and nothing else of this store. */
static bool nothing_is_left(unsigned int foreign)
{
	return fake_valid() == store.map.used + foreign;
}

static void begins(void)
{
	fake_reset(ktap_seed, 0);
	CHECK(store_open(&store, "a", true) == -ENODATA);
	CHECK(!fake_open());
	CHECK(!store_format("a", false));
	CHECK(store_format("a", false) == -EEXIST);
	CHECK(!store_open(&store, "a", true));
	CHECK(store.generation == 1 && is_tree(0));
	CHECK(!commit_tree(1) && is_tree(1) && !store_close(&store));
	CHECK(!store_open(&store, "a", false) && is_tree(1) && store.generation == 2);
	CHECK(store_replace(&store, &store.tree) == -EBADF);
	CHECK(!store_close(&store));
	CHECK(!store_format("a", true) && !fake_valid());
}

/* Trees come and go, blocks move all the time; nothing is left over, and no one else's is touched. */
static void moves(void)
{
	uint32_t version;

	fake_reset(ktap_seed, 3);
	CHECK(!store_format("a", false));
	fake_add_foreign(20);
	for (version = 1; version < 60 && !ktap_failing(); version++) {
		CHECK(!store_open(&store, "a", true), "%u", version);
		CHECK(store.foreign == 20 && !store.missing && !store.orphans);
		CHECK(is_tree(version - 1), "%u before", version);
		CHECK(!commit_tree(version) && is_tree(version), "%u", version);
		CHECK(nothing_is_left(20), "%u", version);
		CHECK(!store_close(&store));
		CHECK(!store_open(&store, "a", false) && is_tree(version) && !store_close(&store));
	}
	CHECK(fake_moved() > 100);
}

/* One process that goes on: what it acknowledged it must not use any more. */
static void stays(void)
{
	uint32_t version;

	fake_reset(ktap_seed, 2);
	CHECK(!store_format("a", false) && !store_open(&store, "a", true));
	for (version = 1; version < 80 && !ktap_failing(); version++)
		CHECK(!commit_tree(version) && is_tree(version), "%u", version);
	CHECK(fake_moved() > 200 && fake_waiting() < 2 * NS_MOVES);
	CHECK(!store_close(&store) && !fake_waiting());
}

/* The store with tree 1 in it, closed. */
static void make_store(void)
{
	fake_reset(ktap_seed, 0);
	CHECK(!store_format("a", false) && !store_open(&store, "a", true));
	CHECK(!commit_tree(1) && !store_close(&store));
}

static void damage(void)
{
	uint8_t data[16 * FAKE_BLOCK];
	struct ns_node *node;
	unsigned int bad = 99;

	fake_reset(ktap_seed, 0);
	CHECK(!store_format("a", false) && !store_open(&store, "a", true));
	CHECK(!commit_tree(1) && is_tree(1));
	fake_spoil(0);
	CHECK(!is_tree(1));
	node = tree_find(&store.tree, "d/1");
	node->piece[2].serial = 12345;
	CHECK(store_read(&store, node->piece, node->blocks, data, &bad) == -EUCLEAN);
	CHECK(bad <= 2);
	CHECK(!store_close(&store));
}

/* What comes before a block that can't be read is held against its checksum, too. */
static void damage_before(void)
{
	uint8_t data[16 * FAKE_BLOCK];
	const struct ns_node *node;
	unsigned int bad = 99;

	make_store();
	CHECK(!store_open(&store, "a", false));
	node = tree_find(&store.tree, "d/1");
	CHECK(node->blocks > 4);
	fake_lose_serial(node->piece[3].serial);
	CHECK(store_read(&store, node->piece, node->blocks, data, &bad) == -EUCLEAN && bad == 3);
	fake_spoil_serial(node->piece[1].serial);
	CHECK(store_read(&store, node->piece, node->blocks, data, &bad) == -EUCLEAN && bad == 1);
	CHECK(!store_close(&store));
}

/* One that moved while names were listed is there by its old name; one that is gone is not. */
static void missing(void)
{
	make_store();
	fake_lazy();
	fake_move(30);
	fake_unlisted();
	CHECK(!store_open(&store, "a", true) && is_tree(1) && !store.missing);
	CHECK(!store_close(&store));

	make_store();
	fake_lose(3);
	CHECK(!store_open(&store, "a", false) && store.missing == 1 && !is_tree(1));
	CHECK(!store_close(&store));
	CHECK(!store_open(&store, "a", true) && store.missing == 1 && nothing_is_left(0));
	CHECK(!store_close(&store));
}

/* What can't be read is this block's damage: others are read, and the store can be changed. */
static void unreadable(void)
{
	uint8_t data[16 * FAKE_BLOCK];
	const struct ns_node *node;
	unsigned int bad = 99;

	make_store();
	CHECK(!store_open(&store, "a", false));
	node = tree_find(&store.tree, "d/1");
	CHECK(node->blocks > 3);
	fake_wear_out_serial(node->piece[2].serial);
	CHECK(store_read(&store, node->piece, node->blocks, data, &bad) == -EUCLEAN && bad == 2);
	CHECK(!store_close(&store));
	CHECK(!store_open(&store, "a", true) && store.missing == 1);
	CHECK(!commit_tree(2) && is_tree(2) && !store_close(&store));
	CHECK(!store_open(&store, "a", true) && is_tree(2) && !store.missing);
	CHECK(!store_close(&store));
}

/* --- folders ---------------------------------------------------------------------------------- */

static char folder[] = "/tmp/test_nlstore.XXXXXX";

struct configfs configfs = { .tool = "nlstore" };

int complain(const char *fmt, ...)
{
	(void)fmt;
	return 1;
}

/* Nothing changed so lately that it may change again within the same tick. */
time_t __wrap_time(time_t *at)
{
	(void)at;
	return 1ULL << 40;
}

off_t __real_lseek(int fd, off_t at, int whence);

static bool grows;	/* a file that is found to have no more data gets some */

off_t __wrap_lseek(int fd, off_t at, int whence)
{
	off_t found = __real_lseek(fd, at, whence);
	int err = errno, file;
	char path[32];

	if (!grows || whence != SEEK_DATA || found >= 0)
		return found;
	grows = false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file = open(path, O_WRONLY | O_APPEND);
	CHECK(file >= 0 && write(file, "more", 4) == 4);
	close(file);
	errno = err;
	return found;
}

int __real_openat(int above, const char *name, int flags, ...);

/* Before @meddled is opened for the @meddle_at-th time something happens to it. */
static const char *meddled;
static unsigned int meddle_at;
static void (*meddle)(const char *name);
static int meddle_err;	/* of that open() then */
static const char *unmounted;	/* who enters it is told that it is not there */

int __wrap_openat(int above, const char *name, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (meddled && !strcmp(name, meddled) && meddle_at && !--meddle_at)
		meddle(name);
	if (unmounted && !strcmp(name, unmounted)) {
		errno = ENOENT;
		return -1;
	}
	if (meddle_err) {
		errno = meddle_err;
		meddle_err = 0;
		return -1;
	}
	return __real_openat(above, name, flags, mode);
}

ssize_t __real_getxattr(const char *path, const char *name, void *value, size_t room);

static bool list_goes;	/* between being found and being read */

ssize_t __wrap_getxattr(const char *path, const char *name, void *value, size_t room)
{
	ssize_t bytes = __real_getxattr(path, name, value, room);

	if (list_goes && bytes > 0) {
		list_goes = false;
		CHECK(!removexattr(path, name));
	}
	return bytes;
}

int __real_fstatfs(int fd, struct statfs *fs);

static uint32_t fs_type = EXT4_SUPER_MAGIC;	/* of all files; 0: as it is */

int __wrap_fstatfs(int fd, struct statfs *fs)
{
	int err = __real_fstatfs(fd, fs);

	if (fs_type)
		fs->f_type = fs_type;
	return err;
}

int __real_sync_file_range(int fd, off_t from, off_t bytes, unsigned int flags);

static bool not_synced;

int __wrap_sync_file_range(int fd, off_t from, off_t bytes, unsigned int flags)
{
	if (!not_synced)
		return __real_sync_file_range(fd, from, bytes, flags);
	errno = EIO;
	return -1;
}

static void make_folder(void)
{
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	CHECK(mkdtemp(folder) && !chdir(folder));
}

static void drop_folder(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	CHECK(!chdir("/") && !system(command));
}

/* File @name, which is @blocks of them, none of zeros, no two the same. */
static void make_file(const char *name, unsigned int blocks)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
	uint8_t data[FAKE_BLOCK];
	unsigned int i;

	for (i = 0; i < blocks; i++) {
		fill(data, i, 1, i);
		CHECK(write(fd, data, sizeof(data)) == sizeof(data));
	}
	close(fd);
}

/* Is all of @name in the store? */
static bool is_kept(const char *name, unsigned int blocks)
{
	const struct ns_node *node = tree_find(&store.tree, name);
	uint8_t data[FAKE_BLOCK], block[FAKE_BLOCK];
	unsigned int i, bad;

	if (!node || node->size != (uint64_t)blocks * FAKE_BLOCK || node->blocks != blocks)
		return false;
	for (i = 0; i < blocks; i++) {
		fill(block, i, 1, i);
		if (store_read(&store, &node->piece[i], 1, data, &bad) ||
		    memcmp(data, block, sizeof(block)))
			return false;
	}
	return true;
}

static void import(struct ns_import *result)
{
	*result = (struct ns_import){ 0 };
	CHECK(!store_open(&store, "a", true) && !import_folder(&store, ".", false, result));
}

static void reread(struct ns_import *result)
{
	*result = (struct ns_import){ 0 };
	CHECK(!store_open(&store, "a", true) && !import_folder(&store, ".", true, result));
}

/* A file that has not changed is not read; but for blocks that the device has lost. */
static void imports(void)
{
	struct ns_import result;

	make_folder();
	fake_reset(ktap_seed, 0);
	make_file("f", 3);
	make_file("g", 1);
	CHECK(!store_format("a", false));
	import(&result);
	CHECK(result.written == 4 && !result.unchanged && is_kept("f", 3) && !store_close(&store));
	import(&result);
	CHECK(!result.written && result.unchanged == 2 && !store_close(&store));
	fake_lose(1);
	import(&result);
	CHECK(store.missing == 1 && result.written == 1 && result.unchanged == 1);
	CHECK(is_kept("f", 3) && is_kept("g", 1) && !store_close(&store));
	import(&result);
	CHECK(!store.missing && result.unchanged == 2 && !store_close(&store));
	drop_folder();
}

/* What somebody stores into a file that he has mapped is there at the next import. */
static void mapped(void)
{
	struct ns_import result;
	uint8_t *data, block[FAKE_BLOCK];
	const struct ns_node *node;
	unsigned int i, bad;
	int fd;

	make_folder();
	fake_reset(ktap_seed, 0);
	make_file("f", 3);
	fd = open("f", O_RDWR);
	data = mmap(NULL, 3 * FAKE_BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(fd >= 0 && data != MAP_FAILED && !store_format("a", false));
	fs_type = 0;
	for (i = 1; i < 4 && !ktap_failing(); i++) {
		data[FAKE_BLOCK] = i;
		import(&result);
		node = tree_find(&store.tree, "f");
		CHECK(!store_read(&store, &node->piece[1], 1, block, &bad) && block[0] == i,
		      "stored %u, kept %u", i, block[0]);
		CHECK(!store_close(&store));
		usleep(20000);		/* the clock of files goes in such steps */
	}
	fs_type = EXT4_SUPER_MAGIC;
	munmap(data, 3 * FAKE_BLOCK);
	close(fd);
	drop_folder();
}

/* Where times prove nothing files are read each time, also after others were taken by theirs. */
static void times_that_lie(void)
{
	static const uint32_t types[] = {
		TMPFS_MAGIC, RAMFS_MAGIC, HUGETLBFS_MAGIC, OVERLAYFS_SUPER_MAGIC, CRAMFS_MAGIC,
		EROFS_SUPER_MAGIC_V1, ISOFS_SUPER_MAGIC, SQUASHFS_MAGIC,
	};
	enum { NR_TYPES = sizeof(types) / sizeof(*types) };
	struct ns_import result;
	unsigned int i;

	make_folder();
	fake_reset(ktap_seed, 0);
	make_file("f", 3);
	CHECK(!store_format("a", false));
	for (i = 0; i < 2 * (NR_TYPES + 1) && !ktap_failing(); i++) {
		fs_type = i % 2 || i / 2 >= NR_TYPES ? EXT4_SUPER_MAGIC : types[i / 2];
		not_synced = i % 2 == 0 && i / 2 == NR_TYPES;
		import(&result);
		CHECK(!result.unchanged && is_kept("f", 3) && !store_close(&store), "%u", i);
	}
	import(&result);
	CHECK(result.unchanged == 1 && !store_close(&store));
	fs_type = TMPFS_MAGIC;
	import(&result);
	CHECK(!result.unchanged && !result.written && !store_close(&store));
	fs_type = EXT4_SUPER_MAGIC;
	drop_folder();
}

static int stderr_was = -1;

/* What goes to standard error from here on is for said(). */
static void listen_to_errors(void)
{
	int file = open("/tmp", O_RDWR | O_TMPFILE, 0600);

	fflush(stderr);
	stderr_was = dup(2);
	CHECK(file >= 0 && stderr_was >= 0 && dup2(file, 2) == 2);
	close(file);
}

static const char *said(void)
{
	static char text[4096];
	ssize_t n;

	fflush(stderr);
	n = pread(2, text, sizeof(text) - 1, 0);
	text[n < 0 ? 0 : n] = 0;
	dup2(stderr_was, 2);
	close(stderr_was);
	return text;
}

/* Block @at of what was exported: is it what it was, or a hole? */
static bool is_exported(const char *name, unsigned int at, bool hole)
{
	uint8_t data[FAKE_BLOCK], block[FAKE_BLOCK] = { 0 };
	int fd = open(name, O_RDONLY);
	bool is = pread(fd, data, sizeof(data), (off_t)at * FAKE_BLOCK) == sizeof(data);

	close(fd);
	if (!hole)
		fill(block, at, 1, at);
	return is && !memcmp(data, block, sizeof(block));
}

/* A block that is there and not what it was is found by who reads: that is then written again. */
static void mends(void)
{
	struct ns_import result;

	make_folder();
	fake_reset(ktap_seed, 0);
	make_file("f", 3);
	make_file("g", 1);
	CHECK(!store_format("a", false));
	import(&result);
	CHECK(result.written == 4 && !store_close(&store));
	fake_spoil_serial(2);
	import(&result);
	CHECK(!result.written && result.unchanged == 2 && !is_kept("f", 3));
	CHECK(!store_close(&store));
	reread(&result);
	CHECK(result.written == 1 && result.kept == 3 && !result.unchanged);
	CHECK(is_kept("f", 3) && is_kept("g", 1) && !store_close(&store));
	drop_folder();
}

static void be_unreadable(const char *name)
{
	(void)name;
	meddle_err = EACCES;
}

/* Whatever a name has in it, one line is said of it, and nothing that a terminal obeys. */
static void one_line(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "a\nb\033[2Jc" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), err;
	struct ns_import result = { 0 };

	make_folder();
	CHECK(!bind(fd, (struct sockaddr *)&name, sizeof(name)));
	close(fd);
	fake_reset(ktap_seed, 0);
	CHECK(!store_format("a", false));
	listen_to_errors();
	import(&result);
	CHECK(!strcmp(said(), "nlstore: a\\012b\\033[2Jc: a socket is not kept\n"));
	CHECK(result.skipped == 1 && !store_close(&store));
	CHECK(!mkdir("d\ne", 0700) && !store_open(&store, "a", true));
	listen_to_errors();
	meddled = "d\ne";
	meddle_at = 1;
	meddle = be_unreadable;
	err = import_folder(&store, ".", false, &result);
	meddled = NULL;
	CHECK(strstr(said(), "nlstore: d\\012e: Permission denied\n"));
	CHECK(err && !store_close(&store));
	drop_folder();
}

static void add_acl(const char *name, const char *acl)
{
	char command[128];

	snprintf(command, sizeof(command), "setfacl -m %s '%s'", acl, name);
	CHECK(!system(command));
}

static unsigned int mode_of(const char *name)
{
	struct stat status;

	CHECK(!lstat(name, &status), "%s", name);
	return status.st_mode & 07777;
}

/* A folder with a file that has an access control list. Not everywhere: then it is told. */
static bool make_listed(void)
{
	make_folder();
	make_file("f", 1);
	if (!system("setfacl -m u:12:rw f 2>/dev/null"))
		return true;
	drop_folder();
	ktap_skip("no access control lists here");
	return false;
}

/*
 * Lists are not kept: of the mode's bits those are that a class had whoever was of it, and what is
 * made has no list that where it is made would give it.
 */
static void lists(void)
{
	static const struct {
		const char *name, *acl;
		unsigned int mode, kept;
	} case_of[] = {
		{ "plain", NULL, 0664, 0664 },
		{ "given", "u:12:rw,g::-,o::-", 0660, 0600 },	/* the group had nothing */
		{ "wide", "u:12:rwx,g::r,o::r", 0674, 0644 },
		{ "user", "u:12:r,g::rw,o::rw", 0666, 0644 },	/* who would be of either */
		{ "group", "g:12:-,g::rw,o::rw", 0666, 0660 },	/* who would be another */
		{ "masked", "u:12:rw,g::rw,m::r,o::-", 0640, 0640 },
	};
	struct ns_import result;
	const char *text;
	unsigned int i;

	if (!make_listed())
		return;
	CHECK(!mkdir("in", 0750) && !mkfifo("in/fifo", 0600));
	for (i = 0; i < 6; i++) {
		char path[32];

		snprintf(path, sizeof(path), "in/%s", case_of[i].name);
		make_file(path, 1);
		CHECK(!chmod(path, 0664));
		if (case_of[i].acl)
			add_acl(path, case_of[i].acl);
		CHECK(mode_of(path) == case_of[i].mode, "%s: %o", path, mode_of(path));
	}
	add_acl("in", "u:12:rwx,g::x,d:u:12:rwx");
	add_acl("in/fifo", "u:12:rw");
	CHECK(mode_of("in") == 0770 && mode_of("in/fifo") == 0660);
	CHECK(!mkdir("back", 0700));
	add_acl("back", "u:13:rwx,d:u:12:rwx,d:g::rwx");
	fake_reset(ktap_seed, 0);
	CHECK(!store_format("a", false) && !store_open(&store, "a", true));
	result = (struct ns_import){ 0 };
	listen_to_errors();
	CHECK(!import_folder(&store, "in", false, &result));
	text = said();
	CHECK(strstr(text, "nlstore: given: its access control list is not kept\n"));
	CHECK(strstr(text, "nlstore: .: its default access control list is not kept\n"), "%s", text);
	CHECK(!strstr(text, "given: its default"));
	CHECK(!export_folder(&store, "back"));
	CHECK(mode_of("back") == 0710, "%o", mode_of("back"));
	CHECK(mode_of("back/fifo") == 0600, "%o", mode_of("back/fifo"));
	for (i = 0; i < 6; i++) {
		char path[32];

		snprintf(path, sizeof(path), "back/%s", case_of[i].name);
		CHECK(mode_of(path) == case_of[i].kept, "%s: %o", path, mode_of(path));
	}
	CHECK(system("getfacl -Rcs back 2>&1 | grep .") != 0);	/* none of them has a list */
	CHECK(!store_close(&store));
	drop_folder();
}

/* Somebody removes a list when it has been found, and before it is read. */
static void list_gone(void)
{
	struct ns_import result = { 0 };

	if (!make_listed())
		return;
	fake_reset(ktap_seed, 0);
	CHECK(!store_format("a", false) && !store_open(&store, "a", true));
	list_goes = true;
	listen_to_errors();
	CHECK(!import_folder(&store, ".", false, &result));
	CHECK(!strcmp(said(), "") && !list_goes);
	CHECK(is_kept("f", 1) && !store_close(&store));
	drop_folder();
}

/* Of a damaged file all is exported that is not damaged, and nothing else. */
static void exports_the_rest(void)
{
	const struct ns_node *node;
	struct ns_import result;
	unsigned int i;
	int err;

	make_folder();
	make_file("f", 130);
	fake_reset(ktap_seed, 0);
	CHECK(!store_format("a", false));
	import(&result);
	node = tree_find(&store.tree, "f");
	fake_spoil_serial(node->piece[1].serial);
	fake_lose_serial(node->piece[3].serial);
	fake_spoil_serial(node->piece[100].serial);
	fake_fade_serial(node->piece[90].serial, 2);	/* when it is read without the other one */
	listen_to_errors();
	err = export_folder(&store, "back");
	CHECK(!strcmp(said(), "nlstore: f: damaged; the rest of it is there\n"));
	CHECK(err);
	for (i = 0; i < 130; i++)
		CHECK(is_exported("back/f", i, i == 1 || i == 3 || i == 90 || i == 100),
		      "block %u", i);
	CHECK(!store_close(&store));
	drop_folder();
}

/* What is written to the end meanwhile is not taken for a hole. */
static void grown(void)
{
	const uint64_t size = 128 * FAKE_BLOCK + 9;	/* a hole is behind what is read at once */
	struct ns_import result;
	struct ns_node *node;
	uint8_t data[FAKE_BLOCK];
	unsigned int bad;

	make_folder();
	make_file("f", 1);
	CHECK(!truncate("f", size));
	fake_reset(ktap_seed, 0);
	CHECK(!store_format("a", false));
	grows = true;
	import(&result);
	node = tree_find(&store.tree, "f");
	CHECK(node && !grows && node->size == size && node->blocks == 129);
	CHECK(!store_close(&store));
	import(&result);
	node = tree_find(&store.tree, "f");
	CHECK(!result.unchanged && node->size == size + 4 &&
	      !store_read(&store, &node->piece[128], 1, data, &bad));
	CHECK(!memcmp(data + 9, "more", 4));
	CHECK(!store_close(&store));
	drop_folder();
}

static void vanish(const char *name)
{
	CHECK(!unlink(name) || !rmdir(name));
}

static void become_fifo(const char *name)
{
	vanish(name);
	CHECK(!mkfifo(name, 0600));
}

static void become_link(const char *name)
{
	vanish(name);
	CHECK(!symlink("/etc/passwd", name));
}

static void become_folder(const char *name)
{
	vanish(name);
	CHECK(!mkdir(name, 0700));
}

/* Import a folder of "a", "b" and "c", of which "b" is a file or a folder, and is meddled with. */
static const struct ns_node *import_meddled(void (*how)(const char *name), unsigned int at,
					    bool is_folder)
{
	struct ns_import result;

	make_folder();
	make_file("a", 2);
	make_file("c", 3);
	if (is_folder)
		CHECK(!mkdir("b", 0700));
	else
		make_file("b", 1);
	fake_reset(ktap_seed, 0);
	CHECK(!store_format("a", false));
	meddled = "b";
	meddle_at = at;
	meddle = how;
	import(&result);
	meddled = NULL;
	CHECK(is_kept("a", 2) && is_kept("c", 3), "%u, %d", at, is_folder);
	return tree_find(&store.tree, "b");
}

/* What is gone when it comes to its turn is not in the tree, which has all others. */
static void vanished(void)
{
	int is_folder;

	for (is_folder = 0; is_folder < 2; is_folder++) {
		CHECK(!import_meddled(vanish, 1, is_folder), "%d", is_folder);
		CHECK(!store_close(&store));
		drop_folder();
	}
}

static void be_missed(const char *name)
{
	(void)name;
	meddle_err = ENOENT;
}

/* What is there and can't be entered is not dropped; what was not there for a moment is taken. */
static void unmountable(void)
{
	struct ns_import result = { 0 };
	int is_folder, err;

	for (is_folder = 0; is_folder < 2; is_folder++) {
		CHECK(import_meddled(be_missed, 1, is_folder), "%d", is_folder);
		CHECK(!store_close(&store));
		drop_folder();
	}
	make_folder();
	CHECK(!mkdir("b", 0700));
	fake_reset(ktap_seed, 0);
	CHECK(!store_format("a", false) && !store_open(&store, "a", true));
	CHECK(!import_folder(&store, ".", false, &result));
	unmounted = "b";
	listen_to_errors();
	err = import_folder(&store, ".", false, &result);
	unmounted = NULL;
	CHECK(!strcmp(said(), "nlstore: b: No such file or directory\n"));
	CHECK(err && tree_find(&store.tree, "b") && !store_close(&store));
	drop_folder();
}

/* What is another thing all of a sudden is what it was or what it is, and nothing between. */
static void replaced(void)
{
	static const struct {
		void (*how)(const char *name);
		enum ns_type type;
	} case_of[] = {
		{ become_fifo, NS_FIFO }, { become_link, NS_SYMLINK },
		{ become_folder, NS_DIRECTORY },
	};
	const struct ns_node *node;
	unsigned int i, at;
	int is_folder;

	for (i = 0; i < 3; i++) {
		for (at = 1; at <= 3; at++) {
			for (is_folder = 0; is_folder < 2; is_folder++) {
				node = import_meddled(case_of[i].how, at, is_folder);
				CHECK(node && (node->type == case_of[i].type ||
					       (is_folder ? node->type == NS_DIRECTORY :
							    is_kept("b", 1))),
				      "%u, %u, %d", i, at, is_folder);
				CHECK(!store_close(&store));
				drop_folder();
			}
		}
	}
}

/* Who has a lease of a file gives it back when somebody else wants the file. */
static void leased(void)
{
	struct ns_import result;
	int ready[2], status;
	sigset_t signals;
	char c = 0;
	pid_t pid;

	make_folder();
	make_file("a", 2);
	make_file("b", 1);
	fake_reset(ktap_seed, 0);
	CHECK(!store_format("a", false) && !pipe(ready));
	sigemptyset(&signals);
	sigaddset(&signals, SIGIO);
	pid = fork();
	if (!pid) {
		int fd = open("b", O_RDWR), signal;

		sigprocmask(SIG_BLOCK, &signals, NULL);
		c = fcntl(fd, F_SETLEASE, F_WRLCK) ? 'n' : 'y';
		if (write(ready[1], &c, 1) != 1 || c == 'n' || sigwait(&signals, &signal) ||
		    fcntl(fd, F_SETLEASE, F_UNLCK))
			_exit(c != 'n');
		_exit(0);
	}
	CHECK(pid > 0 && read(ready[0], &c, 1) == 1);
	if (c == 'y') {
		import(&result);
		CHECK(is_kept("a", 2) && is_kept("b", 1) && !store_close(&store));
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	close(ready[0]);
	close(ready[1]);
	drop_folder();
	if (c != 'y')
		ktap_skip("no leases here");
}

/* Deeper than files may be open at first. */
static void deep(void)
{
	struct rlimit files, few = { 0 };
	struct ns_import result;
	unsigned int i;

	make_folder();
	for (i = 0; i < 100; i++)
		CHECK(!mkdir("d", 0700) && !chdir("d"));
	make_file("f", 1);
	CHECK(!chdir(folder));
	fake_reset(ktap_seed, 0);
	CHECK(!store_format("a", false) && !getrlimit(RLIMIT_NOFILE, &files));
	few = files;
	few.rlim_cur = 40;
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	import(&result);
	CHECK(result.files == 1 && store.tree.nr == 102 && !store_close(&store));
	CHECK(!setrlimit(RLIMIT_NOFILE, &files));
	drop_folder();
}

static uint64_t catalogue_blocks(void)
{
	return (store.bytes + FAKE_BLOCK - 1) / FAKE_BLOCK;
}

/* Hundreds of migrations wait, of which some are told late. */
static void many_moves(void)
{
	make_store();
	fake_lazy();
	fake_move(300);
	CHECK(fake_waiting() > 4 * NS_MOVES);
	CHECK(!store_open(&store, "a", true) && is_tree(1));
	CHECK(store.nr_moves == fake_waiting(), "%zu of %u", store.nr_moves, fake_waiting());
	CHECK(!store_tend(&store) && !store.nr_moves && is_tree(1));
	fake_move(NS_MOVES);
	CHECK(!store_tend(&store) && !store_tend(&store) && is_tree(1));
	CHECK(!store_close(&store) && !fake_waiting());
	CHECK(!store_open(&store, "a", false) && is_tree(1) && !store_close(&store));
}

/* Of those that stop leveling half are acknowledged, however few that is. */
static void few_moves(void)
{
	static const struct {
		unsigned int allowed, settled;
	} case_of[] = {
		{ 9, 4 }, { 2, 1 }, { 1, 1 }, { 0, NS_MOVES }, { 8192, NS_MOVES },
	};
	unsigned int i;

	for (i = 0; i < sizeof(case_of) / sizeof(*case_of) && !ktap_failing(); i++) {
		make_store();
		CHECK(!store_open(&store, "a", true));
		store_allow(&store, case_of[i].allowed);
		fake_move(case_of[i].settled - 1);
		CHECK(!store_tend(&store) && fake_waiting() == case_of[i].settled - 1);
		fake_move(1);
		CHECK(!store_tend(&store) && !fake_waiting(), "%u allowed: %u wait",
		      case_of[i].allowed, fake_waiting());
		CHECK(is_tree(1) && !store_close(&store));
	}
}

/* Each catalogue moves more blocks than are acknowledged: that is not run after. */
static void feedback(void)
{
	uint64_t before;

	make_store();
	fake_restless(30, 20000);
	fake_move(NS_MOVES + 1);
	CHECK(!store_open(&store, "a", true));
	before = store.generation;
	CHECK(!store_tend(&store) && store.generation <= before + 1, "%llu commits",
	      (unsigned long long)(store.generation - before));
	CHECK(!store_close(&store) && !store_open(&store, "a", false) && is_tree(1));
	CHECK(store.generation <= before + 2 && !store_close(&store));
}

/* A block whose name was not told, as the write failed, moves: it is freed, and nothing is left. */
static void unknown_moves(void)
{
	uint8_t data[4 * FAKE_BLOCK] = { 1 };
	struct ns_piece piece[4];

	make_store();
	CHECK(!store_open(&store, "a", true));
	CHECK(!store_write(&store, data, 4, piece));
	map_mark_all(&store.map, true);
	map_find(&store.map, piece[3].serial)->mark = false;
	CHECK(!map_keep(&store.map, true));
	/* As when it was listed on neither side of a migration after a crash. */
	store.serial = piece[3].serial;
	fake_move(200);
	CHECK(!store_tend(&store) && store.serial > piece[3].serial, "%llu", (unsigned long long)store.serial);
	CHECK(!store_forget(&store) && nothing_is_left(0));
	CHECK(!store_close(&store));
}

/* --- trees that no store may have ------------------------------------------------------------- */

static void refuse_tree(struct ns_tree *tree, int err, const char *why)
{
	int got = store_replace(&store, tree);

	CHECK(got == err, "%s: %d", why, got);
	CHECK(is_tree(1) && !store_close(&store));
	tree_free(tree);
	got = store_open(&store, "a", true);
	CHECK(!got && is_tree(1), "%s: %d", why, got);
}

static void trees_refused(void)
{
	struct ns_tree tree = { 0 };
	struct ns_node *node;

	make_store();
	CHECK(!store_open(&store, "a", true));
	add(&tree, "", NS_DIRECTORY);
	add(&tree, "a", NS_FIFO);
	add(&tree, "a", NS_FIFO);
	refuse_tree(&tree, -EINVAL, "a name twice");
	add(&tree, "", NS_DIRECTORY);
	add(&tree, "s", NS_SYMLINK)->target = strdup("");
	refuse_tree(&tree, -EINVAL, "a link to nowhere");
	add(&tree, "", NS_DIRECTORY);
	node = add(&tree, "f", NS_FILE);
	node->blocks = 1 << 28;
	node->size = (uint64_t)node->blocks * FAKE_BLOCK;
	refuse_tree(&tree, -EFBIG, "too many blocks");
	add(&tree, "", NS_DIRECTORY);
	node = add(&tree, "f", NS_FILE);
	node->size = node->blocks = 1;
	node->piece = calloc(1, sizeof(*node->piece));
	node->piece->serial = 1 << 20;
	refuse_tree(&tree, -EINVAL, "a block that nobody wrote");
	CHECK(!store_close(&store));
}

/* --- superblocks ------------------------------------------------------------------------------ */

/* Nobody opens it, and nothing of it is freed. */
static void is_damaged(const char *what, unsigned int n)
{
	unsigned int valid = fake_valid();
	int err;

	err = store_open(&store, "a", false);
	CHECK(err == -EUCLEAN, "%s, %u: %d", what, n, err);
	err = store_open(&store, "a", true);
	CHECK(err == -EUCLEAN && fake_valid() == valid, "%s, %u: %d", what, n, err);
}

/* The store with generations 2 and 3; or with the first one alone. */
static void superblocks(void)
{
	unsigned int i, bit;

	for (i = 0; i < 2 && !ktap_failing(); i++) {
		for (bit = 0; bit < 96 * 8; bit += 37) {
			make_store();
			CHECK(!store_open(&store, "a", true) && !commit_tree(2));
			CHECK(store.generation == 3 && !store_close(&store));
			fake_spoil_disk(i, bit);
			is_damaged("a bit", bit);
		}
		fake_spoil_disk(i, bit - 37);
		CHECK(!store_open(&store, "a", false) && is_tree(2) && !store_close(&store));
		fake_wipe_disk(i);
		is_damaged("wiped", i);
	}
	make_store();
	fake_spoil_disk(0, 100);
	fake_spoil_disk(1, 100);
	is_damaged("both", 0);
	fake_reset(ktap_seed, 0);
	CHECK(!store_format("a", false) && !store_open(&store, "a", true));
	CHECK(store.generation == 1 && !store_close(&store));
	fake_spoil_disk(0, 1000);
	is_damaged("something beside the first one", 0);
}

/* Serials that no store can have had. */
static void serials(void)
{
	struct ns_map map = { 0 };

	CHECK(!map_highest(&map) && !map_add(&map, 7, 1) && !map_add(&map, ~0ULL, 1));
	CHECK(map_highest(&map) == ~0ULL);
	map_free(&map);
	make_store();
	CHECK(!store_open(&store, "a", true));
	fake_add_named(store.id, ~0ULL);
	fake_add_named(store.id, 0);
	CHECK(!store_close(&store) && !store_open(&store, "a", true) && is_tree(1));
	CHECK(store.orphans == 1 && store.foreign == 1 && nothing_is_left(1));
	CHECK(!commit_tree(2) && is_tree(2) && !store_close(&store));
	CHECK(!store_open(&store, "a", false) && is_tree(2) && !store_close(&store));
}

/* A store is made over another one, and the power goes: the older of its trees never comes back. */
static void cuts_in_format(void)
{
	uint8_t uuid[16];
	uint32_t newest;
	uint64_t n;
	int err;

	for (n = 1; n < 1000 && !ktap_failing(); n++) {
		make_store();
		CHECK(!store_open(&store, "a", true));
		for (newest = 1; newest < 1 + n % 3; newest++)
			CHECK(!commit_tree(newest + 1));
		memcpy(uuid, store.uuid, sizeof(uuid));
		CHECK(!store_close(&store));
		fake_cut_at(n / 3 + 1, n / 9 % FAKE_KINDS, FAKE_OFF);
		store_format("a", true);
		if (!fake_was_cut())
			break;
		fake_power_on();
		err = store_open(&store, "a", true);
		CHECK(!err || err == -ENODATA || err == -EUCLEAN, "%llu: %d", (unsigned long long)n,
		      err);
		if (!err) {
			CHECK(memcmp(uuid, store.uuid, 16) ? is_tree(0) : is_tree(newest), "%llu: an older tree",
			      (unsigned long long)n);
			CHECK(!store_close(&store));
		}
		CHECK(!store_format("a", true) && !fake_valid());
	}
	CHECK(n > 30);
}

/* --- space ------------------------------------------------------------------------------------ */

/* Something of others' is not formatted over unless one insists; then it gives its space back. */
static void others(void)
{
	unsigned int i;

	for (i = 0; i < FAKE_DISK; i += 73) {
		fake_reset(ktap_seed, 0);
		fake_spoil_disk(i, 5);
		CHECK(store_format("a", false) == -EEXIST, "block %u", i);
		CHECK(!store_format("a", true));
	}
	make_store();
	CHECK(!store_open(&store, "a", true) && fake_mapped() == 2 + 2 * catalogue_blocks());
	CHECK(!store_close(&store) && !store_format("a", true));
	CHECK(fake_mapped() == 4, "%u", fake_mapped());
	fake_reset(ktap_seed, 0);
	for (i = 100; i < 200; i++)
		fake_spoil_disk(i, 5);
	fake_spoil_disk(0, 5);
	fake_spoil_disk(1, 5);
	fake_room(fake_mapped());
	CHECK(!store_format("a", true) && fake_mapped() == 4, "%u", fake_mapped());
}

/* There is no room for anything more: what takes none is possible, and the tree stays. */
static void full(void)
{
	struct ns_tree tree = { 0 };
	unsigned int was, more, i;
	char path[32];
	int err = -ENOSPC;

	make_store();
	CHECK(!store_open(&store, "a", true) && !commit_tree(2));
	was = fake_mapped();
	for (more = 0; err == -ENOSPC && more < 100 && !ktap_failing(); more++) {
		fake_room(fake_valid() + was + more);
		fake_move(NS_MOVES + 5);
		err = store_tend(&store);
		CHECK(!err && !store.nr_moves && is_tree(2), "%u more: %d", more, err);
		add(&tree, "", NS_DIRECTORY);
		for (i = 0; i < 60; i++) {
			snprintf(path, sizeof(path), "a%02u", i);
			add(&tree, path, NS_FIFO);
		}
		err = store_replace(&store, &tree);
		CHECK(err ? err == -ENOSPC && is_tree(2) && fake_mapped() == was : more, "%u: %d",
		      more, err);
		tree_free(&tree);
	}
	/* It is committed only when there is room for the one after it, too. */
	CHECK(!err && more > 10 && store.tree.nr == 61 && !fake_valid());
	CHECK(!store_close(&store) && !store_open(&store, "a", true));
	fake_room(fake_mapped());
	add(&tree, "", NS_DIRECTORY);
	CHECK(!store_replace(&store, &tree) && fake_mapped() == 4);
	CHECK(!store_close(&store));
}

/* The device after a cut: one of two trees, and with @sure the second one. */
static bool survives(uint32_t version, bool sure, const char *when, uint64_t n)
{
	bool old, fresh;
	int err;

	fake_cut_at(0, FAKE_NONE, FAKE_OFF);
	fake_power_on();
	/* Who only looks changes nothing, and sees the same. */
	CHECK(!store_open(&store, "a", false), "%s, %llu", when, (unsigned long long)n);
	old = is_tree(version);
	fresh = is_tree(version + 1);
	CHECK(sure ? fresh : old || fresh, "%s, %llu: a third thing", when, (unsigned long long)n);
	CHECK(!store_close(&store));
	err = store_open(&store, "a", true);
	CHECK(!err, "%s, %llu: %d", when, (unsigned long long)n, err);
	if (err)
		return false;
	CHECK(fresh ? is_tree(version + 1) : is_tree(version), "%s, %llu", when,
	      (unsigned long long)n);
	CHECK(!store.missing && nothing_is_left(0), "%s, %llu: blocks are left", when,
	      (unsigned long long)n);
	CHECK(!store_close(&store) && !fake_waiting());
	return fresh;
}

/* The power goes at every change of a commit, in every way. */
static void cut_everywhere(enum fake_after after, const char *when)
{
	unsigned int how, fresh = 0, old = 0;
	uint64_t n = 0;
	int err;

	for (how = 0; how < FAKE_KINDS * 4 && !ktap_failing(); how++) {
		tidies = how / FAKE_KINDS % 2;
		for (n = 1; !ktap_failing(); n++) {
			fake_reset(ktap_seed + how, 4);
			state = ktap_seed + n * 7 + how;
			CHECK(!store_format("a", false) && !store_open(&store, "a", true));
			CHECK(!commit_tree(1) && !commit_tree(2));
			fake_cut_at(n, how % FAKE_KINDS, after);
			err = commit_tree(3);
			if (store_close(&store) && !err)
				err = 0;	/* the tree counts; the migrations wait */
			if (!fake_was_cut())
				break;
			if (survives(2, !err, when, n))
				fresh++;
			else
				old++;
		}
		CHECK(n > 30, "the power went %llu times only", (unsigned long long)n);
	}
	CHECK(old > 100 && fresh > 50, "%u old, %u new", old, fresh);
}

static void cuts(void)
{
	cut_everywhere(FAKE_OFF, "off");
}

static void blinks(void)
{
	cut_everywhere(FAKE_BLINK, "blink");
}

static void silent_blinks(void)
{
	cut_everywhere(FAKE_SILENT, "silent");
}

/* Another cut while the store is opened after the first one, and once more. */
static void cuts_in_recovery(void)
{
	uint64_t n, m;

	for (n = 1; n < 90 && !ktap_failing(); n += 4) {
		for (m = 1; !ktap_failing(); m++) {
			fake_reset(ktap_seed, 3);
			state = ktap_seed + n;
			CHECK(!store_format("a", false) && !store_open(&store, "a", true));
			CHECK(!commit_tree(1) && !commit_tree(2));
			tidies = n / 4 % 2;
			fake_cut_at(n, FAKE_SOME, FAKE_OFF);
			commit_tree(3);
			store_close(&store);
			if (!fake_was_cut())
				return;
			fake_power_on();
			fake_cut_at(m, FAKE_SOME, m % FAKE_AFTERS);
			if (!store_open(&store, "a", true))
				store_close(&store);
			if (!fake_was_cut())
				break;
			survives(2, false, "in recovery", n * 1000 + m);
		}
	}
}

/*
 * A process that is killed may leave a superblock in the write buffer only. Who comes next must
 * not free what the lasting one refers to before it has flushed.
 */
static void kills(void)
{
	struct ns_store gone;
	uint64_t n, m;

	for (n = 1; n < 120 && !ktap_failing(); n++) {
		for (m = 1; m < 40 && !ktap_failing(); m++) {
			fake_reset(ktap_seed, 0);
			state = ktap_seed;
			CHECK(!store_format("a", false) && !store_open(&store, "a", true));
			CHECK(!commit_tree(1) && !commit_tree(2));
			/* The cut stands for the kill: what was done is in the buffer, and stays. */
			fake_cut_at(n, FAKE_ALL, FAKE_OFF);
			fake_kill_instead();
			commit_tree(3);
			gone = store;
			fake_killed();
			tree_free(&gone.tree);
			map_free(&gone.map);
			if (!fake_was_cut())
				return;
			fake_power_on();
			fake_cut_at(m, FAKE_NONE, FAKE_OFF);
			if (!store_open(&store, "a", true))
				store_close(&store);
			if (!fake_was_cut())
				break;
			survives(2, false, "killed", n * 1000 + m);
		}
	}
}

/*
 * The power goes and is back between two reads of who opens what a killed process has left
 * unflushed. What does not belong together then is no damage: nothing is told to be damaged, or
 * not there, that is there when it is looked at again.
 */
static void blinks_in_reads(void)
{
	unsigned int blinked = 0;
	uint64_t n, m;
	int err;

	for (n = 1; !ktap_failing(); n++) {
		for (m = 1; !ktap_failing(); m++) {
			make_store();
			CHECK(!store_open(&store, "a", true) && !commit_tree(2));
			CHECK(!store_close(&store));
			fake_cut_at(n, FAKE_ALL, FAKE_OFF);
			fake_kill_instead();
			err = store_format("a", true);
			if (!fake_was_cut()) {
				CHECK(!err && blinked);
				return;
			}
			fake_power_on();
			fake_blink_at_read(m);
			err = store_open(&store, "a", m % 2);
			if (!err)
				store_close(&store);
			if (!fake_was_cut())
				break;
			blinked += err == -EIO;
			if (err != -EUCLEAN && err != -ENODATA)
				continue;
			err = store_open(&store, "a", false);
			CHECK(err, "%llu, %llu: it is there", (unsigned long long)n,
			      (unsigned long long)m);
			if (!err)
				store_close(&store);
		}
	}
}

/* --- catalogues that lie ---------------------------------------------------------------------- */

static void *sample(size_t *bytes, struct ns_map *map)
{
	struct ns_tree tree = { 0 };
	struct ns_node *node;
	void *data = NULL;

	add(&tree, "", NS_DIRECTORY);
	add(&tree, "a", NS_DIRECTORY);
	node = add(&tree, "a/f", NS_FILE);
	node->size = 700;
	node->blocks = 2;
	node->piece = calloc(2, sizeof(*node->piece));
	node->piece[1].serial = 7;
	add(&tree, "a-b", NS_FIFO);
	node = add(&tree, "l", NS_LINK);
	node->target = strdup("a/f");
	node = add(&tree, "s", NS_SYMLINK);
	node->target = strdup("/etc");
	map_add(map, 7, 70);
	CHECK(!tree_encode(&tree, map, &data, bytes));
	tree_free(&tree);
	return data;
}

static int decode(const void *data, size_t bytes)
{
	struct ns_tree tree = { 0 };
	struct ns_map map = { 0 };
	int err = tree_decode(&tree, &map, data, bytes, FAKE_BLOCK);

	tree_free(&tree);
	map_free(&map);
	return err;
}

/* One path, target or type in place of another of the same length. */
static int decode_with(const char *from, const char *to, size_t length)
{
	struct ns_map map = { 0 };
	size_t bytes;
	uint8_t *data = sample(&bytes, &map), *at = memmem(data, bytes, from, length);
	int err;

	CHECK(at);
	memcpy(at, to, length);
	err = decode(data, bytes);
	free(data);
	map_free(&map);
	return err;
}

static void lies(void)
{
	struct ns_map map = { 0 };
	size_t bytes, i;
	uint8_t *data = sample(&bytes, &map);

	CHECK(!decode(data, bytes));
	CHECK(decode(data, 0) == -EUCLEAN);
	for (i = 1; i < bytes; i++)
		decode(data, i);	/* the sanitizers look on */
	for (i = 0; i < bytes * 8; i++) {
		data[i / 8] ^= 1 << i % 8;
		decode(data, bytes);
		data[i / 8] ^= 1 << i % 8;
	}
	for (i = 0; i < 20000; i++) {
		size_t at = any(bytes - 4);
		uint32_t was, value = any(4) ? any(200) : ~0u - any(10);

		memcpy(&was, data + at, 4);
		memcpy(data + at, &value, 4);
		decode(data, bytes);
		memcpy(data + at, &was, 4);
	}
	free(data);
	map_free(&map);
	CHECK(decode_with("a/f", "../", 3) == -EUCLEAN);
	CHECK(decode_with("a/f", "/af", 3) == -EUCLEAN);
	CHECK(decode_with("a/f", "a//", 3) == -EUCLEAN);
	CHECK(decode_with("a/f", "a/.", 3) == -EUCLEAN);
	CHECK(decode_with("a/f", "b/f", 3) == -EUCLEAN);
	CHECK(decode_with("a/f", "a\0f", 3) == -EUCLEAN);
	CHECK(decode_with("a-b", "a/b", 3) == -EUCLEAN);
	CHECK(decode_with("a-b", "a/g", 3) == 0);
	CHECK(decode_with("la/f", "la-b", 4) == -EUCLEAN);
	CHECK(decode_with("s/etc", "l/etc", 5) == -EUCLEAN);
}

/* A directory's own entries follow it: nothing comes between "a" and "a/b". */
static void order(void)
{
	CHECK(path_compare("", "a") < 0 && path_compare("a", "a") == 0);
	CHECK(path_compare("a", "a/b") < 0 && path_compare("a/b", "a-b") < 0);
	CHECK(path_compare("a/b", "a b") < 0 && path_compare("a\xff", "b") < 0);
	CHECK(path_compare("a/\xff", "a\x01") < 0);
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	state = ktap_seed;
	ktap_run("paths in order", order);
	ktap_run("catalogues that lie are refused", lies);
	ktap_run("a store is made, filled, looked at and made anew", begins);
	ktap_run("trees follow each other while blocks move", moves);
	ktap_run("and in a store that stays open", stays);
	ktap_run("more migrations wait than are noted at once", many_moves);
	ktap_run("the device may stop leveling at few migrations", few_moves);
	ktap_run("each commit moves more than was acknowledged", feedback);
	ktap_run("a block that nobody knows moves", unknown_moves);
	ktap_run("trees that nobody could read are not committed", trees_refused);
	ktap_run("a damaged superblock is no way back", superblocks);
	ktap_run("serial numbers that can't be", serials);
	ktap_run("the power goes while a store is made over another", cuts_in_format);
	ktap_run("what is there of others is not formatted over", others);
	ktap_run("a device that is full", full);
	ktap_run("damaged and missing blocks are told", damage);
	ktap_run("and damaged ones before a missing one", damage_before);
	ktap_run("what is missing is told from what was not listed", missing);
	ktap_run("what can't be read is this block's damage", unreadable);
	ktap_run("what is missing is imported again", imports);
	ktap_run("what is stored into a file that is mapped is imported", mapped);
	ktap_run("where times prove nothing files are read", times_that_lie);
	ktap_run("what is damaged is, when all files are read", mends);
	ktap_run("what is said of a name is one line", one_line);
	ktap_run("nobody may do more for want of a list", lists);
	ktap_run("a list that goes meanwhile is none", list_gone);
	ktap_run("the rest of a damaged file is exported", exports_the_rest);
	ktap_run("what a file grows by while it is read is no hole", grown);
	ktap_run("what vanishes meanwhile is not in the tree", vanished);
	ktap_run("what can't be mounted is not gone", unmountable);
	ktap_run("what becomes something else is the one or the other", replaced);
	ktap_run("what somebody has a lease of is waited for", leased);
	ktap_run("a tree that is deep is imported", deep);
	ktap_run("the power goes at every change", cuts);
	ktap_run("the power goes and is back at every change", blinks);
	ktap_run("it does so between two calls, and none fails", silent_blinks);
	ktap_run("the power goes while a store is opened after a cut", cuts_in_recovery);
	ktap_run("a process is killed, and the power goes after that", kills);
	ktap_run("or while the store is read", blinks_in_reads);
	return ktap_done();
}
