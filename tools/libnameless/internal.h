/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LIBNAMELESS_INTERNAL_H
#define LIBNAMELESS_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>

#include "libnameless.h"

/**
 * struct under_way - requests that a caller submitted to a ring, and has not waited for; or a call
 * @req: these
 * @nr: how many
 * @next: another ring's, or call's
 */
struct under_way {
	struct nameless_request **req;
	unsigned int nr;
	struct under_way *next;
};

/**
 * struct unflushed - what calls wrote to the virtual segment since a flush made all of it last
 * @cuts: the device's, from before the first of these
 * @begun: calls, ever
 * @busy: of these, that have not returned
 * @any: there was one
 * @failed: a flush did, and said so: who writes then begins anew
 */
struct unflushed {
	uint64_t cuts, begun;
	unsigned int busy;
	bool any, failed;
};

/**
 * struct nameless - an open device
 * @names: the character device
 * @access: how it was opened
 * @path: of the block device
 * @block_bytes: of both segments
 * @lock: of @disk and @unflushed
 * @disk: the block device, or -1: it is opened when it is first wanted
 * @unflushed: of that
 * @telling: of what follows; also held where a migration is acknowledged
 * @rings: what is under way in each, and by calls
 * @kept: migrations that were read, of blocks of these requests
 * @nr_kept: how many
 * @room: for how many there is memory
 * @cuts: of the device's that a query told
 * @reset: a query found that the power was cut, and nameless_moves() has not said so
 * @told: nameless_moves() has said so, and no query came since
 */
struct nameless {
	int names;
	int access;
	char *path;
	uint32_t block_bytes;
	pthread_mutex_t lock;
	int disk;
	struct unflushed unflushed;
	pthread_mutex_t telling;
	struct under_way *rings;
	struct nl_move *kept;
	unsigned int nr_kept, room;
	uint64_t cuts;
	bool reset, told;
};

/* moves.c: a call that is under way, from before it is begun until it is done. */
void under_way_begin(struct nameless *dev, struct under_way *call);
void under_way_end(struct nameless *dev, struct under_way *call);
/* A ring that comes and goes, and its requests, each added before it is begun. */
int under_way_open(struct nameless *dev, struct under_way *ring, unsigned int depth);
void under_way_close(struct nameless *dev, struct under_way *ring);
void under_way_add(struct nameless *dev, struct under_way *ring, struct nameless_request *req);
void under_way_remove(struct nameless *dev, struct under_way *ring, struct nameless_request *req);

/* A query gave this, with @telling held. */
void moves_queried(struct nameless *dev, uint64_t cuts);

#endif
