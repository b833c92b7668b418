// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl assemble: activate pools from what their labels and superblocks say. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "commands.h"
#include "dm.h"
#include "lock.h"
#include "msg.h"
#include "pool.h"
#include "sought.h"
#include "status.h"
#include "store_io.h"
#include "table.h"
#include "unfinished.h"

/* What the newest superblock says; the rest of the table is in the labels. */
struct facts {
	uint64_t sectors;
	char *policy;
};

static bool member_matches(const struct pool *p, const struct ek_super *sb, unsigned int i)
{
	return !memcmp(p->member[i].area.info.area_uuid, sb->member[i].uuid, EK_UUID_SIZE);
}

static int judge_super(const struct pool *p, const struct ek_super *sb)
{
	unsigned int i;

	if (le32_to_cpu(sb->nr_members) != p->nr_members ||
	    le32_to_cpu(sb->extent_sectors) != p->extent_sectors ||
	    memcmp(sb->pool_uuid, p->uuid, EK_UUID_SIZE))
		return fail("%s: superblock and labels do not agree (see hybridctl check)",
			    p->name);
	for (i = 0; i < p->nr_members; i++)
		if (p->member[i].there && !member_matches(p, sb, i))
			return fail("%s: %s is not the pool's member %u", p->name,
				    p->member[i].path, i);
	return EXIT_OK;
}

static int read_facts(const struct pool *p, struct facts *facts)
{
	const struct ek_super *sb;
	struct ek_store *store;
	struct store_io io;
	int err;

	if (store_open(&io, p, &store))
		return EXIT_FAILED;
	sb = ek_store_super(store);
	err = judge_super(p, sb);
	facts->sectors = le64_to_cpu(sb->nr_extents) * le32_to_cpu(sb->extent_sectors);
	/* What was found out about the areas was true before the lock was had. */
	if (!err && p->generation && le64_to_cpu(sb->generation) != p->generation)
		err = fail("%s: has changed meanwhile; assemble it again", p->name);
	facts->policy = xasprintf("%.*s", (int)sizeof(sb->policy), (const char *)sb->policy);
	store_close(&io, store);
	return err;
}

static void fill(struct table_area *t, char **number, const struct pool_area *a)
{
	if (!a->there) {
		*number = xstrdup("-");
		t->dev = *number;
		return;
	}
	*number = xasprintf("%u:%u", major(a->rdev), minor(a->rdev));
	t->dev = *number;
	t->start = a->area.info.area_start;
}

static char *make_params(const struct pool *p, const char *policy)
{
	struct table t = { .nr_meta = p->nr_meta, .nr_devs = p->nr_members,
			   .extent_sectors = p->extent_sectors, .features = "0",
			   .policy = policy };
	char *number[EK_MAX_META + EK_MAX_MEMBERS], *params;
	unsigned int i, n = 0;

	for (i = 0; i < p->nr_meta; i++)
		fill(&t.meta[i], &number[n++], &p->meta[i]);
	for (i = 0; i < p->nr_members; i++)
		fill(&t.dev[i], &number[n++], &p->member[i]);
	params = table_build(&t);
	while (n)
		free(number[--n]);
	return params;
}

static int damaged_label(const struct pool *p)
{
	unsigned int i, nr = p->nr_meta + p->nr_members;
	const struct pool_area *a;
	char text[AREA_TEXT];

	for (i = 0; i < nr; i++) {
		a = i < p->nr_meta ? &p->meta[i] : &p->member[i - p->nr_meta];
		if (a->there && a->area.head_err)
			return fail("%s: %s: label of %s is %s", p->name, a->path,
				    area_text(text, a->area.info.role, a->area.info.index),
				    area_label_error(a->area.head_err));
	}
	return EXIT_OK;
}

static bool degraded;	/* --degraded: without what is missing */
static const char *other_name;	/* --name: until it is stopped */

static const char *name_for(const struct pool *p)
{
	return other_name ? other_name : p->name;
}

