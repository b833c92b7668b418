// SPDX-License-Identifier: GPL-2.0-only
/* What a device has done. The module says it in lines of a key and its values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nlctl.h"

static const char * const ops[] = { "read", "program", "erase" };

static json_t *value_of(const char *text)
{
	char *end;
	long long n = strtoll(text, &end, 10);

	if (*text && !*end)
		return json_integer(n);
	if (*text && *end == '.') {
		double d = strtod(text, &end);

		if (!*end)
			return json_real(d);
	}
	return json_string(text);
}

/* A device may be called 007. */
static bool is_text(const char *key)
{
	static const char * const texts[] = { "on", "preset", "ftl", "power" };
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!strcmp(key, texts[i]))
			return true;
	return false;
}

static json_t *numbers_of(char *text)
{
	json_t *array = json_array();
	char *word, *save;

	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
		json_array_append_new(array, value_of(word));
	return array;
}

/* A device's file as an object; several values are an array, and a key that repeats one of them. */
static json_t *lines_of(const char *name, const char *attr)
{
	char *text = attr_read(name, attr), *line, *value, *save;
	json_t *object = json_object(), *item, *old;

	if (!text || !*text) {
		free(text);
		json_decref(object);
		return NULL;
	}
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		value = strchr(line, ' ');
		if (!value)
			continue;
		*value++ = 0;
		if (is_text(line))
			item = json_string(value);
		else
			item = strchr(value, ' ') ? numbers_of(value) : value_of(value);
		old = json_object_get(object, line);
		if (!strcmp(line, "erased") && !old) {
			old = json_array();
			json_object_set_new(object, line, old);
		}
		if (old)
			json_array_append_new(old, item);
		else
			json_object_set_new(object, line, item);
	}
	free(text);
	return object;
}

/* Values by cause out of a row of them. */
static json_t *by_cause(json_t *lines, const char *what, const char *op)
{
	json_t *causes = json_object_get(lines, "causes"), *object = json_object(), *cause, *row;
	char key[64];
	size_t i;

	snprintf(key, sizeof(key), "%s_%s", what, op);
	row = json_object_get(lines, key);
	json_array_foreach(causes, i, cause)
		json_object_set(object, json_string_value(cause), json_array_get(row, i));
	json_object_del(lines, key);
	return object;
}

static json_t *matrix(json_t *lines, const char *what)
{
	json_t *object = json_object();
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		json_object_set_new(object, ops[i], by_cause(lines, what, ops[i]));
	return object;
}

uint64_t stat_number(json_t *stat, const char *group, const char *key)
{
	json_t *object = group ? json_object_get(stat, group) : stat;

	return json_integer_value(json_object_get(object, key));
}

static uint64_t sum(json_t *row, const char *cause)
{
	const char *key;
	uint64_t n = 0;
	json_t *value;

	json_object_foreach(row, key, value)
		if (!cause || !strcmp(key, cause))
			n += json_integer_value(value);
	return n;
}

uint64_t stat_count(json_t *stat, const char *op, const char *cause)
{
	return sum(json_object_get(json_object_get(stat, "flash"), op), cause);
}

/* Of the time of all planes since the device was made. */
static json_t *utilisation(json_t *stat)
{
	json_t *object = json_object(), *busy = json_object_get(stat, "busy_ns"), *row, *value;
	double all = (double)stat_number(stat, NULL, "age_ns") *
		     (double)stat_number(stat, NULL, "nr_planes");
	const char *op, *cause;

	json_object_foreach(busy, op, row) {
		json_t *shares = json_object();

		json_object_foreach(row, cause, value)
			json_object_set_new(shares, cause,
					    json_real(json_integer_value(value) / all));
		json_object_set_new(object, op, shares);
	}
	json_object_set_new(object, "idle_in_merge",
			    json_real(stat_number(stat, NULL, "idle_in_merge_ns") / all));
	return object;
}

/* What was programmed for each page that the host wrote. */
static json_t *write_amplification(json_t *stat)
{
	uint64_t host = stat_count(stat, "program", "host");

	return host ? json_real((double)stat_count(stat, "program", NULL) / host) : json_null();
}

json_t *stat_object(const char *name)
{
	json_t *info = lines_of(name, "info"), *stat = lines_of(name, "stat");

	if (!info || !stat) {
		json_decref(info);
		json_decref(stat);
		return NULL;
	}
	json_object_set_new(stat, "flash", matrix(stat, "count"));
	json_object_set_new(stat, "busy_ns", matrix(stat, "busy_ns"));
	json_object_del(stat, "causes");
	json_object_set_new(stat, "utilisation", utilisation(stat));
	json_object_set_new(stat, "write_amplification", write_amplification(stat));
	json_object_set_new(stat, "erases", lines_of(name, "erases"));
	json_object_set_new(stat, "params", lines_of(name, "params"));
	json_object_set_new(info, "name", json_string(name));
	json_object_update(info, stat);
	json_decref(stat);
	return info;
}

int print_json(json_t *object)
{
	json_dumpf(object, stdout, JSON_INDENT(2));
	putchar('\n');
	return fflush(stdout) ? complain("cannot write") : EXIT_OK;
}

void human(char *text, size_t size, uint64_t bytes)
{
	static const char units[] = "BKMGTP";
	int i = 0;

	while (bytes && bytes % 1024 == 0 && units[i + 1]) {
		bytes /= 1024;
		i++;
	}
	snprintf(text, size, "%llu%c", (unsigned long long)bytes, units[i]);
}

static const char *string(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key)) ?: "-";
}

static unsigned long long number(json_t *stat, const char *key)
{
	return stat_number(stat, NULL, key);
}

