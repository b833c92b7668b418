/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * A file that holds a device: this head, and the image of its flash behind it
 * (nameless_format.h). All integers are little-endian. The checksum is CRC-32C of the head
 * (seed ~0, final inversion) with its own field zero. There is no UUID: who loads it names the
 * file, and nothing is found or put together by identity.
 */
#ifndef _UAPI_EVENKEEL_NAMELESS_DEVICE_FORMAT_H
#define _UAPI_EVENKEEL_NAMELESS_DEVICE_FORMAT_H

#include <linux/types.h>

#define NL_DEVICE_MAGIC		0x31564544454d414eULL	/* "NAMEDEV1" */
#define NL_DEVICE_VERSION	1
#define NL_DEVICE_TEXT		4064

struct nl_device_head {
	__le64	magic;
	__le32	csum;
	__le32	version;
	__le64	incompat;		/* unknown bits: refuse */
	__u8	reserved[8];
	char	text[NL_DEVICE_TEXT];	/* SIZE key=value... as create takes it, then zeroes */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct nl_device_head) == 4096, "head");
#endif

#endif
