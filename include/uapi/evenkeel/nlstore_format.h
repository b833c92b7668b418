/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * A tree of files on a device of the FTL "nameless": what is in files is in the physical segment,
 * a catalogue of everything in the virtual one. All integers are little-endian, checksums CRC-32C
 * (seed ~0, final inversion), with the checksum field zero.
 *
 *	block 0, 1		superblocks: the one of generation g is in block g % 2
 *	2 to the middle		catalogues of even generations
 *	the middle on		catalogues of odd ones
 *
 * The superblock with the higher generation counts, which follows the other's; the first one is
 * alone, beside zeros. Anything else is damage. Both halves have the length of the catalogue that
 * counts, mapped, so that the next one of that length needs no space.
 *
 * A catalogue is one struct ns_entry after another, in the order of their paths, in which '/' is
 * less than any other byte: so what a directory holds follows it. The first one is the tree's top,
 * its path is "".
 *
 * The metadata of a block: @id of the store; a serial number, which no other block has; NS_META.
 */
#ifndef _UAPI_EVENKEEL_NLSTORE_FORMAT_H
#define _UAPI_EVENKEEL_NLSTORE_FORMAT_H

#include <linux/types.h>

#define NS_MAGIC	0x3145524f54534c4eULL	/* "NLSTORE1" */
#define NS_META		0x6b636f6c62534c4eULL	/* "NLSblock" */
#define NS_VERSION	1

struct ns_super {
	__le64	magic;
	__le32	csum;			/* of this struct */
	__le32	version;
	__le64	incompat;		/* unknown bits: refuse */
	__u8	uuid[16];
	__le64	id;			/* in the metadata of its blocks */
	__le64	generation;
	__le64	serial;			/* all blocks have a lower one; at most 2^63 */
	__le64	start;			/* of the catalogue, in blocks */
	__le64	bytes;			/* of it */
	__le64	before;			/* of the one before it */
	__le32	block_bytes;
	__le32	catalogue_csum;
	__u8	reserved[32];
};

enum ns_type {
	NS_DIRECTORY = 1,
	NS_FILE = 2,
	NS_SYMLINK = 3,			/* @target: to what */
	NS_LINK = 4,			/* of the file at @target, which comes before it */
	NS_FIFO = 5,
	NS_CHAR = 6,			/* @device */
	NS_BLOCK = 7,
};

/* Followed by @path bytes, @target bytes, zeroes up to 8, and @blocks struct ns_ref. */
struct ns_entry {
	__le32	length;			/* of all that */
	__u8	type;			/* enum ns_type */
	__u8	reserved[3];
	__le32	mode;			/* permissions, set-id and sticky bits */
	__le32	uid;
	__le32	gid;
	__le32	path;
	__le32	target;
	__le32	blocks;
	__le64	size;
	__le64	device;			/* major << 32 | minor */
	__le64	inode;			/* where it was imported from */
	__le64	mtime;
	__le64	ctime;			/* there; 0: it may have changed since without a trace */
	__le32	mtime_nsec;
	__le32	ctime_nsec;
};

/* A block of a file; serial number 0: nothing but zeros, and it is nowhere. */
struct ns_ref {
	__le64	serial;
	__le32	address;
	__le32	csum;			/* of the data */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct ns_super) == 128, "superblock");
_Static_assert(sizeof(struct ns_entry) == 80, "entry");
_Static_assert(sizeof(struct ns_ref) == 16, "block");
#endif

#endif
