// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

#define ALIGN8(n) (((n) + 7) & ~(uint64_t)7)

static unsigned int rank(char c)
{
	return c == '/' ? 1 : c ? (unsigned char)c + 1 : 0;
}

int path_compare(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (int)rank(*a) - (int)rank(*b);
}

struct ns_node *tree_find(const struct ns_tree *tree, const char *path)
{
	size_t low = 0, high = tree->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = path_compare(path, tree->node[middle].path);

		if (!order)
			return &tree->node[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

struct ns_node *tree_add(struct ns_tree *tree, const char *path)
{
	size_t room = tree->room ? tree->room * 2 : 64;
	struct ns_node *node = tree->node;

	if (tree->nr == tree->room) {
		node = reallocarray(node, room, sizeof(*node));
		if (!node)
			return NULL;
		tree->node = node;
		tree->room = room;
	}
	node = &tree->node[tree->nr];
	*node = (struct ns_node){ .path = strdup(path) };
	if (!node->path)
		return NULL;
	tree->nr++;
	return node;
}

void tree_drop(struct ns_tree *tree)
{
	struct ns_node *node = &tree->node[--tree->nr];

	free(node->path);
	free(node->target);
	free(node->piece);
}

void tree_free(struct ns_tree *tree)
{
	while (tree->nr)
		tree_drop(tree);
	free(tree->node);
	*tree = (struct ns_tree){ 0 };
}

/* --- to bytes --------------------------------------------------------------------------------- */

static uint64_t encoded_size(const struct ns_node *node)
{
	return ALIGN8(sizeof(struct ns_entry) + strlen(node->path) +
		      (node->target ? strlen(node->target) : 0)) +
	       (uint64_t)node->blocks * sizeof(struct ns_ref);
}

static void encode_blocks(const struct ns_node *node, const struct ns_map *map, struct ns_ref *ref)
{
	const struct ns_where *where;
	uint32_t i;

	for (i = 0; i < node->blocks; i++) {
		where = map_find(map, node->piece[i].serial);
		ref[i].serial = htole64(node->piece[i].serial);
		ref[i].address = htole32(where ? where->address : ~0u);
		ref[i].csum = htole32(node->piece[i].csum);
	}
}

static void encode_node(const struct ns_node *node, const struct ns_map *map, uint8_t *to)
{
	size_t path = strlen(node->path), target = node->target ? strlen(node->target) : 0;
	struct ns_entry *entry = (void *)to;

	*entry = (struct ns_entry){
		.length = htole32(encoded_size(node)),
		.type = node->type,
		.mode = htole32(node->mode),
		.uid = htole32(node->uid),
		.gid = htole32(node->gid),
		.path = htole32(path),
		.target = htole32(target),
		.blocks = htole32(node->blocks),
		.size = htole64(node->size),
		.device = htole64(node->device),
		.inode = htole64(node->inode),
		.mtime = htole64(node->mtime),
		.ctime = htole64(node->ctime),
		.mtime_nsec = htole32(node->mtime_nsec),
		.ctime_nsec = htole32(node->ctime_nsec),
	};
	memcpy(to + sizeof(*entry), node->path, path);
	if (target)
		memcpy(to + sizeof(*entry) + path, node->target, target);
	encode_blocks(node, map, (void *)(to + ALIGN8(sizeof(*entry) + path + target)));
}

int tree_encode(const struct ns_tree *tree, const struct ns_map *map, void **result, size_t *bytes)
{
	uint64_t all = 0, length;
	uint8_t *data;
	size_t i;

	for (i = 0; i < tree->nr; i++) {
		length = encoded_size(&tree->node[i]);
		if (length > UINT32_MAX)
			return -EFBIG;
		all += length;
	}
	data = all > SIZE_MAX ? NULL : calloc(1, all ? all : 1);
	if (!data)
		return -ENOMEM;
	*bytes = all;
	*result = data;
	for (i = 0; i < tree->nr; i++) {
		encode_node(&tree->node[i], map, data);
		data += encoded_size(&tree->node[i]);
	}
	return 0;
}

/* --- from bytes ------------------------------------------------------------------------------- */

/* As text, to be freed; NULL: no memory, or (@bad) there are zeroes in it. */
static char *text_of(const uint8_t *from, size_t bytes, bool *bad)
{
	*bad = memchr(from, 0, bytes);
	return *bad ? NULL : strndup((const char *)from, bytes);
}

/* No part of it is empty, "." or "..". */
static bool is_plain(const char *path)
{
	size_t part;

	for (;; path += part + 1) {
		part = strcspn(path, "/");
		if (!part || (part == 1 && path[0] == '.') ||
		    (part == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		if (!path[part])
			return true;
	}
}

/* Is there a directory above the last node, which is taken out of the look-up? */
static bool has_parent(const struct ns_tree *tree, const char *path)
{
	const struct ns_tree before = { tree->node, tree->nr - 1, 0 };
	const char *slash = strrchr(path, '/');
	char *above = strndup(path, slash ? slash - path : 0);
	struct ns_node *node = above ? tree_find(&before, above) : NULL;

	free(above);
	return node && node->type == NS_DIRECTORY;
}

/* Of the last node: does its path follow the one before it, and is what it needs there? */
static bool fits(const struct ns_tree *tree)
{
	const struct ns_node *node = &tree->node[tree->nr - 1], *other;
	const struct ns_tree before = { tree->node, tree->nr - 1, 0 };

	if (tree->nr == 1)
		return node->type == NS_DIRECTORY && !*node->path;
	if (!is_plain(node->path) || path_compare(node[-1].path, node->path) >= 0 ||
	    !has_parent(tree, node->path))
		return false;
	if (node->type != NS_LINK)
		return true;
	other = tree_find(&before, node->target);
	return other && other->type == NS_FILE;
}

static bool is_sane(const struct ns_node *node, uint32_t block_bytes)
{
	uint64_t blocks = node->size / block_bytes + !!(node->size % block_bytes);
	bool target = node->type == NS_SYMLINK || node->type == NS_LINK;

	return node->type >= NS_DIRECTORY && node->type <= NS_BLOCK && node->mode <= 07777 &&
	       node->mtime_nsec < 1000000000 && (target == (node->target && *node->target)) &&
	       (node->type == NS_FILE ? node->blocks == blocks : !node->blocks && !node->size);
}

static int decode_blocks(struct ns_node *node, struct ns_map *map, const struct ns_ref *ref,
			 uint32_t blocks)
{
	uint32_t i;
	int err;

	node->piece = calloc(blocks ? blocks : 1, sizeof(*node->piece));
	if (!node->piece)
		return -ENOMEM;
	node->blocks = blocks;
	for (i = 0; i < blocks; i++) {
		node->piece[i].serial = le64toh(ref[i].serial);
		node->piece[i].csum = le32toh(ref[i].csum);
		if (!node->piece[i].serial)
			continue;
		err = map_add(map, node->piece[i].serial, le32toh(ref[i].address));
		if (err)
			return err == -EEXIST ? -EUCLEAN : err;
	}
	return 0;
}

static int decode_texts(struct ns_node *node, const uint8_t *from, size_t target)
{
	bool bad = false;

	if (target)
		node->target = text_of(from, target, &bad);
	return bad ? -EUCLEAN : target && !node->target ? -ENOMEM : 0;
}

/* @left is as much as the entry says it is long. */
static int decode_node(struct ns_tree *tree, struct ns_map *map, const struct ns_entry *entry,
		       size_t left, uint32_t block_bytes)
{
	uint64_t path = le32toh(entry->path), target = le32toh(entry->target);
	uint64_t texts = ALIGN8(sizeof(*entry) + path + target), blocks = le32toh(entry->blocks);
	const uint8_t *text = (const void *)(entry + 1);
	struct ns_node *node;
	bool bad;
	char *name;
	int err;

	if (texts > left || blocks * sizeof(struct ns_ref) != left - texts)
		return -EUCLEAN;
	name = text_of(text, path, &bad);
	if (!name)
		return bad ? -EUCLEAN : -ENOMEM;
	node = tree_add(tree, name);
	free(name);
	if (!node)
		return -ENOMEM;
	node->type = entry->type;
	node->mode = le32toh(entry->mode);
	node->uid = le32toh(entry->uid);
	node->gid = le32toh(entry->gid);
	node->size = le64toh(entry->size);
	node->device = le64toh(entry->device);
	node->inode = le64toh(entry->inode);
	node->mtime = le64toh(entry->mtime);
	node->ctime = le64toh(entry->ctime);
	node->mtime_nsec = le32toh(entry->mtime_nsec);
	node->ctime_nsec = le32toh(entry->ctime_nsec);
	err = decode_texts(node, text + path, target);
	if (!err)
		err = decode_blocks(node, map, (const void *)((const uint8_t *)entry + texts),
				    blocks);
	if (!err && (!is_sane(node, block_bytes) || !fits(tree)))
		err = -EUCLEAN;
	return err;
}

int tree_decode(struct ns_tree *tree, struct ns_map *map, const void *data, size_t bytes,
		uint32_t block_bytes)
{
	const struct ns_entry *entry;
	size_t at, length;
	int err = 0;

	for (at = 0; !err && at < bytes; at += length) {
		if (bytes - at < sizeof(*entry))
			return -EUCLEAN;
		entry = (const void *)((const uint8_t *)data + at);
		length = le32toh(entry->length);
		if (length < sizeof(*entry) || length > bytes - at || length % 8)
			return -EUCLEAN;
		err = decode_node(tree, map, entry, length, block_bytes);
	}
	return err ? err : tree->nr ? 0 : -EUCLEAN;
}
