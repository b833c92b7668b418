// SPDX-License-Identifier: GPL-2.0-only
/* What status --json tells of a volume is what its status line has. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "../health.h"
#include "../json_print.h"
#include "../msg.h"
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
	} states[] = { { 'A', "active" }, { 'S', "stale" }, { 'F', "failed" },
		       { 'L', "leaving" }, { 'R', "resync" }, { '-', "vacant" } };
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

/* How far it has come, of the area that it is about and of no other. */
static void test_progress(void)
{
	struct volume v = { .name = "vol", .has_sync = true, .sync = { 1, 250, 1000 } };
	char line[] = LINE, why[128];
	json_t *all, *areas;

	*strchr(line, 'S') = 'R';
	if (!ktap_ok(status_parse(line, &v.st, why, sizeof(why)), "a resync"))
		return;
	all = volume_json(&v);
	areas = json_object_get(all, "metadata");
	ktap_ok(json_real_value(json_object_get(json_array_get(areas, 1), "progress")) == 0.25 &&
		!json_object_get(json_array_get(areas, 0), "progress"), "json: how far it is");
	json_decref(all);
	status_free(&v.st);
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

static void test_cache(void)
{
	char said[] = "extents 1 limit 2 hits 3 misses 4 fills 5 updates 6 drops 7 moves 8";
	char other[] = "extents 1 limit 2 hits 3 missed 4 fills 5 updates 6 drops 7 moves 8";
	char less[] = "extents 1 limit 2 hits 3 misses 4 fills 5 updates 6 drops 7";
	struct volume v = { .name = "vol" };
	char line[] = LINE, why[128];
	json_t *all;

	if (!status_parse(line, &v.st, why, sizeof(why)))
		return;
	all = volume_json(&v);
	ktap_ok(json_is_null(json_object_get(all, "cache")), "json: nothing is kept in memory");
	json_decref(all);
	v.has_cache = cached_parse(said, &v.cache);
	all = volume_json(&v);
	ktap_ok(v.has_cache && number(all, "cache", "extents") == 1 &&
		number(all, "cache", "limit") == 2 && number(all, "cache", "hits") == 3 &&
		number(all, "cache", "misses") == 4 && number(all, "cache", "fills") == 5 &&
		number(all, "cache", "updates") == 6 && number(all, "cache", "drops") == 7 &&
		number(all, "cache", "moves") == 8, "json: extents in memory");
	json_decref(all);
	ktap_ok(!cached_parse(other, &v.cache) && !cached_parse(less, &v.cache),
		"an answer that is not understood");
	status_free(&v.st);
}

/* Others made the names, and they need not be UTF-8. */
static void test_names(void)
{
	struct volume v = { .name = "v\xff" };
	char line[] = LINE, why[128], *out = NULL;
	json_t *all = NULL, *devices;
	size_t size;
	FILE *f;
	int err;

	if (!status_parse(line, &v.st, why, sizeof(why)))
		return;
	v.path[0] = "/dev/mapper/\xfe";
	f = open_memstream(&out, &size);
	err = volume_print_json(f, &v);
	fclose(f);
	all = json_loads(out, 0, NULL);
	free(out);
	devices = json_object_get(all, "devices");
	if (!ktap_ok(!err && all, "json: of names that are not UTF-8"))
		return;
	ktap_ok(!strcmp(json_string_value(json_object_get(all, "name")), "v\\377"),
		"json: the volume's");
	ktap_ok(!strcmp(text_of(devices, 0, "path"), "/dev/mapper/\\376"), "json: a member's");
	ktap_ok(strstr(json_string_value(json_object_get(all, "advice")), "v\\377"),
		"json: in an advice");
	json_decref(all);
	status_free(&v.st);
}

static void test_output(void)
{
	struct volume v = { .name = "vol" };
	char line[] = LINE, why[128];
	FILE *full = fopen("/dev/full", "w");

	if (!full || !status_parse(line, &v.st, why, sizeof(why)))
		return;
	ktap_ok(volume_print_json(full, &v) == EXIT_FAILED, "json: what can't be written fails");
	ktap_ok(json_print(stdout, NULL, 0) == EXIT_FAILED, "json: what can't be made fails");
	fclose(full);
	status_free(&v.st);
}

#define MEMBERS	"rw - 256 10/8000 3/512 1 A 2 254:3 failed 7/100 0 0 0 0 0 0 0 7 " \
		"254:4 draining 3/100 0 0 0 0 0 0 0 7 0 - 9 8 1 1048576 2 0 11 22 33 44 wardrop 0"

/* A failed member that is to leave is told from one that stays. */
static void test_standing(void)
{
	static const char * const other[] = {
		"", "0 failed leaves 3 4 5", "0 failed leaves 3 4 5 6 7 8", "0 gone leaves 3 4 5 6",
		"0 failed goes 3 4 5 6", "1 failed leaves 3 4 5 6", "0 failed leaves 3 4 -5 6",
		"0 failed leaves 3 4 5 6 ", "0 failed leaves 3 4 5 6 -7",
		"0 failed leaves 3 4 5 6\n", "0 failed leaves 3 4 5 6\n2 draining leaves 0 1 2 3",
	};
	char said[] = "0 failed leaves 3 4 5 6 7\n1 draining leaves 0 1 2 0 0", why[128], text[128];
	char stays[] = "0 failed stays 3 4 5 6\n1 draining leaves 0 1 2 0", *out = NULL;
	struct volume v = { .name = "vol" };
	json_t *all, *devices;
	size_t i, size;
	FILE *f;

	if (!ktap_ok(status_parse(MEMBERS, &v.st, why, sizeof(why)), "two members"))
		return;
	all = volume_json(&v);
	devices = json_object_get(all, "devices");
	ktap_ok(json_is_null(json_object_get(json_array_get(devices, 0), "leaving")) &&
		json_is_null(json_object_get(json_array_get(devices, 1), "errors")),
		"json: who leaves is not known of an older module");
	json_decref(all);
	v.has_standing = standing_parse(said, &v.standing);
	all = volume_json(&v);
	devices = json_object_get(all, "devices");
	ktap_ok(v.has_standing && v.standing.nr == 2 && v.standing.dev[0].passes == 4 &&
		v.standing.dev[0].tried == 5 && v.standing.dev[0].unknown == 6 &&
		v.standing.dev[0].returning == 7 && !v.standing.dev[1].returning &&
		json_is_true(json_object_get(json_array_get(devices, 0), "leaving")) &&
		number(json_array_get(devices, 0), NULL, "errors") == 3, "json: one that leaves");
	json_decref(all);
	v.has_standing = standing_parse(stays, &v.standing);
	ktap_ok(v.has_standing && !v.standing.dev[0].returning,
		"what is on its way back is not known of an older module");
	all = volume_json(&v);
	devices = json_object_get(all, "devices");
	ktap_ok(json_is_false(json_object_get(json_array_get(devices, 0), "leaving")) &&
		json_is_true(json_object_get(json_array_get(devices, 1), "leaving")),
		"json: one that stays");
	json_decref(all);
	f = open_memstream(&out, &size);
	volume_print(f, &v, 8);
	fclose(f);
	ktap_ok(strstr(out, "Device 0 has failed: hybridctl evacuate vol 0 would"),
		"people are told what may be done about one that has failed");
	free(out);
	v.standing.dev[0].leaving = true;
	f = open_memstream(&out, &size);
	volume_print(f, &v, 8);
	fclose(f);
	ktap_ok(strstr(out, "Device 0 has failed, and is to leave"), "and that it leaves");
	free(out);
	for (i = 0; i < sizeof(other) / sizeof(*other); i++) {
		snprintf(text, sizeof(text), "%s", other[i]);
		ktap_ok(!standing_parse(text, &v.standing), "members: an answer that is not understood (%zu)", i);
	}
	status_free(&v.st);
}

#define OF(mode, check, areas, devs)							\
	mode " " check " 256 10/8000 3/512 " areas " " devs " 9 - 9 8 1 1048576 2 0 11 22 33 44 wardrop 0"
#define DEV(number, state)	number " " state " 7/100 0 0 1000 2000 3000 4000 5 7"

/* What a look at it tells, and what is to be done. */
static void test_health(void)
{
	static const struct {
		const char *line, *name, *advice;
	} looks[] = {
		{ OF("rw", "-", "2 A A", "2 " DEV("8:0", "active") " " DEV("8:1", "draining")),
		  "ok", NULL },
		{ OF("rw", "-", "2 A R", "2 " DEV("8:0", "active") " " DEV("-", "removed")),
		  "ok", NULL },
		{ OF("rw", "-", "2 A -", "1 " DEV("8:0", "active")), "ok", NULL },
		{ OF("rw", "-", "2 A A", "2 " DEV("8:0", "active") " " DEV("8:1", "degraded")),
		  "degraded", "device 1 had errors: \"hybridctl replace vol 1 DEV\"" },
		{ OF("rw", "-", "2 A A", "2 " DEV("8:0", "degraded") " " DEV("8:1", "failed")),
		  "failed member", "\"hybridctl evacuate vol 1\"" },
		{ OF("rw", "-", "2 A A", "2 " DEV("8:0", "failed") " " DEV("-", "failed")),
		  "lost member", "\"hybridctl lost vol\"" },
		{ OF("rw", "-", "2 A S", "1 " DEV("8:0", "active")),
		  "metadata", "\"hybridctl metadata vol resync\"" },
		{ OF("rw", "-", "2 F A", "1 " DEV("8:0", "active")),
		  "metadata", "\"hybridctl metadata vol move 0 DEV\"" },
		{ OF("ro", "-", "1 A", "1 " DEV("8:0", "active")),
		  "read-only", "\"hybridctl assemble vol\"" },
		{ OF("ro", "needs_check", "1 A", "1 " DEV("-", "failed")),
		  "needs_check", "\"hybridctl repair\"" },
		{ OF("fail", "needs_check", "1 F", "1 " DEV("8:0", "active")),
		  "fail", "\"hybridctl stop vol\"" },
	};
	struct status st;
	unsigned int which;
	char why[128], *advice;
	size_t i;

	for (i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
		if (!ktap_ok(status_parse(looks[i].line, &st, why, sizeof(why)), "health: a line"))
			continue;
		advice = health_advice(&st, "vol");
		ktap_ok(!strcmp(health_name(health_of(&st, &which)), looks[i].name) &&
			(looks[i].advice ? advice && strstr(advice, looks[i].advice) : !advice),
			"health: %s: %s", looks[i].name, advice ? advice : "nothing");
		free(advice);
		status_free(&st);
	}
}

int main(void)
{
	ktap_begin();
	test_states();
	test_progress();
	test_names();
	test_output();
	test_counts();
	test_cache();
	test_standing();
	test_health();
	return ktap_end();
}
