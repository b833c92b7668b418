/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * What a mounted scmfs tells of itself, to an ioctl on any of its files or directories.
 *
 * Each structure begins with its size, and may grow at its end: the number of the ioctl stays.
 * The caller sets @size to what it knows and @flags to 0. A module that knows more fills that
 * much; one that knows less zeroes the rest, and in any case says in @size how many bytes mean
 * something. So a member counts if it lies within @size on return.
 *
 * Errors: EINVAL, @size is less than the first version's or above SCMFS_SIZE_MAX, or a flag isn't
 * known; E2BIG, a member that the module doesn't know isn't zero; EPERM, it takes CAP_SYS_ADMIN;
 * EFAULT; EIO, the file system was shut down; ENOMEM; EINTR, killed while it waited for who writes.
 */
#ifndef _UAPI_EVENKEEL_SCMFS_H
#define _UAPI_EVENKEEL_SCMFS_H

#include <linux/ioctl.h>
#include <linux/types.h>

struct scmfs_head {
	__u32	size;
	__u32	flags;
};

#define SCMFS_SIZE_MAX	4096u		/* on every machine, whatever its pages */

#define SCMFS_INFO_ADMIN	0x1u	/* out: the caller may see all */

/**
 * struct scmfs_info - the file system as a whole
 * @size: as above
 * @flags: in: 0; out: SCMFS_INFO_*
 * @memory: bytes of all of it
 * @all: bytes that files and directories can have; the rest is the file system's own
 * @free: bytes of these
 * @inodes: that there can be
 * @free_inodes: of them
 * @log: bytes of the undo log
 * @log_lanes: that it has: so many operations at once
 * @skew: where FIEMAP says 0 the memory's address is so many bytes behind a multiple of 2 MiB
 * @ram: bytes of ordinary memory for maps, counts and the log, without those for files; 0: not
 *	known, as it was never writable
 * @windows: of files in many pieces, for their readers
 * @window_bytes: mapped by them
 * @windows_made: since it was mounted
 * @windows_reclaimed: of them, as memory was short
 * @areas: of nvmalloc() that are open
 * @area_reserved: bytes that they can be expanded to
 * @area_bytes: that they have
 * @area_window_bytes: of these, in several pieces
 * @pinned: files that no program has open, but pages of which are pinned: it can't be unmounted
 * @log_ram: bytes of @ram that are the log's
 *
 * From @ram on they are 0 without SCMFS_INFO_ADMIN, which CAP_SYS_ADMIN gives.
 */
struct scmfs_info {
	__u32	size;
	__u32	flags;
	__u64	memory;
	__u64	all;
	__u64	free;
	__u64	inodes;
	__u64	free_inodes;
	__u64	log;
	__u32	log_lanes;
	__u32	skew;
	__u64	ram;
	__u64	windows;
	__u64	window_bytes;
	__u64	windows_made;
	__u64	windows_reclaimed;
	__u64	areas;
	__u64	area_reserved;
	__u64	area_bytes;
	__u64	area_window_bytes;
	__u64	pinned;
	__u64	log_ram;
};

/**
 * struct scmfs_file_info - the file or directory that the ioctl is on
 * @size: as above
 * @flags: 0
 * @taken: bytes of memory, with what says where they are, and attributes
 * @room: bytes of these that are room ahead: behind its end, and nobody reserved them
 */
struct scmfs_file_info {
	__u32	size;
	__u32	flags;
	__u64	taken;
	__u64	room;
};

/**
 * struct scmfs_room - room ahead of all files in use, some of them a call; CAP_SYS_ADMIN
 * Files that have no name any more are not counted.
 * @size: as above
 * @flags: 0
 * @from: in: number of the inode to begin at, at first 0; out: where to go on, 0: that was all
 * @bytes: out: room of those that were looked at
 * @files: out: how many have some
 */
struct scmfs_room {
	__u32	size;
	__u32	flags;
	__u64	from;
	__u64	bytes;
	__u64	files;
};

#define SCMFS_LOOK_MAX	512u		/* words that a call fills */

/**
 * struct scmfs_words - the wear of units of 2 MiB, or which blocks are used; CAP_SYS_ADMIN
 * @size: as above
 * @flags: 0
 * @from: in: unit, or block, a multiple of 64, of the first word
 * @words: __u64[@nr]: blocks that were allocated in a unit so far; or a bit for each block, from
 *	the lowest on, 1: used
 * @nr: in: room; out: words filled, SCMFS_LOOK_MAX at most; 0: @from is beyond the end
 * @reserved: 0
 * @first: out: first block that files can have
 * @end: out: the one behind the last that they can have
 */
