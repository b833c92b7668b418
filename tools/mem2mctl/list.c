// SPDX-License-Identifier: GPL-2.0-only
/* What there is. The module says it in lines of a key and its value. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mem2mctl.h"

static void human(char *text, size_t size, uint64_t bytes)
{
	static const char units[] = "BKMGTP";
	int i = 0;

	while (bytes && bytes % 1024 == 0 && units[i + 1]) {
		bytes /= 1024;
		i++;
	}
	snprintf(text, size, "%llu%c", (unsigned long long)bytes, units[i]);
}

/* A module that is older than this program has less to say. */
static const char *yes_or_no(const char *info, const char *key)
{
	char value[8];

	if (!info_get(info, key, value, sizeof(value)))
		return "-";
	return *value == '1' ? "yes" : "no";
}

static void print_row(const char *name, const char *info)
{
	char size[32], huge[32], backing[16], where[512] = "-";

	human(size, sizeof(size), info_number(info, "size"));
	human(huge, sizeof(huge), info_number(info, "huge"));
	info_get(info, "backing", backing, sizeof(backing));
	if (!info_get(info, "phys", where, sizeof(where)) &&
	    !info_get(info, "beneath", where, sizeof(where)))
		strcpy(where, "-");
	printf("%-16s %-7s %10s %5llu %10s %-8s %-5s %-4s %4llu %7llu %s\n", name, backing, size,
	       (unsigned long long)info_number(info, "units"),
	       strcmp(backing, "ram") ? "-" : huge, info_number(info, "survives") ? "yes" : "no",
	       yes_or_no(info, "power"), info_number(info, "dax") ? "yes" : "no",
	       (unsigned long long)info_number(info, "open"),
	       (unsigned long long)info_number(info, "drivers"), where);
}

static void print_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < 32)
			printf("\\u%04x", (unsigned char)*text);
		else
			putchar(*text);
	}
	putchar('"');
}

static void print_value(const char *key, const char *value)
{
	static const char * const flags[] = { "survives", "power", "dax", "found", "gone" };
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		if (!strcmp(key, flags[i])) {
			fputs(*value == '1' ? "true" : "false", stdout);
			return;
		}
	}
	if (*value && strspn(value, "0123456789") == strlen(value) && strcmp(key, "uuid"))
		fputs(value, stdout);
	else
		print_string(value);
}

static void print_object(const char *name, char *info, bool first)
{
	char *line, *value, *save;

	printf("%s\n    {\n      \"name\": ", first ? "" : ",");
	print_string(name);
	for (line = strtok_r(info, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		value = strchr(line, ' ');
		if (!value)
			continue;
		*value++ = 0;
		printf(",\n      ");
		print_string(line);
		printf(": ");
		print_value(line, value);
	}
	printf("\n    }");
}

static bool print_one(const char *name, bool json, bool first)
{
	char *info = attr_read(name, "info"), state[16];

	if (!info)
		return false;
	info_get(info, "state", state, sizeof(state));
	if (!strcmp(state, "empty")) {
		free(info);
		return false;
	}
	if (json)
		print_object(name, info, first);
	else if (!strcmp(state, "live"))
		print_row(name, info);
	else
		printf("%-16s %s\n", name, state);
	free(info);
	return true;
}

int cmd_list(int argc, char **argv)
{
	bool json = false, first = true;
	const char *only = NULL;
	size_t count, i;
	char **names;

	for (i = 0; i < (size_t)argc; i++) {
		if (!strcmp(argv[i], "--json"))
			json = true;
		else if (argv[i][0] != '-' && !only)
			only = argv[i];
		else
			return complain("list: %s: unknown word", argv[i]), EXIT_USAGE;
	}
	names = device_names(&count);
	if (json)
		printf("{\n  \"devices\": [");
	else
		printf("%-16s %-7s %10s %5s %10s %-8s %-5s %-4s %4s %7s %s\n", "NAME", "BACKING",
		       "SIZE", "UNITS", "HUGE", "SURVIVES", "POWER", "DAX", "OPEN", "DRIVERS",
		       "WHERE");
	for (i = 0; i < count; i++)
		if (!only || !strcmp(only, names[i]))
			first &= !print_one(names[i], json, first);
	if (json)
		printf("%s]\n}\n", first ? "" : "\n  ");
	free_names(names, count);
	if (fflush(stdout))
		return complain("cannot write: %s", strerror(errno));
	return only && first ? complain("no device %s", only) : EXIT_OK;
}
