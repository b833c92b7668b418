/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * What nameless writes: into the OOB of flash pages, into pages of its own, and into image files.
 *
 * All integers are little-endian. Checksums are CRC-32C (seed ~0, final inversion), with the
 * checksum field zero.
 *
 * OOB is programmed once, with its page, so nothing in it can be changed later: which of two
 * copies counts is told by numbers. @seq is the host write's, copied along by whoever moves the
 * page; the higher one counts, and two pages with one logical page and one @seq hold the same.
 * @program numbers programs: of pages that hold the same the lower one is the source, and counts
 * while it is there.
 *
 * A trim record is a page whose data is a bitmap of NL_TRIM_BITS(page size) logical pages; @lpn is
 * the number of that chunk. A bit that is set says that no version of that logical page with a
 * lower @seq counts. A record of the same chunk with a higher @seq replaces it.
 *
 * A page that could not be read when it was to be moved has NL_OOB_LOST in its place, which is a
 * version like any other, newer than the one that it stands for: to read it is an error.
 *
 * Zoned: page n of the zone's k-th block holds page n * blocks + k of the zone's address space,
 * which begins at a multiple of its size, a power of two; @aux is the number of blocks. NL_OOB_PAD
 * says that the zone was finished there. A bad block with records of a zone says that the zone is
 * read-only. Of two blocks in the same place of a zone the one with more pages counts.
 *
 * A page of the map holds the flash pages, each a __le32, of as many logical pages as it has room
 * for, 0x7fffffff of those that have none; @lpn counts them. It is a cache: what other pages' OOB
 * says counts, and a page of the map is dead after a start, whatever it says.
 *
 * Split: OOB says whose a page is, and a start asks only which blocks have metadata: pages of
 * NL_OOB_SPLIT, with nothing else in such a block: struct nl_split_page, and what it announces.
 * They come in generations, each numbered higher than those before; @index counts the pages of one.
 * The first @pages of a generation are all of the metadata, 32-bit words in order: the flash page
 * of each logical page, 0x7fffffff if it has none; the erases of each block; and for each block how
 * much less than the page's @seq that of its newest data is. Commits follow, each of @parts pages,
 * of pairs of words: what it is of, and the word. That is a logical page, or a block with
 * NL_SPLIT_BLOCK, of its erases, or with NL_SPLIT_NEWEST, of its newest data. The highest
 * generation whose first @pages are there counts, with all commits that are there as a whole, up to
 * the first one that is not.
 *
 * A checkpoint is @aux pages with one @seq, @lpn counts them from 0; their data in order is
 * struct nl_checkpoint and what it announces. It is complete or it does not count; the block of
 * page 0 is erased before anything else changes the flash.
 */
#ifndef _UAPI_EVENKEEL_NAMELESS_FORMAT_H
#define _UAPI_EVENKEEL_NAMELESS_FORMAT_H

#include <linux/types.h>

#define NL_OOB_MAGIC		0x426f4c4eu		/* "NLoB" */
#define NL_CHECKPOINT_MAGIC	0x504b43454c4d414eULL	/* "NAMLECKP" */
#define NL_IMAGE_MAGIC		0x31474d49454c4d4eULL	/* "NMLEIMG1" */
#define NL_FORMAT_VERSION	1			/* of OOB and checkpoints */
#define NL_IMAGE_VERSION	2			/* 1 had no sums of data */

enum nl_oob_type {
	NL_OOB_DATA = 1,	/* a logical page */
	NL_OOB_TRIM = 2,	/* a trim record */
	NL_OOB_CHECKPOINT = 3,
	NL_OOB_PAD = 4,		/* fills a hole that nothing else was there for */
	NL_OOB_NAMELESS = 5,	/* a block of the physical segment */
	NL_OOB_MAP = 6,		/* nameless: a chunk of the virtual segment's map */
	NL_OOB_SPLIT = 7,	/* split: metadata; @lpn is its index, @seq its generation */
	NL_OOB_LOST = 8,	/* hybrid: a logical page whose content nobody could read */
};

enum nl_oob_role {
	NL_ROLE_LOG = 0,	/* in the order of writing: page map, random log blocks */
	NL_ROLE_SEQUENTIAL = 1,	/* hybrid: the sequential log block; page n holds offset n */
	NL_ROLE_DATA = 2,	/* hybrid: a data block; page n holds offset n */
};

struct nl_oob {
	__le32	magic;
	__le32	csum;			/* of this struct */
	__u8	version;
	__u8	ftl;			/* 0 page map, 1 hybrid, 2 nameless, 3 zoned, 4 split */
	__u8	type;			/* enum nl_oob_type */
	__u8	role;			/* enum nl_oob_role */
	__le32	logical_pages;		/* of the device */
	__le64	lpn;			/* nameless: first word of its metadata */
	__le64	seq;
	__le64	program;
	__le32	aux;			/* pages of the checkpoint; zoned: blocks of a zone */
	__le32	data_csum;		/* of the data of trim records, checkpoints and maps */
	__le64	meta[2];		/* nameless: the other words; 0 for all others */
};

