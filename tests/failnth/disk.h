/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pool under test and what is on it.  Blocks are of 4 KiB; each holds a pattern
 * of its number and of how often it was written.
 */
#ifndef FAILNTH_DISK_H
#define FAILNTH_DISK_H

#include <stdbool.h>
#include <stdint.h>

#define POOL		"failnth"
#define BLOCK		4096u
#define EXTENT		65536u
#define EXTENTS		32u
#define BLOCKS		(EXTENTS * EXTENT / BLOCK)

extern char pool_node[32];

enum pool_shape {
	POOL_PLAIN,
	POOL_MIRRORED,		/* two metadata areas */
	POOL_LESS,		/* two of each, and one metadata area and one member, which has no data, are missing */
	POOL_READ_ONLY,
};

/* From now on the pool is such a one; one of another shape is taken down. Was it another? */
bool pool_be(enum pool_shape shape);
/* A table line with this policy and its arguments. */
const char *pool_table(const char *policy);
/* The same for a device of so many extents. */
const char *pool_table_of(unsigned int extents, const char *policy);
/* No device; the disks' ends are zero. */
void pool_blank(void);
/* Format, activate, write to some blocks. */
void pool_make(void);
/* "MEMBER PLACE VALID" of an extent. */
void pool_entry(unsigned int extent, char *entry, size_t len);
/* That extent is on the second member, for good. */
void pool_second_has(unsigned int extent);
/* The table does without its second member, or metadata area; is it so; and has it again. */
void pool_less(void);
bool pool_is_less(void);
void pool_whole(void);
/*
 * The second member, which has that extent, takes a block of it that was never written and is not
 * flushed, and fails the next.  Until pool_healed(): it is trusted again, but not believed that.
 */
void pool_hurt(unsigned int extent);
void pool_healed(void);
/* That extent goes to the second member, which is lost with it and with its label. */
void pool_lose(unsigned int extent);
/* It is active, sound and holds what was written. */
void pool_check(void);
bool pool_there(void);
/* A message that has to be taken. */
void pool_tell(const char *message);
/* Its table line, DM_LINE_ROOM characters at most. */
void pool_says_table(char *line);
/* A field of its status line. */
void pool_field(const char *key, char *value, size_t len);
bool pool_field_is(const char *key, const char *want);

int disk_open(void);
/* 0 or an errno; a write that failed leaves its blocks with either content. */
int disk_write(int fd, unsigned int block, unsigned int nr);
int disk_read(int fd, unsigned int block, unsigned int nr);
int disk_discard(int fd, unsigned int extent);

#endif