/* What can be done without: any member, and one of two metadata areas. */
static bool can_do_without(const struct pool *p)
{
	unsigned int i, metas = 0, members = 0;

	for (i = 0; i < p->nr_meta; i++)
		metas += p->meta[i].there;
	for (i = 0; i < p->nr_members; i++)
		members += p->member[i].there;
	return metas && members;
}

/* Of a member what is on it can't be had; of a metadata area nobody knows what it had. */
static void warn_without(const struct pool *p, const char *missing)
{
	unsigned int i, metas = 0, members = 0;

	for (i = 0; i < p->nr_meta; i++)
		metas += !p->meta[i].there && !(p->vacant >> i & 1);
	for (i = 0; i < p->nr_members; i++)
		members += !p->member[i].there && !(p->removed >> i & 1);
	warn("%s: without %s: %s%s%s", p->name, missing,
	     members ? "what is on it can't be read or written" : "",
	     members && metas ? "; " : "",
	     metas ? "the map that is there may be older than the missing one" : "");
}

static char *dm_uuid(const struct pool *p)
{
	char text[UUID_TEXT];

	return xasprintf(DM_UUID_PREFIX "%s", uuid_text(text, p->uuid));
}

/* Of one who was killed: the name or the uuid would be taken, the devices in use. */
static int clear_name(const struct pool *p)
{
	char *uuid = dm_uuid(p);
	int there, err = unfinished_remove(name_for(p), uuid);

	free(uuid);
	if (err)
		return err;
	there = dm_lookup(name_for(p), NULL);
	if (there > 0)
		return fail("%s: another device-mapper device has that name (--name gives it another one)",
			    name_for(p));
	return there ? fail("%s: %s", name_for(p), strerror(-there)) : EXIT_OK;
}

static int judge(const struct pool *p)
{
	char *missing = pool_missing(p);

	if (missing && pool_lacks_stale_only(p)) {
		warn("%s: without %s, which was left out before: the metadata has no mirror",
		     p->name, missing);
	} else if (missing && degraded && can_do_without(p)) {
		warn_without(p, missing);
	} else if (missing) {
		fail("%s: incomplete: %s not found%s", p->name, missing,
		     can_do_without(p) ? " (--degraded activates it without)" : "");
		free(missing);
		return EXIT_FAILED;
	}
	free(missing);
	if (p->conflict)
		return fail("%s: %s", p->name, p->conflict);
	if (damaged_label(p))
		return EXIT_FAILED;
	if (!other_name && !good_label_name(p->name))
		return EXIT_FAILED;
	return clear_name(p);
}

/* Values of a list "shares 60,30,10" in a policy's text; 0: there is none. */
static unsigned int policy_shares(const char *policy)
{
	const char *at = strstr(policy, " shares ");
	unsigned int nr = 1;

	if (!at)
		return 0;
	for (at += strlen(" shares "); *at && *at != ' '; at++)
		nr += *at == ',';
	return nr;
}

static int refused(const struct pool *p, const char *policy, const char *why)
{
	unsigned int nr = policy_shares(policy);

	if (nr && nr != p->nr_members)
		return fail("%s: %s: the policy in the superblock, '%s', has shares for %u members, the pool has %u",
			    p->name, why, policy, nr, p->nr_members);
	return fail("%s: %s", p->name, why);
}

/*
 * Volumes made: their devices are claimed, so that others need not wait until udev has seen to the
 * names.
 */
static char **made;
static unsigned int nr_made;

static void note_made(const char *name)
{
	made = xrealloc(made, (nr_made + 1) * sizeof(*made));
	made[nr_made++] = xstrdup(name);
}

static void settle(void)
{
	unsigned int i;

	unlock_pool();
	unlock_devices();
	dm_settle();
	for (i = 0; i < nr_made; i++) {
		note("/dev/mapper/%s", made[i]);
		free(made[i]);
	}
	free(made);
}

