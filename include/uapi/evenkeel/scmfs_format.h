/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * What scmfs writes to memory that persists; shared by the kernel and the tools. After wu-2011
 * IV.B.2, with names and extents in place of its page tables.
 *
 *	| super | undo log | saved maps | wear | inode table | files and directories ... | super
 *	copy |
 *	0       4K                                                                 last block of
 *	the region
 *
 * Every place is given relative to the region's start, in bytes or in blocks of 4 KiB, so that an
 * image moves between machines (IV.B.2). Everything that changes while mounted changes in aligned
 * words of 8 bytes, several of them at once only through the undo log.
 *
 * What is free is not stored while mounted: a block is used when a live inode with links refers
 * to it, an inode is live when its mode is not 0. The maps are saved when the file system is
 * closed, and `clean` vouches for them; after a crash they are built from the inode table, up to
 * inode number `inode_high`. An inode with a mode and no links was unlinked while open: it is
 * freed then.
 *
 * All integers are little-endian. Checksums are CRC-32C (seed ~0, final inversion) over the
 * structure with the checksum field zero.
 */
#ifndef _UAPI_EVENKEEL_SCMFS_FORMAT_H
#define _UAPI_EVENKEEL_SCMFS_FORMAT_H

#include <linux/types.h>

#define SCMFS_SUPER_MAGIC	0x31534645454b4d53ULL	/* "SMKEEFS1" */
#define SCMFS_STATFS_MAGIC	0x53434d46
#define SCMFS_INODE_MAGIC	0x4e49u
#define SCMFS_MAP_MAGIC		0x50414d53u
#define SCMFS_VERSION		1
#define SCMFS_INCOMPAT_UNWRITTEN	0x1ULL	/* there may be SCMFS_UNWRITTEN extents */
#define SCMFS_INCOMPAT_XATTR	0x2ULL	/* inodes may have extended attributes */
#define SCMFS_INCOMPAT_KNOWN	(SCMFS_INCOMPAT_UNWRITTEN | SCMFS_INCOMPAT_XATTR)
#define SCMFS_BLOCK_SIZE	4096u
#define SCMFS_BLOCK_SHIFT	12
#define SCMFS_UNIT_SIZE		(2u << 20)	/* of wear and huge pages */
#define SCMFS_UNIT_BLOCKS	512u
#define SCMFS_UUID_SIZE		16
#define SCMFS_LABEL_SIZE	32
#define SCMFS_ROOT_INO		1
#define SCMFS_NAME_MAX		255
#define SCMFS_LINK_MAX		0x7fffffffu
#define SCMFS_MIN_BLOCKS	32u		/* of a region */
#define SCMFS_MAX_BLOCKS	0xffffffffULL
#define SCMFS_MAX_FILE_BLOCKS	0xffffffffULL	/* 16 TiB - 4 KiB */
#define SCMFS_MAX_INODES	0xffffffffULL
#define SCMFS_STATE_OFFSET	2048u		/* of struct scmfs_state in the first block */

/* Written by mkfs, with its copy in the region's last block, and not changed afterwards. */
struct scmfs_super {
	__le64	magic;
	__le32	csum;
	__le32	version;
	__le64	incompat;		/* unknown bits: refuse */
	__le64	ro_compat;		/* unknown bits: read only */
	__u8	uuid[SCMFS_UUID_SIZE];
	__u8	label[SCMFS_LABEL_SIZE];	/* NUL padded */
	__le64	region_bytes;
	__le64	nr_blocks;		/* region_bytes in blocks, rounded down */
	__le64	salt;			/* of the undo log */
	__le64	log_offset;		/* bytes */
	__le32	log_lanes;
	__le32	block_size;
	__le64	block_map_offset;	/* bit per block, as saved: 1 is used */
	__le64	inode_map_offset;	/* bit per inode */
	__le64	wear_offset;		/* __le64 per 2 MiB: blocks allocated in it so far */
	__le64	inode_offset;
	__le64	nr_inodes;		/* numbers 1 .. nr_inodes - 1; 0 is none */
	__le64	first_data_block;
	__le64	ctime;			/* seconds since 1970 */
	__u8	reserved[336];
};

/*
 * What changes of it: each word by itself, by an atomic store.
 *
 * What is used behind `inode_high` would be taken for free after a crash. So it is believed only
 * where `high_check` is its complement; where it is not, as the words have been lost, only one of
 * them had changed when power went, or a module from before `high_check` has changed it, inodes may
 * be used up to the super block's nr_inodes.
 *
 * `clean` is 0 while mounted and writable. It is zeroed, durably, before anything else changes; it
 * is set, durably, after the maps are durable.
 */
struct scmfs_state {
	__le64	clean;			/* hash of the saved maps | 1 */
	__le64	inode_high;		/* numbers from here on were never used */
	__le64	mounts;
	__le64	error;			/* not 0: damage was seen, fsck is due */
	__le64	high_check;		/* ~inode_high */
	__u8	reserved[24];
};

/*
 * `second` changes at once; an extent of no blocks is none, and its `block` means nothing. What is
 * in the blocks of an unwritten one means nothing either: the file has zeroes there. Only files
 * have such extents.
 */
struct scmfs_extent {
	__le64	block;			/* first block in the region | SCMFS_UNWRITTEN */
	__le64	second;			/* file block | number of blocks << 32 */
};

#define SCMFS_UNWRITTEN		(1ULL << 63)
#define SCMFS_INLINE_EXTENTS	8u
#define SCMFS_INLINE_TARGET	128u	/* bytes of a target kept where extents would be */

