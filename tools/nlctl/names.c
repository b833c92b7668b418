// SPDX-License-Identifier: GPL-2.0-only
/* Blocks without names: which there are, and where the device moves them. Nothing is changed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../libnameless/libnameless.h"
#include "nlctl.h"

#define BATCH 64

static struct nameless *open_client(const char *name)
{
	struct nameless *dev = NULL;
	int err = nameless_open(name, O_RDONLY, &dev);

	if (err == -EBUSY)
		complain("%s has a client, or is being changed", name);
	else if (err == -ENOENT)
		complain("%s: no such device of the FTL nameless", name);
	else if (err)
		complain("%s: %s", name, strerror(-err));
	return err ? NULL : dev;
}

static const char *words_of(const struct nl_meta *meta, char *text, size_t size)
{
	snprintf(text, size, "%#018llx %#018llx %#018llx", (unsigned long long)meta->word[0],
		 (unsigned long long)meta->word[1], (unsigned long long)meta->word[2]);
	return text;
}

/* As text: JSON's numbers are not made for 64 bits. */
static json_t *array_of(const struct nl_meta *meta)
{
	json_t *array = json_array();
	char text[24];
	int i;

	for (i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "%#llx", (unsigned long long)meta->word[i]);
		json_array_append_new(array, json_string(text));
	}
	return array;
}

/* --- names ------------------------------------------------------------------------------------ */

static void show_name(const struct nl_name *name, json_t *names)
{
	char text[64];

	if (names)
		json_array_append_new(names, json_pack("{s:I,s:o}", "address",
						       (json_int_t)name->ppn, "metadata",
						       array_of(&name->meta)));
	else
		printf("%10u  %s\n", name->ppn, words_of(&name->meta, text, sizeof(text)));
}

/* Return: 0 or an error of the library's. */
static int show_names(struct nameless *dev, json_t *names)
{
	struct nl_name batch[BATCH];
	uint32_t from = 0;
	int n, i;

	if (!names)
		printf("%10s  %s\n", "ADDRESS", "METADATA");
	while ((n = nameless_list(dev, &from, batch, BATCH)) > 0)
		for (i = 0; i < n; i++)
			show_name(&batch[i], names);
	return n;
}

static json_t *object_of(const char *name, const struct nl_names_info *info)
{
	return json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "device", name, "block_bytes",
			 (json_int_t)info->block_bytes, "addresses", (json_int_t)info->addresses,
			 "space", (json_int_t)info->space, "used", (json_int_t)info->used, "valid",
			 (json_int_t)info->valid, "waiting", (json_int_t)info->waiting, "cuts",
			 (json_int_t)info->cuts);
}

static int show_all(const char *name, struct nameless *dev, bool count, bool json)
{
	json_t *names = json && !count ? json_array() : NULL, *root;
	struct nl_names_info info;
	int err = nameless_query(dev, &info);

	if (!err && count && !json)
		printf("%u\n", info.valid);
	else if (!err && !count)
		err = show_names(dev, names);
	if (err) {
		json_decref(names);
		return complain("%s: %s", name, strerror(-err));
	}
	if (!json)
		return EXIT_OK;
	root = object_of(name, &info);
	if (names)
		json_object_set_new(root, "names", names);
	print_json(root);
	json_decref(root);
	return EXIT_OK;
}

int cmd_names(int argc, char **argv)
{
	bool json = take_flag(&argc, argv, "--json"), count = take_flag(&argc, argv, "--count");
	struct nameless *dev;
	int err;

	if (argc != 1 || argv[0][0] == '-')
		return usage();
	dev = open_client(argv[0]);
	if (!dev)
		return EXIT_FAILED;
	err = show_all(argv[0], dev, count, json);
	nameless_close(dev);
	return fflush(stdout) ? complain("cannot write") : err;
}

/* --- migrations ------------------------------------------------------------------------------- */

static void print_object(json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(object);
}

static void show_move(const struct nl_move *move, bool json)
{
	char text[64];

	if (json)
		print_object(json_pack("{s:I,s:I,s:o}", "from", (json_int_t)move->from, "to",
				       (json_int_t)move->to, "metadata", array_of(&move->meta)));
	else
		printf("%10u %10u  %s\n", move->from, move->to,
		       words_of(&move->meta, text, sizeof(text)));
}

/* The query ends the notice. Return: 0 or an error. */
static int show_cut(struct nameless *dev, bool json)
{
	struct nl_names_info info;
	int err = nameless_query(dev, &info);

	if (err)
		return err;
	if (json)
		print_object(json_pack("{s:I}", "cuts", (json_int_t)info.cuts));
	else
		printf("the power was cut: %llu times so far\n", (unsigned long long)info.cuts);
	return 0;
}

#define TELLING_MS	10000	/* it takes the device to tell what waits; a busy machine a while */

/*
 * Until none came for @wait ms, or there were @count of them (0: for ever). Those that wait already
 * are told one batch after the other: however short @wait is, they are not missed.
 */
static int watch(struct nameless *dev, unsigned long count, int wait, bool json)
{
	struct nl_move batch[BATCH];
	struct nl_names_info info;
	unsigned long seen = 0;
	int n = nameless_query(dev, &info), i;

	if (n)
		return complain("%s", strerror(-n));
	if (!json)
		printf("%10s %10s  %s\n", "FROM", "TO", "METADATA");
	while (!count || seen < count) {
		bool more = seen < info.waiting && wait >= 0 && wait < TELLING_MS;

		n = nameless_moves(dev, batch, BATCH, more ? TELLING_MS : wait);
		if (n == -ECONNRESET)
			n = show_cut(dev, json) ?: 1;
		else
			for (i = 0; i < n && (!count || seen < count); i++, seen++)
				show_move(&batch[i], json);
		if (fflush(stdout))
			return complain("cannot write");
		if (n <= 0)
			return n ? complain("%s", strerror(-n)) : EXIT_OK;
	}
	return EXIT_OK;
}

int cmd_migrations(int argc, char **argv)
{
	bool json = take_flag(&argc, argv, "--json");
	const char *count = "0", *wait = "-1";
	char *end, *stop;
	struct nameless *dev;
	unsigned long lines;
	double seconds;
	int err;

	if (take_option(&argc, argv, "--count", &count) ||
	    take_option(&argc, argv, "--wait", &wait))
		return EXIT_USAGE;
	lines = strtoul(count, &end, 10);
	seconds = strtod(wait, &stop);
	if (argc != 1 || argv[0][0] == '-' || !*count || *end || !*wait || *stop ||
	    !(seconds == -1 || (seconds >= 0 && seconds < 1e6)))
		return usage();
	dev = open_client(argv[0]);
	if (!dev)
		return EXIT_FAILED;
	err = watch(dev, lines, seconds < 0 ? -1 : (int)(seconds * 1000), json);
	nameless_close(dev);
	return err;
}
