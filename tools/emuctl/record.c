// SPDX-License-Identifier: GPL-2.0-only
/* The recorder. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emuctl.h"

#define LOG "/dev/emudisk-log"

static long long status_number(const char *key)
{
	char *text = attr_read(NULL, "record"), *at = text;
	size_t len = strlen(key);
	long long n = -1;

	while (at && *at) {
		if (!strncmp(at, key, len) && at[len] == ' ')
			n = atoll(at + len + 1);
		at = strchr(at, '\n');
		if (at)
			at++;
	}
	free(text);
	return n;
}

static int print_status(bool json)
{
	char *text = attr_read(NULL, "record"), *line, *save, *value;
	json_t *object = json_object();

	if (!text)
		return complain("cannot read the recorder's state");
	if (!json)
		fputs(text, stdout);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		value = strchr(line, ' ');
		if (!value)
			continue;
		*value++ = 0;
		if (strcmp(line, "state"))
			json_object_set_new(object, line, json_integer(atoll(value)));
		else
			json_object_set_new(object, line, json_string(value));
	}
	if (json) {
		json_dumpf(object, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(object);
	free(text);
	return 0;
}

static json_t *event_flags(const char *flags)
{
	json_t *array = json_array();

	if (strchr(flags, 'F'))
		json_array_append_new(array, json_string("fua"));
	if (strchr(flags, 'P'))
		json_array_append_new(array, json_string("preflush"));
	return array;
}

/* SUBMIT COMPLETE DEVICE OP SECTOR SECTORS FLAGS [TEXT] */
static json_t *event_object(const char *line)
{
	unsigned long long seq, done, sector;
	char dev[64], op[16], flags[16];
	unsigned int sectors;
	json_t *event;
	int at = 0;

	if (sscanf(line, "%llu %llu %63s %15s %llu %u %15s%n", &seq, &done, dev, op, &sector,
		   &sectors, flags, &at) < 7)
		return NULL;
	event = json_pack("{s:I,s:I,s:s,s:I,s:I}", "seq", (json_int_t)seq, "done", (json_int_t)done,
			  "op", op, "sector", (json_int_t)sector, "sectors", (json_int_t)sectors);
	json_object_set_new(event, "flags", event_flags(flags));
	if (strcmp(dev, "-"))
		json_object_set_new(event, "dev", json_string(dev));
	else
		json_object_set_new(event, "text", json_string(line[at] ? line + at + 1 : ""));
	return event;
}

static int print_log(bool json)
{
	json_t *events = json_array(), *event;
	FILE *log = fopen(LOG, "re");
	size_t size = 0;
	char *line = NULL;
	int err = 0;

	if (!log)
		return complain(LOG ": %s", strerror(errno));
	while (errno = 0, getline(&line, &size, log) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (!json) {
			puts(line);
			continue;
		}
		event = event_object(line);
		if (event)
			json_array_append_new(events, event);
	}
	if (ferror(log))
		err = complain(errno == EBUSY ? "recording: stop first" : "cannot read " LOG);
	if (json && !err) {
		json_t *root = json_pack("{s:I,s:I,s:O}", "start",
					 (json_int_t)status_number("start"), "end",
					 (json_int_t)status_number("end"), "events", events);

		json_dumpf(root, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(root);
	}
	json_decref(events);
	fclose(log);
	free(line);
	return err;
}

static int replay(int argc, char **argv)
{
	struct survival s = { 0 };
	char *text, *command;
	int err;

	if (parse_survival(&s, &argc, argv, true))
		return 1;
	if (argc)
		return usage();
	text = survival_text(&s);
	if (asprintf(&command, "replay %s", text) < 0)
		abort();
	err = attr_explain(NULL, attr_write_patiently(NULL, "record", command));
	free(command);
	free(text);
	return err;
}

static int mark(int argc, char **argv)
{
	char *text = join(argv, argc), *command;
	int err;

	if (asprintf(&command, "mark %s", text) < 0)
		abort();
	err = attr_explain(NULL, attr_write(NULL, "record", command));
	if (!err)
		printf("%lld\n", status_number("last_mark"));
	free(command);
	free(text);
	return err;
}

static int plain(const char *verb, const char *number)
{
	int err = attr_explain(NULL, attr_write(NULL, "record", verb));

	if (!err && number)
		printf("%lld\n", status_number(number));
	return err;
}

int cmd_record(int argc, char **argv)
{
	const char *verb = argc ? argv[0] : "";
	bool json;

	argc--;
	argv++;
	if (!strcmp(verb, "replay"))
		return replay(argc, argv);
	if (!strcmp(verb, "mark") && argc > 0)
		return mark(argc, argv);
	json = argc > 0 && take_flag(&argc, argv, "--json");
	if (argc == 0 && !strcmp(verb, "list"))
		return print_log(json);
	if (argc == 0 && !strcmp(verb, "status"))
		return print_status(json);
	if (argc == 0 && !json && !strcmp(verb, "start"))
		return plain(verb, "start");
	if (argc == 0 && !json && !strcmp(verb, "stop"))
		return plain(verb, "end");
	if (argc == 0 && !json && !strcmp(verb, "clear"))
		return plain(verb, NULL);
	return usage();
}
