// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the file system's memory comes from, and what is in it.
 *
 * Reserved memory needs room for its struct pages, which can only be at its start: the file system
 * begins behind them, at an address that follows from the size. On a device with DAX its driver
 * has made them, and the file system begins where the device does.
 */
#include <linux/dax.h>
#include <linux/fs_context.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <evenkeel/mem2m_format.h>
#include <evenkeel/tenant.h>

#include "vfs.h"

#define SFS_LOOK_BYTES	((u64)SZ_64K)	/* from the start, where our own format begins */
#define SFS_BLANK_HEAD	((u64)SZ_1M)	/* what has to be blank: other formats begin and end here */
#define SFS_BLANK_TAIL	((u64)SCMFS_TAIL_BYTES)

static int sfs_told(struct fs_context *fc, const char *what, int err)
{
	errorf(fc, "scmfs: %s", what);
	return err;
}

static const char *sfs_hint(int err)
{
	switch (err) {
	case -ENODATA:
		return "; -o init makes a file system";
	case -EMEDIUMTYPE:
		return "; was it made with another address or size? -o init=force overwrites it";
	case -EUCLEAN:
		return "; fsck.scmfs may repair it";
	default:
		return "";
	}
}

/* Probing and opening tell in words what they found. */
static int sfs_refuse(struct fs_context *fc, int err, const char *reason)
{
	errorf(fc, "scmfs: %s%s", reason ?: "can't be opened", sfs_hint(err));
	return err;
}

/* The labels of a mem2m device, which can have a file system where ours would be. */
static bool sfs_is_mem2m(const void *start)
{
	const __le64 magic = cpu_to_le64(M2_LABEL_MAGIC);

	return *(const __le64 *)start == magic ||
	       *(const __le64 *)(start + M2_LABEL_STRIDE) == magic;
}

/* Read by what survives bad memory, which is not blank. */
static bool sfs_is_zero(const void *at, u64 bytes, u8 *buf)
{
	for (; bytes; at += PAGE_SIZE, bytes -= PAGE_SIZE)
		if (copy_mc_to_kernel(buf, at, PAGE_SIZE) || memchr_inv(buf, 0, PAGE_SIZE))
			return false;
	return true;
}

static bool sfs_is_blank(const void *at, u64 bytes, u8 *buf)
{
	u64 tail = min(SFS_BLANK_TAIL, bytes);

	return sfs_is_zero(at, min(SFS_BLANK_HEAD, bytes), buf) &&
	       sfs_is_zero(at + bytes - tail, tail, buf);
}

/* Our own place, and that of the struct pages before it. */
static int sfs_both_blank(const struct sfs_sb *s, const void *start)
{
	u8 *buf = kmalloc(PAGE_SIZE, GFP_KERNEL);
	bool blank;

	if (!buf)
		return -ENOMEM;
	blank = sfs_is_blank(s->base, round_down(s->bytes, PAGE_SIZE), buf) &&
		(start == s->base || sfs_is_blank(start, s->base - start, buf));
	kfree(buf);
	return blank ? 0 : -EEXIST;
}

/* Our own place has been looked at. */
static int sfs_judge_others(struct sfs_sb *s, struct fs_context *fc, const void *start)
{
	int err = scm_range_vacant(&s->mem, start, s->base - start);

	if (err == -EINTR)
		return err;
	if (err)
		errorf(fc, "scmfs: %s; init=force overwrites it", s->mem.error);
	return err;
}

/*
 * May a new file system be made over what is there? The struct pages overwrite what begins at
 * @start as surely as the file system does what begins at its own place. A file system of ours may
 * go, and what lies in one that takes all of the range is its own.
 */
static int sfs_judge_blank(struct sfs_sb *s, struct fs_context *fc, const void *start)
{
	struct scmfs_super super;
	const char *reason = NULL;
	bool damaged;
	int err = scmfs_probe(s->base, s->bytes, &super, &damaged, &reason);

	if (s->options.force || (!err && le64_to_cpu(super.region_bytes) == s->bytes))
		return 0;
	err = err == -EMEDIUMTYPE ? -EEXIST : err == -ENODATA ? sfs_both_blank(s, start) : 0;
	if (err == -EEXIST)
		return sfs_told(fc, "it isn't blank and no scmfs; init=force overwrites it", err);
	return err ?: sfs_judge_others(s, fc, start);
}

static int sfs_judge(struct sfs_sb *s, struct fs_context *fc, const void *start)
{
	struct scmfs_super super;
	const char *reason = NULL;
	bool damaged;
	int err;

	if (start != s->base && !s->options.force && sfs_is_mem2m(start))
		return sfs_told(fc, "a mem2m device is there; init=force overwrites it", -EEXIST);
	if (s->options.init)
		return sfs_judge_blank(s, fc, start);
	err = scmfs_probe(s->base, s->bytes, &super, &damaged, &reason);
	return err ? sfs_refuse(fc, err, reason) : 0;
}

/*
 * Nor may who begins before the range and reaches into it be found again, and that before the new
 * file system can be: from then on a mount that doesn't say init asks nobody.
 */
