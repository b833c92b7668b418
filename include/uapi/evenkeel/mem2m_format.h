/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * What mem2m writes to memory whose content survives; shared by the kernel and the tools.
 *
 *	| label 0 | label 1 | struct pages of the data, if they are needed | data ... |
 *	0        32K       64K                                         data_offset
 *
 * The labels are two copies of the same. To change it, the copy that is not the newest valid one
 * is written first, and made durable before the other is touched; so one of them is always valid,
 * and the higher generation counts.
 *
 * All integers are little-endian. The checksum is CRC-32C (seed ~0, final inversion) over the whole
 * label with the checksum field zero.
 */
#ifndef _UAPI_EVENKEEL_MEM2M_FORMAT_H
#define _UAPI_EVENKEEL_MEM2M_FORMAT_H

#include <linux/types.h>

#define M2_LABEL_MAGIC		0x4d324d654c424c31ULL
#define M2_FORMAT_VERSION	1
#define M2_LABEL_STRIDE		32768u		/* from one copy to the other */
#define M2_HEAD_BYTES		65536u		/* both copies and what surrounds them */
#define M2_UUID_SIZE		16
#define M2_NAME_SIZE		32

#define M2_LABEL_FRESH		0x1	/* still being zeroed: nothing is there to be kept */

struct m2_label {
	__le64	magic;
	__le32	csum;
	__le32	version;
	__le64	incompat;		/* unknown bits: refuse */
	__le64	generation;
	__u8	uuid[M2_UUID_SIZE];
	__u8	name[M2_NAME_SIZE];	/* NUL padded */
	__le64	range_bytes;		/* of the memory that the device was made on */
	__le64	data_offset;		/* from the start of the range */
	__le64	data_bytes;		/* what the block device shows */
	__le64	ctime;			/* seconds since 1970 */
	__le32	flags;			/* M2_LABEL_* */
	__u8	reserved[396];
};

#ifndef __cplusplus
_Static_assert(sizeof(struct m2_label) == 512, "label");
#endif

#endif
