// SPDX-License-Identifier: GPL-2.0-only
/* Whose content a range of memory has, read by what survives bad memory; tenant.h has more. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <evenkeel/label.h>
#include <evenkeel/mem2m_format.h>
#include <evenkeel/scm.h>
#include <evenkeel/scmfs_format.h>
#include <evenkeel/tenant.h>

static bool scm_label_whole(const struct m2_label *label)
{
	return label->magic == cpu_to_le64(M2_LABEL_MAGIC) &&
	       le32_to_cpu(label->csum) == ek_checksum(label, sizeof(*label), &label->csum);
}

/* One that is still being zeroed has no content yet. */
static bool scm_tenant_mem2m(const struct m2_label *label, struct scm_tenant *tenant)
{
	if (!label->magic || le32_to_cpu(label->flags) & M2_LABEL_FRESH)
		return false;
	snprintf(tenant->name, sizeof(tenant->name), "mem2m %.*s", M2_NAME_SIZE - 1, label->name);
	tenant->bytes = le64_to_cpu(label->range_bytes);
	return true;
}

/* A damaged super block may be repaired, so it counts as well. */
static bool scm_tenant_scmfs(const struct scmfs_super *super, struct scm_tenant *tenant)
{
	if (super->magic != cpu_to_le64(SCMFS_SUPER_MAGIC))
		return false;
	strscpy(tenant->name, "an scmfs file system", sizeof(tenant->name));
	tenant->bytes = 0;
	if (le32_to_cpu(super->csum) == ek_checksum(super, sizeof(*super), &super->csum))
		tenant->bytes = le64_to_cpu(super->region_bytes);
	return true;
}

/* The newest whole copy of a label; zero: there is none. False: some of it is in bad memory. */
static bool scm_newest_label(const void *head, struct m2_label *newest)
{
	struct m2_label label;
	bool readable = true;
	unsigned int i;

	memset(newest, 0, sizeof(*newest));
	for (i = 0; i < 2; i++) {
		if (copy_mc_to_kernel(&label, head + i * M2_LABEL_STRIDE, sizeof(label)))
			readable = false;
		else if (scm_label_whole(&label) &&
			 le64_to_cpu(label.generation) > le64_to_cpu(newest->generation))
			*newest = label;
	}
	return readable;
}

/**
 * scm_tenant_at - does somebody's content begin here?
 * @head: SCM_TENANT_HEAD bytes of memory
 * @tenant: filled, but for its offset, when 0 is returned
 *
 * Bad memory in one copy of a label says nothing against the other one.
 * Context: any.
 * Return: 0, -ENOENT or, when the memory is bad where it would say so, -EIO.
 */
int scm_tenant_at(const void *head, struct scm_tenant *tenant)
{
	struct scmfs_super super;
	struct m2_label newest;
	bool readable = scm_newest_label(head, &newest);

	if (scm_tenant_mem2m(&newest, tenant))
		return 0;
	if (copy_mc_to_kernel(&super, head, sizeof(super)))
		return -EIO;
	if (scm_tenant_scmfs(&super, tenant))
		return 0;
	return readable ? -ENOENT : -EIO;
}
EXPORT_SYMBOL_GPL(scm_tenant_at);

static void scm_forget_magic(void *at, u64 magic)
{
	__le64 found;

	if (copy_mc_to_kernel(&found, at, sizeof(found)) || found != cpu_to_le64(magic))
		return;
	scm_store64(at, 0);
	scm_flush(at, sizeof(found));
}

/**
 * scm_tenant_forget_label - no device begins here any more
 * @head: SCM_TENANT_HEAD bytes of memory
 *
 * Nobody finds anything in bad memory.
 * Context: any; durable after the next scm_fence().
 */
void scm_tenant_forget_label(void *head)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		scm_forget_magic(head + i * M2_LABEL_STRIDE, M2_LABEL_MAGIC);
}
EXPORT_SYMBOL_GPL(scm_tenant_forget_label);

/**
 * scm_tenant_forget - nobody's content begins here any more
 * @head: SCM_TENANT_HEAD bytes of memory
 *
 * Context: any; durable after the next scm_fence().
 */
void scm_tenant_forget(void *head)
{
	scm_tenant_forget_label(head);
	scm_forget_magic(head, SCMFS_SUPER_MAGIC);
}
EXPORT_SYMBOL_GPL(scm_tenant_forget);

/**
 * scm_tenant_find - find the first whose content begins in a range
 * @start: the range
 * @bytes: its size
 * @but: an offset in it that isn't looked at: the caller has; U64_MAX: there is none
 * @tenant: filled, when the memory is bad with its offset alone
 *
 * Context: process context; may sleep.
 * Return: 0, -ENOENT: there is none, or -EIO: at that offset it can't be told.
 */
int scm_tenant_find(const void *start, u64 bytes, u64 but, struct scm_tenant *tenant)
{
	int err = -ENOENT;
	u64 at;

	for (at = 0; at + SCM_TENANT_HEAD <= bytes; at += SCM_TENANT_STEP) {
		if (at == but)
			continue;
		err = scm_tenant_at(start + at, tenant);
		tenant->offset = at;
		if (err != -ENOENT)
			break;
		cond_resched();
	}
	return err;
}
EXPORT_SYMBOL_GPL(scm_tenant_find);
