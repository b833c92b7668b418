// SPDX-License-Identifier: GPL-2.0-only
/* What is on the media while an image is made or repaired: behind a page cache, which keeps no order. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "engine_internal.h"
#include "image.h"
#include "ktap.h"

#define SIZE	(2u << 20)
#define MOST	64u

static char path[] = "/tmp/scmfs_image.XXXXXX";
static u8 *synced[MOST];	/* all of the image, as each msync() left it */
static u32 nr_synced;
static bool fails;
static struct image im;

int __real_msync(void *base, size_t size, int flags);
int __wrap_msync(void *base, size_t size, int flags);

int __wrap_msync(void *base, size_t size, int flags)
{
	if (fails) {
		errno = EIO;
		return -1;
	}
	CHECK(base == im.base && size == SIZE && flags == MS_SYNC);
	if (nr_synced < MOST) {
		synced[nr_synced] = realloc(synced[nr_synced], SIZE);
		memcpy(synced[nr_synced++], base, size);
	}
	return __real_msync(base, size, flags);
}

static bool open_image(enum image_use use)
{
	nr_synced = 0;
	im = (struct image){ .status = 8 };
	return CHECK(image_open(&im, path, use));
}

static u64 clean_of(const u8 *base)
{
	return scmfs_read(&((struct scmfs_state *)(base + SCMFS_STATE_OFFSET))->clean);
}

static __le64 *blocks_of(u8 *base, u64 ino)
{
	struct scmfs_inode *inodes = (void *)(base + le64_to_cpu(((struct scmfs_super *)base)->inode_offset));

	return &inodes[ino].blocks;
}

static void make_beside(const struct scmfs_bad_list *bad)
{
	struct scmfs_format_params p = { .nr_inodes = 100, .lanes = 1, .now = 1, .uuid = { 1 },
					 .bad = bad };
	const char *reason;
	struct scmfs *fs;

	if (!open_image(IMAGE_WRITE))
		return;
	CHECK(!scmfs_format(im.base, SIZE, &p) && !scmfs_open(im.base, SIZE, 0, &fs, NULL, &reason));
	scmfs_close(fs);
	CHECK(image_close(&im));
}

static void make(void)
{
	make_beside(NULL);
}

#define TAIL	(SIZE - SCMFS_TAIL_BYTES)
#define LAST	(SIZE - SCMFS_BLOCK_SIZE)

static void fill_tail(u8 byte)
{
	if (!open_image(IMAGE_WRITE))
		return;
	memset(im.base + TAIL - 1, byte, LAST - TAIL + 1);
	CHECK(image_close(&im));
}

static bool all(u32 sync, u32 from, u32 to, u8 byte)
{
	return !memchr_inv(synced[sync] + from, byte, to - from);
}

/* Memory in the midst of a block, and at the end of what is looked at. */
static u64 bad_in_tail(void *ctx, u64 from, u64 to, u64 *bytes)
{
	static const u32 bad[] = { TAIL + 10240, LAST - SCMFS_BLOCK_SIZE };
	u32 i;

	*bytes = 512;
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (bad[i] >= from && bad[i] < to)
			return bad[i];
	return to;
}

/* The end of another format goes once what it may be of has gone, and before there is a new one. */
static void tail(void)
{
	const struct scmfs_bad_list bad = { .next = bad_in_tail };
	u32 last;

	make();
	fill_tail(0xaa);
	make();
	last = nr_synced - 1;
	CHECK(nr_synced > 2 && all(0, 0, SCMFS_BLOCK_SIZE, 0) && all(0, TAIL, LAST, 0xaa));
	CHECK(all(last, TAIL, LAST, 0) && all(last, TAIL - 1, TAIL, 0xaa));
	fill_tail(0xbb);
	make_beside(&bad);
	last = nr_synced - 1;
	CHECK(all(last, TAIL, TAIL + 8192, 0) && all(last, TAIL + 8192, TAIL + 12288, 0xbb));
	CHECK(all(last, TAIL + 12288, LAST - SCMFS_BLOCK_SIZE, 0));
	CHECK(all(last, LAST - SCMFS_BLOCK_SIZE, LAST, 0xbb));
}

/* What was there is no file system any more before anything of the new one is, and that is whole before it is one. */
static void made(void)
{
	u32 i, first = 0, magic = 0;

	make();
	make();
	for (i = 0; i < nr_synced; i++) {
		if (!memchr_inv(synced[i], 0, SCMFS_BLOCK_SIZE) && !first++)
			CHECK(!i, "sync %u", i);
		if (!magic && le64_to_cpu(*(__le64 *)synced[i]) == SCMFS_SUPER_MAGIC) {
			magic = i;
			CHECK(i && !memcmp(synced[i - 1] + SCMFS_BLOCK_SIZE,
					   synced[i] + SCMFS_BLOCK_SIZE, SIZE - 2 * SCMFS_BLOCK_SIZE));
		}
	}
	CHECK(first && magic, "%u, %u of %u", first, magic, nr_synced);
}

static void nothing(const char *text)
{
}

/* The maps are vouched for before the first repair and after the last one, never in between. */
static void repaired(void)
{
	struct scmfs_check check = { .say = nothing };
	const char *reason;
	u64 blocks;
	u32 i;

	make();
	if (!open_image(IMAGE_WRITE))
		return;
	blocks = scmfs_read(blocks_of(im.base, 1));
	*blocks_of(im.base, 1) = cpu_to_le64(77);
	CHECK(!scmfs_check(im.base, SIZE, &check, &reason) && check.found == 1);
	if (!CHECK(image_close(&im) && nr_synced > 2 && nr_synced < MOST))
		return;
	for (i = 0; i < nr_synced && clean_of(synced[i]); i++)
		CHECK(scmfs_read(blocks_of(synced[i], 1)) == 77, "sync %u", i);
	CHECK(i < nr_synced && scmfs_read(blocks_of(synced[i], 1)) == 77);
	while (++i < nr_synced)
		if (clean_of(synced[i]))
			break;
	CHECK(i < nr_synced && !memcmp(synced[i - 1] + SCMFS_BLOCK_SIZE, synced[i] + SCMFS_BLOCK_SIZE,
				       SIZE - SCMFS_BLOCK_SIZE));
	CHECK(scmfs_read(blocks_of(synced[i - 1], 1)) == blocks);
}

/* Of a copy nothing gets to the media, and what can't get there is the end. */
static void otherwise(void)
{
	int status = 0;
	pid_t pid;

	make();
	if (!open_image(IMAGE_COPY))
		return;
	scm_fence();
	CHECK(!nr_synced && image_close(&im) && !nr_synced);
	if (!open_image(IMAGE_WRITE))
		return;
	pid = fork();
	if (!pid) {
		fails = true;
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		scm_fence();
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 8, "%#x", status);
	CHECK(image_close(&im));
	scm_fence();
	CHECK(nr_synced == 1);
}

int main(int argc, char **argv)
{
	int fd = mkstemp(path);

	ktap_init(argc, argv);
	if (fd < 0 || ftruncate(fd, SIZE))
		return 1;
	close(fd);
	ktap_run("mkfs.scmfs: what was there goes first, what says that it is one comes last", made);
	ktap_run("mkfs.scmfs: of another format that ends there nothing is found any more", tail);
	ktap_run("fsck.scmfs: a device never has maps that are vouched for and not repaired", repaired);
	ktap_run("scmfs tools: what can't be written is the end, a copy is not written", otherwise);
	unlink(path);
	return ktap_done();
}
