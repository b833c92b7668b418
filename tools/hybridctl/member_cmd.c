// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl add, grow, evacuate, detach, attach, remove, replace: the command lines. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "detach.h"
#include "give_up.h"
#include "interrupt.h"
#include "member.h"
#include "mirror.h"
#include "msg.h"
#include "units.h"

struct options {
	struct fresh fresh;
	bool grow, no_wait, cancel, give_up;
	uint64_t size;	/* bytes */
};

static int parse(int argc, char **argv, const char *allowed, int words, const char *what,
		 struct options *o)
{
	static const struct option options[] = {
		{ "force", no_argument, NULL, 'f' }, { "volatile-ok", no_argument, NULL, 'v' },
		{ "grow", no_argument, NULL, 'g' }, { "no-wait", no_argument, NULL, 'n' },
		{ "cancel", no_argument, NULL, 'c' }, { "give-up", no_argument, NULL, 'u' },
		{ "size", required_argument, NULL, 'z' },
		OPT_HELP, { NULL, 0, NULL, 0 },
	};
	int opt;

	memset(o, 0, sizeof(*o));
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h')
			exit(command_help());
		if (opt == '?' || !strchr(allowed, opt))
			return bad_option(argv);
		o->fresh.force |= opt == 'f';
		o->fresh.volatile_ok |= opt == 'v';
		o->grow |= opt == 'g';
		o->no_wait |= opt == 'n';
		o->cancel |= opt == 'c';
		o->give_up |= opt == 'u';
		if (opt == 'z' && (!parse_size(optarg, &o->size) || !o->size))
			return usage_error("--size %s: not a size", optarg);
	}
	return argc - optind == words ? EXIT_OK : usage_error("%s needed", what);
}

/* A signal that came when it was too late to keep the device out ends what would follow. */
static int judge_joined(const struct live *l, const char *path)
{
	return interrupted ? fail("%s: interrupted: %s has joined, what would follow is left undone",
				  l->name, path) : EXIT_OK;
}

int cmd_add(int argc, char **argv)
{
	struct options o;
	struct live l;
	int err = parse(argc, argv, "fvg", 2, "a name and a device are", &o);

	if (err)
		return err;
	err = live_open(&l, argv[optind]);
	if (!err)
		err = member_add(&l, argv[optind + 1], &o.fresh) < 0 ? EXIT_FAILED : EXIT_OK;
	if (!err && o.grow)
		err = judge_joined(&l, argv[optind + 1]);
	if (!err && o.grow)
		err = member_grow(&l, 0);
	live_close(&l);
	return err;
}

int cmd_grow(int argc, char **argv)
{
	struct options o;
	struct live l;
	uint64_t extent;
	int err = parse(argc, argv, "z", 1, "a name is", &o);

	if (err)
		return err;
	err = live_open(&l, argv[optind]);
	if (!err) {
		extent = l.st.extent_sectors * SECTOR_SIZE;
		err = member_grow(&l, (o.size / extent + !!(o.size % extent)) *
				      l.st.extent_sectors);
	}
	live_close(&l);
	return err;
}

static unsigned int how_of(const struct options *o)
{
	return (o->fresh.force ? EVACUATE_FORCE : 0) | (o->give_up ? EVACUATE_GIVE_UP : 0);
}

int cmd_evacuate(int argc, char **argv)
{
	struct options o;
	struct live l;
	int i, err = parse(argc, argv, "ncfu", 2, "a name and a member are", &o);

	if (!err && o.cancel && (o.no_wait || o.fresh.force || o.give_up))
		err = usage_error("--cancel goes with no other option");
	if (!err && o.give_up && o.no_wait)
		err = usage_error("--give-up waits until all else has moved");
	if (err)
		return err;
	err = live_open(&l, argv[optind]);
	if (!err) {
		i = live_member(&l, argv[optind + 1], false);
		if (i < 0)
			err = EXIT_FAILED;
		else if (o.cancel)
			err = live_message(&l, "stay", i);
		else
			err = member_evacuate(&l, i, (o.no_wait ? 0 : EVACUATE_WAIT) | how_of(&o));
	}
	live_close(&l);
	return err;
}

/* A command about one device of a volume. */
static int with_device(int argc, char **argv, const char *allowed,
		       int (*fn)(struct live *l, const char *word, const struct options *o))
{
	struct options o;
	struct live l;
	int err = parse(argc, argv, allowed, 2, "a name and a device are", &o);

	if (err)
		return err;
	err = live_open(&l, argv[optind]);
	if (!err)
		err = fn(&l, argv[optind + 1], &o);
	live_close(&l);
	return err;
}

static int reinstate(struct live *l, const char *word, const struct options *o)
{
	int i = live_member(l, word, false), err;

	(void)o;
	err = i < 0 ? EXIT_FAILED : live_message(l, "reinstate", i);
	if (!err)
		err = live_look(l);
	if (!err)
		note("%s: member %d is %s", l->name, i, status_dev_state_name(l->st.dev[i].state));
	return err;
}

