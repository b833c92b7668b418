// SPDX-License-Identifier: GPL-2.0-only
/* What there is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nlctl.h"

/* The text of a key of "info", or "-". */
static const char *value(const char *info, const char *key, char *text, size_t size)
{
	return info_get(info, key, text, size) ? text : "-";
}

static void print_row(const char *name, const char *info)
{
	char size[32], ftl[16], preset[32], power[8];

	human(size, sizeof(size), info_number(info, "size"));
	printf("%-22s %8s %-9s %-9s %-5s %4llu\n", name, size, value(info, "ftl", ftl, sizeof(ftl)),
	       value(info, "preset", preset, sizeof(preset)),
	       value(info, "power", power, sizeof(power)),
	       (unsigned long long)info_number(info, "open"));
}

static json_t *object_of(const char *name, const char *info)
{
	char ftl[16], preset[32], power[8];

	return json_pack("{s:s,s:I,s:s,s:s,s:s,s:I}", "name", name, "size",
			 (json_int_t)info_number(info, "size"), "ftl",
			 value(info, "ftl", ftl, sizeof(ftl)), "preset",
			 value(info, "preset", preset, sizeof(preset)), "power",
			 value(info, "power", power, sizeof(power)), "open",
			 (json_int_t)info_number(info, "open"));
}

static bool show(const char *name, json_t *devices)
{
	char *info = attr_read(name, "info");
	bool there = info && *info;

	if (there && devices)
		json_array_append_new(devices, object_of(name, info));
	else if (there)
		print_row(name, info);
	free(info);
	return there;
}

int cmd_list(int argc, char **argv)
{
	bool json = take_flag(&argc, argv, "--json"), found = false;
	json_t *devices = json ? json_array() : NULL, *root;
	const char *only = argc ? argv[0] : NULL;
	size_t count, i;
	char **names;

	if (argc > 1 || (only && *only == '-'))
		return usage();
	if (!json)
		printf("%-22s %8s %-9s %-9s %-5s %4s\n", "NAME", "SIZE", "FTL", "PRESET", "POWER",
		       "OPEN");
	names = device_names(&count);
	for (i = 0; i < count; i++)
		if (!only || !strcmp(only, names[i]))
			found |= show(names[i], devices);
	free_names(names, count);
	if (json) {
		root = json_pack("{s:o}", "devices", devices);
		print_json(root);
		json_decref(root);
	}
	if (fflush(stdout))
		return complain("cannot write");
	return only && !found ? complain("no device %s", only) : EXIT_OK;
}
