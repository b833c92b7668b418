/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LIBNAMELESS_INTERNAL_H
#define LIBNAMELESS_INTERNAL_H

#include <pthread.h>

#include "libnameless.h"

/**
 * struct nameless - an open device
 * @names: the character device
 * @access: how it was opened
 * @path: of the block device
 * @block_bytes: of both segments
 * @lock: of @disk
 * @disk: the block device, or -1: it is opened when it is first wanted
 */
struct nameless {
	int names;
	int access;
	char *path;
	uint32_t block_bytes;
	pthread_mutex_t lock;
	int disk;
};

#endif
