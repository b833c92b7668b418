/* SPDX-License-Identifier: GPL-2.0-only */
/* A pool of two members with mirrored metadata, in two image files. */
#ifndef TEST_IMAGE_H
#define TEST_IMAGE_H

#include <linux/types.h>

#include <evenkeel/hybrid_format.h>

#define IMAGE_EXTENT	128u		/* sectors */
#define IMAGE_META	8192u		/* sectors of each metadata area */
#define IMAGE_SECTORS	20480u		/* of each file */

struct image_set {
	int fd[2];
	char path[2][256];
};

struct image_change {
	bool free;
	u64 le;
	unsigned int member;
	u32 pe, valid;
};

void image_make(struct image_set *set, const char *dir);
void image_journal(struct image_set *set, const struct image_change *c, unsigned int nr);
void image_checkpoint(struct image_set *set, const struct image_change *c, unsigned int nr,
		      u32 used);
/* The first page of the map, and that of member 0's space map, on area 0. */
u64 image_page_offset(struct image_set *set);
u64 image_space_offset(struct image_set *set);
void image_spoil(struct image_set *set, unsigned int file, u64 offset, size_t len);
/* Area @i is left out; it is another one, labelled for the same place. */
void image_leave(struct image_set *set, unsigned int i);
void image_wipe_area(struct image_set *set, unsigned int i);
/* The labels are of a pool that was made with area 0 alone. */
void image_made_with_one(struct image_set *set);
/* The labels have another name. */
void image_named(struct image_set *set, const char *new);
/* They are of a pool of larger extents; or of a member that is half as large. */
void image_of_extents(struct image_set *set, u32 sectors);
void image_shrunk(struct image_set *set, unsigned int i);
/* One label, or copy of one, is another, and whole. */
void image_relabel(struct image_set *set, unsigned int file, u64 offset,
		   void (*change)(struct ek_label *label));
/* The superblock's flags, and what it says of a member. */
void image_flags(struct image_set *set, u32 on, u32 off);
u32 image_super_flags(struct image_set *set);
u32 image_member_state(struct image_set *set, unsigned int i);
/* One more file that is as one of them is. */
void image_copy(struct image_set *set, unsigned int i, const char *path);
void image_new_area(struct image_set *set, unsigned int i);
/* md's superblock of format 1.0, where file @i ends: behind the pool's data. */
void image_md(struct image_set *set, unsigned int i);
/* All bytes of file @i in one number. */
u32 image_sum(const struct image_set *set, unsigned int i);
/* A copy of the first file, as the first of @copy. */
void image_clone(struct image_set *copy, const struct image_set *set, const char *dir);
/* The first file's path is that of a copy from now on. */
void image_exchange(struct image_set *set, const char *dir);
void image_close(struct image_set *set);

#endif