static void note_activated(const struct pool *p)
{
	note_made(name_for(p));
	sought_and_found(p->uuid);
}

/* With its lock. */
static int activate_locked(const struct pool *p)
{
	char *uuid, *params, *why = NULL;
	struct facts facts = { 0 };
	int err;

	if (judge(p))
		return EXIT_FAILED;
	err = read_facts(p, &facts);
	if (!err) {
		uuid = dm_uuid(p);
		params = make_params(p, facts.policy);
		if (dm_create(name_for(p), uuid, facts.sectors, params, &why))
			err = refused(p, facts.policy, why);
		else
			note_activated(p);
		free(why);
		free(params);
		free(uuid);
	}
	free(facts.policy);
	return err;
}

static int activate(const struct pool *p)
{
	int err;

	if (p->active) {
		note("%s is active already (/dev/mapper/%s)", p->name, p->active);
		return EXIT_OK;
	}
	/* Not waited for: other pools would wait, too, and it is to be looked at afterwards. */
	err = lock_pool_try(p->uuid, p->name);
	if (err == -EBUSY)
		return fail("%s: another hybridctl is at work on it", p->name);
	err = activate_locked(p);
	unlock_pool();
	return err;
}

static int assemble_all(const struct pools *pools)
{
	int ret = EXIT_OK;
	unsigned int i;

	if (!pools->nr)
		note("No pools found");
	for (i = 0; i < pools->nr; i++)
		if (activate(&pools->pool[i]))
			ret = EXIT_FAILED;
	return ret;
}

static int find_one(const struct pools *pools, const char *name, struct pool **p)
{
	unsigned int nr = pools_find(pools, name, p);

	if (!nr)
		return fail("%s: no pool of that name on any device", name);
	if (nr > 1)
		return fail("%s: %u pools have that name; give the uuid (see hybridctl list)",
			    name, nr);
	return EXIT_OK;
}

static int scan(struct pools *pools, dev_t with)
{
	int err;

	/* What the system starts from is not to depend on a directory for locks. */
	lock_devices();
	err = with ? pools_scan_with(pools, with) : pools_scan(pools);
	return err ? fail("can't list volumes: %s", strerror(-err)) : EXIT_OK;
}

/* Others find their pools meanwhile; what this one is by then is looked at anew. */
static int wait_and_scan(struct pools *pools, const char *name, struct pool **p)
{
	uint8_t uuid[EK_UUID_SIZE];
	int err;

	memcpy(uuid, (*p)->uuid, EK_UUID_SIZE);
	unlock_devices();
	err = lock_pool(uuid, name);
	pools_free(pools);
	if (!err)
		err = scan(pools, 0);
	if (!err)
		err = find_one(pools, name, p);
	if (!err && memcmp((*p)->uuid, uuid, EK_UUID_SIZE))
		err = fail("%s: has become another pool", name);
	return err;
}

static int assemble_one(struct pools *pools, const char *name)
{
	struct pool *p;
	int err = find_one(pools, name, &p);

	if (err || p->active)
		return err ? err : activate(p);
	err = lock_pool_try(p->uuid, p->name);
	if (err == -EBUSY && wait_and_scan(pools, name, &p))
		return EXIT_FAILED;
	return p->active ? activate(p) : activate_locked(p);
}

static bool is_left_out(const char *name, unsigned int k)
{
	char *params, why[128];
	bool is = false;
	uint64_t sectors;
	struct status st;
	struct table t;

	if (dm_get_table(name, &params, &sectors))
		return false;
	if (table_parse(params, &t, why, sizeof(why))) {
		is = k < t.nr_meta && !strcmp(t.meta[k].dev, "-");
		table_free(&t);
	}
	free(params);
	if (!is || dm_get_status(name, &params, &sectors))
		return false;
	is = status_parse(params, &st, why, sizeof(why));
	if (is) {
		/* A place that is vacant misses nobody. */
		is = k < st.nr_meta && st.meta[k] != '-';
		status_free(&st);
	}
	free(params);
	return is;
}

