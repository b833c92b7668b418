// SPDX-License-Identifier: GPL-2.0-only
/* What there is: devices and models. The module says it in lines of a key and its value. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emuctl.h"

/* A number that JSON's reader might not take as it is, of 2^63 or more, stays a text. */
static json_t *value_of(const char *text)
{
	char *end;
	long long n;

	if (!strchr("0123456789", *text) || !*text)
		return json_string(text);
	errno = 0;
	n = strtoll(text, &end, 10);
	return *end || errno ? json_string(text) : json_integer(n);
}

static json_t *numbers_of(char *text)
{
	json_t *array = json_array();
	char *word, *save;

	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
		json_array_append_new(array, json_integer(atoll(word)));
	return array;
}

static void add_lines(json_t *object, char *text)
{
	char *line, *value, *save;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		value = strchr(line, ' ');
		if (!value)
			continue;
		*value++ = 0;
		json_object_set_new(object, line, !strcmp(line, "late_us") ? numbers_of(value) :
								      value_of(value));
	}
}

static json_t *device_object(const char *name)
{
	json_t *object = json_object(), *params = json_object();
	char *info = attr_read(name, "info"), *text = attr_read(name, "params");

	json_object_set_new(object, "name", json_string(name));
	if (!info || !text || !*info) {
		json_decref(object);
		object = NULL;
	} else {
		add_lines(object, info);
		add_lines(params, text);
		json_object_set(object, "params", params);
	}
	json_decref(params);
	free(info);
	free(text);
	return object;
}

static const char *string(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static long long integer(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void human(char *text, size_t size, long long bytes)
{
	static const char units[] = "BKMGTP";
	int i = 0;

	while (bytes >= 1024 && bytes % 1024 == 0 && units[i + 1]) {
		bytes /= 1024;
		i++;
	}
	snprintf(text, size, "%lld%c", bytes, units[i]);
}

static void print_table(json_t *devices)
{
	json_t *d;
	size_t i;

	printf("%-16s %-12s %8s %5s %-8s %-5s %10s %10s %8s %6s\n", "NAME", "MODEL", "SIZE", "LBS",
	       "CACHE", "POWER", "READS", "WRITES", "FLUSHES", "ERRORS");
	json_array_foreach(devices, i, d) {
		char size[24];

		human(size, sizeof(size), integer(d, "size"));
		printf("%-16s %-12s %8s %5lld %-8s %-5s %10lld %10lld %8lld %6lld\n",
		       string(d, "name"), string(d, "model"), size, integer(d, "lbs"),
		       string(d, "cache"), string(d, "power"), integer(d, "reads"),
		       integer(d, "writes"), integer(d, "flushes"), integer(d, "errors"));
	}
}

static int print_json(json_t *object)
{
	json_dumpf(object, stdout, JSON_INDENT(2));
	putchar('\n');
	return fflush(stdout) ? complain("cannot write") : 0;
}

static json_t *all_devices(const char *only)
{
	json_t *devices = json_array(), *device;
	size_t count, i;
	char **names = device_names(&count);

	for (i = 0; i < count; i++) {
		if (only && strcmp(only, names[i]))
			continue;
		device = device_object(names[i]);
		if (device)
			json_array_append_new(devices, device);
	}
	free_names(names, count);
	return devices;
}

int cmd_list(int argc, char **argv)
{
	bool json = take_flag(&argc, argv, "--json");
	const char *only = argc ? argv[0] : NULL;
	json_t *devices, *root;

	if (argc > 1 || (only && *only == '-'))
		return usage();
	devices = all_devices(only);
	if (only && !json_array_size(devices)) {
		json_decref(devices);
		return complain("no device %s", only);
	}
	root = json_pack("{s:o}", "devices", devices);
	if (json)
		print_json(root);
	else
		print_table(devices);
	json_decref(root);
	return 0;
}

int cmd_models(int argc, char **argv)
{
	bool json = take_flag(&argc, argv, "--json");
	char *text, *line, *save, *about;
	json_t *array;

	if (argc)
		return usage();
	text = attr_read(NULL, "models");
	if (!text)
		return complain("cannot read the models");
	array = json_array();
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		about = strchr(line, ' ');
		if (!about)
			continue;
		*about++ = 0;
		if (!json)
			printf("%-12s %s\n", line, about);
		json_array_append_new(array, json_pack("{s:s,s:s}", "name", line, "text", about));
	}
	if (json)
		print_json(array);
	json_decref(array);
	free(text);
	return 0;
}
