// SPDX-License-Identifier: GPL-2.0-only
/* What status --json tells of a volume is what its status line has. */
#include <jansson.h>
#include <string.h>

#include "../volume.h"
#include "ktap.h"

#define LINE	"ro needs_check 256 10/8000 3/512 2 A S 1 254:3 active 7/100 1000000 1000000 " \
		"1000 2000 3000 4000 5 7 12 - 9 8 1 1048576 2 0 11 22 33 44 wardrop 0"

static const char *text_of(json_t *list, size_t i, const char *key)
{
	const char *text = json_string_value(json_object_get(json_array_get(list, i), key));

	return text ? text : "";
}

static json_int_t number(json_t *all, const char *in, const char *key)
{
	return json_integer_value(json_object_get(in ? json_object_get(all, in) : all, key));
}

/* The line with @state for the second metadata area. */
static json_t *json_of(char state)
{
	struct volume v = { .name = "vol" };
	char line[] = LINE, why[128];
	json_t *all;

	*strchr(line, 'S') = state;
	if (!status_parse(line, &v.st, why, sizeof(why))) {
		printf("# %s\n", why);
		return NULL;
	}
	all = volume_json(&v);
	status_free(&v.st);
	return all;
}

static void test_states(void)
{
	static const struct {
		char state;
		const char *name;
	} states[] = { { 'A', "active" }, { 'S', "stale" }, { 'F', "failed" } };
	json_t *all, *areas;
	size_t i;

	for (i = 0; i < sizeof(states) / sizeof(*states); i++) {
		all = json_of(states[i].state);
		areas = json_object_get(all, "metadata");
		ktap_ok(json_array_size(areas) == 2 &&
			!strcmp(text_of(areas, 0, "state"), "active") &&
			!strcmp(text_of(areas, 1, "state"), states[i].name) &&
			number(json_array_get(areas, 1), NULL, "index") == 1,
			"json: a metadata area that is %s", states[i].name);
		json_decref(all);
	}
}

static void test_counts(void)
{
	json_t *all = json_of('A');

	if (!ktap_ok(all, "json: of a line"))
		return;
	ktap_ok(number(all, "journal", "used") == 3 && number(all, "journal", "total") == 512,
		"json: the journal's blocks");
	ktap_ok(number(all, NULL, "flushes") == 11 && number(all, NULL, "commits") == 22 &&
		number(all, NULL, "checkpoints") == 33 && number(all, NULL, "errors") == 44,
		"json: flushes, commits, checkpoints, errors");
	ktap_ok(json_is_true(json_object_get(all, "needs_check")) &&
		number(all, "extents", "total") == 8000 && number(all, "extents", "used") == 10 &&
		json_array_size(json_object_get(all, "devices")) == 1, "json: the rest");
	json_decref(all);
}

int main(void)
{
	ktap_begin();
	test_states();
	test_counts();
	return ktap_end();
}
