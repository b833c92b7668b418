// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl explain: where an extent is, and why. */
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "commands.h"
#include "dm.h"
#include "json_print.h"
#include "msg.h"
#include "quote.h"
#include "units.h"
#include "volume.h"

/* What the kernel's words for it mean to people. */
static const struct {
	const char *verdict;
	const char *text;
} meaning[] = {
	{ "moves", "it is to move" },
	{ "cooldown", "it stays: it moved a short while ago" },
	{ "busy", "it is on its way" },
	{ "nospace", "it stays: no free extent where it would go" },
	{ "candidate", "it stays: it is accessed too seldom" },
	{ "balanced", "it stays: nowhere would it be better off by enough" },
	{ "token", "it stays: all tokens are used up for now" },
	{ "cost", "it stays: the copy would cost more than it gains" },
	{ "size", "it stays: it is accessed in requests larger than an extent" },
	{ "pinned", "it stays: it is pinned there" },
	{ "share", "it stays: its part of the load is larger than what is to move" },
};

static const char *meaning_of(const char *verdict)
{
	unsigned int i;

	for (i = 0; i < sizeof(meaning) / sizeof(*meaning); i++)
		if (!strcmp(meaning[i].verdict, verdict))
			return meaning[i].text;
	return verdict;
}

static json_t *value_of(const char *key, const char *text)
{
	uint64_t n;

	if (!strcmp(text, "-") || !strcmp(text, "-1"))
		return json_null();
	if (strcmp(key, "valid") && parse_u64(text, &n))
		return json_integer(n);
	return text_json(text);
}

/* "key value key value" into an object, cost.N into the array cost_ns; NULL: not understood. */
static json_t *parse(char *reply)
{
	json_t *o = json_object(), *costs = json_array();
	char *key, *value, *save;

	for (key = strtok_r(reply, " ", &save); key; key = strtok_r(NULL, " ", &save)) {
		value = strtok_r(NULL, " ", &save);
		if (!value) {
			json_decref(o);
			json_decref(costs);
			return NULL;
		}
		if (!strncmp(key, "cost.", 5))
			json_array_append_new(costs, value_of(key, value));
		else
			json_object_set_new(o, key, value_of(key, value));
	}
	if (json_array_size(costs))
		json_object_set_new(o, "cost_ns", costs);
	else
		json_decref(costs);
	return o;
}

static const char *string_of(json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "-";
}

static long long number_of(json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	return json_is_integer(v) ? (long long)json_integer_value(v) : -1;
}

static const char *path_of(const struct volume *v, long long member)
{
	return member >= 0 && member < v->st.nr_devs && v->path[member] ? v->path[member] : "lost";
}

static void print_policy(json_t *o)
{
	json_t *cost, *costs = json_object_get(o, "cost_ns");
	size_t i;

	if (number_of(o, "reads") < 0)
		return;
	printf("counted: %lld reads, %lld writes, requests %s\n", number_of(o, "reads"),
	       number_of(o, "writes"), string_of(o, "size"));
	json_array_foreach(costs, i, cost)
		printf("  an access on member %zu: %" JSON_INTEGER_FORMAT " us\n", i,
		       json_integer_value(cost) / 1000);
}

static void print(const struct volume *v, json_t *o)
{
	long long member = number_of(o, "member"), pinned = number_of(o, "pinned");

	if (member < 0) {
		printf("extent %lld: nothing was written there\n", number_of(o, "extent"));
	} else {
		printf("extent %lld: on member %lld (%s), physical extent %lld\n",
		       number_of(o, "extent"), member, path_of(v, member),
		       number_of(o, "physical"));
		printf("accesses: %lld of late, %.4f%% of the load\n", number_of(o, "accesses"),
		       number_of(o, "share_ppm") / 1e4);
	}
	if (pinned >= 0)
		printf("pinned: to member %lld (%s)\n", pinned, path_of(v, pinned));
	print_policy(o);
	if (member >= 0)
		printf("policy %s: %s", string_of(o, "policy"),
		       meaning_of(string_of(o, "verdict")));
	if (member >= 0 && number_of(o, "to") >= 0)
		printf(", to member %lld (%s)", number_of(o, "to"), path_of(v, number_of(o, "to")));
	if (member >= 0)
		putchar('\n');
}

static int explain(const struct volume *v, uint64_t offset, bool json)
{
	uint64_t unit = v->st.extent_sectors * 512;
	char *message, *reply = NULL, *why = NULL;
	json_t *o;
	int err;

	if (offset / 512 >= v->sectors)
		return fail("%s: %llu is beyond its end", v->name, (unsigned long long)offset);
	message = xasprintf("explain %llu", (unsigned long long)(offset / unit));
	err = dm_message(v->name, message, &reply, &why);
	free(message);
	if (err || !reply) {
		err = fail("%s: %s", v->name, err ? why : "no answer");
		free(why);
		return err;
	}
	o = parse(reply);
	free(reply);
	if (!o)
		return fail("%s: the kernel's answer was not understood", v->name);
	if (json)
		return json_print(stdout, o, JSON_INDENT(2));
	print(v, o);
	json_decref(o);
	return EXIT_OK;
}

int cmd_explain(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' }, OPT_HELP, { NULL, 0, NULL, 0 },
	};
	bool json = false;
	struct volume v;
	uint64_t offset;
	int opt, err;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h')
			return command_help();
		if (opt != 'j')
			return bad_option(argv);
		json = true;
	}
	if (argc - optind != 2 || !parse_size(argv[optind + 1], &offset))
		return usage_error("a name and an offset in bytes are needed");
	if (volume_look(&v, argv[optind], 0))
		return EXIT_FAILED;
	err = explain(&v, offset, json);
	volume_free(&v);
	return err;
}
