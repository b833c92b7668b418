// SPDX-License-Identifier: GPL-2.0-only
/* A file system of ext2, 3 or 4 of which parts are lost; see ext_io.h. */
#include <stdlib.h>
#include <string.h>

#include "ext_io.h"
#include "msg.h"
#include "signature.h"

bool ext_is_late(const struct ext_volume *v)
{
	return v->until && time(NULL) >= v->until;
}

static struct ext_volume *volume_of(io_channel channel)
{
	ext2_filsys fs = channel->app_data;

	return fs->priv_data;
}

/* No inode and no map of blocks, or if names are wanted: an entry without one, of a whole block. */
static void fill_in(struct ext_volume *v, char *data, size_t size)
{
	struct ext2_dir_entry *none = (struct ext2_dir_entry *)data;

	v->partly = true;
	memset(data, 0, size);
	if (v->names && size >= EXT2_MIN_BLOCK_SIZE)
		ext2fs_set_rec_len(v->fs, size, none);
}

/* @count: blocks, or if negative bytes. */
static errcode_t read_rest(io_channel channel, unsigned long long block, int count, void *data)
{
	struct ext_volume *v = volume_of(channel);
	size_t size = count < 0 ? (size_t)-count : (size_t)count * channel->block_size;
	uint64_t at = v->offset + block * channel->block_size;
	char *to = data;
	int i;

	if (!ranges_overlap(v->lost, at, size) && !ext_is_late(v) &&
	    !unix_io_manager->read_blk64(channel, block, count, data))
		return 0;
	if (count <= 1) {
		fill_in(v, to, size);
		return 0;
	}
	for (i = 0; i < count; i++)
		read_rest(channel, block + i, 1, to + (size_t)i * channel->block_size);
	return 0;
}

static errcode_t read_rest_32(io_channel channel, unsigned long block, int count, void *data)
{
	return read_rest(channel, block, count, data);
}

#define FLAGS	(EXT2_FLAG_64BITS | EXT2_FLAG_SOFTSUPP_FEATURES | EXT2_FLAG_IGNORE_CSUM_ERRORS)

static errcode_t open_any(struct ext_volume *v, const char *path, uint64_t offset)
{
	/* Where the first copy of the superblock is, by the size of blocks. */
	static const int copy[][2] = { { 32768, 4096 }, { 8193, 1024 }, { 16384, 2048 } };
	char *options = xasprintf("offset=%llu", (unsigned long long)offset);
	errcode_t err, again = 1;
	unsigned int i;

	err = ext2fs_open2(path, options, FLAGS, 0, 0, unix_io_manager, &v->fs);
	/* One that was read and is none has no copies, but for those of one that was before. */
	if (err && (err != EXT2_ET_BAD_MAGIC || ranges_overlap(v->lost, offset + 1024, 1024)))
		for (i = 0; again && i < sizeof(copy) / sizeof(copy[0]); i++)
			again = ext2fs_open2(path, options, FLAGS, copy[i][0], copy[i][1],
					     unix_io_manager, &v->fs);
	free(options);
	return again ? err : 0;
}

static void say_why(const char *path, uint64_t offset, errcode_t err)
{
	char *what = NULL;

	if (!offset && err == EXT2_ET_BAD_MAGIC && signature_find(path, &what) == 1)
		fail("%s: no file system of ext2, 3 or 4 but a %s; one in a partition or logical volume is found by --offset",
		     path, what);
	else
		fail("%s: no file system of ext2, 3 or 4 at byte %llu: %s", path,
		     (unsigned long long)offset, error_message(err));
	free(what);
}

int ext_open(struct ext_volume *v, const char *path, uint64_t offset, const struct ranges *lost,
	     time_t until, bool say)
{
	errcode_t err;

	initialize_ext2_error_table();
	memset(v, 0, sizeof(*v));
	v->lost = lost;
	v->offset = offset;
	v->until = until;
	err = open_any(v, path, offset);
	if (err) {
		if (say)
			say_why(path, offset, err);
		return EXIT_FAILED;
	}
	v->fs->priv_data = v;
	v->io = *unix_io_manager;
	v->io.read_blk = read_rest_32;
	v->io.read_blk64 = read_rest;
	v->io.cache_readahead = NULL;
	v->fs->io->manager = &v->io;
	return EXIT_OK;
}

void ext_close(struct ext_volume *v)
{
	ext2fs_free(v->fs);
}
