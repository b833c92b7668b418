/* SPDX-License-Identifier: GPL-2.0-only */
/* What mount and remount are told: read, checked and shown. Of VFS it knows the reader. */
#ifndef SCMFS_OPTIONS_H
#define SCMFS_OPTIONS_H

#include <linux/fs_parser.h>
#include <linux/types.h>

#define SFS_OPTIONS_TEXT	256	/* all of them, as they are shown */

/**
 * struct sfs_gc_options - when garbage is collected; scmfs_gc_params has the thresholds
 * @on: by itself
 * @low: percent
 * @high: percent
 * @whole: percent
 * @cold: seconds
 */
struct sfs_gc_options {
	bool on;
	u32 low;
	u32 high;
	u32 whole;
	u32 cold;
};

/**
 * struct sfs_options - what mount was told
 * @named: of the parameters that it knows, those that it was told, a bit each
 * @phys: address of reserved memory
 * @bytes: its size; 0: the source is a block device
 * @has_phys: there is an address
 * @init: make a new file system
 * @force: whatever is there, it may go
 * @atomic: data=atomic
 * @acl: ACLs count
 * @gc: garbage collection; under sfs_gc.lock
 */
struct sfs_options {
	u32 named;
	u64 phys;
	u64 bytes;
	bool has_phys;
	bool init;
	bool force;
	bool atomic;
	bool acl;
	struct sfs_gc_options gc;
};

extern const struct fs_parameter_spec sfs_parameters[];

bool sfs_gc_options_ok(const struct sfs_gc_options *o);
void sfs_options_init(struct sfs_options *o);
int sfs_options_parse(struct sfs_options *o, struct p_log *log, struct fs_parameter *param);
int sfs_options_check(const struct sfs_options *o, bool read_only, struct p_log *log);
int sfs_options_check_gc(const struct sfs_options *o, struct p_log *log);
void sfs_options_name(struct sfs_options *to, const struct sfs_options *new);
void sfs_options_show(const struct sfs_options *o, char text[SFS_OPTIONS_TEXT]);

#endif
