// SPDX-License-Identifier: GPL-2.0-only
/* Reading sizes, settings, the module's parameter and the table line. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/stdarg.h>
#include <linux/string.h>
#include <evenkeel/size.h>

#include "words.h"

__printf(2, 3) static int refuse(char *error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vscnprintf(error, M2_ERROR_LEN, fmt, args);
	va_end(args);
	return -EINVAL;
}

/**
 * m2_words_bytes - read the size of a device
 * @size: text; NULL: there is none
 * @bytes: what it says
 * @error: M2_ERROR_LEN bytes, for the reason
 *
 * Return: 0 or -EINVAL.
 */
int m2_words_bytes(const char *size, u64 *bytes, char *error)
{
	if (!size || ek_parse_size(size, bytes))
		return refuse(error, "%s: not a size", size ?: "");
	if (!*bytes || *bytes % M2_BLOCK || *bytes > M2_MAX_BYTES)
		return refuse(error, "%s: not a multiple of 4K up to 1P", size);
	return 0;
}

static int read_unit(struct m2_settings *s, const char *value, char *error)
{
	if (!ek_parse_size(value, &s->unit) && s->unit && !(s->unit % M2_UNIT_ALIGN) &&
	    s->unit < M2_MAX_BYTES)
		return 0;
	return refuse(error, "unit %s: not a multiple of 2M", value);
}

static int read_word(struct m2_settings *s, char *word, char *error)
{
	char *value = strchr(word, '=');

	if (value)
		*value++ = 0;
	if (!value && !strcmp(word, "force")) {
		s->force = true;
		return 0;
	}
	if (value && !strcmp(word, "dax") && *value) {
		s->dax = value;
		return 0;
	}
	if (value && !strcmp(word, "phys")) {
		s->has_phys = true;
		if (!ek_parse_size(value, &s->phys))
			return 0;
		return refuse(error, "%s: not an address", value);
	}
	if (value && !strcmp(word, "unit"))
		return read_unit(s, value, error);
	return refuse(error, "%s: unknown word", word);
}

/**
 * m2_words_create - read what a new device is to be
 * @s: filled; points into @args
 * @args: SIZE [unit=SIZE|phys=ADDRESS|dax=DEVICE] [force]; taken to pieces
 * @error: M2_ERROR_LEN bytes, for the reason
 *
 * Return: 0 or -EINVAL.
 */
int m2_words_create(struct m2_settings *s, char *args, char *error)
{
	char *word;
	int err;

	memset(s, 0, sizeof(*s));
	err = m2_words_bytes(strsep(&args, " "), &s->bytes, error);
	while (!err && (word = strsep(&args, " ")))
		if (*word)
			err = read_word(s, word, error);
	if (!err && s->has_phys && s->dax)
		err = refuse(error, "phys and dax exclude each other");
	if (!err && s->unit && (s->has_phys || s->dax))
		err = refuse(error, "unit is for ordinary RAM: this memory is one piece");
	if (!s->unit)
		s->unit = M2_UNIT_DEFAULT;
	return err;
}

/**
 * m2_words_preset - take the next device from the module's parameter
 * @list: what is left of it, NAME[:WORD]...[,...]; advanced, taken to pieces; NULL at the end
 * @args: what m2_words_create() is to read; empty if there is nothing
 *
 * Return: its name, which is empty where nothing is between two commas.
 */
char *m2_words_preset(char **list, char **args)
{
	char *words = strsep(list, ","), *name = strsep(&words, ":"), *c;

	*args = words ?: name + strlen(name);
	for (c = *args; *c; c++)
		if (*c == ':')
			*c = ' ';
	return name;
}

/**
 * m2_words_target - read a table line
 * @name: of the device
 * @start: first sector of it
 * @argc: words after the target's name
 * @argv: they, NAME OFFSET
 * @error: set to a static text on failure
 *
 * Return: 0, -EINVAL, or -ENODEV for what can't be a device's name.
 */
int m2_words_target(char name[M2_NAME_SIZE], u64 *start, unsigned int argc, char **argv,
		    char **error)
{
	if (argc != 2) {
		*error = "NAME and OFFSET are wanted";
		return -EINVAL;
	}
	if (kstrtou64(argv[1], 10, start)) {
		*error = "OFFSET is not a number of sectors";
		return -EINVAL;
	}
	if (strscpy(name, argv[0], M2_NAME_SIZE) < 0) {
		*error = "no such memory device";
		return -ENODEV;
	}
	return 0;
}
