/* SPDX-License-Identifier: GPL-2.0-only */
/* A tree of files in memory, and the catalogue that it becomes (nlstore_format.h). No I/O. */
#ifndef NLSTORE_TREE_H
#define NLSTORE_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <evenkeel/nlstore_format.h>

#include "map.h"

/* Where a block is, the map says. */
struct ns_piece {
	uint64_t serial;	/* 0: zeros */
	uint32_t csum;
};

struct ns_node {
	enum ns_type type;
	char *path, *target;	/* @target: NULL, none */
	uint32_t mode, uid, gid;
	uint64_t size, device, inode;
	int64_t mtime, ctime;
	uint32_t mtime_nsec, ctime_nsec;
	uint32_t blocks;
	struct ns_piece *piece;
};

struct ns_tree {
	struct ns_node *node;
	size_t nr, room;
};

/* By path, in the order of a catalogue. */
int path_compare(const char *a, const char *b);
/* NULL: no such path */
struct ns_node *tree_find(const struct ns_tree *tree, const char *path);
/*
 * A node at the end, zeroes but for its path; NULL: no memory. Nodes come in order. Good until the
 * next one is added.
 */
struct ns_node *tree_add(struct ns_tree *tree, const char *path);
/* Take the last one away again. */
void tree_drop(struct ns_tree *tree);
void tree_free(struct ns_tree *tree);

/* A file that has more makes an entry whose length does not fit. */
#define TREE_FILE_BLOCKS	((UINT32_MAX >> 4) - 1024)

/*
 * *@data, to be freed. 0, -ENOMEM, or -EFBIG: a node is too large for its entry. Blocks that the
 * map does not have get the address ~0.
 */
int tree_encode(const struct ns_tree *tree, const struct ns_map *map, void **data, size_t *bytes);
/*
 * Into an empty tree and an empty map. 0, -ENOMEM or -EUCLEAN: this is no catalogue; then both are
 * to be freed. Whatever the bytes say: a tree that was decoded has no path that leads out of it.
 */
int tree_decode(struct ns_tree *tree, struct ns_map *map, const void *data, size_t bytes,
		uint32_t block_bytes);

#endif