static int sfs_forget_below(struct sfs_sb *s, struct fs_context *fc)
{
	int err = s->options.force ? scm_range_forget_below(&s->mem) : 0;

	return err ? sfs_told(fc, s->mem.error, err) : 0;
}

/* What is there is looked at before struct pages overwrite any of it. */
static int sfs_peek(struct sfs_sb *s, struct fs_context *fc, u64 head)
{
	void *start = scm_range_peek(&s->mem);
	int err;

	if (!start)
		return sfs_told(fc, s->mem.error, -ENOMEM);
	s->base = start + head;
	err = sfs_judge(s, fc, start) ?: sfs_forget_below(s, fc);
	scm_range_unpeek(start);
	return err;
}

static int sfs_attach_phys(struct sfs_sb *s, struct fs_context *fc)
{
	u64 head = scm_range_head(s->options.bytes, 0);
	int err = scm_range_claim(&s->mem, s->options.phys, s->options.bytes, "scmfs");

	if (err)
		return sfs_told(fc, s->mem.error, err);
	if (s->options.bytes <= head) {
		errorf(fc, "scmfs: too small: struct pages take %llu bytes", head);
		err = -ENOSPC;
		goto no_map;
	}
	s->bytes = s->options.bytes - head;
	err = sfs_peek(s, fc, head);
	if (err)
		goto no_map;
	err = scm_range_map(&s->mem, 0, head, s);
	if (err) {
		sfs_told(fc, s->mem.error, err);
		goto no_map;
	}
	s->base = s->mem.addr + head;
	return 0;

no_map:
	scm_range_unclaim(&s->mem);
	return err;
}

/*
 * Metadata is read by plain loads, so what is known to be bad of it must not be: that would be a
 * machine check. Return: 0 or -EIO.
 */
static int sfs_check_known(struct sfs_sb *s, struct fs_context *fc, u64 from, u64 to)
{
	u64 bytes, bad = scm_range_next_bad(&s->mem, from, to, &bytes);

	if (bad >= to)
		return 0;
	errorf(fc,
	       "scmfs: %pg: bad memory at byte %llu, where its metadata is; blkdiscard -z may help",
	       s->mem.bdev, bad);
	return -EIO;
}

/* Of device-mapper's devices the table may be changed beneath. */
static bool sfs_bdev_stays(const struct block_device *bdev)
{
	const char *name = bdev->bd_disk->disk_name;

	return !strncmp(name, "pmem", 4) || !strncmp(name, "mem2m!", 6);
}

static int sfs_attach_bdev(struct sfs_sb *s, struct super_block *sb, struct fs_context *fc)
{
	struct block_device *bdev = sb->s_bdev;
	int err;

	if (!sfs_bdev_stays(bdev)) {
		errorf(fc, "scmfs: %pg: neither pmem nor a mem2m device", bdev);
		return -EOPNOTSUPP;
	}
	/* What was written to the device is to be seen in the memory, and never written again. */
	err = sync_blockdev(bdev);
	if (err)
		return sfs_told(fc, "what was written to the device can't be stored", err);
	invalidate_bdev(bdev);
	err = scm_range_get_dax(&s->mem, bdev, round_down(bdev_nr_bytes(bdev), SZ_4K), sb);
	if (err)
		return sfs_told(fc, s->mem.error, err);
	/* Its driver can't take the pages away as long as they are held: an unbind waits. */
	s->pages = get_dev_pagemap(PHYS_PFN(virt_to_phys(s->mem.addr)), NULL);
	if (!s->pages) {
		err = -ENXIO;
		errorf(fc, "scmfs: %pg: its memory has gone", bdev);
		goto put_dax;
	}
	s->base = s->mem.addr;
	s->bytes = s->mem.bytes;
	s->synchronous = dax_synchronous(s->mem.dax);
	err = sfs_check_known(s, fc, 0, min(SFS_LOOK_BYTES, s->bytes)) ?:
		sfs_check_known(s, fc, s->bytes - SCMFS_BLOCK_SIZE, s->bytes) ?:
		sfs_judge(s, fc, s->base);
	if (err)
		goto put_pages;
	return 0;

put_pages:
	put_dev_pagemap(s->pages);
put_dax:
	scm_range_put_dax(&s->mem);
	return err;
}

static void sfs_let_go(struct sfs_sb *s, struct super_block *sb)
{
	if (s->options.has_phys) {
		scm_range_unmap(&s->mem);
		scm_range_unclaim(&s->mem);
	} else {
		put_dev_pagemap(s->pages);
		scm_range_put_dax(&s->mem);
		invalidate_bdev(sb->s_bdev);	/* what was read of it is out of date */
	}
}

/**
 * sfs_region_attach - get the memory that was asked for, and judge what is in it
 * @s: with its options
 * @sb: whose it becomes
 * @fc: for what there is to tell
 *
 * Nothing of a file system that is there has changed yet.
 * Context: process context.
 * Return: 0 or a negative error number with nothing left behind.
 */
