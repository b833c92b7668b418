// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl list: pools, active or only found by their labels. */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "commands.h"
#include "dm.h"
#include "health.h"
#include "json_print.h"
#include "msg.h"
#include "pool.h"
#include "quote.h"
#include "status.h"
#include "units.h"

/* A line of the list: from a pool's labels, its dm device, or both. */
struct row {
	const char *name;
	const char *state;	/* rw ro fail, inactive, incomplete, conflict, unknown */
	const char *health;	/* health_name(); NULL: not active, or not known */
	char uuid[UUID_TEXT];
	uint64_t bytes;		/* active: the volume; else 0 */
	unsigned int members;
	char *missing;
	const struct pool *pool;
};

static void fill_live(struct row *r)
{
	char *params, why[128];
	struct status st;
	unsigned int which;
	uint64_t sectors;

	r->state = "unknown";
	if (dm_get_status(r->name, &params, &sectors))
		return;
	r->bytes = sectors * SECTOR_SIZE;
	if (status_parse(params, &st, why, sizeof(why))) {
		r->state = status_mode_name(st.mode);
		r->health = health_name(health_of(&st, &which));
		r->members = st.nr_devs;
		status_free(&st);
	}
	free(params);
}

static void fill_pool(struct row *r, const struct pool *p)
{
	memset(r, 0, sizeof(*r));
	r->pool = p;
	r->name = p->active ? p->active : p->name;
	uuid_text(r->uuid, p->uuid);
	r->members = p->nr_members;
	if (p->active) {
		fill_live(r);
		return;
	}
	r->missing = pool_missing(p);
	r->state = p->conflict ? "conflict" : pool_lacks_stale_only(p) ? "inactive" : "incomplete";
}

static json_t *paths(const struct pool *p)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; p && i < p->nr_members; i++)
		json_array_append_new(list, p->member[i].there ?
				      text_json(p->member[i].path) : json_null());
	return list;
}

static json_t *row_json(const struct row *r)
{
	return json_pack("{s:o, s:s*, s:s, s:s?, s:b, s:i, s:I, s:o, s:s*}",
			 "name", text_json(r->name), "uuid", r->uuid[0] ? r->uuid : NULL,
			 "state", r->state, "health", r->health,
			 "active", !r->pool || r->pool->active, "members", (int)r->members,
			 "bytes", (json_int_t)r->bytes, "devices", paths(r->pool),
			 "missing", r->missing);
}

static void print_row(const struct row *r)
{
	char size[UNIT_TEXT] = "-";
	unsigned int i;

	if (r->bytes)
		human_bytes(size, r->bytes);
	printf("%-16s %-10s %-13s %8s  %-36s ", r->name, r->state, r->health ? r->health : "-",
	       size, r->uuid[0] ? r->uuid : "-");
	for (i = 0; r->pool && i < r->pool->nr_members; i++)
		printf(" %s", r->pool->member[i].there ? r->pool->member[i].path : "-");
	if (r->missing)
		printf("  (not found: %s)", r->missing);
	if (r->pool && r->pool->conflict)
		printf("  (%s)", r->pool->conflict);
	putchar('\n');
}

static unsigned int collect(const struct pools *pools, struct dm_dev *live, unsigned int nr_live,
			    struct row *row)
{
	unsigned int i, j, nr = 0;

	for (i = 0; i < pools->nr; i++)
		fill_pool(&row[nr++], &pools->pool[i]);
	/* A live volume whose labels can't be read is still there. */
	for (i = 0; i < nr_live; i++) {
		for (j = 0; j < pools->nr; j++)
			if (pools->pool[j].active && !strcmp(pools->pool[j].active, live[i].name))
				break;
		if (j < pools->nr)
			continue;
		memset(&row[nr], 0, sizeof(*row));
		row[nr].name = live[i].name;
		fill_live(&row[nr++]);
	}
	return nr;
}

static int print_rows(const struct row *row, unsigned int nr, bool json)
{
	json_t *list = json_array();
	unsigned int i;

	if (!json && nr)
		printf("%-16s %-10s %-13s %8s  %-36s  %s\n", "NAME", "STATE", "HEALTH", "SIZE",
		       "POOL", "MEMBERS");
	for (i = 0; i < nr; i++) {
		if (json)
			json_array_append_new(list, row_json(&row[i]));
		else
			print_row(&row[i]);
	}
	if (json)
		return json_print(stdout, list, JSON_INDENT(2));
	json_decref(list);
	return EXIT_OK;
}

static int list(bool json)
{
	struct dm_dev *live;
	struct pools pools;
	unsigned int nr, nr_live;
	struct row *row;
	int err;

	if (need_dm())
		return EXIT_FAILED;
	err = pools_scan(&pools);
	if (!err)
		err = dm_list_hybrid(&live, &nr_live);
	if (err)
		return fail("can't list volumes: %s", strerror(-err));
	row = xcalloc(pools.nr + nr_live, sizeof(*row));
	nr = collect(&pools, live, nr_live, row);
	err = print_rows(row, nr, json);
	while (nr--)
		free(row[nr].missing);
	free(row);
	dm_free_list(live, nr_live);
	pools_free(&pools);
	return err;
}

int cmd_list(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' }, OPT_HELP, { NULL, 0, NULL, 0 },
	};
	bool json = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h')
			return command_help();
		if (opt != 'j')
			return bad_option(argv);
		json = true;
	}
	if (argc != optind)
		return usage_error("no argument is expected");
	return list(json);
}
