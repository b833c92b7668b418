/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * What a hybrid pool writes to its devices; shared by the kernel and the tools.
 *
 * An *area* is a range of a device: it begins at the start sector that the table
 * line names and ends where the next area on that device begins, or the device.
 * Every area carries its label in its first 4 KiB and a copy of it in its last
 * whole 4 KiB block (blocks counted from the area's start).  The first MiB
 * belongs to the label.
 *
 * Member area:     | label, 1 MiB | physical extent 0 | 1 | ... | label copy |
 *
 * Metadata area, all offsets relative to its start and kept in the superblock:
 *   | label, 1 MiB | superblock 0 | superblock 1 | page table 0 | page table 1 |
 *   | journal | pages, two slots each ... | label copy |
 *
 * Pages hold the extent map (from index 0 upward) and the members' space maps
 * (from the last index downward), so both can grow.  A page is written to the
 * slot that is not in use; the page table of the next generation, two bits a
 * page, says which slot counts; the superblock of that generation, written last,
 * makes it so.  What changed since then is in the journal.
 *
 * All integers are little-endian.  Checksums are CRC-32C (seed ~0, final
 * inversion) over the structure's whole size with the checksum field zero.
 */
#ifndef _UAPI_EVENKEEL_HYBRID_FORMAT_H
#define _UAPI_EVENKEEL_HYBRID_FORMAT_H

#include <linux/types.h>

#define EK_BLOCK_SIZE		4096u
#define EK_SECTOR_SHIFT		9
#define EK_AREA_HEAD_BYTES	(1u << 20)	/* label and its surroundings */
#define EK_AREA_TAIL_BYTES	EK_BLOCK_SIZE	/* the label's copy */
#define EK_UUID_SIZE		16
#define EK_MAX_MEMBERS		32
#define EK_MAX_META		2
#define EK_NAME_SIZE		128
#define EK_FORMAT_VERSION	1

/* The extent map's entry; zero is "not mapped". */
#define EK_ENTRY_VALID_MASK	0x00000000ffffffffULL	/* a bit per granule */
#define EK_ENTRY_PHYS_SHIFT	32			/* physical extent + 1 */
#define EK_ENTRY_PHYS_BITS	27
#define EK_ENTRY_MEMBER_SHIFT	59
#define EK_GRANULES		32u
#define EK_MAX_MEMBER_EXTENTS	((1u << EK_ENTRY_PHYS_BITS) - 1)

#define EK_MIN_EXTENT_SECTORS	128u	/* 64 KiB */
#define EK_MAX_EXTENT_SECTORS	8192u	/* 4 MiB */

/* A superblock's generation at most.  No pool gets that old: none wrote one that says more. */
#define EK_GENERATION_LATEST	(1ULL << 62)

enum ek_area_role {
	EK_ROLE_META	= 1,
	EK_ROLE_MEMBER	= 2,
};

#define EK_LABEL_MAGIC		0x6c62414c4e565645ULL	/* "EVNLAbl" and a byte */

struct ek_label {
	__le64	magic;
	__le32	csum;
	__le32	version;
	__le64	incompat;		/* unknown bits: refuse */
	__u8	pool_uuid[EK_UUID_SIZE];
	__u8	area_uuid[EK_UUID_SIZE];
	__le32	role;			/* enum ek_area_role */
	__le32	index;			/* among the areas of that role */
	__le32	nr_members;
	__le32	nr_meta;
	__le32	extent_sectors;
	__le32	reserved0;
	__le64	area_start;		/* sectors from the device's start */
	__le64	area_sectors;
	__le64	ctime;			/* seconds since 1970 */
	__u8	name[EK_NAME_SIZE];	/* the device's name when it was made, NUL padded */
	__u8	reserved[3864];
};

#define EK_SUPER_MAGIC		0x7265707553564b45ULL
#define EK_POLICY_TEXT_SIZE	1024

#define EK_SUPER_CLEAN		0x1	/* the journal is empty, nothing was lost */
#define EK_SUPER_NEEDS_CHECK	0x2

/* ek_super.incompat: refused by who does not know them */
#define EK_INCOMPAT_LEAVING	0x1	/* set while a member is draining or removed */
#define EK_INCOMPAT_META_UUID	0x2	/* set while ek_super.meta_uuid is not all zero */
#define EK_INCOMPAT_KNOWN	(EK_INCOMPAT_LEAVING | EK_INCOMPAT_META_UUID)

enum ek_member_state {
	EK_MEMBER_ACTIVE	= 0,
	EK_MEMBER_DEGRADED	= 1,
	EK_MEMBER_FAILED	= 2,
	EK_MEMBER_DRAINING	= 3,	/* being emptied; takes nothing new */
	EK_MEMBER_REMOVED	= 4,	/* the place of one that left: nobody */
};

struct ek_super_member {
	__u8	uuid[EK_UUID_SIZE];	/* the area's uuid */
	__le32	nr_extents;
	__le32	state;			/* enum ek_member_state */
	__le64	bitmap_page;		/* page index of the first, the rest below it */
	__le32	bitmap_pages;
	__le32	reserved;
};

struct ek_super {
	__le64	magic;
	__le32	csum;
	__le32	version;
	__le64	incompat;
	__u8	pool_uuid[EK_UUID_SIZE];
	__le64	generation;		/* the higher of the two slots counts */
	__le32	flags;			/* EK_SUPER_* */
	__le32	extent_sectors;
	__le32	nr_members;
	__le32	nr_meta;
	__le32	meta_stale;		/* bit per metadata area that missed writes */
	__le32	table_csum;		/* of this generation's page table */
	__le64	nr_extents;		/* logical extents that the map has room for */
	__le64	nr_pages;		/* page indices that the area has room for */
	__le64	super_offset[2];	/* bytes */
	__le64	table_offset[2];
	__le64	table_bytes;
	__le64	journal_offset;
	__le64	journal_blocks;
	__le64	pages_offset;		/* page i, slot s: + (2 i + s) * EK_BLOCK_SIZE */
	__le64	journal_generation;	/* that emptied the journal: its blocks carry this one */
	__le64	reserved0[3];
	struct ek_super_member member[EK_MAX_MEMBERS];
	__u8	policy[EK_POLICY_TEXT_SIZE];	/* "wardrop 2 alpha 10", as in the table line */
	/*
	 * The uuids in the labels of the areas that are the mirrors; zero: the pool's, as when it
	 * was made.  A label of the same place with another one is of an area that was replaced.
	 * All ones: the place is vacant, no area is missed.  Then its bit of meta_stale is set.
	 */
	__u8	meta_uuid[EK_MAX_META][EK_UUID_SIZE];
	__u8	reserved[1576];
};

/* Two bits a page in the page table. */
enum ek_page_state {
	EK_PAGE_ABSENT	= 0,		/* all zero, no I/O needed */
	EK_PAGE_SLOT0	= 1,
	EK_PAGE_SLOT1	= 2,
};

#define EK_PAGE_MAGIC		0x45474150u
#define EK_PAGE_ENTRIES		508u	/* map entries in a page */
#define EK_PAGE_BITS		(EK_PAGE_ENTRIES * 64u)	/* space map bits in a page */

struct ek_page {
	__le32	magic;
	__le32	csum;
	__le64	index;
	__le64	generation;		/* of the superblock that made it count */
	__le64	reserved;
	__le64	entry[EK_PAGE_ENTRIES];
};

#define EK_JOURNAL_MAGIC	0x4c4e524au
#define EK_JOURNAL_RECORDS	252u

/* The upper four bits of a record's key say what it is. */
#define EK_RECORD_TYPE_SHIFT	60
#define EK_RECORD_MAP		1u	/* key: logical extent; value: its entry */
#define EK_RECORD_FREE		2u	/* key: how many; value: first extent, as an entry */

struct ek_record {
	__le64	key;
	__le64	value;
};

/*
 * A transaction is 1 or more consecutive blocks; it counts when all of them are
 * there, with one nonce, the superblock's journal_generation, the next sequence
 * number, and prev_csum equal to the csum of the last block before it (0 for the
 * first).  Replay ends at the first that does not count.
 */
struct ek_journal_block {
	__le32	magic;
	__le32	csum;
	__le64	generation;		/* ek_super.journal_generation */
	__le64	sequence;		/* of the transaction, from 1 */
	__le64	nonce;
	__le32	part;			/* this block's place in it, from 0 */
	__le32	parts;
	__le32	nr_records;
	__le32	prev_csum;
	__le64	reserved[2];
	struct ek_record record[EK_JOURNAL_RECORDS];
};

#ifndef __cplusplus
_Static_assert(sizeof(struct ek_label) == EK_BLOCK_SIZE, "label");
_Static_assert(sizeof(struct ek_super_member) == 40, "superblock's member");
_Static_assert(sizeof(struct ek_super) == EK_BLOCK_SIZE, "superblock");
_Static_assert(sizeof(struct ek_page) == EK_BLOCK_SIZE, "page");
_Static_assert(sizeof(struct ek_record) == 16, "record");
_Static_assert(sizeof(struct ek_journal_block) == EK_BLOCK_SIZE, "journal block");
#endif

#endif
