// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl check: runs the offline check and reports. */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>

#include "check.h"
#include "commands.h"
#include "msg.h"
#include "offline.h"

static void print_findings(const char *kind, const struct findings *f)
{
	uint64_t i;

	for (i = 0; i < f->nr && i < FINDINGS_KEPT; i++)
		printf("%s: %s\n", kind, f->text[i]);
	if (f->nr > FINDINGS_KEPT)
		printf("%s: and %llu more\n", kind, (unsigned long long)(f->nr - FINDINGS_KEPT));
}

static void print_text(const struct check *c)
{
	const char *verdict = c->errors.nr ? "DAMAGED" : "clean";
	char uuid[UUID_TEXT];

	printf("%s, pool %s, generation %llu\n", c->pool->name, uuid_text(uuid, c->pool->uuid),
	       (unsigned long long)c->generation);
	print_findings("error", &c->errors);
	print_findings("warning", &c->warnings);
	printf("%llu pages, %llu journal records; %llu of %llu extents mapped, %llu of %llu used\n",
	       (unsigned long long)c->pages, (unsigned long long)c->journal_records,
	       (unsigned long long)c->mapped, (unsigned long long)c->logical,
	       (unsigned long long)c->used, (unsigned long long)c->total);
	printf("%s: %s, %llu errors, %llu warnings\n", c->pool->name, verdict,
	       (unsigned long long)c->errors.nr, (unsigned long long)c->warnings.nr);
}

static json_t *findings_json(const struct findings *f)
{
	json_t *list = json_array();
	uint64_t i;

	for (i = 0; i < f->nr && i < FINDINGS_KEPT; i++)
		json_array_append_new(list, json_string(f->text[i]));
	return list;
}

static json_t *check_json(const struct check *c)
{
	char uuid[UUID_TEXT];

	return json_pack("{s:s, s:s, s:b, s:b, s:I, s:I, s:I, s:{s:I, s:I}, s:{s:I, s:I}, s:I,"
			 " s:I, s:o, s:I, s:o}",
			 "name", c->pool->name, "uuid", uuid_text(uuid, c->pool->uuid),
			 "clean", !c->errors.nr, "complete", c->complete,
			 "generation", (json_int_t)c->generation, "pages", (json_int_t)c->pages,
			 "journal_records", (json_int_t)c->journal_records,
			 "logical_extents", "total", (json_int_t)c->logical,
			 "mapped", (json_int_t)c->mapped,
			 "physical_extents", "total", (json_int_t)c->total,
			 "used", (json_int_t)c->used, "leaked", (json_int_t)c->leaked,
			 "nr_errors", (json_int_t)c->errors.nr, "errors", findings_json(&c->errors),
			 "nr_warnings", (json_int_t)c->warnings.nr,
			 "warnings", findings_json(&c->warnings));
}

static int check_all(const struct pools *pools, bool json)
{
	json_t *list = json_array();
	int err, ret = EXIT_OK;
	unsigned int i;

	for (i = 0; i < pools->nr && ret != EXIT_USAGE; i++) {
		struct check c;

		err = check_pool(&c, &pools->pool[i]);
		if (err) {
			ret = err;
		} else {
			if (c.errors.nr)
				ret = EXIT_FAILED;
			if (json)
				json_array_append_new(list, check_json(&c));
			else
				print_text(&c);
		}
		findings_free(&c.errors);
		findings_free(&c.warnings);
	}
	if (json) {
		json_dumpf(list, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(list);
	return ret;
}

int cmd_check(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' }, OPT_HELP, { NULL, 0, NULL, 0 },
	};
	struct pools pools;
	bool json = false;
	int opt, err;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h')
			return command_help();
		if (opt != 'j')
			return bad_option(argv);
		json = true;
	}
	if (argc == optind)
		return usage_error("at least one device is needed");
	err = offline_pools(&pools, argv + optind, argc - optind);
	if (err)
		return err;
	err = check_all(&pools, json);
	pools_free(&pools);
	return err;
}