#define NL_OOB_BYTES		64u	/* of what the geometry offers */
#define NL_TRIM_BITS(bytes)	(8u * (bytes))

/*
 * Followed by struct nl_ckpt_block of each block, then the FTL's tables, each entry a __le32, and
 * the places of @nr_trim trim records.
 */
struct nl_checkpoint {
	__le64	magic;
	__le32	version;
	__le32	nr_blocks;
	__le32	logical_pages;
	__le32	nr_trim;
	__le64	seq;
	__le64	program;
	__u8	reserved[24];
};

struct nl_ckpt_block {
	__le64	newest;			/* seq of its newest data */
	__le32	next;			/* page to be programmed next */
	__u8	state;			/* as FTLs have it */
	__u8	flags;
	__u8	reserved[2];
};

#define NL_SPLIT_MAGIC		0x54494c5053454c4eULL	/* "NLESPLIT" */
#define NL_SPLIT_VERSION	2u			/* 1 had a fixed place, no newest */
#define NL_SPLIT_BLOCK		0x80000000u		/* of a change: a block's erases */
#define NL_SPLIT_NEWEST		0xc0000000u		/* of a change: its newest data */
#define NL_SPLIT_FIRST		0x1u			/* flags: no generation was there before */

struct nl_split_page {
	__le64	magic;
	__le32	csum;			/* of the whole page */
	__le32	version;
	__le64	gen;
	__le64	seq;			/* of the last write that it knows of */
	__le32	index;
	__le32	pages;
	__le32	part;			/* of a commit, from 0 */
	__le32	parts;			/* 0: one of the first @pages */
	__le32	words;			/* that follow */
	__le32	nr_blocks;
	__le32	flags;
	__le32	reserved;
};

/*
 * An image of the flash, whatever FTL wrote it:
 *
 *	header | for each block in order: struct nl_image_block, OOB of the pages up to @next (if
 *	@has_oob), one enum nl_image_kind in a byte for each, the data of those of NL_IMAGE_BYTES
 *
 * The header's checksum covers the header, a block's all that is the block's but data, of which
 * there is a sum of its own. There is no UUID: an image is a file that somebody names, and nothing
 * looks for its parts by identity.
 */
struct nl_image_header {
	__le64	magic;
	__le32	csum;
	__le32	version;
	__le64	incompat;		/* unknown bits: refuse */
	__le32	nr_planes;
	__le32	blocks;			/* per plane */
	__le32	pages;			/* per block */
	__le32	page_bytes;
	__le32	oob_bytes;
	__le32	endurance;
	__u8	reserved[208];
};

#define NL_IMAGE_BATTERY	0x1ULL	/* incompat: battery-backed memory follows the blocks */

/*
 * Battery-backed memory: this; a bit for each flash page, whether it is a valid block of the
 * physical segment, in bytes; @moves struct nl_image_move; for each of @slots a struct
 * nl_image_slot with @pages struct nl_image_held, each followed by its OOB and, with @data, its
 * data; and a __le32, the sum of all that.
 */
struct nl_image_battery {
	__le32	slots;
	__le32	moves;
};

struct nl_image_move {
	__le32	from;
	__le32	to;
	__le64	meta[3];
};

struct nl_image_slot {
	__le32	block;
	__le32	pages;
	__u8	lost;
	__u8	reserved[7];
};

struct nl_image_held {
	__le32	page;
	__u8	data;
	__u8	reserved[3];
};

struct nl_image_block {
	__le32	csum;
	__le32	erases;
	__le32	next;
	__u8	state;			/* 0 good, 1 bad */
	__u8	has_oob;		/* a torn erase left none */
	__u8	reserved[2];
	__le32	data_csum;		/* of the data that follows */
	__u8	reserved2[12];
};

enum nl_image_kind {
	NL_IMAGE_ZEROS = 0,
	NL_IMAGE_BYTES = 1,
	NL_IMAGE_ERROR = 2,		/* torn or failed: can't be read */
	NL_IMAGE_BLANK = 3,		/* torn: looks erased */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct nl_oob) == NL_OOB_BYTES, "OOB");
_Static_assert(sizeof(struct nl_checkpoint) == 64, "checkpoint");
_Static_assert(sizeof(struct nl_ckpt_block) == 16, "checkpoint's block");
_Static_assert(sizeof(struct nl_split_page) == 64, "metadata of the split FTL");
_Static_assert(sizeof(struct nl_image_header) == 256, "image");
_Static_assert(sizeof(struct nl_image_block) == 32, "image's block");
_Static_assert(sizeof(struct nl_image_battery) == 8, "image's battery");
_Static_assert(sizeof(struct nl_image_move) == 32, "image's migration");
_Static_assert(sizeof(struct nl_image_slot) == 16, "image's slot");
_Static_assert(sizeof(struct nl_image_held) == 8, "image's page");
#endif

#endif