/* The volume was activated without what this device, @here, has of it. */
static void tell_left_out(const struct pool *p, const struct pool *here)
{
	unsigned int k;

	for (k = 0; k < EK_MAX_META; k++)
		if (here->meta[k].there && is_left_out(p->active, k))
			note("%s: goes on without metadata area %u on %s (\"hybridctl attach %s %s\" makes it a mirror again)",
			     p->name, k, here->meta[k].path, p->active, here->meta[k].path);
}

/* The events of those that can't be looked at now, and were known before, are to ask again. */
static void tell_missing(const struct pool *p, const char *missing)
{
	sought_in_vain(p->uuid);
	note("%s: %s not there yet", p->name, missing);
}

static void tell_awaited(const struct pool *p)
{
	sought_in_vain(p->uuid);
	note("%s: %s, which is not there yet", p->name, p->awaited);
}

/*
 * Devices appear one by one, and in no order: each of them asks, the last one finds the pool
 * complete. Two that appear at a time are kept apart by the lock.
 */
static int assemble_with(const struct pools *pools, const char *path)
{
	struct pools here = { 0 };
	int nr, err, ret = EXIT_OK;
	const char *stalled;
	struct bdev dev;
	unsigned int i;

	err = bdev_open(&dev, path, BDEV_LOOK);
	if (err == -EAGAIN)
		return fail("%s: another program has it locked", path);
	if (err)
		return fail("%s: %s", path, strerror(-err));
	stalled = bdev_stalled(dev.rdev);
	if (stalled) {
		bdev_close(&dev);
		return fail("%s: %s", path, stalled);
	}
	nr = pools_add_unowned(&here, &dev);
	if (nr == -EBUSY)
		ret = EXIT_FAILED;
	else if (nr <= 0)
		ret = fail("%s: no label of a hybrid volume", path);
	bdev_close(&dev);
	for (i = 0; i < here.nr; i++) {
		char uuid[UUID_TEXT], *missing;
		struct pool *p;

		/* Gone meanwhile. */
		if (!pools_find(pools, uuid_text(uuid, here.pool[i].uuid), &p))
			continue;
		missing = p->active ? NULL : pool_missing(p);
		if (p->active)
			tell_left_out(p, &here.pool[i]);
		if (missing && !pool_lacks_stale_only(p))
			tell_missing(p, missing);
		else if (p->awaited)
			tell_awaited(p);
		else if (activate(p))
			ret = EXIT_FAILED;
		free(missing);
	}
	pools_free(&here);
	return ret;
}

int cmd_assemble(int argc, char **argv)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' }, { "with", required_argument, NULL, 'w' },
		{ "degraded", no_argument, NULL, 'd' },
		{ "name", required_argument, NULL, 'n' }, OPT_HELP, { NULL, 0, NULL, 0 },
	};
	const char *with = NULL;
	struct pools pools;
	bool all = false;
	struct stat st;
	int opt, err;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h')
			return command_help();
		if (opt == 'd')
			degraded = true;
		else if (opt == 'a')
			all = true;
		else if (opt == 'w')
			with = optarg;
		else if (opt == 'n')
			other_name = optarg;
		else
			return bad_option(argv);
	}
	if (argc - optind + all + !!with > 1)
		return usage_error("one name, --all or --with DEV");
	all |= argc == optind && !with;
	if (other_name && (all || with))
		return usage_error("--name goes with one volume, by its name or uuid");
	if (other_name && !good_name(other_name))
		return EXIT_USAGE;
	if (need_dm())
		return EXIT_FAILED;
	/* Looking for a pool and activating it is one step for others. */
	if (scan(&pools, with && !stat(with, &st) ? st.st_rdev : 0))
		return EXIT_FAILED;
	err = all ? assemble_all(&pools) : with ? assemble_with(&pools, with) :
	      assemble_one(&pools, argv[optind]);
	pools_free(&pools);
	settle();
	return err;
}
