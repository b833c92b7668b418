// SPDX-License-Identifier: GPL-2.0-only
/* A catalogue of nlstore's: what is understood is a tree of plain paths, and becomes the same again. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "../../tools/nlstore/tree.h"
#include "fuzz.h"

#define BLOCK 512

static void check_node(const struct ns_tree *tree, size_t i)
{
	const struct ns_node *node = &tree->node[i];

	MUST(node->path[0] != '/' && !strstr(node->path, "//"));
	MUST(strcmp(node->path, "..") && strncmp(node->path, "../", 3));
	MUST(!strstr(node->path, "/../"));
	MUST(tree_find(tree, node->path) == node);
	MUST(i == 0 || path_compare(node[-1].path, node->path) < 0);
	MUST((node->type == NS_SYMLINK || node->type == NS_LINK) == !!node->target);
	MUST(node->type != NS_LINK || tree_find(tree, node->target)->type == NS_FILE);
}

static void check_again(const struct ns_tree *tree, const struct ns_map *map)
{
	struct ns_tree again = { 0 };
	struct ns_map there = { 0 };
	size_t bytes, more;
	void *data, *same;

	MUST(!tree_encode(tree, map, &data, &bytes));
	MUST(!tree_decode(&again, &there, data, bytes, BLOCK));
	MUST(!tree_encode(&again, &there, &same, &more));
	MUST(bytes == more && !memcmp(data, same, bytes));
	free(data);
	free(same);
	tree_free(&again);
	map_free(&there);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ns_tree tree = { 0 };
	struct ns_map map = { 0 };
	void *copy = malloc(size ? size : 1);
	size_t i;
	int err;

	MUST(copy);
	if (size)
		memcpy(copy, data, size);	/* aligned, as it is when it was read */
	err = tree_decode(&tree, &map, copy, size, BLOCK);
	MUST(!err || err == -EUCLEAN);
	for (i = 0; !err && i < tree.nr; i++)
		check_node(&tree, i);
	if (!err)
		check_again(&tree, &map);
	tree_free(&tree);
	map_free(&map);
	free(copy);
	return 0;
}

/* One field of one entry. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	unsigned int rnd = seed, at;
	uint64_t v = fuzz_odd(&rnd);

	if (size < sizeof(struct ns_entry) || !fuzz_random(&rnd, 3))
		return LLVMFuzzerMutate(data, size, max);
	at = fuzz_random(&rnd, size / 4 - 1) * 4;
	memcpy(data + at, &v, fuzz_random(&rnd, 3) ? 4 : 8);
	return size;
}

static struct ns_node *add(struct ns_tree *tree, const char *path, enum ns_type type)
{
	struct ns_node *node = tree_add(tree, path);

	MUST(node);
	node->type = type;
	return node;
}

size_t fuzz_corpus(unsigned int nr, uint8_t *data)
{
	struct ns_tree tree = { 0 };
	struct ns_map map = { 0 };
	struct ns_node *node;
	size_t bytes;
	void *made;

	if (nr > 3)
		return 0;
	add(&tree, "", NS_DIRECTORY);
	if (nr > 0)
		add(&tree, "a", NS_DIRECTORY);
	if (nr > 1) {
		node = add(&tree, "a/f", NS_FILE);
		node->size = 2 * BLOCK + 1;
		node->blocks = 3;
		node->piece = calloc(3, sizeof(*node->piece));
		MUST(node->piece);
		node->piece[1].serial = 5;
		node->piece[2].serial = 6;
		MUST(!map_add(&map, 5, 50) && !map_add(&map, 6, 60));
		add(&tree, "a-b", NS_FIFO);
	}
	if (nr > 2) {
		add(&tree, "l", NS_LINK)->target = strdup("a/f");
		add(&tree, "s", NS_SYMLINK)->target = strdup("../x");
		add(&tree, "t", NS_CHAR)->device = 1ULL << 32 | 3;
	}
	MUST(!tree_encode(&tree, &map, &made, &bytes));
	memcpy(data, made, bytes);
	free(made);
	tree_free(&tree);
	map_free(&map);
	return bytes;
}
