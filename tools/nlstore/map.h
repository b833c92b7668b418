/* SPDX-License-Identifier: GPL-2.0-only */
/* Where blocks are, by their serial numbers. */
#ifndef NLSTORE_MAP_H
#define NLSTORE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* @serial 0: no entry. @mark is the user's. */
struct ns_where {
	uint64_t serial;
	uint32_t address;
	bool mark;
};

struct ns_map {
	struct ns_where *slot;
	size_t slots, used;
};

/* NULL: it isn't there. Good until the next change. */
struct ns_where *map_find(const struct ns_map *map, uint64_t serial);
/* 0, -EEXIST or -ENOMEM */
int map_add(struct ns_map *map, uint64_t serial, uint32_t address);
/* Remove all whose @mark is not @mark. 0 or -ENOMEM, and nothing is removed. */
int map_keep(struct ns_map *map, bool mark);
/* 0: it is empty */
uint64_t map_highest(const struct ns_map *map);
void map_mark_all(struct ns_map *map, bool mark);
void map_free(struct ns_map *map);

#endif
