// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is where in a JSON file.
 *
 *   json FILE PATH...
 *
 * Prints a line for each path: what is there, in compact JSON.  A path's parts are
 * divided by dots: a key, a number in an array, `*` for each element, of which those
 * that have the rest are divided by blanks, and at the end `?` for the sorted keys.
 * Nothing is there: "-".
 */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned int printed;

static void print_word(const char *word)
{
	printf("%s%s", printed++ ? " " : "", word);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void print_keys(json_t *object)
{
	size_t nr = json_object_size(object), n = 0;
	const char **keys = calloc(nr + 1, sizeof(*keys)), *key;
	json_t *value;

	if (!keys)
		abort();
	json_object_foreach(object, key, value)
		keys[n++] = key;
	qsort(keys, nr, sizeof(*keys), by_text);
	for (n = 0; n < nr; n++)
		print_word(keys[n]);
	free(keys);
}

static void print_value(json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	if (text)
		print_word(text);
	free(text);
}

static void print_path(json_t *value, const char *path)
{
	size_t len = path ? strcspn(path, ".") : 0, i;
	const char *rest = path && path[len] ? path + len + 1 : NULL;
	char part[64];
	json_t *one;

	if (!path) {
		print_value(value);
		return;
	}
	snprintf(part, sizeof(part), "%.*s", (int)len, path);
	if (!strcmp(part, "?"))
		print_keys(value);
	else if (!strcmp(part, "*"))
		json_array_foreach(value, i, one)
			print_path(one, rest);
	else if (json_is_array(value))
		print_path(json_array_get(value, strtoul(part, NULL, 10)), rest);
	else
		print_path(json_object_get(value, part), rest);
}

int main(int argc, char **argv)
{
	json_error_t error;
	json_t *root;

	if (argc < 2)
		return 2;
	root = json_load_file(argv[1], 0, &error);
	if (!root) {
		fprintf(stderr, "json: %s:%d: %s\n", argv[1], error.line, error.text);
		return 1;
	}
	for (int i = 2; i < argc; i++) {
		printed = 0;
		print_path(root, argv[i]);
		if (!printed)
			print_word("-");
		puts("");
	}
	json_decref(root);
	return 0;
}
