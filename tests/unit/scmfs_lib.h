/* SPDX-License-Identifier: GPL-2.0-only */
/* A file system of the engine in a buffer, by paths, for tests. */
#ifndef EVENKEEL_SCMFS_LIB_H
#define EVENKEEL_SCMFS_LIB_H

#include "engine.h"

#ifndef TFS_INODES
#define TFS_INODES	4096u
#endif

struct tfs {
	u8 *mem;
	u64 size;
	struct scmfs *fs;
	s64 now;
	bool still;		/* writes and names are in the tick of what came before */
	struct scmfs_node node[TFS_INODES];
	u8 open[TFS_INODES];	/* somebody has it open: not released */
};

void tfs_make(struct tfs *t, u64 size, u64 inodes, u32 lanes);	/* allocate, format, mount; CHECKs */
void tfs_free(struct tfs *t);
int tfs_mount(struct tfs *t, struct scmfs_recovery *rec);
void tfs_unmount(struct tfs *t);
void tfs_crash(struct tfs *t);		/* forget what is in RAM */

/* All take paths without a slash in front; errors are negative. */
int tfs_find(struct tfs *t, const char *path, u64 *ino);
int tfs_make_node(struct tfs *t, const char *path, u32 mode, const char *target, u64 *ino);
int tfs_link(struct tfs *t, const char *old, const char *path);
int tfs_unlink(struct tfs *t, const char *path);
int tfs_rmdir(struct tfs *t, const char *path);
int tfs_rename(struct tfs *t, const char *from, const char *to, unsigned int flags);
/* The same; @ino, of scmfs_tmpfile(), gets the name @from. 0: nothing. */
int tfs_rename_leave(struct tfs *t, const char *from, const char *to, unsigned int flags, u64 ino);
int tfs_chmod(struct tfs *t, const char *path, u32 mode);
/* A user attribute of @len bytes of the value @fill; 0 removes it. */
int tfs_set_attr(struct tfs *t, u64 ino, const char *name, int fill, u32 len);
/* Bytes of the value @fill. */
int tfs_write(struct tfs *t, u64 ino, u64 offset, u64 len, int fill, unsigned int flags);
/* What a fault does that is about to let a program store there: as much as is in one piece. */
int tfs_fault(struct tfs *t, u64 ino, u64 offset, u64 len);
int tfs_read(struct tfs *t, u64 ino, u64 offset, u64 len, u8 *to);
void tfs_drop(struct tfs *t, u64 ino);	/* release it, unless it is open */

/*
 * All that can be seen, in a text that is the same for the same content: a line for each name
 * with attributes and a hash of the content, sorted; free() it. NULL after a CHECK that failed.
 */
char *tfs_show(struct tfs *t);

/* That hash, begun with TFS_SUM; of pieces in turn, all but the last of a multiple of 8 bytes. */
#define TFS_SUM	1
u64 tfs_sum(u64 h, const void *data, size_t len);

/*
 * What must hold in any file system: links are names, blocks belong to one file, what is used is
 * what is referred to. Return: the number of CHECKs that failed.
 */
int tfs_check(struct tfs *t);

#endif