struct scmfs_words {
	__u32	size;
	__u32	flags;
	__u64	from;
	__u64	words;
	__u32	nr;
	__u32	reserved;
	__u64	first;
	__u64	end;
};

#define SCMFS_GC_ON		0x1u	/* out: thresholds start it by themselves */
#define SCMFS_GC_RUNNING	0x2u	/* out: it was started and has not ended, or is at work */
#define SCMFS_GC_HUGE		0x4u	/* out: with huge pages here, it moves blocks, too */

#define SCMFS_GC_SET_ON		0x01u
#define SCMFS_GC_SET_OFF	0x02u
#define SCMFS_GC_SET_START	0x04u
#define SCMFS_GC_SET_STOP	0x08u
#define SCMFS_GC_SET_LOW	0x10u
#define SCMFS_GC_SET_HIGH	0x20u
#define SCMFS_GC_SET_WHOLE	0x40u
#define SCMFS_GC_SET_COLD	0x80u

/**
 * struct scmfs_gc_info - garbage collection, and what is to change of it; CAP_SYS_ADMIN
 * @size: as above
 * @flags: in: 0; out: SCMFS_GC_ON, and so on
 * @set: in: SCMFS_GC_SET_*, the members that are to change, and whether it is to start or stop; 0:
 *	nothing; out: 0
 * @low: percent of the memory free below which room ahead is given back
 * @high: up to so many percent; not less than @low
 * @whole: percent of what is free that should be in whole units of 2 MiB
 * @cold: seconds since a file was modified from which on it is cold
 * @error: out: why the last pass ended early, an errno; 0: it did not. ECANCELED also if what was
 *	started was stopped before all was done
 * @ram: out: bytes of ordinary memory
 * @passes: out: begun since the file system was mounted, as all that follows
 * @rounds: out: times that all files were looked at
 * @inodes: out: looked at
 * @moves: out: relocations
 * @moved_bytes: out: by them
 * @wholes: out: 2 MiB of files put into one aligned piece
 * @emptied: out: units of 2 MiB that became free as a whole
 * @stuck: out: that could not be emptied
 * @room_bytes: out: of room ahead given back
 * @busy: out: times that a file was passed by, as somebody was at work on it
 * @mapped: out: as it was mapped, pinned or an area of nvmalloc()
 * @no_room: out: as there was no run for what it has
 * @bad: out: relocations that met bad memory
 * @failed: out: or failed otherwise
 * @unchanged: out: of @inodes files of 2 MiB or more whose extents were not looked at again, as
 *	nothing was done to the file since there was nothing in it to put together
 * @refilled: out: units given up as others put more into them than there was
 *
 * EINVAL: a bit of @set isn't known, two contradict each other, or a number is above 100 percent;
 * EROFS: it can't start, the file system is read-only.
 */
struct scmfs_gc_info {
	__u32	size;
	__u32	flags;
	__u32	set;
	__u32	low;
	__u32	high;
	__u32	whole;
	__u32	cold;
	__u32	error;
	__u64	ram;
	__u64	passes;
	__u64	rounds;
	__u64	inodes;
	__u64	moves;
	__u64	moved_bytes;
	__u64	wholes;
	__u64	emptied;
	__u64	stuck;
	__u64	room_bytes;
	__u64	busy;
	__u64	mapped;
	__u64	no_room;
	__u64	bad;
	__u64	failed;
	__u64	unchanged;
	__u64	refilled;
};

#define SCMFS_IOC		0xeb
#define SCMFS_IOC_INFO		_IOWR(SCMFS_IOC, 32, struct scmfs_head)
#define SCMFS_IOC_FILE_INFO	_IOWR(SCMFS_IOC, 33, struct scmfs_head)
#define SCMFS_IOC_ROOM		_IOWR(SCMFS_IOC, 34, struct scmfs_head)
#define SCMFS_IOC_WEAR		_IOWR(SCMFS_IOC, 35, struct scmfs_head)
#define SCMFS_IOC_USED		_IOWR(SCMFS_IOC, 36, struct scmfs_head)
#define SCMFS_IOC_GC		_IOWR(SCMFS_IOC, 37, struct scmfs_head)

#ifndef __cplusplus
_Static_assert(sizeof(struct scmfs_head) == 8, "head");
_Static_assert(sizeof(struct scmfs_info) == 152, "info");
_Static_assert(sizeof(struct scmfs_file_info) == 24, "file info");
_Static_assert(sizeof(struct scmfs_room) == 32, "room");
_Static_assert(sizeof(struct scmfs_words) == 48, "words");
_Static_assert(sizeof(struct scmfs_gc_info) == 168, "gc");
#endif

#endif
