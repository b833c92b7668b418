// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl dump: labels, superblock and map as text. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_internal.h"
#include "claims.h"
#include "commands.h"
#include "msg.h"
#include "offline.h"
#include "quote.h"

static void dump_area(const struct pool_area *a)
{
	const struct ek_label_info *l = &a->area.info;
	char text[AREA_TEXT], uuid[UUID_TEXT], *path;

	if (!a->there)
		return;
	path = quoted(a->path, false);
	printf("label %s role %s device %s start %llu sectors %llu label %s copy %s\n",
	       uuid_text(uuid, l->area_uuid), area_text(text, l->role, l->index), path,
	       (unsigned long long)l->area_start, (unsigned long long)l->area_sectors,
	       area_label_error(a->area.head_err), area_label_error(a->area.copy_err));
	free(path);
}

static void dump_super(const struct ek_super *sb, unsigned int stale, uint64_t used)
{
	char uuid[UUID_TEXT];
	unsigned int i;

	printf("superblock generation %llu flags %x stale %x extents %llu pages %llu journal %llu used %llu",
	       (unsigned long long)le64_to_cpu(sb->generation), le32_to_cpu(sb->flags), stale,
	       (unsigned long long)le64_to_cpu(sb->nr_extents),
	       (unsigned long long)le64_to_cpu(sb->nr_pages),
	       (unsigned long long)le64_to_cpu(sb->journal_blocks), (unsigned long long)used);
	if (ek_super_vacant(sb))
		printf(" vacant %x", ek_super_vacant(sb));
	putchar('\n');
	printf("policy %.*s\n", (int)sizeof(sb->policy), (const char *)sb->policy);
	for (i = 0; i < le32_to_cpu(sb->nr_members) && i < EK_MAX_MEMBERS; i++)
		printf("member %u extents %u state %u uuid %s\n", i,
		       le32_to_cpu(sb->member[i].nr_extents), le32_to_cpu(sb->member[i].state),
		       uuid_text(uuid, sb->member[i].uuid));
}

static int dump_store(const struct pool *p)
{
	struct ek_store *store;
	struct store_io io;

	if (store_open(&io, p, &store))
		return EXIT_FAILED;
	dump_super(ek_store_super(store), ek_store_stale(store),
		   ek_store_journal_used(store));
	store_close(&io, store);
	return EXIT_OK;
}

static void dump_entry(void *ctx, uint64_t le, uint64_t entry)
{
	(void)ctx;
	printf("extent %llu member %u physical %u valid %08x\n", (unsigned long long)le,
	       ek_entry_member(entry), ek_entry_pe(entry), ek_entry_valid(entry));
}

/* A label that is damaged takes nothing from the map; one that contradicts another may. */
static int dump_map(const struct pool *p)
{
	struct check c;
	unsigned int i;
	int err = check_map(&c, p, dump_entry, NULL);

	for (i = 0; i < c.errors.nr && i < FINDINGS_KEPT; i++)
		if (c.complete && !p->conflict)
			warn("%s: %s", p->name, c.errors.text[i]);
		else
			err = fail("%s: %s", p->name, c.errors.text[i]);
	findings_free(&c.errors);
	findings_free(&c.warnings);
	return err ? EXIT_FAILED : EXIT_OK;
}

static int dump_pool(const struct pool *p, bool map)
{
	char uuid[UUID_TEXT];
	unsigned int i;

	printf("pool %s name %s extent_sectors %u members %u metadata %u\n",
	       uuid_text(uuid, p->uuid), p->name, p->extent_sectors, p->nr_members, p->nr_meta);
	for (i = 0; i < p->nr_meta; i++)
		dump_area(&p->meta[i]);
	for (i = 0; i < p->nr_members; i++)
		dump_area(&p->member[i]);
	if (dump_store(p))
		return EXIT_FAILED;
	if (map && dump_map(p))
		return EXIT_FAILED;
	if (map)
		puts("end");	/* a dump that was cut short is not restored */
	return EXIT_OK;
}

int cmd_dump(int argc, char **argv)
{
	static const struct option options[] = {
		{ "map", no_argument, NULL, 'm' }, OPT_HELP, { NULL, 0, NULL, 0 },
	};
	struct pools pools;
	bool map = false;
	unsigned int i;
	int opt, err, ret = EXIT_OK;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h')
			return command_help();
		if (opt != 'm')
			return bad_option(argv);
		map = true;
	}
	if (argc == optind)
		return usage_error("at least one device is needed");
	err = offline_pools(&pools, argv + optind, argc - optind);
	if (err)
		return err;
	claims_warn(&pools);
	for (i = 0; i < pools.nr; i++)
		if (dump_pool(&pools.pool[i], map))
			ret = EXIT_FAILED;
	pools_free(&pools);
	return ret;
}