int cmd_reinstate(int argc, char **argv)
{
	return with_device(argc, argv, "", reinstate);
}

static int detach(struct live *l, const char *word, const struct options *o)
{
	return detach_device(l, word, o->fresh.force);
}

int cmd_detach(int argc, char **argv)
{
	return with_device(argc, argv, "f", detach);
}

static int attach(struct live *l, const char *path, const struct options *o)
{
	return attach_device(l, path, o->fresh.force);
}

int cmd_attach(int argc, char **argv)
{
	return with_device(argc, argv, "f", attach);
}

static int remove_device(struct live *l, const char *word, const struct options *o)
{
	int i = live_member(l, word, true);

	return i < 0 ? member_forget(l, word) :
		       member_remove(l, i, o->fresh.force ? NULL : MEMBER_ADD_OR_FORCE);
}

int cmd_remove(int argc, char **argv)
{
	return with_device(argc, argv, "f", remove_device);
}

/*
 * As far as can be told from its size, of which @taken sectors go to metadata; whether it may join
 * at all is seen then.
 */
static int judge_new(const struct live *l, unsigned int old, const char *path, uint64_t taken)
{
	uint64_t extents, sectors;
	struct bdev dev;

	if (l->st.dev[old].state == DEV_REMOVED || live_is_leaving(l, old) ||
	    bdev_open(&dev, path, BDEV_EXCL))
		return EXIT_OK;
	sectors = dev.sectors > taken ? dev.sectors - taken : 0;
	extents = ek_member_extents(sectors, l->st.extent_sectors);
	bdev_close(&dev);
	return member_judge_room(l, old, extents, MEMBER_TAKE_LARGER);
}

/* While it was emptied others could change the pool. */
static int remove_emptied(struct live *l, unsigned int i)
{
	char *was = xstrdup(l->t.dev[i].dev);
	int err = live_open_again(l);

	if (!err && (i >= l->t.nr_devs || strcmp(was, l->t.dev[i].dev)))
		err = fail("%s: member %u is not what it was any more", l->name, i);
	free(was);
	return err ? err : member_remove(l, i, MEMBER_TAKE_LARGER);
}

/*
 * What is written to member @i goes to who joins instead, from then on: in the same table, so that
 * a replace that is cut short has done it or not.
 */
static void hand_share(struct live *l, unsigned int i, int index)
{
	if (table_swap_shares(&l->t, i, index))
		note("%s: member %d is to have the share of member %u", l->name, index, i);
}

/*
 * A metadata area that lies on the member goes to the new device, too: before anything else does,
 * with the rest of that as a member; @k: it is a member already, as a replace was cut short.
 */
static int replace_metadata(struct live *l, unsigned int area, unsigned int i, int k,
			    const char *new, const struct fresh *how)
{
	uint64_t sectors;
	int index;

	if (k >= 0)
		return mirror_move_back_in(l, area, k);
	sectors = mirror_sectors(l);
	index = sectors ? member_vacant(l) : -1;
	if (index < 0)
		return EXIT_FAILED;
	if (judge_new(l, i, new, sectors))
		return EXIT_FAILED;
	hand_share(l, i, index);
	return mirror_move(l, area, new, how, index);
}

/* An area that is not there; -1: none. */
static int lost_area(const struct live *l)
{
	unsigned int k;

	for (k = 0; k < l->st.nr_meta; k++)
		if (l->st.meta[k] == 'F' && !strcmp(l->t.meta[k].dev, "-"))
			return k;
	return -1;
}

/*
 * Of a lost member nobody knows whether a lost area lay on it.  It is made anew with the member if
 * the new device has room for both; -1: it is not.
 */
static int area_to_take(const struct live *l, unsigned int i, const char *new)
{
	int k = live_metadata_on(l, i);
	uint64_t sectors, taken;
	struct bdev dev;

	if (k >= 0 || strcmp(l->t.dev[i].dev, "-"))
		return k;
	k = lost_area(l);
	if (k < 0 || l->st.meta[!k] != 'A' || bdev_open(&dev, new, 0))
		return -1;
	sectors = dev.sectors;
	bdev_close(&dev);
	taken = mirror_sectors(l);
	if (!taken || sectors <= taken ||
	    ek_member_extents(sectors - taken, l->st.extent_sectors) < l->st.dev[i].total)
		return -1;
	return k;
}

static void warn_of_lost(const struct live *l)
{
	int k = lost_area(l);

	if (k >= 0)
		warn("%s: the metadata is on one device only, as area %d is lost (\"hybridctl metadata %s move %d DEV\" makes DEV a mirror)",
		     l->name, k, l->name, k);
}

/* Of the device that took the place; if that was cut short it is stale still. */
static int finish_metadata(struct live *l, unsigned int k)
{
	int area = live_metadata_on(l, k);

	return area >= 0 && l->st.meta[area] != 'A' ? mirror_resync(l) : EXIT_OK;
}

