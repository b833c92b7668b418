/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Block devices (and, for offline work, image files): size, I/O past the page
 * cache, who uses them.
 */
#ifndef HYBRIDCTL_BDEV_H
#define HYBRIDCTL_BDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SECTOR_SIZE	512u

struct bdev {
	char *path;
	int fd;
	bool file;		/* a regular file: only with BDEV_FILES */
	dev_t rdev;		/* device number; of a file: 0 */
	dev_t fs;		/* of a file: which one; of a device: 0 */
	ino_t ino;		/* likewise */
	uint64_t sectors;
};

#define BDEV_WRITE	0x1
#define BDEV_EXCL	0x2	/* fail with -EBUSY if in use; a file: if a program has it locked */
#define BDEV_FILES	0x4	/* take regular files, too */
/*
 * To look at it, who ever has it: fail with -EAGAIN if a program has a lock of it, as long as it is
 * nothing that other devices lie on.  Reading what is being discarded waits until that is done.
 */
#define BDEV_LOOK	0x8

/* 0; -ENOTBLK: neither block device nor (with BDEV_FILES) file; -errno of open. */
int bdev_open(struct bdev *dev, const char *path, unsigned int flags);
/* Likewise, but only if it is the device that was judged by that path before, else -EREMCHG. */
int bdev_open_same(struct bdev *dev, const char *path, dev_t rdev, unsigned int flags);
/* What bdev_open() and bdev_open_same() return, for people. */
const char *bdev_error(int err);
void bdev_close(struct bdev *dev);

/*
 * Whole 4 KiB blocks at multiples of 4 KiB, less only at a device's end, in direct I/O for devices:
 * the page cache would show what was there before the kernel's target wrote.  0 or -errno.
 */
int bdev_read(const struct bdev *dev, uint64_t offset, void *buf, size_t len);
int bdev_write(const struct bdev *dev, uint64_t offset, const void *buf, size_t len);
int bdev_flush(const struct bdev *dev);
/* Its size now, which may not be what it was when it was opened. */
uint64_t bdev_sectors(const struct bdev *dev);
/* Of one that need not be opened for that; 0: not known. */
uint64_t bdev_sectors_told(dev_t rdev);
/* A part of it, in bytes. */
int bdev_discard(const struct bdev *dev, uint64_t offset, uint64_t len);
/* The unit that discards should be multiples of; 0: not known.  Bytes. */
uint64_t bdev_discard_unit(dev_t rdev);
/*
 * Nobody who respects such locks, as udev and our own scans do, looks at it until it is closed.
 * Waits for those who do now, with a line on standard error if it takes long.  0 or -errno.
 */
int bdev_lock(const struct bdev *dev);

/*
 * It, or one that it lies on, as bdev_lies_on() has it, that loses its content with the power: a
 * RAM disk, RAM set aside, or a loop device of a file in memory; NULL: none; free().
 */
char *bdev_volatile(dev_t rdev);
/* Who uses it: "mounted on /mnt", "part of dm device vg-lv", ...; NULL: nobody known; free(). */
char *bdev_users(dev_t rdev);
/* Those of them who do so until they are told otherwise; not who only has it open. */
char *bdev_keepers(dev_t rdev);
/*
 * A number that no other device gets until the machine is started anew; 0: it is not there, or the
 * kernel tells none.
 */
uint64_t bdev_seq(dev_t rdev);
/* Have udev look at it anew, and know whose it is, but not start that volume. */
void bdev_announce(dev_t rdev);
/* Where a file system of a type that begins so is mounted from it; NULL: nowhere; free(). */
char *bdev_mounted(dev_t rdev, const char *type);
/* Its node's path: "/dev/sda", "/dev/mapper/x"; free(). */
char *bdev_path(dev_t rdev);
bool bdev_has_holders(dev_t rdev);
/*
 * Is it, or anything it lies on as bdev_lies_on() has it, a device-mapper device that is
 * suspended, or multipath's without a usable path?  Who reads it waits for long.  NULL: no, else
 * what to tell of it.
 */
const char *bdev_stalled(dev_t rdev);
/* Is it a copy that is not to be taken for the original: LVM's, or another of device-mapper's? */
bool bdev_is_snapshot(dev_t rdev);
/* Does @upper lie on @lower, through any number of layers? */
bool bdev_is_above(dev_t upper, dev_t lower);
/*
 * Is it that device, or on top of it through any number of layers, also by partitions and by loop
 * devices' files?  Of a file system of several devices only the one it was mounted by is seen, and
 * none of one that lies on another, like overlayfs.
 */
bool bdev_lies_on(dev_t upper, dev_t lower);
/* The disk that a partition is of, any other device itself: what it lies on is known of that. */
dev_t bdev_disk(dev_t rdev);

/*
 * Call @fn for every block device there is, but CD and floppy drives, for one that lies on others
 * before these; by name.
 */
void bdev_for_each(void (*fn)(void *ctx, dev_t rdev), void *ctx);

/* 4 KiB aligned, zeroed; free(). */
void *bdev_buffer(size_t len);

#endif
