// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl check: runs the offline check and reports. */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "claims.h"
#include "commands.h"
#include "json_print.h"
#include "msg.h"
#include "offline.h"
#include "quote.h"
#include "store_io.h"

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
		json_array_append_new(list, text_json(f->text[i]));
	return list;
}

static json_t *check_json(const struct check *c)
{
	char uuid[UUID_TEXT];

	return json_pack("{s:o, s:s, s:b, s:b, s:I, s:I, s:I, s:{s:I, s:I}, s:{s:I, s:I}, s:I,"
			 " s:I, s:o, s:I, s:o}",
			 "name", text_json(c->pool->name), "uuid", uuid_text(uuid, c->pool->uuid),
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

/* Tell what was found; takes the findings. */
static int tell(struct check *c, json_t *list)
{
	int ret = c->errors.nr ? EXIT_FAILED : EXIT_OK;

	if (list)
		json_array_append_new(list, check_json(c));
	else
		print_text(c);
	findings_free(&c->errors);
	findings_free(&c->warnings);
	return ret;
}

static int check_each(const struct pools *pools, json_t *list)
{
	int err, ret = EXIT_OK;
	unsigned int i;

	for (i = 0; i < pools->nr && ret != EXIT_USAGE; i++) {
		struct check c;

		err = check_pool(&c, &pools->pool[i]);
		if (!err)
			err = tell(&c, list);
		if (err)
			ret = err;
	}
	return ret;
}

#define LIVE_TRIES	20

static uint64_t generation_of(const struct pool *p)
{
	struct ek_store *store;
	struct store_io io;
	uint64_t generation = 0;

	if (!store_open(&io, p, &store)) {
		generation = ek_store_generation(store);
		store_close(&io, store);
	}
	return generation;
}

static void forget(struct check *c)
{
	findings_free(&c->errors);
	findings_free(&c->warnings);
}

/* Of @c that stays which was found before, too; @before goes. */
static void agree(struct check *c, struct check *before)
{
	findings_common(&c->errors, &before->errors);
	findings_common(&c->warnings, &before->warnings);
	forget(before);
}

/*
 * A volume that is active writes what is being read: pages of a generation stay where they are
 * until the one after the next is written, so what was read while the generation did not change is
 * what a power cut would have left.  Not so the journal: what is appended between two reads of it
 * looks like damage, but not twice the same.
 */
static int check_live(struct pool *p, json_t *list)
{
	struct check c, before = { .pool = p };
	bool found = false;
	int tries, err;

	for (tries = 0; tries < LIVE_TRIES; tries++) {
		pool_settle(p);
		err = check_pool(&c, p);
		if (err || generation_of(p) != c.generation) {
			forget(&c);
			if (!err)
				continue;
			forget(&before);
			return err;
		}
		if (found)
			agree(&c, &before);
		if (c.complete ? found || !(c.errors.nr + c.warnings.nr) : found && c.errors.nr)
			return tell(&c, list);
		before = c;
		found = true;
	}
	forget(&before);
	fail("%s: its metadata change too fast to be checked while it is active", p->name);
	return EXIT_USAGE;
}

static int check_name(const char *name, json_t *list)
{
	struct pools pools;
	unsigned int i;
	int err;

	if (need_volume(name))
		return EXIT_USAGE;
	err = pools_scan(&pools);
	if (err) {
		fail("can't list volumes: %s", strerror(-err));
		return EXIT_USAGE;
	}
	for (i = 0; i < pools.nr; i++)
		if (pools.pool[i].active && !strcmp(pools.pool[i].active, name))
			break;
	if (i < pools.nr) {
		err = check_live(&pools.pool[i], list);
	} else {
		fail("%s: its devices are not found", name);
		err = EXIT_USAGE;
	}
	pools_free(&pools);
	return err;
}

static int check_devices(char * const *paths, int nr, json_t *list)
{
	struct pools pools;
	int err = offline_pools(&pools, paths, nr);

	if (err)
		return err;
	claims_warn(&pools);
	err = check_each(&pools, list);
	pools_free(&pools);
	return err;
}

int cmd_check(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' }, OPT_HELP, { NULL, 0, NULL, 0 },
	};
	bool json = false;
	json_t *list;
	int opt, err;

	/* Not that something was found. */
	no_memory_status = EXIT_USAGE;
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h')
			return command_help();
		if (opt != 'j')
			return bad_option(argv);
		json = true;
	}
	if (argc == optind)
		return usage_error("a name or at least one device is needed");
	list = json ? json_array() : NULL;
	if (argc - optind == 1 && !strchr(argv[optind], '/') && access(argv[optind], F_OK))
		err = check_name(argv[optind], list);
	else
		err = check_devices(argv + optind, argc - optind, list);
	if (json && err != EXIT_USAGE)
		return json_print(stdout, list, JSON_INDENT(2)) ? EXIT_USAGE : err;
	json_decref(list);
	return err;
}
