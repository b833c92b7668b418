/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: what is in memory that nobody has at the moment
 *
 * After a reboot nothing says whose reserved memory was but what is in it. Who is about to
 * overwrite a range looks for the beginnings of what this project keeps in memory, in all of the
 * range: the labels of memory devices, and file systems. Those of reserved memory begin at
 * multiples of SCM_RANGE_ALIGN, those on a device with DAX also where its partitions do.
 */
#ifndef _EVENKEEL_TENANT_H
#define _EVENKEEL_TENANT_H

#include <linux/types.h>

#define SCM_TENANT_STEP		((u64)1 << 20)
#define SCM_TENANT_HEAD		((u64)65536)	/* bytes that are looked at */
#define SCM_TENANT_NAME		40

/**
 * struct scm_tenant - somebody's content
 * @name: what to call it
 * @offset: where it begins, from where the search began
 * @bytes: that it takes from there on; 0: it doesn't say, and may take any number
 */
struct scm_tenant {
	char name[SCM_TENANT_NAME];
	u64 offset;
	u64 bytes;
};

int scm_tenant_at(const void *head, struct scm_tenant *tenant);
void scm_tenant_forget_label(void *head);
void scm_tenant_forget(void *head);
int scm_tenant_find(const void *start, u64 bytes, u64 but, struct scm_tenant *tenant);

#endif