/* Without power, and where it is on the host, there is no FTL that would tell. */
static bool has_ftl(json_t *stat)
{
	return json_object_get(stat, "mode");
}

static void print_head(json_t *stat)
{
	char size[32];

	human(size, sizeof(size), number(stat, "size"));
	printf("%s: %s, %s FTL on %s, power %s", string(stat, "name"), size, string(stat, "ftl"),
	       string(stat, "preset"), string(stat, "power"));
	if (has_ftl(stat))
		printf(", %s", strcmp(string(stat, "mode"), "ro") ? "writable" :
								     "read-only (worn out)");
	putchar('\n');
	if (!has_ftl(stat))
		return;
	printf("host      %llu pages read, %llu written, %llu trimmed, %llu flushes, %llu errors\n",
	       number(stat, "reads"), number(stat, "writes"), number(stat, "trims"),
	       number(stat, "flushes"), number(stat, "errors"));
}

static void print_flash(json_t *stat)
{
	json_t *counts = json_object_get(stat, "flash"), *busy = json_object_get(stat, "utilisation");
	json_t *row, *value, *shares;
	const char *op, *cause;

	json_object_foreach(counts, op, row) {
		printf("%-9s", op);
		shares = json_object_get(busy, op);
		json_object_foreach(row, cause, value)
			if (json_integer_value(value))
				printf(" %s %lld (%.1f%%)", cause, json_integer_value(value),
				       100 * json_real_value(json_object_get(shares, cause)));
		putchar('\n');
	}
	value = json_object_get(stat, "write_amplification");
	if (json_is_real(value))
		printf("writes    amplified %.3f times\n", json_real_value(value));
}

static void print_blocks(json_t *stat)
{
	json_t *erases = json_object_get(stat, "erases");

	printf("blocks    ");
	if (has_ftl(stat))
		printf("%llu free, %llu bad; ", number(stat, "free_blocks"),
		       number(stat, "bad_blocks"));
	printf("erased %llu to %llu times\n", number(erases, "least"), number(erases, "most"));
	if (number(stat, "unreadable") || number(stat, "lost"))
		printf("unread    %llu blocks left alone, %llu pages marked as lost\n",
		       number(stat, "unreadable"), number(stat, "lost"));
}

static void print_ftl(json_t *stat)
{
	printf("map       %llu bytes (pages %llu, blocks %llu, log %llu), %llu pages mapped\n",
	       number(stat, "map_bytes_page") + number(stat, "map_bytes_block") +
	       number(stat, "map_bytes_log"), number(stat, "map_bytes_page"),
	       number(stat, "map_bytes_block"), number(stat, "map_bytes_log"),
	       number(stat, "mapped"));
	if (json_object_get(stat, "map_max")) {
		printf("cache     %llu of %llu chunks in memory (%llu may be, %llu were), %llu dirty\n",
		       number(stat, "map_resident"), number(stat, "map_chunks"),
		       number(stat, "map_max"), number(stat, "map_most"),
		       number(stat, "map_dirty"));
		printf("          %llu hits, %llu misses, %llu in, %llu out; %llu rebuilt, %llu pages lost\n",
		       number(stat, "map_hits"), number(stat, "map_misses"), number(stat, "map_in"),
		       number(stat, "map_out"), number(stat, "map_rebuilt"),
		       number(stat, "map_lost"));
	}
	if (number(stat, "valid") || number(stat, "migrated"))
		printf("names     %llu blocks, %llu migrated, %llu waiting; %llu pages wasted\n",
		       number(stat, "valid"), number(stat, "migrated"), number(stat, "waiting"),
		       number(stat, "wasted"));
	if (json_object_get(stat, "nr_zones"))
		printf("zones     %llu empty, %llu open, %llu closed, %llu full, %llu read-only, %llu offline; "
		       "%llu blocks spare, %llu resets, %llu moves, %llu refused, %llu pages lost\n",
		       number(stat, "zones_empty"),
		       number(stat, "zones_implicit") + number(stat, "zones_explicit"),
		       number(stat, "zones_closed"), number(stat, "zones_full"),
		       number(stat, "zones_readonly"), number(stat, "zones_offline"),
		       number(stat, "zone_spare"), number(stat, "zone_resets"),
		       number(stat, "zone_moves"), number(stat, "zone_refused"),
		       number(stat, "zone_lost"));
	printf("merges    switch %llu, partial %llu, full %llu\n", number(stat, "merges_switch"),
	       number(stat, "merges_partial"), number(stat, "merges_full"));
}

static void print_timing(json_t *stat)
{
	json_t *late = json_object_get(stat, "late_us"), *value;
	unsigned long long on_time = 0, all = 0;
	size_t i;

	json_array_foreach(late, i, value) {
		all += json_integer_value(value);
		on_time += i < 4 ? json_integer_value(value) : 0;
	}
	printf("timing    %llu of %llu completions within 8 us of their time, the latest %.1f us after\n",
	       on_time, all, number(stat, "late_max_ns") / 1000.0);
}

int cmd_stat(int argc, char **argv)
{
	bool json = take_flag(&argc, argv, "--json");
	json_t *stat;

	if (argc != 1 || argv[0][0] == '-')
		return usage();
	stat = stat_object(argv[0]);
	if (!stat)
		return complain("no device %s", argv[0]);
	if (json) {
		print_json(stat);
	} else {
		print_head(stat);
		print_flash(stat);
		print_blocks(stat);
		if (has_ftl(stat))
			print_ftl(stat);
		print_timing(stat);
	}
	json_decref(stat);
	return fflush(stdout) ? complain("cannot write") : EXIT_OK;
}
