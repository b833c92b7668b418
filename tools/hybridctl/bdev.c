// SPDX-License-Identifier: GPL-2.0-only
/* Block devices and image files: open, size, I/O. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../common/looks.h"
#include "bdev.h"
#include "msg.h"

/* Shared, until it is closed: who wants it for himself waits for us, too. */
static bool is_locked(const struct bdev *dev)
{
	return flock(dev->fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK &&
	       !bdev_has_holders(dev->rdev);
}

/*
 * To have a file for oneself, or together with others who only read: until it is closed.  Only who
 * asks as well is kept away, and a file system without such locks keeps nobody.
 */
static bool is_taken(const struct bdev *dev, unsigned int flags)
{
	int lock = flags & BDEV_WRITE ? LOCK_EX : LOCK_SH;

	return flock(dev->fd, lock | LOCK_NB) && errno == EWOULDBLOCK;
}

void bdev_close(struct bdev *dev)
{
	if (dev->path && dev->fd >= 0)
		close(dev->fd);
	free(dev->path);
	memset(dev, 0, sizeof(*dev));
	dev->fd = -1;
}

int bdev_open(struct bdev *dev, const char *path, unsigned int flags)
{
	int mode = (flags & BDEV_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC;
	struct stat st;
	off_t end;
	int err;

	memset(dev, 0, sizeof(*dev));
	dev->fd = -1;
	if (stat(path, &st))
		return -errno;
	dev->file = S_ISREG(st.st_mode);
	if (!S_ISBLK(st.st_mode) && !(dev->file && flags & BDEV_FILES))
		return -ENOTBLK;
	if (!dev->file) {
		dev->rdev = st.st_rdev;
		mode |= O_DIRECT | (flags & BDEV_EXCL ? O_EXCL : 0);
	}
	dev->fd = open(path, mode);
	if (dev->fd < 0)
		return -errno;
	/* The path may have become another's since. */
	if (fstat(dev->fd, &st) || S_ISREG(st.st_mode) != dev->file) {
		close(dev->fd);
		dev->fd = -1;
		return -EREMCHG;
	}
	if (dev->file) {
		dev->fs = st.st_dev;
		dev->ino = st.st_ino;
	} else {
		dev->rdev = st.st_rdev;
	}
	if (flags & BDEV_LOOK && !dev->file && is_locked(dev)) {
		close(dev->fd);
		dev->fd = -1;
		return -EAGAIN;
	}
	if (flags & BDEV_EXCL && dev->file && is_taken(dev, flags)) {
		close(dev->fd);
		dev->fd = -1;
		return -EBUSY;
	}
	end = lseek(dev->fd, 0, SEEK_END);
	if (end < 0) {
		err = -errno;
		close(dev->fd);
		dev->fd = -1;
		return err;
	}
	dev->sectors = end / SECTOR_SIZE;
	dev->path = xstrdup(path);
	return 0;
}

int bdev_open_same(struct bdev *dev, const char *path, dev_t rdev, unsigned int flags)
{
	int err = bdev_open(dev, path, flags);

	if (err || dev->rdev == rdev)
		return err;
	bdev_close(dev);
	return -EREMCHG;
}

const char *bdev_error(int err)
{
	return err == -EREMCHG ? "is another device by now" : strerror(-err);
}

int bdev_read(const struct bdev *dev, uint64_t offset, void *buf, size_t len)
{
	ssize_t n;

	while (len) {
		n = pread(dev->fd, buf, len, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		buf = (char *)buf + n;
		offset += n;
		len -= n;
	}
	return 0;
}

int bdev_write(const struct bdev *dev, uint64_t offset, const void *buf, size_t len)
{
	ssize_t n;

	while (len) {
		n = pwrite(dev->fd, buf, len, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		buf = (const char *)buf + n;
		offset += n;
		len -= n;
	}
	return 0;
}

int bdev_flush(const struct bdev *dev)
{
	return fsync(dev->fd) ? -errno : 0;
}

uint64_t bdev_sectors(const struct bdev *dev)
{
	off_t end = lseek(dev->fd, 0, SEEK_END);

	return end < 0 ? 0 : end / SECTOR_SIZE;
}

int bdev_discard(const struct bdev *dev, uint64_t offset, uint64_t len)
{
	uint64_t range[2] = { offset, len };

	return ioctl(dev->fd, BLKDISCARD, range) ? -errno : 0;
}

int bdev_lock(const struct bdev *dev)
{
	if (!flock_patiently(dev->fd, LOCK_EX))
		return 0;
	if (errno != EWOULDBLOCK)
		return -errno;
	warn("%s: waiting for another program that has it locked", dev->path);
	while (flock(dev->fd, LOCK_EX))
		if (errno != EINTR)
			return -errno;
	return 0;
}

void *bdev_buffer(size_t len)
{
	void *buf = NULL;

	if (posix_memalign(&buf, 4096, len))
		buf = NULL;
	if (!buf)
		no_memory();
	return memset(buf, 0, len);
}