/*
 * Bytes of a block beyond `size` mean nothing; who raises `size` over them zeroes them first.
 * There may be more blocks than `size` needs (pre-allocation, IV.B.3): `size` is the
 * dissertation's file_size, its mapped_size is the end of the last extent. What lies behind both
 * `size` and `kept` is given back when nobody uses the file. Times are nanoseconds
 * since 1970, signed.
 *
 * A transaction mostly names the first five words, which are one record of the undo log.
 */
struct scmfs_inode {
	__le64	mode_links;		/* links | mode << 32; mode 0: free */
	__le64	size;
	__le64	mtime;
	__le64	ctime;
	__le64	blocks;			/* that it has, of all kinds */
	__le64	map;			/* block of its first scmfs_map, or 0 */
	__le64	parent;			/* of a directory */
	__le64	atime;
	__le64	btime;
	__le32	uid;
	__le32	gid;
	__le32	generation;		/* another one each time that the number is used */
	__le32	flags;
	__le32	rdev;
	__le16	magic;
	__le16	pad;
	__le64	virtual_size;		/* of its window in kernel memory; 0: by default */
	__le64	xattr;			/* block of its first scmfs_xattr_block, or 0 */
	__le64	kept;			/* bytes up to here stay reserved; 0: none beyond size */
	__u8	reserved[8];
	union {
		struct scmfs_extent extent[SCMFS_INLINE_EXTENTS];	/* in no order, with gaps */
		__u8	target[SCMFS_INLINE_TARGET];
	};
};

#define SCMFS_MAP_EXTENTS	252u

/* More extents of an inode: a block. */
struct scmfs_map {
	__le32	magic;
	__le32	reserved0;
	__le64	ino;
	__le64	next;			/* block of the next one, or 0 */
	__u8	reserved[40];
	struct scmfs_extent extent[SCMFS_MAP_EXTENTS];
};

/*
 * Extended attributes: entries, one after the other, in the data of a chain of blocks; they go on
 * from one block to the next. A chain is never changed, only replaced: SCMFS_MAX_XATTR_BLOCKS at
 * most, each as full as can be but for the last one.
 */
#define SCMFS_XATTR_MAGIC	0x52544158u
#define SCMFS_XATTR_DATA	4056u
#define SCMFS_MAX_XATTR_BLOCKS	32u
#define SCMFS_MAX_XATTR_VALUE	65536u

struct scmfs_xattr_block {
	__le32	magic;
	__le32	csum;			/* up to the end of what is used */
	__le64	ino;
	__le64	next;			/* block of the next one, or 0 */
	__le32	used;			/* bytes of data; what follows means nothing */
	__u8	reserved[12];
	__u8	data[SCMFS_XATTR_DATA];
};

/* What a name begins with on the outside, and what is left of it on the media. */
#define SCMFS_XATTR_USER	1u	/* "user." */
#define SCMFS_XATTR_TRUSTED	2u	/* "trusted." */
#define SCMFS_XATTR_SECURITY	3u	/* "security." */
#define SCMFS_XATTR_ACL_ACCESS	4u	/* "system.posix_acl_access": nothing is left */
#define SCMFS_XATTR_ACL_DEFAULT	5u	/* "system.posix_acl_default": neither; of a directory */

/* The name and the value follow, then zeroes up to a multiple of 8 bytes. */
struct scmfs_xattr_entry {
	__le32	value_len;
	__u8	index;
	__u8	name_len;
	__le16	reserved;
};

/*
 * A directory's blocks are cut into slots of 64 bytes; a name takes 1 to 5 of them, all in one
 * block. A slot whose first word is 0 is free. Slots do not move: a name's slot number is its
 * readdir cookie. All blocks of a directory up to its size hold slots; it has no holes there.
 */
#define SCMFS_SLOT_SIZE		64u
#define SCMFS_SLOTS_PER_BLOCK	64u
#define SCMFS_SLOT_NAME		16u	/* the name begins here */
#define SCMFS_MAX_SLOTS		5u

struct scmfs_dirent {
	__le64	head;			/* ino | type << 48 | slots << 56 */
	__le32	hash;			/* scmfs_name_hash() */
	__u8	len;			/* of the name */
	__u8	reserved[3];
	__u8	name[48];		/* goes on in the slots that follow */
};

#define SCMFS_HEAD_INO(h)	((h) << 16 >> 16)
#define SCMFS_HEAD_TYPE(h)	((h) >> 48 & 0xff)	/* the DT_ of readdir */
#define SCMFS_HEAD_SLOTS(h)	((h) >> 56)

#ifndef __cplusplus
_Static_assert(sizeof(struct scmfs_super) == 512, "super");
_Static_assert(sizeof(struct scmfs_state) == 64, "state");
_Static_assert(sizeof(struct scmfs_extent) == 16, "extent");
_Static_assert(sizeof(struct scmfs_inode) == 256, "inode");
_Static_assert(sizeof(struct scmfs_map) == SCMFS_BLOCK_SIZE, "map");
_Static_assert(sizeof(struct scmfs_xattr_block) == SCMFS_BLOCK_SIZE, "xattr block");
_Static_assert(sizeof(struct scmfs_xattr_entry) == 8, "xattr entry");
_Static_assert(sizeof(struct scmfs_dirent) == SCMFS_SLOT_SIZE, "dirent");
#endif

#endif
