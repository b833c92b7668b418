// SPDX-License-Identifier: GPL-2.0-only
/*
 * The virtual segment: the block device. O_DIRECT, as the page cache would go on showing what a
 * power cut took away; and who writes there has it alone, so that no file system that is mounted is
 * overwritten.
 *
 * What was written and not flushed is in the device's memory. The power may go and come back before
 * the flush, which finds nothing to do then:
 *
 *	a block is written		the device has it in its write buffer
 *	the power goes, and is back	it is gone; no request was under way that could say so
 *	flush				all that is there lasts: 0, and its writer frees the old one
 *
 * So who writes looks at the device's number of cuts first, and a flush that finds another one
 * fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "internal.h"

#define ALIGNMENT	4096u
#define BOUNCE		(1u << 20)

/* The block device, or an error. */
static int disk_of(struct nameless *dev)
{
	int alone = dev->access == O_RDONLY ? 0 : O_EXCL, fd;

	pthread_mutex_lock(&dev->lock);
	if (dev->disk < 0)
		dev->disk = open(dev->path, dev->access | alone | O_DIRECT | O_CLOEXEC);
	fd = dev->disk < 0 ? -errno : dev->disk;
	pthread_mutex_unlock(&dev->lock);
	return fd;
}

int nameless_size(struct nameless *dev, uint64_t *bytes)
{
	int fd = disk_of(dev);

	if (fd < 0)
		return fd;
	return ioctl(fd, BLKGETSIZE64, bytes) ? -errno : 0;
}

/* Whole blocks of the disk? Return: its file, or an error. */
static int disk_for(struct nameless *dev, uint64_t bytes, uint64_t at)
{
	uint64_t size;
	int err;

	if (bytes % dev->block_bytes || at % dev->block_bytes)
		return -EINVAL;
	err = nameless_size(dev, &size);
	if (err)
		return err;
	return at > size || bytes > size - at ? -ENXIO : disk_of(dev);
}

static int transfer(int fd, void *data, size_t bytes, uint64_t at, bool write)
{
	ssize_t done;

	for (; bytes; bytes -= done, at += done, data = (char *)data + done) {
		done = write ? pwrite(fd, data, bytes, at) : pread(fd, data, bytes, at);
		if (done < 0 && errno == EINTR)
			done = 0;
		else if (done <= 0)
			return done ? -errno : -EIO;
	}
	return 0;
}

/* Memory that the disk can't use is copied, a piece at a time. */
static int bounce(int fd, void *data, size_t bytes, uint64_t at, bool write)
{
	size_t room = bytes < BOUNCE ? bytes : BOUNCE, piece;
	void *buf;
	int err = 0;

	if (!bytes)
		return 0;
	if (posix_memalign(&buf, ALIGNMENT, room))
		return -ENOMEM;
	for (; bytes && !err; bytes -= piece, at += piece, data = (char *)data + piece) {
		piece = bytes < room ? bytes : room;
		if (write)
			memcpy(buf, data, piece);
		err = transfer(fd, buf, piece, at, write);
		if (!err && !write)
			memcpy(data, buf, piece);
	}
	free(buf);
	return err;
}

static int move_data(int fd, void *data, size_t bytes, uint64_t at, bool write)
{
	if ((uintptr_t)data % ALIGNMENT)
		return bounce(fd, data, bytes, at, write);
	return transfer(fd, data, bytes, at, write);
}

/* --- what was not flushed --------------------------------------------------------------------- */

/* A query would end the notice of a cut, which nameless_moves() has to give. */
static int ask_cuts(const struct nameless *dev, uint64_t *cuts)
{
	return ioctl(dev->names, NL_IOC_CUTS, cuts) ? -errno : 0;
}

/* Before anything is written; @began: how many cuts there had been. */
static int write_begin(struct nameless *dev, uint64_t *began)
{
	struct unflushed *unflushed = &dev->unflushed;
	int err = 0;

	pthread_mutex_lock(&dev->lock);
	if (!unflushed->any || unflushed->failed)
		err = ask_cuts(dev, &unflushed->cuts);
	if (!err) {
		unflushed->any = true;
		unflushed->failed = false;
		unflushed->begun++;
		unflushed->busy++;
		*began = unflushed->cuts;
	}
	pthread_mutex_unlock(&dev->lock);
	return err;
}

/*
 * Another thread may have been told of a cut meanwhile, and have begun anew: what was written here
 * may have been before it. Return: @err, or -EIO then.
 */
static int write_end(struct nameless *dev, int err, uint64_t began)
{
	pthread_mutex_lock(&dev->lock);
	dev->unflushed.busy--;
	if (!err && dev->unflushed.cuts != began)
		err = -EIO;
	pthread_mutex_unlock(&dev->lock);
	return err;
}

static struct unflushed flush_begin(struct nameless *dev)
{
	struct unflushed before;

	pthread_mutex_lock(&dev->lock);
	before = dev->unflushed;
	pthread_mutex_unlock(&dev->lock);
	return before;
}

/*
 * The device was flushed, with @err: did all that was written @before last? A call that was under
 * way then, or began since, may have written behind the flush: that is for the next one.
 */
static int flush_end(struct nameless *dev, const struct unflushed *before, int err)
{
	struct unflushed *unflushed = &dev->unflushed;
	uint64_t cuts;

	if (!err && before->any)
		err = ask_cuts(dev, &cuts);
	if (!err && before->any && cuts != before->cuts)
		err = -EIO;
	pthread_mutex_lock(&dev->lock);
	if (err && before->any && before->cuts == unflushed->cuts)
		unflushed->failed = true;
	else if (!err && !before->busy && before->begun == unflushed->begun)
		unflushed->any = false;
	pthread_mutex_unlock(&dev->lock);
	return err;
}

int nameless_pread(struct nameless *dev, void *data, size_t bytes, uint64_t at)
{
	int fd = disk_for(dev, bytes, at);

	return fd < 0 ? fd : move_data(fd, data, bytes, at, false);
}

/* @discard: it is to read as zeros, whatever @data is. */
static int change(struct nameless *dev, const void *data, uint64_t bytes, uint64_t at, bool discard)
{
	uint64_t range[2] = { at, bytes }, began;
	int fd = disk_for(dev, bytes, at), err;

	if (fd < 0 || !bytes)
		return fd < 0 ? fd : 0;
	err = write_begin(dev, &began);
	if (err)
		return err;
	if (discard)
		err = ioctl(fd, BLKDISCARD, range) ? -errno : 0;
	else
		err = move_data(fd, (void *)data, bytes, at, true);
	return write_end(dev, err, began);
}

int nameless_pwrite(struct nameless *dev, const void *data, size_t bytes, uint64_t at)
{
	return change(dev, data, bytes, at, false);
}

int nameless_discard(struct nameless *dev, uint64_t bytes, uint64_t at)
{
	return change(dev, NULL, bytes, at, true);
}

int nameless_flush(struct nameless *dev)
{
	struct unflushed before;
	int fd = disk_of(dev);

	if (fd < 0)
		return fd;
	before = flush_begin(dev);
	return flush_end(dev, &before, fdatasync(fd) ? -errno : 0);
}