static int add_instead(struct live *l, unsigned int i, const char *new, const struct fresh *how)
{
	int index = member_vacant(l);

	if (index < 0 || judge_new(l, i, new, 0))
		return EXIT_FAILED;
	hand_share(l, i, index);
	return member_add(l, new, how) < 0 ? EXIT_FAILED : EXIT_OK;
}

/* What was to be on the old one is to be on the new one. */
static int follow(struct live *l, unsigned int i, const char *new)
{
	int k = live_member(l, new, true), err;
	bool pins, fast, share;

	if (k < 0)
		return EXIT_OK;
	pins = table_move_pins(&l->t, i, k);
	fast = table_move_fast(&l->t, i, k);
	/* Unless it has one: then it was given that, or the other one's by a replace cut short. */
	share = table_has_share(&l->t, i) && !table_has_share(&l->t, k);
	if (!pins && !fast && !share)
		return EXIT_OK;
	if (share)
		hand_share(l, i, k);
	err = live_reload(l, l->sectors);
	if (!err && pins)
		note("%s: what was pinned to member %u is pinned to member %d", l->name, i, k);
	if (!err && fast)
		note("%s: the fast member was %u, and is %d", l->name, i, k);
	return err;
}

/* Is there one that OLD may have been? */
static int unsettled(const struct live *l)
{
	unsigned int i;

	for (i = 0; i < l->st.nr_devs; i++)
		if (l->st.dev[i].state != DEV_REMOVED &&
		    (!l->st.dev[i].present || live_is_leaving(l, i)))
			return i;
	return -1;
}

/* NEW is a member and OLD is none: that is the end of a replace, if nothing else is open. */
static int replaced_before(const struct live *l, const char *old, const char *new)
{
	int i = member_named(l, old);

	if (i == MEMBER_UNKNOWN)
		return EXIT_FAILED;
	if (i >= 0)
		return fail("%s: is member %d, which %s is without: \"hybridctl attach %s %s\" takes it back (or replace %d by a device that is no member)",
			    old, i, l->name, l->name, old, i);
	i = unsettled(l);
	if (i >= 0)
		return fail("%s: no member of %s: is member %d meant, which is %s?", old, l->name,
			    i, l->st.dev[i].present ? "to leave" : "lost");
	note("%s: is a member of %s, %s is none (any more)", new, l->name, old);
	return member_leftover(l, old) ? member_forget(l, old) : EXIT_OK;
}

/* Asked for again after a cut, it goes on: NEW may be a member, DEV may be none any more. */
static int replace(struct live *l, const char *old, const char *new, const struct fresh *how,
		   bool give_up)
{
	int i = live_member(l, old, true), k = live_member(l, new, true), area, err;

	if ((i >= 0 && i == k) || !strcmp(old, new))
		return fail("%s: can't take its own place", new);
	if (k >= 0 && !member_is_young(l, k) &&
	    (i < 0 || (l->st.dev[i].state != DEV_REMOVED && !live_is_leaving(l, i))))
		return fail("%s: is a member of %s, and not for a replace that was cut short (evacuate and remove %s instead)",
			    new, l->name, old);
	if (i < 0 && k >= 0)
		return replaced_before(l, old, new);
	if (i < 0)
		return fail("%s: no member of %s", old, l->name);
	if (k < 0 && l->st.dev[i].state == DEV_REMOVED)
		return fail("%s: member %d of %s was removed, its place is nobody's (\"hybridctl add %s %s\" adds %s)",
			    old, i, l->name, l->name, new, new);
	/* Before it joins: a new one that is of no use, or too small, stays what it is. */
	if (member_is_lost_with_data(l, i)) {
		if (!give_up)
			return fail("%s: is lost, and what was on it can't be read: \"hybridctl lost %s\" lists it, --give-up discards it",
				    old, l->name);
		if (give_up_may(l, i))
			return EXIT_FAILED;
	}
	if (k >= 0 && finish_metadata(l, k))
		return EXIT_FAILED;
	area = k < 0 ? area_to_take(l, i, new) : live_metadata_on(l, i);
	if (area >= 0) {
		if (replace_metadata(l, area, i, k, new, how))
			return EXIT_FAILED;
	} else if (k < 0 && add_instead(l, i, new, how)) {
		return EXIT_FAILED;
	}
	if (judge_joined(l, new) || follow(l, i, new))
		return EXIT_FAILED;
	if (l->st.dev[i].state == DEV_REMOVED)
		return member_remove(l, i, MEMBER_TAKE_LARGER);
	err = member_evacuate(l, i, EVACUATE_WAIT | EVACUATE_REPLACE |
				    (give_up ? EVACUATE_GIVE_UP : 0));
	return err ? err : remove_emptied(l, i);
}

int cmd_replace(int argc, char **argv)
{
	struct options o;
	struct live l;
	int err = parse(argc, argv, "fvu", 3, "a name, a member and a device are", &o);

	if (err)
		return err;
	err = live_open(&l, argv[optind]);
	if (!err)
		err = replace(&l, argv[optind + 1], argv[optind + 2], &o.fresh, o.give_up);
	if (!err)
		warn_of_lost(&l);
	live_close(&l);
	return err;
}