int sfs_region_attach(struct sfs_sb *s, struct super_block *sb, struct fs_context *fc)
{
	int err = s->options.has_phys ? sfs_attach_phys(s, fc) : sfs_attach_bdev(s, sb, fc);

	if (!err) {
		err = sfs_dax_init(s);
		if (!err)
			return 0;
		errorf(fc, "scmfs: no DAX device for its memory");
		sfs_let_go(s, sb);
	}
	s->base = NULL;
	return err;
}

void sfs_region_detach(struct sfs_sb *s, struct super_block *sb)
{
	if (!s->base)
		return;
	sfs_dax_exit(s);
	sfs_let_go(s, sb);
}

/*
 * What init=force has overruled must not be found again: neither by the next mount, as the struct
 * pages of the pages that hold struct pages are never written, and a label may be where they are,
 * nor by who looks for a device or a file system where it was, which may be in a file by then.
 * Nobody finds anything in bad memory.
 */
static void sfs_forget_others(struct sfs_sb *s)
{
	u64 offset, end, bytes;
	void *at;

	for (offset = 0; s->mem.bytes - offset >= SCM_TENANT_HEAD;
	     offset += min(s->mem.bytes - offset, SCM_TENANT_STEP)) {
		cond_resched();
		end = offset + SCM_TENANT_HEAD;
		if (scm_range_next_bad(&s->mem, offset, end, &bytes) < end)
			continue;
		at = s->mem.addr + offset;
		if (at == s->base)
			scm_tenant_forget_label(at);
		else
			scm_tenant_forget(at);
	}
	scm_fence();
}

/* Where anything would be stored is looked at before any of it is. */
static int sfs_format(struct sfs_sb *s, struct fs_context *fc)
{
	const struct scmfs_bad_list bad = sfs_bad_list(s);
	const struct scmfs_format_params params = { .now = ktime_get_real_ns(), .bad = &bad };
	u64 head;
	int err = scmfs_format_head(s->bytes, &params, &head);

	if (err) {
		errorf(fc, "scmfs: too small for a file system: %llu bytes", s->bytes);
		return err;
	}
	err = sfs_check_known(s, fc, 0, head) ?: scmfs_format(s->base, s->bytes, &params);
	if (!err && s->options.force)
		sfs_forget_others(s);
	return err;
}

/* All that lies before the files. */
static int sfs_check_head(struct sfs_sb *s, struct fs_context *fc)
{
	const struct scmfs_super *super = s->base;
	u64 blocks = min(le64_to_cpu(super->first_data_block), s->bytes >> SCMFS_BLOCK_SHIFT);

	return sfs_check_known(s, fc, 0, blocks << SCMFS_BLOCK_SHIFT);
}

/* As a writable mount would, and unmounted at once. */
static int sfs_recover_first(struct sfs_sb *s, struct scmfs_recovery *recovery,
			     const char **reason)
{
	const struct scmfs_bad_list bad = sfs_bad_list(s);
	int err = scmfs_open_beside(s->base, s->bytes, 0, &bad, &s->fs, recovery, reason);

	if (err)
		return err;
	if (!recovery->clean)
		scmfs_trim_all(s->fs);
	scmfs_close(s->fs);
	s->fs = NULL;
	return 0;
}

/**
 * sfs_region_open - open, or make and open, the file system in the memory
 * @s: attached
 * @fc: for what there is to tell
 * @read_only: store nothing, but to recover
 * @recover: which may be done
 *
 * Return: 0 or a negative error number.
 */
int sfs_region_open(struct sfs_sb *s, struct fs_context *fc, bool read_only, bool recover)
{
	unsigned int flags = read_only ? SCMFS_OPEN_READ_ONLY : 0;
	const struct scmfs_bad_list bad = sfs_bad_list(s);
	struct scmfs_recovery recovery, ignored;
	const char *reason = NULL;
	int err = 0;

	if (s->options.init)
		err = sfs_format(s, fc);
	if (!err)
		err = sfs_check_head(s, fc);
	if (!err) {
		err = scmfs_open_beside(s->base, s->bytes, flags, &bad, &s->fs, &recovery, &reason);
		if (err == -EROFS && recover)
			err = sfs_recover_first(s, &recovery, &reason) ?:
				scmfs_open_beside(s->base, s->bytes, flags, &bad, &s->fs, &ignored,
						  &reason);
		if (err)
			sfs_refuse(fc, err, reason);
	}
	if (err)
		return err;
	if (scmfs_damage_seen(s->fs))
		warnf(fc, "scmfs: damage was seen while it was mounted; fsck.scmfs may repair it");
	if (!recovery.clean && !s->options.init)
		infof(fc, "scmfs: recovered: %u transactions undone, %llu of %llu inodes orphans",
		      recovery.undo.undone, recovery.orphans, recovery.inodes);
	s->writable = !read_only;
	s->was_writable = s->writable;
	sfs_bad_begin(s);
	if (!recovery.clean && s->writable)
		scmfs_trim_all(s->fs);
	return 0;
}
