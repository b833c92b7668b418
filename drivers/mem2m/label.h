/* SPDX-License-Identifier: GPL-2.0-only */
/* Labels (mem2m_format.h). Pure: judged in a copy of the range's head, written through scm. */
#ifndef MEM2M_LABEL_H
#define MEM2M_LABEL_H

#include <linux/types.h>
#include <evenkeel/mem2m_format.h>

/* A label in host form; sizes in bytes. */
struct m2_label_info {
	u8 uuid[M2_UUID_SIZE];
	char name[M2_NAME_SIZE];
	u64 generation;
	u64 range_bytes;
	u64 data_offset;
	u64 data_bytes;
	u64 ctime;
	u32 flags;
	unsigned int newest;	/* the copy that it was found in, or that is durable */
};

int m2_label_read(const void *head, struct m2_label_info *info);
int m2_label_write(void *range, struct m2_label_info *info, int (*settle)(void *ctx), void *ctx);

#endif
