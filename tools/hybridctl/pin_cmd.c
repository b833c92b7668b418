// SPDX-License-Identifier: GPL-2.0-only
/* hybridctl pin: ranges of a volume that are held on a member. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "commands.h"
#include "dm.h"
#include "live.h"
#include "ext_meta.h"
#include "json_print.h"
#include "msg.h"
#include "ranges.h"
#include "units.h"
#include "volume.h"

struct asked {
	bool remove;
	bool json;
	bool dry_run;
	const char *ext4_to;	/* member for an ext4's metadata */
	int nr;			/* words behind the name */
	char **word;
	uint64_t start, len;	/* bytes, if there are any */
};

/* Bytes as people write them; extents that they touch. */
static int parse_range(struct asked *a)
{
	if (!parse_size(a->word[0], &a->start) || !parse_size(a->word[1], &a->len) || !a->len ||
	    a->start % 512 || a->len % 512)
		return usage_error("%s %s: not an offset and a length, multiples of 512",
				   a->word[0], a->word[1]);
	return EXIT_OK;
}

static int parse(int argc, char **argv, struct asked *a)
{
	static const struct option options[] = {
		{ "remove", no_argument, NULL, 'r' },
		{ "ext4-metadata", required_argument, NULL, 'e' },
		{ "dry-run", no_argument, NULL, 'n' },
		{ "json", no_argument, NULL, 'j' }, OPT_HELP, { NULL, 0, NULL, 0 },
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'r':
			a->remove = true;
			break;
		case 'e':
			a->ext4_to = optarg;
			break;
		case 'n':
			a->dry_run = true;
			break;
		case 'j':
			a->json = true;
			break;
		case 'h':
			exit(command_help());
		default:
			return bad_option(argv);
		}
	}
	a->nr = argc - optind - 1;
	a->word = argv + optind + 1;
	if (a->nr < 0)
		return usage_error("a name is needed");
	if (a->ext4_to ? a->nr || a->remove : a->remove ? a->nr && a->nr != 2 :
						    a->nr && a->nr != 3)
		return usage_error("what is to be pinned where?");
	if (a->dry_run && !a->ext4_to)
		return usage_error("--dry-run goes with --ext4-metadata");
	if (a->json && (a->ext4_to || a->remove || a->nr))
		return usage_error("--json shows what is pinned");
	return a->nr ? parse_range(a) : EXIT_OK;
}

/* An index or a path as status shows it; -1 with the reason printed. */
static int member_of(const struct volume *v, const char *text)
{
	uint64_t index;
	unsigned int i;

	if (parse_u64(text, &index) && index < v->st.nr_devs)
		return index;
	for (i = 0; i < v->st.nr_devs; i++)
		if (v->path[i] && !strcmp(v->path[i], text))
			return i;
	fail("%s: %s: not a member (an index, or its path as hybridctl status shows it)", v->name,
	     text);
	return -1;
}

static int tell(const struct volume *v, char *message)
{
	char *why = NULL;
	int err = EXIT_OK;

	if (dm_message(v->name, message, NULL, &why))
		err = fail("%s: %s", v->name, why);
	if (!err)
		live_warn_kept(v->name);
	free(why);
	free(message);
	return err;
}

static int pin_range(const struct volume *v, const struct asked *a)
{
	unsigned long long start = a->start / 512, len = a->len / 512;
	int member;

	if (a->remove)
		return tell(v, xasprintf("unpin %llu %llu", start, len));
	member = member_of(v, a->word[2]);
	if (member < 0)
		return EXIT_FAILED;
	return tell(v, xasprintf("pin %llu %llu %d", start, len, member));
}

static int pin_ext4(const struct volume *v, const struct asked *a)
{
	uint64_t unit = v->st.extent_sectors * 512, all;
	char text[PINS_TEXT], *path = xasprintf("/dev/mapper/%s", v->name);
	struct ranges r = { 0 };
	int member = member_of(v, a->ext4_to), err;

	err = member < 0 ? EXIT_FAILED : ext_meta_find(path, unit, &r);
	free(path);
	if (err)
		goto out;
	all = ranges_sum(&r);
	ranges_to_pins(&r, member, text);
	note("%llu of %llu extents with metadata in ranges that fit: %s",
	     (unsigned long long)(all - ranges_sum(&r)), (unsigned long long)all, text);
	if (!a->dry_run)
		err = tell(v, xasprintf("set pin %s", text));
out:
	ranges_free(&r);
	return err;
}

/* What follows the key among the policy's arguments; NULL: none. */
static char *pins_of(const struct volume *v)
{
	char *args = xstrdup(v->st.policy_args), *word, *save, *pins = NULL;

	for (word = strtok_r(args, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *value = strtok_r(NULL, " ", &save);

		if (!strcmp(word, "pin") && value)
			pins = xstrdup(value);
	}
	free(args);
	return pins;
}

static void show_one(const struct volume *v, const char *pin, json_t *list)
{
	unsigned long long first, nr, stride = 0, times = 1, unit = v->st.extent_sectors * 512;
	unsigned int member;
	json_t *one;

	if (sscanf(pin, "%llu+%llu/%llu*%llu:%u", &first, &nr, &stride, &times, &member) != 5) {
		stride = 0;
		times = 1;
		if (sscanf(pin, "%llu+%llu:%u", &first, &nr, &member) != 3)
			return;
	}
	if (list) {
		one = json_object();
		json_object_set_new(one, "offset", json_integer(first * unit));
		json_object_set_new(one, "bytes", json_integer(nr * unit));
		json_object_set_new(one, "stride", json_integer(stride * unit));
		json_object_set_new(one, "times", json_integer(times));
		json_object_set_new(one, "member", json_integer(member));
		json_array_append_new(list, one);
		return;
	}
	printf("%llu bytes at %llu", nr * unit, first * unit);
	if (times > 1)
		printf(", %llu times every %llu", times, stride * unit);
	printf(" on member %u (%s)\n", member, member < v->st.nr_devs && v->path[member] ?
	       v->path[member] : "lost");
}

static int show(const struct volume *v, const struct asked *a)
{
	json_t *list = a->json ? json_array() : NULL;
	char *pins = pins_of(v), *pin, *save;
	int err = EXIT_OK;

	for (pin = pins ? strtok_r(pins, ",", &save) : NULL; pin; pin = strtok_r(NULL, ",", &save))
		show_one(v, pin, list);
	if (list)
		err = json_print(stdout, list, JSON_INDENT(2));
	free(pins);
	return err;
}

/*
 * While the lock is waited for, a member's number may become another device's, and what is pinned
 * change: the volume is looked at with it.  And a table that another command is about to load would
 * take back what is told here.
 */
static int lock_to_change(const struct asked *a)
{
	const char *name = a->word[-1];

	if (a->dry_run || !(a->ext4_to || a->nr || a->remove))
		return EXIT_OK;
	return need_volume(name) || live_lock(name) ? EXIT_FAILED : EXIT_OK;
}

int cmd_pin(int argc, char **argv)
{
	struct asked a = { 0 };
	struct volume v;
	int err = parse(argc, argv, &a);

	if (err)
		return err;
	if (lock_to_change(&a) || volume_look(&v, a.word[-1], 0))
		return EXIT_FAILED;
	if (a.ext4_to)
		err = pin_ext4(&v, &a);
	else if (a.nr)
		err = pin_range(&v, &a);
	else if (a.remove)
		err = tell(&v, xstrdup("unpin"));
	else
		err = show(&v, &a);
	volume_free(&v);
	return err;
}
