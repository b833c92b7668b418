/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory of a file system, out of a file, a device or reserved memory. */
#ifndef EVENKEEL_SCMFS_IMAGE_H
#define EVENKEEL_SCMFS_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

enum image_use {
	IMAGE_READ,		/* not changed */
	IMAGE_COPY,		/* may be changed in memory, which the file does not see */
	IMAGE_WRITE,		/* each fence makes durable what was stored before it */
};

struct image {
	const char *path;
	int fd;
	uint8_t *base;
	uint64_t size;
	unsigned int rest;	/* bytes of the file behind that, which are no page */
	bool is_memory;		/* itself, not a page cache of it */
	int status;		/* the program's if it is unreadable; set before it is opened */
};

/*
 * @path may be phys=START,size=SIZE: reserved memory.
 * Each says what is wrong on standard error and returns false. Of an open one what turns out to be
 * unreadable ends the program.
 */
bool image_open(struct image *im, const char *path, enum image_use use);
bool image_close(struct image *im);	/* what was changed is on the media */

/* Has all of standard output been written?  Says so on standard error if not. */
bool output_is_out(const char *tool);

bool parse_size(const char *text, uint64_t *size);	/* K, M, G, T, P, E suffixes */
bool parse_uuid(const char *text, uint8_t *uuid);
void print_uuid(const uint8_t *uuid, char *text);	/* 37 bytes */

#endif
