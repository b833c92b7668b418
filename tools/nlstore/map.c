// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "map.h"

/* The entry of @serial, or the empty one where it would be. There is always one that is empty. */
static struct ns_where *slot_of(const struct ns_map *map, uint64_t serial)
{
	size_t i = (serial * 0x9e3779b97f4a7c15ULL >> 20) & (map->slots - 1);

	while (map->slot[i].serial && map->slot[i].serial != serial)
		i = (i + 1) & (map->slots - 1);
	return &map->slot[i];
}

struct ns_where *map_find(const struct ns_map *map, uint64_t serial)
{
	struct ns_where *where = map->slots && serial ? slot_of(map, serial) : NULL;

	return where && where->serial ? where : NULL;
}

/* Into a table of @slots, all of them or those with @mark. */
static int rebuild(struct ns_map *map, size_t slots, const bool *mark)
{
	struct ns_map fresh = { .slots = slots };
	size_t i;

	fresh.slot = calloc(slots, sizeof(*fresh.slot));
	if (!fresh.slot)
		return -ENOMEM;
	for (i = 0; i < map->slots; i++) {
		if (!map->slot[i].serial || (mark && map->slot[i].mark != *mark))
			continue;
		*slot_of(&fresh, map->slot[i].serial) = map->slot[i];
		fresh.used++;
	}
	free(map->slot);
	*map = fresh;
	return 0;
}

int map_add(struct ns_map *map, uint64_t serial, uint32_t address)
{
	struct ns_where *where;

	if (!serial || map_find(map, serial))
		return -EEXIST;
	if (map->used * 2 >= map->slots && rebuild(map, map->slots ? map->slots * 2 : 64, NULL))
		return -ENOMEM;
	where = slot_of(map, serial);
	*where = (struct ns_where){ .serial = serial, .address = address };
	map->used++;
	return 0;
}

int map_keep(struct ns_map *map, bool mark)
{
	return map->slots ? rebuild(map, map->slots, &mark) : 0;
}

uint64_t map_highest(const struct ns_map *map)
{
	uint64_t serial = 0;
	size_t i;

	for (i = 0; i < map->slots; i++)
		serial = map->slot[i].serial > serial ? map->slot[i].serial : serial;
	return serial;
}

void map_mark_all(struct ns_map *map, bool mark)
{
	size_t i;

	for (i = 0; i < map->slots; i++)
		map->slot[i].mark = mark;
}

void map_free(struct ns_map *map)
{
	free(map->slot);
	*map = (struct ns_map){ 0 };
}
