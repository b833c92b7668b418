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

static void make(void)
{
	struct scmfs_format_params p = { .nr_inodes = 100, .lanes = 1, .now = 1, .uuid = { 1 } };
	const char *reason;
	struct scmfs *fs;

	if (!open_image(IMAGE_WRITE))
		return;
	CHECK(!scmfs_format(im.base, SIZE, &p) && !scmfs_open(im.base, SIZE, 0, &fs, NULL, &reason));
	scmfs_close(fs);
	CHECK(image_close(&im));
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
	ktap_run("fsck.scmfs: a device never has maps that are vouched for and not repaired", repaired);
	ktap_run("scmfs tools: what can't be written is the end, a copy is not written", otherwise);
	unlink(path);
	return ktap_done();
}
